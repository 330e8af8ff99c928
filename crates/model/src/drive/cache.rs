//! The segmented buffer: which blocks it holds, which of them are not on the medium yet, and who gives way. When
//! blocks arrive and leave is the firmware's affair.
//!
//! Equal segments, each a run of consecutive blocks. A segment being filled by a prefetch counts as holding all that
//! the prefetch is to bring; the stream says from when on. Segments are replaced in the order of their last use, the
//! one being filled and the dirty ones never. The buffer can be divided anew; into how many segments is for
//! `segmentation` to say.

use alloc::vec::Vec;

use crate::recency::Recency;
use crate::time::Instant;

/// How a wanted run of blocks stands to the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// All in this segment (or promised to it by the prefetch).
    Hit(usize),
    /// Begins in this segment, or right behind it, and goes on past its end.
    Extends(usize),
    /// Not in the buffer.
    Miss,
}

/// No segment.
const NONE: u32 = u32::MAX;

/// A run written by one request and not yet on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First block.
    pub lba: u64,
    /// Blocks.
    pub sectors: u32,
    /// The stamp of the write.
    pub stamp: u64,
}

impl Piece {
    fn end(&self) -> u64 {
        self.lba + u64::from(self.sectors)
    }
}

/// A dirty segment.
#[derive(Clone, Debug)]
pub struct Dirty {
    /// Its pieces in LBA order, without gaps.
    pub pieces: Vec<Piece>,
    /// Since when it is dirty.
    pub since: Instant,
    /// All its data are in the buffer from here on.
    pub arrived: Instant,
    /// Numbers dirty segments in the order in which they became so.
    pub serial: u64,
    /// On its way to the medium: closed.
    pub leaving: bool,
    /// The number of the last write that joined it, or began it where another had ended.
    grew: Option<u64>,
}

/// The buffer.
#[derive(Clone, Debug)]
pub struct Buffer {
    segment_sectors: u64,
    /// Blocks that a dirty segment may grow to: fewer while the buffer waits to be divided into shorter segments.
    dirty_sectors: u64,
    /// First block and the block after the last, of each segment.
    spans: Vec<(u64, u64)>,
    /// The last read from each segment: the block behind it, and how many in a row it was the last of.
    readers: Vec<(u64, u32)>,
    /// The segments that hold anything, by the row of `1 << row` blocks in which they begin: a list for each row (its
    /// number modulo `rows.len()`), going on in `following`. None is longer than a row, so those that may hold a block
    /// begin in its row or the one before.
    rows: Vec<u32>,
    following: Vec<u32>,
    row: u32,
    /// Counts the changes of what is in the buffer.
    version: u64,
    recency: Recency,
    dirty: Vec<Option<Dirty>>,
    /// Dirty segments, the first to become so first.
    order: Vec<usize>,
    /// Kept allocations of pieces.
    spare: Vec<Vec<Piece>>,
    dirty_limit: u32,
    serial: u64,
    /// How many dirty segments have been closed or dropped.
    left: u64,
    /// Writes so far.
    writes: u64,
}

/// How the buffer is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    /// Segments.
    pub segments: u32,
    /// Blocks of each.
    pub sectors: u32,
    /// Segments that may be dirty.
    pub dirty: u32,
}

/// What a cached write meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Joins the dirty segment whose end it continues.
    Join(usize),
    /// Overwrites blocks inside this dirty segment.
    Within(usize),
    /// Takes a segment of its own.
    New,
    /// Must wait until a dirty segment has been destaged.
    Wait,
}

impl Buffer {
    /// `segments` of `segment_sectors` blocks, at most `dirty_limit` of them dirty; never more than `most` segments.
    pub fn new(segments: u32, segment_sectors: u32, dirty_limit: u32, most: u32) -> Buffer {
        let n = most.max(segments) as usize;
        let mut buffer = Buffer {
            segment_sectors: u64::from(segment_sectors),
            dirty_sectors: u64::from(segment_sectors),
            spans: alloc::vec![(0, 0); n],
            readers: alloc::vec![(u64::MAX, 0); n],
            rows: alloc::vec![NONE; (2 * n).next_power_of_two().max(2)],
            following: alloc::vec![NONE; n],
            row: segment_sectors.max(1).next_power_of_two().ilog2(),
            version: 0,
            recency: Recency::new(n),
            dirty: alloc::vec![None; n],
            order: Vec::with_capacity(n),
            spare: Vec::new(),
            dirty_limit,
            serial: 0,
            left: 0,
            writes: 0,
        };
        (segments as usize..n).for_each(|segment| buffer.recency.retire(segment));
        buffer
    }

    /// Blocks of a segment.
    #[inline]
    pub fn segment_sectors(&self) -> u64 {
        self.segment_sectors
    }

    /// Blocks that a dirty segment may have.
    pub fn dirty_sectors(&self) -> u64 {
        self.dirty_sectors
    }

    /// Dirty segments are to be no longer and no more than this, ahead of a division.
    pub fn prepare(&mut self, division: &Division) {
        self.dirty_sectors = self.segment_sectors.min(u64::from(division.sectors));
        self.dirty_limit = self.dirty_limit.min(division.dirty);
    }

    /// Divides the buffer into other segments, what is in it staying as far as it fits: of a clean segment the newest
    /// blocks, of the clean segments those used last. Answers false, having done nothing, while more is dirty than
    /// the division allows or `filling` is too long for it.
    pub fn divide(&mut self, division: &Division, filling: Option<usize>) -> bool {
        let sectors = u64::from(division.sectors);
        let long = |segment: usize| self.spans[segment].1 - self.spans[segment].0 > sectors;
        let n = division.segments as usize;
        let bound = self.order.len() + usize::from(filling.is_some_and(|segment| !self.is_dirty(segment)));
        let crowded = self.order.len() > division.dirty as usize || bound > n;
        if crowded || self.order.iter().copied().chain(filling).any(long) {
            return false;
        }
        let mut live = self.recency.oldest_first().count();
        while live > n {
            let Some(segment) = self.oldest_clean(filling) else { return false };
            self.forget(segment);
            self.recency.retire(segment);
            live -= 1;
        }
        for segment in 0..self.spans.len() {
            if live < n && self.recency.is_retired(segment) {
                self.recency.demote(segment);
                live += 1;
            }
        }
        (self.segment_sectors, self.dirty_sectors, self.dirty_limit) = (sectors, sectors, division.dirty);
        self.relay();
        true
    }

    /// Cuts segments to their length and puts them in rows of that length.
    fn relay(&mut self) {
        self.row = self.segment_sectors.max(1).next_power_of_two().ilog2();
        self.rows.fill(NONE);
        let spans = self.spans.clone();
        self.spans.fill((0, 0));
        for (segment, (start, end)) in spans.into_iter().enumerate().filter(|(_, span)| span.0 < span.1) {
            self.set_span(segment, start.max(end.saturating_sub(self.segment_sectors)), end);
        }
        self.version += 1;
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        for segment in 0..self.spans.len() {
            self.drop_dirty(segment);
            self.forget(segment);
        }
    }

    /// Changes whenever a look-up may have another answer.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The segments whose row has the place of `row`; they may begin in other rows too.
    #[inline]
    fn in_row(&self, row: u64) -> impl Iterator<Item = usize> {
        let first = self.rows[row as usize & (self.rows.len() - 1)];
        let known = |segment: u32| (segment != NONE).then_some(segment);
        let segments = core::iter::successors(known(first), move |&last| known(self.following[last as usize]));
        segments.map(|segment| segment as usize)
    }

    /// How `lba..end` stands to the buffer. A segment that holds all of it goes before one that holds its beginning,
    /// one that begins later before one that begins earlier.
    #[inline]
    pub fn look_up(&self, lba: u64, end: u64) -> Lookup {
        let row = (lba >> self.row) as usize;
        let mask = self.rows.len() - 1;
        let (here, before) = (self.rows[row & mask], self.rows[row.wrapping_sub(1) & mask]);
        if here == NONE && before == NONE {
            return Lookup::Miss;
        }
        let mut best: Option<(bool, u64, usize)> = None;
        for mut next in [here, before] {
            while next != NONE {
                let segment = next as usize;
                let (start, stop) = self.span(segment);
                if start <= lba && lba <= stop {
                    best = best.max(Some((end <= stop, start, segment)));
                }
                next = self.following[segment];
            }
        }
        match best {
            None => Lookup::Miss,
            Some((true, _, segment)) => Lookup::Hit(segment),
            Some((false, _, segment)) => Lookup::Extends(segment),
        }
    }

    /// Sets the blocks of a segment and its place in the rows.
    #[inline]
    fn set_span(&mut self, segment: usize, start: u64, end: u64) {
        let (before, stop) = core::mem::replace(&mut self.spans[segment], (start, end));
        let (was, is) = (before < stop, start < end);
        self.version += 1;
        if was && is && before == start {
            return;
        }
        if was {
            self.unlink(segment, before >> self.row);
        }
        if is {
            let place = (start >> self.row) as usize & (self.rows.len() - 1);
            self.following[segment] = self.rows[place];
            self.rows[place] = segment as u32;
        }
    }

    #[inline]
    fn unlink(&mut self, segment: usize, row: u64) {
        let place = row as usize & (self.rows.len() - 1);
        let after = self.following[segment];
        if self.rows[place] == segment as u32 {
            self.rows[place] = after;
            return;
        }
        let before = self.in_row(row).find(|&other| self.following[other] == segment as u32);
        self.following[before.expect("a segment stands in its row")] = after;
    }

    /// The blocks of a segment.
    #[inline]
    pub fn span(&self, segment: usize) -> (u64, u64) {
        self.spans[segment]
    }

    /// The host reads `lba..end` by way of a segment. Answers how many reads in a row this is the last of, each going on
    /// where the one before ended.
    pub fn reads_on(&mut self, segment: usize, lba: u64, end: u64) -> u32 {
        let (before, run) = self.readers[segment];
        let run = if before == lba { run.saturating_add(1) } else { 1 };
        self.readers[segment] = (end, run);
        run
    }

    /// A segment is the first to be used anew.
    pub fn give_up(&mut self, segment: usize) {
        self.recency.demote(segment);
    }

    /// Notes that a segment was used.
    #[inline]
    pub fn touch(&mut self, segment: usize) {
        self.recency.touch(segment);
    }

    /// A segment's blocks now reach from its start to `end`; a segment is a ring, its oldest blocks give way.
    #[inline]
    pub fn extend(&mut self, segment: usize, end: u64) {
        let start = self.spans[segment].0.max(end.saturating_sub(self.segment_sectors));
        self.set_span(segment, start, end);
    }

    /// A segment's blocks also reach back to `start`.
    pub fn reach_back(&mut self, segment: usize, start: u64) {
        let (before, end) = self.span(segment);
        self.set_span(segment, start.min(before), end.max(before));
    }

    /// Blocks from `end` on never came.
    #[inline]
    pub fn cut_short(&mut self, segment: usize, end: u64) {
        let (start, stop) = self.span(segment);
        self.set_span(segment, start, stop.min(end).max(start));
    }

    /// True when the segment holds unwritten data.
    pub fn is_dirty(&self, segment: usize) -> bool {
        self.dirty[segment].is_some()
    }

    /// Gives the least recently used clean segment to a run from `start`, sparing `filling`.
    #[inline]
    pub fn allocate(&mut self, start: u64, filling: Option<usize>) -> Option<usize> {
        let segment = self.oldest_clean(filling)?;
        self.set_span(segment, start, start);
        self.readers[segment] = (u64::MAX, 0);
        self.touch(segment);
        Some(segment)
    }

    /// The least recently used clean segment, sparing `filling`.
    #[inline]
    fn oldest_clean(&self, filling: Option<usize>) -> Option<usize> {
        let free = |&segment: &usize| self.dirty[segment].is_none() && Some(segment) != filling;
        // Mostly it is the first.
        let first = self.recency.oldest()?;
        if self.order.is_empty() && Some(first) != filling {
            return Some(first);
        }
        self.recency.oldest_first().find(free)
    }

    /// Clean blocks in `lba..end` are out of date: segments are cut short before them or forgotten, in the order of
    /// their first blocks.
    pub fn invalidate(&mut self, lba: u64, end: u64) {
        let first = lba.saturating_sub(self.segment_sectors) >> self.row;
        for row in first..=end >> self.row {
            while let Some(segment) = self.first_clean(row, lba, end) {
                match self.spans[segment].0 {
                    start if start < lba => self.set_span(segment, start, lba),
                    _ => self.forget(segment),
                }
            }
        }
    }

    /// The clean segment that begins first in `row` and holds any of `lba..end`.
    fn first_clean(&self, row: u64, lba: u64, end: u64) -> Option<usize> {
        let holds = |&segment: &usize| {
            let (start, stop) = self.span(segment);
            start >> self.row == row && start < end && lba < stop && self.dirty[segment].is_none()
        };
        self.in_row(row).filter(holds).min_by_key(|&segment| (self.spans[segment].0, segment))
    }

    fn forget(&mut self, segment: usize) {
        self.set_span(segment, 0, 0);
        if !self.recency.is_retired(segment) {
            self.recency.demote(segment);
        }
    }

    /// What a write of `lba..end` meets; segments below `fence` take no more (a flush waits for them).
    pub fn room(&self, lba: u64, end: u64, fence: u64) -> Room {
        let mut join = None;
        for &segment in &self.order {
            let (start, stop) = self.span(segment);
            let overlaps = start < end && lba < stop;
            // Mostly it is neither.
            if !overlaps && stop != lba {
                continue;
            }
            let Some(dirty) = &self.dirty[segment] else {
                continue;
            };
            let open = !dirty.leaving && dirty.serial >= fence;
            if overlaps {
                let inside = start <= lba && end <= stop;
                return if inside && !dirty.leaving { Room::Within(segment) } else { Room::Wait };
            }
            if open && stop == lba && end - start <= self.dirty_sectors {
                join = Some(segment);
            }
        }
        match join {
            Some(segment) => Room::Join(segment),
            None if !self.is_full() => Room::New,
            None => Room::Wait,
        }
    }

    /// A written piece joins a segment that is dirty or becomes so.
    pub fn write(&mut self, segment: usize, piece: Piece, now: Instant, arrived: Instant) {
        self.touch(segment);
        let (start, stop) = self.span(segment);
        let grew = self.continues(segment, piece.lba).then_some(self.writes);
        self.writes += 1;
        self.set_span(segment, start, stop.max(piece.end()));
        if let Some(dirty) = &mut self.dirty[segment] {
            dirty.arrived = dirty.arrived.max(arrived);
            dirty.pieces.push(piece);
            dirty.grew = grew;
            return;
        }
        let mut pieces = self.spare.pop().unwrap_or_default();
        pieces.push(piece);
        self.dirty[segment] = Some(Dirty { pieces, since: now, arrived, serial: self.serial, leaving: false, grew });
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
        let lately = |grew: u64| self.writes - grew <= u64::from(self.dirty_limit);
        stop - start < self.dirty_sectors && grew.is_some_and(lately)
    }

    /// A write takes the place of blocks inside a dirty segment; `superseded` is told of each run that it replaces.
    pub fn overwrite(&mut self, segment: usize, piece: Piece, arrived: Instant, mut superseded: impl FnMut(Piece)) {
        self.touch(segment);
        let Some(dirty) = &mut self.dirty[segment] else {
            return;
        };
        dirty.arrived = dirty.arrived.max(arrived);
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

    /// Closes a dirty segment: it is on its way to the medium.
    pub fn leave(&mut self, segment: usize) {
        if let Some(dirty) = &mut self.dirty[segment] {
            dirty.leaving = true;
            self.left += 1;
        }
    }

    /// A segment's data are on the medium; its blocks stay as clean ones.
    pub fn drop_dirty(&mut self, segment: usize) {
        if let Some(mut dirty) = self.dirty[segment].take() {
            self.left += 1;
            dirty.pieces.clear();
            self.spare.push(dirty.pieces);
            self.order.retain(|&other| other != segment);
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
        dirty.filter(|(_, dirty)| !dirty.leaving)
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
        self.order.iter().any(|&segment| self.spans[segment].0 < end && lba < self.spans[segment].1)
    }

    /// Dirty segments.
    pub fn dirty_count(&self) -> usize {
        self.order.len()
    }

    /// No more segments may become dirty.
    pub fn is_full(&self) -> bool {
        self.order.len() >= self.dirty_limit as usize
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
