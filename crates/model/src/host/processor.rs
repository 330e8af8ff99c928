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

use super::layer::{Crank, HostLayer, LayeredDevice};
use crate::block::busy::BusyCurve;
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
    running: Vec<(Instant, Work)>,
    /// The system's work that waits for a core, and how long it takes.
    waiting: VecDeque<(Span, Work)>,
    /// Programs' work and how much of it is left; the first ones have the free cores.
    computing: VecDeque<(Span, u32)>,
    /// How the cores worked, up to the instant for which `computing` is up to date.
    cores: BusyCurve,
}

/// When a request went down, and the core time spent by then.
#[derive(Clone, Copy, Default)]
pub struct HandoverMark(Instant, Span);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    Issue(u32),
    Finish(u32),
}

impl Work {
    fn slot(self) -> u32 {
        match self {
            Work::Issue(slot) | Work::Finish(slot) => slot,
        }
    }
}

impl Processor {
    /// Cores above `below`.
    pub fn above(spec: ProcessorSpec, below: Box<dyn Device>) -> LayeredDevice<Processor> {
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
    fn left(&self) -> usize {
        self.spec.cores as usize - self.running.len()
    }

    /// Advances the work on the cores to `now`.
    #[inline]
    fn advance(&mut self, now: Instant) {
        if !self.computing.is_empty() {
            self.go_on(now.saturating_since(self.cores.until()));
        }
        self.cores.work(now, self.working());
    }

    /// How many cores work.
    #[inline]
    fn working(&self) -> u32 {
        (self.running.len() + self.left().min(self.computing.len())) as u32
    }

    /// Advances the programs' work on the free cores by `passed`.
    fn go_on(&mut self, passed: Span) {
        let left = self.left();
        for (rest, _) in self.computing.iter_mut().take(left) {
            let done = passed.min(*rest);
            *rest = *rest - done;
        }
    }

    /// The next instant at which something is due here.
    fn soonest(&self) -> Instant {
        let system = self.running.last().map_or(Instant::FAR, |&(at, _)| at);
        if self.computing.is_empty() {
            return system;
        }
        let programs = self.computing.iter().take(self.left()).map(|&(rest, _)| self.cores.until() + rest);
        programs.fold(system, Instant::min)
    }

    /// Queues the system's work for a core. Returns when it ends, if it has begun.
    #[inline(always)]
    fn queue(&mut self, now: Instant, takes: Span, work: Work) -> Instant {
        if self.left() == 0 {
            self.waiting.push_back((takes, work));
            return Instant::FAR;
        }
        self.advance(now);
        self.run(now + takes, work);
        now + takes
    }

    /// Runs the system's work on a core until `over`.
    #[inline]
    fn run(&mut self, over: Instant, work: Work) {
        let place = self.running.partition_point(|&(other, _)| other > over);
        self.running.insert(place, (over, work));
    }

    /// Starts waiting work on free cores.
    #[inline]
    fn resume(&mut self, now: Instant) {
        while self.left() > 0
            && let Some((takes, next)) = self.waiting.pop_front()
        {
            self.run(now + takes, next);
        }
    }

    /// Counts a core as having moved a request's data for `takes`, as far as cores were idle since it went down; returns for
    /// how long.
    fn programmed(&mut self, now: Instant, HandoverMark(down, before): HandoverMark, takes: Span) -> Span {
        if takes == Span::ZERO {
            return Span::ZERO;
        }
        let window = now.since(down);
        let all = Span::from_nanos(window.nanos() * u64::from(self.spec.cores));
        let idle = all.saturating_sub(self.cores.total() - before).min(window);
        let meanwhile = takes.min(idle);
        self.cores.place(down, meanwhile);
        meanwhile
    }
}

impl HostLayer for Processor {
    type Note = HandoverMark;
    const PART: Part = Part::Processor;
    const NAME: &'static str = "processor";

    fn limits(&self, room: u32, below: Limits) -> Limits {
        Limits { depth: room, computes: true, ..below }
    }

    /// Programs compute in addition to the requests that the device below accepts.
    fn has_room(&self, crank: &Crank<Self>, request: &Request) -> bool {
        request.op == Op::Compute || crank.in_flight() - (self.computing.len() as u32) < crank.room()
    }

    fn down(&mut self, crank: &mut Crank<Self>, now: Instant, slot: u32) -> Instant {
        let request = crank.slots[slot].request;
        if request.op != Op::Compute {
            return self.queue(now, self.spec.issue, Work::Issue(slot));
        }
        self.advance(now);
        let takes = Span::from_micros(u64::from(request.sectors));
        self.computing.push_back((takes, slot));
        now
    }

    #[inline(always)]
    fn up(&mut self, crank: &mut Crank<Self>, completion: &mut Completion) -> Instant {
        let (slot, now, effort) = (completion.tag, completion.finished, &mut completion.effort);
        self.advance(now);
        let meanwhile = self.programmed(now, crank.slots[slot].note, effort.programmed);
        let copied = self.copy.time(u64::from(effort.copied) * SECTOR);
        let parity = self.parity.time(u64::from(effort.parity) * SECTOR);
        let interrupts = Span::from_nanos(self.spec.interrupt.nanos() * u64::from(effort.interrupts));
        let takes = interrupts + copied + parity + (effort.programmed - meanwhile) + self.spec.finish;
        crank.adopt(slot, completion);
        crank.slots[slot].status = completion.status;
        self.queue(now, takes, Work::Finish(slot))
    }

    #[inline(always)]
    fn turn(&mut self, crank: &mut Crank<Self>, now: Instant) -> Instant {
        self.advance(now);
        if let Some((_, work)) = self.running.pop_if(|&mut (at, _)| at <= now) {
            self.resume(now);
            match work {
                Work::Issue(slot) => {
                    crank.slots[slot].note = HandoverMark(now, self.cores.total());
                    crank.pass(now, slot);
                }
                Work::Finish(slot) => crank.answer(now, slot, crank.slots[slot].status),
            }
            return self.soonest();
        }
        let over = self.computing.iter().take(self.left()).position(|(rest, _)| *rest == Span::ZERO);
        if let Some((_, slot)) = over.and_then(|place| self.computing.remove(place)) {
            crank.answer(now, slot, Status::Done);
        }
        self.soonest()
    }

    fn cores(&self, now: Instant) -> Option<BusyCurve> {
        let mut cores = self.cores.clone();
        cores.work(now, self.working());
        Some(cores)
    }

    /// Sorted by tag.
    fn held(&self, crank: &Crank<Self>) -> Vec<u32> {
        let work = self.running.iter().map(|it| it.1).chain(self.waiting.iter().map(|it| it.1)).map(Work::slot);
        let mut slots: Vec<u32> = work.chain(self.computing.iter().map(|it| it.1)).collect();
        slots.sort_by_key(|&slot| crank.slots[slot].tag);
        slots
    }

    /// Frees a core that works for the request at once.
    fn withdraw(&mut self, crank: &mut Crank<Self>, now: Instant, slot: u32, _: Status) -> bool {
        let was_here = self.held(crank).contains(&slot);
        self.advance(now);
        self.running.retain(|(_, work)| work.slot() != slot);
        self.waiting.retain(|(_, work)| work.slot() != slot);
        self.computing.retain(|(_, other)| *other != slot);
        self.resume(now);
        was_here
    }
}
