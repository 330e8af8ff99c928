//! The request queue of hosts and drives, with its scheduling policies. The caller supplies positions and costs; the
//! queue does not know what they mean.
//!
//! | policy | serves first | starvation bound |
//! |---|---|---|
//! | FCFS | the oldest request | no request is passed |
//! | SSTF | the request at the nearest position | none |
//! | LOOK | the next position in the direction of the sweep, turning at the last | two sweeps |
//! | C-LOOK | the next higher position, then from the lowest again | one sweep |
//! | SPTF | the request of least cost | none |
//!
//! Ties go to the oldest. Within a sweep, a position that was served is not served again for requests that came later,
//! so a sweep serves no more requests at a position than wait at once.
//!
//! Limits change the choice; each is a field of [`Discipline`]:
//!
//! - A *window* lets a policy choose among the oldest few only.
//! - *Nearest* lets SPTF choose by cost among the few at the nearest positions only. Firmware works so if it sorts by
//!   position and compares the angles of the next few.
//! - A *sample* lets SPTF choose by cost among a few that are drawn at random at each choice. The chance of a request
//!   does not depend on its age: some wait long, none is passed for ever. The draw is a hash of turn and order, so that a
//!   choice repeats; it needs no seed, since positions and arrivals bring the chance of a run.
//! - *Ageing* lowers the cost of a request by a share of its wait. So no request passes another that is older by more
//!   than the largest cost divided by the share. Only the wait beyond `ageing_after` counts, so that a drive may choose
//!   by cost alone until a request is old.
//! - A *wait limit* puts a request first that has waited longer, under any policy.
//! - *Rounds*, under any policy, let arriving requests wait until the present round is served, or a share of it. With
//!   LOOK that is FSCAN, with SPTF batched SPTF; `round` names the sources.
//! - *Patience*, for SPTF, multiplies the cost of a request by the share of its patience that is left. Patience is
//!   counted in turns: `patience` times as many as requests waited when the request came, itself among them. (Weighted
//!   shortest time first does so with time: Seltzer, Chen and Ousterhout, Disk scheduling revisited, 1990.)
//!
//! Rounds and patience count turns instead of time, so they are as fair in a short queue as in a long one:
//!
//! | limit | later requests served before one of at most n waiting |
//! |---|---|
//! | rounds | n - 1 |
//! | rounds with late entry | 2 (n - 1) |
//! | patience of p | p n |

mod choice_by_cost;
mod discipline;
mod round;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

pub use self::discipline::{Discipline, Policy};
use self::round::Round;
use crate::time::{Instant, Span};

/// The costs that a choice by cost needs.
pub trait Costs<T> {
    /// The cost of serving a request.
    fn request_cost(&self, item: &T) -> u64;
    /// A lower bound, rising with the distance, on the cost of any request at this distance from the head or farther.
    fn least_cost_at_or_beyond(&self, distance: u64) -> u64;
}

/// No costs: for policies that go by order or position alone.
pub(crate) struct NoCosts;

impl<T> Costs<T> for NoCosts {
    fn request_cost(&self, _: &T) -> u64 {
        0
    }

    fn least_cost_at_or_beyond(&self, _: u64) -> u64 {
        0
    }
}

/// A waiting request.
#[derive(Clone, Copy, Debug)]
struct WaitingRequest<T> {
    /// Number in order of arrival; `GONE` in a free slot.
    order: u64,
    since: Instant,
    position: u64,
    item: T,
    /// The slots of the next older and the next younger waiting request, or `NONE`.
    older: u32,
    younger: u32,
}

/// No slot.
const NONE: u32 = u32::MAX;

/// The order of a free slot, and an order above all.
const GONE: u64 = u64::MAX;

/// The waiting requests.
#[derive(Clone, Debug)]
pub struct Queue<T> {
    discipline: Discipline,
    /// The waiting requests form a chain by age; `free_slots` lists the other slots.
    slots: Vec<WaitingRequest<T>>,
    free_slots: Vec<u32>,
    /// By slot, if the discipline knows patience: how many waited when the request came.
    waiting_on_arrival: Vec<u32>,
    round: Round,
    /// The ends of the chain.
    oldest: u32,
    youngest: u32,
    /// If `sorted`: slots by rising position, for a choice that scans from one position. A deque, since streams enter
    /// and leave at the ends.
    by_position: VecDeque<u32>,
    sorted: bool,
    /// `sorted` is true only while many wait.
    sorts_many: bool,
    /// Maximum number that have waited at once.
    max_waiting: u32,
    next_order: u64,
    /// The position that was served last.
    sweep_position: u64,
    /// The first order that came after `sweep_position` was first served; [`NOT_SERVED`] if nothing was.
    sweep_fence: u64,
    sweep_rising: bool,
}

/// The fence of a sweep that has not served its first position: all orders are before it.
const NOT_SERVED: u64 = u64::MAX;

/// Selects the candidates of a choice.
trait CandidateFilter<T> {
    fn admits(&self, waiting: &WaitingRequest<T>) -> bool;
}

/// Admits waiting requests of a lower order than `end_order` that the caller admits.
struct AdmittedBefore<A> {
    end_order: u64,
    admit: A,
}

impl<T, A: Fn(&WaitingRequest<T>) -> bool> CandidateFilter<T> for AdmittedBefore<A> {
    #[inline]
    fn admits(&self, waiting: &WaitingRequest<T>) -> bool {
        waiting.order < self.end_order && (self.admit)(waiting)
    }
}

/// A chosen request and its cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    slot: u32,
    /// The cost; 0 from `Queue::lowest_by`.
    pub cost: u64,
}

impl<T: Copy> Default for Queue<T> {
    fn default() -> Queue<T> {
        Queue::new(Discipline::default(), 0)
    }
}

impl<T: Copy> Queue<T> {
    /// An empty queue that holds at most `capacity` requests; up to then it does not allocate.
    pub fn new(discipline: Discipline, capacity: usize) -> Queue<T> {
        let sorts = keeps_sorted(&discipline, capacity);
        Queue {
            discipline,
            slots: Vec::with_capacity(capacity),
            free_slots: Vec::with_capacity(capacity),
            waiting_on_arrival: Vec::with_capacity(if discipline.patience > 0 { capacity } else { 0 }),
            round: Round::default(),
            oldest: NONE,
            youngest: NONE,
            by_position: VecDeque::with_capacity(if sorts { capacity } else { 0 }),
            sorted: sorts && discipline.policy != Policy::Sptf,
            sorts_many: sorts && discipline.policy == Policy::Sptf,
            max_waiting: 0,
            next_order: 0,
            sweep_position: 0,
            sweep_fence: NOT_SERVED,
            sweep_rising: true,
        }
    }

    /// Starts sorting when many requests wait, and stops when few do: a choice by cost looks at each of a few, so
    /// sorting them would be wasted. The gap between the two limits keeps a queue near either from being sorted again
    /// and again.
    #[inline]
    fn start_or_stop_sorting(&mut self) {
        let few = if self.sorted { FEW / 2 } else { FEW };
        if self.sorts_many && (self.len() > few) != self.sorted {
            self.sorted = !self.sorted;
            self.rebuild_sorted();
        }
    }

    fn rebuild_sorted(&mut self) {
        self.by_position.clear();
        if self.sorted {
            let mut slots = core::mem::take(&mut self.by_position);
            slots.extend(self.by_age().map(|(slot, _)| slot));
            slots.make_contiguous().sort_unstable_by_key(|&slot| self.sort_key(slot));
            self.by_position = slots;
        }
    }

    /// The policy and its limits.
    pub fn discipline(&self) -> Discipline {
        self.discipline
    }

    /// The order of service.
    #[inline]
    pub fn policy(&self) -> Policy {
        self.discipline.policy
    }

    /// The wait limit: a request that has waited longer goes first.
    #[inline]
    pub fn max_wait(&self) -> Option<Span> {
        self.discipline.max_wait
    }

    /// The maximum number of requests that have waited at once: no choice had more.
    pub(crate) fn max_waiting(&self) -> u32 {
        self.max_waiting
    }

    /// How many requests wait.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free_slots.len()
    }

    /// True if no request waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.oldest == NONE
    }

    /// Adds a request that waits since `waiting_since`, at `position`. Instants must not decrease.
    pub fn push(&mut self, waiting_since: Instant, position: u64, item: T) {
        let (order, since, older, younger) = (self.next_order, waiting_since, self.youngest, NONE);
        let waiting = WaitingRequest { order, since, position, item, older, younger };
        let slot = match self.free_slots.pop() {
            Some(slot) => {
                self.slots[slot as usize] = waiting;
                slot
            }
            None => {
                self.slots.push(waiting);
                self.slots.len() as u32 - 1
            }
        };
        match self.slots.get_mut(older as usize) {
            Some(older) => older.younger = slot,
            None => self.oldest = slot,
        }
        self.youngest = slot;
        self.max_waiting = self.max_waiting.max(self.len() as u32);
        if self.discipline.patience > 0 {
            self.waiting_on_arrival.resize(self.waiting_on_arrival.len().max(slot as usize + 1), NONE);
            self.waiting_on_arrival[slot as usize] = self.len() as u32 - 1;
        }
        if self.sorted {
            self.insert_sorted(slot);
        }
        self.start_or_stop_sorting();
        self.next_order += 1;
    }

    /// Takes a request out of the chain and frees its slot.
    #[inline]
    fn unlink_request(&mut self, slot: u32) {
        let WaitingRequest { older, younger, .. } = *self.waiting_at(slot);
        match self.slots.get_mut(older as usize) {
            Some(older) => older.younger = younger,
            None => self.oldest = younger,
        }
        match self.slots.get_mut(younger as usize) {
            Some(younger) => younger.older = older,
            None => self.youngest = older,
        }
        self.slots[slot as usize].order = GONE;
        self.free_slots.push(slot);
    }

    /// Position and slot of a request: the order of `by_position`.
    #[inline]
    fn sort_key(&self, slot: u32) -> (u64, u32) {
        (self.waiting_at(slot).position, slot)
    }

    /// Inserts a request's slot into `by_position`.
    #[inline]
    fn insert_sorted(&mut self, slot: u32) {
        let key = self.sort_key(slot);
        match self.by_position.back() {
            Some(&last) if self.sort_key(last) > key => {
                let index = self.by_position.partition_point(|&other| self.sort_key(other) < key);
                self.by_position.insert(index, slot);
            }
            _ => self.by_position.push_back(slot),
        }
    }

    /// Removes a request's slot from `by_position`.
    #[inline]
    fn remove_sorted(&mut self, slot: u32) {
        if self.by_position.front() == Some(&slot) {
            self.by_position.pop_front();
        } else {
            let key = self.sort_key(slot);
            let index = self.by_position.partition_point(|&other| self.sort_key(other) < key);
            self.by_position.remove(index);
        }
    }

    #[inline]
    fn waiting_at(&self, slot: u32) -> &WaitingRequest<T> {
        &self.slots[slot as usize]
    }

    /// The waiting requests, oldest first, with their slots.
    #[inline]
    fn by_age(&self) -> impl Iterator<Item = (u32, &WaitingRequest<T>)> {
        let mut next = self.oldest;
        core::iter::from_fn(move || {
            let slot = next;
            let waiting = self.slots.get(slot as usize)?;
            next = waiting.younger;
            Some((slot, waiting))
        })
    }

    /// The waiting requests, oldest first, and since when they wait.
    pub fn iter(&self) -> impl Iterator<Item = (Instant, &T)> {
        self.by_age().map(|(_, waiting)| (waiting.since, &waiting.item))
    }

    /// How many waiting requests are older than the chosen one.
    pub(crate) fn count_older(&self, choice: &Choice) -> usize {
        self.by_age().take_while(|&(slot, _)| slot != choice.slot).count()
    }

    /// The request with the lowest `rank`, the oldest of equals. Requests without a rank do not count.
    pub(crate) fn lowest_by<K: Ord>(&self, mut rank: impl FnMut(&T) -> Option<K>) -> Option<Choice> {
        let ranked = self.by_age().filter_map(|(slot, waiting)| Some((rank(&waiting.item)?, slot)));
        ranked.min_by(|one, other| one.0.cmp(&other.0)).map(|(_, slot)| Choice { slot, cost: 0 })
    }

    /// The chosen request, and since when it waits.
    pub(crate) fn chosen_request(&self, choice: &Choice) -> (Instant, &T) {
        let waiting = self.waiting_at(choice.slot);
        (waiting.since, &waiting.item)
    }

    /// Keeps only the requests for which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        let mut next = self.oldest;
        while next != NONE {
            let slot = next;
            next = self.waiting_at(slot).younger;
            if !keep(&self.waiting_at(slot).item) {
                self.unlink_request(slot);
            }
        }
        if self.discipline.round > 0 {
            let mut round = self.round;
            round.recount(self.by_age().map(|(_, waiting)| waiting.order));
            self.round = round;
        }
        self.rebuild_sorted();
        self.start_or_stop_sorting();
    }

    /// Moves the oldest request that `is_wanted` selects to another position.
    pub(crate) fn set_position(&mut self, is_wanted: impl Fn(&T) -> bool, position: u64) {
        let found = self.by_age().find(|(_, waiting)| is_wanted(&waiting.item));
        let Some(slot) = found.map(|(slot, _)| slot) else { return };
        if self.sorted {
            self.remove_sorted(slot);
        }
        self.slots[slot as usize].position = position;
        if self.sorted {
            self.insert_sorted(slot);
        }
    }

    /// Removes all requests.
    pub fn clear(&mut self) {
        self.retain(|_| false);
    }

    /// Removes the chosen request. Nothing may have been added or removed since the choice.
    pub fn take(&mut self, choice: Choice) -> T {
        let WaitingRequest { order, position, item, .. } = *self.waiting_at(choice.slot);
        if self.discipline.round > 0 {
            if self.round.is_over(self.discipline.round) {
                self.round.begin_next(self.next_order, self.len() as u32);
            }
            self.round.count_served(order);
        }
        self.unlink_request(choice.slot);
        if self.sorted {
            self.remove_sorted(choice.slot);
        }
        self.start_or_stop_sorting();
        self.move_sweep_to(position);
        item
    }

    /// Acts as if a request were added at `position` and taken, while no other waits.
    #[inline]
    pub(crate) fn pass_through(&mut self, position: u64) {
        self.next_order += 1;
        self.move_sweep_to(position);
    }

    /// Counts a turn of a request that never waited here, and was served while others wait.
    #[inline]
    pub(crate) fn count_outside_turn(&mut self) {
        self.next_order += 1;
    }

    /// True if the chosen request, or without a choice an arriving one, must wait for a round to begin.
    pub(crate) fn must_await_round(&self, choice: Option<&Choice>) -> bool {
        let runs = !self.round.is_over(self.discipline.round);
        let within = runs && choice.is_some_and(|choice| self.round.contains_order(self.waiting_at(choice.slot).order));
        self.discipline.round > 0 && !within
    }

    /// True if the oldest request has no patience left.
    pub(crate) fn is_oldest_out_of_patience(&self) -> bool {
        self.discipline.patience > 0 && self.oldest != NONE && self.weigh_by_patience(self.oldest, 1) == 0
    }

    /// The `cost` of a request times the share of its patience that is left.
    #[inline]
    fn weigh_by_patience(&self, slot: u32, cost: u64) -> u64 {
        if self.discipline.patience == 0 {
            return cost;
        }
        let older = match self.waiting_on_arrival.get(slot as usize) {
            None | Some(&NONE) => return 0,
            Some(&older) => u64::from(older),
        };
        let patience_turns = (older + 1) * u64::from(self.discipline.patience);
        // Every request that has come and no longer waits had its turn.
        let turns = self.next_order - self.len() as u64;
        let turns_on_arrival = self.waiting_at(slot).order.saturating_sub(older);
        let turns_passed = turns.saturating_sub(turns_on_arrival);
        cost.saturating_mul(patience_turns.saturating_sub(turns_passed)).div_ceil(patience_turns)
    }

    /// Moves the sweep to the position of a request that is served.
    #[inline]
    fn move_sweep_to(&mut self, position: u64) {
        if position != self.sweep_position {
            self.sweep_rising = position > self.sweep_position;
            self.sweep_position = position;
            self.sweep_fence = self.next_order;
        } else if self.sweep_fence == NOT_SERVED {
            self.sweep_fence = self.next_order;
        }
    }

    /// Chooses the next request to serve at `now`, from the present position `head`.
    pub fn choose(&self, now: Instant, head: u64, costs: &impl Costs<T>) -> Option<Choice> {
        self.choose_among(|_| true, now, head, costs, u64::MAX)
    }

    /// Chooses the next request to serve among those that `admit` selects. The oldest of all goes first if it has
    /// waited beyond the limit. If SPTF finds none that costs less than `cost_limit`, it returns any of them, at a cost
    /// of at least `cost_limit`.
    #[inline]
    pub(crate) fn choose_among(
        &self,
        admit: impl Fn(&T) -> bool,
        now: Instant,
        head: u64,
        costs: &impl Costs<T>,
        cost_limit: u64,
    ) -> Option<Choice> {
        let admit = |waiting: &WaitingRequest<T>| admit(&waiting.item);
        let (oldest, first) = self.by_age().find(|(_, waiting)| admit(waiting))?;
        let end_order = self.window_end_order(admit).min(self.round_end_order(first.order));
        let filter = AdmittedBefore { end_order, admit };
        let fallback = Choice { slot: oldest, cost: cost_limit };
        let slot = match self.discipline.policy {
            _ if self.is_overdue(now, self.waiting_at(self.oldest)) => self.oldest,
            Policy::Fcfs => oldest,
            Policy::Sstf => self.lowest_candidate(&filter, |waiting| waiting.position.abs_diff(head)).unwrap_or(oldest),
            Policy::CLook => self.choose_c_look(&filter).unwrap_or(oldest),
            Policy::Look => self.choose_look(&filter).unwrap_or(oldest),
            Policy::Sptf if self.sorted => return Some(self.cheapest_in_sorted(now, head, &filter, costs, fallback)),
            Policy::Sptf if self.is_full_scan_best() => {
                return Some(self.cheapest_in_scan(head, &filter, costs, fallback));
            }
            Policy::Sptf => return Some(self.cheapest_of_few(now, head, &filter, costs)),
        };
        Some(Choice { slot, cost: costs.request_cost(&self.waiting_at(slot).item) })
    }

    /// The order just after the last admitted request in the window.
    #[inline]
    fn window_end_order(&self, admit: impl Fn(&WaitingRequest<T>) -> bool) -> u64 {
        match self.discipline.window as usize {
            0 => GONE,
            window if window >= self.len() => GONE,
            window => {
                let mut admitted = self.by_age().filter(|(_, waiting)| admit(waiting));
                admitted.nth(window - 1).map_or(GONE, |(_, last)| last.order + 1)
            }
        }
    }

    /// The first order that must wait for the next round, if `first_order` belongs to the running round.
    #[inline]
    fn round_end_order(&self, first_order: u64) -> u64 {
        let runs = self.discipline.round > 0 && !self.round.is_over(self.discipline.round);
        if runs && self.round.contains_order(first_order) { self.round.end_order() } else { GONE }
    }

    /// When the oldest request reaches the wait limit; `None` without a limit or without requests.
    #[inline]
    pub(crate) fn wait_deadline(&self) -> Option<Instant> {
        let limit = self.discipline.max_wait?;
        self.slots.get(self.oldest as usize).map(|oldest| oldest.since + limit)
    }

    fn is_overdue(&self, now: Instant, waiting: &WaitingRequest<T>) -> bool {
        self.discipline.max_wait.is_some_and(|limit| now.saturating_since(waiting.since) > limit)
    }

    /// The candidates, oldest first, with their slots.
    #[inline(always)]
    fn iter_candidates<'a>(
        &'a self,
        filter: &'a impl CandidateFilter<T>,
    ) -> impl Iterator<Item = (u32, &'a WaitingRequest<T>)> {
        self.by_age().filter(|(_, waiting)| filter.admits(waiting))
    }

    /// True if the request may be served at its position in this sweep.
    fn is_due_in_sweep(&self, waiting: &WaitingRequest<T>) -> bool {
        waiting.position != self.sweep_position || waiting.order < self.sweep_fence
    }

    /// The first candidate at or above the sweep's position.
    fn first_at_or_above_sweep(&self, filter: &impl CandidateFilter<T>) -> Option<u32> {
        if self.sorted {
            let first = match self.by_position.front() {
                Some(&slot) if self.waiting_at(slot).position >= self.sweep_position => 0,
                _ => self.by_position.partition_point(|&slot| self.waiting_at(slot).position < self.sweep_position),
            };
            return self.oldest_at_first_position(filter, self.by_position.range(first..));
        }
        let ahead =
            |waiting: &WaitingRequest<T>| waiting.position >= self.sweep_position && self.is_due_in_sweep(waiting);
        self.lowest_candidate_where(filter, ahead, |waiting| waiting.position)
    }

    /// The first candidate at or below the sweep's position.
    fn first_at_or_below_sweep(&self, filter: &impl CandidateFilter<T>) -> Option<u32> {
        if self.sorted {
            let end = self.by_position.partition_point(|&slot| self.waiting_at(slot).position <= self.sweep_position);
            return self.oldest_at_first_position(filter, self.by_position.range(..end).rev());
        }
        let ahead =
            |waiting: &WaitingRequest<T>| waiting.position <= self.sweep_position && self.is_due_in_sweep(waiting);
        self.lowest_candidate_where(filter, ahead, |waiting| u64::MAX - waiting.position)
    }

    /// The oldest candidate at the first position among `slots` at which this sweep may serve one.
    fn oldest_at_first_position<'a>(
        &self,
        filter: &impl CandidateFilter<T>,
        slots: impl Iterator<Item = &'a u32>,
    ) -> Option<u32> {
        let due = |waiting: &WaitingRequest<T>| filter.admits(waiting) && self.is_due_in_sweep(waiting);
        let mut slots = slots.copied().filter(|&slot| due(self.waiting_at(slot)));
        let first = slots.next()?;
        let same = slots.take_while(|&other| self.waiting_at(other).position == self.waiting_at(first).position);
        Some(same.fold(first, |oldest, other| {
            if self.waiting_at(other).order < self.waiting_at(oldest).order { other } else { oldest }
        }))
    }

    fn choose_c_look(&self, filter: &impl CandidateFilter<T>) -> Option<u32> {
        self.first_at_or_above_sweep(filter).or_else(|| self.lowest_candidate(filter, |waiting| waiting.position))
    }

    fn choose_look(&self, filter: &impl CandidateFilter<T>) -> Option<u32> {
        match self.sweep_rising {
            true => self.first_at_or_above_sweep(filter).or_else(|| self.first_at_or_below_sweep(filter)),
            false => self.first_at_or_below_sweep(filter).or_else(|| self.first_at_or_above_sweep(filter)),
        }
    }

    /// The slot of the candidate with the lowest `key`, the oldest of equals.
    fn lowest_candidate(
        &self,
        filter: &impl CandidateFilter<T>,
        key: impl Fn(&WaitingRequest<T>) -> u64,
    ) -> Option<u32> {
        self.lowest_candidate_where(filter, |_| true, key)
    }

    /// As `lowest_candidate`, among the candidates that `condition` selects.
    fn lowest_candidate_where(
        &self,
        filter: &impl CandidateFilter<T>,
        condition: impl Fn(&WaitingRequest<T>) -> bool,
        key: impl Fn(&WaitingRequest<T>) -> u64,
    ) -> Option<u32> {
        let candidates = self.iter_candidates(filter).filter(|(_, waiting)| condition(waiting));
        candidates.min_by_key(|(_, waiting)| key(waiting)).map(|(slot, _)| slot)
    }
}

/// Up to this many, scanning all costs less than keeping them sorted and scanning a third.
const FEW: usize = 64;

/// True if the queue also keeps its requests sorted by position: the policy uses that, and many can wait.
fn keeps_sorted(discipline: &Discipline, capacity: usize) -> bool {
    let by_position = match discipline.policy {
        Policy::Fcfs | Policy::Sstf => false,
        Policy::Look | Policy::CLook => discipline.window == 0,
        Policy::Sptf => discipline.nearest == 0 && discipline.sample == 0 && discipline.patience == 0,
    };
    by_position && capacity > FEW
}

#[cfg(test)]
mod tests;
