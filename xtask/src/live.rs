//! `cargo xtask live`: reproduces findings of the source studies in real time, by real software on served disks, and
//! rewrites the tables of docs/live.md.
//!
//! The parts are: fio's random reads with command queuing and without; commits of SQLite on ext4 with the write cache
//! off, with flushes that reach the drive, and with flushes dropped (F2); losses of those sessions after power cuts,
//! and of records without a flush (F10, N9). Beside each figure stands the replay of the session's recording in virtual
//! time. The run takes minutes, as root, on an idle machine. A part whose programs or rights are missing is skipped
//! with the reason; the tables then stay as they are.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use crate::bench_real::{first_number, json_after_key};
use crate::steps::{Ended, command};

/// The drive that is served.
const DRIVE: &str = "barracuda-7200.7-ncq";

/// Requests that fio keeps in flight: the most that NCQ can hold.
const DEPTH: &str = "32";

/// Seconds of fio's work in real time: some 4000 reads, so that chance moves a rate by 2 % at most.
const SECONDS: &str = "20";

/// Commits of SQLite. Flushed ones take a few revolutions each: some 15 seconds.
const COMMITS: u32 = 200;

/// Cuts of each session, as many as in the claims.
const CUTS: &str = "1000";

/// Settings of cache and flushes: the name, and the options of `--set`.
const CACHE_SETTINGS: [(&str, &[&str]); 3] = [
    ("write cache off", &["drive.cache.write_back=off"]),
    ("write cache on, flushes reach the drive", &[]),
    ("write cache on, flushes dropped (\"power protected\")", &["driver.flush=drop"]),
];

/// Commits on a file system on the disk's file; writes their time in nanoseconds to the file `took`.
const COMMIT_SCRIPT: &str = "set -e
    device=$(losetup --find --show --direct-io=on \"$SEEKWISE_FILE\")
    trap 'umount mount || true; losetup -d $device' EXIT
    mount $device mount
    begin=$(date +%s%N)
    sqlite3 -bail mount/db < commits.sql > /dev/null
    echo $(($(date +%s%N) - begin)) > took";

/// Marks of the table in the document.
const MARKS: [&str; 2] = ["<!-- findings -->\n", "<!-- end -->"];

/// Runs it.
pub fn live() -> ExitCode {
    match reproduce_findings() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn reproduce_findings() -> Result<(), String> {
    if !matches!(command(&["cargo", "build", "--release", "--locked"], &[]), Ended::Passed) {
        return Err("the program was not built".to_owned());
    }
    let folder = crate::empty_folder("live").map_err(|error| format!("a folder for the disks: {error}"))?;
    let bench = Bench { program: crate::target().join("release/seekwise"), folder };
    let mut text = String::new();
    let mut is_complete = true;
    type Part = (&'static str, &'static [&'static str], fn(&Bench) -> Result<String, String>);
    let parts: [Part; 3] = [
        ("command queuing", &["fio --enghelp=nbd"], queuing),
        (
            "commits",
            &["sqlite3 --version", "test $(id -u) = 0", "test -e /dev/fuse", "losetup -f", "which mkfs.ext4"],
            commits,
        ),
        ("cuts", &["qemu-io --version", "sqlite3 --version", "test $(id -u) = 0", "losetup -f"], cuts),
    ];
    for (name, needs, part) in parts {
        match needs.iter().find(|need| bench.shell(need).is_err()) {
            Some(need) => {
                println!("{name}: skipped, because `{need}` fails here");
                is_complete = false;
            }
            None => {
                let table = part(&bench)?;
                println!("\n{table}");
                text.push_str(&format!("\n{table}"));
            }
        }
    }
    if is_complete { write_tables(&text) } else { Ok(()) }
}

/// Puts the tables into the document.
fn write_tables(text: &str) -> Result<(), String> {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').take(3).collect::<Vec<_>>().join(", ");
    let path = crate::root().join("docs/live.md");
    let page = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let parts = page.split_once(MARKS[0]).and_then(|(before, rest)| Some((before, rest.split_once(MARKS[1])?.1)));
    let (before, after) = parts.ok_or_else(|| format!("{}: expected the marks of the findings", path.display()))?;
    let page =
        format!("{before}{}{text}\nLoad averages of the machine at the end: {load}.\n\n{}{after}", MARKS[0], MARKS[1]);
    fs::write(&path, page).map_err(|error| format!("{}: {error}", path.display()))
}

/// The program, and the folder that it works in.
struct Bench {
    program: PathBuf,
    folder: PathBuf,
}

/// A served disk and its client.
struct Served<'a> {
    name: &'a str,
    settings: &'a [&'a str],
    /// Options that say where the disk is served.
    doors: &'a [&'a str],
    /// The shell command of the client.
    client: &'a str,
}

impl Bench {
    fn shell(&self, script: &str) -> Result<(), String> {
        let mut shell = Command::new("sh");
        let status =
            shell.args(["-c", script]).current_dir(&self.folder).stdout(Stdio::null()).stderr(Stdio::null()).status();
        if status.is_ok_and(|status| status.success()) { Ok(()) } else { Err(format!("`{script}` failed")) }
    }

    /// Runs the program; returns its output. Exit code 1 is a negative answer, and no error.
    fn run_program(&self, words: &[&str], settings: &[&str]) -> Result<String, String> {
        let mut command = Command::new(&self.program);
        command.args(words).args(settings.iter().flat_map(|set| ["--set", set])).current_dir(&self.folder);
        let output = command.output().map_err(|error| format!("{}: {error}", self.program.display()))?;
        match output.status.code() {
            Some(0 | 1) => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            _ => Err(format!("{words:?} {settings:?}: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }

    /// Serves a disk to a client, and replays the recording in virtual time.
    fn serve(&self, served: &Served<'_>) -> Result<Replay, String> {
        let Served { name, settings, doors, client } = *served;
        let recording = format!("{name}.csv");
        let words = [&["serve", DRIVE, "--record", &recording], doors].concat();
        let mut serving = Command::new(&self.program);
        serving
            .args(words)
            .args(settings.iter().flat_map(|set| ["--set", set]))
            .args(["--run", "--", "sh", "-c", client]);
        let status = serving.current_dir(&self.folder).stdout(Stdio::null()).status();
        if !status.is_ok_and(|status| status.success()) {
            return Err(format!("{name}: the session failed"));
        }
        let words = ["run", &recording, "--on", DRIVE];
        let output = self.run_program(&words, settings)?;
        let agreement_line = output.lines().find(|line| line.contains("recorded nanosecond"));
        let json = self.run_program(&[&words[..], &["--json"]].concat(), settings)?;
        Ok(Replay { agreement: parse_agreement(agreement_line.unwrap_or_default())?, json })
    }
}

/// How many requests of a replay complete at the nanosecond that was recorded.
#[derive(Debug, PartialEq)]
struct Agreement {
    equal: u64,
    all: u64,
}

/// The replay of a recording in virtual time.
struct Replay {
    agreement: Agreement,
    json: String,
}

/// Requests a second, and their mean response time.
struct Figures {
    iops: f64,
    mean_ms: f64,
}

impl Figures {
    fn of(json: &str, kind: &str) -> Result<Figures, String> {
        let all = json_after_key(json, kind)?;
        Ok(Figures {
            iops: first_number(all, "iops")?,
            mean_ms: first_number(json_after_key(all, "response_ms")?, "mean")?,
        })
    }
}

/// Parses `N of M requests completed at the recorded nanosecond.`
fn parse_agreement(line: &str) -> Result<Agreement, String> {
    let mut words = line.split(' ');
    let mut next_number = || words.find_map(|word| word.parse().ok());
    let numbers = next_number().zip(next_number());
    let (equal, all) = numbers.ok_or_else(|| format!("`{line}` does not say how many completed when"))?;
    Ok(Agreement { equal, all })
}

fn queuing(bench: &Bench) -> Result<String, String> {
    let mut text = format!(
        "fio, random reads of 4 KiB over the whole of `{DRIVE}`, {DEPTH} in flight, for {SECONDS} s:\n\n\
         | | live, measured by fio | replay of the recording in virtual time | closed loop in virtual time |\n|---|---|---|---|\n"
    );
    let (mut live_rates, mut virtual_rates) = (Vec::new(), Vec::new());
    for (name, set) in [("NCQ", &[][..]), ("no queue (`drive.firmware.depth=1`)", &["drive.firmware.depth=1"][..])] {
        let file = format!("queuing-{}", set.len());
        let client = format!(
            "fio --name=reads --ioengine=nbd --uri=\"$SEEKWISE_URI\" --rw=randread --bs=4k --iodepth={DEPTH} --norandommap \
             --runtime={SECONDS} --time_based --output-format=json --output={file}.json"
        );
        let door = format!("unix:{file}");
        let replay = bench.serve(&Served { name: &file, settings: set, doors: &["--nbd", &door], client: &client })?;
        let json = fs::read_to_string(bench.folder.join(format!("{file}.json"))).map_err(|error| error.to_string())?;
        let read = json_after_key(&json, "read")?;
        let (iops, mean_ms) =
            (first_number(read, "iops")?, first_number(json_after_key(read, "lat_ns")?, "mean")? / 1e6);
        let (depth, runtime) = (format!("job.depth={DEPTH}"), format!("{SECONDS}s"));
        let words = ["run", "random-read", "--on", DRIVE, "--runtime", &runtime, "--json"];
        let closed = Figures::of(&bench.run_program(&words, &[set, &[&depth]].concat())?, "all")?;
        let (Agreement { equal, all }, replayed) = (&replay.agreement, Figures::of(&replay.json, "all")?);
        text.push_str(&format!(
            "| {name} | {iops:.1}/s, {mean_ms:.2} ms | {:.1}/s, {:.2} ms; {equal} of {all} requests complete at the recorded nanosecond | \
             {:.1}/s, {:.2} ms |\n",
            replayed.iops, replayed.mean_ms, closed.iops, closed.mean_ms
        ));
        live_rates.push(iops);
        virtual_rates.push(closed.iops);
    }
    text.push_str(&format!(
        "\nCommand queuing is worth a factor of {:.2} live, and of {:.2} in virtual time.\n",
        live_rates[0] / live_rates[1],
        virtual_rates[0] / virtual_rates[1]
    ));
    Ok(text)
}

fn commits(bench: &Bench) -> Result<String, String> {
    bench.shell(
        "mkdir disk mount && truncate -s 256m base && mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 base",
    )?;
    let rows: String =
        (1..=COMMITS).map(|row| format!("INSERT INTO t VALUES ({row}, printf('%.*c', 700, 'x'));\n")).collect();
    let script = format!("PRAGMA synchronous = FULL;\nCREATE TABLE t (i INTEGER PRIMARY KEY, v TEXT);\n{rows}");
    fs::write(bench.folder.join("commits.sql"), script).map_err(|error| error.to_string())?;
    let mut text = format!(
        "SQLite, {COMMITS} commits (journal_mode DELETE, synchronous FULL) one after another, on ext4 on a loop device on the \
         file of `{DRIVE}`:\n\n| | commits a second, live | requests that complete at the recorded nanosecond in virtual time \
         | mean write | mean flush |\n|---|---|---|---|---|\n"
    );
    let mut rates = Vec::new();
    for (index, (name, set)) in CACHE_SETTINGS.iter().enumerate() {
        let file = format!("commits-{index}");
        let replay = bench.serve(&Served {
            name: &file,
            settings: set,
            doors: &["--fuse", "disk", "--base", "base"],
            client: COMMIT_SCRIPT,
        })?;
        let took_text = fs::read_to_string(bench.folder.join("took")).map_err(|error| error.to_string())?;
        let took_ns: f64 = took_text.trim().parse().map_err(|_| format!("`{took_text}` is no time"))?;
        let rate = f64::from(COMMITS) / (took_ns / 1e9);
        let Agreement { equal, all } = replay.agreement;
        let (write, flush) = (Figures::of(&replay.json, "write")?, Figures::of(&replay.json, "flush")?);
        text.push_str(&format!(
            "| {name} | {rate:.1} | {equal} of {all} | {:.2} ms | {:.2} ms |\n",
            write.mean_ms, flush.mean_ms
        ));
        rates.push(rate);
    }
    text.push_str(&format!(
        "\nWithout flushes, commits are {:.1} times as fast as with flushes, and {:.1} times as fast as without a write cache \
         (F2: ten times and more, in bursts that fit the buffer).\n",
        rates[2] / rates[1],
        rates[2] / rates[0]
    ));
    Ok(text)
}

fn cuts(bench: &Bench) -> Result<String, String> {
    let own_recipe = format!("{}:acknowledged", crate::root().join("xtask/live/acknowledged.toml").display());
    let mut text = format!(
        "{CUTS} power cuts of one recorded session each (`seekwise crash`). Cuts that lost acknowledged records (bare disk, no \
         flush), and cuts that lost or corrupted commits (SQLite, journal_mode DELETE, synchronous EXTRA):\n\n\
         | | cuts with lost records (N9) | cuts with lost or corrupt commits (F10) |\n|---|---|---|\n"
    );
    for (name, set) in CACHE_SETTINGS {
        let mut lost = Vec::new();
        for recipe in [&own_recipe, "sqlite-delete-extra"] {
            let json =
                bench.run_program(&["crash", "--on", DRIVE, "--recipe", recipe, "--cuts", CUTS, "--json"], set)?;
            let at_cuts = json_after_key(&json, "at_cuts")?;
            lost.push(first_number(at_cuts, "lost_promised")? + first_number(at_cuts, "corrupt")?);
        }
        text.push_str(&format!("| {name} | {} | {} |\n", lost[0], lost[1]));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_recording_s_play_says_is_read() {
        let agreement = parse_agreement("1246 of 1247 requests completed at the recorded nanosecond.");
        assert_eq!(agreement, Ok(Agreement { equal: 1246, all: 1247 }));
        assert!(parse_agreement("").is_err());
    }

    #[test]
    fn the_document_has_a_place_for_the_findings() {
        let page = fs::read_to_string(crate::root().join("docs/live.md")).unwrap();
        assert!(page.split_once(MARKS[0]).is_some_and(|(_, rest)| rest.contains(MARKS[1])));
    }
}
