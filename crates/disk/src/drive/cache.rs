//! The segmented buffer: which blocks it holds, and which are evicted. `dirty_blocks` handles blocks that are not on the
//! medium yet; the firmware decides when blocks arrive and leave.
//!
//! Segments are equal; each holds a run of consecutive blocks. A segment that a prefetch fills counts as holding all
//! that the prefetch will bring; the stream knows when each block arrives. The least recently used segment is replaced
//! first, never the one being filled or a dirty one. The buffer can be divided anew; `segmentation` decides into how
//! many segments. If written runs take only as much memory as they are long (`segment_store`), there are more segments than
//! memory for them, and the least recently used lose theirs. Some segments can be reserved for writes; the profile's
//! `written_hits` says which written blocks serve reads.

use alloc::vec::Vec;

use super::dirty_segments::DirtySegments;
use super::profile::{CacheSpec, WrittenHits};
use super::segment_store::SegmentStore;
use crate::recency::LruList;

/// Result of a buffer lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferLookup {
    /// All in this segment (or promised to it by the prefetch).
    Hit(usize),
    /// Begins in this segment, or right after it, and extends past its end.
    Extends(usize),
    /// Not in the buffer.
    Miss,
}

/// No segment.
const NONE: u32 = u32::MAX;

/// The buffer.
#[derive(Clone, Debug)]
pub struct Buffer {
    segment_sectors: u64,
    segments: Vec<Segment>,
    /// Segments that hold anything, by the row of `1 << row` blocks in which they begin: the first of a list for each
    /// row (its number modulo `rows.len()`), linked by `following`. No segment is longer than a row, so those that may
    /// hold a block begin in its row or the one before.
    rows: Vec<u32>,
    row: u32,
    /// Changes with the contents; it is only compared for equality.
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
    apart: usize,
    /// Memory shared by segments, if written runs take only what they need.
    pub(super) memory: Option<SegmentStore>,
}

/// A segment of the buffer.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// First block and the block after the last.
    span: (u64, u64),
    /// Last read from it: the block after it, and the number of reads in its sequential run.
    reader: (u64, u32),
    /// Next segment in its row.
    following: u32,
    /// Block after the last write into it.
    writer: u64,
}

impl Segment {
    /// A segment without blocks.
    const EMPTY: Segment = Segment { span: (0, 0), reader: (u64::MAX, 0), following: NONE, writer: u64::MAX };
}

/// How the buffer is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    pub segments: u32,
    /// Blocks of each segment.
    pub sectors: u32,
    /// Segments that may be dirty.
    pub dirty: u32,
}

impl Buffer {
    /// Returns the empty buffer of a profile.
    pub fn from_spec(cache: &CacheSpec) -> Buffer {
        let most = cache.adaptive.map_or(cache.segments, |it| it.most);
        let apart = if cache.writes_apart { cache.dirty_segments.min(cache.segments.saturating_sub(1)) } else { 0 };
        let dirty = if apart > 0 { apart } else { cache.dirty_segments };
        let buffer = match cache.dirty_runs {
            None => Buffer::new(cache.segments, cache.segment_sectors, dirty, most),
            Some(runs) => Buffer::with_dirty_runs(cache, runs),
        };
        Buffer {
            fills_while_draining: cache.fills_while_draining,
            serves_written: cache.written_hits != WrittenHits::None,
            apart: apart as usize,
            ..buffer
        }
    }

    /// Returns a buffer with at most `runs` dirty runs, each taking as much memory as it is long.
    fn with_dirty_runs(cache: &CacheSpec, runs: u32) -> Buffer {
        let n = cache.segments + runs;
        let mut buffer = Buffer::new(n, cache.segment_sectors, runs, n);
        (0..n as usize).for_each(|segment| buffer.recency.retire(segment));
        buffer.memory = Some(SegmentStore::from_spec(cache, n));
        buffer
    }

    /// Returns a buffer of `segments` of `segment_sectors` blocks, at most `dirty_limit` of them dirty; never more than `most` segments.
    fn new(segments: u32, segment_sectors: u32, dirty_limit: u32, most: u32) -> Buffer {
        let n = most.max(segments) as usize;
        let mut buffer = Buffer {
            segment_sectors: u64::from(segment_sectors),
            segments: alloc::vec![Segment::EMPTY; n],
            rows: alloc::vec![NONE; (2 * n).next_power_of_two().max(2)],
            row: segment_sectors.max(1).next_power_of_two().ilog2(),
            version: 0,
            recency: LruList::new(n),
            clean_from: None,
            dirty: DirtySegments::new(n, dirty_limit, u64::from(segment_sectors)),
            fills_while_draining: false,
            serves_written: true,
            apart: 0,
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
        segment < self.apart
    }

    /// Row of `lba`.
    #[inline]
    pub(super) fn row_at(&self, lba: u64) -> u64 {
        lba >> self.row
    }

    /// Limits the number and length of dirty segments ahead of a division.
    pub(crate) fn tighten_dirty_limits(&mut self, division: &Division) {
        self.dirty.tighten_limits(division.dirty, self.segment_sectors.min(u64::from(division.sectors)));
    }

    /// Divides the buffer into other segments. Contents stay as far as they fit: the most recently used clean segments,
    /// and of each clean segment the last blocks. Returns false, with nothing changed, if more is dirty than the
    /// division allows or `filling` is too long for it.
    pub fn divide(&mut self, division: &Division, filling: Option<usize>) -> bool {
        let sectors = u64::from(division.sectors);
        let long = |segment: usize| self.segment_length(segment) > sectors;
        let n = division.segments as usize;
        let bound = self.dirty.count() + usize::from(filling.is_some_and(|segment| !self.is_dirty(segment)));
        let crowded = self.dirty.count() > division.dirty as usize || bound > n;
        if crowded || self.dirty.by_age().chain(filling).any(long) {
            return false;
        }
        let mut live = self.recency.oldest_first().count();
        while live > n {
            let Some(segment) = self.oldest_clean(filling) else { return false };
            self.evict_segment(segment);
            self.retire(segment);
            live -= 1;
        }
        for segment in 0..self.segments.len() {
            if live < n && self.recency.is_retired(segment) {
                self.demote(segment);
                live += 1;
            }
        }
        self.segment_sectors = sectors;
        self.dirty.set_limits(division.dirty, sectors);
        self.rebuild_rows();
        true
    }

    /// Cuts segments to the new length and rebuilds the rows.
    fn rebuild_rows(&mut self) {
        self.row = self.segment_sectors.max(1).next_power_of_two().ilog2();
        self.rows.fill(NONE);
        for segment in 0..self.segments.len() {
            let (start, end) = core::mem::take(&mut self.segments[segment].span);
            if start == end {
                continue;
            }
            self.set_span(segment, start.max(end.saturating_sub(self.segment_sectors)), end);
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
        let known = |segment: u32| (segment != NONE).then_some(segment);
        let segments = core::iter::successors(known(first), move |&last| known(self.segments[last as usize].following));
        segments.map(|segment| segment as usize)
    }

    /// Looks up `lba..end`. A segment that holds all of it is preferred to one that holds its start, and one that
    /// begins later to one that begins earlier.
    #[inline(always)]
    pub fn look_up(&self, lba: u64, end: u64) -> BufferLookup {
        let row = (lba >> self.row) as usize;
        let mask = self.rows.len() - 1;
        match [self.rows[row & mask], self.rows[row.wrapping_sub(1) & mask]] {
            [NONE, NONE] => BufferLookup::Miss,
            near => self.look_up_in_rows(near, lba, end),
        }
    }

    /// Looks up `lba..end` in the lists that start with the segments `rows`.
    fn look_up_in_rows(&self, rows: [u32; 2], lba: u64, end: u64) -> BufferLookup {
        let mut best: Option<(bool, u64, usize)> = None;
        for mut next in rows {
            while next != NONE {
                let segment = next as usize;
                let Segment { span: (start, stop), following, .. } = self.segments[segment];
                if start <= lba && lba <= stop && self.may_serve(segment, end <= stop) {
                    best = best.max(Some((end <= stop, start, segment)));
                }
                next = following;
            }
        }
        match best {
            None => BufferLookup::Miss,
            Some((true, _, segment)) => BufferLookup::Hit(segment),
            Some((false, _, segment)) => BufferLookup::Extends(segment),
        }
    }

    /// True if a segment may serve a read of which it holds the `whole`, or else the start.
    #[inline]
    fn may_serve(&self, segment: usize, whole: bool) -> bool {
        (self.serves_written || !self.dirty.contains(segment)) && (whole || !self.is_reserved_for_writes(segment))
    }

    /// Sets the blocks of a segment and its place in the rows.
    #[inline(always)]
    pub(super) fn set_span(&mut self, segment: usize, start: u64, end: u64) {
        let (before, stop) = core::mem::replace(&mut self.segments[segment].span, (start, end));
        let (was, is) = (before < stop, start < end);
        self.version = self.version.wrapping_add(1);
        if was && is && before == start {
            return;
        }
        if was {
            self.unlink_from_row(segment, before >> self.row);
        }
        if is {
            let place = (start >> self.row) as usize & (self.rows.len() - 1);
            self.segments[segment].following = core::mem::replace(&mut self.rows[place], segment as u32);
        }
    }

    #[inline(always)]
    fn unlink_from_row(&mut self, segment: usize, row: u64) {
        let place = row as usize & (self.rows.len() - 1);
        let after = self.segments[segment].following;
        if self.rows[place] == segment as u32 {
            self.rows[place] = after;
            return;
        }
        let before = self.segments_in_row(row).find(|&other| self.segments[other].following == segment as u32);
        self.segments[before.expect("a segment stands in its row")].following = after;
    }

    /// Blocks of a segment: the first, and the one after the last.
    #[inline]
    pub fn span(&self, segment: usize) -> (u64, u64) {
        self.segments[segment].span
    }

    /// Number of blocks in a segment.
    #[inline]
    fn segment_length(&self, segment: usize) -> u64 {
        let (start, end) = self.span(segment);
        end - start
    }

    /// Notes that the host reads `lba..end` from a segment. Returns the number of reads in the sequential run that it
    /// continues or begins.
    #[inline]
    pub fn record_read(&mut self, segment: usize, lba: u64, end: u64) -> u32 {
        let reader = &mut self.segments[segment].reader;
        let run = if reader.0 == lba { reader.1.saturating_add(1) } else { 1 };
        *reader = (end, run);
        run
    }

    /// Block after the last write into a segment; `u64::MAX` without one.
    pub(super) fn last_write_end(&self, segment: usize) -> u64 {
        self.segments[segment].writer
    }

    /// Notes that a write into a segment ends at `end`.
    pub(super) fn record_write_end(&mut self, segment: usize, end: u64) {
        self.segments[segment].writer = end;
    }

    /// Makes a segment the first to be replaced.
    pub(crate) fn make_first_to_evict(&mut self, segment: usize) {
        self.demote(segment);
    }

    /// Makes a segment the most recently used.
    #[inline(always)]
    pub fn touch(&mut self, segment: usize) {
        self.update_clean_from(segment);
        self.recency.touch(segment);
    }

    /// Makes a segment the least recently used.
    fn demote(&mut self, segment: usize) {
        self.recency.demote(segment);
        self.clean_from = Some(segment);
    }

    /// Removes a segment from the LRU list.
    #[inline(always)]
    pub(super) fn retire(&mut self, segment: usize) {
        self.update_clean_from(segment);
        self.recency.retire(segment);
    }

    /// Keeps `clean_from` right before a segment leaves its place in the LRU list.
    #[inline(always)]
    fn update_clean_from(&mut self, segment: usize) {
        if self.clean_from == Some(segment) {
            self.clean_from = self.recency.next_newer(segment);
        }
    }

    /// Marks a segment as clean: its data are on the medium, or lost.
    pub fn mark_clean(&mut self, segment: usize) {
        if self.dirty.drop(segment) {
            if let Some(memory) = &mut self.memory {
                memory.subtract_dirty(segment);
            }
            // The segment may stand anywhere in the LRU list.
            self.clean_from = None;
        }
    }

    /// Extends a segment to `end`; a segment is a ring, its first blocks give way.
    #[inline(always)]
    pub(crate) fn extend_segment(&mut self, segment: usize, end: u64) {
        let start = self.span(segment).0;
        let longest = if self.memory.is_none() { self.segment_sectors } else { self.grow_to_fit(segment, end - start) };
        self.set_span(segment, start.max(end.saturating_sub(longest)), end);
    }

    /// Extends a segment back to `start`.
    pub(crate) fn extend_back(&mut self, segment: usize, start: u64) {
        let (before, end) = self.span(segment);
        self.set_span(segment, start.min(before), end.max(before));
    }

    /// Removes the blocks from `end` on.
    #[inline(always)]
    pub(crate) fn truncate_segment(&mut self, segment: usize, end: u64) {
        let (start, stop) = self.span(segment);
        self.set_span(segment, start, stop.min(end).max(start));
        self.trim_memory(segment);
    }

    /// True when the segment holds unwritten data.
    pub fn is_dirty(&self, segment: usize) -> bool {
        self.dirty.contains(segment)
    }

    /// Allocates the least recently used clean segment, except `filling`, for `sectors` from `start`.
    #[inline]
    pub fn allocate(&mut self, start: u64, sectors: u64, filling: Option<usize>) -> Option<usize> {
        let handed = self.reuse_oldest_memory(start, sectors, filling);
        if handed.is_some() { handed } else { self.allocate_step_by_step(start, sectors, filling) }
    }

    /// Allocates step by step, if the fast path does not apply.
    pub(super) fn allocate_step_by_step(&mut self, start: u64, sectors: u64, filling: Option<usize>) -> Option<usize> {
        let segment = self.take_segment(filling, false)?;
        if !self.ensure_memory(segment, sectors, filling) {
            self.set_span(segment, 0, 0);
            self.memory.as_mut()?.add_empty(segment);
            self.retire(segment);
            return None;
        }
        self.assign_segment(segment, start)
    }

    /// Allocates a segment, except `filling`, for a written run from `start`.
    pub(crate) fn allocate_run(&mut self, start: u64, filling: Option<usize>) -> Option<usize> {
        let segment = self.take_segment(filling, true)?;
        self.assign_segment(segment, start)
    }

    /// Takes an empty segment, or the least recently used clean one and its shared memory; the caller clears its
    /// blocks.
    #[inline(always)]
    fn take_segment(&mut self, filling: Option<usize>, written: bool) -> Option<usize> {
        let empty = self.memory.as_mut().and_then(|memory| memory.take_empty(filling));
        if empty.is_some() {
            return empty;
        }
        let segment = match self.apart {
            0 => self.oldest_clean(filling),
            _ => self.oldest_clean_of_kind(filling, written),
        }?;
        if let Some(memory) = &mut self.memory {
            memory.free_memory(segment);
        }
        Some(segment)
    }

    /// Resets a segment to an empty span at `start`.
    #[inline(always)]
    pub(super) fn reset_segment(&mut self, segment: usize, start: u64) {
        self.segments[segment] = Segment { span: (start, start), ..Segment::EMPTY };
        self.version = self.version.wrapping_add(1);
    }

    #[inline(always)]
    fn assign_segment(&mut self, segment: usize, start: u64) -> Option<usize> {
        self.set_span(segment, start, start);
        let place = &mut self.segments[segment];
        (place.reader, place.writer) = (Segment::EMPTY.reader, Segment::EMPTY.writer);
        self.touch(segment);
        Some(segment)
    }

    /// Least recently used clean segment, except `filling`. Segments found dirty are not looked at again until one is
    /// cleaned.
    #[inline(always)]
    pub(super) fn oldest_clean(&mut self, filling: Option<usize>) -> Option<usize> {
        // Usually it is the first.
        let first = self.recency.oldest();
        if self.dirty.is_empty() && first != filling {
            return first;
        }
        let mut next = self.clean_from.or(first);
        while next.is_some_and(|segment| self.is_dirty(segment)) {
            next = next.and_then(|segment| self.recency.next_newer(segment));
        }
        self.clean_from = next;
        // A skipped `filling` stays the first of the clean ones.
        while next.is_some_and(|segment| self.is_dirty(segment) || Some(segment) == filling) {
            next = next.and_then(|segment| self.recency.next_newer(segment));
        }
        next
    }

    /// Least recently used clean segment, except `filling`: of those reserved for writes if `written`, else of the others.
    fn oldest_clean_of_kind(&self, filling: Option<usize>, written: bool) -> Option<usize> {
        let free = |&segment: &usize| !self.is_dirty(segment) && Some(segment) != filling;
        self.recency.oldest_first().find(|segment| self.is_reserved_for_writes(*segment) == written && free(segment))
    }

    /// Caches blocks `lba..end` that were written to the medium, as many as a segment holds, unless newer ones of them
    /// are dirty, and appends them to a clean segment that ends at `lba`, if there is one.
    pub(crate) fn cache_written(&mut self, lba: u64, end: u64, filling: Option<usize>) {
        if self.overlaps_dirty(lba, end) {
            return;
        }
        self.invalidate(lba, end);
        let behind = |&segment: &usize| {
            let (start, stop) = self.span(segment);
            start < stop && stop == lba && !self.is_dirty(segment) && Some(segment) != filling
        };
        let kind = |segment: &usize| self.apart == 0 || self.is_reserved_for_writes(*segment);
        let rows = [self.row_at(lba), self.row_at(lba).wrapping_sub(1)];
        let before =
            rows.into_iter().flat_map(|row| self.segments_in_row(row)).find(|segment| behind(segment) && kind(segment));
        let segment = match before {
            Some(segment) if self.ensure_memory(segment, end - self.span(segment).0, filling) => Some(segment),
            _ if self.apart == 0 => self.allocate(lba, end - lba, filling),
            _ => self.allocate_run(lba, filling),
        };
        if let Some(segment) = segment {
            self.touch(segment);
            self.extend_segment(segment, end);
        }
    }

    /// Invalidates clean blocks in `lba..end`: cuts their segments short before them or forgets them, in the order of
    /// their first blocks.
    pub fn invalidate(&mut self, lba: u64, end: u64) {
        let first = lba.saturating_sub(self.segment_sectors) >> self.row;
        for row in first..=end >> self.row {
            while let Some(segment) = self.first_clean_in_row(row, lba, end) {
                match self.span(segment).0 {
                    start if start < lba => self.truncate_segment(segment, lba),
                    _ => self.evict_segment(segment),
                }
            }
        }
    }

    /// The clean segment that begins first in `row` and holds any of `lba..end`.
    fn first_clean_in_row(&self, row: u64, lba: u64, end: u64) -> Option<usize> {
        let holds = |&segment: &usize| {
            let (start, stop) = self.span(segment);
            start >> self.row == row && start < end && lba < stop && !self.dirty.contains(segment)
        };
        self.segments_in_row(row).filter(holds).min_by_key(|&segment| (self.span(segment).0, segment))
    }

    #[inline(always)]
    pub(super) fn evict_segment(&mut self, segment: usize) {
        self.set_span(segment, 0, 0);
        match &mut self.memory {
            _ if self.recency.is_retired(segment) => {}
            Some(memory) => {
                memory.free_memory(segment);
                memory.add_empty(segment);
                self.retire(segment);
            }
            None => self.demote(segment),
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
                    buffer.set_span(segment, piece.lba, piece.lba);
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
            assert_eq!(buffer.oldest_clean(filling), searched, "step {step}");
            found += u32::from(searched.is_some());
        }
        assert!((1_000..20_000).contains(&found), "{found}");
    }
}
