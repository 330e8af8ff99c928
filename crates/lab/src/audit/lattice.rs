//! Whether ends lie whole revolutions apart, and the length of a revolution: the period of which the times between them
//! are nearest to multiples. Each time is a direction on a circle of that period; the length of the mean of all
//! directions says how well the period fits (Rayleigh): 1 if all point the same way, exp(-2 pi^2 s^2) if they spread by
//! s revolutions, about 1/sqrt(n) at random. Times between neighbours are used, not instants, so that an error of the
//! period does not accumulate.

use std::f64::consts::TAU;
use std::fmt;

use seekwise_disk::time::Instant;
use serde::Serialize;

/// Speeds of spindles on the market, in revolutions a minute.
pub const SPEEDS: [f64; 6] = [5400.0, 5900.0, 7200.0, 10_000.0, 12_000.0, 15_000.0];

/// The shortest and longest period to try, in milliseconds: a twentieth beyond the fastest and the slowest spindle.
const SHORTEST_MS: f64 = 60_000.0 / 15_000.0 / 1.05;
const LONGEST_MS: f64 = 60_000.0 / 5_400.0 * 1.05;

/// More than half: most ends are at one angle.
pub(super) const HOLDS: f64 = 0.5;

/// Spread by an eighth of a revolution: exp(-2 pi^2 / 64).
pub(super) const TIGHT: f64 = 0.73;

/// Software timers tick every 1, 2, 4 or 10 ms (1000, 500, 250 or 100 a second), and a program that waits for some
/// ticks waits for a multiple of that: all are multiples of one.
const TICK_MS: f64 = 1.0;

/// How far the rates of two clocks may differ while they are being set: the most that Linux slews (adjtimex(2), 500
/// ppm).
const CLOCKS: f64 = 5e-4;

/// How well a period fits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lattice {
    /// The period that fits best.
    pub period_ms: f64,
    /// The speed of that period.
    pub rpm: f64,
    /// How well all times between ends are multiples of it, from 0 to 1.
    pub held: f64,
    /// Times between ends.
    pub number: usize,
    /// The error of the period: three standard errors of the times' scatter.
    pub error_ms: f64,
}

impl Lattice {
    /// True if there is a spindle in it.
    pub(crate) fn is_spindle(&self) -> bool {
        self.held >= HOLDS
    }

    /// The commercial speed within a hundredth of it, if there is one.
    pub fn commercial_speed(&self) -> Option<f64> {
        SPEEDS.into_iter().find(|speed| (self.rpm / speed - 1.0).abs() < 0.01)
    }

    /// True if a timer may have this period too, within its error.
    pub(crate) fn may_be_a_tick(&self) -> bool {
        let ticks = (self.period_ms / TICK_MS).round();
        (self.period_ms - ticks * TICK_MS).abs() <= self.error_ms + CLOCKS * self.period_ms
    }

    /// The power of ten of the probability that ends at random angles would fit so well: exp(-n r^2).
    fn chance_exponent(&self) -> f64 {
        -(self.number as f64) * self.held * self.held / std::f64::consts::LN_10
    }
}

impl fmt::Display for Lattice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lattice { period_ms, rpm, held, number, error_ms } = self;
        match self.is_spindle() {
            true => write!(
                f,
                "period {period_ms:.3} ± {error_ms:.3} ms, {rpm:.0} rpm; {number} intervals fit it {held:.2} (1 is perfect); chance: 1 in 10^{:.0}",
                -self.chance_exponent()
            ),
            false => write!(f, "the best period fits {number} intervals {held:.2} (1 is perfect)"),
        }
    }
}

/// How well `period` fits these times: the mean of their directions along that of the multiples. Times of one length
/// that is no multiple point together too, but elsewhere.
pub(super) fn period_fit(apart: &[f64], period: f64) -> f64 {
    let along: f64 = apart.iter().map(|time| (TAU * time / period).cos()).sum();
    along.max(0.0) / apart.len() as f64
}

/// The period that fits the ends best; if several fit, the longest, because multiples of it are multiples of its half.
pub(super) fn best_period(ends: &[Instant]) -> Lattice {
    let apart: Vec<f64> = ends.windows(2).map(|pair| pair[1].since(pair[0]).nanos() as f64 / 1e6).collect();
    let none = Lattice { period_ms: 0.0, rpm: 0.0, held: 0.0, number: apart.len(), error_ms: 0.0 };
    if apart.is_empty() {
        return none;
    }
    // Times reach some 40 ms, ten of the shortest period: a step of 1/500 turns a direction by at most a fiftieth.
    const STEP: f64 = 1.002;
    let steps = ((LONGEST_MS / SHORTEST_MS).ln() / STEP.ln()).ceil() as i32;
    let tried: Vec<(f64, f64)> =
        (0..=steps).map(|step| SHORTEST_MS * STEP.powi(step)).map(|it| (it, period_fit(&apart, it))).collect();
    let best = tried.iter().map(|it| it.1).fold(0.0, f64::max);
    // A harmonic turns twice as fast, so it never fits better if nothing comes between; a tenth allows for the step.
    // Ends at two angles fit half a revolution better than a whole one; if the whole one fits too, it is the spindle's.
    // From there down to its peak.
    let Some(mut at) = tried.iter().rposition(|it| it.1 >= (0.9 * best).min(HOLDS)) else {
        return none;
    };
    while at > 0 && tried[at - 1].1 > tried[at].1 {
        at -= 1;
    }
    let mut found = tried[at];
    for step in -100..=100 {
        let period = tried[at].0 * (1.0 + f64::from(step) * FINE);
        let held = period_fit(&apart, period);
        if held > found.1 {
            found = (period, held);
        }
    }
    let error_ms = period_error(&apart, found.0).max(FINE * found.0);
    Lattice { period_ms: found.0, rpm: 60_000.0 / found.0, held: found.1, number: apart.len(), error_ms }
}

/// The step of the last search, as a share of the period.
const FINE: f64 = 2e-5;

/// Three standard errors of the slope of times over the revolutions that each took: their scatter divided by the root
/// of the sum of squared revolutions.
fn period_error(apart: &[f64], period: f64) -> f64 {
    let turns = |time: &f64| (time / period).round();
    let scatter: f64 = apart.iter().map(|time| (time - turns(time) * period).powi(2)).sum();
    let weight: f64 = apart.iter().map(|time| turns(time).powi(2)).sum();
    3.0 * (scatter / apart.len() as f64 / weight.max(1.0)).sqrt()
}
