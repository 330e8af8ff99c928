//! The media cache: reserved stretches of the medium into which small writes go one after another, and from which they
//! are moved home when the drive is idle.
//!
//! Under pressure (buffer full of dirty segments, a flush, a power-off) a dirty segment that is small enough is written
//! behind the last one in the nearest stretch with room: no seek between them, no waiting for its place to come round.
//! It is durable there, so it is reported as landed and outlives a cut. An idle drive whose buffer is clean reads such
//! writes back, a track of them at a time, and writes each to its place. A full media cache is passed by: writes go
//! home until an idle drive has emptied a stretch. An access to it stays on one track.
//!
//! A read of blocks that are all in one such write goes there; one that touches any reads its own place and then each
//! of them, and fills no segment. Read-ahead takes blocks from their own places. How a drive finds its entries again
//! after a power failure costs no time here, and a write into the media cache that a cut broke off is looked for at
//! home. Makers describe the principle and no figures (Seagate's Advanced Write Caching, HGST's media cache; US patent
//! 10579533): order and limits are our own.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use super::geometry::{Extent, Geometry};
use super::profile::MediaCacheSpec as Spec;

/// What is in the media cache. It is on the medium: a power failure changes nothing of it.
#[derive(Clone, Debug)]
pub(super) struct MediaCache {
    stretches: Vec<Stretch>,
    largest: u32,
    /// By first block; none overlaps another.
    entries: BTreeMap<u64, Entry>,
    /// The write on its way into it.
    writing: Option<(u64, Entry)>,
    /// Read back, to be written home next.
    moving: VecDeque<(u64, Entry)>,
}

/// A reserved stretch of slots, filled from its first on.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    first: u64,
    end: u64,
    next: u64,
    /// Entries in it; it is filled anew when there are none.
    live: u32,
}

/// Blocks in the media cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    sectors: u32,
    slot: u64,
    stretch: usize,
}

impl MediaCache {
    pub(super) fn new(spec: &Spec) -> MediaCache {
        let stretches = (0..u64::from(spec.stretches)).map(|index| {
            let first = spec.first_slot + index * spec.stride;
            Stretch { first, end: first + spec.slots, next: first, live: 0 }
        });
        let (entries, writing, moving) = Default::default();
        MediaCache { stretches: stretches.collect(), largest: spec.largest, entries, writing, moving }
    }

    /// The slots to which `sectors` blocks from `lba` would go, in the stretch with room that is nearest to `cylinder`:
    /// aligned to physical sectors of `unit` blocks as the blocks are, beginning in one of their own. Nothing where they
    /// are too many.
    pub(super) fn place(
        &self,
        (geometry, unit): (&Geometry, u64),
        cylinder: u32,
        lba: u64,
        sectors: u32,
    ) -> Option<(Extent, usize)> {
        if sectors > self.largest {
            return None;
        }
        let places = self.stretches.iter().enumerate().filter_map(|(index, stretch)| {
            let extent = stretch.room(geometry, lba % unit, unit, sectors)?;
            Some((extent.cylinder.abs_diff(cylinder), index, extent))
        });
        let (_, index, extent) = places.min_by_key(|&(distance, index, _)| (distance, index))?;
        Some((extent, index))
    }

    /// A write into the media cache begins.
    pub(super) fn begin(&mut self, lba: u64, sectors: u32, slot: u64, stretch: usize) {
        let into = &mut self.stretches[stretch];
        into.next = slot + u64::from(sectors);
        into.live += 1;
        self.writing = Some((lba, Entry { sectors, slot, stretch }));
    }

    /// It has ended. Answers whether there was one.
    pub(super) fn end(&mut self) -> bool {
        let Some((lba, entry)) = self.writing.take() else { return false };
        self.forget(lba, lba + u64::from(entry.sectors));
        self.entries.insert(lba, entry);
        true
    }

    /// It was cut off.
    pub(super) fn cut_off(&mut self) {
        if let Some((_, entry)) = self.writing.take() {
            self.drop_from(entry.stretch);
        }
        self.moving.clear();
    }

    fn drop_from(&mut self, stretch: usize) {
        let stretch = &mut self.stretches[stretch];
        stretch.live -= 1;
        if stretch.live == 0 {
            stretch.next = stretch.first;
        }
    }

    /// The entries that hold any of `lba..end`, the last first.
    fn meeting(&self, lba: u64, end: u64) -> impl Iterator<Item = (u64, Entry)> + '_ {
        let before = self.entries.range(..end).rev().map(|(&lba, &entry)| (lba, entry));
        before.take_while(move |(first, entry)| first + u64::from(entry.sectors) > lba)
    }

    /// Blocks `lba..end` are at home, or newer elsewhere.
    pub(super) fn forget(&mut self, lba: u64, end: u64) {
        loop {
            let last = self.meeting(lba, end).next();
            let Some((first, entry)) = last else { return };
            self.entries.remove(&first);
            let last = first + u64::from(entry.sectors);
            if first < lba {
                self.keep(first, Entry { sectors: (lba - first) as u32, ..entry });
            }
            if end < last {
                let (sectors, slot) = ((last - end) as u32, entry.slot + (end - first));
                self.keep(end, Entry { sectors, slot, ..entry });
            }
            self.drop_from(entry.stretch);
        }
    }

    fn keep(&mut self, lba: u64, entry: Entry) {
        self.stretches[entry.stretch].live += 1;
        self.entries.insert(lba, entry);
    }

    /// The first part of `lba..end` that is in it: its first block, its blocks, and where they are.
    pub(super) fn first_part(&self, geometry: &Geometry, lba: u64, end: u64) -> Option<Extent> {
        let (first, entry) = self.meeting(lba, end).last().filter(|_| lba < end)?;
        let (from, to) = (first.max(lba), (first + u64::from(entry.sectors)).min(end));
        let extent = geometry.at_slot(entry.slot + (from - first), (to - from) as u32);
        Some(Extent { lba: from, ..extent })
    }

    /// A write is on its way into it.
    pub(super) fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    /// Nothing is in it.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The next run of blocks that has been read back and is still to be written home: its first block and its blocks.
    pub(super) fn pop_moving(&mut self) -> Option<(u64, u32)> {
        while let Some((lba, entry)) = self.moving.pop_front() {
            if self.entries.get(&lba) == Some(&entry) {
                return Some((lba, entry.sectors));
            }
        }
        None
    }

    /// Takes up the entries of the track nearest to `cylinder`, to be moved home. Answers the slots that hold them.
    pub(super) fn take_up_track(&mut self, geometry: &Geometry, cylinder: u32) -> Option<(u64, u64)> {
        let track = self.next_track(geometry, cylinder);
        let slots = track.iter().map(|(_, entry)| (entry.slot, entry.slot + u64::from(entry.sectors)));
        let (first, end) = slots.fold((u64::MAX, 0), |(low, high), (from, to)| (low.min(from), high.max(to)));
        self.moving = track.into();
        (first < end).then_some((first, end))
    }

    /// The entries of one track that are moved home next.
    fn next_track(&self, geometry: &Geometry, cylinder: u32) -> Vec<(u64, Entry)> {
        let place = |entry: &Entry| geometry.at_slot(entry.slot, 1);
        let nearest = self.entries.values().min_by_key(|entry| (place(entry).cylinder.abs_diff(cylinder), entry.slot));
        let Some(track) = nearest.map(|entry| place(entry).cylinder_and_head()) else { return Vec::new() };
        let there = self.entries.iter().map(|(&lba, &entry)| (lba, entry));
        there.filter(|(_, entry)| place(entry).cylinder_and_head() == track).collect()
    }
}

impl Stretch {
    /// The first place for `sectors` slots on one track, the first of them `offset` slots into a physical sector.
    fn room(&self, geometry: &Geometry, offset: u64, unit: u64, sectors: u32) -> Option<Extent> {
        let mut slot = self.next.next_multiple_of(unit) + offset;
        while slot + u64::from(sectors) <= self.end {
            let extent = geometry.at_slot(slot, u32::MAX);
            if extent.sectors >= sectors {
                return Some(Extent { lba: slot, ..extent });
            }
            slot = (slot + u64::from(extent.sectors)).next_multiple_of(unit) + offset;
        }
        None
    }
}
