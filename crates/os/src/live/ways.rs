//! The ways to a disk and back while it is at work: what each costs beside what the model says, measured at both ends where that can be.
//!
//! A client's end cannot be seen from here, so a client of our own goes the same way all the while (`probe`): through the same
//! kind of connection, to the disk's thread and back, past the model. Of a kernel's disk on the file the kernel itself says how long requests
//! took it ([`DoorLatencies::device`]); where the only client is a run in this program, it says so of all of its own ([`DoorLatencies::client`]). Only what is measured while others are answered counts: a machine that sleeps wakes up late.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use seekwise_run::receipt::ways::{Door, DoorLatencies};

use crate::clock::Clock;

/// How often a way is gone: forty times a second costs less than a hundredth of a processor, and gives a 99th percentile in some seconds.
const EVERY: Duration = Duration::from_millis(25);

/// Figures that several write.
#[derive(Clone, Debug, Default)]
pub struct DoorRecorder(Arc<Mutex<DoorLatencies>>);

impl DoorRecorder {
    /// Changes them.
    pub fn write<T>(&self, change: impl FnOnce(&mut DoorLatencies) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// As they are now.
    pub fn read(&self) -> DoorLatencies {
        self.write(|ways| ways.clone())
    }
}

/// A thread that goes a way again and again, until it is dropped.
pub struct DoorProbe {
    end: Option<Sender<()>>,
    going: Option<JoinHandle<()>>,
}

impl DoorProbe {
    /// Goes the way through `door`, there and back once with each `go`; an error ends it.
    pub fn begin(
        measured: DoorRecorder,
        door: Door,
        mut go: impl FnMut() -> io::Result<()> + Send + 'static,
    ) -> DoorProbe {
        let (clock, mut before) = (Clock::start(), 0);
        DoorProbe::every(EVERY, move || {
            let from = clock.now();
            let gone = go();
            let took = clock.now().since(from);
            measured.write(|ways| {
                let way = ways.of(door);
                let answered = way.modelled.count();
                if gone.is_ok() && answered > before {
                    way.path.add(took);
                }
                before = answered;
            });
            gone.is_ok()
        })
    }

    /// Does this again and again, with such pauses, until it is not to go on.
    pub(crate) fn every(pause: Duration, mut goes_on: impl FnMut() -> bool + Send + 'static) -> DoorProbe {
        let (end, ended) = channel();
        let going =
            thread::spawn(move || while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) && goes_on() {});
        DoorProbe { end: Some(end), going: Some(going) }
    }
}

impl Drop for DoorProbe {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(going) = self.going.take() {
            let _ = going.join();
        }
    }
}

/// Goes to a disk and back over a connection that has agreed upon its export: a request that is refused before the model hears of
/// it is answered as all are.
pub fn there_and_back(wire: &mut (impl io::Read + io::Write)) -> io::Result<()> {
    use crate::nbd::wire::{HEAD, REQUEST};
    // A flush of a range: it makes no sense.
    let mut head = [0; HEAD];
    head[..4].copy_from_slice(&REQUEST.to_be_bytes());
    head[7] = 3;
    head[HEAD - 1] = 1;
    wire.write_all(&head)?;
    wire.read_exact(&mut [0; 16])
}
