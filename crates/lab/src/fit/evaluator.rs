//! Points tried on the data: each once, however often it is asked for, and written down as it is done, so that an
//! interrupted fit can continue. The search knows nothing of that: it asks the same questions in the same order, and
//! gets known answers at once.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use seekwise_formats::profile::DriveFile;
use seekwise_run::cutoff::Cancelled;

use super::data::{DataSplit, FitData, Resamples};
use super::parameter::{Parameter, apply};
use super::slope::{SimulatedValue, SlopeTarget};

/// The loss of a point of which no drive can be made.
const IMPOSSIBLE: f64 = 1e6;

/// Resamples of what the search sees; intervals are made of them.
pub const SEEN_DRAWS: usize = 40;

/// Resamples of the held-back data; changes are judged by them.
pub const HELD_DRAWS: usize = 200;

/// A question about a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// Its loss on the seen data.
    Seen,
    /// Its loss on the seen data, and that of each draw.
    Drawn,
    /// Its loss on the held-back data, and that of each draw.
    Held,
}

/// Called for each point that is tried: the question as it is written down, the answer, and whether it was known.
pub type PointListener<'a> = dyn Fn(&str, &[f64], bool) + Sync + 'a;

/// Who goes with a fit.
#[derive(Clone, Copy)]
pub struct FitListener<'a> {
    /// Called for each point that is tried.
    pub heard: &'a PointListener<'a>,
    /// Whether to end before the next point.
    pub cancelled: Cancelled<'a>,
}

impl<'a> FitListener<'a> {
    /// One that hears and never ends it.
    pub const fn hearing(heard: &'a PointListener<'a>) -> FitListener<'a> {
        FitListener { heard, cancelled: &|| false }
    }
}

/// A drive, what may move of it, and the data.
pub struct PointEvaluator<'a> {
    /// The initial profile.
    pub drive: &'a DriveFile,
    /// What may move.
    pub parameters: &'a [Parameter],
    data: &'a [FitData],
    draws: [Vec<Resamples>; 2],
    targets: Vec<SlopeTarget>,
    known: Mutex<BTreeMap<String, Vec<f64>>>,
    listener: FitListener<'a>,
    /// No more points are tried.
    over: AtomicBool,
}

impl<'a> PointEvaluator<'a> {
    /// An evaluator that knows some answers already.
    pub fn new(
        drive: &'a DriveFile,
        parameters: &'a [Parameter],
        data: &'a [FitData],
        known: BTreeMap<String, Vec<f64>>,
        listener: FitListener<'a>,
    ) -> PointEvaluator<'a> {
        let draws = |part, times, stream: &str| data.iter().map(|data| data.draws(part, times, stream)).collect();
        let draws = [draws(DataSplit::Seen, SEEN_DRAWS, "fit seen"), draws(DataSplit::Held, HELD_DRAWS, "fit held")];
        let targets = data.iter().flat_map(|data| data.targets(drive)).collect();
        PointEvaluator {
            drive,
            parameters,
            data,
            draws,
            targets,
            known: Mutex::new(known),
            listener,
            over: AtomicBool::new(false),
        }
    }

    /// True once the fit was cancelled: answers are made up from then on, as those of points of which no drive can be made,
    /// and the search soon has nowhere to go.
    pub fn was_cancelled(&self) -> bool {
        let over = self.over.load(Ordering::Relaxed) || (self.listener.cancelled)();
        if over {
            self.over.store(true, Ordering::Relaxed);
        }
        over
    }

    /// The answer for one point.
    pub fn ask(&self, question: Question, point: &[f64]) -> Vec<f64> {
        if self.was_cancelled() {
            return vec![IMPOSSIBLE; answers(question)];
        }
        let name = name(question, point);
        let known = self.known.lock().expect("no holder panics").get(&name).cloned();
        let was_known = known.is_some();
        let answer = known.unwrap_or_else(|| self.tried(question, point));
        (self.listener.heard)(&name, &answer, was_known);
        if !was_known {
            self.known.lock().expect("no holder panics").insert(name, answer.clone());
        }
        answer
    }

    /// The answers for several points, in their order, on all cores.
    pub fn ask_all(&self, question: Question, points: &[Vec<f64>]) -> Vec<Vec<f64>> {
        points.par_iter().map(|point| self.ask(question, point)).collect()
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
    pub fn simulated(&self, point: &[f64]) -> Option<Vec<SimulatedValue>> {
        if self.was_cancelled() {
            return None;
        }
        let drive = apply(self.drive, self.parameters, point).ok()?;
        let parts: Result<Vec<Vec<SimulatedValue>>, _> = self.data.iter().map(|data| data.simulated(&drive)).collect();
        parts.ok().map(|parts| parts.concat())
    }

    /// True if any data are held back.
    pub fn holds_back(&self) -> bool {
        self.data.iter().any(|data| data.count(DataSplit::Held) > 0)
    }

    fn tried(&self, question: Question, point: &[f64]) -> Vec<f64> {
        let (part, none) = match question {
            Question::Seen => (DataSplit::Seen, true),
            Question::Drawn => (DataSplit::Seen, false),
            Question::Held => (DataSplit::Held, false),
        };
        let draws = &self.draws[part as usize];
        let answers = answers(question);
        let Ok(drive) = apply(self.drive, self.parameters, point) else { return vec![IMPOSSIBLE; answers] };
        let mut sums = vec![0.0; answers];
        for (data, draws) in self.data.iter().zip(draws) {
            match data.losses(&drive, part, (!none).then_some(draws)) {
                Ok(Some(losses)) => sums.iter_mut().zip(losses).for_each(|(sum, loss)| *sum += loss),
                Ok(None) => {}
                Err(_) => return vec![IMPOSSIBLE; answers],
            }
        }
        sums
    }
}

/// Losses that answer a question.
fn answers(question: Question) -> usize {
    match question {
        Question::Seen => 1,
        Question::Drawn => 1 + SEEN_DRAWS,
        Question::Held => 1 + HELD_DRAWS,
    }
}

/// How a question is written down.
fn name(question: Question, point: &[f64]) -> String {
    let values: Vec<String> = point.iter().map(ToString::to_string).collect();
    format!("{question:?} {}", values.join(" "))
}

/// How surely `changed` has the smaller loss than `same`: the share of draws in which it has.
pub fn share_better(changed: &[f64], same: &[f64]) -> f64 {
    let pairs = changed.iter().zip(same).skip(1);
    let better = pairs.clone().filter(|(changed, same)| changed < same).count();
    better as f64 / pairs.count().max(1) as f64
}
