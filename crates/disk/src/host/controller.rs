//! A host bus adapter: a limit on outstanding commands, its own cost of each command, one after another, and the bus to
//! memory, its own or shared by all units below.
//!
//! Data cut through: the bus moves a request's bytes while the drive does, one request after another. Only the backlog
//! of the bus when the drive is done delays the completion. The start of the drive's transfer follows from the parts
//! that it reports as transfer and link.
//!
//! A link that sleeps when nothing is outstanding (aggressive link power management of AHCI: the adapter asks for the
//! partial or the slumber state as soon as the drive has answered all commands) must wake before the next command. The
//! command that wakes it waits for that; those that come meanwhile wait behind it. The time until the link is asleep is
//! not modelled: it sleeps at once.
//!
//! With programmed I/O the processor is charged for the time of each transfer and for an interrupt a block
//! ([`Effort`](crate::record::Effort)); the transfer itself takes its time on the drive's link. Interrupts may be
//! coalesced.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::layer::{HostLayer, HostLayerContext, LayeredDevice, NextTurn};
use crate::block::{Completion, Device, Op, Request, SECTOR, Status};
use crate::record::Part;
use crate::time::{Instant, Rate, Span};

/// The settings of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ControllerSpec {
    /// Commands outstanding at once: 1 without queuing, 32 for AHCI with NCQ.
    pub depth: u32,
    /// The controller's own time for a command.
    pub command: Span,
    /// The rate of its bus in bytes a second.
    pub rate: u64,
    /// How long its link takes to wake; zero if it never sleeps.
    pub wake: Span,
    /// The processor moves the data itself.
    pub programmed: Option<ProgrammedIo>,
    /// Completions that share an interrupt.
    pub coalesce: Option<InterruptCoalescing>,
}

/// Programmed I/O: the processor moves the data word by word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProgrammedIo {
    /// In bytes a second.
    pub rate: u64,
    /// Sectors moved for each interrupt.
    pub block: u32,
}

/// Interrupt coalescing: an interrupt is held back until `count` commands are done, or the first of them has waited for
/// `wait`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InterruptCoalescing {
    /// At least 2.
    pub count: u32,
    pub wait: Span,
}

impl ControllerSpec {
    /// A controller with a bus of `rate` bytes a second, with DMA, an interrupt for each command and a link that never
    /// sleeps.
    pub const fn plain(depth: u32, command: Span, rate: u64) -> ControllerSpec {
        ControllerSpec { depth, command, rate, wake: Span::ZERO, programmed: None, coalesce: None }
    }
}

/// A host bus adapter.
pub struct Controller {
    command: Span,
    wake: Span,
    /// Commands that the adapter is working on, by when it is done with each.
    working: VecDeque<(Instant, u32)>,
    /// When the adapter can take the next command.
    idle_from: Instant,
    rate: Rate,
    bus_free_from: Instant,
    /// Commands whose data are still on the bus, by when the last byte has crossed; rising.
    moving: VecDeque<(Instant, u32)>,
    programmed: Option<(Rate, u32)>,
    coalesce: Option<InterruptCoalescing>,
    /// Done, but their interrupt is held back.
    batch: VecDeque<u32>,
    /// When to raise the interrupt at the latest.
    raise: Instant,
}

impl Controller {
    /// A controller above `below`.
    pub fn build_above(spec: ControllerSpec, below: Box<dyn Device>) -> LayeredDevice<Controller> {
        let depth = spec.depth.min(below.limits(0).depth).max(1);
        Controller::build_layer(ControllerSpec { depth, ..spec }, below)
    }

    /// A bus of `rate` bytes a second that the first `units` units of `below` share, without a cost for commands or a limit
    /// of queues.
    pub(crate) fn build_bus(rate: u64, below: Box<dyn Device>, units: u32) -> LayeredDevice<Controller> {
        let depth = (0..units).map(|unit| below.limits(unit as u8).depth).sum();
        Controller::build_layer(ControllerSpec::plain(depth, Span::ZERO, rate), below)
    }

    fn build_layer(spec: ControllerSpec, below: Box<dyn Device>) -> LayeredDevice<Controller> {
        let controller = Controller {
            command: spec.command,
            wake: spec.wake,
            working: VecDeque::with_capacity(spec.depth as usize),
            idle_from: Instant::ZERO,
            rate: Rate::new(spec.rate),
            bus_free_from: Instant::ZERO,
            moving: VecDeque::with_capacity(spec.depth as usize),
            programmed: spec.programmed.map(|programmed| (Rate::new(programmed.rate), programmed.block.max(1))),
            coalesce: spec.coalesce,
            batch: VecDeque::new(),
            raise: Instant::FAR,
        };
        LayeredDevice::new(controller, spec.depth, below)
    }

    /// Ends the command in `slot` at `at`: raises the interrupt or holds it back.
    #[inline(always)]
    fn finish_command(&mut self, context: &mut HostLayerContext<Self>, at: Instant, slot: u32) {
        let Some(coalesce) = &self.coalesce else { return context.answer_request(at, slot, Status::Done) };
        if self.batch.is_empty() {
            self.raise = at + coalesce.wait;
        }
        self.batch.push_back(slot);
        if self.batch.len() >= coalesce.count as usize {
            self.raise_interrupt(context, at);
        }
    }

    /// Raises one interrupt for all that are done.
    fn raise_interrupt(&mut self, context: &mut HostLayerContext<Self>, at: Instant) {
        self.raise = Instant::FAR;
        // Each command counts an interrupt. Only the first of the batch keeps it.
        let mut surplus = 0;
        while let Some(slot) = self.batch.pop_front() {
            let effort = &mut context.slots[slot].account_mut().effort;
            effort.interrupts = effort.interrupts.saturating_sub(surplus);
            surplus = 1;
            context.answer_request(at, slot, Status::Done);
        }
    }
}

/// When the first of `queue` is due.
fn first_due(queue: &VecDeque<(Instant, u32)>) -> Instant {
    queue.front().map_or(Instant::FAR, |&(at, _)| at)
}

/// Removes the first of `queue` if it is due by `now`.
fn pop_due(queue: &mut VecDeque<(Instant, u32)>, now: Instant) -> Option<(Instant, u32)> {
    if first_due(queue) > now { None } else { queue.pop_front() }
}

impl HostLayer for Controller {
    type Note = ();
    const PART: Part = Part::Controller;

    fn accept_request(&mut self, context: &mut HostLayerContext<Self>, now: Instant, slot: u32) -> NextTurn {
        // Completions whose interrupt is held back are over on the link.
        let is_alone = context.in_flight() as usize == self.batch.len() + 1;
        let wake = if is_alone { self.wake } else { Span::ZERO };
        self.idle_from = self.idle_from.max(now) + wake + self.command;
        self.working.push_back((self.idle_from, slot));
        self.idle_from
    }

    #[inline(always)]
    fn handle_completion(&mut self, context: &mut HostLayerContext<Self>, completion: &mut Completion) -> NextTurn {
        let (slot, done) = (completion.tag, completion.finished);
        let Request { op, sectors, .. } = context.slots[slot].request;
        if !matches!(op, Op::Read | Op::Write) || completion.status != Status::Done {
            context.answer_with_completion(slot, completion);
            return Instant::FAR;
        }
        if let Some((rate, block)) = self.programmed {
            completion.effort.programmed += rate.transfer_time(u64::from(sectors) * SECTOR);
            // One is counted already, for the completion.
            completion.effort.interrupts += (sectors.div_ceil(block) - 1) as u16;
        }
        let flowing = completion.parts.get(Part::Link) + completion.parts.get(Part::Transfer);
        let began = Instant::from_nanos(done.nanos() - flowing.nanos());
        self.bus_free_from = self.bus_free_from.max(began) + self.rate.transfer_time(u64::from(sectors) * SECTOR);
        // Completions keep their order: none ends before the last of those that still move.
        let end = self.moving.back().map_or(done, |&(last, _)| last).max(self.bus_free_from);
        if end > done || !self.moving.is_empty() {
            context.book_completion(slot, completion);
            self.moving.push_back((end.max(done), slot));
            return end;
        }
        if self.coalesce.is_none() {
            context.answer_with_completion(slot, completion);
            return Instant::FAR;
        }
        context.book_completion(slot, completion);
        self.finish_command(context, done, slot);
        self.raise
    }

    /// Sends down the commands that are due, or completes those whose data have crossed the bus.
    #[inline(always)]
    fn run_due_work(&mut self, context: &mut HostLayerContext<Self>, now: Instant) -> NextTurn {
        match pop_due(&mut self.working, now) {
            Some((at, slot)) => context.pass_down(at, slot),
            None => {
                while let Some((at, slot)) = pop_due(&mut self.moving, now) {
                    self.finish_command(context, at, slot);
                }
                if self.raise <= now {
                    self.raise_interrupt(context, now);
                }
            }
        }
        first_due(&self.working).min(first_due(&self.moving)).min(self.raise)
    }

    fn held_slots(&self, _: &HostLayerContext<Self>) -> Vec<u32> {
        let timed = self.working.iter().chain(&self.moving).map(|&(_, slot)| slot);
        timed.chain(self.batch.iter().copied()).collect()
    }

    fn withdraw_request(&mut self, context: &mut HostLayerContext<Self>, _: Instant, slot: u32, _: Status) -> bool {
        let was_here = self.held_slots(context).contains(&slot);
        self.working.retain(|&(_, other)| other != slot);
        self.moving.retain(|&(_, other)| other != slot);
        self.batch.retain(|&other| other != slot);
        if self.batch.is_empty() {
            self.raise = Instant::FAR;
        }
        was_here
    }
}
