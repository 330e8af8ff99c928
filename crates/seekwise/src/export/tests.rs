//! Fits of draws against numbers drawn as the simulators do, and the closed loop against arithmetic.

use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::time::Span;
use seekwise_lab::stats::Histogram;

use super::closed_loop::ClosedLoop;
use super::draw::{Draw, Shape, fit_bimodal, fit_cut, fit_floored, fit_shifted, fit_uniform};
use super::text::comment;
use super::{LatencySetup, LatencyTarget};

/// A number below 1.
fn fraction(random: &mut Rng) -> f64 {
    random.below(1 << 53) as f64 / (1u64 << 53) as f64
}

/// A draw as its simulator makes it, from its documentation and not from [`Draw::quantile`].
fn simulate(draw: Draw, random: &mut Rng) -> f64 {
    match draw {
        Draw::Uniform { start, end } => start + fraction(random) * (end - start),
        Draw::Shifted { min, mean } => min - mean * (1.0 - fraction(random)).ln(),
        Draw::Floored { min, mean } => f64::max(min, -mean * (1.0 - fraction(random)).ln()),
        Draw::Cut { min, max, lambda } => min + (max - min) * f64::min(1.0, -(1.0 - fraction(random)).ln() / lambda),
        Draw::Bimodal { fast, split, slow, slow_share } => {
            let (from, to) = if fraction(random) < slow_share { (split, slow) } else { (fast, split) };
            from + fraction(random) * (to - from)
        }
    }
}

/// 20,000 response times in us.
fn times(us: impl Fn(&mut Rng) -> f64) -> Histogram {
    let (mut histogram, mut random) = (Histogram::default(), Seed(5).stream("test"));
    (0..20_000).for_each(|_| histogram.record(Span::from_nanos((1e3 * us(&mut random)) as u64)));
    histogram
}

/// Response times of several kinds: an arm and a platter, a long tail, two kinds of work, and one value.
fn kinds() -> Vec<(&'static str, Histogram)> {
    vec![
        ("arm", times(|random| 1000.0 + 8000.0 * fraction(random) + 8000.0 * fraction(random))),
        ("tail", times(|random| 500.0 - 9000.0 * (1.0 - fraction(random)).ln())),
        ("two", times(|random| if random.draw_chance(10) { 30_000.0 } else { 100.0 } + 50.0 * fraction(random))),
        ("one", times(|_| 112.0)),
    ]
}

/// Every fit of a shape, by the name of its form.
fn fits(shape: &Shape) -> Vec<(&'static str, Draw)> {
    let always = [
        ("uniform", fit_uniform(shape)),
        ("shifted", fit_shifted(shape)),
        ("floored", fit_floored(shape)),
        ("cut", fit_cut(shape)),
    ];
    always.into_iter().chain(fit_bimodal(shape).map(|draw| ("bimodal", draw))).collect()
}

#[test]
fn a_fit_keeps_the_mean_and_its_quantiles_are_those_of_what_is_drawn() {
    for (kind, histogram) in kinds() {
        let shape = Shape::new(&histogram, 0.0);
        for (form, draw) in fits(&shape) {
            let mut random = Seed(9).stream("draws");
            let mut drawn: Vec<f64> = (0..200_000).map(|_| simulate(draw, &mut random)).collect();
            drawn.sort_unstable_by(f64::total_cmp);
            let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
            assert!((mean / shape.mean - 1.0).abs() < 0.015, "{kind}, {form}: {draw:?} {mean} {}", shape.mean);
            for share in [0.05, 0.5, 0.85, 0.99] {
                let (said, there) = (draw.quantile(share), drawn[(share * drawn.len() as f64) as usize]);
                assert!((there - said).abs() < 0.02 * said + 2.0, "{kind}, {form}: {share} {said} {there}");
            }
        }
    }
}

#[test]
fn numbers_of_a_form_are_found_again() {
    let tail = Shape::new(&kinds()[1].1, 0.0);
    let Draw::Shifted { min, mean } = fit_shifted(&tail) else { panic!("another form") };
    assert!((min - 500.0).abs() < 150.0 && (mean - 9000.0).abs() < 200.0, "{min} {mean}");
    let floored = times(|random| f64::max(3000.0, -9000.0 * (1.0 - fraction(random)).ln()));
    let Draw::Floored { min, mean } = fit_floored(&Shape::new(&floored, 0.0)) else { panic!("another form") };
    assert!((min - 3000.0).abs() < 150.0 && (mean - 9000.0).abs() < 200.0, "{min} {mean}");
    let even = times(|random| 2000.0 + 4000.0 * fraction(random));
    let Draw::Uniform { start, end } = fit_uniform(&Shape::new(&even, 0.0)) else { panic!("another form") };
    assert!((start - 2000.0).abs() < 50.0 && (end - 6000.0).abs() < 50.0, "{start} {end}");
    // One value is a number without spread where the form has one; TigerBeetle's has none.
    let one = Shape::new(&kinds()[3].1, 0.0);
    assert_eq!(fit_uniform(&one), Draw::Uniform { start: 112.0, end: 112.0 });
    let Draw::Floored { min, mean } = fit_floored(&one) else { panic!("another form") };
    assert!(min <= mean && mean < 112.0, "{min} {mean}");
}

#[test]
fn what_a_simulator_adds_is_taken_off() {
    let arm = &kinds()[0].1;
    let (whole, less) = (Shape::new(arm, 0.0), Shape::new(arm, 700.0));
    assert!((whole.mean - less.mean - 700.0).abs() < 1e-6 && (whole.p50 - less.p50 - 700.0).abs() < 1e-6);
}

/// Alone, an operation takes 1 + 0 to 10; with many in flight, the disk does one in each unit of time.
#[test]
fn the_closed_loop_is_that_of_arithmetic() {
    let alone = ClosedLoop::run(1);
    for (figure, expected) in [(alone.mean(), 6.0), (alone.quantile(0.5), 6.0), (alone.quantile(0.99), 10.9)] {
        assert!((figure / expected - 1.0).abs() < 0.01, "{figure} {expected}");
    }
    let busy = ClosedLoop::run(64).mean();
    assert!((busy / 64.0 - 1.0).abs() < 0.01, "Little's law: {busy}");
}

#[test]
fn comments_fold_and_keep_their_words() {
    let text = "a word and ".repeat(30);
    let folded = comment(text.trim_end(), 2);
    assert!(folded.lines().all(|line| line.starts_with("//   ") && line.chars().count() <= 100), "{folded}");
    let words =
        |text: &str| text.split_whitespace().filter(|word| *word != "//").map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&folded), words(&text));
}

#[test]
fn every_simulator_is_found_by_its_name_and_near_ones_are_named() {
    for (name, target) in LatencyTarget::ALL {
        assert_eq!((LatencyTarget::parse(name), target.name()), (Ok(target), name));
    }
    for (wrong, meant) in [("moonpol", "moonpool"), ("FoundationDB", "fdb"), ("Turmoil", "turmoil")] {
        assert!(LatencyTarget::parse(wrong).unwrap_err().ends_with(&format!("did you mean {meant}?")), "{wrong}");
    }
}

#[test]
fn questions_without_an_answer_are_refused() {
    let why = |change: &dyn Fn(&mut LatencySetup)| {
        let mut setup = LatencySetup::new("exos-x18");
        change(&mut setup);
        setup.measure(&()).map(drop).unwrap_err().to_string()
    };
    assert!(why(&|setup| setup.depths = vec![8, 8]).contains("each once"));
    assert!(why(&|setup| setup.set = vec![("drive.cache.write_back".into(), "off".into())]).contains("write_through"));
    assert!(why(&|setup| setup.set = vec![("job.depth".into(), "2".into())]).contains("there is no job"));
    assert!(why(&|setup| setup.target = "null".into()).contains("not a modelled disk"));
    assert!(why(&|setup| setup.block = "four".into()).contains("such as 4k"));
}
