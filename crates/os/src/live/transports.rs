//! Measures the latency that the transports of a disk at work add to the model's, at both ends if possible.
//!
//! The disk cannot see the clients' end of a connection. So a client of our own (`TransportProbe`) keeps sending
//! requests over the same kind of connection: to the disk's thread and back, without reaching the model. If a kernel has
//! a disk on the file, the kernel reports how long requests took ([`TransportLatencies::device`]). If a run in this
//! program is the only client, it reports how long its requests took ([`TransportLatencies::client`]). A probe's round
//! trip counts only if other requests were answered meanwhile: a machine that sleeps wakes up late.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use seekwise_run::receipt::transports::{TransportKind, TransportLatencies};

use crate::clock::Clock;

/// Interval of probes. Forty a second cost less than a hundredth of a processor, and give a 99th percentile in some
/// seconds.
const PROBE_INTERVAL: Duration = Duration::from_millis(25);

/// Shared latencies.
#[derive(Clone, Debug, Default)]
pub struct LatencyRecorder(Arc<Mutex<TransportLatencies>>);

impl LatencyRecorder {
    /// Changes the latencies.
    pub fn update_latencies<T>(&self, change: impl FnOnce(&mut TransportLatencies) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the latencies.
    pub fn read_latencies(&self) -> TransportLatencies {
        self.update_latencies(|latencies| latencies.clone())
    }
}

/// A thread that probes a transport at intervals, until it is dropped.
pub(crate) struct TransportProbe {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl TransportProbe {
    /// Probes a transport by round trips, until one has an error.
    pub(crate) fn start_probe(
        latencies: LatencyRecorder,
        transport: TransportKind,
        mut make_round_trip: impl FnMut() -> io::Result<()> + Send + 'static,
    ) -> TransportProbe {
        let (clock, mut answered_before) = (Clock::start(), 0);
        TransportProbe::call_every(PROBE_INTERVAL, move || {
            let began = clock.now();
            let result = make_round_trip();
            let took = clock.now().since(began);
            latencies.update_latencies(|latencies| {
                let transport = latencies.transport_mut(transport);
                let answered = transport.modelled.count();
                if result.is_ok() && answered > answered_before {
                    transport.path.add(took);
                }
                answered_before = answered;
            });
            result.is_ok()
        })
    }

    /// Calls `step` on a thread at intervals, until it returns false.
    pub(crate) fn call_every(interval: Duration, mut step: impl FnMut() -> bool + Send + 'static) -> TransportProbe {
        let (end, ended) = channel();
        let thread =
            thread::spawn(move || while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) && step() {});
        TransportProbe { end: Some(end), thread: Some(thread) }
    }
}

impl Drop for TransportProbe {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Makes a round trip to a disk over a connection that has agreed upon its export. The request is invalid, so it is
/// refused before it reaches the model, and answered as all are.
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
