//! The drive's actions at each instant: decode, look up, choose, move data, acknowledge, destage.
//!
//! The life of a command: *arriving* in the electronics (overhead, one after another), then by kind
//! - a read in the buffer goes to the link; one that a prefetch will bring waits for it (part *cache*);
//! - a read not in the buffer, a write-through or FUA write joins the queue for the medium;
//! - a cached write takes a segment, crosses the link and is acknowledged; without room for all of it, it is parked and
//!   continues as segments are destaged. A write longer than a segment takes several, or wraps around in one
//!   (`cache.wraps`): it goes to the medium at once and is acknowledged when the rest fits the segment;
//! - a flush waits until the segments that were dirty when it came are on the medium (part *flush*).
//!
//! The medium does one access at a time. The next is chosen the profile's dispatch time after the last one ended: commands by
//! `firmware.queue`, dirty segments by `firmware.destage`. Dirty segments compete with commands under pressure (buffer full of dirty
//! segments, a flush, data older than `cache.destage_age`), else wait for `cache.destage_idle` without commands. A waiting command breaks
//! off a read-ahead, though not before `read_ahead.min`; that of a stream continues as far as `read_ahead.hold` says, unless the command
//! has waited too long.

use super::cache::BufferLookup;
use super::command::Stage;
use super::segmentation::Segmentation;
use super::{Drive, DrivePower};
use crate::block::{CutSector, Flags, Op, Request, Status};
use crate::time::Instant;

impl Drive {
    /// Accepts a command into `slot`; it is decoded after those before it. Returns the instant of its next event.
    #[inline]
    pub(super) fn accept_command(&mut self, now: Instant, slot: u16, request: Request) -> Instant {
        self.write_back.end_idle_destage();
        self.ended = request.end();
        let lookup = match request.op {
            Op::Read => self.buffer.look_up(request.lba, request.end()),
            _ => BufferLookup::Miss,
        };
        let seen = (self.buffer.version(), lookup);
        if self.power != DrivePower::On {
            self.electronics.refuse_command(now, slot, request, seen);
            return now;
        }
        let ahead = match (&mut self.segmentation, request.op) {
            (Some(view), Op::Read | Op::Write) => view.count_command(&request, matches!(lookup, BufferLookup::Hit(_))),
            _ => true,
        };
        let cached = request.op != Op::Read && self.promises.caches_write(&request);
        let times = (now, self.link.bus_free_at(now), self.link.spec().command);
        self.electronics.take_command(slot, times, request, seen, (cached, ahead))
    }

    /// Returns the buffer lookup of the command in `slot`, repeated only if the buffer has changed since.
    #[inline]
    pub(super) fn look_up_command(&mut self, slot: u16) -> BufferLookup {
        let (version, lookup) = self.electronics[slot].seen;
        if version == self.buffer.version() { lookup } else { self.repeat_look_up(slot) }
    }

    fn repeat_look_up(&mut self, slot: u16) -> BufferLookup {
        let command = &mut self.electronics[slot];
        let lookup = self.buffer.look_up(command.request.lba, command.request.end());
        command.seen = (self.buffer.version(), lookup);
        lookup
    }

    /// Handles what is due at `now`: an access that ends, commands that are decoded, a choice, commands that finish.
    pub(super) fn handle_due(&mut self, now: Instant) {
        if self.medium.current_timing().is_some_and(|sweep| sweep.end <= now) {
            self.end_access(now);
        }
        while let Some(slot) = self.electronics.pop_decoded(now) {
            self.handle_decoded(now, slot);
        }
        if self.next_choice_at().is_some_and(|at| at <= now) {
            self.choose_access(now);
        }
        while let Some((at, slot)) = self.electronics.pop_finished(now) {
            self.complete_command(at, slot);
        }
        if self.power == DrivePower::Stopping {
            self.stop_when_done();
        }
    }

    #[inline(always)]
    pub(super) fn handle_decoded(&mut self, now: Instant, slot: u16) {
        if self.segmentation.is_some() {
            self.divide_buffer(now);
        }
        let request = self.electronics[slot].request;
        if !self.electronics.hold_back(slot, &request) {
            self.serve_command(now, slot);
        }
    }

    /// Serves a command that nothing holds back.
    fn serve_command(&mut self, now: Instant, slot: u16) {
        let request = self.electronics[slot].request;
        self.electronics.admit_command(now, slot, &request);
        let beyond = request.end() > self.medium.sectors();
        let fua_unknown = request.flags.has(Flags::FUA) && !self.link.spec().fua;
        let order_unknown = self.electronics.is_order_unsupported(&request);
        let unsupported = matches!(request.op, Op::Trim | Op::Compute) || fua_unknown || order_unknown;
        if unsupported || beyond || (request.sectors == 0 && request.op != Op::Flush) {
            let outcome = if unsupported { Status::Unsupported } else { Status::OutOfRange };
            self.electronics[slot].outcome = outcome;
            self.electronics.finish_at(now, slot);
            return;
        }
        match request.op {
            Op::Read => self.serve_read(now, slot, &request),
            Op::Flush => self.serve_flush(now, slot),
            _ if self.promises.caches_write(&request) => self.write_cached(now, slot),
            _ => self.write_through(now, slot, &request),
        }
    }

    /// Divides an adaptive buffer as wanted, once its dirty segments and the one being filled fit the division.
    fn divide_buffer(&mut self, now: Instant) {
        let Some(division) = self.segmentation.as_ref().and_then(Segmentation::wanted_division) else {
            return;
        };
        self.buffer.tighten_dirty_limits(&division);
        if self.buffer.segment_sectors() > u64::from(division.sectors) && self.medium.is_prefetching() {
            self.break_off_read_ahead(now);
        }
        let filling = self.medium.filling_segment(now);
        if self.buffer.divide(&division, filling)
            && let Some(view) = &mut self.segmentation
        {
            view.confirm_division();
        }
    }

    /// Queues a command for the medium.
    pub(super) fn queue_for_medium(&mut self, now: Instant, slot: u16, request: &Request) {
        let first = self.media_cache_extent(request).unwrap_or_else(|| self.medium.track_from(request.lba));
        let command = &mut self.electronics[slot];
        command.released = self.link.releases_bus();
        command.stage = Stage::Queued;
        command.first = first;
        let write = request.op != Op::Read;
        let ready =
            if write { self.medium.earliest_write_start(&first, request.sectors, command.data) } else { Instant::ZERO };
        let target = self.medium.target(slot, &first, request.sectors, write).with_ready(ready);
        self.queue.push(now, self.electronics.standing(request), target);
        if let Some(tentative) = &mut self.tentative {
            tentative.choose_again_at(now);
        }
    }

    fn complete_command(&mut self, at: Instant, slot: u16) {
        let status = self.electronics[slot].outcome;
        self.electronics.queue_completion(at, slot, self.medium.serves_command(slot));
        if status != Status::Done {
            self.fail_queue(at, status);
        }
        if self.electronics.holds_any() {
            self.electronics.end_exclusive_run(slot);
            while let Some(slot) = self.electronics.pop_held(at) {
                self.serve_command(at, slot);
            }
        }
    }

    /// Aborts the commands that fail with one that ended in an error.
    fn fail_queue(&mut self, now: Instant, status: Status) {
        if let Some(tags) = self.electronics.tags_failing_with(now, status, self.link.log_page_time()) {
            self.drop_commands(now, Status::Aborted, CutSector::Finished, |tag| tags.contains(&tag));
        }
    }
}
