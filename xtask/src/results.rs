//! `cargo xtask results`: runs commands whose results no change of the project may alter, and compares hashes of the
//! results with `validation/results.txt`. It prints which rows differ, are missing or are new. `--write` renews the
//! table; names of rows, or beginnings of names, limit the run to those rows.
//!
//! A row is a hash of figures; prose, paths and versions are left out (`results/figures.rs`). Runs are shortened, so
//! that a row is no published result. Commands that measure real time (`serve`, `crash`, `flush-audit`, `bench`) have
//! no row.

mod figures;
mod plan;
mod pool;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use self::plan::{HashedPart, Plan, SHARED};
use self::table::{Change, Row};
use crate::cargo;

/// The committed table.
const TABLE: &str = "validation/results.txt";

/// The command's options.
#[derive(Debug, Default, PartialEq, Eq)]
struct ResultsOptions {
    write: bool,
    program: Option<PathBuf>,
    rows: Vec<String>,
}

/// Runs the command: 0 if all rows are equal, 1 if one is not, 2 if it could not run.
pub fn results(options: &[&str]) -> ExitCode {
    match parse_options(options).and_then(|options| run_and_compare(&options)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn parse_options(arguments: &[&str]) -> Result<ResultsOptions, String> {
    let mut options = ResultsOptions::default();
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        match argument {
            "--write" => options.write = true,
            "--program" => options.program = Some(rest.next().ok_or("--program needs a path")?.into()),
            option if option.starts_with('-') => {
                return Err(format!("{option}: expected --write, --program PATH or names of rows"));
            }
            row => options.rows.push(row.to_owned()),
        }
    }
    if options.write && !options.rows.is_empty() {
        return Err("--write renews the whole table, and takes no rows".to_owned());
    }
    Ok(options)
}

/// Runs the wanted commands and compares their rows, or writes the table; returns whether all is equal.
fn run_and_compare(options: &ResultsOptions) -> Result<bool, String> {
    let program = match &options.program {
        Some(path) => std::path::absolute(path).map_err(|why| format!("{}: {why}", path.display()))?,
        None => cargo::build_debug_program()?,
    };
    let start = Instant::now();
    let results_folder = crate::target().join("xtask/results");
    let plan = Plan::new(&program, shared_folder().as_deref())?;
    let runs: Vec<_> = plan.runs.into_iter().filter(|run| run.is_wanted(&options.rows)).collect();
    if runs.is_empty() {
        return Err(format!("no row begins with {}", options.rows.join(" or ")));
    }
    crate::empty_folder("results").map_err(|why| format!("{}: {why}", results_folder.display()))?;
    println!(
        "{} runs, {} of studies first",
        runs.len(),
        runs.iter().filter(|run| run.hashed_part == HashedPart::Study).count()
    );
    let (mut rows, faults) = pool::run_all(&program, &runs, &results_folder);
    faults.iter().for_each(|fault| eprintln!("failed: {fault}"));
    rows.retain(|row| options.rows.is_empty() || options.rows.iter().any(|start| row.name.starts_with(start.as_str())));
    rows.sort_unstable();
    println!("{} rows of {} runs in {:.0} s", rows.len(), runs.len(), start.elapsed().as_secs_f64());
    if plan.lacks_shared {
        println!("no shared files: rows below `{SHARED}` are neither run nor compared (set SEEKWISE_SHARED)");
    }
    if options.write && !faults.is_empty() {
        return Err(format!("{TABLE} stays as it is: {} runs failed", faults.len()));
    }
    if options.write {
        return write_table(&rows, plan.lacks_shared).map(|()| true);
    }
    let expected = read_committed_rows()?.into_iter().filter(|row| {
        let is_run = options.rows.is_empty() || options.rows.iter().any(|start| row.name.starts_with(start.as_str()));
        is_run && !(plan.lacks_shared && row.name.starts_with(SHARED))
    });
    Ok(print_changes(&table::changed_rows(&expected.collect::<Vec<_>>(), &rows), &results_folder) && faults.is_empty())
}

/// Prints the changes; returns whether there are none.
fn print_changes(changes: &[(String, Change)], results_folder: &Path) -> bool {
    for (name, change) in changes {
        println!("{:9} {name}", change.label());
    }
    let Some((first, _)) = changes.iter().find(|(_, change)| *change != Change::Missing).or(changes.first()) else {
        println!("all equal to {TABLE}");
        return true;
    };
    println!(
        "\n{} of them differ from {TABLE}. One by itself: cargo xtask results '{first}'\nIts figures and its command are in \
         {}; build the former commit, keep its folder, and `diff -r` the two.\nIf the change is meant, say so in its commit, \
         and renew the table: cargo xtask results --write",
        changes.len(),
        results_folder.display()
    );
    false
}

fn read_committed_rows() -> Result<Vec<Row>, String> {
    let text = std::fs::read_to_string(crate::root().join(TABLE)).map_err(|why| format!("{TABLE}: {why}"))?;
    table::parse(&text).map_err(|why| format!("{TABLE}: {why}"))
}

/// Renews the table. Without the shared files, the rows that need them stay as they are.
fn write_table(rows: &[Row], lacks_shared: bool) -> Result<(), String> {
    let mut all = rows.to_vec();
    if lacks_shared {
        all.extend(read_committed_rows()?.into_iter().filter(|row| row.name.starts_with(SHARED)));
        all.sort_unstable();
    }
    std::fs::write(crate::root().join(TABLE), table::render(&all)).map_err(|why| format!("{TABLE}: {why}"))?;
    println!("Rewritten: {TABLE}. See what changed before committing it.");
    Ok(())
}

/// The folder of other people's files, if it exists.
fn shared_folder() -> Option<PathBuf> {
    let named = std::env::var_os("SEEKWISE_SHARED").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| crate::root().join("../shared"));
    folder.join("wild").is_dir().then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_rows_are_told_apart() {
        let all = parse_options(&["--program", "p", "study/a", "claim"]).unwrap();
        assert_eq!((all.program, all.rows.len(), all.write), (Some("p".into()), 2, false));
        assert!(parse_options(&["--write"]).unwrap().write);
        for wrong in [&["--write", "study/a"][..], &["--wrote"], &["--program"]] {
            assert!(parse_options(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn only_a_table_without_changes_is_equal() {
        assert!(print_changes(&[], Path::new("kept")));
        for change in [Change::Differs, Change::Missing, Change::New] {
            assert!(!print_changes(&[("row".to_owned(), change)], Path::new("kept")), "{change:?}");
        }
    }
}
