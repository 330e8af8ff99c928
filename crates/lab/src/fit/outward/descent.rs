//! The search for numbers and rules of a fit to jobs. Numbers follow least squares with priors. A rule is tried with numbers that follow
//! along the slopes of the best point; the few that promise most are simulated.

use super::misfit::{Misfit, PriorRow, Scatter, Slope, figure_rows};
use super::parameters::JobParameter;
use super::prior::{self, FitStage};
use crate::fit::data::{DataSplit, FitData};
use crate::fit::evaluator::PointEvaluator;
use crate::fit::parameter::ParameterDomain;
use crate::fit::sensitivity::Sensitivity;
use crate::workers::Workers;
use seekwise_disk::rng::Seed;
use seekwise_drives::key_names::figure;
use std::sync::Mutex;

/// Dampings that are tried for a step, as shares of the diagonal.
const DAMPINGS: [f64; 3] = [0.01, 0.3, 3.0];

/// A step must lower the misfit by this much for another to follow: half a standard error's worth.
const WORTH: f64 = 0.5;

/// A rule must lower the misfit by this much: with some 170 choices chance lowers it by less
/// (2 ln 170 is 10.3).
const RULE_COST: f64 = 10.0;

/// The most rules that change one after another in a stage.
const RULE_CHANGES: usize = 5;

/// The changes that are tried together with each other change.
const PAIRED: usize = 3;

/// Designs that are drawn, how many of them are improved, and in per cent how often a rule of one stays as the profile has it: two or three
/// rules then differ.
const DESIGNS: usize = 120;
const IMPROVED_DESIGNS: usize = 2;
const STAYS_PERCENT: u32 = 70;

/// The choices that are simulated with numbers that follow.
const SIMULATED_CHOICES: usize = 5;

/// A point with what remains of the seen figures there.
#[derive(Clone, Debug)]
pub(crate) struct TriedPoint {
    pub point: Vec<f64>,
    pub residuals: Vec<f64>,
    /// The misfit to the data and priors up to the stage for which it was tried.
    pub value: f64,
}

/// Slopes at a point: the numbers that have any, and the slopes.
pub(crate) struct PointSlopes {
    pub numbers: Vec<usize>,
    pub columns: Vec<Slope>,
}

/// The choice of a rule: the rules that it sets, and the numbers of their words.
pub(crate) type RuleChange = Vec<(usize, f64)>;

/// A search on some data.
pub(crate) struct Descent<'a, 'b> {
    pub evaluator: &'a PointEvaluator<'b>,
    pub parameters: &'a [JobParameter],
    pub misfit: Misfit,
    effects: &'a Effects,
    families: &'a [RuleFamily],
}

/// The rules of a stage as a drive of the catalogue has them together: one change leads to what its maker chose.
#[derive(Clone, Debug)]
pub(crate) struct RuleFamily {
    pub stage: FitStage,
    pub change: RuleChange,
}

/// For each parameter the largest change of each seen figure that a search has met, as logarithms.
pub(crate) struct Effects(Mutex<Vec<Vec<f64>>>);

impl Effects {
    pub(crate) fn new(parameter_count: usize) -> Effects {
        Effects(Mutex::new(vec![Vec::new(); parameter_count]))
    }

    fn note(&self, index: usize, changes: impl Iterator<Item = f64>) {
        let mut all = self.0.lock().expect("no holder panics");
        let of_index = &mut all[index];
        for (figure, change) in changes.enumerate() {
            match of_index.get_mut(figure) {
                Some(largest) => *largest = largest.max(change.abs()),
                None => of_index.push(change.abs()),
            }
        }
    }

    /// The effects as a fit's report has them.
    pub(crate) fn into_sensitivity(self, data: &[FitData]) -> Sensitivity {
        let mut sensitivity = Sensitivity::without_effects(data, 0);
        let count = sensitivity.figures.len();
        let of_parameter = |changes: Vec<f64>| -> Vec<f64> {
            let mut shares: Vec<f64> = changes.into_iter().take(count).map(f64::exp_m1).collect();
            shares.resize(count, 0.0);
            shares
        };
        let all = self.0.into_inner().expect("no holder panics");
        sensitivity.effects = all.into_iter().map(of_parameter).collect();
        sensitivity.strengths =
            sensitivity.effects.iter().map(|effects| effects.iter().copied().fold(0.0, f64::max)).collect();
        sensitivity
    }
}

impl<'a, 'b> Descent<'a, 'b> {
    /// A search on the seen data of `evaluator`.
    pub(crate) fn new(
        evaluator: &'a PointEvaluator<'b>,
        parameters: &'a [JobParameter],
        (effects, families): (&'a Effects, &'a [RuleFamily]),
    ) -> Descent<'a, 'b> {
        let jobs = evaluator.data().iter().flat_map(|data| match data {
            FitData::Points(points) => points.as_slice(),
            FitData::Traced(_) => &[],
        });
        let rows = figure_rows(jobs.filter(|point| !point.held));
        let misfit = Misfit { rows, priors: prior_rows(parameters), scatter: Scatter::FIRST };
        Descent { evaluator, parameters, misfit, effects, families }
    }

    /// The same search on other data of the same jobs, such as whole ones.
    pub(crate) fn on<'c>(&self, evaluator: &'c PointEvaluator<'b>) -> Descent<'c, 'b>
    where
        'a: 'c,
    {
        Descent { evaluator, misfit: self.misfit.clone(), ..*self }
    }

    /// True if some seen figure belongs to the stage.
    pub(crate) fn has_data_of(&self, stage: FitStage) -> bool {
        self.misfit.rows.iter().any(|row| row.stage == Some(stage))
    }

    /// The coordinate of a value: its logarithm if the range is logarithmic.
    pub(crate) fn coordinate(&self, index: usize, value: f64) -> f64 {
        coordinate(&self.parameters[index], value)
    }

    fn position(&self, point: &[f64]) -> Vec<f64> {
        point.iter().enumerate().map(|(index, value)| self.coordinate(index, *value)).collect()
    }

    /// `point` with numbers moved by `step` in their coordinates, within their ranges and the bounds of a full stroke.
    pub(crate) fn moved(&self, point: &[f64], numbers: &[usize], step: &[f64]) -> Vec<f64> {
        let mut other = point.to_vec();
        for (&index, by) in numbers.iter().zip(step) {
            let Some(range) = self.parameters[index].parameter.range() else { continue };
            let coordinate = self.coordinate(index, point[index]) + by;
            other[index] = range.round_to_step(if range.log { coordinate.exp() } else { coordinate });
        }
        self.with_possible_stroke(other)
    }

    /// `point` with a full stroke that an arm of that average can have.
    fn with_possible_stroke(&self, mut point: Vec<f64>) -> Vec<f64> {
        let place = |key: &str| self.parameters.iter().position(|it| it.parameter.key == key);
        let pair = place(figure::MECHANICS_SEEK_AVERAGE_MS).zip(place(figure::MECHANICS_SEEK_FULL_MS));
        if let Some((average, full)) = pair
            && let Some(range) = self.parameters[full].parameter.range()
        {
            let own = self.parameters[full].parameter.origin / self.parameters[average].parameter.origin;
            let [low, high] = prior::FULL_IN_AVERAGES;
            let ratio = (point[full] / point[average]).clamp(low.min(own), high.max(own));
            point[full] = range.round_to_step(ratio * point[average]);
        }
        point
    }

    /// Simulates a point; `None` if no drive can be made of it, or the fit has ended.
    pub(crate) fn try_point(&self, point: Vec<f64>, until: FitStage) -> Option<TriedPoint> {
        let figures = self.evaluator.figures(DataSplit::Seen, &point)?;
        let residuals = self.misfit.residuals(&figures);
        let value = self.misfit.value(&residuals, &self.position(&point), until);
        self.evaluator
            .keep_point_if_best(self.misfit.value(&residuals, &self.position(&point), FitStage::Writes), &point);
        Some(TriedPoint { point, residuals, value })
    }

    pub(crate) fn try_points(&self, points: Vec<Vec<f64>>, until: FitStage) -> Vec<Option<TriedPoint>> {
        Workers::Shared.map(&points, |point| self.try_point(point.clone(), until))
    }

    /// `tried` with its misfit to the data up to another stage, and the present scatter.
    pub(crate) fn valued(&self, tried: TriedPoint, until: FitStage) -> TriedPoint {
        let value = self.misfit.value(&tried.residuals, &self.position(&tried.point), until);
        TriedPoint { value, ..tried }
    }

    /// The numbers of stages up to `until`.
    pub(crate) fn numbers_until(&self, until: FitStage) -> Vec<usize> {
        let belongs = |it: &JobParameter| it.prior.is_some() && it.stage <= until;
        (0..self.parameters.len()).filter(|&index| belongs(&self.parameters[index])).collect()
    }

    /// Slopes of all figures with `numbers`, by central differences. A number that moves nothing is left out.
    pub(crate) fn slopes(&self, at: &TriedPoint, numbers: &[usize], until: FitStage) -> PointSlopes {
        let shifts: Vec<(usize, f64)> =
            numbers.iter().flat_map(|&index| [-1.0, 1.0].map(|side| (index, side * self.difference(index)))).collect();
        let points = shifts.iter().map(|&(index, by)| self.moved(&at.point, &[index], &[by])).collect();
        let tried = self.try_points(points, until);
        let mut found = PointSlopes { numbers: Vec::new(), columns: Vec::new() };
        for (pair, &index) in tried.chunks(2).zip(numbers) {
            let sides = [pair[0].as_ref().unwrap_or(at), pair[1].as_ref().unwrap_or(at)];
            let [below, above] = sides.map(|side| self.coordinate(index, side.point[index]));
            if above > below {
                let change = |(low, high): (&f64, &f64)| (low - high) / (above - below);
                let column: Slope = sides[0].residuals.iter().zip(&sides[1].residuals).map(change).collect();
                if column.iter().any(|slope| *slope != 0.0) {
                    self.effects.note(index, column.iter().map(|slope| slope * (above - below)));
                    found.numbers.push(index);
                    found.columns.push(column);
                }
            }
        }
        found
    }

    /// The distance over which the slope of a number is taken: most of what it may move, so that the order of requests, which changes
    /// with everything, averages out.
    pub(crate) fn difference(&self, index: usize) -> f64 {
        let Some(prior) = self.parameters[index].prior else { return 0.0 };
        if prior.range.log { (0.4 * prior.deviation).clamp(0.04, 0.3) } else { 1.5 * prior.deviation }
    }

    /// Descends from `start` with the numbers up to a stage, on its data.
    pub(crate) fn descend(&self, start: TriedPoint, until: FitStage, most_steps: usize) -> TriedPoint {
        let numbers = self.numbers_until(until);
        let mut best = self.valued(start, until);
        for _ in 0..most_steps {
            if self.evaluator.ended_at_checkpoint() {
                break;
            }
            let slopes = self.slopes(&best, &numbers, until);
            let position = self.position(&best.point);
            let step = |damping: &f64| {
                let system = (&slopes.numbers[..], &slopes.columns[..]);
                let step = self.misfit.step(&best.residuals, &position, system, until, *damping)?;
                Some(self.moved(&best.point, &slopes.numbers, &step))
            };
            let points: Vec<Vec<f64>> = DAMPINGS.iter().filter_map(step).collect();
            let Some(found) = least(self.try_points(points, until)).filter(|found| found.value < best.value) else {
                break;
            };
            let gain = best.value - found.value;
            best = found;
            if gain < WORTH {
                break;
            }
        }
        best
    }

    /// Every other choice of every rule of a stage, and pairs that only work together.
    pub(crate) fn rule_changes(&self, point: &[f64], stage: FitStage) -> Vec<RuleChange> {
        let mut changes: Vec<RuleChange> = Vec::new();
        for (index, it) in self.parameters.iter().enumerate().filter(|(_, it)| it.stage == stage) {
            if let ParameterDomain::Choice(words) = &it.parameter.form {
                let others = (0..words.len()).map(|word| word as f64).filter(|word| *word != point[index]);
                changes.extend(others.map(|word| vec![(index, word)]));
            }
        }
        if stage == FitStage::Queue {
            let word = |key: &str, word: &str| {
                let index = self.parameters.iter().position(|it| it.parameter.key == key)?;
                let ParameterDomain::Choice(words) = &self.parameters[index].parameter.form else { return None };
                words.iter().position(|other| other == word).map(|place| (index, place as f64))
            };
            // A queue in the drive shows only with a depth and an order.
            let depth = word(figure::FIRMWARE_DEPTH, "32");
            let orders = ["sptf", "look"].map(|order| word(figure::FIRMWARE_QUEUE_POLICY, order));
            changes.extend(orders.into_iter().filter_map(|order| Some(vec![depth?, order?])));
        }
        changes.extend(self.families.iter().filter(|family| family.stage == stage).map(|family| family.change.clone()));
        changes.retain(|change| change.iter().any(|(index, value)| point[*index] != *value));
        changes
    }

    /// Tries rules from `best` on: for each change the better of the point alone and with numbers that follow, if the misfit promises to
    /// be at most `within` above that of `best`.
    pub(crate) fn try_rules(
        &self,
        best: &TriedPoint,
        (changes, slopes): (Vec<RuleChange>, &PointSlopes),
        until: FitStage,
        within: f64,
    ) -> Vec<(RuleChange, TriedPoint)> {
        let with_change = |change: &RuleChange| {
            let mut point = best.point.clone();
            change.iter().for_each(|(index, word)| point[*index] = *word);
            point
        };
        let alone = self.try_points(changes.iter().map(with_change).collect(), until);
        let mut promising: Vec<(f64, RuleChange, TriedPoint, Vec<f64>)> = Vec::new();
        for (change, tried) in changes.into_iter().zip(alone) {
            // What changes nothing is no alternative.
            let Some(tried) = tried.filter(|tried| tried.residuals != best.residuals) else { continue };
            if let [(index, _)] = change[..] {
                self.effects.note(index, tried.residuals.iter().zip(&best.residuals).map(|(a, b)| a - b));
            }
            let (expected, point) = self.followed(&tried, slopes, until);
            if expected.min(tried.value) < best.value + within {
                promising.push((expected.min(tried.value), change, tried, point));
            }
        }
        promising.sort_by(|a, b| a.0.total_cmp(&b.0));
        promising.truncate(SIMULATED_CHOICES);
        let followed = self.try_points(promising.iter().map(|it| it.3.clone()).collect(), until);
        let better =
            |((_, change, alone, _), followed): ((f64, RuleChange, TriedPoint, Vec<f64>), Option<TriedPoint>)| {
                let better = followed.filter(|followed| followed.value < alone.value).unwrap_or(alone);
                (change, better)
            };
        promising.into_iter().zip(followed).map(better).collect()
    }

    /// The misfit that numbers following along `slopes` promise, and their point.
    fn followed(&self, tried: &TriedPoint, slopes: &PointSlopes, until: FitStage) -> (f64, Vec<f64>) {
        let position = self.position(&tried.point);
        let system = (&slopes.numbers[..], &slopes.columns[..]);
        let Some(step) = self.misfit.step(&tried.residuals, &position, system, until, DAMPINGS[0]) else {
            return (tried.value, tried.point.clone());
        };
        let point = self.moved(&tried.point, &slopes.numbers, &step);
        let mut residuals = tried.residuals.clone();
        for (number, column) in slopes.numbers.iter().zip(&slopes.columns) {
            let by = self.coordinate(*number, point[*number]) - position[*number];
            residuals.iter_mut().zip(column).for_each(|(residual, slope)| *residual -= slope * by);
        }
        (self.misfit.value(&residuals, &self.position(&point), until), point)
    }

    /// Changes the rules of a stage one after another, on the data up to it.
    pub(crate) fn improve_rules(&self, start: TriedPoint, stage: FitStage) -> TriedPoint {
        self.improve_rules_on(start, stage, stage)
    }

    /// Changes the rules of a stage one after another, on the data of all stages.
    pub(crate) fn improve_rules_for_all(&self, start: TriedPoint, stage: FitStage) -> TriedPoint {
        self.improve_rules_on(start, stage, FitStage::Writes)
    }

    /// Changes the rules of a stage one after another while the misfit falls by more than chance would.
    fn improve_rules_on(&self, start: TriedPoint, stage: FitStage, until: FitStage) -> TriedPoint {
        let mut best = self.valued(start, until);
        for _ in 0..RULE_CHANGES {
            if self.evaluator.ended_at_checkpoint() {
                break;
            }
            let slopes = self.slopes(&best, &self.numbers_until(until), until);
            let changes = self.rule_changes(&best.point, stage);
            let tried = self.try_rules(&best, (changes, &slopes), until, 0.0);
            let Some(found) = least(tried.into_iter().map(|(_, tried)| Some(tried)).collect()) else { break };
            let found = self.descend(found, until, 2);
            if found.value > best.value - RULE_COST {
                break;
            }
            best = found;
        }
        best
    }

    /// Tries two changes of a stage's rules at once: a rule may only help beside another.
    pub(crate) fn improve_rule_pairs(&self, start: TriedPoint, stage: FitStage) -> TriedPoint {
        let until = FitStage::Writes;
        let mut best = self.valued(start, until);
        let slopes = self.slopes(&best, &self.numbers_until(until), until);
        let singles = self.try_rules(&best, (self.rule_changes(&best.point, stage), &slopes), until, f64::INFINITY);
        for (_, single) in singles.into_iter().take(PAIRED) {
            if self.evaluator.ended_at_checkpoint() {
                break;
            }
            let changes = self.rule_changes(&single.point, stage);
            let tried = self.try_rules(&single, (changes, &slopes), until, best.value - single.value);
            let Some(found) = least(tried.into_iter().map(|(_, tried)| Some(tried)).collect()) else { continue };
            let found = self.descend(found, until, 2);
            if found.value < best.value - 2.0 * RULE_COST {
                best = found;
            }
        }
        best
    }

    /// Tries designs of a stage drawn at random, and improves the best of them: rules that only work together are far from any single change.
    pub(crate) fn improve_from_designs(&self, start: TriedPoint, stage: FitStage) -> TriedPoint {
        let best = self.valued(start, stage);
        let slopes = self.slopes(&best, &self.numbers_until(stage), stage);
        let designs = self.random_designs(&best.point, stage);
        let tried = self.try_rules(&best, (designs, &slopes), stage, f64::INFINITY);
        let improved =
            tried.into_iter().take(IMPROVED_DESIGNS).map(|(_, design)| Some(self.improve_rules(design, stage)));
        let found = least(improved.collect()).filter(|found| found.value < best.value - RULE_COST);
        found.unwrap_or(best)
    }

    /// Designs of a stage: each rule as the profile has it, or any of its choices.
    fn random_designs(&self, point: &[f64], stage: FitStage) -> Vec<RuleChange> {
        let mut rng = Seed(1).stream("fit designs");
        let rules: Vec<usize> = (0..self.parameters.len())
            .filter(|&index| self.parameters[index].prior.is_none() && self.parameters[index].stage == stage)
            .collect();
        let mut design = |_| -> RuleChange {
            let value = |&index: &usize| {
                let ParameterDomain::Choice(words) = &self.parameters[index].parameter.form else {
                    return (index, point[index]);
                };
                let other = rng.below(words.len() as u64) as f64;
                let stays = rng.draw_chance(STAYS_PERCENT);
                (index, if stays { self.parameters[index].parameter.origin } else { other })
            };
            rules.iter().map(value).collect()
        };
        (0..DESIGNS).map(&mut design).collect()
    }

    /// Estimates the scatter from what remains at a point of the data up to a stage; returns on how many observations the run's stands.
    pub(crate) fn settle_scatter(&mut self, at: &TriedPoint, until: FitStage) -> f64 {
        let numbers = self.numbers_until(until).len().min(MOST_FITTED) as f64;
        let mut observations = 0.0;
        for _ in 0..SCATTER_ROUNDS {
            (self.misfit.scatter, observations) = self.misfit.estimate_scatter(&at.residuals, until, numbers);
        }
        observations
    }

    /// The priors hold around another speed of the spindle.
    pub(crate) fn expect_speed(&mut self, index: usize, rpm: f64) {
        let centre = self.coordinate(index, rpm);
        for row in self.misfit.priors.iter_mut().filter(|row| row.terms == [(index, 1.0)]) {
            row.centre = centre;
        }
    }

    pub(crate) fn position_of(&self, point: &[f64]) -> Vec<f64> {
        self.position(point)
    }
}

/// Numbers that a fit to some jobs really determines: a seek, a stroke, an overhead, a density.
const MOST_FITTED: usize = 4;

/// Rounds in which the estimate of the scatter settles.
const SCATTER_ROUNDS: usize = 8;

/// The tried point of least misfit.
pub(crate) fn least(tried: Vec<Option<TriedPoint>>) -> Option<TriedPoint> {
    tried.into_iter().flatten().min_by(|a, b| a.value.total_cmp(&b.value))
}

fn coordinate(it: &JobParameter, value: f64) -> f64 {
    if it.parameter.range().is_some_and(|range| range.log) { value.max(1e-9).ln() } else { value }
}

/// The priors of all numbers, and that of a full stroke in averages.
fn prior_rows(parameters: &[JobParameter]) -> Vec<PriorRow> {
    let own = |(index, it): (usize, &JobParameter)| {
        let prior = it.prior?;
        let centre = coordinate(it, it.parameter.origin);
        Some(PriorRow { terms: vec![(index, 1.0)], centre, deviation: prior.deviation })
    };
    let mut rows: Vec<PriorRow> = parameters.iter().enumerate().filter_map(own).collect();
    let place = |key: &str| parameters.iter().position(|it| it.parameter.key == key && it.prior.is_some());
    if let Some((average, full)) = place(figure::MECHANICS_SEEK_AVERAGE_MS).zip(place(figure::MECHANICS_SEEK_FULL_MS)) {
        let ratio = parameters[full].parameter.origin / parameters[average].parameter.origin;
        let terms = vec![(full, 1.0), (average, -1.0)];
        rows.push(PriorRow { terms, centre: ratio.ln(), deviation: prior::FULL_RATIO_DEVIATION });
    }
    rows
}
