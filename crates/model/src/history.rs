//! All that passed a disk at work, with the data of its writes: what power cuts at any of its instants are worked out from,
//! afterwards.
//!
//! It says nothing of what a cut leaves: whoever judges cuts hears it again, event after event ([`History::tell`]), as a
//! witness of a simulated run does, and may answer in the words that stand here ([`CutRemains`]).

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::block::{Completion, Landing, Op, Request, SECTOR};
use crate::time::Instant;
use crate::witness::Witness;

/// What happened.
#[derive(Clone, Debug)]
pub enum HistoryEvent {
    /// The disk took a request.
    Taken(Instant, Request),
    /// A request was over.
    Over(Request, Completion),
    /// Something became of a written run.
    Landed(Landing),
    /// A setting of a layer was changed.
    Changed(Instant, String, String),
}

/// What a write brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteData {
    /// Bytes, of whole sectors.
    Bytes(Vec<u8>),
    /// So many zeroes, that nobody has to hold. Where they are `allocated`, a file of platters is to keep the room for them.
    Zeroes {
        /// How many.
        bytes: u64,
        /// No hole.
        allocated: bool,
    },
}

/// A part of [`WriteData`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataPart<'a> {
    Bytes(&'a [u8]),
    /// Zeroes; see [`WriteData::Zeroes`].
    Zeroes {
        /// How many.
        bytes: u64,
        /// No hole.
        allocated: bool,
    },
}

impl From<Vec<u8>> for WriteData {
    fn from(bytes: Vec<u8>) -> WriteData {
        WriteData::Bytes(bytes)
    }
}

impl WriteData {
    /// How many bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            WriteData::Bytes(bytes) => bytes.len() as u64,
            WriteData::Zeroes { bytes, .. } => *bytes,
        }
    }

    /// Bytes of memory that it takes.
    pub fn kept(&self) -> u64 {
        if let WriteData::Bytes(bytes) = self { bytes.len() as u64 } else { 0 }
    }

    /// So many bytes of it from `from` on.
    pub fn part(&self, from: u64, bytes: u64) -> DataPart<'_> {
        match self {
            WriteData::Bytes(all) => DataPart::Bytes(&all[from as usize..(from + bytes) as usize]),
            WriteData::Zeroes { allocated, .. } => DataPart::Zeroes { bytes, allocated: *allocated },
        }
    }
}

impl<'a> DataPart<'a> {
    /// How many bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            DataPart::Bytes(bytes) => bytes.len() as u64,
            DataPart::Zeroes { bytes, .. } => *bytes,
        }
    }

    /// Brings it to a place as long.
    pub fn copy_to(&self, place: &mut [u8]) {
        match self {
            DataPart::Bytes(bytes) => place.copy_from_slice(bytes),
            DataPart::Zeroes { .. } => place.fill(0),
        }
    }

    /// As bytes.
    fn all(self) -> Cow<'a, [u8]> {
        match self {
            DataPart::Bytes(bytes) => Cow::Borrowed(bytes),
            DataPart::Zeroes { bytes, .. } => Cow::Owned(vec![0; bytes as usize]),
        }
    }
}

/// What is said beside requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryMark {
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
    pub events: Vec<HistoryEvent>,
    /// The data of each write, by stamp.
    pub data: BTreeMap<u64, WriteData>,
    /// What was said, at instants that do not run back.
    pub marks: Vec<(Instant, HistoryMark)>,
}

impl History {
    /// The disk took a request, of a write with these data.
    pub fn taken(&mut self, at: Instant, request: &Request, data: Option<&WriteData>) {
        self.events.push(HistoryEvent::Taken(at, *request));
        if let Some(data) = data {
            self.data.insert(request.stamp, data.clone());
        }
    }

    /// Tells all of it to a witness.
    pub fn tell(&self, witness: &mut impl Witness) {
        for event in &self.events {
            match event {
                HistoryEvent::Taken(at, request) => witness.submitted(*at, request),
                HistoryEvent::Over(request, completion) => witness.completed(request, completion),
                HistoryEvent::Landed(landing) => witness.landed(landing),
                HistoryEvent::Changed(at, key, value) => witness.changed(*at, key, value),
            }
        }
    }

    /// From when to when the work lasted that matters; nothing where it was never said to begin and to end.
    pub fn span(&self) -> Option<(Instant, Instant)> {
        let at = |wanted: &HistoryMark| self.marks.iter().find(|(_, mark)| mark == wanted).map(|it| it.0);
        Some((at(&HistoryMark::Begin)?, at(&HistoryMark::End)?))
    }

    /// What had been said by `at`, in order.
    pub fn said(&self, at: Instant) -> impl Iterator<Item = &str> {
        self.marks.iter().take_while(move |(when, _)| *when <= at).filter_map(|(_, mark)| match mark {
            HistoryMark::Said(words) => Some(words.as_str()),
            _ => None,
        })
    }

    /// The writes that the disk took, in order.
    pub fn writes(&self) -> impl Iterator<Item = (Instant, &Request)> {
        self.events.iter().filter_map(|event| match event {
            HistoryEvent::Taken(at, request) if request.op == Op::Write => Some((*at, request)),
            _ => None,
        })
    }

    /// What the write `stamp` brought to these sectors, which are its own.
    pub fn part(&self, stamp: u64, first: u64, lba: u64, sectors: u64) -> DataPart<'_> {
        self.data[&stamp].part((lba - first) * SECTOR, sectors * SECTOR)
    }

    /// The same as bytes.
    pub fn bytes(&self, stamp: u64, first: u64, lba: u64, sectors: u64) -> Cow<'_, [u8]> {
        self.part(stamp, first, lba, sectors).all()
    }
}

/// What a cut leaves of a disk since its history began: what is not named holds what it held then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CutRemains {
    /// Runs of sectors, from and up to, and which write each holds, by stamp.
    pub held: Vec<((u64, u64), u64)>,
    /// Those that cannot be read, or that nothing gives back.
    pub unreadable: Vec<(u64, u64)>,
}
