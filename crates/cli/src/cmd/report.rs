//! `seekwise report`: makes a result folder's report again from what the folder keeps, and from nothing else.

use seekwise_formats::study::parse;

use super::study::{Said, finish};
use super::warn;
use crate::args;
use crate::exit::Outcome;
use crate::results;

/// Runs the command.
pub fn report(args: &args::Report, json: bool) -> Outcome {
    let kept = results::kept(&args.folder)?;
    let mut study = parse(&args.folder.join("study.toml").display().to_string(), &kept.study)?;
    seekwise_lab::study::judge(&mut study, &kept.made);
    let records = results::records(&args.folder, &kept.made)?;
    warn(&kept.made.warnings);
    let said = Said { json, strict: args.strict, columns: &args.columns.names };
    finish(&study, &kept.made, &records, &args.folder, said)
}
