//! A command in flight: what was asked, where it is, and the account of its time.

use super::cache::BufferLookup;
use super::geometry::Extent;
use super::link::RELEASE_AND_SERVICE;
use crate::block::{Completion, Request, Status};
use crate::record::{Effort, Ledger};
use crate::time::{Instant, Span};

/// A command in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    pub(super) request: Request,
    pub(super) ledger: Ledger,
    pub(super) stage: Stage,
    pub(super) outcome: Status,
    /// How a read stood to the buffer when it was last looked up, and the buffer's version then.
    pub(super) seen: (u64, BufferLookup),
    /// Where its first block is, and what follows it on its track; known once it is queued.
    pub(super) first: Extent,
    /// A write's data come over the link from here on, and are all in the buffer from there on.
    pub(super) data: (Instant, Instant),
    /// Blocks of a cached write that are in the buffer, or on their way there.
    pub(super) stored: u32,
    /// Blocks of a read before this one have been looked for in the media cache.
    pub(super) gathered: u64,
    /// It has let the bus go and must have it again.
    pub(super) released: bool,
    /// That the host sees of it.
    pub(super) interrupts: u16,
    /// A write that goes round in its segment: acknowledged before it is all on the medium.
    pub(super) round: bool,
    /// A read that may be followed by a read-ahead.
    pub(super) ahead: bool,
    /// When a read's data have crossed the link, once that is known.
    pub(super) carried: Option<Instant>,
    /// It is held back, and what stands alone before it is not over.
    pub(super) behind: bool,
}

/// Where a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Free,
    Arriving,
    Held,
    Queued,
    Medium,
    Parked,
    Flushing,
    Finishing,
    /// Acknowledged, the last segment's length still on its way to the medium.
    Draining,
}

const NOWHERE: Extent = Extent { lba: 0, sectors: 0, cylinder: 0, head: 0, angle: 0, slot: 0, before: 0, behind: 0 };

impl Command {
    /// A place for one.
    pub(super) fn free() -> Command {
        Command {
            request: Request::NONE,
            ledger: Ledger::open(Instant::ZERO),
            stage: Stage::Free,
            outcome: Status::Done,
            seen: (u64::MAX, BufferLookup::Miss),
            first: NOWHERE,
            data: (Instant::ZERO, Instant::ZERO),
            stored: 0,
            gathered: 0,
            released: false,
            interrupts: 1,
            round: false,
            ahead: true,
            carried: None,
            behind: false,
        }
    }

    /// `request` comes at `now`; `seen` is how it stands to the buffer, and the buffer's version.
    #[inline]
    pub(super) fn begin(&mut self, now: Instant, request: Request, seen: (u64, BufferLookup), ahead: bool) {
        self.request = request;
        self.ledger = Ledger::open(now);
        self.stage = Stage::Arriving;
        self.outcome = Status::Done;
        self.seen = seen;
        self.data = (now, now);
        self.stored = 0;
        self.gathered = 0;
        self.released = false;
        self.interrupts = 1;
        self.round = false;
        self.ahead = ahead;
        self.carried = None;
        self.behind = false;
    }

    /// The answer to it, done at `finished`.
    pub(super) fn completion(&self, finished: Instant) -> Completion {
        let mut answer = Completion::NONE;
        self.answer(finished, &mut answer);
        answer
    }

    /// The same, put into the place of one that is over.
    #[inline]
    pub(super) fn answer(&self, finished: Instant, answer: &mut Completion) {
        answer.tag = self.request.tag;
        answer.status = self.outcome;
        (answer.submitted, answer.finished) = (self.ledger.start(), finished);
        answer.parts = self.ledger.parts();
        answer.effort = Effort { interrupts: self.interrupts, ..Effort::COMMAND };
    }

    /// What it costs to have the bus again, once, where it has let it go.
    #[inline]
    pub(super) fn service(&mut self) -> Span {
        match core::mem::take(&mut self.released) {
            true => {
                self.interrupts += 2;
                RELEASE_AND_SERVICE
            }
            false => Span::ZERO,
        }
    }
}
