//! All that passed a disk at work, with the data of its writes: what power cuts at any of its instants are worked out from,
//! afterwards.
//!
//! It says nothing of what a cut leaves: whoever judges cuts hears it again, event after event ([`History::tell`]), as a
//! witness of a simulated run does, and may answer in the words that stand here ([`Judge`], [`Left`]).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use seekwise_model::block::{Completion, Landing, Op, Request, SECTOR};
use seekwise_model::time::Instant;

use crate::sim::Witness;

/// What happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// The disk took a request.
    Taken(Instant, Request),
    /// A request was over.
    Over(Request, Completion),
    /// Something became of a written run.
    Landed(Landing),
    /// A setting of a layer was changed.
    Changed(Instant, String, String),
}

/// What is said beside requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The work that matters begins.
    Begin,
    /// Somebody was told this: it is a promise from now on.
    Said(String),
    /// The work is over.
    End,
}

/// What passed, in order.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Requests and landings.
    pub events: Vec<Event>,
    /// The data of each write, by stamp.
    pub data: BTreeMap<u64, Vec<u8>>,
    /// What was said, at instants that do not run back.
    pub marks: Vec<(Instant, Mark)>,
}

impl History {
    /// The disk took a request, of a write with these data.
    pub fn taken(&mut self, at: Instant, request: &Request, data: Option<&[u8]>) {
        self.events.push(Event::Taken(at, *request));
        if let Some(data) = data {
            self.data.insert(request.stamp, data.to_vec());
        }
    }

    /// Tells all of it to a witness.
    pub fn tell(&self, witness: &mut impl Witness) {
        for event in &self.events {
            match event {
                Event::Taken(at, request) => witness.submitted(*at, request),
                Event::Over(request, completion) => witness.completed(request, completion),
                Event::Landed(landing) => witness.landed(landing),
                Event::Changed(at, key, value) => witness.changed(*at, key, value),
            }
        }
    }

    /// From when to when the work lasted that matters; nothing where it was never said to begin and to end.
    pub fn span(&self) -> Option<(Instant, Instant)> {
        let at = |wanted: &Mark| self.marks.iter().find(|(_, mark)| mark == wanted).map(|it| it.0);
        Some((at(&Mark::Begin)?, at(&Mark::End)?))
    }

    /// What had been said by `at`, in order.
    pub fn said(&self, at: Instant) -> impl Iterator<Item = &str> {
        self.marks.iter().take_while(move |(when, _)| *when <= at).filter_map(|(_, mark)| match mark {
            Mark::Said(words) => Some(words.as_str()),
            _ => None,
        })
    }

    /// The writes that the disk took, in order.
    pub fn writes(&self) -> impl Iterator<Item = (Instant, &Request)> {
        self.events.iter().filter_map(|event| match event {
            Event::Taken(at, request) if request.op == Op::Write => Some((*at, request)),
            _ => None,
        })
    }

    /// The bytes that the write `stamp` brought to these sectors, which are its own.
    pub fn bytes(&self, stamp: u64, first: u64, lba: u64, sectors: u64) -> &[u8] {
        let from = ((lba - first) * SECTOR) as usize;
        &self.data[&stamp][from..from + (sectors * SECTOR) as usize]
    }
}

/// What a cut leaves of a disk since its history began: what is not named holds what it held then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Runs of sectors, from and up to, and which write each holds, by stamp.
    pub held: Vec<((u64, u64), u64)>,
    /// Those that cannot be read, or that nothing gives back.
    pub unreadable: Vec<(u64, u64)>,
}

/// Works out what a cut leaves of an array: from its history, which begins with all that was done on the media; the drives that it
/// lacked then, one bit each; and the instant of the cut, behind which the history may tell what that made of the writes under way.
/// An error says why that is not known.
pub type Judge = Box<dyn Fn(&History, u64, Instant) -> Result<Left, String> + Send>;

/// A history that is being written: one end is the disk's, the other whoever reads it when the disk has ended.
#[derive(Clone, Debug, Default)]
pub struct Chronicle(Arc<Mutex<History>>);

impl Chronicle {
    /// Changes what is written.
    pub fn write(&self, change: impl FnOnce(&mut History)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// All that was written; nothing is left.
    pub fn take(&self) -> History {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
