//! What an accelerator holds in memory: pages of 4 KiB, of which each sector is known or not, dirty or not, and on its
//! way to the device below or not. Frames are made as they are needed, up to the cache's size. No time passes here.
//!
//! Two orders are kept. Clean pages give way, the one used longest ago first. Dirty pages are written out, the one that
//! has been dirty for longest first, each together with its dirty neighbours on the device.

use alloc::vec::Vec;

use crate::recency::Recency;
use crate::time::Instant;

/// Sectors of a page: 4 KiB, the page of the processors of the field.
pub(super) const PAGE: u64 = 8;

const NONE: u32 = u32::MAX;

/// The page of an unused frame.
const UNUSED: u64 = u64::MAX;

/// Sectors of the device: from, and up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) lba: u64,
    pub(super) end: u64,
}

impl Range {
    pub(super) fn meets(self, other: Range) -> bool {
        self.lba < other.end && other.lba < self.end
    }

    /// The pages that it touches.
    fn pages(self) -> core::ops::Range<u64> {
        self.lba / PAGE..self.end.div_ceil(PAGE)
    }

    /// Its sectors in `page`, the first as the lowest bit.
    fn mask(self, page: u64) -> u8 {
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
    /// On their way to the device, as they were when they left.
    writing: u8,
    /// How often writing it out has failed since it was last clean, as [`Pages::fail`] counts.
    failed: u8,
    /// When the oldest of the dirty sectors became so: in time, and in flushes.
    since: Instant,
    epoch: u64,
    /// The write that brought each sector.
    stamps: [u64; PAGE as usize],
}

/// The cache.
pub(super) struct Pages {
    frames: Vec<Frame>,
    most: u32,
    /// By hash of the page: the first frame; as many as a power of two.
    buckets: Vec<u32>,
    free: Vec<u32>,
    /// Clean pages.
    used: Recency,
    /// Pages with dirty sectors.
    dirty: Recency,
    /// Pages with sectors that are dirty or on their way.
    unsettled: u32,
}

impl Pages {
    /// At most `most` pages, none yet.
    pub(super) fn new(most: u32) -> Pages {
        Pages {
            frames: Vec::new(),
            most,
            buckets: alloc::vec![NONE; 64],
            free: Vec::new(),
            used: Recency::new(0),
            dirty: Recency::new(0),
            unsettled: 0,
        }
    }

    /// Pages that are dirty or being written out.
    pub(super) fn unsettled(&self) -> u32 {
        self.unsettled
    }

    /// A range that can be in the cache at once.
    pub(super) fn can_hold(&self, range: Range) -> bool {
        let pages = range.pages();
        pages.end - pages.start <= u64::from(self.most)
    }

    /// Fibonacci hashing: neighbours go far apart.
    fn bucket(&self, page: u64) -> usize {
        let bits = self.buckets.len().trailing_zeros();
        (page.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)) as usize
    }

    fn find(&self, page: u64) -> Option<usize> {
        let mut at = self.buckets[self.bucket(page)];
        while at != NONE {
            let frame = &self.frames[at as usize];
            if frame.page == page {
                return Some(at as usize);
            }
            at = frame.next;
        }
        None
    }

    fn link(&mut self, at: usize) {
        let bucket = self.bucket(self.frames[at].page);
        self.frames[at].next = self.buckets[bucket];
        self.buckets[bucket] = at as u32;
    }

    fn unlink(&mut self, at: usize) {
        let (bucket, next) = (self.bucket(self.frames[at].page), self.frames[at].next);
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

    /// Twice as many buckets once there are as many frames.
    fn grow(&mut self) {
        if self.frames.len() < self.buckets.len() {
            return;
        }
        self.buckets = alloc::vec![NONE; self.buckets.len() * 2];
        for at in 0..self.frames.len() {
            if self.frames[at].page != UNUSED {
                self.link(at);
            }
        }
    }

    /// A frame for a page that has none: an unused one, or that of the clean page used longest ago.
    fn claim(&mut self, page: u64) -> Option<usize> {
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
            self.grow();
            self.frames.push(blank);
            self.used.add();
            self.dirty.add();
            self.dirty.retire(self.frames.len() - 1);
            self.frames.len() - 1
        } else {
            let oldest = self.used.oldest()?;
            self.unlink(oldest);
            oldest
        };
        self.frames[at] = blank;
        self.link(at);
        self.used.touch(at);
        Some(at)
    }

    /// All of `range` is here. If so, it is used now.
    pub(super) fn serves(&mut self, range: Range) -> bool {
        if self.known(range) < range.end {
            return false;
        }
        for page in range.pages() {
            self.touch(page);
        }
        true
    }

    fn touch(&mut self, page: u64) {
        if let Some(at) = self.find(page).filter(|&at| self.is_clean(at)) {
            self.used.touch(at);
        }
    }

    /// The first sector of `range` that is not here, or its end.
    pub(super) fn known(&self, range: Range) -> u64 {
        for page in range.pages() {
            let wanted = range.mask(page);
            let absent = wanted & !self.find(page).map_or(0, |at| self.frames[at].valid);
            if absent != 0 {
                return page * PAGE + u64::from(absent.trailing_zeros());
            }
        }
        range.end
    }

    fn is_clean(&self, at: usize) -> bool {
        self.frames[at].dirty | self.frames[at].writing == 0
    }

    /// There are frames for all of `range`, without giving up what of it is here.
    pub(super) fn has_room(&self, range: Range) -> bool {
        let pages = range.pages();
        let dirty = |page: &u64| self.find(*page).is_some_and(|at| !self.is_clean(at));
        let settled = (pages.end - pages.start) - pages.filter(dirty).count() as u64;
        u64::from(self.unsettled) + settled <= u64::from(self.most)
    }

    /// Takes in a write, for which there is room. Tells which sectors it supersedes that had not left yet, and their
    /// stamps.
    pub(super) fn write(
        &mut self,
        range: Range,
        stamp: u64,
        (now, epoch): (Instant, u64),
        mut superseded: impl FnMut(u64, u64),
    ) {
        // What of it is here must not give way to the rest of it.
        range.pages().for_each(|page| self.touch(page));
        for page in range.pages() {
            let at = self.find(page).or_else(|| self.claim(page)).expect("room, as was asked for");
            let mask = range.mask(page);
            self.unsettled += u32::from(self.is_clean(at));
            self.used.retire(at);
            let frame = &mut self.frames[at];
            for sector in bits(mask) {
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

    /// `range` has been read from the device, or written past the cache: it is kept as far as there are frames.
    pub(super) fn fill(&mut self, range: Range) {
        for page in range.pages() {
            let Some(at) = self.find(page).or_else(|| self.claim(page)) else { return };
            self.frames[at].valid |= range.mask(page);
            self.touch(page);
        }
    }

    /// Nothing of `range`, in which nothing is dirty, is known any more.
    pub(super) fn forget(&mut self, range: Range) {
        for page in range.pages() {
            let Some(at) = self.find(page) else { continue };
            self.frames[at].valid &= !range.mask(page);
            if self.frames[at].valid == 0 && self.is_clean(at) {
                self.unlink(at);
                self.used.retire(at);
                self.frames[at].page = UNUSED;
                self.free.push(at as u32);
            }
        }
    }

    /// Nothing of `range` is dirty or on its way.
    pub(super) fn is_settled(&self, range: Range) -> bool {
        let unsettled = |at: usize, page| (self.frames[at].dirty | self.frames[at].writing) & range.mask(page) != 0;
        !range.pages().any(|page| self.find(page).is_some_and(|at| unsettled(at, page)))
    }

    /// When the data that have been dirty for longest became so: in time, and in flushes.
    pub(super) fn oldest(&self) -> Option<(Instant, u64)> {
        self.dirty.oldest().map(|at| (self.frames[at].since, self.frames[at].epoch))
    }

    /// What of `page` can leave: its dirty sectors, if none of it is on its way.
    fn leaving(&self, page: u64) -> u8 {
        let frame = self.find(page).map(|at| &self.frames[at]).filter(|frame| frame.writing == 0);
        frame.map_or(0, |frame| frame.dirty)
    }

    /// What is to be written out next, of at most `most` sectors: what has been dirty for longest, with its neighbours.
    pub(super) fn next_run(&self, most: u64) -> Option<Range> {
        let at = self.dirty.oldest_first().find(|&at| self.frames[at].writing == 0)?;
        Some(self.run_about(self.frames[at].page, most))
    }

    /// The same, of what lies in `range`.
    pub(super) fn next_run_in(&self, range: Range, most: u64) -> Option<Range> {
        let page = range.pages().find(|&page| self.leaving(page) & range.mask(page) != 0)?;
        Some(self.run_about(page, most))
    }

    /// The first run of dirty sectors in `page`, and what goes on from it in the pages before and behind.
    fn run_about(&self, page: u64, most: u64) -> Range {
        let dirty = self.leaving(page);
        let first = u64::from(dirty.trailing_zeros());
        let length = u64::from((!(dirty >> first)).trailing_zeros());
        let mut run = Range { lba: page * PAGE + first, end: page * PAGE + first + length };
        // Whole pages, so that a cut falls between physical sectors.
        while run.lba.is_multiple_of(PAGE) && run.lba > 0 && run.end + PAGE - run.lba <= most {
            let before = u64::from(self.leaving(run.lba / PAGE - 1).leading_ones());
            run.lba -= before;
            if before < PAGE {
                break;
            }
        }
        while run.end.is_multiple_of(PAGE) && run.end + PAGE - run.lba <= most {
            let behind = u64::from(self.leaving(run.end / PAGE).trailing_ones());
            run.end += behind;
            if behind < PAGE {
                break;
            }
        }
        run
    }

    /// Each sector of `run` with its stamp.
    pub(super) fn stamps(&self, run: Range, mut told: impl FnMut(u64, u64)) {
        for page in run.pages() {
            let Some(frame) = self.find(page).map(|at| &self.frames[at]) else { continue };
            bits(run.mask(page)).for_each(|sector| told(page * PAGE + sector, frame.stamps[sector as usize]));
        }
    }

    /// `run` leaves; answers in which count of flushes the oldest of it became dirty.
    pub(super) fn leave(&mut self, run: Range) -> u64 {
        let mut epoch = u64::MAX;
        for page in run.pages() {
            let at = self.find(page).expect("a run of pages that are here");
            let (mask, frame) = (run.mask(page), &mut self.frames[at]);
            epoch = epoch.min(frame.epoch);
            (frame.dirty, frame.writing) = (frame.dirty & !mask, mask);
            if frame.dirty == 0 {
                self.dirty.retire(at);
            }
        }
        epoch
    }

    /// `run` is below.
    pub(super) fn written(&mut self, run: Range) {
        for page in run.pages() {
            let at = self.find(page).expect("a page on its way stays");
            (self.frames[at].writing, self.frames[at].failed) = (0, 0);
            if self.is_clean(at) {
                self.unsettled -= 1;
                self.used.touch(at);
            }
        }
    }

    /// The sectors of `run`, which is on its way, that were written again meanwhile.
    pub(super) fn superseded(&self, run: Range, mut told: impl FnMut(u64)) {
        for page in run.pages() {
            let Some(frame) = self.find(page).map(|at| &self.frames[at]) else { continue };
            bits(frame.writing & frame.dirty).for_each(|sector| told(page * PAGE + sector));
        }
    }

    /// `run`, which became dirty in `epoch`, came back unwritten: it is as dirty as before.
    pub(super) fn returned(&mut self, run: Range, epoch: u64) {
        for page in run.pages() {
            let at = self.find(page).expect("a page on its way stays");
            let frame = &mut self.frames[at];
            frame.epoch = if frame.dirty == 0 { epoch } else { frame.epoch.min(epoch) };
            frame.dirty |= frame.writing;
            frame.writing = 0;
            self.dirty.demote(at);
        }
    }

    /// Writing out `run` failed, which weighs so much. Answers what the most tried of it has come to.
    pub(super) fn fail(&mut self, run: Range, weight: u8) -> u8 {
        let mut most = 0;
        for page in run.pages() {
            let at = self.find(page).expect("a page on its way stays");
            let failed = &mut self.frames[at].failed;
            *failed = failed.saturating_add(weight);
            most = most.max(*failed);
        }
        most
    }

    /// The sectors of `run`, which is on its way, that nobody has written since, with their stamps.
    pub(super) fn leaving_last(&self, run: Range, mut told: impl FnMut(u64, u64)) {
        for page in run.pages() {
            let Some(frame) = self.find(page).map(|at| &self.frames[at]) else { continue };
            let last = frame.writing & !frame.dirty;
            bits(last).for_each(|sector| told(page * PAGE + sector, frame.stamps[sector as usize]));
        }
    }

    /// Nothing is here any more.
    pub(super) fn clear(&mut self) {
        *self = Pages::new(self.most);
    }

    /// All dirty sectors that are not on their way, with their stamps.
    pub(super) fn dirty(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.dirty.oldest_first().map(|at| &self.frames[at]).flat_map(|frame| {
            bits(frame.dirty).map(move |sector| (frame.page * PAGE + sector, frame.stamps[sector as usize]))
        })
    }
}

/// The bits that are set, lowest first.
fn bits(mask: u8) -> impl Iterator<Item = u64> {
    (0..PAGE).filter(move |sector| mask >> sector & 1 == 1)
}
