//! What an array has in hand: requests from above, the portions that they are split into, the commands of each portion,
//! and who holds which stretch of the members.
//!
//! A portion that changes a row, or needs one as it stands, holds that stretch until it is over; others that meet it
//! wait their turn, in order. So parity is brought up to date by one write after another, and copies do not part.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::block::{Op, Status};
use crate::record::Ledger;
use crate::slab::Slab;
use crate::time::Instant;

/// No portion, no request: the array's own doing.
pub(super) const NOBODY: u32 = u32::MAX;

/// What a portion does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Commands to the members that hold the blocks: reads, and writes without parity.
    Plain,
    /// A write to a row with parity.
    Update,
    /// A read of a row of which something is lost.
    Recover,
    /// A flush of all members.
    Flush,
    /// A run of the rebuild.
    Rebuild,
    /// The flush at the end of a rebuild.
    Seal,
}

/// A part of a request, or of the rebuild.
#[derive(Clone, Copy)]
pub(super) struct Portion {
    /// The request, or [`NOBODY`].
    pub parent: u32,
    pub kind: Kind,
    pub op: Op,
    /// Of a write or a run of the rebuild: its number, which its commands have for a stamp.
    pub number: u64,
    pub volume: u8,
    /// Blocks of the volume, from and to.
    pub lba: u64,
    pub end: u64,
    /// The stretch of the members that it holds, and of which columns; none without lanes.
    pub span: (u64, u64),
    pub lanes: u64,
    pub ledger: Ledger,
    /// Commands not yet back.
    pub left: u32,
    pub status: Status,
    /// Members that it does not read from any more.
    pub avoid: u64,
    /// Something that it read is missing: it begins again.
    pub again: bool,
    /// It has begun.
    pub begun: bool,
    /// Its writes have begun.
    pub writing: bool,
    pub live: bool,
}

impl Portion {
    /// A flush of nothing; a start for others.
    pub fn open(parent: u32, at: Instant) -> Portion {
        Portion {
            parent,
            kind: Kind::Flush,
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
            live: true,
        }
    }

    /// Both would touch the same.
    fn meets(&self, other: &Portion) -> bool {
        self.lanes & other.lanes != 0 && self.span.0 < other.span.1 && other.span.0 < self.span.1
    }

    /// A part of a rebuild that is not over.
    pub fn is_rebuild(&self) -> bool {
        self.live && matches!(self.kind, Kind::Rebuild | Kind::Seal)
    }

    /// What it has begun it ends, whatever becomes of the request: copies or a row would part otherwise.
    pub fn is_firm(&self) -> bool {
        match self.kind {
            Kind::Update => self.writing,
            Kind::Plain => self.begun && self.op == Op::Write && self.lanes != 0,
            Kind::Rebuild | Kind::Seal => true,
            Kind::Flush | Kind::Recover => false,
        }
    }
}

/// A command to a member, waiting or sent.
#[derive(Clone, Copy)]
pub(super) struct Command {
    /// [`NOBODY`] when the place is free.
    pub portion: u32,
    pub member: u32,
    pub op: Op,
    pub lba: u64,
    pub sectors: u32,
    pub sent: bool,
}

/// Who holds which stretch, and who waits for one.
#[derive(Default)]
pub(super) struct Turns {
    holding: Vec<u32>,
    waiting: VecDeque<u32>,
    /// Something was let go since the waiting were last looked at.
    pub freed: bool,
}

impl Turns {
    /// True when `portion` holds its stretch from now on; else it waits.
    pub fn take(&mut self, portions: &Slab<Portion>, portion: u32) -> bool {
        let wanted = &portions[portion];
        let free =
            wanted.lanes == 0 || !self.holding.iter().chain(&self.waiting).any(|&other| portions[other].meets(wanted));
        match free {
            true if wanted.lanes != 0 => self.holding.push(portion),
            true => {}
            false => self.waiting.push_back(portion),
        }
        free
    }

    /// `portion` is over, or no longer waits.
    pub fn let_go(&mut self, portion: u32) {
        if let Some(place) = self.holding.iter().position(|&other| other == portion) {
            self.holding.swap_remove(place);
            self.freed = true;
        } else if let Some(place) = self.waiting.iter().position(|&other| other == portion) {
            self.waiting.remove(place);
            self.freed = true;
        }
    }

    /// The next portion whose turn has come; it holds its stretch.
    pub fn next(&mut self, portions: &Slab<Portion>) -> Option<u32> {
        if !self.freed {
            return None;
        }
        for place in 0..self.waiting.len() {
            let portion = self.waiting[place];
            let before = self.holding.iter().chain(self.waiting.iter().take(place));
            if !before.into_iter().any(|&other| portions[other].meets(&portions[portion])) {
                self.waiting.remove(place);
                self.holding.push(portion);
                return Some(portion);
            }
        }
        self.freed = false;
        None
    }
}
