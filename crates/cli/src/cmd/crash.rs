//! `seekwise crash`: real software on a modelled disk, and what power cuts at many of its instants leave of its work.

mod plan;
mod text;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use seekwise_formats::ext4::Ext4BlockMap;
use seekwise_lab::crash::places::words;
use seekwise_lab::crash::trial::{CrashResults, CrashTrial, ShrinkResult, TrialOptions, shrink};
use seekwise_lab::crash::verdict::{CheckOutput, CrashVerdict};
use seekwise_model::block::SECTOR;
use seekwise_model::durability::image::{LostWrite, MediumImage};
use seekwise_model::durability::writes::SessionWrites;
use seekwise_model::history::History;
use seekwise_model::rng::Seed;
use seekwise_model::time::Instant;
use seekwise_os::checking::{CheckResult, ImageChecker, ImageContent};
use seekwise_os::kernel::debris::{DebrisItem, DebrisNote};
use seekwise_os::kernel::pages::UnflushedPages;
use seekwise_os::kernel::{ExitCause, FileSystemKind, ProgramBounds, ShellProgram};
use seekwise_os::outputs::{self, create_like_parent};
use seekwise_os::session::{ProgramSession, SessionRecord};

use self::plan::CrashPlan;
use super::{print, print_json, warn};
use crate::args;
use crate::exit::{CommandAnswer, CommandError, CommandResult as Ended};
use crate::interrupt;
use crate::output::say;
use crate::progress::ProgressLine;

/// Runs the command.
pub fn crash(args: &args::CrashArgs, json: bool) -> Ended {
    if args.recipes {
        return plan::list(args, json);
    }
    if let Some(path) = &args.keep {
        outputs::admit(path, false).map_err(|why| not_kept(path, &why))?;
    }
    let plan = CrashPlan::of(args)?;
    warn(&plan.warnings);
    let stop = Arc::new(AtomicBool::new(false));
    let stopping = Arc::clone(&stop);
    interrupt::hold().end_with(move || stopping.store(true, Ordering::Relaxed));
    let found = laboratory(args, &plan, &stop);
    if stop.load(Ordering::Relaxed) {
        // What was mounted has been given back: now as any other command that is stopped.
        interrupt::stop();
    }
    let report = found?;
    match json {
        true => print_json(&text::as_json(args, &plan, &report))?,
        false => print(&text::text(args, &plan, &report))?,
    }
    Ok(if report.outcome.tried.iter().any(CrashTrial::is_bad) { CommandAnswer::No } else { CommandAnswer::Done })
}

/// All that was found.
struct Report {
    recorded: SessionRecord,
    outcome: CrashResults,
    /// The worst, with the fewest lost writes.
    shrunk: Option<(CrashTrial, ShrinkResult)>,
    /// Where each of these lies in the file system, in words; by stamp.
    places: Vec<(u64, String)>,
    /// What files held when the workload had ended and the disk had not been given by then; nothing where that is not known.
    unflushed: Option<Vec<UnflushedPages>>,
    /// What it had not been given at the worst medium's cut, where lost writes do not explain that.
    later: Vec<UnflushedPages>,
}

fn laboratory(args: &args::CrashArgs, plan: &CrashPlan, stop: &AtomicBool) -> Result<Report, CommandError> {
    let bounds = ProgramBounds { limit: Duration::from_nanos(args.limit.nanos), stop };
    let scratch = plan::scratch(args, plan.recipe.user.as_deref(), bounds)?;
    let folder = &*scratch.path().to_owned();
    // They go in this order: while there is a folder, a note says so.
    let _held = (scratch, DebrisNote::write(&[DebrisItem::Folder(folder.to_owned())]));
    let base = plan.base(folder, bounds)?;
    let base = base.as_deref().zip(plan.system.as_ref());
    say(format!("Running the workload on {}", seekwise::reading::spoken(&plan.target)));
    let session = ProgramSession {
        stack: &plan.stack,
        seed: Seed(args.seed),
        speed: args.speed,
        base,
        workload: &plan.recipe.workload,
        set: &plan.environment,
        bounds,
        folder,
    };
    let recorded = session.record().map_err(CommandError::new)?;
    let program = ShellProgram { command: &plan.recipe.check, environment: plan.environment.clone(), bounds };
    let checker = ImageChecker::new(plan.stack.sectors() * SECTOR, base, program, folder).map_err(CommandError::new)?;
    let workers = if args.jobs == 0 { std::thread::available_parallelism().map_or(1, usize::from) } else { args.jobs };
    let trials = TrialOptions { cuts: args.cuts as usize, orders: args.orders, seed: Seed(args.seed), workers };
    let (history, progress) = (&recorded.history, ProgressLine::unknown("media checked"));
    // The same promises that the trials know: the writes are theirs.
    let writes = SessionWrites::of(history, seekwise_model::durability::terms::DriveTerms::of(&plan.stack).volatile);
    let check = |worker: usize, image: &MediumImage, promises: &[&str]| {
        look(&checker, stop, worker, &content(image, history, &writes), promises)
    };
    let outcome = trials.run(history, &plan.stack, &check, &|| progress.one()).map_err(CommandError::new)?;
    drop(progress);
    let worst = outcome.first.last_key_value().and_then(|(_, (state, image))| {
        Some((outcome.tried.iter().find(|tried| tried.state == *state)?.clone(), image))
    });
    let shrunk = match &worst {
        Some((tried, image)) => {
            say("Looking for the fewest lost writes of the worst".to_owned());
            let shrunk = shrink(&outcome.writes, history, (tried, image), &check).map_err(CommandError::new)?;
            keep(args.keep.as_deref(), &checker, &content(image, history, &writes))?;
            Some((tried.clone(), shrunk))
        }
        None => None,
    };
    let places = match (&shrunk, plan.system.as_ref()) {
        (Some((tried, ShrinkResult::To { lost, .. })), Some(system)) => {
            let whole = MediumImage::without(&writes, tried.case.at, &[]);
            let whole = content(&whole, history, &writes);
            let told = located(&checker, &whole, (system, folder, bounds), &lost.left, history);
            // Only words: where it cannot be read, there are none.
            told.unwrap_or_default()
        }
        _ => Vec::new(),
    };
    let given = |at: Instant| {
        checker.missing(&content(&MediumImage::without(&writes, at, &[]), history, &writes), &recorded.pages)
    };
    let end = history.span().map_or(Instant::ZERO, |span| span.1);
    let unflushed = given(end).map_err(CommandError::new)?;
    let mut later = match &shrunk {
        Some((tried, ShrinkResult::NotLost { .. })) if tried.finding.verdict == CrashVerdict::LostPromised => {
            given(tried.case.at)
        }
        _ => Ok(None),
    }
    .map_err(CommandError::new)?
    .unwrap_or_default();
    later.retain(|lacking| !unflushed.as_ref().is_some_and(|all| all.contains(lacking)));
    Ok(Report { recorded, outcome, shrunk, places, unflushed, later })
}

/// What lies on a medium.
fn content<'h>(image: &MediumImage, history: &'h History, writes: &SessionWrites) -> ImageContent<'h> {
    ImageContent { pieces: image.pieces(history, writes), torn: image.torn().to_vec() }
}

/// What lost writes were there for, in the file system as it would be with all of them: mounted once, so that its journal is played.
fn located(
    checker: &ImageChecker<'_>,
    whole: &ImageContent<'_>,
    (system, folder, bounds): (&FileSystemKind, &Path, ProgramBounds<'_>),
    lost: &[LostWrite],
    history: &History,
) -> io::Result<Vec<(u64, String)>> {
    use std::os::unix::fs::FileExt;
    let (path, mount) = (folder.join("whole"), folder.join("whole-mount"));
    checker.write(&path, whole)?;
    create_like_parent(&mount)?;
    system.mount(&path, &mount, bounds)?.end()?;
    let file = std::fs::File::open(&path)?;
    let read = |offset: u64, length: usize| {
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, offset).ok().map(|()| bytes)
    };
    let Some(layout) = Ext4BlockMap::read(&read) else { return Ok(Vec::new()) };
    Ok(lost.iter().take(text::NAMED).map(|lost| (lost.write.stamp, words(&layout, lost, history, &read))).collect())
}

fn look(
    checker: &ImageChecker<'_>,
    stop: &AtomicBool,
    worker: usize,
    content: &ImageContent<'_>,
    promises: &[&str],
) -> io::Result<CheckOutput> {
    let CheckResult { ended, unmountable, fault } = checker.look(worker, content, promises)?;
    if stop.load(Ordering::Relaxed) {
        return Err(io::Error::other("stopped"));
    }
    let (how, printed) = ended.map(|ended| (ended.how, ended.printed)).unzip();
    let (code, died) = match how {
        Some(ExitCause::Exited(code)) => (Some(code), None),
        Some(how) => (None, Some(how.to_string())),
        None => (None, None),
    };
    Ok(CheckOutput { code, died, printed: printed.unwrap_or_default(), unmountable, fault })
}

fn keep(path: Option<&Path>, checker: &ImageChecker<'_>, content: &ImageContent<'_>) -> Result<(), CommandError> {
    let Some(path) = path else { return Ok(()) };
    checker.write(path, content).map_err(|why| not_kept(path, &why))?;
    say(format!("Its medium: {}", path.display()));
    Ok(())
}

fn not_kept(path: &Path, why: &io::Error) -> CommandError {
    let why = match why.kind() {
        io::ErrorKind::AlreadyExists => "already exists; expected a new file".to_owned(),
        _ => why.to_string(),
    };
    CommandError::new(format!("--keep {}: {why}", path.display()))
}
