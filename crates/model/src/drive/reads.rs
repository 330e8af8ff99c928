//! Reads: from the buffer, behind a read-ahead, or from the medium, and how their data get to the host. How far is read
//! ahead is `read_ahead`'s affair.

use super::Drive;
use super::cache::BufferLookup;
use super::command::Stage;
use super::medium::{Activity, Purpose};
use crate::block::{Flags, Request, Status};
use crate::record::Part;
use crate::time::Instant;

impl Drive {
    pub(super) fn read(&mut self, now: Instant, slot: u16, request: &Request) {
        if self.awaits_destage(request) {
            let head = self.electronics.heads_queue(request);
            let command = &mut self.electronics[slot];
            command.released = self.link.releases();
            command.stage = Stage::Parked;
            self.write_back.park(slot, head);
            return;
        }
        let lookup = match request.flags.has(Flags::FUA) {
            true => BufferLookup::Miss,
            false => self.look_up(slot),
        };
        match lookup {
            BufferLookup::Hit(segment) if !self.puts_off(now, request, segment, None) => {
                self.read_hit(now, slot, request, segment);
            }
            BufferLookup::Extends(segment)
                if self.streams_into(now, segment, request)
                    && !self.is_held_up()
                    && !self.puts_off(now, request, segment, None) =>
            {
                self.read_hit(now, slot, request, segment);
            }
            _ => self.enqueue(now, slot, request),
        }
        self.take_along(now);
    }

    /// A read of dirty blocks that do not serve it waits until they are on the medium.
    fn awaits_destage(&self, request: &Request) -> bool {
        !self.buffer.serves_written() && self.buffer.overlaps_dirty(request.lba, request.end())
    }

    /// True when a prefetch into `segment` is going on or about to, so that a read may go on past its end: it tries no
    /// weak place again.
    pub(super) fn streams_into(&mut self, now: Instant, segment: usize, request: &Request) -> bool {
        let (_, end) = self.buffer.span(segment);
        self.medium.filling(now) == Some(segment)
            && self.medium.reading_ahead().is_some()
            && self.medium.first_weak(end, request.end()).is_none()
    }

    /// The data are in the buffer, or a prefetch brings them.
    pub(super) fn read_hit(&mut self, now: Instant, slot: u16, request: &Request, segment: usize) {
        self.buffer.touch(segment);
        let run = self.buffer.reads_on(segment, request.lba, request.end());
        let (mut first, mut here) = (now, now);
        if self.medium.filling(now) == Some(segment) {
            (first, here) = self.follow(now, request, segment, run);
        } else if !self.buffer.is_dirty(segment) && !self.buffer.is_apart(segment) {
            self.resume(now, request, segment, run);
        }
        if self.promises.cache().read_ahead.discards && self.buffer.span(segment).1 == request.end() {
            self.buffer.give_up(segment);
        }
        self.electronics[slot].ledger.until(Part::Cache, here);
        if first > now {
            self.electronics[slot].released = self.link.releases();
        }
        self.send(slot, here, first);
    }

    /// Moves a read's data to the host: they are all in the buffer from `here`, and began to be at `first`.
    pub(super) fn send(&mut self, slot: u16, here: Instant, first: Instant) {
        let end = self.carry(slot, here, first);
        self.electronics[slot].ledger.until(Part::Link, end);
        self.electronics.close(slot, end);
    }

    /// When a read's data have crossed the link: they are all in the buffer from `here`, and began to be at `first`. The
    /// link is theirs once.
    fn carry(&mut self, slot: u16, here: Instant, first: Instant) -> Instant {
        let command = &mut self.electronics[slot];
        if let Some(carried) = command.carried {
            return carried;
        }
        let first = first + command.service();
        let end = self.link.send(command.request.sectors, here, first);
        command.carried = Some(end);
        end
    }

    /// The data of the read in progress have the link before those that come behind them.
    pub(super) fn carry_read_in_progress(&mut self) {
        let Activity::Access { purpose: Purpose::Command { slot, .. }, sweep, access, .. } = self.medium.activity()
        else {
            return;
        };
        let (slot, led, end, write) = (*slot, sweep.led, sweep.end, access.write);
        let sends = self.electronics[slot].outcome == Status::Done && self.media_cache.is_none() && !write;
        if sends {
            self.carry(slot, end, led + self.electronics.overhead().reselect);
        }
    }
}
