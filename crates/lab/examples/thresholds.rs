//! What another choice of the two thresholds gives by which a fit keeps its changes: a trace is fitted with several, and for
//! each it prints the number of figures that moved and the loss on the held-back half, as a share of the profile's. The
//! search is the same for all; only what is put back differs. `cargo xtask fit --thresholds` runs it on the eight measured
//! drives and writes the table of `docs/fit.md`. `cargo run --release -p seekwise-lab --example thresholds -- PROFILE TRACE`

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;

use seekwise_drives::profile;
use seekwise_formats::trace::measured;
use seekwise_lab::fit::data::{FitData, FitTrace};
use seekwise_lab::fit::evaluator::{FitEvent, FitListener};
use seekwise_lab::fit::judge::JudgeShares;
use seekwise_lab::fit::search::SearchEffort;
use seekwise_lab::fit::{FitTask, fit_unless_cancelled};
use seekwise_work::workload::replay::Timing;

/// Shares of draws: on the seen data and for the whole; for a change on the held-back data. The second is in use.
const CHOICES: [(f64, f64); 4] = [(0.7, 0.5), (0.84, 0.6), (0.84, 0.84), (0.95, 0.75)];

/// The program's own.
const GENERATIONS: usize = 120;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [profile, trace] = &words[..] else {
        eprintln!("expected PROFILE TRACE");
        return ExitCode::from(2);
    };
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_else(|why| panic!("{path}: {why}"));
    let drive = profile::parse(profile, &read(profile)).expect("a profile");
    let rows = measured::parse(trace, &read(trace)).expect("a trace");
    let traced = FitTrace::new(trace, rows, 0.5, Timing::Think, Vec::new()).expect("requests enough");
    let data = [FitData::Traced(Box::new(traced))];
    let asked = Mutex::new(BTreeMap::new());
    let heard = |event: FitEvent<'_>| {
        if let FitEvent::Tried { question, answer, known: false } = event {
            asked.lock().expect("no holder panics").insert(question.to_owned(), answer.to_vec());
        }
    };
    for (sure, agreed) in CHOICES {
        let effort = SearchEffort { shares: JudgeShares { sure, agreed }, ..SearchEffort::thorough(GENERATIONS) };
        let known = asked.lock().expect("no holder panics").clone();
        let task = FitTask {
            drive: &drive,
            only_keys: Vec::new(),
            data: &data,
            effort,
            point_limit: None,
            known_answers: known,
        };
        let found = fit_unless_cancelled(task, FitListener::never_ending(&heard)).expect("nobody cancels it");
        let moved = found.parameters.iter().zip(&found.point).filter(|(it, value)| it.origin != **value).count();
        let (before, after) = found.held.expect("half is held back");
        println!("{:.0} {:.0} {moved} {:.0}", 100.0 * sure, 100.0 * agreed, 1000.0 * after / before);
    }
    ExitCode::SUCCESS
}
