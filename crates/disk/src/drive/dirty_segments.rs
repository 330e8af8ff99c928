//! The table of dirty segments: in which order they became dirty, and which of them may still grow. `cache` knows the
//! blocks of a segment, `dirty_blocks` where a write is admitted, and `write_back` decides when to destage.

use alloc::vec::Vec;

use super::piece::{CachedWrite, DirtySegment, DirtyTail};
use crate::time::Instant;

/// The dirty segments.
#[derive(Clone, Debug)]
pub(super) struct DirtySegments {
    segments: Vec<Option<DirtySegment>>,
    /// Dirty segments, oldest first.
    order: Vec<usize>,
    /// Allocations of pieces, kept for reuse.
    spare: Vec<Vec<CachedWrite>>,
    /// Maximum number of dirty segments; lower while the buffer waits for a division into fewer segments.
    max_count: u32,
    /// Maximum blocks of a dirty segment; lower while the buffer waits for a division into shorter segments.
    max_sectors: u64,
    next_serial: u64,
    /// How many were removed, or began to be destaged.
    departures: u64,
    /// Number of writes so far.
    writes: u64,
    /// Number of the last write that continued an earlier one.
    last_growth: Option<u64>,
}

impl DirtySegments {
    /// Returns a table of `segments` clean segments; at most `max_count` may be dirty, each of up to `max_sectors`
    /// blocks.
    pub(super) fn new(segments: usize, max_count: u32, max_sectors: u64) -> DirtySegments {
        DirtySegments {
            segments: alloc::vec![None; segments],
            order: Vec::with_capacity(segments),
            spare: Vec::new(),
            max_count,
            max_sectors,
            next_serial: 0,
            departures: 0,
            writes: 0,
            last_growth: None,
        }
    }

    /// Lowers the limits ahead of a division.
    pub(super) fn tighten_limits(&mut self, max_count: u32, max_sectors: u64) {
        (self.max_count, self.max_sectors) = (self.max_count.min(max_count), max_sectors);
    }

    /// Sets the limits after a division.
    pub(super) fn set_limits(&mut self, max_count: u32, max_sectors: u64) {
        (self.max_count, self.max_sectors) = (max_count, max_sectors);
    }

    /// Maximum blocks of a dirty segment.
    pub(super) fn max_sectors(&self) -> u64 {
        self.max_sectors
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
        self.order.len() >= self.max_count as usize
    }

    /// How many more may become dirty.
    pub(super) fn free_count(&self) -> usize {
        (self.max_count as usize).saturating_sub(self.order.len())
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

    /// Dirty segments and their states, oldest first, from the serial number `serial` on.
    pub(super) fn by_age_from_serial(&self, serial: u64) -> impl Iterator<Item = (usize, &DirtySegment)> {
        let first = self.index_in_order(serial);
        self.order[first..].iter().filter_map(move |&segment| Some((segment, self.get(segment)?)))
    }

    /// Index in `order` of the first segment whose serial number is not below `serial`.
    fn index_in_order(&self, serial: u64) -> usize {
        self.order.partition_point(|&segment| self.get(segment).is_some_and(|dirty| dirty.serial < serial))
    }

    /// Serial number of the next segment to become dirty.
    pub(super) fn next_serial(&self) -> u64 {
        self.next_serial
    }

    /// Lowest serial number of a dirty segment.
    pub(super) fn oldest_serial(&self) -> Option<u64> {
        self.order.first().and_then(|&segment| self.get(segment)).map(|dirty| dirty.serial)
    }

    /// How many segments were removed, or began to be destaged.
    pub(super) fn departures(&self) -> u64 {
        self.departures
    }

    /// Counts a write. Returns its number if it continues an earlier write.
    pub(super) fn count_write(&mut self, continues_earlier: bool) -> Option<u64> {
        let growth = continues_earlier.then_some(self.writes);
        self.last_growth = growth.or(self.last_growth);
        self.writes += 1;
        growth
    }

    /// Adds a piece to a segment, which becomes dirty at `now` if it is clean. `growth` is the number of the write if
    /// it continues an earlier one.
    pub(super) fn add_piece(&mut self, segment: usize, piece: CachedWrite, now: Instant, growth: Option<u64>) {
        let serial = self.next_serial;
        if let Some(dirty) = &mut self.segments[segment] {
            dirty.pieces.push(piece);
            dirty.last_growth = growth;
            if dirty.is_destaging() && dirty.tail.is_none() {
                dirty.tail = Some(DirtyTail { serial, since: now });
                self.next_serial += 1;
            }
            return;
        }
        let mut pieces = self.spare.pop().unwrap_or_default();
        pieces.push(piece);
        let (destaged_up_to, tail, last_growth) = (None, None, growth);
        self.segments[segment] = Some(DirtySegment { pieces, since: now, serial, destaged_up_to, tail, last_growth });
        self.order.push(segment);
        self.next_serial += 1;
    }

    /// Marks a segment as no longer growing.
    pub(super) fn stop_growth(&mut self, segment: usize) {
        if let Some(dirty) = &mut self.segments[segment] {
            dirty.last_growth = None;
        }
    }

    /// True if a stream of writes still fills a segment of `length` blocks: the segment has room for another block, and
    /// a recent write continued it.
    ///
    /// Inferred, since makers do not say how firmware recognises a stream. A part that is destaged early costs the
    /// stream a revolution.
    pub(super) fn is_growing(&self, segment: usize, length: u64) -> bool {
        length < self.max_sectors && self.is_recent(self.get(segment).and_then(|dirty| dirty.last_growth))
    }

    /// True if any segment may be growing: a recent write continued an earlier one.
    pub(super) fn any_may_grow(&self) -> bool {
        self.is_recent(self.last_growth)
    }

    /// True if the write of that number is recent: among as many last ones as segments may be dirty. Within that many
    /// writes each stream that the buffer can hold has had its turn; a stream that has not written again has ended.
    fn is_recent(&self, write_number: Option<u64>) -> bool {
        write_number.is_some_and(|number| self.writes - number <= u64::from(self.max_count))
    }

    /// Replaces blocks inside a segment by `piece`; calls `report_superseded` for each part of a piece that it
    /// replaces.
    pub(super) fn replace_blocks(
        &mut self,
        segment: usize,
        piece: CachedWrite,
        mut report_superseded: impl FnMut(CachedWrite),
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
            report_superseded(CachedWrite { lba: from, sectors: (to - from) as u32, ..old });
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

    /// Begins the destage of a segment up to block `end`; with `has_tail` there are blocks after that.
    pub(super) fn begin_destage(&mut self, segment: usize, end: u64, has_tail: bool) {
        if let Some(dirty) = &mut self.segments[segment] {
            dirty.destaged_up_to = Some(end);
            dirty.tail = has_tail.then_some(DirtyTail { serial: dirty.serial, since: dirty.since });
            self.departures += 1;
        }
    }

    /// Ends the destage of a segment up to block `end`, if it has a tail: the segment then holds the tail alone, and
    /// moves to the tail's place in the order. Returns false, with nothing changed, if it has none.
    pub(super) fn end_partial_destage(&mut self, segment: usize, end: u64) -> bool {
        let Some(DirtyTail { serial, since }) = self.get(segment).and_then(|dirty| dirty.tail) else { return false };
        self.remove_from_order(segment);
        self.order.insert(self.index_in_order(serial), segment);
        if let Some(dirty) = &mut self.segments[segment] {
            dirty.pieces.retain(|piece| piece.end() > end);
            if let Some(piece) = dirty.pieces.first_mut().filter(|piece| piece.lba < end) {
                *piece = CachedWrite { lba: end, sectors: (piece.end() - end) as u32, ..*piece };
            }
            (dirty.serial, dirty.since, dirty.destaged_up_to, dirty.tail) = (serial, since, None, None);
        }
        true
    }

    fn remove_from_order(&mut self, segment: usize) {
        if let Some(index) = self.order.iter().position(|&other| other == segment) {
            self.order.remove(index);
        }
    }

    /// Removes a segment whose data are on the medium, or lost. Returns true if it was dirty.
    pub(super) fn remove(&mut self, segment: usize) -> bool {
        let Some(mut dirty) = self.segments[segment].take() else { return false };
        // A destage in progress was counted when it began.
        self.departures += u64::from(!dirty.is_destaging());
        dirty.pieces.clear();
        self.spare.push(dirty.pieces);
        self.remove_from_order(segment);
        true
    }
}
