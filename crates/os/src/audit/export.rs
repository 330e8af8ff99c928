//! A flush audit of the export of a network block device, which may be a served modelled disk. Requests are timed by
//! the clock.

use seekwise_disk::block::Device;
use seekwise_disk::rng::Seed;
use seekwise_disk::time::{Instant, Span};
use seekwise_run::audit::subject::{RequestWaiter, audit_block_count, flush_with_reads, perform_one};
use seekwise_run::audit::{AuditAction, AuditInterval, AuditSubject};

use crate::clock::Clock;
use crate::real_time::{RealTime, TimedDevice};
use crate::serve::measure_path_cost;

/// An export in real time.
struct ExportSubject {
    device: Box<dyn TimedDevice>,
    clock: Clock,
    /// Median time of a round trip over a connection of our own, without a disk.
    path_time: Span,
    stamp: u64,
}

/// Opens the disk of a place in real time for an audit. Measures the cost of a connection first, on one of our own.
pub fn open_export(place: &dyn RealTime, seed: Seed) -> Result<Box<dyn AuditSubject>, String> {
    let cost = measure_path_cost().map_err(|error| format!("the cost of a connection: {error}"))?;
    let path_time = cost.map_or(Span::ZERO, |cost| cost.p50);
    let device = place.open(seed).map_err(|error| error.to_string())?;
    Ok(Box::new(ExportSubject { device, clock: Clock::start(), path_time, stamp: 0 }))
}

impl RequestWaiter for ExportSubject {
    fn device(&mut self) -> &mut dyn Device {
        &mut self.device
    }

    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn wait(&mut self) -> Result<(), String> {
        self.device.wait_for_event(&self.clock, None).map_err(|_| "the connection has ended")?;
        self.device.handle_timeout(self.clock.now());
        Ok(())
    }

    fn next_stamp(&mut self) -> u64 {
        self.stamp += 1;
        self.stamp
    }
}

impl AuditSubject for ExportSubject {
    fn block_count(&self) -> u64 {
        audit_block_count(self.device.limits(0).sectors)
    }

    fn has_forced_writes(&self) -> Option<bool> {
        // A server may turn a forced write into a write and a flush.
        if self.device.limits(0).fua { None } else { Some(false) }
    }

    fn round_trip_time(&self) -> Span {
        self.path_time
    }

    fn pause_for(&mut self, span: Span) -> Result<(), String> {
        self.clock.wait_until(self.clock.now() + span);
        self.device.handle_timeout(self.clock.now());
        Ok(())
    }

    fn perform(&mut self, action: AuditAction, block: u64) -> Result<AuditInterval, String> {
        perform_one(self, action, block)
    }

    fn flush_beside_reads(&mut self, reads: &[u64]) -> Result<(AuditInterval, Vec<AuditInterval>), String> {
        flush_with_reads(self, reads)
    }
}
