//! The type of a figure: a value with its unit, its origin and its source.

use std::fmt;

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum FigureOrigin {
    /// Measured on such a drive.
    Measured,
    /// Stated by its maker.
    Datasheet,
    /// Derived from something else; the source says how.
    Inferred,
    /// Fitted to measurements of such a drive (`seekwise fit`); the source says to which, and gives the previous value.
    Fitted,
    /// Set by the user; the source says where.
    Set,
}

impl fmt::Display for FigureOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FigureOrigin::Measured => "measured",
            FigureOrigin::Datasheet => "datasheet",
            FigureOrigin::Inferred => "inferred",
            FigureOrigin::Fitted => "fitted",
            FigureOrigin::Set => "set",
        })
    }
}

/// The words for origins in a file. The user's own settings have none.
pub(crate) const KINDS: [(&str, FigureOrigin); 4] = [
    ("measured", FigureOrigin::Measured),
    ("datasheet", FigureOrigin::Datasheet),
    ("inferred", FigureOrigin::Inferred),
    ("fitted", FigureOrigin::Fitted),
];

/// A range of cylinders with the same layout.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ZoneRow {
    /// Line in the file, 0 from the command line.
    pub line: usize,
    /// First cylinder.
    pub first: u32,
    pub cylinders: u32,
    /// Sectors per track: one number for all heads, or one per head; empty with `runs`.
    pub spt: Vec<u32>,
    /// Unused cylinders before it.
    pub gap: u32,
    /// Skews of its own, in revolutions: between cylinders, between heads.
    pub skews: Option<(f64, f64)>,
    /// The angle of its first sector, in revolutions, regardless of where the previous zone ends.
    pub offset: Option<f64>,
    /// The tracks as a list of runs, if no rule gives them.
    pub band: Option<ZoneBand>,
}

/// The tracks of a zone, listed: equal bands, each a list of runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ZoneBand {
    /// Cylinders of a band.
    pub cylinders: u32,
    /// The angle from the first sector of a band to that of the next, in revolutions.
    pub skew: f64,
    pub runs: Vec<RunRow>,
}

/// Tracks of one surface on neighbouring cylinders.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunRow {
    /// The head, which numbers the surface.
    pub head: u8,
    /// Cylinder of the first track, relative to the band.
    pub first: u32,
    /// Number of tracks; negative if they run towards lower cylinders.
    pub tracks: i32,
    /// Sectors per track.
    pub spt: u32,
    /// The angle of the first sector relative to the band, and of each track relative to the previous one, in revolutions.
    pub angle: (f64, f64),
}

/// The value of a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum FigureValue {
    /// A whole number.
    Whole(u64),
    Number(f64),
    /// Yes or no.
    Flag(bool),
    Word(String),
    Zones(Vec<ZoneRow>),
    /// Points of a seek curve: cylinders and milliseconds.
    Points(Vec<(u32, f64)>),
    /// Ranges of slots without blocks: first slot, slots, period, and number of repetitions.
    Holes(Vec<[u64; 4]>),
    /// Remapped slots, and the slots that hold their blocks.
    Pairs(Vec<(u64, u64)>),
    /// Weak sectors: first block, number of blocks, retries.
    Places(Vec<(u64, u32, u32)>),
}

impl fmt::Display for FigureValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FigureValue::Whole(n) => write!(f, "{n}"),
            FigureValue::Number(n) => write!(f, "{n}"),
            FigureValue::Flag(flag) => write!(f, "{flag}"),
            FigureValue::Word(word) => f.write_str(word),
            FigureValue::Zones(rows) => write!(f, "{} zones", rows.len()),
            FigureValue::Points(points) => write!(f, "{} points", points.len()),
            FigureValue::Holes(rows) => write!(f, "{} rows of holes", rows.len()),
            FigureValue::Pairs(pairs) => write!(f, "{} pairs", pairs.len()),
            FigureValue::Places(places) => write!(f, "{} places", places.len()),
        }
    }
}

/// A value with its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Dotted key within its layer.
    pub key: &'static str,
    pub value: FigureValue,
    /// The unit; empty for counts and words.
    pub unit: &'static str,
    pub kind: FigureOrigin,
    /// Citation or derivation.
    pub source: String,
    /// Why the model does not reproduce it (checks only).
    pub misses: Option<String>,
    /// The confidence interval of a fitted number.
    pub interval: Option<(f64, f64)>,
    /// Line in its file, 0 from the command line.
    pub line: usize,
}
