//! Intervals of toy losses, whose ends are known by hand. A number goes from 0 to 2.048 ms in thousandths: 2048 steps.

use super::*;
use crate::fit::evaluator::toy::{Toy, number, rule};
use crate::fit::parameter::{FigureMark, ParameterDomain};
use crate::fit::ranges;

/// The places of the draws' best points about the whole's, in steps: every tenth from -195 to 195, one for each of 40 draws.
///
/// A point is no worse than the fit's if that is better in at most 33 draws of 40 (34 are 85 %). A parabola and an absolute value
/// are lower at the fit's point than `d` steps from it where the draw's own best is nearer to it, so below d/2. The 34th of the
/// draws is at 135: the region ends at d = 270 on either side.
fn place_of_draw(draw: usize) -> f64 {
    10.0 * draw as f64 - 195.0
}

/// Steps from the middle of the range.
fn steps(value: f64) -> f64 {
    (value * 1000.0).round() - 1024.0
}

const MIDDLE: f64 = 1.024;

/// The interval, in steps from the middle, of the one number of a toy with this loss by steps and draw.
fn found(loss: impl Fn(f64, Option<usize>) -> f64, at: f64, thorough: bool) -> (f64, f64) {
    let toy = Toy::new(vec![number(0, 2048, 0.0)], &|point, draw| 1.0 + loss(steps(point[0]), draw), None);
    let evaluator = toy.evaluator();
    let point = [at];
    let asked = IntervalQuery { point: &point, other_start: &point, moved: &[true], free: &[true], thorough };
    let Intervals { of, pairs } = find_intervals(&evaluator, &asked);
    assert!(pairs.is_empty());
    let (low, high) = of[0].expect("a number that moved");
    (steps(low), steps(high))
}

fn parabola(at: f64, draw: Option<usize>) -> f64 {
    (at - draw.map_or(0.0, place_of_draw)).powi(2)
}

fn absolute(at: f64, draw: Option<usize>) -> f64 {
    (at - draw.map_or(0.0, place_of_draw)).abs()
}

/// Outwards by 16, 32, 64, 128 steps (16, 48, 112, 240), and on with half of what fails (496, 368, 304, 272) or twice of what does
/// not (256, then 288, 272): of all tried, 256 is the last within 270. A value lies in its step: one more.
#[test]
fn a_parabola_and_an_absolute_value_end_where_84_of_100_draws_are_worse() {
    assert_eq!(found(parabola, MIDDLE, true), (-257.0, 257.0));
    assert_eq!(found(absolute, MIDDLE, true), (-257.0, 257.0));
    // Coarse: 64, 192, then 448, 320 fail, 256 does not, 384 and 320 do.
    assert_eq!(found(parabola, MIDDLE, false), (-257.0, 257.0));
}

/// With other draws the ends are others: a third as far, 90 steps. Of 16, 48, 112, 80, 144, 112, 96, 88, 104, 96, 92 the last within it
/// is 88.
#[test]
fn the_ends_follow_the_draws() {
    let nearer = |at: f64, draw: Option<usize>| (at - draw.map_or(0.0, place_of_draw) / 3.0).powi(2);
    assert_eq!(found(nearer, MIDDLE, true), (-89.0, 89.0));
    // Coarse: 64, then 192, 128, 96 fail; the step of 16 is below the least.
    assert_eq!(found(nearer, MIDDLE, false), (-65.0, 65.0));
    // More draws on one side: those above the best are twice as far, the region reaches to 540 there and to 270 below.
    // 16, 48, 112, 240, 496 are within, 1008, 752, 624, 560 not, 528 is, 592 is not.
    let skewed = |at: f64, draw: Option<usize>| {
        let place = draw.map_or(0.0, place_of_draw);
        (at - if place > 0.0 { 2.0 * place } else { place }).powi(2)
    };
    assert_eq!(found(skewed, MIDDLE, true), (-257.0, 529.0));
}

/// Equal losses are not worse: 16, 48, 112, 240 are within 300, 496, 368, 304 not, 272 is, 336 and 304 not, 288 is.
#[test]
fn a_plateau_reaches_to_its_ends() {
    let plateau = |at: f64, _: Option<usize>| (at.abs() - 300.0).max(0.0);
    assert_eq!(found(plateau, MIDDLE, true), (-289.0, 289.0));
    // From 100 steps above it: 84, 52, -12, -140 are within, -396 not, -268 is, -524, -396, -332 not, -300 is. And upwards 116, 148, 212
    // are, 340 not, 276 is, 404, 340, 308 not, 292 is.
    assert_eq!(found(plateau, 1.124, true), (-301.0, 293.0));
}

/// What nothing changes is anything; what every step makes worse is known to its step.
#[test]
fn a_flat_loss_determines_nothing_and_a_steep_one_all() {
    assert_eq!(found(|_, _| 0.0, MIDDLE, true), (-1024.0, 1024.0));
    assert_eq!(found(|_, _| 0.0, MIDDLE, false), (-1024.0, 1024.0));
    assert_eq!(found(|at, _| at.abs(), MIDDLE, true), (-1.0, 1.0));
}

/// At the edge of the range an interval ends with it: 100 steps from the least, 50 from the most.
#[test]
fn an_interval_ends_with_its_range() {
    let about = |middle: f64| move |at: f64, draw: Option<usize>| parabola(at - middle, draw);
    assert_eq!(found(about(-924.0), 0.1, true), (-1024.0, -924.0 + 257.0));
    assert_eq!(found(about(974.0), 1.998, true), (974.0 - 257.0, 1024.0));
    assert_eq!(found(about(-1024.0), 0.0, true), (-1024.0, -1024.0 + 257.0));
}

/// A better point than the fit's is no worse: the region reaches over it, and is searched on from there.
#[test]
fn a_fit_that_had_not_converged_has_an_interval_that_holds_the_best_point() {
    // From 300 above the best, x steps from it is no worse while at most 33 draws lie above (x + 300) / 2: down to -570. Nothing
    // above 300 is no worse. The walk goes 284, 252, 188, 60, -196, …; the best of these is 60, and from there 44, 12, -52, -180, -436
    // (-948, -692 fail), -564; a third from 12 reaches no further.
    assert_eq!(found(parabola, 1.324, true), (-565.0, 301.0));
}

/// Of two numbers only the one that moved has an interval.
#[test]
fn only_what_moved_has_an_interval() {
    let toy = Toy::new(
        vec![number(0, 64, 0.0), number(1, 64, 0.0)],
        &|point, _| 1.0 + (1000.0 * point[0] - 32.0).abs().round() + (1000.0 * point[1] - 32.0).abs().round(),
        None,
    );
    let evaluator = toy.evaluator();
    let point = [0.032, 0.032];
    let asked = IntervalQuery {
        point: &point,
        other_start: &point,
        moved: &[true, false],
        free: &[true, true],
        thorough: true,
    };
    assert_eq!(find_intervals(&evaluator, &asked).of, [Some((0.031, 0.033)), None]);
    let ended = toy.evaluator().with_point_limit(Some(0));
    assert_eq!(find_intervals(&ended, &asked), Intervals { of: vec![None, None], pairs: Vec::new() });
}

/// The choices of a rule that is a number: those with which a point is no worse, and its own.
#[test]
fn a_rule_of_numbers_has_an_interval_of_its_choices() {
    let found = |losses: [f64; 4], own: f64, thorough: bool| {
        let toy = Toy::new(vec![rule(&["1", "2", "3", "4"])], &|point, _| losses[point[0] as usize], None);
        let evaluator = toy.evaluator();
        let point = [own];
        let asked = IntervalQuery { point: &point, other_start: &point, moved: &[true], free: &[true], thorough };
        find_intervals(&evaluator, &asked).of[0]
    };
    for thorough in [true, false] {
        assert_eq!(found([5.0, 1.0, 5.0, 5.0], 1.0, thorough), Some((2.0, 2.0)));
        assert_eq!(found([5.0, 1.0, 1.0, 5.0], 1.0, thorough), Some((2.0, 3.0)));
        assert_eq!(found([1.0, 5.0, 1.0, 5.0], 2.0, thorough), Some((1.0, 3.0)), "from the least to the most");
        assert_eq!(found([1.0, 1.0, 1.0, 1.0], 3.0, thorough), Some((1.0, 4.0)));
    }
    let words = Toy::new(vec![rule(&["never", "track"])], &|_, _| 1.0, None);
    let asked = IntervalQuery { point: &[1.0], other_start: &[1.0], moved: &[true], free: &[true], thorough: true };
    assert_eq!(find_intervals(&words.evaluator(), &asked).of, [None]);
}

#[test]
fn ends_are_the_least_and_the_largest_known_value_with_its_step() {
    let parameters = [number(0, 100, 0.0), number(1, 100, 0.0)];
    let known: [&[f64]; 3] = [&[0.020, 0.0], &[0.050, 0.100], &[0.030, 0.5]];
    assert_eq!(interval_ends(&parameters, &[0.040, 0.040], &known, &[0]), [Some((0.019, 0.051)), None]);
    assert_eq!(
        interval_ends(&parameters, &[0.060, 0.040], &known[..2], &[0, 1]),
        [Some((0.019, 0.061)), Some((0.0, 0.1))]
    );
    assert_eq!(interval_ends(&parameters, &[0.060, 0.040], &[], &[0]), [Some((0.059, 0.061)), None]);
}

#[test]
fn where_a_number_went_back_it_has_no_interval_and_those_that_followed_lie_in_theirs() {
    let number = |origin| Parameter {
        name: "overhead.read_hit_ms".to_owned(),
        key: "overhead.read_hit_ms",
        bend: None,
        form: ParameterDomain::Number(ranges::range_for_key("overhead.read_hit_ms", 1.0).unwrap()),
        origin,
        marked: FigureMark::Inferred,
    };
    let intervals = Intervals {
        of: vec![Some((0.0, 2.0)), Some((1.0, 2.0))],
        pairs: vec![TradingPair { moved: 0, other: 1, correlation: 0.9 }],
    };
    let found = intervals.adjusted_to(&[number(1.0), number(1.0)], &[1.0, 2.5]);
    assert_eq!(found, Intervals { of: vec![None, Some((1.0, 2.5))], pairs: Vec::new() });
}

#[test]
fn what_is_worse_in_most_draws_does_not_count() {
    let tried = [(1.0, [1.0, 1.0, 2.0]), (2.0, [1.1, 1.2, 1.5]), (3.0, [1.4, 1.4, 2.4])]
        .map(|(value, losses)| TriedPoint { point: vec![value], losses: losses.to_vec() });
    assert_eq!(points_no_worse(&tried[0].losses, &tried), [&[1.0][..], &[2.0][..]]);
    assert_eq!(points_no_worse(&tried[2].losses, &tried).len(), 3, "a better one than the fit's is no worse");
}
