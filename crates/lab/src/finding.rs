//! Answers from records: comparisons with their verdicts, and claims with their figures. All are pure functions of the study, its cells and
//! its records.
//!
//! | file | what it answers |
//! |---|---|
//! | `metric` | the metric that suits a study's work, and its value in a run |
//! | `equal_cells` | cells that are the same run, and tests that are one |
//! | `cause` | which parts of the response changed |
//! | `best` | which level of a factor is best for a kind of work |
//! | `secondary_figure` | which figures went the other way |
//! | `location` | in which cells the effect is |
//! | `price` | what a power cut loses on either side |
//! | `tally` | what the cells of a comparison say together |
//! | `no_effect` | why a change of settings had no effect |
//! | `sequential` | the verdicts of studies that are sampled until decided, and which pairs are open |
//! | `vote` | at which places of its range a claim holds, and how far it is from its bounds |

mod best;
mod cause;
mod equal_cells;
mod location;
mod metric;
mod no_effect;
mod price;
mod secondary_figure;
mod sequential;
mod tally;
#[cfg(test)]
mod tests;
mod vote;

use std::cell::OnceCell;
use std::collections::BTreeMap;

use seekwise_drives::metric::{Metric, MetricScope, Statistic};
use seekwise_drives::stack::Setting;
use seekwise_formats::expression::Expression;
use seekwise_formats::study::{Claim, ClaimClass, ComparisonSpec, Study};
use serde::{Deserialize, Serialize};

use self::equal_cells::ComparisonTest;
use self::location::{Axis, CellOutcome, OutcomeWording};
use crate::confound::{self, ComparisonSide};
use crate::evaluate::{EvaluatedCheck, StudyResults, check_lines};
use crate::outcome::{DifferenceWords, Outcome};
use crate::provenance::StudyProvenance;
use crate::run::RunRecord;
use crate::stats::{Criteria, Interval, Judgement, PairedComparison, PairedRatios, Verdict, judge, mean_interval};

pub use self::best::{BestLevel, LevelShare};
pub use self::cause::{Cause, HiddenWork, PartChange};
pub(crate) use self::location::join_words;
pub use self::location::{CellRegion, EffectLocation, RatioRange};
pub use self::metric::{count_requests as requests_of, needed_requests as metric_needs};
pub use self::price::CutPrice;
pub use self::secondary_figure::SecondaryFigure;
pub use self::sequential::OpenPair;
pub use self::tally::{CellCase, CellTally, UNDECIDED};
pub use self::vote::{BoundDistance, RangeVote};

/// The records of a study, by cell.
pub struct Evidence<'a> {
    pub study: &'a Study,
    /// The provenance of the results.
    pub made: &'a StudyProvenance,
    by_cell: Vec<Vec<&'a RunRecord>>,
    /// The metric of comparisons that name none.
    default_metric: &'static Metric,
    /// Computed on first use.
    alike: OnceCell<Vec<usize>>,
    findings: OnceCell<(Vec<Finding>, Vec<OverallComparison>)>,
}

/// A comparison in one cell of the other factors.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Finding {
    /// The index of the study's comparison.
    pub compare: usize,
    /// The base's cell.
    pub from: usize,
    /// The other's cell.
    pub to: usize,
    /// The other factors' levels, for the reader.
    pub cell: String,
    /// `None` if a side has no throughput at all.
    pub judgement: Option<Judgement>,
    /// Number of pairs of runs on which it rests, if fewer than there are: sampling until decided keeps the verdict of the look that
    /// decided it.
    pub pairs: Option<usize>,
    /// The credit for the difference, for the reader ([`confound`]).
    pub credit: String,
    /// Concerns in which the sides differ at once (`confound::joint_concerns`).
    pub at_once: Vec<&'static str>,
    /// Why the comparison is refused, if it is.
    pub refused: Option<String>,
    /// Which parts of the mean response changed.
    pub cause: Option<Cause>,
    /// Why the settings in which the sides differ changed nothing, if both are the same run.
    pub unasked: Option<String>,
    /// Figures that went the other way.
    pub beside: Vec<SecondaryFigure>,
    /// The metric is a percentile, and a run has too few requests for it.
    pub thin: bool,
}

/// A comparison over all cells of the other factors together.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OverallComparison {
    /// The index of the study's comparison.
    pub compare: usize,
    /// The judgement of the geometric mean of the cells' ratios.
    pub judgement: Option<Judgement>,
    /// Number of cells.
    pub cells: usize,
    /// The lowest and the highest ratio of a cell; `None` without any.
    pub range: Option<RatioRange>,
    /// The cells' own outcomes, counted.
    pub tally: CellTally,
    /// Where among the cells the effect is.
    pub place: Option<EffectLocation>,
    /// Rates that went the other way. For a smaller share of the processor also the requests for each second of it.
    pub beside: Vec<SecondaryFigure>,
    /// For the processor's share: outcome and ratio of each cell's processor time for a request, in the findings' order.
    pub per_request: Vec<(Outcome, f64)>,
    /// Writes lost in a power cut, if the study cuts the power.
    pub price: Option<CutPrice>,
    /// The credit for the difference, in the first cell.
    pub credit: String,
    /// Concerns in which the sides of the first cell differ at once.
    pub at_once: Vec<&'static str>,
    /// Why the comparison is refused in a cell, if it is.
    pub refused: Option<String>,
}

/// A judged claim.
#[derive(Clone, Debug)]
pub struct ClaimJudgement<'a> {
    pub claim: &'a Claim,
    /// The checks, and the figures that the claim shows.
    pub checked: Vec<EvaluatedCheck>,
    /// Whether all checks hold, or do at more than half of the range; `None` without checks, if a cell is missing, or
    /// if it is undecided.
    pub holds: Option<bool>,
    /// There is a vote, but neither side has more than half of the range.
    pub undecided: bool,
    /// Where in the range the checks hold, for a claim over a range.
    pub vote: Option<RangeVote>,
    /// The distance from the bounds.
    pub distance: Option<BoundDistance>,
}

impl ClaimJudgement<'_> {
    /// The vote of the range, then the figures, each with what was wanted, as lines.
    pub fn figure_lines(&self) -> Vec<String> {
        self.vote.iter().map(RangeVote::to_string).chain(check_lines(&self.checked)).collect()
    }

    /// The figures in one line.
    pub fn figure_line(&self) -> String {
        self.figure_lines().iter().map(|line| line.trim_start()).collect::<Vec<_>>().join("; ").replace(":; ", ": ")
    }

    /// Whether it counts as reproduced, as far as the study alone can tell. A finding of no difference counts only if
    /// the same bench detects a planted one, and one that holds with another only if that does; `seekwise claims` tries
    /// both. A judgement never counts.
    pub fn is_reproduced(&self) -> Option<bool> {
        let alone = self.claim.class != ClaimClass::N && self.claim.with.is_none();
        self.holds.filter(|holds| self.claim.class != ClaimClass::J && (alone || !holds))
    }

    /// The answer, as far as the study alone can tell.
    pub fn answer(&self) -> ClaimAnswer {
        ClaimAnswer::classify(self.claim, self.is_reproduced(), self.holds, self.undecided)
    }

    /// For a claim whose checks hold: what else must be confirmed, which `seekwise claims` tries.
    pub fn pending_condition(&self) -> Option<String> {
        let id = &self.claim.id;
        if self.claim.class == ClaimClass::J {
            return None;
        }
        match (self.holds, self.is_reproduced(), &self.claim.with) {
            (Some(true), None, Some(with)) => Some(format!("if {} holds beside it (seekwise claims {id})", with.claim)),
            (Some(true), None, None) => Some(format!("if a planted difference is detected (seekwise claims {id})")),
            _ => None,
        }
    }
}

impl OverallComparison {
    /// The verdict: mixed if some cells are surely better and others surely worse, whatever their mean is.
    pub fn outcome(&self, findings: &[Finding]) -> Outcome {
        let own = || findings.iter().filter(|finding| finding.compare == self.compare);
        let any = |wanted: Outcome| own().any(|finding| judgement_outcome(finding.judgement.as_ref(), None) == wanted);
        match judgement_outcome(self.judgement.as_ref(), self.refused.as_ref()) {
            Outcome::Refused => Outcome::Refused,
            _ if any(Outcome::Faster) && any(Outcome::Slower) => Outcome::Mixed,
            mean => mean,
        }
    }
}

impl<'a> Evidence<'a> {
    /// Sorts `records` by cell.
    pub fn new(study: &'a Study, made: &'a StudyProvenance, records: &'a [RunRecord]) -> Evidence<'a> {
        let mut by_cell: Vec<Vec<&RunRecord>> = vec![Vec::new(); made.cells.len()];
        for record in records {
            if let Some(cell) = by_cell.get_mut(record.cell) {
                cell.push(record);
            }
        }
        let default_metric = metric::default_metric(made);
        Evidence { study, made, by_cell, default_metric, alike: OnceCell::new(), findings: OnceCell::new() }
    }

    /// The metric by which a comparison of the study is judged.
    pub fn judged_metric(&self, compare: usize) -> &'a Metric {
        self.study.compare[compare].metric.as_ref().unwrap_or(self.default_metric)
    }

    /// The runs of a cell.
    pub fn cell_runs(&self, cell: usize) -> &[&'a RunRecord] {
        &self.by_cell[cell]
    }

    /// The mean of a metric over a cell's runs, with its 95 % interval; a single run is its own interval.
    pub fn cell_mean(&self, cell: usize, value: impl Fn(&RunRecord) -> f64) -> Interval {
        let values: Vec<f64> = self.by_cell[cell].iter().map(|record| value(record)).collect();
        let alone = values.first().copied().unwrap_or(0.0);
        mean_interval(&values, 0.05).unwrap_or(Interval { estimate: alone, low: alone, high: alone })
    }

    fn factor_index(&self, name: &str) -> Option<usize> {
        self.study.factor.iter().position(|factor| factor.name == name)
    }

    /// All comparisons in all their cells, judged together.
    pub fn findings(&self) -> (&[Finding], &[OverallComparison]) {
        let (findings, overall) = self.findings.get_or_init(|| self.judge_comparisons());
        (findings, overall)
    }

    fn judge_comparisons(&self) -> (Vec<Finding>, Vec<OverallComparison>) {
        let mut findings: Vec<Finding> = Vec::new();
        for (index, compare) in self.study.compare.iter().enumerate() {
            findings.extend(self.unjudged_findings(index, compare));
        }
        let mut judged: Vec<(Option<Judgement>, Option<usize>)> = match &self.made.sampling {
            Some(plan) => self.judge_until(plan, &findings),
            None => self.judge_fixed(&findings).into_iter().map(|judgement| (judgement, None)).collect(),
        };
        let tail = judged.split_off(findings.len());
        for (finding, (judgement, pairs)) in findings.iter_mut().zip(judged) {
            (finding.judgement, finding.pairs) = (judgement, pairs);
            self.explain_finding(finding);
        }
        let overall = tail.into_iter().enumerate().map(|(compare, (judgement, _))| {
            let of = || findings.iter().filter(|finding| finding.compare == compare);
            let refused = of().find_map(|finding| finding.refused.clone());
            let credit = of().next().map_or(String::new(), |finding| finding.credit.clone());
            let place = if refused.is_none() { self.locate_effect(compare, &of().collect::<Vec<_>>()) } else { None };
            let ratios = of().filter_map(|finding| Some(finding.judgement?.ratio.estimate));
            let range = RatioRange::from_ratios(ratios).filter(|_| refused.is_none());
            let price = self.cut_price(&of().collect::<Vec<_>>()).filter(|_| refused.is_none());
            let at_once = of().next().map_or(Vec::new(), |finding| finding.at_once.clone());
            let each = of().map(|it| {
                (judgement_outcome(it.judgement.as_ref(), None), it.judgement.map_or(1.0, |j| j.ratio.estimate))
            });
            let (cells, tally) = (of().count(), CellTally::from_cells(each));
            let unrefused = judgement.as_ref().filter(|_| refused.is_none());
            let beside = self.opposing_rates(compare, unrefused, &of().collect::<Vec<_>>());
            let per_request = self.per_request_outcomes(compare, &of().collect::<Vec<_>>());
            OverallComparison {
                compare,
                judgement,
                cells,
                range,
                tally,
                place,
                beside,
                per_request,
                price,
                credit,
                at_once,
                refused,
            }
        });
        let overall = overall.collect();
        (findings, overall)
    }

    /// The test of comparisons of one kind; `None` without any.
    fn comparison_test(&self, findings: &[&Finding]) -> Option<ComparisonTest> {
        let metric = self.judged_metric(findings.first()?.compare).clone();
        let sides = findings.iter().map(|finding| (finding.from, finding.to));
        Some(ComparisonTest::new(sides, metric, self.first_equal_cells()))
    }

    /// Judges a fixed sample: each finding, then each comparison over all its cells.
    fn judge_fixed(&self, findings: &[Finding]) -> Vec<Option<Judgement>> {
        let each = findings.iter().map(|finding| (self.comparison_test(&[finding]), self.own_metric_ratios(finding)));
        let overall = (0..self.study.compare.len()).map(|index| {
            let of: Vec<&Finding> = findings.iter().filter(|finding| finding.compare == index).collect();
            (self.comparison_test(&of), self.overall_ratios(self.judged_metric(index), &of, self.study.runs as usize))
        });
        self.judge_all(each.chain(overall).collect())
    }

    /// Judges all together. Comparisons that ask the same (over all cells if there is only one; of cells that are the same run) make one
    /// test: counted twice, it would be corrected for a family that does not exist. Tests without chance are not part of the family.
    fn judge_all(&self, asked: Vec<(Option<ComparisonTest>, Option<PairedRatios>)>) -> Vec<Option<Judgement>> {
        let mut tests: Vec<ComparisonTest> = Vec::new();
        let mut comparisons: Vec<PairedComparison> = Vec::new();
        let mut place = |(test, paired): (Option<ComparisonTest>, Option<PairedRatios>)| {
            let (test, paired) = (test?, paired?);
            let known = tests.iter().position(|known| *known == test);
            Some(known.unwrap_or_else(|| {
                comparisons.push(PairedComparison { paired, better: metric::better_direction(&test.metric) });
                tests.push(test);
                tests.len() - 1
            }))
        };
        let places: Vec<Option<usize>> = asked.into_iter().map(&mut place).collect();
        let tests: Vec<&ComparisonTest> = tests.iter().collect();
        let judged = judge_families(&tests, &comparisons, |comparisons| judge(comparisons, &self.judging_criteria()));
        places.into_iter().map(|place| place.map(|place| judged[place])).collect()
    }

    fn judging_criteria(&self) -> Criteria {
        Criteria::new(0.05, self.study.margin_percent / 100.0).unwrap_or_default()
    }

    fn unjudged_findings(&self, index: usize, compare: &ComparisonSpec) -> Vec<Finding> {
        let Some(factor) = self.factor_index(&compare.factor) else { return Vec::new() };
        let levels = || self.made.cells.iter().map(|made| &made.cell.levels);
        // The first of equal levels.
        let places: BTreeMap<&Vec<String>, usize> =
            levels().enumerate().map(|(cell, levels)| (levels, cell)).rev().collect();
        let base = levels().enumerate().filter(|(_, levels)| levels.get(factor) == Some(&compare.from));
        base.filter_map(|(from, side)| {
            let mut other = side.clone();
            other[factor].clone_from(&compare.to);
            let to = *places.get(&other)?;
            let others = self.study.factor.iter().zip(&other).enumerate().filter(|&(place, _)| place != factor);
            let named = others.map(|(_, (factor, level))| format!("{} {level}", factor.name));
            let cell = named.collect::<Vec<_>>().join(", ");
            let sides = [from, to].map(|cell| ComparisonSide::from_cell(self.made, cell));
            let refused = confound::refusal_reason(compare, &self.study.factor[factor], &sides);
            let refused = refused.or_else(|| self.given_rate_refusal(self.judged_metric(index), [from, to]));
            let credit = confound::credit_text(compare, &self.study.factor[factor], &sides);
            let at_once = match refused {
                Some(_) => Vec::new(),
                None => confound::joint_concerns(compare, &self.study.factor[factor], &sides),
            };
            let (judgement, pairs, cause, unasked, beside, thin) = (None, None, None, None, Vec::new(), false);
            Some(Finding {
                compare: index,
                from,
                to,
                cell,
                judgement,
                pairs,
                credit,
                at_once,
                refused,
                cause,
                unasked,
                beside,
                thin,
            })
        })
        .collect()
    }

    /// Why a metric says nothing of either side: all requests came by a rate or a trace, and both sides kept up with
    /// it. If one did not, its rate is a result.
    fn given_rate_refusal(&self, metric: &Metric, sides: [usize; 2]) -> Option<String> {
        let of_requests =
            !matches!(metric.whose, MetricScope::Flush | MetricScope::Commit | MetricScope::Operations(_));
        let rate = matches!(metric.figure, Statistic::Iops | Statistic::BytesPerS) && of_requests;
        if !rate && metric.figure != Statistic::Elapsed {
            return None;
        }
        let mut runs = sides.iter().flat_map(|cell| self.first_look_runs(*cell)).peekable();
        let said = runs.peek()?.arrivals?.words();
        runs.all(|run| run.arrivals.is_some_and(|arrivals| arrivals.all && arrivals.kept)).then(|| {
            format!(
                "{metric} is given, not found: every request comes by a rate or a trace, and both sides kept up with it ({said}); \
                 expected `since_due` (the response time since requests were due) or `mean`, or another figure of response times"
            )
        })
    }

    /// A metric of each run of a cell; `None` if one has no such request.
    fn run_values(&self, cell: usize, metric: &Metric) -> Option<Vec<f64>> {
        self.by_cell[cell].iter().map(|record| metric::value_in_run(metric, record)).collect()
    }

    /// The mean of a metric over a cell's runs, with its interval; `None` if a run has no such request.
    pub fn metric_mean(&self, cell: usize, metric: &Metric) -> Option<Interval> {
        self.run_values(cell, metric).filter(|values| !values.is_empty())?;
        Some(self.cell_mean(cell, |run| metric::value_in_run(metric, run).unwrap_or(0.0)))
    }

    fn own_metric_ratios(&self, finding: &Finding) -> Option<PairedRatios> {
        self.metric_ratios(finding, self.judged_metric(finding.compare))
    }

    fn metric_ratios(&self, finding: &Finding, metric: &Metric) -> Option<PairedRatios> {
        let (mut from, mut to) = (self.run_values(finding.from, metric)?, self.run_values(finding.to, metric)?);
        if let Some(pairs) = finding.pairs {
            from.truncate(pairs);
            to.truncate(pairs);
        }
        PairedRatios::new(&from, &to).ok()
    }

    /// Explains a judged finding: where its difference comes from, and what went the other way.
    fn explain_finding(&self, finding: &mut Finding) {
        let metric = self.judged_metric(finding.compare);
        let (from, to) = (&self.by_cell[finding.from], &self.by_cell[finding.to]);
        // How long a run took follows from its responses only if both sides issue the same amount.
        let asked = |runs: &[&RunRecord]| runs.iter().map(|run| run.all.ios).sum::<u64>();
        let follows = metric.figure != Statistic::Elapsed || asked(from) == asked(to);
        let hidden = self.hidden_work([finding.from, finding.to]);
        finding.cause = if follows { Cause::between_runs(&metric.whose, from, to, hidden) } else { None };
        finding.unasked = self.same_run_reason(finding.from, finding.to);
        let supported = |metric: &Metric| from.iter().chain(to).all(|run| metric::has_enough_requests(metric, run));
        finding.thin = !supported(metric);
        let Some(judgement) = finding.judgement.filter(|_| finding.refused.is_none()) else { return };
        if let Some(cause) = &mut finding.cause {
            cause.set_opposed(judgement.verdict);
        }
        let margin = self.study.margin_percent / 100.0;
        // Bytes a second say nothing more than requests a second if these are of one size.
        let size = |runs: &[&RunRecord]| {
            runs.iter().map(|run| run.all.bytes_per_s).sum::<f64>() / runs.iter().map(|run| run.all.iops).sum::<f64>()
        };
        let resized = (size(to) / size(from) - 1.0).abs() > margin;
        let tells = |metric: &Metric| supported(metric) && (resized || metric.figure != Statistic::BytesPerS);
        let beside = secondary_figure::companion_metrics(metric).into_iter().filter(tells).filter_map(|metric| {
            let ratio = self.metric_ratios(finding, &metric)?.ratio_interval(0.05);
            secondary_figure::contradicting_figure(metric, ratio, judgement.verdict, margin)
        });
        finding.beside = secondary_figure::without_repetition(beside.collect());
    }

    /// Settings of cells that hide work for a request.
    fn hidden_work(&self, cells: [usize; 2]) -> HiddenWork {
        let any = |is: fn(&Setting) -> bool| cells.iter().any(|&cell| self.made.cell_settings(cell).any(is));
        HiddenWork {
            has_array: any(|it| it.key == "array" && it.value != "none"),
            caches_writes: any(|it| it.key.ends_with(".write_back") && it.value == "true"),
        }
    }

    /// Locates the effect of a comparison, by the levels of the other factors.
    fn locate_effect(&self, compare: usize, of: &[&Finding]) -> Option<EffectLocation> {
        let compared = self.factor_index(&self.study.compare[compare].factor)?;
        let others = || self.study.factor.iter().enumerate().filter(|&(index, _)| index != compared);
        let axes: Vec<Axis> = others()
            .map(|(_, factor)| Axis {
                factor: factor.name.clone(),
                unit: factor.unit.clone(),
                levels: factor.level_names(),
                classes: factor.class_places(),
            })
            .filter(|axis| axis.levels.len() > 1)
            .collect();
        let place = |finding: &&Finding| {
            let levels = &self.made.cells[finding.from].cell.levels;
            let at = |axis: &Axis| {
                let own = &levels[self.factor_index(&axis.factor)?];
                axis.levels.iter().position(|level| level == own)
            };
            let ratio = finding.judgement.map_or(1.0, |judgement| judgement.ratio.estimate);
            Some(CellOutcome {
                at: axes.iter().map(at).collect::<Option<_>>()?,
                outcome: judgement_outcome(finding.judgement.as_ref(), None),
                ratio,
            })
        };
        let places: Vec<CellOutcome> = of.iter().map(place).collect::<Option<_>>()?;
        let words = DifferenceWords::for_metric(self.judged_metric(compare));
        location::describe_location(&axes, &places, OutcomeWording { margin: self.study.margin_percent / 100.0, words })
    }

    /// The rates that went the other way than the metric compared over all cells. A side that uses less of the processor may only do less
    /// work: the requests for each second of the processor then follow its rate.
    fn opposing_rates(&self, compare: usize, judgement: Option<&Judgement>, of: &[&Finding]) -> Vec<SecondaryFigure> {
        let metric = self.judged_metric(compare);
        let Some(judgement) = judgement else { return Vec::new() };
        let runs = of.iter().map(|it| self.by_cell[it.from].len().min(self.by_cell[it.to].len())).min().unwrap_or(0);
        let ratio = |metric: Metric| Some((self.overall_ratios(&metric, of, runs)?.ratio_interval(0.05), metric));
        let rates = secondary_figure::companion_metrics(metric)
            .into_iter()
            .filter(|companion| companion.figure == Statistic::Iops);
        let against = rates.filter_map(ratio).filter_map(|(ratio, metric)| {
            secondary_figure::contradicting_figure(metric, ratio, judgement.verdict, self.study.margin_percent / 100.0)
        });
        let against: Vec<SecondaryFigure> = against.collect();
        if metric.figure != Statistic::Cpu {
            return against;
        }
        let less = against.into_iter().find(|it| it.worse && it.metric.whose == metric.whose);
        let Some(less) = less else { return Vec::new() };
        let each = ratio(Metric { whose: metric.whose.clone(), figure: Statistic::IosPerCpuSecond });
        let each = each.map(|(ratio, metric)| SecondaryFigure { metric, ratio, worse: ratio.estimate < 1.0 });
        [less].into_iter().chain(each).collect()
    }

    /// Outcome and ratio of each cell's processor time for a request, judged as a family of its own; none for other metrics than the
    /// processor's share. The time is the inverse of the requests that a second of the processor serves. A smaller share of the processor
    /// may come of less work alone.
    fn per_request_outcomes(&self, compare: usize, of: &[&Finding]) -> Vec<(Outcome, f64)> {
        let metric = self.judged_metric(compare);
        if metric.figure != Statistic::Cpu {
            return Vec::new();
        }
        let served = Metric { whose: metric.whose.clone(), figure: Statistic::IosPerCpuSecond };
        let asked = of.iter().map(|finding| {
            let test = ComparisonTest::new(
                std::iter::once((finding.from, finding.to)),
                served.clone(),
                self.first_equal_cells(),
            );
            (Some(test), self.metric_ratios(finding, &served))
        });
        let judged: Option<Vec<Judgement>> = self.judge_all(asked.collect()).into_iter().collect();
        let case = |judgement: Judgement| (judgement_outcome(Some(&judgement), None), judgement.ratio.estimate.recip());
        judged.map_or_else(Vec::new, |judged| judged.into_iter().map(case).collect())
    }

    /// The geometric means of a metric over all cells of both sides of a comparison, run by run.
    fn overall_ratios(&self, metric: &Metric, of: &[&Finding], runs: usize) -> Option<PairedRatios> {
        let mean = |side: fn(&Finding) -> usize, run: usize| {
            let logs = of.iter().map(|finding| {
                let value = metric::value_in_run(metric, self.by_cell[side(finding)].get(run)?);
                value.map(f64::ln)
            });
            let sum = logs.sum::<Option<f64>>()?;
            Some((sum / of.len() as f64).exp())
        };
        let from = (0..runs).map(|run| mean(|f| f.from, run)).collect::<Option<Vec<f64>>>()?;
        let to = (0..runs).map(|run| mean(|f| f.to, run)).collect::<Option<Vec<f64>>>()?;
        PairedRatios::new(&from, &to).ok()
    }

    /// Judges the claims of the study.
    pub fn judge_claims(&self) -> Vec<ClaimJudgement<'a>> {
        self.study.claim.iter().map(|claim| self.judge_claim(claim)).collect()
    }

    /// Judges a claim of the study.
    pub fn judge_claim(&self, claim: &'a Claim) -> ClaimJudgement<'a> {
        let levels = self.made.cells.iter().map(|made| &made.cell.levels[..]).collect();
        let results = StudyResults::new(self.study, levels, Some(self.made), &self.by_cell);
        let all = |expressions: &[Expression]| -> Vec<EvaluatedCheck> {
            expressions.iter().flat_map(|one| results.check_expression(one, &claim.over)).collect()
        };
        let (checks, decided) = (all(&claim.check), all(&claim.decided_if));
        let vote = RangeVote::from_checks(&checks, &decided);
        let holds = vote.as_ref().and_then(RangeVote::majority_answer);
        let undecided = vote.is_some() && holds.is_none();
        let distance = BoundDistance::from_checks(&checks);
        let decided =
            decided.into_iter().map(|check| EvaluatedCheck { of: format!("decided if {}", check.of), ..check });
        let shown = all(&claim.show).into_iter().map(|shown| EvaluatedCheck { holds: None, ..shown });
        let checked = checks.into_iter().chain(decided).chain(shown).collect();
        let vote = vote.filter(|_| !claim.over.is_empty());
        ClaimJudgement { claim, checked, holds, undecided, vote, distance }
    }
}

/// Judges the tests that chance decides as one family, and the others as another.
fn judge_families<T: Clone, J>(tests: &[&ComparisonTest], each: &[T], judge: impl Fn(&[T]) -> Vec<J>) -> Vec<J> {
    let of = |certain: bool| tests.iter().zip(each).filter(move |(test, _)| test.is_certain() == certain);
    let [mut open, mut certain] = [false, true].map(|certain| {
        let own: Vec<T> = of(certain).map(|(_, it)| it.clone()).collect();
        judge(&own).into_iter()
    });
    let mut next = |test: &&ComparisonTest| if test.is_certain() { certain.next() } else { open.next() };
    tests.iter().map(&mut next).map(|it| it.expect("each is judged")).collect()
}

/// The answer to a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimAnswer {
    /// All checks hold, and they cover all that it says.
    Reproduced,
    /// All checks hold; its `unchecked` names what none of them covers.
    InPart,
    NotReproduced,
    /// Neither side has more than half of the range, or chance decides.
    NotDecided,
    /// A judgement that the model shares.
    Agrees,
    /// A judgement that the model does not share.
    Disagrees,
    /// There is nothing to hold or fail.
    #[default]
    Shown,
}

impl ClaimAnswer {
    /// Classifies a claim by whether it is `reproduced`, whether its checks hold, and whether it is undecided.
    pub fn classify(claim: &Claim, reproduced: Option<bool>, holds: Option<bool>, undecided: bool) -> ClaimAnswer {
        match (claim.class, reproduced, holds) {
            _ if undecided => ClaimAnswer::NotDecided,
            (ClaimClass::J, _, Some(true)) => ClaimAnswer::Agrees,
            (ClaimClass::J, _, Some(false)) => ClaimAnswer::Disagrees,
            (_, Some(true), _) if claim.unchecked.is_some() => ClaimAnswer::InPart,
            (_, Some(true), _) => ClaimAnswer::Reproduced,
            (_, Some(false), _) => ClaimAnswer::NotReproduced,
            _ => ClaimAnswer::Shown,
        }
    }

    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            ClaimAnswer::Reproduced => "reproduced",
            ClaimAnswer::InPart => "reproduced in part",
            ClaimAnswer::NotReproduced => "not reproduced",
            ClaimAnswer::NotDecided => "not decided",
            ClaimAnswer::Agrees => "judgement: the model agrees",
            ClaimAnswer::Disagrees => "judgement: the model disagrees",
            ClaimAnswer::Shown => "shown",
        }
    }
}

/// The outcome of a judgement; refused if there is a reason.
pub(crate) fn judgement_outcome(judgement: Option<&Judgement>, refused: Option<&String>) -> Outcome {
    if refused.is_some() {
        return Outcome::Refused;
    }
    match judgement.map(|judgement| judgement.verdict) {
        Some(Verdict::Faster) => Outcome::Faster,
        Some(Verdict::Slower) => Outcome::Slower,
        Some(Verdict::NoDifference { .. }) => Outcome::NoDifference,
        Some(Verdict::NotEnoughData { .. }) | None => Outcome::NotEnoughData,
    }
}
