//! Plants faults in the crates by a seed, all in one build and each behind a switch, and finds which tests notice them.
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
//! A fault is off unless the variable `SEEKWISE_FAULT` has its number, in a program and in all that it starts: one
//! build serves all of them. The same seed and the same sources, tests aside, give the same faults. Everything lies in
//! `target/mutants`: the copy, its build, which tests reach what (`reach.json`), and the report (`report.md`,
//! `report.json`).
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
use self::report::FaultOutcome;
use self::trial::Verdict;

/// The command's options.
struct MutantsOptions {
    seed: u64,
    faults: usize,
    files: Vec<String>,
    time_budget: Option<Duration>,
    jobs: usize,
    retried_ids: BTreeSet<u32>,
}

/// `cargo xtask mutants --seed S --faults N --files PATH,… --budget MINUTES --jobs J --again ID,…`.
pub fn mutants(arguments: &[&str]) -> ExitCode {
    let Some(options) = parse_options(arguments) else {
        eprintln!(
            "{arguments:?}: expected --seed S, --faults N, --files PATH,… (what paths begin with), --budget MINUTES (of the \
             trials), --jobs J, --again ID,… (these alone, once more)"
        );
        return ExitCode::from(2);
    };
    match plant_and_try(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn parse_options(arguments: &[&str]) -> Option<MutantsOptions> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut options = MutantsOptions {
        seed: 1,
        faults: 400,
        files: Vec::new(),
        time_budget: None,
        jobs: cores,
        retried_ids: BTreeSet::new(),
    };
    for pair in arguments.chunks(2) {
        let value = *pair.get(1)?;
        match pair[0] {
            "--seed" => options.seed = value.parse().ok()?,
            "--faults" => options.faults = value.parse().ok()?,
            "--files" => options.files = value.split(',').map(str::to_owned).collect(),
            "--budget" => {
                options.time_budget = Some(Duration::try_from_secs_f64(value.parse::<f64>().ok()? * 60.0).ok()?)
            }
            "--jobs" => options.jobs = value.parse().ok().filter(|jobs| *jobs > 0)?,
            "--again" => options.retried_ids = value.split(',').map(|id| id.parse().ok()).collect::<Option<_>>()?,
            _ => return None,
        }
    }
    Some(options)
}

/// Plants faults, tries them and prints the report; returns whether enough are noticed.
fn plant_and_try(options: &MutantsOptions) -> Result<bool, String> {
    let error_text = |why: io::Error| why.to_string();
    let root = crate::root();
    let texts = tree::read_sources(&root).map_err(error_text)?;
    let equal_entries = equal::parse_entries(&fs::read_to_string(root.join(equal::LIST_PATH)).map_err(error_text)?)?;
    equal::stale_entry_messages(&equal_entries, &texts).iter().for_each(|line| println!("{line}"));
    let (faults, sites) = choose_faults(options, &texts)?;
    println!("{} faults at {sites} sites in {} files, seed {}", faults.len(), texts.len(), options.seed);
    let (build_start, mut dropped) = (Instant::now(), tree::read_dropped(&texts, &faults));
    let programs = build::build_test_programs(&mut dropped, |dropped| {
        tree::write_dropped(&texts, &faults, dropped)?;
        tree::write_copy(&root, &texts, &faults, dropped)
    })?;
    println!("built {} faults in {:.0} s", faults.len() - dropped.len(), build_start.elapsed().as_secs_f64());
    let reach_start = Instant::now();
    fs::create_dir_all(build::build_folder().join("tmp")).map_err(error_text)?;
    let tests = reach::load_or_measure_tests(&programs, options.jobs).map_err(error_text)?;
    println!("{} tests, which reach what in {:.0} s", tests.len(), reach_start.elapsed().as_secs_f64());
    let lines: Vec<String> = faults
        .iter()
        .map(|fault| texts[&fault.site.file].lines().nth(fault.site.line - 1).unwrap_or("").to_owned())
        .collect();
    let head = format!("{} of {sites} sites, seed {}, {} tests.", faults.len(), options.seed, tests.len());
    let earlier_bytes =
        fs::read(tree::mutants_folder().join("report.json")).ok().filter(|_| !options.retried_ids.is_empty());
    let earlier_report = earlier_bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let outcomes = report::initial_outcomes(&faults, &dropped, &lines, &equal_entries, &earlier_report);
    let trials = Trials {
        head,
        programs,
        tests,
        outcomes: Mutex::new(outcomes),
        deadline: options.time_budget.map(|time_budget| Instant::now() + time_budget),
    };
    for by_own_crate in [true, false] {
        trials.try_all(options, by_own_crate).map_err(error_text)?;
    }
    let outcomes = trials.outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("\n{}Survivors:\n{}", report::summary_tables(&outcomes), report::list_survivors(&outcomes));
    println!("{}", tree::mutants_folder().join("report.md").display());
    let shortfalls = report::shortfalls(&outcomes);
    shortfalls.iter().for_each(|line| println!("{line}"));
    Ok(shortfalls.is_empty())
}

/// The faults that the options choose, and the number of sites.
fn choose_faults(options: &MutantsOptions, texts: &BTreeMap<String, String>) -> Result<(Vec<Fault>, usize), String> {
    let mut sites = tree::find_all_sites(texts)?;
    let is_named =
        |file: &str| options.files.is_empty() || options.files.iter().any(|start| file.starts_with(start.as_str()));
    sites.retain(|site| is_named(&site.file));
    let count = sites.len();
    Ok((plant::choose_faults(sites, texts, options.seed, options.faults), count))
}

/// Everything that trials need, and their outcomes.
struct Trials {
    head: String,
    programs: Vec<Program>,
    tests: Vec<Test>,
    outcomes: Mutex<Vec<FaultOutcome>>,
    deadline: Option<Instant>,
}

impl Trials {
    /// Tries every fault by the tests of its own crate, or each fault that is left by the tests of the other crates.
    /// The order mixes the crates, so that an expired budget has tried some faults of each.
    fn try_all(&self, options: &MutantsOptions, by_own_crate: bool) -> io::Result<()> {
        let next = AtomicUsize::new(0);
        let count = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner).len();
        let shuffled = plant::shuffle((0..count).collect(), options.seed);
        let work = |job: usize| -> io::Result<()> {
            let sandbox = child::Sandbox::new(job)?;
            loop {
                let Some(index) = shuffled.get(next.fetch_add(1, Ordering::Relaxed)) else { return Ok(()) };
                if self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
                    return Ok(());
                }
                self.try_fault(options, &sandbox, *index, by_own_crate)?;
            }
        };
        let work = &work;
        thread::scope(|scope| {
            let jobs: Vec<_> = (0..options.jobs).map(|job| scope.spawn(move || work(job))).collect();
            jobs.into_iter().try_for_each(|job| job.join().expect("no bug of ours"))
        })
    }

    fn try_fault(
        &self,
        options: &MutantsOptions,
        sandbox: &child::Sandbox,
        index: usize,
        by_own_crate: bool,
    ) -> io::Result<()> {
        let (fault, is_wanted) = {
            let outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
            let outcome = &outcomes[index];
            let is_named = options.retried_ids.is_empty() || options.retried_ids.contains(&outcome.fault.id);
            (outcome.fault.clone(), outcome.is_built && is_named && (by_own_crate || !outcome.own_verdict.is_noticed()))
        };
        if !is_wanted {
            return Ok(());
        }
        let groups = trial::group_tests(&fault, &self.programs, &self.tests, by_own_crate);
        let verdict = trial::try_fault(sandbox, &fault, &self.programs, &groups)?;
        println!(
            "{} {}:{} {}: {}",
            fault.id,
            fault.site.file,
            fault.site.line,
            if by_own_crate { "own" } else { "others" },
            verdict.text()
        );
        let mut outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = &mut outcomes[index];
        // Verdicts by other crates on an earlier build no longer count.
        (outcome.own_verdict, outcome.others_verdict) =
            if by_own_crate { (verdict, Verdict::Untried) } else { (outcome.own_verdict.clone(), verdict) };
        fs::write(tree::mutants_folder().join("report.md"), report::render_report(&self.head, &outcomes, &self.tests))?;
        fs::write(tree::mutants_folder().join("report.json"), report::outcomes_json(&outcomes).to_string())
    }
}

#[cfg(test)]
mod tests;
