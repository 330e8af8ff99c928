//! What of a change stays. A parameter goes back to where it was when the data that were seen cannot tell it from there,
//! and when the data that were held back do not bear it out. Noise is what resampling blocks gives: what was seen tells a change
//! if it is the better one in 84 of 100 draws, which is one standard error; what was held back bears it out in more than 60.
//!
//! Each step is held against the best point so far, not the one before it: many small losses, each within noise, would else
//! add up to one that is not.

use serde::Serialize;

use super::bench::{Bench, Question, share_better};
use super::parameter::Marked;
use super::search::{Effort, numbers};
use super::slope::{FINE, descend, followed};

/// The share of draws in which a change must be the better one: by one standard error, of a normal distribution.
pub const SURE: f64 = 0.84;

/// Numbers do without one if the point with all of them is the better one in no more draws than this: of two that do the
/// same it is in half.
const SPARED: f64 = 0.6;

/// The share of draws of what is held back in which a change must be the better one that what was seen tells for sure: more
/// often than two that do the same. The noise of what is held back would else undo a dozen changes that are right, one by one, at
/// a cost that adds up; whether the whole is better for sure is asked of it at the end.
const AGREED: f64 = SPARED;

/// Why a parameter was left or put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Left {
    /// No simulated time depends on it.
    NotFelt,
    /// The search left it where it was.
    NotMoved,
    /// The data that were seen are met as well without its change.
    NotTold,
    /// The data that were held back are not met better beyond their noise.
    NotBetter,
}

/// Puts back what the data that were seen do not need: a number goes back if the others, following, meet them as well. What
/// nobody ever stated goes first, and of those what moved least: of numbers that trade, the fewest then carry the change.
pub fn thin(bench: &Bench<'_>, origin: &[f64], point: Vec<f64>, effort: Effort, left: &mut [Option<Left>]) -> Vec<f64> {
    let whole = bench.ask(Question::Drawn, &point);
    let mut point = point;
    let range = |index: usize| bench.parameters[index].range();
    let by = |index: usize| range(index).map_or(0.0, |it| (it.place(point[index]) - it.place(origin[index])).abs());
    let mut moved: Vec<usize> =
        (0..point.len()).filter(|&index| point[index] != origin[index] && range(index).is_some()).collect();
    let rank = |index: usize| match bench.parameters[index].marked {
        Marked::Absent | Marked::Inferred | Marked::Provisional => 0,
        Marked::Imported | Marked::Fitted | Marked::Named => 1,
    };
    moved.sort_by(|&a, &b| rank(a).cmp(&rank(b)).then(by(a).total_cmp(&by(b))));
    for index in moved {
        let carried: Vec<bool> = (0..point.len()).map(|index| point[index] != origin[index]).collect();
        let mut other = point.clone();
        other[index] = origin[index];
        let followed = followed(bench, &point, &carried, (index, origin[index]));
        let free: Vec<bool> = (0..other.len()).map(|other| carried[other] && other != index).collect();
        let followed = descend(bench, followed, &free, &FINE);
        if bench.loss(&followed) < bench.loss(&other) {
            other = followed;
        }
        let other = numbers(bench, other, &free, 0.02, effort.following());
        if share_better(&whole, &bench.ask(Question::Drawn, &other)) <= SPARED {
            left[index] = Some(Left::NotTold);
            point = other;
        }
    }
    point
}

/// Puts back what does not stay, what matters least first. `left` gets the reasons.
pub fn take_back(bench: &Bench<'_>, origin: &[f64], point: Vec<f64>, left: &mut [Option<Left>]) -> Vec<f64> {
    let mut point = back(bench, (Question::Drawn, SURE), origin, point, (Left::NotTold, left));
    if bench.holds_back() {
        point = back(bench, (Question::Held, AGREED), origin, point, (Left::NotBetter, left));
    }
    point
}

fn back(
    bench: &Bench<'_>,
    (question, sure): (Question, f64),
    origin: &[f64],
    mut point: Vec<f64>,
    (why, left): (Left, &mut [Option<Left>]),
) -> Vec<f64> {
    let without = |point: &[f64], index: usize| {
        let mut other = point.to_vec();
        other[index] = origin[index];
        other
    };
    let mut moved: Vec<usize> = (0..point.len()).filter(|&index| point[index] != origin[index]).collect();
    // What costs least to put back is asked first: of two that do the same, one then stays.
    let asked: Vec<Vec<f64>> = moved.iter().map(|&index| without(&point, index)).collect();
    let losses: Vec<f64> = bench.ask_all(Question::Seen, &asked).iter().map(|answer| answer[0]).collect();
    let mut order: Vec<usize> = (0..moved.len()).collect();
    order.sort_by(|&a, &b| losses[a].total_cmp(&losses[b]));
    moved = order.into_iter().map(|place| moved[place]).collect();
    let mut best = bench.ask(question, &point);
    for index in moved {
        let other = without(&point, index);
        let answer = bench.ask(question, &other);
        if share_better(&best, &answer) < sure {
            left[index] = Some(why);
            point = other;
            if answer[0] < best[0] {
                best = answer;
            }
        }
    }
    point
}

/// Whether `point` does better on what is held back than `origin`, beyond noise; nothing where nothing is held back.
pub fn better(bench: &Bench<'_>, origin: &[f64], point: &[f64]) -> Option<bool> {
    bench
        .holds_back()
        .then(|| share_better(&bench.ask(Question::Held, point), &bench.ask(Question::Held, origin)) >= SURE)
}
