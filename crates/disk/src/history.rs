//! The recorded history of a disk at work: requests, completions and landings, with the data of its writes. Power cuts
//! at any instant are judged from it afterwards.
//!
//! A history does not say what a cut leaves. A [`Witness`] that judges cuts receives the events in order, as it would
//! in a simulated run; `durability` gives its answer as [`CutRemains`].

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

/// The data that a write brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteData {
    /// Bytes, of whole sectors.
    Bytes(Vec<u8>),
    /// Zeroes, of which only the number is kept.
    Zeroes {
        bytes: u64,
        /// A file that stores the disk's content reserves space for them, instead of leaving a hole.
        allocated: bool,
    },
}

/// A part of [`WriteData`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataPart<'a> {
    Bytes(&'a [u8]),
    /// Zeroes; see [`WriteData::Zeroes`].
    Zeroes {
        bytes: u64,
        /// As in [`WriteData::Zeroes`].
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

    /// Returns `length_bytes` bytes of the data from byte `offset_bytes` on.
    pub fn slice_from(&self, offset_bytes: u64, length_bytes: u64) -> DataPart<'_> {
        match self {
            WriteData::Bytes(all) => {
                DataPart::Bytes(&all[offset_bytes as usize..(offset_bytes + length_bytes) as usize])
            }
            WriteData::Zeroes { allocated, .. } => DataPart::Zeroes { bytes: length_bytes, allocated: *allocated },
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

    /// Copies the data to `target`, which has the same length.
    pub fn copy_to(&self, target: &mut [u8]) {
        match self {
            DataPart::Bytes(bytes) => target.copy_from_slice(bytes),
            DataPart::Zeroes { .. } => target.fill(0),
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
    /// The program under test reported something as durable, in these words.
    Said(String),
    /// The work to judge ends.
    End,
}

/// The events of a disk in order, and marks between them.
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

    /// Returns the data that the write `stamp`, which begins at sector `write_lba`, brought to `sectors` sectors from
    /// `lba` on.
    pub fn data_part(&self, stamp: u64, write_lba: u64, lba: u64, sectors: u64) -> DataPart<'_> {
        self.data[&stamp].slice_from((lba - write_lba) * SECTOR, sectors * SECTOR)
    }

    /// As [`History::data_part`], as bytes.
    pub fn data_bytes(&self, stamp: u64, write_lba: u64, lba: u64, sectors: u64) -> Cow<'_, [u8]> {
        self.data_part(stamp, write_lba, lba, sectors).into_bytes()
    }
}

/// The state that a cut leaves. Sectors that are not named hold what they held when the history began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CutRemains {
    /// Runs of sectors as (first, end), each with the stamp of the write whose data it holds.
    pub held: Vec<((u64, u64), u64)>,
    /// Runs of sectors, as (first, end), that can be neither read nor reconstructed.
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
