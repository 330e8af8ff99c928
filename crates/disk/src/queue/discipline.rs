//! Policies and their limits, and how long each can postpone a request. The rules of a queue, with sources, are in
//! `queue.rs`.

use crate::time::Span;

/// The order of service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// First come, first served.
    #[default]
    Fcfs,
    /// Shortest seek time first, by distance of positions.
    Sstf,
    /// The elevator.
    Look,
    /// The circular elevator.
    CLook,
    /// Shortest positioning time first, by the caller's cost.
    Sptf,
}

/// A policy and its limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Discipline {
    pub policy: Policy,
    /// Choose among this many oldest; 0 for all.
    pub window: u32,
    /// SPTF: choose by cost among this many at the nearest positions; 0 for all.
    pub nearest: u32,
    /// SPTF: lower the cost of a request by this many thousandths of its wait.
    pub ageing: u32,
    /// SPTF: multiply the cost of a request by the share of its patience that is left: this many times as many turns as
    /// requests waited when it came; 0 for no limit.
    pub patience: u32,
    /// Percent of a round that are served before later requests join; 0 for at once, 100 for whole rounds.
    pub round: u32,
    /// A request that has waited longer goes first.
    pub max_wait: Option<Span>,
}

impl Discipline {
    /// The policy without limits.
    pub const fn plain(policy: Policy) -> Discipline {
        Discipline { policy, window: 0, nearest: 0, ageing: 0, patience: 0, round: 0, max_wait: None }
    }

    /// Makes the order, the window and the nearest neutral if they were unused. `open` is given the least number of requests
    /// waiting at once at which a setting matters, and says whether it was unused. The wait limit always counts: it may also
    /// put a request before work that is not in the queue.
    pub(crate) fn normalize_unused(self, open: &mut dyn FnMut(u32) -> bool) -> Discipline {
        let limit = |limit: u32| if limit == 0 { u32::MAX } else { limit.saturating_add(1) };
        let [order, window, nearest] = [2, limit(self.window), limit(self.nearest)].map(open);
        match order {
            true => Discipline { max_wait: self.max_wait, ..Discipline::plain(Policy::Fcfs) },
            false => Discipline {
                window: if window { 0 } else { self.window },
                nearest: if nearest { 0 } else { self.nearest },
                ..self
            },
        }
    }
}
