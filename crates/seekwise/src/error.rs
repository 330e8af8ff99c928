//! Why something could not be done: diagnostics, each with file, line, key, what was expected and the nearest known word.

use std::fmt;

use seekwise_formats::diagnostic::Diagnostic;
use seekwise_run::outcome::RunError;

/// One or more faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    diagnostics: Vec<Diagnostic>,
    cancelled: bool,
}

impl Error {
    /// One fault that concerns no file.
    pub fn new(text: impl ToString) -> Error {
        Error { diagnostics: vec![Diagnostic::at("", 0, text.to_string())], cancelled: false }
    }

    /// The work was cancelled by its observer; what is complete is kept.
    pub fn cancelled() -> Error {
        Error { cancelled: true, ..Error::new("cancelled") }
    }

    /// Whether the observer cancelled the work.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled
    }

    /// One text for each fault.
    pub fn lines(&self) -> Vec<String> {
        let text = |fault: &Diagnostic| if fault.file.is_empty() { fault.message.clone() } else { fault.to_string() };
        self.diagnostics.iter().map(text).collect()
    }

    /// The faults.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("\n"))
    }
}

impl std::error::Error for Error {}

impl From<Vec<Diagnostic>> for Error {
    fn from(diagnostics: Vec<Diagnostic>) -> Error {
        Error { diagnostics, cancelled: false }
    }
}

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Error {
        Error::from(vec![diagnostic])
    }
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Error {
        Error::new(error)
    }
}
