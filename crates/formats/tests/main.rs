//! Tests of whole formats, in one program: as programs of their own each would be linked, and as large.

#![allow(clippy::disallowed_methods, reason = "a test makes what it looks at")]

mod shared_files;

mod disksim_layouts;
mod disksim_unseen;
mod disksim_variants;
mod edges;
#[cfg(unix)]
mod ext4;
mod fio;
mod fio_json;
mod fio_random;
mod fio_streams;
mod fio_wild;
mod fuzz_smoke;
mod golden;
mod iometer_icf;
mod iometer_results;
mod iometer_standard;
mod iometer_wild;
mod traces;

/// The number of random cases of a test: a fifth of `all_draws`, or all with `SEEKWISE_DRAWS=all`, as before a release.
fn number_of_draws(all_draws: u64) -> u64 {
    let is_full = std::env::var("SEEKWISE_DRAWS").is_ok_and(|draws| draws == "all");
    if is_full { all_draws } else { all_draws.div_ceil(5) }
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
