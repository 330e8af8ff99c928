//! Power cuts by the hundred thousand: the model's swarm of cuts in release, with the arguments given. What it does and
//! judges is `crates/disk/src/testing/cuts.rs`.

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
