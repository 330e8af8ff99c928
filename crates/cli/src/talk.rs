//! The library's notes and warnings, on standard error.

use log::{Level, LevelFilter, Log, Metadata, Record};

use crate::interrupt::aside;
use crate::output::say;
use crate::screen;

/// Prints a line for each note and each warning.
struct Talk;

impl Log for Talk {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Info && metadata.target().starts_with("seekwise")
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let line = match record.level() {
            Level::Error | Level::Warn => screen::talk(&format!("warning: {}", record.args())),
            _ => format!("note: {}", record.args()),
        };
        aside(|| say(&line));
    }

    fn flush(&self) {}
}

/// Prints notes and warnings from now on.
pub fn begin() {
    if log::set_logger(&Talk).is_ok() {
        log::set_max_level(LevelFilter::Info);
    }
}
