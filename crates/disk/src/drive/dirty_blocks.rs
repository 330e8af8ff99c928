//! Dirty blocks in the buffer: where a write is admitted, and how runs of dirty blocks grow and are destaged.
//! `write_back` decides when a run is destaged.
//!
//! A *run* is the content of a dirty segment: consecutive dirty blocks. Segments are equally long or, with
//! `cache.dirty_runs`, a run takes as much of the buffer as it is long. A write that continues a run joins it; a write
//! of blocks in a run replaces them. Blocks being destaged stay as they are: a write of the same blocks begins another
//! run, which is destaged later. With `cache.fills_while_draining` a run is a ring: while its first part is destaged
//! its end may grow, and blocks that are on the medium make room.

use super::cache::Buffer;
use super::piece::{CachedWrite, DestageablePart, DirtySegment, WriteAdmission};
use crate::time::Instant;

impl Buffer {
    /// End of the first part of a write of `lba..end` that lies wholly inside one dirty run, or wholly outside all.
    /// Blocks being destaged count as outside: a write of them goes to another segment, destaged later.
    pub(crate) fn uniform_part_end(&self, lba: u64, end: u64) -> u64 {
        let runs = self.dirty_near(lba, end).map(|segment| self.undestaged_blocks(segment));
        runs.filter(|(start, stop)| start < stop).fold(end, |end, (start, stop)| {
            if start > lba {
                end.min(start)
            } else if stop > lba {
                end.min(stop)
            } else {
                end
            }
        })
    }

    /// Blocks of a dirty segment that are not being destaged: the first, and the one after the last.
    fn undestaged_blocks(&self, segment: usize) -> (u64, u64) {
        let (start, stop) = self.block_bounds(segment);
        let destaged_up_to = self.dirty_state(segment).and_then(|dirty| dirty.destaged_up_to);
        (destaged_up_to.unwrap_or(start), stop)
    }

    /// Finds where a write of `lba..end` goes, all of which is inside one dirty run or outside all. Segments numbered
    /// below `fence` take no more: a flush waits for them. Blocks of the segment being destaged are on the medium up to
    /// `destaged_until`.
    pub(crate) fn write_admission(&self, lba: u64, end: u64, fence: u64, destaged_until: u64) -> WriteAdmission {
        let mut joinable = None;
        for segment in self.dirty_near(lba, end) {
            let (start, stop) = self.block_bounds(segment);
            let Some(dirty) = self.dirty_state(segment) else {
                continue;
            };
            let (undestaged_start, _) = self.undestaged_blocks(segment);
            if undestaged_start <= lba && lba < stop {
                return WriteAdmission::Within(segment);
            }
            // Serial number of the blocks that the write would join, and the first block that still takes room.
            let (serial, first) = match dirty.destaged_up_to {
                None => (dirty.serial, start),
                Some(up_to) => {
                    let tail_serial = dirty.tail.map_or(self.next_serial(), |tail| tail.serial);
                    (tail_serial, start.max(destaged_until.min(up_to)))
                }
            };
            let may_grow = !dirty.is_destaging() || self.fills_while_draining();
            if may_grow && stop == lba && serial >= fence && end - first <= self.max_dirty_sectors() {
                joinable = Some(segment);
            }
        }
        match joinable {
            _ if !self.has_room_for_dirty(end - lba) => WriteAdmission::Wait,
            Some(segment) => WriteAdmission::Join(segment),
            None if self.unwritten_segments().is_full() => WriteAdmission::Wait,
            None => WriteAdmission::New,
        }
    }

    /// Dirty segments that hold any of `lba..end`, or end at `lba`. A run that grows while its first part is destaged
    /// is no longer than two segments.
    fn dirty_near(&self, lba: u64, end: u64) -> impl Iterator<Item = usize> {
        let longest = self.segment_sectors() << u32::from(self.fills_while_draining());
        let first_row = self.row_at(lba.saturating_sub(longest));
        let end_row = if self.unwritten_segments().is_empty() { first_row } else { self.row_at(end) + 1 };
        let near = move |&segment: &usize| {
            let (start, stop) = self.block_bounds(segment);
            start < end && lba <= stop && self.is_dirty(segment)
        };
        (first_row..end_row).flat_map(move |row| self.segments_in_row(row)).filter(near)
    }

    /// Adds a written piece to a segment, which is dirty or becomes so.
    pub fn write_piece(&mut self, segment: usize, piece: CachedWrite, now: Instant) {
        self.touch(segment);
        let (start, stop) = self.block_bounds(segment);
        let continues_earlier = self.continue_write_stream(segment, piece.lba);
        let growth = self.unwritten_segments_mut().count_write(continues_earlier);
        self.set_block_bounds(segment, start, stop.max(piece.end()));
        self.record_write_end(segment, piece.end());
        self.add_dirty_sectors(segment, piece.end().saturating_sub(stop));
        self.unwritten_segments_mut().add_piece(segment, piece, now, growth);
    }

    /// Returns true if a write at `lba` into `segment` continues an earlier write: in this segment, or in another one
    /// that ends at `lba`. The other segment must end with a written block, on the medium or not, since blocks that a
    /// read brought are no stream of writes; it then stops growing.
    fn continue_write_stream(&mut self, segment: usize, lba: u64) -> bool {
        if self.is_dirty(segment) {
            return true;
        }
        let rows = [self.row_at(lba), self.row_at(lba).wrapping_sub(1)];
        let before = rows.into_iter().flat_map(|row| self.segments_in_row(row)).find(|&other| {
            let (start, stop) = self.block_bounds(other);
            other != segment && start < stop && stop == lba && self.last_write_end(other) == lba
        });
        if let Some(before) = before {
            self.unwritten_segments_mut().stop_growth(before);
        }
        before.is_some()
    }

    /// True if a stream of writes still fills the dirty segment.
    pub(crate) fn is_growing(&self, segment: usize) -> bool {
        let (start, stop) = self.block_bounds(segment);
        self.unwritten_segments().is_growing(segment, stop - start)
    }

    /// True if any dirty segment may be growing: a recent write continued an earlier one.
    pub(crate) fn any_may_grow(&self) -> bool {
        self.unwritten_segments().any_may_grow()
    }

    /// Replaces blocks inside a dirty segment by `piece`; calls `report_superseded` for each part of a piece that it
    /// replaces.
    pub(crate) fn overwrite_blocks(
        &mut self,
        segment: usize,
        piece: CachedWrite,
        report_superseded: impl FnMut(CachedWrite),
    ) {
        self.touch(segment);
        self.unwritten_segments_mut().replace_blocks(segment, piece, report_superseded);
    }

    /// State of a dirty segment; `None` if it is clean.
    #[inline]
    pub(crate) fn dirty_state(&self, segment: usize) -> Option<&DirtySegment> {
        self.unwritten_segments().get(segment)
    }

    /// The part of a dirty segment, from its start, that can be destaged: at `now` as much as has come over the link,
    /// in whole physical sectors if more follows. If nothing has come, all of it as soon as it is there.
    pub(super) fn destageable_part(
        &self,
        segment: usize,
        now: Instant,
        physical_sector_blocks: u64,
    ) -> DestageablePart {
        let (start, stop) = self.block_bounds(segment);
        let Some(dirty) = self.dirty_state(segment) else {
            return DestageablePart { end: stop, arrived: now };
        };
        let late = dirty.pieces.iter().find(|piece| piece.arrived > now);
        match late.map(|piece| piece.lba / physical_sector_blocks * physical_sector_blocks) {
            None => DestageablePart { end: stop, arrived: now },
            Some(end) if end > start => DestageablePart { end, arrived: now },
            Some(_) => {
                let arrived = dirty.pieces.iter().map(|piece| piece.arrived).fold(now, Instant::max);
                DestageablePart { end: stop, arrived }
            }
        }
    }

    /// Begins the destage of a dirty segment up to block `end`.
    pub(crate) fn begin_destage(&mut self, segment: usize, end: u64) {
        let has_tail = self.block_bounds(segment).1 > end;
        self.unwritten_segments_mut().begin_destage(segment, end, has_tail);
    }

    /// Ends the destage of a segment up to block `end`. Returns true if blocks after it remain dirty. If not, the
    /// segment's blocks stay as clean ones, if written blocks serve reads.
    pub(crate) fn end_destage(&mut self, segment: usize, end: u64) -> bool {
        let (start, stop) = self.block_bounds(segment);
        if end < stop && self.unwritten_segments_mut().end_partial_destage(segment, end) {
            self.set_block_bounds(segment, end, stop);
            self.remove_dirty_sectors(segment, end - start);
            self.invalidate_stale(start, end);
            return true;
        }
        self.mark_clean(segment);
        if !self.serves_written() {
            self.evict_segment(segment);
            self.invalidate_stale(start, stop);
            return false;
        }
        // Blocks written again meanwhile: another segment has the newer ones.
        while let Some((start, end)) = self.overlapping_dirty_blocks(segment) {
            self.invalidate(start, end);
        }
        false
    }

    /// Invalidates old content of `start..end`: if dirty blocks serve no reads, a read-ahead may have brought it.
    fn invalidate_stale(&mut self, start: u64, end: u64) {
        if !self.serves_written() {
            self.invalidate(start, end);
        }
    }

    /// Bounds of a dirty run that has blocks in common with a clean segment.
    fn overlapping_dirty_blocks(&self, segment: usize) -> Option<(u64, u64)> {
        let (start, stop) = self.block_bounds(segment);
        self.dirty_near(start, stop).map(|dirty| self.block_bounds(dirty)).find(|&(_, end)| start < end)
    }

    /// All dirty segments, oldest first.
    pub fn dirty_segments(&self) -> impl Iterator<Item = &DirtySegment> {
        self.unwritten_segments().by_age_with_state().map(|(_, dirty)| dirty)
    }

    /// Number of blocks in dirty segments.
    pub(crate) fn dirty_block_count(&self) -> u64 {
        self.unwritten_segments().by_age().map(|segment| self.segment_length(segment)).sum()
    }

    /// Dirty segments that are not being destaged, oldest first.
    pub(crate) fn destageable_segments(&self) -> impl Iterator<Item = (usize, &DirtySegment)> {
        self.unwritten_segments().by_age_with_state().filter(|(_, dirty)| !dirty.is_destaging())
    }

    /// Oldest segment to destage that begins at block `lba`.
    pub(crate) fn destageable_segment_at(&self, lba: u64) -> Option<usize> {
        let begins = self.segments_in_row(self.row_at(lba)).filter(|&segment| self.block_bounds(segment).0 == lba);
        let dirty = begins.filter_map(|segment| Some((self.dirty_state(segment)?, segment)));
        let first = dirty.filter(|(dirty, _)| !dirty.is_destaging()).min_by_key(|(dirty, _)| dirty.serial);
        first.map(|(_, segment)| segment)
    }

    /// Dirty segments from the serial number `serial` on, oldest first.
    pub(crate) fn dirty_from_serial(&self, serial: u64) -> impl Iterator<Item = (usize, &DirtySegment)> {
        self.unwritten_segments().by_age_from_serial(serial)
    }

    /// How many dirty segments became clean, or began to be destaged; it changes with each.
    pub(crate) fn departures(&self) -> u64 {
        self.unwritten_segments().departures()
    }

    /// True when a dirty segment holds any of `lba..end`.
    pub(crate) fn overlaps_dirty(&self, lba: u64, end: u64) -> bool {
        self.dirty_near(lba, end).any(|segment| lba < self.block_bounds(segment).1)
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

    /// True if no more segments may become dirty, or there is no memory for one of maximum length.
    pub(crate) fn is_dirty_limit_reached(&self) -> bool {
        self.unwritten_segments().is_full() || !self.has_room_for_dirty(self.max_dirty_sectors())
    }

    /// How many more segments may become dirty.
    pub(crate) fn free_run_count(&self) -> usize {
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
