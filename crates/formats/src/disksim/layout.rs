//! Converts a drive's layout to zones, holes and remaps of a profile: layouts of generation 1 (zones with a sparing scheme) here,
//! those of generation 4 (an index of tracks) in `layout_g4`.
//!
//! Generation 1 numbers the slots of a zone track after track. Blocks fill the slots in that order and leave out three kinds,
//! which become holes: the space at the zone's front, slipped slots, and spares. A *unit* has spares of its own; the scheme says
//! whether it is a track, a cylinder, a range of cylinders or the zone.
//!
//! | parameter | meaning |
//! |---|---|
//! | slips, defects | numbers of slots in the zone, spares included; numbers of tracks in scheme 1 |
//! | a slip | uses up one spare of its unit; in schemes that slip to the end, the zone holds one block less instead |
//! | empty space at the front | blocks that the zone would hold before its first; slips and spares among them are additional |
//! | offset of the first block | position of slot 0 of the zone, in sectors; each zone adds up its skews from there |
//! | range size | cylinders of a range, from the zone's first cylinder; an incomplete range at the end has no spares |
//!
//! If a block count or a number of cylinders contradicts the zones, the zones are used, with a warning that names both. Slips may
//! be unsorted, repeated and beyond the zone. A defect without a valid spare stays in its place.
//!
//! DiskSim's program deviates in two points. In scheme 2 it moves a block that a slip pushes into the spares of its cylinder onto
//! another block of the next cylinder; its inverse mapping then disagrees, and it aborts. Here the block stays among the spares.
//! In schemes 2 to 6 the program rotates all tracks after a slip by a sector. Here the skews alone determine the angles of
//! tracks.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::fields::ParameterFields;
use super::slots::{MOST_CYLINDERS, SlotHole, SlotRun, format_hole, write_sectors};
use super::syntax::{Errors, ParameterValue, describe_value};
use super::write::{ProfileWriter, revolution_fraction};

const GENERATION_1_KEYS: &[&str] =
    &["LBN-to-PBN mapping scheme", "Sparing scheme used", "Rangesize for sparing", "Skew units", "Zones"];

const ZONE_KEYS: &[&str] = &[
    "First cylinder number",
    "Last cylinder number",
    "Blocks per track",
    "Skew units",
    "Offset of first block",
    "Empty space at zone front",
    "Skew for track switch",
    "Skew for cylinder switch",
    "Number of spares",
    "slips",
    "defects",
];

/// Writes the geometry, and returns the number of cylinders.
pub(super) fn write_geometry(model: &ParameterFields<'_>, writer: &mut ProfileWriter) -> Result<u32, Errors> {
    let heads = model.whole_number("Number of data surfaces", 1, 64)?;
    let cylinders = model.whole_number("Number of cylinders", 1, MOST_CYLINDERS)?;
    let block = model.required_block("Layout Model")?;
    writer.begin_section("geometry");
    writer.write_inferred("physical_sector", 512, "DiskSim's blocks are sectors of 512 bytes");
    writer.write_given("heads", heads, model.position("Number of data surfaces"), "Number of data surfaces");
    let end = match block.kind.as_str() {
        "dm_layout_g1" => write_generation_1(&ParameterFields::new(block, GENERATION_1_KEYS), heads, model, writer)?,
        "dm_layout_g4" => super::layout_g4::write_generation_4(block, model, writer)?,
        "dm_layout_g2" => {
            let fault = block.at.diagnostic("its block map cannot be read").with_key("dm_layout_g2");
            return Err(vec![fault.with_expected("an extraction as dm_layout_g1 or dm_layout_g4")]);
        }
        kind => {
            let known = ["dm_layout_g1", "dm_layout_g4"];
            let fault = block.at.diagnostic("unknown layout").with_key(kind);
            return Err(vec![fault.with_expected(known.join(" or ")).suggest_nearest(kind, known)]);
        }
    };
    let why = if end == cylinders { "the layout gives it" } else { &format!("the layout has {end}, which is used") };
    writer.note_unmodelled(model.block, "Number of cylinders", end != cylinders, why);
    Ok(end as u32)
}

/// The parameters of a zone; angles are in revolutions.
struct DisksimZone {
    first_cylinder: u64,
    last_cylinder: u64,
    spt: u64,
    offset: f64,
    /// Blocks of the empty space at the front.
    front: u64,
    cylinder_skew: f64,
    head_skew: f64,
    /// Spares of each unit.
    spares: u64,
    /// Slots or tracks, as the scheme says.
    slips: Vec<u64>,
    defects: Vec<Defect>,
}

/// A defective slot or track, and its replacement.
type Defect = (u64, u64);

/// The unit that has spares of its own.
#[derive(Clone, Copy, PartialEq)]
enum SparingUnit {
    Track,
    Cylinders(u64),
    Zone,
}

#[derive(Clone, Copy)]
struct SparingScheme {
    unit: SparingUnit,
    /// Spares are at the start of their unit, not at the end.
    spares_first: bool,
    /// Slips, defects and spares are whole tracks.
    counts_tracks: bool,
    /// Slips do not use up spares.
    slips_to_end: bool,
    /// Units have spares.
    has_spares: bool,
    has_slips: bool,
}

/// The rules by which the zones of a layout are read.
#[derive(Clone, Copy)]
struct LayoutRules {
    /// The order of tracks: 0 by cylinder; 1 and 2 with the heads reversed on every other cylinder, counted from the zone's first
    /// (1) or the drive's first (2).
    mapping: u64,
    scheme: SparingScheme,
    heads: u64,
    /// Skews are in revolutions, not sectors.
    skews_in_revolutions: bool,
}

/// The layout of the zones so far.
#[derive(Default)]
struct ConvertedLayout {
    /// Zones as rows of the profile.
    rows: Vec<String>,
    holes: Vec<SlotHole>,
    /// Remapped slots, and the slots that hold their blocks.
    remaps: Vec<(u64, u64)>,
    /// The cylinder after the last zone.
    cylinders: u64,
    slots: u64,
}

fn write_generation_1(
    fields: &ParameterFields<'_>,
    heads: u64,
    model: &ParameterFields<'_>,
    writer: &mut ProfileWriter,
) -> Result<u64, Errors> {
    let mut errors = fields.report_unknown_keys(writer);
    let mapping = fields.whole_number("LBN-to-PBN mapping scheme", 0, 2)?;
    let scheme = read_scheme(fields)?;
    let rules = LayoutRules { mapping, scheme, heads, skews_in_revolutions: are_skews_in_revolutions(fields, false)? };
    let entry = fields.required_entry("Zones")?;
    let ParameterValue::List(values) = &entry.value else {
        return Err(vec![
            entry.at.diagnostic("is not a list").with_key("Zones").with_expected("[ dm_layout_g1_zone { … }, … ]"),
        ]);
    };
    let mut layout = ConvertedLayout::default();
    for value in values {
        let ParameterValue::Block(block) = value else {
            return Err(vec![
                entry.at.diagnostic(format!("{} is not a zone", describe_value(value))).with_key("Zones"),
            ]);
        };
        let fields = ParameterFields::new(block, ZONE_KEYS);
        errors.extend(fields.report_unknown_keys(writer));
        append_zone(&fields, rules, &mut layout, writer)?;
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    write_sectors(model, layout.slots, &layout.holes, writer)?;
    let key = "LBN-to-PBN mapping scheme";
    let order = if mapping == 0 { "cylinder" } else { "switchback" };
    writer.write_given("order", format!("\"{order}\""), fields.position(key), key);
    writer.write_inferred("track_skew", 0.0, "each zone has its own");
    writer.write_inferred("head_skew", 0.0, "each zone has its own");
    writer.write_rows(
        "geometry.zones",
        &layout.rows,
        &entry.at,
        "its zones; skews and offsets as shares of a revolution",
    );
    if !layout.holes.is_empty() {
        let rows: Vec<String> = layout.holes.iter().map(format_hole).collect();
        writer.write_rows("geometry.holes", &rows, &entry.at, "space at zone fronts, spares and slipped slots");
    }
    if !layout.remaps.is_empty() {
        layout.remaps.sort_unstable();
        let rows: Vec<String> = layout.remaps.iter().map(|(slot, spare)| format!("[{slot}, {spare}]")).collect();
        writer.write_rows("geometry.remaps", &rows, &entry.at, "defects");
    }
    writer.note_unmodelled(fields.block, "Rangesize for sparing", false, "part of the holes");
    Ok(layout.cylinders)
}

/// Appends a zone to the layout.
fn append_zone(
    fields: &ParameterFields<'_>,
    rules: LayoutRules,
    layout: &mut ConvertedLayout,
    writer: &mut ProfileWriter,
) -> Result<(), Errors> {
    let mut zone = read_zone(fields, layout.cylinders, rules, writer)?;
    let tracks = (zone.last_cylinder + 1 - zone.first_cylinder) * rules.heads;
    let slip_units = if rules.scheme.counts_tracks {
        SlipUnits { count: tracks, slots_each: zone.spt }
    } else {
        SlipUnits { count: tracks * zone.spt, slots_each: 1 }
    };
    drop_outer_slips(fields, &mut zone.slips, slip_units.count, writer);
    let holes = zone_holes(fields, &zone, rules, tracks)?;
    let zone_start = layout.slots;
    let remaps = remap_defects(fields, &zone, slip_units, &holes, writer);
    layout.remaps.extend(remaps.iter().map(|(slot, spare)| (slot + zone_start, spare + zone_start)));
    layout.holes.extend(holes.iter().map(|hole| shift_hole(hole, zone_start)));
    layout.rows.extend(format_zone_rows(&zone, layout.cylinders, rules));
    layout.cylinders = zone.last_cylinder + 1;
    layout.slots += tracks * zone.spt;
    if !rules.scheme.has_spares && zone.spares > 0 {
        writer.note_unmodelled(
            fields.block,
            "Number of spares",
            false,
            "this sparing scheme has none, or all after the last block",
        );
    }
    if !rules.scheme.has_slips && !zone.slips.is_empty() {
        writer.note_unmodelled(fields.block, "slips", false, "this sparing scheme has none");
    }
    Ok(())
}

/// True if skews are in revolutions, false if in sectors; `default` if the block does not say it.
fn are_skews_in_revolutions(fields: &ParameterFields<'_>, default: bool) -> Result<bool, Errors> {
    if fields.block.get("Skew units").is_none() {
        return Ok(default);
    }
    let (word, position) = fields.required_word("Skew units")?;
    let words = ["sectors", "revolutions"];
    let fault = || {
        position
            .diagnostic(format!("`{word}` is not a unit of skew"))
            .with_key("Skew units")
            .with_expected(words.join(" or "))
    };
    match word {
        "revolutions" => Ok(true),
        "sectors" => Ok(false),
        _ => Err(vec![fault().suggest_nearest(word, words)]),
    }
}

fn shift_hole(hole: &SlotHole, slots: u64) -> SlotHole {
    [hole[0] + slots, hole[1], hole[2], hole[3]]
}

fn read_scheme(fields: &ParameterFields<'_>) -> Result<SparingScheme, Errors> {
    // Only scheme 8 has ranges; the others ignore the value.
    let range = || fields.number_or("Rangesize for sparing", 1.0, 1e6, 1.0);
    let plain = |unit| SparingScheme {
        unit,
        spares_first: false,
        counts_tracks: false,
        slips_to_end: false,
        has_spares: true,
        has_slips: true,
    };
    let to_end = |unit| SparingScheme { slips_to_end: true, ..plain(unit) };
    Ok(match fields.whole_number("Sparing scheme used", 0, 10)? {
        0 => SparingScheme { has_spares: false, has_slips: false, ..plain(SparingUnit::Zone) },
        1 => SparingScheme { counts_tracks: true, ..plain(SparingUnit::Zone) },
        2 => plain(SparingUnit::Cylinders(1)),
        3 => plain(SparingUnit::Track),
        4 => to_end(SparingUnit::Cylinders(1)),
        5 => SparingScheme { spares_first: true, ..plain(SparingUnit::Cylinders(1)) },
        6 => SparingScheme { spares_first: true, ..to_end(SparingUnit::Cylinders(1)) },
        7 => SparingScheme { has_spares: false, ..to_end(SparingUnit::Zone) },
        8 => plain(SparingUnit::Cylinders(range()? as u64)),
        9 => plain(SparingUnit::Zone),
        _ => to_end(SparingUnit::Zone),
    })
}

/// Reads a zone; `previous_end` is the cylinder after the previous one.
fn read_zone(
    fields: &ParameterFields<'_>,
    previous_end: u64,
    rules: LayoutRules,
    writer: &mut ProfileWriter,
) -> Result<DisksimZone, Errors> {
    let first = fields.whole_number("First cylinder number", 0, MOST_CYLINDERS - 1)?;
    let last = fields.whole_number("Last cylinder number", 0, MOST_CYLINDERS - 1)?;
    let (key, position) = ("First cylinder number", fields.position("First cylinder number"));
    if last < first {
        let fault = fields
            .position("Last cylinder number")
            .diagnostic(format!("{last} is below the zone's first cylinder, {first}"));
        return Err(vec![fault.with_key("Last cylinder number").with_expected(format!("{first} or more"))]);
    }
    if first < previous_end {
        let fault = position.diagnostic(format!("the zone starts at {first}, inside the previous one")).with_key(key);
        return Err(vec![fault.with_expected(format!("{previous_end} or more"))]);
    }
    let spt = fields.whole_number("Blocks per track", 1, 1 << 20)?;
    let in_revolutions = are_skews_in_revolutions(fields, rules.skews_in_revolutions)?;
    // Fractions of a sector are dropped, as in DiskSim's program. Negative values rotate the other way.
    let revolutions = |value: f64| if in_revolutions { value } else { value.trunc() / spt as f64 }.rem_euclid(1.0);
    let skew = |key: &str| Ok::<f64, Errors>(revolutions(fields.number_or(key, -1e6, 1e6, 0.0)?));
    Ok(DisksimZone {
        first_cylinder: first,
        last_cylinder: last,
        spt,
        offset: skew("Offset of first block")?,
        front: fields.number_or("Empty space at zone front", 0.0, 1e12, 0.0)? as u64,
        cylinder_skew: skew("Skew for cylinder switch")?,
        head_skew: skew("Skew for track switch")?,
        spares: fields.number_or("Number of spares", 0.0, 1e9, 0.0)? as u64,
        slips: read_slips(fields, writer)?,
        defects: read_defects(fields)?,
    })
}

/// The slips, sorted and without duplicates.
fn read_slips(fields: &ParameterFields<'_>, writer: &mut ProfileWriter) -> Result<Vec<u64>, Errors> {
    let (key, numbers) = ("slips", fields.number_list("slips")?);
    if let Some(invalid) = numbers.iter().find(|number| !is_slot(number)) {
        let fault = fields.position(key).diagnostic(format!("{invalid} is not a slot")).with_key(key);
        return Err(vec![fault.with_expected("whole numbers from 0")]);
    }
    let mut slips: Vec<u64> = numbers.iter().map(|&number| number as u64).collect();
    if let Some(pair) = slips.windows(2).find(|pair| pair[1] < pair[0]) {
        let message = format!("{} follows {}; sorted in ascending order", pair[1], pair[0]);
        writer.warn(fields.position(key).diagnostic(message).with_key(key));
        slips.sort_unstable();
    }
    let listed = slips.len();
    slips.dedup();
    if slips.len() < listed {
        let message = format!("of {listed} slots, {} are distinct; each is slipped once", slips.len());
        writer.warn(fields.position(key).diagnostic(message).with_key(key));
    }
    Ok(slips)
}

/// Drops slips beyond the zone.
fn drop_outer_slips(fields: &ParameterFields<'_>, slips: &mut Vec<u64>, end: u64, writer: &mut ProfileWriter) {
    if let Some(&last) = slips.last().filter(|&&last| last >= end) {
        let all = slips.len();
        slips.retain(|&slip| slip < end);
        let message = format!("{last} lies beyond the zone's {end}: {} of {all} left out", all - slips.len());
        writer.warn(fields.position("slips").diagnostic(message).with_key("slips"));
    }
}

fn is_slot(number: &f64) -> bool {
    *number >= 0.0 && number.fract() == 0.0 && *number < 1e15
}

/// The defects without duplicates; a defect that is its own replacement has no effect.
fn read_defects(fields: &ParameterFields<'_>) -> Result<Vec<Defect>, Errors> {
    let numbers = fields.number_list("defects")?;
    if !numbers.iter().all(is_slot) || numbers.len() % 2 != 0 {
        let fault = fields.position("defects").diagnostic("they are not pairs").with_key("defects");
        return Err(vec![fault.with_expected("slot, slot that stands for it; whole numbers")]);
    }
    let pairs = numbers.chunks(2).map(|pair| (pair[0] as u64, pair[1] as u64));
    let mut seen = BTreeSet::new();
    Ok(pairs.filter(|pair| pair.0 != pair.1 && seen.insert(*pair)).collect())
}

/// The rows of a zone in the profile: two if its first cylinder runs backwards.
fn format_zone_rows(zone: &DisksimZone, previous_end: u64, rules: LayoutRules) -> Vec<String> {
    let row_start = |first: u64, end: u64, previous_end: u64| {
        let gap = if first > previous_end { format!(", gap = {}", first - previous_end) } else { String::new() };
        format!("{{ first = {first}, cylinders = {}{gap}", end - first)
    };
    let plain_row = |first: u64, previous_end: u64, offset: f64| {
        let start = row_start(first, zone.last_cylinder + 1, previous_end);
        let [offset, track_skew, head_skew] =
            [offset, zone.cylinder_skew, zone.head_skew].map(|turn| revolution_fraction(turn, 9));
        let spt = zone.spt;
        format!("{start}, spt = {spt}, offset = {offset}, track_skew = {track_skew}, head_skew = {head_skew} }}")
    };
    // Mapping 2 counts odd cylinders from the first of the drive, not of the zone.
    if rules.mapping != 2 || zone.first_cylinder.is_multiple_of(2) {
        return vec![plain_row(zone.first_cylinder, previous_end, zone.offset)];
    }
    let run = |track: u64| {
        let angle = revolution_fraction(zone.head_skew * track as f64, 9);
        format!("[{}, 0, 1, {}, {angle}, 0]", rules.heads - 1 - track, zone.spt)
    };
    let backwards: Vec<String> = (0..rules.heads).map(run).collect();
    let start = row_start(zone.first_cylinder, zone.first_cylinder + 1, previous_end);
    let (offset, runs) = (revolution_fraction(zone.offset, 9), backwards.join(", "));
    let mut rows = vec![format!("{start}, offset = {offset}, band = 1, runs = [{runs}] }}")];
    if zone.last_cylinder > zone.first_cylinder {
        let next_offset = zone.offset + zone.head_skew * (rules.heads - 1) as f64 + zone.cylinder_skew;
        rows.push(plain_row(zone.first_cylinder + 1, zone.first_cylinder + 1, next_offset));
    }
    rows
}

/// The units in which slips and defects of a zone are numbered: slots, or tracks.
#[derive(Clone, Copy)]
struct SlipUnits {
    count: u64,
    slots_each: u64,
}

/// The remapped slots with the slots that hold their blocks, in the numbering of the zone. Warns of defects without a free spare,
/// which stay in their place.
fn remap_defects(
    fields: &ParameterFields<'_>,
    zone: &DisksimZone,
    units: SlipUnits,
    holes: &[SlotHole],
    writer: &mut ProfileWriter,
) -> BTreeMap<u64, u64> {
    let slots = |unit: u64| (unit * units.slots_each..).take(units.slots_each as usize);
    let is_hole = |slot: u64| holes.iter().any(|hole| covers_slot(hole, slot));
    let (mut remaps, mut taken, mut unmoved) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
    for &(defect, spare) in &zone.defects {
        let is_inside = defect < units.count && spare < units.count;
        let is_free = is_inside && slots(spare).all(|slot| is_hole(slot) && !taken.contains(&slot));
        if !is_free || slots(defect).any(|slot| remaps.contains_key(&slot)) {
            unmoved.push((defect, spare));
            continue;
        }
        // A defective slot in a hole has no block to move.
        remaps.extend(slots(defect).zip(slots(spare)).filter(|&(slot, _)| !is_hole(slot)));
        taken.extend(slots(spare));
    }
    if let Some((defect, spare)) = unmoved.first() {
        let (stay, all) = (unmoved.len(), zone.defects.len());
        let message =
            format!("{defect} cannot live in {spare}, no free spare of the zone: {stay} of {all} stay in their place");
        writer.warn(fields.position("defects").diagnostic(message).with_key("defects"));
    }
    remaps
}

fn covers_slot(&[first, length, period, repetitions]: &SlotHole, slot: u64) -> bool {
    let repetition = slot.saturating_sub(first).checked_div(period).unwrap_or(0).min(repetitions);
    slot >= first && slot - first - repetition * period < length
}

/// The holes of a zone of `tracks`, in the numbering of the zone.
fn zone_holes(
    fields: &ParameterFields<'_>,
    zone: &DisksimZone,
    rules: LayoutRules,
    tracks: u64,
) -> Result<Vec<SlotHole>, Errors> {
    let slots = tracks * zone.spt;
    let scheme = rules.scheme;
    let slip_slots = if scheme.counts_tracks { zone.spt } else { 1 };
    let unit_slots = match scheme.unit {
        SparingUnit::Track => zone.spt,
        SparingUnit::Cylinders(cylinders) => cylinders * rules.heads * zone.spt,
        SparingUnit::Zone => slots,
    };
    let slip_numbers = if scheme.has_slips { zone.slips.as_slice() } else { &[] };
    let slips: Vec<SlotRun> = slip_numbers.iter().map(|number| (number * slip_slots, slip_slots)).collect();
    let spares = if scheme.has_spares && unit_slots <= slots { zone.spares * slip_slots } else { 0 };
    if spares >= unit_slots {
        let message = format!("{spares} spare slots in each {unit_slots}");
        let fault = fields.position("Number of spares").diagnostic(message);
        return Err(vec![fault.with_key("Number of spares").with_expected(format!("fewer than {unit_slots}"))]);
    }
    let mut holes = Vec::new();
    let mut slips_left = slips.as_slice();
    let mut start = 0;
    while start < slots {
        let end = (start + unit_slots).min(slots);
        let slips_inside = slips_left.iter().take_while(|slip| slip.0 < end).count();
        let is_part = end - start < unit_slots;
        // Units without slips are identical: one repeated hole.
        let identical =
            if slips_inside > 0 || is_part { 1 } else { units_until_slip(slips_left, start, unit_slots, slots) };
        let period = if identical > 1 { unit_slots } else { 0 };
        let repeat = |(first, length): SlotRun| [first, length, period, identical - 1];
        let spares = if is_part { 0 } else { spares };
        holes.extend(unit_holes(start..end, spares, scheme, &slips_left[..slips_inside]).into_iter().map(repeat));
        slips_left = &slips_left[slips_inside..];
        start += identical * unit_slots;
    }
    reserve_front(fields, zone, &mut holes, slots)?;
    Ok(holes)
}

/// The number of complete units from `start` on without a slip; at least 1.
fn units_until_slip(slips: &[SlotRun], start: u64, unit_slots: u64, zone_slots: u64) -> u64 {
    let slipped_unit = slips.first().map_or(zone_slots, |slip| slip.0 / unit_slots * unit_slots);
    ((slipped_unit.min(zone_slots) - start) / unit_slots).max(1)
}

/// The holes of a unit: the slips among its blocks, and the remaining spares.
fn unit_holes(unit: Range<u64>, spares: u64, scheme: SparingScheme, slips: &[SlotRun]) -> Vec<SlotRun> {
    if scheme.spares_first {
        // Reversed, a unit with spares at the start has them at the end.
        let mirror = |&(first, length): &SlotRun| (unit.start + unit.end - first - length, length);
        let slips: Vec<_> = slips.iter().rev().map(mirror).collect();
        let mirrored = unit_holes(unit.clone(), spares, SparingScheme { spares_first: false, ..scheme }, &slips);
        return mirrored.iter().rev().map(mirror).collect();
    }
    let mut holes = Vec::new();
    let mut blocks = unit.end - unit.start - spares;
    if scheme.slips_to_end {
        let usable = unit.start + blocks;
        blocks -= slips.iter().filter(|slip| slip.0 < usable).map(|slip| slip.1).sum::<u64>();
    }
    let mut next_slot = unit.start;
    for &(first, length) in slips {
        if blocks <= first - next_slot {
            break;
        }
        blocks -= first - next_slot;
        holes.push((first, length));
        next_slot = first + length;
    }
    let end = (next_slot + blocks).min(unit.end);
    holes.extend((end < unit.end).then_some((end, unit.end - end)));
    holes
}

/// Makes a hole of the zone's first slots: as many as hold the blocks of its empty space at the front, with the holes among them.
fn reserve_front(
    fields: &ParameterFields<'_>,
    zone: &DisksimZone,
    holes: &mut Vec<SlotHole>,
    zone_slots: u64,
) -> Result<(), Errors> {
    if zone.front == 0 {
        return Ok(());
    }
    let (mut blocks_left, mut end) = (zone.front, 0);
    let mut later_holes = Vec::new();
    'holes: for (index, &[first, length, period, repetitions]) in holes.iter().enumerate() {
        for repetition in 0..=repetitions {
            let hole_start = first + repetition * period;
            if blocks_left <= hole_start - end {
                later_holes = vec![[hole_start, length, period, repetitions - repetition]];
                later_holes.extend(&holes[index + 1..]);
                break 'holes;
            }
            blocks_left -= hole_start - end;
            end = hole_start + length;
        }
    }
    let front = end + blocks_left;
    if front >= zone_slots {
        let fault = fields
            .position("Empty space at zone front")
            .diagnostic(format!("{} leaves no room in the zone", zone.front));
        return Err(vec![fault.with_key("Empty space at zone front")]);
    }
    *holes = vec![[0, front, 0, 0]];
    holes.extend(later_holes);
    Ok(())
}

#[cfg(test)]
mod tests;
