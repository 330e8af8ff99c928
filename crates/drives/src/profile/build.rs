//! Builds the model's drive from the figures of a profile. Checks whether the figures are consistent; the reader has checked each
//! value alone.

use std::ops::Deref;

use seekwise_disk::block::{CutSector, Queuing};
use seekwise_disk::drive::geometry::{Geometry, LayoutError, Skews, SurfaceRun, TrackOrder, Zone};
use seekwise_disk::drive::mechanics::{Mechanics, SeekCurve, SeekError};
use seekwise_disk::drive::profile::{
    AdaptiveDivision, CacheSpec, Firmware, Link, MediaCacheSpec, Overhead, OverheadAfter, Profile, ProfileError,
    ReadAhead, ReadAheadEnd, ReadAheadHold, WrittenHits,
};
use seekwise_disk::drive::recovery::WeakBlocks;
use seekwise_disk::queue::{Discipline, Policy};
use seekwise_disk::time::Span;

use super::drive_file::DriveFile;
use super::keys::KEYS;
use super::mechanism::{self, Mechanism};
use super::reading_cache::ReadingCache;
use super::seek;
use crate::diagnostic::Diagnostic;
use crate::figure::{FigureValue, Figures, RunRow, ZoneBand, ZoneRow, span_from_ms};

type Errors = Vec<Diagnostic>;

/// The first of some consecutive slots, and their number.
type SlotRange = (u64, u64);

/// The original slot of a remapped block, and the slot in a hole that holds the block.
type Remap = (u64, u64);

pub(super) fn build_profile(drive: &DriveFile, cache: &ReadingCache) -> Result<Profile, Errors> {
    let figures = DriveFigures { file: &drive.file, figures: Figures::new(KEYS, &drive.figures) };
    let Mechanism { geometry, media_cache, mechanics } = mechanism::find_or_build(&figures, &cache.mechanisms)?;
    let mut profile = Profile::new(drive.name.as_str(), geometry, mechanics, build_link(&figures));
    profile.physical_sector = figures.whole("geometry.physical_sector") as u32;
    profile.cache = build_cache(&figures, media_cache);
    profile.firmware = build_firmware(&figures);
    profile.overhead = build_overhead(&figures);
    profile.cut_sector = match figures.word("power.cut_sector") {
        "old" => CutSector::Old,
        "unreadable" => CutSector::Unreadable,
        _ => CutSector::Finished,
    };
    profile.weak = figures.weak_blocks();
    profile.protected = figures.flag("power.protected");
    profile.faults.ignores_fua = figures.flag("faults.ignores_fua");
    profile.faults.early_flush = figures.flag("faults.early_flush");
    profile.faults.forgets_on_power_off = figures.flag("faults.forgets_on_power_off");
    profile.faults.caches_when_off = figures.flag("faults.caches_when_off");
    match profile.check() {
        Ok(()) => Ok(profile),
        Err(error) => Err(vec![figures.profile_error(&error)]),
    }
}

fn build_link(figures: &DriveFigures<'_>) -> Link {
    let mut link = Link::new(figures.bytes_per_s("link.rate_mb_s"));
    link.write_rate = figures.bytes_per_s(figures.given_key_or("link.write_rate_mb_s", "link.rate_mb_s"));
    link.command = figures.span("link.command_ms");
    link.max_transfer = figures.whole("link.max_transfer_sectors") as u32;
    link.buffer_full = figures.whole("link.buffer_full_percent") as u32;
    link.fua = figures.flag("link.fua");
    link.queuing = match figures.word("link.queuing") {
        "tcq" => Queuing::Tcq,
        "ncq" => Queuing::Ncq,
        "scsi" => Queuing::Scsi,
        _ => Queuing::None,
    };
    link
}

fn build_firmware(figures: &DriveFigures<'_>) -> Firmware {
    let mut firmware = Firmware::UNQUEUED;
    firmware.depth = figures.whole("firmware.depth") as u32;
    firmware.queue = figures.build_queue_discipline("firmware.queue");
    firmware.ahead = figures.whole("firmware.queue.ahead") as u32;
    firmware.destage = figures.build_queue_discipline("firmware.destage");
    firmware.dispatch = figures.span("firmware.dispatch_ms");
    firmware.revise = figures.span("firmware.revise_ms");
    firmware.zero_latency = figures.flag("firmware.zero_latency");
    firmware.priority = figures.flag("firmware.priority");
    firmware.recovery_limit = figures.may_span("firmware.recovery_limit_ms");
    firmware.write_verify = figures.flag("firmware.write_verify");
    firmware.late_writes_percent = figures.count("firmware.late_writes_percent");
    firmware.commands_percent = figures.may_count("firmware.commands_percent");
    firmware
}

fn build_overhead(figures: &DriveFigures<'_>) -> Overhead {
    let mut overhead = Overhead::NONE;
    overhead.read_hit = figures.overhead_after("overhead.read_hit_ms", "overhead.read_hit_after_write_ms");
    overhead.read_miss = figures.overhead_after("overhead.read_miss_ms", "overhead.read_miss_after_write_ms");
    overhead.write_hit = figures.overhead_after("overhead.write_hit_ms", "overhead.write_hit_after_write_ms");
    overhead.write_miss = figures.overhead_after("overhead.write_miss_ms", "overhead.write_miss_after_write_ms");
    overhead.flush = figures.span("overhead.flush_ms");
    overhead.reselect = figures.span("overhead.reselect_ms");
    overhead.completion = figures.span("overhead.completion_ms");
    overhead.write_completion =
        figures.span(figures.given_key_or("overhead.write_completion_ms", "overhead.completion_ms"));
    overhead
}

/// Builds the buffer: segments are equal shares of it, up to the limit of the drive. An adaptive buffer starts with three.
fn build_cache(figures: &DriveFigures<'_>, media_cache: Option<MediaCacheSpec>) -> CacheSpec {
    let limit = figures.whole("cache.max_segments");
    let sectors = figures.whole("cache.size_kib") * 2;
    let dirty_percent = figures.whole("cache.dirty_percent");
    let adaptive = figures.flag("cache.adaptive").then_some(AdaptiveDivision {
        sectors: sectors as u32,
        most: limit.min(sectors / 8) as u32,
        dirty_percent: dirty_percent as u32,
        own_lengths: figures.word("cache.adaptive_lengths") == "own",
    });
    let BufferDivision { segments, dirty_runs } = divide_buffer(figures, adaptive.as_ref(), limit);
    let dirty = segments * dirty_percent / 100;
    let mut cache = CacheSpec::NONE;
    cache.segments = segments as u32;
    cache.segment_sectors = sectors.checked_div(segments).unwrap_or(0) as u32;
    cache.read_ahead = build_read_ahead(figures);
    cache.write_back = segments > 0 && figures.flag("cache.write_back");
    cache.dirty_segments = dirty.clamp(segments.min(1), segments) as u32;
    cache.dirty_runs = dirty_runs;
    cache.fills_while_draining = figures.flag("cache.fills_while_draining");
    cache.room_runs = figures.count("cache.room_runs");
    cache.destage_idle = figures.span("cache.destage_idle_ms");
    cache.media_cache = media_cache;
    cache.flash_sectors = figures.whole("cache.flash_kib") * 2;
    cache.destage_age = figures.may_span("cache.destage_age_ms");
    cache.wraps = figures.word("cache.long_writes") == "wrap";
    cache.adaptive = adaptive;
    cache.written_hits = match figures.word("cache.written_hits") {
        "none" => WrittenHits::None,
        "all" => WrittenHits::All,
        _ => WrittenHits::Cached,
    };
    cache.writes_apart = figures.flag("cache.writes_apart");
    cache
}

/// The division of the buffer when a run starts.
struct BufferDivision {
    segments: u64,
    /// The most runs of dirty blocks; `None` for one per segment.
    dirty_runs: Option<u32>,
}

/// Divides the buffer into at most `limit` segments. If segments have lengths of their own, the dirty share of the most segments
/// that there can be are runs; the others are for reading.
fn divide_buffer(figures: &DriveFigures<'_>, adaptive: Option<&AdaptiveDivision>, limit: u64) -> BufferDivision {
    let given_runs = figures.may_count("cache.dirty_runs");
    match adaptive {
        None => BufferDivision { segments: figures.whole("cache.segments").min(limit), dirty_runs: given_runs },
        Some(division) if division.own_lengths => {
            let most = division.most;
            let most_runs = most.saturating_sub(INITIAL_SEGMENTS as u32).max(1);
            let runs = (most * division.dirty_percent / 100).clamp(1, most_runs);
            let segments = u64::from(most - runs.min(most));
            BufferDivision { segments, dirty_runs: Some(given_runs.unwrap_or(runs)) }
        }
        Some(_) => BufferDivision { segments: INITIAL_SEGMENTS, dirty_runs: given_runs },
    }
}

/// Initial segments of an adaptive buffer, as study C reports for the Cheetah 15K.4's Server Mode.
const INITIAL_SEGMENTS: u64 = 3;

fn build_read_ahead(figures: &DriveFigures<'_>) -> ReadAhead {
    let mut ahead = ReadAhead::NONE;
    ahead.max = figures.whole("cache.read_ahead.max_sectors") as u32;
    ahead.min = figures.whole("cache.read_ahead.min_sectors") as u32;
    ahead.after = figures.count("cache.read_ahead.after");
    ahead.until = match figures.word("cache.read_ahead.until") {
        "track" => ReadAheadEnd::Track,
        "cylinder" => ReadAheadEnd::Cylinder,
        "next-track" => ReadAheadEnd::NextTrack,
        _ => ReadAheadEnd::Segment,
    };
    ahead.over_requested = figures.flag("cache.read_ahead.over_requested");
    ahead.free_blocks = figures.flag("cache.read_ahead.free_blocks");
    ahead.hold = match figures.word("cache.read_ahead.hold") {
        "track" => ReadAheadHold::Track,
        "segment" => ReadAheadHold::Segment,
        "stream" => ReadAheadHold::Stream,
        _ => ReadAheadHold::Never,
    };
    ahead.hold_after = figures.count("cache.read_ahead.hold_after");
    ahead.discards = figures.flag("cache.read_ahead.discard");
    ahead.multiplied = figures.flag("cache.read_ahead.multiplied");
    ahead.ceiling = figures.may_count("cache.read_ahead.ceiling_sectors");
    ahead.longest_read = figures.may_count("cache.read_ahead.longest_read_sectors");
    ahead
}

/// Builds the layout, and the regions that a media cache takes of it.
pub(super) fn build_geometry(figures: &DriveFigures<'_>) -> Result<(Geometry, Option<MediaCacheSpec>), Errors> {
    let rows = figures.zone_rows();
    let heads = figures.whole("geometry.heads") as usize;
    let sectors_per_physical = figures.whole("geometry.physical_sector") as u32 / 512;
    let mut errors = Vec::new();
    let mut end = 0u64;
    for (index, row) in rows.iter().enumerate() {
        errors.extend(check_zone_start(figures.file, rows, index, end));
        errors.extend(check_tracks(figures.file, row, index, heads, sectors_per_physical));
        end = u64::from(row.first) + u64::from(row.cylinders);
    }
    if end > u64::from(u32::MAX) {
        let message = format!("the zones end before cylinder {end}");
        let diagnostic =
            Diagnostic::at(figures.file, figures.line("geometry.zones"), message).with_key("geometry.zones");
        errors.push(diagnostic.with_expected(format!("at most {}", u32::MAX)));
    }
    let order = match figures.word("geometry.order") {
        "serpentine" => match figures.may_count("geometry.run_tracks") {
            None => {
                errors.push(figures.missing_key("geometry.run_tracks", "a serpentine order"));
                TrackOrder::Cylinder
            }
            Some(run) => TrackOrder::Serpentine(run),
        },
        "switchback" => TrackOrder::Switchback,
        _ => TrackOrder::Cylinder,
    };
    if !errors.is_empty() {
        return Err(errors);
    }
    let skews = model_skews(figures.number("geometry.track_skew"), figures.number("geometry.head_skew"));
    let mut zones: Vec<Zone> = rows.iter().flat_map(|row| row_zones(row, order, heads, skews)).collect();
    let mut holes = figures.expand_holes().map_err(|error| vec![error])?;
    if let Some(spare) = row_for_media_cache(figures, &zones, &holes) {
        zones.extend(row_zones(&spare, order, heads, skews));
    }
    let remaps = figures.remaps();
    if let Some(error) = check_split_sectors(figures, &holes, remaps, u64::from(sectors_per_physical)) {
        return Err(vec![error]);
    }
    let media_cache = reserve_media_cache(figures, &zones, &mut holes).map_err(|error| vec![error])?;
    let geometry = Geometry::new(figures.whole("geometry.sectors"), &zones, &holes, remaps)
        .map_err(|error| vec![layout_error(figures, &zones, &error)])?;
    Ok((geometry, media_cache))
}

/// Cylinders behind the last zone, laid out as its last ones, if a media cache finds no room in the zones: they are mostly as long as
/// the drive's capacity needs. `None` if there is room, if the zones do not hold the drive's blocks alone, or if cylinder numbers end.
fn row_for_media_cache(figures: &DriveFigures<'_>, zones: &[Zone], holes: &[SlotRange]) -> Option<ZoneRow> {
    let (last_row, last_zone) = (figures.zone_rows().last()?, zones.last().filter(|zone| zone.slots() > 0)?);
    let hole_slots = holes.iter().fold(0u64, |sum, hole| sum.saturating_add(hole.1));
    let block_slots = zones.iter().map(Zone::slots).sum::<u64>().checked_sub(hole_slots)?;
    let room = block_slots.checked_sub(figures.whole("geometry.sectors"))?;
    let missing = (figures.whole("cache.media_cache_mib") * 2048).checked_sub(room).filter(|missing| *missing > 0)?;
    let needed = missing.saturating_mul(u64::from(last_zone.cylinders)).div_ceil(last_zone.slots());
    let band = last_row.band.as_ref().map_or(1, |band| u64::from(band.cylinders));
    let cylinders = u32::try_from(needed.next_multiple_of(band)).ok()?;
    let first = last_row.first + last_row.cylinders;
    first.checked_add(cylinders)?;
    Some(ZoneRow { first, cylinders, gap: 0, offset: None, ..last_row.clone() })
}

/// Reserves the regions of the media cache, if there is one, and adds them to `holes`: evenly over all slots, each in the middle
/// of its share.
fn reserve_media_cache(
    figures: &DriveFigures<'_>,
    zones: &[Zone],
    holes: &mut Vec<SlotRange>,
) -> Result<Option<MediaCacheSpec>, Diagnostic> {
    let key = "cache.media_cache_mib";
    let size_mib = figures.whole(key);
    if size_mib == 0 {
        return Ok(None);
    }
    let largest = figures.may_whole("cache.media_cache_largest_kib").unwrap_or(0) * 2;
    if largest == 0 {
        let fault = figures.missing_key("cache.media_cache_largest_kib", "`cache.media_cache_mib`");
        return Err(fault.with_expected("the largest write that goes to the media cache, 1 to 1024 KiB"));
    }
    // Regions consist of whole physical sectors of either size, 512 or 4096 bytes.
    let round_down = |slots: u64| slots / 8 * 8;
    let all_slots: u64 = zones.iter().map(Zone::slots).sum();
    let stretches = figures.whole("cache.media_cache_stretches");
    let (stride, slots) = (round_down(all_slots / stretches), round_down(size_mib * 2048 / stretches));
    let first_slot = round_down((stride / 2).saturating_sub(slots / 2));
    let stretch = |index: u64| (first_slot + index * stride, slots);
    let overlaps_hole =
        |(first, slots): SlotRange| holes.iter().any(|hole| hole.0 < first + slots && first < hole.0 + hole.1);
    if (0..stretches).map(stretch).any(overlaps_hole) {
        let message = "the media cache overlaps slots without blocks";
        let line = figures.line(key);
        return Err(Diagnostic::at(figures.file, line, message)
            .with_key(key)
            .with_expected("no holes in the layout there"));
    }
    holes.extend((0..stretches).map(stretch));
    holes.sort_unstable();
    let (stretches, largest) = (stretches as u32, largest as u32);
    Ok(Some(MediaCacheSpec { stretches, slots, first_slot, stride, largest }))
}

/// The error about a hole or a remap that splits a physical sector, if one does.
fn check_split_sectors(
    figures: &DriveFigures<'_>,
    holes: &[SlotRange],
    remaps: &[Remap],
    sectors_per_physical: u64,
) -> Option<Diagnostic> {
    let is_split = |hole: &&SlotRange| {
        !hole.0.is_multiple_of(sectors_per_physical) || !hole.1.is_multiple_of(sectors_per_physical)
    };
    let (key, slot) = match (holes.iter().find(is_split), remaps.first()) {
        (Some(hole), _) => ("geometry.holes", hole.0),
        (None, Some(remap)) if sectors_per_physical > 1 => ("geometry.remaps", remap.0),
        _ => return None,
    };
    let message = format!("a physical sector is split at slot {slot}");
    let expected = format!("multiples of {sectors_per_physical} slots, and remaps only with sectors of 512 bytes");
    Some(Diagnostic::at(figures.file, figures.line(key), message).with_key(key).with_expected(expected))
}

/// The zones of one row: several if its cylinders are not a multiple of the band.
fn row_zones(row: &ZoneRow, order: TrackOrder, heads: usize, default_skews: Skews) -> Vec<Zone> {
    let mut zones = match &row.band {
        Some(band) => vec![listed_zone(row, band)],
        None => {
            let skews = row.skews.map_or(default_skews, |(track, head)| model_skews(track, head));
            let spt: Vec<u32> = row.spt.iter().copied().cycle().take(heads).collect();
            Zone::lay(row.first, row.cylinders, order, &spt, skews)
        }
    };
    if let Some(zone) = zones.first_mut() {
        zone.restart = row.offset.map(model_angle);
    }
    zones
}

/// A zone whose tracks are listed as runs.
fn listed_zone(row: &ZoneRow, band: &ZoneBand) -> Zone {
    let surface_run = |run: &RunRow| SurfaceRun {
        head: run.head,
        first: run.first,
        backwards: run.tracks < 0,
        tracks: run.tracks.unsigned_abs(),
        sectors_per_track: run.spt,
        angle: model_angle(run.angle.0),
        skew: model_angle(run.angle.1),
    };
    Zone {
        first_cylinder: row.first,
        cylinders: row.cylinders,
        band_cylinders: band.cylinders,
        runs: band.runs.iter().map(surface_run).collect(),
        angle: 0,
        band_skew: model_angle(band.skew),
        restart: None,
    }
}

/// Revolutions as the model's angle: 2^64 is one revolution.
fn model_angle(revolutions: f64) -> u64 {
    (revolutions * 2f64.powi(64)) as u64
}

fn model_skews(track_revolutions: f64, head_revolutions: f64) -> Skews {
    Skews { head: model_angle(head_revolutions), cylinder: model_angle(track_revolutions) }
}

/// The error about zone `index`, unless it begins after the previous zone's end (its last cylinder plus 1) and its own gap.
fn check_zone_start(file: &str, rows: &[ZoneRow], index: usize, previous_end: u64) -> Option<Diagnostic> {
    let row = &rows[index];
    let first = u64::from(row.first);
    let expected = previous_end + u64::from(row.gap);
    let here = format!("zone {index} begins at cylinder {first}");
    let message = match index.checked_sub(1) {
        _ if first == expected => return None,
        None => here,
        Some(before) => {
            let relation = if first < expected { "overlaps" } else { "leaves a gap after" };
            let line = rows[before].line;
            format!("{here} and {relation} zone {before} (line {line}), which ends before {expected}")
        }
    };
    let diagnostic = Diagnostic::at(file, row.line, message).with_key("geometry.zones");
    Some(diagnostic.with_expected(format!("first = {expected}")))
}

/// The error about the tracks of zone `index`, if their heads or their sectors do not fit.
fn check_tracks(
    file: &str,
    row: &ZoneRow,
    index: usize,
    heads: usize,
    sectors_per_physical: u32,
) -> Option<Diagnostic> {
    let wrong = |message: String, expected: String| {
        let diagnostic = Diagnostic::at(file, row.line, message);
        Some(diagnostic.with_key("geometry.zones").with_expected(expected))
    };
    if let Some(run) = row.band.iter().flat_map(|band| &band.runs).find(|run| usize::from(run.head) >= heads) {
        let message = format!("zone {index} has a run on head {}", run.head);
        return wrong(message, format!("heads from 0 to {}", heads - 1));
    }
    if row.band.is_none() && row.spt.len() != 1 && row.spt.len() != heads {
        let message = format!("zone {index} has sectors per track for {} heads", row.spt.len());
        return wrong(message, format!("one number, or {heads}"));
    }
    let runs = row.band.iter().flat_map(|band| &band.runs).map(|run| run.spt);
    if sectors_per_physical == 0 || row.spt.iter().copied().chain(runs).any(|spt| spt % sectors_per_physical != 0) {
        let message = format!("zone {index} has tracks with a partial physical sector");
        return wrong(message, format!("multiples of {sectors_per_physical}"));
    }
    None
}

/// An error of the model's layout, located at its row.
fn layout_error(figures: &DriveFigures<'_>, zones: &[Zone], error: &LayoutError) -> Diagnostic {
    let at = |key: &str, message: String| Diagnostic::at(figures.file, figures.line(key), message).with_key(key);
    match error {
        LayoutError::TooSmall { holds, claims } => {
            at("geometry.zones", format!("the zones hold {holds} sectors, the drive claims {claims}"))
        }
        LayoutError::Zones { zone, expected, .. } => {
            zone_error(figures, zones, *zone, "overlaps the previous zone").with_expected(format!("first = {expected}"))
        }
        LayoutError::Zone { zone, field, expected } => {
            zone_error(figures, zones, *zone, &format!("cannot be laid out: {field}")).with_expected(*expected)
        }
        LayoutError::Hole { hole } => {
            let message = format!("hole {hole} is empty, overlaps the previous one, or lies beyond the last slot");
            at("geometry.holes", message).with_expected("first slots in ascending order")
        }
        LayoutError::Remap { remap } => {
            let message = format!("remap {remap} is out of order, begins in a hole, or leads to a slot in use");
            at("geometry.remaps", message).with_expected("slots in ascending order, each with a slot in a hole")
        }
    }
}

/// The error about a zone of the model, at the last row that starts at or before it: a row may have become several zones.
fn zone_error(figures: &DriveFigures<'_>, zones: &[Zone], zone_index: usize, problem: &str) -> Diagnostic {
    let rows = figures.zone_rows();
    let first = zones.get(zone_index).map_or(0, |zone| zone.first_cylinder);
    let row = rows.iter().rposition(|row| row.first <= first).unwrap_or(0);
    let line = rows.get(row).map_or(0, |row| row.line);
    Diagnostic::at(figures.file, line, format!("zone {row} {problem}")).with_key("geometry.zones")
}

pub(super) fn build_mechanics(figures: &DriveFigures<'_>, cylinders: u32) -> Result<Mechanics, Errors> {
    let millirpm = (figures.number("mechanics.rpm") * 1000.0).round() as u64;
    let curve = build_seek_curve(figures, cylinders)?;
    let settle_ms = figures.number("mechanics.write_settle_ms");
    let write = match figures.curve_points("mechanics.seek.write_points") {
        points if points.is_empty() => None,
        points => Some(SeekCurve::from_points(&points, cylinders).map_err(|error| vec![figures.seek_error(error)])?),
    };
    // A write that settles faster than a read has shorter seeks.
    let write = match settle_ms < 0.0 {
        true => Some(write.as_ref().unwrap_or(&curve).shortened_by(span_from_ms(-settle_ms))),
        false => write,
    };
    let head_switch = figures.span("mechanics.head_switch_ms");
    let mechanics = Mechanics::new(curve, head_switch, span_from_ms(settle_ms.max(0.0)), millirpm);
    let mechanics = mechanics.map_err(|error| vec![figures.seek_error(error)])?;
    let mechanics = mechanics.with_least_write(figures.span("mechanics.least_write_ms"));
    Ok(match write {
        Some(curve) => mechanics.with_write_seek(curve),
        None => mechanics,
    })
}

fn build_seek_curve(figures: &DriveFigures<'_>, cylinders: u32) -> Result<SeekCurve, Errors> {
    const THREE_TIMES: [&str; 3] = ["mechanics.seek.single_ms", "mechanics.seek.average_ms", "mechanics.seek.full_ms"];
    let form = figures.word("mechanics.seek.form");
    let needed: &[&'static str] = match form {
        "table" => &["mechanics.seek.points"],
        _ => &THREE_TIMES,
    };
    let absent = needed.iter().filter(|key| figures.find(key).is_none());
    let missing: Errors = absent.map(|key| figures.missing_key(key, &format!("the seek curve `{form}`"))).collect();
    if !missing.is_empty() {
        return Err(missing);
    }
    let settle = figures.may_number("mechanics.seek.settle_ms");
    if settle.is_some() && form != "sibling" {
        let message = format!("no effect: the form of the seek curve is `{form}`");
        let fault = Diagnostic::at(figures.file, figures.line("mechanics.seek.settle_ms"), message);
        return Err(vec![
            fault.with_key("mechanics.seek.settle_ms").with_expected("the form `sibling`, or no settle_ms"),
        ]);
    }
    let curve_through = |[single, average, full]: [f64; 3]| match form {
        "sibling" => seek::sibling_curve([single, average, full], settle, cylinders),
        "lee" => SeekCurve::lee(span_from_ms(single), span_from_ms(average), span_from_ms(full), cylinders),
        _ => SeekCurve::three_point(span_from_ms(single), span_from_ms(average), span_from_ms(full), cylinders),
    };
    let curve = match form {
        "table" => SeekCurve::from_points(&figures.curve_points("mechanics.seek.points"), cylinders),
        _ => curve_through(THREE_TIMES.map(|key| figures.number(key))),
    };
    curve.map_err(|error| {
        let fault = figures.seek_error(error);
        if form == "table" || error != SeekError::Times {
            return vec![fault];
        }
        let [single, average, full] = THREE_TIMES.map(|key| figures.number(key));
        let settled = settle.map_or(String::new(), |settle| format!(", with settle_ms={settle}"));
        let message =
            format!("no rising seek curve has single_ms={single}, average_ms={average} and full_ms={full}{settled}");
        let rises = |average: &f64| curve_through([single, *average, full]).is_ok();
        let expected = match rising_averages_ms(single, full, rises) {
            Some([low, high]) => format!("average_ms from {low:.2} to {high:.2} with the other two"),
            None if settle.is_some() => "a smaller settle_ms".to_owned(),
            None => "single_ms below average_ms below full_ms".to_owned(),
        };
        vec![Diagnostic { message, ..fault }.with_expected(expected)]
    })
}

/// The least and the largest average seek, of a hundred between the two other times, at which a curve rises.
fn rising_averages_ms(single_ms: f64, full_ms: f64, rises: impl Fn(&f64) -> bool) -> Option<[f64; 2]> {
    const STEPS: u32 = 100;
    let average = |step: u32| single_ms + (full_ms - single_ms) * f64::from(step) / f64::from(STEPS);
    let low = (0..=STEPS).map(average).find(&rises)?;
    let high = (0..=STEPS).rev().map(average).find(&rises)?;
    // Two digits are printed. Rounding inwards makes sure that the curve rises at the printed values too.
    Some([(low * 100.0).ceil() / 100.0, (high * 100.0).floor() / 100.0])
}

/// A drive's figures, with the lines of its file.
pub(super) struct DriveFigures<'a> {
    pub(super) file: &'a str,
    pub(super) figures: Figures<'a>,
}

impl<'a> Deref for DriveFigures<'a> {
    type Target = Figures<'a>;

    fn deref(&self) -> &Figures<'a> {
        &self.figures
    }
}

impl<'a> DriveFigures<'a> {
    /// All holes in the order of their slots, with repetitions expanded.
    fn expand_holes(&self) -> Result<Vec<SlotRange>, Diagnostic> {
        // Twice the tracks of the largest drives: 10 platters with 500,000 tracks per surface.
        const MOST_HOLES: u64 = 20_000_000;
        let Some(FigureValue::Holes(rows)) = self.find("geometry.holes").map(|figure| &figure.value) else {
            return Ok(Vec::new());
        };
        let mut holes = Vec::new();
        for (index, &[first, length, period, repetitions]) in rows.iter().enumerate() {
            let offset = repetitions.checked_mul(period);
            let end = offset.and_then(|offset| offset.checked_add(first)?.checked_add(length));
            if end.is_none() || repetitions >= MOST_HOLES.saturating_sub(holes.len() as u64) {
                let message = format!("row {index} leads beyond the last slot, or to more than {MOST_HOLES} holes");
                let fault = Diagnostic::at(self.file, self.line("geometry.holes"), message).with_key("geometry.holes");
                return Err(fault.with_expected("[first slot, slots, period, times more]"));
            }
            holes.extend((0..=repetitions).map(|repetition| (first + repetition * period, length)));
        }
        holes.sort_unstable();
        Ok(holes)
    }

    fn remaps(&self) -> &'a [Remap] {
        match self.find("geometry.remaps").map(|figure| &figure.value) {
            Some(FigureValue::Pairs(pairs)) => pairs,
            _ => &[],
        }
    }

    fn weak_blocks(&self) -> Vec<WeakBlocks> {
        match self.find("faults.weak").map(|figure| &figure.value) {
            Some(FigureValue::Places(places)) => {
                places.iter().map(|&(lba, sectors, retries)| WeakBlocks { lba, sectors, retries }).collect()
            }
            _ => Vec::new(),
        }
    }

    fn zone_rows(&self) -> &'a [ZoneRow] {
        match self.find("geometry.zones").map(|figure| &figure.value) {
            Some(FigureValue::Zones(rows)) => rows,
            _ => &[],
        }
    }

    fn curve_points(&self, key: &str) -> Vec<(u32, Span)> {
        match self.find(key).map(|f| &f.value) {
            Some(FigureValue::Points(points)) => {
                points.iter().map(|&(cylinders, ms)| (cylinders, span_from_ms(ms))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// An overhead after a read and after a write: equal, unless `after_write_key` is given.
    fn overhead_after(&self, key: &str, after_write_key: &str) -> OverheadAfter {
        OverheadAfter { read: self.span(key), write: self.span(self.given_key_or(after_write_key, key)) }
    }

    /// The discipline of the queue whose keys begin with `prefix`.
    fn build_queue_discipline(&self, prefix: &str) -> Discipline {
        let key = |name: &str| format!("{prefix}.{name}");
        let plain = queue_discipline(
            self.word(&key("policy")),
            self.whole(&key("window")),
            self.whole(&key("nearest")),
            self.whole(&key("ageing")),
            self.may_number(&key("max_wait_ms")).unwrap_or(0.0),
        );
        let count = |name: &str| self.whole(&key(name)) as u32;
        Discipline {
            sample: count("sample"),
            ageing_after: self.may_span(&key("ageing_after_ms")).unwrap_or_default(),
            patience: count("patience"),
            round: count("round_percent"),
            ..plain
        }
    }

    fn missing_key(&self, key: &str, required_by: &str) -> Diagnostic {
        Diagnostic::at(self.file, 0, format!("missing key: required by {required_by}")).with_key(key)
    }

    /// An error of the model's profile, with the key that corresponds to its field.
    fn profile_error(&self, error: &ProfileError) -> Diagnostic {
        let key = match error.field {
            "physical_sector" => "geometry.physical_sector",
            "cache.segment_sectors" => "cache.size_kib",
            "cache.media_cache" => "cache.media_cache_mib",
            "cache.flash_sectors" => "cache.flash_kib",
            "cache.read_ahead.min" => "cache.read_ahead.min_sectors",
            field => field,
        };
        let message = "contradicts the other figures";
        let diagnostic = Diagnostic::at(self.file, self.line(key), message).with_key(key);
        diagnostic.with_expected(error.expected)
    }

    fn seek_error(&self, error: SeekError) -> Diagnostic {
        let (key, message) = match error {
            SeekError::Points => ("mechanics.seek.points", "the distances are missing or do not rise from 1"),
            SeekError::Times => {
                ("mechanics.seek.average_ms", "no rising curve has these single-track, average and full-stroke times")
            }
            SeekError::Speed => ("mechanics.rpm", "the platters do not turn"),
        };
        Diagnostic::at(self.file, self.line(key), message).with_key(key)
    }
}

/// The discipline of a queue from its figures; 0 means none.
pub(crate) fn queue_discipline(policy: &str, window: u64, nearest: u64, ageing: u64, max_wait_ms: f64) -> Discipline {
    Discipline {
        policy: match policy {
            "sstf" => Policy::Sstf,
            "look" => Policy::Look,
            "clook" => Policy::CLook,
            "sptf" => Policy::Sptf,
            _ => Policy::Fcfs,
        },
        window: window as u32,
        nearest: nearest as u32,
        sample: 0,
        ageing: ageing as u32,
        ageing_after: Span::ZERO,
        patience: 0,
        round: 0,
        max_wait: (max_wait_ms > 0.0).then(|| span_from_ms(max_wait_ms)),
    }
}
