//! A fit: measurements of a drive become its profile.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

use seekwise_drives::profile::{self, DriveFile, ReadingCache};
use seekwise_lab::catalogue;
use seekwise_lab::digest::sha256;
use seekwise_lab::fit::data::{DataSplit, FitData};
use seekwise_lab::fit::evaluator::{FitEvent, FitListener, check_journal_answer};
use seekwise_lab::fit::search::SearchEffort;
use seekwise_lab::fit::sources::{self, FileArgument};
use seekwise_lab::fit::{self, FitTask, parameter, report, write};
use seekwise_lab::provenance::ProgramVersion;
use seekwise_lab::workers::Workers;

use crate::bounds::wall;
use crate::error::Error;
use crate::journal::{JournalOptions, SearchJournal};
use crate::observer::Observer;
use crate::reading::{self, FileKind, Files};
use crate::study::warn_once;
use crate::system::clock::Clock;
use crate::system::outputs::{prepare_output, write_whole};

/// The findings of a fit.
pub use seekwise_lab::fit::evaluator::FitEnding;
pub use seekwise_lab::fit::judge::RejectionReason;
pub use seekwise_lab::fit::parameter::FigureMark;
pub use seekwise_lab::fit::report::{
    FigureChange, FitReport, FixedParameter, KeyEffect, MovedParameter, PointErrors, ReferenceErrors, ResidualGroup,
    TraceErrors,
};
pub use seekwise_lab::fit::strain::StrainedFigure;
pub use seekwise_lab::validate::{ResponseErrors, Validation};

/// Reads the share of the data that is held back.
pub use seekwise_lab::fit::sources::parse_held_share;

/// A fit to make.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Fit {
    /// The measurements: FILE, or FILE,KEY=VALUE,… with the settings that held meanwhile.
    pub data: Vec<String>,
    /// The drive to begin with: a name, or a profile file.
    pub drive: String,
    /// The share that the search does not see.
    pub hold: f64,
    /// Keys, or sections of keys, that move; empty for all that may.
    pub only: Vec<String>,
    /// The fitted profile goes to this file.
    pub out: PathBuf,
    /// A page with tables and pictures goes to this file.
    pub page: Option<PathBuf>,
    /// Generations of the search; `None` for the number that suits the data.
    pub generations: Option<u32>,
    /// Seconds of real time after which the best so far is the result. Which point that is depends on the machine.
    pub time: Option<f64>,
    /// Points after which the best so far is the result, at the same place on each machine.
    pub points: Option<u64>,
    /// Go on with a fit that was interrupted.
    pub resume: bool,
    /// Replace files that are there.
    pub force: bool,
    /// Where the measurements and the drive are read.
    pub files: Files,
}

impl Fit {
    /// A fit of this drive to these measurements, half of which the search does not see. The fitted profile goes to `out`.
    pub fn new(data: Vec<String>, drive: impl Into<String>, out: impl Into<PathBuf>) -> Fit {
        Fit {
            data,
            drive: drive.into(),
            hold: 0.5,
            only: Vec::new(),
            out: out.into(),
            page: None,
            generations: None,
            time: None,
            points: None,
            resume: false,
            force: false,
            files: Files::default(),
        }
    }
}

/// The inputs of a fit.
struct FitInputs {
    /// The profile, as a text and as values.
    text: String,
    drive: DriveFile,
    data: Vec<FitData>,
    /// All texts and options in one hash: an interrupted fit goes on with the same ones only.
    hash: String,
}

/// Fits a profile, which is written when the search is done or has to end. The observer may end it between two points: with the best
/// so far ([`Observer::is_enough`]) or without a profile ([`Observer::is_cancelled`]). Either way the points stay in the journal
/// beside the profile, and [`Fit::resume`] goes on with them.
pub fn fit(fit: &Fit, observer: &dyn Observer) -> Result<FitReport, Error> {
    let given = read_inputs(fit)?;
    // A fit that goes on replaces what it wrote when it ended early.
    let force = fit.force || fit.resume;
    for path in std::iter::once(&fit.out).chain(&fit.page) {
        prepare_output(path, force).map_err(|why| Error::of_file(path, &why))?;
    }
    let parameters = movable_parameters(fit, &given)?;
    let options = JournalOptions { hash: &given.hash, resume: fit.resume, force: fit.force, files: &fit.files };
    let fits = |question: &str, answer: &[f64]| check_journal_answer(&given.data, question, answer);
    let (journal, known) = SearchJournal::open(&fit.out, options, &fits)?;
    // From now on points are kept.
    let FittedDrive { report, profile, page } =
        fit_parameters(fit, &given, parameters, Some(&journal), known, observer)?;
    let written = |path: &PathBuf, text: &str| {
        write_whole(path, text.as_bytes(), force).map_err(|why| Error::of_file(path, &why))
    };
    written(&fit.out, &profile)?;
    if let Some(path) = &fit.page {
        written(path, &page)?;
    }
    if report.ending.is_none() {
        journal.done();
    }
    warn_once(&report.warnings);
    Ok(report)
}

/// A fitted drive in memory.
pub struct FittedDrive {
    /// The findings of the fit.
    pub report: FitReport,
    /// The profile, as a text.
    pub profile: String,
    /// A page with tables and pictures.
    pub page: String,
}

/// Fits a profile and writes nothing: [`Fit::out`] only names it. No points are kept.
pub fn fit_in_memory(fit: &Fit, observer: &dyn Observer) -> Result<FittedDrive, Error> {
    if fit.resume || fit.page.is_some() {
        return Err(Error::new(
            "a fit in memory keeps no points and writes no page; expected no --resume and no --page",
        ));
    }
    let given = read_inputs(fit)?;
    let parameters = movable_parameters(fit, &given)?;
    let fitted = fit_parameters(fit, &given, parameters, None, BTreeMap::new(), observer)?;
    warn_once(&fitted.report.warnings);
    Ok(fitted)
}

/// The parameters that may move; an error if there are none.
fn movable_parameters(args: &Fit, given: &FitInputs) -> Result<Vec<parameter::Parameter>, Error> {
    let parameters = parameter::collect_parameters(&given.drive, &args.only);
    if parameters.is_empty() { Err(nothing_to_fit(args)) } else { Ok(parameters) }
}

/// Searches, judges, and renders the profile and its page. Points go to the journal if there is one.
fn fit_parameters(
    fit: &Fit,
    given: &FitInputs,
    parameters: Vec<parameter::Parameter>,
    journal: Option<&SearchJournal>,
    known: BTreeMap<String, Vec<f64>>,
    observer: &dyn Observer,
) -> Result<FittedDrive, Error> {
    observer.begin(Some(fit::expected_point_count(&parameters, search_effort(fit, given))), 0, "points");
    let (fitted, search) = run_search(fit, given, parameters, journal, known, observer)?;
    let report = report::build_report(&given.drive, &given.data, &fitted)?;
    let stem = fit.out.file_stem().map_or("fitted".to_owned(), |stem| stem.to_string_lossy().into_owned());
    let early = if report.ending.is_some() { "; it ended early: intervals are whole ranges" } else { "" };
    let shares = fitted_shares(&given.data) + early;
    let profile = write::write_fitted_profile(&given.text, &given.drive, &fitted, &stem, &shares)
        .map_err(|why| Error::new(format!("{}: {why}", fit.drive)))?;
    // Read before it is written: a profile that its own reader refuses is a fault of ours.
    profile::parse(&fit.out.to_string_lossy(), &profile)?.profile()?;
    let page = fit::page::render_html(&given.drive.title, &report, &shares, &search);
    Ok(FittedDrive { report, profile, page })
}

fn nothing_to_fit(args: &Fit) -> Error {
    let why = if args.only.is_empty() {
        "all figures are from a datasheet or measured"
    } else {
        "--only names no figure that can be fitted"
    };
    Error::new(format!("{}: nothing to fit: {why}; `seekwise keys drive` lists the keys", args.drive))
}

/// Reads all inputs.
fn read_inputs(args: &Fit) -> Result<FitInputs, Error> {
    let named: Vec<FileArgument> = args.data.iter().map(|text| FileArgument::parse(text)).collect::<Result<_, _>>()?;
    let files: Vec<&str> = named.iter().map(|named| named.file.as_str()).chain([args.drive.as_str()]).collect();
    reading::one_standard_input(&files)?;
    let text = match (catalogue::find_text(&args.drive), args.files.find(&args.drive)?) {
        (None, Some(text)) => {
            reading::expect(&args.drive, &text, &[FileKind::Profile])?;
            text
        }
        (Some(text), _) => text.to_owned(),
        (None, None) => return Err(catalogue::load_drive(&args.drive).map_or_else(Error::from, |_| Error::new(""))),
    };
    let drive = profile::parse(&args.drive, &text)?;
    check_keys(&args.only)?;
    if args.time.is_some() && cfg!(target_family = "wasm") {
        return Err(Error::new("--time: WebAssembly has no clock; expected a number of generations or points"));
    }
    let generations = args.generations.map_or("usual".to_owned(), |generations| generations.to_string());
    let (this, only) = (ProgramVersion::current(), args.only.join(","));
    let mut all = format!("{this} {} {generations} {only}\n{text}", args.hold);
    let mut texts = Vec::new();
    for named in &named {
        let read = args.files.read(&named.file)?;
        all.push_str(&format!("\n{named:?}\n{read}"));
        texts.push(read);
    }
    let (mut data, warnings) = sources::parse_data(&named, &texts, args.hold, &drive, &text)?;
    warn_once(&warnings);
    for (named, file) in named.iter().filter_map(|named| Some((named, named.beside.as_ref()?))) {
        sources::simulator_times::attach_simulator_times(&mut data, named, file, &args.files.read(file)?)?;
    }
    if data.iter().all(|data| data.request_or_job_count(DataSplit::Seen) == 0) {
        return Err(Error::new(
            "all data is held out or skipped, so there is nothing to fit to; expected hold=none for some",
        ));
    }
    Ok(FitInputs { hash: sha256(all.as_bytes()), text, drive, data })
}

/// An error if `--only` names something that is no key.
fn check_keys(only: &[String]) -> Result<(), Error> {
    let keys = || profile::keys::KEYS.iter().map(|key| key.path);
    for name in only {
        let below = format!("{name}.");
        if !keys().any(|key| key == name || key.starts_with(&below)) {
            let fault = seekwise_drives::diagnostic::Diagnostic::at("--only", 0, "unknown key").with_key(name);
            return Err(fault.suggest_nearest(name, keys()).into());
        }
    }
    Ok(())
}

/// The progress of a search: (points tried, least error on seen data), at each pause at which the error had fallen.
type Search = Vec<(u64, f64)>;

fn search_effort(args: &Fit, given: &FitInputs) -> SearchEffort {
    SearchEffort::for_data(&given.data, args.generations.map(|generations| generations as usize))
}

/// The state of a search.
#[derive(Default)]
struct SearchState {
    tried: u64,
    /// The least loss.
    least: Option<f64>,
    search: Search,
    stage: &'static str,
}

/// Searches and reports the progress; logs a forecast beforehand.
fn run_search(
    args: &Fit,
    given: &FitInputs,
    parameters: Vec<parameter::Parameter>,
    journal: Option<&SearchJournal>,
    known: BTreeMap<String, Vec<f64>>,
    observer: &dyn Observer,
) -> Result<(fit::FitResult, Search), Error> {
    let effort = search_effort(args, given);
    let clock = Clock::start();
    let one = forecast_search(args, given, &parameters, effort, journal.is_some())?;
    let now = Mutex::new(SearchState::default());
    let heard = |event: FitEvent<'_>| {
        let mut now = now.lock().expect("no holder panics");
        match event {
            FitEvent::Tried { question, answer, known } => {
                now.tried += 1;
                observer.at(now.tried);
                drop(now);
                if let (Some(journal), false) = (journal, known) {
                    journal.write(question, answer);
                }
            }
            FitEvent::Best(loss) if now.least.is_none_or(|least| loss < least) => {
                now.least = Some(loss);
                observer.doing(&format!("{}: {loss:.4}", now.stage));
            }
            FitEvent::Best(_) => {}
            FitEvent::Paused(loss) => {
                if now.search.last().is_none_or(|step| loss < step.1) {
                    let tried = now.tried;
                    now.search.push((tried, loss));
                }
            }
            FitEvent::Stage { name, expected } => {
                now.stage = name;
                observer.begin(Some(now.tried + expected), now.tried, "points");
                observer.doing(&now.least.map_or(name.to_owned(), |least| format!("{name}: {least:.4}")));
            }
        }
    };
    // The best point still has to be judged.
    let end = args.time.map(|time| time - (one * JUDGED).min(time / 4.0));
    let enough = || observer.is_enough() || end.is_some_and(|end| clock.elapsed_seconds() >= end);
    let listener = FitListener { on_event: &heard, cancelled: &|| observer.is_cancelled(), enough: &enough };
    let task = FitTask {
        drive: &given.drive,
        parameters,
        data: &given.data,
        effort,
        point_limit: args.points,
        known_answers: known,
    };
    let fitted = fit::fit_unless_cancelled(task, listener);
    let SearchState { tried, mut search, .. } = now.into_inner().expect("no holder panics");
    if let Some(&(_, least)) = search.last() {
        search.push((tried, least));
    }
    // The work is not lost: the points are kept, and a fit that goes on knows them.
    let fitted = fitted.ok_or_else(Error::cancelled)?;
    journal.and_then(SearchJournal::failure).map_or(Ok((fitted, search)), Err)
}

/// Points on all data that judging takes at most, after the search: two for each of a dozen figures that moved, and those of the
/// report.
const JUDGED: f64 = 30.0;

/// A point of short jobs takes about this share of a point of whole jobs on all data: some 2,000 of 6,000 requests, of the half that
/// is seen. A mean over a fit, in which some points are of whole jobs.
const SHORT: f64 = 0.3;

/// The forecast is right within this factor, which depends on the figures that the data react to.
const WITHIN: f64 = 2.0;

/// Seconds from which on the forecast of a fit is logged.
const LONG: f64 = 10.0;

/// Logs how long the search takes, judging by the first point, on a terminal or not. Returns the seconds of one point on all
/// data.
fn forecast_search(
    args: &Fit,
    given: &FitInputs,
    parameters: &[parameter::Parameter],
    effort: SearchEffort,
    is_kept: bool,
) -> Result<f64, Error> {
    let (clock, cache) = (Clock::start(), ReadingCache::default());
    for data in &given.data {
        data.simulate_values(&given.drive, &cache)?;
    }
    let one = clock.elapsed_seconds();
    let points = fit::expected_point_count(parameters, effort);
    // Jobs are simulated on all cores; of a trace each core simulates a point of its own.
    let each = if effort.thorough { one / Workers::Shared.thread_count() as f64 } else { SHORT * one };
    let [least, most] = [1.0 / WITHIN, WITHIN].map(|factor| factor * points as f64 * each);
    if most >= LONG {
        let bound = match args.time {
            Some(time) if time < most => format!(", {} at most", wall(time)),
            _ => String::new(),
        };
        let again = match is_kept {
            true => format!("; {}.journal keeps the progress; --resume continues", args.out.display()),
            false => String::new(),
        };
        log::info!(
            "figures that may move: {}; this takes about {points} points and {} to {} here{bound}. --only and --generations make \
             it shorter; Ctrl-C or --time end it with the best so far{again}",
            parameters.len(),
            wall(least),
            wall(most)
        );
    }
    Ok(one)
}

/// The data that was fitted to, and how much of it, in words.
fn fitted_shares(data: &[FitData]) -> String {
    let one = |data: &FitData| match data {
        FitData::Traced(traced) => {
            let file = traced.file.rsplit(['/', '\\']).next().unwrap_or(&traced.file);
            format!("rows 1 to {} of the {} of {file}", traced.seen, traced.trace.rows.len())
        }
        FitData::Points(points) => {
            format!("{} of {} jobs with figures", data.request_or_job_count(DataSplit::Seen), points.len())
        }
    };
    let list: Vec<String> = data.iter().map(one).collect();
    format!("fitted by `seekwise fit` to {}; what it did not see stood against each change", list.join(" and "))
}
