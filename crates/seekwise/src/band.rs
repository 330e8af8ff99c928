//! Predictions on a fitted drive, with their bands: the work is run again on each draw of the fit, a drive that meets the
//! measurements as well, and the band is the range of the answers.
//!
//! The range of n draws covers a further one with a probability of (n - 1) / (n + 1), whatever their distribution.

use std::ops::Range;
use std::slice::from_ref;
use std::sync::Arc;

use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::profile::fit_record::FitRecord;
use seekwise_formats::study::Study;
use seekwise_lab::finding::{Evidence, Finding};
use seekwise_lab::inputs::Inputs;
use seekwise_lab::plan::{self, Cell, PreparedCell};
use seekwise_lab::provenance::StudyProvenance;
use seekwise_lab::run::{RunRecord, measure_run_until};
use seekwise_lab::stats::{Judgement, Verdict};
use seekwise_lab::study::{EarlierRuns, cell_record, run_study_order};
use seekwise_lab::workers::Workers;
use seekwise_run::cutoff::RunCutoff;
use seekwise_run::outcome::RunError;
use serde_json::{Value, json};

use crate::bounds::{Bounds, RunPlan};
use crate::error::Error;
use crate::observer::Observer;
use crate::reading::Files;

/// The unit of the runs on draws, for observers.
const RUNS_ON_DRAWS: &str = "runs on draws of the fit";

/// The number of draws of the fit of a cell's drive; 0 without a fit.
pub fn draw_count(prepared: &PreparedCell) -> usize {
    prepared.fit.as_ref().map_or(0, |fit| fit.draws.len())
}

/// Prepares a cell on a draw; an error names the draw.
fn prepare_draw(cell: &Cell, inputs: &Inputs<'_>, index: usize) -> Result<PreparedCell, Error> {
    let with_draw = |fault: Diagnostic| Diagnostic {
        message: format!("draw {} of the fit: {}; --no-band leaves the draws out", index + 1, fault.message),
        ..fault
    };
    plan::prepare_draw("command line", cell, inputs, index)
        .map_err(|faults| faults.into_iter().map(with_draw).collect::<Vec<_>>().into())
}

/// The seed of a run on a draw. Each has one of its own: a band is to hold what is measured next, and that run has its own chance too.
pub(crate) fn seed_of_draw(seed: u64, index: usize) -> u64 {
    seed.wrapping_add(1 + index as u64)
}

/// Runs `cell` on each draw of its drive's fit, each with its own seed after `seed`, on so many threads (0: all cores). `run_ended` is called after each
/// run. Returns the records in the order of the draws.
pub(crate) fn run_on_draws(
    (cell, inputs): (&Cell, &Inputs<'_>),
    prepared: &PreparedCell,
    (seed, threads): (u64, usize),
    observer: &dyn Observer,
    run_ended: &(dyn Fn() + Sync),
) -> Result<Vec<RunRecord>, Error> {
    let count = draw_count(prepared);
    if count == 0 {
        return Ok(Vec::new());
    }
    let is_cancelled = || observer.is_cancelled();
    let cutoff = RunCutoff::when_cancelled(&is_cancelled);
    let workers = Workers::with_threads(threads);
    let run_draw = |(index, drawn): &(usize, PreparedCell)| -> Result<RunRecord, RunError> {
        let seed = seed_of_draw(seed, *index);
        let measured = measure_run_until(cutoff, &drawn.target, &drawn.job, seed, None, |_| {})?;
        run_ended();
        Ok(cell_record(drawn, &measured, seed))
    };
    let mut records = Vec::with_capacity(count);
    // A prepared drive has megabytes of tables, so no more are prepared at once than run at once.
    for indices in chunks(count, workers.thread_count()) {
        // With a figure that the user sets some draws are no drives.
        let prepare = |index| match prepare_draw(cell, inputs, index) {
            Ok(drawn) => Some((index, drawn)),
            Err(error) => {
                log::warn!("{error}; the band is without it");
                None
            }
        };
        let drawn: Vec<(usize, PreparedCell)> = indices.filter_map(prepare).collect();
        let ended: Result<Vec<RunRecord>, RunError> = workers.map(&drawn, run_draw);
        records.extend(ended?);
    }
    Ok(records)
}

/// The numbers below `count`, by `size`.
fn chunks(count: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count).step_by(size).map(move |start| start..count.min(start + size))
}

/// The bands of a comparison: the range of each ratio over the draws of the fits of its drives.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ComparisonBand {
    /// How often the comparison was made again.
    pub draws: usize,
    /// The range of each finding's ratio.
    pub ratios: Vec<RatioBand>,
}

/// The range of the ratio of a finding, its own included.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RatioBand {
    /// The index of the study's comparison.
    pub compare: usize,
    /// The base's cell.
    pub from: usize,
    /// The other's cell.
    pub to: usize,
    /// True if both sides have the same fitted drive, and so the same draw each time; else the draws of a side say nothing of
    /// those of the other.
    pub same_drive: bool,
    pub low: f64,
    pub high: f64,
}

impl RatioBand {
    /// True if the band contains the ratio 1.
    pub fn contains_no_difference(&self) -> bool {
        (self.low..=self.high).contains(&1.0)
    }

    /// What the band says about a verdict, in words.
    pub fn words(&self, judgement: &Judgement, draws: usize) -> String {
        let drives = if self.same_drive { "the same draw on both sides" } else { "each side by itself" };
        let drawn = if draws == 1 { "1 draw".to_owned() } else { format!("{draws} draws") };
        let band = format!("{:.3} to {:.3} over {drawn} of the fit, {drives}", self.low, self.high);
        let margin = match judgement.verdict {
            Verdict::NoDifference { margin } => Some(margin),
            _ => None,
        };
        match margin {
            Some(margin) if self.low < 1.0 / (1.0 + margin) || self.high > 1.0 + margin => {
                let percent = (margin * 1e5).round() / 1e3;
                format!("{band}; beyond ±{percent} % on some of them")
            }
            None if self.contains_no_difference() => format!("{band}; it contains no difference"),
            _ => band,
        }
    }

    /// The band as JSON.
    pub(crate) fn json(&self, draws: usize) -> Value {
        json!({"low": self.low, "high": self.high, "draws": draws, "same_drive": self.same_drive,
               "contains_no_difference": self.contains_no_difference()})
    }

    fn from_finding(finding: &Finding, fits: &[Option<Arc<FitRecord>>]) -> Option<RatioBand> {
        let ratio = finding.judgement.as_ref()?.ratio.estimate;
        let same_drive = fits.get(finding.from)?.is_some() && fits.get(finding.from) == fits.get(finding.to);
        let Finding { compare, from, to, .. } = *finding;
        Some(RatioBand { compare, from, to, same_drive, low: ratio, high: ratio })
    }

    fn include(&mut self, finding: &Finding) {
        if (self.compare, self.from, self.to) != (finding.compare, finding.from, finding.to) {
            return;
        }
        if let Some(judgement) = &finding.judgement {
            self.low = self.low.min(judgement.ratio.estimate);
            self.high = self.high.max(judgement.ratio.estimate);
        }
    }
}

impl ComparisonBand {
    /// The band of a finding.
    pub fn of_finding(&self, finding: &Finding) -> Option<&RatioBand> {
        let place = (finding.compare, finding.from, finding.to);
        self.ratios.iter().find(|band| (band.compare, band.from, band.to) == place)
    }
}

/// Makes a comparison's runs again on each draw of the fits of its cells' drives: the same cells, seeds and numbers of runs.
/// Draws of equal numbers go together, so sides with one drive have the same draw. `None` if no drive has a fit with draws.
pub(crate) fn compare_on_draws(
    files: &Files,
    (study, made, records): (&Study, &StudyProvenance, &[RunRecord]),
    fits: &[Option<Arc<FitRecord>>],
    bounds: &Bounds,
    observer: &dyn Observer,
) -> Result<Option<ComparisonBand>, Error> {
    let counts = fits.iter().flatten().map(|fit| fit.draws.len()).filter(|count| *count > 0);
    let Some(draws) = counts.min() else { return Ok(None) };
    let evidence = Evidence::new(study, made, records);
    let findings = evidence.findings().0.iter();
    let mut ratios: Vec<RatioBand> = findings.filter_map(|finding| RatioBand::from_finding(finding, fits)).collect();
    let order: Vec<(usize, usize)> = records.iter().map(|record| (record.cell, record.run as usize)).collect();
    let inputs = files.kept_inputs(made.inputs.clone());
    let prepare_cells = |index: usize| -> Result<Vec<PreparedCell>, Error> {
        made.cells.iter().map(|made| prepare_draw(&made.cell, &inputs, index)).collect()
    };
    observer.begin_work(Some((draws * order.len()) as u64), 0, RUNS_ON_DRAWS);
    let mut workers = None;
    for index in 0..draws {
        let prepared = prepare_cells(index)?;
        let workers = match &mut workers {
            Some(workers) => workers,
            none => none.insert(start_workers(&prepared, study, draws, bounds)?),
        };
        let ended = index * order.len();
        let drawn = run_draw_of_study(study, &prepared, (&made.seeds, &order), workers, (observer, ended as u64))?;
        let evidence = Evidence::new(study, made, &drawn);
        for finding in evidence.findings().0 {
            ratios.iter_mut().for_each(|band| band.include(finding));
        }
    }
    Ok(Some(ComparisonBand { draws, ratios }))
}

/// Starts as many threads as keep the runs on draws within `bounds`.
fn start_workers(cells: &[PreparedCell], study: &Study, draws: usize, bounds: &Bounds) -> Result<Workers, Error> {
    let plan = RunPlan {
        cells,
        runs_per_cell: u64::from(study.runs) * draws as u64,
        cuts_per_run: 0,
        passes_per_run: 1,
        threads: 0,
        seed: study.seed,
        until_decided: study.sampling == Some(seekwise_formats::study::Sampling::UntilDecided),
    };
    Ok(Workers::with_threads(bounds.threads_within_memory(&plan)?))
}

/// Makes the runs of a study in this order; `ended` runs on other draws have ended before.
fn run_draw_of_study(
    study: &Study,
    prepared: &[PreparedCell],
    (seeds, order): (&[u64], &[(usize, usize)]),
    workers: &Workers,
    (observer, ended): (&dyn Observer, u64),
) -> Result<Vec<RunRecord>, Error> {
    let is_cancelled = || observer.is_cancelled();
    let cutoff = RunCutoff::when_cancelled(&is_cancelled);
    let (mut records, mut failure) = (Vec::with_capacity(order.len()), None);
    let earlier = EarlierRuns::default();
    run_study_order(study, prepared, (seeds, order), &earlier, 0, (workers, cutoff), |result| {
        match result {
            Ok(record) => {
                records.push(record);
                observer.report_done(ended + records.len() as u64);
            }
            Err(error) => failure = Some(error),
        }
        failure.is_none()
    });
    match failure {
        Some(error) => Err(error.into()),
        None if observer.is_cancelled() => Err(Error::cancelled()),
        None => Ok(records),
    }
}

/// The plan of one cell that runs once, and once more on each of so many draws.
pub(crate) fn single_run_plan(prepared: &PreparedCell, draws: usize, seed: u64) -> RunPlan<'_> {
    RunPlan {
        cells: from_ref(prepared),
        runs_per_cell: 1 + draws as u64,
        cuts_per_run: 0,
        passes_per_run: 1,
        threads: if draws == 0 { 1 } else { 0 },
        seed,
        until_decided: false,
    }
}
