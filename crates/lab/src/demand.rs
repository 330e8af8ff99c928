//! The demand of a run on the machine, before it runs: an upper bound on its memory, and a forecast of its wall time.
//!
//! The bound is a sum over what grows with a job or a stack: workers, requests in flight, maps of blocks, what a
//! verification remembers, a cache in host memory, cuts, buffers of real requests. Left out are the written places that
//! a judge of cuts keeps, which grow with the written part of a drive, and the window of a packed trace beyond the
//! usual 8 MiB. The forecast runs the first requests and extrapolates from their time.

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

/// A program without a job: code, profiles, tables, the rows that a log holds back (measured: 12 to 50 MB).
const PROGRAM: u64 = 64 << 20;
/// A worker with its generators and their tables (the `size_of` its parts add up to 3 KB; zipf's tables are smaller).
const WORKER: u64 = 16 << 10;
/// A request in flight, in every table with a place for it: 8 layers of up to 128 bytes.
const IN_FLIGHT: u64 = 1 << 10;
/// A file of a worker beside its map.
const FILE: u64 = 512;
/// The most blocks of a file with a map (`work/workload/map`): a bit each and a 63rd of that above.
const MAPPED: u64 = 1 << 28;
/// A made zone (24 bytes).
const ZONE: u64 = 24;
/// A write that is read back later: 32 bytes of place, length, number and state, in a tree whose nodes are at least
/// half full, and the node's own data.
const REMEMBERED: u64 = 72;
/// A page of 4 KiB of a cache in host memory, without its data, in lists that double.
const PAGE: u64 = 400;
/// A trace being read: its window of requests (65,536 of 72 bytes, twice if completions are matched), buffers of its
/// files, names of its devices, read-ahead (2 MB).
const TRACE: u64 = 48 << 20;
/// A cut and its results, in lists that double.
const CUT: u64 = 1 << 10;
/// A kept record of a run: a histogram of 700 buckets is 11 KB, its text as much, groups and the rest the same again.
const RECORD: u64 = 32 << 10;

/// Requests of the probe: enough to pass the start, few enough to end in a moment.
const PROBE: u64 = 2_000;

/// The most bytes that a run may take, beside the program and its other runs.
pub fn run_memory(target: &Target, work: &Work, cuts: u32) -> u64 {
    let workers = work.workers().iter().map(worker_memory).fold(0, u64::saturating_add);
    let workers = workers.saturating_add(work.scene().map_or(0, scene_memory));
    let caches = target.stack().into_iter().flat_map(Stack::accelerators);
    let pages = caches.map(|accelerator| accelerator.size / 4096).sum::<u64>();
    let pages = pages.saturating_add(cached_pages(work));
    let trace = if let Work::Trace(_) = work { TRACE } else { 0 };
    let buffers = if let Target::Measured(place) = target { place.request_memory_bytes() } else { 0 };
    let workers = workers.saturating_add(trace).saturating_add(buffers);
    workers.saturating_add(pages.saturating_mul(PAGE)).saturating_add(u64::from(cuts) * CUT)
}

/// Pages of the page cache below a job.
fn cached_pages(work: &Work) -> u64 {
    match work {
        Work::Cached(cached) => cached.1.system.cache.map_or(0, |cache| cache.bytes / 4096),
        _ => 0,
    }
}

/// Bytes of a plan with this many runs, `at_once` of them together, none of which takes more than `most`.
pub fn plan_memory(most: u64, at_once: u64, runs: u64) -> u64 {
    PROGRAM.saturating_add(most.saturating_mul(at_once)).saturating_add(runs.saturating_mul(RECORD))
}

fn worker_memory(worker: &Worker) -> u64 {
    let own = match &worker.pattern {
        Pattern::Fio(pattern) => fio_memory(pattern),
        Pattern::Iometer(_) => 0,
    };
    WORKER.saturating_add(u64::from(worker.depth) * IN_FLIGHT).saturating_add(own)
}

/// A file of a volume, where it lies and where its entry stands, and the operation that it may be.
const NODE: u64 = 512;
/// A scene beside its files: volumes with their maps, programs, requests on their way.
const SCENE: u64 = 16 << 20;

/// The files of a scene, including those that its programs write: twice those from before the run.
fn scene_memory(scene: &SceneSpec) -> u64 {
    let volumes = scene.volumes.iter().map(|volume| volume.files);
    let programs = scene.programs.iter().flat_map(|program| [program.doing.file_set(); 2]).flatten();
    let files: u64 = volumes.chain(programs).map(|FileSet { files, .. }| u64::from(files)).sum();
    SCENE.saturating_add(files.saturating_mul(NODE))
}

fn fio_memory(pattern: &FioPattern) -> u64 {
    let smallest = smallest_block(pattern);
    let map = |bytes: u64| match bytes / smallest {
        blocks if pattern.random_map && blocks <= MAPPED => blocks / 8 + blocks / 504 + 64,
        _ => 0,
    };
    let files = pattern.files.iter().map(|file| FILE + map(file.bytes)).fold(0, u64::saturating_add);
    let written = if pattern.verify { (pattern.bytes / smallest).saturating_mul(REMEMBERED) } else { 0 };
    let zoned = pattern.zoned.iter().flat_map(|zoned| zoned.files.iter().map(|file| file.bytes / zoned.size + 1));
    let zones = zoned.fold(0, u64::saturating_add).saturating_mul(ZONE);
    files.saturating_add(written).saturating_add(zones)
}

fn smallest_block(pattern: &FioPattern) -> u64 {
    pattern.blocks.iter().map(BlockSizes::smallest).min().unwrap_or(0).max(512)
}

/// How much of a job is known before it runs: the most virtual seconds, and the most requests. `None` if it has no end
/// of that kind.
pub fn job_extent(work: &Work) -> (Option<f64>, Option<u64>) {
    if let Work::Session(session) = work {
        let last = session.entries.last().map(|entry| entry.at.nanos() as f64 / 1e9);
        return (last, Some(session.entries.len() as u64));
    }
    if let Work::Trace(trace) = work {
        let all = trace.how.speed.scale_span(trace.span).nanos();
        let end = trace.how.until.map_or(all, |until| all.min(until.nanos()));
        // In a closed loop the device decides how long it takes.
        let by_instants = trace.how.mode.uses_instants();
        return (by_instants.then_some(end as f64 / 1e9), Some(trace.requests));
    }
    if let Some(scene) = work.scene() {
        return (scene.runtime.map(|runtime| runtime.nanos() as f64 / 1e9), None);
    }
    let mut stages: BTreeMap<u32, Option<f64>> = BTreeMap::new();
    for worker in work.workers() {
        let longest = stages.entry(worker.stage).or_insert(Some(0.0));
        *longest = longest.and_then(|longest| Some(longest.max(worker_end(worker)?)));
    }
    let requests = |worker: &Worker| match &worker.pattern {
        Pattern::Fio(pattern) if !worker.time_based => {
            let all = (pattern.bytes / smallest_block(pattern)).saturating_mul(u64::from(pattern.loops));
            Some(pattern.requests.map_or(all, |most| all.min(most.saturating_mul(u64::from(pattern.loops)))))
        }
        _ => None,
    };
    let requests = work.workers().iter().map(requests).try_fold(0u64, |sum, one| Some(sum.saturating_add(one?)));
    (stages.into_values().try_fold(0.0, |sum, stage| Some(sum + stage?)), requests)
}

/// The latest virtual second at which a worker ends, counted from the beginning of its stage, if that is known.
fn worker_end(worker: &Worker) -> Option<f64> {
    let seconds = |span: Span| span.nanos() as f64 / 1e9;
    worker.runtime.map(|runtime| seconds(worker.start_delay) + seconds(worker.ramp) + seconds(runtime))
}

/// The fewest virtual seconds of a job: those of workers that work for a given time, stage after stage. Other work of a
/// stage is left out, since its requests determine how long it takes.
fn least_seconds(work: &Work) -> f64 {
    let mut stages: BTreeMap<u32, f64> = BTreeMap::new();
    for worker in work.workers().iter().filter(|worker| worker.time_based) {
        let longest = stages.entry(worker.stage).or_default();
        *longest = longest.max(worker_end(worker).unwrap_or(0.0));
    }
    stages.into_values().sum()
}

/// Wall seconds of one run: the job's own time if the clock is the wall's; otherwise the first requests are run, and
/// their time by `seconds`, a clock, is extrapolated.
pub fn forecast_seconds(target: &Target, work: &Work, seed: u64, seconds: &dyn Fn() -> f64) -> Result<f64, RunError> {
    if target.is_measured() {
        return Ok(job_extent(work).0.unwrap_or(0.0));
    }
    let began = seconds();
    let figures = target.run(work, RunCutoff::after_requests(PROBE), Seed(seed), None, &mut |_| ())?.figures;
    let took = seconds() - began;
    if figures.issued < PROBE {
        return Ok(took);
    }
    let (virtual_seconds, requests) = job_extent(work);
    let by_time = virtual_seconds.map(|all| figures.end.nanos() as f64 / 1e9 / all);
    let by_requests = requests.map(|all| figures.issued as f64 / all as f64);
    // The run ends at whichever comes first. If neither is known, because some stages end by time and others by their
    // requests, it takes at least as long as the former.
    let known = by_time.into_iter().chain(by_requests).reduce(f64::max);
    let done = known.unwrap_or_else(|| figures.end.nanos() as f64 / 1e9 / least_seconds(work));
    Ok(if done > 0.0 { took / done.min(1.0) } else { took })
}
