//! Reads served by a read-ahead in progress: which waiting reads join it, and which arriving ones must not because
//! other work waits for the medium. `read_ahead` decides how far a read-ahead goes, and until when it is held.

use super::Drive;
use super::queuing::CandidateChoice;
use crate::block::{Flags, Request};
use crate::record::Part;
use crate::time::Instant;

impl Drive {
    /// Serves waiting reads from the read-ahead in progress, if their first block passes before it gives way to them.
    /// Nothing else could have the medium until then, and a read passed over because it ends later would lose a
    /// revolution: its first block would have passed.
    #[inline(always)]
    pub(super) fn serve_from_read_ahead(&mut self, now: Instant) {
        while !self.queue.is_empty() && self.is_read_ahead_held(now) && self.serve_next_from_read_ahead(now) {}
    }

    #[inline(never)]
    fn serve_next_from_read_ahead(&mut self, now: Instant) -> bool {
        let Some((chosen, segment)) = self.next_read_ahead_hit(now) else { return false };
        let slot = self.queue.take(chosen).slot;
        let request = self.electronics[slot].request;
        self.electronics[slot].ledger.book_until(Part::Queue, now);
        self.serve_read_hit(now, slot, &request, segment);
        true
    }

    /// Next waiting read that the read-ahead serves, lowest end first, and the segment.
    fn next_read_ahead_hit(&mut self, now: Instant) -> Option<(CandidateChoice, usize)> {
        let segment = self.medium.filling_segment(now)?;
        let (stream, _) = self.medium.current_read_ahead()?;
        let until = self.read_ahead_yields_at(stream, self.interruption_deadline());
        let (start, end) = self.buffer.span(segment);
        let (chosen, slot) = self.queue.lowest_by(|target| {
            let request = &self.electronics[target.slot].request;
            let within = start <= request.lba && request.lba < end && !target.write && !request.flags.has(Flags::FUA);
            let goes = within && stream.arrival_before(self.medium.platter(), request.lba + 1) <= until;
            goes.then_some((request.end(), request.lba))
        })?;
        let request = self.electronics[slot].request;
        let readable = request.end() <= end || self.streams_into(now, segment, &request);
        (readable && !self.must_yield_medium(now, &request, segment, Some(chosen))).then_some((chosen, segment))
    }

    /// True if a read-ahead, running or to follow the access in progress, does not give way yet.
    #[inline(always)]
    fn is_read_ahead_held(&self, now: Instant) -> bool {
        self.medium.current_read_ahead().is_some_and(|(stream, _)| stream.held > now)
    }

    /// True if a read, arriving or `chosen` among those that wait, must not be served by the prefetch, because it would
    /// delay waiting work that goes first: work over its limit by then, or a command of higher rank or age. An arriving
    /// read that delays other work and is served nevertheless counts as a turn of the waiting commands.
    pub(super) fn must_yield_medium(
        &mut self,
        now: Instant,
        request: &Request,
        segment: usize,
        chosen: Option<CandidateChoice>,
    ) -> bool {
        let waits = !self.queue.is_empty() || self.buffer.dirty_count() > 0;
        if !waits || self.electronics.goes_to_head(request) || self.medium.filling_segment(now) != Some(segment) {
            return false;
        }
        let Some((stream, begun)) = self.medium.current_read_ahead() else { return false };
        let here = stream.arrival_before(self.medium.platter(), request.end()).max(begun.unwrap_or(now));
        let writing = self.destage_deadline();
        if here <= self.read_ahead_yields_at(stream, self.queue.deadline().into_iter().chain(writing).min()) {
            return false;
        }
        if writing.is_some_and(|due| due < here) {
            return true;
        }
        let waits = self.queue.is_overdue(here)
            || self.queue.waiting_goes_first(
                here,
                self.electronics.has_priority(request),
                chosen,
                &self.medium.positioning_costs(here),
            );
        if !waits && chosen.is_none() {
            self.queue.count_passed_turn();
        }
        waits
    }
}
