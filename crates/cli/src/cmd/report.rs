//! `seekwise report`: makes a result folder's report again from what the folder keeps, and from nothing else.

use seekwise_formats::study::parse;

use super::study::{Said, finish, review};
use super::warn;
use crate::args;
use crate::exit::Outcome;
use crate::results::{self, KeptReview};

/// Runs the command.
pub fn report(args: &args::Report, json: bool) -> Outcome {
    let said = Said { json, strict: args.strict, columns: &args.columns.names, all: true };
    if results::says(&args.folder)
        && let Some(KeptReview { text, made }) = results::kept_review(&args.folder)?
    {
        return review::report_again(&args.folder, &text, &made, said);
    }
    let kept = results::kept(&args.folder)?;
    let mut study = parse(&args.folder.join("study.toml").display().to_string(), &kept.study)?;
    seekwise_lab::study::judge(&mut study, &kept.made);
    let records = results::records(&args.folder, &kept)?;
    warn(&kept.made.warnings);
    finish(&study, &kept.made, &records, &args.folder, said)
}
