//! The link to the host: when it is free, and when data and commands have crossed it. The electronics know what they
//! are.

use super::profile::Link as Spec;
use crate::block::{Queuing, SECTOR};
use crate::time::{Instant, Rate, Span};

/// Releasing the bus and reacquiring it, for one command of legacy tagged queuing (ATA/ATAPI-5, overlapped and queued
/// feature sets): the host reads status and interrupt reason to learn of the release, later answers the service
/// interrupt with a read of the status, device and SERVICE written, the tag and the status read: eight accesses to the
/// ports at about 1 µs each, as the drives' `link.command_ms` counts them, and an interrupt of about 2 µs. Inferred.
/// NCQ's part is one DMA Setup frame of 28 bytes, 0.2 µs at 1.5 Gb/s, and within `link.command_ms`.
pub(super) const RELEASE_AND_SERVICE: Span = Span::from_micros(10);

/// The drive's end of the link.
#[derive(Debug)]
pub(super) struct Link {
    spec: Spec,
    /// Rate to the host, and rate to the drive.
    rate: Rate,
    write_rate: Rate,
    /// Time of one sector to the host.
    last_sector: Span,
    /// Waiting commands release the bus.
    releases: bool,
    /// Instant from which the link is free.
    free: Instant,
    /// Idle gap before the last transfer, which waits for the platter.
    idle: (Instant, Instant),
    /// Start and end of the last transfer, or of several without a pause.
    moving: (Instant, Instant),
}

impl Link {
    /// Returns an idle link of a drive that takes `depth` commands at once.
    pub(super) fn new(spec: Spec, depth: u32) -> Link {
        let rate = Rate::new(spec.rate);
        Link {
            rate,
            write_rate: Rate::new(spec.write_rate),
            last_sector: rate.transfer_time(SECTOR),
            releases: spec.queuing == Queuing::Tcq && depth > 1,
            free: Instant::ZERO,
            idle: (Instant::ZERO, Instant::ZERO),
            moving: (Instant::ZERO, Instant::ZERO),
            spec,
        }
    }

    /// Description of the link.
    #[inline]
    pub(super) fn spec(&self) -> &Spec {
        &self.spec
    }

    /// True if waiting commands release the bus.
    #[inline]
    pub(super) fn releases_bus(&self) -> bool {
        self.releases
    }

    /// Time to request and send a log of one sector.
    pub(super) fn log_page_time(&self) -> Span {
        self.spec.command + self.last_sector
    }

    /// Start of a transfer of `span` whose data come from `first` on and are all there from `here` on: in the idle gap
    /// if all are there by then and the transfer fits, else after the last transfer.
    #[inline]
    fn transfer_start(&self, first: Instant, here: Instant, span: Span) -> Instant {
        let early = self.idle.0.max(first);
        if here <= early && early + span <= self.idle.1 { early } else { self.free.max(first) }
    }

    /// Books the link from `from` to `to`.
    #[inline]
    pub(super) fn book_transfer(&mut self, from: Instant, to: Instant) {
        if to <= self.idle.1 && from < self.free {
            self.idle.0 = to;
            return;
        }
        let begun = if from <= self.free { self.moving.0 } else { from };
        if from > self.free {
            self.idle = (self.free, from);
        }
        (self.moving, self.free) = ((begun, to), to);
    }

    /// Sends `sectors` blocks to the host, which come into the buffer from `first` on and are all there from `here` on.
    /// Returns when they have crossed.
    #[inline]
    pub(super) fn send_read_data(&mut self, sectors: u32, here: Instant, first: Instant) -> Instant {
        let whole = self.rate.transfer_time(u64::from(sectors) * SECTOR);
        let from = self.transfer_start(first, here, whole);
        let end = (here + self.last_sector).max(from + whole);
        self.book_transfer(from, end);
        end
    }

    /// When the same blocks would have crossed if nothing else wants the link.
    #[inline]
    pub(super) fn lone_send_end(&self, sectors: u32, here: Instant, first: Instant) -> Instant {
        let whole = self.rate.transfer_time(u64::from(sectors) * SECTOR);
        (here + self.last_sector).max(self.free.max(first) + whole)
    }

    /// Books a transfer that ended at `sent` without competitors.
    #[inline]
    pub(super) fn record_lone_send(&mut self, sent: Instant) {
        (self.free, self.moving) = (sent, (sent, sent));
    }

    /// Start and end of the transfer of a write's `bytes`, which the host has ready at `begin`.
    pub(super) fn receive_times(&self, begin: Instant, bytes: u64) -> (Instant, Instant) {
        let span = self.write_rate.transfer_time(bytes);
        let from = self.transfer_start(begin, begin, span);
        (from, from + span)
    }

    /// Keeps the link busy with a long write until `at`.
    pub(super) fn keep_busy_until(&mut self, at: Instant) {
        self.free = self.free.max(at);
    }

    /// When a command that comes at `now` can be sent to the drive: legacy tagged queuing has one bus for commands and
    /// data.
    #[inline]
    pub(super) fn bus_free_at(&self, now: Instant) -> Instant {
        let (from, to) = self.moving;
        if self.releases && from <= now && now < to { to } else { now }
    }

    /// Drops all transfers at `now`.
    pub(super) fn drop_transfers(&mut self, now: Instant) {
        (self.free, self.idle, self.moving) = (now, (now, now), (now, now));
    }
}
