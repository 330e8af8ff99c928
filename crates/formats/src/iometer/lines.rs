//! The lines of an Iometer configuration, and the one rule of Iometer's grammar: a key is a line that starts with an
//! apostrophe, its value is the next line that does not, and the apostrophe lines between them are captions.
//!
//! The names of sections and keys are here; [`super::reader`] knows their meaning.

use std::borrow::Cow;

/// First words of the sections; an apostrophe may stand before them.
const SECTIONS: [&str; 4] = ["test setup", "results display", "access specifications", "manager list"];

/// First words of the keys. All other apostrophe lines after a key are captions.
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

/// Bytes of the longest word that is compared with known ones: a longer one is no misspelling, and comparing takes long.
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
    pub(super) fn starts_with_apostrophe(&self) -> bool {
        self.text.starts_with('\'')
    }

    /// The text in small letters, one blank between words, without the apostrophe.
    pub(super) fn lower_case_words(&self) -> String {
        let bare = self.text.strip_prefix('\'').unwrap_or(self.text);
        bare.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
    }

    /// Name of the section that this line starts. Called for every line, so nothing is copied.
    pub(super) fn section_name(&self) -> Option<&'static str> {
        let bare = self.text.trim_start_matches('\'').trim_start();
        SECTIONS.into_iter().find(|section| {
            let (Some(name), Some(rest)) = (bare.get(..section.len()), bare.get(section.len()..)) else {
                return false;
            };
            let is_ruled = rest.trim_start_matches(['=', ' ', '\t']).is_empty();
            name.eq_ignore_ascii_case(section) && (self.starts_with_apostrophe() || is_ruled)
        })
    }

    /// True for a line that starts a section, a key or an `End …`: no value stands there.
    fn starts_key_or_section(&self) -> bool {
        if self.section_name().is_some() {
            return true;
        }
        if !self.starts_with_apostrophe() {
            return false;
        }
        let words = self.lower_case_words();
        let ends_a_word = |rest: &str| !rest.starts_with(char::is_alphanumeric);
        words.starts_with("end ") || KEYS.into_iter().any(|key| words.strip_prefix(key).is_some_and(ends_a_word))
    }
}

/// The text of a file: UTF-8 if valid, otherwise Latin-1, in which every byte is a character.
pub(super) fn decode_text(bytes: &[u8]) -> Cow<'_, str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|&byte| char::from(byte)).collect()),
    }
}

/// The lines of a file, taken one after another.
pub(super) struct TextLines<'a> {
    lines: Vec<TextLine<'a>>,
    next_index: usize,
}

impl<'a> TextLines<'a> {
    pub(super) fn new(text: &'a str) -> TextLines<'a> {
        // A lone CR ends a line too: old editors left such files.
        let split = text.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'));
        let lines = split.enumerate().map(|(index, line)| TextLine { number: index + 1, text: line.trim() });
        TextLines { lines: lines.collect(), next_index: 0 }
    }

    pub(super) fn peek_line(&self) -> Option<TextLine<'a>> {
        self.lines.get(self.next_index).copied()
    }

    pub(super) fn take_line(&mut self) -> Option<TextLine<'a>> {
        let line = self.peek_line()?;
        self.next_index += 1;
        Some(line)
    }

    /// The value of the key just taken: the next line past its captions. Empty if a key, a section or an `End …` is first.
    pub(super) fn take_value(&mut self) -> TextLine<'a> {
        let number = self.lines[..self.next_index].last().map_or(0, |line| line.number);
        while let Some(line) = self.peek_line() {
            if line.starts_key_or_section() {
                break;
            }
            self.next_index += 1;
            if !line.starts_with_apostrophe() {
                return line;
            }
        }
        TextLine { number, text: "" }
    }

    /// Takes the lines up to the next apostrophe or section; empty ones are left out.
    pub(super) fn take_rows(&mut self) -> Vec<TextLine<'a>> {
        let mut rows = Vec::new();
        while let Some(line) = self.peek_line() {
            if line.starts_with_apostrophe() || line.section_name().is_some() {
                break;
            }
            self.next_index += 1;
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
