//! A study with its plan, and results opened for it: planned from today's files, or from what a result folder keeps.

use std::path::Path;

use seekwise_formats::diagnostic::Diagnostic;
use seekwise_formats::study::{Study, parse, placed};
use seekwise_lab::inputs::{Inputs, difference};
use seekwise_lab::made::{MadeFrom, Program};
use seekwise_lab::plan::{self, Cell, Prepared};
use seekwise_lab::run::RunRecord;

use crate::exit::Failure;
use crate::files;
use crate::results::{self, Kept, Results};

/// A study with its plan.
pub struct Planned {
    /// Its text, as stored beside its results.
    pub text: String,
    /// The study.
    pub study: Study,
    /// What its cells run.
    pub prepared: Vec<Prepared>,
    /// What makes its results.
    pub made: MadeFrom,
}

/// A plan, results opened for it, and the runs that they hold already.
pub type Opened = (Planned, Results, Vec<RunRecord>);

/// Opens results for what `folder` keeps: in another folder anew, in itself to go on.
pub fn of_folder(folder: &Path, out: &Path, resume: bool) -> Result<Opened, Failure> {
    let kept = results::kept(folder)?;
    if resume && same_place(folder, out) {
        return go_on(folder, kept);
    }
    if resume && results::holds(out) {
        return Err(Failure::new("--resume with a result folder goes on in that folder: --out must name it too"));
    }
    let (before, planned) = (kept.made.clone(), plan_kept(folder, kept)?);
    let hashes = |made: &MadeFrom| made.cells.iter().map(|cell| cell.hash.clone()).collect::<Vec<_>>();
    if before.program != planned.made.program {
        let than = if hashes(&before) == hashes(&planned.made) { "" } else { ", which sets its cells otherwise" };
        eprintln!("warning: made by {}; this is {}{than}", before.program, planned.made.program);
    }
    let results = Results::begin(out, &planned.text, &planned.made)?;
    Ok((planned, results, Vec::new()))
}

fn same_place(a: &Path, b: &Path) -> bool {
    a == b || a.canonicalize().ok().zip(b.canonicalize().ok()).is_some_and(|(a, b)| a == b)
}

/// Opens `folder` for the results of the study `text`: with `resume`, on from what it holds, which must have been made
/// of the same; else for what `plan` makes.
pub fn open(
    name: &str,
    text: &str,
    folder: &Path,
    resume: bool,
    plan: impl FnOnce() -> Result<Planned, Failure>,
) -> Result<Opened, Failure> {
    if !(resume && results::holds(folder)) {
        let planned = plan()?;
        let results = Results::begin(folder, &planned.text, &planned.made)?;
        return Ok((planned, results, Vec::new()));
    }
    let kept = results::kept(folder)?;
    let changed = |what: &str, lines: &str| {
        let head = format!("{}: cannot go on, for {what}; use another --out", folder.display());
        Err(Failure::new(format!("{head}\n{lines}")))
    };
    if kept.study != text {
        return changed("it holds the results of another study", &difference(name, &kept.study, text));
    }
    let changes = kept.made.inputs.changes(&files::text);
    if !changes.differ.is_empty() {
        return changed("what made its results has changed since", &changes.differ.join("\n"));
    }
    for gone in changes.gone {
        eprintln!("note: {gone}; going on with the text kept in {}", folder.display());
    }
    go_on(folder, kept)
}

/// Goes on with what `folder` holds, from what it keeps.
fn go_on(folder: &Path, kept: Kept) -> Result<Opened, Failure> {
    let made = kept.made.clone();
    if made.program != Program::this() {
        let (before, this) = (&made.program, Program::this());
        let why = format!("its results were made by {before}, and this is {this}");
        return Err(Failure::new(format!("{}: cannot go on, for {why}; use another --out", folder.display())));
    }
    let planned = plan_kept(folder, kept)?;
    if planned.made != made {
        return Err(Failure::new(format!("{}: its made-from.json does not fit what it keeps", folder.display())));
    }
    let (results, done) = Results::go_on(folder, &made)?;
    Ok((planned, results, done))
}

/// Prepares what `folder` keeps, from the texts that it keeps.
fn plan_kept(folder: &Path, Kept { study: text, made }: Kept) -> Result<Planned, Failure> {
    let name = folder.join("study.toml").display().to_string();
    let study = parse(&name, &text)?;
    let cells = made.cells.into_iter().map(|made| made.cell).collect();
    let mut planned = prepare(&name, text, study, cells, &Inputs::kept(made.inputs))?;
    planned.made.seeds = made.seeds;
    Ok(planned)
}

/// Reads and prepares a study's file as it is now; faults name its lines.
pub fn plan_file(name: &str, text: &str) -> Result<Planned, Failure> {
    let placed = |fault| placed(name, text, fault);
    plan(name, text.to_owned()).map_err(|faults| faults.into_iter().map(placed).collect::<Vec<_>>().into())
}

/// Reads and prepares a study as it is now.
pub fn plan(name: &str, text: String) -> Result<Planned, Vec<Diagnostic>> {
    let study = parse(name, &text)?;
    let cells = plan::cells(&study);
    prepare(name, text, study, cells, &Inputs::today(&files::text))
}

/// Prepares these cells of a study.
pub fn prepare(
    name: &str,
    text: String,
    study: Study,
    cells: Vec<Cell>,
    inputs: &Inputs<'_>,
) -> Result<Planned, Vec<Diagnostic>> {
    let prepared = cells.iter().map(|cell| plan::prepare(name, cell, inputs)).collect::<Result<Vec<_>, _>>()?;
    let made = MadeFrom::new(&text, &study, &cells, &prepared, inputs.taken());
    Ok(Planned { text, study, prepared, made })
}
