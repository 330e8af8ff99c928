//! Layout generation 4: an index of indices down to runs of tracks, a table of track patterns, and slips.
//!
//! A row of an index has eleven numbers: first block, first cylinder, angle; blocks, cylinders and rotation of one repetition;
//! total blocks and cylinders; then `TRACK` with pattern and surface, or `IDX` with the number of an index that it repeats. The
//! last index is the outermost: its rows become zones, and the rows that they repeat become runs.
//!
//! First blocks and slips are counted in slots, including the slipped ones. A run with a negative number of cylinders
//! starts at its highest; its rotation still follows the order of blocks.

use seekwise_drives::diagnostic::Diagnostic;

use super::fields::ParameterFields;
use super::slots::{MOST_CYLINDERS, format_hole, merge_holes, required_list, write_sectors};
use super::syntax::{Errors, ParameterBlock, ParameterValue};
use super::write::{ProfileWriter, revolution_fraction};

/// More runs than any drive has tracks on a surface.
const MOST: usize = 2_000_000;

/// The deepest nesting of indices.
const DEEPEST: usize = 8;

/// A row of an index.
#[derive(Clone, Copy)]
struct IndexRow {
    first: u64,
    cylinder: i64,
    angle: f64,
    blocks: u64,
    cylinders: i64,
    turn: f64,
    times: u64,
    all_cylinders: i64,
    /// A surface with its sectors per track, or an index.
    what: RowContent,
}

#[derive(Clone, Copy)]
enum RowContent {
    Track { head: u64, spt: u64 },
    Index(usize),
}

/// A run of tracks: surface, first cylinder, tracks (negative: inwards first), sectors per track, angle, skew.
struct IndexRun(u64, i64, i64, u64, f64, f64);

pub(super) fn write_generation_4(
    block: &ParameterBlock,
    model: &ParameterFields<'_>,
    text: &mut ProfileWriter,
) -> Result<u64, Errors> {
    let one = |error: Diagnostic| vec![error];
    let errors = ParameterFields::new(block, &["TP", "IDX", "Slips", "Remaps"]).report_unknown_keys(text);
    if !errors.is_empty() {
        return Err(errors);
    }
    let patterns = read_patterns(block).map_err(one)?;
    let indices = required_list(block, "IDX").map_err(one)?.iter().map(|index| read_rows(block, index, &patterns));
    let indices: Vec<Vec<IndexRow>> = indices.collect::<Result<_, _>>().map_err(one)?;
    check_consistency(block, &indices).map_err(one)?;
    let Some(outermost) = indices.last() else {
        return Err(one(block.at.diagnostic("there is no index").with_key("IDX")));
    };
    let mut zones = Vec::new();
    let mut next = 0;
    let mut used = 0;
    for row in outermost {
        let runs = expand_runs(block, &indices, row, 0, &mut used).map_err(one)?;
        let end = row.cylinder + row.all_cylinders;
        if row.cylinder < next || row.all_cylinders < 0 || end > MOST_CYLINDERS as i64 {
            let message = format!(
                "cylinders {} to {end} overlap the previous ones, or exceed what a drive can have",
                row.cylinder
            );
            return Err(one(block.at.diagnostic(message).with_key("IDX")));
        }
        zones.push(format_zone(row, next, &runs));
        next = row.cylinder + row.all_cylinders.abs();
    }
    let at = &block.at;
    let slots = outermost.last().map_or(0, |row| row.first + row.blocks * row.times);
    let slips = read_slips(block, slots, text).map_err(one)?;
    write_sectors(model, slots, &merge_holes(&slips), text)?;
    text.write_given("order", "\"cylinder\"", at, "its index names each run of tracks");
    text.write_inferred("track_skew", 0.0, "each run has its own");
    text.write_inferred("head_skew", 0.0, "each run has its own");
    text.write_rows("geometry.zones", &zones, at, "its index, in bands of equal runs");
    if !slips.is_empty() {
        let rows: Vec<String> = merge_holes(&slips).iter().map(format_hole).collect();
        text.write_rows("geometry.holes", &rows, at, "Slips");
    }
    if !required_list(block, "Remaps").map_err(one)?.is_empty() {
        text.note_active("Remaps", at, "remapped blocks; the model leaves them in their place");
    }
    Ok(next as u64)
}

/// Checks that each row starts where the previous one ends, and repeats something of its own length.
fn check_consistency(block: &ParameterBlock, indices: &[Vec<IndexRow>]) -> Result<(), Diagnostic> {
    let at = block.get("IDX").map_or(&block.at, |entry| &entry.at);
    let held = |index: &Vec<IndexRow>| index.last().map_or(0, |row| row.first + row.blocks * row.times);
    for (number, index) in indices.iter().enumerate() {
        let mut next = 0;
        for (place, row) in index.iter().enumerate() {
            let fault =
                |what: String| Err(at.diagnostic(format!("row {place} of index {number} {what}")).with_key("IDX"));
            if row.first != next {
                return fault(format!("starts at block {}, but the previous one ends at {next}", row.first));
            }
            if row.cylinders.abs().checked_mul(row.times as i64) != Some(row.all_cylinders.abs()) {
                return fault("covers other cylinders than its repetitions".to_owned());
            }
            let (length, stride) = match row.what {
                RowContent::Track { spt, .. } => (spt, row.cylinders == 1),
                RowContent::Index(child) => (indices.get(child).map_or(0, held), row.cylinders > 0),
            };
            if row.blocks != length || !stride {
                return fault(format!("has {} blocks and {} cylinders each time", row.blocks, row.cylinders));
            }
            next += row.blocks * row.times;
        }
    }
    Ok(())
}

fn as_number(value: Option<&ParameterValue>) -> Option<f64> {
    match value {
        Some(ParameterValue::Number(number, _)) => Some(*number),
        _ => None,
    }
}

fn as_whole_number(value: Option<&ParameterValue>) -> Option<u64> {
    as_number(value).filter(|n| *n >= 0.0 && n.fract() == 0.0 && *n < 1e15).map(|n| n as u64)
}

/// Sectors per track of each pattern: three numbers, the first and last sector in use and the total.
fn read_patterns(block: &ParameterBlock) -> Result<Vec<u64>, Diagnostic> {
    let pattern = |chunk: &[ParameterValue]| {
        let [first, last, spt] = [0, 1, 2].map(|place| as_whole_number(chunk.get(place)));
        spt.filter(|&spt| first == Some(0) && last == spt.checked_sub(1) && spt > 0)
    };
    let patterns = required_list(block, "TP")?.chunks(3).enumerate();
    let fault = |index: usize| {
        block
            .at
            .diagnostic(format!("track pattern {index} is not a whole track"))
            .with_key("TP")
            .with_expected("0, sectors - 1, sectors")
    };
    patterns.map(|(index, chunk)| pattern(chunk).ok_or_else(|| fault(index))).collect()
}

fn read_rows(block: &ParameterBlock, index: &ParameterValue, patterns: &[u64]) -> Result<Vec<IndexRow>, Diagnostic> {
    let fault = |what: &str| block.at.diagnostic(what).with_key("IDX").with_expected("rows of eleven figures");
    let ParameterValue::List(values) = index else { return Err(fault("an index is not a list")) };
    let mut rows = Vec::new();
    let mut rest = values.as_slice();
    while !rest.is_empty() {
        let length = match rest.get(8) {
            Some(ParameterValue::Word(word)) if word == "TRACK" => 11,
            Some(ParameterValue::Word(word)) if word == "IDX" => 10,
            _ => return Err(fault("a row has no TRACK or IDX in its ninth place")),
        };
        let row = rest.get(..length).and_then(|row| read_row(row, patterns));
        rows.push(row.ok_or_else(|| fault("a row has figures out of range"))?);
        rest = &rest[length..];
    }
    Ok(rows)
}

fn read_row(row: &[ParameterValue], patterns: &[u64]) -> Option<IndexRow> {
    let long = |place: usize| as_number(row.get(place)).filter(|n| n.fract() == 0.0 && n.abs() < 1e9).map(|n| n as i64);
    let share = |place: usize| as_number(row.get(place)).filter(|n| (0.0..=1.0).contains(n)).map(|n| n % 1.0);
    let blocks = as_whole_number(row.get(3)).filter(|&blocks| blocks > 0)?;
    let all = as_whole_number(row.get(6))?;
    let what = if row.len() == 11 {
        let spt = *patterns.get(as_whole_number(row.get(9))? as usize)?;
        RowContent::Track { head: as_whole_number(row.get(10)).filter(|&head| head < 64)?, spt }
    } else {
        RowContent::Index(as_whole_number(row.get(9))? as usize)
    };
    Some(IndexRow {
        first: as_whole_number(row.first())?,
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
fn expand_runs(
    block: &ParameterBlock,
    indices: &[Vec<IndexRow>],
    row: &IndexRow,
    depth: usize,
    used: &mut usize,
) -> Result<Vec<IndexRun>, Diagnostic> {
    let fault = |what: String| block.at.diagnostic(what).with_key("IDX");
    match row.what {
        RowContent::Track { head, spt } => {
            let tracks = if row.all_cylinders < 0 { -(row.times as i64) } else { row.times as i64 };
            Ok(vec![IndexRun(head, 0, tracks, spt, 0.0, row.turn)])
        }
        RowContent::Index(number) => {
            let index = indices.get(number).ok_or_else(|| fault(format!("there is no index {number}")))?;
            if depth >= DEEPEST {
                return Err(fault(format!("indices are nested more than {DEEPEST} deep")));
            }
            let mut runs = Vec::new();
            for inner in index {
                let one = expand_runs(block, indices, inner, depth + 1, used)?;
                let times = if matches!(inner.what, RowContent::Track { .. }) { 1 } else { inner.times };
                *used += one.len().saturating_mul(times as usize);
                if *used > MOST {
                    return Err(fault(format!("it amounts to more than {MOST} runs")));
                }
                let inwards = inner.cylinders * inner.all_cylinders.signum();
                for time in 0..times {
                    let (cylinder, angle) = (inwards * time as i64, inner.turn * time as f64);
                    let place = |run: &IndexRun| {
                        let at = (inner.angle + angle + run.4) % 1.0;
                        IndexRun(run.0, inner.cylinder + cylinder + run.1, run.2, run.3, at, run.5)
                    };
                    runs.extend(one.iter().map(place));
                }
            }
            Ok(runs)
        }
    }
}

fn format_zone(row: &IndexRow, next: i64, runs: &[IndexRun]) -> String {
    let gap = if row.cylinder > next { format!(", gap = {}", row.cylinder - next) } else { String::new() };
    let run = |IndexRun(head, first, tracks, spt, angle, skew): &IndexRun| {
        format!(
            "[{head}, {first}, {tracks}, {spt}, {}, {}]",
            revolution_fraction(*angle, 6),
            revolution_fraction(*skew, 6)
        )
    };
    let (cylinders, band) = match row.what {
        RowContent::Index(_) => (row.all_cylinders.abs(), row.cylinders.abs()),
        RowContent::Track { .. } => (row.all_cylinders.abs(), row.all_cylinders.abs()),
    };
    format!(
        "{{ first = {}, cylinders = {cylinders}{gap}, offset = {}, band = {band}, band_skew = {}, runs = [{}] }}",
        row.cylinder,
        revolution_fraction(row.angle, 6),
        revolution_fraction(row.turn, 6),
        runs.iter().map(run).collect::<Vec<_>>().join(", ")
    )
}

/// Slips as slots and lengths: sorted, disjoint, and within the existing slots.
fn read_slips(block: &ParameterBlock, slots: u64, text: &mut ProfileWriter) -> Result<Vec<(u64, u64)>, Diagnostic> {
    let key = "Slips";
    let at = block.get(key).map_or(&block.at, |entry| &entry.at);
    let pair = |pair: &[ParameterValue]| {
        Some((as_whole_number(pair.first())?, as_whole_number(pair.get(1)).filter(|&length| length > 0)?))
    };
    let pairs: Option<Vec<(u64, u64)>> = required_list(block, key)?.chunks(2).map(pair).collect();
    let mut pairs = pairs.ok_or_else(|| {
        at.diagnostic("they are not pairs").with_key(key).with_expected("slot, length; whole numbers")
    })?;
    if let Some(two) = pairs.windows(2).find(|two| two[1].0 < two[0].0) {
        let message = format!("{} follows {}; sorted in ascending order", two[1].0, two[0].0);
        text.warn(at.diagnostic(message).with_key(key));
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
        text.warn(at.diagnostic(message).with_key(key));
    }
    Ok(slips)
}
