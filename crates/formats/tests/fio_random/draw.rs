//! Job files drawn at random, by a seed: options that shape the stream of requests, in combinations that fio runs.

use std::fmt::Write;

/// A job file.
pub(crate) struct Drawn {
    pub(crate) text: String,
    /// Threads, each with a log of its own.
    pub(crate) threads: usize,
    /// Bytes of each file, `f0` first, as far as the job knows it.
    pub(crate) files: Vec<u64>,
    /// True if time ends the job.
    pub(crate) timed: bool,
    /// True if the files exist before the run: fio cuts only such into zones.
    pub(crate) files_exist: bool,
    /// True if the log may hold a request several times: once each time that fio offers a request which the engine puts off.
    pub(crate) log_repeats: bool,
}

impl Drawn {
    /// The job's options on one line.
    pub(crate) fn options(&self) -> String {
        self.text.lines().filter(|line| !line.starts_with("write_iolog")).collect::<Vec<_>>().join(" ")
    }
}

/// A generator of random numbers: SplitMix64 (Steele, Lea, Flood, 2014).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// True once in `n` draws on average.
    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn choose<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len() as u64) as usize]
    }
}

/// How a section's requests are sent.
#[derive(Clone, Copy, PartialEq)]
enum Engine {
    /// A request at a time, to fio's null engine.
    Null,
    /// A request at a time, on files in memory.
    Calls,
    /// Several at a time in batches, to fio's null engine.
    NullDeep,
    /// Several at a time, to files in memory; a sync blocks the thread.
    Aio,
}

/// The job of this seed.
pub(crate) fn draw_job(seed: u64) -> Drawn {
    let mut chance = Chance(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let mut drawn = Drawn {
        text: String::new(),
        threads: 0,
        files: Vec::new(),
        timed: false,
        files_exist: false,
        log_repeats: false,
    };
    let sections = if chance.one_in(4) { 2 + chance.below(2) } else { 1 };
    for number in 0..sections {
        let mut section = Section { chance: &mut chance, lines: Vec::new(), random: false, zoned: false };
        section.draw_section(number, &mut drawn);
    }
    drawn
}

/// The job of this seed whose sections vary depths, batches, pauses and ends in combination.
pub(crate) fn draw_engine_job(seed: u64) -> Drawn {
    let mut chance = Chance(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x5eed);
    let mut drawn = Drawn {
        text: String::new(),
        threads: 0,
        files: Vec::new(),
        timed: false,
        files_exist: false,
        log_repeats: true,
    };
    let sections = if chance.one_in(8) { 2 } else { 1 };
    for number in 0..sections {
        let mut section = Section { chance: &mut chance, lines: Vec::new(), random: false, zoned: false };
        section.draw_deep_section(number, &mut drawn);
    }
    drawn
}

/// A section of a job that is being drawn.
struct Section<'a> {
    chance: &'a mut Chance,
    lines: Vec<String>,
    /// True if the section's accesses are random.
    random: bool,
    /// True if the section has zones that fio keeps.
    zoned: bool,
}

impl Section<'_> {
    /// Adds a line, or several, to the section.
    fn add_line(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    /// Draws the section and adds it to the job.
    fn draw_section(&mut self, number: u64, drawn: &mut Drawn) {
        let engine = match self.chance.below(10) {
            0..4 => Engine::Null,
            4..7 => Engine::Calls,
            7 => Engine::NullDeep,
            _ => Engine::Aio,
        };
        self.draw_engine(engine, drawn);
        let rw = self.draw_direction(engine);
        let has_gaps = self.lines.iter().any(|line| line.starts_with("rw=") && line.contains(':')) && !self.random;
        let writes = !["read", "trim", "randread", "randtrim"].contains(&rw);
        self.draw_block_sizes(rw);
        let files = self.draw_files(rw, engine, has_gaps, drawn);
        self.draw_places(rw, files);
        if self.chance.one_in(4) {
            drawn.log_repeats |= engine == Engine::NullDeep;
            self.draw_end(files);
        }
        if self.chance.below(5) < 4 {
            self.draw_syncs();
        }
        if writes
            && !self.zoned
            && !rw.contains("trim")
            && matches!(engine, Engine::Null | Engine::Calls)
            && self.chance.one_in(4)
        {
            self.draw_verify();
        }
        if self.chance.one_in(24) && engine != Engine::NullDeep {
            // A thousand requests or so, however fast the machine is.
            self.add_line("time_based=1\nruntime=1\nthinktime=1000");
            drawn.timed = true;
        }
        if number > 0 && self.chance.one_in(2) {
            self.add_line("stonewall");
        }
        self.add_line(format!("write_iolog=log{}", drawn.threads));
        drawn.threads += 1;
        let _ = writeln!(drawn.text, "[j{number}]\n{}", self.lines.join("\n"));
    }

    /// As [`Section::draw_section`], with several requests at a time always.
    fn draw_deep_section(&mut self, number: u64, drawn: &mut Drawn) {
        let engine = if self.chance.one_in(2) { Engine::NullDeep } else { Engine::Aio };
        let batched = self.draw_batches(engine);
        let rw = self.draw_direction(engine);
        let has_gaps = self.lines.iter().any(|line| line.starts_with("rw=") && line.contains(':')) && !self.random;
        let writes = !["read", "trim", "randread", "randtrim"].contains(&rw);
        self.draw_block_sizes(rw);
        let files = self.draw_files(rw, engine, has_gaps, drawn);
        self.draw_places(rw, files);
        let (requests, bytes) = (1 + self.chance.below(400), 16 * (1 + self.chance.below(300)) * files);
        for line in [format!("number_ios={requests}"), format!("io_size={bytes}k"), "loops=2".to_owned()] {
            if self.chance.one_in(5) {
                self.add_line(line);
            }
        }
        if self.chance.below(6) < 5 {
            self.draw_syncs();
        }
        if writes && !self.zoned && !rw.contains("trim") && self.chance.one_in(5) {
            self.draw_verify();
        }
        // In a batch fio's pause may not end: a wait can leave requests counted.
        if !batched && self.chance.one_in(4) {
            let (blocks, kind) = (1 + self.chance.below(40), self.chance.choose(&["complete", "issue"]));
            self.add_line(format!("thinktime=20\nthinktime_blocks={blocks}\nthinktime_blocks_type={kind}"));
        }
        self.add_line(format!("write_iolog=log{}", drawn.threads));
        drawn.threads += 1;
        let _ = writeln!(drawn.text, "[j{number}]\n{}", self.lines.join("\n"));
    }

    /// Draws an engine with any depth and batches; true if requests are handed over several at a time.
    fn draw_batches(&mut self, engine: Engine) -> bool {
        let depth = [2, 3, 4, 8, 16][self.chance.below(5) as usize];
        let name = if engine == Engine::Aio { "libaio" } else { "null" };
        self.add_line(format!("ioengine={name}\niodepth={depth}"));
        let batch = if self.chance.one_in(2) { 1 + self.chance.below(depth + 1) } else { 1 };
        if batch > 1 {
            self.add_line(format!("iodepth_batch={batch}"));
        }
        for (key, one_in) in [("batch_complete_min", 2), ("batch_complete_max", 3), ("low", 3)] {
            if self.chance.one_in(one_in) {
                let number = self.chance.below(depth + 1);
                self.add_line(format!("iodepth_{key}={number}"));
            }
        }
        batch > 1
    }

    fn draw_engine(&mut self, engine: Engine, drawn: &mut Drawn) {
        match engine {
            Engine::Null => self.add_line("ioengine=null"),
            Engine::Calls => self.add_line("ioengine=psync"),
            Engine::NullDeep => {
                let depth = self.chance.choose(&["2", "4", "16"]);
                self.add_line(format!("ioengine=null\niodepth={depth}\niodepth_batch={depth}"));
                // The engine hands back all requests that it holds.
                self.add_line(format!("iodepth_batch_complete_min={depth}\niodepth_batch_complete_max={depth}"));
            }
            Engine::Aio => {
                let depth = [2, 4, 8, 32][self.chance.below(4) as usize];
                self.add_line(format!("ioengine=libaio\niodepth={depth}"));
                if self.chance.one_in(2) {
                    let least = 1 + self.chance.below(depth);
                    self.add_line(format!("iodepth_batch_complete_min={least}"));
                    if self.chance.one_in(2) {
                        let most = least + self.chance.below(depth);
                        self.add_line(format!("iodepth_batch_complete_max={most}"));
                    }
                }
                if self.chance.one_in(3) {
                    let batch = 1 + self.chance.below(depth);
                    self.add_line(format!("iodepth_batch={batch}"));
                    drawn.log_repeats |= batch > 1;
                }
                if self.chance.one_in(3) {
                    let low = 1 + self.chance.below(depth);
                    self.add_line(format!("iodepth_low={low}"));
                }
            }
        }
    }

    /// Draws `rw`, and returns its value.
    fn draw_direction(&mut self, engine: Engine) -> &'static str {
        // A file cannot be trimmed.
        let trims = ["trim", "randtrim", "trimwrite", "randtrimwrite"];
        let plain = ["read", "write", "randread", "randwrite", "rw", "randrw", "rw", "randrw", "randwrite"];
        let null = matches!(engine, Engine::Null | Engine::NullDeep);
        let rw = if null && self.chance.one_in(3) { self.chance.choose(&trims) } else { self.chance.choose(&plain) };
        self.random = rw.starts_with("rand");
        let mut line = format!("rw={rw}");
        if self.chance.one_in(8) && !rw.contains("trimwrite") {
            let after: &[&str] = if self.random { &["2", "8", "31"] } else { &["4k", "12k", "-8k", "64k"] };
            line += ":";
            line += self.chance.choose(after);
            if self.random && self.chance.one_in(2) {
                line += "\nrw_sequencer=identical";
            }
        }
        self.add_line(line);
        if rw.ends_with("rw") && self.chance.one_in(2) {
            let share = self.chance.below(101);
            self.add_line(format!("rwmixread={share}"));
        }
        rw
    }

    fn draw_block_sizes(&mut self, rw: &str) {
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
        self.add_line(line);
        if self.random && self.chance.one_in(10) {
            self.add_line("blockalign=8k");
        }
        if self.random && self.chance.one_in(12) {
            self.add_line("bs_is_seq_rand=1");
        }
    }

    /// Draws files, their sizes and zones; returns the number of files. `has_gaps`: the accesses leave gaps or go backwards.
    fn draw_files(&mut self, rw: &str, engine: Engine, has_gaps: bool, drawn: &mut Drawn) -> u64 {
        let count = if self.chance.one_in(4) { 2 + self.chance.below(4) } else { 1 };
        let bytes = match self.chance.below(4) {
            0 => 1 << 20,
            1 => 300 << 10,
            2 => (256 << 10) + 512 * self.chance.below(99),
            _ => 2 << 20,
        };
        let first = drawn.files.len() as u64;
        let names: Vec<String> = (first..first + count).map(|file| format!("f{file}")).collect();
        self.add_line(format!("filename={}\nsize={}", names.join(":"), bytes * count));
        // The null engine's files end where their size does. A run with gaps or backwards that begins at an offset differs from
        // fio on purpose (see `work/workload/fio`).
        let real = matches!(engine, Engine::Calls | Engine::Aio);
        self.zoned = real && !has_gaps && self.chance.one_in(4);
        let zone = [64 << 10, 128 << 10, 96 << 10][self.chance.below(3) as usize];
        let unit = if self.zoned { zone } else { 64 << 10 };
        let offset = if real && !has_gaps && self.chance.one_in(5) { unit } else { 0 };
        if offset > 0 {
            self.add_line(format!("offset={offset}"));
        }
        drawn.files.extend((0..count).map(|_| offset + bytes));
        if self.zoned {
            drawn.files_exist = true;
            self.draw_zones(rw, zone);
        }
        if count > 1 {
            let service = self.chance.choose(&["roundrobin", "sequential", "random"]);
            self.add_line(format!("file_service_type={service}"));
        } else if !self.zoned && self.chance.one_in(8) && offset == 0 && !rw.contains("trimwrite") {
            let zones = self.chance.choose(&[
                "zonesize=64k\nzonerange=128k\nzoneskip=64k",
                "zonesize=128k\nzonerange=128k\nzoneskip=0",
                "zonesize=256k\nzonerange=64k\nzoneskip=64k",
            ]);
            self.add_line(format!("zonemode=strided\n{zones}"));
        }
        count
    }

    /// Zones that fio keeps itself.
    fn draw_zones(&mut self, rw: &str, zone: u64) {
        self.add_line(format!("zonemode=zbd\nzonesize={zone}"));
        if self.chance.one_in(3) {
            let capacity = zone - 4096 * (1 + self.chance.below(4));
            self.add_line(format!("zonecapacity={capacity}"));
        }
        if self.chance.one_in(2) {
            let most = 1 + self.chance.below(4);
            self.add_line(format!("max_open_zones={most}"));
            if self.chance.one_in(3) {
                let most = 1 + self.chance.below(most);
                self.add_line(format!("job_max_open_zones={most}"));
            }
        }
        if self.chance.one_in(3) {
            let (threshold, frequency) =
                (self.chance.choose(&["0", "0.3", "0.8"]), self.chance.choose(&["1", "0.25", "0.1"]));
            self.add_line(format!("zone_reset_threshold={threshold}\nzone_reset_frequency={frequency}"));
        }
        if !self.random && self.chance.one_in(4) {
            let skip = zone * (1 + self.chance.below(2));
            self.add_line(format!("zoneskip={skip}"));
        }
        if rw.ends_with("read") || self.chance.one_in(4) {
            self.add_line("read_beyond_wp=1");
        }
    }

    fn draw_places(&mut self, rw: &str, files: u64) {
        if !self.random {
            return;
        }
        match self.chance.below(6) {
            0 => self.add_line("norandommap"),
            1 if !rw.contains("trimwrite") => {
                let share = self.chance.choose(&["40", "90", "10,70", "0,50,100"]);
                self.add_line(format!("percentage_random={share}"));
            }
            2 => {
                let given =
                    ["zipf:1.2:0.25", "zipf:0.8", "pareto:0.2:0.25", "normal:20", "zoned:60/10:30/20:8/30:2/40"];
                let distribution = self.chance.choose(&given);
                self.add_line(format!("random_distribution={distribution}"));
                if files > 1 || !distribution.starts_with("zoned") {
                    // Without a seed fio takes the file's name.
                    let seed = self.chance.choose(&["137", "42"]);
                    self.add_line(format!("randseed={seed}"));
                }
            }
            3 => {
                let generator = self.chance.choose(&["lfsr", "tausworthe64"]);
                self.add_line(format!("random_generator={generator}"));
            }
            4 if self.chance.one_in(3) => self.add_line("randseed=7"),
            _ => {}
        }
    }

    fn draw_end(&mut self, files: u64) {
        match self.chance.below(3) {
            0 => {
                let requests = 1 + self.chance.below(400);
                self.add_line(format!("number_ios={requests}"));
            }
            1 => {
                let kib = 16 * (1 + self.chance.below(300)) * files;
                self.add_line(format!("io_size={kib}k"));
            }
            _ => self.add_line("loops=2"),
        }
    }

    fn draw_syncs(&mut self) {
        let every = |chance: &mut Chance| [1, 2, 3, 4, 7, 8, 16, 32, 100][chance.below(9) as usize];
        let (a, b, c) = (every(self.chance), every(self.chance), every(self.chance));
        match self.chance.below(8) {
            0..3 => self.add_line(format!("fsync={a}")),
            3 | 4 => self.add_line(format!("fdatasync={a}")),
            5 => self.add_line(format!("fsync={a}\nfdatasync={b}")),
            6 => self.add_line(format!("sync_file_range=write:{c}\nfsync={a}")),
            _ => {}
        }
        match self.chance.below(6) {
            0 => self.add_line("end_fsync=1"),
            1 => self.add_line("fsync_on_close=1"),
            _ => {}
        }
    }

    fn draw_verify(&mut self) {
        self.add_line("verify=null");
        match self.chance.below(4) {
            0 => self.add_line("do_verify=0"),
            1 | 2 => {
                let backlog = [1, 8, 32, 100][self.chance.below(4) as usize];
                self.add_line(format!("verify_backlog={backlog}"));
                if self.chance.one_in(2) {
                    let batch = [1, 3, 16, 64][self.chance.below(4) as usize];
                    self.add_line(format!("verify_backlog_batch={batch}"));
                }
            }
            _ => {}
        }
    }
}
