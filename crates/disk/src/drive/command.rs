//! A command in flight: its request, the ledger of its time, and the marks that the drive's parts set on it.
//! `electronics` has the table of commands.

use super::cache::BufferLookup;
use super::geometry::Extent;
use super::link::{LinkInterval, RELEASE_AND_SERVICE};
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
    /// The buffer's version at the last lookup of a read, and the lookup's result.
    pub(super) seen: (u64, BufferLookup),
    /// First block, and those that follow it on its track; set when the command is queued for the medium.
    pub(super) first: Extent,
    /// When a write's data cross the link.
    pub(super) data: LinkInterval,
    /// Blocks of a cached write that are in the buffer, or on their way there.
    pub(super) stored: u32,
    /// All blocks of a read before this one have been looked for in the media cache.
    pub(super) gathered: u64,
    /// The bus was released and must be reacquired.
    pub(super) released: bool,
    /// Interrupts that the host sees.
    pub(super) interrupts: u16,
    /// A write longer than its segment, which wraps around in it: acknowledged before all of it is on the medium.
    pub(super) wraps_around: bool,
    /// A read that may be followed by a read-ahead.
    pub(super) ahead: bool,
    /// When a read's data have crossed the link, once that is booked.
    pub(super) sent: Option<Instant>,
    /// Held back behind a command that must run alone and is not done; the wait counts as flush.
    pub(super) behind_exclusive: bool,
}

/// Stage of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The slot holds no command.
    Free,
    /// Waits to be decoded.
    Arriving,
    /// Held back for other commands.
    Held,
    /// Waits for the medium.
    Queued,
    /// The medium serves it.
    Medium,
    /// Waits for a destage.
    Parked,
    /// A flush that waits for the destage of all that was dirty.
    Flushing,
    /// Completes at a known instant.
    Finishing,
    /// Acknowledged, but the last part is still being written to the medium.
    Draining,
}

/// The extent of a command that is not queued yet.
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
            data: LinkInterval::at(Instant::ZERO),
            stored: 0,
            gathered: 0,
            released: false,
            interrupts: 1,
            wraps_around: false,
            ahead: true,
            sent: None,
            behind_exclusive: false,
        }
    }

    /// Begins `request` at `now`; `versioned_lookup` is the buffer's version and the lookup's result.
    #[inline]
    pub(super) fn begin_request(
        &mut self,
        now: Instant,
        request: Request,
        versioned_lookup: (u64, BufferLookup),
        may_read_ahead: bool,
    ) {
        self.request = request;
        self.ledger = Ledger::open(now);
        self.stage = Stage::Arriving;
        self.outcome = Status::Done;
        self.seen = versioned_lookup;
        self.data = LinkInterval::at(now);
        self.stored = 0;
        self.gathered = 0;
        self.released = false;
        self.interrupts = 1;
        self.wraps_around = false;
        self.ahead = may_read_ahead;
        self.sent = None;
        self.behind_exclusive = false;
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

    /// Reacquires the bus if it was released, which costs two interrupts. Returns the time that it takes.
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
