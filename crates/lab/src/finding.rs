//! From records to answers: comparisons with their verdicts, and claims with their figures. Pure functions of the
//! study, its cells and its records.

use seekwise_formats::stack::Setting;
use seekwise_formats::study::{Check, Claim, Compare, Figure, Metric, Study, plain};

use crate::plan::Cell;
use crate::run::RunRecord;
use crate::stats::{Better, Comparison, Criteria, Interval, Judgement, Paired, judge, mean_interval};

/// The records of a study, by cell.
pub struct Evidence<'a> {
    study: &'a Study,
    cells: &'a [Cell],
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
}

/// A claim, judged.
#[derive(Clone, Debug)]
pub struct Judged<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// Its figures, each with the range it had to lie in.
    pub figure: String,
    /// Whether all lay there; nothing when a cell is missing.
    pub reproduced: Option<bool>,
}

impl<'a> Evidence<'a> {
    /// Sorts `records` by cell.
    pub fn new(study: &'a Study, cells: &'a [Cell], records: &'a [RunRecord]) -> Evidence<'a> {
        let mut by_cell: Vec<Vec<&RunRecord>> = vec![Vec::new(); cells.len()];
        for record in records {
            if let Some(cell) = by_cell.get_mut(record.cell) {
                cell.push(record);
            }
        }
        Evidence { study, cells, by_cell }
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
            let cells = findings.iter().filter(|finding| finding.compare == compare).count();
            Overall { compare, judgement, cells }
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
        let base = self.cells.iter().enumerate().filter(|(_, cell)| cell.levels[factor] == compare.from);
        base.filter_map(|(from, cell)| {
            let mut levels = cell.levels.clone();
            levels[factor].clone_from(&compare.to);
            let to = self.cells.iter().position(|other| other.levels == levels)?;
            let others = self.study.factor.iter().zip(&levels).enumerate().filter(|&(place, _)| place != factor);
            let named = others.map(|(_, (factor, level))| format!("{} {level}", factor.name));
            let cell = named.collect::<Vec<_>>().join(", ");
            Some(Finding { compare: index, from, to, cell, judgement: None })
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

    fn judge_claim(&self, claim: &'a Claim) -> Judged<'a> {
        let mut reproduced = Some(true);
        let mut figures = Vec::new();
        for (counts, check) in claim.check.iter().map(|c| (true, c)).chain(claim.show.iter().map(|c| (false, c))) {
            let value = self.figure(check);
            let holds = value.map(|value| {
                check.at_least.is_none_or(|least| value >= least) && check.at_most.is_none_or(|most| value <= most)
            });
            if counts {
                reproduced = match (reproduced, holds) {
                    (Some(so_far), Some(holds)) => Some(so_far && holds),
                    _ => None,
                };
            }
            figures.push(describe(check, value, if counts { holds } else { None }));
        }
        if claim.check.is_empty() {
            reproduced = None;
        }
        Judged { claim, figure: figures.join("; "), reproduced }
    }

    /// The one cell with these levels; factors not named are taken from `fallback`.
    fn cell(&self, named: &toml::Table, fallback: &toml::Table) -> Option<usize> {
        let wanted = |name: &str| named.get(name).or_else(|| fallback.get(name)).map(plain);
        let fits = |cell: &Cell| {
            self.study.factor.iter().zip(&cell.levels).all(|(f, level)| wanted(&f.name).as_ref() == Some(level))
        };
        self.cells.iter().position(fits)
    }

    /// The figure of a check; nothing when a cell is missing or has no runs.
    pub fn figure(&self, check: &Check) -> Option<f64> {
        let of = self.cell(&check.of, &toml::Table::new())?;
        let against = self.cell(&check.against, &check.of)?;
        if self.by_cell[of].is_empty() || self.by_cell[against].is_empty() {
            return None;
        }
        let mean = |cell, value: fn(&RunRecord) -> f64| self.mean(cell, value).estimate;
        let iops: fn(&RunRecord) -> f64 = |record| record.all.iops;
        let response: fn(&RunRecord) -> f64 = |record| record.all.response_ms.mean;
        let bytes: fn(&RunRecord) -> f64 = |record| record.all.bytes_per_s;
        Some(match check.figure {
            Figure::IopsRatio => mean(of, iops) / mean(against, iops),
            Figure::MbPerSGain => (mean(of, bytes) - mean(against, bytes)) / 1e6,
            Figure::ResponseGainMs => mean(against, response) - mean(of, response),
            Figure::ResponseRatio => mean(of, response) / mean(against, response),
            Figure::MethodErrorPoints => {
                let truth_of = self.cell(&check.truth_of, &check.of)?;
                let truth_against = self.cell(&check.truth_against, &check.of)?;
                let shown = mean(of, iops) / mean(against, iops);
                (shown - mean(truth_of, iops) / mean(truth_against, iops)) * 100.0
            }
        })
    }
}

fn describe(check: &Check, value: Option<f64>, holds: Option<bool>) -> String {
    let levels = |table: &toml::Table| table.values().map(plain).collect::<Vec<_>>().join(", ");
    let value = value.map_or_else(
        || "not run".to_owned(),
        |value| match check.figure {
            Figure::IopsRatio | Figure::ResponseRatio => format!("{value:.3} ×"),
            Figure::MbPerSGain => format!("{value:+.2} MB/s"),
            Figure::ResponseGainMs => format!("{value:.1} ms shorter"),
            Figure::MethodErrorPoints => format!("{value:+.1} percentage points of error"),
        },
    );
    let range = match (check.at_least, check.at_most) {
        (Some(least), Some(most)) => format!(" (wanted {least} to {most})"),
        (Some(least), None) => format!(" (wanted at least {least})"),
        (None, Some(most)) => format!(" (wanted at most {most})"),
        (None, None) => String::new(),
    };
    let mark = match holds {
        Some(true) => " holds",
        Some(false) => " FAILS",
        None => "",
    };
    format!("{} against {}: {value}{range}{mark}", levels(&check.of), levels(&check.against))
}

/// The keys in which two stacks differ.
pub fn differences(from: &[Setting], to: &[Setting]) -> Vec<String> {
    let value = |settings: &[Setting], key: &str| settings.iter().find(|s| s.key == key).map(|s| s.value.clone());
    let mut keys: Vec<&str> = from.iter().chain(to).map(|setting| setting.key.as_str()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.into_iter().filter(|key| value(from, key) != value(to, key)).map(str::to_owned).collect()
}
