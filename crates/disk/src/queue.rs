//! The request queue of hosts and drives, with its scheduling policies. The caller supplies positions and costs; the
//! queue does not know what they mean.
//!
//! | policy | serves | starvation bound |
//! |---|---|---|
//! | FCFS | the oldest | no request is passed |
//! | SSTF | the nearest position | none of its own |
//! | LOOK | the next position in the direction of the sweep, turning at the last | two sweeps |
//! | C-LOOK | the next higher position, then from the lowest again | one sweep |
//! | SPTF | the least cost | none of its own |
//!
//! Within a sweep, a position that was served is not served again for requests that came later; so a sweep serves at
//! each position no more requests than wait at once. A *window* lets a policy choose among the oldest few only.
//! *Nearest* lets SPTF choose by cost among the few at the nearest positions only, as firmware does that sorts by
//! position and compares the angles of the next few. *Ageing* lowers the cost of a request by a share of its wait, so
//! that no request passes another that is older by more than the largest cost divided by the share. A *wait limit* puts
//! a request first that has waited longer, under any policy. Ties go to the oldest.
//!
//! Two rules bound a wait by turns instead of by time, so that they are as fair in a short queue as in a long one.
//! *Rounds*, under any policy: what arrives waits until the round is served, or until a share of it is; with LOOK that is
//! FSCAN, with SPTF batched SPTF (queue/round.rs). *Patience*, for SPTF: the cost of a request is multiplied by the
//! share of its patience that is left, as in weighted shortest time first (Seltzer, Chen and Ousterhout, Disk scheduling
//! revisited, 1990), but counted in turns: `patience` times as many as requests waited when it came, itself among them.
//!
//! | limit | later requests served before one of at most n waiting |
//! |---|---|
//! | rounds | n - 1 |
//! | rounds with late entry | 2 (n - 1) |
//! | patience of p | p n |

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
    fn least_cost(&self, distance: u64) -> u64;
}

/// No costs: for policies that go by order or position alone.
pub(crate) struct NoCosts;

impl<T> Costs<T> for NoCosts {
    fn request_cost(&self, _: &T) -> u64 {
        0
    }

    fn least_cost(&self, _: u64) -> u64 {
        0
    }
}

/// A waiting request.
#[derive(Clone, Copy, Debug)]
struct WaitingRequest<T> {
    order: u64,
    since: Instant,
    position: u64,
    item: T,
    /// The numbers of the next older and the next younger waiting request, or `NONE`.
    older: u32,
    younger: u32,
}

/// No number.
const NONE: u32 = u32::MAX;

/// The order of a place that is not waiting.
const GONE: u64 = u64::MAX;

/// The waiting requests.
#[derive(Clone, Debug)]
pub struct Queue<T> {
    discipline: Discipline,
    /// Places for requests, by number. The waiting ones form a chain by age; `free` lists the others.
    held: Vec<WaitingRequest<T>>,
    free: Vec<u32>,
    /// By number, if the discipline knows patience: how many waited when the request came.
    before: Vec<u32>,
    round: Round,
    /// The ends of the chain.
    oldest: u32,
    youngest: u32,
    /// If `sorted`: numbers by rising position, for a choice that scans from one position. Streams enter and leave at
    /// the ends.
    places: VecDeque<u32>,
    sorted: bool,
    /// `sorted` holds only while many wait.
    sorts_many: bool,
    /// How many have waited at once, at most.
    most: u32,
    next_order: u64,
    /// Where the sweep is. `sweep_fence` is the first order that came after its position was first served.
    sweep: u64,
    sweep_fence: u64,
    rising: bool,
}

/// The candidates of a choice: waiting requests before this order that are admitted.
struct CandidateFilter<A> {
    before: u64,
    admit: A,
}

impl<A> CandidateFilter<A> {
    #[inline]
    fn admits<T>(&self, waiting: &WaitingRequest<T>) -> bool
    where
        A: Fn(&WaitingRequest<T>) -> bool,
    {
        waiting.order < self.before && (self.admit)(waiting)
    }
}

/// A chosen request and its cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    number: u32,
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
            held: Vec::with_capacity(capacity),
            free: Vec::with_capacity(capacity),
            before: Vec::with_capacity(if discipline.patience > 0 { capacity } else { 0 }),
            round: Round::default(),
            oldest: NONE,
            youngest: NONE,
            places: VecDeque::with_capacity(if sorts { capacity } else { 0 }),
            sorted: sorts && discipline.policy != Policy::Sptf,
            sorts_many: sorts && discipline.policy == Policy::Sptf,
            most: 0,
            next_order: 0,
            sweep: 0,
            sweep_fence: 0,
            rising: true,
        }
    }

    /// Starts or stops sorting: a choice by cost among few looks at each of them, so sorting few would be wasted. The gap
    /// between the two limits keeps a queue near either from being sorted again and again.
    #[inline]
    fn sort_if_many(&mut self) {
        let few = if self.sorted { FEW / 2 } else { FEW };
        if self.sorts_many && (self.len() > few) != self.sorted {
            self.sorted = !self.sorted;
            self.sort_places();
        }
    }

    fn sort_places(&mut self) {
        self.places.clear();
        if self.sorted {
            let mut places = core::mem::take(&mut self.places);
            places.extend(self.by_age().map(|(number, _)| number));
            places.make_contiguous().sort_unstable_by_key(|&number| self.sort_key(number));
            self.places = places;
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

    /// How long a request waits at most before it goes first.
    #[inline]
    pub fn max_wait(&self) -> Option<Span> {
        self.discipline.max_wait
    }

    /// The most requests that have waited at once: no choice had more.
    pub(crate) fn most_waiting(&self) -> u32 {
        self.most
    }

    /// How many requests wait.
    pub fn len(&self) -> usize {
        self.held.len() - self.free.len()
    }

    /// True if no request waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.oldest == NONE
    }

    /// Adds a request that waits since `since`, at `position`. Instants must not decrease.
    pub fn push(&mut self, since: Instant, position: u64, item: T) {
        let (older, younger) = (self.youngest, NONE);
        let waiting = WaitingRequest { order: self.next_order, since, position, item, older, younger };
        let number = match self.free.pop() {
            Some(number) => {
                self.held[number as usize] = waiting;
                number
            }
            None => {
                self.held.push(waiting);
                self.held.len() as u32 - 1
            }
        };
        match self.held.get_mut(older as usize) {
            Some(older) => older.younger = number,
            None => self.oldest = number,
        }
        self.youngest = number;
        self.most = self.most.max(self.len() as u32);
        if self.discipline.patience > 0 {
            self.before.resize(self.before.len().max(number as usize + 1), NONE);
            self.before[number as usize] = self.len() as u32 - 1;
        }
        if self.sorted {
            self.insert_place(number);
        }
        self.sort_if_many();
        self.next_order += 1;
    }

    /// Takes a request out of the chain.
    #[inline]
    fn unlink_request(&mut self, number: u32) {
        let WaitingRequest { older, younger, .. } = *self.waiting_at(number);
        match self.held.get_mut(older as usize) {
            Some(older) => older.younger = younger,
            None => self.oldest = younger,
        }
        match self.held.get_mut(younger as usize) {
            Some(younger) => younger.older = older,
            None => self.youngest = older,
        }
        self.held[number as usize].order = GONE;
        self.free.push(number);
    }

    /// The sort key of a number.
    #[inline]
    fn sort_key(&self, number: u32) -> (u64, u32) {
        (self.waiting_at(number).position, number)
    }

    /// Inserts a number among the sorted ones.
    #[inline]
    fn insert_place(&mut self, number: u32) {
        let place = self.sort_key(number);
        match self.places.back() {
            Some(&last) if self.sort_key(last) > place => {
                let index = self.places.partition_point(|&other| self.sort_key(other) < place);
                self.places.insert(index, number);
            }
            _ => self.places.push_back(number),
        }
    }

    /// Removes a number from the sorted ones.
    #[inline]
    fn remove_place(&mut self, number: u32) {
        if self.places.front() == Some(&number) {
            self.places.pop_front();
        } else {
            let place = self.sort_key(number);
            let index = self.places.partition_point(|&other| self.sort_key(other) < place);
            self.places.remove(index);
        }
    }

    #[inline]
    fn waiting_at(&self, number: u32) -> &WaitingRequest<T> {
        &self.held[number as usize]
    }

    /// The waiting requests, oldest first, with their numbers.
    #[inline]
    fn by_age(&self) -> impl Iterator<Item = (u32, &WaitingRequest<T>)> {
        let mut next = self.oldest;
        core::iter::from_fn(move || {
            let number = next;
            let waiting = self.held.get(number as usize)?;
            next = waiting.younger;
            Some((number, waiting))
        })
    }

    /// The waiting requests, oldest first, and since when they wait.
    pub fn iter(&self) -> impl Iterator<Item = (Instant, &T)> {
        self.by_age().map(|(_, waiting)| (waiting.since, &waiting.item))
    }

    /// How many older requests a choice passes.
    pub(crate) fn count_passed(&self, choice: &Choice) -> usize {
        self.by_age().take_while(|&(number, _)| number != choice.number).count()
    }

    /// The request with the lowest `rank`, the oldest of equals. Requests without a rank do not count.
    pub(crate) fn lowest_by<K: Ord>(&self, mut rank: impl FnMut(&T) -> Option<K>) -> Option<Choice> {
        let ranked = self.by_age().filter_map(|(number, waiting)| Some((rank(&waiting.item)?, number)));
        ranked.min_by(|one, other| one.0.cmp(&other.0)).map(|(_, number)| Choice { number, cost: 0 })
    }

    /// The chosen request, and since when it waits.
    pub(crate) fn chosen_request(&self, choice: &Choice) -> (Instant, &T) {
        let waiting = self.waiting_at(choice.number);
        (waiting.since, &waiting.item)
    }

    /// Keeps only the requests for which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        let mut next = self.oldest;
        while next != NONE {
            let number = next;
            next = self.waiting_at(number).younger;
            if !keep(&self.waiting_at(number).item) {
                self.unlink_request(number);
            }
        }
        if self.discipline.round > 0 {
            let mut round = self.round;
            round.recount(self.by_age().map(|(_, waiting)| waiting.order));
            self.round = round;
        }
        self.sort_places();
        self.sort_if_many();
    }

    /// Moves the request that `which` selects to another position.
    pub(crate) fn move_to(&mut self, which: impl Fn(&T) -> bool, position: u64) {
        let found = self.by_age().find(|(_, waiting)| which(&waiting.item));
        let Some(number) = found.map(|(number, _)| number) else { return };
        if self.sorted {
            self.remove_place(number);
        }
        self.held[number as usize].position = position;
        if self.sorted {
            self.insert_place(number);
        }
    }

    /// Removes all requests.
    pub fn clear(&mut self) {
        self.retain(|_| false);
    }

    /// Removes the chosen request. Nothing may have been added or removed since the choice.
    pub fn take(&mut self, choice: Choice) -> T {
        let WaitingRequest { order, position, item, .. } = *self.waiting_at(choice.number);
        if self.discipline.round > 0 {
            if self.round.is_over(self.discipline.round) {
                self.round.begin_next(self.next_order, self.len() as u32);
            }
            self.round.count_served(order);
        }
        self.unlink_request(choice.number);
        if self.sorted {
            self.remove_place(choice.number);
        }
        self.sort_if_many();
        self.note_served(position);
        item
    }

    /// Acts as if a request were added at `position` and taken, while no other waits.
    #[inline]
    pub(crate) fn pass_through(&mut self, position: u64) {
        self.next_order += 1;
        self.note_served(position);
    }

    /// Counts a turn: a request that never waited here was served while others wait.
    #[inline]
    pub(crate) fn count_turn(&mut self) {
        self.next_order += 1;
    }

    /// True if the chosen request, or without a choice an arriving one, must wait for a round to begin.
    pub(crate) fn awaits_round(&self, choice: Option<&Choice>) -> bool {
        let runs = !self.round.is_over(self.discipline.round);
        let within =
            runs && choice.is_some_and(|choice| self.round.contains_order(self.waiting_at(choice.number).order));
        self.discipline.round > 0 && !within
    }

    /// True if the oldest has no patience left.
    pub(crate) fn is_out_of_patience(&self) -> bool {
        self.discipline.patience > 0 && self.oldest != NONE && self.weigh_by_patience(self.oldest, 1) == 0
    }

    /// The `cost` of a request times the share of its patience that is left.
    #[inline]
    fn weigh_by_patience(&self, number: u32, cost: u64) -> u64 {
        if self.discipline.patience == 0 {
            return cost;
        }
        let before = match self.before.get(number as usize) {
            None | Some(&NONE) => return 0,
            Some(&before) => u64::from(before),
        };
        let all = (before + 1) * u64::from(self.discipline.patience);
        // Every request that has come and no longer waits had its turn.
        let served = self.next_order - self.len() as u64;
        let passed = served.saturating_sub(self.waiting_at(number).order.saturating_sub(before));
        cost.saturating_mul(all.saturating_sub(passed)).div_ceil(all)
    }

    #[inline]
    fn note_served(&mut self, position: u64) {
        if position != self.sweep {
            self.rising = position > self.sweep;
            self.sweep = position;
            self.sweep_fence = self.next_order;
        }
    }

    /// The next request to serve at `now`. `head` is the present position.
    pub fn choose(&self, now: Instant, head: u64, costs: &impl Costs<T>) -> Option<Choice> {
        self.choose_among(|_| true, now, head, costs, u64::MAX)
    }

    /// The next request to serve among those that `admit` selects. The oldest of all goes first if it has waited beyond
    /// the limit. If SPTF finds none that costs less than `bar`, it returns any of them, at a cost of at least `bar`.
    #[inline]
    pub(crate) fn choose_among(
        &self,
        admit: impl Fn(&T) -> bool,
        now: Instant,
        head: u64,
        costs: &impl Costs<T>,
        bar: u64,
    ) -> Option<Choice> {
        let admit = |waiting: &WaitingRequest<T>| admit(&waiting.item);
        let (oldest, first) = self.by_age().find(|(_, waiting)| admit(waiting))?;
        let open = CandidateFilter { before: self.window_end(admit).min(self.round_end(first.order)), admit };
        let number = match self.discipline.policy {
            _ if self.is_overdue(now, self.waiting_at(self.oldest)) => self.oldest,
            Policy::Fcfs => oldest,
            Policy::Sstf => self.lowest_candidate(&open, |waiting| waiting.position.abs_diff(head)).unwrap_or(oldest),
            Policy::CLook => self.choose_circular(&open).unwrap_or(oldest),
            Policy::Look => self.choose_elevator(&open).unwrap_or(oldest),
            Policy::Sptf if self.sorted => return Some(self.find_shortest(now, head, &open, costs, (bar, oldest))),
            Policy::Sptf if self.are_few() => {
                return Some(self.shortest_of_few(head, &open, costs, (bar, oldest)));
            }
            Policy::Sptf => return Some(self.shortest_of_nearest(now, head, &open, costs)),
        };
        Some(Choice { number, cost: costs.request_cost(&self.waiting_at(number).item) })
    }

    /// The order just after the last admitted request in the window.
    #[inline]
    fn window_end(&self, admit: impl Fn(&WaitingRequest<T>) -> bool) -> u64 {
        match self.discipline.window as usize {
            0 => GONE,
            window if window >= self.len() => GONE,
            window => {
                let mut admitted = self.by_age().filter(|(_, waiting)| admit(waiting));
                admitted.nth(window - 1).map_or(GONE, |(_, last)| last.order + 1)
            }
        }
    }

    /// The first order that must wait for the next round, if the running round has the order `first`.
    #[inline]
    fn round_end(&self, first: u64) -> u64 {
        let runs =
            self.discipline.round > 0 && !self.round.is_over(self.discipline.round) && self.round.contains_order(first);
        if runs { self.round.end() } else { GONE }
    }

    /// When the oldest request reaches the wait limit; `None` without a limit or without requests.
    #[inline]
    pub(crate) fn wait_deadline(&self) -> Option<Instant> {
        let limit = self.discipline.max_wait?;
        self.held.get(self.oldest as usize).map(|oldest| oldest.since + limit)
    }

    fn is_overdue(&self, now: Instant, oldest: &WaitingRequest<T>) -> bool {
        self.discipline.max_wait.is_some_and(|limit| now.saturating_since(oldest.since) > limit)
    }

    /// The reduction of a request's cost by its wait.
    #[inline]
    fn age_credit(&self, now: Instant, since: Instant) -> i64 {
        match self.discipline.ageing {
            0 => 0,
            ageing => (now.saturating_since(since).nanos() / 1000 * u64::from(ageing)) as i64,
        }
    }

    /// The least aged cost among `open`, the oldest of equals, searched outwards from the head until the distance alone
    /// costs more. Without ageing, if none costs less than the bar: the oldest.
    fn find_shortest(
        &self,
        now: Instant,
        head: u64,
        open: &CandidateFilter<impl Fn(&WaitingRequest<T>) -> bool>,
        costs: &impl Costs<T>,
        (bar, oldest): (u64, u32),
    ) -> Choice {
        let most = self.age_credit(now, self.waiting_at(self.oldest).since);
        let mut above = self.places.partition_point(|&number| self.waiting_at(number).position < head);
        let mut below = above;
        // The best so far: aged cost, order, plain cost, number.
        let bar = if self.discipline.ageing == 0 { bar } else { u64::MAX };
        let mut best = (i64::try_from(bar).unwrap_or(i64::MAX), self.waiting_at(oldest).order, bar, oldest);
        let nearest_below = |below: usize| match below {
            0 => u64::MAX,
            below => head - self.waiting_at(self.places[below - 1]).position,
        };
        let nearest_above = |above: usize| match self.places.get(above) {
            None => u64::MAX,
            Some(&number) => self.waiting_at(number).position - head,
        };
        let (mut down, mut up) = (nearest_below(below), nearest_above(above));
        // An older request of the same cost goes first.
        let too_much = |best: i64| best.saturating_add(most).saturating_add(1) as u64;
        while down.min(up) != u64::MAX && costs.least_cost(down.min(up)) < too_much(best.0) {
            let number;
            if up <= down {
                number = self.places[above];
                above += 1;
                up = nearest_above(above);
            } else {
                below -= 1;
                number = self.places[below];
                down = nearest_below(below);
            }
            let waiting = self.waiting_at(number);
            if open.admits(waiting) {
                let plain = costs.request_cost(&waiting.item);
                best = best.min((plain as i64 - self.age_credit(now, waiting.since), waiting.order, plain, number));
            }
        }
        Choice { number: best.3, cost: best.2 }
    }

    /// True if a choice by cost does best to scan all places in storage order.
    #[inline]
    fn are_few(&self) -> bool {
        let Discipline { nearest, ageing, patience, .. } = self.discipline;
        nearest == 0 && ageing == 0 && patience == 0 && self.held.len() <= 2 * FEW
    }

    /// The least cost among `open`, the oldest of equals; the oldest admitted if none costs less than the bar. With a
    /// bar, most are too far away to be priced. Without one, each is priced: among so few, following the best so far costs
    /// more, and so does a branch that is hard to predict.
    #[inline]
    fn shortest_of_few(
        &self,
        head: u64,
        open: &CandidateFilter<impl Fn(&WaitingRequest<T>) -> bool>,
        costs: &impl Costs<T>,
        (bar, oldest): (u64, u32),
    ) -> Choice {
        let near = |waiting: &WaitingRequest<T>| costs.least_cost(waiting.position.abs_diff(head)) < bar;
        match bar {
            u64::MAX => self.choose_least_cost(|waiting| open.admits(waiting), costs, (bar, oldest)),
            _ => self.choose_least_cost(|waiting| near(waiting) && open.admits(waiting), costs, (bar, oldest)),
        }
    }

    /// The least cost among those that `counts` selects, the oldest of equals; `best` if none costs less.
    #[inline(always)]
    fn choose_least_cost(
        &self,
        counts: impl Fn(&WaitingRequest<T>) -> bool,
        costs: &impl Costs<T>,
        best: (u64, u32),
    ) -> Choice {
        let (cost, best) = least_cost_among(&self.held, counts, costs, (best.0, self.waiting_at(best.1)));
        let number = self.held.get(best.older as usize).map_or(self.oldest, |older| older.younger);
        Choice { number, cost }
    }

    /// The least aged or weighted cost among the `nearest` of `open`, or among all, the oldest of equals.
    fn shortest_of_nearest(
        &self,
        now: Instant,
        head: u64,
        open: &CandidateFilter<impl Fn(&WaitingRequest<T>) -> bool>,
        costs: &impl Costs<T>,
    ) -> Choice {
        // The best so far: aged cost, order, plain cost, number.
        let mut best = (i64::MAX, u64::MAX, u64::MAX, NONE);
        let mut look_at = |number: u32, waiting: &WaitingRequest<T>| {
            let plain = costs.request_cost(&waiting.item);
            let weighted = self.weigh_by_patience(number, plain) as i64;
            best = best.min((weighted - self.age_credit(now, waiting.since), waiting.order, plain, number));
        };
        match self.discipline.nearest as usize {
            0 => self.iter_candidates(open).for_each(|(number, waiting)| look_at(number, waiting)),
            count => {
                let (mut few, mut many) = ([NOWHERE; 8], Vec::new());
                let places = match few.get_mut(..count) {
                    Some(places) => places,
                    None => {
                        many.resize(count, NOWHERE);
                        &mut many[..]
                    }
                };
                self.find_nearest(head, open, places);
                let found = places.iter().take_while(|place| **place != NOWHERE);
                found.for_each(|&(_, number)| look_at(number, self.waiting_at(number)));
            }
        }
        Choice { number: best.3, cost: best.2 }
    }

    /// Fills `nearest` with the requests at the least distance ([`distance_key`]) from the head, and their numbers.
    fn find_nearest(
        &self,
        head: u64,
        open: &CandidateFilter<impl Fn(&WaitingRequest<T>) -> bool>,
        nearest: &mut [(u128, u32)],
    ) {
        let last = nearest.len() - 1;
        for (number, waiting) in self.by_age() {
            let apart = distance_key(waiting, head);
            if apart < nearest[last].0 && open.admits(waiting) {
                let place = nearest.partition_point(|other| other.0 < apart);
                nearest.copy_within(place..last, place + 1);
                nearest[place] = (apart, number);
            }
        }
    }

    /// The candidates, oldest first, with their numbers.
    #[inline(always)]
    fn iter_candidates<'a>(
        &'a self,
        open: &'a CandidateFilter<impl Fn(&WaitingRequest<T>) -> bool>,
    ) -> impl Iterator<Item = (u32, &'a WaitingRequest<T>)> {
        self.by_age().filter(|(_, waiting)| open.admits(waiting))
    }

    /// True if the request may be served at its position in this sweep.
    fn is_ahead(&self, waiting: &WaitingRequest<T>) -> bool {
        waiting.position != self.sweep || waiting.order < self.sweep_fence
    }

    /// The first candidate at or above the sweep's position.
    fn first_above(&self, open: &CandidateFilter<impl Fn(&WaitingRequest<T>) -> bool>) -> Option<u32> {
        if self.sorted {
            let first = match self.places.front() {
                Some(&number) if self.waiting_at(number).position >= self.sweep => 0,
                _ => self.places.partition_point(|&number| self.waiting_at(number).position < self.sweep),
            };
            return self.first_place(open, self.places.range(first..));
        }
        let ahead = |waiting: &WaitingRequest<T>| waiting.position >= self.sweep && self.is_ahead(waiting);
        self.best_candidate(open, ahead, |waiting| waiting.position)
    }

    /// The first candidate at or below the sweep's position.
    fn first_below(&self, open: &CandidateFilter<impl Fn(&WaitingRequest<T>) -> bool>) -> Option<u32> {
        if self.sorted {
            let last = self.places.partition_point(|&number| self.waiting_at(number).position <= self.sweep);
            return self.first_place(open, self.places.range(..last).rev());
        }
        let ahead = |waiting: &WaitingRequest<T>| waiting.position <= self.sweep && self.is_ahead(waiting);
        self.best_candidate(open, ahead, |waiting| u64::MAX - waiting.position)
    }

    /// The oldest candidate at the first of `places` that this sweep may serve.
    fn first_place<'a>(
        &self,
        open: &CandidateFilter<impl Fn(&WaitingRequest<T>) -> bool>,
        places: impl Iterator<Item = &'a u32>,
    ) -> Option<u32> {
        let served = |waiting: &WaitingRequest<T>| open.admits(waiting) && self.is_ahead(waiting);
        let mut places = places.copied().filter(|&number| served(self.waiting_at(number)));
        let first = places.next()?;
        let same = places.take_while(|&other| self.waiting_at(other).position == self.waiting_at(first).position);
        Some(same.fold(first, |oldest, other| {
            if self.waiting_at(other).order < self.waiting_at(oldest).order { other } else { oldest }
        }))
    }

    fn choose_circular(&self, open: &CandidateFilter<impl Fn(&WaitingRequest<T>) -> bool>) -> Option<u32> {
        self.first_above(open).or_else(|| self.lowest_candidate(open, |waiting| waiting.position))
    }

    fn choose_elevator(&self, open: &CandidateFilter<impl Fn(&WaitingRequest<T>) -> bool>) -> Option<u32> {
        match self.rising {
            true => self.first_above(open).or_else(|| self.first_below(open)),
            false => self.first_below(open).or_else(|| self.first_above(open)),
        }
    }

    fn lowest_candidate(
        &self,
        open: &CandidateFilter<impl Fn(&WaitingRequest<T>) -> bool>,
        key: impl Fn(&WaitingRequest<T>) -> u64,
    ) -> Option<u32> {
        self.best_candidate(open, |_| true, key)
    }

    fn best_candidate(
        &self,
        open: &CandidateFilter<impl Fn(&WaitingRequest<T>) -> bool>,
        ahead: impl Fn(&WaitingRequest<T>) -> bool,
        key: impl Fn(&WaitingRequest<T>) -> u64,
    ) -> Option<u32> {
        let candidates = self.iter_candidates(open).filter(|(_, waiting)| ahead(waiting));
        candidates.min_by_key(|(_, waiting)| key(waiting)).map(|(number, _)| number)
    }
}

/// The least cost among those of `held` that `counts` selects, the oldest of equals; `best` if none costs less. Not
/// inlined: it needs all registers.
#[inline(never)]
fn least_cost_among<'a, T>(
    held: &'a [WaitingRequest<T>],
    counts: impl Fn(&WaitingRequest<T>) -> bool,
    costs: &impl Costs<T>,
    best: (u64, &'a WaitingRequest<T>),
) -> (u64, &'a WaitingRequest<T>) {
    let (mut cost, mut best) = best;
    for waiting in held.iter().filter(|waiting| counts(waiting)) {
        let other = costs.request_cost(&waiting.item);
        if other == cost && waiting.order < best.order {
            best = waiting;
        }
        (cost, best) = if other < cost { (other, waiting) } else { (cost, best) };
    }
    (cost, best)
}

/// The distance and, below it, the order in one number: comparing two would take branches that are hard to predict.
#[inline]
fn distance_key<T>(waiting: &WaitingRequest<T>, head: u64) -> u128 {
    u128::from(waiting.position.abs_diff(head)) << 64 | u128::from(waiting.order)
}

/// Farther than any position.
const NOWHERE: (u128, u32) = (u128::MAX, NONE);

/// Up to this many, scanning all costs less than keeping them sorted and scanning a third.
const FEW: usize = 64;

/// True if the queue also keeps its requests sorted by position: the policy uses that, and many can wait.
fn keeps_sorted(discipline: &Discipline, capacity: usize) -> bool {
    let by_place = match discipline.policy {
        Policy::Fcfs | Policy::Sstf => false,
        Policy::Look | Policy::CLook => discipline.window == 0,
        Policy::Sptf => discipline.nearest == 0 && discipline.patience == 0,
    };
    by_place && capacity > FEW
}

#[cfg(test)]
mod tests;
