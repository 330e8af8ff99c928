//! The steps of `cargo xtask ci`. Each step ends as passed, as failed, or as skipped with the reason, and all are
//! tried, whatever failed before. Below their table the last output of each failed step is shown again, then the
//! reasons of skipped ones. The last line counts them; a test that skips itself inside a passed step, because a program
//! or a right is missing, counts as skipped too.

use std::fmt;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::Instant;

use crate::excerpt::{Output, excerpt};
use crate::{cargo, mutate, package, python, readme, tidy, twice, web};

/// How a step or a command ended.
pub enum Ended {
    /// The check passed.
    Passed,
    /// The check cannot run here; why.
    Skipped(String),
    /// The check failed; what is wrong. The first line stands in the table of steps, the others below it.
    Failed(String),
}

/// One step.
#[derive(Clone, Copy)]
pub struct Step {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it checks.
    pub description: &'static str,
    /// Runs the step; the reasons of tests that skip themselves are added to the list.
    run: Run,
}

/// The work of a step.
#[derive(Clone, Copy)]
enum Run {
    Call(fn(&mut Vec<String>) -> Ended),
    /// The tests of the package that the step is named by.
    TestsOfPackage,
}

impl Step {
    /// A step of this name.
    pub const fn new(name: &'static str, description: &'static str, run: fn(&mut Vec<String>) -> Ended) -> Self {
        Self { name, description, run: Run::Call(run) }
    }

    /// The tests of one package.
    pub const fn of_package(package: &'static str) -> Self {
        Self { name: package, description: "its own tests", run: Run::TestsOfPackage }
    }

    fn run(&self, skipped: &mut Vec<String>) -> Ended {
        match self.run {
            Run::Call(call) => call(skipped),
            Run::TestsOfPackage => cargo::test_package(self.name, skipped),
        }
    }
}

/// All steps, the quickest to fail first. Steps that build in one profile stand together.
pub const ALL: &[Step] = &[
    Step::new("fmt", "source is formatted", |_| cargo::fmt()),
    Step::new("tidy", "rules that no compiler checks", |_| tidy::tidy()),
    Step::new("package", "packages read nothing outside of themselves", |_| package::package()),
    Step::new("deny", "licences and origins of dependencies", |_| cargo::deny()),
    Step::new("clippy", "no lint anywhere", |_| cargo::clippy()),
    Step::new("module", "the Python module compiles, without a lint", |_| python::check()),
    Step::new("wasm", "the library is built for WebAssembly", |_| cargo::wasm()),
    Step::new("doc", "documentation without a broken link", |_| cargo::doc()),
    Step::new("test", "all tests except those in the documentation", cargo::test),
    Step::new("doctest", "the examples in the documentation", |_| cargo::doctest()),
    Step::new("python", "the Python module: tests, notebooks, types", python::test),
    Step::new("twice", "a study on one core and on two gives equal bytes", |_| twice::twice()),
    Step::new("mutate", "the program with changed inputs of every kind", |_| mutate::check_in_ci()),
    Step::new("readme", "the commands of README and manual, run as written", |_| readme::readme()),
    Step::new("explore", "the page Explore, and its figures, which are the program's", |_| web::test_explore()),
    // It writes the page anew, and what holds the page would be built again.
    Step::new("page", "the report page, rebuilt, is the committed one", |_| web::page()),
    Step::new("webtest", "the pages' tests", |_| web::test()),
];

/// The steps that `ci --all` adds, before a release.
pub const BEFORE_RELEASE: &[Step] = &[Step::new("release", "the program as users build it", |_| cargo::release())];

/// The variable by which tests make all their random draws.
const DRAWS_VARIABLE: &str = "SEEKWISE_DRAWS";

/// The steps that `ci` runs.
pub fn ci_steps() -> Vec<Step> {
    let before_release = std::env::var_os(DRAWS_VARIABLE).is_some_and(|draws| draws == "all");
    ALL.iter().chain(BEFORE_RELEASE.iter().filter(|_| before_release)).copied().collect()
}

/// Runs `ci --all`: this program once more, with all draws.
pub fn ci_all() -> ExitCode {
    let rerun =
        std::env::current_exe().and_then(|this| Command::new(this).arg("ci").env(DRAWS_VARIABLE, "all").status());
    match rerun {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("`cargo xtask ci` did not start: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The step of this name.
pub fn find_step(name: &str) -> Option<Step> {
    ALL.iter().chain(BEFORE_RELEASE).find(|step| step.name == name).copied()
}

/// The variable by which tests rewrite the files that they compare with.
const UPDATE_VARIABLE: &str = "SEEKWISE_UPDATE";

/// Runs steps, prints how each ended, and counts them.
pub fn run_steps(steps: &[Step]) -> ExitCode {
    if std::env::var_os(UPDATE_VARIABLE).is_some() {
        eprintln!("{UPDATE_VARIABLE} is set: tests would write what they compare with; expected it unset");
        return ExitCode::from(2);
    }
    let (mut counts, mut table, mut failures, mut skipped) = (Counts::default(), Vec::new(), String::new(), Vec::new());
    for step in steps {
        println!("==== {}: {}", step.name, step.description);
        let (start, mut skipped_tests) = (Instant::now(), Vec::new());
        let ended = step.run(&mut skipped_tests);
        let seconds = start.elapsed().as_secs_f64();
        counts.add(&ended, skipped_tests.len());
        let (word, reason) = match ended {
            Ended::Passed => ("passed", String::new()),
            Ended::Skipped(reason) => ("skipped", format!(": {reason}")),
            Ended::Failed(reason) => ("FAILED", format!(": {reason}")),
        };
        let (reason, excerpt) = reason.split_once('\n').unwrap_or((&reason, ""));
        if !excerpt.is_empty() {
            failures.push_str(&format!("==== {} FAILED{reason}\n{excerpt}\n\n", step.name));
        }
        if word == "skipped" {
            skipped.push(format!("skipped: {}{reason}", step.name));
        }
        skipped.extend(skipped_tests.into_iter().map(|why| format!("skipped in {}: {why}", step.name)));
        table.push(format!("{:8} {word:8} {seconds:7.1} s{reason}", step.name));
        println!("==== {}", table[table.len() - 1]);
    }
    let skipped_lines: String = skipped.iter().map(|line| format!("{line}\n")).collect();
    println!("\n{}\n\n{failures}{skipped_lines}{counts}", table.join("\n"));
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
    fn add(&mut self, ended: &Ended, skipped_tests: usize) {
        let count = match ended {
            Ended::Passed => &mut self.passed,
            Ended::Failed(_) => &mut self.failed,
            Ended::Skipped(_) => &mut self.skipped,
        };
        *count += 1;
        self.skipped += skipped_tests;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// The reasons in the output of tests that skipped themselves: ours print `skipped: …` or `skipped, …`, pytest prints
/// `SKIPPED [1] …`.
fn skip_reasons(lines: &[String]) -> impl Iterator<Item = String> {
    let reason = |line: &String| {
        let rest = line.strip_prefix("skipped").or_else(|| line.strip_prefix("SKIPPED"))?;
        let reason = rest.trim_start_matches([':', ',', ' ']);
        (reason.len() < rest.len()).then(|| reason.to_owned())
    };
    lines.iter().filter_map(reason)
}

/// Runs tests in a folder; adds the reasons of those that skip themselves. The command must also show the output of
/// passed tests.
pub fn run_tests(folder: &Path, words: &[&str], environment: &[(&str, &str)], skipped: &mut Vec<String>) -> Ended {
    let (ended, output) = run_and_keep_output(folder, words, environment);
    skipped.extend(skip_reasons(&output.out).chain(skip_reasons(&output.err)));
    ended
}

/// Runs a command in the root folder; its output stays visible.
pub fn command(words: &[&str], environment: &[(&str, &str)]) -> Ended {
    run_in(&crate::root(), words, environment)
}

/// Runs a command in a folder.
pub fn run_in(folder: &Path, words: &[&str], environment: &[(&str, &str)]) -> Ended {
    run_and_keep_output(folder, words, environment).0
}

/// Runs a command in a folder, and keeps what it prints.
fn run_and_keep_output(folder: &Path, words: &[&str], environment: &[(&str, &str)]) -> (Ended, Output) {
    let line = words.join(" ");
    println!("$ {line}");
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).envs(environment.iter().copied()).current_dir(folder);
    match run_and_show(&mut command) {
        Ok((status, output)) if status.success() => (Ended::Passed, output),
        Ok((status, output)) => {
            let why = format!("`{line}` ended with {status}\n{}", excerpt(&output).join("\n"));
            (Ended::Failed(why), output)
        }
        Err(error) => (Ended::Failed(format!("`{line}` did not start: {error}")), Output::default()),
    }
}

/// Runs a command, shows its output as it comes, and returns it.
pub fn run_and_show(command: &mut Command) -> std::io::Result<(ExitStatus, Output)> {
    // Cargo sees a pipe, and would leave colours out.
    if std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (out, err) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let errors = std::thread::spawn(move || copy_lines(err, std::io::stderr()));
    let out = copy_lines(out, std::io::stdout())?;
    let err = errors.join().expect("passing lines on does not panic")?;
    Ok((child.wait()?, Output { out, err }))
}

/// Copies all input to the output, and returns its lines.
fn copy_lines(input: impl Read, mut output: impl Write) -> std::io::Result<Vec<String>> {
    let (mut reader, mut lines, mut line) = (BufReader::new(input), Vec::new(), Vec::new());
    while reader.read_until(b'\n', &mut line)? > 0 {
        // If nobody reads our output any more, the command goes on all the same.
        let _ = output.write_all(&line).and_then(|()| output.flush());
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
        let found: Vec<String> = skip_reasons(&lines(out)).collect();
        assert_eq!(found, ["no fio 3.33", "sqlite: no root", "[1] test_ray.py:3: no ray"]);
    }
}
