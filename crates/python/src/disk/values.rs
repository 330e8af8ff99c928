//! Completions and landings as Python values: frozen, compared, hashed and pickled by their fields.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use seekwise::device::{Completion, Landing, LandingKind, MemberRole, Part, Status};

/// The words for the statuses of completions.
const STATUSES: [(&str, Status); 6] = [
    ("done", Status::Done),
    ("aborted", Status::Aborted),
    ("power-lost", Status::PowerLost),
    ("out-of-range", Status::OutOfRange),
    ("unsupported", Status::Unsupported),
    ("medium-error", Status::MediumError),
];

/// The answer to a request.
#[pyclass(frozen, eq, hash, module = "seekwise._native", name = "Completion")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct DiskCompletion {
    /// The number that submit() returned.
    #[pyo3(get)]
    tag: u64,
    /// The index in `STATUSES`.
    status: usize,
    /// When the disk took the request, in nanoseconds.
    #[pyo3(get)]
    submitted_ns: u64,
    /// When it was done, in nanoseconds.
    #[pyo3(get)]
    finished_ns: u64,
    parts: [u64; Part::COUNT],
}

impl DiskCompletion {
    /// The completion of a device. Tags count up to `last_tag`; the device knows their lowest 32 bits.
    pub fn new(completion: &Completion, last_tag: u64) -> DiskCompletion {
        let age = (last_tag as u32).wrapping_sub(completion.tag);
        let status = STATUSES.iter().position(|(_, status)| *status == completion.status);
        DiskCompletion {
            tag: last_tag - u64::from(age),
            status: status.expect("the table has all statuses"),
            submitted_ns: completion.submitted.nanos(),
            finished_ns: completion.finished.nanos(),
            parts: *completion.parts.nanos(),
        }
    }
}

#[pymethods]
impl DiskCompletion {
    #[new]
    fn from_fields(
        tag: u64,
        status: &str,
        submitted_ns: u64,
        finished_ns: u64,
        parts: [u64; Part::COUNT],
    ) -> PyResult<DiskCompletion> {
        let status = STATUSES.iter().position(|(word, _)| *word == status);
        let status = status.ok_or_else(|| PyValueError::new_err("status: no such status"))?;
        Ok(DiskCompletion { tag, status, submitted_ns, finished_ns, parts })
    }

    /// How `pickle` makes it again.
    fn __getnewargs__(&self) -> (u64, &'static str, u64, u64, [u64; Part::COUNT]) {
        (self.tag, self.status(), self.submitted_ns, self.finished_ns, self.parts)
    }

    /// `done`, `aborted`, `power-lost`, `out-of-range`, `unsupported` or `medium-error`.
    #[getter]
    fn status(&self) -> &'static str {
        STATUSES[self.status].0
    }

    /// The response time in nanoseconds.
    #[getter]
    fn response_ns(&self) -> u64 {
        self.finished_ns - self.submitted_ns
    }

    /// The parts of the response in nanoseconds, by name; they add up to it.
    #[getter]
    fn parts_ns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let parts = PyDict::new(py);
        for (part, nanos) in Part::ALL.iter().zip(self.parts) {
            parts.set_item(part.name(), nanos)?;
        }
        Ok(parts)
    }

    fn __repr__(&self) -> String {
        let DiskCompletion { tag, finished_ns, .. } = self;
        format!("<Completion {tag}: {} at {finished_ns} ns, after {} ns>", self.status(), self.response_ns())
    }
}

/// The fate of a run of sectors that were written.
#[pyclass(frozen, eq, hash, module = "seekwise._native", name = "Landing")]
#[derive(Clone, PartialEq, Eq)]
pub struct DiskLanding(pub Landing);

impl std::hash::Hash for DiskLanding {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.0.stamp, self.0.lba, self.0.sectors, self.0.from.nanos()).hash(state);
    }
}

#[pymethods]
impl DiskLanding {
    /// The tag of the write.
    #[getter]
    fn tag(&self) -> u64 {
        self.0.stamp
    }

    /// The first sector of 512 bytes.
    #[getter]
    fn lba(&self) -> u64 {
        self.0.lba
    }

    /// Sectors of 512 bytes.
    #[getter]
    fn sectors(&self) -> u32 {
        self.0.sectors
    }

    /// `landed`, `torn`, `discarded` or `dropped`; of an array also `taken`, `gone` or `whole`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0.kind {
            LandingKind::Landed => "landed",
            LandingKind::Torn => "torn",
            LandingKind::Discarded => "discarded",
            LandingKind::Dropped => "dropped",
            LandingKind::Taken => "taken",
            LandingKind::Gone => "gone",
            LandingKind::Whole => "whole",
        }
    }

    /// When the head reached the first sector, in nanoseconds.
    #[getter(from_ns)]
    fn begin_ns(&self) -> u64 {
        self.0.from.nanos()
    }

    /// When the head left the last sector, in nanoseconds.
    #[getter]
    fn to_ns(&self) -> u64 {
        self.0.to.nanos()
    }

    /// The drive of an array, from 0.
    #[getter]
    fn member(&self) -> u32 {
        self.0.member
    }

    /// `copy` or `parity`, with `rebuilt-` before it if a rebuild wrote it; `every` if no drive has it yet.
    #[getter]
    fn role(&self) -> &'static str {
        match self.0.role {
            MemberRole::Copy(_) => "copy",
            MemberRole::Parity(_) => "parity",
            MemberRole::RebuiltCopy(_) => "rebuilt-copy",
            MemberRole::RebuiltParity(_) => "rebuilt-parity",
            MemberRole::Every => "every",
        }
    }

    /// Which copy or parity, from 0.
    #[getter]
    fn which(&self) -> u32 {
        match self.0.role {
            MemberRole::Copy(which) | MemberRole::Parity(which) => which,
            MemberRole::RebuiltCopy(which) | MemberRole::RebuiltParity(which) => which,
            MemberRole::Every => 0,
        }
    }

    fn __repr__(&self) -> String {
        let Landing { stamp, lba, sectors, to, .. } = self.0;
        format!("<Landing of {stamp}: {sectors} sectors from {lba} {}, at {} ns>", self.kind(), to.nanos())
    }
}
