//! `compare JOB --on file:… --against DRIVE`: the same work predicted on a modelled drive and measured on a real file or
//! device, figure by figure, with their distributions and how far these are apart.

use std::slice::from_ref;

use seekwise_lab::inputs::Inputs;
use seekwise_lab::plan::Prepared;
use seekwise_lab::run::{RunRecord, View, measure, pooled};
use seekwise_lab::stats::demerit::of_histograms;
use seekwise_lab::stats::response::Response;
use seekwise_lab::stats::{Histogram, Interval, mean_interval};
use seekwise_lab::study::record;
use seekwise_model::block::SECTOR;
use seekwise_model::rng::Seed;
use serde_json::{Value, json};

use super::super::{print, print_json, warn};
use crate::args::{self, On};
use crate::bounds::{Bounds, Plan};
use crate::exit::{Answer, Failure, Outcome};
use crate::files::{self, spoken};
use crate::output::{quoted, say};
use crate::progress::Progress;
use crate::screen;
use crate::tables::{figures_from, table};
use crate::target;

/// Bytes of the largest logical sector that a drive has: both sides have whole ones.
const BLOCK: u64 = 4096;

/// Share of wrong intervals that is borne, as everywhere (docs/statistics.md).
const ALPHA: f64 = 0.05;

/// Shares of requests at which the distributions are set side by side.
const SHARES: [(f64, &str); 8] = [
    (0.01, "1 %"),
    (0.1, "10 %"),
    (0.25, "25 %"),
    (0.5, "50 %"),
    (0.75, "75 %"),
    (0.9, "90 %"),
    (0.99, "99 %"),
    (0.999, "99.9 %"),
];

/// A figure of a run.
type Figure = (&'static str, fn(&View) -> f64);

/// The figures that are held against one another.
const FIGURES: [Figure; 7] = [
    ("requests/s", |view| view.iops),
    ("MB/s", |view| view.bytes_per_s / 1e6),
    ("mean ms", |view| view.mean_ms()),
    ("p50 ms", |view| view.response_ms.map_or(0.0, |times| times.p50)),
    ("p90 ms", |view| view.response_ms.map_or(0.0, |times| times.p90)),
    ("p99 ms", |view| view.response_ms.map_or(0.0, |times| times.p99)),
    ("p99.9 ms", |view| view.response_ms.map_or(0.0, |times| times.p99_9)),
];

/// Predicts, measures, and says both.
pub fn against(args: &args::Compare, drive: &str, bounds: &Bounds, json: bool) -> Outcome {
    let inputs = Inputs::today(&files::text);
    let [measured, predicted] = sides(args, drive, &inputs)?;
    warn(measured.warnings.iter().chain(&predicted.warnings));
    for side in [&measured, &predicted] {
        let runs = u64::from(args.runs);
        bounds.admit(&Plan { cells: from_ref(side), runs, cuts: 0, times: 1, threads: 1, seed: args.on.seed })?;
    }
    let progress = Progress::of(2 * u64::from(args.runs), "runs");
    let run = |side: &Prepared| -> Result<Vec<RunRecord>, Failure> {
        let one = |index| {
            let seed = Seed(args.on.seed).run(index).0;
            let made = record(side, &measure(&side.target, &side.job, seed, |_| {})?, seed);
            progress.one();
            Ok(made)
        };
        (0..u64::from(args.runs)).map(one).collect()
    };
    // What is computed first stands beside nothing that is measured.
    let (predictions, measurements) = (run(&predicted)?, run(&measured)?);
    drop(progress);
    let held = Held { drive, predictions, measurements };
    held.check()?;
    match json {
        true => print_json(&held.json())?,
        false => {
            print(&screen::wrapped(&held.text(args), screen::width()))?;
            let words = target::words(&args.job, &args.on);
            let seed = args.on.seed;
            say(format!(
                "Again: seekwise compare {words} --against {} --runs {} --seed {seed}",
                quoted(drive),
                args.runs
            ));
        }
    }
    Ok(Answer::Done)
}

/// What is measured and what is predicted: the same job in the same space.
fn sides(args: &args::Compare, drive: &str, inputs: &Inputs<'_>) -> Result<[Prepared; 2], Failure> {
    let (on, job) = (&args.on, args.job.as_str());
    let with = |target: &str, keep: &dyn Fn(&str) -> bool, destroy: Option<String>| On {
        target: target.to_owned(),
        set: on.set.iter().filter(|(key, _)| keep(key)).cloned().collect(),
        destroy,
        ..on.clone()
    };
    target::once(&on.set)?;
    let is_real = |key: &str| key.starts_with("real.");
    let is_jobs = |key: &str| key.starts_with("job.");
    let mut measured = target::cell(job, &with(&on.target, &|key| is_real(key) || is_jobs(key), on.destroy.clone()))?;
    let mut predicted = target::cell(job, &with(drive, &|key| !is_real(key), None))?;
    let found = target::prepare(&measured, inputs)?;
    if !found.target.is_measured() {
        return Err(Failure::new(format!(
            "--against {drive}: {} is not measured; expected --on file:PATH, device:PATH or another real-time target",
            on.target
        )));
    }
    if !on.set.iter().any(|(key, _)| key == "job.span") {
        let space = found.target.sectors() * SECTOR / BLOCK * BLOCK;
        for cell in [&mut measured, &mut predicted] {
            cell.settings.push(("job.span".to_owned(), space.to_string()));
        }
    }
    let predicted = target::prepare(&predicted, inputs)?;
    if predicted.target.is_measured() {
        return Err(Failure::new(format!("--against {drive}: not a modelled disk; expected a drive or a stack file")));
    }
    Ok([target::prepare(&measured, inputs)?, predicted])
}

/// What came out.
struct Held<'a> {
    drive: &'a str,
    predictions: Vec<RunRecord>,
    measurements: Vec<RunRecord>,
}

/// Mean over runs, with its interval where the runs give one.
fn over(runs: &[RunRecord], figure: fn(&View) -> f64) -> Interval {
    let values: Vec<f64> = runs.iter().map(|run| figure(&run.all)).collect();
    let estimate = values.iter().sum::<f64>() / values.len() as f64;
    mean_interval(&values, ALPHA).unwrap_or(Interval { estimate, low: estimate, high: estimate })
}

impl Held<'_> {
    fn check(&self) -> Result<(), Failure> {
        for (name, runs) in [("predicted", &self.predictions), ("measured", &self.measurements)] {
            if let Some(run) = runs.iter().find(|run| run.all.ios == 0) {
                let said: String = run.warnings.iter().map(|warning| format!("; {warning}")).collect();
                return Err(Failure::new(format!("a {name} run did no reads or writes{said}")));
            }
        }
        Ok(())
    }

    /// Whether both sides drew the same first requests, run by run and worker by worker.
    fn same_requests(&self) -> bool {
        let pairs = self.predictions.iter().zip(&self.measurements);
        pairs.into_iter().all(|(predicted, measured)| predicted.streams == measured.streams)
    }

    fn pooled(&self) -> [Histogram; 2] {
        [&self.predictions, &self.measurements].map(|runs| pooled(&runs.iter().collect::<Vec<_>>()))
    }

    fn demerit(&self) -> (f64, f64) {
        let [predicted, measured] = self.pooled();
        let ms = of_histograms(&predicted, &measured);
        let mean = measured.mean().unwrap_or(0.0) / 1e6;
        (ms, if mean > 0.0 { 100.0 * ms / mean } else { 0.0 })
    }

    fn warnings(&self) -> std::collections::BTreeSet<&String> {
        self.predictions.iter().chain(&self.measurements).flat_map(|run| &run.warnings).collect()
    }

    fn json(&self) -> Value {
        let interval = |it: Interval| json!({"estimate": it.estimate, "low": it.low, "high": it.high});
        let figures: serde_json::Map<String, Value> = FIGURES
            .iter()
            .map(|(name, figure)| {
                let (predicted, measured) = (over(&self.predictions, *figure), over(&self.measurements, *figure));
                let value = json!({"predicted": interval(predicted), "measured": interval(measured),
                                   "ratio": measured.estimate / predicted.estimate});
                ((*name).to_owned(), value)
            })
            .collect();
        let (demerit_ms, demerit_percent) = self.demerit();
        let pools = self.pooled().map(|pool| Response::of(&pool));
        json!({"against": self.drive, "runs": self.measurements.len(), "figures": figures,
               "response_ms": {"predicted": pools[0], "measured": pools[1]},
               "demerit_ms": demerit_ms, "demerit_percent": demerit_percent, "same_requests": self.same_requests(),
               "predicted": self.predictions, "measured": self.measurements, "warnings": self.warnings()})
    }

    fn text(&self, args: &args::Compare) -> String {
        let mut text = format!(
            "{}: measured on {}, predicted on {}\n\n",
            spoken(&args.job),
            spoken(&args.on.target),
            spoken(self.drive)
        );
        text.push_str(&format!("{}\n\n{}\n\n", self.figures(), self.shares()));
        let (ms, percent) = self.demerit();
        text.push_str(&format!(
            "Demerit: {ms:.3} ms, {percent:.1} % of the measured mean (how far the two distributions are apart).\n"
        ));
        text.push_str(&format!("Where the predicted time goes: {}.\n", self.anatomy()));
        text.push_str(match self.same_requests() {
            true => "Both sides drew the same requests.\n",
            false => "Note: the two sides did not draw the same requests.\n",
        });
        for warning in self.warnings() {
            text.push_str(&format!("Note: {warning}.\n"));
        }
        text + &format!("{} runs a side; 95 % interval of the measured mean.", self.measurements.len())
    }

    fn figures(&self) -> String {
        let mut rows = table(["", "predicted", "measured", "±", "off %"]);
        figures_from(&mut rows, 1);
        for (name, figure) in FIGURES {
            let (predicted, measured) = (over(&self.predictions, figure), over(&self.measurements, figure));
            rows.add_row([
                name.to_owned(),
                format!("{:.3}", predicted.estimate),
                format!("{:.3}", measured.estimate),
                format!("{:.3}", (measured.high - measured.low) / 2.0),
                format!("{:+.1}", 100.0 * (predicted.estimate / measured.estimate - 1.0)),
            ]);
        }
        rows.draw(screen::width())
    }

    fn shares(&self) -> String {
        let mut rows = table(["share of requests, at most", "predicted ms", "measured ms"]);
        figures_from(&mut rows, 1);
        let pools = self.pooled();
        for (share, name) in SHARES {
            let at = |pool: &Histogram| pool.quantile(share).map_or(0.0, |span| span.nanos() as f64 / 1e6);
            rows.add_row([name.to_owned(), format!("{:.3}", at(&pools[0])), format!("{:.3}", at(&pools[1]))]);
        }
        rows.draw(screen::width())
    }

    /// The parts of the mean predicted response, the largest first.
    fn anatomy(&self) -> String {
        let first = &self.predictions[0].anatomy_ms;
        let total: f64 = first.values().sum();
        let mut parts: Vec<(&String, f64)> = first.iter().map(|(name, ms)| (name, 100.0 * ms / total)).collect();
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        let named = parts.iter().filter(|part| part.1 >= 0.5).map(|(name, share)| format!("{name} {share:.0} %"));
        named.collect::<Vec<_>>().join(", ")
    }
}
