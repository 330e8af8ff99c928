//! Where a run takes place. There are two kinds. [`sim`] runs a modelled stack in virtual time: any number of runs side by side,
//! each the same every time. All others are [`Place`]s in real time: their figures are measured, and one run at a time has
//! the machine.
//!
//! Places in real time are implemented above this crate, by whoever knows an operating system; a program hands their list
//! ([`PlaceKind`]) down. Without one, only the simulation is there.

use std::fmt;
use std::sync::Arc;

use seekwise_disk::block::Limits;
use seekwise_disk::record::Record;
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_drives::change::WrittenChange;
use seekwise_work::workload::Tell;

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
    /// The source from which it is made.
    pub of: PlaceSource,
}

/// The sources from which a place is made.
#[derive(Debug)]
pub enum PlaceSource {
    /// Nothing more.
    Nothing(fn() -> Arc<dyn Place>),
    /// A modelled stack.
    Stack(fn(Stack) -> Arc<dyn Place>),
    /// An address, or what is wrong with it.
    Address(fn(&str) -> PlaceResult),
    /// The path of a file, with what is wanted of it; or what is wrong with it.
    File(fn(&str, &RealOptions) -> PlaceResult),
    /// The path of a device, with what is wanted of it; or what is wrong with it.
    Device(fn(&str, &RealOptions) -> PlaceResult),
}

impl PlaceKind {
    /// The text for it in a command: with a colon where something has to follow.
    pub fn command_form(&self) -> &'static str {
        if matches!(self.of, PlaceSource::Address(_) | PlaceSource::File(_) | PlaceSource::Device(_)) {
            self.form
        } else {
            self.name
        }
    }
}

/// A place that was made, or what is wrong with what it was to be made of.
pub type PlaceResult = Result<Arc<dyn Place>, String>;

/// A place in real time.
pub trait Place: fmt::Debug + Send + Sync {
    /// The name in records.
    fn name(&self) -> &'static str;
    /// The name with all that it is made of.
    fn full_name(&self) -> String;
    /// The capabilities of the place.
    fn limits(&self) -> Limits;
    /// Runs `work` until it ends, or to `cutoff`, handing each counted record to `recorder`. `seed` is that of the
    /// stack's chance. `tell` is told of each request of a job's workers as it is issued.
    fn run(
        &self,
        work: &Work,
        cutoff: RunCutoff<'_>,
        seed: Seed,
        tell: Option<&Tell>,
        recorder: &mut dyn FnMut(&Record),
    ) -> Result<RunOutcome<Issuer>, RunError>;
    /// Makes the place ready for this work, where it has to be: `handles` say how each worker opens it, or one how all do.
    fn fit_to_work(&self, _: &Work, _: &[RealHandle]) -> Result<Option<Arc<dyn Place>>, String> {
        Ok(None)
    }
    /// Bytes of memory that requests in flight take there.
    fn request_memory(&self) -> u64 {
        0
    }
    /// Whether workers open it by handles of their own: a real file or device.
    fn has_handles(&self) -> bool {
        false
    }
    /// Whether this system lets a handle have a ring of the kernel ([`RealEngine::Ring`](crate::handle::RealEngine)), else why not.
    fn check_ring(&self) -> Result<(), String> {
        Ok(())
    }
    /// Whether its contents may be overwritten, where `destroy` is the name that the user gave; else why not.
    fn may_write(&self, _destroy: Option<&str>) -> Result<(), String> {
        Ok(())
    }
}

/// Where a run takes place.
#[derive(Clone, Debug)]
pub enum Target {
    /// A modelled stack, in virtual time, and its changes in words.
    Sim(Box<Stack>, Vec<WrittenChange>),
    /// A place in real time.
    Measured(Arc<dyn Place>),
}

impl From<Stack> for Target {
    /// Changes of `stack` have no words: one that is refused is known by its number.
    fn from(stack: Stack) -> Target {
        Target::Sim(Box::new(stack), Vec::new())
    }
}

/// Finds the kind among `places` that a text names, and what stands behind its colon. A URI of a network block device
/// is one as it stands.
pub fn find_kind<'a>(places: &'static [PlaceKind], text: &'a str) -> Option<(&'static PlaceKind, Option<&'a str>)> {
    let (name, rest) = match text.split_once(':') {
        Some(("nbd+unix", _)) => ("nbd", Some(text)),
        Some((name, rest)) => (name, Some(rest)),
        None => (text, None),
    };
    Some((places.iter().find(|kind| kind.name == name)?, rest))
}

impl Target {
    /// The name of the drive, or of the place with all that it is made of.
    pub fn name(&self) -> String {
        match self {
            Target::Sim(stack, _) => stack.profile.name.clone(),
            Target::Measured(place) => place.full_name(),
        }
    }

    /// The name of its place, as records have it.
    pub fn place_name(&self) -> &'static str {
        match self {
            Target::Sim(..) => sim::NAME,
            Target::Measured(place) => place.name(),
        }
    }

    /// True if figures are measured in real time: one run at a time has the machine.
    pub fn is_measured(&self) -> bool {
        matches!(self, Target::Measured(_))
    }

    /// Whether workers open it by handles of their own: a real file or device.
    pub fn has_handles(&self) -> bool {
        matches!(self, Target::Measured(place) if place.has_handles())
    }

    /// The stack, where it is a modelled one.
    pub fn stack(&self) -> Option<&Stack> {
        match self {
            Target::Sim(stack, _) => Some(stack),
            Target::Measured(_) => None,
        }
    }

    /// What changes during a run, in words; nothing in real time.
    pub fn changes(&self) -> &[WrittenChange] {
        match self {
            Target::Sim(_, changes) => changes,
            Target::Measured(_) => &[],
        }
    }

    /// Sectors that a job has.
    pub fn sectors(&self) -> u64 {
        match self {
            Target::Sim(stack, _) => stack.sectors(),
            Target::Measured(place) => place.limits().sectors,
        }
    }

    /// The limits for a job.
    pub fn limits(&self) -> Limits {
        match self {
            Target::Sim(stack, _) => stack.build(Seed(0)).limits(0),
            Target::Measured(place) => place.limits(),
        }
    }

    /// Runs `work` until it ends, or to `cutoff`, handing each counted record to `recorder`. `seed` is that of the
    /// stack's chance. `tell` is told of each request of a job's workers as it is issued.
    pub fn run(
        &self,
        work: &Work,
        cutoff: RunCutoff<'_>,
        seed: Seed,
        tell: Option<&Tell>,
        recorder: &mut impl FnMut(&Record),
    ) -> Result<RunOutcome<Issuer>, RunError> {
        match self {
            Target::Sim(stack, changes) => {
                let source = work.make_telling_source(seed, tell.cloned());
                sim::run_source(stack, source, cutoff, seed, recorder).map_err(|error| error.in_words(changes))
            }
            Target::Measured(place) => place.run(work, cutoff, seed, tell, recorder)?.unless_cancelled(),
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
            _: Option<&Tell>,
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
            assert_eq!((target.stack().is_none(), target.has_handles()), (measured, false), "{name}");
        }
    }
}
