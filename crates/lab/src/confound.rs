//! Confounding: the concerns to which a difference may be credited. Two sides of a comparison differ in settings, of the stack and of the
//! job; each setting belongs to a concern (the flush policy, the command queue, the depth, …). A headline that credits one concern with the
//! effect of another is refused, by name.
//!
//! - A comparison with a `credit` must name each concern in which its sides differ, and no other. `drive` stands for what comes with another
//!   drive (`COMES_WITH_DRIVE`).
//! - A comparison without one is credited to its factor: a bundle to all that it sets, a key to all keys below it. The name of a layer
//!   (`driver`) stands for the whole layer, a variable of a job for all that it changes in the job.
//! - Another job (the key `job`), or a variable that turns reads into writes, a stream into random places, or changes sizes, is other work.
//!   Two kinds of work are not compared, unless `credit` names everything in which they differ.
//! - The default order of the layers follows from which layers a stack has; only an order that was asked for is judged.
//! - A job that takes a share of its drive is laid out differently on a larger one. The drive or the array causes that, and is judged itself.
//!
//! Whether a difference has an effect is not decided here.

use std::collections::{BTreeMap, BTreeSet};

use seekwise_drives::concern::Concern::{self, *};
use seekwise_drives::concern::credit_title;
use seekwise_drives::dotted::flatten;
use seekwise_drives::figure::FigureOrigin;
use seekwise_drives::key_names::{is_below, job, job_variable, real};
use seekwise_drives::stack::{ORDER_SETTING, Setting};
use seekwise_formats::keys::{concern_of, may_change};
use seekwise_formats::study::{ComparisonSpec, Factor};

use crate::provenance::{StudyProvenance, differing_keys};

/// Concerns that come with another drive. The queue, the write cache and the interface are named separately, because
/// results are most often wrongly credited to them.
const COMES_WITH_DRIVE: [Concern; 7] = [Segments, ReadAhead, MediaCache, Mechanics, Media, Firmware, Faults];

/// A side of a comparison.
pub(crate) struct ComparisonSide<'a> {
    settings: Vec<&'a Setting>,
    /// The job and its variables as the cell has them, before the job was laid out.
    job: BTreeMap<&'a str, &'a str>,
}

impl<'a> ComparisonSide<'a> {
    /// The side of a study's cell.
    pub(crate) fn from_cell(made: &'a StudyProvenance, cell: usize) -> ComparisonSide<'a> {
        let cell_settings = made.cells.get(cell).into_iter().flat_map(|made| &made.cell.settings);
        let job = cell_settings.filter(|(key, _)| key == "job" || job_variable(key).is_some());
        let job = job.map(|(key, value)| (key.as_str(), value.as_str()));
        ComparisonSide { settings: made.cell_settings(cell).collect(), job: job.collect() }
    }
}

/// The dotted keys that a factor sets on one of two of its levels.
fn factor_keys(factor: &Factor, levels: [&str; 2]) -> Vec<String> {
    match &factor.key {
        Some(key) => vec![key.clone()],
        None => {
            let bundles = factor.bundle.iter().filter(|bundle| levels.contains(&bundle.name.as_str()));
            bundles.flat_map(|bundle| flatten(&bundle.set)).map(|(key, _)| key).collect()
        }
    }
}

/// The keys in which two sides differ and that have a concern, each with it.
fn differing_settings(sides: &[ComparisonSide<'_>; 2]) -> Vec<(String, Concern)> {
    let [from, to] = sides;
    let mut keys = differing_keys(from.settings.iter().copied(), to.settings.iter().copied());
    let laid_out_alike = from.job == to.job;
    let is_asked_order = |setting: &&Setting| setting.key == ORDER_SETTING && setting.kind == FigureOrigin::Set;
    let asks_for_order = sides.iter().any(|side| side.settings.iter().any(is_asked_order));
    keys.retain(|key| key.contains('.'));
    keys.retain(|key| key != ORDER_SETTING || asks_for_order);
    keys.retain(|key| !(laid_out_alike && is_below(key, "job.place")));
    keys.into_iter().filter_map(|key| concern_of(&key).map(|concern| (key, concern))).collect()
}

/// The concerns in which two cells differ.
pub fn differing_concerns(made: &StudyProvenance, from: usize, to: usize) -> Vec<Concern> {
    let differ = differing_settings(&[from, to].map(|cell| ComparisonSide::from_cell(made, cell)));
    differ.into_iter().map(|(_, concern)| concern).collect::<BTreeSet<Concern>>().into_iter().collect()
}

/// True if the sides have drives of different names.
fn have_different_drives(sides: &[ComparisonSide<'_>; 2]) -> bool {
    let name = |side: &ComparisonSide<'_>| {
        side.settings.iter().find(|setting| setting.key == "drive").map(|s| s.value.clone())
    };
    name(&sides[0]) != name(&sides[1])
}

/// The credit of a comparison, for a reader: the concerns that it names or in which a bundle differs, else the factor's name.
pub(crate) fn credit_text(compare: &ComparisonSpec, factor: &Factor, sides: &[ComparisonSide<'_>; 2]) -> String {
    match credited_concerns(compare, factor, sides) {
        concerns if concerns.is_empty() => compare.factor.clone(),
        concerns => credit_title(&concerns),
    }
}

/// The titles of the concerns in which the sides of a comparison differ at once, if there are several: it cannot tell what each does by
/// itself.
pub(crate) fn joint_concerns(
    compare: &ComparisonSpec,
    factor: &Factor,
    sides: &[ComparisonSide<'_>; 2],
) -> Vec<&'static str> {
    let concerns = credited_concerns(compare, factor, sides);
    if concerns.len() < 2 { Vec::new() } else { concerns.into_iter().map(Concern::title).collect() }
}

/// The concerns that a comparison credits; none if its factor has a key.
fn credited_concerns(compare: &ComparisonSpec, factor: &Factor, sides: &[ComparisonSide<'_>; 2]) -> Vec<Concern> {
    match (&compare.credit, &factor.key) {
        (Some(concerns), _) => concerns.clone(),
        (None, Some(_)) => Vec::new(),
        (None, None) => {
            let concerns: BTreeSet<Concern> =
                differing_settings(sides).into_iter().map(|(_, concern)| concern).collect();
            concerns.into_iter().collect()
        }
    }
}

/// Why `compare` between these sides may not be credited as it is; `None` if it may.
pub(crate) fn refusal_reason(
    compare: &ComparisonSpec,
    factor: &Factor,
    sides: &[ComparisonSide<'_>; 2],
) -> Option<String> {
    let differ = differing_settings(sides);
    let keys = factor_keys(factor, [&compare.from, &compare.to]);
    let other_drive = have_different_drives(sides);
    let is_covered = |key: &str, concern: Concern| match &compare.credit {
        Some(credit) => {
            credit.contains(&concern) || other_drive && credit.contains(&Drive) && COMES_WITH_DRIVE.contains(&concern)
        }
        // A variable stands for all that it changes in a job; if it makes other work, it is another job.
        None => keys.iter().any(|named| {
            let other_work = job_variable(named).is_some() && matches!(concern, Pattern | Size);
            may_change(named, key) && !other_work
        }),
    };
    let mut uncredited: BTreeMap<Concern, Vec<&str>> = BTreeMap::new();
    for (key, concern) in differ.iter().filter(|(key, concern)| !is_covered(key, *concern)) {
        uncredited.entry(*concern).or_default().push(key);
    }
    let is_equal = |concern: &&Concern| match concern {
        Drive => !other_drive,
        concern => !differ.iter().any(|(_, other)| other == *concern),
    };
    let without_difference: Vec<Concern> = compare.credit.iter().flatten().filter(is_equal).copied().collect();
    let credit = credit_text(compare, factor, sides);
    let uncredited_words = |work: bool| {
        let concerns = uncredited.iter().filter(|(concern, _)| concern.is_work() == work);
        concerns.map(|(concern, keys)| concern_with_keys(*concern, keys)).collect::<Vec<_>>().join(", ")
    };
    match (uncredited_words(true), uncredited_words(false)) {
        (work, _) if !work.is_empty() => {
            let concerns: BTreeSet<Concern> = differ.iter().map(|(_, concern)| *concern).collect();
            let concerns: Vec<&str> = concerns.into_iter().map(Concern::word).collect();
            let of_engine =
                keys.iter().any(|key| key == real::ENGINE) && work == concern_with_keys(Concern::Depth, &[job::DEPTH]);
            let why = match compare.credit {
                None if of_engine => {
                    ": calls one after another have one request outstanding; expected `--set job.depth=1`, which gives both \
                     sides one, or more workers (numjobs) of that depth"
                        .to_owned()
                }
                Some(_) => format!(", and it credits {credit}"),
                None => format!("; a study that compares work says so: credit = {concerns:?}"),
            };
            Some(format!("the sides do different work: they differ in {work}{why}"))
        }
        (_, stack) if !stack.is_empty() => Some(format!("it credits {credit}, but the sides differ in {stack} too")),
        _ if without_difference.is_empty() => None,
        _ => Some(format!("it credits {credit}, but the sides do not differ in {}", join_titles(&without_difference))),
    }
}

fn join_titles(concerns: &[Concern]) -> String {
    concerns.iter().map(|concern| concern.title()).collect::<Vec<_>>().join(", ")
}

fn concern_with_keys(concern: Concern, keys: &[&str]) -> String {
    let title = concern.title();
    match keys {
        [] => title.to_owned(),
        [key] => format!("{title} ({key})"),
        [first, rest @ ..] => format!("{title} ({first} and {} more)", rest.len()),
    }
}

#[cfg(test)]
mod tests;
