//! Fits with a known truth: a drive with other figures answers a stream of our own, and the original drive is fitted to
//! that. The fit must find what was moved and name what the stream does not determine, and the result must be the same
//! on one core, on two, and after an interruption. The same on real requests and by the dozen: `examples/recovery.rs`.

use std::collections::BTreeMap;
use std::sync::Mutex;

use seekwise_disk::block::Op;
use seekwise_disk::rng::Seed;
use seekwise_disk::time::Span;
use seekwise_drives::figure::FigureOrigin;
use seekwise_drives::profile::DriveFile;
use seekwise_formats::trace::measured::MeasuredTrace;
use seekwise_lab::catalogue;
use seekwise_lab::fit::data::{FitData, FitTrace};
use seekwise_lab::fit::evaluator::{EarlyEnd, FitEvent, FitListener, PointEvaluator};
use seekwise_lab::fit::interval::Intervals;
use seekwise_lab::fit::judge::{self, RejectionReason};
use seekwise_lab::fit::search::SearchEffort;
use seekwise_lab::fit::slope::{FINE, descend_by_least_squares};
use seekwise_lab::fit::sources::{self, FileArgument};
use seekwise_lab::fit::{FitResult, FitTask, fit_unless_cancelled, parameter, report, write};
use seekwise_lab::validate::play_trace;
use seekwise_run::cutoff::RunCutoff;
use seekwise_work::workload::replay::{ReplayRow, Timing};

pub const DRIVE: &str = "barracuda-7200.7";

/// Two thirds reads, a fifth continuing the last request; pauses of 0 to 20 ms.
fn rows(sectors: u64, n: usize) -> Vec<ReplayRow> {
    let mut chance = Seed(7).stream("fit test");
    let mut end = 0;
    let mut row = |_| {
        let length = 8 * (1 + chance.below(4) as u32);
        let lba = if chance.draw_chance(20) { end } else { chance.below(sectors / 8 - 8) * 8 };
        let op = if chance.draw_chance(66) { Op::Read } else { Op::Write };
        end = lba + u64::from(length);
        ReplayRow { op, lba, sectors: length, arrival: Span::ZERO, think: Span::from_micros(chance.below(20_000)) }
    };
    (0..n).map(&mut row).collect()
}

/// The stream as `truth` answers it, with noise of 0.05 ms either way.
pub fn measured(truth: &DriveFile, n: usize) -> MeasuredTrace {
    let profile = truth.profile().unwrap();
    let rows = rows(profile.geometry.sectors() - 64, n);
    let lines = (1..=n).collect();
    let mut trace = MeasuredTrace { measured: vec![Span::ZERO; n], rows, lines, warnings: Vec::new() };
    let times =
        play_trace("t", &trace, &profile, Timing::Think, RunCutoff::NEVER, Seed(1), &mut |_| ()).unwrap().simulated;
    let mut chance = Seed(8).stream("noise");
    // Every request takes longer than that.
    let noisy = |time: &Span| *time + Span::from_nanos(chance.below(100_000)) - Span::from_micros(50);
    trace.measured = times.iter().map(noisy).collect();
    trace
}

pub fn fitted(
    trace: MeasuredTrace,
    only: &[&str],
    known: BTreeMap<String, Vec<f64>>,
) -> (FitResult, BTreeMap<String, Vec<f64>>) {
    let drive = catalogue::load_drive(DRIVE).unwrap();
    let only: Vec<String> = only.iter().map(|key| (*key).to_owned()).collect();
    let data = [FitData::Traced(Box::new(FitTrace::new("t", trace, 0.5, Timing::Think, Vec::new()).unwrap()))];
    let asked = Mutex::new(BTreeMap::new());
    let heard = |event: FitEvent<'_>| {
        if let FitEvent::Tried { question, answer, known: false } = event {
            asked.lock().unwrap().insert(question.to_owned(), answer.to_vec());
        }
    };
    let effort = SearchEffort::thorough(12);
    let task = FitTask { drive: &drive, only_keys: only, data: &data, effort, point_limit: None, known_answers: known };
    let found = fit_unless_cancelled(task, FitListener::never_ending(&heard)).expect("nobody cancels it");
    let asked = asked.into_inner().unwrap();
    (found, asked)
}

pub fn truth(set: &[(&str, &str)]) -> DriveFile {
    let mut drive = catalogue::load_drive(DRIVE).unwrap();
    set.iter().for_each(|(key, value)| drive.set(key, value).unwrap());
    drive
}

pub const ONLY: [&str; 3] = ["overhead.read_miss_ms", "cache.read_ahead.after", "overhead.flush_ms"];

#[test]
fn what_was_moved_is_found_and_what_is_not_felt_is_named() {
    let real = truth(&[("overhead.read_miss_ms", "1.4"), ("cache.read_ahead.after", "2")]);
    let (found, _) = fitted(measured(&real, 2400), &ONLY, BTreeMap::new());
    let place = |name: &str| found.parameters.iter().position(|it| it.name == name).unwrap();
    let (miss, after, flush) = (place(ONLY[0]), place(ONLY[1]), place(ONLY[2]));
    assert!((found.point[miss] - 1.4).abs() < 0.1, "{found:?}");
    let (low, high) = found.intervals.of[miss].expect("a number that moved has an interval");
    assert!(low <= 1.45 && high >= 1.35 && high - low < 0.5, "{low} … {high}");
    assert_eq!(found.parameters[after].format_value(found.point[after]), "2");
    let (least, most) = found.intervals.of[after].expect("a rule that is a number has an interval");
    assert!(least == 2.0 && most <= 4.0, "the data tell it from 1, its former value: {least} … {most}");
    assert_eq!(found.reasons[flush], Some(RejectionReason::NotFelt));
    let held = found.held.unwrap();
    assert!(held.1 < 0.5 * held.0, "{held:?}");
}

#[test]
fn a_number_that_could_be_anything_goes_back() {
    let keys = [ONLY[0], "link.rate_mb_s"].map(str::to_owned);
    let (drive, trace) = (catalogue::load_drive(DRIVE).unwrap(), measured(&truth(&[(ONLY[0], "1.4")]), 2400));
    let data = [FitData::Traced(Box::new(FitTrace::new("t", trace, 0.5, Timing::Think, Vec::new()).unwrap()))];
    let parameters = parameter::collect_parameters(&drive, &keys);
    let origin = parameter::original_point(&parameters);
    let place = |name: &str| parameters.iter().position(|it| it.name == name).unwrap();
    let (miss, rate) = (place(&keys[0]), place(&keys[1]));
    let evaluator =
        PointEvaluator::new(&drive, &parameters, &data, BTreeMap::new(), FitListener::never_ending(&|_| ()));
    let (mut moved, mut left) = (origin.clone(), vec![None; origin.len()]);
    (moved[miss], moved[rate]) = (1.4, parameters[rate].range().unwrap().round_to_step(1.2 * origin[rate]));
    let free: Vec<bool> = (0..origin.len()).map(|index| index == miss).collect();
    let moved = descend_by_least_squares(&evaluator, moved, &free, &FINE);
    let mut told = |of_rate: (f64, f64)| {
        let mut of = vec![None; origin.len()];
        (of[miss], of[rate]) = (Some((1.3, 1.5)), Some(of_rate));
        let intervals = Intervals { of, pairs: Vec::new() };
        judge::put_back_undetermined(
            &evaluator,
            &origin,
            moved.clone(),
            &intervals,
            SearchEffort::thorough(12),
            &mut left,
        )
    };
    let near = told((0.9 * origin[rate], 1.3 * origin[rate]));
    assert_eq!(near, moved, "an interval of a fifth of the range stays, though it holds the former value");
    let wide = told((0.5 * origin[rate], 2.0 * origin[rate]));
    assert_eq!(wide[rate], origin[rate]);
    assert!((wide[miss] - 1.4).abs() < 0.1, "what the data tell stays: {wide:?}");
    assert_eq!(left[rate], Some(RejectionReason::NotTold));
}

#[test]
fn noise_moves_nothing() {
    let (found, _) = fitted(measured(&truth(&[]), 1200), &["overhead.read_miss_ms", "link.rate_mb_s"], BTreeMap::new());
    for (index, parameter) in found.parameters.iter().enumerate() {
        let range = parameter.range().unwrap();
        let by = (range.position_of(found.point[index]) - range.position_of(parameter.origin)).abs();
        assert!(by < 0.1, "{} moved by {by} of its range", parameter.name);
    }
}

/// The words of the rules that moved, with their keys.
fn moved_rules(found: &FitResult) -> Vec<(&str, String)> {
    let moved =
        found.parameters.iter().zip(&found.point).filter(|(it, value)| it.range().is_none() && it.origin != **value);
    moved.map(|(it, value)| (it.key, it.format_value(*value))).collect()
}

/// All rules of the firmware, and an overhead that could take the blame.
const FIRMWARE: [&str; 2] = ["firmware", "overhead.read_miss_ms"];

#[test]
fn a_rule_that_the_profile_lacks_is_found_among_all_of_the_firmware() {
    for rule in [("firmware.write_verify", "true"), ("firmware.late_writes_percent", "30")] {
        let (found, _) = fitted(measured(&truth(&[rule]), 2400), &FIRMWARE, BTreeMap::new());
        assert_eq!(moved_rules(&found), [(rule.0, rule.1.to_owned())], "{:?} {:?}", found.seen, found.held);
        let (before, after) = found.held.unwrap();
        assert!(after < 0.3 * before && found.unmended.is_empty(), "{rule:?}: {before} {after} {:?}", found.unmended);
    }
}

#[test]
fn a_right_profile_keeps_all_rules_of_the_firmware() {
    let (found, _) = fitted(measured(&truth(&[]), 1600), &FIRMWARE, BTreeMap::new());
    assert_eq!(moved_rules(&found), []);
    assert!(found.seen.1 <= found.seen.0 && found.unmended.is_empty(), "{:?} {:?}", found.seen, found.unmended);
}

#[test]
fn a_class_of_requests_that_no_rule_mends_is_named() {
    let mut trace = measured(&truth(&[]), 1600);
    let writes = trace.rows.iter().zip(&mut trace.measured).filter(|(row, _)| row.op == Op::Write);
    writes.for_each(|(_, time)| *time += Span::from_millis(2));
    let only = ["cache.read_ahead.after", "firmware.write_verify"];
    let (found, _) = fitted(trace.clone(), &only, BTreeMap::new());
    assert_eq!(moved_rules(&found), []);
    assert!(!found.unmended.is_empty() && found.unmended.iter().all(|group| group.name.starts_with("t: writes")));
    for (measured, simulated) in found.unmended.iter().flat_map(|it| it.measured_ms.into_iter().zip(it.simulated_ms)) {
        assert!((measured - simulated - 2.0).abs() < 0.2, "{measured} {simulated}");
    }
    let drive = catalogue::load_drive(DRIVE).unwrap();
    let data = [FitData::Traced(Box::new(FitTrace::new("t", trace, 0.5, Timing::Think, Vec::new()).unwrap()))];
    let report = report::build_report(&drive, &data, &found).unwrap();
    assert!(report.warnings.iter().any(|said| said.starts_with("t: writes")), "{:?}", report.warnings);
}

#[test]
fn one_core_two_and_an_interruption_come_to_the_same() {
    let real = truth(&[("overhead.read_miss_ms", "1.1")]);
    let on = |threads: usize, known: BTreeMap<String, Vec<f64>>| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fitted(measured(&real, 800), &ONLY, known))
    };
    let (one, asked) = on(1, BTreeMap::new());
    let (two, _) = on(2, BTreeMap::new());
    let half: BTreeMap<_, _> = asked.iter().step_by(2).map(|(name, answer)| (name.clone(), answer.clone())).collect();
    let left = asked.len() - half.len();
    let (again, asked_again) = on(2, half);
    for other in [&two, &again] {
        assert_eq!((&one.point, &one.intervals, &one.reasons), (&other.point, &other.intervals, &other.reasons));
    }
    assert_eq!(asked_again.len(), left, "what was known is not asked again");
}

#[test]
fn the_profile_says_what_it_was_fitted_to_and_is_read_back() {
    let real = truth(&[("overhead.read_miss_ms", "1.4"), ("cache.read_ahead.after", "2")]);
    let trace = measured(&real, 1600);
    let (found, _) = fitted(trace.clone(), &ONLY, BTreeMap::new());
    let (text, drive) = (catalogue::find_text(DRIVE).unwrap(), catalogue::load_drive(DRIVE).unwrap());
    let written = write::write_fitted_profile(text, &drive, &found, "mine", "rows 1 to 800").unwrap();
    let back = seekwise_drives::profile::parse("mine.toml", &written).unwrap();
    let figure = back.figure("overhead.read_miss_ms").unwrap();
    assert_eq!((figure.kind, back.name.as_str()), (FigureOrigin::Fitted, "mine"));
    assert!(figure.source.starts_with("rows 1 to 800; was "), "{}", figure.source);
    assert!(figure.interval.is_some());
    assert_eq!(back.figure("cache.read_ahead.after").unwrap().kind, FigureOrigin::Fitted);
    // Everything that did not move is unchanged.
    let same = |line: &&str| written.lines().any(|other| other == *line);
    let changed: Vec<&str> = text.lines().filter(|line| !same(line)).collect();
    assert!(changed.len() <= 4, "{changed:#?}");
    let data = [FitData::Traced(Box::new(FitTrace::new("t", trace, 0.5, Timing::Think, Vec::new()).unwrap()))];
    let report = report::build_report(&drive, &data, &found).unwrap();
    let [before, after] = report.traces[0].held.unwrap();
    assert!(after.reads.demerit_ms < before.reads.demerit_ms);
}

/// Figures of four jobs.
pub fn curve() -> Vec<FitData> {
    let drive = catalogue::load_drive(DRIVE).unwrap();
    let curve =
        "rw,depth,iops,mean\nrandread,1,70,14.3\nrandread,2,70,28.6\nrandread,4,71,56.3\nrandwrite,1,130,7.69\n";
    let named = [FileArgument::parse("c.csv,hold=none").unwrap()];
    sources::parse_data(&named, &[curve.to_owned()], 0.0, &drive, catalogue::find_text(DRIVE).unwrap()).unwrap().0
}

/// The same of jobs: their figures are those of the drive with another overhead and a shorter dispatch.
pub fn of_jobs(threads: usize, most: Option<u64>) -> FitResult {
    let drive = catalogue::load_drive(DRIVE).unwrap();
    let only = ["overhead.read_miss_ms", "overhead.flush_ms", "mechanics.seek.average_ms", "firmware.queue.ahead"];
    let only: Vec<String> = only.iter().map(|key| (*key).to_owned()).collect();
    let data = curve();
    let effort = SearchEffort::for_data(&data, Some(2));
    let task = FitTask {
        drive: &drive,
        only_keys: only,
        data: &data,
        effort,
        point_limit: most,
        known_answers: BTreeMap::new(),
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| fit_unless_cancelled(task, FitListener::never_ending(&|_| ()))).expect("nobody cancels it")
}

#[test]
fn jobs_come_to_the_same_on_one_core_and_two_whole_and_after_a_number_of_points() {
    let [one, two] = [1, 2].map(|threads| of_jobs(threads, None));
    assert_eq!(
        (&one.point, &one.intervals, &one.reasons, one.points),
        (&two.point, &two.intervals, &two.reasons, two.points)
    );
    assert!(one.ending.is_none() && one.seen.1 < one.seen.0, "{one:?}");
    let flush = one.parameters.iter().position(|it| it.name == "overhead.flush_ms").unwrap();
    assert_eq!((one.reasons[flush], one.sensitivity.strengths[flush]), (Some(RejectionReason::NotFelt), 0.0));
    let bound = one.points / 2;
    let [one, two] = [1, 2].map(|threads| of_jobs(threads, Some(bound)));
    assert_eq!((&one.point, one.ending, one.points), (&two.point, two.ending, two.points));
    let ending = one.ending.expect("it ends early");
    assert!(ending.points >= bound && ending.why == EarlyEnd::Points, "{ending:?}");
    assert!(one.seen.1 <= one.seen.0 && one.intervals.of.iter().all(Option::is_none), "{one:?}");
}

#[test]
fn a_drive_of_which_only_a_rule_was_wrong_is_not_taken_for_another() {
    let (drive, real) = (catalogue::load_drive(DRIVE).unwrap(), truth(&[("cache.read_ahead.after", "4")]));
    let mut trace = measured(&real, 1200);
    // Every other read continues the last one: whether it is in the buffer decides.
    for index in (1..trace.rows.len()).step_by(2) {
        let last = trace.rows[index - 1];
        let row = &mut trace.rows[index];
        (row.lba, row.op) = (last.lba + u64::from(last.sectors), last.op);
    }
    let profile = real.profile().unwrap();
    trace.measured =
        play_trace("t", &trace, &profile, Timing::Think, RunCutoff::NEVER, Seed(1), &mut |_| ()).unwrap().simulated;
    let (found, _) = fitted(trace.clone(), &["cache.read_ahead.after", "overhead.read_miss_ms"], BTreeMap::new());
    let data = [FitData::Traced(Box::new(FitTrace::new("t", trace, 0.5, Timing::Think, Vec::new()).unwrap()))];
    let report = report::build_report(&drive, &data, &found).unwrap();
    let [before, after] = report.traces[0].held.unwrap();
    assert!(before.reads.demerit_percent > 20.0 && after.reads.demerit_percent < 5.0, "{before:?} {after:?}");
    assert!(!report.warnings.iter().any(|said| said.contains("another drive")), "{:?}", report.warnings);
    // Without the rule it would be.
    let mut other = found.clone();
    other.point = parameter::original_point(&other.parameters);
    let report = report::build_report(&drive, &data, &other).unwrap();
    assert!(report.warnings.iter().any(|said| said.contains("another drive")), "{:?}", report.warnings);
}
