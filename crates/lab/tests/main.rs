//! Tests of the whole laboratory, in one program: each would be linked by itself, of the same size.

#![allow(clippy::disallowed_methods, reason = "a test makes what it looks at")]

mod really;

mod audit;
mod blame;
mod buses;
mod crash;
mod credit;
mod cut;
mod everyday;
mod files;
mod fit;
mod golden;
mod ladder;
mod laws;
mod linux_arrays;
mod little;
#[allow(dead_code, reason = "the program's tests use the rest")]
mod outline;
mod report;
mod revolutions;
mod served;
mod validation;

/// So many draws of a test: one in five, or all where `SEEKWISE_DRAWS=all` is set, as before a release. What they must have met at
/// least follows them.
fn drawn(all: u64) -> u64 {
    let every = std::env::var("SEEKWISE_DRAWS").is_ok_and(|draws| draws == "all");
    if every { all } else { all.div_ceil(5) }
}

/// A file beside this one that is not named above would never run.
#[test]
fn every_file_here_is_part_of_the_tests() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for entry in std::fs::read_dir(here).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let name = name.trim_end_matches(".rs");
        let named = include_str!("main.rs").lines().any(|line| line == format!("mod {name};"));
        assert!(named || name == "main", "`mod {name};` is missing in main.rs");
    }
}
