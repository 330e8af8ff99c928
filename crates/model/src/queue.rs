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
//! Within a sweep no position is served twice for requests that came after it was first served, so a sweep is at most
//! as long as there are positions. A *window* lets a policy choose among the oldest few only. *Ageing* lowers the cost
//! of a request by a share of its wait, which bounds the wait by the largest cost divided by the share. A *wait limit*
//! puts a request that waited longer first, whatever the policy. Ties go to the oldest.

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
    /// SPTF: the cost of a request is lowered by this many thousandths of its wait.
    pub ageing: u32,
    /// A request that waited longer goes first.
    pub max_wait: Option<Span>,
}

impl Discipline {
    /// The plain policy.
    pub const fn plain(policy: Policy) -> Discipline {
        Discipline {
            policy,
            window: 0,
            ageing: 0,
            max_wait: None,
        }
    }

    /// How long a request can be put off, for positions below `positions` and costs of at most `max_cost`.
    pub fn bound(&self, positions: u64, max_cost: Span) -> Bound {
        let own = match self.policy {
            Policy::Fcfs => Bound::Passes(0),
            Policy::Look => Bound::Passes(2 * positions),
            Policy::CLook => Bound::Passes(positions),
            Policy::Sptf if self.ageing > 0 => Bound::Wait(Span::from_nanos(
                max_cost.nanos() * 1000 / u64::from(self.ageing),
            )),
            Policy::Sstf | Policy::Sptf => Bound::None,
        };
        match (own, self.max_wait) {
            (Bound::Passes(0), _) | (_, None) => own,
            (Bound::Wait(span), Some(limit)) => Bound::Wait(span.min(limit)),
            (_, Some(limit)) => Bound::Wait(limit),
        }
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
    waiting: Vec<Waiting<T>>,
    next_order: u64,
    /// Where the sweep is; `sweep_fence` is the first order that came after its position was first served.
    sweep: u64,
    sweep_fence: u64,
    rising: bool,
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
        Queue {
            discipline,
            waiting: Vec::with_capacity(capacity),
            next_order: 0,
            sweep: 0,
            sweep_fence: 0,
            rising: true,
        }
    }

    /// Changes the discipline from now on.
    pub fn set_discipline(&mut self, discipline: Discipline) {
        self.discipline = discipline;
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
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds a request that waits `since` then, at `position`. Instants must not fall.
    pub fn push(&mut self, since: Instant, position: u64, item: T) {
        self.waiting.push(Waiting {
            order: self.next_order,
            since,
            position,
            item,
        });
        self.next_order += 1;
    }

    /// Those that wait, oldest first, with how long since.
    pub fn iter(&self) -> impl Iterator<Item = (Instant, &T)> {
        self.waiting
            .iter()
            .map(|waiting| (waiting.since, &waiting.item))
    }

    /// Takes out the requests that `gone` names.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.waiting.retain(|waiting| keep(&waiting.item));
    }

    /// Takes out all.
    pub fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Takes out what was chosen; nothing may have been added or taken since.
    pub fn take(&mut self, choice: Choice) -> T {
        let taken = self.waiting.remove(choice.index);
        if taken.position != self.sweep {
            self.rising = taken.position > self.sweep;
            self.sweep = taken.position;
            self.sweep_fence = self.next_order;
        }
        taken.item
    }

    /// The next to serve at `now`. `head` is the present position (SSTF), `cost` the positioning time (SPTF).
    pub fn choose(
        &self,
        now: Instant,
        head: u64,
        mut cost: impl FnMut(&T) -> u64,
    ) -> Option<Choice> {
        let first = self.waiting.first()?;
        if self.overdue(now, first) {
            return Some(self.chosen(0, cost(&first.item)));
        }
        let open = match self.discipline.window {
            0 => self.waiting.len(),
            window => self.waiting.len().min(window as usize),
        };
        let open = &self.waiting[..open];
        let index = match self.discipline.policy {
            Policy::Fcfs => 0,
            Policy::Sstf => least(open, |waiting| waiting.position.abs_diff(head)),
            Policy::CLook => self
                .above(open)
                .unwrap_or_else(|| least(open, |waiting| waiting.position)),
            Policy::Look => self.elevator(open),
            Policy::Sptf => return Some(self.shortest(now, open, cost)),
        };
        Some(self.chosen(index, cost(&open[index].item)))
    }

    fn overdue(&self, now: Instant, oldest: &Waiting<T>) -> bool {
        self.discipline
            .max_wait
            .is_some_and(|limit| now.saturating_since(oldest.since) > limit)
    }

    fn chosen(&self, index: usize, cost: u64) -> Choice {
        Choice {
            index,
            cost,
            passed: index as u32,
        }
    }

    fn shortest(
        &self,
        now: Instant,
        open: &[Waiting<T>],
        mut cost: impl FnMut(&T) -> u64,
    ) -> Choice {
        let mut best = Choice {
            index: 0,
            cost: u64::MAX,
            passed: 0,
        };
        let mut least = i64::MAX;
        for (index, waiting) in open.iter().enumerate() {
            let plain = cost(&waiting.item);
            let credit = match self.discipline.ageing {
                0 => 0,
                ageing => now.saturating_since(waiting.since).nanos() / 1000 * u64::from(ageing),
            };
            let aged = plain as i64 - credit as i64;
            if aged < least {
                least = aged;
                best = self.chosen(index, plain);
            }
        }
        best
    }

    /// May be served at its position in this sweep.
    fn ahead(&self, waiting: &Waiting<T>) -> bool {
        waiting.position != self.sweep || waiting.order < self.sweep_fence
    }

    fn above(&self, open: &[Waiting<T>]) -> Option<usize> {
        let ahead = |waiting: &&Waiting<T>| waiting.position >= self.sweep && self.ahead(waiting);
        nearest(open, ahead, |waiting| waiting.position)
    }

    fn below(&self, open: &[Waiting<T>]) -> Option<usize> {
        let ahead = |waiting: &&Waiting<T>| waiting.position <= self.sweep && self.ahead(waiting);
        nearest(open, ahead, |waiting| u64::MAX - waiting.position)
    }

    fn elevator(&self, open: &[Waiting<T>]) -> usize {
        let onward = if self.rising {
            self.above(open)
        } else {
            self.below(open)
        };
        let back = |_: ()| {
            if self.rising {
                self.below(open)
            } else {
                self.above(open)
            }
        };
        onward.or_else(|| back(())).unwrap_or(0)
    }
}

fn least<T>(open: &[Waiting<T>], key: impl Fn(&Waiting<T>) -> u64) -> usize {
    nearest(open, |_| true, key).unwrap_or(0)
}

fn nearest<T>(
    open: &[Waiting<T>],
    admit: impl Fn(&&Waiting<T>) -> bool,
    key: impl Fn(&Waiting<T>) -> u64,
) -> Option<usize> {
    let mut best = None;
    let mut least = u64::MAX;
    for (index, waiting) in open.iter().enumerate() {
        if admit(&waiting) && (best.is_none() || key(waiting) < least) {
            least = key(waiting);
            best = Some(index);
        }
    }
    best
}
