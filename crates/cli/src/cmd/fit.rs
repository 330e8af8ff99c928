//! `seekwise fit`: fits the inferred parameters of a drive to measurements, writes the profile, and prints what changed.

mod text;

use std::ffi::OsString;

use seekwise::fit::Fit;
use seekwise::{Files, Observer};

use super::{print_json, print_text};
use crate::args;
use crate::exit::{CommandAnswer, CommandResult};
use crate::output::print_to_stderr;
use crate::progress::ProgressObserver;

/// Runs the command.
pub fn run_command(args: &args::FitArgs, files: Files, words: &[OsString], json: bool) -> CommandResult {
    let mut fit = Fit::new(args.data.clone(), &args.drive, &args.out);
    (fit.hold, fit.only, fit.page) = (args.hold, args.only.clone(), args.page.clone());
    (fit.generations, fit.points, fit.time) = (args.generations, args.points, Some(args.time.nanos as f64 / 1e9));
    (fit.resume, fit.force, fit.files) = (args.resume, args.force, files);
    let mut journal_path = args.out.clone().into_os_string();
    journal_path.push(".journal");
    let progress = ProgressObserver::keeping_points(journal_path.as_ref(), resume_command(words));
    let report = seekwise::fit::fit(&fit, &progress)?;
    let stopped = progress.is_enough();
    drop(progress);
    if json {
        print_json(&report)?;
    } else {
        print_text(&text::format_report(&args.out, &report))?;
    }
    if report.ending.is_some() {
        print_to_stderr(format!("To continue:\n{}", resume_command(words)));
    }
    Ok(if stopped { CommandAnswer::Stopped } else { CommandAnswer::Done })
}

/// The command that continues the fit.
fn resume_command(words: &[OsString]) -> String {
    let has_resume = words.iter().any(|word| word == "--resume");
    let mut command: Vec<String> =
        words.iter().map(|word| seekwise::shell::quote_for_shell(&word.to_string_lossy())).collect();
    if !has_resume {
        command.push("--resume".to_owned());
    }
    command.join(" ")
}
