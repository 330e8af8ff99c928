//! Work in progress in an array: requests from above, the portions into which they are split, the commands of each
//! portion, and the locks on ranges of the members.
//!
//! A portion that changes a row, or needs a stable one, locks its range until it ends; others that overlap it wait
//! their turn, in order. So writes update the parity one after another, and copies stay equal.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::block::{Op, Status};
use crate::record::Ledger;
use crate::slab::Slab;
use crate::time::Instant;

/// No portion, no request: work of the array itself.
pub(super) const NOBODY: u32 = u32::MAX;

/// The kind of work of a portion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PortionKind {
    /// Commands to the members that hold the blocks: reads, and writes without parity.
    Plain,
    /// A write to a row with parity.
    Update,
    /// A read of a row with lost data.
    Recover,
    /// A flush of all members.
    Flush,
    /// A run of the rebuild.
    Rebuild,
    /// The flush at the end of a rebuild.
    Seal,
    /// Pages of the write-intent bitmap.
    Intent,
}

/// A part of a request, or of the rebuild.
#[derive(Clone, Copy)]
pub(super) struct Portion {
    /// The request, or [`NOBODY`].
    pub parent: u32,
    pub kind: PortionKind,
    pub op: Op,
    /// For a write or a run of the rebuild: its number, which its commands carry as their stamp.
    pub number: u64,
    pub volume: u8,
    /// First block of the volume, and end.
    pub lba: u64,
    pub end: u64,
    /// The range of the members that it locks, and in which columns; none if `lanes` is empty.
    pub span: (u64, u64),
    pub lanes: u64,
    pub ledger: Ledger,
    /// Commands not yet returned.
    pub left: u32,
    pub status: Status,
    /// Members that it no longer reads.
    pub avoid: u64,
    /// Data that it read are missing: start again.
    pub again: bool,
    pub begun: bool,
    pub writing: bool,
    /// The bitmap counts it as under way, and it begins after the bitmap's write of this number.
    pub noted: bool,
    pub after: u64,
    pub live: bool,
}

impl Portion {
    /// An empty flush, as a starting point for other portions.
    pub(crate) fn blank_flush(parent: u32, at: Instant) -> Portion {
        Portion {
            parent,
            kind: PortionKind::Flush,
            op: Op::Read,
            number: 0,
            volume: 0,
            lba: 0,
            end: 0,
            span: (0, 0),
            lanes: 0,
            ledger: Ledger::open(at),
            left: 0,
            status: Status::Done,
            avoid: 0,
            again: false,
            begun: false,
            writing: false,
            noted: false,
            after: 0,
            live: true,
        }
    }

    /// True if both touch the same range.
    fn overlaps(&self, other: &Portion) -> bool {
        self.lanes & other.lanes != 0 && self.span.0 < other.span.1 && other.span.0 < self.span.1
    }

    /// True if it belongs to a rebuild that goes on.
    pub(crate) fn is_rebuild(&self) -> bool {
        self.live && matches!(self.kind, PortionKind::Rebuild | PortionKind::Seal)
    }

    /// True if it must end what it began, even if its request is aborted: otherwise copies or a row would differ.
    pub(crate) fn must_finish(&self) -> bool {
        match self.kind {
            PortionKind::Update => self.writing,
            PortionKind::Plain => self.begun && self.op == Op::Write && self.lanes != 0,
            PortionKind::Rebuild | PortionKind::Seal | PortionKind::Intent => true,
            PortionKind::Flush | PortionKind::Recover => false,
        }
    }
}

/// A command to a member, waiting or sent.
#[derive(Clone, Copy)]
pub(super) struct MemberCommand {
    /// [`NOBODY`] if the place is free.
    pub portion: u32,
    pub member: u32,
    pub op: Op,
    pub lba: u64,
    pub sectors: u32,
    pub sent: bool,
}

/// The range locks, and the portions that wait for one.
#[derive(Default)]
pub(super) struct RangeLocks {
    holding: Vec<u32>,
    waiting: VecDeque<u32>,
    /// A lock was released since the waiting portions were last checked.
    pub freed: bool,
}

impl RangeLocks {
    /// Locks the range of `portion`. If false, the portion waits.
    pub(crate) fn lock_or_wait(&mut self, portions: &Slab<Portion>, portion: u32) -> bool {
        let wanted = &portions[portion];
        let free = wanted.lanes == 0
            || !self.holding.iter().chain(&self.waiting).any(|&other| portions[other].overlaps(wanted));
        match free {
            true if wanted.lanes != 0 => self.holding.push(portion),
            true => {}
            false => self.waiting.push_back(portion),
        }
        free
    }

    /// Releases the lock of `portion`, or ends its wait.
    pub(crate) fn release_lock(&mut self, portion: u32) {
        if let Some(place) = self.holding.iter().position(|&other| other == portion) {
            self.holding.swap_remove(place);
            self.freed = true;
        } else if let Some(place) = self.waiting.iter().position(|&other| other == portion) {
            self.waiting.remove(place);
            self.freed = true;
        }
    }

    /// The next waiting portion that can lock its range; it does.
    pub fn next(&mut self, portions: &Slab<Portion>) -> Option<u32> {
        if !self.freed {
            return None;
        }
        for place in 0..self.waiting.len() {
            let portion = self.waiting[place];
            let before = self.holding.iter().chain(self.waiting.iter().take(place));
            if !before.into_iter().any(|&other| portions[other].overlaps(&portions[portion])) {
                self.waiting.remove(place);
                self.holding.push(portion);
                return Some(portion);
            }
        }
        self.freed = false;
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
                    let (from, lanes) = (rng.below(40), rng.below(8));
                    let span = (from, from + 1 + rng.below(8));
                    let number = portions.put(Portion { span, lanes, ..Portion::blank_flush(NOBODY, Instant::ZERO) });
                    if locks.lock_or_wait(&portions, number) {
                        running.push(number);
                    } else {
                        waits += 1;
                    }
                    all.push((number, span.0, span.1, lanes));
                } else if !all.is_empty() {
                    // Any of them ends, also one that waits: its request was aborted.
                    let (number, .., lanes) = all.remove(rng.below(all.len() as u64) as usize);
                    running.retain(|&other| other != number);
                    if lanes != 0 {
                        locks.release_lock(number);
                    }
                    portions.free(number);
                }
                while let Some(number) = locks.next(&portions) {
                    running.push(number);
                }
                for (place, &(number, from, end, lanes)) in all.iter().enumerate() {
                    let meets = |other: &(u32, u64, u64, u64)| {
                        other.3 & lanes != 0 && (from..end).any(|sector| (other.1..other.2).contains(&sector))
                    };
                    let free = !all[..place].iter().any(meets);
                    assert_eq!(running.contains(&number), free, "seed {seed}: {from}..{end} in {lanes:b}");
                }
            }
        }
        assert!(waits > 300, "{waits}");
    }
}
