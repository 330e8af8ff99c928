//! Layouts of generation 1 (zones with a sparing scheme) and 4 (an index of tracks) as our zones, holes and remaps.
//!
//! Generation 1 numbers the slots of a zone track after track; blocks fill them in that order, except for the space at
//! the zone's front, slipped slots, and the spares of each unit (track, cylinder, range of cylinders or zone, as the scheme
//! says). All of these become holes.
//!
//! | what | meaning |
//! |---|---|
//! | slips, defects | slots of the zone, its spares counted in; tracks of the zone in scheme 1 |
//! | a slip | uses up one spare of its unit; where the scheme slips to the end, the zone holds one block less |
//! | front | blocks that the zone would hold before its first; slips and spares among them come on top |
//! | offset | where slot 0 of the zone lies, in sectors; skews add up from there anew in each zone |
//! | ranges | counted from the zone's first cylinder; a part range at its end has no spares |
//!
//! If a block count or a number of cylinders contradicts the zones, the zones are used, with a warning that names both.
//! Slips may be unsorted, repeated and beyond the zone; defects without a valid spare stay in their place.
//!
//! A block that a slip pushes into the spares of its cylinder stays there. The reference program wraps it onto the next
//! cylinder, onto another block (scheme 2); its inverse mapping then disagrees, and it aborts. The program also rotates all
//! tracks after a slip by a sector in schemes 2 to 6, an assumption of its own; here the skews alone place the tracks.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::fields::ParameterFields;
use super::slots::{MOST_CYLINDERS, SlotHole, format_hole, write_sectors};
use super::syntax::{Errors, ParameterValue, describe_value};
use super::write::{ProfileWriter, revolution_fraction};

const GENERATION_1: &[&str] =
    &["LBN-to-PBN mapping scheme", "Sparing scheme used", "Rangesize for sparing", "Skew units", "Zones"];

const ZONE: &[&str] = &[
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
pub(super) fn write_geometry(model: &ParameterFields<'_>, text: &mut ProfileWriter) -> Result<u32, Errors> {
    let heads = model.whole_number("Number of data surfaces", 1, 64)?;
    let cylinders = model.whole_number("Number of cylinders", 1, MOST_CYLINDERS)?;
    let block = model.required_block("Layout Model")?;
    text.begin_section("geometry");
    text.write_inferred("physical_sector", 512, "DiskSim's blocks are sectors of 512 bytes");
    text.write_given("heads", heads, model.position("Number of data surfaces"), "Number of data surfaces");
    let end = match block.kind.as_str() {
        "dm_layout_g1" => write_generation_1(&ParameterFields::new(block, GENERATION_1), heads, model, text)?,
        "dm_layout_g4" => super::layout_g4::write_generation_4(block, model, text)?,
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
    text.note_unmodelled(model.block, "Number of cylinders", end != cylinders, why);
    Ok(end as u32)
}

/// The figures of a zone.
struct DisksimZone {
    first: u64,
    last: u64,
    spt: u64,
    offset: f64,
    front: u64,
    /// Between cylinders, between heads.
    skews: (f64, f64),
    spares: u64,
    slips: Vec<u64>,
    /// Slots or tracks, and their replacements.
    defects: Vec<(u64, u64)>,
}

/// The unit that has spares of its own.
#[derive(Clone, Copy, PartialEq)]
enum SparingUnit {
    Track,
    Cylinders(u64),
    Zone,
}

/// A sparing scheme.
#[derive(Clone, Copy)]
struct Scheme {
    unit: SparingUnit,
    /// Spares are at the start of their unit, not at the end.
    front: bool,
    /// Slips, defects and spares are whole tracks.
    tracks: bool,
    /// Slips do not use up spares.
    to_end: bool,
    /// Spares are slots of the unit.
    spares: bool,
    /// The scheme has slips.
    slips: bool,
}

/// How to read the zones of a layout.
#[derive(Clone, Copy)]
struct Rules {
    /// 0, 1 or 2.
    mapping: u64,
    scheme: Scheme,
    heads: u64,
    /// Skews are in revolutions, not sectors.
    revolutions: bool,
}

/// The resulting layout.
#[derive(Default)]
struct ConvertedLayout {
    rows: Vec<String>,
    holes: Vec<SlotHole>,
    remaps: Vec<(u64, u64)>,
    cylinders: u64,
    slots: u64,
}

fn write_generation_1(
    fields: &ParameterFields<'_>,
    heads: u64,
    model: &ParameterFields<'_>,
    text: &mut ProfileWriter,
) -> Result<u64, Errors> {
    let mut errors = fields.report_unknown_keys(text);
    let mapping = fields.whole_number("LBN-to-PBN mapping scheme", 0, 2)?;
    let scheme = read_scheme(fields)?;
    let rules = Rules { mapping, scheme, heads, revolutions: skews_in_revolutions(fields, false)? };
    let entry = fields.required_entry("Zones")?;
    let ParameterValue::List(values) = &entry.value else {
        return Err(vec![
            entry.at.diagnostic("is not a list").with_key("Zones").with_expected("[ dm_layout_g1_zone { … }, … ]"),
        ]);
    };
    let mut laid = ConvertedLayout::default();
    for value in values {
        let ParameterValue::Block(block) = value else {
            return Err(vec![
                entry.at.diagnostic(format!("{} is not a zone", describe_value(value))).with_key("Zones"),
            ]);
        };
        let fields = ParameterFields::new(block, ZONE);
        errors.extend(fields.report_unknown_keys(text));
        append_zone(&fields, rules, &mut laid, text)?;
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    write_sectors(model, laid.slots, &laid.holes, text)?;
    let at = fields.position("LBN-to-PBN mapping scheme");
    let order = if mapping == 0 { "cylinder" } else { "switchback" };
    text.write_given("order", format!("\"{order}\""), at, "LBN-to-PBN mapping scheme");
    text.write_inferred("track_skew", 0.0, "each zone has its own");
    text.write_inferred("head_skew", 0.0, "each zone has its own");
    text.write_rows("geometry.zones", &laid.rows, &entry.at, "its zones; skews and offsets as shares of a revolution");
    if !laid.holes.is_empty() {
        let rows: Vec<String> = laid.holes.iter().map(format_hole).collect();
        text.write_rows("geometry.holes", &rows, &entry.at, "space at zone fronts, spares and slipped slots");
    }
    if !laid.remaps.is_empty() {
        laid.remaps.sort_unstable();
        let rows: Vec<String> = laid.remaps.iter().map(|(own, lives)| format!("[{own}, {lives}]")).collect();
        text.write_rows("geometry.remaps", &rows, &entry.at, "defects");
    }
    text.note_unmodelled(fields.block, "Rangesize for sparing", false, "part of the holes");
    Ok(laid.cylinders)
}

/// Appends a zone to the layout.
fn append_zone(
    fields: &ParameterFields<'_>,
    rules: Rules,
    laid: &mut ConvertedLayout,
    text: &mut ProfileWriter,
) -> Result<(), Errors> {
    let mut zone = read_zone(fields, laid.cylinders, rules, text)?;
    let tracks = (zone.last + 1 - zone.first) * rules.heads;
    // Slips and defects are slots or tracks.
    let inside = if rules.scheme.tracks {
        SlipUnits { all: tracks, slots: zone.spt }
    } else {
        SlipUnits { all: tracks * zone.spt, slots: 1 }
    };
    drop_outer_slips(fields, &mut zone.slips, inside.all, text);
    let holes = zone_holes(fields, &zone, rules, tracks)?;
    let at = laid.slots;
    laid.remaps
        .extend(remap_defects(fields, &zone, inside, &holes, text).iter().map(|(own, lives)| (own + at, lives + at)));
    laid.holes.extend(holes.iter().map(|hole| shift_hole(hole, laid.slots)));
    laid.rows.extend(format_zone_rows(&zone, laid.cylinders, rules));
    laid.cylinders = zone.last + 1;
    laid.slots += tracks * zone.spt;
    if !rules.scheme.spares && zone.spares > 0 {
        text.note_unmodelled(
            fields.block,
            "Number of spares",
            false,
            "this sparing scheme has none, or all after the last block",
        );
    }
    if !rules.scheme.slips && !zone.slips.is_empty() {
        text.note_unmodelled(fields.block, "slips", false, "this sparing scheme has none");
    }
    Ok(())
}

/// Whether skews are in revolutions; the setting of a zone overrides that of the layout.
fn skews_in_revolutions(fields: &ParameterFields<'_>, otherwise: bool) -> Result<bool, Errors> {
    if fields.block.get("Skew units").is_none() {
        return Ok(otherwise);
    }
    let (word, at) = fields.required_word("Skew units")?;
    let words = ["sectors", "revolutions"];
    let fault = || {
        at.diagnostic(format!("`{word}` is not a unit of skew"))
            .with_key("Skew units")
            .with_expected(words.join(" or "))
    };
    match word {
        "revolutions" => Ok(true),
        "sectors" => Ok(false),
        _ => Err(vec![fault().suggest_nearest(word, words)]),
    }
}

fn shift_hole(hole: &SlotHole, by: u64) -> SlotHole {
    [hole[0] + by, hole[1], hole[2], hole[3]]
}

fn read_scheme(fields: &ParameterFields<'_>) -> Result<Scheme, Errors> {
    // Only one scheme has ranges; the others ignore the value.
    let range = || fields.number_or("Rangesize for sparing", 1.0, 1e6, 1.0);
    let plain = |unit| Scheme { unit, front: false, tracks: false, to_end: false, spares: true, slips: true };
    let to_end = |unit| Scheme { to_end: true, ..plain(unit) };
    Ok(match fields.whole_number("Sparing scheme used", 0, 10)? {
        0 => Scheme { spares: false, slips: false, ..plain(SparingUnit::Zone) },
        1 => Scheme { tracks: true, ..plain(SparingUnit::Zone) },
        2 => plain(SparingUnit::Cylinders(1)),
        3 => plain(SparingUnit::Track),
        4 => to_end(SparingUnit::Cylinders(1)),
        5 => Scheme { front: true, ..plain(SparingUnit::Cylinders(1)) },
        6 => Scheme { front: true, ..to_end(SparingUnit::Cylinders(1)) },
        7 => Scheme { spares: false, ..to_end(SparingUnit::Zone) },
        8 => plain(SparingUnit::Cylinders(range()? as u64)),
        9 => plain(SparingUnit::Zone),
        _ => to_end(SparingUnit::Zone),
    })
}

fn read_zone(
    fields: &ParameterFields<'_>,
    next: u64,
    rules: Rules,
    text: &mut ProfileWriter,
) -> Result<DisksimZone, Errors> {
    let first = fields.whole_number("First cylinder number", 0, MOST_CYLINDERS - 1)?;
    let last = fields.whole_number("Last cylinder number", 0, MOST_CYLINDERS - 1)?;
    let (key, at) = ("First cylinder number", fields.position("First cylinder number"));
    if last < first {
        let fault = fields
            .position("Last cylinder number")
            .diagnostic(format!("{last} is below the zone's first cylinder, {first}"));
        return Err(vec![fault.with_key("Last cylinder number").with_expected(format!("{first} or more"))]);
    }
    if first < next {
        let fault = at.diagnostic(format!("the zone starts at {first}, inside the previous one")).with_key(key);
        return Err(vec![fault.with_expected(format!("{next} or more"))]);
    }
    let spt = fields.whole_number("Blocks per track", 1, 1 << 20)?;
    let revolutions = skews_in_revolutions(fields, rules.revolutions)?;
    // Fractions of a sector are dropped, as in the reference program. Negative values only rotate the other way.
    let turn = |given: f64| if revolutions { given } else { given.trunc() / spt as f64 }.rem_euclid(1.0);
    let skew = |key: &str| Ok::<f64, Errors>(turn(fields.number_or(key, -1e6, 1e6, 0.0)?));
    Ok(DisksimZone {
        first,
        last,
        spt,
        offset: skew("Offset of first block")?,
        front: fields.number_or("Empty space at zone front", 0.0, 1e12, 0.0)? as u64,
        skews: (skew("Skew for cylinder switch")?, skew("Skew for track switch")?),
        spares: fields.number_or("Number of spares", 0.0, 1e9, 0.0)? as u64,
        slips: read_slips(fields, text)?,
        defects: read_defects(fields)?,
    })
}

/// The slips, sorted and without duplicates.
fn read_slips(fields: &ParameterFields<'_>, text: &mut ProfileWriter) -> Result<Vec<u64>, Errors> {
    let (key, numbers) = ("slips", fields.number_list("slips")?);
    if let Some(strange) = numbers.iter().find(|number| !is_slot(number)) {
        let fault = fields.position(key).diagnostic(format!("{strange} is not a slot")).with_key(key);
        return Err(vec![fault.with_expected("whole numbers from 0")]);
    }
    let mut slips: Vec<u64> = numbers.iter().map(|&number| number as u64).collect();
    if let Some(pair) = slips.windows(2).find(|pair| pair[1] < pair[0]) {
        let message = format!("{} follows {}; sorted in ascending order", pair[1], pair[0]);
        text.warn(fields.position(key).diagnostic(message).with_key(key));
        slips.sort_unstable();
    }
    let all = slips.len();
    slips.dedup();
    if slips.len() < all {
        let message = format!("of {all} slots, {} are distinct; each is slipped once", slips.len());
        text.warn(fields.position(key).diagnostic(message).with_key(key));
    }
    Ok(slips)
}

/// Drops slips beyond the zone.
fn drop_outer_slips(fields: &ParameterFields<'_>, slips: &mut Vec<u64>, end: u64, text: &mut ProfileWriter) {
    if let Some(&last) = slips.last().filter(|&&last| last >= end) {
        let all = slips.len();
        slips.retain(|&slip| slip < end);
        let message = format!("{last} lies beyond the zone's {end}: {} of {all} left out", all - slips.len());
        text.warn(fields.position("slips").diagnostic(message).with_key("slips"));
    }
}

fn is_slot(number: &f64) -> bool {
    *number >= 0.0 && number.fract() == 0.0 && *number < 1e15
}

/// Pairs of a defect and its replacement, without duplicates; a pair of equals has no effect.
fn read_defects(fields: &ParameterFields<'_>) -> Result<Vec<(u64, u64)>, Errors> {
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
fn format_zone_rows(zone: &DisksimZone, next: u64, rules: Rules) -> Vec<String> {
    let (cylinder, head) = zone.skews;
    let begin = |first: u64, end: u64, next: u64| {
        let gap = if first > next { format!(", gap = {}", first - next) } else { String::new() };
        format!("{{ first = {first}, cylinders = {}{gap}", end - first)
    };
    let plain = |first: u64, next: u64, offset: f64| {
        let turns =
            format!("offset = {}, track_skew = {}", revolution_fraction(offset, 9), revolution_fraction(cylinder, 9));
        let (begun, head_skew) = (begin(first, zone.last + 1, next), revolution_fraction(head, 9));
        format!("{begun}, spt = {}, {turns}, head_skew = {head_skew} }}", zone.spt)
    };
    // Mapping 2 counts odd cylinders from the first of the drive, not of the zone.
    if rules.mapping != 2 || zone.first.is_multiple_of(2) {
        return vec![plain(zone.first, next, zone.offset)];
    }
    let run = |track: u64| {
        let turn = revolution_fraction(head * track as f64, 9);
        format!("[{}, 0, 1, {}, {turn}, 0]", rules.heads - 1 - track, zone.spt)
    };
    let backwards: Vec<String> = (0..rules.heads).map(run).collect();
    let first = begin(zone.first, zone.first + 1, next);
    let (offset, runs) = (revolution_fraction(zone.offset, 9), backwards.join(", "));
    let mut rows = vec![format!("{first}, offset = {offset}, band = 1, runs = [{runs}] }}")];
    if zone.last > zone.first {
        let turned = zone.offset + head * (rules.heads - 1) as f64 + cylinder;
        rows.push(plain(zone.first + 1, zone.first + 1, turned));
    }
    rows
}

/// The units of slips and defects of a zone: how many there are, and how many slots each has.
#[derive(Clone, Copy)]
struct SlipUnits {
    all: u64,
    slots: u64,
}

/// The remapped slots, in the numbering of the zone. A defect without a free spare stays in its place.
fn remap_defects(
    fields: &ParameterFields<'_>,
    zone: &DisksimZone,
    places: SlipUnits,
    holes: &[SlotHole],
    text: &mut ProfileWriter,
) -> BTreeMap<u64, u64> {
    let slots = |place: u64| (place * places.slots..).take(places.slots as usize);
    let empty = |slot: u64| holes.iter().any(|hole| covers_slot(hole, slot));
    let (mut remaps, mut taken, mut stay) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
    for &(own, lives) in &zone.defects {
        let spare =
            own < places.all && lives < places.all && slots(lives).all(|slot| empty(slot) && !taken.contains(&slot));
        if !spare || slots(own).any(|slot| remaps.contains_key(&slot)) {
            stay.push((own, lives));
            continue;
        }
        // There is no block to move.
        remaps.extend(slots(own).zip(slots(lives)).filter(|&(own, _)| !empty(own)));
        taken.extend(slots(lives));
    }
    if let Some((own, lives)) = stay.first() {
        let (stay, all) = (stay.len(), zone.defects.len());
        let message =
            format!("{own} cannot live in {lives}, no free spare of the zone: {stay} of {all} stay in their place");
        text.warn(fields.position("defects").diagnostic(message).with_key("defects"));
    }
    remaps
}

fn covers_slot(&[first, length, period, times]: &SlotHole, slot: u64) -> bool {
    let time = slot.saturating_sub(first).checked_div(period).unwrap_or(0).min(times);
    slot >= first && slot - first - time * period < length
}

/// The holes of a zone of `tracks`, in the numbering of the zone.
fn zone_holes(
    fields: &ParameterFields<'_>,
    zone: &DisksimZone,
    rules: Rules,
    tracks: u64,
) -> Result<Vec<SlotHole>, Errors> {
    let slots = tracks * zone.spt;
    let scheme = rules.scheme;
    let scale = if scheme.tracks { zone.spt } else { 1 };
    let unit = match scheme.unit {
        SparingUnit::Track => zone.spt,
        SparingUnit::Cylinders(n) => n * rules.heads * zone.spt,
        SparingUnit::Zone => slots,
    };
    let known = if scheme.slips { zone.slips.as_slice() } else { &[] };
    let slips: Vec<(u64, u64)> = known.iter().map(|slip| (slip * scale, scale)).collect();
    let spares = if scheme.spares && unit <= slots { zone.spares * scale } else { 0 };
    if spares >= unit {
        let fault = fields.position("Number of spares").diagnostic(format!("{spares} spare slots in each {unit}"));
        return Err(vec![fault.with_key("Number of spares").with_expected(format!("fewer than {unit}"))]);
    }
    let mut holes = Vec::new();
    let mut slip = slips.as_slice();
    let mut from = 0;
    while from < slots {
        let to = (from + unit).min(slots);
        let inside = slip.iter().take_while(|slip| slip.0 < to).count();
        let part = to - from < unit;
        // Units without slips are identical: one repeated hole.
        let alike = if inside > 0 || part { 1 } else { units_until_slip(slip, from, unit, slots) };
        let repeat = |(first, length): (u64, u64)| [first, length, if alike > 1 { unit } else { 0 }, alike - 1];
        let spares = if part { 0 } else { spares };
        holes.extend(unit_holes(from..to, spares, scheme, &slip[..inside]).into_iter().map(repeat));
        slip = &slip[inside..];
        from += alike * unit;
    }
    reserve_front(fields, zone, &mut holes, slots)?;
    Ok(holes)
}

/// The number of complete units from `from` on without a slip.
fn units_until_slip(slips: &[(u64, u64)], from: u64, unit: u64, slots: u64) -> u64 {
    let next = slips.first().map_or(slots, |slip| slip.0 / unit * unit);
    ((next.min(slots) - from) / unit).max(1)
}

/// The holes of a unit: the slips among its blocks, and the remaining spares.
fn unit_holes(unit: Range<u64>, spares: u64, scheme: Scheme, slips: &[(u64, u64)]) -> Vec<(u64, u64)> {
    if scheme.front {
        // Reversed, a unit with spares at the start has them at the end.
        let mirror = |&(first, length): &(u64, u64)| (unit.start + unit.end - first - length, length);
        let slips: Vec<_> = slips.iter().rev().map(mirror).collect();
        let seen = unit_holes(unit.clone(), spares, Scheme { front: false, ..scheme }, &slips);
        return seen.iter().rev().map(mirror).collect();
    }
    let mut holes = Vec::new();
    let mut blocks = unit.end - unit.start - spares;
    if scheme.to_end {
        let usable = unit.start + blocks;
        blocks -= slips.iter().filter(|slip| slip.0 < usable).map(|slip| slip.1).sum::<u64>();
    }
    let mut at = unit.start;
    for &(first, length) in slips {
        if blocks <= first - at {
            break;
        }
        blocks -= first - at;
        holes.push((first, length));
        at = first + length;
    }
    let end = (at + blocks).min(unit.end);
    holes.extend((end < unit.end).then_some((end, unit.end - end)));
    holes
}

/// Leaves the zone's `front` usable slots empty at the start.
fn reserve_front(
    fields: &ParameterFields<'_>,
    zone: &DisksimZone,
    holes: &mut Vec<SlotHole>,
    slots: u64,
) -> Result<(), Errors> {
    if zone.front == 0 {
        return Ok(());
    }
    let (mut empty, mut end) = (zone.front, 0);
    let mut behind = Vec::new();
    for (index, &[first, length, period, times]) in holes.iter().enumerate() {
        let reached = (0..=times).find(|time| {
            let at = first + time * period;
            let found = empty <= at - end;
            if !found {
                empty -= at - end;
                end = at + length;
            }
            found
        });
        if let Some(time) = reached {
            behind = vec![[first + time * period, length, period, times - time]];
            behind.extend(&holes[index + 1..]);
            break;
        }
    }
    let front = end + empty;
    if front >= slots {
        let fault = fields
            .position("Empty space at zone front")
            .diagnostic(format!("{} leaves no room in the zone", zone.front));
        return Err(vec![fault.with_key("Empty space at zone front")]);
    }
    *holes = vec![[0, front, 0, 0]];
    holes.extend(behind);
    Ok(())
}

#[cfg(test)]
mod tests;
