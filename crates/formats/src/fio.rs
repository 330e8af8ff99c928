//! fio job files: parses their text and builds a [`Job`] whose files are laid out on a drive.
//!
//! [`parse`] reads a file into a [`JobFile`]; [`JobFile::job`] lays its files out on a drive of a given size. Each
//! option is honoured, or ignored with a warning because it cannot change the figures of a modelled drive, or refused
//! with a reason; no option is ignored silently. No file is opened and no environment is read: the caller provides both through
//! [`FioContext`].
//!
//! Rules are from fio 3.33: its manual, its `--cmdhelp` and `--parse-only`, and the behaviour of its parser and its setup of
//! files. If fio accepts a probable mistake (`10sec` as ten microseconds), the reader warns.
//!
//! | room | what it does |
//! |---|---|
//! | `lines` | sections, comments, includes, variables |
//! | `job_option` | an option as the file gives it |
//! | `number` | sizes, times, percentages, triples |
//! | `arithmetic` | `(2 * 4k)`, `8*1024*$pagesize` |
//! | `options` | all options that fio knows, and the treatment of each |
//! | `value` | an option's text as a value of its type |
//! | `engines` | the I/O engines |
//! | `settings` | the values of all options of a job |
//! | `job_file` | a parsed job file |
//! | `draw` | sizes and places of requests: `bssplit`, `random_distribution` |
//! | `layout` | files on the drive |
//! | `build` | the model's job from settings and layout |
//! | `write_iolog` | logs of the requests that a job issues |
//! | `replay` | `read_iolog`: a job that plays a log |
//! | `open_flags` | how a worker opens a real file |
//! | `real` | options of a job on a real file: honoured or refused |

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
pub use write_iolog::WorkerIolog;

/// True if fio has an option of this name in job files.
pub fn is_option(name: &str) -> bool {
    options::names().any(|known| known == name)
}

/// Reads a job file. All errors are collected; warnings come out of [`JobFile::job`].
pub fn parse(file_name: &str, text: &str, context: &FioContext) -> Result<JobFile, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let mut job_file = JobFile { file: file_name.to_owned(), globals: vec![], sections: vec![], warnings: vec![] };
    let mut global_settings = FioSettings::default();
    for raw in lines::split_sections(file_name, text, context, &mut errors) {
        let is_global = raw.name.starts_with("global");
        let mut settings = global_settings.clone();
        let options = apply_section_options(&raw, &mut settings, context, &mut job_file.warnings, &mut errors);
        if is_global {
            job_file.globals.extend(options);
            global_settings = settings;
        } else {
            let refused = engine_error(&settings, file_name, raw.line);
            if let Some(refused) = refused.filter(|refused| !errors.contains(refused)) {
                errors.push(refused);
            }
            if let Err(key) = settings.convert_zones_to_bytes() {
                let (file, line) =
                    settings.option_place(key).map_or((file_name, raw.line), |(file, line)| (file.as_str(), *line));
                let fault = Diagnostic::at(file, line, "zones are counted, and it is not known how large they are");
                errors.push(fault.with_key(key).with_expected("zonesize beside it"));
            }
            let name = settings.name.clone().unwrap_or_else(|| raw.name.clone());
            let header = raw.name;
            job_file.sections.push(JobSection { name, line: raw.line, options, header, settings });
        }
    }
    if errors.is_empty() { Ok(job_file) } else { Err(errors) }
}

/// The error about an unsupported engine, at the place where the engine is given. An engine in `[global]` counts only
/// for the jobs that use it.
fn engine_error(settings: &FioSettings, file: &str, line: usize) -> Option<Diagnostic> {
    let refusal = settings.engine_refusal()?;
    let (file, line) = settings.option_place("ioengine").map_or((file, line), |(file, line)| (file.as_str(), *line));
    Some(Diagnostic::at(file, line, refusal).with_key("ioengine"))
}

/// Applies the options of a section in fio's order: `kb_base` and the engine first, then the others in file order.
fn apply_section_options(
    raw: &RawSection,
    settings: &mut FioSettings,
    context: &FioContext,
    warnings: &mut Vec<Diagnostic>,
    errors: &mut Vec<Diagnostic>,
) -> Vec<JobOption> {
    let mut applied = Vec::new();
    let mut expanded: Vec<_> = raw.lines.iter().filter_map(|line| line.expand(context, errors)).collect();
    expanded.sort_by_key(|option| match option.name.as_str() {
        "kb_base" => 0,
        "ioengine" => 1,
        _ => 2,
    });
    for option in expanded {
        match settings.apply_option(&option) {
            Ok(notes) => {
                warnings.extend(notes.into_iter().map(|note| option.diagnostic(note)));
                applied.push(option.into_job_option());
            }
            Err(fault) => errors.push(fault.into_diagnostic(&option)),
        }
    }
    applied.sort_by_key(|option| raw.lines.iter().position(|line| line.place == (option.file.clone(), option.line)));
    applied
}

impl JobFile {
    /// Lays the files out on a drive of this many sectors of 512 bytes, and builds the job with all warnings about
    /// the file, or returns all errors.
    pub fn job(&self, device_sectors: u64) -> Result<(Job, Vec<Diagnostic>), Vec<Diagnostic>> {
        build::build_job(self, device_sectors, false)
    }

    /// Builds the job for use above a page cache; also says how the files of each worker are opened.
    pub fn cached_job(
        &self,
        device_sectors: u64,
    ) -> Result<(Job, Vec<FileOpenFlags>, Vec<Diagnostic>), Vec<Diagnostic>> {
        let (job, warnings) = build::build_job(self, device_sectors, true)?;
        Ok((job, build::cached_open_flags(self), warnings))
    }

    /// Section, clone and group of each worker of the job, in the workers' order.
    pub fn worker_origins(&self) -> Vec<WorkerOrigin> {
        build::worker_origins(self)
    }
}
