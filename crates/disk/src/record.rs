//! The account of a request's response time by its [`parts`](crate::parts), and the record that a run keeps of a
//! request.
//!
//! The parts are differences of instants. A component that serves a request keeps a [`Ledger`] for it and books each
//! stretch of time as it passes. A component that passes the request on as a single command adds its own stretch to the
//! account of that command, its *child*. No part is computed as a remainder, and the stretches leave no gap, so the
//! parts sum to the response time exactly.

use crate::block::{Completion, Flags, Request, ServedRequest, Status};
pub use crate::parts::{DriveLog, Effort, Part, Parts, SyncCounts};
use crate::time::{Instant, Span};

/// The account of one request's time, booked without a gap from `start` up to `mark`.
#[derive(Clone, Copy, Debug)]
pub struct Ledger {
    start: Instant,
    mark: Instant,
    parts: Parts,
}

impl Ledger {
    /// Opens an account at `at`.
    pub fn open(at: Instant) -> Ledger {
        Ledger { start: at, mark: at, parts: Parts::default() }
    }

    /// Books the time from the mark to `at` under `part`. Panics when `at` is before the mark.
    #[inline]
    pub fn book_until(&mut self, part: Part, at: Instant) {
        // All parts together are the time from the start to the mark: none can wrap.
        self.parts.add_nanos(part, at.since(self.mark).nanos());
        self.mark = at;
    }

    /// Ends the account at `at`. Time missing up to `at` goes to `part`. A request that broke off may end before the
    /// mark: then the time beyond `at` is subtracted, from the last part first.
    pub(crate) fn close_at(&mut self, part: Part, at: Instant) {
        if at >= self.mark {
            return self.book_until(part, at);
        }
        self.parts.subtract_from_last(self.mark.since(at).nanos());
        self.mark = at;
    }

    /// Books the time from the mark to `child.submitted` under `waiting`, and the rest as the child did.
    #[inline]
    pub(crate) fn book_child(&mut self, waiting: Part, child: &Completion) {
        self.parts.add_all(&child.parts);
        self.book_until(waiting, child.submitted);
        self.mark = child.finished;
    }

    /// As [`Ledger::book_child`], of a child that may have been submitted before the mark, as it serves others too. Of such a
    /// child only the last of its time is booked: from the mark on.
    pub(crate) fn book_child_from_mark(&mut self, waiting: Part, child: &Completion) {
        if child.submitted >= self.mark {
            return self.book_child(waiting, child);
        }
        let mut left = child.finished.since(self.mark).nanos();
        for part in Part::ALL.into_iter().rev() {
            let nanos = child.parts.get(part).nanos().min(left);
            self.parts.add_nanos(part, nanos);
            left -= nanos;
        }
        self.mark = child.finished;
    }

    /// Moves the opening back to `since`; the time from there goes to `part`.
    #[inline]
    pub(crate) fn extend_back(&mut self, part: Part, since: Instant) {
        self.parts.add(part, self.start.since(since));
        self.start = since;
    }

    /// When the account was opened.
    pub fn start(&self) -> Instant {
        self.start
    }

    /// The instant up to which time is booked.
    pub fn booked_until(&self) -> Instant {
        self.mark
    }

    /// The parts up to the mark.
    pub fn parts(&self) -> Parts {
        self.parts
    }
}

/// The account of one request: its time and its effort.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    /// Where its time went.
    pub ledger: Ledger,
    pub effort: Effort,
}

impl Account {
    /// Opens an account at `at`.
    pub fn open(at: Instant) -> Account {
        Account { ledger: Ledger::open(at), effort: Effort::NONE }
    }

    /// The account of a completed request.
    pub(crate) fn from_completion(answer: &Completion) -> Account {
        let ledger = Ledger { start: answer.submitted, mark: answer.finished, parts: answer.parts };
        Account { ledger, effort: answer.effort }
    }

    /// Books the time from the mark to `child.submitted` under `waiting`, and the rest as the child did.
    #[inline]
    pub(crate) fn book_child(&mut self, waiting: Part, child: &Completion) {
        self.ledger.book_child(waiting, child);
        self.effort.add(&child.effort);
    }
}

/// A counted request of a run.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub worker: u16,
    pub request: Request,
    /// When it was due by its arrival process; without one, when it was issued.
    pub intended: Instant,
    /// When it was issued: first offered to the device. The response time runs from here.
    pub issued: Instant,
    /// The completion, whose parts cover `issued..finished`. Time before the device accepted the request counts as
    /// driver time. Time before the issue, for a pace or for a limit in flight, belongs to no part.
    pub completion: Completion,
}

impl Record {
    /// A placeholder.
    pub const NONE: Record = Record {
        worker: 0,
        request: Request::NONE,
        intended: Instant::ZERO,
        issued: Instant::ZERO,
        completion: Completion::NONE,
    };

    /// The record of a request that its source served: all its time except computing counts as waiting in the operating
    /// system.
    pub(crate) fn from_served(served: &ServedRequest) -> Record {
        let ServedRequest { worker, op, lba, sectors, intended, issued, finished, computed, failed } = *served;
        let (flags, status) = (Flags::NONE, if failed { Status::MediumError } else { Status::Done });
        let request = Request { tag: 0, unit: 0, origin: worker, op, flags, lba, sectors, stamp: 0 };
        let mut parts = Parts::default();
        parts.add(Part::Processor, computed);
        parts.add(Part::Driver, finished.since(issued) - computed);
        let completion = Completion { tag: 0, status, submitted: issued, finished, parts, effort: Effort::NONE };
        Record { worker, request, intended, issued, completion }
    }

    /// Response time: from the issue to the completion.
    #[inline]
    pub fn response_time(&self) -> Span {
        self.completion.finished.since(self.issued)
    }

    /// Time from when it was due to the completion.
    #[inline]
    pub fn time_since_due(&self) -> Span {
        self.completion.finished.since(self.intended)
    }

    /// Time from when it was due to the issue.
    #[inline]
    pub fn issue_delay(&self) -> Span {
        self.issued.since(self.intended)
    }
}
