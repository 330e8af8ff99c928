//! The file layer: operations in, completions out, at instants that the caller sets. It never sleeps.
//!
//! The rules are those of a [`Device`]: after `submit`, `handle_timeout`, `cut_power` and `power_on` poll completions
//! until there are none; call `handle_timeout` when the instant of `poll_timeout` comes; time never runs back; late calls
//! change nothing.
//!
//! Each operation is a call of a modelled Linux ([`System`]) with its page cache and one volume of ext4. The layer adds the
//! bytes: a write to the device carries a copy of them, and its landings bring them to the medium.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use seekwise_disk::block::setting::LayerSetting;
use seekwise_disk::block::{Completion, Control, Device, Op, Request, SECTOR, Status};
use seekwise_disk::slab::Slab;
use seekwise_disk::time::Instant;
use seekwise_work::files::call::{Call, CallResult, File, OpenMode, ThreadId};
use seekwise_work::files::system::System;
use seekwise_work::files::volume::{
    Alignment, ClusterRun, FileId, FileName, FoundFile, IoPlan, PageFact, Partition, SectorRole, SyncScope, Volume,
    VolumeError, VolumeMisfit, lay_out_partitions,
};

use crate::contents::{FileBytes, PAGE};
use crate::history::{CommittedFile, Fact, History, PlacedBytes};
use crate::linux::{THREADS, start_system, volume_spec};
use crate::medium::{BLOCK, FoundBlock, Medium, Owner, WriteData};
use crate::names::{Names, ROOT};
use crate::operation::{Answer, FileCompletion, FileError, FileOp, Handle, OpId, RecoveredFile, Settings};
use crate::requests::{Prepared, Requests};

/// A file layer over a device.
pub struct Files<D: Device> {
    device: D,
    settings: Settings,
    partition: Partition,
    is_on: bool,
    /// The number of the mount.
    mount: u32,
    now: Instant,
    next: Instant,
    system: System,
    /// By thread of the system: the operation that it serves.
    serving: Vec<u32>,
    idle: Vec<ThreadId>,
    pending: Slab<PendingOp>,
    next_op: u64,
    completions: VecDeque<FileCompletion>,
    names: Names,
    /// By number; also those that were removed, until the removal is committed.
    files: BTreeMap<u32, FileBytes>,
    history: History,
    medium: Medium,
    requests: Requests,
    /// Requests that the device has still to take.
    outbox: VecDeque<Request>,
}

/// An operation in flight.
#[derive(Clone, Debug)]
struct PendingOp {
    op: OpId,
    submitted: Instant,
    /// Number of calls that have not returned.
    calls: u32,
    outcome: Outcome,
    error: Option<FileError>,
}

/// The outcome of an operation, once its calls have returned.
#[derive(Clone, Debug)]
enum Outcome {
    Answer(Answer),
    Read { file: u32, from: u64, bytes: u64 },
    Written { file: u32, bytes: u64 },
    Resized { file: u32 },
}

fn volume_file(file: u32) -> File {
    File { volume: 0, id: FileId(file) }
}

fn error_of(refused: VolumeError) -> FileError {
    match refused {
        VolumeError::TooLarge { .. } => FileError::TooLarge,
        _ => FileError::NoSpace,
    }
}

/// Splits bytes `from..to` of a file, which lie from sector `lba` on, by the file's parts: `part_of` tells the part of a page,
/// and the page up to which it goes.
fn split_by_part((from, to): (u64, u64), lba: u64, part_of: impl Fn(u64) -> (u32, u64)) -> Vec<PlacedBytes> {
    let (mut placed, mut at) = (Vec::<PlacedBytes>::with_capacity(1), from);
    while at < to {
        let (part, next) = part_of(at / PAGE as u64);
        let end = to.min(next.saturating_mul(PAGE as u64));
        match placed.last_mut() {
            Some(last) if last.part == part => last.to = end,
            _ => placed.push(PlacedBytes { from: at, to: end, lba: lba + (at - from) / SECTOR, part }),
        }
        at = end;
    }
    placed
}

impl<D: Device> Files<D> {
    /// Formats the whole device with ext4 and mounts it; an error if it is too small (512 MiB).
    pub fn format(mut device: D, settings: Settings) -> Result<Files<D>, VolumeMisfit> {
        let limits = device.limits(0);
        let partition = lay_out_partitions(limits.sectors, Alignment::Mebibytes, &[0])?[0];
        let volume = Volume::format(&volume_spec(&settings, partition))?;
        let landings = Control::Set(LayerSetting::Landings(true));
        device.control(Instant::ZERO, &landings).expect("every device reports landings");
        let system = start_system(&settings, &device, volume);
        let mut files = Files {
            partition,
            is_on: true,
            mount: 0,
            now: Instant::ZERO,
            next: Instant::ZERO,
            system,
            serving: alloc::vec![0; usize::from(THREADS)],
            idle: (0..THREADS).rev().collect(),
            pending: Slab::with_capacity(usize::from(THREADS)),
            next_op: 1,
            completions: VecDeque::new(),
            names: Names::new(),
            files: BTreeMap::new(),
            history: History::default(),
            medium: Medium::new(settings.tear),
            requests: Requests::new(&limits),
            outbox: VecDeque::new(),
            device,
            settings,
        };
        files.update_next();
        Ok(files)
    }

    /// Places a file of `bytes` zeros that is on the medium before the run, in no time; its directory must exist. Panics if
    /// an operation was submitted before.
    pub fn place_file(&mut self, path: &str, bytes: u64) -> Result<(), FileError> {
        assert!(self.next_op == 1 && !self.requests.has_begun(), "files are placed before the first operation");
        let place = self.names.find_place(path)?;
        if place.file.is_some() {
            return Err(FileError::Exists);
        }
        let volume = self.system.volume_mut(0);
        let id = volume.place_initial_file(FileId(place.directory), place.file_name(), bytes).map_err(error_of)?;
        volume.begin_run();
        volume.mount(&mut IoPlan::new());
        let cluster = BLOCK * SECTOR;
        let placed = |run: &ClusterRun| PlacedBytes {
            from: run.from * cluster,
            to: (run.from + run.len) * cluster,
            lba: volume.cluster_lba(run.start),
            part: 0,
        };
        let runs = volume.file_runs(id).iter().map(placed).collect();
        let known_place = Some((place.directory, String::from(place.name)));
        self.history.add_committed(id.0, CommittedFile { place: known_place, is_directory: false, len: bytes, runs });
        self.files.insert(id.0, FileBytes::zeros(bytes));
        self.names.add(id.0, place.directory, place.name, false);
        Ok(())
    }

    /// The device below.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Number of free bytes.
    pub fn free_bytes(&self) -> u64 {
        self.system.volume(0).free_bytes()
    }

    /// True while there is power.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Begins an operation at `now`; its completion has the returned number, and may be ready at once.
    pub fn submit(&mut self, now: Instant, op: FileOp<'_>) -> OpId {
        if self.next <= now {
            self.handle_timeout(now);
        }
        self.now = now;
        let id = OpId(self.next_op);
        self.next_op += 1;
        let begun = if self.is_on { self.begin(id, op) } else { Err(FileError::PoweredOff) };
        match begun {
            Ok(None) => self.settle(),
            Ok(Some(answer)) => self.complete_op(id, now, Ok(answer)),
            Err(error) => self.complete_op(id, now, Err(error)),
        }
        id
    }

    fn complete_op(&mut self, op: OpId, submitted: Instant, result: Result<Answer, FileError>) {
        self.completions.push_back(FileCompletion { op, submitted, finished: self.now, result });
    }

    /// The next completion that is ready.
    pub fn poll_completion(&mut self) -> Option<FileCompletion> {
        self.completions.pop_front()
    }

    /// When to call `handle_timeout` next; nothing if nothing is in progress.
    pub fn poll_timeout(&self) -> Option<Instant> {
        (self.next != Instant::FAR).then_some(self.next)
    }

    /// Does everything that is due by `now`, each thing at its own instant.
    pub fn handle_timeout(&mut self, now: Instant) {
        while self.next <= now && self.next != Instant::FAR {
            self.now = self.now.max(self.next);
            self.device.handle_timeout(self.now);
            if self.is_on {
                self.drain_device();
                self.system.handle_timeout(self.now);
            }
            self.settle();
        }
        self.now = self.now.max(now);
    }

    /// Begins an operation: returns its answer if it needs no call.
    fn begin(&mut self, id: OpId, op: FileOp<'_>) -> Result<Option<Answer>, FileError> {
        match op {
            FileOp::Open { path } => {
                let file = self.names.find(path)?;
                let answer = Answer::Opened(Handle { file, mount: self.mount });
                self.begin_op(id, Outcome::Answer(answer), Call::Open(volume_file(file)));
            }
            FileOp::Create { path } => self.begin_create(id, path, false)?,
            FileOp::CreateDirectory { path } => self.begin_create(id, path, true)?,
            FileOp::Read { file, from, bytes } => self.begin_read(id, file, (from, bytes), OpenMode::Cached)?,
            FileOp::ReadDirect { file, from, bytes } => self.begin_read(id, file, (from, bytes), OpenMode::Direct)?,
            FileOp::Write { data: [], .. } | FileOp::WriteDirect { data: [], .. } => {
                return Ok(Some(Answer::Written(0)));
            }
            FileOp::Write { file, from, data } => self.begin_write(id, file, from, data, OpenMode::Cached)?,
            FileOp::WriteDirect { file, from, data } => self.begin_write(id, file, from, data, OpenMode::Direct)?,
            FileOp::SetLen { file, len } => return self.begin_set_len(id, file, len),
            FileOp::Sync { file, scope } => {
                let file = volume_file(self.check_handle(file)?);
                let call = match self.names.is_directory(file.id.0) {
                    true => Call::Sync(file, SyncScope::All),
                    false => Call::Sync(file, scope),
                };
                self.begin_op(id, Outcome::Answer(Answer::Done), call);
            }
            FileOp::SyncAll => self.begin_op(id, Outcome::Answer(Answer::Done), Call::SyncVolume(0)),
            FileOp::Rename { from, to } => return self.begin_rename(id, from, to),
            FileOp::Remove { path } => {
                let file = self.names.find(path)?;
                if file == ROOT {
                    return Err(FileError::BadName);
                }
                self.check_empty(file)?;
                self.system.guard_planned_writes();
                self.begin_op(id, Outcome::Answer(Answer::Done), Call::Delete(volume_file(file)));
                self.names.remove(file);
            }
            FileOp::Len { file } => {
                let file = self.check_file(file)?;
                return Ok(Some(Answer::Len(self.files[&file].len)));
            }
            FileOp::List { path } => {
                let directory = self.names.find(path)?;
                let entries = self.names.entries(directory).ok_or(FileError::NotADirectory)?;
                let answer = Answer::Names(entries.keys().cloned().collect());
                self.begin_op(id, Outcome::Answer(answer), Call::List(volume_file(directory)));
            }
        }
        Ok(None)
    }

    /// The number of the file or directory of a handle.
    fn check_handle(&self, handle: Handle) -> Result<u32, FileError> {
        let is_known = handle.mount == self.mount && self.names.contains(handle.file);
        if is_known { Ok(handle.file) } else { Err(FileError::NotFound) }
    }

    /// The number of the file of a handle.
    fn check_file(&self, handle: Handle) -> Result<u32, FileError> {
        let is_file = handle.mount == self.mount && self.files.contains_key(&handle.file);
        match is_file && self.names.contains(handle.file) {
            true => Ok(handle.file),
            false => self.check_handle(handle).and(Err(FileError::IsADirectory)),
        }
    }

    /// An error if it is a directory with entries.
    fn check_empty(&self, file: u32) -> Result<(), FileError> {
        match self.names.entries(file).is_some_and(|entries| !entries.is_empty()) {
            true => Err(FileError::NotEmpty),
            false => Ok(()),
        }
    }

    fn begin_create(&mut self, id: OpId, path: &str, is_directory: bool) -> Result<(), FileError> {
        let place = self.names.find_place(path)?;
        if place.file.is_some() {
            return Err(FileError::Exists);
        }
        let (directory, name) = (volume_file(place.directory), place.file_name());
        let call = match is_directory {
            true => Call::CreateDirectory { directory, name },
            false => Call::Create { directory, name },
        };
        let index = self.add_pending(id, Outcome::Answer(Answer::Done));
        self.begin_call(index, call);
        // Nothing is listed if the volume has refused it; the call returns with the reason.
        let Some(file) = self.absorb_changes(place.name, is_directory) else { return Ok(()) };
        self.names.add(file, place.directory, place.name, is_directory);
        if !is_directory {
            self.files.insert(file, FileBytes::default());
            let opened = Answer::Opened(Handle { file, mount: self.mount });
            self.pending[index].outcome = Outcome::Answer(opened);
        }
        Ok(())
    }

    fn begin_read(
        &mut self,
        id: OpId,
        handle: Handle,
        (from, bytes): (u64, u64),
        mode: OpenMode,
    ) -> Result<(), FileError> {
        let file = self.check_file(handle)?;
        let call = Call::Read { file: volume_file(file), from, bytes, handle: mode };
        self.begin_op(id, Outcome::Read { file, from, bytes }, call);
        Ok(())
    }

    fn begin_write(
        &mut self,
        id: OpId,
        handle: Handle,
        from: u64,
        data: &[u8],
        mode: OpenMode,
    ) -> Result<(), FileError> {
        let file = self.check_file(handle)?;
        let bytes = self.files.get_mut(&file).expect("a file has contents");
        bytes.check_write(from, data.len())?;
        let end = from.checked_add(data.len() as u64).ok_or(FileError::TooLarge)?;
        let start = from.min(bytes.len);
        if end.div_ceil(PAGE as u64) > u64::from(u32::MAX) {
            return Err(FileError::TooLarge);
        }
        bytes.write(from, data);
        let call = Call::Write { file: volume_file(file), from: start, bytes: end - start, handle: mode };
        self.begin_op(id, Outcome::Written { file, bytes: data.len() as u64 }, call);
        Ok(())
    }

    /// Begins to cut or extend a file; returns the answer if nothing is to do.
    fn begin_set_len(&mut self, id: OpId, handle: Handle, len: u64) -> Result<Option<Answer>, FileError> {
        let file = self.check_file(handle)?;
        let bytes = self.files.get_mut(&file).expect("a file has contents");
        if len == bytes.len {
            return Ok(Some(Answer::Done));
        }
        if len.div_ceil(PAGE as u64) > u64::from(u32::MAX) {
            return Err(FileError::TooLarge);
        }
        bytes.set_len(len, self.system.begun_plans())?;
        self.system.guard_planned_writes();
        self.begin_op(id, Outcome::Resized { file }, Call::SetLength { file: volume_file(file), bytes: len });
        Ok(None)
    }

    /// Begins a rename; returns the answer if nothing is to do. A file that it replaces is removed by a call of its own at the
    /// same instant: both changes are in one transaction.
    fn begin_rename(&mut self, id: OpId, from: &str, to: &str) -> Result<Option<Answer>, FileError> {
        let file = self.names.find(from)?;
        let place = self.names.find_place(to)?;
        if file == ROOT {
            return Err(FileError::BadName);
        }
        if place.file == Some(file) {
            return Ok(Some(Answer::Done));
        }
        let is_directory = self.names.is_directory(file);
        if is_directory && self.names.is_within(place.directory, file) {
            return Err(FileError::WithinItself);
        }
        if let Some(old) = place.file {
            match (is_directory, self.names.is_directory(old)) {
                (true, false) => return Err(FileError::NotADirectory),
                (false, true) => return Err(FileError::IsADirectory),
                _ => self.check_empty(old)?,
            }
        }
        // The volume needs two free blocks for the new entry, and must not refuse it after the removal.
        if self.system.volume(0).free_bytes() < 3 * PAGE as u64 {
            return Err(FileError::NoSpace);
        }
        let index = self.add_pending(id, Outcome::Answer(Answer::Done));
        if let Some(old) = place.file {
            self.system.guard_planned_writes();
            self.begin_call(index, Call::Delete(volume_file(old)));
            self.names.remove(old);
        }
        let (directory, name) = (volume_file(place.directory), place.file_name());
        self.begin_call(index, Call::Rename { file: volume_file(file), directory, name });
        self.absorb_changes(place.name, is_directory);
        self.names.rename(file, place.directory, place.name);
        Ok(None)
    }

    /// Begins an operation of one call.
    fn begin_op(&mut self, id: OpId, outcome: Outcome, call: Call) {
        let index = self.add_pending(id, outcome);
        self.begin_call(index, call);
    }

    fn add_pending(&mut self, op: OpId, outcome: Outcome) -> u32 {
        self.pending.put(PendingOp { op, submitted: self.now, calls: 0, outcome, error: None })
    }

    /// Begins a call of an operation, on an idle thread.
    fn begin_call(&mut self, index: u32, call: Call) {
        let thread = self.idle.pop().unwrap_or_else(|| {
            self.system.add_thread();
            self.serving.push(0);
            (self.serving.len() - 1) as ThreadId
        });
        self.serving[usize::from(thread)] = index;
        self.pending[index].calls += 1;
        self.system.begin_call(self.now, thread, call);
    }

    /// Adds the volume's changes to the history. A file that is listed now is listed under `name`; returns the last one.
    fn absorb_changes(&mut self, name: &str, is_directory: bool) -> Option<u32> {
        let mut listed = None;
        for change in self.system.volume_mut(0).take_changes() {
            let fact = match change.fact {
                PageFact::Listed(directory) => {
                    listed = Some(change.file.0);
                    Fact::Listed { directory: directory.0, name: name.into(), is_directory }
                }
                PageFact::Unlisted(directory) => Fact::Unlisted(directory.0),
                PageFact::Unrecorded => Fact::Removed,
                PageFact::Sized(len) => Fact::Sized(len),
                PageFact::Mapped { from, to, lba } => {
                    let held = self.files.get(&change.file.0);
                    let part = |page| held.map_or((0, u64::MAX), |held| held.part_of(page));
                    for placed in split_by_part((from, to), lba, part) {
                        self.history.add(change.number, change.file.0, Fact::Placed(placed));
                    }
                    continue;
                }
                PageFact::Unmapped { from, .. } => {
                    let number = self.files.get(&change.file.0).map_or(0, FileBytes::cut_count);
                    Fact::Cut { from, number }
                }
                // An inode is in use once the file is listed. ext4 in this model keeps no bytes in inodes.
                PageFact::Recorded | PageFact::Inside(_) => continue,
            };
            self.history.add(change.number, change.file.0, fact);
        }
        listed
    }

    /// Passes requests, completions and landings between the system and the device until both wait.
    fn settle(&mut self) {
        if self.is_on {
            loop {
                self.issue_requests();
                if !self.drain_device() {
                    break;
                }
            }
            self.absorb_changes("", false);
            self.commit_history();
            while let Some(returned) = self.system.poll_returned() {
                self.end_call(&returned);
            }
            self.requests.sweep(&self.device);
        } else {
            while self.device.poll_completion().is_some() {}
            self.collect_landings();
        }
        self.update_next();
    }

    fn update_next(&mut self) {
        let device = self.device.poll_timeout().unwrap_or(Instant::FAR);
        let system = if self.is_on { self.system.poll_timeout() } else { None };
        self.next = device.min(system.unwrap_or(Instant::FAR));
    }

    fn commit_history(&mut self) {
        let Files { history, files, medium, requests, .. } = self;
        for (file, cut) in history.commit(requests.committed()) {
            match cut {
                None => _ = files.remove(&file),
                Some(cut) => {
                    if let Some(bytes) = files.get_mut(&file) {
                        bytes.forget_cuts(cut);
                    }
                }
            }
            medium.forget_replaced(file, |part, block| !history.has_place_in(file, part, block * BLOCK));
        }
    }

    /// Submits requests until the device is full or none is left.
    fn issue_requests(&mut self) {
        loop {
            let request = match self.outbox.pop_front() {
                Some(request) => request,
                None => match self.system.poll_request(self.now) {
                    Some(request) => self.prepare(request),
                    None => return,
                },
            };
            match self.device.submit(self.now, request) {
                Ok(next) if next <= self.now => _ = self.drain_device(),
                Ok(_) => {}
                Err(refused) => return self.outbox.push_front(refused),
            }
        }
    }

    /// Prepares a request of the system: a write to a file carries a copy of its bytes.
    fn prepare(&mut self, request: Request) -> Request {
        assert!(request.op != Op::Compute, "calls take no processor time here");
        let (_, &step) = self.system.request_step(request.tag).expect("a step of a plan");
        let plan = self.system.request_plan(request.tag).expect("a step of a plan");
        let data = match step.role {
            SectorRole::Data { file, from } if request.op == Op::Write => {
                let byte = from + (request.lba - step.lba) * SECTOR;
                let len = (u64::from(request.sectors) * SECTOR) as usize;
                let held = self.files.get(&file.0);
                let bytes = held.map_or_else(|| alloc::vec![0; len], |held| held.planned_bytes(plan, byte, len));
                let part = |page| held.map_or((0, u64::MAX), |held| held.planned_part(plan, page));
                let placed = split_by_part((byte, byte + len as u64), request.lba, part);
                let owner = |placed: PlacedBytes| (placed.lba, Owner { file: file.0, part: placed.part });
                let owners = placed.into_iter().map(owner).collect();
                Some(WriteData { owners, lba: request.lba, bytes: bytes.into() })
            }
            _ => None,
        };
        self.requests.prepare(Prepared { request, data, role: step.role, latest_change: step.latest_change })
    }

    /// Takes completions and landings from the device; true if there were completions.
    fn drain_device(&mut self) -> bool {
        let mut has_completed = false;
        while let Some(completion) = self.device.poll_completion() {
            has_completed = true;
            self.complete_request(&completion);
        }
        self.collect_landings();
        has_completed
    }

    fn collect_landings(&mut self) {
        while let Some(landing) = self.device.poll_landing() {
            self.requests.apply_landing(&landing, &mut self.medium);
        }
    }

    fn complete_request(&mut self, completion: &Completion) {
        match self.requests.flush_after(completion.tag) {
            Some(flush) if completion.status == Status::Done => self.outbox.push_back(flush),
            _ => self.system.complete_request(self.now, completion),
        }
    }

    /// Ends a call, and its operation if that has no other.
    fn end_call(&mut self, returned: &CallResult) {
        let index = self.serving[usize::from(returned.thread)];
        self.idle.push(returned.thread);
        let pending = &mut self.pending[index];
        pending.calls -= 1;
        let failed = returned.failed.then_some(FileError::Device);
        pending.error = pending.error.or(returned.refused.map(error_of)).or(failed);
        if pending.calls > 0 {
            return;
        }
        let PendingOp { op, submitted, outcome, error, .. } = pending.clone();
        self.pending.free(index);
        let result = self.finish_outcome(outcome, error);
        self.complete_op(op, submitted, result);
    }

    fn finish_outcome(&mut self, outcome: Outcome, error: Option<FileError>) -> Result<Answer, FileError> {
        match (outcome, error) {
            (Outcome::Written { file, .. } | Outcome::Resized { file }, Some(error)) => {
                // The volume may not have admitted all of it.
                if self.names.contains(file) {
                    let admitted = self.system.volume(0).file_bytes(FileId(file));
                    let bytes = self.files.get_mut(&file).expect("a file has contents");
                    if bytes.len > admitted {
                        bytes.truncate(admitted);
                    }
                }
                Err(error)
            }
            (_, Some(error)) => Err(error),
            (Outcome::Answer(answer), None) => Ok(answer),
            (Outcome::Resized { .. }, None) => Ok(Answer::Done),
            (Outcome::Written { bytes, .. }, None) => Ok(Answer::Written(bytes)),
            (Outcome::Read { file, from, bytes }, None) => match self.names.contains(file) {
                true => self.files[&file].read(from, bytes).map(Answer::Bytes),
                false => Err(FileError::NotFound),
            },
        }
    }

    /// The power fails: operations in flight end with [`FileError::PowerLost`], and memory is lost.
    pub fn cut_power(&mut self, now: Instant) {
        self.handle_timeout(now);
        self.stop(&Control::PowerCut);
    }

    /// The power is switched off in order: the drive does what it does then, but the system does not shut down. Sync before.
    pub fn power_off(&mut self, now: Instant) {
        self.handle_timeout(now);
        self.stop(&Control::PowerOff);
    }

    fn stop(&mut self, control: &Control) {
        if !self.is_on {
            return;
        }
        self.absorb_changes("", false);
        self.is_on = false;
        self.device.control(self.now, control).expect("power is never refused");
        let lost: Vec<u32> = (0..self.serving.len() as u32)
            .filter(|&thread| !self.idle.contains(&(thread as ThreadId)))
            .map(|thread| self.serving[thread as usize])
            .collect();
        let mut ended: BTreeMap<OpId, Instant> = BTreeMap::new();
        for index in lost {
            let PendingOp { op, submitted, .. } = self.pending[index];
            ended.insert(op, submitted);
        }
        for (op, submitted) in ended {
            self.complete_op(op, submitted, Err(FileError::PowerLost));
        }
        self.settle();
    }

    /// Ends what an orderly power-off has still to write, and the effects of a cut on the medium.
    fn end_stop(&mut self) {
        self.medium.end_cut();
        self.commit_history();
    }

    /// Each file and directory as recovery finds it, by path: the state of the last transaction on the medium, with the bytes
    /// that have landed. Call it while the power is off; with the power on it tells what has landed so far.
    pub fn recovered_files(&mut self) -> Vec<RecoveredFile> {
        if !self.is_on {
            self.end_stop();
        }
        let mut listed = self.history.listed();
        listed.sort_unstable_by(|a, b| a.1.cmp(&b.1));
        let recover = |(file, path): (u32, String)| {
            let committed = &self.history.committed()[&file];
            if committed.is_directory {
                return RecoveredFile { path, contents: None, unreadable: Vec::new() };
            }
            let mut contents = alloc::vec![0; committed.len as usize];
            let mut unreadable = Vec::new();
            for (page, block) in self.recovered_pages(file, committed) {
                let at = page * PAGE as u64;
                let end = committed.len.min(at + PAGE as u64);
                let sectors = (at..end).step_by(SECTOR as usize).enumerate();
                for (sector, byte) in sectors {
                    let to = end.min(byte + SECTOR);
                    if block.torn & 1 << sector != 0 {
                        match unreadable.last_mut() {
                            Some(Range { end, .. }) if *end == byte => *end = to,
                            _ => unreadable.push(byte..to),
                        }
                    } else {
                        let source = &block.bytes[(byte - at) as usize..(to - at) as usize];
                        contents[byte as usize..to as usize].copy_from_slice(source);
                    }
                }
            }
            RecoveredFile { path, contents: Some(contents), unreadable }
        };
        listed.into_iter().map(recover).collect()
    }

    /// The pages of a committed file that were ever written, with their numbers in the file.
    fn recovered_pages<'a>(
        &'a self,
        file: u32,
        committed: &'a CommittedFile,
    ) -> impl Iterator<Item = (u64, &'a crate::medium::Block)> {
        let pages = committed.len.div_ceil(PAGE as u64);
        let in_run = move |run: &'a PlacedBytes| {
            let (first, count) = (run.lba / BLOCK, (run.to - run.from) / PAGE as u64);
            let page = run.from / PAGE as u64;
            self.medium
                .owned_blocks(Owner { file, part: run.part }, first, first + count)
                .map(move |(number, block)| (page + number - first, block))
        };
        committed.runs.iter().flat_map(in_run).filter(move |&(page, _)| page < pages)
    }

    /// The power returns: the drive starts, and the volume is mounted as recovery finds it. Mounting takes no time.
    pub fn power_on(&mut self, now: Instant) {
        self.handle_timeout(now);
        if self.is_on {
            return;
        }
        self.end_stop();
        self.device.control(self.now, &Control::PowerOn).expect("power is never refused");
        while self.device.poll_completion().is_some() {}
        self.collect_landings();
        self.mount_found_files();
        self.is_on = true;
        self.settle();
    }

    /// Mounts: a new system with the volume as the journal has committed it, and the bytes that have landed.
    fn mount_found_files(&mut self) {
        let listed: Vec<u32> = self.history.listed().into_iter().map(|(file, _)| file).collect();
        let index_of: BTreeMap<u32, usize> = listed.iter().enumerate().map(|(index, &file)| (file, index)).collect();
        let mut volume = Volume::format(&volume_spec(&self.settings, self.partition)).expect("it was formatted before");
        let origin = volume.cluster_lba(0);
        let found = listed.iter().map(|file| {
            let committed = &self.history.committed()[file];
            let (directory, name) = committed.place.as_ref().expect("a listed file has a place");
            let run = |run: &PlacedBytes| ClusterRun {
                from: run.from / PAGE as u64,
                start: (run.lba - origin) / BLOCK,
                len: (run.to - run.from) / PAGE as u64,
            };
            FoundFile {
                directory: index_of.get(directory).copied(),
                name: FileName::long(name.len() as u8),
                is_directory: committed.is_directory,
                bytes: committed.len,
                runs: committed.runs.iter().map(run).collect(),
            }
        });
        let found: Vec<FoundFile> = found.collect();
        let placed = volume.place_found_files(&found).expect("it had room for them before");
        self.adopt_found_files(&listed, &placed);
        self.system = start_system(&self.settings, &self.device, volume);
        self.serving = alloc::vec![0; usize::from(THREADS)];
        self.idle = (0..THREADS).rev().collect();
        self.pending = Slab::with_capacity(usize::from(THREADS));
        self.outbox.clear();
        self.requests.restart();
        self.mount += 1;
    }

    /// Takes over names, bytes and places of the files that a mount found, under the numbers of the new volume.
    fn adopt_found_files(&mut self, listed: &[u32], placed: &[FileId]) {
        let mut new_ids = BTreeMap::from([(ROOT, ROOT)]);
        let (mut names, mut history, mut files) = (Names::new(), History::default(), BTreeMap::new());
        let mut owned = Vec::new();
        for (&file, &FileId(id)) in listed.iter().zip(placed) {
            let committed = &self.history.committed()[&file];
            let (directory, name) = committed.place.as_ref().expect("a listed file has a place");
            let directory = new_ids[directory];
            new_ids.insert(file, id);
            names.add(id, directory, name, committed.is_directory);
            if !committed.is_directory {
                let mut bytes = FileBytes::zeros(committed.len);
                for (page, block) in self.recovered_pages(file, committed) {
                    bytes.insert_found_page(page, block.bytes, block.torn == 0);
                }
                bytes.truncate(committed.len);
                files.insert(id, bytes);
            }
            for run in &committed.runs {
                let (first, end) = (run.lba / BLOCK, (run.lba + (run.to - run.from) / SECTOR) / BLOCK);
                let (old, new) = (Owner { file, part: run.part }, Owner { file: id, part: 0 });
                let bytes = |number| committed.len.saturating_sub(run.from + (number - first) * PAGE as u64);
                let found = |(number, _)| FoundBlock { old, new, number, bytes: bytes(number) };
                owned.extend(self.medium.owned_blocks(old, first, end).map(found));
            }
            let runs = committed.runs.iter().map(|run| PlacedBytes { part: 0, ..*run }).collect();
            let place = Some((directory, name.clone()));
            history.add_committed(id, CommittedFile { place, runs, ..committed.clone() });
        }
        self.medium.set_owners(&owned);
        (self.names, self.history, self.files) = (names, history, files);
    }
}
