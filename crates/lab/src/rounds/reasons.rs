//! Which cells may have runs of another length than the study says, and why others may not.

use seekwise_drives::metric::{Metric, Statistic};
use seekwise_formats::study::Study;
use seekwise_run::work::issue_rates;
use seekwise_work::workload::Worker;

use super::RunLength;
use crate::plan::PreparedCell;

impl RunLength {
    /// The length of the runs of a job whose workers all begin at once and run for one time; nothing of others.
    pub(crate) fn from_workers(workers: &[Worker]) -> Option<RunLength> {
        let first = workers.first()?;
        let of = |worker: &Worker| {
            let alone = worker.time_based && worker.start_delay.nanos() == 0 && worker.stage == first.stage;
            let runtime = worker.runtime.filter(|_| alone)?.nanos();
            Some(RunLength { runtime, ramp: worker.ramp.nanos() })
        };
        let length = of(first)?;
        workers.iter().all(|worker| of(worker) == Some(length)).then_some(length)
    }
}

/// The length of the runs of a group of cells, or why it may be no other.
pub(crate) fn group_length(study: &Study, cells: &[&PreparedCell], metrics: &[&Metric]) -> Result<RunLength, String> {
    if metrics.is_empty() {
        return Err("nothing is compared with it".to_owned());
    }
    if study.cuts.is_some() || study.shutdowns.is_some() {
        return Err("power is cut, and what is lost depends on how long a run is".to_owned());
    }
    if cells.iter().any(|cell| cell.target.stack().is_none_or(|stack| !stack.changes.is_empty())) {
        return Err("settings change at their times during a run".to_owned());
    }
    if let Some(metric) = metrics.iter().find(|metric| grows_with_length(metric.figure)) {
        return Err(format!("`{metric}` depends on how long a run is"));
    }
    let due =
        |cell: &&PreparedCell| cell.job.workers().iter().any(|worker| issue_rates(worker).any(|rate| rate.is_some()));
    if cells.iter().any(due) {
        return Err("requests come at a rate, and a backlog grows as long as a run".to_owned());
    }
    let own = |cell: &&PreparedCell| RunLength::from_workers(cell.job.workers());
    let first = cells.first().and_then(own).ok_or("its job ends by itself, not after a run time")?;
    match cells.iter().all(|cell| own(cell) == Some(first)) {
        true => Ok(first),
        false => Err("its cells run for different times".to_owned()),
    }
}

/// True if a figure is another after a longer run of the same.
fn grows_with_length(figure: Statistic) -> bool {
    figure.response_word_of_since_due().is_some()
        || matches!(figure, Statistic::Elapsed | Statistic::Max | Statistic::WallNs | Statistic::ProcessorNs)
}
