//! The findings of the source studies as one list, and what must run to judge one: the cells that its expressions
//! name, as they stand, without the claim's mechanism, or with a planted difference.
//!
//! Which studies carry which claims, the command line says; what a figure comes to, `evaluate`.

use seekwise_formats::study::{Claim, Study, flatten, plain};
use serde::Deserialize;

use crate::evaluate::needed;
use crate::plan::Cell;

/// A finding of a source study.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Known(
    /// Its number.
    pub String,
    /// The letter of its class.
    pub String,
    /// Under which condition it counts as reproduced.
    pub String,
);

#[derive(Deserialize)]
struct List {
    claims: Vec<Known>,
}

/// All findings, in the order of the sources.
pub fn known() -> Vec<Known> {
    let list: List = toml::from_str(include_str!("../../../studies/claims.toml")).expect("the list is well formed");
    list.claims
}

/// What is changed in the cells of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Dotted keys and values, over all that the study sets.
    pub set: Vec<(String, String)>,
    /// The cells it is made in, by factor and level; none are all.
    pub only: Vec<(String, String)>,
}

impl Change {
    /// The claim without its mechanism; nothing when it names no setting.
    pub fn ablation(claim: &Claim) -> Option<Change> {
        let set = flatten(&claim.ablate);
        (!set.is_empty()).then(|| Change { set, only: Vec::new() })
    }

    /// The claim with its planted difference.
    pub fn planted(claim: &Claim) -> Option<Change> {
        let plant = claim.plant.as_ref()?;
        let only = plant.cells.iter().map(|(factor, level)| (factor.clone(), plain(level))).collect();
        Some(Change { set: flatten(&plant.set), only })
    }

    /// The cells of `study` that `claim` checks, changed.
    pub fn cells(&self, study: &Study, cells: &[Cell], claim: &Claim) -> Vec<Cell> {
        let changed = |cell: &Cell| {
            let level = |name: &str| study.factor.iter().position(|factor| factor.name == name);
            let here = |(name, wanted): &(String, String)| level(name).is_some_and(|at| cell.levels[at] == *wanted);
            let mut cell = cell.clone();
            if self.only.iter().all(here) {
                cell.settings.extend(self.set.iter().cloned());
            }
            cell
        };
        needed(study, cells, claim.check.iter()).into_iter().map(|place| changed(&cells[place])).collect()
    }
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = |pairs: &[(String, String)]| {
            pairs.iter().map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>().join(", ")
        };
        write!(f, "{}", words(&self.set))?;
        if !self.only.is_empty() {
            write!(f, " where {}", words(&self.only))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eighty_two_findings_each_with_its_class() {
        let known = known();
        assert_eq!(known.len(), 82);
        for (place, Known(id, class, condition)) in known.iter().enumerate() {
            assert!("MNSIJ".contains(class.as_str()) && class.len() == 1 && !condition.is_empty(), "{id}");
            assert!(known[..place].iter().all(|other| other.0 != *id), "{id} stands there twice");
        }
    }
}
