//! `seekwise report`: makes a result folder's report again from what the folder keeps, and from nothing else.

use seekwise_formats::study::parse;
use seekwise_lab::finding::Evidence;
use seekwise_lab::plot::forest::{self, Forest};

use super::study::{Said, finish, review};
use super::warn;
use crate::args;
use crate::exit::{Failure, Outcome};
use crate::results::{self, KeptReview};

/// Runs the command.
pub fn report(args: &args::Report, json: bool) -> Outcome {
    args.pictures.admit(args.force)?;
    let said = Said { json, strict: args.strict, columns: &args.columns.names, all: true };
    if results::says(&args.folder)
        && let Some(KeptReview { text, made }) = results::kept_review(&args.folder)?
    {
        if args.pictures.any() {
            let folder = args.folder.display();
            return Err(Failure::new(format!(
                "{folder}: a review has an answer a part; expected the folder of a part"
            )));
        }
        return review::report_again(&args.folder, &text, &made, said);
    }
    let kept = results::kept(&args.folder)?;
    let mut study = parse(&args.folder.join("study.toml").display().to_string(), &kept.study)?;
    seekwise_lab::study::judge(&mut study, &kept.made);
    let records = results::records(&args.folder, &kept)?;
    warn(&kept.made.warnings);
    if args.pictures.any() {
        let drawn = Forest::of(&Evidence::new(&study, &kept.made, &records));
        let folder = args.folder.display();
        let drawn =
            drawn.ok_or_else(|| Failure::new(format!("{folder}: nothing is compared in it: there is no picture")))?;
        args.pictures.write(|| forest::svg(&drawn))?;
    }
    finish(&study, &kept.made, &records, &args.folder, said)
}
