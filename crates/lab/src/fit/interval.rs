//! The interval of each fitted number. A point is no worse than the fit's if the fit's is better in fewer than 84 of 100 draws of blocks of
//! the seen data: a region by profile of the loss, with its threshold by the bootstrap. A number's interval reaches from its least to its
//! largest value in all points that are no worse. The other numbers may follow, including those put back, because others have taken their
//! share. If the search finds a better point than the fit's, the fit had not converged; the region of points no worse than the fit's then
//! reaches further, as it should.
//!
//! Why 84 of 100: near its minimum a loss is a parabola of curvature H, and a draw of blocks tilts it by a slope of
//! standard deviation S, so that the draws' best points scatter by S/H, the standard error. A point at a distance d
//! from the best does better in a draw that tilts by more than H·d/2. For a normal distribution this happens in 16 of
//! 100 draws at d = 2·S/H: the interval is that of 95 in 100.
//!
//! The search for points that are no worse goes number by number, outwards: the number moves on, and the others follow so that the
//! simulated values change least and then settle by least squares ([`slope`](super::slope)). Each step is twice the last while the point is
//! no worse, else half of it. The search goes first from the fit's point, then from the best known one. For jobs, whose points take
//! seconds, slopes are taken at the fit's point alone, steps are longer, and the others settle once.

use super::evaluator::{PointEvaluator, Question, share_better};
use super::judge::SURE;
use super::parameter::Parameter;
use super::slope::{FINE, Slopes, best_of_points, descend};
use crate::workers::Workers;

/// Steps outwards.
struct StepSizes {
    /// The first and the smallest, as shares of a range.
    first: f64,
    least: f64,
    /// Steps tried on each side.
    trials: usize,
}

const CLOSE: StepSizes = StepSizes { first: 1.0 / 128.0, least: 1.0 / 2048.0, trials: 11 };

/// Four doublings reach half of a range; an end is found to a sixty-fourth of the range.
const COARSE: StepSizes = StepSizes { first: 1.0 / 32.0, least: 1.0 / 64.0, trials: 7 };

/// Steps over which slopes are taken, as a share of a range.
const AHEAD: f64 = 0.02;

/// The correlation from which on two numbers count as trading.
const TRADES: f64 = 0.8;

/// The intervals of the numbers of a point, and which trade.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Intervals {
    /// For each parameter that moved and is a number or a numeric rule: least and most.
    pub of: Vec<Option<(f64, f64)>>,
    /// Pairs of parameters that trade, with their correlation; the first moved.
    pub pairs: Vec<(usize, usize, f64)>,
}

impl Intervals {
    /// Adjusts the intervals to a point at which some numbers were put back and the others followed.
    #[must_use]
    pub(crate) fn adjusted_to(mut self, parameters: &[Parameter], point: &[f64]) -> Intervals {
        let went = |index: usize| point[index] == parameters[index].origin;
        for (index, ends) in self.of.iter_mut().enumerate() {
            let number = parameters[index].range().is_some();
            *ends = ends.filter(|_| !went(index));
            if let Some((low, high)) = ends.filter(|_| number) {
                *ends = Some((low.min(point[index]), high.max(point[index])));
            }
        }
        self.pairs.retain(|&(a, _, _)| !went(a));
        self
    }
}

/// The subject of the intervals.
pub(crate) struct IntervalQuery<'a> {
    /// The point whose numbers get intervals.
    pub point: &'a [f64],
    /// Another start of the search for points that are no worse.
    pub beside: &'a [f64],
    /// The parameters that moved.
    pub moved: &'a [bool],
    /// The parameters that may follow.
    pub free: &'a [bool],
    /// Takes slopes at each point, and small steps.
    pub thorough: bool,
}

/// A point with the losses of the whole and of each draw.
type Tried = (Vec<f64>, Vec<f64>);

/// The points that are no worse than the one with the losses `fit`.
fn points_no_worse<'a>(fit: &[f64], tried: &'a [Tried]) -> Vec<&'a [f64]> {
    tried.iter().filter(|tried| share_better(fit, &tried.1) < SURE).map(|tried| &tried.0[..]).collect()
}

/// A search starts again from a better point, at most this often, and only if it is better by this share.
const CENTRES: usize = 3;
const WORTH: f64 = 0.002;

fn best_tried(tried: &[Tried]) -> Tried {
    tried.iter().min_by(|a, b| a.1[0].total_cmp(&b.1[0])).expect("something was tried").clone()
}

/// Finds the intervals of what moved; none if the fit ends meanwhile.
pub(crate) fn find_intervals(evaluator: &PointEvaluator<'_>, asked: &IntervalQuery<'_>) -> Intervals {
    let is_number = |index: usize| evaluator.parameters[index].range().is_some();
    let moved: Vec<usize> = (0..asked.point.len()).filter(|&index| asked.moved[index] && is_number(index)).collect();
    let mut first: Vec<Vec<f64>> = vec![asked.point.to_vec()];
    if asked.thorough {
        first.push(descend(evaluator, asked.point.to_vec(), asked.free, &FINE));
        first.push(asked.beside.to_vec());
        first.push(descend(evaluator, asked.beside.to_vec(), asked.free, &FINE));
    }
    let answers = evaluator.ask_all(Question::Drawn, &first);
    let mut tried: Vec<Tried> = first.into_iter().zip(answers).collect();
    let sides: Vec<(usize, f64)> = moved.iter().flat_map(|&index| [(index, -1.0), (index, 1.0)]).collect();
    let fit = tried[0].1.clone();
    let mut centre = tried[0].clone();
    for _ in 0..if asked.thorough { CENTRES } else { 1 } {
        if evaluator.reach_checkpoint() {
            break;
        }
        let walk = |&to: &(usize, f64)| search_outwards(evaluator, (&centre.0, &fit), asked, to);
        let found: Vec<Vec<Tried>> = Workers::Shared.map(&sides, walk);
        tried.extend(found.into_iter().flatten());
        if !asked.thorough {
            break;
        }
        let best = descend(evaluator, best_tried(&tried).0, asked.free, &FINE);
        let answer = evaluator.ask(Question::Drawn, &best);
        tried.push((best, answer));
        let best = best_tried(&tried);
        if best.1[0] >= centre.1[0] * (1.0 - WORTH) {
            break;
        }
        centre = best;
    }
    let slopes = Slopes::measure_at(evaluator, &centre.0, asked.free, AHEAD);
    let pairs = slopes.as_ref().map_or_else(Vec::new, |slopes| trading_pairs(slopes, &moved));
    let mut of = interval_ends(evaluator.parameters, asked.point, &points_no_worse(&fit, &tried), &moved);
    for index in (0..of.len()).filter(|&index| asked.moved[index]) {
        of[index] = of[index].or_else(|| choice_interval(evaluator, asked, (&fit, slopes.as_ref()), index));
    }
    if evaluator.reach_checkpoint() {
        return Intervals { of: vec![None; asked.point.len()], pairs: Vec::new() };
    }
    Intervals { of, pairs }
}

/// The least and the largest choice of a numeric rule with which, the numbers following, a point is no worse than the
/// one with the losses `fit`.
fn choice_interval(
    evaluator: &PointEvaluator<'_>,
    asked: &IntervalQuery<'_>,
    (fit, slopes): (&[f64], Option<&Slopes>),
    index: usize,
) -> Option<(f64, f64)> {
    let numbers = evaluator.parameters[index].numeric_choices()?;
    let no_worse = |&choice: &usize| {
        let mut other = asked.point.to_vec();
        other[index] = choice as f64;
        let settled = match slopes.filter(|_| !asked.thorough) {
            Some(slopes) => best_of_points(
                evaluator,
                [slopes.steps_from_other_rules(evaluator, &other, None), vec![other]].concat(),
            ),
            None => descend(evaluator, other, asked.free, &FINE),
        };
        share_better(fit, &evaluator.ask(Question::Drawn, &settled)) < SURE
    };
    let all: Vec<usize> = (0..numbers.len()).collect();
    // In sequence, since each may end the fit; the losses inside are found on all cores.
    let found: Vec<f64> = all.into_iter().filter(no_worse).map(|choice| numbers[choice]).collect();
    let own = numbers[asked.point[index] as usize];
    Some(found.iter().fold((own, own), |(low, high), it| (low.min(*it), high.max(*it))))
}

/// Moves one number outwards to one side while points are no worse than the one with the losses `fit`; returns the points tried.
fn search_outwards(
    evaluator: &PointEvaluator<'_>,
    (centre, fit): (&[f64], &[f64]),
    asked: &IntervalQuery<'_>,
    (index, side): (usize, f64),
) -> Vec<Tried> {
    let mut tried = Vec::new();
    let mut here = centre.to_vec();
    let Some(mut slopes) = Slopes::measure_at(evaluator, &here, asked.free, AHEAD) else { return tried };
    let steps = if asked.thorough { CLOSE } else { COARSE };
    let mut step = steps.first;
    for _ in 0..steps.trials {
        let beyond = best_of_points(evaluator, slopes.move_one_number(evaluator, &here, (index, side * step)).to_vec());
        if beyond[index] == here[index] {
            break;
        }
        let there = match asked.thorough {
            true => settle_others(evaluator, beyond, asked.free, index),
            false => Some((settle_once(evaluator, &slopes, beyond, index), None)),
        };
        let Some((settled, there)) = there else { break };
        let answer = evaluator.ask(Question::Drawn, &settled);
        if share_better(fit, &answer) < SURE {
            (here, step) = (settled.clone(), 2.0 * step);
            slopes = there.unwrap_or(slopes);
        } else {
            step /= 2.0;
        }
        tried.push((settled, answer));
        if step < steps.least {
            break;
        }
    }
    tried
}

/// `point` with the others settled once, as far as the slopes of another point lead.
fn settle_once(evaluator: &PointEvaluator<'_>, slopes: &Slopes, point: Vec<f64>, index: usize) -> Vec<f64> {
    let mut asked = slopes.steps_from_other_rules(evaluator, &point, Some(index));
    asked.push(point);
    best_of_points(evaluator, asked)
}

/// The most steps in which the others settle.
const SETTLES: usize = 3;

/// `point` with the others settled by least squares, and the slopes there.
fn settle_others(
    evaluator: &PointEvaluator<'_>,
    mut point: Vec<f64>,
    free: &[bool],
    index: usize,
) -> Option<(Vec<f64>, Option<Slopes>)> {
    let mut slopes = Slopes::measure_at(evaluator, &point, free, AHEAD)?;
    for _ in 0..SETTLES {
        let asked = slopes.residual_steps(evaluator, &point, Some(index));
        let losses = evaluator.losses(&asked);
        let least = (0..asked.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b]))?;
        if losses[least] >= evaluator.loss(&point) {
            break;
        }
        point.clone_from(&asked[least]);
        slopes = Slopes::measure_at(evaluator, &point, free, AHEAD)?;
    }
    Some((point, Some(slopes)))
}

/// The ends of the intervals of what moved, over the points `known`.
fn interval_ends(
    parameters: &[Parameter],
    point: &[f64],
    known: &[&[f64]],
    moved: &[usize],
) -> Vec<Option<(f64, f64)>> {
    let mut ends = vec![None; point.len()];
    for &index in moved {
        let values = known.iter().map(|known| known[index]);
        let (low, high) = values.fold((point[index], point[index]), |(low, high), it| (low.min(it), high.max(it)));
        let range = parameters[index].range().expect("only numbers are moved");
        // A value stands for its whole step.
        ends[index] = Some((range.round(low - range.step), range.round(high + range.step)));
    }
    ends
}

/// Pairs of numbers that trade, with their correlation; the first moved.
fn trading_pairs(slopes: &Slopes, moved: &[usize]) -> Vec<(usize, usize, f64)> {
    let together = slopes.correlations();
    let mut pairs = Vec::new();
    for (i, &a) in slopes.numbers.iter().enumerate().filter(|(_, a)| moved.contains(a)) {
        for (j, &b) in slopes.numbers.iter().enumerate() {
            let told = moved.contains(&b) && b < a;
            if a != b && !told && together[i][j].abs() >= TRADES {
                pairs.push((a, b, together[i][j]));
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests;
