//! How far a run used its stack's settings: a window matters only if more commands wait at once, a limit only if it is
//! reached. Two stacks run alike, to the nanosecond, if they differ only in settings that a run on one of them did not
//! use ([`Stack::runs_alike`]): the second run need not be made. The settings of this table are tracked, all others
//! count as used.
//!
//! | setting | used when |
//! |---|---|
//! | the order of a drive's commands, of its dirty segments, of a driver's commands | two wait at once |
//! | the window of such an order, its *nearest* | more than that number wait at once |
//! | a driver's depth | as many commands are below the driver |
//! | a driver's time-out | a command takes as long |
//! | a driver's retries | a command comes back aborted |
//!
//! The component that has a setting counts its use. `tests/swarm.rs` takes random stacks, changes unused settings, and
//! compares the records.
//!
//! [`Stack::runs_alike`]: crate::stack::Stack::runs_alike

use crate::time::Span;

/// The use of settings: for each figure the largest over all layers of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingUse {
    /// Commands that waited at once in a drive.
    pub commands: u32,
    /// Dirty segments that waited at once in a drive.
    pub dirty: u32,
    /// Commands that waited at once in a driver.
    pub waiting: u32,
    /// Commands that a driver had below at once.
    pub below: u32,
    /// The longest time that a driver's command took.
    pub longest: Span,
    /// A driver decided whether to send a command again.
    pub again: bool,
}

impl SettingUse {
    /// No setting was used.
    pub const NOTHING: SettingUse =
        SettingUse { commands: 0, dirty: 0, waiting: 0, below: 0, longest: Span::ZERO, again: false };

    /// Every setting was used: no other stack runs alike.
    pub const ALL: SettingUse = SettingUse {
        commands: u32::MAX,
        dirty: u32::MAX,
        waiting: u32::MAX,
        below: u32::MAX,
        longest: Span::from_nanos(u64::MAX),
        again: true,
    };

    /// Returns the larger of each figure.
    #[must_use]
    pub fn merged_with(self, other: SettingUse) -> SettingUse {
        SettingUse {
            commands: self.commands.max(other.commands),
            dirty: self.dirty.max(other.dirty),
            waiting: self.waiting.max(other.waiting),
            below: self.below.max(other.below),
            longest: self.longest.max(other.longest),
            again: self.again || other.again,
        }
    }
}
