//! `cargo xtask check`: checks what a change touches, in under two minutes if most is built already. `ci` checks
//! everything.
//!
//! A change is all that differs from the merge base with `origin/main` (without one: from the last commit) or from
//! `--since`, and all files that git does not know yet. The whole workspace must be formatted, tidy and without a lint;
//! then the tests of each touched crate run. Tests of the crates above them do not run: a fault is to be noticed by
//! tests of its own crate (`cargo xtask mutants`). Texts that a crate contains (drives, studies, programs) count as its
//! files. Other folders have steps of their own.

use std::collections::BTreeSet;
use std::process::{Command, ExitCode};

use crate::steps::{self, Ended, Step};
use crate::{python, web};

/// Folders or files, and the packages that a change in them touches.
const PACKAGES_BY_FOLDER: [(&str, &[&str]); 20] = [
    ("crates/disk/", &["seekwise-disk"]),
    ("crates/work/", &["seekwise-work"]),
    ("crates/files/", &["seekwise-files"]),
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
    ("examples/turmoil-files/", &["seekwise-example-turmoil-files"]),
    ("crates/explore/", &["seekwise-explore"]),
    ("xtask/", &["xtask"]),
    ("fuzz/", &["seekwise-formats", "seekwise-os"]),
    ("crates/drives/profiles/", &["seekwise-lab", "seekwise-reproduce"]),
    ("validation/", &["seekwise-lab", "seekwise-reproduce"]),
    ("crates/lab/tests/outline.rs", &["seekwise", "seekwise-reproduce"]),
];

/// A change in these touches every package.
const SHARED_FILES: [&str; 4] = ["Cargo.toml", "Cargo.lock", ".cargo/", "clippy.toml"];

/// The folders from which the Python module is built.
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
const MODULE_STEP: Step = Step::new("module", "the Python module compiles, without a lint", |_| python::check());

/// Folders that are also covered by tests which take too long here; each is reported as a skipped step.
const LONG_STEPS: [(&[&str], Step); 2] = [
    (
        &["crates/python/"],
        Step::new("python", "the Python module's tests", |_| skip_as_too_long("`cargo xtask python`")),
    ),
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
            skip_as_too_long("`cargo test --package seekwise-cli`, and of the manual `cargo xtask readme`")
        }),
    ),
];

fn skip_as_too_long(command: &str) -> Ended {
    Ended::Skipped(format!("takes too long here: {command}"))
}

/// Folders, and the steps that check them.
const STEPS_BY_FOLDER: [(&[&str], &[Step]); 1] = [(
    &["web/", "crates/lab/dist/"],
    &[
        Step::new("page", "the report page, rebuilt, is the committed one", |_| web::page()),
        Step::new("webtest", "the report page's tests", |_| web::test()),
    ],
)];

/// Runs the command.
pub fn check(options: &[&str]) -> ExitCode {
    let since = match options {
        [] => merge_base(),
        ["--since", revision] => Ok((*revision).to_owned()),
        _ => Err("usage: cargo xtask check [--since REVISION]".to_owned()),
    };
    match since.and_then(|since| changed_files(&since).map(|paths| (since, paths))) {
        Ok((since, paths)) if paths.is_empty() => {
            println!("nothing differs from {since}");
            ExitCode::SUCCESS
        }
        Ok((since, paths)) => {
            println!("{} files differ from {since}", paths.len());
            steps::run_steps(&steps_for(&paths))
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

/// The steps that check these files.
fn steps_for(paths: &[String]) -> Vec<Step> {
    let mut steps: Vec<Step> = ["fmt", "tidy", "clippy"].into_iter().filter_map(steps::find_step).collect();
    for package in touched_packages(paths) {
        steps.push(Step::of_package(package));
    }
    let touches = |folder: &str| paths.iter().any(|path| path.starts_with(folder));
    steps.extend(BELOW_PYTHON.iter().any(|folder| touches(folder)).then_some(MODULE_STEP));
    steps.extend(
        STEPS_BY_FOLDER
            .iter()
            .filter(|(folders, _)| folders.iter().any(|folder| touches(folder)))
            .flat_map(|(_, steps)| *steps),
    );
    steps.extend(
        LONG_STEPS.iter().filter(|(folders, _)| folders.iter().any(|folder| touches(folder))).map(|(_, step)| *step),
    );
    steps
}

/// The packages that these files touch, in the order of the table.
fn touched_packages(paths: &[String]) -> Vec<&'static str> {
    let mut listed = BTreeSet::new();
    let touches = |folder: &str| paths.iter().any(|path| path.starts_with(folder));
    let touches_all = SHARED_FILES.iter().any(|shared| touches(shared));
    let touched = PACKAGES_BY_FOLDER.iter().filter(|(folder, _)| touches_all || touches(folder));
    touched.flat_map(|(_, packages)| *packages).copied().filter(|package| listed.insert(*package)).collect()
}

/// The commit from which the change is counted.
fn merge_base() -> Result<String, String> {
    let main = git(&["merge-base", "HEAD", "origin/main"]);
    main.or_else(|_| git(&["rev-parse", "HEAD"])).map(|text| text.trim().to_owned())
}

/// The files that differ, and those that git does not know.
fn changed_files(since: &str) -> Result<Vec<String>, String> {
    // Without renames, as a file that was moved changes its former folder too.
    let differing = git(&["diff", "--no-renames", "-z", "--name-only", since, "--"])?;
    let unknown = git(&["ls-files", "-z", "--others", "--exclude-standard"])?;
    let paths = differing.split('\0').chain(unknown.split('\0'));
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
        steps_for(&paths).iter().map(|step| step.name.to_owned()).collect()
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
            let mut named = PACKAGES_BY_FOLDER.iter().map(|row| row.0).chain(BELOW_PYTHON);
            assert!(named.any(|known| known == folder), "{member}");
        }
    }
}
