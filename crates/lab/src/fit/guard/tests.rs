//! Groups that are off, and toy fits whose changes the guard keeps or puts back.

use super::*;
use crate::fit::evaluator::toy::{Toy, number};

/// A group that takes 10 ms, and its simulated mean and loss; every draw has the same loss.
fn group(name: &str, simulated_ms: f64, loss: f64) -> GroupError {
    let losses = vec![loss; 11];
    GroupError { name: name.to_owned(), measured_ms: 10.0, simulated_ms, noise_ms: 0.2, losses }
}

/// Both halves of one group, with simulated means and losses.
fn halves(name: &str, simulated_ms: [f64; 2], losses: [f64; 2]) -> HalfErrors {
    [0, 1].map(|half| vec![group(name, simulated_ms[half], losses[half])])
}

#[test]
fn a_group_is_off_in_both_halves_to_the_same_side_beyond_noise() {
    let off = |simulated_ms: [f64; 2]| !groups_off_in_both_halves(&halves("a", simulated_ms, [1.0; 2])).is_empty();
    assert!(off([10.5, 10.41]) && off([9.0, 9.5]));
    assert!(!off([10.5, 9.5]), "to different sides");
    assert!(!off([10.5, 10.39]) && !off([10.39, 10.5]), "two standard errors are 0.4");
    let mut quiet = halves("a", [10.15, 10.15], [1.0; 2]);
    quiet.iter_mut().flatten().for_each(|error| error.noise_ms = 0.001);
    assert!(groups_off_in_both_halves(&quiet).is_empty(), "below 2 % of its mean");
    assert!(groups_off_in_both_halves(&[vec![group("a", 12.0, 1.0)], Vec::new()]).is_empty(), "in one half only");
}

#[test]
fn worse_is_a_group_that_was_off_or_a_direction_and_better_is_a_group_in_both_halves() {
    let compared = |name: &str, after: [f64; 2]| {
        let off = ["off".to_owned()];
        let GroupComparison { worse, mends_one } =
            compare_groups(&halves(name, [12.0; 2], [1.0; 2]), &halves(name, [12.0; 2], after), &off, 0.84);
        (worse, mends_one)
    };
    assert_eq!(compared("off", [0.9, 0.9]), (0, true));
    assert_eq!(compared("off", [0.9, 1.0]), (0, false));
    assert_eq!(compared("off", [0.9, 1.1]), (1, false));
    assert_eq!(compared("off", [1.1, 1.1]), (2, false));
    assert_eq!(compared("other", [1.1, 1.1]), (0, false));
    assert_eq!(compared("t: reads", [1.1, 0.9]), (1, false));
    assert_eq!(compared("t: writes", [0.9, 0.9]), (0, false), "a direction that was not off");
}

#[test]
fn a_group_that_stays_off_is_named_with_its_means() {
    let off = ["a".to_owned()];
    let named =
        |after: [f64; 2]| unmended_groups(&halves("a", [11.0, 11.0], [1.0; 2]), &halves("a", after, [1.0; 2]), &off);
    assert_eq!(named([11.0, 10.9])[0].simulated_ms, [11.0, 10.9]);
    assert_eq!(named([10.7, 10.8]).len(), 1, "a quarter of it is mended in one half only");
    assert!(named([10.7, 10.7]).is_empty() && named([10.2, 11.0]).is_empty() && named([9.0, 9.0]).is_empty());
    let text = named([11.0, 10.9])[0].warning_text();
    assert!(
        text.starts_with("a: they take 10.000 ms and the model 11.000 ms (held back: 10.000 and 10.900)"),
        "{text}"
    );
}

/// Where every number of these toys moved to, from 0.
const MOVED: f64 = 0.002;

/// What remains of a toy whose numbers all moved; each lowers the seen loss, and the held-back one by so much in all draws.
fn kept(seen_gains: &[f64], held_gains: &[f64]) -> Vec<f64> {
    let loss = |gains: &[f64], point: &[f64]| {
        100.0 - gains.iter().zip(point).map(|(gain, value)| if *value == MOVED { *gain } else { 0.0 }).sum::<f64>()
    };
    let parameters = (0..seen_gains.len()).map(|index| number(index, 2, 0.0)).collect();
    let (seen, held) = (|point: &[f64], _| loss(seen_gains, point), |point: &[f64], _| loss(held_gains, point));
    let toy = Toy::new(parameters, &seen, Some(&held));
    let (evaluator, origin) = (toy.evaluator(), toy.origin());
    let guard = Guard::new(&evaluator, &origin, JudgeShares::USUAL);
    let mut reasons = vec![None; origin.len()];
    let point = guard.keep_acceptable(vec![MOVED; origin.len()], SearchEffort::thorough(0), &mut reasons);
    for (index, reason) in reasons.iter().enumerate() {
        assert_eq!(reason.is_some(), point[index] == 0.0, "{reasons:?}");
    }
    point
}

#[test]
fn so_much_of_a_fit_stays_as_the_held_back_data_confirm() {
    assert_eq!(kept(&[1.0, 2.0], &[1.0, 1.0]), [MOVED, MOVED]);
    assert_eq!(kept(&[1.0, 2.0], &[1.0, -3.0]), [MOVED, 0.0], "one change spoils both");
    assert_eq!(kept(&[1.0, 2.0, 3.0], &[-1.0, 1.0, -4.0]), [0.0, MOVED, 0.0]);
    assert_eq!(kept(&[1.0, 2.0], &[-1.0, -1.0]), [0.0, 0.0]);
    assert_eq!(kept(&[-3.0, 2.0], &[5.0, 1.0]), [0.0, MOVED], "the seen data count too");
    assert_eq!(kept(&[1.0], &[0.0]), [0.0], "a change needs a gain");
}
