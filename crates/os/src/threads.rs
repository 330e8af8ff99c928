//! Runs a job whose workers have each a thread and a device of their own, so that requests of one never wait for
//! another's. Each worker draws the random numbers that it draws in any place, by its number and the run's seed. All
//! share one clock.
//!
//! The workers of a stage open their devices, then begin together; the next stage begins when all have ended. A stage
//! of one worker runs on the calling thread. Records of several workers come to that thread in bundles. So they are in
//! order of completion within a worker, and not between workers.

use std::sync::Barrier;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, ScopedJoinHandle};

use seekwise_disk::block::Limits;
use seekwise_disk::engine::fingerprint::StreamHash;
use seekwise_disk::record::Record;
use seekwise_disk::rng::Seed;
use seekwise_disk::time::{Instant, Span};
use seekwise_run::cutoff::RunCutoff;
use seekwise_run::outcome::{RunCost, RunError, RunFigures, RunOutcome, into_outcome_and_device, join_source};
use seekwise_run::usage::{SystemUsage, Usage};
use seekwise_run::work::Issuer;
use seekwise_work::workload::{IssueListener, Job, Workload};

use crate::accounts::{SystemCounters, read_thread_usage};
use crate::clock::Clock;
use crate::real_time::{RealTime, run_engine};

/// Records that a worker hands over at once: so many that the counting thread is seldom woken.
const BUNDLE_RECORDS: usize = 1024;

/// Bundles of each worker that may wait to be counted; a worker with more waits until some are.
const MAX_WAITING_BUNDLES: usize = 64;

/// Outcome of a worker, with its thread's usage.
type WorkerOutcome = RunOutcome<Workload>;

/// The stream of a worker that issued nothing.
const EMPTY_STREAM: StreamHash = StreamHash { requests: 0, hash: 0 };

/// A job to be run.
#[derive(Clone, Copy)]
pub(crate) struct ThreadedJob<'a> {
    pub(crate) place: &'a dyn RealTime,
    pub(crate) job: &'a Job,
    pub(crate) seed: Seed,
    /// Is called with each request.
    pub(crate) tell: Option<&'a IssueListener>,
    /// When the job ends early.
    pub(crate) cutoff: RunCutoff<'a>,
}

/// Runs a job.
pub(crate) fn run_job(
    threaded: &ThreadedJob<'_>,
    recorder: &mut impl FnMut(&Record),
) -> Result<RunOutcome<Issuer>, RunError> {
    let job = threaded.job;
    let mut stages: Vec<u32> = job.workers.iter().map(|worker| worker.stage).collect();
    stages.sort_unstable();
    stages.dedup();
    let system = SystemCounters::read();
    let clock = Clock::start();
    let mut outcomes: Vec<(u16, WorkerOutcome)> = Vec::new();
    for stage in stages {
        let workers: Vec<u16> = (0u16..).zip(&job.workers).filter(|(_, it)| it.stage == stage).map(|it| it.0).collect();
        match workers[..] {
            [only] => outcomes.push((only, run_worker(threaded, only, &clock, || (), recorder)?)),
            _ => outcomes.extend(run_workers(threaded, &workers, &clock, recorder)?),
        }
    }
    outcomes.sort_by_key(|(worker, _)| *worker);
    let wall = clock.now().since(Instant::ZERO);
    Ok(join_outcomes(outcomes.into_iter().map(|(_, outcome)| outcome).collect(), wall, &system))
}

/// Runs several workers, each on a thread.
fn run_workers(
    threaded: &ThreadedJob<'_>,
    workers: &[u16],
    clock: &Clock,
    recorder: &mut impl FnMut(&Record),
) -> Result<Vec<(u16, WorkerOutcome)>, RunError> {
    let barrier = Barrier::new(workers.len());
    let (sender, bundles) = sync_channel::<Vec<Record>>(MAX_WAITING_BUNDLES * workers.len());
    thread::scope(|scope| {
        let spawn = |&worker: &u16| {
            let (barrier, sender) = (&barrier, sender.clone());
            let work = move || {
                let mut bundle = RecordBundle { records: Vec::with_capacity(BUNDLE_RECORDS), sender };
                let wait_for_others = || {
                    barrier.wait();
                };
                run_worker(threaded, worker, clock, wait_for_others, &mut |record| bundle.add_record(record))
            };
            (worker, scope.spawn(work))
        };
        let running: Vec<(u16, ScopedJoinHandle<'_, _>)> = workers.iter().map(spawn).collect();
        drop(sender);
        bundles.iter().flatten().for_each(|record| recorder(&record));
        let join = |(worker, handle): (u16, ScopedJoinHandle<'_, Result<WorkerOutcome, RunError>>)| {
            let outcome = handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            outcome.map(|outcome| (worker, outcome))
        };
        running.into_iter().map(join).collect()
    })
}

/// Records of a worker on their way to the counting thread; the rest is sent when dropped.
struct RecordBundle {
    records: Vec<Record>,
    sender: SyncSender<Vec<Record>>,
}

impl RecordBundle {
    #[inline]
    fn add_record(&mut self, record: &Record) {
        self.records.push(*record);
        if self.records.len() == BUNDLE_RECORDS {
            let full = std::mem::replace(&mut self.records, Vec::with_capacity(BUNDLE_RECORDS));
            // The receiver lives until all have ended; if it panicked, so does the scope.
            let _ = self.sender.send(full);
        }
    }
}

impl Drop for RecordBundle {
    fn drop(&mut self) {
        let _ = self.sender.send(std::mem::take(&mut self.records));
    }
}

/// Runs one worker on the calling thread, after its device is open and `wait_for_others` has returned.
fn run_worker(
    threaded: &ThreadedJob<'_>,
    worker: u16,
    clock: &Clock,
    wait_for_others: impl FnOnce(),
    recorder: &mut impl FnMut(&Record),
) -> Result<WorkerOutcome, RunError> {
    let ThreadedJob { place, job, seed, tell, cutoff } = *threaded;
    let device = place.open_for(worker, seed);
    wait_for_others();
    // Job and place were checked as a whole, which holds for each worker.
    let source = |limits: &Limits| Ok(Workload::for_worker(job, worker, limits, seed)?.with_listener(tell.cloned()));
    let engine = join_source(device?, source, cutoff)?;
    let (usage_before, began) = (read_thread_usage(), clock.now());
    let engine = run_engine(engine, clock, recorder)?;
    let thread = read_thread_usage().since(&usage_before, clock.now().since(began));
    let (RunOutcome { source, figures }, mut device) = into_outcome_and_device(engine);
    let troubles = device.take_troubles();
    device.end_run()?;
    // Only this worker issued: the streams of the others are empty.
    let streams = vec![figures.streams.get(usize::from(worker)).copied().unwrap_or(EMPTY_STREAM)];
    let usage = Some(Usage { threads: vec![thread], system: SystemUsage::default() });
    Ok(RunOutcome { source, figures: RunFigures { streams, usage, troubles, ..figures } })
}

/// Joins the workers' outcomes to that of one run. There is no single order of issue: the hash is that of the workers'
/// hashes.
fn join_outcomes(outcomes: Vec<WorkerOutcome>, wall: Span, system: &SystemCounters) -> RunOutcome<Issuer> {
    let mut usage = Usage { threads: Vec::new(), system: SystemCounters::read().usage_since(system) };
    let (mut figures, mut sources) = (RunFigures::default(), Vec::new());
    let is_single = outcomes.len() == 1;
    for RunOutcome { source, figures: outcome_figures } in outcomes {
        sources.push(source);
        usage.threads.extend(outcome_figures.usage.into_iter().flat_map(|usage| usage.threads));
        figures.end = figures.end.max(outcome_figures.end);
        figures.failures += outcome_figures.failures;
        figures.cancelled |= outcome_figures.cancelled;
        figures.issued += outcome_figures.issued;
        figures.stream_hash = match is_single {
            true => outcome_figures.stream_hash,
            false => {
                (figures.stream_hash.rotate_left(5) ^ outcome_figures.stream_hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            }
        };
        figures.streams.extend(outcome_figures.streams);
        figures.troubles.extend(outcome_figures.troubles);
    }
    figures.cost = Some(RunCost { wall, processor: Some(usage.processor_time()) });
    figures.usage = Some(usage);
    RunOutcome { source: Issuer::SeparateWorkers(sources), figures }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::null::NullPlace;
    use crate::real_time::TimedDevice;
    use seekwise_formats::fio::{self, FioContext};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Devices that were opened, requests that were issued, and the fewest open devices at any of them.
    #[derive(Debug)]
    struct Counts {
        opened: AtomicUsize,
        issued: AtomicUsize,
        fewest: AtomicUsize,
    }

    /// A place that answers at once, and that the second worker opens after all others, and slowly.
    #[derive(Debug)]
    struct SlowPlace(Arc<Counts>);

    impl RealTime for SlowPlace {
        fn name(&self) -> &'static str {
            "slow"
        }
        fn full_name(&self) -> String {
            "slow".to_owned()
        }
        fn limits(&self) -> Limits {
            NullPlace.limits()
        }
        fn open(&self, seed: Seed) -> Result<Box<dyn TimedDevice>, RunError> {
            NullPlace.open(seed)
        }
        fn open_for(&self, worker: u16, seed: Seed) -> Result<Box<dyn TimedDevice>, RunError> {
            let device = self.open(seed);
            if worker == 1 {
                while self.0.opened.load(Ordering::SeqCst) < 2 {
                    thread::yield_now();
                }
                // Some milliseconds in which others that do not wait would issue.
                for turn in 0..500_000 {
                    if self.0.issued.load(Ordering::SeqCst) > 0 {
                        break;
                    }
                    if turn % 10_000 == 0 {
                        thread::yield_now();
                    }
                    std::hint::spin_loop();
                }
            }
            self.0.opened.fetch_add(1, Ordering::SeqCst);
            device
        }
    }

    #[test]
    fn no_worker_of_a_stage_issues_before_all_have_opened_their_devices() {
        let text = "[j]\nioengine=libaio\ndirect=1\nrw=read\nbs=4k\nsize=64k\nnumjobs=3\n";
        let (job, _) = fio::parse("j.fio", text, &FioContext::bare()).unwrap().job(1 << 24).unwrap();
        let none = || AtomicUsize::new(0);
        let counts = Arc::new(Counts { opened: none(), issued: none(), fewest: AtomicUsize::new(usize::MAX) });
        let place = SlowPlace(Arc::clone(&counts));
        let counted = Arc::clone(&counts);
        let tell = IssueListener::new(move |_, _| {
            counted.fewest.fetch_min(counted.opened.load(Ordering::SeqCst), Ordering::SeqCst);
            counted.issued.fetch_add(1, Ordering::SeqCst);
        });
        let threaded =
            ThreadedJob { place: &place, job: &job, seed: Seed(1), tell: Some(&tell), cutoff: RunCutoff::NEVER };
        let outcome = run_job(&threaded, &mut |_| ()).unwrap();
        assert_eq!((outcome.figures.issued, outcome.figures.failures), (48, 0), "three times 64 KiB in pages");
        let [opened, issued, fewest] =
            [&counts.opened, &counts.issued, &counts.fewest].map(|count| count.load(Ordering::SeqCst));
        assert_eq!((opened, issued, fewest), (3, 48, 3));
    }
}
