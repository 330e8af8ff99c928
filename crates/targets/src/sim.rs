//! Runs a job on a modelled stack in virtual time: jumps from timeout to timeout.

mod follow;
mod numbered;
mod witness;

use std::cell::Cell;

use seekwise_model::block::{Completion, Control, ControlError, Counted, Device, Next, Op, Request, Source};
use seekwise_model::drive::Drive;
use seekwise_model::drive::mechanics::Mechanics;
use seekwise_model::drive::movement::Movements;
use seekwise_model::drive::profile::Profile;
use seekwise_model::engine::{Engine, Stuck};
use seekwise_model::host::accelerator::{Accelerator, AcceleratorSpec};
use seekwise_model::host::array::{Array, ArraySpec};
use seekwise_model::host::controller::{Controller, ControllerSpec};
use seekwise_model::host::driver::{Driver, DriverSpec};
use seekwise_model::host::layer::Layered;
use seekwise_model::host::ports::Ports;
use seekwise_model::host::processor::{Processor, ProcessorSpec};
use seekwise_model::record::{DriveLog, Record};
use seekwise_model::rng::Seed;
use seekwise_model::time::Instant;
use seekwise_model::workload::trace::{Replay, Row, Timing};
use seekwise_model::workload::{Job, Window, Workload};

pub use self::follow::{Followed, follow};
pub use self::numbered::Entries;
use self::numbered::Numbered;
pub use self::witness::{Pairs, Watched, Witness};

/// Spindles are locked to a crystal of 100 parts in a million either way, so two differ by twice that at most (inferred:
/// the usual tolerance of such parts; makers state far wider limits of the speed, 0.1 to 0.5 %). Only slower than the profile, so
/// that a skew which just suffices at its speed suffices at each.
const SLOWEST: u64 = 200;

/// A stack, from the program's side down. Absent layers cost nothing and limit nothing.
#[derive(Clone, Debug)]
pub struct Stack {
    /// The processor.
    pub processor: Option<ProcessorSpec>,
    /// A driver's cache of the whole disk in host memory.
    pub accelerator: Option<AcceleratorSpec>,
    /// The operating system's driver.
    pub driver: Option<DriverSpec>,
    /// Several drives: controller and drive are there once a member, each drive with its own phase and speed.
    pub array: Option<ArraySpec>,
    /// Bytes a second of a bus that the members share.
    pub bus: Option<u64>,
    /// The host bus adapter.
    pub controller: Option<ControllerSpec>,
    /// Further adapters on the way, the lowest first.
    pub layers: Vec<ControllerSpec>,
    /// The drive.
    pub profile: Profile,
    /// What changes during a run, in order of time.
    pub changes: Vec<Change>,
}

/// A setting of a layer that changes while a run goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// When.
    pub at: Instant,
    /// Dotted key of the stack.
    pub key: String,
    /// Its value from then on.
    pub value: String,
}

impl Stack {
    /// The drive with nothing above it.
    pub fn bare(profile: Profile) -> Stack {
        let (layers, changes) = (Vec::new(), Vec::new());
        Stack {
            processor: None,
            accelerator: None,
            driver: None,
            array: None,
            bus: None,
            controller: None,
            layers,
            profile,
            changes,
        }
    }

    /// The stack as a device. The platters' phases at time 0 are drawn from `seed`.
    pub fn build(&self, seed: Seed) -> Box<dyn Device> {
        self.build_told(seed, None, None)
    }

    /// The same; an array with parity tells `entries` what it takes, and its landings have the numbers of that.
    pub fn build_numbered(&self, seed: Seed, entries: Option<&Entries>) -> Box<dyn Device> {
        self.build_told(seed, entries, None)
    }

    /// The same, with drives that tell `told` what their arms do.
    fn build_told(&self, seed: Seed, entries: Option<&Entries>, told: Option<&Movements>) -> Box<dyn Device> {
        let mut device: Box<dyn Device> = match (self.array_told(seed, told), entries) {
            (Some(array), Some(entries)) if array.layer().volumes().iter().any(|volume| volume.parities() > 0) => {
                Box::new(Numbered::new(Box::new(array), entries.clone()))
            }
            (Some(array), _) => Box::new(array),
            (None, _) => self.shared(self.member(seed, 0, told), 1),
        };
        if let Some(spec) = self.driver {
            device = Box::new(Driver::above(spec, device));
        }
        if let Some(spec) = self.accelerator {
            device = Box::new(Accelerator::above(spec, device));
        }
        if let Some(spec) = self.processor {
            device = Box::new(Processor::above(spec, device));
        }
        device
    }

    /// Sectors that a job has.
    pub fn sectors(&self) -> u64 {
        let array = self.build_array(Seed(0));
        array.map_or(self.profile.geometry.sectors(), |array| array.limits(0).sectors)
    }

    /// The array and all below it, where there is one.
    pub fn build_array(&self, seed: Seed) -> Option<Layered<Array>> {
        self.array_told(seed, None)
    }

    fn array_told(&self, seed: Seed, told: Option<&Movements>) -> Option<Layered<Array>> {
        let spec = self.array.clone()?;
        let members = (0..spec.members).map(|member| self.member(seed, member, told)).collect();
        let below = self.shared(Box::new(Ports::new(members)), spec.members);
        Some(Array::above(spec, below))
    }

    /// The bus, if there is one, above `below`.
    fn shared(&self, below: Box<dyn Device>, units: u32) -> Box<dyn Device> {
        match self.bus {
            Some(rate) => Box::new(Controller::bus(rate, below, units)),
            None => below,
        }
    }

    /// A drive and the adapters that it has for itself.
    fn member(&self, seed: Seed, member: u32, told: Option<&Movements>) -> Box<dyn Device> {
        let mut drive = self.drive(seed, member);
        if let Some(told) = told {
            drive.tell(member, told.clone());
        }
        let mut device: Box<dyn Device> = Box::new(drive);
        for &spec in self.layers.iter().chain(&self.controller) {
            device = Box::new(Controller::above(spec, device));
        }
        device
    }

    /// One drive by itself. The first turns as its profile says; each other a little slower, by up to [`SLOWEST`]
    /// millionths: the same part number, not the same crystal.
    fn drive(&self, seed: Seed, member: u32) -> Drive {
        let mut profile = self.profile.clone();
        if member > 0 {
            let slower = seed.numbered("speed", u64::from(member)).below(SLOWEST + 1);
            profile.mechanics = profile.mechanics.slowed(slower);
        }
        Drive::new(profile, seed.numbered("phase", u64::from(member)).next_u64())
    }

    /// How each of its drives turns and moves its arm.
    pub fn mechanics(&self, seed: Seed) -> Vec<Mechanics> {
        let members = self.array.as_ref().map_or(1, |array| array.members);
        (0..members).map(|member| self.drive(seed, member).profile().mechanics.clone()).collect()
    }

    /// Nothing stands above the drive.
    fn is_bare(&self) -> bool {
        self.processor.is_none()
            && self.accelerator.is_none()
            && self.driver.is_none()
            && self.array.is_none()
            && self.bus.is_none()
            && self.controller.is_none()
            && self.layers.is_empty()
            && self.changes.is_empty()
    }
}

/// What a run leaves beside its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Virtual time when it ended.
    pub end: Instant,
    /// Requests that ended otherwise than done, counted or not.
    pub failures: u64,
    /// A hash of all requests in order of issue (operation, place, size): equal streams have equal hashes.
    pub stream_hash: u64,
    /// Requests issued.
    pub issued: u64,
    /// What the drives did.
    pub log: DriveLog,
    /// By worker: the time for which it counts; nothing where it never began.
    pub windows: Vec<Option<Window>>,
}

/// Why a job did not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SimError {
    /// The job does not fit the device.
    Job(String),
    /// The model stopped short; a bug of ours.
    Stuck(Stuck),
}

impl std::fmt::Display for SimError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SimError::Job(text) => f.write_str(text),
            SimError::Stuck(stuck) => write!(f, "the model stopped short ({stuck:?}); please report this job"),
        }
    }
}

impl std::error::Error for SimError {}

/// Runs `job` on `stack` until it ends, handing each counted record to `recorder`.
pub fn run(stack: &Stack, job: &Job, seed: Seed, recorder: &mut impl FnMut(&Record)) -> Result<Outcome, SimError> {
    run_first(u64::MAX, stack, job, seed, recorder)
}

/// The same, ended after `most` requests.
pub fn run_first(
    most: u64,
    stack: &Stack,
    job: &Job,
    seed: Seed,
    recorder: &mut impl FnMut(&Record),
) -> Result<Outcome, SimError> {
    // A drive by itself is known to the compiler as such: no call through a table on the way of a request.
    match stack.is_bare() {
        true => run_on(stack.drive(seed, 0), &[], most, job, seed, recorder),
        false => run_on(stack.build(seed), &stack.changes, most, job, seed, recorder),
    }
}

fn run_on(
    device: impl Device,
    changes: &[Change],
    most: u64,
    job: &Job,
    seed: Seed,
    recorder: &mut impl FnMut(&Record),
) -> Result<Outcome, SimError> {
    let limits = device.limits(0);
    let workload = Workload::new(job, &limits, seed).map_err(|error| SimError::Job(error.to_string()))?;
    let served = Cell::new((Op::Read, 0));
    let mut engine = Engine::new(Fingerprint::of(workload, most, &served), device);
    run_engine(&mut engine, changes, &mut |record| {
        recorder(as_served(record, served.get()).as_ref().unwrap_or(record))
    })?;
    Ok(outcome(&engine))
}

/// A synchronous write of a drive without FUA ends with its flush, and is recorded as the write that it is; nothing for
/// what is recorded as it stands.
#[inline(always)]
fn as_served(record: &Record, (op, sectors): (Op, u32)) -> Option<Record> {
    match record.request.op {
        Op::Flush if op != Op::Flush => Some(Record { request: Request { op, sectors, ..record.request }, ..*record }),
        _ => None,
    }
}

/// Until the job is over, with what changes on the way.
fn run_engine<S: Source, D: Device>(
    engine: &mut Engine<S, D>,
    changes: &[Change],
    record: &mut impl FnMut(&Record),
) -> Result<(), SimError> {
    for change in changes {
        engine.run(change.at, record).map_err(SimError::Stuck)?;
        if engine.is_over() {
            break;
        }
        apply(engine.device_mut(), change, change.at)?;
    }
    engine.run(Instant::FAR, record).map_err(SimError::Stuck)
}

/// Changes a setting of `device` at `now`.
fn apply(device: &mut impl Device, change: &Change, now: Instant) -> Result<(), SimError> {
    let Change { key, value, .. } = change;
    let wrong = |what: &str| SimError::Job(format!("`{key}` = `{value}` during a run: {what}"));
    device.control(now, &Control::Set { key, value }).map_err(|error| match error {
        ControlError::UnknownKey => wrong("no layer of the stack can change it"),
        ControlError::BadValue => wrong("the value does not fit"),
        ControlError::UnknownTag | ControlError::PoweredOff => wrong("not in this state"),
    })
}

/// Whether the layers of `stack` can change what it asks them to change.
pub fn check_changes(stack: &Stack, seed: Seed) -> Result<(), SimError> {
    let mut device = stack.build(seed);
    stack.changes.iter().try_for_each(|change| apply(&mut device, change, Instant::ZERO))
}

fn outcome<D: Device>(engine: &Engine<Fingerprint<'_>, D>) -> Outcome {
    let (stream_hash, issued) = (engine.source().hash, engine.source().issued);
    let windows = engine.source().source.windows(engine.now());
    Outcome { end: engine.now(), failures: engine.failures(), stream_hash, issued, log: engine.device().log(), windows }
}

/// How a run that is watched ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The device goes on by itself for as long as the witness wants.
    Linger,
    /// The power is switched off in order, and what the layers make of that takes its course.
    PowerOff,
}

/// Runs `job` on `stack` until it ends, and the device on as `ending` says; `witness` sees every request, completion and
/// landing. Answers when the last thing happened that the ending is about, beside the outcome.
pub fn witness(
    stack: &Stack,
    job: &Job,
    seed: Seed,
    ending: Ending,
    witness: &mut impl Witness,
) -> Result<(Outcome, Instant), SimError> {
    let entries = Entries::default();
    let pairs = Pairs::default();
    let device = Watched::numbered(stack.build_numbered(seed, Some(&entries)), entries.clone(), witness);
    let device = device.with_pairs(pairs.clone());
    let limits = device.limits(0);
    let workload = Workload::new(job, &limits, seed).map_err(|error| SimError::Job(error.to_string()))?;
    let served = Cell::new((Op::Read, 0));
    let source = Fingerprint { pairs: Some(pairs), ..Fingerprint::of(workload, u64::MAX, &served) };
    let mut engine = Engine::new(source, device);
    run_engine(&mut engine, &stack.changes, &mut |_: &Record| ())?;
    let outcome = outcome(&engine);
    let device = engine.device_mut();
    let last = match ending {
        Ending::Linger => {
            device.linger(outcome.end);
            outcome.end
        }
        Ending::PowerOff => device.power_off(outcome.end).expect("every device can be switched off"),
    };
    Ok((outcome, last))
}

/// Plays `rows` on a drive by itself; the platter's phase at time 0 is drawn from `seed`. A record's stamp, less 1, is
/// the index of its row.
pub fn replay(
    profile: &Profile,
    rows: &[Row],
    timing: Timing,
    seed: Seed,
    recorder: &mut impl FnMut(&Record),
) -> Result<Instant, SimError> {
    let drive = Drive::new(profile.clone(), seed.stream("phase").next_u64());
    let mut engine = Engine::new(Replay::new(rows, timing), drive);
    engine.run(Instant::FAR, recorder).map_err(SimError::Stuck)?;
    Ok(engine.now())
}

/// A source whose requests are hashed as they go by (FNV-1a over 64-bit words).
struct Fingerprint<'a> {
    source: Workload,
    hash: u64,
    issued: u64,
    /// It ends after so many.
    most: u64,
    /// What the last completion stood for.
    served: &'a Cell<(Op, u32)>,
    /// Told of writes that wait for a flush of their own, where somebody asks.
    pairs: Option<Pairs>,
}

impl<'a> Fingerprint<'a> {
    fn of(source: Workload, most: u64, served: &'a Cell<(Op, u32)>) -> Fingerprint<'a> {
        Fingerprint { source, hash: 0xcbf2_9ce4_8422_2325, issued: 0, most, served, pairs: None }
    }

    fn mix(&mut self, word: u64) {
        self.hash = (self.hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    }
}

impl Source for Fingerprint<'_> {
    #[inline]
    fn next(&mut self, now: Instant) -> Next {
        if self.issued == self.most {
            return Next::Done;
        }
        let next = self.source.next(now);
        if let Next::Request(request) = &next {
            let op = match request.op {
                Op::Read => 1,
                Op::Write => 2,
                Op::WriteZeroes => 3,
                Op::Flush => 4,
                Op::Trim => 5,
                Op::Compute => 6,
            };
            self.mix(op | u64::from(request.sectors) << 8);
            self.mix(request.lba);
            self.issued += 1;
            if let Some(pairs) = self.pairs.as_ref().filter(|_| self.source.waits_for_flush(request.tag)) {
                pairs.borrow_mut().insert(request.tag);
            }
        }
        next
    }

    #[inline]
    fn complete(&mut self, now: Instant, completion: &Completion) -> Counted {
        self.served.set(self.source.served(completion.tag));
        self.source.complete(now, completion)
    }
}
