//! Layouts of generation 1 (zones with a sparing scheme) and 4 (an index of tracks) as our zones, holes and remaps.
//!
//! Generation 1 numbers the slots of a zone track after track; blocks take them in that order, leaving out the space at
//! the zone's front, slipped slots, and the spares of each unit (track, cylinder, range of cylinders or zone, as the scheme
//! says). All of it becomes holes in the order of slots.
//!
//! | what | meaning |
//! |---|---|
//! | slips, defects | slots of the zone, its spares counted in; tracks of the zone in scheme 1 |
//! | a slip | uses up one spare of its unit; where the scheme slips to the end, the zone holds one block less |
//! | front | blocks that the zone would hold before its first; slips and spares among them come on top |
//! | offset | where slot 0 of the zone lies, in sectors; skews add up from there anew in each zone |
//! | ranges | counted from the zone's first cylinder; a part range at its end has no spares |
//!
//! A block that a slip pushes into the spares of its cylinder lives there. The reference program folds it onto the next
//! cylinder instead, where another block lives already (scheme 2); its inverse then disagrees, and it stops. It also turns
//! all tracks behind a slip by a sector in schemes 2 to 6, which is an assumption of its own; ours stay where the skews put
//! them.

use std::ops::Range;

use super::Errors;
use super::fields::{Fields, shown};
use super::syntax::{Block, Value};
use super::write::{Text, share};
use crate::diagnostic::Diagnostic;

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

/// A hole: first slot, slots, and how many times again each so many slots further.
type Hole = [u64; 4];

/// Writes the geometry; answers how many cylinders there are.
pub(super) fn layout(model: &Fields<'_>, text: &mut Text) -> Result<u32, Errors> {
    let heads = model.whole("Number of data surfaces", 1, 64)?;
    let cylinders = model.whole("Number of cylinders", 1, 10_000_000)?;
    let blocks = model.whole("Block count", 1, 1 << 40)?;
    let block = model.block("Layout Model")?;
    text.section("geometry");
    text.given("sectors", blocks, model.at("Block count"), "Block count");
    text.inferred("physical_sector", 512, "DiskSim's blocks are sectors of 512 bytes");
    text.given("heads", heads, model.at("Number of data surfaces"), "Number of data surfaces");
    let end = match block.kind.as_str() {
        "dm_layout_g1" => generation_1(&Fields::of(block, GENERATION_1), heads, cylinders, text)?,
        "dm_layout_g4" => super::layout_g4::layout(block, cylinders, text)?,
        kind => {
            let known = ["dm_layout_g1", "dm_layout_g4"];
            let fault = block.at.says("no layout that can be read").key(kind);
            return Err(vec![fault.expected(known.join(" or ")).nearest_to(kind, known)]);
        }
    };
    let why = "the layout ends at another cylinder, and counts";
    text.leave(
        model,
        "Number of cylinders",
        end != cylinders,
        if end == cylinders { "the layout says it" } else { why },
    );
    Ok(end as u32)
}

/// One zone's figures.
struct Zone {
    first: u64,
    last: u64,
    spt: u64,
    offset: f64,
    front: u64,
    /// Between cylinders, between heads.
    skews: (f64, f64),
    spares: u64,
    slips: Vec<u64>,
    /// Slots or tracks, and those that stand for them.
    defects: Vec<(u64, u64)>,
}

/// What a scheme's spares belong to.
#[derive(Clone, Copy, PartialEq)]
enum Unit {
    Track,
    Cylinders(u64),
    Zone,
}

/// A sparing scheme.
#[derive(Clone, Copy)]
struct Scheme {
    unit: Unit,
    /// Its spares lie at the front of their unit, not at the end.
    front: bool,
    /// Slips, defects and spares are whole tracks.
    tracks: bool,
    /// Slips leave the spares alone.
    to_end: bool,
    /// Its spares are slots of the unit.
    spares: bool,
    /// It knows slips.
    slips: bool,
}

/// How a layout's zones are read.
#[derive(Clone, Copy)]
struct Rules {
    /// 0, 1 or 2.
    mapping: u64,
    scheme: Scheme,
    heads: u64,
    cylinders: u64,
    /// Skews are shares of a revolution, not sectors.
    revolutions: bool,
}

/// What the zones come to.
#[derive(Default)]
struct Laid {
    rows: Vec<String>,
    holes: Vec<Hole>,
    remaps: Vec<(u64, u64)>,
    cylinders: u64,
    slots: u64,
}

fn generation_1(fields: &Fields<'_>, heads: u64, cylinders: u64, text: &mut Text) -> Result<u64, Errors> {
    let mut errors = fields.unknown();
    let mapping = fields.whole("LBN-to-PBN mapping scheme", 0, 2)?;
    let scheme = scheme(fields)?;
    let rules = Rules { mapping, scheme, heads, cylinders, revolutions: revolutions(fields, false)? };
    let entry = fields.entry("Zones")?;
    let Value::List(values) = &entry.value else {
        return Err(vec![entry.at.says("it is no list").key("Zones").expected("[ dm_layout_g1_zone { … }, … ]")]);
    };
    let mut laid = Laid::default();
    for value in values {
        let Value::Block(block) = value else {
            return Err(vec![entry.at.says(format!("{} is no zone", shown(value))).key("Zones")]);
        };
        let fields = Fields::of(block, ZONE);
        errors.extend(fields.unknown());
        lay(&fields, rules, &mut laid, text)?;
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let at = fields.at("LBN-to-PBN mapping scheme");
    let order = if mapping == 0 { "cylinder" } else { "switchback" };
    text.given("order", format!("\"{order}\""), at, "LBN-to-PBN mapping scheme");
    text.inferred("track_skew", 0.0, "each zone has its own");
    text.inferred("head_skew", 0.0, "each zone has its own");
    text.rows("geometry.zones", &laid.rows, &entry.at, "its zones; skews and offsets as shares of a revolution");
    if !laid.holes.is_empty() {
        let rows: Vec<String> = laid.holes.iter().map(written).collect();
        text.rows("geometry.holes", &rows, &entry.at, "space at zone fronts, spares and slipped slots");
    }
    if !laid.remaps.is_empty() {
        laid.remaps.sort_unstable();
        let rows: Vec<String> = laid.remaps.iter().map(|(own, lives)| format!("[{own}, {lives}]")).collect();
        text.rows("geometry.remaps", &rows, &entry.at, "defects");
    }
    text.leave(fields, "Rangesize for sparing", false, "taken into the holes");
    Ok(laid.cylinders)
}

/// Lays one zone behind those that are there.
fn lay(fields: &Fields<'_>, rules: Rules, laid: &mut Laid, text: &mut Text) -> Result<(), Errors> {
    let zone = zone(fields, laid.cylinders, rules)?;
    let tracks = (zone.last + 1 - zone.first) * rules.heads;
    let holes = zone_holes(fields, &zone, rules, tracks)?;
    laid.remaps.extend(remaps(fields, &zone, rules.scheme, &holes)?.iter().map(|(own, lives)| {
        let at = laid.slots;
        (own + at, lives + at)
    }));
    laid.holes.extend(holes.iter().map(|hole| shifted(hole, laid.slots)));
    laid.rows.extend(rows(&zone, laid.cylinders, rules));
    laid.cylinders = zone.last + 1;
    laid.slots += tracks * zone.spt;
    if !rules.scheme.spares && zone.spares > 0 {
        text.leave(fields, "Number of spares", false, "this sparing scheme has none, or all behind the last block");
    }
    if !rules.scheme.slips && !zone.slips.is_empty() {
        text.leave(fields, "slips", false, "this sparing scheme has none");
    }
    Ok(())
}

/// Whether skews are shares of a revolution; a zone's own word counts before the layout's.
fn revolutions(fields: &Fields<'_>, otherwise: bool) -> Result<bool, Errors> {
    if fields.block.get("Skew units").is_none() {
        return Ok(otherwise);
    }
    let (word, at) = fields.word("Skew units")?;
    let words = ["sectors", "revolutions"];
    let fault = || at.says(format!("`{word}` is no unit of skews")).key("Skew units").expected(words.join(" or "));
    match word {
        "revolutions" => Ok(true),
        "sectors" => Ok(false),
        _ => Err(vec![fault().nearest_to(word, words)]),
    }
}

fn shifted(hole: &Hole, by: u64) -> Hole {
    [hole[0] + by, hole[1], hole[2], hole[3]]
}

pub(super) fn written(hole: &Hole) -> String {
    match hole {
        [first, slots, _, 0] => format!("[{first}, {slots}]"),
        [first, slots, period, times] => format!("[{first}, {slots}, {period}, {times}]"),
    }
}

fn scheme(fields: &Fields<'_>) -> Result<Scheme, Errors> {
    let range = fields.number_or("Rangesize for sparing", 1.0, 1e6, 1.0)? as u64;
    let plain = |unit| Scheme { unit, front: false, tracks: false, to_end: false, spares: true, slips: true };
    let to_end = |unit| Scheme { to_end: true, ..plain(unit) };
    Ok(match fields.whole("Sparing scheme used", 0, 10)? {
        0 => Scheme { spares: false, slips: false, ..plain(Unit::Zone) },
        1 => Scheme { tracks: true, ..plain(Unit::Zone) },
        2 => plain(Unit::Cylinders(1)),
        3 => plain(Unit::Track),
        4 => to_end(Unit::Cylinders(1)),
        5 => Scheme { front: true, ..plain(Unit::Cylinders(1)) },
        6 => Scheme { front: true, ..to_end(Unit::Cylinders(1)) },
        7 => Scheme { spares: false, ..to_end(Unit::Zone) },
        8 => plain(Unit::Cylinders(range)),
        9 => plain(Unit::Zone),
        _ => to_end(Unit::Zone),
    })
}

fn zone(fields: &Fields<'_>, next: u64, rules: Rules) -> Result<Zone, Errors> {
    let first = fields.whole("First cylinder number", 0, rules.cylinders - 1)?;
    // Extractions are known to be one out in their number of cylinders; the zones count.
    let last = fields.whole("Last cylinder number", 0, rules.cylinders)?;
    let (key, at) = ("First cylinder number", fields.at("First cylinder number"));
    if last < first {
        let fault = fields.at("Last cylinder number").says(format!("{last} lies before the zone's first, {first}"));
        return Err(vec![fault.key("Last cylinder number").expected(format!("{first} or more"))]);
    }
    if first < next {
        let fault = at.says(format!("the zone begins at {first}, inside the one before")).key(key);
        return Err(vec![fault.expected(format!("{next} or more"))]);
    }
    let spt = fields.whole("Blocks per track", 1, 1 << 20)?;
    let revolutions = revolutions(fields, rules.revolutions)?;
    // A part of a sector is dropped, as the reference program does.
    let turn = |given: f64| if revolutions { given % 1.0 } else { given.trunc() / spt as f64 % 1.0 };
    let skew = |key: &str| Ok::<f64, Errors>(turn(fields.number_or(key, 0.0, 1e6, 0.0)?));
    Ok(Zone {
        first,
        last,
        spt,
        offset: skew("Offset of first block")?,
        front: fields.number_or("Empty space at zone front", 0.0, 1e12, 0.0)? as u64,
        skews: (skew("Skew for cylinder switch")?, skew("Skew for track switch")?),
        spares: fields.number_or("Number of spares", 0.0, 1e9, 0.0)? as u64,
        slips: slots(fields, "slips")?,
        defects: pairs(fields)?,
    })
}

/// A rising list of slots.
fn slots(fields: &Fields<'_>, key: &str) -> Result<Vec<u64>, Errors> {
    let numbers = fields.numbers(key)?;
    let whole = |number: &f64| *number >= 0.0 && number.fract() == 0.0 && *number < 1e15;
    if !numbers.iter().all(whole) || !numbers.windows(2).all(|pair| pair[0] < pair[1]) {
        return Err(vec![fields.at(key).says("it does not rise").key(key).expected("whole numbers that rise")]);
    }
    Ok(numbers.into_iter().map(|number| number as u64).collect())
}

/// Pairs of a defect and what stands for it; a pair of equals moves nothing.
fn pairs(fields: &Fields<'_>) -> Result<Vec<(u64, u64)>, Errors> {
    let numbers = fields.numbers("defects")?;
    let whole = |number: &f64| *number >= 0.0 && number.fract() == 0.0 && *number < 1e15;
    if !numbers.iter().all(whole) || numbers.len() % 2 != 0 {
        let fault = fields.at("defects").says("they are no pairs").key("defects");
        return Err(vec![fault.expected("slot, slot that stands for it; whole numbers")]);
    }
    let pairs = numbers.chunks(2).map(|pair| (pair[0] as u64, pair[1] as u64));
    Ok(pairs.filter(|(own, lives)| own != lives).collect())
}

/// The profile's rows of a zone: two where its first cylinder runs backwards.
fn rows(zone: &Zone, next: u64, rules: Rules) -> Vec<String> {
    let (cylinder, head) = zone.skews;
    let begin = |first: u64, end: u64, next: u64| {
        let gap = if first > next { format!(", gap = {}", first - next) } else { String::new() };
        format!("{{ first = {first}, cylinders = {}{gap}", end - first)
    };
    let plain = |first: u64, next: u64, offset: f64| {
        let turns = format!("offset = {}, track_skew = {}", share(offset, 9), share(cylinder, 9));
        let begin = begin(first, zone.last + 1, next);
        format!("{begin}, spt = {}, {turns}, head_skew = {} }}", zone.spt, share(head, 9))
    };
    // Mapping 2 counts odd cylinders from the drive's first, not the zone's.
    if rules.mapping != 2 || zone.first % 2 == 0 {
        return vec![plain(zone.first, next, zone.offset)];
    }
    let run = |track: u64| {
        let turn = share(head * track as f64, 9);
        format!("[{}, 0, 1, {}, {turn}, 0]", rules.heads - 1 - track, zone.spt)
    };
    let backwards: Vec<String> = (0..rules.heads).map(run).collect();
    let first = begin(zone.first, zone.first + 1, next);
    let (offset, runs) = (share(zone.offset, 9), backwards.join(", "));
    let mut rows = vec![format!("{first}, offset = {offset}, band = 1, runs = [{runs}] }}")];
    if zone.last > zone.first {
        let turned = zone.offset + head * (rules.heads - 1) as f64 + cylinder;
        rows.push(plain(zone.first + 1, zone.first + 1, turned));
    }
    rows
}

/// The slots that live elsewhere, in the zone's own numbers.
fn remaps(fields: &Fields<'_>, zone: &Zone, scheme: Scheme, holes: &[Hole]) -> Result<Vec<(u64, u64)>, Errors> {
    let scale = if scheme.tracks { zone.spt } else { 1 };
    let empty = |slot: u64| holes.iter().any(|hole| covers(hole, slot));
    let mut remaps = Vec::new();
    for &(own, lives) in &zone.defects {
        for slot in 0..scale {
            let (own, lives) = (own * scale + slot, lives * scale + slot);
            if !empty(lives) {
                let fault = fields.at("defects").says(format!("slot {lives} of the zone is no spare")).key("defects");
                return Err(vec![fault.expected("pairs of a slot and a spare slot")]);
            }
            // Where no block lies there is nothing to move.
            remaps.extend((!empty(own)).then_some((own, lives)));
        }
    }
    Ok(remaps)
}

fn covers(&[first, length, period, times]: &Hole, slot: u64) -> bool {
    let time = slot.saturating_sub(first).checked_div(period).unwrap_or(0).min(times);
    slot >= first && slot - first - time * period < length
}

/// The holes of a zone of `tracks`, in its own slots.
fn zone_holes(fields: &Fields<'_>, zone: &Zone, rules: Rules, tracks: u64) -> Result<Vec<Hole>, Errors> {
    let slots = tracks * zone.spt;
    let scheme = rules.scheme;
    let scale = if scheme.tracks { zone.spt } else { 1 };
    let unit = match scheme.unit {
        Unit::Track => zone.spt,
        Unit::Cylinders(n) => n * rules.heads * zone.spt,
        Unit::Zone => slots,
    };
    let known = if scheme.slips { zone.slips.as_slice() } else { &[] };
    let slips: Vec<(u64, u64)> = known.iter().map(|slip| (slip * scale, scale)).collect();
    if let Some(&(slip, _)) = slips.iter().find(|slip| slip.0 + slip.1 > slots) {
        let fault = fields.at("slips").says(format!("slot {slip} lies beyond the zone's {slots}"));
        return Err(vec![fault.key("slips").expected(format!("below {slots}"))]);
    }
    let spares = if scheme.spares && unit <= slots { zone.spares * scale } else { 0 };
    if spares >= unit {
        let fault = fields.at("Number of spares").says(format!("{spares} spare slots in every {unit}"));
        return Err(vec![fault.key("Number of spares").expected(format!("fewer than {unit}"))]);
    }
    let mut holes = Vec::new();
    let mut slip = slips.as_slice();
    let mut from = 0;
    while from < slots {
        let to = (from + unit).min(slots);
        let inside = slip.iter().take_while(|slip| slip.0 < to).count();
        let part = to - from < unit;
        // Units without slips are alike: one hole, repeated.
        let alike = if inside > 0 || part { 1 } else { until_next(slip, from, unit, slots) };
        let repeat = |(first, length): (u64, u64)| [first, length, if alike > 1 { unit } else { 0 }, alike - 1];
        let spares = if part { 0 } else { spares };
        holes.extend(unit_holes(from..to, spares, scheme, &slip[..inside]).into_iter().map(repeat));
        slip = &slip[inside..];
        from += alike * unit;
    }
    front(fields, zone, &mut holes, slots)?;
    Ok(holes)
}

/// How many whole units from `from` on hold no slip.
fn until_next(slips: &[(u64, u64)], from: u64, unit: u64, slots: u64) -> u64 {
    let next = slips.first().map_or(slots, |slip| slip.0 / unit * unit);
    ((next.min(slots) - from) / unit).max(1)
}

/// The holes of a unit: its slips as far as its blocks reach, and the spares that they leave.
fn unit_holes(unit: Range<u64>, spares: u64, scheme: Scheme, slips: &[(u64, u64)]) -> Vec<(u64, u64)> {
    if scheme.front {
        // Seen from its end, a unit with spares at the front has them at the end.
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

/// Makes the first so many usable slots empty.
fn front(fields: &Fields<'_>, zone: &Zone, holes: &mut Vec<Hole>, slots: u64) -> Result<(), Errors> {
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
        let fault = fields.at("Empty space at zone front").says(format!("{} leaves nothing of the zone", zone.front));
        return Err(vec![fault.key("Empty space at zone front")]);
    }
    *holes = vec![[0, front, 0, 0]];
    holes.extend(behind);
    Ok(())
}

/// Holes alike and equally far apart as one with a count.
pub(super) fn repeated(holes: &[(u64, u64)]) -> Vec<Hole> {
    let mut found: Vec<Hole> = Vec::new();
    for &(first, length) in holes {
        if let Some(last) = found.last_mut() {
            let end = last[0] + last[2] * last[3];
            let step = first - end;
            if last[1] == length && (last[3] == 0 || last[2] == step) {
                (last[2], last[3]) = (step, last[3] + 1);
                continue;
            }
        }
        found.push([first, length, 0, 0]);
    }
    // A pair is no row of them: written out, it reads more easily.
    found
        .iter()
        .flat_map(|hole| if hole[3] == 1 { vec![single(hole, 0), single(hole, 1)] } else { vec![*hole] })
        .collect()
}

fn single(hole: &Hole, time: u64) -> Hole {
    [hole[0] + time * hole[2], hole[1], 0, 0]
}

/// A block's list that must be there.
pub(super) fn list<'a>(block: &'a Block, key: &str) -> Result<&'a [Value], Diagnostic> {
    match block.get(key).map(|entry| &entry.value) {
        Some(Value::List(values)) => Ok(values),
        _ => Err(block.at.says("it lacks a list").key(key)),
    }
}

#[cfg(test)]
mod tests;
