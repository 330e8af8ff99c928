//! The effect of each key on the figures. Before the search every number is tried at both ends of its range and in the middle, every rule
//! with each of its choices, all others being the profile's. A key that moves nothing, or all figures together by less than their errors,
//! is left out of the search and named in the report.
//!
//! The figures of a trace are the mean times of its reads and its writes. A key that moves any of its times stays in, because thousands of
//! requests show small changes.

use super::data::FitData;
use super::evaluator::PointEvaluator;
use super::parameter::{Parameter, ParameterDomain};
use super::points::{self, FigureError};
use super::slope::SimulatedValue;
use seekwise_disk::block::Op;

/// Positions in its range at which a number is tried.
const POSITIONS: [f64; 3] = [0.0, 0.5, 1.0];

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
    /// The figure that a parameter moves most, and by which share; `None` if it moves nothing.
    pub(crate) fn largest_effect(&self, index: usize) -> Option<(&str, f64)> {
        let effects = self.effects[index].iter().enumerate().filter(|(_, effect)| **effect > 0.0);
        let (figure, effect) = effects.max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0)))?;
        Some((&self.figures[figure], *effect))
    }
}

impl Sensitivity {
    /// No effects yet of so many parameters on the seen figures of `data`.
    pub(crate) fn without_effects(data: &[FitData], parameter_count: usize) -> Sensitivity {
        let figures = SeenFigures::from_data(data);
        let effects = vec![vec![0.0; figures.figure_count()]; parameter_count];
        Sensitivity { figures: figures.figure_names(), effects, strengths: vec![0.0; parameter_count] }
    }
}

/// The values at which a parameter is tried.
fn trial_values(parameter: &Parameter) -> Vec<f64> {
    let values: Vec<f64> = match &parameter.form {
        ParameterDomain::Number(range) => POSITIONS.iter().map(|position| range.value_at(*position)).collect(),
        ParameterDomain::Choice(words) => (0..words.len()).map(|word| word as f64).collect(),
    };
    values.into_iter().filter(|value| *value != parameter.origin).collect()
}

/// Number of points that the measurement of effects tries, the first included.
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
    let Some(original) = evaluator.simulate_point(origin) else { return none };
    let (mut points, mut indices) = (Vec::new(), Vec::new());
    for (index, parameter) in evaluator.parameters.iter().enumerate() {
        for value in trial_values(parameter) {
            let mut other = origin.to_vec();
            other[index] = value;
            points.push(other);
            indices.push(index);
        }
    }
    let mut measured = none;
    for (values, index) in evaluator.simulate_points(&points).into_iter().zip(indices) {
        let Some(values) = values else { continue };
        let ChangeEffect { by_figure: effects, strength } = figures.effect_of_change(&original, &values);
        measured.effects[index].iter_mut().zip(effects).for_each(|(largest, effect)| *largest = largest.max(effect));
        measured.strengths[index] = measured.strengths[index].max(strength);
    }
    measured
}

/// A kind of the seen data.
enum SeenPart {
    /// The figures of jobs.
    Jobs(Vec<FigureError>),
    /// A trace by name, and whether each seen request is a read.
    Trace(String, Vec<bool>),
}

/// The effect of a change of one parameter.
#[derive(Debug, PartialEq)]
struct ChangeEffect {
    /// The change of each figure, as a share of it.
    by_figure: Vec<f64>,
    /// The change of all figures together, in their standard errors.
    strength: f64,
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
            SeenPart::Jobs(figures) => figures.iter().map(|figure| figure.name.clone()).collect(),
            SeenPart::Trace(file, _) => vec![format!("{file}: reads"), format!("{file}: writes")],
        };
        self.0.iter().flat_map(names).collect()
    }

    fn figure_count(&self) -> usize {
        self.figure_names().len()
    }

    fn effect_of_change(&self, before: &[SimulatedValue], after: &[SimulatedValue]) -> ChangeEffect {
        let (mut row, mut effects, mut squares) = (0, Vec::new(), 0.0f64);
        for part in &self.0 {
            match part {
                SeenPart::Jobs(figures) => {
                    for figure in figures {
                        let log_change = (after[row].value - before[row].value).abs() / figure.weight;
                        effects.push(log_change.exp_m1());
                        squares += (log_change / figure.error).powi(2);
                        row += 1;
                    }
                }
                SeenPart::Trace(_, reads) => {
                    // Of reads and of writes: the sum of changes, and the number of requests.
                    let (mut changes, mut counts) = ([0.0; 2], [0.0f64; 2]);
                    for is_read in reads {
                        let direction = usize::from(!is_read);
                        changes[direction] += (after[row].value - before[row].value).abs();
                        counts[direction] += 1.0;
                        row += 1;
                    }
                    effects.extend([0, 1].map(|direction| changes[direction] / counts[direction].max(1.0)));
                    squares += if changes == [0.0; 2] { 0.0 } else { f64::INFINITY };
                }
            }
        }
        ChangeEffect { by_figure: effects, strength: squares.sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_counts_in_errors_of_its_figures_and_any_of_a_trace_counts() {
        let value = |value: f64| SimulatedValue { value, wait: 0.0 };
        let figure = |name: &str, error, weight| FigureError { name: name.to_owned(), error, weight };
        let jobs = SeenFigures(vec![SeenPart::Jobs(vec![figure("a", 0.03, 1.0), figure("b", 0.04, 0.5)])]);
        let ChangeEffect { by_figure: effects, strength } =
            jobs.effect_of_change(&[value(0.0), value(0.0)], &[value(0.03), value(0.02)]);
        assert!((strength - 2f64.sqrt()).abs() < 1e-9, "{strength}");
        assert!((effects[0] - 0.03f64.exp_m1()).abs() < 1e-12 && (effects[1] - 0.04f64.exp_m1()).abs() < 1e-12);
        let trace = SeenFigures(vec![SeenPart::Trace("t".to_owned(), vec![true, false, true])]);
        let here = [1.0; 3].map(value);
        assert_eq!(trace.effect_of_change(&here, &here), ChangeEffect { by_figure: vec![0.0, 0.0], strength: 0.0 });
        let effect = trace.effect_of_change(&here, &[value(1.0), value(1.0), value(1.5)]);
        assert_eq!(effect, ChangeEffect { by_figure: vec![0.25, 0.0], strength: f64::INFINITY });
    }
}
