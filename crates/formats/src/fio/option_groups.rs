//! Values of options that belong together: zones, batches, verifying, flows, groups of jobs, logs. `settings` sets them.

use super::number::Amount;

/// `zonesize`, `zonerange` and `zoneskip`, in bytes or zones.
#[derive(Clone, Copy, Debug)]
pub(super) struct ZoneOptions {
    pub(super) size: u64,
    pub(super) range: u64,
    pub(super) skip: Amount,
}

/// Numbers of requests that are issued or reaped together, and the depth down to which they are (`iodepth_low`).
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchOptions {
    pub(super) submit: u32,
    pub(super) complete_min: u32,
    pub(super) complete_max: u32,
    pub(super) low: u32,
}

/// `verify`, and whether what was written is read back (`do_verify`): at the end, or after `backlog` writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct VerifyOptions {
    pub(super) on: bool,
    pub(super) reads_back: bool,
    pub(super) backlog: u64,
    pub(super) backlog_batch: u64,
}

/// The share of a job in the requests of its flow; a weight of 0 is in none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlowOptions {
    pub(super) weight: u32,
    pub(super) id: u32,
    pub(super) sleep_us: u32,
}

/// Options that begin stages and groups of jobs, or report a group as one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Grouping {
    pub(super) stonewall: bool,
    pub(super) new_group: bool,
    pub(super) group_reporting: bool,
}

/// The logs of a job.
#[derive(Clone, Debug, Default)]
pub(super) struct Logs {
    /// The log that it plays (`read_iolog`).
    pub(super) read: Option<String>,
    pub(super) replay: IologOptions,
    /// The log of its requests (`write_iolog`).
    pub(super) write: Option<String>,
}

/// The way in which a log is played.
#[derive(Clone, Debug)]
pub(super) struct IologOptions {
    pub(super) no_stall: bool,
    pub(super) redirect: Option<String>,
    /// `replay_time_scale`, in percent.
    pub(super) time_scale: u32,
    /// `replay_scale` and `replay_align`; 0: as recorded.
    pub(super) scale: u64,
    pub(super) align: u64,
}

impl Default for IologOptions {
    fn default() -> IologOptions {
        IologOptions { no_stall: false, redirect: None, time_scale: 100, scale: 0, align: 0 }
    }
}
