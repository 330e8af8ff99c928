//! `seekwise study`: runs a factorial study, keeps each run as it ends, and writes the report.

use std::path::{Path, PathBuf};

use comfy_table::{Cell as TableCell, Table};
use seekwise_formats::study::Study;
use seekwise_lab::compose::{self, Material, ratio_text};
use seekwise_lab::finding::{Evidence, Overall};
use seekwise_lab::made::{Made, MadeFrom};
use seekwise_lab::report;
use seekwise_lab::run::{Cpu, GroupRecord, RunRecord, by_group};
use serde_json::json;

use super::studies::BUILT_IN;
use super::{print, print_json, warn};
use crate::args;
use crate::bounds::Bounds;
use crate::exit::{Answer, Failure, Outcome};
use crate::files::{self, Kind};
use crate::interrupt::{self, Keeping};
use crate::output::{quoted, say, write_whole};
use crate::planned::{self, Opened, Opening, Planned};
use crate::progress::Progress;
use crate::results::{self, PAGE, Results};
use crate::tables;

/// What the reader of a page does to have the same again; it stands in the folder that the page lies in.
const COMMAND: &str = "seekwise study . --out again";

/// Runs the command.
pub fn study(args: &args::Study, bounds: &Bounds, json: bool) -> Outcome {
    let folder = Path::new(&args.study);
    let goes_on = args.resume && results::says(folder);
    let out = args.out.as_deref().unwrap_or(if goes_on { folder } else { Path::new("out") });
    let &args::Study { resume, force, threads, .. } = args;
    let opening = Opening { folder: out, resume, force, bounds, threads };
    let opened = match results::says(folder) {
        true => opening.of_folder(folder)?,
        false => {
            let (name, text) = named(&args.study)?;
            opening.open(&name, &text, || planned::plan_file(&name, &text))?
        }
    };
    let Opened { planned, results, done, threads } = opened;
    warn(&planned.made.warnings);
    keep(out, &planned);
    let progress = Progress::of(runs(&planned), "runs");
    let records = run(&planned, results, done, threads, &progress)?;
    drop(progress);
    say(format!("Again: {}", again(out)));
    finish(&planned.study, &planned.made, &records, out, Said { json, strict: args.strict })
}

/// The command that runs again what is kept in `folder`.
pub fn again(folder: &Path) -> String {
    let folder = folder.display().to_string();
    let folder = folder.trim_end_matches('/');
    format!("seekwise study {} --out {}", quoted(folder), quoted(&format!("{folder}-again")))
}

/// A signal finds the runs of a plan in `folder`.
pub fn keep(folder: &Path, planned: &Planned) {
    let again = format!("seekwise study {} --resume", quoted(&folder.display().to_string()));
    interrupt::hold().keep(Keeping { folder: folder.to_owned(), of: runs(planned), again });
}

/// Runs of a plan.
pub fn runs(planned: &Planned) -> u64 {
    planned.prepared.len() as u64 * u64::from(planned.study.runs)
}

/// A study by the name of a built-in one, or of a file: its name and its text.
fn named(name: &str) -> Result<(String, String), Failure> {
    if let Some((name, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
        return Ok(((*name).to_owned(), (*text).to_owned()));
    }
    match files::find(name)? {
        Some(text) => {
            files::expect(name, &text, &[Kind::Study])?;
            Ok((name.to_owned(), text))
        }
        None => {
            let near = seekwise_formats::diagnostic::nearest(name, BUILT_IN.iter().map(|(name, _)| *name));
            let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            Err(Failure::new(format!("{name}: no such study file, and no built-in study of that name{hint}")))
        }
    }
}

/// Runs what is not done, appending each run to `results`. Answers all records in the plan's order.
pub fn run(
    planned: &Planned,
    mut results: Results,
    mut records: Vec<RunRecord>,
    threads: usize,
    progress: &Progress,
) -> Result<Vec<RunRecord>, Failure> {
    progress.skip(records.len() as u64);
    let mut failure = None;
    let Planned { study, prepared, made, .. } = planned;
    seekwise_lab::study::execute(study, prepared, &made.seeds, records.len(), threads, |result| {
        let kept = result.map_err(Failure::from).and_then(|record| {
            results.append(&record)?;
            Ok(record)
        });
        match kept {
            Ok(record) => {
                progress.one();
                records.push(record);
                true
            }
            Err(error) => {
                failure = Some(error);
                false
            }
        }
    });
    failure.map_or(Ok(records), Err)
}

/// Writes the report into `folder` and answers its path.
pub fn write_report(study: &Study, made: &MadeFrom, records: &[RunRecord], folder: &Path) -> Result<PathBuf, Failure> {
    let material = Material { study, made, records, command: COMMAND };
    let page = report::html(&compose::report(&material));
    let path = folder.join(PAGE);
    write_whole(&path, page.as_bytes()).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    Ok(path)
}

/// How it is said what came out.
#[derive(Clone, Copy)]
pub struct Said {
    /// As JSON.
    pub json: bool,
    /// A claim that does not hold is a "no".
    pub strict: bool,
}

/// Writes the report and says what came out.
pub fn finish(study: &Study, made: &MadeFrom, records: &[RunRecord], out: &Path, said: Said) -> Outcome {
    let path = write_report(study, made, records, out)?;
    let evidence = Evidence::new(study, made, records);
    something(&evidence)?;
    let held: Vec<Held> = evidence.claims().iter().map(|claim| Held::of(&claim.claim.id, claim.reproduced())).collect();
    let line = held_line(&held);
    if said.json {
        print_json(&summary(&evidence, &path))?;
        line.iter().for_each(say);
    } else {
        print(&tables(&evidence))?;
        print(&format!("\nReport: {}", path.display()))?;
        line.iter().try_for_each(|line| print(line))?;
    }
    let fails = said.strict && held.iter().any(|claim| claim.holds == Some(false));
    // A claim that does not come out is an answer in the report, not a failure of the study; a headline that may not
    // be drawn is.
    let refused = |overall: &Overall| overall.refused.is_some() && study.compare[overall.compare].headline;
    Ok(if fails || evidence.findings().1.iter().any(refused) { Answer::No } else { Answer::Done })
}

/// Whether a claim holds; nothing where it has no answer.
pub struct Held<'a> {
    id: &'a str,
    holds: Option<bool>,
}

impl<'a> Held<'a> {
    /// What came of the claim `id`.
    pub fn of(id: &'a str, holds: Option<bool>) -> Held<'a> {
        Held { id, holds }
    }
}

/// How many claims hold, and which do not; nothing where there is none.
pub fn held_line(claims: &[Held<'_>]) -> Option<String> {
    let ids = |holds| claims.iter().filter(|claim| claim.holds == holds).map(|claim| claim.id).collect::<Vec<_>>();
    let (yes, no, open) = (ids(Some(true)), ids(Some(false)), ids(None));
    let mut line = match (yes.len(), claims.len()) {
        (_, 0) => return None,
        (yes, 1) => format!("{yes} of 1 claim holds"),
        (1, all) => format!("1 of {all} claims holds"),
        (yes, all) => format!("{yes} of {all} claims hold"),
    };
    for (ids, one, many) in [(no, "does not", "do not"), (open, "has no answer", "have no answer")] {
        if !ids.is_empty() {
            let verb = if ids.len() == 1 { one } else { many };
            line.push_str(&format!(", {} {verb}: {}", ids.len(), ids.join(", ")));
        }
    }
    Some(line)
}

/// An error where no run of any cell has a counted request; a warning for each cell that has none.
fn something(evidence: &Evidence<'_>) -> Result<(), Failure> {
    let empty = |cell: &usize| {
        let runs = evidence.runs(*cell);
        !runs.is_empty() && runs.iter().all(|run| run.all.ios == 0)
    };
    let ran = (0..evidence.made.cells.len()).filter(|cell| !evidence.runs(*cell).is_empty()).count();
    let empty: Vec<usize> = (0..evidence.made.cells.len()).filter(empty).collect();
    if ran > 0 && empty.len() == ran {
        return Err(Failure::new("no run counted a request: nothing was answered; are the jobs long enough?"));
    }
    for cell in empty {
        say(format!("warning: no request was counted at {}", evidence.made.cells[cell].cell.levels.join(", ")));
    }
    Ok(())
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

fn tables(evidence: &Evidence<'_>) -> String {
    let study = evidence.study;
    let (findings, overall) = evidence.findings();
    let mut text = format!("{}\n\n", study.question);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts_claims() {
        let line = |claims: &[(&str, Option<bool>)]| {
            held_line(&claims.iter().map(|(id, holds)| Held::of(id, *holds)).collect::<Vec<_>>())
        };
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(line(&[]), None);
        let four = [("Q1", yes), ("Q2", yes), ("Q3", no), ("Q4", yes)];
        assert_eq!(line(&four).unwrap(), "3 of 4 claims hold, 1 does not: Q3");
        assert_eq!(line(&[("Q1", yes)]).unwrap(), "1 of 1 claim holds");
        let said = line(&[("Q1", no), ("Q2", no), ("D1", None), ("D2", yes)]).unwrap();
        assert_eq!(said, "1 of 4 claims holds, 2 do not: Q1, Q2, 1 has no answer: D1");
    }
}
