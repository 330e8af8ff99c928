//! The fair scheduler: each program has its turn, in the manner of Linux's BFQ (`block/bfq-iosched.c`, `bfq-wf2q.c`,
//! Linux 6.x; `Documentation/block/bfq-iosched.rst`).
//!
//! Each program has a *flow* of commands, and a second flow if it also writes asynchronously (through a page cache; a
//! setting says whether writes are asynchronous). Flows are served one at a time. A flow's commands go by rising address
//! from the end of its last one. A turn ends when the flow's budget of sectors is used up, its time is over, or it has no more
//! commands.
//!
//! A synchronous flow without commands keeps its turn for a while, so that a program that reads one block after another
//! is not interrupted. The scheduler waits for the flow's commands below, and then for up to `slice_idle`, or up to
//! `seeky_idle` if the flow seeks. Nothing is waited for if the flow's mean think time exceeds `slice_idle`.
//!
//! Virtual time decides which flow is next (B-WF2Q+, all weights equal). A flow starts at the present virtual time or
//! where it last ended, whichever is later, and finishes one budget later. The next flow is the one
//! that finishes first among those that have started. Virtual time advances by the service given, divided by the number of flows. A flow that
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
const SEEK_SECTORS: u64 = 800;
/// A flow seeks if more than this many of its last 32 commands did (`BFQQ_SEEKY`).
const SEEKY_COMMANDS: u32 = 19;
/// Virtual time counts in 1/1024 sectors, so that fractions are not lost.
const UNITS_A_SECTOR: u64 = 1024;

/// A waiting command.
#[derive(Clone, Copy)]
struct FlowCommand {
    lba: u64,
    number: u32,
    sectors: u32,
}

/// A program's commands of one kind, synchronous or not.
#[derive(Clone)]
struct ProgramFlow {
    origin: u16,
    sync: bool,
    /// Waiting commands, by first sector.
    sorted: Vec<FlowCommand>,
    commands_below: u32,
    /// The sector after the last command sent.
    sent_end: u64,
    virtual_start: u64,
    virtual_finish: u64,
    /// The flow has commands waiting, or its turn goes on.
    backlogged: bool,
    /// By bit: whether each of the last 32 commands was far from the one before.
    seeks: u32,
    /// The sector after the last command that was added.
    added_end: u64,
    last_completion: Instant,
    /// From a completion to the next command.
    mean_think: Span,
}

impl ProgramFlow {
    fn is_seeky(&self) -> bool {
        self.seeks.count_ones() > SEEKY_COMMANDS
    }

    fn insert_sorted(&mut self, number: u32, request: &Request) {
        let Request { lba, sectors, .. } = *request;
        let index = self.sorted.partition_point(|other| other.lba <= lba);
        self.sorted.insert(index, FlowCommand { lba, number, sectors });
    }

    /// Takes out the next command by address from the end of the last one sent; after the highest, the lowest.
    fn take_next(&mut self) -> Option<FlowCommand> {
        if self.sorted.is_empty() {
            return None;
        }
        let next = self.sorted.partition_point(|command| command.lba < self.sent_end);
        let taken = self.sorted.remove(if next < self.sorted.len() { next } else { 0 });
        self.sent_end = taken.lba + u64::from(taken.sectors);
        Some(taken)
    }
}

/// The turn of a flow.
#[derive(Clone)]
struct FlowTurn {
    /// The flow's index.
    flow: usize,
    began: Instant,
    /// Sectors sent; asynchronous ones count several times.
    charged_sectors: u64,
    /// Until when to wait for the flow's next command; `FAR` while it has commands, waiting or below.
    idle_until: Instant,
}

/// The flows of a fair scheduler.
#[derive(Clone)]
pub(super) struct FairScheduler {
    spec: FairSpec,
    flows: Vec<ProgramFlow>,
    turn: Option<FlowTurn>,
    virtual_time: u64,
    /// Flushes, which belong to no flow.
    unsorted: VecDeque<u32>,
}

impl FairScheduler {
    /// A scheduler without commands.
    pub fn new(spec: FairSpec) -> FairScheduler {
        FairScheduler { spec, flows: Vec::new(), turn: None, virtual_time: 0, unsorted: VecDeque::new() }
    }

    /// How many commands wait.
    pub fn len(&self) -> usize {
        self.unsorted.len() + self.flows.iter().map(|flow| flow.sorted.len()).sum::<usize>()
    }

    fn is_sync(&self, request: &Request) -> bool {
        request.op == Op::Read || self.spec.sync_writes
    }

    /// The index of the flow of a request, which is created if it is new.
    fn flow_index(&mut self, request: &Request) -> usize {
        let (origin, sync) = (request.origin, self.is_sync(request));
        if let Some(index) = self.flows.iter().position(|flow| flow.origin == origin && flow.sync == sync) {
            return index;
        }
        self.flows.push(ProgramFlow {
            origin,
            sync,
            sorted: Vec::new(),
            commands_below: 0,
            sent_end: 0,
            virtual_start: 0,
            virtual_finish: 0,
            backlogged: false,
            seeks: 0,
            added_end: request.lba,
            last_completion: Instant::FAR,
            mean_think: Span::ZERO,
        });
        self.flows.len() - 1
    }

    /// Adds a command that waits from `now` on.
    pub fn add(&mut self, now: Instant, number: u32, request: &Request) {
        if request.op == Op::Flush {
            return self.unsorted.push_back(number);
        }
        let index = self.flow_index(request);
        // A pause counts as twice the longest wait at most.
        let longest_think = self.spec.slice_idle.times(2);
        let flow = &mut self.flows[index];
        if flow.sorted.is_empty() && flow.commands_below == 0 && flow.last_completion != Instant::FAR {
            let think = now.since(flow.last_completion).min(longest_think);
            flow.mean_think = Span::from_nanos((7 * flow.mean_think.nanos() + think.nanos()) / 8);
        }
        flow.seeks = flow.seeks << 1 | u32::from(flow.added_end.abs_diff(request.lba) > SEEK_SECTORS);
        flow.added_end = request.end();
        flow.insert_sorted(number, request);
        let has_turn = self.turn.as_ref().is_some_and(|turn| turn.flow == index);
        if !flow.backlogged && !has_turn {
            flow.virtual_start = self.virtual_time.max(flow.virtual_finish);
            flow.virtual_finish = flow.virtual_start + u64::from(self.spec.max_budget) * UNITS_A_SECTOR;
        }
        flow.backlogged = true;
        if let Some(turn) = self.turn.as_mut().filter(|_| has_turn) {
            turn.idle_until = Instant::FAR;
        }
    }

    /// Removes a waiting command.
    pub fn remove(&mut self, number: u32, request: &Request) {
        self.unsorted.retain(|&other| other != number);
        let index = self.flow_index(request);
        let flow = &mut self.flows[index];
        flow.sorted.retain(|command| command.number != number);
        let has_turn = self.turn.as_ref().is_some_and(|turn| turn.flow == index);
        flow.backlogged &= has_turn || !flow.sorted.is_empty();
    }

    /// Updates a waiting command that has grown from `before` to `after`.
    pub(crate) fn update_grown(&mut self, number: u32, before: &Request, after: &Request) {
        let index = self.flow_index(before);
        let flow = &mut self.flows[index];
        flow.sorted.retain(|command| command.number != number);
        flow.insert_sorted(number, after);
    }

    /// Takes out the next command, unless the scheduler waits for a flow. Ends turns that are over, and begins others.
    pub(crate) fn take_next(&mut self, now: Instant) -> Option<u32> {
        if let Some(number) = self.unsorted.pop_front() {
            return Some(number);
        }
        loop {
            let Some(turn) = &mut self.turn else {
                self.begin_turn(now)?;
                continue;
            };
            let flow = &mut self.flows[turn.flow];
            let is_budget_used = turn.charged_sectors >= u64::from(self.spec.max_budget);
            if is_budget_used || turn.began + self.spec.timeout <= now {
                self.end_turn(now);
                continue;
            }
            if let Some(FlowCommand { number, sectors, .. }) = flow.take_next() {
                let charge = if flow.sync { 1 } else { u64::from(self.spec.async_charge) };
                turn.charged_sectors += u64::from(sectors) * charge;
                flow.commands_below += 1;
                return Some(number);
            }
            if self.waits_for_flow(now) {
                return None;
            }
            self.end_turn(now);
        }
    }

    /// True if the flow whose turn it is has no commands and the scheduler waits for it.
    fn waits_for_flow(&self, now: Instant) -> bool {
        let Some(turn) = &self.turn else { return false };
        let flow = &self.flows[turn.flow];
        let is_worth_waiting = flow.sync && flow.mean_think <= self.spec.slice_idle;
        let is_idle_time = turn.idle_until != Instant::FAR && now < turn.idle_until;
        is_worth_waiting && (flow.commands_below > 0 || is_idle_time)
    }

    /// Begins the turn of the flow that finishes first, of those that have started; if none has, virtual time jumps to the
    /// first start. `None` if no command waits.
    fn begin_turn(&mut self, now: Instant) -> Option<()> {
        let waiting = || self.flows.iter().enumerate().filter(|(_, flow)| !flow.sorted.is_empty());
        let first_start = waiting().map(|(_, flow)| flow.virtual_start).min()?;
        self.virtual_time = self.virtual_time.max(first_start);
        let started = waiting().filter(|(_, flow)| flow.virtual_start <= self.virtual_time);
        let (flow, _) = started.min_by_key(|(_, flow)| flow.virtual_finish)?;
        self.turn = Some(FlowTurn { flow, began: now, charged_sectors: 0, idle_until: Instant::FAR });
        Some(())
    }

    /// Ends the turn: charges the flow for it, and advances virtual time.
    fn end_turn(&mut self, now: Instant) {
        let Some(turn) = self.turn.take() else { return };
        let (budget, timeout) = (u64::from(self.spec.max_budget), self.spec.timeout.nanos().max(1));
        let spent = now.since(turn.began).nanos().min(timeout);
        let flow = &self.flows[turn.flow];
        let is_slow = flow.is_seeky() || (spent == timeout && turn.charged_sectors <= budget - budget / 3);
        let by_time = if is_slow { budget * spent / timeout } else { 0 };
        // A turn without service still counts: otherwise a flow could be served for ever at one virtual time.
        let charge = turn.charged_sectors.max(by_time).max(1) * UNITS_A_SECTOR;
        let backlogged = self.flows.iter().filter(|flow| flow.backlogged).count().max(1);
        self.virtual_time += charge / backlogged as u64;
        let flow = &mut self.flows[turn.flow];
        flow.backlogged = !flow.sorted.is_empty();
        flow.virtual_start += charge;
        flow.virtual_finish = flow.virtual_start + if flow.backlogged { budget * UNITS_A_SECTOR } else { 0 };
    }

    /// Notes that a command has completed: the wait for its flow may begin.
    pub fn note_completion(&mut self, now: Instant, request: &Request) {
        if request.op == Op::Flush {
            return;
        }
        let index = self.flow_index(request);
        let flow = &mut self.flows[index];
        flow.commands_below = flow.commands_below.saturating_sub(1);
        flow.last_completion = now;
        let idle = if flow.is_seeky() { self.spec.seeky_idle.min(self.spec.slice_idle) } else { self.spec.slice_idle };
        let is_empty = flow.commands_below == 0 && flow.sorted.is_empty();
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.flow == index && is_empty) {
            turn.idle_until = now + idle;
        }
    }

    /// When the wait for a flow or its turn ends, if commands wait; else `FAR`.
    pub(crate) fn next_wakeup(&self) -> Instant {
        let turn = self.turn.as_ref().filter(|_| self.len() > 0);
        turn.map_or(Instant::FAR, |turn| turn.idle_until.min(turn.began + self.spec.timeout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    fn request(origin: u16, op: Op, lba: u64, sectors: u32) -> Request {
        Request { origin, op, lba, sectors, ..Request::NONE }
    }

    /// 30 sectors or 10 ms a turn.
    const SHORT: FairSpec = FairSpec { max_budget: 30, timeout: Span::from_millis(10), ..FairSpec::LINUX };

    /// The order in which the commands of two programs go down: eight of each, of so many sectors. The second program's
    /// numbers begin at 10.
    fn sent_order(spec: FairSpec, op: Op, sectors: u32) -> Vec<u32> {
        let mut fair = FairScheduler::new(spec);
        for index in 0..8 {
            for origin in 0..2 {
                let lba = u64::from(origin) * 10_000 + u64::from(index) * u64::from(sectors);
                fair.add(at(0), u32::from(origin) * 10 + index, &request(origin, op, lba, sectors));
            }
        }
        core::iter::from_fn(|| fair.take_next(at(0))).collect()
    }

    #[test]
    fn a_turn_ends_with_its_budget_and_the_others_follow() {
        let threes = [0, 1, 2, 10, 11, 12, 3, 4, 5, 13, 14, 15, 6, 7];
        assert_eq!(sent_order(SHORT, Op::Read, 10)[..14], threes, "three of ten sectors are 30");
        assert_eq!(
            sent_order(FairSpec { max_budget: 31, ..SHORT }, Op::Read, 10)[..9],
            [0, 1, 2, 3, 10, 11, 12, 13, 4]
        );
        assert_eq!(sent_order(SHORT, Op::Write, 10)[..14], threes, "a program's own writes count as reads do");
        let cached = FairSpec { sync_writes: false, ..SHORT };
        assert_eq!(sent_order(cached, Op::Write, 10)[..4], [0, 10, 1, 11], "from a page cache they count three times");
        assert_eq!(sent_order(cached, Op::Write, 9)[..5], [0, 1, 10, 11, 2], "27 are not 30 yet");
    }

    #[test]
    fn a_flow_goes_up_from_the_end_of_the_last_command_and_then_from_the_lowest() {
        let mut fair = FairScheduler::new(FairSpec::LINUX);
        let add = |fair: &mut FairScheduler, number, lba| fair.add(at(0), number, &request(0, Op::Read, lba, 8));
        add(&mut fair, 1, 100);
        assert_eq!(fair.take_next(at(0)), Some(1));
        // The first command ended at 108: the next begins there, and a command before that comes last.
        [(2, 107), (3, 300), (4, 108), (5, 109)].iter().for_each(|&(number, lba)| add(&mut fair, number, lba));
        let flush = request(0, Op::Flush, 0, 0);
        fair.add(at(0), 9, &flush);
        assert_eq!(core::iter::from_fn(|| fair.take_next(at(0))).collect::<Vec<_>>(), [9, 4, 3, 2, 5]);
        assert_eq!(fair.len(), 0);
    }

    #[test]
    fn the_scheduler_waits_for_a_program_to_the_nanosecond() {
        let scene = || {
            let mut fair = FairScheduler::new(FairSpec::LINUX);
            fair.add(at(0), 1, &request(0, Op::Read, 0, 8));
            fair.add(at(0), 2, &request(1, Op::Read, 5_000, 8));
            assert_eq!(fair.take_next(at(0)), Some(1));
            fair
        };
        // The flow's command stays below: the wait lasts as long as the turn.
        let mut fair = scene();
        assert_eq!((fair.take_next(at(125 * MS - 1)), fair.next_wakeup()), (None, at(125 * MS)));
        assert_eq!(fair.take_next(at(125 * MS)), Some(2));
        // The flow's command completes at 1 ms: the wait lasts eight more.
        let mut fair = scene();
        fair.note_completion(at(MS), &request(0, Op::Read, 0, 8));
        assert_eq!((fair.take_next(at(9 * MS - 1)), fair.next_wakeup()), (None, at(9 * MS)));
        assert_eq!(fair.take_next(at(9 * MS)), Some(2));
        // The flow's next command comes in time, and its turn goes on.
        let mut fair = scene();
        fair.note_completion(at(MS), &request(0, Op::Read, 0, 8));
        fair.add(at(9 * MS - 1), 3, &request(0, Op::Read, 8, 8));
        assert_eq!((fair.take_next(at(9 * MS - 1)), fair.take_next(at(9 * MS))), (Some(3), None));
        // No other program waits: there is nothing to wake up for.
        let mut fair = FairScheduler::new(FairSpec::LINUX);
        fair.add(at(0), 1, &request(0, Op::Read, 0, 8));
        assert_eq!((fair.take_next(at(0)), fair.next_wakeup()), (Some(1), Instant::FAR));
    }

    #[test]
    fn a_program_that_thinks_for_long_is_not_waited_for() {
        // Means of seven parts before and one part now: five times 16 ms make 7.8 ms, six 8.8; more than 16 count as 16.
        for (gap, times, waits) in [(16, 5, true), (16, 6, false), (17, 5, true), (8, 7, true)] {
            let mut fair = FairScheduler::new(FairSpec::LINUX);
            let mut now = 0;
            for number in 0..=times {
                now = u64::from(number) * gap * MS;
                fair.add(at(now), number, &request(0, Op::Read, u64::from(number) * 8, 8));
                assert_eq!(fair.take_next(at(now)), Some(number));
                fair.note_completion(at(now), &request(0, Op::Read, u64::from(number) * 8, 8));
            }
            fair.add(at(now), 99, &request(1, Op::Read, 5_000, 8));
            assert_eq!(fair.take_next(at(now)), if waits { None } else { Some(99) }, "{times} times {gap} ms");
        }
    }

    #[test]
    fn a_program_seeks_if_more_than_19_of_32_commands_lie_farther_than_800_sectors() {
        for (far, distance, idle) in [(19, 801, 8), (20, 801, 2), (31, 800, 8), (31, 801, 2)] {
            let mut fair = FairScheduler::new(FairSpec::LINUX);
            let mut lba = 0;
            for number in 0..32 {
                let request = request(0, Op::Read, lba, 8);
                fair.add(at(0), number, &request);
                assert_eq!(fair.take_next(at(0)), Some(number));
                fair.note_completion(at(0), &request);
                lba += 8 + if number < far { distance } else { 0 };
            }
            fair.add(at(0), 99, &request(1, Op::Read, 50, 8));
            assert_eq!((fair.take_next(at(0)), fair.next_wakeup()), (None, at(idle * MS)), "{far} of {distance}");
        }
    }

    #[test]
    fn a_slow_turn_is_charged_for_its_time() {
        // A third of 30 sectors left or more when the time is over: as if it had used all.
        for (used, ended, charged) in [(20, 10 * MS, 30), (21, 10 * MS, 21), (20, 10 * MS + 5, 30), (30, 3 * MS, 30)] {
            let mut fair = FairScheduler::new(SHORT);
            fair.add(at(0), 1, &request(0, Op::Read, 0, used));
            fair.add(at(0), 2, &request(1, Op::Read, 5_000, 8));
            assert_eq!(fair.take_next(at(0)), Some(1));
            assert_eq!(fair.take_next(at(ended)), Some(2), "{used} sectors by {ended}");
            assert_eq!(fair.flows[0].virtual_start, charged * UNITS_A_SECTOR, "{used} sectors by {ended}");
            assert_eq!(
                (fair.flows[0].virtual_finish, fair.virtual_time),
                (charged * UNITS_A_SECTOR, charged * UNITS_A_SECTOR / 2),
                "two programs were at work"
            );
        }
    }
}
