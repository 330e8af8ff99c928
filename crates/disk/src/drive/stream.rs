//! A read-ahead in progress, the *stream*: which blocks have passed the head, and when. No event is needed to advance
//! it: its owner advances it when it asks.

use super::geometry::{Extent, Geometry};
use super::mechanics::{Arm, Mechanics};
use crate::time::Instant;

/// A read-ahead: blocks that pass one after another into a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MediaStream {
    /// The segment that it fills.
    pub segment: usize,
    /// Block after the last to be read.
    pub limit: u64,
    /// When all blocks promised to commands have passed.
    pub promised_until: Instant,
    /// Waiting commands do not break it off before this instant, unless one has waited too long.
    pub held_until: Instant,
    /// Instant to which it was last advanced; `FAR` if it must be advanced anew.
    pub advanced_to: Instant,
    /// Extent that is passing, the *present* extent.
    extent: Extent,
    /// When the first block of the present extent began to pass, or will.
    extent_start: Instant,
}

/// The mechanism on which a stream runs.
#[derive(Clone, Copy)]
pub(crate) struct DiskMechanism<'a> {
    /// Layout of the blocks.
    pub geometry: &'a Geometry,
    /// Timing of arm and platter.
    pub mechanics: &'a Mechanics,
}

impl MediaStream {
    /// A stream into `segment` from `extent`, a track's rest, up to block `limit`; it starts at `start` with the arm at
    /// `arm`.
    #[inline]
    pub fn new(
        platter: DiskMechanism<'_>,
        start: Instant,
        arm: Arm,
        extent: Extent,
        limit: u64,
        segment: usize,
    ) -> MediaStream {
        let extent_start = start + platter.mechanics.positioning(start, arm, &extent, false).total();
        let (promised_until, held_until, advanced_to) = (start, start, Instant::FAR);
        MediaStream { segment, limit, promised_until, held_until, advanced_to, extent, extent_start }
    }

    /// Moves the limit on to `limit`, never back.
    pub(crate) fn raise_limit(&mut self, limit: u64) {
        self.limit = self.limit.max(limit);
        self.advanced_to = Instant::FAR;
    }

    /// End of the stream, if that is by `now`; call [`MediaStream::catch_up`] first.
    #[inline]
    pub(crate) fn end_by(&self, platter: DiskMechanism<'_>, now: Instant) -> Option<Instant> {
        let end = (self.extent.end() >= self.limit).then(|| self.passing_end(platter, self.limit))?;
        (end <= now).then_some(end)
    }

    /// When all blocks before `end` are in the buffer. Blocks before the present extent count as there all the time;
    /// some of them were there before the stream began.
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

    /// When all blocks of the present extent before `end` have passed.
    #[inline]
    fn passing_end(&self, platter: DiskMechanism<'_>, end: u64) -> Instant {
        let angle = self.extent.slot.wrapping_mul(end.saturating_sub(self.extent.lba));
        self.extent_start + platter.mechanics.turning_time(angle)
    }

    /// True if the present extent is the same until `now`.
    #[inline(always)]
    pub(crate) fn stays_on_extent(&self, platter: DiskMechanism<'_>, now: Instant) -> bool {
        self.extent.end() >= self.limit || self.extent_start + platter.mechanics.transfer_time(&self.extent) > now
    }

    /// Advances the stream to `now`.
    #[inline]
    pub(crate) fn catch_up(&mut self, platter: DiskMechanism<'_>, now: Instant) {
        while self.extent.end() < self.limit {
            if self.extent_start + platter.mechanics.transfer_time(&self.extent) > now {
                return;
            }
            let mut next = *self;
            next.advance_to_next_extent(platter);
            if next.extent_start > now {
                return;
            }
            *self = next;
        }
    }

    /// The first block that is not in the buffer by `now`; call [`MediaStream::catch_up`] first.
    #[inline]
    pub(crate) fn first_missing_block(&self, platter: DiskMechanism<'_>, now: Instant) -> u64 {
        let passed_angle = platter.mechanics.angle_at(now).wrapping_sub(platter.mechanics.angle_at(self.extent_start));
        let all_sectors = u64::from(self.extent.sectors);
        let passed_sectors = if now < self.extent_start {
            0
        } else if now.since(self.extent_start) >= platter.mechanics.transfer_time(&self.extent) {
            all_sectors
        } else {
            (passed_angle / self.extent.slot).min(all_sectors)
        };
        (self.extent.lba + passed_sectors).min(self.limit)
    }

    /// Position of the arm: on the track of the present extent.
    pub fn arm(&self) -> Arm {
        Arm { cylinder: self.extent.cylinder, head: self.extent.head }
    }

    #[inline(never)]
    fn advance_to_next_extent(&mut self, platter: DiskMechanism<'_>) {
        let passed_at = self.extent_start + platter.mechanics.transfer_time(&self.extent);
        let arm = self.arm();
        if self.extent.end() >= platter.geometry.sectors() {
            return;
        }
        self.extent = platter.geometry.extent(self.extent.end(), u32::MAX);
        self.extent_start = passed_at + platter.mechanics.positioning(passed_at, arm, &self.extent, false).total();
    }
}
