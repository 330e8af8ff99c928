//! Rounds of a queue: arriving requests wait until the running round is served, or until a share of it is. Within a round the
//! policy chooses.
//!
//! A round takes all waiting requests. By order of arrival it has no gaps, so two orders describe it: its end, and the end of the
//! round before, of which some may be left. With late entry the next round begins before this one is served, but only when
//! nothing is left of the one before: so no request sees more than two rounds begin, and waits for at most two.
//!
//! Sources: FSCAN freezes the queue of an elevator (Coffman, Klimko and Ryan, Analysis of scanning policies for reducing disk
//! seek times, 1972); batched shortest access time first, and with late entry "leaky" batches (Jacobson and Wilkes, Disk
//! scheduling algorithms based on rotational position, 1991). All from memory: neither was read again for this file. The rule
//! that the round before must be done first is ours; it bounds the wait.

/// The round that runs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    /// The first order after the round before, and after this one.
    before: u64,
    end: u64,
    /// How many wait of the round before.
    rest: u32,
    /// How many this round had, and how many of them are served.
    size: u32,
    served: u32,
}

impl Round {
    /// True if the next choice begins a round: `share` percent of this one are served, and all of the one before.
    #[inline]
    pub(super) fn is_over(&self, share: u32) -> bool {
        self.rest == 0 && u64::from(self.served) * 100 >= u64::from(self.size) * u64::from(share)
    }

    /// True if the request of this order is in this round, or in the one before.
    #[inline]
    pub(super) fn contains_order(&self, order: u64) -> bool {
        order < self.end
    }

    /// The first order after this round.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Begins the next round, with `waiting` requests that wait, all of an order below `end`.
    #[inline]
    pub(super) fn begin_next(&mut self, end: u64, waiting: u32) {
        let rest = self.size - self.served;
        *self = Round { before: self.end, end, rest, size: waiting - rest, served: 0 };
    }

    /// Counts the request of this order as served.
    #[inline]
    pub(super) fn count_served(&mut self, order: u64) {
        match order {
            order if order < self.before => self.rest -= 1,
            order if order < self.end => self.served += 1,
            _ => {}
        }
    }

    /// Recounts from the orders that still wait; removed requests count as served.
    pub(super) fn recount(&mut self, waiting: impl Iterator<Item = u64>) {
        let (mut rest, mut left) = (0, 0);
        for order in waiting {
            rest += u32::from(order < self.before);
            left += u32::from((self.before..self.end).contains(&order));
        }
        (self.rest, self.served) = (rest, self.size - left);
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
