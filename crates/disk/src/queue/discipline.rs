//! The settings of a queue: its policy and the limits of that policy. `queue` explains them and carries them out.

use crate::time::{Instant, Span};

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
    /// SPTF: choose by cost among this many that are drawn at random at each choice; 0 for all. Excludes `nearest`.
    pub sample: u32,
    /// SPTF: lower the cost of a request by this many thousandths of its wait.
    pub ageing: u32,
    /// SPTF: the part of a wait, from its begin, that does not count for `ageing`.
    pub ageing_after: Span,
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
        Discipline {
            policy,
            window: 0,
            nearest: 0,
            sample: 0,
            ageing: 0,
            ageing_after: Span::ZERO,
            patience: 0,
            round: 0,
            max_wait: None,
        }
    }

    /// The reduction of a cost in nanoseconds by the wait of its request.
    #[inline]
    pub(crate) fn age_credit(&self, now: Instant, since: Instant) -> u64 {
        match self.ageing {
            0 => 0,
            ageing => now.saturating_since(since).saturating_sub(self.ageing_after).nanos() / 1000 * u64::from(ageing),
        }
    }

    /// False if it would both draw candidates and take the nearest.
    pub(crate) fn is_sample_or_nearest(&self) -> bool {
        self.sample == 0 || self.nearest == 0
    }

    /// Makes the order, the window, the nearest and the sample neutral if a run did not use them. Each matters only from a number
    /// of requests on that wait at once; `stayed_below` says whether always fewer waited. The wait limit always counts:
    /// it may also put a request before work that is not in the queue.
    pub(crate) fn normalize_unused(self, stayed_below: &mut dyn FnMut(u32) -> bool) -> Discipline {
        let first_excess = |limit: u32| if limit == 0 { u32::MAX } else { limit.saturating_add(1) };
        let matters_from = [2, first_excess(self.window), first_excess(self.nearest), first_excess(self.sample)];
        let [order_unused, window_unused, nearest_unused, sample_unused] = matters_from.map(stayed_below);
        if order_unused {
            return Discipline { max_wait: self.max_wait, ..Discipline::plain(Policy::Fcfs) };
        }
        Discipline {
            window: if window_unused { 0 } else { self.window },
            nearest: if nearest_unused { 0 } else { self.nearest },
            sample: if sample_unused { 0 } else { self.sample },
            ..self
        }
    }
}
