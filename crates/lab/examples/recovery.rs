//! Recovery of a known truth: a drive's figures are moved at random, a trace's requests are played on it with 0.05 ms
//! of noise, and the original drive is fitted to these times. It prints for each figure the truth, what was found, and
//! whether the interval holds the truth; at the end how many do, and whether the data could have determined what was
//! left. `cargo xtask fit --recovery` runs it and writes the table of `docs/fit.md`. `cargo run --release -p
//! seekwise-lab --example recovery -- PROFILE TRACE [DRIVES [GENERATIONS]]`

use std::collections::BTreeMap;
use std::process::ExitCode;

use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::time::Span;
use seekwise_drives::profile::{self, DriveFile, ReadingCache};
use seekwise_formats::trace::measured::{self, MeasuredTrace};
use seekwise_lab::fit::data::{DataSplit, FitData, FitTrace};
use seekwise_lab::fit::evaluator::{FitListener, share_of_draws_better};
use seekwise_lab::fit::interval::TradingPair;
use seekwise_lab::fit::judge::SURE;
use seekwise_lab::fit::parameter::{self, Parameter};
use seekwise_lab::fit::search::SearchEffort;
use seekwise_lab::fit::{FitResult, FitTask, fit_unless_cancelled};
use seekwise_lab::validate::play_trace;
use seekwise_run::cutoff::RunCutoff;
use seekwise_work::workload::replay::Timing;

/// Standard deviation of the noise, ns.
const NOISE: f64 = 50_000.0;

/// How many figures of each drive are moved, and the largest move as a share of their range.
const MOVED: usize = 8;
const BY: f64 = 0.15;

/// Draws that decide whether the data determine a figure.
const DRAWS: usize = 40;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [profile, trace, ..] = &words[..] else {
        eprintln!("expected PROFILE TRACE [DRIVES [GENERATIONS]]");
        return ExitCode::from(2);
    };
    let number =
        |place: usize, otherwise: usize| words.get(place).and_then(|word| word.parse().ok()).unwrap_or(otherwise);
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_else(|why| panic!("{path}: {why}"));
    let drive = profile::parse(profile, &read(profile)).expect("a profile");
    let trace = measured::parse(trace, &read(trace)).expect("a trace");
    let mut all = Counts::default();
    for index in 0..number(2, 3) as u64 {
        all.add(&one(&drive, &trace, index, number(3, 120)));
    }
    println!(
        "\n{} drives: {} of {} intervals hold the truth; of {} moved figures {} were fitted, {} left rightly, {} wrongly",
        number(2, 3),
        all.held,
        all.intervals,
        all.moved,
        all.fitted,
        all.rightly,
        all.moved - all.fitted - all.rightly
    );
    ExitCode::SUCCESS
}

#[derive(Default)]
struct Counts {
    held: usize,
    intervals: usize,
    moved: usize,
    fitted: usize,
    /// Left, and the seen data alone do not determine it.
    rightly: usize,
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.held += other.held;
        self.intervals += other.intervals;
        self.fitted += other.fitted;
        self.moved += other.moved;
        self.rightly += other.rightly;
    }
}

fn one(drive: &DriveFile, trace: &MeasuredTrace, index: u64, generations: usize) -> Counts {
    let mut chance = Seed(index).stream("recovery");
    let parameters = parameter::collect_parameters(drive, &[]);
    let truth = moved(&parameters, &mut chance);
    let real = parameter::drive_at_point(drive, &parameters, &truth).expect("a drive within its ranges");
    let profile = real.profile().expect("a drive that can be built");
    let times = play_trace("trace", trace, &profile, Timing::Think, RunCutoff::NEVER, Seed(1), &mut |_| ())
        .expect("a trace on the drive");
    let noisy = |time: &Span| Span::from_nanos((time.nanos() as f64 + NOISE * normal(&mut chance)).max(1.0) as u64);
    let measured = times.simulated.iter().map(noisy).collect();
    let noisy = MeasuredTrace { measured, ..trace.clone() };
    let traced = FitTrace::new("trace", noisy, 0.5, Timing::Think, Vec::new()).expect("requests enough");
    let data = [FitData::Traced(Box::new(traced))];
    let (effort, known) = (SearchEffort::thorough(generations), BTreeMap::new());
    let task = FitTask { drive, only_keys: Vec::new(), data: &data, effort, point_limit: None, known_answers: known };
    let found = fit_unless_cancelled(task, FitListener::never_ending(&|_| ())).expect("nobody cancels it");
    let cache = ReadingCache::default();
    let least = data[0]
        .simulate_losses(&real, DataSplit::Seen, None, &cache)
        .expect("a drive that can be built")
        .map_or(0.0, |loss| loss[0]);
    println!(
        "\ndrive {index}: loss seen {:.4} to {:.4}, in truth {least:.4}; held back {:?}",
        found.seen.0, found.seen.1, found.held
    );
    let draws = data[0].draw_resamples(DataSplit::Seen, DRAWS, "recovery");
    let losses = |point: &[f64]| {
        let drive = parameter::drive_at_point(drive, &found.parameters, point).expect("a drive within its ranges");
        data[0]
            .simulate_losses(&drive, DataSplit::Seen, Some(&draws), &cache)
            .expect("a drive that can be built")
            .expect("a part that is seen")
    };
    let shows = |index: usize| {
        let mut without = truth.clone();
        without[index] = found.parameters[index].origin;
        share_of_draws_better(&losses(&truth), &losses(&without)) >= SURE
    };
    told(&found, &truth, &shows)
}

/// The result for each figure that moved, in truth or in the fit.
fn told(found: &FitResult, truth: &[f64], shows: &dyn Fn(usize) -> bool) -> Counts {
    let mut counts = Counts::default();
    for (index, parameter) in found.parameters.iter().enumerate() {
        let (truly, now) = (truth[index], found.point[index]);
        if truly == parameter.origin && now == parameter.origin {
            continue;
        }
        let fitted = now != parameter.origin;
        let interval = found.intervals.of[index];
        let holds = interval.map(|(low, high)| (low..=high).contains(&truly));
        counts.moved += usize::from(truly != parameter.origin);
        counts.fitted += usize::from(truly != parameter.origin && fitted);
        counts.rightly += usize::from(truly != parameter.origin && !fitted && !shows(index));
        counts.intervals += usize::from(interval.is_some());
        counts.held += usize::from(holds == Some(true));
        let says = |value: f64| parameter.format_value(value);
        println!(
            "{:42} was {:>8} truly {:>8} found {:>8} {}",
            parameter.name,
            says(parameter.origin),
            says(truly),
            says(now),
            match (interval, holds) {
                (Some((low, high)), Some(true)) => format!("{low} … {high}"),
                (Some((low, high)), _) => format!("{low} … {high}, which does not hold it"),
                (None, _) => format!("{:?}", found.reasons[index]),
            }
        );
    }
    for &TradingPair { moved: a, other: b, correlation: together } in &found.intervals.pairs {
        println!("{} and {} trade ({together:+.2})", found.parameters[a].name, found.parameters[b].name);
    }
    counts
}

fn moved(parameters: &[Parameter], chance: &mut Rng) -> Vec<f64> {
    let mut truth = parameter::original_point(parameters);
    let numbers: Vec<usize> = (0..truth.len()).filter(|&index| parameters[index].range().is_some()).collect();
    for _ in 0..MOVED {
        let index = numbers[chance.below(numbers.len() as u64) as usize];
        let range = parameters[index].range().expect("a number");
        let by = BY * (chance.below(2001) as f64 / 1000.0 - 1.0);
        truth[index] = range.value_at(range.position_of(parameters[index].origin) + by);
    }
    truth
}

/// A draw from the normal distribution: twelve uniform numbers, whose sum has a variance of 1.
fn normal(chance: &mut Rng) -> f64 {
    (0..12).map(|_| chance.below(1 << 30) as f64 / f64::from(1 << 30)).sum::<f64>() - 6.0
}
