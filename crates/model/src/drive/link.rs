//! The link to the host: when it is free, and when data and commands have crossed it. What they are is for the
//! electronics to know.

use super::profile::Link as Spec;
use crate::block::{Queuing, SECTOR};
use crate::time::{Instant, Rate, Span};

/// Letting the bus go and getting it again, for one command of legacy tagged queuing (ATA/ATAPI-5, overlapped and queued
/// feature sets): the host reads status and interrupt reason to learn of the release, later answers the service
/// interrupt with a read of the status, device and SERVICE written, the tag and the status read: eight accesses to the
/// ports at about 1 µs each, as the drives' `link.command_ms` counts them, and an interrupt of about 2 µs. Inferred.
/// NCQ's part is one DMA Setup frame of 28 bytes, 0.2 µs at 1.5 Gb/s, and within `link.command_ms`.
pub(super) const RELEASE_AND_SERVICE: Span = Span::from_micros(10);

/// The drive's end of the link.
#[derive(Debug)]
pub(super) struct Link {
    spec: Spec,
    /// How fast it moves data to the host, and to the drive.
    rate: Rate,
    write_rate: Rate,
    /// How long one sector takes to the host.
    last_sector: Span,
    /// Commands that wait let it go.
    releases: bool,
    /// It is free from here on.
    free: Instant,
    /// It is free until it takes up data that wait for the platter.
    idle: (Instant, Instant),
    /// When it took up the data that it moved last without a pause, and when it is done with them.
    moving: (Instant, Instant),
}

impl Link {
    /// A link at rest, of a drive that takes `depth` commands at once.
    pub(super) fn new(spec: Spec, depth: u32) -> Link {
        let rate = Rate::new(spec.rate);
        Link {
            rate,
            write_rate: Rate::new(spec.write_rate),
            last_sector: rate.time(SECTOR),
            releases: spec.queuing == Queuing::Tcq && depth > 1,
            free: Instant::ZERO,
            idle: (Instant::ZERO, Instant::ZERO),
            moving: (Instant::ZERO, Instant::ZERO),
            spec,
        }
    }

    /// Its description.
    #[inline]
    pub(super) fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Commands that wait let the bus go.
    #[inline]
    pub(super) fn releases(&self) -> bool {
        self.releases
    }

    /// What it takes to ask for a log of one sector, and to send it.
    pub(super) fn log_page(&self) -> Span {
        self.spec.command + self.last_sector
    }

    /// From when on it takes data that need it for `span` and began to be there at `first`: at once where they are all
    /// `here` and done before it takes up others that wait for the platter.
    #[inline]
    fn free_for(&self, first: Instant, here: Instant, span: Span) -> Instant {
        let early = self.idle.0.max(first);
        if here <= early && early + span <= self.idle.1 { early } else { self.free.max(first) }
    }

    /// Data are on it from `from` to `to`.
    #[inline]
    pub(super) fn occupy(&mut self, from: Instant, to: Instant) {
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

    /// Moves `sectors` blocks to the host that are all in the buffer from `here` and began to be at `first`. Answers when
    /// they have crossed.
    #[inline]
    pub(super) fn send(&mut self, sectors: u32, here: Instant, first: Instant) -> Instant {
        let whole = self.rate.time(u64::from(sectors) * SECTOR);
        let from = self.free_for(first, here, whole);
        let end = (here + self.last_sector).max(from + whole);
        self.occupy(from, end);
        end
    }

    /// When they would have, if nothing else wants the link.
    #[inline]
    pub(super) fn sent_by(&self, sectors: u32, here: Instant, first: Instant) -> Instant {
        let whole = self.rate.time(u64::from(sectors) * SECTOR);
        (here + self.last_sector).max(self.free.max(first) + whole)
    }

    /// All that nothing else wanted has been sent.
    #[inline]
    pub(super) fn sent_alone(&mut self, sent: Instant) {
        (self.free, self.moving) = (sent, (sent, sent));
    }

    /// From when to when `bytes` of a write cross it that the host has ready at `begin`.
    pub(super) fn receives(&self, begin: Instant, bytes: u64) -> (Instant, Instant) {
        let span = self.write_rate.time(bytes);
        let from = self.free_for(begin, begin, span);
        (from, from + span)
    }

    /// It is busy with a long write until `at`.
    pub(super) fn busy_until(&mut self, at: Instant) {
        self.free = self.free.max(at);
    }

    /// When a command that comes at `now` can be written to the drive: legacy tagged queuing has one bus for commands
    /// and data.
    #[inline]
    pub(super) fn bus_free(&self, now: Instant) -> Instant {
        let (from, to) = self.moving;
        if self.releases && from <= now && now < to { to } else { now }
    }

    /// Nothing is on it any more.
    pub(super) fn fall_silent(&mut self, now: Instant) {
        (self.free, self.idle) = (now, (now, now));
    }
}
