//! The search: first rules, then numbers, then rules once more.
//!
//! Rules are tried one by one, the best change first, while one improves the loss. Numbers are searched together by
//! CMA-ES (N. Hansen, "The CMA Evolution Strategy: A Tutorial", 2016), in places from 0 to 1 of their ranges.
//! Parameters that the data do not feel at all are left out beforehand. There is one seed; the order of cores does not
//! matter.

use cmaes::{CMAESOptions, DVector};

use super::data::FitData;
use super::evaluator::PointEvaluator;
use super::judge::JudgeShares;
use super::parameter::ParameterDomain;
use super::slope::{FINE, descend};

/// The seed of the search.
const SEED: u64 = 20;

/// Points of a generation: more than CMA-ES's own 4 + 3 ln n (13 for 20 numbers), because the loss has steps.
pub const GENERATION: usize = 18;

/// The share by which a rule must improve the loss: below it is the loss's own roughness.
const WORTH: f64 = 0.002;

/// The effort of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchEffort {
    /// Of a thorough search: generations of the first search; the second has half, the last a quarter. Else of its only one.
    pub generations: usize,
    /// Every change is followed by a search of its own: for traces, of which a point takes a fraction of a second. Else the
    /// search is planned by what each key can move ([`frugal`](super::frugal)).
    pub thorough: bool,
    /// What decides whether a change stays.
    pub shares: JudgeShares,
}

/// Generations of a thorough search, as the eight measured drives were fitted.
const THOROUGH: usize = 120;

/// Generations of a planned search: it begins where least squares ended, and has what these left.
const PLANNED: usize = 40;

impl SearchEffort {
    /// The thorough search.
    pub fn thorough(generations: usize) -> SearchEffort {
        SearchEffort { generations, thorough: true, shares: JudgeShares::USUAL }
    }

    /// What suits the data: jobs take seconds a point, traces do not.
    pub fn of(data: &[FitData], generations: Option<usize>) -> SearchEffort {
        if data.iter().any(|data| matches!(data, FitData::Points(_))) {
            let generations = generations.unwrap_or(PLANNED);
            SearchEffort { generations, thorough: false, shares: JudgeShares::USUAL }
        } else {
            SearchEffort::thorough(generations.unwrap_or(THOROUGH))
        }
    }

    /// Generations of a search after a single change: 14 of the usual 120; none in a planned one.
    pub fn following(self) -> usize {
        if self.thorough { (14 * self.generations).div_ceil(THOROUGH) } else { 0 }
    }

    /// Steps of a descent after a change, as shares of a range.
    pub fn steps(self) -> &'static [f64] {
        if self.thorough { &FINE } else { &FINE[..1] }
    }
}

/// Where in its range a number is tried to see whether the data feel it at all.
const PLACES: [f64; 5] = [0.0, 0.2, 0.45, 0.7, 1.0];

/// Which parameters change the loss anywhere within their range.
pub fn felt(evaluator: &PointEvaluator<'_>, point: &[f64]) -> Vec<bool> {
    let mut asked = Vec::new();
    let mut of = Vec::new();
    for (index, parameter) in evaluator.parameters.iter().enumerate() {
        let values: Vec<f64> = match &parameter.form {
            ParameterDomain::Number(range) => PLACES.iter().map(|place| range.value(*place)).collect(),
            ParameterDomain::Choice(words) => (0..words.len()).map(|word| word as f64).collect(),
        };
        for value in values {
            let mut other = point.to_vec();
            other[index] = value;
            asked.push(other);
            of.push(index);
        }
    }
    let here = evaluator.loss(point);
    let mut felt = vec![false; evaluator.parameters.len()];
    for (loss, index) in evaluator.losses(&asked).iter().zip(of) {
        felt[index] |= *loss != here;
    }
    felt
}

/// The best rules from `point` on, one change after another.
pub fn rules(evaluator: &PointEvaluator<'_>, point: Vec<f64>, free: &[bool]) -> Vec<f64> {
    let mut best = point;
    let mut loss = evaluator.loss(&best);
    loop {
        let mut asked: Vec<Vec<f64>> = Vec::new();
        for (index, parameter) in evaluator.parameters.iter().enumerate() {
            let ParameterDomain::Choice(words) = &parameter.form else { continue };
            for word in (0..words.len()).map(|word| word as f64).filter(|word| free[index] && *word != best[index]) {
                let mut other = best.clone();
                other[index] = word;
                asked.push(other);
            }
        }
        let answers = evaluator.losses(&asked);
        let least = answers.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
        match least {
            Some((index, answer)) if *answer < loss * (1.0 - WORTH) => {
                loss = *answer;
                best.clone_from(&asked[index]);
            }
            _ => return best,
        }
    }
}

/// Rules that cost no more than this share, tried alone, are tried with other numbers too.
const NEARLY: f64 = 0.3;

/// As `rules`, with the numbers following each change: a rule may be better only with the times that go with it.
pub fn rules_followed(
    evaluator: &PointEvaluator<'_>,
    point: Vec<f64>,
    free: &[bool],
    effort: SearchEffort,
) -> Vec<f64> {
    let mut best = point;
    for (index, parameter) in evaluator.parameters.iter().enumerate() {
        let ParameterDomain::Choice(words) = &parameter.form else { continue };
        for word in (0..words.len()).map(|word| word as f64) {
            let loss = evaluator.loss(&best);
            let mut other = best.clone();
            other[index] = word;
            let alone = evaluator.loss(&other);
            // If it changes nothing, it is not felt here.
            if !free[index] || word == best[index] || alone == loss || alone > loss * (1.0 + NEARLY) {
                continue;
            }
            let followed = numbers(evaluator, descend(evaluator, other, free, &FINE), free, 0.05, effort.following());
            if evaluator.loss(&followed) < loss * (1.0 - WORTH) {
                best = followed;
            }
        }
    }
    best
}

/// The best numbers from `point` on, searched within about `spread` of each range.
pub fn numbers(
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
    let at = |places: &DVector<f64>| {
        let mut other = point.clone();
        for (place, &index) in places.iter().zip(&moving) {
            other[index] = range(index).value(*place);
        }
        other
    };
    // Beyond its range a number stays at the end; the excess costs.
    let beyond =
        |places: &DVector<f64>| -> f64 { places.iter().map(|place| (place - place.clamp(0.0, 1.0)).powi(2)).sum() };
    let loss = |places: &DVector<f64>| evaluator.loss(&at(places)) * (1.0 + beyond(places));
    let start: Vec<f64> = moving.iter().map(|&index| range(index).place(point[index])).collect();
    let options = CMAESOptions::new(start, spread)
        .population_size(GENERATION.max(4 + (3.0 * (moving.len() as f64).ln()) as usize))
        .max_generations(generations)
        .tol_fun(1e-7)
        .tol_x(1e-5)
        .seed(SEED);
    let mut search = options.build(loss).expect("a dimension, and a spread above nothing");
    search.run_parallel();
    let found = search.overall_best_individual().map(|best| at(&best.point));
    match found {
        Some(found) if evaluator.loss(&found) < evaluator.loss(&point) => found,
        _ => point,
    }
}
