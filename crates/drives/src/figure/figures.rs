//! The figures of a drive or of a layer, by key. The default of a figure comes from its [`ProfileKey`]: `otherwise` starts with that
//! value, if there is one. Asking for an unknown key, for another type, or for a missing figure without a default is a bug, and
//! panics: the first drive or layer that is built reveals it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::str::FromStr;

use seekwise_disk::time::Span;

use super::key::ProfileKey;
use super::reader::parse_switch;
use super::value::{Figure, FigureValue};

/// Figures, each for one of `keys`. The reader has made sure that the required ones are present.
#[derive(Clone, Copy)]
pub struct Figures<'a> {
    keys: &'static [ProfileKey],
    figures: &'a [Figure],
    /// Collects the keys that are asked for.
    asked: Option<&'a RefCell<BTreeSet<&'static str>>>,
}

impl<'a> Figures<'a> {
    /// Joins keys with their figures.
    pub fn new(keys: &'static [ProfileKey], figures: &'a [Figure]) -> Figures<'a> {
        Figures { keys, figures, asked: None }
    }

    /// Notes each key that is asked for in `asked`.
    pub(crate) fn with_recorder(self, asked: &'a RefCell<BTreeSet<&'static str>>) -> Figures<'a> {
        Figures { asked: Some(asked), ..self }
    }

    fn known_key(&self, path: &str) -> &'static ProfileKey {
        self.keys.iter().find(|key| key.path == path).unwrap_or_else(|| panic!("`{path}` is not a key"))
    }

    /// The figure, if it is given.
    pub fn find(&self, path: &str) -> Option<&'a Figure> {
        let known = self.known_key(path).path;
        if let Some(asked) = self.asked {
            asked.borrow_mut().insert(known);
        }
        self.figures.iter().find(|figure| figure.key == known)
    }

    /// Whether the figure is given.
    pub fn is_given(&self, path: &str) -> bool {
        self.find(path).is_some()
    }

    /// The line of the figure, 0 if it is not given.
    pub fn line(&self, path: &str) -> usize {
        self.find(path).map_or(0, |figure| figure.line)
    }

    fn convert_value<T>(&self, path: &str, of: impl Fn(&'a FigureValue) -> Option<T>) -> Option<T> {
        let value = &self.find(path)?.value;
        Some(of(value).unwrap_or_else(|| panic!("`{path}` = {value} is read as something else")))
    }

    /// The first word of `otherwise`.
    fn default_word(&self, path: &str) -> &'static str {
        self.known_key(path).otherwise.split([',', ' ']).next().unwrap_or_default()
    }

    fn default_value<T: FromStr>(&self, path: &str) -> T {
        let absent = self.default_word(path).parse();
        absent.unwrap_or_else(|_| panic!("`{path}` has no value of its own where it is left out"))
    }

    /// A whole number, if it is given.
    pub fn may_whole(&self, path: &str) -> Option<u64> {
        self.convert_value(path, |value| if let FigureValue::Whole(whole) = value { Some(*whole) } else { None })
    }

    /// A whole number.
    pub fn whole(&self, path: &str) -> u64 {
        self.may_whole(path).unwrap_or_else(|| self.default_value(path))
    }

    /// A whole number that fits in 32 bits, as the range of its key guarantees.
    pub fn count(&self, path: &str) -> u32 {
        u32::try_from(self.whole(path)).unwrap_or_else(|_| panic!("`{path}` goes beyond 32 bits"))
    }

    /// A whole number that fits in 32 bits, if it is given.
    pub fn may_count(&self, path: &str) -> Option<u32> {
        self.is_given(path).then(|| self.count(path))
    }

    /// A number, if it is given.
    pub fn may_number(&self, path: &str) -> Option<f64> {
        self.convert_value(path, |value| match value {
            FigureValue::Number(number) => Some(*number),
            FigureValue::Whole(whole) => Some(*whole as f64),
            _ => None,
        })
    }

    /// A number.
    pub fn number(&self, path: &str) -> f64 {
        self.may_number(path).unwrap_or_else(|| self.default_value(path))
    }

    /// A switch.
    pub fn flag(&self, path: &str) -> bool {
        let given = self.convert_value(path, |value| if let FigureValue::Flag(on) = value { Some(*on) } else { None });
        let absent = || {
            parse_switch(self.default_word(path)).unwrap_or_else(|| panic!("`{path}` is neither on nor off without it"))
        };
        given.unwrap_or_else(absent)
    }

    /// A word, if it is given.
    pub(crate) fn may_word(&self, path: &str) -> Option<&'a str> {
        self.convert_value(path, |value| if let FigureValue::Word(word) = value { Some(word.as_str()) } else { None })
    }

    /// A word.
    pub fn word(&self, path: &str) -> &'a str {
        self.may_word(path).unwrap_or_else(|| self.default_word(path))
    }

    /// A time in milliseconds.
    pub fn span(&self, path: &str) -> Span {
        span_from_ms(self.number(path))
    }

    /// A time in milliseconds, if it is given.
    pub(crate) fn may_span(&self, path: &str) -> Option<Span> {
        self.may_number(path).map(span_from_ms)
    }

    /// A time in microseconds.
    pub fn micros(&self, path: &str) -> Span {
        span_from_ms(self.number(path) / 1e3)
    }

    /// MB/s, as bytes a second.
    pub fn rate(&self, path: &str) -> u64 {
        (self.number(path) * 1e6).round() as u64
    }

    /// The first key that has a figure.
    pub(crate) fn first_given<'k>(&self, path: &'k str, other: &'k str) -> &'k str {
        if self.is_given(path) { path } else { other }
    }
}

/// Milliseconds in the model's nanoseconds.
pub(crate) fn span_from_ms(ms: f64) -> Span {
    Span::from_nanos((ms * 1e6).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::KeyDomain;

    static KEYS: &[ProfileKey] = &[
        ProfileKey::may("segments", "", KeyDomain::Whole(1, 4096), "4096", ""),
        ProfileKey::may("window", "", KeyDomain::Whole(0, 65_536), "0, all", ""),
        ProfileKey::may("adaptive", "", KeyDomain::Flag, "off", ""),
        ProfileKey::may("long_writes", "", KeyDomain::Word(&["several", "wrap"]), "several", ""),
        ProfileKey::may("least_ms", "ms", KeyDomain::Number(0.0, 1e4), "0", ""),
        ProfileKey::may("limit_ms", "ms", KeyDomain::Number(0.0, 1e6), "until it succeeds", ""),
    ];

    #[test]
    fn what_holds_without_a_figure_stands_in_its_key() {
        let none = Figures::new(KEYS, &[]);
        assert_eq!((none.whole("segments"), none.count("window")), (4096, 0));
        assert!(!none.flag("adaptive"));
        assert_eq!((none.word("long_writes"), none.span("least_ms")), ("several", Span::ZERO));
        assert_eq!(none.may_span("limit_ms"), None);
    }

    #[test]
    #[should_panic(expected = "`segmnts` is not a key")]
    fn a_key_that_is_none_is_not_passed_over() {
        Figures::new(KEYS, &[]).whole("segmnts");
    }

    #[test]
    #[should_panic(expected = "has no value of its own")]
    fn a_key_without_a_value_of_its_own_is_not_nought() {
        Figures::new(KEYS, &[]).number("limit_ms");
    }
}
