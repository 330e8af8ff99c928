//! The history of a disk at work: its requests, their data, its landings and their ends. One thread records it, another
//! takes it.

use std::sync::{Arc, Mutex, PoisonError};

use seekwise_disk::history::History;

/// A history shared by the disk that records it and its reader.
#[derive(Clone, Debug, Default)]
pub struct Chronicle(Arc<Mutex<History>>);

impl Chronicle {
    /// Changes the history.
    pub fn update_history(&self, change: impl FnOnce(&mut History)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Takes the history and leaves an empty one.
    pub fn take_history(&self) -> History {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
