//! Means and paired ratios over independent runs, with Student's t; Holm's correction for many cells.
//!
//! Each value is one run: requests within a run are not independent and never enter here singly. Intervals assume that
//! run values (for ratios: their logarithms) scatter roughly as a normal distribution. `verdict` decides what the
//! intervals mean.
//!
//! Sources: Student, "The probable error of a mean", Biometrika 6 (1908); S. Holm, "A simple sequentially rejective
//! multiple test procedure", Scandinavian Journal of Statistics 6 (1979).

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use std::fmt;

/// An estimate and an interval around it, in the unit of the estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub estimate: f64,
    pub low: f64,
    pub high: f64,
}

fn student_t(degrees: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, degrees).expect("degrees of freedom are at least one")
}

/// The value that Student's t with so many `degrees` of freedom (at least 1) exceeds with probability `upper_tail` (0 to 0.5).
///
/// The computation is in the lower tail, whose small probabilities floating point holds exactly, and mirrored. The library's inversion
/// fails with 1 degree below a probability of 1e-7; the tests mark the sound range. From 10^6 degrees on, where the inversion loses
/// digits, the normal quantile differs by less than one part in 10^5.
pub fn t_quantile(upper_tail: f64, degrees: f64) -> f64 {
    if degrees >= 1e6 {
        return -Normal::standard().inverse_cdf(upper_tail);
    }
    -student_t(degrees).inverse_cdf(upper_tail)
}

/// The probability that Student's t with so many `degrees` of freedom (at least 1) lies above `t`. One half if `t` is no number, as for
/// values so large that their spread overflows; the library panics at such a `t`.
pub(super) fn t_upper_tail(t: f64, degrees: f64) -> f64 {
    if t.is_nan() { 0.5 } else { student_t(degrees).sf(t) }
}

/// Mean and standard deviation (n - 1), in that order. Identical values have exactly no deviation, and their mean is
/// that value: a deterministic simulation gives such values, and rounding must not make a spread of them.
fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    if values.iter().all(|value| value == &values[0]) {
        return (values[0], 0.0);
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0)).sqrt())
}

/// The standard deviation of independent runs. `None` for fewer than two.
pub fn deviation(values: &[f64]) -> Option<f64> {
    (values.len() > 1).then(|| mean_and_deviation(values).1)
}

/// The mean of independent runs with its interval of confidence `1 - alpha`: mean ± t(1 - alpha/2, n - 1) · s / √n.
/// `None` for fewer than two runs, whose spread is unknown.
pub fn mean_interval(values: &[f64], alpha: f64) -> Option<Interval> {
    if values.len() < 2 {
        return None;
    }
    let (mean, deviation) = mean_and_deviation(values);
    let half = interval_half_width(deviation, values.len(), alpha);
    Some(Interval { estimate: mean, low: mean - half, high: mean + half })
}

fn interval_half_width(deviation: f64, run_count: usize, alpha: f64) -> f64 {
    t_quantile(alpha / 2.0, (run_count - 1) as f64) * deviation / (run_count as f64).sqrt()
}

/// Why values cannot be compared in pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PairError {
    Empty,
    /// The sides have different numbers of runs.
    Unequal {
        /// Runs of the baseline.
        baseline: usize,
        /// Runs of the variant.
        variant: usize,
    },
    /// A value without a logarithm: zero, negative, infinite or not a number.
    NotPositive {
        /// The index of the pair, from 0.
        pair: usize,
        value: f64,
    },
}

impl fmt::Display for PairError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PairError::Empty => write!(f, "there are no runs to compare"),
            PairError::Unequal { baseline, variant } => {
                write!(f, "runs cannot be paired: {baseline} of the baseline, {variant} of the variant")
            }
            PairError::NotPositive { pair, value } => {
                write!(f, "run {} gave {value}: a ratio needs positive finite values", pair + 1)
            }
        }
    }
}

impl std::error::Error for PairError {}

/// Two sides run in pairs (the same seed, or the same block of an interleaved order): the logarithms of variant over
/// baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedRatios {
    /// Number of pairs; at least one.
    pub runs: usize,
    /// Mean of the log ratios.
    pub mean: f64,
    /// Standard deviation (n - 1) of the log ratios; 0 for one pair, where it is unknown.
    pub deviation: f64,
}

impl PairedRatios {
    /// Summarises the logarithms of variant over baseline, of one pair at least.
    pub(crate) fn from_log_ratios(log_ratios: &[f64]) -> Result<PairedRatios, PairError> {
        if log_ratios.is_empty() {
            return Err(PairError::Empty);
        }
        let (mean, deviation) = mean_and_deviation(log_ratios);
        Ok(PairedRatios { runs: log_ratios.len(), mean, deviation })
    }

    /// Pairs the runs of two sides by their order.
    pub fn new(baseline: &[f64], variant: &[f64]) -> Result<PairedRatios, PairError> {
        if baseline.len() != variant.len() {
            return Err(PairError::Unequal { baseline: baseline.len(), variant: variant.len() });
        }
        let mut logs = Vec::with_capacity(baseline.len());
        for (pair, (&from, &to)) in baseline.iter().zip(variant).enumerate() {
            let bad = [from, to].into_iter().find(|value| !(value.is_finite() && *value > 0.0));
            if let Some(value) = bad {
                return Err(PairError::NotPositive { pair, value });
            }
            logs.push((to / from).ln());
        }
        PairedRatios::from_log_ratios(&logs)
    }

    /// The ratio variant / baseline (the geometric mean over pairs) with its interval of confidence `1 - alpha`:
    /// exp(mean ± t(1 - alpha/2, n - 1) · s / √n). For one pair the interval is 0 to infinity.
    pub(crate) fn ratio_interval(&self, alpha: f64) -> Interval {
        let half = match self.runs {
            1 => f64::INFINITY,
            runs => interval_half_width(self.deviation, runs, alpha),
        };
        Interval { estimate: self.mean.exp(), low: (self.mean - half).exp(), high: (self.mean + half).exp() }
    }

    /// p of the two-sided paired t test of "the ratio is 1"; 1 for one pair.
    pub(crate) fn p_different(&self) -> f64 {
        2.0 * self.p_mean_above(self.mean.abs())
    }

    /// p of "the ratio is outside 1/(1 + margin) .. 1 + margin", the two one-sided tests of Schuirmann (1987), doubled:
    /// it is below alpha exactly when the interval of confidence `1 - alpha` lies inside the margin; 1 for one pair.
    pub(crate) fn p_not_equivalent(&self, margin: f64) -> f64 {
        (2.0 * self.p_mean_above(margin.ln_1p() - self.mean.abs())).min(1.0)
    }

    /// The probability that a mean of log ratios, whose true value is 0, lies above `log_distance`.
    fn p_mean_above(&self, log_distance: f64) -> f64 {
        if self.runs == 1 {
            return 0.5;
        }
        if self.deviation == 0.0 {
            return if log_distance > 0.0 { 0.0 } else { 0.5 };
        }
        let error = self.deviation / (self.runs as f64).sqrt();
        t_upper_tail(log_distance / error, (self.runs - 1) as f64)
    }
}

/// Holm's adjusted p-values, in the order given. The i-th smallest of m is multiplied by m - i + 1; no adjusted value is below that of a
/// smaller p, or above 1. If those below alpha are called real, the probability of any error among the m is at most alpha.
pub fn adjust_holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest = 0.0f64;
    for (step, &index) in order.iter().enumerate() {
        largest = largest.max(p_values[index] * (p_values.len() - step) as f64).min(1.0);
        adjusted[index] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(left: f64, right: f64, tolerance: f64) {
        assert!((left - right).abs() <= tolerance, "{left} is not {right}");
    }

    #[test]
    fn a_spread_that_is_no_number_says_nothing() {
        assert_eq!(t_upper_tail(f64::NAN, 3.0), 0.5);
        for t in [f64::INFINITY, 1e200, -1e200, f64::NEG_INFINITY, 0.0] {
            assert!((0.0..=1.0).contains(&t_upper_tail(t, 3.0)), "{t}");
        }
    }

    #[test]
    fn quantiles_are_those_of_the_printed_table() {
        // Fisher and Yates, Statistical Tables, table III (two-sided 5 %, 1 %, 0.1 %).
        for (freedom, five, one, tenth) in [
            (1.0, 12.706, 63.657, 636.619),
            (2.0, 4.303, 9.925, 31.599),
            (4.0, 2.776, 4.604, 8.610),
            (9.0, 2.262, 3.250, 4.781),
            (29.0, 2.045, 2.756, 3.659),
            (120.0, 1.980, 2.617, 3.373),
        ] {
            for (alpha, t) in [(0.05, five), (0.01, one), (0.001, tenth)] {
                near(t_quantile(alpha / 2.0, freedom), t, 5.1e-4);
                // The table's rounding of t to three decimals moves the tail by up to 0.12 %.
                near(2.0 * t_upper_tail(t, freedom) / alpha, 1.0, 2e-3);
            }
        }
        // Near the normal limit: z + (z³ + z) / 4f with z = 1.959964 and f = 10^5.
        near(t_quantile(0.025, 1e5), 1.959_964 + 2.37e-5, 1e-5);
        near(t_quantile(0.025, 1e7), 1.959_964, 1e-5);
    }

    #[test]
    fn tails_hold_far_out() {
        // With 1 degree (Cauchy) the tail far out is 1/(πt).
        near(t_upper_tail(1e12, 1.0) * 1e12 * std::f64::consts::PI, 1.0, 1e-9);
        assert_eq!((t_upper_tail(f64::INFINITY, 4.0), t_upper_tail(0.0, 4.0)), (0.0, 0.5));
        // The library's quantile undoes its tail wherever a study asks: 2 runs of 10^5 cells, or many runs.
        for freedom in [1.0, 2.0, 3.0, 4.0, 9.0, 29.0, 999.0, 99_999.0] {
            for beyond in [0.2, 0.025, 2.5e-4, 2.5e-7] {
                near(t_upper_tail(t_quantile(beyond, freedom), freedom) / beyond, 1.0, 1e-4);
            }
        }
    }

    #[test]
    fn mean_of_five() {
        // 1..5: mean 3, s = √2.5, s/√5 = 0.707107, t(4) = 2.776445: ± 1.963243.
        let interval = mean_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.05).unwrap();
        near(interval.estimate, 3.0, 0.0);
        near(interval.low, 1.036_757, 1e-6);
        near(interval.high, 4.963_243, 1e-6);
        assert_eq!(mean_interval(&[1.0], 0.05), None);
        assert_eq!(mean_interval(&[0.1; 7], 0.05), Some(Interval { estimate: 0.1, low: 0.1, high: 0.1 }));
    }

    #[test]
    fn students_own_pairs() {
        // Student 1908, section IX: hours of sleep gained with one drug over the other; t = 4.062128 with 9 degrees,
        // p = 0.002833, interval 0.700114 to 2.459886. They stand here as log ratios.
        let gained = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        let paired = PairedRatios::new(&[1.0; 10], &gained.map(f64::exp)).unwrap();
        let ratio = paired.ratio_interval(0.05);
        near(ratio.estimate.ln(), 1.58, 1e-12);
        near(ratio.low.ln(), 0.700_114, 1e-6);
        near(ratio.high.ln(), 2.459_886, 1e-6);
        near(paired.p_different(), 0.002_833, 1e-6);
    }

    #[test]
    fn equivalence_is_the_interval_inside_the_margin() {
        let logs = [0.004f64, -0.002, 0.006, 0.001, 0.003, 0.000];
        let paired = PairedRatios::new(&[1.0; 6], &logs.map(f64::exp)).unwrap();
        let ratio = paired.ratio_interval(0.05);
        // A margin that just reaches the interval's far end is where p crosses alpha.
        near(paired.p_not_equivalent(ratio.high - 1.0), 0.05, 1e-9);
        assert!(paired.p_not_equivalent(0.02) < 0.05 && paired.p_not_equivalent(0.003) > 0.05);
        assert_eq!(paired.p_not_equivalent(0.0), 1.0);
    }

    #[test]
    fn swapping_sides_inverts_the_ratio() {
        let (a, b) = ([100.0, 104.0, 99.0, 101.0], [103.0, 108.0, 103.5, 104.0]);
        let (to, back) = (PairedRatios::new(&a, &b).unwrap(), PairedRatios::new(&b, &a).unwrap());
        near(to.ratio_interval(0.05).low * back.ratio_interval(0.05).high, 1.0, 1e-12);
        near(to.p_different(), back.p_different(), 1e-12);
        near(to.p_not_equivalent(0.02), back.p_not_equivalent(0.02), 1e-12);
    }

    #[test]
    fn without_spread_the_interval_is_a_point() {
        let same = PairedRatios::new(&[70.0; 5], &[70.0; 5]).unwrap();
        assert_eq!(
            (same.ratio_interval(0.05).low, same.ratio_interval(0.05).high, same.p_different()),
            (1.0, 1.0, 1.0)
        );
        assert_eq!(same.p_not_equivalent(0.02), 0.0);
        let other = PairedRatios::new(&[70.0; 5], &[77.0; 5]).unwrap();
        assert_eq!((other.deviation, other.p_different(), other.p_not_equivalent(0.02)), (0.0, 0.0, 1.0));
    }

    #[test]
    fn what_cannot_be_paired_is_named() {
        assert_eq!(PairedRatios::new(&[], &[]), Err(PairError::Empty));
        assert_eq!(PairedRatios::new(&[1.0], &[]), Err(PairError::Unequal { baseline: 1, variant: 0 }));
        assert_eq!(PairedRatios::new(&[1.0, 2.0], &[1.0, 0.0]), Err(PairError::NotPositive { pair: 1, value: 0.0 }));
        assert!(matches!(PairedRatios::new(&[f64::NAN], &[1.0]), Err(PairError::NotPositive { pair: 0, .. })));
        let one = PairedRatios::new(&[1.0], &[2.0]).unwrap();
        assert_eq!((one.p_different(), one.p_not_equivalent(0.02)), (1.0, 1.0));
        assert_eq!((one.ratio_interval(0.05).low, one.ratio_interval(0.05).high), (0.0, f64::INFINITY));
    }

    #[test]
    fn holm_by_hand() {
        // Sorted: 0.005·4 = 0.02, 0.01·3 = 0.03, 0.03·2 = 0.06, and 0.04·1 is lifted to 0.06.
        let adjusted = adjust_holm(&[0.01, 0.04, 0.03, 0.005]);
        for (shown, truth) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            near(*shown, truth, 1e-15);
        }
        assert_eq!(adjust_holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(adjust_holm(&[]).is_empty());
    }
}
