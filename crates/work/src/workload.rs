//! Workloads: jobs, their workers, and the generators that turn them into requests.
//!
//! A [`Job`] is a list of [`Worker`]s. Each worker is a closed loop, or a paced stream, of requests over its own files,
//! drawn by the algorithm of fio or of Iometer. [`Workload`] runs all workers and is the
//! [`seekwise_disk::block::Source`] that an engine joins to a device. All byte positions are absolute on the device:
//! the reader of a job file lays the files out first. Shares are whole per cent, exponents millionths: no floating
//! point reaches the model.
//!
//! | part | what it is |
//! |---|---|
//! | `job`, `check` | jobs as values, and their faults |
//! | `source`, `worker`, `listener` | a running job, a running worker, a listener for its requests |
//! | `fio`, `address`, `size`, `zoned` | fio's generator: the next request, its place, its size, fio's own zones |
//! | `iometer` | Iometer's generator |
//! | `arrival`, `flow` | when a worker may issue: rates, think time, shares of a flow |
//! | `reaping`, `verify` | when fio sees completions, and the writes that it reads back |
//! | `tausworthe`, `map`, `fixed_point` | fio's random numbers, blocks in an order without repetition, logarithms in integers |
//! | [`replay`], [`session_replay`], [`trace`] | a trace in memory, a recorded session, a trace read while it is played |

mod address;
mod arrival;
mod check;
mod fio;
mod fixed_point;
mod flow;
mod iometer;
mod job;
mod listener;
mod map;
mod reaping;
pub mod replay;
pub mod session_replay;
mod size;
mod source;
mod tausworthe;
pub mod trace;
mod verify;
mod worker;
mod zoned;

pub use self::check::{WorkloadError, WorkloadFault};
pub use self::job::{
    AccessLine, AccessSpec, ArrivalProcess, BlockSizes, CountingRule, Direction, Distribution, EngineKind, FileService,
    FioPattern, Flow, Generator, IoEngine, IometerPattern, IssueRate, Job, Pace, Pattern, RandomRepeat, Region,
    RwModifier, StridedZones, Syncs, ThinkTime, VerifyBacklog, Window, Worker, Zoned,
};
pub use self::listener::IssueListener;
pub use self::source::Workload;
pub use self::tausworthe::DEFAULT_SEED;
