//! Candidates for the medium, commands and dirty segments alike: their first track, and what it costs to get there.

use super::geometry::Extent;
use super::mechanics::{Reach, ReadReach};
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
    /// The longest that it can wait for the platter.
    longest: Span,
    /// Its first block may go to the medium from here on: data may still be on the link.
    ready: Instant,
}

impl Target {
    /// What begins on `track`, nothing of it on the link.
    pub(super) fn on(track: &Extent, slot: u16, write: bool, longest: Span) -> Target {
        let (head, cylinder, angle) = (track.head, track.cylinder, track.angle);
        Target { slot, head, write, cylinder, angle, longest, ready: Instant::ZERO }
    }

    /// The same, with data that allow it to begin at `ready`. What is chosen before that and passes under the head first
    /// costs a revolution, or as many as pass: a drive that takes what is next under the head while its data are on the
    /// link lets its place pass, and what it writes next has again just begun to come.
    pub(super) fn ready_at(self, ready: Instant) -> Target {
        Target { ready, ..self }
    }
}

/// Of reads alone.
impl Costs<Target> for ReadReach<'_> {
    #[inline(always)]
    fn of(&self, target: &Target) -> u64 {
        let moved = self.movement(target.cylinder, target.head);
        (moved + self.wait(moved, target.angle).min(target.longest)).nanos()
    }

    #[inline(always)]
    fn least(&self, distance: u64) -> u64 {
        self.floor(distance).nanos()
    }
}

/// It has few branches: which of many targets are near is what a processor cannot foresee.
impl Costs<Target> for Reach<'_> {
    #[inline(always)]
    fn of(&self, target: &Target) -> u64 {
        let moved = self.movement(target.cylinder, target.head, target.write);
        let cost = (moved + self.wait(moved, target.angle).min(target.longest)).nanos();
        if target.ready <= self.begun() { cost } else { self.not_before(cost, target.ready.since(self.begun())) }
    }

    #[inline(always)]
    fn least(&self, distance: u64) -> u64 {
        self.floor(distance).nanos()
    }
}
