//! A write-intent bitmap as Linux md's internal one: which regions of an array have writes under way. Before data of a
//! clean region are written, its bit is set and the page of the bitmap that holds it goes to all members, past their
//! caches; bits are cleared later, when writes to the region have been over for a while. After a crash only regions
//! whose bit is set need a resync.
//!
//! Only the bitmap's state is here; `intent` joins it to the array's commands. Source: Linux 6.x,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

impl BitmapSpec {
    /// The fewest sectors that a bit may stand for, so that all bits fit into the bitmap's room (mdadm, `super1.c`,
    /// `add_internal_bitmap1`, which refuses less).
    pub fn least_chunk(level: RaidLevel, members: u32, sectors: u64) -> u64 {
        let covered = covered_sectors(level, members, sectors);
        (3..).map(|power| 1 << power).find(|&chunk| covered.div_ceil(chunk) <= MOST_BITS).expect("one is long enough")
    }
}

/// Sectors that the bits stand for.
fn covered_sectors(level: RaidLevel, members: u32, sectors: u64) -> u64 {
    if level == RaidLevel::Raid10 { sectors * u64::from(members) / 2 } else { sectors }
}

/// The sectors that a bitmap reserves at the start of members of `sectors` sectors, and those that a bit stands for.
pub(super) fn reserve_space(spec: &BitmapSpec, level: RaidLevel, members: u32, sectors: u64) -> (u64, u64) {
    let covered = covered_sectors(level, members, sectors);
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

/// The state of a page of the bitmap.
#[derive(Clone, Copy, Default)]
struct BitmapPage {
    dirty: bool,
    pending: bool,
    due: bool,
    /// A write of the page is in flight.
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
    /// True if writes are under way.
    pub fn is_busy(&self) -> bool {
        self.counters.iter().any(|counter| counter & !NEEDED > IDLE)
    }

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
    fn regions_of_write(&self, blocks: (u64, u64), span: (u64, u64)) -> core::ops::RangeInclusive<u64> {
        let (from, end) = match self.volume.level {
            RaidLevel::Raid10 => blocks,
            _ => (span.0 - self.volume.first, span.1 - self.volume.first),
        };
        from / self.chunk..=(end - 1) / self.chunk
    }

    /// Counts a write that begins, and returns the number of the bitmap's write that it must wait for.
    pub fn begin_write(&mut self, blocks: (u64, u64), span: (u64, u64)) -> u64 {
        let mut after = 0;
        for region in self.regions_of_write(blocks, span) {
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
    pub(crate) fn end_write(&mut self, blocks: (u64, u64), span: (u64, u64)) {
        for region in self.regions_of_write(blocks, span) {
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
    pub(crate) fn covers_write(&self, blocks: (u64, u64), span: (u64, u64)) -> bool {
        self.regions_of_write(blocks, span).all(|region| self.is_stored(region))
    }

    /// True if the write with this number is over.
    pub fn is_over(&self, number: u64) -> bool {
        self.over >= number
    }

    /// The number of the write for newly set bits that is under way.
    pub(crate) fn urgent_write(&self) -> Option<u64> {
        (self.begun > self.over).then_some(self.begun)
    }

    /// When to look through the bits; `FAR` if all are clean.
    pub(crate) fn next_scan(&self) -> Instant {
        if self.unclean { self.looked + self.delay } else { Instant::FAR }
    }

    /// Looks through the bits: clears those of regions unused for a whole period, if `clears`, and notes the others.
    /// Pages that were pending become due.
    pub(crate) fn scan_bits(&mut self, now: Instant, clears: bool) {
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
    pub(crate) fn start_page_write(&mut self) -> bool {
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
    pub(crate) fn page_ranges_in_flight(&self) -> impl Iterator<Item = (u64, u64)> {
        let last = self.pages.len() - 1;
        let flies = self.pages.iter().enumerate().filter(|(_, page)| page.flying);
        flies.map(move |(index, _)| {
            let from = FIRST + index as u64 * PAGE;
            (from, from + if index == last { self.last } else { PAGE })
        })
    }

    /// Ends the write of pages under way; `done` if the members have it.
    pub(crate) fn finish_page_write(&mut self, done: bool) {
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

    /// Restores the state after a loss of power: regions whose bit the members have. After a cut they stay dirty: only a
    /// resync could clear them, which is not modelled.
    pub(crate) fn restore_stored(&mut self, now: Instant, cut: bool) {
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
    pub(crate) fn resync_region_count(&self) -> usize {
        self.counters.iter().filter(|&&counter| counter & NEEDED != 0).count()
    }

    /// True if a cut left the region of `block` of the volume dirty.
    pub fn needs_resync(&self, block: u64) -> bool {
        let place = self.volume.row_position(block);
        let sector = self.volume.row_start(place.row) + place.within;
        let regions = self.regions_of_write((block, block + 1), (sector, sector + 1));
        self.counters[*regions.start() as usize] & NEEDED != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mirror of two million sectors whose bits stand for 1,024 sectors each.
    fn small() -> WriteIntentBitmap {
        let spec = BitmapSpec { chunk: Some(1024), delay: Span::from_millis(5000) };
        let volume = ArrayVolume { level: RaidLevel::Raid1, members: 2, chunk: 8, first: 80, sectors: 2_000_000 };
        WriteIntentBitmap::new(&spec, 1024, volume, 512)
    }

    /// A write to blocks of the mirror, as blocks and as sectors of its members.
    fn at(lba: u64, sectors: u64) -> ((u64, u64), (u64, u64)) {
        ((lba, lba + sectors), (80 + lba, 80 + lba + sectors))
    }

    fn seconds(count: u64) -> Instant {
        Instant::ZERO + Span::from_millis(1000 * count)
    }

    /// By mdadm's rules. 2 TB: 29,809 regions of 64 MiB, with 2,048 bits of head one page of 32,768 bits; 16 + 8 sectors
    /// and 128 MiB of headroom, up to a whole MiB. 22 TB: 327,840 regions, eleven pages. 128 TiB: regions of 64 or 128 MiB
    /// would be 2,097,152 or 1,048,576, more than the 1,046,528 bits of 128 KiB.
    #[test]
    fn the_place_of_the_bitmap_is_mdadms() {
        let spec = BitmapSpec { chunk: None, delay: Span::ZERO };
        let of = |sectors| reserve_space(&spec, RaidLevel::Raid5, 4, sectors);
        assert_eq!(of(3_907_029_168), (129 << 11, 1 << 17));
        assert_eq!(of(42_970_644_480), (129 << 11, 1 << 17));
        assert_eq!(of(1 << 38), (129 << 11, 1 << 19));
        // A RAID 10 of four members of 64 TiB has as many blocks as one of these.
        assert_eq!(reserve_space(&spec, RaidLevel::Raid10, 4, 1 << 37), (129 << 11, 1 << 19));
        // A member of 4 MiB: no more than eight sectors of headroom.
        assert_eq!(of(8192), (32, 1 << 17));
        // 2 GiB: headroom of 2 MiB, up to a whole MiB. A sector less: 1 MiB, up to 4 KiB.
        assert_eq!((of(1 << 22), of((1 << 22) - 1)), ((3 << 11, 1 << 17), (24 + 2048, 1 << 17)));
    }

    /// 1,954 regions and the head are 4,002 bits, in one page: 501 bytes, one logical sector.
    #[test]
    fn only_the_part_of_the_last_page_in_use_is_written() {
        let mut bitmap = small();
        bitmap.begin_write(at(0, 8).0, at(0, 8).1);
        assert!(bitmap.start_page_write());
        assert_eq!(bitmap.page_ranges_in_flight().collect::<Vec<_>>(), [(16, 17)]);
    }

    #[test]
    fn a_write_waits_for_the_write_of_the_bitmap_that_has_its_bit() {
        let mut bitmap = small();
        let begin = |bitmap: &mut WriteIntentBitmap, lba| bitmap.begin_write(at(lba, 8).0, at(lba, 8).1);
        assert_eq!(begin(&mut bitmap, 0), 1);
        assert!(bitmap.start_page_write() && !bitmap.start_page_write(), "one at a time");
        assert_eq!(begin(&mut bitmap, 8), 1, "the same region: its bit is on its way");
        assert_eq!(begin(&mut bitmap, 1024), 2, "another one, too late for the page under way");
        assert!(!bitmap.covers_write(at(0, 8).0, at(0, 8).1));
        bitmap.finish_page_write(true);
        assert!(bitmap.is_over(1) && !bitmap.is_over(2) && bitmap.covers_write(at(0, 8).0, at(0, 8).1));
        assert_eq!(begin(&mut bitmap, 2048), 2, "with the other, in one page");
        assert!(bitmap.start_page_write());
        bitmap.finish_page_write(true);
        assert_eq!(begin(&mut bitmap, 16), 0, "its bit is stored");
        assert_eq!((bitmap.start_page_write(), bitmap.written), (false, 2));
    }

    /// Passes of 5 s: the first after the write finds the region used, the second clears its bit, the third writes the page.
    #[test]
    fn a_bit_is_cleared_in_the_second_pass_and_written_in_the_third() {
        let mut bitmap = small();
        let (blocks, span) = at(0, 8);
        bitmap.begin_write(blocks, span);
        bitmap.start_page_write();
        bitmap.finish_page_write(true);
        assert_eq!(bitmap.next_scan(), Instant::FAR, "nothing to clear while the write is under way");
        bitmap.end_write(blocks, span);
        for (pass, starts) in [(1, false), (2, false), (3, true)] {
            assert_eq!(bitmap.next_scan(), seconds(5 * pass), "{pass}");
            bitmap.scan_bits(seconds(5 * pass), true);
            assert_eq!(bitmap.start_page_write(), starts, "{pass}");
        }
        assert!(!bitmap.covers_write(blocks, span), "the page under way has the bit cleared");
        assert_eq!(bitmap.urgent_write(), None, "nobody waits for it");
        bitmap.finish_page_write(true);
        assert_eq!((bitmap.next_scan(), bitmap.written), (Instant::FAR, 2));
    }

    #[test]
    fn a_region_used_in_each_period_keeps_its_bit() {
        let mut bitmap = small();
        let (blocks, span) = at(0, 8);
        for pass in 1..6 {
            assert_eq!(bitmap.begin_write(blocks, span), u64::from(pass == 1));
            assert_eq!(bitmap.start_page_write(), pass == 1);
            bitmap.finish_page_write(true);
            bitmap.end_write(blocks, span);
            bitmap.scan_bits(seconds(5 * pass), true);
        }
        assert_eq!(bitmap.written, 1);
    }

    #[test]
    fn after_a_cut_what_the_members_have_counts() {
        let mut bitmap = small();
        let stored = at(0, 8);
        bitmap.begin_write(stored.0, stored.1);
        bitmap.start_page_write();
        bitmap.finish_page_write(true);
        bitmap.end_write(stored.0, stored.1);
        // The page with this one's bit does not arrive.
        bitmap.begin_write(at(5000, 8).0, at(5000, 8).1);
        bitmap.start_page_write();
        bitmap.finish_page_write(false);
        bitmap.restore_stored(seconds(1), true);
        assert_eq!((bitmap.resync_region_count(), bitmap.needs_resync(7), bitmap.needs_resync(5000)), (1, true, false));
        for pass in 1..6 {
            bitmap.scan_bits(seconds(5 * pass), true);
        }
        assert!(bitmap.needs_resync(1023) && !bitmap.needs_resync(1024), "no pass clears what needs a resync");
    }

    /// 128 KiB less their head have 1,046,528 bits. A bit stands for eight sectors at least.
    #[test]
    fn the_least_chunk_is_the_shortest_whose_bits_fit() {
        let bits = 1_046_528_u64;
        for (sectors, chunk) in
            [(1, 8), (8 * bits, 8), (8 * bits + 1, 16), (16 * bits, 16), (16 * bits + 1, 32), (1 << 38, 1 << 19)]
        {
            assert_eq!(BitmapSpec::least_chunk(RaidLevel::Raid5, 4, sectors), chunk, "{sectors}");
            // Each of four members of a RAID 10 has half of its blocks.
            assert_eq!(BitmapSpec::least_chunk(RaidLevel::Raid10, 4, sectors.div_ceil(2)), chunk, "{sectors}");
        }
    }
}
