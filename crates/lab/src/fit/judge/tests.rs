//! The changes that stay and those that go back, on toy losses. Each number that moved lowers the loss in so many draws of 40 (seen) or 200
//! (held back), so the expected decision follows by hand.

use super::*;
use crate::fit::evaluator::toy::{Toy, number};
use crate::fit::evaluator::{HELD_DRAWS, SEEN_DRAWS};

/// Where every number of these toys moved to, from 0.
const MOVED: f64 = 0.002;

/// What a number's change does: by how much it lowers the loss in the draws below `draws`; in the others it raises it as much. The
/// whole's loss falls by `whole`.
#[derive(Clone, Copy)]
struct Gain {
    whole: f64,
    each: f64,
    draws: usize,
}

/// A change that lowers the loss by 1 in so many draws.
const fn in_draws(draws: usize) -> Gain {
    Gain { whole: 1.0, each: 1.0, draws }
}

/// The loss of a point whose moved numbers gain so much together.
fn loss(gains: &[Gain], point: &[f64], draw: Option<usize>) -> f64 {
    let gain = |(gain, value): (&Gain, &f64)| match draw {
        _ if *value != MOVED => 0.0,
        None => gain.whole,
        Some(draw) if draw < gain.draws => gain.each,
        Some(_) => -gain.each,
    };
    100.0 - gains.iter().zip(point).map(gain).sum::<f64>()
}

fn toy(seen: &[Gain], held: Option<&[Gain]>) -> Toy {
    let parameters = (0..seen.len()).map(|index| number(index, 2, 0.0)).collect();
    let of_held = |point: &[f64], draw: Option<usize>| loss(held.unwrap_or_default(), point, draw);
    let held: Option<super::super::evaluator::toy::ToyLoss<'_>> = if held.is_some() { Some(&of_held) } else { None };
    Toy::new(parameters, &|point, draw| loss(seen, point, draw), held)
}

const NO_SEARCH: SearchEffort = SearchEffort { generations: 0, thorough: true, shares: JudgeShares::USUAL };

type Left = Vec<Option<RejectionReason>>;

/// What is put back of a toy whose numbers all moved, and why.
fn taken_back(seen: &[Gain], held: Option<&[Gain]>, shares: JudgeShares) -> (Vec<f64>, Left) {
    let toy = toy(seen, held);
    let mut left = vec![None; seen.len()];
    let point = put_back_unconfirmed(&toy.evaluator(), &toy.origin(), vec![MOVED; seen.len()], shares, &mut left);
    (point, left)
}

const NOT_TOLD: Option<RejectionReason> = Some(RejectionReason::NotTold);
const NOT_BETTER: Option<RejectionReason> = Some(RejectionReason::NotBetter);

#[test]
fn a_change_stays_that_the_seen_data_show_in_enough_draws() {
    // 34 of 40 are 85 %, 33 are 82.5 %; 84 % are asked.
    for (draws, stays) in [(40, true), (34, true), (33, false), (20, false), (0, false)] {
        let expected = if stays { (vec![MOVED], vec![None]) } else { (vec![0.0], vec![NOT_TOLD]) };
        assert_eq!(taken_back(&[in_draws(draws)], None, JudgeShares::USUAL), expected, "{draws}");
    }
    // A share is enough if it is just reached.
    for (sure, stays) in [(0.85, true), (0.8501, false)] {
        let (point, _) = taken_back(&[in_draws(34)], None, JudgeShares { sure, agreed: 0.0 });
        assert_eq!(point, [if stays { MOVED } else { 0.0 }], "{sure}");
    }
}

#[test]
fn a_change_stays_that_the_held_back_data_do_not_deny() {
    for (draws, stays) in [(200, true), (121, true), (120, true), (119, false), (0, false)] {
        let (point, left) = taken_back(&[in_draws(40)], Some(&[in_draws(draws)]), JudgeShares::USUAL);
        let expected = if stays { (vec![MOVED], vec![None]) } else { (vec![0.0], vec![NOT_BETTER]) };
        assert_eq!((point, left), expected, "{draws} of {HELD_DRAWS}");
    }
}

#[test]
fn each_number_is_judged_by_itself() {
    let sure = Gain { whole: 9.0, each: 9.0, draws: 40 };
    let (point, left) = taken_back(
        &[sure, in_draws(20), sure],
        Some(&[in_draws(200), in_draws(200), in_draws(100)]),
        JudgeShares::USUAL,
    );
    assert_eq!(point, [MOVED, 0.0, 0.0]);
    assert_eq!(left, [None, NOT_TOLD, NOT_BETTER]);
}

/// Two changes that each is within noise, but both are not: the first goes back, and the second is compared with the point that
/// had both.
#[test]
fn many_small_losses_do_not_add_up() {
    // Half of the draws tell of each, the first half and the second: without either one, half of the draws are as good.
    let seen = |point: &[f64], draw: Option<usize>| {
        let [one, other] = [point[0] == MOVED, point[1] == MOVED];
        let gain = |is: bool, by: f64| if is { by } else { 0.0 };
        match draw {
            None => 100.0 - gain(one, 1.0) - gain(other, 2.0),
            Some(draw) if draw < SEEN_DRAWS / 2 => 100.0 - gain(one, 1.0),
            Some(_) => 100.0 - gain(other, 1.0),
        }
    };
    let toy = Toy::new(vec![number(0, 2, 0.0), number(1, 2, 0.0)], &seen, None);
    let mut left = vec![None; 2];
    let point = put_back_unconfirmed(&toy.evaluator(), &toy.origin(), vec![MOVED; 2], JudgeShares::USUAL, &mut left);
    // The one whose lack costs least goes first; without both every draw is worse.
    assert_eq!((point, left), (vec![0.0, MOVED], vec![NOT_TOLD, None]));
}

/// A point without a change may be better; then the next is compared with it.
#[test]
fn the_next_is_compared_with_the_best_so_far() {
    // The first change makes every draw and the whole worse by 5; the second is worth 1 in all draws.
    let harm = Gain { whole: -5.0, each: -5.0, draws: SEEN_DRAWS };
    assert_eq!(taken_back(&[harm, in_draws(40)], None, JudgeShares::USUAL), (vec![0.0, MOVED], vec![NOT_TOLD, None]));
    let alone = taken_back(&[harm], None, JudgeShares::USUAL);
    assert_eq!(alone, (vec![0.0], vec![NOT_TOLD]));
}

#[test]
fn a_fit_that_ends_meanwhile_puts_nothing_back() {
    let toy = toy(&[in_draws(0)], None);
    let mut left = vec![None];
    let evaluator = toy.evaluator().with_point_limit(Some(1));
    let point = put_back_unconfirmed(&evaluator, &toy.origin(), vec![MOVED], JudgeShares::USUAL, &mut left);
    assert_eq!((point, left), (vec![MOVED], vec![None]));
}

#[test]
fn the_whole_is_better_in_84_of_100_draws_of_the_held_back_data() {
    let found = |draws: usize| {
        let toy = toy(&[in_draws(40)], Some(&[in_draws(draws)]));
        is_surely_better_on_held_data(&toy.evaluator(), &toy.origin(), &[MOVED], JudgeShares::USUAL)
    };
    assert_eq!([200, 168, 167, 0].map(found), [Some(true), Some(true), Some(false), Some(false)]);
    let toy = toy(&[in_draws(40)], None);
    assert_eq!(is_surely_better_on_held_data(&toy.evaluator(), &toy.origin(), &[MOVED], JudgeShares::USUAL), None);
}

#[test]
fn thinning_puts_back_what_the_whole_is_better_with_in_no_more_than_60_of_100_draws() {
    let thinned = |gains: &[Gain], most: Option<u64>| {
        let toy = toy(gains, None);
        let evaluator = toy.evaluator().with_point_limit(most);
        let evaluators = EvaluatorPair { short: &evaluator, whole: &evaluator };
        let mut left = vec![None; gains.len()];
        let point = put_back_unneeded(evaluators, &toy.origin(), vec![MOVED; gains.len()], NO_SEARCH, &mut left);
        (point, left)
    };
    for (draws, stays) in [(40, true), (25, true), (24, false), (0, false)] {
        let expected = if stays { (vec![MOVED], vec![None]) } else { (vec![0.0], vec![NOT_TOLD]) };
        assert_eq!(thinned(&[in_draws(draws)], None), expected, "{draws}");
    }
    assert_eq!(thinned(&[in_draws(0)], Some(1)), (vec![MOVED], vec![None]), "it ended before");
}

/// Two changes of which each half of the draws has enough without, but none without both.
#[test]
fn thinning_compares_with_the_whole_and_not_with_what_is_left_of_it() {
    // The first lowers the loss in draws 0 to 23, the second in draws 16 to 39: 24 of 40 each, and all together.
    let seen = |point: &[f64], draw: Option<usize>| {
        let helps = |index: usize, is: bool| if point[index] == MOVED && is { 1.0 } else { 0.0 };
        match draw {
            None => 100.0 - helps(0, true) - helps(1, true),
            Some(draw) => 100.0 - helps(0, draw < 24) - helps(1, draw >= 16),
        }
    };
    let toy = Toy::new(vec![number(0, 2, 0.0), number(1, 2, 0.0)], &seen, None);
    let evaluator = toy.evaluator();
    let evaluators = EvaluatorPair { short: &evaluator, whole: &evaluator };
    let mut left = vec![None; 2];
    let point = put_back_unneeded(evaluators, &toy.origin(), vec![MOVED; 2], NO_SEARCH, &mut left);
    assert_eq!((point, left), (vec![0.0, MOVED], vec![NOT_TOLD, None]));
}

/// What is put back of a number with this interval, of which `seen` and `held` draws tell.
fn determined(interval: Option<(f64, f64)>, seen: usize, held: Option<usize>) -> (Vec<f64>, Left) {
    let gains = held.map(|draws| [in_draws(draws)]);
    let toy = toy(&[in_draws(seen)], gains.as_ref().map(|gains| &gains[..]));
    let intervals = Intervals { of: vec![interval], pairs: Vec::new() };
    let mut left = vec![None];
    let (evaluator, point) = (toy.evaluator(), vec![MOVED]);
    let point = put_back_undetermined(&evaluator, &toy.origin(), point, &intervals, NO_SEARCH, &mut left);
    (point, left)
}

#[test]
fn a_number_goes_back_that_could_be_anything_and_is_needed_for_nothing() {
    let (stays, goes) = ((vec![MOVED], vec![None]), (vec![0.0], vec![NOT_TOLD]));
    let anything = Some((0.0, 0.002));
    assert_eq!(determined(anything, 0, None), goes);
    assert_eq!(determined(None, 0, None), stays, "without an interval");
    assert_eq!(determined(Some((0.0005, 0.002)), 0, None), stays, "its original value is not in it");
    assert_eq!(determined(Some((-0.002, -0.0005)), 0, None), stays, "nor here");
    // Half of its range is not wide, more is.
    assert_eq!(determined(Some((0.0, 0.001)), 0, None), stays);
    assert_eq!(determined(Some((0.0, 0.0011)), 0, None), goes);
    // Needed: by the seen data in 84 of 100 draws, by the held-back data in 60.
    assert_eq!([34, 33].map(|draws| determined(anything, draws, None)), [stays.clone(), goes.clone()]);
    assert_eq!(determined(anything, 0, Some(120)), stays);
    // As good without it, but then the whole would be no better than the profile: the only number that moved is needed.
    assert_eq!(determined(anything, 0, Some(119)), stays);
}

/// With another number that makes the whole better than the profile, one goes back that the held-back data do not need.
#[test]
fn what_the_held_back_data_need_stays() {
    let found = |draws: usize| {
        let sure = Gain { whole: 9.0, each: 9.0, draws: HELD_DRAWS };
        let toy = toy(&[in_draws(0), in_draws(40)], Some(&[in_draws(draws), sure]));
        let intervals = Intervals { of: vec![Some((0.0, 0.002)), Some((0.001, 0.002))], pairs: Vec::new() };
        let mut left = vec![None; 2];
        let (evaluator, point) = (toy.evaluator(), vec![MOVED; 2]);
        put_back_undetermined(&evaluator, &toy.origin(), point, &intervals, NO_SEARCH, &mut left)
    };
    assert_eq!([120, 119].map(found), [[MOVED, MOVED], [0.0, MOVED]]);
}

#[test]
fn numbers_that_were_never_stated_are_tested_first_and_of_them_the_nearest() {
    let mut parameters: Vec<_> = (0..4).map(|index| number(index, 2, 0.0)).collect();
    parameters[0].marked = FigureMark::Fitted;
    let toy = Toy::new(parameters, &|_, _| 1.0, None);
    let evaluator = toy.evaluator();
    let moved = |point: [f64; 4]| moved_numbers_in_test_order(&evaluator, &[0.0; 4], &point);
    assert_eq!(moved([0.001, 0.002, 0.001, 0.0]), [2, 1, 0]);
    assert_eq!(moved([0.0; 4]), [0; 0]);
    assert_eq!(moved([0.002, 0.001, 0.001, 0.001]), [1, 2, 3, 0]);
}
