//! `seekwise claims`: whether the findings of published studies are reproduced, as a table or JSON.

use std::path::Path;

use seekwise::answer::ProgramVersion;
use seekwise::shell::quote_for_shell;
use seekwise::{Bounds, Files};
use seekwise_reproduce::claims::{ClaimAnswer, ClaimVerdict, Claims};

use super::study::{ClaimStatus, claims_line};
use super::{print_json, print_text};
use crate::args;
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::output::print_to_stderr;
use crate::progress::ProgressObserver;
use crate::screen;
use crate::tables::{self, Table};

/// Runs the command.
pub fn run_command(args: &args::ClaimsArgs, files: Files, bounds: &Bounds, json: bool) -> CommandResult {
    tables::choose_columns(&mut [&mut empty_table()], &args.columns.names)?;
    let &args::ClaimsArgs { ablate, force, resume, threads, runs, draw, .. } = args;
    let (ids, out) = (args.ids.clone(), args.out.clone());
    let request = Claims { ids, ablate, out, force, resume, threads, runs, draw, files };
    let progress = args
        .out
        .as_ref()
        .map_or_else(ProgressObserver::new, |out| ProgressObserver::keeping_runs(out, resume_command(args, out)));
    let verdicts = seekwise_reproduce::claims::run_and_judge_claims(&request, bounds, &progress)?;
    drop(progress);
    match json {
        true => {
            let mut output = serde_json::json!({ "program": ProgramVersion::current(), "claims": verdicts });
            if let Some(draw) = args.draw {
                output["draw"] = draw.to_string().into();
            }
            print_json(&output)?;
            print_to_stderr(summary_line(&verdicts));
        }
        false => print_text(&format_verdicts(&verdicts, &args.columns.names)?)?,
    }
    let fails = |verdict: &ClaimVerdict| verdict.reproduced == Some(false) || verdict.ablated == Some(false);
    Ok(if verdicts.iter().any(fails) { CommandAnswer::No } else { CommandAnswer::Done })
}

/// The command that continues from the kept results.
fn resume_command(args: &args::ClaimsArgs, out: &Path) -> String {
    let mut words = vec!["seekwise".to_owned(), "claims".to_owned()];
    words.extend(args.ids.iter().map(|id| quote_for_shell(id)));
    words.extend(args.ablate.then(|| "--ablate".to_owned()));
    words.extend(args.runs.iter().map(|runs| format!("--runs {runs}")));
    words.extend(args.draw.iter().map(|draw| format!("--draw {draw}")));
    words.push(format!("--out {} --resume", quote_for_shell(&out.display().to_string())));
    words.join(" ")
}

fn empty_table() -> Table {
    let mut table = tables::new_table(["claim", "class", "study", "reproduced", "figures and what was wanted"]);
    tables::mark_unbroken(&mut table, &["study"]);
    table
}

fn format_verdicts(verdicts: &[ClaimVerdict], columns: &[String]) -> Result<String, CommandError> {
    let width = screen::output_width();
    let mut table = empty_table();
    let with_study = || verdicts.iter().filter(|verdict| verdict.study.is_some());
    for verdict in with_study() {
        let mut lines = vec![verdict.finding.clone(), format!("Wanted: {}", verdict.condition)];
        lines.extend(verdict.reading.iter().map(|reading| format!("Read as: {reading}")));
        lines.extend(verdict.unchecked.iter().map(|part| format!("Not checked: {part}.")));
        lines.extend(verdict.lines.iter().cloned());
        lines.extend(verdict.reason.iter().cloned());
        let study = verdict.study.as_deref().unwrap_or_default();
        table.add_row([&verdict.id, &verdict.class, study, &verdict_word(verdict), &lines.join("\n")]);
    }
    tables::choose_columns(&mut [&mut table], columns)?;
    let mut text = if table.is_empty() { String::new() } else { format!("{}\n\n", table.draw(width)) };
    let without_study: Vec<&str> =
        verdicts.iter().filter(|verdict| verdict.study.is_none()).map(|verdict| verdict.id.as_str()).collect();
    if !without_study.is_empty() {
        let list = format!("Not run, because no study carries them yet: {}.", without_study.join(", "));
        text.push_str(&screen::wrap_text(&list, width));
    }
    text.push_str(&screen::wrap_text(&summary_line(verdicts), width));
    Ok(text)
}

/// Counts the claims that hold, without judgements (class J); names those that fail, or hold even without their mechanism.
fn summary_line(verdicts: &[ClaimVerdict]) -> String {
    let counted = verdicts.iter().filter(|verdict| verdict.class != "J");
    let statuses: Vec<ClaimStatus> = counted.map(|verdict| ClaimStatus::new(&verdict.id, verdict.reproduced)).collect();
    let mut line = claims_line(&statuses).unwrap_or_default();
    let without_mechanism =
        verdicts.iter().filter(|verdict| (verdict.reproduced, verdict.ablated) == (Some(true), Some(false)));
    let without_mechanism: Vec<&str> = without_mechanism.map(|verdict| verdict.id.as_str()).collect();
    if !without_mechanism.is_empty() {
        line.push_str(&format!("; also without its mechanism: {}", without_mechanism.join(", ")));
    }
    line
}

/// The verdict in a few words.
fn verdict_word(verdict: &ClaimVerdict) -> String {
    // The vote of a range is shown only if it is why the claim holds or fails.
    let vote = verdict.vote.as_ref().filter(|vote| vote.majority_answer() == verdict.reproduced);
    let votes = vote.map_or(String::new(), |vote| format!(", {}", vote.count_text()));
    let vote_with_places = vote.filter(|vote| !vote.holds.is_empty());
    let places = vote_with_places.map_or(String::new(), |vote| format!(": holds at {}", vote.holds.join(" | ")));
    let mechanism = match verdict.ablated {
        Some(true) if verdict.repeats.is_empty() => "; fails without its mechanism",
        Some(true) => "; fails at the study's other level, which is its switch",
        Some(false) => ", but ALSO WITHOUT its mechanism",
        None => "",
    };
    match verdict.answer {
        ClaimAnswer::Reproduced => format!("yes{votes}{mechanism}"),
        ClaimAnswer::InPart => format!("in part{votes}{mechanism}"),
        ClaimAnswer::NotReproduced => format!("NO{votes}{places}"),
        ClaimAnswer::NotDecided => format!("not decided{votes}{places}"),
        ClaimAnswer::Agrees => "–, agrees".to_owned(),
        ClaimAnswer::Disagrees => "–, disagrees".to_owned(),
        ClaimAnswer::Shown => "–".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_reproduce::claims::RangeVote;

    #[test]
    fn the_verdict_in_words() {
        let vote = |holds: &[&str], fails: &[&str]| {
            let list = |places: &[&str]| places.iter().map(|place| (*place).to_owned()).collect();
            Some(RangeVote { holds: list(holds), fails: list(fails), open: Vec::new() })
        };
        let word_for = |reproduced, ablated, vote, repeats: &[&str]| {
            let repeats = repeats.iter().map(|level| (*level).to_owned()).collect();
            let answer = match reproduced {
                Some(true) => ClaimAnswer::Reproduced,
                Some(false) => ClaimAnswer::NotReproduced,
                None => ClaimAnswer::Shown,
            };
            verdict_word(&ClaimVerdict { answer, reproduced, ablated, vote, repeats, ..ClaimVerdict::default() })
        };
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(word_for(yes, yes, None, &[]), "yes; fails without its mechanism");
        assert_eq!(
            word_for(yes, yes, None, &["queue off"]),
            "yes; fails at the study's other level, which is its switch"
        );
        assert_eq!(word_for(yes, no, vote(&["a", "b"], &["c"]), &[]), "yes, 2 of 3, but ALSO WITHOUT its mechanism");
        assert_eq!(word_for(no, yes, vote(&["a"], &["b", "c"]), &[]), "NO, 1 of 3: holds at a");
        assert_eq!(word_for(no, yes, vote(&[], &["a", "b"]), &[]), "NO, 0 of 2");
        assert_eq!(word_for(no, yes, vote(&["a"], &[]), &[]), "NO", "failed for want of the claim beside it");
        assert_eq!(word_for(None, None, None, &[]), "–");
        let tie =
            ClaimVerdict { answer: ClaimAnswer::NotDecided, vote: vote(&["a"], &["b"]), ..ClaimVerdict::default() };
        assert_eq!(verdict_word(&tie), "not decided, 1 of 2: holds at a");
        let part = ClaimVerdict { answer: ClaimAnswer::InPart, reproduced: yes, ..ClaimVerdict::default() };
        assert_eq!(verdict_word(&part), "in part");
    }
}
