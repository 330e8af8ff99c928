//! `cargo xtask fit --pairs [N] [--program PATH]`: fits drives of known figures from profiles of other drives, by the
//! program's own commands, and rewrites their tables in `docs/fit.md`.
//!
//! | file | what it does |
//! |---|---|
//! | `choice` | chooses true drives and starts, the same ones each time |
//! | `noise` | adds noise to fio's results |
//! | `program` | calls the program and keeps its outputs |
//! | `trial` | makes the results, fits and predictions of a pair, and judges them |
//! | `table` | writes all outcomes as Markdown |
//!
//! The files of pair N are in `pairs/N` of the target folder. A run that was interrupted continues with the missing
//! ones; another build of the program starts anew.

mod choice;
mod noise;
mod program;
mod table;
mod trial;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use toml::Table;

use self::choice::{Pair, choose_pairs};
use self::program::{Program, write_whole};
use self::trial::{Outcome, Trial};
use crate::cargo;

/// Pairs of a full run.
const PAIRS: usize = 30;

/// The marks around the tables in `docs/fit.md`.
const MARKS: [&str; 2] = ["<!-- pairs -->", "<!-- end of pairs -->"];

/// Pairs that take less were made before, and say nothing about the rest.
const KEPT_S: f64 = 3.0;

/// Runs the command.
pub fn pairs(options: &[&str]) -> ExitCode {
    let Some((count, program)) = parse_options(options) else {
        eprintln!("cargo xtask fit --pairs [N] [--program PATH], with N from 1 to {PAIRS}");
        return ExitCode::from(2);
    };
    match run_pairs(count, program) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// The number of pairs, and the program if it is another than the release build.
fn parse_options<'a>(options: &[&'a str]) -> Option<(usize, Option<&'a Path>)> {
    let (count, options) = match options {
        [number, rest @ ..] if !number.starts_with("--") => (number.parse().ok()?, rest),
        _ => (PAIRS, options),
    };
    let program = match options {
        [] => None,
        ["--program", path] => Some(Path::new(*path)),
        _ => return None,
    };
    (1..=PAIRS).contains(&count).then_some((count, program))
}

fn run_pairs(count: usize, program: Option<&Path>) -> Result<(), String> {
    let folder = crate::target().join("pairs");
    let program = prepare_program(&folder, program)?;
    let pairs = choose_pairs(count, &|name| parse_profile(&read_profile(name)?))?;
    let (mut outcomes, mut failures, mut seconds) = (Vec::new(), Vec::new(), Vec::new());
    for pair in &pairs {
        let clock = Instant::now();
        let result = run_pair(&program, &folder.join(pair.number.to_string()), pair);
        seconds.extend(Some(clock.elapsed().as_secs_f64()).filter(|seconds| *seconds > KEPT_S));
        let forecast = forecast(&seconds, count - pair.number);
        let says = result.as_ref().map_or_else(|why| format!("failed: {why}"), table::summarise);
        println!(
            "{} of {count}: {} from {}, {}, {}: {says}{forecast}",
            pair.number,
            pair.truth,
            pair.start,
            pair.kind.word(),
            pair.noise.words(),
        );
        match result {
            Ok(outcome) => outcomes.push(outcome),
            Err(_) => failures.push(pair.number.to_string()),
        }
    }
    print_warnings(&outcomes);
    let text = table::render(&outcomes);
    println!("\n{text}");
    match (failures.is_empty(), count) {
        (false, _) => Err(format!("failed: pairs {}; docs/fit.md stays as it is", failures.join(", "))),
        (true, PAIRS) => {
            crate::fit::write_table(&text, &MARKS)?;
            println!("Rewritten: the tables of pairs in docs/fit.md");
            Ok(())
        }
        (true, _) => {
            println!("{count} of {PAIRS} pairs: docs/fit.md stays as it is");
            Ok(())
        }
    }
}

/// Copies the program into the folder, where no build replaces it. Outputs of another build are removed.
fn prepare_program(folder: &Path, program: Option<&Path>) -> Result<Program, String> {
    let (path, hash) = match program {
        Some(path) => (path.to_owned(), cargo::hash_file(path)?),
        None => {
            let hash = cargo::build_and_hash_release()?;
            (crate::target().join("release/seekwise"), hash)
        }
    };
    let fault = |why: std::io::Error| format!("{}: {why}", folder.display());
    let build = folder.join("build");
    if fs::read_to_string(&build).is_ok_and(|kept| kept == hash) {
        return Ok(Program { path: folder.join("seekwise") });
    }
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(fault)?;
    }
    fs::create_dir_all(folder).map_err(fault)?;
    let copy = folder.join("seekwise");
    fs::copy(path, &copy).map_err(fault)?;
    write_whole(&build, &hash)?;
    Ok(Program { path: copy })
}

fn run_pair(program: &Program, folder: &Path, pair: &Pair) -> Result<Outcome, String> {
    let start_text = read_profile(pair.start)?;
    let (truth, start) = (parse_profile(&read_profile(pair.truth)?)?, parse_profile(&start_text)?);
    Trial { program, folder, pair, truth: &truth, start: &start, start_text: &start_text }.run()
}

/// Reads the text of a built-in profile.
fn read_profile(name: &str) -> Result<String, String> {
    let path: PathBuf = crate::root().join(format!("crates/drives/profiles/{name}.toml"));
    fs::read_to_string(&path).map_err(|why| format!("{}: {why}", path.display()))
}

fn parse_profile(text: &str) -> Result<Table, String> {
    text.parse::<Table>().map_err(|why| why.to_string())
}

/// How long the remaining pairs will take, if there are any.
fn forecast(seconds: &[f64], remaining: usize) -> String {
    if remaining == 0 || seconds.is_empty() {
        return String::new();
    }
    let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
    format!("; {remaining} more take {:.0} min", (mean * remaining as f64 / 60.0).ceil())
}

/// Prints each kind of warning with the number of fits that have it. Numbers in warnings do not distinguish them.
fn print_warnings(outcomes: &[Outcome]) {
    let mut counts: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for outcome in outcomes {
        for (data, warnings) in [("reads", &outcome.warnings), ("one result", &outcome.alone.warnings)] {
            let kinds = warnings.iter().map(|warning| warning_kind(warning));
            kinds.for_each(|kind| *counts.entry((data, kind)).or_default() += 1);
        }
    }
    for ((data, kind), count) in counts {
        println!("{count} fits to {data} warn: {kind}");
    }
}

/// The warning with `#` for each number.
fn warning_kind(warning: &str) -> String {
    let mut kind = String::new();
    for letter in warning.chars() {
        match letter {
            '0'..='9' if kind.ends_with('#') => {}
            '0'..='9' => kind.push('#'),
            '.' if kind.ends_with('#') => {}
            other => kind.push(other),
        }
    }
    kind
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_a_number_and_a_program() {
        assert_eq!(parse_options(&[]), Some((PAIRS, None)));
        assert_eq!(parse_options(&["2"]), Some((2, None)));
        assert_eq!(parse_options(&["2", "--program", "a"]), Some((2, Some(Path::new("a")))));
        assert!(
            [&["0"][..], &["31"], &["x"], &["--program"], &["2", "3"]].iter().all(|it| parse_options(it).is_none())
        );
        assert_eq!(forecast(&[60.0, 120.0], 2), "; 2 more take 3 min");
        assert_eq!(forecast(&[60.0], 0), "");
        assert_eq!(warning_kind("took 3.6 ms, 10 % or 7"), "took # ms, # % or #");
    }

    #[test]
    fn all_pairs_have_profiles() {
        let pairs = choose_pairs(PAIRS, &|name| parse_profile(&read_profile(name)?)).unwrap();
        pairs.iter().for_each(|pair| assert!(read_profile(pair.start).is_ok(), "{pair:?}"));
    }
}
