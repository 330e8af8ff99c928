//! Random numbers as simulators draw them, and their fits to response times. All times are in us.
//!
//! A fit keeps the mean, so that a closed loop does as many operations a second. Among the numbers with that mean it takes the one whose
//! percentiles are nearest to the drive's on average: the mean distance of the two quantile functions (Wasserstein-1, Vallender 1974), at
//! the middles of [`POINTS`] equal shares.

use seekwise_lab::stats::Histogram;

/// Shares at which two distributions are compared.
const POINTS: usize = 1000;

/// Steps of a constant that is searched for, from nothing to the mean.
const STEPS: u32 = 1000;

/// Response times to be fitted.
pub(super) struct Shape {
    quantiles: Vec<f64>,
    pub mean: f64,
    pub min: f64,
    pub p50: f64,
    pub p99: f64,
    pub p99_9: f64,
}

impl Shape {
    /// The shape of `times`, less `added` us that the simulator adds to each draw.
    pub fn new(times: &Histogram, added: f64) -> Shape {
        let less = |us: f64| (us - added).max(0.0);
        let at = |share: f64| less(times.quantile(share).map_or(0.0, |time| time.nanos() as f64 / 1e3));
        Shape {
            quantiles: middles().map(at).collect(),
            mean: less(times.mean_ns().unwrap_or(0.0) / 1e3),
            min: less(times.min().map_or(0.0, |time| time.nanos() as f64 / 1e3)),
            p50: at(0.5),
            p99: at(0.99),
            p99_9: at(0.999),
        }
    }
}

/// The middles of equal shares.
fn middles() -> impl Iterator<Item = f64> {
    (0..POINTS).map(|point| (point as f64 + 0.5) / POINTS as f64)
}

/// A random number in us, by its form and constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Draw {
    /// From `start` to `end`, each as likely.
    Uniform { start: f64, end: f64 },
    /// `min` and an exponential with `mean` (moonpool).
    Shifted { min: f64, mean: f64 },
    /// The larger of `min` and an exponential with `mean` (TigerBeetle).
    Floored { min: f64, mean: f64 },
    /// From `min` to `max` by an exponential with `lambda`, cut at 1 (turmoil).
    Cut { min: f64, max: f64, lambda: f64 },
    /// From `fast` to `split`, and in a share `slow_share` of all draws from `split` to `slow` (moonpool).
    Bimodal { fast: f64, split: f64, slow: f64, slow_share: f64 },
}

impl Draw {
    /// The value that a share of draws does not exceed.
    pub fn quantile(self, share: f64) -> f64 {
        let exponential = -(1.0 - share).ln();
        match self {
            Draw::Uniform { start, end } => start + (end - start) * share,
            Draw::Shifted { min, mean } => min + mean * exponential,
            Draw::Floored { min, mean } => min.max(mean * exponential),
            Draw::Cut { min, max, lambda } => min + (max - min) * (exponential / lambda).min(1.0),
            Draw::Bimodal { fast, split, slow, slow_share } => match share - (1.0 - slow_share) {
                beyond if beyond > 0.0 => split + (slow - split) * beyond / slow_share,
                _ => fast + (split - fast) * share / (1.0 - slow_share),
            },
        }
    }

    /// With constants in whole us, and `lambda` in thousandths, as texts have them.
    pub fn rounded(self) -> Draw {
        match self {
            Draw::Uniform { start, end } => Draw::Uniform { start: start.round(), end: end.round() },
            Draw::Shifted { min, mean } => Draw::Shifted { min: min.round(), mean: mean.round() },
            Draw::Floored { min, mean } => Draw::Floored { min: min.round(), mean: mean.round() },
            Draw::Cut { min, max, lambda } => {
                Draw::Cut { min: min.round(), max: max.round(), lambda: (lambda * 1e3).round() / 1e3 }
            }
            Draw::Bimodal { fast, split, slow, slow_share } => {
                Draw::Bimodal { fast: fast.round(), split: split.round(), slow: slow.round(), slow_share }
            }
        }
    }

    /// How far its quantiles are from those of `shape`, on average.
    pub fn distance(self, shape: &Shape) -> f64 {
        let sum: f64 = middles().zip(&shape.quantiles).map(|(share, us)| (self.quantile(share) - us).abs()).sum();
        sum / POINTS as f64
    }
}

/// The first of the nearest draws.
fn nearest_draw(draws: impl Iterator<Item = Draw>, shape: &Shape) -> Option<Draw> {
    let measured = draws.map(|draw| (draw.distance(shape), draw));
    measured.reduce(|best, next| if next.0 < best.0 { next } else { best }).map(|(_, draw)| draw)
}

/// Numbers from nothing to `most`.
fn steps(most: f64) -> impl Iterator<Item = f64> {
    (0..=STEPS).map(move |step| most * f64::from(step) / f64::from(STEPS))
}

/// `mean` with `mean_of(mean)` equal to `wanted`, by bisection: `mean_of` rises, and is at most `wanted` at 0.
fn solve_mean(wanted: f64, most: f64, mean_of: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, most);
    for _ in 0..64 {
        let middle = f64::midpoint(low, high);
        if mean_of(middle) < wanted { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// The nearest number `min + exponential(mean)`.
pub(super) fn fit_shifted(shape: &Shape) -> Draw {
    let draws = steps(shape.mean).map(|min| Draw::Shifted { min, mean: shape.mean - min });
    nearest_draw(draws, shape).expect("there are steps").rounded()
}

/// The nearest number `max(min, exponential(mean))`, whose `mean` must not be below `min`.
pub(super) fn fit_floored(shape: &Shape) -> Draw {
    // The mean of such a number is min + mean e^(-min / mean); with both equal, that is min (1 + 1/e).
    let most = shape.mean / (1.0 + (-1.0_f64).exp());
    let draw = |min: f64| {
        let mean_of = |mean: f64| if mean > 0.0 { min + mean * (-min / mean).exp() } else { min };
        Draw::Floored { min, mean: solve_mean(shape.mean, shape.mean, mean_of).max(min) }
    };
    nearest_draw(steps(most).map(draw), shape).expect("there are steps").rounded()
}

/// The nearest number from `min` to the drive's p99.9 by an exponential that is cut there.
pub(super) fn fit_cut(shape: &Shape) -> Draw {
    let max = shape.p99_9.max(shape.mean);
    // By the scale of the exponential, the mean of such a number is min + scale (1 - e^(-range / scale)).
    let draw = |min: f64| {
        let range = max - min;
        let mean_of = |scale: f64| if scale > 0.0 { min + scale * (1.0 - (-range / scale).exp()) } else { min };
        // Its scale may be many times the range: then nearly all draws are cut.
        let scale = solve_mean(shape.mean, 1e3 * range.max(1.0), mean_of);
        Draw::Cut { min, max, lambda: (range / scale.max(1e-9)).clamp(0.001, 1e6) }
    };
    nearest_draw(steps(shape.mean).map(draw), shape).expect("there are steps").rounded()
}

/// The nearest number between two ends.
pub(super) fn fit_uniform(shape: &Shape) -> Draw {
    let draws = steps(shape.mean).map(|half| Draw::Uniform { start: shape.mean - half, end: shape.mean + half });
    nearest_draw(draws, shape).expect("there are steps").rounded()
}

/// The nearest number of two ranges that meet, the slow one for 1 to 50 % of all; `None` if no two have the means of both parts.
pub(super) fn fit_bimodal(shape: &Shape) -> Option<Draw> {
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let draw = |percent: usize| {
        let (low, high) = shape.quantiles.split_at(POINTS - POINTS / 100 * percent);
        let split = f64::midpoint(*low.last()?, *high.first()?);
        let draw = Draw::Bimodal {
            fast: 2.0 * mean(low) - split,
            split,
            slow: 2.0 * mean(high) - split,
            slow_share: percent as f64 / 100.0,
        };
        matches!(draw, Draw::Bimodal { fast, split, slow, .. } if 0.0 <= fast && fast <= split && split <= slow)
            .then_some(draw)
    };
    nearest_draw((1..=50).filter_map(draw), shape).map(Draw::rounded)
}
