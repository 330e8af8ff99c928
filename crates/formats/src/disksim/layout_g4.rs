//! Converts layouts of generation 4 to zones and holes of a profile: an index of indices down to runs of tracks, a table of track
//! patterns, and slips.
//!
//! A row of an index has ten or eleven figures: first block, first cylinder, angle; blocks, cylinders and rotation of one
//! repetition; total blocks and cylinders; then `TRACK` with pattern and surface, or `IDX` with the number of the index that it
//! repeats. The last index is the outermost: its rows become zones, and the rows that they repeat become runs.
//!
//! First blocks and slips are counted in slots, including the slipped ones. A run with a negative number of cylinders starts at
//! its highest cylinder; its rotation follows the order of blocks.

use seekwise_drives::diagnostic::Diagnostic;

use super::fields::ParameterFields;
use super::slots::{MOST_CYLINDERS, SlotRun, format_hole, merge_holes, required_list, write_sectors};
use super::syntax::{Errors, ParameterBlock, ParameterValue};
use super::write::{ProfileWriter, revolution_fraction};

/// More runs than any drive has tracks on a surface.
const MOST_RUNS: usize = 2_000_000;

/// The deepest nesting of indices.
const DEEPEST_NESTING: usize = 8;

/// A row of an index; angles are in revolutions.
#[derive(Clone, Copy)]
struct IndexRow {
    first_block: u64,
    first_cylinder: i64,
    angle: f64,
    /// Blocks, cylinders and rotation of one repetition.
    blocks: u64,
    cylinders: i64,
    rotation: f64,
    repetitions: u64,
    total_cylinders: i64,
    content: RowContent,
}

/// The content that a row repeats.
#[derive(Clone, Copy)]
enum RowContent {
    /// A track with its sectors per track.
    Track { head: u64, spt: u64 },
    /// The number of an index.
    Index(usize),
}

/// A run of tracks on one surface; angles are in revolutions.
#[derive(Clone, Copy)]
struct IndexRun {
    head: u64,
    /// Cylinder of the first track, relative to the repetition that the run is in.
    first_cylinder: i64,
    /// Number of tracks; negative if they run towards lower cylinders.
    tracks: i64,
    spt: u64,
    angle: f64,
    skew: f64,
}

/// Writes the layout and returns the number of cylinders.
pub(super) fn write_generation_4(
    block: &ParameterBlock,
    model: &ParameterFields<'_>,
    writer: &mut ProfileWriter,
) -> Result<u64, Errors> {
    let as_errors = |error: Diagnostic| vec![error];
    let errors = ParameterFields::new(block, &["TP", "IDX", "Slips", "Remaps"]).report_unknown_keys(writer);
    if !errors.is_empty() {
        return Err(errors);
    }
    let patterns = read_patterns(block).map_err(as_errors)?;
    let indices =
        required_list(block, "IDX").map_err(as_errors)?.iter().map(|index| read_rows(block, index, &patterns));
    let indices: Vec<Vec<IndexRow>> = indices.collect::<Result<_, _>>().map_err(as_errors)?;
    check_consistency(block, &indices).map_err(as_errors)?;
    let Some(outermost) = indices.last() else {
        return Err(as_errors(block.at.diagnostic("there is no index").with_key("IDX")));
    };
    let mut zones = Vec::new();
    let mut previous_end = 0;
    let mut run_count = 0;
    for row in outermost {
        let runs = expand_runs(block, &indices, row, 0, &mut run_count).map_err(as_errors)?;
        let end = row.first_cylinder + row.total_cylinders;
        if row.first_cylinder < previous_end || row.total_cylinders < 0 || end > MOST_CYLINDERS as i64 {
            let message = format!(
                "cylinders {} to {end} overlap the previous ones, or exceed what a drive can have",
                row.first_cylinder
            );
            return Err(as_errors(block.at.diagnostic(message).with_key("IDX")));
        }
        zones.push(format_zone(row, previous_end, &runs));
        previous_end = row.first_cylinder + row.total_cylinders.abs();
    }
    let position = &block.at;
    let slots = outermost.last().map_or(0, |row| row.first_block + row.blocks * row.repetitions);
    let slips = read_slips(block, slots, writer).map_err(as_errors)?;
    write_sectors(model, slots, &merge_holes(&slips), writer)?;
    writer.write_given("order", "\"cylinder\"", position, "its index names each run of tracks");
    writer.write_inferred("track_skew", 0.0, "each run has its own");
    writer.write_inferred("head_skew", 0.0, "each run has its own");
    writer.write_rows("geometry.zones", &zones, position, "its index, in bands of equal runs");
    if !slips.is_empty() {
        let rows: Vec<String> = merge_holes(&slips).iter().map(format_hole).collect();
        writer.write_rows("geometry.holes", &rows, position, "Slips");
    }
    if !required_list(block, "Remaps").map_err(as_errors)?.is_empty() {
        writer.note_unmodelled_effect("Remaps", position, "remapped blocks; the model leaves them in their place");
    }
    Ok(previous_end as u64)
}

/// Checks that each row starts where the previous one ends, and that its figures of one repetition are those of its content.
fn check_consistency(block: &ParameterBlock, indices: &[Vec<IndexRow>]) -> Result<(), Diagnostic> {
    let position = block.get("IDX").map_or(&block.at, |entry| &entry.at);
    let block_count =
        |index: &Vec<IndexRow>| index.last().map_or(0, |row| row.first_block + row.blocks * row.repetitions);
    for (number, index) in indices.iter().enumerate() {
        let mut previous_end = 0;
        for (row_number, row) in index.iter().enumerate() {
            let fault = |problem: String| {
                Err(position.diagnostic(format!("row {row_number} of index {number} {problem}")).with_key("IDX"))
            };
            if row.first_block != previous_end {
                return fault(format!(
                    "starts at block {}, but the previous one ends at {previous_end}",
                    row.first_block
                ));
            }
            if row.cylinders.abs().checked_mul(row.repetitions as i64) != Some(row.total_cylinders.abs()) {
                return fault("covers other cylinders than its repetitions".to_owned());
            }
            let (content_blocks, advances) = match row.content {
                RowContent::Track { spt, .. } => (spt, row.cylinders == 1),
                RowContent::Index(child) => (indices.get(child).map_or(0, block_count), row.cylinders > 0),
            };
            if row.blocks != content_blocks || !advances {
                return fault(format!("has {} blocks and {} cylinders each time", row.blocks, row.cylinders));
            }
            previous_end += row.blocks * row.repetitions;
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

/// Reads the sectors per track of each pattern, which has three numbers: the first and last sector in use and the total.
fn read_patterns(block: &ParameterBlock) -> Result<Vec<u64>, Diagnostic> {
    let pattern = |chunk: &[ParameterValue]| {
        let [first, last, spt] = [0, 1, 2].map(|index| as_whole_number(chunk.get(index)));
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

/// Reads the rows of one index.
fn read_rows(block: &ParameterBlock, index: &ParameterValue, patterns: &[u64]) -> Result<Vec<IndexRow>, Diagnostic> {
    let fault = |message: &str| block.at.diagnostic(message).with_key("IDX").with_expected("rows of eleven figures");
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

/// Reads a row. `None` if a figure is out of range.
fn read_row(row: &[ParameterValue], patterns: &[u64]) -> Option<IndexRow> {
    let integer = |index: usize| {
        as_number(row.get(index))
            .filter(|number| number.fract() == 0.0 && number.abs() < 1e9)
            .map(|number| number as i64)
    };
    let angle = |index: usize| as_number(row.get(index)).filter(|n| (0.0..=1.0).contains(n)).map(|n| n % 1.0);
    let blocks = as_whole_number(row.get(3)).filter(|&blocks| blocks > 0)?;
    let total_blocks = as_whole_number(row.get(6))?;
    let content = if row.len() == 11 {
        let spt = *patterns.get(as_whole_number(row.get(9))? as usize)?;
        RowContent::Track { head: as_whole_number(row.get(10)).filter(|&head| head < 64)?, spt }
    } else {
        RowContent::Index(as_whole_number(row.get(9))? as usize)
    };
    Some(IndexRow {
        first_block: as_whole_number(row.first())?,
        first_cylinder: integer(1)?,
        angle: angle(2)?,
        blocks,
        cylinders: integer(4)?,
        rotation: angle(5)?,
        repetitions: if total_blocks % blocks == 0 { total_blocks / blocks } else { return None },
        total_cylinders: integer(7)?,
        content,
    })
}

/// The runs in one repetition of a row. `run_count` is the number of runs so far, which is limited.
fn expand_runs(
    block: &ParameterBlock,
    indices: &[Vec<IndexRow>],
    row: &IndexRow,
    depth: usize,
    run_count: &mut usize,
) -> Result<Vec<IndexRun>, Diagnostic> {
    let fault = |what: String| block.at.diagnostic(what).with_key("IDX");
    match row.content {
        RowContent::Track { head, spt } => {
            let tracks = if row.total_cylinders < 0 { -(row.repetitions as i64) } else { row.repetitions as i64 };
            Ok(vec![IndexRun { head, first_cylinder: 0, tracks, spt, angle: 0.0, skew: row.rotation }])
        }
        RowContent::Index(number) => {
            let index = indices.get(number).ok_or_else(|| fault(format!("there is no index {number}")))?;
            if depth >= DEEPEST_NESTING {
                return Err(fault(format!("indices are nested more than {DEEPEST_NESTING} deep")));
            }
            let mut runs = Vec::new();
            for inner in index {
                let inner_runs = expand_runs(block, indices, inner, depth + 1, run_count)?;
                let repetitions = if matches!(inner.content, RowContent::Track { .. }) { 1 } else { inner.repetitions };
                *run_count += inner_runs.len().saturating_mul(repetitions as usize);
                if *run_count > MOST_RUNS {
                    return Err(fault(format!("it amounts to more than {MOST_RUNS} runs")));
                }
                let cylinder_step = inner.cylinders * inner.total_cylinders.signum();
                for repetition in 0..repetitions {
                    let first_cylinder = inner.first_cylinder + cylinder_step * repetition as i64;
                    let angle = inner.angle + inner.rotation * repetition as f64;
                    runs.extend(inner_runs.iter().map(|run| IndexRun {
                        first_cylinder: first_cylinder + run.first_cylinder,
                        angle: (angle + run.angle) % 1.0,
                        ..*run
                    }));
                }
            }
            Ok(runs)
        }
    }
}

/// A zone as a row of the profile; `previous_end` is the cylinder after the previous zone.
fn format_zone(row: &IndexRow, previous_end: i64, runs: &[IndexRun]) -> String {
    let gap = match row.first_cylinder - previous_end {
        gap if gap > 0 => format!(", gap = {gap}"),
        _ => String::new(),
    };
    let format_run = |run: &IndexRun| {
        let IndexRun { head, first_cylinder, tracks, spt, .. } = run;
        let (angle, skew) = (revolution_fraction(run.angle, 6), revolution_fraction(run.skew, 6));
        format!("[{head}, {first_cylinder}, {tracks}, {spt}, {angle}, {skew}]")
    };
    let (cylinders, band) = match row.content {
        RowContent::Index(_) => (row.total_cylinders.abs(), row.cylinders.abs()),
        RowContent::Track { .. } => (row.total_cylinders.abs(), row.total_cylinders.abs()),
    };
    format!(
        "{{ first = {}, cylinders = {cylinders}{gap}, offset = {}, band = {band}, band_skew = {}, runs = [{}] }}",
        row.first_cylinder,
        revolution_fraction(row.angle, 6),
        revolution_fraction(row.rotation, 6),
        runs.iter().map(format_run).collect::<Vec<_>>().join(", ")
    )
}

/// Reads the slips and makes them sorted, disjoint, and within the existing slots; warns of each change.
fn read_slips(block: &ParameterBlock, slots: u64, writer: &mut ProfileWriter) -> Result<Vec<SlotRun>, Diagnostic> {
    let key = "Slips";
    let position = block.get(key).map_or(&block.at, |entry| &entry.at);
    let pair = |pair: &[ParameterValue]| {
        Some((as_whole_number(pair.first())?, as_whole_number(pair.get(1)).filter(|&length| length > 0)?))
    };
    let pairs: Option<Vec<SlotRun>> = required_list(block, key)?.chunks(2).map(pair).collect();
    let mut pairs = pairs.ok_or_else(|| {
        position.diagnostic("they are not pairs").with_key(key).with_expected("slot, length; whole numbers")
    })?;
    if let Some(unsorted) = pairs.windows(2).find(|two| two[1].0 < two[0].0) {
        let message = format!("{} follows {}; sorted in ascending order", unsorted[1].0, unsorted[0].0);
        writer.warn(position.diagnostic(message).with_key(key));
        pairs.sort_unstable();
    }
    let mut slips: Vec<SlotRun> = Vec::new();
    let (mut overlapping, mut beyond) = (0, 0);
    for (first, length) in pairs {
        let end = (first + length).min(slots);
        beyond += u64::from(end < first + length);
        let free = slips.last().map_or(0, |last| last.0 + last.1).max(first);
        overlapping += u64::from(free > first);
        slips.extend((free < end).then(|| (free, end - free)));
    }
    if overlapping + beyond > 0 {
        let message = format!(
            "{overlapping} meet others, {beyond} lie beyond the last of {slots} slots: each slot is slipped once"
        );
        writer.warn(position.diagnostic(message).with_key(key));
    }
    Ok(slips)
}
