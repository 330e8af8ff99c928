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
//! How much work a request was is counted below ([`Effort`]); what a unit of it costs is the [`ProcessorSpec`]'s. Parity
//! is paid for when the request comes back, though an array computes it between its reads and its writes.
//! Scheduling by priorities or time slices, caches, and power states of cores are not modelled.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::block::{Completion, Control, ControlError, Device, Landing, Limits, Op, Request, SECTOR, Status};
use crate::record::{DriveLog, Effort, Ledger, Part};
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
    below: Box<dyn Device>,
    /// Requests in flight; more than `depth` where programs compute.
    slots: Vec<Option<Held>>,
    /// Requests that what is below takes at once, and those in flight.
    depth: u32,
    in_flight: u32,
    free: Vec<u32>,
    /// The system's work that a core does, by when it is over.
    running: Vec<(Instant, Work)>,
    /// The system's work that waits for a core, and how long it takes.
    waiting: VecDeque<(Span, Work)>,
    /// Programs' work and how much of it is left; the first of them have the cores that are left.
    computing: VecDeque<(Span, u32)>,
    /// `computing` is as of this instant.
    computed: Instant,
    /// Core time spent until now, that of running work whole.
    busy: Span,
    below_next: Instant,
    ready: VecDeque<Completion>,
}

#[derive(Clone, Copy)]
struct Held {
    request: Request,
    ledger: Ledger,
    effort: Effort,
    status: Status,
    /// When it went down, and the core time that had been spent by then.
    down: (Instant, Span),
}

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
    pub fn new(spec: ProcessorSpec, below: Box<dyn Device>) -> Processor {
        let depth = below.limits(0).depth.max(1);
        let below_next = below.poll_timeout().unwrap_or(Instant::FAR);
        Processor {
            copy: Rate::new(spec.copy),
            parity: Rate::new(spec.parity),
            below,
            slots: alloc::vec![None; depth as usize],
            free: (0..depth).rev().collect(),
            depth,
            in_flight: 0,
            running: Vec::with_capacity(spec.cores as usize),
            waiting: VecDeque::new(),
            computing: VecDeque::new(),
            computed: Instant::ZERO,
            busy: Span::ZERO,
            below_next,
            ready: VecDeque::new(),
            spec,
        }
    }

    fn held(&mut self, slot: u32) -> &mut Held {
        self.slots[slot as usize].as_mut().expect("a request in flight")
    }

    /// Cores that programs have.
    fn left(&self) -> usize {
        (self.spec.cores as usize - self.running.len()).min(self.computing.len())
    }

    /// Programs' work goes on up to `now`.
    fn compute(&mut self, now: Instant) {
        let passed = now.saturating_since(self.computed);
        for (rest, _) in self.computing.iter_mut().take(self.spec.cores as usize - self.running.len()) {
            let done = passed.min(*rest);
            *rest = *rest - done;
            self.busy += done;
        }
        self.computed = self.computed.max(now);
    }

    /// The soonest instant at which something is due here.
    fn own_next(&self) -> Instant {
        let system = self.running.iter().map(|&(at, _)| at);
        let programs = self.computing.iter().take(self.left()).map(|&(rest, _)| self.computed + rest);
        system.chain(programs).min().unwrap_or(Instant::FAR)
    }

    /// The system's work joins the queue for a core.
    fn queue(&mut self, now: Instant, takes: Span, work: Work) {
        let held = self.held(work.slot());
        held.effort.busy += takes;
        self.busy += takes;
        match self.running.len() < self.spec.cores as usize {
            true => {
                self.compute(now);
                self.running.push((now + takes, work));
            }
            false => self.waiting.push_back((takes, work)),
        }
    }

    /// Does what is due at `now`, here and below, until nothing is.
    fn settle(&mut self, now: Instant) {
        self.collect(now);
        loop {
            if let Some(place) = self.running.iter().position(|&(at, _)| at <= now) {
                self.compute(now);
                let (_, work) = self.running.remove(place);
                if let Some((takes, next)) = self.waiting.pop_front() {
                    self.running.push((now + takes, next));
                }
                self.done(now, work);
            } else if self.own_next() <= now {
                self.compute(now);
                let over = self.computing.iter().position(|(rest, _)| *rest == Span::ZERO);
                let (_, slot) = over.and_then(|place| self.computing.remove(place)).expect("a program's work is over");
                self.answer(now, slot);
            } else {
                return;
            }
        }
    }

    fn done(&mut self, now: Instant, work: Work) {
        match work {
            Work::Issue(slot) => {
                let busy = self.busy;
                let held = self.held(slot);
                held.ledger.until(Part::Processor, now);
                held.down = (now, busy);
                let request = Request { tag: slot, ..held.request };
                self.below.submit(now, request).expect("room below for the depth it states");
                self.collect(now);
            }
            Work::Finish(slot) => self.answer(now, slot),
        }
    }

    /// Takes back what came from below by `now`.
    fn collect(&mut self, now: Instant) {
        while let Some(completion) = self.below.poll_completion() {
            self.take_back(&completion);
        }
        self.below_next = self.below.poll_timeout().unwrap_or(Instant::FAR);
        debug_assert!(self.below_next > now);
    }

    /// Lets what is below run to its next completion by `until`, if it has one. Answers when there is something to do here.
    fn proceed_below(&mut self, until: Instant) -> Instant {
        let done = self.below.proceed(until);
        if let Some(completion) = &done {
            self.take_back(completion);
        }
        self.below_next = self.below.poll_timeout().unwrap_or(Instant::FAR);
        done.map_or_else(|| self.own_next(), |completion| completion.finished)
    }

    fn take_back(&mut self, completion: &Completion) {
        let (slot, now) = (completion.tag, completion.finished);
        self.compute(now);
        let late = self.programmed(now, slot, completion.effort.programmed);
        let copied = self.copy.time(u64::from(completion.effort.copied) * SECTOR);
        let parity = self.parity.time(u64::from(completion.effort.parity) * SECTOR);
        let interrupts = Span::from_nanos(self.spec.interrupt.nanos() * u64::from(completion.effort.interrupts));
        let takes = interrupts + copied + parity + late + self.spec.finish;
        let held = self.held(slot);
        held.ledger.adopt(Part::Processor, completion);
        held.effort.add(&completion.effort);
        held.status = completion.status;
        self.queue(now, takes, Work::Finish(slot));
    }

    /// A core has moved the data of the request in `slot` for `takes`, as far as the cores were idle while it was below;
    /// answers what is left to move.
    fn programmed(&mut self, now: Instant, slot: u32, takes: Span) -> Span {
        if takes == Span::ZERO {
            return Span::ZERO;
        }
        let (down, before) = self.held(slot).down;
        let window = now.since(down);
        let all = Span::from_nanos(window.nanos() * u64::from(self.spec.cores));
        let idle = all.saturating_sub(self.busy - before).min(window);
        let meanwhile = takes.min(idle);
        self.busy += meanwhile;
        self.held(slot).effort.busy += meanwhile;
        takes - meanwhile
    }

    fn answer(&mut self, now: Instant, slot: u32) {
        let held = self.held(slot);
        held.ledger.until(Part::Processor, now);
        let Held { request, ledger, effort, status, .. } = *held;
        let (tag, submitted, parts) = (request.tag, ledger.start(), ledger.parts());
        self.ready.push_back(Completion { tag, status, submitted, finished: now, parts, effort });
        self.slots[slot as usize] = None;
        self.free.push(slot);
        self.in_flight -= u32::from(request.op != Op::Compute);
    }

    /// Ends what is here and `chosen` names; what is below is the device's to end. A core that works for it is
    /// free at once; what it was to cost stays counted.
    fn drop_held(&mut self, now: Instant, status: Status, chosen: impl Fn(u32) -> bool) -> bool {
        self.compute(now);
        let slots = &self.slots;
        let gone = |slot: u32| slots[slot as usize].is_some_and(|held| chosen(held.request.tag));
        let work = self.running.iter().map(|&(_, work)| work).chain(self.waiting.iter().map(|&(_, work)| work));
        let programs = self.computing.iter().map(|&(_, slot)| slot);
        let mut ended: Vec<u32> = work.map(Work::slot).chain(programs).filter(|&slot| gone(slot)).collect();
        ended.sort_by_key(|&slot| slots[slot as usize].map(|held| held.request.tag));
        self.running.retain(|(_, work)| !ended.contains(&work.slot()));
        self.waiting.retain(|(_, work)| !ended.contains(&work.slot()));
        self.computing.retain(|(_, slot)| !ended.contains(slot));
        while self.running.len() < self.spec.cores as usize {
            let Some((takes, next)) = self.waiting.pop_front() else { break };
            self.running.push((now + takes, next));
        }
        for &slot in &ended {
            self.held(slot).status = status;
            self.answer(now, slot);
        }
        !ended.is_empty()
    }

    fn abort(&mut self, now: Instant, tag: u32) -> Result<(), ControlError> {
        if self.drop_held(now, Status::Aborted, |other| other == tag) {
            return Ok(());
        }
        let known = self.slots.iter().position(|slot| slot.is_some_and(|held| held.request.tag == tag));
        let slot = known.ok_or(ControlError::UnknownTag)?;
        self.below.control(now, &Control::Abort(slot as u32))
    }
}

impl Device for Processor {
    fn limits(&self, unit: u8) -> Limits {
        Limits { depth: self.depth, computes: true, ..self.below.limits(unit) }
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Request> {
        self.handle_timeout(now);
        let computes = request.op == Op::Compute;
        if !computes && self.in_flight == self.depth {
            return Err(request);
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        let (ledger, effort) = (Ledger::open(now), Effort::default());
        self.slots[slot as usize] =
            Some(Held { request, ledger, effort, status: Status::Done, down: (now, Span::ZERO) });
        if computes {
            self.compute(now);
            let takes = Span::from_micros(u64::from(request.sectors));
            self.held(slot).effort.busy = takes;
            self.computing.push_back((takes, slot));
        } else {
            self.in_flight += 1;
            self.queue(now, self.spec.issue, Work::Issue(slot));
        }
        self.settle(now);
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
        self.settle(now);
        done
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let next = self.own_next().min(self.below_next);
        (next != Instant::FAR).then_some(next)
    }

    fn handle_timeout(&mut self, now: Instant) {
        loop {
            let next = self.own_next().min(self.below_next);
            if next > now || next == Instant::FAR {
                return;
            }
            if self.below_next <= next {
                self.below.handle_timeout(next);
            }
            self.settle(next);
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
            let own = self.own_next();
            let first = own.min(until);
            let at = match self.below_next > first {
                true => own,
                false => self.proceed_below(first),
            };
            if at > until || at == Instant::FAR {
                return None;
            }
            self.handle_timeout(at);
            self.settle(at);
        }
    }
}
