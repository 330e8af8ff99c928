//! How a command ends: done (0), answered "no" (1), could not run (2), stopped by a signal (130), or as the command that it ran.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::output::say;
use crate::screen::talk;
use seekwise_formats::diagnostic::Diagnostic;

/// The exit code of a program that was stopped: 128 and the number of SIGINT, as shells have it.
pub const STOPPED: u8 = 130;

/// The exit code of a command that could not run.
pub const FAILED: u8 = 2;

/// What a command that ran has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandAnswer {
    /// Done, or answered "yes".
    Done,
    /// A claim, a check or a comparison said "no".
    No,
    /// A signal ended it, with what there was until then.
    Stopped,
    /// The exit code of a command that it ran.
    HandedOn(u8),
}

/// Why a command could not run: the lines to print.
#[derive(Debug)]
pub struct CommandError(pub Vec<String>);

impl CommandError {
    /// One line.
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

impl From<seekwise_run::outcome::RunError> for CommandError {
    fn from(error: seekwise_run::outcome::RunError) -> CommandError {
        CommandError::new(error)
    }
}

/// What a command comes to.
pub type CommandResult = Result<CommandAnswer, CommandError>;

/// The exit code of an outcome; failures are printed to standard error.
pub fn code(outcome: CommandResult) -> u8 {
    match outcome {
        Ok(CommandAnswer::Done) => 0,
        Ok(CommandAnswer::No) => 1,
        Ok(CommandAnswer::Stopped) => STOPPED,
        Ok(CommandAnswer::HandedOn(code)) => code,
        Err(CommandError(lines)) => {
            for line in lines {
                say(talk(&format!("error: {line}")));
            }
            FAILED
        }
    }
}

/// The exit code where the arguments are no command: help and versions are printed, too.
pub fn of_arguments(error: &clap::Error, words: &[OsString]) -> u8 {
    if error.kind() == ErrorKind::InvalidUtf8 {
        let wrong = words.iter().find(|word| word.to_str().is_none()).cloned().unwrap_or_default();
        return code(Err(CommandError::new(format!("{}: not valid UTF-8", wrong.display()))));
    }
    let printed = error.print();
    for tip in tips(error) {
        say(talk(&format!("tip: {tip}")));
    }
    match printed {
        Err(why) if why.kind() != std::io::ErrorKind::BrokenPipe => {
            code(Err(CommandError::new(format!("standard output: {why}"))))
        }
        _ => error.exit_code() as u8,
    }
}

/// Where missing arguments are to be had, for those who do not know yet.
const TIPS: [(&str, &str); 6] = [
    ("--on ", "--on takes a drive that `seekwise drives` lists, or a file of your own (`seekwise init stack`)"),
    ("<JOB>", "JOB may be a pattern that `seekwise patterns` lists, or a fio job file"),
    ("--vary ", "--vary takes a key that `seekwise keys` lists; drive=A,B compares two drives"),
    ("--workload ", "--recipe NAME has both; `seekwise crash --recipes` lists the recipes"),
    ("--control ", "`seekwise serve` prints the path for --control"),
    ("<STUDY>", "`seekwise studies` lists the built-in studies; `seekwise init study` writes one"),
];

/// Tips for the arguments that are missing.
fn tips(error: &clap::Error) -> Vec<&'static str> {
    let missing = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(all)) if error.kind() == ErrorKind::MissingRequiredArgument => all.as_slice(),
        _ => &[],
    };
    TIPS.iter()
        .filter(|(argument, _)| missing.iter().any(|one| one.starts_with(argument)))
        .map(|(_, tip)| *tip)
        .collect()
}
