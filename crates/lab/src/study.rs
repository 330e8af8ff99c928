//! Runs a study: every cell, every run, handed on in the plan's order. In virtual time runs stand side by side on all
//! cores, whatever finishes first; where one is measured they come one after another.

use std::collections::BTreeMap;
use std::sync::mpsc;

use rayon::prelude::*;
use seekwise_formats::diagnostic::Diagnostic;
use seekwise_formats::metric::Whose;
use seekwise_formats::study::Study;
use seekwise_targets::place::RunError;

use crate::cut::{self, view::Plan};
use crate::made::MadeFrom;
use crate::plan::Prepared;
use crate::run::{Cuts, Measured, RunRecord, measure};

/// What came of one run.
pub type RunResult = Result<RunRecord, RunError>;

/// Whether the cuts that `study` asks for can be judged in every cell: known before the first run. `file` names it in errors.
pub fn check(file: &str, study: &Study, prepared: &[Prepared]) -> Result<(), Vec<Diagnostic>> {
    for Prepared { target, .. } in prepared {
        for (key, count) in [("cuts", study.cuts), ("shutdowns", study.shutdowns)] {
            if count.is_some() {
                cut::modelled(target).and_then(Plan::of).map_err(|why| vec![Diagnostic::at(file, 0, why).key(key)])?;
            }
        }
    }
    jobs_judged(file, study, prepared)
}

/// Every job that a metric names is one that each cell has.
fn jobs_judged(file: &str, study: &Study, prepared: &[Prepared]) -> Result<(), Vec<Diagnostic>> {
    for metric in study.compare.iter().map(|compare| &compare.metric) {
        let Whose::Job(name) = &metric.whose else { continue };
        let names =
            |prepared: &Prepared| prepared.job.workers.iter().map(|worker| worker.name.clone()).collect::<Vec<_>>();
        if let Some(mut names) = prepared.iter().map(names).find(|names| !names.contains(name)) {
            names.dedup();
            let fault = Diagnostic::at(file, 0, format!("no worker of the job is called `{name}`")).key("metric");
            return Err(vec![fault.expected(names.join(", ")).nearest_to(name, names.iter().map(String::as_str))]);
        }
    }
    Ok(())
}

/// Whether its runs are measured, so that they must come one after another.
pub fn is_measured(prepared: &[Prepared]) -> bool {
    prepared.iter().any(|cell| cell.target.is_measured())
}

/// Runs what of `study` is not `done` (that many runs from the plan's beginning), on `threads` cores (0: all), the
/// first run of each cell with the first of the seeds.
/// `each` gets the records in the plan's order ([`MadeFrom::order`]). Stops when `each` answers `false`.
pub fn execute(
    study: &Study,
    prepared: &[Prepared],
    made: &MadeFrom,
    done: usize,
    threads: usize,
    mut each: impl FnMut(RunResult) -> bool + Send,
) {
    let one = |(cell, run): (usize, usize)| one(study, prepared, made.seeds[run], cell, run);
    let mut order = made.order();
    let todo = order.split_off(done.min(order.len()));
    if is_measured(prepared) {
        // Nothing stands beside a run that is measured.
        let _ = todo.into_iter().map(one).all(each);
        return;
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
    let (sender, receiver) = mpsc::channel::<(usize, RunResult)>();
    let stop = std::sync::atomic::AtomicBool::new(false);
    pool.in_place_scope(|scope| {
        let (stop, one) = (&stop, &one);
        scope.spawn(move |_| {
            todo.into_par_iter().enumerate().with_max_len(1).for_each_with(sender, |sender, (index, of)| {
                if !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let _ = sender.send((index, one(of)));
                }
            });
        });
        let mut early: BTreeMap<usize, RunResult> = BTreeMap::new();
        let mut next = 0;
        for (index, result) in receiver {
            early.insert(index, result);
            while let Some(result) = early.remove(&next) {
                next += 1;
                if !each(result) {
                    stop.store(true, std::sync::atomic::Ordering::Relaxed);
                    return;
                }
            }
        }
    });
}

fn one(study: &Study, prepared: &[Prepared], seed: u64, cell: usize, run: usize) -> RunResult {
    let cell_of = &prepared[cell];
    let Prepared { target, job, .. } = cell_of;
    let record = record(cell_of, &measure(target, job, seed, |_| {})?, seed);
    let [cuts, shutdowns] = match target.stack() {
        Some(stack) => [
            study.cuts.map(|cuts| cut::cuts(stack, job, seed, cuts)).transpose()?,
            study.shutdowns.map(|count| cut::shutdowns(stack, job, seed, count)).transpose()?,
        ],
        None => [None, None],
    };
    let [cuts, shutdowns] = [cuts, shutdowns].map(|report| report.as_ref().map(Cuts::of));
    Ok(RunRecord { cell, run: run as u32, cuts, shutdowns, ..record })
}

/// The record of a run of a cell, as the first run of the first.
pub fn record(prepared: &Prepared, measured: &Measured, seed: u64) -> RunRecord {
    let Prepared { target, job, hash, warnings, .. } = prepared;
    let warnings = warnings.iter().map(ToString::to_string).collect();
    let record = measured.record(target.name(), &job.name, seed, warnings);
    RunRecord { cell_hash: hash.clone(), ..record }
}
