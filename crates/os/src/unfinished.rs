//! Lists the files that a program would leave unfinished if it ended now: files that do not have their final name yet,
//! and temporary folders. A signal handler that ends the process locks the list ([`lock_unfinished`]), removes the
//! files on it, and exits without unlocking it. Writers hold the lock while they write a record, so none is half
//! written.
//!
//! The list is one variable of the process.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Unfinished files, and the number of records that this process has kept.
#[derive(Debug)]
pub struct UnfinishedFiles {
    paths: Vec<PathBuf>,
    records: u64,
}

static UNFINISHED: Mutex<UnfinishedFiles> = Mutex::new(UnfinishedFiles { paths: Vec::new(), records: 0 });

/// Locks the list: no record is written until the guard is dropped.
pub fn lock_unfinished() -> MutexGuard<'static, UnfinishedFiles> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl UnfinishedFiles {
    /// Adds a file or a folder that is to be removed.
    pub fn add(&mut self, path: &Path) {
        self.paths.push(path.to_owned());
    }

    /// Takes a file or a folder off the list, which is removed already or is to stay.
    pub fn take_off(&mut self, path: &Path) {
        self.paths.retain(|other| other != path);
    }

    /// Counts so many more records as kept.
    pub fn count_kept_records(&mut self, records: u64) {
        self.records += records;
    }

    /// Number of records kept by this process, in all its folders.
    pub fn kept_records(&self) -> u64 {
        self.records
    }

    /// Files and folders that are to be removed.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }
}
