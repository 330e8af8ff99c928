//! Candidates for the medium, commands and dirty segments alike: their first track, and the cost of reaching it.

use super::geometry::Extent;
use super::mechanics::{PositioningCosts, ReadPositioningCosts};
use crate::queue::Costs;
use crate::time::{Instant, Span};

/// A candidate for the medium: its first track, for choosing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) slot: u16,
    head: u8,
    pub(super) write: bool,
    pub(super) cylinder: u32,
    angle: u64,
    /// Longest rotational delay.
    longest: Span,
    /// Earliest start of its first block: data may still be on the link.
    ready: Instant,
}

impl Target {
    /// Target that begins on `track`, without data on the link.
    pub(super) fn on_track(track: &Extent, slot: u16, write: bool, longest: Span) -> Target {
        let (head, cylinder, angle) = (track.head, track.cylinder, track.angle);
        Target { slot, head, write, cylinder, angle, longest, ready: Instant::ZERO }
    }

    /// Sets the instant at which its data allow it to begin. If it passes under the head before, it costs a revolution,
    /// or as many as pass until then: a drive that takes what is next under the head while its data are on the link
    /// misses its place, and is as late for what it writes next.
    pub(super) fn with_ready(self, ready: Instant) -> Target {
        Target { ready, ..self }
    }
}

/// Costs of reads alone.
impl Costs<Target> for ReadPositioningCosts<'_> {
    #[inline(always)]
    fn request_cost(&self, target: &Target) -> u64 {
        let moved = self.movement_time(target.cylinder, target.head);
        (moved + self.rotation_wait(moved, target.angle).min(target.longest)).nanos()
    }

    #[inline(always)]
    fn least_cost_at_or_beyond(&self, distance: u64) -> u64 {
        self.least_movement(distance).nanos()
    }
}

/// Few branches: a processor cannot foresee which of many targets are near.
impl Costs<Target> for PositioningCosts<'_> {
    #[inline(always)]
    fn request_cost(&self, target: &Target) -> u64 {
        let moved = self.movement_time(target.cylinder, target.head, target.write);
        let cost = (moved + self.rotation_wait(moved, target.angle).min(target.longest)).nanos();
        if target.ready <= self.start_instant() {
            cost
        } else {
            self.wait_until_ready(cost, target.ready.since(self.start_instant()))
        }
    }

    #[inline(always)]
    fn least_cost_at_or_beyond(&self, distance: u64) -> u64 {
        self.least_movement(distance).nanos()
    }
}
