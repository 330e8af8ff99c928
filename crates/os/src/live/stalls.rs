//! Detects stalls of the machine: a thread does nothing but wake up every millisecond. If it does so late, the machine stood still,
//! for the disk as for everybody.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use seekwise_disk::time::Span;

use crate::clock::{Clock, take_real_time_priority};
use seekwise_run::receipt::{STALL, Stalls};

/// Interval of wake-ups.
const EVERY: Span = Span::from_millis(1);

/// The watching thread, until it is ended.
pub(crate) struct StallWatch {
    end: Sender<()>,
    seen: Arc<Mutex<Stalls>>,
    watching: JoinHandle<()>,
}

impl StallWatch {
    /// Starts to watch, by this clock.
    pub fn begin(clock: Clock) -> StallWatch {
        let (end, ended) = channel();
        let seen = Arc::new(Mutex::new(Stalls::default()));
        let adding = Arc::clone(&seen);
        let watching = thread::spawn(move || {
            take_real_time_priority();
            let mut before = clock.now();
            while ended.recv_timeout(Duration::from_nanos(EVERY.nanos())) == Err(RecvTimeoutError::Timeout) {
                let now = clock.now();
                if now.since(before) > EVERY + STALL {
                    adding.lock().unwrap_or_else(PoisonError::into_inner).add(before + EVERY, now);
                }
                before = now;
            }
        });
        StallWatch { end, seen, watching }
    }

    /// Stalls seen until now.
    pub(crate) fn stalls_so_far(&self) -> Stalls {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the watch and returns its stalls.
    pub fn end(self) -> Stalls {
        let StallWatch { end, seen, watching } = self;
        drop(end);
        let _ = watching.join();
        std::mem::take(&mut seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
