//! The laboratory: results are pure functions of records.
//!
//! | room | what it is |
//! |---|---|
//! | [`stats`] | histograms, intervals, ratios, verdicts |
//! | [`plot`] | curves, in a terminal and as SVG |
//! | [`audit`] | the verdict of a flush audit on a disk |
//! | [`built_in`] | the built-in jobs and scenes, as texts |
//! | [`digest`] | digests that tell apart what made a result |
//! | [`inputs`] | the texts that a plan is read from, kept unchanged |
//! | `rewriting` | profiles rewritten with their comments and order |
//! | [`catalogue`] | the built-in drives, what can be checked of each, and the built-in studies |
//! | [`trace`] | a recorded trace as a job |
//! | [`jobs`] | what can be run: job files, configurations, built-in patterns |
//! | [`job_settings`] | what a job does, as settings |
//! | [`plan`] | a study's cells, and what each one runs |
//! | [`sampling_plan`] | how a study is sampled until it is decided, as it is kept |
//! | [`cut`] | what power cuts would lose, from one run |
//! | [`run`] | a run, and the record kept of it |
//! | [`validate`] | a measured trace against the simulated drive |
//! | [`bench`](mod@bench) | the fixed workloads of the speed figures |
//! | [`certificate`](mod@certificate) | the certificate of a trace's replay |
//! | [`provenance`] | what made a study's results, as kept beside them |
//! | [`evaluate`] | the value of an expression over a study's records |
//! | [`confound`] | what a difference may be credited to, and what is refused |
//! | [`outcome`] | the verdicts of comparisons, and the words for a difference by what is measured |
//! | [`finding`] | from records to answers: comparisons and claims |
//! | [`study`] | all runs of a study, on all cores, in the plan's order |
//! | [`rounds`] | sampling until decided: how long runs are, and which come next |
//! | [`report`] | results as one page that a stranger can read |
//! | [`stretch`] | the beginning of a run again, for the moving picture |
//! | [`compose`] | from answers to the page's data, and what the parts of a review say of each other |
//! | [`crash`] | the crash laboratory: what checks find on the media after cuts of one recorded session |
//! | [`demand`] | what a run will ask of the machine, before it runs |
//! | [`everyday`] | everyday work on the modelled drives, compared with arithmetic from their figures |
//! | [`fit`] | a profile fitted to measurements of its drive |
//! | [`forest`] | the leading comparison of a study as a picture, a line for each cell |

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
pub mod job_settings;
pub mod jobs;
pub mod outcome;
pub mod plan;
pub mod plot;
pub mod provenance;
pub mod report;
mod rewriting;
pub mod rounds;
pub mod run;
pub mod sampling_plan;
pub mod stats;
pub mod stretch;
pub mod study;
pub mod trace;
pub mod validate;

/// In a browser nothing is drawn from the system: every draw here has a seed.
#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
fn unseeded(_: &mut [u8]) -> Result<(), getrandom::Error> {
    Err(getrandom::Error::UNSUPPORTED)
}
#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
getrandom::register_custom_getrandom!(unseeded);
