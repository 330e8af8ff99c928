//! Prose in lines that fit the terminal. Tables are `tables`.

use crate::tables;

/// Columns of the terminal, as tables count them.
pub fn width() -> usize {
    tables::table([""]).width().map_or(120, usize::from)
}

/// `text` in lines of at most `width` columns, broken between words, the first `first` columns in and the others `rest`.
pub fn wrapped(text: &str, width: usize, first: usize, rest: usize) -> String {
    let mut lines = vec![" ".repeat(first)];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is a line");
        let used = line.chars().count();
        let is_begun = line.chars().any(|c| c != ' ');
        match is_begun && used + 1 + word.chars().count() > width {
            true => lines.push(format!("{}{word}", " ".repeat(rest))),
            false if is_begun => *line += &format!(" {word}"),
            false => *line += word,
        }
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_only() {
        assert_eq!(wrapped("one two three four", 10, 0, 2), "one two\n  three\n  four\n");
        assert_eq!(wrapped("longer-than-that", 5, 2, 2), "  longer-than-that\n");
    }
}
