//! A write-intent bitmap as Linux md's internal one: which regions of an array have writes under way. Before data of a
//! clean region are written, its bit is set and the page of the bitmap that holds it goes to all members, past their
//! caches; bits are cleared later, when writes to the region have been over for a while. After a crash only regions
//! whose bit is set need a resync.
//!
//! This file is the bitmap's state alone; `intent` joins it to the array's commands. Source: Linux 6.x,
//! `drivers/md/md-bitmap.c`.
//!
//! | here | there |
//! |---|---|
//! | a region's counter: 0 clean, 1 about to be cleared, 2 unused for less than a period, above: writes under way | `md_bitmap_startwrite`, `md_bitmap_endwrite` |
//! | a page that is *dirty* has newly set bits, and writes wait until it is written | `BITMAP_PAGE_DIRTY`, `md_bitmap_unplug` |
//! | a page that is *pending* has cleared bits; a period later it is *due*, and goes when the next page must, or alone | `BITMAP_PAGE_PENDING`, `BITMAP_PAGE_NEEDWRITE`, `md_bitmap_daemon_work` |
//! | one write of pages at a time | `md_bitmap_wait_writes` |
//!
//! Not modelled: bitmaps in a file or on another device, the superblock's own writes (md marks an array clean 200 ms
//! after its last write), write-behind.

use alloc::vec::Vec;

use super::layout::{ArrayVolume, RaidLevel};
use crate::block::SECTOR;
use crate::time::{Instant, Span};

/// The settings of a write-intent bitmap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitmapSpec {
    /// Sectors that a bit stands for; `None` for mdadm's choice.
    pub chunk: Option<u64>,
    /// How often the bitmap is looked through for bits to clear.
    pub delay: Span,
}

/// Where the bitmap begins on each member: the superblock of format 1.2 is 4 KiB from the start and has 4 KiB (mdadm,
/// `super1.c`, `add_internal_bitmap1`: `offset = 4*2`).
const FIRST: u64 = 16;
/// Sectors in a page of the bitmap.
const PAGE: u64 = 8;
/// Bits in a page.
const PAGE_BITS: u64 = PAGE * SECTOR * 8;
/// Bits that the bitmap's own superblock takes of the first page (`sizeof(bitmap_super_t)`, 256 bytes).
const HEAD: u64 = 256 * 8;
/// The least that a bit stands for unless asked for, 64 MiB, and the most that the bitmap then takes, 128 KiB (mdadm,
/// `super1.c`: 64 Meg is a good default chunk size; limit to 128K).
const LEAST_CHUNK: u64 = 64 << 11;
const MOST_BITS: u64 = 128 * 1024 * 8 - HEAD;
/// The room that mdadm leaves before the data for a later reshape: 128 MiB, at most a thousandth of the member
/// (`super1.c`, `write_init_super1`).
const HEADROOM: u64 = 128 << 11;

/// The counter of a region without writes under way whose bit is set; each write under way adds one.
const IDLE: u32 = 2;
/// Set in the counter of a region that a cut left dirty: only a resync could clear it.
const NEEDED: u32 = 1 << 31;

/// What a bitmap of members of `sectors` sectors takes of their start, and the sectors that a bit stands for.
pub(super) fn reserve(spec: &BitmapSpec, level: RaidLevel, members: u32, sectors: u64) -> (u64, u64) {
    let covered = if level == RaidLevel::Raid10 { sectors * u64::from(members) / 2 } else { sectors };
    let chunk = spec.chunk.unwrap_or_else(|| {
        let mut chunk = LEAST_CHUNK;
        while covered.div_ceil(chunk) > MOST_BITS {
            chunk *= 2;
        }
        chunk
    });
    let pages = (covered.div_ceil(chunk) + HEAD).div_ceil(PAGE_BITS);
    let mut headroom = HEADROOM;
    while headroom << 10 > sectors {
        headroom /= 2;
    }
    let end = FIRST + pages * PAGE + headroom;
    // Large members' data begin on a whole MiB.
    (if headroom > 1 << 11 { end.next_multiple_of(1 << 11) } else { end.next_multiple_of(PAGE) }, chunk)
}

/// What is known of a page.
#[derive(Clone, Copy, Default)]
struct BitmapPage {
    dirty: bool,
    pending: bool,
    due: bool,
    /// It is being written.
    flying: bool,
}

/// The bitmap of an array's one volume.
pub(super) struct WriteIntentBitmap {
    volume: ArrayVolume,
    chunk: u64,
    delay: Span,
    /// Bytes of the last page in use, as sectors.
    last: u64,
    counters: Vec<u32>,
    pages: Vec<BitmapPage>,
    /// The bits: as they are, as they were when the write under way began, as the members have them.
    bits: Vec<u64>,
    sent: Vec<u64>,
    stored: Vec<u64>,
    /// Writes for newly set bits: begun, and over.
    begun: u64,
    over: u64,
    /// Pages are on their way to the members.
    flying: bool,
    /// When the bits were last looked through, and whether another pass is wanted.
    looked: Instant,
    unclean: bool,
    /// Pages written, each to all members, since the beginning.
    pub written: u64,
}

impl WriteIntentBitmap {
    /// A clean bitmap of `volume`, whose members' logical sectors have `logical` bytes.
    pub fn new(spec: &BitmapSpec, chunk: u64, volume: ArrayVolume, logical: u32) -> WriteIntentBitmap {
        let covered = if volume.level == RaidLevel::Raid10 { volume.capacity() } else { volume.sectors };
        let regions = covered.div_ceil(chunk);
        let pages = (regions + HEAD).div_ceil(PAGE_BITS);
        let bytes = (regions + HEAD).div_ceil(8) - (pages - 1) * PAGE * SECTOR;
        let words = (pages * PAGE_BITS / 64) as usize;
        WriteIntentBitmap {
            volume,
            chunk,
            delay: spec.delay,
            last: bytes.next_multiple_of(u64::from(logical)) / SECTOR,
            counters: alloc::vec![0; regions as usize],
            pages: alloc::vec![BitmapPage::default(); pages as usize],
            bits: alloc::vec![0; words],
            sent: alloc::vec![0; words],
            stored: alloc::vec![0; words],
            begun: 0,
            over: 0,
            flying: false,
            looked: Instant::ZERO,
            unclean: false,
            written: 0,
        }
    }

    /// The regions of a write to blocks `blocks` of the volume, which locks `span` of the members. As md counts them: by
    /// the volume's blocks on RAID 10, else by the members' sectors.
    fn regions(&self, blocks: (u64, u64), span: (u64, u64)) -> core::ops::RangeInclusive<u64> {
        let (from, end) = match self.volume.level {
            RaidLevel::Raid10 => blocks,
            _ => (span.0 - self.volume.first, span.1 - self.volume.first),
        };
        from / self.chunk..=(end - 1) / self.chunk
    }

    /// Counts a write that begins, and returns the number of the bitmap's write that it must wait for.
    pub fn begin(&mut self, blocks: (u64, u64), span: (u64, u64)) -> u64 {
        let mut after = 0;
        for region in self.regions(blocks, span) {
            let counter = &mut self.counters[region as usize];
            let (bit, page) = (HEAD + region, ((HEAD + region) / PAGE_BITS) as usize);
            let count = *counter & !NEEDED;
            if count == 0 && *counter & NEEDED == 0 {
                self.bits[(bit / 64) as usize] |= 1 << (bit % 64);
                self.pages[page].dirty = true;
            }
            *counter = (*counter & NEEDED) | (count.max(IDLE) + 1);
            let needs = match (self.pages[page].dirty, self.is_stored(region)) {
                (true, _) => self.begun + 1,
                (false, false) => self.begun,
                (false, true) => 0,
            };
            after = after.max(needs);
        }
        after
    }

    /// Counts a write that is over.
    pub fn end(&mut self, blocks: (u64, u64), span: (u64, u64)) {
        for region in self.regions(blocks, span) {
            self.counters[region as usize] -= 1;
        }
        self.unclean = true;
    }

    /// True if the members have the bit of `region`, whether a write under way ends or not.
    fn is_stored(&self, region: u64) -> bool {
        let (bit, page) = (HEAD + region, ((HEAD + region) / PAGE_BITS) as usize);
        let has = |bits: &[u64]| bits[(bit / 64) as usize] >> (bit % 64) & 1 == 1;
        has(&self.stored) && (!self.pages[page].flying || has(&self.sent))
    }

    /// True if the members have the bits of a write.
    pub fn covers(&self, blocks: (u64, u64), span: (u64, u64)) -> bool {
        self.regions(blocks, span).all(|region| self.is_stored(region))
    }

    /// True if the write with this number is over.
    pub fn is_over(&self, number: u64) -> bool {
        self.over >= number
    }

    /// The number of the write for newly set bits that is under way.
    pub fn urgent(&self) -> Option<u64> {
        (self.begun > self.over).then_some(self.begun)
    }

    /// When the bits want to be looked through; `FAR` if all are clean.
    pub fn due(&self) -> Instant {
        if self.unclean { self.looked + self.delay } else { Instant::FAR }
    }

    /// Looks through the bits: clears those of regions unused for a whole period, if `clears`, and notes the others.
    /// Pages that were pending become due.
    pub fn look(&mut self, now: Instant, clears: bool) {
        (self.looked, self.unclean) = (now, false);
        for page in &mut self.pages {
            page.due |= core::mem::take(&mut page.pending);
        }
        for (region, counter) in self.counters.iter_mut().enumerate() {
            match *counter {
                1 if clears => {
                    *counter = 0;
                    let bit = HEAD + region as u64;
                    self.bits[(bit / 64) as usize] &= !(1 << (bit % 64));
                    let page = &mut self.pages[(bit / PAGE_BITS) as usize];
                    page.pending |= !page.due;
                    self.unclean = true;
                }
                1 | IDLE => {
                    *counter = 1;
                    self.unclean = true;
                }
                _ => {}
            }
        }
    }

    /// Begins a write of the pages that need one, if none is under way. True if there are any.
    pub fn start(&mut self) -> bool {
        if self.flying || !self.pages.iter().any(|page| page.dirty || page.due) {
            return false;
        }
        if self.pages.iter().any(|page| page.dirty) {
            self.begun += 1;
        }
        let words = (PAGE_BITS / 64) as usize;
        for (index, page) in self.pages.iter_mut().enumerate().filter(|(_, page)| page.dirty || page.due) {
            *page = BitmapPage { flying: true, ..BitmapPage::default() };
            let range = index * words..(index + 1) * words;
            self.sent[range.clone()].copy_from_slice(&self.bits[range]);
            self.written += 1;
        }
        self.flying = true;
        true
    }

    /// The sectors of a member of the pages that are being written.
    pub fn flying(&self) -> impl Iterator<Item = (u64, u64)> {
        let last = self.pages.len() - 1;
        let flies = self.pages.iter().enumerate().filter(|(_, page)| page.flying);
        flies.map(move |(index, _)| {
            let from = FIRST + index as u64 * PAGE;
            (from, from + if index == last { self.last } else { PAGE })
        })
    }

    /// The write under way is over; `done` if the members have it.
    pub fn finish(&mut self, done: bool) {
        let words = (PAGE_BITS / 64) as usize;
        for (index, page) in self.pages.iter_mut().enumerate().filter(|(_, page)| page.flying) {
            page.flying = false;
            let range = index * words..(index + 1) * words;
            if done {
                self.stored[range.clone()].copy_from_slice(&self.sent[range]);
            }
        }
        (self.flying, self.over) = (false, self.begun);
    }

    /// What is left after the power was gone: regions whose bit the members have. After a cut only a resync could clear
    /// them, which is not modelled; they stay dirty.
    pub fn reload(&mut self, now: Instant, cut: bool) {
        self.bits.copy_from_slice(&self.stored);
        for (region, counter) in self.counters.iter_mut().enumerate() {
            let bit = HEAD + region as u64;
            let set = self.stored[(bit / 64) as usize] >> (bit % 64) & 1 == 1;
            *counter = match set {
                true if cut || *counter & NEEDED != 0 => NEEDED | IDLE,
                true => IDLE,
                false => 0,
            };
        }
        self.pages.fill(BitmapPage::default());
        (self.flying, self.over, self.looked, self.unclean) = (false, self.begun, now, true);
    }

    /// How many regions a cut left dirty.
    pub fn needed(&self) -> usize {
        self.counters.iter().filter(|&&counter| counter & NEEDED != 0).count()
    }
}
