//! Flush audits: whether the flushes of a disk wait for its medium, judged by timing alone. Each step of an audit (open
//! the disk, time it, judge the times) has its names here; nothing is printed.

/// The requests of an audit, and when each was answered.
pub use seekwise_run::audit::{
    AuditInterval, AuditSubject, AuditTimings, FlushUnderReads, Overwrite, Round, TwoOverwrites, measure_timings,
};

/// The judgement, and the evidence that it rests on.
pub use seekwise_lab::audit::{
    AuditJudgement, AuditMedians, AuditVerdict, Certainty, Lattice, Signs, flush_gap_percentiles, flush_gap_picture,
    judge_timings,
};

/// A modelled stack under audit, in virtual time.
pub use seekwise_run::audit::subject::ModelledStack;

/// The disk of a place in real time under audit.
#[cfg(unix)]
pub use seekwise_os::audit::open_export;

/// A file or a device under audit, whether it may be written, and settings of its device for as long as that lasts.
#[cfg(target_os = "linux")]
pub use seekwise_os::audit::file::DirectFile;
#[cfg(target_os = "linux")]
pub use seekwise_os::real::probe::may_write;
#[cfg(target_os = "linux")]
pub use seekwise_os::real::settings::{DeviceSettings, KEYS as DEVICE_KEYS, SettingsGuard};

/// The test bench before and after.
#[cfg(target_os = "linux")]
pub use seekwise_os::real::bench::read_bench;
pub use seekwise_run::testbed::{TestBench, changes_between};
