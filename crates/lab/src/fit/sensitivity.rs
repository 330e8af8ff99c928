//! The effect of each key: before the search every key is tried at both ends of its range and in the middle, every rule with each of its
//! choices, all others being the profile's. A key that moves nothing, or all figures together by less than their errors, is left out and
//! named.
//!
//! The figures of a trace are the mean times of its reads and its writes. A key that moves any of its times stays in, because thousands of
//! requests show small changes.

use super::data::FitData;
use super::evaluator::PointEvaluator;
use super::parameter::{Parameter, ParameterDomain};
use super::points;
use super::slope::SimulatedValue;
use seekwise_disk::block::Op;

/// Places in its range at which a number is tried.
const PLACES: [f64; 3] = [0.0, 0.5, 1.0];

/// The least effect of a key, in standard errors of the figures, root of the sum of squares. With two points at a distance d the nearer to
/// the truth is better in the share of draws that a normal distribution has below d/2: 84 of 100, which a change must reach to stay, need a
/// d of 2. Half of that over a key's whole range is asked, because several keys may move together.
const LEAST: f64 = 1.0;

/// The effect of each key on the figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sensitivity {
    /// Names of figures.
    pub figures: Vec<String>,
    /// For each parameter the largest change of each figure, as a share of it.
    pub effects: Vec<Vec<f64>>,
    /// For each parameter the change of all figures together, in their standard errors; infinite if it moves any request of a trace.
    pub strengths: Vec<f64>,
}

impl Sensitivity {
    /// True if a search of a parameter can find anything.
    pub(crate) fn is_worth_searching(&self, index: usize) -> bool {
        self.strengths[index] >= LEAST
    }

    /// Returns the figure that a parameter moves most, and by which share.
    pub(crate) fn largest_effect(&self, index: usize) -> Option<(&str, f64)> {
        let effects = self.effects[index].iter().enumerate().filter(|(_, effect)| **effect > 0.0);
        let (figure, effect) = effects.max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0)))?;
        Some((&self.figures[figure], *effect))
    }
}

/// The values at which a parameter is tried.
fn trial_values(parameter: &Parameter) -> Vec<f64> {
    let values: Vec<f64> = match &parameter.form {
        ParameterDomain::Number(range) => PLACES.iter().map(|place| range.value_at(*place)).collect(),
        ParameterDomain::Choice(words) => (0..words.len()).map(|word| word as f64).collect(),
    };
    values.into_iter().filter(|value| *value != parameter.origin).collect()
}

/// Number of points that the analysis tries, the first included.
pub(crate) fn trial_point_count(parameters: &[Parameter]) -> u64 {
    1 + parameters.iter().map(|parameter| trial_values(parameter).len() as u64).sum::<u64>()
}

/// Measures the effect of each key from `origin` on.
pub(crate) fn measure_effects(evaluator: &PointEvaluator<'_>, origin: &[f64]) -> Sensitivity {
    let figures = SeenFigures::from_data(evaluator.data());
    let n = evaluator.parameters.len();
    let none = Sensitivity {
        figures: figures.figure_names(),
        effects: vec![vec![0.0; figures.figure_count()]; n],
        strengths: vec![0.0; n],
    };
    let Some(here) = evaluator.simulate_point(origin) else { return none };
    let (mut asked, mut of) = (Vec::new(), Vec::new());
    for (index, parameter) in evaluator.parameters.iter().enumerate() {
        for value in trial_values(parameter) {
            let mut other = origin.to_vec();
            other[index] = value;
            asked.push(other);
            of.push(index);
        }
    }
    let mut found = none;
    for (there, index) in evaluator.simulate_points(&asked).into_iter().zip(of) {
        let Some(there) = there else { continue };
        let (effects, strength) = figures.change_between(&here, &there);
        found.effects[index].iter_mut().zip(effects).for_each(|(most, effect)| *most = most.max(effect));
        found.strengths[index] = found.strengths[index].max(strength);
    }
    found
}

/// A kind of the seen data.
enum SeenPart {
    /// For each figure its name, its standard error and its weight among the values.
    Jobs(Vec<(String, f64, f64)>),
    /// A trace by name, and whether each seen request reads.
    Trace(String, Vec<bool>),
}

/// The figures of the seen data, in the order of an evaluator's values.
struct SeenFigures(Vec<SeenPart>);

impl SeenFigures {
    fn from_data(data: &[FitData]) -> SeenFigures {
        let part = |data: &FitData| match data {
            FitData::Points(points) => SeenPart::Jobs(points::figure_errors(points)),
            FitData::Traced(traced) => {
                let read = traced.trace.rows[..traced.seen].iter().map(|row| row.op == Op::Read).collect();
                SeenPart::Trace(traced.file.clone(), read)
            }
        };
        SeenFigures(data.iter().map(part).collect())
    }

    fn figure_names(&self) -> Vec<String> {
        let names = |part: &SeenPart| match part {
            SeenPart::Jobs(figures) => figures.iter().map(|(name, ..)| name.clone()).collect(),
            SeenPart::Trace(file, _) => vec![format!("{file}: reads"), format!("{file}: writes")],
        };
        self.0.iter().flat_map(names).collect()
    }

    fn figure_count(&self) -> usize {
        self.figure_names().len()
    }

    /// The change of each figure as a share of it, and of all together in their standard errors.
    fn change_between(&self, here: &[SimulatedValue], there: &[SimulatedValue]) -> (Vec<f64>, f64) {
        let (mut at, mut effects, mut squares) = (0, Vec::new(), 0.0f64);
        for part in &self.0 {
            match part {
                SeenPart::Jobs(figures) => {
                    for (_, error, weight) in figures {
                        let by = (there[at].value - here[at].value).abs() / weight;
                        effects.push(by.exp_m1());
                        squares += (by / error).powi(2);
                        at += 1;
                    }
                }
                SeenPart::Trace(_, reads) => {
                    let (mut by, mut n) = ([0.0; 2], [0.0f64; 2]);
                    for read in reads {
                        let side = usize::from(!read);
                        by[side] += (there[at].value - here[at].value).abs();
                        n[side] += 1.0;
                        at += 1;
                    }
                    effects.extend([0, 1].map(|side| by[side] / n[side].max(1.0)));
                    squares += if by == [0.0; 2] { 0.0 } else { f64::INFINITY };
                }
            }
        }
        (effects, squares.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_counts_in_errors_of_its_figures_and_any_of_a_trace_counts() {
        let value = |value: f64| SimulatedValue { value, wait: 0.0 };
        let jobs = SeenFigures(vec![SeenPart::Jobs(vec![("a".to_owned(), 0.03, 1.0), ("b".to_owned(), 0.04, 0.5)])]);
        let (effects, strength) = jobs.change_between(&[value(0.0), value(0.0)], &[value(0.03), value(0.02)]);
        assert!((strength - 2f64.sqrt()).abs() < 1e-9, "{strength}");
        assert!((effects[0] - 0.03f64.exp_m1()).abs() < 1e-12 && (effects[1] - 0.04f64.exp_m1()).abs() < 1e-12);
        let trace = SeenFigures(vec![SeenPart::Trace("t".to_owned(), vec![true, false, true])]);
        let here = [1.0; 3].map(value);
        assert_eq!(trace.change_between(&here, &here), (vec![0.0, 0.0], 0.0));
        let (effects, strength) = trace.change_between(&here, &[value(1.0), value(1.0), value(1.5)]);
        assert_eq!((effects, strength), (vec![0.25, 0.0], f64::INFINITY));
    }
}
