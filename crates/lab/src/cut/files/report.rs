//! What cuts left of files and operations, counted over all cuts. It judges nothing.

use seekwise_model::time::Instant;
use serde::{Deserialize, Serialize};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file promised to stay, and lost.
    FilePromised,
    /// A file that was acknowledged and never promised, and lost.
    FileUnpromised,
    /// A file in neither place.
    FileNeither,
    /// A file with older content.
    FileStale,
    /// A file with an unreadable sector.
    FileUnreadable,
    /// Metadata with an unreadable sector.
    Metadata,
    /// An operation promised to stay, and lost.
    OperationPromised,
    /// An operation that was acknowledged, and lost.
    OperationUnpromised,
    /// An operation of which a part is on the medium.
    OperationInPart,
}

const KINDS: usize = 9;

/// The first one found, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Example {
    /// Its volume, directory and number, and the operation that made it; or the operation.
    pub name: String,
    /// Virtual seconds into the run.
    pub at_s: f64,
}

/// What one cut left.
pub struct Left {
    at: Instant,
    counts: [u64; KINDS],
    examples: [Option<Example>; KINDS],
}

impl Left {
    /// Without a loss, at this instant.
    pub fn new(at: Instant) -> Left {
        Left { at, counts: [0; KINDS], examples: Default::default() }
    }

    /// Counts one more if `holds`.
    pub fn count(&mut self, holds: bool, kind: Kind, name: impl FnOnce() -> String) {
        if holds {
            self.counts[kind as usize] += 1;
            let at_s = self.at.nanos() as f64 / 1e9;
            self.examples[kind as usize].get_or_insert_with(|| Example { name: name(), at_s });
        }
    }
}

/// Counts of one kind over cuts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Count {
    /// Cuts that left any.
    pub cuts_with_loss: u64,
    /// Over all cuts.
    pub count: u64,
    /// The mean over all cuts.
    pub count_mean: f64,
    /// The most of one cut.
    pub count_max: u64,
    /// The first that was found.
    pub example: Option<Example>,
}

/// What cuts left, before it is put into words.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    cuts: u64,
    counts: [Count; KINDS],
}

impl Losses {
    /// Adds a cut.
    pub fn add(&mut self, left: Left) {
        self.cuts += 1;
        for ((count, more), example) in self.counts.iter_mut().zip(left.counts).zip(left.examples) {
            count.cuts_with_loss += u64::from(more > 0);
            count.count += more;
            count.count_max = count.count_max.max(more);
            count.example = count.example.take().or(example);
        }
    }

    /// Adds those of another run.
    pub fn merge(&mut self, other: &Losses) {
        self.cuts += other.cuts;
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            count.cuts_with_loss += more.cuts_with_loss;
            count.count += more.count;
            count.count_max = count.count_max.max(more.count_max);
            count.example = count.example.take().or_else(|| more.example.clone());
        }
    }

    fn of(&self, kind: Kind) -> Count {
        let count = self.counts[kind as usize].clone();
        Count { count_mean: count.count as f64 / self.cuts.max(1) as f64, ..count }
    }

    /// The losses of files.
    pub fn files(&self) -> FileLosses {
        FileLosses {
            promised_lost: self.of(Kind::FilePromised),
            unpromised_lost: self.of(Kind::FileUnpromised),
            in_neither_place: self.of(Kind::FileNeither),
            stale: self.of(Kind::FileStale),
            unreadable: self.of(Kind::FileUnreadable),
            metadata_unreadable: self.of(Kind::Metadata),
        }
    }

    /// The losses of operations.
    pub fn operations(&self) -> OperationLosses {
        OperationLosses {
            promised_lost: self.of(Kind::OperationPromised),
            unpromised_lost: self.of(Kind::OperationUnpromised),
            in_part: self.of(Kind::OperationInPart),
        }
    }
}

/// What a mount would find of files.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileLosses {
    /// Promised to stay, and lost.
    pub promised_lost: Count,
    /// Acknowledged and never promised, and lost.
    pub unpromised_lost: Count,
    /// Moved, renamed or replaced: neither the earlier file nor the one that took its place.
    pub in_neither_place: Count,
    /// With older content than was acknowledged.
    pub stale: Count,
    /// With an unreadable sector.
    pub unreadable: Count,
    /// Metadata with an unreadable sector.
    pub metadata_unreadable: Count,
}

/// What is left of operations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperationLosses {
    /// Acknowledged after all of it was promised to stay, and lost.
    pub promised_lost: Count,
    /// Acknowledged, and lost in the part that was never promised.
    pub unpromised_lost: Count,
    /// Some bytes are on the medium and others not; operations under way count too.
    pub in_part: Count,
}
