//! A measured drive becomes a profile: what of a profile nobody states for sure is moved within its range until the drive
//! does what was measured, as far as data that were held back bear it out.
//!
//! Pure: a profile and data in, a point and findings out. Opens no file, writes none; the method stands in `docs/fit.md`.
//!
//! | room | what it is |
//! |---|---|
//! | [`parameter`] | what may move, and how |
//! | [`ranges`] | within what |
//! | [`data`] | traces and jobs, done again on another drive |
//! | [`loss`] | how far a replayed trace is off |
//! | [`points`] | how far jobs with figures are off |
//! | [`bench`](mod@bench) | points tried, each once |
//! | [`search`] | rules and numbers |
//! | [`judge`] | what is put back |
//! | [`sources`] | texts become data |
//! | [`interval`] | how far figures could lie elsewhere, and which trade |
//! | [`write`](mod@write) | the profile that came of it |
//! | [`report`] | what there is to say of it |
//! | [`page`] | the same as a page |

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
pub mod sources;
pub mod write;

use std::collections::BTreeMap;

use seekwise_formats::profile::DriveFile;

use bench::{Bench, Heard, Question, share_better};
use data::Data;
use interval::Intervals;
use judge::{Left, SURE};
use parameter::Parameter;
use search::Effort;

/// What came of a fit.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// What could move.
    pub parameters: Vec<Parameter>,
    /// Where each one is now.
    pub point: Vec<f64>,
    /// Why one is where it was.
    pub left: Vec<Option<Left>>,
    /// Intervals of those that moved.
    pub intervals: Intervals,
    /// The loss of what was seen, before and after.
    pub seen: (f64, f64),
    /// Of what was held back.
    pub held: Option<(f64, f64)>,
}

/// Fits `drive` to `data`. `known` are answers of a fit that was interrupted; `heard` hears of each point.
pub fn fit(
    drive: &DriveFile,
    parameters: Vec<Parameter>,
    data: &[Data],
    effort: Effort,
    known: BTreeMap<String, Vec<f64>>,
    heard: &Heard<'_>,
) -> Fitted {
    let bench = Bench::new(drive, &parameters, data, known, heard);
    let origin = parameter::origin(&parameters);
    let mut point = origin.clone();
    for (spread, generations) in [(0.15, effort.generations), (0.05, effort.generations / 2)] {
        let free = search::felt(&bench, &point);
        point = search::rules(&bench, point, &free);
        let free = search::felt(&bench, &point);
        point = search::numbers(&bench, point, &free, spread, generations);
    }
    let free = search::felt(&bench, &point);
    point = search::rules_followed(&bench, point, &free, effort);
    let reason = |index: usize| match (free[index], point[index] == origin[index]) {
        (_, false) => None,
        (false, true) => Some(Left::NotFelt),
        (true, true) => Some(Left::NotMoved),
    };
    let mut left: Vec<Option<Left>> = (0..point.len()).map(reason).collect();
    point = judge::thin(&bench, &origin, point, effort, &mut left);
    point = judge::take_back(&bench, &origin, point, &mut left);
    point = settled(&bench, &origin, point, effort);
    let (point, intervals) = spread(&bench, &origin, point, &mut left);
    let both = |question| (bench.ask(question, &origin)[0], bench.ask(question, &point)[0]);
    let seen = both(Question::Seen);
    let held = bench.holds_back().then(|| both(Question::Held));
    drop(bench);
    Fitted { parameters, point, left, intervals, seen, held }
}

fn moved(origin: &[f64], point: &[f64]) -> Vec<bool> {
    origin.iter().zip(point).map(|(origin, value)| origin != value).collect()
}

/// What stays is searched once more, without what was put back; unless what was held back then does worse.
fn settled(bench: &Bench<'_>, origin: &[f64], point: Vec<f64>, effort: Effort) -> Vec<f64> {
    let again = search::numbers(bench, point.clone(), &moved(origin, &point), 0.02, effort.generations / 4);
    let worse = bench.holds_back()
        && share_better(&bench.ask(Question::Held, &point), &bench.ask(Question::Held, &again)) >= SURE;
    if worse { point } else { again }
}

/// The intervals, and the best point found on their way. Where what is held back is met no better than by the profile
/// as it was, everything goes back.
fn spread(bench: &Bench<'_>, origin: &[f64], point: Vec<f64>, left: &mut [Option<Left>]) -> (Vec<f64>, Intervals) {
    if point == origin || judge::better(bench, origin, &point) == Some(false) {
        for (index, left) in left.iter_mut().enumerate() {
            if point[index] != origin[index] {
                *left = Some(Left::NotBetter);
            }
        }
        let none = Intervals { best: origin.to_vec(), of: vec![None; origin.len()], pairs: Vec::new() };
        return (origin.to_vec(), none);
    }
    let intervals = interval::intervals(bench, &point, &moved(origin, &point));
    (intervals.best.clone(), intervals)
}
