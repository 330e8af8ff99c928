//! How much rests on what was inferred: `docs/robust.md` says what the committed data say. What stands of the draws is
//! written by `cargo xtask robust`, which runs the claims and names their folder by `SEEKWISE_ROBUST`; what is drawn at all,
//! and of which settings nothing is said, is held here to today's drives, hosts, programs and studies
//! (`SEEKWISE_UPDATE=1` rewrites it).

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

/// What `seekwise claims --json` prints, as far as it is read.
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

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/robust.md")
}

/// The page with what stands between the marks of `name` made anew.
fn renewed(page: &str, name: &str, block: &str) -> String {
    let start = format!("<!-- {name} -->\n");
    let (before, rest) = page.split_once(&start).unwrap_or_else(|| panic!("docs/robust.md: no <!-- {name} -->"));
    let (_, after) = rest.split_once("<!-- end -->").unwrap_or_else(|| panic!("docs/robust.md: no end of {name}"));
    format!("{before}{start}{block}<!-- end -->{after}")
}

/// What the draws in `folder` said: `draw-0.json` without a draw, then one file a draw.
fn draws(folder: &Path) -> String {
    let read = |number: usize| -> Option<Claims> {
        let text = fs::read_to_string(folder.join(format!("draw-{number}.json"))).ok()?;
        Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("draw {number}: {error}")))
    };
    let Claims { program, claims } = read(0).expect("draw-0.json: the claims as they stand");
    let drawn: Vec<Claims> = (1..).map_while(read).collect();
    assert!(!drawn.is_empty() && drawn.iter().all(|draw| draw.program == program), "draws of one program");
    drawn_block(&program, &claims, &drawn.into_iter().map(|draw| draw.claims).collect::<Vec<_>>())
}

/// The block of the draws: what flips, by which of them; what does not.
fn drawn_block(program: &ProgramVersion, claims: &[Row], drawn: &[Vec<Row>]) -> String {
    let answered: Vec<&Row> = claims.iter().filter(|row| row.study.is_some() && row.reproduced.is_some()).collect();
    let other = |row: &Row| -> Vec<usize> {
        let of = |draw: &Vec<Row>| draw.iter().find(|other| other.id == row.id).and_then(|other| other.reproduced);
        (1..).zip(drawn).filter(|(_, draw)| of(draw) != row.reproduced).map(|(number, _)| number).collect()
    };
    let (flip, stay): (Vec<&Row>, Vec<&Row>) = answered.into_iter().partition(|row| !other(row).is_empty());
    let mut text = format!(
        "{} findings have a condition; {program} tried them in {} draws. {} have the same result in every draw, {} do not.\n",
        flip.len() + stay.len(),
        drawn.len(),
        stay.len(),
        flip.len()
    );
    if !flip.is_empty() {
        text += "\n| finding | class | unvaried | other result in | draws |\n|---|---|---|---|---|\n";
    }
    for row in &flip {
        let numbers = other(row);
        let list: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            text,
            "| {}: {} | {} | {} | {} of {} | {} |",
            row.id,
            row.finding.replace('|', "/"),
            row.class,
            if row.reproduced == Some(true) { "reproduced" } else { "not reproduced" },
            numbers.len(),
            drawn.len(),
            list.join(", ")
        );
    }
    for (holds, what) in [(true, "Reproduced in every draw"), (false, "Not reproduced in any draw")] {
        let ids: Vec<&str> =
            stay.iter().filter(|row| row.reproduced == Some(holds)).map(|row| row.id.as_str()).collect();
        if !ids.is_empty() {
            let _ = writeln!(text, "\n{what}: {}.", ids.join(", "));
        }
    }
    text
}

/// The studies that carry claims.
fn carrying() -> impl Iterator<Item = (&'static str, &'static str, Study)> {
    let studies = BUILT_IN.iter().map(|&(name, text)| (name, text, parse(name, text).expect("a built-in study")));
    studies.filter(|(_, _, study)| !study.claim.is_empty())
}

/// What is drawn, what is inferred and is not, and of which settings of studies their files say nothing.
fn figures_block() -> String {
    let inputs = Inputs::from_today(&|_| Err(std::io::ErrorKind::NotFound.into()));
    let (mut drawn, mut others) = (BTreeSet::new(), BTreeMap::<String, BTreeSet<String>>::new());
    for (name, _, study) in carrying() {
        let mut seen = BTreeSet::new();
        // What is inferred below a cell does not depend on the numbers that it sets, nor on how deep its job is.
        let alike = |cell: &Cell| -> Vec<String> {
            let asked = cell.settings.iter().filter(|(key, _)| !key.starts_with("job."));
            asked
                .map(|(key, value)| if value.parse::<f64>().is_ok() { key.clone() } else { format!("{key}={value}") })
                .collect()
        };
        for cell in study_cells(&study).into_iter().filter(|cell| seen.insert(alike(cell))) {
            for setting in prepare_cell(name, &cell, &inputs).expect("a built-in cell").settings {
                if is_drawn(&setting) {
                    drawn.insert(figure_identity(&setting));
                } else if setting.kind == FigureOrigin::Inferred {
                    others.entry(setting.key.clone()).or_default().insert(setting.value.clone());
                }
            }
        }
    }
    let mut text = format!(
        "The studies with claims use {} inferred numbers, and all are varied. Inferred words, switches and lists stay as they \
         are; there are {} such keys:\n\n",
        drawn.len(),
        others.len()
    );
    let line = |(key, values): (&String, &BTreeSet<String>)| {
        let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
        format!("- `{key}`: {}\n", values.join(", "))
    };
    text.extend(others.iter().map(line));
    let bare = bare_figures();
    let unsaid = unsaid();
    let list = |all: &[String]| match all {
        [] => " none.\n".to_owned(),
        all => format!("\n\n{}", all.iter().map(|one| format!("- {one}\n")).collect::<String>()),
    };
    let _ =
        write!(text, "\nFigures of drives, hosts and programs without a source, a range or a reason:{}", list(&bare));
    let _ = write!(
        text,
        "\nNumbers that a study with claims sets itself and that no comment of its file mentions (by the number or by a word of \
         its key):{}",
        list(&unsaid)
    );
    text
}

/// Figures of drives, hosts and programs whose source says nothing.
fn bare_figures() -> Vec<String> {
    let bare = |of: &str, figures: &[Figure]| {
        let bare = figures.iter().filter(|figure| figure.source.split_whitespace().count() == 0);
        bare.map(|figure| format!("`{of}`: `{}`", figure.key)).collect::<Vec<_>>()
    };
    let mut all = Vec::new();
    for name in catalogue::names() {
        let drive = catalogue::load_drive(name).expect("a built-in drive");
        all.extend(bare(name, &drive.figures().cloned().collect::<Vec<_>>()));
    }
    for host in hosts().expect("the presets") {
        all.extend(bare(&host.name, &host.figures));
    }
    all.extend(programs().iter().flat_map(|program| bare(&program.name, &program.figures)));
    all
}

/// Numbers that studies with claims set, and that their files do not speak of.
fn unsaid() -> Vec<String> {
    let mut all = Vec::new();
    for (name, text, study) in carrying() {
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
            let word = last.split('_').any(|word| word.len() > 3 && comments.contains(word));
            if !word && !values.iter().any(|value| comments.contains(value.as_str())) {
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                all.push(format!("`{name}`: `{key}` = {}", values.join(", ")));
            }
        }
    }
    all
}

#[test]
fn the_page_says_what_is_drawn_and_what_nothing_is_said_of() {
    let text = fs::read_to_string(page()).expect("docs/robust.md");
    let mut now = renewed(&text, "figures", &figures_block());
    if let Some(folder) = std::env::var_os("SEEKWISE_ROBUST") {
        now = renewed(&now, "draws", &draws(Path::new(&folder)));
    }
    if std::env::var_os("SEEKWISE_UPDATE").is_some() {
        fs::write(page(), now).expect("the page is written");
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
    let text = drawn_block(&ProgramVersion::current(), &claims, &drawn);
    assert!(text.contains("2 have the same result in every draw, 1 do not"), "{text}");
    assert!(text.contains("| Q2: f | M | reproduced | 2 of 3 | 2, 3 |"), "{text}");
    assert!(text.contains("Reproduced in every draw: Q1.\n\nNot reproduced in any draw: Q3.\n"), "{text}");
}
