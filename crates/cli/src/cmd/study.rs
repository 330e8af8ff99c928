//! `seekwise study`: runs a factorial study, or a review (several studies under one question), and prints the result as text or JSON.

pub mod review;
mod text;

use std::path::Path;

use seekwise::shell::quote_for_shell;
use seekwise::study::{StudyOptions, StudyOutcome, StudyResult, rerun_command};
use seekwise::{Bounds, Files, results};

use super::{print_json, print_text};
use crate::args;
use crate::exit::{CommandAnswer, CommandResult};
use crate::output::print_to_stderr;
use crate::progress::ProgressObserver;

/// Runs the command.
pub fn run_command(args: &args::StudyArgs, files: Files, bounds: &Bounds, json: bool) -> CommandResult {
    let folder = Path::new(&args.study);
    let resumes_folder = args.resume && results::is_result_folder(folder);
    let out = args.out.as_deref().unwrap_or(if resumes_folder { folder } else { Path::new("out") });
    let mut options = StudyOptions::into(out);
    (options.resume, options.force, options.threads) = (args.resume, args.force, args.threads);
    (options.bounds, options.sampling, options.files) = (*bounds, args.sampling.requested_sampling(), files);
    let columns = &args.columns.names[..];
    // Columns are in tables: with --columns all tables are printed.
    let output = StudyOutput { json, strict: args.strict, columns, all: args.all || !columns.is_empty() };
    if !columns.is_empty() && seekwise::study::is_review(&options.files, &args.study)? {
        review::check_columns(columns)?;
    }
    let progress = ProgressObserver::keeping_runs(out, resume_command(out));
    let pending = seekwise::study::open(&args.study, &options, &progress)?;
    if let seekwise::study::PendingStudy::Study(session) = &pending {
        text::check_columns(&session.planned.study, columns)?;
    }
    print_to_stderr(format!("Again: {}", rerun_command(out)));
    let outcome = pending.finish(&options, &progress)?;
    drop(progress);
    match outcome {
        StudyOutcome::Study(studied) => print_result(&studied, out, output),
        StudyOutcome::Review(reviewed) => review::print_result(&reviewed, output),
    }
}

/// The command that continues with the results in `folder`.
pub fn resume_command(folder: &Path) -> String {
    format!("seekwise study {} --resume", quote_for_shell(&folder.display().to_string()))
}

/// Options of the output.
#[derive(Clone, Copy)]
pub struct StudyOutput<'a> {
    /// Print JSON.
    pub json: bool,
    /// Answer "no" if a claim does not hold.
    pub strict: bool,
    /// Columns to show; empty for all that fit.
    pub columns: &'a [String],
    /// Print all tables; else only those that fit a screen, and the place of the others.
    pub all: bool,
}

/// Prints the result.
pub fn print_result(studied: &StudyResult, out: &Path, output: StudyOutput<'_>) -> CommandResult {
    let evidence = studied.evidence();
    let statuses: Vec<ClaimStatus> =
        evidence.judge_claims().iter().map(|claim| ClaimStatus::new(&claim.claim.id, claim.is_reproduced())).collect();
    let line = claims_line(&statuses);
    if output.json {
        print_json(&studied.summary())?;
        line.iter().for_each(print_to_stderr);
    } else {
        let listing = text::ListingOptions { columns: output.columns, all: output.all, folder: out };
        print_text(&text::format_result(&evidence, &listing)?)?;
        print_text(&format!("\n{}", page_lines(studied, out).join("\n")))?;
        line.iter().try_for_each(|line| print_text(line))?;
    }
    let fails = output.strict && statuses.iter().any(|claim| claim.holds == Some(false));
    Ok(if fails || studied.is_refused() { CommandAnswer::No } else { CommandAnswer::Done })
}

/// Lines that name the page, and the place on it at which the arm is seen at work.
pub fn page_lines(studied: &StudyResult, out: &Path) -> Vec<String> {
    let page = format!("Report: {}", studied.page.as_deref().unwrap_or(out).display());
    std::iter::once(page).chain(studied.arm_address().as_deref().map(arm_line)).collect()
}

/// The line that names the place at which the arm is seen at work.
fn arm_line(address: &str) -> String {
    format!("The arm at work: {address}")
}

/// Whether a claim holds; `None` if it has no answer.
pub struct ClaimStatus<'a> {
    id: &'a str,
    holds: Option<bool>,
}

impl<'a> ClaimStatus<'a> {
    /// The status of the claim `id`.
    pub fn new(id: &'a str, holds: Option<bool>) -> ClaimStatus<'a> {
        ClaimStatus { id, holds }
    }
}

/// Counts the claims that hold, and names the others; nothing if there are no claims.
pub fn claims_line(claims: &[ClaimStatus<'_>]) -> Option<String> {
    let ids = |holds| claims.iter().filter(|claim| claim.holds == holds).map(|claim| claim.id).collect::<Vec<_>>();
    let (holding, failing, unanswered) = (ids(Some(true)), ids(Some(false)), ids(None));
    let mut line = match (holding.len(), claims.len()) {
        (_, 0) => return None,
        (count, 1) => format!("{count} of 1 claim holds"),
        (1, all) => format!("1 of {all} claims holds"),
        (count, all) => format!("{count} of {all} claims hold"),
    };
    for (ids, one, many) in [(failing, "does not", "do not"), (unanswered, "has no answer", "have no answer")] {
        if !ids.is_empty() {
            let verb = if ids.len() == 1 { one } else { many };
            line.push_str(&format!(", {} {verb}: {}", ids.len(), ids.join(", ")));
        }
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts_claims() {
        let line = |claims: &[(&str, Option<bool>)]| {
            claims_line(&claims.iter().map(|(id, holds)| ClaimStatus::new(id, *holds)).collect::<Vec<_>>())
        };
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(line(&[]), None);
        let four = [("Q1", yes), ("Q2", yes), ("Q3", no), ("Q4", yes)];
        assert_eq!(line(&four).unwrap(), "3 of 4 claims hold, 1 does not: Q3");
        assert_eq!(line(&[("Q1", yes)]).unwrap(), "1 of 1 claim holds");
        let counts = line(&[("Q1", no), ("Q2", no), ("D1", None), ("D2", yes)]).unwrap();
        assert_eq!(counts, "1 of 4 claims holds, 2 do not: Q1, Q2, 1 has no answer: D1");
    }
}
