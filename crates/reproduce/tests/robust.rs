//! Compares two generated blocks of `docs/robust.md`, the page on how much the claims depend on inferred figures.
//!
//! The block `figures` lists which inferred figures are drawn and which settings nothing in their file explains; it must agree with
//! the drives, hosts, programs and studies of this version. The block `draws` lists which claims change their result with drawn
//! figures. It is compared only under `cargo xtask robust`, which runs the claims and names their folder in `SEEKWISE_ROBUST`.
//! `SEEKWISE_UPDATE=1` rewrites the blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use seekwise_drives::dotted::{flatten, plain_text};
use seekwise_drives::figure::{Figure, FigureOrigin};
use seekwise_drives::stack::hosts;
use seekwise_formats::program::programs;
use seekwise_formats::study::{Study, parse};
use seekwise_lab::catalogue;
use seekwise_lab::catalogue::studies::BUILT_IN;
use seekwise_lab::inputs::Inputs;
use seekwise_lab::plan::{Cell, prepare_cell, study_cells};
use seekwise_lab::provenance::ProgramVersion;
use seekwise_reproduce::draw::{figure_identity, is_drawn};
use serde::Deserialize;

/// The part of the output of `seekwise claims --json` that is read here.
#[derive(Deserialize)]
struct Claims {
    program: ProgramVersion,
    claims: Vec<Row>,
}

#[derive(Clone, Deserialize)]
struct Row {
    id: String,
    class: String,
    finding: String,
    study: Option<String>,
    reproduced: Option<bool>,
}

fn page_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/robust.md")
}

/// The page with another text between the marks of the block `name`.
fn with_block(page: &str, name: &str, block: &str) -> String {
    let start = format!("<!-- {name} -->\n");
    let (before, rest) = page.split_once(&start).unwrap_or_else(|| panic!("docs/robust.md: no <!-- {name} -->"));
    let (_, after) = rest.split_once("<!-- end -->").unwrap_or_else(|| panic!("docs/robust.md: no end of {name}"));
    format!("{before}{start}{block}<!-- end -->{after}")
}

/// The block of the draws in `folder`: `draw-0.json` has the claims without a draw, and each draw has a file.
fn draws_block(folder: &Path) -> String {
    let read = |number: usize| -> Option<Claims> {
        let text = fs::read_to_string(folder.join(format!("draw-{number}.json"))).ok()?;
        Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("draw {number}: {error}")))
    };
    let Claims { program, claims } = read(0).expect("draw-0.json: the claims as they stand");
    let drawn: Vec<Claims> = (1..).map_while(read).collect();
    assert!(!drawn.is_empty() && drawn.iter().all(|draw| draw.program == program), "draws of one program");
    format_draws(&program, &claims, &drawn.into_iter().map(|draw| draw.claims).collect::<Vec<_>>())
}

/// The claims with another result in some draws, with the numbers of these draws, and the claims with one result in all.
fn format_draws(program: &ProgramVersion, claims: &[Row], draws: &[Vec<Row>]) -> String {
    let answered: Vec<&Row> = claims.iter().filter(|row| row.study.is_some() && row.reproduced.is_some()).collect();
    let draws_that_differ = |row: &Row| -> Vec<usize> {
        let result_in = |draw: &[Row]| draw.iter().find(|other| other.id == row.id).and_then(|other| other.reproduced);
        let differing = (1..).zip(draws).filter(|(_, draw)| result_in(draw) != row.reproduced);
        differing.map(|(number, _)| number).collect()
    };
    let (flip, stay): (Vec<&Row>, Vec<&Row>) = answered.into_iter().partition(|row| !draws_that_differ(row).is_empty());
    let mut text = format!(
        "{} findings have a condition; {program} tried them in {} draws. {} have the same result in every draw, {} do not.\n",
        flip.len() + stay.len(),
        draws.len(),
        stay.len(),
        flip.len()
    );
    if !flip.is_empty() {
        text += "\n| finding | class | unvaried | other result in | draws |\n|---|---|---|---|---|\n";
    }
    for row in &flip {
        let numbers = draws_that_differ(row);
        let list: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            text,
            "| {}: {} | {} | {} | {} of {} | {} |",
            row.id,
            row.finding.replace('|', "/"),
            row.class,
            if row.reproduced == Some(true) { "reproduced" } else { "not reproduced" },
            numbers.len(),
            draws.len(),
            list.join(", ")
        );
    }
    for (holds, words) in [(true, "Reproduced in every draw"), (false, "Not reproduced in any draw")] {
        let ids: Vec<&str> =
            stay.iter().filter(|row| row.reproduced == Some(holds)).map(|row| row.id.as_str()).collect();
        if !ids.is_empty() {
            let _ = writeln!(text, "\n{words}: {}.", ids.join(", "));
        }
    }
    text
}

/// Name, text and contents of each built-in study with claims.
fn studies_with_claims() -> impl Iterator<Item = (&'static str, &'static str, Study)> {
    let studies = BUILT_IN.iter().map(|&(name, text)| (name, text, parse(name, text).expect("a built-in study")));
    studies.filter(|(_, _, study)| !study.claim.is_empty())
}

/// The block of the figures: the number of drawn figures, the inferred figures that are not drawn, figures without a source, and
/// numbers of studies that no comment of their file mentions.
fn figures_block() -> String {
    let inputs = Inputs::from_today(&|_| Err(std::io::ErrorKind::NotFound.into()));
    let (mut drawn, mut not_drawn) = (BTreeSet::new(), BTreeMap::<String, BTreeSet<String>>::new());
    for (name, _, study) in studies_with_claims() {
        let mut seen = BTreeSet::new();
        // Inferred figures of a cell do not depend on the numbers that it sets, nor on its job's settings: one cell of each
        // other combination is enough.
        let combination = |cell: &Cell| -> Vec<String> {
            let settings = cell.settings.iter().filter(|(key, _)| !key.starts_with("job."));
            settings
                .map(|(key, value)| if value.parse::<f64>().is_ok() { key.clone() } else { format!("{key}={value}") })
                .collect()
        };
        for cell in study_cells(&study).into_iter().filter(|cell| seen.insert(combination(cell))) {
            for setting in prepare_cell(name, &cell, &inputs).expect("a built-in cell").settings {
                if is_drawn(&setting) {
                    drawn.insert(figure_identity(&setting));
                } else if setting.kind == FigureOrigin::Inferred {
                    not_drawn.entry(setting.key.clone()).or_default().insert(setting.value.clone());
                }
            }
        }
    }
    let mut text = format!(
        "The studies with claims use {} inferred numbers, and all are varied. Inferred words, switches and lists stay as they \
         are; there are {} such keys:\n\n",
        drawn.len(),
        not_drawn.len()
    );
    let line = |(key, values): (&String, &BTreeSet<String>)| {
        let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
        format!("- `{key}`: {}\n", values.join(", "))
    };
    text.extend(not_drawn.iter().map(line));
    let list = |entries: &[String]| match entries {
        [] => " none.\n".to_owned(),
        entries => format!("\n\n{}", entries.iter().map(|entry| format!("- {entry}\n")).collect::<String>()),
    };
    let _ = write!(
        text,
        "\nFigures of drives, hosts and programs without a source, a range or a reason:{}",
        list(&figures_without_source())
    );
    let _ = write!(
        text,
        "\nNumbers that a study with claims sets itself and that no comment of its file mentions (by the number or by a word of \
         its key):{}",
        list(&uncommented_numbers())
    );
    text
}

/// Figures of drives, hosts and programs whose source is empty.
fn figures_without_source() -> Vec<String> {
    let without_source = |owner: &str, figures: &[Figure]| {
        let found = figures.iter().filter(|figure| figure.source.split_whitespace().count() == 0);
        found.map(|figure| format!("`{owner}`: `{}`", figure.key)).collect::<Vec<_>>()
    };
    let mut all = Vec::new();
    for name in catalogue::names() {
        let drive = catalogue::load_drive(name).expect("a built-in drive");
        all.extend(without_source(name, &drive.figures().cloned().collect::<Vec<_>>()));
    }
    for host in hosts().expect("the presets") {
        all.extend(without_source(&host.name, &host.figures));
    }
    all.extend(programs().iter().flat_map(|program| without_source(&program.name, &program.figures)));
    all
}

/// Numbers that a study with claims sets, and that no comment of its file mentions by value or by a word of the key.
fn uncommented_numbers() -> Vec<String> {
    let mut all = Vec::new();
    for (name, text, study) in studies_with_claims() {
        let comments: String = text.lines().filter_map(|line| Some(line.split_once('#')?.1.to_lowercase())).collect();
        let mut set = flatten(&study.stack);
        for factor in &study.factor {
            set.extend(
                factor.key.iter().flat_map(|key| factor.levels.iter().map(|level| (key.clone(), plain_text(level)))),
            );
            set.extend(factor.bundle.iter().flat_map(|bundle| flatten(&bundle.set)));
        }
        let mut by_key: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (key, value) in set.into_iter().filter(|(_, value)| value.parse::<f64>().is_ok()) {
            by_key.entry(key).or_default().insert(value);
        }
        for (key, values) in by_key {
            let last = key.rsplit('.').next().unwrap_or(&key).to_lowercase();
            let key_mentioned = last.split('_').any(|word| word.len() > 3 && comments.contains(word));
            if !key_mentioned && !values.iter().any(|value| comments.contains(value.as_str())) {
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                all.push(format!("`{name}`: `{key}` = {}", values.join(", ")));
            }
        }
    }
    all
}

#[test]
fn the_page_has_the_generated_blocks() {
    let text = fs::read_to_string(page_path()).expect("docs/robust.md");
    let mut now = with_block(&text, "figures", &figures_block());
    if let Some(folder) = std::env::var_os("SEEKWISE_ROBUST") {
        now = with_block(&now, "draws", &draws_block(Path::new(&folder)));
    }
    if std::env::var_os("SEEKWISE_UPDATE").is_some() {
        fs::write(page_path(), now).expect("the page is written");
        return;
    }
    assert!(now == text, "docs/robust.md: SEEKWISE_UPDATE=1 cargo test -p seekwise-reproduce --test whole robust::");
}

#[test]
fn flips_are_counted_by_draw() {
    let row = |id: &str, reproduced| Row {
        id: id.to_owned(),
        class: "M".to_owned(),
        finding: "f".to_owned(),
        study: Some("s".to_owned()),
        reproduced,
    };
    let (yes, no) = (Some(true), Some(false));
    let claims = [row("Q1", yes), row("Q2", yes), row("Q3", no), row("Q4", None)];
    let draw = |q2, q3| vec![row("Q1", yes), row("Q2", q2), row("Q3", q3), row("Q4", yes)];
    let drawn = [draw(yes, no), draw(no, no), draw(None, no)];
    let text = format_draws(&ProgramVersion::current(), &claims, &drawn);
    assert!(text.contains("2 have the same result in every draw, 1 do not"), "{text}");
    assert!(text.contains("| Q2: f | M | reproduced | 2 of 3 | 2, 3 |"), "{text}");
    assert!(text.contains("Reproduced in every draw: Q1.\n\nNot reproduced in any draw: Q3.\n"), "{text}");
}
