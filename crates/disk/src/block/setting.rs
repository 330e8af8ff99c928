//! Settings that can be changed while a device runs, by the layer that has them. A layer takes its own and passes the
//! others down. The words for them are parsed outside the model, by `seekwise-drives`.

use super::Queuing;
use crate::time::Span;

/// A setting of a layer, with its new value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LayerSetting {
    /// Every layer: landings are reported.
    Landings(bool),
    /// The drives: a write is acknowledged from the buffer.
    WriteBack(bool),
    /// The driver with this number; drivers are counted from the top, from 1.
    Driver {
        number: u32,
        setting: DriverSetting,
    },
    /// The accelerator with this number; accelerators are counted from the top, from 1.
    Accelerator {
        number: u32,
        drops_flushes: bool,
    },
    Array(ArraySetting),
    /// The power of one of the devices side by side: a drive dies, or a new one takes its place.
    Unit {
        unit: u32,
        on: bool,
    },
}

/// A setting of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DriverSetting {
    /// Commands below at once; at most as many as at the start.
    Depth(u32),
    Flush(FlushPolicy),
    WriteThrough(ForcedWritePolicy),
    PowerOff(PowerOffPolicy),
}

/// A change of an array's drives, by the member; or a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArraySetting {
    /// The member is lost.
    Lose(u32),
    /// A new drive takes the place of the lost member, and its rebuild begins.
    Replace(u32),
    /// A check of all members begins, or the one under way stops.
    Check(bool),
    /// The rebuild or check under way goes on from this sector of the members, as if all before it were done: to simulate a part of
    /// a long one. No promise can be judged afterwards, because what was skipped is not on the new drive.
    SkipSync(u64),
}

/// A driver's treatment of a flush.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FlushPolicy {
    /// Sends it down.
    #[default]
    Forward,
    /// Sends it to a device that reports a volatile write cache; otherwise as [`FlushPolicy::Drop`].
    Cached,
    /// Completes it at once, and ignores forced unit access: Windows' "power protected".
    Drop,
    /// As [`FlushPolicy::Drop`], and does not write back before a power-off either: Windows 98 and ME ignore write
    /// caches.
    Never,
}

/// A driver's treatment of a write with forced unit access, if flushes go down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ForcedWritePolicy {
    /// Sends it down with the flag.
    #[default]
    Fua,
    /// Sends it down without the flag, and a flush after it: for drives without forced unit access.
    Flush,
    /// As [`ForcedWritePolicy::Fua`] to SCSI devices that honour the flag, as [`ForcedWritePolicy::Flush`] to all others:
    /// Linux, whose `libata.fua` is 0 by default, and whose `sd` relies on the bit DPOFUA.
    FuaOnScsi,
    /// Sends it down without the flag.
    Ignore,
}

impl ForcedWritePolicy {
    /// True if a flush follows the write to a device with this kind of queue.
    pub(crate) fn needs_flush(self, queuing: Queuing, honours_fua: bool) -> bool {
        match self {
            ForcedWritePolicy::Flush => true,
            ForcedWritePolicy::FuaOnScsi => queuing != Queuing::Scsi || !honours_fua,
            ForcedWritePolicy::Fua | ForcedWritePolicy::Ignore => false,
        }
    }
}

/// A driver's reaction to an orderly power-off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PowerOffPolicy {
    /// Passes it on: the drive writes back its dirty data.
    #[default]
    Orderly,
    /// Cuts the supply at once.
    AtOnce,
    /// Cuts the supply after this time; accepts no requests meanwhile.
    Pause(Span),
}
