//! What each number does to what is simulated, figure by figure: by differences. It gives two things that a loss alone
//! cannot: steps that take the residuals out (least squares, damped after K. Levenberg 1944 and D. Marquardt 1963), and
//! the directions in which several numbers move together without much of a change (what trades).
//!
//! A request's time jumps by a revolution where it just misses its sector. So differences are taken over steps of the size of
//! what is looked for, and cut off where the loss cuts off the distance of two times.

use rayon::prelude::*;

use super::bench::{Bench, Question};
use super::ranges::Range;

/// Steps of a descent, as shares of a range: wide ones first, for jumps show only so far ahead. Each is taken twice.
pub const WIDE: [f64; 6] = [0.12, 0.06, 0.03, 0.015, 0.008, 0.004];

/// The same where little is left to find.
pub const FINE: [f64; 3] = [0.02, 0.01, 0.005];

/// What a step is damped by, as shares of the mean slope squared.
const DAMPED: [f64; 5] = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1];

/// Slopes of all that was measured at a point.
pub struct Slopes {
    /// The numbers whose slopes they are.
    pub numbers: Vec<usize>,
    /// Products of the slopes of two numbers, summed over all that was measured.
    products: Vec<Vec<f64>>,
    /// Products of slope and residual, summed.
    pulls: Vec<f64>,
    /// Mean square of the residuals.
    noise: f64,
}

fn range<'a>(bench: &Bench<'a>, index: usize) -> &'a Range {
    bench.parameters[index].range().expect("only numbers have slopes")
}

impl Slopes {
    /// The slopes at `point` over steps of `share` of each range; none where no drive can be made of it.
    pub fn at(bench: &Bench<'_>, point: &[f64], free: &[bool], share: f64) -> Option<Slopes> {
        let numbers: Vec<usize> =
            (0..point.len()).filter(|&index| free[index] && bench.parameters[index].range().is_some()).collect();
        let here = bench.simulated(point)?;
        let residuals: Vec<f64> = here.iter().zip(bench.targets()).map(|(it, to)| to.measured - it).collect();
        let targets = &nearer(bench.targets(), &residuals);
        let residuals: Vec<f64> = residuals.iter().zip(targets).map(|(it, to)| it.clamp(-to.cut, to.cut)).collect();
        let column = |&index: &usize| -> Vec<f64> {
            let (moved, by) = stepped(range(bench, index), point, index, share);
            let there = if by == 0.0 { None } else { bench.simulated(&moved) };
            let Some(there) = there else { return vec![0.0; here.len()] };
            let slope = |((there, here), to): ((&f64, &f64), &Target)| (there - here).clamp(-to.cut, to.cut) / by;
            there.iter().zip(&here).zip(targets).map(slope).collect()
        };
        let columns: Vec<Vec<f64>> = numbers.par_iter().map(column).collect();
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let products = columns.iter().map(|a| columns.iter().map(|b| product(a, b)).collect()).collect();
        let pulls = columns.iter().map(|column| product(column, &residuals)).collect();
        let noise = product(&residuals, &residuals) / residuals.len().max(1) as f64;
        Some(Slopes { numbers, products, pulls, noise })
    }

    /// How much further than a range a number would scatter, as a product of slopes: what the data do not tell, the range does.
    fn loose(&self) -> f64 {
        self.noise.max(1e-9)
    }

    /// The way by which the others follow with the least change where some numbers go a fixed way (all in shares of ranges).
    pub fn follow(&self, fixed: &[Option<f64>]) -> Vec<f64> {
        let loose: Vec<usize> = (0..fixed.len()).filter(|&place| fixed[place].is_none()).collect();
        let row = |&a: &usize| -> Vec<f64> {
            loose.iter().map(|&b| self.products[a][b] + if a == b { self.loose() } else { 0.0 }).collect()
        };
        let side = |&a: &usize| -> f64 {
            -fixed.iter().enumerate().map(|(b, way)| way.map_or(0.0, |way| self.products[a][b] * way)).sum::<f64>()
        };
        let found = solved(loose.iter().map(row).collect(), loose.iter().map(side).collect());
        let mut way: Vec<f64> = fixed.iter().map(|way| way.unwrap_or(0.0)).collect();
        loose.iter().zip(found).for_each(|(&place, value)| way[place] = value);
        way
    }

    /// `point` with one number a share of its range further, the others following; those that come to their ends stay there.
    pub fn further(&self, bench: &Bench<'_>, point: &[f64], (index, share): (usize, f64)) -> Vec<f64> {
        let room = |place: usize| {
            let here = range(bench, self.numbers[place]).place(point[self.numbers[place]]);
            (-here, 1.0 - here)
        };
        let held = |place: usize, way: f64| way.clamp(room(place).0, room(place).1);
        let one = |(place, &number): (usize, &usize)| (number == index).then(|| held(place, share));
        let mut fixed: Vec<Option<f64>> = self.numbers.iter().enumerate().map(one).collect();
        loop {
            let way = self.follow(&fixed);
            let beyond: Vec<usize> = (0..way.len())
                .filter(|&place| fixed[place].is_none() && held(place, way[place]) != way[place])
                .collect();
            if beyond.is_empty() {
                return moved(bench, point, &self.numbers, &way);
            }
            beyond.into_iter().for_each(|place| fixed[place] = Some(held(place, way[place])));
        }
    }

    /// Correlations of the numbers, as far as the data tell them.
    pub fn correlations(&self) -> Vec<Vec<f64>> {
        let n = self.numbers.len();
        let matrix: Vec<Vec<f64>> = (0..n)
            .map(|a| (0..n).map(|b| self.products[a][b] + if a == b { self.loose() } else { 0.0 }).collect())
            .collect();
        let unit = |place: usize| (0..n).map(|other| if other == place { 1.0 } else { 0.0 }).collect();
        let columns: Vec<Vec<f64>> = (0..n).map(|place| solved(matrix.clone(), unit(place))).collect();
        let one = |a: usize, b: usize| columns[a][b] / (columns[a][a] * columns[b][b]).sqrt().max(1e-300);
        (0..n).map(|a| (0..n).map(|b| one(a, b)).collect()).collect()
    }

    /// The step that takes the residuals out, of all but one number.
    pub fn step(&self, damped: f64, but: Option<usize>) -> Vec<f64> {
        let n = self.numbers.len();
        let mean = (0..n).map(|place| self.products[place][place]).sum::<f64>() / n.max(1) as f64;
        let stays = |place: usize| but == Some(self.numbers[place]);
        let row = |a: usize| -> Vec<f64> {
            let product = |b: usize| if stays(a) || stays(b) { 0.0 } else { self.products[a][b] };
            (0..n).map(|b| product(b) + if a == b { damped * mean + self.loose() } else { 0.0 }).collect()
        };
        let pull = |place: usize| if stays(place) { 0.0 } else { self.pulls[place] };
        solved((0..n).map(row).collect(), (0..n).map(pull).collect())
    }

    /// Points from `point` on by such steps, one for each damping.
    pub fn steps(&self, bench: &Bench<'_>, point: &[f64], but: Option<usize>) -> Vec<Vec<f64>> {
        DAMPED.iter().map(|damped| moved(bench, point, &self.numbers, &self.step(*damped, but))).collect()
    }
}

/// What was measured, in the loss's unit, and the distance from which a simulated value is only far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// Measured.
    pub measured: f64,
    /// The distance.
    pub cut: f64,
}

/// Residuals further than so many medians of all are cut off too: few that are far would else outweigh many that are near
/// (P. Huber 1964). Of a normal distribution 4 medians are 2.7 standard deviations.
const MEDIANS: f64 = 4.0;

fn nearer(targets: &[Target], residuals: &[f64]) -> Vec<Target> {
    let mut shares: Vec<f64> = residuals.iter().zip(targets).map(|(it, to)| (it / to.cut).abs()).collect();
    shares.sort_by(f64::total_cmp);
    let median = shares.get(shares.len() / 2).copied().unwrap_or(1.0);
    let share = (MEDIANS * median).clamp(1e-3, 1.0);
    targets.iter().map(|to| Target { cut: share * to.cut, ..*to }).collect()
}

/// One number a share of its range further, inwards at an end, and by how much it went.
fn stepped(range: &Range, point: &[f64], index: usize, share: f64) -> (Vec<f64>, f64) {
    let here = range.place(point[index]);
    let mut other = point.to_vec();
    // A whole number takes a step of its own if the share is less.
    for wide in [1.0, 2.0, 4.0, 8.0] {
        let by = if here + wide * share <= 1.0 { wide * share } else { -wide * share };
        other[index] = range.value(here + by);
        let by = range.place(other[index]) - here;
        if by.abs() > 0.25 * share {
            return (other, by);
        }
    }
    (point.to_vec(), 0.0)
}

/// `point` moved by a way in shares of ranges, within them.
pub fn moved(bench: &Bench<'_>, point: &[f64], numbers: &[usize], way: &[f64]) -> Vec<f64> {
    let mut other = point.to_vec();
    for (&index, by) in numbers.iter().zip(way) {
        let range = range(bench, index);
        other[index] = range.value(range.place(point[index]) + by);
    }
    other
}

/// From `point` down by least squares, as far as the loss follows, over steps of each of the shares twice.
pub fn descend(bench: &Bench<'_>, point: Vec<f64>, free: &[bool], shares: &[f64]) -> Vec<f64> {
    let mut best = point;
    let mut loss = bench.loss(&best);
    for &share in shares.iter().flat_map(|share| [share, share]) {
        let Some(slopes) = Slopes::at(bench, &best, free, share) else { return best };
        let asked = slopes.steps(bench, &best, None);
        for (point, answer) in asked.iter().zip(bench.ask_all(Question::Seen, &asked)) {
            if answer[0] < loss {
                (best, loss) = (point.clone(), answer[0]);
            }
        }
    }
    best
}

/// `point` with the number `index` at `value`, the others following.
pub fn followed(bench: &Bench<'_>, point: &[f64], free: &[bool], (index, value): (usize, f64)) -> Vec<f64> {
    let by = range(bench, index).place(value) - range(bench, index).place(point[index]);
    let slopes = Slopes::at(bench, point, free, FINE[0]);
    let mut other = slopes.map_or(point.to_vec(), |slopes| slopes.further(bench, point, (index, by)));
    other[index] = value;
    other
}

/// The solution of a system of linear equations (Gauss, with the largest pivot of a column).
fn solved(mut rows: Vec<Vec<f64>>, mut sides: Vec<f64>) -> Vec<f64> {
    let n = sides.len();
    for column in 0..n {
        let pivot = (column..n).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()));
        let pivot = pivot.unwrap_or(column);
        rows.swap(column, pivot);
        sides.swap(column, pivot);
        let first = rows[column].clone();
        if first[column] == 0.0 {
            continue;
        }
        for below in column + 1..n {
            let times = rows[below][column] / first[column];
            rows[below].iter_mut().zip(&first).for_each(|(it, first)| *it -= times * first);
            sides[below] -= times * sides[column];
        }
    }
    for column in (0..n).rev() {
        let known: f64 = (column + 1..n).map(|other| rows[column][other] * sides[other]).sum();
        let own = rows[column][column];
        sides[column] = if own == 0.0 { 0.0 } else { (sides[column] - known) / own };
    }
    sides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations_are_solved() {
        let found =
            solved(vec![vec![0.0, 2.0, 1.0], vec![1.0, -1.0, 0.0], vec![3.0, 0.0, -2.0]], vec![7.0, -1.0, -3.0]);
        assert!(found.iter().zip([1.0, 2.0, 3.0]).all(|(found, truly)| (found - truly).abs() < 1e-12), "{found:?}");
    }

    #[test]
    fn what_does_the_same_goes_the_other_way_and_correlates() {
        // Two numbers of which only the sum tells, and a third by itself.
        let slopes = Slopes {
            numbers: vec![0, 1, 2],
            products: vec![vec![1e4, 1e4, 0.0], vec![1e4, 1e4, 0.0], vec![0.0, 0.0, 1e4]],
            pulls: vec![1e3, 1e3, 0.0],
            noise: 1e-2,
        };
        let way = slopes.follow(&[Some(0.1), None, None]);
        assert!((way[1] + 0.1).abs() < 1e-3 && way[2] == 0.0, "{way:?}");
        let together = slopes.correlations();
        assert!(together[0][1] < -0.99 && together[0][2].abs() < 1e-9, "{together:?}");
        let step = slopes.step(1e-6, None);
        assert_eq!(slopes.step(1e-6, Some(1))[1], 0.0);
        assert!((step[0] + step[1] - 0.1).abs() < 1e-2 && (step[0] - step[1]).abs() < 1e-6, "{step:?}");
    }
}
