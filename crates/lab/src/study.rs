//! Runs a study: every cell, every run, handed on in the plan's order. In virtual time runs go side by side on all
//! cores, whatever finishes first; if any is measured, they go one after another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc;

use rayon::prelude::*;
use seekwise_formats::diagnostic::Diagnostic;
use seekwise_formats::metric::{Metric, MetricScope, Statistic};
use seekwise_formats::study::{ComparisonSpec, Study};
use seekwise_run::outcome::RunError;

use crate::certificate::certificate;
use crate::cut;
use crate::plan::{self, PreparedCell};
use crate::provenance::StudyProvenance;
use crate::run::{CutRecord, IssuerFigures, MeasuredRun, RunRecord, measure};

/// The result of a run.
pub type CellRunResult = Result<RunRecord, RunError>;

/// Runs of other plans, by what they ran: they need not run again.
#[derive(Default)]
pub struct EarlierRuns(BTreeMap<Key, RunRecord>);

/// Everything that makes a record, except its place in a plan: hash, names, warnings, seed, cuts and shutdowns.
type Key = (String, [String; 2], Vec<String>, u64, [Option<u32>; 2]);

fn key(study: &Study, prepared: &PreparedCell, seed: u64) -> Key {
    let names = [prepared.target.name(), prepared.job.name().to_owned()];
    (prepared.hash.clone(), names, warnings(prepared), seed, [study.cuts, study.shutdowns])
}

impl EarlierRuns {
    /// Adds the `records` of a plan, which need not run again.
    pub fn add(&mut self, study: &Study, prepared: &[PreparedCell], records: &[RunRecord]) {
        for record in records {
            self.0.insert(key(study, &prepared[record.cell], record.seed), record.clone());
        }
    }
}

/// Checks, before the first run, that the cuts of `study` can be judged in every cell. `file` names it in errors.
pub fn check(file: &str, study: &Study, prepared: &[PreparedCell]) -> Result<(), Vec<Diagnostic>> {
    for PreparedCell { target, job, .. } in prepared {
        for (key, count) in [("cuts", study.cuts), ("shutdowns", study.shutdowns)] {
            if count.is_some() {
                let plan = cut::modelled(target).and_then(|stack| cut::judged(stack, job));
                plan.map_err(|why| vec![Diagnostic::at(file, 0, why).key(key)])?;
            }
        }
    }
    jobs_judged(file, study, prepared)?;
    operations_named(file, study, prepared)
}

/// Sets the metric if a comparison names none: how long a scene takes; if every request comes by a rate or a trace, so
/// that throughput is given, the response time since they were due.
pub fn judge(study: &mut Study, made: &StudyProvenance) {
    if (0..made.cells.len()).all(|cell| is_arrival_driven(made, cell)) {
        study.judge(&Metric::of_all(Statistic::SinceDue));
    }
    if (0..made.cells.len()).all(|cell| made.setting(cell, "system.family").is_some()) {
        study.judge(&Metric::of_all(Statistic::Elapsed));
    }
}

/// True if every request of a cell is due at an instant of its own: each of its workers has a rate in every direction,
/// or a trace is played at its recorded instants.
fn is_arrival_driven(made: &StudyProvenance, cell: usize) -> bool {
    let says = |key: &str, given: fn(&str) -> bool| made.setting(cell, key).is_some_and(|it| given(&it.value));
    says("job.rate.limit", |rates| !rates.contains("none")) || says("trace.loop", |mode| mode == "open")
}

/// Checks that every program whose operations an expression names is in some cell. A part of a plan is not checked: the
/// program may be in the rest.
fn operations_named(file: &str, study: &Study, prepared: &[PreparedCell]) -> Result<(), Vec<Diagnostic>> {
    if prepared.len() < plan::cells(study).len() {
        return Ok(());
    }
    let mut known: Vec<String> = prepared.iter().filter(|cell| cell.job.scene().is_some()).flat_map(programs).collect();
    known.sort_unstable();
    known.dedup();
    let expressions =
        study.claim.iter().flat_map(|claim| claim.check.iter().chain(&claim.decided_if).chain(&claim.show));
    for name in expressions.flat_map(|expression| expression.body.named()) {
        let Some(program) = name.strip_prefix("operations.").and_then(program_of) else { continue };
        if !known.iter().any(|other| other == program) {
            return Err(vec![unknown_program(file, program, &known)]);
        }
    }
    Ok(())
}

/// The program in `NAME.response_ms.p99` or `NAME.per_s`. A name may contain points.
fn program_of(figure: &str) -> Option<&str> {
    figure.split_once(".response_ms.").or_else(|| figure.rsplit_once('.')).map(|(program, _)| program)
}

/// Figures of operations, as in a metric.
const FIGURES: [&str; 9] = ["count", "per_s", "mean", "p50", "p90", "p99", "p99.9", "p99.99", "max"];

/// The error for a program that no scene has; what follows a known program was meant as a figure.
fn unknown_program(file: &str, program: &str, known: &[String]) -> Diagnostic {
    let fault = |text: String| Diagnostic::at(file, 0, text).key(format!("operations.{program}"));
    let figure = |known: &String| program.strip_prefix(known.as_str())?.strip_prefix('.').map(str::to_owned);
    if let Some(figure) = known.iter().find_map(figure) {
        let fault = fault(format!("operations have no figure `{figure}`")).nearest_to(&figure, FIGURES);
        return fault.expected(FIGURES.join(", "));
    }
    let fault = fault(format!("no scene of the study has a program `{program}`"));
    let fault = fault.nearest_to(program, known.iter().map(String::as_str));
    fault.expected(if known.is_empty() { "a scene".to_owned() } else { known.join(", ") })
}

/// The programs of a scene.
fn programs(prepared: &PreparedCell) -> Vec<String> {
    let scene = prepared.job.scene();
    scene.into_iter().flat_map(|scene| &scene.programs).map(|program| program.name.clone()).collect()
}

/// Checks that every job that a metric names is in each cell.
fn jobs_judged(file: &str, study: &Study, prepared: &[PreparedCell]) -> Result<(), Vec<Diagnostic>> {
    for metric in study.compare.iter().map(ComparisonSpec::metric) {
        let (MetricScope::Job(name) | MetricScope::Operations(name)) = &metric.whose else { continue };
        let names = |prepared: &PreparedCell| prepared.job.names();
        if let Some(mut names) = prepared.iter().map(names).find(|names| !names.contains(name)) {
            names.dedup();
            let scene = prepared.iter().any(|cell| cell.job.scene().is_some());
            if let (MetricScope::Operations(_), false) = (&metric.whose, scene) {
                let fault =
                    Diagnostic::at(file, 0, format!("`{metric}`: operations are counted of programs")).key("metric");
                return Err(vec![fault.expected("a scene, or a figure of requests")]);
            }
            let whose = if scene { "no program of the scene" } else { "no worker of the job" };
            let fault = Diagnostic::at(file, 0, format!("{whose} is called `{name}`")).key("metric");
            return Err(vec![fault.expected(names.join(", ")).nearest_to(name, names.iter().map(String::as_str))]);
        }
    }
    Ok(())
}

/// True if its runs are measured, so that they must go one after another.
pub fn is_measured(prepared: &[PreparedCell]) -> bool {
    prepared.iter().any(|cell| cell.target.is_measured())
}

/// Runs the part of `study` that is not `done` (that many runs from the plan's beginning), on `threads` cores (0: all),
/// the first run of each cell with the first of the seeds. In virtual time, runs in `earlier`, and runs that occur
/// twice, do not run again. `each` gets the records in the plan's order ([`StudyProvenance::order`]). It stops when `each`
/// returns `false`.
pub fn execute(
    study: &Study,
    prepared: &[PreparedCell],
    made: &StudyProvenance,
    earlier: &EarlierRuns,
    done: usize,
    threads: usize,
    each: impl FnMut(CellRunResult) -> bool + Send,
) {
    execute_order(study, prepared, (&made.seeds, made.order()), earlier, done, threads, each);
}

/// The same in an `order` of cells and runs, whose seeds these are.
pub fn execute_order(
    study: &Study,
    prepared: &[PreparedCell],
    (seeds, order): (&[u64], Vec<(usize, usize)>),
    earlier: &EarlierRuns,
    done: usize,
    threads: usize,
    mut each: impl FnMut(CellRunResult) -> bool + Send,
) {
    let one = |(cell, run): (usize, usize)| one(study, prepared, seeds[run], earlier, cell, run);
    if is_measured(prepared) {
        // Nothing runs beside a measured run, and a measured run does not stand for another.
        let _ = order.into_iter().skip(done).map(one).all(each);
        return;
    }
    let first = first_alike(study, prepared, seeds, &order, done);
    let repeated: BTreeSet<usize> =
        (done..first.len()).filter(|&index| first[index] != index).map(|it| first[it]).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
    let (sender, receiver) = mpsc::channel::<(usize, CellRunResult)>();
    let stop = std::sync::atomic::AtomicBool::new(false);
    pool.in_place_scope(|scope| {
        let (stop, one, first, order) = (&stop, &one, &first, &order);
        scope.spawn(move |_| {
            let own = (done..first.len()).into_par_iter().with_max_len(1).filter(|&index| first[index] == index);
            own.for_each_with(sender, |sender, index| {
                if !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let _ = sender.send((index, one(order[index])));
                }
            });
        });
        let (mut early, mut kept): (BTreeMap<usize, CellRunResult>, BTreeMap<usize, CellRunResult>) =
            Default::default();
        let mut next = done;
        for (index, result) in receiver {
            early.insert(index, result);
            loop {
                let again = first.get(next).and_then(|first| kept.get(first)).cloned();
                let again = again.map(|result| {
                    result.map(|record| RunRecord { cell: order[next].0, run: order[next].1 as u32, ..record })
                });
                let Some(result) = early.remove(&next).or(again) else { break };
                if repeated.contains(&next) {
                    kept.insert(next, result.clone());
                }
                next += 1;
                if !each(result) {
                    stop.store(true, std::sync::atomic::Ordering::Relaxed);
                    return;
                }
            }
        }
    });
}

/// For each run of the plan the first that runs the same and is not `done`: mostly itself.
fn first_alike(
    study: &Study,
    prepared: &[PreparedCell],
    seeds: &[u64],
    order: &[(usize, usize)],
    done: usize,
) -> Vec<usize> {
    let mut known: BTreeMap<Key, usize> = BTreeMap::new();
    let first = |(index, &(cell, run)): (usize, &(usize, usize))| match index < done {
        true => index,
        false => *known.entry(key(study, &prepared[cell], seeds[run])).or_insert(index),
    };
    order.iter().enumerate().map(first).collect()
}

fn one(
    study: &Study,
    prepared: &[PreparedCell],
    seed: u64,
    earlier: &EarlierRuns,
    cell: usize,
    run: usize,
) -> CellRunResult {
    let cell_of = &prepared[cell];
    let PreparedCell { target, job, .. } = cell_of;
    let known = earlier.0.get(&key(study, cell_of, seed)).filter(|_| !target.is_measured());
    if let Some(record) = known {
        return Ok(RunRecord { cell, run: run as u32, ..record.clone() });
    }
    let record = record(cell_of, &measure(target, job, seed, |_| {})?, seed);
    let [cuts, shutdowns] = match target.stack() {
        Some(stack) => [
            study.cuts.map(|cuts| cut::cuts(stack, job, seed, cuts)).transpose()?,
            study.shutdowns.map(|count| cut::shutdowns(stack, job, seed, count)).transpose()?,
        ],
        None => [None, None],
    };
    let [cuts, shutdowns] = [cuts, shutdowns].map(|report| report.as_ref().map(CutRecord::of));
    Ok(RunRecord { cell, run: run as u32, cuts, shutdowns, ..record })
}

/// The record of a run of a cell, as the first run of the first.
pub fn record(prepared: &PreparedCell, measured: &MeasuredRun, seed: u64) -> RunRecord {
    let PreparedCell { target, job, hash, .. } = prepared;
    let record = measured.record(&target.name(), job.name(), seed, warnings(prepared));
    let issuer = IssuerFigures { trace: certificate(prepared, measured), ..record.issuer };
    RunRecord { cell_hash: hash.clone(), issuer, ..record }
}

fn warnings(prepared: &PreparedCell) -> Vec<String> {
    prepared.warnings.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::Inputs;
    use crate::plan;

    const STUDY: &str = "title = 't'\nquestion = 'q'\nruns = 1\nruntime = '1 s'\njob = 'random-read'\n[stack]\n\
        drive = 'barracuda-7200.7-ncq'\n[[factor]]\nname = 'depth'\nkey = 'job.depth'\nlevels = [1, 8]\n";

    fn runs(study: &Study, prepared: &[PreparedCell], seed: u64, earlier: &EarlierRuns) -> Vec<RunRecord> {
        let mut made =
            StudyProvenance::new(STUDY, study, &plan::cells(study), prepared, Inputs::today(&absent).taken());
        made.seeds = vec![seed];
        let mut records = Vec::new();
        execute(study, prepared, &made, earlier, 0, 1, |result| {
            records.push(result.expect("it runs"));
            true
        });
        records
    }

    fn absent(_: &str) -> std::io::Result<String> {
        Err(std::io::ErrorKind::NotFound.into())
    }

    #[test]
    fn cells_that_run_the_same_run_once() {
        let bundle = |name, depth| format!("[[factor.bundle]]\nname = '{name}'\nset = {{ 'job.depth' = {depth} }}\n");
        let head = STUDY.split("[[factor]]").next().unwrap();
        let text = format!("{head}[[factor]]\nname = 'it'\n{}{}{}", bundle("a", 1), bundle("b", 4), bundle("c", 1));
        let study = seekwise_formats::study::parse("s.toml", &text).unwrap();
        let inputs = Inputs::today(&absent);
        let prepared: Vec<_> =
            plan::cells(&study).iter().map(|cell| plan::prepare("s.toml", cell, &inputs).unwrap()).collect();
        let order: Vec<(usize, usize)> = (0..6).map(|index| (index / 2, index % 2)).collect();
        assert_eq!(first_alike(&study, &prepared, &[1, 2], &order, 0), [0, 1, 2, 3, 0, 1]);
        assert_eq!(first_alike(&study, &prepared, &[1, 2], &order, 1), [0, 1, 2, 3, 4, 1]);
        let records = runs(&study, &prepared, 1, &EarlierRuns::default());
        assert_eq!(records.iter().map(|record| record.cell).collect::<Vec<_>>(), [0, 1, 2]);
        let same = |a: usize, b: usize| {
            records[a].stream_hash == records[b].stream_hash && records[a].all.ios == records[b].all.ios
        };
        assert!(same(0, 2) && !same(0, 1));
    }

    #[test]
    fn what_ran_earlier_is_not_run_again_and_nothing_else_is_taken_for_it() {
        let study = seekwise_formats::study::parse("s.toml", STUDY).unwrap();
        let inputs = Inputs::today(&absent);
        let prepared: Vec<_> =
            plan::cells(&study).iter().map(|cell| plan::prepare("s.toml", cell, &inputs).unwrap()).collect();
        let marked = |records: &[RunRecord]| records.iter().map(|record| record.failures == 77).collect::<Vec<_>>();
        let first = runs(&study, &prepared, 1, &EarlierRuns::default());
        assert_eq!(marked(&first), [false, false]);

        // The second cell, as if it had been the first of another plan.
        let mut earlier = EarlierRuns::default();
        let told = RunRecord { cell: 0, failures: 77, ..first[1].clone() };
        earlier.add(&study, &prepared[1..], &[told]);
        let again = runs(&study, &prepared, 1, &earlier);
        assert_eq!((marked(&again), again[1].cell), (vec![false, true], 1));
        assert_eq!(marked(&runs(&study, &prepared, 2, &earlier)), [false, false], "another seed");
        let cut = Study { cuts: Some(1), ..study };
        assert_eq!(marked(&runs(&cut, &prepared, 1, &earlier)), [false, false], "with cuts");
    }
}
