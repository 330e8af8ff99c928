//! A write-intent bitmap, modelled on the internal bitmap of Linux md: it marks the regions of an array that have writes
//! under way. A bit stands for a region; pages hold the bits. Before data of a clean region are written, its bit is set
//! and the page that holds the bit goes to all members, past their caches. The bit is cleared later, when writes to the
//! region have been over for a while. After a crash only regions whose bit is set need a resync.
//!
//! This module has only the bitmap's state; `intent` joins it to the array's commands. Source: Linux 6.x,
//! `drivers/md/md-bitmap.c`.
//!
//! | state here | in Linux |
//! |---|---|
//! | a region's counter: 0 clean, 1 about to be cleared, 2 unused for less than a period, above 2: writes under way | `md_bitmap_startwrite`, `md_bitmap_endwrite` |
//! | a *dirty* page has newly set bits, and writes wait until it is written | `BITMAP_PAGE_DIRTY`, `md_bitmap_unplug` |
//! | a *pending* page has cleared bits; a period later it is *due*, and is written with the next dirty page, or alone | `BITMAP_PAGE_PENDING`, `BITMAP_PAGE_NEEDWRITE`, `md_bitmap_daemon_work` |
//! | one write of pages at a time | `md_bitmap_wait_writes` |
//!
//! Not modelled: bitmaps in a file or on another device, the superblock's own writes (md marks an array clean 200 ms
//! after its last write), write-behind.

use alloc::vec::Vec;
use core::ops::RangeInclusive;

use super::layout::{ArrayVolume, RaidLevel};
use super::portions::SectorBounds;
use crate::block::SECTOR;
use crate::time::{Instant, Span};

/// The settings of a write-intent bitmap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BitmapSpec {
    /// Sectors that a bit stands for; `None` for mdadm's choice.
    pub chunk: Option<u64>,
    /// The period at which the bitmap is scanned for bits to clear.
    pub delay: Span,
}

/// Counts of an array's work on its bitmap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BitmapCounts {
    /// Pages written, each to all members.
    pub pages_written: u64,
    /// Regions that a cut left dirty.
    pub resync_regions: usize,
}

/// A bitmap's place on members of a given size.
#[derive(Clone, Copy)]
pub(super) struct BitmapLayout {
    /// Sectors before the data of each member.
    pub reserved: u64,
    /// Sectors that a bit stands for.
    pub chunk: u64,
}

/// The number of a write of pages with newly set bits; 0 for none.
pub(super) type BitmapWriteNumber = u64;

/// Where the bitmap begins on each member, in sectors: the superblock of format 1.2 is 4 KiB from the start and has 4 KiB
/// (mdadm, `super1.c`, `add_internal_bitmap1`: `offset = 4*2`).
const FIRST_SECTOR: u64 = 16;
/// Sectors in a page of the bitmap.
const PAGE: u64 = 8;
/// Bits in a page.
const PAGE_BITS: u64 = PAGE * SECTOR * 8;
/// Bits that the bitmap's own superblock takes of the first page (`sizeof(bitmap_super_t)`, 256 bytes).
const HEAD_BITS: u64 = 256 * 8;
/// The least that a bit stands for unless asked for, 64 MiB in sectors (mdadm, `super1.c`: 64 Meg is a good default chunk
/// size).
const LEAST_DEFAULT_CHUNK: u64 = 64 << 11;
/// The most bits that then fit into 128 KiB (mdadm, `super1.c`: limit to 128K).
const MOST_BITS: u64 = 128 * 1024 * 8 - HEAD_BITS;
/// The space that mdadm leaves before the data for a later reshape: 128 MiB in sectors, at most a thousandth of the
/// member (`super1.c`, `write_init_super1`).
const HEADROOM: u64 = 128 << 11;

/// The counter of a region without writes under way whose bit is set. Each write under way adds one.
const IDLE: u32 = 2;
/// A flag in the counter of a region that a cut left dirty: only a resync could clear it.
const NEEDS_RESYNC: u32 = 1 << 31;

impl BitmapSpec {
    /// The fewest sectors that a bit may stand for, so that all bits fit into the bitmap's space (mdadm, `super1.c`,
    /// `add_internal_bitmap1`, which refuses less).
    pub fn least_chunk(level: RaidLevel, members: u32, member_sectors: u64) -> u64 {
        let covered = covered_sectors(level, members, member_sectors);
        (3..).map(|power| 1 << power).find(|&chunk| covered.div_ceil(chunk) <= MOST_BITS).expect("one is long enough")
    }
}

/// Sectors that all bits together stand for: blocks of the volume on RAID 10, else sectors of each member.
fn covered_sectors(level: RaidLevel, members: u32, member_sectors: u64) -> u64 {
    if level == RaidLevel::Raid10 { member_sectors * u64::from(members) / 2 } else { member_sectors }
}

/// The layout of a bitmap on members of `member_sectors` sectors.
pub(super) fn lay_out_bitmap(spec: &BitmapSpec, level: RaidLevel, members: u32, member_sectors: u64) -> BitmapLayout {
    let covered = covered_sectors(level, members, member_sectors);
    let chunk = spec.chunk.unwrap_or_else(|| {
        let mut chunk = LEAST_DEFAULT_CHUNK;
        while covered.div_ceil(chunk) > MOST_BITS {
            chunk *= 2;
        }
        chunk
    });
    let pages = (covered.div_ceil(chunk) + HEAD_BITS).div_ceil(PAGE_BITS);
    let mut headroom = HEADROOM;
    while headroom << 10 > member_sectors {
        headroom /= 2;
    }
    let end = FIRST_SECTOR + pages * PAGE + headroom;
    // Large members' data begin on a whole MiB.
    let unit = if headroom > 1 << 11 { 1 << 11 } else { PAGE };
    BitmapLayout { reserved: end.next_multiple_of(unit), chunk }
}

/// True if the bit is set.
fn has_bit(words: &[u64], bit: u64) -> bool {
    words[(bit / 64) as usize] >> (bit % 64) & 1 == 1
}

/// The state of a page of the bitmap.
#[derive(Clone, Copy, Default)]
struct BitmapPage {
    dirty: bool,
    pending: bool,
    due: bool,
    /// A write of the page is in flight.
    in_flight: bool,
}

/// The bitmap of an array's one volume. The bits follow a head in the pages: that of region 0 is number [`HEAD_BITS`].
#[derive(Clone)]
pub(super) struct WriteIntentBitmap {
    volume: ArrayVolume,
    /// Sectors that a bit stands for.
    chunk: u64,
    scan_period: Span,
    /// Sectors of the last page that are in use.
    last_page_sectors: u64,
    /// By region; the module's head explains the values.
    counters: Vec<u32>,
    pages: Vec<BitmapPage>,
    /// The bits: as they are, as they were when the write under way began, as the members have them.
    bits: Vec<u64>,
    sent_bits: Vec<u64>,
    stored_bits: Vec<u64>,
    /// The last write of newly set bits that began, and the last that is over.
    last_begun: BitmapWriteNumber,
    last_over: BitmapWriteNumber,
    /// A write of pages is in flight, for newly set bits or for others.
    in_flight: bool,
    last_scan: Instant,
    /// Another scan may find bits to clear.
    scan_wanted: bool,
    pages_written: u64,
}

impl WriteIntentBitmap {
    /// A clean bitmap of `volume`, whose members' logical sectors have `logical` bytes.
    pub fn new(spec: &BitmapSpec, chunk: u64, volume: ArrayVolume, logical: u32) -> WriteIntentBitmap {
        let covered = if volume.level == RaidLevel::Raid10 { volume.capacity() } else { volume.sectors };
        let regions = covered.div_ceil(chunk);
        let pages = (regions + HEAD_BITS).div_ceil(PAGE_BITS);
        let last_page_bytes = (regions + HEAD_BITS).div_ceil(8) - (pages - 1) * PAGE * SECTOR;
        let words = (pages * PAGE_BITS / 64) as usize;
        WriteIntentBitmap {
            volume,
            chunk,
            scan_period: spec.delay,
            last_page_sectors: last_page_bytes.next_multiple_of(u64::from(logical)) / SECTOR,
            counters: alloc::vec![0; regions as usize],
            pages: alloc::vec![BitmapPage::default(); pages as usize],
            bits: alloc::vec![0; words],
            sent_bits: alloc::vec![0; words],
            stored_bits: alloc::vec![0; words],
            last_begun: 0,
            last_over: 0,
            in_flight: false,
            last_scan: Instant::ZERO,
            scan_wanted: false,
            pages_written: 0,
        }
    }

    /// True if writes to the volume are under way.
    pub fn has_writes_under_way(&self) -> bool {
        self.counters.iter().any(|counter| counter & !NEEDS_RESYNC > IDLE)
    }

    /// The regions of a write to `blocks` of the volume, which locks `member_sectors`. As md counts them: by the volume's
    /// blocks on RAID 10, else by the members' sectors.
    fn regions_of_write(&self, blocks: SectorBounds, member_sectors: SectorBounds) -> RangeInclusive<u64> {
        let (range, first) = match self.volume.level {
            RaidLevel::Raid10 => (blocks, 0),
            _ => (member_sectors, self.volume.first),
        };
        (range.from - first) / self.chunk..=(range.end - first - 1) / self.chunk
    }

    /// Counts a write that begins, and sets its bits. Returns the write of the bitmap that it must wait for.
    pub fn begin_write(&mut self, blocks: SectorBounds, member_sectors: SectorBounds) -> BitmapWriteNumber {
        let mut awaited = 0;
        for region in self.regions_of_write(blocks, member_sectors) {
            let counter = &mut self.counters[region as usize];
            let (bit, page) = (HEAD_BITS + region, ((HEAD_BITS + region) / PAGE_BITS) as usize);
            let count = *counter & !NEEDS_RESYNC;
            if count == 0 && *counter & NEEDS_RESYNC == 0 {
                self.bits[(bit / 64) as usize] |= 1 << (bit % 64);
                self.pages[page].dirty = true;
            }
            *counter = (*counter & NEEDS_RESYNC) | (count.max(IDLE) + 1);
            let awaited_by_region = match (self.pages[page].dirty, self.is_stored(region)) {
                (true, _) => self.last_begun + 1,
                (false, false) => self.last_begun,
                (false, true) => 0,
            };
            awaited = awaited_by_region.max(awaited);
        }
        awaited
    }

    /// Counts a write that is over.
    pub(crate) fn end_write(&mut self, blocks: SectorBounds, member_sectors: SectorBounds) {
        for region in self.regions_of_write(blocks, member_sectors) {
            self.counters[region as usize] -= 1;
        }
        self.scan_wanted = true;
    }

    /// True if the members have the bit of `region`, whether the write under way reaches them or not.
    fn is_stored(&self, region: u64) -> bool {
        let (bit, page) = (HEAD_BITS + region, ((HEAD_BITS + region) / PAGE_BITS) as usize);
        has_bit(&self.stored_bits, bit) && (!self.pages[page].in_flight || has_bit(&self.sent_bits, bit))
    }

    /// True if the members have the bits of a write.
    pub(crate) fn covers_write(&self, blocks: SectorBounds, member_sectors: SectorBounds) -> bool {
        self.regions_of_write(blocks, member_sectors).all(|region| self.is_stored(region))
    }

    /// True if this write of the bitmap is over.
    pub fn is_write_over(&self, number: BitmapWriteNumber) -> bool {
        self.last_over >= number
    }

    /// The write of newly set bits that is under way.
    pub(crate) fn urgent_write(&self) -> Option<BitmapWriteNumber> {
        (self.last_begun > self.last_over).then_some(self.last_begun)
    }

    /// When the next scan is due; `FAR` if no bit is to be cleared.
    pub(crate) fn next_scan(&self) -> Instant {
        if self.scan_wanted { self.last_scan + self.scan_period } else { Instant::FAR }
    }

    /// Scans the bits. If `may_clear`, clears those of regions unused for a whole period; marks the regions unused now.
    /// Pages that were pending become due.
    pub(crate) fn scan_bits(&mut self, now: Instant, may_clear: bool) {
        (self.last_scan, self.scan_wanted) = (now, false);
        for page in &mut self.pages {
            page.due |= core::mem::take(&mut page.pending);
        }
        for (region, counter) in self.counters.iter_mut().enumerate() {
            match *counter {
                1 if may_clear => {
                    *counter = 0;
                    let bit = HEAD_BITS + region as u64;
                    self.bits[(bit / 64) as usize] &= !(1 << (bit % 64));
                    let page = &mut self.pages[(bit / PAGE_BITS) as usize];
                    page.pending |= !page.due;
                    self.scan_wanted = true;
                }
                1 | IDLE => {
                    *counter = 1;
                    self.scan_wanted = true;
                }
                _ => {}
            }
        }
    }

    /// Begins a write of the dirty and due pages, unless a write is under way. True if it began one.
    pub(crate) fn start_page_write(&mut self) -> bool {
        if self.in_flight || !self.pages.iter().any(|page| page.dirty || page.due) {
            return false;
        }
        if self.pages.iter().any(|page| page.dirty) {
            self.last_begun += 1;
        }
        let words = (PAGE_BITS / 64) as usize;
        for (index, page) in self.pages.iter_mut().enumerate().filter(|(_, page)| page.dirty || page.due) {
            *page = BitmapPage { in_flight: true, ..BitmapPage::default() };
            let range = index * words..(index + 1) * words;
            self.sent_bits[range.clone()].copy_from_slice(&self.bits[range]);
            self.pages_written += 1;
        }
        self.in_flight = true;
        true
    }

    /// Where the pages that are being written lie on each member.
    pub(crate) fn page_bounds_in_flight(&self) -> impl Iterator<Item = SectorBounds> {
        let last = self.pages.len() - 1;
        let in_flight = self.pages.iter().enumerate().filter(|(_, page)| page.in_flight);
        in_flight.map(move |(index, _)| {
            let from = FIRST_SECTOR + index as u64 * PAGE;
            SectorBounds { from, end: from + if index == last { self.last_page_sectors } else { PAGE } }
        })
    }

    /// Ends the write of pages under way. `has_arrived`: the members have the pages.
    pub(crate) fn finish_page_write(&mut self, has_arrived: bool) {
        let words = (PAGE_BITS / 64) as usize;
        for (index, page) in self.pages.iter_mut().enumerate().filter(|(_, page)| page.in_flight) {
            page.in_flight = false;
            let range = index * words..(index + 1) * words;
            if has_arrived {
                self.stored_bits[range.clone()].copy_from_slice(&self.sent_bits[range]);
            }
        }
        (self.in_flight, self.last_over) = (false, self.last_begun);
    }

    /// Restores the state from the bits that the members have, when the power is back. After a cut these regions stay dirty:
    /// only a resync could clear them, which is not modelled.
    pub(crate) fn restore_stored(&mut self, now: Instant, was_cut: bool) {
        self.bits.copy_from_slice(&self.stored_bits);
        for (region, counter) in self.counters.iter_mut().enumerate() {
            *counter = match has_bit(&self.stored_bits, HEAD_BITS + region as u64) {
                true if was_cut || *counter & NEEDS_RESYNC != 0 => NEEDS_RESYNC | IDLE,
                true => IDLE,
                false => 0,
            };
        }
        self.pages.fill(BitmapPage::default());
        (self.in_flight, self.last_over, self.last_scan, self.scan_wanted) = (false, self.last_begun, now, true);
    }

    /// The counts since the beginning, and of dirty regions now.
    pub(crate) fn counts(&self) -> BitmapCounts {
        let resync_regions = self.counters.iter().filter(|&&counter| counter & NEEDS_RESYNC != 0).count();
        BitmapCounts { pages_written: self.pages_written, resync_regions }
    }

    /// True if a cut left the region of `block` of the volume dirty.
    pub fn needs_resync(&self, block: u64) -> bool {
        let place = self.volume.row_position(block);
        let sector = self.volume.row_start(place.row) + place.within;
        let one = |from| SectorBounds { from, end: from + 1 };
        let regions = self.regions_of_write(one(block), one(sector));
        self.counters[*regions.start() as usize] & NEEDS_RESYNC != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mirror of two million sectors whose bits stand for 1,024 sectors each.
    fn small_bitmap() -> WriteIntentBitmap {
        let spec = BitmapSpec { chunk: Some(1024), delay: Span::from_millis(5000) };
        let volume = ArrayVolume { level: RaidLevel::Raid1, members: 2, chunk: 8, first: 80, sectors: 2_000_000 };
        WriteIntentBitmap::new(&spec, 1024, volume, 512)
    }

    /// Eight blocks of the mirror from `lba` on, and the members' sectors that hold them.
    fn eight_blocks(lba: u64) -> (SectorBounds, SectorBounds) {
        (SectorBounds { from: lba, end: lba + 8 }, SectorBounds { from: 80 + lba, end: 88 + lba })
    }

    fn begin_write(bitmap: &mut WriteIntentBitmap, lba: u64) -> BitmapWriteNumber {
        let (blocks, member_sectors) = eight_blocks(lba);
        bitmap.begin_write(blocks, member_sectors)
    }

    fn end_write(bitmap: &mut WriteIntentBitmap, lba: u64) {
        let (blocks, member_sectors) = eight_blocks(lba);
        bitmap.end_write(blocks, member_sectors);
    }

    fn covers_write(bitmap: &WriteIntentBitmap, lba: u64) -> bool {
        let (blocks, member_sectors) = eight_blocks(lba);
        bitmap.covers_write(blocks, member_sectors)
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
        let lay_out = |level, sectors| {
            let BitmapLayout { reserved, chunk } = lay_out_bitmap(&spec, level, 4, sectors);
            (reserved, chunk)
        };
        let of = |sectors| lay_out(RaidLevel::Raid5, sectors);
        assert_eq!(of(3_907_029_168), (129 << 11, 1 << 17));
        assert_eq!(of(42_970_644_480), (129 << 11, 1 << 17));
        assert_eq!(of(1 << 38), (129 << 11, 1 << 19));
        // A RAID 10 of four members of 64 TiB has as many blocks as one of these.
        assert_eq!(lay_out(RaidLevel::Raid10, 1 << 37), (129 << 11, 1 << 19));
        // A member of 4 MiB: no more than eight sectors of headroom.
        assert_eq!(of(8192), (32, 1 << 17));
        // 2 GiB: headroom of 2 MiB, up to a whole MiB. A sector less: 1 MiB, up to 4 KiB.
        assert_eq!((of(1 << 22), of((1 << 22) - 1)), ((3 << 11, 1 << 17), (24 + 2048, 1 << 17)));
    }

    /// 1,954 regions and the head are 4,002 bits, in one page: 501 bytes, one logical sector.
    #[test]
    fn only_the_part_of_the_last_page_in_use_is_written() {
        let mut bitmap = small_bitmap();
        begin_write(&mut bitmap, 0);
        assert!(bitmap.start_page_write());
        let written: Vec<SectorBounds> = bitmap.page_bounds_in_flight().collect();
        assert_eq!(written, [SectorBounds { from: 16, end: 17 }]);
    }

    #[test]
    fn a_write_waits_for_the_write_of_the_bitmap_that_has_its_bit() {
        let mut bitmap = small_bitmap();
        assert_eq!(begin_write(&mut bitmap, 0), 1);
        assert!(bitmap.start_page_write() && !bitmap.start_page_write(), "one at a time");
        assert_eq!(begin_write(&mut bitmap, 8), 1, "the same region: its bit is on its way");
        assert_eq!(begin_write(&mut bitmap, 1024), 2, "another one, too late for the page under way");
        assert!(!covers_write(&bitmap, 0));
        bitmap.finish_page_write(true);
        assert!(bitmap.is_write_over(1) && !bitmap.is_write_over(2) && covers_write(&bitmap, 0));
        assert_eq!(begin_write(&mut bitmap, 2048), 2, "with the other, in one page");
        assert!(bitmap.start_page_write());
        bitmap.finish_page_write(true);
        assert_eq!(begin_write(&mut bitmap, 16), 0, "its bit is stored");
        assert_eq!((bitmap.start_page_write(), bitmap.pages_written), (false, 2));
    }

    /// Passes of 5 s: the first after the write finds the region used, the second clears its bit, the third writes the page.
    #[test]
    fn a_bit_is_cleared_in_the_second_pass_and_written_in_the_third() {
        let mut bitmap = small_bitmap();
        begin_write(&mut bitmap, 0);
        bitmap.start_page_write();
        bitmap.finish_page_write(true);
        assert_eq!(bitmap.next_scan(), Instant::FAR, "nothing to clear while the write is under way");
        end_write(&mut bitmap, 0);
        for (pass, starts) in [(1, false), (2, false), (3, true)] {
            assert_eq!(bitmap.next_scan(), seconds(5 * pass), "{pass}");
            bitmap.scan_bits(seconds(5 * pass), true);
            assert_eq!(bitmap.start_page_write(), starts, "{pass}");
        }
        assert!(!covers_write(&bitmap, 0), "the page under way has the bit cleared");
        assert_eq!(bitmap.urgent_write(), None, "nobody waits for it");
        bitmap.finish_page_write(true);
        assert_eq!((bitmap.next_scan(), bitmap.pages_written), (Instant::FAR, 2));
    }

    #[test]
    fn a_region_used_in_each_period_keeps_its_bit() {
        let mut bitmap = small_bitmap();
        for pass in 1..6 {
            assert_eq!(begin_write(&mut bitmap, 0), u64::from(pass == 1));
            assert_eq!(bitmap.start_page_write(), pass == 1);
            bitmap.finish_page_write(true);
            end_write(&mut bitmap, 0);
            bitmap.scan_bits(seconds(5 * pass), true);
        }
        assert_eq!(bitmap.pages_written, 1);
    }

    #[test]
    fn after_a_cut_what_the_members_have_counts() {
        let mut bitmap = small_bitmap();
        begin_write(&mut bitmap, 0);
        bitmap.start_page_write();
        bitmap.finish_page_write(true);
        end_write(&mut bitmap, 0);
        // The page with this one's bit does not arrive.
        begin_write(&mut bitmap, 5000);
        bitmap.start_page_write();
        bitmap.finish_page_write(false);
        bitmap.restore_stored(seconds(1), true);
        let regions = bitmap.counts().resync_regions;
        assert_eq!((regions, bitmap.needs_resync(7), bitmap.needs_resync(5000)), (1, true, false));
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
