//! The tests of this crate that need no private item, as a single program: each program is linked by itself.

#![allow(clippy::disallowed_methods, reason = "a test makes what it looks at")]

mod golden;
mod scene;
mod sources;
mod system;
mod volume;
mod workload;

/// The number of draws that a test makes: a fifth of `all_draws`, or all of them if `SEEKWISE_DRAWS=all` is set, as
/// before a release.
fn scaled_draws(all_draws: u64) -> u64 {
    let makes_all = std::env::var("SEEKWISE_DRAWS").is_ok_and(|draws| draws == "all");
    if makes_all { all_draws } else { all_draws.div_ceil(5) }
}

/// A file in this folder that is not named above would never run.
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
