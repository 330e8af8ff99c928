//! Contents of the media cache: reserved stretches of the medium into which small writes go one after another. An idle
//! drive moves them *home*, to the own places of their blocks. `staging` decides when the media cache is used.
//!
//! A destage into the media cache goes after the last one in the nearest stretch with room: no seek between them, no
//! wait for the blocks' own place. The data are durable there, so they are reported as landed and outlive a cut. To
//! move them home, the drive reads the entries of a track at a time and writes each to its place. If the media cache is
//! full, destages go home until an idle drive has emptied a stretch. An access to the media cache stays on one track.
//!
//! A read of blocks that are all in one entry goes there. A read that needs several entries reads its own place and
//! then each entry, and fills no segment. Read-ahead takes blocks from their own places. Not modelled: the time to find
//! the entries again after a power failure. A write into the media cache that a cut broke off leaves no entry.
//!
//! Makers describe the principle and no figures (Seagate's Advanced Write Caching, HGST's media cache; US patent
//! 10579533): order and limits are our own.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::ops::Range;

use super::geometry::{Extent, Geometry};
use super::profile::MediaCacheSpec as Spec;

/// Contents of the media cache; on the medium, so that a power failure does not change them.
#[derive(Clone, Debug)]
pub(super) struct MediaCache {
    stretches: Vec<ReservedStretch>,
    /// Maximum blocks of an entry.
    max_sectors: u32,
    /// Entries by first block; none overlaps another.
    entries: BTreeMap<u64, MediaCacheEntry>,
    /// Write in progress into the media cache: its first block, and the entry that it makes.
    writing: Option<(u64, MediaCacheEntry)>,
    /// Entries read back, to be written home next, by first block.
    moving: VecDeque<(u64, MediaCacheEntry)>,
}

/// A reserved stretch of slots, filled from its first on.
#[derive(Clone, Copy, Debug)]
struct ReservedStretch {
    first_slot: u64,
    end_slot: u64,
    /// The slot after the last entry.
    next_slot: u64,
    /// Entries in the stretch; at zero it is filled from its start again.
    entry_count: u32,
}

/// A run of blocks in the media cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MediaCacheEntry {
    sectors: u32,
    /// The slot of the first block.
    slot: u64,
    /// Index of the stretch.
    stretch: usize,
}

/// A place for a run of blocks in the media cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct MediaCachePlace {
    /// The slots, and those that follow on their track; its `lba` is the first slot.
    pub(super) extent: Extent,
    /// Index of the stretch.
    pub(super) stretch: usize,
}

impl MediaCache {
    pub(super) fn new(spec: &Spec) -> MediaCache {
        let stretches = (0..u64::from(spec.stretches)).map(|index| {
            let first_slot = spec.first_slot + index * spec.stride;
            ReservedStretch { first_slot, end_slot: first_slot + spec.slots, next_slot: first_slot, entry_count: 0 }
        });
        let (entries, writing, moving) = Default::default();
        MediaCache { stretches: stretches.collect(), max_sectors: spec.largest, entries, writing, moving }
    }

    /// Place for `sectors` blocks from `lba` in the stretch with room that is nearest to `cylinder`. Slots are aligned
    /// to physical sectors as the blocks are, and begin in a physical sector that holds no entry. `None` if there are
    /// too many blocks, or no room.
    pub(super) fn find_place(
        &self,
        geometry: &Geometry,
        physical_sector_blocks: u64,
        cylinder: u32,
        lba: u64,
        sectors: u32,
    ) -> Option<MediaCachePlace> {
        if sectors > self.max_sectors {
            return None;
        }
        let places = self.stretches.iter().enumerate().filter_map(|(index, stretch)| {
            let offset = lba % physical_sector_blocks;
            let extent = stretch.find_room(geometry, offset, physical_sector_blocks, sectors)?;
            Some(MediaCachePlace { extent, stretch: index })
        });
        places.min_by_key(|place| (place.extent.cylinder.abs_diff(cylinder), place.stretch))
    }

    /// Begins a write of blocks into the media cache, from `slot` on.
    pub(super) fn begin_write(&mut self, lba: u64, sectors: u32, slot: u64, stretch: usize) {
        let target = &mut self.stretches[stretch];
        target.next_slot = slot + u64::from(sectors);
        target.entry_count += 1;
        self.writing = Some((lba, MediaCacheEntry { sectors, slot, stretch }));
    }

    /// Ends the write in progress, which becomes an entry. Returns true if there was one.
    pub(super) fn end_write(&mut self) -> bool {
        let Some((lba, entry)) = self.writing.take() else { return false };
        self.remove_blocks(lba, lba + u64::from(entry.sectors));
        self.entries.insert(lba, entry);
        true
    }

    /// Drops the write in progress and all that was read back, after a power cut.
    pub(super) fn abort_transfers(&mut self) {
        if let Some((_, entry)) = self.writing.take() {
            self.subtract_entry(entry.stretch);
        }
        self.moving.clear();
    }

    /// Counts an entry of a stretch as gone.
    fn subtract_entry(&mut self, stretch: usize) {
        let stretch = &mut self.stretches[stretch];
        stretch.entry_count -= 1;
        if stretch.entry_count == 0 {
            stretch.next_slot = stretch.first_slot;
        }
    }

    /// Entries that hold any of `lba..end`, by first block, last first.
    fn overlapping_entries(&self, lba: u64, end: u64) -> impl Iterator<Item = (u64, MediaCacheEntry)> + '_ {
        let before = self.entries.range(..end).rev().map(|(&lba, &entry)| (lba, entry));
        before.take_while(move |(first_block, entry)| first_block + u64::from(entry.sectors) > lba)
    }

    /// Removes blocks `lba..end` from the entries: they are at home, or newer elsewhere.
    pub(super) fn remove_blocks(&mut self, lba: u64, end: u64) {
        loop {
            let last = self.overlapping_entries(lba, end).next();
            let Some((first, entry)) = last else { return };
            self.entries.remove(&first);
            let last = first + u64::from(entry.sectors);
            if first < lba {
                self.insert_entry(first, MediaCacheEntry { sectors: (lba - first) as u32, ..entry });
            }
            if end < last {
                let (sectors, slot) = ((last - end) as u32, entry.slot + (end - first));
                self.insert_entry(end, MediaCacheEntry { sectors, slot, ..entry });
            }
            self.subtract_entry(entry.stretch);
        }
    }

    fn insert_entry(&mut self, lba: u64, entry: MediaCacheEntry) {
        self.stretches[entry.stretch].entry_count += 1;
        self.entries.insert(lba, entry);
    }

    /// First part of `lba..end` that is in the media cache, as the slots that hold it.
    pub(super) fn first_part(&self, geometry: &Geometry, lba: u64, end: u64) -> Option<Extent> {
        let (first, entry) = self.overlapping_entries(lba, end).last().filter(|_| lba < end)?;
        let (from, to) = (first.max(lba), (first + u64::from(entry.sectors)).min(end));
        let extent = geometry.slot_extent(entry.slot + (from - first), (to - from) as u32);
        Some(Extent { lba: from, ..extent })
    }

    /// True while a write into the media cache is in progress.
    pub(super) fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    /// True if the media cache holds nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Removes the next run that was read back and is still to be written home. Returns its first block and its length
    /// in sectors.
    pub(super) fn pop_run_to_move(&mut self) -> Option<(u64, u32)> {
        while let Some((lba, entry)) = self.moving.pop_front() {
            if self.entries.get(&lba) == Some(&entry) {
                return Some((lba, entry.sectors));
            }
        }
        None
    }

    /// Selects the entries of the track nearest to `cylinder` to be moved home. Returns the slots from the first entry
    /// to the last; `None` if there are no entries.
    pub(super) fn select_track_to_move(&mut self, geometry: &Geometry, cylinder: u32) -> Option<Range<u64>> {
        let entries = self.nearest_track_entries(geometry, cylinder);
        let first = entries.iter().map(|(_, entry)| entry.slot).min()?;
        let end = entries.iter().map(|(_, entry)| entry.slot + u64::from(entry.sectors)).max()?;
        self.moving = entries.into();
        Some(first..end)
    }

    /// Entries of the track nearest to `cylinder`, by first block.
    fn nearest_track_entries(&self, geometry: &Geometry, cylinder: u32) -> Vec<(u64, MediaCacheEntry)> {
        let first_slot = |entry: &MediaCacheEntry| geometry.slot_extent(entry.slot, 1);
        let distance = |entry: &MediaCacheEntry| first_slot(entry).cylinder.abs_diff(cylinder);
        let nearest = self.entries.values().min_by_key(|entry| (distance(entry), entry.slot));
        let Some(track) = nearest.map(|entry| first_slot(entry).cylinder_and_head()) else { return Vec::new() };
        let entries = self.entries.iter().map(|(&lba, &entry)| (lba, entry));
        entries.filter(|(_, entry)| first_slot(entry).cylinder_and_head() == track).collect()
    }
}

impl ReservedStretch {
    /// The first place for `sectors` slots on one track, the first of them `offset` slots into a physical sector.
    fn find_room(&self, geometry: &Geometry, offset: u64, physical_sector_blocks: u64, sectors: u32) -> Option<Extent> {
        let mut slot = self.next_slot.next_multiple_of(physical_sector_blocks) + offset;
        while slot + u64::from(sectors) <= self.end_slot {
            let extent = geometry.slot_extent(slot, u32::MAX);
            if extent.sectors >= sectors {
                return Some(Extent { lba: slot, ..extent });
            }
            slot = (slot + u64::from(extent.sectors)).next_multiple_of(physical_sector_blocks) + offset;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::geometry::{Skews, TrackOrder, Zone};
    use crate::rng::{Rng, Seed};

    /// Two heads, 30 cylinders of 16 slots a track: 960 slots, of which 400 to 448 and 720 to 768 are reserved.
    fn geometry() -> Geometry {
        let zones = Zone::lay(0, 30, TrackOrder::Cylinder, &[16, 16], Skews { head: 0, cylinder: 0 });
        Geometry::new(960 - 96, &zones, &[(400, 48), (720, 48)], &[]).expect("a layout that fits")
    }

    const STRETCHES: [(u64, u64); 2] = [(400, 448), (720, 768)];
    const BLOCKS: u64 = 120;

    /// A media cache without runs, to compare with.
    struct Table {
        /// By block: the slot that it is in.
        slots: Vec<Option<u64>>,
        /// By stretch: the slot after the last write into it.
        next: [u64; 2],
    }

    impl Table {
        fn live(&self, stretch: usize) -> usize {
            let within = |slot: &u64| (STRETCHES[stretch].0..STRETCHES[stretch].1).contains(slot);
            self.slots.iter().flatten().filter(|slot| within(slot)).count()
        }

        fn forget(&mut self, lba: u64, end: u64) {
            (lba..end).for_each(|block| self.slots[block as usize] = None);
            for (stretch, (first, _)) in STRETCHES.into_iter().enumerate() {
                if self.live(stretch) == 0 {
                    self.next[stretch] = first;
                }
            }
        }

        /// Slot by slot: the first place of the stretch on one track of 16 slots, aligned as the blocks are.
        fn room(&self, stretch: usize, lba: u64, unit: u64, sectors: u64) -> Option<u64> {
            let end = STRETCHES[stretch].1;
            let aligned = self.next[stretch].next_multiple_of(unit);
            (aligned..end).find(|slot| slot % unit == lba % unit && slot % 16 + sectors <= 16 && slot + sectors <= end)
        }

        /// In the nearer stretch with room; the first of equals.
        fn place(&self, cylinder: u64, lba: u64, unit: u64, sectors: u64) -> Option<(u64, usize)> {
            let places = (0..2).filter_map(|stretch| Some((self.room(stretch, lba, unit, sectors)?, stretch)));
            places.min_by_key(|(slot, stretch)| ((slot / 32).abs_diff(cylinder), *stretch))
        }
    }

    fn write(rng: &mut Rng, media: &mut MediaCache, geometry: &Geometry, table: &mut Table) {
        let unit = if rng.draw_chance(50) { 8 } else { 1 };
        let sectors = 1 + rng.below(9);
        let (cylinder, lba) = (rng.below(30), rng.below(BLOCKS - sectors));
        let found = media.find_place(geometry, unit, cylinder as u32, lba, sectors as u32);
        let expected = if sectors > 8 { None } else { table.place(cylinder, lba, unit, sectors) };
        assert_eq!(
            found.map(|place| (place.extent.lba, place.stretch)),
            expected,
            "{sectors} of {lba} from {cylinder}"
        );
        let Some((slot, stretch)) = expected else { return };
        media.begin_write(lba, sectors as u32, slot, stretch);
        assert!(media.is_writing());
        if rng.draw_chance(10) {
            media.abort_transfers();
            // Its slots stay behind, unless nothing else is there.
            table.next[stretch] = slot + sectors;
            table.forget(0, 0);
        } else {
            assert!(media.end_write() && !media.end_write());
            table.next[stretch] = slot + sectors;
            for block in 0..sectors {
                table.slots[(lba + block) as usize] = Some(slot + block);
            }
            table.forget(0, 0);
        }
        assert!(!media.is_writing());
    }

    /// The first part of some blocks begins with the first that the table has, and its blocks lie in consecutive slots.
    fn compare(media: &MediaCache, geometry: &Geometry, table: &Table, lba: u64, end: u64) {
        let first = (lba..end).find(|&block| table.slots[block as usize].is_some());
        let found = media.first_part(geometry, lba, end);
        assert_eq!(found.map(|extent| extent.lba), first, "{lba}..{end}");
        let (Some(first), Some(found)) = (first, found) else { return };
        let slot = table.slots[first as usize].expect("it was found");
        let there = geometry.slot_extent(slot, found.sectors);
        assert_eq!((found.cylinder, found.head, found.angle), (there.cylinder, there.head, there.angle));
        for block in 0..u64::from(found.sectors) {
            assert_eq!(table.slots[(first + block) as usize], Some(slot + block), "{lba}..{end}, {block}");
        }
        assert!(first + u64::from(found.sectors) <= end);
    }

    #[test]
    fn it_holds_what_a_table_of_blocks_holds() {
        let geometry = geometry();
        let spec = Spec { stretches: 2, slots: 48, first_slot: 400, stride: 320, largest: 8 };
        let (mut full, mut moved) = (0, 0);
        for seed in 0..20 {
            let mut rng = Seed(seed).stream("media cache");
            let mut media = MediaCache::new(&spec);
            let mut table = Table { slots: alloc::vec![None; BLOCKS as usize], next: [400, 720] };
            for _ in 0..500 {
                match rng.below(10) {
                    0..6 => write(&mut rng, &mut media, &geometry, &mut table),
                    6..9 => {
                        let lba = rng.below(BLOCKS);
                        let end = (lba + 1 + rng.below(30)).min(BLOCKS);
                        media.remove_blocks(lba, end);
                        table.forget(lba, end);
                    }
                    _ => moved += move_track(&mut rng, &mut media, &geometry, &mut table),
                }
                let lba = rng.below(BLOCKS);
                compare(&media, &geometry, &table, lba, (lba + rng.below(40)).min(BLOCKS));
                compare(&media, &geometry, &table, 0, BLOCKS);
                assert_eq!(media.is_empty(), table.slots.iter().all(Option::is_none));
                full += u32::from(table.place(0, 0, 1, 8).is_none());
            }
        }
        assert!(full > 50 && moved > 200, "{full} times full, {moved} moved");
    }

    /// An idle drive reads back the entries of the track nearest to the arm, and moves home those that are still there
    /// when their turn comes. Returns how many blocks.
    fn move_track(rng: &mut Rng, media: &mut MediaCache, geometry: &Geometry, table: &mut Table) -> u32 {
        let cylinder = rng.below(30);
        let slots: Vec<u64> = table.slots.iter().flatten().copied().collect();
        let far = |slot: &u64| ((slot / 32).abs_diff(cylinder), *slot);
        let nearest = slots.iter().min_by_key(|slot| far(slot)).map(|slot| slot / 16);
        let taken = media.select_track_to_move(geometry, cylinder as u32);
        let on_track: Vec<u64> = slots.iter().filter(|slot| Some(*slot / 16) == nearest).copied().collect();
        let ends = on_track.iter().min().map(|&low| low..on_track.iter().max().expect("one") + 1);
        assert_eq!(taken, ends, "from cylinder {cylinder}");
        // Some of it is written anew, or to its home, before its turn.
        let gone = rng.below(BLOCKS);
        media.remove_blocks(gone, (gone + 4).min(BLOCKS));
        table.forget(gone, (gone + 4).min(BLOCKS));
        let mut moved = 0;
        while let Some((lba, sectors)) = media.pop_run_to_move() {
            for block in lba..lba + u64::from(sectors) {
                let slot = table.slots[block as usize].expect("what is moved is there");
                assert!(on_track.contains(&slot), "block {block} was not taken up");
            }
            media.remove_blocks(lba, lba + u64::from(sectors));
            table.forget(lba, lba + u64::from(sectors));
            moved += sectors;
        }
        moved
    }
}
