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
    /// The numbers of the next older and the next younger one that wait, or `NONE`.
    older: u32,
    younger: u32,
}

/// No number.
const NONE: u32 = u32::MAX;

/// The order of one that does not wait.
const GONE: u64 = u64::MAX;

/// The waiting requests.
#[derive(Clone, Debug)]
pub struct Queue<T> {
    discipline: Discipline,
    /// Room for requests, by number; those that wait are a chain by age, the others are numbered in `free`.
    held: Vec<Waiting<T>>,
    free: Vec<u32>,
    /// The ends of the chain.
    oldest: u32,
    youngest: u32,
    /// Where it is `sorted`: numbers by position, rising, for a choice that begins at a place and goes on from there.
    /// Streams come and go at its ends.
    places: VecDeque<u32>,
    sorted: bool,
    capacity: usize,
    next_order: u64,
    /// Where the sweep is; `sweep_fence` is the first order that came after its position was first served.
    sweep: u64,
    sweep_fence: u64,
    rising: bool,
}

/// What a choice is made from: those that wait and came before this order, as far as they are admitted.
struct Open<A> {
    before: u64,
    admit: A,
}

impl<A> Open<A> {
    #[inline]
    fn has<T>(&self, waiting: &Waiting<T>) -> bool
    where
        A: Fn(&Waiting<T>) -> bool,
    {
        waiting.order < self.before && (self.admit)(waiting)
    }
}

/// A choice: which it is, and what it costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    number: u32,
    /// Its cost, if the policy asked for it.
    pub cost: u64,
}

impl<T: Copy> Default for Queue<T> {
    fn default() -> Queue<T> {
        Queue::new(Discipline::default(), 0)
    }
}

impl<T: Copy> Queue<T> {
    /// An empty queue that never holds more than `capacity` (it does not grow then).
    pub fn new(discipline: Discipline, capacity: usize) -> Queue<T> {
        let sorts = sorts(&discipline, capacity);
        Queue {
            discipline,
            held: Vec::with_capacity(capacity),
            free: Vec::with_capacity(capacity),
            oldest: NONE,
            youngest: NONE,
            places: VecDeque::with_capacity(if sorts { capacity } else { 0 }),
            sorted: sorts && discipline.policy != Policy::Sptf,
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
        self.sorted = sorts(&discipline, self.capacity) && discipline.policy != Policy::Sptf;
        self.sort();
        self.sort_if_many();
    }

    /// By cost a choice among few looks at each of them, and keeping their places would be in vain. What lies between keeps
    /// a queue about that long from being sorted again and again.
    #[inline]
    fn sort_if_many(&mut self) {
        let few = if self.sorted { FEW / 2 } else { FEW };
        let many = self.len() > few;
        let changes = many != self.sorted && self.discipline.policy == Policy::Sptf;
        if changes && sorts(&self.discipline, self.capacity) {
            self.sorted = many;
            self.sort();
        }
    }

    fn sort(&mut self) {
        self.places.clear();
        if self.sorted {
            let mut places = core::mem::take(&mut self.places);
            places.extend(self.by_age().map(|(number, _)| number));
            places.make_contiguous().sort_unstable_by_key(|&number| self.place(number));
            self.places = places;
        }
    }

    /// How it orders.
    pub fn discipline(&self) -> Discipline {
        self.discipline
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.held.len() - self.free.len()
    }

    /// True when none waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.oldest == NONE
    }

    /// Adds a request that waits `since` then, at `position`. Instants must not fall.
    pub fn push(&mut self, since: Instant, position: u64, item: T) {
        let (older, younger) = (self.youngest, NONE);
        let waiting = Waiting { order: self.next_order, since, position, item, older, younger };
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
        if self.sorted {
            self.put(number);
        }
        self.sort_if_many();
        self.next_order += 1;
    }

    /// Takes a request out of the chain.
    #[inline]
    fn unlink(&mut self, number: u32) {
        let Waiting { older, younger, .. } = *self.at(number);
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

    /// A number's place among those sorted.
    #[inline]
    fn place(&self, number: u32) -> (u64, u32) {
        (self.at(number).position, number)
    }

    /// Puts a number among those sorted.
    #[inline]
    fn put(&mut self, number: u32) {
        let place = self.place(number);
        match self.places.back() {
            Some(&last) if self.place(last) > place => {
                let index = self.places.partition_point(|&other| self.place(other) < place);
                self.places.insert(index, number);
            }
            _ => self.places.push_back(number),
        }
    }

    /// Takes a number out of those sorted.
    #[inline]
    fn drop_place(&mut self, number: u32) {
        if self.places.front() == Some(&number) {
            self.places.pop_front();
        } else {
            let place = self.place(number);
            let index = self.places.partition_point(|&other| self.place(other) < place);
            self.places.remove(index);
        }
    }

    #[inline]
    fn at(&self, number: u32) -> &Waiting<T> {
        &self.held[number as usize]
    }

    /// Those that wait, oldest first, and their numbers.
    #[inline]
    fn by_age(&self) -> impl Iterator<Item = (u32, &Waiting<T>)> {
        let mut next = self.oldest;
        core::iter::from_fn(move || {
            let number = next;
            let waiting = self.held.get(number as usize)?;
            next = waiting.younger;
            Some((number, waiting))
        })
    }

    /// Those that wait, oldest first, with how long since.
    pub fn iter(&self) -> impl Iterator<Item = (Instant, &T)> {
        self.by_age().map(|(_, waiting)| (waiting.since, &waiting.item))
    }

    /// How many older ones a choice passes.
    pub fn passed(&self, choice: &Choice) -> usize {
        self.by_age().take_while(|&(number, _)| number != choice.number).count()
    }

    /// The one that `rank` puts lowest, the oldest of equals; none of those to which it gives no rank.
    pub fn lowest_by<K: Ord>(&self, mut rank: impl FnMut(&T) -> Option<K>) -> Option<Choice> {
        let ranked = self.by_age().filter_map(|(number, waiting)| Some((rank(&waiting.item)?, number)));
        ranked.min_by(|one, other| one.0.cmp(&other.0)).map(|(_, number)| Choice { number, cost: 0 })
    }

    /// What was chosen, and since when it waits.
    pub fn chosen(&self, choice: &Choice) -> (Instant, &T) {
        let waiting = self.at(choice.number);
        (waiting.since, &waiting.item)
    }

    /// Takes out the requests that `gone` names.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        let mut next = self.oldest;
        while next != NONE {
            let number = next;
            next = self.at(number).younger;
            if !keep(&self.at(number).item) {
                self.unlink(number);
            }
        }
        self.sort();
        self.sort_if_many();
    }

    /// What `which` names waits at another position now.
    pub fn move_to(&mut self, which: impl Fn(&T) -> bool, position: u64) {
        let found = self.by_age().find(|(_, waiting)| which(&waiting.item));
        let Some(number) = found.map(|(number, _)| number) else { return };
        if self.sorted {
            self.drop_place(number);
        }
        self.held[number as usize].position = position;
        if self.sorted {
            self.put(number);
        }
    }

    /// Takes out all.
    pub fn clear(&mut self) {
        self.retain(|_| false);
    }

    /// Takes out what was chosen; nothing may have been added or taken since.
    pub fn take(&mut self, choice: Choice) -> T {
        let Waiting { position, item, .. } = *self.at(choice.number);
        self.unlink(choice.number);
        if self.sorted {
            self.drop_place(choice.number);
        }
        self.sort_if_many();
        self.serve(position);
        item
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
        let (oldest, _) = self.by_age().find(|(_, waiting)| admit(waiting))?;
        let open = Open { before: self.window_end(admit), admit };
        let number = match self.discipline.policy {
            _ if self.overdue(now, self.at(self.oldest)) => self.oldest,
            Policy::Fcfs => oldest,
            Policy::Sstf => self.lowest(&open, |waiting| waiting.position.abs_diff(head)).unwrap_or(oldest),
            Policy::CLook => self.circle(&open).unwrap_or(oldest),
            Policy::Look => self.elevator(&open).unwrap_or(oldest),
            Policy::Sptf if self.sorted => return Some(self.shortest(now, head, &open, costs, (bar, oldest))),
            Policy::Sptf if self.are_few() => {
                return Some(self.shortest_of_few(head, &open, costs, (bar, oldest)));
            }
            Policy::Sptf => return Some(self.shortest_of_nearest(now, head, &open, costs)),
        };
        Some(Choice { number, cost: costs.of(&self.at(number).item) })
    }

    /// The order behind the last that the window has room for, of those that are admitted.
    #[inline]
    fn window_end(&self, admit: impl Fn(&Waiting<T>) -> bool) -> u64 {
        match self.discipline.window as usize {
            0 => GONE,
            window if window >= self.len() => GONE,
            window => {
                let mut admitted = self.by_age().filter(|(_, waiting)| admit(waiting));
                admitted.nth(window - 1).map_or(GONE, |(_, last)| last.order + 1)
            }
        }
    }

    /// When the oldest has waited as long as the limit allows; nothing without a limit, or when none waits.
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        let limit = self.discipline.max_wait?;
        self.held.get(self.oldest as usize).map(|oldest| oldest.since + limit)
    }

    fn overdue(&self, now: Instant, oldest: &Waiting<T>) -> bool {
        self.discipline.max_wait.is_some_and(|limit| now.saturating_since(oldest.since) > limit)
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
        (bar, oldest): (u64, u32),
    ) -> Choice {
        let most = self.credit(now, self.at(self.oldest).since);
        let mut above = self.places.partition_point(|&number| self.at(number).position < head);
        let mut below = above;
        // The aged cost, the order, the plain cost and the number of the best so far.
        let bar = if self.discipline.ageing == 0 { bar } else { u64::MAX };
        let mut best = (i64::try_from(bar).unwrap_or(i64::MAX), self.at(oldest).order, bar, oldest);
        let nearest_below = |below: usize| match below {
            0 => u64::MAX,
            below => head - self.at(self.places[below - 1]).position,
        };
        let nearest_above = |above: usize| match self.places.get(above) {
            None => u64::MAX,
            Some(&number) => self.at(number).position - head,
        };
        let (mut down, mut up) = (nearest_below(below), nearest_above(above));
        // An older one of the same cost goes first.
        let too_much = |best: i64| best.saturating_add(most).saturating_add(1) as u64;
        while down.min(up) != u64::MAX && costs.least(down.min(up)) < too_much(best.0) {
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
            let waiting = self.at(number);
            if open.has(waiting) {
                let plain = costs.of(&waiting.item);
                best = best.min((plain as i64 - self.credit(now, waiting.since), waiting.order, plain, number));
            }
        }
        Choice { number: best.3, cost: best.2 }
    }

    /// A choice by cost alone does best to look at all that is held, as it lies there.
    #[inline]
    fn are_few(&self) -> bool {
        self.discipline.nearest == 0 && self.discipline.ageing == 0 && self.held.len() <= 2 * FEW
    }

    /// The least cost among `open`, the oldest of equals, or of all where none costs less than the bar. With a bar most are
    /// out of reach. Without one each is looked at: following the best so far costs more, and so does a test that nobody can
    /// foresee among so few.
    #[inline]
    fn shortest_of_few(
        &self,
        head: u64,
        open: &Open<impl Fn(&Waiting<T>) -> bool>,
        costs: &impl Costs<T>,
        (bar, oldest): (u64, u32),
    ) -> Choice {
        let near = |waiting: &Waiting<T>| costs.least(waiting.position.abs_diff(head)) < bar;
        match bar {
            u64::MAX => self.least(|waiting| open.has(waiting), costs, (bar, oldest)),
            _ => self.least(|waiting| near(waiting) && open.has(waiting), costs, (bar, oldest)),
        }
    }

    /// The least cost among those that `counts` names, the oldest of equals; `best` where none costs less. Apart, for it needs
    /// all registers.
    #[inline(never)]
    fn least(&self, counts: impl Fn(&Waiting<T>) -> bool, costs: &impl Costs<T>, best: (u64, u32)) -> Choice {
        let (mut cost, mut best) = (best.0, self.at(best.1));
        for waiting in self.held.iter().filter(|waiting| counts(waiting)) {
            let other = costs.of(&waiting.item);
            if other == cost && waiting.order < best.order {
                best = waiting;
            }
            (cost, best) = if other < cost { (other, waiting) } else { (cost, best) };
        }
        let number = self.held.get(best.older as usize).map_or(self.oldest, |older| older.younger);
        Choice { number, cost }
    }

    /// The least aged cost among the `nearest` of `open`, or all of it, the oldest of equals.
    fn shortest_of_nearest(
        &self,
        now: Instant,
        head: u64,
        open: &Open<impl Fn(&Waiting<T>) -> bool>,
        costs: &impl Costs<T>,
    ) -> Choice {
        // The aged cost, the order, the plain cost and the number of the best so far.
        let mut best = (i64::MAX, u64::MAX, u64::MAX, NONE);
        let mut look_at = |number: u32, waiting: &Waiting<T>| {
            let plain = costs.of(&waiting.item);
            best = best.min((plain as i64 - self.credit(now, waiting.since), waiting.order, plain, number));
        };
        match self.discipline.nearest as usize {
            0 => self.each(open).for_each(|(number, waiting)| look_at(number, waiting)),
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
                found.for_each(|&(_, number)| look_at(number, self.at(number)));
            }
        }
        Choice { number: best.3, cost: best.2 }
    }

    /// Fills `nearest` with those that are the least [`apart`] from the head, and their numbers.
    fn find_nearest(&self, head: u64, open: &Open<impl Fn(&Waiting<T>) -> bool>, nearest: &mut [(u128, u32)]) {
        let last = nearest.len() - 1;
        for (number, waiting) in self.by_age() {
            let apart = apart(waiting, head);
            if apart < nearest[last].0 && open.has(waiting) {
                let place = nearest.partition_point(|other| other.0 < apart);
                nearest.copy_within(place..last, place + 1);
                nearest[place] = (apart, number);
            }
        }
    }

    /// The candidates, oldest first, and their numbers.
    #[inline(always)]
    fn each<'a>(&'a self, open: &'a Open<impl Fn(&Waiting<T>) -> bool>) -> impl Iterator<Item = (u32, &'a Waiting<T>)> {
        self.by_age().filter(|(_, waiting)| open.has(waiting))
    }

    /// May be served at its position in this sweep.
    fn ahead(&self, waiting: &Waiting<T>) -> bool {
        waiting.position != self.sweep || waiting.order < self.sweep_fence
    }

    /// The first at or above the sweep.
    fn above(&self, open: &Open<impl Fn(&Waiting<T>) -> bool>) -> Option<u32> {
        if self.sorted {
            let first = match self.places.front() {
                Some(&number) if self.at(number).position >= self.sweep => 0,
                _ => self.places.partition_point(|&number| self.at(number).position < self.sweep),
            };
            return self.first_place(open, self.places.range(first..));
        }
        let ahead = |waiting: &Waiting<T>| waiting.position >= self.sweep && self.ahead(waiting);
        self.nearest(open, ahead, |waiting| waiting.position)
    }

    /// The first at or below the sweep.
    fn below(&self, open: &Open<impl Fn(&Waiting<T>) -> bool>) -> Option<u32> {
        if self.sorted {
            let last = self.places.partition_point(|&number| self.at(number).position <= self.sweep);
            return self.first_place(open, self.places.range(..last).rev());
        }
        let ahead = |waiting: &Waiting<T>| waiting.position <= self.sweep && self.ahead(waiting);
        self.nearest(open, ahead, |waiting| u64::MAX - waiting.position)
    }

    /// The oldest at the first of `places` at which one may be served in this sweep.
    fn first_place<'a>(
        &self,
        open: &Open<impl Fn(&Waiting<T>) -> bool>,
        places: impl Iterator<Item = &'a u32>,
    ) -> Option<u32> {
        let served = |waiting: &Waiting<T>| open.has(waiting) && self.ahead(waiting);
        let mut places = places.copied().filter(|&number| served(self.at(number)));
        let first = places.next()?;
        let same = places.take_while(|&other| self.at(other).position == self.at(first).position);
        Some(
            same.fold(first, |oldest, other| if self.at(other).order < self.at(oldest).order { other } else { oldest }),
        )
    }

    fn circle(&self, open: &Open<impl Fn(&Waiting<T>) -> bool>) -> Option<u32> {
        self.above(open).or_else(|| self.lowest(open, |waiting| waiting.position))
    }

    fn elevator(&self, open: &Open<impl Fn(&Waiting<T>) -> bool>) -> Option<u32> {
        match self.rising {
            true => self.above(open).or_else(|| self.below(open)),
            false => self.below(open).or_else(|| self.above(open)),
        }
    }

    fn lowest(&self, open: &Open<impl Fn(&Waiting<T>) -> bool>, key: impl Fn(&Waiting<T>) -> u64) -> Option<u32> {
        self.nearest(open, |_| true, key)
    }

    fn nearest(
        &self,
        open: &Open<impl Fn(&Waiting<T>) -> bool>,
        ahead: impl Fn(&Waiting<T>) -> bool,
        key: impl Fn(&Waiting<T>) -> u64,
    ) -> Option<u32> {
        let candidates = self.each(open).filter(|(_, waiting)| ahead(waiting));
        candidates.min_by_key(|(_, waiting)| key(waiting)).map(|(number, _)| number)
    }
}

/// Distance and, below it, order: one number, for to compare two takes branches that a processor cannot foresee.
#[inline]
fn apart<T>(waiting: &Waiting<T>, head: u64) -> u128 {
    u128::from(waiting.position.abs_diff(head)) << 64 | u128::from(waiting.order)
}

/// No place yet: farther than all.
const NOWHERE: (u128, u32) = (u128::MAX, NONE);

/// Up to so many, looking at each costs less than keeping them sorted and looking at a third of them.
const FEW: usize = 64;

/// Keeps its requests by position too; by cost where they are many.
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
