//! Turns measurements of a drive into a profile: uncertain figures of a profile are moved within their ranges until the
//! drive reproduces what was measured, as far as held-back data confirm it.
//!
//! The room is pure: a profile and data in, a point and findings out. It opens no file and writes none; `docs/fit.md`
//! describes the method.
//!
//! | room | what it is |
//! |---|---|
//! | [`parameter`] | what may move, and how |
//! | [`ranges`] | the limits of each move |
//! | [`data`] | traces and jobs, repeated on another drive |
//! | [`loss`] | the error of a replayed trace |
//! | [`points`] | the error of jobs with figures |
//! | [`evaluator`](mod@evaluator) | points tried, each once |
//! | [`search`] | rules and numbers |
//! | [`slope`] | the effect of each number on each figure |
//! | [`judge`] | what is put back |
//! | [`sources`] | from texts to data |
//! | [`interval`] | intervals of figures, and which figures trade |
//! | [`write`](mod@write) | the fitted profile |
//! | [`report`] | the findings |
//! | [`page`] | the findings as a page |

pub mod data;
pub mod evaluator;
pub mod interval;
pub mod judge;
pub mod loss;
pub mod page;
pub mod parameter;
pub mod points;
pub mod ranges;
pub mod report;
pub mod search;
pub mod slope;
pub mod sources;
pub mod write;

use std::collections::BTreeMap;

use seekwise_formats::profile::DriveFile;

use data::FitData;
use evaluator::{FitListener, PointEvaluator, Question, share_better};
use interval::{IntervalQuery, Intervals};
use judge::{RejectionReason, SURE};
use parameter::Parameter;
use search::SearchEffort;

/// The result of a fit.
#[derive(Clone, Debug)]
pub struct FitResult {
    pub parameters: Vec<Parameter>,
    /// The fitted value of each.
    pub point: Vec<f64>,
    /// Why a parameter did not move.
    pub left: Vec<Option<RejectionReason>>,
    /// Intervals of those that moved.
    pub intervals: Intervals,
    /// The loss on the seen data, before and after.
    pub seen: (f64, f64),
    /// The loss on the held-back data.
    pub held: Option<(f64, f64)>,
}

/// Fits `drive` to `data`. `known` has the answers of an interrupted fit; `listener` hears of each point, and may end it: then there
/// is no result.
pub fn fit(
    drive: &DriveFile,
    parameters: Vec<Parameter>,
    data: &[FitData],
    effort: SearchEffort,
    known: BTreeMap<String, Vec<f64>>,
    listener: FitListener<'_>,
) -> Option<FitResult> {
    let evaluator = PointEvaluator::new(drive, &parameters, data, known, listener);
    let origin = parameter::origin(&parameters);
    let (found, free) = searched(&evaluator, &origin, effort);
    let mut point = found.clone();
    let mut left: Vec<Option<RejectionReason>> = vec![None; point.len()];
    point = judge::thin(&evaluator, &origin, point, effort, &mut left);
    point = judge::take_back(&evaluator, &origin, point, &mut left);
    point = settled(&evaluator, &origin, point, effort);
    let (point, intervals) = spread(&evaluator, &origin, point, (&found, &free), effort, &mut left);
    for (index, left) in
        left.iter_mut().enumerate().filter(|(index, left)| point[*index] == origin[*index] && left.is_none())
    {
        *left = Some(if free[index] { RejectionReason::NotMoved } else { RejectionReason::NotFelt });
    }
    let both = |question| (evaluator.ask(question, &origin)[0], evaluator.ask(question, &point)[0]);
    let seen = both(Question::Seen);
    let held = evaluator.holds_back().then(|| both(Question::Held));
    let whole = !evaluator.was_cancelled();
    drop(evaluator);
    whole.then_some(FitResult { parameters, point, left, intervals, seen, held })
}

/// The point where the search ends, and what the data feel there. It begins twice, with rules and with numbers, because
/// whichever comes first also fits what belongs to the other; it continues from the end that is better on the held-back
/// data.
fn searched(evaluator: &PointEvaluator<'_>, origin: &[f64], effort: SearchEffort) -> (Vec<f64>, Vec<bool>) {
    let free = search::felt(evaluator, origin);
    let numbers = slope::descend(evaluator, origin.to_vec(), &free, &slope::WIDE);
    let [one, other] = [origin.to_vec(), numbers].map(|start| walked(evaluator, start, effort));
    let judged = if evaluator.holds_back() { Question::Held } else { Question::Seen };
    let point = if evaluator.ask(judged, &other)[0] < evaluator.ask(judged, &one)[0] { other } else { one };
    let free = search::felt(evaluator, &point);
    let point = search::rules_followed(evaluator, point, &free, effort);
    (slope::descend(evaluator, point, &free, &slope::FINE), free)
}

/// Rules and numbers in turn from `point` on, wide and close.
fn walked(evaluator: &PointEvaluator<'_>, mut point: Vec<f64>, effort: SearchEffort) -> Vec<f64> {
    for (spread, generations) in [(0.15, effort.generations), (0.05, effort.generations / 2)] {
        let free = search::felt(evaluator, &point);
        point = search::rules(evaluator, point, &free);
        let free = search::felt(evaluator, &point);
        point = search::numbers(evaluator, point, &free, spread, generations);
        point = slope::descend(evaluator, point, &free, &slope::FINE);
    }
    point
}

fn moved(origin: &[f64], point: &[f64]) -> Vec<bool> {
    origin.iter().zip(point).map(|(origin, value)| origin != value).collect()
}

/// Searches once more what stays, without what was put back, unless the held-back data then get worse.
fn settled(evaluator: &PointEvaluator<'_>, origin: &[f64], point: Vec<f64>, effort: SearchEffort) -> Vec<f64> {
    let moved = moved(origin, &point);
    let again = search::numbers(evaluator, point.clone(), &moved, 0.02, effort.generations / 4);
    let again = slope::descend(evaluator, again, &moved, &slope::FINE);
    let worse = evaluator.holds_back()
        && share_better(&evaluator.ask(Question::Held, &point), &evaluator.ask(Question::Held, &again)) >= SURE;
    if worse { point } else { again }
}

/// The point and its intervals, without what these do not determine. If the held-back data are met no better than by
/// the original profile, everything goes back. `found` is where the search ended, and what the data feel there.
fn spread(
    evaluator: &PointEvaluator<'_>,
    origin: &[f64],
    point: Vec<f64>,
    (found, free): (&[f64], &[bool]),
    effort: SearchEffort,
    left: &mut [Option<RejectionReason>],
) -> (Vec<f64>, Intervals) {
    if point == origin || judge::better(evaluator, origin, &point) == Some(false) {
        for (index, left) in left.iter_mut().enumerate() {
            if point[index] != origin[index] {
                *left = Some(RejectionReason::NotBetter);
            }
        }
        return (origin.to_vec(), Intervals { of: vec![None; origin.len()], pairs: Vec::new() });
    }
    // Its numbers with the rules that stayed.
    let number = |index: usize| evaluator.parameters[index].range().is_some();
    let beside: Vec<f64> =
        (0..point.len()).map(|index| if number(index) { found[index] } else { point[index] }).collect();
    let moved = moved(origin, &point);
    let asked = IntervalQuery { point: &point, beside: &beside, moved: &moved, free };
    let intervals = interval::intervals(evaluator, &asked);
    let point = judge::keep_determined(evaluator, origin, point, &intervals, effort, left);
    let intervals = intervals.at(evaluator.parameters, &point);
    (point, intervals)
}
