//! How far each fitted number could lie from where it is. A point is no worse than the best one that was found if the best
//! is the better one in fewer than 84 of 100 draws of blocks of the data that were seen. A number's interval reaches from
//! its least to its largest value in all points that are no worse: the other numbers may follow, also those that were put
//! back, for a number that went back within noise has let others take its share.
//!
//! Why 84 of 100: near its least a loss is a parabola of curvature H, and a draw of blocks tilts it by a slope of standard
//! deviation S, so that the draws' best points scatter by S/H, the standard error. A point d beside the best does better
//! in a draw that tilts by more than H·d/2, of a normal distribution in 16 of 100 draws at d = 2·S/H: the interval is that of
//! 95 in 100.
//!
//! Such points are sought number by number, outwards: the number goes on, the others follow so that what is simulated
//! changes least and then settle by least squares ([`slope`](super::slope)); each step twice the last as long as the point is no
//! worse, else half of it.

use rayon::prelude::*;

use super::bench::{Bench, Question, share_better};
use super::judge::SURE;
use super::parameter::Parameter;
use super::slope::{FINE, Slopes, descend};

/// The first step outwards and the least, as shares of a range, and how many are tried on each side.
const FIRST: f64 = 1.0 / 128.0;
const LEAST: f64 = 1.0 / 2048.0;
const TRIALS: usize = 11;

/// Steps over which slopes are taken, as a share of a range.
const AHEAD: f64 = 0.02;

/// From this correlation on two numbers are named together.
const TRADES: f64 = 0.8;

/// A number whose interval is as wide as this share of its range is not told.
pub const WIDE: f64 = 0.5;

/// The intervals of the numbers of a point, and which trade.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Intervals {
    /// Of each parameter that moved and is a number: least and most.
    pub of: Vec<Option<(f64, f64)>>,
    /// Pairs of parameters that trade, with their correlation; the first moved.
    pub pairs: Vec<(usize, usize, f64)>,
}

/// What is asked about.
pub struct Asked<'a> {
    /// The point whose numbers they are.
    pub point: &'a [f64],
    /// Another from which the search for points that are no worse begins.
    pub beside: &'a [f64],
    /// What moved: these get intervals.
    pub moved: &'a [bool],
    /// What may follow.
    pub free: &'a [bool],
}

/// A point with the losses of the whole and of each draw.
type Tried = (Vec<f64>, Vec<f64>);

/// Those that are no worse than the best.
fn no_worse(tried: &[Tried]) -> Vec<&[f64]> {
    let best = tried.iter().min_by(|a, b| a.1[0].total_cmp(&b.1[0]));
    let Some((_, best)) = best else { return Vec::new() };
    tried.iter().filter(|tried| share_better(best, &tried.1) < SURE).map(|tried| &tried.0[..]).collect()
}

/// The intervals of what moved.
pub fn intervals(bench: &Bench<'_>, asked: &Asked<'_>) -> Intervals {
    let is_number = |index: usize| bench.parameters[index].range().is_some();
    let moved: Vec<usize> = (0..asked.point.len()).filter(|&index| asked.moved[index] && is_number(index)).collect();
    let first: Vec<Vec<f64>> = [asked.point, asked.beside]
        .into_iter()
        .flat_map(|point| [point.to_vec(), descend(bench, point.to_vec(), asked.free, &FINE)])
        .collect();
    let answers = bench.ask_all(Question::Drawn, &first);
    let mut tried: Vec<Tried> = first.into_iter().zip(answers).collect();
    let centre = tried.iter().min_by(|a, b| a.1[0].total_cmp(&b.1[0])).expect("four of them").clone();
    let sides: Vec<(usize, f64)> = moved.iter().flat_map(|&index| [(index, -1.0), (index, 1.0)]).collect();
    let found: Vec<Vec<Tried>> = sides.par_iter().map(|&to| outwards(bench, &centre, asked.free, to)).collect();
    tried.extend(found.into_iter().flatten());
    let pairs = Slopes::at(bench, &centre.0, asked.free, AHEAD).map_or_else(Vec::new, |slopes| trades(&slopes, &moved));
    Intervals { of: ends(bench.parameters, asked.point, &no_worse(&tried), &moved), pairs }
}

/// The points tried on the way outwards of one number to one side.
fn outwards(bench: &Bench<'_>, centre: &Tried, free: &[bool], (index, side): (usize, f64)) -> Vec<Tried> {
    let mut tried = Vec::new();
    let mut here = centre.0.clone();
    let Some(mut slopes) = Slopes::at(bench, &here, free, AHEAD) else { return tried };
    let mut step = FIRST;
    for _ in 0..TRIALS {
        let beyond = slopes.further(bench, &here, (index, side * step));
        if beyond[index] == here[index] {
            break;
        }
        let Some(there) = Slopes::at(bench, &beyond, free, AHEAD) else { break };
        let mut settled = there.steps(bench, &beyond, Some(index));
        settled.push(beyond);
        let losses = bench.ask_all(Question::Seen, &settled);
        let least = (0..settled.len()).min_by(|&a, &b| losses[a][0].total_cmp(&losses[b][0])).unwrap_or(0);
        let settled = settled.swap_remove(least);
        let answer = bench.ask(Question::Drawn, &settled);
        if share_better(&centre.1, &answer) < SURE {
            (here, slopes, step) = (settled.clone(), there, 2.0 * step);
        } else {
            step /= 2.0;
        }
        tried.push((settled, answer));
        if step < LEAST {
            break;
        }
    }
    tried
}

/// The least and the largest values of what moved.
fn ends(parameters: &[Parameter], point: &[f64], known: &[&[f64]], moved: &[usize]) -> Vec<Option<(f64, f64)>> {
    let mut ends = vec![None; point.len()];
    for &index in moved {
        let values = known.iter().map(|known| known[index]);
        let (low, high) = values.fold((point[index], point[index]), |(low, high), it| (low.min(it), high.max(it)));
        let range = parameters[index].range().expect("only numbers are moved");
        // A value lies in its step, not on it.
        ends[index] = Some((range.round(low - range.step), range.round(high + range.step)));
    }
    ends
}

/// What each number that moved trades against.
fn trades(slopes: &Slopes, moved: &[usize]) -> Vec<(usize, usize, f64)> {
    let together = slopes.correlations();
    let mut pairs = Vec::new();
    for (i, &a) in slopes.numbers.iter().enumerate().filter(|(_, a)| moved.contains(a)) {
        for (j, &b) in slopes.numbers.iter().enumerate() {
            let told = moved.contains(&b) && b < a;
            if a != b && !told && together[i][j].abs() >= TRADES {
                pairs.push((a, b, together[i][j]));
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_worse_in_most_draws_does_not_count() {
        let tried =
            [(vec![1.0], vec![1.0, 1.0, 2.0]), (vec![2.0], vec![1.1, 1.2, 1.5]), (vec![3.0], vec![1.4, 1.4, 2.4])];
        assert_eq!(no_worse(&tried), [&[1.0][..], &[2.0][..]]);
    }
}
