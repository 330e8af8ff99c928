//! The processor: cores on which the system's work for requests and the programs' own work queue. The topmost layer.
//!
//! A request is issued by a core (program, system call, driver), goes down, and is taken back by one (interrupts,
//! copying, return to the program). This work is done in order of arrival by as many cores as there are, and is not
//! interrupted. [`Op::Compute`] is a program's own work, `sectors` microseconds of it: it has the cores that the
//! system's work leaves, in order of arrival, and goes on where it was when it loses one.
//!
//! Where data are moved by programmed input and output, a core does it while the device has the request: it takes the
//! cores' idle time between the request's going down and its coming back, at most one core's. What it does not find
//! there it needs afterwards, and the request ends later by it. So a transfer costs its whole time, and no core is busy
//! twice.
//!
//! How much work a request was is counted below ([`Effort`](crate::record::Effort)); what a unit of it costs is the [`ProcessorSpec`]'s. Parity
//! is paid for when the request comes back, though an array computes it between its reads and its writes.
//! Scheduling by priorities or time slices, caches, and power states of cores are not modelled.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::layer::{Crank, Layer, Layered};
use crate::block::{Completion, Device, Limits, Op, Request, SECTOR, Status};
use crate::record::Part;
use crate::time::{Instant, Rate, Span};

/// What work costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessorSpec {
    /// Cores.
    pub cores: u32,
    /// Issuing a request.
    pub issue: Span,
    /// Returning a request to its program.
    pub finish: Span,
    /// One interrupt, with all that follows from it in the system.
    pub interrupt: Span,
    /// Bytes a second that one core copies.
    pub copy: u64,
    /// Bytes a second that one core reads to compute parity.
    pub parity: u64,
}

/// The processor.
pub struct Processor {
    spec: ProcessorSpec,
    copy: Rate,
    parity: Rate,
    /// The system's work that a core does, by when it is over: the first stands last, of equals the one begun first.
    running: Vec<(Instant, Work)>,
    /// The system's work that waits for a core, and how long it takes.
    waiting: VecDeque<(Span, Work)>,
    /// Programs' work and how much of it is left; the first of them have the cores that are left.
    computing: VecDeque<(Span, u32)>,
    /// `computing` is as of this instant.
    computed: Instant,
    /// Core time spent until now, that of running work whole.
    busy: Span,
}

/// When a request went down, and the core time that had been spent by then.
#[derive(Clone, Copy, Default)]
pub struct Down(Instant, Span);

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
    pub fn above(spec: ProcessorSpec, below: Box<dyn Device>) -> Layered<Processor> {
        let processor = Processor {
            copy: Rate::new(spec.copy),
            parity: Rate::new(spec.parity),
            running: Vec::with_capacity(spec.cores as usize),
            waiting: VecDeque::new(),
            computing: VecDeque::new(),
            computed: Instant::ZERO,
            busy: Span::ZERO,
            spec,
        };
        Layered::new(processor, below.limits(0).depth.max(1), below)
    }

    /// Cores that programs have.
    fn left(&self) -> usize {
        self.spec.cores as usize - self.running.len()
    }

    /// Programs' work goes on up to `now`.
    #[inline]
    fn compute(&mut self, now: Instant) {
        if !self.computing.is_empty() {
            self.go_on(now.saturating_since(self.computed));
        }
        self.computed = self.computed.max(now);
    }

    /// Programs' work has the cores that are left for so long.
    fn go_on(&mut self, passed: Span) {
        let left = self.left();
        for (rest, _) in self.computing.iter_mut().take(left) {
            let done = passed.min(*rest);
            *rest = *rest - done;
            self.busy += done;
        }
    }

    /// The soonest instant at which something is due here.
    fn soonest(&self) -> Instant {
        let system = self.running.last().map_or(Instant::FAR, |&(at, _)| at);
        if self.computing.is_empty() {
            return system;
        }
        let programs = self.computing.iter().take(self.left()).map(|&(rest, _)| self.computed + rest);
        programs.fold(system, Instant::min)
    }

    /// The system's work joins the queue for a core. Answers when it is over, if it has begun.
    #[inline(always)]
    fn queue(&mut self, now: Instant, takes: Span, work: Work) -> Instant {
        self.busy += takes;
        if self.left() == 0 {
            self.waiting.push_back((takes, work));
            return Instant::FAR;
        }
        self.compute(now);
        self.run(now + takes, work);
        now + takes
    }

    /// A core does the system's work until `over`.
    #[inline]
    fn run(&mut self, over: Instant, work: Work) {
        let place = self.running.partition_point(|&(other, _)| other > over);
        self.running.insert(place, (over, work));
    }

    /// Cores that are free take up what waits.
    #[inline]
    fn resume(&mut self, now: Instant) {
        while self.left() > 0
            && let Some((takes, next)) = self.waiting.pop_front()
        {
            self.run(now + takes, next);
        }
    }

    /// A core has moved a request's data for `takes`, as far as the cores were idle since it went down; answers for how long.
    fn programmed(&mut self, now: Instant, Down(down, before): Down, takes: Span) -> Span {
        if takes == Span::ZERO {
            return Span::ZERO;
        }
        let window = now.since(down);
        let all = Span::from_nanos(window.nanos() * u64::from(self.spec.cores));
        let idle = all.saturating_sub(self.busy - before).min(window);
        let meanwhile = takes.min(idle);
        self.busy += meanwhile;
        meanwhile
    }
}

impl Layer for Processor {
    type Note = Down;
    const PART: Part = Part::Processor;
    const NAME: &'static str = "processor";

    fn limits(&self, room: u32, below: Limits) -> Limits {
        Limits { depth: room, computes: true, ..below }
    }

    /// Programs compute beside the requests that what is below takes at once.
    fn has_room(&self, crank: &Crank<Self>, request: &Request) -> bool {
        request.op == Op::Compute || crank.in_flight() - (self.computing.len() as u32) < crank.room()
    }

    fn down(&mut self, crank: &mut Crank<Self>, now: Instant, slot: u32) -> Instant {
        let request = crank.slots[slot].request;
        if request.op != Op::Compute {
            return self.queue(now, self.spec.issue, Work::Issue(slot));
        }
        self.compute(now);
        let takes = Span::from_micros(u64::from(request.sectors));
        crank.slots[slot].account().effort.busy = takes;
        self.computing.push_back((takes, slot));
        now
    }

    #[inline(always)]
    fn up(&mut self, crank: &mut Crank<Self>, completion: &mut Completion) -> Instant {
        let (slot, now, effort) = (completion.tag, completion.finished, &mut completion.effort);
        self.compute(now);
        let meanwhile = self.programmed(now, crank.slots[slot].note, effort.programmed);
        let copied = self.copy.time(u64::from(effort.copied) * SECTOR);
        let parity = self.parity.time(u64::from(effort.parity) * SECTOR);
        let interrupts = Span::from_nanos(self.spec.interrupt.nanos() * u64::from(effort.interrupts));
        let takes = interrupts + copied + parity + (effort.programmed - meanwhile) + self.spec.finish;
        effort.busy += self.spec.issue + meanwhile + takes;
        crank.adopt(slot, completion);
        crank.slots[slot].status = completion.status;
        self.queue(now, takes, Work::Finish(slot))
    }

    #[inline(always)]
    fn turn(&mut self, crank: &mut Crank<Self>, now: Instant) -> Instant {
        self.compute(now);
        if let Some((_, work)) = self.running.pop_if(|&mut (at, _)| at <= now) {
            self.resume(now);
            match work {
                Work::Issue(slot) => {
                    crank.slots[slot].note = Down(now, self.busy);
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

    /// By tag.
    fn held(&self, crank: &Crank<Self>) -> Vec<u32> {
        let work = self.running.iter().map(|it| it.1).chain(self.waiting.iter().map(|it| it.1)).map(Work::slot);
        let mut slots: Vec<u32> = work.chain(self.computing.iter().map(|it| it.1)).collect();
        slots.sort_by_key(|&slot| crank.slots[slot].tag);
        slots
    }

    /// A core that works for it is free at once; what it was to cost stays counted.
    fn withdraw(&mut self, crank: &mut Crank<Self>, now: Instant, slot: u32, _: Status) -> bool {
        let was_here = self.held(crank).contains(&slot);
        let mut work = self.running.iter().map(|it| it.1).chain(self.waiting.iter().map(|it| it.1));
        if work.any(|work| work == Work::Issue(slot)) {
            crank.slots[slot].account().effort.busy += self.spec.issue;
        }
        self.compute(now);
        self.running.retain(|(_, work)| work.slot() != slot);
        self.waiting.retain(|(_, work)| work.slot() != slot);
        self.computing.retain(|(_, other)| *other != slot);
        self.resume(now);
        was_here
    }
}
