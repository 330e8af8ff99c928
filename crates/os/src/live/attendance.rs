//! The counts of who came to a disk that is served: told by the doors and by the disk, read by the receipt.

use std::sync::{Arc, Mutex, PoisonError};

use seekwise_run::receipt::attendance::Attendance;

/// Counts that several write.
#[derive(Clone, Debug, Default)]
pub struct AttendanceCounters(Arc<Mutex<Attendance>>);

impl AttendanceCounters {
    /// Changes them.
    pub fn write(&self, change: impl FnOnce(&mut Attendance)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// As they are now.
    pub fn read(&self) -> Attendance {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
