//! The memory of an accelerator: pages of 4 KiB. Each sector of a page is valid or not, dirty or not, and being written
//! to the device below or not. A page or a range is *clean* if none of its sectors is dirty or being written. Frames for
//! pages are allocated as needed, up to the cache's size. No time passes here.
//!
//! Two LRU lists are kept. Clean pages are evicted, the least recently used first. Dirty pages are written, the longest
//! dirty first, each together with its dirty neighbours on the device: a *run*.

use alloc::vec::Vec;

use crate::recency::LruList;
use crate::time::Instant;

/// Sectors in a page: 4 KiB, the page size of the processors of the field.
pub(super) const PAGE: u64 = 8;

/// No frame.
const NONE: u32 = u32::MAX;

/// The page number of an unused frame.
const UNUSED: u64 = u64::MAX;

/// How many flushes had reached the cache.
pub(super) type FlushCount = u64;

/// When data became dirty: in time, and in flushes.
#[derive(Clone, Copy)]
pub(super) struct DirtyMark {
    pub(super) at: Instant,
    pub(super) flush_count: FlushCount,
}

/// A sector, with the stamp of the write that brought its data.
#[derive(Clone, Copy)]
pub(super) struct StampedSector {
    pub(super) lba: u64,
    pub(super) stamp: u64,
}

/// A range of sectors of the device, without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SectorRange {
    pub(super) lba: u64,
    pub(super) end: u64,
}

impl SectorRange {
    pub(super) fn overlaps(self, other: SectorRange) -> bool {
        self.lba < other.end && other.lba < self.end
    }

    /// The pages that it overlaps.
    fn page_numbers(self) -> core::ops::Range<u64> {
        self.lba / PAGE..self.end.div_ceil(PAGE)
    }

    /// A mask of the sectors in `page`; the lowest bit is the page's first sector.
    fn sector_mask_in(self, page: u64) -> u8 {
        let first = page * PAGE;
        let (from, to) = (self.lba.max(first) - first, self.end.min(first + PAGE) - first);
        (0xff_u16 << from & !(0xff_u16 << to)) as u8
    }
}

/// The memory of one page, with masks of a bit a sector.
#[derive(Clone, Copy)]
struct Frame {
    page: u64,
    /// The next frame in the same bucket.
    next: u32,
    valid: u8,
    dirty: u8,
    /// Sectors being written, as of when the write began.
    writing: u8,
    /// The weight of failed writes since the page was last clean ([`CachePages::add_failure`]).
    failures: u8,
    /// The mark of its oldest dirty sector.
    dirty_since: DirtyMark,
    /// The stamp of the write that brought each sector.
    stamps: [u64; PAGE as usize],
}

impl Frame {
    /// The sectors in `mask`, with their stamps.
    fn stamped_sectors(&self, mask: u8) -> impl Iterator<Item = StampedSector> + '_ {
        bit_positions(mask)
            .map(move |sector| StampedSector { lba: self.page * PAGE + sector, stamp: self.stamps[sector as usize] })
    }
}

/// The cached pages.
#[derive(Clone)]
pub(super) struct CachePages {
    frames: Vec<Frame>,
    max_frames: u32,
    /// By hash of the page: the first frame. The number of buckets is a power of two.
    buckets: Vec<u32>,
    unused: Vec<u32>,
    /// Frames of clean pages.
    clean: LruList,
    /// Frames with dirty sectors.
    dirty: LruList,
    /// How many pages are not clean.
    unclean: u32,
}

impl CachePages {
    /// An empty cache for at most `max_pages` pages.
    pub(super) fn new(max_pages: u32) -> CachePages {
        CachePages {
            frames: Vec::new(),
            max_frames: max_pages,
            buckets: alloc::vec![NONE; 64],
            unused: Vec::new(),
            clean: LruList::new(0),
            dirty: LruList::new(0),
            unclean: 0,
        }
    }

    /// How many pages have sectors that are dirty or being written.
    pub(super) fn unclean_pages(&self) -> u32 {
        self.unclean
    }

    /// True if `range` fits into an empty cache.
    pub(super) fn fits_at_all(&self, range: SectorRange) -> bool {
        let pages = range.page_numbers();
        pages.end - pages.start <= u64::from(self.max_frames)
    }

    /// Fibonacci hashing: neighbours go to distant buckets.
    fn bucket_index(&self, page: u64) -> usize {
        let bits = self.buckets.len().trailing_zeros();
        (page.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)) as usize
    }

    /// The index of the frame that holds `page`.
    fn find_frame(&self, page: u64) -> Option<usize> {
        let mut index = self.buckets[self.bucket_index(page)];
        while index != NONE {
            let frame = &self.frames[index as usize];
            if frame.page == page {
                return Some(index as usize);
            }
            index = frame.next;
        }
        None
    }

    fn link_into_bucket(&mut self, frame_index: usize) {
        let bucket = self.bucket_index(self.frames[frame_index].page);
        self.frames[frame_index].next = self.buckets[bucket];
        self.buckets[bucket] = frame_index as u32;
    }

    fn unlink_from_bucket(&mut self, frame_index: usize) {
        let Frame { page, next, .. } = self.frames[frame_index];
        let bucket = self.bucket_index(page);
        let mut before = self.buckets[bucket];
        if before == frame_index as u32 {
            self.buckets[bucket] = next;
            return;
        }
        while self.frames[before as usize].next != frame_index as u32 {
            before = self.frames[before as usize].next;
        }
        self.frames[before as usize].next = next;
    }

    /// Doubles the number of buckets once there are as many frames.
    fn grow_buckets_if_full(&mut self) {
        if self.frames.len() < self.buckets.len() {
            return;
        }
        self.buckets = alloc::vec![NONE; self.buckets.len() * 2];
        for index in 0..self.frames.len() {
            if self.frames[index].page != UNUSED {
                self.link_into_bucket(index);
            }
        }
    }

    /// Assigns a frame to a page that has none: an unused one, a new one, or that of the least recently used clean page,
    /// which is evicted. `None` if there is no such frame.
    fn allocate_or_evict(&mut self, page: u64) -> Option<usize> {
        let blank = Frame {
            page,
            next: NONE,
            valid: 0,
            dirty: 0,
            writing: 0,
            failures: 0,
            dirty_since: DirtyMark { at: Instant::ZERO, flush_count: 0 },
            stamps: [0; PAGE as usize],
        };
        let index = if let Some(unused) = self.unused.pop() {
            unused as usize
        } else if (self.frames.len() as u32) < self.max_frames {
            self.grow_buckets_if_full();
            self.frames.push(blank);
            self.clean.push_newest();
            self.dirty.push_newest();
            self.dirty.retire(self.frames.len() - 1);
            self.frames.len() - 1
        } else {
            let oldest = self.clean.oldest()?;
            self.unlink_from_bucket(oldest);
            oldest
        };
        self.frames[index] = blank;
        self.link_into_bucket(index);
        self.clean.touch(index);
        Some(index)
    }

    /// The index of the frame that holds `page`, or of one that is assigned to it.
    fn find_or_allocate(&mut self, page: u64) -> Option<usize> {
        self.find_frame(page).or_else(|| self.allocate_or_evict(page))
    }

    /// Marks `range` as used now if all of it is cached. True if it is.
    pub(super) fn touch_if_cached(&mut self, range: SectorRange) -> bool {
        if self.first_uncached_sector(range) < range.end {
            return false;
        }
        for page in range.page_numbers() {
            self.touch_page(page);
        }
        true
    }

    /// Marks a clean page as used now.
    fn touch_page(&mut self, page: u64) {
        if let Some(index) = self.find_frame(page).filter(|&index| self.is_frame_clean(index)) {
            self.clean.touch(index);
        }
    }

    /// The first sector of `range` that is not cached, or its end.
    pub(super) fn first_uncached_sector(&self, range: SectorRange) -> u64 {
        for page in range.page_numbers() {
            let wanted = range.sector_mask_in(page);
            let absent = wanted & !self.find_frame(page).map_or(0, |index| self.frames[index].valid);
            if absent != 0 {
                return page * PAGE + u64::from(absent.trailing_zeros());
            }
        }
        range.end
    }

    fn is_frame_clean(&self, frame_index: usize) -> bool {
        self.frames[frame_index].dirty | self.frames[frame_index].writing == 0
    }

    /// True if there are frames for all of `range` without evicting pages of `range` itself.
    pub(super) fn has_room_for(&self, range: SectorRange) -> bool {
        let pages = range.page_numbers();
        let is_unclean = |page: &u64| self.find_frame(*page).is_some_and(|index| !self.is_frame_clean(index));
        let newly_unclean = (pages.end - pages.start) - pages.filter(is_unclean).count() as u64;
        u64::from(self.unclean) + newly_unclean <= u64::from(self.max_frames)
    }

    /// Stores a write for which there is room. Reports the dirty sectors that it supersedes.
    pub(super) fn store_write(
        &mut self,
        range: SectorRange,
        stamp: u64,
        dirty_since: DirtyMark,
        mut report_superseded: impl FnMut(StampedSector),
    ) {
        // The pages of `range` itself must not be evicted for it.
        range.page_numbers().for_each(|page| self.touch_page(page));
        for page in range.page_numbers() {
            let index = self.find_or_allocate(page).expect("the caller has asked for room");
            let mask = range.sector_mask_in(page);
            self.unclean += u32::from(self.is_frame_clean(index));
            self.clean.retire(index);
            let frame = &mut self.frames[index];
            frame.stamped_sectors(mask & frame.dirty).for_each(&mut report_superseded);
            bit_positions(mask).for_each(|sector| frame.stamps[sector as usize] = stamp);
            if frame.dirty == 0 {
                frame.dirty_since = dirty_since;
                self.dirty.touch(index);
            }
            frame.dirty |= mask;
            frame.valid |= mask;
        }
    }

    /// Inserts `range`, which was read from the device or written past the cache, as far as there are frames.
    pub(super) fn insert_clean(&mut self, range: SectorRange) {
        for page in range.page_numbers() {
            let Some(index) = self.find_or_allocate(page) else { return };
            self.frames[index].valid |= range.sector_mask_in(page);
            self.touch_page(page);
        }
    }

    /// Invalidates `range`, of which nothing is dirty.
    pub(super) fn invalidate_range(&mut self, range: SectorRange) {
        for page in range.page_numbers() {
            let Some(index) = self.find_frame(page) else { continue };
            self.frames[index].valid &= !range.sector_mask_in(page);
            if self.frames[index].valid == 0 && self.is_frame_clean(index) {
                self.unlink_from_bucket(index);
                self.clean.retire(index);
                self.frames[index].page = UNUSED;
                self.unused.push(index as u32);
            }
        }
    }

    /// True if no sector of `range` is dirty or being written.
    pub(super) fn is_range_clean(&self, range: SectorRange) -> bool {
        let is_page_clean = |page| match self.find_frame(page).map(|index| &self.frames[index]) {
            Some(frame) => (frame.dirty | frame.writing) & range.sector_mask_in(page) == 0,
            None => true,
        };
        range.page_numbers().all(is_page_clean)
    }

    /// The mark of the data that have been dirty for longest.
    pub(super) fn oldest_dirty_mark(&self) -> Option<DirtyMark> {
        self.dirty.oldest().map(|index| self.frames[index].dirty_since)
    }

    /// A mask of the sectors of `page` that can be written: the dirty ones, if none of the page is being written.
    fn writable_mask(&self, page: u64) -> u8 {
        let frame = self.find_frame(page).map(|index| &self.frames[index]).filter(|frame| frame.writing == 0);
        frame.map_or(0, |frame| frame.dirty)
    }

    /// The next run to write: the longest dirty page with its neighbours.
    pub(super) fn next_dirty_run(&self, max_sectors: u64) -> Option<SectorRange> {
        let index = self.dirty.oldest_first().find(|&index| self.frames[index].writing == 0)?;
        Some(self.dirty_run_around(self.frames[index].page, max_sectors))
    }

    /// The next run to write that touches `range`.
    pub(super) fn next_dirty_run_in(&self, range: SectorRange, max_sectors: u64) -> Option<SectorRange> {
        let page = range.page_numbers().find(|&page| self.writable_mask(page) & range.sector_mask_in(page) != 0)?;
        Some(self.dirty_run_around(page, max_sectors))
    }

    /// The first run of dirty sectors in `page`, extended into the pages before and after it.
    fn dirty_run_around(&self, page: u64, max_sectors: u64) -> SectorRange {
        let dirty = self.writable_mask(page);
        let first = u64::from(dirty.trailing_zeros());
        let length = u64::from((!(dirty >> first)).trailing_zeros());
        let mut run = SectorRange { lba: page * PAGE + first, end: page * PAGE + first + length };
        // The run grows while there is space for a whole page, so that runs are cut between physical sectors.
        while run.lba.is_multiple_of(PAGE) && run.lba > 0 && run.end + PAGE - run.lba <= max_sectors {
            let before = u64::from(self.writable_mask(run.lba / PAGE - 1).leading_ones());
            run.lba -= before;
            if before < PAGE {
                break;
            }
        }
        while run.end.is_multiple_of(PAGE) && run.end + PAGE - run.lba <= max_sectors {
            let after = u64::from(self.writable_mask(run.end / PAGE).trailing_ones());
            run.end += after;
            if after < PAGE {
                break;
            }
        }
        run
    }

    /// The frames that hold `run`, each with a mask of the run's sectors in it.
    fn frames_of(&self, run: SectorRange) -> impl Iterator<Item = (&Frame, u8)> {
        let held = move |page| Some((&self.frames[self.find_frame(page)?], run.sector_mask_in(page)));
        run.page_numbers().filter_map(held)
    }

    /// The sectors of `run`.
    pub(super) fn stamped_sectors(&self, run: SectorRange) -> impl Iterator<Item = StampedSector> {
        self.frames_of(run).flat_map(|(frame, mask)| frame.stamped_sectors(mask))
    }

    /// Marks `run` as being written. Returns the flush count at which its oldest sector became dirty.
    pub(super) fn begin_write(&mut self, run: SectorRange) -> FlushCount {
        let mut oldest = FlushCount::MAX;
        for page in run.page_numbers() {
            let index = self.find_frame(page).expect("a run of pages that are cached");
            let (mask, frame) = (run.sector_mask_in(page), &mut self.frames[index]);
            oldest = oldest.min(frame.dirty_since.flush_count);
            (frame.dirty, frame.writing) = (frame.dirty & !mask, mask);
            if frame.dirty == 0 {
                self.dirty.retire(index);
            }
        }
        oldest
    }

    /// Ends the write of `run`: its sectors are clean, unless they were overwritten meanwhile.
    pub(super) fn end_write(&mut self, run: SectorRange) {
        for page in run.page_numbers() {
            let index = self.find_frame(page).expect("a page that is being written stays");
            (self.frames[index].writing, self.frames[index].failures) = (0, 0);
            if self.is_frame_clean(index) {
                self.unclean -= 1;
                self.clean.touch(index);
            }
        }
    }

    /// The sectors of `run`, which is being written, that were overwritten meanwhile; each with the later write's stamp.
    pub(super) fn overwritten_sectors(&self, run: SectorRange) -> impl Iterator<Item = StampedSector> {
        self.frames_of(run).flat_map(|(frame, _)| frame.stamped_sectors(frame.writing & frame.dirty))
    }

    /// The sectors of `run`, which is being written, that were not overwritten meanwhile.
    pub(super) fn sectors_not_overwritten(&self, run: SectorRange) -> impl Iterator<Item = StampedSector> {
        self.frames_of(run).flat_map(|(frame, _)| frame.stamped_sectors(frame.writing & !frame.dirty))
    }

    /// Makes `run`, which came back unwritten, dirty again as of `flush_count`. The pages are sorted in by flush count,
    /// because a flush looks only at the page that has been dirty for longest.
    pub(super) fn mark_dirty_again(&mut self, run: SectorRange, flush_count: FlushCount) {
        for page in run.page_numbers() {
            let index = self.find_frame(page).expect("a page that is being written stays");
            let frame = &mut self.frames[index];
            let since = if frame.dirty == 0 { flush_count } else { flush_count.min(frame.dirty_since.flush_count) };
            frame.dirty_since.flush_count = since;
            frame.dirty |= frame.writing;
            frame.writing = 0;
            self.dirty.retire(index);
            let is_older = |&other: &usize| self.frames[other].dirty_since.flush_count < since;
            match self.dirty.oldest_first().take_while(is_older).last() {
                Some(older) => self.dirty.move_after(index, older),
                None => self.dirty.make_oldest(index),
            }
        }
    }

    /// Adds the weight of a failed write to each page of `run`. Returns the highest sum in the run.
    pub(super) fn add_failure(&mut self, run: SectorRange, weight: u8) -> u8 {
        let mut highest = 0;
        for page in run.page_numbers() {
            let index = self.find_frame(page).expect("a page that is being written stays");
            let failures = &mut self.frames[index].failures;
            *failures = failures.saturating_add(weight);
            highest = highest.max(*failures);
        }
        highest
    }

    /// Removes all pages.
    pub(super) fn clear(&mut self) {
        *self = CachePages::new(self.max_frames);
    }

    /// All dirty sectors that are not being written, the longest dirty page first.
    pub(super) fn dirty_sectors(&self) -> impl Iterator<Item = StampedSector> + '_ {
        self.dirty.oldest_first().map(|index| &self.frames[index]).flat_map(|frame| frame.stamped_sectors(frame.dirty))
    }
}

/// The positions of the set bits, lowest first.
fn bit_positions(mask: u8) -> impl Iterator<Item = u64> {
    (0..PAGE).filter(move |sector| mask >> sector & 1 == 1)
}
