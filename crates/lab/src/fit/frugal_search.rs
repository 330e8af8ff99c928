//! The search of a fit to jobs, where a point takes a second; a point of a trace takes a fraction of it. The effect of each key, measured
//! beforehand ([`sensitivity`](mod@super::sensitivity)), plans the search. Jobs run no longer than their figures need, and a rule is tried
//! with other numbers only if the slopes at the best point favour it. Whole jobs judge the result.
//!
//! 1. Keys that move too little are left out.
//! 2. From two starts (the profile; least squares over its numbers, with fixed rules) rules are tried one by one, then numbers
//!    by least squares. The start that ends better on the held-back data continues.
//! 3. Every rule is tried once more, with numbers that follow along the slopes of the best point.
//! 4. All numbers are searched together, by CMA-ES, then by least squares: on short jobs, at the end once on whole ones.

use super::evaluator::{PointEvaluator, Question};
use super::parameter::{Parameter, ParameterDomain};
use super::search::{self, SearchEffort};
use super::sensitivity::{self, Sensitivity};
use super::slope::{Slopes, descend_by_least_squares};

/// Steps of the first descents, of the later ones, and of that on whole jobs, as shares of a range.
const FIRST: [f64; 2] = [0.1, 0.03];
const LATER: [f64; 1] = [0.03];
const LAST: [f64; 1] = [0.01];

/// The largest share by which a rule's change alone may raise the loss for the rule to be tried again, and with numbers that follow.
const NEARLY: f64 = 0.3;

/// The share by which a rule must improve the loss; less is within the loss's own roughness.
const WORTH: f64 = 0.002;

/// The most rules that change one after another.
const CHANGES: usize = 6;

/// The end of a search.
pub(crate) struct SearchEnd {
    pub point: Vec<f64>,
    /// For each parameter whether it affects the loss.
    pub free: Vec<bool>,
}

/// The evaluators of the short and of the whole jobs.
#[derive(Clone, Copy)]
pub(crate) struct EvaluatorPair<'a, 'b> {
    /// Jobs as short as their figures allow.
    pub short: &'a PointEvaluator<'b>,
    /// Whole jobs.
    pub whole: &'a PointEvaluator<'b>,
}

/// Searches from `origin`, the profile's point, in the stages above.
pub(crate) fn search_by_plan(
    evaluators: EvaluatorPair<'_, '_>,
    origin: &[f64],
    effort: SearchEffort,
    sensitivity: &Sensitivity,
) -> SearchEnd {
    let EvaluatorPair { short, whole } = evaluators;
    let mut free: Vec<bool> = (0..origin.len()).map(|index| sensitivity.is_worth_searching(index)).collect();
    let plan = FrugalPlan::new(short.parameters, &free, effort);
    if short.begin_stage("least squares", plan.expected_points_from_stage(0)) {
        return SearchEnd { point: origin.to_vec(), free };
    }
    let numbers = descend_by_least_squares(short, origin.to_vec(), &free, &FIRST);
    let mut ends = Vec::new();
    for (start, name) in [(origin.to_vec(), "rules"), (numbers, "rules again")] {
        if short.begin_stage(name, plan.expected_points_from_stage(1 + ends.len())) {
            return SearchEnd { point: origin.to_vec(), free };
        }
        let point = search_rules(short, start, &mut free);
        ends.push(descend_by_least_squares(short, point, &free, &LATER));
    }
    let judging_loss = |point: &[f64]| {
        if whole.has_held_data() { whole.ask(Question::Held, point)[0] } else { short.loss(point) }
    };
    let (from_numbers, from_profile) = (ends.pop().unwrap_or_default(), ends.pop().unwrap_or_default());
    let numbers_first = judging_loss(&from_numbers) < judging_loss(&from_profile);
    let mut point = if numbers_first { from_numbers } else { from_profile };
    if short.begin_stage("rules with numbers", plan.expected_points_from_stage(3)) {
        return SearchEnd { point, free };
    }
    point = search_rules_with_numbers(short, point, &free);
    if short.begin_stage("numbers", plan.expected_points_from_stage(4)) {
        return SearchEnd { point, free };
    }
    point = search::search_numbers(short, point, &free, 0.05, effort.generations);
    point = descend_by_least_squares(short, point, &free, &LATER);
    if whole.begin_stage("whole jobs", plan.expected_points_from_stage(5)) {
        return SearchEnd { point, free };
    }
    SearchEnd { point: descend_by_least_squares(whole, point, &free, &LAST), free }
}

/// The number of points that each stage of the search is expected to take, from measured fits to about twelve jobs.
struct FrugalPlan([u64; 6]);

impl FrugalPlan {
    fn new(parameters: &[Parameter], free: &[bool], effort: SearchEffort) -> FrugalPlan {
        let moving = || parameters.iter().zip(free).filter(|(_, free)| **free).map(|(parameter, _)| parameter);
        let numbers = moving().filter(|parameter| parameter.range().is_some()).count() as u64;
        let choices: u64 = moving()
            .map(|parameter| match &parameter.form {
                ParameterDomain::Choice(words) => words.len() as u64 - 1,
                ParameterDomain::Number(_) => 0,
            })
            .sum();
        // A step of a descent takes a slope of each number and ten tries.
        let step = numbers + 10;
        let generations = effort.generations as u64 * search::GENERATION as u64;
        FrugalPlan([
            4 * step,
            2 * choices + 2 * step,
            2 * choices + 2 * step,
            2 * choices + step,
            generations + 2 * step,
            2 * step,
        ])
    }

    /// The sum from a stage to the end of the fit, judging included.
    fn expected_points_from_stage(&self, stage: usize) -> u64 {
        self.0[stage..].iter().sum::<u64>() + self.expected_judging_points()
    }

    /// Points of judging: about six figures move, and each has an interval of two sides, of five steps with five points.
    fn expected_judging_points(&self) -> u64 {
        300 + self.0[5]
    }
}

/// The number of points that a fit by this plan is expected to try.
pub fn expected_point_count(parameters: &[Parameter], effort: SearchEffort) -> u64 {
    // Half of the keys move nothing, in fits to random reads and writes.
    let free: Vec<bool> = (0..parameters.len()).map(|index| index % 2 == 0).collect();
    sensitivity::trial_point_count(parameters)
        + FrugalPlan::new(parameters, &free, effort).expected_points_from_stage(0)
}

/// The section of a key: rules of one section work together.
fn key_section(parameter: &Parameter) -> &str {
    parameter.key.rsplit_once('.').map_or("", |(section, _)| section)
}

/// Improves the rules from `point` on, one change at a time. After all choices were tried once, only those nearly as good are tried again,
/// and those in the section of the last change. A rule on which the loss now depends becomes free.
fn search_rules(evaluator: &PointEvaluator<'_>, point: Vec<f64>, free: &mut [bool]) -> Vec<f64> {
    let parameters = evaluator.parameters;
    let mut best = point;
    let mut loss = evaluator.loss(&best);
    let mut candidates: Vec<RuleChoice> = rule_choices(parameters).filter(|(index, _)| free[*index]).collect();
    for _ in 0..CHANGES {
        if evaluator.ended_at_checkpoint() {
            break;
        }
        candidates.retain(|(index, word)| best[*index] != *word);
        let points: Vec<Vec<f64>> = candidates.iter().map(|(index, word)| with_value(&best, *index, *word)).collect();
        let losses = evaluator.losses(&points);
        for ((index, _), other_loss) in candidates.iter().zip(&losses) {
            free[*index] |= *other_loss != loss;
        }
        let least = (0..candidates.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b]));
        let Some(least) = least.filter(|&least| losses[least] < loss * (1.0 - WORTH)) else { break };
        best.clone_from(&points[least]);
        loss = losses[least];
        let section = key_section(&parameters[candidates[least].0]);
        let next: Vec<RuleChoice> = candidates
            .iter()
            .zip(&losses)
            .filter(|(_, other_loss)| **other_loss <= loss * (1.0 + NEARLY))
            .map(|(choice, _)| *choice)
            .chain(rule_choices(parameters).filter(|(index, _)| key_section(&parameters[*index]) == section))
            .collect();
        candidates = next;
        candidates.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        candidates.dedup();
    }
    best
}

/// The index of a rule among the parameters, and the number of a choice.
type RuleChoice = (usize, f64);

/// Every choice of every rule.
fn rule_choices(parameters: &[Parameter]) -> impl Iterator<Item = RuleChoice> {
    parameters.iter().enumerate().flat_map(|(index, parameter)| {
        let choice_count = if let ParameterDomain::Choice(words) = &parameter.form { words.len() } else { 0 };
        (0..choice_count).map(move |word| (index, word as f64))
    })
}

fn with_value(point: &[f64], index: usize, value: f64) -> Vec<f64> {
    let mut other = point.to_vec();
    other[index] = value;
    other
}

/// Improves the rules with numbers that follow, because a rule may be better only with matching times. The numbers follow along the slopes
/// of the best point; if that helps, by least squares of their own.
fn search_rules_with_numbers(evaluator: &PointEvaluator<'_>, point: Vec<f64>, free: &[bool]) -> Vec<f64> {
    let mut best = point;
    for _ in 0..CHANGES {
        if evaluator.ended_at_checkpoint() {
            break;
        }
        let loss = evaluator.loss(&best);
        let Some(slopes) = Slopes::measure_at(evaluator, &best, free, LATER[0]) else { break };
        let points: Vec<Vec<f64>> = rule_choices(evaluator.parameters)
            .filter(|(index, word)| free[*index] && best[*index] != *word)
            .map(|(index, word)| with_value(&best, index, word))
            .collect();
        let losses = evaluator.losses(&points);
        // Rules that change nothing here are left out.
        let candidates = points
            .into_iter()
            .zip(losses)
            .filter(|(_, other_loss)| *other_loss != loss && *other_loss <= loss * (1.0 + NEARLY));
        let moved: Vec<Vec<f64>> =
            candidates.flat_map(|(other, _)| slopes.steps_from_other_rules(evaluator, &other, None)).collect();
        let losses = evaluator.losses(&moved);
        let least = (0..moved.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b]));
        let Some(least) = least.filter(|&least| losses[least] < loss * (1.0 - WORTH)) else { break };
        best = descend_by_least_squares(evaluator, moved[least].clone(), free, &LATER);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::evaluator::toy::{Toy, number, rule};

    /// Two rules of which the second does nothing before the first has changed, and in whose section it is.
    fn found(second: &'static str, losses: [[f64; 2]; 2], free: [bool; 2]) -> (Vec<f64>, [bool; 2]) {
        let other = Parameter { key: second, name: second.to_owned(), ..rule(&["a", "b"]) };
        let toy =
            Toy::new(vec![rule(&["1", "2"]), other], &|point, _| losses[point[0] as usize][point[1] as usize], None);
        let mut free = free;
        (search_rules(&toy.evaluator(), toy.origin(), &mut free), free)
    }

    #[test]
    fn a_changed_rule_has_the_others_of_its_section_tried_again() {
        let losses = [[10.0, 10.0], [9.0, 8.0]];
        let neighbour = "cache.read_ahead.until";
        assert_eq!(found(neighbour, losses, [true, false]), (vec![1.0, 1.0], [true, true]));
        assert_eq!(found("firmware.queue.policy", losses, [true, false]), (vec![1.0, 0.0], [true, false]));
        assert_eq!(found(neighbour, losses, [false, false]), (vec![0.0, 0.0], [false, false]), "nothing is free");
        // What changes the loss is felt, whether it lowers it or not.
        assert_eq!(found(neighbour, [[10.0, 11.0], [9.0, 9.5]], [true, false]), (vec![1.0, 0.0], [true, true]));
        // A rule of another section is tried again if its change alone was at most 30 % worse than the best, 9.
        let policy = "firmware.queue.policy";
        assert_eq!(found(policy, [[10.0, 11.6], [9.0, 8.0]], [true, true]).0, [1.0, 1.0]);
        assert_eq!(found(policy, [[10.0, 11.8], [9.0, 8.0]], [true, true]).0, [1.0, 0.0]);
        // A change is worth more than 0.2 % of the loss.
        assert_eq!(found(neighbour, [[10.0, 10.0], [9.981, 9.981]], [true, false]).0, [0.0, 0.0]);
        assert_eq!(found(neighbour, [[10.0, 10.0], [9.979, 9.979]], [true, false]).0, [1.0, 0.0]);
    }

    #[test]
    fn every_choice_of_every_rule_is_one_and_a_number_is_none() {
        let parameters = [rule(&["1", "2"]), number(0, 8, 0.0), rule(&["1", "2", "3"])];
        let all: Vec<(usize, f64)> = rule_choices(&parameters).collect();
        assert_eq!(all, [(0, 0.0), (0, 1.0), (2, 0.0), (2, 1.0), (2, 2.0)]);
        assert_eq!([key_section(&parameters[0]), key_section(&parameters[1])], ["cache.read_ahead", "overhead"]);
        assert_eq!(with_value(&[1.0, 2.0, 3.0], 1, 5.0), [1.0, 5.0, 3.0]);
    }

    #[test]
    fn a_plan_counts_the_points_of_its_stages() {
        let parameters = [rule(&["1", "2"]), number(0, 8, 0.0), rule(&["1", "2", "3"]), number(1, 8, 0.0)];
        let plan = |free: [bool; 4]| {
            FrugalPlan::new(&parameters, &free, SearchEffort { thorough: false, ..SearchEffort::thorough(2) })
        };
        // Two numbers: a step takes 12 points. Three other choices. Two generations of 18.
        assert_eq!(plan([true; 4]).0, [48, 30, 30, 18, 60, 24]);
        assert_eq!(plan([false, true, true, false]).0, [44, 26, 26, 15, 58, 22]);
        let whole = plan([true; 4]);
        assert_eq!(
            [
                whole.expected_points_from_stage(0),
                whole.expected_points_from_stage(4),
                whole.expected_points_from_stage(5)
            ],
            [210 + 324, 84 + 324, 24 + 324]
        );
    }
}
