//! Weak places: blocks that are read only after so many tries, and how long the drive tries. No chance in it: a place
//! says how often it must be read.
//!
//! Each try costs a revolution, which stands under *rotation*. All tries of one command share its time limit
//! (`firmware.recovery_limit`, the error-recovery control of server and video drives); where that does not do, the
//! command ends with [`Status::MediumError`](crate::block::Status::MediumError) at the first place that was not read,
//! and its blocks are not kept. Without a limit the drive tries until the place is read, as desktop drives do.
//!
//! A read-ahead ends before a weak place: nobody asked for it, so nobody tries again. A place that was read stays weak
//! (no reallocation on reads); one that is written is sound from then on, at no cost: a write refreshes the sector,
//! or the drive puts another in its place.

use alloc::vec::Vec;

use super::mechanics::Mechanics;
use crate::time::Span;

/// Neighbouring blocks that are hard to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WeakBlocks {
    /// First block.
    pub lba: u64,
    /// Blocks; they are read together or not at all.
    pub sectors: u32,
    /// Tries beyond the first until they are read.
    pub retries: u32,
}

impl WeakBlocks {
    /// The block after the last.
    pub fn end(&self) -> u64 {
        self.lba + u64::from(self.sectors)
    }
}

/// What weak places do to a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Recovery {
    /// Up to where it gets: the end of what was wanted, or the block at which it fails and the drive gives up.
    pub(super) end: u64,
    /// It does not get all.
    pub(super) fails: bool,
    /// Tries beyond the first, all together.
    pub(super) retries: u64,
}

/// Places that are hard to read, rising, apart from one another.
#[derive(Clone, Debug)]
pub(super) struct WeakPlaces {
    places: Vec<WeakBlocks>,
    /// How long one command tries.
    limit: Option<Span>,
}

impl WeakPlaces {
    pub(super) fn new(places: Vec<WeakBlocks>, limit: Option<Span>) -> WeakPlaces {
        WeakPlaces { places, limit }
    }

    /// The first weak block in `lba..end`.
    #[inline]
    pub(super) fn first_in(&self, lba: u64, end: u64) -> Option<u64> {
        if self.places.is_empty() {
            return None;
        }
        let next = self.places.partition_point(|weak| weak.end() <= lba);
        let first = self.places.get(next)?.lba.max(lba);
        (first < end).then_some(first)
    }

    /// How a read of `lba..end` from the medium gets on.
    #[inline]
    pub(super) fn recovery(&self, lba: u64, end: u64, mechanics: &Mechanics) -> Recovery {
        match self.places.is_empty() {
            true => Recovery { end, fails: false, retries: 0 },
            false => self.recovery_of_weak(lba, end, mechanics),
        }
    }

    fn recovery_of_weak(&self, lba: u64, end: u64, mechanics: &Mechanics) -> Recovery {
        let revolution = mechanics.revolution().nanos().max(1);
        let most = self.limit.map_or(u64::MAX, |limit| limit.nanos() / revolution);
        let mut read = Recovery { end, fails: false, retries: 0 };
        let first = self.places.partition_point(|weak| weak.end() <= lba);
        for weak in self.places[first..].iter().take_while(|weak| weak.lba < end) {
            let wanted = read.retries + u64::from(weak.retries);
            if wanted > most {
                return Recovery { end: weak.lba.max(lba) + 1, fails: true, retries: most };
            }
            read.retries = wanted;
        }
        read
    }

    /// `lba..end` was written: no place in it is weak any more.
    pub(super) fn refresh(&mut self, lba: u64, end: u64) {
        if self.first_in(lba, end).is_none() {
            return;
        }
        let mut left: Vec<WeakBlocks> = Vec::with_capacity(self.places.len() + 1);
        for weak in self.places.drain(..) {
            if weak.lba < lba.min(weak.end()) {
                left.push(WeakBlocks { sectors: (lba.min(weak.end()) - weak.lba) as u32, ..weak });
            }
            if end.max(weak.lba) < weak.end() {
                let from = end.max(weak.lba);
                left.push(WeakBlocks { lba: from, sectors: (weak.end() - from) as u32, ..weak });
            }
        }
        self.places = left;
    }
}
