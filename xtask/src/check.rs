//! `cargo xtask check`: what a change touches, in under two minutes when it is warm. `ci` checks everything.
//!
//! A change is what differs from the merge base with `origin/main` (without one: from the last commit), or from `--since`, and files
//! that git does not know yet. It is formatted, tidy and without a lint in the whole workspace; then the tests of the touched crates
//! run, each crate's own. Tests of crates above them do not: a fault is to be noticed where it is (`cargo xtask mutants`).
//! What crates hold as text (drives, studies, programs) counts as theirs. Other folders have steps of their own.

use std::collections::BTreeSet;
use std::process::{Command, ExitCode};

use crate::steps::{self, Step};
use crate::{python, web};

/// What lies in a folder touches these packages.
const PACKAGES: [(&str, &[&str]); 16] = [
    ("crates/model/", &["seekwise-model"]),
    ("crates/formats/", &["seekwise-formats"]),
    ("crates/run/", &["seekwise-run"]),
    ("crates/lab/", &["seekwise-lab"]),
    ("crates/os/", &["seekwise-os"]),
    ("crates/seekwise/", &["seekwise"]),
    ("crates/cli/", &["seekwise-cli"]),
    ("crates/capi/", &["seekwise-capi"]),
    ("examples/turmoil/", &["seekwise-example-turmoil"]),
    ("examples/wasm/", &["seekwise-example-wasm"]),
    ("xtask/", &["xtask"]),
    ("fuzz/", &["seekwise-formats", "seekwise-os"]),
    ("drives/", &["seekwise-formats", "seekwise-lab"]),
    ("programs/", &["seekwise-formats"]),
    ("studies/", &["seekwise-lab"]),
    ("validation/", &["seekwise-lab"]),
];

/// What lies in a folder is held by these steps.
const STEPS: [(&str, &[Step]); 2] = [
    ("crates/python/", &[Step::new("module", "the Python module compiles, without a lint", |_| python::check())]),
    (
        "web/",
        &[
            Step::new("page", "the report page, rebuilt: equal to the one committed", |_| web::page()),
            Step::new("webtest", "the report page's tests", |_| web::test()),
        ],
    ),
];

/// Runs the command.
pub fn check(options: &[&str]) -> ExitCode {
    let since = match options {
        [] => base(),
        ["--since", revision] => Ok((*revision).to_owned()),
        _ => Err("usage: cargo xtask check [--since REVISION]".to_owned()),
    };
    match since.and_then(|since| changed(&since).map(|paths| (since, paths))) {
        Ok((since, paths)) if paths.is_empty() => {
            println!("nothing differs from {since}");
            ExitCode::SUCCESS
        }
        Ok((since, paths)) => {
            println!("{} files differ from {since}", paths.len());
            steps::run(&due(&paths))
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

/// The steps for these files.
fn due(paths: &[String]) -> Vec<Step> {
    let mut due: Vec<Step> = ["fmt", "tidy", "clippy"].into_iter().filter_map(steps::named).collect();
    for package in packages(paths) {
        due.push(Step::of_package(package));
    }
    let touched = |folder: &str| paths.iter().any(|path| path.starts_with(folder));
    due.extend(STEPS.iter().filter(|(folder, _)| touched(folder)).flat_map(|(_, steps)| *steps));
    due
}

/// The packages that these files touch, in the order of the table.
fn packages(paths: &[String]) -> Vec<&'static str> {
    let mut seen = BTreeSet::new();
    let touched = PACKAGES.iter().filter(|(folder, _)| paths.iter().any(|path| path.starts_with(folder)));
    touched.flat_map(|(_, packages)| *packages).copied().filter(|package| seen.insert(*package)).collect()
}

/// Where the change began.
fn base() -> Result<String, String> {
    let main = git(&["merge-base", "HEAD", "origin/main"]);
    main.or_else(|_| git(&["rev-parse", "HEAD"])).map(|text| text.trim().to_owned())
}

/// The files that differ, and those that git does not know.
fn changed(since: &str) -> Result<Vec<String>, String> {
    let known = git(&["diff", "--name-only", since, "--"])?;
    let new = git(&["ls-files", "--others", "--exclude-standard"])?;
    Ok(known.lines().chain(new.lines()).map(str::to_owned).collect())
}

fn git(words: &[&str]) -> Result<String, String> {
    let output = Command::new("git").args(words).current_dir(crate::root()).output();
    let output = output.map_err(|error| format!("git did not start: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("git {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(paths: &[&str]) -> Vec<String> {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        due(&paths).iter().map(|step| step.name.to_owned()).collect()
    }

    #[test]
    fn a_change_runs_the_tests_of_what_it_touches() {
        let always = ["fmt", "tidy", "clippy"];
        assert_eq!(names(&["README.md", "docs/fit.md"]), always);
        assert_eq!(names(&["crates/model/src/rng.rs", "web/src/a.ts"])[3..], ["seekwise-model", "page", "webtest"]);
        assert_eq!(names(&["drives/x.toml", "crates/lab/src/a.rs"])[3..], ["seekwise-lab", "seekwise-formats"]);
        assert_eq!(names(&["crates/python/src/lib.rs"])[3..], ["module"]);
    }

    #[test]
    fn every_package_of_the_workspace_is_in_a_table() {
        let manifest = std::fs::read_to_string(crate::root().join("Cargo.toml")).unwrap();
        let members = manifest.split("members = [").nth(1).unwrap().split(']').next().unwrap();
        for member in members.split('"').skip(1).step_by(2) {
            let (folder, mut named) =
                (format!("{member}/"), PACKAGES.iter().map(|it| it.0).chain(STEPS.iter().map(|it| it.0)));
            assert!(named.any(|known| known == folder), "{member}");
        }
    }
}
