//! What is in the buffer and not on the medium yet: runs of written blocks, how they grow, leave and drain. When one is
//! written out is the firmware's affair, which command waits for which is `queuing`'s.
//!
//! A run lies in a segment of its own, or, where `cache.dirty_runs` says how many there may be, takes as much of the
//! buffer as it is long. A write that goes on where a run ends joins it; one of blocks in it takes their place. What is on its
//! way to the medium stays as it is: a write of the same blocks begins another run, which leaves after it. With `cache.fills_while_draining` a run is a ring:
//! while its first part is on its way to the medium its end may go on growing, and what has left it makes room.

use super::cache::Buffer;
use super::piece::{Dirty, Piece, Room};
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
        let leaving = self.dirty[segment].as_ref().and_then(|dirty| dirty.leaving);
        (leaving.unwrap_or(start), stop)
    }

    /// What a write of `lba..end` meets that meets [the same](Buffer::meets_the_same) all along; segments below `fence` take
    /// no more (a flush waits for them). Of the segment on its way to the medium all before `passed` is there.
    pub fn room(&self, lba: u64, end: u64, fence: u64, passed: u64) -> Room {
        let mut join = None;
        for segment in self.dirty_about(lba, end) {
            let (start, stop) = self.span(segment);
            let Some(dirty) = &self.dirty[segment] else {
                continue;
            };
            let (from, to) = self.open(segment);
            if from <= lba && lba < to {
                return Room::Within(segment);
            }
            let (serial, first) = match (dirty.leaving, dirty.tail) {
                (None, _) => (dirty.serial, start),
                (Some(until), Some((serial, _))) => (serial, start.max(passed.min(until))),
                (Some(until), None) => (self.serial, start.max(passed.min(until))),
            };
            let open = dirty.leaving.is_none() || self.fills_while_draining;
            if open && stop == lba && serial >= fence && end - first <= self.dirty_sectors {
                join = Some(segment);
            }
        }
        match join {
            _ if !self.has_memory_for(end - lba) => Room::Wait,
            Some(segment) => Room::Join(segment),
            None if self.order.len() < self.dirty_limit as usize => Room::New,
            None => Room::Wait,
        }
    }

    /// The dirty segments that hold any of `lba..end` or end where it begins. A run that grows while its first part leaves
    /// is no longer than two segments.
    fn dirty_about(&self, lba: u64, end: u64) -> impl Iterator<Item = usize> {
        let longest = self.segment_sectors << u32::from(self.fills_while_draining);
        let first = lba.saturating_sub(longest) >> self.row;
        let last = if self.order.is_empty() { first } else { (end >> self.row) + 1 };
        let near = move |&segment: &usize| {
            let (start, stop) = self.span(segment);
            start < end && lba <= stop && self.is_dirty(segment)
        };
        (first..last).flat_map(move |row| self.in_row(row)).filter(near)
    }

    /// A written piece joins a segment that is dirty or becomes so.
    pub fn write(&mut self, segment: usize, piece: Piece, now: Instant) {
        self.touch(segment);
        let (start, stop) = self.span(segment);
        let grew = self.continues(segment, piece.lba).then_some(self.writes);
        self.grew = grew.or(self.grew);
        self.writes += 1;
        self.set_span(segment, start, stop.max(piece.end()));
        self.fills(segment, piece.end().saturating_sub(stop));
        let serial = self.serial;
        if let Some(dirty) = &mut self.dirty[segment] {
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
        self.dirty[segment] = Some(Dirty { pieces, since: now, serial, leaving: None, tail: None, grew });
        self.order.push(segment);
        self.serial += 1;
    }

    /// A write at `lba` into `segment` goes on where one ended: in it, or in another, which is then as long as it gets.
    fn continues(&mut self, segment: usize, lba: u64) -> bool {
        if self.is_dirty(segment) {
            return true;
        }
        let rows = [lba >> self.row, (lba >> self.row).wrapping_sub(1)];
        let before = rows.into_iter().flat_map(|row| self.in_row(row)).find(|&other| {
            let (start, stop) = self.span(other);
            other != segment && start < stop && stop == lba
        });
        if let Some(dirty) = before.and_then(|before| self.dirty[before].as_mut()) {
            dirty.grew = None;
        }
        before.is_some()
    }

    /// A stream of writes still fills the dirty segment: one of the last few writes, as many as segments may be dirty,
    /// joined it, and it has room for another block.
    ///
    /// Inferred, for makers do not say it; that a part written early costs the stream a revolution is geometry. With that
    /// many writes each of as many streams as there is room for has had its turn; whoever has not come again has left.
    pub fn is_growing(&self, segment: usize) -> bool {
        let (start, stop) = self.span(segment);
        let grew = self.dirty[segment].as_ref().and_then(|dirty| dirty.grew);
        stop - start < self.dirty_sectors && self.is_late(grew)
    }

    /// A dirty segment may be growing: none is when no write has joined one lately.
    pub fn any_may_grow(&self) -> bool {
        self.is_late(self.grew)
    }

    /// A write of that number is one of the last few.
    fn is_late(&self, write: Option<u64>) -> bool {
        write.is_some_and(|write| self.writes - write <= u64::from(self.dirty_limit))
    }

    /// A write takes the place of blocks inside a dirty segment; `superseded` is told of each run that it replaces.
    pub fn overwrite(&mut self, segment: usize, piece: Piece, mut superseded: impl FnMut(Piece)) {
        self.touch(segment);
        let Some(dirty) = &mut self.dirty[segment] else {
            return;
        };
        let mut kept = self.spare.pop().unwrap_or_default();
        for old in dirty.pieces.drain(..) {
            let (from, to) = (old.lba.max(piece.lba), old.end().min(piece.end()));
            if from >= to {
                kept.push(old);
                continue;
            }
            superseded(Piece { lba: from, sectors: (to - from) as u32, ..old });
            if old.lba < from {
                kept.push(Piece { sectors: (from - old.lba) as u32, ..old });
            }
            if to < old.end() {
                kept.push(Piece { lba: to, sectors: (old.end() - to) as u32, ..old });
            }
        }
        kept.push(piece);
        kept.sort_unstable_by_key(|piece| piece.lba);
        self.spare.push(core::mem::replace(&mut dirty.pieces, kept));
    }

    /// The dirty segment, if it is one.
    pub fn dirty(&self, segment: usize) -> Option<&Dirty> {
        self.dirty[segment].as_ref()
    }

    /// How far a dirty segment can be written out from its start at `now`, and when: of what is still on the link, as much
    /// as has arrived, in whole physical sectors of `unit` blocks where more follows. Where nothing has arrived, all of
    /// it as soon as it is there.
    pub fn ready(&self, segment: usize, now: Instant, unit: u64) -> (u64, Instant) {
        let (start, stop) = self.span(segment);
        let Some(dirty) = &self.dirty[segment] else {
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
        if let Some(dirty) = &mut self.dirty[segment] {
            dirty.leaving = Some(until);
            dirty.tail = behind.then_some((dirty.serial, dirty.since));
            self.left += 1;
        }
    }

    /// A segment's data are on the medium as far as block `until`. Where that is all, its blocks stay as clean ones; what
    /// lies behind is dirty as before. Answers whether anything does.
    pub fn drained(&mut self, segment: usize, until: u64) -> bool {
        let (start, stop) = self.span(segment);
        let Some((serial, since)) = self.dirty[segment].as_ref().and_then(|dirty| dirty.tail).filter(|_| until < stop)
        else {
            self.drop_dirty(segment);
            // Written again meanwhile: another segment has what is newer.
            while let Some((from, to)) = self.dirty_over(segment) {
                self.invalidate(from, to);
            }
            return false;
        };
        self.set_span(segment, until, stop);
        self.empties(segment, until - start);
        self.order.retain(|&other| other != segment);
        let place =
            self.order.partition_point(|&other| self.dirty[other].as_ref().is_some_and(|it| it.serial < serial));
        self.order.insert(place, segment);
        if let Some(dirty) = &mut self.dirty[segment] {
            dirty.pieces.retain(|piece| piece.end() > until);
            if let Some(piece) = dirty.pieces.first_mut().filter(|piece| piece.lba < until) {
                *piece = Piece { lba: until, sectors: (piece.end() - until) as u32, ..*piece };
            }
            (dirty.serial, dirty.since, dirty.leaving, dirty.tail) = (serial, since, None, None);
        }
        true
    }

    /// A dirty run that holds blocks of a clean segment too.
    fn dirty_over(&self, segment: usize) -> Option<(u64, u64)> {
        let (start, stop) = self.span(segment);
        self.dirty_about(start, stop).map(|dirty| self.span(dirty)).find(|&(_, to)| start < to)
    }

    /// A segment's data are on the medium, or lost; its blocks stay as clean ones.
    pub fn drop_dirty(&mut self, segment: usize) {
        if let Some(mut dirty) = self.dirty[segment].take() {
            // One that was leaving has been counted.
            self.left += u64::from(dirty.leaving.is_none());
            dirty.pieces.clear();
            self.spare.push(dirty.pieces);
            self.order.retain(|&other| other != segment);
            self.cleans(segment);
            self.comes_clean();
        }
    }

    /// All dirty segments, the first to become dirty first.
    pub fn dirty_segments(&self) -> impl Iterator<Item = &Dirty> {
        self.order.iter().filter_map(|&segment| self.dirty[segment].as_ref())
    }

    /// Blocks of the dirty segments.
    pub fn unwritten(&self) -> u64 {
        self.order.iter().map(|&segment| self.spans[segment].1 - self.spans[segment].0).sum()
    }

    /// The dirty segments that may be destaged, the first to become dirty first.
    pub fn destageable(&self) -> impl Iterator<Item = (usize, &Dirty)> {
        let dirty = self.order.iter().filter_map(|&segment| Some((segment, self.dirty[segment].as_ref()?)));
        dirty.filter(|(_, dirty)| !dirty.is_leaving())
    }

    /// The dirty segments from the number `serial` on, the first to become dirty first.
    pub fn dirty_from(&self, serial: u64) -> impl Iterator<Item = (usize, &Dirty)> {
        let dirty = |segment: usize| self.dirty[segment].as_ref();
        let first = self.order.partition_point(|&segment| dirty(segment).is_some_and(|dirty| dirty.serial < serial));
        self.order[first..].iter().filter_map(move |&segment| Some((segment, dirty(segment)?)))
    }

    /// Changes whenever a dirty segment is closed or gone.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// True when a dirty segment holds any of `lba..end`.
    pub fn overlaps_dirty(&self, lba: u64, end: u64) -> bool {
        self.dirty_about(lba, end).any(|segment| lba < self.spans[segment].1)
    }

    /// Dirty segments.
    pub fn dirty_count(&self) -> usize {
        self.order.len()
    }

    /// No more segments may become dirty, or none that is as long as it may get.
    pub fn is_full(&self) -> bool {
        self.order.len() >= self.dirty_limit as usize || !self.has_memory_for(self.dirty_sectors)
    }

    /// The number that the next segment to become dirty will have.
    pub fn next_serial(&self) -> u64 {
        self.serial
    }

    /// The lowest number among the dirty segments.
    pub fn oldest_serial(&self) -> Option<u64> {
        self.order.first().and_then(|&segment| self.dirty[segment].as_ref()).map(|dirty| dirty.serial)
    }
}
