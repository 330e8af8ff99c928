//! The rebuild of a member: how far it has come. The work itself is in `rebuild`.

use crate::time::Instant;

/// Runs under way at once: one is read while the one before is written.
pub(super) const MAX_RUNS: usize = 2;

/// A rebuild under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rebuild {
    pub member: u32,
    /// The sector of the members at which the next run begins.
    pub next_sector: u64,
    /// Where the runs under way begin; `u64::MAX` for none.
    pub run_starts: [u64; MAX_RUNS],
    /// When the next run may begin.
    pub next_due: Instant,
    /// The last flush is under way.
    pub flushing: bool,
}

impl Rebuild {
    /// The sector before which everything is rebuilt.
    pub(crate) fn rebuilt_until(&self) -> u64 {
        self.run_starts.iter().fold(self.next_sector, |least, &start| least.min(start))
    }

    /// True if no run is under way.
    pub(super) fn is_between_runs(&self) -> bool {
        self.run_starts == [u64::MAX; MAX_RUNS]
    }
}

/// The progress of the last rebuild.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RebuildProgress {
    /// When the last rebuild began.
    pub began: Option<Instant>,
    /// When it ended.
    pub ended: Option<Instant>,
    /// Sectors of the new drive that are rebuilt.
    pub sectors: u64,
    /// Sectors that could not be read from the others.
    pub unread: u64,
}
