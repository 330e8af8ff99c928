//! The certificate of a trace's run, as a record keeps it: how the trace was read, and how exactly it was played.

use seekwise_disk::time::Span;
use seekwise_run::receipt::lateness::Lateness;
use serde::{Deserialize, Serialize};

/// The certificate of a run. Field names are those of `trace` in `seekwise run --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Certificate {
    /// The format's word.
    pub format: String,
    /// Requests in the trace.
    pub requests: u64,
    /// Requests that were issued.
    pub issued: u64,
    /// Reads among reads and writes, in per cent.
    pub reads_percent: f64,
    pub flushes: u64,
    pub trims: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// The median of sizes, in bytes; beyond 4 MiB up to twice as large.
    pub size_median: u64,
    /// The largest size, in bytes.
    pub size_largest: u64,
    /// From the first request to the last as recorded, in seconds.
    pub span_s: f64,
    /// Requests a second as recorded; `None` if all have one instant.
    pub recorded_per_s: Option<f64>,
    /// `open`, `closed`, `dependent` or `replay`.
    #[serde(rename = "loop")]
    pub mode: String,
    /// How much faster than recorded; `None` if recorded instants do not matter, as in a closed loop.
    pub speed: Option<f64>,
    /// The span that was played, in recorded seconds.
    pub recorded_s: f64,
    /// The span that was played, in the run's seconds.
    pub played_s: f64,
    /// How far from their instants requests were issued: in an open loop how late, compared with when the device had
    /// room; in a replay how late, compared with when they were due; otherwise from their recorded instants.
    pub issue_error_ms: TimingErrors,
    /// Requests that were due while the device had no room.
    pub held: u64,
    /// Requests that were out of order, and were sorted.
    pub reordered: u64,
    /// Requests with a response time.
    pub responses: u64,
    /// Requests that were extended to whole sectors.
    pub rounded: u64,
    /// Devices of the trace.
    pub devices: u64,
    /// Bytes of all devices together, one after another.
    pub extent: u64,
    /// Requests of devices that were left out.
    pub elsewhere: u64,
    /// Lines or records that are no requests.
    pub passed_over: u64,
    /// How requests beyond the target were mapped.
    pub map: String,
    /// Requests that went elsewhere than they were recorded.
    pub moved: u64,
    /// Moved requests that were shifted further, so that they end before the target does.
    pub clipped: u64,
    /// How units were interpreted, and what was derived, in words.
    pub taken: Vec<String>,
}

/// Distances in time, in milliseconds; p50 and p99 are at most 3.2 % too large.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimingErrors {
    /// The median.
    pub p50: f64,
    /// All but one in a hundred are no larger.
    pub p99: f64,
    pub max: f64,
}

impl TimingErrors {
    pub(crate) fn from_lateness(lateness: &Lateness) -> TimingErrors {
        let ms = |span: Option<Span>| span.map_or(0.0, |span| span.nanos() as f64 / 1e6);
        let quantile_ms = |share| ms(lateness.quantile(share));
        TimingErrors { p50: quantile_ms(0.5), p99: quantile_ms(0.99), max: ms(Some(lateness.latest())) }
    }
}
