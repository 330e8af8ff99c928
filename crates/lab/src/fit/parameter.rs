//! The parameters of a fit: the uncertain figures of a profile, each within a range, and its rules as choices. A point has one value for
//! each parameter; its drive is the profile with the values that differ.
//!
//! Ranges are in [`super::ranges`]. No data are looked at here: the search finds out which parameters affect the loss.

use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::figure::{Figure, FigureOrigin, FigureValue};
use seekwise_drives::key_names::figure;
use seekwise_drives::profile::DriveFile;
use serde::Serialize;

use super::density;
use super::interval::ValueInterval;
use super::ranges::{self, ParameterRange, RuleChoices};

/// The bends of a seek curve, where a correction is a parameter: at the shortest distance, at a quarter of the longest, at the longest.
/// Between them the correction is straight over the root of the distance, because a seek takes a time proportional to the root of its
/// distance while the arm accelerates.
pub(crate) const BENDS: [&str; 3] = ["shortest", "quarter", "longest"];

/// The share of the longest distance at which the middle bend lies: its root is a half.
const QUARTER: f64 = 0.25;

/// A number whose interval is wider than this share of its range is not determined.
const WIDE: f64 = 0.5;

/// The origin of the figure that a parameter moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FigureMark {
    /// Extracted by another program and imported.
    Imported,
    /// Inferred from something else.
    Inferred,
    /// Inferred, and called provisional.
    Provisional,
    /// From an earlier fit.
    Fitted,
    /// Absent from the profile; its default is moved.
    Absent,
    /// Measured or stated, and named by the user.
    Named,
    /// Measured or stated, and tested by the data.
    Stated,
}

impl FigureMark {
    /// The word, as in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            FigureMark::Imported => "imported",
            FigureMark::Inferred => "inferred",
            FigureMark::Provisional => "provisional",
            FigureMark::Fitted => "fitted",
            FigureMark::Absent => "absent",
            FigureMark::Named => "named",
            FigureMark::Stated => "stated",
        }
    }
}

/// The values of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterDomain {
    Number(ParameterRange),
    /// A choice of these words; a point has the index.
    Choice(Vec<String>),
}

/// A parameter of a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The key; of a seek curve with the name of the bend.
    pub name: String,
    /// The profile's key.
    pub key: &'static str,
    /// Of a seek curve the index of the bend in `BENDS`.
    pub bend: Option<usize>,
    pub form: ParameterDomain,
    /// The value in the profile.
    pub origin: f64,
    /// The origin of the figure.
    pub marked: FigureMark,
}

impl Parameter {
    /// Formats a value.
    pub fn format_value(&self, value: f64) -> String {
        match &self.form {
            ParameterDomain::Number(range) => range.format_value(value),
            ParameterDomain::Choice(words) => words[value as usize].clone(),
        }
    }

    /// The range, if the parameter is a number.
    pub fn range(&self) -> Option<&ParameterRange> {
        if let ParameterDomain::Number(range) = &self.form { Some(range) } else { None }
    }

    /// True if `interval` is so wide that the number is hardly determined.
    pub(crate) fn is_wide_interval(&self, interval: Option<ValueInterval>) -> bool {
        let interval_and_range = interval.zip(self.range());
        interval_and_range.is_some_and(|((low, high), range)| range.position_of(high) - range.position_of(low) > WIDE)
    }

    /// The choices as numbers, if the parameter is a numeric rule.
    pub(crate) fn numeric_choices(&self) -> Option<Vec<f64>> {
        if let ParameterDomain::Choice(words) = &self.form {
            words.iter().map(|word| word.parse().ok()).collect()
        } else {
            None
        }
    }
}

/// Collects the parameters of `drive`: all that may move, or those with `only_keys` (or below these sections), whatever their origin.
pub fn collect_parameters(drive: &DriveFile, only_keys: &[String]) -> Vec<Parameter> {
    let is_named = |key: &str| only_keys.iter().any(|name| key == name || key.starts_with(&format!("{name}.")));
    let mark_if_chosen = |key: &str, mark: Option<FigureMark>| {
        if only_keys.is_empty() { mark } else { is_named(key).then_some(mark.unwrap_or(FigureMark::Named)) }
    };
    let mut all = Vec::new();
    for figure in drive.figures() {
        let Some(mark) = mark_if_chosen(figure.key, movable_mark(drive, figure)) else { continue };
        match &figure.value {
            FigureValue::Points(points) if figure.key == figure::MECHANICS_SEEK_POINTS && has_seek_table(drive) => {
                all.extend(seek_bend_parameters(points, mark))
            }
            _ => all.extend(
                number_parameter(drive, figure, mark).or_else(|| rule_parameter(figure.key, Some(&figure.value), mark)),
            ),
        }
    }
    let absent = ranges::RULES.iter().map(|rule| rule.key).filter(|key| drive.figure(key).is_none());
    all.extend(absent.filter_map(|key| rule_parameter(key, None, mark_if_chosen(key, Some(FigureMark::Absent))?)));
    all
}

/// A point of a seek curve: a distance in cylinders, and the time of a seek over it.
type DistanceAndMs = (u32, f64);

pub(super) fn has_seek_table(drive: &DriveFile) -> bool {
    drive.figure(figure::MECHANICS_SEEK_FORM).is_some_and(|form| form.value == FigureValue::Word("table".to_owned()))
}

/// The origin of a figure if it may move without being named.
pub(super) fn movable_mark(drive: &DriveFile, figure: &Figure) -> Option<FigureMark> {
    let cites = |name: &str| drive.sources.get(name).is_some_and(|text| figure.source.starts_with(text.as_str()));
    match figure.kind {
        FigureOrigin::Inferred if figure.source.starts_with("provisional") => Some(FigureMark::Provisional),
        FigureOrigin::Inferred => Some(FigureMark::Inferred),
        FigureOrigin::Fitted => Some(FigureMark::Fitted),
        FigureOrigin::Measured if cites("disksim") => Some(FigureMark::Imported),
        FigureOrigin::Measured if cites("fit") => Some(FigureMark::Fitted),
        _ => None,
    }
}

fn number_parameter(drive: &DriveFile, figure: &Figure, mark: FigureMark) -> Option<Parameter> {
    let origin = drive.number(figure.key)?;
    let range = ranges::range_for_key(figure.key, origin)?;
    let (name, key) = (figure.key.to_owned(), figure.key);
    Some(Parameter { name, key, bend: None, form: ParameterDomain::Number(range), origin, marked: mark })
}

fn seek_bend_parameters(curve: &[DistanceAndMs], mark: FigureMark) -> Vec<Parameter> {
    let longest = curve.iter().map(|point| point.0).max().unwrap_or(1);
    let seek_ms = |share: f64| {
        let distance = share * f64::from(longest);
        curve.iter().find(|point| f64::from(point.0) >= distance).map_or(0.0, |point| point.1)
    };
    let parameter = |(index, bend_name): (usize, &&str)| Parameter {
        name: format!("{} ({bend_name})", figure::MECHANICS_SEEK_POINTS),
        key: figure::MECHANICS_SEEK_POINTS,
        bend: Some(index),
        form: ParameterDomain::Number(ranges::bend_range(seek_ms([0.0, QUARTER, 1.0][index]))),
        origin: 0.0,
        marked: mark,
    };
    BENDS.iter().enumerate().map(parameter).collect()
}

pub(super) fn rule_parameter(key: &'static str, value: Option<&FigureValue>, mark: FigureMark) -> Option<Parameter> {
    let RuleChoices { default, choices, .. } = ranges::find_rule(key)?;
    let mut words: Vec<String> = choices.iter().map(|word| (*word).to_owned()).collect();
    let present = value.map_or_else(|| (*default).to_owned(), ToString::to_string);
    if !words.contains(&present) {
        words.push(present.clone());
    }
    let origin = words.iter().position(|word| *word == present)? as f64;
    let form = ParameterDomain::Choice(words);
    Some(Parameter { name: key.to_owned(), key, bend: None, form, origin, marked: mark })
}

/// The profile's own point: every parameter at its value there.
pub fn original_point(parameters: &[Parameter]) -> Vec<f64> {
    parameters.iter().map(|parameter| parameter.origin).collect()
}

/// The settings of a point that differ from the profile: keys, and values as texts.
pub fn changed_settings(drive: &DriveFile, parameters: &[Parameter], point: &[f64]) -> Vec<(&'static str, String)> {
    let moved = || parameters.iter().zip(point).filter(|(parameter, value)| parameter.origin != **value);
    let is_of_a_table = |key: &str| [figure::MECHANICS_SEEK_POINTS, figure::GEOMETRY_ZONES].contains(&key);
    let mut all: Vec<(&'static str, String)> = moved()
        .filter(|(parameter, _)| !is_of_a_table(parameter.key))
        .map(|(parameter, value)| (parameter.key, parameter.format_value(*value)))
        .collect();
    let (mut corrections, mut factor, mut density) = ([0.0; 3], 1.0, 1.0);
    for (parameter, value) in moved().filter(|(parameter, _)| is_of_a_table(parameter.key)) {
        match parameter.bend {
            Some(bend) => corrections[bend] = *value,
            None if parameter.key == figure::GEOMETRY_ZONES => density = *value,
            None => factor = *value,
        }
    }
    if density != 1.0 {
        all.extend(density::zones_setting(drive, density));
    }
    if (corrections, factor, density) != ([0.0; 3], 1.0, 1.0)
        && has_seek_table(drive)
        && let Some(Figure { value: FigureValue::Points(points), .. }) = drive.figure(figure::MECHANICS_SEEK_POINTS)
    {
        let mut curve: Vec<DistanceAndMs> =
            points.iter().map(|&(distance, ms)| (density::moved_distance(distance, density), factor * ms)).collect();
        // On fewer cylinders several short distances become one.
        curve.dedup_by_key(|point| point.0);
        let rows: Vec<String> =
            bend_seek_curve(&curve, corrections).iter().map(|(distance, ms)| format!("[{distance}, {ms}]")).collect();
        all.push((figure::MECHANICS_SEEK_POINTS, format!("[{}]", rows.join(", "))));
    }
    all
}

/// A seek curve with corrections at the three bends, rounded to whole microseconds.
pub(crate) fn bend_seek_curve(curve: &[DistanceAndMs], corrections_ms: [f64; 3]) -> Vec<DistanceAndMs> {
    let [short, quarter, long] = corrections_ms;
    let longest = f64::from(curve.iter().map(|point| point.0).max().unwrap_or(1).max(1));
    let correction = |distance: u32| {
        let root = 2.0 * (f64::from(distance) / longest).sqrt();
        if root <= 1.0 { short + (quarter - short) * root } else { quarter + (long - quarter) * (root - 1.0) }
    };
    let bent_point = |&(distance, ms): &DistanceAndMs| {
        let bent = if distance == 0 { ms } else { (ms + correction(distance)).max(0.0) };
        (distance, (bent * 1e3).round() / 1e3)
    };
    curve.iter().map(bent_point).collect()
}

/// Makes the drive of a point.
pub fn drive_at_point(
    drive: &DriveFile,
    parameters: &[Parameter],
    point: &[f64],
) -> Result<DriveFile, Vec<Diagnostic>> {
    let mut moved = drive.clone();
    for (key, text) in changed_settings(drive, parameters, point) {
        moved.set(key, &text)?;
    }
    Ok(moved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    #[test]
    fn what_is_stated_stays_unless_it_is_named() {
        let drive = catalogue::load_drive("barracuda-7200.7-ncq").unwrap();
        let kind = |key: &str| drive.figure(key).map(|figure| figure.kind);
        let free = collect_parameters(&drive, &[]);
        assert!(free.len() > 10);
        for parameter in &free {
            assert!(
                !matches!(kind(parameter.key), Some(FigureOrigin::Datasheet | FigureOrigin::Measured)),
                "{parameter:?}"
            );
        }
        let named = collect_parameters(&drive, &["mechanics.rpm".to_owned()]);
        assert_eq!(named.iter().map(|p| (p.key, p.marked)).collect::<Vec<_>>(), [("mechanics.rpm", FigureMark::Named)]);
        let section = collect_parameters(&drive, &["overhead".to_owned()]);
        assert!(section.len() > 3 && section.iter().all(|p| p.key.starts_with("overhead.")));
    }

    #[test]
    fn the_point_of_origin_is_the_drive_itself() {
        let drive = catalogue::load_drive("atlas-10k-v-300").unwrap();
        let parameters = collect_parameters(&drive, &[]);
        assert_eq!(drive_at_point(&drive, &parameters, &original_point(&parameters)).unwrap(), drive);
    }

    #[test]
    fn a_bent_curve_is_off_by_what_is_said_and_straight_over_the_root_between() {
        let points = [(0, 0.0), (1, 1.0), (25, 3.0), (100, 5.0)];
        assert_eq!(bend_seek_curve(&points, [0.0; 3]), points);
        let found = bend_seek_curve(&points, [0.1, 0.3, -0.2]);
        // At 1 of 100 the root is 0.1, a fifth of the way to the quarter: 0.1 + 0.2 · 0.2 = 0.14.
        assert_eq!(found, [(0, 0.0), (1, 1.14), (25, 3.3), (100, 4.8)]);
    }

    /// A bend may move by 15 % of the curve there, and by half a millisecond: where the curve begins, at the first point
    /// from a quarter of the longest distance on, and where it ends.
    #[test]
    fn a_bend_moves_by_a_share_of_the_curve_at_its_own_place() {
        let most = |points: &[(u32, f64)]| -> Vec<f64> {
            let bends = seek_bend_parameters(points, FigureMark::Inferred);
            let names: Vec<&str> = bends.iter().map(|bend| bend.name.as_str()).collect();
            assert_eq!(names, BENDS.map(|place| format!("mechanics.seek.points ({place})")));
            let at: Vec<(Option<usize>, f64)> = bends.iter().map(|bend| (bend.bend, bend.origin)).collect();
            assert_eq!(at, [0, 1, 2].map(|at| (Some(at), 0.0)));
            let ranges = bends.iter().map(|bend| *bend.range().unwrap());
            ranges.inspect(|range| assert_eq!(range.low, -range.high)).map(|range| range.high).collect()
        };
        let near = |found: Vec<f64>, by_hand: [f64; 3]| {
            let close = found.iter().zip(by_hand).all(|(found, by_hand)| (found - by_hand).abs() < 1e-12);
            assert!(close && found.len() == 3, "{found:?}, by hand {by_hand:?}");
        };
        near(most(&[(1, 2.0), (24, 3.0), (25, 4.0), (100, 10.0)]), [0.8, 1.1, 2.0]);
        near(most(&[(1, 2.0), (24, 3.0), (26, 6.0), (100, 10.0)]), [0.8, 1.4, 2.0]);
        near(most(&[(1, 2.0), (400, 20.0)]), [0.8, 3.5, 3.5]);
    }
}
