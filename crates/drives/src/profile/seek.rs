//! A seek curve for a drive with only three known figures: single track, average, full stroke.
//!
//! The shape is what nine measured curves have in common: the eight that DIXtrac extracted from drives of 1991 to 1999 (2,051
//! to 10,042 cylinders; `docs/validation.md`) and that of a Maxtor Atlas 10K V of 2004 (80,512 cylinders, published with
//! Western Digital's DiskSim). Divided by each drive's average less its single-track time, they agree in two parts. The arm
//! accelerates and then coasts: that part goes by the share of the stroke, `x`. And it settles: a move of a few *tracks* takes
//! longer than one of a single track, on drives of any number of cylinders alike: `S(d) = SETTLING · (1 - 1/√d) + √x`, and from
//! `x = COASTING` on a straight line with the slope that the root has there.
//!
//! A drive's curve is `t(d) = single + a · (S(d) - S(1)) + b · (d - 1) / (C - 2)`, with `a` and `b` such that the mean over
//! uniformly drawn cylinders is the average and `t(C - 1)` the full stroke. `crates/lab/tests/ladder.rs` leaves each drive out.

use seekwise_disk::drive::mechanics::{SeekCurve, SeekError};
use seekwise_disk::time::Span;

/// How much longer a move over many tracks settles than one over a single track, where the root over the whole stroke is 1.
/// The least squares over the nine curves, each weighted by its average; with any one of them left out 0.055 to 0.075.
const SETTLING: f64 = 0.065;

/// The share of the stroke from which on the arm coasts. From the same least squares; with any drive left out 0.18 to 0.20.
const COASTING: f64 = 0.2;

/// The shape in nanoseconds where the root over the whole stroke is a second: any unit would do.
const UNIT: f64 = 1e9;

/// The curve with a shape that drives have in common, through three figures in milliseconds, over `cylinders`. Fails if it
/// would not rise.
pub(super) fn sibling_curve(single: f64, average: f64, full: f64, cylinders: u32) -> Result<SeekCurve, SeekError> {
    let points = shape_points(cylinders);
    let base = SeekCurve::from_points(&points, cylinders)?;
    let ms = |span: Span| span.nanos() as f64 / 1e6;
    let (first, mean, last) = (ms(base.seek_time(1)), ms(base.mean_time()), ms(base.seek_time(cylinders.max(2) - 1)));
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
        true => SeekCurve::from_points(&scaled, cylinders),
        false => Err(SeekError::Times),
    }
}

/// Points of the shape. Between points a sixty-fourth apart a straight line is within a thirty-thousandth of the root.
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
    points.map(|d| (d, Span::from_nanos((time(d) * UNIT).round() as u64))).collect()
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
