//! Evaluates points on the data: each once, however often it is asked for, and written to a journal, so that an interrupted fit can
//! continue. The search does not notice: it asks the same questions in the same order, and gets known answers at once.
//!
//! For jobs the figures are simulated and written down: the loss, that of each draw and the slopes follow from them without another run.
//! For traces the answer to each question is.
//!
//! A fit may end early: after a number of points, or when its listener asks for it. The search then gets no more answers and soon stops,
//! and the best point so far is judged. No clock is read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use seekwise_drives::profile::{DriveFile, ReadingCache};
use seekwise_run::cutoff::Cancelled;
use serde::Serialize;

use super::data::{DataSplit, FitData, Resamples};
use super::parameter::{Parameter, apply_point};
use super::points;
use super::slope::{SimulatedValue, SlopeTarget};
use crate::workers::Workers;

/// Loss of a point that makes no valid drive.
const IMPOSSIBLE: f64 = 1e6;

/// Prefix of questions about shortened data.
const ROUGH: &str = "Rough";

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
    /// The least loss of the seen data so far.
    Best(f64),
    /// The least loss at a checkpoint: while no point is being tried, the progress does not depend on the number of cores.
    Paused(f64),
    /// A stage begins; `expected` points follow until the end of the fit.
    Stage { name: &'static str, expected: u64 },
}

/// The receiver of a fit's events, which may end the fit.
#[derive(Clone, Copy)]
pub struct FitListener<'a> {
    /// Called at each event, from several threads.
    pub heard: &'a (dyn Fn(FitEvent<'_>) + Sync),
    /// Whether to end before the next point, without a result.
    pub cancelled: Cancelled<'a>,
    /// Whether to end with the best point so far, judged, as the result.
    pub enough: Cancelled<'a>,
}

impl<'a> FitListener<'a> {
    /// Makes a listener that never ends the fit.
    pub const fn never_ending(heard: &'a (dyn Fn(FitEvent<'_>) + Sync)) -> FitListener<'a> {
        FitListener { heard, cancelled: &|| false, enough: &|| false }
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
    known: BTreeMap<String, Vec<f64>>,
    /// Questions asked in this fit, known before or not: their number does not depend on cores or interruptions.
    asked: BTreeSet<String>,
    progress: FitPhase,
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
    shared: Arc<Mutex<EvaluatorState>>,
    /// Simulations that answer no question (slopes of traces).
    others: Arc<AtomicU64>,
    /// Platters and arms of the last points.
    cache: Arc<ReadingCache>,
    best: Mutex<BestPoint>,
    /// The limit of points.
    most: u64,
    listener: FitListener<'a>,
}

impl<'a> PointEvaluator<'a> {
    /// Makes an evaluator that already has the answers `known`.
    pub fn new(
        drive: &'a DriveFile,
        parameters: &'a [Parameter],
        data: &'a [FitData],
        known: BTreeMap<String, Vec<f64>>,
        listener: FitListener<'a>,
    ) -> PointEvaluator<'a> {
        let draws =
            |part, times, stream: &str| data.iter().map(|data| data.draw_resamples(part, times, stream)).collect();
        let draws = [draws(DataSplit::Seen, SEEN_DRAWS, "fit seen"), draws(DataSplit::Held, HELD_DRAWS, "fit held")];
        let targets = data.iter().flat_map(|data| data.slope_targets(drive)).collect();
        let (asked, progress) = (BTreeSet::new(), FitPhase::Open);
        let shared = EvaluatorState { known, asked, progress, stage: "the start", cancelled: false, ending: None };
        PointEvaluator {
            drive,
            parameters,
            data,
            prefix: "",
            draws: Arc::new(draws),
            targets: Arc::new(targets),
            shared: Arc::new(Mutex::new(shared)),
            others: Arc::new(AtomicU64::new(0)),
            cache: Arc::default(),
            best: Mutex::new(None),
            most: u64::MAX,
            listener,
        }
    }

    /// Sets the limit of points.
    #[must_use]
    pub(crate) fn with_point_limit(self, most: Option<u64>) -> PointEvaluator<'a> {
        PointEvaluator { most: most.unwrap_or(u64::MAX), ..self }
    }

    /// The data with jobs as short as their figures on the profile's drive allow.
    pub(crate) fn shorten_data(&self) -> Vec<FitData> {
        self.data.iter().map(|data| data.with_short_jobs(self.drive, &self.cache)).collect()
    }

    /// Makes an evaluator on shorter `data` of the same jobs, which shares answers, phase and point count.
    pub(crate) fn with_short_data<'b>(&self, data: &'b [FitData]) -> PointEvaluator<'b>
    where
        'a: 'b,
    {
        PointEvaluator {
            drive: self.drive,
            parameters: self.parameters,
            data,
            prefix: ROUGH,
            draws: self.draws.clone(),
            targets: self.targets.clone(),
            shared: self.shared.clone(),
            others: self.others.clone(),
            cache: self.cache.clone(),
            best: Mutex::new(None),
            most: self.most,
            listener: self.listener,
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, EvaluatorState> {
        self.shared.lock().expect("no holder panics")
    }

    /// Ends the fit if the listener asks for it. True if no more points are tried: answers are then those of a point that makes no valid
    /// drive.
    fn check_for_end(&self) -> bool {
        let (cancelled, enough) = ((self.listener.cancelled)(), (self.listener.enough)());
        let mut now = self.lock_state();
        now.cancelled |= cancelled;
        if enough && matches!(now.progress, FitPhase::Open) {
            self.end_early(&mut now, EarlyEnd::Enough);
        }
        now.cancelled || matches!(now.progress, FitPhase::Ended)
    }

    fn end_early(&self, now: &mut EvaluatorState, why: EarlyEnd) {
        let points = self.points_tried(now);
        now.ending = Some(FitEnding { why, stage: now.stage, points });
        now.progress = FitPhase::Ended;
    }

    fn points_tried(&self, now: &EvaluatorState) -> u64 {
        now.asked.len() as u64 + self.others.load(Ordering::Relaxed)
    }

    /// Number of points tried so far; while none is being tried, it does not depend on the number of cores.
    pub(crate) fn point_count(&self) -> u64 {
        self.points_tried(&self.lock_state())
    }

    /// Marks a checkpoint, at which no point is being tried and the fit may end at its limit of points; true if it has ended.
    pub(crate) fn reach_checkpoint(&self) -> bool {
        let mut now = self.lock_state();
        if matches!(now.progress, FitPhase::Open) && self.points_tried(&now) >= self.most {
            self.end_early(&mut now, EarlyEnd::Points);
        }
        drop(now);
        let least = self.best.lock().expect("no holder panics").as_ref().map(|best| best.0);
        if let Some(least) = least {
            (self.listener.heard)(FitEvent::Paused(least));
        }
        self.check_for_end()
    }

    /// Begins a stage, with which `expected` points follow until the end; true if the fit has ended.
    pub fn begin_stage(&self, name: &'static str, expected: u64) -> bool {
        let mut now = self.lock_state();
        if matches!(now.progress, FitPhase::Open) {
            now.stage = name;
        }
        drop(now);
        (self.listener.heard)(FitEvent::Stage { name, expected });
        self.reach_checkpoint()
    }

    /// True once the fit was cancelled.
    pub fn was_cancelled(&self) -> bool {
        self.check_for_end();
        self.lock_state().cancelled
    }

    /// Where it ended early.
    pub fn ending(&self) -> Option<FitEnding> {
        self.lock_state().ending
    }

    /// Answers questions again, to judge the result.
    pub(crate) fn begin_judging(&self) {
        self.lock_state().progress = FitPhase::Closing;
    }

    /// The best point so far.
    pub(crate) fn best_point(&self) -> Option<Vec<f64>> {
        self.best.lock().expect("no holder panics").clone().map(|(_, point)| point)
    }

    /// The answer for one point.
    pub fn ask(&self, question: Question, point: &[f64]) -> Vec<f64> {
        if self.check_for_end() {
            return impossible_answer(question);
        }
        let answer = match self.data {
            [FitData::Points(points)] => {
                let figures = self.job_figures(points, question.data_split(), point);
                let draws = match (question, &self.draws[question.data_split() as usize][0]) {
                    (Question::Drawn | Question::Held, Resamples::Jobs(draws)) => &draws[..],
                    _ => &[],
                };
                match figures {
                    Some(figures) => points::losses(points, question.data_split(), &figures, draws)
                        .unwrap_or_else(|| vec![0.0; answer_len(question)]),
                    None => impossible_answer(question),
                }
            }
            _ => self.answer_or_simulate(&journal_key(self.prefix, &format!("{question:?}"), point), || {
                self.simulate_losses(question, point)
            }),
        };
        if question != Question::Held {
            self.keep_if_better(answer[0], point);
        }
        answer
    }

    /// Keeps the best point; of equal losses the point whose values come first, so that the order of cores does not matter.
    fn keep_if_better(&self, loss: f64, point: &[f64]) {
        let mut best = self.best.lock().expect("no holder panics");
        let better = match &*best {
            None => true,
            Some((least, _)) if loss != *least => loss < *least,
            Some((_, other)) => point.iter().zip(other).find(|(a, b)| a != b).is_some_and(|(a, b)| a < b),
        };
        let falls = best.as_ref().is_none_or(|(least, _)| loss < *least);
        if better {
            *best = Some((loss, point.to_vec()));
        }
        drop(best);
        if falls {
            (self.listener.heard)(FitEvent::Best(loss));
        }
    }

    /// The answer to `question`, simulated unless it is known.
    fn answer_or_simulate(&self, question: &str, simulated: impl FnOnce() -> Vec<f64>) -> Vec<f64> {
        let known = {
            let mut now = self.lock_state();
            now.asked.insert(question.to_owned());
            now.known.get(question).cloned()
        };
        let was_known = known.is_some();
        let answer = known.unwrap_or_else(simulated);
        (self.listener.heard)(FitEvent::Tried { question, answer: &answer, known: was_known });
        if !was_known {
            self.lock_state().known.insert(question.to_owned(), answer.clone());
        }
        answer
    }

    /// The figures of jobs at a point; `None` if no drive can be made of it.
    fn job_figures(&self, points: &[points::MeasuredPoint], part: DataSplit, point: &[f64]) -> Option<Vec<f64>> {
        let question = match part {
            DataSplit::Seen => "Figures",
            DataSplit::Held => "HeldFigures",
        };
        if points.iter().all(|point| point.held != (part == DataSplit::Held)) {
            return Some(Vec::new());
        }
        let simulated = || {
            let drive = apply_point(self.drive, self.parameters, point).ok();
            let figures = drive.and_then(|drive| points::simulate_part(points, &drive, part, &self.cache).ok());
            figures.unwrap_or_else(|| vec![f64::NAN])
        };
        let figures = self.answer_or_simulate(&journal_key(self.prefix, question, point), simulated);
        (!figures[0].is_nan()).then_some(figures)
    }

    /// The answers for several points, in their order, on all cores.
    pub fn ask_all(&self, question: Question, points: &[Vec<f64>]) -> Vec<Vec<f64>> {
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

    /// The measured values of the seen data, figure by figure.
    pub fn targets(&self) -> &[SlopeTarget] {
        &self.targets
    }

    /// The simulated values at a point, in the same order and unit; `None` if no drive can be made of it.
    pub(crate) fn simulate_point(&self, point: &[f64]) -> Option<Vec<SimulatedValue>> {
        if self.check_for_end() {
            return None;
        }
        if let [FitData::Points(points)] = self.data {
            return Some(points::slope_values(points, &self.job_figures(points, DataSplit::Seen, point)?));
        }
        self.others.fetch_add(1, Ordering::Relaxed);
        let drive = apply_point(self.drive, self.parameters, point).ok()?;
        let parts: Result<Vec<Vec<SimulatedValue>>, _> =
            self.data.iter().map(|data| data.simulated_values(&drive, &self.cache)).collect();
        parts.ok().map(|parts| parts.concat())
    }

    /// The simulated values at several points, in their order, on all cores.
    pub fn simulate_points(&self, points: &[Vec<f64>]) -> Vec<Option<Vec<SimulatedValue>>> {
        Workers::Shared.map(points, |point| self.simulate_point(point))
    }

    /// The data.
    pub fn data(&self) -> &'a [FitData] {
        self.data
    }

    /// True if any data are held back.
    pub(crate) fn has_held_data(&self) -> bool {
        self.data.iter().any(|data| data.part_size(DataSplit::Held) > 0)
    }

    fn simulate_losses(&self, question: Question, point: &[f64]) -> Vec<f64> {
        let part = question.data_split();
        let draws = &self.draws[part as usize];
        let Ok(drive) = apply_point(self.drive, self.parameters, point) else { return impossible_answer(question) };
        let mut sums = vec![0.0; answer_len(question)];
        for (data, draws) in self.data.iter().zip(draws) {
            match data.losses(&drive, part, (question != Question::Seen).then_some(draws), &self.cache) {
                Ok(Some(losses)) => sums.iter_mut().zip(losses).for_each(|(sum, loss)| *sum += loss),
                Ok(None) => {}
                Err(_) => return impossible_answer(question),
            }
        }
        sums
    }
}

/// Number of losses in an answer.
fn answer_len(question: Question) -> usize {
    match question {
        Question::Seen => 1,
        Question::Drawn => 1 + SEEN_DRAWS,
        Question::Held => 1 + HELD_DRAWS,
    }
}

fn impossible_answer(question: Question) -> Vec<f64> {
    vec![IMPOSSIBLE; answer_len(question)]
}

/// Checks that `answer` fits `question`, as the journal has it, on these data; an error says what was expected.
pub fn check_answer(data: &[FitData], question: &str, answer: &[f64]) -> Result<(), String> {
    let word = question.split(' ').next().unwrap_or_default();
    let word = word.strip_prefix(ROUGH).unwrap_or(word);
    let expected = match (word, data) {
        ("Seen", _) => answer_len(Question::Seen),
        ("Drawn", _) => answer_len(Question::Drawn),
        ("Held", _) => answer_len(Question::Held),
        // No drive can be made of the point.
        ("Figures" | "HeldFigures", [FitData::Points(_)]) if answer.len() == 1 && answer[0].is_nan() => return Ok(()),
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

/// Share of draws in which `changed` has a smaller loss than `same`.
pub fn share_better(changed: &[f64], same: &[f64]) -> f64 {
    let pairs = changed.iter().zip(same).skip(1);
    let better = pairs.clone().filter(|(changed, same)| changed < same).count();
    better as f64 / pairs.count().max(1) as f64
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(super) mod toy;
