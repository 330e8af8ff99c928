//! The columns of a measured trace in CSV: position, name and unit.
//!
//! Names are case-insensitive, with blanks or underscores between their words and the unit at the end (`response_us`,
//! `Response (us)`). Columns with other names than the standard ones give a warning that says how they are read. A time without
//! a unit in its name is refused, since the unit cannot be guessed.

use seekwise_drives::diagnostic::Diagnostic;

use super::row::{LATEST_MS, LONGEST_MS, LinePosition, RawRow, UNITS};

/// A column for information only: how the drive served the request.
const NOTED: &str = "cache_tag";

const HEADER: &str = "a header with lba, sectors, op, measured_response_ms, think_ms or arrival_ms";

/// The kind of a column, its standard name, and other names, for times without the unit.
const KINDS: [(ColumnKind, &str, &[&str]); 6] = [
    (ColumnKind::Lba, "lba", &["lbn", "blkno", "block_number", "start_sector", "first_block", "offset_bytes"]),
    (
        ColumnKind::Sectors,
        "sectors",
        &["blocks", "size_sectors", "length_sectors", "bytes", "size_bytes", "length_bytes"],
    ),
    (ColumnKind::Op, "op", &["rw", "operation", "direction", "type"]),
    (ColumnKind::Measured, "measured_response_ms", &["measured_response", "response", "response_time", "latency"]),
    (ColumnKind::Think, "think_ms", &["think", "think_time"]),
    (ColumnKind::Arrival, "arrival_ms", &["arrival", "arrival_time", "issue", "issue_time", "timestamp", "time"]),
];

#[derive(Clone, Copy, PartialEq)]
enum ColumnKind {
    Lba,
    Sectors,
    Op,
    Measured,
    Think,
    Arrival,
}

/// The position of a column, and its unit in milliseconds or bytes.
#[derive(Clone, Copy)]
struct TraceColumn {
    kind: ColumnKind,
    place: usize,
    unit: f64,
    own: bool,
}

/// The columns of a trace.
pub(super) struct TraceColumns(Vec<TraceColumn>);

/// A name in lower case, with underscores between its words.
fn normalise_name(name: &str) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric() && c != '\u{b5}').filter(|word| !word.is_empty());
    words.map(|word| word.to_lowercase().replace(['\u{b5}', '\u{3bc}'], "u")).collect::<Vec<_>>().join("_")
}

/// The column that a name means; a time without a unit means none.
fn find_column(name: &str, place: usize) -> Option<TraceColumn> {
    let name = normalise_name(name);
    KINDS.iter().find_map(|&(kind, own, others)| {
        let column = |unit, own| TraceColumn { kind, place, unit, own };
        if name == own {
            return Some(column(1.0, true));
        }
        let other = |name: &str| others.contains(&name);
        if !matches!(kind, ColumnKind::Measured | ColumnKind::Think | ColumnKind::Arrival) {
            let unit = if name.contains("bytes") { 512.0 } else { 1.0 };
            return other(&name).then(|| column(unit, false));
        }
        let unit =
            UNITS.iter().find(|unit| name.strip_suffix(unit.0).is_some_and(|rest| other(rest.trim_end_matches('_'))));
        match unit {
            Some(unit) => Some(column(unit.1, false)),
            None => other(&name).then(|| column(f64::NAN, false)),
        }
    })
}

impl TraceColumns {
    /// The columns of a header, with warnings.
    pub(super) fn from_header(
        at: LinePosition<'_>,
        header: &csv::StringRecord,
    ) -> Result<(TraceColumns, Vec<Diagnostic>), Diagnostic> {
        let named: Vec<TraceColumn> =
            header.iter().enumerate().filter_map(|(place, name)| find_column(name, place)).collect();
        let name = |place: usize| header.get(place).unwrap_or("");
        let mut columns: Vec<TraceColumn> = Vec::new();
        for column in &named {
            // A column with a standard name takes precedence over one with another name.
            if !column.own && named.iter().any(|other| other.own && other.kind == column.kind) {
                continue;
            }
            if let Some(other) = columns.iter().find(|other| other.kind == column.kind) {
                let message = format!("duplicate column, also given as `{}`", name(other.place));
                return Err(Diagnostic::at(at.file, at.line, message)
                    .with_key(name(column.place))
                    .with_expected("each column once"));
            }
            if column.unit.is_nan() {
                let fault = Diagnostic::at(at.file, at.line, "the unit is missing").with_key(name(column.place));
                let expected = format!("`{}_ms`, `_us`, `_ns` or `_s`", normalise_name(name(column.place)));
                return Err(fault.with_expected(expected));
            }
            columns.push(*column);
        }
        let columns = TraceColumns(columns);
        for (kind, own, _) in KINDS {
            let either = kind == ColumnKind::Think && columns.find(ColumnKind::Arrival).is_some();
            if kind != ColumnKind::Arrival && columns.find(kind).is_none() && !either {
                let fault =
                    Diagnostic::at(at.file, at.line, "this column is missing").with_key(own).with_expected(HEADER);
                // A suggestion from the unknown names in the header.
                let strange = header.iter().enumerate().filter(|(place, word)| find_column(word, *place).is_none());
                return Err(fault.suggest_nearest(own, strange.map(|(_, word)| word)));
            }
        }
        let warnings = columns.column_warnings(at, header);
        Ok((columns, warnings))
    }

    fn find(&self, kind: ColumnKind) -> Option<TraceColumn> {
        self.0.iter().find(|column| column.kind == kind).copied()
    }

    /// Parses the request of a line.
    pub(super) fn read_row(&self, at: LinePosition<'_>, record: &csv::StringRecord) -> Result<RawRow, Diagnostic> {
        let find_word = |kind: ColumnKind| {
            let own = KINDS.iter().find(|row| row.0 == kind).map_or("", |row| row.1);
            let column = self.find(kind).expect("it was found in the header");
            let word = record.get(column.place);
            let fault = || Diagnostic::at(at.file, at.line, "the line ends before it").with_key(own);
            word.map(|word| (own, word, column.unit)).ok_or_else(fault)
        };
        let time = |kind: ColumnKind, limit: f64| {
            let (own, word, unit) = find_word(kind)?;
            at.parse_time(own, word, unit, limit)
        };
        let maybe = |kind: ColumnKind| self.find(kind).map(|_| time(kind, LATEST_MS)).transpose();
        let blocks = |kind: ColumnKind| {
            let (own, word, unit) = find_word(kind)?;
            if unit == 1.0 {
                Ok(word.to_owned())
            } else {
                at.parse_bytes_as_blocks(own, word, unit as u64).map(|n| n.to_string())
            }
        };
        Ok(RawRow {
            op: at.parse_op(find_word(ColumnKind::Op)?.1)?,
            lba: at.parse_lba(&blocks(ColumnKind::Lba)?)?,
            sectors: at.parse_sectors(&blocks(ColumnKind::Sectors)?)?,
            measured: time(ColumnKind::Measured, LONGEST_MS)?,
            think: maybe(ColumnKind::Think)?,
            arrival: maybe(ColumnKind::Arrival)?,
            line: at.line,
        })
    }

    /// Warnings about columns with other names or units, and about ignored columns, with suggestions.
    fn column_warnings(&self, at: LinePosition<'_>, header: &csv::StringRecord) -> Vec<Diagnostic> {
        let absent = || KINDS.iter().filter(|row| self.find(row.0).is_none()).map(|row| row.1);
        let warning = |(place, word): (usize, &str)| {
            let key: String = word.chars().take(40).collect();
            match self.0.iter().find(|column| column.place == place) {
                Some(column) if column.own => None,
                Some(column) => {
                    let own = KINDS.iter().find(|row| row.0 == column.kind).map_or("", |row| row.1);
                    Some(Diagnostic::at(at.file, at.line, format!("read as {own}")).with_key(key))
                }
                None if word == NOTED => None,
                None => {
                    let warning = Diagnostic::at(at.file, at.line, "this column is ignored").with_key(key);
                    Some(warning.suggest_nearest(word, absent()))
                }
            }
        };
        header.iter().enumerate().filter_map(warning).collect()
    }
}
