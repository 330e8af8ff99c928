//! The tests of the model through its public interface, in a single program: as programs of their own, each would be linked with
//! the whole model.

#![allow(clippy::disallowed_methods, reason = "a test makes what it looks at")]

mod accelerator;
mod array;
mod array_sync;
mod bitmap;
mod buffer;
mod buses;
mod conformance;
mod cuts;
mod driver;
mod fork;
mod golden;
mod laws;
mod media_cache;
mod members;
mod mirrors;
mod power;
mod processor;
mod queuing;
mod streams;
mod swarm;
mod virtual_time;

/// Reduces the number of random cases of a test to a fifth, unless `SEEKWISE_DRAWS=all` is set, as before a release. The numbers
/// that a test expects at least are reduced alike.
fn reduced_draws(all: u64) -> u64 {
    let draws_all = std::env::var("SEEKWISE_DRAWS").is_ok_and(|draws| draws == "all");
    if draws_all { all } else { all.div_ceil(5) }
}

/// The tests of a file that is not named above would never run.
#[test]
fn every_file_here_is_part_of_the_tests() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for entry in std::fs::read_dir(directory).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let name = name.trim_end_matches(".rs");
        let is_named = include_str!("main.rs").lines().any(|line| line == format!("mod {name};"));
        assert!(is_named || name == "main", "`mod {name};` is missing in main.rs");
    }
}
