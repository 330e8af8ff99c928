//! The next action of a worker of fio: a read-back, a request, a sync, or one of these that its engine has put off.
//!
//! An engine may refuse a request or a sync for now (`reaping`). fio then waits for completions and offers the same request
//! or sync again, even if another would be drawn by then. Where a function returns an `Option`, `None` means done without a
//! request: the next action is drawn. Not here: whether the worker may issue at all (`worker`), which requests and syncs
//! there are (`fio`). Source: fio 3.33, `backend.c` (`do_io`, `io_queue_event`), `io_u.c` (`get_io_u`).

use seekwise_disk::block::{Flags, Op, SECTOR};
use seekwise_disk::time::Instant;

use super::{PassEnd, Stream, WorkerPoll, WorkerRequest, WorkerState};
use crate::workload::arrival::admit_by_rate;
use crate::workload::fio::{FioRequest, FioStep, FioSync, READ, ZoneContext};
use crate::workload::reaping::{EngineOffer, ReapedEvent};
use crate::workload::verify::VerifyQueue;
use crate::workload::zoned::JobZones;

/// A sync or a request that the engine refused for now.
#[derive(Clone, Copy, Debug)]
pub(super) enum PutOff {
    Sync(FioSync),
    Request(WorkerRequest),
}

impl WorkerState {
    /// Returns the next action of a running worker of fio. The order: an offer that was put off, a read-back that is due,
    /// a wait for the rate, the stream's next step.
    #[inline]
    pub(super) fn draw_fio(&mut self, now: Instant, spaces: &mut JobZones) -> WorkerPoll {
        if let Some(put_off) = self.put_off.take()
            && let Some(polled) = self.offer_again(put_off, now, spaces)
        {
            return polled;
        }
        let held = self.requests_held();
        let Stream::Fio(fio) = &mut self.stream else { return WorkerPoll::Ended };
        let backlog = self.written.as_mut().filter(|_| !fio.ends_now());
        if let Some((lba, sectors)) = backlog.and_then(VerifyQueue::take_due) {
            let draw = FioRequest { direction: READ, start: lba * SECTOR, bytes: u64::from(sectors) * SECTOR };
            fio.count_read_back(draw.bytes, held);
            let issue = self.build_request(draw, now);
            if let Some(thinking) = &mut self.thinking {
                thinking.discount_read_back();
            }
            return self.issue_or_put_off(issue, now, spaces);
        }
        let mut intended = now;
        if let Some(arrival) = &self.arrival
            && let Some(direction) = fio.peek_direction()
        {
            match admit_by_rate(arrival, fio, direction, now) {
                Ok(due) => intended = due.unwrap_or(now),
                Err(due) => {
                    self.see_before_request(spaces);
                    return self.wait_until(due);
                }
            }
        }
        loop {
            let held = self.requests_held();
            let Stream::Fio(fio) = &mut self.stream else { return WorkerPoll::Ended };
            let mut around = ZoneContext { spaces, in_flight: held, quiesces: false };
            let drawn = fio.next(&mut around);
            if around.quiesces && held == 0 {
                self.see_before_request(spaces);
            }
            return match drawn {
                FioStep::Request(draw) => {
                    if let Some(arrival) = &mut self.arrival {
                        arrival.record_issue(draw.direction, draw.bytes);
                    }
                    let mut issue = self.build_request(draw, intended);
                    issue.flags = issue.flags.with(self.draw_priority(draw.direction));
                    self.issue_or_put_off(issue, now, spaces)
                }
                FioStep::Sync(sync) if self.check_refusal(EngineOffer::Sync) => {
                    self.put_off(PutOff::Sync(sync), now, spaces)
                }
                FioStep::Sync(sync) => match self.issue_sync(sync, now, spaces) {
                    Some(polled) => polled,
                    None => self.draw_fio(now, spaces),
                },
                FioStep::Pass => self.poll_settling(now, PassEnd { again: true, verify: true }, spaces),
                FioStep::End => self.poll_settling(now, PassEnd { again: false, verify: true }, spaces),
                // All requests are done, but fio has not seen that.
                FioStep::Drain | FioStep::Wait if held > self.in_flight && self.in_flight == 0 => {
                    self.see_before_request(spaces);
                    continue;
                }
                FioStep::Drain | FioStep::Wait => {
                    // Until the worker's own requests are done.
                    (self.draining, self.zone_taken) = (true, drawn == FioStep::Wait);
                    WorkerPoll::Wait
                }
            };
        }
    }

    /// Checks whether the engine refuses an offer for now.
    fn check_refusal(&mut self, offer: EngineOffer) -> bool {
        let in_flight = self.in_flight;
        self.reaping.as_mut().is_some_and(|reaping| reaping.check_refusal(offer, in_flight))
    }

    /// Issues a request, now or once the engine takes it.
    fn issue_or_put_off(&mut self, issue: WorkerRequest, now: Instant, spaces: &mut JobZones) -> WorkerPoll {
        if self.check_refusal(EngineOffer::Request) {
            self.put_off(PutOff::Request(issue), now, spaces)
        } else {
            self.issue_request(issue)
        }
    }

    fn put_off(&mut self, refused: PutOff, now: Instant, spaces: &mut JobZones) -> WorkerPoll {
        self.put_off = Some(refused);
        if let PutOff::Request(issue) = refused {
            if let Some(thinking) = &mut self.thinking {
                thinking.record_offer();
            }
            if let (Op::Write, Some(written)) = (issue.op, &mut self.written) {
                written.put_off(issue.lba, issue.sectors);
            }
        }
        if self.reap_completions(spaces) { self.poll_running(now, spaces) } else { WorkerPoll::Wait }
    }

    /// Issues a sync or request that was put off.
    fn offer_again(&mut self, refused: PutOff, now: Instant, spaces: &mut JobZones) -> Option<WorkerPoll> {
        if let Some(written) = &mut self.written {
            written.count_offer_again();
        }
        match refused {
            PutOff::Sync(sync) => self.issue_sync(sync, now, spaces),
            PutOff::Request(issue) => {
                // fio's time counts from here, unless the request is due at an instant.
                let intended = if self.arrival.is_some() { issue.intended } else { now };
                Some(self.issue_request(WorkerRequest { intended, ..issue }))
            }
        }
    }

    /// Issues a sync. A sync of a range does not concern the drive.
    fn issue_sync(&mut self, sync: FioSync, now: Instant, spaces: &mut JobZones) -> Option<WorkerPoll> {
        match sync {
            FioSync::Flush => Some(WorkerPoll::Issue(self.issue_flush(now, self.calls))),
            FioSync::FileRange => (!self.sync_file_range(spaces)).then_some(WorkerPoll::Wait),
        }
    }

    /// Syncs a range of the page cache, which is done at once. False: fio waits for more completions.
    fn sync_file_range(&mut self, spaces: &mut JobZones) -> bool {
        match &mut self.reaping {
            Some(reaping) if !self.calls => {
                reaping.record_issue(false);
                reaping.record_completion(ReapedEvent::Sync);
                self.reap_completions(spaces)
            }
            _ => {
                self.see_completion(ReapedEvent::Sync, spaces);
                true
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
