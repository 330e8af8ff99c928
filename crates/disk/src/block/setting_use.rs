//! The use that a run made of its stack's settings: a window matters only if more commands wait, a limit only if it is
//! reached. Two stacks that differ only in settings that a run on one of them did not use run alike, to the nanosecond
//! ([`Stack::runs_alike`]). A few settings are tracked here, all others count as used.
//!
//! | setting | used when |
//! |---|---|
//! | the order of a drive's commands, of its dirty segments, of a driver's commands | two wait at once |
//! | the window of such an order, its *nearest* | more than so many wait at once |
//! | a driver's depth | so many commands are below |
//! | its time-out | a command takes so long |
//! | its retries | a command comes back aborted |
//!
//! The component that has a setting counts its use. `tests/swarm.rs` takes random stacks, changes unused settings, and
//! compares the records.
//!
//! [`Stack::runs_alike`]: crate::stack::Stack::runs_alike

use crate::time::Span;

/// The use of settings, the largest over all layers of a kind.
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
    /// The longest that a driver's command took.
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
