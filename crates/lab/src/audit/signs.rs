//! Signs of a spindle beside the one period of flushed overwrites of one place: random reads end at any angle, and each
//! place has an angle of its own. Neither follows from the period, and a timer shows neither: its answers end at its
//! ticks, whatever place was asked for.

use std::f64::consts::TAU;

use seekwise_disk::time::Instant;
use seekwise_run::audit::{AuditTimings, TwoOverwrites};
use serde::Serialize;

use super::lattice::{self, HOLDS, TIGHT};

/// Signs of a spindle besides the period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Signs {
    /// From the fastest to the slowest tenth of random reads, in revolutions. Rotational latency alone makes 0.8 of it.
    pub reads_apart: f64,
    /// How well consecutive reads end whole revolutions apart, from 0 to 1.
    pub reads_held: f64,
    /// How well each of the other places keeps its angle from the first, from 0 to 1.
    pub places_held: f64,
    /// How close all these angles are to zero: 1 if all places end at one angle.
    pub places_alike: f64,
}

impl Signs {
    /// The signs of a disk with this period; `ends` selects the ends that keep to it at the first place, and at the
    /// other.
    pub(crate) fn from_timings(
        timings: &AuditTimings,
        period_ms: f64,
        ends: fn(&TwoOverwrites) -> [Instant; 2],
    ) -> Signs {
        let mut reads: Vec<f64> = timings.reads.iter().map(|span| span.nanos() as f64 / 1e6).collect();
        if period_ms == 0.0 || reads.is_empty() {
            return Signs::default();
        }
        let reads_held = lattice::period_fit(&reads, period_ms);
        reads.sort_by(f64::total_cmp);
        let tenth = reads.len() / 10;
        let reads_apart = (reads[reads.len() - 1 - tenth] - reads[tenth]) / period_ms;
        let (places_held, places_alike) = place_angles(&timings.elsewhere, period_ms, ends);
        Signs { reads_apart, reads_held, places_held, places_alike }
    }

    /// True if reads wait for a spindle: their times differ by more than half a revolution and are no whole numbers of
    /// revolutions.
    pub(crate) fn reads_turn(&self) -> bool {
        self.reads_apart > 0.5 && self.reads_held < HOLDS
    }

    /// True if each place has an angle of its own.
    pub(crate) fn places_differ(&self) -> bool {
        self.places_held >= TIGHT && self.places_alike < HOLDS
    }
}

/// The angle of each place from the first: how well it is kept, on average, and how close all are to zero. Angles
/// between neighbours are used, so that an error of the period does not accumulate.
fn place_angles(elsewhere: &[TwoOverwrites], period_ms: f64, ends: fn(&TwoOverwrites) -> [Instant; 2]) -> (f64, f64) {
    let places = elsewhere.iter().map(|it| it.place + 1).max().unwrap_or(0);
    let mut sums = vec![(0.0, 0.0, 0.0); places];
    for it in elsewhere {
        let [first, other] = ends(it);
        let apart = other.since(first).nanos() as f64 / 1e6;
        let (sine, cosine) = (TAU * apart / period_ms).sin_cos();
        let sum = &mut sums[it.place];
        *sum = (sum.0 + cosine, sum.1 + sine, sum.2 + 1.0);
    }
    let held: f64 = sums.iter().filter(|sum| sum.2 > 0.0).map(|sum| sum.0.hypot(sum.1) / sum.2).sum();
    let alike: f64 = sums.iter().map(|sum| sum.0).sum();
    if places == 0 {
        return (0.0, 0.0);
    }
    (held / places as f64, (alike / elsewhere.len() as f64).max(0.0))
}
