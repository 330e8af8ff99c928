//! Runs work in a thread of its own while the calling thread releases the interpreter, and looks every few milliseconds
//! for signals, notes and progress. When a signal comes, Python only sets a flag, which has to be looked at ([pyo3's
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

/// The time from one check for signals to the next. Ctrl-C is to take effect within 100 ms, of which the work itself
/// needs a part.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// A report of progress is made at every fifth check: ten times a second is as often as anybody reads.
const CHECKS_PER_REPORT: u32 = 5;

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

/// How far work is; `unit` is empty until it begins.
#[derive(Clone, Default)]
struct WorkProgress {
    total: Option<u64>,
    done: u64,
    unit: &'static str,
    /// The present step, in words.
    current_work: String,
}

/// Keeps what work reports, and says whether it is cancelled: by the calling thread, or by another one's flag.
#[derive(Default)]
struct Watch<'a> {
    cancelled: AtomicBool,
    flag: Option<&'a CancelFlag>,
    progress: Mutex<WorkProgress>,
}

impl Watch<'_> {
    fn with_progress<T>(&self, action: impl FnOnce(&mut WorkProgress) -> T) -> T {
        action(&mut self.progress.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for Watch<'_> {
    fn begin_work(&self, total: Option<u64>, done: u64, unit: &'static str) {
        self.with_progress(|progress| (progress.total, progress.done, progress.unit) = (total, done, unit));
    }

    fn report_done(&self, done: u64) {
        self.with_progress(|progress| progress.done = done);
    }

    fn report_work(&self, name: &str) {
        self.with_progress(|progress| name.clone_into(&mut progress.current_work));
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || self.flag.is_some_and(CancelFlag::is_set)
    }
}

/// Reports the progress to Python, if the caller gave a function: `progress(total, done, unit, doing)`.
fn report_progress(py: Python<'_>, progress: Option<&Py<PyAny>>, watch: &Watch<'_>) -> PyResult<()> {
    let Some(progress) = progress else { return Ok(()) };
    let WorkProgress { total, done, unit, current_work } = watch.with_progress(|progress| progress.clone());
    if unit.is_empty() {
        return Ok(());
    }
    progress.call1(py, (total, done, unit, current_work)).map(drop)
}

/// Runs `work` while the interpreter is free for other threads. A signal, or an exception of the function `progress`,
/// cancels it and is raised; so does `flag`, with an error of the work.
pub fn run_watched<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    flag: Option<&CancelFlag>,
    work: impl FnOnce(&dyn Observer) -> Result<T, Error> + Send,
) -> PyResult<T> {
    notes::begin_collecting();
    let watch = Watch { flag, ..Watch::default() };
    let (caller, is_over) = (thread::current(), AtomicBool::new(false));
    let (ended, interruption) = thread::scope(|scope| {
        let worker = scope.spawn(|| {
            // A panic becomes an exception in Python, and not the end of its process.
            let ended = catch_unwind(AssertUnwindSafe(|| guard_files(|| work(&watch))));
            // The caller is woken before the thread ends, which takes a moment more: it would wait for the next check.
            is_over.store(true, Ordering::Release);
            caller.unpark();
            ended
        });
        let (mut interruption, mut checks) = (None, 0);
        while !is_over.load(Ordering::Acquire) {
            py.detach(|| thread::park_timeout(CHECK_INTERVAL));
            checks += 1;
            if interruption.is_some() {
                continue;
            }
            let reported = if checks % CHECKS_PER_REPORT == 0 { report_progress(py, progress, &watch) } else { Ok(()) };
            if let Err(error) = reported.and_then(|()| notes::hand_to_logging(py)).and_then(|()| py.check_signals()) {
                watch.cancelled.store(true, Ordering::Relaxed);
                interruption = Some(error);
            }
        }
        (worker.join(), interruption)
    });
    if let Some(error) = interruption {
        return Err(error);
    }
    report_progress(py, progress, &watch)?;
    notes::hand_to_logging(py)?;
    match ended.and_then(|ended| ended) {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(error)) => Err(fault::to_exception(py, &error)),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            Err(PyRuntimeError::new_err(format!("a fault of Seekwise itself: {}", text.unwrap_or("a panic"))))
        }
    }
}
