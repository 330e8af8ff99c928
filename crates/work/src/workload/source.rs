//! The workload as a source: all workers of a job, their stages, tags and counting.
//!
//! Workers that can issue take turns, one request each. Workers that wait for an instant are in a heap. Workers that
//! wait for a completion are in no list, so a call costs the same however many workers there are. A single worker is
//! polled without turns. The workers of a stage begin together when all of the stage before have ended, at the instant
//! of the call that finds it so. A request keeps one tag; each worker has as many tags as its depth.
//!
//! # Counting
//! A fio worker counts what completes after the ramp, including requests that were issued before the end of the run
//! time and complete after it. An Iometer worker counts what was issued after the ramp and completes by the end. Rates
//! are over [`Workload::counting_windows`]: from the end of the ramp until the worker ends, as in the tools, not from
//! the first request to the last. A write of `sync=` on a device without
//! [`Flags::FUA`](seekwise_disk::block::Flags::FUA) is two requests, a write and a flush under the same tag. The flush
//! is counted, as the write and with its due and issue times; the write itself is not. So the response is that of the
//! pair. A failed completion is counted like any other: its status tells. fio's workers end at their first error.

use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Reverse;

use seekwise_disk::block::{
    Accounting, Completion, Flags, ForcedWrite, Limits, Op, Request, SECTOR, Source, SourcePoll, Status,
};
use seekwise_disk::rng::Seed;
use seekwise_disk::time::{Instant, Span};

use super::check::{self, WorkloadError};
use super::fio::FioRequest;
use super::flow::Flows;
use super::job::{Job, Window};
use super::listener::IssueListener;
use super::worker::{AnsweredRequest, QuickPoll, RequestPurpose, WorkerPoll, WorkerRequest, WorkerState};
use super::zoned::JobZones;

/// A running job.
#[derive(Clone, Debug)]
pub struct Workload {
    workers: Vec<WorkerState>,
    /// The use of each tag.
    slots: Vec<TagSlot>,
    /// By worker: its free tags.
    free_tags: Vec<Vec<u32>>,
    /// Workers that can issue.
    ready: VecDeque<u16>,
    /// Workers that wait for an instant.
    waiting: BinaryHeap<Reverse<(Instant, u16)>>,
    /// True for workers that wait for a completion.
    blocked: Vec<bool>,
    /// Workers by stage, in order of the stages; the first is the next to begin.
    stages: VecDeque<Vec<u16>>,
    /// Number of workers of the current stage that have not ended.
    active: usize,
    /// The number of the first worker in its job.
    first: u16,
    flows: Flows,
    /// The zones of its files.
    job_zones: JobZones,
    listener: Option<IssueListener>,
}

#[derive(Clone, Copy, Debug)]
struct TagSlot {
    worker: u16,
    purpose: RequestPurpose,
    intended: Instant,
    issued: Instant,
    op: Op,
    lba: u64,
    sectors: u32,
}

impl Workload {
    /// A job on a device with these limits. With `Seed(0)` the generators of fio and Iometer start from the seeds of
    /// the job, as in the tools; any other seed is mixed into them and gives an independent run. Arrivals always follow
    /// `seed`.
    pub fn new(job: &Job, limits: &Limits, seed: Seed) -> Result<Workload, WorkloadError> {
        check::check_job(job, limits)?;
        let mut slots = Vec::new();
        let mut free_tags = Vec::new();
        let mut stages: Vec<u32> = job.workers.iter().map(|worker| worker.stage).collect();
        stages.sort_unstable();
        stages.dedup();
        for (index, worker) in job.workers.iter().enumerate() {
            let first = slots.len() as u32;
            free_tags.push((first..first + worker.depth).rev().collect());
            let (purpose, intended, issued) = (RequestPurpose::Plain, Instant::ZERO, Instant::ZERO);
            let empty = TagSlot { worker: index as u16, purpose, intended, issued, op: Op::Flush, lba: 0, sectors: 0 };
            slots.resize(slots.len() + worker.depth as usize, empty);
        }
        let workers_of_stage = |stage: &u32| {
            let is_in_stage = |index: &u16| job.workers[usize::from(*index)].stage == *stage;
            (0..job.workers.len() as u16).filter(is_in_stage).collect()
        };
        let numbered = job.workers.iter().enumerate();
        let mut job_zones = JobZones::new(job);
        let worker_state = |(index, worker)| WorkerState::new(worker, index as u16, limits, seed, &mut job_zones);
        Ok(Workload {
            workers: numbered.map(worker_state).collect(),
            slots,
            free_tags,
            ready: VecDeque::with_capacity(job.workers.len()),
            waiting: BinaryHeap::with_capacity(job.workers.len()),
            blocked: job.workers.iter().map(|_| false).collect(),
            stages: stages.iter().map(workers_of_stage).collect(),
            active: 0,
            first: 0,
            flows: Flows::new(job),
            job_zones,
            listener: None,
        })
    }

    /// A single worker of a job, with the requests that it has among the others, under its number and with tags from 0
    /// on. The worker begins at once: its stage is up to the caller.
    pub fn for_worker(job: &Job, worker: u16, limits: &Limits, seed: Seed) -> Result<Workload, WorkloadError> {
        check::check_job(job, limits)?;
        let spec = &job.workers[usize::from(worker)];
        let single_job = Job { name: job.name.clone(), workers: alloc::vec![spec.clone()] };
        let mut single = Workload::new(&single_job, limits, seed)?;
        single.workers = alloc::vec![WorkerState::new(spec, worker, limits, seed, &mut single.job_zones)];
        Ok(Workload { first: worker, ..single })
    }

    /// Reports each request to `listener` as it is issued.
    #[must_use]
    pub fn with_listener(self, listener: Option<IssueListener>) -> Workload {
        Workload { listener, ..self }
    }

    /// By worker: the time for which it is counted, up to `now` if it has not ended; `None` if it has not begun.
    pub fn counting_windows(&self, now: Instant) -> Vec<Option<Window>> {
        self.workers.iter().map(|worker| worker.counting_window(now)).collect()
    }

    /// Makes a worker ready that waits for a completion.
    fn wake_worker(&mut self, index: u16) {
        if core::mem::take(&mut self.blocked[usize::from(index)]) {
            self.ready.push_back(index);
        }
        self.wake_zone_waiters();
    }

    /// Makes the workers ready that wait for a zone, if one may have become free.
    fn wake_zone_waiters(&mut self) {
        if !self.job_zones.take_zone_released() {
            return;
        }
        for (index, worker) in (0..).zip(&self.workers) {
            if worker.waits_for_zone() && core::mem::take(&mut self.blocked[usize::from(index)]) {
                self.ready.push_back(index);
            }
        }
    }

    /// Begins the next stage; false if there is none.
    fn begin_stage(&mut self, now: Instant) -> bool {
        let Some(stage) = self.stages.pop_front() else {
            return false;
        };
        self.active = stage.len();
        for index in stage {
            self.workers[usize::from(index)].schedule_start(now);
            self.ready.push_back(index);
        }
        true
    }

    /// Issues the next request of the first ready worker that has one.
    fn issue_next(&mut self, now: Instant) -> Option<Request> {
        while let Some(&Reverse((due, index))) = self.waiting.peek() {
            if due > now {
                break;
            }
            self.waiting.pop();
            self.ready.push_back(index);
        }
        while let Some(&index) = self.ready.front() {
            if let QuickPoll::Request(drawn) = self.workers[usize::from(index)].poll_quickly(now) {
                self.rotate_ready();
                return Some(self.tag_quick_request(index, &drawn, now));
            }
            if self.workers[usize::from(index)].would_issue(now)
                && let Some(sleep) = self.flows.hold_back_if_ahead(index)
            {
                self.ready.pop_front();
                if sleep > Span::ZERO {
                    self.waiting.push(Reverse((now + sleep, index)));
                }
                continue;
            }
            let polled = self.workers[usize::from(index)].poll(now, &mut self.job_zones);
            self.wake_zone_waiters();
            match polled {
                WorkerPoll::Issue(request) => {
                    self.rotate_ready();
                    self.ready.extend(self.flows.record_issue(index));
                    return Some(self.tag_request(index, &request, now));
                }
                WorkerPoll::At(instant) => self.waiting.push(Reverse((instant, index))),
                WorkerPoll::Wait => self.blocked[usize::from(index)] = true,
                WorkerPoll::Ended => {
                    self.active -= 1;
                    self.ready.extend(self.flows.end_worker(index));
                }
            }
            self.ready.pop_front();
        }
        None
    }

    /// Moves the first ready worker to the end.
    #[inline]
    fn rotate_ready(&mut self) {
        if self.ready.len() > 1 {
            self.ready.rotate_left(1);
        }
    }

    /// Gives a tag to a request of a worker that only issues, and reports it.
    #[inline(always)]
    fn tag_quick_request(&mut self, index: u16, drawn: &FioRequest, now: Instant) -> Request {
        let tag = self.free_tags[usize::from(index)].pop().expect("a worker stays within its depth");
        let (op, lba, sectors) = (drawn.op(), drawn.start / SECTOR, (drawn.bytes / SECTOR) as u32);
        self.slots[tag as usize] =
            TagSlot { worker: index, purpose: RequestPurpose::Plain, intended: now, issued: now, op, lba, sectors };
        let flags = Flags::NONE;
        let request = Request { tag, unit: 0, origin: self.first + index, op, flags, lba, sectors, stamp: 0 };
        if let Some(listener) = &self.listener {
            listener.report(now, &request);
        }
        request
    }

    /// Gives a tag to a request, unless it continues an earlier one, and reports it.
    #[inline]
    fn tag_request(&mut self, index: u16, polled: &WorkerRequest, now: Instant) -> Request {
        let &WorkerRequest { op, flags, lba, sectors, intended, purpose, tag: continued_tag } = polled;
        let tag = match continued_tag {
            Some(tag) => tag,
            None => self.free_tags[usize::from(index)].pop().expect("a worker stays within its depth"),
        };
        let slot = &mut self.slots[tag as usize];
        // The slot of a write stays as it is when the flush of the write follows.
        if !matches!(slot.purpose, RequestPurpose::FlushedWrite(_)) || continued_tag.is_none() {
            (slot.op, slot.lba, slot.sectors, slot.issued) = (op, lba, sectors, now);
        }
        (slot.purpose, slot.intended) = (purpose, intended);
        let request = Request { tag, unit: 0, origin: self.first + index, op, flags, lba, sectors, stamp: 0 };
        let is_reported = !matches!(purpose, RequestPurpose::WriteFlush(_) | RequestPurpose::Compute);
        if let Some(listener) = self.listener.as_ref().filter(|_| is_reported) {
            listener.report(now, &request);
        }
        request
    }

    /// The next action of several workers, or of one that has more to do than issue.
    #[inline(never)]
    fn poll_all(&mut self, now: Instant) -> SourcePoll {
        loop {
            if let Some(request) = self.issue_next(now) {
                return SourcePoll::Request(request);
            }
            if self.active > 0 {
                return self.waiting.peek().map_or(SourcePoll::Completion, |Reverse((due, _))| SourcePoll::At(*due));
            }
            if !self.begin_stage(now) {
                return SourcePoll::Done;
            }
        }
    }

    /// Ends a request of any purpose. If the request failed, its worker knows that already.
    #[inline(never)]
    fn complete_any(&mut self, now: Instant, completion: &Completion) -> Accounting {
        let slot = &self.slots[completion.tag as usize];
        let &TagSlot { worker: index, purpose, intended, issued, op, lba, sectors } = slot;
        let worker = &mut self.workers[usize::from(index)];
        let (tag, succeeded) = (completion.tag, completion.status == Status::Done);
        let answered = AnsweredRequest { tag, purpose, intended, succeeded, is_read: op == Op::Read, lba, sectors };
        if worker.end_request(now, &answered, &mut self.job_zones) {
            self.free_tags[usize::from(index)].push(tag);
        }
        let counts = worker.is_counted(intended, completion.finished);
        self.wake_worker(index);
        // A write with a flush of its own does not count: the flush does.
        if !counts || (matches!(purpose, RequestPurpose::FlushedWrite(_)) && succeeded) {
            return Accounting::Out;
        }
        let served = matches!(purpose, RequestPurpose::WriteFlush(_)).then_some(ForcedWrite { op, sectors, issued });
        Accounting::In { worker: self.first + index, intended, served }
    }
}

impl Source for Workload {
    #[inline(always)]
    fn next(&mut self, now: Instant) -> SourcePoll {
        // A single worker that only issues needs no turn.
        if let [only] = &mut self.workers[..] {
            match only.poll_quickly(now) {
                QuickPoll::Request(drawn) => return SourcePoll::Request(self.tag_quick_request(0, &drawn, now)),
                QuickPoll::Wait => return SourcePoll::Completion,
                QuickPoll::Poll => {}
            }
        }
        self.poll_all(now)
    }

    #[inline(always)]
    fn complete(&mut self, now: Instant, completion: &Completion) -> Accounting {
        let &TagSlot { worker: index, purpose, intended, op, .. } = &self.slots[completion.tag as usize];
        let worker = &mut self.workers[usize::from(index)];
        if completion.status != Status::Done {
            worker.end_after_failure(op == Op::Read);
        }
        let Some(counts) = worker.complete_quickly(purpose, intended, completion.finished) else {
            return self.complete_any(now, completion);
        };
        self.free_tags[usize::from(index)].push(completion.tag);
        if core::mem::take(&mut self.blocked[usize::from(index)]) {
            self.ready.push_back(index);
        }
        if counts { Accounting::In { worker: self.first + index, intended, served: None } } else { Accounting::Out }
    }

    #[inline]
    fn awaits_completion(&self, now: Instant) -> bool {
        matches!(&self.workers[..], [only] if only.is_full(now))
    }
}
