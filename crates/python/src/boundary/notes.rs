//! Hands notes and warnings of the library to Python's `logging`. The threads that write them do not hold the
//! interpreter, so that notes are collected until a thread which holds it hands them on.

use std::sync::{Mutex, Once, PoisonError};

use log::{Level, LevelFilter, Log, Metadata, Record};
use pyo3::prelude::*;

/// The notes that wait: the name of the level in Python's `logging`, and the text.
static WAITING_NOTES: Mutex<Vec<(&str, String)>> = Mutex::new(Vec::new());

/// The logger of the library, which collects notes.
struct Collector;

impl Log for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Info && metadata.target().starts_with("seekwise")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let level = if record.level() <= Level::Warn { "warning" } else { "info" };
            WAITING_NOTES.lock().unwrap_or_else(PoisonError::into_inner).push((level, record.args().to_string()));
        }
    }

    fn flush(&self) {}
}

/// Begins to collect notes. If the program runs in this process, it prints notes itself: the first logger that is set
/// stays.
pub fn begin_collecting() {
    static BEGUN: Once = Once::new();
    BEGUN.call_once(|| {
        if log::set_logger(&Collector).is_ok() {
            log::set_max_level(LevelFilter::Info);
        }
    });
}

/// Hands the notes that wait to Python's `logging`.
pub fn hand_to_logging(py: Python<'_>) -> PyResult<()> {
    let notes = std::mem::take(&mut *WAITING_NOTES.lock().unwrap_or_else(PoisonError::into_inner));
    if notes.is_empty() {
        return Ok(());
    }
    let logger = py.import("logging")?.call_method1("getLogger", ("seekwise",))?;
    for (level, text) in notes {
        logger.call_method1(level, ("%s", text))?;
    }
    Ok(())
}
