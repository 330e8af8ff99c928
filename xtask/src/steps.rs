//! The steps of `cargo xtask ci`: each is passed, failed, or skipped with the reason. All are tried, whatever failed
//! before. Below the table stands again what each failed step said last; the last line counts the steps.

use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::Instant;

use crate::excerpt::{Output, excerpt};
use crate::{cargo, mutate, python, readme, tidy, twice, web};

/// How a step ended.
pub enum Ended {
    /// As it should.
    Passed,
    /// Could not be tried here: the reason.
    Skipped(String),
    /// Not as it should: what is wrong. The first line stands in the table, what follows below it.
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
    Step { name: "deny", what: "licences and origins of dependencies", run: cargo::deny },
    Step { name: "clippy", what: "no lint anywhere", run: cargo::clippy },
    Step { name: "module", what: "the Python module compiles, without a lint", run: python::check },
    Step { name: "doc", what: "documentation without a broken link", run: cargo::doc },
    Step { name: "test", what: "all tests", run: cargo::test },
    Step { name: "python", what: "the Python module: tests, notebooks, types", run: python::test },
    Step { name: "release", what: "the program as users build it", run: cargo::release },
    Step { name: "twice", what: "a study twice, on one core and on two: equal bytes", run: twice::twice },
    Step { name: "mutate", what: "changed inputs of every kind through the program", run: mutate::short },
    Step { name: "readme", what: "the commands of README and manual, as written", run: readme::readme },
    Step { name: "page", what: "the report page, rebuilt: equal to the one committed", run: web::page },
    Step { name: "webtest", what: "the report page's tests", run: web::test },
];

/// Runs steps and counts them.
pub fn run(steps: &[Step]) -> ExitCode {
    let (mut passed, mut failed, mut lines, mut ends) = (0, 0, Vec::new(), String::new());
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
        let (reason, end) = reason.split_once('\n').unwrap_or((&reason, ""));
        if !end.is_empty() {
            ends.push_str(&format!("==== {} FAILED{reason}\n{end}\n\n", step.name));
        }
        lines.push(format!("{:8} {word:8} {seconds:7.1} s{reason}", step.name));
        println!("==== {}", lines[lines.len() - 1]);
    }
    println!("\n{}\n\n{ends}{passed} passed, {failed} failed", lines.join("\n"));
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
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).envs(environment.iter().copied()).current_dir(folder);
    match shown(&mut command) {
        Ok((status, _)) if status.success() => Ended::Passed,
        Ok((status, output)) => Ended::Failed(format!("`{line}` ended with {status}\n{}", excerpt(&output).join("\n"))),
        Err(error) => Ended::Failed(format!("`{line}` did not start: {error}")),
    }
}

/// Runs a command whose output is shown as it comes, and kept.
pub fn shown(command: &mut Command) -> std::io::Result<(ExitStatus, Output)> {
    // Cargo sees a pipe, and would leave colours out.
    if std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (out, err) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let errors = std::thread::spawn(move || pass_on(err, std::io::stderr()));
    let out = pass_on(out, std::io::stdout())?;
    let err = errors.join().expect("passing lines on does not panic")?;
    Ok((child.wait()?, Output { out, err }))
}

/// Writes all that is read, and returns it in lines.
fn pass_on(from: impl Read, mut to: impl Write) -> std::io::Result<Vec<String>> {
    let (mut from, mut lines, mut line) = (BufReader::new(from), Vec::new(), Vec::new());
    while from.read_until(b'\n', &mut line)? > 0 {
        // Who reads our output may have gone; the command is to end all the same.
        let _ = to.write_all(&line).and_then(|()| to.flush());
        lines.push(String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned());
        line.clear();
    }
    Ok(lines)
}
