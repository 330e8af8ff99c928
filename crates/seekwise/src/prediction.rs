//! A prediction against a measurement, as `seekwise compare --against` makes it: a job runs on a modelled drive and on
//! a real file or device, and their figures and distributions of response times are compared.

use std::collections::BTreeSet;

use seekwise_disk::block::SECTOR;
use seekwise_disk::time::Span;
use seekwise_drives::key_names::{is_job_key, is_real_key, job};
use seekwise_lab::plan::study_cells;
use seekwise_lab::run::pool_responses;
use seekwise_lab::stats::demerit::demerit_ms_of_histograms;
use seekwise_lab::stats::mean_interval;
use seekwise_lab::stats::response::Response;
use seekwise_lab::validate::platter;
use serde_json::{Value, json};

use crate::bounds::Bounds;
use crate::error::Error;
use crate::execute::{Progress, make_runs};
use crate::observer::Observer;
use crate::setup::{Setup, reject_repeated_keys};
use crate::store::InMemory;
use crate::study::warn_once;
use crate::study_plan::{PlannedStudy, prepare_study};

/// Runs of both sides, their distributions, and means with intervals.
pub use seekwise_lab::run::{KindRecord, RunRecord};
pub use seekwise_lab::stats::{Histogram, Interval};

/// Bytes of the largest logical sector of any drive: both sides have whole ones.
const BLOCK_BYTES: u64 = 4096;

/// The accepted share of intervals that miss the true value, as everywhere (docs/statistics.md).
const ALPHA: f64 = 0.05;

/// A figure of a run: its name with the unit, and its value.
pub(crate) type RunFigure = (&'static str, fn(&KindRecord) -> f64);

/// The figures that are compared.
pub const FIGURES: [RunFigure; 7] = [
    ("requests/s", |view| view.iops),
    ("MB/s", |view| view.bytes_per_s / 1e6),
    ("mean ms", |view| view.mean_ms()),
    ("p50 ms", |view| view.response_ms.map_or(0.0, |times| times.p50)),
    ("p90 ms", |view| view.response_ms.map_or(0.0, |times| times.p90)),
    ("p99 ms", |view| view.response_ms.map_or(0.0, |times| times.p99)),
    ("p99.9 ms", |view| view.response_ms.map_or(0.0, |times| times.p99_9)),
];

/// A measurement and its prediction.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Prediction {
    /// The drive that it was predicted on.
    pub drive: String,
    /// Runs on the modelled drive.
    pub predictions: Vec<RunRecord>,
    /// Runs on the real file or device.
    pub measurements: Vec<RunRecord>,
    /// A revolution of the modelled drive's platter.
    pub revolution: Span,
}

/// Predicts `setup` on `drive`, then measures it, in `runs` runs each.
pub fn predict_and_measure(
    setup: &Setup,
    drive: &str,
    runs: u32,
    bounds: &Bounds,
    observer: &dyn Observer,
) -> Result<Prediction, Error> {
    let [measured, predicted] = plan_sides(setup, drive, runs)?;
    warn_once([&measured, &predicted].into_iter().flat_map(|side| &side.prepared[0].warnings));
    for side in [&measured, &predicted] {
        bounds.threads_within_memory(&side.to_run_plan(1, false))?;
    }
    let progress = Progress::begin(observer, Some(2 * u64::from(runs)), 0);
    let make_side = |side: &PlannedStudy| make_runs(side, None, 1, &progress, Vec::new(), &mut InMemory);
    // The prediction runs first, so that it does not compute while the other side is measured.
    let (predictions, measurements) = (make_side(&predicted)?, make_side(&measured)?);
    let stack = predicted.prepared[0].target.stack().expect("it is modelled");
    let revolution = stack.profile.mechanics.revolution();
    let prediction = Prediction { drive: drive.to_owned(), predictions, measurements, revolution };
    prediction.check_requests()?;
    Ok(prediction)
}

/// Plans the measured and the predicted side: the same job in the same space.
fn plan_sides(setup: &Setup, drive: &str, runs: u32) -> Result<[PlannedStudy; 2], Error> {
    let side_setup = |target: &str, keeps_key: &dyn Fn(&str) -> bool, destroy: Option<String>| Setup {
        target: target.to_owned(),
        set: setup.set.iter().filter(|(key, _)| keeps_key(key)).cloned().collect(),
        destroy,
        ..setup.clone()
    };
    reject_repeated_keys(&setup.set)?;
    let mut measured = side_setup(&setup.target, &|key| is_real_key(key) || is_job_key(key), setup.destroy.clone());
    let mut predicted = side_setup(drive, &|key| !is_real_key(key), None);
    let measured_cell = measured.prepare()?;
    if !measured_cell.target.is_measured() {
        return Err(Error::new(format!(
            "--against {drive}: {0} is not measured; expected --on file:PATH, device:PATH or another real-time target; to compare two \
             modelled drives: --vary drive={0},{drive}",
            setup.target
        )));
    }
    if !setup.set.iter().any(|(key, _)| key == job::SPAN) {
        let space_bytes = measured_cell.target.sectors() * SECTOR / BLOCK_BYTES * BLOCK_BYTES;
        for side in [&mut measured, &mut predicted] {
            side.set.push((job::SPAN.to_owned(), space_bytes.to_string()));
        }
    }
    drop(measured_cell);
    let plan = |side: &Setup| -> Result<PlannedStudy, Error> {
        let study = side.study(side.cell()?, format!("How fast is {}?", side.title()), runs)?;
        // Nobody keeps it, so that it needs no text.
        let cells = study_cells(&study);
        Ok(prepare_study("command line", "", study, &cells, &setup.files.inputs())?)
    };
    let predicted = plan(&predicted)?;
    if predicted.made.is_measured() {
        return Err(Error::new(format!("--against {drive}: not a modelled disk; expected a drive or a stack file")));
    }
    Ok([plan(&measured)?, predicted])
}

/// The mean of a figure over runs, with its interval if there are runs enough for one.
pub fn mean_over_runs(runs: &[RunRecord], figure: fn(&KindRecord) -> f64) -> Interval {
    let values: Vec<f64> = runs.iter().map(|run| figure(&run.all)).collect();
    let estimate = values.iter().sum::<f64>() / values.len() as f64;
    mean_interval(&values, ALPHA).unwrap_or(Interval { estimate, low: estimate, high: estimate })
}

impl Prediction {
    fn check_requests(&self) -> Result<(), Error> {
        for (name, runs) in [("predicted", &self.predictions), ("measured", &self.measurements)] {
            if let Some(run) = runs.iter().find(|run| run.all.ios == 0) {
                let warnings: String = run.warnings.iter().map(|warning| format!("; {warning}")).collect();
                return Err(Error::new(format!("a {name} run did no reads or writes{warnings}")));
            }
        }
        Ok(())
    }

    /// Whether both sides drew equal first requests, run by run and worker by worker.
    pub fn has_same_requests(&self) -> bool {
        let pairs = self.predictions.iter().zip(&self.measurements);
        pairs.into_iter().all(|(predicted, measured)| predicted.streams == measured.streams)
    }

    /// The distributions of response times over all runs: predicted, measured.
    pub fn pooled(&self) -> [Histogram; 2] {
        [&self.predictions, &self.measurements].map(|runs| pool_responses(&runs.iter().collect::<Vec<_>>()))
    }

    /// How far the two distributions are apart, as their demerit figure: in ms, and in percent of the measured mean.
    pub fn demerit_ms_and_percent(&self) -> (f64, f64) {
        let [predicted, measured] = self.pooled();
        let demerit_ms = demerit_ms_of_histograms(&predicted, &measured);
        let mean_ms = measured.mean_ns().unwrap_or(0.0) / 1e6;
        (demerit_ms, if mean_ms > 0.0 { 100.0 * demerit_ms / mean_ms } else { 0.0 })
    }

    /// Signs that what was measured is no platter of the modelled drive's speed, by the medians of reads and of writes.
    pub fn doubts(&self) -> Vec<String> {
        type KindOfRun = fn(&RunRecord) -> &KindRecord;
        let kinds: [(&str, KindOfRun); 2] = [("reads", |run| &run.read), ("writes", |run| &run.write)];
        let mean_median_ms = |runs: &[RunRecord], kind: KindOfRun| {
            let times: Vec<f64> = runs.iter().filter_map(|run| kind(run).response_ms).map(|times| times.p50).collect();
            times.iter().sum::<f64>() / times.len().max(1) as f64
        };
        let doubt = |(words, kind): (&str, KindOfRun)| {
            platter::platter_doubt(
                words,
                mean_median_ms(&self.measurements, kind),
                mean_median_ms(&self.predictions, kind),
                self.revolution,
            )
        };
        kinds.into_iter().filter_map(doubt).collect()
    }

    /// The warnings of the runs, each once.
    pub fn warnings(&self) -> BTreeSet<&String> {
        self.predictions.iter().chain(&self.measurements).flat_map(|run| &run.warnings).collect()
    }

    /// The whole result as JSON.
    pub fn json(&self) -> Value {
        let interval_json =
            |figure: Interval| json!({"estimate": figure.estimate, "low": figure.low, "high": figure.high});
        let figures: serde_json::Map<String, Value> = FIGURES
            .iter()
            .map(|(name, figure)| {
                let (predicted, measured) =
                    (mean_over_runs(&self.predictions, *figure), mean_over_runs(&self.measurements, *figure));
                let value = json!({"predicted": interval_json(predicted), "measured": interval_json(measured),
                                   "ratio": measured.estimate / predicted.estimate});
                ((*name).to_owned(), value)
            })
            .collect();
        let (demerit_ms, demerit_percent) = self.demerit_ms_and_percent();
        let pools = self.pooled().map(|pool| Response::from_histogram(&pool));
        json!({"against": self.drive, "runs": self.measurements.len(), "figures": figures,
               "response_ms": {"predicted": pools[0], "measured": pools[1]},
               "demerit_ms": demerit_ms, "demerit_percent": demerit_percent, "same_requests": self.has_same_requests(), "doubts": self.doubts(),
               "predicted": self.predictions, "measured": self.measurements, "warnings": self.warnings()})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_work_in_the_space_of_the_measured_one_or_in_the_span_that_is_set() {
        let spans = |setup: &Setup| {
            plan_sides(setup, "exos-x18", 1).unwrap().map(|side| {
                let set = side.made.cells[0].cell.settings.iter().filter(|(key, _)| key == job::SPAN);
                set.map(|(_, value)| value.clone()).collect::<Vec<_>>()
            })
        };
        // The null target has 250 GiB.
        let null = Setup::new("random-read", "null");
        assert_eq!(spans(&null), [["268435456000"]; 2]);
        assert_eq!(spans(&null.with(job::SPAN, "1g")), [["1g"]; 2]);
    }
}
