//! The steps of `cargo xtask ci`: each is passed, failed, or skipped with the reason. All are tried, whatever failed
//! before. The last line counts them.

use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::{cargo, mutate, readme, tidy, twice, web};

/// How a step ended.
pub enum Ended {
    /// As it should.
    Passed,
    /// Could not be tried here: the reason.
    Skipped(String),
    /// Not as it should: what is wrong.
    Failed(String),
}

/// One step.
#[derive(Clone, Copy)]
pub struct Step {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it checks.
    pub what: &'static str,
    run: fn() -> Ended,
}

/// All steps, the quickest to fail first. What builds in the same profile stands together.
pub const ALL: &[Step] = &[
    Step { name: "fmt", what: "one format for all source", run: cargo::fmt },
    Step { name: "tidy", what: "rules that no compiler checks", run: tidy::tidy },
    Step { name: "clippy", what: "no lint anywhere", run: cargo::clippy },
    Step { name: "doc", what: "documentation without a broken link", run: cargo::doc },
    Step { name: "test", what: "all tests", run: cargo::test },
    Step { name: "release", what: "the program as users build it", run: cargo::release },
    Step { name: "twice", what: "a study twice, on one core and on two: equal bytes", run: twice::twice },
    Step { name: "mutate", what: "changed inputs of every kind through the program", run: mutate::short },
    Step { name: "readme", what: "the README's commands, as written", run: readme::readme },
    Step { name: "page", what: "the report page, rebuilt: equal to the one committed", run: web::page },
    Step { name: "webtest", what: "the report page's tests", run: web::test },
];

/// Runs steps and counts them.
pub fn run(steps: &[Step]) -> ExitCode {
    let (mut passed, mut failed, mut lines) = (0, 0, Vec::new());
    for step in steps {
        println!("==== {}: {}", step.name, step.what);
        let start = Instant::now();
        let ended = (step.run)();
        let seconds = start.elapsed().as_secs_f64();
        let (word, reason) = match ended {
            Ended::Passed => ("passed", String::new()),
            Ended::Skipped(reason) => ("skipped", format!(": {reason}")),
            Ended::Failed(reason) => ("FAILED", format!(": {reason}")),
        };
        passed += usize::from(word == "passed");
        failed += usize::from(word == "FAILED");
        lines.push(format!("{:8} {word:8} {seconds:7.1} s{reason}", step.name));
        println!("==== {}", lines[lines.len() - 1]);
    }
    println!("\n{}\n{passed} passed, {failed} failed", lines.join("\n"));
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs a command in the repository's folder; its own output stays visible.
pub fn command(words: &[&str], environment: &[(&str, &str)]) -> Ended {
    run_in(&crate::root(), words, environment)
}

/// Runs a command in a folder.
pub fn run_in(folder: &std::path::Path, words: &[&str], environment: &[(&str, &str)]) -> Ended {
    let line = words.join(" ");
    println!("$ {line}");
    let status =
        Command::new(words[0]).args(&words[1..]).envs(environment.iter().copied()).current_dir(folder).status();
    match status {
        Ok(status) if status.success() => Ended::Passed,
        Ok(status) => Ended::Failed(format!("`{line}` ended with {status}")),
        Err(error) => Ended::Failed(format!("`{line}` did not start: {error}")),
    }
}
