//! `seekwise studies`: lists the built-in reviews with their parts, and the other studies, each with its question and
//! how long it takes; shows what one varies, compares and claims.

use seekwise::bounds;
use seekwise::error::Diagnostic;
use seekwise::setup::Inputs;
use seekwise::study::{BUILT_IN, Evidence, Factor, REVIEWS, Review, ReviewPart, Study, flatten, parse};
use seekwise::study_plan::{self, PlannedStudy, study_cells};
use serde_json::{Value, json};

use super::{print_json, print_text};
use crate::args;
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::screen::{self, wrap_text};
use crate::tables::{self, Table};
use seekwise::Files;

/// Cells of a study that are prepared to forecast how long it takes: few, for all studies are listed.
const PROBED: usize = 4;

/// Lists them, or shows one.
pub fn run_command(args: &args::NamedArgs, files: &Files, json: bool) -> CommandResult {
    if let Some(name) = &args.name {
        return match REVIEWS.iter().find(|(known, _)| known == name) {
            Some(&(name, text)) => show_review(files, name, text, json),
            None => show_study(files, name, json),
        };
    }
    // The studies name the same few drives.
    let inputs = files.inputs();
    let reviews = REVIEWS.iter().map(|&(name, text)| ListedStudy::list_review(name, text, &inputs));
    let reviews = reviews.collect::<Result<Vec<_>, _>>()?;
    let in_one = |name: &str| reviews.iter().flat_map(|review| &review.parts).any(|part| part.name == name);
    let others = BUILT_IN.iter().filter(|(name, _)| !in_one(name));
    let others = others.map(|&(name, text)| ListedStudy::list_study(name, text, &inputs));
    let others = others.collect::<Result<Vec<_>, _>>()?;
    if json {
        print_json(&reviews.iter().chain(&others).map(ListedStudy::to_json).collect::<Vec<_>>())?;
        return Ok(CommandAnswer::Done);
    }
    let mut table = empty_table();
    for study in reviews.iter().chain(&others) {
        study.add_to_table(&mut table, "");
        study.parts.iter().for_each(|part| part.add_to_table(&mut table, "  "));
    }
    print_text(&table.to_string())?;
    Ok(CommandAnswer::Done)
}

/// A study or a review in the list.
struct ListedStudy {
    name: String,
    title: String,
    question: String,
    runs: u64,
    /// Forecast of wall seconds on one core here, from the first requests of some cells.
    takes: f64,
    parts: Vec<ListedStudy>,
}

impl ListedStudy {
    fn list_study(name: &str, text: &str, inputs: &Inputs<'_>) -> Result<ListedStudy, CommandError> {
        let study = parse(name, text)?;
        let cells = study_cells(&study);
        // A cell further each time, so that not all have the same level of the last factor.
        let (probed, step) = (cells.len().min(PROBED), cells.len() / PROBED + 1);
        let some: Vec<_> = (0..probed).map(|place| cells[place * step % cells.len()].clone()).collect();
        let share = some.len() as f64 / cells.len() as f64;
        let planned = study_plan::prepare_study(name, text, study, &some, inputs)?;
        let takes = bounds::forecast_core_seconds(&planned.to_run_plan(1, false))? / share;
        let Study { title, question, runs, .. } = planned.study;
        let runs = cells.len() as u64 * u64::from(runs);
        Ok(ListedStudy { name: name.to_owned(), title, question, runs, takes, parts: Vec::new() })
    }

    fn list_review(name: &str, text: &str, inputs: &Inputs<'_>) -> Result<ListedStudy, CommandError> {
        let Review { title, question, part, .. } = Review::parse(name, text)?;
        let find = |part: &ReviewPart| {
            let known = BUILT_IN.iter().find(|(known, _)| *known == part.study);
            let &(name, text) = known.ok_or_else(|| CommandError::new(format!("{name}: no study `{}`", part.study)))?;
            ListedStudy::list_study(name, text, inputs)
        };
        let parts = part.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        let (runs, takes) = (parts.iter().map(|part| part.runs).sum(), parts.iter().map(|part| part.takes).sum());
        Ok(ListedStudy { name: name.to_owned(), title, question, runs, takes, parts })
    }

    fn add_to_table(&self, table: &mut Table, indent: &str) {
        let name = format!("{indent}{}", self.name);
        table.add_row([name, self.runs.to_string(), approximate_time(self.takes), self.question.clone()]);
    }

    fn to_json(&self) -> Value {
        let parts: Vec<Value> = self.parts.iter().map(ListedStudy::to_json).collect();
        json!({"name": self.name, "title": self.title, "question": self.question, "runs": self.runs,
               "takes_about_s": self.takes, "parts": parts})
    }
}

fn empty_table() -> Table {
    let mut table = tables::new_table(["study", "runs", "takes about", "question"]);
    tables::mark_figures(&mut table, &["runs", "takes about"]);
    tables::mark_unbroken(&mut table, &["study"]);
    table
}

/// A forecast in words, no finer than its precision.
fn approximate_time(seconds: f64) -> String {
    tables::unbreakable(&match seconds {
        ..1.0 => "a second".to_owned(),
        ..90.0 => format!("{seconds:.0} s"),
        ..5400.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    })
}

/// Shows a review: its subject and its parts.
fn show_review(files: &Files, name: &str, text: &str, json: bool) -> CommandResult {
    let listed_review = ListedStudy::list_review(name, text, &files.inputs())?;
    let review = Review::parse(name, text)?;
    if json {
        let mut value = listed_review.to_json();
        value["introduction"] = review.paragraphs().collect::<Vec<_>>().into();
        print_json(&value)?;
        return Ok(CommandAnswer::Done);
    }
    let prose = |text: &str| wrap_text(text, screen::output_width());
    print_text(&format!("{}\n\n{}", prose(&format!("{name}: {}", review.title)), prose(&review.question)))?;
    for paragraph in review.paragraphs() {
        print_text(&format!("\n{}", prose(&paragraph)))?;
    }
    let mut table = empty_table();
    listed_review.parts.iter().for_each(|part| part.add_to_table(&mut table, ""));
    print_text(&format!("\n{table}\n"))?;
    let (runs, takes) = (listed_review.runs, approximate_time(listed_review.takes));
    let all = format!(
        "{runs} runs with --fixed, about {takes} here on one core, judging by their first requests; without it, until verdicts stand."
    );
    print_text(&prose(&all))?;
    print_text(&format!("Run it: seekwise study {name} --out {name}"))?;
    Ok(CommandAnswer::Done)
}

/// The amount of work of a study.
struct StudyExtent {
    cells: usize,
    /// Virtual seconds of all runs, where their jobs say so.
    seconds: Option<f64>,
    /// Requests of all runs at most, where their jobs say so.
    requests: Option<u64>,
}

/// Shows the study of that name.
fn show_study(files: &Files, name: &str, json: bool) -> CommandResult {
    let Some(&(name, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) else {
        let fault = Diagnostic::at(name, 0, "no built-in study with that name");
        let fault = fault.suggest_nearest(name, REVIEWS.iter().chain(BUILT_IN).map(|study| study.0));
        return Err(fault.explain_limit(name).into());
    };
    let planned = study_plan::plan_file(files, name, text)?;
    let (evidence, extent) = (Evidence::new(&planned.study, &planned.made, &[]), study_extent(&planned));
    match json {
        true => print_json(&as_json(name, &evidence, &extent))?,
        false => print_text(&format_study(name, &evidence, &extent))?,
    }
    Ok(CommandAnswer::Done)
}

/// The extent of a study; each cell runs as often as the others.
fn study_extent(planned: &PlannedStudy) -> StudyExtent {
    let runs = planned.study.runs;
    let cells: Vec<_> = planned.prepared.iter().map(|cell| bounds::job_extent(&cell.job)).collect();
    let seconds: Option<f64> = cells.iter().map(|cell| cell.seconds).sum();
    let requests: Option<u64> = cells.iter().map(|cell| cell.requests).sum();
    StudyExtent {
        cells: cells.len(),
        seconds: seconds.map(|seconds| seconds * f64::from(runs)),
        requests: requests.map(|requests| requests.saturating_mul(u64::from(runs))),
    }
}

fn as_json(name: &str, evidence: &Evidence<'_>, extent: &StudyExtent) -> Value {
    let study = evidence.study;
    let factors = study.factor.iter().map(|factor| {
        json!({"name": factor.name, "unit": factor.unit, "key": factor.key, "levels": factor.level_names(),
               "sets": level_settings(factor)})
    });
    let comparisons = study.compare.iter().enumerate().map(|(place, compare)| {
        json!({"name": compare.name, "factor": compare.factor, "from": compare.from, "to": compare.to,
               "metric": evidence.judged_metric(place).to_string(), "headline": compare.headline})
    });
    let claims = study.claim.iter().map(|claim| {
        json!({"id": claim.id, "class": claim.class.letter().to_string(), "finding": claim.finding,
               "condition": claim.condition, "mechanism": claim.mechanism})
    });
    json!({
        "name": name, "title": study.title, "question": study.question, "expect": study.expect, "seed": study.seed,
        "job": study.job, "stack": study.stack, "factors": factors.collect::<Vec<_>>(),
        "comparisons": comparisons.collect::<Vec<_>>(), "claims": claims.collect::<Vec<_>>(),
        "cells": extent.cells, "runs_a_cell": study.runs, "runs": extent.cells as u64 * u64::from(study.runs),
        "virtual_s": extent.seconds, "requests_at_most": extent.requests,
    })
}

/// The settings of each level of a factor.
fn level_settings(factor: &Factor) -> Vec<String> {
    let words = |set: Vec<(String, String)>| {
        set.into_iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(", ")
    };
    match &factor.key {
        Some(key) => factor.level_names().into_iter().map(|level| format!("{key}={level}")).collect(),
        None => factor.bundle.iter().map(|bundle| words(flatten(&bundle.set))).collect(),
    }
}

fn format_study(name: &str, evidence: &Evidence<'_>, extent: &StudyExtent) -> String {
    let study = evidence.study;
    let prose = |text: &str| format!("{}\n", wrap_text(text, screen::output_width()));
    let mut text = format!("{}\n{}", prose(&format!("{name}: {}", study.title)), prose(&study.question));
    if let Some(expect) = &study.expect {
        text += &prose(&format!("Expected: {expect}"));
    }
    let base = study.job.iter().map(|job| ("job".to_owned(), job.clone())).chain(flatten(&study.stack));
    let base: Vec<String> = base.map(|(key, value)| format!("{key}={value}")).collect();
    text += &prose(&format!("Under all: {}", base.join(", ")));
    if !study.factor.is_empty() {
        let mut table = tables::new_table(["factor", "level", "sets"]);
        for factor in &study.factor {
            let unit = factor.unit.as_ref().map_or(String::new(), |unit| format!(" {unit}"));
            for (level, sets) in factor.level_names().into_iter().zip(level_settings(factor)) {
                table.add_row([factor.name.clone(), format!("{level}{unit}"), sets]);
            }
        }
        text += &format!("\n{table}\n");
    }
    if !study.compare.is_empty() {
        let mut table = tables::new_table(["comparison", "of", "from", "to"]);
        for (place, compare) in study.compare.iter().enumerate() {
            let metric = evidence.judged_metric(place).to_string();
            let side = |level: &str| format!("{}={level}", compare.factor);
            table.add_row([&compare.name, &metric, &side(&compare.from), &side(&compare.to)]);
        }
        text += &format!("\n{table}\n");
    }
    if !study.claim.is_empty() {
        let mut table = tables::new_table(["claim", "class", "finding"]);
        for claim in &study.claim {
            table.add_row([&claim.id, claim.class.letter(), &claim.finding]);
        }
        text += &format!("\n{table}\n");
    }
    let runs = extent.cells as u64 * u64::from(study.runs);
    let lasts = match (extent.seconds, extent.requests) {
        (Some(seconds), _) => format!(", {:.1} hours of virtual time", seconds / 3600.0),
        (None, Some(requests)) => format!(", at most {requests} requests"),
        (None, None) => String::new(),
    };
    text +=
        &format!("\n{}", prose(&format!("{} cells, {} runs of each: {runs} runs{lasts}.", extent.cells, study.runs)));
    text + &format!("Run it: seekwise study {name} --out {name}\n")
}
