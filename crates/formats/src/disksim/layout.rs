//! Layouts of generation 1 (zones with a sparing scheme) and 4 (an index of tracks) as our zones and holes.
//!
//! Generation 1 numbers the slots of a zone track after track; blocks take them in that order, leaving out slipped
//! slots, the spares of each unit (track, cylinder, range of cylinders or zone, as the scheme says) and the space at the
//! zone's front. All of it becomes holes in the order of slots. A slip uses up one spare of its unit.

use super::Errors;
use super::fields::{Fields, shown};
use super::syntax::{Block, Value};
use super::write::Text;
use crate::diagnostic::Diagnostic;

const GENERATION_1: &[&str] = &["LBN-to-PBN mapping scheme", "Sparing scheme used", "Rangesize for sparing", "Zones"];

const ZONE: &[&str] = &[
    "First cylinder number",
    "Last cylinder number",
    "Blocks per track",
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
    skews: (f64, f64),
    spares: u64,
    slips: Vec<u64>,
}

/// What a scheme's spares belong to.
#[derive(Clone, Copy, PartialEq)]
enum Unit {
    Track,
    Cylinders(u64),
    Zone,
}

/// A sparing scheme: the unit, whether its spares lie at its front, whether slips and spares count whole tracks.
#[derive(Clone, Copy)]
struct Scheme {
    unit: Unit,
    front: bool,
    tracks: bool,
}

fn generation_1(fields: &Fields<'_>, heads: u64, cylinders: u64, text: &mut Text) -> Result<u64, Errors> {
    let mut errors = fields.unknown();
    let order = match fields.whole("LBN-to-PBN mapping scheme", 0, 2)? {
        0 => "cylinder",
        _ => "switchback",
    };
    let scheme = scheme(fields)?;
    let entry = fields.entry("Zones")?;
    let Value::List(values) = &entry.value else {
        return Err(vec![entry.at.says("it is no list").key("Zones").expected("[ dm_layout_g1_zone { … }, … ]")]);
    };
    let mut rows = Vec::new();
    let mut holes: Vec<Hole> = Vec::new();
    let (mut next, mut slots) = (0, 0);
    for value in values {
        let Value::Block(block) = value else {
            return Err(vec![entry.at.says(format!("{} is no zone", shown(value))).key("Zones")]);
        };
        let fields = Fields::of(block, ZONE);
        errors.extend(fields.unknown());
        let zone = zone(&fields, next, cylinders)?;
        let tracks = (zone.last + 1 - zone.first) * heads;
        rows.push(row(&zone, next));
        holes.extend(zone_holes(&fields, &zone, scheme, tracks, heads)?.iter().map(|hole| shifted(hole, slots)));
        left_over(&fields, text);
        next = zone.last + 1;
        slots += tracks * zone.spt;
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let at = fields.at("LBN-to-PBN mapping scheme");
    text.given("order", format!("\"{order}\""), at, "LBN-to-PBN mapping scheme");
    text.inferred("track_skew", 0.0, "each zone has its own");
    text.inferred("head_skew", 0.0, "each zone has its own");
    text.rows("geometry.zones", &rows, &entry.at, "its zones; skews and offsets as shares of a revolution");
    if !holes.is_empty() {
        let rows: Vec<String> = holes.iter().map(written).collect();
        text.rows("geometry.holes", &rows, &entry.at, "space at zone fronts, spares and slipped slots");
    }
    text.leave(fields, "Rangesize for sparing", false, "taken into the holes");
    Ok(next)
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
    let scheme = |unit, front, tracks| Ok(Scheme { unit, front, tracks });
    match fields.whole("Sparing scheme used", 0, 10)? {
        0 | 7 | 9 | 10 => scheme(Unit::Zone, false, false),
        1 => scheme(Unit::Zone, false, true),
        2 | 4 => scheme(Unit::Cylinders(1), false, false),
        3 => scheme(Unit::Track, false, false),
        5 | 6 => scheme(Unit::Cylinders(1), true, false),
        _ => scheme(Unit::Cylinders(range), false, false),
    }
}

fn zone(fields: &Fields<'_>, next: u64, cylinders: u64) -> Result<Zone, Errors> {
    let first = fields.whole("First cylinder number", 0, cylinders - 1)?;
    // Extractions are known to be one out in their number of cylinders; the zones count.
    let last = fields.whole("Last cylinder number", 0, cylinders)?;
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
    let skew = |key: &str| Ok::<f64, Errors>(fields.number(key, 0.0, 1e6)? / spt as f64 % 1.0);
    let slips = slots(fields, "slips")?;
    Ok(Zone {
        first,
        last,
        spt,
        offset: fields.number_or("Offset of first block", 0.0, 1e6, 0.0)? / spt as f64 % 1.0,
        front: fields.number_or("Empty space at zone front", 0.0, 1e12, 0.0)? as u64,
        skews: (skew("Skew for cylinder switch")?, skew("Skew for track switch")?),
        spares: fields.number_or("Number of spares", 0.0, 1e9, 0.0)? as u64,
        slips,
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

fn row(zone: &Zone, next: u64) -> String {
    let (first, cylinders) = (zone.first, zone.last + 1 - zone.first);
    let gap = if first > next { format!(", gap = {}", first - next) } else { String::new() };
    let (cylinder, head) = zone.skews;
    format!(
        "{{ first = {first}, cylinders = {cylinders}{gap}, spt = {}, offset = {:.9}, track_skew = {cylinder:.9}, \
         head_skew = {head:.9} }}",
        zone.spt, zone.offset
    )
}

fn left_over(fields: &Fields<'_>, text: &mut Text) {
    let defects = fields.numbers("defects").unwrap_or_default();
    // Pairs of a defect and the slot that stands for it; a pair of equals moves nothing.
    let moves = defects.chunks(2).any(|pair| pair.first() != pair.last());
    if !defects.is_empty() {
        text.leave(fields, "defects", moves, "blocks remapped to a spare slot: ours lie in their own place");
    }
}

/// The holes of a zone of `tracks`, in its own slots.
fn zone_holes(fields: &Fields<'_>, zone: &Zone, scheme: Scheme, tracks: u64, heads: u64) -> Result<Vec<Hole>, Errors> {
    let slots = tracks * zone.spt;
    let scale = if scheme.tracks { zone.spt } else { 1 };
    let unit = match scheme.unit {
        Unit::Track => zone.spt,
        Unit::Cylinders(n) => n * heads * zone.spt,
        Unit::Zone => slots,
    };
    let slips: Vec<(u64, u64)> = zone.slips.iter().map(|slip| (slip * scale, scale)).collect();
    if let Some(&(slip, _)) = slips.iter().find(|slip| slip.0 + slip.1 > slots) {
        let fault = fields.at("slips").says(format!("slot {slip} lies beyond the zone's {slots}"));
        return Err(vec![fault.key("slips").expected(format!("below {slots}"))]);
    }
    let mut holes = Vec::new();
    let mut slip = slips.as_slice();
    let mut from = 0;
    while from < slots {
        let to = (from + unit).min(slots);
        let inside = slip.iter().take_while(|slip| slip.0 < to).count();
        // Units without slips are alike: one hole, repeated.
        let alike = if inside > 0 || to - from < unit { 1 } else { until_next(slip, from, unit, slots) };
        let spares = zone.spares * scale;
        if spares >= to - from {
            let fault = fields.at("Number of spares").says(format!("{spares} spare slots in every {}", to - from));
            return Err(vec![fault.key("Number of spares").expected(format!("fewer than {}", to - from))]);
        }
        let repeat = |(first, length): (u64, u64)| [first, length, if alike > 1 { unit } else { 0 }, alike - 1];
        holes.extend(unit_holes(from, to, spares, scheme.front, &slip[..inside]).into_iter().map(repeat));
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

/// The holes of the unit `from..to`: its slips as far as its blocks reach, and the spares that they leave.
fn unit_holes(from: u64, to: u64, spares: u64, front: bool, slips: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut holes = Vec::new();
    let mut blocks = to - from - spares;
    let mut at = from;
    if front && spares > 0 {
        // Slips use up spares at the front as they do at the end.
        let used: u64 = slips.iter().map(|slip| slip.1).sum();
        at += spares.saturating_sub(used);
        holes.extend((at > from).then_some((from, at - from)));
    }
    let begin = at;
    for &(first, length) in slips.iter().filter(|slip| slip.0 >= begin) {
        if first < at || blocks <= first - at {
            break;
        }
        blocks -= first - at;
        holes.push((first, length));
        at = first + length;
    }
    let end = (at + blocks).min(to);
    holes.extend((end < to).then_some((end, to - end)));
    holes
}

/// The first so many usable slots stay empty.
fn front(fields: &Fields<'_>, zone: &Zone, holes: &mut Vec<Hole>, slots: u64) -> Result<(), Errors> {
    let mut empty = zone.front;
    if empty == 0 {
        return Ok(());
    }
    // Written out, for the front may end inside a repeated hole's reach.
    let mut all: Vec<(u64, u64)> =
        holes.iter().flat_map(|hole| (0..=hole[3]).map(|time| (hole[0] + time * hole[2], hole[1]))).collect();
    all.sort_unstable();
    let mut end = 0;
    for &(first, length) in &all {
        let free = first - end;
        if empty <= free {
            break;
        }
        empty -= free;
        end = first + length;
    }
    let front = end + empty;
    if front >= slots {
        let fault = fields.at("Empty space at zone front").says(format!("{} leaves nothing of the zone", zone.front));
        return Err(vec![fault.key("Empty space at zone front")]);
    }
    let behind: Vec<(u64, u64)> = all.into_iter().filter(|hole| hole.0 >= front).collect();
    *holes = vec![[0, front, 0, 0]];
    holes.extend(repeated(&behind));
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
