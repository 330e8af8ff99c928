//! Runs a study: every cell, every run, handed on in the plan's order. Whether runs go side by side is the caller's choice ([`Workers`]).

mod reuse;
mod schedule;

use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::metric::MetricScope;
use seekwise_formats::study::Study;
use seekwise_run::cutoff::RunCutoff;
use seekwise_run::outcome::RunError;

pub use self::reuse::EarlierRuns;
#[cfg(test)]
pub(crate) use self::reuse::SEARCHED;
pub(crate) use self::reuse::{KnownRun, KnownRuns};
use self::schedule::Schedule;
use crate::certificate::trace_certificate;
use crate::cut::{self, CutTime};
use crate::plan::{self, PreparedCell};
use crate::run::{CutRecord, IssuerFigures, MeasuredRun, RunRecord, measure_run_until};
use crate::workers::Workers;

/// The result of a run.
pub(crate) type CellRunResult = Result<RunRecord, RunError>;

/// Checks, before the first run, that the cuts of `study` can be judged in every cell. `file` names it in errors.
pub fn check_study(file: &str, study: &Study, prepared: &[PreparedCell]) -> Result<(), Vec<Diagnostic>> {
    for PreparedCell { target, job, .. } in prepared {
        for (key, count) in [("cuts", study.cuts), ("shutdowns", study.shutdowns)] {
            if count.is_some() {
                let plan = cut::modelled_stack(target).and_then(|stack| cut::cut_array(stack, job));
                plan.map_err(|why| vec![Diagnostic::at(file, 0, why).with_key(key)])?;
            }
        }
    }
    check_job_names(file, study, prepared)?;
    check_operation_names(file, study, prepared)
}

/// Checks that every program whose operations an expression names is in some cell. A part of a plan is not checked: the
/// program may be in the rest.
fn check_operation_names(file: &str, study: &Study, prepared: &[PreparedCell]) -> Result<(), Vec<Diagnostic>> {
    if prepared.len() < plan::study_cells(study).len() {
        return Ok(());
    }
    let mut known: Vec<String> =
        prepared.iter().filter(|cell| cell.job.scene().is_some()).flat_map(program_names).collect();
    known.sort_unstable();
    known.dedup();
    let expressions =
        study.claim.iter().flat_map(|claim| claim.check.iter().chain(&claim.decided_if).chain(&claim.show));
    for name in expressions.flat_map(|expression| expression.body.quantity_names()) {
        let Some(program) = name.strip_prefix("operations.").and_then(program_of_figure) else { continue };
        if !known.iter().any(|other| other == program) {
            return Err(vec![unknown_program(file, program, &known)]);
        }
    }
    Ok(())
}

/// The program in `NAME.response_ms.p99` or `NAME.per_s`. A name may contain points.
fn program_of_figure(figure: &str) -> Option<&str> {
    figure.split_once(".response_ms.").or_else(|| figure.rsplit_once('.')).map(|(program, _)| program)
}

/// Figures of operations, as in a metric.
const FIGURES: [&str; 10] = ["count", "per_s", "mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"];

/// The error for a program that no scene has; what follows a known program was meant as a figure.
fn unknown_program(file: &str, program: &str, known: &[String]) -> Diagnostic {
    let fault = |text: String| Diagnostic::at(file, 0, text).with_key(format!("operations.{program}"));
    let figure = |known: &String| program.strip_prefix(known.as_str())?.strip_prefix('.').map(str::to_owned);
    if let Some(figure) = known.iter().find_map(figure) {
        let unknown = fault(format!("operations have no figure `{figure}`"));
        return unknown.suggest_nearest(&figure, FIGURES).with_expected(FIGURES.join(", "));
    }
    let expected = if known.is_empty() { "a scene".to_owned() } else { known.join(", ") };
    let unknown = fault(format!("no scene of the study has a program `{program}`"));
    unknown.suggest_nearest(program, known.iter().map(String::as_str)).with_expected(expected)
}

/// The programs of a scene.
fn program_names(prepared: &PreparedCell) -> Vec<String> {
    let scene = prepared.job.scene();
    scene.into_iter().flat_map(|scene| &scene.programs).map(|program| program.name.clone()).collect()
}

/// Checks that every job that a metric names is in each cell.
fn check_job_names(file: &str, study: &Study, prepared: &[PreparedCell]) -> Result<(), Vec<Diagnostic>> {
    for metric in study.compare.iter().filter_map(|compare| compare.metric.as_ref()) {
        let (MetricScope::Job(name) | MetricScope::Operations(name)) = &metric.whose else { continue };
        let names = |prepared: &PreparedCell| prepared.job.group_names();
        if let Some(mut names) = prepared.iter().map(names).find(|names| !names.contains(name)) {
            names.dedup();
            let scene = prepared.iter().any(|cell| cell.job.scene().is_some());
            if let (MetricScope::Operations(_), false) = (&metric.whose, scene) {
                let fault = Diagnostic::at(file, 0, format!("`{metric}`: operations are counted of programs"))
                    .with_key("metric");
                return Err(vec![fault.with_expected("a scene, or a figure of requests")]);
            }
            let whose = if scene { "no program of the scene" } else { "no worker of the job" };
            let fault = Diagnostic::at(file, 0, format!("{whose} is called `{name}`")).with_key("metric");
            return Err(vec![
                fault.with_expected(names.join(", ")).suggest_nearest(name, names.iter().map(String::as_str)),
            ]);
        }
    }
    Ok(())
}

/// True if its runs are measured, so that they must go one after another.
pub fn is_measured(prepared: &[PreparedCell]) -> bool {
    prepared.iter().any(|cell| cell.target.is_measured())
}

/// Runs an `order` of cells and runs, the first run of each cell with the first of the seeds, as far as it is not `done` (so many from its
/// beginning), each to `cutoff` at most: a run that ends early is an error. No run is made that a modelled one in `earlier` or of this
/// order stands for ([`EarlierRuns`]). `each` gets the records in that order, and stops everything by returning `false`.
pub fn run_study_order(
    study: &Study,
    prepared: &[PreparedCell],
    (seeds, order): (&[u64], &[(usize, usize)]),
    earlier: &EarlierRuns<'_>,
    done: usize,
    (workers, cutoff): (&Workers, RunCutoff<'_>),
    each: impl FnMut(CellRunResult) -> bool,
) {
    let schedule = Schedule::new(study, prepared, seeds, order, done);
    let run_next = || {
        let (index, known) = schedule.take_next()?;
        if let Some(record) = known {
            return Some((index, Ok(record)));
        }
        let (cell, run) = order[index];
        let (own, seed) = (&prepared[cell], seeds[run]);
        let result = match earlier.find_record(study, own, seed) {
            Some(record) => Ok(RunRecord { cell, run: run as u32, ..record }),
            None => run_cell(cutoff, study, own, seed, (cell, run)),
        };
        schedule.end_run(index, &result);
        Some((index, result))
    };
    workers.run_in_order(done, run_next, &|| schedule.stop(), each);
}

/// Makes a run of one cell of `study`, which has this place, `(cell, run)`, in its plan.
fn run_cell(
    cutoff: RunCutoff<'_>,
    study: &Study,
    prepared: &PreparedCell,
    seed: u64,
    (cell, run): (usize, usize),
) -> CellRunResult {
    let PreparedCell { target, job, .. } = prepared;
    let record = cell_record(prepared, &measure_run_until(cutoff, target, job, seed, None, |_| {})?, seed);
    let cut = |when: Option<CutTime>| match (target.stack(), when) {
        (Some(stack), Some(when)) => {
            let report = cut::judge_cuts(cutoff, stack, job, seed, &when, &|_, _| ());
            report.map(Some).map_err(|error| error.with_change_in_words(target.changes()))
        }
        _ => Ok(None),
    };
    let [cuts, shutdowns] = [cut(study.cuts.map(CutTime::Random))?, cut(study.shutdowns.map(CutTime::Off))?];
    let [cuts, shutdowns] = [cuts, shutdowns].map(|report| report.as_ref().map(CutRecord::from_report).map(Box::new));
    Ok(RunRecord { cell, run: run as u32, cuts, shutdowns, ..record })
}

/// The record of a run of a cell, as the first run of the first.
pub fn cell_record(prepared: &PreparedCell, measured: &MeasuredRun, seed: u64) -> RunRecord {
    let PreparedCell { target, job, hash, .. } = prepared;
    let record = measured.to_record(&target.name(), job.name(), seed, warning_texts(prepared));
    let issuer = IssuerFigures { trace: trace_certificate(prepared, measured), ..record.issuer };
    RunRecord { cell_hash: hash.clone(), issuer, unseen: prepared.unseen.clone(), ..record }
}

fn warning_texts(prepared: &PreparedCell) -> Vec<String> {
    prepared.warnings.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::reuse::COMPARED;
    use super::*;
    use crate::inputs::{InputTexts, Inputs};
    use crate::plan;
    use crate::provenance::{RunSample, StudyProvenance};

    const STUDY: &str = "title = 't'\nquestion = 'q'\nruns = 1\nruntime = '1 s'\njob = 'random-read'\n[stack]\n\
        drive = 'barracuda-7200.7-ncq'\n[[factor]]\nname = 'depth'\nkey = 'job.depth'\nlevels = [1, 8]\n";

    /// The study in `text`, and its cells.
    fn planned(text: &str) -> (Study, Vec<PreparedCell>) {
        let study = seekwise_formats::study::parse("s.toml", text).unwrap();
        let cells = prepared_cells(&study);
        (study, cells)
    }

    fn prepared_cells(study: &Study) -> Vec<PreparedCell> {
        let inputs = Inputs::from_today(&absent);
        plan::study_cells(study).iter().map(|cell| plan::prepare_cell("s.toml", cell, &inputs).unwrap()).collect()
    }

    fn runs(study: &Study, prepared: &[PreparedCell], seed: u64, earlier: &EarlierRuns<'_>) -> Vec<RunRecord> {
        let sample = RunSample { seeds: vec![seed], sampling: None };
        let made =
            StudyProvenance::new(String::new(), &plan::study_cells(study), prepared, InputTexts::default(), sample);
        let mut records = Vec::new();
        let workers = (&Workers::with_threads(2), RunCutoff::NEVER);
        run_study_order(study, prepared, (&made.seeds, &made.fixed_order()), earlier, 0, workers, |result| {
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
        let (study, prepared) = planned(&text);
        let records = runs(&study, &prepared, 1, &EarlierRuns::default());
        assert_eq!(records.iter().map(|record| record.cell).collect::<Vec<_>>(), [0, 1, 2]);
        let same = |a: usize, b: usize| {
            records[a].stream_hash == records[b].stream_hash && records[a].all.ios == records[b].all.ios
        };
        assert!(same(0, 2) && !same(0, 1));
    }

    /// The next run of `schedule`: its index, and whether it is known; what is not known is run.
    fn step(
        schedule: &Schedule<'_>,
        study: &Study,
        prepared: &[PreparedCell],
        order: &[(usize, usize)],
    ) -> (usize, bool) {
        let (index, known) = schedule.take_next().expect("there is more");
        if known.is_none() {
            let (cell, run) = order[index];
            schedule.end_run(index, &run_cell(RunCutoff::NEVER, study, &prepared[cell], run as u64, (cell, run)));
        }
        (index, known.is_some())
    }

    #[test]
    fn what_no_run_asked_is_run_once() {
        let level = |nearest| {
            format!(
                "[[factor.bundle]]\nname = '{nearest}'\nset = {{ 'job.depth' = 4, 'drive.firmware.queue.nearest' = {nearest} }}\n"
            )
        };
        let head = STUDY.split("[[factor]]").next().unwrap();
        let text = format!("{head}[[factor]]\nname = 'it'\n{}{}{}", level(0), level(2), level(6));
        let order: Vec<(usize, usize)> = (0..3).map(|cell| (cell, 0)).collect();
        let known = |drive: &str| -> Vec<(usize, bool)> {
            let (study, prepared) = planned(&text.replace("barracuda-7200.7-ncq", drive));
            let schedule = Schedule::new(&study, &prepared, &[1], &order, 0);
            let all = order.iter().map(|_| step(&schedule, &study, &prepared, &order)).collect();
            assert!(schedule.take_next().is_none());
            all
        };
        // Without a queue of its own the drive never chooses; with one, 0 and 6 of at most four are all.
        assert_eq!(known("barracuda-7200.7"), [(0, false), (1, true), (2, true)]);
        assert_eq!(known("barracuda-7200.7-ncq"), [(0, false), (1, false), (2, true)]);
    }

    /// Each run was compared with all that had ended: a thousand time-outs took 20 s.
    #[test]
    fn a_run_is_looked_up_by_what_was_asked_and_not_compared_with_all() {
        let runs = |key: &str, levels: &[u32]| -> (usize, usize) {
            let head = STUDY.split("[[factor]]").next().unwrap().replace("1 s", "300 ms");
            let set = "'job.depth' = 8\n";
            let text = format!("{head}{set}[[factor]]\nname = 'it'\nkey = '{key}'\nlevels = {levels:?}\n");
            let (study, prepared) = planned(&text);
            assert!(prepared.iter().all(|cell| cell.kin == prepared[0].kin), "{key}: any could be like any other");
            let order: Vec<(usize, usize)> = (0..levels.len()).map(|cell| (cell, 0)).collect();
            let schedule = Schedule::new(&study, &prepared, &[1], &order, 0);
            let before = COMPARED.get();
            let ran = order.iter().filter(|_| !step(&schedule, &study, &prepared, &order).1).count();
            (ran, COMPARED.get() - before)
        };
        // Each is asked and another: none stands for another, and none is compared. Beyond the longest wait all are alike.
        let (ran, compared) = runs("driver.timeout_ms", &(1..=60).collect::<Vec<_>>());
        assert!(ran >= 50 && compared <= 60, "{ran} runs, {compared} comparisons");
        let (ran, compared) = runs("driver.timeout_ms", &(5001..=5060).collect::<Vec<_>>());
        assert_eq!((ran, compared), (1, 59));
        // Depths up to eight are asked; of more, as of eight, no request waits for one.
        let (ran, compared) = runs("driver.depth", &(1..=60).collect::<Vec<_>>());
        assert!(ran <= 9 && compared <= 60, "{ran} runs, {compared} comparisons");
        let (ran, compared) = runs("drive.firmware.queue.nearest", &(1..=60).collect::<Vec<_>>());
        assert!(ran <= 9 && compared <= 60, "{ran} runs, {compared} comparisons");
    }

    /// Of many cells each pair was compared, their tables byte by byte: a study of a thousand took 23 s, and now half a second.
    #[test]
    fn stacks_are_compared_only_where_a_run_could_be_alike_and_cells_share_what_is_equal() {
        let prepared = |factor: &str| -> Vec<PreparedCell> {
            let head = STUDY.split("[[factor]]").next().unwrap();
            planned(&format!("{head}[[factor]]\nname = 'it'\n{factor}")).1
        };
        let kin = |cells: &[PreparedCell]| cells.iter().map(|cell| cell.kin == cells[0].kin).collect::<Vec<_>>();
        let overheads = prepared("key = 'drive.overhead.read_hit_ms'\nlevels = [0.1, 0.2, 0.3]\n");
        assert_eq!(kin(&overheads), [true, false, false], "whatever a run asks, they differ");
        // Of a drive's tables it is enough that what may be set of them is told apart.
        for (key, levels) in [
            ("mechanics.seek.single_ms", [0.8, 0.9, 1.0]),
            ("mechanics.seek.average_ms", [8.5, 8.7, 9.0]),
            ("mechanics.seek.full_ms", [17.0, 18.0, 19.0]),
            ("geometry.track_skew", [0.1, 0.2, 0.3]),
        ] {
            let figures = prepared(&format!("key = 'drive.{key}'\nlevels = {levels:?}\n"));
            assert_eq!(kin(&figures), [true, false, false], "{key}");
        }
        let windows = prepared("key = 'drive.firmware.queue.nearest'\nlevels = [2, 4, 6]\n");
        assert_eq!(kin(&windows), [true, true, true], "one command at a time asks for none of it");

        let drives = prepared("key = 'drive'\nlevels = ['cheetah-15k.4', 'raptor-wd740gd']\n");
        assert_eq!(kin(&drives), [true, false]);
        let first = &overheads[0].settings;
        let own = overheads[1].settings.iter().filter(|setting| !first.iter().any(|known| Arc::ptr_eq(known, setting)));
        assert_eq!(own.map(|setting| setting.key.as_str()).collect::<Vec<_>>(), ["drive.overhead.read_hit_ms"]);
    }

    #[test]
    fn a_record_that_stands_for_another_is_the_others() {
        let built_in = crate::catalogue::studies::BUILT_IN.iter().find(|(name, _)| *name == "ncq-alone");
        let text = built_in.expect("built in").1;
        let mut study = seekwise_formats::study::parse("s.toml", text).unwrap();
        (study.runs, study.runtime, study.ramp) =
            (1, Some(seekwise_drives::duration::Duration::parse("300 ms").unwrap()), None);
        let prepared = prepared_cells(&study);
        let records = runs(&study, &prepared, 1, &EarlierRuns::default());
        assert_eq!(records.len(), prepared.len());
        for record in &records {
            let cell = record.cell;
            let own = run_cell(RunCutoff::NEVER, &study, &prepared[cell], record.seed, (cell, 0)).unwrap();
            assert_eq!(serde_json::to_string(record).unwrap(), serde_json::to_string(&own).unwrap());
        }
    }

    #[test]
    fn what_ran_earlier_is_not_run_again_and_nothing_else_is_taken_for_it() {
        let (study, prepared) = planned(STUDY);
        let marked = |records: &[RunRecord]| records.iter().map(|record| record.failures == 77).collect::<Vec<_>>();
        let first = runs(&study, &prepared, 1, &EarlierRuns::default());
        assert_eq!(marked(&first), [false, false]);

        // The second cell, as if it had been the first of another plan.
        let mut earlier = EarlierRuns::default();
        let told = RunRecord { cell: 0, failures: 77, ..first[1].clone() };
        earlier.add(&study, &prepared[1..], [std::borrow::Cow::Owned(told)]);
        let again = runs(&study, &prepared, 1, &earlier);
        assert_eq!((marked(&again), again[1].cell), (vec![false, true], 1));
        assert_eq!(marked(&runs(&study, &prepared, 2, &earlier)), [false, false], "another seed");
        let mut cut = study;
        cut.cuts = Some(1);
        assert_eq!(marked(&runs(&cut, &prepared, 1, &earlier)), [false, false], "with cuts");
    }
}
