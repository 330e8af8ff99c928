//! The memory of an accelerator: pages of 4 KiB. Each sector of a page is valid or not, dirty or not, and being written
//! to the device below or not. Frames are allocated as needed, up to the cache's size. No time passes here.
//!
//! Two LRU lists are kept. Clean pages are evicted, the least recently used first. Dirty pages are written, the longest
//! dirty first, each together with its dirty neighbours on the device.

use alloc::vec::Vec;

use crate::recency::LruList;
use crate::time::Instant;

/// Sectors in a page: 4 KiB, the page size of the processors of the field.
pub(super) const PAGE: u64 = 8;

const NONE: u32 = u32::MAX;

/// The page number of an unused frame.
const UNUSED: u64 = u64::MAX;

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
    fn page_mask(self, page: u64) -> u8 {
        let first = page * PAGE;
        let (from, to) = (self.lba.max(first) - first, self.end.min(first + PAGE) - first);
        (0xff_u16 << from & !(0xff_u16 << to)) as u8
    }
}

#[derive(Clone, Copy)]
struct Frame {
    page: u64,
    /// The next frame with the same hash.
    next: u32,
    valid: u8,
    dirty: u8,
    /// Sectors being written, as of when the write began.
    writing: u8,
    /// How often writing has failed since the page was last clean, as [`CachePages::count_failure`] counts.
    failed: u8,
    /// When the oldest of its dirty sectors became dirty: in time, and in flushes.
    since: Instant,
    epoch: u64,
    /// The stamp of the write that brought each sector.
    stamps: [u64; PAGE as usize],
}

/// The cached pages.
pub(super) struct CachePages {
    frames: Vec<Frame>,
    most: u32,
    /// By hash of the page: the first frame; a power of two in number.
    buckets: Vec<u32>,
    free: Vec<u32>,
    /// Clean pages.
    used: LruList,
    /// Pages with dirty sectors.
    dirty: LruList,
    /// How many pages have sectors that are dirty or being written.
    unsettled: u32,
}

impl CachePages {
    /// An empty cache for at most `most` pages.
    pub(super) fn new(most: u32) -> CachePages {
        CachePages {
            frames: Vec::new(),
            most,
            buckets: alloc::vec![NONE; 64],
            free: Vec::new(),
            used: LruList::new(0),
            dirty: LruList::new(0),
            unsettled: 0,
        }
    }

    /// How many pages are dirty or being written.
    pub(super) fn unsettled_pages(&self) -> u32 {
        self.unsettled
    }

    /// True if the cache can hold `range` at once.
    pub(super) fn can_hold(&self, range: SectorRange) -> bool {
        let pages = range.page_numbers();
        pages.end - pages.start <= u64::from(self.most)
    }

    /// Fibonacci hashing: neighbours go to distant buckets.
    fn bucket_index(&self, page: u64) -> usize {
        let bits = self.buckets.len().trailing_zeros();
        (page.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)) as usize
    }

    fn find_frame(&self, page: u64) -> Option<usize> {
        let mut at = self.buckets[self.bucket_index(page)];
        while at != NONE {
            let frame = &self.frames[at as usize];
            if frame.page == page {
                return Some(at as usize);
            }
            at = frame.next;
        }
        None
    }

    fn link_frame(&mut self, at: usize) {
        let bucket = self.bucket_index(self.frames[at].page);
        self.frames[at].next = self.buckets[bucket];
        self.buckets[bucket] = at as u32;
    }

    fn unlink_frame(&mut self, at: usize) {
        let (bucket, next) = (self.bucket_index(self.frames[at].page), self.frames[at].next);
        let mut before = self.buckets[bucket];
        if before == at as u32 {
            self.buckets[bucket] = next;
            return;
        }
        while self.frames[before as usize].next != at as u32 {
            before = self.frames[before as usize].next;
        }
        self.frames[before as usize].next = next;
    }

    /// Doubles the buckets once there are as many frames.
    fn grow_buckets(&mut self) {
        if self.frames.len() < self.buckets.len() {
            return;
        }
        self.buckets = alloc::vec![NONE; self.buckets.len() * 2];
        for at in 0..self.frames.len() {
            if self.frames[at].page != UNUSED {
                self.link_frame(at);
            }
        }
    }

    /// A frame for a page that has none: an unused one, or that of the least recently used clean page.
    fn claim_frame(&mut self, page: u64) -> Option<usize> {
        let blank = Frame {
            page,
            next: NONE,
            valid: 0,
            dirty: 0,
            writing: 0,
            failed: 0,
            since: Instant::ZERO,
            epoch: 0,
            stamps: [0; PAGE as usize],
        };
        let at = if let Some(at) = self.free.pop() {
            at as usize
        } else if (self.frames.len() as u32) < self.most {
            self.grow_buckets();
            self.frames.push(blank);
            self.used.push_newest();
            self.dirty.push_newest();
            self.dirty.retire(self.frames.len() - 1);
            self.frames.len() - 1
        } else {
            let oldest = self.used.oldest()?;
            self.unlink_frame(oldest);
            oldest
        };
        self.frames[at] = blank;
        self.link_frame(at);
        self.used.touch(at);
        Some(at)
    }

    /// Marks `range` as used now if all of it is cached. True if it is.
    pub(super) fn touch_if_cached(&mut self, range: SectorRange) -> bool {
        if self.first_uncached(range) < range.end {
            return false;
        }
        for page in range.page_numbers() {
            self.touch_page(page);
        }
        true
    }

    fn touch_page(&mut self, page: u64) {
        if let Some(at) = self.find_frame(page).filter(|&at| self.is_clean(at)) {
            self.used.touch(at);
        }
    }

    /// The first sector of `range` that is not cached, or its end.
    pub(super) fn first_uncached(&self, range: SectorRange) -> u64 {
        for page in range.page_numbers() {
            let wanted = range.page_mask(page);
            let absent = wanted & !self.find_frame(page).map_or(0, |at| self.frames[at].valid);
            if absent != 0 {
                return page * PAGE + u64::from(absent.trailing_zeros());
            }
        }
        range.end
    }

    fn is_clean(&self, at: usize) -> bool {
        self.frames[at].dirty | self.frames[at].writing == 0
    }

    /// True if there are frames for all of `range` without evicting pages of `range` itself.
    pub(super) fn has_room(&self, range: SectorRange) -> bool {
        let pages = range.page_numbers();
        let dirty = |page: &u64| self.find_frame(*page).is_some_and(|at| !self.is_clean(at));
        let settled = (pages.end - pages.start) - pages.filter(dirty).count() as u64;
        u64::from(self.unsettled) + settled <= u64::from(self.most)
    }

    /// Stores a write for which there is room. Reports the dirty sectors that it supersedes, with their stamps.
    pub(super) fn store_write(
        &mut self,
        range: SectorRange,
        stamp: u64,
        (now, epoch): (Instant, u64),
        mut superseded: impl FnMut(u64, u64),
    ) {
        // The pages of `range` itself must not be evicted for it.
        range.page_numbers().for_each(|page| self.touch_page(page));
        for page in range.page_numbers() {
            let at = self.find_frame(page).or_else(|| self.claim_frame(page)).expect("room, as was asked for");
            let mask = range.page_mask(page);
            self.unsettled += u32::from(self.is_clean(at));
            self.used.retire(at);
            let frame = &mut self.frames[at];
            for sector in bit_positions(mask) {
                if frame.dirty >> sector & 1 == 1 {
                    superseded(page * PAGE + sector, frame.stamps[sector as usize]);
                }
                frame.stamps[sector as usize] = stamp;
            }
            if frame.dirty == 0 {
                (frame.since, frame.epoch) = (now, epoch);
                self.dirty.touch(at);
            }
            frame.dirty |= mask;
            frame.valid |= mask;
        }
    }

    /// Keeps `range`, which was read from the device or written past the cache, as far as there are frames.
    pub(super) fn insert_clean(&mut self, range: SectorRange) {
        for page in range.page_numbers() {
            let Some(at) = self.find_frame(page).or_else(|| self.claim_frame(page)) else { return };
            self.frames[at].valid |= range.page_mask(page);
            self.touch_page(page);
        }
    }

    /// Invalidates `range`, of which nothing is dirty.
    pub(super) fn invalidate_range(&mut self, range: SectorRange) {
        for page in range.page_numbers() {
            let Some(at) = self.find_frame(page) else { continue };
            self.frames[at].valid &= !range.page_mask(page);
            if self.frames[at].valid == 0 && self.is_clean(at) {
                self.unlink_frame(at);
                self.used.retire(at);
                self.frames[at].page = UNUSED;
                self.free.push(at as u32);
            }
        }
    }

    /// True if no sector of `range` is dirty or being written.
    pub(super) fn is_settled(&self, range: SectorRange) -> bool {
        let unsettled =
            |at: usize, page| (self.frames[at].dirty | self.frames[at].writing) & range.page_mask(page) != 0;
        !range.page_numbers().any(|page| self.find_frame(page).is_some_and(|at| unsettled(at, page)))
    }

    /// When the longest dirty data became dirty: in time, and in flushes.
    pub(super) fn oldest_dirty(&self) -> Option<(Instant, u64)> {
        self.dirty.oldest().map(|at| (self.frames[at].since, self.frames[at].epoch))
    }

    /// The sectors of `page` that can be written: the dirty ones, if none of the page is being written.
    fn writable_sectors(&self, page: u64) -> u8 {
        let frame = self.find_frame(page).map(|at| &self.frames[at]).filter(|frame| frame.writing == 0);
        frame.map_or(0, |frame| frame.dirty)
    }

    /// The next run to write, of at most `most` sectors: the longest dirty page with its neighbours.
    pub(super) fn next_dirty_run(&self, most: u64) -> Option<SectorRange> {
        let at = self.dirty.oldest_first().find(|&at| self.frames[at].writing == 0)?;
        Some(self.dirty_run_around(self.frames[at].page, most))
    }

    /// The next run to write within `range`.
    pub(super) fn next_dirty_run_in(&self, range: SectorRange, most: u64) -> Option<SectorRange> {
        let page = range.page_numbers().find(|&page| self.writable_sectors(page) & range.page_mask(page) != 0)?;
        Some(self.dirty_run_around(page, most))
    }

    /// The first run of dirty sectors in `page`, extended into the pages before and after it.
    fn dirty_run_around(&self, page: u64, most: u64) -> SectorRange {
        let dirty = self.writable_sectors(page);
        let first = u64::from(dirty.trailing_zeros());
        let length = u64::from((!(dirty >> first)).trailing_zeros());
        let mut run = SectorRange { lba: page * PAGE + first, end: page * PAGE + first + length };
        // Whole pages, so that runs are cut between physical sectors.
        while run.lba.is_multiple_of(PAGE) && run.lba > 0 && run.end + PAGE - run.lba <= most {
            let before = u64::from(self.writable_sectors(run.lba / PAGE - 1).leading_ones());
            run.lba -= before;
            if before < PAGE {
                break;
            }
        }
        while run.end.is_multiple_of(PAGE) && run.end + PAGE - run.lba <= most {
            let behind = u64::from(self.writable_sectors(run.end / PAGE).trailing_ones());
            run.end += behind;
            if behind < PAGE {
                break;
            }
        }
        run
    }

    /// Reports each sector of `run` with its stamp.
    pub(super) fn visit_stamps(&self, run: SectorRange, mut told: impl FnMut(u64, u64)) {
        for page in run.page_numbers() {
            let Some(frame) = self.find_frame(page).map(|at| &self.frames[at]) else { continue };
            bit_positions(run.page_mask(page))
                .for_each(|sector| told(page * PAGE + sector, frame.stamps[sector as usize]));
        }
    }

    /// Marks `run` as being written. Returns the flush count at which its oldest sector became dirty.
    pub(super) fn begin_write(&mut self, run: SectorRange) -> u64 {
        let mut epoch = u64::MAX;
        for page in run.page_numbers() {
            let at = self.find_frame(page).expect("a run of pages that are here");
            let (mask, frame) = (run.page_mask(page), &mut self.frames[at]);
            epoch = epoch.min(frame.epoch);
            (frame.dirty, frame.writing) = (frame.dirty & !mask, mask);
            if frame.dirty == 0 {
                self.dirty.retire(at);
            }
        }
        epoch
    }

    /// Marks `run` as written.
    pub(super) fn mark_written(&mut self, run: SectorRange) {
        for page in run.page_numbers() {
            let at = self.find_frame(page).expect("a page on its way stays");
            (self.frames[at].writing, self.frames[at].failed) = (0, 0);
            if self.is_clean(at) {
                self.unsettled -= 1;
                self.used.touch(at);
            }
        }
    }

    /// Reports the sectors of `run`, which is being written, that were overwritten meanwhile.
    pub(super) fn visit_overwritten(&self, run: SectorRange, mut told: impl FnMut(u64)) {
        for page in run.page_numbers() {
            let Some(frame) = self.find_frame(page).map(|at| &self.frames[at]) else { continue };
            bit_positions(frame.writing & frame.dirty).for_each(|sector| told(page * PAGE + sector));
        }
    }

    /// Makes `run`, which became dirty in `epoch` and came back unwritten, dirty again. Its pages are sorted in by epoch,
    /// because a flush looks at the oldest only.
    pub(super) fn mark_dirty_again(&mut self, run: SectorRange, epoch: u64) {
        for page in run.page_numbers() {
            let at = self.find_frame(page).expect("a page on its way stays");
            let frame = &mut self.frames[at];
            frame.epoch = if frame.dirty == 0 { epoch } else { frame.epoch.min(epoch) };
            frame.dirty |= frame.writing;
            frame.writing = 0;
            let epoch = frame.epoch;
            self.dirty.retire(at);
            match self.dirty.oldest_first().take_while(|&other| self.frames[other].epoch < epoch).last() {
                Some(older) => self.dirty.move_after(at, older),
                None => self.dirty.make_oldest(at),
            }
        }
    }

    /// Counts a failed write of `run` with this weight. Returns the highest count in the run.
    pub(super) fn count_failure(&mut self, run: SectorRange, weight: u8) -> u8 {
        let mut most = 0;
        for page in run.page_numbers() {
            let at = self.find_frame(page).expect("a page on its way stays");
            let failed = &mut self.frames[at].failed;
            *failed = failed.saturating_add(weight);
            most = most.max(*failed);
        }
        most
    }

    /// Reports the sectors of `run`, which is being written, that were not overwritten meanwhile, with their stamps.
    pub(super) fn visit_not_overwritten(&self, run: SectorRange, mut told: impl FnMut(u64, u64)) {
        for page in run.page_numbers() {
            let Some(frame) = self.find_frame(page).map(|at| &self.frames[at]) else { continue };
            let last = frame.writing & !frame.dirty;
            bit_positions(last).for_each(|sector| told(page * PAGE + sector, frame.stamps[sector as usize]));
        }
    }

    /// Removes all pages.
    pub(super) fn clear(&mut self) {
        *self = CachePages::new(self.most);
    }

    /// All dirty sectors that are not being written, with their stamps.
    pub(super) fn dirty_sectors(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.dirty.oldest_first().map(|at| &self.frames[at]).flat_map(|frame| {
            bit_positions(frame.dirty).map(move |sector| (frame.page * PAGE + sector, frame.stamps[sector as usize]))
        })
    }
}

/// The positions of the set bits, lowest first.
fn bit_positions(mask: u8) -> impl Iterator<Item = u64> {
    (0..PAGE).filter(move |sector| mask >> sector & 1 == 1)
}
