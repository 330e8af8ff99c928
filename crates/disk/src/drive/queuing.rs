//! Commands that wait for the medium, by their *standing*: head of the queue, planned, preferred (with priority),
//! plain. The kinds of command queuing differ in these rules; `electronics` carries out those about commands held back
//! and errors.
//!
//! | | none | TCQ | NCQ | SCSI |
//! |---|---|---|---|---|
//! | commands outstanding | 1 | 32 | 32 | 256 |
//! | a flush, zeroes without data | | runs alone | runs alone | a command as any other |
//! | *ordered*, *head of queue* | | refused | refused | honoured |
//! | *priority*, if `firmware.priority` is set | | honoured | honoured | honoured |
//! | an error | ends its command | ends all | ends all | ends its command |
//! | waiting for the medium | | releases the bus | | |
//!
//! A command that runs *alone* begins when all before it are done, and later ones wait until it is done. By the
//! standard that is the host's duty: it must not send a command without a tag while tagged ones are outstanding, and
//! drivers hold it back. Here the drive holds it back itself, at its port, so that any host may send it. The command's
//! own wait counts as *queue*, that of later ones as *flush*. If the host holds flushes back, none waits here.
//!
//! An *ordered* command runs alone too. A command for the *head of queue* passes those held back and goes before all
//! that wait for the medium. *Ordered* and *head of queue* at an ATA queue end as unsupported: a host that relies on an
//! order must learn that it is not kept. *Priority* is a hint, and ignored if it is not honoured. Prioritised commands
//! go before others until one of those has waited longer than `max_wait`; without that limit a stream of them starves
//! the rest.

use alloc::collections::VecDeque;

use super::target::Target;
use crate::queue::{Choice, Costs, Discipline, Policy, Queue};
use crate::time::{Instant, Span};

/// Commands that wait for the medium, by standing.
#[derive(Clone, Debug)]
pub(super) struct Candidates {
    /// Number of commands; a field, because it is read often.
    count: usize,
    /// Number of writes among them.
    writes: usize,
    /// Number of commands that are planned beyond the next.
    plan_ahead: usize,
    /// For the head of the queue, in order of arrival, and since when they wait.
    heads: VecDeque<(Instant, Target)>,
    /// Planned, in the order in which they are served (see `plan`), and since when they wait.
    planned: VecDeque<(Instant, Target)>,
    /// With priority.
    preferred: Queue<Target>,
    /// All others.
    plain: Queue<Target>,
    /// A waiting command was compared with a read that needs no positioning.
    compared_with_hit: bool,
}

/// Standing of a command among those that wait for the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandStanding {
    Head,
    /// Planned, at this index of the plan.
    Planned(usize),
    /// With priority.
    Preferred,
    Plain,
}

/// A choice among the candidates, and its cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct CandidateChoice {
    standing: CommandStanding,
    /// The choice in the queue of its standing; `None` if that is not a [`Queue`].
    choice: Option<Choice>,
    pub(super) cost: u64,
}

impl CandidateChoice {
    /// True if it goes before everything else.
    pub(super) fn is_head(&self) -> bool {
        self.standing == CommandStanding::Head
    }
}

impl Candidates {
    /// Returns an empty queue of at most `capacity` commands; `plan_ahead` commands beyond the next are planned.
    pub(super) fn new(discipline: Discipline, plan_ahead: u32, capacity: usize) -> Candidates {
        let (preferred, plain) = (Queue::new(discipline, 0), Queue::new(discipline, capacity));
        Candidates {
            count: 0,
            writes: 0,
            plan_ahead: plan_ahead as usize,
            heads: VecDeque::new(),
            planned: VecDeque::new(),
            preferred,
            plain,
            compared_with_hit: false,
        }
    }

    /// Policy of choice.
    #[inline]
    pub(super) fn policy(&self) -> Policy {
        self.plain.policy()
    }

    /// Wait limit: a command that has waited longer goes first.
    #[inline]
    pub(super) fn max_wait(&self) -> Option<Span> {
        self.plain.max_wait()
    }

    /// Maximum number of commands that competed at once for a turn.
    pub(super) fn max_competing(&self) -> u32 {
        let with_hit = if self.compared_with_hit { 2 } else { 0 };
        self.plain.max_waiting().max(self.preferred.max_waiting()).max(with_hit)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a command that waits since `waiting_since`.
    pub(super) fn push(&mut self, waiting_since: Instant, standing: CommandStanding, target: Target) {
        let cylinder = u64::from(target.cylinder);
        let standing = match standing {
            CommandStanding::Plain | CommandStanding::Preferred if self.joins_plan_at_once() => {
                CommandStanding::Planned(self.planned.len())
            }
            standing => standing,
        };
        self.count += 1;
        self.writes += usize::from(target.write);
        match standing {
            CommandStanding::Head => self.heads.push_back((waiting_since, target)),
            CommandStanding::Preferred => self.preferred.push(waiting_since, cylinder, target),
            CommandStanding::Plain => self.plain.push(waiting_since, cylinder, target),
            CommandStanding::Planned(_) => {
                self.plain.pass_through(cylinder);
                self.planned.push_back((waiting_since, target));
            }
        }
    }

    /// Records a command at `cylinder` that came and went while no other waited.
    #[inline]
    pub(super) fn pass_through(&mut self, cylinder: u32) {
        self.plain.pass_through(u64::from(cylinder));
    }

    /// True if none of them writes.
    #[inline]
    pub(super) fn are_all_reads(&self) -> bool {
        self.writes == 0
    }

    /// Keeps only the commands for which `keep` is true.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&Target) -> bool) {
        let mut writes = 0;
        let mut keep = |target: &Target| {
            let keeps = keep(target);
            writes += usize::from(keeps && target.write);
            keeps
        };
        self.heads.retain(|(_, target)| keep(target));
        self.planned.retain(|(_, target)| keep(target));
        self.preferred.retain(&mut keep);
        self.plain.retain(&mut keep);
        self.writes = writes;
        self.count = self.heads.len() + self.planned.len() + self.preferred.len() + self.plain.len();
    }

    /// When the first command reaches the wait limit of the discipline. Heads of the queue do not count: they wait for
    /// no other command.
    #[inline]
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self.planned.is_empty() && self.preferred.is_empty() {
            true => self.plain.wait_deadline(),
            false => self.deadline_of_all(),
        }
    }

    /// Deadline if some commands are planned or preferred.
    fn deadline_of_all(&self) -> Option<Instant> {
        let limit = self.plain.discipline().max_wait?;
        let planned = self.planned.iter().map(|&(since, _)| since + limit).min();
        self.plain.wait_deadline().into_iter().chain(self.preferred.wait_deadline()).chain(planned).min()
    }

    /// True if a command waits at the head of the queue.
    pub(super) fn has_head_of_queue(&self) -> bool {
        !self.heads.is_empty()
    }

    /// True if a command has waited longer than the discipline allows.
    pub(super) fn is_overdue(&self, now: Instant) -> bool {
        self.deadline().is_some_and(|deadline| deadline < now)
    }

    /// Chooses the next command to serve at `now`; see [`Queue::choose`].
    pub(super) fn choose(&self, now: Instant, head: u64, costs: &impl Costs<Target>) -> Option<CandidateChoice> {
        if let Some((_, target)) = self.heads.front() {
            return Some(CandidateChoice {
                standing: CommandStanding::Head,
                choice: None,
                cost: costs.request_cost(target),
            });
        }
        if let Some((_, target)) = self.planned.front() {
            return Some(CandidateChoice {
                standing: CommandStanding::Planned(0),
                choice: None,
                cost: costs.request_cost(target),
            });
        }
        self.choose_unplanned(now, head, costs)
    }

    /// Chooses among commands that are neither for the head of the queue nor planned.
    #[inline(always)]
    pub(super) fn choose_unplanned(
        &self,
        now: Instant,
        head: u64,
        costs: &impl Costs<Target>,
    ) -> Option<CandidateChoice> {
        let prefers = !self.preferred.is_empty() && !self.must_plain_go_first(now);
        let (standing, queue) = match prefers {
            true => (CommandStanding::Preferred, &self.preferred),
            false => (CommandStanding::Plain, &self.plain),
        };
        let choice = queue.choose(now, head, costs)?;
        Some(CandidateChoice { standing, choice: Some(choice), cost: choice.cost })
    }

    /// Target of a choice among unplanned commands.
    pub(super) fn unplanned_target(&self, chosen: &CandidateChoice) -> Option<&Target> {
        let queue = match chosen.standing {
            CommandStanding::Preferred => &self.preferred,
            CommandStanding::Plain => &self.plain,
            CommandStanding::Head | CommandStanding::Planned(_) => return None,
        };
        chosen.choice.as_ref().map(|choice| queue.chosen_request(choice).1)
    }

    /// True if commands wait that are not planned, heads of the queue apart.
    fn any_unplanned(&self) -> bool {
        !(self.plain.is_empty() && self.preferred.is_empty())
    }

    /// True if a command that comes goes into the plan at once: nothing competes with it.
    fn joins_plan_at_once(&self) -> bool {
        self.planned.len() < self.plan_ahead && !self.any_unplanned()
    }

    /// True if another command is to be planned.
    pub(super) fn must_plan_more(&self) -> bool {
        self.plan_ahead > 0 && self.planned.len() <= self.plan_ahead && self.any_unplanned()
    }

    /// Number of planned commands.
    pub(super) fn planned_count(&self) -> usize {
        self.planned.len()
    }

    /// Target at `index` of the plan.
    pub(super) fn planned_target(&self, index: usize) -> &Target {
        &self.planned[index].1
    }

    /// Moves the command of a choice among unplanned commands to the end of the plan.
    pub(super) fn append_to_plan(&mut self, chosen: CandidateChoice) -> Target {
        let waiting_since = self.unplanned_waiting_since(&chosen);
        let target = self.take(chosen);
        self.planned.push_back((waiting_since, target));
        self.count += 1;
        self.writes += usize::from(target.write);
        target
    }

    /// Since when a chosen unplanned command waits.
    fn unplanned_waiting_since(&self, chosen: &CandidateChoice) -> Instant {
        let choice = chosen.choice.as_ref().expect("chosen from a queue");
        match chosen.standing {
            CommandStanding::Preferred => self.preferred.chosen_request(choice).0,
            _ => self.plain.chosen_request(choice).0,
        }
    }

    /// True if a command without priority is over its wait limit, and passed it before any with priority.
    fn must_plain_go_first(&self, now: Instant) -> bool {
        let passed = self.plain.wait_deadline().filter(|&deadline| deadline < now);
        passed.is_some_and(|passed| self.preferred.wait_deadline().is_none_or(|other| passed < other))
    }

    /// The command with the lowest `rank`, heads of the queue apart, and its slot. Commands without a rank do not
    /// count.
    pub(super) fn lowest_by<K: Ord>(
        &self,
        mut rank: impl FnMut(&Target) -> Option<K>,
    ) -> Option<(CandidateChoice, u16)> {
        let planned = self.planned.iter().enumerate().filter_map(|(index, (_, target))| {
            let chosen = CandidateChoice { standing: CommandStanding::Planned(index), choice: None, cost: 0 };
            rank(target).map(|rank| (rank, chosen, target.slot))
        });
        let planned = planned.min_by(|one, other| one.0.cmp(&other.0));
        let queues = [(CommandStanding::Preferred, &self.preferred), (CommandStanding::Plain, &self.plain)];
        let queued = queues.into_iter().filter_map(|(standing, queue)| {
            let choice = queue.lowest_by(&mut rank)?;
            let target = queue.chosen_request(&choice).1;
            rank(target).map(|rank| (rank, CandidateChoice { standing, choice: Some(choice), cost: 0 }, target.slot))
        });
        planned
            .into_iter()
            .chain(queued)
            .min_by(|one, other| one.0.cmp(&other.0))
            .map(|(_, chosen, slot)| (chosen, slot))
    }

    /// Removes the chosen command; nothing may have been added or taken since.
    #[inline(always)]
    pub(super) fn take(&mut self, chosen: CandidateChoice) -> Target {
        self.count -= 1;
        let target = match (chosen.standing, chosen.choice) {
            (CommandStanding::Preferred, Some(choice)) => self.preferred.take(choice),
            (CommandStanding::Plain, Some(choice)) => self.plain.take(choice),
            (CommandStanding::Planned(index), _) => self.planned.remove(index).expect("it is planned").1,
            _ => self.heads.pop_front().expect("a head was chosen").1,
        };
        self.writes -= usize::from(target.write);
        target
    }

    /// True if a waiting command goes before a read that needs no positioning, which arrives or is `chosen` among them;
    /// notes that the two competed. Commands that go first are: a head of the queue; one with priority if the read has
    /// none; one whose wait outweighs its cost or whose patience is used up; any older one if policy, round or window
    /// exclude the read from the choice.
    pub(super) fn waiting_goes_first(
        &mut self,
        at: Instant,
        read_has_priority: bool,
        chosen: Option<CandidateChoice>,
        costs: &impl Costs<Target>,
    ) -> bool {
        if matches!(chosen.map(|it| it.standing), Some(CommandStanding::Planned(_))) {
            return !self.heads.is_empty();
        }
        self.compared_with_hit = true;
        let equals = if read_has_priority { &self.preferred } else { &self.plain };
        let discipline = equals.discipline();
        let Discipline { policy, window, .. } = discipline;
        let choice = chosen.and_then(|it| it.choice);
        let older = choice.map_or(equals.len(), |choice| equals.count_older(&choice));
        let is_excluded = policy == Policy::Fcfs
            || equals.must_await_round(choice.as_ref())
            || (window > 0 && older >= window as usize);
        let wait_outweighs_cost = |(since, target): (Instant, &Target)| {
            let credit = discipline.age_credit(at, since);
            credit > 0 && credit > costs.request_cost(target)
        };
        let oldest_goes_first = |oldest| is_excluded || wait_outweighs_cost(oldest);
        !self.heads.is_empty()
            || (!read_has_priority && !self.preferred.is_empty())
            || (older > 0 && equals.iter().next().is_some_and(oldest_goes_first))
            || (older > 0 && equals.is_oldest_out_of_patience())
    }

    /// Counts a turn of a command that never waited here, and was served while others wait.
    pub(super) fn count_outside_turn(&mut self) {
        self.preferred.count_outside_turn();
        self.plain.count_outside_turn();
    }
}
