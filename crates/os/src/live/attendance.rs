//! Counts the clients of a served disk: who came, and who was disconnected. The server's sockets and the disk write the
//! counts; the receipt has them.

use std::sync::{Arc, Mutex, PoisonError};

use seekwise_run::receipt::attendance::Attendance;

/// Shared counters.
#[derive(Clone, Debug, Default)]
pub(crate) struct AttendanceCounters(Arc<Mutex<Attendance>>);

impl AttendanceCounters {
    /// Changes the counters.
    pub fn update_counters(&self, change: impl FnOnce(&mut Attendance)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Reads the counters.
    pub fn read_counters(&self) -> Attendance {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
