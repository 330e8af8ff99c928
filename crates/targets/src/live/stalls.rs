//! A thread that does nothing but wake up every millisecond: where it does so late, the machine stood still, for the disk as
//! for everybody.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use seekwise_model::time::Span;

use super::receipt::{STALL, Stalls};
use crate::clock::{Clock, take_precedence};

/// How often it wakes up.
const EVERY: Span = Span::from_millis(1);

/// The watch, until it is asked what it saw.
pub struct Watch {
    end: Sender<()>,
    watching: JoinHandle<Stalls>,
}

impl Watch {
    /// From now on, by this clock.
    pub fn begin(clock: Clock) -> Watch {
        let (end, ended) = channel();
        let watching = thread::spawn(move || {
            take_precedence();
            let mut stalls = Stalls::default();
            let mut before = clock.now();
            while ended.recv_timeout(Duration::from_nanos(EVERY.nanos())) == Err(RecvTimeoutError::Timeout) {
                let now = clock.now();
                if now.since(before) > EVERY + STALL {
                    stalls.add(before + EVERY, now);
                }
                before = now;
            }
            stalls
        });
        Watch { end, watching }
    }

    /// What it saw.
    pub fn end(self) -> Stalls {
        drop(self.end);
        self.watching.join().unwrap_or_default()
    }
}
