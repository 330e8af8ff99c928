//! Work in progress in an array: requests from above, the portions into which they are split, the commands of each
//! portion, and the locks on ranges of the members.
//!
//! A portion that changes a row, or needs a stable one, locks its range of the members until it ends. Portions that
//! overlap the range wait, in order of arrival. So writes update the parity one after another, and copies stay equal.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::bitmap::BitmapWriteNumber;
use super::layout::MemberSet;
use crate::block::{Op, Status};
use crate::record::Ledger;
use crate::slab::Slab;
use crate::time::Instant;

/// No portion, or no request: the work is the array's own.
pub(super) const NONE: u32 = u32::MAX;

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
    /// A write to rows with parity.
    ParityUpdate,
    /// A read of a row with lost data.
    DegradedRead,
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

/// How a portion shares its range with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockKind {
    /// Alone, except for reads.
    Write,
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
    /// The reads are over; writes are in flight.
    pub writing: bool,
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
            begun: false,
            writing: false,
            in_bitmap: false,
            awaited_bitmap_write: 0,
            in_use: true,
        }
    }

    /// True if both lock some sector of a column, and it must wait for the other, which came before it.
    fn must_wait_for(&self, other: &Portion) -> bool {
        let excludes = match (self.lock_kind, other.lock_kind) {
            (LockKind::PassingRead, _) | (LockKind::Barrier, LockKind::Barrier) => false,
            (LockKind::Barrier, _) | (_, LockKind::Barrier) => true,
            (mine, others) => mine == LockKind::Write && others == LockKind::Write,
        };
        excludes
            && self.locked_columns & other.locked_columns != 0
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

    /// True if it must end what it began, even if its request is aborted: otherwise copies or a row would differ.
    pub(crate) fn must_finish(&self) -> bool {
        match self.kind {
            PortionKind::ParityUpdate => self.writing,
            PortionKind::Plain => self.begun && self.op == Op::Write && self.locked_columns != 0,
            PortionKind::RebuildRun | PortionKind::CheckRun | PortionKind::RebuildFlush | PortionKind::BitmapPages => {
                true
            }
            PortionKind::Flush | PortionKind::DegradedRead => false,
        }
    }
}

/// A command to a member, waiting or sent.
#[derive(Clone, Copy)]
pub(super) struct MemberCommand {
    /// The index of its portion; [`NONE`] if the place is free.
    pub portion: u32,
    pub member: u32,
    pub op: Op,
    pub lba: u64,
    pub sectors: u32,
    pub sent: bool,
}

/// The range locks, and the portions that wait for one, by index.
#[derive(Default)]
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
        wanted.locked_columns == 0
            || !self.holding.iter().chain(&self.waiting).any(|&other| wanted.must_wait_for(&portions[other]))
    }

    /// True if a portion waits that `wanted` would wait for.
    pub(crate) fn is_awaited(&self, portions: &Slab<Portion>, wanted: &Portion) -> bool {
        self.waiting.iter().any(|&other| wanted.must_wait_for(&portions[other]))
    }

    /// Gives a portion that has begun the lock of its range, whoever else has it.
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
            let mut before = self.holding.iter().chain(self.waiting.iter().take(place));
            if !before.any(|&other| portions[portion_index].must_wait_for(&portions[other])) {
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
