//! Commits as a record keeps them. `stats/commits` finds them.

use seekwise_disk::time::Span;
use serde::{Deserialize, Serialize};

use super::{KindRecord, MeanParts};
use crate::stats::commits::CommitTally;
use crate::stats::summary::TallySummary;

/// Commits of a run, each from the issue of its first write to the completion of the sync that covers it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CommitRecord {
    /// Counts and times, a commit as one request.
    #[serde(flatten)]
    pub figures: KindRecord,
    /// Mean time of a commit in which none of its requests was in flight, in ms: with `anatomy_ms` it sums to the mean.
    /// `None` for a scene, whose commits have no parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between_ms: Option<f64>,
}

impl CommitRecord {
    /// The commits of a run of this length; `None` without any.
    pub(super) fn from_tally(commits: &CommitTally, elapsed: Span) -> Option<Box<CommitRecord>> {
        let count = commits.tally.ios();
        if count == 0 {
            return None;
        }
        let mut figures = KindRecord::from_summary(&TallySummary { tally: commits.tally.clone(), elapsed });
        if commits.between_ns.is_none() {
            figures.anatomy_ms = MeanParts::default();
        }
        let between_ms = commits.between_ns.map(|ns| ns as f64 / count as f64 / 1e6);
        Some(Box::new(CommitRecord { figures, between_ms }))
    }
}
