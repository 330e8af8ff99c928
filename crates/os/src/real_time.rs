//! Places in real time: what each provides ([`RealTime`]), and the crank that the clock turns.
//!
//! A new place is its own file, with a [`RealTime`] in it, and its line in [`PLACES`](crate::places::PLACES).

use std::fmt;
use std::sync::Arc;

#[cfg(unix)]
use seekwise_model::block::{Control, ControlError};
use seekwise_model::block::{Device, Limits, Source};
use seekwise_model::engine::{Engine, EngineError};
use seekwise_model::record::Record;
use seekwise_model::rng::Seed;
use seekwise_model::time::Instant;
use seekwise_run::handle::RealHandle;
use seekwise_run::outcome::{RunError, RunSource};
use seekwise_run::place::Place;
use seekwise_run::receipt::Receipt;
use seekwise_run::testbed::TestBench;
use seekwise_run::work::Work;

use crate::clock::Clock;

/// What a place in real time provides.
pub trait RealTime: fmt::Debug + Send + Sync {
    /// What records call it.
    fn name(&self) -> &'static str;
    /// What it is called with all that it is made of.
    fn called(&self) -> String;
    /// What it can do.
    fn limits(&self) -> Limits;
    /// Its device; `seed` is that of a stack's chance.
    fn open(&self, seed: Seed) -> Result<Box<dyn TimedDevice>, RunError>;
    /// The same made ready for this work, where it has to be: `handles` say how each worker opens it, or one how all do.
    fn fitted(&self, _: &Work, _: &[RealHandle]) -> Result<Option<Arc<dyn Place>>, String> {
        Ok(None)
    }
    /// Bytes of memory that requests in flight take there.
    fn memory(&self) -> u64 {
        0
    }
    /// Each worker of a job has a thread and a device of its own there, opened by a handle of its own.
    fn is_threaded(&self) -> bool {
        false
    }
    /// Whether the kernel lets us have a ring, else why not.
    fn ring(&self) -> Result<(), String> {
        Ok(())
    }
    /// The device of one worker.
    fn open_for(&self, _: u16, seed: Seed) -> Result<Box<dyn TimedDevice>, RunError> {
        self.open(seed)
    }
    /// What stands for as long as a run lasts: settings of the disk.
    fn hold(&self) -> Result<Option<Box<dyn RunGuard>>, String> {
        Ok(None)
    }
    /// What a measurement stands on there, now.
    fn bench(&self) -> Option<TestBench> {
        None
    }
    /// Whether its contents may be overwritten, where `destroy` is the name that the user gave; else why not.
    fn may_write(&self, _destroy: Option<&str>) -> Result<(), String> {
        Ok(())
    }
}

/// What is set for a run, and put back when it is over or this is dropped.
pub trait RunGuard {
    /// Puts all back, and says what could not be.
    fn end(self: Box<Self>) -> Result<(), String>;
}

/// A device in real time. Completions carry the instant at which they were met.
pub trait TimedDevice: Device {
    /// Returns when `until` has come, or something from outside; nothing is what only the outside can end.
    fn wait(&mut self, clock: &Clock, until: Option<Instant>) -> Result<(), EngineError>;
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

/// Turns the crank by the clock until the source is over.
pub(crate) fn crank<'a, S: Source>(
    mut engine: Engine<RunSource<'a, S>, Box<dyn TimedDevice>>,
    clock: &Clock,
    recorder: &mut impl FnMut(&Record),
) -> Result<Engine<RunSource<'a, S>, Box<dyn TimedDevice>>, RunError> {
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
