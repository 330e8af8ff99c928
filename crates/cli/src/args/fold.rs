//! Parses the command line with help texts folded to the width of the terminal. clap folds the texts of options itself; the text
//! after the options (examples and notes) is folded here. Manual pages take that text as it is written.

use std::ffi::OsString;
use std::iter::once;

use clap::builder::StyledStr;
use clap::{Command, CommandFactory, FromArgMatches};

use super::Cli;
use crate::screen;

/// Parses the command line; its first word is the program's name.
pub fn parse_command_line(words: &[OsString]) -> Result<Cli, clap::Error> {
    let mut command = fold_help(Cli::command(), screen::help_width());
    let mut matches = command.try_get_matches_from_mut(words)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Folds the help of a command and its subcommands to `width` columns.
fn fold_help(command: Command, width: usize) -> Command {
    let after_help = command.get_after_help().map(|text| StyledStr::from(fold_paragraphs(&text.to_string(), width)));
    let mut command = command.term_width(width);
    if let Some(text) = after_help {
        command = command.after_help(text);
    }
    let names: Vec<String> = command.get_subcommands().map(|subcommand| subcommand.get_name().to_owned()).collect();
    for name in names {
        command = command.mut_subcommand(name, |subcommand| fold_help(subcommand, width));
    }
    command
}

/// Joins the lines of each paragraph and folds them to at most `width` columns. A line that ends in a colon stays by itself.
/// Indented lines are commands: each stays by itself, and is continued after a backslash, as in a shell.
fn fold_paragraphs(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut paragraph: Vec<&str> = Vec::new();
    for line in text.lines().chain(once("")) {
        let stays_alone = line.is_empty() || line.starts_with(' ') || line.ends_with(':');
        if !stays_alone {
            paragraph.push(line);
            continue;
        }
        if !paragraph.is_empty() {
            lines.extend(screen::wrap_line(&paragraph.join(" "), width, 0));
            paragraph.clear();
        }
        lines.extend(match line.starts_with(' ') {
            true => fold_shell_command(line, width),
            false => vec![line.to_owned()],
        });
    }
    lines.join("\n").trim_end().to_owned()
}

/// Folds a command into lines with backslashes, which a shell joins again.
fn fold_shell_command(line: &str, width: usize) -> Vec<String> {
    const CONTINUATION: &str = " \\";
    if screen::text_columns(line) <= width {
        return vec![line.to_owned()];
    }
    let mut lines = screen::wrap_line(line, width.saturating_sub(CONTINUATION.len()), 4);
    let last = lines.len() - 1;
    lines[..last].iter_mut().for_each(|line| line.push_str(CONTINUATION));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_folded_and_commands_continued() {
        let text = "Examples:\n  seekwise run job --on drive --set key=value\n\nWords that run\non and on.\n\nEnd.";
        assert_eq!(
            fold_paragraphs(text, 24),
            "Examples:\n  seekwise run job \\\n      --on drive --set \\\n      key=value\n\nWords that run on and\non.\n\nEnd."
        );
        assert_eq!(fold_paragraphs(text, 200), text.replace("run\non", "run on"));
    }
}
