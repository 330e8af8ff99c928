//! Prints the notes and warnings that the library logs to standard error.

use log::{Level, LevelFilter, Log, Metadata, Record};

use crate::interrupt::with_bar_suspended;
use crate::output::print_to_stderr;
use crate::screen;

/// Prints a line for each note and each warning.
struct StderrLogger;

impl Log for StderrLogger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Info && metadata.target().starts_with("seekwise")
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let line = match record.level() {
            Level::Error | Level::Warn => screen::wrap_for_stderr(&format!("warning: {}", record.args())),
            _ => format!("note: {}", record.args()),
        };
        with_bar_suspended(|| print_to_stderr(&line));
    }

    fn flush(&self) {}
}

/// Prints notes and warnings from now on.
pub fn install_logger() {
    if log::set_logger(&StderrLogger).is_ok() {
        log::set_max_level(LevelFilter::Info);
    }
}
