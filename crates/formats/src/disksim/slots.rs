//! Holes and the number of blocks, which both generations of layouts write alike. A slot is room for one sector on a track,
//! numbered in block order; a hole is a run of slots without blocks.

use seekwise_drives::diagnostic::Diagnostic;

use super::fields::ParameterFields;
use super::syntax::{Errors, ParameterBlock, ParameterValue};
use super::write::ProfileWriter;

/// A hole that repeats: first slot, slots, period, and number of repetitions after the first.
pub(super) type SlotHole = [u64; 4];

/// The first of some consecutive slots, and their number.
pub(super) type SlotRun = (u64, u64);

/// More cylinders than any drive has.
pub(super) const MOST_CYLINDERS: u64 = 10_000_000;

/// Writes the number of blocks: as many as the layout holds, regardless of the stated count.
pub(super) fn write_sectors(
    model: &ParameterFields<'_>,
    slots: u64,
    holes: &[SlotHole],
    writer: &mut ProfileWriter,
) -> Result<(), Errors> {
    let key = "Block count";
    let stated = match model.block.get(key) {
        Some(_) => Some(model.whole_number(key, 0, 1 << 40)?),
        None => None,
    };
    let held = slots - holes.iter().map(|hole| hole[1] * (hole[3] + 1)).sum::<u64>();
    if stated == Some(held) && held > 0 {
        writer.write_given("sectors", held, model.position(key), key);
        return Ok(());
    }
    let (position, layout) = (model.position("Layout Model"), "Layout Model");
    if held == 0 {
        return Err(vec![position.diagnostic("its zones hold no blocks besides spares and slips").with_key(layout)]);
    }
    let stated = stated.map_or("an unknown number of".to_owned(), |stated| stated.to_string());
    let message = format!("{stated} blocks, but the zones hold {held} without spares and slips; using {held}");
    writer.warn(model.position(key).diagnostic(message).with_key(key));
    writer.write_given(
        "sectors",
        held,
        position,
        &format!("what its zones, spares and slips leave; its {key} says {stated} blocks"),
    );
    Ok(())
}

/// A hole in the form of the profile.
pub(super) fn format_hole(hole: &SlotHole) -> String {
    match hole {
        [first, slots, _, 0] => format!("[{first}, {slots}]"),
        [first, slots, period, repetitions] => format!("[{first}, {slots}, {period}, {repetitions}]"),
    }
}

/// Merges identical, equally spaced holes into one with a count.
pub(super) fn merge_holes(holes: &[SlotRun]) -> Vec<SlotHole> {
    let mut merged: Vec<SlotHole> = Vec::new();
    for &(first, length) in holes {
        if let Some(last) = merged.last_mut() {
            let last_first = last[0] + last[2] * last[3];
            let step = first - last_first;
            if last[1] == length && (last[3] == 0 || last[2] == step) {
                (last[2], last[3]) = (step, last[3] + 1);
                continue;
            }
        }
        merged.push([first, length, 0, 0]);
    }
    // A pair is easier to read when written out.
    merged
        .iter()
        .flat_map(|hole| if hole[3] == 1 { vec![nth_hole(hole, 0), nth_hole(hole, 1)] } else { vec![*hole] })
        .collect()
}

/// A single repetition of a hole, counted from 0, as a hole without repetitions.
fn nth_hole(hole: &SlotHole, repetition: u64) -> SlotHole {
    [hole[0] + repetition * hole[2], hole[1], 0, 0]
}

/// A required list of a block.
pub(super) fn required_list<'a>(block: &'a ParameterBlock, key: &str) -> Result<&'a [ParameterValue], Diagnostic> {
    match block.get(key).map(|entry| &entry.value) {
        Some(ParameterValue::List(values)) => Ok(values),
        _ => Err(block.at.diagnostic("lacks a list").with_key(key)),
    }
}
