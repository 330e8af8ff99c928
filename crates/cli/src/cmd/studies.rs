//! `seekwise studies`: lists the built-in reviews (several studies under one question) with their parts, and the other built-in
//! studies, each with its question and an estimate of its time; shows the factors, comparisons and claims of one.

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

/// The cells of a study that are prepared to forecast its time; few, because all studies are listed.
const PROBED_CELLS: usize = 4;

/// Runs the command.
pub fn run_command(args: &args::NamedArgs, files: &Files, json: bool) -> CommandResult {
    if let Some(name) = &args.name {
        return match REVIEWS.iter().find(|(known, _)| known == name) {
            Some(&(name, text)) => print_review(files, name, text, json),
            None => print_study(files, name, json),
        };
    }
    // All studies share a cache, because they use the same few drives.
    let inputs = files.inputs();
    let reviews = REVIEWS.iter().map(|&(name, text)| ListedStudy::list_review(name, text, &inputs));
    let reviews = reviews.collect::<Result<Vec<_>, _>>()?;
    let is_part = |name: &str| reviews.iter().flat_map(|review| &review.parts).any(|part| part.name == name);
    let other_studies = BUILT_IN.iter().filter(|(name, _)| !is_part(name));
    let other_studies = other_studies.map(|&(name, text)| ListedStudy::list_study(name, text, &inputs));
    let other_studies = other_studies.collect::<Result<Vec<_>, _>>()?;
    if json {
        print_json(&reviews.iter().chain(&other_studies).map(ListedStudy::to_json).collect::<Vec<_>>())?;
        return Ok(CommandAnswer::Done);
    }
    let mut table = empty_table();
    for study in reviews.iter().chain(&other_studies) {
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
    /// Forecast of the wall time in seconds on one core of this machine, from the first requests of some cells.
    takes_s: f64,
    parts: Vec<ListedStudy>,
}

impl ListedStudy {
    /// The entry of a study, with a forecast of its time.
    fn list_study(name: &str, text: &str, inputs: &Inputs<'_>) -> Result<ListedStudy, CommandError> {
        let study = parse(name, text)?;
        let cells = study_cells(&study);
        // The step is larger by one than an even spacing, so that the probed cells differ in the last factor, too.
        let (probed_count, step) = (cells.len().min(PROBED_CELLS), cells.len() / PROBED_CELLS + 1);
        let probed: Vec<_> = (0..probed_count).map(|index| cells[index * step % cells.len()].clone()).collect();
        let share = probed.len() as f64 / cells.len() as f64;
        let planned = study_plan::prepare_study(name, text, study, &probed, inputs)?;
        let takes_s = bounds::forecast_core_seconds(&planned.to_run_plan(1, false))? / share;
        let Study { title, question, runs, .. } = planned.study;
        let runs = cells.len() as u64 * u64::from(runs);
        Ok(ListedStudy { name: name.to_owned(), title, question, runs, takes_s, parts: Vec::new() })
    }

    /// The entry of a review, with its parts.
    fn list_review(name: &str, text: &str, inputs: &Inputs<'_>) -> Result<ListedStudy, CommandError> {
        let Review { title, question, part, .. } = Review::parse(name, text)?;
        let list_part = |part: &ReviewPart| {
            let known = BUILT_IN.iter().find(|(known, _)| *known == part.study);
            let &(name, text) = known.ok_or_else(|| CommandError::new(format!("{name}: no study `{}`", part.study)))?;
            ListedStudy::list_study(name, text, inputs)
        };
        let parts = part.iter().map(list_part).collect::<Result<Vec<_>, _>>()?;
        let runs = parts.iter().map(|part| part.runs).sum();
        let takes_s = parts.iter().map(|part| part.takes_s).sum();
        Ok(ListedStudy { name: name.to_owned(), title, question, runs, takes_s, parts })
    }

    /// Adds the row of the study.
    fn add_to_table(&self, table: &mut Table, indent: &str) {
        let name = format!("{indent}{}", self.name);
        table.add_row([name, self.runs.to_string(), approximate_time(self.takes_s), self.question.clone()]);
    }

    fn to_json(&self) -> Value {
        let parts: Vec<Value> = self.parts.iter().map(ListedStudy::to_json).collect();
        json!({"name": self.name, "title": self.title, "question": self.question, "runs": self.runs,
               "takes_about_s": self.takes_s, "parts": parts})
    }
}

fn empty_table() -> Table {
    let mut table = tables::new_table(["study", "runs", "takes about", "question"]);
    tables::mark_figures(&mut table, &["runs", "takes about"]);
    tables::mark_unbroken(&mut table, &["study"]);
    table
}

/// A forecast of a time in words, rounded, because a forecast is not exact.
fn approximate_time(seconds: f64) -> String {
    tables::unbreakable(&match seconds {
        ..1.0 => "a second".to_owned(),
        ..90.0 => format!("{seconds:.0} s"),
        ..5400.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    })
}

/// Prints a review: its question, introduction and parts.
fn print_review(files: &Files, name: &str, text: &str, json: bool) -> CommandResult {
    let listed_review = ListedStudy::list_review(name, text, &files.inputs())?;
    let review = Review::parse(name, text)?;
    if json {
        let mut value = listed_review.to_json();
        value["introduction"] = review.paragraphs().collect::<Vec<_>>().into();
        print_json(&value)?;
        return Ok(CommandAnswer::Done);
    }
    let wrapped = |text: &str| wrap_text(text, screen::output_width());
    print_text(&format!("{}\n\n{}", wrapped(&format!("{name}: {}", review.title)), wrapped(&review.question)))?;
    for paragraph in review.paragraphs() {
        print_text(&format!("\n{}", wrapped(&paragraph)))?;
    }
    let mut table = empty_table();
    listed_review.parts.iter().for_each(|part| part.add_to_table(&mut table, ""));
    print_text(&format!("\n{table}\n"))?;
    let (runs, takes) = (listed_review.runs, approximate_time(listed_review.takes_s));
    let effort = format!(
        "{runs} runs with --fixed, about {takes} here on one core, judging by their first requests; without it, until verdicts stand."
    );
    print_text(&wrapped(&effort))?;
    print_text(&format!("Run it: seekwise study {name} --out {name}"))?;
    Ok(CommandAnswer::Done)
}

/// The amount of work of a study.
struct StudyExtent {
    cells: usize,
    /// Virtual seconds of all runs, if their jobs end by time.
    virtual_s: Option<f64>,
    /// The most requests of all runs, if their jobs limit them.
    requests: Option<u64>,
}

/// Prints the study of that name.
fn print_study(files: &Files, name: &str, json: bool) -> CommandResult {
    let Some(&(name, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) else {
        let unknown = Diagnostic::at(name, 0, "no built-in study with that name");
        let unknown = unknown.suggest_nearest(name, REVIEWS.iter().chain(BUILT_IN).map(|study| study.0));
        return Err(unknown.explain_limit(name).into());
    };
    let planned = study_plan::plan_file(files, name, text)?;
    let (evidence, extent) = (Evidence::new(&planned.study, &planned.made, &[]), study_extent(&planned));
    match json {
        true => print_json(&study_json(name, &evidence, &extent))?,
        false => print_text(&format_study(name, &evidence, &extent))?,
    }
    Ok(CommandAnswer::Done)
}

/// The extent of a study, in which each cell runs as often as the others.
fn study_extent(planned: &PlannedStudy) -> StudyExtent {
    let runs = planned.study.runs;
    let extents: Vec<_> = planned.prepared.iter().map(|cell| bounds::job_extent(&cell.job)).collect();
    let seconds: Option<f64> = extents.iter().map(|extent| extent.seconds).sum();
    let requests: Option<u64> = extents.iter().map(|extent| extent.requests).sum();
    StudyExtent {
        cells: extents.len(),
        virtual_s: seconds.map(|seconds| seconds * f64::from(runs)),
        requests: requests.map(|requests| requests.saturating_mul(u64::from(runs))),
    }
}

fn study_json(name: &str, evidence: &Evidence<'_>, extent: &StudyExtent) -> Value {
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
        "virtual_s": extent.virtual_s, "requests_at_most": extent.requests,
    })
}

/// The settings of each level of a factor.
fn level_settings(factor: &Factor) -> Vec<String> {
    let listed = |settings: Vec<(String, String)>| {
        settings.into_iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(", ")
    };
    match &factor.key {
        Some(key) => factor.level_names().into_iter().map(|level| format!("{key}={level}")).collect(),
        None => factor.bundle.iter().map(|bundle| listed(flatten(&bundle.set))).collect(),
    }
}

fn format_study(name: &str, evidence: &Evidence<'_>, extent: &StudyExtent) -> String {
    let study = evidence.study;
    let wrapped = |text: &str| format!("{}\n", wrap_text(text, screen::output_width()));
    let mut text = format!("{}\n{}", wrapped(&format!("{name}: {}", study.title)), wrapped(&study.question));
    if let Some(expect) = &study.expect {
        text += &wrapped(&format!("Expected: {expect}"));
    }
    let shared = study.job.iter().map(|job| ("job".to_owned(), job.clone())).chain(flatten(&study.stack));
    let shared: Vec<String> = shared.map(|(key, value)| format!("{key}={value}")).collect();
    text += &wrapped(&format!("Under all: {}", shared.join(", ")));
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
    let length = match (extent.virtual_s, extent.requests) {
        (Some(seconds), _) => format!(", {:.1} hours of virtual time", seconds / 3600.0),
        (None, Some(requests)) => format!(", at most {requests} requests"),
        (None, None) => String::new(),
    };
    text += &format!(
        "\n{}",
        wrapped(&format!("{} cells, {} runs of each: {runs} runs{length}.", extent.cells, study.runs))
    );
    text + &format!("Run it: seekwise study {name} --out {name}\n")
}
