//! Notes and warnings of the library for Python's `logging`. Threads that do not hold the interpreter log them, so they are
//! collected; the thread that holds it next hands them on.

use std::sync::{Mutex, Once, PoisonError};

use log::{Level, LevelFilter, Log, Metadata, Record};
use pyo3::prelude::*;

/// Waiting notes: the level's name in `logging`, and the text.
static WAITING: Mutex<Vec<(&str, String)>> = Mutex::new(Vec::new());

/// Collects the notes of the library.
struct Collector;

impl Log for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Info && metadata.target().starts_with("seekwise")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let level = if record.level() <= Level::Warn { "warning" } else { "info" };
            WAITING.lock().unwrap_or_else(PoisonError::into_inner).push((level, record.args().to_string()));
        }
    }

    fn flush(&self) {}
}

/// From now on notes are collected. The program, run in this process, prints its own instead.
pub fn begin_collecting() {
    static BEGUN: Once = Once::new();
    BEGUN.call_once(|| {
        if log::set_logger(&Collector).is_ok() {
            log::set_max_level(LevelFilter::Info);
        }
    });
}

/// Hands on the waiting notes.
pub fn hand_on(py: Python<'_>) -> PyResult<()> {
    let waiting = std::mem::take(&mut *WAITING.lock().unwrap_or_else(PoisonError::into_inner));
    if waiting.is_empty() {
        return Ok(());
    }
    let logger = py.import("logging")?.call_method1("getLogger", ("seekwise",))?;
    for (level, text) in waiting {
        logger.call_method1(level, ("%s", text))?;
    }
    Ok(())
}
