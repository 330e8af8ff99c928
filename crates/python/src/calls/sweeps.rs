//! Sweeps for Python: a plan, its parts, and a result folder made of them. Python code runs the parts on its engines
//! and keeps their files.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use seekwise::sweep::{Bundle, Factor, SweepPart, SweepPlan};

use super::{CallArgument, SetupCall, StudyTuple, process_files, study_tuple};
use crate::boundary::fault;
use crate::boundary::watch::{CancelFlag, run_watched};
use crate::tables::columns::response_table;
use crate::tables::table::Table;

/// A part as a Python tuple: the first cell, the cell after the last, the name of the file.
type PartTuple = (usize, usize, String);

/// A factor's levels as Python has them.
#[derive(FromPyObject)]
enum FactorLevels {
    /// Values of the key that the factor is named by.
    Values(Vec<String>),
    /// Named levels, each with its settings.
    Bundles(Vec<(String, Vec<(String, String)>)>),
}

impl FactorLevels {
    fn into_factor(self, name: &str) -> Factor {
        let bundle = |(name, settings): (String, Vec<(String, String)>)| Bundle {
            name,
            set: settings.into_iter().map(|(key, value)| (key, value.into())).collect(),
        };
        match self {
            FactorLevels::Values(levels) => Factor::for_key(name, &levels),
            FactorLevels::Bundles(bundles) => Factor::of_bundles(name, bundles.into_iter().map(bundle).collect()),
        }
    }
}

/// The plan of a sweep. It is made of texts, so that it can be sent to other machines.
#[pyclass(frozen, module = "seekwise._native")]
pub struct Plan(SweepPlan);

#[pymethods]
impl Plan {
    /// The plan of a job on a target with each combination of levels.
    #[staticmethod]
    fn of_setup(
        py: Python<'_>,
        setup: CallArgument<SetupCall>,
        factors: Vec<(String, FactorLevels)>,
        runs: u32,
    ) -> PyResult<Plan> {
        let CallArgument(setup) = setup;
        let factors: Vec<Factor> = factors.into_iter().map(|(name, levels)| levels.into_factor(&name)).collect();
        run_watched(py, None, None, |_| SweepPlan::of_setup(&setup.to_setup(), &factors, runs).map(Plan))
    }

    /// The plan of a study: a file, or a built-in one.
    #[staticmethod]
    fn of_study(py: Python<'_>, name: String) -> PyResult<Plan> {
        run_watched(py, None, None, |_| SweepPlan::of_study(&process_files(), &name).map(Plan))
    }

    /// Reads a plan that another machine sent; one of another build is refused.
    #[staticmethod]
    fn from_text(py: Python<'_>, text: String) -> PyResult<Plan> {
        py.detach(|| SweepPlan::read(&text)).map(Plan).map_err(|error| fault::to_exception(py, &error))
    }

    /// The plan as a text, to be sent.
    #[getter]
    fn text(&self) -> String {
        self.0.text()
    }

    /// SHA-256 of the origin of its results.
    #[getter]
    fn hash(&self) -> &str {
        self.0.hash()
    }

    /// The study's text.
    #[getter]
    fn study(&self) -> &str {
        self.0.study()
    }

    /// How many cells it has.
    #[getter]
    fn cells(&self) -> usize {
        self.0.cells()
    }

    /// Runs of each cell.
    #[getter]
    fn runs(&self) -> usize {
        self.0.runs()
    }

    /// Parts of so many cells each: (first cell, cell after the last, name of the file).
    fn parts(&self, cells: usize) -> Vec<PartTuple> {
        self.0.parts(cells).into_iter().map(|part| (part.first, part.end, part.name)).collect()
    }

    /// Runs a part and returns the bytes of its file.
    #[pyo3(signature = (part, cancel = None))]
    fn run<'py>(&self, py: Python<'py>, part: PartTuple, cancel: Option<&CancelFlag>) -> PyResult<Bound<'py, PyBytes>> {
        let part = sweep_part(part);
        run_watched(py, None, cancel, |observer| self.0.run(&part, observer)).map(|file| PyBytes::new(py, &file))
    }

    /// The most bytes that the file of a part may have.
    fn max_part_bytes(&self, part: PartTuple) -> usize {
        self.0.max_part_bytes(&sweep_part(part))
    }

    /// What is wrong with the file of a part; `None` if the file is whole.
    fn part_fault(&self, py: Python<'_>, part: PartTuple, file: PyBackedBytes) -> Option<String> {
        let part = sweep_part(part);
        py.detach(|| self.0.records(&part, &file)).err().map(|error| error.to_string())
    }

    /// The runs of these parts: their lines in `results.jsonl`, and their response times. Nothing is written.
    fn results(
        &self,
        py: Python<'_>,
        parts: Vec<PartTuple>,
        files: Vec<PyBackedBytes>,
    ) -> PyResult<(Vec<String>, Table)> {
        let parts: Vec<SweepPart> = parts.into_iter().map(sweep_part).collect();
        run_watched(py, None, None, |_| {
            let (lines, records) = self.0.lines_and_records(&parts, &files)?;
            Ok((lines, response_table(&records)))
        })
    }

    /// Makes a result folder of the files of all parts, in order. Results in it are replaced only with `force`.
    #[pyo3(signature = (folder, parts, files, *, force))]
    fn finish(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        parts: Vec<PartTuple>,
        files: Vec<PyBackedBytes>,
        force: bool,
    ) -> PyResult<StudyTuple> {
        let parts: Vec<SweepPart> = parts.into_iter().map(sweep_part).collect();
        run_watched(py, None, None, |_| {
            self.0.finish(&folder, &parts, &files, force).map(|studied| study_tuple(&studied))
        })
    }

    /// The results of the files of some parts, or of all, in order; only the page goes to the folder.
    fn write_page_so_far(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        parts: Vec<PartTuple>,
        files: Vec<PyBackedBytes>,
    ) -> PyResult<StudyTuple> {
        let parts: Vec<SweepPart> = parts.into_iter().map(sweep_part).collect();
        run_watched(py, None, None, |_| {
            self.0.write_page_so_far(&folder, &parts, &files).map(|studied| study_tuple(&studied))
        })
    }
}

fn sweep_part((first, end, name): PartTuple) -> SweepPart {
    SweepPart { first, end, name }
}
