//! The content of the picture of `seekwise run`, which `seekwise::pictures` draws.

use seekwise::pictures::{KindPlot, RunPlot};
use seekwise::run::{KindRecord, MeasuredRun, Part, RunRecord};

use super::text::response_series;

/// The response times of each kind of requests, and their parts.
pub fn run_plot(record: &RunRecord, measured: &MeasuredRun) -> RunPlot {
    let kind = |series: super::histogram::HistogramSeries| {
        let view = match series.name {
            "reads" => &record.read,
            "writes" => &record.write,
            _ => &record.flush,
        };
        KindPlot {
            name: series.name.to_owned(),
            buckets: series.buckets,
            parts: Part::ALL.map(|part| (part, view.anatomy_ms.get(part))).to_vec(),
            times: times_words(view),
        }
    };
    let clock = if record.is_measured() { "by the wall clock" } else { "of virtual time" };
    RunPlot {
        title: format!("How fast is {} on {}, and where does the time go?", record.job, record.target),
        answer: answer_sentence(record),
        kinds: response_series(measured).into_iter().map(kind).collect(),
        method: format!("One run of {:.3} s {clock}, seed {}. Seekwise.", record.elapsed_s, record.seed),
    }
}

/// The rate, and how long requests took.
fn answer_sentence(record: &RunRecord) -> String {
    let all = if record.all.ios > 0 { &record.all } else { &record.flush };
    let megabytes = match all.bytes_per_s {
        rate if rate > 0.0 => format!(", {:.2} MB/s", rate / 1e6),
        _ => String::new(),
    };
    let times = all.response_ms.map_or(String::new(), |times| {
        format!("; a request takes {:.3} ms on average, 99 of 100 take at most {:.3} ms", times.mean, times.p99)
    });
    let largest = Part::ALL.into_iter().max_by(|a, b| all.anatomy_ms.get(*a).total_cmp(&all.anatomy_ms.get(*b)));
    let total = all.anatomy_ms.total();
    let most = largest.filter(|_| total > 0.0).map_or(String::new(), |part| {
        let percent = 100.0 * all.anatomy_ms.get(part) / total;
        format!(". Largest part: {} ({percent:.0} %), {}", part.name(), part.meaning())
    });
    format!("{:.1} requests/s{megabytes}{times}{most}.", all.iops)
}

/// The mean and two percentiles of a kind.
fn times_words(view: &KindRecord) -> String {
    let times = view.response_ms.map_or(String::new(), |times| {
        format!("mean {:.2} ms, p50 {:.2}, p99 {:.2}, max {:.2}", times.mean, times.p50, times.p99, times.max)
    });
    if view.ios > 0 { times } else { String::new() }
}
