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
//! | [`evaluator`](mod@evaluator) | points tried, each once; where a fit ends early |
//! | [`sensitivity`](mod@sensitivity) | what each key can move |
//! | [`search`] | rules and numbers |
//! | [`frugal`] | the same for jobs, planned by what each key can move |
//! | [`slope`] | the effect of each number on each figure |
//! | [`judge`] | what is put back |
//! | [`sources`] | from texts to data |
//! | [`interval`] | intervals of figures, and which figures trade |
//! | [`strain`] | figures at the end of their range, and what they pay for |
//! | [`write`](mod@write) | the fitted profile |
//! | [`report`] | the findings |
//! | [`page`] | the findings as a page |

pub mod data;
pub mod evaluator;
pub mod frugal;
pub mod interval;
pub mod judge;
pub mod loss;
pub mod page;
pub mod parameter;
pub mod points;
pub mod ranges;
pub mod report;
pub mod search;
pub mod sensitivity;
pub mod slope;
pub mod sources;
pub mod strain;
pub mod write;

use std::collections::BTreeMap;

use seekwise_formats::profile::DriveFile;

use data::FitData;
use evaluator::{FitEnding, FitListener, PointEvaluator, Question, share_better};
use frugal::Fidelities;
use interval::{IntervalQuery, Intervals};
use judge::RejectionReason;
use parameter::Parameter;
use search::SearchEffort;
use sensitivity::{Sensitivity, sensitivity};

/// The result of a fit.
#[derive(Clone, Debug)]
pub struct FitResult {
    pub parameters: Vec<Parameter>,
    /// The fitted value of each.
    pub point: Vec<f64>,
    /// Why a parameter did not move.
    pub left: Vec<Option<RejectionReason>>,
    /// Intervals of those that moved; none if it ended early.
    pub intervals: Intervals,
    /// The loss on the seen data, before and after.
    pub seen: (f64, f64),
    /// The loss on the held-back data.
    pub held: Option<(f64, f64)>,
    /// What each key can move; without any figure if it ended before.
    pub sensitivity: Sensitivity,
    /// Points tried.
    pub points: u64,
    /// Where it ended early: it is the best until then.
    pub ending: Option<FitEnding>,
}

/// What is fitted to what, and how far.
pub struct FitTask<'a> {
    pub drive: &'a DriveFile,
    /// What may move.
    pub parameters: Vec<Parameter>,
    pub data: &'a [FitData],
    pub effort: SearchEffort,
    /// The most points: it ends early after them, at a place that depends on nothing else.
    pub most: Option<u64>,
    /// The answers of an interrupted fit.
    pub known: BTreeMap<String, Vec<f64>>,
}

/// Fits a drive to data. `listener` hears of each point, and may end it: with the best until then, or without a result.
pub fn fit(task: FitTask<'_>, listener: FitListener<'_>) -> Option<FitResult> {
    let FitTask { drive, parameters, data, effort, most, known } = task;
    let shorter: Vec<FitData> = data.iter().map(|data| data.shortened(drive)).collect();
    let whole = PointEvaluator::new(drive, &parameters, data, known, listener).ending_after(most);
    let rough = whole.roughly(&shorter);
    let at = Fidelities { rough: if effort.thorough { &whole } else { &rough }, whole: &whole };
    let origin = parameter::origin(&parameters);
    let mut left: Vec<Option<RejectionReason>> = vec![None; origin.len()];
    at.rough.begins("what each key can move", forecast(&parameters, effort));
    let sensitivity = sensitivity(at.rough, &origin);
    let (mut point, free, intervals) = found(at, &origin, effort, &sensitivity, &mut left);
    let ending = whole.ending();
    if ending.is_some() {
        whole.close();
        point = closed(at, &origin, point, effort, &mut left);
    }
    let told = |index: usize| match (free[index], effort.thorough || sensitivity.strengths[index] == 0.0) {
        (true, _) => RejectionReason::NotMoved,
        (false, true) => RejectionReason::NotFelt,
        (false, false) => RejectionReason::TooLittle,
    };
    for (index, left) in left.iter_mut().enumerate().filter(|(index, _)| point[*index] == origin[*index]) {
        let otherwise = if ending.is_some() { RejectionReason::NotJudged } else { told(index) };
        left.get_or_insert(otherwise);
    }
    let both = |question| (whole.ask(question, &origin)[0], whole.ask(question, &point)[0]);
    let seen = both(Question::Seen);
    let held = whole.holds_back().then(|| both(Question::Held));
    let (complete, points) = (!whole.was_cancelled(), whole.count());
    drop((whole, rough));
    complete.then_some(FitResult { parameters, point, left, intervals, seen, held, sensitivity, points, ending })
}

/// Points that a thorough search tries for each figure that may move: one of six figures to five jobs tried 254 each
/// (measured). What the data feel decides it.
const THOROUGH_POINTS: u64 = 254;

/// Points that a fit is expected to try.
pub fn forecast(parameters: &[Parameter], effort: SearchEffort) -> u64 {
    match effort.thorough {
        true => sensitivity::points_of(parameters) + THOROUGH_POINTS * parameters.len() as u64,
        false => frugal::forecast(parameters, effort),
    }
}

/// The point that stays, what the data feel, and its intervals; wherever the fit ends early, what it has until then.
fn found(
    at: Fidelities<'_, '_>,
    origin: &[f64],
    effort: SearchEffort,
    sensitivity: &Sensitivity,
    left: &mut [Option<RejectionReason>],
) -> (Vec<f64>, Vec<bool>, Intervals) {
    let Fidelities { rough, whole } = at;
    let none = Intervals { of: vec![None; origin.len()], pairs: Vec::new() };
    let (found, free) = match effort.thorough {
        true => searched(whole, origin, effort),
        false => frugal::searched(at, origin, effort, sensitivity),
    };
    if rough.pauses() {
        // What is best so far is judged whole.
        let known = [whole.best(), rough.best()].into_iter().flatten().collect::<Vec<_>>();
        whole.close();
        let best = slope::better(whole, std::iter::once(origin.to_vec()).chain(known).collect());
        return (best, free, none);
    }
    rough.begins("what can be put back", judging(origin, &found));
    let mut point = judge::thin(at, origin, found.clone(), effort, left);
    if rough.pauses() {
        return (point, free, none);
    }
    point = judge::take_back(whole, origin, point, effort.shares, left);
    point = settled(whole, origin, point, effort);
    whole.begins("intervals", judging(origin, &point));
    let (point, intervals) = spread(at, origin, point, (&found, &free), effort, left);
    (point, free, intervals)
}

/// Points that the intervals of what moved take: two sides of five steps, with some five points each.
fn judging(origin: &[f64], point: &[f64]) -> u64 {
    50 * moved(origin, point).iter().filter(|moved| **moved).count() as u64
}

/// What stays of a point of a fit that ended early: what the seen data need and the held-back data confirm, and nothing if
/// these are met no better than by the profile.
fn closed(
    at: Fidelities<'_, '_>,
    origin: &[f64],
    point: Vec<f64>,
    effort: SearchEffort,
    left: &mut [Option<RejectionReason>],
) -> Vec<f64> {
    let point = judge::take_back(at.whole, origin, point, effort.shares, left);
    if judge::better(at.whole, origin, &point, effort.shares) != Some(false) {
        return point;
    }
    not_better(origin, &point, left);
    origin.to_vec()
}

fn not_better(origin: &[f64], point: &[f64], left: &mut [Option<RejectionReason>]) {
    for (left, _) in left.iter_mut().zip(moved(origin, point)).filter(|(_, moved)| *moved) {
        *left = Some(RejectionReason::NotBetter);
    }
}

/// The point where the thorough search ends, and what the data feel there. It begins twice, with rules and with numbers,
/// because whichever comes first also fits what belongs to the other; it continues from the end that is better on the
/// held-back data.
fn searched(evaluator: &PointEvaluator<'_>, origin: &[f64], effort: SearchEffort) -> (Vec<f64>, Vec<bool>) {
    let all = THOROUGH_POINTS * origin.len() as u64;
    evaluator.begins("least squares", all);
    let free = search::felt(evaluator, origin);
    let numbers = slope::descend(evaluator, origin.to_vec(), &free, &slope::WIDE);
    let ends = [(origin.to_vec(), "from the profile", 0.9), (numbers, "from least squares", 0.65)].map(
        |(start, name, left)| {
            evaluator.begins(name, (all as f64 * left) as u64);
            walked(evaluator, start, effort)
        },
    );
    let [one, other] = ends;
    let judged = if evaluator.holds_back() { Question::Held } else { Question::Seen };
    let point = if evaluator.ask(judged, &other)[0] < evaluator.ask(judged, &one)[0] { other } else { one };
    evaluator.begins("rules with numbers", (all as f64 * 0.4) as u64);
    let free = search::felt(evaluator, &point);
    let point = search::rules_followed(evaluator, point, &free, effort);
    (slope::descend(evaluator, point, &free, &slope::FINE), free)
}

/// Rules and numbers in turn from `point` on, wide and close.
fn walked(evaluator: &PointEvaluator<'_>, mut point: Vec<f64>, effort: SearchEffort) -> Vec<f64> {
    for (spread, generations) in [(0.15, effort.generations), (0.05, effort.generations / 2)] {
        if evaluator.pauses() {
            break;
        }
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
    let generations = if effort.thorough { effort.generations / 4 } else { 0 };
    let again = search::numbers(evaluator, point.clone(), &moved, 0.02, generations);
    let again = slope::descend(evaluator, again, &moved, effort.steps());
    let held = |point: &[f64]| evaluator.ask(Question::Held, point);
    let worse = evaluator.holds_back() && share_better(&held(&point), &held(&again)) >= effort.shares.sure;
    if worse || evaluator.pauses() { point } else { again }
}

/// The point and its intervals, without what these do not determine. If the held-back data are met no better than by
/// the original profile, everything goes back. `found` is where the search ended, and what the data feel there.
fn spread(
    at: Fidelities<'_, '_>,
    origin: &[f64],
    point: Vec<f64>,
    (found, free): (&[f64], &[bool]),
    effort: SearchEffort,
    left: &mut [Option<RejectionReason>],
) -> (Vec<f64>, Intervals) {
    let Fidelities { rough, whole } = at;
    let none = || Intervals { of: vec![None; origin.len()], pairs: Vec::new() };
    let worse = point == origin || judge::better(whole, origin, &point, effort.shares) == Some(false);
    if whole.pauses() {
        return (point, none());
    }
    if worse {
        not_better(origin, &point, left);
        return (origin.to_vec(), none());
    }
    // Its numbers with the rules that stayed.
    let number = |index: usize| whole.parameters[index].range().is_some();
    let beside: Vec<f64> =
        (0..point.len()).map(|index| if number(index) { found[index] } else { point[index] }).collect();
    let moved = moved(origin, &point);
    let asked = IntervalQuery { point: &point, beside: &beside, moved: &moved, free, thorough: effort.thorough };
    let intervals = interval::intervals(rough, &asked);
    if whole.pauses() {
        return (point, none());
    }
    let kept = judge::keep_determined(whole, origin, point.clone(), &intervals, effort, left);
    if whole.pauses() {
        return (point, none());
    }
    let intervals = intervals.at(whole.parameters, &kept);
    (kept, intervals)
}
