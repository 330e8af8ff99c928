//! Slopes: the change of each simulated figure with each number, measured by moving the number a little. A loss says only how far off a point
//! is. Slopes give the steps that remove its residuals (least squares, damped after K. Levenberg 1944 and D. Marquardt 1963), and the
//! directions in which several numbers move together with little change: numbers that trade.
//!
//! A request's time jumps by a revolution when it just misses its sector, so slopes have two forms:
//!
//! - Smooth slopes leave out every figure that jumps, so that the joint effect of numbers is exact. The wait for the sector hides a change
//!   of the arm's time, unless the figure jumps. Smooth slopes therefore also have rows for the instant at which the arm is ready: a request
//!   that took a revolution more or less than simulated tells by how much later or earlier that instant was.
//! - Cut-off slopes keep all figures and cut off their jumps. Far from the best point they lead further.

use super::evaluator::PointEvaluator;
use super::ranges::ParameterRange;
use crate::workers::Workers;

/// The widths of steps of a descent, as shares of a range. Wide steps come first, because jumps show only at a short distance.
pub const WIDE: [f64; 5] = [0.12, 0.06, 0.03, 0.015, 0.008];

/// The widths of steps if little is left to find.
pub const FINE: [f64; 4] = [0.02, 0.01, 0.005, 0.0025];

/// The most steps of one width.
const STEPS_OF_A_WIDTH: usize = 4;

/// The share of the loss that a step must gain for another of its width to follow.
const WORTH: f64 = 0.002;

/// The dampings that are tried for a step, as shares of the mean slope squared.
const DAMPINGS: [f64; 5] = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1];

/// The dampings that are tried with slopes of another point, which hold less well.
const DAMPINGS_ACROSS: [f64; 2] = [1e-3, 1e-1];

/// Slopes of all measured values at a point, in two forms.
pub(crate) struct Slopes {
    /// The indices of the numbers with slopes.
    pub numbers: Vec<usize>,
    /// By number, the change of each figure for a change of the number, with jumps cut off.
    columns: Vec<Vec<f64>>,
    /// Equations without figures that jump.
    smooth: NormalEquations,
    /// Equations with jumps cut off.
    cut: NormalEquations,
}

/// The aim of a move.
#[derive(Clone, Copy)]
enum MoveAim {
    /// The least squares of the residuals.
    Residuals,
    /// The least squares of the changes of all figures.
    Changes,
}

/// The terms of a move.
#[derive(Clone, Copy)]
struct MoveTerms<'a> {
    equations: &'a NormalEquations,
    aim: MoveAim,
    /// A share of the mean slope squared.
    damping: f64,
}

/// A move of one number.
#[derive(Clone, Copy)]
pub(crate) struct NumberMove {
    /// The index of the parameter.
    pub index: usize,
    /// The distance, as a share of the range.
    pub by: f64,
}

impl NumberMove {
    /// Keeps a number where it is.
    fn none(index: usize) -> NumberMove {
        NumberMove { index, by: 0.0 }
    }
}

/// The normal equations of the least squares.
struct NormalEquations {
    /// Products of the slopes of two numbers, summed over all measured values.
    products: Vec<Vec<f64>>,
    /// By number, products of slope and residual, summed over all measured values.
    pulls: Vec<f64>,
    /// The mean square of the residuals.
    noise: f64,
}

impl NormalEquations {
    fn new(columns: &[Vec<f64>], residuals: &[f64]) -> NormalEquations {
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let products = columns.iter().map(|a| columns.iter().map(|b| product(a, b)).collect()).collect();
        let pulls = columns.iter().map(|column| product(column, residuals)).collect();
        let noise = product(residuals, residuals) / residuals.len().max(1) as f64;
        NormalEquations { products, pulls, noise }
    }

    /// The term on the diagonal that bounds numbers that the data do not determine: a number scatters no further than its range.
    fn ridge_term(&self) -> f64 {
        self.noise.max(1e-9)
    }

    /// Solves for the move of all numbers, in shares of their ranges, that serves `aim` best. Moves in `fixed` are given.
    fn solve_move(&self, aim: MoveAim, damping: f64, fixed: &[Option<f64>]) -> Vec<f64> {
        let loose: Vec<usize> = (0..fixed.len()).filter(|&number| fixed[number].is_none()).collect();
        let diagonal_sum = (0..fixed.len()).map(|number| self.products[number][number]).sum::<f64>();
        let added = damping * (diagonal_sum / fixed.len().max(1) as f64) + self.ridge_term();
        let row = |&a: &usize| -> Vec<f64> {
            loose.iter().map(|&b| self.products[a][b] + if a == b { added } else { 0.0 }).collect()
        };
        let right_side = |&a: &usize| -> f64 {
            let given = fixed.iter().enumerate().map(|(b, by)| by.map_or(0.0, |by| self.products[a][b] * by));
            let pull = match aim {
                MoveAim::Residuals => self.pulls[a],
                MoveAim::Changes => 0.0,
            };
            pull - given.sum::<f64>()
        };
        let solution = solve_linear_system(loose.iter().map(row).collect(), loose.iter().map(right_side).collect());
        let mut moves: Vec<f64> = fixed.iter().map(|by| by.unwrap_or(0.0)).collect();
        loose.iter().zip(solution).for_each(|(&number, by)| moves[number] = by);
        moves
    }

    /// Correlations of the numbers.
    fn correlations(&self) -> Vec<Vec<f64>> {
        let n = self.products.len();
        let matrix: Vec<Vec<f64>> = (0..n)
            .map(|a| (0..n).map(|b| self.products[a][b] + if a == b { self.ridge_term() } else { 0.0 }).collect())
            .collect();
        let unit = |number: usize| (0..n).map(|other| if other == number { 1.0 } else { 0.0 }).collect();
        let inverse: Vec<Vec<f64>> = (0..n).map(|number| solve_linear_system(matrix.clone(), unit(number))).collect();
        let correlation = |a: usize, b: usize| inverse[a][b] / (inverse[a][a] * inverse[b][b]).sqrt().max(1e-300);
        (0..n).map(|a| (0..n).map(|b| correlation(a, b)).collect()).collect()
    }
}

fn number_range<'a>(evaluator: &PointEvaluator<'a>, index: usize) -> &'a ParameterRange {
    evaluator.parameters[index].range().expect("only numbers have slopes")
}

impl Slopes {
    /// Takes the slopes at `point` over steps of `share` of each range; `None` if no drive can be made of it.
    pub(crate) fn measure_at(
        evaluator: &PointEvaluator<'_>,
        point: &[f64],
        free: &[bool],
        share: f64,
    ) -> Option<Slopes> {
        let numbers: Vec<usize> =
            (0..point.len()).filter(|&index| free[index] && evaluator.parameters[index].range().is_some()).collect();
        let here = evaluator.simulate_point(point)?;
        let neighbour = |&index: &usize| -> NeighbourPoint {
            let (moved, by) = step_one_number(number_range(evaluator, index), point, index, share);
            let there = if by == 0.0 { None } else { evaluator.simulate_point(&moved) };
            // A number that cannot move, or only to no drive, has no effect.
            there.map_or_else(|| NeighbourPoint { there: here.clone(), by: 1.0 }, |there| NeighbourPoint { there, by })
        };
        let neighbours: Vec<NeighbourPoint> = Workers::Shared.map(&numbers, neighbour);
        let targets = evaluator.targets();
        let residuals = point_residuals(&here, targets);
        let limits = residual_limits(targets, &residuals);
        let cut_off = |difference: f64, row: usize| difference.clamp(-limits[row], limits[row]);
        let drop_far = |difference: f64, row: usize| if difference.abs() > limits[row] { f64::NAN } else { difference };
        let limit_residuals = |limit: &dyn Fn(f64, usize) -> f64| -> Vec<f64> {
            residuals.iter().enumerate().map(|(row, residual)| limit(*residual, row)).collect()
        };
        let value = |simulated: &SimulatedValue, _: usize| simulated.value;
        let columns = slope_columns(&neighbours, &here, value, cut_off);
        let cut = NormalEquations::new(&columns, &limit_residuals(&cut_off));
        let mut smooth_columns = slope_columns(&neighbours, &here, value, drop_far);
        let mut smooth_residuals = limit_residuals(&drop_far);
        remove_jumps(&mut smooth_columns, &mut smooth_residuals);
        // The instant at which the arm is ready does not jump.
        let rows =
            || here.iter().zip(targets).zip(&residuals).map(|((value, target), residual)| (value, target, *residual));
        let weights: Vec<f64> = rows().map(|(value, target, off)| ready_instant_weight(value, target, off)).collect();
        let ready = |simulated: &SimulatedValue, row: usize| weights[row] * (simulated.value - simulated.wait);
        let drop_jump =
            |difference: f64, row: usize| if difference.abs() > targets[row].cut { f64::NAN } else { difference };
        let mut arm_columns = slope_columns(&neighbours, &here, ready, drop_jump);
        let mut arm_residuals: Vec<f64> = rows().map(|(value, target, off)| arm_lateness(value, target, off)).collect();
        remove_jumps(&mut arm_columns, &mut arm_residuals);
        smooth_columns.iter_mut().zip(arm_columns).for_each(|(column, arm)| column.extend(arm));
        smooth_residuals.extend(arm_residuals);
        Some(Slopes { numbers, columns, smooth: NormalEquations::new(&smooth_columns, &smooth_residuals), cut })
    }

    /// Moves `point` by least squares within the ranges: a number that reaches its end stays there, and the others follow.
    fn step_within_ranges(
        &self,
        evaluator: &PointEvaluator<'_>,
        point: &[f64],
        terms: MoveTerms<'_>,
        mut fixed: Vec<Option<f64>>,
    ) -> Vec<f64> {
        let MoveTerms { equations, aim, damping } = terms;
        let within_range = |number: usize, by: f64| {
            let index = self.numbers[number];
            let here = number_range(evaluator, index).position_of(point[index]);
            by.clamp(-here, 1.0 - here)
        };
        fixed.iter_mut().enumerate().for_each(|(number, by)| *by = by.map(|by| within_range(number, by)));
        loop {
            let moves = equations.solve_move(aim, damping, &fixed);
            let beyond: Vec<usize> = (0..moves.len())
                .filter(|&number| fixed[number].is_none() && within_range(number, moves[number]) != moves[number])
                .collect();
            if beyond.is_empty() {
                return move_numbers(evaluator, point, &self.numbers, &moves);
            }
            beyond.into_iter().for_each(|number| fixed[number] = Some(within_range(number, moves[number])));
        }
    }

    /// For each number its given move, which at most one has.
    fn fixed_moves(&self, given: Option<NumberMove>) -> Vec<Option<f64>> {
        let by = |&index: &usize| given.filter(|given| given.index == index).map(|given| given.by);
        self.numbers.iter().map(by).collect()
    }

    /// Moves one number, the others following with the least change of all figures; returns a point by either form of slopes.
    pub(crate) fn move_one_number(
        &self,
        evaluator: &PointEvaluator<'_>,
        point: &[f64],
        given: NumberMove,
    ) -> [Vec<f64>; 2] {
        [&self.smooth, &self.cut].map(|equations| {
            let terms = MoveTerms { equations, aim: MoveAim::Changes, damping: 0.0 };
            self.step_within_ranges(evaluator, point, terms, self.fixed_moves(Some(given)))
        })
    }

    /// Points from `point` on that remove the residuals, for each damping and either form of slopes. The number `held` does not move.
    pub(crate) fn residual_steps(
        &self,
        evaluator: &PointEvaluator<'_>,
        point: &[f64],
        held: Option<usize>,
    ) -> Vec<Vec<f64>> {
        let fixed = self.fixed_moves(held.map(NumberMove::none));
        let step = |equations, damping| {
            let terms = MoveTerms { equations, aim: MoveAim::Residuals, damping };
            self.step_within_ranges(evaluator, point, terms, fixed.clone())
        };
        let both = [&self.smooth, &self.cut].map(|equations| DAMPINGS.map(|damping| step(equations, damping)));
        both.concat()
    }

    /// Points from `point` on, whose rules differ from those of the slopes, that remove its residuals as far as the slopes hold there too.
    /// The number `held` does not move.
    pub(crate) fn steps_from_other_rules(
        &self,
        evaluator: &PointEvaluator<'_>,
        point: &[f64],
        held: Option<usize>,
    ) -> Vec<Vec<f64>> {
        let Some(here) = evaluator.simulate_point(point) else { return Vec::new() };
        let targets = evaluator.targets();
        let residuals = point_residuals(&here, targets);
        let limits = residual_limits(targets, &residuals);
        let cut: Vec<f64> =
            residuals.iter().zip(limits).map(|(residual, limit)| residual.clamp(-limit, limit)).collect();
        let equations = NormalEquations::new(&self.columns, &cut);
        let fixed = self.fixed_moves(held.map(NumberMove::none));
        let step = |&damping: &f64| {
            let terms = MoveTerms { equations: &equations, aim: MoveAim::Residuals, damping };
            self.step_within_ranges(evaluator, point, terms, fixed.clone())
        };
        DAMPINGS_ACROSS.iter().map(step).collect()
    }

    /// Correlations of the numbers, as far as the data determine them.
    pub(crate) fn correlations(&self) -> Vec<Vec<f64>> {
        self.cut.correlations()
    }
}

/// A simulated value, in the loss's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimulatedValue {
    pub value: f64,
    /// The part of the value in which the arm waited for its first sector; 0 if it did not.
    pub wait: f64,
}

/// The simulated values with one number moved.
struct NeighbourPoint {
    there: Vec<SimulatedValue>,
    /// The number's move, as a share of its range.
    by: f64,
}

/// The measured minus the simulated values.
fn point_residuals(here: &[SimulatedValue], targets: &[SlopeTarget]) -> Vec<f64> {
    here.iter().zip(targets).map(|(simulated, target)| target.measured - simulated.value).collect()
}

/// By number, the change of `value_of` each row for a change of the number. `limit` cuts a difference off, or makes it NaN.
fn slope_columns(
    neighbours: &[NeighbourPoint],
    here: &[SimulatedValue],
    value_of: impl Fn(&SimulatedValue, usize) -> f64,
    limit: impl Fn(f64, usize) -> f64,
) -> Vec<Vec<f64>> {
    let change = |there: &SimulatedValue, row: usize| limit(value_of(there, row) - value_of(&here[row], row), row);
    let column = |neighbour: &NeighbourPoint| -> Vec<f64> {
        neighbour.there.iter().enumerate().map(|(row, there)| change(there, row) / neighbour.by).collect()
    };
    neighbours.iter().map(column).collect()
}

/// The time by which the arm must have been ready later than simulated for its request to take as long as measured: past its sector if the
/// request took a revolution more, before it if it took a revolution less. Otherwise 0: any instant within the revolution will do.
fn arm_lateness(simulated: &SimulatedValue, target: &SlopeTarget, residual: f64) -> f64 {
    let revolution = 4.0 * target.cut;
    match residual / revolution {
        turns if simulated.wait <= 0.0 || turns.abs() < 0.5 || turns.abs() > 1.5 => 0.0,
        turns if turns > 0.0 => simulated.wait.min(target.cut),
        _ => -(revolution - simulated.wait).clamp(0.0, target.cut),
    }
}

/// The weight of an instant that is not known to be wrong, as a slope. If instants move by a hundredth of a revolution, one in a hundred
/// passes its sector; squared, a slope of a tenth counts a hundredth.
const HELD: f64 = 0.1;

/// The weight of the instant at which the arm is ready, relative to a time: full if it is known to be wrong.
fn ready_instant_weight(simulated: &SimulatedValue, target: &SlopeTarget, residual: f64) -> f64 {
    match arm_lateness(simulated, target, residual) {
        _ if simulated.wait <= 0.0 => 0.0,
        0.0 => HELD,
        _ => 1.0,
    }
}

/// A measured value, in the loss's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlopeTarget {
    pub measured: f64,
    /// The largest distance that counts: a simulated value further off counts as this far off. Of the time of a request it is a quarter of a
    /// revolution.
    pub cut: f64,
}

/// The largest residual that counts in full, in medians of all residuals. Larger ones are cut off or left out, for a few far ones would
/// outweigh many near ones (trimmed squares, P. Rousseeuw 1984). For a normal distribution 4 medians are 2.7 standard deviations.
const MEDIANS: f64 = 4.0;

/// For each row the largest residual that counts in full.
fn residual_limits(targets: &[SlopeTarget], residuals: &[f64]) -> Vec<f64> {
    let mut shares: Vec<f64> =
        residuals.iter().zip(targets).map(|(residual, target)| (residual / target.cut).abs()).collect();
    shares.sort_by(f64::total_cmp);
    let median = shares.get(shares.len() / 2).copied().unwrap_or(1.0);
    let share = (MEDIANS * median).clamp(LEAST_CUT, 1.0);
    targets.iter().map(|target| share * target.cut).collect()
}

/// The least limit of a residual, as a share of the largest distance that counts. For the time of a request it is a twentieth of a quarter of
/// a revolution, about as much as a step of a number changes.
const LEAST_CUT: f64 = 0.05;

/// The largest share of rows that may jump with a number: with more, the number has no slopes.
const JUMPY: f64 = 0.25;

/// Sets to 0, in every column, the rows in which a slope or the residual is NaN, so that the joint effect of several numbers stays exact.
/// Columns in which a large share is NaN become 0 as a whole.
fn remove_jumps(columns: &mut [Vec<f64>], residuals: &mut [f64]) {
    for column in columns.iter_mut() {
        let jumps = column.iter().filter(|slope| slope.is_nan()).count();
        if jumps as f64 > JUMPY * column.len() as f64 {
            column.fill(0.0);
        }
    }
    for row in 0..residuals.len() {
        if residuals[row].is_nan() || columns.iter().any(|column| column[row].is_nan()) {
            residuals[row] = 0.0;
            columns.iter_mut().for_each(|column| column[row] = 0.0);
        }
    }
}

/// Moves one number by a share of its range, inwards at an end; returns the point, and the distance that rounding left.
fn step_one_number(range: &ParameterRange, point: &[f64], index: usize, share: f64) -> (Vec<f64>, f64) {
    let here = range.position_of(point[index]);
    let mut other = point.to_vec();
    // A whole number takes a step of 1 if the share is less.
    for wide in [1.0, 2.0, 4.0, 8.0] {
        let by = if here + wide * share <= 1.0 { wide * share } else { -wide * share };
        other[index] = range.value_at(here + by);
        let by = range.position_of(other[index]) - here;
        if by.abs() > 0.25 * share {
            return (other, by);
        }
    }
    (point.to_vec(), 0.0)
}

/// Moves the numbers of `point` by `moves`, in shares of their ranges, within the ranges.
pub(crate) fn move_numbers(
    evaluator: &PointEvaluator<'_>,
    point: &[f64],
    numbers: &[usize],
    moves: &[f64],
) -> Vec<f64> {
    let mut other = point.to_vec();
    for (&index, by) in numbers.iter().zip(moves) {
        let range = number_range(evaluator, index);
        other[index] = range.value_at(range.position_of(point[index]) + by);
    }
    other
}

/// Descends from `point` by least squares while the loss falls, with slopes over steps of each width, a share of a range.
pub fn descend_by_least_squares(
    evaluator: &PointEvaluator<'_>,
    point: Vec<f64>,
    free: &[bool],
    step_widths: &[f64],
) -> Vec<f64> {
    let mut best = point;
    let mut loss = evaluator.loss(&best);
    for &width in step_widths {
        for _ in 0..STEPS_OF_A_WIDTH {
            if evaluator.ended_at_checkpoint() {
                return best;
            }
            let Some(slopes) = Slopes::measure_at(evaluator, &best, free, width) else { return best };
            let points = slopes.residual_steps(evaluator, &best, None);
            let losses = evaluator.losses(&points);
            let least = (0..points.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b]));
            let Some(least) = least.filter(|&least| losses[least] < loss) else { break };
            let is_worth_another = losses[least] < loss * (1.0 - WORTH);
            (best, loss) = (points[least].clone(), losses[least]);
            if !is_worth_another {
                break;
            }
        }
    }
    best
}

/// Sets the number `index` to `value`; the other `free` numbers follow with the least change of all figures.
pub(crate) fn set_with_followers(
    evaluator: &PointEvaluator<'_>,
    point: &[f64],
    free: &[bool],
    index: usize,
    value: f64,
) -> Vec<f64> {
    let by =
        number_range(evaluator, index).position_of(value) - number_range(evaluator, index).position_of(point[index]);
    let with_value = |mut point: Vec<f64>| {
        point[index] = value;
        point
    };
    let slopes = Slopes::measure_at(evaluator, point, free, FINE[0]);
    let candidates = slopes
        .map_or_else(Vec::new, |slopes| slopes.move_one_number(evaluator, point, NumberMove { index, by }).to_vec());
    best_of_points(evaluator, candidates.into_iter().chain([point.to_vec()]).map(with_value).collect())
}

/// The point with the least loss; of equal ones the first.
pub(crate) fn best_of_points(evaluator: &PointEvaluator<'_>, points: Vec<Vec<f64>>) -> Vec<f64> {
    let losses = evaluator.losses(&points);
    let least = (0..points.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b])).expect("some points");
    points.into_iter().nth(least).expect("one of them")
}

/// Solves a system of linear equations by Gauss, with the largest pivot of a column. Unknowns that no equation determines are 0.
fn solve_linear_system(mut rows: Vec<Vec<f64>>, mut right_sides: Vec<f64>) -> Vec<f64> {
    let n = right_sides.len();
    for column in 0..n {
        let pivot = (column..n).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()));
        let pivot = pivot.unwrap_or(column);
        rows.swap(column, pivot);
        right_sides.swap(column, pivot);
        let first = rows[column].clone();
        if first[column] == 0.0 {
            continue;
        }
        for below in column + 1..n {
            let factor = rows[below][column] / first[column];
            rows[below].iter_mut().zip(&first).for_each(|(value, first)| *value -= factor * first);
            right_sides[below] -= factor * right_sides[column];
        }
    }
    for column in (0..n).rev() {
        let solved: f64 = (column + 1..n).map(|other| rows[column][other] * right_sides[other]).sum();
        let diagonal = rows[column][column];
        right_sides[column] = if diagonal == 0.0 { 0.0 } else { (right_sides[column] - solved) / diagonal };
    }
    right_sides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_jumps_is_left_out_of_every_column_and_a_column_that_jumps_much_is_none() {
        let gap = f64::NAN;
        let mut columns = vec![vec![gap, 2.0, 3.0, 4.0, 5.0], vec![1.0; 5], vec![gap, gap, 1.0, 1.0, 1.0]];
        let mut residuals = vec![0.1, 0.1, gap, 0.1, 0.1];
        remove_jumps(&mut columns, &mut residuals);
        assert_eq!(columns, [vec![0.0, 2.0, 0.0, 4.0, 5.0], vec![0.0, 1.0, 0.0, 1.0, 1.0], vec![0.0; 5]]);
        assert_eq!(residuals, [0.0, 0.1, 0.0, 0.1, 0.1]);
    }

    #[test]
    fn a_revolution_more_than_simulated_means_that_the_arm_came_past_its_sector() {
        // A revolution of 8, of which the arm waited 0.5, 7.5, not at all.
        let to = SlopeTarget { measured: 12.0, cut: 2.0 };
        let it = |wait: f64| SimulatedValue { value: 4.0, wait };
        assert_eq!([0.5, 7.5, 0.0].map(|wait| arm_lateness(&it(wait), &to, 8.0)), [0.5, 2.0, 0.0]);
        assert_eq!([0.5, 7.5, 0.0].map(|wait| arm_lateness(&it(wait), &to, -8.0)), [-2.0, -0.5, 0.0]);
        assert_eq!([1.0, -1.0, 20.0].map(|off| arm_lateness(&it(0.5), &to, off)), [0.0; 3]);
        assert_eq!([0.0, 8.0].map(|off| ready_instant_weight(&it(0.5), &to, off)), [HELD, 1.0]);
        assert_eq!(ready_instant_weight(&it(0.0), &to, 8.0), 0.0);
    }

    #[test]
    fn a_step_is_a_whole_one_and_goes_inwards_at_the_end() {
        let range = ParameterRange { low: 0.0, high: 10.0, step: 1.0, log: false };
        let step = |value: f64, share: f64| {
            let (moved, by) = step_one_number(&range, &[7.0, value], 1, share);
            assert_eq!(moved[0], 7.0);
            (moved[1], (by * 1e6).round() / 1e6)
        };
        assert_eq!(step(5.0, 0.1), (6.0, 0.1));
        // A fifth of a step is none, two fifths neither; four fifths are one.
        assert_eq!(step(5.0, 0.02), (6.0, 0.1));
        assert_eq!([step(10.0, 0.1), step(9.0, 0.1), step(9.0, 0.2)], [(9.0, -0.1), (10.0, 0.1), (7.0, -0.2)]);
        // Eight times the share are less than half a step.
        assert_eq!(step(5.0, 0.005), (5.0, 0.0));
    }

    #[test]
    fn equations_are_solved() {
        let found = solve_linear_system(
            vec![vec![0.0, 2.0, 1.0], vec![1.0, -1.0, 0.0], vec![3.0, 0.0, -2.0]],
            vec![7.0, -1.0, -3.0],
        );
        assert!(found.iter().zip([1.0, 2.0, 3.0]).all(|(found, truly)| (found - truly).abs() < 1e-12), "{found:?}");
    }

    #[test]
    fn what_does_the_same_goes_the_other_way_and_correlates() {
        // Two numbers of which only the sum is determined, and a third by itself.
        let slopes = NormalEquations {
            products: vec![vec![1e4, 1e4, 0.0], vec![1e4, 1e4, 0.0], vec![0.0, 0.0, 1e4]],
            pulls: vec![1e3, 1e3, 0.0],
            noise: 1e-2,
        };
        let way = slopes.solve_move(MoveAim::Changes, 0.0, &[Some(0.1), None, None]);
        assert!((way[1] + 0.1).abs() < 1e-3 && way[2] == 0.0, "{way:?}");
        let together = slopes.correlations();
        assert!(together[0][1] < -0.99 && together[0][2].abs() < 1e-9, "{together:?}");
        let step = slopes.solve_move(MoveAim::Residuals, 1e-6, &[None; 3]);
        assert_eq!(slopes.solve_move(MoveAim::Residuals, 1e-6, &[None, Some(0.0), None])[1], 0.0);
        assert!((step[0] + step[1] - 0.1).abs() < 1e-2 && (step[0] - step[1]).abs() < 1e-6, "{step:?}");
    }
}
