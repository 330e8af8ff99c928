//! The cost of a study that was sampled until it was decided, in figures and in sentences.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::finding::Evidence;
use crate::sampling_plan::SampledGroup;
use crate::stats::Verdict;

/// The cost of sampling, and the pairs that it did not decide.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SamplingAccount {
    /// Runs of all cells.
    pub runs: u64,
    /// The fewest runs of a cell.
    pub least_runs: u64,
    /// The most runs of a cell.
    pub most_runs: u64,
    /// Virtual seconds of these runs and of the pilots, if the length of all runs is fixed in advance.
    pub virtual_s: Option<f64>,
    /// Virtual seconds of the pilots.
    pub pilot_s: f64,
    /// Virtual seconds of the fixed sample.
    pub fixed_s: Option<f64>,
    /// The shortest and the longest counted time of a run.
    pub runtime_s: Option<[f64; 2]>,
    /// The shortest and the longest ramp.
    pub ramp_s: [f64; 2],
    /// Pairs that the last look left undecided.
    pub undecided: Vec<UndecidedPair>,
    /// Cells that were sampled as the study says.
    pub fixed_cells: Vec<FixedCells>,
    /// True if the study has claims.
    #[serde(skip)]
    pub has_claims: bool,
}

/// Cells that were sampled as the study says, for one reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FixedCells {
    pub why: String,
    /// Number of cells.
    pub cells: u64,
}

/// A pair that was not decided.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UndecidedPair {
    pub comparison: String,
    /// The levels of the other factors.
    pub cell: String,
    /// Runs of a side.
    pub runs: u64,
}

impl SamplingAccount {
    /// The account of a study that was sampled until it was decided; nothing of a fixed sample.
    pub fn from_evidence(evidence: &Evidence<'_>) -> Option<SamplingAccount> {
        let plan = evidence.made.sampling.as_ref()?;
        let cells = evidence.made.cells.len();
        let runs = |cell: usize| evidence.cell_runs(cell).len() as u64;
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        let spent_ns = (0..cells).map(|cell| {
            let group = plan.group_of_cell(cell);
            Some(runs(cell) * (group.runtime_ns? + group.ramp_ns))
        });
        let shortened = || plan.groups.iter().filter(|group| group.fixed.is_none());
        let range = |value: fn(&SampledGroup) -> Option<u64>| {
            let all: Vec<f64> = shortened().filter_map(value).map(seconds).collect();
            let least = all.iter().copied().reduce(f64::min)?;
            Some([least, all.iter().copied().fold(least, f64::max)])
        };
        let mut fixed_cells: BTreeMap<String, u64> = BTreeMap::new();
        for why in (0..cells).filter_map(|cell| plan.group_of_cell(cell).fixed.clone()) {
            *fixed_cells.entry(why).or_default() += 1;
        }
        Some(SamplingAccount {
            runs: (0..cells).map(runs).sum(),
            least_runs: (0..cells).map(runs).min().unwrap_or(0),
            most_runs: (0..cells).map(runs).max().unwrap_or(0),
            virtual_s: spent_ns.sum::<Option<u64>>().map(|nanos| seconds(nanos + plan.pilot_ns)),
            pilot_s: seconds(plan.pilot_ns),
            fixed_s: plan.fixed_ns.map(seconds),
            runtime_s: range(|group| group.runtime_ns),
            ramp_s: range(|group| Some(group.ramp_ns)).unwrap_or([0.0; 2]),
            undecided: undecided_pairs(evidence),
            fixed_cells: fixed_cells.into_iter().map(|(why, cells)| FixedCells { why, cells }).collect(),
            has_claims: !evidence.study.claim.is_empty(),
        })
    }

    /// The account in sentences.
    pub fn to_sentences(&self) -> String {
        let mut text = String::from("Sampled until decided:");
        text += &match self.runtime_s {
            Some(runtime) => format!(
                " runs of {} s after {} s of ramp, {} of a cell, {} in all",
                range_text(runtime),
                range_text(self.ramp_s),
                range_text([self.least_runs, self.most_runs]),
                self.runs
            ),
            None => format!(" no cell could be sampled by shorter runs; {} runs as the study says", self.runs),
        };
        if let (Some(spent), Some(fixed)) = (self.virtual_s, self.fixed_s) {
            let share = 100.0 * spent / fixed.max(f64::MIN_POSITIVE);
            text += &format!(
                "; {spent:.0} of the fixed sample's {fixed:.0} virtual seconds ({share:.0} %), of them {:.0} for pilot runs",
                self.pilot_s
            );
        }
        text.push('.');
        if !self.undecided.is_empty() {
            let named = |pair: &UndecidedPair| match pair.cell.as_str() {
                "" => pair.comparison.clone(),
                cell => format!("{} ({cell})", pair.comparison),
            };
            let mut names: Vec<String> = self.undecided.iter().take(NAMED).map(named).collect();
            if self.undecided.len() > NAMED {
                names.push(format!("{} more", self.undecided.len() - NAMED));
            }
            text += &format!(" Stopped by the cap without a verdict: {}.", names.join("; "));
        }
        for FixedCells { why, cells } in &self.fixed_cells {
            let cells = if *cells == 1 { "1 cell".to_owned() } else { format!("{cells} cells") };
            text += &format!(" {cells} sampled as the study says: {why}.");
        }
        if self.has_claims {
            text += " Its claims are judged on these runs; `seekwise claims` judges them on the fixed sample, and may answer otherwise.";
        }
        text
    }
}

/// Undecided pairs that are named.
const NAMED: usize = 5;

/// A number, or two as `least to most`.
fn range_text<T: PartialEq + std::fmt::Display>([least, most]: [T; 2]) -> String {
    if least == most { most.to_string() } else { format!("{least} to {most}") }
}

/// The pairs that the last look left undecided.
fn undecided_pairs(evidence: &Evidence<'_>) -> Vec<UndecidedPair> {
    let open = evidence.findings().0.iter().filter(|finding| {
        let verdict = finding.judgement.map(|judgement| judgement.verdict);
        finding.refused.is_none() && matches!(verdict, None | Some(Verdict::NotEnoughData { .. }))
    });
    open.map(|finding| UndecidedPair {
        comparison: evidence.study.compare[finding.compare].name.clone(),
        cell: finding.cell.clone(),
        runs: finding.pairs.unwrap_or(0) as u64,
    })
    .collect()
}
