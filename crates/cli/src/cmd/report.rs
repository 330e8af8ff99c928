//! `seekwise report`: makes a result folder's report again from what the folder keeps, and from nothing else. A folder in an object
//! store is copied to here by the Python module, and its page copied back.

use std::path::{Path, PathBuf};

use seekwise::Files;
use seekwise::outputs::create_scratch;
use seekwise::pictures::{Forest, draw_forest};
use seekwise::results::{self, ReviewManifest};
use seekwise::study::remake_study_page;
use seekwise::study::review::remake_review_pages;
use serde_json::json;

use super::python_module;
use super::study::{StudyOutput, print_result, review};
use crate::args;
use crate::exit::{CommandAnswer, CommandError, CommandResult};

/// File name of a folder's page.
const PAGE: &str = "report.html";

/// Runs the command.
pub fn run_command(args: &args::ReportArgs, files: &Files, json: bool) -> CommandResult {
    let kept = input_files(&args.folder);
    args.pictures.check_paths(args.force, &kept.iter().map(String::as_str).collect::<Vec<_>>())?;
    match args.folder.to_str().filter(|name| name.contains("://") && !args.folder.exists()) {
        Some(url) => report_elsewhere(args, files, url, json),
        None => report_in(args, files, &args.folder, json),
    }
}

/// Files from which a report is made: all of its folder but the page.
fn input_files(folder: &Path) -> Vec<String> {
    let paths = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    paths.filter(|path| !path.ends_with(PAGE)).map(|path| path.display().to_string()).collect()
}

/// Makes the report of a folder in an object store: the module copies it here, and the page back.
fn report_elsewhere(args: &args::ReportArgs, files: &Files, url: &str, json: bool) -> CommandResult {
    let folder = create_scratch(&std::env::temp_dir(), "seekwise-")
        .map_err(|error| CommandError::new(format!("report: {error}")))?;
    let copied = |way: &str| {
        let words = json!({"url": url, "folder": folder.path(), "copy": way});
        python_module::run_module_command("report", words, "a copied folder needs no module")
    };
    let fetched = copied("fetch")?;
    if fetched != CommandAnswer::Done {
        return Ok(fetched);
    }
    let answer = report_in(args, files, folder.path(), json)?;
    copied("keep").map(|kept| if kept == CommandAnswer::Done { answer } else { kept })
}

/// Makes the report of the folder `from`, which the user knows by another name if it is a copy.
fn report_in(args: &args::ReportArgs, files: &Files, from: &Path, json: bool) -> CommandResult {
    let said = StudyOutput { json, strict: args.strict, columns: &args.columns.names, all: true };
    let folder = args.folder.display();
    if results::is_result_folder(from)
        && let Some(ReviewManifest { text, made }) = results::read_review_manifest(files, from)?
    {
        if args.pictures.are_requested() {
            let why = "a review has an answer a part; expected the folder of a part";
            return Err(CommandError::new(format!("{folder}: {why}")));
        }
        return review::print_result(&remake_review_pages(files, from, &text, &made)?, said);
    }
    let mut studied = remake_study_page(files, from)?;
    if args.pictures.are_requested() {
        let drawn = Forest::from_evidence(&studied.evidence());
        let drawn = drawn
            .ok_or_else(|| CommandError::new(format!("{folder}: nothing is compared in it: there is no picture")))?;
        args.pictures.write(args.force, || draw_forest(&drawn))?;
    }
    if from != args.folder {
        studied.page = Some(PathBuf::from(format!("{folder}/{PAGE}")));
    }
    print_result(&studied, &args.folder, said)
}
