//! Changed inputs of every kind through the real program, each in a child with a limit of time and of memory: no input may
//! make it panic, die or end otherwise than with 0, 1 or 2. No change of a sealed kind (a result folder, a journal) may be taken
//! as measured: with other figures and exit 0. Prints what each kind came to; keeps inputs that failed, and those that were
//! stopped, in `target/xtask/mutate`.
//!
//! It finds what the parsers' own fuzz entries cannot: what becomes of a value that was read. Changes are seeded: the same
//! `--seed` makes the same inputs.

mod seeds;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use self::seeds::{KINDS, Kind, STDOUT};
use crate::cargo;
use crate::steps::Ended;

/// Inputs of each kind in `ci`: a few hundred in all.
const IN_CI: u64 = 20;

/// A child that computes for more seconds is stopped. It may be right: a job may be long.
const CPU_SECONDS: u64 = 5;

/// The same by the clock, for a child that waits; a busy machine gives little of it.
const LONGEST: Duration = Duration::from_secs(60);

/// The signal that stops a child at its limit of time.
const SIGXCPU: i32 = 24;

/// Memory that a child may map, in KiB, and the bound it is told to keep.
const ADDRESS_SPACE: u64 = 6 << 20;
const TOLD: &str = "1g";

/// Commands that keep a bound.
const BOUNDED: [&str; 2] = ["run", "study"];

/// Between looks at a child.
const LOOK: Duration = Duration::from_millis(2);

/// Values at the ends of what types hold, and words that mean something to one of the readers.
const WORDS: [&str; 34] = [
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

/// What the inputs of one kind came to.
#[derive(Default)]
struct Tally {
    exits: [u64; 3],
    stopped: u64,
    silent: u64,
    failed: u64,
    longest: Duration,
    most_kib: u64,
}

/// How a child ended.
enum End {
    Exit(i32),
    Stopped,
    Died(String),
}

/// The step of `ci`.
pub fn short() -> Ended {
    let program = match cargo::program() {
        Ok(program) => program,
        Err(why) => return Ended::Failed(why),
    };
    match run(&program, IN_CI, 1) {
        Ok(0) => Ended::Passed,
        Ok(failed) => Ended::Failed(format!("{failed} inputs made the program fail; they are in target/xtask/mutate")),
        Err(error) => Ended::Failed(error.to_string()),
    }
}

fn release() -> PathBuf {
    crate::target().join("release/seekwise")
}

/// `cargo xtask mutate --runs N --seed S --program PATH`.
pub fn mutate(arguments: &[&str]) -> ExitCode {
    let (mut runs, mut seed, mut program) = (1000, 1, release());
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
    match run(&program, runs, seed) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Runs `runs` inputs of each kind; answers how many failed.
fn run(program: &Path, runs: u64, seed: u64) -> std::io::Result<u64> {
    let missing =
        |why| std::io::Error::other(format!("{}: {why}; build it first (cargo xtask release)", program.display()));
    // Children start elsewhere.
    let program = program.canonicalize().map_err(missing)?;
    let scratch = crate::scratch("mutate")?;
    println!(
        "{:<10}{:>8}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>12}{:>12}",
        "kind", "inputs", "exit 0", "exit 1", "exit 2", "stopped", "SILENT", "FAILED", "longest s", "most MB"
    );
    let mut failed = 0;
    for kind in KINDS {
        let tally = inputs(&program, &scratch, kind, runs, seed)?;
        let Tally { exits: [done, no, refused], stopped, silent, failed: bad, longest, most_kib } = tally;
        println!(
            "{:<10}{runs:>8}{done:>9}{no:>9}{refused:>9}{stopped:>9}{silent:>9}{bad:>9}{:>12.2}{:>12.1}",
            kind.name,
            longest.as_secs_f64(),
            most_kib as f64 / 1024.0
        );
        failed += bad + silent;
    }
    Ok(failed)
}

/// All inputs of a kind, on all cores.
fn inputs(program: &Path, scratch: &Path, kind: &Kind, runs: u64, seed: u64) -> std::io::Result<Tally> {
    let (next, tally) = (AtomicU64::new(0), Mutex::new(Tally::default()));
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let work = |core: usize| -> std::io::Result<()> {
        let folder = scratch.join(format!("{}-{core}", kind.name));
        kind.prepare(program, &folder)?;
        let unchanged = reference(program, kind, &folder)?;
        loop {
            let run = next.fetch_add(1, Ordering::Relaxed);
            if run >= runs {
                return Ok(());
            }
            one(
                program,
                scratch,
                &Worker { kind, folder: &folder, reference: unchanged.as_deref() },
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

/// What changes inputs of a kind in a folder of its own.
struct Worker<'a> {
    kind: &'a Kind,
    folder: &'a Path,
    /// The figures of the unchanged input, of a sealed kind.
    reference: Option<&'a str>,
}

/// The figures of the unchanged input, of a sealed kind.
fn reference(program: &Path, kind: &Kind, folder: &Path) -> std::io::Result<Option<String>> {
    if kind.answer.is_none() {
        return Ok(None);
    }
    kind.place(folder, &kind.text(folder, 0)?)?;
    child(program, folder, kind)?;
    kind.figures(folder)
}

fn one(
    program: &Path,
    scratch: &Path,
    &Worker { kind, folder, reference }: &Worker<'_>,
    (run, seed): (u64, u64),
    tally: &Mutex<Tally>,
) -> std::io::Result<()> {
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ run.wrapping_mul(0xd1b5_4a32_d192_ed03) | 1);
    // The first are as they are: what the program refuses of itself would find little.
    let unchanged = run < kind.texts();
    let which = if unchanged { run } else { chance.below(kind.texts()) };
    let before = kind.text(folder, which)?;
    let input = if unchanged { before } else { changed(&before, &mut chance) };
    kind.place(folder, &input)?;
    let (end, took, kib) = child(program, folder, kind)?;
    let silent = matches!(end, End::Exit(0)) && Kind::is_silent(kind.figures(folder)?.as_deref(), reference);
    let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
    (tally.longest, tally.most_kib) = (tally.longest.max(took), tally.most_kib.max(kib));
    match end {
        End::Exit(0) if silent => {
            tally.silent += 1;
            keep(scratch, kind, run, &input, "taken with other figures")?;
        }
        End::Exit(code @ 1..) if unchanged => {
            tally.failed += 1;
            keep(scratch, kind, run, &input, &format!("unchanged: exit {code}"))?;
        }
        End::Exit(code @ 0..=2) => tally.exits[code as usize] += 1,
        End::Stopped => {
            tally.stopped += 1;
            fs::write(scratch.join(format!("stopped-{}-{run}", kind.name)), &input)?;
        }
        End::Exit(code) => {
            tally.failed += 1;
            keep(scratch, kind, run, &input, &format!("exit {code}"))?;
        }
        End::Died(how) => {
            tally.failed += 1;
            keep(scratch, kind, run, &input, &how)?;
        }
    }
    Ok(())
}

fn keep(scratch: &Path, kind: &Kind, run: u64, input: &[u8], how: &str) -> std::io::Result<()> {
    let path: PathBuf = scratch.join(format!("failed-{}-{run}", kind.name));
    fs::write(&path, input)?;
    println!("{}: {how}", path.display());
    Ok(())
}

/// The program on one input: how it ended, after how long, and the most memory that was seen (KiB).
fn child(program: &Path, folder: &Path, kind: &Kind) -> std::io::Result<(End, Duration, u64)> {
    let (said, arguments) = (folder.join("stderr"), kind.arguments);
    let limited = format!("ulimit -v {ADDRESS_SPACE} 2>/dev/null; ulimit -S -t {CPU_SECONDS}; exec \"$0\" \"$@\"");
    let start = Instant::now();
    let mut child = Command::new("sh")
        .args(["-c", &limited])
        .arg(program)
        .args(arguments)
        .args(if BOUNDED.contains(&arguments[0]) { &["--max-memory", TOLD][..] } else { &[] })
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(File::create(folder.join(STDOUT))?)
        .stderr(File::create(&said)?)
        .spawn()?;
    let mut most = 0;
    let status = loop {
        most = most.max(resident(&child).unwrap_or(0));
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if start.elapsed() > LONGEST {
            child.kill()?;
            child.wait()?;
            return Ok((End::Stopped, start.elapsed(), most));
        }
        thread::sleep(LOOK);
    };
    let text = String::from_utf8_lossy(&fs::read(&said)?).into_owned();
    let panicked = text.lines().find(|line| line.contains("panicked at"));
    let end = match (status.code(), panicked) {
        (_, Some(line)) => End::Died(line.to_owned()),
        (None, None) if std::os::unix::process::ExitStatusExt::signal(&status) == Some(SIGXCPU) => End::Stopped,
        (Some(code), None) => End::Exit(code),
        (None, None) => End::Died(format!("{status}: {}", text.lines().last().unwrap_or(""))),
    };
    Ok((end, start.elapsed(), most))
}

/// The most memory that a child has had, in KiB, where the system says so.
fn resident(child: &Child) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// One to three changes.
fn changed(input: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut input = input.to_vec();
    for _ in 0..=chance.below(3) {
        change(&mut input, chance);
    }
    input
}

fn change(input: &mut Vec<u8>, chance: &mut Chance) {
    let at = chance.below(input.len() as u64 + 1) as usize;
    let word = WORDS[chance.below(WORDS.len() as u64) as usize].as_bytes();
    match chance.below(12) {
        0 if at < input.len() => input[at] ^= 1 << chance.below(8),
        1 => drop(input.splice(at..at, word.iter().copied())),
        2 => input.truncate(at),
        3 => drop(input.drain(at..(at + chance.below(40) as usize).min(input.len()))),
        4 => again(input, line_about(input, at), 1 + chance.below(3)),
        5 => drop(input.drain(line_about(input, at))),
        // Where most is to be found: another number or word in place of a value.
        _ => {
            let value = value_about(input, at);
            drop(input.splice(value, word.iter().copied()));
        }
    }
}

/// Repeats a part of the input behind itself.
fn again(input: &mut Vec<u8>, part: std::ops::Range<usize>, times: u64) {
    let text = input[part.clone()].repeat(times as usize);
    drop(input.splice(part.end..part.end, text));
}

/// The line about a place, its end included.
fn line_about(input: &[u8], at: usize) -> std::ops::Range<usize> {
    let start = input[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let end = input[at..].iter().position(|&byte| byte == b'\n').map_or(input.len(), |end| at + end + 1);
    start..end
}

/// The next number behind a place, or the rest of the word there.
fn value_about(input: &[u8], at: usize) -> std::ops::Range<usize> {
    let digit = |byte: &u8| byte.is_ascii_digit();
    let start = input[at..].iter().position(digit).map_or(at, |next| at + next);
    let end =
        input[start..].iter().position(|byte| !digit(byte) && *byte != b'.').map_or(input.len(), |end| start + end);
    start..end
}

/// A small generator of chance (xorshift64*, Vigna 2016); its first number is not 0.
pub struct Chance(pub u64);

impl Chance {
    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % n.max(1)
    }
}
