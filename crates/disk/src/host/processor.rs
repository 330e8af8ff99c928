//! The processor, the topmost layer: cores that share the operating system's work for requests and the programs' own
//! work.
//!
//! A core issues a request (program, system call, driver), and a core handles its completion (interrupts, copying,
//! return to the program). The cores do this work in order of arrival, without preemption. [`Op::Compute`] is a
//! program's own work of `sectors` microseconds. Programs run on the cores that the system's work leaves free, in order
//! of arrival; a program that loses its core goes on later from where it was.
//!
//! With programmed I/O, a core moves the data while the device has the request. The transfer uses the cores' idle time
//! from when the request went down until it comes back, at most the time of one core. The remainder of the transfer is done
//! afterwards and delays the request. So a transfer costs its whole time, and no core is busy twice: only work that has
//! been done takes idle time away ([`BusyCurve`]).
//!
//! The layers below count a request's work ([`Effort`](crate::record::Effort)); the [`ProcessorSpec`] gives the cost of
//! each unit. Parity is charged when the request comes back, though an array computes it between its reads and its
//! writes. Not modelled: scheduling by priorities or time slices, caches, and power states of cores.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::layer::{HostLayer, HostLayerContext, LayeredDevice, NextTurn};
use crate::block::busy_curve::BusyCurve;
use crate::block::{Completion, Device, Limits, Op, Request, SECTOR, Status};
use crate::record::Part;
use crate::time::{Instant, Rate, Span};

/// The cost of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProcessorSpec {
    pub cores: u32,
    /// Time to issue a request.
    pub issue: Span,
    /// Time to return a request to its program.
    pub finish: Span,
    /// Time of an interrupt, with everything that the system does for it.
    pub interrupt: Span,
    /// Copying by one core, in bytes a second.
    pub copy: u64,
    /// Parity computation by one core, in bytes read a second.
    pub parity: u64,
}

/// The processor's cores and their queues.
#[derive(Clone)]
pub struct Processor {
    spec: ProcessorSpec,
    copy: Rate,
    parity: Rate,
    /// The system's work on cores, by when it ends: the first to end is last in the list, and of equals the one begun
    /// first.
    running: Vec<(Instant, CoreWork)>,
    /// The system's work that waits for a core, and how long it takes.
    waiting: VecDeque<(Span, CoreWork)>,
    /// Programs' work: the time that is left of it, and the request's slot. The first ones have the free cores.
    computing: VecDeque<(Span, u32)>,
    /// How the cores worked, up to the instant for which `computing` is up to date.
    load: BusyCurve,
}

/// When a request went down, and the work that the cores had done by then.
#[derive(Clone, Copy, Default)]
pub struct HandoverMark {
    at: Instant,
    work_before: Span,
}

/// The system's work for the request in a slot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CoreWork {
    Issue(u32),
    Finish(u32),
}

impl CoreWork {
    fn slot(self) -> u32 {
        match self {
            CoreWork::Issue(slot) | CoreWork::Finish(slot) => slot,
        }
    }
}

impl Processor {
    /// Cores above `below`.
    pub fn build_above(spec: ProcessorSpec, below: Box<dyn Device>) -> LayeredDevice<Processor> {
        let processor = Processor {
            copy: Rate::new(spec.copy),
            parity: Rate::new(spec.parity),
            running: Vec::with_capacity(spec.cores as usize),
            waiting: VecDeque::new(),
            computing: VecDeque::new(),
            load: BusyCurve::new(spec.cores),
            spec,
        };
        LayeredDevice::new(processor, below.limits(0).depth.max(1), below)
    }

    /// How many cores the system's work leaves free.
    fn free_cores(&self) -> usize {
        self.spec.cores as usize - self.running.len()
    }

    /// Advances the work on the cores to `now`.
    #[inline]
    fn advance_work_to(&mut self, now: Instant) {
        if !self.computing.is_empty() {
            self.advance_programs(now.saturating_since(self.load.counted_until()));
        }
        self.load.count_work(now, self.working_cores());
    }

    /// How many cores work, for the system or for programs.
    #[inline]
    fn working_cores(&self) -> u32 {
        (self.running.len() + self.free_cores().min(self.computing.len())) as u32
    }

    /// Advances the programs' work on the free cores by `passed`.
    fn advance_programs(&mut self, passed: Span) {
        let free_cores = self.free_cores();
        for (left, _) in self.computing.iter_mut().take(free_cores) {
            *left = left.saturating_sub(passed);
        }
    }

    /// When the first work on a core ends.
    fn next_work_end(&self) -> Instant {
        let system = self.running.last().map_or(Instant::FAR, |&(end, _)| end);
        if self.computing.is_empty() {
            return system;
        }
        let on_cores = self.computing.iter().take(self.free_cores());
        on_cores.map(|&(left, _)| self.load.counted_until() + left).fold(system, Instant::min)
    }

    /// Starts the system's work on a free core and returns when it ends, or queues it and returns `FAR`.
    #[inline(always)]
    fn start_or_queue(&mut self, now: Instant, duration: Span, work: CoreWork) -> NextTurn {
        if self.free_cores() == 0 {
            self.waiting.push_back((duration, work));
            return Instant::FAR;
        }
        self.advance_work_to(now);
        self.start_work(now + duration, work);
        now + duration
    }

    /// Runs the system's work on a free core until `end`.
    #[inline]
    fn start_work(&mut self, end: Instant, work: CoreWork) {
        let place = self.running.partition_point(|&(other, _)| other > end);
        self.running.insert(place, (end, work));
    }

    /// Starts waiting work on free cores.
    #[inline]
    fn start_waiting_work(&mut self, now: Instant) {
        while self.free_cores() > 0
            && let Some((duration, work)) = self.waiting.pop_front()
        {
            self.start_work(now + duration, work);
        }
    }

    /// Counts as much of a programmed transfer as fits into the cores' idle time since the request went down. Returns that
    /// much.
    fn count_transfer_in_idle_time(&mut self, now: Instant, handover: HandoverMark, transfer: Span) -> Span {
        if transfer == Span::ZERO {
            return Span::ZERO;
        }
        let window = now.since(handover.at);
        let core_time = Span::from_nanos(window.nanos() * u64::from(self.spec.cores));
        let idle = core_time.saturating_sub(self.load.total_work() - handover.work_before).min(window);
        let counted = transfer.min(idle);
        self.load.count_in_idle_time(handover.at, counted);
        counted
    }
}

impl HostLayer for Processor {
    type Note = HandoverMark;
    const PART: Part = Part::Processor;

    fn limits(&self, max_in_flight: u32, below: Limits) -> Limits {
        Limits { depth: max_in_flight, computes: true, ..below }
    }

    /// Programs compute in addition to the requests that the device below accepts.
    fn has_room(&self, context: &HostLayerContext<Self>, request: &Request) -> bool {
        request.op == Op::Compute || context.in_flight() - (self.computing.len() as u32) < context.max_in_flight()
    }

    fn accept_request(&mut self, context: &mut HostLayerContext<Self>, now: Instant, slot: u32) -> NextTurn {
        let request = context.slots[slot].request;
        if request.op != Op::Compute {
            return self.start_or_queue(now, self.spec.issue, CoreWork::Issue(slot));
        }
        self.advance_work_to(now);
        let duration = Span::from_micros(u64::from(request.sectors));
        self.computing.push_back((duration, slot));
        now
    }

    #[inline(always)]
    fn handle_completion(&mut self, context: &mut HostLayerContext<Self>, completion: &mut Completion) -> NextTurn {
        let (slot, now, effort) = (completion.tag, completion.finished, &mut completion.effort);
        self.advance_work_to(now);
        let meanwhile = self.count_transfer_in_idle_time(now, context.slots[slot].note, effort.programmed);
        let copied = self.copy.transfer_time(u64::from(effort.copied) * SECTOR);
        let parity = self.parity.transfer_time(u64::from(effort.parity) * SECTOR);
        let interrupts = Span::from_nanos(self.spec.interrupt.nanos() * u64::from(effort.interrupts));
        let duration = interrupts + copied + parity + (effort.programmed - meanwhile) + self.spec.finish;
        context.book_completion(slot, completion);
        context.slots[slot].status = completion.status;
        self.start_or_queue(now, duration, CoreWork::Finish(slot))
    }

    #[inline(always)]
    fn run_due_work(&mut self, context: &mut HostLayerContext<Self>, now: Instant) -> NextTurn {
        self.advance_work_to(now);
        if let Some((_, work)) = self.running.pop_if(|&mut (end, _)| end <= now) {
            self.start_waiting_work(now);
            match work {
                CoreWork::Issue(slot) => {
                    context.slots[slot].note = HandoverMark { at: now, work_before: self.load.total_work() };
                    context.pass_down(now, slot);
                }
                CoreWork::Finish(slot) => context.answer_request(now, slot, context.slots[slot].status),
            }
            return self.next_work_end();
        }
        let finished = self.computing.iter().take(self.free_cores()).position(|(left, _)| *left == Span::ZERO);
        if let Some((_, slot)) = finished.and_then(|place| self.computing.remove(place)) {
            context.answer_request(now, slot, Status::Done);
        }
        self.next_work_end()
    }

    fn core_load(&self, now: Instant) -> Option<BusyCurve> {
        let mut load = self.load.clone();
        load.count_work(now, self.working_cores());
        Some(load)
    }

    /// Sorted by tag.
    fn held_slots(&self, context: &HostLayerContext<Self>) -> Vec<u32> {
        let works = self.running.iter().map(|&(_, work)| work).chain(self.waiting.iter().map(|&(_, work)| work));
        let programs = self.computing.iter().map(|&(_, slot)| slot);
        let mut slots: Vec<u32> = works.map(CoreWork::slot).chain(programs).collect();
        slots.sort_by_key(|&slot| context.slots[slot].tag);
        slots
    }

    /// Frees at once a core that works for the request.
    fn withdraw_request(&mut self, context: &mut HostLayerContext<Self>, now: Instant, slot: u32, _: Status) -> bool {
        let was_here = self.held_slots(context).contains(&slot);
        self.advance_work_to(now);
        self.running.retain(|(_, work)| work.slot() != slot);
        self.waiting.retain(|(_, work)| work.slot() != slot);
        self.computing.retain(|(_, other)| *other != slot);
        self.start_waiting_work(now);
        was_here
    }
}
