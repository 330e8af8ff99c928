//! Which changes stay. A parameter goes back to its original value if the seen data do not distinguish the two, or if
//! the held-back data do not confirm the change. Noise is what resampling of blocks gives: the seen data show a change
//! if it is better in 84 of 100 draws, which is one standard error; the held-back data confirm it if it is better in
//! more than 60.
//!
//! Each step is compared with the best point so far, not with the one before it: otherwise many small losses, each
//! within noise, would add up to one that is not.

use serde::Serialize;

use super::evaluator::{PointEvaluator, Question, share_better};
use super::frugal_search::Fidelities;
use super::interval::Intervals;
use super::parameter::FigureMark;
use super::search::{SearchEffort, search_numbers};
use super::slope::{descend, set_with_followers};

/// The share of draws in which a change must be better: one standard error of a normal distribution.
pub const SURE: f64 = 0.84;

/// A number is dispensable if the point with all numbers is better in no more draws than this: of two equal points each
/// is better in half.
const SPARED: f64 = 0.6;

/// The shares of draws that decide, chosen while looking at eight measured drives; `docs/fit.md` shows what others give.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgeShares {
    /// For a change on the seen data, and for the whole on the held-back data.
    pub sure: f64,
    /// For a change on the held-back data that the seen data show surely.
    pub agreed: f64,
}

impl JudgeShares {
    /// The defaults: one standard error, and more than chance.
    pub(crate) const USUAL: JudgeShares = JudgeShares { sure: SURE, agreed: AGREED };
}

/// The share of draws of the held-back data in which a change must be better that the seen data show surely: more than for two equal
/// points. With a higher share, noise in the held-back data would undo a dozen right changes one by one, and the losses add up; whether the
/// whole is surely better is asked at the end.
const AGREED: f64 = SPARED;

/// Why a parameter was left or put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RejectionReason {
    /// No simulated time depends on it.
    NotFelt,
    /// Over its whole range it moves the figures by less than their errors.
    TooLittle,
    /// The fit ended before its change was judged.
    NotJudged,
    /// The search left it where it was.
    NotMoved,
    /// The seen data are met as well without its change.
    NotTold,
    /// The held-back data are not met better beyond their noise.
    NotBetter,
}

impl RejectionReason {
    /// All reasons, in the order of the report's list.
    pub const ALL: [RejectionReason; 6] = [
        RejectionReason::NotFelt,
        RejectionReason::TooLittle,
        RejectionReason::NotJudged,
        RejectionReason::NotTold,
        RejectionReason::NotBetter,
        RejectionReason::NotMoved,
    ];

    /// The reason as a sentence.
    pub const fn words(self) -> &'static str {
        match self {
            RejectionReason::NotFelt => "No simulated time depends on it",
            RejectionReason::TooLittle => "It moves what was measured by less than that is known, over its whole range",
            RejectionReason::NotJudged => "Not judged, as the fit ended early",
            RejectionReason::NotTold => "The data are met as well without a change of it",
            RejectionReason::NotBetter => "No significant improvement on held-out data by another value",
            RejectionReason::NotMoved => "Its value is the best one",
        }
    }
}

/// Puts back what the seen data do not need: a number goes back if the others, following, meet them as well. The others follow on short
/// jobs; whole jobs judge the result.
pub(crate) fn put_back_unneeded(
    at: Fidelities<'_, '_>,
    origin: &[f64],
    point: Vec<f64>,
    effort: SearchEffort,
    left: &mut [Option<RejectionReason>],
) -> Vec<f64> {
    let whole = at.whole.ask(Question::Drawn, &point);
    let mut point = point;
    for index in numbers_moved(at.whole, origin, &point) {
        if at.whole.reach_checkpoint() {
            break;
        }
        let other = put_back_and_follow(at.rough, origin, &point, index, effort);
        if !at.whole.reach_checkpoint() && share_better(&whole, &at.whole.ask(Question::Drawn, &other)) <= SPARED {
            left[index] = Some(RejectionReason::NotTold);
            point = other;
        }
    }
    point
}

/// Puts back each number that its interval does not determine: the interval is wider than half of the range and includes the original
/// value, and the data do not confirm the change. A number stays if the whole needs it to meet the held-back data better than the profile
/// did.
pub fn keep_determined(
    evaluator: &PointEvaluator<'_>,
    origin: &[f64],
    point: Vec<f64>,
    intervals: &Intervals,
    effort: SearchEffort,
    left: &mut [Option<RejectionReason>],
) -> Vec<f64> {
    let mut questions = vec![(Question::Drawn, effort.shares.sure)];
    if evaluator.has_held_data() {
        questions.push((Question::Held, effort.shares.agreed));
    }
    let whole: Vec<Vec<f64>> = questions.iter().map(|(question, _)| evaluator.ask(*question, &point)).collect();
    let untold = |index: &usize| {
        let interval = intervals.of[*index];
        interval.is_some_and(|(low, high)| low <= origin[*index] && origin[*index] <= high)
            && evaluator.parameters[*index].is_wide(interval)
    };
    let will_do = |other: &Vec<f64>| {
        let mut asked = questions.iter().zip(&whole);
        let worse =
            asked.any(|((question, sure), whole)| share_better(whole, &evaluator.ask(*question, other)) >= *sure);
        !worse && is_surely_better(evaluator, origin, other, effort.shares) != Some(false)
    };
    let mut point = point;
    for index in numbers_moved(evaluator, origin, &point).into_iter().filter(untold) {
        let alone = with_original(origin, &point, index);
        let other = if will_do(&alone) { alone } else { put_back_and_follow(evaluator, origin, &point, index, effort) };
        if will_do(&other) {
            left[index] = Some(RejectionReason::NotTold);
            point = other;
        }
    }
    point
}

/// `point` with one parameter at its original value.
fn with_original(origin: &[f64], point: &[f64], index: usize) -> Vec<f64> {
    let mut other = point.to_vec();
    other[index] = origin[index];
    other
}

/// The numbers that moved, in the order of testing: first those that were never stated, and among these the ones that moved least, so that
/// the fewest of several trading numbers carry the change.
fn numbers_moved(evaluator: &PointEvaluator<'_>, origin: &[f64], point: &[f64]) -> Vec<usize> {
    let range = |index: usize| evaluator.parameters[index].range();
    let by =
        |index: usize| range(index).map_or(0.0, |it| (it.place_of(point[index]) - it.place_of(origin[index])).abs());
    let rank = |index: usize| match evaluator.parameters[index].marked {
        FigureMark::Absent | FigureMark::Inferred | FigureMark::Provisional => 0,
        FigureMark::Imported | FigureMark::Fitted | FigureMark::Named => 1,
    };
    let mut moved: Vec<usize> =
        (0..point.len()).filter(|&index| point[index] != origin[index] && range(index).is_some()).collect();
    moved.sort_by(|&a, &b| rank(a).cmp(&rank(b)).then(by(a).total_cmp(&by(b))));
    moved
}

/// `point` with one number at its original value, and the others that moved following.
fn put_back_and_follow(
    evaluator: &PointEvaluator<'_>,
    origin: &[f64],
    point: &[f64],
    index: usize,
    effort: SearchEffort,
) -> Vec<f64> {
    let carried: Vec<bool> = (0..point.len()).map(|index| point[index] != origin[index]).collect();
    let mut other = with_original(origin, point, index);
    let followed = set_with_followers(evaluator, point, &carried, (index, origin[index]));
    let free: Vec<bool> = (0..other.len()).map(|other| carried[other] && other != index).collect();
    let followed = descend(evaluator, followed, &free, effort.step_shares());
    if evaluator.loss(&followed) < evaluator.loss(&other) {
        other = followed;
    }
    search_numbers(evaluator, other, &free, 0.02, effort.following_generations())
}

/// Puts back what the data do not confirm, the least important first; `left` gets the reasons.
pub(crate) fn put_back_unconfirmed(
    evaluator: &PointEvaluator<'_>,
    origin: &[f64],
    point: Vec<f64>,
    shares: JudgeShares,
    left: &mut [Option<RejectionReason>],
) -> Vec<f64> {
    let mut point = put_back_if_no_worse(
        evaluator,
        (Question::Drawn, shares.sure),
        origin,
        point,
        (RejectionReason::NotTold, left),
    );
    if evaluator.has_held_data() {
        point = put_back_if_no_worse(
            evaluator,
            (Question::Held, shares.agreed),
            origin,
            point,
            (RejectionReason::NotBetter, left),
        );
    }
    point
}

fn put_back_if_no_worse(
    evaluator: &PointEvaluator<'_>,
    (question, sure): (Question, f64),
    origin: &[f64],
    from: Vec<f64>,
    (why, left): (RejectionReason, &mut [Option<RejectionReason>]),
) -> Vec<f64> {
    let mut moved: Vec<usize> = (0..from.len()).filter(|&index| from[index] != origin[index]).collect();
    // The cheapest to put back is tested first: of two equivalent numbers one then stays.
    let asked: Vec<Vec<f64>> = moved.iter().map(|&index| with_original(origin, &from, index)).collect();
    let losses = evaluator.losses(&asked);
    let mut order: Vec<usize> = (0..moved.len()).collect();
    order.sort_by(|&a, &b| losses[a].total_cmp(&losses[b]));
    moved = order.into_iter().map(|place| moved[place]).collect();
    let mut point = from.clone();
    let mut best = evaluator.ask(question, &point);
    for index in moved {
        let other = with_original(origin, &point, index);
        let answer = evaluator.ask(question, &other);
        if share_better(&best, &answer) < sure {
            point = other;
            if answer[0] < best[0] {
                best = answer;
            }
        }
    }
    // Answers of a fit that ended meanwhile decide nothing.
    if evaluator.reach_checkpoint() {
        return from;
    }
    for index in (0..point.len()).filter(|&index| point[index] != from[index]) {
        left[index] = Some(why);
    }
    point
}

/// Whether `point` does better on the held-back data than `origin`, beyond noise; `None` without held-back data.
pub(crate) fn is_surely_better(
    evaluator: &PointEvaluator<'_>,
    origin: &[f64],
    point: &[f64],
    shares: JudgeShares,
) -> Option<bool> {
    let held = |point: &[f64]| evaluator.ask(Question::Held, point);
    evaluator.has_held_data().then(|| share_better(&held(point), &held(origin)) >= shares.sure)
}

#[cfg(test)]
mod tests;
