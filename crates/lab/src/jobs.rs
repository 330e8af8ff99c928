//! What can be run: fio job files, Iometer configurations, scenes, recorded sessions, traces, the built-in patterns, jobs and scenes, told apart by
//! name and content.

use std::cell::RefCell;
use std::io::{self, ErrorKind};

use seekwise_formats::diagnostic::Diagnostic;
use seekwise_formats::recording::{self, Recording};
use seekwise_formats::scene::Scene;
use seekwise_formats::stack::Setting;
use seekwise_formats::{fio, iometer};
use seekwise_model::block::Limits;
use seekwise_model::files::buffered::{BufferedSpec, Opening};
use seekwise_model::flash::FlashSpec;
use seekwise_model::stack::Change;
use seekwise_model::time::Span;
use seekwise_model::workload::{AccessSpec, IometerPattern, Job, Pace, Pattern, Region, Worker};

use seekwise_targets::work::Work;

use crate::inputs::{Inputs, Role};
use crate::trace::{self, Heeded, Traced};

/// How long a pattern runs when nothing else is said: long enough for some thousand random requests of one drive.
const PATTERN_RUNTIME: Span = Span::from_secs(60);

/// Ramp-up of a pattern: several times what it takes to fill a queue of 256 and a drive's buffer.
const PATTERN_RAMP: Span = Span::from_secs(5);

/// A built-in pattern.
#[derive(Clone, Debug)]
pub struct BuiltIn {
    /// Its name on the command line.
    pub name: String,
    /// What it issues.
    pub spec: AccessSpec,
}

/// All built-in patterns: Iometer's and its users' access specifications.
pub fn patterns() -> Vec<BuiltIn> {
    iometer::standard::specs().into_iter().map(|spec| BuiltIn { name: slug(&spec.name), spec }).collect()
}

/// A built-in job: fio's text with variables.
#[derive(Clone, Copy, Debug)]
pub struct BuiltInJob {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does.
    pub purpose: &'static str,
    /// fio's text.
    pub text: &'static str,
    /// The variables in it and their values when nothing else is said.
    pub variables: &'static [(&'static str, &'static str)],
}

/// All built-in jobs.
pub const JOBS: &[BuiltInJob] = &[
    BuiltInJob {
        name: "critical-writes",
        purpose: "small writes that are to be on the platter at once, in bursts or one after another",
        text: include_str!("../../../studies/jobs/critical-writes.fio"),
        variables: &[
            ("RW", "randwrite"),
            ("BS", "4k"),
            ("SIZE", "1g"),
            ("BURST", "1"),
            ("PAUSE", "0"),
            ("RUNTIME", "60s"),
        ],
    },
    BuiltInJob {
        name: "copy-halves",
        purpose: "from the first half of the blocks to the second: of two drives, from one to the other",
        text: include_str!("../../../studies/jobs/copy-halves.fio"),
        variables: &[("BS", "64k"), ("RUNTIME", "60s")],
    },
    BuiltInJob {
        name: "each-drive",
        purpose: "the same work on each of several drives one behind another",
        text: include_str!("../../../studies/jobs/each-drive.fio"),
        variables: &[
            ("DRIVES", "1"),
            ("EACH", "100g"),
            ("SIZE", "10g"),
            ("RW", "read"),
            ("BS", "64k"),
            ("DEPTH", "4"),
            ("RUNTIME", "60s"),
        ],
    },
    BuiltInJob {
        name: "file-and-table",
        purpose: "small writes that are to be on the platter at once, to a file and to its table by turns",
        text: include_str!("../../../studies/jobs/file-and-table.fio"),
        variables: &[("BS", "4k"), ("GAP", "4g"), ("SIZE", "8g"), ("RUNTIME", "60s")],
    },
    BuiltInJob {
        name: "one-block",
        purpose: "one block read again and again, as programs do that measure the interface",
        text: include_str!("../../../studies/jobs/one-block.fio"),
        variables: &[("BS", "128k"), ("RUNTIME", "5s")],
    },
    BuiltInJob {
        name: "parallel-streams",
        purpose: "files read or written from end to end by several threads at once",
        text: include_str!("../../../studies/jobs/parallel-streams.fio"),
        variables: &[("STREAMS", "4"), ("SIZE", "100m"), ("RW", "read"), ("BS", "64k")],
    },
    BuiltInJob {
        name: "flushed-writes",
        purpose: "writes that a program wants durable, a flush after every so many",
        text: include_str!("../../../studies/jobs/flushed-writes.fio"),
        variables: &[("RW", "randwrite"), ("BS", "4k"), ("SIZE", "100m"), ("FLUSH", "1"), ("RUNTIME", "30s")],
    },
    BuiltInJob {
        name: "random-blocks",
        purpose: "blocks at random over the drive, so many outstanding",
        text: include_str!("../../../studies/jobs/random-blocks.fio"),
        variables: &[("RW", "randread"), ("BS", "4k"), ("SIZE", "100%"), ("DEPTH", "1"), ("RUNTIME", "60s")],
    },
    BuiltInJob {
        name: "reader-beside-stream",
        purpose: "one reader of random blocks beside one sequential stream with many requests outstanding",
        text: include_str!("../../../studies/jobs/reader-beside-stream.fio"),
        variables: &[("BS", "128k"), ("DEPTH", "31"), ("PRIO", "0")],
    },
    BuiltInJob {
        name: "sequential-at",
        purpose: "sequential work from one place of the drive on: a point of its transfer curve",
        text: include_str!("../../../studies/jobs/sequential-at.fio"),
        variables: &[("RW", "read"), ("OFFSET", "0%"), ("SIZE", "3%"), ("BS", "64k")],
    },
    BuiltInJob {
        name: "scattered-files",
        purpose: "files at random places, each read or written from end to end",
        text: include_str!("../../../studies/jobs/scattered-files.fio"),
        variables: &[("RW", "randread"), ("RUN", "16"), ("BS", "64k"), ("DEPTH", "1"), ("RUNTIME", "60s")],
    },
    BuiltInJob {
        name: "mixed-blocks",
        purpose: "reads and writes mixed, at random and in sequence, of several sizes",
        text: include_str!("../../../studies/jobs/mixed-blocks.fio"),
        variables: &[
            ("READS", "60"),
            ("RANDOM", "50"),
            ("BLOCKS", "4k/50:16k/15:64k/35"),
            ("SIZE", "10%"),
            ("DEPTH", "2"),
            ("RUNTIME", "60s"),
        ],
    },
    BuiltInJob {
        name: "two-streams",
        purpose: "one stream is read and another written at once",
        text: include_str!("../../../studies/jobs/two-streams.fio"),
        variables: &[("PLACE", "50%"), ("BS", "64k"), ("DEPTH", "1"), ("RUNTIME", "60s")],
    },
    BuiltInJob {
        name: "random-sectors",
        purpose: "one sector at a time at random over the drive, as programs do that measure access time",
        text: include_str!("../../../studies/jobs/random-sectors.fio"),
        variables: &[("RW", "randread"), ("RUNTIME", "60s")],
    },
    BuiltInJob {
        name: "two-programs",
        purpose: "one program writes in sequence with many requests outstanding, another reads one by one",
        text: include_str!("../../../studies/jobs/two-programs.fio"),
        variables: &[("DEPTH", "16"), ("RW", "randread"), ("BS", "4k")],
    },
    BuiltInJob {
        name: "crystaldiskmark-2",
        purpose: "CrystalDiskMark 2.2: a file read and written in sequence, in blocks of 512 KB and of 4 KB at random",
        text: include_str!("../../../studies/jobs/crystaldiskmark-2.fio"),
        variables: &[("SIZE", "100m"), ("PLACE", "0%")],
    },
    BuiltInJob {
        name: "crystaldiskmark-9",
        purpose: "CrystalDiskMark 7 to 9, its default profile: 1 MiB in sequence at depth 8 and 1, 4 KiB at random at 32 and 1",
        text: include_str!("../../../studies/jobs/crystaldiskmark-9.fio"),
        variables: &[("SIZE", "1g"), ("PLACE", "0%")],
    },
    BuiltInJob {
        name: "hd-tune-curve",
        purpose: "HD Tune's transfer curve: the rate at 21 places from the first sector to the last",
        text: include_str!("../../../studies/jobs/hd-tune-curve.fio"),
        variables: &[("RW", "read"), ("READ", "8m")],
    },
    BuiltInJob {
        name: "hd-tune-access",
        purpose: "HD Tune's access times: single sectors at random over the whole drive",
        text: include_str!("../../../studies/jobs/hd-tune-access.fio"),
        variables: &[("RW", "randread"), ("READS", "1000")],
    },
    BuiltInJob {
        name: "four-commands",
        purpose: "four sectors of one track at once, out of order: a half, a quarter and three quarters on",
        text: include_str!("../../../studies/jobs/four-commands.fio"),
        variables: &[("SECOND", "283648"), ("THIRD", "141824"), ("FOURTH", "425984")],
    },
    BuiltInJob {
        name: "two-places",
        purpose: "reads and writes at random in two places at once: two volumes of an array",
        text: include_str!("../../../studies/jobs/two-places.fio"),
        variables: &[("FIRST", "10%"), ("SECOND", "80%"), ("SIZE", "5%"), ("RUNTIME", "60s")],
    },
];

/// Lower case, words joined by dashes: `File Server` is `file-server`.
fn slug(name: &str) -> String {
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

/// What a job was read from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// A built-in pattern.
    Pattern,
    /// An Iometer configuration.
    Iometer,
    /// A fio job file.
    Fio(Box<fio::JobFile>),
    /// A scene, with its settings.
    Scene(Vec<Setting>),
    /// A recorded session, with what was done to the disk in it.
    Session(Vec<Change>),
    /// A recorded trace.
    Trace(Box<Traced>),
}

/// A job, what it was read from, and what its reader had to say.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The job, laid out on the drive.
    pub job: Work,
    /// What it was read from.
    pub origin: Origin,
    /// The figures of its page cache, where a job that is no scene has one.
    pub system: Vec<Setting>,
    /// Devices beside the drive that it runs on too.
    pub beside: Vec<FlashSpec>,
    /// Of a fio job on a real file: how each worker has it.
    pub opened: Option<Vec<fio::Opened>>,
    /// Warnings.
    pub warnings: Vec<Diagnostic>,
}

impl Loaded {
    /// Without a page cache, on the drive alone.
    fn bare(job: Work, origin: Origin, warnings: Vec<Diagnostic>) -> Loaded {
        Loaded { job, origin, system: Vec::new(), beside: Vec::new(), opened: None, warnings }
    }
}

/// A built-in scene.
#[derive(Clone, Copy, Debug)]
pub struct BuiltInScene {
    /// Its name on the command line.
    pub name: &'static str,
    /// What happens in it.
    pub purpose: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// All built-in scenes.
pub const SCENES: &[BuiltInScene] = &[
    BuiltInScene {
        name: "copy",
        purpose: "1 GB in files of 10 MB copied from one volume to another, in 32 KB blocks",
        text: include_str!("../../../studies/jobs/copy.toml"),
    },
    BuiltInScene {
        name: "database-beside-copy",
        purpose: "clients of a database commit while files are copied on the same drive",
        text: include_str!("../../../studies/jobs/database-beside-copy.toml"),
    },
    BuiltInScene {
        name: "small-files",
        purpose: "an archive of 5,000 small files unpacked, and read again after a restart",
        text: include_str!("../../../studies/jobs/small-files.toml"),
    },
    BuiltInScene {
        name: "move",
        purpose: "a hundred files of a megabyte moved from one volume to another",
        text: include_str!("../../../studies/jobs/move.toml"),
    },
    BuiltInScene {
        name: "start",
        purpose: "a start of Windows XP, with its prefetcher",
        text: include_str!("../../../studies/jobs/start.toml"),
    },
    BuiltInScene {
        name: "desktop-playback",
        purpose: "what benchmarks of a desktop play back: a word processor, an image editor, files copied",
        text: include_str!("../../../studies/jobs/desktop-playback.toml"),
    },
    BuiltInScene {
        name: "applications",
        purpose: "whole applications at a script's pace, one after another",
        text: include_str!("../../../studies/jobs/applications.toml"),
    },
    BuiltInScene {
        name: "image-editing",
        purpose: "an image editor and its scratch file",
        text: include_str!("../../../studies/jobs/image-editing.toml"),
    },
    BuiltInScene {
        name: "defragment",
        purpose: "a volume of files in pieces is defragmented",
        text: include_str!("../../../studies/jobs/defragment.toml"),
    },
    BuiltInScene {
        name: "records",
        purpose: "records posted into shared files, each made durable by itself",
        text: include_str!("../../../studies/jobs/records.toml"),
    },
    BuiltInScene {
        name: "posting",
        purpose: "a base of 223 MB read once, then records posted into it",
        text: include_str!("../../../studies/jobs/posting.toml"),
    },
    BuiltInScene {
        name: "office",
        purpose: "documents read, saved and made durable, then records posted into a base",
        text: include_str!("../../../studies/jobs/office.toml"),
    },
    BuiltInScene {
        name: "one-program",
        purpose: "one program, any of them, on one volume of 8 GB",
        text: include_str!("../../../studies/jobs/one-program.toml"),
    },
    BuiltInScene {
        name: "scan-beside-copy",
        purpose: "a scan of one volume while small files are copied on the other",
        text: include_str!("../../../studies/jobs/scan-beside-copy.toml"),
    },
    BuiltInScene {
        name: "file-sets",
        purpose: "a set of files created, read or copied on a volume that begins at a third of the drive",
        text: include_str!("../../../studies/jobs/file-sets.toml"),
    },
    BuiltInScene {
        name: "read-twice",
        purpose: "all files of a volume read twice, the second time from memory",
        text: include_str!("../../../studies/jobs/read-twice.toml"),
    },
];

/// The text of a built-in job or scene.
pub fn built_in(name: &str) -> Option<&'static str> {
    let scene = || SCENES.iter().find(|scene| scene.name == name).map(|scene| scene.text);
    JOBS.iter().find(|job| job.name == name).map(|job| job.text).or_else(scene)
}

/// What is asked of a job beside its name.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// Variables of a fio job, which go before the environment's.
    pub variables: &'a [(&'a str, &'a str)],
    /// Dotted keys of a scene and their values; of a fio job those of its page cache.
    pub scene: &'a [(&'a str, &'a str)],
    /// When a scene or a trace ends.
    pub runtime: Option<Span>,
    /// It runs on a real file: what options mean there counts.
    pub real: bool,
    /// Dotted keys of a trace and their values.
    pub trace: &'a [(&'a str, &'a str)],
    /// `job.depth`, which a trace in a closed loop has of it.
    pub depth: Option<&'a str>,
    /// What the target can do, where that is known.
    pub limits: Option<&'a Limits>,
}

/// Loads a job by the name of a pattern, of a built-in job or of a file, for a drive of `sectors`. `variables` go before
/// the environment's.
pub fn load(
    name: &str,
    sectors: u64,
    inputs: &Inputs<'_>,
    variables: &[(&str, &str)],
) -> Result<Loaded, Vec<Diagnostic>> {
    load_with(name, sectors, inputs, &Asked { variables, ..Asked::default() })
}

/// The same with all that is asked of it.
pub fn load_with(name: &str, sectors: u64, inputs: &Inputs<'_>, asked: &Asked<'_>) -> Result<Loaded, Vec<Diagnostic>> {
    let loaded = load_any(name, sectors, inputs, asked)?;
    if let (false, Some((key, _))) = (matches!(loaded.origin, Origin::Trace(_)), asked.trace.first()) {
        let fault = Diagnostic::at(name, 0, "is no trace").key(*key);
        return Err(vec![fault.expected("a trace, or a recording of `seekwise serve --record`")]);
    }
    match (&loaded.origin, asked.scene.first()) {
        (Origin::Scene(_) | Origin::Fio(_), _) | (_, None) => Ok(loaded),
        (_, Some((key, _))) => {
            let fault = Diagnostic::at(name, 0, "is not a scene").key(*key);
            Err(vec![fault.expected("a scene or a fio job: Iometer goes past the page cache")])
        }
    }
}

/// A job of any kind.
fn load_any(name: &str, sectors: u64, inputs: &Inputs<'_>, asked: &Asked<'_>) -> Result<Loaded, Vec<Diagnostic>> {
    let Asked { variables, runtime, depth, limits, .. } = *asked;
    let keys = asked;
    let patterns = patterns();
    let unused = |variable: &str, known: &[&str]| {
        let fault = Diagnostic::at(name, 0, format!("the job has no variable `{variable}`"));
        vec![fault.nearest_to(variable, known.iter().copied())]
    };
    if let (Some(_), Some((variable, _))) = (patterns.iter().find(|pattern| pattern.name == name), variables.first()) {
        return Err(unused(variable, &[]));
    }
    if let Some(pattern) = patterns.iter().find(|pattern| pattern.name == name) {
        let job = pattern_job(pattern, sectors).into();
        return Ok(Loaded::bare(job, Origin::Pattern, Vec::new()));
    }
    let asked = RefCell::new(Vec::new());
    let given = |key: &str| {
        asked.borrow_mut().push(key.to_owned());
        variables.iter().find(|(name, _)| *name == key).map(|(_, value)| (*value).to_owned())
    };
    let all_used = |loaded: Loaded| {
        let asked = asked.borrow();
        let known: Vec<&str> = asked.iter().map(String::as_str).collect();
        match variables.iter().find(|(name, _)| !known.contains(name)) {
            Some((variable, _)) => Err(unused(variable, &known)),
            None => Ok(loaded),
        }
    };
    let names = patterns.iter().map(|pattern| pattern.name.as_str()).chain(JOBS.iter().map(|job| job.name));
    let names = names.chain(SCENES.iter().map(|scene| scene.name));
    let absent = |why: io::Error| vec![absent(name, &why, "no built-in pattern or job with that name", names)];
    let heeded = Heeded { depth, runtime, limits };
    let traced = match built_in(name) {
        None => trace::load(name, sectors, inputs, keys.trace, heeded).map_err(|fault| vec![fault])?,
        Some(_) => None,
    };
    if let Some((spec, traced)) = traced {
        return match variables.first() {
            Some((variable, _)) => Err(unused(variable, &[])),
            None => Ok(Loaded::bare(Work::Trace(spec), Origin::Trace(Box::new(traced)), Vec::new())),
        };
    }
    let text = inputs.text(Role::Job, name).map_err(absent)?;
    if let Some(job) = JOBS.iter().find(|job| job.name == name) {
        let default = |key: &str| job.variables.iter().find(|(name, _)| *name == key).map(|(_, it)| (*it).to_owned());
        let value = |key: &str| given(key).or_else(|| default(key));
        return fio_job(name, &text, sectors, inputs, keys, &value).and_then(all_used);
    }
    if recording::looks_like(&text) {
        if let Some((variable, _)) = variables.first() {
            return Err(unused(variable, &[]));
        }
        let Recording { session, orders } = recording::parse(name, name, &text).map_err(|fault| vec![fault])?;
        return Ok(Loaded::bare(Work::Session(session.into()), Origin::Session(orders), Vec::new()));
    }
    let is_scene = name.to_ascii_lowercase().ends_with(".toml") || Scene::looks_like(&text);
    if let (true, Some((variable, _))) = (is_scene || looks_like_iometer(name, &text), variables.first()) {
        return Err(unused(variable, &[]));
    }
    if is_scene {
        return scene_job(name, &text, sectors, keys.scene, runtime);
    }
    if looks_like_iometer(name, &text) {
        let (config, mut warnings) = iometer::icf::parse(name, text.as_bytes())?;
        let (job, more) = config.job(sectors)?;
        warnings.extend(more);
        return Ok(Loaded::bare(job.into(), Origin::Iometer, warnings));
    }
    fio_job(name, &text, sectors, inputs, keys, &|key| given(key).or_else(|| inputs.variable(key))).and_then(all_used)
}

/// Why `name`, which might be a file or one of the `known` words, stands for nothing.
pub(crate) fn absent<'a>(
    name: &str,
    why: &io::Error,
    otherwise: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    match why.kind() {
        ErrorKind::NotFound => {
            let absent = Diagnostic::at(name, 0, format!("no such file, and {otherwise}")).nearest_to(name, known);
            // A path is a file that was meant, whatever words are in it.
            if name.contains(['/', '.']) { absent } else { absent.limited(name) }
        }
        _ => Diagnostic::at(name, 0, format!("cannot be read: {why}")),
    }
}

fn scene_job(
    name: &str,
    text: &str,
    sectors: u64,
    asked: &[(&str, &str)],
    runtime: Option<Span>,
) -> Result<Loaded, Vec<Diagnostic>> {
    let mut scene = Scene::parse(name, text)?;
    asked.iter().try_for_each(|(key, value)| scene.set(key, value))?;
    let built = scene.build(sectors, runtime)?;
    let (job, origin) = (Work::Scene(Box::new(built.spec)), Origin::Scene(built.settings));
    Ok(Loaded { beside: built.beside, ..Loaded::bare(job, origin, Vec::new()) })
}

fn fio_job(
    name: &str,
    text: &str,
    sectors: u64,
    inputs: &Inputs<'_>,
    asked: &Asked<'_>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Loaded, Vec<Diagnostic>> {
    let context = fio::Context {
        environment,
        include: &|path| inputs.text(Role::Job, path).map_err(|why| why.to_string()),
        ..fio::Context::bare()
    };
    let file = fio::parse(name, text, &context)?;
    if let (true, [(key, _), ..]) = (asked.real, asked.scene) {
        let fault = Diagnostic::at(name, 0, "a real file has the system's own page cache").key(*key);
        return Err(vec![fault.expected("real.direct=false, or direct=0 in the job")]);
    }
    if asked.real {
        let (job, opened, warnings) = file.real_job(sectors)?;
        let loaded = Loaded::bare(job.into(), Origin::Fio(Box::new(file)), warnings);
        return Ok(Loaded { opened: Some(opened), ..loaded });
    }
    let Some((system, mut settings)) = Scene::system_of_job(name, asked.scene)? else {
        let (job, warnings) = file.job(sectors)?;
        return Ok(Loaded::bare(job.into(), Origin::Fio(Box::new(file)), warnings));
    };
    let (job, workers, warnings) = file.cached_job(sectors)?;
    settings.push(opened(&workers));
    let job = Work::Cached(Box::new((job, BufferedSpec { system, workers })));
    Ok(Loaded { system: settings, ..Loaded::bare(job, Origin::Fio(Box::new(file)), warnings) })
}

/// How the workers' files are opened, as a setting: two jobs that differ in it are not the same.
fn opened(workers: &[Opening]) -> Setting {
    let word = |&Opening { direct, through, invalidate }: &Opening| match (direct, through, invalidate) {
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
    Setting::asked("pagecache.opened".to_owned(), words.join("; "), "the job as it was understood")
}

fn looks_like_iometer(name: &str, text: &str) -> bool {
    let icf = name.to_ascii_lowercase().ends_with(".icf");
    icf || text.starts_with("Version ") || text.trim_start().starts_with("'TEST SETUP")
}

/// One worker of the pattern over the whole drive, one request outstanding.
fn pattern_job(pattern: &BuiltIn, sectors: u64) -> Job {
    let worker = Worker {
        name: pattern.name.clone(),
        stage: 0,
        group: 0,
        start_delay: Span::ZERO,
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
    use super::*;

    fn loaded(name: &str, text: &str, variables: &[(&str, &str)]) -> Result<usize, String> {
        let read = |_: &str| Ok(text.to_owned());
        let job = load(name, 1 << 33, &Inputs::today(&read), variables);
        job.map(|loaded| loaded.job.workers().len()).map_err(|faults| faults[0].to_string())
    }

    #[test]
    fn variables_of_built_in_jobs_have_values_and_can_be_set() {
        assert_eq!(loaded("parallel-streams", "", &[]), Ok(4));
        assert_eq!(loaded("parallel-streams", "", &[("STREAMS", "7")]), Ok(7));
        JOBS.iter().for_each(|job| assert!(loaded(job.name, "", &[]).is_ok(), "{}", job.name));
    }

    #[test]
    fn built_in_scenes_fit_a_drive_of_80_gb() {
        let inputs = Inputs::today(&|_| Err(ErrorKind::NotFound.into()));
        for scene in SCENES {
            let faults = load(scene.name, 156_301_488, &inputs, &[]).map(|_| ()).err();
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
