//! Reads that a read-ahead in progress serves, without an access of their own: which waiting reads it serves, and which
//! reads it must not serve because that would delay other work. `read_ahead` decides how far a read-ahead goes, and
//! until when it is held.

use super::Drive;
use super::medium::CurrentReadAhead;
use super::queuing::CandidateChoice;
use crate::block::{Flags, Request};
use crate::record::Part;
use crate::time::Instant;

impl Drive {
    /// Serves waiting reads from the read-ahead in progress, if their first block passes before it gives way to waiting
    /// work. Nothing else could have the medium until then. A read that is not served because it ends later would lose
    /// a revolution: its first block would have passed.
    #[inline(always)]
    pub(super) fn serve_from_read_ahead(&mut self, now: Instant) {
        while !self.queue.is_empty() && self.is_read_ahead_held(now) && self.serve_next_from_read_ahead(now) {}
    }

    /// Serves the next waiting read from the read-ahead. Returns false if there is none.
    #[inline(never)]
    fn serve_next_from_read_ahead(&mut self, now: Instant) -> bool {
        let Some((chosen, segment)) = self.next_read_ahead_hit(now) else { return false };
        let slot = self.queue.take(chosen).slot;
        let request = self.electronics[slot].request;
        self.electronics[slot].ledger.book_until(Part::Queue, now);
        self.serve_read_hit(now, slot, &request, segment);
        true
    }

    /// The waiting read with the lowest end that the read-ahead may serve, and the segment.
    fn next_read_ahead_hit(&mut self, now: Instant) -> Option<(CandidateChoice, usize)> {
        let segment = self.medium.filling_segment(now)?;
        let stream = self.medium.current_read_ahead()?.stream;
        let yields_at = self.read_ahead_yields_at(stream, self.interruption_deadline());
        let (start, end) = self.buffer.block_bounds(segment);
        let (chosen, slot) = self.queue.lowest_by(|target| {
            let request = &self.electronics[target.slot].request;
            let within = start <= request.lba && request.lba < end && !target.write && !request.flags.has(Flags::FUA);
            let in_time = within && stream.arrival_before(self.medium.platter(), request.lba + 1) <= yields_at;
            in_time.then_some((request.end(), request.lba))
        })?;
        let request = self.electronics[slot].request;
        let comes_whole = request.end() <= end || self.read_ahead_may_bring(now, segment, &request);
        (comes_whole && !self.must_yield_medium(now, &request, segment, Some(chosen))).then_some((chosen, segment))
    }

    /// True if a read-ahead, running or to follow the access in progress, does not give way yet.
    #[inline(always)]
    fn is_read_ahead_held(&self, now: Instant) -> bool {
        self.medium.current_read_ahead().is_some_and(|current| current.stream.held_until > now)
    }

    /// True if a read, arriving or `chosen` among those that wait, must not be served by the read-ahead into `segment`,
    /// because that would delay waiting work that goes first: work over its limit by then, or a command of higher rank
    /// or age. If an arriving read may delay other work, a turn of the waiting commands is counted.
    pub(super) fn must_yield_medium(
        &mut self,
        now: Instant,
        request: &Request,
        segment: usize,
        chosen: Option<CandidateChoice>,
    ) -> bool {
        let work_waits = !self.queue.is_empty() || self.buffer.dirty_count() > 0;
        if !work_waits || self.electronics.goes_to_head(request) || self.medium.filling_segment(now) != Some(segment) {
            return false;
        }
        let Some(CurrentReadAhead { stream, starts_at }) = self.medium.current_read_ahead() else { return false };
        let served_at = stream.arrival_before(self.medium.platter(), request.end()).max(starts_at.unwrap_or(now));
        let destage_deadline = self.destage_deadline();
        let deadline = self.queue.deadline().into_iter().chain(destage_deadline).min();
        if served_at <= self.read_ahead_yields_at(stream, deadline) {
            return false;
        }
        if destage_deadline.is_some_and(|deadline| deadline < served_at) {
            return true;
        }
        let must_yield = self.queue.is_overdue(served_at)
            || self.queue.waiting_goes_first(
                served_at,
                self.electronics.has_priority(request),
                chosen,
                &self.medium.positioning_costs(served_at),
            );
        if !must_yield && chosen.is_none() {
            self.queue.count_outside_turn();
        }
        must_yield
    }
}
