//! The next action of a worker of fio: a read-back, a request, or a sync, also one that its engine refused before.
//!
//! An engine may refuse a request or a sync for now (`reaping`). fio then waits for completions and offers the same
//! request or sync again, even if another would be drawn by then. A sync of the page cache needs no request; functions
//! return `None` then, and the next action is drawn. Source: fio 3.33, `backend.c` (`do_io`, `io_queue_event`),
//! `io_u.c` (`get_io_u`).

use seekwise_disk::block::{Flags, Op};
use seekwise_disk::time::Instant;

use super::{PassEnd, Stream, WorkerPoll, WorkerRequest, WorkerState};
use crate::workload::arrival::admit_by_rate;
use crate::workload::fio::{FioStep, FioSync, ZoneContext};
use crate::workload::reaping::{EngineOffer, ReapedEvent, ReapingOutcome};
use crate::workload::verify::VerifyQueue;
use crate::workload::zoned::JobZones;

/// A sync or a request that the engine refused for now.
#[derive(Clone, Copy, Debug)]
pub(super) enum RefusedOffer {
    Sync(FioSync),
    Request(WorkerRequest),
}

impl WorkerState {
    /// Returns the next action of a running worker of fio: an offer that was refused before, else a read-back that is
    /// due, else a wait for the rate, else the stream's next step.
    #[inline]
    pub(super) fn next_fio_action(&mut self, now: Instant, job_zones: &mut JobZones) -> WorkerPoll {
        if let Some(refused) = self.refused.take()
            && let Some(polled) = self.offer_again(refused, now, job_zones)
        {
            return polled;
        }
        let unfinished_for_fio = self.unfinished_for_fio();
        let Stream::Fio(fio) = &mut self.stream else { return WorkerPoll::Ended };
        let backlog = self.verify_queue.as_mut().filter(|_| !fio.ends_now());
        if let Some(read_back) = backlog.and_then(VerifyQueue::take_due) {
            let read = read_back.to_fio_request();
            fio.count_read_back(read.bytes, unfinished_for_fio);
            let request = self.build_request(read, now);
            // Blocks that are read back do not count towards a pause.
            self.think.iter_mut().for_each(|think| think.discount_read_back());
            return self.offer_request(request, now, job_zones);
        }
        let mut intended = now;
        // A rate may hold the request back, so its direction is chosen before it is drawn.
        if let Some(arrival) = &self.arrival
            && let Some(direction) = fio.choose_direction_early()
        {
            match admit_by_rate(arrival, fio, direction, now) {
                Ok(due) => intended = due.unwrap_or(now),
                Err(due) => {
                    self.hand_over_and_see_all(job_zones);
                    return self.wait_until(due);
                }
            }
        }
        loop {
            let unfinished_for_fio = self.unfinished_for_fio();
            let Stream::Fio(fio) = &mut self.stream else { return WorkerPoll::Ended };
            let mut context = ZoneContext { job_zones, in_flight: unfinished_for_fio, quiesces: false };
            let step = fio.next_step(&mut context);
            // fio's wait for all requests ends at once if there are none, but a batch to hand over begins anew.
            if context.quiesces && unfinished_for_fio == 0 {
                self.hand_over_and_see_all(job_zones);
            }
            return match step {
                FioStep::Request(drawn) => {
                    if let Some(arrival) = &mut self.arrival {
                        arrival.record_issue(drawn.direction, drawn.bytes);
                    }
                    let mut request = self.build_request(drawn, intended);
                    request.flags = request.flags.with(self.draw_priority(drawn.direction));
                    self.offer_request(request, now, job_zones)
                }
                FioStep::Sync(sync) if self.wait_if_refused(EngineOffer::Sync) => {
                    self.wait_after_refusal(RefusedOffer::Sync(sync), now, job_zones)
                }
                FioStep::Sync(sync) => match self.issue_sync(sync, now, job_zones) {
                    Some(polled) => polled,
                    None => self.next_fio_action(now, job_zones),
                },
                FioStep::Pass => self.poll_settling(now, PassEnd { has_next: true, verifies: true }, job_zones),
                FioStep::End => self.poll_settling(now, PassEnd { has_next: false, verifies: true }, job_zones),
                // All requests are done, but fio has not seen that.
                FioStep::Drain | FioStep::Wait if unfinished_for_fio > 0 && self.in_flight == 0 => {
                    self.hand_over_and_see_all(job_zones);
                    continue;
                }
                FioStep::Drain | FioStep::Wait => {
                    // The worker's own requests must be done first.
                    (self.is_draining, self.waits_for_zone) = (true, step == FioStep::Wait);
                    WorkerPoll::Wait
                }
            };
        }
    }

    /// Returns true if the engine refuses an offer for now; fio then waits for completions.
    fn wait_if_refused(&mut self, offer: EngineOffer) -> bool {
        let in_flight = self.in_flight;
        self.reaper.as_mut().is_some_and(|reaper| reaper.wait_if_refused(offer, in_flight))
    }

    /// Issues a request, now or once the engine takes it.
    fn offer_request(&mut self, request: WorkerRequest, now: Instant, job_zones: &mut JobZones) -> WorkerPoll {
        if self.wait_if_refused(EngineOffer::Request) {
            self.wait_after_refusal(RefusedOffer::Request(request), now, job_zones)
        } else {
            self.issue_request(request)
        }
    }

    /// Keeps a refused offer for later, and sees completions or waits for them.
    fn wait_after_refusal(&mut self, refused: RefusedOffer, now: Instant, job_zones: &mut JobZones) -> WorkerPoll {
        self.refused = Some(refused);
        // fio checks for a pause even after a refusal. It has also dropped what the refused write overlaps from the read-backs.
        if let RefusedOffer::Request(request) = refused {
            if let Some(think) = &mut self.think {
                think.record_refused_offer();
            }
            if let (Op::Write, Some(verify_queue)) = (request.op, &mut self.verify_queue) {
                verify_queue.drop_overlapped(request.lba, request.sectors);
            }
        }
        match self.reap_completions(job_zones) {
            ReapingOutcome::MayGoOn => self.poll_running(now, job_zones),
            ReapingOutcome::MustWait => WorkerPoll::Wait,
        }
    }

    /// Issues a sync or a request that was refused before.
    fn offer_again(&mut self, refused: RefusedOffer, now: Instant, job_zones: &mut JobZones) -> Option<WorkerPoll> {
        // fio counts a repeated offer as a read-back if one is due.
        if let Some(verify_queue) = &mut self.verify_queue {
            verify_queue.count_offer_again();
        }
        match refused {
            RefusedOffer::Sync(sync) => self.issue_sync(sync, now, job_zones),
            RefusedOffer::Request(request) => {
                // fio's response time counts from here, unless the request is due at an instant.
                let intended = if self.arrival.is_some() { request.intended } else { now };
                Some(self.issue_request(WorkerRequest { intended, ..request }))
            }
        }
    }

    /// Issues a sync. A sync of a range of the page cache needs no request.
    fn issue_sync(&mut self, sync: FioSync, now: Instant, job_zones: &mut JobZones) -> Option<WorkerPoll> {
        match sync {
            FioSync::Flush => Some(WorkerPoll::Issue(self.issue_flush(now, self.syncs_are_calls))),
            FioSync::FileRange => match self.finish_file_range_sync(job_zones) {
                ReapingOutcome::MayGoOn => None,
                ReapingOutcome::MustWait => Some(WorkerPoll::Wait),
            },
        }
    }

    /// Finishes a sync of a range of the page cache, which takes no time; fio may then wait for more completions.
    fn finish_file_range_sync(&mut self, job_zones: &mut JobZones) -> ReapingOutcome {
        match &mut self.reaper {
            Some(reaper) if !self.syncs_are_calls => {
                reaper.record_issue(false);
                reaper.record_completion(ReapedEvent::Sync);
                self.reap_completions(job_zones)
            }
            _ => {
                self.note_seen_completion(ReapedEvent::Sync, job_zones);
                ReapingOutcome::MayGoOn
            }
        }
    }

    /// Draws the priority of a request: as in fio, only in a direction with a share of priority requests.
    fn draw_priority(&mut self, direction: usize) -> Flags {
        let Some((percent, random)) = &mut self.priority else {
            return Flags::NONE;
        };
        match percent[direction] {
            0 => Flags::NONE,
            share if random.next_percent() <= share => Flags::PRIORITY,
            _ => Flags::NONE,
        }
    }
}
