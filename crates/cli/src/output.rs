//! Text for a terminal, and notes on standard error, which may be closed or full: a note is not the answer, so its loss
//! ends nothing.

use std::fmt::Display;
use std::io::{self, Write};

use seekwise::answer::is_text;

/// Escapes characters that are not text: names come from files of others.
pub fn to_printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_text(c) || c == '\n' {
            true => shown.push(c),
            false => shown.extend(c.escape_unicode()),
        }
    }
    shown
}

/// A cell of CSV: in quotes, and never one that a spreadsheet takes for a formula.
pub fn csv_cell(text: &str) -> String {
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    format!("\"{guard}{}\"", to_printable(text).replace('\n', " ").replace('"', "\"\""))
}

/// Prints a line to standard error, if anybody listens.
pub fn print_to_stderr(line: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{}", to_printable(&line.to_string()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_shown_and_no_cell_is_a_formula() {
        assert_eq!(to_printable("a\x1b[31mb\n\u{202e}c"), "a\\u{1b}[31mb\n\\u{202e}c");
        assert_eq!(csv_cell("=1+\"2\"\n3"), "\"'=1+\"\"2\"\" 3\"");
        assert_eq!(csv_cell("-x"), "\"'-x\"");
        assert_eq!(csv_cell("a-b"), "\"a-b\"");
    }
}
