//! `cargo xtask validation`: replays the measured traces and rewrites the committed figures in `validation/` and the
//! tables and pictures in `docs/`. The tests that compare them also rewrite them; nothing is decided here.

use std::process::ExitCode;

use crate::steps::{Ended, command};

/// The command. One thread, so that figures are written before a test reads them.
const COMMAND: [&str; 16] = [
    "cargo",
    "test",
    "-p",
    "seekwise-lab",
    "-p",
    "seekwise-reproduce",
    "--locked",
    "--test",
    "whole",
    "--",
    "validation::",
    "published::",
    "everyday::",
    "--nocapture",
    "--test-threads",
    "1",
];

/// Runs the command.
pub fn validation() -> ExitCode {
    match command(&COMMAND, &[("SEEKWISE_UPDATE", "1")]) {
        Ended::Passed => {
            println!("Rewritten: validation/ and docs/. See what changed before committing it: git diff --stat");
            ExitCode::SUCCESS
        }
        Ended::Skipped(reason) | Ended::Failed(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}
