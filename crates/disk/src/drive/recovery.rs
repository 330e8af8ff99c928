//! Weak places of the medium: blocks that are read only after several tries. A place says how many tries it takes;
//! nothing is random.
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
    /// Number of tries beyond the first until they are read.
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
    /// Block after the last that the head passes: the end of the request, or the end of the block at which it fails.
    pub(super) end: u64,
    /// The read fails.
    pub(super) fails: bool,
    /// Number of tries beyond the first, over all places.
    pub(super) retries: u64,
}

/// Weak places, rising, without overlap.
#[derive(Clone, Debug)]
pub(super) struct WeakPlaces {
    places: Vec<WeakBlocks>,
    /// Maximum time of all retries of a command.
    retry_limit: Option<Span>,
}

impl WeakPlaces {
    pub(super) fn new(places: Vec<WeakBlocks>, retry_limit: Option<Span>) -> WeakPlaces {
        WeakPlaces { places, retry_limit }
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
        let max_retries = self.retry_limit.map_or(u64::MAX, |limit| limit.nanos() / revolution);
        let mut read = Recovery { end, fails: false, retries: 0 };
        let first = self.places.partition_point(|weak| weak.end() <= lba);
        for weak in self.places[first..].iter().take_while(|weak| weak.lba < end) {
            let retries = read.retries + u64::from(weak.retries);
            if retries > max_retries {
                return Recovery { end: weak.lba.max(lba) + 1, fails: true, retries: max_retries };
            }
            read.retries = retries;
        }
        read
    }

    /// Removes the weak places in `lba..end`, which was written.
    pub(super) fn remove_written(&mut self, lba: u64, end: u64) {
        if self.first_weak_block(lba, end).is_none() {
            return;
        }
        let mut kept: Vec<WeakBlocks> = Vec::with_capacity(self.places.len() + 1);
        for weak in self.places.drain(..) {
            if weak.lba < lba.min(weak.end()) {
                kept.push(WeakBlocks { sectors: (lba.min(weak.end()) - weak.lba) as u32, ..weak });
            }
            if end.max(weak.lba) < weak.end() {
                let first = end.max(weak.lba);
                kept.push(WeakBlocks { lba: first, sectors: (weak.end() - first) as u32, ..weak });
            }
        }
        self.places = kept;
    }
}
