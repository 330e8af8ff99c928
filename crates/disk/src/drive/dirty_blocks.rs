//! Dirty blocks in the buffer: where writes of them are admitted, and how runs of them grow and are destaged.
//! `write_back` decides when a run is destaged, `electronics` which command waits for which.
//!
//! A run lies in a segment of its own, or, with `cache.dirty_runs`, takes as much of the buffer as it is long. A write
//! that continues a run joins it; a write of blocks in it replaces them. Blocks being destaged stay as they are: a
//! write of the same blocks begins another run, which is destaged after it. With `cache.fills_while_draining` a run is
//! a ring: while its first part is destaged its end may grow, and blocks that have been written make room.

use super::cache::Buffer;
use super::piece::{CachedWrite, DirtySegment, WriteAdmission};
use crate::time::Instant;

impl Buffer {
    /// End of the first part of a write of `lba..end` that lies wholly inside one dirty run, or wholly outside all.
    /// Blocks being destaged count as outside: a write of them goes to another segment, destaged later.
    pub(crate) fn uniform_part_end(&self, lba: u64, end: u64) -> u64 {
        let open =
            self.dirty_near(lba, end).map(|segment| self.undestaged_blocks(segment)).filter(|(from, to)| from < to);
        open.fold(end, |end, (from, to)| match from <= lba {
            true if lba < to => end.min(to),
            true => end,
            false => end.min(from),
        })
    }

    /// Blocks of a dirty segment that are not being destaged.
    fn undestaged_blocks(&self, segment: usize) -> (u64, u64) {
        let (start, stop) = self.span(segment);
        let leaving = self.dirty_state(segment).and_then(|dirty| dirty.leaving);
        (leaving.unwrap_or(start), stop)
    }

    /// Finds the place of a write of `lba..end`, all of which is inside one dirty run or outside all. Segments numbered below `fence` take
    /// no more (a flush waits for them). All before `passed` of the segment being destaged is on the medium.
    pub(crate) fn write_admission(&self, lba: u64, end: u64, fence: u64, passed: u64) -> WriteAdmission {
        let mut join = None;
        for segment in self.dirty_near(lba, end) {
            let (start, stop) = self.span(segment);
            let Some(dirty) = self.dirty_state(segment) else {
                continue;
            };
            let (from, to) = self.undestaged_blocks(segment);
            if from <= lba && lba < to {
                return WriteAdmission::Within(segment);
            }
            let (serial, first) = match (dirty.leaving, dirty.tail) {
                (None, _) => (dirty.serial, start),
                (Some(until), Some((serial, _))) => (serial, start.max(passed.min(until))),
                (Some(until), None) => (self.next_serial(), start.max(passed.min(until))),
            };
            let open = dirty.leaving.is_none() || self.fills_while_draining();
            if open && stop == lba && serial >= fence && end - first <= self.max_dirty_sectors() {
                join = Some(segment);
            }
        }
        match join {
            _ if !self.has_memory_for(end - lba) => WriteAdmission::Wait,
            Some(segment) => WriteAdmission::Join(segment),
            None if self.unwritten_segments().is_full() => WriteAdmission::Wait,
            None => WriteAdmission::New,
        }
    }

    /// Dirty segments that hold any of `lba..end` or end where it begins. A run that grows while its first part is
    /// destaged is no longer than two segments.
    fn dirty_near(&self, lba: u64, end: u64) -> impl Iterator<Item = usize> {
        let longest = self.segment_sectors() << u32::from(self.fills_while_draining());
        let first = self.row_at(lba.saturating_sub(longest));
        let last = if self.unwritten_segments().is_empty() { first } else { self.row_at(end) + 1 };
        let near = move |&segment: &usize| {
            let (start, stop) = self.span(segment);
            start < end && lba <= stop && self.is_dirty(segment)
        };
        (first..last).flat_map(move |row| self.segments_in_row(row)).filter(near)
    }

    /// Adds a written piece to a segment, which is dirty or becomes so.
    pub fn write_piece(&mut self, segment: usize, piece: CachedWrite, now: Instant) {
        self.touch(segment);
        let (start, stop) = self.span(segment);
        let goes_on = self.continue_write_stream(segment, piece.lba);
        let grew = self.unwritten_segments_mut().count_write(goes_on);
        self.set_span(segment, start, stop.max(piece.end()));
        self.record_write_end(segment, piece.end());
        self.add_dirty_sectors(segment, piece.end().saturating_sub(stop));
        self.unwritten_segments_mut().add(segment, piece, now, grew);
    }

    /// True if a write at `lba` into `segment` continues a write: in it, or in another segment, which then stops growing. The other must
    /// end with a written block, on the medium or not: blocks that a read brought are no stream of writes.
    fn continue_write_stream(&mut self, segment: usize, lba: u64) -> bool {
        if self.is_dirty(segment) {
            return true;
        }
        let rows = [self.row_at(lba), self.row_at(lba).wrapping_sub(1)];
        let before = rows.into_iter().flat_map(|row| self.segments_in_row(row)).find(|&other| {
            let (start, stop) = self.span(other);
            other != segment && start < stop && stop == lba && self.last_write_end(other) == lba
        });
        if let Some(before) = before {
            self.unwritten_segments_mut().stop_growth(before);
        }
        before.is_some()
    }

    /// True if a stream of writes still fills the dirty segment.
    pub(crate) fn is_growing(&self, segment: usize) -> bool {
        let (start, stop) = self.span(segment);
        self.unwritten_segments().is_growing(segment, stop - start)
    }

    /// True if any dirty segment may be growing: a write continued an earlier one lately.
    pub(crate) fn any_may_grow(&self) -> bool {
        self.unwritten_segments().any_may_grow()
    }

    /// Replaces blocks inside a dirty segment; calls `superseded` for each run that is replaced.
    pub(crate) fn overwrite_piece(&mut self, segment: usize, piece: CachedWrite, superseded: impl FnMut(CachedWrite)) {
        self.touch(segment);
        self.unwritten_segments_mut().replace_blocks(segment, piece, superseded);
    }

    /// State of a dirty segment; `None` if it is clean.
    #[inline]
    pub(crate) fn dirty_state(&self, segment: usize) -> Option<&DirtySegment> {
        self.unwritten_segments().get(segment)
    }

    /// Block up to which a dirty segment can be destaged from its start, and when: at `now` as much as has come over
    /// the link, in whole physical sectors of `unit` blocks if more follows. If nothing has come, all of it as soon as
    /// it is there.
    pub(crate) fn destageable_until(&self, segment: usize, now: Instant, unit: u64) -> (u64, Instant) {
        let (start, stop) = self.span(segment);
        let Some(dirty) = self.dirty_state(segment) else {
            return (stop, now);
        };
        let late = dirty.pieces.iter().find(|piece| piece.arrived > now);
        match late.map(|piece| piece.lba / unit * unit) {
            None => (stop, now),
            Some(until) if until > start => (until, now),
            Some(_) => (stop, dirty.pieces.iter().map(|piece| piece.arrived).fold(now, Instant::max)),
        }
    }

    /// Begins the destage of a dirty segment up to block `until`.
    pub(crate) fn begin_destage(&mut self, segment: usize, until: u64) {
        let behind = self.span(segment).1 > until;
        self.unwritten_segments_mut().begin_destage(segment, until, behind);
    }

    /// Ends the destage of a segment up to block `until`. Returns true if blocks after it remain dirty; if not, its
    /// blocks stay as clean ones, if written blocks serve reads.
    pub(crate) fn end_destage(&mut self, segment: usize, until: u64) -> bool {
        let (start, stop) = self.span(segment);
        if until < stop && self.unwritten_segments_mut().end_partial_destage(segment, until) {
            self.set_span(segment, until, stop);
            self.remove_dirty_sectors(segment, until - start);
            self.invalidate_stale(start, until);
            return true;
        }
        self.mark_clean(segment);
        if !self.serves_written() {
            self.evict_segment(segment);
            self.invalidate_stale(start, stop);
            return false;
        }
        // Blocks written again meanwhile: another segment has the newer ones.
        while let Some((from, to)) = self.overlapping_dirty(segment) {
            self.invalidate(from, to);
        }
        false
    }

    /// Invalidates stale blocks: if dirty blocks serve no reads, a read-ahead may have brought old ones.
    fn invalidate_stale(&mut self, start: u64, end: u64) {
        if !self.serves_written() {
            self.invalidate(start, end);
        }
    }

    /// A dirty run that holds blocks of a clean segment too.
    fn overlapping_dirty(&self, segment: usize) -> Option<(u64, u64)> {
        let (start, stop) = self.span(segment);
        self.dirty_near(start, stop).map(|dirty| self.span(dirty)).find(|&(_, to)| start < to)
    }

    /// All dirty segments, oldest first.
    pub fn dirty_segments(&self) -> impl Iterator<Item = &DirtySegment> {
        self.unwritten_segments().by_age_with_state().map(|(_, dirty)| dirty)
    }

    /// Number of blocks in dirty segments.
    pub(crate) fn dirty_blocks(&self) -> u64 {
        let length = |segment: usize| self.span(segment).1 - self.span(segment).0;
        self.unwritten_segments().by_age().map(length).sum()
    }

    /// Dirty segments that are not being destaged, oldest first.
    pub(crate) fn destageable_segments(&self) -> impl Iterator<Item = (usize, &DirtySegment)> {
        self.unwritten_segments().by_age_with_state().filter(|(_, dirty)| !dirty.is_destaging())
    }

    /// Oldest segment to destage that begins at block `lba`.
    pub(crate) fn destageable_segment_at(&self, lba: u64) -> Option<usize> {
        let begins = self.segments_in_row(self.row_at(lba)).filter(|&segment| self.span(segment).0 == lba);
        let dirty = begins.filter_map(|segment| Some((self.dirty_state(segment)?, segment)));
        let first = dirty.filter(|(dirty, _)| !dirty.is_destaging()).min_by_key(|(dirty, _)| dirty.serial);
        first.map(|(_, segment)| segment)
    }

    /// Dirty segments from the number `serial` on, oldest first.
    pub(crate) fn dirty_from_serial(&self, serial: u64) -> impl Iterator<Item = (usize, &DirtySegment)> {
        self.unwritten_segments().from(serial)
    }

    /// Changes whenever a dirty segment is dropped, or begins to be destaged.
    pub(crate) fn departures(&self) -> u64 {
        self.unwritten_segments().departures()
    }

    /// True when a dirty segment holds any of `lba..end`.
    pub(crate) fn overlaps_dirty(&self, lba: u64, end: u64) -> bool {
        self.dirty_near(lba, end).any(|segment| lba < self.span(segment).1)
    }

    /// Number of dirty segments.
    #[inline]
    pub fn dirty_count(&self) -> usize {
        self.unwritten_segments().count()
    }

    /// Maximum blocks of a dirty segment.
    pub(crate) fn max_dirty_sectors(&self) -> u64 {
        self.unwritten_segments().max_sectors()
    }

    /// True if no more segments may become dirty, or none that is as long as it may get.
    pub(crate) fn is_dirty_limit_reached(&self) -> bool {
        self.unwritten_segments().is_full() || !self.has_memory_for(self.max_dirty_sectors())
    }

    /// How many more segments may become dirty.
    pub(crate) fn free_runs(&self) -> usize {
        self.unwritten_segments().free_count()
    }

    /// Serial number of the next segment to become dirty.
    pub(crate) fn next_serial(&self) -> u64 {
        self.unwritten_segments().next_serial()
    }

    /// Lowest serial number among the dirty segments.
    pub(crate) fn oldest_serial(&self) -> Option<u64> {
        self.unwritten_segments().oldest_serial()
    }
}
