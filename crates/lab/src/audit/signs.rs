//! Signs of a spindle beside the one period of flushed overwrites of one block: random reads end at any angle, and each block has an angle of
//! its own. Neither follows from the period. A timer shows neither, since its answers end at its ticks, whichever block was asked for.

use std::f64::consts::TAU;

use seekwise_disk::time::Instant;
use seekwise_run::audit::{AuditTimings, TwoOverwrites};
use serde::Serialize;

use super::lattice::{self, SPINDLE_FIT, TIGHT_FIT};

/// Signs of a spindle besides the period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Signs {
    /// The time from the fastest to the slowest tenth of random reads, in revolutions. Rotational latency alone makes 0.8.
    pub reads_apart: f64,
    /// How well consecutive reads end whole revolutions apart, from 0 to 1.
    pub reads_held: f64,
    /// How well each of the other blocks keeps its angle from the first, from 0 to 1.
    pub places_held: f64,
    /// How close all these angles are to zero: 1 if all blocks end at one angle.
    pub places_alike: f64,
}

impl Signs {
    /// The signs of a disk with this period. `ends` selects from overwrites of two blocks the end that keeps to the period, of the first block
    /// and of the other.
    pub(crate) fn from_timings(
        timings: &AuditTimings,
        period_ms: f64,
        ends: fn(&TwoOverwrites) -> [Instant; 2],
    ) -> Signs {
        let mut reads_ms: Vec<f64> = timings.reads.iter().map(|span| span.nanos() as f64 / 1e6).collect();
        if period_ms == 0.0 || reads_ms.is_empty() {
            return Signs::default();
        }
        let reads_held = lattice::period_fit(&reads_ms, period_ms);
        reads_ms.sort_by(f64::total_cmp);
        let tenth = reads_ms.len() / 10;
        let reads_apart = (reads_ms[reads_ms.len() - 1 - tenth] - reads_ms[tenth]) / period_ms;
        let PlaceAngleFits { places_held, places_alike } = fit_place_angles(&timings.elsewhere, period_ms, ends);
        Signs { reads_apart, reads_held, places_held, places_alike }
    }

    /// True if reads wait for a spindle: their times differ by more than half a revolution and are no whole numbers of
    /// revolutions.
    pub(crate) fn reads_turn(&self) -> bool {
        self.reads_apart > 0.5 && self.reads_held < SPINDLE_FIT
    }

    /// True if each block has an angle of its own.
    pub(crate) fn places_differ(&self) -> bool {
        self.places_held >= TIGHT_FIT && self.places_alike < SPINDLE_FIT
    }
}

/// How well the angles of other blocks from the first are kept, and how close they are to zero; as in [`Signs`].
struct PlaceAngleFits {
    places_held: f64,
    places_alike: f64,
}

/// The sum of directions from the first block to another.
#[derive(Clone, Default)]
struct AngleSum {
    cosines: f64,
    sines: f64,
    count: f64,
}

/// The fits of the angle of each other block from the first. Angles between neighbouring overwrites are used, so that an error of the period
/// does not accumulate.
fn fit_place_angles(
    elsewhere: &[TwoOverwrites],
    period_ms: f64,
    ends: fn(&TwoOverwrites) -> [Instant; 2],
) -> PlaceAngleFits {
    let places = elsewhere.iter().map(|pair| pair.place + 1).max().unwrap_or(0);
    let mut sums = vec![AngleSum::default(); places];
    for pair in elsewhere {
        let [first, other] = ends(pair);
        let apart_ms = other.since(first).nanos() as f64 / 1e6;
        let (sine, cosine) = (TAU * apart_ms / period_ms).sin_cos();
        let sum = &mut sums[pair.place];
        *sum = AngleSum { cosines: sum.cosines + cosine, sines: sum.sines + sine, count: sum.count + 1.0 };
    }
    let held: f64 = sums.iter().filter(|sum| sum.count > 0.0).map(|sum| sum.cosines.hypot(sum.sines) / sum.count).sum();
    let alike: f64 = sums.iter().map(|sum| sum.cosines).sum();
    if places == 0 {
        return PlaceAngleFits { places_held: 0.0, places_alike: 0.0 };
    }
    PlaceAngleFits { places_held: held / places as f64, places_alike: (alike / elsewhere.len() as f64).max(0.0) }
}
