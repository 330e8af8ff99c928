//! The history of a disk at work: requests, completions and landings, with the data of its writes. Power cuts at any
//! instant are judged from it afterwards.
//!
//! A history does not say what a cut leaves. A [`Witness`] that judges cuts is given the events as in a simulated run,
//! and may answer with [`CutRemains`].

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::block::setting::LayerSetting;
use crate::block::{Completion, Landing, Op, Request, SECTOR};
use crate::time::Instant;
use crate::witness::Witness;

/// An event in the history of a disk.
#[derive(Clone, Debug)]
pub enum HistoryEvent {
    /// The disk accepted a request.
    Taken(Instant, Request),
    /// A request completed.
    Over(Request, Completion),
    /// The fate of a run of written sectors.
    Landed(Landing),
    /// A setting of a layer was changed.
    Changed(Instant, LayerSetting),
}

/// The data of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteData {
    /// Bytes, of whole sectors.
    Bytes(Vec<u8>),
    /// Zeroes, of which only the number is kept. If `allocated`, a file of platters reserves space for them.
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
    /// Length in bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            WriteData::Bytes(bytes) => bytes.len() as u64,
            WriteData::Zeroes { bytes, .. } => *bytes,
        }
    }

    /// Bytes of memory that the data takes; zeroes take none.
    pub fn memory_bytes(&self) -> u64 {
        if let WriteData::Bytes(bytes) = self { bytes.len() as u64 } else { 0 }
    }

    /// Returns `bytes` bytes of the data from `from` on.
    pub fn slice_from(&self, from: u64, bytes: u64) -> DataPart<'_> {
        match self {
            WriteData::Bytes(all) => DataPart::Bytes(&all[from as usize..(from + bytes) as usize]),
            WriteData::Zeroes { allocated, .. } => DataPart::Zeroes { bytes, allocated: *allocated },
        }
    }
}

impl<'a> DataPart<'a> {
    /// Length in bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            DataPart::Bytes(bytes) => bytes.len() as u64,
            DataPart::Zeroes { bytes, .. } => *bytes,
        }
    }

    /// Copies the data to `place`, which has the same length.
    pub fn copy_to(&self, place: &mut [u8]) {
        match self {
            DataPart::Bytes(bytes) => place.copy_from_slice(bytes),
            DataPart::Zeroes { .. } => place.fill(0),
        }
    }

    /// Returns the data as bytes.
    fn into_bytes(self) -> Cow<'a, [u8]> {
        match self {
            DataPart::Bytes(bytes) => Cow::Borrowed(bytes),
            DataPart::Zeroes { bytes, .. } => Cow::Owned(vec![0; bytes as usize]),
        }
    }
}

/// A mark between the events of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryMark {
    /// The work to judge begins.
    Begin,
    /// A promise was made to somebody, in these words.
    Said(String),
    /// The work to judge ends.
    End,
}

/// The events of a disk, in order.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Requests and landings.
    pub events: Vec<HistoryEvent>,
    /// The data of each write, by stamp.
    pub data: BTreeMap<u64, WriteData>,
    /// Marks, at instants that do not run back.
    pub marks: Vec<(Instant, HistoryMark)>,
}

impl History {
    /// Records a request that the disk accepted, and the data of a write.
    pub fn record_request(&mut self, at: Instant, request: &Request, data: Option<&WriteData>) {
        self.events.push(HistoryEvent::Taken(at, *request));
        if let Some(data) = data {
            self.data.insert(request.stamp, data.clone());
        }
    }

    /// Replays all events to a witness.
    pub(crate) fn replay_to(&self, witness: &mut impl Witness) {
        for event in &self.events {
            match event {
                HistoryEvent::Taken(at, request) => witness.note_submission(*at, request),
                HistoryEvent::Over(request, completion) => witness.note_completion(request, completion),
                HistoryEvent::Landed(landing) => witness.note_landing(landing),
                HistoryEvent::Changed(at, setting) => witness.note_change(*at, *setting),
            }
        }
    }

    /// Returns when the work to judge began and ended; `None` unless both are marked.
    pub fn marked_span(&self) -> Option<(Instant, Instant)> {
        let at = |wanted: &HistoryMark| self.marks.iter().find(|(_, mark)| mark == wanted).map(|it| it.0);
        Some((at(&HistoryMark::Begin)?, at(&HistoryMark::End)?))
    }

    /// Returns the promises made by `at`, in order.
    pub fn promises_until(&self, at: Instant) -> impl Iterator<Item = &str> {
        self.marks.iter().take_while(move |(when, _)| *when <= at).filter_map(|(_, mark)| match mark {
            HistoryMark::Said(words) => Some(words.as_str()),
            _ => None,
        })
    }

    /// Returns the writes that the disk accepted, in order.
    pub fn accepted_writes(&self) -> impl Iterator<Item = (Instant, &Request)> {
        self.events.iter().filter_map(|event| match event {
            HistoryEvent::Taken(at, request) if request.op == Op::Write => Some((*at, request)),
            _ => None,
        })
    }

    /// Returns the data that the write `stamp`, which begins at sector `first`, brought to some of its sectors.
    pub fn data_part(&self, stamp: u64, first: u64, lba: u64, sectors: u64) -> DataPart<'_> {
        self.data[&stamp].slice_from((lba - first) * SECTOR, sectors * SECTOR)
    }

    /// Returns these data as bytes.
    pub fn data_bytes(&self, stamp: u64, first: u64, lba: u64, sectors: u64) -> Cow<'_, [u8]> {
        self.data_part(stamp, first, lba, sectors).into_bytes()
    }
}

/// The state that a cut leaves. Sectors that are not named hold what they held when the history began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CutRemains {
    /// Runs of sectors, from and up to, each with the stamp of the write that it holds.
    pub held: Vec<((u64, u64), u64)>,
    /// Runs that can be neither read nor reconstructed.
    pub unreadable: Vec<(u64, u64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_write_has_the_data_of_its_own_sectors() {
        let mut history = History::default();
        let sectors = |range: core::ops::Range<u8>| range.flat_map(|sector| [sector; 512]).collect::<Vec<u8>>();
        let write = Request { op: Op::Write, lba: 100, sectors: 4, stamp: 7, ..Request::NONE };
        history.record_request(Instant::ZERO, &write, Some(&WriteData::from(sectors(0..4))));
        let zeroes = WriteData::Zeroes { bytes: 2048, allocated: true };
        history.record_request(Instant::ZERO, &Request { stamp: 8, ..write }, Some(&zeroes));
        for (from, to) in [(0_u8, 1), (0, 4), (1, 2), (2, 4), (3, 4)] {
            let (lba, count) = (100 + u64::from(from), u64::from(to - from));
            assert_eq!(&history.data_bytes(7, 100, lba, count)[..], &sectors(from..to)[..], "{from}..{to}");
            let part = DataPart::Zeroes { bytes: 512 * count, allocated: true };
            assert_eq!(history.data_part(8, 100, lba, count), part, "{from}..{to}");
            assert_eq!(&history.data_bytes(8, 100, lba, count)[..], &vec![0; 512 * count as usize][..]);
        }
        assert_eq!(history.accepted_writes().map(|(_, write)| write.stamp).collect::<Vec<_>>(), [7, 8]);
    }
}
