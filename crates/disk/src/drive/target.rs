//! A candidate for the medium, command or dirty segment: where it begins, and the cost of reaching that place.
//! `queuing` and `write_back` choose among candidates.

use super::geometry::Extent;
use super::mechanics::{PositioningCosts, ReadPositioningCosts};
use crate::queue::Costs;
use crate::time::{Instant, Span};

/// Where a candidate for the medium begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// The slot of a command; 0 for a dirty segment.
    pub(super) slot: u16,
    head: u8,
    pub(super) write: bool,
    pub(super) cylinder: u32,
    /// Angle of its first block.
    angle: u64,
    max_rotation: Span,
    /// Earliest start of its first block: data may still be on the link.
    ready: Instant,
}

impl Target {
    /// Target that begins with the first block of `extent`, and has no data on the link.
    pub(super) fn at_extent(extent: &Extent, slot: u16, write: bool, max_rotation: Span) -> Target {
        let (head, cylinder, angle) = (extent.head, extent.cylinder, extent.angle);
        Target { slot, head, write, cylinder, angle, max_rotation, ready: Instant::ZERO }
    }

    /// Sets the instant at which its data allow it to begin. If its first block passes under the head before, it costs
    /// as many revolutions as pass until then.
    pub(super) fn with_ready(self, ready: Instant) -> Target {
        Target { ready, ..self }
    }
}

/// Costs of a choice among reads alone.
impl Costs<Target> for ReadPositioningCosts<'_> {
    #[inline(always)]
    fn request_cost(&self, target: &Target) -> u64 {
        let moved = self.movement_time(target.cylinder, target.head);
        (moved + self.rotation_wait(moved, target.angle).min(target.max_rotation)).nanos()
    }

    #[inline(always)]
    fn least_cost_at_or_beyond(&self, distance: u64) -> u64 {
        self.least_movement_at_or_beyond(distance).nanos()
    }
}

/// Written with few branches: a processor cannot foresee which of many targets are near.
impl Costs<Target> for PositioningCosts<'_> {
    #[inline(always)]
    fn request_cost(&self, target: &Target) -> u64 {
        let moved = self.movement_time(target.cylinder, target.head, target.write);
        let cost = (moved + self.rotation_wait(moved, target.angle).min(target.max_rotation)).nanos();
        if target.ready <= self.start_instant() {
            cost
        } else {
            self.cost_until_ready(cost, target.ready.since(self.start_instant()))
        }
    }

    #[inline(always)]
    fn least_cost_at_or_beyond(&self, distance: u64) -> u64 {
        self.least_movement_at_or_beyond(distance).nanos()
    }
}
