//! Turns measurements of a drive into a profile: moves uncertain figures of the profile within their ranges until the drive reproduces the
//! measurements, as far as held-back data confirm it.
//!
//! The room is pure: a profile and data in, a point and findings out; no file is opened or written. `docs/fit.md` describes the method.
//!
//! | room | what it is |
//! |---|---|
//! | [`parameter`] | the figures and rules that may move |
//! | [`ranges`] | the limits of each move |
//! | [`data`] | traces and jobs, repeated on another drive |
//! | [`loss`] | the error of a replayed trace |
//! | [`points`] | the error of jobs with figures |
//! | [`evaluator`](mod@evaluator) | points tried, each once; where a fit ends early |
//! | [`sensitivity`](mod@sensitivity) | what each key can move |
//! | [`search`] | rules and numbers |
//! | [`frugal_search`] | the search for jobs, planned by the sensitivity |
//! | [`slope`] | the effect of each number on each figure |
//! | [`judge`] | which changes stay |
//! | [`sources`] | data parsed from texts |
//! | [`interval`] | intervals of figures, and which figures trade |
//! | [`strain`] | figures at the end of their range, and the measurement that gains most |
//! | [`write`](mod@write) | the fitted profile |
//! | [`report`] | the findings |
//! | [`page`] | the findings as a page |

pub mod data;
pub mod evaluator;
pub mod frugal_search;
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

use seekwise_drives::profile::DriveFile;

use data::FitData;
use evaluator::{FitEnding, FitListener, PointEvaluator, Question, share_better};
use frugal_search::Fidelities;
use interval::{IntervalQuery, Intervals};
use judge::RejectionReason;
use parameter::Parameter;
use search::SearchEffort;
use sensitivity::{Sensitivity, measure_effects};

/// The result of a fit.
#[derive(Clone, Debug)]
#[non_exhaustive]
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
    /// Effect of each key on each figure; all 0 if the fit ended before it was measured.
    pub sensitivity: Sensitivity,
    /// Points tried.
    pub points: u64,
    /// Where the fit ended early, if it did; the point is then the best so far.
    pub ending: Option<FitEnding>,
}

/// A fit to do.
pub struct FitTask<'a> {
    pub drive: &'a DriveFile,
    /// The parameters that may move.
    pub parameters: Vec<Parameter>,
    pub data: &'a [FitData],
    pub effort: SearchEffort,
    /// The limit of points, where the fit ends early: at the same place on every machine.
    pub most: Option<u64>,
    /// The answers of an interrupted fit.
    pub known: BTreeMap<String, Vec<f64>>,
}

/// Fits a drive to data. `listener` gets each event, and may end the fit: with the best point so far, or without a result.
pub fn fit(task: FitTask<'_>, listener: FitListener<'_>) -> Option<FitResult> {
    let FitTask { drive, parameters, data, effort, most, known } = task;
    let whole = PointEvaluator::new(drive, &parameters, data, known, listener).with_point_limit(most);
    let shorter = whole.shorten_data();
    let rough = whole.with_short_data(&shorter);
    let at = Fidelities { rough: if effort.thorough { &whole } else { &rough }, whole: &whole };
    let origin = parameter::original_point(&parameters);
    let mut left: Vec<Option<RejectionReason>> = vec![None; origin.len()];
    at.rough.begin_stage("what each key can move", expected_points(&parameters, effort));
    let sensitivity = measure_effects(at.rough, &origin);
    let (mut point, free, intervals) = search_and_judge(at, &origin, effort, &sensitivity, &mut left);
    let ending = whole.ending();
    if ending.is_some() {
        whole.begin_judging();
        point = judge_early_end(at, &origin, point, effort, &mut left);
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
    let held = whole.has_held_data().then(|| both(Question::Held));
    let (complete, points) = (!whole.was_cancelled(), whole.point_count());
    drop((whole, rough));
    complete.then_some(FitResult { parameters, point, left, intervals, seen, held, sensitivity, points, ending })
}

/// Points that a thorough search tries for each parameter: 254 in a fit of six figures to five jobs (measured). The number varies with the
/// data.
const THOROUGH_POINTS: u64 = 254;

/// Number of points that a fit is expected to try.
pub fn expected_points(parameters: &[Parameter], effort: SearchEffort) -> u64 {
    match effort.thorough {
        true => sensitivity::trial_point_count(parameters) + THOROUGH_POINTS * parameters.len() as u64,
        false => frugal_search::expected_points(parameters, effort),
    }
}

/// Searches and judges: the point that stays, the parameters that affect the loss, and the intervals; if the fit ends early, what it has so
/// far.
fn search_and_judge(
    at: Fidelities<'_, '_>,
    origin: &[f64],
    effort: SearchEffort,
    sensitivity: &Sensitivity,
    left: &mut [Option<RejectionReason>],
) -> (Vec<f64>, Vec<bool>, Intervals) {
    let Fidelities { rough, whole } = at;
    let none = Intervals { of: vec![None; origin.len()], pairs: Vec::new() };
    let (found, free) = match effort.thorough {
        true => search_thoroughly(whole, origin, effort),
        false => frugal_search::search_by_plan(at, origin, effort, sensitivity),
    };
    if rough.reach_checkpoint() {
        // The best points so far are compared on the whole data.
        let known = [whole.best_point(), rough.best_point()].into_iter().flatten().collect::<Vec<_>>();
        whole.begin_judging();
        let best = slope::best_of_points(whole, std::iter::once(origin.to_vec()).chain(known).collect());
        return (best, free, none);
    }
    rough.begin_stage("what can be put back", interval_points(origin, &found));
    let mut point = judge::put_back_unneeded(at, origin, found.clone(), effort, left);
    if rough.reach_checkpoint() {
        return (point, free, none);
    }
    point = judge::put_back_unconfirmed(whole, origin, point, effort.shares, left);
    point = refine_moved(whole, origin, point, effort);
    whole.begin_stage("intervals", interval_points(origin, &point));
    let (point, intervals) = point_with_intervals(at, origin, point, (&found, &free), effort, left);
    (point, free, intervals)
}

/// Expected points of the intervals of what moved: two sides of five steps, with some five points each.
fn interval_points(origin: &[f64], point: &[f64]) -> u64 {
    50 * moved_parameters(origin, point).iter().filter(|moved| **moved).count() as u64
}

/// Puts back, after an early end, what the seen data do not need or the held-back data do not confirm; everything if the held-back data are
/// met no better than by the profile.
fn judge_early_end(
    at: Fidelities<'_, '_>,
    origin: &[f64],
    point: Vec<f64>,
    effort: SearchEffort,
    left: &mut [Option<RejectionReason>],
) -> Vec<f64> {
    let point = judge::put_back_unconfirmed(at.whole, origin, point, effort.shares, left);
    if judge::is_surely_better(at.whole, origin, &point, effort.shares) != Some(false) {
        return point;
    }
    mark_not_better(origin, &point, left);
    origin.to_vec()
}

fn mark_not_better(origin: &[f64], point: &[f64], left: &mut [Option<RejectionReason>]) {
    for (left, _) in left.iter_mut().zip(moved_parameters(origin, point)).filter(|(_, moved)| *moved) {
        *left = Some(RejectionReason::NotBetter);
    }
}

/// Searches thoroughly: returns the end, and the parameters that affect the loss there. The search starts twice, with rules and with
/// numbers, because whichever comes first also fits what belongs to the other; it continues from the end that is better on the held-back
/// data.
fn search_thoroughly(evaluator: &PointEvaluator<'_>, origin: &[f64], effort: SearchEffort) -> (Vec<f64>, Vec<bool>) {
    let all = THOROUGH_POINTS * origin.len() as u64;
    evaluator.begin_stage("least squares", all);
    let free = search::sensitive_parameters(evaluator, origin);
    let numbers = slope::descend(evaluator, origin.to_vec(), &free, &slope::WIDE);
    let ends = [(origin.to_vec(), "from the profile", 0.9), (numbers, "from least squares", 0.65)].map(
        |(start, name, left)| {
            evaluator.begin_stage(name, (all as f64 * left) as u64);
            search_in_turn(evaluator, start, effort)
        },
    );
    let [one, other] = ends;
    let judged = if evaluator.has_held_data() { Question::Held } else { Question::Seen };
    let point = if evaluator.ask(judged, &other)[0] < evaluator.ask(judged, &one)[0] { other } else { one };
    evaluator.begin_stage("rules with numbers", (all as f64 * 0.4) as u64);
    let free = search::sensitive_parameters(evaluator, &point);
    let point = search::search_rules_with_numbers(evaluator, point, &free, effort);
    (slope::descend(evaluator, point, &free, &slope::FINE), free)
}

/// Searches rules and numbers in turn from `point` on, first wide, then close.
fn search_in_turn(evaluator: &PointEvaluator<'_>, mut point: Vec<f64>, effort: SearchEffort) -> Vec<f64> {
    for (spread, generations) in [(0.15, effort.generations), (0.05, effort.generations / 2)] {
        if evaluator.reach_checkpoint() {
            break;
        }
        let free = search::sensitive_parameters(evaluator, &point);
        point = search::search_rules(evaluator, point, &free);
        let free = search::sensitive_parameters(evaluator, &point);
        point = search::search_numbers(evaluator, point, &free, spread, generations);
        point = slope::descend(evaluator, point, &free, &slope::FINE);
    }
    point
}

fn moved_parameters(origin: &[f64], point: &[f64]) -> Vec<bool> {
    origin.iter().zip(point).map(|(origin, value)| origin != value).collect()
}

/// Searches once more the parameters that stayed moved; keeps `point` if the held-back data get worse.
fn refine_moved(evaluator: &PointEvaluator<'_>, origin: &[f64], point: Vec<f64>, effort: SearchEffort) -> Vec<f64> {
    let moved = moved_parameters(origin, &point);
    let generations = if effort.thorough { effort.generations / 4 } else { 0 };
    let again = search::search_numbers(evaluator, point.clone(), &moved, 0.02, generations);
    let again = slope::descend(evaluator, again, &moved, effort.step_shares());
    let held = |point: &[f64]| evaluator.ask(Question::Held, point);
    let worse = evaluator.has_held_data() && share_better(&held(&point), &held(&again)) >= effort.shares.sure;
    if worse || evaluator.reach_checkpoint() { point } else { again }
}

/// Finds the intervals, and puts back numbers that they do not determine; everything if the held-back data are met no better than by the
/// profile. `found` is where the search ended, `free` the parameters that affect the loss there.
fn point_with_intervals(
    at: Fidelities<'_, '_>,
    origin: &[f64],
    point: Vec<f64>,
    (found, free): (&[f64], &[bool]),
    effort: SearchEffort,
    left: &mut [Option<RejectionReason>],
) -> (Vec<f64>, Intervals) {
    let Fidelities { rough, whole } = at;
    let none = || Intervals { of: vec![None; origin.len()], pairs: Vec::new() };
    let worse = point == origin || judge::is_surely_better(whole, origin, &point, effort.shares) == Some(false);
    if whole.reach_checkpoint() {
        return (point, none());
    }
    if worse {
        mark_not_better(origin, &point, left);
        return (origin.to_vec(), none());
    }
    // The numbers of `found` with the rules that stayed.
    let number = |index: usize| whole.parameters[index].range().is_some();
    let beside: Vec<f64> =
        (0..point.len()).map(|index| if number(index) { found[index] } else { point[index] }).collect();
    let moved = moved_parameters(origin, &point);
    let asked = IntervalQuery { point: &point, beside: &beside, moved: &moved, free, thorough: effort.thorough };
    let intervals = interval::find_intervals(rough, &asked);
    if whole.reach_checkpoint() {
        return (point, none());
    }
    let kept = judge::keep_determined(whole, origin, point.clone(), &intervals, effort, left);
    if whole.reach_checkpoint() {
        return (point, none());
    }
    let intervals = intervals.adjusted_to(whole.parameters, &kept);
    (kept, intervals)
}
