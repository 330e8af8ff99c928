//! The link to the host: when it is free, and when data and commands cross it. The link carries one transfer at a time,
//! in the order in which transfers are booked; an earlier idle gap is used if a transfer fits. `electronics` knows the
//! commands.

use super::profile::Link as Spec;
use crate::block::{Queuing, SECTOR};
use crate::time::{Instant, Rate, Span};

/// Releasing the bus and reacquiring it, for one command of legacy tagged queuing (ATA/ATAPI-5, overlapped and queued
/// feature sets). To learn of the release the host reads the status and the interrupt reason. On the service interrupt
/// it reads the status, writes the device and SERVICE, and reads the tag and the status. Inferred: about eight accesses
/// to the ports at 1 µs each, as in the drives' `link.command_ms`, and an interrupt of about 2 µs. NCQ's part is one DMA
/// Setup frame of 28 bytes, 0.2 µs at 1.5 Gb/s, and within `link.command_ms`.
pub(super) const RELEASE_AND_SERVICE: Span = Span::from_micros(10);

/// An interval of time on the link.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkInterval {
    pub(super) start: Instant,
    pub(super) end: Instant,
}

impl LinkInterval {
    /// An interval of length zero.
    pub(super) fn at(instant: Instant) -> LinkInterval {
        LinkInterval { start: instant, end: instant }
    }
}

/// When the blocks of a read come into the buffer, or will.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferArrival {
    pub(super) first: Instant,
    /// All blocks are there.
    pub(super) all: Instant,
}

/// The drive's end of the link.
#[derive(Clone, Debug)]
pub(super) struct Link {
    spec: Spec,
    /// Rate to the host.
    rate: Rate,
    /// Rate to the drive.
    write_rate: Rate,
    /// Time of one sector to the host.
    sector_time: Span,
    /// Waiting commands release the bus.
    releases: bool,
    /// Instant from which the link is free.
    free_from: Instant,
    /// Idle gap before the last transfer, which waited for the platter. A later transfer that fits may use the gap.
    idle_gap: LinkInterval,
    /// The last transfer, or several without a pause.
    last_busy: LinkInterval,
}

impl Link {
    /// Returns an idle link of a drive that takes `depth` commands at once.
    pub(super) fn new(spec: Spec, depth: u32) -> Link {
        let rate = Rate::new(spec.rate);
        Link {
            rate,
            write_rate: Rate::new(spec.write_rate),
            sector_time: rate.transfer_time(SECTOR),
            releases: spec.queuing == Queuing::Tcq && depth > 1,
            free_from: Instant::ZERO,
            idle_gap: LinkInterval::at(Instant::ZERO),
            last_busy: LinkInterval::at(Instant::ZERO),
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
        self.spec.command + self.sector_time
    }

    /// Start of a transfer that takes `duration`, of data that arrive as given: in the idle gap if all of them are
    /// there by then and the transfer fits, else after the last transfer.
    #[inline]
    fn earliest_start(&self, arrival: BufferArrival, duration: Span) -> Instant {
        let early = self.idle_gap.start.max(arrival.first);
        let fits_gap = arrival.all <= early && early + duration <= self.idle_gap.end;
        if fits_gap { early } else { self.free_from.max(arrival.first) }
    }

    /// Books the link for a transfer.
    #[inline]
    pub(super) fn book_transfer(&mut self, transfer: LinkInterval) {
        let LinkInterval { start, end } = transfer;
        if end <= self.idle_gap.end && start < self.free_from {
            self.idle_gap.start = end;
            return;
        }
        let busy_start = if start <= self.free_from { self.last_busy.start } else { start };
        if start > self.free_from {
            self.idle_gap = LinkInterval { start: self.free_from, end: start };
        }
        (self.last_busy, self.free_from) = (LinkInterval { start: busy_start, end }, end);
    }

    /// Books the link for `sectors` blocks of a read, which come into the buffer as given. Returns when they have
    /// crossed.
    #[inline]
    pub(super) fn book_read_data(&mut self, sectors: u32, arrival: BufferArrival) -> Instant {
        let duration = self.rate.transfer_time(u64::from(sectors) * SECTOR);
        let start = self.earliest_start(arrival, duration);
        let end = (arrival.all + self.sector_time).max(start + duration);
        self.book_transfer(LinkInterval { start, end });
        end
    }

    /// When `sectors` blocks of a read have crossed if nothing else wants the link; the first of them can be sent from
    /// `first_ready` on, and all are in the buffer by `all_there`.
    #[inline]
    pub(super) fn lone_send_end(&self, sectors: u32, all_there: Instant, first_ready: Instant) -> Instant {
        let duration = self.rate.transfer_time(u64::from(sectors) * SECTOR);
        (all_there + self.sector_time).max(self.free_from.max(first_ready) + duration)
    }

    /// Books the read of [`Link::lone_send_end`], in fewer steps than [`Link::book_read_data`]. The next command comes
    /// at `sent` or later, so it meets a free bus, and an idle gap that is past and of no use.
    #[inline]
    pub(super) fn record_lone_send(&mut self, sent: Instant) {
        (self.free_from, self.last_busy) = (sent, LinkInterval::at(sent));
    }

    /// When the `bytes` of a write cross, which the host has ready at `ready`; the caller books the transfer.
    pub(super) fn plan_write_data(&self, ready: Instant, bytes: u64) -> LinkInterval {
        let duration = self.write_rate.transfer_time(bytes);
        let start = self.earliest_start(BufferArrival { first: ready, all: ready }, duration);
        LinkInterval { start, end: start + duration }
    }

    /// Keeps the link busy with a long write until `at`.
    pub(super) fn keep_busy_until(&mut self, at: Instant) {
        self.free_from = self.free_from.max(at);
    }

    /// When a command that comes at `now` can be sent to the drive: legacy tagged queuing has one bus for commands and
    /// data.
    #[inline]
    pub(super) fn bus_free_at(&self, now: Instant) -> Instant {
        let LinkInterval { start, end } = self.last_busy;
        if self.releases && start <= now && now < end { end } else { now }
    }

    /// Drops all transfers at `now`.
    pub(super) fn drop_transfers(&mut self, now: Instant) {
        (self.free_from, self.idle_gap, self.last_busy) = (now, LinkInterval::at(now), LinkInterval::at(now));
    }
}
