//! The findings of the source studies as one list, and what must run to judge one: the cells that its expressions name,
//! unchanged, without the claim's mechanism, or with a planted difference. Also what such a run adds: whether it
//! repeats what the study runs anyway, and whether two claims rest on one rule.
//!
//! The laboratory computes the figures ([`seekwise_lab::evaluate`]); nothing is run here.

use std::collections::BTreeSet;

use seekwise_drives::dotted::{flatten, plain_text};
use seekwise_formats::study::{CellChange, Claim, Study};
use seekwise_lab::evaluate::needed_cells;
use seekwise_lab::finding::Evidence;
use seekwise_lab::plan::{Cell, PreparedCell, study_cells};
use seekwise_lab::provenance::CellProvenance;
use seekwise_lab::run::RunRecord;
use serde::Deserialize;

/// A finding of a source study. The finding and its condition together are judged.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct CatalogueClaim {
    /// The number in the list of findings.
    pub id: String,
    /// The letter of its class.
    pub class: String,
    /// The source's statement.
    pub finding: String,
    /// The condition under which it counts as reproduced.
    pub condition: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimList {
    claim: Vec<CatalogueClaim>,
}

/// All findings, in the order of the sources.
pub fn catalogue_claims() -> Vec<CatalogueClaim> {
    let list: ClaimList = toml::from_str(include_str!("../claims.toml")).expect("the list is well formed");
    list.claim
}

/// The cells of `study` that `claim` checks, with a change: without its mechanism, or with a planted difference.
pub(crate) fn changed_cells(study: &Study, cells: &[Cell], claim: &Claim, change: &CellChange) -> Vec<Cell> {
    let with = |cell: &Cell| {
        let level = |name: &str| study.factor.iter().position(|factor| factor.name == name).map(|at| &cell.levels[at]);
        let mut chosen = change.cells.iter();
        let here = chosen.all(|(factor, wanted)| level(factor) == Some(&plain_text(wanted)));
        let mut cell = cell.clone();
        if here {
            cell.settings.extend(flatten(&change.set));
        }
        cell
    };
    needed_cells(study, cells, claim).into_iter().map(|place| with(&cells[place])).collect()
}

/// The levels at which the study itself runs what `without`, the cells of a claim without its mechanism, ran. The
/// switch is then another level of one of the study's factors, and adds nothing to its comparison. Empty if a cell that
/// the switch changes equals none of those.
///
/// Cells are compared by their results, run by run and figure by figure: settings may differ in name and do the same.
pub(crate) fn repeated_levels(evidence: &Evidence<'_>, without: &Evidence<'_>) -> Vec<String> {
    let cells: Vec<&Cell> = evidence.made.cells.iter().map(|made| &made.cell).collect();
    let own: Vec<Vec<String>> = (0..cells.len()).map(|cell| run_results(evidence.cell_runs(cell))).collect();
    let mut levels: Vec<String> = Vec::new();
    for (place, CellProvenance { cell, .. }) in without.made.cells.iter().enumerate() {
        let runs = run_results(without.cell_runs(place));
        let original = cells.iter().position(|other| other.levels == cell.levels);
        if original.is_some_and(|original| own[original] == runs) {
            continue;
        }
        let alike = (0..cells.len()).filter(|&other| !runs.is_empty() && own[other] == runs);
        let named: Vec<String> = alike.filter_map(|other| other_level(evidence.study, cell, cells[other])).collect();
        if named.is_empty() {
            return Vec::new();
        }
        levels.extend(named);
    }
    let mut seen = BTreeSet::new();
    levels.retain(|level| seen.insert(level.clone()));
    levels
}

/// The only factor in which two cells differ, with its level in `other`; `None` if there are more.
fn other_level(study: &Study, cell: &Cell, other: &Cell) -> Option<String> {
    let pairs = study.factor.iter().zip(&other.levels).zip(&cell.levels);
    let mut differ = pairs.filter(|((_, level), before)| level != before).map(|(named, _)| named);
    let (factor, level) = differ.next()?;
    differ.next().is_none().then(|| format!("{} {level}", factor.name))
}

/// The results of each run, without names and warnings.
fn run_results(runs: &[&RunRecord]) -> Vec<String> {
    let bare = |run: &&RunRecord| {
        let mut run = RunRecord::clone(run);
        (run.cell, run.cell_hash, run.target, run.warnings) = Default::default();
        serde_json::to_string(&run).expect("a record has no keys but strings")
    };
    runs.iter().map(bare).collect()
}

/// The cells of `study` that `claim` checks.
pub(crate) fn checked_cells(study: &Study, claim: &Claim) -> Vec<Cell> {
    let cells = study_cells(study);
    needed_cells(study, &cells, claim).into_iter().map(|place| cells[place].clone()).collect()
}

/// The settings of cells below a key: an entry for each combination, so one if all have the same.
pub(crate) fn settings_below(cells: &[PreparedCell], key: &str) -> Vec<String> {
    let below = |cell: &PreparedCell| {
        let settings = cell.settings.iter();
        let here = settings.filter(|setting| setting.key.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')));
        here.map(|setting| format!("{} = {}", setting.key, setting.value)).collect::<Vec<_>>().join(", ")
    };
    let mut ways: Vec<String> = cells.iter().map(below).collect();
    ways.sort();
    ways.dedup();
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eighty_two_findings_each_with_its_class() {
        let known = catalogue_claims();
        assert_eq!(known.len(), 82);
        for (place, CatalogueClaim { id, class, finding, condition }) in known.iter().enumerate() {
            assert!("MNSIJ".contains(class.as_str()) && class.len() == 1, "{id}");
            assert!(!finding.is_empty() && !condition.is_empty(), "{id}");
            assert!(known[..place].iter().all(|other| other.id != *id), "{id} stands there twice");
        }
    }

    const STUDY: &str = "title = 't'\nquestion = 'q'\nruns = 2\njob = 'random-read'\n[[factor]]\nname = 'mode'\n\
        key = 'drive.cache.write_back'\nlevels = [true, false]\n[[factor]]\nname = 'depth'\nkey = 'job.depth'\n\
        levels = [1, 2, 8]\n";

    fn claim(more: &str) -> Claim {
        let head = "id = 'T1'\nclass = 'N'\nfinding = 'f'\ncondition = 'c'\nmechanism = 'm'\n";
        toml::from_str(&format!("{head}{more}")).unwrap_or_else(|fault| panic!("{more}: {fault}"))
    }

    /// A planted difference changes the cells that it names, of those that the claim checks, and no others.
    #[test]
    fn a_change_is_made_in_the_cells_that_it_names() {
        let study = seekwise_formats::study::parse("s.toml", STUDY).unwrap();
        let cells = study_cells(&study);
        let changed = |more: &str| -> Vec<(String, usize)> {
            let claim = claim(&format!(
                "check = ['iops[mode=true, depth=8] > iops[mode=true, depth=1]', 'iops[mode=false, depth=8] > 1']\n{more}"
            ));
            let change = claim.plant.clone().unwrap();
            let found = changed_cells(&study, &cells, &claim, &change);
            found.iter().map(|cell| (cell.levels.join(" "), cell.settings.len() - cells[0].settings.len())).collect()
        };
        let of = |settings: [usize; 3]| {
            ["true 1", "true 8", "false 8"].into_iter().map(str::to_owned).zip(settings).collect::<Vec<_>>()
        };
        assert_eq!(changed("plant = { 'drive.firmware.depth' = 1 }"), of([1, 1, 1]), "everywhere");
        assert_eq!(changed("plant = { 'drive.firmware.depth' = 1, in = { depth = 8 } }"), of([0, 1, 1]));
        assert_eq!(changed("plant = { 'drive.firmware.depth' = 1, in = { depth = 8, mode = true } }"), of([0, 1, 0]));
        assert_eq!(
            changed("plant = { 'drive.firmware.depth' = 1, 'job.size' = '8k', in = { depth = 2 } }"),
            of([0, 0, 0])
        );
    }

    #[test]
    fn another_level_is_that_of_the_only_factor_that_differs() {
        let study = seekwise_formats::study::parse("s.toml", STUDY).unwrap();
        let cells = study_cells(&study);
        let level = |from: usize, to: usize| other_level(&study, &cells[from], &cells[to]);
        assert_eq!([level(0, 2), level(0, 3)], [Some("depth 8".to_owned()), Some("mode false".to_owned())]);
        assert_eq!([level(0, 0), level(0, 5)], [None, None]);
    }
}
