//! `cargo xtask check`: what a change touches, in under two minutes when it is warm. `ci` checks everything.
//!
//! A change is what differs from the merge base with `origin/main` (without one: from the last commit), or from `--since`, and files
//! that git does not know yet. It is formatted, tidy and without a lint in the whole workspace; then the tests of the touched crates
//! run, each crate's own. Tests of crates above them do not: a fault is to be noticed where it is (`cargo xtask mutants`).
//! What crates hold as text (drives, studies, programs) counts as theirs. Other folders have steps of their own.

use std::collections::BTreeSet;
use std::process::{Command, ExitCode};

use crate::steps::{self, Ended, Step};
use crate::{python, web};

/// What lies in a folder touches these packages.
const PACKAGES: [(&str, &[&str]); 18] = [
    ("crates/disk/", &["seekwise-disk"]),
    ("crates/work/", &["seekwise-work"]),
    ("crates/drives/", &["seekwise-drives"]),
    ("crates/formats/", &["seekwise-formats"]),
    ("crates/run/", &["seekwise-run"]),
    ("crates/lab/", &["seekwise-lab"]),
    ("crates/os/", &["seekwise-os"]),
    ("crates/seekwise/", &["seekwise"]),
    ("crates/reproduce/", &["seekwise-reproduce"]),
    ("crates/cli/", &["seekwise-cli"]),
    ("crates/capi/", &["seekwise-capi"]),
    ("examples/turmoil/", &["seekwise-example-turmoil"]),
    ("examples/wasm/", &["seekwise-example-wasm"]),
    ("xtask/", &["xtask"]),
    ("fuzz/", &["seekwise-formats", "seekwise-os"]),
    ("crates/drives/profiles/", &["seekwise-lab", "seekwise-reproduce"]),
    ("validation/", &["seekwise-lab", "seekwise-reproduce"]),
    ("crates/lab/tests/outline.rs", &["seekwise", "seekwise-reproduce"]),
];

/// What lies in these touches every package.
const ROOT: [&str; 4] = ["Cargo.toml", "Cargo.lock", ".cargo/", "clippy.toml"];

/// What stands below the Python module.
const BELOW_PYTHON: [&str; 10] = [
    "crates/python/",
    "crates/cli/",
    "crates/reproduce/",
    "crates/seekwise/",
    "crates/lab/",
    "crates/run/",
    "crates/formats/",
    "crates/drives/",
    "crates/work/",
    "crates/disk/",
];

/// Compiles the Python module.
const MODULE: Step = Step::new("module", "the Python module compiles, without a lint", |_| python::check());

/// What lies in these is looked at by tests that take too long here: said as a skipped step.
const LEFT: [(&[&str], Step); 2] = [
    (&["crates/python/"], Step::new("python", "the Python module's tests", |_| left("`cargo xtask python`"))),
    (
        &[
            "README.md",
            "docs/",
            "crates/drives/profiles/",
            "crates/lab/studies/",
            "validation/",
            "crates/formats/programs/",
            "crates/formats/recipes/",
        ],
        Step::new("program", "tests of the program that read the manual, drives and studies", |_| {
            left("`cargo test --package seekwise-cli`, and of the manual `cargo xtask readme`")
        }),
    ),
];

fn left(command: &str) -> Ended {
    Ended::Skipped(format!("takes too long here: {command}"))
}

/// What lies in folders is held by these steps.
const STEPS: [(&[&str], &[Step]); 1] = [(
    &["web/", "crates/lab/dist/"],
    &[
        Step::new("page", "the report page, rebuilt, is the committed one", |_| web::page()),
        Step::new("webtest", "the report page's tests", |_| web::test()),
    ],
)];

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
    due.extend(BELOW_PYTHON.iter().any(|folder| touched(folder)).then_some(MODULE));
    due.extend(
        STEPS.iter().filter(|(folders, _)| folders.iter().any(|folder| touched(folder))).flat_map(|(_, steps)| *steps),
    );
    due.extend(LEFT.iter().filter(|(folders, _)| folders.iter().any(|folder| touched(folder))).map(|(_, step)| *step));
    due
}

/// The packages that these files touch, in the order of the table.
fn packages(paths: &[String]) -> Vec<&'static str> {
    let mut seen = BTreeSet::new();
    let begins = |folder: &str| paths.iter().any(|path| path.starts_with(folder));
    let all = ROOT.iter().any(|root| begins(root));
    let touched = PACKAGES.iter().filter(|(folder, _)| all || begins(folder));
    touched.flat_map(|(_, packages)| *packages).copied().filter(|package| seen.insert(*package)).collect()
}

/// Where the change began.
fn base() -> Result<String, String> {
    let main = git(&["merge-base", "HEAD", "origin/main"]);
    main.or_else(|_| git(&["rev-parse", "HEAD"])).map(|text| text.trim().to_owned())
}

/// The files that differ, and those that git does not know.
fn changed(since: &str) -> Result<Vec<String>, String> {
    // A file that was moved is gone from where it was.
    let known = git(&["diff", "--no-renames", "-z", "--name-only", since, "--"])?;
    let new = git(&["ls-files", "-z", "--others", "--exclude-standard"])?;
    let paths = known.split('\0').chain(new.split('\0'));
    Ok(paths.filter(|path| !path.is_empty()).map(str::to_owned).collect())
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
        assert_eq!(names(&["ARCHITECTURE.md"]), always);
        assert_eq!(names(&["README.md", "docs/fit.md"])[3..], ["program"]);
        let rng = ["seekwise-disk", "module", "page", "webtest"];
        assert_eq!(names(&["crates/disk/src/rng.rs", "web/src/a.ts"])[3..], rng);
        let drive = ["seekwise-drives", "seekwise-lab", "seekwise-reproduce", "module", "program"];
        assert_eq!(names(&["crates/drives/profiles/x.toml", "crates/lab/src/a.rs"])[3..], drive);
        assert_eq!(names(&["crates/python/src/lib.rs"])[3..], ["module", "python"]);
        assert!(names(&["Cargo.lock"]).len() > 12, "all packages");
    }

    #[test]
    fn every_package_of_the_workspace_is_in_a_table() {
        let manifest = std::fs::read_to_string(crate::root().join("Cargo.toml")).unwrap();
        let members = manifest.split("members = [").nth(1).unwrap().split(']').next().unwrap();
        for member in members.split('"').skip(1).step_by(2) {
            let folder = format!("{member}/");
            let mut named = PACKAGES.iter().map(|it| it.0).chain(BELOW_PYTHON);
            assert!(named.any(|known| known == folder), "{member}");
        }
    }
}
