//! The result of a review, which is several studies under one question, as text or JSON.

use seekwise::study::review::{ReviewResult, part_summary};

use super::text::{add_claims, add_headlines, empty_claims_table, empty_headlines_table};
use super::{ClaimStatus, StudyOutput, arm_line, claims_line};
use crate::cmd::{print_json, print_text};
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::output::print_to_stderr;
use crate::screen;
use crate::tables;

/// Refuses columns that the result of a review does not have.
pub fn check_columns(columns: &[String]) -> Result<(), CommandError> {
    tables::choose_columns(&mut [&mut empty_headlines_table(), &mut empty_claims_table()], columns)
}

/// Prints the result.
pub fn print_result(reviewed: &ReviewResult, output: StudyOutput<'_>) -> CommandResult {
    let (mut headlines_table, mut claims_table) = (empty_headlines_table(), empty_claims_table());
    let mut statuses: Vec<(String, Option<bool>)> = Vec::new();
    let (mut refused, mut summaries) = (false, Vec::new());
    for result in reviewed.parts() {
        let (part, studied) = result?;
        refused |= studied.is_refused();
        let evidence = studied.evidence();
        statuses.extend(evidence.judge_claims().iter().map(|judged| (judged.claim.id.clone(), judged.is_reproduced())));
        if output.json {
            summaries.push(part_summary(part, &studied));
            continue;
        }
        let heading = part.title.clone().unwrap_or_else(|| studied.study.title.clone());
        add_headlines(&mut headlines_table, &heading, &evidence);
        add_claims(&mut claims_table, part.folder(), &evidence);
    }
    let claims: Vec<ClaimStatus<'_>> = statuses.iter().map(|(id, holds)| ClaimStatus::new(id, *holds)).collect();
    let line = claims_line(&claims);
    if output.json {
        print_json(&reviewed.summary(summaries))?;
        line.iter().for_each(print_to_stderr);
    } else {
        let mut tables = [headlines_table, claims_table];
        tables::choose_columns(&mut tables.each_mut(), output.columns)?;
        let width = screen::output_width();
        print_text(&screen::wrap_text(&reviewed.review.question, width))?;
        for table in tables.iter().filter(|table| !table.is_empty()) {
            print_text(&format!("\n{}", table.draw(width)))?;
        }
        print_text(&format!("\nReport: {}", reviewed.page.display()))?;
        reviewed.arm_address().iter().try_for_each(|address| print_text(&arm_line(address)))?;
        line.iter().try_for_each(|line| print_text(line))?;
    }
    let fails = output.strict && statuses.iter().any(|(_, holds)| *holds == Some(false));
    Ok(if fails || refused { CommandAnswer::No } else { CommandAnswer::Done })
}
