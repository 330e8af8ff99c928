//! Which faults each test reaches: every test alone, once, with no fault on. Kept by the hash of its program, so that only
//! programs that changed are asked again.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use std::{fs, io, thread};

use serde_json::{Value, json};

use super::build::Program;
use super::child::{End, Place};
use super::tree;

/// A test that takes longer is left out.
const LONGEST: Duration = Duration::from_secs(300);

/// A test.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// Its program, by its place in the list.
    pub program: usize,
    /// Its name.
    pub name: String,
    /// How long it takes alone.
    pub seconds: f64,
    /// The faults that it reaches, in order.
    pub reached: Vec<u32>,
    /// Why it is left out: it fails with no fault on.
    pub unfit: Option<String>,
}

fn record() -> std::path::PathBuf {
    tree::home().join("reach.json")
}

/// All tests of all programs, asked where that is not known.
pub fn tests(programs: &[Program], jobs: usize) -> io::Result<Vec<Test>> {
    let mut known: BTreeMap<String, Value> =
        fs::read(record()).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    known.retain(|hash, _| programs.iter().any(|program| program.hash == *hash));
    for program in programs {
        // A test that failed may have had a reason that has gone.
        let fit: Vec<Value> = known.remove(&program.hash).and_then(fit_ones).unwrap_or_default();
        let is_known = |name: &String| fit.iter().any(|test| test["name"] == **name);
        let names: Vec<String> = listed(program)?.into_iter().filter(|name| !is_known(name)).collect();
        if names.is_empty() {
            known.insert(program.hash.clone(), Value::from(fit));
        } else {
            println!("reach: {} {}: {} tests", program.home, program.name, names.len());
            let asked: Vec<Value> = fit.into_iter().chain(ask(program, &names, jobs)?).collect();
            known.insert(program.hash.clone(), Value::from(asked));
            fs::write(record(), serde_json::to_vec(&known)?)?;
        }
    }
    let own = |(number, program): (usize, &Program)| -> Vec<Test> {
        known[&program.hash].as_array().into_iter().flatten().map(|test| read(number, test)).collect()
    };
    Ok(programs.iter().enumerate().flat_map(own).collect())
}

/// The tests that passed.
fn fit_ones(asked: Value) -> Option<Vec<Value>> {
    Some(asked.as_array()?.iter().filter(|test| test["unfit"].is_null()).cloned().collect())
}

/// A test as it was asked.
pub fn read(program: usize, test: &Value) -> Test {
    let reached = test["reached"].as_array().into_iter().flatten();
    Test {
        program,
        name: test["name"].as_str().unwrap_or("").to_owned(),
        seconds: test["seconds"].as_f64().unwrap_or(0.0),
        reached: reached.filter_map(Value::as_u64).map(|id| id as u32).collect(),
        unfit: test["unfit"].as_str().map(str::to_owned),
    }
}

/// The tests of a program that are not ignored.
fn listed(program: &Program) -> io::Result<Vec<String>> {
    let list = |also: &[&str]| -> io::Result<Vec<String>> {
        let output = Command::new(&program.path)
            .args(["--list", "--format", "terse"])
            .args(also)
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

fn ask(program: &Program, names: &[String], jobs: usize) -> io::Result<Vec<Value>> {
    let (next, asked) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = |job: usize| -> io::Result<()> {
        let place = Place::new(job)?;
        while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
            let test = one(&place, program, name)?;
            asked.lock().unwrap_or_else(PoisonError::into_inner).push(test);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let jobs: Vec<_> = (0..jobs).map(|job| scope.spawn(move || work(job))).collect();
        jobs.into_iter().try_for_each(|job| job.join().expect("no bug of ours"))
    })?;
    let mut asked = asked.into_inner().unwrap_or_else(PoisonError::into_inner);
    asked.sort_by_key(|test: &Value| test["name"].as_str().unwrap_or("").to_owned());
    Ok(asked)
}

/// Asks one test.
pub fn one(place: &Place, program: &Program, name: &str) -> io::Result<Value> {
    let file = place.reached();
    let _ = fs::remove_file(&file);
    let record = ("SEEKWISE_FAULTS_REACHED", &*file.to_string_lossy());
    let (end, took) = place.run(program, &[name], record, LONGEST)?;
    let unfit = match end {
        End::Passed => None,
        End::Failed(_) => Some("fails with no fault on"),
        End::Died(_) => Some("dies with no fault on"),
        End::Stopped(_) => Some("takes too long with no fault on"),
    };
    let text = fs::read_to_string(&file).unwrap_or_default();
    let mut reached: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
    reached.sort_unstable();
    reached.dedup();
    Ok(json!({"name": name, "seconds": took.as_secs_f64(), "reached": reached, "unfit": unfit}))
}
