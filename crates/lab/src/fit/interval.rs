//! The interval of each fitted number: from its least to its largest value in all points that are no worse than the fit's.
//!
//! A point is no worse if the fit's is better in fewer than 84 of 100 draws of blocks of the seen data (a region by profile of the loss,
//! with its threshold by the bootstrap). The other numbers may follow, including those put back, because others have taken their share. If
//! the search finds a better point than the fit's, the fit had not converged; the region then reaches further, as it should.
//!
//! Why 84 of 100: near its minimum a loss is a parabola of curvature H, and a draw of blocks tilts it by a slope of
//! standard deviation S, so that the draws' best points scatter by S/H, the standard error. A point at a distance d
//! from the best does better in a draw that tilts by more than H·d/2. For a normal distribution this happens in 16 of
//! 100 draws at d = 2·S/H: the interval is that of 95 in 100.
//!
//! The search goes number by number, outwards. The number moves on; the others follow so that the simulated values change least, and then
//! settle by least squares ([`slope`](super::slope)). Each step is twice the last while the point is no worse, else half of it. The search
//! starts from the fit's point, then from the best known one. For jobs, whose points take seconds, slopes are taken at the fit's point
//! alone, steps are longer, and the others settle once.

use super::data::LossAndDraws;
use super::evaluator::{PointEvaluator, Question, share_of_draws_better};
use super::judge::SURE;
use super::parameter::Parameter;
use super::slope::{FINE, NumberMove, Slopes, best_of_points, descend_by_least_squares};
use crate::workers::Workers;

/// The steps outwards.
struct StepSizes {
    /// The first step, as a share of a range.
    first: f64,
    /// The smallest step, as a share of a range.
    least: f64,
    /// Steps tried on each side.
    trials: usize,
}

const CLOSE: StepSizes = StepSizes { first: 1.0 / 128.0, least: 1.0 / 2048.0, trials: 11 };

/// Four doublings reach half of a range; an end is found to a sixty-fourth of the range.
const COARSE: StepSizes = StepSizes { first: 1.0 / 32.0, least: 1.0 / 64.0, trials: 7 };

/// The step over which slopes are taken, as a share of a range.
const SLOPE_STEP: f64 = 0.02;

/// The correlation from which on two numbers count as trading: one can move instead of the other.
const TRADES: f64 = 0.8;

/// The least and the largest value of a parameter.
pub type ValueInterval = (f64, f64);

/// Two numbers that trade.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TradingPair {
    /// The index of a parameter that moved.
    pub moved: usize,
    /// The index of the other.
    pub other: usize,
    pub correlation: f64,
}

/// The intervals of the numbers of a point, and the numbers that trade.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Intervals {
    /// For each parameter its interval, if it moved and is a number or a numeric rule.
    pub of: Vec<Option<ValueInterval>>,
    pub pairs: Vec<TradingPair>,
}

impl Intervals {
    /// The intervals for a point at which some numbers were put back and the others followed.
    #[must_use]
    pub(crate) fn adjusted_to(mut self, parameters: &[Parameter], point: &[f64]) -> Intervals {
        let was_put_back = |index: usize| point[index] == parameters[index].origin;
        for (index, ends) in self.of.iter_mut().enumerate() {
            let is_number = parameters[index].range().is_some();
            *ends = ends.filter(|_| !was_put_back(index));
            if let Some((low, high)) = ends.filter(|_| is_number) {
                *ends = Some((low.min(point[index]), high.max(point[index])));
            }
        }
        self.pairs.retain(|pair| !was_put_back(pair.moved));
        self
    }
}

/// A query for intervals.
pub(crate) struct IntervalQuery<'a> {
    /// The point whose numbers get intervals.
    pub point: &'a [f64],
    /// Another start of the search for points that are no worse.
    pub other_start: &'a [f64],
    /// The parameters that moved.
    pub moved: &'a [bool],
    /// The parameters that may follow.
    pub free: &'a [bool],
    /// Takes slopes at each point, and small steps.
    pub thorough: bool,
}

/// A point with its losses.
#[derive(Clone)]
struct TriedPoint {
    point: Vec<f64>,
    losses: LossAndDraws,
}

/// The points that are no worse than the one with the losses `fit_losses`.
fn points_no_worse<'a>(fit_losses: &[f64], tried: &'a [TriedPoint]) -> Vec<&'a [f64]> {
    let no_worse = tried.iter().filter(|tried| share_of_draws_better(fit_losses, &tried.losses) < SURE);
    no_worse.map(|tried| &tried.point[..]).collect()
}

/// The most points from which a search starts.
const CENTRES: usize = 3;

/// The share of the loss by which a point must be better for the search to start again from it.
const WORTH: f64 = 0.002;

fn best_tried(tried: &[TriedPoint]) -> TriedPoint {
    tried.iter().min_by(|a, b| a.losses[0].total_cmp(&b.losses[0])).expect("something was tried").clone()
}

/// Finds the intervals of parameters that moved; none if the fit ends meanwhile.
pub(crate) fn find_intervals(evaluator: &PointEvaluator<'_>, query: &IntervalQuery<'_>) -> Intervals {
    let is_number = |index: usize| evaluator.parameters[index].range().is_some();
    let moved: Vec<usize> = (0..query.point.len()).filter(|&index| query.moved[index] && is_number(index)).collect();
    let mut starts: Vec<Vec<f64>> = vec![query.point.to_vec()];
    if query.thorough {
        starts.push(descend_by_least_squares(evaluator, query.point.to_vec(), query.free, &FINE));
        starts.push(query.other_start.to_vec());
        starts.push(descend_by_least_squares(evaluator, query.other_start.to_vec(), query.free, &FINE));
    }
    let answers = evaluator.ask_for_points(Question::Drawn, &starts);
    let mut tried: Vec<TriedPoint> =
        starts.into_iter().zip(answers).map(|(point, losses)| TriedPoint { point, losses }).collect();
    let sides: Vec<(usize, f64)> = moved.iter().flat_map(|&index| [(index, -1.0), (index, 1.0)]).collect();
    let fit_losses = tried[0].losses.clone();
    let mut centre = tried[0].clone();
    for _ in 0..if query.thorough { CENTRES } else { 1 } {
        if evaluator.ended_at_checkpoint() {
            break;
        }
        let walk =
            |&(index, side): &(usize, f64)| search_outwards(evaluator, query, &centre.point, &fit_losses, index, side);
        let found: Vec<Vec<TriedPoint>> = Workers::Shared.map(&sides, walk);
        tried.extend(found.into_iter().flatten());
        if !query.thorough {
            break;
        }
        let point = descend_by_least_squares(evaluator, best_tried(&tried).point, query.free, &FINE);
        let losses = evaluator.ask(Question::Drawn, &point);
        tried.push(TriedPoint { point, losses });
        let best = best_tried(&tried);
        if best.losses[0] >= centre.losses[0] * (1.0 - WORTH) {
            break;
        }
        centre = best;
    }
    let slopes = Slopes::measure_at(evaluator, &centre.point, query.free, SLOPE_STEP);
    let pairs = slopes.as_ref().map_or_else(Vec::new, |slopes| trading_pairs(slopes, &moved));
    let mut of = interval_ends(evaluator.parameters, query.point, &points_no_worse(&fit_losses, &tried), &moved);
    for index in (0..of.len()).filter(|&index| query.moved[index]) {
        of[index] = of[index].or_else(|| choice_interval(evaluator, query, &fit_losses, slopes.as_ref(), index));
    }
    if evaluator.ended_at_checkpoint() {
        return Intervals { of: vec![None; query.point.len()], pairs: Vec::new() };
    }
    Intervals { of, pairs }
}

/// The least and the largest choice of a numeric rule with which a point, its numbers following, is no worse than the
/// one with the losses `fit_losses`.
fn choice_interval(
    evaluator: &PointEvaluator<'_>,
    query: &IntervalQuery<'_>,
    fit_losses: &[f64],
    slopes: Option<&Slopes>,
    index: usize,
) -> Option<ValueInterval> {
    let numbers = evaluator.parameters[index].numeric_choices()?;
    let no_worse = |&choice: &usize| {
        let mut other = query.point.to_vec();
        other[index] = choice as f64;
        let settled = match slopes.filter(|_| !query.thorough) {
            Some(slopes) => best_of_points(
                evaluator,
                [slopes.steps_from_other_rules(evaluator, &other, None), vec![other]].concat(),
            ),
            None => descend_by_least_squares(evaluator, other, query.free, &FINE),
        };
        share_of_draws_better(fit_losses, &evaluator.ask(Question::Drawn, &settled)) < SURE
    };
    // Choices are tried in sequence, since each may end the fit; the losses of a choice are found on all cores.
    let values: Vec<f64> = (0..numbers.len()).filter(no_worse).map(|choice| numbers[choice]).collect();
    let fitted = numbers[query.point[index] as usize];
    Some(values.iter().fold((fitted, fitted), |(low, high), value| (low.min(*value), high.max(*value))))
}

/// Moves one number outwards to one `side`, -1 or 1, while points are no worse than the one with the losses `fit_losses`; returns the points
/// tried.
fn search_outwards(
    evaluator: &PointEvaluator<'_>,
    query: &IntervalQuery<'_>,
    centre: &[f64],
    fit_losses: &[f64],
    index: usize,
    side: f64,
) -> Vec<TriedPoint> {
    let mut tried = Vec::new();
    let mut here = centre.to_vec();
    let Some(mut slopes) = Slopes::measure_at(evaluator, &here, query.free, SLOPE_STEP) else { return tried };
    let steps = if query.thorough { CLOSE } else { COARSE };
    let mut step = steps.first;
    for _ in 0..steps.trials {
        let number_move = NumberMove { index, by: side * step };
        let beyond = best_of_points(evaluator, slopes.move_one_number(evaluator, &here, number_move).to_vec());
        if beyond[index] == here[index] {
            break;
        }
        let settled = match query.thorough {
            true => settle_other_numbers(evaluator, beyond, query.free, index),
            false => Some((settle_other_numbers_once(evaluator, &slopes, beyond, index), None)),
        };
        let Some((point, new_slopes)) = settled else { break };
        let losses = evaluator.ask(Question::Drawn, &point);
        if share_of_draws_better(fit_losses, &losses) < SURE {
            (here, step) = (point.clone(), 2.0 * step);
            slopes = new_slopes.unwrap_or(slopes);
        } else {
            step /= 2.0;
        }
        tried.push(TriedPoint { point, losses });
        if step < steps.least {
            break;
        }
    }
    tried
}

/// `point` with the numbers except `fixed` settled once, as far as the slopes of another point lead.
fn settle_other_numbers_once(
    evaluator: &PointEvaluator<'_>,
    slopes: &Slopes,
    point: Vec<f64>,
    fixed: usize,
) -> Vec<f64> {
    let mut points = slopes.steps_from_other_rules(evaluator, &point, Some(fixed));
    points.push(point);
    best_of_points(evaluator, points)
}

/// The most steps in which other numbers settle.
const SETTLES: usize = 3;

/// `point` with the numbers except `fixed` settled by least squares, and the slopes there; `None` if no drive can be made of a point.
fn settle_other_numbers(
    evaluator: &PointEvaluator<'_>,
    mut point: Vec<f64>,
    free: &[bool],
    fixed: usize,
) -> Option<(Vec<f64>, Option<Slopes>)> {
    let mut slopes = Slopes::measure_at(evaluator, &point, free, SLOPE_STEP)?;
    for _ in 0..SETTLES {
        let points = slopes.residual_steps(evaluator, &point, Some(fixed));
        let losses = evaluator.losses(&points);
        let least = (0..points.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b]))?;
        if losses[least] >= evaluator.loss(&point) {
            break;
        }
        point.clone_from(&points[least]);
        slopes = Slopes::measure_at(evaluator, &point, free, SLOPE_STEP)?;
    }
    Some((point, Some(slopes)))
}

/// The intervals of parameters that moved, over the points `no_worse`.
fn interval_ends(
    parameters: &[Parameter],
    point: &[f64],
    no_worse: &[&[f64]],
    moved: &[usize],
) -> Vec<Option<ValueInterval>> {
    let mut ends = vec![None; point.len()];
    for &index in moved {
        let values = no_worse.iter().map(|point| point[index]);
        let fitted = point[index];
        let (low, high) = values.fold((fitted, fitted), |(low, high), value| (low.min(value), high.max(value)));
        let range = parameters[index].range().expect("only numbers are moved");
        // A value stands for its whole step.
        ends[index] = Some((range.round_to_step(low - range.step), range.round_to_step(high + range.step)));
    }
    ends
}

/// The pairs of numbers that trade, each once, of which at least one moved.
fn trading_pairs(slopes: &Slopes, moved: &[usize]) -> Vec<TradingPair> {
    let correlations = slopes.correlations();
    let mut pairs = Vec::new();
    for (row, &number) in slopes.numbers.iter().enumerate().filter(|(_, number)| moved.contains(number)) {
        for (column, &other) in slopes.numbers.iter().enumerate() {
            let is_listed = moved.contains(&other) && other < number;
            let correlation = correlations[row][column];
            if number != other && !is_listed && correlation.abs() >= TRADES {
                pairs.push(TradingPair { moved: number, other, correlation });
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests;
