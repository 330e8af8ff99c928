//! The steps of `cargo xtask ci`: each is passed, failed, or skipped with the reason. All are tried, whatever failed
//! before. Below the table stands again what each failed step said last, then what was skipped. The last line counts the steps;
//! a test that skips itself inside a passed step, for want of a program or a right, counts as skipped too.

use std::fmt;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::Instant;

use crate::excerpt::{Output, excerpt};
use crate::{cargo, mutate, package, python, readme, tidy, twice, web};

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
    /// Runs it; tests that skip themselves are added to the list.
    run: Run,
}

/// What a step does.
#[derive(Clone, Copy)]
enum Run {
    Call(fn(&mut Vec<String>) -> Ended),
    /// The tests of the package that the step is named by.
    TestsOfPackage,
}

impl Step {
    /// A step of this name.
    pub const fn new(name: &'static str, what: &'static str, run: fn(&mut Vec<String>) -> Ended) -> Self {
        Self { name, what, run: Run::Call(run) }
    }

    /// The tests of one package.
    pub const fn of_package(package: &'static str) -> Self {
        Self { name: package, what: "its own tests", run: Run::TestsOfPackage }
    }

    fn run(&self, skipped: &mut Vec<String>) -> Ended {
        match self.run {
            Run::Call(call) => call(skipped),
            Run::TestsOfPackage => cargo::test_package(self.name, skipped),
        }
    }
}

/// All steps, the quickest to fail first. What builds in the same profile stands together.
pub const ALL: &[Step] = &[
    Step::new("fmt", "source is formatted", |_| cargo::fmt()),
    Step::new("tidy", "rules that no compiler checks", |_| tidy::tidy()),
    Step::new("package", "packages read nothing outside of themselves", |_| package::package()),
    Step::new("deny", "licences and origins of dependencies", |_| cargo::deny()),
    Step::new("clippy", "no lint anywhere", |_| cargo::clippy()),
    Step::new("module", "the Python module compiles, without a lint", |_| python::check()),
    Step::new("wasm", "the library compiles for WebAssembly, without a lint", |_| cargo::wasm()),
    Step::new("doc", "documentation without a broken link", |_| cargo::doc()),
    Step::new("test", "all tests except those in the documentation", cargo::test),
    Step::new("doctest", "the examples in the documentation", |_| cargo::doctest()),
    Step::new("python", "the Python module: tests, notebooks, types", python::test),
    Step::new("twice", "a study on one core and on two gives equal bytes", |_| twice::twice()),
    Step::new("mutate", "the program with changed inputs of every kind", |_| mutate::short()),
    Step::new("readme", "the commands of README and manual, run as written", |_| readme::readme()),
    Step::new("page", "the report page, rebuilt, is the committed one", |_| web::page()),
    Step::new("webtest", "the report page's tests", |_| web::test()),
];

/// What `ci --all` adds, before a release.
pub const BEFORE_RELEASE: &[Step] = &[Step::new("release", "the program as users build it", |_| cargo::release())];

/// The variable that has tests draw all that they can.
const DRAWS: &str = "SEEKWISE_DRAWS";

/// What `ci` runs.
pub fn due() -> Vec<Step> {
    let before_release = std::env::var_os(DRAWS).is_some_and(|draws| draws == "all");
    ALL.iter().chain(BEFORE_RELEASE.iter().filter(|_| before_release)).copied().collect()
}

/// `ci --all`: this program again, with all draws.
pub fn ci_all() -> ExitCode {
    let again = std::env::current_exe().and_then(|this| Command::new(this).arg("ci").env(DRAWS, "all").status());
    match again {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("`cargo xtask ci` did not start: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The step of this name.
pub fn named(name: &str) -> Option<Step> {
    ALL.iter().chain(BEFORE_RELEASE).find(|step| step.name == name).copied()
}

/// Has tests write what they compare with.
const UPDATE: &str = "SEEKWISE_UPDATE";

/// Runs steps and counts them.
pub fn run(steps: &[Step]) -> ExitCode {
    if std::env::var_os(UPDATE).is_some() {
        eprintln!("{UPDATE} is set: tests would write what they compare with; expected it unset");
        return ExitCode::from(2);
    }
    let (mut counts, mut lines, mut ends, mut skipped) = (Counts::default(), Vec::new(), String::new(), Vec::new());
    for step in steps {
        println!("==== {}: {}", step.name, step.what);
        let (start, mut inside) = (Instant::now(), Vec::new());
        let ended = step.run(&mut inside);
        let seconds = start.elapsed().as_secs_f64();
        counts.add(&ended, inside.len());
        let (word, reason) = match ended {
            Ended::Passed => ("passed", String::new()),
            Ended::Skipped(reason) => ("skipped", format!(": {reason}")),
            Ended::Failed(reason) => ("FAILED", format!(": {reason}")),
        };
        let (reason, end) = reason.split_once('\n').unwrap_or((&reason, ""));
        if !end.is_empty() {
            ends.push_str(&format!("==== {} FAILED{reason}\n{end}\n\n", step.name));
        }
        if word == "skipped" {
            skipped.push(format!("skipped: {}{reason}", step.name));
        }
        skipped.extend(inside.into_iter().map(|why| format!("skipped in {}: {why}", step.name)));
        lines.push(format!("{:8} {word:8} {seconds:7.1} s{reason}", step.name));
        println!("==== {}", lines[lines.len() - 1]);
    }
    let skipped: String = skipped.iter().map(|line| format!("{line}\n")).collect();
    println!("\n{}\n\n{ends}{skipped}{counts}", lines.join("\n"));
    if counts.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How many steps passed and failed, and how many steps and tests were skipped.
#[derive(Default)]
struct Counts {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Counts {
    /// Counts a step in which so many tests skipped themselves.
    fn add(&mut self, ended: &Ended, inside: usize) {
        let count = match ended {
            Ended::Passed => &mut self.passed,
            Ended::Failed(_) => &mut self.failed,
            Ended::Skipped(_) => &mut self.skipped,
        };
        *count += 1;
        self.skipped += inside;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// The reasons of tests that skipped themselves: ours print `skipped: …` or `skipped, …`, pytest `SKIPPED [1] …`.
fn skips(lines: &[String]) -> impl Iterator<Item = String> {
    let reason = |line: &String| {
        let rest = line.strip_prefix("skipped").or_else(|| line.strip_prefix("SKIPPED"))?;
        let reason = rest.trim_start_matches([':', ',', ' ']);
        (reason.len() < rest.len()).then(|| reason.to_owned())
    };
    lines.iter().filter_map(reason)
}

/// Runs tests in a folder whose output is complete, also that of passed ones; adds the reasons of those that skip themselves.
pub fn run_tests(folder: &Path, words: &[&str], environment: &[(&str, &str)], skipped: &mut Vec<String>) -> Ended {
    let (ended, output) = run_kept(folder, words, environment);
    skipped.extend(skips(&output.out).chain(skips(&output.err)));
    ended
}

/// Runs a command in the repository's folder; its own output stays visible.
pub fn command(words: &[&str], environment: &[(&str, &str)]) -> Ended {
    run_in(&crate::root(), words, environment)
}

/// Runs a command in a folder.
pub fn run_in(folder: &Path, words: &[&str], environment: &[(&str, &str)]) -> Ended {
    run_kept(folder, words, environment).0
}

/// Runs a command in a folder, and keeps what it prints.
fn run_kept(folder: &Path, words: &[&str], environment: &[(&str, &str)]) -> (Ended, Output) {
    let line = words.join(" ");
    println!("$ {line}");
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).envs(environment.iter().copied()).current_dir(folder);
    match shown(&mut command) {
        Ok((status, output)) if status.success() => (Ended::Passed, output),
        Ok((status, output)) => {
            let why = format!("`{line}` ended with {status}\n{}", excerpt(&output).join("\n"));
            (Ended::Failed(why), output)
        }
        Err(error) => (Ended::Failed(format!("`{line}` did not start: {error}")), Output::default()),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_last_line_counts_what_was_skipped_too() {
        let mut counts = Counts::default();
        counts.add(&Ended::Passed, 0);
        counts.add(&Ended::Passed, 2);
        counts.add(&Ended::Skipped("no node".to_owned()), 0);
        counts.add(&Ended::Failed("b".to_owned()), 0);
        assert_eq!(counts.to_string(), "2 passed, 1 failed, 3 skipped");
    }

    #[test]
    fn tests_that_skip_themselves_are_found() {
        let out = "test a ... ok\n---- a stdout ----\nskipped: no fio 3.33\nskipped, sqlite: no root\nskippedness\n\
                   SKIPPED [1] test_ray.py:3: no ray\n all skipped: no\n";
        let found: Vec<String> = skips(&lines(out)).collect();
        assert_eq!(found, ["no fio 3.33", "sqlite: no root", "[1] test_ray.py:3: no ray"]);
    }
}
