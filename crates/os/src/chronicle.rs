//! A history that is recorded while its disk is at work.

use std::sync::{Arc, Mutex, PoisonError};

use seekwise_disk::history::History;

/// A history under way, shared by the disk that writes it and its reader.
#[derive(Clone, Debug, Default)]
pub struct Chronicle(Arc<Mutex<History>>);

impl Chronicle {
    /// Changes the history.
    pub fn write(&self, change: impl FnOnce(&mut History)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Takes the history and leaves an empty one.
    pub fn take(&self) -> History {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
