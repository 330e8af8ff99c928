//! Statistics: what the laboratory counts, and how it compares.
//!
//! | file | what it is |
//! |---|---|
//! | [`histogram`] | response times in buckets of bounded error, with exact moments |
//! | `packed_buckets` | a histogram's buckets as records hold them |
//! | [`summary`] | records counted: one run, by kind of request and by group of workers |
//! | [`commits`] | commits among a run's records: the writes and the sync that makes them durable |
//! | [`interval`] | means and paired ratios over independent runs, with Student's t; Holm's correction |
//! | [`response`] | the figures of a distribution, as records and pages hold them |
//! | [`verdict`] | faster, slower, no difference, not enough data |
//! | [`sequential`] | verdicts while runs are still being added |
//! | [`demerit`] | the distance of two distributions of response times |
//! | [`quality`] | reasons to doubt a figure |
//! | `draws` | how often tests draw, and what chance then allows |
//!
//! All are values and pure functions: equal records give equal figures. The unit of comparison is the run, never the request: requests
//! within a run depend on each other. Samples are never dropped. `docs/statistics.md` has the meaning of each number, with formulas and
//! sources.

pub mod commits;
pub mod demerit;
#[cfg(test)]
pub(crate) mod draws;
pub mod histogram;
pub mod interval;
pub(crate) mod packed_buckets;
pub mod quality;
pub mod response;
pub mod sequential;
pub mod summary;
pub mod verdict;

pub use histogram::{Histogram, Percentile};
pub use interval::{Interval, PairError, PairedRatios, adjust_holm, deviation, mean_interval, t_quantile};
pub use quality::{Ceiling, Flag};
pub use sequential::{SequentialJudgement, SequentialTest, judge_sequentially};
pub use summary::{RequestKind, RequestTally, RunRecorder, RunTally, TallySummary};
pub use verdict::{BetterDirection, Criteria, Judgement, PairedComparison, Verdict, judge, verdict_meanings};
