//! A key: its name, its unit, what it takes and what it says.

use std::fmt;

/// What a key accepts; bounds are inclusive.
#[derive(Clone, Copy, Debug)]
pub enum Accepts {
    /// A whole number.
    Whole(u64, u64),
    Number(f64, f64),
    /// A switch: on or off, true or false, yes or no, 1 or 0.
    Flag,
    /// One of these words.
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

impl Accepts {
    /// The words that it accepts.
    pub(crate) fn words(&self) -> impl Iterator<Item = &'static str> + use<> {
        let words: &[&str] = if let Accepts::Word(words) = *self { words } else { &[] };
        words.iter().copied()
    }

    /// What it accepts, for a table.
    pub fn range(&self) -> String {
        match self {
            Accepts::Whole(low, high) => format!("{low} to {high}"),
            Accepts::Number(low, high) => format!("{low} to {high}"),
            Accepts::Flag => "on, off".to_owned(),
            Accepts::Word(words) => words.join(", "),
            rows => rows.to_string(),
        }
    }
}

impl fmt::Display for Accepts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Accepts::Whole(low, high) => write!(f, "a whole number from {low} to {high}"),
            Accepts::Number(low, high) => write!(f, "a number from {low} to {high}"),
            Accepts::Flag => f.write_str("on or off (or true, false, yes, no, 1, 0)"),
            Accepts::Word(words) => write!(f, "one of {}", words.join(", ")),
            Accepts::Zones => f.write_str("rows { first = …, cylinders = …, spt = … }"),
            Accepts::Holes => f.write_str("rows [first slot, slots] or [first slot, slots, period, times more]"),
            Accepts::Pairs => f.write_str("pairs [slot, slot in a hole]"),
            Accepts::Points => f.write_str("pairs [cylinders, ms]"),
            Accepts::Places => f.write_str("rows [first block, blocks, tries]"),
        }
    }
}

/// A key that is not a figure: its name, what it takes, what holds without it (empty: it is required), what it says.
pub(crate) type Plain = (&'static str, &'static str, &'static str, &'static str);

/// A known key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Dotted, below its layer: `cache.segments`.
    pub path: &'static str,
    /// Unit of the value; empty for counts and words.
    pub unit: &'static str,
    pub accepts: Accepts,
    /// Whether the key is required.
    pub required: bool,
    /// The default, in words; empty if the key is required.
    pub otherwise: &'static str,
    /// What it means, in a clause.
    pub meaning: &'static str,
    /// Other words that people search for.
    pub also: &'static [&'static str],
}

impl Key {
    /// A required key.
    pub const fn must(path: &'static str, unit: &'static str, accepts: Accepts, meaning: &'static str) -> Key {
        Key { path, unit, accepts, required: true, otherwise: "", meaning, also: &[] }
    }

    /// An optional key with its default.
    pub const fn may(
        path: &'static str,
        unit: &'static str,
        accepts: Accepts,
        otherwise: &'static str,
        meaning: &'static str,
    ) -> Key {
        Key { path, unit, accepts, required: false, otherwise, meaning, also: &[] }
    }

    /// The same key, also found by these words.
    pub const fn also(self, also: &'static [&'static str]) -> Key {
        Key { also, ..self }
    }
}
