//! The library's error: diagnostics, each with file, line, key, the expected form and the nearest known word. If a run
//! did not end, the error also has the reason as a value.

use std::fmt;
use std::path::Path;

use seekwise_lab::validate::ReplayError;

/// A fault with its place in a file, and why a run did not end.
pub use seekwise_drives::diagnostic::Diagnostic;
pub use seekwise_run::outcome::RunError;

/// A fault, or several.
///
/// ```
/// use seekwise::{Setup, run};
///
/// let error = run::run(&Setup::new("random-raed", "exos-x18"), &()).map(drop).unwrap_err();
/// assert_eq!(error.diagnostics()[0].nearest.as_deref(), Some("random-read"));
/// assert!(error.run().is_none(), "nothing ran");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    diagnostics: Vec<Diagnostic>,
    run: Option<RunError>,
}

impl Error {
    /// An error with one fault, which concerns no file.
    pub fn new(text: impl ToString) -> Error {
        Error::from(Diagnostic::at("", 0, text.to_string()))
    }

    /// A fault of a file or folder.
    pub fn of_file(path: &Path, why: &impl fmt::Display) -> Error {
        Error::new(format!("{}: {why}", path.display()))
    }

    /// The work was cancelled by its observer; what is complete is kept.
    pub fn cancelled() -> Error {
        RunError::Cancelled.into()
    }

    /// Whether the observer cancelled the work.
    pub fn is_cancelled(&self) -> bool {
        self.run == Some(RunError::Cancelled)
    }

    /// Why a run did not end, if that is the fault: a job that does not fit, a model that stopped, or a cancellation;
    /// also the [`source`](std::error::Error::source).
    pub fn run(&self) -> Option<&RunError> {
        self.run.as_ref()
    }

    /// A text for each fault.
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

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.run.as_ref().map(|error| error as _)
    }
}

impl From<Vec<Diagnostic>> for Error {
    fn from(diagnostics: Vec<Diagnostic>) -> Error {
        Error { diagnostics, run: None }
    }
}

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Error {
        Error::from(vec![diagnostic])
    }
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Error {
        Error { run: Some(error.clone()), ..Error::new(error) }
    }
}

impl From<ReplayError> for Error {
    fn from(error: ReplayError) -> Error {
        match error {
            ReplayError::Unfit(fault) => fault.into(),
            ReplayError::Run(error) => error.into(),
        }
    }
}
