//! Which segments are dirty, in which order they became so, and which of them may still grow. Where their blocks lie is the
//! buffer's affair, when one is written out is `write_back`'s.

use alloc::vec::Vec;

use super::piece::{CachedWrite, DirtySegment};
use crate::time::Instant;

/// The dirty segments.
#[derive(Clone, Debug)]
pub(super) struct DirtySegments {
    segments: Vec<Option<DirtySegment>>,
    /// Those that are, the first to become so first.
    order: Vec<usize>,
    /// Kept allocations of pieces.
    spare: Vec<Vec<CachedWrite>>,
    /// So many at most, and blocks that one may grow to: fewer while the buffer waits to be divided into shorter segments.
    limit: u32,
    longest: u64,
    /// The number that the next one will have.
    serial: u64,
    /// How many have been closed or dropped.
    left: u64,
    /// Writes so far, and the number of the last that went on where one had ended.
    writes: u64,
    grew: Option<u64>,
}

impl DirtySegments {
    /// None of `segments`; at most `limit` may be, each of up to `longest` blocks.
    pub(super) fn none(segments: usize, limit: u32, longest: u64) -> DirtySegments {
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

    /// They are to be no more and no longer than this, ahead of a division.
    pub(super) fn tighten(&mut self, limit: u32, longest: u64) {
        (self.limit, self.longest) = (self.limit.min(limit), longest);
    }

    /// They may be so many and so long from now on.
    pub(super) fn divide(&mut self, limit: u32, longest: u64) {
        (self.limit, self.longest) = (limit, longest);
    }

    /// Blocks that one may grow to.
    pub(super) fn longest(&self) -> u64 {
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

    /// No more may become dirty.
    pub(super) fn is_full(&self) -> bool {
        self.order.len() >= self.limit as usize
    }

    /// So many more may.
    pub(super) fn free(&self) -> usize {
        (self.limit as usize).saturating_sub(self.order.len())
    }

    #[inline]
    pub(super) fn has(&self, segment: usize) -> bool {
        self.segments[segment].is_some()
    }

    #[inline]
    pub(super) fn get(&self, segment: usize) -> Option<&DirtySegment> {
        self.segments[segment].as_ref()
    }

    /// The segments, the first to become dirty first.
    pub(super) fn order(&self) -> impl Iterator<Item = usize> + '_ {
        self.order.iter().copied()
    }

    /// The same, each with what is dirty of it.
    pub(super) fn all(&self) -> impl Iterator<Item = (usize, &DirtySegment)> {
        self.order().filter_map(|segment| Some((segment, self.get(segment)?)))
    }

    /// Those from the number `serial` on.
    pub(super) fn from(&self, serial: u64) -> impl Iterator<Item = (usize, &DirtySegment)> {
        let first = self.place_of(serial);
        self.order[first..].iter().filter_map(move |&segment| Some((segment, self.get(segment)?)))
    }

    fn place_of(&self, serial: u64) -> usize {
        self.order.partition_point(|&segment| self.get(segment).is_some_and(|dirty| dirty.serial < serial))
    }

    /// The number that the next segment to become dirty will have.
    pub(super) fn next_serial(&self) -> u64 {
        self.serial
    }

    /// The lowest number among them.
    pub(super) fn oldest_serial(&self) -> Option<u64> {
        self.order.first().and_then(|&segment| self.get(segment)).map(|dirty| dirty.serial)
    }

    /// Changes whenever one is closed or gone.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// A write is put into one of them; where it went on where one had ended, it grew.
    pub(super) fn count_write(&mut self, goes_on: bool) -> Option<u64> {
        let grew = goes_on.then_some(self.writes);
        self.grew = grew.or(self.grew);
        self.writes += 1;
        grew
    }

    /// A piece joins a segment that is dirty or becomes so at `now`, and `grew` or did not.
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

    /// A segment is as long as it gets.
    pub(super) fn ends(&mut self, segment: usize) {
        if let Some(dirty) = &mut self.segments[segment] {
            dirty.grew = None;
        }
    }

    /// A stream of writes still fills a segment of `length` blocks: one of the last few writes, as many as segments may be
    /// dirty, joined it, and it has room for another block.
    ///
    /// Inferred, for makers do not say it; that a part written early costs the stream a revolution is geometry. With that
    /// many writes each of as many streams as there is room for has had its turn; whoever has not come again has left.
    pub(super) fn is_growing(&self, segment: usize, length: u64) -> bool {
        length < self.longest && self.is_late(self.get(segment).and_then(|dirty| dirty.grew))
    }

    /// One may be growing: none is when no write has joined one lately.
    pub(super) fn any_may_grow(&self) -> bool {
        self.is_late(self.grew)
    }

    /// A write of that number is one of the last few.
    fn is_late(&self, write: Option<u64>) -> bool {
        write.is_some_and(|write| self.writes - write <= u64::from(self.limit))
    }

    /// A piece takes the place of blocks inside a segment; `superseded` is told of each run that it replaces.
    pub(super) fn replace(&mut self, segment: usize, piece: CachedWrite, mut superseded: impl FnMut(CachedWrite)) {
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

    /// A segment is on its way to the medium as far as block `until`; something of it lies `behind` that.
    pub(super) fn leave(&mut self, segment: usize, until: u64, behind: bool) {
        if let Some(dirty) = &mut self.segments[segment] {
            dirty.leaving = Some(until);
            dirty.tail = behind.then_some((dirty.serial, dirty.since));
            self.left += 1;
        }
    }

    /// A segment is on the medium as far as block `until`. Answers whether what lies behind that is dirty as before: it
    /// stands where its number does.
    pub(super) fn goes_on_from(&mut self, segment: usize, until: u64) -> bool {
        let Some((serial, since)) = self.get(segment).and_then(|dirty| dirty.tail) else { return false };
        self.leave_order(segment);
        self.order.insert(self.place_of(serial), segment);
        if let Some(dirty) = &mut self.segments[segment] {
            dirty.pieces.retain(|piece| piece.end() > until);
            if let Some(piece) = dirty.pieces.first_mut().filter(|piece| piece.lba < until) {
                *piece = CachedWrite { lba: until, sectors: (piece.end() - until) as u32, ..*piece };
            }
            (dirty.serial, dirty.since, dirty.leaving, dirty.tail) = (serial, since, None, None);
        }
        true
    }

    fn leave_order(&mut self, segment: usize) {
        if let Some(place) = self.order.iter().position(|&other| other == segment) {
            self.order.remove(place);
        }
    }

    /// A segment's data are on the medium, or lost. Answers whether it was dirty.
    pub(super) fn drop(&mut self, segment: usize) -> bool {
        let Some(mut dirty) = self.segments[segment].take() else { return false };
        // One that was leaving has been counted.
        self.left += u64::from(dirty.leaving.is_none());
        dirty.pieces.clear();
        self.spare.push(dirty.pieces);
        self.leave_order(segment);
        true
    }
}
