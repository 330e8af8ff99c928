//! A host bus adapter: a limit on commands outstanding, its own cost of each command, one after another,
//! and the bus to memory, its own or shared by all units below.
//!
//! Data cut through: the bus moves a request's bytes while the drive does, one request after another, and only what it
//! is behind when the drive is done delays the completion. When the drive began to move them is taken from the parts
//! that it reports as transfer and link.
//!
//! With programmed input and output the processor is asked for the time of each transfer and for an interrupt a block
//! ([`Effort`]); the transfer itself takes its time on the drive's link. Interrupts may be held back so that several
//! commands share one.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::block::{Completion, Control, ControlError, Device, Landing, Limits, Op, Request, SECTOR, Status};
use crate::record::{DriveLog, Effort, Ledger, Part};
use crate::time::{Instant, Rate, Span};

/// What a controller does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControllerSpec {
    /// Commands outstanding at once: 1 without queuing, 32 for AHCI with NCQ.
    pub depth: u32,
    /// Its own cost of a command.
    pub command: Span,
    /// Bytes a second that its bus moves.
    pub rate: u64,
    /// The processor moves the data itself.
    pub programmed: Option<Programmed>,
    /// Completions that share an interrupt.
    pub coalesce: Option<Coalesce>,
}

/// Programmed input and output: the processor moves the data word by word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Programmed {
    /// Bytes a second that it moves.
    pub rate: u64,
    /// Sectors that it moves for each interrupt.
    pub block: u32,
}

/// An interrupt is held back until so many commands are done, or the first of them has waited for so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalesce {
    /// Commands; at least 2.
    pub count: u32,
    /// How long.
    pub wait: Span,
}

impl ControllerSpec {
    /// A bus of `rate` bytes a second that data cross by themselves.
    pub const fn plain(depth: u32, command: Span, rate: u64) -> ControllerSpec {
        ControllerSpec { depth, command, rate, programmed: None, coalesce: None }
    }
}

/// A command that the controller holds.
#[derive(Clone, Copy)]
struct Held {
    request: Request,
    ledger: Ledger,
    effort: Effort,
}

/// The controller.
pub struct Controller {
    below: Box<dyn Device>,
    command: Span,
    slots: Vec<Option<Held>>,
    free: Vec<u32>,
    /// Commands that the adapter is working on, by when it is done with each.
    working: VecDeque<(Instant, u32)>,
    /// The adapter takes the next from here on.
    idle_from: Instant,
    rate: Rate,
    /// The bus is free from here on.
    bus: Instant,
    /// Commands whose data are still on the bus, by when the last is over; rising.
    moving: VecDeque<(Instant, u32)>,
    /// When something happens below; `FAR` when nothing does by itself.
    below_next: Instant,
    /// When something is due here.
    own_next: Instant,
    ready: VecDeque<Completion>,
    programmed: Option<(Rate, u32)>,
    coalesce: Option<Coalesce>,
    /// Done, but the interrupt is held back.
    batch: VecDeque<u32>,
    /// When it is raised at the latest.
    raise: Instant,
}

impl Controller {
    /// A controller above `below`.
    pub fn new(spec: ControllerSpec, below: Box<dyn Device>) -> Controller {
        let depth = spec.depth.min(below.limits(0).depth).max(1);
        Controller::of(ControllerSpec { depth, ..spec }, below)
    }

    /// A bus of `rate` bytes a second that the first `units` units of `below` share. It costs a command nothing and holds
    /// none back.
    pub fn bus(rate: u64, below: Box<dyn Device>, units: u32) -> Controller {
        let depth = (0..units).map(|unit| below.limits(unit as u8).depth).sum();
        Controller::of(ControllerSpec::plain(depth, Span::ZERO, rate), below)
    }

    fn of(spec: ControllerSpec, below: Box<dyn Device>) -> Controller {
        let depth = spec.depth;
        let below_next = below.poll_timeout().unwrap_or(Instant::FAR);
        Controller {
            below,
            command: spec.command,
            slots: alloc::vec![None; depth as usize],
            free: (0..depth).rev().collect(),
            working: VecDeque::with_capacity(depth as usize),
            idle_from: Instant::ZERO,
            rate: Rate::new(spec.rate),
            bus: Instant::ZERO,
            moving: VecDeque::with_capacity(depth as usize),
            below_next,
            own_next: Instant::FAR,
            ready: VecDeque::with_capacity(depth as usize),
            programmed: spec.programmed.map(|programmed| (Rate::new(programmed.rate), programmed.block.max(1))),
            coalesce: spec.coalesce,
            batch: VecDeque::new(),
            raise: Instant::FAR,
        }
    }

    /// The soonest instant at which something is due here.
    fn own_event(&self) -> Instant {
        let mut next = self.raise;
        if let Some(&(at, _)) = self.working.front() {
            next = next.min(at);
        }
        if let Some(&(at, _)) = self.moving.front() {
            next = next.min(at);
        }
        next
    }

    /// Sends down what is due and answers what has crossed the bus, at `now`.
    fn pump(&mut self, now: Instant) {
        while let Some(&(at, slot)) = self.working.front() {
            if at > now {
                break;
            }
            self.working.pop_front();
            if let Some(held) = &mut self.slots[slot as usize] {
                held.ledger.until(Part::Controller, at);
                let down = Request { tag: slot, ..held.request };
                self.below.submit(at, down).expect("room below for the depth it states");
            }
            self.collect();
        }
        while let Some(&(at, slot)) = self.moving.front() {
            if at > now {
                break;
            }
            self.moving.pop_front();
            self.finish(slot, at);
        }
        if self.raise <= now {
            self.raise(now);
        }
        self.own_next = self.own_event();
    }

    /// Lets what is below run to its next completion by `until`, if it has one. Answers when there is something to do here.
    fn proceed_below(&mut self, until: Instant) -> Instant {
        let at = match self.below.proceed(until) {
            Some(completion) => {
                self.take_back(&completion);
                completion.finished
            }
            None => self.own_next,
        };
        self.collect();
        at
    }

    /// Takes back what came from below, which was called just now.
    fn collect(&mut self) {
        self.below_next = self.below.poll_timeout().unwrap_or(Instant::FAR);
        while let Some(completion) = self.below.poll_completion() {
            self.take_back(&completion);
        }
    }

    fn take_back(&mut self, completion: &Completion) {
        let slot = completion.tag;
        let held = self.slots[slot as usize].as_mut();
        let held = held.expect("a completion of something in flight");
        held.ledger.adopt(Part::Controller, completion);
        held.effort = completion.effort;
        let request = held.request;
        let moves = matches!(request.op, Op::Read | Op::Write) && completion.status == Status::Done;
        if let Some((rate, block)) = self.programmed.filter(|_| moves) {
            held.effort.programmed += rate.time(u64::from(request.sectors) * SECTOR);
            held.effort.interrupts += (request.sectors.div_ceil(block) - 1) as u16;
        }
        if !moves {
            return self.answer(slot, completion.status, completion.finished);
        }
        let flowing = completion.parts.get(Part::Link) + completion.parts.get(Part::Transfer);
        let began = Instant::from_nanos(completion.finished.nanos() - flowing.nanos());
        self.bus = self.bus.max(began) + self.rate.time(u64::from(request.sectors) * SECTOR);
        let end = self.bus.max(completion.finished);
        match end > completion.finished || !self.moving.is_empty() {
            true => {
                let end = end.max(self.last_moving());
                self.moving.push_back((end, slot));
                self.own_next = self.own_next.min(end);
            }
            false => self.finish(slot, end),
        }
    }

    /// The command in `slot` is done at `at`: the interrupt is raised, or held back for others.
    fn finish(&mut self, slot: u32, at: Instant) {
        let Some(coalesce) = self.coalesce else { return self.answer(slot, Status::Done, at) };
        if self.batch.is_empty() {
            self.raise = at + coalesce.wait;
        }
        self.batch.push_back(slot);
        if self.batch.len() >= coalesce.count as usize {
            self.raise(at);
        }
        self.own_next = self.own_event();
    }

    /// One interrupt for all that are done.
    fn raise(&mut self, at: Instant) {
        self.raise = Instant::FAR;
        let mut first = true;
        while let Some(slot) = self.batch.pop_front() {
            if let Some(held) = self.slots[slot as usize].as_mut().filter(|_| !first) {
                held.effort.interrupts = held.effort.interrupts.saturating_sub(1);
            }
            first = false;
            self.answer(slot, Status::Done, at);
        }
    }

    fn last_moving(&self) -> Instant {
        self.moving.back().map_or(Instant::ZERO, |&(at, _)| at)
    }

    /// Completes the command in `slot` at `finished`; what is not accounted for was the controller's.
    fn answer(&mut self, slot: u32, status: Status, finished: Instant) {
        let place = &mut self.slots[slot as usize];
        let Held { request, ledger, effort } = place.as_mut().expect("a command in flight");
        ledger.until(Part::Controller, finished);
        let (tag, submitted, parts) = (request.tag, ledger.start(), ledger.parts());
        self.ready.push_back(Completion { tag, status, submitted, finished, parts, effort: *effort });
        *place = None;
        self.free.push(slot);
    }

    /// Ends what the adapter still holds, or has back and is moving, and `chosen` names; what is below is the device's
    /// to end.
    fn drop_held(&mut self, now: Instant, status: Status, chosen: impl Fn(u32) -> bool) -> bool {
        let count =
            |controller: &Controller| controller.working.len() + controller.moving.len() + controller.batch.len();
        let held = count(self);
        let slots = &self.slots;
        let gone: Vec<u32> = self
            .working
            .iter()
            .chain(&self.moving)
            .map(|&(_, slot)| slot)
            .chain(self.batch.iter().copied())
            .filter(|&slot| slots[slot as usize].is_some_and(|held| chosen(held.request.tag)))
            .collect();
        self.working.retain(|(_, slot)| !gone.contains(slot));
        self.moving.retain(|(_, slot)| !gone.contains(slot));
        self.batch.retain(|slot| !gone.contains(slot));
        if self.batch.is_empty() {
            self.raise = Instant::FAR;
        }
        for slot in gone {
            self.answer(slot, status, now);
        }
        held > count(self)
    }

    fn abort(&mut self, now: Instant, tag: u32) -> Result<(), ControlError> {
        if self.drop_held(now, Status::Aborted, |other| other == tag) {
            return Ok(());
        }
        let slot = self.slots.iter().position(|slot| slot.is_some_and(|held| held.request.tag == tag));
        let slot = slot.ok_or(ControlError::UnknownTag)?;
        self.below.control(now, &Control::Abort(slot as u32))
    }
}

impl Device for Controller {
    fn limits(&self, unit: u8) -> Limits {
        let below = self.below.limits(unit);
        Limits { depth: below.depth.min(self.slots.len() as u32), ..below }
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Request> {
        self.handle_timeout(now);
        let Some(slot) = self.free.pop() else {
            return Err(request);
        };
        self.idle_from = self.idle_from.max(now) + self.command;
        self.slots[slot as usize] = Some(Held { request, ledger: Ledger::open(now), effort: Effort::default() });
        self.working.push_back((self.idle_from, slot));
        self.own_next = self.own_next.min(self.idle_from);
        if self.own_next <= now {
            self.pump(now);
        }
        Ok(())
    }

    fn control(&mut self, now: Instant, control: &Control<'_>) -> Result<(), ControlError> {
        self.handle_timeout(now);
        let done = match *control {
            Control::Abort(tag) => self.abort(now, tag),
            Control::PowerCut | Control::Reset => {
                let cut = matches!(control, Control::PowerCut);
                self.drop_held(now, if cut { Status::PowerLost } else { Status::Aborted }, |_| true);
                self.below.control(now, control)
            }
            _ => self.below.control(now, control),
        };
        self.collect();
        self.pump(now);
        done
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let next = self.own_next.min(self.below_next);
        (next != Instant::FAR).then_some(next)
    }

    fn handle_timeout(&mut self, now: Instant) {
        loop {
            let next = self.own_next.min(self.below_next);
            if next > now || next == Instant::FAR {
                return;
            }
            if self.below_next <= next {
                self.below.handle_timeout(next);
                self.collect();
            }
            if self.own_next <= next {
                self.pump(next);
            }
        }
    }

    fn poll_completion(&mut self) -> Option<Completion> {
        self.ready.pop_front()
    }

    fn log(&self) -> DriveLog {
        self.below.log()
    }

    fn poll_landing(&mut self) -> Option<Landing> {
        self.below.poll_landing()
    }

    fn proceed(&mut self, until: Instant) -> Option<Completion> {
        loop {
            if let Some(completion) = self.ready.pop_front() {
                return Some(completion);
            }
            let first = self.own_next.min(until);
            // Below, nothing happens by itself before that: there is no need to ask.
            let at = match self.below_next > first {
                true => self.own_next,
                false => self.proceed_below(first),
            };
            if at > until || at == Instant::FAR {
                return None;
            }
            if self.own_next <= at {
                self.pump(at);
            }
            self.handle_timeout(at);
        }
    }
}
