//! Gives the real program changed inputs of every kind, each in a child with limits of time and memory. No input may
//! make it panic, die, or end with another code than 0, 1 or 2. No change of a sealed kind (a result folder, a journal)
//! may be accepted silently: with other figures and exit 0. The command prints the counts of each kind, and keeps
//! inputs that failed or were stopped in `target/xtask/mutate`.
//!
//! The parsers' own fuzz entries cannot find faults in the use of a value that was read; this can. Changes are seeded:
//! equal seeds make equal inputs.

mod seeds;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use self::seeds::{InputKind, KINDS, STDOUT};
use crate::cargo;
use crate::steps::Ended;

/// Inputs of each kind in `ci`: a few hundred in all.
const RUNS_IN_CI: u64 = 20;

/// A child is stopped after so many seconds of processor time. It may be right, since a job may be long.
const CPU_SECONDS: u64 = 5;

/// A child that waits is stopped after so much time by the clock; a busy machine gives it little processor time.
const MAX_WALL_TIME: Duration = Duration::from_secs(60);

/// The signal that stops a child at its limit of time.
const SIGXCPU: i32 = 24;

/// Memory that a child may map.
const ADDRESS_SPACE_KIB: u64 = 6 << 20;

/// The memory bound (`--max-memory`) that bounded commands must keep.
const MEMORY_BOUND: &str = "1g";

/// The commands that have a memory bound.
const BOUNDED_COMMANDS: [&str; 2] = ["run", "study"];

/// Time between looks at a child's state.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Values at the ends of what types hold, and words that mean something to one of the readers.
const INSERTED_WORDS: [&str; 34] = [
    "0",
    "1",
    "-1",
    "2",
    "255",
    "65535",
    "65536",
    "1000000",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "-1e308",
    "nan",
    "inf",
    "1e-320",
    "''",
    "\"",
    "[",
    "]",
    "{",
    "}",
    "=",
    ",",
    "\n",
    "\0",
    "\u{1b}[31m",
    "%",
    "s",
    "\u{fffd}",
];

/// The outcomes of the inputs of one kind.
#[derive(Default)]
struct Tally {
    /// Ends with the codes 0, 1 and 2.
    exits: [u64; 3],
    stopped: u64,
    /// Changes of a sealed kind that were accepted with other figures.
    silent: u64,
    failed: u64,
    max_time: Duration,
    max_memory_kib: u64,
}

/// How a child ended.
enum ChildEnd {
    Exit(i32),
    Stopped,
    Died(String),
}

/// The step of `ci`.
pub fn check_in_ci() -> Ended {
    let program = match cargo::build_debug_program() {
        Ok(program) => program,
        Err(why) => return Ended::Failed(why),
    };
    match run_all_kinds(&program, RUNS_IN_CI, 1) {
        Ok(0) => Ended::Passed,
        Ok(failed) => Ended::Failed(format!("{failed} inputs made the program fail; they are in target/xtask/mutate")),
        Err(error) => Ended::Failed(error.to_string()),
    }
}

fn release_program() -> PathBuf {
    crate::target().join("release/seekwise")
}

/// `cargo xtask mutate --runs N --seed S --program PATH`.
pub fn mutate(arguments: &[&str]) -> ExitCode {
    let (mut runs, mut seed, mut program) = (1000, 1, release_program());
    for pair in arguments.chunks(2) {
        match (pair[0], pair.get(1), pair.get(1).and_then(|text| text.parse().ok())) {
            ("--runs", _, Some(number)) => runs = number,
            ("--seed", _, Some(number)) => seed = number,
            ("--program", Some(path), _) => program = path.into(),
            _ => {
                eprintln!("{pair:?}: expected --runs N (inputs of each kind), --seed S, --program PATH");
                return ExitCode::from(2);
            }
        }
    }
    match run_all_kinds(&program, runs, seed) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Runs `runs` inputs of each kind; returns the number of failures.
fn run_all_kinds(program: &Path, runs: u64, seed: u64) -> std::io::Result<u64> {
    let missing_error =
        |why| std::io::Error::other(format!("{}: {why}; build it first (cargo xtask release)", program.display()));
    // Children have other working directories.
    let program = program.canonicalize().map_err(missing_error)?;
    let scratch = crate::empty_folder("mutate")?;
    println!(
        "{:<10}{:>8}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>12}{:>12}",
        "kind", "inputs", "exit 0", "exit 1", "exit 2", "stopped", "SILENT", "FAILED", "longest s", "most MB"
    );
    let mut failed = 0;
    for kind in KINDS {
        let tally = run_kind(&program, &scratch, kind, runs, seed)?;
        let Tally { exits: [done, negative, refused], stopped, silent, failed: kind_failed, max_time, max_memory_kib } =
            tally;
        println!(
            "{:<10}{runs:>8}{done:>9}{negative:>9}{refused:>9}{stopped:>9}{silent:>9}{kind_failed:>9}{:>12.2}{:>12.1}",
            kind.name,
            max_time.as_secs_f64(),
            max_memory_kib as f64 / 1024.0
        );
        failed += kind_failed + silent;
    }
    Ok(failed)
}

/// Runs all inputs of a kind, on all cores.
fn run_kind(program: &Path, scratch: &Path, kind: &InputKind, runs: u64, seed: u64) -> std::io::Result<Tally> {
    let (next, tally) = (AtomicU64::new(0), Mutex::new(Tally::default()));
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let work = |core: usize| -> std::io::Result<()> {
        let folder = scratch.join(format!("{}-{core}", kind.name));
        kind.prepare(program, &folder)?;
        let figures = unchanged_figures(program, kind, &folder)?;
        loop {
            let run = next.fetch_add(1, Ordering::Relaxed);
            if run >= runs {
                return Ok(());
            }
            try_input(
                program,
                scratch,
                &Worker { kind, folder: &folder, unchanged_figures: figures.as_deref() },
                (run, seed),
                &tally,
            )?;
        }
    };
    thread::scope(|scope| {
        let cores: Vec<_> = (0..cores).map(|core| scope.spawn(move || work(core))).collect();
        cores.into_iter().try_for_each(|core| core.join().expect("no bug of ours"))
    })?;
    Ok(tally.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// A worker's folder, in which it gives the program inputs of a kind.
struct Worker<'a> {
    kind: &'a InputKind,
    folder: &'a Path,
    /// The figures of the unchanged input, if the kind is sealed.
    unchanged_figures: Option<&'a str>,
}

/// Runs the unchanged input; returns its figures if the kind is sealed.
fn unchanged_figures(program: &Path, kind: &InputKind, folder: &Path) -> std::io::Result<Option<String>> {
    if kind.figures_file.is_none() {
        return Ok(None);
    }
    kind.place_input(folder, &kind.read_text(folder, 0)?)?;
    run_child(program, folder, kind)?;
    kind.read_figures(folder)
}

/// Runs one input, whose change the run's number and the seed determine, and counts its outcome.
fn try_input(
    program: &Path,
    scratch: &Path,
    &Worker { kind, folder, unchanged_figures }: &Worker<'_>,
    (run, seed): (u64, u64),
    tally: &Mutex<Tally>,
) -> std::io::Result<()> {
    let mut random = Xorshift(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ run.wrapping_mul(0xd1b5_4a32_d192_ed03) | 1);
    // The first inputs are unchanged: a text that the program refuses as it is would find little.
    let is_unchanged = run < kind.text_count();
    let text_index = if is_unchanged { run } else { random.below(kind.text_count()) };
    let before = kind.read_text(folder, text_index)?;
    let input = if is_unchanged { before } else { with_changes(&before, &mut random) };
    kind.place_input(folder, &input)?;
    let child = run_child(program, folder, kind)?;
    let is_silent = matches!(child.end, ChildEnd::Exit(0))
        && InputKind::differs_silently(kind.read_figures(folder)?.as_deref(), unchanged_figures);
    let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
    (tally.max_time, tally.max_memory_kib) = (tally.max_time.max(child.time), tally.max_memory_kib.max(child.peak_kib));
    match child.end {
        ChildEnd::Exit(0) if is_silent => {
            tally.silent += 1;
            keep_failed_input(scratch, kind, run, &input, "taken with other figures")?;
        }
        ChildEnd::Exit(code @ 1..) if is_unchanged => {
            tally.failed += 1;
            keep_failed_input(scratch, kind, run, &input, &format!("unchanged: exit {code}"))?;
        }
        ChildEnd::Exit(code @ 0..=2) => tally.exits[code as usize] += 1,
        ChildEnd::Stopped => {
            tally.stopped += 1;
            fs::write(scratch.join(format!("stopped-{}-{run}", kind.name)), &input)?;
        }
        ChildEnd::Exit(code) => {
            tally.failed += 1;
            keep_failed_input(scratch, kind, run, &input, &format!("exit {code}"))?;
        }
        ChildEnd::Died(how) => {
            tally.failed += 1;
            keep_failed_input(scratch, kind, run, &input, &how)?;
        }
    }
    Ok(())
}

/// Writes an input that failed to a file, and prints how it failed.
fn keep_failed_input(scratch: &Path, kind: &InputKind, run: u64, input: &[u8], how: &str) -> std::io::Result<()> {
    let path: PathBuf = scratch.join(format!("failed-{}-{run}", kind.name));
    fs::write(&path, input)?;
    println!("{}: {how}", path.display());
    Ok(())
}

/// A run of the program on one input.
struct ChildRun {
    end: ChildEnd,
    time: Duration,
    /// The most memory that was seen.
    peak_kib: u64,
}

/// Runs the program on the input in a folder.
fn run_child(program: &Path, folder: &Path, kind: &InputKind) -> std::io::Result<ChildRun> {
    let (errors_path, arguments) = (folder.join("stderr"), kind.arguments);
    let limited = format!("ulimit -v {ADDRESS_SPACE_KIB} 2>/dev/null; ulimit -S -t {CPU_SECONDS}; exec \"$0\" \"$@\"");
    let start = Instant::now();
    let mut child = Command::new("sh")
        .args(["-c", &limited])
        .arg(program)
        .args(arguments)
        .args(if BOUNDED_COMMANDS.contains(&arguments[0]) { &["--max-memory", MEMORY_BOUND][..] } else { &[] })
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(File::create(folder.join(STDOUT))?)
        .stderr(File::create(&errors_path)?)
        .spawn()?;
    let mut peak_kib = 0;
    let status = loop {
        peak_kib = peak_kib.max(peak_memory_kib(&child).unwrap_or(0));
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if start.elapsed() > MAX_WALL_TIME {
            child.kill()?;
            child.wait()?;
            return Ok(ChildRun { end: ChildEnd::Stopped, time: start.elapsed(), peak_kib });
        }
        thread::sleep(POLL_INTERVAL);
    };
    let text = String::from_utf8_lossy(&fs::read(&errors_path)?).into_owned();
    let panic_line = text.lines().find(|line| line.contains("panicked at"));
    let end = match (status.code(), panic_line) {
        (_, Some(line)) => ChildEnd::Died(line.to_owned()),
        (None, None) if std::os::unix::process::ExitStatusExt::signal(&status) == Some(SIGXCPU) => ChildEnd::Stopped,
        (Some(code), None) => ChildEnd::Exit(code),
        (None, None) => ChildEnd::Died(format!("{status}: {}", text.lines().last().unwrap_or(""))),
    };
    Ok(ChildRun { end, time: start.elapsed(), peak_kib })
}

/// The most memory that a child has had, if the system reports it.
fn peak_memory_kib(child: &Child) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// The input with one to three random changes.
fn with_changes(input: &[u8], random: &mut Xorshift) -> Vec<u8> {
    let mut input = input.to_vec();
    for _ in 0..=random.below(3) {
        change_once(&mut input, random);
    }
    input
}

/// Makes one random change.
fn change_once(input: &mut Vec<u8>, random: &mut Xorshift) {
    let at = random.below(input.len() as u64 + 1) as usize;
    let word = INSERTED_WORDS[random.below(INSERTED_WORDS.len() as u64) as usize].as_bytes();
    match random.below(12) {
        0 if at < input.len() => input[at] ^= 1 << random.below(8),
        1 => drop(input.splice(at..at, word.iter().copied())),
        2 => input.truncate(at),
        3 => drop(input.drain(at..(at + random.below(40) as usize).min(input.len()))),
        4 => repeat_part(input, line_around(input, at), 1 + random.below(3)),
        5 => drop(input.drain(line_around(input, at))),
        // The change that finds most faults: another number or word in place of a value.
        _ => {
            let value = value_around(input, at);
            drop(input.splice(value, word.iter().copied()));
        }
    }
}

/// Inserts copies of a part of the input behind it.
fn repeat_part(input: &mut Vec<u8>, part: std::ops::Range<usize>, times: u64) {
    let text = input[part.clone()].repeat(times as usize);
    drop(input.splice(part.end..part.end, text));
}

/// The line around a byte, its line break included.
fn line_around(input: &[u8], at: usize) -> std::ops::Range<usize> {
    let start = input[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let end = input[at..].iter().position(|&byte| byte == b'\n').map_or(input.len(), |end| at + end + 1);
    start..end
}

/// The next number behind a byte, or the rest of the word there.
fn value_around(input: &[u8], at: usize) -> std::ops::Range<usize> {
    let digit = |byte: &u8| byte.is_ascii_digit();
    let start = input[at..].iter().position(digit).map_or(at, |next| at + next);
    let end =
        input[start..].iter().position(|byte| !digit(byte) && *byte != b'.').map_or(input.len(), |end| start + end);
    start..end
}

/// A small generator of random numbers (xorshift64*, Vigna 2016); its first number is not 0.
pub struct Xorshift(pub u64);

impl Xorshift {
    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % n.max(1)
    }
}
