//! The search for jobs, where a point takes a second and not a fraction of it. The sensitivity of each key plans it
//! ([`sensitivity`](mod@super::sensitivity)). Jobs run no longer than their figures need, and only rules that the slopes at the best point
//! favour are tried with other numbers. Whole jobs judge the result.
//!
//! 1. Keys that move too little are left out.
//! 2. From two starts (the profile; least squares over its numbers, with fixed rules) rules are tried one by one, then numbers
//!    by least squares. The start that ends better on the held-back data goes on.
//! 3. Every rule is tried once more, with numbers that follow along the slopes of the best point.
//! 4. All numbers together, by CMA-ES, then by least squares: on short jobs, at the end once on whole ones.

use super::evaluator::{PointEvaluator, Question};
use super::parameter::{Parameter, ParameterDomain};
use super::search::{self, SearchEffort};
use super::sensitivity::{self, Sensitivity};
use super::slope::{Slopes, descend};

/// Steps of the first descents, of the later ones, and of that on whole jobs, as shares of a range.
const FIRST: [f64; 2] = [0.1, 0.03];
const LATER: [f64; 1] = [0.03];
const LAST: [f64; 1] = [0.01];

/// A rule whose change alone raises the loss by no more than this share is tried again, and with numbers that follow.
const NEARLY: f64 = 0.3;

/// The share by which a rule must improve the loss; less is within the loss's own roughness.
const WORTH: f64 = 0.002;

/// The most rules that change in a row.
const CHANGES: usize = 6;

/// The evaluators of the short and of the whole jobs.
#[derive(Clone, Copy)]
pub(crate) struct Fidelities<'a, 'b> {
    /// Jobs as short as their figures allow.
    pub rough: &'a PointEvaluator<'b>,
    /// Whole jobs.
    pub whole: &'a PointEvaluator<'b>,
}

/// Searches; returns the end, and which parameters are free.
pub(crate) fn search_by_plan(
    at: Fidelities<'_, '_>,
    origin: &[f64],
    effort: SearchEffort,
    sensitivity: &Sensitivity,
) -> (Vec<f64>, Vec<bool>) {
    let Fidelities { rough, whole } = at;
    let mut free: Vec<bool> = (0..origin.len()).map(|index| sensitivity.is_worth_searching(index)).collect();
    let plan = FrugalPlan::new(rough.parameters, &free, effort);
    if rough.begin_stage("least squares", plan.points_from_stage(0)) {
        return (origin.to_vec(), free);
    }
    let numbers = descend(rough, origin.to_vec(), &free, &FIRST);
    let mut ends = Vec::new();
    for (start, name) in [(origin.to_vec(), "rules"), (numbers, "rules again")] {
        if rough.begin_stage(name, plan.points_from_stage(1 + ends.len())) {
            return (origin.to_vec(), free);
        }
        let point = search_rules(rough, start, &mut free);
        ends.push(descend(rough, point, &free, &LATER));
    }
    let judged = |point: &[f64]| {
        if whole.has_held_data() { whole.ask(Question::Held, point)[0] } else { rough.loss(point) }
    };
    let (other, one) = (ends.pop().unwrap_or_default(), ends.pop().unwrap_or_default());
    let mut point = if judged(&other) < judged(&one) { other } else { one };
    if rough.begin_stage("rules with numbers", plan.points_from_stage(3)) {
        return (point, free);
    }
    point = search_rules_with_numbers(rough, point, &free);
    if rough.begin_stage("numbers", plan.points_from_stage(4)) {
        return (point, free);
    }
    point = search::search_numbers(rough, point, &free, 0.05, effort.generations);
    point = descend(rough, point, &free, &LATER);
    if whole.begin_stage("whole jobs", plan.points_from_stage(5)) {
        return (point, free);
    }
    (descend(whole, point, &free, &LAST), free)
}

/// Expected points of each stage of the search, from measured fits to about twelve jobs.
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

    /// Expected points from a stage to the end of the fit.
    fn points_from_stage(&self, from: usize) -> u64 {
        self.0[from..].iter().sum::<u64>() + self.judging_points()
    }

    /// Expected points of judging: about six figures move, each with two sides of an interval of five steps of five points.
    fn judging_points(&self) -> u64 {
        300 + self.0[5]
    }
}

/// Number of points that a fit by this plan is expected to try.
pub fn expected_points(parameters: &[Parameter], effort: SearchEffort) -> u64 {
    // Half of the keys move nothing, in fits to random reads and writes.
    let free: Vec<bool> = (0..parameters.len()).map(|index| index % 2 == 0).collect();
    sensitivity::trial_point_count(parameters) + FrugalPlan::new(parameters, &free, effort).points_from_stage(0)
}

/// The section of a key: rules of one section work together.
fn key_section(parameter: &Parameter) -> &str {
    parameter.key.rsplit_once('.').map_or("", |(section, _)| section)
}

/// Improves the rules from `point` on, one change at a time. After all were tried once, only rules nearly as good are tried again, and
/// those in the section of the last change. A rule on which the loss now depends becomes free.
fn search_rules(evaluator: &PointEvaluator<'_>, point: Vec<f64>, free: &mut [bool]) -> Vec<f64> {
    let parameters = evaluator.parameters;
    let mut best = point;
    let mut loss = evaluator.loss(&best);
    let mut near: Vec<(usize, f64)> = rule_choices(parameters).filter(|(index, _)| free[*index]).collect();
    for _ in 0..CHANGES {
        if evaluator.reach_checkpoint() {
            break;
        }
        near.retain(|(index, word)| best[*index] != *word);
        let asked: Vec<Vec<f64>> = near.iter().map(|(index, word)| with_value(&best, *index, *word)).collect();
        let losses = evaluator.losses(&asked);
        for ((index, _), there) in near.iter().zip(&losses) {
            free[*index] |= *there != loss;
        }
        let least = (0..near.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b]));
        let Some(least) = least.filter(|&least| losses[least] < loss * (1.0 - WORTH)) else { break };
        best.clone_from(&asked[least]);
        loss = losses[least];
        let last = key_section(&parameters[near[least].0]);
        let again: Vec<(usize, f64)> = near
            .iter()
            .zip(&losses)
            .filter(|(_, there)| **there <= loss * (1.0 + NEARLY))
            .map(|(choice, _)| *choice)
            .chain(rule_choices(parameters).filter(|(index, _)| key_section(&parameters[*index]) == last))
            .collect();
        near = again;
        near.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        near.dedup();
    }
    best
}

/// Every choice of every rule.
fn rule_choices(parameters: &[Parameter]) -> impl Iterator<Item = (usize, f64)> {
    parameters.iter().enumerate().flat_map(|(index, parameter)| {
        let n = if let ParameterDomain::Choice(words) = &parameter.form { words.len() } else { 0 };
        (0..n).map(move |word| (index, word as f64))
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
        if evaluator.reach_checkpoint() {
            break;
        }
        let loss = evaluator.loss(&best);
        let Some(slopes) = Slopes::measure_at(evaluator, &best, free, LATER[0]) else { break };
        let asked: Vec<Vec<f64>> = rule_choices(evaluator.parameters)
            .filter(|(index, word)| free[*index] && best[*index] != *word)
            .map(|(index, word)| with_value(&best, index, word))
            .collect();
        let losses = evaluator.losses(&asked);
        // Rules that change nothing here are left out.
        let near = asked.into_iter().zip(losses).filter(|(_, there)| *there != loss && *there <= loss * (1.0 + NEARLY));
        let moved: Vec<Vec<f64>> =
            near.flat_map(|(other, _)| slopes.steps_from_other_rules(evaluator, &other, None)).collect();
        let losses = evaluator.losses(&moved);
        let least = (0..moved.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b]));
        let Some(least) = least.filter(|&least| losses[least] < loss * (1.0 - WORTH)) else { break };
        best = descend(evaluator, moved[least].clone(), free, &LATER);
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
            [whole.points_from_stage(0), whole.points_from_stage(4), whole.points_from_stage(5)],
            [210 + 324, 84 + 324, 24 + 324]
        );
    }
}
