//! Position of a block: LBA to cylinder, head and angle. Arithmetic only; `mechanics` knows how long it takes to get
//! there.
//!
//! A zone is a row of equal *bands*, a band a list of *runs*: tracks of one surface on neighbouring cylinders. Bands
//! and runs describe all the layouts measured on drives (H. Wong 2019; DiskSim's layout models G1 to G4):
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
//! Slots are numbered in the order of zones, bands, runs, tracks. Blocks take them in that order. A *hole* is a stretch of
//! slots that hold no blocks: space left empty at a zone's front, spares, slipped defects; blocks continue after it.
//! Holes stand for every sparing scheme, since they may lie at the end of a track, a cylinder, a range or a zone. A
//! *remap* is a block that lives in a slot of a hole instead of its own.

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
    /// True when LBAs run towards lower cylinders.
    pub backwards: bool,
    pub tracks: u32,
    /// Slots on each track.
    pub sectors_per_track: u32,
    /// Angle of its first sector, from the band's first.
    pub angle: u64,
    /// Angle from one track's first sector to the next one's.
    pub skew: u64,
}

/// A row of equal bands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    pub first_cylinder: u32,
    /// Cylinders; a multiple of `band_cylinders`.
    pub cylinders: u32,
    pub band_cylinders: u32,
    /// The band's runs in LBA order.
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
    /// Long runs on one surface, back on the next; the figure is the run's length in tracks.
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
    /// Returns a zone of `cylinders` from `first_cylinder`, `spt[h]` slots on each track of head `h`. A serpentine zone
    /// must be a multiple of twice its run length; see [`Zone::lay`] for any length.
    fn new(first_cylinder: u32, cylinders: u32, order: TrackOrder, spt: &[u32], skews: Skews) -> Zone {
        let heads = spt.len() as u32;
        let (band_cylinders, runs, band_skew) = match order {
            TrackOrder::Cylinder => {
                let run = |h: u32| SurfaceRun {
                    head: h as u8,
                    first: 0,
                    backwards: false,
                    tracks: 1,
                    sectors_per_track: spt[h as usize],
                    angle: skews.head.wrapping_mul(u64::from(h)),
                    skew: 0,
                };
                let runs: Vec<SurfaceRun> = (0..heads).map(run).collect();
                (1, runs, skews.head.wrapping_mul(u64::from(heads - 1)).wrapping_add(skews.cylinder))
            }
            TrackOrder::Switchback => {
                let runs = switchback_runs(spt, skews);
                let last = runs.last().expect("a zone has heads").angle;
                (2, runs, last.wrapping_add(skews.cylinder))
            }
            TrackOrder::Serpentine(tracks) => {
                let runs = serpentine_runs(tracks, spt, skews);
                let last = runs.last().expect("a zone has heads");
                let in_run = last.skew.wrapping_mul(u64::from(tracks - 1));
                let skew = last.angle.wrapping_add(in_run).wrapping_add(skews.head);
                (2 * tracks, runs, skew)
            }
        };
        Zone { first_cylinder, cylinders, band_cylinders, runs, angle: 0, band_skew, restart: None }
    }

    /// Returns zones that cover `cylinders` in `order`: one of whole bands and, if a serpentine leaves a rest, one of a
    /// shorter run and perhaps one last cylinder.
    pub fn lay(first_cylinder: u32, cylinders: u32, order: TrackOrder, spt: &[u32], skews: Skews) -> Vec<Zone> {
        let tracks = match order {
            TrackOrder::Serpentine(tracks) => tracks,
            TrackOrder::Switchback => 1,
            TrackOrder::Cylinder => return alloc::vec![Zone::new(first_cylinder, cylinders, order, spt, skews)],
        };
        let mut zones = Vec::new();
        let (mut at, mut left) = (first_cylinder, cylinders);
        for run in [tracks, (cylinders % (2 * tracks)) / 2] {
            let part = if run == 0 { 0 } else { left - left % (2 * run) };
            if part > 0 {
                let whole = if order == TrackOrder::Switchback { order } else { TrackOrder::Serpentine(run) };
                zones.push(Zone::new(at, part, whole, spt, skews));
                at += part;
                left -= part;
            }
        }
        if left > 0 {
            zones.push(Zone::new(at, left, TrackOrder::Cylinder, spt, skews));
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

fn switchback_runs(spt: &[u32], skews: Skews) -> Vec<SurfaceRun> {
    let heads = spt.len();
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
            sectors_per_track: spt[head],
            angle,
            skew: 0,
        };
        runs.push(run);
    }
    runs
}

fn serpentine_runs(tracks: u32, spt: &[u32], skews: Skews) -> Vec<SurfaceRun> {
    let heads = spt.len();
    let order = (0..heads).chain((0..heads).rev());
    let mut angle = 0u64;
    let mut runs = Vec::new();
    for (index, head) in order.enumerate() {
        let half = if index < heads { 0 } else { tracks };
        let backwards = index % 2 == 1;
        let first = if backwards { half + tracks - 1 } else { half };
        runs.push(SurfaceRun {
            head: head as u8,
            first,
            backwards,
            tracks,
            sectors_per_track: spt[head],
            angle,
            skew: skews.cylinder,
        });
        let to_next = skews.cylinder.wrapping_mul(u64::from(tracks - 1)).wrapping_add(skews.head);
        angle = angle.wrapping_add(to_next);
    }
    runs
}

/// A piece of one track: slots that pass under one head without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The first block.
    pub lba: u64,
    /// Blocks, at least 1.
    pub sectors: u32,
    /// Where the arm must be.
    pub cylinder: u32,
    /// Which surface.
    pub head: u8,
    /// Angle at which its first slot begins.
    pub angle: u64,
    /// Angle of one slot.
    pub slot: u64,
    /// Slots before it on its track.
    pub before: u32,
    /// Slots after it on its track.
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

    /// Track of the extent.
    pub fn cylinder_and_head(&self) -> (u32, u8) {
        (self.cylinder, self.head)
    }

    /// Splits the extent into its first blocks, at most `sectors`, and the rest.
    #[inline]
    pub fn split(&self, sectors: u32) -> (Extent, Option<Extent>) {
        match self.rest_after(sectors) {
            None => (*self, None),
            Some(rest) => (Extent { sectors, behind: self.behind + rest.sectors, ..*self }, Some(rest)),
        }
    }

    /// Rest of the extent after its first `sectors` blocks.
    #[inline]
    pub(crate) fn rest_after(&self, sectors: u32) -> Option<Extent> {
        (sectors < self.sectors).then(|| Extent {
            lba: self.lba + u64::from(sectors),
            sectors: self.sectors - sectors,
            angle: self.angle.wrapping_add(self.slot.wrapping_mul(u64::from(sectors))),
            before: self.before + sectors,
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
    /// First zone of each slice of `1 << slice` blocks.
    index: Arc<[u16]>,
    slice: u32,
    /// `(from, slots)`: the holes before blocks from `from` on take `slots` slots in all, until the next entry.
    gaps: Arc<[(u64, u64)]>,
    /// Last entry of `gaps` at or before the start of each stretch of `1 << gap_stretch` blocks, and before their end.
    gap_index: Arc<[u32]>,
    gap_stretch: u32,
    /// Own slot and actual slot of each remapped block, rising.
    remaps: Arc<[(u64, u64)]>,
}

/// Hashes long tables by length only: equal layouts have equal hashes, and a change of a zone or a skew changes the hash.
impl Hash for Geometry {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.sectors, self.cylinders, self.surfaces, self.gaps.len(), self.remaps.len()).hash(state);
        let of = |zone: &CompiledZone| {
            (zone.start, zone.band, zone.first_cylinder, zone.angle, zone.band_skew, zone.runs.len())
        };
        self.zones.iter().for_each(|zone| of(zone).hash(state));
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct CompiledZone {
    start: u64,
    end: u64,
    band: u64,
    band_inverse: u64,
    first_cylinder: u32,
    band_cylinders: u32,
    angle: u64,
    band_skew: u64,
    runs: Vec<CompiledRun>,
    /// Run of the first slot of each stretch of `1 << stretch` slots of a band.
    guesses: Vec<u16>,
    stretch: u32,
}

impl CompiledZone {
    /// Run that holds a slot of a band.
    #[inline(always)]
    fn run_at(&self, offset: u32) -> &CompiledRun {
        let mut run = usize::from(self.guesses[(offset >> self.stretch) as usize]);
        loop {
            let found = &self.runs[run];
            if offset < found.end {
                return found;
            }
            run += 1;
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct CompiledRun {
    start: u32,
    end: u32,
    sectors_per_track: u32,
    track_inverse: u64,
    first: u32,
    backwards: bool,
    head: u8,
    angle: u64,
    skew: u64,
    slot: u64,
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
        let gaps = lay_holes(holes, start)?;
        let left_out: u64 = holes.iter().map(|hole| hole.1).sum();
        if start - left_out < sectors {
            return Err(LayoutError::TooSmall { holds: start - left_out, claims: sectors });
        }
        let last = zones.last().expect("checked above");
        let surfaces = zones.iter().flat_map(|z| &z.runs).map(|run| run.head).max().unwrap_or(0) + 1;
        let slice = (start.max(2) - 1).ilog2().saturating_sub(10);
        let mut geometry = Geometry {
            sectors,
            cylinders: last.first_cylinder + last.cylinders,
            surfaces,
            index: index(&compiled, slice),
            zones: compiled.into(),
            slice,
            gaps: gaps.into(),
            gap_index: Arc::default(),
            gap_stretch: 0,
            remaps: Arc::default(),
        };
        geometry.index_gaps();
        geometry.lay_remaps(remaps, start)?;
        Ok(geometry)
    }

    fn index_gaps(&mut self) {
        if self.gaps.is_empty() {
            return;
        }
        // Two stretches for each gap, so that few have more than one.
        let stretches = (2 * self.gaps.len() as u64).max(2);
        self.gap_stretch = (self.sectors / stretches).max(1).ilog2();
        let stretches = (self.sectors >> self.gap_stretch) + 2;
        let last = |stretch: u64| self.gaps.partition_point(|&(from, _)| from <= stretch << self.gap_stretch);
        self.gap_index = (0..stretches).map(|stretch| last(stretch).max(1) as u32 - 1).collect();
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
        let mut zone = usize::from(self.index[(slot >> self.slice) as usize]);
        while slot >= self.zones[zone].end {
            zone += 1;
        }
        zone
    }

    /// Blocks of each zone, the first and the one after the last; the drive's end cuts the last zone.
    pub fn zone_spans(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.zones.iter().map(|zone| {
            let end = self.blocks_before(zone.end).min(self.sectors);
            (self.blocks_before(zone.start).min(end), end)
        })
    }

    /// Number of blocks before a slot.
    fn blocks_before(&self, slot: u64) -> u64 {
        let after = self.gaps.partition_point(|&(from, slots)| from + slots <= slot);
        let (from, slots) = after.checked_sub(1).map_or((0, 0), |entry| self.gaps[entry]);
        let until = self.gaps.get(after).map_or(u64::MAX, |&(from, _)| from);
        (slot - slots).max(from).min(until)
    }

    /// (slots of the holes before a block, blocks from it to the next hole).
    #[inline]
    fn gap_before(&self, lba: u64) -> (u64, u64) {
        if self.gaps.is_empty() {
            return (0, u64::MAX);
        }
        let stretch = (lba >> self.gap_stretch) as usize;
        let (first, last) = (self.gap_index[stretch] as usize, self.gap_index[stretch + 1] as usize);
        // Slips come in clusters: a stretch may hold hundreds.
        let entry = first + self.gaps[first + 1..=last].partition_point(|&(from, _)| from <= lba);
        let (from, slots) = self.gaps[entry];
        let next = self.gaps.get(entry + 1).map_or(u64::MAX, |&(from, _)| from);
        if from > lba { (0, from - lba) } else { (slots, next - lba) }
    }

    /// True if the drive has no remaps, and no hole lies between blocks `from` and `to`.
    pub fn is_unbroken(&self, from: u64, to: u64) -> bool {
        self.remaps.is_empty() && self.gap_before(from).1 > to - from
    }

    /// Piece of track that holds block `lba` and those that follow it without a gap, at most `sectors`.
    /// Panics beyond the end of the drive.
    #[inline]
    pub fn extent(&self, lba: u64, sectors: u32) -> Extent {
        debug_assert!(lba < self.sectors);
        let (slots, run) = self.gap_before(lba);
        let sectors = u64::from(sectors).min(run).min(self.sectors - lba) as u32;
        match self.remaps.is_empty() {
            true => self.extent_in_slot(lba, lba + slots, sectors),
            false => self.extent_among_remaps(lba, lba + slots, sectors),
        }
    }

    fn extent_among_remaps(&self, lba: u64, slot: u64, sectors: u32) -> Extent {
        let next = self.remaps.partition_point(|&(own, _)| own < slot);
        match self.remaps.get(next) {
            Some(&(own, lives)) if own == slot => self.extent_in_slot(lba, lives, 1),
            Some(&(own, _)) => self.extent_in_slot(lba, slot, u64::from(sectors).min(own - slot) as u32),
            None => self.extent_in_slot(lba, slot, sectors),
        }
    }

    /// Extent of block `lba`, which lies in `slot`, and of the slots that follow on its track, at most `sectors`.
    #[inline(always)]
    fn extent_in_slot(&self, lba: u64, slot: u64, sectors: u32) -> Extent {
        let zone = &self.zones[self.zone_of_slot(slot)];
        let band = quotient(slot - zone.start, zone.band_inverse);
        let offset = (slot - zone.start - band * zone.band) as u32;
        let run = zone.run_at(offset);
        let in_run = offset - run.start;
        let track = quotient(u64::from(in_run), run.track_inverse) as u32;
        let before = in_run - track * run.sectors_per_track;
        let cylinder = if run.backwards { run.first - track } else { run.first + track };
        let angle = zone
            .angle
            .wrapping_add(zone.band_skew.wrapping_mul(band))
            .wrapping_add(run.angle)
            .wrapping_add(run.skew.wrapping_mul(u64::from(track)))
            .wrapping_add(run.slot.wrapping_mul(u64::from(before)));
        let sectors = sectors.min(run.sectors_per_track - before);
        Extent {
            lba,
            sectors,
            cylinder: zone.first_cylinder + band as u32 * zone.band_cylinders + cylinder,
            head: run.head,
            angle,
            slot: run.slot,
            before,
            behind: run.sectors_per_track - before - sectors,
        }
    }

    /// Extent of `slot` and the slots that follow on its track, at most `sectors`; its `lba` is the slot.
    pub(crate) fn slot_extent(&self, slot: u64, sectors: u32) -> Extent {
        self.extent_in_slot(slot, slot, sectors)
    }

    /// True if no block lies in `slots` slots from `first` on.
    pub fn is_reserved(&self, first: u64, slots: u64) -> bool {
        let end = self.zones.last().map_or(0, |zone| zone.end);
        let fits = first.checked_add(slots).is_some_and(|last| last <= end);
        fits && self.blocks_before(first).min(self.sectors) == self.blocks_before(first + slots).min(self.sectors)
    }

    /// Block whose own slot is `slot`.
    fn block_in_slot(&self, slot: u64) -> Option<u64> {
        let block = self.blocks_before(slot);
        (block < self.sectors && block + self.gap_before(block).0 == slot).then_some(block)
    }

    fn lay_remaps(&mut self, remaps: &[(u64, u64)], slots: u64) -> Result<(), LayoutError> {
        let mut taken: Vec<u64> = remaps.iter().map(|&(_, lives)| lives).collect();
        taken.sort_unstable();
        let twice =
            |slot: u64| taken.partition_point(|&other| other <= slot) > taken.partition_point(|&o| o < slot) + 1;
        for (remap, &(own, lives)) in remaps.iter().enumerate() {
            let rises = remap == 0 || remaps[remap - 1].0 < own;
            let free = lives < slots && self.block_in_slot(lives).is_none() && !twice(lives);
            if !rises || own >= slots || self.block_in_slot(own).is_none() || !free {
                return Err(LayoutError::Remap { remap });
            }
        }
        self.remaps = remaps.into();
        Ok(())
    }
}

/// The first zone of each slice of `1 << slice` blocks.
fn index(zones: &[CompiledZone], slice: u32) -> Arc<[u16]> {
    let end = zones.last().map_or(0, |zone| zone.end);
    let of = |slot: u64| zones.partition_point(|zone| zone.end <= slot).min(zones.len() - 1) as u16;
    (0..=(end >> slice)).map(|at| of(at << slice)).collect()
}

/// Turns holes into gaps between blocks.
fn lay_holes(holes: &[(u64, u64)], slots: u64) -> Result<Vec<(u64, u64)>, LayoutError> {
    let mut gaps: Vec<(u64, u64)> = Vec::with_capacity(holes.len());
    let (mut end, mut left_out) = (0u64, 0u64);
    for (hole, &(first, length)) in holes.iter().enumerate() {
        if length == 0 || first < end || first.checked_add(length).is_none_or(|end| end > slots) {
            return Err(LayoutError::Hole { hole });
        }
        let from = first - left_out;
        left_out += length;
        end = first + length;
        match gaps.last_mut() {
            Some(last) if last.0 == from => last.1 = left_out,
            _ => gaps.push((from, left_out)),
        }
    }
    Ok(gaps)
}

fn check_zones(zones: &[Zone]) -> Result<(), LayoutError> {
    let mut expected = 0u32;
    if zones.is_empty() || zones.len() > MOST {
        return Err(LayoutError::Zone { zone: MOST.min(zones.len()), field: "zones", expected: "1 to 65536 zones" });
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

/// Zones, and runs of a band, at most: the indices are 16 bits wide.
const MOST: usize = 1 << 16;

/// First field of a zone that breaks a rule, and the rule.
fn broken_rule(zone: &Zone) -> Option<(&'static str, &'static str)> {
    let outside = |run: &SurfaceRun| {
        let (first, tracks) = (u64::from(run.first), u64::from(run.tracks));
        let end = if run.backwards { first + 1 } else { first + tracks };
        (run.backwards && tracks > first + 1) || end > u64::from(zone.band_cylinders)
    };
    let last = u64::from(zone.first_cylinder) + u64::from(zone.cylinders);
    let rules = [
        (zone.cylinders > 0 && last <= u64::from(u32::MAX), "cylinders", "cylinders up to 2^32"),
        (zone.band_cylinders > 0, "band_cylinders", "1 or more"),
        (zone.cylinders.checked_rem(zone.band_cylinders) == Some(0), "cylinders", "a whole number of bands"),
        ((1..=MOST).contains(&zone.runs.len()), "runs", "1 to 65536 runs"),
        (zone.runs.iter().all(|run| run.tracks > 0), "runs", "tracks in each run"),
        (zone.runs.iter().all(|run| run.sectors_per_track > 0), "runs", "slots on each track"),
        (!zone.runs.iter().any(outside), "runs", "runs inside the band's cylinders"),
    ];
    let broken = rules.into_iter().find(|rule| !rule.0).map(|(_, field, expected)| (field, expected));
    // The factors of these products are valid only now.
    broken.or_else(|| {
        let large = zone.band_slots() >= 1 << 26 || zone.slots() >= 1 << 38;
        large.then_some(("runs", "bands below 2^26 slots, zones below 2^38"))
    })
}

fn compile_zone(zone: &Zone, start: u64, angle: u64) -> CompiledZone {
    let mut offset = 0u32;
    let mut runs = Vec::with_capacity(zone.runs.len());
    for run in &zone.runs {
        let start = offset;
        offset += run.tracks * run.sectors_per_track;
        runs.push(CompiledRun {
            start,
            end: offset,
            sectors_per_track: run.sectors_per_track,
            track_inverse: inverse(u64::from(run.sectors_per_track)),
            first: run.first,
            backwards: run.backwards,
            head: run.head,
            angle: run.angle,
            skew: run.skew,
            slot: slot_angle(run.sectors_per_track),
        });
    }
    let band = zone.band_slots();
    let (guesses, stretch) = guess_runs(&runs, offset);
    CompiledZone {
        start,
        end: start + zone.slots(),
        band,
        band_inverse: inverse(band),
        first_cylinder: zone.first_cylinder,
        band_cylinders: zone.band_cylinders,
        angle,
        band_skew: zone.band_skew,
        runs,
        guesses,
        stretch,
    }
}

/// About two stretches of slots for each run, with the run that each begins in, and log2 of their length.
fn guess_runs(runs: &[CompiledRun], slots: u32) -> (Vec<u16>, u32) {
    let a_run = slots / runs.len() as u32;
    let stretch = a_run.max(2).ilog2() - 1;
    let first = |index: u32| runs.partition_point(|run| run.start <= index << stretch) - 1;
    ((0..=slots >> stretch).map(|index| first(index) as u16).collect(), stretch)
}

/// Reciprocal for division by `divisor`: 2^64 over it, rounded up; the upper half of a product with it is the quotient
/// (Granlund and Montgomery 1994). The error is below `divisor / 2^64` of the dividend, so the quotient is exact while
/// dividend times divisor stays below 2^64; [`check_zones`] keeps bands below 2^26 blocks and zones below 2^38. A
/// divisor of 1 gives 0, which [`quotient`] knows.
fn inverse(divisor: u64) -> u64 {
    if divisor == 1 { 0 } else { (u64::MAX / divisor) + 1 }
}

#[inline]
fn quotient(dividend: u64, inverse: u64) -> u64 {
    if inverse == 0 { dividend } else { ((u128::from(dividend) * u128::from(inverse)) >> 64) as u64 }
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
        assert_eq!((geometry.slice, geometry.index.len()), (3, 1926));
        for (slice, &zone) in geometry.index.iter().enumerate() {
            let slot = slice as u64 * 8;
            let before = [4_000, 7_900, 11_700].iter().filter(|&&end| end <= slot).count();
            assert_eq!(usize::from(zone), before, "slot {slot}");
        }
    }

    /// Bands are below 2^26 slots, zones below 2^38.
    #[test]
    fn quotients_are_exact_up_to_the_largest_zone() {
        for divisor in [1, 2, 3, 63, 64, 1_000_003, (1 << 26) - 2, (1 << 26) - 1] {
            let (reciprocal, last) = (inverse(divisor), ((1 << 38) - 1) / divisor);
            for dividend in [1, last / 2, last].into_iter().flat_map(|whole| [whole * divisor - 1, whole * divisor]) {
                assert_eq!(quotient(dividend, reciprocal), dividend / divisor, "{dividend} / {divisor}");
            }
        }
    }
}
