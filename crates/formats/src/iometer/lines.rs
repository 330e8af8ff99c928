//! The lines of an Iometer configuration, and the one rule of its grammar: a key is a line that starts with an
//! apostrophe, its value is the next line that does not, and the apostrophe lines between them are captions.
//!
//! Knows the words of the format but not what they mean.

use std::borrow::Cow;

/// Words a section starts with, with or without an apostrophe before them.
const SECTIONS: [&str; 4] = ["test setup", "results display", "access specifications", "manager list"];

/// Words a key starts with. All other apostrophe lines after a key are captions.
const KEYS: [&str; 28] = [
    "test description",
    "run time",
    "ramp up time",
    "default disk workers to spawn",
    "default workers to spawn",
    "default network workers to spawn",
    "record results",
    "worker cycling",
    "disk cycling",
    "queue depth cycling",
    "test type",
    "access specification name",
    "manager id",
    "manager network address",
    "worker type",
    "worker",
    "default target settings for worker",
    "number of outstanding ios",
    "disk maximum size",
    "local network interface",
    "vi outstanding ios",
    "assigned access specs",
    "target assignments",
    "target type",
    "target manager id",
    "target",
    "size",
    "version",
];

/// Longer words are no misspelling of anything; looking for their nearest would take long.
pub(super) const LONGEST_WORD: usize = 80;

/// The keys, for a diagnostic's nearest word.
pub(super) fn known_keys() -> impl Iterator<Item = &'static str> {
    KEYS.into_iter()
}

/// A line without its blanks at both ends.
#[derive(Clone, Copy)]
pub(super) struct TextLine<'a> {
    pub(super) number: usize,
    pub(super) text: &'a str,
}

impl TextLine<'_> {
    /// Starts with an apostrophe.
    pub(super) fn is_key(&self) -> bool {
        self.text.starts_with('\'')
    }

    /// The words in small letters, one blank between them, without the apostrophe.
    pub(super) fn words(&self) -> String {
        let bare = self.text.strip_prefix('\'').unwrap_or(self.text);
        bare.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
    }

    /// The section that starts here. Asked of every line, so it copies nothing.
    pub(super) fn section(&self) -> Option<&'static str> {
        let bare = self.text.trim_start_matches('\'').trim_start();
        SECTIONS.into_iter().find(|section| {
            let (Some(head), Some(rest)) = (bare.get(..section.len()), bare.get(section.len()..)) else {
                return false;
            };
            let ruled = rest.trim_start_matches(['=', ' ', '\t']).is_empty();
            head.eq_ignore_ascii_case(section) && (self.is_key() || ruled)
        })
    }

    fn ends_value(&self) -> bool {
        if self.section().is_some() {
            return true;
        }
        if !self.is_key() {
            return false;
        }
        let words = self.words();
        let whole = |rest: &str| !rest.starts_with(char::is_alphanumeric);
        words.starts_with("end ") || KEYS.into_iter().any(|key| words.strip_prefix(key).is_some_and(whole))
    }
}

/// The text of a file: UTF-8 if valid, otherwise Latin-1, in which every byte is a character.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|&byte| char::from(byte)).collect()),
    }
}

/// The lines of a file and a place among them.
pub(super) struct TextLines<'a> {
    lines: Vec<TextLine<'a>>,
    next: usize,
}

impl<'a> TextLines<'a> {
    pub(super) fn new(text: &'a str) -> TextLines<'a> {
        // A lone CR ends a line too: old editors left such files.
        let unix = text.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'));
        let lines = unix.enumerate().map(|(index, line)| TextLine { number: index + 1, text: line.trim() });
        TextLines { lines: lines.collect(), next: 0 }
    }

    pub(super) fn peek(&self) -> Option<TextLine<'a>> {
        self.lines.get(self.next).copied()
    }

    pub(super) fn take(&mut self) -> Option<TextLine<'a>> {
        let line = self.peek()?;
        self.next += 1;
        Some(line)
    }

    /// The value of the key just taken: past its captions, the next line. Empty when another key or an end comes first.
    pub(super) fn take_value(&mut self) -> TextLine<'a> {
        let number = self.lines[..self.next].last().map_or(0, |line| line.number);
        while let Some(line) = self.peek() {
            if line.ends_value() {
                break;
            }
            self.next += 1;
            if !line.is_key() {
                return line;
            }
        }
        TextLine { number, text: "" }
    }

    /// The lines up to the next apostrophe or section, without the empty ones.
    pub(super) fn take_rows(&mut self) -> Vec<TextLine<'a>> {
        let mut rows = Vec::new();
        while let Some(line) = self.peek() {
            if line.is_key() || line.section().is_some() {
                break;
            }
            self.next += 1;
            if !line.text.is_empty() {
                rows.push(line);
            }
        }
        rows
    }
}

/// The fields of a line: between commas if there are any, otherwise between blanks. A comma at the end adds none.
pub(super) fn split_fields(text: &str) -> Vec<&str> {
    if !text.contains(',') {
        return text.split_whitespace().collect();
    }
    let mut fields: Vec<&str> = text.split(',').map(str::trim).collect();
    while fields.last().is_some_and(|field| field.is_empty()) {
        fields.pop();
    }
    fields
}
