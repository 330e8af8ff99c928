//! What happened to one request: the anatomy of its response, and the record that a run keeps.
//!
//! The parts are differences of instants. A component that serves a request keeps a [`Ledger`] for it and books each
//! stretch of time as it passes; one that passes it on as a single command adds its own time to the completion. No part
//! is computed as a remainder, and the stretches leave no gap, so the parts add up to the response time exactly.
//!
//! ```text
//!  submitted                                                                               finished
//!  |processor|driver|flush|controller|overhead|queue wait|seek + settle|rotation|transfer|cache|link|
//! ```
//! *Flush* is the wait behind a flush: until an earlier flush, or another barrier, has passed, or, for a command in the
//! drive's queue, while the drive destages for a flush; for a flush itself, until the dirty data are on the medium.
//! *Seek* is the movement of the arm or the head switch, *settle* the additional settling of a write, *rotation* the wait
//! for the first wanted sector and for the skew between tracks, *transfer* wanted sectors passing under the head, *cache*
//! the wait for a buffer segment or for the data of a prefetch in progress, *link* the time that the interface adds.

use crate::block::{Completion, Flags, Request, Served, Status};
use crate::time::{Instant, Span};

/// A part of a response: where its time went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Part {
    /// The host's processor cores.
    Processor,
    /// Waiting in the operating system's driver.
    Driver,
    /// Waiting behind a flush or another barrier, in the driver or in the drive; for a flush, waiting for the medium.
    Flush,
    /// The controller's own cost, and waiting for its channel.
    Controller,
    /// Waiting in the drive's queue.
    Queue,
    /// The drive's command overhead.
    Overhead,
    /// Arm movement or head switch.
    Seek,
    /// Additional settling before a write.
    Settle,
    /// Rotational latency.
    Rotation,
    /// Wanted sectors passing under the head.
    Transfer,
    /// Waiting for a segment, or for a prefetch in progress.
    Cache,
    /// Moving data over the interface.
    Link,
}

impl Part {
    /// How many parts there are.
    pub const COUNT: usize = 12;
    /// All parts, in the order in which a request meets them.
    pub const ALL: [Part; Part::COUNT] = [
        Part::Processor,
        Part::Driver,
        Part::Flush,
        Part::Controller,
        Part::Queue,
        Part::Overhead,
        Part::Seek,
        Part::Settle,
        Part::Rotation,
        Part::Transfer,
        Part::Cache,
        Part::Link,
    ];

    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Part::Processor => "processor",
            Part::Driver => "driver",
            Part::Flush => "flush",
            Part::Controller => "controller",
            Part::Queue => "queue",
            Part::Overhead => "overhead",
            Part::Seek => "seek",
            Part::Settle => "settle",
            Part::Rotation => "rotation",
            Part::Transfer => "transfer",
            Part::Cache => "cache",
            Part::Link => "link",
        }
    }
}

/// The time in each part of a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts([u64; Part::COUNT]);

impl Parts {
    /// No time in any part.
    pub const NONE: Parts = Parts([0; Part::COUNT]);

    /// The time spent in `part`.
    pub fn get(&self, part: Part) -> Span {
        Span::from_nanos(self.0[part as usize])
    }

    /// Adds `span` to `part`.
    pub fn add(&mut self, part: Part, span: Span) {
        self.0[part as usize] += span.nanos();
    }

    /// The nanoseconds of all parts, in the order of [`Part::ALL`].
    #[inline]
    pub fn nanos(&self) -> &[u64; Part::COUNT] {
        &self.0
    }

    /// The sum of all parts: the response time.
    pub fn total(&self) -> Span {
        Span::from_nanos(self.0.iter().sum())
    }
}

/// The running account of a request. It covers everything up to `mark`.
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
    pub fn until(&mut self, part: Part, at: Instant) {
        let stretch = at.since(self.mark).nanos();
        // The sum of all parts is the time from the start to the mark, so none can wrap.
        let sum = &mut self.parts.0[part as usize];
        *sum = sum.wrapping_add(stretch);
        self.mark = at;
    }

    /// Closes the account at `at`. If the request broke off, `at` may lie before the mark: entries beyond `at` are
    /// taken back, the latest part first, and any time missing up to `at` goes to `part`.
    pub fn settle(&mut self, part: Part, at: Instant) {
        if at >= self.mark {
            return self.until(part, at);
        }
        let mut excess = self.mark.since(at).nanos();
        for held in self.parts.0.iter_mut().rev() {
            let back = excess.min(*held);
            *held -= back;
            excess -= back;
        }
        self.mark = at;
    }

    /// Books the time from the mark to `child.submitted` under `waiting`, and the rest as the child did.
    #[inline]
    pub fn adopt(&mut self, waiting: Part, child: &Completion) {
        // One by one: a wide read of narrow writes that are still under way would stall.
        for (sum, part) in self.parts.0.iter_mut().zip(&child.parts.0) {
            *sum = sum.wrapping_add(*part);
        }
        self.until(waiting, child.submitted);
        self.mark = child.finished;
    }

    /// Moves the opening back to `since`; the time from there goes to `part`.
    #[inline]
    pub fn extend_back(&mut self, part: Part, since: Instant) {
        self.parts.add(part, self.start.since(since));
        self.start = since;
    }

    /// When it was opened.
    pub fn start(&self) -> Instant {
        self.start
    }

    /// The instant up to which time is booked.
    pub fn mark(&self) -> Instant {
        self.mark
    }

    /// The parts up to the mark.
    pub fn parts(&self) -> Parts {
        self.parts
    }
}

/// The work of a request on the host's processor. The layers on its way count it; the topmost one charges it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Commands sent to devices.
    pub commands: u16,
    /// Interrupts that the processor saw.
    pub interrupts: u16,
    /// Sectors that the processor copied in memory.
    pub copied: u32,
    /// Sectors that the processor read in memory to compute parity, or to reconstruct data from it.
    pub parity: u32,
    /// How long the processor moved the data itself, a word at a time (PIO).
    pub programmed: Span,
    /// Core time spent; zero if no processor is modelled.
    pub busy: Span,
}

impl Effort {
    /// No work.
    pub const NONE: Effort =
        Effort { commands: 0, interrupts: 0, copied: 0, parity: 0, programmed: Span::ZERO, busy: Span::ZERO };
    /// One command and its interrupt.
    pub const COMMAND: Effort = Effort { commands: 1, interrupts: 1, ..Effort::NONE };

    /// Adds the work of `other`.
    #[inline]
    pub fn add(&mut self, other: &Effort) {
        self.commands = self.commands.saturating_add(other.commands);
        self.interrupts = self.interrupts.saturating_add(other.interrupts);
        self.copied = self.copied.saturating_add(other.copied);
        self.parity = self.parity.saturating_add(other.parity);
        self.programmed += other.programmed;
        self.busy += other.busy;
    }
}

/// The account of a request: its time and its work.
#[derive(Clone, Copy, Debug)]
pub struct Account {
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
    pub fn of(answer: &Completion) -> Account {
        let ledger = Ledger { start: answer.submitted, mark: answer.finished, parts: answer.parts };
        Account { ledger, effort: answer.effort }
    }

    /// Books the time from the mark to `child.submitted` under `waiting`, and the rest as the child did.
    #[inline]
    pub fn adopt(&mut self, waiting: Part, child: &Completion) {
        self.ledger.adopt(waiting, child);
        self.effort.add(&child.effort);
    }
}

/// What drives have done since the beginning, on any request or by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriveLog {
    /// Flush commands that reached the drives.
    pub flushes: u64,
    /// Accesses that began on another cylinder than that of the heads, for commands or for destaging.
    pub seeks: u64,
    /// Seeks in the opposite direction to the one before.
    pub reversals: u64,
}

impl DriveLog {
    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &DriveLog) {
        self.flushes += other.flushes;
        self.seeks += other.seeks;
        self.reversals += other.reversals;
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
    /// Its parts cover `issued..finished`. Time before the device accepted the request counts as driver time. Time
    /// before the issue, for a pace or for a limit in flight, belongs to no part.
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

    /// Response time: from the issue to the completion.
    #[inline]
    pub fn response(&self) -> Span {
        self.completion.finished.since(self.issued)
    }

    /// From when it was due to the completion.
    #[inline]
    pub fn since_due(&self) -> Span {
        self.completion.finished.since(self.intended)
    }

    /// How long it waited for its issue after it was due.
    #[inline]
    pub fn backlog(&self) -> Span {
        self.issued.since(self.intended)
    }
}
