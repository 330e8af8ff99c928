//! Written blocks in the buffer that are not on the medium yet: what a write meets there, how runs of them grow, leave and
//! drain. When one is written out is `write_back`'s affair, which command waits for which is `electronics`'.
//!
//! A run lies in a segment of its own, or, where `cache.dirty_runs` says how many there may be, takes as much of the
//! buffer as it is long. A write that goes on where a run ends joins it; one of blocks in it takes their place. What is on its
//! way to the medium stays as it is: a write of the same blocks begins another run, which leaves after it. With `cache.fills_while_draining` a run is a ring:
//! while its first part is on its way to the medium its end may go on growing, and what has left it makes room.

use super::cache::Buffer;
use super::piece::{CachedWrite, DirtySegment, WriteAdmission};
use crate::time::Instant;

impl Buffer {
    /// How far a write of `lba..end` meets the same from its start: the inside of one dirty run, or none. What is on its way
    /// to the medium counts as none: a write of the same blocks goes to another segment, which leaves after it.
    pub fn meets_the_same(&self, lba: u64, end: u64) -> u64 {
        let open = self.dirty_about(lba, end).map(|segment| self.open(segment)).filter(|(from, to)| from < to);
        open.fold(end, |end, (from, to)| match from <= lba {
            true if lba < to => end.min(to),
            true => end,
            false => end.min(from),
        })
    }

    /// What of a dirty segment is not on its way to the medium.
    fn open(&self, segment: usize) -> (u64, u64) {
        let (start, stop) = self.span(segment);
        let leaving = self.dirty(segment).and_then(|dirty| dirty.leaving);
        (leaving.unwrap_or(start), stop)
    }

    /// What a write of `lba..end` meets that meets [the same](Buffer::meets_the_same) all along; segments below `fence` take
    /// no more (a flush waits for them). Of the segment on its way to the medium all before `passed` is there.
    pub fn room(&self, lba: u64, end: u64, fence: u64, passed: u64) -> WriteAdmission {
        let mut join = None;
        for segment in self.dirty_about(lba, end) {
            let (start, stop) = self.span(segment);
            let Some(dirty) = self.dirty(segment) else {
                continue;
            };
            let (from, to) = self.open(segment);
            if from <= lba && lba < to {
                return WriteAdmission::Within(segment);
            }
            let (serial, first) = match (dirty.leaving, dirty.tail) {
                (None, _) => (dirty.serial, start),
                (Some(until), Some((serial, _))) => (serial, start.max(passed.min(until))),
                (Some(until), None) => (self.next_serial(), start.max(passed.min(until))),
            };
            let open = dirty.leaving.is_none() || self.fills_while_draining();
            if open && stop == lba && serial >= fence && end - first <= self.dirty_sectors() {
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

    /// The dirty segments that hold any of `lba..end` or end where it begins. A run that grows while its first part leaves
    /// is no longer than two segments.
    fn dirty_about(&self, lba: u64, end: u64) -> impl Iterator<Item = usize> {
        let longest = self.segment_sectors() << u32::from(self.fills_while_draining());
        let first = self.row_of(lba.saturating_sub(longest));
        let last = if self.unwritten_segments().is_empty() { first } else { self.row_of(end) + 1 };
        let near = move |&segment: &usize| {
            let (start, stop) = self.span(segment);
            start < end && lba <= stop && self.is_dirty(segment)
        };
        (first..last).flat_map(move |row| self.in_row(row)).filter(near)
    }

    /// A written piece joins a segment that is dirty or becomes so.
    pub fn write(&mut self, segment: usize, piece: CachedWrite, now: Instant) {
        self.touch(segment);
        let (start, stop) = self.span(segment);
        let goes_on = self.continues(segment, piece.lba);
        let grew = self.unwritten_segments_mut().count_write(goes_on);
        self.set_span(segment, start, stop.max(piece.end()));
        self.writes_to(segment, piece.end());
        self.fills(segment, piece.end().saturating_sub(stop));
        self.unwritten_segments_mut().add(segment, piece, now, grew);
    }

    /// A write at `lba` into `segment` goes on where one ended: in it, or in another, which is then as long as it gets. Of
    /// that one the last block is a written one, on the medium or not: what a read brought is no stream of writes.
    fn continues(&mut self, segment: usize, lba: u64) -> bool {
        if self.is_dirty(segment) {
            return true;
        }
        let rows = [self.row_of(lba), self.row_of(lba).wrapping_sub(1)];
        let before = rows.into_iter().flat_map(|row| self.in_row(row)).find(|&other| {
            let (start, stop) = self.span(other);
            other != segment && start < stop && stop == lba && self.written_to(other) == lba
        });
        if let Some(before) = before {
            self.unwritten_segments_mut().ends(before);
        }
        before.is_some()
    }

    /// A stream of writes still fills the dirty segment.
    pub fn is_growing(&self, segment: usize) -> bool {
        let (start, stop) = self.span(segment);
        self.unwritten_segments().is_growing(segment, stop - start)
    }

    /// A dirty segment may be growing: none is when no write has joined one lately.
    pub fn any_may_grow(&self) -> bool {
        self.unwritten_segments().any_may_grow()
    }

    /// A write takes the place of blocks inside a dirty segment; `superseded` is told of each run that it replaces.
    pub fn overwrite(&mut self, segment: usize, piece: CachedWrite, superseded: impl FnMut(CachedWrite)) {
        self.touch(segment);
        self.unwritten_segments_mut().replace(segment, piece, superseded);
    }

    /// The dirty segment, if it is one.
    #[inline]
    pub fn dirty(&self, segment: usize) -> Option<&DirtySegment> {
        self.unwritten_segments().get(segment)
    }

    /// How far a dirty segment can be written out from its start at `now`, and when: of what is still on the link, as much
    /// as has arrived, in whole physical sectors of `unit` blocks where more follows. Where nothing has arrived, all of
    /// it as soon as it is there.
    pub fn ready(&self, segment: usize, now: Instant, unit: u64) -> (u64, Instant) {
        let (start, stop) = self.span(segment);
        let Some(dirty) = self.dirty(segment) else {
            return (stop, now);
        };
        let late = dirty.pieces.iter().find(|piece| piece.arrived > now);
        match late.map(|piece| piece.lba / unit * unit) {
            None => (stop, now),
            Some(until) if until > start => (until, now),
            Some(_) => (stop, dirty.pieces.iter().map(|piece| piece.arrived).fold(now, Instant::max)),
        }
    }

    /// A dirty segment is on its way to the medium as far as block `until`.
    pub fn leave(&mut self, segment: usize, until: u64) {
        let behind = self.span(segment).1 > until;
        self.unwritten_segments_mut().leave(segment, until, behind);
    }

    /// A segment's data are on the medium as far as block `until`. Where that is all, its blocks stay as clean ones, if
    /// written blocks serve reads; what lies behind is dirty as before. Answers whether anything does.
    pub fn drained(&mut self, segment: usize, until: u64) -> bool {
        let (start, stop) = self.span(segment);
        if until < stop && self.unwritten_segments_mut().goes_on_from(segment, until) {
            self.set_span(segment, until, stop);
            self.empties(segment, until - start);
            self.drop_stale(start, until);
            return true;
        }
        self.drop_dirty(segment);
        if !self.serves_written() {
            self.forget(segment);
            self.drop_stale(start, stop);
            return false;
        }
        // Written again meanwhile: another segment has what is newer.
        while let Some((from, to)) = self.dirty_over(segment) {
            self.invalidate(from, to);
        }
        false
    }

    /// Where no dirty block serves a read, a read-ahead may have brought what is now out of date.
    fn drop_stale(&mut self, start: u64, end: u64) {
        if !self.serves_written() {
            self.invalidate(start, end);
        }
    }

    /// A dirty run that holds blocks of a clean segment too.
    fn dirty_over(&self, segment: usize) -> Option<(u64, u64)> {
        let (start, stop) = self.span(segment);
        self.dirty_about(start, stop).map(|dirty| self.span(dirty)).find(|&(_, to)| start < to)
    }

    /// All dirty segments, the first to become dirty first.
    pub fn dirty_segments(&self) -> impl Iterator<Item = &DirtySegment> {
        self.unwritten_segments().all().map(|(_, dirty)| dirty)
    }

    /// Blocks of the dirty segments.
    pub fn unwritten(&self) -> u64 {
        let length = |segment: usize| self.span(segment).1 - self.span(segment).0;
        self.unwritten_segments().order().map(length).sum()
    }

    /// The dirty segments that may be destaged, the first to become dirty first.
    pub fn destageable(&self) -> impl Iterator<Item = (usize, &DirtySegment)> {
        self.unwritten_segments().all().filter(|(_, dirty)| !dirty.is_leaving())
    }

    /// The first of them that begins at block `lba`.
    pub fn destageable_at(&self, lba: u64) -> Option<usize> {
        let begins = self.in_row(self.row_of(lba)).filter(|&segment| self.span(segment).0 == lba);
        let dirty = begins.filter_map(|segment| Some((self.dirty(segment)?, segment)));
        let first = dirty.filter(|(dirty, _)| !dirty.is_leaving()).min_by_key(|(dirty, _)| dirty.serial);
        first.map(|(_, segment)| segment)
    }

    /// The dirty segments from the number `serial` on, the first to become dirty first.
    pub fn dirty_from(&self, serial: u64) -> impl Iterator<Item = (usize, &DirtySegment)> {
        self.unwritten_segments().from(serial)
    }

    /// Changes whenever a dirty segment is closed or gone.
    pub fn left(&self) -> u64 {
        self.unwritten_segments().left()
    }

    /// True when a dirty segment holds any of `lba..end`.
    pub fn overlaps_dirty(&self, lba: u64, end: u64) -> bool {
        self.dirty_about(lba, end).any(|segment| lba < self.span(segment).1)
    }

    /// Dirty segments.
    #[inline]
    pub fn dirty_count(&self) -> usize {
        self.unwritten_segments().count()
    }

    /// Blocks that a dirty segment may have.
    pub fn dirty_sectors(&self) -> u64 {
        self.unwritten_segments().longest()
    }

    /// No more segments may become dirty, or none that is as long as it may get.
    pub fn is_full(&self) -> bool {
        self.unwritten_segments().is_full() || !self.has_memory_for(self.dirty_sectors())
    }

    /// So many more segments may become dirty.
    pub fn free_runs(&self) -> usize {
        self.unwritten_segments().free()
    }

    /// The number that the next segment to become dirty will have.
    pub fn next_serial(&self) -> u64 {
        self.unwritten_segments().next_serial()
    }

    /// The lowest number among the dirty segments.
    pub fn oldest_serial(&self) -> Option<u64> {
        self.unwritten_segments().oldest_serial()
    }
}
