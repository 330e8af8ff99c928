//! Candidates for the medium, commands and dirty segments alike: their first track, and what it costs to get there.

use super::geometry::Extent;
use super::mechanics::Reach;
use crate::queue::Costs;
use crate::time::Span;

/// A candidate for the medium: its first track, for choosing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) slot: u16,
    head: u8,
    pub(super) write: bool,
    pub(super) cylinder: u32,
    angle: u64,
    /// The longest that it can wait for the platter.
    longest: Span,
}

impl Target {
    /// What begins on `track`.
    pub(super) fn on(track: &Extent, slot: u16, write: bool, longest: Span) -> Target {
        let (head, cylinder, angle) = (track.head, track.cylinder, track.angle);
        Target { slot, head, write, cylinder, angle, longest }
    }
}

/// It has few branches: which of many targets are near is what a processor cannot foresee.
impl Costs<Target> for Reach<'_> {
    #[inline(always)]
    fn of(&self, target: &Target) -> u64 {
        let moved = self.movement(target.cylinder, target.head, target.write);
        (moved + self.wait(moved, target.angle).min(target.longest)).nanos()
    }

    #[inline(always)]
    fn least(&self, distance: u64) -> u64 {
        self.floor(distance).nanos()
    }
}
