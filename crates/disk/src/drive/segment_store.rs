//! Memory that the buffer's segments share if they are not equally long: how much each segment owns, and which segments
//! are evicted to free some. `cache` knows the blocks of a segment, `dirty_blocks` those not on the medium yet.
//!
//! A written run owns as much memory as it is long. The memory of a read depends on the profile:
//!
//! - With `cache.dirty_runs` alone it is a whole segment, whatever is read into it.
//! - With segments of their own lengths it is as many blocks as the read and its read-ahead are to bring, at most a
//!   whole segment. A read-ahead that is broken off gives back the rest. (US 6,910,099, "Disk drive adjusting
//!   read-ahead to optimize cache memory allocation", 2001, claim 1: the memory for a read is the command's length and
//!   that of its read-ahead. Giving back is inferred: the table of tags of US 6,606,682 has a length for each.)

use alloc::vec::Vec;

use super::cache::Buffer;
use super::profile::CacheSpec;

/// The memory that segments share.
#[derive(Clone, Debug)]
pub(super) struct SegmentStore {
    /// All memory, in sectors.
    size: u64,
    /// Sectors that no segment owns.
    free: u64,
    /// Sectors that each segment owns.
    owned: Vec<u32>,
    /// Segments without memory.
    empty_segments: Vec<usize>,
    /// Sectors of unwritten data.
    dirty: u64,
    /// Maximum sectors of unwritten data.
    max_dirty: u64,
    /// A read owns only as much as it brings.
    own_lengths: bool,
}

impl SegmentStore {
    /// Returns the memory of a buffer with `segments` segments, those of written runs included.
    pub(super) fn from_spec(cache: &CacheSpec, segments: u32) -> SegmentStore {
        let size = u64::from(cache.segments) * u64::from(cache.segment_sectors);
        SegmentStore {
            size,
            free: size,
            owned: alloc::vec![0; segments as usize],
            empty_segments: (0..segments as usize).rev().collect(),
            dirty: 0,
            max_dirty: u64::from(cache.dirty_segments) * u64::from(cache.segment_sectors),
            own_lengths: cache.adaptive.is_some_and(|it| it.own_lengths),
        }
    }

    /// Takes a segment without memory, except `filling_segment`.
    pub(super) fn take_empty_segment(&mut self, filling_segment: Option<usize>) -> Option<usize> {
        let index = self.empty_segments.iter().rposition(|&segment| Some(segment) != filling_segment)?;
        Some(self.empty_segments.swap_remove(index))
    }

    /// Adds a segment to those without memory.
    #[inline(always)]
    pub(super) fn add_empty_segment(&mut self, segment: usize) {
        self.empty_segments.push(segment);
    }

    /// Frees all memory of a segment.
    #[inline(always)]
    pub(super) fn free_memory(&mut self, segment: usize) {
        self.free += u64::from(core::mem::take(&mut self.owned[segment]));
    }

    /// Counts the memory of a segment as clean: its run is on the medium, or lost.
    pub(super) fn subtract_dirty_of(&mut self, segment: usize) {
        self.dirty -= u64::from(self.owned[segment]);
    }

    /// Gives free memory to a segment.
    #[inline(always)]
    fn give_memory(&mut self, segment: usize, sectors: u64) {
        self.free -= sectors;
        self.owned[segment] += sectors as u32;
    }
}

impl Buffer {
    /// Maximum blocks that a segment may own for reads: a whole segment, or what unwritten data leave of the memory.
    #[inline]
    pub(super) fn max_read_sectors(&self) -> u64 {
        match &self.memory {
            Some(store) if store.own_lengths => self.segment_sectors().min(store.size - store.dirty),
            _ => self.segment_sectors(),
        }
    }

    /// Memory, in sectors, that a segment owns for `read_sectors` of a read.
    #[inline(always)]
    fn memory_for_read(&self, read_sectors: u64) -> u64 {
        match &self.memory {
            Some(store) if store.own_lengths => self.segment_sectors().min(read_sectors),
            _ => self.segment_sectors(),
        }
    }

    /// Gives a segment the memory for `sectors` of a read, and evicts clean ones for it, except `filling_segment`.
    /// Returns false if that is not enough.
    #[inline(always)]
    pub(super) fn ensure_memory(&mut self, segment: usize, sectors: u64, filling_segment: Option<usize>) -> bool {
        if self.memory.is_none() {
            return true;
        }
        let needed = self.memory_for_read(sectors);
        let Some(store) = &mut self.memory else { return true };
        let missing = needed.saturating_sub(u64::from(store.owned[segment]));
        if missing == 0 {
            return true;
        }
        if store.free >= missing {
            store.give_memory(segment, missing);
            return true;
        }
        self.evict_for_memory(segment, missing, filling_segment)
    }

    /// Fast path of an allocation: hands the memory of the least recently used segment to one without, as for each read
    /// that misses a full clean buffer. Returns the segment that takes it; `None`, with nothing changed, in any other
    /// case.
    #[inline(always)]
    pub(super) fn reuse_oldest_memory(
        &mut self,
        start: u64,
        sectors: u64,
        filling_segment: Option<usize>,
    ) -> Option<usize> {
        let needed = self.memory_for_read(sectors);
        let oldest = self.recency.oldest()?;
        let all_clean = self.unwritten_segments().is_empty();
        let store = self.memory.as_mut()?;
        let last_empty = store.empty_segments.last_mut()?;
        let (taker, freed) = (*last_empty, u64::from(store.owned[oldest]));
        let is_filling = filling_segment.is_some_and(|filling| filling == oldest || filling == taker);
        if !all_clean || is_filling || store.free >= needed || store.free + freed < needed {
            return None;
        }
        *last_empty = oldest;
        store.free = store.free + freed - needed;
        (store.owned[oldest], store.owned[taker]) = (0, needed as u32);
        self.set_block_bounds(oldest, 0, 0);
        self.retire(oldest);
        self.reset_segment(taker, start);
        self.touch(taker);
        Some(taker)
    }

    /// Evicts clean segments until `sectors` are free, and gives them to `segment`. Returns false if there is not that
    /// much.
    #[inline(always)]
    fn evict_for_memory(&mut self, segment: usize, sectors: u64, filling_segment: Option<usize>) -> bool {
        if !self.recency.is_retired(segment) {
            self.retire(segment);
        }
        let suffices = self.evict_clean_until_free(sectors, filling_segment);
        self.touch(segment);
        if suffices && let Some(store) = &mut self.memory {
            store.give_memory(segment, sectors);
        }
        suffices
    }

    /// Gives a segment memory for `sectors`, as far as there is any. Returns the maximum length of the segment in
    /// sectors.
    #[inline(always)]
    pub(super) fn grow_memory(&mut self, segment: usize, sectors: u64) -> u64 {
        let suffices = self.ensure_memory(segment, sectors, None);
        let segment_sectors = self.segment_sectors();
        let Some(store) = &mut self.memory else { return segment_sectors };
        if !suffices {
            store.give_memory(segment, store.free);
        }
        u64::from(store.owned[segment]).min(segment_sectors)
    }

    /// Frees the memory of a clean segment beyond its blocks, if a read owns only as much as it brings.
    #[inline(always)]
    pub(super) fn trim_memory(&mut self, segment: usize) {
        if self.memory.as_ref().is_some_and(|store| store.own_lengths) && !self.is_dirty(segment) {
            self.free_unused_memory(segment);
        }
    }

    fn free_unused_memory(&mut self, segment: usize) {
        let (start, stop) = self.block_bounds(segment);
        let Some(store) = &mut self.memory else { return };
        let unused = u64::from(store.owned[segment]).saturating_sub(stop - start);
        store.free += unused;
        store.owned[segment] -= unused as u32;
    }

    /// Evicts clean segments, least recently used first, except `filling_segment`, until `sectors` are free. Returns
    /// false if that is not enough.
    #[inline(always)]
    pub(super) fn evict_clean_until_free(&mut self, sectors: u64, filling_segment: Option<usize>) -> bool {
        while self.memory.as_ref().is_some_and(|store| store.free < sectors) {
            let Some(segment) = self.oldest_clean_segment(filling_segment) else { return false };
            self.evict_segment(segment);
        }
        true
    }

    /// True if `sectors` more blocks may be dirty.
    pub(super) fn has_room_for_dirty(&self, sectors: u64) -> bool {
        self.memory.as_ref().is_none_or(|store| store.dirty + sectors <= store.max_dirty)
    }

    /// Gives memory to a written run that has grown by `sectors`.
    pub(super) fn add_dirty_sectors(&mut self, segment: usize, sectors: u64) {
        if let Some(store) = &mut self.memory {
            store.give_memory(segment, sectors);
            store.dirty += sectors;
        }
    }

    /// Frees the memory of `sectors` that have left a written run.
    pub(super) fn remove_dirty_sectors(&mut self, segment: usize, sectors: u64) {
        if let Some(store) = &mut self.memory {
            store.free += sectors;
            store.owned[segment] -= sectors as u32;
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

    /// Checks the memory: owned and free sectors make up the whole, no segment is longer than what it owns, and a dirty
    /// one owns exactly its length.
    fn check_memory(buffer: &Buffer) {
        let store = buffer.memory.as_ref().expect("a store");
        let lengths =
            (0..store.owned.len()).map(|segment| buffer.block_bounds(segment).1 - buffer.block_bounds(segment).0);
        let held = store.owned.iter().map(|&held| u64::from(held)).sum::<u64>();
        assert_eq!(store.free + held, store.size);
        let mut dirty = 0;
        for (segment, length) in lengths.enumerate() {
            let held = u64::from(store.owned[segment]);
            assert!(length <= held && held <= 64, "{segment}: {length} blocks, {held} held");
            if buffer.is_dirty(segment) {
                assert_eq!(length, held, "{segment} is dirty");
                dirty += held;
            }
        }
        assert_eq!(dirty, store.dirty);
        assert_eq!(buffer.max_read_sectors(), (256 - dirty).min(64));
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
                        let fits = buffer.free_run_count() > 0
                            && buffer.has_room_for_dirty(8)
                            && buffer.evict_clean_until_free(8, None);
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
                            let end = buffer.block_bounds(segment).1;
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
                let spans: Vec<_> = (0..10).map(|segment| buffer.block_bounds(segment)).collect();
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
                    reads += u32::from(buffer.block_bounds(segment).1 == lba + sectors);
                    check_memory(&buffer);
                    buffer.extend_segment(segment, lba + sectors + random.below(80));
                    if random.draw_chance(50) {
                        buffer.truncate_segment(segment, lba + sectors);
                        cut += 1;
                    }
                }
                1 | 2 if buffer.free_run_count() > 0 && buffer.has_room_for_dirty(sectors.min(64)) => {
                    let sectors = sectors.min(64);
                    assert!(buffer.evict_clean_until_free(sectors, None), "reads give way");
                    let segment = buffer.allocate_run(lba, None).expect("a run is free");
                    let piece = CachedWrite { lba, sectors: sectors as u32, stamp: step, arrived: Instant::ZERO };
                    buffer.write_piece(segment, piece, Instant::ZERO);
                    writes += 1;
                }
                _ => {
                    let oldest = buffer.destageable_segments().next().map(|(segment, _)| segment);
                    if let Some(segment) = oldest {
                        let end = buffer.block_bounds(segment).1;
                        buffer.begin_destage(segment, end);
                        buffer.end_destage(segment, end);
                    }
                }
            }
            check_memory(&buffer);
        }
        assert!(reads > 4_000 && writes > 4_000 && cut > 1_000, "{reads} {writes} {cut}");
    }
}
