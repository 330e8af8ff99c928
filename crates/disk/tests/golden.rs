//! Random stacks give the results in `golden/stacks.txt`, to the nanosecond: for each stack the number of records, their hash
//! and the last instant. Other tests check whether results are right; this one notices any change. `SEEKWISE_UPDATE=1` writes
//! the file anew: the commit then says why results change.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::testing::{SmallStack, random_array, random_stack};

use crate::swarm::{random_planning_drive, random_planning_stack, records_of};

/// Seeds of each kind of stack.
const SEEDS: u64 = 200;

fn random_drive(rng: &mut Rng) -> SmallStack {
    let mut stack = random_stack(rng);
    stack.layers.clear();
    stack
}

type DrawStack = fn(&mut Rng) -> SmallStack;

/// Kinds of stacks by name.
const KINDS: [(&str, DrawStack); 5] = [
    ("drive", random_drive),
    ("drive that plans ahead", random_planning_drive),
    ("stack", random_stack),
    ("stack that plans ahead", random_planning_stack),
    ("array", random_array),
];

/// FNV-1a of 64 bits, which is equal on every machine and with every compiler.
fn hash_lines(lines: &[String]) -> u64 {
    let bytes = lines.iter().flat_map(|line| line.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn random_stacks_give_the_recorded_results() {
    let mut results = String::new();
    for (kind, draw) in KINDS {
        for seed in 0..SEEDS {
            let (records, end) = records_of(draw(&mut Seed(seed).stream("golden")), seed, false);
            writeln!(
                results,
                "{kind} {seed}: {} records, {:016x}, {} ns",
                records.len(),
                hash_lines(&records),
                end.nanos()
            )
            .unwrap();
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/stacks.txt");
    if std::env::var_os("SEEKWISE_UPDATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &results).unwrap();
    }
    let recorded = fs::read_to_string(&path).unwrap_or_default();
    let changed: Vec<&str> = results.lines().filter(|line| !recorded.lines().any(|other| other == *line)).collect();
    assert!(
        recorded == results,
        "{} of {} stacks moved: {:?}",
        changed.len(),
        results.lines().count(),
        changed.first()
    );
}
