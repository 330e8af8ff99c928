//! What cuts left of files and operations, counted over all cuts. It judges nothing.

use alloc::string::String;

use crate::time::Instant;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileLossKind {
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

/// How many kinds there are.
const KINDS: usize = 9;

/// The first one found, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossExample {
    /// Its volume, directory and number, and the operation that made it; or the operation.
    pub name: String,
    /// When the power failed.
    pub at: Instant,
}

/// What one cut left.
pub struct FileCutCounts {
    at: Instant,
    counts: [u64; KINDS],
    examples: [Option<LossExample>; KINDS],
}

impl FileCutCounts {
    /// Without a loss, at this instant.
    pub fn new(at: Instant) -> FileCutCounts {
        FileCutCounts { at, counts: [0; KINDS], examples: Default::default() }
    }

    /// Counts one more if `holds`.
    pub fn count(&mut self, holds: bool, kind: FileLossKind, name: impl FnOnce() -> String) {
        if holds {
            self.counts[kind as usize] += 1;
            self.examples[kind as usize].get_or_insert_with(|| LossExample { name: name(), at: self.at });
        }
    }
}

/// Counts of one kind over cuts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Cuts that left any.
    pub cuts_with_loss: u64,
    /// Over all cuts.
    pub count: u64,
    /// The most of one cut.
    pub count_max: u64,
    /// The first that was found.
    pub example: Option<LossExample>,
}

/// What cuts left.
#[derive(Clone, Debug, Default)]
pub struct FileLossCounts {
    cuts: u64,
    counts: [Count; KINDS],
}

impl FileLossCounts {
    /// Adds a cut.
    pub fn add(&mut self, left: FileCutCounts) {
        self.cuts += 1;
        for ((count, more), example) in self.counts.iter_mut().zip(left.counts).zip(left.examples) {
            count.cuts_with_loss += u64::from(more > 0);
            count.count += more;
            count.count_max = count.count_max.max(more);
            count.example = count.example.take().or(example);
        }
    }

    /// Adds those of another run.
    pub fn merge(&mut self, other: &FileLossCounts) {
        self.cuts += other.cuts;
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            count.cuts_with_loss += more.cuts_with_loss;
            count.count += more.count;
            count.count_max = count.count_max.max(more.count_max);
            count.example = count.example.take().or_else(|| more.example.clone());
        }
    }

    /// How many cuts.
    pub fn cuts(&self) -> u64 {
        self.cuts
    }

    /// What they left of this kind.
    pub fn of(&self, kind: FileLossKind) -> &Count {
        &self.counts[kind as usize]
    }
}
