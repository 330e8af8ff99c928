//! `seekwise study`: runs a factorial study, keeps each run as it ends, and writes the report.

use std::path::{Path, PathBuf};

use comfy_table::{Cell as TableCell, Table};
use indicatif::{ProgressBar, ProgressStyle};
use seekwise_formats::study::{Compare, Study};
use seekwise_lab::compose::{self, Material, ratio_text};
use seekwise_lab::finding::{Beside, Evidence, Finding, Overall};
use seekwise_lab::made::{Made, MadeFrom};
use seekwise_lab::report;
use seekwise_lab::run::{Cpu, GroupRecord, RunRecord, by_group};
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
use crate::tables;

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
    warn(&planned.made.warnings);
    let records = run(&planned, results, done, threads, "")?;
    let answer = finish(&planned.study, &planned.made, &records, &args.out, json)?;
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
pub fn finish(study: &Study, made: &MadeFrom, records: &[RunRecord], out: &Path, json: bool) -> Outcome {
    let path = write_report(study, made, records, out)?;
    let evidence = Evidence::new(study, made, records);
    if json {
        print_json(&summary(&evidence, &path))?;
    } else {
        print(&tables(&evidence))?;
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
            let beside = |f: &Finding| f.beside.iter().map(Beside::text).collect::<Vec<_>>();
            let cells: Vec<_> = cells
                .map(|f| json!({"cell": f.cell, "result": said(&f.judgement), "cause": f.cause, "beside": beside(f)}))
                .collect();
            let Compare { name, metric, .. } = &compares[o.compare];
            json!({"name": name, "metric": metric.to_string(), "better": metric.better(), "place": o.place,
                   "overall": said(&o.judgement), "cells": cells, "refused": o.refused})
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

fn tables(evidence: &Evidence<'_>) -> String {
    let study = evidence.study;
    let (findings, overall) = evidence.findings();
    let mut text = format!("{}\n\n", study.question);
    for summary in overall.iter().filter(|summary| summary.refused.is_none() && summary.place.is_some()) {
        text.push_str(&format!("{}.\n\n", compose::headline(&study.compare[summary.compare], summary)));
    }
    let mut table = tables::table(["comparison", "over all cells", "verdict", "least", "most"]);
    for summary in &overall {
        let name = &study.compare[summary.compare].name;
        let ratios = findings.iter().filter(|f| f.compare == summary.compare).filter_map(|f| f.judgement);
        let ratios: Vec<f64> = ratios.map(|judgement| judgement.ratio.estimate).collect();
        let end = |pick: fn(f64, f64) -> f64| match ratios.iter().copied().reduce(pick) {
            Some(ratio) => format!("{ratio:.3} ×"),
            None => "–".to_owned(),
        };
        let (ratio, verdict) = match &summary.judgement {
            _ if summary.refused.is_some() => ("–".to_owned(), "refused".to_owned()),
            Some(judgement) => (ratio_text(judgement), judgement.verdict.to_string()),
            None => ("–".to_owned(), "not enough data".to_owned()),
        };
        table.add_row([name.clone(), ratio, verdict, end(f64::min), end(f64::max)]);
    }
    if !overall.is_empty() {
        text.push_str(&table.to_string());
        text.push_str("\n\n");
    }
    for summary in &overall {
        if let Some(why) = &summary.refused {
            text.push_str(&format!("Refused: {}: {why}.\n\n", study.compare[summary.compare].name));
        }
    }
    text.push_str(&cells_table(evidence).to_string());
    if let Some(groups) = groups_table(evidence) {
        text.push_str(&format!("\n\n{groups}"));
    }
    let claims = evidence.claims();
    if !claims.is_empty() {
        let mut table = tables::table(["claim", "class", "reproduced", "figures"]);
        for claim in &claims {
            let reproduced = match (claim.reproduced(), claim.holds, &claim.claim.with) {
                (Some(true), ..) => "yes".to_owned(),
                (Some(false), ..) => "NO".to_owned(),
                (None, Some(_), Some(with)) => format!("if {} holds beside it", with.claim),
                (None, Some(_), None) => "if a planted difference is detected".to_owned(),
                (None, None, _) => "shown".to_owned(),
            };
            let class = claim.claim.class.letter().to_owned();
            table.add_row([claim.claim.id.clone(), class, reproduced, claim.figures().join("\n")]);
        }
        text.push_str(&format!("\n\n{table}"));
    }
    text
}

/// What the workers of each name met, where a job has several: with the tail, which differs most between them.
fn groups_table(evidence: &Evidence<'_>) -> Option<Table> {
    let factors = evidence.study.factor.iter().map(|factor| factor.name.clone());
    let figures = ["workers", "requests", "requests/s", "MB/s", "mean ms", "p50", "p99", "p99.9", "p99.99", "max ms"];
    let mut table = tables::wide(factors.chain(figures.map(str::to_owned)).collect());
    let mut any = false;
    for (index, cell) in evidence.made.cells.iter().enumerate() {
        for group in by_group(evidence.runs(index)) {
            let r = &group.all.response_ms;
            let mut row = cell.cell.levels.clone();
            row.extend([group.name, group.all.ios.to_string(), format!("{:.1}", group.all.iops)]);
            row.push(format!("{:.2}", group.all.bytes_per_s / 1e6));
            row.extend([r.mean, r.p50, r.p99, r.p99_9, r.p99_99, r.max].map(|ms| format!("{ms:.2}")));
            table.add_row(row);
            any = true;
        }
    }
    tables::figures_from(&mut table, evidence.study.factor.len() + 1);
    any.then_some(table)
}

fn cells_table(evidence: &Evidence<'_>) -> Table {
    let factors = evidence.study.factor.iter().map(|factor| factor.name.clone());
    let mut figures = vec!["requests/s", "MB/s", "mean ms", "p99 ms"];
    let processor = (0..evidence.made.cells.len()).any(|cell| evidence.runs(cell).iter().any(|run| run.cpu.is_some()));
    if processor {
        figures.extend(["processor %", "requests/s for each %", "MB/s for each %"]);
    }
    let mut table = tables::wide(factors.chain(figures.into_iter().map(str::to_owned)).collect());
    for (index, cell) in evidence.made.cells.iter().enumerate() {
        if evidence.runs(index).is_empty() {
            continue;
        }
        let iops = evidence.mean(index, |run| run.all.iops);
        let half = (iops.high - iops.low) / 2.0;
        let bytes = evidence.mean(index, |run| run.all.bytes_per_s).estimate / 1e6;
        let mean = evidence.mean(index, |run| run.all.response_ms.mean).estimate;
        let p99 = evidence.mean(index, |run| run.all.response_ms.p99).estimate;
        let mut row: Vec<TableCell> = cell.cell.levels.iter().map(TableCell::new).collect();
        let figures = [
            format!("{:.1} ± {half:.1}", iops.estimate),
            format!("{bytes:.2}"),
            format!("{mean:.2}"),
            format!("{p99:.2}"),
        ];
        row.extend(figures.iter().map(TableCell::new));
        if processor {
            let measured = evidence.runs(index).iter().all(|run| run.cpu.is_some());
            let mean = |value: fn(&Cpu) -> f64, digits: usize| match measured {
                true => {
                    let mean = evidence.mean(index, |run| run.cpu.as_ref().map_or(0.0, value)).estimate;
                    TableCell::new(format!("{mean:.digits$}"))
                }
                false => TableCell::new("–"),
            };
            row.push(mean(|cpu| cpu.percent, 2));
            row.push(mean(|cpu| cpu.iops_per_percent, 1));
            row.push(mean(|cpu| cpu.mb_per_s_per_percent, 3));
        }
        table.add_row(row);
    }
    tables::figures_from(&mut table, evidence.study.factor.len());
    table
}
