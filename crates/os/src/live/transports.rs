//! Latencies of the transports of a disk at work besides the model's, measured at both ends if possible.
//!
//! A client's end cannot be seen from here, so a client of our own sends requests over the same kind of connection all the while
//! (`start_probe`): to the disk's thread and back, past the model. For a kernel's disk on the file the kernel reports how long requests
//! took ([`TransportLatencies::device`]); a run in this program that is the only client reports that of all of its own
//! ([`TransportLatencies::client`]). Only measurements taken while others are answered count: a machine that sleeps wakes up late.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use seekwise_run::receipt::transports::{TransportKind, TransportLatencies};

use crate::clock::Clock;

/// Interval of probes: forty a second cost less than a hundredth of a processor, and give a 99th percentile in some seconds.
const EVERY: Duration = Duration::from_millis(25);

/// Shared latencies.
#[derive(Clone, Debug, Default)]
pub struct DoorRecorder(Arc<Mutex<TransportLatencies>>);

impl DoorRecorder {
    /// Changes the latencies.
    pub fn write<T>(&self, change: impl FnOnce(&mut TransportLatencies) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the latencies.
    pub fn read(&self) -> TransportLatencies {
        self.write(|ways| ways.clone())
    }
}

/// A thread that probes a transport again and again, until it is dropped.
pub(crate) struct DoorProbe {
    end: Option<Sender<()>>,
    going: Option<JoinHandle<()>>,
}

impl DoorProbe {
    /// Probes the transport `door`: each `go` is a round trip, and its error ends the probe.
    pub(crate) fn start_probe(
        measured: DoorRecorder,
        door: TransportKind,
        mut go: impl FnMut() -> io::Result<()> + Send + 'static,
    ) -> DoorProbe {
        let (clock, mut before) = (Clock::start(), 0);
        DoorProbe::call_every(EVERY, move || {
            let from = clock.now();
            let gone = go();
            let took = clock.now().since(from);
            measured.write(|ways| {
                let way = ways.transport_mut(door);
                let answered = way.modelled.count();
                if gone.is_ok() && answered > before {
                    way.path.add(took);
                }
                before = answered;
            });
            gone.is_ok()
        })
    }

    /// Calls `goes_on` after such pauses, until it answers false.
    pub(crate) fn call_every(pause: Duration, mut goes_on: impl FnMut() -> bool + Send + 'static) -> DoorProbe {
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

/// Makes a round trip to a disk over a connection that has agreed upon its export: an invalid request is refused before the model
/// hears of it, and answered as all are.
pub(crate) fn make_round_trip(wire: &mut (impl io::Read + io::Write)) -> io::Result<()> {
    use crate::nbd::wire::{HEAD, REQUEST};
    // A flush of a range, which is invalid.
    let mut head = [0; HEAD];
    head[..4].copy_from_slice(&REQUEST.to_be_bytes());
    head[7] = 3;
    head[HEAD - 1] = 1;
    wire.write_all(&head)?;
    wire.read_exact(&mut [0; 16])
}
