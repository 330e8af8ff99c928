//! A history that is being written while its disk is at work.

use std::sync::{Arc, Mutex, PoisonError};

use seekwise_model::history::History;

/// A history that is being written: one end is the disk's, the other whoever reads it when the disk has ended.
#[derive(Clone, Debug, Default)]
pub struct Chronicle(Arc<Mutex<History>>);

impl Chronicle {
    /// Changes what is written.
    pub fn write(&self, change: impl FnOnce(&mut History)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// All that was written; nothing is left.
    pub fn take(&self) -> History {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
