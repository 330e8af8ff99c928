//! A host bus adapter: a limit on outstanding commands, its own cost of each command, one after another, and the bus to
//! memory, its own or shared by all units below.
//!
//! The bus moves the bytes of one request after another, each while its drive transfers them (cut-through). So a
//! completion is delayed only by bytes that the bus has not moved when the drive is done. When the drive's transfer began
//! follows from the parts that the drive reports as transfer and link.
//!
//! A link may sleep when nothing is outstanding, as with the aggressive link power management of AHCI: the adapter asks
//! for the partial or the slumber state as soon as the drive has answered all commands. The link must wake before the next
//! command, which waits for it; commands that come meanwhile wait behind that command. The time until the
//! link is asleep is not modelled: it sleeps at once.
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
    /// The time that the controller itself takes for a command.
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

/// A host bus adapter. Commands are named by their slots.
#[derive(Clone)]
pub struct Controller {
    command: Span,
    wake: Span,
    /// Commands that the adapter prepares, by when each goes down; rising.
    preparing: VecDeque<(Instant, u32)>,
    /// When the adapter can take the next command.
    idle_from: Instant,
    rate: Rate,
    bus_free_from: Instant,
    /// Commands whose data are still on the bus, by when the last byte has crossed; rising.
    moving: VecDeque<(Instant, u32)>,
    /// Programmed I/O: its rate, and the sectors moved for each interrupt.
    programmed: Option<(Rate, u32)>,
    coalesce: Option<InterruptCoalescing>,
    /// Commands that are done, but whose interrupt is held back.
    held_back: VecDeque<u32>,
    /// When to raise the interrupt at the latest.
    raise_by: Instant,
}

impl Controller {
    /// A controller above `below`.
    pub fn build_above(spec: ControllerSpec, below: Box<dyn Device>) -> LayeredDevice<Controller> {
        let depth = spec.depth.min(below.limits(0).depth).max(1);
        Controller::build_layer(ControllerSpec { depth, ..spec }, below)
    }

    /// A bus of `bytes_a_second` that the first `units` units of `below` share, without a cost for commands or a limit of
    /// queues.
    pub(crate) fn build_shared_bus(
        bytes_a_second: u64,
        below: Box<dyn Device>,
        units: u32,
    ) -> LayeredDevice<Controller> {
        let depth = (0..units).map(|unit| below.limits(unit as u8).depth).sum();
        Controller::build_layer(ControllerSpec::plain(depth, Span::ZERO, bytes_a_second), below)
    }

    fn build_layer(spec: ControllerSpec, below: Box<dyn Device>) -> LayeredDevice<Controller> {
        let controller = Controller {
            command: spec.command,
            wake: spec.wake,
            preparing: VecDeque::with_capacity(spec.depth as usize),
            idle_from: Instant::ZERO,
            rate: Rate::new(spec.rate),
            bus_free_from: Instant::ZERO,
            moving: VecDeque::with_capacity(spec.depth as usize),
            programmed: spec.programmed.map(|programmed| (Rate::new(programmed.rate), programmed.block.max(1))),
            coalesce: spec.coalesce,
            held_back: VecDeque::new(),
            raise_by: Instant::FAR,
        };
        LayeredDevice::new(controller, spec.depth, below)
    }

    /// Ends the command in `slot` at `at`: answers it, or holds it back for an interrupt that it shares.
    #[inline(always)]
    fn finish_command(&mut self, context: &mut HostLayerContext<Self>, at: Instant, slot: u32) {
        let Some(coalesce) = &self.coalesce else { return context.answer_request(at, slot, Status::Done) };
        if self.held_back.is_empty() {
            self.raise_by = at + coalesce.wait;
        }
        self.held_back.push_back(slot);
        if self.held_back.len() >= coalesce.count as usize {
            self.raise_interrupt(context, at);
        }
    }

    /// Raises one interrupt for all commands that are held back, and answers them.
    fn raise_interrupt(&mut self, context: &mut HostLayerContext<Self>, at: Instant) {
        self.raise_by = Instant::FAR;
        // Each command counts an interrupt. Only the first of those that share one keeps it.
        let mut surplus = 0;
        while let Some(slot) = self.held_back.pop_front() {
            let effort = &mut context.slots[slot].account_mut().effort;
            effort.interrupts = effort.interrupts.saturating_sub(surplus);
            surplus = 1;
            context.answer_request(at, slot, Status::Done);
        }
    }
}

/// When the first of `queue` is due; `FAR` if it is empty.
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
        let is_alone = context.in_flight() as usize == self.held_back.len() + 1;
        let wake = if is_alone { self.wake } else { Span::ZERO };
        self.idle_from = self.idle_from.max(now) + wake + self.command;
        self.preparing.push_back((self.idle_from, slot));
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
            // The completion's own interrupt is counted already.
            completion.effort.interrupts += (sectors.div_ceil(block) - 1) as u16;
        }
        let transfer = completion.parts.get(Part::Link) + completion.parts.get(Part::Transfer);
        let transfer_began = Instant::from_nanos(done.nanos() - transfer.nanos());
        self.bus_free_from =
            self.bus_free_from.max(transfer_began) + self.rate.transfer_time(u64::from(sectors) * SECTOR);
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
        self.raise_by
    }

    /// Sends down the commands that are due, or completes those whose data have crossed the bus.
    #[inline(always)]
    fn run_due_work(&mut self, context: &mut HostLayerContext<Self>, now: Instant) -> NextTurn {
        match pop_due(&mut self.preparing, now) {
            Some((at, slot)) => context.pass_down(at, slot),
            None => {
                while let Some((at, slot)) = pop_due(&mut self.moving, now) {
                    self.finish_command(context, at, slot);
                }
                if self.raise_by <= now {
                    self.raise_interrupt(context, now);
                }
            }
        }
        first_due(&self.preparing).min(first_due(&self.moving)).min(self.raise_by)
    }

    fn held_slots(&self, _: &HostLayerContext<Self>) -> Vec<u32> {
        let timed = self.preparing.iter().chain(&self.moving).map(|&(_, slot)| slot);
        timed.chain(self.held_back.iter().copied()).collect()
    }

    fn withdraw_request(&mut self, context: &mut HostLayerContext<Self>, _: Instant, slot: u32, _: Status) -> bool {
        let was_here = self.held_slots(context).contains(&slot);
        self.preparing.retain(|&(_, other)| other != slot);
        self.moving.retain(|&(_, other)| other != slot);
        self.held_back.retain(|&other| other != slot);
        if self.held_back.is_empty() {
            self.raise_by = Instant::FAR;
        }
        was_here
    }
}
