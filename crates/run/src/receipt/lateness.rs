//! A histogram of spans: how late answers were, or how long round trips took.

use seekwise_disk::time::Span;

/// Buckets in each power of two: a bucket is a thirty-second, or 3 %, wide.
const PARTS: u32 = 32;

/// Counts of lateness (or other spans) by size. Quantiles are at most 3.2 % above the exact ones.
#[derive(Clone, Debug)]
pub struct Lateness {
    /// By bucket.
    counts: Vec<u64>,
    latest: Span,
    total: Span,
    /// Sum of the squares, in square nanoseconds.
    squares: f64,
}

impl Default for Lateness {
    fn default() -> Lateness {
        Lateness { counts: vec![0; 64 * PARTS as usize], latest: Span::ZERO, total: Span::ZERO, squares: 0.0 }
    }
}

impl Lateness {
    fn bucket_index(nanos: u64) -> usize {
        let power = nanos.max(u64::from(PARTS)).ilog2();
        let part = (nanos >> (power - PARTS.ilog2())) % u64::from(PARTS);
        (power * PARTS) as usize + part as usize
    }

    /// The smallest size in a bucket and the first one beyond it, in nanoseconds.
    fn bucket_bounds(bucket: usize) -> (u64, u64) {
        let (power, part) = (bucket as u32 / PARTS, bucket as u64 % u64::from(PARTS));
        let step = 1u64 << (power - PARTS.ilog2());
        let first = (1u64 << power) + step * part;
        (first, first.saturating_add(step))
    }

    /// Adds a lateness.
    pub fn add(&mut self, late: Span) {
        self.counts[Lateness::bucket_index(late.nanos())] += 1;
        self.latest = self.latest.max(late);
        self.total += late;
        self.squares += (late.nanos() as f64).powi(2);
    }

    /// Removes a lateness that was added.
    pub(crate) fn remove(&mut self, late: Span) {
        self.counts[Lateness::bucket_index(late.nanos())] -= 1;
        self.total = self.total.saturating_sub(late);
        self.squares -= (late.nanos() as f64).powi(2);
    }

    /// The lateness that a share of answers, from 0 to 1, does not exceed; `None` without answers.
    pub fn quantile(&self, share: f64) -> Option<Span> {
        let wanted = ((self.count() as f64 * share).ceil() as u64).max(1);
        let mut counted = 0;
        let bucket = self.counts.iter().position(|count| {
            counted += count;
            counted >= wanted
        })?;
        Some(Span::from_nanos(Lateness::bucket_bounds(bucket).1).min(self.latest))
    }

    /// The largest lateness ever added.
    pub fn latest(&self) -> Span {
        self.latest
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The mean; `None` without samples.
    pub fn mean(&self) -> Option<Span> {
        self.total.nanos().checked_div(self.count()).map(Span::from_nanos)
    }

    /// Standard error of the mean, in nanoseconds; infinite below two samples.
    pub(crate) fn standard_error(&self) -> f64 {
        let count = self.count() as f64;
        if count < 2.0 {
            return f64::INFINITY;
        }
        let mean = self.total.nanos() as f64 / count;
        let variance = (self.squares / count - mean * mean).max(0.0) * count / (count - 1.0);
        (variance / count).sqrt()
    }

    /// Number of samples above `span`. A sample above it by less than 3 % may not be counted.
    pub(crate) fn count_above(&self, span: Span) -> u64 {
        self.counts[Lateness::bucket_index(span.nanos()) + 1..].iter().sum()
    }

    /// The buckets with samples: a size, at most 3 % below those of the samples, and their number.
    pub fn size_counts(&self) -> impl Iterator<Item = (Span, u64)> {
        let counts = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counts
            .map(move |(bucket, &count)| (Span::from_nanos(Lateness::bucket_bounds(bucket).0).min(self.latest), count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lateness_of(nanos: &[u64]) -> Lateness {
        let mut lateness = Lateness::default();
        nanos.iter().for_each(|&nanos| lateness.add(Span::from_nanos(nanos)));
        lateness
    }

    #[test]
    fn a_bucket_is_a_thirty_second_wide_and_holds_what_it_says() {
        let powers = (5..63).flat_map(|power| [-1i64, 0, 1].map(|by| (1u64 << power).wrapping_add_signed(by)));
        for nanos in (32..3000).chain(powers.filter(|nanos| *nanos >= 32)).chain([u64::MAX]) {
            let (first, beyond) = Lateness::bucket_bounds(Lateness::bucket_index(nanos));
            assert!(first <= nanos && (nanos < beyond || beyond == u64::MAX), "{nanos}: {first} to {beyond}");
            assert!(u128::from(beyond - first) * 32 <= u128::from(first) + 31, "{nanos}: {first} to {beyond}");
        }
    }

    /// A clock may report a short round trip as 0.
    #[test]
    fn a_size_of_nothing_is_one_too() {
        let sizes = |nanos: &[u64]| {
            lateness_of(nanos).size_counts().map(|(span, count)| (span.nanos(), count)).collect::<Vec<_>>()
        };
        assert_eq!(sizes(&[0, 0]), [(0, 2)]);
        assert_eq!(sizes(&[]), []);
        assert_eq!(sizes(&[32]), [(32, 1)]);
        // 1000 lies in the bucket from 992 to 1008.
        assert_eq!(sizes(&[1000, 1007, 1008]), [(992, 2), (1008, 1)]);
    }

    /// The law of a quantile: the least size that so large a share does not exceed; of 1 to 10, by hand.
    #[test]
    fn a_quantile_is_the_first_size_that_the_share_does_not_exceed() {
        let sizes: Vec<u64> = (1..=10).map(|at| at << 20).collect();
        let lateness = lateness_of(&sizes);
        for (share, which) in [(0.0, 1), (0.1, 1), (0.11, 2), (0.5, 5), (0.51, 6), (0.9, 9), (0.91, 10), (1.0, 10)] {
            let found = lateness.quantile(share).unwrap().nanos();
            let size = which << 20;
            assert!(found >= size && found <= size + size / 32, "{share}: {found}");
        }
        assert_eq!(lateness_of(&[]).quantile(0.5), None);
    }

    #[test]
    fn mean_error_and_count_are_those_of_the_sizes_that_are_left() {
        // 2, 4 and 9 have the mean 5 and the sample variance 13.
        let mut lateness = lateness_of(&[2, 4, 9, 70]);
        lateness.remove(Span::from_nanos(70));
        assert_eq!((lateness.count(), lateness.mean()), (3, Some(Span::from_nanos(5))));
        assert!((lateness.standard_error() - (13.0f64 / 3.0).sqrt()).abs() < 1e-9, "{}", lateness.standard_error());
        assert_eq!((lateness_of(&[]).mean(), lateness_of(&[]).count()), (None, 0));
        assert!(lateness_of(&[7]).standard_error().is_infinite() && lateness_of(&[7, 7]).standard_error() == 0.0);
    }

    #[test]
    fn what_exceeds_a_span_by_a_thirty_second_is_over_it() {
        let lateness = lateness_of(&[1000, 2000, 4000]);
        let over = |nanos: u64| lateness.count_above(Span::from_nanos(nanos));
        assert_eq!((over(100), over(1000), over(1900), over(3999), over(4000)), (3, 2, 2, 0, 0));
    }
}
