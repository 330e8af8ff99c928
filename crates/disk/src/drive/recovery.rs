//! Weak places: blocks that are read only after several tries, and how long the drive tries. Nothing is random: a place
//! says how often it must be read.
//!
//! Each retry costs a revolution, which counts as *rotation*. All retries of one command share its time limit
//! (`firmware.recovery_limit`, the error-recovery control of server and video drives); if that does not suffice, the
//! command ends with [`Status::MediumError`](crate::block::Status::MediumError) at the first place that was not read,
//! and its blocks are not kept. Without a limit the drive tries until the place is read, as desktop drives do.
//!
//! A read-ahead ends before a weak place, without retries, since no command asked for it. A place that was read stays
//! weak (no reallocation on reads); one that is written is sound from then on, at no cost: a write refreshes the
//! sector, or the drive puts another in its place.

use alloc::vec::Vec;

use super::mechanics::Mechanics;
use crate::time::Span;

/// Neighbouring blocks that are hard to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WeakBlocks {
    /// First block.
    pub lba: u64,
    /// Number of blocks; they are read together or not at all.
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

/// Outcome of a read over weak places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Recovery {
    /// End of what was read: the end of the request, or of the block at which it fails and the drive gives up.
    pub(super) end: u64,
    /// The read fails.
    pub(super) fails: bool,
    /// Tries beyond the first, in all.
    pub(super) retries: u64,
}

/// Weak places, rising, without overlap.
#[derive(Clone, Debug)]
pub(super) struct WeakPlaces {
    places: Vec<WeakBlocks>,
    /// Longest time of retries of one command.
    limit: Option<Span>,
}

impl WeakPlaces {
    pub(super) fn new(places: Vec<WeakBlocks>, limit: Option<Span>) -> WeakPlaces {
        WeakPlaces { places, limit }
    }

    /// The first weak block in `lba..end`.
    #[inline]
    pub(super) fn first_weak_block(&self, lba: u64, end: u64) -> Option<u64> {
        if self.places.is_empty() {
            return None;
        }
        let next = self.places.partition_point(|weak| weak.end() <= lba);
        let first = self.places.get(next)?.lba.max(lba);
        (first < end).then_some(first)
    }

    /// Outcome of a read of `lba..end` from the medium.
    #[inline]
    pub(super) fn read_outcome(&self, lba: u64, end: u64, mechanics: &Mechanics) -> Recovery {
        match self.places.is_empty() {
            true => Recovery { end, fails: false, retries: 0 },
            false => self.weak_read_outcome(lba, end, mechanics),
        }
    }

    fn weak_read_outcome(&self, lba: u64, end: u64, mechanics: &Mechanics) -> Recovery {
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

    /// Removes the weak places in `lba..end`, which was written.
    pub(super) fn remove_written(&mut self, lba: u64, end: u64) {
        if self.first_weak_block(lba, end).is_none() {
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
