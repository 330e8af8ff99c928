//! `cargo xtask validation`: plays the traces again and rewrites what is committed of them: the figures in `validation/`,
//! the tables and pictures in `docs/`. Decides nothing: the tests that compare are the ones that rewrite.

use std::process::ExitCode;

use crate::steps::{Ended, command};

/// One thread, so that what is read back has been written.
const WORDS: [&str; 16] = [
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
    match command(&WORDS, &[("SEEKWISE_UPDATE", "1")]) {
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
