//! fio job files: text in, a [`Job`] laid out on a drive out.
//!
//! [`parse`] reads a file into a [`JobFile`]; [`JobFile::job`] lays its files out on a drive of a given size. Each
//! option is honoured, or ignored with a warning because it cannot change the figures of a modelled drive, or refused
//! with a reason; no option is ignored silently. Nothing here opens a file or reads the environment: the caller
//! provides both through [`FioContext`].
//!
//! Source: fio 3.33's manual, its `--cmdhelp` and `--parse-only`, and the behaviour of its parser and its setup
//! of files. If fio accepts a probable mistake (`10sec` as ten microseconds), the reader warns.
//!
//! | room | what it does |
//! |---|---|
//! | `lines` | sections, comments, includes, variables |
//! | `job_option` | an option as the file gives it |
//! | `number` | sizes, times, percentages, triples |
//! | `arithmetic` | `(2 * 4k)`, `8*1024*$pagesize` |
//! | `options` | all options fio knows and what becomes of them |
//! | `value` | an option's text, checked against its kind |
//! | `engines` | the I/O engines |
//! | `settings` | the values a job ends up with |
//! | `job_file` | a job file that was read |
//! | `draw` | sizes and places of requests: `bssplit`, `random_distribution` |
//! | `layout` | files on the drive |
//! | `build` | settings and layout to the model's job |
//! | `write_iolog` | whose requests go into which log |
//! | `replay` | `read_iolog`: a log is played instead |
//! | `open_flags` | how a worker opens a real file |
//! | `real` | what options mean, or are refused for, on a real file |

mod arithmetic;
mod build;
mod draw;
mod engines;
mod job_file;
mod job_option;
mod layout;
mod lines;
mod number;
mod open_flags;
mod options;
mod real;
mod replay;
mod settings;
mod value;
mod write_iolog;

use seekwise_work::files::buffered_source::FileOpenFlags;
use seekwise_work::workload::Job;

pub use job_file::{JobFile, JobSection, WorkerOrigin};
pub use job_option::JobOption;
pub use lines::FioContext;
use lines::RawSection;
pub use open_flags::{AccessHint, FioOpenFlags};
pub use replay::IologReplay;
use seekwise_drives::diagnostic::Diagnostic;
use settings::FioSettings;
pub use write_iolog::LogOf;

/// Whether fio has an option of this name in job files.
pub fn is_option(name: &str) -> bool {
    options::names().any(|known| known == name)
}

/// Reads a job file. All errors are collected; warnings come out of [`JobFile::job`].
pub fn parse(file_name: &str, text: &str, context: &FioContext) -> Result<JobFile, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let mut read = JobFile { file: file_name.to_owned(), globals: vec![], sections: vec![], warnings: vec![] };
    let mut shared = FioSettings::default();
    for raw in lines::split_sections(file_name, text, context, &mut errors) {
        let global = raw.name.starts_with("global");
        let mut settings = shared.clone();
        let options = apply_options(&raw, &mut settings, context, &mut read.warnings, &mut errors);
        if global {
            read.globals.extend(options);
            shared = settings;
        } else {
            let refused = engine_error(&settings, file_name, raw.line);
            if let Some(refused) = refused.filter(|refused| !errors.contains(refused)) {
                errors.push(refused);
            }
            if let Err(key) = settings.measure_zones() {
                let (file, line) =
                    settings.option_place(key).map_or((file_name, raw.line), |(file, line)| (file.as_str(), *line));
                let unknown = Diagnostic::at(file, line, "zones are counted, and it is not known how large they are");
                errors.push(unknown.with_key(key).with_expected("zonesize beside it"));
            }
            let name = settings.name.clone().unwrap_or_else(|| raw.name.clone());
            let header = raw.name;
            read.sections.push(JobSection { name, line: raw.line, options, header, settings });
        }
    }
    if errors.is_empty() { Ok(read) } else { Err(errors) }
}

/// The error about an unsupported engine, at the place where the engine is given. An engine in `[global]` counts only
/// for the jobs that use it.
fn engine_error(settings: &FioSettings, file: &str, line: usize) -> Option<Diagnostic> {
    let refusal = settings.engine_refusal()?;
    let (file, line) = settings.option_place("ioengine").map_or((file, line), |(file, line)| (file.as_str(), *line));
    Some(Diagnostic::at(file, line, refusal).with_key("ioengine"))
}

/// Applies the options of a section in fio's order: `kb_base` and the engine first, then the others in file order.
fn apply_options(
    raw: &RawSection,
    settings: &mut FioSettings,
    context: &FioContext,
    warnings: &mut Vec<Diagnostic>,
    errors: &mut Vec<Diagnostic>,
) -> Vec<JobOption> {
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
                given.push(option.into_job_option());
            }
            Err(fault) => errors.push(fault.into_diagnostic(&option)),
        }
    }
    given.sort_by_key(|option| raw.lines.iter().position(|line| line.place == (option.file.clone(), option.line)));
    given
}

impl JobFile {
    /// Lays the files out on a drive of this many sectors of 512 bytes, and builds the job with all warnings about
    /// the file, or returns all errors.
    pub fn job(&self, device_sectors: u64) -> Result<(Job, Vec<Diagnostic>), Vec<Diagnostic>> {
        build::build_job(self, device_sectors, false)
    }

    /// Builds the job for use above a page cache, and how the files of each worker are opened.
    pub fn cached_job(
        &self,
        device_sectors: u64,
    ) -> Result<(Job, Vec<FileOpenFlags>, Vec<Diagnostic>), Vec<Diagnostic>> {
        let (job, warnings) = build::build_job(self, device_sectors, true)?;
        Ok((job, build::open_flags(self), warnings))
    }

    /// Section, clone and group of each worker of the job, in the workers' order.
    pub fn worker_origins(&self) -> Vec<WorkerOrigin> {
        build::worker_origins(self)
    }
}
