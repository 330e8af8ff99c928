//! The distance of two distributions of response times: the demerit figure of Ruemmler and Wilkes ("An Introduction to
//! Disk Drive Modeling", IEEE Computer 27(3), 1994), the root mean square of the horizontal distance between their
//! cumulative curves.
//!
//! `demerit² = ∫ (Q_a(p) - Q_b(p))² dp` over all shares p. Q are the empirical quantile functions: of the samples themselves in
//! [`demerit_ms`], of bucket edges in [`demerit_ms_of_histograms`]. For equally many samples on both sides the demerit is the root mean
//! square difference of the two sorted lists. Distributions are compared, not requests.

use seekwise_disk::time::Span;

use super::histogram::Histogram;

/// The demerit in milliseconds; 0 if one side has no samples. Sorts both sides.
///
/// The sum of squares is an integer, exact up to 2^128 ns²: a million samples on both sides, each two hundred days off.
/// A larger sum stays at that limit, so that the figure is still far too large to be believed.
pub fn demerit_ms(times_a: &mut [Span], times_b: &mut [Span]) -> f64 {
    times_a.sort_unstable();
    times_b.sort_unstable();
    let divisor = greatest_common_divisor(times_a.len(), times_b.len()).max(1);
    // Shares count in the smallest unit in which the steps of both lists are whole.
    let (step_a, step_b) = ((times_b.len() / divisor) as u128, (times_a.len() / divisor) as u128);
    let (mut i, mut j, mut done) = (0usize, 0usize, 0u128);
    let mut squares = 0u128;
    while i < times_a.len() && j < times_b.len() {
        let (end_a, end_b) = ((i as u128 + 1) * step_a, (j as u128 + 1) * step_b);
        let share_end = end_a.min(end_b);
        let apart_ns = u128::from(times_a[i].nanos().abs_diff(times_b[j].nanos()));
        squares = squares.saturating_add((share_end - done).saturating_mul(apart_ns * apart_ns));
        done = share_end;
        i += usize::from(share_end == end_a);
        j += usize::from(share_end == end_b);
    }
    if done == 0 { 0.0 } else { (squares as f64 / done as f64).sqrt() / 1e6 }
}

/// The demerit of two histograms, whose values are the upper edges of their buckets: within 1/128 of the samples' own.
/// Shares are taken in floating point.
pub fn demerit_ms_of_histograms(a: &Histogram, b: &Histogram) -> f64 {
    if a.count() == 0 || b.count() == 0 {
        return 0.0;
    }
    // Steps of a cumulative curve: the share of values up to a bucket, and the bucket's upper edge in ms.
    let cumulative_steps = |histogram: &Histogram| {
        let all = histogram.count() as f64;
        let mut below = 0u64;
        let step = |(edge, count): (Span, u64)| {
            below += count;
            (below as f64 / all, edge.nanos() as f64 / 1e6)
        };
        histogram.buckets().map(step).collect::<Vec<_>>()
    };
    let (a, b) = (cumulative_steps(a), cumulative_steps(b));
    let (mut i, mut j, mut done, mut sum) = (0, 0, 0.0, 0.0);
    while i < a.len() && j < b.len() {
        let end = a[i].0.min(b[j].0);
        sum += (end - done) * (a[i].1 - b[j].1).powi(2);
        done = end;
        // Equal shares of different counts are equal except for the last digits.
        let (ends_a, ends_b) = (a[i].0 <= end + 1e-12, b[j].0 <= end + 1e-12);
        (i, j) = (i + usize::from(ends_a), j + usize::from(ends_b));
    }
    sum.max(0.0).sqrt()
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(values: &[u64]) -> Vec<Span> {
        values.iter().map(|&value| Span::from_micros(value * 1000)).collect()
    }

    #[test]
    fn histograms_have_the_demerit_of_their_samples() {
        let of = |values: &[u64]| {
            let mut histogram = Histogram::default();
            ms(values).into_iter().for_each(|value| histogram.record(value));
            histogram
        };
        for (a, b) in [(&[1, 2, 3][..], &[5, 3, 4][..]), (&[1, 10], &[1, 2, 3, 9]), (&[5], &[5, 5, 8])] {
            let (by_bucket, exact) = (demerit_ms_of_histograms(&of(a), &of(b)), demerit_ms(&mut ms(a), &mut ms(b)));
            assert!((by_bucket - exact).abs() <= exact / 64.0 + 0.02, "{by_bucket} {exact}");
        }
        assert_eq!(demerit_ms_of_histograms(&of(&[3, 4]), &of(&[4, 3])), 0.0);
        assert_eq!(demerit_ms_of_histograms(&of(&[]), &of(&[4])), 0.0);
    }

    #[test]
    fn a_shift_is_its_own_demerit_and_order_is_nothing() {
        assert_eq!(demerit_ms(&mut ms(&[1, 2, 3]), &mut ms(&[5, 3, 4])), 2.0);
        assert_eq!(demerit_ms(&mut ms(&[7, 1]), &mut ms(&[1, 7])), 0.0);
        assert_eq!(demerit_ms(&mut ms(&[]), &mut ms(&[1])), 0.0);
    }

    #[test]
    fn distances_of_any_length_are_taken() {
        let far = Span::from_nanos(3_000_000_000_000_000);
        let mut mixed = [Span::from_nanos(1), Span::from_nanos(1), Span::from_nanos(1), far];
        assert_eq!(demerit_ms(&mut [Span::ZERO; 4], &mut mixed), 1.5e9);
        assert!(demerit_ms(&mut [Span::ZERO; 9], &mut [Span::from_nanos(u64::MAX); 9]) > 1e12);
    }

    #[test]
    fn unequal_counts_meet_at_their_common_shares() {
        // Quantiles: 0 below 1/2, 2 above; against 1 below 2/3, 4 above: 1² · 1/2 + 1² · 1/6 + 2² · 1/3 = 2.
        let found = demerit_ms(&mut ms(&[0, 2]), &mut ms(&[1, 1, 4]));
        assert!((found - 2f64.sqrt()).abs() < 1e-12, "{found}");
    }
}
