//! The swarm of power cuts at any size: `cargo xtask cuts [--stacks N] [--cuts N] [--seed N]`.
//!
//! It spreads the cuts over random stacks, on all cores: first honest drives, which must break no law of durability;
//! then the same stacks with each fault, which must be caught. The exit code is 1 if an honest drive broke a law, or if
//! a fault was never caught.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use seekwise_disk::testing::{CutTally, DriveFault, cuts};

struct Options {
    stacks: u64,
    cuts: u64,
    seed: u64,
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}\nusage: cuts [--stacks N] [--cuts N] [--seed N]");
            return ExitCode::from(2);
        }
    };
    let (honest, _) = swarm(&options, "honest", None);
    let mut good = honest.broken_count() == 0;
    for (fault, name) in DriveFault::ALL {
        good &= swarm(&options, name, Some(fault)).1 > 0;
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn options() -> Result<Options, String> {
    let mut options = Options { stacks: 200, cuts: 100_000, seed: 1 };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let place = match word.as_str() {
            "--stacks" => &mut options.stacks,
            "--cuts" => &mut options.cuts,
            "--seed" => &mut options.seed,
            _ => return Err(format!("unknown option {word}")),
        };
        let value = words.next().and_then(|value| value.parse().ok());
        *place = value.ok_or(format!("{word} takes a whole number"))?;
    }
    match options.stacks {
        0 => Err("--stacks takes at least 1".to_owned()),
        _ => Ok(options),
    }
}

/// Runs all cases with one fault, or none. Returns their sum, and in how many stacks a law was broken.
fn swarm(options: &Options, name: &str, fault: Option<DriveFault>) -> (CutTally, u64) {
    let begin = Instant::now();
    let each = options.cuts.div_ceil(options.stacks);
    let next = AtomicU64::new(0);
    let work = || {
        let mut cases = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= options.stacks {
                return cases;
            }
            cases.push((index, cuts(options.seed + index, each, fault)));
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut cases: Vec<(u64, CutTally)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a case that ends")).collect()
    });
    cases.sort_by_key(|case| case.0);
    let mut sum = CutTally::default();
    let mut caught = 0;
    for (index, tally) in &cases {
        caught += u64::from(tally.broken_count() > 0);
        let wrong = fault.is_none() && tally.broken_count() > 0;
        if wrong {
            let seed = options.seed + index;
            println!("broken: {}", tally.first.as_deref().unwrap_or(""));
            println!("again: cargo xtask cuts --stacks 1 --cuts {each} --seed {seed}");
        }
        sum.add(tally);
    }
    tell(&sum, name, options.stacks, caught, begin);
    (sum, caught)
}

fn tell(sum: &CutTally, name: &str, stacks: u64, caught: u64, begin: Instant) {
    let [durable, tearing, stale, order] = sum.breaches;
    println!(
        "{name:21} {} power failures ({} orderly) on {stacks} stacks in {:.1} s: {} broke a law \
         ({durable} durable, {tearing} tearing, {stale} stale, {order} order), in {caught} stacks; \
         of {} acknowledged writes {} were durable, {} were lost",
        sum.cuts,
        sum.offs,
        begin.elapsed().as_secs_f64(),
        sum.broken_count(),
        sum.toll.acknowledged,
        sum.toll.durable,
        sum.toll.lost,
    );
}
