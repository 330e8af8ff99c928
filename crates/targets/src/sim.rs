//! Runs a job on a modelled stack in virtual time: jumps from timeout to timeout.

mod follow;
mod witness;

use std::cell::Cell;

use seekwise_model::block::{Completion, Control, ControlError, Counted, Device, Next, Op, Request, Source};
use seekwise_model::drive::Drive;
use seekwise_model::drive::profile::Profile;
use seekwise_model::engine::{Engine, Stuck};
use seekwise_model::record::{DriveLog, Record};
use seekwise_model::rng::Seed;
use seekwise_model::stack::{Change, Stack};
use seekwise_model::time::Instant;
use seekwise_model::workload::trace::{Replay, Row, Timing};
use seekwise_model::workload::{Job, Window, Workload};

pub use self::follow::{Followed, follow};
pub use self::witness::{Pairs, Watched, Witness};

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
    let pairs = Pairs::default();
    let device = Watched::new(stack.build(seed), witness).with_pairs(pairs.clone());
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
