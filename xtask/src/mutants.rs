//! Faults planted in the crates by a seed, all in one build behind a switch, and which tests notice them.
//!
//! | file | what it does |
//! |---|---|
//! | `sites` | where a fault can stand, read from the syntax tree |
//! | `plant` | which faults a seed chooses, and the source with their switches |
//! | `tree` | the copy of the repository that is built |
//! | `build` | its build; what does not build is dropped |
//! | `child` | tests in a child with limits, where a fault can do no harm |
//! | `reach` | which faults each test reaches, and how long it takes |
//! | `trial` | the tests that could notice, the quickest first, until one does |
//! | `equal` | the committed list of faults that change nothing |
//! | `report` | tables and survivors |
//!
//! A fault is off unless the variable `SEEKWISE_FAULT` has its number, in a program and in all that it starts: one build serves
//! all of them. The same seed and the same sources, tests aside, give the same faults. Everything lies in `target/mutants`:
//! the copy, its build, which tests reach what (`reach.json`), and the report (`report.md`, `report.json`).
//!
//! Tests of documentation and of the Python module are not run.

mod build;
mod child;
mod equal;
mod plant;
mod reach;
mod report;
mod sites;
mod tree;
mod trial;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use self::build::Program;
use self::plant::Fault;
use self::reach::Test;
use self::report::Outcome;
use self::trial::Verdict;

/// What is asked for.
struct Order {
    seed: u64,
    faults: usize,
    files: Vec<String>,
    budget: Option<Duration>,
    jobs: usize,
    again: BTreeSet<u32>,
}

/// `cargo xtask mutants --seed S --faults N --files PATH,… --budget MINUTES --jobs J --again ID,…`.
pub fn mutants(arguments: &[&str]) -> ExitCode {
    let Some(asked) = order(arguments) else {
        eprintln!(
            "{arguments:?}: expected --seed S, --faults N, --files PATH,… (what paths begin with), --budget MINUTES (of the \
             trials), --jobs J, --again ID,… (these alone, once more)"
        );
        return ExitCode::from(2);
    };
    match run(&asked) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn order(arguments: &[&str]) -> Option<Order> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut order =
        Order { seed: 1, faults: 400, files: Vec::new(), budget: None, jobs: cores, again: BTreeSet::new() };
    for pair in arguments.chunks(2) {
        let value = *pair.get(1)?;
        match pair[0] {
            "--seed" => order.seed = value.parse().ok()?,
            "--faults" => order.faults = value.parse().ok()?,
            "--files" => order.files = value.split(',').map(str::to_owned).collect(),
            "--budget" => order.budget = Some(Duration::try_from_secs_f64(value.parse::<f64>().ok()? * 60.0).ok()?),
            "--jobs" => order.jobs = value.parse().ok().filter(|jobs| *jobs > 0)?,
            "--again" => order.again = value.split(',').map(|id| id.parse().ok()).collect::<Option<_>>()?,
            _ => return None,
        }
    }
    Some(order)
}

/// Whether enough are noticed.
fn run(order: &Order) -> Result<bool, String> {
    let said = |why: io::Error| why.to_string();
    let root = crate::root();
    let texts = tree::sources(&root).map_err(said)?;
    let list = equal::entries(&fs::read_to_string(root.join(equal::LIST)).map_err(said)?)?;
    equal::stale(&list, &texts).iter().for_each(|line| println!("{line}"));
    let (faults, sites) = planted(order, &texts)?;
    println!("{} faults at {sites} sites in {} files, seed {}", faults.len(), texts.len(), order.seed);
    let (start, mut dropped) = (Instant::now(), tree::known_dropped(&texts, &faults));
    let programs = build::build(&mut dropped, |dropped| {
        tree::keep_dropped(&texts, &faults, dropped)?;
        tree::write(&root, &texts, &faults, dropped)
    })?;
    println!("built {} faults in {:.0} s", faults.len() - dropped.len(), start.elapsed().as_secs_f64());
    let start = Instant::now();
    fs::create_dir_all(build::target().join("tmp")).map_err(said)?;
    let tests = reach::tests(&programs, order.jobs).map_err(said)?;
    println!("{} tests, which reach what in {:.0} s", tests.len(), start.elapsed().as_secs_f64());
    let lines: Vec<String> = faults
        .iter()
        .map(|fault| texts[&fault.site.file].lines().nth(fault.site.line - 1).unwrap_or("").to_owned())
        .collect();
    let head = format!("{} of {sites} sites, seed {}, {} tests.", faults.len(), order.seed, tests.len());
    let earlier = fs::read(tree::home().join("report.json")).ok().filter(|_| !order.again.is_empty());
    let earlier = earlier.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let outcomes = report::start(&faults, &dropped, &lines, &list, &earlier);
    let court = Court {
        head,
        programs,
        tests,
        outcomes: Mutex::new(outcomes),
        until: order.budget.map(|budget| Instant::now() + budget),
    };
    for own in [true, false] {
        court.sit(order, own).map_err(said)?;
    }
    let outcomes = court.outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("\n{}Survivors:\n{}", report::summary(&outcomes), report::survivors(&outcomes));
    println!("{}", tree::home().join("report.md").display());
    let short = report::short(&outcomes);
    short.iter().for_each(|line| println!("{line}"));
    Ok(short.is_empty())
}

/// The faults of an order, and how many sites there were.
fn planted(order: &Order, texts: &BTreeMap<String, String>) -> Result<(Vec<Fault>, usize), String> {
    let mut sites = tree::all_sites(texts)?;
    let is_named =
        |file: &str| order.files.is_empty() || order.files.iter().any(|start| file.starts_with(start.as_str()));
    sites.retain(|site| is_named(&site.file));
    let count = sites.len();
    Ok((plant::choose(sites, texts, order.seed, order.faults), count))
}

/// All that trials need, and what came of them.
struct Court {
    head: String,
    programs: Vec<Program>,
    tests: Vec<Test>,
    outcomes: Mutex<Vec<Outcome>>,
    until: Option<Instant>,
}

impl Court {
    /// Tries every fault by the tests of its own crate, or those left by the tests of the others: crates mixed, so that a budget that ends
    /// has tried some of each.
    fn sit(&self, order: &Order, own: bool) -> io::Result<()> {
        let next = AtomicUsize::new(0);
        let count = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner).len();
        let shuffled = plant::shuffle((0..count).collect(), order.seed);
        let work = |job: usize| -> io::Result<()> {
            let place = child::Place::new(job)?;
            loop {
                let Some(at) = shuffled.get(next.fetch_add(1, Ordering::Relaxed)) else { return Ok(()) };
                if self.until.is_some_and(|until| Instant::now() > until) {
                    return Ok(());
                }
                self.one(order, &place, *at, own)?;
            }
        };
        let work = &work;
        thread::scope(|scope| {
            let jobs: Vec<_> = (0..order.jobs).map(|job| scope.spawn(move || work(job))).collect();
            jobs.into_iter().try_for_each(|job| job.join().expect("no bug of ours"))
        })
    }

    fn one(&self, order: &Order, place: &child::Place, at: usize, own: bool) -> io::Result<()> {
        let (fault, wanted) = {
            let outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
            let outcome = &outcomes[at];
            let is_named = order.again.is_empty() || order.again.contains(&outcome.fault.id);
            (outcome.fault.clone(), outcome.is_built && is_named && (own || !outcome.own.is_noticed()))
        };
        if !wanted {
            return Ok(());
        }
        let groups = trial::groups(&fault, &self.programs, &self.tests, own);
        let verdict = trial::trial(place, &fault, &self.programs, &groups)?;
        println!(
            "{} {}:{} {}: {}",
            fault.id,
            fault.site.file,
            fault.site.line,
            if own { "own" } else { "others" },
            verdict.word()
        );
        let mut outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = &mut outcomes[at];
        // What others said of an earlier build counts no more.
        (outcome.own, outcome.others) = if own { (verdict, Verdict::Untried) } else { (outcome.own.clone(), verdict) };
        fs::write(tree::home().join("report.md"), report::report(&self.head, &outcomes, &self.tests))?;
        fs::write(tree::home().join("report.json"), report::json(&outcomes).to_string())
    }
}

#[cfg(test)]
mod tests;
