//! Drives that meet the data as well as the fitted one: for predictions that carry what is not known. Numbers scatter by their covariance,
//! rules by how well each other choice meets the data. Keys that no data touch (the write cache, if nothing was written) come from drives of
//! the catalogue with the same kind of link: what other makers chose is what can be expected.

use nalgebra::{DMatrix, DVector};
use seekwise_disk::rng::{Rng, Seed};
use seekwise_drives::figure::FigureValue;
use seekwise_drives::key_names::figure;
use seekwise_drives::profile::DriveFile;

use super::descent::{Descent, PointSlopes, RuleFamily, TriedPoint};
use super::parameters::JobParameter;
use super::prior::{self, FitStage};
use crate::catalogue;
use crate::fit::parameter::{Parameter, ParameterDomain, changed_settings};
use crate::fit::points::normal_deviate;
use crate::fit::ranges;
use crate::stats::t_quantile;

/// Drives that a profile carries: the range of 20 covers a further one with a probability of 19/21, about 90 %.
pub const DRAWS: usize = 20;

/// Points from which intervals are taken.
const SAMPLES: usize = 4000;

/// The share of samples below and above an interval: it has 95 of 100.
const OUTSIDE: f64 = 0.025;

/// Misfits above the best within which another choice of a rule is an alternative: a weight of 1/400.
const ALTERNATIVE: f64 = 12.0;

/// Neighbours of the fitted point that are tried, and their distance in standard deviations: a misfit without jumps is the same there.
const NEIGHBOURS: u64 = 9;
const NEAR: f64 = 0.1;

/// Distances at which a draw is tried, in standard deviations, until the data do not clearly refuse one: a straight step in many figures often
/// leaves a bent valley, another of the same length may not.
const SPREADS: [f64; 6] = [1.0, 1.0, 0.7, 0.7, 0.5, 0.25];

/// A point that may be the drive, with its weight.
struct Centre {
    point: Vec<f64>,
    weight: f64,
}

/// Points that may be the drive.
pub(crate) struct Posterior {
    centres: Vec<Centre>,
    /// The numbers that scatter, and the Cholesky factor of their covariance.
    numbers: Vec<usize>,
    factor: DMatrix<f64>,
    /// By how much Student's t with as many observations as the scatter stands on is wider than a normal deviate.
    widening: f64,
    /// By how much the fitted point's misfit is less than that of its neighbours.
    luck: f64,
}

impl Posterior {
    /// The points around the fitted one, whose slopes are given; the scatter stands on `observations`.
    pub(crate) fn around(
        descent: &Descent<'_, '_>,
        best: &TriedPoint,
        slopes: PointSlopes,
        observations: f64,
    ) -> Option<Posterior> {
        let until = FitStage::Writes;
        // Numbers without slopes scatter by their priors.
        let (mut numbers, mut columns) = (slopes.numbers.clone(), slopes.columns.clone());
        for number in descent.numbers_until(until).into_iter().filter(|number| !slopes.numbers.contains(number)) {
            numbers.push(number);
            columns.push(vec![0.0; best.residuals.len()]);
        }
        let position = descent.position_of(&best.point);
        let spans: Vec<f64> = numbers.iter().map(|number| 2.0 * descent.difference(*number)).collect();
        let system = (&numbers[..], &columns[..]);
        let factor = descent.misfit.covariance_factor(&best.residuals, &position, system, &spans)?;
        let widening = t_quantile(OUTSIDE, observations.max(2.0)) / NORMAL_QUANTILE;
        let fitted = Centre { point: best.point.clone(), weight: 1.0 };
        let mut posterior = Posterior { centres: vec![fitted], numbers, factor, widening, luck: 0.0 };
        posterior.luck = posterior.luck_of(descent, best);
        for stage in FitStage::ALL.into_iter().filter(|stage| descent.has_data_of(*stage)) {
            let changes = descent.rule_changes(&best.point, stage);
            for (change, tried) in descent.try_rules(best, (changes, &slopes), until, ALTERNATIVE + posterior.luck) {
                let choices = change.iter().map(|(index, _)| match &descent.parameters[*index].parameter.form {
                    ParameterDomain::Choice(words) => words.len() as f64 - 1.0,
                    ParameterDomain::Number(_) => 1.0,
                });
                let farther = (tried.value - best.value - posterior.luck).max(0.0);
                let weight = (-0.5 * farther).exp() / choices.product::<f64>();
                posterior.centres.push(Centre { point: tried.point, weight });
            }
        }
        Some(posterior)
    }

    /// How far the fitted point is below its nearest neighbours in the median. Where writes decide, percentiles jump with every figure,
    /// and the least of thousands of misfits is a lucky one; its neighbours are as likely to be the drive.
    fn luck_of(&self, descent: &Descent<'_, '_>, best: &TriedPoint) -> f64 {
        let neighbour = |index| {
            let mut rng = Seed(1).numbered_stream("fit neighbours", index);
            self.point_at(descent, 0.0, &mut rng, NEAR)
        };
        let tried = descent.try_points((0..NEIGHBOURS).map(neighbour).collect(), FitStage::Writes);
        let mut farther: Vec<f64> = tried.into_iter().flatten().map(|it| (it.value - best.value).max(0.0)).collect();
        farther.sort_by(f64::total_cmp);
        farther.get(farther.len() / 2).copied().unwrap_or(0.0)
    }

    /// Adds points that are so much farther from the data than the fitted one.
    pub(crate) fn with_centres(mut self, farther: Vec<(f64, Vec<f64>)>) -> Posterior {
        let near = farther.into_iter().filter(|(by, _)| *by < ALTERNATIVE);
        self.centres.extend(near.map(|(by, point)| Centre { point, weight: (-0.5 * by.max(0.0)).exp() }));
        self
    }

    /// A point, with the rules of the centre at `share` of all weights.
    fn point_at(&self, descent: &Descent<'_, '_>, share: f64, rng: &mut Rng, spread: f64) -> Vec<f64> {
        let all: f64 = self.centres.iter().map(|centre| centre.weight).sum();
        let mut rest = share * all;
        let reached = |centre: &&Centre| {
            rest -= centre.weight;
            rest <= 0.0
        };
        let centre = self.centres.iter().find(reached).unwrap_or(&self.centres[0]);
        let normal = DVector::from_fn(self.numbers.len(), |_, _| normal_deviate(rng));
        let step: Vec<f64> = (&self.factor * normal).iter().map(|by| spread * self.widening * by).collect();
        descent.moved(&centre.point, &self.numbers, &step)
    }

    /// Points that may be the drive, for predictions: none that the data clearly refuse.
    pub(crate) fn draws(&self, descent: &Descent<'_, '_>, best: &TriedPoint) -> Vec<Vec<f64>> {
        let n = self.numbers.len() as f64;
        // Far beyond the distances that a normal deviate in so many dimensions has.
        let refused = best.value + self.luck + n + 4.0 * (2.0 * n).sqrt() + ALTERNATIVE;
        let draw = |index: usize| {
            let share = (index as f64 + 0.5) / DRAWS as f64;
            let mut rng = Seed(1).numbered_stream("fit draws", index as u64);
            let no_worse = |point: &Vec<f64>| {
                descent.try_point(point.clone(), FitStage::Writes).is_some_and(|tried| tried.value <= refused)
            };
            let mut points = SPREADS.into_iter().map(|spread| self.point_at(descent, share, &mut rng, spread));
            points.find(no_worse).unwrap_or_else(|| best.point.clone())
        };
        (0..DRAWS).map(draw).collect()
    }

    /// For each parameter the interval of its values, and its standard deviation in its coordinate; of a rule with numbers, the choices.
    pub(crate) fn intervals(&self, descent: &Descent<'_, '_>) -> Vec<ParameterSpread> {
        let mut rng = Seed(1).stream("fit intervals");
        let points: Vec<Vec<f64>> = (0..SAMPLES)
            .map(|sample| self.point_at(descent, (sample as f64 + 0.5) / SAMPLES as f64, &mut rng, 1.0))
            .collect();
        let spread = |index: usize| {
            let mut values: Vec<f64> = points.iter().map(|point| point[index]).collect();
            if let Some(numbers) = descent.parameters[index].parameter.numeric_choices() {
                values.iter_mut().for_each(|value| *value = numbers[*value as usize]);
            }
            values.sort_by(f64::total_cmp);
            let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
            let coordinates: Vec<f64> = values.iter().map(|value| descent.coordinate(index, *value)).collect();
            let mean = coordinates.iter().sum::<f64>() / coordinates.len() as f64;
            let variance =
                coordinates.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / coordinates.len() as f64;
            ParameterSpread { interval: (at(OUTSIDE), at(1.0 - OUTSIDE)), deviation: variance.sqrt() }
        };
        (0..descent.parameters.len()).map(spread).collect()
    }

    /// Correlations of the numbers.
    pub(crate) fn correlations(&self) -> Vec<(usize, usize, f64)> {
        let covariance = &self.factor * self.factor.transpose();
        let mut all = Vec::new();
        for a in 0..self.numbers.len() {
            for b in 0..a {
                let correlation = covariance[(a, b)] / (covariance[(a, a)] * covariance[(b, b)]).sqrt();
                all.push((self.numbers[a], self.numbers[b], correlation));
            }
        }
        all
    }
}

/// The 97.5 % quantile of a normal deviate.
const NORMAL_QUANTILE: f64 = 1.959_964;

/// How a parameter spreads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ParameterSpread {
    pub interval: (f64, f64),
    /// The standard deviation in the parameter's coordinate.
    pub deviation: f64,
}

/// The sections of a drive that belong to its write cache and its order of writing.
const WRITE_KEYS: [&str; 20] = [
    "cache.dirty_percent",
    "cache.dirty_runs",
    "cache.fills_while_draining",
    "cache.room_runs",
    "cache.destage_idle_ms",
    "cache.destage_age_ms",
    "cache.long_writes",
    "cache.writes_apart",
    "firmware.commands_percent",
    "firmware.late_writes_percent",
    "firmware.write_verify",
    "firmware.destage.policy",
    "firmware.destage.window",
    "firmware.destage.nearest",
    "firmware.destage.sample",
    "firmware.destage.ageing",
    "firmware.destage.ageing_after_ms",
    "firmware.destage.patience",
    "firmware.destage.round_percent",
    "firmware.destage.max_wait_ms",
];

/// The keys of the order of waiting commands.
const QUEUE_KEYS: [&str; 11] = [
    "firmware.revise_ms",
    "firmware.queue.policy",
    "firmware.queue.window",
    "firmware.queue.nearest",
    "firmware.queue.sample",
    "firmware.queue.ageing",
    "firmware.queue.ageing_after_ms",
    "firmware.queue.patience",
    "firmware.queue.round_percent",
    "firmware.queue.ahead",
    "firmware.queue.max_wait_ms",
];

/// The settings that make a drive of the catalogue of `drive` in the keys of a stage without data; nothing for a stage whose keys the drive
/// keeps.
pub(crate) fn donated_settings(drive: &DriveFile, donor: &DriveFile, stage: FitStage) -> Vec<(String, String)> {
    let keys = stage_keys(stage);
    let value = |of: &DriveFile, key: &str| of.figure(key).map_or("none".to_owned(), |figure| figure.value.to_string());
    let differing = keys.iter().filter(|key| value(drive, key) != value(donor, key));
    differing.map(|key| ((*key).to_owned(), value(donor, key))).collect()
}

/// The rules of the queue and of the write cache as drives of the catalogue have them, where the parameters can take them.
pub(crate) fn rule_families(drive: &DriveFile, parameters: &[JobParameter]) -> Vec<RuleFamily> {
    let change = |donor: &DriveFile, stage: FitStage| {
        let mut change = Vec::new();
        for key in stage_keys(stage) {
            let Some(index) = parameters.iter().position(|it| it.parameter.key == *key) else { continue };
            let value = match &parameters[index].parameter.form {
                ParameterDomain::Choice(words) => {
                    let default = ranges::find_rule(key).map(|rule| rule.default.to_owned());
                    let text = donor.figure(key).map(|figure| figure.value.to_string()).or(default)?;
                    words.iter().position(|word| *word == text)? as f64
                }
                ParameterDomain::Number(range) => {
                    donor.number(key).map_or(range.high, |value| range.round_to_step(value))
                }
            };
            change.push((index, value));
        }
        (!change.is_empty()).then_some(RuleFamily { stage, change })
    };
    let stages = [FitStage::Queue, FitStage::Writes];
    donors(drive).iter().flat_map(|donor| stages.map(|stage| change(donor, stage))).flatten().collect()
}

fn stage_keys(stage: FitStage) -> &'static [&'static str] {
    match stage {
        FitStage::Queue => &QUEUE_KEYS,
        FitStage::Writes => &WRITE_KEYS,
        FitStage::Streams | FitStage::Arm => &[],
    }
}

/// Drives of the catalogue whose rules may be those of `drive`: with the same kind of link, no media cache, and another name.
pub(crate) fn donors(drive: &DriveFile) -> Vec<DriveFile> {
    let has_media_cache = |of: &DriveFile| of.number("cache.media_cache_mib").is_some_and(|mib| mib > 0.0);
    let belongs = |donor: &DriveFile| {
        donor.name != drive.name
            && prior::has_serial_link(donor) == prior::has_serial_link(drive)
            && has_media_cache(donor) == has_media_cache(drive)
            && donor.figure("cache.write_back").is_some_and(|it| it.value == FigureValue::Flag(true))
    };
    catalogue::names().filter_map(|name| catalogue::load_drive(name).ok()).filter(belongs).collect()
}

/// The settings that make the drive of `other` of that of `point`. The layout stays: streams determine it.
pub(crate) fn settings_between(
    drive: &DriveFile,
    parameters: &[Parameter],
    (point, other): (&[f64], &[f64]),
) -> Vec<(String, String)> {
    let mut other = other.to_vec();
    for (index, parameter) in parameters.iter().enumerate() {
        if parameter.key == figure::GEOMETRY_ZONES {
            other[index] = point[index];
        }
    }
    let [of_point, of_other] = [point, &other].map(|point| changed_settings(drive, parameters, point));
    let own_text = |key: &str| match drive.figure(key).map(|figure| &figure.value) {
        None => "none".to_owned(),
        Some(FigureValue::Points(rows)) => {
            let rows: Vec<String> = rows.iter().map(|(distance, ms)| format!("[{distance}, {ms}]")).collect();
            format!("[{}]", rows.join(", "))
        }
        Some(value) => value.to_string(),
    };
    let put_back = of_point.iter().filter(|(key, _)| !of_other.iter().any(|(other, _)| other == key));
    let mut all: Vec<(String, String)> = put_back.map(|(key, _)| ((*key).to_owned(), own_text(key))).collect();
    let changed = of_other.into_iter().filter(|setting| !of_point.contains(setting));
    all.extend(changed.map(|(key, value)| (key.to_owned(), value)));
    all
}

/// `settings` if a drive can be made with them, else none: the fitted drive itself.
pub(crate) fn buildable(fitted: &DriveFile, settings: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut drive = fitted.clone();
    let is_set = settings.iter().all(|(key, value)| drive.set(key, value).is_ok());
    if is_set && drive.profile().is_ok() { settings } else { Vec::new() }
}
