//! What happened to one request: the account of its response ([`parts`](crate::parts)), and the record that a run keeps.
//!
//! The parts are differences of instants. Whoever serves a request keeps a [`Ledger`] beside it and writes down each
//! stretch as it passes; who hands it on as one command adds a stretch of its own to what comes back. No part is computed
//! as a remainder, and the stretches leave no gap, so the parts sum to the response exactly.

use crate::block::{Completion, Flags, Request, Served, Status};
pub use crate::parts::{DriveLog, Effort, Part, Parts};
use crate::time::{Instant, Span};

/// The running account of one request: everything up to `mark` is written down.
#[derive(Clone, Copy, Debug)]
pub struct Ledger {
    start: Instant,
    mark: Instant,
    parts: Parts,
}

impl Ledger {
    /// Opens the account at `at`.
    pub fn open(at: Instant) -> Ledger {
        Ledger { start: at, mark: at, parts: Parts::default() }
    }

    /// The stretch from the last mark until `at` went into `part`. Panics when `at` is before the mark.
    #[inline]
    pub fn until(&mut self, part: Part, at: Instant) {
        // All parts together are the time from the start to the mark: none can wrap.
        self.parts.add_nanos(part, at.since(self.mark).nanos());
        self.mark = at;
    }

    /// Ends the account at `at`, which may lie before the mark when the request was broken off: what was written down
    /// beyond `at` is taken back, latest part first, and a stretch short of `at` goes into `part`.
    pub fn settle(&mut self, part: Part, at: Instant) {
        if at >= self.mark {
            return self.until(part, at);
        }
        self.parts.take_back(self.mark.since(at).nanos());
        self.mark = at;
    }

    /// The stretch from the last mark until `child.submitted` went into `waiting`, and what followed is the child's.
    #[inline]
    pub fn adopt(&mut self, waiting: Part, child: &Completion) {
        self.parts.add_all(&child.parts);
        self.until(waiting, child.submitted);
        self.mark = child.finished;
    }

    /// It was opened at `since` already, and the stretch from there went into `part`.
    #[inline]
    pub fn extend_back(&mut self, part: Part, since: Instant) {
        self.parts.add(part, self.start.since(since));
        self.start = since;
    }

    /// When it was opened.
    pub fn start(&self) -> Instant {
        self.start
    }

    /// Up to when it is written down.
    pub fn mark(&self) -> Instant {
        self.mark
    }

    /// The parts up to the mark.
    pub fn parts(&self) -> Parts {
        self.parts
    }
}

/// What is written down of a request.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    /// Where its time went.
    pub ledger: Ledger,
    /// What it asked of the processor.
    pub effort: Effort,
}

impl Account {
    /// Opens it at `at`.
    pub fn open(at: Instant) -> Account {
        Account { ledger: Ledger::open(at), effort: Effort::NONE }
    }

    /// Of a request that was answered so.
    pub fn of(answer: &Completion) -> Account {
        let ledger = Ledger { start: answer.submitted, mark: answer.finished, parts: answer.parts };
        Account { ledger, effort: answer.effort }
    }

    /// The stretch from the last mark until `child.submitted` went into `waiting`, and what followed is the child's.
    #[inline]
    pub fn adopt(&mut self, waiting: Part, child: &Completion) {
        self.ledger.adopt(waiting, child);
        self.effort.add(&child.effort);
    }
}

/// One counted request of a run.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// The worker that issued it.
    pub worker: u16,
    /// What was asked.
    pub request: Request,
    /// When it was due by its arrival process; without one, when it was issued.
    pub intended: Instant,
    /// When it was issued: first offered to the device. The response time runs from here.
    pub issued: Instant,
    /// The answer. Its parts cover `issued..finished`: waiting before the device took it stands under driver. What was
    /// waited before the issue, for a pace or for a limit in flight, is nobody's part.
    pub completion: Completion,
}

impl Record {
    /// A place for one.
    pub const NONE: Record = Record {
        worker: 0,
        request: Request::NONE,
        intended: Instant::ZERO,
        issued: Instant::ZERO,
        completion: Completion::NONE,
    };

    /// Of a request that its source has served: what was not computing it waited in the operating system.
    pub fn of_served(served: &Served) -> Record {
        let Served { worker, op, lba, sectors, intended, issued, finished, computed, failed } = *served;
        let (flags, status) = (Flags::NONE, if failed { Status::MediumError } else { Status::Done });
        let request = Request { tag: 0, unit: 0, origin: worker, op, flags, lba, sectors, stamp: 0 };
        let mut parts = Parts::default();
        parts.add(Part::Processor, computed);
        parts.add(Part::Driver, finished.since(issued) - computed);
        let effort = Effort { busy: computed, ..Effort::default() };
        let completion = Completion { tag: 0, status, submitted: issued, finished, parts, effort };
        Record { worker, request, intended, issued, completion }
    }

    /// Response time: from when it was issued until it was done.
    #[inline]
    pub fn response(&self) -> Span {
        self.completion.finished.since(self.issued)
    }

    /// From when it was due until it was done.
    #[inline]
    pub fn since_due(&self) -> Span {
        self.completion.finished.since(self.intended)
    }

    /// How long it waited to be issued, once it was due.
    #[inline]
    pub fn backlog(&self) -> Span {
        self.issued.since(self.intended)
    }
}
