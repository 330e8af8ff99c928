//! Pilot runs: one of each cell, from a cold start and without a ramp, to see from which time on it is steady and how many requests a second
//! it does. No result has figures of a pilot.
//!
//! A pilot is cut into 40 slices of equal time, 10 of which are a short run. For the number of requests and for the mean response of each
//! slice, the mean of ten slices is compared with that of the pilot's second half: they must agree within two standard errors, or within a
//! quarter of the margin. The ramp ends at the first slice from which on all such windows agree, in the first half at the latest.
//!
//! The standard error takes neighbouring slices as a process of first order (the factor (1 + r) / (1 − r) of the variance of a mean, with
//! the correlation r of neighbours: G. S. Fishman, "Principles of Discrete Event Simulation", 1978).

mod sharing;

use std::collections::BTreeMap;

use seekwise_disk::block::Op;
use seekwise_disk::record::Record;
use seekwise_disk::rng::Seed;
use seekwise_drives::duration::Duration;
use seekwise_drives::key_names::job;
use seekwise_drives::metric::Metric;
use seekwise_formats::study::Study;
use seekwise_run::cutoff::{Cancelled, RunCutoff};
use seekwise_run::outcome::RunError;

use self::sharing::run_shared;
use super::{REQUESTS, VALUES_ABOVE};
use crate::finding::{metric_needs, requests_of};
use crate::plan::{PreparedCell, set_job};
use crate::run::{RunRecord, measure_run_until};
use crate::study::cell_record;
use crate::workers::Workers;

/// Slices of equal time of a pilot.
const SLICES: usize = 40;

/// Slices of a short run.
const WINDOW: usize = 10;

/// The first slice of the second half.
const HALF: usize = SLICES / 2;

/// Standard errors that count as noise: the customary two (5 %).
const NOISE: f64 = 2.0;

/// The share of the margin that counts as no difference: a remainder so small moves no verdict.
const OF_MARGIN: f64 = 0.25;

/// The strongest correlation of neighbours that is noise; a stronger one is taken for a drift (inferred).
const MOST_CORRELATED: f64 = 0.5;

/// Mean response times after which a full queue no longer depends on how it was filled. By Little's law every place of the queue is served
/// once in one mean response time; ten, since an elevator or a shortest-time-first queue may pass a place over several times (inferred).
const GENERATIONS: f64 = 10.0;

/// The length of a second pilot, of a cell that was not steady, in lengths of the first. A first pilot is a forty-fifth of a fixed sample.
const LONGER: u64 = 4;

/// The number of a pilot among the runs of a seed: beyond all that a study may have.
const PILOT_RUN: u64 = 1 << 40;

/// The result of a pilot.
#[derive(Clone, Debug)]
pub struct Pilot {
    pub length_ns: u64,
    /// The time after which it is steady; nothing if it was not in the first half.
    pub settled_ns: Option<u64>,
    record: RunRecord,
}

/// The observer of pilots.
pub struct PilotWatch<'a> {
    /// Gets the largest number of pilots that there may be; called again when it is known how many cells need a second one.
    pub begun: &'a dyn Fn(u64),
    /// Called when a pilot has ended.
    pub ended: &'a (dyn Fn() + Sync),
    /// Tells whether to end early, with an error.
    pub cancelled: Cancelled<'a>,
}

impl PilotWatch<'static> {
    /// Watches nothing.
    pub const NONE: PilotWatch<'static> = PilotWatch { begun: &|_| {}, ended: &|| {}, cancelled: &|| false };
}

/// All pilots.
pub(crate) struct Pilots {
    pub of_cell: BTreeMap<usize, Pilot>,
    /// Virtual time of all.
    pub virtual_ns: u64,
}

/// A pilot to run.
#[derive(Clone, Copy)]
pub(crate) struct CellPilot {
    /// The index of the cell.
    pub cell: usize,
    pub length_ns: u64,
}

/// Runs the wanted pilots, and longer ones of cells that were not steady. Cells whose runs would be equal share a pilot.
pub(crate) fn run_pilots(
    study: &Study,
    prepared: &[PreparedCell],
    wanted: impl Iterator<Item = CellPilot>,
    threads: usize,
    watch: &PilotWatch<'_>,
) -> Result<Pilots, RunError> {
    let (margin, seed) = (study.margin_percent / 100.0, Seed(study.seed).run_seed(PILOT_RUN).0);
    let workers = Workers::with_threads(threads);
    let run_all = |wanted: &[CellPilot]| {
        run_shared(prepared, wanted, workers.thread_count(), |list| {
            let (cancelled, ended) = (watch.cancelled, watch.ended);
            let run_one = |&CellPilot { cell, length_ns }: &CellPilot| {
                let pilot = run_pilot(RunCutoff::when_cancelled(cancelled), &prepared[cell], length_ns, margin, seed)?;
                ended();
                Ok(pilot)
            };
            workers.map(list, run_one)
        })
    };
    let wanted: Vec<CellPilot> = wanted.collect();
    (watch.begun)(wanted.len() as u64);
    let mut pilots = run_all(&wanted)?;
    let is_unsteady = |wanted: &&CellPilot| pilots.of_cell[&wanted.cell].settled_ns.is_none();
    let lengthened = |wanted: &CellPilot| CellPilot { length_ns: LONGER * wanted.length_ns, ..*wanted };
    let second: Vec<CellPilot> = wanted.iter().filter(is_unsteady).map(lengthened).collect();
    if !second.is_empty() {
        (watch.begun)((wanted.len() + second.len()) as u64);
    }
    let longer = run_all(&second)?;
    pilots.virtual_ns += longer.virtual_ns;
    pilots.of_cell.extend(longer.of_cell);
    Ok(pilots)
}

fn run_pilot(
    cutoff: RunCutoff<'_>,
    cell: &PreparedCell,
    length_ns: u64,
    margin: f64,
    seed: u64,
) -> Result<Pilot, RunError> {
    let mut job = cell.job.clone();
    for (key, nanos) in [(job::RUNTIME, length_ns), (job::RAMP, 0)] {
        set_job("pilot", &mut job, key, &Duration { nanos }.to_string()).expect("jobs of workers have both keys");
    }
    let slice_ns = (length_ns / SLICES as u64).max(1);
    let mut slices = [PilotSlice::default(); SLICES];
    let watch = |record: &Record| {
        let index = record.completion.finished.nanos() / slice_ns;
        let is_counted = matches!(record.request.op, Op::Read | Op::Write);
        if let Some(slice) = slices.get_mut(index as usize).filter(|_| is_counted) {
            slice.requests += 1;
            slice.response_ns += u128::from(record.completion.finished.nanos() - record.issued.nanos());
        }
    };
    let measured = measure_run_until(cutoff, &cell.target, &job, seed, None, watch)?;
    let settled_ns = first_steady_slice(&slices, margin).map(|index| index as u64 * slice_ns);
    Ok(Pilot { length_ns, settled_ns, record: cell_record(cell, &measured, seed) })
}

/// Reads and writes that ended in a slice.
#[derive(Clone, Copy, Default)]
struct PilotSlice {
    requests: u64,
    /// The sum of their response times.
    response_ns: u128,
}

/// The first slice from which on a pilot is steady; `None` if there is none in the first half.
fn first_steady_slice(slices: &[PilotSlice; SLICES], margin: f64) -> Option<usize> {
    let requests = slices.map(|slice| slice.requests as f64);
    let response = slices.map(|slice| slice.response_ns as f64 / slice.requests.max(1) as f64);
    let mut series = vec![requests];
    // If nothing ended in a slice, it has no mean.
    if slices.iter().all(|slice| slice.requests > 0) {
        series.push(response);
    }
    series.iter().map(|series| first_steady_index(series, margin)).try_fold(0, |latest, first| Some(latest.max(first?)))
}

/// The first index from which on the mean of each window agrees with that of the second half.
fn first_steady_index(series: &[f64; SLICES], margin: f64) -> Option<usize> {
    let second_half = &series[HALF..];
    let (mean, error) = (mean(second_half), deviation_from_trend(second_half));
    // Both means have an error.
    let noise = NOISE * error * (1.0 / WINDOW as f64 + 1.0 / HALF as f64).sqrt();
    let allowed = noise.max(OF_MARGIN * margin * mean.abs());
    let agrees = |from: usize| (self::mean(&series[from..from + WINDOW]) - mean).abs() <= allowed;
    let last_disagreeing = (0..=HALF).rev().find(|&from| !agrees(from));
    let first = last_disagreeing.map_or(0, |from| from + 1);
    (first <= HALF).then_some(first)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The deviation of values that are neighbours in time from the line through them, scaled so that a mean of n values has the error
/// deviation / √n. A drift is no noise, so the line is subtracted.
fn deviation_from_trend(values: &[f64]) -> f64 {
    let (mean, middle) = (mean(values), (values.len() - 1) as f64 / 2.0);
    let x = |index: usize| index as f64 - middle;
    let spread: f64 = (0..values.len()).map(|index| x(index).powi(2)).sum();
    let slope = values.iter().enumerate().map(|(index, value)| x(index) * (value - mean)).sum::<f64>() / spread;
    let residuals: Vec<f64> = values.iter().enumerate().map(|(index, value)| value - mean - slope * x(index)).collect();
    let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
    if squares == 0.0 {
        return 0.0;
    }
    let neighbour_products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let correlation = (neighbour_products / squares).clamp(0.0, MOST_CORRELATED);
    (squares / (values.len() - 2) as f64 * (1.0 + correlation) / (1.0 - correlation)).sqrt()
}

impl Pilot {
    /// The time after which a full queue no longer depends on how it was filled.
    pub(crate) fn queue_warm_up_ns(&self) -> u64 {
        let mean = self.record.all.response_ms.map_or(0.0, |response| response.mean);
        super::round_up_to_ms((GENERATIONS * mean * 1e6) as u64)
    }

    /// The time of the slices that are averaged together. A shorter run may be less steady: an event within this time, such as a buffer that
    /// fills, is a small part of the slices' mean, and could be the whole of a shorter run's.
    pub(crate) const fn averaging_window_ns(&self) -> u64 {
        self.length_ns / SLICES as u64 * WINDOW as u64
    }

    /// The time in which a run does the requests that a metric needs.
    pub(crate) fn needed_runtime_ns(&self, metric: &Metric) -> u64 {
        let done = requests_of(metric, &self.record);
        let needed = metric_needs(metric, VALUES_ABOVE).unwrap_or(REQUESTS).max(REQUESTS);
        // A tenth more: the pace varies from run to run.
        let seconds = 1.1 * needed as f64 * self.record.elapsed_s / done as f64;
        if done > 0 { (seconds * 1e9) as u64 } else { u64::MAX }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slices(requests: impl Fn(usize) -> u64) -> [PilotSlice; SLICES] {
        std::array::from_fn(|place| PilotSlice {
            requests: requests(place),
            response_ns: 1_000 * u128::from(requests(place)),
        })
    }

    #[test]
    fn a_steady_run_needs_no_ramp() {
        assert_eq!(first_steady_slice(&slices(|_| 100), 0.02), Some(0));
        // Two in a hundred up and down is noise.
        assert_eq!(first_steady_slice(&slices(|place| 98 + 4 * (place as u64 % 2)), 0.02), Some(0));
    }

    #[test]
    fn a_cold_start_is_left_out() {
        // A burst of ten per cent in the first six times.
        let burst = |place: usize| if place < 6 { 1_100 } else { 1_000 };
        let found = first_steady_slice(&slices(burst), 0.02).unwrap();
        assert_eq!(found, 6, "a window with one of six times in it is 1 % off");
        assert_eq!(first_steady_slice(&slices(burst), 0.2), Some(1), "within a quarter of a wider margin");
    }

    #[test]
    fn what_drifts_to_the_end_is_never_steady() {
        assert_eq!(first_steady_slice(&slices(|place| 1_000 - 10 * place as u64), 0.02), None);
        let slowly = |place: usize| 1_000 + (300.0 * (-(place as f64) / 25.0).exp()) as u64;
        assert_eq!(first_steady_slice(&slices(slowly), 0.02), None);
    }

    #[test]
    fn neighbours_that_are_alike_make_the_error_larger() {
        let alone: Vec<f64> = (0..20).map(|place| f64::from(place % 2)).collect();
        let alike: Vec<f64> = (0..20).map(|place| f64::from(place / 5 % 2)).collect();
        assert!(
            deviation_from_trend(&alike) > 1.5 * deviation_from_trend(&alone),
            "{} {}",
            deviation_from_trend(&alike),
            deviation_from_trend(&alone)
        );
        assert_eq!(deviation_from_trend(&[3.0; 4]), 0.0);
    }
}
