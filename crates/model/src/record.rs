//! What happened to one request: the anatomy of its response, and the record that a run keeps.
//!
//! The parts are differences of instants. Whoever serves a request keeps a [`Ledger`] beside it and writes down each
//! stretch as it passes; who hands it on as one command adds a stretch of its own to what comes back. No part is computed
//! as a remainder, and the stretches leave no gap, so the parts sum to the response exactly.
//!
//! ```text
//!  submitted                                                                               finished
//!  |processor|driver|flush|controller|overhead|queue wait|seek + settle|rotation|transfer|cache|link|
//! ```
//! *Flush* is the wait behind one: until a flush, or another barrier, that came before has passed, or, of a command that
//! the drive has queued, while it writes back for a flush; of a flush itself, until what was dirty is on the medium.
//! *Seek* is the arm's (or the head switch's) movement, *settle* what writing adds to it, *rotation* the wait for
//! the first wanted sector and for the skew between tracks, *transfer* wanted sectors passing under the head, *cache*
//! the wait for a buffer segment or for data of a prefetch in progress, *link* what the interface adds.

use crate::block::{Completion, Flags, Request, Served, Status};
use crate::time::{Instant, Span};

/// Where time goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Part {
    /// Processor cores of the host.
    Processor,
    /// Waiting in the operating system's driver.
    Driver,
    /// Waiting behind a flush or another barrier, in the driver or in the drive; of a flush, for the medium.
    Flush,
    /// The controller's own cost, and waiting for its channel.
    Controller,
    /// Waiting in the drive's queue.
    Queue,
    /// The drive's command overhead.
    Overhead,
    /// Arm movement or head switch.
    Seek,
    /// Extra settling before a write.
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
    /// How many there are.
    pub const COUNT: usize = 12;
    /// All of them, in the order in which a request meets them.
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

    /// Its name in results.
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

/// A response taken apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts([u64; Part::COUNT]);

impl Parts {
    /// No time at all.
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

    /// All parts together: the response time.
    pub fn total(&self) -> Span {
        Span::from_nanos(self.0.iter().sum())
    }
}

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
        let stretch = at.since(self.mark).nanos();
        // All parts together are the time from the start to the mark: none can wrap.
        let sum = &mut self.parts.0[part as usize];
        *sum = sum.wrapping_add(stretch);
        self.mark = at;
    }

    /// Ends the account at `at`, which may lie before the mark when the request was broken off: what was written down
    /// beyond `at` is taken back, latest part first, and a stretch short of `at` goes into `part`.
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

    /// The stretch from the last mark until `child.submitted` went into `waiting`, and what followed is the child's.
    #[inline]
    pub fn adopt(&mut self, waiting: Part, child: &Completion) {
        // The one part after all: a wide read of what has just been written narrowly would wait for that.
        for (sum, part) in self.parts.0.iter_mut().zip(&child.parts.0) {
            *sum = sum.wrapping_add(*part);
        }
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

/// What a request asked of the host's processor: counted by the layers on its way, paid in the topmost one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Commands sent to devices for it.
    pub commands: u16,
    /// Interrupts that the processor saw of them.
    pub interrupts: u16,
    /// Sectors that the processor copied in memory.
    pub copied: u32,
    /// Sectors that the processor read in memory to compute parity, or what parity gives back.
    pub parity: u32,
    /// How long the processor moved its data itself, a word at a time (PIO).
    pub programmed: Span,
    /// Core time spent on it; nothing where no processor is modelled.
    pub busy: Span,
}

impl Effort {
    /// Nothing.
    pub const NONE: Effort =
        Effort { commands: 0, interrupts: 0, copied: 0, parity: 0, programmed: Span::ZERO, busy: Span::ZERO };
    /// One command, answered by one interrupt.
    pub const COMMAND: Effort = Effort { commands: 1, interrupts: 1, ..Effort::NONE };

    /// Adds another's.
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

/// What drives did since the beginning, whoever asked for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriveLog {
    /// Flush commands that reached them.
    pub flushes: u64,
    /// Accesses that began on another cylinder than the heads were at, for commands and for what is written back.
    pub seeks: u64,
    /// Of these, those that went the other way than the one before.
    pub reversals: u64,
}

impl DriveLog {
    /// Adds another drive's.
    pub fn add(&mut self, other: &DriveLog) {
        self.flushes += other.flushes;
        self.seeks += other.seeks;
        self.reversals += other.reversals;
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
