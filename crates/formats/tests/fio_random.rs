//! Whole request streams of random job files against those of fio 3.33: reads, writes, trims and syncs in order.
//!
//! A seeded generator (`fio_random/draw.rs`) writes job files over all options that shape a stream. fio runs each and
//! logs what it issues (`write_iolog`), under its null engine or, where completions in flight matter, with libaio on
//! files in memory. Here the text is read too, and this project's generator issues requests to a device that answers at
//! once. Streams are equal if each request of each thread is: operation, file, first byte, length.
//!
//! The test takes a sample of a few seconds. The large comparison, and one job of it by its number, are
//!
//! ```text
//! SEEKWISE_FIO_JOBS=2000 cargo test -p seekwise-formats --test whole fio_random::random_jobs -- --nocapture
//! SEEKWISE_FIO_JOB=17 cargo test -p seekwise-formats --test whole fio_random::random_jobs -- --nocapture
//! ```
//!
//! `random_engines` takes these variables too; its jobs vary depths, batches and pauses of engines.
//! `SEEKWISE_FIO_FIRST=5000` beside the first variable begins at that number.
//!
//! The number of requests of a thread that ends by time depends on the machine: eight runs of job 1068 issued 992 to 1690
//! requests, of which the first 500 were the same. There only as many requests are compared as fio issued.
//!
//! Without fio 3.33 the tests print that they are skipped: other versions draw other requests.

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

/// The longest time for a run of fio; a job takes it a second or two.
const FIO_TIMEOUT: Duration = Duration::from_secs(60);

/// A request: operation, index of the file, first byte in the file, bytes. Numbers of a sync are 0.
type LoggedRequest = (Op, usize, u64, u64);

fn fio_version() -> Option<String> {
    let output = Command::new("fio").arg("--version").output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A new folder in memory if there is `/dev/shm`, otherwise among temporary files; some engines need files in memory.
fn scratch_folder() -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let memory = Path::new("/dev/shm");
    let root = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    root.join(format!("seekwise-streams-{}-{number}", std::process::id()))
}

/// The requests that fio issues, by thread; if fio does not run the job, the line of its output that says why, without numbers.
fn run_in_fio(job: &Drawn) -> Result<Vec<Vec<LoggedRequest>>, String> {
    let folder = scratch_folder();
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    std::fs::write(folder.join("job.fio"), &job.text).expect("the job is written");
    for (file, bytes) in job.files.iter().enumerate().filter(|_| job.files_exist) {
        let file = std::fs::File::create(folder.join(format!("f{file}"))).expect("a file");
        file.set_len(*bytes).expect("room in memory");
    }
    let output = run_fio(&folder);
    let read = |thread: usize| {
        let text = std::fs::read_to_string(folder.join(format!("log{thread}"))).unwrap_or_default();
        text.lines().filter_map(parse_log_line).collect()
    };
    let streams = (0..job.threads).map(read).collect();
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    let Some(output) = output else { return Err(format!("it has not ended after {FIO_TIMEOUT:?}")) };
    let output_text = String::from_utf8_lossy(&[output.stderr, output.stdout].concat()).into_owned();
    // After a failed assertion of fio the log lacks its end.
    if output.status.success() && !output_text.contains("Assertion") {
        Ok(streams)
    } else {
        Err(find_reason(&output_text))
    }
}

/// The output of fio's run in this folder; `None` if fio does not end: some waits of its engines and zones never do.
fn run_fio(folder: &Path) -> Option<Output> {
    let mut fio = Command::new("fio");
    fio.args(["job.fio", "--output=said"]).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = fio.spawn().expect("fio runs");
    let begun = std::time::Instant::now();
    while child.try_wait().expect("fio is waited for").is_none() {
        if begun.elapsed() > FIO_TIMEOUT {
            // fio's processes outlive fio, so they are ended first.
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

/// The line of fio's output that says why it failed, without numbers.
fn find_reason(output_text: &str) -> String {
    let line_with = |word: &&str| output_text.lines().find(|line| line.contains(word));
    let line = ["Assertion", "not allowed", "func=", "error", "fio:"]
        .iter()
        .find_map(line_with)
        .or(output_text.lines().next())
        .unwrap_or("nothing");
    let numberless = line.split(|c: char| c.is_ascii_digit()).filter(|part| !part.is_empty());
    numberless.collect::<Vec<_>>().join("#")
}

/// The request of a line of fio's log; `None` for other lines and for `sync_file_range`, which asks nothing of a drive.
fn parse_log_line(line: &str) -> Option<LoggedRequest> {
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

/// The requests that this project's generator issues to a device that answers at once, by thread; of each thread one more than
/// `limits` at most.
fn run_here(job: &Drawn, limits: &[usize]) -> Result<Vec<Vec<LoggedRequest>>, String> {
    let join_faults = |faults: Vec<_>| faults.iter().map(ToString::to_string).collect::<Vec<String>>().join("; ");
    // A thread that ends by time gets here at least as far as in fio: the time is ten times as long.
    let text = job.text.replace("\nruntime=1\n", "\nruntime=10\n");
    let file = fio::parse("job.fio", &text, &FioContext::bare()).map_err(join_faults)?;
    let device = Limits {
        sectors: 1 << 31,
        logical: 512,
        physical: 512,
        max_transfer: 65_536,
        optimal_transfer: 0,
        depth: 64,
        fua: false,
        volatile_cache: true,
        queuing: Queuing::Ncq,
        computes: false,
    };
    let (built, _) = file.job(device.sectors).map_err(join_faults)?;
    let mut workload = Workload::new(&built, &device, Seed(0)).map_err(|fault| fault.to_string())?;
    let mut streams = vec![Vec::new(); job.threads];
    let mut now = Instant::ZERO;
    loop {
        match workload.next(now) {
            SourcePoll::Request(request) => {
                let stream = &mut streams[usize::from(request.origin)];
                if stream.len() < limits[usize::from(request.origin)] + 1 {
                    stream.push(place_in_file(job, &request));
                } else if streams.iter().zip(limits).all(|(stream, limit)| stream.len() > *limit) {
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

/// A request on the device as a request of a file: files lie one behind another, each from a multiple of 4 KiB.
fn place_in_file(job: &Drawn, request: &Request) -> LoggedRequest {
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

/// The stream with each request once that was offered again and again.
fn without_repeats(job: &Drawn, stream: &[LoggedRequest]) -> Vec<LoggedRequest> {
    let mut stream = stream.to_vec();
    if job.log_repeats {
        stream.dedup();
    }
    stream
}

/// The result of comparing one job.
enum Outcome {
    Equal {
        requests: usize,
        syncs: usize,
        trims: usize,
    },
    Differs(String),
    /// fio does not run the job, for this reason.
    NotFios(String),
    /// The job is refused here, for this reason.
    Refused(String),
}

fn compare(job: &Drawn) -> Outcome {
    let fio = match run_in_fio(job) {
        Ok(fio) => fio,
        Err(reason) => return Outcome::NotFios(reason),
    };
    let lengths: Vec<usize> = fio.iter().map(Vec::len).collect();
    let ours = match run_here(job, &lengths) {
        Ok(ours) => ours,
        Err(faults) => return Outcome::Refused(faults),
    };
    let distinct = |streams: &[Vec<LoggedRequest>]| -> Vec<Vec<LoggedRequest>> {
        streams.iter().map(|stream| without_repeats(job, stream)).collect()
    };
    let (fio, ours) = (distinct(&fio), distinct(&ours));
    for (thread, (fio, ours)) in fio.iter().zip(&ours).enumerate() {
        // The log of a thread that ends by time may end with syncs that belong to its end.
        let final_syncs = fio.iter().rev().take_while(|entry| job.timed && entry.0 == Op::Flush).count();
        let fio = &fio[..fio.len() - final_syncs];
        let ours = if job.timed { &ours[..ours.len().min(fio.len())] } else { ours };
        if fio[..] != ours[..] {
            let at = fio.iter().zip(ours).take_while(|(a, b)| a == b).count();
            let (theirs, own) = (fio.get(at), ours.get(at));
            let lengths = format!("of {} and {}", fio.len(), ours.len());
            if number_from("SEEKWISE_FIO_JOB").is_some() {
                let near = at.saturating_sub(12)..at + 6;
                near.for_each(|at| println!("{at:>6} {:?} {:?}", fio.get(at), ours.get(at)));
            }
            return Outcome::Differs(format!("thread {thread}: request {at} {lengths}: fio {theirs:?}, ours {own:?}"));
        }
    }
    let all = || fio.iter().flatten();
    let count = |op: Op| all().filter(|entry| entry.0 == op).count();
    Outcome::Equal { requests: all().count(), syncs: count(Op::Flush), trims: count(Op::Trim) }
}

/// The number in an environment variable.
fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Compares each job, in order of the seeds. fio sleeps for most of its short runs, so four run at once.
fn compare_all(draw: fn(u64) -> Drawn, jobs: Range<u64>) -> Vec<(u64, Outcome)> {
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
    check_against_fio(draw::draw_job);
}

/// As `random_jobs_ask_what_fio_asks`, for jobs that vary depths, batches and pauses of engines.
#[test]
fn random_engines_ask_what_fio_asks() {
    check_against_fio(draw::draw_engine_job);
}

/// Compares the jobs that the environment names, and checks that none differs.
fn check_against_fio(draw: fn(u64) -> Drawn) {
    match fio_version() {
        Some(version) if version == "fio-3.33" => {}
        found => return println!("skipped: fio 3.33 is wanted, and the path has {found:?}"),
    }
    let jobs = match number_from("SEEKWISE_FIO_JOB") {
        Some(one) => one..one + 1,
        None => {
            let first = number_from("SEEKWISE_FIO_FIRST").unwrap_or(0);
            first..first + number_from("SEEKWISE_FIO_JOBS").unwrap_or(SAMPLE)
        }
    };
    let job_count = jobs.end - jobs.start;
    let (mut equal, mut requests, mut syncs, mut trims) = (0, 0, 0, 0);
    let mut differ = Vec::new();
    let (mut not_fios, mut refused) = (BTreeMap::<String, Vec<u64>>::new(), BTreeMap::<String, Vec<u64>>::new());
    for (seed, outcome) in compare_all(draw, jobs) {
        match outcome {
            Outcome::Equal { requests: new_requests, syncs: new_syncs, trims: new_trims } => {
                equal += 1;
                (requests, syncs, trims) = (requests + new_requests, syncs + new_syncs, trims + new_trims);
            }
            Outcome::NotFios(reason) => not_fios.entry(reason).or_default().push(seed),
            Outcome::Refused(faults) => refused.entry(faults).or_default().push(seed),
            Outcome::Differs(difference) => {
                println!("job {seed} ({}): {difference}", draw(seed).options());
                differ.push(seed);
            }
        }
    }
    println!("{equal} of {job_count} jobs equal: {requests} requests, {syncs} syncs and {trims} trims among them");
    let not_run: usize = not_fios.values().map(Vec::len).sum();
    println!("{} differ, {not_run} are none of fio's, refused here: {refused:?}", differ.len());
    for (reason, seeds) in not_fios {
        println!("{} are none of fio's, which says \"{reason}\": {seeds:?}", seeds.len());
    }
    assert!(differ.is_empty(), "these differ: {differ:?}");
    assert!(refused.is_empty(), "refused here and not by fio");
    assert!(not_run as u64 * 10 <= job_count, "the generator draws jobs that fio does not run");
}
