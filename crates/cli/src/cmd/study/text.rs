//! The result of a study as text: comparisons, cells, workers by name, claims.

use std::path::Path;

use seekwise::compare::{DifferenceWords, Finding, Outcome, SecondaryFigure, ratio_text};
use seekwise::run::{CpuRecord, Response, merge_groups, pool_responses};
use seekwise::shell::quote_for_shell;
use seekwise::study::{
    ClaimJudgement, Evidence, OverallComparison, SamplingAccount, Study, comparison_headline, extreme_cells,
};

use crate::exit::CommandError;
use crate::screen::{self, wrap_text};
use crate::tables::{
    self, Table, choose_columns, mark_dispensable, mark_figures, mark_figures_from, new_table, unbreakable,
};

/// Columns of a cell, after the levels of its factors.
const CELL: [&str; 7] =
    ["requests/s", "MB/s", "mean ms", "p99 ms", "processor %", "requests/s for each %", "MB/s for each %"];

/// Columns of workers of one name in a cell.
const GROUP: [&str; 10] =
    ["workers", "requests", "requests/s", "MB/s", "mean ms", "p50 ms", "p99 ms", "p99.9 ms", "p99.99 ms", "max ms"];

/// Columns that go first on a narrow screen.
const DISPENSABLE: [&str; 11] = [
    "MB/s for each %",
    "requests/s for each %",
    "p99.99 ms",
    "p50 ms",
    "requests",
    "MB/s",
    "p99 ms",
    "max ms",
    "p99.9 ms",
    "processor %",
    "mean ms",
];

const CLAIM: [&str; 4] = ["claim", "class", "reproduced", "figures"];

/// Refuses columns that the result of a study does not have.
pub fn check_columns(study: &Study, columns: &[String]) -> Result<(), CommandError> {
    let mut all = [
        empty_comparisons_table(),
        empty_factor_table(study, &CELL, 0),
        empty_factor_table(study, &GROUP, 1),
        new_table(CLAIM),
    ];
    choose_columns(&mut all.each_mut(), columns)
}

/// Options of the text.
pub struct ListingOptions<'a> {
    /// Columns to show; empty for all that fit.
    pub columns: &'a [String],
    /// List everything, however long; else headlines, extremes, and tables that fit a screen.
    pub all: bool,
    /// The folder with everything.
    pub folder: &'a Path,
}

/// Lines of a table that fits a screen: those of a terminal of old.
const SCREEN: usize = 24;

/// The result, on the reader's screen.
pub fn format_result(evidence: &Evidence<'_>, listing: &ListingOptions<'_>) -> Result<String, CommandError> {
    let width = screen::output_width();
    let study = evidence.study;
    let mut all = [comparisons_table(evidence), cells_table(evidence), groups_table(evidence), claims_table(evidence)];
    choose_columns(&mut all.each_mut(), listing.columns)?;
    let mut text = wrap_text(&study.question, width);
    let mut add = |part: &str| text.push_str(&format!("\n\n{part}"));
    let (findings, overall) = evidence.findings();
    let leads = |summary: &OverallComparison| study.compare[summary.compare].headline;
    let first = |summary: &OverallComparison| summary.compare == 0 && !overall.iter().any(leads);
    for summary in overall.iter().filter(|summary| summary.refused.is_none() && summary.place.is_some()) {
        if listing.all || leads(summary) || first(summary) {
            let compare = &study.compare[summary.compare];
            let price = summary.price.as_ref().and_then(|price| price.text(&compare.factor, &compare.from));
            let price = price.map_or(String::new(), |price| format!("; {price}"));
            let line = format!("{}{price}.", comparison_headline(evidence, summary));
            let of: Vec<&Finding> = findings.iter().filter(|finding| finding.compare == summary.compare).collect();
            let extremes = extreme_cells(evidence.judged_metric(summary.compare), &of);
            let extremes = extremes.map_or(String::new(), |line| format!("\n{}", wrap_text(&line, width)));
            let beside = if let [one] = of[..] { &one.beside } else { &summary.beside };
            let but = |it: &SecondaryFigure| format!("\n{}", wrap_text(&format!("But: {}", it.text()), width));
            let buts: String = beside.iter().map(but).collect();
            add(&format!("{}{extremes}{buts}", wrap_text(&line, width)));
        }
    }
    let refused = overall.iter().filter_map(|overall| Some((overall.compare, overall.refused.as_ref()?)));
    let mut refused: Vec<String> =
        refused.map(|(compare, why)| format!("Refused: {}: {why}.", study.compare[compare].name)).collect();
    let mut left = Vec::new();
    for (table, what) in all.iter().zip(["comparisons", "cells", "workers", "claims"]) {
        if !table.is_empty() {
            let drawn = table.draw(width);
            match listing.all || drawn.lines().count() <= SCREEN {
                true => add(&drawn),
                false => left.push(what),
            }
        }
        // Below the comparisons, or where they would be.
        refused.drain(..).for_each(|line| add(&wrap_text(&line, width)));
    }
    if let Some(account) = SamplingAccount::from_evidence(evidence) {
        add(&wrap_text(&account.to_sentences(), width));
    }
    if !left.is_empty() {
        let folder = listing.folder.display().to_string();
        let line = format!("All {}: on the page, and by seekwise report {}", left.join(", "), quote_for_shell(&folder));
        add(&wrap_text(&line, width));
    }
    Ok(text)
}

fn comparisons_table(evidence: &Evidence<'_>) -> Table {
    let (findings, overall) = evidence.findings();
    let mut table = empty_comparisons_table();
    for summary in overall {
        table.add_row(comparison_row(evidence, findings, summary));
    }
    table
}

/// The row of a comparison over all its cells.
fn comparison_row(evidence: &Evidence<'_>, findings: &[Finding], summary: &OverallComparison) -> [String; 5] {
    let name = &evidence.study.compare[summary.compare].name;
    let ratios = findings.iter().filter(|f| f.compare == summary.compare).filter_map(|f| f.judgement);
    let ratios: Vec<f64> = ratios.map(|judgement| judgement.ratio.estimate).collect();
    let end = |pick: fn(f64, f64) -> f64| match ratios.iter().copied().reduce(pick) {
        Some(ratio) => format!("{ratio:.3} ×"),
        None => "–".to_owned(),
    };
    let (ratio, verdict) = match &summary.judgement {
        _ if summary.refused.is_some() => ("–".to_owned(), "refused".to_owned()),
        Some(judgement) => {
            let words = DifferenceWords::for_metric(evidence.judged_metric(summary.compare));
            let verdict = match summary.outcome(findings) {
                Outcome::Mixed => {
                    format!("{}, in the mean {}", Outcome::Mixed.name(), words.verdict_words(judgement.verdict))
                }
                _ => words.verdict_words(judgement.verdict),
            };
            (unbreakable(&ratio_text(judgement)), verdict)
        }
        None => ("–".to_owned(), "not enough data".to_owned()),
    };
    [name.clone(), ratio, verdict, end(f64::min), end(f64::max)]
}

/// An empty table of the comparisons that lead the parts of a review.
pub fn empty_headlines_table() -> Table {
    let mut table = new_table(["part", "comparison", "over all cells", "verdict", "least", "most"]);
    mark_figures(&mut table, &["least", "most"]);
    table
}

/// Adds the comparisons that lead a part.
pub fn add_headlines(table: &mut Table, part: &str, evidence: &Evidence<'_>) {
    let (findings, overall) = evidence.findings();
    for summary in overall.iter().filter(|summary| evidence.study.compare[summary.compare].headline) {
        table.add_row([part.to_owned()].into_iter().chain(comparison_row(evidence, findings, summary)));
    }
}

/// An empty table of the claims of a review.
pub fn empty_claims_table() -> Table {
    let mut table = new_table(["claim", "class", "part", "reproduced", "finding"]);
    tables::mark_unbroken(&mut table, &["part"]);
    table
}

/// Adds the claims of a part.
pub fn add_claims(table: &mut Table, part: &str, evidence: &Evidence<'_>) {
    for judged in &evidence.judge_claims() {
        let (claim, class) = (judged.claim, judged.claim.class.letter());
        table.add_row([claim.id.as_str(), class, part, &reproduced_word(judged), &claim.finding]);
    }
}

fn empty_comparisons_table() -> Table {
    let mut table = new_table(["comparison", "over all cells", "verdict", "least", "most"]);
    mark_figures(&mut table, &["least", "most"]);
    table
}

/// Figures of the workers of each name, if a job has several: with the tail, which differs most between them.
fn groups_table(evidence: &Evidence<'_>) -> Table {
    let mut table = empty_factor_table(evidence.study, &GROUP, 1);
    for (index, cell) in evidence.made.cells.iter().enumerate() {
        for group in merge_groups(evidence.cell_runs(index)) {
            let times = group.all.response_ms.map(|r| [r.mean, r.p50, r.p99, r.p99_9, r.p99_99, r.max]);
            let mut row = cell.cell.levels.clone();
            row.extend([group.name, group.all.ios.to_string(), format!("{:.1}", group.all.iops)]);
            row.push(format!("{:.2}", group.all.bytes_per_s / 1e6));
            row.extend(times.map_or([(); 6].map(|()| "–".to_owned()), |times| times.map(|ms| format!("{ms:.2}"))));
            table.add_row(row);
        }
    }
    table
}

/// An empty table of the factors and these columns; the first `names` are no figures.
fn empty_factor_table(study: &Study, headings: &[&str], names: usize) -> Table {
    let factors = study.factor.iter().map(|factor| factor.name.clone());
    let mut table =
        tables::table_with_headings(factors.chain(headings.iter().map(|&heading| heading.to_owned())).collect());
    mark_figures_from(&mut table, study.factor.len() + names);
    mark_dispensable(&mut table, &DISPENSABLE);
    table
}

fn cells_table(evidence: &Evidence<'_>) -> Table {
    let mut table = empty_factor_table(evidence.study, &CELL, 0);
    for (index, cell) in evidence.made.cells.iter().enumerate() {
        let runs = evidence.cell_runs(index);
        if runs.is_empty() {
            continue;
        }
        let iops = evidence.cell_mean(index, |run| run.all.iops);
        let half = (iops.high - iops.low) / 2.0;
        let bytes = evidence.cell_mean(index, |run| run.all.bytes_per_s).estimate / 1e6;
        let mean = evidence.cell_mean(index, |run| run.all.mean_ms()).estimate;
        let p99 = Response::from_histogram(&pool_responses(runs)).map_or(0.0, |response| response.p99);
        let mut row = cell.cell.levels.clone();
        row.push(match runs.len() {
            1 => format!("{:.1}", iops.estimate),
            _ => unbreakable(&format!("{:.1} ± {half:.1}", iops.estimate)),
        });
        row.extend([bytes, mean, p99].map(|figure| format!("{figure:.2}")));
        if runs.iter().all(|run| run.cpu.is_some()) {
            let mean = |value: fn(&CpuRecord) -> f64, digits: usize| {
                let mean = evidence.cell_mean(index, |run| run.cpu.as_ref().map_or(0.0, value)).estimate;
                format!("{mean:.digits$}")
            };
            row.push(mean(|cpu| cpu.percent, 2));
            row.push(mean(|cpu| cpu.iops_per_percent, 1));
            row.push(mean(|cpu| cpu.mb_per_s_per_percent, 3));
        }
        table.add_row(row);
    }
    table
}

fn claims_table(evidence: &Evidence<'_>) -> Table {
    let mut table = new_table(CLAIM);
    for claim in &evidence.judge_claims() {
        let class = claim.claim.class.letter().to_owned();
        table.add_row([claim.claim.id.clone(), class, reproduced_word(claim), claim.figure_lines().join("\n")]);
    }
    table
}

/// Whether a claim is reproduced, in a few words.
fn reproduced_word(judged: &ClaimJudgement<'_>) -> String {
    match (judged.is_reproduced(), judged.pending_condition()) {
        (Some(true), _) => "yes".to_owned(),
        (Some(false), _) => "NO".to_owned(),
        (None, Some(pending)) => pending,
        (None, None) => judged.answer().words().to_owned(),
    }
}
