//! The data of a fit: measured traces, and jobs with their figures. Each can be repeated on a drive with other figures; its loss is the
//! distance of the simulated times or figures from the measured ones.
//!
//! The search sees one part ([`DataSplit::Seen`]); the other is held back to test the result.

use seekwise_disk::block::Op;
use seekwise_disk::drive::profile::Profile;
use seekwise_disk::record::{Part, Record};
use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::stack::Stack;
use seekwise_disk::time::Span;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::key_names::figure;
use seekwise_drives::profile::{DriveFile, ReadingCache};
use seekwise_formats::trace::measured::MeasuredTrace;
use seekwise_run::cutoff::RunCutoff;
use seekwise_work::workload::replay::Timing;

use super::loss::{BLOCKS, GroupError, MeasuredRequests};
use super::points::{MeasuredPoint, PointWeight, configured_profile, draw_weights};
use super::slope::{SimulatedValue, SlopeTarget};
use crate::validate::{ResponseSamples, check_fits_drive, replay_rows};

/// Start phases of the platter over which a replay by arrival is averaged, so that each request meets several. A closed loop sets its own
/// phase with the first access, so one is enough.
const PHASES: u64 = 4;

/// The fewest requests of each part of a trace: below that, its quantiles are noise.
pub(crate) const FEWEST_REQUESTS: usize = 200;

/// A part of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataSplit {
    /// Seen by the search.
    Seen,
    /// Held back to test the result.
    Held,
}

/// A measured trace.
#[derive(Clone, Debug)]
pub struct FitTrace {
    pub file: String,
    pub trace: MeasuredTrace,
    /// The number of requests that the search sees, from the start.
    pub seen: usize,
    /// The rule by which the replay issues requests.
    pub timing: Timing,
    /// Settings of the drive during the measurement: keys below `drive.` and values.
    pub settings: Vec<(String, String)>,
    /// The results of another simulator, for display only.
    pub reference: Option<ReferenceTimes>,
    parts: [Option<MeasuredRequests>; 2],
}

/// Response times of the same requests in another simulator.
#[derive(Clone, Debug, PartialEq)]
pub struct ReferenceTimes {
    /// The simulator's name.
    pub name: String,
    /// A time for each request.
    pub times: Vec<Span>,
}

/// The loss on a part of the data, then the loss on each draw of it.
pub type LossAndDraws = Vec<f64>;

/// Resamples of a part of the data.
#[derive(Clone, Debug, PartialEq)]
pub enum Resamples {
    /// For each draw, how often each block of a trace counts.
    Blocks(Vec<Vec<u32>>),
    /// For each draw and job, its weight and the errors added to its figures.
    Jobs(Vec<Vec<PointWeight>>),
}

impl Resamples {
    /// The draws of a trace's blocks; none of jobs.
    fn blocks(&self) -> &[Vec<u32>] {
        if let Resamples::Blocks(draws) = self { draws } else { &[] }
    }
}

/// A kind of data.
#[derive(Clone, Debug)]
pub enum FitData {
    Traced(Box<FitTrace>),
    /// Jobs with their figures.
    Points(Vec<MeasuredPoint>),
}

impl FitTrace {
    /// Makes the data of a trace, of which `held_share` (0 to 1) is held back at its end.
    pub fn new(
        file: &str,
        trace: MeasuredTrace,
        held_share: f64,
        timing: Timing,
        settings: Vec<(String, String)>,
    ) -> Result<FitTrace, Diagnostic> {
        let all = trace.rows.len();
        let seen = ((1.0 - held_share) * all as f64).round() as usize;
        for (part, n) in [("seen", seen), ("held back", all - seen)] {
            if n > 0 && n < FEWEST_REQUESTS {
                let message = format!("{n} of its {all} requests would be {part}: too few to tell a drive from chance");
                let fault = Diagnostic::at(file, 0, message);
                return Err(fault.with_expected(format!("at least {FEWEST_REQUESTS} in each part, better thousands")));
            }
        }
        let requests = |range: std::ops::Range<usize>| {
            (!range.is_empty()).then(|| MeasuredRequests::new(&trace.rows, &trace.measured, range))
        };
        let parts = [requests(0..seen), requests(seen..all)];
        Ok(FitTrace { file: file.to_owned(), seen, timing, settings, reference: None, parts, trace })
    }

    /// Simulates the first `row_count` requests with the start phase of `seed`; returns their response times.
    fn simulate_response_times(
        &self,
        profile: &Profile,
        row_count: usize,
        seed: u64,
    ) -> Result<Vec<Span>, Vec<Diagnostic>> {
        let mut times = vec![Span::ZERO; row_count];
        self.replay_first_rows(
            profile,
            seed,
            &mut |record| times[record.request.stamp as usize - 1] = record.time_since_due(),
            row_count,
        )?;
        Ok(times)
    }

    fn replay_first_rows(
        &self,
        profile: &Profile,
        seed: u64,
        recorder: &mut impl FnMut(&Record),
        row_count: usize,
    ) -> Result<(), Vec<Diagnostic>> {
        let stack = Stack::bare(profile.clone());
        replay_rows(&stack, &self.trace.rows[..row_count], self.timing, RunCutoff::NEVER, Seed(seed), recorder)
            .map_err(|error| vec![Diagnostic::at(&self.file, 0, error.to_string())])
    }

    /// Measured and simulated times of all requests on `drive`, with the first phase.
    pub(crate) fn response_samples(
        &self,
        drive: &DriveFile,
        cache: &ReadingCache,
    ) -> Result<ResponseSamples, Vec<Diagnostic>> {
        let profile = configured_profile(drive, &self.settings, cache)?;
        check_fits_drive(&self.file, &self.trace, &profile).map_err(|error| vec![error])?;
        let simulated = self.simulate_response_times(&profile, self.trace.rows.len(), 1)?;
        let read = self.trace.rows.iter().map(|row| row.op == Op::Read).collect();
        Ok(ResponseSamples { read, measured: self.trace.measured.clone(), simulated })
    }

    fn simulate_losses(
        &self,
        drive: &DriveFile,
        part: DataSplit,
        resamples: Option<&Resamples>,
        cache: &ReadingCache,
    ) -> Result<Option<LossAndDraws>, Vec<Diagnostic>> {
        let Some(measured) = &self.parts[part as usize] else { return Ok(None) };
        let draws = resamples.map_or(&[][..], Resamples::blocks);
        let profile = configured_profile(drive, &self.settings, cache)?;
        let cap = self.paired_error_cap(drive);
        let phases = if self.timing == Timing::Arrival { PHASES } else { 1 };
        let mut sums = vec![0.0; 1 + draws.len()];
        for seed in 1..=phases {
            let (rows, from) = match part {
                DataSplit::Seen => (self.seen, 0),
                DataSplit::Held => (self.trace.rows.len(), self.seen),
            };
            let times = self.simulate_response_times(&profile, rows, seed)?;
            let losses = measured.losses(&times[from..], cap, draws);
            sums.iter_mut().zip(losses).for_each(|(sum, loss)| *sum += loss / phases as f64);
        }
        Ok(Some(sums))
    }

    /// The errors of the groups of both parts, with the first phase; none of a part without requests.
    fn simulate_group_errors(
        &self,
        drive: &DriveFile,
        resamples: [&Resamples; 2],
        cache: &ReadingCache,
    ) -> Result<[Vec<GroupError>; 2], Vec<Diagnostic>> {
        let profile = configured_profile(drive, &self.settings, cache)?;
        let times = self.simulate_response_times(&profile, self.trace.rows.len(), 1)?;
        let cap = self.paired_error_cap(drive);
        let part_errors = |part: DataSplit, times: &[Span]| {
            let draws = resamples[part as usize].blocks();
            let measured = self.parts[part as usize].as_ref();
            let mut errors = measured.map_or_else(Vec::new, |measured| measured.group_errors(times, cap, draws));
            errors.iter_mut().for_each(|error| error.name = format!("{}: {}", self.file, error.name));
            errors
        };
        let (seen, held) = times.split_at(self.seen);
        Ok([part_errors(DataSplit::Seen, seen), part_errors(DataSplit::Held, held)])
    }

    /// The largest paired error that counts: a quarter of a revolution.
    fn paired_error_cap(&self, drive: &DriveFile) -> Span {
        Span::from_nanos((15e9 / self.rpm_or_default(drive)) as u64)
    }

    /// Measured times of the seen requests, as shares of the mean of their direction, which is the loss's unit. The largest distance that
    /// counts is a quarter of a revolution.
    fn slope_targets(&self, drive: &DriveFile) -> Vec<SlopeTarget> {
        let cut_ns = 15e9 / self.rpm_or_default(drive);
        let target = |(measured, mean_ns): (&Span, f64)| SlopeTarget {
            measured: measured.nanos() as f64 / mean_ns,
            cut: cut_ns / mean_ns,
        };
        self.trace.measured[..self.seen].iter().zip(self.direction_mean_ns_by_row()).map(target).collect()
    }

    /// For each seen request, the mean measured time of all seen requests of its direction.
    fn direction_mean_ns_by_row(&self) -> Vec<f64> {
        let mean = |op: Op| {
            let rows = self.trace.rows[..self.seen].iter().zip(&self.trace.measured).filter(|(row, _)| row.op == op);
            let (sum, n) = rows.fold((0.0, 0.0), |(sum, n), (_, time)| (sum + time.nanos() as f64, n + 1.0));
            f64::max(sum / f64::max(n, 1.0), 1.0)
        };
        let (reads, writes) = (mean(Op::Read), mean(Op::Write));
        self.trace.rows[..self.seen].iter().map(|row| if row.op == Op::Read { reads } else { writes }).collect()
    }

    fn simulate_values(&self, drive: &DriveFile, cache: &ReadingCache) -> Result<Vec<SimulatedValue>, Vec<Diagnostic>> {
        let mut values = vec![SimulatedValue { value: 0.0, wait: 0.0 }; self.seen];
        let means = self.direction_mean_ns_by_row();
        let mut recorder = |record: &Record| {
            let row = record.request.stamp as usize - 1;
            let share = |time: Span| time.nanos() as f64 / means[row];
            values[row] = SimulatedValue {
                value: share(record.time_since_due()),
                wait: share(record.completion.parts.get(Part::Rotation)),
            };
        };
        self.replay_first_rows(&configured_profile(drive, &self.settings, cache)?, 1, &mut recorder, self.seen)?;
        Ok(values)
    }

    fn rpm_or_default(&self, drive: &DriveFile) -> f64 {
        drive.number(figure::MECHANICS_RPM).unwrap_or(7200.0)
    }
}

impl FitData {
    /// Number of requests of a trace, or of jobs, in a part.
    pub fn request_or_job_count(&self, part: DataSplit) -> usize {
        match self {
            FitData::Traced(traced) => traced.parts[part as usize].as_ref().map_or(0, MeasuredRequests::request_count),
            FitData::Points(points) => points.iter().filter(|point| point.held == (part == DataSplit::Held)).count(),
        }
    }

    /// The errors of the groups of a trace on `drive`, seen and held back; none of jobs.
    pub(crate) fn simulate_group_errors(
        &self,
        drive: &DriveFile,
        resamples: [&Resamples; 2],
        cache: &ReadingCache,
    ) -> Result<[Vec<GroupError>; 2], Vec<Diagnostic>> {
        match self {
            FitData::Traced(traced) => traced.simulate_group_errors(drive, resamples, cache),
            FitData::Points(_) => Ok([Vec::new(), Vec::new()]),
        }
    }

    /// The measured values of the seen part.
    pub(crate) fn slope_targets(&self, drive: &DriveFile) -> Vec<SlopeTarget> {
        match self {
            FitData::Traced(traced) => traced.slope_targets(drive),
            FitData::Points(points) => super::points::slope_targets(points),
        }
    }

    /// The simulated values on `drive`, in the same unit.
    pub fn simulate_values(
        &self,
        drive: &DriveFile,
        cache: &ReadingCache,
    ) -> Result<Vec<SimulatedValue>, Vec<Diagnostic>> {
        match self {
            FitData::Traced(traced) => traced.simulate_values(drive, cache),
            FitData::Points(points) => {
                let figures = super::points::simulate_part(points, drive, DataSplit::Seen, cache)?;
                Ok(super::points::slope_values(points, &figures))
            }
        }
    }

    /// The data with jobs as short as their figures allow, for a search.
    #[must_use]
    pub(crate) fn with_short_jobs(&self, drive: &DriveFile, cache: &ReadingCache) -> FitData {
        match self {
            FitData::Traced(traced) => FitData::Traced(traced.clone()),
            FitData::Points(points) => FitData::Points(super::points::shorten_jobs(points, drive, cache)),
        }
    }

    /// Draws a part `draw_count` times with replacement. The draws do not depend on the drive.
    pub fn draw_resamples(&self, part: DataSplit, draw_count: usize, stream_name: &str) -> Resamples {
        let mut rng = Seed(1).stream(stream_name);
        match self {
            FitData::Traced(_) => {
                Resamples::Blocks((0..draw_count).map(|_| count_draws_with_replacement(BLOCKS, &mut rng)).collect())
            }
            FitData::Points(points) => {
                let points: Vec<&MeasuredPoint> =
                    points.iter().filter(|point| point.held == (part == DataSplit::Held)).collect();
                Resamples::Jobs((0..draw_count).map(|_| draw_weights(&points, &mut rng)).collect())
            }
        }
    }

    /// The loss of a part on `drive`, and that of each draw; `None` if there is no such part.
    pub fn simulate_losses(
        &self,
        drive: &DriveFile,
        part: DataSplit,
        resamples: Option<&Resamples>,
        cache: &ReadingCache,
    ) -> Result<Option<LossAndDraws>, Vec<Diagnostic>> {
        match self {
            FitData::Traced(traced) => traced.simulate_losses(drive, part, resamples, cache),
            FitData::Points(points) => {
                let draws = if let Some(Resamples::Jobs(draws)) = resamples { &draws[..] } else { &[] };
                let figures = super::points::simulate_part(points, drive, part, cache)?;
                Ok(super::points::losses(points, part, &figures, draws))
            }
        }
    }
}

/// Draws `count` times from `count` items with replacement; returns how often each was drawn.
pub(crate) fn count_draws_with_replacement(count: usize, rng: &mut Rng) -> Vec<u32> {
    let mut counts = vec![0; count];
    (0..count).for_each(|_| counts[rng.below(count as u64) as usize] += 1);
    counts
}
