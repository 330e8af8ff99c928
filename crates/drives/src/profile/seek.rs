//! A seek curve for a drive with only three known figures: single track, average, full stroke.
//!
//! The shape is common to nine measured curves: the eight that DIXtrac extracted from drives of 1991 to 1999 (2,051 to 10,042
//! cylinders; `docs/validation.md`) and that of a Maxtor Atlas 10K V of 2004 (80,512 cylinders, published with Western Digital's
//! DiskSim). Each was divided by its average less its single-track time. Then the curves agree in two terms:
//!
//! - Motion: the arm accelerates, then coasts. The time of motion depends on `x`, the share of the whole stroke.
//! - Settling: a move over a few tracks settles longer than one over a single track. The time of settling depends on `d`, the
//!   number of cylinders, and not on how many the drive has.
//!
//! The shape is `S(d) = SETTLING · (1 - 1/√d) + √x`; from `x = COASTING` on, a tangent replaces the root. A drive with `C`
//! cylinders has the curve `t(d) = single + a · (S(d) - S(1)) + b · (d - 1) / (C - 2)`. The coefficients `a` and `b` make the
//! mean over uniformly drawn cylinders the average, and `t(C - 1)` the full stroke. `crates/lab/tests/ladder.rs` predicts each
//! drive from the others.

use seekwise_disk::drive::mechanics::{SeekCurve, SeekError};
use seekwise_disk::time::Span;

/// Additional settling time of a move over many tracks relative to one over a single track; the root over the whole stroke is 1.
/// Fitted by least squares over the nine curves, each weighted by its average. Without any one of them: 0.055 to 0.075.
const SETTLING: f64 = 0.065;

/// The share of the stroke from which on the arm coasts, from the same fit. Without any one drive: 0.18 to 0.20.
const COASTING: f64 = 0.2;

/// Nanoseconds for the root over the whole stroke in points of the shape. Any scale would do: the curve is scaled afterwards.
const SHAPE_SCALE_NS: f64 = 1e9;

/// The curve of the common shape through three times. Fails if the curve would not rise.
pub(super) fn sibling_curve(
    single_ms: f64,
    average_ms: f64,
    full_ms: f64,
    cylinders: u32,
) -> Result<SeekCurve, SeekError> {
    let points = shape_points(cylinders);
    let base = SeekCurve::from_points(&points, cylinders)?;
    let ms = |span: Span| span.nanos() as f64 / 1e6;
    let (first, mean, last) = (ms(base.seek_time(1)), ms(base.mean_time()), ms(base.seek_time(cylinders.max(2) - 1)));
    // The mean of (d - 1) / (C - 2) over pairs of different cylinders: d is (C + 1) / 3 on average.
    let third = 1.0 / 3.0;
    let a = ((average_ms - single_ms) - third * (full_ms - single_ms)) / ((mean - first) - third * (last - first));
    let b = (full_ms - single_ms) - a * (last - first);
    let stroke = f64::from(cylinders.max(3) - 2);
    let scale = |&(d, t): &(u32, Span)| {
        let time_ms = single_ms + a * (ms(t) - first) + b * f64::from(d - 1) / stroke;
        (d, Span::from_nanos((time_ms * 1e6).round().max(0.0) as u64))
    };
    let scaled: Vec<(u32, Span)> = points.iter().map(scale).collect();
    match a.is_finite() && scaled.windows(2).all(|pair| pair[0].1 <= pair[1].1) {
        true => SeekCurve::from_points(&scaled, cylinders),
        false => Err(SeekError::Times),
    }
}

/// Points of the shape, each a sixty-fourth farther than the previous one: a straight line between them deviates from the root by
/// less than a thirty-thousandth.
fn shape_points(cylinders: u32) -> Vec<(u32, Span)> {
    let last = cylinders.max(2) - 1;
    let next = |d: &u32| (*d < last).then(|| (d + 1 + d / 64).min(last));
    let time = |d: u32| {
        let share = f64::from(d) / f64::from(last);
        let motion = match share < COASTING {
            true => share.sqrt(),
            false => COASTING.sqrt() + (share - COASTING) / (2.0 * COASTING.sqrt()),
        };
        SETTLING * (1.0 - 1.0 / f64::from(d).sqrt()) + motion
    };
    let points = std::iter::successors(Some(1), next);
    points.map(|d| (d, Span::from_nanos((time(d) * SHAPE_SCALE_NS).round() as u64))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(span: Span) -> f64 {
        span.nanos() as f64 / 1e6
    }

    #[test]
    fn meets_its_three_figures() {
        let curve = sibling_curve(1.0, 8.5, 16.7, 89_000).unwrap();
        assert!((ms(curve.seek_time(1)) - 1.0).abs() < 0.001);
        assert!((ms(curve.mean_time()) - 8.5).abs() < 0.01, "{}", ms(curve.mean_time()));
        assert!((ms(curve.seek_time(88_999)) - 16.7).abs() < 0.001);
    }

    /// Few tracks cost the same on a drive with ten times as many; a hundredth of the stroke does, too.
    #[test]
    fn settling_goes_by_tracks_and_motion_by_the_share_of_the_stroke() {
        let [few, many] = [10_000, 100_000].map(|cylinders| sibling_curve(0.5, 8.0, 16.0, cylinders).unwrap());
        let rise = |curve: &SeekCurve, d: u32| ms(curve.seek_time(d)) - 0.5;
        // 0.065 (1 - 1/√10) of 12 ms, and the way over 9 tracks: 0.36 ms more of 10,000 than of 100,000.
        assert!((0.5..0.7).contains(&rise(&many, 10)), "{}", rise(&many, 10));
        assert!((0.6..1.0).contains(&rise(&few, 10)), "{}", rise(&few, 10));
        assert!((rise(&few, 100) - rise(&many, 1_000)).abs() < 0.1);
        assert!(rise(&many, 100) < 0.7 * rise(&few, 100));
    }

    #[test]
    fn refuses_figures_that_no_rising_curve_meets() {
        assert_eq!(sibling_curve(1.0, 8.0, 30.0, 89_000), Err(SeekError::Times));
    }
}
