//! A scene: programs on a system with its volumes, at once or one after another, as a source of requests. Operations,
//! such as copying a file or a commit, are reported, too.

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

use self::layout::PlacedScene;
pub use self::layout::SceneLayout;
use super::call::{Call, CallResult, File, Reads};
use super::note::{FileNote, FileNotes, IssuedWrite};
use super::program::{FileSet, Program, ProgramAction, ProgramSpec};
use super::system::{System, SystemSpec};
use super::volume::{Aging, Alignment, InitialFile, Volume, VolumeError, VolumeFormat, VolumeMisfit};

/// A volume of a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumePlan {
    /// The device: 0 for the drive, then the further ones.
    pub unit: u8,
    /// In bytes; 0 for the rest of the device.
    pub bytes: u64,
    pub format: VolumeFormat,
    /// How its files lie.
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
    /// The scene ends then, whatever its programs do.
    pub runtime: Option<Span>,
}

/// The action at the end of the last program that the scene waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SceneEnd {
    /// The scene ends; dirty data stay dirty.
    #[default]
    Ends,
    /// The system goes on with its own work for this long.
    GoesOn(Span),
    /// All volumes are written, as before an orderly power-off.
    Unmounts,
}

/// Why a scene cannot be made. Volumes and programs are given by index.
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
            SceneError::Volume(at, misfit) => write!(f, "volume {}: {misfit}", at + 1),
            SceneError::Files(at, refused) => write!(f, "files of volume {}: {refused}", at + 1),
            SceneError::Program(at, refused) => write!(f, "files of program {}: {refused}", at + 1),
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
    reads: Reads,
    volumes: u8,
    programs: Vec<RunningProgram>,
    threads: Vec<SceneThread>,
    operations: Vec<Operation>,
    /// By tag.
    flying: Vec<SceneRequest>,
    /// Flushes that force the writes before them.
    forcing: VecDeque<Request>,
    /// By unit.
    units: Vec<Durability>,
    in_flight: u32,
    /// Programs that the scene still waits for.
    left: usize,
    closing: SceneEnd,
    closes: bool,
    /// Volumes that were written at the end.
    unmounted: u8,
    stop: Instant,
    began: bool,
    over: bool,
    /// The observer that it reports to, and by volume the number of the first file that the run creates.
    notes: Option<(FileNotes, Vec<u32>)>,
    /// Files from before the run that were reported.
    known: BTreeSet<File>,
}

/// Durability guarantees of a device.
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
    /// Origin: a thread, or the system.
    origin: u16,
    unit: u8,
    issued: Instant,
    /// For a write that a flush follows: its sectors, and whether the flush is issued.
    forced: Option<u32>,
    flushing: bool,
}

/// A program and its state.
#[derive(Debug)]
struct RunningProgram {
    program: Box<dyn Program>,
    plan: ProgramPlan,
    /// The first of its threads.
    first: u16,
    /// Threads that have not ended.
    busy: u16,
    state: ProgramState,
    /// When it began and ended.
    began: Instant,
    ended: Option<Instant>,
    trouble: Option<ProgramError>,
    /// Operations under way: number and beginning.
    open: Vec<(u32, Instant)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProgramState {
    /// Waits for other programs.
    Waits,
    /// Prepares: the number of calls done.
    Prepares(u8),
    Runs,
    /// Syncs at its end: the number of volumes done.
    Syncs(u8),
    Over,
}

#[derive(Clone, Copy, Debug)]
struct SceneThread {
    program: u16,
    state: ThreadState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThreadState {
    /// Not begun, or ended.
    Nothing,
    /// Waits for its call.
    Calls,
    /// Waits for another thread of its program.
    Parks,
}

impl Scene {
    /// Creates a scene on a device with these limits, at the beginning of time.
    pub fn new(spec: &SceneSpec, limits: &Limits, seed: Seed) -> Result<Scene, SceneError> {
        Scene::with_optional_notes(spec, limits, seed, None)
    }

    /// As [`Scene::new`], with an observer.
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
        let next = |volume: &Volume| volume.files().last().map_or(0, |last| last.0 + 1);
        let notes = notes.map(|notes| (notes, volumes.iter().map(next).collect()));
        let (mut threads, mut running) = (Vec::new(), Vec::new());
        for (at, (program, plan)) in programs.into_iter().zip(&spec.programs).enumerate() {
            let (first, busy) = (threads.len() as u16, program.threads());
            threads.extend((0..busy).map(|_| SceneThread { program: at as u16, state: ThreadState::Nothing }));
            running.push(RunningProgram {
                program,
                plan: plan.clone(),
                first,
                busy,
                state: ProgramState::Waits,
                began: Instant::ZERO,
                ended: None,
                trouble: None,
                open: Vec::new(),
            });
        }
        let largest = spec.system.largest.min(limits.max_transfer);
        let mut system = System::new(volumes, SystemSpec { largest, ..spec.system }, threads.len() as u16);
        for (at, volume) in spec.volumes.iter().enumerate().filter(|(_, volume)| volume.unit > 0) {
            let largest = spec.beside[usize::from(volume.unit) - 1].max_transfer.min(spec.system.largest);
            system = system.with_unit(at as u8, volume.unit, largest);
        }
        let units = core::iter::once(limits).chain(&spec.beside);
        Ok(Scene {
            system,
            reads: Reads::default(),
            volumes: spec.volumes.len() as u8,
            left: spec.programs.iter().filter(|program| !program.background).count(),
            programs: running,
            threads,
            operations: Vec::new(),
            flying: Vec::new(),
            forcing: VecDeque::new(),
            units: units.map(|it| Durability { fua: it.fua, volatile: it.volatile_cache }).collect(),
            in_flight: 0,
            stop: spec.runtime.map_or(Instant::FAR, |runtime| Instant::ZERO + runtime),
            began: false,
            over: false,
            closing: SceneEnd::Ends,
            closes: false,
            unmounted: 0,
            notes,
            known: BTreeSet::new(),
        })
    }

    /// Sets the action at its end.
    #[must_use]
    pub fn with_end(mut self, closing: SceneEnd) -> Scene {
        self.closing = closing;
        if closing == SceneEnd::Unmounts {
            // The thread of the system's own calls.
            self.threads.push(SceneThread { program: self.programs.len() as u16, state: ThreadState::Nothing });
            self.system.add_thread();
        }
        self
    }

    fn send_note(&self, at: Instant, note: FileNote) {
        if let Some((notes, _)) = &self.notes {
            notes.push(at, note);
        }
    }

    /// Reports changes of pages since the last report.
    fn send_changes(&mut self, now: Instant) {
        if let Some((notes, _)) = &self.notes {
            for volume in 0..self.volumes {
                let changes = self.system.volume_mut(volume).take_changes();
                if !changes.is_empty() {
                    notes.push(now, FileNote::Changed(volume, changes));
                }
            }
        }
    }

    /// Reports a call, and a file from before the run at its first use.
    fn send_call(&mut self, now: Instant, thread: u16, call: Call) {
        let Some((notes, first)) = &self.notes else { return };
        if let Some(file) = call.file().filter(|file| file.id.0 < first[usize::from(file.volume)])
            && self.known.insert(file)
        {
            notes.push(now, FileNote::There(file, InitialFile::new(self.system.volume(file.volume), file.id)));
        }
        notes.push(now, FileNote::Called(thread, call));
    }

    /// The programs' operations so far, in order of their ends.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// The time in which each program ran: until `now` if it still runs, `None` if it has not begun.
    pub fn run_windows(&self, now: Instant) -> impl Iterator<Item = Option<(Instant, Instant)>> {
        self.programs.iter().map(move |program| match program.state {
            ProgramState::Waits | ProgramState::Prepares(_) => None,
            _ => Some((program.began, program.ended.unwrap_or(now))),
        })
    }

    /// Programs that did not reach their ends, and why.
    pub fn program_errors(&self) -> impl Iterator<Item = (usize, ProgramError)> {
        let waits = |program: &RunningProgram| {
            let stands = !self.over && !program.plan.background && program.state != ProgramState::Over;
            stands.then_some(ProgramError::Waits)
        };
        let trouble = move |program: &RunningProgram| program.trouble.or(waits(program));
        self.programs.iter().enumerate().filter_map(move |(at, program)| Some((at, trouble(program)?)))
    }

    /// Bytes that programs read through the page cache.
    pub fn reads(&self) -> Reads {
        self.reads
    }

    /// The system, with its volumes.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// Begins the programs that no longer wait for others.
    fn begin_ready_programs(&mut self, now: Instant) {
        for at in 0..self.programs.len() {
            let plan = &self.programs[at].plan;
            let ready = plan.after.iter().all(|&before| self.programs[before].state == ProgramState::Over);
            if self.programs[at].state != ProgramState::Waits || !ready {
                continue;
            }
            match plan.cold {
                true => self.prepare_program(now, at, 0),
                false => self.start_program(now, at),
            }
        }
    }

    /// Writes all dirty data, empties the caches, then begins the program.
    fn prepare_program(&mut self, now: Instant, at: usize, done: u8) {
        let thread = self.programs[at].first;
        if done > self.volumes {
            return self.start_program(now, at);
        }
        self.programs[at].state = ProgramState::Prepares(done);
        let call = if done < self.volumes { Call::SyncVolume(done) } else { Call::DropCaches };
        self.begin_call(now, thread, call);
    }

    fn start_program(&mut self, now: Instant, at: usize) {
        let program = &mut self.programs[at];
        (program.state, program.began) = (ProgramState::Runs, now);
        let threads = program.first..program.first + program.busy;
        threads.for_each(|thread| self.run_thread(now, thread, None));
    }

    fn begin_call(&mut self, now: Instant, thread: u16, call: Call) {
        self.threads[usize::from(thread)].state = ThreadState::Calls;
        self.send_call(now, thread, call);
        self.system.begin_call(now, thread, call);
    }

    /// Handles a call that has returned.
    fn handle_return(&mut self, now: Instant, returned: &CallResult) {
        let (thread, at) = (returned.thread, usize::from(self.threads[usize::from(returned.thread)].program));
        self.threads[usize::from(thread)].state = ThreadState::Nothing;
        self.reads.add(returned.reads);
        let done = returned.refused.is_none() && !returned.failed;
        self.send_note(now, FileNote::Returned(thread, returned.file, done));
        if at == self.programs.len() {
            return self.unmount_next(now);
        }
        let program = &mut self.programs[at];
        let refused = returned.refused.map(ProgramError::Refused);
        let trouble = refused.or(returned.failed.then_some(ProgramError::Failed));
        if trouble.is_some() && program.state != ProgramState::Over {
            program.trouble = program.trouble.or(trouble);
            return self.end_program(now, at);
        }
        match program.state {
            ProgramState::Prepares(done) => self.prepare_program(now, at, done + 1),
            ProgramState::Syncs(done) => self.sync_volumes(now, at, done + 1),
            ProgramState::Runs => {
                self.run_thread(now, thread, Some(returned));
                self.wake_parked(now, at);
            }
            ProgramState::Waits | ProgramState::Over => {}
        }
    }

    /// Asks the parked threads of a program again.
    fn wake_parked(&mut self, now: Instant, at: usize) {
        let first = self.programs[at].first;
        for thread in first..first + self.programs[at].program.threads() {
            if self.threads[usize::from(thread)].state == ThreadState::Parks
                && self.programs[at].state == ProgramState::Runs
            {
                self.run_thread(now, thread, None);
            }
        }
    }

    /// Lets a thread act until it calls, parks or ends.
    fn run_thread(&mut self, now: Instant, thread: u16, mut returned: Option<&CallResult>) {
        let at = usize::from(self.threads[usize::from(thread)].program);
        loop {
            let program = &mut self.programs[at];
            match program.program.next(thread - program.first, now, returned.take(), &self.system) {
                ProgramAction::Call(call) => return self.begin_call(now, thread, call),
                ProgramAction::Park => return self.threads[usize::from(thread)].state = ThreadState::Parks,
                ProgramAction::Began(number) => {
                    program.open.push((number, now));
                    self.send_note(now, FileNote::Began(thread, at as u16, number));
                }
                ProgramAction::Relies(number, file, from, bytes) => {
                    self.send_note(now, FileNote::Relies(at as u16, number, file, from, bytes));
                }
                ProgramAction::Ended(number) => {
                    let place = program.open.iter().position(|open| open.0 == number);
                    let (_, began) = program.open.swap_remove(place.expect("what ends has begun"));
                    self.operations.push(Operation { program: at as u16, began, ended: now });
                    self.send_note(now, FileNote::Ended(thread, at as u16, number));
                }
                ProgramAction::Over => {
                    self.threads[usize::from(thread)].state = ThreadState::Nothing;
                    program.busy -= 1;
                    match (program.busy, program.plan.sync) {
                        (0, true) => self.sync_volumes(now, at, 0),
                        (0, false) => self.end_program(now, at),
                        _ => self.wake_parked(now, at),
                    }
                    return;
                }
            }
        }
    }

    /// Writes all dirty data, volume after volume.
    fn sync_volumes(&mut self, now: Instant, at: usize, done: u8) {
        if done == self.volumes {
            return self.end_program(now, at);
        }
        self.programs[at].state = ProgramState::Syncs(done);
        self.begin_call(now, self.programs[at].first, Call::SyncVolume(done));
    }

    fn end_program(&mut self, now: Instant, at: usize) {
        let program = &mut self.programs[at];
        (program.state, program.ended) = (ProgramState::Over, Some(now));
        self.left -= usize::from(!program.plan.background);
        if self.left == 0 && !self.closes {
            self.closes = true;
            self.begin_close(now);
        }
        self.begin_ready_programs(now);
    }

    /// Handles the end of the last program that the scene waits for.
    fn begin_close(&mut self, now: Instant) {
        self.send_note(now, FileNote::Over);
        match self.closing {
            SceneEnd::Ends => self.over = true,
            SceneEnd::GoesOn(span) => self.stop = self.stop.min(now + span),
            SceneEnd::Unmounts => self.unmount_next(now),
        }
    }

    /// Writes the next volume; ends the scene after the last.
    fn unmount_next(&mut self, now: Instant) {
        if self.unmounted == self.volumes {
            self.over = true;
            return;
        }
        let call = Call::SyncVolume(self.unmounted);
        self.unmounted += 1;
        self.begin_call(now, self.threads.len() as u16 - 1, call);
    }
}

impl Scene {
    /// Issues a request as the device accepts it. If a write must be on the medium and the device has no FUA, a flush
    /// follows it, as in workloads; neither is needed if the device acknowledges no write before it is durable.
    fn issue_request(&mut self, now: Instant, mut request: Request) -> Request {
        let Request { origin, unit, .. } = request;
        let mut flying = SceneRequest { origin, unit, issued: now, ..SceneRequest::default() };
        let Durability { fua, volatile } = self.units[usize::from(unit)];
        if request.flags.has(Flags::FUA) && !fua {
            request.flags = request.flags.without(Flags::FUA);
            if volatile {
                request.flags = request.flags.with(Flags::FLUSH_FOLLOWS);
                flying.forced = Some(request.sectors);
            }
        }
        let tag = request.tag as usize;
        if tag >= self.flying.len() {
            self.flying.resize(tag + 1, SceneRequest::default());
        }
        self.flying[tag] = flying;
        self.in_flight += 1;
        self.send_issued(now, &request);
        request
    }

    fn send_issued(&self, now: Instant, request: &Request) {
        if self.notes.is_some()
            && request.op == Op::Write
            && let Some((volume, &step)) = self.system.plan_step(request.tag)
        {
            let Request { tag, lba, sectors, .. } = *request;
            self.send_note(now, FileNote::Issued(IssuedWrite { tag, volume, step, lba, sectors }));
        }
    }
}

impl Source for Scene {
    fn next(&mut self, now: Instant) -> SourcePoll {
        if !self.began {
            self.began = true;
            self.begin_ready_programs(now);
        }
        self.over |= now >= self.stop;
        loop {
            self.send_changes(now);
            if self.over {
                return SourcePoll::Done;
            }
            if let Some(returned) = self.system.poll_returned() {
                self.handle_return(now, &returned);
            } else if let Some(flush) = self.forcing.pop_front() {
                return SourcePoll::Request(flush);
            } else if let Some(request) = self.system.poll_request(now) {
                return SourcePoll::Request(self.issue_request(now, request));
            } else {
                match self.system.poll_timeout() {
                    Some(due) if due <= now => self.system.handle_timeout(now),
                    Some(due) => return SourcePoll::At(due.min(self.stop)),
                    None if self.stop < Instant::FAR => return SourcePoll::At(self.stop),
                    None if self.in_flight > 0 => return SourcePoll::Completion,
                    None => return SourcePoll::Done,
                }
            }
        }
    }

    fn complete(&mut self, now: Instant, completion: &Completion) -> Accounting {
        let flying = &mut self.flying[completion.tag as usize];
        if let (Some(_), false, Status::Done) = (flying.forced, flying.flushing, completion.status) {
            flying.flushing = true;
            let SceneRequest { origin, unit, .. } = *flying;
            let (tag, flags, lba, sectors, stamp) = (completion.tag, Flags::NONE, 0, 0, 0);
            self.forcing.push_back(Request { tag, unit, origin, op: Op::Flush, flags, lba, sectors, stamp });
            return Accounting::Out;
        }
        let SceneRequest { origin, issued: intended, forced, .. } = *flying;
        self.in_flight -= 1;
        self.system.complete_request(now, completion);
        // Requests that no thread waits for are counted after those of all programs.
        let worker = self.threads.get(usize::from(origin)).map_or(self.programs.len() as u16, |it| it.program);
        Accounting::In {
            worker,
            intended,
            served: forced.map(|sectors| ForcedWrite { op: Op::Write, sectors, issued: intended }),
        }
    }
}
