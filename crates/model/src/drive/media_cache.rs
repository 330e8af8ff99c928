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
use super::profile::{MediaCache as Spec, Profile};
use super::{Activity, Drive, Power, Purpose};
use crate::block::{Op, Request, SECTOR};
use crate::time::Instant;

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

    /// The slots to which `sectors` blocks from `lba` would go, in the nearest stretch with room: aligned to physical
    /// sectors as the blocks are, beginning in one of their own.
    fn place(&self, profile: &Profile, cylinder: u32, lba: u64, sectors: u32) -> Option<(Extent, usize)> {
        let (geometry, unit) = (&profile.geometry, u64::from(profile.physical_sector) / SECTOR);
        let places = self.stretches.iter().enumerate().filter_map(|(index, stretch)| {
            let extent = stretch.room(geometry, lba % unit, unit, sectors)?;
            Some((extent.cylinder.abs_diff(cylinder), index, extent))
        });
        let (_, index, extent) = places.min_by_key(|&(distance, index, _)| (distance, index))?;
        Some((extent, index))
    }

    /// A write into the media cache begins.
    fn begin(&mut self, lba: u64, sectors: u32, slot: u64, stretch: usize) {
        let into = &mut self.stretches[stretch];
        into.next = slot + u64::from(sectors);
        into.live += 1;
        self.writing = Some((lba, Entry { sectors, slot, stretch }));
    }

    /// It has ended. Answers whether there was one.
    fn end(&mut self) -> bool {
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
    fn forget(&mut self, lba: u64, end: u64) {
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
    fn first_part(&self, geometry: &Geometry, lba: u64, end: u64) -> Option<Extent> {
        let (first, entry) = self.meeting(lba, end).last().filter(|_| lba < end)?;
        let (from, to) = (first.max(lba), (first + u64::from(entry.sectors)).min(end));
        let extent = geometry.at_slot(entry.slot + (from - first), (to - from) as u32);
        Some(Extent { lba: from, ..extent })
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

impl Drive {
    /// Where a dirty run goes in the media cache, if it goes there now.
    fn place_in_media_cache(&self, now: Instant, start: u64, sectors: u32) -> Option<(Extent, usize)> {
        let media = self.media_cache.as_ref()?;
        let goes = sectors <= media.largest && self.pressing(now);
        goes.then(|| media.place(&self.profile, self.arm.cylinder, start, sectors)).flatten()
    }

    /// What is written now goes into the media cache.
    pub(super) fn writes_to_media_cache(&self) -> bool {
        self.media_cache.as_ref().is_some_and(|media| media.writing.is_some())
    }

    /// The oldest dirty segment that goes into the media cache now, and its place there. Segments from number `fence` on
    /// wait.
    pub(super) fn next_for_media_cache(&self, now: Instant, fence: u64) -> Option<(usize, Extent)> {
        self.media_cache.as_ref()?;
        let mut waiting = self.buffer.destageable().filter(|(_, dirty)| dirty.serial < fence);
        waiting.find_map(|(segment, _)| {
            let (start, _) = self.buffer.span(segment);
            let (end, _) = self.buffer.ready(segment, now, self.unit());
            Some((segment, self.place_in_media_cache(now, start, (end - start) as u32)?.0))
        })
    }

    /// Where a dirty run is written now, in the media cache or at home.
    pub(super) fn destination(&mut self, now: Instant, run: &Request) -> Extent {
        let Some((extent, stretch)) = self.place_in_media_cache(now, run.lba, run.sectors) else {
            return self.profile.geometry.extent(run.lba, u32::MAX);
        };
        // What follows in its stretch begins in a physical sector of its own.
        self.half_written = None;
        if let Some(media) = &mut self.media_cache {
            media.begin(run.lba, run.sectors, extent.lba, stretch);
        }
        Extent { lba: run.lba, ..extent }
    }

    /// A write of `lba..end` has ended, perhaps in the media cache; answers whether it was there.
    pub(super) fn settle_media_cache(&mut self, lba: u64, end: u64) -> bool {
        let Some(media) = &mut self.media_cache else { return false };
        if media.end() {
            self.half_written = None;
            return true;
        }
        media.forget(lba, end);
        false
    }

    /// Where a read begins whose blocks are all in one entry.
    pub(super) fn in_media_cache(&self, request: &Request) -> Option<Extent> {
        let media = self.media_cache.as_ref().filter(|_| request.op == Op::Read)?;
        let part = media.first_part(&self.profile.geometry, request.lba, request.end())?;
        (part.sectors == request.sectors).then_some(part)
    }

    /// The blocks from `lba` to `end` that a read finds in the media cache first.
    pub(super) fn part_in_media_cache(&self, lba: u64, end: u64) -> Option<Extent> {
        self.media_cache.as_ref()?.first_part(&self.profile.geometry, lba, end)
    }

    /// An idle drive has something to move home.
    pub(super) fn may_move_home(&self) -> bool {
        let idle = self.power == Power::On && self.free.len() == self.slots.len();
        idle && self.media_cache.as_ref().is_some_and(|media| !media.entries.is_empty())
    }

    /// Reads a track of the media cache, or writes the next entry of the one read home.
    pub(super) fn move_home(&mut self, now: Instant) {
        let Some(media) = &mut self.media_cache else { return };
        let blank = Request::NONE;
        while let Some((lba, entry)) = media.moving.pop_front() {
            if media.entries.get(&lba) == Some(&entry) {
                let first = self.profile.geometry.extent(lba, u32::MAX);
                let run = Request { op: Op::Write, lba, sectors: entry.sectors, ..blank };
                return self.start_moving(now, &run, first);
            }
        }
        let track = media.next_track(&self.profile.geometry, self.arm.cylinder);
        let slots = track.iter().map(|(_, entry)| (entry.slot, entry.slot + u64::from(entry.sectors)));
        let (first, end) = slots.fold((u64::MAX, 0), |(low, high), (from, to)| (low.min(from), high.max(to)));
        media.moving = track.into();
        if first < end {
            let extent = Extent { lba: 0, ..self.profile.geometry.at_slot(first, u32::MAX) };
            let run = Request { op: Op::Read, lba: 0, sectors: (end - first) as u32, ..blank };
            self.start_moving(now, &run, extent);
        }
    }

    fn start_moving(&mut self, now: Instant, run: &Request, first: Extent) {
        self.tidying = true;
        self.break_off(now);
        self.start(now, run, first, Purpose::Moving, (now, now));
    }

    /// The read of blocks that its own place did not have goes on in the media cache. Answers whether it does.
    pub(super) fn gather(&mut self, now: Instant, slot: u16) -> bool {
        let command = &self.slots[usize::from(slot)];
        let (request, from) = (command.request, command.gathered.max(command.request.lba));
        let Some(part) = self.part_in_media_cache(from, request.end()) else { return false };
        let run = Request { op: Op::Read, lba: part.lba, sectors: part.sectors, ..request };
        self.slots[usize::from(slot)].gathered = part.end();
        self.start(now, &run, part, Purpose::Command { slot, segment: None }, (now, now));
        debug_assert!(matches!(self.activity, Activity::Access { .. }));
        true
    }
}
