//! `cargo xtask twice`: a small study on one core and on two must leave equal bytes, records and report alike. A third
//! run resumes a study that was cut short. All this is done with a fixed sample, and with sampling until decided.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cargo;
use crate::steps::{Ended, run_in};

const STUDY: &str = include_str!("small.toml");

/// The files that are compared.
const FILES: [&str; 4] = ["study.toml", "made-from.json", "results.jsonl", "report.html"];

/// Runs the step.
pub fn twice() -> Ended {
    let program = match cargo::build_debug_program() {
        Ok(program) => program,
        Err(why) => return Ended::Failed(why),
    };
    for sampling in ["--fixed", "--until-decided"] {
        match try_twice(&program, sampling).unwrap_or_else(|error| Ended::Failed(error.to_string())) {
            Ended::Passed => {}
            ended => return ended,
        }
    }
    Ended::Passed
}

fn try_twice(program: &Path, sampling: &str) -> std::io::Result<Ended> {
    let scratch = crate::empty_folder("twice")?;
    fs::write(scratch.join("small.toml"), STUDY)?;
    let run_on = |threads: &str| -> std::io::Result<Result<PathBuf, Ended>> {
        // The report names the command that made it, so both runs use one folder's name.
        let folder = scratch.join(threads);
        fs::create_dir(&folder)?;
        fs::copy(scratch.join("small.toml"), folder.join("small.toml"))?;
        Ok(run_study(program, &folder, &["--threads", threads, sampling]).map(|()| folder.join("out")))
    };
    let (one, two) = match (run_on("1")?, run_on("2")?) {
        (Ok(one), Ok(two)) => (one, two),
        (Err(ended), _) | (_, Err(ended)) => return Ok(ended),
    };
    if let Some(file) = differing_file(&one, &two)? {
        return Ok(Ended::Failed(format!(
            "{file} differs between one core and two: {} and {}",
            one.display(),
            two.display()
        )));
    }
    // Cut short after half of the runs, and in the middle of a line.
    let whole = fs::read(two.join("results.jsonl"))?;
    fs::write(two.join("results.jsonl"), &whole[..whole.len() / 2])?;
    fs::remove_file(two.join("report.html"))?;
    let folder = two.parent().expect("out lies in a folder");
    if let Err(ended) = run_study(program, folder, &["--resume"]) {
        return Ok(ended);
    }
    Ok(match differing_file(&one, &two)? {
        Some(file) => Ended::Failed(format!("{file} differs after a resumed study")),
        None => Ended::Passed,
    })
}

/// Runs the study in a folder.
fn run_study(program: &Path, folder: &Path, more: &[&str]) -> Result<(), Ended> {
    let program = program.to_string_lossy();
    let words: Vec<&str> =
        [&program, "study", "small.toml", "--out", "out"].into_iter().chain(more.iter().copied()).collect();
    match run_in(folder, &words, &[]) {
        Ended::Passed => Ok(()),
        ended => Err(ended),
    }
}

/// The first file that differs between two result folders, or is empty.
fn differing_file(one: &Path, two: &Path) -> std::io::Result<Option<&'static str>> {
    for file in FILES {
        let (a, b) = (fs::read(one.join(file))?, fs::read(two.join(file))?);
        if a.is_empty() || a != b {
            return Ok(Some(file));
        }
    }
    Ok(None)
}
