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
//!
//! With a settling time of its own the curve is `t(d) = single + settle · (1 - 1/√d) + a · (motion(x) - motion(x₁)) + b · …`: a
//! servo that settles in a few tenths of a millisecond may be behind a slow arm, and the family's share would give such a drive
//! more than twice that.

use seekwise_disk::drive::mechanics::{SeekCurve, SeekError};
use seekwise_disk::time::Span;

/// Additional settling time of a move over many tracks relative to one over a single track; the root over the whole stroke is 1.
/// Fitted by least squares over the nine curves, each weighted by its average. Without any one of them: 0.055 to 0.075.
const SETTLING: f64 = 0.065;

/// The share of the stroke from which on the arm coasts, from the same fit. Without any one drive: 0.18 to 0.20.
const COASTING: f64 = 0.2;

/// Nanoseconds for 1 in points of a shape. Any scale would do: the curve is scaled afterwards.
const SHAPE_SCALE_NS: f64 = 1e9;

/// The curve of the common shape through the times of one cylinder, on average and of the full stroke, in milliseconds. Settling
/// is `settle_ms`, or the family's share of the arm's time. Fails if the curve would not rise.
pub(super) fn sibling_curve(
    [single_ms, average_ms, full_ms]: [f64; 3],
    settle_ms: Option<f64>,
    cylinders: u32,
) -> Result<SeekCurve, SeekError> {
    let settle_factor = settle_ms.unwrap_or(0.0) / (SHAPE_SCALE_NS / 1e6);
    let settling_share = if settle_ms.is_some() { 0.0 } else { SETTLING };
    let points = shape_points(cylinders, |d, share| settling_share * settling(d) + motion(share));
    let settling_points = shape_points(cylinders, |d, _| settling(d));
    let [first, mean, last] = shape_times_ms(&points, cylinders)?;
    let [_, mean_settling, last_settling] = shape_times_ms(&settling_points, cylinders)?;
    // Beyond the single track and the settling, on average and of the full stroke.
    let average_ms = average_ms - single_ms - settle_factor * mean_settling;
    let full_ms = full_ms - single_ms - settle_factor * last_settling;
    // The mean of (d - 1) / (C - 2) over pairs of different cylinders: d is (C + 1) / 3 on average.
    let third = 1.0 / 3.0;
    let a = (average_ms - third * full_ms) / ((mean - first) - third * (last - first));
    let b = full_ms - a * (last - first);
    let stroke = f64::from(cylinders.max(3) - 2);
    let scale = |(&(d, t), &(_, settled)): (&(u32, Span), &(u32, Span))| {
        let settled_ms = single_ms + settle_factor * span_ms(settled);
        let time_ms = settled_ms + a * (span_ms(t) - first) + b * f64::from(d - 1) / stroke;
        (d, Span::from_nanos((time_ms * 1e6).round().max(0.0) as u64))
    };
    let scaled: Vec<(u32, Span)> = points.iter().zip(&settling_points).map(scale).collect();
    match a.is_finite() && scaled.windows(2).all(|pair| pair[0].1 <= pair[1].1) {
        true => SeekCurve::from_points(&scaled, cylinders),
        false => Err(SeekError::Times),
    }
}

/// Time of settling after a move over `d` cylinders, beyond that after one; it nears 1 after many.
fn settling(d: u32) -> f64 {
    1.0 - 1.0 / f64::from(d).sqrt()
}

/// Time of motion over a share of the stroke; the root over the whole stroke is 1.
fn motion(share: f64) -> f64 {
    match share < COASTING {
        true => share.sqrt(),
        false => COASTING.sqrt() + (share - COASTING) / (2.0 * COASTING.sqrt()),
    }
}

/// Points of a shape, which is a time by cylinders and by share of the stroke. Each point is a sixty-fourth farther than the
/// previous one: a straight line between them deviates from the root by less than a thirty-thousandth.
fn shape_points(cylinders: u32, time: impl Fn(u32, f64) -> f64) -> Vec<(u32, Span)> {
    let last = cylinders.max(2) - 1;
    let next = |d: &u32| (*d < last).then(|| (d + 1 + d / 64).min(last));
    let span = |d: u32| Span::from_nanos((time(d, f64::from(d) / f64::from(last)) * SHAPE_SCALE_NS).round() as u64);
    std::iter::successors(Some(1), next).map(|d| (d, span(d))).collect()
}

/// Times of a shape over one cylinder, on average, and over the whole stroke.
fn shape_times_ms(points: &[(u32, Span)], cylinders: u32) -> Result<[f64; 3], SeekError> {
    let curve = SeekCurve::from_points(points, cylinders)?;
    let full = curve.seek_time(cylinders.max(2) - 1);
    Ok([curve.seek_time(1), curve.mean_time(), full].map(span_ms))
}

fn span_ms(span: Span) -> f64 {
    span.nanos() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meets_its_three_figures() {
        let curve = sibling_curve([1.0, 8.5, 16.7], None, 89_000).unwrap();
        assert!((span_ms(curve.seek_time(1)) - 1.0).abs() < 0.001);
        assert!((span_ms(curve.mean_time()) - 8.5).abs() < 0.01, "{}", span_ms(curve.mean_time()));
        assert!((span_ms(curve.seek_time(88_999)) - 16.7).abs() < 0.001);
    }

    /// Few tracks cost the same on a drive with ten times as many; a hundredth of the stroke does, too.
    #[test]
    fn settling_goes_by_tracks_and_motion_by_the_share_of_the_stroke() {
        let [few, many] = [10_000, 100_000].map(|cylinders| sibling_curve([0.5, 8.0, 16.0], None, cylinders).unwrap());
        let rise = |curve: &SeekCurve, d: u32| span_ms(curve.seek_time(d)) - 0.5;
        // 0.065 (1 - 1/√10) of 12 ms, and the way over 9 tracks: 0.36 ms more of 10,000 than of 100,000.
        assert!((0.5..0.7).contains(&rise(&many, 10)), "{}", rise(&many, 10));
        assert!((0.6..1.0).contains(&rise(&few, 10)), "{}", rise(&few, 10));
        assert!((rise(&few, 100) - rise(&many, 1_000)).abs() < 0.1);
        assert!(rise(&many, 100) < 0.7 * rise(&few, 100));
    }

    /// A servo that settles in 0.55 ms beside an arm of 11.8 ms: the three figures stay, short moves become shorter.
    #[test]
    fn settling_of_its_own_leaves_the_three_figures() {
        let [family, own] =
            [None, Some(0.55)].map(|settle| sibling_curve([0.23, 11.8, 24.0], settle, 500_000).unwrap());
        for curve in [&family, &own] {
            assert!((span_ms(curve.mean_time()) - 11.8).abs() < 0.01, "{}", span_ms(curve.mean_time()));
            assert!((span_ms(curve.seek_time(499_999)) - 24.0).abs() < 0.001);
        }
        // After 400 cylinders: 0.23, 0.95 of 0.55, and 0.03 of the arm's 24.
        assert!((1.3..1.5).contains(&span_ms(own.seek_time(400))), "{}", span_ms(own.seek_time(400)));
        assert!(span_ms(family.seek_time(400)) > 1.8, "{}", span_ms(family.seek_time(400)));
    }

    #[test]
    fn refuses_figures_that_no_rising_curve_meets() {
        assert_eq!(sibling_curve([1.0, 8.0, 30.0], None, 89_000), Err(SeekError::Times));
    }
}
