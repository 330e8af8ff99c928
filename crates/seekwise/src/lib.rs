//! Seekwise, a laboratory for hard-disk stacks, as a library.
//!
//! The work of the program `seekwise` as typed values, without a terminal: runs, comparisons, studies, fits,
//! validations, power cuts, served disks, crash tests. Progress goes to an [`Observer`], which can also cancel the
//! work. A failure is an [`Error`], made of diagnostics. Results are values that serde can write, and equal settings
//! give equal bytes. Notes and warnings go through the `log` crate.
//!
//! Types of the crates below are exported here too, by the module whose calls take or return them.
//!
//! ```
//! use seekwise::{Setup, run};
//!
//! let setup = Setup::new("random-read", "barracuda-7200.7-ncq").with("job.depth", 4).with_runtime("5 s");
//! let result = run::run(&setup, &())?;
//! println!("{:.0} requests/s", result.record.all.iops);
//! # Ok::<(), seekwise::Error>(())
//! ```
//!
//! | room | what it is |
//! |---|---|
//! | `system` | the operating system: `seekwise_os`; in WebAssembly its names, and each call an error |
//! | [`time`] | instants, spans and durations |
//! | [`error`](mod@error) | errors, made of diagnostics |
//! | [`bounds`] | memory that a plan may take; how long it takes |
//! | [`observer`] | progress and cancelling |
//! | [`reading`] | the files that a call reads ([`Files`]): texts and traces, also of pipes and of memory |
//! | [`foreign`] | texts of a folder that may come from somebody else |
//! | [`lock`] | one writer of a folder or a journal |
//! | `seal` | lines that end in their own sum, of results and journals |
//! | [`shell`] | words of a command |
//! | `places` (not in WebAssembly) | places in real time, where jobs run besides modelled disks |
//! | [`keys`] | keys of stacks, jobs, drives and studies, and their meanings |
//! | [`drives`] | the built-in drives, profiles of others, and their figures |
//! | [`jobs`] | the built-in patterns, jobs and scenes |
//! | [`pictures`] | answers as pictures |
//! | [`setup`] | a job on a target with settings |
//! | [`device`] | the modelled disk as a device, for simulators |
//! | [`answer`] | answers as the program prints them |
//! | [`store`] | the places of records: memory, a folder, or one of the caller's |
//! | [`results`] | result folders |
//! | [`study_plan`] | a study with its plan, and results opened for it |
//! | [`execute`] | the loop in which the runs of a plan are made |
//! | [`band`] | predictions on a fitted drive: the range over the draws of its fit |
//! | [`study`] | runs a study, and makes its page |
//! | `sweep` (feature `parquet`) | a study in parts, which any machine runs |
//! | [`prediction`] | a prediction against a measurement |
//! | [`values`] | values of a setting, as a list or ranges |
//! | [`compare`](mod@compare) | a job on two or more values of one setting |
//! | [`dry_run`](mod@dry_run) | how long a comparison will take |
//! | [`fio_output`] | a run as fio's JSON |
//! | [`journal`] | questions that a fit or an explanation has tried |
//! | [`fit`](mod@fit) | a profile from what was measured |
//! | [`measured`] | measured results of jobs against modelled drives |
//! | `iolog` | the logs that fio jobs ask for, in fio's own form |
//! | `request_log` (feature `parquet`) | every request as Parquet |
//! | `logging` | the log of a run, where this build can write one |
//! | [`power_cut`] | losses by power cuts |
//! | [`rebuild`] | rebuilds and scrubs of arrays, from end to end |
//! | [`run`] | one run |
//! | [`export`] | latencies as constants of other simulators |
//! | [`validate`](mod@validate) | a measured trace against a modelled drive |
//! | `bench` (not in WebAssembly) | the workloads of the speed figures |
//! | `serve` (not in WebAssembly) | modelled disks in real time, and orders to them |
//! | `exec` (Linux) | a command on the file system of a modelled disk |
//! | `crash` (not in WebAssembly) | real software on a modelled disk, and what power cuts leave of its work |
//! | `flush_audit` (not in WebAssembly) | whether flushes wait for the medium, by timing alone |
//! | `leftovers` (Linux) | what killed runs left in the system, and its removal |

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "a test makes what it looks at"))]

pub mod answer;
pub mod band;
#[cfg(not(target_family = "wasm"))]
pub mod bench;
pub mod bounds;
pub mod compare;
#[cfg(not(target_family = "wasm"))]
pub mod crash;
pub mod device;
pub mod drives;
pub mod dry_run;
pub mod error;
#[cfg(target_os = "linux")]
pub mod exec;
pub mod execute;
pub mod export;
pub mod fio_output;
pub mod fit;
#[cfg(not(target_family = "wasm"))]
pub mod flush_audit;
pub mod foreign;
mod iolog;
pub mod jobs;
pub mod journal;
pub mod keys;
#[cfg(target_os = "linux")]
pub mod leftovers;
pub mod lock;
mod logging;
pub mod measured;
pub mod observer;
pub mod pictures;
#[cfg(not(target_family = "wasm"))]
pub mod places;
pub mod power_cut;
pub mod prediction;
pub mod reading;
pub mod rebuild;
#[cfg(feature = "parquet")]
pub mod request_log;
pub mod results;
pub mod run;
mod seal;
#[cfg(not(target_family = "wasm"))]
pub mod serve;
pub mod setup;
pub mod shell;
pub mod store;
pub mod study;
pub mod study_plan;
#[cfg(feature = "parquet")]
pub mod sweep;
#[cfg(target_family = "wasm")]
mod system;
pub mod time;
pub mod validate;
pub mod values;

pub use self::bounds::Bounds;
pub use self::error::Error;
pub use self::observer::Observer;
pub use self::reading::Files;
pub use self::setup::Setup;
/// Files and folders that are written; work that a program leaves half done if it ends at once.
pub use self::system::{outputs, unfinished};

#[cfg(not(target_family = "wasm"))]
use seekwise_os as system;
