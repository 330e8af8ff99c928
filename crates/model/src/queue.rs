//! Who is next: one queue for host and drive. The caller gives positions and costs; nothing here knows what they are.
//!
//! | policy | serves | starvation bound |
//! |---|---|---|
//! | FCFS | the oldest | nobody is passed |
//! | SSTF | the nearest position | none of its own |
//! | LOOK | the next position in the direction of the sweep, turning at the last | two sweeps |
//! | C-LOOK | the next higher position, then from the lowest again | one sweep |
//! | SPTF | the least cost | none of its own |
//!
//! Within a sweep no position is served again for requests that came after it was first served, so a sweep serves at
//! each position no more than wait at once. A *window* lets a policy choose among the oldest few only. *Nearest* lets SPTF choose
//! by cost among the few at the nearest positions only, as firmware does that sorts by place and looks at the angle of
//! the next few. *Ageing* lowers
//! the cost of a request by a share of its wait, so nothing that came later by more than the largest cost divided by
//! the share goes before it. A *wait limit* puts a request that waited longer first, whatever the policy. Ties go to
//! the oldest.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::block::Bound;
use crate::time::{Instant, Span};

/// Which of the waiting is next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// First come, first served.
    #[default]
    Fcfs,
    /// Shortest seek (distance of positions) first.
    Sstf,
    /// The elevator.
    Look,
    /// The circular elevator.
    CLook,
    /// Shortest positioning time (the caller's cost) first.
    Sptf,
}

/// A policy and what restrains it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discipline {
    /// The order.
    pub policy: Policy,
    /// Chooses among this many oldest; 0: among all.
    pub window: u32,
    /// SPTF: chooses by cost among this many at the nearest positions; 0: among all.
    pub nearest: u32,
    /// SPTF: the cost of a request is lowered by this many thousandths of its wait.
    pub ageing: u32,
    /// A request that waited longer goes first.
    pub max_wait: Option<Span>,
}

impl Discipline {
    /// The plain policy.
    pub const fn plain(policy: Policy) -> Discipline {
        Discipline { policy, window: 0, nearest: 0, ageing: 0, max_wait: None }
    }

    /// How long a request can be put off, for positions below `positions`, at most `waiting` requests at once and costs
    /// of at most `max_cost`. A [`Bound::Wait`] means: nothing that came later by more than this is served before it.
    pub fn bound(&self, positions: u64, waiting: u64, max_cost: Span) -> Bound {
        let sweep = positions * waiting.saturating_sub(1);
        let own = match self.policy {
            Policy::Fcfs => Bound::Passes(0),
            Policy::Look => Bound::Passes(2 * sweep),
            Policy::CLook => Bound::Passes(sweep),
            // Waits count in whole microseconds: two roundings.
            Policy::Sptf if self.ageing > 0 && self.nearest == 0 => {
                Bound::Wait(Span::from_nanos(max_cost.nanos() * 1000 / u64::from(self.ageing) + 2000))
            }
            Policy::Sstf | Policy::Sptf => Bound::None,
        };
        match (own, self.max_wait) {
            (Bound::Passes(0), _) | (_, None) => own,
            (Bound::Wait(span), Some(limit)) => Bound::Wait(span.min(limit)),
            (_, Some(limit)) => Bound::Wait(limit),
        }
    }
}

/// What a choice by cost asks of whoever knows the costs.
pub trait Costs<T> {
    /// What it costs to serve a request.
    fn of(&self, item: &T) -> u64;
    /// No request at this distance from the head, or farther, costs less. Rises with the distance.
    fn least(&self, distance: u64) -> u64;
}

/// Costs of requests that are served by order or position alone.
pub struct Costless;

impl<T> Costs<T> for Costless {
    fn of(&self, _: &T) -> u64 {
        0
    }

    fn least(&self, _: u64) -> u64 {
        0
    }
}

/// One waiting request.
#[derive(Clone, Copy, Debug)]
struct Waiting<T> {
    order: u64,
    since: Instant,
    position: u64,
    item: T,
}

/// The waiting requests.
#[derive(Clone, Debug)]
pub struct Queue<T> {
    discipline: Discipline,
    /// Room for requests, by number; those that wait are numbered in `waiting`, the others in `free`.
    held: Vec<Waiting<T>>,
    free: Vec<u32>,
    /// Oldest first.
    waiting: Vec<u32>,
    /// Among many, for policies that go by position: positions and numbers, rising, for a choice that begins at a place
    /// and goes on from there. Streams come and go at its ends.
    places: VecDeque<(u64, u32)>,
    sorted: bool,
    capacity: usize,
    next_order: u64,
    /// Where the sweep is; `sweep_fence` is the first order that came after its position was first served.
    sweep: u64,
    sweep_fence: u64,
    rising: bool,
}

/// What a choice is made from: the oldest that wait, as far as they are admitted.
struct Open<'a, A> {
    waiting: &'a [u32],
    admit: A,
}

/// A choice: where it stands, and what it costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    index: usize,
    /// Its cost, if the policy asked for it.
    pub cost: u64,
    /// How many older requests it passes.
    pub passed: u32,
}

impl<T: Copy> Default for Queue<T> {
    fn default() -> Queue<T> {
        Queue::new(Discipline::default(), 0)
    }
}

impl<T: Copy> Queue<T> {
    /// An empty queue that never holds more than `capacity` (it does not grow then).
    pub fn new(discipline: Discipline, capacity: usize) -> Queue<T> {
        let sorted = sorts(&discipline, capacity);
        Queue {
            discipline,
            held: Vec::with_capacity(capacity),
            free: Vec::with_capacity(capacity),
            waiting: Vec::with_capacity(capacity),
            places: VecDeque::with_capacity(if sorted { capacity } else { 0 }),
            sorted,
            capacity,
            next_order: 0,
            sweep: 0,
            sweep_fence: 0,
            rising: true,
        }
    }

    /// Changes the discipline from now on.
    pub fn set_discipline(&mut self, discipline: Discipline) {
        self.discipline = discipline;
        self.sorted = sorts(&discipline, self.capacity);
        self.sort();
    }

    fn sort(&mut self) {
        self.places.clear();
        if self.sorted {
            let held = &self.held;
            self.places.extend(self.waiting.iter().map(|&number| (held[number as usize].position, number)));
            self.places.make_contiguous().sort_unstable();
        }
    }

    /// How it orders.
    pub fn discipline(&self) -> Discipline {
        self.discipline
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// True when none waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds a request that waits `since` then, at `position`. Instants must not fall.
    pub fn push(&mut self, since: Instant, position: u64, item: T) {
        let waiting = Waiting { order: self.next_order, since, position, item };
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
        self.waiting.push(number);
        if self.sorted {
            match self.places.back() {
                Some(&last) if last > (position, number) => {
                    let place = self.places.partition_point(|&other| other < (position, number));
                    self.places.insert(place, (position, number));
                }
                _ => self.places.push_back((position, number)),
            }
        }
        self.next_order += 1;
    }

    #[inline]
    fn at(&self, number: u32) -> &Waiting<T> {
        &self.held[number as usize]
    }

    /// Those that wait, oldest first, with how long since.
    pub fn iter(&self) -> impl Iterator<Item = (Instant, &T)> {
        self.waiting.iter().map(|&number| (self.at(number).since, &self.at(number).item))
    }

    /// The one that `rank` puts lowest, the oldest of equals; none of those to which it gives no rank. How many are older is
    /// what it passes.
    pub fn lowest_by<K: Ord>(&self, mut rank: impl FnMut(&T) -> Option<K>) -> Option<Choice> {
        let ranked = self.waiting.iter().enumerate();
        let ranked = ranked.filter_map(|(index, &number)| Some((rank(&self.at(number).item)?, index)));
        ranked.min().map(|(_, index)| self.choice(index, 0))
    }

    /// What was chosen, and since when it waits.
    pub fn chosen(&self, choice: &Choice) -> (Instant, &T) {
        let waiting = self.at(self.waiting[choice.index]);
        (waiting.since, &waiting.item)
    }

    /// Takes out the requests that `gone` names.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        let (held, free) = (&self.held, &mut self.free);
        self.waiting.retain(|&number| {
            let kept = keep(&held[number as usize].item);
            if !kept {
                free.push(number);
            }
            kept
        });
        self.sort();
    }

    /// What `which` names waits at another position now.
    pub fn move_to(&mut self, which: impl Fn(&T) -> bool, position: u64) {
        let held = &mut self.held;
        let found = self.waiting.iter().find(|&&number| which(&held[number as usize].item));
        if let Some(&number) = found.filter(|&&number| held[number as usize].position != position) {
            held[number as usize].position = position;
            self.sort();
        }
    }

    /// Takes out all.
    pub fn clear(&mut self) {
        self.free.append(&mut self.waiting);
        self.places.clear();
    }

    /// Takes out what was chosen; nothing may have been added or taken since.
    pub fn take(&mut self, choice: Choice) -> T {
        let number = self.waiting.remove(choice.index);
        let taken = *self.at(number);
        if self.sorted && self.places.front() == Some(&(taken.position, number)) {
            self.places.pop_front();
        } else if self.sorted {
            let place = self.places.partition_point(|&other| other < (taken.position, number));
            self.places.remove(place);
        }
        self.free.push(number);
        self.serve(taken.position);
        taken.item
    }

    /// The same as adding a request at `position` and taking it out, while no other waits.
    #[inline]
    pub fn pass_through(&mut self, position: u64) {
        self.next_order += 1;
        self.serve(position);
    }

    #[inline]
    fn serve(&mut self, position: u64) {
        if position != self.sweep {
            self.rising = position > self.sweep;
            self.sweep = position;
            self.sweep_fence = self.next_order;
        }
    }

    /// The next to serve at `now`. `head` is the present position.
    pub fn choose(&self, now: Instant, head: u64, costs: &impl Costs<T>) -> Option<Choice> {
        self.choose_among(|_| true, now, head, costs, u64::MAX)
    }

    /// The next to serve of those that `admit` names; one that waited beyond the limit goes first even so. Where SPTF finds
    /// none that costs less than `bar`, it answers any of them, at a cost not below that.
    #[inline]
    pub fn choose_among(
        &self,
        admit: impl Fn(&T) -> bool,
        now: Instant,
        head: u64,
        costs: &impl Costs<T>,
        bar: u64,
    ) -> Option<Choice> {
        let admit = |waiting: &Waiting<T>| admit(&waiting.item);
        let oldest = self.waiting.iter().position(|&number| admit(self.at(number)))?;
        let open = Open { waiting: &self.waiting[..self.within_window(admit)], admit };
        let index = match self.discipline.policy {
            _ if self.overdue(now, self.at(self.waiting[0])) => 0,
            Policy::Fcfs => oldest,
            Policy::Sstf => self.lowest(&open, |waiting| waiting.position.abs_diff(head)).unwrap_or(oldest),
            Policy::CLook => self.circle(&open).unwrap_or(oldest),
            Policy::Look => self.elevator(&open).unwrap_or(oldest),
            Policy::Sptf if self.sorted => return Some(self.shortest(now, head, &open, costs, (bar, oldest))),
            Policy::Sptf if self.discipline.nearest == 0 && self.discipline.ageing == 0 => {
                return Some(self.shortest_of_few(head, &open, costs, (bar, oldest)));
            }
            Policy::Sptf => return Some(self.shortest_of_nearest(now, head, &open, costs)),
        };
        Some(self.choice(index, costs.of(&self.at(self.waiting[index]).item)))
    }

    /// How many of the oldest hold as many that are admitted as the window has room for.
    #[inline]
    fn within_window(&self, admit: impl Fn(&Waiting<T>) -> bool) -> usize {
        let all = self.waiting.len();
        match self.discipline.window as usize {
            0 => all,
            window if window >= all => all,
            window => {
                let mut admitted = (0..all).filter(|&index| admit(self.at(self.waiting[index])));
                admitted.nth(window - 1).map_or(all, |last| last + 1)
            }
        }
    }

    /// When the oldest has waited as long as the limit allows; nothing without a limit, or when none waits.
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        let limit = self.discipline.max_wait?;
        self.waiting.first().map(|&oldest| self.at(oldest).since + limit)
    }

    fn overdue(&self, now: Instant, oldest: &Waiting<T>) -> bool {
        self.discipline.max_wait.is_some_and(|limit| now.saturating_since(oldest.since) > limit)
    }

    /// Where the one with that order stands among those that wait.
    fn place_of(&self, order: u64) -> usize {
        match self.waiting.first() {
            Some(&oldest) if self.at(oldest).order == order => 0,
            _ => self.waiting.partition_point(|&number| self.at(number).order < order),
        }
    }

    fn choice(&self, index: usize, cost: u64) -> Choice {
        Choice { index, cost, passed: index as u32 }
    }

    /// What the wait since then takes from a cost.
    #[inline]
    fn credit(&self, now: Instant, since: Instant) -> i64 {
        match self.discipline.ageing {
            0 => 0,
            ageing => (now.saturating_since(since).nanos() / 1000 * u64::from(ageing)) as i64,
        }
    }

    /// The least aged cost among `open`, the oldest of equals, sought from the head outwards until the distance alone
    /// costs more. Without ageing, where none costs less than the bar: the oldest.
    fn shortest(
        &self,
        now: Instant,
        head: u64,
        open: &Open<impl Fn(&Waiting<T>) -> bool>,
        costs: &impl Costs<T>,
        (bar, oldest): (u64, usize),
    ) -> Choice {
        let youngest = self.at(open.waiting[open.waiting.len() - 1]).order;
        let most = self.credit(now, self.at(open.waiting[0]).since);
        let mut above = self.places.partition_point(|&(position, _)| position < head);
        let mut below = above;
        // The aged cost, the order and the plain cost of the best so far.
        let bar = if self.discipline.ageing == 0 { bar } else { u64::MAX };
        let mut best = (i64::try_from(bar).unwrap_or(i64::MAX), self.at(self.waiting[oldest]).order, bar);
        let nearest_below = |below: usize| match below {
            0 => u64::MAX,
            below => head - self.places[below - 1].0,
        };
        let nearest_above = |above: usize| match self.places.get(above) {
            None => u64::MAX,
            Some(&(position, _)) => position - head,
        };
        let (mut down, mut up) = (nearest_below(below), nearest_above(above));
        // An older one of the same cost goes first.
        let too_much = |best: i64| best.saturating_add(most).saturating_add(1) as u64;
        while down.min(up) != u64::MAX && costs.least(down.min(up)) < too_much(best.0) {
            let waiting;
            if up <= down {
                waiting = self.at(self.places[above].1);
                above += 1;
                up = nearest_above(above);
            } else {
                below -= 1;
                waiting = self.at(self.places[below].1);
                down = nearest_below(below);
            }
            if waiting.order <= youngest && (open.admit)(waiting) {
                let plain = costs.of(&waiting.item);
                best = best.min((plain as i64 - self.credit(now, waiting.since), waiting.order, plain));
            }
        }
        self.choice(self.place_of(best.1), best.2)
    }

    /// The least cost among `open`, the oldest of equals, or of all where none costs less than the bar: each is looked at
    /// that is near enough for it.
    #[inline(always)]
    fn shortest_of_few(
        &self,
        head: u64,
        open: &Open<impl Fn(&Waiting<T>) -> bool>,
        costs: &impl Costs<T>,
        (bar, oldest): (u64, usize),
    ) -> Choice {
        let mut best = (bar, oldest);
        // With a bar most are out of reach. Without one each is looked at: following the best so far costs more, and so does
        // a test that nobody can foresee in this loop.
        for (index, &number) in open.waiting.iter().enumerate() {
            let waiting = self.at(number);
            let near = bar == u64::MAX || costs.least(waiting.position.abs_diff(head)) < bar;
            if !near || !(open.admit)(waiting) {
                continue;
            }
            let cost = costs.of(&waiting.item);
            if cost < best.0 {
                best = (cost, index);
            }
        }
        self.choice(best.1, best.0)
    }

    /// The least aged cost among the `nearest` of `open`, or all of it, the oldest of equals.
    fn shortest_of_nearest(
        &self,
        now: Instant,
        head: u64,
        open: &Open<impl Fn(&Waiting<T>) -> bool>,
        costs: &impl Costs<T>,
    ) -> Choice {
        // The aged cost, the place and the plain cost of the best so far.
        let mut best = (i64::MAX, usize::MAX, u64::MAX);
        let mut look_at = |index: usize, waiting: &Waiting<T>| {
            let plain = costs.of(&waiting.item);
            best = best.min((plain as i64 - self.credit(now, waiting.since), index, plain));
        };
        match self.discipline.nearest as usize {
            0 => self.each(open).for_each(|(index, waiting)| look_at(index, waiting)),
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
                found.for_each(|&(_, index)| look_at(index, self.at(self.waiting[index])));
            }
        }
        self.choice(best.1, best.2)
    }

    /// Fills `nearest` with those that are the least [`apart`] from the head, and where they stand.
    fn find_nearest(&self, head: u64, open: &Open<impl Fn(&Waiting<T>) -> bool>, nearest: &mut [(u128, usize)]) {
        let last = nearest.len() - 1;
        for (index, &number) in open.waiting.iter().enumerate() {
            let waiting = self.at(number);
            let apart = apart(waiting, head);
            if apart < nearest[last].0 && (open.admit)(waiting) {
                let place = nearest.partition_point(|other| other.0 < apart);
                nearest.copy_within(place..last, place + 1);
                nearest[place] = (apart, index);
            }
        }
    }

    /// The candidates, oldest first, with their places among all that wait.
    #[inline(always)]
    fn each<'a>(
        &'a self,
        open: &'a Open<impl Fn(&Waiting<T>) -> bool>,
    ) -> impl Iterator<Item = (usize, &'a Waiting<T>)> {
        let all = open.waiting.iter().map(|&number| self.at(number)).enumerate();
        all.filter(|(_, waiting)| (open.admit)(waiting))
    }

    /// May be served at its position in this sweep.
    fn ahead(&self, waiting: &Waiting<T>) -> bool {
        waiting.position != self.sweep || waiting.order < self.sweep_fence
    }

    /// The first at or above the sweep.
    fn above(&self, open: &Open<impl Fn(&Waiting<T>) -> bool>) -> Option<usize> {
        if self.sorted {
            let first = match self.places.front() {
                Some(&(position, _)) if position >= self.sweep => 0,
                _ => self.places.partition_point(|&(position, _)| position < self.sweep),
            };
            return self.first_place(open, self.places.range(first..));
        }
        let ahead = |waiting: &Waiting<T>| waiting.position >= self.sweep && self.ahead(waiting);
        self.nearest(open, ahead, |waiting| waiting.position)
    }

    /// The first at or below the sweep.
    fn below(&self, open: &Open<impl Fn(&Waiting<T>) -> bool>) -> Option<usize> {
        if self.sorted {
            let last = self.places.partition_point(|&(position, _)| position <= self.sweep);
            return self.first_place(open, self.places.range(..last).rev());
        }
        let ahead = |waiting: &Waiting<T>| waiting.position <= self.sweep && self.ahead(waiting);
        self.nearest(open, ahead, |waiting| u64::MAX - waiting.position)
    }

    /// The oldest at the first of `places` at which one may be served in this sweep.
    fn first_place<'a>(
        &self,
        open: &Open<impl Fn(&Waiting<T>) -> bool>,
        places: impl Iterator<Item = &'a (u64, u32)>,
    ) -> Option<usize> {
        let admitted = |waiting: &&Waiting<T>| (open.admit)(waiting) && self.ahead(waiting);
        let mut served = places.map(|&(_, number)| self.at(number)).filter(admitted);
        let first = served.next()?;
        let same = served.take_while(|other| other.position == first.position);
        let oldest = same.map(|other| other.order).fold(first.order, u64::min);
        Some(self.place_of(oldest))
    }

    fn circle(&self, open: &Open<impl Fn(&Waiting<T>) -> bool>) -> Option<usize> {
        self.above(open).or_else(|| self.lowest(open, |waiting| waiting.position))
    }

    fn elevator(&self, open: &Open<impl Fn(&Waiting<T>) -> bool>) -> Option<usize> {
        match self.rising {
            true => self.above(open).or_else(|| self.below(open)),
            false => self.below(open).or_else(|| self.above(open)),
        }
    }

    fn lowest(&self, open: &Open<impl Fn(&Waiting<T>) -> bool>, key: impl Fn(&Waiting<T>) -> u64) -> Option<usize> {
        self.nearest(open, |_| true, key)
    }

    fn nearest(
        &self,
        open: &Open<impl Fn(&Waiting<T>) -> bool>,
        ahead: impl Fn(&Waiting<T>) -> bool,
        key: impl Fn(&Waiting<T>) -> u64,
    ) -> Option<usize> {
        let candidates = self.each(open).filter(|(_, waiting)| ahead(waiting));
        candidates.min_by_key(|(_, waiting)| key(waiting)).map(|(index, _)| index)
    }
}

/// Distance and, below it, order: one number, for to compare two takes branches that a processor cannot foresee.
#[inline]
fn apart<T>(waiting: &Waiting<T>, head: u64) -> u128 {
    u128::from(waiting.position.abs_diff(head)) << 64 | u128::from(waiting.order)
}

/// No place yet: farther than all.
const NOWHERE: (u128, usize) = (u128::MAX, usize::MAX);

/// Up to so many, looking at each costs less than keeping them sorted and looking at a third of them.
const FEW: usize = 64;

/// Keeps its requests by position too.
fn sorts(discipline: &Discipline, capacity: usize) -> bool {
    let by_place = match discipline.policy {
        Policy::Fcfs | Policy::Sstf => false,
        Policy::Look | Policy::CLook => discipline.window == 0,
        Policy::Sptf => discipline.nearest == 0,
    };
    by_place && capacity > FEW
}

#[cfg(test)]
mod tests;
