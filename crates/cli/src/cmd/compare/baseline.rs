//! `seekwise compare FOLDER FOLDER`: compares the results in two folders, cell by cell, as text or JSON. Nothing is run.

use std::path::Path;

use seekwise::Files;
use seekwise::compare::baseline::{self, BaselineComparison};
use seekwise::compare::{DifferenceWords, Finding, Metric, Outcome, ratio_text};
use seekwise::drives;

use super::super::{print_json, print_text};
use super::{figure_with_interval, joint_change_note, printed_unit};
use crate::args;
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::screen;
use crate::tables;

/// The most differing settings that are named.
const MOST_NAMED: usize = 12;

/// Compares the results in two folders.
pub fn compare_folders(args: &args::CompareArgs, files: &Files, json: bool) -> CommandResult {
    if !baseline::are_results(files, &args.jobs) {
        return Err(CommandError::new(not_two_folders_error(files, &args.jobs)));
    }
    let comparison = baseline::compare(files, &args.jobs, &args.metric)?;
    match json {
        true => print_json(&comparison.json())?,
        false => print_text(&screen::wrap_text(&format_comparison(&comparison), screen::output_width()))?,
    }
    let refused = comparison.evidence().findings().0.iter().any(|finding| finding.refused.is_some());
    Ok(if refused { CommandAnswer::No } else { CommandAnswer::Done })
}

/// The error for names that are not two result folders, although there is no `--on`.
fn not_two_folders_error(files: &Files, names: &[String]) -> String {
    let is_result = |name: &&String| baseline::are_results(files, std::slice::from_ref(*name));
    if let (true, Some(other)) = (names.iter().any(|name| is_result(&name)), names.iter().find(|name| !is_result(name)))
    {
        let why = if Path::new(other).exists() { "holds no results" } else { "no such folder" };
        return format!("{other}: {why}; expected two result folders, the base first");
    }
    if let (true, [first, ..]) = (names.iter().all(|name| drives::find_text(name).is_some()), names) {
        let all = if names.len() > 1 { names.join(",") } else { format!("{first},OTHER") };
        let all = format!("`seekwise compare JOB --on {first} --vary drive={all}`");
        return format!("{}: these are drives; expected a job: {all} compares drives", names.join(", "));
    }
    "compare: --on is missing; expected --on DRIVE (`seekwise drives` lists drives), a stack file, or two result folders without a \
     job"
        .to_owned()
}

fn format_comparison(comparison: &BaselineComparison) -> String {
    let evidence = comparison.evidence();
    let (findings, overall) = evidence.findings();
    let [from, to] = &comparison.folders;
    let mut text = String::new();
    for (index, summary) in overall.iter().enumerate() {
        let metric = evidence.judged_metric(index);
        let cell_findings: Vec<&Finding> = findings.iter().filter(|finding| finding.compare == index).collect();
        text += &format!("Judged: {} ({metric}); {} is better.\n", metric.title(), metric.better_direction());
        text += &format!("{}\n\n", cells_table(comparison, metric, &cell_findings));
        if let (true, Some(judgement)) = (cell_findings.len() > 1, &summary.judgement) {
            let words = DifferenceWords::for_metric(metric);
            let verdict = words.outcome_word(summary.outcome(findings));
            text += &format!(
                "{to} against {from}, over {} cells: {verdict} — {}\n",
                cell_findings.len(),
                words.ratio_words(judgement)
            );
        }
        if let [finding] = cell_findings[..] {
            if let Some(cause) = &finding.cause {
                text += &format!("  Why: {}\n", cause.text());
            }
            for beside in &finding.beside {
                text += &format!("  But: {}\n", beside.text());
            }
        }
        if !summary.at_once.is_empty() {
            text += &format!("  Note: {}\n", joint_change_note(&summary.at_once));
        }
        text.push('\n');
    }
    text + &method_and_settings(comparison)
}

/// A row for each cell.
fn cells_table(comparison: &BaselineComparison, metric: &Metric, findings: &[&Finding]) -> String {
    let evidence = comparison.evidence();
    let [from_heading, to_heading] =
        comparison.folders.each_ref().map(|folder| format!("{folder}, {}", printed_unit(metric)));
    let mut table = tables::new_table(["cell", &from_heading, &to_heading, "second against first", "verdict"]);
    for finding in findings {
        let mean_text = |cell: usize| {
            evidence
                .metric_mean(cell, metric)
                .map_or(String::new(), |mean| figure_with_interval(metric, mean, evidence.cell_runs(cell).len()))
        };
        let (ratio, verdict) = match (&finding.refused, &finding.judgement) {
            (None, Some(judgement)) => {
                (ratio_text(judgement), DifferenceWords::for_metric(metric).verdict_words(judgement.verdict))
            }
            (refused, _) => {
                ("–".to_owned(), refused.clone().unwrap_or_else(|| Outcome::NotEnoughData.name().to_owned()))
            }
        };
        let cell = if finding.cell.is_empty() { "all" } else { &finding.cell };
        table.add_row([cell.to_owned(), mean_text(finding.from), mean_text(finding.to), ratio, verdict]);
    }
    table.to_string()
}

/// How the folders were compared, and in which settings their cells differ.
fn method_and_settings(comparison: &BaselineComparison) -> String {
    let pairing = match (comparison.paired, comparison.is_measured()) {
        (true, _) => "paired on the same random numbers",
        (false, false) => "whose seeds differ, paired in the order of their numbers",
        (false, true) => {
            "in the order in which they were made; they were not made in turn, so what drifted between them counts as a difference"
        }
    };
    let mut text = format!("{} runs a side of each cell, {pairing}; 95 % intervals.", comparison.runs());
    if comparison.unmatched > 0 {
        text += &format!("\n{} cells that only one of them has are left out.", comparison.unmatched);
    }
    if let Some([from, to]) = &comparison.programs {
        text += &format!("\nNote: they were made by different programs: {from}; {to}.");
    }
    let mut differing: Vec<String> =
        (0..comparison.cells).flat_map(|cell| comparison.differing_settings(cell)).collect();
    differing.sort_unstable();
    differing.dedup();
    let more = differing.len().saturating_sub(MOST_NAMED);
    differing.truncate(MOST_NAMED);
    match (&differing[..], more) {
        ([], _) => text + "\nBoth were made with the same settings.",
        (named, 0) => text + &format!("\nThe sides differ in: {}", named.join(", ")),
        (named, more) => text + &format!("\nThe sides differ in: {} and {more} more", named.join(", ")),
    }
}
