//! Holes (slots without blocks) and the number of blocks, which layouts of both generations write alike.

use seekwise_drives::diagnostic::Diagnostic;

use super::fields::ParameterFields;
use super::syntax::{Errors, ParameterBlock, ParameterValue};
use super::write::ProfileWriter;

/// A hole: first slot, slots, period, and number of repetitions.
pub(super) type SlotHole = [u64; 4];

/// More cylinders than any drive has.
pub(super) const MOST_CYLINDERS: u64 = 10_000_000;

/// Writes the number of blocks: as many as the layout holds, regardless of the stated count.
pub(super) fn write_sectors(
    model: &ParameterFields<'_>,
    slots: u64,
    holes: &[SlotHole],
    text: &mut ProfileWriter,
) -> Result<(), Errors> {
    let key = "Block count";
    let claims = match model.block.get(key) {
        Some(_) => Some(model.whole_number(key, 0, 1 << 40)?),
        None => None,
    };
    let holds = slots - holes.iter().map(|hole| hole[1] * (hole[3] + 1)).sum::<u64>();
    if claims == Some(holds) && holds > 0 {
        text.write_given("sectors", holds, model.position(key), key);
        return Ok(());
    }
    let (at, layout) = (model.position("Layout Model"), "Layout Model");
    if holds == 0 {
        return Err(vec![at.diagnostic("its zones hold no blocks besides spares and slips").with_key(layout)]);
    }
    let claims = claims.map_or("an unknown number of".to_owned(), |claims| claims.to_string());
    let message = format!("{claims} blocks, but the zones hold {holds} without spares and slips; using {holds}");
    text.warn(model.position(key).diagnostic(message).with_key(key));
    text.write_given(
        "sectors",
        holds,
        at,
        &format!("what its zones, spares and slips leave; its {key} says {claims} blocks"),
    );
    Ok(())
}

/// A hole in the form of the profile.
pub(super) fn format_hole(hole: &SlotHole) -> String {
    match hole {
        [first, slots, _, 0] => format!("[{first}, {slots}]"),
        [first, slots, period, times] => format!("[{first}, {slots}, {period}, {times}]"),
    }
}

/// Merges identical, equally spaced holes into one with a count.
pub(super) fn merge_holes(holes: &[(u64, u64)]) -> Vec<SlotHole> {
    let mut found: Vec<SlotHole> = Vec::new();
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
    // A pair is easier to read when written out.
    found
        .iter()
        .flat_map(|hole| if hole[3] == 1 { vec![nth_hole(hole, 0), nth_hole(hole, 1)] } else { vec![*hole] })
        .collect()
}

fn nth_hole(hole: &SlotHole, time: u64) -> SlotHole {
    [hole[0] + time * hole[2], hole[1], 0, 0]
}

/// A required list of a block.
pub(super) fn required_list<'a>(block: &'a ParameterBlock, key: &str) -> Result<&'a [ParameterValue], Diagnostic> {
    match block.get(key).map(|entry| &entry.value) {
        Some(ParameterValue::List(values)) => Ok(values),
        _ => Err(block.at.diagnostic("lacks a list").with_key(key)),
    }
}
