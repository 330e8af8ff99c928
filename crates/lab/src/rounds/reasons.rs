//! Decides whether the runs of a group of cells may have another length than the study says; gives the reason if not.

use seekwise_drives::metric::{Metric, Statistic};
use seekwise_formats::study::Study;
use seekwise_run::work::issue_rates;
use seekwise_work::workload::Worker;

use super::RunLength;
use crate::plan::PreparedCell;

impl RunLength {
    /// The length of the runs of a job whose workers all begin at once and run for the same time; `None` for other jobs.
    pub(crate) fn from_workers(workers: &[Worker]) -> Option<RunLength> {
        let first = workers.first()?;
        let length_of = |worker: &Worker| {
            let begins_at_once = worker.time_based && worker.start_delay.nanos() == 0 && worker.stage == first.stage;
            let runtime_ns = worker.runtime.filter(|_| begins_at_once)?.nanos();
            Some(RunLength { runtime_ns, ramp_ns: worker.ramp.nanos() })
        };
        let length = length_of(first)?;
        workers.iter().all(|worker| length_of(worker) == Some(length)).then_some(length)
    }
}

/// The length of the runs of a group of cells, or the reason why it may not be another.
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
    if let Some(metric) = metrics.iter().find(|metric| depends_on_length(metric.figure)) {
        return Err(format!("`{metric}` depends on how long a run is"));
    }
    let has_rate =
        |cell: &&PreparedCell| cell.job.workers().iter().any(|worker| issue_rates(worker).any(|rate| rate.is_some()));
    if cells.iter().any(has_rate) {
        return Err("requests come at a rate, and a backlog grows as long as a run".to_owned());
    }
    let length_of = |cell: &&PreparedCell| RunLength::from_workers(cell.job.workers());
    let first = cells.first().and_then(length_of).ok_or("its job ends by itself, not after a run time")?;
    match cells.iter().all(|cell| length_of(cell) == Some(first)) {
        true => Ok(first),
        false => Err("its cells run for different times".to_owned()),
    }
}

/// True if a figure of the same work depends on the length of the run.
fn depends_on_length(figure: Statistic) -> bool {
    figure.response_word_of_since_due().is_some()
        || matches!(figure, Statistic::Elapsed | Statistic::Max | Statistic::WallNs | Statistic::ProcessorNs)
}
