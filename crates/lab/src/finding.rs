//! From records to answers: comparisons with their verdicts, and claims with their figures. Pure functions of the
//! study, its cells and its records.

use std::collections::BTreeMap;

use seekwise_formats::stack::Setting;
use seekwise_formats::study::{Claim, Class, Compare, Metric, Study};

use crate::confound::{self, Side};
use crate::evaluate::{Checked, Results, lines};
use crate::made::MadeFrom;
use crate::run::RunRecord;
use crate::stats::{Better, Comparison, Criteria, Interval, Judgement, Paired, judge, mean_interval};

/// The records of a study, by cell.
pub struct Evidence<'a> {
    /// The study.
    pub study: &'a Study,
    /// What made its results.
    pub made: &'a MadeFrom,
    by_cell: Vec<Vec<&'a RunRecord>>,
}

/// One comparison in one cell of the other factors.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Which comparison of the study.
    pub compare: usize,
    /// The base's cell.
    pub from: usize,
    /// The other's cell.
    pub to: usize,
    /// The other factors' levels, for the reader.
    pub cell: String,
    /// The answer; nothing when a side has no throughput at all.
    pub judgement: Option<Judgement>,
    /// What the difference is credited to, for the reader ([`confound`]).
    pub credit: String,
    /// Why it may not be credited as it is.
    pub refused: Option<String>,
}

/// A comparison over all cells of the other factors together.
#[derive(Clone, Debug)]
pub struct Overall {
    /// Which comparison of the study.
    pub compare: usize,
    /// The answer on the geometric mean of the cells' ratios.
    pub judgement: Option<Judgement>,
    /// How many cells it is over.
    pub cells: usize,
    /// What the difference is credited to, in the first of them.
    pub credit: String,
    /// Why one of them may not be credited as it is.
    pub refused: Option<String>,
}

/// A claim, judged.
#[derive(Clone, Debug)]
pub struct Judged<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// Its checks and what it shows, with their figures.
    pub checked: Vec<Checked>,
    /// Whether all checks hold; nothing when there are none, or when a cell is missing.
    pub holds: Option<bool>,
}

impl Judged<'_> {
    /// Its figures, each with the range it had to lie in, as lines.
    pub fn figures(&self) -> Vec<String> {
        lines(&self.checked)
    }

    /// Its figures in one line.
    pub fn figure(&self) -> String {
        self.figures().iter().map(|line| line.trim_start()).collect::<Vec<_>>().join("; ").replace(":; ", ": ")
    }

    /// Whether it counts as reproduced, as far as the study alone can say: a finding of no difference counts only
    /// when the same bench detects a planted one, which `seekwise claims` tries.
    pub fn reproduced(&self) -> Option<bool> {
        match self.claim.class {
            Class::N => self.holds.filter(|holds| !holds),
            _ => self.holds,
        }
    }
}

impl<'a> Evidence<'a> {
    /// Sorts `records` by cell.
    pub fn new(study: &'a Study, made: &'a MadeFrom, records: &'a [RunRecord]) -> Evidence<'a> {
        let mut by_cell: Vec<Vec<&RunRecord>> = vec![Vec::new(); made.cells.len()];
        for record in records {
            if let Some(cell) = by_cell.get_mut(record.cell) {
                cell.push(record);
            }
        }
        Evidence { study, made, by_cell }
    }

    /// The runs of a cell.
    pub fn runs(&self, cell: usize) -> &[&'a RunRecord] {
        &self.by_cell[cell]
    }

    /// The mean of a metric over a cell's runs, with its 95 % interval; a single run is its own interval.
    pub fn mean(&self, cell: usize, value: impl Fn(&RunRecord) -> f64) -> Interval {
        let values: Vec<f64> = self.by_cell[cell].iter().map(|record| value(record)).collect();
        let alone = values.first().copied().unwrap_or(0.0);
        mean_interval(&values, 0.05).unwrap_or(Interval { estimate: alone, low: alone, high: alone })
    }

    fn factor(&self, name: &str) -> Option<usize> {
        self.study.factor.iter().position(|factor| factor.name == name)
    }

    /// All comparisons in all their cells, judged together.
    pub fn findings(&self) -> (Vec<Finding>, Vec<Overall>) {
        let mut findings: Vec<Finding> = Vec::new();
        for (index, compare) in self.study.compare.iter().enumerate() {
            findings.extend(self.sides(index, compare));
        }
        let overall: Vec<Option<Paired>> =
            (0..self.study.compare.len()).map(|index| self.together(index, &findings)).collect();
        let pairs: Vec<Option<Paired>> =
            findings.iter().map(|finding| self.paired(finding)).chain(overall.iter().copied()).collect();
        let mut judged = self.judge_all(&findings, &pairs);
        let tail = judged.split_off(findings.len());
        for (finding, judgement) in findings.iter_mut().zip(judged) {
            finding.judgement = judgement;
        }
        let overall = tail.into_iter().enumerate().map(|(compare, judgement)| {
            let of = || findings.iter().filter(|finding| finding.compare == compare);
            let refused = of().find_map(|finding| finding.refused.clone());
            let credit = of().next().map_or(String::new(), |finding| finding.credit.clone());
            Overall { compare, judgement, cells: of().count(), credit, refused }
        });
        let overall = overall.collect();
        (findings, overall)
    }

    fn judge_all(&self, findings: &[Finding], pairs: &[Option<Paired>]) -> Vec<Option<Judgement>> {
        let metric = |index: usize| {
            let compare = findings.get(index).map_or(index.wrapping_sub(findings.len()), |finding| finding.compare);
            match self.study.compare[compare].metric {
                Metric::ResponseMs => Better::Lower,
                Metric::Iops | Metric::BytesPerS => Better::Higher,
            }
        };
        let asked = pairs
            .iter()
            .enumerate()
            .filter_map(|(index, pair)| pair.map(|paired| (index, Comparison { paired, better: metric(index) })));
        let (places, comparisons): (Vec<usize>, Vec<Comparison>) = asked.unzip();
        let criteria = Criteria::new(0.05, self.study.margin_percent / 100.0).unwrap_or_default();
        let mut judged = vec![None; pairs.len()];
        for (place, judgement) in places.into_iter().zip(judge(&comparisons, &criteria)) {
            judged[place] = Some(judgement);
        }
        judged
    }

    fn sides(&self, index: usize, compare: &Compare) -> Vec<Finding> {
        let Some(factor) = self.factor(&compare.factor) else { return Vec::new() };
        let levels = || self.made.cells.iter().map(|made| &made.cell.levels);
        let base = levels().enumerate().filter(|(_, levels)| levels.get(factor) == Some(&compare.from));
        base.filter_map(|(from, side)| {
            let mut other = side.clone();
            other[factor].clone_from(&compare.to);
            let to = levels().position(|levels| *levels == other)?;
            let others = self.study.factor.iter().zip(&other).enumerate().filter(|&(place, _)| place != factor);
            let named = others.map(|(_, (factor, level))| format!("{} {level}", factor.name));
            let cell = named.collect::<Vec<_>>().join(", ");
            let sides = [from, to].map(|cell| Side::of(self.made, cell));
            let refused = confound::refusal(compare, &self.study.factor[factor], &sides);
            let credit = confound::credit(compare, &self.study.factor[factor], &sides);
            Some(Finding { compare: index, from, to, cell, judgement: None, credit, refused })
        })
        .collect()
    }

    fn value(metric: Metric) -> fn(&RunRecord) -> f64 {
        match metric {
            Metric::Iops => |record| record.all.iops,
            Metric::BytesPerS => |record| record.all.bytes_per_s,
            Metric::ResponseMs => |record| record.all.response_ms.mean,
        }
    }

    fn values(&self, cell: usize, compare: usize) -> Vec<f64> {
        self.by_cell[cell].iter().map(|record| Self::value(self.study.compare[compare].metric)(record)).collect()
    }

    fn paired(&self, finding: &Finding) -> Option<Paired> {
        let (from, to) = (self.values(finding.from, finding.compare), self.values(finding.to, finding.compare));
        Paired::new(&from, &to).ok()
    }

    /// Run by run, the geometric means over all cells of both sides of a comparison.
    fn together(&self, compare: usize, findings: &[Finding]) -> Option<Paired> {
        let of: Vec<&Finding> = findings.iter().filter(|finding| finding.compare == compare).collect();
        let mean = |side: fn(&Finding) -> usize, run: usize| {
            let logs = of.iter().map(|finding| self.values(side(finding), compare).get(run).map(|value| value.ln()));
            let sum = logs.sum::<Option<f64>>()?;
            Some((sum / of.len() as f64).exp())
        };
        let runs = self.study.runs as usize;
        let from = (0..runs).map(|run| mean(|f| f.from, run)).collect::<Option<Vec<f64>>>()?;
        let to = (0..runs).map(|run| mean(|f| f.to, run)).collect::<Option<Vec<f64>>>()?;
        Paired::new(&from, &to).ok()
    }

    /// The claims of the study, judged.
    pub fn claims(&self) -> Vec<Judged<'a>> {
        self.study.claim.iter().map(|claim| self.judge_claim(claim)).collect()
    }

    /// One claim of the study, judged.
    pub fn judge_claim(&self, claim: &'a Claim) -> Judged<'a> {
        let levels = self.made.cells.iter().map(|made| &made.cell.levels[..]).collect();
        let results = Results::new(self.study, levels, Some(self.made), &self.by_cell);
        let checks: Vec<Checked> = claim.check.iter().flat_map(|check| results.check(check)).collect();
        let holds = checks.iter().map(|check| check.holds).try_fold(true, |so_far, holds| Some(so_far && holds?));
        let holds = holds.filter(|_| !checks.is_empty());
        let shown =
            claim.show.iter().flat_map(|show| results.check(show)).map(|shown| Checked { holds: None, ..shown });
        let checked = checks.into_iter().chain(shown).collect();
        Judged { claim, checked, holds }
    }
}

/// The keys in which two sides differ, in order.
pub fn differences<'a>(from: impl Iterator<Item = &'a Setting>, to: impl Iterator<Item = &'a Setting>) -> Vec<String> {
    let mut sides: BTreeMap<&str, [Option<&str>; 2]> = BTreeMap::new();
    from.for_each(|setting| sides.entry(&setting.key).or_default()[0] = Some(&setting.value));
    to.for_each(|setting| sides.entry(&setting.key).or_default()[1] = Some(&setting.value));
    sides.into_iter().filter(|(_, [from, to])| from != to).map(|(key, _)| key.to_owned()).collect()
}
