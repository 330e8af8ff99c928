//! Job files drawn at random, by a seed: options that shape the stream of requests, in combinations that fio runs.

use std::fmt::Write;

/// A job file.
pub(crate) struct Drawn {
    pub(crate) text: String,
    /// Threads, each with a log of its own.
    pub(crate) threads: usize,
    /// Bytes of each file, `f0` first, as far as the job knows it.
    pub(crate) files: Vec<u64>,
    /// Time ends it.
    pub(crate) timed: bool,
    /// Its files are there before: fio cuts only such into zones.
    pub(crate) there: bool,
    /// fio logs what its engine puts off each time that it is offered.
    pub(crate) doubled: bool,
}

impl Drawn {
    /// Its options on one line.
    pub(crate) fn options(&self) -> String {
        self.text.lines().filter(|line| !line.starts_with("write_iolog")).collect::<Vec<_>>().join(" ")
    }
}

/// SplitMix64 (Steele, Lea, Flood, 2014).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len() as u64) as usize]
    }
}

/// How a section's requests are sent.
#[derive(Clone, Copy, PartialEq)]
enum Engine {
    /// One at a time, nothing behind it.
    Null,
    /// One at a time, on files in memory.
    Calls,
    /// Several at a time in batches, nothing behind it.
    NullDeep,
    /// Several at a time, syncs hold the thread up: files in memory.
    Aio,
}

/// The job of this seed.
pub(crate) fn job(seed: u64) -> Drawn {
    let mut chance = Chance(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let mut drawn =
        Drawn { text: String::new(), threads: 0, files: Vec::new(), timed: false, there: false, doubled: false };
    let sections = if chance.one_in(4) { 2 + chance.below(2) } else { 1 };
    for number in 0..sections {
        let mut section = Section { chance: &mut chance, lines: Vec::new(), random: false, zoned: false };
        section.draw(number, &mut drawn);
    }
    drawn
}

/// The job of this seed among those that try what engines do: batches, depths and pauses of all kinds, ends together.
pub(crate) fn engines(seed: u64) -> Drawn {
    let mut chance = Chance(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x5eed);
    let mut drawn =
        Drawn { text: String::new(), threads: 0, files: Vec::new(), timed: false, there: false, doubled: true };
    let sections = if chance.one_in(8) { 2 } else { 1 };
    for number in 0..sections {
        let mut section = Section { chance: &mut chance, lines: Vec::new(), random: false, zoned: false };
        section.draw_deep(number, &mut drawn);
    }
    drawn
}

/// One section as it is drawn.
struct Section<'a> {
    chance: &'a mut Chance,
    lines: Vec<String>,
    random: bool,
    zoned: bool,
}

impl Section<'_> {
    fn say(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    fn draw(&mut self, number: u64, drawn: &mut Drawn) {
        let engine = match self.chance.below(10) {
            0..4 => Engine::Null,
            4..7 => Engine::Calls,
            7 => Engine::NullDeep,
            _ => Engine::Aio,
        };
        self.engine(engine, drawn);
        let rw = self.direction(engine);
        let gaps = self.lines.iter().any(|line| line.starts_with("rw=") && line.contains(':')) && !self.random;
        let writes = !["read", "trim", "randread", "randtrim"].contains(&rw);
        self.blocks(rw);
        let files = self.files(rw, engine, gaps, drawn);
        self.places(rw, files);
        if self.chance.one_in(4) {
            drawn.doubled |= engine == Engine::NullDeep;
            self.ends(files);
        }
        if self.chance.below(5) < 4 {
            self.syncs();
        }
        if writes
            && !self.zoned
            && !rw.contains("trim")
            && matches!(engine, Engine::Null | Engine::Calls)
            && self.chance.one_in(4)
        {
            self.verify();
        }
        if self.chance.one_in(24) && engine != Engine::NullDeep {
            // A thousand requests or so, however fast the machine is.
            self.say("time_based=1\nruntime=1\nthinktime=1000");
            drawn.timed = true;
        }
        if number > 0 && self.chance.one_in(2) {
            self.say("stonewall");
        }
        self.say(format!("write_iolog=log{}", drawn.threads));
        drawn.threads += 1;
        let _ = writeln!(drawn.text, "[j{number}]\n{}", self.lines.join("\n"));
    }

    /// Several at a time, always.
    fn draw_deep(&mut self, number: u64, drawn: &mut Drawn) {
        let engine = if self.chance.one_in(2) { Engine::NullDeep } else { Engine::Aio };
        let batched = self.batches(engine);
        let rw = self.direction(engine);
        let gaps = self.lines.iter().any(|line| line.starts_with("rw=") && line.contains(':')) && !self.random;
        let writes = !["read", "trim", "randread", "randtrim"].contains(&rw);
        self.blocks(rw);
        let files = self.files(rw, engine, gaps, drawn);
        self.places(rw, files);
        let (requests, bytes) = (1 + self.chance.below(400), 16 * (1 + self.chance.below(300)) * files);
        for line in [format!("number_ios={requests}"), format!("io_size={bytes}k"), "loops=2".to_owned()] {
            if self.chance.one_in(5) {
                self.say(line);
            }
        }
        if self.chance.below(6) < 5 {
            self.syncs();
        }
        if writes && !self.zoned && !rw.contains("trim") && self.chance.one_in(5) {
            self.verify();
        }
        // Where a wait left something counted, fio's pause does not end.
        if !batched && self.chance.one_in(4) {
            let (blocks, kind) = (1 + self.chance.below(40), self.chance.of(&["complete", "issue"]));
            self.say(format!("thinktime=20\nthinktime_blocks={blocks}\nthinktime_blocks_type={kind}"));
        }
        self.say(format!("write_iolog=log{}", drawn.threads));
        drawn.threads += 1;
        let _ = writeln!(drawn.text, "[j{number}]\n{}", self.lines.join("\n"));
    }

    /// An engine with any depth and batches; whether requests are handed over several at a time.
    fn batches(&mut self, engine: Engine) -> bool {
        let depth = [2, 3, 4, 8, 16][self.chance.below(5) as usize];
        let name = if engine == Engine::Aio { "libaio" } else { "null" };
        self.say(format!("ioengine={name}\niodepth={depth}"));
        let batch = if self.chance.one_in(2) { 1 + self.chance.below(depth + 1) } else { 1 };
        if batch > 1 {
            self.say(format!("iodepth_batch={batch}"));
        }
        for (key, one_in) in [("batch_complete_min", 2), ("batch_complete_max", 3), ("low", 3)] {
            if self.chance.one_in(one_in) {
                let number = self.chance.below(depth + 1);
                self.say(format!("iodepth_{key}={number}"));
            }
        }
        batch > 1
    }

    fn engine(&mut self, engine: Engine, drawn: &mut Drawn) {
        match engine {
            Engine::Null => self.say("ioengine=null"),
            Engine::Calls => self.say("ioengine=psync"),
            Engine::NullDeep => {
                let depth = self.chance.of(&["2", "4", "16"]);
                self.say(format!("ioengine=null\niodepth={depth}\niodepth_batch={depth}"));
                // It hands back all that it has.
                self.say(format!("iodepth_batch_complete_min={depth}\niodepth_batch_complete_max={depth}"));
            }
            Engine::Aio => {
                let depth = [2, 4, 8, 32][self.chance.below(4) as usize];
                self.say(format!("ioengine=libaio\niodepth={depth}"));
                if self.chance.one_in(2) {
                    let least = 1 + self.chance.below(depth);
                    self.say(format!("iodepth_batch_complete_min={least}"));
                    if self.chance.one_in(2) {
                        let most = least + self.chance.below(depth);
                        self.say(format!("iodepth_batch_complete_max={most}"));
                    }
                }
                if self.chance.one_in(3) {
                    let batch = 1 + self.chance.below(depth);
                    self.say(format!("iodepth_batch={batch}"));
                    drawn.doubled |= batch > 1;
                }
                if self.chance.one_in(3) {
                    let low = 1 + self.chance.below(depth);
                    self.say(format!("iodepth_low={low}"));
                }
            }
        }
    }

    fn direction(&mut self, engine: Engine) -> &'static str {
        // A file cannot be trimmed.
        let trims = ["trim", "randtrim", "trimwrite", "randtrimwrite"];
        let plain = ["read", "write", "randread", "randwrite", "rw", "randrw", "rw", "randrw", "randwrite"];
        let null = matches!(engine, Engine::Null | Engine::NullDeep);
        let rw = if null && self.chance.one_in(3) { self.chance.of(&trims) } else { self.chance.of(&plain) };
        self.random = rw.starts_with("rand");
        let mut line = format!("rw={rw}");
        if self.chance.one_in(8) && !rw.contains("trimwrite") {
            let after: &[&str] = if self.random { &["2", "8", "31"] } else { &["4k", "12k", "-8k", "64k"] };
            line += ":";
            line += self.chance.of(after);
            if self.random && self.chance.one_in(2) {
                line += "\nrw_sequencer=identical";
            }
        }
        self.say(line);
        if rw.ends_with("rw") && self.chance.one_in(2) {
            let share = self.chance.below(101);
            self.say(format!("rwmixread={share}"));
        }
        rw
    }

    fn blocks(&mut self, rw: &str) {
        let pairs = rw.contains("trimwrite");
        let line = match self.chance.below(10) {
            0..4 => "bs=4k",
            4 => "bs=16k",
            5 if !pairs => "bs=4k,8k,16k",
            6 => "bsrange=4k-32k",
            7 => "bssplit=4k/50:64k/30:16k/20",
            8 if !pairs => "bssplit=4k/50:8k/50,16k/30:4k/70,8k/10:12k/90",
            _ => "bs=512",
        };
        self.say(line);
        if self.random && self.chance.one_in(10) {
            self.say("blockalign=8k");
        }
        if self.random && self.chance.one_in(12) {
            self.say("bs_is_seq_rand=1");
        }
    }

    fn files(&mut self, rw: &str, engine: Engine, gaps: bool, drawn: &mut Drawn) -> u64 {
        let count = if self.chance.one_in(4) { 2 + self.chance.below(4) } else { 1 };
        let bytes = match self.chance.below(4) {
            0 => 1 << 20,
            1 => 300 << 10,
            2 => (256 << 10) + 512 * self.chance.below(99),
            _ => 2 << 20,
        };
        let first = drawn.files.len() as u64;
        let names: Vec<String> = (first..first + count).map(|file| format!("f{file}")).collect();
        self.say(format!("filename={}\nsize={}", names.join(":"), bytes * count));
        // With nothing behind it a file has no end but its size; a run with gaps or backwards that begins at an offset
        // goes otherwise on purpose (see `work/workload/fio`).
        let real = matches!(engine, Engine::Calls | Engine::Aio);
        self.zoned = real && !gaps && self.chance.one_in(4);
        let zone = [64 << 10, 128 << 10, 96 << 10][self.chance.below(3) as usize];
        let unit = if self.zoned { zone } else { 64 << 10 };
        let offset = if real && !gaps && self.chance.one_in(5) { unit } else { 0 };
        if offset > 0 {
            self.say(format!("offset={offset}"));
        }
        drawn.files.extend((0..count).map(|_| offset + bytes));
        if self.zoned {
            drawn.there = true;
            self.zones(rw, zone);
        }
        if count > 1 {
            let service = self.chance.of(&["roundrobin", "sequential", "random"]);
            self.say(format!("file_service_type={service}"));
        } else if !self.zoned && self.chance.one_in(8) && offset == 0 && !rw.contains("trimwrite") {
            let zones = self.chance.of(&[
                "zonesize=64k\nzonerange=128k\nzoneskip=64k",
                "zonesize=128k\nzonerange=128k\nzoneskip=0",
                "zonesize=256k\nzonerange=64k\nzoneskip=64k",
            ]);
            self.say(format!("zonemode=strided\n{zones}"));
        }
        count
    }

    /// Zones that fio keeps itself.
    fn zones(&mut self, rw: &str, zone: u64) {
        self.say(format!("zonemode=zbd\nzonesize={zone}"));
        if self.chance.one_in(3) {
            let capacity = zone - 4096 * (1 + self.chance.below(4));
            self.say(format!("zonecapacity={capacity}"));
        }
        if self.chance.one_in(2) {
            let most = 1 + self.chance.below(4);
            self.say(format!("max_open_zones={most}"));
            if self.chance.one_in(3) {
                let most = 1 + self.chance.below(most);
                self.say(format!("job_max_open_zones={most}"));
            }
        }
        if self.chance.one_in(3) {
            let (threshold, frequency) = (self.chance.of(&["0", "0.3", "0.8"]), self.chance.of(&["1", "0.25", "0.1"]));
            self.say(format!("zone_reset_threshold={threshold}\nzone_reset_frequency={frequency}"));
        }
        if !self.random && self.chance.one_in(4) {
            let skip = zone * (1 + self.chance.below(2));
            self.say(format!("zoneskip={skip}"));
        }
        if rw.ends_with("read") || self.chance.one_in(4) {
            self.say("read_beyond_wp=1");
        }
    }

    fn places(&mut self, rw: &str, files: u64) {
        if !self.random {
            return;
        }
        match self.chance.below(6) {
            0 => self.say("norandommap"),
            1 if !rw.contains("trimwrite") => {
                let share = self.chance.of(&["40", "90", "10,70", "0,50,100"]);
                self.say(format!("percentage_random={share}"));
            }
            2 => {
                let given =
                    ["zipf:1.2:0.25", "zipf:0.8", "pareto:0.2:0.25", "normal:20", "zoned:60/10:30/20:8/30:2/40"];
                let distribution = self.chance.of(&given);
                self.say(format!("random_distribution={distribution}"));
                if files > 1 || !distribution.starts_with("zoned") {
                    // Without a seed fio takes the file's name.
                    let seed = self.chance.of(&["137", "42"]);
                    self.say(format!("randseed={seed}"));
                }
            }
            3 => {
                let generator = self.chance.of(&["lfsr", "tausworthe64"]);
                self.say(format!("random_generator={generator}"));
            }
            4 if self.chance.one_in(3) => self.say("randseed=7"),
            _ => {}
        }
    }

    fn ends(&mut self, files: u64) {
        match self.chance.below(3) {
            0 => {
                let requests = 1 + self.chance.below(400);
                self.say(format!("number_ios={requests}"));
            }
            1 => {
                let kib = 16 * (1 + self.chance.below(300)) * files;
                self.say(format!("io_size={kib}k"));
            }
            _ => self.say("loops=2"),
        }
    }

    fn syncs(&mut self) {
        let every = |chance: &mut Chance| [1, 2, 3, 4, 7, 8, 16, 32, 100][chance.below(9) as usize];
        let (a, b, c) = (every(self.chance), every(self.chance), every(self.chance));
        match self.chance.below(8) {
            0..3 => self.say(format!("fsync={a}")),
            3 | 4 => self.say(format!("fdatasync={a}")),
            5 => self.say(format!("fsync={a}\nfdatasync={b}")),
            6 => self.say(format!("sync_file_range=write:{c}\nfsync={a}")),
            _ => {}
        }
        match self.chance.below(6) {
            0 => self.say("end_fsync=1"),
            1 => self.say("fsync_on_close=1"),
            _ => {}
        }
    }

    fn verify(&mut self) {
        self.say("verify=null");
        match self.chance.below(4) {
            0 => self.say("do_verify=0"),
            1 | 2 => {
                let backlog = [1, 8, 32, 100][self.chance.below(4) as usize];
                self.say(format!("verify_backlog={backlog}"));
                if self.chance.one_in(2) {
                    let batch = [1, 3, 16, 64][self.chance.below(4) as usize];
                    self.say(format!("verify_backlog_batch={batch}"));
                }
            }
            _ => {}
        }
    }
}
