//! Figures of the source of a run's requests, taken when the run is over: the share of reads that came from memory, how a recording or a
//! trace was played, and operations of programs. Single requests are not seen here.

use std::collections::BTreeMap;

use seekwise_run::work::{Issuer, Work};
use seekwise_work::files::call::Reads;
use seekwise_work::workload::Window;
use serde::{Deserialize, Serialize};

use super::certificate::Certificate;
use super::deserialize_count;
use super::operations::{self, OperationRecord};

/// Figures of the source, as the record keeps them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct IssuerFigures {
    /// Percentage of the bytes read through a page cache by counted requests that were in memory: no read of the drive
    /// fetched them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_percent: Option<f64>,
    /// For a recorded session: how many of its requests ended at the recorded nanosecond.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<RecordedEnds>,
    /// For a trace: what it is, and how it was played. The caller that knows its file adds it
    /// ([`trace_certificate`](crate::certificate::trace_certificate)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Certificate>,
    /// Operations of programs, by their names: files copied, commits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub operations: BTreeMap<String, OperationRecord>,
}

/// How the requests of a recorded session ended when it was played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedEnds {
    /// Requests played.
    #[serde(deserialize_with = "deserialize_count")]
    pub requests: u64,
    /// How many of these ended at the recorded nanosecond.
    #[serde(deserialize_with = "deserialize_count")]
    pub same: u64,
}

impl IssuerFigures {
    /// The figures of `source`, which issued `work`. Operations of programs are counted over the windows of the workers.
    pub(super) fn from_source(source: &Issuer, work: &Work, windows: &[Option<Window>]) -> IssuerFigures {
        let recorded =
            source.replay_comparison().map(|played| RecordedEnds { requests: played.requests, same: played.same });
        let memory_percent = source.cached_reads().map(percent_from_memory);
        IssuerFigures {
            memory_percent,
            recorded,
            trace: None,
            operations: operations::count_operations(source, work, windows),
        }
    }
}

/// Troubles of a source whose run is over, in words for the reader.
pub(super) fn source_troubles(source: &Issuer, work: &Work) -> Vec<String> {
    let mut troubles = operations::program_troubles(source, work);
    troubles.extend(memory_speed_warning(source));
    troubles
}

/// From this percentage from memory on, the rates of reads are doubted (inferred: half of the bytes).
const DOUBTED_PERCENT: f64 = 50.0;

/// The percentage of the requested bytes that did not come from the device.
fn percent_from_memory(Reads { asked, fetched }: Reads) -> f64 {
    100.0 * asked.saturating_sub(fetched) as f64 / asked as f64
}

/// A warning that memory served most of a job's reads. A scene gets none: its programs decide what they read twice.
fn memory_speed_warning(issuer: &Issuer) -> Option<String> {
    let Issuer::Buffered(buffered) = issuer else { return None };
    let percent = Some(buffered.cached_reads()).filter(|reads| reads.asked > 0).map(percent_from_memory)?;
    (percent >= DOUBTED_PERCENT).then(|| {
        format!(
            "{percent:.1} % of the bytes read came from the page cache: the rates are those of memory, not of the drive"
        )
    })
}
