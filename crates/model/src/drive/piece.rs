//! What is dirty: pieces, each written by one request, and the runs that they make up. Which segments hold them is the
//! buffer's affair.

use alloc::vec::Vec;

use crate::block::{Landing, LandingKind};
use crate::time::Instant;

/// A run written by one request and not yet on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachedWrite {
    /// First block.
    pub lba: u64,
    /// Blocks.
    pub sectors: u32,
    /// The stamp of the write.
    pub stamp: u64,
    /// Its data are in the buffer from here on.
    pub arrived: Instant,
}

impl CachedWrite {
    /// The block after the last.
    pub(super) fn end(&self) -> u64 {
        self.lba + u64::from(self.sectors)
    }

    /// What became of the piece.
    pub(super) fn landing(self, from: Instant, to: Instant, kind: LandingKind) -> Landing {
        Landing::new((self.lba, self.sectors), self.stamp, (from, to), kind)
    }

    /// The part of it in `lba..end`, if any.
    pub(super) fn within(self, lba: u64, end: u64) -> Option<CachedWrite> {
        let (from, to) = (self.lba.max(lba), self.end().min(end));
        (from < to).then(|| CachedWrite { lba: from, sectors: (to - from) as u32, ..self })
    }
}

/// A dirty segment.
#[derive(Clone, Debug)]
pub struct DirtySegment {
    /// Its pieces in LBA order, without gaps.
    pub pieces: Vec<CachedWrite>,
    /// Since when it is dirty.
    pub since: Instant,
    /// Numbers dirty segments in the order in which they became so.
    pub serial: u64,
    /// It is on its way to the medium as far as this block.
    pub(super) leaving: Option<u64>,
    /// The number, and since when it is dirty, of what lies behind that.
    pub(super) tail: Option<(u64, Instant)>,
    /// The number of the last write that joined it, or began it where another had ended.
    pub(super) grew: Option<u64>,
}

impl DirtySegment {
    /// On its way to the medium.
    pub fn is_leaving(&self) -> bool {
        self.leaving.is_some()
    }
}

/// What a cached write meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteAdmission {
    /// Joins the dirty segment whose end it continues.
    Join(usize),
    /// Overwrites blocks inside this dirty segment.
    Within(usize),
    /// Takes a segment of its own.
    New,
    /// Must wait until a dirty segment has been destaged: there is no room.
    Wait,
}
