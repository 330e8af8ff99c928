//! `seekwise crash`: runs real software on a modelled disk once and records its requests, then makes the media that power cuts at many
//! instants would have left, and runs a check on each: was anything lost that the software had promised?

mod find;
mod layer;
pub(super) mod plan;
mod recovery;
#[cfg(test)]
mod tests;
mod text;
mod timeline;
mod unflushed;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use seekwise::crash::{
    BadChain, CheckBench, CheckProof, CrashResults, CrashTrial, GroupParent, ImageChecker, LostWrite, MediumImage,
    ProgramBounds, ProgramSession, RecoveryResults, RecoveryRunner, SessionRecord, ShellProgram, ShrinkResult,
    StandingData, TrialOptions, UnflushedState,
};
use seekwise::leftovers::{DebrisItem, DebrisNote};
use seekwise::outputs;
use seekwise::run::SECTOR;
use seekwise::setup::Seed;
use seekwise::time::{Instant, Span};
use seekwise::{Error, Files};

use self::find::KeptFile;
use self::plan::CrashPlan;
use self::recovery::RecoveryReport;
use self::text::MOST_NAMED;
use super::{print_json, print_text, print_warnings};
use crate::args;
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::interrupt;
use crate::output::print_to_stderr;
use crate::progress::ProgressLine;
use crate::screen;

/// Runs the command.
pub fn run_command(args: &args::CrashArgs, files: &Files, words: &[OsString], json: bool) -> CommandResult {
    if args.recipes {
        return plan::print_recipes(args, files, json);
    }
    if args.force && args.find_path().is_none() && args.image.is_none() && !args.page.is_requested() {
        return Err(CommandError::new("--force: no file is written; expected --page, --keep or --image"));
    }
    if let Some(path) = &args.again {
        return find::run_again(args, path, json);
    }
    if let Some(path) = &args.find_path() {
        outputs::prepare_output(path, args.force).map_err(|why| Error::of_file(path, &why))?;
    }
    args.page.check_path(args.force, &args.target.iter().map(String::as_str).collect::<Vec<_>>())?;
    let plan = CrashPlan::from_args(args, files)?;
    print_warnings(&plan.warnings);
    let stop_requested = Arc::new(AtomicBool::new(false));
    let requested_by_signal = Arc::clone(&stop_requested);
    interrupt::lock_signals().set_ending(move || requested_by_signal.store(true, Ordering::Relaxed));
    let result = run_experiment(args, (&plan, words), &stop_requested);
    if stop_requested.load(Ordering::Relaxed) {
        // Everything is unmounted; the program ends as any interrupted command does.
        interrupt::end_interrupted();
    }
    let report = result?;
    args.page.write(args.force, words, || text::report_page(args, &plan, &report))?;
    match json {
        true => print_json(&text::report_json(args, &plan, &report))?,
        false => print_text(&text::format_report(args, &plan, &report, screen::output_width()))?,
    }
    let is_bad = report.outcome.tried.iter().any(CrashTrial::is_bad)
        || report.recoveries.as_ref().is_some_and(|recoveries| recoveries.results.is_bad());
    Ok(if is_bad { CommandAnswer::No } else { CommandAnswer::Done })
}

/// All findings of a crash test.
struct CrashReport {
    /// The program and its version, if the recipe asks for it.
    version: Option<String>,
    recorded: SessionRecord,
    /// The trial of the check on media whose answer is known.
    proof: CheckProof,
    outcome: CrashResults,
    /// The worst trial of the first cuts.
    worst: Option<WorstMedium>,
    /// Data not yet flushed to the disk when the workload ended; `None` if unknown.
    unflushed: Option<UnflushedState>,
    /// Cuts of recoveries, if they were asked for.
    recoveries: Option<RecoveryReport>,
    /// The file of the worst find, if it was kept.
    kept: Option<KeptFile>,
}

/// A bad medium, and its cause.
struct WorstMedium {
    tried: CrashTrial,
    shrunk: ShrinkResult,
    /// The stamps of all writes that the cut lost, whole or in part.
    lost: BTreeSet<u64>,
    /// By stamp the purposes in the file system, in words, of the fewest lost writes and of those around the cut.
    purposes: BTreeMap<u64, String>,
    /// By stamp the data that stand in place of the fewest lost writes.
    standing: BTreeMap<u64, StandingData>,
    /// If lost writes do not explain it: when the disk received the data that the check missed, and these data.
    received_later: Option<(Instant, UnflushedState)>,
}

/// Runs the workload on the disk, tries the check, checks the media of all cuts, and looks for the cause of the worst.
fn run_experiment(
    args: &args::CrashArgs,
    (plan, words): (&CrashPlan, &[OsString]),
    stop: &AtomicBool,
) -> Result<CrashReport, CommandError> {
    let bounds = ProgramBounds { limit: Duration::from_nanos(args.limit.nanos), stop: Some(stop) };
    let scratch = plan::create_scratch_folder(args, plan.recipe.user.as_deref(), bounds)?;
    // The path is absolute, because programs must find it from any folder.
    let folder = &*std::path::absolute(scratch.path()).map_err(CommandError::new)?;
    let groups = &GroupParent::find();
    // The fields are dropped in this order, so that the note exists as long as the folder.
    let _scratch_and_note = (scratch, DebrisNote::write(&[DebrisItem::Folder(folder.to_owned())], groups));
    let version = plan.read_version(groups, bounds)?;
    let base = plan.make_base(folder, groups, bounds)?;
    let base = base.as_deref().zip(plan.system.as_ref());
    print_to_stderr(format!("Running the workload on {}", seekwise::reading::display_name(&plan.target)));
    let session = ProgramSession {
        stack: &plan.stack,
        seed: Seed(args.seed),
        speed: args.speed,
        base: base.map(|(base, _)| base),
        file_system: base.map(|(_, file_system)| file_system),
        layer: args.layer.as_deref(),
        command: &plan.recipe.workload,
        set: &plan.environment,
        groups,
        bounds,
        folder,
    };
    let recorded = session.record().map_err(CommandError::new)?;
    let program = ShellProgram { command: &plan.recipe.check, environment: plan.environment.clone(), groups, bounds };
    let checker = ImageChecker::new(plan.stack.sectors() * SECTOR, base, program, folder).map_err(CommandError::new)?;
    let bench = CheckBench::new(&checker, &recorded, &plan.stack, stop);
    print_to_stderr("Trying the check on media whose answer is known".to_owned());
    let proof = bench.prove_check(Seed(args.seed))?;
    let outcome = run_trials(args, plan, &bench)?;
    let examined = Examination { plan, folder, bounds };
    let worst = examined.examine_first_cuts(&bench, &outcome)?;
    let recoveries = match args.depth {
        1 => None,
        _ => {
            let session = session_of_recoveries(args, plan, &session);
            let runner = RecoveryRunner { checker: &checker, session, stop };
            let results = recovery::run_recoveries(args, &runner, &recorded, &outcome)?;
            let worst = examined.examine_chain(&bench, &results)?;
            Some(RecoveryReport { results, worst })
        }
    };
    let kept = find::keep_worst(args, (plan, words), &bench, (&outcome, worst.as_ref()), recoveries.as_ref())?;
    let unflushed = bench.unflushed_state()?;
    drop(bench);
    Ok(CrashReport { version, recorded, proof, outcome, worst, unflushed, recoveries, kept })
}

/// Where worst media are examined.
struct Examination<'a> {
    plan: &'a CrashPlan,
    folder: &'a Path,
    bounds: ProgramBounds<'a>,
}

impl Examination<'_> {
    /// Examines the worst medium of the first cuts.
    fn examine_first_cuts(
        &self,
        bench: &CheckBench<'_>,
        outcome: &CrashResults,
    ) -> Result<Option<WorstMedium>, CommandError> {
        // Verdicts are ordered from the best to the worst.
        let worst = outcome.first.last_key_value().and_then(|(_, (state, image))| {
            Some((outcome.tried.iter().find(|tried| tried.state == *state)?.clone(), image))
        });
        let Some((tried, image)) = worst else { return Ok(None) };
        self.examine(bench, tried, image).map(Some)
    }

    /// Examines the last medium of the worst chain of cuts; its cause is looked for in the recovery that was cut last.
    fn examine_chain(
        &self,
        bench: &CheckBench<'_>,
        results: &RecoveryResults,
    ) -> Result<Option<WorstMedium>, CommandError> {
        match recovery::worst_chain(results) {
            Some(BadChain { links, trial, recovery_failed: false }) => {
                let (bench, image) = (bench.of_last_session(links), &links[links.len() - 1].image);
                self.examine(&bench, trial.clone(), image).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Finds the fewest lost writes that cause a bad medium, and what they were for.
    fn examine(
        &self,
        bench: &CheckBench<'_>,
        tried: CrashTrial,
        image: &MediumImage,
    ) -> Result<WorstMedium, CommandError> {
        print_to_stderr("Looking for the fewest lost writes of the worst".to_owned());
        let shrunk = bench.shrink_losses((&tried, image))?;
        let received_later = match &shrunk {
            ShrinkResult::NotLost { .. } => bench.find_late_data(&tried)?,
            _ => None,
        };
        let fewest = match &shrunk {
            ShrinkResult::To { lost, .. } => &lost.left[..lost.left.len().min(MOST_NAMED)],
            _ => &[],
        };
        let mut standing = bench.find_standing_data(image, fewest);
        // The purposes are left out if the medium cannot be read.
        let mut explain = |at: Instant, writes: &[LostWrite]| {
            let system = (self.plan.system.as_ref()?, self.bounds);
            bench.explain_writes(at, system, self.folder, writes, &mut standing).ok()
        };
        let [before, after] = bench.writes_around(tried.case.at, timeline::SHOWN_BEFORE, timeline::SHOWN_AFTER);
        let mut purposes = explain(tried.case.at, &[fewest, &before].concat()).unwrap_or_default();
        // Only with the data that the medium lacked is it known what the next writes were for.
        if let Some((received, _)) = &received_later {
            purposes.extend(explain(*received, &after).unwrap_or_default());
        }
        let lost = bench.lost_writes(image, tried.case.at);
        Ok(WorstMedium { tried, shrunk, lost, purposes, standing, received_later })
    }
}

/// The session of recoveries, which differs from the workload's in its program and speed.
fn session_of_recoveries<'a>(
    args: &args::CrashArgs,
    plan: &'a CrashPlan,
    session: &ProgramSession<'a>,
) -> ProgramSession<'a> {
    ProgramSession {
        command: plan.recipe.recover.as_deref().unwrap_or_default(),
        speed: args.speed_of_recoveries(),
        ..session.clone()
    }
}

/// Checks or recoveries that run at once.
fn workers(args: &args::CrashArgs) -> usize {
    if args.jobs == 0 { std::thread::available_parallelism().map_or(1, usize::from) } else { args.jobs }
}

/// Checks the media of all cuts.
fn run_trials(args: &args::CrashArgs, plan: &CrashPlan, bench: &CheckBench<'_>) -> Result<CrashResults, CommandError> {
    let trials = TrialOptions {
        cuts: args.cuts as usize,
        orders: args.orders,
        seed: Seed(args.seed),
        workers: workers(args),
        weights: args.instants.instant_weights(),
        // A promise's age is in real time, cuts are in the disk's time.
        may_lose: Span::from_nanos((plan.recipe.may_lose.nanos as f64 * args.speed) as u64),
        keeps_media: args.depth > 1,
    };
    let progress = ProgressLine::unknown("media checked");
    Ok(bench.run_trials(&trials, &plan.stack, &|| progress.count_one())?)
}
