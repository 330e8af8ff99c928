//! A running worker: its next request, and when it is issued.
//!
//! ```text
//! waiting ─> running ─> settling ─> verifying ─> running (next pass) or ended
//!   start    requests,   all in      what the
//!   delay    pauses      flight      pass wrote
//!                        done,       is read
//!                        flush       back
//! ```
//! The end of the run time stops the issuing: the worker waits for the requests in flight, then sends the last flush; it
//! does not verify. A pause that began lasts to its end, as in fio; a wait for a rate does not. A flush by `fsync=N`
//! that is a call in fio's engine holds back later requests until it is done, but not those already in flight; fio
//! repeats it before each request until the next write. When fio sees completions: `reaping`.
//!
//! Not here: which worker is next, tags, how a completion is counted (see `source`), what is read back (`verify`), what
//! fio draws next and what its engine puts off (`drawing`).

mod drawing;

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use seekwise_disk::block::{Flags, Limits, Op, SECTOR};
use seekwise_disk::rng::Seed;
use seekwise_disk::time::{Instant, Span};

use super::arrival::{Arrival, ThinkAction, ThinkState};
use super::fio::{FioRequest, FioStep, FioStream, READ, WRITE, ZoneContext};
use super::iometer::IometerStream;
use super::job::{CountingRule, FioPattern, Pattern, Window, Worker};
use super::reaping::{ReapedEvent, Reaper};
use super::tausworthe::{self, Seeds, Tausworthe88};
use super::verify::VerifyQueue;
use super::zoned::JobZones;

/// The purpose of a request in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestPurpose {
    /// An ordinary request.
    Plain,
    /// A write to read back, by its number.
    Kept(u32),
    /// A flush between requests.
    Flush,
    Compute,
    /// A write that is durable only after a flush of its own; its number, or 0.
    Pair(u32),
    /// The flush of such a write: with it, the write is done.
    Forced(u32),
    /// An Iometer request with a reply in the other direction.
    Ask {
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

/// The short answer of a worker.
pub(crate) enum QuickPoll {
    Draw(FioRequest),
    /// Nothing before one of its requests completes.
    Wait,
    /// Call `poll`.
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
    Verifying { again: bool },
    Ended,
}

/// The sequel to a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PassEnd {
    /// Another pass follows.
    again: bool,
    /// The writes of the pass are read back.
    verify: bool,
}

/// How writes become durable (`sync=`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteDurability {
    /// Not required.
    Cache,
    /// By FUA.
    Fua,
    /// By a flush after each.
    Pair,
}

/// A running worker.
#[derive(Clone, Debug)]
pub(crate) struct WorkerState {
    depth: u32,
    in_flight: u32,
    phase: Phase,
    stream: Stream,
    /// Requests that continue under the tag of an earlier one: the flush of a pair, an Iometer reply.
    follow: VecDeque<(u32, FollowUp)>,
    /// Drawn, and due at this instant.
    pending: Option<(WorkerRequest, Instant)>,
    arrival: Option<Arrival>,
    thinking: Option<ThinkState>,
    begin: Instant,
    ramp_end: Instant,
    /// When it ended; `None` before that.
    ended: Option<Instant>,
    /// `FAR` without a run time.
    end: Instant,
    ramping: bool,
    /// A flush is in flight that holds back later requests.
    flushing: bool,
    /// Nothing is issued before all in flight has ended.
    draining: bool,
    /// Refused by the engine; comes next, whatever came since it was drawn.
    put_off: Option<drawing::PutOff>,
    /// Another worker's request is in the zone that it needs.
    zone_taken: bool,
    /// Syncs are calls, not requests among others.
    calls: bool,
    flush_at_end: bool,
    /// Files to flush at the end of a pass; how many are left at this end, once it has begun.
    files: u32,
    closing: Option<u32>,
    /// If it matters when fio sees completions.
    reaping: Option<Reaper>,
    through: WriteDurability,
    /// If some requests have priority: per cent by direction, and a random stream of their own.
    priority: Option<([u8; 3], Tausworthe88)>,
    /// Writes that are to be read back.
    written: Option<VerifyQueue>,
    start_delay: Span,
    counting: CountingRule,
    ramp: Span,
    runtime: Option<Span>,
    smallest: [u64; 3],
    /// Goes on after a failed read, and after another failed request.
    survives: [bool; 2],
    /// Whether it keeps a share of a flow.
    flows: bool,
    /// No pauses, no flushes, nothing to remember: the short way through `poll` serves it.
    plain: bool,
    /// Plain, running, and past its ramp: it takes that short way.
    cruising: bool,
}

#[derive(Clone, Copy, Debug)]
enum FollowUp {
    Flush(Instant, u32),
    Answer(u8, u32),
}

impl WorkerState {
    /// Worker `index` of a checked job. Streams differ by `seed`; 0 leaves those of fio and Iometer as the job has
    /// them.
    pub(crate) fn new(worker: &Worker, index: u16, limits: &Limits, seed: Seed, spaces: &mut JobZones) -> WorkerState {
        let run = if seed.0 == 0 { 0 } else { seed.numbered_stream("workload", index.into()).next_u64() };
        let sector = u64::from(limits.logical);
        let stream = match &worker.pattern {
            Pattern::Fio(fio) => {
                let seeds = Seeds::new(fio.seed, fio.repeat, u64::from(index) + 1, run);
                let stream = FioStream::new(fio, sector, seeds, worker.time_based).with_zones(index, spaces);
                Stream::Fio(Box::new(stream))
            }
            Pattern::Iometer(iometer) => Stream::Iometer(Box::new(IometerStream::new(iometer, sector, run))),
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
            follow: VecDeque::new(),
            pending: None,
            arrival: Arrival::new(&worker.pace, seed, index),
            thinking: worker.pace.think.map(ThinkState::new),
            begin: Instant::ZERO,
            ramp_end: Instant::ZERO,
            ended: None,
            end: Instant::FAR,
            ramping: worker.ramp > Span::ZERO,
            flushing: false,
            draining: false,
            put_off: None,
            zone_taken: false,
            calls: fio.is_none_or(|fio| worker.depth == 1 || !fio.engine.kind.queues_syncs()),
            flush_at_end: fio.is_some_and(|fio| fio.flush_at_end),
            files: fio.map_or(0, |fio| fio.files.len() as u32),
            closing: None,
            reaping: fio.and_then(|fio| {
                let pauses = worker.pace.think.is_some_and(|think| !think.on_issue);
                Reaper::new(fio, worker.depth, pauses)
            }),
            through: match fio {
                Some(fio) if fio.write_through && limits.fua => WriteDurability::Fua,
                Some(fio) if fio.write_through && limits.volatile_cache => WriteDurability::Pair,
                _ => WriteDurability::Cache,
            },
            priority: fio.filter(|fio| fio.priority != [0; 3]).map(|fio| {
                let seeds = Seeds::new(fio.seed, fio.repeat, u64::from(index) + 1, run);
                (fio.priority, Tausworthe88::new(seeds.stream_seed(tausworthe::StreamPurpose::Priority)))
            }),
            written: fio.filter(|fio| fio.verify).map(verify_queue),
            start_delay: worker.start_delay,
            counting: worker.counting,
            ramp: worker.ramp,
            runtime: worker.runtime,
            smallest: core::array::from_fn(|d| fio.map_or(0, |fio| fio.blocks[d].smallest())),
            survives: worker.survives,
            flows: worker.pace.flow.is_some(),
            plain: false,
            cruising: false,
        }
        .mark_plain()
    }

    fn mark_plain(mut self) -> WorkerState {
        let paced = self.arrival.is_some() || self.thinking.is_some() || self.flows;
        let durable = self.flush_at_end || self.through != WriteDurability::Cache || self.reaping.is_some();
        let draws = match &self.stream {
            Stream::Fio(fio) => !fio.has_syncs() && !fio.is_zoned(),
            Stream::Iometer(iometer) => iometer.only_draws(),
        };
        self.plain = draws && !paced && !durable && self.written.is_none() && self.priority.is_none();
        self
    }

    /// Draws the next request of a worker that only issues, as most do: the result of `poll` in fewer steps.
    #[inline(always)]
    pub(crate) fn poll_quickly(&mut self, now: Instant) -> QuickPoll {
        if !self.cruising || now >= self.end {
            return QuickPoll::Poll;
        }
        if self.in_flight >= self.depth {
            return QuickPoll::Wait;
        }
        let drawn = match &mut self.stream {
            // A plain worker has no zones.
            Stream::Fio(fio) => {
                fio.next(&mut ZoneContext { spaces: &mut JobZones::default(), in_flight: 0, quiesces: false })
            }
            Stream::Iometer(iometer) => FioStep::Request(iometer.next().draw),
        };
        match drawn {
            FioStep::Request(draw) => {
                self.in_flight += 1;
                QuickPoll::Draw(draw)
            }
            FioStep::Sync(_) | FioStep::Drain | FioStep::Wait => {
                unreachable!("a worker with syncs or zones does not cruise")
            }
            ended => {
                self.cruising = false;
                self.phase = Phase::Settling(PassEnd { again: ended == FioStep::Pass, verify: false });
                QuickPoll::Poll
            }
        }
    }

    /// True if the short answer would be [`QuickPoll::Wait`].
    #[inline]
    pub(crate) fn is_full(&self, now: Instant) -> bool {
        self.cruising && now < self.end && self.in_flight >= self.depth
    }

    /// Completes a request of a worker that only issues, and returns whether it counts; `None` if the request must be completed in full.
    #[inline]
    pub(crate) fn complete_quickly(
        &mut self,
        purpose: RequestPurpose,
        issued: Instant,
        finished: Instant,
    ) -> Option<bool> {
        if !self.cruising || purpose != RequestPurpose::Plain {
            return None;
        }
        self.in_flight -= 1;
        Some(self.is_counted(issued, finished))
    }

    /// Begins its stage.
    pub(crate) fn schedule_start(&mut self, now: Instant) {
        self.begin = now + self.start_delay;
        self.ramp_end = self.begin + self.ramp;
        self.end = self.runtime.map_or(Instant::FAR, |runtime| self.ramp_end + runtime);
        if let Some(arrival) = &mut self.arrival {
            arrival.begin_worker(self.begin, self.smallest);
        }
    }

    /// True if it would issue now, so that it has to wait if it is ahead of its share of a flow.
    pub(crate) fn may_be_held(&self, now: Instant) -> bool {
        let issues = matches!(self.phase, Phase::Running | Phase::Verifying { .. });
        issues && now < self.end && !self.flushing && self.follow.is_empty() && self.in_flight < self.depth
    }

    /// True if a request that was issued and finished at these instants is counted.
    #[inline]
    pub(crate) fn is_counted(&self, issued: Instant, finished: Instant) -> bool {
        if self.counting == CountingRule::Window {
            return finished >= self.ramp_end && finished <= self.end;
        }
        if matches!(self.stream, Stream::Iometer(_)) {
            return issued >= self.ramp_end && finished <= self.end;
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
        let to_end = self.counting == CountingRule::Window || matches!(self.stream, Stream::Iometer(_));
        let until = if to_end { ended.min(self.end) } else { ended };
        Some(Window { from: self.ramp_end, until: until.max(self.ramp_end) })
    }

    /// Returns the next action at `now`.
    #[inline]
    pub(crate) fn poll(&mut self, now: Instant, spaces: &mut JobZones) -> WorkerPoll {
        if let Some((tag, follow)) = self.follow.pop_front() {
            return WorkerPoll::Issue(self.follow_up(now, tag, follow));
        }
        self.zone_taken = false;
        if self.draining && !self.try_drain(spaces) {
            return WorkerPoll::Wait;
        }
        if self.in_flight >= self.depth || !self.reap_completions(spaces) {
            return WorkerPoll::Wait;
        }
        match self.phase {
            Phase::Running => self.poll_running(now, spaces),
            Phase::Waiting if now < self.begin => WorkerPoll::At(self.begin),
            Phase::Waiting => {
                self.phase = Phase::Running;
                self.poll_running(now, spaces)
            }
            Phase::Settling(sequel) => self.poll_settling(now, sequel, spaces),
            Phase::Verifying { again } => self.poll_verifying(now, again, spaces),
            Phase::Ended => WorkerPoll::Ended,
        }
    }

    /// Ends the draining, with all completions seen; false while requests are in flight.
    fn try_drain(&mut self, spaces: &mut JobZones) -> bool {
        if self.in_flight > 0 {
            return false;
        }
        self.see_before_request(spaces);
        self.draining = false;
        true
    }

    /// The number of requests in flight for fio: not done, or not seen.
    fn requests_held(&self) -> u32 {
        self.in_flight + self.reaping.as_ref().map_or(0, Reaper::unseen_count)
    }

    /// Whether it is asked again when another worker's request has ended.
    pub(crate) fn waits_for_zone(&self) -> bool {
        self.zone_taken
    }

    /// Looks at completions, as fio does; false if it waits for more.
    fn reap_completions(&mut self, spaces: &mut JobZones) -> bool {
        let all = self.phase != Phase::Running;
        loop {
            let Some(reaping) = &mut self.reaping else { return true };
            // A thread in a call sees nothing.
            if self.flushing || (!all && !reaping.advance_wait(self.in_flight)) {
                return self.flushing || !reaping.is_waiting();
            }
            match reaping.take_completion() {
                Some(seen) => self.see_completion(seen, spaces),
                None => return true,
            }
        }
    }

    /// Notes that fio sees a completion.
    fn see_completion(&mut self, seen: ReapedEvent, spaces: &mut JobZones) {
        if let Stream::Fio(fio) = &mut self.stream {
            fio.see_completion(seen == ReapedEvent::Sync);
            if let ReapedEvent::Request { read, lba, sectors, .. } = seen {
                fio.release_zone(read, lba, sectors, spaces);
            }
        }
        let ReapedEvent::Request { read, number, .. } = seen else { return };
        if let Some(written) = &mut self.written {
            written.see_completion(read, number);
        }
        if let Some(thinking) = &mut self.thinking {
            thinking.record_completion();
        }
    }

    /// Sees all completions, because the worker sleeps before its next request.
    fn see_before_request(&mut self, spaces: &mut JobZones) {
        if let Some(reaping) = &mut self.reaping {
            reaping.hand_over();
        }
        self.see_all(spaces);
    }

    /// Sees all completions, because the worker pauses.
    fn see_before_pause(&mut self, spaces: &mut JobZones) {
        if let Some(reaping) = &mut self.reaping {
            reaping.hand_over_before_pause(self.in_flight);
        }
        self.see_all(spaces);
    }

    /// Sees all completions.
    fn see_all(&mut self, spaces: &mut JobZones) {
        while let Some(seen) = self.reaping.as_mut().and_then(Reaper::take_completion) {
            self.see_completion(seen, spaces);
        }
    }

    #[inline]
    fn poll_running(&mut self, now: Instant, spaces: &mut JobZones) -> WorkerPoll {
        if let Some(thinking) = self.thinking.as_mut().filter(|_| !self.flushing) {
            let thought = thinking.next_action(now, self.in_flight);
            if !matches!(thought, ThinkAction::Issue) {
                self.see_before_pause(spaces);
            }
            match thought {
                ThinkAction::Issue => {}
                ThinkAction::Drain => return WorkerPoll::Wait,
                ThinkAction::Compute(span) => return WorkerPoll::Issue(self.issue_compute(now, span)),
                ThinkAction::At(instant) => return WorkerPoll::At(instant),
            }
        }
        if now >= self.end {
            (self.pending, self.put_off) = (None, None);
            return self.poll_settling(now, PassEnd { again: false, verify: false }, spaces);
        }
        if self.ramping && now >= self.ramp_end {
            self.leave_ramp();
        }
        self.cruising = self.plain && !self.ramping;
        if self.flushing {
            return WorkerPoll::Wait;
        }
        if let Some((issue, due)) = self.pending {
            if now < due {
                return self.wait_until(due);
            }
            self.pending = None;
            return self.issue_request(issue);
        }
        self.draw_next(now, spaces)
    }

    fn leave_ramp(&mut self) {
        self.ramping = false;
        if let Stream::Fio(fio) = &mut self.stream {
            fio.forget_counts();
        }
    }

    /// Returns a wait until `instant`, or until the end if that is sooner.
    fn wait_until(&self, instant: Instant) -> WorkerPoll {
        WorkerPoll::At(instant.min(self.end))
    }

    #[inline]
    fn draw_next(&mut self, now: Instant, spaces: &mut JobZones) -> WorkerPoll {
        match &mut self.stream {
            Stream::Fio(_) => self.draw_fio(now, spaces),
            Stream::Iometer(iometer) => {
                let transaction = iometer.next();
                let due = now + transaction.delay;
                let direction = transaction.draw.direction;
                let mut issue = self.build_request(transaction.draw, due);
                if transaction.reply > 0 {
                    let (direction, bytes) = (direction as u8, transaction.reply);
                    issue.purpose = RequestPurpose::Ask { direction, bytes };
                }
                self.issue_at(issue, due, now)
            }
        }
    }

    fn issue_at(&mut self, issue: WorkerRequest, due: Instant, now: Instant) -> WorkerPoll {
        if now < due {
            self.pending = Some((issue, due));
            return self.wait_until(due);
        }
        self.issue_request(issue)
    }

    /// Handles the failure of a request: a read, or another. The worker ends, without a last flush, unless it survives
    /// such failures.
    #[cold]
    pub(crate) fn handle_failure(&mut self, read: bool) {
        if self.survives[usize::from(!read)] || self.phase == Phase::Ended {
            return;
        }
        self.phase = Phase::Settling(PassEnd { again: false, verify: false });
        (self.pending, self.written) = (None, None);
        (self.flush_at_end, self.cruising) = (false, false);
    }

    /// Waits for everything in flight, sends the last flush, then goes on.
    fn poll_settling(&mut self, now: Instant, sequel: PassEnd, spaces: &mut JobZones) -> WorkerPoll {
        self.phase = Phase::Settling(sequel);
        self.cruising = false;
        if self.in_flight > 0 {
            return WorkerPoll::Wait;
        }
        self.see_all(spaces);
        if let Some(flush) = self.issue_end_flush(now) {
            return WorkerPoll::Issue(flush);
        }
        if sequel.verify && self.written.as_ref().is_some_and(|written| !written.is_empty()) {
            return self.poll_verifying(now, sequel.again, spaces);
        }
        self.next_pass(now, sequel.again, spaces)
    }

    /// Issues the flush of the next file at the end of a pass. There is none if a sync came last.
    fn issue_end_flush(&mut self, now: Instant) -> Option<WorkerRequest> {
        let Stream::Fio(fio) = &mut self.stream else { return None };
        let left = match self.closing {
            Some(left) => left,
            None if self.flush_at_end && !fio.last_was_sync() => self.files,
            None => 0,
        };
        self.closing = Some(left.saturating_sub(1));
        if left == 0 {
            return None;
        }
        fio.take_unit(0);
        if let Some(reaping) = self.reaping.as_mut().filter(|_| !self.calls) {
            reaping.hand_over();
        }
        Some(self.issue_flush(now, true))
    }

    fn poll_verifying(&mut self, now: Instant, again: bool, spaces: &mut JobZones) -> WorkerPoll {
        self.phase = Phase::Verifying { again };
        let ended = now >= self.end;
        let next = self.written.as_mut().filter(|_| !ended).and_then(|written| written.next(true));
        let held = self.requests_held();
        if let (Some((lba, sectors)), Stream::Fio(fio)) = (next, &mut self.stream) {
            let draw = FioRequest { direction: READ, start: lba * SECTOR, bytes: u64::from(sectors) * SECTOR };
            fio.count_read_back(draw.bytes, held);
            self.in_flight += 1;
            if let Some(reaping) = &mut self.reaping {
                reaping.record_issue(false);
            }
            return WorkerPoll::Issue(self.build_request(draw, now));
        }
        if self.in_flight > 0 {
            return WorkerPoll::Wait;
        }
        self.next_pass(now, again && !ended, spaces)
    }

    fn next_pass(&mut self, now: Instant, again: bool, spaces: &mut JobZones) -> WorkerPoll {
        if let Some(written) = &mut self.written {
            written.clear();
        }
        self.closing = None;
        if let Some(reaping) = &mut self.reaping {
            reaping.end_pass();
        }
        let more = match &mut self.stream {
            Stream::Fio(fio) if again => {
                fio.see_completion(false);
                fio.begin_pass()
            }
            _ => again,
        };
        if more {
            self.phase = Phase::Running;
            return self.poll_running(now, spaces);
        }
        self.phase = Phase::Ended;
        self.ended = Some(now);
        WorkerPoll::Ended
    }

    /// Sends a request to the device.
    #[inline]
    fn issue_request(&mut self, mut issue: WorkerRequest) -> WorkerPoll {
        self.in_flight += 1;
        if let (Op::Write, Some(written)) = (issue.op, &mut self.written) {
            let number = written.add_write(issue.lba, issue.sectors);
            issue.purpose = match issue.purpose {
                RequestPurpose::Pair(_) => RequestPurpose::Pair(number),
                _ => RequestPurpose::Kept(number),
            };
        }
        if let Some(reaping) = &mut self.reaping {
            reaping.record_issue(false);
        }
        if let Some(thinking) = &mut self.thinking {
            thinking.record_issue();
        }
        WorkerPoll::Issue(issue)
    }

    #[inline]
    fn build_request(&self, draw: FioRequest, intended: Instant) -> WorkerRequest {
        let mut issue = WorkerRequest {
            op: draw.op(),
            flags: Flags::NONE,
            lba: draw.start / SECTOR,
            sectors: (draw.bytes / SECTOR) as u32,
            intended,
            purpose: RequestPurpose::Plain,
            tag: None,
        };
        if draw.direction == WRITE {
            match self.through {
                WriteDurability::Cache => {}
                WriteDurability::Fua => issue.flags = Flags::FUA,
                WriteDurability::Pair => (issue.purpose, issue.flags) = (RequestPurpose::Pair(0), Flags::FLUSH_FOLLOWS),
            }
        }
        issue
    }

    /// Issues a flush; `holds` if it holds back later requests.
    fn issue_flush(&mut self, now: Instant, holds: bool) -> WorkerRequest {
        self.in_flight += 1;
        self.flushing = holds;
        if let Some(reaping) = &mut self.reaping {
            reaping.record_issue(holds);
        }
        let (op, flags, purpose) = (Op::Flush, Flags::NONE, RequestPurpose::Flush);
        WorkerRequest { op, flags, lba: 0, sectors: 0, intended: now, purpose, tag: None }
    }

    /// Issues the program's own work, in whole microseconds.
    fn issue_compute(&mut self, now: Instant, span: Span) -> WorkerRequest {
        self.in_flight += 1;
        let sectors = u32::try_from(span.nanos() / 1000).unwrap_or(u32::MAX);
        let (op, flags, purpose) = (Op::Compute, Flags::NONE, RequestPurpose::Compute);
        WorkerRequest { op, flags, lba: 0, sectors, intended: now, purpose, tag: None }
    }

    /// Returns the next request under the same tag.
    fn follow_up(&mut self, now: Instant, tag: u32, follow: FollowUp) -> WorkerRequest {
        let issue = match (follow, &mut self.stream) {
            (FollowUp::Answer(direction, bytes), Stream::Iometer(iometer)) => {
                let draw = iometer.draw_reply(direction.into(), bytes);
                self.build_request(draw, now)
            }
            (FollowUp::Answer(..), _) => unreachable!("only Iometer answers"),
            (FollowUp::Flush(intended, number), _) => {
                let (op, flags, purpose) = (Op::Flush, Flags::NONE, RequestPurpose::Forced(number));
                WorkerRequest { op, flags, lba: 0, sectors: 0, intended, purpose, tag: None }
            }
        };
        WorkerRequest { tag: Some(tag), ..issue }
    }

    /// Handles a completion at `now`, with or without an error. True if its tag is free; otherwise another request
    /// follows under it.
    #[inline]
    pub(crate) fn handle_completion(&mut self, now: Instant, of: &AnsweredRequest, spaces: &mut JobZones) -> bool {
        match of.purpose {
            RequestPurpose::Pair(number) if of.done => {
                self.follow.push_back((of.tag, FollowUp::Flush(of.intended, number)))
            }
            RequestPurpose::Ask { direction, bytes } if now < self.end => {
                self.follow.push_back((of.tag, FollowUp::Answer(direction, bytes)));
            }
            _ => {
                self.in_flight -= 1;
                if let (RequestPurpose::Compute, Some(thinking)) = (of.purpose, &mut self.thinking) {
                    thinking.end_computing(now);
                }
                self.deliver_completion(of, spaces);
                return true;
            }
        }
        false
    }

    /// Lets fio see a completion: at once for a call, and if it makes no difference when fio looks, else later.
    #[inline]
    fn deliver_completion(&mut self, of: &AnsweredRequest, spaces: &mut JobZones) {
        let (lba, sectors) = (of.lba, of.sectors);
        let seen = match of.purpose {
            RequestPurpose::Compute => return,
            RequestPurpose::Flush => ReapedEvent::Sync,
            RequestPurpose::Kept(number) | RequestPurpose::Pair(number) | RequestPurpose::Forced(number) => {
                ReapedEvent::Request { read: false, number, lba, sectors }
            }
            RequestPurpose::Plain | RequestPurpose::Ask { .. } => {
                ReapedEvent::Request { read: of.read, number: 0, lba, sectors }
            }
        };
        let call = seen == ReapedEvent::Sync && core::mem::take(&mut self.flushing);
        match &mut self.reaping {
            Some(reaping) if !call => reaping.record_completion(seen),
            _ => self.see_completion(seen, spaces),
        }
    }
}

/// A request that completed.
pub(crate) struct AnsweredRequest {
    pub(crate) tag: u32,
    pub(crate) purpose: RequestPurpose,
    pub(crate) intended: Instant,
    /// Without an error.
    pub(crate) done: bool,
    pub(crate) read: bool,
    /// The first sector, and how many.
    pub(crate) lba: u64,
    pub(crate) sectors: u32,
}

/// The queue of the writes that a verifying pattern reads back.
fn verify_queue(fio: &FioPattern) -> VerifyQueue {
    let map = fio.random_map && fio.random != [0; 3] && fio.generator != super::job::Generator::Lfsr;
    VerifyQueue::new(map, fio.backlog)
}
