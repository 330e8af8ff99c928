//! The thorough search: first rules, then numbers, then rules once more.
//!
//! Rules are tried one by one, the best change first, as long as a change improves the loss. Numbers are searched together by
//! CMA-ES (N. Hansen, "The CMA Evolution Strategy: A Tutorial", 2016), as positions from 0 to 1 in their ranges.
//! Parameters that do not affect the loss at all are left out beforehand. There is one seed; the order of cores does not matter.

use cmaes::{CMAESOptions, DVector};

use super::data::FitData;
use super::evaluator::{IMPOSSIBLE, PointEvaluator};
use super::judge::JudgeShares;
use super::parameter::ParameterDomain;
use super::slope::{FINE, descend_by_least_squares};

/// The seed of the search.
const SEED: u64 = 20;

/// Points of a generation: more than CMA-ES's own 4 + 3 ln n (13 for 20 numbers), because the loss has steps.
pub(crate) const GENERATION: usize = 18;

/// Spread of a search for numbers that begins close to the best ones, as a share of each range.
pub(crate) const CLOSE_SPREAD: f64 = 0.02;

/// The share by which a rule must improve the loss; less is within the loss's own roughness.
const WORTH: f64 = 0.002;

/// The end of a search.
pub(crate) struct SearchEnd {
    pub point: Vec<f64>,
    /// For each parameter whether it affects the loss.
    pub free: Vec<bool>,
}

/// The evaluators of a search and of its judgement.
#[derive(Clone, Copy)]
pub(crate) struct EvaluatorPair<'a, 'b> {
    pub short: &'a PointEvaluator<'b>,
    pub whole: &'a PointEvaluator<'b>,
}

/// The effort of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchEffort {
    /// Generations of the search for numbers. In a thorough search they are those of the first such search; the second has half, the last a
    /// quarter.
    pub generations: usize,
    /// True if every change is followed by a search of its own: for traces, whose points take a fraction of a second. Of mixed data the
    /// searches are shorter.
    pub thorough: bool,
    /// The shares of draws that decide whether a change stays.
    pub shares: JudgeShares,
}

/// Generations of a thorough search, as the eight measured drives were fitted.
const THOROUGH: usize = 120;

/// Generations of a planned search, which starts where least squares ended.
const PLANNED: usize = 40;

impl SearchEffort {
    /// The effort of a thorough search.
    pub fn thorough(generations: usize) -> SearchEffort {
        SearchEffort { generations, thorough: true, shares: JudgeShares::USUAL }
    }

    /// Chooses the effort for the data: points take seconds for jobs, a fraction for traces.
    pub fn for_data(data: &[FitData], generations: Option<usize>) -> SearchEffort {
        if data.iter().any(|data| matches!(data, FitData::Points(_))) {
            let generations = generations.unwrap_or(PLANNED);
            SearchEffort { generations, thorough: false, shares: JudgeShares::USUAL }
        } else {
            SearchEffort::thorough(generations.unwrap_or(THOROUGH))
        }
    }

    /// Generations of a search after a single change: 14 of the usual 120; none in a planned one.
    pub(crate) fn generations_after_change(self) -> usize {
        if self.thorough { (14 * self.generations).div_ceil(THOROUGH) } else { 0 }
    }

    /// Widths of the steps of a descent after a change, as shares of a range.
    pub fn step_widths(self) -> &'static [f64] {
        if self.thorough { &FINE } else { &FINE[..1] }
    }
}

/// Positions in its range at which a number is tried, to see whether it affects the loss.
const POSITIONS: [f64; 5] = [0.0, 0.2, 0.45, 0.7, 1.0];

/// For each parameter whether it changes the loss anywhere within its range. Values of which no drive can be made do not count.
pub(crate) fn sensitive_parameters(evaluator: &PointEvaluator<'_>, point: &[f64]) -> Vec<bool> {
    let mut points = Vec::new();
    let mut indices = Vec::new();
    for (index, parameter) in evaluator.parameters.iter().enumerate() {
        let values: Vec<f64> = match &parameter.form {
            ParameterDomain::Number(range) => POSITIONS.iter().map(|position| range.value_at(*position)).collect(),
            ParameterDomain::Choice(words) => (0..words.len()).map(|word| word as f64).collect(),
        };
        for value in values {
            let mut other = point.to_vec();
            other[index] = value;
            points.push(other);
            indices.push(index);
        }
    }
    let original_loss = evaluator.loss(point);
    let mut sensitive = vec![false; evaluator.parameters.len()];
    for (loss, index) in evaluator.losses(&points).iter().zip(indices) {
        sensitive[index] |= *loss != original_loss && *loss < IMPOSSIBLE;
    }
    sensitive
}

/// Improves the rules from `point` on, one change at a time.
pub(crate) fn search_rules(evaluator: &PointEvaluator<'_>, point: Vec<f64>, free: &[bool]) -> Vec<f64> {
    let mut best = point;
    let mut loss = evaluator.loss(&best);
    loop {
        let mut points: Vec<Vec<f64>> = Vec::new();
        for (index, parameter) in evaluator.parameters.iter().enumerate() {
            let ParameterDomain::Choice(words) = &parameter.form else { continue };
            for word in (0..words.len()).map(|word| word as f64).filter(|word| free[index] && *word != best[index]) {
                let mut other = best.clone();
                other[index] = word;
                points.push(other);
            }
        }
        let losses = evaluator.losses(&points);
        let least = losses.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
        match least {
            Some((index, answer)) if *answer < loss * (1.0 - WORTH) => {
                loss = *answer;
                best.clone_from(&points[index]);
            }
            _ => return best,
        }
    }
}

/// The largest share by which a rule's change alone may raise the loss for the rule to be tried with other numbers too.
const NEARLY: f64 = 0.3;

/// The most choices that are tried with other numbers, of each rule and in all. Each costs a search of its own, and there are some 170.
const TRIED_OF_RULE: usize = 2;
const TRIED: usize = 12;

/// The index of a rule among the parameters, and the number of a choice.
pub(crate) type RuleChoice = (usize, f64);

/// The choices worth a search with other numbers, the best first: those that change the loss of `point`, and raise it little. A choice that
/// changes nothing appears once the rule on which it depends has changed.
pub(crate) fn promising_choices(
    evaluator: &PointEvaluator<'_>,
    point: &[f64],
    tried: &[RuleChoice],
) -> Vec<RuleChoice> {
    let mut choices: Vec<RuleChoice> = Vec::new();
    for (index, parameter) in evaluator.parameters.iter().enumerate() {
        let ParameterDomain::Choice(words) = &parameter.form else { continue };
        let others = (0..words.len()).map(|word| (index, word as f64));
        choices.extend(others.filter(|choice| choice.1 != point[index] && !tried.contains(choice)));
    }
    let points: Vec<Vec<f64>> = choices.iter().map(|choice| with_choice(point, *choice)).collect();
    let loss = evaluator.loss(point);
    let mut losses: Vec<(f64, RuleChoice)> = evaluator.losses(&points).into_iter().zip(choices).collect();
    losses.retain(|(other_loss, _)| *other_loss != loss && *other_loss <= loss * (1.0 + NEARLY));
    losses.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut promising: Vec<RuleChoice> = Vec::new();
    for (_, choice) in losses {
        let of_rule = promising.iter().chain(tried).filter(|other| other.0 == choice.0).count();
        if of_rule < TRIED_OF_RULE && promising.len() + tried.len() < TRIED {
            promising.push(choice);
        }
    }
    promising
}

fn with_choice(point: &[f64], (index, word): RuleChoice) -> Vec<f64> {
    let mut other = point.to_vec();
    other[index] = word;
    other
}

/// Improves the rules with numbers that follow each change, because a rule may be better only with matching times. After a rule has changed,
/// the choices are ranked anew.
pub(crate) fn search_rules_with_numbers(
    evaluator: &PointEvaluator<'_>,
    point: Vec<f64>,
    free: &[bool],
    effort: SearchEffort,
) -> Vec<f64> {
    let mut best = point;
    let mut tried: Vec<RuleChoice> = Vec::new();
    let mut waiting = promising_choices(evaluator, &best, &tried);
    while !waiting.is_empty() {
        let choice = waiting.remove(0);
        tried.push(choice);
        let other = with_choice(&best, choice);
        let loss = evaluator.loss(&best);
        if choice.1 == best[choice.0] || evaluator.loss(&other) == loss {
            continue;
        }
        let followed = search_numbers(
            evaluator,
            descend_by_least_squares(evaluator, other, free, &FINE),
            free,
            0.05,
            effort.generations_after_change(),
        );
        if evaluator.loss(&followed) < loss * (1.0 - WORTH) {
            best = followed;
            waiting = promising_choices(evaluator, &best, &tried);
        }
    }
    best
}

/// Searches for the best numbers from `point` on, within about `spread` of each range.
pub(crate) fn search_numbers(
    evaluator: &PointEvaluator<'_>,
    point: Vec<f64>,
    free: &[bool],
    spread: f64,
    generations: usize,
) -> Vec<f64> {
    let moving: Vec<usize> =
        (0..point.len()).filter(|&index| free[index] && evaluator.parameters[index].range().is_some()).collect();
    if moving.is_empty() || generations == 0 {
        return point;
    }
    let range = |index: usize| evaluator.parameters[index].range().expect("only numbers move here");
    let point_at = |positions: &DVector<f64>| {
        let mut other = point.clone();
        for (position, &index) in positions.iter().zip(&moving) {
            other[index] = range(index).value_at(*position);
        }
        other
    };
    // A number beyond its range counts as the end of it; the excess costs.
    let beyond = |positions: &DVector<f64>| -> f64 {
        positions.iter().map(|position| (position - position.clamp(0.0, 1.0)).powi(2)).sum()
    };
    let loss = |positions: &DVector<f64>| evaluator.loss(&point_at(positions)) * (1.0 + beyond(positions));
    let start: Vec<f64> = moving.iter().map(|&index| range(index).position_of(point[index])).collect();
    let options = CMAESOptions::new(start, spread)
        .population_size(GENERATION.max(4 + (3.0 * (moving.len() as f64).ln()) as usize))
        .max_generations(generations)
        .tol_fun(1e-7)
        .tol_x(1e-5)
        .seed(SEED);
    let mut search = options.build(loss).expect("a dimension, and a spread above nothing");
    search.run_parallel();
    let found = search.overall_best_individual().map(|best| point_at(&best.point));
    match found {
        Some(found) if evaluator.loss(&found) < evaluator.loss(&point) => found,
        _ => point,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::evaluator::toy::{Toy, number, rule};

    #[test]
    fn a_number_is_felt_at_five_places_of_its_range_and_a_rule_at_any_choice() {
        let felt_of = |loss: &dyn Fn(&[f64]) -> f64| {
            let parameters = vec![number(0, 100, 0.0), rule(&["1", "2", "3"])];
            let toy = Toy::new(parameters, &|point, _| loss(point), None);
            sensitive_parameters(&toy.evaluator(), &toy.origin())
        };
        for at in [0.02, 0.045, 0.07, 0.1] {
            assert_eq!(felt_of(&|point| if point[0] == at { 2.0 } else { 1.0 }), [true, false], "{at}");
        }
        assert_eq!(
            felt_of(&|point| if point[0] == 0.03 { 2.0 } else { 1.0 }),
            [false, false],
            "a place that is not tried"
        );
        assert_eq!(felt_of(&|point| if point[1] == 2.0 { 0.5 } else { 1.0 }), [false, true]);
        assert_eq!(felt_of(&|_| 1.0), [false, false]);
        assert_eq!(
            felt_of(&|point| if point[1] == 2.0 { IMPOSSIBLE } else { 1.0 }),
            [false, false],
            "a choice of which no drive can be made"
        );
        // At the origin too, everything else is worse.
        assert_eq!(felt_of(&|point| if point == [0.0, 0.0] { 2.0 } else { 1.0 }), [true, true]);
    }

    #[test]
    fn few_choices_are_tried_with_numbers_the_best_first() {
        let words: Vec<String> = (0..8).map(|word| word.to_string()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let promising = |loss: &dyn Fn(&[f64]) -> f64, tried: &[RuleChoice]| {
            let toy = Toy::new(vec![rule(&words), rule(&words), number(0, 2, 0.0)], &|point, _| loss(point), None);
            promising_choices(&toy.evaluator(), &toy.origin(), tried)
        };
        // Of the first rule 5 is the best, then 4; its 7 makes no drive; of the second only 3 is near; all others change nothing.
        let loss = |point: &[f64]| match point {
            [5.0, 0.0, _] => 9.0,
            [4.0, 0.0, _] => 9.5,
            [3.0, 0.0, _] | [0.0, 3.0, _] => 11.0,
            [7.0, ..] => IMPOSSIBLE,
            [0.0, 4.0, _] => 13.1,
            _ => 10.0,
        };
        assert_eq!(promising(&loss, &[]), [(0, 5.0), (0, 4.0), (1, 3.0)]);
        assert_eq!(promising(&loss, &[(0, 5.0)]), [(0, 4.0), (1, 3.0)]);
        let full: Vec<RuleChoice> = (0..TRIED).map(|index| (2 + index, 1.0)).collect();
        assert_eq!(promising(&loss, &full), []);
    }

    #[test]
    fn a_rule_that_needs_other_numbers_is_found_with_them() {
        // The second choice is 10 % worse alone, and half as bad with the number at 0.02.
        let loss = |point: &[f64], _: Option<usize>| match point[0] {
            0.0 => 10.0 + 1000.0 * point[1],
            _ => 5.0 + (point[1] - 0.02).abs() * 300.0,
        };
        let toy = Toy::new(vec![rule(&["1", "2"]), number(0, 40, 0.0)], &loss, None);
        let point = search_rules_with_numbers(&toy.evaluator(), toy.origin(), &[true; 2], SearchEffort::thorough(120));
        assert_eq!(point, [1.0, 0.02]);
    }

    #[test]
    fn the_best_rules_are_found_one_after_another_while_each_is_worth_it() {
        let found = |losses: [[f64; 3]; 2], free: [bool; 2]| {
            let parameters = vec![rule(&["1", "2"]), rule(&["1", "2", "3"])];
            let toy = Toy::new(parameters, &|point, _| losses[point[0] as usize][point[1] as usize], None);
            search_rules(&toy.evaluator(), toy.origin(), &free)
        };
        let both = [true, true];
        assert_eq!(found([[10.0, 9.0, 8.0], [9.5, 9.0, 9.0]], both), [0.0, 2.0], "the best change first");
        assert_eq!(found([[10.0, 9.0, 9.5], [9.5, 8.0, 9.0]], both), [1.0, 1.0], "then the next");
        // The second change is better only with the first, and alone would not have been tried.
        assert_eq!(found([[10.0, 11.0, 11.0], [9.0, 11.0, 7.0]], both), [1.0, 2.0]);
        assert_eq!(
            found([[10.0, 9.0, 8.0], [1.0, 1.0, 1.0]], [false, true]),
            [0.0, 2.0],
            "a rule that is not free stays"
        );
        // A change is worth more than 0.2 % of the loss.
        assert_eq!(found([[10.0, 9.981, 10.0], [10.0; 3]], both), [0.0, 0.0]);
        assert_eq!(found([[10.0, 9.979, 10.0], [10.0; 3]], both), [0.0, 1.0]);
    }

    #[test]
    fn numbers_are_found_together_and_a_search_never_ends_worse() {
        let squares = |point: &[f64], _: Option<usize>| {
            1.0 + (1000.0 * point[0] - 40.0).powi(2) + (1000.0 * point[1] - 20.0).powi(2)
        };
        let toy = Toy::new(vec![number(0, 64, 0.0), number(1, 64, 0.0)], &squares, None);
        let evaluator = toy.evaluator();
        let found = |free: [bool; 2], generations: usize| {
            search_numbers(&evaluator, vec![0.03, 0.03], &free, 0.15, generations)
        };
        assert_eq!(found([true, true], 40), [0.04, 0.02]);
        assert_eq!(found([true, false], 40), [0.04, 0.03], "what is not free stays");
        assert_eq!([found([true, true], 0), found([false, false], 40)], [[0.03, 0.03]; 2]);
        let flat = Toy::new(vec![number(0, 64, 0.0)], &|_, _| 1.0, None);
        assert_eq!(
            search_numbers(&flat.evaluator(), vec![0.03], &[true], 0.15, 3),
            [0.03],
            "an equal point is no better"
        );
    }

    #[test]
    fn a_search_after_a_change_has_a_share_of_the_generations() {
        let following = |generations: usize| SearchEffort::thorough(generations).generations_after_change();
        assert_eq!([0, 1, 8, 9, 120, 240].map(following), [0, 1, 1, 2, 14, 28]);
        let planned = SearchEffort { thorough: false, ..SearchEffort::thorough(120) };
        assert_eq!(
            (
                planned.generations_after_change(),
                planned.step_widths().len(),
                SearchEffort::thorough(1).step_widths().len()
            ),
            (0, 1, 4)
        );
        let of = |data: &[FitData], generations: Option<usize>| {
            let effort = SearchEffort::for_data(data, generations);
            (effort.generations, effort.thorough)
        };
        let jobs = [FitData::Points(Vec::new())];
        assert_eq!([of(&[], None), of(&jobs, None)], [(120, true), (40, false)]);
        assert_eq!([of(&[], Some(7)), of(&jobs, Some(7))], [(7, true), (7, false)]);
    }
}
