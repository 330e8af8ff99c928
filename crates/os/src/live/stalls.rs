//! Detects stalls of the machine: a thread does nothing but wake up every millisecond. If it wakes up late, the machine
//! stood still, for the disk as for all other threads.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use seekwise_disk::time::Span;

use crate::clock::{Clock, take_real_time_priority};
use seekwise_run::receipt::{STALL, Stalls};

/// Interval of wake-ups.
const WAKE_INTERVAL: Span = Span::from_millis(1);

/// The watching thread, until it is ended.
pub(crate) struct StallWatch {
    end: Sender<()>,
    stalls: Arc<Mutex<Stalls>>,
    thread_handle: JoinHandle<()>,
}

impl StallWatch {
    /// Starts to watch, by this clock.
    pub fn begin(clock: Clock) -> StallWatch {
        let (end, ended) = channel();
        let stalls = Arc::new(Mutex::new(Stalls::default()));
        let thread_stalls = Arc::clone(&stalls);
        let thread_handle = thread::spawn(move || {
            take_real_time_priority();
            let mut last_wake = clock.now();
            while ended.recv_timeout(Duration::from_nanos(WAKE_INTERVAL.nanos())) == Err(RecvTimeoutError::Timeout) {
                let now = clock.now();
                if now.since(last_wake) > WAKE_INTERVAL + STALL {
                    thread_stalls.lock().unwrap_or_else(PoisonError::into_inner).add(last_wake + WAKE_INTERVAL, now);
                }
                last_wake = now;
            }
        });
        StallWatch { end, stalls, thread_handle }
    }

    /// Stalls seen until now.
    pub(crate) fn stalls_so_far(&self) -> Stalls {
        self.stalls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the watch and returns its stalls.
    pub fn end(self) -> Stalls {
        let StallWatch { end, stalls, thread_handle } = self;
        drop(end);
        let _ = thread_handle.join();
        std::mem::take(&mut stalls.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
