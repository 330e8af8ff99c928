//! Work in progress in an array: requests from above, the portions into which they are split, the commands of each
//! portion, and the locks on ranges of the members.
//!
//! A portion that changes copies or a row, or needs stable ones, locks its range of the members until it ends. Portions
//! that overlap the range wait, in order of arrival. So copies stay equal, and no row changes under a rebuild. Portions that
//! go by stripes share their ranges: the stripe cache orders what they do.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::bitmap::BitmapWriteNumber;
use super::layout::MemberSet;
use crate::block::array_load::MemberWork;
use crate::block::{Flags, Op, Status};
use crate::record::Ledger;
use crate::slab::Slab;
use crate::time::Instant;

/// No portion, or no request: the work is the array's own.
pub(super) const NONE: u32 = u32::MAX;
/// In place of a portion: the command belongs to the stripe cache.
pub(super) const STRIPES: u32 = u32::MAX - 1;
/// The command belonged to the stripe cache before the host lost its power.
pub(super) const FORGOTTEN: u32 = u32::MAX - 2;

/// A range of sectors of the members, or of blocks of a volume, without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SectorBounds {
    pub from: u64,
    pub end: u64,
}

impl SectorBounds {
    pub(super) const EMPTY: SectorBounds = SectorBounds { from: 0, end: 0 };
}

/// A range of sectors of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MemberSpan {
    pub member: u32,
    pub bounds: SectorBounds,
}

/// The kind of work of a portion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PortionKind {
    /// Commands to the members that hold the blocks: reads, and writes without parity.
    Plain,
    /// A write to rows with parity, or a read of rows that may lack data: goes by the stripe cache.
    Stripes,
    /// A flush of all members.
    Flush,
    /// Sectors that a rebuild reads and writes together.
    RebuildRun,
    /// Sectors that a check reads together.
    CheckRun,
    /// The flush at the end of a rebuild.
    RebuildFlush,
    /// Pages of the write-intent bitmap.
    BitmapPages,
}

impl PortionKind {
    /// The purpose of its commands, except for reads before a write to a row with parity.
    pub(super) fn member_work(self) -> MemberWork {
        match self {
            PortionKind::Plain | PortionKind::Stripes | PortionKind::Flush => MemberWork::User,
            PortionKind::RebuildRun | PortionKind::CheckRun | PortionKind::RebuildFlush => MemberWork::Sync,
            PortionKind::BitmapPages => MemberWork::Bitmap,
        }
    }
}

/// The steps of a run of a rebuild. The last three are those of pieces that are written as files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RebuildStep {
    Read,
    Write,
    /// Flushes the file's data: fsync.
    Sync,
    /// Writes the record of the file's name.
    Rename,
    /// Flushes it: fsync of the directory.
    SyncName,
}

/// How a portion shares its range with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockKind {
    /// Alone, except for reads.
    Write,
    /// Beside others that go by stripes, in the order in which they came.
    Shared,
    /// A run of a sync of a mirror: beside other runs, and no users.
    Barrier,
    /// A user's read during a sync: waits for the sync, which waits for it.
    Read,
    /// Likewise, but does not wait.
    PassingRead,
}

/// A part of a request, or of a rebuild or a check.
#[derive(Clone, Copy)]
pub(super) struct Portion {
    /// The slot of the request, or [`NONE`].
    pub request_slot: u32,
    pub kind: PortionKind,
    pub op: Op,
    /// For a write or a run of the rebuild: its number, which its commands carry as their stamp.
    pub write_number: u64,
    pub volume: u8,
    /// Blocks of the volume; for a run of a sync, its sectors of the members.
    pub blocks: SectorBounds,
    /// Sectors of the members that it locks, in the columns of `locked_columns`.
    pub locked: SectorBounds,
    /// A bit for each column; without any, nothing is locked.
    pub locked_columns: u64,
    pub lock_kind: LockKind,
    pub ledger: Ledger,
    /// Commands not yet returned.
    pub commands_left: u32,
    pub status: Status,
    /// Members on which a read of it failed; it no longer reads them.
    pub avoided_members: MemberSet,
    /// A read failed whose data it needs: it starts again.
    pub must_restart: bool,
    /// The portion has its lock, and its first commands were made.
    pub begun: bool,
    /// The reads are over, and writes are in flight; of a portion that goes by stripes: its first page was added.
    pub writing: bool,
    /// The members that a run of a rebuild writes.
    pub rebuilt: MemberSet,
    /// How far a run of a rebuild is.
    pub rebuild_step: RebuildStep,
    /// For a portion that goes by stripes: the block at which its bio begins, and the page from which it is to be added.
    pub next_page: (u64, u64),
    /// The bitmap counts it as a write under way.
    pub in_bitmap: bool,
    /// The write of the bitmap after which the portion begins.
    pub awaited_bitmap_write: BitmapWriteNumber,
    /// False if its place is free.
    pub in_use: bool,
}

impl Portion {
    /// A flush of the request in `request_slot`, without a lock; the starting point for other portions.
    pub(crate) fn blank_flush(request_slot: u32, now: Instant) -> Portion {
        Portion {
            request_slot,
            kind: PortionKind::Flush,
            op: Op::Read,
            write_number: 0,
            volume: 0,
            blocks: SectorBounds::EMPTY,
            locked: SectorBounds::EMPTY,
            locked_columns: 0,
            lock_kind: LockKind::Write,
            ledger: Ledger::open(now),
            commands_left: 0,
            status: Status::Done,
            avoided_members: 0,
            must_restart: false,
            rebuilt: 0,
            rebuild_step: RebuildStep::Read,
            begun: false,
            writing: false,
            next_page: (0, 0),
            in_bitmap: false,
            awaited_bitmap_write: 0,
            in_use: true,
        }
    }

    /// True if both lock some sector of a column, and it cannot hold its lock together with `other`, which came before it.
    fn must_wait_for(&self, other: &Portion) -> bool {
        let excludes = match (self.lock_kind, other.lock_kind) {
            (LockKind::PassingRead, _) | (LockKind::Barrier, LockKind::Barrier) => false,
            (LockKind::Shared, LockKind::Shared) => false,
            (LockKind::Barrier, _) | (_, LockKind::Barrier) => true,
            (mine, others) => mine != LockKind::Read && !matches!(others, LockKind::Read | LockKind::PassingRead),
        };
        excludes && self.overlaps(other)
    }

    /// True if it must stay behind `other`, which waits for its lock.
    fn must_stay_behind(&self, other: &Portion) -> bool {
        let are_shared = self.lock_kind == LockKind::Shared && other.lock_kind == LockKind::Shared;
        self.must_wait_for(other) || (are_shared && self.overlaps(other))
    }

    fn overlaps(&self, other: &Portion) -> bool {
        self.locked_columns & other.locked_columns != 0
            && self.locked.from < other.locked.end
            && other.locked.from < self.locked.end
    }

    /// True if it is in use and belongs to a rebuild or a check.
    pub(crate) fn is_sync(&self) -> bool {
        self.in_use && (self.is_sync_run() || self.kind == PortionKind::RebuildFlush)
    }

    /// True for a run of a rebuild or a check.
    pub(crate) fn is_sync_run(&self) -> bool {
        matches!(self.kind, PortionKind::RebuildRun | PortionKind::CheckRun)
    }

    /// Takes over the status with which a part of it ended, unless an earlier part failed.
    pub(crate) fn keep_first_error(&mut self, status: Status) {
        if self.status == Status::Done {
            self.status = status;
        }
    }

    /// True if it must end what it began, even if its request is aborted: otherwise copies or a row would differ.
    pub(crate) fn must_finish(&self) -> bool {
        match self.kind {
            PortionKind::Stripes => self.writing,
            PortionKind::Plain => self.begun && self.op == Op::Write && self.locked_columns != 0,
            PortionKind::RebuildRun | PortionKind::CheckRun | PortionKind::RebuildFlush | PortionKind::BitmapPages => {
                true
            }
            PortionKind::Flush => false,
        }
    }
}

/// A command to a member, waiting or sent.
#[derive(Clone, Copy)]
pub(super) struct MemberCommand {
    /// The index of its portion, or [`STRIPES`]; [`NONE`] if the place is free.
    pub portion: u32,
    pub member: u32,
    pub work: MemberWork,
    pub op: Op,
    pub lba: u64,
    pub sectors: u32,
    pub stamp: u64,
    /// For a command of the stripe cache: the flags of the accesses that it serves.
    pub flags: Flags,
    pub sent: bool,
}

impl MemberCommand {
    /// True if it serves a portion.
    pub fn has_portion(&self) -> bool {
        self.portion < FORGOTTEN
    }
}

/// The range locks, and the portions that wait for one, by index.
#[derive(Clone, Default)]
pub(super) struct RangeLocks {
    holding: Vec<u32>,
    waiting: VecDeque<u32>,
    /// A lock was released since the waiting portions were last checked.
    pub was_released: bool,
}

impl RangeLocks {
    /// Locks the range of a portion, or makes the portion wait for it. True if it is locked.
    pub(crate) fn lock_or_wait(&mut self, portions: &Slab<Portion>, portion_index: u32) -> bool {
        let wanted = &portions[portion_index];
        let is_free = self.is_free(portions, wanted);
        match is_free {
            true if wanted.locked_columns != 0 => self.holding.push(portion_index),
            true => {}
            false => self.waiting.push_back(portion_index),
        }
        is_free
    }

    /// True if `wanted` would not wait.
    pub(crate) fn is_free(&self, portions: &Slab<Portion>, wanted: &Portion) -> bool {
        wanted.locked_columns == 0 || !self.must_wait(portions, wanted, self.waiting.len())
    }

    /// True if a portion cannot have its lock: another one holds it, or one of the first `before` that wait goes first.
    fn must_wait(&self, portions: &Slab<Portion>, wanted: &Portion, before: usize) -> bool {
        self.holding.iter().any(|&other| wanted.must_wait_for(&portions[other]))
            || self.waiting.iter().take(before).any(|&other| wanted.must_stay_behind(&portions[other]))
    }

    /// True if a portion waits that `wanted` would wait for.
    pub(crate) fn is_awaited(&self, portions: &Slab<Portion>, wanted: &Portion) -> bool {
        self.waiting.iter().any(|&other| wanted.must_wait_for(&portions[other]))
    }

    /// Makes a portion that has begun hold its lock, whoever else holds it.
    pub(crate) fn hold(&mut self, portion_index: u32) {
        self.holding.push(portion_index);
    }

    /// Releases the lock of a portion, or ends its wait.
    pub(crate) fn release_lock(&mut self, portion_index: u32) {
        if let Some(place) = self.holding.iter().position(|&other| other == portion_index) {
            self.holding.swap_remove(place);
            self.was_released = true;
        } else if let Some(place) = self.waiting.iter().position(|&other| other == portion_index) {
            self.waiting.remove(place);
            self.was_released = true;
        }
    }

    /// Locks the range of the next waiting portion that can have it, and returns the portion's index.
    pub(crate) fn lock_next_waiting(&mut self, portions: &Slab<Portion>) -> Option<u32> {
        if !self.was_released {
            return None;
        }
        for place in 0..self.waiting.len() {
            let portion_index = self.waiting[place];
            if !self.must_wait(portions, &portions[portion_index], place) {
                self.waiting.remove(place);
                self.holding.push(portion_index);
                return Some(portion_index);
            }
        }
        self.was_released = false;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Seed;

    #[test]
    fn a_portion_runs_as_soon_as_no_earlier_one_in_its_range_is_left() {
        let mut waits = 0;
        for seed in 0..30 {
            let mut rng = Seed(seed).stream("locks");
            let (mut portions, mut locks) = (Slab::with_capacity(0), RangeLocks::default());
            // In the order of coming: number, first sector and end, columns; and those that run.
            let mut all: Vec<(u32, u64, u64, u64)> = Vec::new();
            let mut running: Vec<u32> = Vec::new();
            for _ in 0..400 {
                if rng.draw_chance(55) && all.len() < 12 {
                    let (from, locked_columns) = (rng.below(40), rng.below(8));
                    let locked = SectorBounds { from, end: from + 1 + rng.below(8) };
                    let blank = Portion::blank_flush(NONE, Instant::ZERO);
                    let number = portions.put(Portion { locked, locked_columns, ..blank });
                    if locks.lock_or_wait(&portions, number) {
                        running.push(number);
                    } else {
                        waits += 1;
                    }
                    all.push((number, locked.from, locked.end, locked_columns));
                } else if !all.is_empty() {
                    // Any of them ends, also one that waits: its request was aborted.
                    let (number, .., columns) = all.remove(rng.below(all.len() as u64) as usize);
                    running.retain(|&other| other != number);
                    if columns != 0 {
                        locks.release_lock(number);
                    }
                    portions.free(number);
                }
                while let Some(number) = locks.lock_next_waiting(&portions) {
                    running.push(number);
                }
                for (place, &(number, from, end, columns)) in all.iter().enumerate() {
                    let conflicts = |other: &(u32, u64, u64, u64)| {
                        other.3 & columns != 0 && (from..end).any(|sector| (other.1..other.2).contains(&sector))
                    };
                    let is_free = !all[..place].iter().any(conflicts);
                    assert_eq!(running.contains(&number), is_free, "seed {seed}: {from}..{end} in {columns:b}");
                }
            }
        }
        assert!(waits > 300, "{waits}");
    }
}
