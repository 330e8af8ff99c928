//! Random power cuts in any number: `cargo xtask cuts [--stacks N] [--cuts N] [--seed N]`.
//!
//! The cuts are spread over random stacks, on all cores: first with honest drives, which must break no law of durability;
//! then with each fault of a drive, which must be caught. The exit code is 1 if an honest drive broke a law, or if a fault
//! was never caught.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use seekwise_disk::testing::{CutTally, DriveFault, run_cut_case};

struct Options {
    stacks: u64,
    cuts: u64,
    seed: u64,
}

fn main() -> ExitCode {
    let options = match parse_options() {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}\nusage: cuts [--stacks N] [--cuts N] [--seed N]");
            return ExitCode::from(2);
        }
    };
    let mut is_good = run_all_cases(&options, "honest", None) == 0;
    for (fault, name) in DriveFault::ALL {
        is_good &= run_all_cases(&options, name, Some(fault)) > 0;
    }
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse_options() -> Result<Options, String> {
    let mut options = Options { stacks: 200, cuts: 100_000, seed: 1 };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let option = match word.as_str() {
            "--stacks" => &mut options.stacks,
            "--cuts" => &mut options.cuts,
            "--seed" => &mut options.seed,
            _ => return Err(format!("unknown option {word}")),
        };
        let value = words.next().and_then(|value| value.parse().ok());
        *option = value.ok_or(format!("{word} takes a whole number"))?;
    }
    match options.stacks {
        0 => Err("--stacks takes at least 1".to_owned()),
        _ => Ok(options),
    }
}

/// Runs all cases with one fault, or none, and prints their results. Returns in how many stacks a law was broken.
fn run_all_cases(options: &Options, name: &str, fault: Option<DriveFault>) -> u64 {
    let begin = Instant::now();
    let cuts_per_stack = options.cuts.div_ceil(options.stacks);
    let next = AtomicU64::new(0);
    let run_cases = || {
        let mut cases = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= options.stacks {
                return cases;
            }
            cases.push((index, run_cut_case(options.seed + index, cuts_per_stack, fault)));
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut cases: Vec<(u64, CutTally)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(run_cases)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a case that ends")).collect()
    });
    cases.sort_by_key(|&(index, _)| index);
    let mut sum = CutTally::default();
    let mut broken_stacks = 0;
    for (index, tally) in &cases {
        broken_stacks += u64::from(tally.breach_count() > 0);
        if fault.is_none() && tally.breach_count() > 0 {
            let seed = options.seed + index;
            println!("broken: {}", tally.first_breach.as_deref().unwrap_or(""));
            println!("again: cargo xtask cuts --stacks 1 --cuts {cuts_per_stack} --seed {seed}");
        }
        sum.add(tally);
    }
    print_sum(&sum, name, options.stacks, broken_stacks, begin);
    broken_stacks
}

fn print_sum(sum: &CutTally, name: &str, stacks: u64, broken_stacks: u64, begin: Instant) {
    let [durable, tearing, stale, order] = sum.breaches;
    println!(
        "{name:21} {} power failures ({} orderly) on {stacks} stacks in {:.1} s: {} broke a law \
         ({durable} durable, {tearing} tearing, {stale} stale, {order} order), in {broken_stacks} stacks; \
         of {} acknowledged writes {} were durable, {} were lost",
        sum.failures,
        sum.power_offs,
        begin.elapsed().as_secs_f64(),
        sum.breach_count(),
        sum.losses.acknowledged,
        sum.losses.durable,
        sum.losses.lost,
    );
}
