//! Fast path for a read that has the drive to itself, from the electronics to the host in one go.
//!
//! With no other command in flight and nothing to destage, nothing can come between the steps of a read, and all its
//! instants are known beforehand: from the medium it is decoded, chosen, positioned, read and sent; from the buffer or
//! a prefetch, decoded and sent. The steps of `firmware` and `access_choice` are done here at once, with their own functions,
//! and leave the same state. If something may come between, the read takes the normal path.
//!
//! A read that misses is carried out in one place, whether it was submitted (`serve_lone_read`) or the engine holds it back
//! until its source has no other for this instant (`serve_without_slot`; see the [contract](crate::block)): that one takes no slot.

use super::access::AccessTiming;
use super::cache::BufferLookup;
use super::link::RELEASE_AND_SERVICE;
use super::mechanics::Arm;
use super::medium::Activity;
use super::stream::MediaStream;
use super::{Drive, DrivePower};
use crate::block::{Completion, Flags, Op, Request, Status};
use crate::record::{Effort, Part, Parts};
use crate::time::{Instant, Span};

/// A read of one track that missed the buffer and had the drive to itself, from the decoded command to the host.
struct LoneMiss {
    /// When the access started.
    start: Instant,
    sweep: AccessTiming,
    /// When its data were on the host's side of the link.
    sent: Instant,
    finished: Instant,
    interrupts: u16,
}

impl Drive {
    /// True if a read that comes now to an idle drive may be served without a slot, unless its timing prevents it: a
    /// plain miss in the buffer, and nobody observes its steps.
    #[inline]
    pub(super) fn can_serve_without_slot(&self, request: &Request) -> bool {
        let plain = request.op == Op::Read && request.flags == Flags::NONE && request.sectors > 0;
        let rests = self.next == Instant::FAR && self.electronics.is_idle() && !self.electronics.has_ready();
        let bare = self.segmentation.is_none() && self.media_cache.is_none() && !self.medium.has_listener();
        // A read that continues the last command is in the buffer, or about to be.
        request.lba != self.ended
            && plain
            && rests
            && bare
            && self.power == DrivePower::On
            && self.buffer.dirty_count() == 0
            && request.end() <= self.medium.sectors()
            && self.medium.first_weak_block(request.lba, request.end()).is_none()
            && self.buffer.look_up(request.lba, request.end()) == BufferLookup::Miss
    }

    /// Serves such a read from the port to the host, with the result of the normal path. Returns false, with nothing
    /// changed, if it spans several tracks or is not done by `until`.
    pub(super) fn serve_without_slot(
        &mut self,
        came: Instant,
        request: &Request,
        until: Instant,
        answer: &mut Completion,
    ) -> bool {
        let reached = self.link.bus_free_at(came);
        let (begin, known, decoded) = self.electronics.lone_decoding(reached, self.link.spec().command);
        let Some(miss) = self.carry_out_lone_miss((decoded, until), request, true) else { return false };
        let LoneMiss { start, sweep, sent, finished, interrupts } = miss;
        self.electronics.record_lone_read(decoded, finished);
        self.ended = request.end();
        (answer.tag, answer.status) = (request.tag, Status::Done);
        (answer.submitted, answer.finished) = (came, finished);
        answer.effort = Effort { interrupts, ..Effort::COMMAND };
        answer.parts = Parts::NONE;
        let [seek, rotation, transfer] = sweep.read_parts();
        for (part, span) in [
            (Part::Queue, begin.since(reached) + start.since(decoded)),
            (Part::Overhead, decoded.since(known) + finished.since(sent)),
            (Part::Seek, seek),
            (Part::Rotation, rotation),
            (Part::Transfer, transfer),
            (Part::Link, reached.since(came) + known.since(begin) + sent.since(sweep.end)),
        ] {
            answer.parts.add_nanos(part, span.nanos());
        }
        true
    }

    /// Carries out a read that misses the buffer and was decoded at the first instant, but for the electronics; `ahead` says whether
    /// read-ahead may follow. `None`, with nothing changed, if it spans several tracks or is not done by the second instant.
    #[inline(always)]
    fn carry_out_lone_miss(
        &mut self,
        (decoded, until): (Instant, Instant),
        request: &Request,
        ahead: bool,
    ) -> Option<LoneMiss> {
        let first = self.medium.track_from(request.lba);
        if request.sectors > first.sectors {
            return None;
        }
        let (start, arm, cut) = self.lone_access_start(decoded);
        let sweep = self.medium.track_read_timing(start, arm, first, request.sectors);
        let overhead = self.electronics.overhead();
        // As `Command::reacquire_bus` has it.
        let (service, interrupts) = if self.link.releases_bus() { (RELEASE_AND_SERVICE, 3) } else { (Span::ZERO, 1) };
        let sent = self.link.lone_send_end(request.sectors, sweep.end, sweep.led + overhead.reselect + service);
        let finished = sent + overhead.completion;
        if finished > until {
            return None;
        }
        self.write_back.end_idle_destage();
        if let Some((segment, filled)) = cut {
            self.buffer.truncate_segment(segment, filled);
        }
        self.queue.pass_through(first.cylinder);
        self.medium.record_lone_track_access(arm.cylinder, &sweep);
        if let Some(segment) = self.buffer.allocate(request.lba, u64::from(request.sectors), None) {
            if self.promises.cache().read_ahead.free_blocks {
                self.keep_free_blocks((first, request.sectors), sweep.read_parts()[1], segment);
            }
            let ended = (sweep.end, sweep.arm);
            if let Some(stream) = self.plan_read_ahead(request, (first, request.sectors), ended, segment, ahead) {
                self.medium.start_read_ahead(stream);
            }
        }
        self.link.record_lone_send(sent);
        self.clock = finished;
        Some(LoneMiss { start, sweep, sent, finished, interrupts })
    }

    /// (start, arm, interrupted read-ahead) of the access of a command decoded at `decoded`; the read-ahead is its
    /// segment and the first block that it did not bring.
    #[inline(always)]
    fn lone_access_start(&self, decoded: Instant) -> (Instant, Arm, Option<(usize, u64)>) {
        let free = self.medium.free_from().max(decoded);
        let Activity::Prefetch(stream) = self.medium.activity() else {
            return (free, self.medium.arm(), None);
        };
        let fed_up = self.queue.max_wait().map(|limit| decoded + limit);
        let now = free.max(self.read_ahead_yields_at(stream, fed_up));
        if !stream.stays_on_extent(self.medium.platter(), now) {
            return self.lone_start_across_tracks(*stream, now);
        }
        self.lone_start_in_stream(stream, now)
    }

    /// Finds the same if the read-ahead changes tracks before the start.
    #[inline(never)]
    fn lone_start_across_tracks(&self, mut stream: MediaStream, now: Instant) -> (Instant, Arm, Option<(usize, u64)>) {
        stream.catch_up(self.medium.platter(), now);
        self.lone_start_in_stream(&stream, now)
    }

    #[inline(always)]
    fn lone_start_in_stream(&self, stream: &MediaStream, now: Instant) -> (Instant, Arm, Option<(usize, u64)>) {
        let platter = self.medium.platter();
        let goes_on = stream.end_by(platter, now).is_none();
        (now, stream.arm(), goes_on.then(|| (stream.segment, stream.first_missing_block(platter, now))))
    }

    /// Serves the only command in flight if it is a read that is done by `until`; returns its slot and its end. If not,
    /// the drive is unchanged, or only as far on as it would be on the normal path.
    #[inline]
    pub(super) fn serve_lone_read(&mut self, until: Instant) -> Option<(u16, Instant)> {
        let (decoded, slot) = self.electronics.lone_arrival()?;
        if self.buffer.dirty_count() > 0
            || self.power != DrivePower::On
            || self.media_cache.is_some()
            || decoded > until
        {
            return None;
        }
        let command = &self.electronics[slot];
        let request = &command.request;
        let settled = self.segmentation.as_ref().is_none_or(|view| view.wanted_division().is_none());
        let plain = settled && request.op == Op::Read && request.flags == Flags::NONE && request.sectors > 0;
        let beyond = request.end() > self.medium.sectors();
        let (version, seen) = command.seen;
        if !plain || beyond || version != self.buffer.version() || self.medium.is_accessing() {
            return None;
        }
        match seen {
            BufferLookup::Miss => self.serve_lone_miss(decoded, slot, until),
            BufferLookup::Hit(_) | BufferLookup::Extends(_) => self.serve_lone_hit(decoded, slot, until),
        }
    }

    /// Serves a lone read from the buffer, or from a prefetch.
    fn serve_lone_hit(&mut self, decoded: Instant, slot: u16, until: Instant) -> Option<(u16, Instant)> {
        self.electronics.pop_decoded(decoded);
        self.clock = decoded;
        self.handle_decoded(decoded, slot);
        let finished = self.electronics.pop_finished(until);
        if let Some((finished, _)) = finished {
            self.clock = finished;
            self.electronics.release_slot(finished, slot);
        }
        self.next = self.next_event();
        finished.map(|(finished, _)| (slot, finished))
    }

    /// Serves a lone read from the medium.
    fn serve_lone_miss(&mut self, decoded: Instant, slot: u16, until: Instant) -> Option<(u16, Instant)> {
        let command = &self.electronics[slot];
        let (request, ahead) = (command.request, command.ahead);
        if self.medium.has_listener() || self.medium.first_weak_block(request.lba, request.end()).is_some() {
            return None;
        }
        let LoneMiss { start, sweep, sent, finished, interrupts } =
            self.carry_out_lone_miss((decoded, until), &request, ahead)?;
        self.electronics.release_lone_slot(finished, slot);
        self.next = Instant::FAR;
        let command = &mut self.electronics[slot];
        let ledger = &mut command.ledger;
        ledger.book_until(Part::Queue, start);
        sweep.charge_ledger(ledger);
        ledger.book_until(Part::Link, sent);
        ledger.book_until(Part::Overhead, finished);
        command.interrupts = interrupts;
        Some((slot, finished))
    }
}
