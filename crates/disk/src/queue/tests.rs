//! Tests of the queue over random requests: each choice against an exhaustive search, each policy against its bound on
//! postponement, rounds and patience by hand.

use super::*;
use crate::rng::{Rng, Seed};
use crate::time::Span;

const POLICIES: [Policy; 5] = [Policy::Fcfs, Policy::Sstf, Policy::Look, Policy::CLook, Policy::Sptf];

fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1000)
}

/// An item: its number in order of arrival, its position and its cost.
type Item = (u32, u64, u64);

fn discipline(rng: &mut Rng, policy: Policy) -> Discipline {
    let (window, nearest) = ([0, 0, 3][rng.below(3) as usize], [0, 0, 2][rng.below(3) as usize]);
    Discipline {
        policy,
        window,
        nearest,
        sample: if nearest == 0 { [0, 0, 3][rng.below(3) as usize] } else { 0 },
        ageing_after: [Span::ZERO, Span::from_micros(10)][rng.below(2) as usize],
        ageing: [0, 0, 200][rng.below(3) as usize],
        patience: [0, 0, 2][rng.below(3) as usize],
        round: [0, 0, 30, 100][rng.below(4) as usize],
        max_wait: [None, None, Some(Span::from_micros(40))][rng.below(3) as usize],
    }
}

/// A queue without scans or indices, to compare with: each choice sorts all candidates. The sweep is kept as plain
/// fields, the rounds as lists of numbers.
struct PlainQueue {
    discipline: Discipline,
    waiting: Vec<(Instant, Item)>,
    /// Requests left of the round before.
    rest: Vec<u32>,
    /// Requests left of this round.
    round: Vec<u32>,
    /// How many requests this round began with.
    size: usize,
    /// How many requests are served.
    served: u64,
    /// By number of a request: how many were served, and how many waited, when it came.
    came: Vec<(u64, u64)>,
    sweep: u64,
    fence: u32,
    rising: bool,
    next: u32,
}

impl PlainQueue {
    fn new(discipline: Discipline) -> PlainQueue {
        let (waiting, rest, round, came) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        // Nothing was served at the first position.
        let (sweep, fence, rising, next) = (0, u32::MAX, true, 0);
        PlainQueue { discipline, waiting, rest, round, size: 0, served: 0, came, sweep, fence, rising, next }
    }

    fn pick(&self, admit: impl Fn(&Item) -> bool, now: Instant, head: u64, slope: u64) -> Item {
        let (since, oldest) = self.waiting[0];
        if self.discipline.max_wait.is_some_and(|limit| since + limit < now) {
            return oldest;
        }
        let window = if self.discipline.window == 0 { usize::MAX } else { self.discipline.window as usize };
        let admitted = self.waiting.iter().copied().filter(|(_, item)| admit(item));
        let mut open: Vec<(Instant, Item)> = admitted.take(window).collect();
        let in_round = |item: &Item| self.rest.contains(&item.0) || self.round.contains(&item.0);
        if self.discipline.round > 0 && !self.round_is_over() && open.iter().any(|(_, item)| in_round(item)) {
            open.retain(|(_, item)| in_round(item));
        }
        let ahead = |item: &Item| item.1 != self.sweep || item.0 < self.fence;
        let up = |item: &Item| item.1 >= self.sweep && ahead(item);
        let down = |item: &Item| item.1 <= self.sweep && ahead(item);
        let rank = |(since, item): &(Instant, Item)| -> (i64, i64, u32) {
            let (number, position, cost) = *item;
            let (here, sweep) = (position as i64, self.sweep as i64);
            let first = match self.discipline.policy {
                Policy::Fcfs => (0, 0),
                Policy::Sstf => (0, (here - head as i64).abs()),
                Policy::Sptf => {
                    let wait = now.nanos() - since.nanos();
                    let waited = wait.saturating_sub(self.discipline.ageing_after.nanos()) / 1000;
                    let cost = self.weighted(number, cost + slope * position.abs_diff(head));
                    (0, cost as i64 - (waited * u64::from(self.discipline.ageing)) as i64)
                }
                Policy::CLook => (if up(item) { 0 } else { 1 }, here),
                Policy::Look if self.rising && up(item) => (0, here - sweep),
                Policy::Look if !self.rising && down(item) => (0, sweep - here),
                Policy::Look if ahead(item) => (1, (here - sweep).abs()),
                Policy::Look => (2, 0),
            };
            (first.0, first.1, number)
        };
        if self.discipline.policy == Policy::Sptf && self.discipline.nearest > 0 {
            open.sort_by_key(|(_, item)| (item.1.abs_diff(head), item.0));
            open.truncate(self.discipline.nearest as usize);
        }
        if self.discipline.policy == Policy::Sptf && self.discipline.sample > 0 {
            open.sort_by_key(|(_, item)| choice_by_cost::random_rank(self.served, u64::from(item.0)));
            open.truncate(self.discipline.sample as usize);
        }
        open.sort_by_key(rank);
        open[0].1
    }

    fn round_is_over(&self) -> bool {
        let share = 100 * (self.size - self.round.len()) >= self.size * self.discipline.round as usize;
        self.rest.is_empty() && share
    }

    fn weighted(&self, number: u32, cost: u64) -> u64 {
        let (served, waited) = self.came[number as usize];
        let all = (waited + 1) * u64::from(self.discipline.patience);
        let left = all.saturating_sub(self.served - served);
        if all == 0 { cost } else { (cost * left).div_ceil(all) }
    }

    fn push(&mut self, now: Instant, item: Item) {
        self.came.push((self.served, self.waiting.len() as u64));
        self.waiting.push((now, item));
        self.next += 1;
    }

    fn take(&mut self, item: Item) {
        if self.round_is_over() {
            self.rest = core::mem::take(&mut self.round);
            let others = self.waiting.iter().map(|(_, other)| other.0);
            self.round = others.filter(|other| !self.rest.contains(other)).collect();
            self.size = self.round.len();
        }
        self.rest.retain(|&other| other != item.0);
        self.round.retain(|&other| other != item.0);
        self.served += 1;
        self.waiting.retain(|(_, other)| *other != item);
        if item.1 != self.sweep {
            (self.rising, self.sweep, self.fence) = (item.1 > self.sweep, item.1, self.next);
        } else if self.fence == u32::MAX {
            self.fence = self.next;
        }
    }
}

/// An item's own cost, plus a constant for each step from the head.
struct Slope {
    slope: u64,
    head: u64,
}

impl Costs<Item> for Slope {
    fn request_cost(&self, item: &Item) -> u64 {
        item.2 + self.least_cost_at_or_beyond(item.1.abs_diff(self.head))
    }

    fn least_cost_at_or_beyond(&self, distance: u64) -> u64 {
        self.slope * distance
    }
}

#[test]
fn each_choice_equals_a_plain_recomputation() {
    for seed in 0..1200 {
        let mut rng = Seed(seed).stream("choices");
        let discipline = discipline(&mut rng, POLICIES[seed as usize % 5]);
        // Few; or many and few by turns, so that places are kept for a while.
        let (capacity, turns) = [(16, 200), (FEW + 8, 500)][seed as usize / 5 % 2];
        let mut queue: Queue<Item> = Queue::new(discipline, capacity);
        let mut plain = PlainQueue::new(discipline);
        let (mut now, mut head) = (0, 0);
        // Costs grow with the distance, or do not.
        let slope = [0, 1000, 300][seed as usize % 3];
        let far = |item: &Item, head: u64| Slope { slope, head }.request_cost(item);
        for turn in 0..turns {
            now += rng.below(12);
            let filling = if capacity == 16 { 60 } else { [95, 15][turn / 100 % 2] };
            if queue.len() < capacity && rng.draw_chance(filling) {
                let item = (plain.next, rng.below(9), rng.below(30) * 1000);
                queue.push(at(now), item.1, item);
                plain.push(at(now), item);
                continue;
            }
            // All, or one of two or three.
            let share = [1, 1, 2, 3][rng.below(4) as usize];
            let admit = |item: &Item| item.0.is_multiple_of(share);
            let choose = |bar| queue.choose_among(admit, at(now), head, &Slope { slope, head }, bar);
            if let Some(choice) = choose(u64::MAX) {
                let expected = plain.pick(admit, at(now), head, slope);
                let older = plain.waiting.iter().filter(|(_, other)| other.0 < expected.0).count();
                assert_eq!(queue.count_older(&choice), older);
                assert_eq!(choice.cost, far(&expected, head));
                let bar = choice.cost.saturating_sub(1) + rng.below(3);
                let below = choose(bar).expect("there is one");
                match choice.cost < bar {
                    true => assert_eq!(below, choice, "seed {seed}: {discipline:?}"),
                    false => assert!(below.cost >= bar, "seed {seed}: {discipline:?}"),
                }
                assert_eq!(queue.take(choice), expected, "seed {seed}: {discipline:?}");
                plain.take(expected);
                head = expected.1;
            }
        }
    }
}

/// Keeps a victim (position, cost) waiting with arrivals (position, cost), which keep `max_waiting` requests in the
/// queue. Returns how many later requests went first, `u64::MAX` if the victim starves, and by how much the latest of
/// them came later.
fn postpone_victim(
    discipline: Discipline,
    victim: (u64, u64),
    max_waiting: usize,
    mut next_arrival: impl FnMut(&Queue<Item>) -> (u64, u64),
) -> (u64, Span) {
    let mut queue: Queue<Item> = Queue::new(discipline, max_waiting);
    let (mut passes, mut latest) = (0, Span::ZERO);
    queue.push(at(0), 0, (0, 0, 0));
    let first = queue.choose(at(0), 0, &NoCosts).expect("one waits");
    queue.take(first);
    queue.push(at(0), victim.0, (1, victim.0, victim.1));
    let mut came = alloc::vec![at(0), at(0)];
    let mut head = 0;
    for turn in 1..100_000u64 {
        while queue.len() < max_waiting {
            let (position, cost) = next_arrival(&queue);
            queue.push(at(turn), position, (came.len() as u32, position, cost));
            came.push(at(turn));
        }
        let choice = queue.choose(at(turn), head, &Slope { slope: 0, head }).expect("some wait");
        let (number, position, _) = queue.take(choice);
        if number == 1 {
            return (passes, latest);
        }
        head = position;
        passes += 1;
        latest = latest.max(came[number as usize].since(at(0)));
    }
    (u64::MAX, latest)
}

/// How long a queue can postpone a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PostponementBound {
    /// There is no bound: a steady supply of better placed requests starves it.
    None,
    /// At most this many later requests are served first.
    Passes(u64),
    /// No request that came later by more than this is served before it.
    Wait(Span),
}

/// How long a request can be postponed, for positions below `positions`, at most `waiting` requests at once and
/// costs of at most `max_cost`. [`PostponementBound::Wait`] means that no request that came later by more than this is served
/// before it.
fn postponement_bound(discipline: &Discipline, positions: u64, waiting: u64, max_cost: Span) -> PostponementBound {
    let sweep = positions * waiting.saturating_sub(1);
    let own = match discipline.policy {
        Policy::Fcfs => PostponementBound::Passes(0),
        Policy::Look => PostponementBound::Passes(2 * sweep),
        Policy::CLook => PostponementBound::Passes(sweep),
        // Waits count in whole microseconds: two roundings.
        Policy::Sptf if discipline.ageing > 0 && discipline.nearest == 0 && discipline.sample == 0 => {
            let outweighed = max_cost.nanos() * 1000 / u64::from(discipline.ageing) + 2000;
            PostponementBound::Wait(discipline.ageing_after + Span::from_nanos(outweighed))
        }
        Policy::Sstf | Policy::Sptf => PostponementBound::None,
    };
    let own = match (own, turn_bound(discipline, waiting)) {
        (PostponementBound::None, Some(turns)) => PostponementBound::Passes(turns),
        (PostponementBound::Passes(most), Some(turns)) => PostponementBound::Passes(most.min(turns)),
        _ => own,
    };
    match (own, discipline.max_wait) {
        (PostponementBound::Passes(0), _) | (_, None) => own,
        (PostponementBound::Wait(span), Some(limit)) => PostponementBound::Wait(span.min(limit)),
        (_, Some(limit)) => PostponementBound::Wait(limit),
    }
}

/// How many later requests go first by rounds or patience, if at most `waiting` wait at once.
fn turn_bound(discipline: &Discipline, waiting: u64) -> Option<u64> {
    let rounds = match discipline.round {
        0 => None,
        100.. => Some(waiting.saturating_sub(1)),
        _ => Some(2 * waiting.saturating_sub(1)),
    };
    let compares_all = discipline.nearest == 0 && discipline.sample == 0;
    let weighted = discipline.policy == Policy::Sptf && discipline.patience > 0 && compares_all;
    let patience = weighted.then(|| u64::from(discipline.patience) * waiting);
    rounds.into_iter().chain(patience).min()
}

#[test]
fn nobody_is_put_off_beyond_the_bound() {
    const POSITIONS: u64 = 12;
    const MOST: usize = 6;
    const MAX_COST: u64 = 10_000;
    let mut starved = 0;
    for seed in 0..600 {
        let mut rng = Seed(seed).stream("torment");
        let discipline = discipline(&mut rng, POLICIES[seed as usize % 5]);
        let bound = postponement_bound(&discipline, POSITIONS, MOST as u64, Span::from_nanos(MAX_COST));
        let victim = (rng.below(POSITIONS), MAX_COST);
        // Adversaries: one sits at the head, one walks ahead of the sweep, one crowds the next position, one draws.
        let kind = rng.below(4);
        let arrival = |queue: &Queue<Item>| match kind {
            0 => (queue.sweep_position, 0),
            1 => ((queue.sweep_position + rng.below(2)) % POSITIONS, rng.below(MAX_COST)),
            2 => ((queue.sweep_position + 1).min(POSITIONS - 1), 0),
            _ => (rng.below(POSITIONS), rng.below(MAX_COST)),
        };
        let (passes, latest) = postpone_victim(discipline, victim, MOST, arrival);
        match bound {
            PostponementBound::None => starved += u32::from(passes == u64::MAX),
            PostponementBound::Passes(most) => {
                assert!(passes <= most, "{seed}: {passes} > {most}, {discipline:?}")
            }
            PostponementBound::Wait(span) => {
                assert!(latest <= span, "{seed}: {latest} > {span}, {discipline:?}")
            }
        }
    }
    assert!(starved > 0, "without a bound an adversary can starve a request");
}

/// Returns the order in which items (name, cost) are served: those of `first` wait, and one of `later` comes after each
/// service.
fn service_order(discipline: Discipline, first: &[(u32, u64)], later: &[(u32, u64)]) -> Vec<u32> {
    let mut queue: Queue<Item> = Queue::new(discipline, 8);
    let push = |queue: &mut Queue<Item>, &(name, cost): &(u32, u64)| queue.push(at(0), 0, (name, 0, cost));
    first.iter().for_each(|item| push(&mut queue, item));
    let mut later = later.iter();
    core::iter::from_fn(|| {
        let choice = queue.choose(at(0), 0, &Slope { slope: 0, head: 0 })?;
        let served = queue.take(choice).0;
        later.next().into_iter().for_each(|item| push(&mut queue, item));
        Some(served)
    })
    .collect()
}

/// Three wait, and cheap ones come: by hand.
#[test]
fn a_round_shuts_out_what_comes_late() {
    let plain = Discipline::plain(Policy::Sptf);
    let (three, late) = ([(1, 50), (2, 20), (3, 90)], [(4, 10), (5, 10), (6, 10), (7, 60)]);
    // Whatever comes is cheaper than what is left.
    assert_eq!(service_order(plain, &three, &late), [2, 4, 5, 6, 1, 7, 3]);
    // The three by cost; then 4, 5 and 6, which had come by then; then 7.
    assert_eq!(service_order(Discipline { round: 100, ..plain }, &three, &late), [2, 1, 3, 4, 5, 6, 7]);
    // The first of three is a third: 4 joins when 2 is served. 5 and 6 join when 1 and 3 of the first round are served too.
    assert_eq!(service_order(Discipline { round: 33, ..plain }, &three, &late), [2, 4, 1, 3, 5, 6, 7]);
    // The first two of three are served before the next round, of 3, 4 and 5.
    assert_eq!(service_order(Discipline { round: 60, ..plain }, &three, &late), [2, 1, 4, 5, 3, 6, 7]);
}

/// FSCAN: the sweep goes on over the round alone.
#[test]
fn an_elevator_with_rounds_passes_over_what_comes_late() {
    let order = |round: u32| {
        let mut queue: Queue<u64> = Queue::new(Discipline { round, ..Discipline::plain(Policy::Look) }, 8);
        [10, 40].into_iter().for_each(|position| queue.push(at(0), position, position));
        let mut late = [20, 30].into_iter();
        core::iter::from_fn(|| {
            let choice = queue.choose(at(0), 0, &NoCosts)?;
            let served = queue.take(choice);
            late.next().into_iter().for_each(|position| queue.push(at(0), position, position));
            Some(served)
        })
        .collect::<Vec<_>>()
    };
    assert_eq!(order(0), [10, 20, 30, 40]);
    assert_eq!(order(100), [10, 40, 30, 20]);
}

/// Each of three has a patience of a round: 1, 2 and 3 turns.
#[test]
fn patience_makes_a_request_cheaper_turn_by_turn() {
    let patient = |patience| Discipline { patience, ..Discipline::plain(Policy::Sptf) };
    let (three, late) = ([(1, 90), (2, 60), (3, 30)], [(4, 20), (5, 20), (6, 20)]);
    assert_eq!(service_order(patient(0), &three, &late), [3, 4, 5, 6, 2, 1]);
    // After the first turn 1 has none left. After two, 2 has neither. Then 4 has one turn left of three: a third of 20.
    assert_eq!(service_order(patient(1), &three, &late), [3, 1, 2, 4, 5, 6]);
    // 90, 60 and 30; then 90 x 1/2 = 45, 60 x 3/4 = 45, 20; then 0.
    assert_eq!(service_order(patient(2), &three, &late), [3, 4, 1, 2, 5, 6]);
}

/// An arrival that costs nothing is served with the others only if it is of the round. On a drive, that is a read of
/// blocks that are being read ahead.
#[test]
fn only_those_of_the_round_may_ride() {
    let mut queue: Queue<Item> = Queue::new(Discipline { round: 100, ..Discipline::plain(Policy::Sptf) }, 8);
    let lowest = |queue: &Queue<Item>, name| queue.lowest_by(|item| (item.0 == name).then_some(0)).expect("it waits");
    (1..4).for_each(|name| queue.push(at(0), 0, (name, 0, 10)));
    let first = lowest(&queue, 1);
    assert!(queue.must_await_round(Some(&first)) && queue.must_await_round(None), "none runs");
    queue.take(first);
    queue.push(at(0), 0, (4, 0, 0));
    assert!(!queue.must_await_round(Some(&lowest(&queue, 3))), "it is of the round");
    assert!(queue.must_await_round(Some(&lowest(&queue, 4))) && queue.must_await_round(None));
    queue.retain(|item| item.0 == 4);
    assert!(queue.must_await_round(None), "the next begins with a choice");
}

/// Returns the most choices that a request waits for under a steady load of `depth` requests, or `None` if one starves.
/// With rounds that is at most the choices of two rounds.
fn max_turns_waited(discipline: Discipline, depth: usize) -> Option<u64> {
    let mut most = 0;
    for seed in 0..20 {
        let mut rng = Seed(seed).stream("two rounds");
        let mut queue: Queue<Item> = Queue::new(discipline, depth);
        let mut came = alloc::vec![0u64];
        queue.push(at(0), 0, (0, 0, 1_000));
        for turn in 0..2_000u64 {
            while queue.len() < depth {
                // The victim of the first turn is dear, what comes later as cheap as can be or anything.
                let cost = [0, rng.below(1_000)][rng.below(2) as usize];
                queue.push(at(turn), 0, (came.len() as u32, 0, cost));
                came.push(turn);
            }
            let choice = queue.choose(at(turn), 0, &Slope { slope: 0, head: 0 }).expect("some wait");
            let number = queue.take(choice).0;
            most = most.max(turn - came[number as usize]);
        }
        let waits = queue.iter().map(|(_, item)| 2_000 - came[item.0 as usize]).max();
        most = most.max(waits.unwrap_or(0));
    }
    (most < 1_900).then_some(most)
}

#[test]
fn everyone_is_served_within_two_rounds_and_a_canary_is_not() {
    let plain = Discipline::plain(Policy::Sptf);
    for depth in [2, 3, 8, 32] {
        let all = depth as u64;
        let whole = max_turns_waited(Discipline { round: 100, ..plain }, depth);
        assert!(whole.is_some_and(|turns| turns < 2 * all), "{depth}: {whole:?}");
        let late = max_turns_waited(Discipline { round: 50, ..plain }, depth);
        assert!(late.is_some_and(|turns| turns < 3 * all), "{depth}: {late:?}, of which two rounds are chosen from");
        let patient = max_turns_waited(Discipline { patience: 2, ..plain }, depth);
        // At most its own two rounds, and then those that are out of patience and older.
        assert!(patient.is_some_and(|turns| turns < 3 * all), "{depth}: {patient:?}");
        // The canary: without any of them a request is starved.
        assert_eq!(max_turns_waited(plain, depth), None, "{depth}");
    }
}

/// A queue allocates nothing up to its capacity, whatever its rules.
#[test]
fn rounds_and_patience_take_no_memory_on_the_way() {
    let discipline = Discipline { patience: 2, round: 50, ..Discipline::plain(Policy::Sptf) };
    let mut queue: Queue<Item> = Queue::new(discipline, 32);
    let sizes = |queue: &Queue<Item>| {
        (queue.slots.capacity(), queue.free_slots.capacity(), queue.waiting_on_arrival.capacity())
    };
    let begun = sizes(&queue);
    let mut rng = Seed(1).stream("memory");
    for number in 0..1_000 {
        queue.push(at(number), 0, (number as u32, 0, rng.below(100)));
        if queue.len() == 32 {
            (0..=rng.below(31)).for_each(|_| {
                let choice = queue.choose(at(number), 0, &Slope { slope: 0, head: 0 }).expect("some wait");
                queue.take(choice);
            });
        }
    }
    assert_eq!(sizes(&queue), begun);
}

#[test]
fn ties_go_to_the_oldest() {
    for policy in POLICIES {
        let mut queue: Queue<u32> = Queue::new(Discipline::plain(policy), 4);
        for item in 0..4 {
            queue.push(at(u64::from(item)), 7, item);
        }
        for expected in 0..4 {
            let choice = queue.choose(at(10), 7, &NoCosts).expect("some wait");
            assert_eq!(queue.take(choice), expected, "{policy:?}");
        }
    }
}

/// Twelve requests of equal cost wait, a sample of one decides: each has the same chance whatever its age, so that about a
/// twelfth of the choices takes the oldest. By the window of one, which must fail here, all would.
#[test]
fn a_sample_does_not_look_at_age() {
    const CHOICES: u64 = 12_000;
    let share_of_oldest = |discipline: Discipline| {
        let mut queue: Queue<Item> = Queue::new(discipline, 12);
        let mut oldest = 0;
        for turn in 0..CHOICES {
            while queue.len() < 12 {
                queue.push(at(turn), 0, (0, 0, 0));
            }
            let choice = queue.choose(at(turn), 0, &NoCosts).expect("some wait");
            assert_eq!(queue.choose(at(turn), 0, &NoCosts), Some(choice), "a choice repeats");
            oldest += u64::from(queue.count_older(&choice) == 0);
            queue.take(choice);
        }
        oldest
    };
    let sptf = Discipline::plain(Policy::Sptf);
    // A thousand is expected; five standard deviations are 151.
    assert!((849..=1_151).contains(&share_of_oldest(Discipline { sample: 1, ..sptf })));
    assert_eq!(share_of_oldest(Discipline { window: 1, ..sptf }), CHOICES);
}

/// Two requests: the old one costs 10 us more. Half of its wait counts, but for the first 100 us: it is preferred after 120.
#[test]
fn ageing_may_begin_late() {
    let discipline =
        Discipline { ageing: 500, ageing_after: Span::from_micros(100), ..Discipline::plain(Policy::Sptf) };
    let chosen_at = |us: u64| {
        let mut queue: Queue<Item> = Queue::new(discipline, 2);
        queue.push(at(0), 0, (0, 0, 20_000));
        queue.push(at(us), 0, (1, 0, 10_000));
        let choice = queue.choose(at(us), 0, &Slope { slope: 0, head: 0 }).expect("two wait");
        queue.take(choice).0
    };
    assert_eq!([50, 119, 120, 200].map(chosen_at), [1, 1, 0, 0]);
}

/// Nothing was served at the place where a sweep begins: a request there is in its way like any other.
#[test]
fn a_sweep_begins_with_a_request_at_its_first_position() {
    for policy in [Policy::Look, Policy::CLook] {
        let mut queue = Queue::new(Discipline::plain(policy), 8);
        for position in [0, 8, 16] {
            queue.push(at(0), position, (position as u32, position, 0));
        }
        let choice = queue.choose(at(0), 0, &NoCosts).expect("some wait");
        assert_eq!(queue.take(choice).1, 0, "{policy:?}");
        // Another one there came after the first was served, and waits for the next sweep.
        queue.push(at(0), 0, (9, 0, 0));
        let choice = queue.choose(at(0), 0, &NoCosts).expect("some wait");
        assert_eq!(queue.take(choice).1, 8, "{policy:?}");
    }
}
