//! What the drives of a run did, as its record has it.

use seekwise_disk::record::{DriveLog, SyncCounts};
use serde::{Deserialize, Serialize};

use super::{ArrayRecord, deserialize_count};

/// Counts of the drives of a run: work for a request, for a layer above, or by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DriveCounts {
    /// Flush commands that reached them.
    #[serde(deserialize_with = "deserialize_count")]
    pub flushes: u64,
    /// Accesses that began on another cylinder than that of the heads.
    #[serde(deserialize_with = "deserialize_count")]
    pub seeks: u64,
    /// Seeks in the opposite direction to the one before. Two places in turn: all; at random: two of three.
    #[serde(deserialize_with = "deserialize_count")]
    pub reversals: u64,
    /// Pages of an array's write-intent bitmap, each written to all of its drives.
    #[serde(deserialize_with = "deserialize_count")]
    pub bitmap_writes: u64,
    /// Rebuilds and checks of an array, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syncs: Option<SyncRecord>,
}

/// Rebuilds and checks of a run; as [`SyncCounts`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SyncRecord {
    /// Sectors that rebuilds wrote to new drives.
    #[serde(deserialize_with = "deserialize_count")]
    pub rebuilt_sectors: u64,
    /// Sectors of each drive that checks read.
    #[serde(deserialize_with = "deserialize_count")]
    pub checked_sectors: u64,
    /// Rebuilds and checks that came to their end.
    #[serde(deserialize_with = "deserialize_count")]
    pub ended: u64,
    /// How often one waited because users were busy.
    #[serde(deserialize_with = "deserialize_count")]
    pub drains: u64,
    /// Megabytes a second that they wrote to the new drive, or that checks read from each drive, in the counted time; `None` in records
    /// from before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mb_per_s: Option<f64>,
}

impl DriveCounts {
    /// The counts of a log; `array` has the rate of rebuilds and checks.
    pub(super) fn from_log(log: &DriveLog, array: Option<&ArrayRecord>) -> DriveCounts {
        let DriveLog { flushes, seeks, reversals, bitmap_writes, syncs } = *log;
        let SyncCounts { rebuilt_sectors, checked_sectors, ended, drains } = syncs;
        let record = SyncRecord {
            rebuilt_sectors,
            checked_sectors,
            ended,
            drains,
            mb_per_s: array.map(ArrayRecord::sync_mb_per_s),
        };
        let syncs = (syncs != SyncCounts::default()).then_some(record);
        DriveCounts { flushes, seeks, reversals, bitmap_writes, syncs }
    }
}
