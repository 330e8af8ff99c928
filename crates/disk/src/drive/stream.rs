//! A prefetch in progress: which blocks have passed the head, and when. No event is needed to advance it.

use super::geometry::{Extent, Geometry};
use super::mechanics::{Arm, Mechanics};
use crate::time::Instant;

/// Blocks that pass one after another into a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MediaStream {
    /// The segment that takes them.
    pub segment: usize,
    /// Block after the last to be read.
    pub limit: u64,
    /// When the blocks promised to commands have passed.
    pub promised: Instant,
    /// Until when a waiting command leaves it alone, unless it has waited too long.
    pub held: Instant,
    /// Instant to which it was last advanced; `FAR` if it must be advanced anew.
    pub settled: Instant,
    /// Extent that is passing, and when its first block began to.
    extent: Extent,
    begin: Instant,
}

/// Mechanism on which a stream runs.
#[derive(Clone, Copy)]
pub(crate) struct DiskMechanism<'a> {
    /// Layout of the blocks.
    pub geometry: &'a Geometry,
    /// Timing of arm and platter.
    pub mechanics: &'a Mechanics,
}

impl MediaStream {
    /// Starts to read from `extent`, a track's rest, up to `limit` at `at` with the arm at `arm`.
    #[inline]
    pub fn start(
        platter: DiskMechanism<'_>,
        at: Instant,
        arm: Arm,
        extent: Extent,
        limit: u64,
        segment: usize,
    ) -> MediaStream {
        let begin = at + platter.mechanics.positioning(at, arm, &extent, false).total();
        MediaStream { segment, limit, promised: at, held: at, extent, begin, settled: Instant::FAR }
    }

    /// Moves the limit on to `limit`, never back.
    pub(crate) fn raise_limit(&mut self, limit: u64) {
        self.limit = self.limit.max(limit);
        self.settled = Instant::FAR;
    }

    /// End of the stream, if that is by `now`; call [`MediaStream::catch_up`] first.
    #[inline]
    pub(crate) fn end_by(&self, platter: DiskMechanism<'_>, now: Instant) -> Option<Instant> {
        let over = (self.extent.end() >= self.limit).then(|| self.passing_end(platter, self.limit))?;
        (over <= now).then_some(over)
    }

    /// When the block before `end` is in the buffer. Blocks before the extent that passes, some of them there before
    /// the stream began, count as there all the time.
    #[inline]
    pub(crate) fn arrival_before(&self, platter: DiskMechanism<'_>, end: u64) -> Instant {
        if end <= self.extent.lba {
            return Instant::ZERO;
        }
        if end <= self.extent.end() {
            return self.passing_end(platter, end);
        }
        let mut ahead = *self;
        while ahead.extent.end() < end {
            ahead.advance_to_next_extent(platter);
        }
        ahead.passing_end(platter, end)
    }

    #[inline]
    fn passing_end(&self, platter: DiskMechanism<'_>, end: u64) -> Instant {
        let angle = self.extent.slot.wrapping_mul(end.saturating_sub(self.extent.lba));
        self.begin + platter.mechanics.turning_time(angle)
    }

    /// True if the extent that passes stays the same until `now`.
    #[inline(always)]
    pub(crate) fn stays_on_extent(&self, platter: DiskMechanism<'_>, now: Instant) -> bool {
        self.extent.end() >= self.limit || self.begin + platter.mechanics.transfer_time(&self.extent) > now
    }

    /// Advances the stream to `now`.
    #[inline]
    pub(crate) fn catch_up(&mut self, platter: DiskMechanism<'_>, now: Instant) {
        while self.extent.end() < self.limit {
            if self.begin + platter.mechanics.transfer_time(&self.extent) > now {
                return;
            }
            let mut next = *self;
            next.advance_to_next_extent(platter);
            if next.begin > now {
                return;
            }
            *self = next;
        }
    }

    /// The first block that is not in the buffer by `now`; call [`MediaStream::catch_up`] first.
    #[inline]
    pub(crate) fn first_missing_block(&self, platter: DiskMechanism<'_>, now: Instant) -> u64 {
        let passed = platter.mechanics.angle_at(now).wrapping_sub(platter.mechanics.angle_at(self.begin));
        let whole = now.saturating_since(self.begin) >= platter.mechanics.transfer_time(&self.extent);
        let sectors = match (now < self.begin, whole) {
            (true, _) => 0,
            (_, true) => u64::from(self.extent.sectors),
            _ => (passed / self.extent.slot).min(u64::from(self.extent.sectors)),
        };
        (self.extent.lba + sectors).min(self.limit)
    }

    /// Position of the arm.
    pub fn arm(&self) -> Arm {
        Arm { cylinder: self.extent.cylinder, head: self.extent.head }
    }

    #[inline(never)]
    fn advance_to_next_extent(&mut self, platter: DiskMechanism<'_>) {
        let at = self.begin + platter.mechanics.transfer_time(&self.extent);
        let arm = self.arm();
        if self.extent.end() >= platter.geometry.sectors() {
            return;
        }
        self.extent = platter.geometry.extent(self.extent.end(), u32::MAX);
        self.begin = at + platter.mechanics.positioning(at, arm, &self.extent, false).total();
    }
}
