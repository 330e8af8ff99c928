//! A command in flight: its request, its stage, and the ledger of its time.

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
    /// Result of the last buffer lookup of a read, after the buffer's version then.
    pub(super) seen: (u64, BufferLookup),
    /// First block, and those that follow it on its track; set when queued.
    pub(super) first: Extent,
    /// When a write's data begin to cross the link, and when all are in the buffer.
    pub(super) data: (Instant, Instant),
    /// Blocks of a cached write that are in the buffer, or on their way there.
    pub(super) stored: u32,
    /// Block before which all blocks of a read have been looked for in the media cache.
    pub(super) gathered: u64,
    /// The bus was released and must be reacquired.
    pub(super) released: bool,
    /// Interrupts that the host sees.
    pub(super) interrupts: u16,
    /// A write that wraps around in its segment: acknowledged before all of it is on the medium.
    pub(super) round: bool,
    /// A read that may be followed by a read-ahead.
    pub(super) ahead: bool,
    /// When a read's data have crossed the link, once known.
    pub(super) carried: Option<Instant>,
    /// Held back after a command that must run alone and is not done; the wait counts as flush.
    pub(super) behind: bool,
}

/// Stage of a command.
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
    /// Acknowledged, but the last part is still being written to the medium.
    Draining,
}

const NOWHERE: Extent = Extent { lba: 0, sectors: 0, cylinder: 0, head: 0, angle: 0, slot: 0, before: 0, behind: 0 };

impl Command {
    /// Returns an empty slot.
    pub(super) fn empty_slot() -> Command {
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

    /// Begins `request` at `now`; `seen` holds the buffer's version and the lookup result.
    #[inline]
    pub(super) fn begin_request(&mut self, now: Instant, request: Request, seen: (u64, BufferLookup), ahead: bool) {
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

    /// Completion of the command at `finished`.
    pub(super) fn completion(&self, finished: Instant) -> Completion {
        let mut answer = Completion::NONE;
        self.fill_completion(finished, &mut answer);
        answer
    }

    /// Overwrites `answer` with the completion at `finished`.
    #[inline]
    pub(super) fn fill_completion(&self, finished: Instant, answer: &mut Completion) {
        answer.tag = self.request.tag;
        answer.status = self.outcome;
        (answer.submitted, answer.finished) = (self.ledger.start(), finished);
        answer.parts = self.ledger.parts();
        answer.effort = Effort { interrupts: self.interrupts, ..Effort::COMMAND };
    }

    /// Reacquires the bus if it was released; returns the time that takes.
    #[inline]
    pub(super) fn reacquire_bus(&mut self) -> Span {
        match core::mem::take(&mut self.released) {
            true => {
                self.interrupts += 2;
                RELEASE_AND_SERVICE
            }
            false => Span::ZERO,
        }
    }
}
