//! Studies, as `seekwise study` runs them: the runs of a plan are kept as they end, and a page is made of them. A
//! review has several studies ([`review`]).

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
use seekwise_lab::stats::{Interval, Judgement};
use serde_json::json;

use crate::band::ComparisonBand;
use crate::bounds::Bounds;
use crate::error::Error;
use crate::execute::{Progress, make_runs};
use crate::observer::Observer;
use crate::reading::{self, FileKind, Files};
use crate::results::{self, PAGE, StudyManifest};
use crate::shell::quote_for_shell;
use crate::store::{InMemory, Store};
use crate::study_plan::{self, PlannedStudy, StudySession};
use crate::system::outputs::OutputFile;

/// Where the results of a study go, and the bounds on making them.
pub use crate::study_plan::StudyOptions;

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

/// The results of a study.
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
    /// True if the page was made now and shows the arm at work.
    pub shows_arm: bool,
    /// Of a comparison on fitted drives: the range over the draws of their fits. It is not kept.
    pub band: Option<ComparisonBand>,
}

impl StudyResult {
    /// The records as evidence.
    pub fn evidence(&self) -> Evidence<'_> {
        Evidence::new(&self.study, &self.made, &self.records)
    }

    /// Passes on results with counted requests, and warns of each cell that has none. An error if no cell has any.
    pub(crate) fn require_requests(self) -> Result<StudyResult, Error> {
        let evidence = self.evidence();
        let counted_nothing = |cell: &usize| {
            let runs = evidence.cell_runs(*cell);
            !runs.is_empty() && runs.iter().all(|run| run.all.ios == 0)
        };
        let run_cells = (0..self.made.cells.len()).filter(|cell| !evidence.cell_runs(*cell).is_empty()).count();
        let empty_cells: Vec<usize> = (0..self.made.cells.len()).filter(counted_nothing).collect();
        if run_cells > 0 && empty_cells.len() == run_cells {
            return Err(Error::new("no run counted any requests, so there is no answer; are the jobs long enough?"));
        }
        for cell in empty_cells {
            log::warn!("no requests were counted at {}", self.made.cells[cell].cell.levels.join(", "));
        }
        drop(evidence);
        Ok(self)
    }

    /// The answers as JSON; for an interrupted study also how many runs are missing.
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

    /// Whether a headline comparison was refused, because its sides differ in more than the study says. That is a
    /// failure of the study, whereas a claim that does not come out is an answer.
    pub fn is_refused(&self) -> bool {
        is_headline_refused(&self.evidence())
    }

    /// The address of the arm at work, on the page; `None` if the page does not show it.
    pub fn arm_address(&self) -> Option<String> {
        let page = self.page.as_ref().filter(|_| self.shows_arm)?;
        Some(format!("{}#{}", page.display(), report::ARM_PLACE))
    }

    /// The HTML of the page, made of these results.
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
    Review(Box<review::ReviewResult>),
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
    match results::is_result_folder(folder) {
        true => Ok(results::read_review_manifest(files, folder)?.is_some()),
        false => Ok(Review::looks_like(&find_study_text(files, name)?.1)),
    }
}

/// Plans a study or a review and opens its results.
pub fn open(name: &str, options: &StudyOptions<'_>, observer: &dyn Observer) -> Result<PendingStudy, Error> {
    let (folder, files) = (Path::new(name), &options.files);
    if results::is_result_folder(folder) {
        return match results::read_review_manifest(files, folder)? {
            Some(kept) => review::PendingReview::open(&kept.text, name, Some(folder), options, observer)
                .map(Box::new)
                .map(PendingStudy::Review),
            None => Ok(PendingStudy::Study(Box::new(options.open_from_folder(folder, observer)?))),
        };
    }
    let (name, text) = find_study_text(files, name)?;
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
            PendingStudy::Study(session) => {
                finish_session(*session, options.folder, observer).map(|studied| StudyOutcome::Study(Box::new(studied)))
            }
            PendingStudy::Review(review) => review.finish(options, observer).map(Box::new).map(StudyOutcome::Review),
        }
    }
}

/// Makes the missing runs of an opened study, without a page.
pub(crate) fn run_session(session: StudySession, observer: &dyn Observer) -> Result<StudyResult, Error> {
    let StudySession { planned, mut results, done, threads } = session;
    run_missing(planned, &mut results, done, threads, observer)?.require_requests()
}

/// Makes all runs of a plan within `bounds`, on all cores; nothing is written.
pub fn run_in_memory(
    files: &Files,
    planned: PlannedStudy,
    bounds: &Bounds,
    observer: &dyn Observer,
) -> Result<StudyResult, Error> {
    let sampling = planned.study.sampling;
    let (planned, threads) = study_plan::plan_within_bounds(files, planned, sampling, bounds, 0, observer)?;
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
    let progress = Progress::begin(observer, planned.run_count(), done.len() as u64);
    let records = make_runs(&planned, None, threads, &progress, done, store)?;
    let (study, made) = planned.into_study_and_origin();
    Ok(StudyResult { study, made, records, page: None, shows_arm: false, band: None })
}

/// Makes the missing runs of an opened study, and its page.
pub fn finish_session(session: StudySession, folder: &Path, observer: &dyn Observer) -> Result<StudyResult, Error> {
    let StudySession { planned, mut results, done, threads } = session;
    let studied = run_missing(planned, &mut results, done, threads, observer)?;
    let (page, report) = compose_page(&studied.study, &studied.made, &studied.records, folder)?;
    StudyResult { page: Some(page), shows_arm: report.shows_arm(), ..studied }.require_requests()
}

/// Reads the results that the folder of a study keeps, and makes its page again from them.
pub fn remake_study_page(files: &Files, folder: &Path) -> Result<StudyResult, Error> {
    recompose_page(files, folder).map(|(studied, _)| studied)
}

/// Makes the page of a study's folder again; returns its results, and the report that the page shows.
fn recompose_page(files: &Files, folder: &Path) -> Result<(StudyResult, Report), Error> {
    let studied = read_study_folder(files, folder)?;
    let (_, report) = compose_page(&studied.study, &studied.made, &studied.records, folder)?;
    Ok((StudyResult { shows_arm: report.shows_arm(), ..studied }, report))
}

/// Reads the results that the folder of a study keeps, and logs their warnings. Nothing is written; `page` is where the
/// page lies or would lie.
pub fn read_study_folder(files: &Files, folder: &Path) -> Result<StudyResult, Error> {
    let studied = read_results_quietly(files, folder)?;
    warn_once(&studied.made.warnings);
    studied.require_requests()
}

/// Reads the results that the folder of a study keeps, without the warnings, which were logged before.
fn read_results_quietly(files: &Files, folder: &Path) -> Result<StudyResult, Error> {
    let manifest = results::read_study_manifest(files, folder)?;
    let study = parse_kept_study(folder, &manifest)?;
    let records = results::read_records(files, folder, &manifest)?;
    let page = Some(folder.join(PAGE));
    Ok(StudyResult { study, made: manifest.made, records, page, shows_arm: false, band: None })
}

/// Parses the study that `folder` keeps.
fn parse_kept_study(folder: &Path, manifest: &StudyManifest) -> Result<Study, Error> {
    Ok(parse(&folder.join("study.toml").display().to_string(), &manifest.study)?)
}

/// Logs warnings, each once.
pub fn warn_once<W: ToString>(warnings: impl IntoIterator<Item = W>) {
    let mut logged = std::collections::BTreeSet::new();
    for warning in warnings {
        let text = warning.to_string();
        if logged.insert(text.clone()) {
            log::warn!("{text}");
        }
    }
}

/// The command that runs again what the result folder `folder` keeps.
pub fn rerun_command(folder: &Path) -> String {
    let path = folder.display().to_string();
    let folder = path.trim_end_matches('/');
    format!("seekwise study {} --out {}", quote_for_shell(folder), quote_for_shell(&format!("{folder}-again")))
}

/// Finds a study or a review: a built-in one by its name, or a file. Returns its name and its text.
pub(crate) fn find_study_text(files: &Files, name: &str) -> Result<(String, String), Error> {
    let built_in = || REVIEWS.iter().chain(BUILT_IN);
    if let Some((name, text)) = built_in().find(|(known, _)| *known == name) {
        return Ok(((*name).to_owned(), (*text).to_owned()));
    }
    match files.find(name)? {
        Some(text) => {
            reading::expect_kind(name, &text, &[FileKind::Study])?;
            Ok((name.to_owned(), text))
        }
        None => {
            let fault = Diagnostic::at(name, 0, "no study file, and no built-in study with that name");
            let fault = fault.with_expected("one that `seekwise studies` lists");
            Err(fault.suggest_nearest(name, built_in().map(|(name, _)| *name)).explain_limit(name).into())
        }
    }
}

/// Makes the page of these records, writes it into `folder`, and returns its path.
pub fn write_report(
    study: &Study,
    made: &StudyProvenance,
    records: &[RunRecord],
    folder: &Path,
) -> Result<PathBuf, Error> {
    compose_page(study, made, records, folder).map(|(page, _)| page)
}

/// Makes the page of these records and writes it into `folder`; returns its path, and the report that it shows.
pub(crate) fn compose_page(
    study: &Study,
    made: &StudyProvenance,
    records: &[RunRecord],
    folder: &Path,
) -> Result<(PathBuf, Report), Error> {
    let report = compose::build_report(&ReportMaterial { study, made, records, command: COMMAND });
    Ok((write_page(folder, |out| report::write_html(&report, out))?, report))
}

/// Writes a page into `folder`, whole or not at all, and returns its path.
fn write_page(folder: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<PathBuf, Error> {
    let path = folder.join(PAGE);
    let written = OutputFile::create(&path, true).and_then(|file| {
        let mut writer = BufWriter::new(file);
        write(&mut writer)?;
        writer.into_inner()?.finish()
    });
    written.map_err(|error| Error::new(format!("{}: {error}", path.display())))?;
    Ok(path)
}

/// Whether a headline comparison was refused, because its sides differ in more than the study says.
pub(crate) fn is_headline_refused(evidence: &Evidence<'_>) -> bool {
    let refused =
        |overall: &OverallComparison| overall.refused.is_some() && evidence.study.compare[overall.compare].headline;
    evidence.findings().1.iter().any(refused)
}

/// The answers that the evidence gives as JSON: comparisons, claims, the cost of sampling, and groups of workers by
/// cell.
pub(crate) fn summary_json(evidence: &Evidence<'_>, page: Option<&Path>) -> serde_json::Value {
    let (_, overall) = evidence.findings();
    let comparisons: Vec<_> = overall.iter().map(|overall| comparison_json(evidence, overall)).collect();
    let claims: Vec<_> = evidence
        .judge_claims()
        .iter()
        .map(|judged| {
            let Claim { id, class, condition, mechanism, .. } = judged.claim;
            json!({"id": id, "class": class.letter(), "condition": condition, "figure": judged.figure_line(),
                   "reproduced": judged.is_reproduced(), "answer": judged.answer(), "mechanism": mechanism})
        })
        .collect();
    let mut summary =
        json!({"title": evidence.study.title, "comparisons": comparisons, "claims": claims, "report": page});
    if let Some(account) = SamplingAccount::from_evidence(evidence) {
        summary["sampling"] = json!(account);
    }
    let cell_groups = |(index, cell): (usize, &CellProvenance)| {
        let groups = merge_groups(evidence.cell_runs(index));
        let group_json = |group: &GroupRecord| json!({"workers": group.name, "figures": group.all});
        (!groups.is_empty())
            .then(|| json!({"levels": cell.cell.levels, "groups": groups.iter().map(group_json).collect::<Vec<_>>()}))
    };
    let groups: Vec<_> = evidence.made.cells.iter().enumerate().filter_map(cell_groups).collect();
    if !groups.is_empty() {
        summary["groups"] = groups.into();
    }
    summary
}

/// A comparison over all cells, with its finding in each cell.
fn comparison_json(evidence: &Evidence<'_>, overall: &OverallComparison) -> serde_json::Value {
    let (findings, _) = evidence.findings();
    let ComparisonSpec { name, factor, from, .. } = &evidence.study.compare[overall.compare];
    let metric = evidence.judged_metric(overall.compare);
    let cell_json = |finding: &Finding| {
        let beside: Vec<_> = finding.beside.iter().map(SecondaryFigure::text).collect();
        json!({"cell": finding.cell, "result": judgement_json(finding.judgement.as_ref(), metric),
               "cause": finding.cause, "beside": beside})
    };
    let cells: Vec<_> = findings.iter().filter(|finding| finding.compare == overall.compare).map(cell_json).collect();
    let price = overall.price.as_ref().and_then(|price| price.text(factor, from));
    json!({"name": name, "metric": metric.to_string(), "better": metric.better_direction(), "place": overall.place,
           "outcome": overall.outcome(findings), "price": price,
           "overall": judgement_json(overall.judgement.as_ref(), metric), "cells": cells, "refused": overall.refused})
}

fn judgement_json(judgement: Option<&Judgement>, metric: &Metric) -> serde_json::Value {
    let Some(judgement) = judgement else { return json!(null) };
    let Interval { estimate, low, high } = judgement.ratio;
    json!({"ratio": {"estimate": estimate, "low": low, "high": high}, "verdict": judgement.verdict.to_string(),
           "said": DifferenceWords::for_metric(metric).verdict_and_ratio(judgement), "p_adjusted": judgement.p_holm})
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
