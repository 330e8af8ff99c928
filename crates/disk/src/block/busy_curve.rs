//! The load over time of a resource of several equal units, such as the cores of a processor. Work is counted when it is
//! done, not when it is ordered, so no unit is ever busy for more than the whole time.
//!
//! Time is cut into slots of equal length. If there are too many of them, each becomes twice as long. A stretch that ends
//! within a slot gets its share of the slot's work.

use alloc::vec::Vec;

use crate::time::{Instant, Span};

/// The most slots: an end within a slot then moves less than a two-thousandth of the whole time.
const SLOTS: u64 = 4096;

/// The initial length of a slot, as a power of two in nanoseconds: about a microsecond.
const FIRST: u32 = 10;

/// The work of some units over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusyCurve {
    units: u64,
    /// The length of a slot, as a power of two in nanoseconds.
    length: u32,
    /// Work in each slot, in nanoseconds of a unit; none in those that are missing.
    slots: Vec<u64>,
    /// Work is counted up to this instant.
    until: Instant,
    total: Span,
}

impl BusyCurve {
    /// `units` that have not worked yet.
    pub fn new(units: u32) -> BusyCurve {
        BusyCurve { units: units.into(), length: FIRST, slots: Vec::new(), until: Instant::ZERO, total: Span::ZERO }
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

    /// Counts the work of `working` units up to `until`, if that is later than what is counted.
    #[inline]
    pub(crate) fn count_work(&mut self, until: Instant, working: u32) {
        let from = self.until;
        if until > from {
            self.until = until;
            if working > 0 {
                self.add(from.nanos(), until.nanos(), working.into());
            }
        }
    }

    fn add(&mut self, from: u64, until: u64, working: u64) {
        debug_assert!(working <= self.units, "{working} of {} units work", self.units);
        self.total += Span::from_nanos(working * (until - from));
        self.ensure_slots(until);
        let mut at = from;
        while at < until {
            let (slot, end) = self.slot_at(at);
            let end = end.min(until);
            self.slots[slot] += working * (end - at);
            at = end;
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
            let (slot, _) = self.slot_at(end - 1);
            let begin = (slot as u64) << self.length;
            let idle = self.units * (end - begin) - self.slots[slot];
            let part = left.min(idle);
            self.slots[slot] += part;
            (left, end) = (left - part, begin);
        }
        debug_assert!(left == 0, "{left} ns of work found no idle unit");
    }

    /// The slot of a nanosecond, and the slot's end.
    fn slot_at(&self, at: u64) -> (usize, u64) {
        let slot = at >> self.length;
        (slot as usize, (slot + 1) << self.length)
    }

    /// Makes slots up to `until`, which is later than 0.
    fn ensure_slots(&mut self, until: u64) {
        while (until - 1) >> self.length >= SLOTS {
            self.slots = self.slots.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.length += 1;
        }
        let (last, _) = self.slot_at(until - 1);
        if last >= self.slots.len() {
            self.slots.resize(last + 1, 0);
        }
    }

    /// The work between two instants, in time of a unit.
    pub fn work_between(&self, from: Instant, until: Instant) -> Span {
        let (from, until) = (from.nanos(), until.min(self.until).nanos());
        let within = |(slot, &work): (usize, &u64)| {
            let begin = (slot as u64) << self.length;
            let end = (begin + (1 << self.length)).min(self.until.nanos());
            let part = end.min(until).saturating_sub(begin.max(from));
            // A slot that has work is not empty.
            (u128::from(work) * u128::from(part) / u128::from(end.saturating_sub(begin).max(1))) as u64
        };
        Span::from_nanos(self.slots.iter().enumerate().map(within).sum())
    }

    /// A stretch with more work than all units could do, if there is one: an error of the caller's counting.
    pub fn find_overload(&self) -> Option<(Instant, Instant)> {
        let stretch = |slot: usize| {
            let begin = (slot as u64) << self.length;
            (begin, (begin + (1 << self.length)).min(self.until.nanos()))
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
        assert!(curve.slots.len() <= SLOTS as usize && curve.length > FIRST);
        assert_eq!(curve.work_between(Instant::ZERO, Instant::FAR).nanos(), 400_000_000);
        let half = curve.work_between(at(500_000_000), Instant::FAR).nanos();
        assert!(half.abs_diff(200_000_000) < 1 << curve.length, "{half}");
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
