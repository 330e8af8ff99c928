//! How far the rebuild of a member has come.

use crate::time::Instant;

/// Runs under way at once: one is read while the one before is written.
pub(super) const RUNS: usize = 2;

/// A rebuild under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rebuild {
    pub member: u32,
    /// The next run begins at this sector of the members.
    pub next: u64,
    /// Where the runs under way begin; `u64::MAX` for none.
    pub runs: [u64; RUNS],
    /// The next run may begin from here on.
    pub due: Instant,
    /// The last flush is under way.
    pub sealing: bool,
}

impl Rebuild {
    /// All before this sector is rebuilt.
    pub(crate) fn rebuilt_until(&self) -> u64 {
        self.runs.iter().fold(self.next, |least, &run| least.min(run))
    }

    pub(super) fn is_idle(&self) -> bool {
        self.runs == [u64::MAX; RUNS]
    }
}

/// How far the rebuild of a member has come.
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
