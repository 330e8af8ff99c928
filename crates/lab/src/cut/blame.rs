//! The levels of a stack that broke the promises that cuts found broken. Each level lists the kinds of promises that its settings break
//! ([`Stack::promise_breakers`]); this room decides which kinds were found broken.

use std::collections::BTreeSet;

use seekwise_disk::block::assurance::Assurance;
use seekwise_disk::durability::loss::{CutLoss, WriteClass};
use seekwise_disk::stack::Stack;
use seekwise_disk::stack::breakers::PromiseBreaker;
use serde::Serialize;

/// A level that broke a promise, and the setting.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct BlamedLevel {
    /// The name in keys: `drive`, or a layer's.
    pub level: String,
    /// The setting, a dotted key.
    pub setting: String,
    pub value: String,
}

/// The levels of `stack` that broke the promises that these cuts found broken, the highest first; empty if no promise was broken.
/// `orderly`: the cuts are orderly power-offs.
pub(crate) fn blame_levels(stack: &Stack, cuts: &[CutLoss], orderly: bool) -> Vec<BlamedLevel> {
    let broken = broken_assurances(cuts, orderly);
    let mut blamed: Vec<BlamedLevel> = Vec::new();
    for PromiseBreaker { level, setting, value, breaks } in stack.promise_breakers() {
        let breaker = BlamedLevel { level, setting, value };
        if broken.contains(&breaks) && !blamed.contains(&breaker) {
            blamed.push(breaker);
        }
    }
    blamed
}

/// The kinds of promises that were broken.
fn broken_assurances(cuts: &[CutLoss], orderly: bool) -> BTreeSet<Assurance> {
    let mut broken = BTreeSet::new();
    for cut in cuts {
        let [flushed, forced, promised] = [WriteClass::Flushed, WriteClass::Forced, WriteClass::Promised]
            .map(|class| cut.lost[class as usize].writes);
        let found_broken = [
            (flushed > 0 && !orderly, Assurance::Flush),
            (forced > 0 && !orderly, Assurance::Fua),
            // Lost writes beyond the larger class were promised with the cache off, or are of the smaller class.
            (promised > flushed.max(forced) && !orderly, Assurance::CacheOff),
            (promised > 0 && orderly, Assurance::PowerOff),
            // Promised data are lost while a row's parity does not belong to its data.
            (promised > 0 && cut.holes.rows > 0, Assurance::Rows),
        ];
        broken.extend(found_broken.into_iter().filter(|(is_broken, _)| *is_broken).map(|(_, kind)| kind));
    }
    broken
}

/// The levels by name, each once: `the accelerator and the drive`.
pub fn list_levels(blamed: &[BlamedLevel]) -> String {
    let mut names: Vec<String> = Vec::new();
    for BlamedLevel { level, .. } in blamed {
        let name = format!("the {level}");
        if !names.contains(&name) {
            names.push(name);
        }
    }
    join_with_and(&names)
}

/// The settings, each once: `accelerator.flush = drop`.
pub fn list_settings(blamed: &[BlamedLevel]) -> String {
    join_with_and(&blamed.iter().map(|level| format!("{} = {}", level.setting, level.value)).collect::<Vec<_>>())
}

fn join_with_and(parts: &[String]) -> String {
    match parts {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        parts => parts.concat(),
    }
}
