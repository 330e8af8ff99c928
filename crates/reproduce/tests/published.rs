//! Simulates the published measurements of `crates/reproduce/published.toml` and compares them, case by case.
//!
//! A case marked as holding must be within its tolerance, and a case marked as not holding must not; `docs/published.md` must have
//! the simulated figures to the last digit. `SEEKWISE_UPDATE=1` writes the page's figures instead of comparing them. Drives that
//! are not built in have their profiles in `validation/published`.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use seekwise_lab::inputs::InputCache;
use seekwise_lab::workers::Workers;
use seekwise_reproduce::published::{MissingFromCase, PublishedCase};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    drive: Vec<Drive>,
    case: Vec<PublishedCase>,
}

/// A measured drive, and who measured it and how.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Drive {
    name: String,
    source: String,
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The simulated figure of a case; a drive that is not built in has its profile in `validation/published`.
fn simulate(case: &PublishedCase, cache: &Arc<InputCache>) -> f64 {
    let read = |name: &str| fs::read_to_string(workspace().join(format!("validation/published/{name}.toml")));
    case.simulate(&[], &read, cache).unwrap_or_else(|fault| panic!("{}: {fault}", case.what))
}

/// The number of cases that hold, in two sentences.
fn summary(published: &Published, simulated: &[f64]) -> String {
    let in_role = |role: &str| published.case.iter().filter(|case| case.role == role).count();
    let held_in_role = |role: &str| {
        let cases = published.case.iter().zip(simulated).filter(|(case, _)| case.role == role);
        cases.filter(|(case, simulated)| case.is_within_tolerance(**simulated)).count()
    };
    let (fitted, all_fitted) = (held_in_role("fitted"), in_role("fitted"));
    let (tried, all_tried) = (held_in_role("tried"), in_role("tried"));
    let held = fitted + tried;
    let lacking = |part| published.case.iter().filter(|case| case.lacks == Some(part)).count();
    format!(
        "{held} of {} cases hold: {fitted} of {all_fitted} fitted, {tried} of {all_tried} tried. {} do not: in {} the source's \
         conditions are unknown; in {} the model is wrong.\n",
        simulated.len(),
        simulated.len() - held,
        lacking(MissingFromCase::Conditions),
        lacking(MissingFromCase::Model)
    )
}

/// The page's section on a drive: who measured it, and its cases.
fn section(drive: &Drive, cases: &[(&PublishedCase, f64)]) -> String {
    let mut text = format!(
        "\n## {}\n\n{}\n\n| case | measured | simulated | deviation | tolerance | result | role |\n|---|---|---|---|---|---|---|\n",
        drive.name, drive.source
    );
    for &(case, simulated) in cases {
        let unknown = case.lacks == Some(MissingFromCase::Conditions);
        let result = match case.is_within_tolerance(simulated) {
            true => "holds".to_owned(),
            false if unknown => format!("**does not hold**, conditions unknown: {}", case.because),
            false => format!("**does not hold**: {}", case.because),
        };
        let _ = writeln!(
            text,
            "| {} | {} | {simulated:.2} | {:+.1} % | {} % | {result} | {} |",
            case.what,
            case.measured,
            case.deviation_percent(simulated),
            case.within,
            case.role
        );
    }
    text
}

/// The generated part of the page: the summary, and a section for each drive.
fn generated_part(published: &Published, simulated: &[f64]) -> String {
    let drive_section = |drive: &Drive| {
        let cases = published.case.iter().zip(simulated.iter().copied());
        section(drive, &cases.filter(|(case, _)| case.drive == drive.name).collect::<Vec<_>>())
    };
    summary(published, simulated) + &published.drive.iter().map(drive_section).collect::<String>()
}

/// With `SEEKWISE_UPDATE`, writes the page's generated part; otherwise returns the lines in which the page differs from it.
fn write_or_compare_page(generated: &str) -> Option<String> {
    let path = workspace().join("docs/published.md");
    let page = fs::read_to_string(&path).expect("the page");
    let (before, rest) = page.split_once("<!-- cases -->\n").expect("a place for the figures");
    let (committed, after) = rest.split_once("<!-- end -->").expect("an end of the figures");
    if std::env::var_os("SEEKWISE_UPDATE").is_some() {
        fs::write(&path, format!("{before}<!-- cases -->\n{generated}<!-- end -->{after}"))
            .expect("the page is written");
        return None;
    }
    let stale: Vec<_> = committed.lines().filter(|line| !generated.lines().any(|other| other == *line)).collect();
    let new: Vec<_> = generated.lines().filter(|line| !committed.lines().any(|other| other == *line)).collect();
    (committed != generated).then(|| {
        format!(
            "docs/published.md is stale; SEEKWISE_UPDATE=1 writes it.\n- {}\n+ {}",
            stale.join("\n- "),
            new.join("\n+ ")
        )
    })
}

/// Checks that the entry of a case is complete; the error says what is missing.
fn check_entry(published: &Published, case: &PublishedCase) -> Result<(), &'static str> {
    let checks = [
        (!case.why.is_empty(), "give the reason of its tolerance in `why`"),
        (case.holds == case.because.is_empty(), "give `because` if and only if it does not hold"),
        (case.holds == case.lacks.is_none(), "give `lacks` if and only if it does not hold"),
        (["fitted", "tried"].contains(&case.role.as_str()), "`role` is fitted or tried"),
        (published.drive.iter().any(|drive| drive.name == case.drive), "its drive has no source"),
    ];
    checks.into_iter().try_for_each(|(right, fault)| if right { Ok(()) } else { Err(fault) })
}

#[test]
fn cases_hold_as_marked_and_the_page_has_their_figures() {
    let text = fs::read_to_string(workspace().join("crates/reproduce/published.toml")).expect("the cases");
    let published: Published = toml::from_str(&text).expect("cases");
    let name = |case: &PublishedCase| format!("{}, {}", case.drive, case.what);
    for case in &published.case {
        check_entry(&published, case).unwrap_or_else(|fault| panic!("{}: {fault}", name(case)));
    }
    let cache = Arc::default();
    let simulated: Vec<f64> = Workers::Shared.map(&published.case, |case| simulate(case, &cache));
    let generated = generated_part(&published, &simulated);
    eprintln!("{generated}");
    let marked_wrong = |(case, figure): &(&PublishedCase, &f64)| case.is_within_tolerance(**figure) != case.holds;
    let mut wrong: Vec<String> = published
        .case
        .iter()
        .zip(&simulated)
        .filter(marked_wrong)
        .map(|(case, figure)| {
            let off = case.deviation_percent(*figure);
            format!(
                "{}: {figure:.3} against {} ({off:+.1} %), but crates/reproduce/published.toml has holds = {}",
                name(case),
                case.measured,
                case.holds
            )
        })
        .collect();
    wrong.extend(write_or_compare_page(&generated));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
