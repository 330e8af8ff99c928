//! Work in a thread of its own, while the caller releases the interpreter and looks every few milliseconds for signals,
//! notes and progress. When a signal comes, Python only sets a flag, which has to be looked at ([pyo3's
//! guide](https://pyo3.rs), "Ctrl-C").

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use seekwise::outputs::guard_files;
use seekwise::{Error, Observer};

use super::{fault, notes};

/// From one look for signals to the next: Ctrl-C is to work within 100 ms, of which the work itself takes a part.
const LOOK: Duration = Duration::from_millis(20);

/// Looks between two reports of progress: ten times a second is as often as anybody reads.
const TELL: u32 = 5;

/// A flag by which one thread ends the work of another.
#[pyclass(frozen, module = "seekwise._native")]
#[derive(Default)]
pub struct CancelFlag(AtomicBool);

#[pymethods]
impl CancelFlag {
    #[new]
    fn new() -> CancelFlag {
        CancelFlag::default()
    }

    /// Ends the work.
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it is set.
    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How far work is.
#[derive(Clone, Default)]
struct WorkProgress {
    total: Option<u64>,
    done: u64,
    unit: &'static str,
    doing: String,
}

/// Watches work for Python.
#[derive(Default)]
struct Watch<'a> {
    cancelled: AtomicBool,
    flag: Option<&'a CancelFlag>,
    progress: Mutex<WorkProgress>,
}

impl Watch<'_> {
    fn with_progress<T>(&self, does: impl FnOnce(&mut WorkProgress) -> T) -> T {
        does(&mut self.progress.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for Watch<'_> {
    fn begin_work(&self, total: Option<u64>, done: u64, unit: &'static str) {
        self.with_progress(|now| (now.total, now.done, now.unit) = (total, done, unit));
    }

    fn report_done(&self, done: u64) {
        self.with_progress(|now| now.done = done);
    }

    fn report_work(&self, what: &str) {
        self.with_progress(|now| what.clone_into(&mut now.doing));
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || self.flag.is_some_and(CancelFlag::is_set)
    }
}

/// Reports the progress to Python: `progress(total, done, unit, doing)`.
fn report_progress(py: Python<'_>, progress: Option<&Py<PyAny>>, watch: &Watch<'_>) -> PyResult<()> {
    let Some(progress) = progress else { return Ok(()) };
    let WorkProgress { total, done, unit, doing } = watch.with_progress(|now| now.clone());
    if unit.is_empty() {
        return Ok(());
    }
    progress.call1(py, (total, done, unit, doing)).map(drop)
}

/// Runs `work` while the interpreter is free for others; a signal or an exception of `progress` ends it.
pub fn run_watched<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    flag: Option<&CancelFlag>,
    work: impl FnOnce(&dyn Observer) -> Result<T, Error> + Send,
) -> PyResult<T> {
    notes::begin_collecting();
    let watch = Watch { flag, ..Watch::default() };
    let (waiting, over) = (thread::current(), AtomicBool::new(false));
    let (ended, interrupted) = thread::scope(|scope| {
        let working = scope.spawn(|| {
            // A bug of ours is an exception there, not the end of the process.
            let ended = catch_unwind(AssertUnwindSafe(|| guard_files(|| work(&watch))));
            // Set before the thread ends, which takes a moment more: the caller would wait for the next look.
            over.store(true, Ordering::Release);
            waiting.unpark();
            ended
        });
        let (mut interrupted, mut looks) = (None, 0);
        while !over.load(Ordering::Acquire) {
            py.detach(|| thread::park_timeout(LOOK));
            looks += 1;
            if interrupted.is_some() {
                continue;
            }
            let told = if looks % TELL == 0 { report_progress(py, progress, &watch) } else { Ok(()) };
            if let Err(error) = told.and_then(|()| notes::hand_on(py)).and_then(|()| py.check_signals()) {
                watch.cancelled.store(true, Ordering::Relaxed);
                interrupted = Some(error);
            }
        }
        (working.join(), interrupted)
    });
    if let Some(interrupted) = interrupted {
        return Err(interrupted);
    }
    report_progress(py, progress, &watch)?;
    notes::hand_on(py)?;
    match ended.and_then(|ended| ended) {
        Ok(Ok(came)) => Ok(came),
        Ok(Err(error)) => Err(fault::to_exception(py, &error)),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            Err(PyRuntimeError::new_err(format!("a fault of Seekwise itself: {}", text.unwrap_or("a panic"))))
        }
    }
}
