//! Open arrivals: requests that are due at instants of their own, whatever the device does. The figures are the rate that a job requests,
//! the rate that was reached, and the backlog: how long due requests waited to be issued. This wait is no part of a response, because no
//! component served the request yet.

use seekwise_disk::time::Span;
use seekwise_run::work::{Work, issue_rates};
use seekwise_work::workload::{IssueRate, Window};
use serde::{Deserialize, Serialize};

use crate::stats::summary::{RequestKind, RunTally};

/// A pace counts as kept if the longest backlog is at most this share of the run. A pace that cannot be kept falls behind by the missing
/// share of the rate: by 1 % of the run if 1 % is missing.
const LONGEST_BACKLOG_SHARE: f64 = 0.01;

/// Requests that were due by a rate or a trace.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arrivals {
    /// Requests a second that the job asks for; `None` if it asks for bytes, or if a trace gives each instant.
    pub asked_iops: Option<f64>,
    /// Bytes a second that the job asks for; `None` likewise.
    pub asked_bytes_per_s: Option<f64>,
    /// Due requests done a second.
    pub reached_iops: f64,
    /// Bytes a second of these requests.
    pub reached_bytes_per_s: f64,
    /// How long due requests waited to be issued.
    pub backlog_ms: Backlog,
    /// True if every request of the run was due: its rate is given by the job, not found by the run.
    pub all: bool,
    /// True if the pace was kept: the longest backlog is at most 1 % of the run.
    pub kept: bool,
}

/// A wait before the issue, in ms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Backlog {
    /// Over the requests that were due.
    pub mean: f64,
    pub max: f64,
}

/// Requests and bytes that the rates of workers ask for, in the time for which the workers are counted.
#[derive(Clone, Copy, Default)]
struct RequestedTotals {
    requests: f64,
    bytes: f64,
}

impl Arrivals {
    /// The arrivals of a run; `None` if no request was due by a rate or a trace.
    pub(super) fn from_run(work: &Work, windows: &[Option<Window>], run: &RunTally) -> Option<Arrivals> {
        let due = work.have_fixed_due_times();
        if !due.contains(&true) {
            return None;
        }
        let seconds = run.elapsed().nanos() as f64 / 1e9;
        let counted =
            [RequestKind::Read, RequestKind::Write, RequestKind::Trim].map(|kind| run.kind_summary(kind).tally);
        let per_second = |sum: f64| if seconds > 0.0 { sum / seconds } else { 0.0 };
        let count: u64 = counted.iter().map(|tally| tally.since_due().count()).sum();
        let bytes: u64 = counted.iter().map(|tally| tally.bytes_due()).sum();
        let waited: f64 =
            counted.iter().map(|tally| tally.mean_backlog_ns().unwrap_or(0.0) * tally.since_due().count() as f64).sum();
        let longest = counted.iter().map(|tally| tally.longest_backlog()).max().unwrap_or(Span::ZERO);
        let requested = requested_totals(work, windows);
        let asked = |sum: f64| (sum > 0.0).then(|| per_second(sum));
        Some(Arrivals {
            asked_iops: asked(requested.requests),
            asked_bytes_per_s: asked(requested.bytes),
            reached_iops: per_second(count as f64),
            reached_bytes_per_s: per_second(bytes as f64),
            backlog_ms: Backlog { mean: waited / count.max(1) as f64 / 1e6, max: longest.nanos() as f64 / 1e6 },
            all: !due.contains(&false) && work.workers().iter().flat_map(issue_rates).all(|rate| rate.is_some()),
            kept: longest.nanos() as f64 / 1e9 <= LONGEST_BACKLOG_SHARE * seconds,
        })
    }

    /// The rate requested, the rate reached and the backlog, in words.
    pub fn words(&self) -> String {
        let rate = match (self.asked_iops, self.asked_bytes_per_s) {
            (Some(asked), _) => format!("requested rate {asked:.0} requests/s, reached {:.1}", self.reached_iops),
            (None, Some(asked)) => {
                format!("requested rate {:.3} MB/s, reached {:.3}", asked / 1e6, self.reached_bytes_per_s / 1e6)
            }
            (None, None) => format!("{:.1} requests/s arrived at their own times", self.reached_iops),
        };
        let Backlog { mean, max } = self.backlog_ms;
        match max > 0.0 {
            true => format!("{rate}; backlog {} at most, {} on average", format_time(max), format_time(mean)),
            false => format!("{rate}; no backlog"),
        }
    }
}

/// A time in s or ms, whichever is easier to read.
fn format_time(ms: f64) -> String {
    if ms >= 1e3 { format!("{:.1} s", ms / 1e3) } else { format!("{ms:.3} ms") }
}

fn requested_totals(work: &Work, windows: &[Option<Window>]) -> RequestedTotals {
    let mut requested = RequestedTotals::default();
    for (worker, window) in work.workers().iter().zip(windows) {
        let seconds = window.map_or(0.0, |window| window.until.saturating_since(window.from).nanos() as f64 / 1e9);
        for rate in issue_rates(worker).flatten() {
            match rate {
                IssueRate::Requests(rate) => requested.requests += rate as f64 * seconds,
                IssueRate::Bytes(rate) => requested.bytes += rate as f64 * seconds,
            }
        }
    }
    requested
}

#[cfg(test)]
mod tests {
    use seekwise_disk::block::{Completion, Op, Request};
    use seekwise_disk::record::Record;
    use seekwise_disk::time::Instant;

    use super::*;
    use crate::inputs::Inputs;
    use crate::stats::summary::RunRecorder;

    /// The arrivals of a read that was issued so many milliseconds late, in a run of some seconds.
    fn issued_late(ms: u64, seconds: u64) -> Arrivals {
        let text = "[j]\nioengine=libaio\ndirect=1\nrw=randread\nbs=4k\nsize=1m\nrate_iops=10\n";
        let read = |_: &str| Ok(text.to_owned());
        let job = crate::jobs::load_job("j.fio", 1 << 20, &Inputs::from_today(&read), &[]).unwrap().job;
        let issued = Instant::ZERO + Span::from_millis(ms);
        let request = Request { op: Op::Read, sectors: 8, ..Request::NONE };
        let finished = issued + Span::from_millis(8);
        let completion = Completion { submitted: issued, finished, ..Completion::NONE };
        let mut recorder = RunRecorder::new(&[0]).with_due_workers(&[true]);
        recorder.count_record(&Record { request, issued, completion, ..Record::NONE });
        Arrivals::from_run(&job, &[None], &recorder.finish_after(Span::from_secs(seconds))).unwrap()
    }

    #[test]
    fn a_pace_is_kept_while_the_longest_backlog_is_a_hundredth_of_the_run() {
        for (ms, seconds, kept) in
            [(0, 1, true), (9, 1, true), (11, 1, false), (99, 10, true), (101, 10, false), (9_999, 1_000, true)]
        {
            let arrivals = issued_late(ms, seconds);
            let backlog = Backlog { mean: ms as f64, max: ms as f64 };
            assert_eq!((arrivals.kept, arrivals.backlog_ms), (kept, backlog), "{ms} ms of {seconds} s");
            let reached = [1.0, 4096.0].map(|sum| sum / seconds as f64);
            assert_eq!([arrivals.reached_iops, arrivals.reached_bytes_per_s], reached);
        }
    }
}
