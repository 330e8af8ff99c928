//! Loads a job by its name: a built-in pattern, job or scene, or a file. The content of a file says what it is: a fio job file, an Iometer
//! configuration, a scene, a recorded session or a trace. Nothing is run here.

use std::cell::RefCell;
use std::io::{self, ErrorKind};

use seekwise_disk::block::Limits;
use seekwise_disk::flash::FlashSpec;
use seekwise_disk::time::Span;
use seekwise_drives::change::WrittenChange;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::key_names;
use seekwise_drives::spelling::is_same;
use seekwise_drives::stack::Setting;
use seekwise_formats::recording::{self, Recording};
use seekwise_formats::scene::SceneFile;
use seekwise_formats::trace::keys::TraceOptions as TraceKeys;
use seekwise_formats::{fio, iometer};
use seekwise_work::files::buffered_source::{BufferedSpec, FileOpenFlags};
use seekwise_work::workload::{AccessSpec, CountingRule, IometerPattern, Job, Pace, Pattern, Region, Worker};

use seekwise_run::work::Work;

use crate::built_in::{self, JOBS, SCENES};
use crate::inputs::{InputRole, Inputs};
use crate::trace::{self, LoadedTrace, TraceLimits};

/// The default run time of a pattern: long enough for some thousand random requests of one drive.
const PATTERN_RUNTIME: Span = Span::from_secs(60);

/// The ramp of a pattern: several times as long as it takes to fill a queue of 256 and a drive's buffer.
const PATTERN_RAMP: Span = Span::from_secs(5);

/// A built-in pattern.
#[derive(Clone, Debug)]
pub struct BuiltInPattern {
    /// On the command line.
    pub name: String,
    pub spec: AccessSpec,
}

/// All built-in patterns: the access specifications of Iometer and of its users.
pub fn built_in_patterns() -> Vec<BuiltInPattern> {
    iometer::standard::specs().into_iter().map(|spec| BuiltInPattern { name: to_slug(&spec.name), spec }).collect()
}

/// Lower case, words joined by dashes: `File Server` is `file-server`.
fn to_slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() || c == '%' {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_matches('-').to_owned()
}

/// The source of a job.
#[derive(Clone, Debug)]
pub enum JobOrigin {
    Pattern,
    Iometer,
    Fio(Box<fio::JobFile>),
    /// A scene, with its settings.
    Scene(Vec<Setting>),
    /// A recorded session, with the orders that the disk got in it: changes of settings and of the power.
    Session(Vec<WrittenChange>),
    Trace(Box<LoadedTrace>),
}

/// A job, its source, and its reader's warnings.
#[derive(Clone, Debug)]
pub struct LoadedJob {
    /// The job, laid out on the drive.
    pub job: Work,
    pub origin: JobOrigin,
    /// Settings of the page cache, if a job other than a scene goes through one.
    pub system: Vec<Setting>,
    /// Further devices that a scene uses besides the drive.
    pub beside: Vec<FlashSpec>,
    /// For a fio job on a real file: how each worker opens it.
    pub opened: Option<Vec<fio::FioOpenFlags>>,
    /// Logs of its requests that a fio job writes.
    pub logs: Vec<fio::WorkerIolog>,
    pub warnings: Vec<Diagnostic>,
}

impl LoadedJob {
    /// A job without a page cache, on the drive alone.
    fn on_drive_alone(job: Work, origin: JobOrigin, warnings: Vec<Diagnostic>) -> LoadedJob {
        LoadedJob { job, origin, system: Vec::new(), beside: Vec::new(), opened: None, logs: Vec::new(), warnings }
    }
}

/// Options of a job besides its name.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JobQuery<'a> {
    /// Variables of a fio job; they override the environment's.
    pub variables: &'a [(&'a str, &'a str)],
    /// Dotted keys of a scene and their values; for a fio job those of its page cache.
    pub scene: &'a [(&'a str, &'a str)],
    /// The time at which a scene or a trace ends.
    pub runtime: Option<Span>,
    /// True if the job runs on a real file, where some options of fio mean something else.
    pub real: bool,
    /// Dotted keys of a trace and their values.
    pub trace: &'a [(&'a str, &'a str)],
    /// The value of `job.depth`, for a trace in a closed loop.
    pub depth: Option<&'a str>,
    /// The target's capabilities, if they are known.
    pub limits: Option<&'a Limits>,
}

/// Loads a job by the name of a pattern, of a built-in job or of a file, for a drive of `sectors` sectors. `variables`
/// override the environment's.
pub fn load_job(
    name: &str,
    sectors: u64,
    inputs: &Inputs<'_>,
    variables: &[(&str, &str)],
) -> Result<LoadedJob, Vec<Diagnostic>> {
    load_job_with(name, sectors, inputs, &JobQuery { variables, ..JobQuery::default() })
}

/// Loads a job as [`load_job`] does, with further options. A key of a trace or scene is an error for other kinds of jobs.
pub(crate) fn load_job_with(
    name: &str,
    sectors: u64,
    inputs: &Inputs<'_>,
    query: &JobQuery<'_>,
) -> Result<LoadedJob, Vec<Diagnostic>> {
    let loaded = load_any_kind(name, sectors, inputs, query)?;
    if let (false, Some((key, _))) = (matches!(loaded.origin, JobOrigin::Trace(_)), query.trace.first()) {
        let fault = Diagnostic::at(name, 0, "is no trace").with_key(*key);
        return Err(vec![fault.with_expected("a trace, or a recording of `seekwise serve --record`")]);
    }
    match (&loaded.origin, query.scene.first()) {
        (JobOrigin::Scene(_) | JobOrigin::Fio(_), _) | (_, None) => Ok(loaded),
        (_, Some((key, _))) => {
            let fault = Diagnostic::at(name, 0, "is not a scene").with_key(*key);
            Err(vec![fault.with_expected("a scene or a fio job: Iometer goes past the page cache")])
        }
    }
}

/// Loads a job of any kind. A variable that the job does not have is an error.
fn load_any_kind(
    name: &str,
    sectors: u64,
    inputs: &Inputs<'_>,
    query: &JobQuery<'_>,
) -> Result<LoadedJob, Vec<Diagnostic>> {
    let patterns = built_in_patterns();
    if let Some(pattern) = patterns.iter().find(|pattern| pattern.name == name) {
        refuse_variables(name, query)?;
        let job = pattern_job(pattern, sectors).into();
        return Ok(LoadedJob::on_drive_alone(job, JobOrigin::Pattern, Vec::new()));
    }
    let trace_limits = TraceLimits { depth: query.depth, runtime: query.runtime, limits: query.limits };
    let traced = match built_in::find_text(name) {
        None => trace::load_trace(name, sectors, inputs, query.trace, trace_limits).map_err(|fault| vec![fault])?,
        Some(_) => None,
    };
    if let Some((spec, traced)) = traced {
        refuse_variables(name, query)?;
        return Ok(LoadedJob::on_drive_alone(Work::Trace(spec), JobOrigin::Trace(Box::new(traced)), Vec::new()));
    }
    let names = patterns.iter().map(|pattern| pattern.name.as_str()).chain(JOBS.iter().map(|job| job.name));
    let names = names.chain(SCENES.iter().map(|scene| scene.name));
    let text = inputs.read_text(InputRole::Job, name).map_err(|why| vec![unknown_job_error(name, &why, names)])?;
    if let Some(job) = JOBS.iter().find(|job| job.name == name) {
        let default =
            |key: &str| job.variables.iter().find(|(name, _)| *name == key).map(|(_, value)| (*value).to_owned());
        return load_fio_job_with_variables(name, &text, sectors, inputs, query, &default);
    }
    if recording::is_recording(&text) {
        refuse_variables(name, query)?;
        let Recording { session, orders } = recording::parse(name, name, &text).map_err(|fault| vec![fault])?;
        return Ok(LoadedJob::on_drive_alone(Work::Session(session.into()), JobOrigin::Session(orders), Vec::new()));
    }
    if name.to_ascii_lowercase().ends_with(".toml") || SceneFile::looks_like(&text) {
        refuse_variables(name, query)?;
        return load_scene(name, &text, sectors, inputs, query);
    }
    if looks_like_iometer(name, &text) {
        refuse_variables(name, query)?;
        let (config, mut warnings) = iometer::icf::parse(name, text.as_bytes())?;
        let (job, more) = config.job(sectors)?;
        warnings.extend(more);
        return Ok(LoadedJob::on_drive_alone(job.into(), JobOrigin::Iometer, warnings));
    }
    load_fio_job_with_variables(name, &text, sectors, inputs, query, &|key| inputs.read_variable(key))
}

/// Refuses variables for a job that has none.
fn refuse_variables(name: &str, query: &JobQuery<'_>) -> Result<(), Vec<Diagnostic>> {
    match query.variables.first() {
        Some((variable, _)) => Err(vec![unknown_variable_error(name, variable, &[])]),
        None => Ok(()),
    }
}

fn unknown_variable_error(job: &str, variable: &str, known: &[&str]) -> Diagnostic {
    let fault = Diagnostic::at(job, 0, format!("the job has no variable `{variable}`"));
    fault.suggest_nearest(variable, known.iter().copied())
}

/// Loads a fio job with the query's variables, and others as `default` gives them. A variable that the job does not read is an error.
fn load_fio_job_with_variables(
    name: &str,
    text: &str,
    sectors: u64,
    inputs: &Inputs<'_>,
    query: &JobQuery<'_>,
    default: &dyn Fn(&str) -> Option<String>,
) -> Result<LoadedJob, Vec<Diagnostic>> {
    let names_read = RefCell::new(Vec::new());
    let read_variable = |variable: &str| {
        names_read.borrow_mut().push(variable.to_owned());
        let given = query.variables.iter().find(|(name, _)| *name == variable).map(|(_, value)| (*value).to_owned());
        given.or_else(|| default(variable))
    };
    let loaded = load_fio_job(name, text, sectors, inputs, query, &read_variable)?;
    let names_read = names_read.borrow();
    let known: Vec<&str> = names_read.iter().map(String::as_str).collect();
    match query.variables.iter().find(|(variable, _)| !known.contains(variable)) {
        Some((variable, _)) => Err(vec![unknown_variable_error(name, variable, &known)]),
        None => Ok(loaded),
    }
}

/// Words of fio and of benchmarks, each with the patterns that do such work.
const MEANT: [(&[&str], &[&str]); 6] = [
    (&["rand-read", "random-reads"], &["random-read"]),
    (&["rand-write", "random-writes"], &["random-write"]),
    (&["read", "seq-read", "sequential-read", "sequential-reads"], &["streaming-read"]),
    (&["write", "seq-write", "sequential-write", "sequential-writes"], &["streaming-write"]),
    (&["seq", "sequential", "stream", "streaming"], &["streaming-read", "streaming-write"]),
    (&["rand-rw", "rw", "read-write", "mixed"], &["oltp-4k", "random-8k-70%read", "file-server"]),
];

/// The patterns that do what `word` means to those who know fio; none if it is no such word.
pub fn patterns_meant_by(word: &str) -> &'static [&'static str] {
    MEANT.iter().find(|(words, _)| words.iter().any(|known| is_same(known, word))).map_or(&[], |(_, meant)| *meant)
}

/// The error for a `name` that is neither a file that can be read nor one of the `known` jobs, with what may be meant.
fn unknown_job_error<'a>(name: &str, why: &io::Error, known: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    match why.kind() {
        ErrorKind::NotFound => {
            let absent = Diagnostic::at(name, 0, "no such file, and no built-in pattern or job with that name");
            if let [first, more @ ..] = patterns_meant_by(name) {
                let meant = if more.is_empty() {
                    (*first).to_owned()
                } else {
                    format!("one of {}", patterns_meant_by(name).join(", "))
                };
                let or_own_file = "or a fio job file of your own (docs/how-to/fio.md)";
                return absent.with_expected(format!("{meant} (`seekwise patterns` lists all), {or_own_file}"));
            }
            let absent = absent.suggest_nearest(name, known);
            // A path is meant as a file, whatever words are in it.
            if name.contains(['/', '.']) { absent } else { absent.explain_limit(name) }
        }
        _ => Diagnostic::at(name, 0, format!("cannot be read: {why}")),
    }
}

fn load_scene(
    name: &str,
    text: &str,
    sectors: u64,
    inputs: &Inputs<'_>,
    query: &JobQuery<'_>,
) -> Result<LoadedJob, Vec<Diagnostic>> {
    let mut scene = SceneFile::parse(name, text)?;
    query.scene.iter().try_for_each(|(key, value)| scene.set(key, value))?;
    let built = scene.build(sectors, query.runtime, &inputs.cache().layouts)?;
    let (job, origin) = (Work::Scene(Box::new(built.spec)), JobOrigin::Scene(built.settings));
    Ok(LoadedJob { beside: built.beside, ..LoadedJob::on_drive_alone(job, origin, Vec::new()) })
}

fn load_fio_job(
    name: &str,
    text: &str,
    sectors: u64,
    inputs: &Inputs<'_>,
    query: &JobQuery<'_>,
    read_variable: &dyn Fn(&str) -> Option<String>,
) -> Result<LoadedJob, Vec<Diagnostic>> {
    let context = fio::FioContext {
        environment: read_variable,
        include: &|path| inputs.read_text(InputRole::Job, path).map_err(|why| why.to_string()),
        ..fio::FioContext::bare()
    };
    let file = fio::parse(name, text, &context)?;
    if let Some(replay) = file.replay()? {
        let refused = if query.real { file.unsupported_real_options() } else { Vec::new() };
        return if refused.is_empty() {
            load_log_of_fio_job(name, sectors, inputs, query, replay)
        } else {
            Err(refused)
        };
    }
    let mut loaded = lay_out_fio_job(name, sectors, query, file)?;
    let log_warning = |log: &fio::WorkerIolog| {
        let (file, line) = &log.place;
        Diagnostic::at(file, *line, "the log is written by `seekwise run`, and not here").with_key("write_iolog")
    };
    loaded.warnings.extend(loaded.logs.iter().filter(|_| !inputs.writes_logs).map(log_warning));
    loaded.warnings.dedup();
    Ok(loaded)
}

/// Loads the log that a fio job replays.
fn load_log_of_fio_job(
    name: &str,
    sectors: u64,
    inputs: &Inputs<'_>,
    query: &JobQuery<'_>,
    replayed: fio::IologReplay,
) -> Result<LoadedJob, Vec<Diagnostic>> {
    if let Some((key, _)) = query.trace.iter().find(|(key, _)| *key != key_names::trace::MAP) {
        let fault = Diagnostic::at(name, 0, "the job says how its log is read and played").with_key(*key);
        return Err(vec![fault.with_expected("trace.map alone")]);
    }
    let map = TraceKeys::parse(name, query.trace.iter().copied()).map_err(|fault| vec![fault])?.map;
    let trace_limits = TraceLimits { depth: query.depth, runtime: query.runtime, limits: query.limits };
    let (spec, loaded_trace) =
        trace::load_replayed_log(&replayed, map, sectors, inputs, trace_limits).map_err(|fault| vec![fault])?;
    let loaded =
        LoadedJob::on_drive_alone(Work::Trace(spec), JobOrigin::Trace(Box::new(loaded_trace)), replayed.warnings);
    Ok(LoadedJob { opened: Some(replayed.open_flags), ..loaded })
}

/// Lays out a fio job on its target, with its logs: on a real file, or on a model with or without a page cache.
fn lay_out_fio_job(
    name: &str,
    sectors: u64,
    query: &JobQuery<'_>,
    file: fio::JobFile,
) -> Result<LoadedJob, Vec<Diagnostic>> {
    if let (true, [(key, _), ..]) = (query.real, query.scene) {
        let fault = Diagnostic::at(name, 0, "a real file has the system's own page cache").with_key(*key);
        return Err(vec![fault.with_expected("real.direct=false, or direct=0 in the job")]);
    }
    if query.real {
        let (job, opened, warnings) = file.real_job(sectors)?;
        let logs = file.worker_iologs(sectors)?;
        let loaded = LoadedJob::on_drive_alone(job.into(), JobOrigin::Fio(Box::new(file)), warnings);
        return Ok(LoadedJob { opened: Some(opened), logs, ..loaded });
    }
    let Some((system, mut settings)) = SceneFile::system_of_job(name, query.scene)? else {
        let (job, warnings) = file.job(sectors)?;
        let logs = file.worker_iologs(sectors)?;
        return Ok(LoadedJob {
            logs,
            ..LoadedJob::on_drive_alone(job.into(), JobOrigin::Fio(Box::new(file)), warnings)
        });
    };
    let (job, workers, warnings) = file.cached_job(sectors)?;
    let logs = file.worker_iologs(sectors)?;
    settings.push(file_opening_setting(&workers));
    let job = Work::Cached(Box::new((job, BufferedSpec { system, workers })));
    Ok(LoadedJob { system: settings, logs, ..LoadedJob::on_drive_alone(job, JobOrigin::Fio(Box::new(file)), warnings) })
}

/// How the workers' files are opened, as a setting: jobs that differ in it are different.
fn file_opening_setting(workers: &[FileOpenFlags]) -> Setting {
    let word = |&FileOpenFlags { direct, through, invalidate }: &FileOpenFlags| match (direct, through, invalidate) {
        (true, ..) => "direct",
        (false, false, true) => "cached",
        (false, false, false) => "cached, kept",
        (false, true, true) => "written through",
        (false, true, false) => "written through, kept",
    };
    let mut words: Vec<&str> = workers.iter().map(word).collect();
    if words.iter().all(|word| *word == words[0]) {
        words.truncate(1);
    }
    Setting::set_by_user("pagecache.opened".to_owned(), words.join("; "), "the job as it was understood")
}

fn looks_like_iometer(name: &str, text: &str) -> bool {
    let icf = name.to_ascii_lowercase().ends_with(".icf");
    icf || text.starts_with("Version ") || text.trim_start().starts_with("'TEST SETUP")
}

/// The job of a pattern: a worker over the whole drive, with one request outstanding.
fn pattern_job(pattern: &BuiltInPattern, sectors: u64) -> Job {
    let worker = Worker {
        name: pattern.name.clone(),
        stage: 0,
        group: 0,
        start_delay: Span::ZERO,
        counting: CountingRule::Tool,
        ramp: PATTERN_RAMP,
        runtime: Some(PATTERN_RUNTIME),
        time_based: true,
        depth: 1,
        pace: Pace::default(),
        survives: [true; 2],
        pattern: Pattern::Iometer(IometerPattern {
            spec: pattern.spec.clone(),
            area: Region { start: 0, bytes: sectors * 512 },
            worker_seed: 1,
            target_seed: 1,
        }),
    };
    Job { name: pattern.name.clone(), workers: vec![worker] }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use seekwise_formats::trace::TracePart;

    use super::*;

    fn loaded(name: &str, text: &str, variables: &[(&str, &str)]) -> Result<usize, String> {
        let read = |_: &str| Ok(text.to_owned());
        let job = load_job(name, 1 << 33, &Inputs::from_today(&read), variables);
        job.map(|loaded| loaded.job.workers().len()).map_err(|faults| faults[0].to_string())
    }

    #[test]
    fn variables_of_built_in_jobs_have_values_and_can_be_set() {
        assert_eq!(loaded("parallel-streams", "", &[]), Ok(4));
        assert_eq!(loaded("parallel-streams", "", &[("STREAMS", "7")]), Ok(7));
        JOBS.iter().for_each(|job| assert!(loaded(job.name, "", &[]).is_ok(), "{}", job.name));
    }

    #[test]
    fn a_kept_job_is_made_again_without_a_look_at_what_has_its_name_now() {
        let inputs = Inputs::from_today(&|_| Ok("[a]\nrw=read\nsize=1m\n".to_owned()));
        load_job("-", 1 << 33, &inputs, &[]).unwrap();
        let opener = Arc::new(|_: &str| -> io::Result<Vec<TracePart>> { panic!("it is opened") });
        let kept = Inputs::from_kept(inputs.texts_read()).with_opener(opener);
        assert_eq!(load_job("-", 1 << 33, &kept, &[]).unwrap().job.workers().len(), 1);
    }

    #[test]
    fn words_of_fio_mean_patterns_that_there_are() {
        let names: Vec<String> = built_in_patterns().into_iter().map(|pattern| pattern.name).collect();
        for (words, meant) in MEANT {
            assert!(meant.iter().all(|name| names.iter().any(|known| known == name)), "{meant:?}");
            assert!(words.iter().all(|word| !names.iter().any(|known| known == word)), "{words:?}");
        }
        assert_eq!(patterns_meant_by("randread"), ["random-read"]);
        assert_eq!(patterns_meant_by("Seq_Read"), ["streaming-read"]);
        assert!(patterns_meant_by("oltp").is_empty());
    }

    #[test]
    fn a_job_that_is_not_there_is_said_with_what_may_be_meant() {
        let said = |name: &str, why: ErrorKind| {
            let read = |_: &str| Err(why.into());
            load_job(name, 1 << 33, &Inputs::from_today(&read), &[]).map(drop).unwrap_err()[0].to_string()
        };
        let patterns = "one of streaming-read, streaming-write (`seekwise patterns` lists all)";
        for (name, rest) in [
            ("zzzz/zzz.fio", String::new()),
            ("randm-read", "; did you mean `random-read`?".to_owned()),
            ("seq", format!("; expected {patterns}, or a fio job file of your own (docs/how-to/fio.md)")),
        ] {
            let said = said(name, ErrorKind::NotFound);
            assert_eq!(said, format!("{name}: no such file, and no built-in pattern or job with that name{rest}"));
        }
        let said = said("zzzz/zzz.fio", ErrorKind::PermissionDenied);
        assert!(said.starts_with("zzzz/zzz.fio: cannot be read: "), "{said}");
    }

    #[test]
    fn iometer_s_files_are_known_by_their_name_or_their_first_line() {
        for (name, text, is_iometer) in [
            ("a.icf", "", true),
            ("A.ICF", "[a]\nrw=read\n", true),
            ("a", "Version 1.1.0 \n", true),
            ("a.txt", "\n'TEST SETUP ====", true),
            ("a.fio", "[a]\nrw=read\n", false),
            ("a.icf.fio", "; Version 1.1.0\n", false),
        ] {
            assert_eq!(looks_like_iometer(name, text), is_iometer, "{name}: {text}");
        }
    }

    #[test]
    fn built_in_scenes_fit_a_drive_of_80_gb() {
        let inputs = Inputs::from_today(&|_| Err(ErrorKind::NotFound.into()));
        for scene in SCENES {
            let faults = load_job(scene.name, 156_301_488, &inputs, &[]).map(|_| ()).err();
            assert!(faults.is_none(), "{}: {faults:?}", scene.name);
        }
    }

    #[test]
    fn a_variable_that_a_job_does_not_have_is_an_error() {
        let said = loaded("parallel-streams", "", &[("STREAM", "7")]).unwrap_err();
        assert_eq!(said, "parallel-streams: the job has no variable `STREAM`; did you mean `STREAMS`?");
        let text = "[a]\nrw=read\nsize=${SIZE}\n";
        assert_eq!(loaded("a.fio", text, &[("SIZE", "1m")]), Ok(1));
        assert_eq!(
            loaded("a.fio", text, &[("SIZE", "1m"), ("BS", "4k")]).unwrap_err(),
            "a.fio: the job has no variable `BS`"
        );
        assert!(loaded("random-read", "", &[("BS", "4k")]).is_err());
    }
}
