//! The catalogue of findings of published studies (`claims.toml`), and the cells that must run to judge one: those that its
//! expressions name, unchanged or with a change (its mechanism switched off, or a planted difference). Further, whether changed
//! cells give the results of cells that the study has anyway, and whether the cells of two claims have equal settings.
//!
//! Nothing is run here; the figures are computed by [`seekwise_lab::evaluate`].

use std::collections::BTreeSet;

use seekwise_drives::dotted::{flatten, plain_text};
use seekwise_drives::stack::Setting;
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

/// The cells of `study` that `claim` checks, with a change: without its mechanism, or with a planted difference. A change may
/// concern cells with some levels only; the others are returned as they are.
pub(crate) fn changed_cells(study: &Study, cells: &[Cell], claim: &Claim, change: &CellChange) -> Vec<Cell> {
    let changed = |index: usize| {
        let mut cell = cells[index].clone();
        let level_of = |factor: &str| {
            let position = study.factor.iter().position(|known| known.name == factor)?;
            Some(&cell.levels[position])
        };
        if change.cells.iter().all(|(factor, wanted)| level_of(factor) == Some(&plain_text(wanted))) {
            cell.settings.extend(flatten(&change.set));
        }
        cell
    };
    needed_cells(study, cells, claim).into_iter().map(changed).collect()
}

/// The levels at which the study itself has the results that the ablated cells have. The mechanism's switch is then another
/// level of one of the study's factors, and adds nothing to its comparison. Empty if an ablated cell that the switch changes
/// has the results of no cell of the study.
///
/// Cells are compared by their results, run by run and figure by figure: settings may differ in name and do the same.
pub(crate) fn levels_repeated_by_ablation(study_evidence: &Evidence<'_>, ablated: &Evidence<'_>) -> Vec<String> {
    let cells: Vec<&Cell> = study_evidence.made.cells.iter().map(|made| &made.cell).collect();
    let study_results: Vec<Vec<String>> =
        (0..cells.len()).map(|index| comparable_results(study_evidence.cell_runs(index))).collect();
    let mut repeated: Vec<String> = Vec::new();
    for (index, CellProvenance { cell, .. }) in ablated.made.cells.iter().enumerate() {
        let results = comparable_results(ablated.cell_runs(index));
        let original = cells.iter().position(|other| other.levels == cell.levels);
        if original.is_some_and(|original| study_results[original] == results) {
            continue;
        }
        let equal = (0..cells.len()).filter(|&other| !results.is_empty() && study_results[other] == results);
        let levels = equal.filter_map(|other| only_differing_level(study_evidence.study, cell, cells[other]));
        let levels: Vec<String> = levels.collect();
        if levels.is_empty() {
            return Vec::new();
        }
        repeated.extend(levels);
    }
    let mut seen = BTreeSet::new();
    repeated.retain(|level| seen.insert(level.clone()));
    repeated
}

/// The factor in which two cells differ, with its level in `other`; `None` if they differ in none or in several.
fn only_differing_level(study: &Study, cell: &Cell, other: &Cell) -> Option<String> {
    let factors = study.factor.iter().zip(&cell.levels).zip(&other.levels);
    let mut differing = factors.filter(|((_, level), other_level)| level != other_level);
    let ((factor, _), other_level) = differing.next()?;
    differing.next().is_none().then(|| format!("{} {other_level}", factor.name))
}

/// The results of each run as JSON, without the names of cell and target and without warnings.
fn comparable_results(runs: &[&RunRecord]) -> Vec<String> {
    let results_of = |run: &&RunRecord| {
        let mut run = RunRecord::clone(run);
        (run.cell, run.cell_hash, run.target, run.warnings) = Default::default();
        serde_json::to_string(&run).expect("a record has no keys but strings")
    };
    runs.iter().map(results_of).collect()
}

/// The cells of `study` that `claim` checks.
pub(crate) fn checked_cells(study: &Study, claim: &Claim) -> Vec<Cell> {
    let cells = study_cells(study);
    needed_cells(study, &cells, claim).into_iter().map(|index| cells[index].clone()).collect()
}

/// The different combinations of settings that cells have below a key; a single entry if all cells have the same ones.
pub(crate) fn distinct_settings_below(cells: &[PreparedCell], key: &str) -> Vec<String> {
    let is_below = |setting: &Setting| setting.key.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'));
    let settings_of = |cell: &PreparedCell| {
        let below = cell.settings.iter().filter(|setting| is_below(setting));
        below.map(|setting| format!("{} = {}", setting.key, setting.value)).collect::<Vec<_>>().join(", ")
    };
    let mut combinations: Vec<String> = cells.iter().map(settings_of).collect();
    combinations.sort();
    combinations.dedup();
    combinations
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
        let level = |from: usize, to: usize| only_differing_level(&study, &cells[from], &cells[to]);
        assert_eq!([level(0, 2), level(0, 3)], [Some("depth 8".to_owned()), Some("mode false".to_owned())]);
        assert_eq!([level(0, 0), level(0, 5)], [None, None]);
    }
}
