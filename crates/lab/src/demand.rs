//! The demand of a run on the machine, before it runs: an upper bound on its memory, and a forecast of its wall time.
//!
//! The bound is a sum over what grows with a job or a stack: workers, requests in flight, maps of blocks, the writes that a verification
//! remembers, a cache in host memory, cuts, buffers of real requests. Two things are left out: the written blocks that the judge of power cuts
//! keeps, which grow with the written part of a drive, and the window of a packed trace beyond the usual 8 MiB. The forecast runs the first
//! requests and extrapolates from their time.

use std::collections::BTreeMap;

use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::Span;
use seekwise_run::cutoff::RunCutoff;
use seekwise_run::outcome::RunError;
use seekwise_run::place::Target;
use seekwise_run::work::Work;
use seekwise_work::files::program::FileSet;
use seekwise_work::files::scene::SceneSpec;
use seekwise_work::workload::{BlockSizes, FioPattern, Pattern, Worker};

/// The program without a job: code, profiles, tables, the rows that a log holds back (measured: 12 to 50 MB).
const PROGRAM_BYTES: u64 = 64 << 20;
/// A worker with its generators and their tables (the `size_of` its parts add up to 3 KB; zipf's tables are smaller).
const WORKER_BYTES: u64 = 16 << 10;
/// A request in flight: 8 layers have an entry of up to 128 bytes for it.
const IN_FLIGHT_BYTES: u64 = 1 << 10;
/// A file of a worker, without its map.
const FILE_BYTES: u64 = 512;
/// The most blocks of a file that has a map (`work/workload/map`), which takes a bit for each and a 63rd of that for its upper levels.
const MAPPED_BLOCKS: u64 = 1 << 28;
/// A zone of a job with zones: the 24 bytes of its entry.
const ZONE_BYTES: u64 = 24;
/// A write that is read back later: 32 bytes of address, length, number and state, in a tree whose nodes are at least half full, and a share of
/// the node's own data.
const REMEMBERED_WRITE_BYTES: u64 = 72;
/// The entry of a page of 4 KiB of a cache in host memory, without the page's data, in lists that double when they are full.
const PAGE_BYTES: u64 = 400;
/// A trace that is read: its window of requests (65,536 of 72 bytes, twice if completions are matched), buffers of its
/// files, names of its devices, read-ahead (2 MB).
const TRACE_BYTES: u64 = 48 << 20;
/// A power cut and its results, in lists that double when they are full.
const CUT_BYTES: u64 = 1 << 10;
/// The record kept of a run: a histogram of 700 buckets is 11 KB, its text as much, groups and the rest as much again.
const RECORD_BYTES: u64 = 32 << 10;

/// Requests that the forecast runs: enough to pass the start, few enough to end in a moment.
const PROBE_REQUESTS: u64 = 2_000;

/// The most bytes that a run may take, without the program and its other runs.
pub fn run_memory_bytes(target: &Target, work: &Work, cuts: u32) -> u64 {
    let workers = work.workers().iter().map(worker_memory_bytes).fold(0, u64::saturating_add);
    let scene = work.scene().map_or(0, scene_memory_bytes);
    let caches = target.stack().into_iter().flat_map(Stack::accelerators);
    let accelerator_pages = caches.map(|accelerator| accelerator.size / 4096).sum::<u64>();
    let pages = accelerator_pages.saturating_add(page_cache_pages(work));
    let trace = if let Work::Trace(_) = work { TRACE_BYTES } else { 0 };
    let buffers = if let Target::Measured(place) = target { place.request_memory_bytes() } else { 0 };
    let parts = [workers, scene, trace, buffers, pages.saturating_mul(PAGE_BYTES), u64::from(cuts) * CUT_BYTES];
    parts.into_iter().fold(0, u64::saturating_add)
}

/// Number of pages of the page cache below a job.
fn page_cache_pages(work: &Work) -> u64 {
    match work {
        Work::Cached(cached) => cached.1.system.cache.map_or(0, |cache| cache.bytes / 4096),
        _ => 0,
    }
}

/// The most bytes of a plan with so many runs, of which `concurrent_runs` run at a time and take at most `run_bytes` each.
pub fn plan_memory_bytes(run_bytes: u64, concurrent_runs: u64, runs: u64) -> u64 {
    PROGRAM_BYTES
        .saturating_add(run_bytes.saturating_mul(concurrent_runs))
        .saturating_add(runs.saturating_mul(RECORD_BYTES))
}

fn worker_memory_bytes(worker: &Worker) -> u64 {
    let pattern_bytes = match &worker.pattern {
        Pattern::Fio(pattern) => fio_memory_bytes(pattern),
        Pattern::Iometer(_) => 0,
    };
    WORKER_BYTES.saturating_add(u64::from(worker.depth) * IN_FLIGHT_BYTES).saturating_add(pattern_bytes)
}

/// A file of a scene's volume: the addresses of the file and of its entry, and an operation on it.
const SCENE_FILE_BYTES: u64 = 512;
/// A scene without its files: volumes with their maps, programs, requests in flight.
const SCENE_BYTES: u64 = 16 << 20;

/// The most bytes of a scene. Its programs may write as many files as there were before the run, so their file sets count twice.
fn scene_memory_bytes(scene: &SceneSpec) -> u64 {
    let volumes = scene.volumes.iter().map(|volume| volume.files);
    let programs = scene.programs.iter().flat_map(|program| [program.doing.file_set(); 2]).flatten();
    let files: u64 = volumes.chain(programs).map(|FileSet { files, .. }| u64::from(files)).sum();
    SCENE_BYTES.saturating_add(files.saturating_mul(SCENE_FILE_BYTES))
}

fn fio_memory_bytes(pattern: &FioPattern) -> u64 {
    let block_bytes = smallest_block_bytes(pattern);
    let map_bytes = |bytes: u64| match bytes / block_bytes {
        blocks if pattern.random_map && blocks <= MAPPED_BLOCKS => blocks / 8 + blocks / 504 + 64,
        _ => 0,
    };
    let files = pattern.files.iter().map(|file| FILE_BYTES + map_bytes(file.bytes)).fold(0, u64::saturating_add);
    let written = if pattern.verify { (pattern.bytes / block_bytes).saturating_mul(REMEMBERED_WRITE_BYTES) } else { 0 };
    let zoned = pattern.zoned.iter().flat_map(|zoned| zoned.files.iter().map(|file| file.bytes / zoned.size + 1));
    let zones = zoned.fold(0, u64::saturating_add).saturating_mul(ZONE_BYTES);
    files.saturating_add(written).saturating_add(zones)
}

fn smallest_block_bytes(pattern: &FioPattern) -> u64 {
    pattern.blocks.iter().map(BlockSizes::smallest).min().unwrap_or(0).max(512)
}

/// How long a job may last: its ends by time and by number of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobExtent {
    /// The most virtual seconds, if the job ends by time.
    pub seconds: Option<f64>,
    /// The most requests, if the job ends by their number.
    pub requests: Option<u64>,
}

/// The extent of a job, so far as it is known before the run.
pub fn job_extent(work: &Work) -> JobExtent {
    if let Work::Session(session) = work {
        let last = session.entries.last().map(|entry| entry.at.nanos() as f64 / 1e9);
        return JobExtent { seconds: last, requests: Some(session.entries.len() as u64) };
    }
    if let Work::Trace(trace) = work {
        let whole_ns = trace.how.speed.scale_span(trace.span).nanos();
        let end_ns = trace.how.until.map_or(whole_ns, |until| whole_ns.min(until.nanos()));
        // The device decides how long a closed loop takes.
        let seconds = trace.how.mode.uses_instants().then_some(end_ns as f64 / 1e9);
        return JobExtent { seconds, requests: Some(trace.requests) };
    }
    if let Some(scene) = work.scene() {
        return JobExtent { seconds: scene.runtime.map(|runtime| runtime.nanos() as f64 / 1e9), requests: None };
    }
    // The longest worker of each stage; `None` if one of them does not end by time.
    let mut stages: BTreeMap<u32, Option<f64>> = BTreeMap::new();
    for worker in work.workers() {
        let longest = stages.entry(worker.stage).or_insert(Some(0.0));
        *longest = longest.and_then(|longest| Some(longest.max(worker_end_s(worker)?)));
    }
    let most_requests = |worker: &Worker| match &worker.pattern {
        Pattern::Fio(pattern) if !worker.time_based => {
            let all = (pattern.bytes / smallest_block_bytes(pattern)).saturating_mul(u64::from(pattern.loops));
            Some(pattern.requests.map_or(all, |limit| all.min(limit.saturating_mul(u64::from(pattern.loops)))))
        }
        _ => None,
    };
    let mut by_worker = work.workers().iter().map(most_requests);
    JobExtent {
        seconds: stages.into_values().try_fold(0.0, |sum, stage_s| Some(sum + stage_s?)),
        requests: by_worker.try_fold(0u64, |sum, requests| Some(sum.saturating_add(requests?))),
    }
}

/// The latest virtual second, from the beginning of its stage, at which a worker ends; `None` if it does not end by time.
fn worker_end_s(worker: &Worker) -> Option<f64> {
    let seconds = |span: Span| span.nanos() as f64 / 1e9;
    worker.runtime.map(|runtime| seconds(worker.start_delay) + seconds(worker.ramp) + seconds(runtime))
}

/// The fewest virtual seconds of a job: those of its workers with a given time, stage after stage. Workers that end by their number of requests
/// are left out.
fn least_job_seconds(work: &Work) -> f64 {
    let mut stages: BTreeMap<u32, f64> = BTreeMap::new();
    for worker in work.workers().iter().filter(|worker| worker.time_based) {
        let longest = stages.entry(worker.stage).or_default();
        *longest = longest.max(worker_end_s(worker).unwrap_or(0.0));
    }
    stages.into_values().sum()
}

/// The wall seconds that one run will take. A run on a real disk takes the job's own time. A simulated one is begun: its first requests are run,
/// and their time by `clock_seconds` is extrapolated.
pub fn forecast_seconds(
    target: &Target,
    work: &Work,
    seed: u64,
    clock_seconds: &dyn Fn() -> f64,
) -> Result<f64, RunError> {
    if target.is_measured() {
        return Ok(job_extent(work).seconds.unwrap_or(0.0));
    }
    let began_s = clock_seconds();
    let figures = target.run(work, RunCutoff::after_requests(PROBE_REQUESTS), Seed(seed), None, &mut |_| ())?.figures;
    let probe_s = clock_seconds() - began_s;
    if figures.issued < PROBE_REQUESTS {
        return Ok(probe_s);
    }
    let extent = job_extent(work);
    let by_time = extent.seconds.map(|all| figures.end.nanos() as f64 / 1e9 / all);
    let by_requests = extent.requests.map(|all| figures.issued as f64 / all as f64);
    // The run ends by time or by requests, whichever comes first. Neither is known if some stages end by time and others by requests; such a run
    // takes at least the time of the former.
    let known = by_time.into_iter().chain(by_requests).reduce(f64::max);
    let done_share = known.unwrap_or_else(|| figures.end.nanos() as f64 / 1e9 / least_job_seconds(work));
    Ok(if done_share > 0.0 { probe_s / done_share.min(1.0) } else { probe_s })
}
