//! `cargo xtask results`: runs what must come out the same after every change of the house, and compares hashes of it with
//! `validation/results.txt`. It says which rows differ, which are missing and which are new. `--write` renews the table; names of
//! rows, or their beginnings, run these alone.
//!
//! A row is a hash of figures: prose, paths and versions are left out (`results/figures.rs`). Runs are shortened, so a row
//! is no published result. Commands whose figures are of the wall clock (`serve`, `crash`, `flush-audit`, `bench`) have no row.

mod figures;
mod plan;
mod pool;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use self::plan::{Plan, SHARED, Take};
use self::table::{Change, Row};
use crate::cargo;

/// The committed table.
const TABLE: &str = "validation/results.txt";

/// What the command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    write: bool,
    program: Option<PathBuf>,
    rows: Vec<String>,
}

/// Runs the command: 0 if all rows are equal, 1 if one is not, 2 if it could not run.
pub fn results(options: &[&str]) -> ExitCode {
    match asked(options).and_then(|asked| run(&asked)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn asked(options: &[&str]) -> Result<Asked, String> {
    let mut asked = Asked::default();
    let mut options = options.iter();
    while let Some(&option) = options.next() {
        match option {
            "--write" => asked.write = true,
            "--program" => asked.program = Some(options.next().ok_or("--program needs a path")?.into()),
            option if option.starts_with('-') => {
                return Err(format!("{option}: expected --write, --program PATH or names of rows"));
            }
            row => asked.rows.push(row.to_owned()),
        }
    }
    if asked.write && !asked.rows.is_empty() {
        return Err("--write renews the whole table, and takes no rows".to_owned());
    }
    Ok(asked)
}

fn run(asked: &Asked) -> Result<bool, String> {
    let program = match &asked.program {
        Some(path) => std::path::absolute(path).map_err(|why| format!("{}: {why}", path.display()))?,
        None => cargo::program()?,
    };
    let begun = Instant::now();
    let kept = crate::target().join("xtask/results");
    let plan = Plan::new(&program, shared().as_deref())?;
    let pieces: Vec<_> = plan.pieces.into_iter().filter(|piece| piece.is_wanted(&asked.rows)).collect();
    if pieces.is_empty() {
        return Err(format!("no row begins with {}", asked.rows.join(" or ")));
    }
    crate::scratch("results").map_err(|why| format!("{}: {why}", kept.display()))?;
    println!(
        "{} runs, {} of studies first",
        pieces.len(),
        pieces.iter().filter(|piece| piece.take == Take::Study).count()
    );
    let (mut rows, faults) = pool::run(&program, &pieces, &kept);
    faults.iter().for_each(|fault| eprintln!("failed: {fault}"));
    rows.retain(|row| asked.rows.is_empty() || asked.rows.iter().any(|named| row.name.starts_with(named.as_str())));
    rows.sort_unstable();
    println!("{} rows of {} runs in {:.0} s", rows.len(), pieces.len(), begun.elapsed().as_secs_f64());
    if plan.lacks_shared {
        println!("no shared files: rows below `{SHARED}` are neither run nor compared (set SEEKWISE_SHARED)");
    }
    if asked.write && !faults.is_empty() {
        return Err(format!("{TABLE} stays as it is: {} runs failed", faults.len()));
    }
    if asked.write {
        return write(&rows, plan.lacks_shared).map(|()| true);
    }
    let expected = committed()?.into_iter().filter(|row| {
        let run = asked.rows.is_empty() || asked.rows.iter().any(|named| row.name.starts_with(named.as_str()));
        run && !(plan.lacks_shared && row.name.starts_with(SHARED))
    });
    Ok(tell(&table::changes(&expected.collect::<Vec<_>>(), &rows), &kept) && faults.is_empty())
}

/// Prints what changed; true if nothing did.
fn tell(changes: &[(String, Change)], kept: &Path) -> bool {
    for (name, change) in changes {
        println!("{:9} {name}", change.word());
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
        kept.display()
    );
    false
}

fn committed() -> Result<Vec<Row>, String> {
    let text = std::fs::read_to_string(crate::root().join(TABLE)).map_err(|why| format!("{TABLE}: {why}"))?;
    table::parse(&text).map_err(|why| format!("{TABLE}: {why}"))
}

/// Renews the table; rows that need shared files stay as they are where these lack.
fn write(rows: &[Row], lacks_shared: bool) -> Result<(), String> {
    let mut rows = rows.to_vec();
    if lacks_shared {
        rows.extend(committed()?.into_iter().filter(|row| row.name.starts_with(SHARED)));
        rows.sort_unstable();
    }
    std::fs::write(crate::root().join(TABLE), table::text(&rows)).map_err(|why| format!("{TABLE}: {why}"))?;
    println!("Rewritten: {TABLE}. See what changed before committing it.");
    Ok(())
}

/// Other people's files, if they are here.
fn shared() -> Option<PathBuf> {
    let named = std::env::var_os("SEEKWISE_SHARED").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| crate::root().join("../shared"));
    folder.join("wild").is_dir().then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_rows_are_told_apart() {
        let all = asked(&["--program", "p", "study/a", "claim"]).unwrap();
        assert_eq!((all.program, all.rows.len(), all.write), (Some("p".into()), 2, false));
        assert!(asked(&["--write"]).unwrap().write);
        for wrong in [&["--write", "study/a"][..], &["--wrote"], &["--program"]] {
            assert!(asked(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn only_a_table_without_changes_is_equal() {
        assert!(tell(&[], Path::new("kept")));
        for change in [Change::Differs, Change::Missing, Change::New] {
            assert!(!tell(&[("row".to_owned(), change)], Path::new("kept")), "{change:?}");
        }
    }
}
