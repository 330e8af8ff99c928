//! The settings of a queue: its policy and the limits of that policy. `queue` explains them and carries them out.

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
    /// SPTF: multiply the cost of a request by the share of its patience that is left. Patience lasts this many turns
    /// for each request that waited when the request came, itself among them; 0 for no limit.
    pub patience: u32,
    /// Share of a round, in percent, that is served before later requests join; 0 for no rounds, 100 for whole rounds.
    pub round: u32,
    /// A request that has waited longer goes first.
    pub max_wait: Option<Span>,
}

impl Discipline {
    /// The policy without limits.
    pub const fn plain(policy: Policy) -> Discipline {
        Discipline { policy, window: 0, nearest: 0, ageing: 0, patience: 0, round: 0, max_wait: None }
    }

    /// Makes the order, the window and the nearest neutral if a run did not use them. Each matters only from a number
    /// of requests on that wait at once; `stayed_below` says whether always fewer waited. The wait limit always counts:
    /// it may also put a request before work that is not in the queue.
    pub(crate) fn normalize_unused(self, stayed_below: &mut dyn FnMut(u32) -> bool) -> Discipline {
        let first_excess = |limit: u32| if limit == 0 { u32::MAX } else { limit.saturating_add(1) };
        let matters_from = [2, first_excess(self.window), first_excess(self.nearest)];
        let [order_unused, window_unused, nearest_unused] = matters_from.map(stayed_below);
        if order_unused {
            return Discipline { max_wait: self.max_wait, ..Discipline::plain(Policy::Fcfs) };
        }
        Discipline {
            window: if window_unused { 0 } else { self.window },
            nearest: if nearest_unused { 0 } else { self.nearest },
            ..self
        }
    }
}
