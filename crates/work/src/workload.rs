//! Workloads: jobs, their workers, and the generators that turn them into requests.
//!
//! A [`Job`] is a list of [`Worker`]s. Each worker is a closed loop (or paced stream) of requests over its own files,
//! drawn by the algorithm of fio or of Iometer. [`Workload`] runs them all and is the [`seekwise_disk::block::Source`]
//! that an engine joins to a device. All byte positions are absolute on the device: the reader of a job file lays the
//! files out first. Other sources are a measured trace ([`replay`]), a recorded session ([`session_replay`]), and a
//! trace that is read while it is played ([`trace`]).
//!
//! Shares are whole per cent, exponents millionths: no floating point reaches the model.

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
