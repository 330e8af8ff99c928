//! A seek curve for a drive with only three known figures: single track, average, full stroke.
//!
//! Formulas with a root and a line make short seeks 0.3 to 0.8 ms too fast: a real arm needs some time to settle even
//! after a move of ten tracks. Therefore the curve measured on a Maxtor Atlas 10K V (DIXtrac extraction, published with
//! Western Digital's DiskSim) is taken as a share of the stroke and scaled:
//! `t(d) = single + a · (S(d) - S(1)) + b · (d - 1) / (C - 2)`, with `a` and `b` such that the mean over uniformly
//! drawn cylinders is the average and `t(C - 1)` the full stroke.

use seekwise_model::drive::mechanics::{SeekCurve, SeekError};
use seekwise_model::time::Span;

/// Cylinders of the Atlas 10K V.
const CYLINDERS: u64 = 80_512;

/// Its curve, thinned out and smoothed: cylinders, microseconds.
const SHAPE: [(u32, u32); 19] = [
    (1, 526),
    (2, 656),
    (5, 724),
    (10, 816),
    (20, 871),
    (25, 1_061),
    (50, 1_210),
    (100, 1_327),
    (200, 1_392),
    (500, 1_714),
    (1_000, 1_932),
    (2_000, 2_065),
    (5_000, 2_722),
    (10_000, 3_415),
    (20_000, 4_451),
    (30_000, 5_439),
    (40_000, 6_107),
    (60_000, 7_424),
    (80_511, 9_630),
];

/// The curve of a sibling, scaled to a stroke of `cylinders`; times in milliseconds. Fails if it would not rise.
pub(super) fn sibling(single: f64, average: f64, full: f64, cylinders: u32) -> Result<SeekCurve, SeekError> {
    let points = stretched(cylinders);
    let base = SeekCurve::table(&points, cylinders)?;
    let ms = |span: Span| span.nanos() as f64 / 1e6;
    let (first, mean, last) = (ms(base.time(1)), ms(base.mean()), ms(base.time(cylinders.max(2) - 1)));
    // The mean of (d - 1) / (C - 2) over pairs of different cylinders: d is (C + 1) / 3 on average.
    let third = 1.0 / 3.0;
    let a = ((average - single) - third * (full - single)) / ((mean - first) - third * (last - first));
    let b = (full - single) - a * (last - first);
    let stroke = f64::from(cylinders.max(3) - 2);
    let scale = |&(d, t): &(u32, Span)| {
        let time = single + a * (ms(t) - first) + b * f64::from(d - 1) / stroke;
        (d, Span::from_nanos((time * 1e6).round().max(0.0) as u64))
    };
    let scaled: Vec<(u32, Span)> = points.iter().map(scale).collect();
    match a.is_finite() && scaled.windows(2).all(|pair| pair[0].1 <= pair[1].1) {
        true => SeekCurve::table(&scaled, cylinders),
        false => Err(SeekError::Times),
    }
}

/// The points of the shape for another stroke, without duplicates.
fn stretched(cylinders: u32) -> Vec<(u32, Span)> {
    let mut points: Vec<(u32, Span)> = Vec::with_capacity(SHAPE.len());
    for (d, us) in SHAPE {
        let scaled = match d {
            1 => 1,
            _ => u64::from(d) * u64::from(cylinders.max(2) - 1) / (CYLINDERS - 1),
        };
        let distance = scaled as u32;
        if points.last().is_none_or(|last| distance > last.0) {
            points.push((distance, Span::from_micros(u64::from(us))));
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meets_its_three_figures_and_lifts_short_seeks() {
        let curve = sibling(1.0, 8.5, 16.7, 89_000).unwrap();
        let ms = |span: Span| span.nanos() as f64 / 1e6;
        assert!((ms(curve.time(1)) - 1.0).abs() < 0.001);
        assert!((ms(curve.mean()) - 8.5).abs() < 0.01, "{}", ms(curve.mean()));
        assert!((ms(curve.time(88_999)) - 16.7).abs() < 0.001);
        assert!(ms(curve.time(200)) > 1.5);
    }

    #[test]
    fn refuses_figures_that_no_rising_curve_meets() {
        assert_eq!(sibling(1.0, 8.0, 30.0, 89_000), Err(SeekError::Times));
    }
}
