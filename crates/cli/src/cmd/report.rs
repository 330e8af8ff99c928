//! `seekwise report`: makes a result folder's report again from its study and its records.

use super::study::{finish, plan_file};
use crate::args;
use crate::exit::Outcome;
use crate::files;
use crate::results::read_lines;

/// Runs the command.
pub fn report(args: &args::Report, json: bool) -> Outcome {
    let study = args.folder.join("study.toml");
    let planned = plan_file(&study.display().to_string(), files::read(&study.display().to_string())?)?;
    let records = read_lines(&args.folder.join("results.jsonl"))?;
    finish(&planned, &records, &args.folder, json)
}
