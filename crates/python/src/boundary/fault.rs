//! Diagnostics as exceptions of Python: the classes are written there (`seekwise._error`), with a field for each of a
//! diagnostic's.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use seekwise::Error;
use seekwise::error::{Diagnostic, RunError};

/// The exception for an error: `RunError` where a run did not end, else `SeekwiseError`.
pub fn to_exception(py: Python<'_>, error: &Error) -> PyErr {
    let made = || -> PyResult<PyErr> {
        let name = match error.run() {
            None | Some(RunError::Cancelled) => "SeekwiseError",
            Some(_) => "RunError",
        };
        let class = py.import("seekwise._error")?.getattr(name)?;
        let one = |fault: &Diagnostic| -> PyResult<Py<PyAny>> {
            let fields = PyDict::new(py);
            fields.set_item("file", Some(&fault.file).filter(|file| !file.is_empty()))?;
            fields.set_item("line", Some(fault.line).filter(|line| *line > 0))?;
            fields.set_item("key", &fault.key)?;
            fields.set_item("message", &fault.message)?;
            fields.set_item("expected", &fault.expected)?;
            fields.set_item("suggestion", &fault.nearest)?;
            let class = py.import("seekwise._error")?.getattr("Diagnostic")?;
            Ok(class.call((), Some(&fields))?.unbind())
        };
        let all = error.diagnostics().iter().map(one).collect::<PyResult<Vec<_>>>()?;
        Ok(PyErr::from_value(class.call1((error.to_string(), all))?))
    };
    made().unwrap_or_else(|broken| broken)
}
