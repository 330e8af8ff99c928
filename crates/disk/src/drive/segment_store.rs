//! Memory that the buffer's segments share if they are not equally long: how much each segment owns, and which is
//! evicted for which. `cache` knows the blocks of a segment, `dirty_blocks` those not on the medium yet.
//!
//! A written run owns as much as it is long. The memory of a read depends on the buffer:
//! - with `cache.dirty_runs` alone a whole segment, whatever is read into it;
//! - with segments of their own lengths as many blocks as the read and its read-ahead are to bring, at most a whole segment's; a
//!   read-ahead that is broken off gives back what it did not bring. (The memory for a read is the command's length and that of its
//!   read-ahead: US 6,910,099, "Disk drive adjusting read-ahead to optimize cache memory allocation", 2001, claim 1. The giving back is
//!   inferred: the table of tags of US 6,606,682 has a length for each.)

use alloc::vec::Vec;

use super::cache::Buffer;
use super::profile::CacheSpec;

/// The memory that segments share.
#[derive(Clone, Debug)]
pub(super) struct SegmentStore {
    /// Sectors in all.
    size: u64,
    /// Sectors that no segment owns.
    free: u64,
    /// Sectors that each segment owns.
    held: Vec<u32>,
    /// Segments without memory.
    empty: Vec<usize>,
    /// Sectors of unwritten data, and their maximum.
    dirty: u64,
    dirty_at_most: u64,
    /// A read owns no more than it brings.
    own_lengths: bool,
}

impl SegmentStore {
    /// Returns the memory of a profile whose buffer has so many segments, those of written runs included.
    pub(super) fn from_spec(cache: &CacheSpec, segments: u32) -> SegmentStore {
        let size = u64::from(cache.segments) * u64::from(cache.segment_sectors);
        SegmentStore {
            size,
            free: size,
            held: alloc::vec![0; segments as usize],
            empty: (0..segments as usize).rev().collect(),
            dirty: 0,
            dirty_at_most: u64::from(cache.dirty_segments) * u64::from(cache.segment_sectors),
            own_lengths: cache.adaptive.is_some_and(|it| it.own_lengths),
        }
    }

    /// Takes a segment without memory, except `filling`.
    pub(super) fn take_empty(&mut self, filling: Option<usize>) -> Option<usize> {
        let place = self.empty.iter().rposition(|&segment| Some(segment) != filling)?;
        Some(self.empty.swap_remove(place))
    }

    /// Adds a segment to those without memory.
    #[inline(always)]
    pub(super) fn add_empty(&mut self, segment: usize) {
        self.empty.push(segment);
    }

    /// Frees all memory of a segment.
    #[inline(always)]
    pub(super) fn free_memory(&mut self, segment: usize) {
        self.free += u64::from(core::mem::take(&mut self.held[segment]));
    }

    /// Counts the run in a segment as written: it is on the medium, or lost.
    pub(super) fn subtract_dirty(&mut self, segment: usize) {
        self.dirty -= u64::from(self.held[segment]);
    }

    #[inline(always)]
    fn take_memory(&mut self, segment: usize, more: u64) {
        self.free -= more;
        self.held[segment] += more as u32;
    }
}

impl Buffer {
    /// Maximum blocks that a segment may own for reads: a whole one's, or what unwritten data leave of the memory.
    #[inline]
    pub(super) fn room_for_reads(&self) -> u64 {
        match &self.memory {
            Some(store) if store.own_lengths => self.segment_sectors().min(store.size - store.dirty),
            _ => self.segment_sectors(),
        }
    }

    /// Blocks that a segment owns for `sectors` of a read.
    #[inline(always)]
    fn memory_for_read(&self, sectors: u64) -> u64 {
        match &self.memory {
            Some(store) if store.own_lengths => self.segment_sectors().min(sectors),
            _ => self.segment_sectors(),
        }
    }

    /// Gives a segment the memory for `sectors` of a read, and evicts clean ones for it, except `filling`. Returns
    /// false if that is not enough.
    #[inline(always)]
    pub(super) fn ensure_memory(&mut self, segment: usize, sectors: u64, filling: Option<usize>) -> bool {
        if self.memory.is_none() {
            return true;
        }
        let due = self.memory_for_read(sectors);
        let Some(store) = &mut self.memory else { return true };
        let more = due.saturating_sub(u64::from(store.held[segment]));
        if more == 0 {
            return true;
        }
        if store.free >= more {
            store.take_memory(segment, more);
            return true;
        }
        self.evict_for_memory(segment, more, filling)
    }

    /// Allocates by handing the memory of the least recently used segment to one without, as for each read that misses
    /// a full clean buffer. Returns `None`, with nothing changed, in any other case.
    #[inline(always)]
    pub(super) fn reuse_oldest_memory(&mut self, start: u64, sectors: u64, filling: Option<usize>) -> Option<usize> {
        let due = self.memory_for_read(sectors);
        let oldest = self.recency.oldest()?;
        let clean = self.unwritten_segments().is_empty();
        let store = self.memory.as_mut()?;
        let last = store.empty.last_mut()?;
        let (taker, given) = (*last, u64::from(store.held[oldest]));
        let spared = filling.is_some_and(|filling| filling == oldest || filling == taker);
        if !clean || spared || store.free >= due || store.free + given < due {
            return None;
        }
        *last = oldest;
        store.free = store.free + given - due;
        (store.held[oldest], store.held[taker]) = (0, due as u32);
        self.set_span(oldest, 0, 0);
        self.retire(oldest);
        self.reset_segment(taker, start);
        self.touch(taker);
        Some(taker)
    }

    /// Evicts clean segments until `more` sectors are free, and gives them to `segment`.
    #[inline(always)]
    fn evict_for_memory(&mut self, segment: usize, more: u64, filling: Option<usize>) -> bool {
        if !self.recency.is_retired(segment) {
            self.retire(segment);
        }
        let found = self.evict_clean_segments(more, filling);
        self.touch(segment);
        if found && let Some(store) = &mut self.memory {
            store.take_memory(segment, more);
        }
        found
    }

    /// Gives a segment memory for `sectors`, as far as there is any. Returns the length that it can have.
    #[inline(always)]
    pub(super) fn grow_to_fit(&mut self, segment: usize, sectors: u64) -> u64 {
        let widened = self.ensure_memory(segment, sectors, None);
        let whole = self.segment_sectors();
        let Some(store) = &mut self.memory else { return whole };
        if !widened {
            store.take_memory(segment, store.free);
        }
        u64::from(store.held[segment]).min(whole)
    }

    /// Frees the memory of a clean segment beyond its blocks.
    #[inline(always)]
    pub(super) fn trim_memory(&mut self, segment: usize) {
        if self.memory.as_ref().is_some_and(|store| store.own_lengths) && !self.is_dirty(segment) {
            self.free_unused_memory(segment);
        }
    }

    fn free_unused_memory(&mut self, segment: usize) {
        let (start, stop) = self.span(segment);
        let Some(store) = &mut self.memory else { return };
        let over = u64::from(store.held[segment]).saturating_sub(stop - start);
        store.free += over;
        store.held[segment] -= over as u32;
    }

    /// Evicts clean segments, least recently used first, except `filling`, until `sectors` are free.
    #[inline(always)]
    pub(super) fn evict_clean_segments(&mut self, sectors: u64, filling: Option<usize>) -> bool {
        while self.memory.as_ref().is_some_and(|store| store.free < sectors) {
            let Some(segment) = self.oldest_clean(filling) else { return false };
            self.evict_segment(segment);
        }
        true
    }

    /// True if so many more blocks may be dirty.
    pub(super) fn has_memory_for(&self, sectors: u64) -> bool {
        self.memory.as_ref().is_none_or(|store| store.dirty + sectors <= store.dirty_at_most)
    }

    /// Takes memory for a written run that has grown by so many blocks.
    pub(super) fn add_dirty_sectors(&mut self, segment: usize, sectors: u64) {
        if let Some(store) = &mut self.memory {
            store.take_memory(segment, sectors);
            store.dirty += sectors;
        }
    }

    /// Frees the memory of so many blocks that have left a written run.
    pub(super) fn remove_dirty_sectors(&mut self, segment: usize, sectors: u64) {
        if let Some(store) = &mut self.memory {
            store.free += sectors;
            store.held[segment] -= sectors as u32;
            store.dirty -= sectors;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::piece::CachedWrite;
    use crate::drive::profile::AdaptiveDivision;
    use crate::rng::Seed;
    use crate::time::Instant;

    /// Of 4 segments of 64 blocks and 12 runs: 192 blocks may be dirty.
    fn buffer() -> Buffer {
        let adaptive = AdaptiveDivision { sectors: 256, most: 16, dirty_percent: 75, own_lengths: true };
        let divided = CacheSpec { segments: 4, segment_sectors: 64, adaptive: Some(adaptive), ..CacheSpec::NONE };
        Buffer::from_spec(&CacheSpec { dirty_segments: 3, dirty_runs: Some(12), write_back: true, ..divided })
    }

    /// The law of the store, after any step: what is held and what is free make up the whole, nothing is longer than what it
    /// holds, what is dirty holds what it is long.
    fn keeps_the_law(buffer: &Buffer) {
        let store = buffer.memory.as_ref().expect("a store");
        let lengths = (0..store.held.len()).map(|segment| buffer.span(segment).1 - buffer.span(segment).0);
        let held = store.held.iter().map(|&held| u64::from(held)).sum::<u64>();
        assert_eq!(store.free + held, store.size);
        let mut dirty = 0;
        for (segment, length) in lengths.enumerate() {
            let held = u64::from(store.held[segment]);
            assert!(length <= held && held <= 64, "{segment}: {length} blocks, {held} held");
            if buffer.is_dirty(segment) {
                assert_eq!(length, held, "{segment} is dirty");
                dirty += held;
            }
        }
        assert_eq!(dirty, store.dirty);
        assert_eq!(buffer.room_for_reads(), (256 - dirty).min(64));
    }

    #[test]
    fn memory_that_is_handed_over_is_that_which_step_by_step_would_be_found() {
        let cache = CacheSpec { segments: 4, segment_sectors: 64, write_back: true, ..CacheSpec::NONE };
        let cache = CacheSpec { dirty_segments: 3, dirty_runs: Some(6), ..cache };
        let (mut quick, mut slow) = (Buffer::from_spec(&cache), Buffer::from_spec(&cache));
        let mut random = Seed(32).stream("handed over");
        let mut handed = 0;
        for step in 0..20_000u64 {
            let (lba, sectors) = (random.below(40) * 64, 1 + random.below(80));
            let filling = random.draw_chance(20).then(|| random.below(10) as usize);
            match random.below(8) {
                0 => {
                    let piece = CachedWrite { lba, sectors: 8, stamp: step, arrived: Instant::ZERO };
                    let runs = [&mut quick, &mut slow].map(|buffer| {
                        let fits =
                            buffer.free_runs() > 0 && buffer.has_memory_for(8) && buffer.evict_clean_segments(8, None);
                        let run = fits.then(|| buffer.allocate_run(lba, None)).flatten()?;
                        buffer.write_piece(run, piece, Instant::ZERO);
                        Some(run)
                    });
                    assert_eq!(runs[0], runs[1]);
                }
                1 | 2 => {
                    for buffer in [&mut quick, &mut slow] {
                        let oldest = buffer.destageable_segments().next().map(|(segment, _)| segment);
                        if let Some(segment) = oldest {
                            let end = buffer.span(segment).1;
                            buffer.begin_destage(segment, end);
                            buffer.end_destage(segment, end);
                        }
                    }
                }
                _ => {
                    handed += u32::from(quick.clone().reuse_oldest_memory(lba, sectors, filling).is_some());
                    let taken = quick.allocate(lba, sectors, filling);
                    assert_eq!(taken, slow.allocate_step_by_step(lba, sectors, filling), "step {step}");
                    if let Some(segment) = taken {
                        quick.extend_segment(segment, lba + sectors);
                        slow.extend_segment(segment, lba + sectors);
                    }
                }
            }
            let seen = |buffer: &Buffer| {
                let spans: Vec<_> = (0..10).map(|segment| buffer.span(segment)).collect();
                let found: Vec<_> = (0..40).map(|row| buffer.look_up(row * 64, row * 64 + 8)).collect();
                (spans, found, buffer.recency.oldest_first().collect::<Vec<_>>(), alloc::format!("{:?}", buffer.memory))
            };
            assert_eq!(seen(&quick), seen(&slow), "step {step}");
        }
        assert!((2_000..15_000).contains(&handed), "{handed}");
    }

    #[test]
    fn what_is_held_and_what_is_free_make_up_the_whole() {
        let mut random = Seed(30).stream("store");
        let mut buffer = buffer();
        let (mut reads, mut writes, mut cut) = (0, 0, 0);
        for step in 0..20_000u64 {
            let (lba, sectors) = (step * 1000, 1 + random.below(80));
            match random.below(4) {
                0 => {
                    let Some(segment) = buffer.allocate(lba, sectors, None) else { continue };
                    buffer.extend_segment(segment, lba + sectors);
                    reads += u32::from(buffer.span(segment).1 == lba + sectors);
                    keeps_the_law(&buffer);
                    buffer.extend_segment(segment, lba + sectors + random.below(80));
                    if random.draw_chance(50) {
                        buffer.truncate_segment(segment, lba + sectors);
                        cut += 1;
                    }
                }
                1 | 2 if buffer.free_runs() > 0 && buffer.has_memory_for(sectors.min(64)) => {
                    let sectors = sectors.min(64);
                    assert!(buffer.evict_clean_segments(sectors, None), "reads give way");
                    let segment = buffer.allocate_run(lba, None).expect("a run is free");
                    let piece = CachedWrite { lba, sectors: sectors as u32, stamp: step, arrived: Instant::ZERO };
                    buffer.write_piece(segment, piece, Instant::ZERO);
                    writes += 1;
                }
                _ => {
                    let oldest = buffer.destageable_segments().next().map(|(segment, _)| segment);
                    if let Some(segment) = oldest {
                        let end = buffer.span(segment).1;
                        buffer.begin_destage(segment, end);
                        buffer.end_destage(segment, end);
                    }
                }
            }
            keeps_the_law(&buffer);
        }
        assert!(reads > 4_000 && writes > 4_000 && cut > 1_000, "{reads} {writes} {cut}");
    }
}
