//! `seekwise studies`: the built-in studies; of one, what it asks, varies, compares and claims, and how long it is.

use seekwise_formats::diagnostic::Diagnostic;
use seekwise_formats::dotted::flatten;
use seekwise_formats::study::{Factor, Study, parse};
use seekwise_lab::demand;
use serde_json::{Value, json};

use super::{print, print_json};
use crate::args;
use crate::exit::{Answer, Failure, Outcome};
use crate::planned;
use crate::screen::{self, wrapped};
use crate::tables;

/// The built-in studies: name and text.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("ncq-alone", include_str!("../../../../studies/ncq-alone.toml")),
    ("q-two-revolutions", include_str!("../../../../studies/q-two-revolutions.toml")),
    ("q-arrays", include_str!("../../../../studies/q-arrays.toml")),
    ("q-matrix", include_str!("../../../../studies/q-matrix.toml")),
    ("q-repeat", include_str!("../../../../studies/q-repeat.toml")),
    ("q-tcq-and-ncq", include_str!("../../../../studies/q-tcq-and-ncq.toml")),
    ("n-power-cut", include_str!("../../../../studies/n-power-cut.toml")),
    ("segments-access", include_str!("../../../../studies/segments-access.toml")),
    ("segments-random", include_str!("../../../../studies/segments-random.toml")),
    ("f-interface", include_str!("../../../../studies/f-interface.toml")),
    ("d-surface", include_str!("../../../../studies/d-surface.toml")),
    ("d-modes", include_str!("../../../../studies/d-modes.toml")),
    ("n-write-cache", include_str!("../../../../studies/n-write-cache.toml")),
    ("n-curve", include_str!("../../../../studies/n-curve.toml")),
    ("n-blocks", include_str!("../../../../studies/n-blocks.toml")),
    ("n-distance", include_str!("../../../../studies/n-distance.toml")),
    ("segments-one-block", include_str!("../../../../studies/segments-one-block.toml")),
    ("segments-streams", include_str!("../../../../studies/segments-streams.toml")),
    ("segments-servers", include_str!("../../../../studies/segments-servers.toml")),
    ("segments-large-files", include_str!("../../../../studies/segments-large-files.toml")),
    ("segments-small-files", include_str!("../../../../studies/segments-small-files.toml")),
    ("segments-two-streams", include_str!("../../../../studies/segments-two-streams.toml")),
    ("segments-doubled", include_str!("../../../../studies/segments-doubled.toml")),
    ("segments-and-makers", include_str!("../../../../studies/segments-and-makers.toml")),
    ("d-drivers", include_str!("../../../../studies/d-drivers.toml")),
    ("f-flush", include_str!("../../../../studies/f-flush.toml")),
    ("f-heads", include_str!("../../../../studies/f-heads.toml")),
    ("f-host-cache", include_str!("../../../../studies/f-host-cache.toml")),
    ("f-power", include_str!("../../../../studies/f-power.toml")),
    ("f-switch", include_str!("../../../../studies/f-switch.toml")),
    ("f-option", include_str!("../../../../studies/f-option.toml")),
    ("two-programs", include_str!("../../../../studies/two-programs.toml")),
    ("reader-beside-stream", include_str!("../../../../studies/reader-beside-stream.toml")),
    ("ide-channel", include_str!("../../../../studies/ide-channel.toml")),
    ("scsi-bus", include_str!("../../../../studies/scsi-bus.toml")),
];

/// Lists them, or shows one.
pub fn studies(args: &args::Named, json: bool) -> Outcome {
    if let Some(name) = &args.name {
        return one(name, json);
    }
    let mut rows = Vec::new();
    for &(name, text) in BUILT_IN {
        rows.push((name, parse(name, text)?));
    }
    if json {
        let list =
            rows.iter().map(|(name, study)| json!({"name": name, "title": study.title, "question": study.question}));
        print_json(&list.collect::<Vec<_>>())?;
        return Ok(Answer::Done);
    }
    let mut table = tables::table(["study", "runs a cell", "factors", "question"]);
    for (name, study) in &rows {
        let factors: Vec<String> = study
            .factor
            .iter()
            .map(|factor| tables::whole(&format!("{} ({})", factor.name, factor.level_names().len())))
            .collect();
        table.add_row([(*name).to_owned(), study.runs.to_string(), factors.join(", "), study.question.clone()]);
    }
    tables::figures(&mut table, &["runs a cell"]);
    print(&table.to_string())?;
    Ok(Answer::Done)
}

/// What a study will run.
struct Extent {
    cells: usize,
    /// Virtual seconds of all runs, where their jobs say so.
    seconds: Option<f64>,
    /// Requests of all runs at most, where their jobs say so.
    requests: Option<u64>,
}

/// Shows the study of that name.
fn one(name: &str, json: bool) -> Outcome {
    let Some(&(name, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) else {
        let fault = Diagnostic::at(name, 0, "no built-in study of that name");
        return Err(fault.nearest_to(name, BUILT_IN.iter().map(|study| study.0)).into());
    };
    let study = parse(name, text)?;
    let extent = extent(name, text, &study)?;
    match json {
        true => print_json(&as_json(name, &study, &extent))?,
        false => print(&shown(name, &study, &extent))?,
    }
    Ok(Answer::Done)
}

/// Each cell runs as often as the others.
fn extent(name: &str, text: &str, study: &Study) -> Result<Extent, Failure> {
    let planned = planned::plan_file(name, text)?;
    let cells: Vec<_> = planned.prepared.iter().map(|cell| demand::extent(&cell.job)).collect();
    let seconds: Option<f64> = cells.iter().map(|cell| cell.0).sum();
    let requests: Option<u64> = cells.iter().map(|cell| cell.1).sum();
    Ok(Extent {
        cells: cells.len(),
        seconds: seconds.map(|seconds| seconds * f64::from(study.runs)),
        requests: requests.map(|requests| requests.saturating_mul(u64::from(study.runs))),
    })
}

fn as_json(name: &str, study: &Study, extent: &Extent) -> Value {
    let factors = study.factor.iter().map(|factor| {
        json!({"name": factor.name, "unit": factor.unit, "key": factor.key, "levels": factor.level_names(),
               "sets": sets(factor)})
    });
    let comparisons = study.compare.iter().map(|compare| {
        json!({"name": compare.name, "factor": compare.factor, "from": compare.from, "to": compare.to,
               "metric": compare.metric().to_string(), "headline": compare.headline})
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

/// What each level of a factor sets.
fn sets(factor: &Factor) -> Vec<String> {
    let words = |set: Vec<(String, String)>| {
        set.into_iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(", ")
    };
    match &factor.key {
        Some(key) => factor.level_names().into_iter().map(|level| format!("{key}={level}")).collect(),
        None => factor.bundle.iter().map(|bundle| words(flatten(&bundle.set))).collect(),
    }
}

fn shown(name: &str, study: &Study, extent: &Extent) -> String {
    let prose = |text: &str| format!("{}\n", wrapped(text, screen::width()));
    let mut text = format!("{}\n{}", prose(&format!("{name}: {}", study.title)), prose(&study.question));
    if let Some(expect) = &study.expect {
        text += &prose(&format!("Expected: {expect}"));
    }
    let base = study.job.iter().map(|job| ("job".to_owned(), job.clone())).chain(flatten(&study.stack));
    let base: Vec<String> = base.map(|(key, value)| format!("{key}={value}")).collect();
    text += &prose(&format!("Under all: {}", base.join(", ")));
    if !study.factor.is_empty() {
        let mut table = tables::table(["factor", "level", "sets"]);
        for factor in &study.factor {
            let unit = factor.unit.as_ref().map_or(String::new(), |unit| format!(" {unit}"));
            for (level, sets) in factor.level_names().into_iter().zip(sets(factor)) {
                table.add_row([factor.name.clone(), format!("{level}{unit}"), sets]);
            }
        }
        text += &format!("\n{table}\n");
    }
    if !study.compare.is_empty() {
        let mut table = tables::table(["comparison", "of", "from", "to"]);
        for compare in &study.compare {
            let side = |level: &str| format!("{}={level}", compare.factor);
            table.add_row([&compare.name, &compare.metric().to_string(), &side(&compare.from), &side(&compare.to)]);
        }
        text += &format!("\n{table}\n");
    }
    if !study.claim.is_empty() {
        let mut table = tables::table(["claim", "class", "finding"]);
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
