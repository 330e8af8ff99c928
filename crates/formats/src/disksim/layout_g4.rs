//! Layout generation 4: an index of indices down to runs of tracks, a table of track patterns, and slips.
//!
//! A row of an index has eleven numbers: first block, first cylinder, angle; blocks, cylinders and rotation of one repetition;
//! total blocks and cylinders; then `TRACK` with pattern and surface, or `IDX` with the number of an index that it repeats. The
//! last index is the outermost: its rows become zones, and the rows that they repeat become runs.
//!
//! First blocks and slips are counted in slots, including the slipped ones. A run with a negative number of cylinders
//! starts at its highest; its rotation still follows the order of blocks.

use super::fields::ParameterFields;
use super::slots::{MOST_CYLINDERS, list, repeated, sectors, written};
use super::syntax::{Errors, ParameterBlock, ParameterValue};
use super::write::{ProfileWriter, share};
use crate::diagnostic::Diagnostic;

/// More runs than any drive has tracks on a surface.
const MOST: usize = 2_000_000;

/// The deepest nesting of indices.
const DEEPEST: usize = 8;

/// A row of an index.
#[derive(Clone, Copy)]
struct Row {
    first: u64,
    cylinder: i64,
    angle: f64,
    blocks: u64,
    cylinders: i64,
    turn: f64,
    times: u64,
    all_cylinders: i64,
    /// A surface with its sectors per track, or an index.
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    Track { head: u64, spt: u64 },
    Index(usize),
}

/// A run of tracks: surface, first cylinder, tracks (negative: inwards first), sectors per track, angle, skew.
struct Run(u64, i64, i64, u64, f64, f64);

pub(super) fn layout(
    block: &ParameterBlock,
    model: &ParameterFields<'_>,
    text: &mut ProfileWriter,
) -> Result<u64, Errors> {
    let one = |error: Diagnostic| vec![error];
    let errors = ParameterFields::of(block, &["TP", "IDX", "Slips", "Remaps"]).unknown(text);
    if !errors.is_empty() {
        return Err(errors);
    }
    let patterns = patterns(block).map_err(one)?;
    let indices = list(block, "IDX").map_err(one)?.iter().map(|index| rows(block, index, &patterns));
    let indices: Vec<Vec<Row>> = indices.collect::<Result<_, _>>().map_err(one)?;
    consistent(block, &indices).map_err(one)?;
    let Some(outermost) = indices.last() else {
        return Err(one(block.at.says("there is no index").key("IDX")));
    };
    let mut zones = Vec::new();
    let mut next = 0;
    let mut used = 0;
    for row in outermost {
        let runs = band(block, &indices, row, 0, &mut used).map_err(one)?;
        let end = row.cylinder + row.all_cylinders;
        if row.cylinder < next || row.all_cylinders < 0 || end > MOST_CYLINDERS as i64 {
            let message = format!(
                "cylinders {} to {end} overlap the previous ones, or exceed what a drive can have",
                row.cylinder
            );
            return Err(one(block.at.says(message).key("IDX")));
        }
        zones.push(zone(row, next, &runs));
        next = row.cylinder + row.all_cylinders.abs();
    }
    let at = &block.at;
    let slots = outermost.last().map_or(0, |row| row.first + row.blocks * row.times);
    let slips = slips(block, slots, text).map_err(one)?;
    sectors(model, slots, &repeated(&slips), text)?;
    text.given("order", "\"cylinder\"", at, "its index names each run of tracks");
    text.inferred("track_skew", 0.0, "each run has its own");
    text.inferred("head_skew", 0.0, "each run has its own");
    text.rows("geometry.zones", &zones, at, "its index, in bands of equal runs");
    if !slips.is_empty() {
        let rows: Vec<String> = repeated(&slips).iter().map(written).collect();
        text.rows("geometry.holes", &rows, at, "Slips");
    }
    if !list(block, "Remaps").map_err(one)?.is_empty() {
        text.leave_place("Remaps", at, "remapped blocks; the model leaves them in their place");
    }
    Ok(next as u64)
}

/// Checks that each row starts where the previous one ends, and repeats something of its own length.
fn consistent(block: &ParameterBlock, indices: &[Vec<Row>]) -> Result<(), Diagnostic> {
    let at = block.get("IDX").map_or(&block.at, |entry| &entry.at);
    let held = |index: &Vec<Row>| index.last().map_or(0, |row| row.first + row.blocks * row.times);
    for (number, index) in indices.iter().enumerate() {
        let mut next = 0;
        for (place, row) in index.iter().enumerate() {
            let fault = |what: String| Err(at.says(format!("row {place} of index {number} {what}")).key("IDX"));
            if row.first != next {
                return fault(format!("starts at block {}, but the previous one ends at {next}", row.first));
            }
            if row.cylinders.abs().checked_mul(row.times as i64) != Some(row.all_cylinders.abs()) {
                return fault("covers other cylinders than its repetitions".to_owned());
            }
            let (length, stride) = match row.what {
                What::Track { spt, .. } => (spt, row.cylinders == 1),
                What::Index(child) => (indices.get(child).map_or(0, held), row.cylinders > 0),
            };
            if row.blocks != length || !stride {
                return fault(format!("has {} blocks and {} cylinders each time", row.blocks, row.cylinders));
            }
            next += row.blocks * row.times;
        }
    }
    Ok(())
}

fn figure(value: Option<&ParameterValue>) -> Option<f64> {
    match value {
        Some(ParameterValue::Number(number, _)) => Some(*number),
        _ => None,
    }
}

fn whole(value: Option<&ParameterValue>) -> Option<u64> {
    figure(value).filter(|n| *n >= 0.0 && n.fract() == 0.0 && *n < 1e15).map(|n| n as u64)
}

/// Sectors per track of each pattern: three numbers, the first and last sector in use and the total.
fn patterns(block: &ParameterBlock) -> Result<Vec<u64>, Diagnostic> {
    let pattern = |chunk: &[ParameterValue]| {
        let [first, last, spt] = [0, 1, 2].map(|place| whole(chunk.get(place)));
        spt.filter(|&spt| first == Some(0) && last == spt.checked_sub(1) && spt > 0)
    };
    let patterns = list(block, "TP")?.chunks(3).enumerate();
    let fault = |index: usize| {
        block
            .at
            .says(format!("track pattern {index} is not a whole track"))
            .key("TP")
            .expected("0, sectors - 1, sectors")
    };
    patterns.map(|(index, chunk)| pattern(chunk).ok_or_else(|| fault(index))).collect()
}

fn rows(block: &ParameterBlock, index: &ParameterValue, patterns: &[u64]) -> Result<Vec<Row>, Diagnostic> {
    let fault = |what: &str| block.at.says(what).key("IDX").expected("rows of eleven figures");
    let ParameterValue::List(values) = index else { return Err(fault("an index is not a list")) };
    let mut rows = Vec::new();
    let mut rest = values.as_slice();
    while !rest.is_empty() {
        let length = match rest.get(8) {
            Some(ParameterValue::Word(word)) if word == "TRACK" => 11,
            Some(ParameterValue::Word(word)) if word == "IDX" => 10,
            _ => return Err(fault("a row has no TRACK or IDX in its ninth place")),
        };
        let row = rest.get(..length).and_then(|row| one_row(row, patterns));
        rows.push(row.ok_or_else(|| fault("a row has figures out of range"))?);
        rest = &rest[length..];
    }
    Ok(rows)
}

fn one_row(row: &[ParameterValue], patterns: &[u64]) -> Option<Row> {
    let long = |place: usize| figure(row.get(place)).filter(|n| n.fract() == 0.0 && n.abs() < 1e9).map(|n| n as i64);
    let share = |place: usize| figure(row.get(place)).filter(|n| (0.0..=1.0).contains(n)).map(|n| n % 1.0);
    let blocks = whole(row.get(3)).filter(|&blocks| blocks > 0)?;
    let all = whole(row.get(6))?;
    let what = if row.len() == 11 {
        let spt = *patterns.get(whole(row.get(9))? as usize)?;
        What::Track { head: whole(row.get(10)).filter(|&head| head < 64)?, spt }
    } else {
        What::Index(whole(row.get(9))? as usize)
    };
    Some(Row {
        first: whole(row.first())?,
        cylinder: long(1)?,
        angle: share(2)?,
        blocks,
        cylinders: long(4)?,
        turn: share(5)?,
        times: if all % blocks == 0 { all / blocks } else { return None },
        all_cylinders: long(7)?,
        what,
    })
}

/// The runs in one repetition of a row.
fn band(
    block: &ParameterBlock,
    indices: &[Vec<Row>],
    row: &Row,
    depth: usize,
    used: &mut usize,
) -> Result<Vec<Run>, Diagnostic> {
    let fault = |what: String| block.at.says(what).key("IDX");
    match row.what {
        What::Track { head, spt } => {
            let tracks = if row.all_cylinders < 0 { -(row.times as i64) } else { row.times as i64 };
            Ok(vec![Run(head, 0, tracks, spt, 0.0, row.turn)])
        }
        What::Index(number) => {
            let index = indices.get(number).ok_or_else(|| fault(format!("there is no index {number}")))?;
            if depth >= DEEPEST {
                return Err(fault(format!("indices are nested more than {DEEPEST} deep")));
            }
            let mut runs = Vec::new();
            for inner in index {
                let one = band(block, indices, inner, depth + 1, used)?;
                let times = if matches!(inner.what, What::Track { .. }) { 1 } else { inner.times };
                *used += one.len().saturating_mul(times as usize);
                if *used > MOST {
                    return Err(fault(format!("it amounts to more than {MOST} runs")));
                }
                let inwards = inner.cylinders * inner.all_cylinders.signum();
                for time in 0..times {
                    let (cylinder, angle) = (inwards * time as i64, inner.turn * time as f64);
                    let place = |run: &Run| {
                        let at = (inner.angle + angle + run.4) % 1.0;
                        Run(run.0, inner.cylinder + cylinder + run.1, run.2, run.3, at, run.5)
                    };
                    runs.extend(one.iter().map(place));
                }
            }
            Ok(runs)
        }
    }
}

fn zone(row: &Row, next: i64, runs: &[Run]) -> String {
    let gap = if row.cylinder > next { format!(", gap = {}", row.cylinder - next) } else { String::new() };
    let run = |Run(head, first, tracks, spt, angle, skew): &Run| {
        format!("[{head}, {first}, {tracks}, {spt}, {}, {}]", share(*angle, 6), share(*skew, 6))
    };
    let (cylinders, band) = match row.what {
        What::Index(_) => (row.all_cylinders.abs(), row.cylinders.abs()),
        What::Track { .. } => (row.all_cylinders.abs(), row.all_cylinders.abs()),
    };
    format!(
        "{{ first = {}, cylinders = {cylinders}{gap}, offset = {}, band = {band}, band_skew = {}, runs = [{}] }}",
        row.cylinder,
        share(row.angle, 6),
        share(row.turn, 6),
        runs.iter().map(run).collect::<Vec<_>>().join(", ")
    )
}

/// Slips as slots and lengths: sorted, disjoint, and within the existing slots.
fn slips(block: &ParameterBlock, slots: u64, text: &mut ProfileWriter) -> Result<Vec<(u64, u64)>, Diagnostic> {
    let key = "Slips";
    let at = block.get(key).map_or(&block.at, |entry| &entry.at);
    let pair = |pair: &[ParameterValue]| Some((whole(pair.first())?, whole(pair.get(1)).filter(|&length| length > 0)?));
    let pairs: Option<Vec<(u64, u64)>> = list(block, key)?.chunks(2).map(pair).collect();
    let mut pairs =
        pairs.ok_or_else(|| at.says("they are not pairs").key(key).expected("slot, length; whole numbers"))?;
    if let Some(two) = pairs.windows(2).find(|two| two[1].0 < two[0].0) {
        let message = format!("{} follows {}; sorted in ascending order", two[1].0, two[0].0);
        text.warn(at.says(message).key(key));
        pairs.sort_unstable();
    }
    let mut slips: Vec<(u64, u64)> = Vec::new();
    let (mut met, mut beyond) = (0, 0);
    for (first, length) in pairs {
        let end = (first + length).min(slots);
        beyond += u64::from(end < first + length);
        let free = slips.last().map_or(0, |last| last.0 + last.1).max(first);
        met += u64::from(free > first);
        slips.extend((free < end).then(|| (free, end - free)));
    }
    if met + beyond > 0 {
        let message =
            format!("{met} meet others, {beyond} lie beyond the last of {slots} slots: each slot is slipped once");
        text.warn(at.says(message).key(key));
    }
    Ok(slips)
}
