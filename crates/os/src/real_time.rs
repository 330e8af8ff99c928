//! Places in real time, which are real devices or behave as such: the trait of each ([`RealTime`]), the trait of its
//! device ([`TimedDevice`]), and the loop that the clock drives.
//!
//! A new place is its own file, with a [`RealTime`] in it, and its line in [`PLACES`](crate::places::PLACES).

use std::fmt;
use std::sync::Arc;

#[cfg(unix)]
use seekwise_disk::block::{Control, ControlError};
use seekwise_disk::block::{Device, Limits, Source};
use seekwise_disk::engine::{Engine, EngineError};
use seekwise_disk::record::Record;
use seekwise_disk::rng::Seed;
use seekwise_disk::time::Instant;
use seekwise_run::handle::RealHandle;
use seekwise_run::outcome::{RunError, RunSource};
use seekwise_run::place::Place;
use seekwise_run::receipt::Receipt;
use seekwise_run::testbed::TestBench;
use seekwise_run::work::Work;

use crate::clock::Clock;

/// A place in real time.
pub trait RealTime: fmt::Debug + Send + Sync {
    /// Name in records.
    fn name(&self) -> &'static str;
    /// Full name, with its path, address or drive.
    fn full_name(&self) -> String;
    /// Limits of its device.
    fn limits(&self) -> Limits;
    /// Opens its device; `seed` is that of a stack's random numbers.
    fn open(&self, seed: Seed) -> Result<Box<dyn TimedDevice>, RunError>;
    /// Returns the place prepared for this work, if it has to be: `_handles` say how each worker opens it; a single one
    /// says how all do.
    fn prepare_for(&self, _work: &Work, _handles: &[RealHandle]) -> Result<Option<Arc<dyn Place>>, String> {
        Ok(None)
    }
    /// Bytes of memory that requests in flight take.
    fn memory_bytes(&self) -> u64 {
        0
    }
    /// Whether each worker of a job has a thread and a device of its own, opened by a handle of its own.
    fn is_threaded(&self) -> bool {
        false
    }
    /// Checks whether the kernel grants a ring; the error says why not.
    fn check_ring(&self) -> Result<(), String> {
        Ok(())
    }
    /// Opens the device of one worker.
    fn open_for(&self, _worker: u16, seed: Seed) -> Result<Box<dyn TimedDevice>, RunError> {
        self.open(seed)
    }
    /// Prepares the disk for a run, such as its settings.
    fn prepare_run(&self) -> Result<Option<Box<dyn RunGuard>>, String> {
        Ok(None)
    }
    /// Reads the test bench of a measurement.
    fn read_bench(&self) -> Option<TestBench> {
        None
    }
    /// Whether its content may be overwritten, where `_destroyed_name` is the name by which the user agreed to it; the
    /// error says why not.
    fn may_write(&self, _destroyed_name: Option<&str>) -> Result<(), String> {
        Ok(())
    }
}

/// Preparations for a run, undone at its end or when dropped.
pub trait RunGuard {
    /// Undoes them all; the error says what could not be undone.
    fn undo(self: Box<Self>) -> Result<(), String>;
}

/// A device in real time. Completions carry the instant at which they were noticed.
pub trait TimedDevice: Device {
    /// Waits until `until`, or for an event from outside; `None` waits for such an event alone.
    fn wait_for_event(&mut self, clock: &Clock, until: Option<Instant>) -> Result<(), EngineError>;
    /// Takes the problems since the last call, in words.
    fn take_troubles(&mut self) -> Vec<String> {
        Vec::new()
    }
    /// An error if the other side has gone for good: the run cannot go on.
    fn check_alive(&self) -> Result<(), RunError> {
        Ok(())
    }
    /// Ends the run and returns its receipt, if there is one.
    fn end_run(self: Box<Self>) -> Result<Option<Receipt>, RunError> {
        Ok(None)
    }
}

/// Answers a control for a device whose state cannot be changed from here: settings are refused, and requests in flight
/// complete by themselves.
#[cfg(unix)]
pub(crate) fn answer_control(control: &Control) -> Result<(), ControlError> {
    match control {
        Control::Set(_) => Err(ControlError::UnknownKey),
        Control::Abort(_) => Err(ControlError::UnknownTag),
        Control::PowerCut | Control::PowerOff | Control::PowerOn | Control::Reset => Ok(()),
    }
}

/// Steps the engine by the clock until the source is over.
pub(crate) fn run_engine<'a, S: Source>(
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
        // When the other side has gone, failing requests end a source, or let it request without end. That error is
        // reported first: it is no fault of a model, nor of a disk.
        engine.device_mut().check_alive()?;
        stepped?;
        if is_over {
            return Ok(engine);
        }
        let until = engine.poll_timeout();
        engine.device_mut().wait_for_event(clock, until)?;
    }
}
