//! The loop in which the runs of a plan are made: for a comparison, a study, a sweep or a check of claims alike. No run
//! is made twice, the next round follows from the records so far, a run is kept as soon as it has ended, and progress,
//! cancelling and errors are handled here alone.
//!
//! The plan says which runs there are, [`seekwise_lab::study`] makes them on the cores it is given, measured runs one after
//! another, and a [`store`](crate::store) takes their records.

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

/// Counts runs that have ended, of one plan or of several, and reports them to an observer.
pub struct Progress<'a> {
    observer: &'a dyn Observer,
    ended: AtomicU64,
    /// Whether the observer hears of runs; else it is only asked whether to go on.
    is_reported: bool,
}

impl<'a> Progress<'a> {
    /// Begins to report `total` runs, of which `done` need not be made again.
    pub fn begin(observer: &'a dyn Observer, total: Option<u64>, done: u64) -> Progress<'a> {
        observer.begin_work(total, done, "runs");
        Progress { observer, ended: AtomicU64::new(done), is_reported: true }
    }

    /// Counts runs without a report: the observer is only asked whether to go on.
    pub fn silent(observer: &'a dyn Observer) -> Progress<'a> {
        Progress { observer, ended: AtomicU64::new(0), is_reported: false }
    }

    /// Counts so many more runs that have ended, and reports the sum.
    pub fn add_ended(&self, runs: u64) {
        let ended = self.ended.fetch_add(runs, Ordering::Relaxed) + runs;
        if self.is_reported {
            self.observer.report_done(ended);
        }
    }

    /// Reports to the observer what is being done now, such as the name of a study.
    pub fn report_work(&self, work: &str) {
        self.observer.report_work(work);
    }

    fn is_cancelled(&self) -> bool {
        self.observer.is_cancelled()
    }
}

/// Makes the runs of a plan that are missing, on so many cores (0: all), and keeps each in `store`. The first runs of
/// the plan are those of `records`; runs of other plans that were made `earlier` are not made again. Returns all
/// records in the plan's order, or an error if the observer cancelled: the runs that are complete are kept then.
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
    let no_earlier_runs = EarlierRuns::default();
    let earlier = earlier.unwrap_or(&no_earlier_runs);
    let is_cancelled = || progress.is_cancelled();
    let workers = if is_measured(prepared) { Workers::Serial } else { Workers::with_threads(threads) };
    let cutoff = RunCutoff::when_cancelled(&is_cancelled);
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
            let kept_record = result.map_err(Error::from).and_then(|record| store.keep(&record).map(|()| record));
            match kept_record {
                Ok(record) => {
                    progress.add_ended(1);
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
