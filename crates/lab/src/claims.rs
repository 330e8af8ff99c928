//! The findings of the source studies as one list, and what must run to judge one: the cells that its expressions
//! name, as they stand, without the claim's mechanism, or with a planted difference.
//!
//! Which studies carry which claims, the command line says; what a figure comes to, `evaluate`.

use seekwise_formats::study::{Change, Claim, Study, flatten, plain};
use serde::Deserialize;

use crate::evaluate::needed;
use crate::plan::Cell;

/// A finding of a source study. It and its condition together are what is asked.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Its number.
    pub id: String,
    /// The letter of its class.
    pub class: String,
    /// What the source found.
    pub finding: String,
    /// Under which condition it counts as reproduced.
    pub condition: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    claim: Vec<Known>,
}

/// All findings, in the order of the sources.
pub fn known() -> Vec<Known> {
    let list: List = toml::from_str(include_str!("../../../studies/claims.toml")).expect("the list is well formed");
    list.claim
}

/// The cells of `study` that `claim` checks, with a change: without its mechanism, or with a planted difference.
pub fn changed(study: &Study, cells: &[Cell], claim: &Claim, change: &Change) -> Vec<Cell> {
    let with = |cell: &Cell| {
        let level = |name: &str| study.factor.iter().position(|factor| factor.name == name).map(|at| &cell.levels[at]);
        let mut chosen = change.cells.iter();
        let here = chosen.all(|(factor, wanted)| level(factor) == Some(&plain(wanted)));
        let mut cell = cell.clone();
        if here {
            cell.settings.extend(flatten(&change.set));
        }
        cell
    };
    needed(study, cells, claim.check.iter()).into_iter().map(|place| with(&cells[place])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eighty_two_findings_each_with_its_class() {
        let known = known();
        assert_eq!(known.len(), 82);
        for (place, Known { id, class, finding, condition }) in known.iter().enumerate() {
            assert!("MNSIJ".contains(class.as_str()) && class.len() == 1, "{id}");
            assert!(!finding.is_empty() && !condition.is_empty(), "{id}");
            assert!(known[..place].iter().all(|other| other.id != *id), "{id} stands there twice");
        }
    }
}
