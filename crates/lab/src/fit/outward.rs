//! Fits to jobs, from the physics outward: rotation and rates from streams, the seek from single requests, then the queue, then cache and
//! writes. Each stage moves its own figures on the data that can tell them, within what is possible for such a figure; what an earlier
//! stage found moves on with the later ones.
//!
//! | room | what it is |
//! |---|---|
//! | [`prior`] | what is known of a figure before any data |
//! | `parameters` | what may move, with its prior |
//! | `misfit` | distances in standard errors; steps and covariance |
//! | `descent` | numbers by least squares, rules by trial |
//! | `speeds` | other speeds of the spindle, and what tells them |
//! | [`draws`] | drives that meet the data as well; intervals |
//! | [`contradiction`] | stated figures that the data contradict, and figures that are symptoms |
//!
//! The jobs that are held back judge a first fit to the others. The profile is then fitted to all but those that the user keeps out.

pub mod contradiction;
mod descent;
pub mod draws;
mod misfit;
mod parameters;
pub mod prior;
mod speeds;

use std::collections::BTreeSet;

use seekwise_drives::figure::FigureValue;
use seekwise_drives::key_names::figure;
use seekwise_drives::profile::{DriveFile, ReadingCache};

use super::data::{DataSplit, FitData};
use super::evaluator::{FitListener, PointEvaluator, Question, share_of_draws_better};
use super::interval::{Intervals, TradingPair};
use super::judge::RejectionReason;
use super::parameter::{Parameter, ParameterDomain, drive_at_point, original_point};
use super::points::{JobLoad, MeasuredPoint};
use super::sensitivity::Sensitivity;
use super::{FitResult, FitTask};
use contradiction::Contradiction;
use descent::{Descent, Effects, RuleFamily, TriedPoint};
use draws::{ParameterSpread, Posterior};
pub use misfit::Scatter;
use parameters::JobParameter;
use prior::FitStage;

/// What a fit to jobs finds besides the point.
#[derive(Clone, Debug, Default)]
pub struct OutwardFindings {
    /// Loads that the data covered.
    pub seen: Vec<SeenJob>,
    /// Drives that meet the data as well: the settings in which each differs from the fitted one.
    pub draws: Vec<Vec<(String, String)>>,
    /// Stated figures that the data contradict, and figures that are symptoms.
    pub contradictions: Vec<Contradiction>,
    /// The figures of the jobs that were held back, as predicted before the fit saw them.
    pub predicted: Vec<f64>,
    /// How far measurements scatter around the drive, as far as the data tell.
    pub scatter: Option<Scatter>,
    /// True if what the search found was refused by the jobs that were held back, or met the others worse than the profile.
    pub refused: bool,
}

/// A load that the data covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeenJob {
    pub load: JobLoad,
    /// True if the write cache was on.
    pub write_cache: bool,
}

/// The parameters of a fit of `drive` to jobs.
pub(crate) fn parameters(drive: &DriveFile, only_keys: &[String]) -> Vec<Parameter> {
    parameters::collect_job_parameters(drive, only_keys).into_iter().map(|it| it.parameter).collect()
}

/// Steps of a descent at first, later, and at last on whole jobs.
const FIRST_STEPS: usize = 6;
const LATER_STEPS: usize = 3;
const LAST_STEPS: usize = 2;

/// The correlation from which on two numbers count as trading.
const TRADES: f64 = 0.8;

/// A number is told by the data if they narrow it to this share of its prior.
const TOLD: f64 = 0.75;

/// The end of a search on some data.
struct Found {
    point: Vec<f64>,
    /// The point that only the seen jobs had led to: it predicts those held back.
    predicted_at: Vec<f64>,
    scatter: Scatter,
    /// What else the drive may be; `None` if the fit ended early or what it found was refused.
    spread: Option<Spread>,
    /// True if the point that the search found meets the data worse than the profile, and another was taken.
    refused: bool,
}

/// What a drive may be by the data.
struct Spread {
    draws: Vec<Vec<f64>>,
    of: Vec<ParameterSpread>,
    pairs: Vec<TradingPair>,
}

/// Fits a drive to jobs. `None` if the fit was cancelled.
pub(crate) fn fit_jobs(task: FitTask<'_>, listener: FitListener<'_>) -> Option<FitResult> {
    let FitTask { drive, only_keys, data, known_answers, point_limit, .. } = task;
    let of_jobs = parameters::collect_job_parameters(drive, &only_keys);
    let parameters: Vec<Parameter> = of_jobs.iter().map(|it| it.parameter.clone()).collect();
    let first = PointEvaluator::new(drive, &parameters, data, known_answers, listener).with_point_limit(point_limit);
    let all_data = without_default_holds(data);
    let origin = original_point(&parameters);
    let effects = Effects::new(parameters.len());
    let families = draws::rule_families(drive, &of_jobs);
    let found = search_then_refit(&of_jobs, &first, &all_data, (&effects, &families));
    let ending = first.ending();
    let Found { mut point, mut predicted_at, scatter, spread, refused } = found;
    if ending.is_some() {
        first.reopen_for_judging();
        point = no_worse_point(&first, &origin, &origin, point);
        predicted_at.clone_from(&point);
    }
    let losses = |question, point: &[f64]| first.ask(question, point)[0];
    let seen = (losses(Question::Seen, &origin), losses(Question::Seen, &point));
    let held = first.has_held_data().then(|| (losses(Question::Held, &origin), losses(Question::Held, &predicted_at)));
    let predicted = first.figures(DataSplit::Held, &predicted_at).unwrap_or_default();
    let sensitivity = effects.into_sensitivity(data);
    // What the drive does not meet at all shows nothing of its figures: no intervals, no draws.
    let spread = spread.filter(|_| is_met(&all_data, drive, &parameters, &point));
    let (intervals, reasons) =
        told_numbers(&of_jobs, (&origin, &point), (spread.as_ref(), ending.is_some()), &sensitivity);
    let mut findings = OutwardFindings {
        seen: seen_loads(drive, &all_data),
        predicted,
        scatter: Some(scatter),
        refused,
        ..OutwardFindings::default()
    };
    if let Some(spread) = &spread {
        findings.contradictions = contradiction::find_contradictions(drive, &of_jobs, &point, &spread.of);
        findings.draws = draw_settings(drive, &parameters, &point, spread, &all_data);
    }
    let (complete, points) = (!first.was_cancelled(), first.point_count());
    drop(first);
    let outward = Some(findings);
    complete.then_some(FitResult {
        parameters,
        point,
        reasons,
        intervals,
        seen,
        held,
        sensitivity,
        points,
        ending,
        outward,
        unmended: Vec::new(),
    })
}

/// The error of a rate or mean, as a share, from which on the drive is not that of the data: its figures and their scatter tell nothing.
const NOT_THE_DRIVE: f64 = 0.2;

/// True if the drive at `point` meets the rates and means of all seen jobs at least roughly.
fn is_met(data: &[FitData], drive: &DriveFile, parameters: &[Parameter], point: &[f64]) -> bool {
    let Ok(drive) = drive_at_point(drive, parameters, point) else { return false };
    let cache = ReadingCache::default();
    let is_near = |job: &&MeasuredPoint| {
        let Ok(figures) = job.simulate_figures(&drive, &cache) else { return false };
        let levels = job.figures.iter().zip(figures).filter(|(figure, _)| !figure.is_percentile());
        levels.into_iter().all(|(figure, simulated)| (simulated / figure.measured - 1.0).abs() <= NOT_THE_DRIVE)
    };
    seen_points(data).iter().all(is_near)
}

/// The data with all jobs seen except those that the user keeps out.
fn without_default_holds(data: &[FitData]) -> Vec<FitData> {
    let shown = |point: &MeasuredPoint| MeasuredPoint { held: point.kept_out, ..point.clone() };
    let of_data = |data: &FitData| match data {
        FitData::Points(points) => FitData::Points(points.iter().map(shown).collect()),
        FitData::Traced(traced) => FitData::Traced(traced.clone()),
    };
    data.iter().map(of_data).collect()
}

/// Fits to the seen jobs, judges that on the held ones, and goes on with all of them.
fn search_then_refit(
    parameters: &[JobParameter],
    first: &PointEvaluator<'_>,
    all_data: &[FitData],
    tools: (&Effects, &[RuleFamily]),
) -> Found {
    let origin: Vec<f64> = parameters.iter().map(|it| it.parameter.origin).collect();
    let second = first.with_data(all_data, "All");
    let (short_seen, short_all) = (first.data_with_short_jobs(), second.data_with_short_jobs());
    let (first_short, second_short) = (first.with_data(&short_seen, "Rough"), first.with_data(&short_all, "RoughAll"));
    let mut descent = Descent::new(&first_short, parameters, tools);
    let Searched { after: judged, mut other_speeds } = search(&mut descent, origin.clone());
    let predicted_at = held_choice(first, &origin, &judged);
    let has_more = second.seen_job_count() > first.seen_job_count();
    let mut start = judged.last().map_or(origin.clone(), |tried| tried.point.clone());
    if has_more {
        descent = Descent::new(&second_short, parameters, tools);
        let mut searched = search(&mut descent, start);
        start = searched.after.pop().map_or(predicted_at.clone(), |tried| tried.point);
        other_speeds = searched.other_speeds;
    }
    let mut whole = descent.on(&second);
    let Some(start) = whole.try_point(start.clone(), FitStage::Writes) else {
        return Found { point: start, predicted_at, scatter: whole.misfit.scatter, spread: None, refused: false };
    };
    first.begin_stage("whole jobs", expected_last_points(parameters));
    let best = whole.descend(start, FitStage::Writes, LAST_STEPS);
    let observations = whole.settle_scatter(&best, FitStage::Writes);
    let best = whole.valued(best, FitStage::Writes);
    descent.misfit.scatter = whole.misfit.scatter;
    let found_point = best.point.clone();
    let point = no_worse_point(first, &origin, &predicted_at, found_point.clone());
    let kept = point == found_point && !first.ended_at_checkpoint();
    first.begin_stage("what else it may be", expected_last_points(parameters));
    let spread = if kept { spread_around(&descent, &whole, (best, other_speeds), observations) } else { None };
    Found { refused: point != found_point, point, predicted_at, scatter: whole.misfit.scatter, spread }
}

/// The points after each stage, the last one after all together; and points at other speeds, with how much farther they are.
#[derive(Default)]
struct Searched {
    after: Vec<TriedPoint>,
    other_speeds: Vec<(f64, Vec<f64>)>,
}

/// Searches stage by stage.
fn search(descent: &mut Descent<'_, '_>, start: Vec<f64>) -> Searched {
    let Some(mut best) = descent.try_point(start, FitStage::Streams) else { return Searched::default() };
    let mut after = Vec::new();
    for stage in FitStage::ALL.into_iter().filter(|stage| descent.has_data_of(*stage)).collect::<Vec<_>>() {
        if descent.evaluator.begin_stage(stage.words(), expected_point_count(descent.parameters)) {
            return Searched { after, ..Searched::default() };
        }
        best = descent.descend(best, stage, FIRST_STEPS);
        if stage == FitStage::Arm {
            best = speeds::settle_speed(descent, best);
        }
        best = improve_rules_from_two_starts(descent, best, stage);
        best = descent.descend(best, stage, LATER_STEPS);
        after.push(best.clone());
    }
    if descent.evaluator.begin_stage("all together", expected_point_count(descent.parameters) / 2) {
        return Searched { after, ..Searched::default() };
    }
    // With the drive found nearly, small differences count.
    descent.settle_scatter(&best, FitStage::Writes);
    descent.misfit.scatter = descent.misfit.scatter.at_most_first();
    best = improve_all_rules(descent, best);
    best = speeds::at_surer_speed(descent, best, improve_all_rules);
    descent.settle_scatter(&best, FitStage::Writes);
    let other_speeds = speeds::weigh_other_speeds(descent, &best);
    after.push(best);
    Searched { after, other_speeds }
}

/// Improves the rules of a stage from those of the point and from the profile's: what few data favoured may stand in the way of what more
/// data show.
fn improve_rules_from_two_starts(descent: &Descent<'_, '_>, best: TriedPoint, stage: FitStage) -> TriedPoint {
    let mut with_own_rules = best.point.clone();
    for (value, it) in with_own_rules.iter_mut().zip(descent.parameters) {
        if it.prior.is_none() && it.stage == stage {
            *value = it.parameter.origin;
        }
    }
    let other = (with_own_rules != best.point).then(|| descent.try_point(with_own_rules, stage)).flatten();
    let other = other.map(|other| descent.improve_rules(descent.descend(other, stage, LATER_STEPS), stage));
    let found = descent.improve_rules(best, stage);
    let found = other.filter(|other| other.value < found.value).unwrap_or(found);
    if stage == FitStage::Queue { descent.improve_from_designs(found, stage) } else { found }
}

/// Improves the rules of all stages on all data, then the numbers.
fn improve_all_rules(descent: &Descent<'_, '_>, start: TriedPoint) -> TriedPoint {
    let mut best = descent.valued(start, FitStage::Writes);
    for stage in FitStage::ALL.into_iter().filter(|stage| descent.has_data_of(*stage)) {
        best = descent.improve_rules_for_all(best, stage);
        if stage >= FitStage::Queue {
            best = descent.improve_rule_pairs(best, stage);
        }
    }
    descent.descend(best, FitStage::Writes, LATER_STEPS)
}

/// Of the points that the seen jobs led to, the furthest that the held jobs do not refuse.
fn held_choice(first: &PointEvaluator<'_>, origin: &[f64], judged: &[TriedPoint]) -> Vec<f64> {
    let found = judged.iter().rev().map(|tried| tried.point.clone()).find(|point| !is_refused(first, origin, point));
    found.unwrap_or_else(|| origin.to_vec())
}

/// True if the held-back jobs are met surely worse than by the profile.
fn is_refused(first: &PointEvaluator<'_>, origin: &[f64], point: &[f64]) -> bool {
    let held = |point: &[f64]| first.ask(Question::Held, point);
    first.has_held_data() && share_of_draws_better(&held(origin), &held(point)) >= super::judge::SURE
}

/// `point`, unless it meets what was shown or what was held back worse than the profile does: then the point that did not, or the profile.
fn no_worse_point(first: &PointEvaluator<'_>, origin: &[f64], predicted_at: &[f64], point: Vec<f64>) -> Vec<f64> {
    let is_no_worse = |point: &Vec<f64>| {
        first.ask(Question::Seen, point)[0] <= first.ask(Question::Seen, origin)[0] && !is_refused(first, origin, point)
    };
    [point, predicted_at.to_vec()].into_iter().find(is_no_worse).unwrap_or_else(|| origin.to_vec())
}

/// What else the drive may be. Slopes are those of whole jobs, whose figures scatter less; alternatives are tried on short ones.
fn spread_around(
    descent: &Descent<'_, '_>,
    whole: &Descent<'_, '_>,
    (best, other_speeds): (TriedPoint, Vec<(f64, Vec<f64>)>),
    observations: f64,
) -> Option<Spread> {
    let slopes = whole.slopes(&best, &whole.numbers_until(FitStage::Writes), FitStage::Writes);
    let best = descent.try_point(best.point, FitStage::Writes)?;
    let posterior = Posterior::around(descent, &best, slopes, observations)?.with_centres(other_speeds);
    let draws = posterior.draws(descent, &best);
    let (of, correlations) = (posterior.intervals(descent), posterior.correlations());
    let trading = correlations.into_iter().filter(|(_, _, correlation)| correlation.abs() >= TRADES);
    let pairs = trading.map(|(moved, other, correlation)| TradingPair { moved, other, correlation }).collect();
    (!descent.evaluator.ended_at_checkpoint()).then_some(Spread { draws, of, pairs })
}

/// The intervals of what the data tell, and why the others are as they were.
fn told_numbers(
    parameters: &[JobParameter],
    (origin, point): (&[f64], &[f64]),
    (spread, ended_early): (Option<&Spread>, bool),
    sensitivity: &Sensitivity,
) -> (Intervals, Vec<Option<RejectionReason>>) {
    let is_told = |index: usize| {
        let prior = parameters[index].prior?;
        spread.map(|spread| spread.of[index].deviation < TOLD * prior.deviation)
    };
    let is_felt = |index: usize| sensitivity.effects[index].iter().any(|effect| *effect > 0.0);
    let interval = |index: usize| {
        let spread = spread?.of[index];
        let moved = point[index] != origin[index];
        let is_number = parameters[index].prior.is_some() || parameters[index].parameter.numeric_choices().is_some();
        (is_number && (moved || is_told(index) == Some(true))).then_some(spread.interval)
    };
    let reason = |index: usize| match is_told(index) {
        _ if point[index] != origin[index] => None,
        _ if spread.is_none() && ended_early => Some(RejectionReason::NotJudged),
        _ if !is_felt(index) => Some(RejectionReason::NotFelt),
        _ if spread.is_none() => Some(RejectionReason::NotBetter),
        Some(true) => Some(RejectionReason::NotMoved),
        Some(false) => Some(RejectionReason::TooLittle),
        None => Some(RejectionReason::NotTold),
    };
    let all = 0..parameters.len();
    let pairs = spread.map_or_else(Vec::new, |spread| spread.pairs.clone());
    (Intervals { of: all.clone().map(interval).collect(), pairs }, all.map(reason).collect())
}

/// The loads of the seen jobs. The write cache is as the job sets it, else as the drive has it.
fn seen_loads(drive: &DriveFile, data: &[FitData]) -> Vec<SeenJob> {
    let own = drive.figure(figure::CACHE_WRITE_BACK).is_some_and(|it| it.value == FigureValue::Flag(true));
    let load = |point: &MeasuredPoint| {
        let cache = point.settings.iter().rev().find(|(key, _)| key == figure::CACHE_WRITE_BACK);
        let write_cache = cache.map_or(own, |(_, value)| ["on", "true"].contains(&value.as_str()));
        Some(SeenJob { load: point.load?, write_cache })
    };
    let mut all: Vec<SeenJob> = seen_points(data).into_iter().filter_map(load).collect();
    let mut known = BTreeSet::new();
    all.retain(|job| known.insert(*job));
    all
}

/// The jobs that a fit sees.
fn seen_points(data: &[FitData]) -> Vec<&MeasuredPoint> {
    let points = data.iter().flat_map(|data| if let FitData::Points(points) = data { &points[..] } else { &[] });
    points.filter(|point| !point.held).collect()
}

/// The settings in which each draw differs from the fitted drive. A stage without data has its keys from a drive of the catalogue in every
/// other draw.
fn draw_settings(
    drive: &DriveFile,
    parameters: &[Parameter],
    point: &[f64],
    spread: &Spread,
    data: &[FitData],
) -> Vec<Vec<(String, String)>> {
    let points = seen_points(data);
    let unseen = [FitStage::Queue, FitStage::Writes]
        .into_iter()
        .filter(|stage| !points.iter().any(|point| misfit::stage_of_job(point) == *stage))
        .collect::<Vec<_>>();
    let donors = draws::donors(drive);
    let Ok(fitted) = drive_at_point(drive, parameters, point) else { return Vec::new() };
    let settings = |(index, other): (usize, &Vec<f64>)| {
        let mut all = draws::settings_between(drive, parameters, (point, other));
        if let Some(donor) = donors.get(index / 2 % donors.len().max(1)).filter(|_| index % 2 == 1) {
            let donated: Vec<(String, String)> =
                unseen.iter().flat_map(|stage| draws::donated_settings(&fitted, donor, *stage)).collect();
            all.retain(|(key, _)| !donated.iter().any(|(other, _)| other == key));
            all.extend(donated);
        }
        draws::buildable(&fitted, all)
    };
    spread.draws.iter().enumerate().map(settings).collect()
}

/// Points that a search over all stages is expected to take: counted in fits to five and seven jobs, which differ by a third.
fn expected_point_count(parameters: &[JobParameter]) -> u64 {
    let numbers = parameters.iter().filter(|it| it.prior.is_some()).count() as u64;
    let choices = trial_choices(parameters);
    60 * numbers + 5 * choices + 150
}

fn trial_choices(parameters: &[JobParameter]) -> u64 {
    let choices = |it: &JobParameter| match &it.parameter.form {
        ParameterDomain::Choice(words) => words.len() as u64 - 1,
        ParameterDomain::Number(_) => 0,
    };
    parameters.iter().map(choices).sum()
}

/// Points of the last stages: descents on whole jobs, the alternatives, and the draws.
fn expected_last_points(parameters: &[JobParameter]) -> u64 {
    let numbers = parameters.iter().filter(|it| it.prior.is_some()).count() as u64;
    6 * numbers + trial_choices(parameters) + 2 * draws::DRAWS as u64
}

/// Number of points that a fit of `drive` to jobs is expected to try.
pub fn expected_fit_points(drive: &DriveFile, only_keys: &[String], refits: bool) -> u64 {
    let parameters = parameters::collect_job_parameters(drive, only_keys);
    expected_point_count(&parameters) * if refits { 2 } else { 1 } + expected_last_points(&parameters)
}
