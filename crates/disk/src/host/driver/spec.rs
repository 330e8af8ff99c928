//! The settings of a driver: its limits, its policies, and which of them may change during a run.

use alloc::vec::Vec;

use super::deadline::DeadlineSpec;
use super::fair::FairSpec;
use crate::block::assurance::{Assurance, BrokenPromise};
use crate::block::setting::{DriverSetting, FlushPolicy, ForcedWritePolicy, PowerOffPolicy};
use crate::queue::{Discipline, Policy};
use crate::time::Span;

/// The settings of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DriverSpec {
    /// How many requests it accepts from above at once.
    pub capacity: u32,
    /// How many commands it has outstanding below at once. The device's own depth is a limit too.
    pub depth: u32,
    /// The order of waiting commands.
    pub scheduler: SchedulerSpec,
    /// In sectors. Larger requests are split, and merged commands stay within it.
    pub max_transfer: u32,
    /// Waiting reads, or writes, that are neighbours on the device become one command.
    pub merge: bool,
    /// Merges reads too, if it merges at all.
    pub merge_reads: bool,
    /// Holds the first requests back for others to join.
    pub plug: Option<Plug>,
    /// The treatment of a flush.
    pub flush: FlushPolicy,
    /// The treatment of a write with forced unit access.
    pub write_through: ForcedWritePolicy,
    /// Flushes share commands, as in Linux: while one is below, others gather for the next. Without it each flush has a
    /// command of its own.
    pub share_flushes: bool,
    /// The reaction to an orderly power-off.
    pub power_off: PowerOffPolicy,
    /// A command that takes longer is aborted and sent again.
    pub timeout: Option<Span>,
    /// How often a command is sent again before its request fails.
    pub retries: u32,
}

/// The scheduler of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SchedulerSpec {
    /// A single queue for all commands; positions are LBAs.
    Order(Discipline),
    /// As Linux's mq-deadline.
    Deadline(DeadlineSpec),
    /// In the manner of Linux's BFQ.
    Fair(FairSpec),
}

/// Plugging: while nothing waits and nothing is below, a driver holds requests until there are enough of them or the
/// first has waited long enough. Linux did so up to 2.6.38: 4 requests, 3 ms (`blk_queue_make_request`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Plug {
    /// How many commands unplug the queue.
    pub commands: u32,
    /// The longest wait.
    pub wait: Span,
}

impl DriverSpec {
    /// A driver with a single queue, without merging, plugging or time-outs.
    pub const fn plain(capacity: u32, depth: u32, queue: Discipline, max_transfer: u32) -> DriverSpec {
        DriverSpec {
            capacity,
            depth,
            scheduler: SchedulerSpec::Order(queue),
            max_transfer,
            merge: false,
            merge_reads: true,
            plug: None,
            flush: FlushPolicy::Forward,
            write_through: ForcedWritePolicy::Fua,
            share_flushes: false,
            power_off: PowerOffPolicy::Orderly,
            timeout: None,
            retries: 0,
        }
    }

    /// The promises that its settings break, above a device that loses data at a cut.
    pub(crate) fn broken_promises(&self) -> Vec<BrokenPromise> {
        let flush_and_fua = [Assurance::Flush, Assurance::Fua];
        let mut broken = match (self.flush, self.write_through) {
            (FlushPolicy::Drop, _) => BrokenPromise::for_setting("flush", "drop", &flush_and_fua),
            (FlushPolicy::Never, _) => BrokenPromise::for_setting("flush", "never", &flush_and_fua),
            (_, ForcedWritePolicy::Ignore) => BrokenPromise::for_setting("write_through", "ignore", &[Assurance::Fua]),
            (_, ForcedWritePolicy::Fua | ForcedWritePolicy::Flush | ForcedWritePolicy::FuaOnScsi) => Vec::new(),
        };
        let power_off_breaker = match (self.power_off, self.flush) {
            (PowerOffPolicy::AtOnce, _) => Some(("power_off", "at-once")),
            (PowerOffPolicy::Pause(_), _) => Some(("power_off", "pause")),
            (PowerOffPolicy::Orderly, FlushPolicy::Never) => Some(("flush", "never")),
            (PowerOffPolicy::Orderly, _) => None,
        };
        broken.extend(
            power_off_breaker
                .into_iter()
                .flat_map(|(key, value)| BrokenPromise::for_setting(key, value, &[Assurance::PowerOff])),
        );
        broken
    }

    /// The effect of an orderly power-off: without a flush before it, a cut.
    pub(super) fn effective_power_off(&self) -> PowerOffPolicy {
        match (self.flush, self.power_off) {
            (FlushPolicy::Never, PowerOffPolicy::Orderly) => PowerOffPolicy::AtOnce,
            (_, power_off) => power_off,
        }
    }

    /// Changes a setting during a run. The depth stays that of the start: the driver itself has the present one.
    pub(crate) fn change_setting_except_depth(&mut self, setting: DriverSetting) {
        match setting {
            DriverSetting::Depth(_) => {}
            DriverSetting::Flush(policy) => self.flush = policy,
            DriverSetting::WriteThrough(policy) => self.write_through = policy,
            DriverSetting::PowerOff(policy) => self.power_off = policy,
        }
    }
}

impl Default for DriverSpec {
    fn default() -> DriverSpec {
        DriverSpec::plain(1, 1, Discipline::plain(Policy::Fcfs), u32::MAX)
    }
}
