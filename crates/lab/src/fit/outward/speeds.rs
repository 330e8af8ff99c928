//! Speeds of the spindle. A drive turns at one of few, so they are tried one by one, each with density and seek that go with it.
//!
//! Streams and single reads judge them: how their times spread shows a turn. What a queue or a cache does depends on rules besides, and a
//! drive whose rules the model lacks looks like one of another speed. An arm of another form than the modelled one does too, smoothly from one
//! percentile to the next: so differences count by their independent share.

use seekwise_drives::key_names::figure;

use super::LATER_STEPS;
use super::descent::{Descent, TriedPoint, least};
use super::misfit::Scatter;
use super::prior::{self, FitStage};

/// The cost of a speed that is not the profile's, as a misfit: twice the logarithm of the odds. They are taken as 20 to 1 for the profile's.
/// Inferred: most users start from a drive of the same speed.
const SPEED_COST: f64 = 6.0;

/// Speeds nearer than this share are one.
pub(super) const SAME_SPEED: f64 = 0.02;

/// Takes the speed that streams and single reads prefer, twice: neighbours differ by less than is assumed to scatter at first, so the second
/// time with the scatter that single reads show.
pub(super) fn settle_speed(descent: &mut Descent<'_, '_>, best: TriedPoint) -> TriedPoint {
    let best = preferred(descent, best);
    descent.settle_scatter(&best, FitStage::Arm);
    descent.misfit.scatter = descent.misfit.scatter.at_most_first();
    let best = descent.descend(best, FitStage::Arm, LATER_STEPS);
    let best = preferred(descent, best);
    descent.misfit.scatter = Scatter::FIRST;
    descent.valued(best, FitStage::Arm)
}

fn preferred(descent: &mut Descent<'_, '_>, best: TriedPoint) -> TriedPoint {
    let best = descent.valued(best, FitStage::Arm);
    let with_cost = |descent: &Descent<'_, '_>, tried: &TriedPoint| {
        tried.value + cost(descent, tried) / descent.misfit.independent_share(&tried.residuals, FitStage::Arm)
    };
    let others = at_other_speeds(descent, &best);
    let all = others.into_iter().chain([best]);
    let found = all
        .min_by(|a, b| with_cost(descent, a).total_cmp(&with_cost(descent, b)))
        .expect("the present one is among them");
    expect(descent, &found);
    descent.valued(found, FitStage::Arm)
}

/// The drive at another speed if two witnesses agree: streams and single reads are met better at it, and then all data, with the rules that
/// `improve` finds, better by more than such a change costs.
pub(super) fn at_surer_speed(
    descent: &mut Descent<'_, '_>,
    best: TriedPoint,
    improve: impl Fn(&Descent<'_, '_>, TriedPoint) -> TriedPoint,
) -> TriedPoint {
    let until = FitStage::Writes;
    let on_arm = descent.valued(best.clone(), FitStage::Arm).value;
    let mut tried = Vec::new();
    for start in at_other_speeds(descent, &best).into_iter().filter(|other| other.value < on_arm) {
        expect(descent, &start);
        tried.push(Some(descent.descend(start, until, LATER_STEPS)));
    }
    expect(descent, &best);
    let best = descent.valued(best, until);
    let Some(other) = least(tried) else { return best };
    expect(descent, &other);
    let other = improve(descent, other);
    let gain = descent.misfit.independent_share(&best.residuals, until) * (best.value - other.value);
    let found = if gain > cost(descent, &other) - cost(descent, &best) { other } else { best };
    expect(descent, &found);
    descent.valued(found, until)
}

/// The drives of other speeds, with how much farther than `best` they are.
pub(super) fn weigh_other_speeds(descent: &mut Descent<'_, '_>, best: &TriedPoint) -> Vec<(f64, Vec<f64>)> {
    let best = descent.valued(best.clone(), FitStage::Arm);
    let others = at_other_speeds(descent, &best);
    expect(descent, &best);
    let counted = descent.misfit.independent_share(&best.residuals, FitStage::Arm);
    let farther =
        |other: &TriedPoint| counted * (other.value - best.value) + cost(descent, other) - cost(descent, &best);
    others.into_iter().map(|other| (farther(&other), other.point)).collect()
}

/// The drives of other speeds that meet streams and single reads best.
fn at_other_speeds(descent: &mut Descent<'_, '_>, best: &TriedPoint) -> Vec<TriedPoint> {
    let Some(speed) = place(descent, figure::MECHANICS_RPM) else { return Vec::new() };
    let own = descent.parameters[speed].parameter.origin;
    let mut possible = prior::possible_speeds(descent.evaluator.drive);
    possible.retain(|rpm| !is_same(*rpm, own));
    possible.push(own);
    possible.retain(|rpm| !is_same(*rpm, best.point[speed]));
    let mut found = Vec::new();
    for rpm in possible {
        let start = at_speed(descent, &best.point, (speed, rpm));
        descent.expect_speed(speed, rpm);
        if let Some(tried) = descent.try_point(start, FitStage::Arm) {
            found.push(descent.descend(tried, FitStage::Arm, LATER_STEPS));
        }
    }
    found
}

/// `point` at another speed: tracks as fast as before, and an arm that takes what half a turn leaves.
fn at_speed(descent: &Descent<'_, '_>, point: &[f64], (speed, rpm): (usize, f64)) -> Vec<f64> {
    let density = place(descent, figure::GEOMETRY_ZONES).map(|density| (density, (point[speed] / rpm).ln()));
    let average = place(descent, figure::MECHANICS_SEEK_AVERAGE_MS).map(|average| {
        let half_turns = 30_000.0 / point[speed] - 30_000.0 / rpm;
        (average, ((point[average] + half_turns).max(1.0) / point[average]).ln())
    });
    let moves = [Some((speed, (rpm / point[speed]).ln())), density, average];
    let (numbers, steps): (Vec<usize>, Vec<f64>) = moves.into_iter().flatten().unzip();
    descent.moved(point, &numbers, &steps)
}

/// The priors hold around the speed of `tried`.
fn expect(descent: &mut Descent<'_, '_>, tried: &TriedPoint) {
    let Some(speed) = place(descent, figure::MECHANICS_RPM) else { return };
    let own = descent.parameters[speed].parameter.origin;
    let speeds = prior::possible_speeds(descent.evaluator.drive).into_iter().chain([own]);
    let nearest = speeds.min_by(|a, b| off(*a, tried.point[speed]).total_cmp(&off(*b, tried.point[speed])));
    descent.expect_speed(speed, nearest.unwrap_or(own));
}

fn cost(descent: &Descent<'_, '_>, tried: &TriedPoint) -> f64 {
    let Some(speed) = place(descent, figure::MECHANICS_RPM) else { return 0.0 };
    if is_same(tried.point[speed], descent.parameters[speed].parameter.origin) { 0.0 } else { SPEED_COST }
}

fn place(descent: &Descent<'_, '_>, key: &str) -> Option<usize> {
    descent.parameters.iter().position(|it| it.parameter.key == key)
}

fn is_same(one: f64, other: f64) -> bool {
    off(one, other) < SAME_SPEED
}

fn off(one: f64, other: f64) -> f64 {
    (one / other - 1.0).abs()
}
