//! The processor, the topmost layer: cores that share the system's work for requests and the programs' own work.
//!
//! A core issues a request (program, system call, driver), and a core handles its completion (interrupts, copying,
//! return to the program). The cores do this work in order of arrival, without preemption. [`Op::Compute`] is a
//! program's own work of `sectors` microseconds: it runs on the cores that the system's work leaves free, in order of
//! arrival, and resumes where it was when it loses one.
//!
//! With programmed I/O, a core moves the data while the device has the request: it uses the cores' idle time between
//! the request's going down and its coming back, at most that of one core. The remainder is done afterwards and delays
//! the request. So a transfer costs its whole time, and no core is busy twice: only work that has been done takes idle
//! time away ([`BusyCurve`]).
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
pub struct Processor {
    spec: ProcessorSpec,
    copy: Rate,
    parity: Rate,
    /// The system's work on cores, by when it ends: the first to end is last in the list; of equals the one begun
    /// first.
    running: Vec<(Instant, CoreWork)>,
    /// The system's work that waits for a core, and how long it takes.
    waiting: VecDeque<(Span, CoreWork)>,
    /// Programs' work and how much of it is left; the first ones have the free cores.
    computing: VecDeque<(Span, u32)>,
    /// How the cores worked, up to the instant for which `computing` is up to date.
    cores: BusyCurve,
}

/// When a request went down, and the core time spent by then.
#[derive(Clone, Copy, Default)]
pub struct HandoverMark(Instant, Span);

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
            cores: BusyCurve::new(spec.cores),
            spec,
        };
        LayeredDevice::new(processor, below.limits(0).depth.max(1), below)
    }

    /// How many cores are free for programs.
    fn free_cores(&self) -> usize {
        self.spec.cores as usize - self.running.len()
    }

    /// Advances the work on the cores to `now`.
    #[inline]
    fn advance_work(&mut self, now: Instant) {
        if !self.computing.is_empty() {
            self.advance_programs(now.saturating_since(self.cores.counted_until()));
        }
        self.cores.count_work(now, self.working_cores());
    }

    /// How many cores work.
    #[inline]
    fn working_cores(&self) -> u32 {
        (self.running.len() + self.free_cores().min(self.computing.len())) as u32
    }

    /// Advances the programs' work on the free cores by `passed`.
    fn advance_programs(&mut self, passed: Span) {
        let left = self.free_cores();
        for (rest, _) in self.computing.iter_mut().take(left) {
            let done = passed.min(*rest);
            *rest = *rest - done;
        }
    }

    /// The next instant at which something is due here.
    fn next_instant(&self) -> Instant {
        let system = self.running.last().map_or(Instant::FAR, |&(at, _)| at);
        if self.computing.is_empty() {
            return system;
        }
        let programs =
            self.computing.iter().take(self.free_cores()).map(|&(rest, _)| self.cores.counted_until() + rest);
        programs.fold(system, Instant::min)
    }

    /// Queues the system's work for a core. Returns when it ends, if it has begun.
    #[inline(always)]
    fn queue_work(&mut self, now: Instant, takes: Span, work: CoreWork) -> Instant {
        if self.free_cores() == 0 {
            self.waiting.push_back((takes, work));
            return Instant::FAR;
        }
        self.advance_work(now);
        self.start_work(now + takes, work);
        now + takes
    }

    /// Runs the system's work on a core until `over`.
    #[inline]
    fn start_work(&mut self, over: Instant, work: CoreWork) {
        let place = self.running.partition_point(|&(other, _)| other > over);
        self.running.insert(place, (over, work));
    }

    /// Starts waiting work on free cores.
    #[inline]
    fn start_waiting(&mut self, now: Instant) {
        while self.free_cores() > 0
            && let Some((takes, next)) = self.waiting.pop_front()
        {
            self.start_work(now + takes, next);
        }
    }

    /// Counts a core as having moved a request's data for `takes`, as far as cores were idle since it went down; returns for
    /// how long.
    fn count_programmed_io(&mut self, now: Instant, HandoverMark(down, before): HandoverMark, takes: Span) -> Span {
        if takes == Span::ZERO {
            return Span::ZERO;
        }
        let window = now.since(down);
        let all = Span::from_nanos(window.nanos() * u64::from(self.spec.cores));
        let idle = all.saturating_sub(self.cores.total_work() - before).min(window);
        let meanwhile = takes.min(idle);
        self.cores.count_in_idle_time(down, meanwhile);
        meanwhile
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
            return self.queue_work(now, self.spec.issue, CoreWork::Issue(slot));
        }
        self.advance_work(now);
        let takes = Span::from_micros(u64::from(request.sectors));
        self.computing.push_back((takes, slot));
        now
    }

    #[inline(always)]
    fn handle_completion(&mut self, context: &mut HostLayerContext<Self>, completion: &mut Completion) -> NextTurn {
        let (slot, now, effort) = (completion.tag, completion.finished, &mut completion.effort);
        self.advance_work(now);
        let meanwhile = self.count_programmed_io(now, context.slots[slot].note, effort.programmed);
        let copied = self.copy.transfer_time(u64::from(effort.copied) * SECTOR);
        let parity = self.parity.transfer_time(u64::from(effort.parity) * SECTOR);
        let interrupts = Span::from_nanos(self.spec.interrupt.nanos() * u64::from(effort.interrupts));
        let takes = interrupts + copied + parity + (effort.programmed - meanwhile) + self.spec.finish;
        context.book_completion(slot, completion);
        context.slots[slot].status = completion.status;
        self.queue_work(now, takes, CoreWork::Finish(slot))
    }

    #[inline(always)]
    fn run_due_work(&mut self, context: &mut HostLayerContext<Self>, now: Instant) -> NextTurn {
        self.advance_work(now);
        if let Some((_, work)) = self.running.pop_if(|&mut (at, _)| at <= now) {
            self.start_waiting(now);
            match work {
                CoreWork::Issue(slot) => {
                    context.slots[slot].note = HandoverMark(now, self.cores.total_work());
                    context.pass_down(now, slot);
                }
                CoreWork::Finish(slot) => context.answer_request(now, slot, context.slots[slot].status),
            }
            return self.next_instant();
        }
        let over = self.computing.iter().take(self.free_cores()).position(|(rest, _)| *rest == Span::ZERO);
        if let Some((_, slot)) = over.and_then(|place| self.computing.remove(place)) {
            context.answer_request(now, slot, Status::Done);
        }
        self.next_instant()
    }

    fn core_load(&self, now: Instant) -> Option<BusyCurve> {
        let mut cores = self.cores.clone();
        cores.count_work(now, self.working_cores());
        Some(cores)
    }

    /// Sorted by tag.
    fn held_slots(&self, context: &HostLayerContext<Self>) -> Vec<u32> {
        let work = self.running.iter().map(|it| it.1).chain(self.waiting.iter().map(|it| it.1)).map(CoreWork::slot);
        let mut slots: Vec<u32> = work.chain(self.computing.iter().map(|it| it.1)).collect();
        slots.sort_by_key(|&slot| context.slots[slot].tag);
        slots
    }

    /// Frees a core that works for the request at once.
    fn withdraw_request(&mut self, context: &mut HostLayerContext<Self>, now: Instant, slot: u32, _: Status) -> bool {
        let was_here = self.held_slots(context).contains(&slot);
        self.advance_work(now);
        self.running.retain(|(_, work)| work.slot() != slot);
        self.waiting.retain(|(_, work)| work.slot() != slot);
        self.computing.retain(|(_, other)| *other != slot);
        self.start_waiting(now);
        was_here
    }
}
