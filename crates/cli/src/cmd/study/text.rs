//! The result of a study as text: comparisons, cells, workers by name, claims.

use std::path::Path;

use seekwise::compare::{DifferenceWords, Finding, Outcome, SecondaryFigure, ratio_text};
use seekwise::run::{CpuRecord, Response, merge_groups, pool_responses};
use seekwise::shell::quote_for_shell;
use seekwise::study::{
    ClaimJudgement, Evidence, OverallComparison, SamplingAccount, Study, comparison_headline, extreme_cells_sentence,
};

use crate::exit::CommandError;
use crate::screen::{self, wrap_text};
use crate::tables::{
    self, Table, choose_columns, mark_dispensable, mark_figures, mark_figures_from, new_table, unbreakable,
};

/// The columns of the table of cells, after the levels of the factors.
const CELL_COLUMNS: [&str; 7] =
    ["requests/s", "MB/s", "mean ms", "p99 ms", "processor %", "requests/s for each %", "MB/s for each %"];

/// The columns of the table of workers with equal names, after the levels of the factors.
const WORKER_COLUMNS: [&str; 10] =
    ["workers", "requests", "requests/s", "MB/s", "mean ms", "p50 ms", "p99 ms", "p99.9 ms", "p99.99 ms", "max ms"];

/// Columns that a narrow screen leaves out first, in this order.
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

const CLAIM_COLUMNS: [&str; 4] = ["claim", "class", "reproduced", "figures"];

/// Refuses columns that the result of a study does not have.
pub fn check_columns(study: &Study, columns: &[String]) -> Result<(), CommandError> {
    let mut tables = [
        empty_comparisons_table(),
        empty_factor_table(study, &CELL_COLUMNS, 0),
        empty_factor_table(study, &WORKER_COLUMNS, 1),
        new_table(CLAIM_COLUMNS),
    ];
    choose_columns(&mut tables.each_mut(), columns)
}

/// Options of the text.
pub struct ListingOptions<'a> {
    /// Columns to show; empty for all that fit.
    pub columns: &'a [String],
    /// Print all headlines and tables; else the leading headlines, and tables that fit a screen.
    pub all: bool,
    /// The result folder, which has everything.
    pub folder: &'a Path,
}

/// The most lines of a table that fits a screen: those of an old terminal.
const SCREEN_LINES: usize = 24;

/// The result as text: the question, headlines with their extremes, refusals, tables, and how the runs were chosen.
pub fn format_result(evidence: &Evidence<'_>, listing: &ListingOptions<'_>) -> Result<String, CommandError> {
    let width = screen::output_width();
    let study = evidence.study;
    let mut tables =
        [comparisons_table(evidence), cells_table(evidence), workers_table(evidence), claims_table(evidence)];
    choose_columns(&mut tables.each_mut(), listing.columns)?;
    let mut text = wrap_text(&study.question, width);
    let mut add = |part: &str| text.push_str(&format!("\n\n{part}"));
    let (findings, overall) = evidence.findings();
    let is_headline = |summary: &OverallComparison| study.compare[summary.compare].headline;
    let has_headline = overall.iter().any(is_headline);
    for summary in overall.iter().filter(|summary| summary.refused.is_none() && summary.place.is_some()) {
        let leads = is_headline(summary) || (summary.compare == 0 && !has_headline);
        if listing.all || leads {
            add(&headline_paragraph(evidence, findings, summary, width));
        }
    }
    let refused = overall.iter().filter_map(|summary| Some((summary.compare, summary.refused.as_ref()?)));
    let mut refused: Vec<String> =
        refused.map(|(compare, why)| format!("Refused: {}: {why}.", study.compare[compare].name)).collect();
    let mut left_out = Vec::new();
    for (table, name) in tables.iter().zip(["comparisons", "cells", "workers", "claims"]) {
        if !table.is_empty() {
            let drawn = table.draw(width);
            match listing.all || drawn.lines().count() <= SCREEN_LINES {
                true => add(&drawn),
                false => left_out.push(name),
            }
        }
        // Refusals follow the comparisons, the first table, even if that is empty.
        refused.drain(..).for_each(|line| add(&wrap_text(&line, width)));
    }
    if let Some(account) = SamplingAccount::from_evidence(evidence) {
        add(&wrap_text(&account.to_sentences(), width));
    }
    if !left_out.is_empty() {
        let folder = listing.folder.display().to_string();
        let line =
            format!("All {}: on the page, and by seekwise report {}", left_out.join(", "), quote_for_shell(&folder));
        add(&wrap_text(&line, width));
    }
    Ok(text)
}

/// The headline of a comparison with its price, then its extreme cells, then secondary figures that got worse.
fn headline_paragraph(
    evidence: &Evidence<'_>,
    findings: &[Finding],
    summary: &OverallComparison,
    width: usize,
) -> String {
    let compare = &evidence.study.compare[summary.compare];
    let price = summary.price.as_ref().and_then(|price| price.text(&compare.factor, &compare.from));
    let price = price.map_or(String::new(), |price| format!("; {price}"));
    let headline = format!("{}{price}.", comparison_headline(evidence, summary));
    let of_compare: Vec<&Finding> = findings.iter().filter(|finding| finding.compare == summary.compare).collect();
    let extremes = extreme_cells_sentence(evidence.judged_metric(summary.compare), &of_compare);
    let extremes = extremes.map_or(String::new(), |sentence| format!("\n{}", wrap_text(&sentence, width)));
    let beside = if let [finding] = of_compare[..] { &finding.beside } else { &summary.beside };
    let but = |figure: &SecondaryFigure| format!("\n{}", wrap_text(&format!("But: {}", figure.text()), width));
    let buts: String = beside.iter().map(but).collect();
    format!("{}{extremes}{buts}", wrap_text(&headline, width))
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
    let of_compare = findings.iter().filter(|finding| finding.compare == summary.compare);
    let judgements = of_compare.filter_map(|finding| finding.judgement);
    let ratios: Vec<f64> = judgements.map(|judgement| judgement.ratio.estimate).collect();
    let extreme_ratio = |pick: fn(f64, f64) -> f64| match ratios.iter().copied().reduce(pick) {
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
    [name.clone(), ratio, verdict, extreme_ratio(f64::min), extreme_ratio(f64::max)]
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

/// Figures of the workers of each name, if a job has several; with high percentiles, which differ most between workers.
fn workers_table(evidence: &Evidence<'_>) -> Table {
    let mut table = empty_factor_table(evidence.study, &WORKER_COLUMNS, 1);
    for (index, cell) in evidence.made.cells.iter().enumerate() {
        for group in merge_groups(evidence.cell_runs(index)) {
            let times = group.all.response_ms;
            let times = times.map(|times| [times.mean, times.p50, times.p99, times.p99_9, times.p99_99, times.max]);
            let mut row = cell.cell.levels.clone();
            row.extend([group.name, group.all.ios.to_string(), format!("{:.1}", group.all.iops)]);
            row.push(format!("{:.2}", group.all.bytes_per_s / 1e6));
            row.extend(times.map_or([(); 6].map(|()| "–".to_owned()), |times| times.map(|ms| format!("{ms:.2}"))));
            table.add_row(row);
        }
    }
    table
}

/// An empty table with a column for each factor, then columns with these headings, of which the first `text_columns` are no
/// figures.
fn empty_factor_table(study: &Study, headings: &[&str], text_columns: usize) -> Table {
    let factors = study.factor.iter().map(|factor| factor.name.clone());
    let mut table =
        tables::table_with_headings(factors.chain(headings.iter().map(|&heading| heading.to_owned())).collect());
    mark_figures_from(&mut table, study.factor.len() + text_columns);
    mark_dispensable(&mut table, &DISPENSABLE);
    table
}

fn cells_table(evidence: &Evidence<'_>) -> Table {
    let mut table = empty_factor_table(evidence.study, &CELL_COLUMNS, 0);
    for (index, cell) in evidence.made.cells.iter().enumerate() {
        let runs = evidence.cell_runs(index);
        if runs.is_empty() {
            continue;
        }
        let iops = evidence.cell_mean(index, |run| run.all.iops);
        let half_interval = (iops.high - iops.low) / 2.0;
        let mb_per_s = evidence.cell_mean(index, |run| run.all.bytes_per_s).estimate / 1e6;
        let mean_ms = evidence.cell_mean(index, |run| run.all.mean_ms()).estimate;
        let p99_ms = Response::from_histogram(&pool_responses(runs)).map_or(0.0, |response| response.p99);
        let mut row = cell.cell.levels.clone();
        row.push(match runs.len() {
            1 => format!("{:.1}", iops.estimate),
            _ => unbreakable(&format!("{:.1} ± {half_interval:.1}", iops.estimate)),
        });
        row.extend([mb_per_s, mean_ms, p99_ms].map(|figure| format!("{figure:.2}")));
        if runs.iter().all(|run| run.cpu.is_some()) {
            let cpu_mean = |value: fn(&CpuRecord) -> f64, digits: usize| {
                let mean = evidence.cell_mean(index, |run| run.cpu.as_ref().map_or(0.0, value)).estimate;
                format!("{mean:.digits$}")
            };
            row.push(cpu_mean(|cpu| cpu.percent, 2));
            row.push(cpu_mean(|cpu| cpu.iops_per_percent, 1));
            row.push(cpu_mean(|cpu| cpu.mb_per_s_per_percent, 3));
        }
        table.add_row(row);
    }
    table
}

fn claims_table(evidence: &Evidence<'_>) -> Table {
    let mut table = new_table(CLAIM_COLUMNS);
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
