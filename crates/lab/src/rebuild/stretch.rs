//! A stretch of a rebuild or a scrub, simulated: its rate, and what users feel meanwhile.
//!
//! The array runs with its users until they are settled; then the rebuild begins at a place of the members, and goes on for longer than md
//! remembers its speed (30 s, `sync_pace` of the disk) before anything is counted.

use seekwise_disk::block::setting::{ArraySetting, LayerSetting};
use seekwise_disk::block::{Accounting, Completion, Control, Device, Source, SourcePoll};
use seekwise_disk::engine::Engine;
use seekwise_disk::parts::SyncCounts;
use seekwise_disk::record::Record;
use seekwise_disk::time::{Instant, Span};

use super::ArrayUnderSync;
use crate::stats::histogram::Histogram;

/// Users alone, before the rebuild begins; longer than the ramps of built-in jobs.
const SETTLING: Span = Span::from_secs(6);
/// The rebuild beside users, before anything is counted.
const WARMING: Span = Span::from_secs(35);
/// Counted time, in blocks whose rates show how much is chance.
const BLOCK: Span = Span::from_secs(10);
const BLOCKS: u32 = 6;

/// Simulated seconds of a stretch.
pub(super) fn simulated_seconds() -> f64 {
    (SETTLING.nanos() + WARMING.nanos() + u64::from(BLOCKS) * BLOCK.nanos()) as f64 / 1e9
}

/// Counted seconds, and those before them in which the rebuild goes on.
pub(super) fn rebuilding_seconds() -> f64 {
    (WARMING.nanos() + u64::from(BLOCKS) * BLOCK.nanos()) as f64 / 1e9
}

/// A rebuild of a member, or a check, from a sector of the members on.
#[derive(Clone, Debug)]
pub(super) struct SyncStart {
    /// The members that are rebuilt; none for a check.
    pub members: Vec<u32>,
    pub sector: u64,
}

/// The state of an array in a stretch.
#[derive(Clone, Debug)]
pub(super) struct ArrayState {
    pub lost: Vec<u32>,
    pub sync: Option<SyncStart>,
    pub with_users: bool,
}

/// How long a rebuild takes for a sector.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// The middle of the counted sectors.
    pub sector: f64,
    pub seconds_per_sector: f64,
    /// Its standard error.
    pub error: f64,
}

/// Results of a stretch.
pub(super) struct Stretch {
    /// None if nothing was rebuilt in the counted time.
    pub pace: Option<Pace>,
    /// The rebuild came to its end before the counted time did.
    pub ended: bool,
    pub latency: Histogram,
    pub seconds: f64,
    pub failures: u64,
}

/// Users that never come.
struct NoUsers;

impl Source for NoUsers {
    fn next(&mut self, _: Instant) -> SourcePoll {
        SourcePoll::Completion
    }
    fn complete(&mut self, _: Instant, _: &Completion) -> Accounting {
        Accounting::Out
    }
}

/// An array at work, with users or without.
pub(super) struct RunningArray {
    engine: Engine<Box<dyn Source>, Box<dyn Device>>,
    latency: Histogram,
}

impl RunningArray {
    /// The array of the question with its drives at random places; `number` numbers the stretch.
    pub fn new(array: &ArrayUnderSync<'_>, number: u64, with_users: bool) -> Result<RunningArray, String> {
        let seed = array.question.seed.run_seed(number);
        let device = array.question.stack.build(seed);
        let source: Box<dyn Source> = match array.question.users.filter(|_| with_users) {
            Some(work) => Box::new(work.make_source(seed)(&device.limits(0)).map_err(|why| why.to_string())?),
            None => Box::new(NoUsers),
        };
        Ok(RunningArray { engine: Engine::new(source, device), latency: Histogram::default() })
    }

    /// Lets time pass.
    pub fn pass(&mut self, span: Span) -> Result<(), String> {
        let end = self.engine.now() + span;
        let latency = &mut self.latency;
        let mut record = |record: &Record| latency.record(record.time_since_due());
        self.engine.run(end, &mut record).map_err(|stuck| stuck.to_string())?;
        match self.engine.is_over() {
            false => Ok(()),
            true => Err(format!(
                "the users' work ends after {:.0} s; expected a job that goes on, such as `time_based=1` and `runtime=1000h`",
                self.engine.now().nanos() as f64 / 1e9
            )),
        }
    }

    /// Changes the array.
    pub fn set(&mut self, setting: ArraySetting) -> Result<(), String> {
        let control = Control::Set(LayerSetting::Array(setting));
        self.engine.control(&control).map_err(|why| format!("{setting:?}: {why:?}"))
    }

    /// Begins a rebuild or a check, and goes on at its place.
    pub fn begin(&mut self, sync: &SyncStart) -> Result<(), String> {
        if sync.members.is_empty() {
            self.set(ArraySetting::Check(true))?;
        }
        sync.members.iter().try_for_each(|member| self.set(ArraySetting::Replace(*member)))?;
        if sync.sector > 0 { self.set(ArraySetting::SkipSync(sync.sector)) } else { Ok(()) }
    }

    pub fn counts(&self) -> SyncCounts {
        self.engine.device().drive_log().syncs
    }

    pub fn failures(&self) -> u64 {
        self.engine.failures()
    }

    /// The users' times since the last call.
    pub fn take_latency(&mut self) -> Histogram {
        core::mem::take(&mut self.latency)
    }
}

/// Sectors of a member that rebuilds and checks have done.
pub(super) fn sectors_done(counts: &SyncCounts) -> u64 {
    counts.rebuilt_sectors + counts.checked_sectors
}

/// Simulates a stretch.
pub(super) fn simulate_stretch(array: &ArrayUnderSync<'_>, state: &ArrayState, number: u64) -> Result<Stretch, String> {
    let mut running = RunningArray::new(array, number, state.with_users)?;
    for member in &state.lost {
        running.set(ArraySetting::Lose(*member))?;
    }
    running.pass(SETTLING)?;
    let first_sector = state.sync.as_ref().map_or(0, |sync| sync.sector);
    if let Some(sync) = &state.sync {
        running.begin(sync)?;
        running.pass(WARMING)?;
    }
    drop(running.take_latency());
    let failures = running.failures();
    let (from, mut rates, mut latency) = (sectors_done(&running.counts()), Vec::new(), Histogram::default());
    let (mut before, mut ended, mut blocks) = (from, running.counts().ended > 0, 0);
    while blocks < BLOCKS && !ended {
        running.pass(BLOCK)?;
        let of_block = running.take_latency();
        ended = running.counts().ended > 0;
        if !ended {
            let after = sectors_done(&running.counts());
            rates.push((after - before) as f64 / (BLOCK.nanos() as f64 / 1e9));
            latency.merge(&of_block);
            (before, blocks) = (after, blocks + 1);
        }
    }
    let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    let pace = (state.sync.is_some() && mean > 0.0).then(|| {
        let middle = first_sector as f64 + (from + before) as f64 / 2.0;
        let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
        let error = (squares / (rates.len().max(2) - 1) as f64 / rates.len() as f64).sqrt();
        Pace { sector: middle, seconds_per_sector: 1.0 / mean, error: error / (mean * mean) }
    });
    Ok(Stretch {
        pace,
        ended,
        latency,
        seconds: f64::from(blocks) * BLOCK.nanos() as f64 / 1e9,
        failures: running.failures() - failures,
    })
}
