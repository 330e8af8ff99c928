//! Response times in buckets of bounded relative error, with exact moments.
//!
//! The buckets are those of HdrHistogram (Tene) with two significant digits: 128 to each doubling, so a bucket is at most 1/128 = 0.78 % as
//! wide as the values in it, and values below 256 ns are exact. The buckets grow with the largest value; nothing saturates. Count, minimum,
//! maximum, sum and sum of squares are exact, so mean and deviation are too, and merging two histograms gives bit for bit what recording
//! all values into one gives.
//!
//! All values are nanoseconds. Precision over runs is in `interval`.

use seekwise_disk::time::Span;

/// Significant decimal digits of the buckets. Two are within 1 %; three take seven times the memory (248 KiB against 34
/// KiB at 1000 s) and show differences far below those between runs.
const DIGITS: u8 = 2;

/// A bucket is at most `1 / RESOLUTION` as wide as any value in it.
pub(crate) const RESOLUTION: u64 = 128;

/// A percentile, exact in thousandths of a percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Percentile(u32);

impl Percentile {
    /// Thousandths of a per cent in the whole.
    const WHOLE: u32 = 100_000;
    /// The percentiles that records keep: those that results list, and p95.
    pub const KEPT: [Percentile; 6] = [
        Percentile(50_000),
        Percentile(90_000),
        Percentile(95_000),
        Percentile(99_000),
        Percentile(99_900),
        Percentile(99_990),
    ];
    /// The percentiles that results list.
    pub const LISTED: [Percentile; 5] =
        [Percentile(50_000), Percentile(90_000), Percentile(99_000), Percentile(99_900), Percentile(99_990)];

    /// The percentiles that a whole distribution is handed on by.
    pub const SPREAD: [Percentile; 10] = [
        Percentile(1_000),
        Percentile(5_000),
        Percentile(10_000),
        Percentile(25_000),
        Percentile(50_000),
        Percentile(75_000),
        Percentile(90_000),
        Percentile(95_000),
        Percentile(99_000),
        Percentile(99_900),
    ];

    /// The name in results: `p50`, `p99_9`.
    pub fn name(self) -> String {
        let (whole, part) = (self.0 / 1_000, self.0 % 1_000);
        let digits = format!("{part:03}");
        match digits.trim_end_matches('0') {
            "" => format!("p{whole}"),
            fraction => format!("p{whole}_{fraction}"),
        }
    }

    /// The rank among `value_count` values in rising order, from 1: the least rank with at least this share at or below it.
    fn rank(self, value_count: u64) -> u64 {
        (u128::from(value_count) * u128::from(self.0)).div_ceil(u128::from(Percentile::WHOLE)).max(1) as u64
    }

    /// Number of values of which `values_above` lie above the percentile; `None` for the maximum itself.
    pub(crate) fn needed_count(self, values_above: u64) -> Option<u64> {
        let share_above = u64::from(Percentile::WHOLE - self.0);
        (share_above > 0).then(|| (values_above * u64::from(Percentile::WHOLE)).div_ceil(share_above))
    }
}

/// How often each response time occurred.
#[derive(Clone, Debug)]
pub struct Histogram {
    buckets: hdrhistogram::Histogram<u64>,
    least: u64,
    greatest: u64,
    sum: u128,
    squares: u128,
}

impl Default for Histogram {
    fn default() -> Histogram {
        let buckets = hdrhistogram::Histogram::new(DIGITS).expect("two significant digits are within its 0..=5");
        Histogram { buckets, least: u64::MAX, greatest: 0, sum: 0, squares: 0 }
    }
}

/// Equal contents are equal, however far the buckets reach.
impl PartialEq for Histogram {
    fn eq(&self, other: &Histogram) -> bool {
        let exact = |side: &Histogram| (side.least, side.greatest, side.sum, side.squares);
        exact(self) == exact(other) && self.buckets().eq(other.buckets())
    }
}

impl Histogram {
    /// Counts a value. Panics when the squares pass 2^128 ns²: 10^10 values of 50 hours each.
    #[inline]
    pub fn record(&mut self, value: Span) {
        let ns = value.nanos();
        if ns > self.greatest {
            self.record_new_maximum(ns);
        } else {
            // No larger than an earlier value, so the buckets reach it; this call costs half of `record`.
            self.buckets.saturating_record(ns);
        }
        self.least = self.least.min(ns);
        self.sum += u128::from(ns);
        self.squares += u128::from(ns) * u128::from(ns);
    }

    /// Counts `count` values of about `value` each, as a bucket of a stored histogram holds them. The moments become
    /// those of the bucket's edge, so they are within 1/128 and no longer exact.
    pub(crate) fn record_bucket(&mut self, value: Span, count: u64) {
        let ns = value.nanos();
        self.greatest = self.greatest.max(ns);
        self.least = self.least.min(ns);
        self.buckets.record_n(ns, count).expect("buckets grow to any value where usize has 64 bits");
        self.sum += u128::from(ns) * u128::from(count);
        let squares = (u128::from(ns) * u128::from(ns)).saturating_mul(u128::from(count));
        self.squares = self.squares.saturating_add(squares);
    }

    /// A new maximum may need more buckets; in a run that happens some twenty times.
    #[cold]
    fn record_new_maximum(&mut self, ns: u64) {
        self.greatest = ns;
        self.buckets.record(ns).expect("buckets grow to any value where usize has 64 bits");
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        self.buckets.add(&other.buckets).expect("buckets grow to any value where usize has 64 bits");
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
        self.sum += other.sum;
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.buckets.len()
    }

    /// The smallest value, exact.
    pub fn min(&self) -> Option<Span> {
        (self.count() > 0).then(|| Span::from_nanos(self.least))
    }

    /// The largest value, exact.
    pub fn max(&self) -> Option<Span> {
        (self.count() > 0).then(|| Span::from_nanos(self.greatest))
    }

    /// The sum of the values, exact.
    pub fn sum_ns(&self) -> u128 {
        self.sum
    }

    /// The mean of the values.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum as f64 / self.count() as f64)
    }

    /// The standard deviation of the values, with n - 1; `None` for fewer than two.
    ///
    /// Exact up to the last division and root. With k the mean rounded down and r = Σx - nk, the squares about k are
    /// Σx² - k(Σx + r) in integers, and those about the mean are less by r²/n: nothing large cancels in floating point.
    pub fn deviation_ns(&self) -> Option<f64> {
        let n = u128::from(self.count());
        if n < 2 {
            return None;
        }
        let (k, r) = (self.sum / n, self.sum % n);
        let about_k = self.squares - k * (self.sum + r);
        let about_mean = about_k as f64 - r as f64 * r as f64 / n as f64;
        Some((about_mean.max(0.0) / (n - 1) as f64).sqrt())
    }

    /// The value at `percentile`, by nearest rank: the smallest recorded value with at least that share of all values at or below it (type
    /// 1 of Hyndman and Fan 1996), read at its bucket's upper edge and never above the maximum; at most 1/128 too large and never too
    /// small.
    pub fn percentile(&self, percentile: Percentile) -> Option<Span> {
        self.value_at_rank(percentile.rank(self.count()))
    }

    /// The values at percentiles in `rising` order, each as [`Histogram::percentile`] has it, in one pass.
    pub fn percentiles<const N: usize>(&self, rising: [Percentile; N]) -> Option<[Span; N]> {
        let (mut buckets, mut upper, mut seen) = (self.buckets(), Span::ZERO, 0);
        let mut reach = |rank: u64| {
            while seen < rank {
                let count;
                (upper, count) = buckets.next()?;
                seen += count;
            }
            Some(upper)
        };
        let mut values = [Span::ZERO; N];
        for (value, percentile) in values.iter_mut().zip(rising) {
            *value = reach(percentile.rank(self.count()))?;
        }
        Some(values)
    }

    /// The value at the quantile `share` of 0..=1, defined as for [`Histogram::percentile`]; the rank is ⌈share · n⌉ in floating
    /// point.
    pub fn quantile(&self, share: f64) -> Option<Span> {
        self.value_at_rank(((share * self.count() as f64).ceil() as u64).clamp(1, self.count().max(1)))
    }

    fn value_at_rank(&self, rank: u64) -> Option<Span> {
        let mut below = 0;
        self.buckets().find_map(|(upper, count)| {
            below += count;
            (below >= rank).then_some(upper)
        })
    }

    /// The non-empty buckets, in rising order: of each the largest value that falls in it (or the largest recorded, if that is
    /// less) and the count.
    pub fn buckets(&self) -> impl Iterator<Item = (Span, u64)> + '_ {
        self.buckets.iter_recorded().map(|step| {
            let upper = self.buckets.highest_equivalent(step.value_iterated_to()).min(self.greatest);
            (Span::from_nanos(upper), step.count_since_last_iteration())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|&ns| histogram.record(Span::from_nanos(ns)));
        histogram
    }

    #[test]
    fn nothing_has_no_figures() {
        let empty = Histogram::default();
        assert_eq!(
            (empty.count(), empty.min(), empty.max(), empty.mean_ns(), empty.deviation_ns()),
            (0, None, None, None, None)
        );
        assert_eq!((empty.quantile(0.5), empty.percentile(Percentile::LISTED[4])), (None, None));
        assert_eq!(empty.buckets().count(), 0);
    }

    #[test]
    fn moments_are_exact() {
        let histogram = of(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!(histogram.sum_ns(), 40);
        assert_eq!(histogram.mean_ns(), Some(5.0));
        // The textbook eight: squares about the mean are 32, so the deviation is the root of 32 / 7.
        assert_eq!(histogram.deviation_ns(), Some((32.0f64 / 7.0).sqrt()));
        // A spread of 1 ns upon three hours, of which floating-point squares would keep nothing.
        let hours = 10_800_000_000_000;
        assert_eq!(of(&[hours, hours + 1, hours + 2]).deviation_ns(), Some(1.0));
        assert_eq!(of(&[7]).deviation_ns(), None);
    }

    #[test]
    fn the_ends_are_exact_of_one_value_and_of_many() {
        // Beyond 256 ns a bucket holds several values.
        for (values, least, greatest) in [
            (&[7][..], 7, 7),
            (&[0], 0, 0),
            (&[1_000_003], 1_000_003, 1_000_003),
            (&[9, 1_000_003], 9, 1_000_003),
            (&[1_000_003, 1_000_001, 1_000_002], 1_000_001, 1_000_003),
        ] {
            let histogram = of(values);
            let ends = [histogram.min(), histogram.max()].map(|end| end.map(Span::nanos));
            assert_eq!(ends, [Some(least), Some(greatest)], "{values:?}");
            let mut merged = Histogram::default();
            merged.merge(&histogram);
            assert_eq!([merged.min(), merged.max()].map(|end| end.map(Span::nanos)), ends, "{values:?}");
        }
        assert_eq!(of(&[1_000_003]).mean_ns(), Some(1_000_003.0));
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        let histogram = of(&(1..=200).collect::<Vec<u64>>());
        let listed = Percentile::LISTED.map(|p| histogram.percentile(p).map(Span::nanos));
        assert_eq!(listed, [Some(100), Some(180), Some(198), Some(200), Some(200)]);
        assert_eq!(histogram.quantile(0.0).map(Span::nanos), Some(1));
        assert_eq!(histogram.quantile(0.0051).map(Span::nanos), Some(2));
        assert_eq!(histogram.quantile(1.0).map(Span::nanos), Some(200));
        assert_eq!(Percentile::LISTED.map(Percentile::name), ["p50", "p90", "p99", "p99_9", "p99_99"]);
    }

    #[test]
    fn a_percentile_needs_values_beyond_it() {
        assert_eq!(Percentile::LISTED.map(|p| p.needed_count(10)), [20, 100, 1_000, 10_000, 100_000].map(Some));
        assert_eq!(Percentile(Percentile::WHOLE).needed_count(1), None);
    }

    /// Nanoseconds of every magnitude up to 2^50 (13 days).
    fn latencies() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec((0u32..50).prop_flat_map(|bits| 0u64..=(1 << bits)), 1..300)
    }

    proptest! {
        #[test]
        fn quantiles_are_at_most_a_bucket_above_the_true_value(mut values in latencies(), q in 0.0f64..=1.0) {
            let histogram = of(&values);
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).max(1);
            let (truth, shown) = (values[rank - 1], histogram.quantile(q).unwrap().nanos());
            prop_assert!(shown >= truth && shown - truth <= truth / RESOLUTION, "{shown} for {truth}");
        }

        #[test]
        fn merging_is_recording_all(left in latencies(), right in latencies()) {
            let mut merged = of(&left);
            merged.merge(&of(&right));
            let all = of(&[left, right].concat());
            prop_assert_eq!(merged, all);
        }

        #[test]
        fn quantiles_rise(values in latencies(), a in 0.0f64..=1.0, b in 0.0f64..=1.0) {
            let histogram = of(&values);
            prop_assert!(histogram.quantile(a.min(b)) <= histogram.quantile(a.max(b)));
            let listed = Percentile::LISTED.map(|p| histogram.percentile(p));
            prop_assert!(listed.is_sorted() && listed[4] <= histogram.max());
        }

        #[test]
        fn buckets_hold_every_value_once(values in latencies()) {
            let histogram = of(&values);
            let mut below = 0;
            for (upper, count) in histogram.buckets() {
                below += count;
                let truth = values.iter().filter(|&&ns| ns <= upper.nanos()).count() as u64;
                prop_assert_eq!(below, truth);
            }
            prop_assert_eq!(below, values.len() as u64);
        }

        #[test]
        fn deviation_agrees_with_the_two_pass_formula(values in prop::collection::vec(0u64..1_000_000_000, 2..100)) {
            let n = values.len() as f64;
            let mean = values.iter().sum::<u64>() as f64 / n;
            let squares: f64 = values.iter().map(|&ns| (ns as f64 - mean).powi(2)).sum();
            let truth = (squares / (n - 1.0)).sqrt();
            prop_assert!((of(&values).deviation_ns().unwrap() - truth).abs() <= 1e-9 * truth);
        }
    }
}
