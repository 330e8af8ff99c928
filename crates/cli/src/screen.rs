//! The width of the terminal, running text that is wrapped to it (lines break between words only), and bars. Tables are in
//! `tables`.

use std::env;

use terminal_size::{Width, terminal_size_of};
use textwrap::core::display_width;
use textwrap::{Options, WordSeparator, WordSplitter};

/// Columns where there is no terminal and `COLUMNS` does not say.
const WIDTH_WITHOUT_TERMINAL: usize = 120;

/// Columns of help where there is no terminal and `COLUMNS` does not say: those of an old terminal, as in other programs.
const HELP_WIDTH_WITHOUT_TERMINAL: usize = 80;

/// The most columns of running text: on longer lines the eye loses the beginning of the next one.
const MOST_READABLE_WIDTH: usize = 120;

/// Columns of standard output: `COLUMNS` where it is a number above zero, else the terminal's, else 120.
pub fn output_width() -> usize {
    known_columns(terminal_size_of(std::io::stdout())).unwrap_or(WIDTH_WITHOUT_TERMINAL)
}

/// Columns of `--help`: those of [`output_width`], but 80 instead of 120 without a terminal, and 120 at most.
pub fn help_width() -> usize {
    known_columns(terminal_size_of(std::io::stdout())).unwrap_or(HELP_WIDTH_WITHOUT_TERMINAL).min(MOST_READABLE_WIDTH)
}

/// Wraps `text` for standard error; without a terminal and `COLUMNS` its lines stay whole, for programs that read a
/// log.
pub fn wrap_for_stderr(text: &str) -> String {
    known_columns(terminal_size_of(std::io::stderr())).map_or_else(|| text.to_owned(), |width| wrap_text(text, width))
}

/// The width that `COLUMNS` says, or else that of the terminal.
fn known_columns<H>(terminal: Option<(Width, H)>) -> Option<usize> {
    let from_variable =
        env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok()).filter(|&columns| columns > 0);
    from_variable.or_else(|| terminal.map(|(Width(width), _)| usize::from(width)).filter(|&columns| columns > 0))
}

/// A width at which [`wrap_text`] wraps nothing: for a page, whose browser does.
pub const UNWRAPPED: usize = usize::MAX;

/// Wraps running text to at most `width` columns. Continuation lines are indented by two columns. A word that is wider
/// than `width` stays whole. Spaces that do not break (U+00A0) become common ones.
pub fn wrap_text(text: &str, width: usize) -> String {
    if width == UNWRAPPED {
        return text.replace('\u{a0}', " ");
    }
    text.lines().flat_map(|line| wrap_line(line, width.min(MOST_READABLE_WIDTH), 2)).collect::<Vec<_>>().join("\n")
}

/// Wraps a line to at most `width` columns; continuation lines are indented by `extra_indent` columns more than the first.
pub fn wrap_line(line: &str, width: usize, extra_indent: usize) -> Vec<String> {
    // A figure stays with its interval, and with its percent.
    let line = line.replace(" ± ", "\u{a0}±\u{a0}").replace(" %", "\u{a0}%");
    let words = line.trim_start_matches(' ');
    let indent = &line[..line.len() - words.len()];
    let next_indent = " ".repeat(indent.len() + extra_indent);
    let options = Options::new(width)
        .initial_indent(indent)
        .subsequent_indent(&next_indent)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit);
    textwrap::wrap(words, options).iter().map(|line| line.trim_end().replace('\u{a0}', " ")).collect()
}

/// Columns that `text` takes: those of its widest line.
pub fn text_columns(text: &str) -> usize {
    text.lines().map(display_width).max().unwrap_or(0)
}

/// Draws a bar for `share` of the whole on `columns` columns.
pub fn draw_bar(share: f64, columns: usize) -> String {
    "█".repeat((columns as f64 * share).round() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_breaks_between_words_only() {
        let text = "  a claim about drive.cache.write_back=true and 10.0 ± 0.5 requests/s\nshort";
        let lines = "  a claim about\n    drive.cache.write_back=true\n    and\n    10.0 ± 0.5\n    requests/s\nshort";
        assert_eq!(wrap_text(text, 16), lines);
        assert_eq!(wrap_text(text, 200), text);
        assert_eq!(wrap_text("a\u{a0}b c", 3), "a b\n  c");
        assert_eq!(text_columns("ä—█\n12345"), 5);
    }

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        assert_eq!([draw_bar(0.0, 40), draw_bar(0.5, 8), draw_bar(1.0, 2)], ["", "████", "██"]);
    }
}
