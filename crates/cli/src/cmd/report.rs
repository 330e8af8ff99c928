//! `seekwise report`: makes a result folder's report again from what the folder keeps, and from nothing else.

use seekwise::results::{self, ReviewManifest};
use seekwise::study::again_from;
use seekwise::study::review::again_from_review;
use seekwise_lab::forest::{self, Forest};

use super::study::{StudyOutput, finish, review};
use crate::args;
use crate::exit::{CommandError, CommandResult};

/// Runs the command.
pub fn report(args: &args::ReportArgs, json: bool) -> CommandResult {
    args.pictures.admit(args.force)?;
    let said = StudyOutput { json, strict: args.strict, columns: &args.columns.names, all: true };
    let folder = args.folder.display();
    if results::says(&args.folder)
        && let Some(ReviewManifest { text, made }) = results::kept_review(&args.folder)?
    {
        if args.pictures.any() {
            let why = "a review has an answer a part; expected the folder of a part";
            return Err(CommandError::new(format!("{folder}: {why}")));
        }
        return review::finish(&again_from_review(&args.folder, &text, &made)?, said);
    }
    let studied = again_from(&args.folder)?;
    if args.pictures.any() {
        let drawn = Forest::of(&studied.evidence());
        let drawn = drawn
            .ok_or_else(|| CommandError::new(format!("{folder}: nothing is compared in it: there is no picture")))?;
        args.pictures.write(|| forest::svg(&drawn))?;
    }
    finish(&studied, &args.folder, said)
}
