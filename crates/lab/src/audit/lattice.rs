//! The revolution of a spindle from the ends of writes: the period of which the times between neighbouring ends are nearest to multiples.
//!
//! Rayleigh's test says how well a period fits. Each time becomes a direction on a circle whose circumference is the period, and the length of
//! the mean direction is the fit: 1 if all times are multiples, exp(-2 pi^2 s^2) if they scatter by s revolutions, about 1/sqrt(n) for n random
//! times. Times between neighbours are used instead of instants, so that an error of the period does not accumulate.

use std::f64::consts::TAU;
use std::fmt;

use seekwise_disk::time::Instant;
use serde::Serialize;

/// Speeds of spindles on the market, in revolutions a minute.
pub const SPEEDS: [f64; 6] = [5400.0, 5900.0, 7200.0, 10_000.0, 12_000.0, 15_000.0];

/// The shortest period to try, a twentieth below that of the fastest spindle.
const SHORTEST_PERIOD_MS: f64 = 60_000.0 / 15_000.0 / 1.05;
/// The longest period to try, a twentieth above that of the slowest spindle.
const LONGEST_PERIOD_MS: f64 = 60_000.0 / 5_400.0 * 1.05;

/// The least fit of a spindle: at a half, most ends are at one angle.
pub(super) const SPINDLE_FIT: f64 = 0.5;

/// The least fit of a certain verdict: exp(-2 pi^2 / 64), of ends that scatter by an eighth of a revolution.
pub(super) const TIGHT_FIT: f64 = 0.73;

/// The time of which all waits for a software timer are multiples: timers tick every 1, 2, 4 or 10 ms (1000, 500, 250 or 100 a second), and a
/// program waits for one or more ticks.
const TICK_MS: f64 = 1.0;

/// How far the rates of two clocks may differ, as a share, while one of them is set: the most that Linux slews (adjtimex(2), 500 ppm).
const CLOCK_RATE_ERROR: f64 = 5e-4;

/// The period that fits the ends of writes best, and how well it does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lattice {
    /// Time from one possible end of a write to the next.
    pub period_ms: f64,
    /// The speed of a spindle with that period, in revolutions a minute.
    pub rpm: f64,
    /// How well all times between ends are multiples of the period, from 0 to 1.
    pub held: f64,
    /// Number of times between ends.
    pub number: usize,
    /// The error of the period: three standard errors of the times' scatter.
    pub error_ms: f64,
}

impl Lattice {
    /// True if the period fits well enough for a spindle.
    pub(crate) fn fits_spindle(&self) -> bool {
        self.held >= SPINDLE_FIT
    }

    /// The commercial speed within a hundredth of the period's, if there is one.
    pub fn commercial_speed(&self) -> Option<f64> {
        SPEEDS.into_iter().find(|speed| (self.rpm / speed - 1.0).abs() < 0.01)
    }

    /// True if a timer may have this period too, within its error.
    pub(crate) fn may_be_timer_tick(&self) -> bool {
        let ticks = (self.period_ms / TICK_MS).round();
        (self.period_ms - ticks * TICK_MS).abs() <= self.error_ms + CLOCK_RATE_ERROR * self.period_ms
    }

    /// The power of ten of the probability that ends at random angles would fit so well: exp(-n r^2).
    fn chance_exponent(&self) -> f64 {
        -(self.number as f64) * self.held * self.held / std::f64::consts::LN_10
    }
}

impl fmt::Display for Lattice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lattice { period_ms, rpm, held, number, error_ms } = self;
        match self.fits_spindle() {
            true => write!(
                f,
                "period {period_ms:.3} ± {error_ms:.3} ms, {rpm:.0} rpm; {number} intervals fit it {held:.2} (1 is perfect); chance: 1 in 10^{:.0}",
                -self.chance_exponent()
            ),
            false => write!(f, "the best period fits {number} intervals {held:.2} (1 is perfect)"),
        }
    }
}

/// How well a period fits these times, from 0 to 1: the mean of their directions, projected on the direction of multiples. Times that are all
/// equal but no multiples have one direction too, but another.
pub(super) fn period_fit(times_ms: &[f64], period_ms: f64) -> f64 {
    let along: f64 = times_ms.iter().map(|time_ms| (TAU * time_ms / period_ms).cos()).sum();
    along.max(0.0) / times_ms.len() as f64
}

/// The period that fits the times between these ends best. If several fit, it is the longest, because multiples of a period are multiples of
/// its half too.
pub(super) fn fit_period(ends: &[Instant]) -> Lattice {
    let times_ms: Vec<f64> = ends.windows(2).map(|pair| pair[1].since(pair[0]).nanos() as f64 / 1e6).collect();
    let none = Lattice { period_ms: 0.0, rpm: 0.0, held: 0.0, number: times_ms.len(), error_ms: 0.0 };
    if times_ms.is_empty() {
        return none;
    }
    // Times reach some 40 ms, ten of the shortest period: a step of 1/500 turns a direction by at most a fiftieth of a revolution.
    const STEP: f64 = 1.002;
    let steps = ((LONGEST_PERIOD_MS / SHORTEST_PERIOD_MS).ln() / STEP.ln()).ceil() as i32;
    let periods_ms: Vec<f64> = (0..=steps).map(|step| SHORTEST_PERIOD_MS * STEP.powi(step)).collect();
    let fits: Vec<f64> = periods_ms.iter().map(|&period_ms| period_fit(&times_ms, period_ms)).collect();
    let best_fit = fits.iter().copied().fold(0.0, f64::max);
    // Half a revolution never fits better than a whole one if no other work comes between; a tenth allows for the step. Ends at two angles do
    // fit the half better; the whole one is the spindle's even then, if it fits well enough. So the search begins at the longest period that
    // fits, and goes down to that one's peak.
    let Some(mut peak) = fits.iter().rposition(|&fit| fit >= (0.9 * best_fit).min(SPINDLE_FIT)) else {
        return none;
    };
    while peak > 0 && fits[peak - 1] > fits[peak] {
        peak -= 1;
    }
    let (mut period_ms, mut held) = (periods_ms[peak], fits[peak]);
    for step in -100..=100 {
        let tried_ms = periods_ms[peak] * (1.0 + f64::from(step) * FINE_STEP);
        let fit = period_fit(&times_ms, tried_ms);
        if fit > held {
            (period_ms, held) = (tried_ms, fit);
        }
    }
    let error_ms = period_error_ms(&times_ms, period_ms).max(FINE_STEP * period_ms);
    Lattice { period_ms, rpm: 60_000.0 / period_ms, held, number: times_ms.len(), error_ms }
}

/// The step of the search around the peak, as a share of the period.
const FINE_STEP: f64 = 2e-5;

/// Three standard errors of a fitted period, which is the slope of the times over their numbers of revolutions: the scatter of the times divided
/// by the root of the sum of squared revolutions.
fn period_error_ms(times_ms: &[f64], period_ms: f64) -> f64 {
    let revolutions = |time_ms: &f64| (time_ms / period_ms).round();
    let squared_scatter: f64 =
        times_ms.iter().map(|time_ms| (time_ms - revolutions(time_ms) * period_ms).powi(2)).sum();
    let weight: f64 = times_ms.iter().map(|time_ms| revolutions(time_ms).powi(2)).sum();
    3.0 * (squared_scatter / times_ms.len() as f64 / weight.max(1.0)).sqrt()
}
