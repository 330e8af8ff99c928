//! The library's calls for Python. Each takes one value of plain fields, whose names are those of a class in
//! `_arguments.py`. Each returns JSON as `--json` prints it, the shell line that prints the same, and tables. Nothing
//! is computed here.

pub mod catalogue;
pub mod sweeps;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use pyo3::prelude::*;
use seekwise::compare::Comparison;
use seekwise::fit::Fit;
use seekwise::power_cut::CutTime;
use seekwise::rebuild::{
    ArrayTask, ArrayUsers, Computation, PolicyAnswers, RebuildSetup, SyncPolicyChoice, TaskTerms, array_settings,
    render_page as render_rebuild,
};
use seekwise::run::{PreparedRun, RunOptions};
use seekwise::setup::Setup;
use seekwise::shell::quote_for_shell;
use seekwise::study::review::{self, ReviewResult};
use seekwise::study::{StudyOptions, StudyOutcome, StudyResult};
use seekwise::validate::{Timing, ValidationOptions};
use seekwise::{Bounds, Error, Files, Observer, answer, results, values};
use seekwise_disk::time::{Instant, Span};
use seekwise_drives::duration::Duration;
use seekwise_drives::metric::Metric;
use seekwise_formats::study::Sampling;
use seekwise_lab::finding::{Finding, SecondaryFigure};
use seekwise_lab::fit::sources::parse_held_share;

use crate::boundary::watch::run_watched;
use crate::tables::columns;
use crate::tables::requests::RequestCollector;
use crate::tables::table::Table;

/// A job on a target.
#[derive(FromPyObject)]
pub struct SetupCall {
    job: String,
    target: String,
    set: Vec<(String, String)>,
    seed: u64,
    runtime: Option<String>,
    destroy: Option<String>,
    trace_format: Option<String>,
    /// The job's text, where the caller has it in memory.
    text: Option<String>,
}

impl SetupCall {
    fn to_setup(&self) -> Setup {
        let files = files_with(&self.job, self.text.as_deref());
        let mut setup = Setup::new(&self.job, &self.target).with_seed(self.seed).with_files(files);
        (setup.set, setup.runtime) = (self.set.clone(), self.runtime.clone());
        (setup.destroy, setup.trace_format) = (self.destroy.clone(), self.trace_format.clone());
        setup
    }
}

/// The files of this process. Its standard input and its pipes are read once, for all calls.
pub fn process_files() -> Files {
    static FILES: LazyLock<Files> = LazyLock::new(Files::default);
    FILES.clone()
}

/// The files of this process; with a `text`, the one of this `name` is in memory.
fn files_with(name: &str, text: Option<&str>) -> Files {
    text.map_or_else(process_files, |text| process_files().with_text(name, text))
}

/// The argument of a call. If a field of it does not fit, the error about that field is raised, and not the one about
/// the argument that pyo3 wraps around it.
pub struct CallArgument<T>(pub T);

impl<'a, 'py, T: FromPyObject<'a, 'py>> FromPyObject<'a, 'py> for CallArgument<T> {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<CallArgument<T>> {
        let innermost_error = |error: T::Error| {
            let mut error: PyErr = error.into();
            while let Some(cause) = error.cause(value.py()) {
                error = cause;
            }
            error
        };
        value.extract().map(CallArgument).map_err(innermost_error)
    }
}

/// Appends an option to a shell line, if it has a value.
fn push_option(line: &mut String, name: &str, value: Option<impl ToString>) {
    if let Some(value) = value {
        line.push_str(&format!(" --{name} {}", quote_for_shell(&value.to_string())));
    }
}

/// A shell line that gets the text, if there is one, on its standard input.
fn with_standard_input(line: String, text: Option<&str>) -> String {
    match text {
        Some(text) => format!("printf %s {} | {line}", quote_for_shell(text)),
        None => line,
    }
}

fn path_text(path: Option<&Path>) -> Option<String> {
    path.map(|path| path.display().to_string())
}

/// A run to make.
#[derive(FromPyObject)]
pub struct RunCall {
    setup: SetupCall,
    log: Option<PathBuf>,
    requests: bool,
    out: Option<PathBuf>,
    force: bool,
    max_memory: Option<u64>,
}

/// A run as a Python tuple: JSON, shell line, page, all requests, distribution of response times.
type RunTuple = (String, String, Option<PathBuf>, Option<Table>, Table);

/// Runs a job on a target.
#[pyfunction]
pub fn run(py: Python<'_>, call: CallArgument<RunCall>, progress: Option<Py<PyAny>>) -> PyResult<RunTuple> {
    let CallArgument(call) = call;
    run_watched(py, progress.as_ref(), None, |observer| {
        let RunCall { setup: setup_call, log, requests, out, force, max_memory } = call;
        let setup = setup_call.to_setup();
        let prepared = PreparedRun::new(&setup)?;
        let mut options = RunOptions::default();
        (options.log, options.out) = (log.as_deref(), out.as_deref());
        (options.force, options.bounds) = (force, Bounds::new(max_memory));
        let mut collector = requests.then(|| RequestCollector::new(prepared.prepared_cell().target.is_measured()));
        let result = prepared.run(&options, observer, &mut |record| {
            if let Some(collector) = &mut collector {
                collector.add_request(record);
            }
        })?;
        let mut line = format!("seekwise run {} --seed {}", setup.words(), setup.seed);
        push_option(&mut line, "log", path_text(options.log));
        push_option(&mut line, "out", path_text(options.out));
        push_option(&mut line, "max-memory", max_memory);
        line.push_str(if force { " --force --json" } else { " --json" });
        let curve = columns::response_table(std::slice::from_ref(&result.record));
        let requests = collector.map(RequestCollector::into_table);
        Ok((
            answer::json(&result.json()),
            with_standard_input(line, setup_call.text.as_deref()),
            result.page,
            requests,
            curve,
        ))
    })
}

/// A comparison of a job on two or more values of one setting. Runs are kept in the folder `out`, with a page, or in
/// the empty folder `beside`, without one. With `kept` nothing runs: an interrupted comparison is read from that
/// folder.
#[derive(FromPyObject)]
pub struct CompareCall {
    setup: SetupCall,
    key: String,
    levels: Vec<String>,
    metrics: Vec<String>,
    runs: u32,
    until_decided: bool,
    out: Option<PathBuf>,
    beside: PathBuf,
    kept: bool,
    force: bool,
    max_memory: Option<u64>,
}

/// A comparison as a Python dictionary.
#[derive(IntoPyObject)]
pub struct ComparisonParts {
    json: String,
    command: String,
    /// The cause and the secondary figures of each finding.
    reasons: Vec<(Option<String>, Vec<String>)>,
    cells: Table,
    intervals: Table,
    curves: Table,
    page: Option<PathBuf>,
}

/// Makes a comparison.
#[pyfunction]
pub fn compare(
    py: Python<'_>,
    call: CallArgument<CompareCall>,
    progress: Option<Py<PyAny>>,
) -> PyResult<ComparisonParts> {
    let CallArgument(call) = call;
    run_watched(py, progress.as_ref(), None, |observer| {
        let CompareCall { setup: setup_call, key, levels, runs, out, force, max_memory, .. } = call;
        let parse_metric = |word: &String| word.parse().map_err(|why| Error::new(format!("--metric {word}: {why}")));
        let metrics = call.metrics.iter().map(parse_metric).collect::<Result<Vec<Metric>, Error>>()?;
        let list = levels.join(",");
        if levels.len() > 1 && values::parse_values(&key, &list)? != levels {
            return Err(Error::new(format!("{key}: a value is a list or a range itself; expected single values")));
        }
        let mut comparison = Comparison::new(setup_call.to_setup(), key, levels);
        (comparison.metrics, comparison.runs) = (metrics, runs);
        comparison.sampling = sampling_rule(call.until_decided);
        let bounds = Bounds::new(max_memory);
        let compared = match &out {
            _ if call.kept => {
                seekwise::study::read_study_folder(&process_files(), out.as_ref().unwrap_or(&call.beside))?
            }
            Some(folder) => {
                let mut options = StudyOptions::into(folder);
                (options.force, options.bounds) = (force, bounds);
                comparison.run_into(&options, observer)?
            }
            None => comparison.run_beside(&call.beside, bounds, observer)?,
        };
        let mut line = comparison.command(None);
        push_option(&mut line, "out", path_text(out.as_deref()));
        push_option(&mut line, "max-memory", max_memory);
        line.push_str(if force { " --force --json" } else { " --json" });
        ComparisonParts::new(&compared, with_standard_input(line, setup_call.text.as_deref()))
    })
}

impl ComparisonParts {
    fn new(compared: &StudyResult, command: String) -> Result<ComparisonParts, Error> {
        let comparison = compared.comparison()?;
        let cause_and_secondary = |finding: &Finding| {
            let beside = finding.beside.iter().map(SecondaryFigure::text).collect();
            (finding.cause.as_ref().map(|cause| cause.text()), beside)
        };
        Ok(ComparisonParts {
            json: answer::json(&comparison.json()),
            command,
            reasons: comparison.findings.iter().map(cause_and_secondary).collect(),
            cells: columns::run_table(&comparison.evidence, &compared.records),
            intervals: columns::comparison_table(&comparison.evidence),
            curves: columns::response_table(&compared.records),
            page: compared.page.clone(),
        })
    }
}

/// A study of a review, or the only study, as a Python dictionary.
#[derive(IntoPyObject)]
pub struct StudyPart {
    /// Its name in the review.
    name: String,
    title: String,
    question: String,
    cells: Table,
    intervals: Table,
    curves: Table,
    page: Option<PathBuf>,
}

/// A study or a review as a Python tuple: JSON, whether it was refused, whether it is a review, page, parts.
pub type StudyTuple = (String, bool, bool, Option<PathBuf>, Vec<StudyPart>);

impl StudyPart {
    fn new(name: &str, studied: &StudyResult) -> StudyPart {
        let StudyResult { study, records, page, .. } = studied;
        let evidence = studied.evidence();
        StudyPart {
            name: name.to_owned(),
            title: study.title.clone(),
            question: study.question.clone(),
            cells: columns::run_table(&evidence, records),
            intervals: columns::comparison_table(&evidence),
            curves: columns::response_table(records),
            page: page.clone(),
        }
    }
}

/// The tuple of a study.
pub fn study_tuple(studied: &StudyResult) -> StudyTuple {
    let json = answer::json(&studied.summary());
    (json, studied.is_refused(), false, studied.page.clone(), vec![StudyPart::new("", studied)])
}

/// The tuple of a review, with its parts.
fn review_tuple(reviewed: &ReviewResult) -> Result<StudyTuple, seekwise::Error> {
    let (mut refused, mut summaries, mut parts) = (false, Vec::new(), Vec::new());
    for part in reviewed.parts() {
        let (part, studied) = part?;
        refused |= studied.is_refused();
        summaries.push(review::part_summary(part, &studied));
        parts.push(StudyPart::new(part.folder(), &studied));
    }
    let json = answer::json(&reviewed.summary(summaries));
    Ok((json, refused, true, Some(reviewed.page.clone()), parts))
}

/// How a study or a comparison is sampled.
fn sampling_rule(until_decided: bool) -> Sampling {
    if until_decided { Sampling::UntilDecided } else { Sampling::Fixed }
}

/// A study or a review to run.
#[derive(FromPyObject)]
pub struct StudyCall {
    name: String,
    /// Its text, where the caller has it in memory.
    text: Option<String>,
    out: PathBuf,
    resume: bool,
    force: bool,
    until_decided: Option<bool>,
    threads: usize,
    max_memory: Option<u64>,
}

/// Runs a study or a review.
#[pyfunction]
pub fn study(
    py: Python<'_>,
    call: CallArgument<StudyCall>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(StudyTuple, String)> {
    let CallArgument(call) = call;
    let work = |observer: &dyn Observer| {
        let StudyCall { name, text, out, resume, force, until_decided, threads, max_memory } = call;
        let text = text.as_deref();
        let mut options = StudyOptions::into(&out);
        (options.resume, options.force, options.threads) = (resume, force, threads);
        (options.bounds, options.files) = (Bounds::new(max_memory), files_with(&name, text));
        options.sampling = until_decided.map(sampling_rule);
        let outcome = seekwise::study::study(&name, &options, observer)?;
        let mut line = format!("seekwise study {}", quote_for_shell(&name));
        push_option(&mut line, "out", path_text(Some(&out)));
        push_option(&mut line, "max-memory", max_memory);
        line.push_str(match until_decided {
            Some(true) => " --until-decided",
            Some(false) => " --fixed",
            None => "",
        });
        line.push_str(if resume { " --resume" } else { "" });
        line.push_str(if force { " --force --json" } else { " --json" });
        let studied = match &outcome {
            StudyOutcome::Study(studied) => study_tuple(studied),
            StudyOutcome::Review(reviewed) => review_tuple(reviewed)?,
        };
        Ok((studied, with_standard_input(line, text)))
    };
    run_watched(py, progress.as_ref(), None, work)
}

/// Opens a result folder: of a run, a comparison, a study, a sweep or a review. Nothing is written.
#[pyfunction]
pub fn open(py: Python<'_>, folder: PathBuf) -> PyResult<(StudyTuple, String)> {
    run_watched(py, None, None, |_| {
        let files = process_files();
        let line = format!("seekwise report {} --json", quote_for_shell(&folder.display().to_string()));
        if results::is_result_folder(&folder)
            && let Some(manifest) = results::read_review_manifest(&files, &folder)?
        {
            return Ok((review_tuple(&review::read_review_folder(&files, &folder, &manifest.text)?)?, line));
        }
        Ok((study_tuple(&seekwise::study::read_study_folder(&files, &folder)?), line))
    })
}

/// Makes the page of the results that a study's folder keeps, as a text: an interrupted study has no page there yet.
#[pyfunction]
pub fn render_page(py: Python<'_>, folder: PathBuf) -> PyResult<String> {
    run_watched(py, None, None, |_| {
        seekwise::study::read_study_folder(&process_files(), &folder).map(|kept| kept.page_text())
    })
}

/// A measured trace to play on a modelled drive.
#[derive(FromPyObject)]
pub struct ValidateCall {
    trace: String,
    drive: String,
    set: Vec<(String, String)>,
    replay: String,
    seed: u64,
    log: Option<PathBuf>,
    force: bool,
    at_most: Option<f64>,
}

/// Plays a measured trace on a modelled drive: JSON, shell line, the times of each request.
#[pyfunction]
pub fn validate(
    py: Python<'_>,
    call: CallArgument<ValidateCall>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, String, Table)> {
    let CallArgument(call) = call;
    run_watched(py, progress.as_ref(), None, |observer| {
        let ValidateCall { trace, drive, set, replay, seed, log, force, at_most } = call;
        let timing = match replay.as_str() {
            "think" => Timing::Think,
            "arrival" => Timing::Arrival,
            word => return Err(Error::new(format!("--replay {word}: expected think or arrival"))),
        };
        let files = process_files();
        let mut options = ValidationOptions::new(&files, &drive);
        (options.set, options.timing, options.seed) = (&set[..], timing, seed);
        (options.log, options.force) = (log.as_deref(), force);
        let result = seekwise::validate::validate(&trace, &options, observer)?;
        let mut line = format!("seekwise validate {}", quote_for_shell(&trace));
        push_option(&mut line, "drive", Some(&drive));
        for (key, value) in &set {
            push_option(&mut line, "set", Some(format!("{key}={value}")));
        }
        push_option(&mut line, "replay", Some(&replay));
        push_option(&mut line, "seed", Some(seed));
        push_option(&mut line, "log", path_text(log.as_deref()));
        push_option(&mut line, "at-most", at_most.map(|percent| format!("{percent}%")));
        line.push_str(if force { " --force --json" } else { " --json" });
        Ok((answer::json(&result.json()), line, columns::sample_table(&result.samples)))
    })
}

/// Parses a length of time as the command line does; `name` is the option's, for errors.
fn parse_length(name: &str, text: &str) -> Result<Duration, Error> {
    Duration::parse(text).map_err(|why| Error::new(format!("--{name} {text}: {why}")))
}

/// A drive to fit to what was measured.
#[derive(FromPyObject)]
pub struct FitCall {
    data: Vec<String>,
    drive: String,
    hold: String,
    only: Vec<String>,
    out: PathBuf,
    page: Option<PathBuf>,
    generations: Option<u32>,
    time: String,
    points: Option<u64>,
    resume: bool,
    force: bool,
}

impl FitCall {
    /// The shell line that makes the same fit.
    fn command(&self) -> String {
        let words: Vec<String> = self.data.iter().map(|word| quote_for_shell(word)).collect();
        let mut line = format!("seekwise fit {}", words.join(" "));
        push_option(&mut line, "drive", Some(&self.drive));
        push_option(&mut line, "hold", Some(&self.hold));
        push_option(&mut line, "only", Some(self.only.join(",")).filter(|only| !only.is_empty()));
        line.push_str(&format!(" -o {}", quote_for_shell(&self.out.display().to_string())));
        push_option(&mut line, "page", path_text(self.page.as_deref()));
        push_option(&mut line, "generations", self.generations);
        push_option(&mut line, "time", Some(&self.time));
        push_option(&mut line, "points", self.points);
        line.push_str(if self.resume { " --resume" } else { "" });
        line.push_str(if self.force { " --force --json" } else { " --json" });
        line
    }
}

/// Fits a drive to what was measured: JSON, shell line, the profile's text.
#[pyfunction]
pub fn fit(
    py: Python<'_>,
    call: CallArgument<FitCall>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, String, String)> {
    let CallArgument(call) = call;
    run_watched(py, progress.as_ref(), None, |observer| {
        let line = call.command();
        let FitCall { data, drive, hold, only, out, page, generations, time, points, resume, force } = call;
        let share = parse_held_share(&hold).filter(|share| *share < 1.0);
        let hold = share.ok_or_else(|| Error::new(format!("--hold {hold}: expected a share such as 50%, or none")))?;
        let mut fit = Fit::new(data, drive, out);
        (fit.hold, fit.only, fit.page) = (hold, only, page);
        fit.time = Some(parse_length("time", &time)?.nanos as f64 / 1e9);
        (fit.generations, fit.points) = (generations, points);
        (fit.resume, fit.force, fit.files) = (resume, force, process_files());
        let report = seekwise::fit::fit(&fit, observer)?;
        Ok((answer::json(&report), line, fit.files.read(&fit.out.to_string_lossy())?))
    })
}

/// Power cuts of a job's run: at random instants, `at` given ones, `after` the end of several runs, or in an orderly `shutdown`.
#[derive(FromPyObject)]
pub struct PowerCutCall {
    setup: SetupCall,
    cuts: u32,
    at: Vec<String>,
    after: Option<String>,
    shutdown: bool,
    max_memory: Option<u64>,
}

/// Computes what power cuts of a job's run would lose: JSON, shell line, whether promises were kept, data at risk over time.
#[pyfunction]
pub fn power_cut(
    py: Python<'_>,
    call: CallArgument<PowerCutCall>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, String, bool, Table)> {
    let CallArgument(call) = call;
    run_watched(py, progress.as_ref(), None, |observer| {
        let PowerCutCall { setup: setup_call, cuts, at, after, shutdown, max_memory } = call;
        let setup = setup_call.to_setup();
        let parse_span =
            |name: &str, text: &String| parse_length(name, text).map(|length| Span::from_nanos(length.nanos));
        let mut line = format!("seekwise power-cut {} --seed {}", setup.words(), setup.seed);
        let when = match (&after, shutdown, at.is_empty()) {
            (None, false, true) => CutTime::Random(cuts),
            (None, false, false) => {
                let parse_instant = |text: &String| parse_span("at", text).map(|span| Instant::ZERO + span);
                CutTime::At(at.iter().map(parse_instant).collect::<Result<_, _>>()?)
            }
            (Some(after), false, true) => CutTime::After { cuts, pause: parse_span("after", after)? },
            (None, true, true) => CutTime::Off(cuts),
            _ => return Err(Error::new("at, after and shutdown conflict; expected one of them")),
        };
        push_option(&mut line, "cuts", Some(cuts).filter(|_| at.is_empty()));
        for instant in &at {
            push_option(&mut line, "at", Some(instant));
        }
        push_option(&mut line, "after", after.as_ref());
        push_option(&mut line, "max-memory", max_memory);
        line.push_str(if shutdown { " --shutdown --json" } else { " --json" });
        let cut = seekwise::power_cut::power_cut(&setup, when, &Bounds::new(max_memory), observer)?;
        let (promise_kept, risk) = (cut.report.promise_kept, columns::risk_table(&cut.report));
        Ok((answer::json(&cut.json(&setup)), with_standard_input(line, setup_call.text.as_deref()), promise_kept, risk))
    })
}

/// A rebuild or a scrub of an array.
#[derive(FromPyObject)]
pub struct RebuildCall {
    /// Its job is that of the users, if `has_load`.
    setup: SetupCall,
    has_load: bool,
    array: Option<String>,
    drives: Option<u32>,
    users: Option<u32>,
    policies: Vec<String>,
    scrub: bool,
    lose: u32,
    together: bool,
    spare_after: f64,
    next_loss: Option<f64>,
    working_hours: Option<(f64, f64)>,
    live: Option<f64>,
    whole: bool,
}

impl RebuildCall {
    /// The shell line that answers the same.
    fn command(&self) -> String {
        let mut line = format!("seekwise {}", if self.scrub { "scrub" } else { "rebuild" });
        push_option(&mut line, "on", Some(&self.setup.target));
        push_option(&mut line, "array", self.array.as_ref());
        push_option(&mut line, "drives", self.drives);
        push_option(&mut line, "users", self.users);
        push_option(&mut line, "load", Some(&self.setup.job).filter(|_| self.has_load));
        push_option(&mut line, "policy", Some(self.policies.join(",")));
        push_option(&mut line, "working-hours", self.working_hours.map(|(from, until)| format!("{from}-{until}")));
        push_option(&mut line, "live", self.live.map(|share| format!("{}%", 100.0 * share)));
        if !self.scrub {
            push_option(&mut line, "lose", Some(self.lose));
            line.push_str(if self.together { " --together" } else { "" });
            push_option(&mut line, "spare-after", Some(self.spare_after));
            push_option(&mut line, "next-loss", self.next_loss);
        }
        for (key, value) in &self.setup.set {
            push_option(&mut line, "set", Some(format!("{key}={value}")));
        }
        push_option(&mut line, "seed", Some(self.setup.seed));
        line.push_str(if self.whole { " --whole --json" } else { " --json" });
        line
    }

    fn terms(&self) -> TaskTerms {
        let task = if self.scrub { ArrayTask::Scrub } else { ArrayTask::Rebuild { lost: self.lose } };
        TaskTerms {
            computation: if self.whole { Computation::Whole } else { Computation::Shorter },
            // As the shell line says it.
            share: self.live.map_or(1.0, |share| 100.0 * share / 100.0),
            together: self.together,
            spare_after_hours: self.spare_after,
            next_loss_hours: self.next_loss,
            working_hours: self.working_hours,
            ..TaskTerms::new(task)
        }
    }
}

/// Bits of which one cannot be read, as most datasheets of nearline drives state it.
const BITS_PER_ERROR: f64 = 1e15;

/// Computes how long a rebuild or a scrub takes, and what users feel: JSON, shell line, page.
#[pyfunction]
pub fn rebuild(
    py: Python<'_>,
    call: CallArgument<RebuildCall>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, String, String)> {
    let CallArgument(call) = call;
    run_watched(py, progress.as_ref(), None, |observer| {
        let parse_policy = |text: &String| SyncPolicyChoice::parse(text).map_err(Error::new);
        let policies = call.policies.iter().map(parse_policy).collect::<Result<Vec<_>, _>>()?;
        let users = match (call.users, call.has_load) {
            (Some(_), true) => return Err(Error::new("users and load conflict; expected one of them")),
            (Some(rate), false) => ArrayUsers::Rate(rate),
            (None, true) => ArrayUsers::Job(call.setup.job.clone()),
            (None, false) => ArrayUsers::Absent,
        };
        let mut setup = call.setup.to_setup();
        setup.set = array_settings((call.array.as_deref(), call.drives), &policies, &setup.set);
        let question = RebuildSetup { setup, users, terms: call.terms() };
        let answers = question.answer(&policies, observer)?;
        let line = with_standard_input(call.command(), call.setup.text.as_deref());
        let (title, notes) = (question.title(&answers[0].answer), question.notes(&answers, BITS_PER_ERROR));
        let page = render_rebuild(&title, &answers, &notes, &line);
        Ok((answer::json(&PolicyAnswers { policies: &answers }), line, page))
    })
}
