//! `seekwise report`: makes the report of a result folder again, from the files in the folder only. A folder in an object store is
//! first copied to this machine by the Python module, and the new page is copied back.

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

/// The file name of the report.
const PAGE_NAME: &str = "report.html";

/// Runs the command.
pub fn run_command(args: &args::ReportArgs, files: &Files, json: bool) -> CommandResult {
    let inputs = input_files(&args.folder);
    args.pictures.check_paths(args.force, &inputs.iter().map(String::as_str).collect::<Vec<_>>())?;
    match args.folder.to_str().filter(|name| name.contains("://") && !args.folder.exists()) {
        Some(url) => report_on_store(args, files, url, json),
        None => report_on_folder(args, files, &args.folder, json),
    }
}

/// The files from which a report is made: all in the folder except the report itself.
fn input_files(folder: &Path) -> Vec<String> {
    let paths = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    paths.filter(|path| !path.ends_with(PAGE_NAME)).map(|path| path.display().to_string()).collect()
}

/// Makes the report of a folder in an object store, in a local copy.
fn report_on_store(args: &args::ReportArgs, files: &Files, url: &str, json: bool) -> CommandResult {
    let folder = create_scratch(&std::env::temp_dir(), "seekwise-")
        .map_err(|error| CommandError::new(format!("report: {error}")))?;
    let copy = |direction: &str| {
        let arguments = json!({"url": url, "folder": folder.path(), "copy": direction});
        python_module::run_module_command("report", arguments, "a copied folder needs no module")
    };
    let fetched = copy("fetch")?;
    if fetched != CommandAnswer::Done {
        return Ok(fetched);
    }
    let answer = report_on_folder(args, files, folder.path(), json)?;
    copy("keep").map(|kept| if kept == CommandAnswer::Done { answer } else { kept })
}

/// Makes the report of a local folder. If it is a copy, the output names the folder of the arguments.
fn report_on_folder(args: &args::ReportArgs, files: &Files, local: &Path, json: bool) -> CommandResult {
    let output = StudyOutput { json, strict: args.strict, columns: &args.columns.names, all: true };
    let folder = args.folder.display();
    if results::is_result_folder(local)
        && let Some(ReviewManifest { text, made }) = results::read_review_manifest(files, local)?
    {
        if args.pictures.are_requested() {
            let why = "a review has an answer a part; expected the folder of a part";
            return Err(CommandError::new(format!("{folder}: {why}")));
        }
        return review::print_result(&remake_review_pages(files, local, &text, &made)?, output);
    }
    let mut studied = remake_study_page(files, local)?;
    if args.pictures.are_requested() {
        let forest = Forest::from_evidence(&studied.evidence());
        let forest = forest
            .ok_or_else(|| CommandError::new(format!("{folder}: nothing is compared in it: there is no picture")))?;
        args.pictures.write(args.force, || draw_forest(&forest))?;
    }
    if local != args.folder {
        studied.page = Some(PathBuf::from(format!("{folder}/{PAGE_NAME}")));
    }
    print_result(&studied, &args.folder, output)
}
