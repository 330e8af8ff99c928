//! Fits, as `seekwise fit` makes them: figures of a drive's profile are moved until simulated response times are near
//! measured ones. The search itself is in `seekwise_lab::fit`; inputs, the journal of the points, progress and outputs
//! are handled here.

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
use seekwise_lab::fit::{self, FitTask, report, write};
use seekwise_lab::provenance::ProgramVersion;
use seekwise_lab::workers::Workers;

use crate::bounds::format_wall_time;
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
pub use seekwise_lab::fit::outward::Scatter;
pub use seekwise_lab::fit::outward::contradiction::Contradiction;
pub use seekwise_lab::fit::page::{draws_sentence, headline_text};
pub use seekwise_lab::fit::parameter::FigureMark;
pub use seekwise_lab::fit::report::{
    FigureChange, FitReport, FixedParameter, KeyEffect, MovedParameter, PointErrors, ReferenceErrors, ResidualGroup,
    TraceErrors,
};
pub use seekwise_lab::fit::strain::StrainedFigure;
pub use seekwise_lab::validate::{ResponseErrors, Validation};

/// Reads the share of the data that is held back from the search.
pub use seekwise_lab::fit::sources::parse_held_share;

/// The inputs, options and outputs of a fit.
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
    /// A fit of this drive to these measurements, half of which the search does not see. The fitted profile goes to
    /// `out`.
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

/// Fits a profile, which is written when the search is done or has to end. The observer may end it between two points:
/// with the best so far ([`Observer::is_enough`]) or without a profile ([`Observer::is_cancelled`]). Either way the
/// points stay in the journal beside the profile, and [`Fit::resume`] goes on with them.
pub fn fit(fit: &Fit, observer: &dyn Observer) -> Result<FitReport, Error> {
    let given = read_inputs(fit)?;
    // A fit that goes on replaces what it wrote when it ended early.
    let force = fit.force || fit.resume;
    for path in std::iter::once(&fit.out).chain(&fit.page) {
        prepare_output(path, force).map_err(|why| Error::of_file(path, &why))?;
    }
    check_something_moves(fit, &given)?;
    let options = JournalOptions { hash: &given.hash, resume: fit.resume, force: fit.force, files: &fit.files };
    let check_answer = |question: &str, answer: &[f64]| check_journal_answer(&given.data, question, answer);
    let (journal, known_answers) = SearchJournal::open(&fit.out, options, &check_answer)?;
    // From here on, points are kept in the journal.
    let FittedDrive { report, profile, page } = fit_parameters(fit, &given, Some(&journal), known_answers, observer)?;
    let write_output = |path: &PathBuf, text: &str| {
        write_whole(path, text.as_bytes(), force).map_err(|why| Error::of_file(path, &why))
    };
    write_output(&fit.out, &profile)?;
    if let Some(path) = &fit.page {
        write_output(path, &page)?;
    }
    if report.ending.is_none() {
        journal.remove();
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
    if fit.resume || fit.force || fit.page.is_some() {
        return Err(Error::new(
            "a fit in memory keeps no points and writes no file; expected no --resume, --force or --page",
        ));
    }
    let given = read_inputs(fit)?;
    check_something_moves(fit, &given)?;
    let fitted = fit_parameters(fit, &given, None, BTreeMap::new(), observer)?;
    warn_once(&fitted.report.warnings);
    Ok(fitted)
}

/// Number of parameters that may move.
fn parameter_count(fit: &Fit, given: &FitInputs) -> usize {
    fit::collect_parameters(&given.drive, &given.data, &fit.only).len()
}

/// An error if nothing may move.
fn check_something_moves(fit: &Fit, given: &FitInputs) -> Result<(), Error> {
    if parameter_count(fit, given) == 0 { Err(no_free_figure_error(fit)) } else { Ok(()) }
}

/// Searches, judges, and renders the profile and its page. Points go to the journal if there is one.
fn fit_parameters(
    fit: &Fit,
    given: &FitInputs,
    journal: Option<&SearchJournal>,
    known_answers: BTreeMap<String, Vec<f64>>,
    observer: &dyn Observer,
) -> Result<FittedDrive, Error> {
    let expected = fit::expected_point_count(&given.drive, &given.data, &fit.only);
    observer.begin_work(Some(expected), 0, "points");
    let (fitted, loss_history) = run_search(fit, given, journal, known_answers, observer)?;
    let report = report::build_report(&given.drive, &given.data, &fitted)?;
    let stem = fit.out.file_stem().map_or("fitted".to_owned(), |stem| stem.to_string_lossy().into_owned());
    let ending = if report.ending.is_some() { "; it ended early: intervals are whole ranges" } else { "" };
    let provenance = describe_fitted_data(&given.data) + ending;
    let profile = write::write_fitted_profile(&given.text, &given.drive, &fitted, &stem, &provenance)
        .map_err(|why| Error::new(format!("{}: {why}", fit.drive)))?;
    // Read before it is written: a profile that its own reader refuses is a fault of ours.
    profile::parse(&fit.out.to_string_lossy(), &profile)?.profile()?;
    let page = fit::page::render_html(&given.drive.title, &report, &provenance, &loss_history);
    Ok(FittedDrive { report, profile, page })
}

fn no_free_figure_error(fit: &Fit) -> Error {
    let why = if fit.only.is_empty() {
        "all figures are from a datasheet or measured"
    } else {
        "--only names no figure that can be fitted"
    };
    Error::new(format!("{}: nothing to fit: {why}; `seekwise keys drive` lists the keys", fit.drive))
}

/// Reads all inputs.
fn read_inputs(fit: &Fit) -> Result<FitInputs, Error> {
    let arguments: Vec<FileArgument> =
        fit.data.iter().map(|text| FileArgument::parse(text)).collect::<Result<_, _>>()?;
    let files: Vec<&str> =
        arguments.iter().map(|argument| argument.file.as_str()).chain([fit.drive.as_str()]).collect();
    reading::reject_second_standard_input(&files)?;
    let text = match (catalogue::find_text(&fit.drive), fit.files.find(&fit.drive)?) {
        (None, Some(text)) => {
            reading::expect_kind(&fit.drive, &text, &[FileKind::Profile])?;
            text
        }
        (Some(text), _) => text.to_owned(),
        (None, None) => return Err(catalogue::load_drive(&fit.drive).map_or_else(Error::from, |_| Error::new(""))),
    };
    let drive = profile::parse(&fit.drive, &text)?;
    check_only_keys(&fit.only)?;
    if fit.time.is_some() && cfg!(target_family = "wasm") {
        return Err(Error::new("--time: WebAssembly has no clock; expected a number of generations or points"));
    }
    let generations = fit.generations.map_or("usual".to_owned(), |generations| generations.to_string());
    let (program, only) = (ProgramVersion::current(), fit.only.join(","));
    let mut hashed_text = format!("{program} {} {generations} {only}\n{text}", fit.hold);
    let mut texts = Vec::new();
    for argument in &arguments {
        let data_text = fit.files.read(&argument.file)?;
        hashed_text.push_str(&format!("\n{argument:?}\n{data_text}"));
        texts.push(data_text);
    }
    let (mut data, warnings) = sources::parse_data(&arguments, &texts, fit.hold, &drive, &text)?;
    if fit.generations.is_some() && matches!(data[..], [FitData::Points(_)]) {
        return Err(Error::new(
            "--generations: a fit to jobs has none; expected --only, --points or --time to make it shorter",
        ));
    }
    warn_once(&warnings);
    for (argument, file) in arguments.iter().filter_map(|argument| Some((argument, argument.beside.as_ref()?))) {
        sources::simulator_times::attach_simulator_times(&mut data, argument, file, &fit.files.read(file)?)?;
    }
    if data.iter().all(|data| data.request_or_job_count(DataSplit::Seen) == 0) {
        return Err(Error::new(
            "all data is held out or skipped, so there is nothing to fit to; expected hold=none for some",
        ));
    }
    Ok(FitInputs { hash: sha256(hashed_text.as_bytes()), text, drive, data })
}

/// An error if `--only` names something that is no key.
fn check_only_keys(only: &[String]) -> Result<(), Error> {
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

/// The progress of a search, as its page draws it: (points tried, least error on seen data) at each pause at which the
/// error had fallen.
type LossHistory = Vec<(u64, f64)>;

fn search_effort(fit: &Fit, given: &FitInputs) -> SearchEffort {
    SearchEffort::for_data(&given.data, fit.generations.map(|generations| generations as usize))
}

/// The state of a search.
#[derive(Default)]
struct SearchState {
    tried_points: u64,
    least_loss: Option<f64>,
    loss_history: LossHistory,
    stage: &'static str,
}

/// Forecasts the search, runs it and reports its progress; points go to the journal if there is one. Returns what was
/// found, and how the error fell.
fn run_search(
    options: &Fit,
    given: &FitInputs,
    journal: Option<&SearchJournal>,
    known_answers: BTreeMap<String, Vec<f64>>,
    observer: &dyn Observer,
) -> Result<(fit::FitResult, LossHistory), Error> {
    let effort = search_effort(options, given);
    let clock = Clock::start();
    let point_s = forecast_search(options, given, effort, journal.is_some())?;
    let state = Mutex::new(SearchState::default());
    let on_event = |event: FitEvent<'_>| {
        let mut state = state.lock().expect("no holder panics");
        match event {
            FitEvent::Tried { question, answer, known } => {
                state.tried_points += 1;
                observer.report_done(state.tried_points);
                drop(state);
                if let (Some(journal), false) = (journal, known) {
                    journal.append_answer(question, answer);
                }
            }
            FitEvent::Best(loss) if state.least_loss.is_none_or(|least| loss < least) => {
                state.least_loss = Some(loss);
                observer.report_work(&format!("{}: {loss:.4}", state.stage));
            }
            FitEvent::Best(_) => {}
            FitEvent::Paused(loss) => {
                if state.loss_history.last().is_none_or(|(_, least)| loss < *least) {
                    let tried_points = state.tried_points;
                    state.loss_history.push((tried_points, loss));
                }
            }
            FitEvent::Stage { name, expected } => {
                state.stage = name;
                observer.begin_work(Some(state.tried_points + expected), state.tried_points, "points");
                observer.report_work(&state.least_loss.map_or(name.to_owned(), |least| format!("{name}: {least:.4}")));
            }
        }
    };
    // The search ends early enough that its best point can be judged within the time.
    let search_end_s = options.time.map(|time| time - (point_s * MAX_JUDGED_POINTS).min(time / 4.0));
    let is_enough = || observer.is_enough() || search_end_s.is_some_and(|end| clock.elapsed_seconds() >= end);
    let listener = FitListener { on_event: &on_event, cancelled: &|| observer.is_cancelled(), enough: &is_enough };
    let task = FitTask {
        drive: &given.drive,
        only_keys: options.only.clone(),
        data: &given.data,
        effort,
        point_limit: options.points,
        known_answers,
    };
    let fitted = fit::fit_unless_cancelled(task, listener);
    let SearchState { tried_points, mut loss_history, .. } = state.into_inner().expect("no holder panics");
    if let Some(&(_, least)) = loss_history.last() {
        loss_history.push((tried_points, least));
    }
    // The work is not lost: the points are kept, and a fit that goes on knows them.
    let fitted = fitted.ok_or_else(Error::cancelled)?;
    journal.and_then(SearchJournal::take_failure).map_or(Ok((fitted, loss_history)), Err)
}

/// After the search, judging takes about so many points on all data at most: two for each of a dozen figures that
/// moved, and those of the report.
const MAX_JUDGED_POINTS: f64 = 30.0;

/// A point of short jobs takes about this share of the time that a point of whole jobs on all data takes: some 2,000 of
/// 6,000 requests, of the half of the data that is seen. It is a mean over a fit, in which some points are of whole
/// jobs.
const SHORT_POINT_SHARE: f64 = 0.3;

/// The forecast is right within this factor: how many points a search needs depends on the figures to which the data
/// react.
const FORECAST_FACTOR: f64 = 2.0;

/// Forecasts of this many seconds or more are logged.
const NOTED_FORECAST_S: f64 = 10.0;

/// Logs how long the search takes, extrapolated from the first point, whether or not the output is a terminal. Returns
/// the seconds of one point on all data.
fn forecast_search(fit: &Fit, given: &FitInputs, effort: SearchEffort, keeps_journal: bool) -> Result<f64, Error> {
    let (clock, cache) = (Clock::start(), ReadingCache::default());
    for data in &given.data {
        data.simulate_values(&given.drive, &cache)?;
    }
    let point_s = clock.elapsed_seconds();
    let points = fit::expected_point_count(&given.drive, &given.data, &fit.only);
    // Jobs are simulated on all cores; of a trace each core simulates a point of its own.
    let search_point_s =
        if effort.thorough { point_s / Workers::Shared.thread_count() as f64 } else { SHORT_POINT_SHARE * point_s };
    let [least_s, most_s] =
        [1.0 / FORECAST_FACTOR, FORECAST_FACTOR].map(|factor| factor * points as f64 * search_point_s);
    if most_s >= NOTED_FORECAST_S {
        let bound = match fit.time {
            Some(time) if time < most_s => format!(", {} at most", format_wall_time(time)),
            _ => String::new(),
        };
        let resume_hint = match keeps_journal {
            true => format!("; {}.journal keeps the progress; --resume continues", fit.out.display()),
            false => String::new(),
        };
        log::info!(
            "figures that may move: {}; this takes about {points} points and {} to {} here{bound}. --only makes it shorter; \
             Ctrl-C or --time end it with the best so far{resume_hint}",
            parameter_count(fit, given),
            format_wall_time(least_s),
            format_wall_time(most_s)
        );
    }
    Ok(point_s)
}

/// What the profile was fitted to, in words, as the profile's source has it: which data, and how much of each.
fn describe_fitted_data(data: &[FitData]) -> String {
    let describe = |data: &FitData| match data {
        FitData::Traced(traced) => {
            let file = traced.file.rsplit(['/', '\\']).next().unwrap_or(&traced.file);
            format!("rows 1 to {} of the {} of {file}", traced.seen, traced.trace.rows.len())
        }
        FitData::Points(points) => {
            let kept_out = points.iter().filter(|point| point.kept_out).count();
            let judged = points.iter().filter(|point| point.held && !point.kept_out).count();
            let judges = if judged > 0 { format!(", of which {judged} judged a first fit") } else { String::new() };
            format!("{} of {} jobs with figures{judges}", points.len() - kept_out, points.len())
        }
    };
    let list: Vec<String> = data.iter().map(describe).collect();
    let has_judges = matches!(data, [FitData::Traced(_), ..])
        && data.iter().any(|data| data.request_or_job_count(DataSplit::Held) > 0);
    let judges = if has_judges { "; what it did not see stood against each change" } else { "" };
    format!("fitted by `seekwise fit` to {}{judges}", list.join(" and "))
}
