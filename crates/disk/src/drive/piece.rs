//! Values of dirty data: *pieces*, each written by one request, and dirty segments, which hold a run of pieces without
//! gaps. `dirty_segments` has the table of dirty segments.

use alloc::vec::Vec;

use crate::block::{Landing, LandingKind};
use crate::time::Instant;

/// A piece: blocks written by one request and not yet on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachedWrite {
    /// First block.
    pub lba: u64,
    /// Number of blocks.
    pub sectors: u32,
    /// The stamp of the write.
    pub stamp: u64,
    /// When its data are in the buffer.
    pub arrived: Instant,
}

impl CachedWrite {
    /// Block after the last.
    pub(super) fn end(&self) -> u64 {
        self.lba + u64::from(self.sectors)
    }

    /// Landing of the piece.
    pub(super) fn to_landing(self, from: Instant, to: Instant, kind: LandingKind) -> Landing {
        Landing::new((self.lba, self.sectors), self.stamp, (from, to), kind)
    }

    /// Part of the piece in `lba..end`, if any.
    pub(super) fn part_within(self, lba: u64, end: u64) -> Option<CachedWrite> {
        let (from, to) = (self.lba.max(lba), self.end().min(end));
        (from < to).then(|| CachedWrite { lba: from, sectors: (to - from) as u32, ..self })
    }
}

/// A dirty segment.
#[derive(Clone, Debug)]
pub struct DirtySegment {
    /// Pieces in LBA order, without gaps.
    pub pieces: Vec<CachedWrite>,
    /// Since when it is dirty.
    pub since: Instant,
    /// Serial number, in the order in which segments become dirty.
    pub serial: u64,
    /// Block up to which it is being destaged.
    pub(super) destaged_up_to: Option<u64>,
    /// The blocks after that, which stay dirty.
    pub(super) tail: Option<DirtyTail>,
    /// Number of the last write that joined it, or that began it and continued an earlier write.
    pub(super) last_growth: Option<u64>,
}

/// The blocks of a dirty segment after those that are being destaged.
#[derive(Clone, Copy, Debug)]
pub(super) struct DirtyTail {
    /// Serial number that the segment has once the others are destaged.
    pub(super) serial: u64,
    /// Since when they are dirty.
    pub(super) since: Instant,
}

impl DirtySegment {
    /// True while it is being destaged.
    pub(crate) fn is_destaging(&self) -> bool {
        self.destaged_up_to.is_some()
    }
}

/// The first part of a dirty segment, which can be destaged.
#[derive(Clone, Copy, Debug)]
pub(super) struct DestageablePart {
    /// Block after the last.
    pub(super) end: u64,
    /// When all of its data are in the buffer.
    pub(super) arrived: Instant,
}

/// Where a cached write is admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteAdmission {
    /// Joins the dirty segment whose end it continues.
    Join(usize),
    /// Overwrites blocks inside this dirty segment.
    Within(usize),
    /// Takes a segment of its own.
    New,
    /// Must wait until a dirty segment has been destaged: there is no room.
    Wait,
}
