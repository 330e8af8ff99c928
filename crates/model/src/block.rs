//! The block vocabulary and the contract of every device.
//!
//! This is the room at which workloads, host layers and drives meet; none of them knows another. A drive is a
//! [`Device`]; so is every layer above it, and each layer owns the devices below. Nothing here holds state.
//!
//! # The contract
//! 1. After `submit`, `control` or `handle_timeout(now)` all that is due by `now` is done and its completions can be
//!    polled; after draining, `poll_timeout` is later than `now`. Drain after `submit` too, unless the instant that it
//!    answers ([`Reached::next`]) is later than `now`: then there is nothing, and `poll_timeout` is that instant.
//!    `handle_timeout(now)` comes before `submit` or `control` at that `now`; ties go by member, then tag.
//! 2. Late calls change nothing: each layer steps its children through their own instants, so any coarser stepping
//!    gives the same completions.
//! 3. Each accepted tag completes exactly once, also through a power cut, a reset or an abort. `Err` from `submit`
//!    means that something is in flight: try again after any completion or timeout. All other trouble is a
//!    completion with a [`Status`].
//! 4. A flush covers the writes whose completion was polled before it was submitted.
//! 5. Durability goes by stamp: the top assigns rising stamps; a drive reports a landing once a track run, at its end or
//!    cut short, its sectors evenly in `from..to`; so any instant of a cut can be answered afterwards ([`cut`]). Each
//!    layer translates the landings of what it sent down into places and stamps of what it was sent.
//! 6. What a cut does to the sector under the head is a value of the profile ([`CutSector`]).
//! 7. The parts of a response are differences of instants, recorded by the component that spent the time; they add
//!    up exactly. On its way up a completion stays in one place, and each layer adds what it spent.
//! 8. Same inputs, same outputs.
//!
//! `testing::conformance` checks these rules on any device.

pub mod assurance;
pub mod cut;

use crate::parts::{DriveLog, Effort, Part, Parts};
use crate::time::{Instant, Span};

/// Bytes in one sector of the vocabulary: every `lba` and `sectors` counts these.
pub const SECTOR: u64 = 512;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Bytes from the medium to the host.
    Read,
    /// Bytes from the host to the medium.
    Write,
    /// A run of zeroes, no data on the link.
    WriteZeroes,
    /// Make everything completed before durable.
    Flush,
    /// These sectors are no longer needed.
    Trim,
    /// Processor time of the program itself; `sectors` counts microseconds. Drives refuse it.
    Compute,
}

/// Marks on a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(u8);

impl Flags {
    /// None.
    pub const NONE: Flags = Flags(0);
    /// Force unit access: a write completes only when it is on the medium, a read comes from the medium.
    pub const FUA: Flags = Flags(1);
    /// Serve all earlier requests before, all later ones after (SCSI ordered).
    pub const ORDERED: Flags = Flags(2);
    /// Serve next (SCSI head of queue).
    pub const HEAD_OF_QUEUE: Flags = Flags(4);
    /// Serve before what is not so marked, where the device makes that difference (NCQ's priority, SCSI's); a wish, which
    /// other devices pass over.
    pub const PRIORITY: Flags = Flags(8);
    /// A flush follows under the same tag, and the program is told of the two at once: how it forces a write where there
    /// is no [`FUA`](Flags::FUA). For whoever watches a source; taken off before a device has the request.
    pub const FLUSH_FOLLOWS: Flags = Flags(16);

    /// True when all of `other` are set.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// These but for `other`.
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }

    /// Both.
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// How requests stand to one another on the way to a drive. It decides what may be outstanding together, and what an
/// error does to the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Queuing {
    /// One command at a time (ATA without queuing).
    #[default]
    None,
    /// ATA's legacy tagged queuing: the bus is released and taken again for each command that is not served at once. A
    /// flush is not queued: nothing else is outstanding beside it. An error aborts the queue.
    Tcq,
    /// SATA's native queuing: the drive moves data when it has them. A flush is not queued, an error aborts the queue.
    Ncq,
    /// SCSI's tagged queuing: simple, ordered and head of queue. A flush is a command as any other, an error ends its
    /// command alone (QErr = 0).
    Scsi,
}

impl Queuing {
    /// ATA's kinds of queue: without [`Flags::ORDERED`] and [`Flags::HEAD_OF_QUEUE`], and aborted as a whole.
    pub const fn is_ata(self) -> bool {
        matches!(self, Queuing::Tcq | Queuing::Ncq)
    }
}

/// One request. A layer passes it on, splits it or merges it; it never changes its `stamp` downwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Names the request while it is in flight; chosen by whoever submits, unique among its requests in flight.
    pub tag: u32,
    /// Which of a device's units (a volume of a matrix, a drive on a shared channel).
    pub unit: u8,
    /// Which program it comes from.
    pub origin: u16,
    /// What is asked.
    pub op: Op,
    /// Marks.
    pub flags: Flags,
    /// First sector.
    pub lba: u64,
    /// Sectors; 0 for a flush.
    pub sectors: u32,
    /// Rises with every request the top issues; durability goes by it.
    pub stamp: u64,
}

impl Request {
    /// A place for one.
    pub const NONE: Request =
        Request { tag: 0, unit: 0, origin: 0, op: Op::Flush, flags: Flags::NONE, lba: 0, sectors: 0, stamp: 0 };

    /// The first sector after the request.
    pub fn end(&self) -> u64 {
        self.lba + u64::from(self.sectors)
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Done.
    Done,
    /// Taken back by a reset or an abort, or by another's error where that aborts the queue ([`Queuing`]).
    Aborted,
    /// The power went before it was done.
    PowerLost,
    /// Reaches past the end of the device.
    OutOfRange,
    /// The device has no such operation.
    Unsupported,
    /// The medium could not be read or written.
    MediumError,
}

/// The answer to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request's tag.
    pub tag: u32,
    /// How it ended.
    pub status: Status,
    /// When the device accepted it.
    pub submitted: Instant,
    /// When it was done; never later than the `now` at which it can be polled.
    pub finished: Instant,
    /// Where the time between went; the parts sum to `finished - submitted`.
    pub parts: Parts,
    /// What it asked of the processor.
    pub effort: Effort,
}

impl Completion {
    /// A place for one.
    pub const NONE: Completion = Completion {
        tag: 0,
        status: Status::Done,
        submitted: Instant::ZERO,
        finished: Instant::ZERO,
        parts: Parts::NONE,
        effort: Effort::NONE,
    };

    /// It answers what was accepted at `since` already, and waited in `part`.
    #[inline]
    pub fn extend_back(&mut self, part: Part, since: Instant) {
        self.parts.add(part, self.submitted.since(since));
        self.submitted = since;
    }
}

/// How far a device has come in virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    /// One has a completion.
    pub answered: bool,
    /// What `poll_timeout` would answer, `FAR` where nothing happens by itself; or the present or before, where completions
    /// may be polled.
    pub next: Instant,
}

/// What became of written sectors, or what a layer tells besides that decides what they are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LandingKind {
    /// All on the medium.
    Landed,
    /// A cut left the one sector unreadable.
    Torn,
    /// Volatile and lost at a cut, or superseded by a later write before it reached the medium.
    Discarded,
    /// Acknowledged and then forgotten by a fault.
    Dropped,
    /// Nothing has become of it yet: an array took the write, or began to rebuild these sectors, under this number. The run is
    /// the write as the array took it, where a layer above tells of its parts.
    Taken,
    /// The member is lost, with all that it holds. No sectors.
    Gone,
    /// The member holds again all that it should: its rebuild is over. No sectors.
    Whole,
}

/// What a place on a member is to whoever is above its array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// This copy of the sectors, from 0; a drive holds the only one.
    Copy(u32),
    /// The parity P (0) or Q (1) of the row of the sectors. They are those of the row's first column, right beside it.
    Parity(u32),
    /// The same as [`Role::Copy`], written by a rebuild: the data are those of the last writes before its number.
    RebuiltCopy(u32),
    /// The same as [`Role::Parity`], written by a rebuild: it belongs to all writes before its number.
    RebuiltParity(u32),
    /// All copies: something that has not come to any drive.
    Every,
}

/// A run of sectors that passed under a head without a pause, as the drive reported it. They pass evenly in `from..to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackRun {
    /// The drive's first sector.
    pub sector: u64,
    /// Sectors.
    pub sectors: u32,
    /// When the head came over the first sector.
    pub from: Instant,
    /// When it left the last.
    pub to: Instant,
}

/// A run of sectors written with one stamp, and what became of it: a track run or a part of one. Sectors reach the medium
/// evenly in `from..to`. Places and stamps are those of whoever asks: each layer translates what it sent down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Landing {
    /// Which drive of an array; 0 at a drive.
    pub member: u32,
    /// What the place is above the array.
    pub role: Role,
    /// First sector.
    pub lba: u64,
    /// Sectors.
    pub sectors: u32,
    /// The stamp of the write that brought them; of parity, that of the last write that it was made for. 0 for a rebuild.
    pub stamp: u64,
    /// An array numbers the writes that it takes, and the runs of its rebuilds, in the order in which they hold a row; 0
    /// without an array.
    pub number: u64,
    /// When the head came over the first sector.
    pub from: Instant,
    /// When it left the last.
    pub to: Instant,
    /// What became of them.
    pub kind: LandingKind,
    /// The first sector on the drive.
    pub sector: u64,
    /// What it is a part of.
    pub run: TrackRun,
}

/// What a power cut leaves of the sector under the writing head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CutSector {
    /// The drive has the energy to finish it.
    Finished,
    /// The old content stays.
    Old,
    /// Neither: it cannot be read.
    Unreadable,
}

/// What is done to a device beside requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control<'a> {
    /// The supply fails now: everything volatile is lost.
    PowerCut,
    /// An orderly power-off: what the device does before it stops is its own affair.
    PowerOff,
    /// The supply returns.
    PowerOn,
    /// Abort everything in flight; the cache stays.
    Reset,
    /// Abort one request.
    Abort(u32),
    /// Change a setting while running. `landings` = `on` asks for landings.
    Set {
        /// Dotted key below this device.
        key: &'a str,
        /// Its new value, as it would stand in a stack file.
        value: &'a str,
    },
}

/// Why a control was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ControlError {
    /// No such key here.
    UnknownKey,
    /// The key exists, the value does not fit it.
    BadValue,
    /// No request with that tag is in flight.
    UnknownTag,
    /// The device is off.
    PoweredOff,
}

/// What a unit of a device can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Capacity in sectors of 512 bytes.
    pub sectors: u64,
    /// Bytes in a logical sector: requests are whole multiples.
    pub logical: u32,
    /// Bytes in a physical sector: writes of less cost a read.
    pub physical: u32,
    /// Largest request in sectors.
    pub max_transfer: u32,
    /// Requests it takes at once.
    pub depth: u32,
    /// Honours [`Flags::FUA`].
    pub fua: bool,
    /// Acknowledges writes before they are durable.
    pub volatile_cache: bool,
    /// How its commands stand to one another.
    pub queuing: Queuing,
    /// Takes [`Op::Compute`]: there is a processor.
    pub computes: bool,
}

/// A thing that serves block requests. See the module's contract for the rules.
pub trait Device {
    /// What `unit` can do. Constant while the device is on.
    fn limits(&self, unit: u8) -> Limits;
    /// Takes a request and answers when to call next ([`Reached::next`]); or hands it back because there is no room, and only
    /// for that.
    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request>;
    /// Does something beside requests.
    fn control(&mut self, now: Instant, control: &Control<'_>) -> Result<(), ControlError>;
    /// When to call `handle_timeout` next; never at or before the last `now` once drained.
    fn poll_timeout(&self) -> Option<Instant>;
    /// Does all that is due by `now`, each thing at its own instant.
    fn handle_timeout(&mut self, now: Instant);
    /// The next answer that is ready.
    fn poll_completion(&mut self) -> Option<Completion>;
    /// The next landing; nothing unless `landings` was set `on`.
    fn poll_landing(&mut self) -> Option<Landing>;
    /// Tells the stamps of the writes that it has taken and of which something may still land; others beside them do no harm.
    fn unsettled(&self, tell: &mut dyn FnMut(u64));
    /// What the drives did until now.
    fn log(&self) -> DriveLog;
    /// Virtual time: does what is due, instant after instant, until one has a completion, and answers it (others of
    /// that instant can be polled); nothing when there is none by `until`, which may be `FAR`.
    fn proceed(&mut self, until: Instant) -> Option<Completion> {
        let mut answer = Completion::NONE;
        self.proceed_into(until, &mut answer).answered.then_some(answer)
    }
    /// The same, the completion put into the place of one that is over: it is too large to be moved.
    fn proceed_into(&mut self, until: Instant, answer: &mut Completion) -> Reached {
        loop {
            if let Some(completion) = self.poll_completion() {
                *answer = completion;
                return Reached { answered: true, next: completion.finished };
            }
            let next = self.poll_timeout().unwrap_or(Instant::FAR);
            if next > until || next == Instant::FAR {
                return Reached { answered: false, next };
            }
            self.handle_timeout(next);
        }
    }
}

impl<D: Device + ?Sized> Device for alloc::boxed::Box<D> {
    fn limits(&self, unit: u8) -> Limits {
        (**self).limits(unit)
    }
    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        (**self).submit(now, request)
    }
    fn control(&mut self, now: Instant, control: &Control<'_>) -> Result<(), ControlError> {
        (**self).control(now, control)
    }
    fn poll_timeout(&self) -> Option<Instant> {
        (**self).poll_timeout()
    }
    fn handle_timeout(&mut self, now: Instant) {
        (**self).handle_timeout(now);
    }
    fn poll_completion(&mut self) -> Option<Completion> {
        (**self).poll_completion()
    }
    fn poll_landing(&mut self) -> Option<Landing> {
        (**self).poll_landing()
    }
    fn unsettled(&self, tell: &mut dyn FnMut(u64)) {
        (**self).unsettled(tell);
    }
    fn log(&self) -> DriveLog {
        (**self).log()
    }
    fn proceed_into(&mut self, until: Instant, answer: &mut Completion) -> Reached {
        (**self).proceed_into(until, answer)
    }
}

/// What a source has for the engine at this instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Issue this now. The engine fills in `stamp`.
    Request(Request),
    /// This was done without the device: it is recorded, and nothing is issued.
    Served(Served),
    /// Nothing before this instant.
    At(Instant),
    /// Nothing before one of its requests completes.
    Completion,
    /// Nothing more, ever.
    Done,
}

/// A request that a source has served itself, from memory or by others that it issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// The worker in whose statistics it counts.
    pub worker: u16,
    /// What was asked.
    pub op: Op,
    /// First sector.
    pub lba: u64,
    /// Sectors.
    pub sectors: u32,
    /// When it was due.
    pub intended: Instant,
    /// When it was issued.
    pub issued: Instant,
    /// When it was done.
    pub finished: Instant,
    /// How much of the time from its issue was computing.
    pub computed: Span,
    /// It ended with an error.
    pub failed: bool,
}

/// Whoever issues requests: a workload, a file system, a recorded trace.
///
/// The engine asks `next` until it answers something else than a request, and again after every completion, whenever
/// the instant named by [`Next::At`] has come, and when it was lent to somebody who may have brought it something.
pub trait Source {
    /// What to do at `now`.
    fn next(&mut self, now: Instant) -> Next;
    /// One of its requests completed. Answers how the completion is to be counted.
    fn complete(&mut self, now: Instant, completion: &Completion) -> Counted;
    /// The device has no room for the request that it gave last; it is offered again until there is, and nothing else is
    /// asked for before. Only a source that accounts for its own lateness has to know.
    fn refused(&mut self, _now: Instant) {}
}

impl<S: Source + ?Sized> Source for alloc::boxed::Box<S> {
    fn next(&mut self, now: Instant) -> Next {
        (**self).next(now)
    }
    fn complete(&mut self, now: Instant, completion: &Completion) -> Counted {
        (**self).complete(now, completion)
    }
    fn refused(&mut self, now: Instant) {
        (**self).refused(now);
    }
}

/// How a completion is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// In the statistics of this worker. The response time runs from the issue, when the request was first offered to the
    /// device; the time since it was due by its arrival process is a figure of its own.
    In {
        /// Which worker: its index in its job, counted on through the jobs of several sources.
        worker: u16,
        /// When it was due.
        intended: Instant,
        /// What it stands for, where that is not the request itself: of a write and a flush of its own the flush is
        /// counted, as the write.
        served: Option<Forced>,
    },
    /// Not: ramp-up, or after the end of recording.
    Out,
}

/// A write that a flush of its own has made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forced {
    /// The write's operation.
    pub op: Op,
    /// Its sectors.
    pub sectors: u32,
    /// When it was issued, before its flush.
    pub issued: Instant,
}

/// The longest a request may be postponed: how far a queue can let others pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// No bound: a steady supply of better placed requests starves it.
    None,
    /// At most this many requests that came later are served first.
    Passes(u64),
    /// Nothing that came later by more than this is served before it.
    Wait(Span),
}
