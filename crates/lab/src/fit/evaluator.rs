//! Evaluates points (one value for each parameter) on the data. Each point is simulated once, however often it is asked for. Answers go to
//! a journal, so that an interrupted fit can continue: the search asks the same questions in the same order, and gets known answers at once.
//!
//! For jobs the journal holds the simulated figures; the losses and slopes follow from them without another run. For traces it holds the
//! losses.
//!
//! A fit may end early: after a number of points, or when its listener asks for it. The search then gets no more answers and soon stops,
//! and the best point so far is judged. No clock is read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use seekwise_drives::profile::{DriveFile, ReadingCache};
use seekwise_run::cutoff::Cancelled;
use serde::Serialize;

use super::data::{DataSplit, FitData, LossAndDraws, Resamples};
use super::loss::GroupError;
use super::parameter::{Parameter, drive_at_point};
use super::points;
use super::slope::{SimulatedValue, SlopeTarget};
use crate::workers::Workers;

/// Loss of a point that makes no valid drive: far above any other.
pub(crate) const IMPOSSIBLE: f64 = 1e6;

/// Resamples of the seen data, for intervals.
pub(crate) const SEEN_DRAWS: usize = 40;

/// Resamples of the held-back data, for judging changes.
pub(crate) const HELD_DRAWS: usize = 200;

/// A question about a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// Loss on the seen data.
    Seen,
    /// Loss on the seen data, and that of each draw.
    Drawn,
    /// Loss on the held-back data, and that of each draw.
    Held,
}

impl Question {
    fn data_split(self) -> DataSplit {
        if self == Question::Held { DataSplit::Held } else { DataSplit::Seen }
    }
}

/// An event during a fit.
#[derive(Clone, Copy, Debug)]
pub enum FitEvent<'a> {
    /// A point was tried, or its answer was known: the question as in the journal, and the answer.
    Tried { question: &'a str, answer: &'a [f64], known: bool },
    /// The least loss on the seen data fell to this value.
    Best(f64),
    /// The least loss at a checkpoint. No point is being tried then, so the progress does not depend on the number of cores.
    Paused(f64),
    /// A stage begins; `expected` points follow until the end of the fit.
    Stage { name: &'static str, expected: u64 },
}

/// The receiver of a fit's events, which may end the fit.
#[derive(Clone, Copy)]
pub struct FitListener<'a> {
    /// Called at each event, from several threads.
    pub on_event: &'a (dyn Fn(FitEvent<'_>) + Sync),
    /// Whether to end before the next point, without a result.
    pub cancelled: Cancelled<'a>,
    /// Whether to end with the best point so far, judged, as the result.
    pub enough: Cancelled<'a>,
}

impl<'a> FitListener<'a> {
    /// Makes a listener that never ends the fit.
    pub const fn never_ending(on_event: &'a (dyn Fn(FitEvent<'_>) + Sync)) -> FitListener<'a> {
        FitListener { on_event, cancelled: &|| false, enough: &|| false }
    }
}

/// Why a fit ended before its search did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EarlyEnd {
    /// The listener asked for it, at an instant of its own: another fit may end elsewhere.
    Enough,
    /// The limit of points was reached, at the same place on every machine.
    Points,
}

/// Where a fit ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FitEnding {
    /// The reason.
    pub why: EarlyEnd,
    /// The stage that was not finished.
    pub stage: &'static str,
    /// Points tried until then.
    pub points: u64,
}

/// Phase of a fit.
#[derive(Debug)]
enum FitPhase {
    /// Points are tried.
    Open,
    /// No more points are tried.
    Ended,
    /// The result is judged; only a cancellation ends that.
    Closing,
}

/// State that an evaluator shares with its counterpart on shortened data.
struct EvaluatorState {
    /// Answers by the journal's text of their question.
    known_answers: BTreeMap<String, Vec<f64>>,
    /// Questions asked in this fit, known before or not: their number does not depend on cores or interruptions.
    asked: BTreeSet<String>,
    phase: FitPhase,
    stage: &'static str,
    cancelled: bool,
    ending: Option<FitEnding>,
}

/// Loss and point of the best so far.
type BestPoint = Option<(f64, Vec<f64>)>;

/// A drive with its parameters, and the data on which points are tried.
pub struct PointEvaluator<'a> {
    /// The initial profile.
    pub drive: &'a DriveFile,
    /// The parameters that may move.
    pub parameters: &'a [Parameter],
    data: &'a [FitData],
    /// Prefix of each question in the journal.
    prefix: &'static str,
    draws: Arc<[Vec<Resamples>; 2]>,
    targets: Arc<Vec<SlopeTarget>>,
    state: Arc<Mutex<EvaluatorState>>,
    /// Number of simulations that answer no question (slopes of traces).
    unnamed_points: Arc<AtomicU64>,
    /// Platters and arms of the last points.
    cache: Arc<ReadingCache>,
    best: Mutex<BestPoint>,
    /// Number of points after which the fit ends.
    point_limit: u64,
    listener: FitListener<'a>,
}

impl<'a> PointEvaluator<'a> {
    /// Makes an evaluator that already has some answers.
    pub fn new(
        drive: &'a DriveFile,
        parameters: &'a [Parameter],
        data: &'a [FitData],
        known_answers: BTreeMap<String, Vec<f64>>,
        listener: FitListener<'a>,
    ) -> PointEvaluator<'a> {
        let resamples = |part, draw_count, stream_name: &str| {
            data.iter().map(|data| data.draw_resamples(part, draw_count, stream_name)).collect()
        };
        let draws =
            [resamples(DataSplit::Seen, SEEN_DRAWS, "fit seen"), resamples(DataSplit::Held, HELD_DRAWS, "fit held")];
        let targets = data.iter().flat_map(|data| data.slope_targets(drive)).collect();
        let (asked, phase) = (BTreeSet::new(), FitPhase::Open);
        let state = EvaluatorState { known_answers, asked, phase, stage: "the start", cancelled: false, ending: None };
        PointEvaluator {
            drive,
            parameters,
            data,
            prefix: "",
            draws: Arc::new(draws),
            targets: Arc::new(targets),
            state: Arc::new(Mutex::new(state)),
            unnamed_points: Arc::new(AtomicU64::new(0)),
            cache: Arc::default(),
            best: Mutex::new(None),
            point_limit: u64::MAX,
            listener,
        }
    }

    /// Sets the number of points after which the fit ends; `None` for no limit.
    #[must_use]
    pub(crate) fn with_point_limit(self, point_limit: Option<u64>) -> PointEvaluator<'a> {
        PointEvaluator { point_limit: point_limit.unwrap_or(u64::MAX), ..self }
    }

    /// The data with each job as short as its figures on the profile's drive allow.
    pub(crate) fn data_with_short_jobs(&self) -> Vec<FitData> {
        self.data.iter().map(|data| data.with_short_jobs(self.drive, &self.cache)).collect()
    }

    /// Makes an evaluator on other data of the same jobs, which shares answers, phase and point count. `prefix` tells its questions apart
    /// in the journal.
    pub(crate) fn with_data<'b>(&self, data: &'b [FitData], prefix: &'static str) -> PointEvaluator<'b>
    where
        'a: 'b,
    {
        PointEvaluator {
            drive: self.drive,
            parameters: self.parameters,
            data,
            prefix,
            draws: self.draws.clone(),
            targets: self.targets.clone(),
            state: self.state.clone(),
            unnamed_points: self.unnamed_points.clone(),
            cache: self.cache.clone(),
            best: Mutex::new(None),
            point_limit: self.point_limit,
            listener: self.listener,
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, EvaluatorState> {
        self.state.lock().expect("no holder panics")
    }

    /// Ends the fit if the listener asks for it. True if no more points are tried; answers are then those of a point that makes no valid
    /// drive.
    fn ask_listener_whether_ended(&self) -> bool {
        let (cancelled, enough) = ((self.listener.cancelled)(), (self.listener.enough)());
        let mut state = self.lock_state();
        state.cancelled |= cancelled;
        if enough && matches!(state.phase, FitPhase::Open) {
            self.end_early(&mut state, EarlyEnd::Enough);
        }
        state.cancelled || matches!(state.phase, FitPhase::Ended)
    }

    fn end_early(&self, state: &mut EvaluatorState, why: EarlyEnd) {
        let points = self.tried_point_count(state);
        state.ending = Some(FitEnding { why, stage: state.stage, points });
        state.phase = FitPhase::Ended;
    }

    fn tried_point_count(&self, state: &EvaluatorState) -> u64 {
        state.asked.len() as u64 + self.unnamed_points.load(Ordering::Relaxed)
    }

    /// Number of points tried so far; while none is being tried, it does not depend on the number of cores.
    pub(crate) fn point_count(&self) -> u64 {
        self.tried_point_count(&self.lock_state())
    }

    /// Reports the progress at a checkpoint, at which no point is being tried. Ends the fit at its limit of points or if the listener asks
    /// for it; true if it has ended.
    pub(crate) fn ended_at_checkpoint(&self) -> bool {
        let mut state = self.lock_state();
        if matches!(state.phase, FitPhase::Open) && self.tried_point_count(&state) >= self.point_limit {
            self.end_early(&mut state, EarlyEnd::Points);
        }
        drop(state);
        let least = self.best.lock().expect("no holder panics").as_ref().map(|best| best.0);
        if let Some(least) = least {
            (self.listener.on_event)(FitEvent::Paused(least));
        }
        self.ask_listener_whether_ended()
    }

    /// Begins a stage; true if the fit has ended. `expected_points` follow until the end of the fit.
    pub fn begin_stage(&self, name: &'static str, expected_points: u64) -> bool {
        let mut state = self.lock_state();
        if matches!(state.phase, FitPhase::Open) {
            state.stage = name;
        }
        drop(state);
        (self.listener.on_event)(FitEvent::Stage { name, expected: expected_points });
        self.ended_at_checkpoint()
    }

    /// True once the fit was cancelled.
    pub fn was_cancelled(&self) -> bool {
        self.ask_listener_whether_ended();
        self.lock_state().cancelled
    }

    /// The early end of the fit, if it had one.
    pub fn ending(&self) -> Option<FitEnding> {
        self.lock_state().ending
    }

    /// Lets points be tried again after an early end, to judge the result.
    pub(crate) fn reopen_for_judging(&self) {
        self.lock_state().phase = FitPhase::Closing;
    }

    /// The best point so far.
    pub(crate) fn best_point(&self) -> Option<Vec<f64>> {
        self.best.lock().expect("no holder panics").clone().map(|(_, point)| point)
    }

    /// The losses that answer a question about a point.
    pub fn ask(&self, question: Question, point: &[f64]) -> LossAndDraws {
        if self.ask_listener_whether_ended() {
            return impossible_answer(question);
        }
        let answer = match self.data {
            [FitData::Points(jobs)] => {
                let figures = self.job_figures(jobs, question.data_split(), point);
                let draws = match (question, &self.draws[question.data_split() as usize][0]) {
                    (Question::Drawn | Question::Held, Resamples::Jobs(draws)) => &draws[..],
                    _ => &[],
                };
                match figures {
                    Some(figures) => points::losses(jobs, question.data_split(), &figures, draws)
                        .unwrap_or_else(|| vec![0.0; answer_length(question)]),
                    None => impossible_answer(question),
                }
            }
            _ => self.known_answer_or(&journal_key(self.prefix, &format!("{question:?}"), point), || {
                self.simulate_losses(question, point)
            }),
        };
        if question != Question::Held {
            self.keep_point_if_best(answer[0], point);
        }
        answer
    }

    /// Keeps a point if it is the best so far. Of equal losses the point with the lesser first values is better, so that the order of cores
    /// does not matter.
    pub(crate) fn keep_point_if_best(&self, loss: f64, point: &[f64]) {
        let mut best = self.best.lock().expect("no holder panics");
        let is_better = match &*best {
            None => true,
            Some((least, _)) if loss != *least => loss < *least,
            Some((_, other)) => point.iter().zip(other).find(|(a, b)| a != b).is_some_and(|(a, b)| a < b),
        };
        let is_lower = best.as_ref().is_none_or(|(least, _)| loss < *least);
        if is_better {
            *best = Some((loss, point.to_vec()));
        }
        drop(best);
        if is_lower {
            (self.listener.on_event)(FitEvent::Best(loss));
        }
    }

    /// The answer to a question as the journal has it: known, or by `simulate`.
    fn known_answer_or(&self, question: &str, simulate: impl FnOnce() -> Vec<f64>) -> Vec<f64> {
        let known = {
            let mut state = self.lock_state();
            state.asked.insert(question.to_owned());
            state.known_answers.get(question).cloned()
        };
        let was_known = known.is_some();
        let answer = known.unwrap_or_else(simulate);
        (self.listener.on_event)(FitEvent::Tried { question, answer: &answer, known: was_known });
        if !was_known {
            self.lock_state().known_answers.insert(question.to_owned(), answer.clone());
        }
        answer
    }

    /// The figures of jobs at a point; `None` if no drive can be made of it.
    fn job_figures(&self, jobs: &[points::MeasuredPoint], part: DataSplit, point: &[f64]) -> Option<Vec<f64>> {
        let question = match part {
            DataSplit::Seen => "Figures",
            DataSplit::Held => "HeldFigures",
        };
        if jobs.iter().all(|job| job.held != (part == DataSplit::Held)) {
            return Some(Vec::new());
        }
        let simulate = || {
            let drive = drive_at_point(self.drive, self.parameters, point).ok();
            let figures = drive.and_then(|drive| points::simulate_part(jobs, &drive, part, &self.cache).ok());
            figures.unwrap_or_else(|| vec![f64::NAN])
        };
        let figures = self.known_answer_or(&journal_key(self.prefix, question, point), simulate);
        (!figures[0].is_nan()).then_some(figures)
    }

    /// The figures of a part of the jobs at a point; `None` if no drive can be made of it, or the fit has ended.
    pub(crate) fn figures(&self, part: DataSplit, point: &[f64]) -> Option<Vec<f64>> {
        let [FitData::Points(jobs)] = self.data else { return None };
        if self.ask_listener_whether_ended() { None } else { self.job_figures(jobs, part, point) }
    }

    /// Number of jobs that the search sees.
    pub(crate) fn seen_job_count(&self) -> usize {
        self.data.iter().map(|data| data.request_or_job_count(DataSplit::Seen)).sum()
    }

    /// The answers for several points, in their order, on all cores.
    pub fn ask_for_points(&self, question: Question, points: &[Vec<f64>]) -> Vec<LossAndDraws> {
        Workers::Shared.map(points, |point| self.ask(question, point))
    }

    /// The losses of several points on the seen data, in their order, on all cores.
    pub fn losses(&self, points: &[Vec<f64>]) -> Vec<f64> {
        Workers::Shared.map(points, |point| self.loss(point))
    }

    /// The loss of a point on the seen data.
    pub fn loss(&self, point: &[f64]) -> f64 {
        self.ask(Question::Seen, point)[0]
    }

    /// The measured values of the seen data, in the loss's unit.
    pub fn targets(&self) -> &[SlopeTarget] {
        &self.targets
    }

    /// The simulated values at a point, in the same order and unit; `None` if no drive can be made of it.
    pub(crate) fn simulate_point(&self, point: &[f64]) -> Option<Vec<SimulatedValue>> {
        if self.ask_listener_whether_ended() {
            return None;
        }
        if let [FitData::Points(jobs)] = self.data {
            return Some(points::slope_values(jobs, &self.job_figures(jobs, DataSplit::Seen, point)?));
        }
        self.unnamed_points.fetch_add(1, Ordering::Relaxed);
        let drive = drive_at_point(self.drive, self.parameters, point).ok()?;
        let parts: Result<Vec<Vec<SimulatedValue>>, _> =
            self.data.iter().map(|data| data.simulate_values(&drive, &self.cache)).collect();
        parts.ok().map(|parts| parts.concat())
    }

    /// The simulated values at several points, in their order, on all cores.
    pub fn simulate_points(&self, points: &[Vec<f64>]) -> Vec<Option<Vec<SimulatedValue>>> {
        Workers::Shared.map(points, |point| self.simulate_point(point))
    }

    /// The errors of the groups of all traces at a point, seen and held back; `None` if no drive can be made of it, or without traces.
    pub(crate) fn group_errors(&self, point: &[f64]) -> Option<[Vec<GroupError>; 2]> {
        let has_traces = self.data.iter().any(|data| matches!(data, FitData::Traced(_)));
        if !has_traces || self.ask_listener_whether_ended() {
            return None;
        }
        self.unnamed_points.fetch_add(1, Ordering::Relaxed);
        let drive = drive_at_point(self.drive, self.parameters, point).ok()?;
        let mut all = [Vec::new(), Vec::new()];
        for (index, data) in self.data.iter().enumerate() {
            let resamples = [0, 1].map(|part| &self.draws[part][index]);
            let errors = data.simulate_group_errors(&drive, resamples, &self.cache).ok()?;
            all.iter_mut().zip(errors).for_each(|(all, errors)| all.extend(errors));
        }
        Some(all)
    }

    /// The data.
    pub fn data(&self) -> &'a [FitData] {
        self.data
    }

    /// True if any data are held back.
    pub(crate) fn has_held_data(&self) -> bool {
        self.data.iter().any(|data| data.request_or_job_count(DataSplit::Held) > 0)
    }

    fn simulate_losses(&self, question: Question, point: &[f64]) -> LossAndDraws {
        let part = question.data_split();
        let draws = &self.draws[part as usize];
        let Ok(drive) = drive_at_point(self.drive, self.parameters, point) else { return impossible_answer(question) };
        let mut sums = vec![0.0; answer_length(question)];
        for (data, draws) in self.data.iter().zip(draws) {
            match data.simulate_losses(&drive, part, (question != Question::Seen).then_some(draws), &self.cache) {
                Ok(Some(losses)) => sums.iter_mut().zip(losses).for_each(|(sum, loss)| *sum += loss),
                Ok(None) => {}
                Err(_) => return impossible_answer(question),
            }
        }
        sums
    }
}

/// Number of losses in an answer: of the data and of each draw.
fn answer_length(question: Question) -> usize {
    match question {
        Question::Seen => 1,
        Question::Drawn => 1 + SEEN_DRAWS,
        Question::Held => 1 + HELD_DRAWS,
    }
}

fn impossible_answer(question: Question) -> LossAndDraws {
    vec![IMPOSSIBLE; answer_length(question)]
}

/// Checks that `answer` fits `question`, as the journal has it, on these data; an error says what was expected.
pub fn check_journal_answer(data: &[FitData], question: &str, answer: &[f64]) -> Result<(), String> {
    let word = question.split(' ').next().unwrap_or_default();
    let word = word.strip_prefix("Rough").unwrap_or(word);
    let (all, word) = word.strip_prefix("All").map_or((false, word), |word| (true, word));
    let expected = match (word, data) {
        ("Seen", _) => answer_length(Question::Seen),
        ("Drawn", _) => answer_length(Question::Drawn),
        ("Held", _) => answer_length(Question::Held),
        // No drive can be made of the point.
        ("Figures" | "HeldFigures", [FitData::Points(_)]) if answer.len() == 1 && answer[0].is_nan() => return Ok(()),
        ("Figures", [FitData::Points(points)]) if all => {
            points.iter().filter(|point| !point.kept_out).map(|point| point.figures.len()).sum()
        }
        ("Figures", [FitData::Points(points)]) => points::figure_count(points, DataSplit::Seen),
        ("HeldFigures", [FitData::Points(points)]) => points::figure_count(points, DataSplit::Held),
        _ => return Err(format!("`{word}` is no question of this fit")),
    };
    if answer.len() != expected {
        return Err(format!("`{word}` has {} values; expected {expected}", answer.len()));
    }
    match answer.iter().find(|value| !value.is_finite() || **value < 0.0) {
        Some(value) => Err(format!("`{word}` has the value {value}; expected a finite one, 0 or more")),
        None => Ok(()),
    }
}

/// The journal's text of a question.
fn journal_key(prefix: &str, question: &str, point: &[f64]) -> String {
    let values: Vec<String> = point.iter().map(ToString::to_string).collect();
    format!("{prefix}{question} {}", values.join(" "))
}

/// Share of draws in which `candidate` has a smaller loss than `reference`; each is a loss and those of the draws.
pub fn share_of_draws_better(candidate: &[f64], reference: &[f64]) -> f64 {
    let pairs = candidate.iter().zip(reference).skip(1);
    let better = pairs.clone().filter(|(candidate, reference)| candidate < reference).count();
    better as f64 / pairs.count().max(1) as f64
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(super) mod toy;
