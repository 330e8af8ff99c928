//! Losses of files and operations, counted over all cuts.

use alloc::string::String;

use seekwise_disk::time::Instant;

/// A kind of loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileLossKind {
    /// A promised file that is lost.
    FilePromised,
    /// An acknowledged file, never promised, that is lost.
    FileUnpromised,
    /// A file in neither place.
    FileNeither,
    /// A file with older content.
    FileStale,
    /// A file with an unreadable sector.
    FileUnreadable,
    /// Metadata with an unreadable sector.
    Metadata,
    /// A promised operation that is lost.
    OperationPromised,
    /// An acknowledged operation, not promised, that is lost.
    OperationUnpromised,
    /// An operation that is on the medium in part.
    OperationInPart,
}

/// How many kinds there are.
const KINDS: usize = 9;

/// The first loss of a kind, and its cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossExample {
    /// A file, with the operation that made it; an operation; or metadata.
    pub name: String,
    /// When the power failed.
    pub at: Instant,
}

/// Losses of one cut.
pub struct FileCutCounts {
    at: Instant,
    counts: [u64; KINDS],
    examples: [Option<LossExample>; KINDS],
}

impl FileCutCounts {
    /// Creates the counts of a cut at `at`, all zero.
    pub fn new(at: Instant) -> FileCutCounts {
        FileCutCounts { at, counts: [0; KINDS], examples: Default::default() }
    }

    /// Counts a loss of this kind if `is_lost`; `name` names the lost object.
    pub(crate) fn count_if(&mut self, is_lost: bool, kind: FileLossKind, name: impl FnOnce() -> String) {
        if is_lost {
            self.counts[kind as usize] += 1;
            self.examples[kind as usize].get_or_insert_with(|| LossExample { name: name(), at: self.at });
        }
    }
}

/// Losses of one kind, over all cuts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Cuts with at least one loss of the kind.
    pub cuts_with_loss: u64,
    /// Losses over all cuts.
    pub count: u64,
    /// The most losses of one cut.
    pub count_max: u64,
    /// The first loss found.
    pub example: Option<LossExample>,
}

/// Losses of all cuts.
#[derive(Clone, Debug, Default)]
pub struct FileLossCounts {
    cuts: u64,
    counts: [Count; KINDS],
}

impl FileLossCounts {
    /// Adds the losses of a cut.
    pub fn add_cut(&mut self, cut: FileCutCounts) {
        self.cuts += 1;
        for ((count, losses), example) in self.counts.iter_mut().zip(cut.counts).zip(cut.examples) {
            count.cuts_with_loss += u64::from(losses > 0);
            count.count += losses;
            count.count_max = count.count_max.max(losses);
            count.example = count.example.take().or(example);
        }
    }

    /// Adds the losses of another run.
    pub fn merge(&mut self, other: &FileLossCounts) {
        self.cuts += other.cuts;
        for (count, other_count) in self.counts.iter_mut().zip(&other.counts) {
            count.cuts_with_loss += other_count.cuts_with_loss;
            count.count += other_count.count;
            count.count_max = count.count_max.max(other_count.count_max);
            count.example = count.example.take().or_else(|| other_count.example.clone());
        }
    }

    /// Number of cuts.
    pub fn cuts(&self) -> u64 {
        self.cuts
    }

    /// Losses of this kind.
    pub fn count_of(&self, kind: FileLossKind) -> &Count {
        &self.counts[kind as usize]
    }
}
