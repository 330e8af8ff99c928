//! fio job files: text in, a [`Job`] laid out on a drive out.
//!
//! [`parse`] reads a file into a [`JobFile`]; [`JobFile::job`] lays its files out on a drive of a given size. Each
//! option is honoured, or named in a warning because it cannot change the figures of a modelled drive, or refused
//! with the reason; none is passed over in silence. Nothing here opens a file or reads the environment: the caller
//! lends both through [`Context`].
//!
//! Source: fio 3.33's manual, its `--cmdhelp` and `--parse-only`, and the behaviour of its parser and of its set-up
//! of files. Where fio lets a slip of the pen pass (`10sec` as ten microseconds), the reader says so.
//!
//! | room | what it does |
//! |---|---|
//! | `lines` | sections, comments, includes, variables |
//! | `number` | sizes, times, percentages, triples |
//! | `arithmetic` | `(2 * 4k)`, `8*1024*$pagesize` |
//! | `options` | all options fio knows and what becomes of them |
//! | `value` | an option's text, checked against its kind |
//! | `engines` | the I/O engines |
//! | `settings` | the values a job ends up with |
//! | `draw` | sizes and places of requests: `bssplit`, `random_distribution` |
//! | `layout` | files on the drive |
//! | `build` | settings and layout to the model's job |
//! | `logged` | `write_iolog`: whose requests go into which log |
//! | `replay` | `read_iolog`: a log is played instead |
//! | `real` | what options mean, or are refused for, on a real file |

mod arithmetic;
mod build;
mod draw;
mod engines;
mod layout;
mod lines;
mod logged;
mod number;
mod options;
mod real;
mod replay;
mod settings;
mod value;

use seekwise_model::files::buffered::Opening;
use seekwise_model::workload::Job;

use crate::diagnostic::Diagnostic;
use lines::RawSection;
pub use logged::LogOf;
pub use real::{Hint, Opened};
pub use replay::Replayed;
use settings::Settings;

/// What a job file may refer to outside itself.
pub struct Context<'a> {
    /// The value of an environment variable.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    /// The text of a file named by `include`, or why it cannot be read. The path is tried first beside the including
    /// file, then as it stands.
    pub include: &'a dyn Fn(&str) -> Result<String, String>,
    /// `$pagesize`, bytes.
    pub page_size: u64,
    /// `$mb_memory`, mebibytes.
    pub memory_mb: u64,
    /// `$ncpus`.
    pub processors: u64,
}

impl Context<'_> {
    /// No variables, no files to include, 4 KiB pages, 1 GiB of memory and one processor.
    pub fn bare() -> Context<'static> {
        Context {
            environment: &|_| None,
            include: &|_| Err("there are no files to include here".to_owned()),
            page_size: 4096,
            memory_mb: 1024,
            processors: 1,
        }
    }
}

/// A job file that was understood.
#[derive(Clone, Debug)]
pub struct JobFile {
    file: String,
    globals: Vec<Given>,
    sections: Vec<Section>,
    warnings: Vec<Diagnostic>,
}

/// One option as the file gives it: its canonical name, and its value after variables were put in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// fio's own name for it (`bs` where the file says `blocksize`).
    pub name: String,
    /// The text after `=`; empty for a bare flag.
    pub value: String,
    /// The file it stands in: the job file, or one it includes.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
}

/// One job section.
#[derive(Clone, Debug)]
pub struct Section {
    /// The job's name: the section's, or its `name` option.
    pub name: String,
    /// Line of its header, from 1.
    pub line: usize,
    /// Its own options, in order; those of `[global]` are in [`JobFile::global_options`].
    pub options: Vec<Given>,
    /// The section's header, which names default files.
    header: String,
    settings: Settings,
}

/// Where a worker of the built job comes from. The workers of the job and these stand in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Index into [`JobFile::sections`].
    pub section: usize,
    /// Which of its `numjobs` clones.
    pub clone: u32,
    /// fio's `groupid`: rises at `stonewall` and `new_group`. Workers are reported together only with
    /// `group_reporting`; that is [`seekwise_model::workload::Worker::group`].
    pub group_id: u32,
}

/// Reads a job file. All errors are collected; warnings come out of [`JobFile::job`].
pub fn parse(file_name: &str, text: &str, context: &Context) -> Result<JobFile, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let mut read = JobFile { file: file_name.to_owned(), globals: vec![], sections: vec![], warnings: vec![] };
    let mut shared = Settings::default();
    for raw in lines::sections(file_name, text, context, &mut errors) {
        let global = raw.name.starts_with("global");
        let mut settings = shared.clone();
        let options = apply(&raw, &mut settings, context, &mut read.warnings, &mut errors);
        if global {
            read.globals.extend(options);
            shared = settings;
        } else {
            let refused = engine_refused(&settings, file_name, raw.line);
            if let Some(refused) = refused.filter(|refused| !errors.contains(refused)) {
                errors.push(refused);
            }
            if let Err(key) = settings.measure_zones() {
                let (file, line) =
                    settings.place(key).map_or((file_name, raw.line), |(file, line)| (file.as_str(), *line));
                let unknown = Diagnostic::at(file, line, "zones are counted, and it is not known how large they are");
                errors.push(unknown.key(key).expected("zonesize beside it"));
            }
            let name = settings.name.clone().unwrap_or_else(|| raw.name.clone());
            let header = raw.name;
            read.sections.push(Section { name, line: raw.line, options, header, settings });
        }
    }
    if errors.is_empty() { Ok(read) } else { Err(errors) }
}

/// What a job's engine is refused for, at the place where the engine is given. An engine in `[global]` counts only
/// for the jobs that keep it.
fn engine_refused(settings: &Settings, file: &str, line: usize) -> Option<Diagnostic> {
    let refusal = settings.engine_refusal()?;
    let (file, line) = settings.place("ioengine").map_or((file, line), |(file, line)| (file.as_str(), *line));
    Some(Diagnostic::at(file, line, refusal).key("ioengine"))
}

/// Applies a section's options to the settings in fio's order: `kb_base` and the engine first, then as they stand.
fn apply(
    raw: &RawSection,
    settings: &mut Settings,
    context: &Context,
    warnings: &mut Vec<Diagnostic>,
    errors: &mut Vec<Diagnostic>,
) -> Vec<Given> {
    let mut given = Vec::new();
    let mut expanded: Vec<_> = raw.lines.iter().filter_map(|line| line.expand(context, errors)).collect();
    expanded.sort_by_key(|option| match option.name.as_str() {
        "kb_base" => 0,
        "ioengine" => 1,
        _ => 2,
    });
    for option in expanded {
        match settings.apply(&option) {
            Ok(notes) => {
                warnings.extend(notes.into_iter().map(|note| option.diagnostic(note)));
                given.push(option.given());
            }
            Err(fault) => errors.push(fault.at(&option)),
        }
    }
    given.sort_by_key(|option| raw.lines.iter().position(|line| line.place == (option.file.clone(), option.line)));
    given
}

impl JobFile {
    /// Options of all `[global]` sections, in order.
    pub fn global_options(&self) -> &[Given] {
        &self.globals
    }

    /// The job sections, in order.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Lays the files out on a drive of this many sectors of 512 bytes, and builds the job with all warnings about
    /// the file, or says all that stands in the way.
    pub fn job(&self, device_sectors: u64) -> Result<(Job, Vec<Diagnostic>), Vec<Diagnostic>> {
        build::job(self, device_sectors, false)
    }

    /// The same above a page cache, with how each worker's files are opened.
    pub fn cached_job(&self, device_sectors: u64) -> Result<(Job, Vec<Opening>, Vec<Diagnostic>), Vec<Diagnostic>> {
        let (job, warnings) = build::job(self, device_sectors, true)?;
        Ok((job, build::openings(self), warnings))
    }

    /// Section, clone and group of each worker of the job, in the workers' order.
    pub fn origins(&self) -> Vec<Origin> {
        build::origins(self)
    }
}
