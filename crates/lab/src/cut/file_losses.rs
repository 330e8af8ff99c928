//! Losses of files and operations by cuts, as reports have them: with means, and times in seconds.

use seekwise_work::durability::losses::{FileLossCounts, FileLossKind};
use serde::{Deserialize, Serialize};

/// The first loss that was found, and when.
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
    /// Losses over all cuts.
    pub count: u64,
    /// The mean over all cuts.
    pub count_mean: f64,
    /// The largest number of one cut.
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
    /// Files promised to stay, and lost.
    pub promised_lost: LossCount,
    /// Files acknowledged and never promised, and lost.
    pub unpromised_lost: LossCount,
    /// Files moved, renamed or replaced of which neither the earlier nor the later one is there.
    pub in_neither_place: LossCount,
    /// Files with older content than was acknowledged.
    pub stale: LossCount,
    /// Files with an unreadable sector.
    pub unreadable: LossCount,
    /// Metadata with an unreadable sector.
    pub metadata_unreadable: LossCount,
}

impl FileLosses {
    /// The losses of files by kind.
    pub(crate) fn from_counts(losses: &FileLossCounts) -> FileLosses {
        let count = |kind| LossCount::from_counts(losses, kind);
        FileLosses {
            promised_lost: count(FileLossKind::FilePromised),
            unpromised_lost: count(FileLossKind::FileUnpromised),
            in_neither_place: count(FileLossKind::FileNeither),
            stale: count(FileLossKind::FileStale),
            unreadable: count(FileLossKind::FileUnreadable),
            metadata_unreadable: count(FileLossKind::Metadata),
        }
    }
}

/// Losses of operations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperationLosses {
    /// Operations acknowledged after all of their data were promised to stay, and lost.
    pub promised_lost: LossCount,
    /// Operations acknowledged, and lost in the part that was never promised.
    pub unpromised_lost: LossCount,
    /// Operations of which some bytes are on the medium and others not, including those under way.
    pub in_part: LossCount,
}

impl OperationLosses {
    /// The losses of operations by kind.
    pub(crate) fn from_counts(losses: &FileLossCounts) -> OperationLosses {
        let count = |kind| LossCount::from_counts(losses, kind);
        OperationLosses {
            promised_lost: count(FileLossKind::OperationPromised),
            unpromised_lost: count(FileLossKind::OperationUnpromised),
            in_part: count(FileLossKind::OperationInPart),
        }
    }
}
