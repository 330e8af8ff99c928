//! What a run takes place on, what it leaves and why there was none: the one door from the laboratory to all places.
//!
//! There are two kinds. [`sim`] runs a modelled stack in virtual time: any number of runs side by side, each the same
//! every time. All others are [`Place`]s in real time: what they give is measured, and one run at a time has the machine.
//!
//! A new place is its own file, with a [`Place`] in it, and its line in [`PLACES`].

mod remote;

use std::fmt;
use std::sync::Arc;

#[cfg(unix)]
use seekwise_model::block::{Control, ControlError};
use seekwise_model::block::{Device, Limits, Source};
use seekwise_model::engine::computing::Computing;
use seekwise_model::engine::fingerprint::{Fingerprint, Stream};
use seekwise_model::engine::{Engine, Stuck};
use seekwise_model::record::{DriveLog, Record};
use seekwise_model::rng::Seed;
use seekwise_model::stack::Stack;
use seekwise_model::time::{Instant, Span};
use seekwise_model::workload::{Tell, WorkloadError};

use self::remote::{Live, Remote};
use crate::clock::Clock;
use crate::live::Receipt;
use crate::real::bench::{Bench, changed};
use crate::real::threads::{self, Doing};
use crate::real::usage::{System, Thread, Usage};
use crate::real::{self, Handle, Wanted};
use crate::work::{Issuer, Work};
use crate::{null, sim};

pub use crate::real::{DEVICE, FILE};

/// All places in real time.
pub const PLACES: &[Kind] = &[
    Kind {
        name: null::Null::NAME,
        form: "null",
        about: "answers each request at once, in real time: what Seekwise costs itself",
        of: Of::Nothing(null::Null::place),
    },
    Kind {
        name: Live::NAME,
        form: "live:NAME|STACK",
        about: "the modelled disk in real time, served to Seekwise itself",
        of: Of::Stack(Live::of),
    },
    Kind {
        name: Remote::NAME,
        form: "nbd:ADDRESS",
        about: "any network block device, such as nbd:unix:/tmp/disk or nbd://127.0.0.1:10809; jobs that write destroy what is on it, and need --destroy ADDRESS",
        of: Of::Address(Remote::at),
    },
    Kind {
        name: real::FILE,
        form: "file:PATH",
        about: "a real file, or seekwise.data in a folder; jobs that write destroy what is in it",
        of: Of::Path(real::file),
    },
    Kind {
        name: real::DEVICE,
        form: "device:PATH",
        about: "a real block device; jobs that write need --destroy SERIAL",
        of: Of::Path(real::device),
    },
];

/// A kind of place in real time.
#[derive(Debug)]
pub struct Kind {
    /// What studies and records call it.
    pub name: &'static str,
    /// What `--on` takes.
    pub form: &'static str,
    /// What it is, for people.
    pub about: &'static str,
    /// What it is made of.
    pub of: Of,
}

/// What a place is made of.
#[derive(Debug)]
pub enum Of {
    /// Nothing more.
    Nothing(fn() -> Arc<dyn Place>),
    /// A modelled stack.
    Stack(fn(Stack) -> Arc<dyn Place>),
    /// An address, or what is wrong with it.
    Address(fn(&str) -> Result<Arc<dyn Place>, String>),
    /// The path of a file or device, with what is wanted of it; or what is wrong with it.
    Path(fn(&str, &Wanted) -> Made),
}

/// A place that was made, or what is wrong with what it was to be made of.
pub type Made = Result<Arc<dyn Place>, String>;

/// A place in real time.
pub trait Place: fmt::Debug + Send + Sync {
    /// What records call it.
    fn name(&self) -> &'static str;
    /// What it is called with all that it is made of.
    fn called(&self) -> String;
    /// What it can do.
    fn limits(&self) -> Limits;
    /// Its device; `seed` is that of a stack's chance.
    fn open(&self, seed: Seed) -> Result<Box<dyn Timed>, RunError>;
    /// The same made ready for this work, where it has to be: `handles` say how each worker has it, or one how all do.
    fn fitted(&self, _: &Work, _: &[Handle]) -> Result<Option<Arc<dyn Place>>, String> {
        Ok(None)
    }
    /// Bytes of memory that requests in flight have there.
    fn memory(&self) -> u64 {
        0
    }
    /// Each worker of a job is to have a thread and a device of its own there.
    fn is_threaded(&self) -> bool {
        false
    }
    /// The device of one worker.
    fn open_for(&self, _: u16, seed: Seed) -> Result<Box<dyn Timed>, RunError> {
        self.open(seed)
    }
    /// What stands for as long as a run lasts: settings of the disk.
    fn hold(&self) -> Result<Option<Box<dyn Standing>>, String> {
        Ok(None)
    }
    /// What a measurement stands on there, now.
    fn bench(&self) -> Option<Bench> {
        None
    }
    /// Whether what is there may be written over, where `destroy` is the name that the user gave; else why not.
    fn may_write(&self, _destroy: Option<&str>) -> Result<(), String> {
        Ok(())
    }
}

/// What is set for a run, and put back when it is over or this is dropped.
pub trait Standing {
    /// Puts all back, and says what could not be.
    fn end(self: Box<Self>) -> Result<(), String>;
}

/// A device in real time. Completions carry the instant at which they were met.
pub trait Timed: Device {
    /// Returns when `until` has come, or something from outside; nothing is what only the outside can end.
    fn wait(&mut self, clock: &Clock, until: Option<Instant>) -> Result<(), Stuck>;
    /// What has gone wrong since it was last asked, in words.
    fn troubles(&mut self) -> Vec<String> {
        Vec::new()
    }
    /// An error when what is behind it has gone for good, so that a run makes no sense any more.
    fn is_there(&self) -> Result<(), RunError> {
        Ok(())
    }
    /// The run is over. What it leaves to say.
    fn end(self: Box<Self>) -> Result<Option<Receipt>, RunError> {
        Ok(None)
    }
}

/// What a device beyond our reach answers to a control: nothing of it can be set, and what is in flight comes back by itself.
#[cfg(unix)]
pub(crate) fn uncontrolled(control: &Control<'_>) -> Result<(), ControlError> {
    match control {
        Control::Set { .. } => Err(ControlError::UnknownKey),
        Control::Abort(_) => Err(ControlError::UnknownTag),
        Control::PowerCut | Control::PowerOff | Control::PowerOn | Control::Reset => Ok(()),
    }
}

/// What a run takes place on.
#[derive(Clone, Debug)]
pub enum Target {
    /// A modelled stack, in virtual time.
    Sim(Box<Stack>),
    /// A place in real time.
    Real(Arc<dyn Place>),
}

/// What a run leaves beside its records.
#[derive(Clone, Debug)]
pub struct Outcome<S> {
    /// Who issued.
    pub source: S,
    /// The place's time when it ended.
    pub end: Instant,
    /// Requests that ended otherwise than done, counted or not.
    pub failures: u64,
    /// A hash of all requests in order of issue (operation, place, size): equal streams have equal hashes.
    pub stream_hash: u64,
    /// Requests issued.
    pub issued: u64,
    /// What the drives did.
    pub log: DriveLog,
    /// What the run took of this machine, where that is measured.
    pub cost: Option<Cost>,
    /// By worker: a hash of its first requests.
    pub streams: Vec<Stream>,
    /// How well the clock kept up with the model, of a modelled disk in real time.
    pub receipt: Option<Receipt>,
    /// What it took of the machine by the kernel's accounts, on real files and devices.
    pub usage: Option<Usage>,
    /// What went wrong, in words.
    pub troubles: Vec<String>,
    /// What a measurement stood on, of a real file or device.
    pub bench: Option<Bench>,
}

/// What a run took of the machine that ran it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// On the clock.
    pub wall: Span,
    /// Of a processor, where the system tells.
    pub processor: Option<Span>,
}

/// Why there was no run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The job does not fit what it is to run on.
    Unfit(String),
    /// A model stopped short; a bug of ours.
    Stuck(Stuck),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Unfit(text) => f.write_str(text),
            RunError::Stuck(stuck) => write!(f, "the model stopped short ({stuck:?}); please report this job"),
        }
    }
}

impl std::error::Error for RunError {}

impl From<Stuck> for RunError {
    fn from(stuck: Stuck) -> RunError {
        RunError::Stuck(stuck)
    }
}

impl From<WorkloadError> for RunError {
    fn from(error: WorkloadError) -> RunError {
        RunError::Unfit(error.to_string())
    }
}

impl From<Stack> for Target {
    fn from(stack: Stack) -> Target {
        Target::Sim(Box::new(stack))
    }
}

/// The kind of place in real time that a text names, and what stands behind its colon. A URI of a network block device is
/// one as it stands.
pub fn named(text: &str) -> Option<(&'static Kind, Option<&str>)> {
    let (name, rest) = match text.split_once(':') {
        Some(("nbd+unix", _)) => (Remote::NAME, Some(text)),
        Some((name, rest)) => (name, Some(rest)),
        None => (text, None),
    };
    Some((PLACES.iter().find(|kind| kind.name == name)?, rest))
}

impl Target {
    /// What is called by it: its drive, or its place.
    pub fn name(&self) -> String {
        match self {
            Target::Sim(stack) => stack.profile.name.clone(),
            Target::Real(place) => place.called(),
        }
    }

    /// The name of its place, as records have it.
    pub fn place(&self) -> &'static str {
        match self {
            Target::Sim(_) => sim::NAME,
            Target::Real(place) => place.name(),
        }
    }

    /// Its figures are measured in real time: one run at a time has the machine.
    pub fn is_measured(&self) -> bool {
        matches!(self, Target::Real(_))
    }

    /// The stack, where it is a modelled one.
    pub fn stack(&self) -> Option<&Stack> {
        match self {
            Target::Sim(stack) => Some(stack),
            Target::Real(_) => None,
        }
    }

    /// Sectors that a job has.
    pub fn sectors(&self) -> u64 {
        match self {
            Target::Sim(stack) => stack.sectors(),
            Target::Real(place) => place.limits().sectors,
        }
    }

    /// What a job meets there.
    pub fn limits(&self) -> Limits {
        match self {
            Target::Sim(stack) => stack.build(Seed(0)).limits(0),
            Target::Real(place) => place.limits(),
        }
    }

    /// Runs the source until it ends, or for `most` requests, handing each counted record to `recorder`. `seed` is that of
    /// the stack's chance.
    pub fn run<S: Source>(
        &self,
        source: impl FnOnce(&Limits) -> Result<S, RunError>,
        most: u64,
        seed: Seed,
        recorder: &mut impl FnMut(&Record),
    ) -> Result<Outcome<S>, RunError> {
        match self {
            Target::Sim(stack) => sim::run(stack, source, most, seed, recorder),
            Target::Real(place) => alone(&**place, source, most, seed, recorder),
        }
    }

    /// Runs `work`, each worker of a job on a thread of its own where the place is one for that; `tell` is told of each
    /// request of a job's workers.
    pub fn run_work(
        &self,
        work: &Work,
        most: u64,
        seed: Seed,
        tell: Option<&Tell>,
        recorder: &mut impl FnMut(&Record),
    ) -> Result<Outcome<Issuer>, RunError> {
        let source = || work.logged(seed, tell.cloned());
        match (self, work) {
            (Target::Real(place), _) => stood(&**place, || match work {
                Work::Job(job) if place.is_threaded() && most == u64::MAX => {
                    threads::run(&Doing { place: &**place, job, seed, tell }, recorder)
                }
                _ => alone(&**place, source(), most, seed, recorder),
            }),
            (Target::Sim(_), _) => self.run(source(), most, seed, recorder),
        }
    }
}

/// A run with what is set for it, and with what it stood on; what changed of that meanwhile is a trouble.
fn stood<S>(place: &dyn Place, run: impl FnOnce() -> Result<Outcome<S>, RunError>) -> Result<Outcome<S>, RunError> {
    let held = place.hold().map_err(RunError::Unfit)?;
    let bench = place.bench();
    let mut outcome = run()?;
    if let Some((before, after)) = bench.as_ref().zip(place.bench()) {
        outcome.troubles.extend(changed(before, &after));
    }
    held.map_or(Ok(()), Standing::end).map_err(RunError::Unfit)?;
    Ok(Outcome { bench, ..outcome })
}

/// A source as every place runs it.
pub(crate) type Issuing<S> = Fingerprint<Computing<S>>;

/// Joins a source to a device; it ends after `most` requests.
pub(crate) fn join<S: Source, D: Device>(
    device: D,
    source: impl FnOnce(&Limits) -> Result<S, RunError>,
    most: u64,
) -> Result<Engine<Issuing<S>, D>, RunError> {
    let limits = device.limits(0);
    let source = Computing::new(source(&limits)?, &limits);
    Ok(Engine::new(Fingerprint::new(source, most), device))
}

/// What a run left, and its device.
pub(crate) fn part<S: Source, D: Device>(engine: Engine<Issuing<S>, D>) -> (Outcome<S>, D) {
    let (end, failures) = (engine.now(), engine.failures());
    let (source, device) = engine.into_parts();
    let (stream_hash, issued, log) = (source.hash(), source.issued(), device.log());
    let streams = source.streams().to_vec();
    let source = source.into_source().into_source();
    let (cost, receipt, usage, troubles, bench) = (None, None, None, Vec::new(), None);
    let outcome =
        Outcome { source, end, failures, stream_hash, issued, log, cost, streams, receipt, usage, troubles, bench };
    (outcome, device)
}

/// A run in real time, on the thread that asks for it.
fn alone<S: Source>(
    place: &dyn Place,
    source: impl FnOnce(&Limits) -> Result<S, RunError>,
    most: u64,
    seed: Seed,
    recorder: &mut impl FnMut(&Record),
) -> Result<Outcome<S>, RunError> {
    let engine = join(place.open(seed)?, source, most)?;
    let accounts = place.is_threaded().then(|| (System::now(), Thread::now()));
    let clock = Clock::start();
    let engine = crank(engine, &clock, recorder)?;
    let wall = clock.now().since(Instant::ZERO);
    let cost = Cost { wall, processor: clock.processor() };
    let usage = accounts.map(|(system, thread)| Usage {
        threads: vec![Thread::now().since(&thread, wall)],
        system: System::now().since(&system),
    });
    let (outcome, mut device) = part(engine);
    let troubles = device.troubles();
    let receipt = device.end()?;
    let log = receipt.as_ref().map_or(outcome.log, |receipt| receipt.log);
    Ok(Outcome { cost: Some(cost), log, receipt, usage, troubles, ..outcome })
}

/// Turns the crank by the clock until the source is over.
pub(crate) fn crank<S: Source>(
    mut engine: Engine<Issuing<S>, Box<dyn Timed>>,
    clock: &Clock,
    recorder: &mut impl FnMut(&Record),
) -> Result<Engine<Issuing<S>, Box<dyn Timed>>, RunError> {
    loop {
        let stepped = engine.step(clock.now(), recorder);
        let is_over = stepped.is_ok() && engine.is_over();
        if is_over && engine.failures() == 0 {
            return Ok(engine);
        }
        // Requests that fail because nobody is there any more end a source, or let it ask without an end: that is no fault of a
        // model, nor of a disk.
        engine.device_mut().is_there()?;
        stepped?;
        if is_over {
            return Ok(engine);
        }
        let until = engine.poll_timeout();
        engine.device_mut().wait(clock, until)?;
    }
}
