//! The choice by cost (SPTF) of a queue, in three ways: a search outwards from the head if the requests are sorted by
//! position, a scan of all slots if they are few, and a choice among a few: those nearest to the head, or a random
//! sample. `queue` has the settings and keeps the requests.

use alloc::vec::Vec;

use super::{CandidateFilter, Choice, Costs, Discipline, FEW, NONE, Queue, WaitingRequest};
use crate::time::Instant;

/// A candidate as a choice by cost ranks it: by aged cost, then by order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RankedCost {
    /// The cost less the credit for the wait, weighted by patience.
    aged_cost: i64,
    order: u64,
    cost: u64,
    slot: u32,
}

/// A waiting request and its cost.
struct PricedRequest<'a, T> {
    cost: u64,
    waiting: &'a WaitingRequest<T>,
}

/// The least cost among the requests in `slots` that `is_candidate` selects, the oldest of equals; `fallback` if none
/// costs less. Not inlined: it needs all registers.
#[inline(never)]
fn scan_for_least_cost<'a, T>(
    slots: &'a [WaitingRequest<T>],
    is_candidate: impl Fn(&WaitingRequest<T>) -> bool,
    costs: &impl Costs<T>,
    fallback: PricedRequest<'a, T>,
) -> PricedRequest<'a, T> {
    let PricedRequest { mut cost, waiting: mut best } = fallback;
    for waiting in slots.iter().filter(|waiting| is_candidate(waiting)) {
        let other = costs.request_cost(&waiting.item);
        if other == cost && waiting.order < best.order {
            best = waiting;
        }
        (cost, best) = if other < cost { (other, waiting) } else { (cost, best) };
    }
    PricedRequest { cost, waiting: best }
}

/// A candidate and its rank among those that may be compared by cost; the lowest few are.
#[derive(Clone, Copy)]
struct RankedCandidate {
    rank: u128,
    slot: u32,
}

/// Ranks after any candidate.
const NO_CANDIDATE: RankedCandidate = RankedCandidate { rank: u128::MAX, slot: NONE };

/// The distance and, below it, the order in one number: comparing two would take branches that are hard to predict.
#[inline]
fn distance_key<T>(waiting: &WaitingRequest<T>, head: u64) -> u128 {
    u128::from(waiting.position.abs_diff(head)) << 64 | u128::from(waiting.order)
}

/// A random rank of a request, another at each turn. Mixed as by SplitMix64, which `rng` uses too; without state, so
/// that a choice that is made twice is the same.
#[inline]
pub(super) fn random_rank(turn: u64, order: u64) -> u128 {
    let mixed = (turn.rotate_left(32) ^ order).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    u128::from(mixed ^ (mixed >> 31)) << 64 | u128::from(order)
}

impl<T: Copy> Queue<T> {
    /// The least aged cost among the candidates, the oldest of equals. Searches `by_position` outwards from the head,
    /// until the distance alone costs more. Without ageing, `fallback` if none costs less.
    pub(super) fn cheapest_in_sorted(
        &self,
        now: Instant,
        head: u64,
        filter: &impl CandidateFilter<T>,
        costs: &impl Costs<T>,
        fallback: Choice,
    ) -> Choice {
        let max_credit = self.discipline.age_credit(now, self.waiting_at(self.oldest).since) as i64;
        let mut above = self.by_position.partition_point(|&slot| self.waiting_at(slot).position < head);
        let mut below = above;
        let cost_limit = if self.discipline.ageing == 0 { fallback.cost } else { u64::MAX };
        let mut best = RankedCost {
            aged_cost: i64::try_from(cost_limit).unwrap_or(i64::MAX),
            order: self.waiting_at(fallback.slot).order,
            cost: cost_limit,
            slot: fallback.slot,
        };
        let distance_below = |below: usize| match below {
            0 => u64::MAX,
            below => head - self.waiting_at(self.by_position[below - 1]).position,
        };
        let distance_above = |above: usize| match self.by_position.get(above) {
            None => u64::MAX,
            Some(&slot) => self.waiting_at(slot).position - head,
        };
        let (mut down, mut up) = (distance_below(below), distance_above(above));
        // An older request of the same cost goes first.
        let too_much = |best: i64| best.saturating_add(max_credit).saturating_add(1) as u64;
        while down.min(up) != u64::MAX && costs.least_cost_at_or_beyond(down.min(up)) < too_much(best.aged_cost) {
            let slot;
            if up <= down {
                slot = self.by_position[above];
                above += 1;
                up = distance_above(above);
            } else {
                below -= 1;
                slot = self.by_position[below];
                down = distance_below(below);
            }
            let waiting = self.waiting_at(slot);
            if filter.admits(waiting) {
                let cost = costs.request_cost(&waiting.item);
                let aged_cost = cost as i64 - self.discipline.age_credit(now, waiting.since) as i64;
                best = best.min(RankedCost { aged_cost, order: waiting.order, cost, slot });
            }
        }
        Choice { slot: best.slot, cost: best.cost }
    }

    /// True if a choice by cost does best to scan all slots in storage order.
    #[inline]
    pub(super) fn is_full_scan_best(&self) -> bool {
        let Discipline { nearest, sample, ageing, patience, .. } = self.discipline;
        nearest == 0 && sample == 0 && ageing == 0 && patience == 0 && self.slots.len() <= 2 * FEW
    }

    /// The least cost among the candidates, the oldest of equals; `fallback` if none costs less. With a limit of costs,
    /// most are too far away to be priced. Without one, each is priced: among so few, following the best so far costs
    /// more, and so does a branch that is hard to predict.
    #[inline]
    pub(super) fn cheapest_in_scan(
        &self,
        head: u64,
        filter: &impl CandidateFilter<T>,
        costs: &impl Costs<T>,
        fallback: Choice,
    ) -> Choice {
        let near = |waiting: &WaitingRequest<T>| {
            costs.least_cost_at_or_beyond(waiting.position.abs_diff(head)) < fallback.cost
        };
        match fallback.cost {
            u64::MAX => self.cheapest_where(|waiting| filter.admits(waiting), costs, fallback),
            _ => self.cheapest_where(|waiting| near(waiting) && filter.admits(waiting), costs, fallback),
        }
    }

    /// The least cost among the requests that `is_candidate` selects, the oldest of equals; `fallback` if none costs
    /// less.
    #[inline(always)]
    fn cheapest_where(
        &self,
        is_candidate: impl Fn(&WaitingRequest<T>) -> bool,
        costs: &impl Costs<T>,
        fallback: Choice,
    ) -> Choice {
        let fallback = PricedRequest { cost: fallback.cost, waiting: self.waiting_at(fallback.slot) };
        let PricedRequest { cost, waiting } = scan_for_least_cost(&self.slots, is_candidate, costs, fallback);
        // A request does not know its own slot; the next older one does.
        let slot = self.slots.get(waiting.older as usize).map_or(self.oldest, |older| older.younger);
        Choice { slot, cost }
    }

    /// The least aged or weighted cost among the `nearest` candidates, a random `sample` of them, or all; the oldest of
    /// equals.
    pub(super) fn cheapest_of_few(
        &self,
        now: Instant,
        head: u64,
        filter: &impl CandidateFilter<T>,
        costs: &impl Costs<T>,
    ) -> Choice {
        let mut best = RankedCost { aged_cost: i64::MAX, order: u64::MAX, cost: u64::MAX, slot: NONE };
        let mut price = |slot: u32, waiting: &WaitingRequest<T>| {
            let cost = costs.request_cost(&waiting.item);
            let aged_cost =
                self.weigh_by_patience(slot, cost) as i64 - self.discipline.age_credit(now, waiting.since) as i64;
            best = best.min(RankedCost { aged_cost, order: waiting.order, cost, slot });
        };
        let Discipline { nearest, sample, .. } = self.discipline;
        let count = if nearest > 0 { nearest } else { sample } as usize;
        if count == 0 {
            self.iter_candidates(filter).for_each(|(slot, waiting)| price(slot, waiting));
            return Choice { slot: best.slot, cost: best.cost };
        }
        let (mut few, mut many) = ([NO_CANDIDATE; 8], Vec::new());
        let lowest = match few.get_mut(..count) {
            Some(lowest) => lowest,
            None => {
                many.resize(count, NO_CANDIDATE);
                &mut many[..]
            }
        };
        if nearest > 0 {
            self.fill_lowest(|waiting| distance_key(waiting, head), filter, lowest);
        } else {
            let turn = self.next_order - self.len() as u64;
            self.fill_lowest(|waiting| random_rank(turn, waiting.order), filter, lowest);
        }
        let found = lowest.iter().take_while(|candidate| candidate.slot != NONE);
        found.for_each(|candidate| price(candidate.slot, self.waiting_at(candidate.slot)));
        Choice { slot: best.slot, cost: best.cost }
    }

    /// Fills `lowest` with the candidates of the lowest `rank`, in order.
    fn fill_lowest(
        &self,
        rank: impl Fn(&WaitingRequest<T>) -> u128,
        filter: &impl CandidateFilter<T>,
        lowest: &mut [RankedCandidate],
    ) {
        let last = lowest.len() - 1;
        for (slot, waiting) in self.by_age() {
            let rank = rank(waiting);
            if rank < lowest[last].rank && filter.admits(waiting) {
                let index = lowest.partition_point(|other| other.rank < rank);
                lowest.copy_within(index..last, index + 1);
                lowest[index] = RankedCandidate { rank, slot };
            }
        }
    }
}
