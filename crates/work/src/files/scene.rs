//! A scene: programs on a system with its volumes, at once or one after another; a source of requests. The operations
//! of programs, such as the copy of a file or a commit, are recorded.

mod commits;
mod layout;

use alloc::boxed::Box;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use seekwise_disk::block::{
    Accounting, Completion, Flags, ForcedWrite, Limits, Op, Request, Source, SourcePoll, Status,
};
use seekwise_disk::rng::Seed;
use seekwise_disk::time::{Instant, Span};

use self::commits::CommitTracker;
pub use self::commits::ProgramCommit;
use self::layout::PlacedScene;
pub use self::layout::SceneLayout;
use super::call::{Call, CallResult, File, Reads};
use super::note::{FileNote, FileNotes, IssuedWrite, OperationId};
use super::program::{FileSet, Program, ProgramAction, ProgramSpec};
use super::system::{System, SystemSpec};
use super::volume::{Aging, Alignment, InitialFile, Volume, VolumeError, VolumeFormat, VolumeMisfit};

/// A volume of a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumePlan {
    /// The device: 0 for the drive, then the further ones.
    pub unit: u8,
    /// The size in bytes; 0 for the rest of the device.
    pub bytes: u64,
    pub format: VolumeFormat,
    /// How its files are fragmented.
    pub aging: Aging,
    /// The files from before the run.
    pub files: FileSet,
}

/// A program of a scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramPlan {
    pub name: String,
    pub doing: ProgramSpec,
    /// The programs, by index, that must end before it begins.
    pub after: Vec<usize>,
    /// Before it begins, all dirty data are written and the cache is emptied, as by a restart; no operation includes
    /// this.
    pub cold: bool,
    /// At its end it writes all dirty data and waits for them.
    pub sync: bool,
    /// The scene does not wait for its end.
    pub background: bool,
}

/// The description of a scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SceneSpec {
    pub name: String,
    pub system: SystemSpec,
    pub alignment: Alignment,
    /// The capabilities of the further devices: units 1, 2, … Their sectors follow the drive's.
    pub beside: Vec<Limits>,
    /// The volumes, in the order in which they lie on their devices.
    pub volumes: Vec<VolumePlan>,
    pub volume_names: Vec<String>,
    pub programs: Vec<ProgramPlan>,
    /// The scene ends at this time, whatever its programs do; `None` for no limit.
    pub runtime: Option<Span>,
}

/// The action at the end of the last program that the scene waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SceneEnd {
    /// The scene ends; dirty data stay dirty.
    #[default]
    Ends,
    /// The system continues its own work, such as writing dirty data, for this long.
    GoesOn(Span),
    /// All volumes are written, as before an orderly power-off.
    Unmounts,
}

/// Why a scene cannot be created, with the index of the volume or program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SceneError {
    /// A volume does not fit the drive, or its file system.
    Volume(usize, VolumeMisfit),
    /// The files from before the run do not fit a volume.
    Files(usize, VolumeError),
    /// A program's files do not fit its volumes.
    Program(usize, VolumeError),
}

impl fmt::Display for SceneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SceneError::Volume(index, misfit) => write!(f, "volume {}: {misfit}", index + 1),
            SceneError::Files(index, refused) => write!(f, "files of volume {}: {refused}", index + 1),
            SceneError::Program(index, refused) => write!(f, "files of program {}: {refused}", index + 1),
        }
    }
}

/// An operation of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    pub program: u16,
    pub began: Instant,
    pub ended: Instant,
}

/// Why a program did not reach its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramError {
    Refused(VolumeError),
    /// A request of a call failed.
    Failed,
    /// The scene came to a standstill before its end: a bug of the model.
    Waits,
}

/// A running scene.
pub struct Scene {
    system: System,
    /// Bytes that programs read through the page cache.
    cached_reads: Reads,
    volume_count: u8,
    programs: Vec<RunningProgram>,
    threads: Vec<SceneThread>,
    /// The operations that have ended.
    operations: Vec<Operation>,
    commits: CommitTracker,
    /// Requests in flight, by tag.
    requests: Vec<SceneRequest>,
    request_count: u32,
    /// Flushes to issue, each after a write that it makes durable.
    following_flushes: VecDeque<Request>,
    /// By unit.
    durability: Vec<Durability>,
    /// Number of programs that the scene still waits for.
    awaited_programs: usize,
    scene_end: SceneEnd,
    /// The last program that the scene waits for has ended.
    is_ending: bool,
    /// Number of volumes whose final writing was begun.
    unmounted_volumes: u8,
    /// The scene ends at this time.
    end_time: Instant,
    has_begun: bool,
    is_over: bool,
    observer: Option<SceneObserver>,
}

/// The receiver of a scene's notes.
struct SceneObserver {
    notes: FileNotes,
    /// By volume: the number of the first file that the run creates.
    first_created: Vec<u32>,
    /// Files from before the run that were reported.
    reported_files: BTreeSet<File>,
}

/// How a device makes writes durable.
#[derive(Clone, Copy, Debug)]
struct Durability {
    /// Supports [`Flags::FUA`].
    fua: bool,
    /// Acknowledges writes before they are durable.
    volatile: bool,
}

/// A request in flight.
#[derive(Clone, Copy, Debug, Default)]
struct SceneRequest {
    /// The thread that it belongs to; a higher number for the system.
    origin: u16,
    unit: u8,
    issued: Instant,
    /// For a write that a flush follows: its sectors.
    flushed_sectors: Option<u32>,
    /// The flush was begun.
    is_flushing: bool,
}

/// A program and its state.
#[derive(Debug)]
struct RunningProgram {
    program: Box<dyn Program>,
    plan: ProgramPlan,
    /// The index of its first thread in [`Scene::threads`].
    first_thread: u16,
    /// Number of threads that have not ended.
    running_threads: u16,
    state: ProgramState,
    began: Instant,
    ended: Option<Instant>,
    error: Option<ProgramError>,
    /// Operations under way.
    begun_operations: Vec<BegunOperation>,
}

#[derive(Clone, Copy, Debug)]
struct BegunOperation {
    number: u32,
    began: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProgramState {
    /// Waits for other programs.
    Waits,
    /// All volumes are synced and the caches are emptied before it begins: the number of calls done.
    Prepares(u8),
    Runs,
    /// All volumes are synced at its end: the number of volumes done.
    Syncs(u8),
    Over,
}

#[derive(Clone, Copy, Debug)]
struct SceneThread {
    /// The index of its program.
    program: u16,
    state: ThreadState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThreadState {
    /// Not begun, or ended.
    Idle,
    /// Waits for its call to return.
    InCall,
    /// Waits for another thread of its program.
    Parked,
}

impl Scene {
    /// Creates a scene on a drive with these limits, at time 0.
    pub fn new(spec: &SceneSpec, limits: &Limits, seed: Seed) -> Result<Scene, SceneError> {
        Scene::with_optional_notes(spec, limits, seed, None)
    }

    /// As [`Scene::new`]; the scene pushes notes of its events to `notes`.
    pub fn with_notes(spec: &SceneSpec, limits: &Limits, seed: Seed, notes: FileNotes) -> Result<Scene, SceneError> {
        Scene::with_optional_notes(spec, limits, seed, Some(notes))
    }

    fn with_optional_notes(
        spec: &SceneSpec,
        limits: &Limits,
        seed: Seed,
        notes: Option<FileNotes>,
    ) -> Result<Scene, SceneError> {
        let PlacedScene { volumes, programs } =
            spec.run_layout(limits.sectors, seed, notes.is_some()).place_volumes()?;
        let next_file = |volume: &Volume| volume.files().last().map_or(0, |last| last.0 + 1);
        let observer = notes.map(|notes| SceneObserver {
            notes,
            first_created: volumes.iter().map(next_file).collect(),
            reported_files: BTreeSet::new(),
        });
        let (mut threads, mut running) = (Vec::new(), Vec::new());
        for (index, (program, plan)) in programs.into_iter().zip(&spec.programs).enumerate() {
            running.push(RunningProgram::new(program, plan.clone(), threads.len() as u16));
            let thread_count = running[index].running_threads;
            threads.extend((0..thread_count).map(|_| SceneThread { program: index as u16, state: ThreadState::Idle }));
        }
        let mut system = System::new(volumes, spec.system, threads.len() as u16);
        for (index, volume) in spec.volumes.iter().enumerate() {
            let beside = usize::from(volume.unit).checked_sub(1).map(|index| &spec.beside[index]);
            system = system.with_volume_on_unit(index as u8, volume.unit, beside.unwrap_or(limits));
        }
        let durability = |limits: &Limits| Durability { fua: limits.fua, volatile: limits.volatile_cache };
        Ok(Scene {
            system,
            cached_reads: Reads::default(),
            volume_count: spec.volumes.len() as u8,
            awaited_programs: spec.programs.iter().filter(|program| !program.background).count(),
            programs: running,
            threads,
            operations: Vec::new(),
            commits: CommitTracker::default(),
            requests: Vec::new(),
            request_count: 0,
            following_flushes: VecDeque::new(),
            durability: core::iter::once(limits).chain(&spec.beside).map(durability).collect(),
            end_time: spec.runtime.map_or(Instant::FAR, |runtime| Instant::ZERO + runtime),
            has_begun: false,
            is_over: false,
            scene_end: SceneEnd::Ends,
            is_ending: false,
            unmounted_volumes: 0,
            observer,
        })
    }

    /// Sets the action at its end.
    #[must_use]
    pub fn with_end(mut self, scene_end: SceneEnd) -> Scene {
        self.scene_end = scene_end;
        if scene_end == SceneEnd::Unmounts {
            // The thread of the system's own calls.
            self.threads.push(SceneThread { program: self.programs.len() as u16, state: ThreadState::Idle });
            self.system.add_thread();
        }
        self
    }

    fn push_note(&self, now: Instant, note: FileNote) {
        if let Some(observer) = &self.observer {
            observer.notes.push(now, note);
        }
    }

    /// Reports the changes of pages since the last report.
    fn push_page_changes(&mut self, now: Instant) {
        if let Some(observer) = &self.observer {
            for volume in 0..self.volume_count {
                let changes = self.system.volume_mut(volume).take_changes();
                if !changes.is_empty() {
                    observer.notes.push(now, FileNote::Changed(volume, changes));
                }
            }
        }
    }

    /// Reports a call, and before it a file from before the run at its first use.
    fn push_call_note(&mut self, now: Instant, thread: u16, call: Call) {
        let Some(SceneObserver { notes, first_created, reported_files }) = &mut self.observer else { return };
        let is_initial = |file: &File| file.id.0 < first_created[usize::from(file.volume)];
        if let Some(file) = call.existing_file().filter(is_initial)
            && reported_files.insert(file)
        {
            notes.push(now, FileNote::FirstUse(file, InitialFile::new(self.system.volume(file.volume), file.id)));
        }
        notes.push(now, FileNote::Called(thread, call));
    }

    /// The programs' operations so far, in order of their ends.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// The programs' commits so far, in order of their ends.
    pub fn commits(&self) -> &[ProgramCommit] {
        self.commits.ended()
    }

    /// The time in which each program ran: until `now` if it still runs, `None` if it has not begun.
    pub fn run_windows(&self, now: Instant) -> impl Iterator<Item = Option<(Instant, Instant)>> {
        self.programs.iter().map(move |program| match program.state {
            ProgramState::Waits | ProgramState::Prepares(_) => None,
            _ => Some((program.began, program.ended.unwrap_or(now))),
        })
    }

    /// The indices of the programs that did not reach their ends, and why.
    pub fn program_errors(&self) -> impl Iterator<Item = (usize, ProgramError)> {
        let error = |program: &RunningProgram| {
            let waits = !self.is_over && !program.plan.background && program.state != ProgramState::Over;
            program.error.or(waits.then_some(ProgramError::Waits))
        };
        self.programs.iter().enumerate().filter_map(move |(index, program)| Some((index, error(program)?)))
    }

    /// Bytes that programs read through the page cache.
    pub fn cached_reads(&self) -> Reads {
        self.cached_reads
    }

    /// The system, with its volumes.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// Begins the programs that no longer wait for others.
    fn begin_ready_programs(&mut self, now: Instant) {
        for index in 0..self.programs.len() {
            let plan = &self.programs[index].plan;
            let is_ready = plan.after.iter().all(|&before| self.programs[before].state == ProgramState::Over);
            if self.programs[index].state != ProgramState::Waits || !is_ready {
                continue;
            }
            match plan.cold {
                true => self.prepare_program(now, index, 0),
                false => self.start_program(now, index),
            }
        }
    }

    /// Begins the next call of a cold start: one for each volume, which writes all its dirty data, then one that
    /// empties the caches. After the last it starts the program.
    fn prepare_program(&mut self, now: Instant, index: usize, calls_done: u8) {
        let thread = self.programs[index].first_thread;
        if calls_done > self.volume_count {
            return self.start_program(now, index);
        }
        self.programs[index].state = ProgramState::Prepares(calls_done);
        let call = if calls_done < self.volume_count { Call::SyncVolume(calls_done) } else { Call::DropCaches };
        self.begin_call(now, thread, call);
    }

    fn start_program(&mut self, now: Instant, index: usize) {
        let program = &mut self.programs[index];
        (program.state, program.began) = (ProgramState::Runs, now);
        let threads = program.first_thread..program.first_thread + program.running_threads;
        threads.for_each(|thread| self.run_thread(now, thread, None));
    }

    fn begin_call(&mut self, now: Instant, thread: u16, call: Call) {
        self.threads[usize::from(thread)].state = ThreadState::InCall;
        self.push_call_note(now, thread, call);
        self.commits.begin_call(now, thread, self.threads[usize::from(thread)].program, call);
        self.system.begin_call(now, thread, call);
    }

    /// Continues the program, or the end of the scene, after a call that has returned.
    fn end_call(&mut self, now: Instant, returned: &CallResult) {
        let (thread, index) = (returned.thread, usize::from(self.threads[usize::from(returned.thread)].program));
        self.threads[usize::from(thread)].state = ThreadState::Idle;
        self.cached_reads.add(returned.reads);
        let succeeded = returned.refused.is_none() && !returned.failed;
        self.push_note(now, FileNote::Returned { thread, created: returned.file, succeeded });
        self.commits.end_call(now, thread, succeeded);
        if index == self.programs.len() {
            return self.unmount_next_volume(now);
        }
        let program = &mut self.programs[index];
        let refused = returned.refused.map(ProgramError::Refused);
        let error = refused.or(returned.failed.then_some(ProgramError::Failed));
        if error.is_some() && program.state != ProgramState::Over {
            program.error = program.error.or(error);
            return self.end_program(now, index);
        }
        match program.state {
            ProgramState::Prepares(calls_done) => self.prepare_program(now, index, calls_done + 1),
            ProgramState::Syncs(volumes_done) => self.sync_next_volume(now, index, volumes_done + 1),
            ProgramState::Runs => {
                self.run_thread(now, thread, Some(returned));
                self.wake_parked_threads(now, index);
            }
            ProgramState::Waits | ProgramState::Over => {}
        }
    }

    /// Lets the parked threads of a program act again.
    fn wake_parked_threads(&mut self, now: Instant, index: usize) {
        let first = self.programs[index].first_thread;
        for thread in first..first + self.programs[index].program.thread_count() {
            if self.threads[usize::from(thread)].state == ThreadState::Parked
                && self.programs[index].state == ProgramState::Runs
            {
                self.run_thread(now, thread, None);
            }
        }
    }

    /// Lets a thread act until it calls, parks or ends.
    fn run_thread(&mut self, now: Instant, thread: u16, mut returned: Option<&CallResult>) {
        let index = self.threads[usize::from(thread)].program;
        loop {
            let program = &mut self.programs[usize::from(index)];
            let thread_of_program = thread - program.first_thread;
            match program.program.next_action(thread_of_program, now, returned.take(), &self.system) {
                ProgramAction::Call(call) => return self.begin_call(now, thread, call),
                ProgramAction::Park => return self.threads[usize::from(thread)].state = ThreadState::Parked,
                ProgramAction::Began(number) => {
                    program.begun_operations.push(BegunOperation { number, began: now });
                    self.push_note(now, FileNote::Began(thread, OperationId { program: index, number }));
                }
                ProgramAction::Relies { number, file, from, bytes } => {
                    let operation = OperationId { program: index, number };
                    self.push_note(now, FileNote::Relies { operation, file, from, bytes });
                }
                ProgramAction::Ended(number) => {
                    let position = program.begun_operations.iter().position(|operation| operation.number == number);
                    let begun =
                        program.begun_operations.swap_remove(position.expect("an operation that ends has begun"));
                    self.operations.push(Operation { program: index, began: begun.began, ended: now });
                    self.push_note(now, FileNote::Ended(thread, OperationId { program: index, number }));
                }
                ProgramAction::Over => {
                    self.threads[usize::from(thread)].state = ThreadState::Idle;
                    program.running_threads -= 1;
                    match (program.running_threads, program.plan.sync) {
                        (0, true) => self.sync_next_volume(now, usize::from(index), 0),
                        (0, false) => self.end_program(now, usize::from(index)),
                        _ => self.wake_parked_threads(now, usize::from(index)),
                    }
                    return;
                }
            }
        }
    }

    /// Begins the sync of the next volume at the end of a program; after the last volume the program has ended.
    fn sync_next_volume(&mut self, now: Instant, index: usize, volumes_done: u8) {
        if volumes_done == self.volume_count {
            return self.end_program(now, index);
        }
        self.programs[index].state = ProgramState::Syncs(volumes_done);
        self.begin_call(now, self.programs[index].first_thread, Call::SyncVolume(volumes_done));
    }

    fn end_program(&mut self, now: Instant, index: usize) {
        let program = &mut self.programs[index];
        (program.state, program.ended) = (ProgramState::Over, Some(now));
        self.awaited_programs -= usize::from(!program.plan.background);
        if self.awaited_programs == 0 && !self.is_ending {
            self.is_ending = true;
            self.begin_scene_end(now);
        }
        self.begin_ready_programs(now);
    }

    /// Begins the action after the end of the last program that the scene waits for.
    fn begin_scene_end(&mut self, now: Instant) {
        self.push_note(now, FileNote::Over);
        match self.scene_end {
            SceneEnd::Ends => self.is_over = true,
            SceneEnd::GoesOn(span) => self.end_time = self.end_time.min(now + span),
            SceneEnd::Unmounts => self.unmount_next_volume(now),
        }
    }

    /// Begins to write all dirty data of the next volume; ends the scene after the last.
    fn unmount_next_volume(&mut self, now: Instant) {
        if self.unmounted_volumes == self.volume_count {
            self.is_over = true;
            return;
        }
        let call = Call::SyncVolume(self.unmounted_volumes);
        self.unmounted_volumes += 1;
        self.begin_call(now, self.threads.len() as u16 - 1, call);
    }
}

impl RunningProgram {
    fn new(program: Box<dyn Program>, plan: ProgramPlan, first_thread: u16) -> RunningProgram {
        RunningProgram {
            running_threads: program.thread_count(),
            program,
            plan,
            first_thread,
            state: ProgramState::Waits,
            began: Instant::ZERO,
            ended: None,
            error: None,
            begun_operations: Vec::new(),
        }
    }
}

impl Scene {
    /// Records a request as in flight, and returns it with flags that the device supports. If a write must be durable
    /// and the device has no FUA, a flush follows it, as in workloads; neither is needed if the device acknowledges no
    /// write before it is durable.
    fn record_request(&mut self, now: Instant, mut request: Request) -> Request {
        let Request { origin, unit, .. } = request;
        let mut recorded = SceneRequest { origin, unit, issued: now, ..SceneRequest::default() };
        let Durability { fua, volatile } = self.durability[usize::from(unit)];
        if request.flags.has(Flags::FUA) && !fua {
            request.flags = request.flags.without(Flags::FUA);
            if volatile {
                request.flags = request.flags.with(Flags::FLUSH_FOLLOWS);
                recorded.flushed_sectors = Some(request.sectors);
            }
        }
        let tag = request.tag as usize;
        if tag >= self.requests.len() {
            self.requests.resize(tag + 1, SceneRequest::default());
        }
        self.requests[tag] = recorded;
        self.request_count += 1;
        self.push_issued_write(now, &request);
        request
    }

    fn push_issued_write(&self, now: Instant, request: &Request) {
        if self.observer.is_some()
            && request.op == Op::Write
            && let Some((volume, &step)) = self.system.request_step(request.tag)
        {
            let Request { tag, lba, sectors, .. } = *request;
            self.push_note(now, FileNote::Issued(IssuedWrite { tag, volume, step, lba, sectors }));
        }
    }
}

impl Source for Scene {
    fn next(&mut self, now: Instant) -> SourcePoll {
        if !self.has_begun {
            self.has_begun = true;
            self.begin_ready_programs(now);
        }
        self.is_over |= now >= self.end_time;
        loop {
            self.push_page_changes(now);
            if self.is_over {
                return SourcePoll::Done;
            }
            if let Some(returned) = self.system.poll_returned() {
                self.end_call(now, &returned);
            } else if let Some(flush) = self.following_flushes.pop_front() {
                return SourcePoll::Request(flush);
            } else if let Some(request) = self.system.poll_request(now) {
                return SourcePoll::Request(self.record_request(now, request));
            } else {
                match self.system.poll_timeout() {
                    Some(due) if due <= now => self.system.handle_timeout(now),
                    Some(due) => return SourcePoll::At(due.min(self.end_time)),
                    None if self.end_time < Instant::FAR => return SourcePoll::At(self.end_time),
                    None if self.request_count > 0 => return SourcePoll::Completion,
                    None => return SourcePoll::Done,
                }
            }
        }
    }

    fn complete(&mut self, now: Instant, completion: &Completion) -> Accounting {
        let request = &mut self.requests[completion.tag as usize];
        if request.flushed_sectors.is_some() && !request.is_flushing && completion.status == Status::Done {
            request.is_flushing = true;
            let SceneRequest { origin, unit, .. } = *request;
            let (tag, flags, lba, sectors, stamp) = (completion.tag, Flags::NONE, 0, 0, 0);
            self.following_flushes.push_back(Request { tag, unit, origin, op: Op::Flush, flags, lba, sectors, stamp });
            return Accounting::Out;
        }
        let SceneRequest { origin, issued: intended, flushed_sectors, .. } = *request;
        self.request_count -= 1;
        self.system.complete_request(now, completion);
        // Requests that no thread waits for are counted after those of all programs.
        let worker = self.threads.get(usize::from(origin)).map_or(self.programs.len() as u16, |it| it.program);
        Accounting::In {
            worker,
            intended,
            served: flushed_sectors.map(|sectors| ForcedWrite { op: Op::Write, sectors, issued: intended }),
        }
    }
}
