//! Reads: from the buffer, from a read-ahead, or from the medium, and the transfer of their data to the host.
//! `read_ahead` decides how far is read ahead.

use super::Drive;
use super::cache::BufferLookup;
use super::command::Stage;
use super::medium::{Activity, Purpose};
use crate::block::{Flags, Request, Status};
use crate::record::Part;
use crate::time::Instant;

impl Drive {
    pub(super) fn serve_read(&mut self, now: Instant, slot: u16, request: &Request) {
        if self.must_await_destage(request) {
            let head = self.electronics.goes_to_head(request);
            let command = &mut self.electronics[slot];
            command.released = self.link.releases_bus();
            command.stage = Stage::Parked;
            self.write_back.park(slot, head);
            return;
        }
        let lookup = match request.flags.has(Flags::FUA) {
            true => BufferLookup::Miss,
            false => self.look_up_command(slot),
        };
        match lookup {
            BufferLookup::Hit(segment) if !self.must_yield_medium(now, request, segment, None) => {
                self.serve_read_hit(now, slot, request, segment);
            }
            BufferLookup::Extends(segment)
                if self.streams_into(now, segment, request)
                    && !self.is_read_ahead_capped()
                    && !self.must_yield_medium(now, request, segment, None) =>
            {
                self.serve_read_hit(now, slot, request, segment);
            }
            _ => self.queue_for_medium(now, slot, request),
        }
        self.serve_from_read_ahead(now);
    }

    /// True if a read waits until dirty blocks, which do not serve it, are on the medium.
    fn must_await_destage(&self, request: &Request) -> bool {
        !self.buffer.serves_written() && self.buffer.overlaps_dirty(request.lba, request.end())
    }

    /// True if a prefetch into `segment` runs or is about to, so that a read may extend past its end without meeting a
    /// weak place, which a prefetch does not retry.
    pub(super) fn streams_into(&mut self, now: Instant, segment: usize, request: &Request) -> bool {
        let (_, end) = self.buffer.span(segment);
        self.medium.filling_segment(now) == Some(segment)
            && self.medium.current_read_ahead().is_some()
            && self.medium.first_weak_block(end, request.end()).is_none()
    }

    /// Serves a read whose data are in the buffer, or which a prefetch brings.
    pub(super) fn serve_read_hit(&mut self, now: Instant, slot: u16, request: &Request, segment: usize) {
        self.buffer.touch(segment);
        let run = self.buffer.record_read(segment, request.lba, request.end());
        let (mut first, mut here) = (now, now);
        if self.medium.filling_segment(now) == Some(segment) {
            (first, here) = self.follow_read_ahead(now, request, segment, run);
        } else if !self.buffer.is_dirty(segment) && !self.buffer.is_reserved_for_writes(segment) {
            self.resume_read_ahead(now, request, segment, run);
        }
        if self.promises.cache().read_ahead.discards && self.buffer.span(segment).1 == request.end() {
            self.buffer.make_first_to_evict(segment);
        }
        self.electronics[slot].ledger.book_until(Part::Cache, here);
        if first > now {
            self.electronics[slot].released = self.link.releases_bus();
        }
        self.send_read_data(slot, here, first);
    }

    /// Sends a read's data to the host: they come into the buffer from `first` on and are all there from `here` on.
    pub(super) fn send_read_data(&mut self, slot: u16, here: Instant, first: Instant) {
        let end = self.book_read_transfer(slot, here, first);
        self.electronics[slot].ledger.book_until(Part::Link, end);
        self.electronics.close_command(slot, end);
    }

    /// Books the link once for a read's data, which come into the buffer from `first` on and are all there from `here`
    /// on. Returns when they have crossed.
    fn book_read_transfer(&mut self, slot: u16, here: Instant, first: Instant) -> Instant {
        let command = &mut self.electronics[slot];
        if let Some(carried) = command.carried {
            return carried;
        }
        let first = first + command.reacquire_bus();
        let end = self.link.send_read_data(command.request.sectors, here, first);
        command.carried = Some(end);
        end
    }

    /// Books the link for the data of the read in progress, before those of reads that follow it.
    pub(super) fn book_current_read_transfer(&mut self) {
        let Activity::Access { purpose: Purpose::Command { slot, .. }, sweep, access, .. } = self.medium.activity()
        else {
            return;
        };
        let (slot, led, end, write) = (*slot, sweep.led, sweep.end, access.write);
        let sends = self.electronics[slot].outcome == Status::Done && self.media_cache.is_none() && !write;
        if sends {
            self.book_read_transfer(slot, end, led + self.electronics.overhead().reselect);
        }
    }
}
