//! The end of a command: its exit code (0 done, 1 the answer is "no", 2 it could not run, 130 stopped by a signal, or the code of the
//! command that it ran), its error messages, and tips for wrong arguments.

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use seekwise::drives;
use seekwise::error::{Diagnostic, RunError};
use seekwise::jobs::{built_in_patterns, is_fio_option};
use seekwise::keys::{find_term, is_same, job};
use seekwise::reading::is_result_folder;
use seekwise::study::{BUILT_IN, REVIEWS};

use crate::output::print_to_stderr;
use crate::screen::wrap_for_stderr;

/// The exit code of a program that was stopped: 128 and the number of SIGINT, as shells have it.
pub const STOPPED: u8 = 130;

/// The exit code of a command that could not run.
pub const FAILED: u8 = 2;

/// The answer of a command that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandAnswer {
    /// Done, or answered "yes".
    Done,
    /// A claim, a check or a comparison said "no".
    No,
    /// A signal ended it early, with the results up to then.
    Stopped,
    /// The exit code is that of a command that it ran.
    HandedOn(u8),
}

/// Why a command could not run: the lines to print.
#[derive(Debug)]
pub struct CommandError(pub Vec<String>);

impl CommandError {
    /// An error of one line.
    pub fn new(text: impl ToString) -> CommandError {
        CommandError(vec![text.to_string()])
    }
}

impl From<Vec<Diagnostic>> for CommandError {
    fn from(faults: Vec<Diagnostic>) -> CommandError {
        CommandError(faults.iter().map(ToString::to_string).collect())
    }
}

impl From<Diagnostic> for CommandError {
    fn from(fault: Diagnostic) -> CommandError {
        CommandError::new(fault)
    }
}

impl From<seekwise::Error> for CommandError {
    fn from(error: seekwise::Error) -> CommandError {
        CommandError(error.lines())
    }
}

impl From<seekwise::results::FolderError> for CommandError {
    fn from(error: seekwise::results::FolderError) -> CommandError {
        CommandError::new(error)
    }
}

impl From<RunError> for CommandError {
    fn from(error: RunError) -> CommandError {
        CommandError::new(error)
    }
}

/// The outcome of a command.
pub type CommandResult = Result<CommandAnswer, CommandError>;

/// The exit code of an outcome; failures are printed to standard error.
pub fn exit_code(outcome: CommandResult) -> u8 {
    match outcome {
        Ok(CommandAnswer::Done) => 0,
        Ok(CommandAnswer::No) => 1,
        Ok(CommandAnswer::Stopped) => STOPPED,
        Ok(CommandAnswer::HandedOn(code)) => code,
        Err(CommandError(lines)) => {
            for line in lines {
                print_to_stderr(wrap_for_stderr(&format!("error: {line}")));
            }
            FAILED
        }
    }
}

/// Prints clap's error, help or version; returns the exit code.
pub fn argument_error_code(mut error: clap::Error, words: &[OsString]) -> u8 {
    if error.kind() == ErrorKind::InvalidUtf8 {
        let wrong = words.iter().find(|word| word.to_str().is_none()).cloned().unwrap_or_default();
        return exit_code(Err(CommandError::new(format!("{}: not valid UTF-8", wrong.display()))));
    }
    remove_escape_tip(&mut error);
    let printed = error.print();
    for tip in argument_tips(&error) {
        print_to_stderr(wrap_for_stderr(&format!("tip: {tip}")));
    }
    match printed {
        Err(why) if why.kind() != std::io::ErrorKind::BrokenPipe => {
            exit_code(Err(CommandError::new(format!("standard output: {why}"))))
        }
        _ => error.exit_code() as u8,
    }
}

/// Removes clap's tip to pass an unknown option as a value after `--`: no command takes such values.
fn remove_escape_tip(error: &mut clap::Error) {
    if let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested) {
        tips.retain(|tip| !tip.to_string().contains("as a value"));
        if !tips.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
}

/// The start of a missing argument, and a tip that says where to find its values.
const MISSING_ARGUMENT_TIPS: [(&str, &str); 6] = [
    ("--on ", "--on takes a drive that `seekwise drives` lists, or a file of your own (`seekwise init stack`)"),
    ("<JOB", "JOB may be a pattern that `seekwise patterns` lists, or a fio job file"),
    ("--vary ", "--vary takes a key that `seekwise keys` lists; drive=A,B compares two drives"),
    ("--workload ", "--recipe NAME has both; `seekwise crash --recipes` lists the recipes"),
    ("--control ", "`seekwise serve` prints the path for --control"),
    ("<STUDY>", "`seekwise studies` lists the built-in studies; `seekwise init study` writes one"),
];

/// Tips for arguments that are missing, are fio's, or are given twice, and for an unknown command.
fn argument_tips(error: &clap::Error) -> Vec<String> {
    let arguments: Vec<&str> = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(arguments)) => arguments.iter().map(String::as_str).collect(),
        Some(ContextValue::String(argument)) => vec![argument],
        _ => Vec::new(),
    };
    match error.kind() {
        ErrorKind::MissingRequiredArgument => {
            let missing = |start: &str| arguments.iter().any(|argument| argument.starts_with(start));
            MISSING_ARGUMENT_TIPS.iter().filter(|(start, _)| missing(start)).map(|(_, tip)| (*tip).to_owned()).collect()
        }
        ErrorKind::UnknownArgument => arguments.iter().filter_map(|argument| fio_option_tip(argument)).collect(),
        ErrorKind::ArgumentConflict
            if !arguments.is_empty() && arguments.iter().all(|argument| argument.starts_with("--vary ")) =>
        {
            vec![TWO_FACTORS_TIP.to_owned()]
        }
        ErrorKind::InvalidSubcommand => match error.get(ContextKind::InvalidSubcommand) {
            Some(ContextValue::String(word)) => unknown_command_tip(word).into_iter().collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The tip for two `--vary`.
const TWO_FACTORS_TIP: &str = "`compare` varies one setting; a study varies several: `seekwise init study -o my-study.toml` \
                           writes one, `seekwise study my-study.toml` runs it";

/// Options of fio's command line or of its jobs, and the arguments of this program that do their work.
const FIO_OPTION_ARGUMENTS: [(&str, &str); 9] = [
    ("output", "`--json > FILE` prints to a file, `--out DIR` keeps results and a page"),
    ("output-format", "`--format json`, `--format fio-json` or `--format csv` says how a run is printed"),
    ("minimal", "`--format csv` prints one line"),
    ("filename", "`--on device:/dev/sdX` or `--on file:PATH` says what a job runs on"),
    ("iodepth", "`--set job.depth=N` overrides the depth of any job"),
    ("size", "`--set job.span=SIZE` limits a job to the start of its target"),
    ("ramp_time", "`--set job.ramp=T` overrides the ramp of any job"),
    ("randseed", "`--seed N` is the seed of all random numbers"),
    ("runtime", "`--runtime T` overrides the run time of any job"),
];

/// A tip for an unknown argument that is an option of fio's, or a word of the field.
fn fio_option_tip(argument: &str) -> Option<String> {
    let name = argument.trim_start_matches('-').split('=').next().unwrap_or_default();
    let instead = FIO_OPTION_ARGUMENTS.iter().find(|(option, _)| *option == name).map(|(_, instead)| *instead);
    let of_jobs = "is an option of fio's jobs: write it into a job file, which `seekwise run job.fio --on DRIVE` runs";
    match (is_fio_option(name), instead) {
        (true, None) => Some(format!("`{name}` {of_jobs} (docs/how-to/fio.md)")),
        (true, Some(instead)) => Some(format!("`{name}` {of_jobs}; {instead}")),
        (false, Some(instead)) => Some(format!("`{name}` is an option of fio's command line; here {instead}")),
        (false, None) => field_word_tip(name),
    }
}

/// A tip for an option that is named after a term of the field.
fn field_word_tip(name: &str) -> Option<String> {
    if is_same(name, "metric") {
        let others = "`seekwise run` prints all figures: `--columns p95,max` selects columns, `--json` has all";
        return Some(format!("`seekwise compare … --metric NAME` judges by one figure; {others}"));
    }
    let term = find_term(name)?;
    let set_tip = if term.keys.first() == Some(&job::DEPTH) { "`--set job.depth=N` sets it for any job; " } else { "" };
    Some(format!("{set_tip}`seekwise keys {name}` says what `{name}` is here"))
}

/// A tip for a word that is no command.
fn unknown_command_tip(word: &str) -> Option<String> {
    let is_study = || REVIEWS.iter().chain(BUILT_IN).any(|(name, _)| *name == word);
    let tip = match () {
        () if is_result_folder(Path::new(word)) => format!("`seekwise report {word}` shows the results of a folder"),
        () if Path::new(word).is_file() => {
            format!("`seekwise run {word} --on DRIVE` runs a job, `seekwise study {word}` a study")
        }
        () if is_study() => format!("`seekwise study {word}` runs this study"),
        () if built_in_patterns().iter().any(|pattern| pattern.name == word) => {
            format!("`seekwise run {word} --on DRIVE` runs this pattern")
        }
        () if !drives::matching(word).is_empty() => format!("`seekwise drives {word}` shows the drive"),
        () if find_term(word).is_some() => format!("`seekwise keys {word}` says what it is here"),
        () => return None,
    };
    Some(tip)
}
