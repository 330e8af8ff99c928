//! A source whose requests go through a page cache: a job of workers without direct I/O. The device is one file for the
//! cache ([`VolumeFormat::Raw`]), as in Linux when a job names a device.
//!
//! Each request of a worker becomes a call of a thread: reads and writes are calls, a flush is an fsync, which first
//! writes all dirty data, and `sync=` opens a write-through handle. A worker has one call at a time, because buffered
//! I/O blocks in the system under every engine (`io_submit` and io_uring alike; inferred for the latter, whose worker
//! threads could overlap). Workers with direct I/O bypass the cache; their data and the cache's are not kept
//! consistent.
//!
//! A call that the cache serves never reaches the device, so calls are recorded as [`SourcePoll::Served`], from when
//! they were due until they returned. Computing and copying count as processor time, the rest as driver time. Requests
//! of the cache itself (read-ahead, write-back) are not counted. Pages that are dirty at the end stay dirty.
//!
//! [`VolumeFormat::Raw`]: super::volume::VolumeFormat::Raw

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use seekwise_disk::block::{
    Accounting, Completion, Flags, ForcedWrite, Limits, Op, Request, SECTOR, ServedRequest, Source, SourcePoll, Status,
};
use seekwise_disk::rng::Seed;
use seekwise_disk::time::{Instant, Span};

use super::call::{Call, CallResult, File, OpenMode, Reads};
use super::system::{System, SystemSpec};
use super::volume::{Aging, FileName, Partition, ROOT, SyncScope, Volume, VolumeFormat, VolumeSpec};

/// Sectors in a page.
const PAGE: u64 = 8;

/// How a worker's files are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOpenFlags {
    /// Bypasses the page cache.
    pub direct: bool,
    /// Each write is durable when it returns (`sync=`).
    pub through: bool,
    /// The cache drops its clean pages before the first request.
    pub invalidate: bool,
}

/// The system between a job and its device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferedSpec {
    /// The system, with a page cache.
    pub system: SystemSpec,
    /// How each worker opens its files.
    pub workers: Vec<FileOpenFlags>,
}

/// A source above a page cache.
pub struct BufferedSource<S> {
    source: S,
    system: System,
    /// The file that stands for the device.
    file: File,
    /// Sectors of the device in whole pages; requests for the remainder bypass the cache.
    sectors: u64,
    workers: Vec<BufferedWorker>,
    /// Number of calls under way.
    busy: u32,
    reads: Reads,
}

/// The state of a worker.
struct BufferedWorker {
    open_flags: FileOpenFlags,
    /// The first call is made.
    begun: bool,
    /// The call that it waits for.
    calling: Option<ServedCall>,
    /// Requests of the source that wait for this call to return.
    waiting: VecDeque<Request>,
}

/// A call and the request of the source that it serves.
#[derive(Clone, Copy)]
struct ServedCall {
    request: Request,
    /// When the call began.
    from: Instant,
    computed: Span,
    /// The cache is emptied before the request is served.
    drops_caches_first: bool,
}

impl<S: Source> BufferedSource<S> {
    /// Puts `source` above a page cache on a device with these limits. Workers are numbered as in `spec`.
    pub fn new(source: S, spec: &BufferedSpec, limits: &Limits) -> BufferedSource<S> {
        let sectors = limits.sectors / PAGE * PAGE;
        let partition = Partition { first: 0, sectors };
        let volume =
            VolumeSpec { partition, format: VolumeFormat::Raw, aging: Aging::NONE, history: false, seed: Seed(0) };
        let mut volume = Volume::format(&volume).expect("any device is a raw volume");
        let id = volume.place_initial_file(ROOT, FileName::SHORT, sectors * SECTOR).expect("the device holds itself");
        volume.begin_run();
        let system = System::new(alloc::vec![volume], spec.system, spec.workers.len() as u16);
        let worker = |&open_flags: &FileOpenFlags| BufferedWorker {
            open_flags,
            begun: false,
            calling: None,
            waiting: VecDeque::new(),
        };
        BufferedSource {
            source,
            system: system.with_volume_on_unit(0, 0, limits),
            file: File { volume: 0, id },
            sectors,
            workers: spec.workers.iter().map(worker).collect(),
            busy: 0,
            reads: Reads::default(),
        }
    }

    /// The source.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Bytes that counted requests read through the cache.
    pub fn cached_reads(&self) -> Reads {
        self.reads
    }

    /// True if a request bypasses the cache.
    fn bypasses_cache(&self, request: &Request) -> bool {
        let served = matches!(request.op, Op::Read | Op::Write | Op::Flush);
        self.workers[usize::from(request.origin)].open_flags.direct || !served || request.end() > self.sectors
    }

    /// Begins the call for a request of the source, or queues the request behind the worker's call.
    fn begin_or_queue_call(&mut self, now: Instant, request: Request) {
        let worker = &mut self.workers[usize::from(request.origin)];
        match worker.calling {
            Some(_) => worker.waiting.push_back(request),
            None => self.begin_call(now, request),
        }
    }

    fn begin_call(&mut self, now: Instant, request: Request) {
        let worker = &mut self.workers[usize::from(request.origin)];
        let drops_caches_first = worker.open_flags.invalidate && !worker.begun;
        worker.begun = true;
        worker.calling = Some(ServedCall { request, from: now, computed: Span::ZERO, drops_caches_first });
        self.busy += 1;
        let call = if drops_caches_first { Call::DropCaches } else { self.call_for_request(&request) };
        self.system.begin_call(now, request.origin, call);
    }

    /// The call for a request. A write that a flush of its own follows needs no write-through.
    fn call_for_request(&self, request: &Request) -> Call {
        let (file, from, bytes) = (self.file, request.lba * SECTOR, u64::from(request.sectors) * SECTOR);
        let open_flags = self.workers[usize::from(request.origin)].open_flags;
        let through = open_flags.through && !request.flags.has(Flags::FLUSH_FOLLOWS);
        match request.op {
            Op::Read => Call::Read { file, from, bytes, handle: OpenMode::Cached },
            Op::Write if through => Call::Write { file, from, bytes, handle: OpenMode::WriteThrough },
            Op::Write => Call::Write { file, from, bytes, handle: OpenMode::Cached },
            _ => Call::Sync(file, SyncScope::Data),
        }
    }

    /// Ends a call that has returned, and begins the next. Returns the request that it served, if that is counted.
    fn end_call(&mut self, now: Instant, returned: &CallResult) -> Option<ServedRequest> {
        let thread = usize::from(returned.thread);
        let calling = self.workers[thread].calling.as_mut().expect("it called");
        if core::mem::take(&mut calling.drops_caches_first) {
            let request = calling.request;
            let call = self.call_for_request(&request);
            self.system.begin_call(now, returned.thread, call);
            return None;
        }
        let ServedCall { request, from, computed, .. } = *calling;
        self.workers[thread].calling = None;
        self.busy -= 1;
        let failed = returned.failed || returned.refused.is_some();
        let status = if failed { Status::MediumError } else { Status::Done };
        let (parts, effort) = Default::default();
        let completion = Completion { tag: request.tag, status, submitted: from, finished: now, parts, effort };
        let counted = self.source.complete(now, &completion);
        if let Some(next) = self.workers[thread].waiting.pop_front() {
            self.begin_call(now, next);
        }
        let Accounting::In { worker, intended, served } = counted else { return None };
        self.reads.add(returned.reads);
        let without_flush = ForcedWrite { op: request.op, sectors: request.sectors, issued: from };
        let ForcedWrite { op, sectors, issued } = served.unwrap_or(without_flush);
        let (lba, intended) = (request.lba, intended.min(issued));
        Some(ServedRequest { worker, op, lba, sectors, intended, issued, finished: now, computed, failed })
    }
}

/// The tag at the device for a request of the system. Tags of such requests are even; tags of requests that bypass the
/// cache are odd.
const fn system_tag(tag: u32) -> u32 {
    tag * 2
}

/// The tag at the device for a request of the source that bypasses the cache.
const fn bypass_tag(tag: u32) -> u32 {
    tag * 2 + 1
}

impl<S: Source> Source for BufferedSource<S> {
    fn next(&mut self, now: Instant) -> SourcePoll {
        loop {
            if let Some(returned) = self.system.poll_returned() {
                if let Some(served) = self.end_call(now, &returned) {
                    return SourcePoll::Served(served);
                }
                continue;
            }
            if let Some(request) = self.system.poll_request(now) {
                return SourcePoll::Request(Request { tag: system_tag(request.tag), ..request });
            }
            let next = match self.source.next(now) {
                SourcePoll::Request(request) if self.bypasses_cache(&request) => {
                    return SourcePoll::Request(Request { tag: bypass_tag(request.tag), ..request });
                }
                SourcePoll::Request(request) => {
                    self.begin_or_queue_call(now, request);
                    continue;
                }
                next => next,
            };
            return match (next, self.system.poll_timeout()) {
                (SourcePoll::Done, _) if self.busy == 0 => SourcePoll::Done,
                (_, Some(due)) if due <= now => {
                    self.system.handle_timeout(now);
                    continue;
                }
                (SourcePoll::At(at), Some(due)) => SourcePoll::At(at.min(due)),
                (SourcePoll::Done | SourcePoll::Completion, Some(due)) => SourcePoll::At(due),
                (SourcePoll::Done, None) => SourcePoll::Completion,
                (next, _) => next,
            };
        }
    }

    fn complete(&mut self, now: Instant, completion: &Completion) -> Accounting {
        let tag = completion.tag / 2;
        if completion.tag == bypass_tag(tag) {
            return self.source.complete(now, &Completion { tag, ..*completion });
        }
        let computing = self.system.computing_thread(tag);
        if let Some(calling) = computing.and_then(|thread| self.workers[usize::from(thread)].calling.as_mut()) {
            calling.computed += completion.finished.since(completion.submitted);
        }
        self.system.complete_request(now, &Completion { tag, ..*completion });
        Accounting::Out
    }
}
