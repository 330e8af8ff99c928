//! `seekwise studies`: the built-in studies.

use seekwise_formats::study::parse;
use serde_json::json;

use super::{print, print_json};
use crate::exit::{Answer, Outcome};
use crate::tables;

/// The built-in studies: name and text.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("ncq-alone", include_str!("../../../../studies/ncq-alone.toml")),
    ("q-two-revolutions", include_str!("../../../../studies/q-two-revolutions.toml")),
    ("q-arrays", include_str!("../../../../studies/q-arrays.toml")),
    ("q-matrix", include_str!("../../../../studies/q-matrix.toml")),
    ("q-tcq-and-ncq", include_str!("../../../../studies/q-tcq-and-ncq.toml")),
    ("n-power-cut", include_str!("../../../../studies/n-power-cut.toml")),
    ("segments-access", include_str!("../../../../studies/segments-access.toml")),
    ("segments-random", include_str!("../../../../studies/segments-random.toml")),
    ("f-interface", include_str!("../../../../studies/f-interface.toml")),
    ("d-surface", include_str!("../../../../studies/d-surface.toml")),
    ("d-modes", include_str!("../../../../studies/d-modes.toml")),
    ("n-write-cache", include_str!("../../../../studies/n-write-cache.toml")),
    ("segments-one-block", include_str!("../../../../studies/segments-one-block.toml")),
    ("segments-streams", include_str!("../../../../studies/segments-streams.toml")),
    ("d-drivers", include_str!("../../../../studies/d-drivers.toml")),
    ("f-flush", include_str!("../../../../studies/f-flush.toml")),
    ("f-heads", include_str!("../../../../studies/f-heads.toml")),
    ("f-power", include_str!("../../../../studies/f-power.toml")),
    ("f-switch", include_str!("../../../../studies/f-switch.toml")),
    ("two-programs", include_str!("../../../../studies/two-programs.toml")),
    ("reader-beside-stream", include_str!("../../../../studies/reader-beside-stream.toml")),
];

/// Lists them.
pub fn studies(json: bool) -> Outcome {
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
