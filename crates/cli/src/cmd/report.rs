//! `seekwise report`: makes a result folder's report again from what the folder keeps, and from nothing else.

use seekwise::results::{self, KeptReview};
use seekwise::study::again_from;
use seekwise::study::review::again_from_review;

use super::study::{Said, finish, review};
use crate::args;
use crate::exit::Outcome;

/// Runs the command.
pub fn report(args: &args::Report, json: bool) -> Outcome {
    let said = Said { json, strict: args.strict, columns: &args.columns.names, all: true };
    if results::says(&args.folder)
        && let Some(KeptReview { text, made }) = results::kept_review(&args.folder)?
    {
        return review::finish(&again_from_review(&args.folder, &text, &made)?, said);
    }
    finish(&again_from(&args.folder)?, &args.folder, said)
}
