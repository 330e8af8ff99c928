//! Tests of the queue: each policy against its law, and against an exhaustive choice, over random queues.

use super::*;
use crate::rng::{Rng, Seed};

const POLICIES: [Policy; 5] = [Policy::Fcfs, Policy::Sstf, Policy::Look, Policy::CLook, Policy::Sptf];

fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1000)
}

/// An item: its number in order of arrival, its position and its cost.
type Item = (u32, u64, u64);

fn discipline(rng: &mut Rng, policy: Policy) -> Discipline {
    Discipline {
        policy,
        window: [0, 0, 3][rng.below(3) as usize],
        nearest: [0, 0, 2][rng.below(3) as usize],
        ageing: [0, 0, 200][rng.below(3) as usize],
        max_wait: [None, None, Some(Span::from_micros(40))][rng.below(3) as usize],
    }
}

/// The order of preference found by sorting all candidates, without the queue's scans. The sweep's state (position,
/// fence, direction) is kept beside it in the same plain form.
struct Plain {
    discipline: Discipline,
    waiting: Vec<(Instant, Item)>,
    sweep: u64,
    fence: u32,
    rising: bool,
    next: u32,
}

impl Plain {
    fn pick(&self, admit: impl Fn(&Item) -> bool, now: Instant, head: u64, slope: u64) -> Item {
        let (since, oldest) = self.waiting[0];
        if self.discipline.max_wait.is_some_and(|limit| since + limit < now) {
            return oldest;
        }
        let window = if self.discipline.window == 0 { usize::MAX } else { self.discipline.window as usize };
        let admitted = self.waiting.iter().copied().filter(|(_, item)| admit(item));
        let mut open: Vec<(Instant, Item)> = admitted.take(window).collect();
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
                    let waited = (now.nanos() - since.nanos()) / 1000;
                    (
                        0,
                        (cost + slope * position.abs_diff(head)) as i64
                            - (waited * u64::from(self.discipline.ageing)) as i64,
                    )
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
        open.sort_by_key(rank);
        open[0].1
    }

    fn take(&mut self, item: Item) {
        self.waiting.retain(|(_, other)| *other != item);
        if item.1 != self.sweep {
            (self.rising, self.sweep, self.fence) = (item.1 > self.sweep, item.1, self.next);
        }
    }
}

/// An item's own cost, plus a constant for each step from the head.
struct Slope {
    slope: u64,
    head: u64,
}

impl Costs<Item> for Slope {
    fn of(&self, item: &Item) -> u64 {
        item.2 + self.least(item.1.abs_diff(self.head))
    }

    fn least(&self, distance: u64) -> u64 {
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
        let mut plain = Plain { discipline, waiting: Vec::new(), sweep: 0, fence: 0, rising: true, next: 0 };
        let (mut now, mut head) = (0, 0);
        // Costs grow with the distance, or do not.
        let slope = [0, 1000, 300][seed as usize % 3];
        let far = |item: &Item, head: u64| Slope { slope, head }.of(item);
        for turn in 0..turns {
            now += rng.below(12);
            let filling = if capacity == 16 { 60 } else { [95, 15][turn / 100 % 2] };
            if queue.len() < capacity && rng.percent(filling) {
                let item = (plain.next, rng.below(9), rng.below(30) * 1000);
                queue.push(at(now), item.1, item);
                plain.waiting.push((at(now), item));
                plain.next += 1;
                continue;
            }
            // All, or one of two or three.
            let share = [1, 1, 2, 3][rng.below(4) as usize];
            let admit = |item: &Item| item.0.is_multiple_of(share);
            let choose = |bar| queue.choose_among(admit, at(now), head, &Slope { slope, head }, bar);
            if let Some(choice) = choose(u64::MAX) {
                let expected = plain.pick(admit, at(now), head, slope);
                let older = plain.waiting.iter().filter(|(_, other)| other.0 < expected.0).count();
                assert_eq!(queue.passed(&choice), older);
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

/// Keeps a victim waiting with arrivals drawn by `arrival` (position, cost), one or more for each one served. Returns
/// how many later ones went first, and the largest lateness among them.
fn torment(
    discipline: Discipline,
    victim: (u64, u64),
    most: usize,
    mut arrival: impl FnMut(&Queue<Item>) -> (u64, u64),
) -> (u64, Span) {
    let mut queue: Queue<Item> = Queue::new(discipline, most);
    let (mut passes, mut latest) = (0, Span::ZERO);
    queue.push(at(0), 0, (0, 0, 0));
    let first = queue.choose(at(0), 0, &NoCosts).expect("one waits");
    queue.take(first);
    queue.push(at(0), victim.0, (1, victim.0, victim.1));
    let mut came = alloc::vec![at(0), at(0)];
    let mut head = 0;
    for turn in 1..100_000u64 {
        while queue.len() < most {
            let (position, cost) = arrival(&queue);
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

#[test]
fn nobody_is_put_off_beyond_the_bound() {
    const POSITIONS: u64 = 12;
    const MOST: usize = 6;
    const MAX_COST: u64 = 10_000;
    let mut starved = 0;
    for seed in 0..600 {
        let mut rng = Seed(seed).stream("torment");
        let discipline = discipline(&mut rng, POLICIES[seed as usize % 5]);
        let bound = discipline.bound(POSITIONS, MOST as u64, Span::from_nanos(MAX_COST));
        let victim = (rng.below(POSITIONS), MAX_COST);
        // Adversaries: one sits at the head, one walks ahead of the sweep, one crowds the next position, one draws.
        let kind = rng.below(4);
        let arrival = |queue: &Queue<Item>| match kind {
            0 => (queue.sweep, 0),
            1 => ((queue.sweep + rng.below(2)) % POSITIONS, rng.below(MAX_COST)),
            2 => ((queue.sweep + 1).min(POSITIONS - 1), 0),
            _ => (rng.below(POSITIONS), rng.below(MAX_COST)),
        };
        let (passes, latest) = torment(discipline, victim, MOST, arrival);
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
