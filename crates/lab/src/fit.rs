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
//! | [`outward`] | the fit to jobs, from the physics outward |
//! | `density` | the density of the tracks as one number |
//! | [`slope`] | the effect of each number on each figure |
//! | [`judge`] | which changes stay |
//! | [`guard`] | nothing gets worse; what nothing mends |
//! | [`sources`] | data parsed from texts |
//! | [`interval`] | intervals of figures, and which figures trade |
//! | [`strain`] | figures at the end of their range, and the measurement that gains most |
//! | [`write`](mod@write) | the fitted profile |
//! | [`report`] | the findings |
//! | [`page`] | the findings as a page |

pub mod data;
mod density;
pub mod evaluator;
pub mod guard;
pub mod interval;
pub mod judge;
pub mod loss;
pub mod outward;
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

use data::{DataSplit, FitData, LossAndDraws};
use evaluator::{FitEnding, FitListener, PointEvaluator, Question, share_of_draws_better};
use guard::{Guard, UnmendedGroup};
use interval::{IntervalQuery, Intervals};
use judge::RejectionReason;
use parameter::Parameter;
use search::{EvaluatorPair, SearchEffort, SearchEnd};
use sensitivity::{Sensitivity, measure_effects};

/// The result of a fit.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FitResult {
    pub parameters: Vec<Parameter>,
    /// The fitted value of each.
    pub point: Vec<f64>,
    /// For each parameter why it did not move; `None` if it moved.
    pub reasons: Vec<Option<RejectionReason>>,
    /// Intervals of the parameters that moved; none if the fit ended early.
    pub intervals: Intervals,
    /// The losses on the seen data, before and after the fit.
    pub seen: (f64, f64),
    /// The losses on the held-back data, before and after the fit; `None` without such data.
    pub held: Option<(f64, f64)>,
    /// Effect of each key on each figure; all 0 if the fit ended before they were measured.
    pub sensitivity: Sensitivity,
    /// Points tried.
    pub points: u64,
    /// The early end of the fit, if it had one; the point is then the best so far.
    pub ending: Option<FitEnding>,
    /// Loads, draws and contradictions of a fit to jobs.
    pub outward: Option<outward::OutwardFindings>,
    /// Groups of a trace's requests that the model misses in both halves, before the fit and after.
    pub unmended: Vec<UnmendedGroup>,
}

/// A fit to do.
pub struct FitTask<'a> {
    pub drive: &'a DriveFile,
    /// The keys, or sections of keys, that may move; all that may if there are none.
    pub only_keys: Vec<String>,
    pub data: &'a [FitData],
    pub effort: SearchEffort,
    /// The number of points after which the fit ends early, at the same place on every machine.
    pub point_limit: Option<u64>,
    /// The answers of an interrupted fit, by their keys in its journal.
    pub known_answers: BTreeMap<String, LossAndDraws>,
}

/// Fits a drive to data. `listener` gets each event, and may end the fit: with the best point so far, or without a result (`None`).
pub fn fit_unless_cancelled(task: FitTask<'_>, listener: FitListener<'_>) -> Option<FitResult> {
    if has_jobs_alone(task.data) {
        return outward::fit_jobs(task, listener);
    }
    let FitTask { drive, only_keys, data, effort, point_limit, known_answers } = task;
    let parameters = parameter::collect_parameters(drive, &only_keys);
    let whole = PointEvaluator::new(drive, &parameters, data, known_answers, listener).with_point_limit(point_limit);
    let evaluators = EvaluatorPair { short: &whole, whole: &whole };
    let origin = parameter::original_point(&parameters);
    let mut reasons: Vec<Option<RejectionReason>> = vec![None; origin.len()];
    evaluators.short.begin_stage("what each key can move", expected_point_count(drive, data, &only_keys));
    let sensitivity = measure_effects(evaluators.short, &origin);
    let JudgedPoint { mut point, free, intervals } = search_and_judge(evaluators, &origin, effort, &mut reasons);
    let ending = whole.ending();
    if ending.is_some() {
        whole.reopen_for_judging();
        point = put_back_after_early_end(evaluators, &origin, point, effort, &mut reasons);
    }
    let reason_unmoved = |index: usize| {
        if ending.is_some() {
            RejectionReason::NotJudged
        } else if free[index] {
            RejectionReason::NotMoved
        } else if effort.thorough || sensitivity.strengths[index] == 0.0 {
            RejectionReason::NotFelt
        } else {
            RejectionReason::TooLittle
        }
    };
    for (index, reason) in reasons.iter_mut().enumerate().filter(|(index, _)| point[*index] == origin[*index]) {
        reason.get_or_insert(reason_unmoved(index));
    }
    let before_and_after = |question| (whole.ask(question, &origin)[0], whole.ask(question, &point)[0]);
    let seen = before_and_after(Question::Seen);
    let held = whole.has_held_data().then(|| before_and_after(Question::Held));
    let unmended = Guard::new(&whole, &origin, effort.shares).unmended_groups(&point);
    let (complete, points) = (!whole.was_cancelled(), whole.point_count());
    drop(whole);
    let result = FitResult {
        parameters,
        point,
        reasons,
        intervals,
        seen,
        held,
        sensitivity,
        points,
        ending,
        outward: None,
        unmended,
    };
    complete.then_some(result)
}

/// Points that a thorough search tries for each parameter: measured in a fit of six figures to five jobs. The number varies with the data.
const THOROUGH_POINTS: u64 = 254;

/// True if the data are jobs with figures, and no traces.
fn has_jobs_alone(data: &[FitData]) -> bool {
    matches!(data, [FitData::Points(_)])
}

/// Collects the parameters that may move in a fit to `data`: all, or those with `only_keys` or below these sections.
pub fn collect_parameters(drive: &DriveFile, data: &[FitData], only_keys: &[String]) -> Vec<Parameter> {
    match has_jobs_alone(data) {
        true => outward::parameters(drive, only_keys),
        false => parameter::collect_parameters(drive, only_keys),
    }
}

/// Number of points that a fit is expected to try.
pub fn expected_point_count(drive: &DriveFile, data: &[FitData], only_keys: &[String]) -> u64 {
    if has_jobs_alone(data) {
        let refits = data.iter().any(|data| data.request_or_job_count(DataSplit::Held) > 0);
        return outward::expected_fit_points(drive, only_keys, refits);
    }
    let parameters = parameter::collect_parameters(drive, only_keys);
    sensitivity::trial_point_count(&parameters) + THOROUGH_POINTS * parameters.len() as u64
}

/// The point that stays after judging.
struct JudgedPoint {
    point: Vec<f64>,
    /// For each parameter whether it affects the loss.
    free: Vec<bool>,
    intervals: Intervals,
}

/// Searches, and puts back changes that do not stay; if the fit ends early, returns the result so far.
fn search_and_judge(
    evaluators: EvaluatorPair<'_, '_>,
    origin: &[f64],
    effort: SearchEffort,
    reasons: &mut [Option<RejectionReason>],
) -> JudgedPoint {
    let EvaluatorPair { short, whole } = evaluators;
    let intervals = Intervals { of: vec![None; origin.len()], pairs: Vec::new() };
    let SearchEnd { point: found, free } = search_thoroughly(whole, origin, effort);
    if short.ended_at_checkpoint() {
        // The best points so far are compared on the whole data.
        let candidates = [whole.best_point(), short.best_point()].into_iter().flatten().collect::<Vec<_>>();
        whole.reopen_for_judging();
        let point = slope::best_of_points(whole, std::iter::once(origin.to_vec()).chain(candidates).collect());
        return JudgedPoint { point, free, intervals };
    }
    short.begin_stage("what can be put back", expected_interval_points(origin, &found));
    let mut point = judge::put_back_unneeded(evaluators, origin, found.clone(), effort, reasons);
    if short.ended_at_checkpoint() {
        return JudgedPoint { point, free, intervals };
    }
    point = judge::put_back_unconfirmed(whole, origin, point, effort.shares, reasons);
    point = refine_moved_numbers(whole, origin, point, effort);
    whole.begin_stage("intervals", expected_interval_points(origin, &point));
    let search_end = SearchEnd { point: found, free };
    let (point, intervals) = put_back_by_intervals(evaluators, origin, point, &search_end, effort, reasons);
    JudgedPoint { point, free: search_end.free, intervals }
}

/// Number of points that the intervals of moved parameters are expected to take: two sides of five steps, with some five points each.
fn expected_interval_points(origin: &[f64], point: &[f64]) -> u64 {
    50 * which_moved(origin, point).iter().filter(|moved| **moved).count() as u64
}

/// Puts back, after an early end, what the seen data do not need or the held-back data do not confirm; everything if the held-back data are
/// met no better than by the profile.
fn put_back_after_early_end(
    evaluators: EvaluatorPair<'_, '_>,
    origin: &[f64],
    point: Vec<f64>,
    effort: SearchEffort,
    reasons: &mut [Option<RejectionReason>],
) -> Vec<f64> {
    let point = judge::put_back_unconfirmed(evaluators.whole, origin, point, effort.shares, reasons);
    if Guard::new(evaluators.whole, origin, effort.shares).accepts(&point) {
        return point;
    }
    mark_moved_as_not_better(origin, &point, reasons);
    origin.to_vec()
}

fn mark_moved_as_not_better(origin: &[f64], point: &[f64], reasons: &mut [Option<RejectionReason>]) {
    for (reason, _) in reasons.iter_mut().zip(which_moved(origin, point)).filter(|(_, moved)| *moved) {
        *reason = Some(RejectionReason::NotBetter);
    }
}

/// Searches thoroughly from two starts, one with rules first and one with numbers first: whichever comes first also fits errors that belong
/// to the other. Continues from the end that is better on the held-back data.
fn search_thoroughly(evaluator: &PointEvaluator<'_>, origin: &[f64], effort: SearchEffort) -> SearchEnd {
    let all = THOROUGH_POINTS * origin.len() as u64;
    evaluator.begin_stage("least squares", all);
    let free = search::sensitive_parameters(evaluator, origin);
    let numbers = slope::descend_by_least_squares(evaluator, origin.to_vec(), &free, &slope::WIDE);
    let ends = [(origin.to_vec(), "from the profile", 0.9), (numbers, "from least squares", 0.65)].map(
        |(start, name, share_left)| {
            evaluator.begin_stage(name, (all as f64 * share_left) as u64);
            search_rules_and_numbers_in_turn(evaluator, start, effort)
        },
    );
    let [from_profile, from_numbers] = ends;
    let judged = if evaluator.has_held_data() { Question::Held } else { Question::Seen };
    let numbers_first = evaluator.ask(judged, &from_numbers)[0] < evaluator.ask(judged, &from_profile)[0];
    let point = if numbers_first { from_numbers } else { from_profile };
    evaluator.begin_stage("rules with numbers", (all as f64 * 0.4) as u64);
    let free = search::sensitive_parameters(evaluator, &point);
    let point = search::search_rules_with_numbers(evaluator, point, &free, effort);
    SearchEnd { point: slope::descend_by_least_squares(evaluator, point, &free, &slope::FINE), free }
}

/// Searches rules and numbers in turn from `point` on, first wide, then close.
fn search_rules_and_numbers_in_turn(
    evaluator: &PointEvaluator<'_>,
    mut point: Vec<f64>,
    effort: SearchEffort,
) -> Vec<f64> {
    for (spread, generations) in [(0.15, effort.generations), (0.05, effort.generations / 2)] {
        if evaluator.ended_at_checkpoint() {
            break;
        }
        let free = search::sensitive_parameters(evaluator, &point);
        point = search::search_rules(evaluator, point, &free);
        let free = search::sensitive_parameters(evaluator, &point);
        point = search::search_numbers(evaluator, point, &free, spread, generations);
        point = slope::descend_by_least_squares(evaluator, point, &free, &slope::FINE);
    }
    point
}

fn which_moved(origin: &[f64], point: &[f64]) -> Vec<bool> {
    origin.iter().zip(point).map(|(origin, value)| origin != value).collect()
}

/// Searches once more the numbers that stayed moved; keeps `point` if the result is worse on the held-back data.
fn refine_moved_numbers(
    evaluator: &PointEvaluator<'_>,
    origin: &[f64],
    point: Vec<f64>,
    effort: SearchEffort,
) -> Vec<f64> {
    let moved = which_moved(origin, &point);
    let generations = if effort.thorough { effort.generations / 4 } else { 0 };
    let refined = search::search_numbers(evaluator, point.clone(), &moved, search::CLOSE_SPREAD, generations);
    let refined = slope::descend_by_least_squares(evaluator, refined, &moved, effort.step_widths());
    let held_losses = |point: &[f64]| evaluator.ask(Question::Held, point);
    let worse = evaluator.has_held_data()
        && share_of_draws_better(&held_losses(&point), &held_losses(&refined)) >= effort.shares.sure;
    if worse || evaluator.ended_at_checkpoint() { point } else { refined }
}

/// Puts back what the [`guard`] refuses, finds the intervals, and puts back numbers that they do not determine. Returns the point that
/// remains, with its intervals.
fn put_back_by_intervals(
    evaluators: EvaluatorPair<'_, '_>,
    origin: &[f64],
    point: Vec<f64>,
    search_end: &SearchEnd,
    effort: SearchEffort,
    reasons: &mut [Option<RejectionReason>],
) -> (Vec<f64>, Intervals) {
    let EvaluatorPair { short, whole } = evaluators;
    let none = || Intervals { of: vec![None; origin.len()], pairs: Vec::new() };
    let guard = Guard::new(whole, origin, effort.shares);
    let point = guard.keep_acceptable(point, effort, reasons);
    let point = guard.mend_groups(point, &search_end.free, effort, reasons);
    if point == origin || whole.ended_at_checkpoint() {
        return (point, none());
    }
    // The numbers at which the search ended, with the rules that stayed.
    let is_number = |index: usize| whole.parameters[index].range().is_some();
    let other_start: Vec<f64> =
        (0..point.len()).map(|index| if is_number(index) { search_end.point[index] } else { point[index] }).collect();
    let query = IntervalQuery {
        point: &point,
        other_start: &other_start,
        moved: &which_moved(origin, &point),
        free: &search_end.free,
        thorough: effort.thorough,
    };
    let intervals = interval::find_intervals(short, &query);
    if whole.ended_at_checkpoint() {
        return (point, none());
    }
    let mut more_reasons = reasons.to_vec();
    let mut kept = judge::put_back_undetermined(whole, origin, point.clone(), &intervals, effort, &mut more_reasons);
    if whole.ended_at_checkpoint() {
        return (point, none());
    }
    match guard.accepts(&kept) {
        true => reasons.copy_from_slice(&more_reasons),
        false => kept = point,
    }
    let intervals = intervals.adjusted_to(whole.parameters, &kept);
    (kept, intervals)
}
