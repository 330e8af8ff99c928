//! `cargo xtask score`: runs every claim, also with its mechanism switched off, with the release build, and rewrites
//! `validation/claims.toml`, the README's figures and the score of docs/claims.md. The test that compares them also
//! rewrites them; nothing is decided here.

use std::process::{Command, ExitCode, Stdio};

use crate::steps::{Ended, command};
use crate::{cargo, target};

/// Runs the command.
pub fn score() -> ExitCode {
    match try_score() {
        Ended::Passed => {
            println!(
                "Rewritten: validation/claims.toml, README.md and docs/claims.md. See what changed before committing it."
            );
            ExitCode::SUCCESS
        }
        Ended::Skipped(reason) | Ended::Failed(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

fn try_score() -> Ended {
    let built = cargo::release();
    if !matches!(built, Ended::Passed) {
        return built;
    }
    let answer_path = match crate::empty_folder("score") {
        Ok(folder) => folder.join("claims.json"),
        Err(error) => return Ended::Failed(format!("no scratch folder: {error}")),
    };
    println!("$ seekwise claims --ablate --json > {}", answer_path.display());
    let run = || {
        let mut claims = Command::new(target().join("release/seekwise"));
        claims.args(["claims", "--ablate", "--json"]).stdout(Stdio::from(std::fs::File::create(&answer_path)?)).status()
    };
    // Exit code 1 means that a claim fails, as some do.
    match run().map(|status| status.code()) {
        Ok(Some(0 | 1)) => {}
        Ok(code) => return Ended::Failed(format!("`seekwise claims` ended with {code:?}")),
        Err(error) => return Ended::Failed(error.to_string()),
    }
    let path = answer_path.to_string_lossy();
    let test =
        ["cargo", "test", "-p", "seekwise-cli", "--locked", "--test", "program", "readme::the_readme_and_the_score"];
    command(&test, &[("SEEKWISE_UPDATE", "1"), ("SEEKWISE_SCORE", &path)])
}
