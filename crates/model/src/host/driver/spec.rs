//! What a driver is told to do: its limits, its policies, and which of them can be changed while it runs.

use alloc::vec::Vec;

use super::deadline::DeadlineSpec;
use super::fair::FairSpec;
use crate::block::ControlError;
use crate::block::assurance::{Assurance, Lapse};
use crate::queue::{Discipline, Policy};
use crate::time::Span;

/// What a driver does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverSpec {
    /// Requests it takes from above at once.
    pub capacity: u32,
    /// Commands it has outstanding below at once; the device's own depth is a limit too.
    pub depth: u32,
    /// Which waiting command goes down next.
    pub scheduler: SchedulerSpec,
    /// Larger requests are split into commands of at most this many sectors; merging stops there as well.
    pub max_transfer: u32,
    /// Reads, and writes, that are neighbours on the device and wait become one command.
    pub merge: bool,
    /// Reads too, where neighbours are merged at all.
    pub merge_reads: bool,
    /// Holds the first requests back for company.
    pub plug: Option<Plug>,
    /// What becomes of a flush.
    pub flush: FlushPolicy,
    /// What becomes of a write with forced unit access.
    pub write_through: WriteThrough,
    /// What becomes of an orderly power-off.
    pub power_off: PowerOff,
    /// A command that takes longer is aborted and sent again.
    pub timeout: Option<Span>,
    /// So many times; then its request fails.
    pub retries: u32,
}

/// Who is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulerSpec {
    /// One queue for all; positions are LBAs.
    Order(Discipline),
    /// As Linux's mq-deadline.
    Deadline(DeadlineSpec),
    /// In the manner of Linux's BFQ.
    Fair(FairSpec),
}

/// With nothing waiting and nothing below, a driver holds requests until there are enough of them or the first has waited
/// long enough. Linux up to 2.6.38 did: 4 requests, 3 ms (`blk_queue_make_request`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plug {
    /// Commands that are enough.
    pub commands: u32,
    /// Longest wait.
    pub wait: Span,
}

/// What becomes of a flush.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlushPolicy {
    /// It goes down.
    #[default]
    Forward,
    /// It goes down to a device that says that its write cache is volatile; else as [`FlushPolicy::Drop`].
    Cached,
    /// It completes at once, and forced unit access is forgotten: Windows' "power protected".
    Drop,
    /// The same, and nothing is written back before a power-off either: Windows 98 and ME know of no write cache.
    Never,
}

/// What becomes of a write with forced unit access, where flushes go down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteThrough {
    /// It goes down with its mark.
    #[default]
    Fua,
    /// It goes down without, and a flush behind it: for drives without the mark.
    Flush,
    /// It goes down without.
    Ignore,
}

/// What becomes of an orderly power-off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PowerOff {
    /// It goes down: the drive writes back what it holds.
    #[default]
    Orderly,
    /// The supply is cut at once.
    AtOnce,
    /// The supply is cut after so long; nothing new is taken meanwhile.
    Pause(Span),
}

impl DriverSpec {
    /// One queue, no merging, nothing withheld from the drive, no time-outs.
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
            write_through: WriteThrough::Fua,
            power_off: PowerOff::Orderly,
            timeout: None,
            retries: 0,
        }
    }

    /// What it breaks by its settings, above a device that a cut costs data.
    pub fn lapses(&self) -> Vec<Lapse> {
        let through = [Assurance::Flush, Assurance::Fua];
        let mut lapses = match (self.flush, self.write_through) {
            (FlushPolicy::Drop, _) => Lapse::each("flush", "drop", &through),
            (FlushPolicy::Never, _) => Lapse::each("flush", "never", &through),
            (_, WriteThrough::Ignore) => Lapse::each("write_through", "ignore", &[Assurance::Fua]),
            (_, WriteThrough::Fua | WriteThrough::Flush) => Vec::new(),
        };
        let off = match (self.power_off, self.flush) {
            (PowerOff::AtOnce, _) => Some(("power_off", "at-once")),
            (PowerOff::Pause(_), _) => Some(("power_off", "pause")),
            (PowerOff::Orderly, FlushPolicy::Never) => Some(("flush", "never")),
            (PowerOff::Orderly, _) => None,
        };
        lapses.extend(off.into_iter().flat_map(|(key, value)| Lapse::each(key, value, &[Assurance::PowerOff])));
        lapses
    }

    /// What an orderly power-off comes to: without any flush before it, it is a cut.
    pub(super) fn at_power_off(&self) -> PowerOff {
        match (self.flush, self.power_off) {
            (FlushPolicy::Never, PowerOff::Orderly) => PowerOff::AtOnce,
            (_, power_off) => power_off,
        }
    }

    /// Changes what can be changed while the driver runs, but for the depth: `flush`, `write_through`, `power_off`.
    pub(crate) fn set(&mut self, key: &str, value: &str) -> Result<(), ControlError> {
        match key {
            "flush" => self.flush = FlushPolicy::named(value).ok_or(ControlError::BadValue)?,
            "write_through" => self.write_through = WriteThrough::named(value).ok_or(ControlError::BadValue)?,
            "power_off" => {
                self.power_off = match value {
                    "orderly" => PowerOff::Orderly,
                    "at-once" => PowerOff::AtOnce,
                    _ => return Err(ControlError::BadValue),
                }
            }
            _ => return Err(ControlError::UnknownKey),
        }
        Ok(())
    }
}

impl Default for DriverSpec {
    fn default() -> DriverSpec {
        DriverSpec::plain(1, 1, Discipline::plain(Policy::Fcfs), u32::MAX)
    }
}

impl FlushPolicy {
    /// As a stack file names it.
    pub fn named(word: &str) -> Option<FlushPolicy> {
        match word {
            "forward" => Some(FlushPolicy::Forward),
            "cached" => Some(FlushPolicy::Cached),
            "drop" => Some(FlushPolicy::Drop),
            "never" => Some(FlushPolicy::Never),
            _ => None,
        }
    }
}

impl WriteThrough {
    /// As a stack file names it.
    pub fn named(word: &str) -> Option<WriteThrough> {
        match word {
            "fua" => Some(WriteThrough::Fua),
            "flush" => Some(WriteThrough::Flush),
            "ignore" => Some(WriteThrough::Ignore),
            _ => None,
        }
    }
}
