//! Counts of the clients of a served disk: written by its sockets and by the disk, read for the receipt.

use std::sync::{Arc, Mutex, PoisonError};

use seekwise_run::receipt::attendance::Attendance;

/// Shared counters.
#[derive(Clone, Debug, Default)]
pub(crate) struct AttendanceCounters(Arc<Mutex<Attendance>>);

impl AttendanceCounters {
    /// Changes the counters.
    pub fn write(&self, change: impl FnOnce(&mut Attendance)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Reads the counters.
    pub fn read(&self) -> Attendance {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
