//! The loop in which runs of a plan are made, whatever asks for them. No run is made twice, the next round follows from the
//! records so far, a run is kept as soon as it has ended, and progress, cancelling and errors are handled here alone.
//!
//! Which runs there are is the plan's, who runs them is [`seekwise_lab::study`]'s, and where records go is a [`store`](crate::store)'s.

use std::sync::atomic::{AtomicU64, Ordering};

use seekwise_lab::rounds;
use seekwise_lab::run::RunRecord;
use seekwise_lab::study::{is_measured, run_study_order};
use seekwise_lab::workers::Workers;
use seekwise_run::cutoff::RunCutoff;

use crate::error::Error;
use crate::observer::Observer;
use crate::store::Store;
use crate::study_plan::PlannedStudy;

/// Runs that were made earlier.
pub use seekwise_lab::study::EarlierRuns;

/// Runs that have ended, of one plan or of several, as the observer is told of them.
pub struct Progress<'a> {
    observer: &'a dyn Observer,
    ended: AtomicU64,
    is_told: bool,
}

impl<'a> Progress<'a> {
    /// Progress of `total` runs, of which `done` need not be made again.
    pub fn begin(observer: &'a dyn Observer, total: Option<u64>, done: u64) -> Progress<'a> {
        observer.begin(total, done, "runs");
        Progress { observer, ended: AtomicU64::new(done), is_told: true }
    }

    /// Progress that nobody is told of: the observer is only asked whether to go on.
    pub fn untold(observer: &'a dyn Observer) -> Progress<'a> {
        Progress { observer, ended: AtomicU64::new(0), is_told: false }
    }

    /// Counts so many runs more.
    pub fn count(&self, runs: u64) {
        let ended = self.ended.fetch_add(runs, Ordering::Relaxed) + runs;
        if self.is_told {
            self.observer.at(ended);
        }
    }

    /// Tells the observer of what is done now.
    pub fn doing(&self, what: &str) {
        self.observer.doing(what);
    }

    fn is_cancelled(&self) -> bool {
        self.observer.is_cancelled()
    }
}

/// Makes the runs of a plan after the first ones, whose `records` are there, on so many cores (0: all), and keeps each in `store`; runs
/// of other plans that were made earlier are not made again. Returns all records in the plan's order, or an error if the observer
/// cancelled: complete runs are then kept.
pub fn make_runs(
    planned: &PlannedStudy,
    earlier: Option<&EarlierRuns<'_>>,
    threads: usize,
    progress: &Progress<'_>,
    mut records: Vec<RunRecord>,
    store: &mut dyn Store,
) -> Result<Vec<RunRecord>, Error> {
    let mut failure = None;
    let PlannedStudy { study, prepared, made, .. } = planned;
    let nothing = EarlierRuns::default();
    let earlier = earlier.unwrap_or(&nothing);
    let cancelled = || progress.is_cancelled();
    let workers = if is_measured(prepared) { Workers::Serial } else { Workers::with_threads(threads) };
    let cutoff = RunCutoff::when_cancelled(&cancelled);
    let mut order = Vec::new();
    loop {
        order = rounds::extend_order(order, study, made, &records);
        let done = records.len();
        if done >= order.len() || failure.is_some() {
            break;
        }
        // Growth by doubling would waste megabytes.
        records.reserve_exact(order.len() - done);
        run_study_order(study, prepared, (&made.seeds, &order), earlier, done, (&workers, cutoff), |result| {
            let kept = result.map_err(Error::from).and_then(|record| store.keep(&record).map(|()| record));
            match kept {
                Ok(record) => {
                    progress.count(1);
                    // A copy: memory that a core's thread allocated would keep alive all that the thread ran in.
                    records.push(record.clone());
                    if progress.is_cancelled() {
                        failure = Some(Error::cancelled());
                    }
                }
                Err(error) => failure = Some(error),
            }
            failure.is_none()
        });
    }
    failure.map_or(Ok(records), Err)
}
