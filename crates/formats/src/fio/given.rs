//! An option as the file gives it.

use crate::diagnostic::Diagnostic;

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

/// An option after variables were put in.
#[derive(Clone, Debug)]
pub(super) struct Expanded {
    /// Canonical name where known, else as written.
    pub(super) name: String,
    /// `None`: no `=`.
    pub(super) value: Option<String>,
    /// Variables that were not set.
    pub(super) unset: Vec<String>,
    pub(super) place: (String, usize),
}

impl Expanded {
    pub(super) fn given(self) -> Given {
        let (file, line) = self.place;
        Given { name: self.name, value: self.value.unwrap_or_default(), file, line }
    }

    /// A diagnostic at this option.
    pub(super) fn diagnostic(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::at(&self.place.0, self.place.1, message).key(&self.name)
    }
}
