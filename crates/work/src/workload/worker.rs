//! A running worker: its next request, and when it is issued.
//!
//! ```text
//! waiting ─> running ─> settling ─> verifying ─> running (next pass) or ended
//!   start    requests,   all in      writes of
//!   delay    pauses      flight      the pass
//!                        done,       are read
//!                        flush       back
//! ```
//! At the end of the run time the worker issues nothing more: it waits for the requests in flight, then sends the last
//! flush; it does not verify. A pause that began lasts to its end, as in fio; a wait for a rate does not. A flush by
//! `fsync=N` that is a call in fio's engine holds back later requests until it is done, but not those already in
//! flight; fio repeats it before each request until the next write.
//!
//! | part | where |
//! |---|---|
//! | the next action of a worker of fio, and requests that its engine refuses | `drawing` |
//! | when fio sees completions | `reaping` |
//! | pieces to read back | `verify` |
//! | turns of the workers, tags, the counting of completions | `source` |

mod drawing;

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use seekwise_disk::block::{Flags, Limits, Op, SECTOR};
use seekwise_disk::rng::Seed;
use seekwise_disk::time::{Instant, Span};

use super::arrival::{Arrival, ThinkAction, ThinkState};
use super::fio::{FioRequest, FioStep, FioStream, WRITE, ZoneContext};
use super::iometer::{IometerStream, Transaction};
use super::job::{CountingRule, FioPattern, Generator, Pattern, Window, Worker};
use super::reaping::{ReapedEvent, Reaper, ReapingOutcome};
use super::tausworthe::{self, Seeds, Tausworthe88};
use super::verify::VerifyQueue;
use super::zoned::JobZones;

/// The purpose of a request in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestPurpose {
    /// An ordinary request.
    Plain,
    /// A write to read back, by its number.
    VerifiedWrite(u32),
    /// A flush between requests.
    Flush,
    Compute,
    /// A write that is durable only after a flush of its own; its number, or 0.
    FlushedWrite(u32),
    /// The flush of such a write: with it, the write is done.
    WriteFlush(u32),
    /// An Iometer request with a reply in the other direction.
    WithReply {
        direction: u8,
        /// Bytes of the reply.
        bytes: u32,
    },
}

/// A request to issue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkerRequest {
    pub(crate) op: Op,
    pub(crate) flags: Flags,
    pub(crate) lba: u64,
    pub(crate) sectors: u32,
    pub(crate) intended: Instant,
    pub(crate) purpose: RequestPurpose,
    /// The tag to issue it under, if it continues an earlier request.
    pub(crate) tag: Option<u32>,
}

/// The next action of a worker.
pub(crate) enum WorkerPoll {
    Issue(WorkerRequest),
    /// Nothing before this instant.
    At(Instant),
    /// Nothing before one of its requests completes.
    Wait,
    /// Nothing more; nothing is in flight.
    Ended,
}

/// The next action of a worker that only issues.
pub(crate) enum QuickPoll {
    Request(FioRequest),
    /// Nothing before one of its requests completes.
    Wait,
    /// The action is that of [`WorkerState::poll`].
    Poll,
}

/// The generator.
#[derive(Clone, Debug)]
enum Stream {
    Fio(Box<FioStream>),
    Iometer(Box<IometerStream>),
}

/// The phase of a worker's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Waiting,
    Running,
    Settling(PassEnd),
    Verifying {
        /// Another pass follows.
        has_next: bool,
    },
    Ended,
}

/// The sequel to a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PassEnd {
    /// Another pass follows.
    has_next: bool,
    /// The writes of the pass are read back.
    verifies: bool,
}

/// How writes become durable (`sync=`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteDurability {
    /// Not required.
    Cache,
    /// By FUA.
    Fua,
    /// By a flush after each.
    Flush,
}

/// A running worker.
#[derive(Clone, Debug)]
pub(crate) struct WorkerState {
    depth: u32,
    in_flight: u32,
    phase: Phase,
    stream: Stream,
    /// Requests that continue under the tags of earlier ones.
    follow_ups: VecDeque<(u32, FollowUp)>,
    /// A request that is drawn, and when it is due.
    pending: Option<(WorkerRequest, Instant)>,
    arrival: Option<Arrival>,
    think: Option<ThinkState>,
    begins: Instant,
    ramp_end: Instant,
    /// When it ended; `None` before that.
    ended: Option<Instant>,
    /// The end of its run time; `FAR` without one.
    run_end: Instant,
    is_ramping: bool,
    /// A flush is in flight that holds back later requests.
    is_flushing: bool,
    /// Nothing is issued before all requests in flight have ended.
    is_draining: bool,
    /// An offer that the engine refused, and that comes next, whatever came since it was drawn.
    refused: Option<drawing::RefusedOffer>,
    /// Another worker's request is in the zone that it needs.
    waits_for_zone: bool,
    /// Syncs are calls, not requests among others.
    syncs_are_calls: bool,
    flush_at_end: bool,
    /// Number of files, each of which is flushed at the end of a pass.
    file_count: u32,
    /// Flushes left at the end of this pass, once the end has begun.
    end_flushes_left: Option<u32>,
    /// Present if it matters when fio sees completions.
    reaper: Option<Reaper>,
    durability: WriteDurability,
    /// If some requests have priority: per cent by direction, and a random stream of their own.
    priority: Option<([u8; 3], Tausworthe88)>,
    /// Writes that are to be read back.
    verify_queue: Option<VerifyQueue>,
    start_delay: Span,
    counting: CountingRule,
    ramp: Span,
    runtime: Option<Span>,
    /// By direction: bytes of the smallest request.
    smallest_bytes: [u64; 3],
    /// The worker continues after a failed read, and after another failed request.
    survives: [bool; 2],
    has_flow: bool,
    /// The worker has no pauses and no flushes, and remembers nothing of its requests.
    is_plain: bool,
    /// The worker is plain, running, and past its ramp: [`WorkerState::poll_quickly`] serves it.
    is_quick: bool,
}

/// A request that continues an earlier one.
#[derive(Clone, Copy, Debug)]
enum FollowUp {
    /// The flush of a write, with the write's due time and its number or 0.
    Flush { intended: Instant, number: u32 },
    /// The reply to an Iometer request of `direction`.
    Reply { direction: u8, bytes: u32 },
}

impl WorkerState {
    /// Creates worker `index` of a checked job. `seed` is mixed into the seeds of fio's and Iometer's generators; 0
    /// leaves them as the job has them.
    pub(crate) fn new(
        worker: &Worker,
        index: u16,
        limits: &Limits,
        seed: Seed,
        job_zones: &mut JobZones,
    ) -> WorkerState {
        let run_seed = if seed.0 == 0 { 0 } else { seed.numbered_stream("workload", index.into()).next_u64() };
        let sector_bytes = u64::from(limits.logical);
        let stream = match &worker.pattern {
            Pattern::Fio(fio) => {
                let seeds = Seeds::new(fio.seed, fio.repeat, u64::from(index) + 1, run_seed);
                let stream = FioStream::new(fio, sector_bytes, seeds, worker.time_based).with_zones(index, job_zones);
                Stream::Fio(Box::new(stream))
            }
            Pattern::Iometer(iometer) => Stream::Iometer(Box::new(IometerStream::new(iometer, sector_bytes, run_seed))),
        };
        let fio = match &worker.pattern {
            Pattern::Fio(fio) => Some(fio),
            _ => None,
        };
        WorkerState {
            depth: worker.depth,
            in_flight: 0,
            phase: Phase::Waiting,
            stream,
            follow_ups: VecDeque::new(),
            pending: None,
            arrival: Arrival::new(&worker.pace, seed, index),
            think: worker.pace.think.map(ThinkState::new),
            begins: Instant::ZERO,
            ramp_end: Instant::ZERO,
            ended: None,
            run_end: Instant::FAR,
            is_ramping: worker.ramp > Span::ZERO,
            is_flushing: false,
            is_draining: false,
            refused: None,
            waits_for_zone: false,
            syncs_are_calls: fio.is_none_or(|fio| worker.depth == 1 || !fio.engine.kind.queues_syncs()),
            flush_at_end: fio.is_some_and(|fio| fio.flush_at_end),
            file_count: fio.map_or(0, |fio| fio.files.len() as u32),
            end_flushes_left: None,
            reaper: fio.and_then(|fio| {
                let pauses_after_completions = worker.pace.think.is_some_and(|think| !think.on_issue);
                Reaper::new(fio, worker.depth, pauses_after_completions)
            }),
            durability: match fio {
                Some(fio) if fio.write_through && limits.fua => WriteDurability::Fua,
                Some(fio) if fio.write_through && limits.volatile_cache => WriteDurability::Flush,
                _ => WriteDurability::Cache,
            },
            priority: fio.filter(|fio| fio.priority != [0; 3]).map(|fio| {
                let seeds = Seeds::new(fio.seed, fio.repeat, u64::from(index) + 1, run_seed);
                (fio.priority, Tausworthe88::new(seeds.stream_seed(tausworthe::StreamPurpose::Priority)))
            }),
            verify_queue: fio.filter(|fio| fio.verify).map(new_verify_queue),
            start_delay: worker.start_delay,
            counting: worker.counting,
            ramp: worker.ramp,
            runtime: worker.runtime,
            smallest_bytes: core::array::from_fn(|d| fio.map_or(0, |fio| fio.blocks[d].smallest())),
            survives: worker.survives,
            has_flow: worker.pace.flow.is_some(),
            is_plain: false,
            is_quick: false,
        }
        .with_plain_mark()
    }

    /// Decides whether it is plain.
    fn with_plain_mark(mut self) -> WorkerState {
        let is_paced = self.arrival.is_some() || self.think.is_some() || self.has_flow;
        let has_flushes = self.flush_at_end || self.durability != WriteDurability::Cache;
        let remembers = self.reaper.is_some() || self.verify_queue.is_some() || self.priority.is_some();
        let has_plain_requests = match &self.stream {
            Stream::Fio(fio) => !fio.has_syncs() && !fio.is_zoned(),
            Stream::Iometer(iometer) => iometer.has_only_plain_requests(),
        };
        self.is_plain = has_plain_requests && !is_paced && !has_flushes && !remembers;
        self
    }

    /// Returns the next action of a worker that only issues, as most do: that of `poll`, in fewer steps.
    #[inline(always)]
    pub(crate) fn poll_quickly(&mut self, now: Instant) -> QuickPoll {
        if !self.is_quick || now >= self.run_end {
            return QuickPoll::Poll;
        }
        if self.in_flight >= self.depth {
            return QuickPoll::Wait;
        }
        let step = match &mut self.stream {
            // A plain worker has no zones.
            Stream::Fio(fio) => {
                fio.next_step(&mut ZoneContext { job_zones: &mut JobZones::default(), in_flight: 0, quiesces: false })
            }
            Stream::Iometer(iometer) => FioStep::Request(iometer.next_transaction().request),
        };
        match step {
            FioStep::Request(request) => {
                self.in_flight += 1;
                QuickPoll::Request(request)
            }
            FioStep::Sync(_) | FioStep::Drain | FioStep::Wait => {
                unreachable!("a worker with syncs or zones is not plain")
            }
            FioStep::Pass | FioStep::End => {
                self.is_quick = false;
                self.phase = Phase::Settling(PassEnd { has_next: step == FioStep::Pass, verifies: false });
                QuickPoll::Poll
            }
        }
    }

    /// True if [`WorkerState::poll_quickly`] would return [`QuickPoll::Wait`].
    #[inline]
    pub(crate) fn is_full(&self, now: Instant) -> bool {
        self.is_quick && now < self.run_end && self.in_flight >= self.depth
    }

    /// Ends a request of a worker that only issues, and returns whether the request is counted; `None` if the worker or
    /// the request needs [`WorkerState::end_request`].
    #[inline]
    pub(crate) fn complete_quickly(
        &mut self,
        purpose: RequestPurpose,
        issued: Instant,
        finished: Instant,
    ) -> Option<bool> {
        if !self.is_quick || purpose != RequestPurpose::Plain {
            return None;
        }
        self.in_flight -= 1;
        Some(self.is_counted(issued, finished))
    }

    /// Sets the times of the worker when its stage begins.
    pub(crate) fn schedule_start(&mut self, now: Instant) {
        self.begins = now + self.start_delay;
        self.ramp_end = self.begins + self.ramp;
        self.run_end = self.runtime.map_or(Instant::FAR, |runtime| self.ramp_end + runtime);
        if let Some(arrival) = &mut self.arrival {
            arrival.begin_worker(self.begins, self.smallest_bytes);
        }
    }

    /// True if the worker would issue now, so that it must wait if it is ahead of its share of a flow.
    pub(crate) fn would_issue(&self, now: Instant) -> bool {
        let issues = matches!(self.phase, Phase::Running | Phase::Verifying { .. });
        issues && now < self.run_end && !self.is_flushing && self.follow_ups.is_empty() && self.in_flight < self.depth
    }

    /// True if a request that was issued and ended at these instants is counted.
    #[inline]
    pub(crate) fn is_counted(&self, issued: Instant, finished: Instant) -> bool {
        if self.counting == CountingRule::Window {
            return finished >= self.ramp_end && finished <= self.run_end;
        }
        if matches!(self.stream, Stream::Iometer(_)) {
            return issued >= self.ramp_end && finished <= self.run_end;
        }
        finished >= self.ramp_end
    }

    /// The time for which it is counted, at `now` or later; `None` before it has begun. fio's ends with the worker,
    /// Iometer's with the run time, whatever is in flight.
    pub(crate) fn counting_window(&self, now: Instant) -> Option<Window> {
        if self.phase == Phase::Waiting {
            return None;
        }
        let ended = self.ended.unwrap_or(now);
        let ends_with_runtime = self.counting == CountingRule::Window || matches!(self.stream, Stream::Iometer(_));
        let until = if ends_with_runtime { ended.min(self.run_end) } else { ended };
        Some(Window { from: self.ramp_end, until: until.max(self.ramp_end) })
    }

    /// Returns the next action at `now`.
    #[inline]
    pub(crate) fn poll(&mut self, now: Instant, job_zones: &mut JobZones) -> WorkerPoll {
        if let Some((tag, follow_up)) = self.follow_ups.pop_front() {
            return WorkerPoll::Issue(self.build_follow_up(now, tag, follow_up));
        }
        self.waits_for_zone = false;
        if self.is_draining && !self.end_draining(job_zones) {
            return WorkerPoll::Wait;
        }
        if self.in_flight >= self.depth || self.reap_completions(job_zones) == ReapingOutcome::MustWait {
            return WorkerPoll::Wait;
        }
        match self.phase {
            Phase::Running => self.poll_running(now, job_zones),
            Phase::Waiting if now < self.begins => WorkerPoll::At(self.begins),
            Phase::Waiting => {
                self.phase = Phase::Running;
                self.poll_running(now, job_zones)
            }
            Phase::Settling(pass_end) => self.poll_settling(now, pass_end, job_zones),
            Phase::Verifying { has_next } => self.poll_verifying(now, has_next, job_zones),
            Phase::Ended => WorkerPoll::Ended,
        }
    }

    /// Ends the draining, with all completions seen; false while requests are in flight.
    fn end_draining(&mut self, job_zones: &mut JobZones) -> bool {
        if self.in_flight > 0 {
            return false;
        }
        self.hand_over_and_see_all(job_zones);
        self.is_draining = false;
        true
    }

    /// The number of requests that fio takes to be in flight: those in flight, and those whose completion it has not seen.
    fn unfinished_for_fio(&self) -> u32 {
        self.in_flight + self.reaper.as_ref().map_or(0, Reaper::unseen_count)
    }

    /// True if it is polled again when another worker's request has ended.
    pub(crate) fn waits_for_zone(&self) -> bool {
        self.waits_for_zone
    }

    /// Sees completions, as fio does.
    fn reap_completions(&mut self, job_zones: &mut JobZones) -> ReapingOutcome {
        let sees_all = self.phase != Phase::Running;
        loop {
            let Some(reaper) = &mut self.reaper else { return ReapingOutcome::MayGoOn };
            // A thread in a call sees nothing.
            if self.is_flushing || (!sees_all && !reaper.advance_wait(self.in_flight)) {
                return match self.is_flushing || !reaper.is_waiting() {
                    true => ReapingOutcome::MayGoOn,
                    false => ReapingOutcome::MustWait,
                };
            }
            match reaper.take_unseen() {
                Some(event) => self.note_seen_completion(event, job_zones),
                None => return ReapingOutcome::MayGoOn,
            }
        }
    }

    /// Notes that fio sees a completion.
    fn note_seen_completion(&mut self, event: ReapedEvent, job_zones: &mut JobZones) {
        if let Stream::Fio(fio) = &mut self.stream {
            fio.note_seen_completion(event == ReapedEvent::Sync);
            if let ReapedEvent::Request { is_read, lba, sectors, .. } = event {
                fio.release_zone(is_read, lba, sectors, job_zones);
            }
        }
        let ReapedEvent::Request { is_read, number, .. } = event else { return };
        if let Some(verify_queue) = &mut self.verify_queue {
            verify_queue.note_seen_completion(is_read, number);
        }
        if let Some(think) = &mut self.think {
            think.record_completion();
        }
    }

    /// Hands over the queued requests and sees all completions, because fio waits before its next request.
    fn hand_over_and_see_all(&mut self, job_zones: &mut JobZones) {
        if let Some(reaper) = &mut self.reaper {
            reaper.hand_over_queued();
        }
        self.see_all(job_zones);
    }

    /// Hands over the queued requests, if any are in flight, and sees all completions, because the worker pauses.
    fn see_all_before_pause(&mut self, job_zones: &mut JobZones) {
        if let Some(reaper) = &mut self.reaper {
            reaper.hand_over_before_pause(self.in_flight);
        }
        self.see_all(job_zones);
    }

    /// Sees all completions.
    fn see_all(&mut self, job_zones: &mut JobZones) {
        while let Some(event) = self.reaper.as_mut().and_then(Reaper::take_unseen) {
            self.note_seen_completion(event, job_zones);
        }
    }

    #[inline]
    fn poll_running(&mut self, now: Instant, job_zones: &mut JobZones) -> WorkerPoll {
        if let Some(think) = self.think.as_mut().filter(|_| !self.is_flushing) {
            let action = think.next_action(now, self.in_flight);
            if !matches!(action, ThinkAction::Issue) {
                self.see_all_before_pause(job_zones);
            }
            match action {
                ThinkAction::Issue => {}
                ThinkAction::Drain => return WorkerPoll::Wait,
                ThinkAction::Compute(span) => return WorkerPoll::Issue(self.issue_compute(now, span)),
                ThinkAction::At(instant) => return WorkerPoll::At(instant),
            }
        }
        if now >= self.run_end {
            (self.pending, self.refused) = (None, None);
            return self.poll_settling(now, PassEnd { has_next: false, verifies: false }, job_zones);
        }
        if self.is_ramping && now >= self.ramp_end {
            self.leave_ramp();
        }
        self.is_quick = self.is_plain && !self.is_ramping;
        if self.is_flushing {
            return WorkerPoll::Wait;
        }
        if let Some((request, due)) = self.pending {
            if now < due {
                return self.wait_until(due);
            }
            self.pending = None;
            return self.issue_request(request);
        }
        self.next_stream_action(now, job_zones)
    }

    fn leave_ramp(&mut self) {
        self.is_ramping = false;
        if let Stream::Fio(fio) = &mut self.stream {
            fio.forget_counts();
        }
    }

    /// Returns a wait until `instant`, or until the end if that is sooner.
    fn wait_until(&self, instant: Instant) -> WorkerPoll {
        WorkerPoll::At(instant.min(self.run_end))
    }

    #[inline]
    fn next_stream_action(&mut self, now: Instant, job_zones: &mut JobZones) -> WorkerPoll {
        match &mut self.stream {
            Stream::Fio(_) => self.next_fio_action(now, job_zones),
            Stream::Iometer(iometer) => {
                let Transaction { request: drawn, delay, reply_bytes } = iometer.next_transaction();
                let due = now + delay;
                let mut request = self.build_request(drawn, due);
                if reply_bytes > 0 {
                    request.purpose =
                        RequestPurpose::WithReply { direction: drawn.direction as u8, bytes: reply_bytes };
                }
                self.issue_at(request, due, now)
            }
        }
    }

    /// Issues a request now, or waits until it is due.
    fn issue_at(&mut self, request: WorkerRequest, due: Instant, now: Instant) -> WorkerPoll {
        if now < due {
            self.pending = Some((request, due));
            return self.wait_until(due);
        }
        self.issue_request(request)
    }

    /// Ends the worker after a failed request, without a last flush, unless it survives such failures.
    #[cold]
    pub(crate) fn end_after_failure(&mut self, is_read: bool) {
        if self.survives[usize::from(!is_read)] || self.phase == Phase::Ended {
            return;
        }
        self.phase = Phase::Settling(PassEnd { has_next: false, verifies: false });
        (self.pending, self.verify_queue) = (None, None);
        (self.flush_at_end, self.is_quick) = (false, false);
    }

    /// Waits for everything in flight, issues the flushes at the end of the pass, then verifies or begins the next
    /// pass.
    fn poll_settling(&mut self, now: Instant, pass_end: PassEnd, job_zones: &mut JobZones) -> WorkerPoll {
        self.phase = Phase::Settling(pass_end);
        self.is_quick = false;
        if self.in_flight > 0 {
            return WorkerPoll::Wait;
        }
        self.see_all(job_zones);
        if let Some(flush) = self.issue_end_flush(now) {
            return WorkerPoll::Issue(flush);
        }
        if pass_end.verifies && self.verify_queue.as_ref().is_some_and(|queue| !queue.is_empty()) {
            return self.poll_verifying(now, pass_end.has_next, job_zones);
        }
        self.begin_pass_or_end(now, pass_end.has_next, job_zones)
    }

    /// Issues the flush of the next file at the end of a pass. There is none if a sync came last.
    fn issue_end_flush(&mut self, now: Instant) -> Option<WorkerRequest> {
        let Stream::Fio(fio) = &mut self.stream else { return None };
        let left = match self.end_flushes_left {
            Some(left) => left,
            None if self.flush_at_end && !fio.last_was_sync() => self.file_count,
            None => 0,
        };
        self.end_flushes_left = Some(left.saturating_sub(1));
        if left == 0 {
            return None;
        }
        fio.use_io_unit(0);
        if let Some(reaper) = self.reaper.as_mut().filter(|_| !self.syncs_are_calls) {
            reaper.hand_over_queued();
        }
        Some(self.issue_flush(now, true))
    }

    /// Reads the writes of the pass back, one after another, then begins the next pass.
    fn poll_verifying(&mut self, now: Instant, has_next: bool, job_zones: &mut JobZones) -> WorkerPoll {
        self.phase = Phase::Verifying { has_next };
        let is_run_over = now >= self.run_end;
        let first = self.verify_queue.as_mut().filter(|_| !is_run_over).and_then(|queue| queue.take_first(true));
        let unfinished_for_fio = self.unfinished_for_fio();
        if let (Some(read_back), Stream::Fio(fio)) = (first, &mut self.stream) {
            let read = read_back.to_fio_request();
            fio.count_read_back(read.bytes, unfinished_for_fio);
            self.in_flight += 1;
            if let Some(reaper) = &mut self.reaper {
                reaper.record_issue(false);
            }
            return WorkerPoll::Issue(self.build_request(read, now));
        }
        if self.in_flight > 0 {
            return WorkerPoll::Wait;
        }
        self.begin_pass_or_end(now, has_next && !is_run_over, job_zones)
    }

    /// Begins the next pass, or ends the worker if none follows.
    fn begin_pass_or_end(&mut self, now: Instant, has_next: bool, job_zones: &mut JobZones) -> WorkerPoll {
        if let Some(verify_queue) = &mut self.verify_queue {
            verify_queue.clear();
        }
        self.end_flushes_left = None;
        if let Some(reaper) = &mut self.reaper {
            reaper.end_pass();
        }
        let begins = match &mut self.stream {
            Stream::Fio(fio) if has_next => {
                fio.note_seen_completion(false);
                fio.begin_pass()
            }
            _ => has_next,
        };
        if begins {
            self.phase = Phase::Running;
            return self.poll_running(now, job_zones);
        }
        self.phase = Phase::Ended;
        self.ended = Some(now);
        WorkerPoll::Ended
    }

    /// Issues a request.
    #[inline]
    fn issue_request(&mut self, mut request: WorkerRequest) -> WorkerPoll {
        self.in_flight += 1;
        if let (Op::Write, Some(verify_queue)) = (request.op, &mut self.verify_queue) {
            let number = verify_queue.add_write(request.lba, request.sectors);
            request.purpose = match request.purpose {
                RequestPurpose::FlushedWrite(_) => RequestPurpose::FlushedWrite(number),
                _ => RequestPurpose::VerifiedWrite(number),
            };
        }
        if let Some(reaper) = &mut self.reaper {
            reaper.record_issue(false);
        }
        if let Some(think) = &mut self.think {
            think.record_issue();
        }
        WorkerPoll::Issue(request)
    }

    #[inline]
    fn build_request(&self, drawn: FioRequest, intended: Instant) -> WorkerRequest {
        let mut request = WorkerRequest {
            op: drawn.op(),
            flags: Flags::NONE,
            lba: drawn.start / SECTOR,
            sectors: (drawn.bytes / SECTOR) as u32,
            intended,
            purpose: RequestPurpose::Plain,
            tag: None,
        };
        if drawn.direction == WRITE {
            match self.durability {
                WriteDurability::Cache => {}
                WriteDurability::Fua => request.flags = Flags::FUA,
                WriteDurability::Flush => {
                    (request.purpose, request.flags) = (RequestPurpose::FlushedWrite(0), Flags::FLUSH_FOLLOWS);
                }
            }
        }
        request
    }

    /// Issues a flush; as a call it holds back later requests.
    fn issue_flush(&mut self, now: Instant, is_call: bool) -> WorkerRequest {
        self.in_flight += 1;
        self.is_flushing = is_call;
        if let Some(reaper) = &mut self.reaper {
            reaper.record_issue(is_call);
        }
        let (op, flags, purpose) = (Op::Flush, Flags::NONE, RequestPurpose::Flush);
        WorkerRequest { op, flags, lba: 0, sectors: 0, intended: now, purpose, tag: None }
    }

    /// Issues computing by the program, in whole microseconds.
    fn issue_compute(&mut self, now: Instant, span: Span) -> WorkerRequest {
        self.in_flight += 1;
        let sectors = u32::try_from(span.nanos() / 1000).unwrap_or(u32::MAX);
        let (op, flags, purpose) = (Op::Compute, Flags::NONE, RequestPurpose::Compute);
        WorkerRequest { op, flags, lba: 0, sectors, intended: now, purpose, tag: None }
    }

    /// Builds a request that continues an earlier one under its tag.
    fn build_follow_up(&mut self, now: Instant, tag: u32, follow_up: FollowUp) -> WorkerRequest {
        let request = match (follow_up, &mut self.stream) {
            (FollowUp::Reply { direction, bytes }, Stream::Iometer(iometer)) => {
                let reply = iometer.draw_reply(direction.into(), bytes);
                self.build_request(reply, now)
            }
            (FollowUp::Reply { .. }, _) => unreachable!("only Iometer replies"),
            (FollowUp::Flush { intended, number }, _) => {
                let (op, flags, purpose) = (Op::Flush, Flags::NONE, RequestPurpose::WriteFlush(number));
                WorkerRequest { op, flags, lba: 0, sectors: 0, intended, purpose, tag: None }
            }
        };
        WorkerRequest { tag: Some(tag), ..request }
    }

    /// Ends a request that completed at `now`, with or without an error. True if its tag is free; false if another
    /// request follows under the tag.
    #[inline]
    pub(crate) fn end_request(&mut self, now: Instant, answered: &AnsweredRequest, job_zones: &mut JobZones) -> bool {
        match answered.purpose {
            RequestPurpose::FlushedWrite(number) if answered.succeeded => {
                let flush = FollowUp::Flush { intended: answered.intended, number };
                self.follow_ups.push_back((answered.tag, flush));
                false
            }
            RequestPurpose::WithReply { direction, bytes } if now < self.run_end => {
                self.follow_ups.push_back((answered.tag, FollowUp::Reply { direction, bytes }));
                false
            }
            _ => {
                self.in_flight -= 1;
                if let (RequestPurpose::Compute, Some(think)) = (answered.purpose, &mut self.think) {
                    think.end_computing(now);
                }
                self.deliver_completion(answered, job_zones);
                true
            }
        }
    }

    /// Lets fio see a completion: at once for a call, and if it makes no difference when fio looks, else later.
    #[inline]
    fn deliver_completion(&mut self, answered: &AnsweredRequest, job_zones: &mut JobZones) {
        let &AnsweredRequest { lba, sectors, .. } = answered;
        let event = match answered.purpose {
            RequestPurpose::Compute => return,
            RequestPurpose::Flush => ReapedEvent::Sync,
            RequestPurpose::VerifiedWrite(number)
            | RequestPurpose::FlushedWrite(number)
            | RequestPurpose::WriteFlush(number) => ReapedEvent::Request { is_read: false, number, lba, sectors },
            RequestPurpose::Plain | RequestPurpose::WithReply { .. } => {
                ReapedEvent::Request { is_read: answered.is_read, number: 0, lba, sectors }
            }
        };
        let is_call = event == ReapedEvent::Sync && core::mem::take(&mut self.is_flushing);
        match &mut self.reaper {
            Some(reaper) if !is_call => reaper.record_completion(event),
            _ => self.note_seen_completion(event, job_zones),
        }
    }
}

/// A request that completed.
pub(crate) struct AnsweredRequest {
    pub(crate) tag: u32,
    pub(crate) purpose: RequestPurpose,
    pub(crate) intended: Instant,
    pub(crate) succeeded: bool,
    pub(crate) is_read: bool,
    pub(crate) lba: u64,
    pub(crate) sectors: u32,
}

/// The queue of the writes that a verifying pattern reads back.
fn new_verify_queue(fio: &FioPattern) -> VerifyQueue {
    let has_map = fio.random_map && fio.random != [0; 3] && fio.generator != Generator::Lfsr;
    VerifyQueue::new(has_map, fio.backlog)
}
