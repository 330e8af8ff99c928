//! Published behaviour of drives against their profiles: `crates/reproduce/published.toml`, case by case.
//!
//! A case marked as holding must hold, and one marked as not holding must not; `docs/published.md` must have the run's
//! figures to the last digit. So neither becomes outdated. `SEEKWISE_UPDATE=1` writes the page's figures instead of
//! comparing them. Drives that are not built in have their profiles in `validation/published`.

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

/// A measured drive, and how and by whom it was measured.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Drive {
    name: String,
    source: String,
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The simulated figure; profiles of drives that are not built in are read here.
fn simulated(case: &PublishedCase, cache: &Arc<InputCache>) -> f64 {
    let read = |name: &str| fs::read_to_string(workspace().join(format!("validation/published/{name}.toml")));
    case.simulate(&[], &read, cache).unwrap_or_else(|fault| panic!("{}: {fault}", case.what))
}

/// The number of cases that hold, in two sentences.
fn summary(published: &Published, found: &[f64]) -> String {
    let count = |role: &str| {
        let of_role = || published.case.iter().zip(found).filter(|(case, _)| case.role == role);
        (of_role().filter(|(case, found)| case.is_within_tolerance(**found)).count(), of_role().count())
    };
    let ((fitted, all_fitted), (tried, all_tried)) = (count("fitted"), count("tried"));
    let held = fitted + tried;
    let lack = |what| published.case.iter().filter(|case| case.lacks == Some(what)).count();
    format!(
        "{held} of {} cases hold: {fitted} of {all_fitted} fitted, {tried} of {all_tried} tried. {} do not: in {} the source's \
         conditions are unknown; in {} the model is wrong.\n",
        found.len(),
        found.len() - held,
        lack(MissingFromCase::Conditions),
        lack(MissingFromCase::Model)
    )
}

/// The page's section on a drive: who measured it, and its cases.
fn section(drive: &Drive, cases: &[(&PublishedCase, f64)]) -> String {
    let mut text = format!(
        "\n## {}\n\n{}\n\n| case | measured | simulated | deviation | tolerance | result | role |\n|---|---|---|---|---|---|---|\n",
        drive.name, drive.source
    );
    for (case, found) in cases {
        let unknown = case.lacks == Some(MissingFromCase::Conditions);
        let says = match (case.is_within_tolerance(*found), if unknown { ", conditions unknown" } else { "" }) {
            (true, _) => "holds".to_owned(),
            (false, unknown) => format!("**does not hold**{unknown}: {}", case.because),
        };
        let _ = writeln!(
            text,
            "| {} | {} | {found:.2} | {:+.1} % | {} % | {says} | {} |",
            case.what,
            case.measured,
            case.deviation_percent(*found),
            case.within,
            case.role
        );
    }
    text
}

/// All figures of the page that come from the run.
fn figures(published: &Published, found: &[f64]) -> String {
    let all = || published.case.iter().zip(found.iter().copied());
    let of = |drive: &Drive| section(drive, &all().filter(|(case, _)| case.drive == drive.name).collect::<Vec<_>>());
    summary(published, found) + &published.drive.iter().map(of).collect::<String>()
}

/// Writes the page's figures if asked to; otherwise returns where it differs from them.
fn page(figures: &str) -> Option<String> {
    let path = workspace().join("docs/published.md");
    let page = fs::read_to_string(&path).expect("the page");
    let (before, rest) = page.split_once("<!-- cases -->\n").expect("a place for the figures");
    let (committed, after) = rest.split_once("<!-- end -->").expect("an end of the figures");
    if std::env::var_os("SEEKWISE_UPDATE").is_some() {
        fs::write(&path, format!("{before}<!-- cases -->\n{figures}<!-- end -->{after}")).expect("the page is written");
        return None;
    }
    let stale: Vec<_> = committed.lines().filter(|line| !figures.lines().any(|now| now == *line)).collect();
    let new: Vec<_> = figures.lines().filter(|line| !committed.lines().any(|was| was == *line)).collect();
    (committed != figures).then(|| {
        format!(
            "docs/published.md is stale; SEEKWISE_UPDATE=1 writes it.\n- {}\n+ {}",
            stale.join("\n- "),
            new.join("\n+ ")
        )
    })
}

/// Checks the entry of a case before it is run.
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
fn published_behaviour_is_what_the_table_and_the_page_say() {
    let text = fs::read_to_string(workspace().join("crates/reproduce/published.toml")).expect("the cases");
    let published: Published = toml::from_str(&text).expect("cases");
    let name = |case: &PublishedCase| format!("{}, {}", case.drive, case.what);
    for case in &published.case {
        check_entry(&published, case).unwrap_or_else(|fault| panic!("{}: {fault}", name(case)));
    }
    let cache = Arc::default();
    let found: Vec<f64> = Workers::Shared.map(&published.case, |case| simulated(case, &cache));
    let figures = figures(&published, &found);
    eprintln!("{figures}");
    let otherwise = |(case, found): &(&PublishedCase, &f64)| case.is_within_tolerance(**found) != case.holds;
    let mut wrong: Vec<String> = published
        .case
        .iter()
        .zip(&found)
        .filter(otherwise)
        .map(|(case, found)| {
            let off = case.deviation_percent(*found);
            format!(
                "{}: {found:.3} against {} ({off:+.1} %), but crates/reproduce/published.toml has holds = {}",
                name(case),
                case.measured,
                case.holds
            )
        })
        .collect();
    wrong.extend(page(&figures));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
