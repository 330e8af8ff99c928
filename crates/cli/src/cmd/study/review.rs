//! The result of a review, as text or JSON.

use seekwise::study::review::{ReviewResult, part_summary};

use super::text::{claimed, claims_of, headlines, headlines_of};
use super::{ClaimStatus, StudyOutput, held_line};
use crate::cmd::{print, print_json};
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::output::say;
use crate::screen;
use crate::tables;

/// Refuses columns that the result of a review does not have.
pub fn check(columns: &[String]) -> Result<(), CommandError> {
    tables::choose(&mut [&mut headlines(), &mut claimed()], columns)
}

/// Prints the result.
pub fn finish(reviewed: &ReviewResult, said: StudyOutput<'_>) -> CommandResult {
    let (mut of_parts, mut of_claims) = (headlines(), claimed());
    let mut held: Vec<(String, Option<bool>)> = Vec::new();
    let (mut refused, mut summaries) = (false, Vec::new());
    for kept in reviewed.parts() {
        let (part, studied) = kept?;
        refused |= studied.is_refused();
        let evidence = studied.evidence();
        held.extend(evidence.claims().iter().map(|judged| (judged.claim.id.clone(), judged.reproduced())));
        if said.json {
            summaries.push(part_summary(part, &studied));
            continue;
        }
        let heading = part.title.clone().unwrap_or_else(|| studied.study.title.clone());
        headlines_of(&mut of_parts, &heading, &evidence);
        claims_of(&mut of_claims, part.folder(), &evidence);
    }
    let claims: Vec<ClaimStatus<'_>> = held.iter().map(|(id, holds)| ClaimStatus::of(id, *holds)).collect();
    let line = held_line(&claims);
    if said.json {
        print_json(&reviewed.summary(summaries))?;
        line.iter().for_each(say);
    } else {
        let mut tables = [of_parts, of_claims];
        tables::choose(&mut tables.each_mut(), said.columns)?;
        let width = screen::width();
        print(&screen::wrapped(&reviewed.review.question, width))?;
        for table in tables.iter().filter(|table| !table.is_empty()) {
            print(&format!("\n{}", table.draw(width)))?;
        }
        print(&format!("\nReport: {}", reviewed.page.display()))?;
        line.iter().try_for_each(|line| print(line))?;
    }
    let fails = said.strict && held.iter().any(|(_, holds)| *holds == Some(false));
    Ok(if fails || refused { CommandAnswer::No } else { CommandAnswer::Done })
}
