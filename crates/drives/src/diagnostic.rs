//! The one type of error and warning of all formats: what is wrong with a file, where, and what to do.
//!
//! A diagnostic names the file, the line, the key, what was expected, and the nearest known word. The command line decides on
//! colours and exit codes.

use std::fmt;

use crate::limits::{self, terms};
use crate::spelling::{nearest, words_beginning_with};

/// The message about an unknown key.
pub(crate) const UNKNOWN_KEY: &str = "unknown key";

/// An error or a warning about a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file's name as the user gave it.
    pub file: String,
    /// Line, from 1; 0 if it concerns the whole file.
    pub line: usize,
    /// The key, option or field concerned.
    pub key: Option<String>,
    /// The problem, in one sentence without a period.
    pub message: String,
    /// The value or form that would have been right.
    pub expected: Option<String>,
    /// The nearest known word.
    pub nearest: Option<String>,
}

impl Diagnostic {
    /// A diagnostic about a line of a file.
    pub fn at(file: &str, line: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic { file: file.to_owned(), line, message: message.into(), ..Diagnostic::default() }
    }

    /// Names the key concerned.
    pub fn with_key(mut self, key: impl Into<String>) -> Diagnostic {
        self.key = Some(key.into());
        self
    }

    /// Sets what would have been right.
    pub fn with_expected(mut self, expected: impl Into<String>) -> Diagnostic {
        self.expected = Some(expected.into());
        self
    }

    /// If the unknown `word` is a known limit of the model, or a word of the field that leads elsewhere, says so instead of
    /// suggesting another word.
    pub fn explain_limit(self, word: &str) -> Diagnostic {
        let (explanation, keys) = match (limits::explain_limit(word), terms::find(word)) {
            (Some(limit), _) => (limit, None),
            (None, Some(term)) => (term.says.to_owned(), terms::one_of(term.keys)),
            (None, None) => return self,
        };
        match self.message == UNKNOWN_KEY {
            true => Diagnostic { message: explanation, expected: keys, nearest: None, ..self },
            false => Diagnostic { message: format!("{}: {explanation}", self.message), nearest: None, ..self },
        }
    }

    /// Explains the value that an unknown key is set to, such as `drive.type=smr`.
    pub(crate) fn explain_value_of_unknown_key(self, value: &str) -> Diagnostic {
        if self.message == UNKNOWN_KEY { self.explain_limit(value) } else { self }
    }

    /// Suggests the nearest of the `known` words to `word`, if one is close enough, or those that begin with it, if several do.
    pub fn suggest_nearest<'a>(self, word: &str, known: impl IntoIterator<Item = &'a str>) -> Diagnostic {
        let known: Vec<&str> = known.into_iter().collect();
        match words_beginning_with(word, &known)[..] {
            [] | [_] => Diagnostic { nearest: nearest(word, known).map(str::to_owned), ..self },
            ref several => Diagnostic { nearest: None, expected: terms::one_of(several), ..self },
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        f.write_str(": ")?;
        if let Some(key) = &self.key {
            write!(f, "`{key}`: ")?;
        }
        f.write_str(&self.message)?;
        if let Some(expected) = &self.expected {
            write!(f, "; expected {expected}")?;
        }
        if let Some(nearest) = &self.nearest {
            write!(f, "; did you mean `{nearest}`?")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

/// Errors in the order of their lines.
pub fn sorted_by_line(mut errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
    errors.sort_by_key(|error| error.line);
    errors
}

/// True if a character is plain text. Control characters can move a terminal's cursor, and Unicode's marks for the direction of
/// writing can make a line look different from its content.
pub fn is_text(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// True if a text is plain and has one line.
pub fn is_plain(text: &str) -> bool {
    text.chars().all(is_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_place_key_expectation_and_nearest_word() {
        let diagnostic = Diagnostic::at("a.fio", 3, "unknown option")
            .with_key("iodeph")
            .with_expected("a fio option")
            .suggest_nearest("iodeph", ["bs", "iodepth", "ioengine"]);
        assert_eq!(
            diagnostic.to_string(),
            "a.fio:3: `iodeph`: unknown option; expected a fio option; did you mean `iodepth`?"
        );
    }

    #[test]
    fn several_words_that_begin_alike_are_all_named() {
        let studies = ["ncq-alone", "ncq-layers", "q-tcq-and-ncq"];
        let message = |word: &str| {
            Diagnostic::at(word, 0, "no such study").with_expected("a study").suggest_nearest(word, studies)
        };
        assert_eq!(message("ncq").to_string(), "ncq: no such study; expected one of ncq-alone, ncq-layers");
        assert_eq!(
            message("ncq-aloen").to_string(),
            "ncq-aloen: no such study; expected a study; did you mean `ncq-alone`?"
        );
        assert_eq!(message("zzz").to_string(), "zzz: no such study; expected a study");
    }
}
