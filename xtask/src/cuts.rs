//! `cargo xtask cuts`: power cuts by the hundred thousand, by the swarm of cuts of `crates/disk` in a release build.
//! The swarm itself, and how it judges, is in `crates/disk/src/testing/cuts.rs`.

use std::process::ExitCode;

use crate::steps::{Ended, command};

/// Runs the swarm with its own `arguments`.
pub fn cuts(arguments: &[&str]) -> ExitCode {
    let cargo = ["cargo", "run", "--release", "--quiet", "--locked", "-p", "seekwise-disk", "--example", "cuts", "--"];
    match command(&[&cargo, arguments].concat(), &[]) {
        Ended::Passed => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
