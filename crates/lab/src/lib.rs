//! The laboratory: results are pure functions of records.
//!
//! | room | what it is |
//! |---|---|
//! | [`stats`] | histograms, intervals, ratios, verdicts |
//! | [`plot`] | curves, comparisons and runs as pictures |
//! | [`page`] | the shell of pages without a script: a comparison's, a fit's, a rebuild's and others |
//! | [`audit`] | the verdict of a flush audit on a disk |
//! | [`built_in`] | the built-in jobs and scenes, as texts |
//! | [`workers`] | the threads on which runs are made |
//! | [`digest`] | digests that tell apart what made a result |
//! | [`inputs`] | the texts that a plan is read from, kept unchanged, and a cache of what was made of them |
//! | `rewriting` | profiles rewritten with their comments and order |
//! | [`catalogue`] | the built-in drives, checks of each, and the built-in studies |
//! | [`trace`] | a recorded trace as a job |
//! | [`jobs`] | jobs: files, configurations, scenes, sessions, traces, built-in patterns |
//! | [`job_settings`] | the work of a job, as settings |
//! | `job_loads` | the loads of a job, and which of them a fit has not seen |
//! | [`plan`] | a study's cells, and the target and work of each |
//! | `sampling_plan` | how a study is sampled until it is decided, as it is kept |
//! | [`cut`] | losses by power cuts, from one run |
//! | [`run`] | a run, and the record kept of it |
//! | [`validate`] | a measured trace against the simulated drive |
//! | [`bench`](mod@bench) | the fixed workloads of the speed figures |
//! | [`certificate`](mod@certificate) | the certificate of a trace's replay |
//! | [`rebuild`] | a rebuild or a scrub of an array, from its beginning to its end |
//! | [`provenance`] | the origin of a study's results, as kept beside them |
//! | [`evaluate`] | the value of an expression over a study's records |
//! | [`confound`] | concerns that a difference may be credited to, and refusals |
//! | [`outcome`] | the verdicts of comparisons, and the words for a difference by what is measured |
//! | [`finding`] | from records to answers: comparisons and claims |
//! | [`study`] | all runs of a study, in the plan's order |
//! | [`rounds`] | sampling until decided: how long runs are, and which come next |
//! | [`report`] | results as one page that a stranger can read |
//! | [`stretch`] | the beginning of a run again, for the moving picture |
//! | [`compose`] | from answers to the page's data; how the parts of a review relate |
//! | [`crash`] | the crash laboratory: findings of checks on the media after cuts of one recorded session |
//! | [`demand`] | the demand of a run on the machine, before it runs |
//! | [`everyday`] | everyday work on the modelled drives, compared with arithmetic from their figures |
//! | [`fit`] | a profile fitted to measurements of its drive |
//! | [`residual`] | measured figures of jobs against predicted ones, and the suspected part of the model |
//! | [`forest`] | the leading comparison of a study as a picture, a line for each cell |
//!
//! Five runs of each side, on the same seeds, and their verdict:
//!
//! ```
//! use seekwise_lab::stats::{BetterDirection, Criteria, PairedComparison, PairedRatios, Verdict, judge};
//!
//! let (before, after) = ([101.0, 99.5, 100.2, 100.9, 99.8], [120.3, 121.0, 119.6, 120.8, 119.9]);
//! let cell = PairedComparison { paired: PairedRatios::new(&before, &after)?, better: BetterDirection::Higher };
//! let judged = judge(&[cell], &Criteria::default())[0];
//! assert_eq!(judged.verdict, Verdict::Faster);
//! assert!(judged.ratio.low > 1.18 && judged.ratio.high < 1.22);
//! # Ok::<(), seekwise_lab::stats::PairError>(())
//! ```

pub mod audit;
pub mod bench;
pub mod built_in;
pub mod catalogue;
pub mod certificate;
pub mod compose;
pub mod confound;
pub mod crash;
pub mod cut;
pub mod demand;
pub mod digest;
pub mod evaluate;
pub mod everyday;
pub mod finding;
pub mod fit;
pub mod forest;
pub mod inputs;
mod job_loads;
pub mod job_settings;
pub mod jobs;
pub mod outcome;
pub mod page;
pub mod plan;
pub mod plot;
pub mod provenance;
pub mod rebuild;
pub mod report;
pub mod residual;
mod rewriting;
pub mod rounds;
pub mod run;
mod sampling_plan;
pub mod stats;
pub mod stretch;
pub mod study;
pub mod trace;
pub mod validate;
pub mod workers;

/// WebAssembly has one thread, that of the caller.
const HAS_THREADS: bool = !cfg!(target_family = "wasm");

/// In a browser nothing is drawn from the system: every draw here has a seed.
#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
fn unseeded(_: &mut [u8]) -> Result<(), getrandom::Error> {
    Err(getrandom::Error::UNSUPPORTED)
}
#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
getrandom::register_custom_getrandom!(unseeded);
