//! The vocabulary of block requests, and the contract of every device.
//!
//! Workloads, host layers and drives meet in this module; none of them knows the others. A workload is a [`Source`] of
//! requests. A drive is a [`Device`], and so is every layer above it; each layer owns the devices below it. Nothing
//! here holds state.
//!
//! # The contract
//! 1. After `submit`, `control` or `handle_timeout(now)` everything due by `now` is done and its completions can be
//!    polled. After draining them, `poll_timeout` is later than `now`. Drain after `submit` too, unless the instant
//!    that it returns ([`DeviceProgress::next`]) is later than `now`: then there is no completion, and `poll_timeout` is that
//!    instant. `handle_timeout(now)` comes before `submit` or `control` at the same `now`. Events of one instant are
//!    ordered by member of an array, then by tag.
//! 2. Late calls change nothing: each layer steps its children through their own instants, so any coarser stepping
//!    gives the same completions.
//! 3. Each accepted tag completes exactly once, also through a power cut, a reset or an abort. `Err` from `submit`
//!    means that the device is full: try again after any completion or timeout. Every other failure is a completion
//!    with a [`Status`].
//! 4. A flush covers the writes whose completions were polled before it was submitted.
//! 5. Each write has a stamp. The source of the requests assigns rising stamps. A drive reports a [`Landing`]
//!    for each run of sectors that it wrote on a track, at the run's end or when it is cut short; its sectors pass
//!    evenly in `from..to`. So the state after a cut at any instant can be computed afterwards ([`cut`]). Each layer
//!    translates the landings of the requests that it sent down into the addresses and stamps of the requests that it
//!    received.
//! 6. The profile states what a cut does to the sector under the head ([`CutSector`]).
//! 7. The parts of a response are differences of instants, recorded by the component that spent the time; they add up
//!    exactly. On its way up a completion stays in one place, and each layer adds what it spent.
//! 8. Equal inputs give equal outputs.
//!
//! `testing::conformance` checks these rules on any device.

pub mod array_load;
pub mod assurance;
pub mod busy_curve;
pub mod cut;
pub mod setting;
pub mod setting_use;

use alloc::boxed::Box;
use core::fmt;

use self::array_load::ArrayLoad;
use self::busy_curve::BusyCurve;
use self::setting::LayerSetting;
use self::setting_use::SettingUse;
use crate::parts::{DriveLog, Effort, Part, Parts};
use crate::time::{Instant, Span};

/// Bytes in a sector of the vocabulary. Every `lba` and `sectors` counts in this unit.
pub const SECTOR: u64 = 512;

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    Read,
    Write,
    /// Write zeroes; no data crosses the link.
    WriteZeroes,
    /// Make everything that completed before durable.
    Flush,
    /// The host no longer needs these sectors.
    Trim,
    /// Processor time of the program itself; `sectors` counts microseconds. Drives refuse it.
    Compute,
}

/// Flags of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flags(u8);

impl Flags {
    /// No flag.
    pub const NONE: Flags = Flags(0);
    /// Force unit access: a write completes only when it is on the medium; a read comes from the medium.
    pub const FUA: Flags = Flags(1);
    /// Serve all earlier requests before it and all later ones after it (SCSI ordered).
    pub const ORDERED: Flags = Flags(2);
    /// Serve next (SCSI head of queue).
    pub const HEAD_OF_QUEUE: Flags = Flags(4);
    /// Serve it before requests without this flag, on devices that support priorities (NCQ, SCSI). Other devices ignore
    /// it.
    pub const PRIORITY: Flags = Flags(8);
    /// A flush follows under the same tag, and the program learns of both at once: a write forced without
    /// [`FUA`](Flags::FUA). For observers of a source and for records only; no device receives it.
    pub const FLUSH_FOLLOWS: Flags = Flags(16);
    /// Write-back that no program waits for. An array with parity may delay it so that a row gathers (Linux: a write without
    /// `REQ_SYNC`); other layers and drives treat it as any write.
    pub const BACKGROUND: Flags = Flags(32);

    /// True if all flags of `other` are set.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the flags that are not in `other`.
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }

    /// Returns the flags of both.
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// The command queuing of a drive: which commands may be outstanding together, and what an error does to the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Queuing {
    /// No queuing: a single command at a time (ATA).
    #[default]
    None,
    /// ATA's legacy tagged queuing. The drive releases the bus and takes it again for each command that it does not
    /// serve at once. A flush is not queued: nothing else is outstanding with it. An error aborts the queue.
    Tcq,
    /// SATA's native command queuing. The drive moves data when it has them. A flush is not queued; an error aborts the
    /// queue.
    Ncq,
    /// SCSI's tagged queuing: simple, ordered and head of queue. A flush is a command like any other; an error ends
    /// only its own command (QErr = 0).
    Scsi,
}

impl Queuing {
    /// True for ATA's kinds of queue: they have no [`Flags::ORDERED`] or [`Flags::HEAD_OF_QUEUE`], and an error aborts
    /// the whole queue.
    pub const fn is_ata(self) -> bool {
        matches!(self, Queuing::Tcq | Queuing::Ncq)
    }
}

/// A request. A layer passes it on, splits it or merges it, and keeps its `stamp` on the way down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Names the request while it is in flight. The submitter chooses it, unique among its requests in flight.
    pub tag: u32,
    /// The unit of the device (a volume of a matrix, a drive on a shared channel).
    pub unit: u8,
    /// The program that it comes from.
    pub origin: u16,
    pub op: Op,
    pub flags: Flags,
    pub lba: u64,
    /// In sectors; 0 for a flush.
    pub sectors: u32,
    /// Rises with every request that the top issues. Durability goes by it.
    pub stamp: u64,
}

impl Request {
    /// A placeholder.
    pub const NONE: Request =
        Request { tag: 0, unit: 0, origin: 0, op: Op::Flush, flags: Flags::NONE, lba: 0, sectors: 0, stamp: 0 };

    /// The first sector after the request. The sum saturates: if it wrapped, it would be an address on the device.
    pub fn end(&self) -> u64 {
        self.lba.saturating_add(u64::from(self.sectors))
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    Done,
    /// Aborted by a reset, by an abort, or by another command's error where that aborts the queue ([`Queuing`]).
    Aborted,
    /// The power failed before it was done.
    PowerLost,
    /// The request reaches past the end of the device.
    OutOfRange,
    /// The device does not support the operation.
    Unsupported,
    /// The medium could not be read or written.
    MediumError,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Status::Done => "it was done",
            Status::Aborted => "it was aborted",
            Status::PowerLost => "the power failed before it was done",
            Status::OutOfRange => "it reaches past the end of the device",
            Status::Unsupported => "the device does not support it",
            Status::MediumError => "the medium could not be read or written",
        })
    }
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    pub tag: u32,
    pub status: Status,
    /// When the device accepted the request.
    pub submitted: Instant,
    /// When the request was done; never later than the `now` at which it can be polled.
    pub finished: Instant,
    /// Where the time went. The parts add up to `finished - submitted`.
    pub parts: Parts,
    /// The work that the request caused on the host's processor.
    pub effort: Effort,
}

impl Completion {
    /// A placeholder.
    pub const NONE: Completion = Completion {
        tag: 0,
        status: Status::Done,
        submitted: Instant::ZERO,
        finished: Instant::ZERO,
        parts: Parts::NONE,
        effort: Effort::NONE,
    };

    /// Moves `submitted` back to `since`; the time in between counts as `part`.
    #[inline]
    pub(crate) fn extend_back(&mut self, part: Part, since: Instant) {
        self.parts.add(part, self.submitted.since(since));
        self.submitted = since;
    }
}

/// How far a device has come in virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceProgress {
    /// A request has completed.
    pub answered: bool,
    /// The answer of `poll_timeout`, or `FAR` if nothing happens by itself. Completions may be ready if it is not later
    /// than the present.
    pub next: Instant,
}

/// The fate of written sectors, or an event of an array that bears on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LandingKind {
    /// All sectors are on the medium.
    Landed,
    /// A cut left this sector unreadable.
    Torn,
    /// The data were volatile and lost at a cut, or a later write superseded them before they reached the medium.
    Discarded,
    /// A fault lost the data after they were acknowledged.
    Dropped,
    /// Undecided: an array accepted the write, or began to rebuild these sectors, under this number. The run is the
    /// write as the array received it; a layer above reports its parts.
    Taken,
    /// The member is lost with all its data. Has no sectors.
    Gone,
    /// The rebuild is over: the member holds all its data again. Has no sectors.
    Whole,
}

/// The role of an address on a member, as seen from above the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemberRole {
    /// A copy of the sectors, by number from 0. A single drive holds copy 0.
    Copy(u32),
    /// Parity P (0) or Q (1) of the row. The sectors are those of the row's first column, at the same offset.
    Parity(u32),
    /// As [`MemberRole::Copy`], but written by a rebuild: the data are those of the last writes before its number.
    RebuiltCopy(u32),
    /// As [`MemberRole::Parity`], but written by a rebuild: it covers all writes before its number.
    RebuiltParity(u32),
    /// All copies: the data have reached no drive yet.
    Every,
}

/// Sectors that passed under a head without a pause, evenly in `from..to`, as the drive reported them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackRun {
    /// The first sector on the drive.
    pub sector: u64,
    pub sectors: u32,
    /// When the head reached the first sector.
    pub from: Instant,
    /// When the head left the last sector.
    pub to: Instant,
}

/// A run of sectors written with one stamp, and what happened to it: a track run or a part of one. The sectors reach
/// the medium evenly in `from..to`. Addresses and stamps are the caller's: each layer translates those of the requests
/// that it sent down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Landing {
    /// The drive of an array; 0 without an array.
    pub member: u32,
    pub role: MemberRole,
    pub lba: u64,
    pub sectors: u32,
    /// The stamp of the write that brought the data; for parity, that of the last write that it covers; 0 for a
    /// rebuild.
    pub stamp: u64,
    /// An array numbers the writes that it accepts and the runs of its rebuilds in the order in which they lock a row;
    /// 0 without an array.
    pub number: u64,
    /// When the head reached the first sector.
    pub from: Instant,
    /// When the head left the last sector.
    pub to: Instant,
    pub kind: LandingKind,
    /// The first sector on the drive.
    pub sector: u64,
    /// The track run that it is part of.
    pub run: TrackRun,
}

/// The effect of a power cut on the sector under the writing head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CutSector {
    /// The drive has enough energy to finish it.
    Finished,
    /// The old content stays.
    Old,
    Unreadable,
}

/// An event at a device other than a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Control {
    /// The supply fails: all volatile data are lost.
    PowerCut,
    /// An orderly power-off. The device decides what to do before it stops.
    PowerOff,
    PowerOn,
    /// Abort everything in flight; the cache stays.
    Reset,
    /// Abort the request with this tag.
    Abort(u32),
    /// Change a setting while the device runs.
    Set(LayerSetting),
}

/// Why a control was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ControlError {
    /// No layer has such a setting.
    UnknownKey,
    /// The value does not fit the setting.
    BadValue,
    /// No request with that tag is in flight.
    UnknownTag,
    PoweredOff,
}

/// The capabilities of a unit of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Capacity in sectors of 512 bytes.
    pub sectors: u64,
    /// Bytes in a logical sector; requests are multiples of it.
    pub logical: u32,
    /// Bytes in a physical sector; smaller writes cost a read.
    pub physical: u32,
    /// Largest request in sectors.
    pub max_transfer: u32,
    /// The length in sectors of the requests that it serves best: the data of an array's row; 0 if none is stated.
    pub optimal_transfer: u32,
    /// How many requests the device accepts at once.
    pub depth: u32,
    /// Honours [`Flags::FUA`].
    pub fua: bool,
    /// Acknowledges writes before they are durable.
    pub volatile_cache: bool,
    pub queuing: Queuing,
    /// Accepts [`Op::Compute`]: a processor is modelled.
    pub computes: bool,
}

/// A device that serves block requests. The module states its contract.
pub trait Device {
    /// The capabilities of `unit`. While the device is on, only settings may change them (`volatile_cache`, `fua`);
    /// a cache that was switched off is stated until its dirty data are written.
    fn limits(&self, unit: u8) -> Limits;
    /// Accepts a request and returns when to call next ([`DeviceProgress::next`]), or hands the request back if, and only if,
    /// the device is full.
    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request>;
    /// Applies a control.
    fn control(&mut self, now: Instant, control: &Control) -> Result<(), ControlError>;
    /// When to call `handle_timeout` next. Once completions are drained it is later than the last `now`.
    fn poll_timeout(&self) -> Option<Instant>;
    /// Does everything that is due by `now`, each thing at its own instant.
    fn handle_timeout(&mut self, now: Instant);
    /// The next completion that is ready.
    fn poll_completion(&mut self) -> Option<Completion>;
    /// The next landing. There is none unless [`LayerSetting::Landings`] is on.
    fn poll_landing(&mut self) -> Option<Landing>;
    /// Reports the stamps of the accepted writes that may still land, and possibly others.
    fn report_unsettled(&self, report_stamp: &mut dyn FnMut(u64));
    /// The log of the drives' work so far.
    fn drive_log(&self) -> DriveLog;
    /// The use of the device's settings by `now`. A device that does not count reports all of them as used.
    fn setting_use(&self, _now: Instant) -> SettingUse {
        SettingUse::ALL
    }
    /// The load of the processor's cores until `now`; `None` without a processor.
    fn core_load(&self, _now: Instant) -> Option<BusyCurve> {
        None
    }
    /// The work of an array and its members until `now`; `None` without an array.
    fn array_load(&self, _now: Instant) -> Option<ArrayLoad> {
        None
    }
    /// Copies the device with all its state, so that equal calls of both give equal answers; `None` if it cannot be copied:
    /// a real device, or one with an observer ([`witness`](crate::witness)). Every modelled device can.
    fn fork(&self) -> Option<Box<dyn Device>> {
        None
    }
    /// True if the device is idle and would have nothing else to do or to answer between the start and the end of this
    /// request: then [`Device::run_alone`] may be called instead of [`Device::submit`].
    fn can_run_alone(&self, _request: &Request) -> bool {
        false
    }
    /// Runs a request that [goes alone](Device::can_run_alone) from `now` to its end in virtual time, and writes its completion
    /// to `answer`. False if it cannot, or not by `until`: then nothing has changed, and the request must be submitted.
    fn run_alone(&mut self, _now: Instant, _request: &Request, _until: Instant, _answer: &mut Completion) -> bool {
        false
    }
    /// Runs in virtual time until a request completes and returns that completion (others of the same instant can be
    /// polled), or nothing if none completes by `until`, which may be `FAR`.
    fn proceed(&mut self, until: Instant) -> Option<Completion> {
        let mut answer = Completion::NONE;
        self.proceed_into(until, &mut answer).answered.then_some(answer)
    }
    /// As [`Device::proceed`], but writes the completion to `answer`: it is too large to move.
    fn proceed_into(&mut self, until: Instant, answer: &mut Completion) -> DeviceProgress {
        loop {
            if let Some(completion) = self.poll_completion() {
                *answer = completion;
                return DeviceProgress { answered: true, next: completion.finished };
            }
            let next = self.poll_timeout().unwrap_or(Instant::FAR);
            if next > until || next == Instant::FAR {
                return DeviceProgress { answered: false, next };
            }
            self.handle_timeout(next);
        }
    }
}

impl<D: Device + ?Sized> Device for Box<D> {
    fn limits(&self, unit: u8) -> Limits {
        (**self).limits(unit)
    }
    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        (**self).submit(now, request)
    }
    fn control(&mut self, now: Instant, control: &Control) -> Result<(), ControlError> {
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
    fn report_unsettled(&self, report_stamp: &mut dyn FnMut(u64)) {
        (**self).report_unsettled(report_stamp);
    }
    fn drive_log(&self) -> DriveLog {
        (**self).drive_log()
    }
    fn setting_use(&self, now: Instant) -> SettingUse {
        (**self).setting_use(now)
    }
    fn core_load(&self, now: Instant) -> Option<BusyCurve> {
        (**self).core_load(now)
    }
    fn array_load(&self, now: Instant) -> Option<ArrayLoad> {
        (**self).array_load(now)
    }
    fn fork(&self) -> Option<Box<dyn Device>> {
        (**self).fork()
    }
    fn can_run_alone(&self, request: &Request) -> bool {
        (**self).can_run_alone(request)
    }
    fn run_alone(&mut self, now: Instant, request: &Request, until: Instant, answer: &mut Completion) -> bool {
        (**self).run_alone(now, request, until, answer)
    }
    fn proceed_into(&mut self, until: Instant, answer: &mut Completion) -> DeviceProgress {
        (**self).proceed_into(until, answer)
    }
}

/// The answer of a source to the engine at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourcePoll {
    /// Issue this request now. The engine fills in `stamp`.
    Request(Request),
    /// Served without the device. The engine records it and issues nothing.
    Served(ServedRequest),
    /// Nothing before this instant.
    At(Instant),
    /// Nothing before one of the source's requests completes.
    Completion,
    Done,
}

/// A request that a source served itself, from memory or through other requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServedRequest {
    /// The worker in whose statistics it counts.
    pub worker: u16,
    pub op: Op,
    pub lba: u64,
    pub sectors: u32,
    pub intended: Instant,
    pub issued: Instant,
    pub finished: Instant,
    /// How much of the time since its issue was computing.
    pub computed: Span,
    /// The request ended with an error.
    pub failed: bool,
}

/// A source of requests: a workload, a file system, a recorded trace.
///
/// The engine calls `next` until it returns something other than a request, or `awaits_completion` says that it would; and again after
/// every completion, at the instant named by [`SourcePoll::At`], and after an access to the source from outside.
pub trait Source {
    /// The next action at `now`.
    fn next(&mut self, now: Instant) -> SourcePoll;
    /// Handles the completion of one of its requests. Returns how to count it.
    fn complete(&mut self, now: Instant, completion: &Completion) -> Accounting;
    /// Notes that the full device refused the last request. The engine offers it again until the device accepts it, and
    /// asks for nothing else before. Only a source that accounts for its own lateness needs this.
    fn handle_refusal(&mut self, _now: Instant) {}
    /// True if, right after a request at `now`, the next answer would be [`SourcePoll::Completion`]; the engine then does not
    /// ask for it. A source that would have to search says false.
    fn awaits_completion(&self, _now: Instant) -> bool {
        false
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn next(&mut self, now: Instant) -> SourcePoll {
        (**self).next(now)
    }
    fn complete(&mut self, now: Instant, completion: &Completion) -> Accounting {
        (**self).complete(now, completion)
    }
    fn handle_refusal(&mut self, now: Instant) {
        (**self).handle_refusal(now);
    }
    fn awaits_completion(&self, now: Instant) -> bool {
        (**self).awaits_completion(now)
    }
}

/// How to count a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accounting {
    /// In the statistics of this worker. The response time runs from the issue, when the request was first offered to
    /// the device. The time since it was due by its arrival process is a separate figure.
    In {
        /// The worker's index in its job; with several sources, the indexes continue through their jobs.
        worker: u16,
        intended: Instant,
        /// The write that this flush made durable, if it followed a write of its own: the flush is counted as that
        /// write.
        served: Option<ForcedWrite>,
    },
    /// Not at all: ramp time, or after the end of recording.
    Out,
}

/// A write made durable by a flush of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForcedWrite {
    pub op: Op,
    pub sectors: u32,
    /// When the write was issued, before its flush.
    pub issued: Instant,
}
