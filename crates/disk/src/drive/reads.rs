//! Service of reads: from the buffer, from a read-ahead in progress, or from the medium; and the transfer of their data
//! to the host. `read_ahead` decides how far is read ahead.

use super::Drive;
use super::cache::BufferLookup;
use super::command::Stage;
use super::link::BufferArrival;
use super::medium::{Activity, Purpose};
use crate::block::{Flags, Request, Status};
use crate::record::Part;
use crate::time::Instant;

impl Drive {
    /// Serves a read from the buffer or from a read-ahead, or queues it for the medium.
    pub(super) fn serve_read(&mut self, now: Instant, slot: u16, request: &Request) {
        if self.must_await_destage(request) {
            let at_front = self.electronics.goes_to_head(request);
            let command = &mut self.electronics[slot];
            command.released = self.link.releases_bus();
            command.stage = Stage::Parked;
            self.write_back.park(slot, at_front);
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
                if self.read_ahead_may_bring(now, segment, request)
                    && !self.is_read_ahead_capped()
                    && !self.must_yield_medium(now, request, segment, None) =>
            {
                self.serve_read_hit(now, slot, request, segment);
            }
            _ => self.queue_for_medium(now, slot, request),
        }
        self.serve_from_read_ahead(now);
    }

    /// True if a read must wait for the destage of dirty blocks, since these do not serve reads.
    fn must_await_destage(&self, request: &Request) -> bool {
        !self.buffer.serves_written() && self.buffer.overlaps_dirty(request.lba, request.end())
    }

    /// True if a read-ahead into `segment` runs or is about to, and can bring the read's blocks past the segment's end:
    /// none of them is weak, since a read-ahead does not retry.
    pub(super) fn read_ahead_may_bring(&mut self, now: Instant, segment: usize, request: &Request) -> bool {
        let (_, end) = self.buffer.block_bounds(segment);
        self.medium.filling_segment(now) == Some(segment)
            && self.medium.current_read_ahead().is_some()
            && self.medium.first_weak_block(end, request.end()).is_none()
    }

    /// Serves a read whose data are in the buffer, or which a read-ahead brings.
    pub(super) fn serve_read_hit(&mut self, now: Instant, slot: u16, request: &Request, segment: usize) {
        self.buffer.touch(segment);
        let reads_in_run = self.buffer.record_read(segment, request.lba, request.end());
        let mut arrival = BufferArrival { first: now, all: now };
        if self.medium.filling_segment(now) == Some(segment) {
            arrival = self.follow_read_ahead(now, request, segment, reads_in_run);
        } else if !self.buffer.is_dirty(segment) && !self.buffer.is_reserved_for_writes(segment) {
            self.resume_read_ahead(now, request, segment, reads_in_run);
        }
        if self.promises.cache().read_ahead.discards && self.buffer.block_bounds(segment).1 == request.end() {
            self.buffer.make_first_to_evict(segment);
        }
        self.electronics[slot].ledger.book_until(Part::Cache, arrival.all);
        if arrival.first > now {
            self.electronics[slot].released = self.link.releases_bus();
        }
        self.send_read_data(slot, arrival);
    }

    /// Sends a read's data to the host, as they come into the buffer.
    pub(super) fn send_read_data(&mut self, slot: u16, arrival: BufferArrival) {
        let end = self.book_read_transfer(slot, arrival);
        self.electronics[slot].ledger.book_until(Part::Link, end);
        self.electronics.close_command(slot, end);
    }

    /// Books the link for a read's data, unless that was done before. Returns when they have crossed.
    fn book_read_transfer(&mut self, slot: u16, arrival: BufferArrival) -> Instant {
        let command = &mut self.electronics[slot];
        if let Some(sent) = command.sent {
            return sent;
        }
        let first = arrival.first + command.reacquire_bus();
        let sent = self.link.book_read_data(command.request.sectors, BufferArrival { first, ..arrival });
        command.sent = Some(sent);
        sent
    }

    /// Books the link for the data of the read in progress, before those of reads that follow it.
    pub(super) fn book_current_read_transfer(&mut self) {
        let Activity::Access { purpose: Purpose::Command { slot, .. }, timing, access, .. } = self.medium.activity()
        else {
            return;
        };
        let (slot, led, all, write) = (*slot, timing.led, timing.end, access.write);
        let sends = self.electronics[slot].outcome == Status::Done && self.media_cache.is_none() && !write;
        if sends {
            let first = led + self.electronics.overhead().reselect;
            self.book_read_transfer(slot, BufferArrival { first, all });
        }
    }
}
