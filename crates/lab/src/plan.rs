//! A study's plan: the cells of its factors, in order, and what each one runs.
//!
//! The first factor varies slowest. The key `job` and keys that begin with `job.` change the job, `place` says where it
//! runs, and all others change the modelled stack. Runs with the same index use the same seed in every cell, so that
//! sides are compared on the same random numbers. Nothing is run here.

mod real;

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io::{self, ErrorKind};
use std::sync::Arc;

use seekwise_disk::block::SECTOR;
use seekwise_disk::flash::FlashSpec;
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::Span;
use seekwise_drives::change::WrittenChange;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::dotted::{flatten, parse_size, plain_text};
use seekwise_drives::drives;
use seekwise_drives::duration::Duration;
use seekwise_drives::figure::FigureOrigin;
use seekwise_drives::key_names::real::DESTROY;
use seekwise_drives::key_names::stack::PLACE;
use seekwise_drives::key_names::{self, is_job_key, is_real_key, job, job_variable};
use seekwise_drives::profile::fit_record::FitRecord;
use seekwise_drives::stack::{BuiltStack, Setting, StackFile};
use seekwise_formats::fio::{FioOpenFlags, WorkerIolog};
use seekwise_formats::keys::JOB;
use seekwise_formats::scene::SceneFile;
use seekwise_formats::study::Study;
use seekwise_formats::trace::keys::ROOT;
use seekwise_run::handle::{RealEngine, RealHandle};
use seekwise_run::place::{self, PlaceSource, Target};
use seekwise_run::sim;
use seekwise_run::work::Work;
use seekwise_work::workload::CountingRule;
use serde::{Deserialize, Serialize};

use self::real::RealKeys;
use crate::catalogue;
use crate::digest::settings_hash;
use crate::inputs::{InputRole, Inputs};
use crate::jobs::{JobOrigin, JobQuery, LoadedJob};
use crate::{job_loads, job_settings, trace};

/// A combination of levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// In the order of the study's factors.
    pub levels: Vec<String>,
    /// Dotted keys and values; later ones override earlier ones.
    #[serde(rename = "asked")]
    pub settings: Vec<(String, String)>,
}

/// A cell, ready to run.
#[derive(Clone, Debug)]
pub struct PreparedCell {
    pub target: Target,
    /// The settings of the stack or the place, and of the job, for display and comparison.
    pub settings: Vec<Arc<Setting>>,
    /// A hash of the settings (`settings_hash`): cells of equal hashes run the same.
    pub hash: String,
    /// A hash of those of the job: cells of equal hashes do the same work, where their stacks have as many sectors.
    pub work: String,
    /// A hash of the modelled stack without what a run may not ask of it ([`Stack::normalize_all`]): cells of different
    /// ones cannot run alike. Valid within a process; 0 for measured runs.
    pub kin: u64,
    /// The job, or the scene.
    pub job: Work,
    /// The source of the job.
    pub origin: JobOrigin,
    /// The readers' warnings.
    pub warnings: Vec<Diagnostic>,
    /// Logs of its requests that a fio job asks for.
    pub logs: Vec<WorkerIolog>,
    /// The fit of the modelled drive, if it is a fitted one and the run is in virtual time.
    pub fit: Option<Arc<FitRecord>>,
    /// What the job asks of the drive that no measurement of the fit covered, in words.
    pub unseen: Vec<String>,
}

const LENGTH: &str = "a duration such as 30 s, 10 m or 500 ms";

/// All cells of `study`.
pub fn study_cells(study: &Study) -> Vec<Cell> {
    let mut base: Vec<(String, String)> = Vec::new();
    if let Some(job) = &study.job {
        base.push(("job".to_owned(), job.clone()));
    }
    base.extend(study.runtime.map(|runtime| (job::RUNTIME.to_owned(), runtime.to_string())));
    base.extend(study.ramp.map(|ramp| (job::RAMP.to_owned(), ramp.to_string())));
    base.extend(flatten(&study.stack));
    let mut cells = vec![Cell { levels: Vec::new(), settings: base }];
    for factor in &study.factor {
        let levels: Vec<(String, Vec<(String, String)>)> = match &factor.key {
            Some(key) => {
                factor.levels.iter().map(|level| (plain_text(level), vec![(key.clone(), plain_text(level))])).collect()
            }
            None => factor.bundle.iter().map(|bundle| (bundle.name.clone(), flatten(&bundle.set))).collect(),
        };
        let with = |cell: &Cell| {
            levels
                .iter()
                .map(|(name, set)| {
                    let mut cell = cell.clone();
                    cell.levels.push(name.clone());
                    cell.settings.extend(set.iter().cloned());
                    cell
                })
                .collect::<Vec<_>>()
        };
        cells = cells.iter().flat_map(with).collect();
    }
    cells.iter_mut().for_each(Cell::drop_before_none);
    cells
}

/// Keys for which `none` keeps the job's own setting.
const OF_JOB: [&str; 4] = [job::DEPTH, job::RUNTIME, job::RAMP, job::SPAN];

/// The seed of run number `run` of every cell.
pub fn run_seed(study: &Study, run: u32) -> u64 {
    Seed(study.seed).run_seed(u64::from(run)).0
}

/// Builds what a cell runs. `inputs` gives the texts of drives, stacks and jobs; `file` names the study in errors. The
/// key `place` names a place in real time; otherwise `stack` names an initial stack file, or `drive` a drive alone.
pub fn prepare_cell(file: &str, cell: &Cell, inputs: &Inputs<'_>) -> Result<PreparedCell, Vec<Diagnostic>> {
    prepare_with_draw(file, cell, inputs, None)
}

/// As [`prepare_cell`], on the draw `index` of the fit that the drive's profile is from; a drive without so many draws stays as
/// it is.
pub fn prepare_draw(
    file: &str,
    cell: &Cell,
    inputs: &Inputs<'_>,
    index: usize,
) -> Result<PreparedCell, Vec<Diagnostic>> {
    prepare_with_draw(file, cell, inputs, Some(index))
}

fn prepare_with_draw(
    file: &str,
    cell: &Cell,
    inputs: &Inputs<'_>,
    draw: Option<usize>,
) -> Result<PreparedCell, Vec<Diagnostic>> {
    let ((mut target, mut settings, below), fit) = build_target(file, cell, inputs, draw)?;
    let of_stack = settings.len();
    let Some(name) = cell.last_value("job") else {
        return Err(vec![Diagnostic::at(file, 0, "no job").with_key("job").with_expected("a pattern or a job file")]);
    };
    let asked = cell.settings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    // The last one counts.
    let variables: Vec<_> = asked.clone().rev().filter_map(|(key, value)| Some((job_variable(key)?, value))).collect();
    let scene: Vec<(&str, &str)> = asked.clone().filter(|(key, _)| SceneFile::has_key(key)).collect();
    let runtime = cell.last_value(job::RUNTIME).map(|value| parse_span(file, job::RUNTIME, value)).transpose()?;
    let trace: Vec<(&str, &str)> = asked.filter(|(key, _)| key.starts_with(ROOT)).collect();
    let (limits, depth) = (target.limits(), cell.last_value(job::DEPTH));
    let is_real = target.has_worker_handles();
    let (limits, real) = (Some(&limits), is_real);
    let asked = JobQuery { variables: &variables, scene: &scene, runtime, trace: &trace, depth, limits, real };
    let sectors = job_sectors(file, cell, target.sectors())?;
    let loaded = crate::jobs::load_job_with(name, sectors, inputs, &asked);
    let LoadedJob { mut job, origin, system, beside, opened, logs, mut warnings } =
        loaded.map_err(|faults| if is_real { faults.into_iter().map(advise_longer_file).collect() } else { faults })?;
    put_beside(&mut target, name, beside)?;
    let job_keys = |key: &str| is_job_key(key) && job_variable(key).is_none();
    for (key, value) in cell.settings.iter().filter(|(key, _)| job_keys(key)) {
        set_job(file, &mut job, key, value)?;
    }
    warnings.extend(below);
    open_real(file, cell, (&mut target, &mut job), opened.as_deref(), (&mut warnings, &mut settings))?;
    match (&job, &origin) {
        (Work::Job(job), _) => settings.extend(job_settings::from_job(job, sectors)),
        (Work::Cached(cached), _) => {
            settings.extend(job_settings::from_job(&cached.0, sectors).into_iter().chain(system))
        }
        (Work::Trace(spec), JobOrigin::Trace(traced)) => {
            settings.extend(trace::trace_settings(&spec.name, traced, spec.how))
        }
        (_, JobOrigin::Scene(own)) => {
            settings.extend(own.iter().cloned().chain(job_settings::from_scene(runtime, sectors)))
        }
        (Work::Session(session), JobOrigin::Session(orders)) => {
            settings.extend(job_settings::from_session(session, sectors));
            match &mut target {
                Target::Sim(stack, changes) => {
                    stack.changes.extend(orders.iter().map(WrittenChange::to_change));
                    changes.extend(orders.iter().cloned());
                }
                Target::Measured(_) if orders.is_empty() => {}
                Target::Measured(_) => {
                    let fault = Diagnostic::at(name, 0, "in it power is cut or a setting changed").with_key("job");
                    return Err(vec![fault.with_expected("a modelled disk in virtual time to play it on")]);
                }
            }
        }
        _ => {}
    }
    let hash = settings_hash(settings.iter());
    let work = settings_hash(settings[of_stack..].iter());
    let unasked = target.stack().filter(|_| !target.is_measured()).map(Stack::normalize_all);
    let kin = unasked.map_or(0, |stack| BuildHasherDefault::<DefaultHasher>::default().hash_one(stack));
    let settings = inputs.share_settings(settings);
    let unseen = unseen_by_fit(fit.as_deref(), &target, &job);
    Ok(PreparedCell { target, settings, hash, work, kin, job, origin, warnings, logs, fit, unseen })
}

/// The target of a cell, and the fit of its drive if it is a fitted one and runs in virtual time.
fn build_target(
    file: &str,
    cell: &Cell,
    inputs: &Inputs<'_>,
    draw: Option<usize>,
) -> Result<(Laid, Option<Arc<FitRecord>>), Vec<Diagnostic>> {
    match cell.last_value(PLACE) {
        Some(name) if name != sim::NAME => Ok((real_time_target(file, name, cell, inputs)?, None)),
        _ => {
            let BuiltStack { stack, changes, settings, warnings, fit } = build_stack(file, cell, inputs, draw)?;
            Ok(((Target::Sim(Box::new(stack), changes), settings, warnings), fit))
        }
    }
}

/// What the job asks of a fitted drive that no measurement of the fit covered.
fn unseen_by_fit(fit: Option<&FitRecord>, target: &Target, job: &Work) -> Vec<String> {
    let (Some(fit), Some(stack)) = (fit, target.stack()) else { return Vec::new() };
    job_loads::unseen_parts(fit, job, stack.profile.cache.write_back)
}

/// Where the place has files or disks of its own: opens their handles, fits job and target to them, and refuses what may not be
/// written.
fn open_real(
    file: &str,
    cell: &Cell,
    (target, job): (&mut Target, &mut Work),
    opened: Option<&[FioOpenFlags]>,
    (warnings, settings): (&mut Vec<Diagnostic>, &mut Vec<Setting>),
) -> Result<(), Vec<Diagnostic>> {
    let Target::Measured(place) = &*target else { return Ok(()) };
    let place = place.clone();
    if place.has_worker_handles() {
        let ring = || place.check_io_uring();
        let (handles, said) =
            RealKeys::from_cell(file, cell)?.worker_handles(opened, &ring).map_err(|why| unfit_error(file, why))?;
        warnings.extend(said.map(|said| Diagnostic::at(file, 0, said).with_key(key_names::real::ENGINE)));
        warnings.extend(limit_calls_to_one(file, job, &handles));
        fit_file(file, target, job, &handles)?;
        settings.extend(real::handle_settings(&handles));
    }
    if let Target::Measured(place) = &*target
        && job.may_write()
    {
        place.check_may_overwrite(cell.last_value(DESTROY)).map_err(|why| unfit_error(file, why))?;
    }
    Ok(())
}

/// Puts the devices of a scene beside a modelled stack.
fn put_beside(target: &mut Target, job: &str, devices: Vec<FlashSpec>) -> Result<(), Vec<Diagnostic>> {
    match target {
        Target::Sim(stack, _) => stack.beside = devices,
        Target::Measured(place) if !devices.is_empty() => {
            let wrong =
                Diagnostic::at(job, 0, format!("`{}` has no device beside it", place.name())).with_key("device");
            return Err(vec![wrong.with_expected("a modelled stack")]);
        }
        Target::Measured(_) => {}
    }
    Ok(())
}

/// For a job that does not fit a file: adds what to do about it.
fn advise_longer_file(fault: Diagnostic) -> Diagnostic {
    match (fault.key.as_deref(), &fault.expected) {
        (Some("size" | "offset"), None) => fault.with_expected(
            "a smaller job, or a longer file: `--set real.layout=SIZE` makes one under a name that is not there yet",
        ),
        _ => fault,
    }
}

fn unfit_error(file: &str, why: String) -> Vec<Diagnostic> {
    vec![Diagnostic::at(file, 0, why).with_key(PLACE)]
}

/// Prepares a real file for the job.
fn fit_file(file: &str, target: &mut Target, job: &Work, handles: &[RealHandle]) -> Result<(), Vec<Diagnostic>> {
    let Target::Measured(place) = &*target else { return Ok(()) };
    if let Some(fitted) = place.prepare_for(job, handles).map_err(|why| unfit_error(file, why))? {
        *target = Target::Measured(fitted);
    }
    Ok(())
}

/// Limits workers that make one call after another to one outstanding request; returns the warning.
fn limit_calls_to_one(file: &str, job: &mut Work, handles: &[RealHandle]) -> Option<Diagnostic> {
    let Work::Job(job) = job else { return None };
    let mut deepest = 1;
    for (index, worker) in job.workers.iter_mut().enumerate() {
        let handle = handles.get(index).or(handles.first());
        if handle.is_some_and(|handle| handle.engine == RealEngine::Calls) {
            deepest = deepest.max(worker.depth);
            worker.depth = 1;
        }
    }
    let said = format!("psync has one request outstanding: the depth is 1, not {deepest}");
    (deepest > 1).then(|| Diagnostic::at(file, 0, said).with_key(job::DEPTH))
}

/// The place in real time called `name`, with its settings; the keys of a stack apply to a place that has one.
fn real_time_target(file: &str, name: &str, cell: &Cell, inputs: &Inputs<'_>) -> Result<Laid, Vec<Diagnostic>> {
    let fits = |(kind, address): &(&place::PlaceKind, Option<&str>)| {
        address.is_some() == matches!(kind.of, PlaceSource::Address(_) | PlaceSource::File(_) | PlaceSource::Device(_))
    };
    let Some((kind, address)) = place::parse_place(inputs.places(), name).filter(fits) else {
        let fault = Diagnostic::at(file, 0, format!("`{name}` is no place")).with_key(PLACE);
        let known = || std::iter::once(sim::NAME).chain(inputs.places().iter().map(|kind| kind.name));
        let expected = std::iter::once(sim::NAME).chain(inputs.places().iter().map(place::PlaceKind::command_form));
        return Err(vec![fault.with_expected(expected.collect::<Vec<_>>().join(", ")).suggest_nearest(name, known())]);
    };
    let setting = Setting {
        key: PLACE.to_owned(),
        value: name.to_owned(),
        unit: String::new(),
        kind: FigureOrigin::Set,
        source: kind.about.to_owned(),
    };
    if let PlaceSource::Stack(made) = kind.of {
        let BuiltStack { stack, changes, mut settings, warnings, .. } = build_stack(file, cell, inputs, None)?;
        if let Some(change) = changes.first() {
            let fault = Diagnostic::at(file, 0, format!("`{}` changes during a run", change.key)).with_key(CHANGES);
            return Err(vec![fault.with_expected("the same settings throughout: a run in real time has no changes")]);
        }
        settings.insert(0, setting);
        return Ok((Target::Measured(made(stack)), settings, warnings));
    }
    let is_path = matches!(kind.of, PlaceSource::File(_) | PlaceSource::Device(_));
    let keys = RealKeys::from_cell(file, cell)?;
    let other = |key: &&String| {
        let of_place = match kind.of {
            PlaceSource::File(_) | PlaceSource::Device(_) => is_real_key(key),
            PlaceSource::Address(_) => *key == DESTROY,
            _ => false,
        };
        !of_place && *key != PLACE && *key != "job" && !is_work_key(key)
    };
    if let Some(key) = cell.settings.iter().map(|(key, _)| key).find(other) {
        let fault = Diagnostic::at(file, 0, format!("`{name}` has no modelled stack to set")).with_key(key);
        let expected =
            if is_path { "keys of the job, and `real` keys (`seekwise keys real`)" } else { "keys of the job alone" };
        return Err(vec![fault.with_expected(expected)]);
    }
    let place = match kind.of {
        PlaceSource::Nothing(made) => made(),
        PlaceSource::Address(made) => {
            made(address.unwrap_or("")).map_err(|why| vec![Diagnostic::at(file, 0, why).with_key(PLACE)])?
        }
        PlaceSource::File(made) | PlaceSource::Device(made) => {
            made(address.unwrap_or(""), &keys.wanted).map_err(|why| unfit_error(file, why))?
        }
        PlaceSource::Stack(_) => unreachable!("it was returned above"),
    };
    Ok((Target::Measured(place), vec![setting], Vec::new()))
}

/// A target, its settings, and its reader's warnings.
type Laid = (Target, Vec<Setting>, Vec<Diagnostic>);

/// The key of what changes during a run.
const CHANGES: &str = "at";

/// The modelled stack of a cell, on a draw of its drive's fit if one is given. Its changes are errors of `file`, whichever file
/// has them.
fn build_stack(
    file: &str,
    cell: &Cell,
    inputs: &Inputs<'_>,
    draw: Option<usize>,
) -> Result<BuiltStack, Vec<Diagnostic>> {
    let here = |fault: Diagnostic| match fault.key.as_deref() {
        Some(CHANGES) => Diagnostic { file: file.to_owned(), ..fault },
        _ => fault,
    };
    let stack = read_stack(file, cell, inputs)?;
    let stack = match draw {
        Some(index) => stack.with_draw(index),
        None => stack,
    };
    let built = stack.build_with_cache(&|name| drive_profile(name, inputs), &inputs.cache().drives);
    let built = built.map_err(|faults| faults.into_iter().map(here).collect::<Vec<_>>())?;
    if !built.changes.is_empty() {
        sim::check_changes(&built.stack, Seed(0)).map_err(|why| {
            vec![Diagnostic::at(file, 0, why.with_change_in_words(&built.changes).to_string()).with_key(CHANGES)]
        })?;
    }
    Ok(built)
}

/// The profile of a built-in drive, or of a file.
fn drive_profile(name: &str, inputs: &Inputs<'_>) -> Result<String, Vec<Diagnostic>> {
    let known = catalogue::names().chain(inputs.places().iter().map(|kind| kind.name));
    let absent = |why: io::Error| match why.kind() {
        ErrorKind::NotFound => {
            let absent = Diagnostic::at(name, 0, "no such file, and no built-in drive of that name");
            vec![drives::suggest_drives(absent.suggest_nearest(name, known), name)]
        }
        _ => vec![Diagnostic::at(name, 0, format!("cannot be read: {why}"))],
    };
    inputs.read_text(InputRole::Drive, name).map_err(absent)
}

fn read_stack(file: &str, cell: &Cell, inputs: &Inputs<'_>) -> Result<StackFile, Vec<Diagnostic>> {
    let mut stack = match (cell.last_value("stack"), cell.last_value("drive")) {
        (Some(path), _) => {
            let unreadable = |why| vec![Diagnostic::at(path, 0, format!("cannot be read: {why}"))];
            let text = inputs.read_text(InputRole::Stack, path).map_err(unreadable)?;
            StackFile::parse(path, &text)?
        }
        (None, Some(drive)) => StackFile::named_drive(drive),
        (None, None) => {
            let fault = Diagnostic::at(file, 0, "no drive").with_key("stack.drive");
            return Err(vec![fault.with_expected("the name of a drive")]);
        }
    };
    for (key, value) in &cell.settings {
        if is_real_key(key) {
            let fault =
                Diagnostic::at(file, 0, "says how a real file is used, and there is a modelled disk").with_key(key);
            return Err(vec![fault.with_expected("--on file:PATH or device:PATH with it")]);
        }
        if !matches!(key.as_str(), "job" | "stack" | PLACE) && !is_work_key(key) {
            stack.set(key, value)?;
        }
    }
    Ok(stack)
}

/// True for keys of the work, beside `job` itself.
fn is_work_key(key: &str) -> bool {
    is_job_key(key) || key.starts_with(ROOT) || SceneFile::has_key(key)
}

impl Cell {
    /// Removes the settings of a job's key up to its last `none`.
    fn drop_before_none(&mut self) {
        for key in OF_JOB {
            let last = self.settings.iter().rposition(|(known, value)| known == key && value == "none");
            let mut place = 0;
            self.settings.retain(|(known, _)| {
                place += 1;
                known != key || last.is_none_or(|last| place > last + 1)
            });
        }
    }

    /// The last value of a key.
    fn last_value(&self, key: &str) -> Option<&str> {
        self.settings.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

fn parse_span(file: &str, key: &str, value: &str) -> Result<Span, Vec<Diagnostic>> {
    let length = Duration::parse(value).map(|length| Span::from_nanos(length.nanos));
    length
        .map_err(|_| vec![Diagnostic::at(file, 0, format!("`{value}` is invalid")).with_key(key).with_expected(LENGTH)])
}

/// Sectors of a target that a job uses: all, or as many as `job.span` says.
fn job_sectors(file: &str, cell: &Cell, sectors: u64) -> Result<u64, Vec<Diagnostic>> {
    let Some(value) = cell.last_value(job::SPAN) else { return Ok(sectors) };
    let fault = |expected: String| {
        vec![Diagnostic::at(file, 0, format!("`{value}` is invalid")).with_key(job::SPAN).with_expected(expected)]
    };
    let bytes = parse_size(value).ok_or_else(|| fault("a size such as 10g or 500m, in powers of 1024".to_owned()))?;
    // Whole blocks of any drive.
    let wanted = bytes / BLOCK * (BLOCK / SECTOR);
    match wanted {
        0 => Err(fault(format!("at least {BLOCK} bytes"))),
        _ if wanted > sectors => Err(fault(format!("at most the {} bytes of the target", sectors * SECTOR))),
        _ => Ok(wanted),
    }
}

/// Bytes in the largest logical sector of a drive.
const BLOCK: u64 = 4096;

/// Changes all workers of a job by a dotted key.
pub(crate) fn set_job(file: &str, work: &mut Work, key: &str, value: &str) -> Result<(), Vec<Diagnostic>> {
    let fault = |expected: &str| {
        vec![Diagnostic::at(file, 0, format!("`{value}` is invalid")).with_key(key).with_expected(expected)]
    };
    let job = match work {
        Work::Job(job) => job,
        Work::Cached(cached) => &mut cached.0,
        // The end of a scene was set before it was built.
        Work::Scene(_) if matches!(key, job::RUNTIME | job::SPAN) => return Ok(()),
        // The end, depth and span of a trace were set before, too.
        Work::Trace(_) if matches!(key, job::RUNTIME | job::DEPTH | job::SPAN) => return Ok(()),
        Work::Trace(_) => {
            let wrong = Diagnostic::at(file, 0, "a trace has no workers").with_key(key);
            return Err(vec![wrong.with_expected("job.runtime, job.depth, job.span, or a key of the trace")]);
        }
        Work::Session(_) => {
            let wrong = Diagnostic::at(file, 0, "a recorded session is played as it is").with_key(key);
            return Err(vec![wrong.with_expected("no key of jobs")]);
        }
        Work::Scene(_) => {
            let wrong = Diagnostic::at(file, 0, "a scene has no workers").with_key(key);
            return Err(vec![wrong.with_expected("job.runtime, job.span, or a key of the scene")]);
        }
    };
    for worker in &mut job.workers {
        match key {
            job::DEPTH => match value.parse() {
                Ok(depth) if (1..=65_535).contains(&depth) => worker.depth = depth,
                _ => return Err(fault("a queue depth from 1 to 65535")),
            },
            job::RUNTIME => {
                worker.runtime = Some(parse_span(file, key, value)?);
                worker.time_based = true;
            }
            job::RAMP => worker.ramp = parse_span(file, key, value)?,
            job::COUNTED => match value {
                "tool" => worker.counting = CountingRule::Tool,
                "window" => worker.counting = CountingRule::Window,
                _ => return Err(fault("tool or window")),
            },
            // The job was laid out in it.
            job::SPAN => {}
            _ => {
                let known = JOB.iter().map(|job| job.0).collect::<Vec<_>>();
                let wrong = Diagnostic::at(file, 0, "unknown key").with_key(key).with_expected(known.join(", "));
                return Err(vec![wrong.suggest_nearest(key, known).explain_limit(&format!("{key}.{value}"))]);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By worker, as its handle says; one handle is that of all.
    #[test]
    fn workers_that_make_calls_have_one_request_outstanding() {
        let ring = RealHandle::default();
        let calls = RealHandle { engine: RealEngine::Calls, ..ring };
        let limited = |depth: u32, handles: &[RealHandle]| {
            let worker = format!("rw=randread\nioengine=libaio\ndirect=1\nsize=1m\niodepth={depth}\n");
            let read = |_: &str| Ok(format!("[a]\n{worker}[b]\n{worker}"));
            let loaded = crate::jobs::load_job("j.fio", 1 << 20, &Inputs::from_today(&read), &[]);
            let mut job = loaded.unwrap().job;
            let said = limit_calls_to_one("s.toml", &mut job, handles).map(|fault| fault.to_string());
            (job.workers().iter().map(|worker| worker.depth).collect::<Vec<_>>(), said)
        };
        let said = "s.toml: `job.depth`: psync has one request outstanding: the depth is 1, not 8".to_owned();
        assert_eq!(limited(8, &[calls]), (vec![1, 1], Some(said.clone())));
        assert_eq!(limited(8, &[calls, ring]), (vec![1, 8], Some(said)));
        assert_eq!(limited(8, &[ring]), (vec![8, 8], None));
        assert_eq!(limited(1, &[calls]), (vec![1, 1], None), "there is nothing to say");
    }
}
