//! A read that has the drive to itself, from the electronics to the host in one go.
//!
//! With no other command in flight and nothing to destage, nobody can ask for anything between the instants of a read:
//! from the medium, it is decoded, chosen, sought, read and sent at instants that are known beforehand; from the buffer, or
//! from what a prefetch brings, decoded and sent. What `firmware` and `turn` do at each of them is done here at once, with
//! their own functions, and leaves the same state. Where it cannot be known that nothing comes between, the read goes the
//! long way.

use super::cache::BufferLookup;
use super::link::RELEASE_AND_SERVICE;
use super::medium::Activity;
use super::{Drive, Power};
use crate::block::{Flags, Op};
use crate::record::Part;
use crate::time::{Instant, Span};

impl Drive {
    /// The only command in flight and when it is done, if it is a read that is done by `until`, and the state the drive is
    /// in then; else the drive is as it was, or as far on its way as it would be without this.
    #[inline]
    pub(super) fn lone_read(&mut self, until: Instant) -> Option<(u16, Instant)> {
        let (decoded, slot) = self.electronics.arriving_alone()?;
        if self.buffer.dirty_count() > 0 || self.power != Power::On || self.media_cache.is_some() || decoded > until {
            return None;
        }
        let command = &self.electronics[slot];
        let request = &command.request;
        let settled = self.segmentation.as_ref().is_none_or(|view| view.wanted().is_none());
        let plain = settled && request.op == Op::Read && request.flags == Flags::NONE && request.sectors > 0;
        let beyond = request.end() > self.medium.sectors();
        let (version, seen) = command.seen;
        if !plain || beyond || version != self.buffer.version() || self.medium.is_accessing() {
            return None;
        }
        match seen {
            BufferLookup::Miss => self.lone_miss(decoded, slot, until),
            BufferLookup::Hit(_) | BufferLookup::Extends(_) => self.lone_hit(decoded, slot, until),
        }
    }

    /// The same, if the read is of what the buffer has or a prefetch brings.
    fn lone_hit(&mut self, decoded: Instant, slot: u16, until: Instant) -> Option<(u16, Instant)> {
        self.electronics.pop_decoded(decoded);
        self.clock = decoded;
        self.decoded(decoded, slot);
        let finished = self.electronics.pop_finished(until);
        if let Some((finished, _)) = finished {
            self.clock = finished;
            self.electronics.release(finished, slot);
        }
        self.next = self.next_event();
        finished.map(|(finished, _)| (slot, finished))
    }

    /// The same, if it is a read from the medium.
    fn lone_miss(&mut self, decoded: Instant, slot: u16, until: Instant) -> Option<(u16, Instant)> {
        let request = self.electronics[slot].request;
        if self.medium.first_weak(request.lba, request.end()).is_some() {
            return None;
        }
        let (now, reading) = match self.medium.activity() {
            Activity::Idle => (self.medium.free_from().max(decoded), None),
            Activity::Prefetch(stream) => {
                let fed_up = self.queue.discipline().max_wait.map(|limit| decoded + limit);
                let now = self.medium.free_from().max(self.breaks_off(stream, fed_up)).max(decoded);
                let mut stream = *stream;
                stream.catch_up(self.medium.platter(), now);
                (now, Some(stream))
            }
            Activity::Access { .. } => return None,
        };
        let arm = reading.as_ref().map_or(self.medium.arm(), |stream| stream.arm());
        let first = self.medium.track(request.lba);
        let access = self.medium.access(now, arm, &request, first, (now, now));
        let sweep = self.medium.sweep(&access);
        let overhead = self.electronics.overhead();
        // As `service` has it.
        let (service, interrupts) = if self.link.releases() { (RELEASE_AND_SERVICE, 3) } else { (Span::ZERO, 1) };
        let sent = self.link.sent_by(request.sectors, sweep.end, sweep.led + overhead.reselect + service);
        let finished = sent + overhead.completion;
        if finished > until {
            return None;
        }
        if let Some(stream) = &reading
            && stream.over_by(self.medium.platter(), now).is_none()
        {
            let filled = stream.filled(self.medium.platter(), now);
            self.buffer.cut_short(stream.segment, filled);
        }
        self.queue.pass_through(first.cylinder);
        let segment = self.buffer.allocate(request.lba, u64::from(request.sectors), None);
        let ahead = self.electronics[slot].ahead;
        let then =
            segment.and_then(|segment| self.plan_ahead(&request, &access, (sweep.end, sweep.arm), segment, ahead));
        self.medium.went_through(&access, &sweep, then);
        self.link.sent_alone(sent);
        self.electronics.went_through(finished, slot);
        (self.clock, self.next) = (finished, Instant::FAR);
        let command = &mut self.electronics[slot];
        let ledger = &mut command.ledger;
        ledger.until(Part::Queue, now);
        sweep.charge(ledger);
        ledger.until(Part::Link, sent);
        ledger.until(Part::Overhead, finished);
        command.interrupts = interrupts;
        Some((slot, finished))
    }
}
