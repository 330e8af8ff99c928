//! The operating system between programs and drives: it serves the threads' calls from its volumes and its page cache,
//! and issues the requests for them to the drive. No clock is read; the caller passes the time.
//!
//! | file | what it is |
//! |---|---|
//! | `issue` | issues plans to the drive in their order |
//! | `cache` | the page cache with its reads and write-back in flight |
//! | `cached_calls` | calls through the page cache, and write-back |
//!
//! A thread has one call at a time. Requests that no program asked for have the origin [`System::system_origin`].
//! Without a page cache, cached handles read from and write to the drive at once.
//!
//! Processor time: the processor layer ([`seekwise_disk::host::processor`]) charges the cost of each request, including
//! its system call. With a page cache each call also costs the time to enter the system, and a cached one the copying
//! between program and cache ([`PageCacheSpec::call`], [`PageCacheSpec::copy`]). Both are computing of the thread: a
//! request of its own ([`Op::Compute`]) in whole microseconds. The remainder is carried to the thread's next call.
//!
//! [`Op::Compute`]: seekwise_disk::block::Op::Compute

mod cache;
mod cached_calls;
mod issue;

use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Reverse;

use seekwise_disk::block::{Completion, Flags, Limits, Request, Status};
use seekwise_disk::time::{Instant, Span};

use self::cache::CacheService;
use self::issue::{EndedPlan, PlanIssuer};
use super::call::{Call, CallResult, File, OpenMode, Reads, ThreadId};
use super::pagecache::PageCacheSpec;
use super::volume::{FileId, IoPlan, PlanStep, SyncScope, Volume, VolumeError};

/// The family of the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemFamily {
    /// Windows 95 and 98: write-through handles write to the drive without FUA.
    Windows98,
    /// Windows NT, 2000, XP.
    WindowsNt,
    Linux,
}

/// The description of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemSpec {
    pub family: SystemFamily,
    /// The largest request in sectors, if a device takes longer ones.
    pub largest: u32,
    pub cache: Option<PageCacheSpec>,
}

/// A system with its volumes.
pub struct System {
    spec: SystemSpec,
    volumes: Vec<Volume>,
    cached: Option<CacheService>,
    issue: PlanIssuer<PlanOwner>,
    /// The threads.
    callers: Vec<CallingThread>,
    /// Threads that wait for an instant.
    sleeping: BinaryHeap<Reverse<(Instant, ThreadId)>>,
    /// Computing that is not issued yet: thread, and microseconds.
    computing: VecDeque<(ThreadId, u32)>,
    /// Calls that have returned, by time, then thread.
    returned: VecDeque<CallResult>,
}

/// The owner of a plan: who continues when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlanOwner {
    /// A thread that waits for it.
    Thread(ThreadId),
    /// The system: work that was due by itself.
    System,
    /// A fill of [`CacheService`], by number.
    Fill(u32),
    /// A write-back of [`CacheService`], by number.
    WriteBack(u32),
    /// A thread that waits until its file is on the drive.
    FileSync(ThreadId, File),
    /// A thread that waits until a whole volume is on the drive.
    VolumeSync(ThreadId, u8),
}

/// The next step of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallStage {
    /// Reads the next piece into the cache.
    Fetch,
    /// Copies the piece up to this byte from the cache to the program.
    Copy(u64),
    /// Waits until the next piece may be written, with the partly changed pages in memory.
    Admit,
    /// Changes the piece up to this byte in the cache.
    Store(u64),
    /// Forces the written data to the drive.
    Force,
    /// Charges the rest of its computing, and returns.
    Return,
}

/// A thread that calls.
#[derive(Clone, Copy, Debug)]
struct CallingThread {
    /// The call that it waits for.
    call: Option<Call>,
    stage: CallStage,
    /// Number of plans, fills and pieces of computing that it waits for.
    pending: u32,
    /// For a cached read or write: the next byte.
    at: u64,
    /// For a cached read or write: its end.
    end: u64,
    /// For a cached read: the use of its first page was recorded by the read before, which ended within it.
    first_page_used: bool,
    /// For a cached write: the file grew.
    grew: bool,
    /// The result so far: the created file.
    file: Option<File>,
    /// The result so far: bytes read or written.
    bytes: u64,
    /// The result so far: bytes read through the page cache.
    reads: Reads,
    refused: Option<VolumeError>,
    failed: bool,
    /// Computing not yet charged.
    owed: Span,
}

impl CallingThread {
    fn with_call(call: Option<Call>, owed: Span) -> CallingThread {
        CallingThread {
            call,
            stage: CallStage::Return,
            pending: 0,
            at: 0,
            end: 0,
            first_page_used: false,
            grew: false,
            file: None,
            bytes: 0,
            reads: Reads::default(),
            refused: None,
            failed: false,
            owed,
        }
    }
}

impl System {
    /// A system for `threads` threads. The volumes must be mounted. They lie on unit 0, on a device that takes requests of any
    /// length and states none that it serves best, unless [`System::with_volume_on_unit`] says otherwise.
    pub fn new(volumes: Vec<Volume>, spec: SystemSpec, threads: u16) -> System {
        System {
            cached: spec.cache.map(|cache| CacheService::new(cache, volumes.len())),
            issue: PlanIssuer::new(volumes.len(), spec.largest),
            callers: (0..threads).map(|_| CallingThread::with_call(None, Span::ZERO)).collect(),
            sleeping: BinaryHeap::new(),
            computing: VecDeque::new(),
            returned: VecDeque::new(),
            volumes,
            spec,
        }
    }

    /// Puts a volume on a unit of the device with these limits: requests are as long as it takes, and read-ahead is as it asks
    /// for.
    #[must_use]
    pub fn with_volume_on_unit(mut self, volume: u8, unit: u8, limits: &Limits) -> System {
        self.issue.set_unit(volume, unit, limits.max_transfer.min(self.spec.largest));
        if let Some(cached) = &mut self.cached {
            cached.ahead[usize::from(volume)] = cached.spec.ahead.on_device(limits);
        }
        self
    }

    /// Adds a thread after all others.
    pub fn add_thread(&mut self) {
        self.callers.push(CallingThread::with_call(None, Span::ZERO));
    }

    /// The origin of requests that no thread waits for: the number after the last thread's.
    pub fn system_origin(&self) -> u16 {
        self.callers.len() as u16
    }

    /// Returns a volume.
    pub fn volume(&self, volume: u8) -> &Volume {
        &self.volumes[volume as usize]
    }

    /// Returns a volume, to place files before the run or to take its changes.
    pub fn volume_mut(&mut self, volume: u8) -> &mut Volume {
        &mut self.volumes[volume as usize]
    }

    /// The thread that computes in the request with this tag, if it is computing.
    pub(crate) fn computing_thread(&self, tag: u32) -> Option<ThreadId> {
        self.issue.computing_thread(tag)
    }

    /// The volume and step of a request, from its issue to its completion; `None` for computing.
    pub fn request_step(&self, tag: u32) -> Option<(u8, &PlanStep)> {
        self.issue.request_step(tag)
    }

    /// Keeps later requests from passing the writes that are planned now. Call it before a file is removed or cut: its sectors may
    /// be another's soon.
    pub fn guard_planned_writes(&mut self) {
        self.issue.guard_planned_writes();
    }

    /// How many plans were begun so far.
    pub fn begun_plans(&self) -> u64 {
        self.issue.begun_plans()
    }

    /// The number of the plan of a request, from its issue to its completion: how many were begun with it. `None` for computing.
    pub fn request_plan(&self, tag: u32) -> Option<u64> {
        self.issue.request_plan(tag)
    }

    /// Begins a call of a thread. The thread's last call must have returned.
    pub fn begin_call(&mut self, now: Instant, thread: ThreadId, call: Call) {
        let caller = &mut self.callers[thread as usize];
        assert!(caller.call.is_none(), "a thread has one call at a time");
        *caller = CallingThread::with_call(Some(call), caller.owed);
        match call {
            Call::Compute(span) => caller.owed += span,
            Call::Wait(until) if until > now => {
                caller.pending = 1;
                self.sleeping.push(Reverse((until, thread)));
            }
            Call::Wait(_) => {}
            Call::DropCaches => self.drop_caches(),
            call if self.cached.is_some() => self.begin_cached_call(now, thread, call),
            call => self.begin_volume_call(now, thread, call),
        }
        self.continue_thread(now, thread);
        self.finish_ended_plans(now);
    }

    /// Begins a call that its volume serves.
    fn begin_volume_call(&mut self, now: Instant, thread: ThreadId, call: Call) {
        let plan = self.issue.take_empty_plan();
        self.begin_volume_call_after(now, thread, call, plan, PlanOwner::Thread(thread));
    }

    /// Begins a call that its volume serves. The steps are added to `plan`, after those that are there already.
    fn begin_volume_call_after(
        &mut self,
        now: Instant,
        thread: ThreadId,
        call: Call,
        mut plan: IoPlan,
        owner: PlanOwner,
    ) {
        let volume = call.volume().expect("a call of a volume");
        let planned = self.plan_call(now, volume, call, &mut plan);
        let caller = &mut self.callers[thread as usize];
        match planned {
            Ok(PlannedCall { file, bytes }) => (caller.file, caller.bytes) = (file, bytes),
            Err(refused) => caller.refused = Some(refused),
        }
        caller.pending += 1;
        self.issue.begin_plan(owner, thread, volume, plan);
    }

    /// Adds the steps of a call to the plan, as its volume plans them.
    fn plan_call(
        &mut self,
        now: Instant,
        volume_index: u8,
        call: Call,
        plan: &mut IoPlan,
    ) -> Result<PlannedCall, VolumeError> {
        let volume = &mut self.volumes[volume_index as usize];
        match call {
            Call::Open(file) => volume.open(file.id, plan),
            Call::List(directory) => volume.list_directory(directory.id, plan),
            Call::Create { directory, name } => {
                let id = volume.create_file(now, directory.id, name, plan)?;
                return Ok(PlannedCall::for_new_file(volume_index, id));
            }
            Call::CreateDirectory { directory, name } => {
                let id = volume.create_directory(now, directory.id, name, plan)?;
                return Ok(PlannedCall::for_new_file(volume_index, id));
            }
            Call::Read { file, from, bytes, .. } => {
                let bytes = bytes.min(volume.file_bytes(file.id).saturating_sub(from));
                volume.read(file.id, from, bytes, plan);
                return Ok(PlannedCall { file: None, bytes });
            }
            Call::Write { file, from, bytes, handle } => {
                plan_write(volume, self.spec.family, now, file.id, (from, bytes), handle, plan)?;
                return Ok(PlannedCall { file: None, bytes });
            }
            Call::SetLength { file, bytes } => volume.set_length(now, file.id, bytes, plan)?,
            Call::Sync(file, scope) => volume.fsync(now, file.id, scope, plan),
            Call::Close(file) => volume.close(now, file.id, plan),
            Call::Rename { file, directory, name } => volume.rename(now, file.id, directory.id, name, plan)?,
            Call::Delete(file) => volume.delete(now, file.id, plan),
            Call::Shift { file, from, to } => {
                return volume.move_chunk(now, file.id, from, to, plan).map(|bytes| PlannedCall { file: None, bytes });
            }
            Call::SyncVolume(_) => volume.sync(now, plan),
            Call::DropCaches | Call::Compute(_) | Call::Wait(_) => unreachable!("no volume's"),
        }
        Ok(PlannedCall { file: None, bytes: 0 })
    }

    /// Continues a thread's call until it must wait or has returned.
    fn continue_thread(&mut self, now: Instant, thread: ThreadId) {
        loop {
            let caller = &mut self.callers[thread as usize];
            if caller.pending > 0 || caller.call.is_none() {
                return;
            }
            if caller.failed || caller.refused.is_some() {
                caller.stage = CallStage::Return;
            }
            match caller.stage {
                CallStage::Fetch => self.fetch_piece(now, thread),
                CallStage::Copy(to) => self.copy_piece(thread, to),
                CallStage::Admit => {
                    if !self.try_admit_piece(now, thread) {
                        return;
                    }
                }
                CallStage::Store(to) => self.store_piece(now, thread, to),
                CallStage::Force => self.force_written_data(now, thread),
                CallStage::Return => {
                    if !self.issue_owed_computing(thread) {
                        return self.return_call(now, thread);
                    }
                }
            }
        }
    }

    /// Issues a thread's owed computing in whole microseconds; false if there is less than one.
    fn issue_owed_computing(&mut self, thread: ThreadId) -> bool {
        let caller = &mut self.callers[thread as usize];
        // More than 71 minutes (2^32 µs) are computed in parts.
        let micros = u32::try_from(caller.owed.nanos() / 1_000).unwrap_or(u32::MAX);
        if micros == 0 {
            return false;
        }
        caller.owed = caller.owed - Span::from_micros(micros.into());
        caller.pending += 1;
        self.computing.push_back((thread, micros));
        true
    }

    /// Returns from a thread's call.
    fn return_call(&mut self, now: Instant, thread: ThreadId) {
        let caller = &mut self.callers[thread as usize];
        caller.call = None;
        let CallingThread { file, bytes, reads, refused, failed, .. } = *caller;
        let before = self.returned.iter().rposition(|other| (other.at, other.thread) < (now, thread));
        let returned = CallResult { thread, at: now, file, bytes, reads, refused, failed };
        self.returned.insert(before.map_or(0, |before| before + 1), returned);
    }

    /// Ends one of the waits of a thread, and continues its call.
    fn end_wait(&mut self, now: Instant, thread: ThreadId, failed: bool) {
        let caller = &mut self.callers[thread as usize];
        caller.failed |= failed;
        caller.pending -= 1;
        self.continue_thread(now, thread);
    }

    /// Continues the owners of plans that have ended.
    fn finish_ended_plans(&mut self, now: Instant) {
        while let Some(EndedPlan { owner, failed }) = self.issue.poll_ended_plan() {
            match owner {
                PlanOwner::Thread(thread) => self.end_wait(now, thread, failed),
                PlanOwner::System => {}
                PlanOwner::Fill(fill) => self.complete_fill(now, fill, failed),
                PlanOwner::WriteBack(write_back) => self.complete_write_back(now, write_back, failed),
                PlanOwner::FileSync(thread, file) => self.complete_sync(now, thread, file, failed),
                PlanOwner::VolumeSync(thread, volume) => self.complete_volume_sync(now, thread, volume, failed),
            }
        }
    }

    /// Takes the next call that has returned, in order of time, then thread.
    pub fn poll_returned(&mut self) -> Option<CallResult> {
        self.returned.pop_front()
    }

    /// Takes the next request to issue. The tag is unique until the request completes; there is no stamp yet.
    pub fn poll_request(&mut self, _now: Instant) -> Option<Request> {
        match self.computing.pop_front() {
            Some((thread, micros)) => Some(self.issue.compute_request(thread, micros)),
            None => self.issue.poll_request(),
        }
    }

    /// Handles the completion of one of its requests.
    pub fn complete_request(&mut self, now: Instant, completion: &Completion) {
        let failed = completion.status != Status::Done;
        if let Some(thread) = self.issue.complete_request(completion.tag, failed) {
            self.end_wait(now, thread, failed);
        }
        self.finish_ended_plans(now);
    }

    /// When a sleeping thread, the page cache or a volume has something due.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let wake = self.sleeping.peek().map(|&Reverse((at, _))| at);
        let write_back = self.cached.as_ref().and_then(CacheService::next_write_back);
        self.volumes.iter().filter_map(Volume::poll_timeout).chain(wake).chain(write_back).min()
    }

    /// Does what is due by `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(&Reverse((at, thread))) = self.sleeping.peek()
            && at <= now
        {
            self.sleeping.pop();
            self.end_wait(now, thread, false);
        }
        self.run_due_write_back(now);
        for at in 0..self.volumes.len() {
            while self.volumes[at].poll_timeout().is_some_and(|due| due <= now) {
                let mut plan = self.issue.take_empty_plan();
                self.volumes[at].handle_timeout(now, &mut plan);
                self.issue.begin_plan(PlanOwner::System, self.system_origin(), at as u8, plan);
            }
        }
        self.finish_ended_plans(now);
    }
}

/// The result of a call as planned: the file that it creates, and the bytes that it reads or writes.
#[derive(Clone, Copy, Debug)]
struct PlannedCall {
    file: Option<File>,
    bytes: u64,
}

impl PlannedCall {
    fn for_new_file(volume: u8, id: FileId) -> PlannedCall {
        PlannedCall { file: Some(File { volume, id }), bytes: 0 }
    }
}

/// Adds the steps of a write that goes to the drive at once. A write-through handle forces the data to the medium.
/// Windows NT does it by FUA; if the file grew, it also forces all metadata that locate the new data, but without a
/// flush of the drive (fastfat; for NTFS inferred). Linux does it like fdatasync after the write
/// (`generic_write_sync`). Windows 98 only waits for the drive.
fn plan_write(
    volume: &mut Volume,
    family: SystemFamily,
    now: Instant,
    file: FileId,
    (from, bytes): (u64, u64),
    handle: OpenMode,
    plan: &mut IoPlan,
) -> Result<(), VolumeError> {
    let (is_through, old_bytes) = (handle == OpenMode::WriteThrough, volume.file_bytes(file));
    let flags = if is_through && family == SystemFamily::WindowsNt { Flags::FUA } else { Flags::NONE };
    volume.write(now, file, from, bytes, flags, plan)?;
    if is_through {
        let has_grown = volume.file_bytes(file) > old_bytes;
        plan_force(volume, family, now, file, has_grown, plan);
    }
    Ok(())
}

/// Adds the steps that follow the data of a write-through handle.
fn plan_force(
    volume: &mut Volume,
    family: SystemFamily,
    now: Instant,
    file: FileId,
    has_grown: bool,
    plan: &mut IoPlan,
) {
    match family {
        SystemFamily::Linux => volume.fsync(now, file, SyncScope::Data, plan),
        SystemFamily::WindowsNt if has_grown => {
            volume.fsync(now, file, SyncScope::Data, plan);
            plan.remove_flushes();
        }
        SystemFamily::WindowsNt | SystemFamily::Windows98 => {}
    }
}
