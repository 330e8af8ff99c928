//! The fair scheduler: each program has its turn, in the manner of Linux's BFQ (`block/bfq-iosched.c`, `bfq-wf2q.c`,
//! Linux 6.x; `Documentation/block/bfq-iosched.rst`).
//!
//! Each program has a *flow*, and a second one if it also writes asynchronously (through a page cache; a setting says
//! whether writes are asynchronous). One flow is served at a time, by rising address from the end of its last command,
//! until its budget of sectors is used up, its time is over, or it has no more commands. The scheduler waits for a
//! synchronous flow without commands if its mean think time is below `slice_idle` and all its commands are back, so
//! that a program that reads one block after another keeps its turn; for a flow that seeks it waits at most
//! `seeky_idle`.
//!
//! Virtual time decides which flow is next (B-WF2Q+, all weights equal). A flow starts at the present virtual time or
//! where it last ended, whichever is later, and finishes one budget later; of the flows that have started, the one that
//! finishes first is next. Virtual time advances by the service given, divided by the number of flows. A flow that
//! seeks, or that had a third of its budget left when its time was over, is charged for its time instead of its
//! sectors. Asynchronous sectors count several times.
//!
//! Not modelled: injection of other programs' commands into idle time, raised weights of interactive programs
//! (low_latency), merging of co-operating programs, budgets that follow a flow's behaviour, a flow's own deadlines,
//! groups, priorities. A flush bypasses the flows and goes next.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::block::{Op, Request};
use crate::time::{Instant, Span};

/// The times and counts of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FairSpec {
    /// How long to wait for a synchronous flow.
    pub slice_idle: Span,
    /// How long to wait for a flow that seeks.
    pub seeky_idle: Span,
    /// The longest turn.
    pub timeout: Span,
    /// Sectors in a turn.
    pub max_budget: u32,
    /// How many sectors an asynchronous sector counts as.
    pub async_charge: u32,
    /// Writes are synchronous: a program's own, without a page cache.
    pub sync_writes: bool,
}

impl FairSpec {
    /// The kernel's defaults: `bfq_slice_idle` 8 ms, `BFQ_MIN_TT` 2 ms, `bfq_timeout` HZ/8, `bfq_default_max_budget` 16 x
    /// 1024 sectors, `bfq_async_charge_factor` 3; direct writes carry `REQ_SYNC`.
    pub const LINUX: FairSpec = FairSpec {
        slice_idle: Span::from_millis(8),
        seeky_idle: Span::from_millis(2),
        timeout: Span::from_millis(125),
        max_budget: 16_384,
        async_charge: 3,
        sync_writes: true,
    };
}

/// A command seeks if it is farther than this from the end of the last one (`BFQQ_SEEK_THR`, 8 x 100 sectors).
const SEEK: u64 = 800;
/// A flow seeks if more than this many of its last 32 commands did (`BFQQ_SEEKY`).
const SEEKY: u32 = 19;
/// Virtual time counts in 1/1024 sectors, so that fractions are not lost.
const FINE: u64 = 1024;

/// A program's commands of one kind.
struct Flow {
    origin: u16,
    sync: bool,
    /// By first sector.
    sorted: Vec<(u64, u32, u32)>,
    below: u32,
    /// Where the last command sent ended.
    position: u64,
    /// Virtual times.
    start: u64,
    finish: u64,
    backlogged: bool,
    /// Whether each of the last 32 commands came far from the one before.
    seeks: u32,
    last_end: u64,
    /// When the last command completed, and the mean time from a completion to the next command.
    returned: Instant,
    think: Span,
}

impl Flow {
    fn is_seeky(&self) -> bool {
        self.seeks.count_ones() > SEEKY
    }

    /// The next command by address from the end of the last; then from the lowest again.
    fn take(&mut self) -> Option<(u64, u32, u32)> {
        if self.sorted.is_empty() {
            return None;
        }
        let at = self.sorted.partition_point(|&(lba, ..)| lba < self.position);
        let taken = self.sorted.remove(if at < self.sorted.len() { at } else { 0 });
        self.position = taken.0 + u64::from(taken.2);
        Some(taken)
    }
}

/// The turn of a flow.
struct Turn {
    flow: usize,
    began: Instant,
    /// Sectors sent; asynchronous ones count several times.
    used: u64,
    /// Until when to wait for the flow's next command; `FAR` while it has some, here or below.
    idle_until: Instant,
}

/// The flows of a fair scheduler.
pub(super) struct FairScheduler {
    spec: FairSpec,
    flows: Vec<Flow>,
    turn: Option<Turn>,
    /// Virtual time.
    time: u64,
    /// Commands that belong to no flow.
    next: VecDeque<u32>,
}

impl FairScheduler {
    /// A scheduler without commands.
    pub fn new(spec: FairSpec) -> FairScheduler {
        FairScheduler { spec, flows: Vec::new(), turn: None, time: 0, next: VecDeque::new() }
    }

    /// How many commands wait.
    pub fn len(&self) -> usize {
        self.next.len() + self.flows.iter().map(|flow| flow.sorted.len()).sum::<usize>()
    }

    fn is_sync(&self, request: &Request) -> bool {
        request.op == Op::Read || self.spec.sync_writes
    }

    fn flow_of(&mut self, request: &Request) -> usize {
        let (origin, sync) = (request.origin, self.is_sync(request));
        if let Some(at) = self.flows.iter().position(|flow| flow.origin == origin && flow.sync == sync) {
            return at;
        }
        self.flows.push(Flow {
            origin,
            sync,
            sorted: Vec::new(),
            below: 0,
            position: 0,
            start: 0,
            finish: 0,
            backlogged: false,
            seeks: 0,
            last_end: request.lba,
            returned: Instant::FAR,
            think: Span::ZERO,
        });
        self.flows.len() - 1
    }

    /// Adds a command that waits from `now` on.
    pub fn add(&mut self, now: Instant, number: u32, request: &Request) {
        if request.op == Op::Flush {
            return self.next.push_back(number);
        }
        let index = self.flow_of(request);
        let (time, most) = (self.time, self.spec.slice_idle.times(2));
        let budget = u64::from(self.spec.max_budget) * FINE;
        let flow = &mut self.flows[index];
        if flow.sorted.is_empty() && flow.below == 0 && flow.returned != Instant::FAR {
            let thought = now.since(flow.returned).min(most);
            flow.think = Span::from_nanos((7 * flow.think.nanos() + thought.nanos()) / 8);
        }
        flow.seeks = flow.seeks << 1 | u32::from(flow.last_end.abs_diff(request.lba) > SEEK);
        flow.last_end = request.end();
        let at = flow.sorted.partition_point(|&(lba, ..)| lba <= request.lba);
        flow.sorted.insert(at, (request.lba, number, request.sectors));
        let served = self.turn.as_ref().is_some_and(|turn| turn.flow == index);
        if !flow.backlogged && !served {
            flow.start = time.max(flow.finish);
            flow.finish = flow.start + budget;
        }
        flow.backlogged = true;
        if let Some(turn) = self.turn.as_mut().filter(|_| served) {
            turn.idle_until = Instant::FAR;
        }
    }

    /// Removes a waiting command.
    pub fn remove(&mut self, number: u32, request: &Request) {
        self.next.retain(|&other| other != number);
        let index = self.flow_of(request);
        let flow = &mut self.flows[index];
        flow.sorted.retain(|&(_, other, _)| other != number);
        let served = self.turn.as_ref().is_some_and(|turn| turn.flow == index);
        flow.backlogged &= served || !flow.sorted.is_empty();
    }

    /// Updates a waiting command that has grown from `before` to `after`.
    pub fn moved(&mut self, number: u32, before: &Request, after: &Request) {
        let index = self.flow_of(before);
        let sorted = &mut self.flows[index].sorted;
        sorted.retain(|&(_, other, _)| other != number);
        let at = sorted.partition_point(|&(lba, ..)| lba <= after.lba);
        sorted.insert(at, (after.lba, number, after.sectors));
    }

    /// Takes out the next command, unless the scheduler waits for a flow.
    pub fn next(&mut self, now: Instant) -> Option<u32> {
        if let Some(number) = self.next.pop_front() {
            return Some(number);
        }
        loop {
            let Some(turn) = &mut self.turn else {
                self.choose(now)?;
                continue;
            };
            let flow = &mut self.flows[turn.flow];
            let over = turn.used >= u64::from(self.spec.max_budget) || turn.began + self.spec.timeout <= now;
            if over {
                self.end_turn(now);
                continue;
            }
            if let Some((_, number, sectors)) = flow.take() {
                let charge = if flow.sync { 1 } else { u64::from(self.spec.async_charge) };
                turn.used += u64::from(sectors) * charge;
                flow.below += 1;
                return Some(number);
            }
            if self.waits(now) {
                return None;
            }
            self.end_turn(now);
        }
    }

    /// True if the flow whose turn it is has no commands and the scheduler waits for it.
    fn waits(&self, now: Instant) -> bool {
        let Some(turn) = &self.turn else { return false };
        let flow = &self.flows[turn.flow];
        let worth = flow.sync && flow.think <= self.spec.slice_idle;
        worth && (flow.below > 0 || (turn.idle_until != Instant::FAR && now < turn.idle_until))
    }

    /// Chooses, of the flows that have started, the one that finishes first; virtual time jumps to the first start if
    /// none has.
    fn choose(&mut self, now: Instant) -> Option<()> {
        let waiting = || self.flows.iter().enumerate().filter(|(_, flow)| !flow.sorted.is_empty());
        let first = waiting().map(|(_, flow)| flow.start).min()?;
        self.time = self.time.max(first);
        let started = waiting().filter(|(_, flow)| flow.start <= self.time);
        let (flow, _) = started.min_by_key(|(_, flow)| flow.finish)?;
        self.turn = Some(Turn { flow, began: now, used: 0, idle_until: Instant::FAR });
        Some(())
    }

    fn end_turn(&mut self, now: Instant) {
        let Some(turn) = self.turn.take() else { return };
        let (budget, most) = (u64::from(self.spec.max_budget), self.spec.timeout.nanos().max(1));
        let spent = now.since(turn.began).nanos().min(most);
        let flow = &self.flows[turn.flow];
        let slow = flow.is_seeky() || (spent == most && turn.used <= budget - budget / 3);
        // A turn without service still counts: otherwise a flow could be served for ever at one virtual time.
        let charged = if slow { turn.used.max(budget * spent / most) } else { turn.used }.max(1) * FINE;
        let active = self.flows.iter().filter(|flow| flow.backlogged).count().max(1);
        self.time += charged / active as u64;
        let flow = &mut self.flows[turn.flow];
        flow.backlogged = !flow.sorted.is_empty();
        flow.start += charged;
        flow.finish = flow.start + if flow.backlogged { budget * FINE } else { 0 };
    }

    /// Notes that a command is back: the wait for its flow may begin.
    pub fn completed(&mut self, now: Instant, request: &Request) {
        if request.op == Op::Flush {
            return;
        }
        let index = self.flow_of(request);
        let flow = &mut self.flows[index];
        flow.below = flow.below.saturating_sub(1);
        flow.returned = now;
        let idle = if flow.is_seeky() { self.spec.seeky_idle.min(self.spec.slice_idle) } else { self.spec.slice_idle };
        let empty = flow.below == 0 && flow.sorted.is_empty();
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.flow == index && empty) {
            turn.idle_until = now + idle;
        }
    }

    /// When the wait for a flow ends, if another flow has commands.
    pub fn when(&self) -> Instant {
        let turn = self.turn.as_ref().filter(|_| self.len() > 0);
        turn.map_or(Instant::FAR, |turn| turn.idle_until.min(turn.began + self.spec.timeout))
    }
}
