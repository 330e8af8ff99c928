//! Finds which faults each test reaches: every test runs alone, once, with no fault on. The answers are kept by the
//! hash of the test program, so that only the tests of changed programs run again.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use std::{fs, io, thread};

use serde_json::{Value, json};

use super::build::Program;
use super::child::{Sandbox, TestsEnd};
use super::tree;

/// The time after which a test is stopped, and left out.
const MAX_TEST_TIME: Duration = Duration::from_secs(300);

/// A test of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// The index of its program in the list.
    pub program_index: usize,
    /// The name that its program knows it by.
    pub name: String,
    /// Its time when it runs alone.
    pub seconds: f64,
    /// The faults that it reaches, in order.
    pub reached: Vec<u32>,
    /// The reason why it is left out: how it fails with no fault on.
    pub exclusion: Option<String>,
}

/// The file of kept answers.
fn record_path() -> std::path::PathBuf {
    tree::mutants_folder().join("reach.json")
}

/// All tests of all programs; those without a kept answer run.
pub fn load_or_measure_tests(programs: &[Program], jobs: usize) -> io::Result<Vec<Test>> {
    let mut known: BTreeMap<String, Value> =
        fs::read(record_path()).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    known.retain(|hash, _| programs.iter().any(|program| program.hash == *hash));
    for program in programs {
        // A test that failed may have had a reason that has gone.
        let passed: Vec<Value> = known.remove(&program.hash).and_then(passed_tests).unwrap_or_default();
        let is_known = |name: &String| passed.iter().any(|test| test["name"] == **name);
        let names: Vec<String> = list_tests(program)?.into_iter().filter(|name| !is_known(name)).collect();
        if names.is_empty() {
            known.insert(program.hash.clone(), Value::from(passed));
        } else {
            println!("reach: {} {}: {} tests", program.crate_folder, program.name, names.len());
            let measured: Vec<Value> = passed.into_iter().chain(measure_tests(program, &names, jobs)?).collect();
            known.insert(program.hash.clone(), Value::from(measured));
            fs::write(record_path(), serde_json::to_vec(&known)?)?;
        }
    }
    let tests_of = |(index, program): (usize, &Program)| -> Vec<Test> {
        known[&program.hash].as_array().into_iter().flatten().map(|test| parse_test(index, test)).collect()
    };
    Ok(programs.iter().enumerate().flat_map(tests_of).collect())
}

/// The tests that passed.
fn passed_tests(tests: Value) -> Option<Vec<Value>> {
    Some(tests.as_array()?.iter().filter(|test| test["unfit"].is_null()).cloned().collect())
}

/// The test of a kept answer.
pub fn parse_test(program_index: usize, test: &Value) -> Test {
    let reached = test["reached"].as_array().into_iter().flatten();
    Test {
        program_index,
        name: test["name"].as_str().unwrap_or("").to_owned(),
        seconds: test["seconds"].as_f64().unwrap_or(0.0),
        reached: reached.filter_map(Value::as_u64).map(|id| id as u32).collect(),
        exclusion: test["unfit"].as_str().map(str::to_owned),
    }
}

/// The tests of a program that are not ignored.
fn list_tests(program: &Program) -> io::Result<Vec<String>> {
    let list = |more: &[&str]| -> io::Result<Vec<String>> {
        let output = Command::new(&program.path)
            .args(["--list", "--format", "terse"])
            .args(more)
            .current_dir(&program.folder)
            .output()?;
        if !output.status.success() {
            return Err(io::Error::other(format!("{}: does not list its tests", program.path.display())));
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    };
    let ignored = list(&["--ignored"])?;
    Ok(list(&[])?.into_iter().filter(|name| !ignored.contains(name)).collect())
}

/// Runs tests of a program, each alone; returns the answers by name.
fn measure_tests(program: &Program, names: &[String], jobs: usize) -> io::Result<Vec<Value>> {
    let (next, answers) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = |job: usize| -> io::Result<()> {
        let sandbox = Sandbox::new(job)?;
        while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
            let answer = measure_test(&sandbox, program, name)?;
            answers.lock().unwrap_or_else(PoisonError::into_inner).push(answer);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let jobs: Vec<_> = (0..jobs).map(|job| scope.spawn(move || work(job))).collect();
        jobs.into_iter().try_for_each(|job| job.join().expect("no bug of ours"))
    })?;
    let mut sorted = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
    sorted.sort_by_key(|test: &Value| test["name"].as_str().unwrap_or("").to_owned());
    Ok(sorted)
}

/// Runs one test alone; returns the answer that is kept.
pub fn measure_test(sandbox: &Sandbox, program: &Program, name: &str) -> io::Result<Value> {
    let reached_path = sandbox.reached_path();
    let _ = fs::remove_file(&reached_path);
    let environment = ("SEEKWISE_FAULTS_REACHED", &*reached_path.to_string_lossy());
    let (end, took) = sandbox.run(program, &[name], environment, MAX_TEST_TIME)?;
    let exclusion = match end {
        TestsEnd::Passed => None,
        TestsEnd::Failed(_) => Some("fails with no fault on"),
        TestsEnd::Died(_) => Some("dies with no fault on"),
        TestsEnd::Stopped(_) => Some("takes too long with no fault on"),
    };
    let text = fs::read_to_string(&reached_path).unwrap_or_default();
    let mut reached: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
    reached.sort_unstable();
    reached.dedup();
    Ok(json!({"name": name, "seconds": took.as_secs_f64(), "reached": reached, "unfit": exclusion}))
}
