//! Fitted figures at an end of their range. A range covers what a figure of its kind can be. Data that pull a figure to an end ask for
//! something else: a rule that the drive has, and the profile or the model lacks. The measurement that gains most from the figure's change
//! hints at that rule.

use seekwise_disk::block::Op;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::profile::{DriveFile, ReadingCache};
use serde::Serialize;

use super::FitResult;
use super::data::FitData;
use super::parameter::{Parameter, drive_at_point};

/// A figure at the end of its range.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StrainedFigure {
    pub name: String,
    pub value: String,
    /// True at the least value that it can have, false at the largest.
    pub least: bool,
    /// The measurement that its change improves most, and the error without and with the change, in per cent; nothing if none improves.
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

/// An end of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RangeEnd {
    Least,
    Most,
}

impl RangeEnd {
    pub const fn word(self) -> &'static str {
        match self {
            RangeEnd::Least => "least",
            RangeEnd::Most => "most",
        }
    }
}

/// The end of its range that a value has reached; `None` at neither.
pub(crate) fn reached_range_end(parameter: &Parameter, value: f64) -> Option<RangeEnd> {
    if let Some(range) = parameter.range() {
        let ends = [(RangeEnd::Least, range.low), (RangeEnd::Most, range.high)];
        return ends.into_iter().find(|(_, limit)| range.round_to_step(*limit) == value).map(|(end, _)| end);
    }
    // A numeric rule ends only at its largest choice: 0 often means all.
    let numbers = parameter.numeric_choices()?;
    let largest = numbers.iter().copied().fold(f64::MIN, f64::max);
    (numbers.len() > 2 && numbers[value as usize] == largest).then_some(RangeEnd::Most)
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
        let Some(end) = reached_range_end(parameter, value).filter(|_| value != parameter.origin) else { continue };
        let mut point_without = fitted.point.clone();
        point_without[index] = parameter.origin;
        let errors = |point: &[f64]| -> Result<Vec<(String, f64)>, Vec<Diagnostic>> {
            let drive = drive_at_point(drive, &fitted.parameters, point)?;
            let parts: Result<Vec<_>, _> = data.iter().map(|data| figure_errors_percent(data, &drive, cache)).collect();
            parts.map(|parts| parts.concat())
        };
        let (with, without) = (errors(&fitted.point)?, errors(&point_without)?);
        let gains = with.into_iter().zip(without).map(|((what, with), (_, without))| (what, without, with));
        let pays = gains.max_by(|a, b| (a.1 - a.2).total_cmp(&(b.1 - b.2))).filter(|(_, without, with)| without > with);
        let (name, value) = (parameter.name.clone(), parameter.format_value(value));
        all.push(StrainedFigure { name, value, least: end == RangeEnd::Least, pays });
    }
    Ok(all)
}

/// The error of each figure in per cent: of jobs, and of a trace the mean distance of the times of its reads and of its writes.
fn figure_errors_percent(
    data: &FitData,
    drive: &DriveFile,
    cache: &ReadingCache,
) -> Result<Vec<(String, f64)>, Vec<Diagnostic>> {
    let mut all = Vec::new();
    match data {
        FitData::Points(points) => {
            for point in points {
                for (figure, simulated) in point.figures.iter().zip(point.simulate_figures(drive, cache)?) {
                    let percent = 100.0 * (simulated / figure.measured - 1.0).abs();
                    all.push((format!("{}: {}", point.what, figure.name), percent));
                }
            }
        }
        FitData::Traced(traced) => {
            let samples = traced.response_samples(drive, cache)?;
            for (op, word) in [(Op::Read, "reads"), (Op::Write, "writes")] {
                let (mut distance, mut measured_sum) = (0.0, 0.0);
                for (row, (measured, simulated)) in samples.measured.iter().zip(&samples.simulated).enumerate() {
                    if samples.read[row] == (op == Op::Read) {
                        distance += measured.nanos().abs_diff(simulated.nanos()) as f64;
                        measured_sum += measured.nanos() as f64;
                    }
                }
                if measured_sum > 0.0 {
                    all.push((format!("{}: {word}", traced.file), 100.0 * distance / measured_sum));
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
        assert_eq!(
            [0.0, 0.121, 2.742].map(|value| reached_range_end(&number, value)),
            [Some(RangeEnd::Least), None, Some(RangeEnd::Most)]
        );
        let words = |words: &[&str]| of(ParameterDomain::Choice(words.iter().map(|word| (*word).to_owned()).collect()));
        let among = words(&["0", "1", "2", "32"]);
        assert_eq!([0.0, 2.0, 3.0].map(|value| reached_range_end(&among, value)), [None, None, Some(RangeEnd::Most)]);
        assert_eq!(reached_range_end(&words(&["fcfs", "sptf"]), 1.0), None);
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
