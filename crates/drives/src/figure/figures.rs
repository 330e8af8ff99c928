//! Typed access to the figures of a drive or of a layer, by key. A missing figure has the default of its [`ProfileKey`]: the first
//! word of `otherwise`. An unknown key, another type, or a missing figure without a default is a bug and panics, when the first
//! drive or layer is built.

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
    /// The keys that were read so far, if the owner records them.
    read_keys: Option<&'a RefCell<BTreeSet<&'static str>>>,
}

impl<'a> Figures<'a> {
    /// Joins keys with their figures.
    pub fn new(keys: &'static [ProfileKey], figures: &'a [Figure]) -> Figures<'a> {
        Figures { keys, figures, read_keys: None }
    }

    /// Makes the figures add each key that is read to `read_keys`.
    pub(crate) fn recording_keys(self, read_keys: &'a RefCell<BTreeSet<&'static str>>) -> Figures<'a> {
        Figures { read_keys: Some(read_keys), ..self }
    }

    fn known_key(&self, key: &str) -> &'static ProfileKey {
        self.keys.iter().find(|known| known.path == key).unwrap_or_else(|| panic!("`{key}` is not a key"))
    }

    /// The figure, if it is given.
    pub fn find(&self, key: &str) -> Option<&'a Figure> {
        let known = self.known_key(key).path;
        if let Some(read_keys) = self.read_keys {
            read_keys.borrow_mut().insert(known);
        }
        self.figures.iter().find(|figure| figure.key == known)
    }

    /// True if the figure is given.
    pub fn is_given(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    /// The line of the figure, 0 if it is not given.
    pub fn line(&self, key: &str) -> usize {
        self.find(key).map_or(0, |figure| figure.line)
    }

    fn convert_value<T>(&self, key: &str, convert: impl Fn(&'a FigureValue) -> Option<T>) -> Option<T> {
        let value = &self.find(key)?.value;
        Some(convert(value).unwrap_or_else(|| panic!("`{key}` = {value} is read as something else")))
    }

    /// The first word of `otherwise`.
    fn default_word(&self, key: &str) -> &'static str {
        self.known_key(key).otherwise.split([',', ' ']).next().unwrap_or_default()
    }

    fn default_value<T: FromStr>(&self, key: &str) -> T {
        let default = self.default_word(key).parse();
        default.unwrap_or_else(|_| panic!("`{key}` has no value of its own where it is left out"))
    }

    /// A whole number, if it is given.
    pub fn may_whole(&self, key: &str) -> Option<u64> {
        self.convert_value(key, |value| if let FigureValue::Whole(whole) = value { Some(*whole) } else { None })
    }

    /// A whole number.
    pub fn whole(&self, key: &str) -> u64 {
        self.may_whole(key).unwrap_or_else(|| self.default_value(key))
    }

    /// A whole number that fits in 32 bits, as the range of its key guarantees.
    pub fn count(&self, key: &str) -> u32 {
        u32::try_from(self.whole(key)).unwrap_or_else(|_| panic!("`{key}` goes beyond 32 bits"))
    }

    /// A whole number that fits in 32 bits, if it is given.
    pub fn may_count(&self, key: &str) -> Option<u32> {
        self.is_given(key).then(|| self.count(key))
    }

    /// A number, if it is given.
    pub fn may_number(&self, key: &str) -> Option<f64> {
        self.convert_value(key, |value| match value {
            FigureValue::Number(number) => Some(*number),
            FigureValue::Whole(whole) => Some(*whole as f64),
            _ => None,
        })
    }

    /// A number.
    pub fn number(&self, key: &str) -> f64 {
        self.may_number(key).unwrap_or_else(|| self.default_value(key))
    }

    /// A switch.
    pub fn flag(&self, key: &str) -> bool {
        let given = self.convert_value(key, |value| if let FigureValue::Flag(on) = value { Some(*on) } else { None });
        let default = || {
            parse_switch(self.default_word(key)).unwrap_or_else(|| panic!("`{key}` is neither on nor off without it"))
        };
        given.unwrap_or_else(default)
    }

    /// A word, if it is given.
    pub(crate) fn may_word(&self, key: &str) -> Option<&'a str> {
        self.convert_value(key, |value| if let FigureValue::Word(word) = value { Some(word.as_str()) } else { None })
    }

    /// A word.
    pub fn word(&self, key: &str) -> &'a str {
        self.may_word(key).unwrap_or_else(|| self.default_word(key))
    }

    /// A time in milliseconds.
    pub fn span(&self, key: &str) -> Span {
        span_from_ms(self.number(key))
    }

    /// A time in milliseconds, if it is given.
    pub(crate) fn may_span(&self, key: &str) -> Option<Span> {
        self.may_number(key).map(span_from_ms)
    }

    /// A time in microseconds.
    pub fn micros(&self, key: &str) -> Span {
        span_from_ms(self.number(key) / 1e3)
    }

    /// A rate in MB/s, as bytes a second.
    pub fn bytes_per_s(&self, key: &str) -> u64 {
        (self.number(key) * 1e6).round() as u64
    }

    /// The key, if it has a figure, else `other`.
    pub(crate) fn given_key_or<'k>(&self, key: &'k str, other: &'k str) -> &'k str {
        if self.is_given(key) { key } else { other }
    }
}

/// A time in milliseconds as a span of the model, which counts nanoseconds.
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
