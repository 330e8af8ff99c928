//! Studies: a plan's runs kept as they end, and the page made of them. A review has several studies ([`review`]).

pub mod review;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::metric::Metric;
use seekwise_lab::compose::{self, ReportMaterial};
use seekwise_lab::finding::{Finding, SecondaryFigure};
use seekwise_lab::outcome::DifferenceWords;
use seekwise_lab::provenance::CellProvenance;
use seekwise_lab::report::{self, Report};
use seekwise_lab::rounds;
use seekwise_lab::run::{GroupRecord, RunRecord, merge_groups};
use serde_json::json;

use crate::bounds::Bounds;
use crate::error::Error;
use crate::execute::{Progress, make_runs};
use crate::observer::Observer;
use crate::reading::{self, FileKind, Files};
use crate::results::{self, PAGE, StudyManifest};
use crate::shell::quoted;
use crate::store::{InMemory, Store};
pub use crate::study_plan::StudyOptions;
use crate::study_plan::{self, PlannedStudy, StudySession};
use crate::system::outputs::OutputFile;

/// Studies and reviews as their files say them, and those that are built in.
pub use seekwise_drives::dotted::flatten;
pub use seekwise_formats::study::review::{Review, ReviewPart};
pub use seekwise_formats::study::{Claim, ClaimClass, ComparisonSpec, Factor, Sampling, Study, parse};
pub use seekwise_lab::catalogue::studies::{BUILT_IN, REVIEWS};

/// The answers that records give: comparisons, claims, and the cost of sampling until decided.
pub use seekwise_lab::compose::{comparison_headline, extreme_cells_sentence};
pub use seekwise_lab::finding::{ClaimJudgement, Evidence, OverallComparison};
pub use seekwise_lab::provenance::StudyProvenance;
pub use seekwise_lab::rounds::SamplingAccount;

/// The command by which the reader of a page makes its results again, in the folder that the page lies in.
const COMMAND: &str = "seekwise study . --out again";

/// A study that was run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StudyResult {
    pub study: Study,
    /// The origin of its results.
    pub made: StudyProvenance,
    /// The records, in the plan's order.
    pub records: Vec<RunRecord>,
    /// The page, where results are kept in a folder.
    pub page: Option<PathBuf>,
}

impl StudyResult {
    /// The records as evidence.
    pub fn evidence(&self) -> Evidence<'_> {
        Evidence::new(&self.study, &self.made, &self.records)
    }

    /// An error if no run of any cell has a counted request; a warning for each cell that has none.
    pub(crate) fn require_requests(self) -> Result<StudyResult, Error> {
        let evidence = self.evidence();
        let empty = |cell: &usize| {
            let runs = evidence.cell_runs(*cell);
            !runs.is_empty() && runs.iter().all(|run| run.all.ios == 0)
        };
        let ran = (0..self.made.cells.len()).filter(|cell| !evidence.cell_runs(*cell).is_empty()).count();
        let empty: Vec<usize> = (0..self.made.cells.len()).filter(empty).collect();
        if ran > 0 && empty.len() == ran {
            return Err(Error::new("no run counted any requests, so there is no answer; are the jobs long enough?"));
        }
        for cell in empty {
            log::warn!("no requests were counted at {}", self.made.cells[cell].cell.levels.join(", "));
        }
        drop(evidence);
        Ok(self)
    }

    /// The answers as one value; for an interrupted study also how many runs are missing.
    pub fn summary(&self) -> serde_json::Value {
        let mut summary = summary_json(&self.evidence(), self.page.as_deref());
        if let missing @ 1.. = self.missing_runs() {
            summary["missing_runs"] = missing.into();
        }
        summary
    }

    /// The number of missing runs, if the study was interrupted; at least so many if it is sampled until decided.
    pub fn missing_runs(&self) -> usize {
        rounds::sample_order(&self.study, &self.made, &self.records).len().saturating_sub(self.records.len())
    }

    /// Whether a headline was refused: a failure of the study, where a claim that does not come out is an answer.
    pub fn is_refused(&self) -> bool {
        is_headline_refused(&self.evidence())
    }

    /// The page, made of these results.
    pub fn page_text(&self) -> String {
        let StudyResult { study, made, records, .. } = self;
        report::render_html(&compose::build_report(&ReportMaterial { study, made, records, command: COMMAND }))
    }
}

/// The outcome of a study or of a review.
#[derive(Debug)]
pub enum StudyOutcome {
    Study(Box<StudyResult>),
    /// A review, part by part.
    Review(review::ReviewResult),
}

/// A study or a review whose results are opened, which can be inspected first.
pub enum PendingStudy {
    Study(Box<StudySession>),
    Review(Box<review::PendingReview>),
}

/// Runs a study or a review: a file, a built-in one by its name, or what a result folder keeps; makes its page.
pub fn study(name: &str, options: &StudyOptions<'_>, observer: &dyn Observer) -> Result<StudyOutcome, Error> {
    open(name, options, observer)?.finish(options, observer)
}

/// Whether this is a review, of several studies: a file, a built-in one by its name, or what a result folder keeps.
pub fn is_review(files: &Files, name: &str) -> Result<bool, Error> {
    let folder = Path::new(name);
    match results::says(folder) {
        true => Ok(results::kept_review(files, folder)?.is_some()),
        false => Ok(Review::looks_like(&find_study(files, name)?.1)),
    }
}

/// Plans a study or a review and opens its results.
pub fn open(name: &str, options: &StudyOptions<'_>, observer: &dyn Observer) -> Result<PendingStudy, Error> {
    let (folder, files) = (Path::new(name), &options.files);
    if results::says(folder) {
        return match results::kept_review(files, folder)? {
            Some(kept) => review::PendingReview::open(&kept.text, name, Some(folder), options, observer)
                .map(Box::new)
                .map(PendingStudy::Review),
            None => Ok(PendingStudy::Study(Box::new(options.of_folder(folder, observer)?))),
        };
    }
    let (name, text) = find_study(files, name)?;
    if Review::looks_like(&text) {
        return review::PendingReview::open(&text, &name, None, options, observer)
            .map(Box::new)
            .map(PendingStudy::Review);
    }
    let plan = || study_plan::plan_file(files, &name, &text);
    Ok(PendingStudy::Study(Box::new(options.open(&name, &text, plan, observer)?)))
}

impl PendingStudy {
    /// Makes the missing runs, and the page.
    pub fn finish(self, options: &StudyOptions<'_>, observer: &dyn Observer) -> Result<StudyOutcome, Error> {
        match self {
            PendingStudy::Study(opened) => {
                finished(*opened, options.folder, observer).map(|studied| StudyOutcome::Study(Box::new(studied)))
            }
            PendingStudy::Review(begun) => begun.finish(options, observer).map(StudyOutcome::Review),
        }
    }
}

/// Makes the missing runs of an opened study, without a page.
pub(crate) fn run_session(opened: StudySession, observer: &dyn Observer) -> Result<StudyResult, Error> {
    let StudySession { planned, mut results, done, threads } = opened;
    run_missing(planned, &mut results, done, threads, observer)?.require_requests()
}

/// Makes all runs of a plan within `bounds`, on all cores; nothing is written.
pub fn run_in_memory(
    files: &Files,
    planned: PlannedStudy,
    bounds: &Bounds,
    observer: &dyn Observer,
) -> Result<StudyResult, Error> {
    let wanted = planned.study.sampling;
    let (planned, threads) = study_plan::admit_plan(files, planned, wanted, bounds, 0, observer)?;
    run_missing(planned, &mut InMemory, Vec::new(), threads, observer)?.require_requests()
}

/// Makes the missing runs of a plan, and counts them for the observer.
fn run_missing(
    planned: PlannedStudy,
    store: &mut dyn Store,
    done: Vec<RunRecord>,
    threads: usize,
    observer: &dyn Observer,
) -> Result<StudyResult, Error> {
    warn_once(&planned.made.warnings);
    let progress = Progress::begin(observer, planned.runs(), done.len() as u64);
    let records = make_runs(&planned, None, threads, &progress, done, store)?;
    let (study, made) = planned.ran();
    Ok(StudyResult { study, made, records, page: None })
}

/// Makes the missing runs of an opened study, and its page.
pub fn finished(opened: StudySession, folder: &Path, observer: &dyn Observer) -> Result<StudyResult, Error> {
    let StudySession { planned, mut results, done, threads } = opened;
    let studied = run_missing(planned, &mut results, done, threads, observer)?;
    let page = Some(write_report(&studied.study, &studied.made, &studied.records, folder)?);
    StudyResult { page, ..studied }.require_requests()
}

/// Reads the results that a folder of a study keeps, and makes its page again from them.
pub fn again_from(files: &Files, folder: &Path) -> Result<StudyResult, Error> {
    recompose_page(files, folder).map(|(studied, _)| studied)
}

/// Makes the page of a folder of a study again; returns its results and its report.
fn recompose_page(files: &Files, folder: &Path) -> Result<(StudyResult, Report), Error> {
    let studied = kept_in(files, folder)?;
    let (_, report) = compose_page(&studied.study, &studied.made, &studied.records, folder)?;
    Ok((studied, report))
}

/// Reads the results that a folder of a study keeps, and logs their warnings. Nothing is written; the page is where it was or would
/// be made.
pub fn kept_in(files: &Files, folder: &Path) -> Result<StudyResult, Error> {
    let studied = read_results(files, folder)?;
    warn_once(&studied.made.warnings);
    studied.require_requests()
}

/// Reads the results that a folder of a study keeps, without the warnings, which were logged before.
fn read_results(files: &Files, folder: &Path) -> Result<StudyResult, Error> {
    let kept = results::kept(files, folder)?;
    let study = kept_study(folder, &kept)?;
    let records = results::records(files, folder, &kept)?;
    Ok(StudyResult { study, made: kept.made, records, page: Some(folder.join(PAGE)) })
}

/// The study that `folder` keeps.
fn kept_study(folder: &Path, kept: &StudyManifest) -> Result<Study, Error> {
    Ok(parse(&folder.join("study.toml").display().to_string(), &kept.study)?)
}

/// Logs warnings, each once.
pub fn warn_once<W: ToString>(warnings: impl IntoIterator<Item = W>) {
    let mut said = std::collections::BTreeSet::new();
    for warning in warnings {
        let text = warning.to_string();
        if said.insert(text.clone()) {
            log::warn!("{text}");
        }
    }
}

/// The command that runs again what is kept in `folder`.
pub fn again(folder: &Path) -> String {
    let folder = folder.display().to_string();
    let folder = folder.trim_end_matches('/');
    format!("seekwise study {} --out {}", quoted(folder), quoted(&format!("{folder}-again")))
}

/// A study or a review by the name of a built-in one, or of a file: its name and its text.
pub(crate) fn find_study(files: &Files, name: &str) -> Result<(String, String), Error> {
    let known = || REVIEWS.iter().chain(BUILT_IN);
    if let Some((name, text)) = known().find(|(known, _)| *known == name) {
        return Ok(((*name).to_owned(), (*text).to_owned()));
    }
    match files.find(name)? {
        Some(text) => {
            reading::expect(name, &text, &[FileKind::Study])?;
            Ok((name.to_owned(), text))
        }
        None => {
            let fault = Diagnostic::at(name, 0, "no study file, and no built-in study with that name");
            let fault = fault.with_expected("one that `seekwise studies` lists");
            Err(fault.suggest_nearest(name, known().map(|(name, _)| *name)).explain_limit(name).into())
        }
    }
}

/// Writes the report into `folder` and returns its path.
pub fn write_report(
    study: &Study,
    made: &StudyProvenance,
    records: &[RunRecord],
    folder: &Path,
) -> Result<PathBuf, Error> {
    compose_page(study, made, records, folder).map(|(page, _)| page)
}

/// Writes the report into `folder`; returns its path and the report.
fn compose_page(
    study: &Study,
    made: &StudyProvenance,
    records: &[RunRecord],
    folder: &Path,
) -> Result<(PathBuf, Report), Error> {
    let report = compose::build_report(&ReportMaterial { study, made, records, command: COMMAND });
    Ok((write_page(folder, |to| report::write_html(&report, to))?, report))
}

/// Writes a page into `folder`, whole or not at all, and returns its path.
fn write_page(folder: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<PathBuf, Error> {
    let path = folder.join(PAGE);
    let written = OutputFile::create(&path, true).and_then(|file| {
        let mut to = BufWriter::new(file);
        write(&mut to)?;
        to.into_inner()?.finish()
    });
    written.map_err(|error| Error::new(format!("{}: {error}", path.display())))?;
    Ok(path)
}

/// Whether a headline was refused: a failure of the study, where a claim that does not come out is an answer.
pub(crate) fn is_headline_refused(evidence: &Evidence<'_>) -> bool {
    let refused =
        |overall: &OverallComparison| overall.refused.is_some() && evidence.study.compare[overall.compare].headline;
    evidence.findings().1.iter().any(refused)
}

pub(crate) fn summary_json(evidence: &Evidence<'_>, page: Option<&Path>) -> serde_json::Value {
    let (findings, overall) = evidence.findings();
    let said = |judgement: &Option<seekwise_lab::stats::Judgement>, metric: &Metric| match judgement {
        Some(j) => json!({"ratio": {"estimate": j.ratio.estimate, "low": j.ratio.low, "high": j.ratio.high},
                          "verdict": j.verdict.to_string(), "said": DifferenceWords::for_metric(metric).verdict_and_ratio(j),
                          "p_adjusted": j.p_holm}),
        None => json!(null),
    };
    let comparisons: Vec<_> = overall
        .iter()
        .map(|o| {
            let cells = findings.iter().filter(|f| f.compare == o.compare);
            let beside = |f: &Finding| f.beside.iter().map(SecondaryFigure::text).collect::<Vec<_>>();
            let ComparisonSpec { name, factor, from, .. } = &evidence.study.compare[o.compare];
            let metric = evidence.judged_metric(o.compare);
            let one = |f: &Finding| {
                json!({"cell": f.cell, "result": said(&f.judgement, metric), "cause": f.cause, "beside": beside(f)})
            };
            let cells: Vec<_> = cells.map(one).collect();
            let price = o.price.as_ref().and_then(|price| price.text(factor, from));
            json!({"name": name, "metric": metric.to_string(), "better": metric.better_direction(), "place": o.place,
                   "outcome": o.outcome(findings), "price": price,
                   "overall": said(&o.judgement, metric), "cells": cells, "refused": o.refused})
        })
        .collect();
    let claims: Vec<_> = evidence
        .judge_claims()
        .iter()
        .map(|c| {
            json!({"id": c.claim.id, "class": c.claim.class.letter(), "condition": c.claim.condition,
                   "figure": c.figure_line(), "reproduced": c.is_reproduced(), "answer": c.answer(), "mechanism": c.claim.mechanism})
        })
        .collect();
    let mut summary =
        json!({"title": evidence.study.title, "comparisons": comparisons, "claims": claims, "report": page});
    if let Some(account) = SamplingAccount::from_evidence(evidence) {
        summary["sampling"] = json!(account);
    }
    let groups = |(index, cell): (usize, &CellProvenance)| {
        let groups = merge_groups(evidence.cell_runs(index));
        let said = |group: &GroupRecord| json!({"workers": group.name, "figures": group.all});
        (!groups.is_empty())
            .then(|| json!({"levels": cell.cell.levels, "groups": groups.iter().map(said).collect::<Vec<_>>()}))
    };
    let groups: Vec<_> = evidence.made.cells.iter().enumerate().filter_map(groups).collect();
    if !groups.is_empty() {
        summary["groups"] = groups.into();
    }
    summary
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each comparison of each built-in study may not be credited with.
    #[test]
    fn no_headline_of_a_built_in_study_is_refused() {
        for &(name, text) in BUILT_IN {
            let PlannedStudy { study, made, .. } = study_plan::plan_file(&Files::default(), name, text).unwrap();
            for finding in Evidence::new(&study, &made, &[]).findings().0 {
                let compare = &study.compare[finding.compare];
                assert!(
                    finding.refused.is_none() || !compare.headline,
                    "{name}: {}: {:?}",
                    compare.name,
                    finding.refused
                );
            }
        }
    }
}
