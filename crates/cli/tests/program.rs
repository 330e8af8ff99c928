//! All tests of the program as one test program, which is linked once instead of once for each file.

#![allow(clippy::disallowed_methods, reason = "a test makes what it looks at")]

mod score;
mod seekwise;

mod bad_input;
mod band;
mod causes;
mod claims;
mod commands;
mod compare;
mod crash;
mod endings;
mod exec;
mod explain;
mod export;
mod finding;
mod fio_rates;
mod fit;
mod fit_jobs;
mod flush_audit;
mod folders;
mod golden;
mod help;
mod hostile;
mod hostile_clients;
mod import;
mod iolog;
mod limits;
mod measured;
mod outputs;
mod paced;
mod page;
mod pages;
mod places;
mod power_cut;
mod readme;
mod real;
mod rebuild;
mod reviewer;
mod reviews;
mod sampling;
mod scenes;
mod schema;
mod serve;
mod strict;
mod studies;
mod traces;
mod trust;
mod validate;
mod widths;
mod wild;
mod words;

/// A file beside this one that is not named above would never run.
#[test]
fn every_file_here_is_part_of_the_tests() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for entry in std::fs::read_dir(here).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let name = name.trim_end_matches(".rs");
        let named = include_str!("program.rs").lines().any(|line| line == format!("mod {name};"));
        assert!(named || name == "program", "`mod {name};` is missing in program.rs");
    }
}
