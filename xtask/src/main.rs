//! Chores of the repository: `cargo xtask ci` checks everything, `cargo xtask STEP` one thing.
//!
//! | file | what it does |
//! |---|---|
//! | `steps` | the steps, and how they are run and counted |
//! | `check` | which steps a change needs |
//! | `excerpt` | what of a failed step is shown again at the end |
//! | `cargo` | format, lints, tests, documentation, release build, licences: what cargo does |
//! | `readme` | the commands of the README and of pages of the manual, run as written; what their prose concludes, checked |
//! | `twice` | one study twice, on one core and on two: equal bytes |
//! | `web` | the report page rebuilt and tested |
//! | `tidy` | rules about the source that no compiler checks |
//! | `bench` | simulated requests a second, beside DiskSim's |
//! | `disksim` | DiskSim's own program, in turn with ours |
//! | `bench_real` | the same work on a real file, by fio and by the program in turn |
//! | `cuts` | power cuts on random stacks, by the hundred thousand |
//! | `guest` | a guest in QEMU on a modelled disk, behind two controllers |
//! | `live` | findings of the source studies by real software on served disks, and their table |
//! | `mutants` | planted faults, and which tests notice them |
//! | `mutate` | changed inputs of every kind through the program |
//! | `names` | how the house names and explains its parts, in numbers; any repository can stand beside |
//! | `package` | the crates that can be published, packed, and held to read nothing outside of their packages |
//! | `results` | hashes of what must come out the same after every change, compared with those committed |
//! | `robust` | the claims with what is inferred drawn otherwise, and what is committed of that rewritten |
//! | `explain` | claims that do not come out explained, and what is committed of that rewritten |
//! | `sampling` | every study by both samples, side by side |
//! | `score` | the claims run, and what is committed of them rewritten |
//! | `dist` | archives of the program, for other machines |
//! | `fit` | the measured drives fitted anew |
//! | `python` | the Python module: its tests, wheels, the source package |
//! | `links` | links and headings of Markdown |
//! | `site` | the documents as a site |
//! | `validation` | the traces played again, and what is committed of them rewritten |
//!
//! JSON, SHA-256 and a parser of Rust (for `mutants`) are all it depends on, so that it builds in seconds.

#![allow(clippy::disallowed_methods, reason = "builds and checks write in the repository and its target folder")]

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
mod mutants;
mod mutate;
mod names;
mod package;
mod python;
mod readme;
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
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["ci"] => steps::run(&steps::due()),
        ["ci", "--all"] => steps::ci_all(),
        ["check", ref options @ ..] => check::check(options),
        ["bench"] => bench::bench(),
        ["bench", "beside", ref options @ ..] => disksim::compare(options),
        ["bench", "real", ref options @ ..] => bench_real::bench(options),
        ["cuts", ref options @ ..] => cuts::cuts(options),
        ["readme", ref pages @ ..] if !pages.is_empty() => readme::some(pages),
        ["mutate", ref options @ ..] if !options.is_empty() => mutate::mutate(options),
        ["mutants", ref options @ ..] => mutants::mutants(options),
        ["dist", ref targets @ ..] => dist::dist(targets),
        ["site"] => site::site(),
        ["fit", "--recovery"] => fit::recovery(),
        ["fit", "--thresholds"] => fit::thresholds(),
        ["fit", "--carried"] => fit::carried(),
        ["fit", ref names @ ..] => fit::fit(names),
        ["wheel", ref targets @ ..] => python::wheel(targets),
        ["guest"] => guest::guest(),
        ["live"] => live::live(),
        ["validation"] => validation::validation(),
        ["sampling", ref options @ ..] => sampling::sampling(options),
        ["score"] => score::score(),
        ["names", ref options @ ..] => names::names(options),
        ["results", ref options @ ..] => results::results(options),
        ["explain", ref claims @ ..] => explain::explain(claims),
        ["robust", ref options @ ..] => robust::robust(options),
        [name] if steps::named(name).is_some() => steps::run(steps::named(name).as_slice()),
        _ => {
            help();
            ExitCode::from(2)
        }
    }
}

/// What is not in ci: the words, and what they do.
const APART: [(&str, &str); 26] = [
    (
        "check [--since REVISION]",
        "what a change touches, in under two minutes; by default since origin/main, or what is not committed",
    ),
    ("ci --all", "before a release: tests draw all that they can, and the release build"),
    ("release", "the release build alone"),
    ("bench", "simulated requests a second, beside DiskSim's"),
    ("bench beside --disksim PATH", "DiskSim's own program in turn with ours"),
    ("bench real [FOLDER] [ROUNDS] [SECONDS]", "beside fio on a real file"),
    ("cuts", "power cuts on random stacks: --stacks 200 --cuts 100000 --seed 1"),
    ("readme PAGE …", "these pages alone, such as docs/tutorial.md"),
    (
        "mutate --runs 10000 --seed 1",
        "so many changed inputs of each kind (ci: a few hundred); --program PATH for another build",
    ),
    (
        "mutants --seed 1 --faults 400",
        "planted faults and the tests that notice; --files PATH,… --budget MINUTES --jobs J --again ID,…",
    ),
    ("sampling [FOLDER]", "every study by both samples, side by side"),
    ("names [FOLDER] [--list]", "names and comments in numbers, of this repository or of another; --list says where"),
    (
        "results [ROW …]",
        "hashes of what must come out the same after every change, compared with validation/results.txt; --write renews them",
    ),
    ("validation", "play measured traces again, rewrite figures and pictures"),
    ("fit [DRIVE …]", "the measured drives fitted anew, profiles rewritten"),
    ("fit --recovery", "fits whose truth is known, rewrite the table in docs/fit.md"),
    ("fit --thresholds", "what other thresholds keep, the same for its table"),
    ("fit --carried", "which rules carry over to another drive, the same"),
    ("dist [TARGET …]", "archives of the program, Linux x86-64 and arm64"),
    ("wheel [TARGET …]", "wheels and the source package of the Python module"),
    ("guest", "a guest in QEMU on a modelled disk, behind AHCI and PIIX"),
    ("live", "findings met by real software on served disks, rewrite docs/live.md"),
    ("site", "the documents as a site in target/site, by mdBook"),
    ("score", "run all claims, rewrite validation/claims.toml, README and docs/claims.md"),
    ("explain [CLAIM …]", "explain claims that do not come out, rewrite docs/claims.md"),
    ("robust", "the claims in 15 draws of what is inferred, rewrite docs/robust.md"),
];

fn help() {
    eprintln!("cargo xtask ci      everything, in this order:");
    for step in steps::ALL {
        eprintln!("cargo xtask {:7} {}", step.name, step.what);
    }
    eprintln!("\nNot in ci:");
    for (words, what) in APART {
        eprintln!("cargo xtask {words}   {what}");
    }
}

/// The repository's folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository").to_owned()
}

/// Where cargo builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// An empty folder of this process's own, for what steps write.
fn scratch(name: &str) -> std::io::Result<PathBuf> {
    let folder = target().join("xtask").join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
