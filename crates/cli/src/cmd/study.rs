//! `seekwise study`: runs a factorial study, keeps each run as it ends, and writes the report.

mod text;

use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};
use seekwise_formats::study::Study;
use seekwise_lab::compose::{self, Material};
use seekwise_lab::finding::{Evidence, Overall};
use seekwise_lab::made::{Made, MadeFrom};
use seekwise_lab::report;
use seekwise_lab::run::{GroupRecord, RunRecord, by_group};
use serde_json::json;

use super::studies::BUILT_IN;
use super::{print, print_json, warn};
use crate::args;
use crate::bounds::Bounds;
use crate::exit::{Answer, Failure, Outcome};
use crate::files;
use crate::output::{say, write_whole};
use crate::planned::{self, Opened, Opening, Planned};
use crate::results::{self, Results};

/// What the reader of a page does to have the same again; it stands in the folder that the page lies in.
const COMMAND: &str = "seekwise study . --out again";

/// Runs the command.
pub fn study(args: &args::Study, bounds: &Bounds, json: bool) -> Outcome {
    let folder = Path::new(&args.study);
    let opening = Opening { folder: &args.out, resume: args.resume, bounds, threads: args.threads };
    let opened = match results::says(folder) {
        true => opening.of_folder(folder)?,
        false => {
            let (name, text) = named(&args.study)?;
            opening.open(&name, &text, || planned::plan_file(&name, &text))?
        }
    };
    let Opened { planned, results, done, threads } = opened;
    text::check(&planned.study, &args.columns.names)?;
    warn(&planned.made.warnings);
    let records = run(&planned, results, done, threads, "")?;
    let answer = finish(&planned.study, &planned.made, &records, &args.out, json, &args.columns.names)?;
    say(format!("Again: {}", again(&args.out)));
    Ok(answer)
}

/// The command that runs again what is kept in `folder`.
pub fn again(folder: &Path) -> String {
    let folder = folder.display().to_string();
    let folder = folder.trim_end_matches('/');
    format!("seekwise study {folder} --out {folder}-again")
}

/// A study by the name of a built-in one, or of a file: its name and its text.
fn named(name: &str) -> Result<(String, String), Failure> {
    if let Some((name, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
        return Ok(((*name).to_owned(), (*text).to_owned()));
    }
    match files::find(name)? {
        Some(text) => Ok((name.to_owned(), text)),
        None => {
            let near = seekwise_formats::diagnostic::nearest(name, BUILT_IN.iter().map(|(name, _)| *name));
            let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            Err(Failure::new(format!("{name}: no such study file, and no built-in study of that name{hint}")))
        }
    }
}

/// Runs what is not done, appending each run to `results`; `what` stands before the bar. Answers all records in the
/// plan's order.
pub fn run(
    planned: &Planned,
    mut results: Results,
    mut records: Vec<RunRecord>,
    threads: usize,
    what: &str,
) -> Result<Vec<RunRecord>, Failure> {
    let total = planned.prepared.len() as u64 * u64::from(planned.study.runs);
    let bar = ProgressBar::new(total).with_style(
        ProgressStyle::with_template("{msg}{bar:30} {pos}/{len} runs, {elapsed} gone, about {eta} left")
            .expect("the template is well formed"),
    );
    bar.set_message(what.to_owned());
    bar.set_position(records.len() as u64);
    let mut failure = None;
    let Planned { study, prepared, made, .. } = planned;
    seekwise_lab::study::execute(study, prepared, &made.seeds, records.len(), threads, |result| {
        let kept = result.map_err(Failure::from).and_then(|record| {
            results.append(&record)?;
            Ok(record)
        });
        match kept {
            Ok(record) => {
                bar.inc(1);
                records.push(record);
                true
            }
            Err(error) => {
                failure = Some(error);
                false
            }
        }
    });
    bar.finish_and_clear();
    failure.map_or(Ok(records), Err)
}

/// Writes the report into `folder` and answers its path.
pub fn write_report(study: &Study, made: &MadeFrom, records: &[RunRecord], folder: &Path) -> Result<PathBuf, Failure> {
    let material = Material { study, made, records, command: COMMAND };
    let page = report::html(&compose::report(&material));
    let path = folder.join("report.html");
    write_whole(&path, page.as_bytes()).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    Ok(path)
}

/// Writes the report and says what came out.
pub fn finish(
    study: &Study,
    made: &MadeFrom,
    records: &[RunRecord],
    out: &Path,
    json: bool,
    columns: &[String],
) -> Outcome {
    let path = write_report(study, made, records, out)?;
    let evidence = Evidence::new(study, made, records);
    if json {
        print_json(&summary(&evidence, &path))?;
    } else {
        print(&text::text(&evidence, columns)?)?;
        print(&format!("\nReport: {}", path.display()))?;
    }
    // A claim that does not come out is an answer in the report, not a failure of the study; a headline that may not
    // be drawn is.
    let refused = |overall: &Overall| overall.refused.is_some() && study.compare[overall.compare].headline;
    Ok(if evidence.findings().1.iter().any(refused) { Answer::No } else { Answer::Done })
}

fn summary(evidence: &Evidence<'_>, path: &Path) -> serde_json::Value {
    let (findings, overall) = evidence.findings();
    let compares = &evidence.study.compare;
    let said = |judgement: &Option<seekwise_lab::stats::Judgement>| match judgement {
        Some(j) => json!({"ratio": {"estimate": j.ratio.estimate, "low": j.ratio.low, "high": j.ratio.high},
                          "verdict": j.verdict.to_string(), "p_adjusted": j.p_holm}),
        None => json!(null),
    };
    let comparisons: Vec<_> = overall
        .iter()
        .map(|o| {
            let cells = findings.iter().filter(|f| f.compare == o.compare);
            let cells: Vec<_> = cells.map(|f| json!({"cell": f.cell, "result": said(&f.judgement)})).collect();
            json!({"name": compares[o.compare].name, "overall": said(&o.judgement), "cells": cells, "refused": o.refused})
        })
        .collect();
    let claims: Vec<_> = evidence
        .claims()
        .iter()
        .map(|c| {
            json!({"id": c.claim.id, "class": c.claim.class.letter(), "condition": c.claim.condition,
                   "figure": c.figure(), "reproduced": c.reproduced(), "mechanism": c.claim.mechanism})
        })
        .collect();
    let mut summary =
        json!({"title": evidence.study.title, "comparisons": comparisons, "claims": claims, "report": path});
    let groups = |(index, cell): (usize, &Made)| {
        let groups = by_group(evidence.runs(index));
        let said = |group: &GroupRecord| json!({"workers": group.name, "figures": group.all});
        (!groups.is_empty())
            .then(|| json!({"levels": cell.cell.levels, "groups": groups.iter().map(said).collect::<Vec<_>>()}))
    };
    let groups: Vec<_> = evidence.made.cells.iter().enumerate().filter_map(groups).collect();
    if !groups.is_empty() {
        summary["groups"] = groups.into();
    }
    summary
}
