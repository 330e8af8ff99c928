//! Where a run takes place: [`Target`]. There are two kinds. [`sim`] runs a modelled stack in virtual time: any number
//! of runs side by side, and each gives the same result every time. All others are [`Place`]s in real time: their
//! figures are measured, and only one run at a time may use the machine.
//!
//! Places in real time are implemented in `crates/os`, above this crate; the program passes their list ([`PlaceKind`])
//! down. Without a list there is only the simulation.

use std::fmt;
use std::sync::Arc;

use seekwise_disk::block::Limits;
use seekwise_disk::record::Record;
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_drives::change::WrittenChange;
use seekwise_work::workload::IssueListener;

use crate::cutoff::RunCutoff;
use crate::handle::{RealHandle, RealOptions};
use crate::outcome::{RunError, RunOutcome};
use crate::sim;
use crate::work::{Issuer, Work};

/// A kind of place in real time.
#[derive(Debug)]
pub struct PlaceKind {
    /// The name in studies and records.
    pub name: &'static str,
    /// The form for `--on`.
    pub form: &'static str,
    /// A description for people.
    pub about: &'static str,
    /// The input of a place of this kind, and its constructor.
    pub of: PlaceSource,
}

/// The input of a place, and the function that makes the place of it.
#[derive(Debug)]
pub enum PlaceSource {
    /// Nothing more.
    Nothing(fn() -> Arc<dyn Place>),
    /// A modelled stack.
    Stack(fn(Stack) -> Arc<dyn Place>),
    /// A path or a URI.
    Address(fn(&str) -> PlaceResult),
    /// The path of a file, with options.
    File(fn(&str, &RealOptions) -> PlaceResult),
    /// The path of a device, with options.
    Device(fn(&str, &RealOptions) -> PlaceResult),
}

impl PlaceKind {
    /// The place as a command names it: with a colon and what follows it, if something must follow.
    pub fn command_form(&self) -> &'static str {
        if matches!(self.of, PlaceSource::Address(_) | PlaceSource::File(_) | PlaceSource::Device(_)) {
            self.form
        } else {
            self.name
        }
    }
}

/// A new place, or why its address or path is refused.
pub type PlaceResult = Result<Arc<dyn Place>, String>;

/// A place in real time.
pub trait Place: fmt::Debug + Send + Sync {
    /// The name in records.
    fn name(&self) -> &'static str;
    /// The name with its address or path.
    fn full_name(&self) -> String;
    /// The capabilities of the place.
    fn limits(&self) -> Limits;
    /// Runs `work` until it ends, or to `cutoff`, handing each counted record to `recorder`. `seed` is that of the
    /// stack's random numbers. `listener` is called with each request of a job's workers as it is issued.
    fn run(
        &self,
        work: &Work,
        cutoff: RunCutoff<'_>,
        seed: Seed,
        listener: Option<&IssueListener>,
        recorder: &mut dyn FnMut(&Record),
    ) -> Result<RunOutcome<Issuer>, RunError>;
    /// Returns the place prepared for this work, if it must be prepared. `handles` say how each worker opens it; a
    /// single one applies to all.
    fn prepare_for(&self, _work: &Work, _handles: &[RealHandle]) -> Result<Option<Arc<dyn Place>>, String> {
        Ok(None)
    }
    /// Bytes of memory that requests in flight take there.
    fn request_memory_bytes(&self) -> u64 {
        0
    }
    /// True if each worker opens it by a handle of its own: a real file or device.
    fn has_worker_handles(&self) -> bool {
        false
    }
    /// Checks whether the system grants a ring ([`RealEngine::Ring`](crate::handle::RealEngine)); the error says why
    /// not.
    fn check_io_uring(&self) -> Result<(), String> {
        Ok(())
    }
    /// Checks whether its contents may be overwritten; the error says why not. `destroy` is the name that the user gave
    /// as permission.
    fn check_may_overwrite(&self, _destroy: Option<&str>) -> Result<(), String> {
        Ok(())
    }
}

/// Where a run takes place.
#[derive(Clone, Debug)]
pub enum Target {
    /// A modelled stack in virtual time, and its changes in words.
    Sim(Box<Stack>, Vec<WrittenChange>),
    /// A place in real time.
    Measured(Arc<dyn Place>),
}

impl From<Stack> for Target {
    /// The changes of `stack` have no words: a refused one is reported by its number.
    fn from(stack: Stack) -> Target {
        Target::Sim(Box::new(stack), Vec::new())
    }
}

/// Parses the text for a place: its kind among `kinds`, and the text after the colon. A URI of a network block device
/// (`nbd+unix:`) is kept whole.
pub fn parse_place<'a>(kinds: &'static [PlaceKind], text: &'a str) -> Option<(&'static PlaceKind, Option<&'a str>)> {
    let (name, rest) = match text.split_once(':') {
        Some(("nbd+unix", _)) => ("nbd", Some(text)),
        Some((name, rest)) => (name, Some(rest)),
        None => (text, None),
    };
    Some((kinds.iter().find(|kind| kind.name == name)?, rest))
}

impl Target {
    /// The name of the drive, or of the place with its address or path.
    pub fn name(&self) -> String {
        match self {
            Target::Sim(stack, _) => stack.profile.name.clone(),
            Target::Measured(place) => place.full_name(),
        }
    }

    /// The name of its place in records.
    pub fn place_name(&self) -> &'static str {
        match self {
            Target::Sim(..) => sim::NAME,
            Target::Measured(place) => place.name(),
        }
    }

    /// True if figures are measured in real time, so that only one run at a time may use the machine.
    pub fn is_measured(&self) -> bool {
        matches!(self, Target::Measured(_))
    }

    /// True if each worker opens it by a handle of its own: a real file or device.
    pub fn has_worker_handles(&self) -> bool {
        matches!(self, Target::Measured(place) if place.has_worker_handles())
    }

    /// The modelled stack, if it is one.
    pub fn stack(&self) -> Option<&Stack> {
        match self {
            Target::Sim(stack, _) => Some(stack),
            Target::Measured(_) => None,
        }
    }

    /// Changes of the stack during a run, in words; none in real time.
    pub fn changes(&self) -> &[WrittenChange] {
        match self {
            Target::Sim(_, changes) => changes,
            Target::Measured(_) => &[],
        }
    }

    /// Capacity in sectors.
    pub fn sectors(&self) -> u64 {
        match self {
            Target::Sim(stack, _) => stack.sectors(),
            Target::Measured(place) => place.limits().sectors,
        }
    }

    /// The capabilities of the device.
    pub fn limits(&self) -> Limits {
        match self {
            Target::Sim(stack, _) => stack.build(Seed(0)).limits(0),
            Target::Measured(place) => place.limits(),
        }
    }

    /// Runs `work` until it ends, or to `cutoff`, handing each counted record to `recorder`. `seed` is that of the
    /// stack's random numbers. `listener` is called with each request of a job's workers as it is issued.
    pub fn run(
        &self,
        work: &Work,
        cutoff: RunCutoff<'_>,
        seed: Seed,
        listener: Option<&IssueListener>,
        recorder: &mut impl FnMut(&Record),
    ) -> Result<RunOutcome<Issuer>, RunError> {
        match self {
            Target::Sim(stack, changes) => {
                let source = work.make_source_with_listener(seed, listener.cloned());
                sim::run_source(stack, source, cutoff, seed, recorder)
                    .map_err(|error| error.with_change_in_words(changes))
            }
            Target::Measured(place) => place.run(work, cutoff, seed, listener, recorder)?.unless_cancelled(),
        }
    }
}

#[cfg(test)]
mod tests {
    use seekwise_disk::testing::SmallDrive;

    use super::*;

    fn stack() -> Stack {
        Stack::bare(SmallDrive::default().profile())
    }

    #[derive(Debug)]
    struct RefusingPlace;

    impl Place for RefusingPlace {
        fn name(&self) -> &'static str {
            "nbd"
        }
        fn full_name(&self) -> String {
            "nbd:host:10809".to_owned()
        }
        fn limits(&self) -> Limits {
            Limits { sectors: 8, ..Target::from(stack()).limits() }
        }
        fn run(
            &self,
            _: &Work,
            _: RunCutoff<'_>,
            _: Seed,
            _: Option<&IssueListener>,
            _: &mut dyn FnMut(&Record),
        ) -> Result<RunOutcome<Issuer>, RunError> {
            Err(RunError::Cancelled)
        }
    }

    #[test]
    fn a_target_is_named_for_its_drive_or_its_place() {
        let sectors = stack().sectors();
        for (target, name, place, measured, sectors) in [
            (Target::from(stack()), "small", "sim", false, sectors),
            (Target::Measured(Arc::new(RefusingPlace)), "nbd:host:10809", "nbd", true, 8),
        ] {
            assert_eq!((target.name().as_str(), target.place_name(), target.is_measured()), (name, place, measured));
            assert_eq!((target.sectors(), target.limits().sectors), (sectors, sectors), "{name}");
            assert_eq!((target.stack().is_none(), target.has_worker_handles()), (measured, false), "{name}");
        }
    }
}
