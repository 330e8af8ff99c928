//! Turns errors of the library into exceptions of Python. Their classes are written in Python (`seekwise._error`) and
//! have a field for each field of a diagnostic.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use seekwise::Error;
use seekwise::error::{Diagnostic, RunError};

/// The exception for an error: `RunError` if a run did not end, else `SeekwiseError`. If the exception cannot be built,
/// why not is the exception.
pub fn to_exception(py: Python<'_>, error: &Error) -> PyErr {
    let build = || -> PyResult<PyErr> {
        let name = match error.run() {
            None | Some(RunError::Cancelled) => "SeekwiseError",
            Some(_) => "RunError",
        };
        let class = py.import("seekwise._error")?.getattr(name)?;
        let diagnostic = |fault: &Diagnostic| -> PyResult<Py<PyAny>> {
            let fields = PyDict::new(py);
            fields.set_item("file", Some(&fault.file).filter(|file| !file.is_empty()))?;
            fields.set_item("line", Some(fault.line).filter(|line| *line > 0))?;
            fields.set_item("key", &fault.key)?;
            fields.set_item("message", &fault.message)?;
            fields.set_item("expected", &fault.expected)?;
            fields.set_item("suggestion", &fault.nearest)?;
            let diagnostic_class = py.import("seekwise._error")?.getattr("Diagnostic")?;
            Ok(diagnostic_class.call((), Some(&fields))?.unbind())
        };
        let diagnostics = error.diagnostics().iter().map(diagnostic).collect::<PyResult<Vec<_>>>()?;
        Ok(PyErr::from_value(class.call1((error.to_string(), diagnostics))?))
    };
    build().unwrap_or_else(|build_error| build_error)
}
