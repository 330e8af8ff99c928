//! `cargo xtask md --rebuild`: Linux's md rebuilds a member in a virtual machine, whose disks are modelled drives of `seekwise serve`, and the
//! model does the same. Beside each other stand, for the members that are read and the new one, the bytes and the commands, and how far
//! the commands were out of order; and the seconds, where the servers' receipts say that the machine kept up.
//!
//! The recordings of the servers say what reached the disks, so nothing depends on what the guest counts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::image::Image;

/// The drive that all members are like, and its bytes: small, so that a rebuild takes seconds.
const DRIVE: [&str; 2] = ["barracuda-7200.7-ncq", "1g"];

/// What the model is driven with: hardly any users.
const JOB: &str =
    "[x]\nioengine=libaio\ndirect=1\nfilename=/dev/md0\nrw=randread\nbs=4k\nrate_iops=1\ntime_based\nruntime=120\n";

/// Kilobytes of a chunk.
const CHUNK_KIB: u32 = 512;

/// Per cent of its time for which a guest whose disks set the pace leaves its two processors idle: with 50 one of them was never idle.
const LEAST_IDLE: f64 = 75.0;

/// A rebuild of the last member.
struct Case {
    level: &'static str,
    /// md's word and its number of the layout, if the level has any.
    linux: (&'static str, &'static str),
    members: u32,
    /// `sync_speed_max`, if it is set.
    max_kib_s: Option<u32>,
    /// Reads of 4 KiB a second beside it.
    users: u32,
}

const CASES: [Case; 6] = [
    Case { level: "raid-1", linux: ("raid1", "-"), members: 2, max_kib_s: None, users: 0 },
    Case { level: "raid-10", linux: ("raid10", "258"), members: 4, max_kib_s: None, users: 0 },
    Case { level: "raid-5", linux: ("raid5", "2"), members: 3, max_kib_s: None, users: 0 },
    Case { level: "raid-6", linux: ("raid6", "2"), members: 4, max_kib_s: None, users: 0 },
    Case { level: "raid-5", linux: ("raid5", "2"), members: 3, max_kib_s: Some(10_000), users: 0 },
    Case { level: "raid-5", linux: ("raid5", "2"), members: 3, max_kib_s: None, users: 20 },
];

impl Case {
    fn words(&self) -> String {
        let limit = self.max_kib_s.map_or(String::new(), |kib| format!(", at most {kib} KiB/s"));
        let users = if self.users > 0 { format!(", beside {} reads a second", self.users) } else { String::new() };
        format!("{} of {}{limit}{users}", self.level, self.members)
    }

    fn settings(&self) -> Vec<String> {
        let mut all = vec![
            format!("array={}", self.level),
            format!("array.drives={}", self.members),
            "driver=linux-mq-deadline".to_owned(),
        ];
        if self.level != "raid-1" {
            all.push(format!("array.chunk_kib={CHUNK_KIB}"));
        }
        all.extend(self.max_kib_s.map(|kib| format!("array.sync_speed_max={kib}")));
        all
    }

    fn guest_script(&self, member_kib: u64) -> String {
        let chunk = if self.level == "raid-1" { 0 } else { CHUNK_KIB * 1024 };
        format!(
            "LEVEL={}\nLAYOUT={}\nMEMBERS={}\nMEMBER_KIB={member_kib}\nCHUNK={chunk}\nMAX_KIB_S={}\nUSERS={}\n",
            self.linux.0,
            self.linux.1,
            self.members,
            self.max_kib_s.unwrap_or(0),
            self.users
        )
    }
}

/// What reached one member, or the mean of several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct MemberWork {
    bytes: f64,
    commands: f64,
    /// The share of commands that begin before the end of an earlier one; none for the model, whose results do not say it.
    out_of_order: Option<f64>,
}

/// A rebuild as it was observed.
struct Rebuild {
    /// Of the members that are read, in the mean.
    read: MemberWork,
    /// Of the new member.
    written: MemberWork,
    seconds: f64,
    /// What says that the seconds do not count.
    doubt: Option<String>,
}

/// Compares all cases.
pub(super) fn compare(program: &Path, folder: &Path) -> Result<(), String> {
    let folder = folder.join("rebuild");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let member = folder.join("member.toml");
    call(program, &["init", "drive", "--like", DRIVE[0], "--capacity", DRIVE[1], "--force", "-o", &text(&member)])?;
    for case in &CASES {
        let (model, member_kib) = run_model(program, &folder, &member, case)?;
        let parent = folder.parent().unwrap_or(&folder);
        let image = match Image::build(parent, "rebuild-init", &case.guest_script(member_kib))? {
            Ok(image) => image,
            Err(missing) => {
                println!("skipped: {missing}");
                return Ok(());
            }
        };
        let measured = run_guest(program, &folder, &member, (case, &image))?;
        print_case(case, &measured, &model);
    }
    Ok(())
}

fn print_case(case: &Case, measured: &Rebuild, model: &Rebuild) {
    println!("\n{}", case.words());
    println!("                     MB   commands  KiB each  out of order %");
    let line = |who: &str, work: &MemberWork| {
        let out_of_order = work.out_of_order.map_or("-".to_owned(), |share| format!("{:.1}", 100.0 * share));
        let each = work.bytes / work.commands.max(1.0) / 1024.0;
        println!("{who:16} {:7.1}  {:9.0}  {each:8.1}  {:>14}", work.bytes / 1e6, work.commands, out_of_order);
    };
    line("md, reads", &measured.read);
    line("model, reads", &model.read);
    line("md, new", &measured.written);
    line("model, new", &model.written);
    match &measured.doubt {
        None => println!("seconds: md {:.1}, model {:.1}", measured.seconds, model.seconds),
        Some(why) => {
            println!("seconds: md {:.1}, which do not count ({why}); model {:.1}", measured.seconds, model.seconds)
        }
    }
}

/// The model's rebuild, and the KiB of each member in the array.
fn run_model(program: &Path, folder: &Path, member: &Path, case: &Case) -> Result<(Rebuild, u64), String> {
    let job = folder.join("job.fio");
    fs::write(&job, JOB).map_err(|error| format!("{}: {error}", job.display()))?;
    let (on, last) = (text(member), case.members - 1);
    let settings: Vec<String> = case.settings().into_iter().flat_map(|setting| ["--set".to_owned(), setting]).collect();
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let (lose, replace) = (format!("array.lose={last}"), format!("at.2s.array.replace={last}"));
    let job = text(&job);
    let words = [&["run", &job, "--on", &on, "--json", "--set", &lose, "--set", &replace][..], &settings].concat();
    let run = json(program, &words)?;
    let (count, load) = (case.members.to_string(), text(&folder.join("users.fio")));
    let mut words = vec!["rebuild", "--on", &on, "--whole", "--json", "--array", case.level, "--drives", &count];
    // The level and the number of drives have options of their own here.
    words.extend(&settings[4..]);
    if case.users > 0 {
        let users = format!(
            "[x]\nioengine=libaio\ndirect=1\nfilename=/dev/md0\nrw=randread\nbs=4k\niodepth=32\nrate_iops={}\ntime_based\n\
             runtime=1000h\n",
            case.users
        );
        fs::write(&load, users).map_err(|error| format!("{load}: {error}"))?;
        words.extend(["--load", &load]);
    }
    let whole = json(program, &words)?;
    let hours = whole["policies"][0]["hours"].as_f64().ok_or("the model's rebuild has no end")?;
    let members = run["array"]["members"].as_array().ok_or("the model does not say what its members did")?;
    let work = |value: &Value, bytes: &str, commands: &str| {
        let number = |key: &str| value[key].as_f64().unwrap_or(0.0);
        MemberWork { bytes: number(bytes), commands: number(commands), out_of_order: None }
    };
    let (new, others) = members.split_last().ok_or("no members")?;
    let read: Vec<MemberWork> = others.iter().map(|it| work(it, "sync_read_bytes", "reads")).collect();
    let rebuilt = run["drive"]["syncs"]["rebuilt_sectors"].as_u64().ok_or("the model rebuilt nothing")?;
    let written = work(new, "sync_written_bytes", "writes");
    Ok((Rebuild { read: mean_work(&read), written, seconds: hours * 3600.0, doubt: None }, rebuilt / 2))
}

/// md's rebuild on served members.
fn run_guest(program: &Path, folder: &Path, member: &Path, (case, image): (&Case, &Image)) -> Result<Rebuild, String> {
    let console = folder.join("console.txt");
    let mut qemu = image.machine(&["-smp", "2", "-accel", "tcg,thread=multi"], &console);
    let recording = |index: u32| folder.join(format!("member-{index}.csv"));
    let socket = |index: u32| folder.join(format!("{index}.socket"));
    let mut words: Vec<String> = Vec::new();
    for index in 0..case.members {
        let drive = format!("file=nbd:unix:{},format=raw,if=virtio,cache=none", socket(index).display());
        qemu.arg("-drive").arg(drive);
        let nbd = format!("unix:{}", socket(index).display());
        for old in [socket(index), recording(index), PathBuf::from(format!("{}.control", socket(index).display()))] {
            drop(fs::remove_file(old));
        }
        // Each server runs the next one, and the last one the machine.
        words.extend([text(program), "serve".to_owned(), text(member), "--nbd".to_owned(), nbd]);
        words.extend(["--record".to_owned(), text(&recording(index)), "--run".to_owned(), "--".to_owned()]);
    }
    words.push(qemu.get_program().to_string_lossy().into_owned());
    words.extend(qemu.get_args().map(|word| word.to_string_lossy().into_owned()));
    let output = Command::new(&words[0]).args(&words[1..]).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{}: {error}", words[0]))?;
    let receipts = String::from_utf8_lossy(&output.stderr).into_owned();
    let said = fs::read(&console).map_err(|error| format!("{}: {error}", console.display()))?;
    let said = String::from_utf8_lossy(&said).into_owned();
    let line = said.lines().find_map(|line| line.trim().strip_prefix("REBUILT ").map(str::to_owned));
    let line = line
        .ok_or_else(|| format!("{}: the rebuild did not end: see {}\n{receipts}", case.words(), console.display()))?;
    let [missing, seconds, idle] = line.split_ascii_whitespace().collect::<Vec<_>>()[..] else {
        return Err(format!("`{line}`: expected members, seconds and per cent"));
    };
    if missing != "0" {
        return Err(format!("{}: {missing} members are missing at the end", case.words()));
    }
    let works: Vec<[MemberWork; 2]> = (0..case.members)
        .map(|index| {
            let path = recording(index);
            fs::read_to_string(&path)
                .map(|text| work_of_recording(&text))
                .map_err(|error| format!("{}: {error}", path.display()))
        })
        .collect::<Result<_, _>>()?;
    let (new, others) = works.split_last().ok_or("no members")?;
    let read: Vec<MemberWork> = others.iter().map(|[read, _]| *read).collect();
    let number = |word: &str| word.parse::<f64>().map_err(|_| format!("`{line}`: `{word}` is no number"));
    let has_kept_up = receipts.matches("The machine kept up.").count() == case.members as usize;
    let doubt = match (has_kept_up, number(idle)?) {
        (false, _) => Some("a server fell behind".to_owned()),
        (true, idle) if idle < LEAST_IDLE => Some(format!("the guest's processors were idle for {idle:.0} % only")),
        _ => None,
    };
    Ok(Rebuild { read: mean_work(&read), written: new[1], seconds: number(seconds)?, doubt })
}

/// What a recording has of reads and of writes.
fn work_of_recording(recording: &str) -> [MemberWork; 2] {
    ["read", "write"].map(|op| {
        let (mut work, mut late, mut end) = (MemberWork::default(), 0.0, 0u64);
        for row in recording.lines().map(|line| line.split(',').collect::<Vec<_>>()) {
            let [_, _, _, _, of, lba, sectors, ..] = row[..] else { continue };
            let (true, Ok(lba), Ok(sectors)) = (of == op, lba.parse::<u64>(), sectors.parse::<u64>()) else { continue };
            work.bytes += 512.0 * sectors as f64;
            work.commands += 1.0;
            late += f64::from(u8::from(lba < end));
            end = end.max(lba + sectors);
        }
        work.out_of_order = Some(late / work.commands.max(1.0));
        work
    })
}

fn mean_work(all: &[MemberWork]) -> MemberWork {
    let count = all.len().max(1) as f64;
    let mean = |figure: fn(&MemberWork) -> f64| all.iter().map(figure).sum::<f64>() / count;
    MemberWork {
        bytes: mean(|it| it.bytes),
        commands: mean(|it| it.commands),
        out_of_order: all.iter().map(|it| it.out_of_order).sum::<Option<f64>>().map(|sum| sum / count),
    }
}

fn json(program: &Path, words: &[&str]) -> Result<Value, String> {
    serde_json::from_str(&call(program, words)?).map_err(|error| format!("{}: {error}", words.join(" ")))
}

fn call(program: &Path, words: &[&str]) -> Result<String, String> {
    let output =
        Command::new(program).args(words).output().map_err(|error| format!("{}: {error}", program.display()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim())),
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_read_by_direction() {
        let recording = "stamp,at_ns,done_ns,status,op,lba,sectors,fua,tag\n1,0,10,done,write,0,16,0,0\n2,1,20,done,write,8,8,0,1\n\
                         3,2,30,done,read,0,8,0,0\n";
        let [read, written] = work_of_recording(recording);
        assert_eq!(read, MemberWork { bytes: 4096.0, commands: 1.0, out_of_order: Some(0.0) });
        assert_eq!(written, MemberWork { bytes: 12288.0, commands: 2.0, out_of_order: Some(0.5) });
    }
}
