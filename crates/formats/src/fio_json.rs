//! fio's JSON output: the figures of a run in fio's terms, written for tools that read fio's output, and read
//! from fio 2.x and 3.x.
//!
//! The schema is that of fio 3.x's `stat.c`, in the keys that other programs read. In [`FioOutput`] latencies are nanoseconds and
//! bandwidths bytes a second; where fio counts KiB, the writer divides. The caller that ran the job fills the value.

mod output;
mod read;
mod write;

pub use output::{
    DirectionResult, DiskUtil, FioOutput, JobResult, LATENCY_EDGES, LatencyBuckets, LatencySummary, PERCENTILE_LIST,
    PERCENTILES, SampleSummary, VERSION,
};
pub use read::read;
pub use write::write;
