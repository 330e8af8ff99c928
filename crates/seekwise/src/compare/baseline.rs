//! Compares the results of two folders, as `seekwise compare FOLDER FOLDER` does: the cells that both have, run by run,
//! as they were kept. Nothing is run.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::metric::{Metric, Statistic};
use seekwise_formats::study::{Bundle, ComparisonSpec, Factor, Study};
use seekwise_lab::finding::{Evidence, Finding, OverallComparison};
use seekwise_lab::outcome::DifferenceWords;
use seekwise_lab::provenance::{StudyProvenance, differing_keys};
use seekwise_lab::run::RunRecord;
use seekwise_lab::stats::{Interval, Judgement};
use serde_json::{Value, json};

use crate::error::Error;
use crate::reading::{FileKind, Files};
use crate::results;
use crate::study::{StudyResult, read_study_folder};
use crate::values::is_same_value;

/// The name of the factor whose levels are the two folders.
const FACTOR: &str = "results";

/// So many runs of a cell at least give an interval.
const MIN_RUNS_FOR_INTERVAL: usize = 2;

/// Results of two folders, cell by cell.
#[derive(Debug)]
#[non_exhaustive]
pub struct BaselineComparison {
    /// The folders; the first is the base.
    pub folders: [String; 2],
    /// The study of both: its first factor is the folder.
    pub study: Study,
    pub made: StudyProvenance,
    pub records: Vec<RunRecord>,
    /// How many cells both have.
    pub cells: usize,
    /// How many cells only one of them has.
    pub unmatched: usize,
    /// Whether runs of equal numbers have equal seeds, in virtual time.
    pub paired: bool,
    /// The programs that made them, if they differ.
    pub programs: Option<[String; 2]>,
}

/// Whether all of `names` are results that were kept or printed: result folders, or JSON of fio or of Seekwise.
pub fn are_results(files: &Files, names: &[String]) -> bool {
    let is_printed = |name: &String| {
        let text = files.text(name).ok();
        text.and_then(|text| FileKind::of(&text))
            .is_some_and(|kind| matches!(kind, FileKind::FioOutput | FileKind::Answer))
    };
    !names.is_empty() && names.iter().all(|name| results::is_result_folder(Path::new(name)) || is_printed(name))
}

/// Compares the results of two folders by `metrics`, or by those that the first judges.
pub fn compare(files: &Files, names: &[String], metrics: &[Metric]) -> Result<BaselineComparison, Error> {
    let [from, to] = names else {
        let fault = Diagnostic::at("compare", 0, format!("{} results are named", names.len()));
        return Err(fault.with_expected("two result folders, the base first").into());
    };
    let canonical = |name: &str| fs::canonicalize(name).ok();
    if from == to || canonical(from).is_some_and(|first_path| canonical(to) == Some(first_path)) {
        return Err(Diagnostic::at(from, 0, "is named twice")
            .with_expected("two result folders, the base first")
            .into());
    }
    if let Some(printed) = names.iter().find(|name| !results::is_result_folder(Path::new(name.as_str()))) {
        let fault = Diagnostic::at(printed, 0, "holds figures of one run, and one run has no interval");
        return Err(fault.with_expected(TWO_FOLDERS).into());
    }
    let sides = [read_results(files, from)?, read_results(files, to)?];
    let pairs = pair_cells(&sides);
    if pairs.is_empty() {
        let fault = Diagnostic::at(to, 0, format!("has no cell of {from}: their factors or levels differ"));
        return Err(fault.with_expected("two results of the same study").into());
    }
    let ComparedRecords { records, runs_per_cell: runs, paired } = take_records(&sides, &pairs);
    if runs < MIN_RUNS_FOR_INTERVAL {
        return Err(too_few_runs_error(names, &sides).with_expected(TWO_FOLDERS).into());
    }
    let folders = [from.clone(), to.clone()];
    let made = StudyProvenance::join_results([(from, &sides[0].made), (to, &sides[1].made)], &pairs);
    let study = build_study(&folders, &sides[0].evidence(), &made, metrics, runs as u32);
    let programs = [&sides[0], &sides[1]].map(|side| side.made.program.to_string());
    let cell_count = sides[0].made.cells.len() + sides[1].made.cells.len();
    let compared = BaselineComparison {
        folders,
        study,
        made,
        records,
        cells: pairs.len(),
        unmatched: cell_count - 2 * pairs.len(),
        paired,
        programs: (programs[0] != programs[1]).then_some(programs),
    };
    compared.check_values()?;
    Ok(compared)
}

/// How results of several runs are made.
const TWO_FOLDERS: &str = "two result folders of two runs or more, as `seekwise compare JOB --on TARGET --vary KEY=A,B --runs 10 \
                           --out DIR` or `seekwise study FILE --out DIR` keeps them; without --out, `seekwise compare JOB --on \
                           TARGET --vary KEY=A,B` makes and compares both sides at once";

/// An error that names the folders with too few runs of a cell for an interval.
fn too_few_runs_error(names: &[String], sides: &[StudyResult; 2]) -> Diagnostic {
    let fewest_runs = |side: &StudyResult| {
        let run_count = |cell: usize| side.records.iter().filter(|record| record.cell == cell).count();
        (0..side.made.cells.len()).map(run_count).min().unwrap_or(0)
    };
    let runs_by_name = names.iter().zip(sides).map(|(name, side)| (name.as_str(), fewest_runs(side)));
    let few: Vec<(&str, usize)> = runs_by_name.filter(|(_, runs)| *runs < MIN_RUNS_FOR_INTERVAL).collect();
    let needs = "an interval needs two or more";
    match few[..] {
        [(first, 1), (second, 1)] => {
            Diagnostic::at(&format!("{first}, {second}"), 0, format!("each holds one run; {needs}"))
        }
        [(name, 1)] => Diagnostic::at(name, 0, format!("holds one run; {needs}")),
        _ => {
            let names: Vec<&str> = few.iter().map(|(name, _)| *name).collect();
            Diagnostic::at(&names.join(", "), 0, format!("runs of a cell are missing; {needs}"))
        }
    }
}

/// Reads the results that a folder keeps.
fn read_results(files: &Files, name: &str) -> Result<StudyResult, Error> {
    let folder = Path::new(name);
    match results::read_review_manifest(files, folder)? {
        None => read_study_folder(files, folder),
        Some(_) => {
            let fault = Diagnostic::at(name, 0, "holds a review");
            Err(fault.with_expected("a folder of one of its parts, which lie in it").into())
        }
    }
}

/// Pairs of cells (first side, second side) with equal levels, in the first's order. Results of one cell each are a
/// pair whatever their levels.
fn pair_cells([from, to]: &[StudyResult; 2]) -> Vec<(usize, usize)> {
    let names = |side: &StudyResult| side.study.factor.iter().map(|factor| factor.name.clone()).collect::<Vec<_>>();
    if names(from) != names(to) {
        return Vec::new();
    }
    let are_same = |levels: &[String], others: &[String]| {
        levels.len() == others.len() && levels.iter().zip(others).all(|(level, other)| is_same_value(level, other))
    };
    let find_partner = |levels: &[String]| to.made.cells.iter().position(|cell| are_same(&cell.cell.levels, levels));
    let cells = from.made.cells.iter().enumerate();
    cells.filter_map(|(index, cell)| Some((index, find_partner(&cell.cell.levels)?))).collect()
}

/// The records of cells that both sides have.
struct ComparedRecords {
    /// All of the first side, then all of the second; the cells are counted anew.
    records: Vec<RunRecord>,
    /// As many as every cell has on both sides.
    runs_per_cell: usize,
    /// Whether runs of equal numbers have equal seeds, in virtual time.
    paired: bool,
}

/// Takes equally many records of each of these pairs of cells, whose first is a cell of the first side.
fn take_records(sides: &[StudyResult; 2], pairs: &[(usize, usize)]) -> ComparedRecords {
    let cell_records = |side: usize, cell: usize| sides[side].records.iter().filter(move |record| record.cell == cell);
    let runs_of_both = |&(from, to): &(usize, usize)| cell_records(0, from).count().min(cell_records(1, to).count());
    let runs_per_cell = pairs.iter().map(runs_of_both).min().unwrap_or(0);
    let mut records = Vec::new();
    for side in [0, 1] {
        for (index, pair) in pairs.iter().enumerate() {
            let cell = side * pairs.len() + index;
            for mut record in cell_records(side, [pair.0, pair.1][side]).take(runs_per_cell).cloned() {
                record.cell = cell;
                records.push(record);
            }
        }
    }
    let (from, to) = records.split_at(records.len() / 2);
    let are_paired =
        |one: &RunRecord, other: &RunRecord| one.seed == other.seed && !one.is_measured() && !other.is_measured();
    let paired = from.iter().zip(to).all(|(one, other)| are_paired(one, other));
    ComparedRecords { records, runs_per_cell, paired }
}

/// The study of both folders: the folder is its first factor, and may be credited with all in which the cells differ.
fn build_study(
    [from, to]: &[String; 2],
    base: &Evidence<'_>,
    made: &StudyProvenance,
    metrics: &[Metric],
    runs: u32,
) -> Study {
    let cells_per_folder = made.cells.len() / 2;
    let differ: BTreeSet<String> = (0..cells_per_folder)
        .flat_map(|cell| differing_keys(made.cell_settings(cell), made.cell_settings(cells_per_folder + cell)))
        .collect();
    let kept_settings: toml::Table = differ.into_iter().map(|key| (key, "as kept".into())).collect();
    let bundle = |name: &String| Bundle { name: name.clone(), set: kept_settings.clone() };
    let mut judged: Vec<Option<Metric>> = metrics.iter().cloned().map(Some).collect();
    if judged.is_empty() {
        for compare in 0..base.study.compare.len() {
            let metric = &base.study.compare[compare].metric;
            if !judged.contains(metric) {
                judged.push(metric.clone());
            }
        }
    }
    if judged.is_empty() {
        judged.push(None);
    }
    let title = format!("{to} against {from}");
    let build_spec = |metric: Option<Metric>| {
        let mut spec = ComparisonSpec::new(FACTOR, from, to);
        (spec.name, spec.headline, spec.metric) = (title.clone(), true, metric);
        spec
    };
    let mut study = Study::new(&title, format!("Is {to} better than {from}?"));
    (study.runs, study.margin_percent) = (runs, base.study.margin_percent);
    study.factor = vec![Factor::of_bundles(FACTOR, vec![bundle(from), bundle(to)])];
    study.factor.extend(base.study.factor.iter().cloned());
    study.compare = judged.into_iter().map(build_spec).collect();
    study
}

impl BaselineComparison {
    /// The records as evidence.
    pub fn evidence(&self) -> Evidence<'_> {
        Evidence::new(&self.study, &self.made, &self.records)
    }

    /// Whether any run was measured on a real target.
    pub fn is_measured(&self) -> bool {
        self.records.iter().any(RunRecord::is_measured)
    }

    /// Runs of each cell that are compared.
    pub fn runs(&self) -> u32 {
        self.study.runs
    }

    /// The settings in which the sides of a cell differ.
    pub fn differing_settings(&self, cell: usize) -> Vec<String> {
        differing_keys(self.made.cell_settings(cell), self.made.cell_settings(self.cells + cell))
    }

    /// An error if a metric has no value on a side, or a finding no ratio.
    fn check_values(&self) -> Result<(), Error> {
        let evidence = self.evidence();
        for compare in 0..self.study.compare.len() {
            let metric = evidence.judged_metric(compare);
            if let Some(cell) = (0..2 * self.cells).find(|cell| evidence.metric_mean(*cell, metric).is_none()) {
                let folder = &self.folders[cell / self.cells];
                let is_p95 = matches!(metric.figure, Statistic::P95 | Statistic::SinceDueP95);
                let why = if is_p95 { "; results of earlier versions do not have it" } else { "" };
                return Err(Error::new(format!("--metric {metric}: a run of {folder} has no value{why}")));
            }
        }
        match evidence.findings().0.iter().find(|finding| finding.judgement.is_none()) {
            Some(finding) => Err(Error::new(format!(
                "--metric {}: a run has the value 0, so that there is no ratio",
                evidence.judged_metric(finding.compare)
            ))),
            None => Ok(()),
        }
    }

    /// The whole comparison as JSON.
    pub fn json(&self) -> Value {
        let evidence = self.evidence();
        let (findings, overall) = evidence.findings();
        let interval_json =
            |figure: Interval| json!({"estimate": figure.estimate, "low": figure.low, "high": figure.high});
        let judgement_json = |metric: &Metric, judgement: Option<&Judgement>| {
            judgement.map(|judgement| {
                json!({"ratio": interval_json(judgement.ratio), "verdict": judgement.verdict.to_string(),
                       "p_adjusted": judgement.p_holm,
                       "said": DifferenceWords::for_metric(metric).verdict_and_ratio(judgement)})
            })
        };
        let comparison_json = |(compare, all_cells): (usize, &OverallComparison)| {
            let metric = evidence.judged_metric(compare);
            let cell_findings = findings.iter().filter(|finding| finding.compare == compare);
            let cell_json = |finding: &Finding| {
                let mean = |cell: usize| evidence.metric_mean(cell, metric).map(interval_json);
                json!({"cell": finding.cell, "from": mean(finding.from), "to": mean(finding.to),
                       "result": judgement_json(metric, finding.judgement.as_ref()), "refused": finding.refused,
                       "differs": self.differing_settings(finding.from), "cause": finding.cause})
            };
            json!({"metric": metric.to_string(), "unit": metric.unit(), "better": metric.better_direction(),
                   "overall": judgement_json(metric, all_cells.judgement.as_ref()),
                   "cells": cell_findings.map(cell_json).collect::<Vec<_>>()})
        };
        json!({"from": self.folders[0], "to": self.folders[1], "runs": self.runs(), "paired": self.paired,
               "unmatched_cells": self.unmatched,
               "comparisons": overall.iter().enumerate().map(comparison_json).collect::<Vec<_>>()})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{StudyOptions, study};

    /// Keeps a study of two depths, on a drive with such a queue, in so many runs; returns the folder.
    fn keep_results(folder: &Path, queue: u32, runs: u32) -> String {
        let (file, out) = (folder.join("s.toml"), folder.join(format!("queue-{queue}")));
        let text = format!(
            "title = 't'\nquestion = 'q'\nruns = {runs}\nsampling = 'fixed'\nruntime = '1 s'\n\
             job = 'random-read'\n[stack]\ndrive = 'barracuda-7200.7-ncq'\n'drive.firmware.depth' = {queue}\n\
             [[factor]]\nname = 'depth'\nkey = 'job.depth'\nlevels = [1, 8]\n"
        );
        fs::write(&file, text).unwrap();
        study(&file.to_string_lossy(), &StudyOptions::into(&out), &()).unwrap();
        out.display().to_string()
    }

    #[test]
    fn cells_that_both_have_are_compared_by_as_many_runs_of_each_as_they_were_kept() {
        let folder = tempfile::tempdir().unwrap();
        let names = [keep_results(folder.path(), 1, 3), keep_results(folder.path(), 32, 2)];
        let compared = compare(&Files::default(), &names, &[]).unwrap();
        assert_eq!((compared.cells, compared.unmatched, compared.runs(), compared.paired), (2, 0, 2, true));
        let rates = |records: &[RunRecord], cell: usize| -> Vec<f64> {
            records.iter().filter(|record| record.cell == cell).map(|record| record.all.iops).collect()
        };
        for (side, name) in names.iter().enumerate() {
            let kept = read_study_folder(&Files::default(), Path::new(name)).unwrap().records;
            for cell in [0, 1] {
                assert_eq!(rates(&compared.records, 2 * side + cell), rates(&kept, cell)[..2], "{name}, cell {cell}");
            }
        }
        assert_eq!(
            (compared.records.len(), compared.differing_settings(0)),
            (8, vec!["drive.firmware.depth".to_owned()])
        );
    }
}
