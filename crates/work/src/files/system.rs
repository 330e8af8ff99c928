//! The system between programs and drives: it serves the threads' calls from its volumes and its page cache, and issues
//! their requests to the drive. No clock is read; the caller passes the time.
//!
//! | file | what it is |
//! |---|---|
//! | `issue` | plans, issued to the drive in their order |
//! | `cache` | the page cache at work |
//! | `cached_calls` | reading, writing and writing back through the page cache |
//!
//! A thread has one call at a time. Requests that no program asked for come from [`System::system_origin`]. Without a
//! page cache, cached handles read and write through at once.
//!
//! Processor time: the cost of a request, including its system call, is charged by the processor layer
//! ([`seekwise_disk::host::processor`]). With a page cache a call costs the time to enter the system, and a cached one
//! also the copying between program and cache ([`PageCacheSpec::call`], [`PageCacheSpec::copy`]). Both are computing of
//! the thread, a request of its own ([`Op::Compute`]) in whole microseconds; the remainder is carried to the thread's
//! next call.
//!
//! [`Op::Compute`]: seekwise_disk::block::Op::Compute

mod cache;
mod cached_calls;
mod issue;

use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Reverse;

use seekwise_disk::block::{Completion, Flags, Request, Status};
use seekwise_disk::time::{Instant, Span};

use self::cache::CacheService;
use self::issue::PlanIssuer;
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
    /// The largest request to the first unit, in sectors.
    pub largest: u32,
    pub cache: Option<PageCacheSpec>,
}

/// A system with its volumes.
pub struct System {
    spec: SystemSpec,
    volumes: Vec<Volume>,
    cached: Option<CacheService>,
    issue: PlanIssuer<PlanOwner>,
    callers: Vec<CallingThread>,
    /// Threads that wait for an instant.
    waiting: BinaryHeap<Reverse<(Instant, ThreadId)>>,
    /// Threads with computing that was not issued yet, in microseconds.
    computing: VecDeque<(ThreadId, u32)>,
    /// By time, then thread.
    returned: VecDeque<CallResult>,
}

/// The owner of a plan, and what its end means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlanOwner {
    /// A thread that waits for it.
    Thread(ThreadId),
    /// Work that fell due by itself.
    System,
    /// Pages being read: which fill of [`CacheService`].
    Fill(u32),
    /// Pages of a file being written back: the first, and the end.
    Back(File, u64, u64),
    /// A thread that waits until its file is on the drive.
    Synced(ThreadId, File),
    /// A thread that waits until a whole volume is on the drive.
    VolumeSynced(ThreadId, u8),
}

/// The next step of a thread that waits for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallStage {
    /// Reads its next piece into the cache.
    Fetch,
    /// Copies the piece up to this byte from the cache.
    Take(u64),
    /// Gets permission to write its next piece, with the partly changed pages in memory.
    Admit,
    /// Changes the piece up to this byte in the cache.
    Store(u64),
    /// Forces what it wrote.
    Force,
    /// Charges the rest of its computing, and returns.
    Last,
}

/// A thread that calls.
#[derive(Clone, Copy, Debug)]
struct CallingThread {
    /// The call that it waits for, and its stage.
    call: Option<Call>,
    stage: CallStage,
    /// Plans and computing that it waits for.
    pending: u32,
    /// For a cached read or write: the next byte, and the end.
    at: u64,
    end: u64,
    /// For a cached read: the last one ended within its first page. For a cached write: the file grew.
    seen: bool,
    grew: bool,
    /// The result so far.
    file: Option<File>,
    bytes: u64,
    /// Bytes read through the page cache.
    reads: Reads,
    refused: Option<VolumeError>,
    failed: bool,
    /// Computing not yet charged.
    owed: Span,
}

impl CallingThread {
    fn with_call(call: Option<Call>, owed: Span) -> CallingThread {
        let (stage, pending, at, end) = (CallStage::Last, 0, 0, 0);
        let (seen, grew, file, bytes, refused, failed) = (false, false, None, 0, None, false);
        let reads = Reads::default();
        CallingThread { call, stage, pending, at, end, seen, grew, file, bytes, reads, refused, failed, owed }
    }
}

impl System {
    /// A system for `threads` threads. The volumes are mounted, and lie on unit 0.
    pub fn new(volumes: Vec<Volume>, spec: SystemSpec, threads: u16) -> System {
        System {
            cached: spec.cache.map(CacheService::new),
            issue: PlanIssuer::new(volumes.len(), spec.largest),
            callers: (0..threads).map(|_| CallingThread::with_call(None, Span::ZERO)).collect(),
            waiting: BinaryHeap::new(),
            computing: VecDeque::new(),
            returned: VecDeque::new(),
            volumes,
            spec,
        }
    }

    /// Puts a volume on another unit of the device, whose largest request has `largest` sectors.
    #[must_use]
    pub(crate) fn with_unit(mut self, volume: u8, unit: u8, largest: u32) -> System {
        self.issue.set_unit(volume, unit, largest);
        self
    }

    /// Adds a thread after all others.
    pub(crate) fn add_thread(&mut self) {
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
    pub(crate) fn volume_mut(&mut self, volume: u8) -> &mut Volume {
        &mut self.volumes[volume as usize]
    }

    /// The thread that computes in the request with this tag, if it is computing.
    pub(crate) fn computing_thread(&self, tag: u32) -> Option<ThreadId> {
        self.issue.computing_thread(tag)
    }

    /// The volume and step of a request, from its issue to its completion; `None` for computing.
    pub fn plan_step(&self, tag: u32) -> Option<(u8, &PlanStep)> {
        self.issue.plan_step(tag)
    }

    /// Begins a call of a thread, whose last call must have returned.
    pub fn begin_call(&mut self, now: Instant, thread: ThreadId, call: Call) {
        let caller = &mut self.callers[thread as usize];
        assert!(caller.call.is_none(), "a thread has one call at a time");
        *caller = CallingThread::with_call(Some(call), caller.owed);
        match call {
            Call::Compute(span) => caller.owed += span,
            Call::Wait(until) if until > now => {
                caller.pending = 1;
                self.waiting.push(Reverse((until, thread)));
            }
            Call::Wait(_) => {}
            Call::DropCaches => self.drop_caches(),
            call if self.cached.is_some() => self.begin_cached(now, thread, call),
            call => self.begin_on_volume(now, thread, call),
        }
        self.run_thread(now, thread);
        self.settle_plans(now);
    }

    /// Begins a call that its volume serves.
    fn begin_on_volume(&mut self, now: Instant, thread: ThreadId, call: Call) {
        let plan = self.issue.take_plan();
        self.begin_after_plan(now, thread, call, plan, PlanOwner::Thread(thread));
    }

    /// Begins a call that its volume serves, after the steps that are in `plan` already.
    fn begin_after_plan(&mut self, now: Instant, thread: ThreadId, call: Call, mut plan: IoPlan, owner: PlanOwner) {
        let volume = call.volume().expect("a call of a volume");
        let done = self.plan_call(now, volume, call, &mut plan);
        let caller = &mut self.callers[thread as usize];
        match done {
            Ok(PlannedCall { file, bytes }) => (caller.file, caller.bytes) = (file, bytes),
            Err(refused) => caller.refused = Some(refused),
        }
        caller.pending += 1;
        self.issue.begin_plan(owner, thread, volume, plan);
    }

    /// Asks the volume to plan a call.
    fn plan_call(&mut self, now: Instant, at: u8, call: Call, plan: &mut IoPlan) -> Result<PlannedCall, VolumeError> {
        let volume = &mut self.volumes[at as usize];
        match call {
            Call::Open(file) => volume.open(file.id, plan),
            Call::List(directory) => volume.list_directory(directory.id, plan),
            Call::Create { directory, name } => {
                return volume.create_file(now, directory.id, name, plan).map(|id| PlannedCall::for_new_file(at, id));
            }
            Call::CreateDirectory { directory, name } => {
                return volume
                    .create_directory(now, directory.id, name, plan)
                    .map(|id| PlannedCall::for_new_file(at, id));
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
            Call::Sync(file, what) => volume.fsync(now, file.id, what, plan),
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

    /// Continues a thread until it must wait.
    fn run_thread(&mut self, now: Instant, thread: ThreadId) {
        loop {
            let caller = &mut self.callers[thread as usize];
            if caller.pending > 0 || caller.call.is_none() {
                return;
            }
            if caller.failed || caller.refused.is_some() {
                caller.stage = CallStage::Last;
            }
            match caller.stage {
                CallStage::Fetch => self.fetch_piece(now, thread),
                CallStage::Take(to) => self.copy_piece(thread, to),
                CallStage::Admit => {
                    if !self.admit_write(now, thread) {
                        return;
                    }
                }
                CallStage::Store(to) => self.store_piece(now, thread, to),
                CallStage::Force => self.force_data(now, thread),
                CallStage::Last => {
                    if !self.charge_computing(thread) {
                        return self.finish_call(now, thread);
                    }
                }
            }
        }
    }

    /// Charges a thread's computing in whole microseconds; returns whether it must wait for it.
    fn charge_computing(&mut self, thread: ThreadId) -> bool {
        let caller = &mut self.callers[thread as usize];
        // More than 71 minutes are computed in parts.
        let micros = u32::try_from(caller.owed.nanos() / 1_000).unwrap_or(u32::MAX);
        if micros == 0 {
            return false;
        }
        caller.owed = caller.owed - Span::from_micros(micros.into());
        caller.pending += 1;
        self.computing.push_back((thread, micros));
        true
    }

    /// Returns a thread's call.
    fn finish_call(&mut self, at: Instant, thread: ThreadId) {
        let caller = &mut self.callers[thread as usize];
        caller.call = None;
        let CallingThread { file, bytes, reads, refused, failed, .. } = *caller;
        let place = self.returned.iter().rposition(|other| (other.at, other.thread) < (at, thread));
        let returned = CallResult { thread, at, file, bytes, reads, refused, failed };
        self.returned.insert(place.map_or(0, |place| place + 1), returned);
    }

    /// Handles the end of something that a thread waits for.
    fn end_wait(&mut self, now: Instant, thread: ThreadId, failed: bool) {
        let caller = &mut self.callers[thread as usize];
        caller.failed |= failed;
        caller.pending -= 1;
        self.run_thread(now, thread);
    }

    /// Handles the plans that have ended.
    fn settle_plans(&mut self, now: Instant) {
        while let Some((owner, failed)) = self.issue.poll_ended() {
            match owner {
                PlanOwner::Thread(thread) => self.end_wait(now, thread, failed),
                PlanOwner::System => {}
                PlanOwner::Fill(fill) => self.complete_fill(now, fill, failed),
                PlanOwner::Back(file, from, to) => self.complete_write_back(now, file, (from, to), failed),
                PlanOwner::Synced(thread, file) => self.complete_sync(now, thread, file, failed),
                PlanOwner::VolumeSynced(thread, volume) => self.complete_volume_sync(now, thread, volume, failed),
            }
        }
    }

    /// The next call that has returned, in order of time, then thread.
    pub fn poll_returned(&mut self) -> Option<CallResult> {
        self.returned.pop_front()
    }

    /// Returns the next request. The tag is unique until its completion; there is no stamp.
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
        self.settle_plans(now);
    }

    /// When a thread, the page cache or a volume has something due.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let waits = self.waiting.peek().map(|&Reverse((at, _))| at);
        let cached = self.cached.as_ref().and_then(CacheService::next_due);
        self.volumes.iter().filter_map(Volume::poll_timeout).chain(waits).chain(cached).min()
    }

    /// Does what is due by `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(&Reverse((at, thread))) = self.waiting.peek()
            && at <= now
        {
            self.waiting.pop();
            self.end_wait(now, thread, false);
        }
        self.run_due_write_back(now);
        for at in 0..self.volumes.len() {
            while self.volumes[at].poll_timeout().is_some_and(|due| due <= now) {
                let mut plan = self.issue.take_plan();
                self.volumes[at].handle_timeout(now, &mut plan);
                self.issue.begin_plan(PlanOwner::System, self.system_origin(), at as u8, plan);
            }
        }
        self.settle_plans(now);
    }
}

/// The result of planning a call.
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

/// Plans a write that goes to the drive at once. A write-through handle forces the medium: Windows NT by FUA and, if
/// the file grew, together with all metadata that locate the new data, but without a flush of the drive (fastfat; for
/// NTFS inferred); Linux like fdatasync after the write (`generic_write_sync`). Windows 98 only waits for the drive.
fn plan_write(
    volume: &mut Volume,
    family: SystemFamily,
    now: Instant,
    file: FileId,
    (from, bytes): (u64, u64),
    handle: OpenMode,
    plan: &mut IoPlan,
) -> Result<(), VolumeError> {
    let (through, before) = (handle == OpenMode::WriteThrough, volume.file_bytes(file));
    let flags = if through && family == SystemFamily::WindowsNt { Flags::FUA } else { Flags::NONE };
    volume.write(now, file, from, bytes, flags, plan)?;
    if through {
        let grew = volume.file_bytes(file) > before;
        plan_force(volume, family, now, file, grew, plan);
    }
    Ok(())
}

/// Adds the steps after the data of a write-through handle.
fn plan_force(volume: &mut Volume, family: SystemFamily, now: Instant, file: FileId, grew: bool, plan: &mut IoPlan) {
    match family {
        SystemFamily::Linux => volume.fsync(now, file, SyncScope::Data, plan),
        SystemFamily::WindowsNt if grew => {
            volume.fsync(now, file, SyncScope::Data, plan);
            plan.remove_flushes();
        }
        SystemFamily::WindowsNt | SystemFamily::Windows98 => {}
    }
}
