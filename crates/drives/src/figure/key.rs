//! The key of a figure as data: its name, its unit, the values that it accepts, its default and its meaning.

use std::fmt;

/// The values that a key accepts; bounds are inclusive.
#[derive(Clone, Copy, Debug)]
pub enum KeyDomain {
    /// A whole number.
    Whole(u64, u64),
    Number(f64, f64),
    /// A switch: on or off, true or false, yes or no, 1 or 0.
    Flag,
    /// A word of a list.
    Word(&'static [&'static str]),
    /// Rows `{ first, cylinders, spt }` and further keys of a zone.
    Zones,
    /// Rows `[first slot, slots]` or `[first slot, slots, period, times more]`.
    Holes,
    /// Pairs `[slot, slot in a hole]`.
    Pairs,
    /// Pairs `[cylinders, ms]`.
    Points,
    /// Rows `[first block, blocks, tries]`.
    Places,
}

impl KeyDomain {
    /// The words that the key accepts; none for keys of other values.
    pub(crate) fn accepted_words(&self) -> impl Iterator<Item = &'static str> + use<> {
        let words: &[&str] = if let KeyDomain::Word(words) = *self { words } else { &[] };
        words.iter().copied()
    }

    /// True if the key accepts numbers.
    pub(crate) fn is_number(&self) -> bool {
        matches!(self, KeyDomain::Whole(..) | KeyDomain::Number(..))
    }

    /// The accepted values, for a table.
    pub fn describe_values(&self) -> String {
        match self {
            KeyDomain::Whole(low, high) => format!("{low} to {high}"),
            KeyDomain::Number(low, high) => format!("{low} to {high}"),
            KeyDomain::Flag => "on, off".to_owned(),
            KeyDomain::Word(words) => words.join(", "),
            rows => rows.to_string(),
        }
    }
}

impl fmt::Display for KeyDomain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyDomain::Whole(low, high) => write!(f, "a whole number from {low} to {high}"),
            KeyDomain::Number(low, high) => write!(f, "a number from {low} to {high}"),
            KeyDomain::Flag => f.write_str("on or off (or true, false, yes, no, 1, 0)"),
            KeyDomain::Word(words) => write!(f, "one of {}", words.join(", ")),
            KeyDomain::Zones => f.write_str("rows { first = …, cylinders = …, spt = … }"),
            KeyDomain::Holes => f.write_str("rows [first slot, slots] or [first slot, slots, period, times more]"),
            KeyDomain::Pairs => f.write_str("pairs [slot, slot in a hole]"),
            KeyDomain::Points => f.write_str("pairs [cylinders, ms]"),
            KeyDomain::Places => f.write_str("rows [first block, blocks, tries]"),
        }
    }
}

/// A key that is not a figure: its name, its values, its default (empty: it is required), its meaning.
pub type PlainKey = (&'static str, &'static str, &'static str, &'static str);

/// A key that figures may have.
#[derive(Clone, Copy, Debug)]
pub struct ProfileKey {
    /// Dotted, below its layer: `cache.segments`.
    pub path: &'static str,
    /// Unit of the value; empty for counts and words.
    pub unit: &'static str,
    pub accepts: KeyDomain,
    pub required: bool,
    /// The default, in words; empty if the key is required.
    pub otherwise: &'static str,
    /// The meaning, in a clause.
    pub meaning: &'static str,
    /// Other words that people search for.
    pub also: &'static [&'static str],
}

impl ProfileKey {
    /// A required key.
    pub const fn must(path: &'static str, unit: &'static str, accepts: KeyDomain, meaning: &'static str) -> ProfileKey {
        ProfileKey { path, unit, accepts, required: true, otherwise: "", meaning, also: &[] }
    }

    /// An optional key with its default.
    pub const fn may(
        path: &'static str,
        unit: &'static str,
        accepts: KeyDomain,
        otherwise: &'static str,
        meaning: &'static str,
    ) -> ProfileKey {
        ProfileKey { path, unit, accepts, required: false, otherwise, meaning, also: &[] }
    }

    /// Adds words by which the key is also found.
    pub const fn also(self, also: &'static [&'static str]) -> ProfileKey {
        ProfileKey { also, ..self }
    }
}
