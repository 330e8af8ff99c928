//! Figures that ended at an end of their range. A range covers what a figure of its kind can be; data that ask for more ask for something
//! else: a rule that the drive has, and the profile or the model lacks. The measurement that gains most from the figure's change hints at
//! that rule.

use seekwise_disk::block::Op;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::profile::{DriveFile, ReadingCache};
use serde::Serialize;

use super::FitResult;
use super::data::FitData;
use super::parameter::{Parameter, apply_point};

/// A figure at the end of its range.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StrainedFigure {
    pub name: String,
    pub value: String,
    /// At the least that it can be, else at the most.
    pub least: bool,
    /// The measurement that its change improves most, and the error without and with the change, in percent; nothing if none improves.
    pub pays: Option<(String, f64, f64)>,
}

impl StrainedFigure {
    /// The warning, in a sentence.
    pub(crate) fn warning_text(&self) -> String {
        let end = if self.least { "least" } else { "most" };
        let (name, value) = (&self.name, &self.value);
        let pays = self.pays.as_ref().map_or(String::new(), |(what, without, with)| {
            format!(
                " It serves `{what}` above all, which is {without:.1} % off without its change and {with:.1} % with it."
            )
        });
        format!(
            "{name} ended at the end of its range: {value} is the {end} that such a figure can be.{pays} It probably pays for a \
             rule that the drive has and its profile or the model lacks"
        )
    }
}

/// The end of its range that a value is at: true for the least; `None` at neither.
pub(crate) fn range_end(parameter: &Parameter, value: f64) -> Option<bool> {
    if let Some(range) = parameter.range() {
        let ends = [range.round(range.low), range.round(range.high)];
        return ends.iter().position(|end| *end == value).map(|place| place == 0);
    }
    // A numeric rule ends only at its most: 0 often means all.
    let numbers = parameter.numeric_choices()?;
    let most = numbers.iter().copied().fold(f64::MIN, f64::max);
    (numbers.len() > 2 && numbers[value as usize] == most).then_some(false)
}

/// The figures of a fit that are at an end of their range.
pub(crate) fn strained_figures(
    drive: &DriveFile,
    data: &[FitData],
    fitted: &FitResult,
    cache: &ReadingCache,
) -> Result<Vec<StrainedFigure>, Vec<Diagnostic>> {
    let mut all = Vec::new();
    for (index, parameter) in fitted.parameters.iter().enumerate() {
        let value = fitted.point[index];
        let Some(least) = range_end(parameter, value).filter(|_| value != parameter.origin) else { continue };
        let mut without = fitted.point.clone();
        without[index] = parameter.origin;
        let errors = |point: &[f64]| -> Result<Vec<(String, f64)>, Vec<Diagnostic>> {
            let drive = apply_point(drive, &fitted.parameters, point)?;
            let parts: Result<Vec<_>, _> = data.iter().map(|data| figure_errors(data, &drive, cache)).collect();
            parts.map(|parts| parts.concat())
        };
        let (with, without) = (errors(&fitted.point)?, errors(&without)?);
        let gains = with.into_iter().zip(without).map(|((what, with), (_, without))| (what, without, with));
        let pays = gains.max_by(|a, b| (a.1 - a.2).total_cmp(&(b.1 - b.2))).filter(|(_, without, with)| without > with);
        all.push(StrainedFigure { name: parameter.name.clone(), value: parameter.format_value(value), least, pays });
    }
    Ok(all)
}

/// Errors of each figure of jobs, and the mean distance of the times of reads and of writes from those measured, in percent of these.
fn figure_errors(
    data: &FitData,
    drive: &DriveFile,
    cache: &ReadingCache,
) -> Result<Vec<(String, f64)>, Vec<Diagnostic>> {
    let mut all = Vec::new();
    match data {
        FitData::Points(points) => {
            for point in points {
                for (figure, simulated) in point.figures.iter().zip(point.simulate_figures(drive, cache)?) {
                    let off = 100.0 * (simulated / figure.measured - 1.0).abs();
                    all.push((format!("{}: {}", point.what, figure.name), off));
                }
            }
        }
        FitData::Traced(traced) => {
            let samples = traced.response_samples(drive, cache)?;
            for (op, word) in [(Op::Read, "reads"), (Op::Write, "writes")] {
                let (mut off, mut sum) = (0.0, 0.0);
                for (row, (measured, simulated)) in samples.measured.iter().zip(&samples.simulated).enumerate() {
                    if samples.read[row] == (op == Op::Read) {
                        off += measured.nanos().abs_diff(simulated.nanos()) as f64;
                        sum += measured.nanos() as f64;
                    }
                }
                if sum > 0.0 {
                    all.push((format!("{}: {word}", traced.file), 100.0 * off / sum));
                }
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::parameter::{FigureMark, ParameterDomain};
    use crate::fit::ranges;

    #[test]
    fn ends_are_those_of_the_range_and_of_a_rule_the_most() {
        let of = |form| Parameter {
            name: "x".to_owned(),
            key: "overhead.write_hit_ms",
            bend: None,
            form,
            origin: 0.1,
            marked: FigureMark::Inferred,
        };
        let number = of(ParameterDomain::Number(ranges::range_for_key("overhead.write_hit_ms", 0.121).unwrap()));
        assert_eq!([0.0, 0.121, 2.742].map(|value| range_end(&number, value)), [Some(true), None, Some(false)]);
        let words = |words: &[&str]| of(ParameterDomain::Choice(words.iter().map(|word| (*word).to_owned()).collect()));
        let among = words(&["0", "1", "2", "32"]);
        assert_eq!([0.0, 2.0, 3.0].map(|value| range_end(&among, value)), [None, None, Some(false)]);
        assert_eq!(range_end(&words(&["fcfs", "sptf"]), 1.0), None);
        let says = StrainedFigure {
            name: "overhead.write_hit_ms".to_owned(),
            value: "2.742".to_owned(),
            least: false,
            pays: Some(("randwrite 4k, depth 8: iops".to_owned(), 31.0, 4.0)),
        };
        assert!(
            says.warning_text()
                .contains("2.742 is the most that such a figure can be. It serves `randwrite 4k, depth 8: iops`")
        );
    }
}
