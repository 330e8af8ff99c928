//! Pilot runs: one of each cell, from a cold start and without a ramp, to see after which time it is steady and how
//! many requests a second it does. No result has figures of a pilot.
//!
//! A pilot is cut into 40 equal times, 10 of which are a short run. For requests and for the mean response of each, the
//! first ten from some time on are compared with the second half of the pilot: they must agree within two standard errors,
//! or within a quarter of the margin. The ramp ends at the first time from which on all agree, up to the half. The standard
//! error takes neighbouring times as a process of first order (the factor (1 + r) / (1 − r) of the variance of a mean, with
//! the correlation r of neighbours: G. S. Fishman, "Principles of Discrete Event Simulation", 1978).

mod sharing;

use std::collections::BTreeMap;

use rayon::prelude::*;
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
use super::{BEYOND, REQUESTS};
use crate::HAS_THREADS;
use crate::finding::{metric_needs, requests_of};
use crate::plan::{PreparedCell, set_job};
use crate::run::{RunRecord, measure_run_until};

/// Equal times of a pilot.
const TIMES: usize = 40;

/// Equal times of a short run.
const WINDOW: usize = 10;

/// Where the second half begins.
const HALF: usize = TIMES / 2;

/// Standard errors that count as noise: the customary two (5 %).
const NOISE: f64 = 2.0;

/// The share of the margin that counts as no difference: what is left over then moves no verdict.
const OF_MARGIN: f64 = 0.25;

/// The strongest correlation of neighbours that is noise; a stronger one is taken for a drift (inferred).
const MOST_CORRELATED: f64 = 0.5;

/// Mean response times after which a full queue has forgotten how it was filled: by Little's law, one in which every place
/// was served once; ten, since an elevator or a shortest-time-first queue may pass a place over several times (inferred).
const GENERATIONS: f64 = 10.0;

/// How many times longer the second pilot of a cell is that was not steady: a pilot is a forty-fifth of a fixed sample.
const LONGER: u64 = 4;

/// The run of its seeds that a pilot has: beyond all that a study may have.
const RUN: u64 = 1 << 40;

/// The result of a pilot.
#[derive(Clone, Debug)]
pub struct Pilot {
    /// How long it was.
    pub length_ns: u64,
    /// Nanoseconds after which it is steady; nothing if it was not by the half.
    pub settled_ns: Option<u64>,
    record: RunRecord,
}

/// Watches pilots.
pub struct PilotWatch<'a> {
    /// Gets the most pilots that there will be; called again when it has turned out how many cells need a second one.
    pub begun: &'a dyn Fn(u64),
    /// Called when a pilot has ended.
    pub ended: &'a (dyn Fn() + Sync),
    /// Whether they are to end early, which is then an error.
    pub cancelled: Cancelled<'a>,
}

impl PilotWatch<'static> {
    /// Watches nothing.
    pub const NONE: PilotWatch<'static> = PilotWatch { begun: &|_| {}, ended: &|| {}, cancelled: &|| false };
}

/// All pilots.
pub struct Pilots {
    pub of_cell: BTreeMap<usize, Pilot>,
    /// Nanoseconds of virtual time.
    pub virtual_ns: u64,
}

/// Runs a pilot of these nanoseconds of each of these cells, and a longer one where it was not steady; cells that run alike
/// share one.
pub fn run_pilots(
    study: &Study,
    prepared: &[PreparedCell],
    wanted: impl Iterator<Item = (usize, u64)>,
    threads: usize,
    watch: &PilotWatch<'_>,
) -> Result<Pilots, RunError> {
    let (margin, seed) = (study.margin_percent / 100.0, Seed(study.seed).run_seed(RUN).0);
    let build = || rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
    let pool = HAS_THREADS.then(build);
    let cores = pool.as_ref().map_or(1, rayon::ThreadPool::current_num_threads);
    let all = |wanted: &[(usize, u64)]| {
        run_shared(prepared, wanted, cores, |list| {
            let (cancelled, ended) = (watch.cancelled, watch.ended);
            let one = |&(cell, nanos): &(usize, u64)| {
                let pilot = run_pilot(RunCutoff::when_cancelled(cancelled), &prepared[cell], nanos, margin, seed)?;
                ended();
                Ok(pilot)
            };
            let run = || list.par_iter().map(&one).collect();
            pool.as_ref().map_or_else(run, |pool| pool.install(run))
        })
    };
    let wanted: Vec<(usize, u64)> = wanted.collect();
    (watch.begun)(wanted.len() as u64);
    let mut pilots = all(&wanted)?;
    let cold = |(cell, _): &&(usize, u64)| pilots.of_cell[cell].settled_ns.is_none();
    let again: Vec<(usize, u64)> = wanted.iter().filter(cold).map(|&(cell, nanos)| (cell, LONGER * nanos)).collect();
    if !again.is_empty() {
        (watch.begun)((wanted.len() + again.len()) as u64);
    }
    let longer = all(&again)?;
    pilots.virtual_ns += longer.virtual_ns;
    pilots.of_cell.extend(longer.of_cell);
    Ok(pilots)
}

fn run_pilot(
    cutoff: RunCutoff<'_>,
    cell: &PreparedCell,
    nanos: u64,
    margin: f64,
    seed: u64,
) -> Result<Pilot, RunError> {
    let mut job = cell.job.clone();
    for (key, nanos) in [(job::RUNTIME, nanos), (job::RAMP, 0)] {
        set_job("pilot", &mut job, key, &Duration { nanos }.to_string()).expect("jobs of workers have both keys");
    }
    let each = (nanos / TIMES as u64).max(1);
    let mut times = [PilotTime::default(); TIMES];
    let watch = |record: &Record| {
        let place = record.completion.finished.nanos() / each;
        let counted = matches!(record.request.op, Op::Read | Op::Write);
        if let Some(time) = times.get_mut(place as usize).filter(|_| counted) {
            time.requests += 1;
            time.response_ns += u128::from(record.completion.finished.nanos() - record.issued.nanos());
        }
    };
    let measured = measure_run_until(cutoff, &cell.target, &job, seed, watch)?;
    let record = measured.to_record("pilot", job.name(), seed, Vec::new());
    let settled_ns = settled_from(&times, margin).map(|place| place as u64 * each);
    Ok(Pilot { length_ns: nanos, settled_ns, record })
}

/// Requests that ended in one of the equal times.
#[derive(Clone, Copy, Default)]
struct PilotTime {
    requests: u64,
    response_ns: u128,
}

/// The first time from which on a pilot is steady; nothing if it was not by the half.
fn settled_from(times: &[PilotTime; TIMES], margin: f64) -> Option<usize> {
    let requests = times.map(|time| time.requests as f64);
    let response = times.map(|time| time.response_ns as f64 / time.requests.max(1) as f64);
    let mut series = vec![requests];
    // Where nothing ended in some time there is no mean.
    if times.iter().all(|time| time.requests > 0) {
        series.push(response);
    }
    series.iter().map(|series| steady_from(series, margin)).try_fold(0, |latest, one| Some(latest.max(one?)))
}

fn steady_from(series: &[f64; TIMES], margin: f64) -> Option<usize> {
    let later = &series[HALF..];
    let (mean, error) = (mean(later), deviation_from_trend(later));
    // Both means err.
    let noise = NOISE * error * (1.0 / WINDOW as f64 + 1.0 / HALF as f64).sqrt();
    let allowed = noise.max(OF_MARGIN * margin * mean.abs());
    let agrees = |from: usize| (self::mean(&series[from..from + WINDOW]) - mean).abs() <= allowed;
    let last_off = (0..=HALF).rev().find(|&from| !agrees(from));
    let first = last_off.map_or(0, |from| from + 1);
    (first <= HALF).then_some(first)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The deviation of values that are neighbours in time from their trend, such that a mean of n of them errs by it over √n. A
/// drift is no noise, so the line through them is taken off.
fn deviation_from_trend(values: &[f64]) -> f64 {
    let (mean, middle) = (mean(values), (values.len() - 1) as f64 / 2.0);
    let at = |place: usize| place as f64 - middle;
    let spread: f64 = (0..values.len()).map(|place| at(place).powi(2)).sum();
    let slope = values.iter().enumerate().map(|(place, value)| at(place) * (value - mean)).sum::<f64>() / spread;
    let off: Vec<f64> = values.iter().enumerate().map(|(place, value)| value - mean - slope * at(place)).collect();
    let squares: f64 = off.iter().map(|off| off * off).sum();
    if squares == 0.0 {
        return 0.0;
    }
    let neighbours: f64 = off.windows(2).map(|two| two[0] * two[1]).sum();
    let correlation = (neighbours / squares).clamp(0.0, MOST_CORRELATED);
    (squares / (values.len() - 2) as f64 * (1.0 + correlation) / (1.0 - correlation)).sqrt()
}

impl Pilot {
    /// Nanoseconds after which a full queue has forgotten how it was filled.
    pub fn warm_ns(&self) -> u64 {
        let mean = self.record.all.response_ms.map_or(0.0, |response| response.mean);
        super::round_to_ms((GENERATIONS * mean * 1e6) as u64)
    }

    /// Nanoseconds of the times that are averaged together. A shorter run may be less steady: what passes within a part
    /// of them, such as a buffer that fills, is a small part of their mean, and the whole of a short run's.
    pub const fn looked_at_ns(&self) -> u64 {
        self.length_ns / TIMES as u64 * WINDOW as u64
    }

    /// Nanoseconds in which a run has the requests that a metric needs.
    pub fn enough_ns(&self, metric: &Metric) -> u64 {
        let done = requests_of(metric, &self.record);
        let needed = metric_needs(metric, BEYOND).unwrap_or(REQUESTS).max(REQUESTS);
        // A tenth more: the pace varies from run to run.
        let seconds = 1.1 * needed as f64 * self.record.elapsed_s / done as f64;
        if done > 0 { (seconds * 1e9) as u64 } else { u64::MAX }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(requests: impl Fn(usize) -> u64) -> [PilotTime; TIMES] {
        std::array::from_fn(|place| PilotTime {
            requests: requests(place),
            response_ns: 1_000 * u128::from(requests(place)),
        })
    }

    #[test]
    fn a_steady_run_needs_no_ramp() {
        assert_eq!(settled_from(&times(|_| 100), 0.02), Some(0));
        // Two in a hundred up and down is noise.
        assert_eq!(settled_from(&times(|place| 98 + 4 * (place as u64 % 2)), 0.02), Some(0));
    }

    #[test]
    fn a_cold_start_is_left_out() {
        // A burst of ten per cent in the first six times.
        let burst = |place: usize| if place < 6 { 1_100 } else { 1_000 };
        let found = settled_from(&times(burst), 0.02).unwrap();
        assert_eq!(found, 6, "a window with one of six times in it is 1 % off");
        assert_eq!(settled_from(&times(burst), 0.2), Some(1), "within a quarter of a wider margin");
    }

    #[test]
    fn what_drifts_to_the_end_is_never_steady() {
        assert_eq!(settled_from(&times(|place| 1_000 - 10 * place as u64), 0.02), None);
        let slowly = |place: usize| 1_000 + (300.0 * (-(place as f64) / 25.0).exp()) as u64;
        assert_eq!(settled_from(&times(slowly), 0.02), None);
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
