//! `seekwise crash`: runs real software on a modelled disk once and records its requests, then makes the media that power cuts at many
//! instants would have left, and runs a check on each: was anything lost that the software had promised?

pub(super) mod plan;
#[cfg(test)]
mod tests;
mod text;
mod unflushed;

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use seekwise::Files;
use seekwise::crash::{
    CheckBench, CheckProof, CrashResults, CrashTrial, GroupParent, ImageChecker, MediumImage, ProgramBounds,
    ProgramSession, SessionRecord, ShellProgram, ShrinkResult, TrialOptions, UnflushedState,
};
use seekwise::leftovers::{DebrisItem, DebrisNote};
use seekwise::outputs;
use seekwise::run::SECTOR;
use seekwise::setup::Seed;
use seekwise::time::{Instant, Span};

use self::plan::CrashPlan;
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
    if let Some(path) = &args.keep {
        outputs::prepare_output(path, false).map_err(|why| keep_error(path, &why))?;
    }
    args.page.check_path(args.force, &args.target.iter().map(String::as_str).collect::<Vec<_>>())?;
    let plan = CrashPlan::from_args(args, files)?;
    print_warnings(&plan.warnings);
    let stop_requested = Arc::new(AtomicBool::new(false));
    let requested_by_signal = Arc::clone(&stop_requested);
    interrupt::lock_signals().set_ending(move || requested_by_signal.store(true, Ordering::Relaxed));
    let result = run_experiment(args, &plan, &stop_requested);
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
    Ok(if report.outcome.tried.iter().any(CrashTrial::is_bad) { CommandAnswer::No } else { CommandAnswer::Done })
}

/// All findings of a crash test.
struct CrashReport {
    recorded: SessionRecord,
    /// The trial of the check on media whose answer is known.
    proof: CheckProof,
    outcome: CrashResults,
    /// The worst trial, with the fewest lost writes that cause it.
    shrunk: Option<(CrashTrial, ShrinkResult)>,
    /// The stamp of each of these writes, and its purpose in the file system in words.
    purposes: Vec<(u64, String)>,
    /// Data not yet flushed to the disk when the workload ended; `None` if unknown.
    unflushed: Option<UnflushedState>,
    /// If lost writes do not explain the worst medium: when the disk received the data that the check missed, and these data.
    received_later: Option<(Instant, UnflushedState)>,
}

/// Runs the workload on the disk, tries the check, checks the media of all cuts, and looks for the cause of the worst.
fn run_experiment(args: &args::CrashArgs, plan: &CrashPlan, stop: &AtomicBool) -> Result<CrashReport, CommandError> {
    let bounds = ProgramBounds { limit: Duration::from_nanos(args.limit.nanos), stop: Some(stop) };
    let scratch = plan::create_scratch_folder(args, plan.recipe.user.as_deref(), bounds)?;
    // The path is absolute, because programs must find it from any folder.
    let folder = &*std::path::absolute(scratch.path()).map_err(CommandError::new)?;
    let groups = &GroupParent::find();
    // The fields are dropped in this order, so that the note exists as long as the folder.
    let _scratch_and_note = (scratch, DebrisNote::write(&[DebrisItem::Folder(folder.to_owned())], groups));
    let base = plan.make_base(folder, groups, bounds)?;
    let base = base.as_deref().zip(plan.system.as_ref());
    print_to_stderr(format!("Running the workload on {}", seekwise::reading::display_name(&plan.target)));
    let session = ProgramSession {
        stack: &plan.stack,
        seed: Seed(args.seed),
        speed: args.speed,
        base,
        workload: &plan.recipe.workload,
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
    let shrunk = shrink_worst(args, &bench, &outcome)?;
    let purposes = match (&shrunk, plan.system.as_ref()) {
        (Some((tried, ShrinkResult::To { lost, .. })), Some(system)) => {
            // The purposes are left out if the medium cannot be read.
            let lost = &lost.left[..lost.left.len().min(MOST_NAMED)];
            bench.explain_lost_writes(tried.case.at, system, folder, bounds, lost).unwrap_or_default()
        }
        _ => Vec::new(),
    };
    let unflushed = bench.unflushed_state()?;
    let received_later = match &shrunk {
        Some((tried, ShrinkResult::NotLost { .. })) => bench.find_late_data(&outcome, tried)?,
        _ => None,
    };
    drop(bench);
    Ok(CrashReport { recorded, proof, outcome, shrunk, purposes, unflushed, received_later })
}

/// Checks the media of all cuts.
fn run_trials(args: &args::CrashArgs, plan: &CrashPlan, bench: &CheckBench<'_>) -> Result<CrashResults, CommandError> {
    let workers = if args.jobs == 0 { std::thread::available_parallelism().map_or(1, usize::from) } else { args.jobs };
    let trials = TrialOptions {
        cuts: args.cuts as usize,
        orders: args.orders,
        seed: Seed(args.seed),
        workers,
        weights: args.instants.instant_weights(),
        // A promise's age is in real time, cuts are in the disk's time.
        may_lose: Span::from_nanos((plan.recipe.may_lose.nanos as f64 * args.speed) as u64),
    };
    let progress = ProgressLine::unknown("media checked");
    Ok(bench.run_trials(&trials, &plan.stack, &|| progress.count_one())?)
}

/// Finds the fewest lost writes that cause the worst medium, and writes this medium to the file of `--keep`.
fn shrink_worst(
    args: &args::CrashArgs,
    bench: &CheckBench<'_>,
    outcome: &CrashResults,
) -> Result<Option<(CrashTrial, ShrinkResult)>, CommandError> {
    // Verdicts are ordered from the best to the worst.
    let worst = outcome.first.last_key_value().and_then(|(_, (state, image))| {
        Some((outcome.tried.iter().find(|tried| tried.state == *state)?.clone(), image))
    });
    let Some((tried, image)) = worst else { return Ok(None) };
    print_to_stderr("Looking for the fewest lost writes of the worst".to_owned());
    let shrunk = bench.shrink_losses(outcome, (&tried, image))?;
    keep_medium(args.keep.as_deref(), bench, image)?;
    Ok(Some((tried, shrunk)))
}

/// Writes a medium to the file of `--keep`, if it is given.
fn keep_medium(path: Option<&Path>, bench: &CheckBench<'_>, image: &MediumImage) -> Result<(), CommandError> {
    let Some(path) = path else { return Ok(()) };
    bench.write_image(path, image).map_err(|why| keep_error(path, &why))?;
    print_to_stderr(format!("Its medium: {}", path.display()));
    Ok(())
}

fn keep_error(path: &Path, why: &io::Error) -> CommandError {
    let why = match why.kind() {
        io::ErrorKind::AlreadyExists => "already exists; expected a new file".to_owned(),
        _ => why.to_string(),
    };
    CommandError::new(format!("--keep {}: {why}", path.display()))
}
