//! A read that has the drive to itself, from the electronics to the host in one go.
//!
//! With no other command in flight and nothing to destage, nobody can ask for anything between the instants of a read:
//! from the medium, it is decoded, chosen, sought, read and sent at instants that are known beforehand; from the buffer, or
//! from what a prefetch brings, decoded and sent. What `firmware` and `turn` do at each of them is done here at once, with
//! their own functions, and leaves the same state. Where it cannot be known that nothing comes between, the read goes the
//! long way.

use super::cache::Lookup;
use super::queuing::RELEASE_AND_SERVICE;
use super::{Activity, Drive, Power, Purpose, Stage};
use crate::block::{Flags, Op};
use crate::record::Part;
use crate::time::{Instant, Span};

impl Drive {
    /// The only command in flight and when it is done, if it is a read that is done by `until`, and the state the drive is
    /// in then; else the drive is as it was, or as far on its way as it would be without this.
    #[inline]
    pub(super) fn lone_read(&mut self, until: Instant) -> Option<(u16, Instant)> {
        let &(decoded, slot) = self.arriving.front()?;
        let alone = self.free.len() + 1 == self.slots.len() && self.buffer.dirty_count() == 0;
        if !alone || self.power != Power::On || self.media_cache.is_some() || decoded > until {
            return None;
        }
        let command = &self.slots[usize::from(slot)];
        let request = &command.request;
        let settled = self.segmentation.as_ref().is_none_or(|view| view.wanted().is_none());
        let plain = settled && request.op == Op::Read && request.flags == Flags::NONE && request.sectors > 0;
        let beyond = request.end() > self.profile.geometry.sectors();
        let (version, seen) = command.seen;
        if !plain || beyond || version != self.buffer.version() || matches!(self.activity, Activity::Access { .. }) {
            return None;
        }
        match seen {
            Lookup::Miss => self.lone_miss(decoded, slot, until),
            Lookup::Hit(_) | Lookup::Extends(_) => self.lone_hit(decoded, slot, until),
        }
    }

    /// The same, if the read is of what the buffer has or a prefetch brings.
    fn lone_hit(&mut self, decoded: Instant, slot: u16, until: Instant) -> Option<(u16, Instant)> {
        self.arriving.pop_front();
        self.clock = decoded;
        self.decoded(decoded, slot);
        let finished = self.finishing.front().map(|&(at, _)| at).filter(|&at| at <= until);
        if let Some(finished) = finished {
            self.finishing.pop_front();
            self.clock = finished;
            self.release(finished, slot);
        }
        self.next = self.next_event();
        finished.map(|finished| (slot, finished))
    }

    /// The same, if it is a read from the medium.
    fn lone_miss(&mut self, decoded: Instant, slot: u16, until: Instant) -> Option<(u16, Instant)> {
        let request = self.slots[usize::from(slot)].request;
        if self.first_weak(request.lba, request.end()).is_some() {
            return None;
        }
        let (now, reading) = match &self.activity {
            Activity::Idle => (self.choose_from.max(decoded), None),
            Activity::Prefetch(stream) => {
                let fed_up = self.profile.firmware.queue.max_wait.map(|limit| decoded + limit);
                let now = self.choose_from.max(self.breaks_off(stream, fed_up)).max(decoded);
                let mut stream = *stream;
                stream.catch_up(self.platter(), now);
                (now, Some(stream))
            }
            Activity::Access { .. } => return None,
        };
        let arm = reading.as_ref().map_or(self.arm, |stream| stream.arm());
        let first = self.profile.geometry.extent(request.lba, u32::MAX);
        let access = self.access(now, arm, &request, first, (now, now));
        let sweep = access.sweep(&self.profile.geometry, &self.profile.mechanics);
        let overhead = &self.profile.overhead;
        // As `service` has it.
        let (service, interrupts) = if self.releases() { (RELEASE_AND_SERVICE, 3) } else { (Span::ZERO, 1) };
        let sent = self.sent_by(request.sectors, sweep.end, sweep.led + overhead.reselect + service);
        let finished = sent + overhead.completion;
        if finished > until {
            return None;
        }
        if let Some(stream) = &reading
            && stream.over_by(self.platter(), now).is_none()
        {
            let filled = stream.filled(self.platter(), now);
            self.buffer.cut_short(stream.segment, filled);
        }
        self.commands.pass_through(first.cylinder);
        let segment = self.buffer.allocate(request.lba, None);
        let ahead = self.slots[usize::from(slot)].ahead;
        let then =
            segment.and_then(|segment| self.plan_ahead(&request, &access, (sweep.end, sweep.arm), segment, ahead));
        self.activity = then.map_or(Activity::Idle, Activity::Prefetch);
        self.note_seek(arm.cylinder, first.cylinder);
        self.tell_movements(&access, Purpose::Command { slot, segment }, sweep.end);
        self.arm = sweep.arm;
        self.choose_from = sweep.end + self.profile.firmware.dispatch;
        (self.link, self.moving) = (sent, (sent, sent));
        self.arriving.pop_front();
        self.free.push(slot);
        (self.quiet, self.clock, self.next) = (finished, finished, Instant::FAR);
        let command = &mut self.slots[usize::from(slot)];
        command.stage = Stage::Free;
        let ledger = &mut command.ledger;
        ledger.until(Part::Queue, now);
        sweep.charge(ledger);
        ledger.until(Part::Link, sent);
        ledger.until(Part::Overhead, finished);
        command.interrupts = interrupts;
        Some((slot, finished))
    }
}
