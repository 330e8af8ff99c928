//! The drive: a [`Device`] made of geometry, mechanics, buffer and firmware.
//!
//! This file keeps the contract (what is due when, in which order); `firmware` says what happens at each instant.
//! Bytes and power-up time are not modelled.
//!
//! ```text
//!  submit -> electronics (overhead) -> buffer hit? ----------------------------> link -> completion
//!                                       | miss                                     ^
//!                                       v                                          |
//!                                     queue -> arm, platter (one access at a time) -+-> prefetch, destage
//! ```

pub mod access;
mod along;
pub mod cache;
pub mod dirty;
mod firmware;
pub mod geometry;
mod lone;
pub mod mechanics;
mod media_cache;
pub mod movement;
mod plan;
mod power;
pub mod profile;
mod queuing;
pub mod recovery;
pub mod segmentation;
pub mod stream;
mod turn;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use self::access::{Access, Sweep};
use self::cache::{Buffer, Lookup};
use self::geometry::Extent;
use self::mechanics::Arm;
use self::media_cache::MediaCache;
use self::movement::Listener;
use self::profile::Profile;
use self::queuing::Candidates;
use self::segmentation::Segmentation;
use self::stream::{Platter, Stream};
use crate::block::{Completion, Control, ControlError, Device, Landing, Limits, Reached, Request, SECTOR, Status};
use crate::queue::Queue;
use crate::record::{DriveLog, Effort, Ledger};
use crate::time::{Instant, Rate, Span};

/// A drive. Built from a checked [`Profile`].
pub struct Drive {
    profile: Profile,
    buffer: Buffer,
    media_cache: Option<MediaCache>,
    /// With an adaptive buffer.
    segmentation: Option<Segmentation>,
    slots: Vec<Slot>,
    free: Vec<u16>,
    /// Commands in the electronics, by the instant at which they are decoded.
    arriving: VecDeque<(Instant, u16)>,
    /// Commands that want the medium.
    commands: Candidates,
    /// Dirty segments that want the medium, as of the last choice among them: those below `joined`, less those that had
    /// `left` by then.
    destages: Queue<Destage>,
    joined: u64,
    left: u64,
    /// Decoded commands that wait for others to be done, and the one that others wait for.
    held: VecDeque<u16>,
    alone: Option<u16>,
    /// Writes that wait for a segment.
    parked: VecDeque<u16>,
    /// Flushes, with the number below which dirty segments must be gone.
    flushes: VecDeque<(u16, u64)>,
    /// What is being written back is so for one of them.
    for_flush: bool,
    /// Commands whose end is known, soonest first.
    finishing: VecDeque<(Instant, u16)>,
    ready: VecDeque<Completion>,
    landings: VecDeque<Landing>,
    landings_wanted: bool,
    activity: Activity,
    arm: Arm,
    log: DriveLog,
    /// Who is told of movements.
    listener: Option<Listener>,
    /// The last seek went to higher cylinders.
    inward: bool,
    /// The physical sector, counted from 0, that the last write ended in the middle of: the drive knows all of it.
    half_written: Option<u64>,
    /// The next access may be chosen from here on.
    choose_from: Instant,
    /// The electronics take the next command from here on.
    electronics: Instant,
    /// The link is free from here on.
    link: Instant,
    /// It is free until it takes up data that wait for the platter.
    idle: (Instant, Instant),
    /// When it took up the data that it moved last without a pause, and when it is done with them.
    moving: (Instant, Instant),
    /// No command has been in flight since.
    quiet: Instant,
    /// Destaging because nothing else was to do.
    tidying: bool,
    power: Power,
    /// The last command that was taken, flushes apart, was a write.
    wrote: bool,
    /// How fast the link moves data to the host, and to the drive.
    rate: Rate,
    write_rate: Rate,
    /// How long one sector takes to the host.
    last_sector: Span,
    /// `FAR` when nothing happens by itself.
    next: Instant,
    clock: Instant,
}

/// A command in flight.
#[derive(Clone, Copy, Debug)]
struct Slot {
    request: Request,
    ledger: Ledger,
    stage: Stage,
    outcome: Status,
    /// How a read stood to the buffer when it was last looked up, and the buffer's version then.
    seen: (u64, Lookup),
    /// Where its first block is, and what follows it on its track; known once it is queued.
    first: Extent,
    /// A write's data come over the link from here on, and are all in the buffer from there on.
    data: (Instant, Instant),
    /// Blocks of a cached write that are in the buffer, or on their way there.
    stored: u32,
    /// Blocks of a read before this one have been looked for in the media cache.
    gathered: u64,
    /// It has let the bus go and must have it again.
    released: bool,
    /// That the host sees of it.
    interrupts: u16,
    /// A write that goes round in its segment: acknowledged before it is all on the medium.
    round: bool,
    /// A read that may be followed by a read-ahead.
    ahead: bool,
    /// When a read's data have crossed the link, once that is known.
    carried: Option<Instant>,
    /// It is held back, and what stands alone before it is not over.
    behind: bool,
}

/// Where a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
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

/// What the arm and the heads are doing.
#[derive(Clone, Copy, Debug)]
enum Activity {
    /// Nothing.
    Idle,
    /// An access for a command or of a dirty segment.
    Access {
        /// Its blocks and its start.
        access: Access,
        /// Its course.
        sweep: Sweep,
        /// What for.
        purpose: Purpose,
        /// The read-ahead that follows it.
        then: Option<Stream>,
    },
    /// Reading ahead.
    Prefetch(Stream),
}

/// What an access is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// The command in this slot, its data going into this segment.
    Command { slot: u16, segment: Option<usize> },
    /// Writing out this segment, to its place or into the media cache.
    Destage(usize),
    /// Moving data from the media cache home.
    Moving,
}

/// A candidate for the medium: its first track, for choosing.
#[derive(Clone, Copy, Debug)]
struct Target {
    slot: u16,
    head: u8,
    write: bool,
    cylinder: u32,
    angle: u64,
    /// The longest that it can wait for the platter.
    longest: Span,
}

/// A dirty segment as a candidate for the medium.
#[derive(Clone, Copy, Debug)]
struct Destage {
    segment: usize,
    /// Its number among all that became dirty.
    serial: u64,
    target: Target,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Power {
    On,
    /// Finishing and destaging before it stops.
    Stopping,
    Off,
}

impl Slot {
    /// The answer to its command, done at `finished`.
    fn completion(&self, finished: Instant) -> Completion {
        let mut answer = Completion::NONE;
        self.answer(finished, &mut answer);
        answer
    }

    /// The same, put into the place of one that is over.
    #[inline]
    fn answer(&self, finished: Instant, answer: &mut Completion) {
        answer.tag = self.request.tag;
        answer.status = self.outcome;
        (answer.submitted, answer.finished) = (self.ledger.start(), finished);
        answer.parts = self.ledger.parts();
        answer.effort = Effort { interrupts: self.interrupts, ..Effort::COMMAND };
    }

    fn free() -> Slot {
        Slot {
            request: Request::NONE,
            ledger: Ledger::open(Instant::ZERO),
            stage: Stage::Free,
            outcome: Status::Done,
            seen: (u64::MAX, Lookup::Miss),
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
}

impl Drive {
    /// A drive at rest, its platter turned by `phase` (a share of a revolution in 64 bits) at time 0.
    /// Panics when [`Profile::check`] fails.
    pub fn new(profile: Profile, phase: u64) -> Drive {
        if let Err(error) = profile.check() {
            panic!("profile {}: {} must be {}", profile.name, error.field, error.expected);
        }
        let mut profile = profile;
        profile.mechanics = profile.mechanics.with_phase(phase);
        let depth = profile.firmware.depth;
        let cache = profile.cache;
        // A write that is acknowledged and still draining keeps its slot.
        let capacity = depth as usize + usize::from(cache.wraps);
        Drive {
            media_cache: cache.media_cache.as_ref().map(MediaCache::new),
            buffer: Buffer::of(&cache),
            segmentation: cache.adaptive.map(|adaptive| Segmentation::new(adaptive, cache.segments)),
            slots: alloc::vec![Slot::free(); capacity],
            free: (0..capacity as u16).rev().collect(),
            arriving: VecDeque::with_capacity(capacity),
            commands: Candidates::new(profile.firmware.queue, capacity),
            destages: Queue::new(profile.firmware.destage, cache.most_dirty() as usize),
            joined: 0,
            left: 0,
            held: VecDeque::new(),
            alone: None,
            parked: VecDeque::with_capacity(capacity),
            flushes: VecDeque::new(),
            for_flush: false,
            finishing: VecDeque::with_capacity(capacity),
            ready: VecDeque::with_capacity(capacity),
            landings: VecDeque::new(),
            landings_wanted: false,
            activity: Activity::Idle,
            arm: Arm::default(),
            log: DriveLog::default(),
            listener: None,
            inward: true,
            half_written: None,
            choose_from: Instant::ZERO,
            electronics: Instant::ZERO,
            link: Instant::ZERO,
            idle: (Instant::ZERO, Instant::ZERO),
            moving: (Instant::ZERO, Instant::ZERO),
            quiet: Instant::ZERO,
            tidying: false,
            power: Power::On,
            wrote: false,
            last_sector: Rate::new(profile.link.rate).time(SECTOR),
            rate: Rate::new(profile.link.rate),
            write_rate: Rate::new(profile.link.write_rate),
            next: Instant::FAR,
            clock: Instant::ZERO,
            profile,
        }
    }

    /// Its description.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// An acknowledged write is still on its way to the medium, beside what is dirty in the buffer.
    fn is_draining(&self) -> bool {
        let Activity::Access { purpose: Purpose::Command { slot, .. }, .. } = self.activity else {
            return false;
        };
        self.slots[usize::from(slot)].stage == Stage::Draining
    }

    /// An access begins at `cylinder`, the heads being at `from`.
    fn note_seek(&mut self, from: u32, cylinder: u32) {
        if from != cylinder {
            let inward = cylinder > from;
            self.log.reversals += u64::from(self.log.seeks > 0 && inward != self.inward);
            self.log.seeks += 1;
            self.inward = inward;
        }
    }

    fn platter(&self) -> Platter<'_> {
        Platter { geometry: &self.profile.geometry, mechanics: &self.profile.mechanics }
    }

    /// Does all that is due by `now`, each thing at its own instant.
    #[inline]
    fn advance(&mut self, now: Instant) {
        assert!(now >= self.clock, "time ran back");
        if self.next <= now {
            self.pass_events(now);
        }
        self.clock = now;
    }

    fn pass_events(&mut self, now: Instant) {
        while self.next <= now && self.next != Instant::FAR {
            let at = self.next;
            self.clock = at;
            self.due(at);
            self.next = self.next_event();
        }
    }

    /// When to call next: at once where something can be polled.
    #[inline]
    fn call_at(&self, now: Instant) -> Instant {
        if self.ready.is_empty() { self.next } else { now }
    }

    /// The soonest instant at which something happens by itself, or `FAR`.
    fn next_event(&self) -> Instant {
        let mut next = Instant::FAR;
        if let Some(&(at, _)) = self.arriving.front() {
            next = next.min(at);
        }
        if let Some(&(at, _)) = self.finishing.front() {
            next = next.min(at);
        }
        if let Activity::Access { sweep, .. } = &self.activity {
            next = next.min(sweep.end);
        } else if let Some(at) = self.choose_at() {
            next = next.min(at);
        }
        next
    }
}

const NOWHERE: Extent = Extent { lba: 0, sectors: 0, cylinder: 0, head: 0, angle: 0, slot: 0, before: 0, behind: 0 };

impl Device for Drive {
    fn limits(&self, _unit: u8) -> Limits {
        Limits {
            sectors: self.profile.geometry.sectors(),
            logical: 512,
            physical: self.profile.physical_sector,
            zones: None,
            max_transfer: self.profile.link.max_transfer,
            depth: self.profile.firmware.depth,
            fua: self.profile.link.fua,
            volatile_cache: self.profile.cache.write_back,
            queuing: self.profile.link.queuing,
            computes: false,
        }
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        self.advance(now);
        let spare = self.slots.len() - self.profile.firmware.depth as usize;
        if self.free.len() + usize::from(self.is_draining()) <= spare {
            return Err(request);
        }
        let Some(slot) = self.free.pop() else {
            return Err(request);
        };
        let decoded = self.accept(now, slot, request);
        // Where nothing was to happen by itself, its decoding is what comes next.
        self.next = if self.next == Instant::FAR { decoded } else { self.next_event() };
        self.advance(now);
        Ok(self.call_at(now))
    }

    fn control(&mut self, now: Instant, control: &Control<'_>) -> Result<(), ControlError> {
        self.advance(now);
        let done = self.obey(now, control);
        self.next = self.next_event();
        self.advance(now);
        done
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Instant> {
        (self.next != Instant::FAR).then_some(self.next)
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.advance(now);
    }

    #[inline]
    fn poll_completion(&mut self) -> Option<Completion> {
        self.ready.pop_front()
    }

    fn log(&self) -> DriveLog {
        self.log
    }

    fn poll_landing(&mut self) -> Option<Landing> {
        self.landings.pop_front()
    }

    fn unsettled(&self, tell: &mut dyn FnMut(u64)) {
        self.tell_unsettled(tell);
    }

    fn proceed_into(&mut self, until: Instant, answer: &mut Completion) -> Reached {
        if self.ready.is_empty()
            && let Some((slot, finished)) = self.lone_read(until)
        {
            self.slots[usize::from(slot)].answer(finished, answer);
            return Reached { answered: true, next: self.next };
        }
        loop {
            if let Some(completion) = self.ready.pop_front() {
                *answer = completion;
                return Reached { answered: true, next: self.call_at(completion.finished) };
            }
            if self.next > until || self.next == Instant::FAR {
                return Reached { answered: false, next: self.next };
            }
            self.advance(self.next);
        }
    }
}
