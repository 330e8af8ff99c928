//! The parameters of a fit to jobs, each with its prior. Other than with traces the arm, the rotation and the density may move whatever
//! their source: a datasheet's figure is tested, not believed.

use seekwise_drives::figure::{Figure, FigureOrigin, FigureValue, ZoneRow};
use seekwise_drives::key_names::figure;
use seekwise_drives::profile::DriveFile;

use super::draws;
use super::prior::{self, FitStage, NumberPrior};
use crate::fit::parameter::{FigureMark, Parameter, ParameterDomain, has_seek_table, movable_mark, rule_parameter};
use crate::fit::ranges::{self, ParameterRange};

/// A parameter with its prior.
#[derive(Clone, Debug)]
pub(crate) struct JobParameter {
    pub parameter: Parameter,
    /// The prior; `None` for a rule.
    pub prior: Option<NumberPrior>,
    pub stage: FitStage,
}

/// Physical figures that data may contradict whatever their source.
const TESTED: [&str; 4] = [
    figure::MECHANICS_SEEK_AVERAGE_MS,
    figure::MECHANICS_SEEK_FULL_MS,
    figure::MECHANICS_SEEK_SINGLE_MS,
    figure::MECHANICS_RPM,
];

/// Collects the parameters of a fit of `drive` to jobs: all that may move, or those with `only_keys` or below these sections.
pub(crate) fn collect_job_parameters(drive: &DriveFile, only_keys: &[String]) -> Vec<JobParameter> {
    let is_named = |key: &str| only_keys.iter().any(|name| key == name || key.starts_with(&format!("{name}.")));
    let is_chosen = |key: &str| only_keys.is_empty() || is_named(key);
    let mut all: Vec<JobParameter> = Vec::new();
    for figure in drive.figures().filter(|figure| is_chosen(figure.key)) {
        let mark = movable_mark(drive, figure).unwrap_or(FigureMark::Stated);
        match &figure.value {
            FigureValue::Zones(rows) => all.extend(density_parameter(rows, mark)),
            FigureValue::Points(_) if figure.key == figure::MECHANICS_SEEK_POINTS && has_seek_table(drive) => {
                all.extend(table_parameters(figure, mark));
            }
            _ if figure.key == figure::LINK_RATE_MB_S && only_keys.is_empty() => {
                all.extend(link_parameter(drive, figure, mark));
            }
            FigureValue::Whole(_) | FigureValue::Number(_)
                if ranges::find_rule(figure.key).is_none() || ranges::range_for_key(figure.key, 1.0).is_some() =>
            {
                all.extend(number_parameter(drive, figure, mark, is_named(figure.key)));
            }
            value if mark != FigureMark::Stated || is_named(figure.key) => {
                all.extend(job_rule(rule_parameter(figure.key, Some(value), mark)));
            }
            _ => {}
        }
    }
    let absent = ranges::RULES.iter().map(|rule| rule.key).filter(|key| drive.figure(key).is_none() && is_chosen(key));
    all.extend(absent.filter_map(|key| job_rule(rule_parameter(key, None, FigureMark::Absent))));
    add_choices_of_catalogue(drive, &mut all);
    all
}

/// Adds what drives of the catalogue have to the choices of rules, so that each drive's rules can be tried together.
fn add_choices_of_catalogue(drive: &DriveFile, all: &mut [JobParameter]) {
    let donors = draws::donors(drive);
    for Parameter { key, form, .. } in all.iter_mut().map(|it| &mut it.parameter) {
        let (Some(_), ParameterDomain::Choice(words)) = (ranges::find_rule(key), form) else { continue };
        for word in donors.iter().filter_map(|donor| Some(donor.figure(key)?.value.to_string())) {
            if !words.contains(&word) {
                words.push(word);
            }
        }
    }
}

/// Attained rates of links in MB/s: parallel ATA (33, 66, 100 and 133 MB/s) and SATA 1.5 Gb/s at the share of 0.88 that was measured on one;
/// SATA 3 and 6 Gb/s and SAS 12 Gb/s less 8 % for frames.
const LINK_RATES: [&str; 8] = ["29.4", "58.8", "88.25", "117.7", "132.4", "275", "550", "1100"];

/// The link as a choice: its generations are few, and a stream above what the profile's link carries is of another one.
fn link_parameter(drive: &DriveFile, figure: &Figure, mark: FigureMark) -> Option<JobParameter> {
    let own = drive.number(figure.key)?;
    // A rate beside the profile's own is the same generation.
    let mut words: Vec<String> = vec![figure.value.to_string()];
    let is_other = |word: &str| word.parse().is_ok_and(|rate: f64| !(0.8..1.25).contains(&(rate / own)));
    words.extend(LINK_RATES.iter().filter(|word| is_other(word)).map(|word| (*word).to_owned()));
    let (name, key, form) = (figure.key.to_owned(), figure.key, ParameterDomain::Choice(words));
    let parameter = Parameter { name, key, bend: None, form, origin: 0.0, marked: mark };
    Some(JobParameter { stage: FitStage::Streams, prior: None, parameter })
}

fn job_rule(parameter: Option<Parameter>) -> Option<JobParameter> {
    parameter.map(|parameter| JobParameter { stage: prior::stage_of_rule(parameter.key), prior: None, parameter })
}

fn number_job_parameter(figure: &Figure, origin: f64, prior: NumberPrior, mark: FigureMark) -> JobParameter {
    let (name, key, form) = (figure.key.to_owned(), figure.key, ParameterDomain::Number(prior.range));
    let parameter = Parameter { name, key, bend: None, form, origin, marked: mark };
    JobParameter { parameter, prior: Some(prior), stage: prior.stage }
}

fn number_parameter(drive: &DriveFile, figure: &Figure, mark: FigureMark, named: bool) -> Option<JobParameter> {
    let origin = drive.number(figure.key)?;
    // A figure that the user names may move like an inferred one.
    let kind = if named { FigureOrigin::Inferred } else { figure.kind };
    let is_stated = mark == FigureMark::Stated && !TESTED.contains(&figure.key) && !named;
    let prior = prior::number_prior(drive, figure.key, origin, kind)
        .or_else(|| ranges::range_for_key(figure.key, origin).filter(|_| named).map(flat_prior));
    prior.filter(|_| !is_stated).map(|prior| number_job_parameter(figure, origin, prior, mark))
}

/// The prior of a figure that only its name has brought here: anything in its range.
fn flat_prior(range: ParameterRange) -> NumberPrior {
    let width = if range.log { (range.high / range.low).ln() } else { range.high - range.low };
    NumberPrior { range, deviation: width, stage: FitStage::Streams }
}

/// The density, as a factor on the sectors of every track; `None` where tracks are listed one by one.
fn density_parameter(rows: &[ZoneRow], mark: FigureMark) -> Option<JobParameter> {
    let is_plain = |row: &ZoneRow| row.band.is_none() && row.spt.len() == 1 && row.offset.is_none() && row.gap == 0;
    if !rows.iter().all(is_plain) {
        return None;
    }
    let (key, prior) = (figure::GEOMETRY_ZONES, prior::DENSITY);
    let form = ParameterDomain::Number(prior.range);
    let parameter = Parameter { name: format!("{key} (density)"), key, bend: None, form, origin: 1.0, marked: mark };
    Some(JobParameter { parameter, prior: Some(prior), stage: prior.stage })
}

/// A table of seek times moves as a whole, by a factor, and at its shortest distance.
fn table_parameters(figure: &Figure, mark: FigureMark) -> [JobParameter; 2] {
    let (scale, shift) = (prior::table_scale_prior(figure.kind), prior::SHORTEST_SEEK);
    let mut of_scale = number_job_parameter(figure, 1.0, scale, mark);
    of_scale.parameter.name = format!("{} (factor)", figure.key);
    let mut of_shift = number_job_parameter(figure, 0.0, shift, mark);
    (of_shift.parameter.name, of_shift.parameter.bend) = (format!("{} (shortest)", figure.key), Some(0));
    [of_scale, of_shift]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    #[test]
    fn stated_seeks_may_move_and_stated_electronics_may_not() {
        let drive = catalogue::load_drive("barracuda-7200.7-ncq").unwrap();
        let all = collect_job_parameters(&drive, &[]);
        let names: Vec<&str> = all.iter().map(|it| it.parameter.name.as_str()).collect();
        for name in ["mechanics.seek.average_ms", "mechanics.rpm", "geometry.zones (density)", "firmware.queue.policy"]
        {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        assert!(!names.iter().any(|name| ["link.command_ms", "cache.size_kib"].contains(name)), "{names:?}");
        let link = all.iter().find(|it| it.parameter.key == "link.rate_mb_s").unwrap();
        let words = ["132.4", "29.4", "58.8", "88.25", "275", "550", "1100"];
        assert_eq!(link.parameter.form, ParameterDomain::Choice(words.map(str::to_owned).to_vec()));
        let only = collect_job_parameters(&drive, &["link.rate_mb_s".to_owned()]);
        assert_eq!(only.iter().map(|it| it.parameter.key).collect::<Vec<_>>(), ["link.rate_mb_s"]);
    }

    /// A drive whose rules are those of another one of the catalogue must be within reach of one change.
    #[test]
    fn the_rules_of_every_drive_like_it_can_be_tried_together() {
        let drive = catalogue::load_drive("travelstar-5k250-160").unwrap();
        let all = collect_job_parameters(&drive, &[]);
        let families = draws::rule_families(&drive, &all);
        let of_queues = families.iter().filter(|family| family.stage == FitStage::Queue);
        assert_eq!(of_queues.count(), draws::donors(&drive).len());
        let nearest = all.iter().position(|it| it.parameter.key == "firmware.queue.nearest").unwrap();
        let has_three =
            |(index, value): &(usize, f64)| *index == nearest && all[nearest].parameter.format_value(*value) == "3";
        assert!(families.iter().any(|family| family.change.iter().any(has_three)), "the Barracuda's nearest of three");
    }
}
