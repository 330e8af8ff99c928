//! From records to answers: comparisons with their verdicts, and claims with their figures. Pure functions of the
//! study, its cells and its records.

use seekwise_formats::stack::Setting;
use seekwise_formats::study::{Claim, Class, Compare, Metric, Study};

use crate::confound;
use crate::evaluate::{Checked, Results, lines};
use crate::plan::{Cell, Prepared};
use crate::run::RunRecord;
use crate::stats::{Better, Comparison, Criteria, Interval, Judgement, Paired, judge, mean_interval};

/// The records of a study, by cell.
pub struct Evidence<'a> {
    study: &'a Study,
    cells: &'a [Cell],
    prepared: &'a [Prepared],
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
    /// Why it may not be credited as it is ([`confound`]).
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
    /// Why one of them may not be credited as it is.
    pub refused: Option<String>,
}

/// What a comparison tests.
#[derive(PartialEq)]
struct Test {
    /// The cells of both sides, sorted.
    sides: Vec<(usize, usize)>,
    metric: Metric,
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
    pub fn new(
        study: &'a Study,
        cells: &'a [Cell],
        prepared: &'a [Prepared],
        records: &'a [RunRecord],
    ) -> Evidence<'a> {
        let mut by_cell: Vec<Vec<&RunRecord>> = vec![Vec::new(); cells.len()];
        for record in records {
            if let Some(cell) = by_cell.get_mut(record.cell) {
                cell.push(record);
            }
        }
        Evidence { study, cells, prepared, by_cell }
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
        let each = findings.iter().map(|finding| (self.test(&[finding]), self.paired(finding)));
        let overall = (0..self.study.compare.len()).map(|index| {
            let of: Vec<&Finding> = findings.iter().filter(|finding| finding.compare == index).collect();
            (self.test(&of), self.together(index, &of))
        });
        let mut judged = self.judge_all(each.chain(overall).collect());
        let tail = judged.split_off(findings.len());
        for (finding, judgement) in findings.iter_mut().zip(judged) {
            finding.judgement = judgement;
        }
        let overall = tail.into_iter().enumerate().map(|(compare, judgement)| {
            let of = || findings.iter().filter(|finding| finding.compare == compare);
            let refused = of().find_map(|finding| finding.refused.clone());
            Overall { compare, judgement, cells: of().count(), refused }
        });
        let overall = overall.collect();
        (findings, overall)
    }

    /// What is tested by comparisons of one kind; of none, nothing.
    fn test(&self, findings: &[&Finding]) -> Option<Test> {
        let metric = self.study.compare[findings.first()?.compare].metric;
        let mut sides: Vec<(usize, usize)> = findings.iter().map(|finding| (finding.from, finding.to)).collect();
        sides.sort_unstable();
        Some(Test { sides, metric })
    }

    /// Judges all together. Who asks the same twice (over all cells, where there is one) makes one test of it: counted
    /// twice, it would be corrected for a family that is not there.
    fn judge_all(&self, asked: Vec<(Option<Test>, Option<Paired>)>) -> Vec<Option<Judgement>> {
        let mut tests: Vec<Test> = Vec::new();
        let mut comparisons: Vec<Comparison> = Vec::new();
        let mut place = |(test, paired): (Option<Test>, Option<Paired>)| {
            let (test, paired) = (test?, paired?);
            let known = tests.iter().position(|known| *known == test);
            Some(known.unwrap_or_else(|| {
                let better = match test.metric {
                    Metric::ResponseMs => Better::Lower,
                    Metric::Iops | Metric::BytesPerS => Better::Higher,
                };
                comparisons.push(Comparison { paired, better });
                tests.push(test);
                tests.len() - 1
            }))
        };
        let places: Vec<Option<usize>> = asked.into_iter().map(&mut place).collect();
        let criteria = Criteria::new(0.05, self.study.margin_percent / 100.0).unwrap_or_default();
        let judged = judge(&comparisons, &criteria);
        places.into_iter().map(|place| place.map(|place| judged[place])).collect()
    }

    fn sides(&self, index: usize, compare: &Compare) -> Vec<Finding> {
        let Some(factor) = self.factor(&compare.factor) else { return Vec::new() };
        let base = self.cells.iter().enumerate().filter(|(_, cell)| cell.levels[factor] == compare.from);
        base.filter_map(|(from, cell)| {
            let mut levels = cell.levels.clone();
            levels[factor].clone_from(&compare.to);
            let to = self.cells.iter().position(|other| other.levels == levels)?;
            let others = self.study.factor.iter().zip(&levels).enumerate().filter(|&(place, _)| place != factor);
            let named = others.map(|(_, (factor, level))| format!("{} {level}", factor.name));
            let cell = named.collect::<Vec<_>>().join(", ");
            let settings = |cell: usize| self.prepared.get(cell).map_or(&[][..], |cell| &cell.settings);
            let refused = confound::refusal(compare, &self.study.factor[factor], settings(from), settings(to));
            Some(Finding { compare: index, from, to, cell, judgement: None, refused })
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
    fn together(&self, compare: usize, of: &[&Finding]) -> Option<Paired> {
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
        let results = Results::new(self.study, self.cells, self.prepared, &self.by_cell);
        let checks: Vec<Checked> = claim.check.iter().flat_map(|check| results.check(check)).collect();
        let holds = checks.iter().map(|check| check.holds).try_fold(true, |so_far, holds| Some(so_far && holds?));
        let holds = holds.filter(|_| !checks.is_empty());
        let shown =
            claim.show.iter().flat_map(|show| results.check(show)).map(|shown| Checked { holds: None, ..shown });
        let checked = checks.into_iter().chain(shown).collect();
        Judged { claim, checked, holds }
    }
}

/// The keys in which two stacks differ.
pub fn differences(from: &[Setting], to: &[Setting]) -> Vec<String> {
    let value = |settings: &[Setting], key: &str| settings.iter().find(|s| s.key == key).map(|s| s.value.clone());
    let mut keys: Vec<&str> = from.iter().chain(to).map(|setting| setting.key.as_str()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.into_iter().filter(|key| value(from, key) != value(to, key)).map(str::to_owned).collect()
}
