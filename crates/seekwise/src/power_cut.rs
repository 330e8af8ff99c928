//! Power cuts, as `seekwise power-cut` judges them: the job runs on a modelled stack, and what cuts of the power during
//! the run or after it would lose is worked out from its history.

use std::slice::from_ref;
use std::sync::atomic::{AtomicBool, Ordering};

use seekwise_disk::stack::Stack;
use seekwise_disk::time::Instant;
use seekwise_drives::duration::LONGEST;
use seekwise_lab::cut::{cut_array, judge_cuts, modelled_stack};
use seekwise_lab::plan::PreparedCell;
use seekwise_lab::provenance::ProgramVersion;
use seekwise_run::cutoff::RunCutoff;
use serde_json::Value;

use crate::bounds::{Bounds, RunPlan};
use crate::error::Error;
use crate::observer::Observer;
use crate::reading::display_name;
use crate::setup::Setup;

/// Losses by cuts: of writes, files and operations, and data at risk over time.
pub use seekwise_lab::cut::curve::{RiskPoint, RiskSummary};
pub use seekwise_lab::cut::file_losses::{FileLosses, LossCount, OperationLosses};
pub use seekwise_lab::cut::{
    Ages, ClassLosses, CutReport, CutTime, InFlightWrites, PartialWrites, StripeLosses, TornSectors,
};

/// Promises of a stack, and the levels that broke them.
pub use seekwise_disk::block::assurance::Assurance;
pub use seekwise_lab::cut::blame::{BlamedLevel, list_levels, list_settings};

/// The losses by cuts of a run.
#[non_exhaustive]
pub struct PowerCut {
    /// The cell that ran.
    pub prepared: PreparedCell,
    /// When it was cut.
    pub when: CutTime,
    /// The losses.
    pub report: CutReport,
}

/// Runs the job of `setup` on its modelled stack and works out what cuts lose.
///
/// ```
/// use seekwise::power_cut::{CutTime, power_cut};
/// use seekwise::{Bounds, Setup};
///
/// let setup = Setup::new("random-write", "barracuda-7200.7").with_runtime("2 s");
/// let cut = power_cut(&setup, CutTime::Random(20), &Bounds::new(None), &())?;
/// assert!(cut.report.acknowledged_lost.writes > 0, "a write cache is lost");
/// assert!(cut.report.promise_kept, "and nobody flushed");
/// # Ok::<(), seekwise::Error>(())
/// ```
pub fn power_cut(setup: &Setup, when: CutTime, bounds: &Bounds, observer: &dyn Observer) -> Result<PowerCut, Error> {
    let prepared = setup.prepare()?;
    crate::study::warn_once(&prepared.warnings);
    let stack = modelled_stack(&prepared.target).map_err(Error::new)?;
    cut_array(stack, &prepared.job).map_err(Error::new)?;
    // For cuts at random instants the job runs twice: once to learn how long it takes.
    let (runs, passes_per_run, threads, cuts) = match when {
        CutTime::Random(cuts) => (1, 2, 1, cuts),
        CutTime::At(ref instants) => (1, 1, 1, instants.len() as u32),
        CutTime::After { cuts, .. } | CutTime::Off(cuts) => (u64::from(cuts), 1, 0, cuts),
    };
    // Without a cut nothing is lost, which is no answer.
    if cuts == 0 {
        return Err(Error::new("--cuts 0: expected 1 or more"));
    }
    if matches!(&when, CutTime::At(instants) if instants.iter().any(|at| at.nanos() > LONGEST)) {
        return Err(Error::new("--at: expected an instant within 10 years"));
    }
    let cells = from_ref(&prepared);
    let cuts_per_run = if runs == 1 { cuts } else { 1 };
    bounds.threads_within_memory(&RunPlan {
        cells,
        runs_per_cell: runs,
        cuts_per_run,
        passes_per_run,
        threads,
        seed: setup.seed,
        until_decided: false,
    })?;
    let unit = if runs == 1 { "requests" } else { "runs" };
    observer.begin_work(None, 0, unit);
    let total_is_known = AtomicBool::new(false);
    let is_cancelled = || observer.is_cancelled();
    let cutoff = RunCutoff::when_cancelled(&is_cancelled);
    let report = judge_cuts(cutoff, stack, &prepared.job, setup.seed, &when, &|done, total| {
        if total.is_some() && !total_is_known.swap(true, Ordering::Relaxed) {
            observer.begin_work(total, 0, unit);
        }
        observer.report_done(done);
    })
    .map_err(|error| error.with_change_in_words(prepared.target.changes()))?;
    require_losses(&when, &report)?;
    Ok(PowerCut { prepared, when, report })
}

impl PowerCut {
    /// The modelled stack that was cut.
    pub fn stack(&self) -> &Stack {
        self.prepared.target.stack().expect("only a modelled stack is cut")
    }

    /// The whole result as JSON.
    pub fn json(&self, setup: &Setup) -> Value {
        let mut value = serde_json::to_value(&self.report).expect("a report has no keys but strings");
        value["target"] = display_name(&setup.target).into();
        value["job"] = display_name(&setup.job).into();
        value["seed"] = setup.seed.into();
        value["instants"] = instants_word(&self.when).into();
        value["warnings"] = self.prepared.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().into();
        value["cell_hash"] = self.prepared.hash.as_str().into();
        let ProgramVersion { version, build } = ProgramVersion::current();
        (value["version"], value["build"]) = (version.into(), build.into());
        value
    }
}

/// An error if the cuts had nothing to lose: a given instant is after the run's end, or no write was acknowledged in
/// the whole run.
fn require_losses(when: &CutTime, report: &CutReport) -> Result<(), Error> {
    if let CutTime::At(instants) = when {
        let end_s = report.elapsed_s;
        let to_seconds = |at: &Instant| at.nanos() as f64 / 1e9;
        if let Some(late) = instants.iter().find(|at| to_seconds(at) > end_s) {
            let late_s = to_seconds(late);
            let expected = "expected a time within the run; --after cuts after its end";
            return Err(Error::new(format!("--at {late_s} s: the run ended at {end_s:.3} s; {expected}")));
        }
    }
    match report.writes {
        0 => Err(Error::new("the run acknowledged no writes, so a power cut has nothing to lose")),
        _ => Ok(()),
    }
}

/// How the instants were chosen, in a word for programs.
fn instants_word(when: &CutTime) -> &'static str {
    match when {
        CutTime::Random(_) => "random",
        CutTime::At(_) => "given",
        CutTime::After { .. } => "after",
        CutTime::Off(_) => "shutdown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_disk::time::Span;

    fn cut(job: &str, when: CutTime) -> Result<PowerCut, String> {
        let setup = Setup::new(job, "barracuda-7200.7").with_runtime("1 s");
        power_cut(&setup, when, &Bounds::new(None), &()).map_err(|why| why.to_string())
    }

    fn at(nanos: u64) -> CutTime {
        CutTime::At(vec![Instant::from_nanos(nanos)])
    }

    #[test]
    fn a_cut_is_within_the_run_and_has_something_to_lose() {
        let end = cut("random-write", CutTime::Random(3)).unwrap().report.elapsed_s;
        assert!(end >= 1.0, "{end}");
        assert_eq!(cut("random-write", at(500_000_000)).unwrap().report.cuts, 1);
        let late = cut("random-write", at((end * 1e9) as u64 + 1_000_000)).map(drop).unwrap_err();
        assert!(late.starts_with("--at ") && late.contains("the run ended at"), "{late}");
        for none in [
            CutTime::Random(0),
            CutTime::At(Vec::new()),
            CutTime::Off(0),
            CutTime::After { pause: Span::ZERO, cuts: 0 },
        ] {
            assert_eq!(cut("random-write", none).map(drop), Err("--cuts 0: expected 1 or more".to_owned()));
        }
        let reads = cut("random-read", CutTime::Random(3)).map(drop).unwrap_err();
        assert!(reads.contains("acknowledged no writes"), "{reads}");
    }

    #[test]
    fn cuts_that_take_more_memory_than_they_may_are_refused() {
        let setup = Setup::new("random-write", "barracuda-7200.7").with_runtime("1 s");
        let after = CutTime::After { pause: Span::ZERO, cuts: 2 };
        for when in [CutTime::Random(3), at(500_000_000), CutTime::Off(2), after] {
            let refused = power_cut(&setup, when, &Bounds::new(Some(1)), &()).map(drop).unwrap_err().to_string();
            assert!(refused.starts_with("this may take up to ") && refused.ends_with("(--max-memory)"), "{refused}");
        }
    }

    #[test]
    fn the_answer_names_what_was_cut_and_how() {
        for (when, word) in [(CutTime::Random(2), "random"), (at(500_000_000), "given"), (CutTime::Off(1), "shutdown")]
        {
            let cut = cut("random-write", when).unwrap();
            let json = cut.json(&Setup::new("random-write", "barracuda-7200.7").with_seed(7));
            assert_eq!((json["instants"].as_str(), json["seed"].as_u64()), (Some(word), Some(7)));
            assert_eq!(
                (json["job"].as_str(), json["target"].as_str()),
                (Some("random-write"), Some("barracuda-7200.7"))
            );
            let ProgramVersion { version, build } = ProgramVersion::current();
            assert_eq!((&json["version"], &json["build"]), (&version.into(), &build.into()));
        }
    }
}
