//! Checks, builds and rewrites of the repository: `cargo xtask ci` checks everything, `cargo xtask STEP` one thing.
//!
//! | file | what it does |
//! |---|---|
//! | `steps` | the steps, and how they are run and counted |
//! | `check` | the steps that a change needs |
//! | `excerpt` | the lines of a failed step that are shown again at the end |
//! | `cargo` | cargo's steps: format, lints, tests, documentation, release build, licences |
//! | `readme` | runs the commands of the README and of pages of the manual as written, and checks what their prose concludes |
//! | `twice` | runs a study on one core and on two, and expects equal bytes |
//! | `web` | rebuilds and tests the pages: the report, Explore |
//! | `tidy` | rules about the source that no compiler checks |
//! | `bench` | simulated requests a second, beside DiskSim's |
//! | `disksim` | DiskSim's own program and ours, in turn |
//! | `bench_real` | the same work on a real file, by fio and by the program in turn |
//! | `cuts` | power cuts on random stacks, by the hundred thousand |
//! | `guest` | a virtual machine in QEMU on a modelled disk, behind two controllers |
//! | `live` | findings of the source studies, reproduced by real software on served disks, and their tables |
//! | `md` | Linux's md in a virtual machine, beside the model's arrays |
//! | `mutants` | planted faults, and which tests notice them |
//! | `mutate` | the program with changed inputs of every kind |
//! | `names` | counts of names and sentences of comments, of this repository or of another |
//! | `package` | packs the crates that can be published, and checks that they read nothing outside of their packages |
//! | `results` | compares hashes of results with the committed ones, which no change may move |
//! | `robust` | runs the claims with inferred figures varied, and rewrites docs/robust.md |
//! | `explain` | explains claims that are not reproduced, and rewrites their levers |
//! | `sampling` | runs every study with both samplings, and rewrites their table |
//! | `score` | runs the claims, and rewrites their committed outcomes |
//! | `dist` | archives of the program, for other machines |
//! | `addresses` | the project's address in what is published |
//! | `fit` | fits the measured drives, and rewrites their profiles |
//! | `pairs` | fits drives of known figures from profiles of other drives, and rewrites their tables |
//! | `python` | the Python module: its tests, wheels, the source package |
//! | `rehearse` | installs what a release would publish, from indexes in folders |
//! | `links` | links and headings of Markdown |
//! | `site` | the manual as a site |
//! | `validation` | replays the traces, and rewrites their committed figures |
//!
//! Its only dependencies are JSON, TOML, SHA-256 and a parser of Rust (for `mutants` and `names`), so that it builds in
//! seconds.

#![allow(clippy::disallowed_methods, reason = "builds and checks write in the repository and its target folder")]

mod addresses;
mod bench;
mod bench_real;
mod cargo;
mod check;
mod cuts;
mod disksim;
mod dist;
mod excerpt;
mod explain;
mod fit;
mod guest;
mod links;
mod live;
mod md;
mod mutants;
mod mutate;
mod names;
mod package;
mod pairs;
mod python;
mod readme;
mod rehearse;
mod results;
mod robust;
mod sampling;
mod score;
mod site;
mod steps;
mod tidy;
mod twice;
mod validation;
mod web;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let Some(ended) = addresses::run_in_copy(&arguments) {
        return ended;
    }
    match arguments[..] {
        ["ci"] => steps::run_steps(&steps::ci_steps()),
        ["ci", "--all"] => steps::ci_all(),
        ["check", ref options @ ..] => check::check(options),
        ["bench"] => bench::bench(),
        ["bench", "beside", ref options @ ..] => disksim::compare(options),
        ["bench", "real", ref options @ ..] => bench_real::bench(options),
        ["cuts", ref options @ ..] => cuts::cuts(options),
        ["readme", ref pages @ ..] if !pages.is_empty() => readme::check_named_pages(pages),
        ["mutate", ref options @ ..] if !options.is_empty() => mutate::mutate(options),
        ["mutants", ref options @ ..] => mutants::mutants(options),
        ["dist", ref targets @ ..] => dist::dist(targets),
        ["site"] => site::site(),
        ["web"] => steps::run_steps(&[steps::Step::new("web", "the page Explore", |_| web::build_explore())]),
        ["fit", "--recovery"] => fit::recovery(),
        ["fit", "--thresholds"] => fit::thresholds(),
        ["fit", "--carried"] => fit::carried(),
        ["fit", "--pairs", ref options @ ..] => pairs::pairs(options),
        ["fit", ref names @ ..] => fit::fit(names),
        ["wheel", ref targets @ ..] => python::wheel(targets),
        ["rehearse"] => rehearse::rehearse(),
        ["guest"] => guest::guest(),
        ["live"] => live::live(),
        ["md", ref options @ ..] => md::md(options),
        ["validation"] => validation::validation(),
        ["sampling", ref options @ ..] => sampling::sampling(options),
        ["score"] => score::score(),
        ["names", ref options @ ..] => names::names(options),
        ["results", ref options @ ..] => results::results(options),
        ["explain", ref claims @ ..] => explain::explain(claims),
        ["robust", ref options @ ..] => robust::robust(options),
        [name] if steps::find_step(name).is_some() => steps::run_steps(steps::find_step(name).as_slice()),
        _ => {
            help();
            ExitCode::from(2)
        }
    }
}

/// The commands that `ci` does not run: words and description.
const OTHER_COMMANDS: [(&str, &str); 30] = [
    (
        "check [--since REVISION]",
        "the steps that a change needs, in under two minutes; by default since origin/main, or of uncommitted changes",
    ),
    ("ci --all", "before a release: tests with all draws, and the release build"),
    ("release", "the release build alone"),
    ("bench", "simulated requests a second, beside DiskSim's"),
    ("bench beside --disksim PATH", "DiskSim's own program and ours, in turn"),
    ("bench real [FOLDER] [ROUNDS] [SECONDS]", "fio and ours, in turn, on a real file"),
    ("cuts", "power cuts on random stacks: --stacks 200 --cuts 100000 --seed 1"),
    ("readme PAGE …", "check these pages alone, such as docs/tutorial.md"),
    (
        "mutate --runs 10000 --seed 1",
        "run the program with changed inputs, this many of each kind (ci: a few hundred); --program PATH for another build",
    ),
    (
        "mutants --seed 1 --faults 400",
        "planted faults and the tests that notice; --files PATH,… --budget MINUTES --jobs J --again ID,…",
    ),
    ("sampling [FOLDER]", "run every study with both samplings, rewrite the table in docs/statistics.md"),
    (
        "names [FOLDER] [--list]",
        "count names and sentences of comments, of this repository or another; --list prints the places",
    ),
    (
        "results [ROW …]",
        "compare hashes of results with validation/results.txt, which no change may move; --write renews them",
    ),
    ("validation", "replay measured traces, rewrite figures and pictures"),
    ("fit [DRIVE …]", "fit the measured drives, rewrite their profiles"),
    ("fit --recovery", "fit drives of known figures, rewrite the table in docs/fit.md"),
    ("fit --thresholds", "fit with other thresholds, rewrite their table in docs/fit.md"),
    ("fit --carried", "fit drives from another drive's rules, rewrite their table in docs/fit.md"),
    (
        "fit --pairs [N]",
        "fit thirty known drives from other drives' profiles, rewrite their tables in docs/fit.md; --program PATH for another build",
    ),
    ("dist [TARGET …]", "archives of the program, Linux x86-64 and arm64"),
    ("wheel [TARGET …]", "wheels and the source package of the Python module"),
    (
        "rehearse",
        "install wheels and crates as users do, from local indexes: pip, uv, cargo add, arm64 under emulation",
    ),
    ("guest", "run a virtual machine in QEMU on a modelled disk, behind AHCI and PIIX"),
    ("live", "run real software on served disks, rewrite the findings in docs/live.md"),
    (
        "md [ROWS.toml]",
        "Linux's md in a virtual machine in QEMU, beside the model's arrays; --runs 3 --program PATH for another build",
    ),
    ("web", "make the page Explore in target/web, as small as users get it"),
    ("site", "make the manual as a site in target/site, by mdBook"),
    ("score", "run all claims, rewrite validation/claims.toml, README and docs/claims.md"),
    ("explain [CLAIM …]", "explain claims that are not reproduced, rewrite docs/claims.md"),
    ("robust", "run the claims in 15 draws of inferred figures, rewrite docs/robust.md"),
];

fn help() {
    eprintln!("cargo xtask ci      everything, in this order:");
    for step in steps::ALL {
        eprintln!("cargo xtask {:7} {}", step.name, step.description);
    }
    eprintln!("\nNot in ci:");
    for (words, description) in OTHER_COMMANDS {
        eprintln!("cargo xtask {words}   {description}");
    }
}

/// The root folder of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository").to_owned()
}

/// The folder that cargo builds into.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Creates an empty folder of this name below `target/xtask`, for what a step writes.
fn empty_folder(name: &str) -> std::io::Result<PathBuf> {
    let folder = target().join("xtask").join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
