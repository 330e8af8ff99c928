//! A figure: a value with its unit, its kind and its source.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Someone measured it on such a drive.
    Measured,
    /// Its maker states it.
    Datasheet,
    /// It follows from something else; the source says how.
    Inferred,
    /// It was fitted to measurements of such a drive (`seekwise fit`); the source says to which, and what it was before.
    Fitted,
    /// The user set it; the source says where.
    Set,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Measured => "measured",
            Kind::Datasheet => "datasheet",
            Kind::Inferred => "inferred",
            Kind::Fitted => "fitted",
            Kind::Set => "set",
        })
    }
}

/// The words for a kind.
pub(crate) const KINDS: [(&str, Kind); 4] = [
    ("measured", Kind::Measured),
    ("datasheet", Kind::Datasheet),
    ("inferred", Kind::Inferred),
    ("fitted", Kind::Fitted),
];

/// Neighbouring cylinders laid out alike.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ZoneRow {
    /// Line in the file, 0 from the command line.
    pub line: usize,
    /// First cylinder.
    pub first: u32,
    /// Cylinders.
    pub cylinders: u32,
    /// Sectors a track: one for all heads, or one a head; none with `runs`.
    pub spt: Vec<u32>,
    /// Cylinders before it that hold nothing.
    pub gap: u32,
    /// Skews of its own, as shares of a revolution: between cylinders, between heads.
    pub skews: Option<(f64, f64)>,
    /// Where its first sector lies, as a share of a revolution, wherever the zone before would go on.
    pub offset: Option<f64>,
    /// Its tracks one run after another, where no rule gives them.
    pub band: Option<Band>,
}

/// A zone's tracks written out: equal bands, each a list of runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Band {
    /// Cylinders of a band.
    pub cylinders: u32,
    /// From one band's first sector to the next one's, as a share of a revolution.
    pub skew: f64,
    /// The runs.
    pub runs: Vec<RunRow>,
}

/// Tracks of one surface on neighbouring cylinders.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunRow {
    /// The surface.
    pub head: u8,
    /// Cylinder of the first track, from the band's first.
    pub first: u32,
    /// Tracks; below zero they run towards lower cylinders.
    pub tracks: i32,
    /// Sectors on each.
    pub spt: u32,
    /// Where the first sector lies, from the band's first, and each track's from the one before: shares of a revolution.
    pub angle: (f64, f64),
}

/// The value of a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Whole(u64),
    /// A number.
    Number(f64),
    /// Yes or no.
    Flag(bool),
    /// A word.
    Word(String),
    /// Zones.
    Zones(Vec<ZoneRow>),
    /// Points of a seek curve: cylinders and milliseconds.
    Points(Vec<(u32, f64)>),
    /// Stretches of slots without blocks: first slot, slots, and how many times again each so many slots further.
    Holes(Vec<[u64; 4]>),
    /// Slots and the slots that their blocks live in.
    Pairs(Vec<(u64, u64)>),
    /// Places that are hard to read: first block, blocks, tries beyond the first.
    Places(Vec<(u64, u32, u32)>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Whole(n) => write!(f, "{n}"),
            Value::Number(n) => write!(f, "{n}"),
            Value::Flag(flag) => write!(f, "{flag}"),
            Value::Word(word) => f.write_str(word),
            Value::Zones(rows) => write!(f, "{} zones", rows.len()),
            Value::Points(points) => write!(f, "{} points", points.len()),
            Value::Holes(rows) => write!(f, "{} rows of holes", rows.len()),
            Value::Pairs(pairs) => write!(f, "{} pairs", pairs.len()),
            Value::Places(places) => write!(f, "{} places", places.len()),
        }
    }
}

/// A value with its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Dotted key below its layer.
    pub key: &'static str,
    /// The value.
    pub value: Value,
    /// Its unit; empty for counts and words.
    pub unit: &'static str,
    /// Where from.
    pub kind: Kind,
    /// Citation or derivation.
    pub source: String,
    /// Why the model does not meet it (checks only).
    pub misses: Option<String>,
    /// Of a fitted number: between which values it lies, by what it was fitted to.
    pub interval: Option<(f64, f64)>,
    /// Line in its file, 0 from the command line.
    pub line: usize,
}
