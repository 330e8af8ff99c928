//! Jobs that can be run: fio job files, Iometer configurations, scenes, recorded sessions, traces, and the built-in
//! patterns, jobs and scenes, told apart by name and content. Nothing is run here.

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

/// The ramp of a pattern: several times what it takes to fill a queue of 256 and a drive's buffer.
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
    /// A recorded session, with what was done to the disk in it.
    Session(Vec<WrittenChange>),
    Trace(Box<LoadedTrace>),
}

/// A job, its source, and its reader's warnings.
#[derive(Clone, Debug)]
pub struct LoadedJob {
    /// The job, laid out on the drive.
    pub job: Work,
    pub origin: JobOrigin,
    /// The figures of its page cache, if a job other than a scene has one.
    pub system: Vec<Setting>,
    /// Devices beside the drive that it also uses.
    pub beside: Vec<FlashSpec>,
    /// For a fio job on a real file: how each worker opens it.
    pub opened: Option<Vec<fio::FioOpenFlags>>,
    /// Logs of its requests that a fio job asks for.
    pub logs: Vec<fio::WorkerIolog>,
    pub warnings: Vec<Diagnostic>,
}

impl LoadedJob {
    /// Without a page cache, on the drive alone.
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
    /// When a scene or a trace ends.
    pub runtime: Option<Span>,
    /// The job runs on a real file: the meaning of options there counts.
    pub real: bool,
    /// Dotted keys of a trace and their values.
    pub trace: &'a [(&'a str, &'a str)],
    /// `job.depth`, which a trace in a closed loop uses.
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

/// As [`load_job`], with all that is asked of the job.
pub(crate) fn load_job_with(
    name: &str,
    sectors: u64,
    inputs: &Inputs<'_>,
    asked: &JobQuery<'_>,
) -> Result<LoadedJob, Vec<Diagnostic>> {
    let loaded = load_any(name, sectors, inputs, asked)?;
    if let (false, Some((key, _))) = (matches!(loaded.origin, JobOrigin::Trace(_)), asked.trace.first()) {
        let fault = Diagnostic::at(name, 0, "is no trace").with_key(*key);
        return Err(vec![fault.with_expected("a trace, or a recording of `seekwise serve --record`")]);
    }
    match (&loaded.origin, asked.scene.first()) {
        (JobOrigin::Scene(_) | JobOrigin::Fio(_), _) | (_, None) => Ok(loaded),
        (_, Some((key, _))) => {
            let fault = Diagnostic::at(name, 0, "is not a scene").with_key(*key);
            Err(vec![fault.with_expected("a scene or a fio job: Iometer goes past the page cache")])
        }
    }
}

/// A job of any kind.
fn load_any(name: &str, sectors: u64, inputs: &Inputs<'_>, asked: &JobQuery<'_>) -> Result<LoadedJob, Vec<Diagnostic>> {
    let JobQuery { variables, runtime, depth, limits, .. } = *asked;
    let patterns = built_in_patterns();
    let unused = |variable: &str, known: &[&str]| {
        let fault = Diagnostic::at(name, 0, format!("the job has no variable `{variable}`"));
        vec![fault.suggest_nearest(variable, known.iter().copied())]
    };
    if let (Some(_), Some((variable, _))) = (patterns.iter().find(|pattern| pattern.name == name), variables.first()) {
        return Err(unused(variable, &[]));
    }
    if let Some(pattern) = patterns.iter().find(|pattern| pattern.name == name) {
        let job = pattern_job(pattern, sectors).into();
        return Ok(LoadedJob::on_drive_alone(job, JobOrigin::Pattern, Vec::new()));
    }
    let queried = RefCell::new(Vec::new());
    let given = |key: &str| {
        queried.borrow_mut().push(key.to_owned());
        variables.iter().find(|(name, _)| *name == key).map(|(_, value)| (*value).to_owned())
    };
    let all_used = |loaded: LoadedJob| {
        let queried = queried.borrow();
        let known: Vec<&str> = queried.iter().map(String::as_str).collect();
        match variables.iter().find(|(name, _)| !known.contains(name)) {
            Some((variable, _)) => Err(unused(variable, &known)),
            None => Ok(loaded),
        }
    };
    let names = patterns.iter().map(|pattern| pattern.name.as_str()).chain(JOBS.iter().map(|job| job.name));
    let names = names.chain(SCENES.iter().map(|scene| scene.name));
    let absent = |why: io::Error| vec![unknown_job(name, &why, names)];
    let heeded = TraceLimits { depth, runtime, limits };
    let traced = match built_in::find_text(name) {
        None => trace::load_trace(name, sectors, inputs, asked.trace, heeded).map_err(|fault| vec![fault])?,
        Some(_) => None,
    };
    if let Some((spec, traced)) = traced {
        return match variables.first() {
            Some((variable, _)) => Err(unused(variable, &[])),
            None => Ok(LoadedJob::on_drive_alone(Work::Trace(spec), JobOrigin::Trace(Box::new(traced)), Vec::new())),
        };
    }
    let text = inputs.read_text(InputRole::Job, name).map_err(absent)?;
    if let Some(job) = JOBS.iter().find(|job| job.name == name) {
        let default = |key: &str| job.variables.iter().find(|(name, _)| *name == key).map(|(_, it)| (*it).to_owned());
        let value = |key: &str| given(key).or_else(|| default(key));
        return fio_job(name, &text, sectors, inputs, asked, &value).and_then(all_used);
    }
    if recording::is_recording(&text) {
        if let Some((variable, _)) = variables.first() {
            return Err(unused(variable, &[]));
        }
        let Recording { session, orders } = recording::parse(name, name, &text).map_err(|fault| vec![fault])?;
        return Ok(LoadedJob::on_drive_alone(Work::Session(session.into()), JobOrigin::Session(orders), Vec::new()));
    }
    let is_scene = name.to_ascii_lowercase().ends_with(".toml") || SceneFile::looks_like(&text);
    if let (true, Some((variable, _))) = (is_scene || looks_like_iometer(name, &text), variables.first()) {
        return Err(unused(variable, &[]));
    }
    if is_scene {
        return scene_job(name, &text, sectors, inputs, asked);
    }
    if looks_like_iometer(name, &text) {
        let (config, mut warnings) = iometer::icf::parse(name, text.as_bytes())?;
        let (job, more) = config.job(sectors)?;
        warnings.extend(more);
        return Ok(LoadedJob::on_drive_alone(job.into(), JobOrigin::Iometer, warnings));
    }
    fio_job(name, &text, sectors, inputs, asked, &|key| given(key).or_else(|| inputs.read_variable(key)))
        .and_then(all_used)
}

/// Words of fio and of benchmarks for what patterns do.
const MEANT: [(&[&str], &[&str]); 6] = [
    (&["rand-read", "random-reads"], &["random-read"]),
    (&["rand-write", "random-writes"], &["random-write"]),
    (&["read", "seq-read", "sequential-read", "sequential-reads"], &["streaming-read"]),
    (&["write", "seq-write", "sequential-write", "sequential-writes"], &["streaming-write"]),
    (&["seq", "sequential", "stream", "streaming"], &["streaming-read", "streaming-write"]),
    (&["rand-rw", "rw", "read-write", "mixed"], &["oltp-4k", "random-8k-70%read", "file-server"]),
];

/// The patterns that `word` means to those who know fio; none if it is not one of its words.
pub fn meant_by(word: &str) -> &'static [&'static str] {
    MEANT.iter().find(|(words, _)| words.iter().any(|known| is_same(known, word))).map_or(&[], |(_, meant)| *meant)
}

/// Why `name`, which might be a file or one of the `known` jobs, is unknown.
fn unknown_job<'a>(name: &str, why: &io::Error, known: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    match why.kind() {
        ErrorKind::NotFound => {
            let absent = Diagnostic::at(name, 0, "no such file, and no built-in pattern or job with that name");
            if let [first, more @ ..] = meant_by(name) {
                let meant =
                    if more.is_empty() { (*first).to_owned() } else { format!("one of {}", meant_by(name).join(", ")) };
                let own = "or a fio job file of your own (docs/how-to/fio.md)";
                return absent.with_expected(format!("{meant} (`seekwise patterns` lists all), {own}"));
            }
            let absent = absent.suggest_nearest(name, known);
            // A path is meant as a file, whatever words are in it.
            if name.contains(['/', '.']) { absent } else { absent.explain_limit(name) }
        }
        _ => Diagnostic::at(name, 0, format!("cannot be read: {why}")),
    }
}

fn scene_job(
    name: &str,
    text: &str,
    sectors: u64,
    inputs: &Inputs<'_>,
    asked: &JobQuery<'_>,
) -> Result<LoadedJob, Vec<Diagnostic>> {
    let mut scene = SceneFile::parse(name, text)?;
    asked.scene.iter().try_for_each(|(key, value)| scene.set(key, value))?;
    let built = scene.build(sectors, asked.runtime, &inputs.cache().layouts)?;
    let (job, origin) = (Work::Scene(Box::new(built.spec)), JobOrigin::Scene(built.settings));
    Ok(LoadedJob { beside: built.beside, ..LoadedJob::on_drive_alone(job, origin, Vec::new()) })
}

fn fio_job(
    name: &str,
    text: &str,
    sectors: u64,
    inputs: &Inputs<'_>,
    asked: &JobQuery<'_>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<LoadedJob, Vec<Diagnostic>> {
    let context = fio::FioContext {
        environment,
        include: &|path| inputs.read_text(InputRole::Job, path).map_err(|why| why.to_string()),
        ..fio::FioContext::bare()
    };
    let file = fio::parse(name, text, &context)?;
    if let Some(replayed) = file.replay()? {
        let refused = if asked.real { file.unsupported_real_options() } else { Vec::new() };
        return if refused.is_empty() { replayed_log(name, sectors, inputs, asked, replayed) } else { Err(refused) };
    }
    let mut loaded = lay_out_fio_job(name, sectors, asked, file)?;
    let unwritten = |log: &fio::WorkerIolog| {
        let (file, line) = &log.place;
        Diagnostic::at(file, *line, "the log is written by `seekwise run`, and not here").with_key(WRITE_IOLOG)
    };
    loaded.warnings.extend(loaded.logs.iter().map(unwritten));
    loaded.warnings.dedup();
    Ok(loaded)
}

/// The log that a fio job plays.
fn replayed_log(
    name: &str,
    sectors: u64,
    inputs: &Inputs<'_>,
    asked: &JobQuery<'_>,
    replayed: fio::IologReplay,
) -> Result<LoadedJob, Vec<Diagnostic>> {
    if let Some((key, _)) = asked.trace.iter().find(|(key, _)| *key != key_names::trace::MAP) {
        let fault = Diagnostic::at(name, 0, "the job says how its log is read and played").with_key(*key);
        return Err(vec![fault.with_expected("trace.map alone")]);
    }
    let map = TraceKeys::parse(name, asked.trace.iter().copied()).map_err(|fault| vec![fault])?.map;
    let heeded = TraceLimits { depth: asked.depth, runtime: asked.runtime, limits: asked.limits };
    let (spec, traced) =
        trace::load_replayed_log(&replayed, map, sectors, inputs, heeded).map_err(|fault| vec![fault])?;
    let loaded = LoadedJob::on_drive_alone(Work::Trace(spec), JobOrigin::Trace(Box::new(traced)), replayed.warnings);
    Ok(LoadedJob { opened: Some(replayed.open_flags), ..loaded })
}

/// The key of warnings about logs that a job asks for.
pub const WRITE_IOLOG: &str = "write_iolog";

/// A fio job on its place, with its logs.
fn lay_out_fio_job(
    name: &str,
    sectors: u64,
    asked: &JobQuery<'_>,
    file: fio::JobFile,
) -> Result<LoadedJob, Vec<Diagnostic>> {
    if let (true, [(key, _), ..]) = (asked.real, asked.scene) {
        let fault = Diagnostic::at(name, 0, "a real file has the system's own page cache").with_key(*key);
        return Err(vec![fault.with_expected("real.direct=false, or direct=0 in the job")]);
    }
    if asked.real {
        let (job, opened, warnings) = file.real_job(sectors)?;
        let logs = file.worker_iologs(sectors)?;
        let loaded = LoadedJob::on_drive_alone(job.into(), JobOrigin::Fio(Box::new(file)), warnings);
        return Ok(LoadedJob { opened: Some(opened), logs, ..loaded });
    }
    let Some((system, mut settings)) = SceneFile::system_of_job(name, asked.scene)? else {
        let (job, warnings) = file.job(sectors)?;
        let logs = file.worker_iologs(sectors)?;
        return Ok(LoadedJob {
            logs,
            ..LoadedJob::on_drive_alone(job.into(), JobOrigin::Fio(Box::new(file)), warnings)
        });
    };
    let (job, workers, warnings) = file.cached_job(sectors)?;
    let logs = file.worker_iologs(sectors)?;
    settings.push(opened_setting(&workers));
    let job = Work::Cached(Box::new((job, BufferedSpec { system, workers })));
    Ok(LoadedJob { system: settings, logs, ..LoadedJob::on_drive_alone(job, JobOrigin::Fio(Box::new(file)), warnings) })
}

/// How the workers' files are opened, as a setting: jobs that differ in it are different.
fn opened_setting(workers: &[FileOpenFlags]) -> Setting {
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
        assert_eq!(meant_by("randread"), ["random-read"]);
        assert_eq!(meant_by("Seq_Read"), ["streaming-read"]);
        assert!(meant_by("oltp").is_empty());
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
