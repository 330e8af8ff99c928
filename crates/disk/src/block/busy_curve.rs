//! The load over time of a resource of several equal units, such as the cores of a processor. The owner counts work
//! when it is done, not when it is ordered, so no unit is ever busy for more than the whole time.
//!
//! Time is cut into slots of equal length, and each slot keeps the work done in it. If there are too many slots, each
//! becomes twice as long. A query for a span of time that ends within a slot
//! gets its share of the slot's work.

use alloc::vec::Vec;

use crate::time::{Instant, Span};

/// Maximum number of slots. After a doubling at least half of them are in use, so a slot is at most a 2048th of the
/// whole time.
const MAX_SLOTS: u64 = 4096;

/// Binary logarithm of a slot's initial length in nanoseconds: 1,024 ns.
const INITIAL_LENGTH_LOG2: u32 = 10;

/// The work of some units over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusyCurve {
    units: u64,
    /// Binary logarithm of a slot's length in nanoseconds.
    length_log2: u32,
    /// Work in each slot, in nanoseconds of one unit; slots beyond the last have none.
    slots: Vec<u64>,
    /// Work is counted up to this instant.
    until: Instant,
    total: Span,
}

impl BusyCurve {
    /// `units` that have not worked yet.
    pub fn new(units: u32) -> BusyCurve {
        BusyCurve {
            units: units.into(),
            length_log2: INITIAL_LENGTH_LOG2,
            slots: Vec::new(),
            until: Instant::ZERO,
            total: Span::ZERO,
        }
    }

    /// How many units there are.
    pub fn units(&self) -> u64 {
        self.units
    }

    /// The instant up to which work is counted.
    pub fn counted_until(&self) -> Instant {
        self.until
    }

    /// All work so far, in time of a unit.
    pub fn total_work(&self) -> Span {
        self.total
    }

    /// Counts the work of `busy_units` units from the instant counted so far up to `until`, if that is later.
    #[inline]
    pub(crate) fn count_work(&mut self, until: Instant, busy_units: u32) {
        let from = self.until;
        if until > from {
            self.until = until;
            if busy_units > 0 {
                self.add_work(from.nanos(), until.nanos(), busy_units.into());
            }
        }
    }

    fn add_work(&mut self, from_ns: u64, until_ns: u64, busy_units: u64) {
        debug_assert!(busy_units <= self.units, "{busy_units} of {} units work", self.units);
        self.total += Span::from_nanos(busy_units * (until_ns - from_ns));
        self.ensure_slots(until_ns);
        let mut at_ns = from_ns;
        while at_ns < until_ns {
            let (slot, slot_end_ns) = self.slot_and_end(at_ns);
            let end_ns = slot_end_ns.min(until_ns);
            self.slots[slot] += busy_units * (end_ns - at_ns);
            at_ns = end_ns;
        }
    }

    /// Counts work done at an unknown time since `from`, as late as units were idle. Idle time must suffice for all of it.
    pub(crate) fn count_in_idle_time(&mut self, from: Instant, work: Span) {
        let (mut left, mut end) = (work.nanos(), self.until.nanos());
        if left == 0 {
            return;
        }
        self.total += work;
        self.ensure_slots(end);
        while left > 0 && end > from.nanos() {
            let (slot, _) = self.slot_and_end(end - 1);
            let begin = (slot as u64) << self.length_log2;
            let idle = self.units * (end - begin) - self.slots[slot];
            let part = left.min(idle);
            self.slots[slot] += part;
            (left, end) = (left - part, begin);
        }
        debug_assert!(left == 0, "{left} ns of work found no idle unit");
    }

    /// The index of the slot that holds a nanosecond, and the slot's end in nanoseconds.
    fn slot_and_end(&self, at_ns: u64) -> (usize, u64) {
        let slot = at_ns >> self.length_log2;
        (slot as usize, (slot + 1) << self.length_log2)
    }

    /// Makes slots up to `until_ns`, which is later than 0; doubles their length if they would be too many.
    fn ensure_slots(&mut self, until_ns: u64) {
        while (until_ns - 1) >> self.length_log2 >= MAX_SLOTS {
            self.slots = self.slots.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.length_log2 += 1;
        }
        let (last, _) = self.slot_and_end(until_ns - 1);
        if last >= self.slots.len() {
            self.slots.resize(last + 1, 0);
        }
    }

    /// The work between two instants, in time of a unit.
    pub fn work_between(&self, from: Instant, until: Instant) -> Span {
        let (from, until) = (from.nanos(), until.min(self.until).nanos());
        let within = |(slot, &work): (usize, &u64)| {
            let begin = (slot as u64) << self.length_log2;
            let end = (begin + (1 << self.length_log2)).min(self.until.nanos());
            let part = end.min(until).saturating_sub(begin.max(from));
            // A slot that has work is not empty.
            (u128::from(work) * u128::from(part) / u128::from(end.saturating_sub(begin).max(1))) as u64
        };
        Span::from_nanos(self.slots.iter().enumerate().map(within).sum())
    }

    /// The first slot's time in which more work was counted than all units could do, if there is one: an error of the
    /// caller's counting.
    pub fn find_overload(&self) -> Option<(Instant, Instant)> {
        let stretch = |slot: usize| {
            let begin = (slot as u64) << self.length_log2;
            (begin, (begin + (1 << self.length_log2)).min(self.until.nanos()))
        };
        let mut slots = self.slots.iter().enumerate().map(|(slot, work)| (stretch(slot), *work));
        let over = slots.find(|&((from, until), work)| work > self.units * until.saturating_sub(from));
        over.map(|((from, until), _)| (Instant::from_nanos(from), Instant::from_nanos(until)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    #[test]
    fn a_stretch_has_the_work_of_its_slots_and_its_share_of_those_at_its_ends() {
        let mut curve = BusyCurve::new(2);
        curve.count_work(at(1_024), 1);
        curve.count_work(at(2_048), 0);
        curve.count_work(at(3_072), 2);
        let between = |from, until| curve.work_between(at(from), at(until)).nanos();
        assert_eq!((between(0, 3_072), curve.total_work().nanos()), (3_072, 3_072));
        assert_eq!([between(0, 512), between(1_024, 2_048), between(2_048, 2_560)], [512, 0, 1_024]);
        assert_eq!(between(512, 2_560), 512 + 1_024);
        assert_eq!(between(3_072, 9_000), 0);
    }

    #[test]
    fn slots_grow_and_keep_their_work() {
        let mut curve = BusyCurve::new(1);
        for turn in 0..10_000 {
            curve.count_work(at(turn * 100_000 + 40_000), 1);
            curve.count_work(at((turn + 1) * 100_000), 0);
        }
        assert!(curve.slots.len() <= MAX_SLOTS as usize && curve.length_log2 > INITIAL_LENGTH_LOG2);
        assert_eq!(curve.work_between(Instant::ZERO, Instant::FAR).nanos(), 400_000_000);
        let half = curve.work_between(at(500_000_000), Instant::FAR).nanos();
        assert!(half.abs_diff(200_000_000) < 1 << curve.length_log2, "{half}");
        assert_eq!(curve.find_overload(), None);
    }

    #[test]
    fn work_of_an_unknown_time_goes_where_units_were_idle() {
        let mut curve = BusyCurve::new(1);
        curve.count_work(at(1_024), 0);
        curve.count_work(at(2_048), 1);
        curve.count_work(at(2_560), 0);
        curve.count_in_idle_time(at(0), Span::from_nanos(700));
        // 512 ns after the work, the rest before it.
        assert_eq!(curve.work_between(at(2_048), at(2_560)).nanos(), 512);
        assert_eq!(curve.work_between(at(0), at(1_024)).nanos(), 188);
        assert_eq!((curve.total_work().nanos(), curve.find_overload()), (1_024 + 700, None));
    }

    #[test]
    fn more_work_than_time_is_seen() {
        let mut curve = BusyCurve::new(1);
        curve.count_work(at(5_000), 1);
        curve.slots[2] += 1;
        assert_eq!(curve.find_overload(), Some((at(2_048), at(3_072))));
    }
}
