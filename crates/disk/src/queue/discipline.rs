//! Policies and their limits, and how long each can postpone a request. The rules of a queue, with sources, are in
//! `queue.rs`.

use crate::block::PostponementBound;
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
    pub fn normalize_unused(self, open: &mut dyn FnMut(u32) -> bool) -> Discipline {
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

    /// How long a request can be postponed, for positions below `positions`, at most `waiting` requests at once and
    /// costs of at most `max_cost`. [`PostponementBound::Wait`] means that no request that came later by more than this is served
    /// before it.
    pub fn postponement_bound(&self, positions: u64, waiting: u64, max_cost: Span) -> PostponementBound {
        let sweep = positions * waiting.saturating_sub(1);
        let own = match self.policy {
            Policy::Fcfs => PostponementBound::Passes(0),
            Policy::Look => PostponementBound::Passes(2 * sweep),
            Policy::CLook => PostponementBound::Passes(sweep),
            // Waits count in whole microseconds: two roundings.
            Policy::Sptf if self.ageing > 0 && self.nearest == 0 => {
                PostponementBound::Wait(Span::from_nanos(max_cost.nanos() * 1000 / u64::from(self.ageing) + 2000))
            }
            Policy::Sstf | Policy::Sptf => PostponementBound::None,
        };
        let own = match (own, self.turn_bound(waiting)) {
            (PostponementBound::None, Some(turns)) => PostponementBound::Passes(turns),
            (PostponementBound::Passes(most), Some(turns)) => PostponementBound::Passes(most.min(turns)),
            _ => own,
        };
        match (own, self.max_wait) {
            (PostponementBound::Passes(0), _) | (_, None) => own,
            (PostponementBound::Wait(span), Some(limit)) => PostponementBound::Wait(span.min(limit)),
            (_, Some(limit)) => PostponementBound::Wait(limit),
        }
    }

    /// How many later requests go first by rounds or patience, if at most `waiting` wait at once.
    fn turn_bound(&self, waiting: u64) -> Option<u64> {
        let rounds = match self.round {
            0 => None,
            100.. => Some(waiting.saturating_sub(1)),
            _ => Some(2 * waiting.saturating_sub(1)),
        };
        let weighted = self.policy == Policy::Sptf && self.patience > 0 && self.nearest == 0;
        let patience = weighted.then(|| u64::from(self.patience) * waiting);
        rounds.into_iter().chain(patience).min()
    }
}
