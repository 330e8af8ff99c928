//! The rules by which a change of a parameter stays. A parameter goes back to its original value if the seen data do not distinguish the
//! two values, or if the held-back data do not confirm the change.
//!
//! Noise is the scatter over resampled blocks. The seen data show a change if it is better in 84 of 100 draws, which is one standard error;
//! the held-back data confirm it if it is better in more than 60.
//!
//! Each step is compared with the best point so far, not with the point before it: otherwise many small losses, each
//! within noise, would add up to one that is not.

use serde::Serialize;

use super::data::LossAndDraws;
use super::evaluator::{PointEvaluator, Question, share_of_draws_better};
use super::interval::Intervals;
use super::parameter::FigureMark;
use super::search::{CLOSE_SPREAD, EvaluatorPair, SearchEffort, search_numbers};
use super::slope::{descend_by_least_squares, set_with_followers};

/// The share of draws in which a change must be better: one standard error of a normal distribution.
pub const SURE: f64 = 0.84;

/// More than chance: of two equal points each is better in half of the draws.
///
/// A number is dispensable if, on the seen data, the point with all numbers is better in no more than this share of draws. A change that
/// the seen data show surely stays if the point with it is better in this share of draws of the held-back data. With a higher share, noise
/// in the held-back data would undo a dozen right changes one by one, and the losses would add up. A last test asks whether all changes
/// together are surely better.
const ABOVE_CHANCE: f64 = 0.6;

/// The shares of draws that decide, chosen while looking at eight measured drives; `docs/fit.md` shows what others give.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgeShares {
    /// For a change on the seen data, and for all changes together on the held-back data.
    pub sure: f64,
    /// On the held-back data, for a change that the seen data show surely.
    pub agreed: f64,
}

impl JudgeShares {
    /// The defaults: one standard error, and more than chance.
    pub(crate) const USUAL: JudgeShares = JudgeShares { sure: SURE, agreed: ABOVE_CHANCE };
}

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
    /// The search did not move it.
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

/// Puts back numbers that the seen data do not need: a number goes back if the others, following, meet the data as well. The others follow
/// on short jobs; whole jobs judge the result.
pub(crate) fn put_back_unneeded(
    evaluators: EvaluatorPair<'_, '_>,
    origin: &[f64],
    point: Vec<f64>,
    effort: SearchEffort,
    reasons: &mut [Option<RejectionReason>],
) -> Vec<f64> {
    let all_losses = evaluators.whole.ask(Question::Drawn, &point);
    let mut point = point;
    for index in moved_numbers_in_test_order(evaluators.whole, origin, &point) {
        if evaluators.whole.ended_at_checkpoint() {
            break;
        }
        let other = put_back_with_followers(evaluators.short, origin, &point, index, effort);
        if !evaluators.whole.ended_at_checkpoint()
            && share_of_draws_better(&all_losses, &evaluators.whole.ask(Question::Drawn, &other)) <= ABOVE_CHANCE
        {
            reasons[index] = Some(RejectionReason::NotTold);
            point = other;
        }
    }
    point
}

/// Puts back each number that its interval does not determine: the interval is wider than half of the range and includes the original
/// value, and the data do not confirm the change. A number stays if the point without it would no longer meet the held-back data better
/// than the profile does.
pub fn put_back_undetermined(
    evaluator: &PointEvaluator<'_>,
    origin: &[f64],
    point: Vec<f64>,
    intervals: &Intervals,
    effort: SearchEffort,
    reasons: &mut [Option<RejectionReason>],
) -> Vec<f64> {
    let mut questions = vec![(Question::Drawn, effort.shares.sure)];
    if evaluator.has_held_data() {
        questions.push((Question::Held, effort.shares.agreed));
    }
    let losses: Vec<LossAndDraws> = questions.iter().map(|(question, _)| evaluator.ask(*question, &point)).collect();
    let is_undetermined = |index: &usize| {
        let interval = intervals.of[*index];
        interval.is_some_and(|(low, high)| low <= origin[*index] && origin[*index] <= high)
            && evaluator.parameters[*index].is_wide_interval(interval)
    };
    let is_good_enough = |other: &Vec<f64>| {
        let mut pairs = questions.iter().zip(&losses);
        let worse = pairs.any(|((question, share), losses)| {
            share_of_draws_better(losses, &evaluator.ask(*question, other)) >= *share
        });
        !worse && is_surely_better_on_held_data(evaluator, origin, other, effort.shares) != Some(false)
    };
    let mut point = point;
    for index in moved_numbers_in_test_order(evaluator, origin, &point).into_iter().filter(is_undetermined) {
        let alone = with_original_value(origin, &point, index);
        let other = if is_good_enough(&alone) {
            alone
        } else {
            put_back_with_followers(evaluator, origin, &point, index, effort)
        };
        if is_good_enough(&other) {
            reasons[index] = Some(RejectionReason::NotTold);
            point = other;
        }
    }
    point
}

/// `point` with one parameter at its original value.
fn with_original_value(origin: &[f64], point: &[f64], index: usize) -> Vec<f64> {
    let mut other = point.to_vec();
    other[index] = origin[index];
    other
}

/// The indices of numbers that moved, in the order of testing: numbers without a stated source first, and those that moved less before
/// those that moved more. If several numbers can replace each other, those tested first go back and few carry the change.
fn moved_numbers_in_test_order(evaluator: &PointEvaluator<'_>, origin: &[f64], point: &[f64]) -> Vec<usize> {
    let range = |index: usize| evaluator.parameters[index].range();
    let distance = |index: usize| {
        range(index).map_or(0.0, |range| (range.position_of(point[index]) - range.position_of(origin[index])).abs())
    };
    let rank = |index: usize| match evaluator.parameters[index].marked {
        FigureMark::Absent | FigureMark::Inferred | FigureMark::Provisional => 0,
        FigureMark::Imported | FigureMark::Fitted | FigureMark::Named | FigureMark::Stated => 1,
    };
    let mut moved: Vec<usize> =
        (0..point.len()).filter(|&index| point[index] != origin[index] && range(index).is_some()).collect();
    moved.sort_by(|&a, &b| rank(a).cmp(&rank(b)).then(distance(a).total_cmp(&distance(b))));
    moved
}

/// `point` with one number at its original value, and the others that moved following.
fn put_back_with_followers(
    evaluator: &PointEvaluator<'_>,
    origin: &[f64],
    point: &[f64],
    index: usize,
    effort: SearchEffort,
) -> Vec<f64> {
    let moved: Vec<bool> = (0..point.len()).map(|index| point[index] != origin[index]).collect();
    let alone = with_original_value(origin, point, index);
    let followed = set_with_followers(evaluator, point, &moved, index, origin[index]);
    let free: Vec<bool> = (0..moved.len()).map(|other| moved[other] && other != index).collect();
    let followed = descend_by_least_squares(evaluator, followed, &free, effort.step_widths());
    let start = if evaluator.loss(&followed) < evaluator.loss(&alone) { followed } else { alone };
    search_numbers(evaluator, start, &free, CLOSE_SPREAD, effort.generations_after_change())
}

/// Puts back changes that the data do not confirm, the least important first.
pub(crate) fn put_back_unconfirmed(
    evaluator: &PointEvaluator<'_>,
    origin: &[f64],
    point: Vec<f64>,
    shares: JudgeShares,
    reasons: &mut [Option<RejectionReason>],
) -> Vec<f64> {
    let seen =
        ConfirmationTest { question: Question::Drawn, least_share: shares.sure, reason: RejectionReason::NotTold };
    let held =
        ConfirmationTest { question: Question::Held, least_share: shares.agreed, reason: RejectionReason::NotBetter };
    let point = put_back_if_no_worse(evaluator, seen, origin, point, reasons);
    if evaluator.has_held_data() { put_back_if_no_worse(evaluator, held, origin, point, reasons) } else { point }
}

/// A test of changes, one by one.
struct ConfirmationTest {
    question: Question,
    /// The share of draws in which a change must be better to stay.
    least_share: f64,
    /// The reason to put back a change that is not.
    reason: RejectionReason,
}

/// Puts back each change of `from` that does not pass `test`.
fn put_back_if_no_worse(
    evaluator: &PointEvaluator<'_>,
    test: ConfirmationTest,
    origin: &[f64],
    from: Vec<f64>,
    reasons: &mut [Option<RejectionReason>],
) -> Vec<f64> {
    let ConfirmationTest { question, least_share, reason } = test;
    let moved: Vec<usize> = (0..from.len()).filter(|&index| from[index] != origin[index]).collect();
    // The cheapest to put back is tested first: of two equivalent numbers one then stays.
    let without: Vec<Vec<f64>> = moved.iter().map(|&index| with_original_value(origin, &from, index)).collect();
    let losses = evaluator.losses(&without);
    let mut order: Vec<usize> = (0..moved.len()).collect();
    order.sort_by(|&a, &b| losses[a].total_cmp(&losses[b]));
    let mut point = from.clone();
    let mut best = evaluator.ask(question, &point);
    for index in order.into_iter().map(|place| moved[place]) {
        let other = with_original_value(origin, &point, index);
        let answer = evaluator.ask(question, &other);
        if share_of_draws_better(&best, &answer) < least_share {
            point = other;
            if answer[0] < best[0] {
                best = answer;
            }
        }
    }
    // Answers of a fit that ended meanwhile decide nothing.
    if evaluator.ended_at_checkpoint() {
        return from;
    }
    for index in (0..point.len()).filter(|&index| point[index] != from[index]) {
        reasons[index] = Some(reason);
    }
    point
}

/// True if `point` meets the held-back data better than `origin`, beyond noise; `None` without held-back data.
pub(crate) fn is_surely_better_on_held_data(
    evaluator: &PointEvaluator<'_>,
    origin: &[f64],
    point: &[f64],
    shares: JudgeShares,
) -> Option<bool> {
    let held_losses = |point: &[f64]| evaluator.ask(Question::Held, point);
    evaluator.has_held_data().then(|| share_of_draws_better(&held_losses(point), &held_losses(origin)) >= shares.sure)
}

#[cfg(test)]
mod tests;
