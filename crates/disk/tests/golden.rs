//! Random stacks behave as when somebody last looked, to the nanosecond. `golden/stacks.txt` has for each the number of records, their
//! hash and the last instant. The laws say what is right; this test notices any change. `SEEKWISE_UPDATE=1` writes the file anew: say
//! in the commit why results change.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::testing::{SmallStack, random_array, random_stack};

use crate::swarm::{bare_planner, random_planner, records_of};

/// Seeds of each kind of stack.
const SEEDS: u64 = 200;

fn bare(rng: &mut Rng) -> SmallStack {
    let mut stack = random_stack(rng);
    stack.layers.clear();
    stack
}

type Draw = fn(&mut Rng) -> SmallStack;

/// How stacks are drawn, by name.
const KINDS: [(&str, Draw); 5] = [
    ("drive", bare),
    ("drive that plans ahead", bare_planner),
    ("stack", random_stack),
    ("stack that plans ahead", random_planner),
    ("array", random_array),
];

/// FNV-1a, of 64 bits: the same on every machine and with every compiler.
fn hash(lines: &[String]) -> u64 {
    let bytes = lines.iter().flat_map(|line| line.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn random_stacks_do_what_they_did() {
    let mut said = String::new();
    for (kind, draw) in KINDS {
        for seed in 0..SEEDS {
            let (records, end) = records_of(draw(&mut Seed(seed).stream("golden")), seed, false);
            writeln!(said, "{kind} {seed}: {} records, {:016x}, {} ns", records.len(), hash(&records), end.nanos())
                .unwrap();
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/stacks.txt");
    if std::env::var_os("SEEKWISE_UPDATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &said).unwrap();
    }
    let before = fs::read_to_string(&path).unwrap_or_default();
    let moved: Vec<&str> = said.lines().filter(|line| !before.lines().any(|before| before == *line)).collect();
    assert!(before == said, "{} of {} stacks moved: {:?}", moved.len(), said.lines().count(), moved.first());
}
