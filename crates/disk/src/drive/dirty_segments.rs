//! Dirty segments: their order of becoming dirty, and which of them may still grow. The buffer knows their blocks;
//! `write_back` decides when to destage them.

use alloc::vec::Vec;

use super::piece::{CachedWrite, DirtySegment};
use crate::time::Instant;

/// The dirty segments.
#[derive(Clone, Debug)]
pub(super) struct DirtySegments {
    segments: Vec<Option<DirtySegment>>,
    /// Dirty segments, oldest first.
    order: Vec<usize>,
    /// Allocations of pieces, kept for reuse.
    spare: Vec<Vec<CachedWrite>>,
    /// Maximum number, and maximum blocks of one; lower while the buffer waits for a division into shorter segments.
    limit: u32,
    longest: u64,
    /// Serial number of the next one.
    serial: u64,
    /// How many were dropped, or began to be destaged.
    left: u64,
    /// Writes so far, and the number of the last one that continued an earlier write.
    writes: u64,
    grew: Option<u64>,
}

impl DirtySegments {
    /// Returns a table of `segments` clean segments; at most `limit` may be dirty, each of up to `longest` blocks.
    pub(super) fn new(segments: usize, limit: u32, longest: u64) -> DirtySegments {
        DirtySegments {
            segments: alloc::vec![None; segments],
            order: Vec::with_capacity(segments),
            spare: Vec::new(),
            limit,
            longest,
            serial: 0,
            left: 0,
            writes: 0,
            grew: None,
        }
    }

    /// Lowers the limits ahead of a division.
    pub(super) fn tighten_limits(&mut self, limit: u32, longest: u64) {
        (self.limit, self.longest) = (self.limit.min(limit), longest);
    }

    /// Sets the limits after a division.
    pub(super) fn set_limits(&mut self, limit: u32, longest: u64) {
        (self.limit, self.longest) = (limit, longest);
    }

    /// Maximum blocks of one.
    pub(super) fn max_sectors(&self) -> u64 {
        self.longest
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    #[inline]
    pub(super) fn count(&self) -> usize {
        self.order.len()
    }

    /// True if no more may become dirty.
    pub(super) fn is_full(&self) -> bool {
        self.order.len() >= self.limit as usize
    }

    /// How many more may become dirty.
    pub(super) fn free_count(&self) -> usize {
        (self.limit as usize).saturating_sub(self.order.len())
    }

    #[inline]
    pub(super) fn contains(&self, segment: usize) -> bool {
        self.segments[segment].is_some()
    }

    #[inline]
    pub(super) fn get(&self, segment: usize) -> Option<&DirtySegment> {
        self.segments[segment].as_ref()
    }

    /// Dirty segments, oldest first.
    pub(super) fn by_age(&self) -> impl Iterator<Item = usize> + '_ {
        self.order.iter().copied()
    }

    /// Dirty segments and their states, oldest first.
    pub(super) fn by_age_with_state(&self) -> impl Iterator<Item = (usize, &DirtySegment)> {
        self.by_age().filter_map(|segment| Some((segment, self.get(segment)?)))
    }

    /// Dirty segments from the number `serial` on.
    pub(super) fn from(&self, serial: u64) -> impl Iterator<Item = (usize, &DirtySegment)> {
        let first = self.order_position(serial);
        self.order[first..].iter().filter_map(move |&segment| Some((segment, self.get(segment)?)))
    }

    fn order_position(&self, serial: u64) -> usize {
        self.order.partition_point(|&segment| self.get(segment).is_some_and(|dirty| dirty.serial < serial))
    }

    /// Serial number of the next segment to become dirty.
    pub(super) fn next_serial(&self) -> u64 {
        self.serial
    }

    /// Lowest serial number among them.
    pub(super) fn oldest_serial(&self) -> Option<u64> {
        self.order.first().and_then(|&segment| self.get(segment)).map(|dirty| dirty.serial)
    }

    /// Changes whenever one is dropped, or begins to be destaged.
    pub(super) fn departures(&self) -> u64 {
        self.left
    }

    /// Counts a write; returns its number if it continued an earlier write.
    pub(super) fn count_write(&mut self, goes_on: bool) -> Option<u64> {
        let grew = goes_on.then_some(self.writes);
        self.grew = grew.or(self.grew);
        self.writes += 1;
        grew
    }

    /// Adds a piece to a segment, which becomes dirty at `now` if it is clean; `grew` is the result of counting the write.
    pub(super) fn add(&mut self, segment: usize, piece: CachedWrite, now: Instant, grew: Option<u64>) {
        let serial = self.serial;
        if let Some(dirty) = &mut self.segments[segment] {
            dirty.pieces.push(piece);
            dirty.grew = grew;
            if dirty.leaving.is_some() && dirty.tail.is_none() {
                dirty.tail = Some((serial, now));
                self.serial += 1;
            }
            return;
        }
        let mut pieces = self.spare.pop().unwrap_or_default();
        pieces.push(piece);
        self.segments[segment] = Some(DirtySegment { pieces, since: now, serial, leaving: None, tail: None, grew });
        self.order.push(segment);
        self.serial += 1;
    }

    /// Marks a segment as no longer growing.
    pub(super) fn stop_growth(&mut self, segment: usize) {
        if let Some(dirty) = &mut self.segments[segment] {
            dirty.grew = None;
        }
    }

    /// True if a stream of writes still fills a segment of `length` blocks: it has room for another block, and was
    /// joined by a recent write, one of as many as segments may be dirty.
    ///
    /// Inferred, for makers do not say it; that a part destaged early costs the stream a revolution is geometry. Within
    /// that many writes each of the streams that fit has had its turn; a stream that has not written again has ended.
    pub(super) fn is_growing(&self, segment: usize, length: u64) -> bool {
        length < self.longest && self.is_recent(self.get(segment).and_then(|dirty| dirty.grew))
    }

    /// True if any may be growing: a write continued an earlier one lately.
    pub(super) fn any_may_grow(&self) -> bool {
        self.is_recent(self.grew)
    }

    /// True if the write of that number is recent.
    fn is_recent(&self, write: Option<u64>) -> bool {
        write.is_some_and(|write| self.writes - write <= u64::from(self.limit))
    }

    /// Replaces blocks inside a segment by `piece`; calls `superseded` for each run that it replaces.
    pub(super) fn replace_blocks(
        &mut self,
        segment: usize,
        piece: CachedWrite,
        mut superseded: impl FnMut(CachedWrite),
    ) {
        let Some(dirty) = &mut self.segments[segment] else {
            return;
        };
        let mut kept = self.spare.pop().unwrap_or_default();
        for old in dirty.pieces.drain(..) {
            let (from, to) = (old.lba.max(piece.lba), old.end().min(piece.end()));
            if from >= to {
                kept.push(old);
                continue;
            }
            superseded(CachedWrite { lba: from, sectors: (to - from) as u32, ..old });
            if old.lba < from {
                kept.push(CachedWrite { sectors: (from - old.lba) as u32, ..old });
            }
            if to < old.end() {
                kept.push(CachedWrite { lba: to, sectors: (old.end() - to) as u32, ..old });
            }
        }
        kept.push(piece);
        kept.sort_unstable_by_key(|piece| piece.lba);
        self.spare.push(core::mem::replace(&mut dirty.pieces, kept));
    }

    /// Begins the destage of a segment up to block `until`; more of it lies `behind` that.
    pub(super) fn begin_destage(&mut self, segment: usize, until: u64, behind: bool) {
        if let Some(dirty) = &mut self.segments[segment] {
            dirty.leaving = Some(until);
            dirty.tail = behind.then_some((dirty.serial, dirty.since));
            self.left += 1;
        }
    }

    /// Ends the destage of a segment up to block `until`. Returns true if blocks after it remain dirty; the segment
    /// then moves to the place of their serial number.
    pub(super) fn end_partial_destage(&mut self, segment: usize, until: u64) -> bool {
        let Some((serial, since)) = self.get(segment).and_then(|dirty| dirty.tail) else { return false };
        self.remove_from_order(segment);
        self.order.insert(self.order_position(serial), segment);
        if let Some(dirty) = &mut self.segments[segment] {
            dirty.pieces.retain(|piece| piece.end() > until);
            if let Some(piece) = dirty.pieces.first_mut().filter(|piece| piece.lba < until) {
                *piece = CachedWrite { lba: until, sectors: (piece.end() - until) as u32, ..*piece };
            }
            (dirty.serial, dirty.since, dirty.leaving, dirty.tail) = (serial, since, None, None);
        }
        true
    }

    fn remove_from_order(&mut self, segment: usize) {
        if let Some(place) = self.order.iter().position(|&other| other == segment) {
            self.order.remove(place);
        }
    }

    /// Removes a segment whose data are on the medium, or lost. Returns true if it was dirty.
    pub(super) fn drop(&mut self, segment: usize) -> bool {
        let Some(mut dirty) = self.segments[segment].take() else { return false };
        // A destage in progress was counted when it began.
        self.left += u64::from(dirty.leaving.is_none());
        dirty.pieces.clear();
        self.spare.push(dirty.pieces);
        self.remove_from_order(segment);
        true
    }
}
