//! Slots without blocks, and the number of blocks: what the layouts of both generations write in the same way.

use super::fields::Fields;
use super::syntax::{Block, Errors, Value};
use super::write::Text;
use crate::diagnostic::Diagnostic;

/// A hole: first slot, slots, period, and number of repetitions.
pub(super) type Hole = [u64; 4];

/// More cylinders than any drive has.
pub(super) const MOST_CYLINDERS: u64 = 10_000_000;

/// Writes the number of blocks: as many as the layout holds, regardless of the stated count.
pub(super) fn sectors(model: &Fields<'_>, slots: u64, holes: &[Hole], text: &mut Text) -> Result<(), Errors> {
    let key = "Block count";
    let claims = match model.block.get(key) {
        Some(_) => Some(model.whole(key, 0, 1 << 40)?),
        None => None,
    };
    let holds = slots - holes.iter().map(|hole| hole[1] * (hole[3] + 1)).sum::<u64>();
    if claims == Some(holds) && holds > 0 {
        text.given("sectors", holds, model.at(key), key);
        return Ok(());
    }
    let (at, layout) = (model.at("Layout Model"), "Layout Model");
    if holds == 0 {
        return Err(vec![at.says("its zones hold no blocks besides spares and slips").key(layout)]);
    }
    let claims = claims.map_or("an unknown number of".to_owned(), |claims| claims.to_string());
    let message = format!("{claims} blocks, but the zones hold {holds} without spares and slips; using {holds}");
    text.warn(model.at(key).says(message).key(key));
    text.given(
        "sectors",
        holds,
        at,
        &format!("what its zones, spares and slips leave; its {key} says {claims} blocks"),
    );
    Ok(())
}

/// A hole in the form of the profile.
pub(super) fn written(hole: &Hole) -> String {
    match hole {
        [first, slots, _, 0] => format!("[{first}, {slots}]"),
        [first, slots, period, times] => format!("[{first}, {slots}, {period}, {times}]"),
    }
}

/// Merges identical, equally spaced holes into one with a count.
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
    // A pair is easier to read when written out.
    found
        .iter()
        .flat_map(|hole| if hole[3] == 1 { vec![single(hole, 0), single(hole, 1)] } else { vec![*hole] })
        .collect()
}

fn single(hole: &Hole, time: u64) -> Hole {
    [hole[0] + time * hole[2], hole[1], 0, 0]
}

/// A required list of a block.
pub(super) fn list<'a>(block: &'a Block, key: &str) -> Result<&'a [Value], Diagnostic> {
    match block.get(key).map(|entry| &entry.value) {
        Some(Value::List(values)) => Ok(values),
        _ => Err(block.at.says("lacks a list").key(key)),
    }
}
