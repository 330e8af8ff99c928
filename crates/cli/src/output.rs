//! Text without control characters, for terminals and CSV, and lines on standard error. A line that cannot be written there
//! (closed, or a full disk) is lost without an error, because the answer of a command goes to standard output.

use std::fmt::Display;
use std::io::{self, Write};

use seekwise::answer::is_text;

/// Escapes control characters: names come from files of others, and a terminal would obey them.
pub fn to_printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for c in text.chars() {
        match is_text(c) || c == '\n' {
            true => printable.push(c),
            false => printable.extend(c.escape_unicode()),
        }
    }
    printable
}

/// A cell of CSV: in quotes, and never one that a spreadsheet takes for a formula.
pub fn csv_cell(text: &str) -> String {
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    format!("\"{guard}{}\"", to_printable(text).replace('\n', " ").replace('"', "\"\""))
}

/// Prints a line to standard error; a failure is ignored.
pub fn print_to_stderr(line: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{}", to_printable(&line.to_string()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_no_cell_is_a_formula() {
        assert_eq!(to_printable("a\x1b[31mb\n\u{202e}c"), "a\\u{1b}[31mb\n\\u{202e}c");
        assert_eq!(csv_cell("=1+\"2\"\n3"), "\"'=1+\"\"2\"\" 3\"");
        assert_eq!(csv_cell("-x"), "\"'-x\"");
        assert_eq!(csv_cell("a-b"), "\"a-b\"");
    }
}
