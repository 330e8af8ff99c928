//! What cuts left of files and operations, as it is reported: with means, in seconds.

use seekwise_model::durability::files::losses::{Kind, Losses};
use serde::{Deserialize, Serialize};

/// The first one found, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Example {
    /// Its volume, directory and number, and the operation that made it; or the operation.
    pub name: String,
    /// Virtual seconds into the run.
    pub at_s: f64,
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

impl Count {
    fn of(losses: &Losses, kind: Kind) -> Count {
        let count = losses.of(kind);
        let example = count.example.as_ref();
        Count {
            cuts_with_loss: count.cuts_with_loss,
            count: count.count,
            count_mean: count.count as f64 / losses.cuts().max(1) as f64,
            count_max: count.count_max,
            example: example.map(|it| Example { name: it.name.clone(), at_s: it.at.nanos() as f64 / 1e9 }),
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

impl FileLosses {
    /// The losses of files.
    pub fn of(losses: &Losses) -> FileLosses {
        let of = |kind| Count::of(losses, kind);
        FileLosses {
            promised_lost: of(Kind::FilePromised),
            unpromised_lost: of(Kind::FileUnpromised),
            in_neither_place: of(Kind::FileNeither),
            stale: of(Kind::FileStale),
            unreadable: of(Kind::FileUnreadable),
            metadata_unreadable: of(Kind::Metadata),
        }
    }
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

impl OperationLosses {
    /// The losses of operations.
    pub fn of(losses: &Losses) -> OperationLosses {
        let of = |kind| Count::of(losses, kind);
        OperationLosses {
            promised_lost: of(Kind::OperationPromised),
            unpromised_lost: of(Kind::OperationUnpromised),
            in_part: of(Kind::OperationInPart),
        }
    }
}
