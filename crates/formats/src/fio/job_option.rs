//! An option of a job file before its value is interpreted.

use seekwise_drives::diagnostic::Diagnostic;

/// An option as the file gives it: its canonical name, and its value after expansion of variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobOption {
    /// The canonical name (`bs` for `blocksize`).
    pub name: String,
    /// The text after `=`; empty for a bare flag.
    pub value: String,
    /// The job file, or an included one.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
}

/// A file, and a line of it from 1.
pub(super) type FileLine = (String, usize);

/// An option after expansion of variables.
#[derive(Clone, Debug)]
pub(super) struct ExpandedOption {
    /// The canonical name if known, otherwise as written.
    pub(super) name: String,
    /// `None` without `=`.
    pub(super) value: Option<String>,
    /// Variables that are not set.
    pub(super) unset: Vec<String>,
    pub(super) place: FileLine,
}

impl ExpandedOption {
    pub(super) fn into_job_option(self) -> JobOption {
        let (file, line) = self.place;
        JobOption { name: self.name, value: self.value.unwrap_or_default(), file, line }
    }

    /// A diagnostic at this option.
    pub(super) fn diagnostic(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::at(&self.place.0, self.place.1, message).with_key(&self.name)
    }
}
