//! Commands that go along with a read-ahead: which of those that wait, and which of those that arrive must not, for others wait for
//! the medium meanwhile. How far a read-ahead goes, and until when it is held, is `firmware`'s affair.

use super::queuing::Chosen;
use super::{Activity, Drive};
use crate::block::{Flags, Request};
use crate::record::Part;
use crate::time::Instant;

impl Drive {
    /// Commands that waited when a read-ahead began go along with it as if they came now: those that begin in what it brings
    /// before it gives way to them. Nobody else could have the medium until then; to pass over one that ends behind that would
    /// cost it a revolution, for its beginning has passed by then.
    #[inline(always)]
    pub(super) fn take_along(&mut self, now: Instant) {
        while !self.commands.is_empty() && self.holds_on(now) && self.takes_one_along(now) {}
    }

    #[inline(never)]
    fn takes_one_along(&mut self, now: Instant) -> bool {
        let Some((chosen, segment)) = self.next_along(now) else { return false };
        let slot = self.commands.take(chosen).slot;
        let request = self.slots[usize::from(slot)].request;
        self.slots[usize::from(slot)].ledger.until(Part::Queue, now);
        self.read_hit(now, slot, &request, segment);
        true
    }

    /// The command that goes along with the read-ahead next, in the order in which their blocks pass, and the segment.
    fn next_along(&mut self, now: Instant) -> Option<(Chosen, usize)> {
        let segment = self.filling(now)?;
        let (Activity::Prefetch(stream) | Activity::Access { then: Some(stream), .. }) = &self.activity else {
            return None;
        };
        let until = self.breaks_off(stream, self.fed_up());
        let (start, end) = self.buffer.span(segment);
        let (chosen, slot) = self.commands.lowest_by(|target| {
            let request = &self.slots[usize::from(target.slot)].request;
            let within = start <= request.lba && request.lba < end && !target.write && !request.flags.has(Flags::FUA);
            let goes = within && stream.when(self.platter(), request.lba + 1) <= until;
            goes.then_some((request.end(), request.lba))
        })?;
        let request = self.slots[usize::from(slot)].request;
        let readable = request.end() <= end || self.streams_into(now, segment, &request);
        (readable && !self.puts_off(now, &request, segment, Some(chosen))).then_some((chosen, segment))
    }

    /// A stream is read ahead of, or will be, that does not give way yet.
    #[inline(always)]
    fn holds_on(&self, now: Instant) -> bool {
        match &self.activity {
            Activity::Prefetch(stream) | Activity::Access { then: Some(stream), .. } => stream.held > now,
            _ => false,
        }
    }

    /// True when a read that goes along with a prefetch, one that arrives or was `chosen` among those that wait, would keep the
    /// medium from what waits for it, and must not: that would be waiting beyond its limit by then, or is a command that counts
    /// for more by rank or age.
    pub(super) fn puts_off(&mut self, now: Instant, request: &Request, segment: usize, chosen: Option<Chosen>) -> bool {
        let waits = !self.commands.is_empty() || self.buffer.dirty_count() > 0;
        if !waits || self.heads_queue(request) || self.filling(now) != Some(segment) {
            return false;
        }
        let (stream, earliest) = match &self.activity {
            Activity::Prefetch(stream) => (stream, now),
            Activity::Access { then: Some(stream), sweep, .. } => (stream, sweep.end),
            _ => return false,
        };
        let here = stream.when(self.platter(), request.end()).max(earliest);
        let writing = self.writing_due();
        if here <= self.breaks_off(stream, self.commands.deadline().into_iter().chain(writing).min()) {
            return false;
        }
        if writing.is_some_and(|due| due < here) {
            return true;
        }
        self.commands.overdue(here)
            || self.commands.outweighs(here, self.has_priority(request), chosen, &self.reach(here))
    }
}
