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
//! | [`bench`](mod@bench) | points tried, each once |
//! | [`search`] | rules and numbers |
//! | [`slope`] | the effect of each number on each figure |
//! | [`judge`] | what is put back |
//! | [`sources`] | from texts to data |
//! | [`interval`] | intervals of figures, and which figures trade |
//! | [`write`](mod@write) | the fitted profile |
//! | [`report`] | the findings |
//! | [`page`] | the findings as a page |

pub mod bench;
pub mod data;
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

use bench::{FitBench, FitListener, Question, share_better};
use data::FitData;
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
    let bench = FitBench::new(drive, &parameters, data, known, listener);
    let origin = parameter::origin(&parameters);
    let (found, free) = searched(&bench, &origin, effort);
    let mut point = found.clone();
    let mut left: Vec<Option<RejectionReason>> = vec![None; point.len()];
    point = judge::thin(&bench, &origin, point, effort, &mut left);
    point = judge::take_back(&bench, &origin, point, &mut left);
    point = settled(&bench, &origin, point, effort);
    let (point, intervals) = spread(&bench, &origin, point, (&found, &free), effort, &mut left);
    for (index, left) in
        left.iter_mut().enumerate().filter(|(index, left)| point[*index] == origin[*index] && left.is_none())
    {
        *left = Some(if free[index] { RejectionReason::NotMoved } else { RejectionReason::NotFelt });
    }
    let both = |question| (bench.ask(question, &origin)[0], bench.ask(question, &point)[0]);
    let seen = both(Question::Seen);
    let held = bench.holds_back().then(|| both(Question::Held));
    let whole = !bench.was_cancelled();
    drop(bench);
    whole.then_some(FitResult { parameters, point, left, intervals, seen, held })
}

/// The point where the search ends, and what the data feel there. It begins twice, with rules and with numbers, because
/// whichever comes first also fits what belongs to the other; it continues from the end that is better on the held-back
/// data.
fn searched(bench: &FitBench<'_>, origin: &[f64], effort: SearchEffort) -> (Vec<f64>, Vec<bool>) {
    let free = search::felt(bench, origin);
    let numbers = slope::descend(bench, origin.to_vec(), &free, &slope::WIDE);
    let [one, other] = [origin.to_vec(), numbers].map(|start| walked(bench, start, effort));
    let judged = if bench.holds_back() { Question::Held } else { Question::Seen };
    let point = if bench.ask(judged, &other)[0] < bench.ask(judged, &one)[0] { other } else { one };
    let free = search::felt(bench, &point);
    let point = search::rules_followed(bench, point, &free, effort);
    (slope::descend(bench, point, &free, &slope::FINE), free)
}

/// Rules and numbers in turn from `point` on, wide and close.
fn walked(bench: &FitBench<'_>, mut point: Vec<f64>, effort: SearchEffort) -> Vec<f64> {
    for (spread, generations) in [(0.15, effort.generations), (0.05, effort.generations / 2)] {
        let free = search::felt(bench, &point);
        point = search::rules(bench, point, &free);
        let free = search::felt(bench, &point);
        point = search::numbers(bench, point, &free, spread, generations);
        point = slope::descend(bench, point, &free, &slope::FINE);
    }
    point
}

fn moved(origin: &[f64], point: &[f64]) -> Vec<bool> {
    origin.iter().zip(point).map(|(origin, value)| origin != value).collect()
}

/// Searches once more what stays, without what was put back, unless the held-back data then get worse.
fn settled(bench: &FitBench<'_>, origin: &[f64], point: Vec<f64>, effort: SearchEffort) -> Vec<f64> {
    let moved = moved(origin, &point);
    let again = search::numbers(bench, point.clone(), &moved, 0.02, effort.generations / 4);
    let again = slope::descend(bench, again, &moved, &slope::FINE);
    let worse = bench.holds_back()
        && share_better(&bench.ask(Question::Held, &point), &bench.ask(Question::Held, &again)) >= SURE;
    if worse { point } else { again }
}

/// The point and its intervals, without what these do not determine. If the held-back data are met no better than by
/// the original profile, everything goes back. `found` is where the search ended, and what the data feel there.
fn spread(
    bench: &FitBench<'_>,
    origin: &[f64],
    point: Vec<f64>,
    (found, free): (&[f64], &[bool]),
    effort: SearchEffort,
    left: &mut [Option<RejectionReason>],
) -> (Vec<f64>, Intervals) {
    if point == origin || judge::better(bench, origin, &point) == Some(false) {
        for (index, left) in left.iter_mut().enumerate() {
            if point[index] != origin[index] {
                *left = Some(RejectionReason::NotBetter);
            }
        }
        return (origin.to_vec(), Intervals { of: vec![None; origin.len()], pairs: Vec::new() });
    }
    // Its numbers with the rules that stayed.
    let number = |index: usize| bench.parameters[index].range().is_some();
    let beside: Vec<f64> =
        (0..point.len()).map(|index| if number(index) { found[index] } else { point[index] }).collect();
    let moved = moved(origin, &point);
    let asked = IntervalQuery { point: &point, beside: &beside, moved: &moved, free };
    let intervals = interval::intervals(bench, &asked);
    let point = judge::told(bench, origin, point, &intervals, effort, left);
    let intervals = intervals.at(bench.parameters, &point);
    (point, intervals)
}
