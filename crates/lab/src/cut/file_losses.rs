//! Losses of files and operations by cuts, as they are reported: with means, in seconds.

use seekwise_work::durability::losses::{FileLossCounts, FileLossKind};
use serde::{Deserialize, Serialize};

/// The first one found, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Example {
    /// The volume, directory and number of a file, and the operation that made it; or an operation.
    pub name: String,
    /// Virtual seconds into the run.
    pub at_s: f64,
}

/// Counts of one kind over cuts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LossCount {
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

impl LossCount {
    fn from_counts(losses: &FileLossCounts, kind: FileLossKind) -> LossCount {
        let count = losses.count_of(kind);
        let example = count.example.as_ref();
        LossCount {
            cuts_with_loss: count.cuts_with_loss,
            count: count.count,
            count_mean: count.count as f64 / losses.cuts().max(1) as f64,
            count_max: count.count_max,
            example: example.map(|it| Example { name: it.name.clone(), at_s: it.at.nanos() as f64 / 1e9 }),
        }
    }
}

/// Losses of files, as a mount would find them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileLosses {
    /// Promised to stay, and lost.
    pub promised_lost: LossCount,
    /// Acknowledged and never promised, and lost.
    pub unpromised_lost: LossCount,
    /// Moved, renamed or replaced: neither the earlier file nor the one that took its place.
    pub in_neither_place: LossCount,
    /// With older content than was acknowledged.
    pub stale: LossCount,
    /// With an unreadable sector.
    pub unreadable: LossCount,
    /// Metadata with an unreadable sector.
    pub metadata_unreadable: LossCount,
}

impl FileLosses {
    /// The losses of files.
    pub(crate) fn from_counts(losses: &FileLossCounts) -> FileLosses {
        let of = |kind| LossCount::from_counts(losses, kind);
        FileLosses {
            promised_lost: of(FileLossKind::FilePromised),
            unpromised_lost: of(FileLossKind::FileUnpromised),
            in_neither_place: of(FileLossKind::FileNeither),
            stale: of(FileLossKind::FileStale),
            unreadable: of(FileLossKind::FileUnreadable),
            metadata_unreadable: of(FileLossKind::Metadata),
        }
    }
}

/// Losses of operations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperationLosses {
    /// Acknowledged after all of it was promised to stay, and lost.
    pub promised_lost: LossCount,
    /// Acknowledged, and lost in the part that was never promised.
    pub unpromised_lost: LossCount,
    /// Some bytes are on the medium and others not; operations under way count too.
    pub in_part: LossCount,
}

impl OperationLosses {
    /// The losses of operations.
    pub(crate) fn from_counts(losses: &FileLossCounts) -> OperationLosses {
        let of = |kind| LossCount::from_counts(losses, kind);
        OperationLosses {
            promised_lost: of(FileLossKind::OperationPromised),
            unpromised_lost: of(FileLossKind::OperationUnpromised),
            in_part: of(FileLossKind::OperationInPart),
        }
    }
}
