//! Rounds of a queue: arriving requests wait until the running round is served, or until a share of it is (*late
//! entry*). Within a round the policy chooses.
//!
//! A round begins with all waiting requests. Requests are numbered by order of arrival without gaps, so two orders
//! describe a round: its end, and the end of the round before, of which some requests may be left. With late entry the
//! next round begins before this one is served, but only when nothing is left of the one before. So no request waits
//! for more than two rounds.
//!
//! Sources: FSCAN freezes the queue of an elevator (Coffman, Klimko and Ryan, Analysis of scanning policies for
//! reducing disk seek times, 1972). Batched shortest access time first, and with late entry "leaky" batches: Jacobson
//! and Wilkes, Disk scheduling algorithms based on rotational position, 1991. Both are cited from memory. The rule that
//! the round before must be done first is our own; it bounds the wait.

/// The round that runs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    /// The first order of this round: the end of the round before.
    first_order: u64,
    /// The first order after this round.
    end_order: u64,
    /// How many requests of the round before still wait.
    left_of_last: u32,
    /// How many requests this round began with.
    size: u32,
    /// How many of them are served.
    served: u32,
}

impl Round {
    /// True if the next choice begins a round: `share_percent` of this one are served, and all of the one before.
    #[inline]
    pub(super) fn is_over(&self, share_percent: u32) -> bool {
        self.left_of_last == 0 && u64::from(self.served) * 100 >= u64::from(self.size) * u64::from(share_percent)
    }

    /// True if the request of this order is in this round, or in the one before.
    #[inline]
    pub(super) fn contains_order(&self, order: u64) -> bool {
        order < self.end_order
    }

    /// The first order after this round.
    #[inline]
    pub(super) fn end_order(&self) -> u64 {
        self.end_order
    }

    /// Begins the next round, with all `waiting_count` requests that wait; their orders are below `end_order`.
    #[inline]
    pub(super) fn begin_next(&mut self, end_order: u64, waiting_count: u32) {
        let left_of_last = self.size - self.served;
        let (first_order, size) = (self.end_order, waiting_count - left_of_last);
        *self = Round { first_order, end_order, left_of_last, size, served: 0 };
    }

    /// Counts the request of this order as served.
    #[inline]
    pub(super) fn count_served(&mut self, order: u64) {
        match order {
            order if order < self.first_order => self.left_of_last -= 1,
            order if order < self.end_order => self.served += 1,
            _ => {}
        }
    }

    /// Recounts from the orders of the requests that still wait; removed requests count as served.
    pub(super) fn recount(&mut self, waiting_orders: impl Iterator<Item = u64>) {
        let (mut left_of_last, mut left) = (0, 0);
        for order in waiting_orders {
            left_of_last += u32::from(order < self.first_order);
            left += u32::from((self.first_order..self.end_order).contains(&order));
        }
        (self.left_of_last, self.served) = (left_of_last, self.size - left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_rounds_follow_one_another() {
        let mut round = Round::default();
        assert!(round.is_over(100), "none runs yet");
        round.begin_next(3, 3);
        for order in [2, 0, 1] {
            assert!(!round.is_over(100));
            round.count_served(order);
        }
        assert!(round.is_over(100) && round.contains_order(2) && !round.contains_order(3));
    }

    #[test]
    fn with_late_entry_the_round_before_is_done_first() {
        let mut round = Round::default();
        round.begin_next(4, 4);
        round.count_served(3);
        assert!(!round.is_over(50), "one of four");
        round.count_served(2);
        assert!(round.is_over(50), "half of four");
        // Two of the first are left, and three have come.
        round.begin_next(7, 5);
        for order in [4, 5, 6] {
            round.count_served(order);
            assert!(!round.is_over(50), "0 and 1 are left");
        }
        round.count_served(0);
        round.count_served(1);
        assert!(round.is_over(50));
    }

    #[test]
    fn what_is_removed_counts_as_served() {
        let mut round = Round::default();
        round.begin_next(4, 4);
        round.recount([1, 4].into_iter());
        assert!(!round.is_over(100), "1 waits");
        round.recount([4].into_iter());
        assert!(round.is_over(100));
        round.begin_next(5, 1);
        assert!(!round.is_over(100) && round.contains_order(4));
    }
}
