//! Files that a program would leave unfinished if it ended at once: files that are not in their place yet, temporary
//! folders. Whoever ends the process (a signal handler, say) takes [`hold`] first, removes what it lists, and exits
//! while it holds it: then no line and no file is half written.
//!
//! The list is one variable, shared by the whole process.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Unfinished files, and the number of records kept.
#[derive(Debug)]
pub struct UnfinishedFiles {
    paths: Vec<PathBuf>,
    records: u64,
}

static UNFINISHED: Mutex<UnfinishedFiles> = Mutex::new(UnfinishedFiles { paths: Vec::new(), records: 0 });

/// Locks the list: nothing is written until the guard is dropped.
pub fn hold() -> MutexGuard<'static, UnfinishedFiles> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl UnfinishedFiles {
    /// Lists a file or a folder to be removed.
    pub fn remove(&mut self, path: &Path) {
        self.paths.push(path.to_owned());
    }

    /// Removes from the list what is gone, or is to stay.
    pub fn leave(&mut self, path: &Path) {
        self.paths.retain(|other| other != path);
    }

    /// Counts so many more records as kept.
    pub fn count(&mut self, records: u64) {
        self.records += records;
    }

    /// Number of records kept by this process, in all its folders.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Files and folders that are to be removed.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }
}
