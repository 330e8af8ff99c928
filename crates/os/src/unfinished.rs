//! What a program that ends at once would leave unfinished: files that are not in their place yet, temporary folders. Whoever
//! ends the process (a signal handler, say) takes [`hold`] first, removes what it lists, and exits while it holds it: then no
//! line and no file is half written.
//!
//! It is the process's, so it is one variable that all of it shares.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is unfinished, and how many records are on their way to the disk.
#[derive(Debug)]
pub struct UnfinishedFiles {
    paths: Vec<PathBuf>,
    records: u64,
}

static UNFINISHED: Mutex<UnfinishedFiles> = Mutex::new(UnfinishedFiles { paths: Vec::new(), records: 0 });

/// Nothing is written until what is handed back is dropped.
pub fn hold() -> MutexGuard<'static, UnfinishedFiles> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl UnfinishedFiles {
    /// A file or a folder that is to be removed.
    pub fn remove(&mut self, path: &Path) {
        self.paths.push(path.to_owned());
    }

    /// It is gone, or is to stay.
    pub fn leave(&mut self, path: &Path) {
        self.paths.retain(|other| other != path);
    }

    /// So many records more are kept.
    pub fn count(&mut self, records: u64) {
        self.records += records;
    }

    /// Records that were kept by this process, in all its folders.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Files and folders that are to be removed.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }
}
