//! The metric that suits a study's work, and the value of a metric in one run; `finding` decides what a difference means.

use seekwise_drives::key_names::{trace, work};
use seekwise_drives::metric::{IOPS, Metric, MetricScope, Statistic};

use crate::provenance::StudyProvenance;
use crate::run::{KindRecord, Response, RunRecord};
use crate::stats::{BetterDirection, Percentile, quality};

/// The metric of comparisons that name none: how long a scene takes; if every request comes by a rate or a trace, so that throughput is
/// given, the response time since they were due; else requests per second.
pub(super) fn default_metric(made: &StudyProvenance) -> &'static Metric {
    static SINCE_DUE: Metric = Metric { whose: MetricScope::All, figure: Statistic::SinceDue };
    static ELAPSED: Metric = Metric { whose: MetricScope::All, figure: Statistic::Elapsed };
    let all = |is: fn(&StudyProvenance, usize) -> bool| (0..made.cells.len()).all(|cell| is(made, cell));
    match () {
        () if all(is_arrival_driven) => &SINCE_DUE,
        () if all(|made, cell| made.find_setting(cell, "system.family").is_some()) => &ELAPSED,
        () => &IOPS,
    }
}

/// True if every request of a cell is due at an instant of its own: each of its workers has a rate in every direction,
/// or a trace is played at its recorded instants.
fn is_arrival_driven(made: &StudyProvenance, cell: usize) -> bool {
    let says = |key: &str, given: fn(&str) -> bool| made.find_setting(cell, key).is_some_and(|it| given(&it.value));
    says(work::RATE_LIMIT, |rates| !rates.contains("none")) || says(trace::LOOP, |mode| mode == "open")
}

/// The judged requests; `None` if a run has none of them. A job with workers of one name keeps no groups: that name is
/// the whole job (`lab/study` checks this before the runs).
pub(crate) fn requests_in_scope<'a>(whose: &MetricScope, record: &'a RunRecord) -> Option<&'a KindRecord> {
    let view = match whose {
        MetricScope::All => Some(&record.all),
        MetricScope::Read => Some(&record.read),
        MetricScope::Write => Some(&record.write),
        MetricScope::Flush => Some(&record.flush),
        MetricScope::Commit => record.commit.as_ref().map(|commit| &commit.figures),
        MetricScope::Job(_) if record.groups.is_empty() => Some(&record.all),
        MetricScope::Operations(_) => None,
        MetricScope::Job(name) => record.groups.iter().find(|group| group.name == *name).map(|group| &group.all),
    };
    view.filter(|view| view.ios > 0)
}

/// The metric of one run; `None` if it has no such request, no processor, no array, or is not measured.
pub(crate) fn value_in_run(metric: &Metric, record: &RunRecord) -> Option<f64> {
    let figure = match metric.figure {
        Statistic::Elapsed => return Some(record.elapsed_s),
        Statistic::Cpu => return record.cpu.map(|cpu| cpu.percent),
        Statistic::IosPerCpuSecond => return record.cpu.map(|cpu| cpu.ios_per_cpu_second),
        Statistic::WallNs => return record.cost.map(|cost| cost.wall_ns),
        Statistic::ProcessorNs => return record.cost.and_then(|cost| cost.processor_ns),
        Statistic::ReadPerByteWritten => return record.array.as_ref().and_then(|array| array.read_per_byte_written),
        Statistic::WrittenPerByteWritten => {
            return record.array.as_ref().and_then(|array| array.written_per_byte_written);
        }
        Statistic::SyncMbPerS => return record.drive.syncs.as_ref().and_then(|syncs| syncs.mb_per_s),
        figure => figure,
    };
    let (response, per_s, bytes_per_s) = match &metric.whose {
        MetricScope::Operations(name) => {
            let done = record.issuer.operations.get(name).filter(|done| done.count > 0)?;
            (done.response_ms?, done.per_s, 0.0)
        }
        whose => {
            let view = requests_in_scope(whose, record)?;
            (response_for(metric.figure, view)?, view.iops, view.bytes_per_s)
        }
    };
    Some(match figure {
        Statistic::BytesPerS => bytes_per_s,
        Statistic::Mean | Statistic::SinceDue => response.mean,
        Statistic::P50 | Statistic::SinceDueP50 => response.p50,
        Statistic::P90 | Statistic::SinceDueP90 => response.p90,
        Statistic::P95 | Statistic::SinceDueP95 => return response.p95,
        Statistic::P99 | Statistic::SinceDueP99 => response.p99,
        Statistic::P999 | Statistic::SinceDueP999 => response.p99_9,
        Statistic::P9999 | Statistic::SinceDueP9999 => response.p99_99,
        Statistic::Max | Statistic::SinceDueMax => response.max,
        _ => per_s,
    })
}

/// The times of a figure: from the issue, or from when requests were due.
fn response_for(figure: Statistic, view: &KindRecord) -> Option<Response> {
    if figure.response_word_of_since_due().is_some() { view.since_due_ms } else { view.response_ms }
}

/// Which direction of a metric is good.
pub fn better_direction(metric: &Metric) -> BetterDirection {
    if metric.figure.higher_is_better() { BetterDirection::Higher } else { BetterDirection::Lower }
}

/// The percentile of a figure, if it is one.
fn as_percentile(figure: Statistic) -> Option<Percentile> {
    let word = figure.response_word_of_since_due().unwrap_or(figure.word());
    Percentile::KEPT.into_iter().find(|percentile| percentile.name() == word.replace('.', "_"))
}

/// Number of a run's requests that a metric covers.
pub fn count_requests(metric: &Metric, record: &RunRecord) -> u64 {
    match &metric.whose {
        MetricScope::Operations(name) => record.issuer.operations.get(name).map_or(0, |done| done.count),
        whose => requests_in_scope(whose, record).map_or(0, |view| view.ios),
    }
}

/// Number of requests that a percentile needs for `beyond` of them to lie above it; nothing for other metrics.
pub fn needed_requests(metric: &Metric, beyond: u64) -> Option<u64> {
    as_percentile(metric.figure)?.needed_count(beyond)
}

/// True if the run has enough requests for the metric, or if that is no percentile.
pub(crate) fn has_enough_requests(metric: &Metric, record: &RunRecord) -> bool {
    let ios = count_requests(metric, record);
    as_percentile(metric.figure).is_none_or(|wanted| quality::is_supported(wanted, ios))
}
