//! Groups that are off, and toy fits whose changes the guard keeps or puts back.

use std::collections::BTreeMap;

use seekwise_disk::block::Op;
use seekwise_disk::rng::Seed;
use seekwise_disk::time::Span;
use seekwise_drives::profile::DriveFile;
use seekwise_formats::trace::measured::MeasuredTrace;
use seekwise_run::cutoff::RunCutoff;
use seekwise_work::workload::replay::{ReplayRow, Timing};

use super::*;
use crate::catalogue;
use crate::fit::data::{FitData, FitTrace};
use crate::fit::evaluator::FitListener;
use crate::fit::evaluator::toy::{Toy, number};
use crate::fit::parameter::{collect_parameters, original_point};
use crate::validate::play_trace;

/// A group that takes 10 ms, and its simulated mean and loss; every draw has the same loss.
fn group(name: &str, simulated_ms: f64, loss: f64) -> GroupError {
    let losses = vec![loss; 11];
    GroupError { name: name.to_owned(), measured_ms: 10.0, simulated_ms, noise_ms: 0.2, losses }
}

/// Both halves of one group, with simulated means and losses.
fn halves(name: &str, simulated_ms: [f64; 2], losses: [f64; 2]) -> HalfErrors {
    [0, 1].map(|half| vec![group(name, simulated_ms[half], losses[half])])
}

#[test]
fn a_group_is_off_in_both_halves_to_the_same_side_beyond_noise() {
    let off = |simulated_ms: [f64; 2]| !groups_off_in_both_halves(&halves("a", simulated_ms, [1.0; 2])).is_empty();
    assert!(off([10.5, 10.41]) && off([9.0, 9.5]));
    assert!(!off([10.5, 9.5]), "to different sides");
    assert!(!off([10.5, 10.39]) && !off([10.39, 10.5]), "two standard errors are 0.4");
    let mut quiet = halves("a", [10.15, 10.15], [1.0; 2]);
    quiet.iter_mut().flatten().for_each(|error| error.noise_ms = 0.001);
    assert!(groups_off_in_both_halves(&quiet).is_empty(), "below 2 % of its mean");
    assert!(groups_off_in_both_halves(&[vec![group("a", 12.0, 1.0)], Vec::new()]).is_empty(), "in one half only");
}

#[test]
fn worse_is_a_group_that_was_off_or_a_direction_and_better_is_a_group_in_both_halves() {
    let compared = |name: &str, after: [f64; 2]| {
        let off = ["off".to_owned()];
        let GroupComparison { worse, mends_one } =
            compare_groups(&halves(name, [12.0; 2], [1.0; 2]), &halves(name, [12.0; 2], after), &off);
        (worse, mends_one)
    };
    assert_eq!(compared("off", [0.9, 0.9]), (0, true));
    assert_eq!(compared("off", [0.9, 1.0]), (0, false));
    assert_eq!(compared("off", [0.9, 1.1]), (1, false));
    assert_eq!(compared("off", [1.1, 1.1]), (2, false));
    assert_eq!(compared("other", [1.1, 1.1]), (0, false));
    assert_eq!(compared("t: reads", [1.1, 0.9]), (1, false));
    assert_eq!(compared("t: writes", [0.9, 0.9]), (0, false), "a direction that was not off");
    let mut after = halves("off", [12.0; 2], [1.1; 2]);
    after[0][0].losses[3] = 0.9;
    let chance = compare_groups(&halves("off", [12.0; 2], [1.0; 2]), &after, &["off".to_owned()]);
    assert_eq!(chance.worse, 1, "nine of ten draws are chance among so many groups");
}

#[test]
fn a_group_that_stays_off_is_named_with_its_means() {
    let off = ["a".to_owned()];
    let named =
        |after: [f64; 2]| unmended_groups(&halves("a", [11.0, 11.0], [1.0; 2]), &halves("a", after, [1.0; 2]), &off);
    assert_eq!(named([11.0, 10.9])[0].simulated_ms, [11.0, 10.9]);
    assert_eq!(named([10.7, 10.8]).len(), 1, "a quarter of it is mended in one half only");
    assert!(named([10.7, 10.7]).is_empty() && named([10.2, 11.0]).is_empty() && named([9.0, 9.0]).is_empty());
    let text = named([11.0, 10.9])[0].warning_text();
    assert!(
        text.starts_with("a: they take 10.000 ms and the model 11.000 ms (held back: 10.000 and 10.900)"),
        "{text}"
    );
}

/// Where every number of these toys moved to, from 0.
const MOVED: f64 = 0.002;

/// What remains of a toy whose numbers all moved; each lowers the seen loss, and the held-back one by so much in all draws.
fn kept(seen_gains: &[f64], held_gains: &[f64]) -> Vec<f64> {
    let loss = |gains: &[f64], point: &[f64]| {
        100.0 - gains.iter().zip(point).map(|(gain, value)| if *value == MOVED { *gain } else { 0.0 }).sum::<f64>()
    };
    let parameters = (0..seen_gains.len()).map(|index| number(index, 2, 0.0)).collect();
    let (seen, held) = (|point: &[f64], _| loss(seen_gains, point), |point: &[f64], _| loss(held_gains, point));
    let toy = Toy::new(parameters, &seen, Some(&held));
    let (evaluator, origin) = (toy.evaluator(), toy.origin());
    let guard = Guard::new(&evaluator, &origin, JudgeShares::USUAL);
    let mut reasons = vec![None; origin.len()];
    let point = guard.keep_acceptable(vec![MOVED; origin.len()], SearchEffort::thorough(0), &mut reasons);
    for (index, reason) in reasons.iter().enumerate() {
        assert_eq!(reason.is_some(), point[index] == 0.0, "{reasons:?}");
    }
    point
}

#[test]
fn so_much_of_a_fit_stays_as_the_held_back_data_confirm() {
    assert_eq!(kept(&[1.0, 2.0], &[1.0, 1.0]), [MOVED, MOVED]);
    assert_eq!(kept(&[1.0, 2.0], &[1.0, -3.0]), [MOVED, 0.0], "one change spoils both");
    assert_eq!(kept(&[1.0, 2.0, 3.0], &[-1.0, 1.0, -4.0]), [0.0, MOVED, 0.0]);
    assert_eq!(kept(&[1.0, 2.0], &[-1.0, -1.0]), [0.0, 0.0]);
    assert_eq!(kept(&[-3.0, 2.0], &[5.0, 1.0]), [0.0, MOVED], "the seen data count too");
    assert_eq!(kept(&[1.0], &[0.0]), [0.0], "a change needs a gain");
}

/// Random reads and writes of the drive with a longer overhead of reads from the medium.
fn measured_with_slow_reads(drive: &DriveFile) -> MeasuredTrace {
    let mut truth = drive.clone();
    truth.set("overhead.read_miss_ms", "3").unwrap();
    let mut chance = Seed(3).stream("guard test");
    let mut row = |index: u64| ReplayRow {
        op: if index.is_multiple_of(3) { Op::Write } else { Op::Read },
        lba: chance.below(1 << 27) * 8 % 50_000_000,
        sectors: 8,
        arrival: Span::ZERO,
        think: Span::from_micros(chance.below(20_000)),
    };
    let rows: Vec<ReplayRow> = (0..800).map(&mut row).collect();
    let mut trace =
        MeasuredTrace { measured: vec![Span::ZERO; 800], rows, lines: (1..=800).collect(), warnings: Vec::new() };
    let profile = truth.profile().unwrap();
    let played = play_trace("t", &trace, &profile, Timing::Think, RunCutoff::NEVER, Seed(1), &mut |_| ()).unwrap();
    trace.measured = played.simulated;
    trace
}

#[test]
fn a_group_that_stays_off_gets_the_change_that_mends_it() {
    let drive = catalogue::load_drive("barracuda-7200.7").unwrap();
    let trace = measured_with_slow_reads(&drive);
    let data = [FitData::Traced(Box::new(FitTrace::new("t", trace, 0.5, Timing::Think, Vec::new()).unwrap()))];
    let parameters = collect_parameters(&drive, &["overhead.read_miss_ms".to_owned()]);
    let listener = FitListener::never_ending(&|_| ());
    let evaluator = PointEvaluator::new(&drive, &parameters, &data, BTreeMap::new(), listener);
    let origin = original_point(&parameters);
    let guard = Guard::new(&evaluator, &origin, JudgeShares::USUAL);
    let named = guard.unmended_groups(&origin);
    assert!(named[0].name.starts_with("t: reads") && named.iter().all(|it| !it.name.contains("writes")), "{named:?}");
    let mended = |free: bool| {
        let mut reasons = vec![Some(RejectionReason::NotBetter)];
        let point = guard.mend_groups(origin.clone(), &[free], SearchEffort::thorough(0), &mut reasons);
        (point, reasons[0])
    };
    let (point, reason) = mended(true);
    // From 0.15 ms; the descent ends where requests jump by a revolution.
    assert!((point[0] - 3.0).abs() < 0.3 && reason.is_none(), "{point:?}");
    assert!(guard.unmended_groups(&point).is_empty());
    assert_eq!(mended(false), (origin.clone(), Some(RejectionReason::NotBetter)));
}
