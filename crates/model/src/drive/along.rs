//! Commands that go along with a read-ahead: which of those that wait, and which of those that arrive must not, for others wait for
//! the medium meanwhile. How far a read-ahead goes, and until when it is held, is `firmware`'s affair.

use super::Drive;
use super::queuing::CandidateChoice;
use crate::block::{Flags, Request};
use crate::record::Part;
use crate::time::Instant;

impl Drive {
    /// Commands that waited when a read-ahead began go along with it as if they came now: those that begin in what it brings
    /// before it gives way to them. Nobody else could have the medium until then; to pass over one that ends behind that would
    /// cost it a revolution, for its beginning has passed by then.
    #[inline(always)]
    pub(super) fn take_along(&mut self, now: Instant) {
        while !self.queue.is_empty() && self.holds_on(now) && self.takes_one_along(now) {}
    }

    #[inline(never)]
    fn takes_one_along(&mut self, now: Instant) -> bool {
        let Some((chosen, segment)) = self.next_along(now) else { return false };
        let slot = self.queue.take(chosen).slot;
        let request = self.electronics[slot].request;
        self.electronics[slot].ledger.until(Part::Queue, now);
        self.read_hit(now, slot, &request, segment);
        true
    }

    /// The command that goes along with the read-ahead next, in the order in which their blocks pass, and the segment.
    fn next_along(&mut self, now: Instant) -> Option<(CandidateChoice, usize)> {
        let segment = self.medium.filling(now)?;
        let (stream, _) = self.medium.reading_ahead()?;
        let until = self.breaks_off(stream, self.fed_up());
        let (start, end) = self.buffer.span(segment);
        let (chosen, slot) = self.queue.lowest_by(|target| {
            let request = &self.electronics[target.slot].request;
            let within = start <= request.lba && request.lba < end && !target.write && !request.flags.has(Flags::FUA);
            let goes = within && stream.when(self.medium.platter(), request.lba + 1) <= until;
            goes.then_some((request.end(), request.lba))
        })?;
        let request = self.electronics[slot].request;
        let readable = request.end() <= end || self.streams_into(now, segment, &request);
        (readable && !self.puts_off(now, &request, segment, Some(chosen))).then_some((chosen, segment))
    }

    /// A stream is read ahead of, or will be, that does not give way yet.
    #[inline(always)]
    fn holds_on(&self, now: Instant) -> bool {
        self.medium.reading_ahead().is_some_and(|(stream, _)| stream.held > now)
    }

    /// True when a read that goes along with a prefetch, one that arrives or was `chosen` among those that wait, would keep the
    /// medium from what waits for it, and must not: that would be waiting beyond its limit by then, or is a command that counts
    /// for more by rank or age.
    pub(super) fn puts_off(
        &mut self,
        now: Instant,
        request: &Request,
        segment: usize,
        chosen: Option<CandidateChoice>,
    ) -> bool {
        let waits = !self.queue.is_empty() || self.buffer.dirty_count() > 0;
        if !waits || self.electronics.heads_queue(request) || self.medium.filling(now) != Some(segment) {
            return false;
        }
        let Some((stream, begun)) = self.medium.reading_ahead() else { return false };
        let here = stream.when(self.medium.platter(), request.end()).max(begun.unwrap_or(now));
        let writing = self.writing_due();
        if here <= self.breaks_off(stream, self.queue.deadline().into_iter().chain(writing).min()) {
            return false;
        }
        if writing.is_some_and(|due| due < here) {
            return true;
        }
        let waits = self.queue.overdue(here)
            || self.queue.outweighs(here, self.electronics.has_priority(request), chosen, &self.medium.reach(here));
        if !waits && chosen.is_none() {
            self.queue.turn_passed();
        }
        waits
    }
}
