//! The layout of a drive: from the address of a block (LBA) to its cylinder, head and angle. `mechanics` knows how long
//! it takes to get there.
//!
//! A *zone* is a row of equal *bands*. A band is a list of *runs*: tracks of one surface on neighbouring cylinders.
//! Bands and runs describe all the layouts measured on drives (H. Wong 2019; DiskSim's layout models G1 to G4):
//!
//! ```text
//! cylinder-wise      band = 1 cylinder     runs: head 0, head 1, … head H-1, one track each
//! serpentine         band = 2 W cylinders  runs: head 0 inwards over W tracks, head 1 back outwards, …
//!                                          then over the next W tracks with the heads in reverse order
//! ```
//!
//! # Angles
//! An angle is a share of a revolution in 64 bits: 2^64 is once around, so it wraps by itself. Angle 0 is an
//! arbitrary mark on the platter; sectors pass the head in the direction of rising angle. The *skew* between two
//! tracks is the angle from the first sector of one to the first sector of the next in LBA order.
//!
//! # Holes and remaps
//! A *slot* is the place of one block on a track. Slots are numbered in the order of zones, bands, runs, tracks, and blocks take
//! them in that order. A *hole* is a stretch of slots that hold no blocks: space left empty at a zone's front, spares, slipped
//! defects; blocks continue after it. Holes stand for every sparing scheme, since they may lie at the end of a track, a
//! cylinder, a range or a zone. A *remapped* block lives in a slot of a hole instead of its own.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

/// Tracks of one surface on neighbouring cylinders, read one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SurfaceRun {
    /// The surface.
    pub head: u8,
    /// Cylinder of its first track, counted from the band's first cylinder.
    pub first: u32,
    /// True if LBAs run towards lower cylinders.
    pub backwards: bool,
    pub tracks: u32,
    /// Slots on each track.
    pub sectors_per_track: u32,
    /// Angle from the band's first sector to the run's first.
    pub angle: u64,
    /// Angle from one track's first sector to the next one's.
    pub skew: u64,
}

/// A row of equal bands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    pub first_cylinder: u32,
    /// Number of cylinders; a multiple of `band_cylinders`.
    pub cylinders: u32,
    /// Number of cylinders of a band.
    pub band_cylinders: u32,
    /// The runs of a band in LBA order.
    pub runs: Vec<SurfaceRun>,
    /// Extra angle from the continuation of the zone before to this zone's first sector.
    pub angle: u64,
    /// Angle from one band's first sector to the next one's.
    pub band_skew: u64,
    /// Angle of the first sector, if it does not depend on the zone before.
    pub restart: Option<u64>,
}

/// How a zone's tracks follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackOrder {
    /// All heads of a cylinder, then the next cylinder.
    Cylinder,
    /// All heads of a cylinder, then the next cylinder with the heads in reverse order.
    Switchback,
    /// Long runs on one surface, back on the next; the number is the run's length in tracks.
    Serpentine(u32),
}

/// The skews of a zone, as angles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skews {
    /// Between tracks of one cylinder (cylinder-wise), or at a change of surface (serpentine).
    pub head: u64,
    /// Between neighbouring cylinders.
    pub cylinder: u64,
}

impl Zone {
    /// Returns a zone of `cylinders` from `first_cylinder`, with `track_slots[h]` slots on each track of head `h`. A
    /// serpentine zone must be a multiple of twice its run length; see [`Zone::lay`] for any length.
    fn new(first_cylinder: u32, cylinders: u32, order: TrackOrder, track_slots: &[u32], skews: Skews) -> Zone {
        let heads = track_slots.len() as u32;
        let (band_cylinders, runs, band_skew) = match order {
            TrackOrder::Cylinder => {
                let run = |h: u32| SurfaceRun {
                    head: h as u8,
                    first: 0,
                    backwards: false,
                    tracks: 1,
                    sectors_per_track: track_slots[h as usize],
                    angle: skews.head.wrapping_mul(u64::from(h)),
                    skew: 0,
                };
                let runs: Vec<SurfaceRun> = (0..heads).map(run).collect();
                (1, runs, skews.head.wrapping_mul(u64::from(heads - 1)).wrapping_add(skews.cylinder))
            }
            TrackOrder::Switchback => {
                let runs = switchback_runs(track_slots, skews);
                let last = runs.last().expect("a zone has heads").angle;
                (2, runs, last.wrapping_add(skews.cylinder))
            }
            TrackOrder::Serpentine(tracks) => {
                let runs = serpentine_runs(tracks, track_slots, skews);
                let last = runs.last().expect("a zone has heads");
                let in_run = last.skew.wrapping_mul(u64::from(tracks - 1));
                let skew = last.angle.wrapping_add(in_run).wrapping_add(skews.head);
                (2 * tracks, runs, skew)
            }
        };
        Zone { first_cylinder, cylinders, band_cylinders, runs, angle: 0, band_skew, restart: None }
    }

    /// Returns zones that cover `cylinders` in `order`, with `track_slots[h]` slots on each track of head `h`: one of
    /// whole bands and, if a serpentine leaves a rest, one of a shorter run and perhaps one last cylinder.
    pub fn lay(first_cylinder: u32, cylinders: u32, order: TrackOrder, track_slots: &[u32], skews: Skews) -> Vec<Zone> {
        let tracks = match order {
            TrackOrder::Serpentine(tracks) => tracks,
            TrackOrder::Switchback => 1,
            TrackOrder::Cylinder => {
                return alloc::vec![Zone::new(first_cylinder, cylinders, order, track_slots, skews)];
            }
        };
        let mut zones = Vec::new();
        let (mut at, mut left) = (first_cylinder, cylinders);
        for run in [tracks, (cylinders % (2 * tracks)) / 2] {
            let part = if run == 0 { 0 } else { left - left % (2 * run) };
            if part > 0 {
                let part_order = if order == TrackOrder::Switchback { order } else { TrackOrder::Serpentine(run) };
                zones.push(Zone::new(at, part, part_order, track_slots, skews));
                at += part;
                left -= part;
            }
        }
        if left > 0 {
            zones.push(Zone::new(at, left, TrackOrder::Cylinder, track_slots, skews));
        }
        zones
    }

    /// Slots of one band.
    fn band_slots(&self) -> u64 {
        self.runs.iter().map(|run| u64::from(run.tracks) * u64::from(run.sectors_per_track)).sum()
    }

    /// Number of bands.
    fn bands(&self) -> u64 {
        u64::from(self.cylinders / self.band_cylinders)
    }

    /// Slots of the zone.
    pub fn slots(&self) -> u64 {
        self.band_slots() * self.bands()
    }
}

fn switchback_runs(track_slots: &[u32], skews: Skews) -> Vec<SurfaceRun> {
    let heads = track_slots.len();
    let mut angle = 0u64;
    let mut runs = Vec::new();
    for (index, head) in (0..heads).chain((0..heads).rev()).enumerate() {
        if index > 0 {
            angle = angle.wrapping_add(if index == heads { skews.cylinder } else { skews.head });
        }
        let first = u32::from(index >= heads);
        let run = SurfaceRun {
            head: head as u8,
            first,
            backwards: false,
            tracks: 1,
            sectors_per_track: track_slots[head],
            angle,
            skew: 0,
        };
        runs.push(run);
    }
    runs
}

fn serpentine_runs(run_tracks: u32, track_slots: &[u32], skews: Skews) -> Vec<SurfaceRun> {
    let heads = track_slots.len();
    let order = (0..heads).chain((0..heads).rev());
    let mut angle = 0u64;
    let mut runs = Vec::new();
    for (index, head) in order.enumerate() {
        let half_start = if index < heads { 0 } else { run_tracks };
        let backwards = index % 2 == 1;
        let first = if backwards { half_start + run_tracks - 1 } else { half_start };
        runs.push(SurfaceRun {
            head: head as u8,
            first,
            backwards,
            tracks: run_tracks,
            sectors_per_track: track_slots[head],
            angle,
            skew: skews.cylinder,
        });
        let to_next = skews.cylinder.wrapping_mul(u64::from(run_tracks - 1)).wrapping_add(skews.head);
        angle = angle.wrapping_add(to_next);
    }
    runs
}

/// A piece of one track: slots that pass under one head without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The first block.
    pub lba: u64,
    /// Number of blocks, at least 1.
    pub sectors: u32,
    pub cylinder: u32,
    /// The surface.
    pub head: u8,
    /// Angle at which its first slot begins.
    pub angle: u64,
    /// Angle of one slot.
    pub slot: u64,
    /// Number of slots before it on its track.
    pub before: u32,
    /// Number of slots after it on its track.
    pub behind: u32,
}

impl Extent {
    /// Angle that the extent covers.
    pub fn covered_angle(&self) -> u64 {
        self.slot.wrapping_mul(u64::from(self.sectors))
    }

    /// Block after the last.
    pub fn end(&self) -> u64 {
        self.lba + u64::from(self.sectors)
    }

    /// Cylinder and head: the track of the extent.
    pub fn cylinder_and_head(&self) -> (u32, u8) {
        (self.cylinder, self.head)
    }

    /// Splits the extent into its first blocks, at most `first_sectors`, and the rest.
    #[inline]
    pub fn split(&self, first_sectors: u32) -> (Extent, Option<Extent>) {
        match self.rest_after(first_sectors) {
            None => (*self, None),
            Some(rest) => (Extent { sectors: first_sectors, behind: self.behind + rest.sectors, ..*self }, Some(rest)),
        }
    }

    /// Rest of the extent after its first `first_sectors` blocks, if there is one.
    #[inline]
    pub(crate) fn rest_after(&self, first_sectors: u32) -> Option<Extent> {
        (first_sectors < self.sectors).then(|| Extent {
            lba: self.lba + u64::from(first_sectors),
            sectors: self.sectors - first_sectors,
            angle: self.angle.wrapping_add(self.slot.wrapping_mul(u64::from(first_sectors))),
            before: self.before + first_sectors,
            ..*self
        })
    }
}

/// Error in a layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// Zones overlap at this cylinder.
    Zones {
        /// Index of the zone.
        zone: usize,
        /// Where it may begin.
        expected: u32,
        /// Where it begins.
        found: u32,
    },
    /// A zone's field contradicts the others, or exceeds the model's tables.
    Zone {
        /// Index of the zone.
        zone: usize,
        field: &'static str,
        /// Rule that the field breaks.
        expected: &'static str,
    },
    /// The zones hold fewer blocks than the drive claims.
    TooSmall {
        /// Blocks in the zones.
        holds: u64,
        /// Blocks claimed.
        claims: u64,
    },
    /// A hole is empty, overlaps the one before, or lies beyond the last slot.
    Hole {
        /// Index of the hole.
        hole: usize,
    },
    /// A remap is out of order, begins in a hole, or leads to a slot that holds a block or another remap's.
    Remap {
        /// Index of the remap.
        remap: usize,
    },
}

/// A checked layout. Copies share its tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    sectors: u64,
    cylinders: u32,
    surfaces: u8,
    zones: Arc<[CompiledZone]>,
    /// The first zone of each slice of `1 << slice_log2` slots.
    zone_index: Arc<[u16]>,
    slice_log2: u32,
    /// By rising block.
    gaps: Arc<[Gap]>,
    /// For each stretch of `1 << gap_stretch_log2` blocks: the last entry of `gaps` at or before its first block, or
    /// else the first entry.
    gap_index: Arc<[u32]>,
    gap_stretch_log2: u32,
    /// Own slot and actual slot of each remapped block, rising.
    remaps: Arc<[(u64, u64)]>,
}

/// Holes between two neighbouring blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gap {
    /// The first block after the holes.
    block: u64,
    /// Number of slots in all holes before that block, those of earlier gaps included.
    hole_slots: u64,
}

/// Holes around a block.
struct NearbyHoles {
    /// Number of slots in all holes before the block.
    slots_before: u64,
    /// Number of blocks from the block to the next hole.
    blocks_to_next: u64,
}

/// Hashes long tables by length only: equal layouts have equal hashes, and a change of a zone or a skew changes the hash.
impl Hash for Geometry {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.sectors, self.cylinders, self.surfaces, self.gaps.len(), self.remaps.len()).hash(state);
        for zone in self.zones.iter() {
            let CompiledZone { start, band_slots, first_cylinder, angle, band_skew, .. } = *zone;
            (start, band_slots, first_cylinder, angle, band_skew, zone.runs.len()).hash(state);
        }
    }
}

/// A zone, with all that the position of a slot needs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CompiledZone {
    /// First slot.
    start: u64,
    /// Slot after the last.
    end: u64,
    band_slots: u64,
    /// Reciprocal of `band_slots`.
    band_reciprocal: u64,
    first_cylinder: u32,
    band_cylinders: u32,
    /// Angle of the first slot.
    angle: u64,
    band_skew: u64,
    runs: Vec<CompiledRun>,
    /// The run of the first slot of each stretch of `1 << stretch_log2` slots of a band.
    first_runs: Vec<u16>,
    stretch_log2: u32,
}

impl CompiledZone {
    /// The run that holds the slot `band_offset` of a band.
    #[inline(always)]
    fn run_at(&self, band_offset: u32) -> &CompiledRun {
        let mut index = usize::from(self.first_runs[(band_offset >> self.stretch_log2) as usize]);
        loop {
            let run = &self.runs[index];
            if band_offset < run.end {
                return run;
            }
            index += 1;
        }
    }
}

/// A run, with all that the position of a slot needs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CompiledRun {
    /// First slot, counted from the band's first.
    start: u32,
    /// Slot after the last, counted from the band's first.
    end: u32,
    sectors_per_track: u32,
    /// Reciprocal of `sectors_per_track`.
    track_reciprocal: u64,
    /// Cylinder of the first track, counted from the band's first.
    first: u32,
    backwards: bool,
    head: u8,
    angle: u64,
    skew: u64,
    slot_angle: u64,
}

impl Geometry {
    /// Checks `zones` and lays `sectors` blocks over them. `holes` are `(first slot, slots)`, `remaps` are `(slot, slot
    /// in a hole)`, both rising; the module's documentation says how slots are numbered.
    pub fn new(
        sectors: u64,
        zones: &[Zone],
        holes: &[(u64, u64)],
        remaps: &[(u64, u64)],
    ) -> Result<Geometry, LayoutError> {
        check_zones(zones)?;
        let mut compiled: Vec<CompiledZone> = Vec::with_capacity(zones.len());
        let (mut start, mut angle) = (0u64, 0u64);
        for zone in zones {
            let next = compile_zone(zone, start, zone.restart.unwrap_or(angle.wrapping_add(zone.angle)));
            start = next.end;
            angle = next.angle.wrapping_add(zone.band_skew.wrapping_mul(zone.bands()));
            compiled.push(next);
        }
        let gaps = gaps_of_holes(holes, start)?;
        let hole_slots: u64 = holes.iter().map(|hole| hole.1).sum();
        if start - hole_slots < sectors {
            return Err(LayoutError::TooSmall { holds: start - hole_slots, claims: sectors });
        }
        let last = zones.last().expect("checked above");
        let surfaces = zones.iter().flat_map(|z| &z.runs).map(|run| run.head).max().unwrap_or(0) + 1;
        let slice_log2 = (start.max(2) - 1).ilog2().saturating_sub(10);
        let mut geometry = Geometry {
            sectors,
            cylinders: last.first_cylinder + last.cylinders,
            surfaces,
            zone_index: zone_index(&compiled, slice_log2),
            zones: compiled.into(),
            slice_log2,
            gaps: gaps.into(),
            gap_index: Arc::default(),
            gap_stretch_log2: 0,
            remaps: Arc::default(),
        };
        geometry.index_gaps();
        geometry.check_and_set_remaps(remaps, start)?;
        Ok(geometry)
    }

    /// Builds `gap_index`.
    fn index_gaps(&mut self) {
        if self.gaps.is_empty() {
            return;
        }
        // Two stretches for each gap, so that few have more than one.
        let stretches = (2 * self.gaps.len() as u64).max(2);
        self.gap_stretch_log2 = (self.sectors / stretches).max(1).ilog2();
        let stretches = (self.sectors >> self.gap_stretch_log2) + 2;
        let gaps_up_to = |block: u64| self.gaps.partition_point(|gap| gap.block <= block);
        let last_gap = |stretch: u64| gaps_up_to(stretch << self.gap_stretch_log2).max(1) as u32 - 1;
        self.gap_index = (0..stretches).map(last_gap).collect();
    }

    /// Number of blocks.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Number of cylinders.
    pub fn cylinders(&self) -> u32 {
        self.cylinders
    }

    /// Number of surfaces.
    pub fn surfaces(&self) -> u8 {
        self.surfaces
    }

    /// Index of the zone of a slot.
    fn zone_of_slot(&self, slot: u64) -> usize {
        let mut zone = usize::from(self.zone_index[(slot >> self.slice_log2) as usize]);
        while slot >= self.zones[zone].end {
            zone += 1;
        }
        zone
    }

    /// Blocks of each zone: the first, and the one after the last. The drive's end cuts the last zone.
    pub fn zone_block_bounds(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.zones.iter().map(|zone| {
            let end = self.blocks_before(zone.end).min(self.sectors);
            (self.blocks_before(zone.start).min(end), end)
        })
    }

    /// Number of blocks before a slot.
    fn blocks_before(&self, slot: u64) -> u64 {
        let next = self.gaps.partition_point(|gap| gap.block + gap.hole_slots <= slot);
        let last = next.checked_sub(1).map_or(Gap { block: 0, hole_slots: 0 }, |index| self.gaps[index]);
        let next_block = self.gaps.get(next).map_or(u64::MAX, |gap| gap.block);
        (slot - last.hole_slots).max(last.block).min(next_block)
    }

    /// Holes around block `lba`.
    #[inline]
    fn holes_near(&self, lba: u64) -> NearbyHoles {
        if self.gaps.is_empty() {
            return NearbyHoles { slots_before: 0, blocks_to_next: u64::MAX };
        }
        let stretch = (lba >> self.gap_stretch_log2) as usize;
        let (first, last) = (self.gap_index[stretch] as usize, self.gap_index[stretch + 1] as usize);
        // Slips come in clusters: a stretch may hold hundreds.
        let index = first + self.gaps[first + 1..=last].partition_point(|gap| gap.block <= lba);
        let gap = self.gaps[index];
        if gap.block > lba {
            return NearbyHoles { slots_before: 0, blocks_to_next: gap.block - lba };
        }
        let next_block = self.gaps.get(index + 1).map_or(u64::MAX, |next| next.block);
        NearbyHoles { slots_before: gap.hole_slots, blocks_to_next: next_block - lba }
    }

    /// True if the drive has no remapped blocks, and no hole lies between blocks `from` and `to`.
    pub fn is_without_gaps(&self, from: u64, to: u64) -> bool {
        self.remaps.is_empty() && self.holes_near(from).blocks_to_next > to - from
    }

    /// Piece of track that holds block `lba` and those that follow it without a gap, at most `max_sectors`. Panics
    /// beyond the end of the drive.
    #[inline]
    pub fn extent(&self, lba: u64, max_sectors: u32) -> Extent {
        debug_assert!(lba < self.sectors);
        let NearbyHoles { slots_before, blocks_to_next } = self.holes_near(lba);
        let own_slot = lba + slots_before;
        let max_sectors = u64::from(max_sectors).min(blocks_to_next).min(self.sectors - lba) as u32;
        match self.remaps.is_empty() {
            true => self.extent_from_slot(lba, own_slot, max_sectors),
            false => self.extent_among_remaps(lba, own_slot, max_sectors),
        }
    }

    fn extent_among_remaps(&self, lba: u64, own_slot: u64, max_sectors: u32) -> Extent {
        let next = self.remaps.partition_point(|&(remapped, _)| remapped < own_slot);
        match self.remaps.get(next) {
            Some(&(remapped, actual_slot)) if remapped == own_slot => self.extent_from_slot(lba, actual_slot, 1),
            Some(&(remapped, _)) => {
                self.extent_from_slot(lba, own_slot, u64::from(max_sectors).min(remapped - own_slot) as u32)
            }
            None => self.extent_from_slot(lba, own_slot, max_sectors),
        }
    }

    /// Extent of block `lba`, which lies in `slot`, and of the slots that follow on its track, at most `max_sectors`.
    #[inline(always)]
    fn extent_from_slot(&self, lba: u64, slot: u64, max_sectors: u32) -> Extent {
        let zone = &self.zones[self.zone_of_slot(slot)];
        let band = divide(slot - zone.start, zone.band_reciprocal);
        let band_offset = (slot - zone.start - band * zone.band_slots) as u32;
        let run = zone.run_at(band_offset);
        let run_offset = band_offset - run.start;
        let track = divide(u64::from(run_offset), run.track_reciprocal) as u32;
        let before = run_offset - track * run.sectors_per_track;
        let band_cylinder = if run.backwards { run.first - track } else { run.first + track };
        let angle = zone
            .angle
            .wrapping_add(zone.band_skew.wrapping_mul(band))
            .wrapping_add(run.angle)
            .wrapping_add(run.skew.wrapping_mul(u64::from(track)))
            .wrapping_add(run.slot_angle.wrapping_mul(u64::from(before)));
        let sectors = max_sectors.min(run.sectors_per_track - before);
        Extent {
            lba,
            sectors,
            cylinder: zone.first_cylinder + band as u32 * zone.band_cylinders + band_cylinder,
            head: run.head,
            angle,
            slot: run.slot_angle,
            before,
            behind: run.sectors_per_track - before - sectors,
        }
    }

    /// Extent of `slot` and the slots that follow on its track, at most `max_sectors`; its `lba` is the slot.
    pub(crate) fn slot_extent(&self, slot: u64, max_sectors: u32) -> Extent {
        self.extent_from_slot(slot, slot, max_sectors)
    }

    /// True if the drive has `slots` slots from `first_slot` on, and no block lies in them.
    pub fn has_only_holes(&self, first_slot: u64, slots: u64) -> bool {
        let all_slots = self.zones.last().map_or(0, |zone| zone.end);
        let fits = first_slot.checked_add(slots).is_some_and(|end| end <= all_slots);
        let blocks_before = |slot: u64| self.blocks_before(slot).min(self.sectors);
        fits && blocks_before(first_slot) == blocks_before(first_slot + slots)
    }

    /// Block whose own slot is `slot`.
    fn block_in_slot(&self, slot: u64) -> Option<u64> {
        let block = self.blocks_before(slot);
        (block < self.sectors && block + self.holes_near(block).slots_before == slot).then_some(block)
    }

    /// Sets the remapped blocks (own slot, actual slot), if they rise and each has a slot of a hole to itself.
    fn check_and_set_remaps(&mut self, remaps: &[(u64, u64)], slot_count: u64) -> Result<(), LayoutError> {
        let mut taken: Vec<u64> = remaps.iter().map(|&(_, actual)| actual).collect();
        taken.sort_unstable();
        let is_taken_twice = |slot: u64| {
            taken.partition_point(|&other| other <= slot) > taken.partition_point(|&other| other < slot) + 1
        };
        for (remap, &(own, actual)) in remaps.iter().enumerate() {
            let rises = remap == 0 || remaps[remap - 1].0 < own;
            let is_free = actual < slot_count && self.block_in_slot(actual).is_none() && !is_taken_twice(actual);
            if !rises || own >= slot_count || self.block_in_slot(own).is_none() || !is_free {
                return Err(LayoutError::Remap { remap });
            }
        }
        self.remaps = remaps.into();
        Ok(())
    }
}

/// The first zone of each slice of `1 << slice_log2` slots.
fn zone_index(zones: &[CompiledZone], slice_log2: u32) -> Arc<[u16]> {
    let end = zones.last().map_or(0, |zone| zone.end);
    let zone_at = |slot: u64| zones.partition_point(|zone| zone.end <= slot).min(zones.len() - 1) as u16;
    (0..=(end >> slice_log2)).map(|slice| zone_at(slice << slice_log2)).collect()
}

/// Turns holes (first slot, slots) into gaps between blocks.
fn gaps_of_holes(holes: &[(u64, u64)], slot_count: u64) -> Result<Vec<Gap>, LayoutError> {
    let mut gaps: Vec<Gap> = Vec::with_capacity(holes.len());
    let (mut last_end, mut hole_slots) = (0u64, 0u64);
    for (hole, &(first, length)) in holes.iter().enumerate() {
        if length == 0 || first < last_end || first.checked_add(length).is_none_or(|end| end > slot_count) {
            return Err(LayoutError::Hole { hole });
        }
        let block = first - hole_slots;
        hole_slots += length;
        last_end = first + length;
        match gaps.last_mut() {
            Some(last) if last.block == block => last.hole_slots = hole_slots,
            _ => gaps.push(Gap { block, hole_slots }),
        }
    }
    Ok(gaps)
}

fn check_zones(zones: &[Zone]) -> Result<(), LayoutError> {
    let mut expected = 0u32;
    if zones.is_empty() || zones.len() > MAX_INDEXED {
        return Err(LayoutError::Zone {
            zone: MAX_INDEXED.min(zones.len()),
            field: "zones",
            expected: "1 to 65536 zones",
        });
    }
    for (index, zone) in zones.iter().enumerate() {
        if zone.first_cylinder < expected {
            return Err(LayoutError::Zones { zone: index, expected, found: zone.first_cylinder });
        }
        if let Some((field, expected)) = broken_rule(zone) {
            return Err(LayoutError::Zone { zone: index, field, expected });
        }
        expected = zone.first_cylinder + zone.cylinders;
    }
    Ok(())
}

/// Maximum number of zones, and of runs of a band: their indices are 16 bits wide.
const MAX_INDEXED: usize = 1 << 16;

/// First field of a zone that breaks a rule, and the rule.
fn broken_rule(zone: &Zone) -> Option<(&'static str, &'static str)> {
    let leaves_band = |run: &SurfaceRun| {
        let (first, tracks) = (u64::from(run.first), u64::from(run.tracks));
        let end = if run.backwards { first + 1 } else { first + tracks };
        (run.backwards && tracks > first + 1) || end > u64::from(zone.band_cylinders)
    };
    let last = u64::from(zone.first_cylinder) + u64::from(zone.cylinders);
    let rules = [
        (zone.cylinders > 0 && last <= u64::from(u32::MAX), "cylinders", "cylinders up to 2^32"),
        (zone.band_cylinders > 0, "band_cylinders", "1 or more"),
        (zone.cylinders.checked_rem(zone.band_cylinders) == Some(0), "cylinders", "a whole number of bands"),
        ((1..=MAX_INDEXED).contains(&zone.runs.len()), "runs", "1 to 65536 runs"),
        (zone.runs.iter().all(|run| run.tracks > 0), "runs", "tracks in each run"),
        (zone.runs.iter().all(|run| run.sectors_per_track > 0), "runs", "slots on each track"),
        (!zone.runs.iter().any(leaves_band), "runs", "runs inside the band's cylinders"),
    ];
    let broken = rules.into_iter().find(|rule| !rule.0).map(|(_, field, expected)| (field, expected));
    // The factors of these products are valid only now.
    broken.or_else(|| {
        let is_too_large = zone.band_slots() >= 1 << 26 || zone.slots() >= 1 << 38;
        is_too_large.then_some(("runs", "bands below 2^26 slots, zones below 2^38"))
    })
}

/// Compiles a zone whose first slot is `start_slot`, at `start_angle`.
fn compile_zone(zone: &Zone, start_slot: u64, start_angle: u64) -> CompiledZone {
    let mut offset = 0u32;
    let mut runs = Vec::with_capacity(zone.runs.len());
    for run in &zone.runs {
        let start = offset;
        offset += run.tracks * run.sectors_per_track;
        runs.push(CompiledRun {
            start,
            end: offset,
            sectors_per_track: run.sectors_per_track,
            track_reciprocal: reciprocal(u64::from(run.sectors_per_track)),
            first: run.first,
            backwards: run.backwards,
            head: run.head,
            angle: run.angle,
            skew: run.skew,
            slot_angle: slot_angle(run.sectors_per_track),
        });
    }
    let band_slots = zone.band_slots();
    let (first_runs, stretch_log2) = first_runs_of_stretches(&runs, offset);
    CompiledZone {
        start: start_slot,
        end: start_slot + zone.slots(),
        band_slots,
        band_reciprocal: reciprocal(band_slots),
        first_cylinder: zone.first_cylinder,
        band_cylinders: zone.band_cylinders,
        angle: start_angle,
        band_skew: zone.band_skew,
        runs,
        first_runs,
        stretch_log2,
    }
}

/// Divides the slots of a band into stretches, about two for each run. Returns the run that each begins in, and the
/// binary logarithm of their length.
fn first_runs_of_stretches(runs: &[CompiledRun], band_slots: u32) -> (Vec<u16>, u32) {
    let average_run = band_slots / runs.len() as u32;
    let stretch_log2 = average_run.max(2).ilog2() - 1;
    let first_run = |stretch: u32| runs.partition_point(|run| run.start <= stretch << stretch_log2) - 1;
    ((0..=band_slots >> stretch_log2).map(|stretch| first_run(stretch) as u16).collect(), stretch_log2)
}

/// Reciprocal of `divisor` for [`divide`]: 2^64 over it, rounded up. The upper half of a product with it is the
/// quotient (Granlund and Montgomery 1994). The error is below `divisor / 2^64` of the dividend, so the quotient is
/// exact while dividend times divisor stays below 2^64: [`check_zones`] keeps bands below 2^26 slots and zones below
/// 2^38. A divisor of 1 has the reciprocal 0.
fn reciprocal(divisor: u64) -> u64 {
    if divisor == 1 { 0 } else { (u64::MAX / divisor) + 1 }
}

/// Divides by the divisor of `reciprocal`.
#[inline]
fn divide(dividend: u64, reciprocal: u64) -> u64 {
    if reciprocal == 0 { dividend } else { ((u128::from(dividend) * u128::from(reciprocal)) >> 64) as u64 }
}

/// Angle of one slot, rounded down so that a whole track of them stays below a revolution: 2^64 would wrap to 0, and
/// would be reached exactly when the number of slots is a power of two.
fn slot_angle(sectors_per_track: u32) -> u64 {
    u64::MAX / u64::from(sectors_per_track)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_names_the_zone_in_which_each_slice_begins() {
        // Zones of 4,000, 3,900, 3,800 and 3,700 slots.
        let skews = Skews { head: 0, cylinder: 0 };
        let lay = |zone: u32| Zone::lay(zone * 100, 100, TrackOrder::Cylinder, &[40 - zone], skews);
        let zones: Vec<Zone> = (0..4).flat_map(lay).collect();
        let geometry = Geometry::new(15_400, &zones, &[], &[]).expect("it fits");
        assert_eq!((geometry.slice_log2, geometry.zone_index.len()), (3, 1926));
        for (slice, &zone) in geometry.zone_index.iter().enumerate() {
            let slot = slice as u64 * 8;
            let before = [4_000, 7_900, 11_700].iter().filter(|&&end| end <= slot).count();
            assert_eq!(usize::from(zone), before, "slot {slot}");
        }
    }

    /// Bands are below 2^26 slots, zones below 2^38.
    #[test]
    fn quotients_are_exact_up_to_the_largest_zone() {
        for divisor in [1, 2, 3, 63, 64, 1_000_003, (1 << 26) - 2, (1 << 26) - 1] {
            let (inverse, last) = (reciprocal(divisor), ((1 << 38) - 1) / divisor);
            for dividend in [1, last / 2, last].into_iter().flat_map(|whole| [whole * divisor - 1, whole * divisor]) {
                assert_eq!(divide(dividend, inverse), dividend / divisor, "{dividend} / {divisor}");
            }
        }
    }
}
