//! A key: its name, its unit, what it takes and what it says.

use std::fmt;

/// What a key takes; bounds are inclusive.
#[derive(Clone, Copy, Debug)]
pub enum Accepts {
    /// A whole number.
    Whole(u64, u64),
    /// A number.
    Number(f64, f64),
    /// A switch: on or off, true or false, yes or no, 1 or 0.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Rows `{ first, cylinders, spt }` and what else a zone may say.
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
    /// The words it takes, where it takes words.
    pub(crate) fn words(&self) -> impl Iterator<Item = &'static str> + use<> {
        let words: &[&str] = if let Accepts::Word(words) = *self { words } else { &[] };
        words.iter().copied()
    }

    /// What it takes, for a table.
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
    /// What it takes.
    pub accepts: Accepts,
    /// Must be there.
    pub required: bool,
    /// What holds where it is left out; empty where it must be there.
    pub otherwise: &'static str,
    /// What it says, in a clause.
    pub meaning: &'static str,
    /// Other words by which people look for it.
    pub also: &'static [&'static str],
}

impl Key {
    /// One that must be there.
    pub const fn must(path: &'static str, unit: &'static str, accepts: Accepts, meaning: &'static str) -> Key {
        Key { path, unit, accepts, required: true, otherwise: "", meaning, also: &[] }
    }

    /// One that may be left out; `otherwise` then holds.
    pub const fn may(
        path: &'static str,
        unit: &'static str,
        accepts: Accepts,
        otherwise: &'static str,
        meaning: &'static str,
    ) -> Key {
        Key { path, unit, accepts, required: false, otherwise, meaning, also: &[] }
    }

    /// The same key, to be found by these words too.
    pub const fn also(self, also: &'static [&'static str]) -> Key {
        Key { also, ..self }
    }
}
