//! The type of a parsed job file: its sections with their options and settings.

use seekwise_drives::diagnostic::Diagnostic;

use super::job_option::JobOption;
use super::settings::FioSettings;

/// A parsed job file.
#[derive(Clone, Debug)]
pub struct JobFile {
    pub(super) file: String,
    pub(super) globals: Vec<JobOption>,
    pub(super) sections: Vec<JobSection>,
    pub(super) warnings: Vec<Diagnostic>,
}

/// A job section.
#[derive(Clone, Debug)]
pub struct JobSection {
    /// The job's name: the section's, or its `name` option.
    pub name: String,
    /// Line of its header, from 1.
    pub line: usize,
    /// The options of the section, in order; those of `[global]` are in [`JobFile::global_options`].
    pub options: Vec<JobOption>,
    /// The section's header, which names default files.
    pub(super) header: String,
    pub(super) settings: FioSettings,
}

/// The origin of a worker of the built job, in the order of the workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerOrigin {
    /// Index into [`JobFile::sections`].
    pub section: usize,
    /// The number of its clone, below `numjobs`.
    pub clone: u32,
    /// fio's `groupid`, which increases at `stonewall` and `new_group`. Workers are reported together only with
    /// `group_reporting`; that is [`seekwise_work::workload::Worker::group`].
    pub group_id: u32,
}

impl JobFile {
    /// Options of all `[global]` sections, in order.
    pub fn global_options(&self) -> &[JobOption] {
        &self.globals
    }

    /// The job sections, in order.
    pub fn sections(&self) -> &[JobSection] {
        &self.sections
    }

    /// A diagnostic about an option of a section, at the option or, if it is not given, at the header of the section.
    pub(super) fn diagnostic_at(
        &self,
        section_index: usize,
        key: &'static str,
        message: impl Into<String>,
    ) -> Diagnostic {
        let section = &self.sections[section_index];
        let (file, line) = match section.settings.option_place(key) {
            Some((file, line)) => (file.as_str(), *line),
            None => (self.file.as_str(), section.line),
        };
        Diagnostic::at(file, line, format!("job {}: {}", section.name, message.into())).with_key(key)
    }
}
