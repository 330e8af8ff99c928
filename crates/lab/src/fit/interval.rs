//! How far each fitted number could lie from where it is, by resampling: blocks of the data that were seen are drawn anew,
//! and each draw has a best point of its own. Where those lie is the interval; numbers that move together in them trade
//! against one another.
//!
//! Every point that is tried answers for all draws at once. First each number alone, in steps that double; then, from the
//! draws' best points, all together: a draw's best point moved by the difference of two others' (differential evolution,
//! R. Storn and K. Price 1997, whose spread is the draws' own), so that the search follows what trades.

use seekwise_model::rng::Seed;

use super::bench::{Bench, Question, SEEN_DRAWS};
use super::parameter::Parameter;

/// Steps on each side, each half of the one before: from a quarter of the range down to 1/1024 of it.
const STEPS: u32 = 9;
const WIDEST: f64 = 0.25;

/// Rounds of moving all numbers together, one point a draw.
const ROUNDS: usize = 12;

/// From this correlation of the draws' best points on two numbers are named together.
const TRADES: f64 = 0.8;

/// A number whose interval is as wide as this share of its range is not told.
pub const WIDE: f64 = 0.5;

/// The intervals of the numbers of a point, and which trade.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Intervals {
    /// The best point seen on the way, by the loss of all blocks once.
    pub best: Vec<f64>,
    /// Of each parameter that moved and is a number: least and most.
    pub of: Vec<Option<(f64, f64)>>,
    /// Pairs of parameters that trade, with their correlation.
    pub pairs: Vec<(usize, usize, f64)>,
}

struct Draws {
    /// Of each draw, the first being all blocks once: its least loss, and where.
    best: Vec<(f64, Vec<f64>)>,
}

impl Draws {
    fn hear(&mut self, point: &[f64], answer: &[f64]) {
        for (best, loss) in self.best.iter_mut().zip(answer) {
            if *loss < best.0 {
                *best = (*loss, point.to_vec());
            }
        }
    }
}

/// The intervals of those that `moved`.
pub fn intervals(bench: &Bench<'_>, point: &[f64], moved: &[bool]) -> Intervals {
    let numbers: Vec<usize> =
        (0..point.len()).filter(|&index| moved[index] && bench.parameters[index].range().is_some()).collect();
    let first = bench.ask(Question::Drawn, point);
    let mut draws = Draws { best: first.iter().map(|loss| (*loss, point.to_vec())).collect() };
    let asked: Vec<Vec<f64>> =
        numbers.iter().flat_map(|&index| alone(&bench.parameters[index], point, index)).collect();
    for (point, answer) in asked.iter().zip(bench.ask_all(Question::Drawn, &asked)) {
        draws.hear(point, &answer);
    }
    let mut chance = Seed(1).stream("fit intervals");
    for _ in 0..ROUNDS {
        let asked: Vec<Vec<f64>> = (1..=SEEN_DRAWS)
            .map(|draw| {
                let mut other = || &draws.best[1 + chance.below(SEEN_DRAWS as u64) as usize].1;
                let (a, b) = (other(), other());
                let mut moved = draws.best[draw].1.clone();
                for &index in &numbers {
                    let range = bench.parameters[index].range().expect("only numbers are moved");
                    let by = 0.7 * (range.place(a[index]) - range.place(b[index]));
                    // A hundredth of a step at least: a draw whose best point is everybody's moves too.
                    let jitter = (chance.below(2001) as f64 / 1000.0 - 1.0) * WIDEST / 512.0;
                    moved[index] = range.value(range.place(moved[index]) + by + jitter);
                }
                moved
            })
            .collect();
        for (point, answer) in asked.iter().zip(bench.ask_all(Question::Drawn, &asked)) {
            draws.hear(point, &answer);
        }
    }
    gathered(bench.parameters, &draws, &numbers, point)
}

/// One number at doubling distances on both sides.
fn alone(parameter: &Parameter, point: &[f64], index: usize) -> Vec<Vec<f64>> {
    let range = parameter.range().expect("only numbers are moved");
    let here = range.place(point[index]);
    let step = |step: u32| WIDEST / f64::from(1u32 << step);
    let places = (0..STEPS).flat_map(|number| [here - step(number), here + step(number)]);
    let moved = |place: f64| {
        let mut other = point.to_vec();
        other[index] = range.value(place);
        other
    };
    places.map(moved).filter(|other| other[index] != point[index]).collect()
}

fn gathered(parameters: &[Parameter], draws: &Draws, numbers: &[usize], point: &[f64]) -> Intervals {
    let best = draws.best[0].1.clone();
    let mut found = Intervals { best, of: vec![None; point.len()], pairs: Vec::new() };
    let values = |index: usize| draws.best.iter().map(move |(_, best)| best[index]);
    for &index in numbers {
        let (low, high) = values(index).fold((f64::MAX, f64::MIN), |(low, high), it| (low.min(it), high.max(it)));
        // A value lies in its step, not on it.
        let step = parameters[index].range().map_or(0.0, |range| range.step);
        let range = parameters[index].range().expect("only numbers are moved");
        found.of[index] = Some((range.round(low - step), range.round(high + step)));
    }
    for (place, &a) in numbers.iter().enumerate() {
        for &b in &numbers[place + 1..] {
            let together = correlation(&values(a).collect::<Vec<_>>(), &values(b).collect::<Vec<_>>());
            if together.abs() >= TRADES {
                found.pairs.push((a, b, together));
            }
        }
    }
    found
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len() as f64;
    let (mean_a, mean_b) = (a.iter().sum::<f64>() / n, b.iter().sum::<f64>() / n);
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 { a.iter().zip(b).map(|(a, b)| of(a - mean_a, b - mean_b)).sum() };
    let (both, left, right) = (sum(&|a, b| a * b), sum(&|a, _| a * a), sum(&|_, b| b * b));
    if left == 0.0 || right == 0.0 { 0.0 } else { both / (left * right).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_together_correlates() {
        assert!((correlation(&[1.0, 2.0, 3.0], &[6.0, 4.0, 2.0]) + 1.0).abs() < 1e-12);
        assert_eq!(correlation(&[1.0, 1.0], &[2.0, 3.0]), 0.0);
        assert!(correlation(&[1.0, 2.0, 3.0, 4.0], &[1.0, -1.0, 1.0, -1.0]).abs() < 0.5);
    }
}
