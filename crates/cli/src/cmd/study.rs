//! `seekwise study`: runs a factorial study, keeps each run as it ends, and writes the report. Of a review, all its studies.

pub mod review;
mod text;

use std::path::{Path, PathBuf};

use seekwise_formats::study::review::Review;
use seekwise_formats::study::{Compare, Study};
use seekwise_lab::catalogue::studies::{BUILT_IN, REVIEWS};
use seekwise_lab::compose::{self, Material};
use seekwise_lab::finding::{Beside, Evidence, Finding, Overall};
use seekwise_lab::made::{Made, MadeFrom};
use seekwise_lab::report;
use seekwise_lab::run::{GroupRecord, RunRecord, by_group};
use seekwise_lab::study::Earlier;
use serde_json::json;

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

/// What the reader of a page does to have the same again; it stands in the folder that the page lies in.
const COMMAND: &str = "seekwise study . --out again";

/// Runs the command.
pub fn study(args: &args::Study, bounds: &Bounds, json: bool) -> Outcome {
    let folder = Path::new(&args.study);
    let goes_on = args.resume && results::says(folder);
    let out = args.out.as_deref().unwrap_or(if goes_on { folder } else { Path::new("out") });
    let &args::Study { resume, force, threads, .. } = args;
    let opening = Opening { folder: out, resume, force, bounds, threads };
    let columns = &args.columns.names[..];
    // Whoever asks for columns asks for tables.
    let said = Said { json, strict: args.strict, columns, all: args.all || !columns.is_empty() };
    let opened = match results::says(folder) {
        true => match results::kept_review(folder)? {
            Some(kept) => return review::study(&kept.text, &args.study, Some(folder), &opening, said),
            None => opening.of_folder(folder)?,
        },
        false => {
            let (name, text) = named(&args.study)?;
            if Review::looks_like(&text) {
                return review::study(&text, &name, None, &opening, said);
            }
            opening.open(&name, &text, || planned::plan_file(&name, &text))?
        }
    };
    let Opened { planned, results, done, threads } = opened;
    text::check(&planned.study, &args.columns.names)?;
    warn(&planned.made.warnings);
    keep(out, &planned);
    let progress = Progress::of(runs(&planned), "runs");
    let records = run(&planned, &Earlier::default(), results, done, threads, &progress)?;
    drop(progress);
    say(format!("Again: {}", again(out)));
    finish(&planned.study, &planned.made, &records, out, said)
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
    interrupt::hold().keep(Keeping { folder: folder.to_owned(), of: Some(runs(planned)), again });
}

/// Runs of a plan.
pub fn runs(planned: &Planned) -> u64 {
    planned.prepared.len() as u64 * u64::from(planned.study.runs)
}

/// A study or a review by the name of a built-in one, or of a file: its name and its text.
fn named(name: &str) -> Result<(String, String), Failure> {
    let known = || REVIEWS.iter().chain(BUILT_IN);
    if let Some((name, text)) = known().find(|(known, _)| *known == name) {
        return Ok(((*name).to_owned(), (*text).to_owned()));
    }
    match files::find(name)? {
        Some(text) => {
            files::expect(name, &text, &[Kind::Study])?;
            Ok((name.to_owned(), text))
        }
        None => {
            let near = seekwise_formats::spelling::nearest(name, known().map(|(name, _)| *name));
            let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            Err(Failure::new(format!("{name}: no study file and no built-in study with that name{hint}")))
        }
    }
}

/// Runs what is not done, and was not run `earlier`, appending each run to `results`. Answers all records in the plan's order.
pub fn run(
    planned: &Planned,
    earlier: &Earlier,
    mut results: Results,
    mut records: Vec<RunRecord>,
    threads: usize,
    progress: &Progress,
) -> Result<Vec<RunRecord>, Failure> {
    progress.skip(records.len() as u64);
    let mut failure = None;
    let Planned { study, prepared, made, .. } = planned;
    seekwise_lab::study::execute(study, prepared, made, earlier, records.len(), threads, |result| {
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
    write_page(folder, &report::html(&compose::report(&material)))
}

/// Writes a page into `folder` and answers its path.
fn write_page(folder: &Path, page: &str) -> Result<PathBuf, Failure> {
    let path = folder.join(PAGE);
    write_whole(&path, page.as_bytes()).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    Ok(path)
}

/// How it is said what came out.
#[derive(Clone, Copy)]
pub struct Said<'a> {
    /// As JSON.
    pub json: bool,
    /// A claim that does not hold is a "no".
    pub strict: bool,
    /// Which columns are shown; empty for all that fit.
    pub columns: &'a [String],
    /// Tables however long; else those that a screen holds, and where the rest is.
    pub all: bool,
}

/// Writes the report and says what came out.
pub fn finish(study: &Study, made: &MadeFrom, records: &[RunRecord], out: &Path, said: Said<'_>) -> Outcome {
    let path = write_report(study, made, records, out)?;
    let evidence = Evidence::new(study, made, records);
    something(&evidence)?;
    let held: Vec<Held> = evidence.claims().iter().map(|claim| Held::of(&claim.claim.id, claim.reproduced())).collect();
    let line = held_line(&held);
    if said.json {
        print_json(&summary(&evidence, &path))?;
        line.iter().for_each(say);
    } else {
        let listing = text::Listing { columns: said.columns, all: said.all, folder: out };
        print(&text::text(&evidence, &listing)?)?;
        print(&format!("\nReport: {}", path.display()))?;
        line.iter().try_for_each(|line| print(line))?;
    }
    let fails = said.strict && held.iter().any(|claim| claim.holds == Some(false));
    Ok(if fails || refused(&evidence) { Answer::No } else { Answer::Done })
}

/// Whether a headline may not be drawn: a failure of the study, where a claim that does not come out is an answer.
fn refused(evidence: &Evidence<'_>) -> bool {
    let refused = |overall: &Overall| overall.refused.is_some() && evidence.study.compare[overall.compare].headline;
    evidence.findings().1.iter().any(refused)
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
pub fn something(evidence: &Evidence<'_>) -> Result<(), Failure> {
    let empty = |cell: &usize| {
        let runs = evidence.runs(*cell);
        !runs.is_empty() && runs.iter().all(|run| run.all.ios == 0)
    };
    let ran = (0..evidence.made.cells.len()).filter(|cell| !evidence.runs(*cell).is_empty()).count();
    let empty: Vec<usize> = (0..evidence.made.cells.len()).filter(empty).collect();
    if ran > 0 && empty.len() == ran {
        return Err(Failure::new("no run counted any requests, so there is no answer; are the jobs long enough?"));
    }
    for cell in empty {
        say(format!("warning: no requests were counted at {}", evidence.made.cells[cell].cell.levels.join(", ")));
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
            let beside = |f: &Finding| f.beside.iter().map(Beside::text).collect::<Vec<_>>();
            let cells: Vec<_> = cells
                .map(|f| json!({"cell": f.cell, "result": said(&f.judgement), "cause": f.cause, "beside": beside(f)}))
                .collect();
            let Compare { name, .. } = &compares[o.compare];
            let metric = compares[o.compare].metric();
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
