//! The data of a fit: measured traces, and jobs with their figures. Each can be repeated on a drive with other figures, and returns its
//! distance from the measurements.
//!
//! The search sees one part ([`DataSplit::Seen`]); the other is held back to test the result.

use seekwise_disk::block::Op;
use seekwise_disk::drive::profile::Profile;
use seekwise_disk::record::{Part as Place, Record};
use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::stack::Stack;
use seekwise_disk::time::Span;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::key_names::figure;
use seekwise_drives::profile::{DriveFile, ReadingCache};
use seekwise_formats::trace::measured::MeasuredTrace;
use seekwise_run::cutoff::RunCutoff;
use seekwise_work::workload::replay::Timing;

use super::loss::{BLOCKS, MeasuredRequests};
use super::points::{MeasuredPoint, PointWeight, configured_profile, draw_weights};
use super::slope::{SimulatedValue, SlopeTarget};
use crate::validate::{ResponseSamples, check_fits, replay_rows};

/// Start phases over which a replay by arrival is averaged: each request then meets another phase. A closed loop sets its own phase with
/// the first access, so one is enough.
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
    pub set: Vec<(String, String)>,
    /// The results of another simulator, for display only.
    pub beside: Option<ReferenceTimes>,
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

/// Resamples of a part of the data.
#[derive(Clone, Debug, PartialEq)]
pub enum Resamples {
    /// For each draw, how often each block of a trace counts.
    Blocks(Vec<Vec<u32>>),
    /// For each draw and job, its weight and the errors added to its figures.
    Jobs(Vec<Vec<PointWeight>>),
}

/// A kind of data.
#[derive(Clone, Debug)]
pub enum FitData {
    Traced(Box<FitTrace>),
    /// Jobs with their figures.
    Points(Vec<MeasuredPoint>),
}

impl FitTrace {
    /// Makes the data of a trace, of which the share `held` (0 to 1) is held back at its end.
    pub fn new(
        file: &str,
        trace: MeasuredTrace,
        held: f64,
        timing: Timing,
        set: Vec<(String, String)>,
    ) -> Result<FitTrace, Diagnostic> {
        let all = trace.rows.len();
        let seen = ((1.0 - held) * all as f64).round() as usize;
        for (part, n) in [("seen", seen), ("held back", all - seen)] {
            if n > 0 && n < FEWEST_REQUESTS {
                let message = format!("{n} of its {all} requests would be {part}: too few to tell a drive from chance");
                let fault = Diagnostic::at(file, 0, message);
                return Err(fault.with_expected(format!("at least {FEWEST_REQUESTS} in each part, better thousands")));
            }
        }
        let compared = |range: std::ops::Range<usize>| {
            (!range.is_empty()).then(|| MeasuredRequests::new(&trace.rows, &trace.measured, range))
        };
        let parts = [compared(0..seen), compared(seen..all)];
        Ok(FitTrace { file: file.to_owned(), seen, timing, set, beside: None, parts, trace })
    }

    /// Simulates the first `rows` requests with one start phase; returns their response times.
    fn response_times(&self, profile: &Profile, rows: usize, seed: u64) -> Result<Vec<Span>, Vec<Diagnostic>> {
        let mut times = vec![Span::ZERO; rows];
        self.replay_rows(
            profile,
            seed,
            &mut |record| times[record.request.stamp as usize - 1] = record.time_since_due(),
            rows,
        )?;
        Ok(times)
    }

    fn replay_rows(
        &self,
        profile: &Profile,
        seed: u64,
        recorder: &mut impl FnMut(&Record),
        rows: usize,
    ) -> Result<(), Vec<Diagnostic>> {
        let stack = Stack::bare(profile.clone());
        replay_rows(&stack, &self.trace.rows[..rows], self.timing, RunCutoff::NEVER, Seed(seed), recorder)
            .map_err(|error| vec![Diagnostic::at(&self.file, 0, error.to_string())])
    }

    /// Measured and simulated times of all requests on `drive`, with the first phase.
    pub(crate) fn response_samples(
        &self,
        drive: &DriveFile,
        cache: &ReadingCache,
    ) -> Result<ResponseSamples, Vec<Diagnostic>> {
        let profile = configured_profile(drive, &self.set, cache)?;
        check_fits(&self.file, &self.trace, &profile).map_err(|error| vec![error])?;
        let simulated = self.response_times(&profile, self.trace.rows.len(), 1)?;
        let read = self.trace.rows.iter().map(|row| row.op == Op::Read).collect();
        Ok(ResponseSamples { read, measured: self.trace.measured.clone(), simulated })
    }

    fn losses(
        &self,
        drive: &DriveFile,
        part: DataSplit,
        draws: Option<&Resamples>,
        cache: &ReadingCache,
    ) -> Result<Option<Vec<f64>>, Vec<Diagnostic>> {
        let Some(compared) = &self.parts[part as usize] else { return Ok(None) };
        let draws = if let Some(Resamples::Blocks(draws)) = draws { &draws[..] } else { &[] };
        let profile = configured_profile(drive, &self.set, cache)?;
        let cap = Span::from_nanos((15e9 / self.rpm(drive)) as u64);
        let phases = if self.timing == Timing::Arrival { PHASES } else { 1 };
        let mut sums = vec![0.0; 1 + draws.len()];
        for seed in 1..=phases {
            let (rows, from) = match part {
                DataSplit::Seen => (self.seen, 0),
                DataSplit::Held => (self.trace.rows.len(), self.seen),
            };
            let times = self.response_times(&profile, rows, seed)?;
            let losses = compared.losses(&times[from..], cap, draws);
            sums.iter_mut().zip(losses).for_each(|(sum, loss)| *sum += loss / phases as f64);
        }
        Ok(Some(sums))
    }

    /// Measured times of the seen requests, as shares of the mean of their direction: the loss's unit. A quarter of a revolution counts as
    /// far.
    fn slope_targets(&self, drive: &DriveFile) -> Vec<SlopeTarget> {
        let cut = 15e9 / self.rpm(drive);
        let one =
            |(measured, mean): (&Span, f64)| SlopeTarget { measured: measured.nanos() as f64 / mean, cut: cut / mean };
        self.trace.measured[..self.seen].iter().zip(self.direction_means()).map(one).collect()
    }

    /// For each seen request, the mean measured time of all of its direction.
    fn direction_means(&self) -> Vec<f64> {
        let mean = |op: Op| {
            let rows = self.trace.rows[..self.seen].iter().zip(&self.trace.measured).filter(|(row, _)| row.op == op);
            let (sum, n) = rows.fold((0.0, 0.0), |(sum, n), (_, time)| (sum + time.nanos() as f64, n + 1.0));
            f64::max(sum / f64::max(n, 1.0), 1.0)
        };
        let (reads, writes) = (mean(Op::Read), mean(Op::Write));
        self.trace.rows[..self.seen].iter().map(|row| if row.op == Op::Read { reads } else { writes }).collect()
    }

    fn simulated_values(
        &self,
        drive: &DriveFile,
        cache: &ReadingCache,
    ) -> Result<Vec<SimulatedValue>, Vec<Diagnostic>> {
        let mut all = vec![SimulatedValue { value: 0.0, wait: 0.0 }; self.seen];
        let means = self.direction_means();
        let mut heard = |record: &Record| {
            let row = record.request.stamp as usize - 1;
            let share = |time: Span| time.nanos() as f64 / means[row];
            all[row] = SimulatedValue {
                value: share(record.time_since_due()),
                wait: share(record.completion.parts.get(Place::Rotation)),
            };
        };
        self.replay_rows(&configured_profile(drive, &self.set, cache)?, 1, &mut heard, self.seen)?;
        Ok(all)
    }

    fn rpm(&self, drive: &DriveFile) -> f64 {
        drive.number(figure::MECHANICS_RPM).unwrap_or(7200.0)
    }
}

impl FitData {
    /// Number of requests, or of jobs, in a part.
    pub fn part_size(&self, part: DataSplit) -> usize {
        match self {
            FitData::Traced(traced) => traced.parts[part as usize].as_ref().map_or(0, MeasuredRequests::request_count),
            FitData::Points(points) => points.iter().filter(|point| point.held == (part == DataSplit::Held)).count(),
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
    pub fn simulated_values(
        &self,
        drive: &DriveFile,
        cache: &ReadingCache,
    ) -> Result<Vec<SimulatedValue>, Vec<Diagnostic>> {
        match self {
            FitData::Traced(traced) => traced.simulated_values(drive, cache),
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

    /// Draws a part `times` times: for a trace, how often each of its blocks counts. The draws are the same for every drive.
    pub fn draw_resamples(&self, part: DataSplit, times: usize, stream: &str) -> Resamples {
        let mut chance = Seed(1).stream(stream);
        match self {
            FitData::Traced(_) => Resamples::Blocks((0..times).map(|_| draw_counts(BLOCKS, &mut chance)).collect()),
            FitData::Points(points) => {
                let points: Vec<&MeasuredPoint> =
                    points.iter().filter(|point| point.held == (part == DataSplit::Held)).collect();
                Resamples::Jobs((0..times).map(|_| draw_weights(&points, &mut chance)).collect())
            }
        }
    }

    /// The loss of a part on `drive`, and that of each draw; `None` if there is no such part.
    pub fn losses(
        &self,
        drive: &DriveFile,
        part: DataSplit,
        draws: Option<&Resamples>,
        cache: &ReadingCache,
    ) -> Result<Option<Vec<f64>>, Vec<Diagnostic>> {
        match self {
            FitData::Traced(traced) => traced.losses(drive, part, draws, cache),
            FitData::Points(points) => {
                let draws = if let Some(Resamples::Jobs(draws)) = draws { &draws[..] } else { &[] };
                let figures = super::points::simulate_part(points, drive, part, cache)?;
                Ok(super::points::losses(points, part, &figures, draws))
            }
        }
    }
}

/// Draws `n` of `n` with replacement; returns how often each was drawn.
pub(crate) fn draw_counts(n: usize, chance: &mut Rng) -> Vec<u32> {
    let mut counts = vec![0; n];
    (0..n).for_each(|_| counts[chance.below(n as u64) as usize] += 1);
    counts
}
