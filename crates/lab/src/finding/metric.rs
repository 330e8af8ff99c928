//! The value of a metric in one run. What a difference means, `finding` decides.

use seekwise_formats::metric::{Figure, Metric, Whose};

use crate::run::{Response, RunRecord, View};
use crate::stats::{Better, Percentile, quality};

/// The judged requests; `None` if a run has none of them. A job with workers of one name keeps no groups: that name is
/// the whole job (`lab/study` checks this before the runs).
pub fn view<'a>(whose: &Whose, record: &'a RunRecord) -> Option<&'a View> {
    let view = match whose {
        Whose::All => Some(&record.all),
        Whose::Read => Some(&record.read),
        Whose::Write => Some(&record.write),
        Whose::Flush => Some(&record.flush),
        Whose::Job(_) if record.groups.is_empty() => Some(&record.all),
        Whose::Operations(_) => None,
        Whose::Job(name) => record.groups.iter().find(|group| group.name == *name).map(|group| &group.all),
    };
    view.filter(|view| view.ios > 0)
}

/// The metric of one run; `None` if it has no such request, or no processor, or is not measured.
pub fn value(metric: &Metric, record: &RunRecord) -> Option<f64> {
    let figure = match metric.figure {
        Figure::Elapsed => return Some(record.elapsed_s),
        Figure::Cpu => return record.cpu.map(|cpu| cpu.percent),
        Figure::IosPerCpuSecond => return record.cpu.map(|cpu| cpu.ios_per_cpu_second),
        Figure::WallNs => return record.cost.map(|cost| cost.wall_ns),
        Figure::ProcessorNs => return record.cost.and_then(|cost| cost.processor_ns),
        figure => figure,
    };
    let (response, per_s, bytes_per_s) = match &metric.whose {
        Whose::Operations(name) => {
            let done = record.operations.get(name).filter(|done| done.count > 0)?;
            (done.response_ms?, done.per_s, 0.0)
        }
        whose => {
            let view = view(whose, record)?;
            (of_view(metric.figure, view)?, view.iops, view.bytes_per_s)
        }
    };
    Some(match figure {
        Figure::BytesPerS => bytes_per_s,
        Figure::Mean | Figure::SinceDue => response.mean,
        Figure::P50 | Figure::SinceDueP50 => response.p50,
        Figure::P90 | Figure::SinceDueP90 => response.p90,
        Figure::P99 | Figure::SinceDueP99 => response.p99,
        Figure::P999 | Figure::SinceDueP999 => response.p99_9,
        Figure::P9999 | Figure::SinceDueP9999 => response.p99_99,
        Figure::Max | Figure::SinceDueMax => response.max,
        _ => per_s,
    })
}

/// The times of a figure: from the issue, or from when requests were due.
fn of_view(figure: Figure, view: &View) -> Option<Response> {
    if figure.since_due().is_some() { view.since_due_ms } else { view.response_ms }
}

/// Which direction of a metric is good.
pub fn better(metric: &Metric) -> Better {
    if metric.figure.higher_is_better() { Better::Higher } else { Better::Lower }
}

/// The percentile of a figure, if it is one.
fn percentile(figure: Figure) -> Option<Percentile> {
    let word = figure.since_due().unwrap_or(figure.word());
    Percentile::LISTED.into_iter().find(|percentile| percentile.name() == word.replace('.', "_"))
}

/// True if the run has enough requests for the metric, if that is a percentile.
pub fn supported(metric: &Metric, record: &RunRecord) -> bool {
    let ios = match &metric.whose {
        Whose::Operations(name) => record.operations.get(name).map_or(0, |done| done.count),
        whose => view(whose, record).map_or(0, |view| view.ios),
    };
    percentile(metric.figure).is_none_or(|wanted| quality::supported(ios).any(|one| one == wanted))
}
