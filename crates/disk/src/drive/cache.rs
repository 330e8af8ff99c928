//! The segmented buffer: which blocks it holds, and which are evicted. `dirty_blocks` handles blocks that are not on the
//! medium yet; the service of commands decides when blocks arrive and leave.
//!
//! Each segment holds a run of consecutive blocks. A segment that a read-ahead fills counts as holding all that the
//! read-ahead will bring; `stream` knows when each block arrives. The least recently used segment is evicted first,
//! except the one being filled and dirty ones. Variants, by the profile:
//!
//! - The buffer can be divided anew into equal segments; `segmentation` decides into how many.
//! - Segments can share memory, so that a written run takes only as much as it is long (`segment_store`). Then there
//!   are more segments than memory for them, and the least recently used lose their memory.
//! - Some segments can be reserved for writes.
//! - `written_hits` says which written blocks serve reads.
//!
//! To find the segments that may hold a block, they are listed by *row*: a row is a stretch of blocks that no segment
//! exceeds in length.

use alloc::vec::Vec;

use super::dirty_segments::DirtySegments;
use super::profile::{CacheSpec, WrittenHits};
use super::segment_store::SegmentStore;
use crate::recency::LruList;

/// Result of a buffer lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferLookup {
    /// All blocks are in this segment, or a read-ahead will bring them there.
    Hit(usize),
    /// The blocks begin in this segment, or right after it, and extend past its end.
    Extends(usize),
    /// The first block is not in the buffer.
    Miss,
}

/// No segment.
const NONE: u32 = u32::MAX;

/// The buffer.
#[derive(Clone, Debug)]
pub struct Buffer {
    segment_sectors: u64,
    segments: Vec<Segment>,
    /// Segments that hold anything, listed by the row in which they begin. An entry is the first segment of a list that
    /// is linked by `next_in_row`; rows of equal number modulo `rows.len()` share a list. No segment is longer than a
    /// row, so those that may hold a block begin in its row or the one before.
    rows: Vec<u32>,
    /// Binary logarithm of the blocks of a row.
    row_log2: u32,
    /// Changes with the contents; compared for equality only.
    version: u64,
    pub(super) recency: LruList,
    /// If set, all segments less recently used than this one are dirty.
    clean_from: Option<usize>,
    dirty: DirtySegments,
    /// A run may grow while it is destaged.
    fills_while_draining: bool,
    /// Dirty blocks serve reads, and stay in the buffer once destaged.
    serves_written: bool,
    /// Number of segments, from the first on, that are reserved for writes.
    reserved_for_writes: usize,
    /// Memory that segments share, if written runs take only what they need.
    pub(super) memory: Option<SegmentStore>,
}

/// A segment of the buffer.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// First block and the block after the last.
    bounds: (u64, u64),
    /// Block after the last read from it; `u64::MAX` without one.
    last_read_end: u64,
    /// Number of reads in the sequential run that the last read belongs to.
    reads_in_run: u32,
    /// Next segment in the list of its row.
    next_in_row: u32,
    /// Block after the last write into it; `u64::MAX` without one.
    last_write_end: u64,
}

impl Segment {
    /// A segment without blocks.
    const EMPTY: Segment = Segment {
        bounds: (0, 0),
        last_read_end: u64::MAX,
        reads_in_run: 0,
        next_in_row: NONE,
        last_write_end: u64::MAX,
    };
}

/// A division of the buffer into equal segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    pub segments: u32,
    /// Blocks of each segment.
    pub sectors: u32,
    /// Maximum number of dirty segments.
    pub dirty: u32,
}

impl Buffer {
    /// Returns the empty buffer of a profile.
    pub fn from_spec(cache: &CacheSpec) -> Buffer {
        let max_segments = cache.adaptive.map_or(cache.segments, |it| it.most);
        let reserved = if cache.writes_apart { cache.dirty_segments.min(cache.segments.saturating_sub(1)) } else { 0 };
        let max_dirty = if reserved > 0 { reserved } else { cache.dirty_segments };
        let buffer = match cache.dirty_runs {
            None => Buffer::new(cache.segments, cache.segment_sectors, max_dirty, max_segments),
            Some(runs) => Buffer::with_dirty_runs(cache, runs),
        };
        Buffer {
            fills_while_draining: cache.fills_while_draining,
            serves_written: cache.written_hits != WrittenHits::None,
            reserved_for_writes: reserved as usize,
            ..buffer
        }
    }

    /// Returns a buffer with at most `max_dirty_runs` dirty runs, each taking as much memory as it is long.
    fn with_dirty_runs(cache: &CacheSpec, max_dirty_runs: u32) -> Buffer {
        let segments = cache.segments + max_dirty_runs;
        let mut buffer = Buffer::new(segments, cache.segment_sectors, max_dirty_runs, segments);
        (0..segments as usize).for_each(|segment| buffer.recency.retire(segment));
        buffer.memory = Some(SegmentStore::from_spec(cache, segments));
        buffer
    }

    /// Returns a buffer of `segments` segments of `segment_sectors` blocks, at most `max_dirty` of them dirty, that can
    /// be divided into at most `max_segments`.
    fn new(segments: u32, segment_sectors: u32, max_dirty: u32, max_segments: u32) -> Buffer {
        let n = max_segments.max(segments) as usize;
        let mut buffer = Buffer {
            segment_sectors: u64::from(segment_sectors),
            segments: alloc::vec![Segment::EMPTY; n],
            rows: alloc::vec![NONE; (2 * n).next_power_of_two().max(2)],
            row_log2: segment_sectors.max(1).next_power_of_two().ilog2(),
            version: 0,
            recency: LruList::new(n),
            clean_from: None,
            dirty: DirtySegments::new(n, max_dirty, u64::from(segment_sectors)),
            fills_while_draining: false,
            serves_written: true,
            reserved_for_writes: 0,
            memory: None,
        };
        (segments as usize..n).for_each(|segment| buffer.recency.retire(segment));
        buffer
    }

    /// Blocks of a segment.
    #[inline]
    pub fn segment_sectors(&self) -> u64 {
        self.segment_sectors
    }

    /// Dirty segments.
    #[inline]
    pub(super) fn unwritten_segments(&self) -> &DirtySegments {
        &self.dirty
    }

    /// Dirty segments, to change them.
    pub(super) fn unwritten_segments_mut(&mut self) -> &mut DirtySegments {
        &mut self.dirty
    }

    /// True if a run may grow while it is destaged.
    pub(super) fn fills_while_draining(&self) -> bool {
        self.fills_while_draining
    }

    /// True if dirty blocks serve reads, and stay in the buffer once destaged.
    pub(super) fn serves_written(&self) -> bool {
        self.serves_written
    }

    /// True for a segment that only writes take.
    #[inline]
    pub(super) fn is_reserved_for_writes(&self, segment: usize) -> bool {
        segment < self.reserved_for_writes
    }

    /// Row of block `lba`.
    #[inline]
    pub(super) fn row_at(&self, lba: u64) -> u64 {
        lba >> self.row_log2
    }

    /// Limits the number and length of dirty segments ahead of a division.
    pub(crate) fn tighten_dirty_limits(&mut self, division: &Division) {
        self.dirty.tighten_limits(division.dirty, self.segment_sectors.min(u64::from(division.sectors)));
    }

    /// Divides the buffer into other segments. Contents stay as far as they fit: the most recently used clean segments,
    /// and of each clean segment the last blocks. Returns false, with nothing changed, if more is dirty than the
    /// division allows or `filling_segment` is too long for it.
    pub fn divide(&mut self, division: &Division, filling_segment: Option<usize>) -> bool {
        let sectors = u64::from(division.sectors);
        let is_too_long = |segment: usize| self.segment_length(segment) > sectors;
        let n = division.segments as usize;
        let in_use = self.dirty.count() + usize::from(filling_segment.is_some_and(|segment| !self.is_dirty(segment)));
        let are_too_many = self.dirty.count() > division.dirty as usize || in_use > n;
        if are_too_many || self.dirty.by_age().chain(filling_segment).any(is_too_long) {
            return false;
        }
        let mut live = self.recency.oldest_first().count();
        while live > n {
            let Some(segment) = self.oldest_clean_segment(filling_segment) else { return false };
            self.evict_segment(segment);
            self.retire(segment);
            live -= 1;
        }
        for segment in 0..self.segments.len() {
            if live < n && self.recency.is_retired(segment) {
                self.make_first_to_evict(segment);
                live += 1;
            }
        }
        self.segment_sectors = sectors;
        self.dirty.set_limits(division.dirty, sectors);
        self.rebuild_rows();
        true
    }

    /// Cuts segments to the segment length and builds the rows anew.
    fn rebuild_rows(&mut self) {
        self.row_log2 = self.segment_sectors.max(1).next_power_of_two().ilog2();
        self.rows.fill(NONE);
        for segment in 0..self.segments.len() {
            let (start, end) = core::mem::take(&mut self.segments[segment].bounds);
            if start == end {
                continue;
            }
            self.set_block_bounds(segment, start.max(end.saturating_sub(self.segment_sectors)), end);
        }
        self.version += 1;
    }

    /// Forgets all contents.
    pub fn clear(&mut self) {
        for segment in 0..self.segments.len() {
            self.mark_clean(segment);
            self.evict_segment(segment);
        }
    }

    /// Changes whenever a lookup may have another result.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Segments in the list of `row`, which other rows share.
    #[inline]
    pub(super) fn segments_in_row(&self, row: u64) -> impl Iterator<Item = usize> {
        let first = self.rows[row as usize & (self.rows.len() - 1)];
        let if_any = |segment: u32| (segment != NONE).then_some(segment);
        let next = move |&segment: &u32| if_any(self.segments[segment as usize].next_in_row);
        let segments = core::iter::successors(if_any(first), next);
        segments.map(|segment| segment as usize)
    }

    /// Looks up `lba..end`. A segment that holds all of it is preferred to one that holds its start, and one that
    /// begins later to one that begins earlier.
    #[inline(always)]
    pub fn look_up(&self, lba: u64, end: u64) -> BufferLookup {
        let row = (lba >> self.row_log2) as usize;
        let mask = self.rows.len() - 1;
        match [self.rows[row & mask], self.rows[row.wrapping_sub(1) & mask]] {
            [NONE, NONE] => BufferLookup::Miss,
            first_segments => self.look_up_in_rows(first_segments, lba, end),
        }
    }

    /// Looks up `lba..end` in two rows, given the first segments of their lists.
    fn look_up_in_rows(&self, first_segments: [u32; 2], lba: u64, end: u64) -> BufferLookup {
        // (holds all, first block, segment)
        let mut best: Option<(bool, u64, usize)> = None;
        for mut next in first_segments {
            while next != NONE {
                let segment = next as usize;
                let Segment { bounds: (start, stop), next_in_row, .. } = self.segments[segment];
                if start <= lba && lba <= stop && self.may_serve(segment, end <= stop) {
                    best = best.max(Some((end <= stop, start, segment)));
                }
                next = next_in_row;
            }
        }
        match best {
            None => BufferLookup::Miss,
            Some((true, _, segment)) => BufferLookup::Hit(segment),
            Some((false, _, segment)) => BufferLookup::Extends(segment),
        }
    }

    /// True if a segment may serve a read of which it holds all blocks, or else the first.
    #[inline]
    fn may_serve(&self, segment: usize, holds_all: bool) -> bool {
        (self.serves_written || !self.dirty.contains(segment)) && (holds_all || !self.is_reserved_for_writes(segment))
    }

    /// Sets the blocks of a segment, and keeps it listed in its row.
    #[inline(always)]
    pub(super) fn set_block_bounds(&mut self, segment: usize, start: u64, end: u64) {
        let (old_start, old_end) = core::mem::replace(&mut self.segments[segment].bounds, (start, end));
        let (was_listed, is_listed) = (old_start < old_end, start < end);
        self.version = self.version.wrapping_add(1);
        if was_listed && is_listed && old_start == start {
            return;
        }
        if was_listed {
            self.unlink_from_row(segment, old_start >> self.row_log2);
        }
        if is_listed {
            let list = (start >> self.row_log2) as usize & (self.rows.len() - 1);
            self.segments[segment].next_in_row = core::mem::replace(&mut self.rows[list], segment as u32);
        }
    }

    #[inline(always)]
    fn unlink_from_row(&mut self, segment: usize, row: u64) {
        let list = row as usize & (self.rows.len() - 1);
        let next = self.segments[segment].next_in_row;
        if self.rows[list] == segment as u32 {
            self.rows[list] = next;
            return;
        }
        let previous = self.segments_in_row(row).find(|&other| self.segments[other].next_in_row == segment as u32);
        self.segments[previous.expect("a segment stands in its row")].next_in_row = next;
    }

    /// Blocks of a segment: the first, and the one after the last.
    #[inline]
    pub fn block_bounds(&self, segment: usize) -> (u64, u64) {
        self.segments[segment].bounds
    }

    /// Number of blocks in a segment.
    #[inline]
    pub(super) fn segment_length(&self, segment: usize) -> u64 {
        let (start, end) = self.block_bounds(segment);
        end - start
    }

    /// Notes that the host reads `lba..end` from a segment. Returns the number of reads in the sequential run that it
    /// continues or begins.
    #[inline]
    pub fn record_read(&mut self, segment: usize, lba: u64, end: u64) -> u32 {
        let Segment { last_read_end, reads_in_run, .. } = &mut self.segments[segment];
        *reads_in_run = if *last_read_end == lba { reads_in_run.saturating_add(1) } else { 1 };
        *last_read_end = end;
        *reads_in_run
    }

    /// Block after the last write into a segment; `u64::MAX` without one.
    pub(super) fn last_write_end(&self, segment: usize) -> u64 {
        self.segments[segment].last_write_end
    }

    /// Notes that a write into a segment ends at `end`.
    pub(super) fn record_write_end(&mut self, segment: usize, end: u64) {
        self.segments[segment].last_write_end = end;
    }

    /// Makes a segment the least recently used.
    pub(crate) fn make_first_to_evict(&mut self, segment: usize) {
        self.recency.make_oldest(segment);
        self.clean_from = Some(segment);
    }

    /// Makes a segment the most recently used.
    #[inline(always)]
    pub fn touch(&mut self, segment: usize) {
        self.move_clean_from_past(segment);
        self.recency.touch(segment);
    }

    /// Removes a segment from the LRU list.
    #[inline(always)]
    pub(super) fn retire(&mut self, segment: usize) {
        self.move_clean_from_past(segment);
        self.recency.retire(segment);
    }

    /// Keeps `clean_from` valid when a segment is about to leave its place in the LRU list.
    #[inline(always)]
    fn move_clean_from_past(&mut self, segment: usize) {
        if self.clean_from == Some(segment) {
            self.clean_from = self.recency.next_newer(segment);
        }
    }

    /// Marks a segment as clean: its data are on the medium, or lost.
    pub fn mark_clean(&mut self, segment: usize) {
        if self.dirty.remove(segment) {
            if let Some(memory) = &mut self.memory {
                memory.subtract_dirty_of(segment);
            }
            // The segment may stand anywhere in the LRU list.
            self.clean_from = None;
        }
    }

    /// Extends a segment to block `end`. A segment is a ring: if it is full, its first blocks are overwritten.
    #[inline(always)]
    pub(crate) fn extend_segment(&mut self, segment: usize, end: u64) {
        let start = self.block_bounds(segment).0;
        let max_length =
            if self.memory.is_none() { self.segment_sectors } else { self.grow_memory(segment, end - start) };
        self.set_block_bounds(segment, start.max(end.saturating_sub(max_length)), end);
    }

    /// Extends a segment back to block `start`.
    pub(crate) fn extend_back(&mut self, segment: usize, start: u64) {
        let (old_start, end) = self.block_bounds(segment);
        self.set_block_bounds(segment, start.min(old_start), end.max(old_start));
    }

    /// Removes the blocks of a segment from `end` on.
    #[inline(always)]
    pub(crate) fn truncate_segment(&mut self, segment: usize, end: u64) {
        let (start, stop) = self.block_bounds(segment);
        self.set_block_bounds(segment, start, stop.min(end).max(start));
        self.trim_memory(segment);
    }

    /// True when the segment holds unwritten data.
    pub fn is_dirty(&self, segment: usize) -> bool {
        self.dirty.contains(segment)
    }

    /// Allocates the least recently used clean segment, except `filling_segment`, for a read of `sectors` from `start`,
    /// and empties it.
    #[inline]
    pub fn allocate(&mut self, start: u64, sectors: u64, filling_segment: Option<usize>) -> Option<usize> {
        let taker = self.reuse_oldest_memory(start, sectors, filling_segment);
        if taker.is_some() { taker } else { self.allocate_step_by_step(start, sectors, filling_segment) }
    }

    /// Allocates as [`Buffer::allocate`] does, without its fast path.
    pub(super) fn allocate_step_by_step(
        &mut self,
        start: u64,
        sectors: u64,
        filling_segment: Option<usize>,
    ) -> Option<usize> {
        let segment = self.take_segment(filling_segment, false)?;
        if !self.ensure_memory(segment, sectors, filling_segment) {
            self.set_block_bounds(segment, 0, 0);
            self.memory.as_mut()?.add_empty_segment(segment);
            self.retire(segment);
            return None;
        }
        self.begin_segment_at(segment, start);
        Some(segment)
    }

    /// Allocates a segment, except `filling_segment`, for a written run from `start`.
    pub(crate) fn allocate_run(&mut self, start: u64, filling_segment: Option<usize>) -> Option<usize> {
        let segment = self.take_segment(filling_segment, true)?;
        self.begin_segment_at(segment, start);
        Some(segment)
    }

    /// Takes an empty segment, or the least recently used clean one and its shared memory; the caller clears its
    /// blocks.
    #[inline(always)]
    fn take_segment(&mut self, filling_segment: Option<usize>, for_write: bool) -> Option<usize> {
        let empty = self.memory.as_mut().and_then(|memory| memory.take_empty_segment(filling_segment));
        if empty.is_some() {
            return empty;
        }
        let segment = match self.reserved_for_writes {
            0 => self.oldest_clean_segment(filling_segment),
            _ => self.oldest_clean_of_kind(filling_segment, for_write),
        }?;
        if let Some(memory) = &mut self.memory {
            memory.free_memory(segment);
        }
        Some(segment)
    }

    /// Resets a segment that is in no row: it is empty and begins at block `start`.
    #[inline(always)]
    pub(super) fn reset_segment(&mut self, segment: usize, start: u64) {
        self.segments[segment] = Segment { bounds: (start, start), ..Segment::EMPTY };
        self.version = self.version.wrapping_add(1);
    }

    /// Empties a segment, which begins at block `start`, and makes it the most recently used.
    #[inline(always)]
    fn begin_segment_at(&mut self, segment: usize, start: u64) {
        self.set_block_bounds(segment, start, start);
        let Segment { bounds, next_in_row, .. } = self.segments[segment];
        self.segments[segment] = Segment { bounds, next_in_row, ..Segment::EMPTY };
        self.touch(segment);
    }

    /// Least recently used clean segment, except `filling_segment`. Remembers how many of the least recently used are
    /// dirty, so that the next search skips them.
    #[inline(always)]
    pub(super) fn oldest_clean_segment(&mut self, filling_segment: Option<usize>) -> Option<usize> {
        // Usually it is the first.
        let first = self.recency.oldest();
        if self.dirty.is_empty() && first != filling_segment {
            return first;
        }
        let mut next = self.clean_from.or(first);
        while next.is_some_and(|segment| self.is_dirty(segment)) {
            next = next.and_then(|segment| self.recency.next_newer(segment));
        }
        self.clean_from = next;
        // If the segment being filled is skipped, it stays the first of the clean ones.
        while next.is_some_and(|segment| self.is_dirty(segment) || Some(segment) == filling_segment) {
            next = next.and_then(|segment| self.recency.next_newer(segment));
        }
        next
    }

    /// Least recently used clean segment, except `filling_segment`: of those reserved for writes if `for_write`, else
    /// of the others.
    fn oldest_clean_of_kind(&self, filling_segment: Option<usize>, for_write: bool) -> Option<usize> {
        let is_free = |&segment: &usize| !self.is_dirty(segment) && Some(segment) != filling_segment;
        self.recency
            .oldest_first()
            .find(|segment| self.is_reserved_for_writes(*segment) == for_write && is_free(segment))
    }

    /// Caches blocks `lba..end` that were written to the medium, as many as a segment holds, unless newer ones of them
    /// are dirty. A clean segment that ends at `lba` takes them, or else a segment of their own.
    pub(crate) fn cache_written(&mut self, lba: u64, end: u64, filling_segment: Option<usize>) {
        if self.overlaps_dirty(lba, end) {
            return;
        }
        self.invalidate(lba, end);
        let ends_at_lba = |&segment: &usize| {
            let (start, stop) = self.block_bounds(segment);
            start < stop && stop == lba && !self.is_dirty(segment) && Some(segment) != filling_segment
        };
        let may_take_writes = |segment: &usize| self.reserved_for_writes == 0 || self.is_reserved_for_writes(*segment);
        let rows = [self.row_at(lba), self.row_at(lba).wrapping_sub(1)];
        let is_previous = |segment: &usize| ends_at_lba(segment) && may_take_writes(segment);
        let previous = rows.into_iter().flat_map(|row| self.segments_in_row(row)).find(is_previous);
        let segment = match previous {
            Some(segment) if self.ensure_memory(segment, end - self.block_bounds(segment).0, filling_segment) => {
                Some(segment)
            }
            _ if self.reserved_for_writes == 0 => self.allocate(lba, end - lba, filling_segment),
            _ => self.allocate_run(lba, filling_segment),
        };
        if let Some(segment) = segment {
            self.touch(segment);
            self.extend_segment(segment, end);
        }
    }

    /// Invalidates clean blocks in `lba..end`: cuts their segments short before them or forgets them, in the order of
    /// their first blocks.
    pub fn invalidate(&mut self, lba: u64, end: u64) {
        let first_row = lba.saturating_sub(self.segment_sectors) >> self.row_log2;
        for row in first_row..=end >> self.row_log2 {
            while let Some(segment) = self.first_clean_in_row(row, lba, end) {
                match self.block_bounds(segment).0 {
                    start if start < lba => self.truncate_segment(segment, lba),
                    _ => self.evict_segment(segment),
                }
            }
        }
    }

    /// The clean segment that begins first in `row` and holds any of `lba..end`.
    fn first_clean_in_row(&self, row: u64, lba: u64, end: u64) -> Option<usize> {
        let holds = |&segment: &usize| {
            let (start, stop) = self.block_bounds(segment);
            start >> self.row_log2 == row && start < end && lba < stop && !self.dirty.contains(segment)
        };
        self.segments_in_row(row).filter(holds).min_by_key(|&segment| (self.block_bounds(segment).0, segment))
    }

    /// Empties a segment, and makes it the first to be used again.
    #[inline(always)]
    pub(super) fn evict_segment(&mut self, segment: usize) {
        self.set_block_bounds(segment, 0, 0);
        match &mut self.memory {
            _ if self.recency.is_retired(segment) => {}
            Some(memory) => {
                memory.free_memory(segment);
                memory.add_empty_segment(segment);
                self.retire(segment);
            }
            None => self.make_first_to_evict(segment),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::piece::CachedWrite;
    use crate::rng::Seed;
    use crate::time::Instant;

    #[test]
    fn the_oldest_clean_segment_is_the_one_that_a_search_of_all_finds() {
        let mut random = Seed(14).stream("cache");
        let mut buffer = Buffer::new(12, 64, 12, 12);
        let mut found = 0;
        for step in 0..20_000u64 {
            let segment = random.below(12) as usize;
            match random.below(5) {
                0 if !buffer.is_dirty(segment) => {
                    let piece = CachedWrite { lba: step * 64, sectors: 8, stamp: step, arrived: Instant::ZERO };
                    buffer.set_block_bounds(segment, piece.lba, piece.lba);
                    buffer.write_piece(segment, piece, Instant::ZERO);
                }
                0 | 1 => buffer.touch(segment),
                2 if random.draw_chance(40) => buffer.mark_clean(segment),
                3 if !buffer.is_dirty(segment) => buffer.make_first_to_evict(segment),
                3 if random.draw_chance(10) => {
                    buffer.retire(segment);
                    buffer.touch(segment);
                }
                _ => {}
            }
            let filling = random.draw_chance(50).then(|| random.below(12) as usize);
            let free = |&segment: &usize| !buffer.is_dirty(segment) && Some(segment) != filling;
            let searched = buffer.recency.oldest_first().find(free);
            assert_eq!(buffer.oldest_clean_segment(filling), searched, "step {step}");
            found += u32::from(searched.is_some());
        }
        assert!((1_000..20_000).contains(&found), "{found}");
    }
}
