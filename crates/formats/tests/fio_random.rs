//! Whole request streams of random job files beside fio 3.33's own: reads, writes, trims and syncs, each in its place.
//!
//! A seeded generator (`fio_random/draw.rs`) writes job files over all options that shape a stream. fio runs each and
//! logs what it issues (`write_iolog`), under its null engine or, where completions in flight matter, with libaio on
//! files in memory; ours is read from the same text, laid out, and asked what it issues to a device that answers at once.
//! A stream is equal where each request of each thread is: operation, file, first byte, length.
//!
//! The test takes a sample of a few seconds. The large comparison, and one job of it by its number, are
//!
//! ```text
//! SEEKWISE_FIO_JOBS=2000 cargo test -p seekwise-formats --test whole fio_random::random_jobs -- --nocapture
//! SEEKWISE_FIO_JOB=17 cargo test -p seekwise-formats --test whole fio_random::random_jobs -- --nocapture
//! ```
//!
//! The same for `random_engines`, whose jobs try what engines do. How far a thread that time ends came is the machine's
//! affair: eight runs of job 1068 issued 992, 1008, 1048, 1212, 1596, 1632, 1648 and 1690 requests, the first 500 of all
//! the same. So only what fio issued is compared there, and ours has time for more.
//!
//! `SEEKWISE_FIO_FIRST=5000` beside the first begins at that number: jobs never drawn before.
//!
//! Skipped, with the reason printed, without fio 3.33: other versions draw otherwise.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use seekwise_disk::block::{Completion, Limits, Op, Queuing, Request, Source, SourcePoll, Status};
use seekwise_disk::record::{Effort, Parts};
use seekwise_disk::rng::Seed;
use seekwise_disk::time::Instant;
use seekwise_formats::fio::{self, FioContext};
use seekwise_work::workload::Workload;

#[path = "fio_random/draw.rs"]
mod draw;
#[path = "fio_random/named.rs"]
mod named;

use draw::Drawn;

/// Jobs of the sample.
const SAMPLE: u64 = 60;

/// How long fio may take for a job, which takes it a second or two.
const PATIENCE: Duration = Duration::from_secs(60);

/// One request: operation, file, first byte in it, bytes. A sync has no place.
type Entry = (Op, usize, u64, u64);

fn fio_version() -> Option<String> {
    let output = Command::new("fio").arg("--version").output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Where files live in memory, for the engine that needs them; else where temporary files do.
fn scratch() -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let memory = Path::new("/dev/shm");
    let root = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    root.join(format!("seekwise-streams-{}-{number}", std::process::id()))
}

/// What fio issues, by thread, or why it does not run: what it says, without names and numbers.
fn theirs(job: &Drawn) -> Result<Vec<Vec<Entry>>, String> {
    let folder = scratch();
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    std::fs::write(folder.join("job.fio"), &job.text).expect("the job is written");
    for (file, bytes) in job.files.iter().enumerate().filter(|_| job.there) {
        let file = std::fs::File::create(folder.join(format!("f{file}"))).expect("a file");
        file.set_len(*bytes).expect("room in memory");
    }
    let output = run_fio(&folder);
    let read = |thread: usize| {
        let text = std::fs::read_to_string(folder.join(format!("log{thread}"))).unwrap_or_default();
        text.lines().filter_map(entry).collect()
    };
    let streams = (0..job.threads).map(read).collect();
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    let Some(output) = output else { return Err(format!("it has not ended after {PATIENCE:?}")) };
    let said = String::from_utf8_lossy(&[output.stderr, output.stdout].concat()).into_owned();
    // A thread that a broken promise of fio's own ended leaves a log without its end.
    if output.status.success() && !said.contains("Assertion") { Ok(streams) } else { Err(reason(&said)) }
}

/// fio's run in this folder; `None` where it does not end: some waits of its engines and zones are for ever.
fn run_fio(folder: &Path) -> Option<Output> {
    let mut fio = Command::new("fio");
    fio.args(["job.fio", "--output=said"]).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = fio.spawn().expect("fio runs");
    let begun = std::time::Instant::now();
    while child.try_wait().expect("fio is waited for").is_none() {
        if begun.elapsed() > PATIENCE {
            // Its processes first: they outlive it.
            let _ = Command::new("pkill").args(["-KILL", "-P", &child.id().to_string()]).status();
            child.kill().expect("fio is ended");
            child.wait().expect("fio is waited for");
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut output = child.wait_with_output().expect("fio has ended");
    output.stdout = std::fs::read(folder.join("said")).unwrap_or_default();
    Some(output)
}

/// The telling line of what fio says.
fn reason(said: &str) -> String {
    let having = |word: &&str| said.lines().find(|line| line.contains(word));
    let line = ["Assertion", "not allowed", "func=", "error", "fio:"]
        .iter()
        .find_map(having)
        .or(said.lines().next())
        .unwrap_or("nothing");
    let numberless = line.split(|c: char| c.is_ascii_digit()).filter(|part| !part.is_empty());
    numberless.collect::<Vec<_>>().join("#")
}

/// A line of fio's log. `sync_file_range` asks nothing of a drive.
fn entry(line: &str) -> Option<Entry> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let file = words.next()?.strip_prefix('f').and_then(|number| number.parse().ok());
    let op = match words.next()? {
        "read" => Op::Read,
        "write" => Op::Write,
        "trim" => Op::Trim,
        "sync" | "datasync" => return Some((Op::Flush, 0, 0, 0)),
        _ => return None,
    };
    Some((op, file?, words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

/// What ours issues, by thread, to a device that answers at once; at most `most` requests of each.
fn ours(job: &Drawn, most: &[usize]) -> Result<Vec<Vec<Entry>>, String> {
    let said = |faults: Vec<_>| faults.iter().map(ToString::to_string).collect::<Vec<String>>().join("; ");
    // A thread that time ends got as far as the machine let it: ours has time for more.
    let text = job.text.replace("\nruntime=1\n", "\nruntime=10\n");
    let file = fio::parse("job.fio", &text, &FioContext::bare()).map_err(said)?;
    let limits = Limits {
        sectors: 1 << 31,
        logical: 512,
        physical: 512,
        max_transfer: 65_536,
        depth: 64,
        fua: false,
        volatile_cache: true,
        queuing: Queuing::Ncq,
        computes: false,
    };
    let (built, _) = file.job(limits.sectors).map_err(said)?;
    let mut workload = Workload::new(&built, &limits, Seed(0)).map_err(|fault| fault.to_string())?;
    let mut streams = vec![Vec::new(); job.threads];
    let mut now = Instant::ZERO;
    // In flight for fio until it looks, which it does where it must: answered at once, in order.
    loop {
        match workload.next(now) {
            SourcePoll::Request(request) => {
                let stream = &mut streams[usize::from(request.origin)];
                if stream.len() < most[usize::from(request.origin)] + 1 {
                    stream.push(placed(job, &request));
                } else if streams.iter().zip(most).all(|(stream, most)| stream.len() > *most) {
                    return Ok(streams);
                }
                let (tag, status, submitted, finished) = (request.tag, Status::Done, now, now);
                let (parts, effort) = (Parts::default(), Effort::default());
                workload.complete(now, &Completion { tag, status, submitted, finished, parts, effort });
            }
            SourcePoll::At(instant) => now = instant,
            SourcePoll::Done => return Ok(streams),
            other => return Err(format!("it waits for what it had: {other:?}")),
        }
    }
}

/// A request of ours by file: files lie one behind another, each from a multiple of 4 KiB.
fn placed(job: &Drawn, request: &Request) -> Entry {
    if request.op == Op::Flush {
        return (Op::Flush, 0, 0, 0);
    }
    let mut start = request.lba * 512;
    for (file, &bytes) in job.files.iter().enumerate() {
        if start < bytes.next_multiple_of(4096) {
            return (request.op, file, start, u64::from(request.sectors) * 512);
        }
        start -= bytes.next_multiple_of(4096);
    }
    (request.op, usize::MAX, start, u64::from(request.sectors) * 512)
}

/// A stream in which what was offered again and again stands once.
fn settled(job: &Drawn, stream: &[Entry]) -> Vec<Entry> {
    let mut stream = stream.to_vec();
    if job.doubled {
        stream.dedup();
    }
    stream
}

/// What came of one job.
enum Outcome {
    Equal {
        requests: usize,
        syncs: usize,
        trims: usize,
    },
    Differs(String),
    /// fio does not run it, for this reason.
    NotFios(String),
    /// It is refused here, for this reason.
    Refused(String),
}

fn compare(job: &Drawn) -> Outcome {
    let fio = match theirs(job) {
        Ok(fio) => fio,
        Err(said) => return Outcome::NotFios(said),
    };
    let lengths: Vec<usize> = fio.iter().map(Vec::len).collect();
    let ours = match ours(job, &lengths) {
        Ok(ours) => ours,
        Err(said) => return Outcome::Refused(said),
    };
    let offered =
        |streams: &[Vec<Entry>]| -> Vec<Vec<Entry>> { streams.iter().map(|stream| settled(job, stream)).collect() };
    let (fio, ours) = (offered(&fio), offered(&ours));
    for (thread, (fio, ours)) in fio.iter().zip(&ours).enumerate() {
        // A thread that time ends has ended somewhere.
        let tail = fio.iter().rev().take_while(|entry| job.timed && entry.0 == Op::Flush).count();
        let fio = &fio[..fio.len() - tail];
        let ours = if job.timed { &ours[..ours.len().min(fio.len())] } else { ours };
        if fio[..] != ours[..] {
            let at = fio.iter().zip(ours).take_while(|(a, b)| a == b).count();
            let (a, b) = (fio.get(at), ours.get(at));
            let more = format!("of {} and {}", fio.len(), ours.len());
            if number_of("SEEKWISE_FIO_JOB").is_some() {
                let near = at.saturating_sub(12)..at + 6;
                near.for_each(|at| println!("{at:>6} {:?} {:?}", fio.get(at), ours.get(at)));
            }
            return Outcome::Differs(format!("thread {thread}: request {at} {more}: fio {a:?}, ours {b:?}"));
        }
    }
    let all = || fio.iter().flatten();
    let count = |op: Op| all().filter(|entry| entry.0 == op).count();
    Outcome::Equal { requests: all().count(), syncs: count(Op::Flush), trims: count(Op::Trim) }
}

fn number_of(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// What comes of each job, in order. fio sleeps for most of its short runs, so several are under way.
fn outcomes(draw: fn(u64) -> Drawn, jobs: Range<u64>) -> Vec<(u64, Outcome)> {
    let next = AtomicU64::new(jobs.start);
    let work = || {
        let mut done = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= jobs.end {
                return done;
            }
            let job = draw(seed);
            if jobs.end - jobs.start == 1 {
                println!("{}", job.text);
            }
            done.push((seed, compare(&job)));
        }
    };
    let mut all: Vec<(u64, Outcome)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no comparison panics")).collect()
    });
    all.sort_by_key(|(seed, _)| *seed);
    all
}

#[test]
fn random_jobs_ask_what_fio_asks() {
    hold_beside_fio(draw::job);
}

/// The same for jobs that try what engines do.
#[test]
fn random_engines_ask_what_fio_asks() {
    hold_beside_fio(draw::engines);
}

fn hold_beside_fio(draw: fn(u64) -> Drawn) {
    match fio_version() {
        Some(version) if version == "fio-3.33" => {}
        found => return println!("skipped: fio 3.33 is wanted, and the path has {found:?}"),
    }
    let jobs = match number_of("SEEKWISE_FIO_JOB") {
        Some(one) => one..one + 1,
        None => {
            let first = number_of("SEEKWISE_FIO_FIRST").unwrap_or(0);
            first..first + number_of("SEEKWISE_FIO_JOBS").unwrap_or(SAMPLE)
        }
    };
    let asked = jobs.end - jobs.start;
    let (mut equal, mut requests, mut syncs, mut trims) = (0, 0, 0, 0);
    let mut differ = Vec::new();
    let (mut not_fios, mut refused) = (BTreeMap::<String, Vec<u64>>::new(), BTreeMap::<String, Vec<u64>>::new());
    for (seed, outcome) in outcomes(draw, jobs) {
        match outcome {
            Outcome::Equal { requests: more, syncs: s, trims: t } => {
                equal += 1;
                (requests, syncs, trims) = (requests + more, syncs + s, trims + t);
            }
            Outcome::NotFios(said) => not_fios.entry(said).or_default().push(seed),
            Outcome::Refused(said) => refused.entry(said).or_default().push(seed),
            Outcome::Differs(said) => {
                println!("job {seed} ({}): {said}", draw(seed).options());
                differ.push(seed);
            }
        }
    }
    println!("{equal} of {asked} jobs equal: {requests} requests, {syncs} syncs and {trims} trims among them");
    let not_run: usize = not_fios.values().map(Vec::len).sum();
    println!("{} differ, {not_run} are none of fio's, refused here: {refused:?}", differ.len());
    for (said, seeds) in not_fios {
        println!("{} are none of fio's, which says \"{said}\": {seeds:?}", seeds.len());
    }
    assert!(differ.is_empty(), "these differ: {differ:?}");
    assert!(refused.is_empty(), "refused here and not by fio");
    assert!(not_run as u64 * 10 <= asked, "the generator draws jobs that fio does not run");
}
