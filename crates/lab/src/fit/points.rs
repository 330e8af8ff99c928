//! Jobs with measured figures: from fio's JSON, from a list of cases, from curves. A measured point is one job; its loss is the mean error
//! of its figures, as logarithms of ratios, so that half and twice are equally far. A rate and a mean count twice as much as percentiles:
//! a job is judged by the former, while the latter separate figures of a drive.
//!
//! A draw varies the measurements: a run differs from the next as a whole, and each figure comes from a limited number of requests. The
//! selection of jobs is somebody's choice; they are resampled only if there are many.
//!
//! No file is read here: [`sources`](super::sources) makes points of texts.

use seekwise_disk::block::Op;
use seekwise_disk::drive::profile::Profile;
use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::stack::Stack;
use seekwise_disk::time::Span;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::profile::{DriveFile, ReadingCache};
use seekwise_run::cutoff::RunCutoff;
use seekwise_run::work::Work;
use seekwise_work::workload::replay::{ReplayRow, Timing};

use super::data::{DataSplit, LossAndDraws, count_draws_with_replacement};
use super::slope::{SimulatedValue, SlopeTarget};
use crate::run::measure_run_until;
use crate::stats::RequestKind;
use crate::validate::replay_rows;
use crate::workers::Workers;

/// Requests after which a job ends: its figures are within a hundredth of those of a longer run by then.
pub const MOST: u64 = 20_000;

/// Numbers of requests after which a search tries to end a job: it takes the first with which the figures are those of the whole job.
const SHORTER: [u64; 2] = [2_000, 4_000];

/// The weight of a list of jobs: as much as a trace's groups, which are five of weight one (all, reads, writes, and the parts of both),
/// each with two errors.
const WEIGHT: f64 = 10.0;

/// Seeks made at each distance.
const STEPS: u64 = 500;

/// The work of a point.
#[derive(Clone, Debug)]
pub enum PointWork {
    /// A job on a stack, whose drive is replaced.
    Job(Box<(Stack, Work)>),
    /// Single reads at a distance in blocks from a random place, and the sectors of a read.
    Step(u64, u32),
}

/// A measured figure.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredFigure {
    /// `iops`, `mib_s`, `mb_s`, `mean`, or a percentile such as `p50`; with `write.` before it for writes.
    pub name: String,
    /// The measured value; of times in ms.
    pub measured: f64,
    /// The standard error as a share of the value.
    pub error: f64,
}

impl MeasuredFigure {
    pub(crate) fn is_rate(&self) -> bool {
        matches!(without_direction(&self.name), "iops" | "mib_s" | "mb_s")
    }

    pub(crate) fn is_percentile(&self) -> bool {
        self.percentile().is_some()
    }

    /// The share of requests below a percentile; `None` for a rate or mean.
    pub(crate) fn percentile(&self) -> Option<f64> {
        percentile_as_share(without_direction(&self.name))
    }
}

/// A figure's name without the direction.
fn without_direction(name: &str) -> &str {
    name.strip_prefix("write.").or(name.strip_prefix("read.")).unwrap_or(name)
}

/// A job in a draw.
#[derive(Clone, Debug, PartialEq)]
pub struct PointWeight {
    /// How often the job counts.
    count: u32,
    /// For each of its figures the drawn error, as a logarithm.
    log_errors: Vec<f64>,
}

/// Standard deviation of one run from the next, as a share: equal products of depth and jobs in two published sets of
/// fio's (a SpinPoint F1 and a Raptor, louwrentius/fio-plot, 2019) agree within 1 to 2 %.
pub(crate) const RUN_TO_RUN: f64 = 0.015;

/// The fewest jobs that are resampled. With fewer a draw would depend on which job is left out, so each counts once.
const MANY: usize = 8;

/// Draws for each of `points` how often it counts, and errors of its figures.
pub(crate) fn draw_weights(points: &[&MeasuredPoint], rng: &mut Rng) -> Vec<PointWeight> {
    let counts =
        if points.len() < MANY { vec![1; points.len()] } else { count_draws_with_replacement(points.len(), rng) };
    let weight = |(point, count): (&&MeasuredPoint, u32)| {
        let run_error = RUN_TO_RUN * normal_deviate(rng);
        let mut log_error = |figure: &MeasuredFigure| {
            (if figure.is_rate() { -run_error } else { run_error }) + figure.error * normal_deviate(rng)
        };
        PointWeight { count, log_errors: point.figures.iter().map(&mut log_error).collect() }
    };
    points.iter().zip(counts).map(weight).collect()
}

/// A normal deviate (G. Box and M. Muller 1958).
pub(crate) fn normal_deviate(rng: &mut Rng) -> f64 {
    let mut uniform = || ((rng.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
}

/// The weight of a rate and a mean relative to the percentiles of their job.
const LEVEL: f64 = 2.0;

/// A job's load: what a later prediction is compared with, to say what the data covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobLoad {
    /// fio's word: `read`, `randwrite`, `randrw`.
    pub rw: &'static str,
    /// Bytes of a block.
    pub block: u64,
    /// Requests outstanding.
    pub depth: u64,
}

impl JobLoad {
    /// fio's words of loads.
    pub const WORDS: [&str; 6] = ["read", "write", "randread", "randwrite", "rw", "randrw"];

    /// True if some of its requests are writes.
    pub(crate) fn writes(self) -> bool {
        self.rw.ends_with("write") || self.rw.ends_with("rw")
    }

    pub(crate) fn is_random(self) -> bool {
        self.rw.starts_with("rand")
    }
}

/// A job with its measurements on the real drive.
#[derive(Clone, Debug)]
pub struct MeasuredPoint {
    /// The job in words.
    pub what: String,
    pub file: String,
    /// The line in the file; 0 if it is not known.
    pub line: usize,
    /// A key shared by points that differ only in their order.
    pub series: String,
    /// The position in the series: the depth, the size, the distance.
    pub order: f64,
    /// True if the point is held back from the search.
    pub held: bool,
    /// True if the user holds the point back: no fit may see it.
    pub kept_out: bool,
    /// The job's load; `None` for seeks over a distance.
    pub load: Option<JobLoad>,
    /// Settings during the measurement: keys below `drive.` and values.
    pub settings: Vec<(String, String)>,
    pub work: PointWork,
    /// Requests after which a simulation of the job ends.
    pub request_limit: u64,
    /// Requests that were measured; 0 if that is not known.
    pub measured_requests: u64,
    /// The measured figures.
    pub figures: Vec<MeasuredFigure>,
}

/// Names of figures.
pub const FIGURES: &str = "iops, mib_s, mb_s, mean, or a percentile such as p50 or p99.9";

/// True if `name` is a figure's.
pub(crate) fn is_figure(name: &str) -> bool {
    let name = without_direction(name);
    matches!(name, "iops" | "mib_s" | "mb_s" | "mean") || percentile_as_share(name).is_some()
}

fn percentile_as_share(name: &str) -> Option<f64> {
    let percent = name.strip_prefix('p')?.parse::<f64>().ok()?;
    (percent > 0.0 && percent < 100.0).then_some(percent / 100.0)
}

/// The profile of `drive` with the settings of a measurement. Most points of a fit do not differ in figures of platters and arm, which
/// `cache` keeps.
pub(crate) fn configured_profile(
    drive: &DriveFile,
    settings: &[(String, String)],
    cache: &ReadingCache,
) -> Result<Profile, Vec<Diagnostic>> {
    let mut drive = drive.clone();
    for (key, value) in settings {
        drive.set(key, value)?;
    }
    drive.build_profile(cache)
}

impl MeasuredPoint {
    /// Simulates the job on `drive`; returns its figures in their order.
    pub(crate) fn simulate_figures(
        &self,
        drive: &DriveFile,
        cache: &ReadingCache,
    ) -> Result<Vec<f64>, Vec<Diagnostic>> {
        let profile = configured_profile(drive, &self.settings, cache)?;
        let fault = |message: String| vec![Diagnostic::at(&self.file, self.line, message)];
        match &self.work {
            PointWork::Step(distance, sectors) => {
                let rows = seek_step_rows(*distance, *sectors, profile.geometry.sectors());
                let mut sum = Span::ZERO;
                let stack = Stack::bare(profile);
                replay_rows(&stack, &rows, Timing::Think, RunCutoff::NEVER, Seed(1), &mut |record| {
                    // Every second request is the step, with an even stamp.
                    if record.request.stamp % 2 == 0 {
                        sum += record.response_time();
                    }
                })
                .map_err(|error| fault(error.to_string()))?;
                Ok(vec![sum.nanos() as f64 / STEPS as f64 / 1e6; self.figures.len()])
            }
            PointWork::Job(job) => {
                let (mut stack, work) = (job.0.clone(), &job.1);
                stack.profile = profile;
                let cutoff = RunCutoff::after_requests(self.request_limit);
                let measured = measure_run_until(cutoff, &stack.into(), work, 1, None, |_| {})
                    .map_err(|error| fault(error.to_string()))?;
                self.figures
                    .iter()
                    .map(|figure| {
                        run_figure_value(&measured.run, figure)
                            .ok_or_else(|| fault(format!("the job gives no `{}`", figure.name)))
                    })
                    .collect()
            }
        }
    }

    /// The weight of each figure; the sum is 1. Rate and mean share twice as much as percentiles.
    fn figure_weights(&self) -> Vec<f64> {
        let count = |percentiles: bool| {
            self.figures.iter().filter(|figure| figure.is_percentile() == percentiles).count() as f64
        };
        let (level_count, percentile_count) = (count(false), count(true));
        let all = if level_count > 0.0 { LEVEL } else { 0.0 } + if percentile_count > 0.0 { 1.0 } else { 0.0 };
        let weight = |figure: &MeasuredFigure| {
            if figure.is_percentile() { 1.0 / percentile_count / all } else { LEVEL / level_count / all }
        };
        self.figures.iter().map(weight).collect()
    }

    /// The weighted mean distance of two simulations of its figures, as logarithms.
    fn loss_between(&self, one: &[f64], other: &[f64]) -> f64 {
        let log_distance = |(a, b): (&f64, &f64)| (a.max(1e-9).ln() - b.max(1e-9).ln()).abs();
        self.figure_weights()
            .into_iter()
            .zip(one.iter().zip(other))
            .map(|(weight, pair)| weight * log_distance(pair))
            .sum()
    }

    /// The weighted mean error of `simulated` figures. `log_errors` shift the measured figures.
    fn loss(&self, simulated: &[f64], log_errors: Option<&[f64]>) -> f64 {
        let weighted_error = |(index, weight): (usize, f64)| {
            let measured = self.figures[index].measured.ln() + log_errors.map_or(0.0, |errors| errors[index]);
            weight * (simulated[index].max(1e-9).ln() - measured).abs()
        };
        self.figure_weights().into_iter().enumerate().map(weighted_error).sum()
    }
}

fn run_figure_value(run: &crate::stats::summary::RunTally, figure: &MeasuredFigure) -> Option<f64> {
    let reads = run.kind_summary(RequestKind::Read);
    let (kind, name) = match (figure.name.strip_prefix("write."), figure.name.strip_prefix("read.")) {
        (Some(name), _) => (run.kind_summary(RequestKind::Write), name),
        (_, Some(name)) => (reads, name),
        _ if reads.tally.ios() > 0 => (reads, figure.name.as_str()),
        _ => (run.kind_summary(RequestKind::Write), figure.name.as_str()),
    };
    match name {
        _ if kind.tally.ios() == 0 => None,
        "iops" => Some(kind.iops()),
        "mib_s" => Some(kind.bytes_per_s() / 1_048_576.0),
        "mb_s" => Some(kind.bytes_per_s() / 1e6),
        "mean" => kind.tally.responses().mean_ns().map(|ns| ns / 1e6),
        name => kind.tally.responses().quantile(percentile_as_share(name)?).map(|time| time.nanos() as f64 / 1e6),
    }
}

/// Reads in pairs: at a random place, and at a fixed distance in blocks after it.
fn seek_step_rows(distance: u64, sectors: u32, capacity_sectors: u64) -> Vec<ReplayRow> {
    let mut rng = Seed(1).stream("steps");
    let room = capacity_sectors.saturating_sub(distance + u64::from(sectors)).max(1);
    let mut rows = Vec::new();
    for _ in 0..STEPS {
        let lba = rng.below(room);
        for lba in [lba, lba + distance] {
            rows.push(ReplayRow { op: Op::Read, lba, sectors, arrival: Span::ZERO, think: Span::ZERO });
        }
    }
    rows
}

/// Holds back every other point of each series, by its order: the second, the fourth, ….
pub(crate) fn hold_back_every_other(points: &mut [&mut MeasuredPoint]) {
    let mut sorted: Vec<usize> = (0..points.len()).collect();
    sorted.sort_by(|&a, &b| {
        let (a, b) = (&points[a], &points[b]);
        a.series.cmp(&b.series).then(a.order.total_cmp(&b.order))
    });
    // Series, order, and whether it is held back.
    let mut previous: Option<(String, f64, bool)> = None;
    for index in sorted {
        let point = &mut *points[index];
        let held = match &previous {
            // Points of one order stay together: one of them would reveal the other.
            Some((series, order, held)) if *series == point.series && *order == point.order => *held,
            Some((series, _, held)) if *series == point.series => !held,
            _ => false,
        };
        point.held = held;
        previous = Some((point.series.clone(), point.order, held));
    }
}

/// `points` with each job as short as its figures allow. On `drive` they are then those of the whole job, as nearly as a run on a real
/// drive repeats itself (`RUN_TO_RUN`, twice for the difference of two runs).
pub(crate) fn shorten_jobs(points: &[MeasuredPoint], drive: &DriveFile, cache: &ReadingCache) -> Vec<MeasuredPoint> {
    let shortened = |point: &MeasuredPoint| -> MeasuredPoint {
        let Ok(whole) = point.simulate_figures(drive, cache) else { return point.clone() };
        let is_long_enough = |request_limit: &u64| {
            let short = MeasuredPoint { request_limit: *request_limit, ..point.clone() };
            let figures = short.simulate_figures(drive, cache);
            figures.is_ok_and(|figures| point.loss_between(&figures, &whole) <= 2.0 * RUN_TO_RUN)
        };
        let request_limit = SHORTER.into_iter().find(is_long_enough).unwrap_or(point.request_limit);
        MeasuredPoint { request_limit, ..point.clone() }
    };
    Workers::Shared.map(points, shortened)
}

fn points_in_part(points: &[MeasuredPoint], part: DataSplit) -> impl Iterator<Item = &MeasuredPoint> {
    points.iter().filter(move |point| point.held == (part == DataSplit::Held))
}

/// Number of figures in a part of `points`.
pub(crate) fn figure_count(points: &[MeasuredPoint], part: DataSplit) -> usize {
    points_in_part(points, part).map(|point| point.figures.len()).sum()
}

/// Simulates a part of `points` on `drive`; returns the figures of all, in order.
pub(crate) fn simulate_part(
    points: &[MeasuredPoint],
    drive: &DriveFile,
    part: DataSplit,
    cache: &ReadingCache,
) -> Result<Vec<f64>, Vec<Diagnostic>> {
    let of_part: Vec<&MeasuredPoint> = points_in_part(points, part).collect();
    let all: Result<Vec<Vec<f64>>, _> = Workers::Shared.map(&of_part, |point| point.simulate_figures(drive, cache));
    all.map(|all| all.concat())
}

/// The loss of a part of `points` with its simulated `figures`, and that of each draw; `None` if there is no such part.
pub fn losses(
    points: &[MeasuredPoint],
    part: DataSplit,
    figures: &[f64],
    draws: &[Vec<PointWeight>],
) -> Option<LossAndDraws> {
    let mut rest = figures;
    let simulated: Vec<(&MeasuredPoint, &[f64])> = points_in_part(points, part)
        .map(|point| {
            let (own, others) = rest.split_at(point.figures.len());
            rest = others;
            (point, own)
        })
        .collect();
    if simulated.is_empty() {
        return None;
    }
    let mean_loss = |draw: Option<&Vec<PointWeight>>| {
        let (mut count, mut sum) = (0.0, 0.0);
        for (index, (point, own)) in simulated.iter().enumerate() {
            let weight = draw.map(|draw| &draw[index]);
            let times = weight.map_or(1.0, |weight| f64::from(weight.count));
            count += times;
            sum += times * point.loss(own, weight.map(|weight| &weight.log_errors[..]));
        }
        WEIGHT * sum / count
    };
    Some(std::iter::once(None).chain(draws.iter().map(Some)).map(mean_loss).collect())
}

/// The largest distance of a figure that counts: half or twice the measured value.
const FAR: f64 = std::f64::consts::LN_2;

/// Logarithms of the seen measured figures, weighted as in the loss.
pub(crate) fn slope_targets(points: &[MeasuredPoint]) -> Vec<SlopeTarget> {
    let targets = |point: &MeasuredPoint| -> Vec<SlopeTarget> {
        let target = |(figure, weight): (&MeasuredFigure, f64)| SlopeTarget {
            measured: weight * figure.measured.ln(),
            cut: weight * FAR,
        };
        point.figures.iter().zip(point.figure_weights()).map(target).collect()
    };
    points_in_part(points, DataSplit::Seen).flat_map(targets).collect()
}

/// Logarithms of the seen simulated figures, weighted in the same way.
pub(crate) fn slope_values(points: &[MeasuredPoint], figures: &[f64]) -> Vec<SimulatedValue> {
    let weights = points_in_part(points, DataSplit::Seen).flat_map(MeasuredPoint::figure_weights);
    let value = |(figure, weight): (&f64, f64)| SimulatedValue { value: weight * figure.max(1e-9).ln(), wait: 0.0 };
    figures.iter().zip(weights).map(value).collect()
}

/// A seen figure, as the sensitivity of keys needs it.
#[derive(Clone, Debug)]
pub(crate) struct FigureError {
    /// The figure's name with its job.
    pub name: String,
    /// The standard error as a share of the figure: from run to run, and its own.
    pub error: f64,
    /// The weight in the loss of the job.
    pub weight: f64,
}

/// The seen figures with their errors.
pub(crate) fn figure_errors(points: &[MeasuredPoint]) -> Vec<FigureError> {
    let errors = |point: &MeasuredPoint| -> Vec<FigureError> {
        let one = |(figure, weight): (&MeasuredFigure, f64)| {
            let name = format!("{}: {}", point.what, figure.name);
            FigureError { name, error: RUN_TO_RUN.hypot(figure.error), weight }
        };
        point.figures.iter().zip(point.figure_weights()).map(one).collect()
    };
    points_in_part(points, DataSplit::Seen).flat_map(errors).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(figures: &[(&str, f64)]) -> MeasuredPoint {
        let figure = |&(name, measured): &(&str, f64)| MeasuredFigure { name: name.to_owned(), measured, error: 0.01 };
        MeasuredPoint {
            what: String::new(),
            file: String::new(),
            line: 0,
            series: String::new(),
            order: 0.0,
            held: false,
            kept_out: false,
            load: None,
            settings: Vec::new(),
            work: PointWork::Step(1, 1),
            request_limit: MOST,
            measured_requests: 0,
            figures: figures.iter().map(figure).collect(),
        }
    }

    #[test]
    fn rate_and_mean_count_twice_what_percentiles_do() {
        let point = point(&[("iops", 100.0), ("mean", 10.0), ("p50", 9.0), ("p99", 20.0), ("p99.9", 30.0)]);
        let tenth = 1.1f64.ln();
        assert!((point.loss(&[110.0, 11.0, 9.0, 20.0, 30.0], None) - tenth * 2.0 / 3.0).abs() < 1e-12);
        assert!((point.loss(&[100.0, 10.0, 9.9, 22.0, 33.0], None) - tenth / 3.0).abs() < 1e-12);
        assert!((point.loss(&[110.0, 11.0, 9.0, 20.0, 30.0], Some(&[tenth, tenth, 0.0, 0.0, 0.0]))).abs() < 1e-12);
    }

    #[test]
    fn a_run_is_off_as_a_whole_and_few_jobs_count_once_each() {
        let point = point(&[("iops", 100.0), ("mean", 10.0)]);
        let mut chance = Seed(1).stream("test");
        let draws: Vec<Vec<PointWeight>> = (0..400).map(|_| draw_weights(&[&point; 4], &mut chance)).collect();
        assert!(draws.iter().flatten().all(|again| again.count == 1));
        // A slower run has longer times: the common part is opposite, the rest belongs to each figure.
        let product: f64 =
            draws.iter().flatten().map(|again| again.log_errors[0] * again.log_errors[1]).sum::<f64>() / 1600.0;
        assert!((product + RUN_TO_RUN * RUN_TO_RUN).abs() < 0.3 * RUN_TO_RUN * RUN_TO_RUN, "{product}");
        let many = draw_weights(&[&point; 30], &mut chance);
        assert!(many.iter().map(|again| again.count).sum::<u32>() == 30 && many.iter().any(|again| again.count != 1));
    }

    #[test]
    fn every_other_point_of_a_series_is_held_back_by_its_order() {
        let one =
            |series: &str, order: f64| MeasuredPoint { series: series.to_owned(), order, ..point(&[("iops", 1.0)]) };
        let mut points = vec![
            one("b", 2.0),
            one("a", 8.0),
            one("a", 1.0),
            one("a", 2.0),
            one("a", 4.0),
            one("a", 2.0),
            one("b", 1.0),
            one("c", 5.0),
        ];
        hold_back_every_other(&mut points.iter_mut().collect::<Vec<_>>());
        let held: Vec<(&str, f64)> =
            points.iter().filter(|point| point.held).map(|point| (point.series.as_str(), point.order)).collect();
        // Of 1, 2, 2, 4, 8 those of order 2 and 8; of 1, 2 the second; a single one is seen.
        assert_eq!(held, [("b", 2.0), ("a", 8.0), ("a", 2.0), ("a", 2.0)]);
        assert_eq!([figure_count(&points, DataSplit::Seen), figure_count(&points, DataSplit::Held)], [4, 4]);
    }

    #[test]
    fn a_loss_is_ten_times_the_mean_of_its_jobs_and_each_draw_s_own() {
        let (one, other) = (point(&[("iops", 100.0), ("p50", 5.0)]), point(&[("mean", 10.0)]));
        let points = [one, MeasuredPoint { held: true, ..point(&[("mean", 1.0)]) }, other];
        // Twice the rate, of two thirds of its job; the mean is right.
        let figures = [200.0, 5.0, 10.0];
        let ln2 = std::f64::consts::LN_2;
        let weight = |count: u32, off: &[f64]| PointWeight { count, log_errors: off.to_vec() };
        let draws = [
            vec![weight(1, &[0.0, 0.0]), weight(1, &[0.0])],
            vec![weight(2, &[0.0, 0.0]), weight(0, &[0.0])],
            vec![weight(1, &[ln2, 0.0]), weight(3, &[ln2])],
        ];
        let found = losses(&points, DataSplit::Seen, &figures, &draws).unwrap();
        // The draws: as the whole; the first job alone; the rate had been measured as simulated, and three times half of the mean.
        let expected = [10.0 * ln2 / 3.0, 10.0 * ln2 / 3.0, 20.0 * ln2 / 3.0, 10.0 * 0.75 * ln2];
        assert!(
            found.len() == 4 && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9),
            "{found:?} {expected:?}"
        );
        assert_eq!(losses(&points[..1], DataSplit::Held, &[], &[]), None);
        let held = losses(&points, DataSplit::Held, &[0.5], &[]).unwrap();
        assert!((held[0] - 10.0 * ln2).abs() < 1e-9 && held.len() == 1);
    }

    #[test]
    fn targets_values_and_errors_stand_in_one_order_with_one_weight() {
        let points = [point(&[("iops", 100.0), ("p50", 5.0)]), MeasuredPoint { held: true, ..point(&[("mean", 1.0)]) }];
        let (targets, values, errors) =
            (slope_targets(&points), slope_values(&points, &[100.0, 5.0]), figure_errors(&points));
        assert_eq!([targets.len(), values.len(), errors.len()], [2, 2, 2]);
        for (place, weight) in [(0, 2.0 / 3.0), (1, 1.0 / 3.0)] {
            assert!((targets[place].measured - values[place].value).abs() < 1e-12, "measured as simulated");
            assert!((targets[place].cut - weight * std::f64::consts::LN_2).abs() < 1e-12);
            // 1.5 % from run to run, and 1 % of its own.
            assert!(
                (errors[place].error - 0.018_027_756).abs() < 1e-8 && (errors[place].weight - weight).abs() < 1e-12
            );
        }
        assert_eq!([errors[0].name.as_str(), errors[1].name.as_str()], [": iops", ": p50"]);
    }

    #[test]
    fn names_of_figures_are_rates_means_and_percentiles_below_the_most() {
        for name in ["iops", "mib_s", "mb_s", "mean", "p50", "p99.9", "read.iops", "write.p99", "p0.1"] {
            assert!(is_figure(name), "{name}");
        }
        for name in ["p0", "p100", "p", "max", "kb_s", "write.max", "read.write.iops", "p-1"] {
            assert!(!is_figure(name), "{name}");
        }
    }
}
