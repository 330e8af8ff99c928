//! The Python module `seekwise._native`: calls of the library, which run while the interpreter is free for others;
//! results as JSON and Arrow tables; and the program itself. The interface that users see is written in Python beside
//! it (`python/seekwise`). Nothing is computed here.
//!
//! | room | what it is |
//! |---|---|
//! | `boundary` | work beside a waiting interpreter, exceptions, notes |
//! | `tables` | tables by Arrow's PyCapsule interface |
//! | `calls` | run, compare, study, open, page, validate, fit, power cut, rebuild; `sweeps`: a study in parts; `catalogue`: the built-in drives, jobs, keys and studies |
//! | `disk` | the modelled disk for simulators |

mod boundary;
mod calls;
mod disk;
mod tables;

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;
use seekwise::Error;
use seekwise::answer::ProgramVersion;
use seekwise::compare::t_quantile;
use seekwise::outputs::write_whole;

/// Runs the program `seekwise`, `words` being its name and its arguments; returns its exit code.
#[pyfunction]
fn program(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| seekwise_cli::program(&words))
}

/// Writes a file whole or not at all, under the rules of all outputs; one that is there is replaced.
#[pyfunction]
fn write_file(py: Python<'_>, path: PathBuf, content: Vec<u8>) -> PyResult<()> {
    let written = py.detach(|| write_whole(&path, &content, true));
    written.map_err(|why| boundary::fault::to_exception(py, &Error::of_file(&path, &why)))
}

/// The t between whose negative and itself a share `confidence` (0 to 1) of Student's distribution with so many degrees
/// of freedom (1 or more) lies.
#[pyfunction]
fn student_t(confidence: f64, degrees: f64) -> f64 {
    t_quantile((1.0 - confidence) / 2.0, degrees)
}

/// Runs, comparisons, studies and sweeps of the library.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let ProgramVersion { version, build } = ProgramVersion::current();
    module.add("VERSION", version)?;
    module.add("BUILD", build)?;
    module.add_class::<tables::table::Table>()?;
    module.add_class::<boundary::watch::CancelFlag>()?;
    module.add_class::<calls::sweeps::Plan>()?;
    module.add_class::<disk::ModelDisk>()?;
    module.add_class::<disk::values::DiskCompletion>()?;
    module.add_class::<disk::values::DiskLanding>()?;
    module.add_function(wrap_pyfunction!(program, module)?)?;
    module.add_function(wrap_pyfunction!(write_file, module)?)?;
    module.add_function(wrap_pyfunction!(student_t, module)?)?;
    module.add_function(wrap_pyfunction!(tables::table::table_of_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(calls::run, module)?)?;
    module.add_function(wrap_pyfunction!(calls::compare, module)?)?;
    module.add_function(wrap_pyfunction!(calls::study, module)?)?;
    module.add_function(wrap_pyfunction!(calls::open, module)?)?;
    module.add_function(wrap_pyfunction!(calls::render_page, module)?)?;
    module.add_function(wrap_pyfunction!(calls::validate, module)?)?;
    module.add_function(wrap_pyfunction!(calls::fit, module)?)?;
    module.add_function(wrap_pyfunction!(calls::power_cut, module)?)?;
    module.add_function(wrap_pyfunction!(calls::rebuild, module)?)?;
    module.add_function(wrap_pyfunction!(calls::catalogue::drives, module)?)?;
    module.add_function(wrap_pyfunction!(calls::catalogue::patterns, module)?)?;
    module.add_function(wrap_pyfunction!(calls::catalogue::keys, module)?)?;
    module.add_function(wrap_pyfunction!(calls::catalogue::studies, module)?)?;
    Ok(())
}
