//! A rebuild or a check under way, and its progress as others see it. Together they are called *syncs*, as in md. The work
//! is in `sync`, its pace in `sync_pace`.

use super::layout::MemberSet;
use super::sync_pace::SyncPace;
use crate::time::Instant;

/// Runs under way at once, at most: those of RAID 10 (`SyncUnits` in `sync`).
pub(super) const MAX_RUNS: usize = 25;

/// A run of a sync under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct SyncRun {
    /// The position in the order of the sync at which it begins; `u64::MAX` if no run is here.
    pub start: u64,
    /// Sectors that the pace counts for it.
    pub counted: u64,
}

impl SyncRun {
    pub const NONE: SyncRun = SyncRun { start: u64::MAX, counted: 0 };
}

/// A rebuild or a check under way.
#[derive(Clone, Debug)]
pub(super) struct Sync {
    /// The members that are rebuilt; none for a check.
    pub rebuilt: MemberSet,
    /// The position in the order of the sync at which the next run begins.
    pub next_position: u64,
    pub runs: [SyncRun; MAX_RUNS],
    /// When the next run may begin.
    pub next_due: Instant,
    /// The next run waits until no run is under way.
    pub drains: bool,
    /// The next run waits for another comparison of the speed.
    pub compares_again: bool,
    /// A run of a mirror waits for users to leave its range, and no other run begins meanwhile.
    pub waits_for_lock: bool,
    /// It has slept once because users wait for its range.
    pub slept_for_users: bool,
    /// The last flush of a rebuild is under way.
    pub flushing: bool,
    pub pace: SyncPace,
}

impl Sync {
    /// A sync that begins at `now`.
    pub fn new(rebuilt: MemberSet, pace: SyncPace, now: Instant) -> Sync {
        Sync {
            rebuilt,
            next_position: 0,
            runs: [SyncRun::NONE; MAX_RUNS],
            next_due: now,
            drains: false,
            compares_again: false,
            waits_for_lock: false,
            slept_for_users: false,
            flushing: false,
            pace,
        }
    }

    /// The position before which everything is rebuilt or checked.
    pub fn done_until(&self) -> u64 {
        self.runs.iter().fold(self.next_position, |least, run| least.min(run.start))
    }

    /// True if no run is under way.
    pub fn is_between_runs(&self) -> bool {
        self.runs.iter().all(|run| run.start == u64::MAX)
    }

    /// Sectors under way, as the pace counts them.
    pub fn in_flight(&self) -> u64 {
        self.runs.iter().map(|run| run.counted).sum()
    }

    pub fn kind(&self) -> SyncKind {
        if self.rebuilt != 0 { SyncKind::Rebuild } else { SyncKind::Check }
    }
}

/// What a sync does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncKind {
    /// Restores the data of a lost member on a new one.
    #[default]
    Rebuild,
    /// Reads all members, and compares them.
    Check,
}

/// The progress of the last rebuild or check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncProgress {
    pub kind: SyncKind,
    /// When it began; `None` if none ever did.
    pub began: Option<Instant>,
    /// When it ended.
    pub ended: Option<Instant>,
    /// When it was broken off: a member was lost, a check was stopped, or the power failed during a check.
    pub broken_off: Option<Instant>,
    /// Sectors of each drive that are rebuilt or checked.
    pub sectors: u64,
    /// Sectors that could not be read.
    pub unread: u64,
    /// How often it waited until nothing of it was in flight, because users were busy.
    pub drains: u64,
    /// How often it slept because it was too fast.
    pub sleeps: u64,
}
