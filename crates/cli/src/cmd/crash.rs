//! `seekwise crash`: real software on a modelled disk, and what power cuts at many of its instants leave of its work.

mod plan;
mod text;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use seekwise_formats::ext4::Layout;
use seekwise_lab::crash::places::words;
use seekwise_lab::crash::trial::{Outcome, Shrunk, Trials, Tried, shrink};
use seekwise_lab::crash::verdict::{Checked, Verdict};
use seekwise_model::block::SECTOR;
use seekwise_model::durability::image::{Image, Lost};
use seekwise_model::durability::writes::Writes;
use seekwise_model::history::History;
use seekwise_model::rng::Seed;
use seekwise_model::time::Instant;
use seekwise_os::checking::{Checker, Content, Seen};
use seekwise_os::kernel::debris::{Made, Note};
use seekwise_os::kernel::pages::Unflushed;
use seekwise_os::kernel::{Bounds, FileSystem, How, Program};
use seekwise_os::session::{Recorded, Session};

use self::plan::Plan;
use super::{print, print_json, warn};
use crate::args;
use crate::exit::{Answer, Failure, Outcome as Ended};
use crate::interrupt;
use crate::output::say;
use crate::progress::Progress;

/// Runs the command.
pub fn crash(args: &args::Crash, json: bool) -> Ended {
    if args.recipes {
        return plan::list(args, json);
    }
    let plan = Plan::of(args)?;
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
    Ok(if report.outcome.tried.iter().any(Tried::is_bad) { Answer::No } else { Answer::Done })
}

/// All that was found.
struct Report {
    recorded: Recorded,
    outcome: Outcome,
    /// The worst, with the fewest lost writes.
    shrunk: Option<(Tried, Shrunk)>,
    /// Where each of these lies in the file system, in words; by stamp.
    places: Vec<(u64, String)>,
    /// What files held when the workload had ended and the disk had not been given by then; nothing where that is not known.
    unflushed: Option<Vec<Unflushed>>,
    /// What it had not been given at the worst medium's cut, where lost writes do not explain that.
    later: Vec<Unflushed>,
}

fn laboratory(args: &args::Crash, plan: &Plan, stop: &AtomicBool) -> Result<Report, Failure> {
    let scratch = plan::scratch(args)?;
    let folder = &*scratch.path().to_owned();
    // They go in this order: while there is a folder, a note says so.
    let _held = (scratch, Note::write(&[Made::Folder(folder.to_owned())]));
    let bounds = Bounds { limit: Duration::from_nanos(args.limit.nanos), stop };
    let base = plan.base(folder, bounds)?;
    let base = base.as_deref().zip(plan.system.as_ref());
    say(format!("Running the workload on {}", seekwise::reading::spoken(&plan.target)));
    let session = Session {
        stack: &plan.stack,
        seed: Seed(args.seed),
        speed: args.speed,
        base,
        workload: &plan.recipe.workload,
        set: &plan.environment,
        bounds,
        folder,
    };
    let recorded = session.record().map_err(Failure::new)?;
    let program = Program { command: &plan.recipe.check, environment: plan.environment.clone(), bounds };
    let checker = Checker::new(plan.stack.sectors() * SECTOR, base, program, folder).map_err(Failure::new)?;
    let workers = if args.jobs == 0 { std::thread::available_parallelism().map_or(1, usize::from) } else { args.jobs };
    let trials = Trials { cuts: args.cuts as usize, orders: args.orders, seed: Seed(args.seed), workers };
    let (history, progress) = (&recorded.history, Progress::unknown("media checked"));
    // The same promises that the trials know: the writes are theirs.
    let writes = Writes::of(history, seekwise_model::durability::terms::Terms::of(&plan.stack).volatile);
    let check = |worker: usize, image: &Image, promises: &[&str]| {
        look(&checker, stop, worker, &content(image, history, &writes), promises)
    };
    let outcome = trials.run(history, &plan.stack, &check, &|| progress.one()).map_err(Failure::new)?;
    drop(progress);
    let worst = outcome.first.last_key_value().and_then(|(_, (state, image))| {
        Some((outcome.tried.iter().find(|tried| tried.state == *state)?.clone(), image))
    });
    let shrunk = match &worst {
        Some((tried, image)) => {
            say("Looking for the fewest lost writes of the worst".to_owned());
            let shrunk = shrink(&outcome.writes, history, (tried, image), &check).map_err(Failure::new)?;
            keep(args.keep.as_deref(), &checker, &content(image, history, &writes))?;
            Some((tried.clone(), shrunk))
        }
        None => None,
    };
    let places = match (&shrunk, plan.system.as_ref()) {
        (Some((tried, Shrunk::To { lost, .. })), Some(system)) => {
            let whole = Image::without(&writes, tried.case.at, &[]);
            let whole = content(&whole, history, &writes);
            let told = located(&checker, &whole, (system, folder, bounds), &lost.left, history);
            // Only words: where it cannot be read, there are none.
            told.unwrap_or_default()
        }
        _ => Vec::new(),
    };
    let given =
        |at: Instant| checker.missing(&content(&Image::without(&writes, at, &[]), history, &writes), &recorded.pages);
    let end = history.span().map_or(Instant::ZERO, |span| span.1);
    let unflushed = given(end).map_err(Failure::new)?;
    let mut later = match &shrunk {
        Some((tried, Shrunk::NotLost { .. })) if tried.finding.verdict == Verdict::LostPromised => given(tried.case.at),
        _ => Ok(None),
    }
    .map_err(Failure::new)?
    .unwrap_or_default();
    later.retain(|lacking| !unflushed.as_ref().is_some_and(|all| all.contains(lacking)));
    Ok(Report { recorded, outcome, shrunk, places, unflushed, later })
}

/// What lies on a medium.
fn content<'h>(image: &Image, history: &'h History, writes: &Writes) -> Content<'h> {
    Content { pieces: image.pieces(history, writes), torn: image.torn().to_vec() }
}

/// What lost writes were there for, in the file system as it would be with all of them: mounted once, so that its journal is played.
fn located(
    checker: &Checker<'_>,
    whole: &Content<'_>,
    (system, folder, bounds): (&FileSystem, &Path, Bounds<'_>),
    lost: &[Lost],
    history: &History,
) -> io::Result<Vec<(u64, String)>> {
    use std::os::unix::fs::FileExt;
    let (path, mount) = (folder.join("whole"), folder.join("whole-mount"));
    checker.write(&path, whole)?;
    std::fs::create_dir(&mount)?;
    system.mount(&path, &mount, bounds)?.end()?;
    let file = std::fs::File::open(&path)?;
    let read = |offset: u64, length: usize| {
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, offset).ok().map(|()| bytes)
    };
    let Some(layout) = Layout::read(&read) else { return Ok(Vec::new()) };
    Ok(lost.iter().take(text::NAMED).map(|lost| (lost.write.stamp, words(&layout, lost, history, &read))).collect())
}

fn look(
    checker: &Checker<'_>,
    stop: &AtomicBool,
    worker: usize,
    content: &Content<'_>,
    promises: &[&str],
) -> io::Result<Checked> {
    let Seen { ended, unmountable, fault } = checker.look(worker, content, promises)?;
    if stop.load(Ordering::Relaxed) {
        return Err(io::Error::other("stopped"));
    }
    let (how, printed) = ended.map(|ended| (ended.how, ended.printed)).unzip();
    let (code, died) = match how {
        Some(How::Exited(code)) => (Some(code), None),
        Some(how) => (None, Some(how.to_string())),
        None => (None, None),
    };
    Ok(Checked { code, died, printed: printed.unwrap_or_default(), unmountable, fault })
}

fn keep(path: Option<&Path>, checker: &Checker<'_>, content: &Content<'_>) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    checker.write(path, content).map_err(|error| Failure::new(format!("--keep {}: {error}", path.display())))?;
    say(format!("Its medium: {}", path.display()));
    Ok(())
}
