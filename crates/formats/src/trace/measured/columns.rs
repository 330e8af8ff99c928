//! Finds the columns of a measured trace in CSV, by name and unit, and parses rows by them.
//!
//! Names are case-insensitive, with blanks or underscores between their words and the unit at the end (`response_us`,
//! `Response (us)`). Columns with other names than the standard ones give a warning that says how they are read. A time without
//! a unit in its name is refused, since the unit cannot be guessed.

use seekwise_drives::diagnostic::Diagnostic;

use super::row::{LATEST_MS, LONGEST_MS, LinePosition, RawRow, TIME_UNITS_MS};

/// A column that is ignored without a warning: how the drive served the request.
const INFORMATIVE_COLUMN: &str = "cache_tag";

const HEADER: &str = "a header with lba, sectors, op, measured_response_ms, think_ms or arrival_ms";

/// The kind of a column, its standard name, and other names; of times, other names without the unit.
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

/// A column of the header.
#[derive(Clone, Copy)]
struct TraceColumn {
    kind: ColumnKind,
    index: usize,
    /// For times, the unit in milliseconds, NaN if the name has none; for addresses and sizes, 1 for sectors, 512 for bytes.
    unit: f64,
    /// True if the column has the standard name of its kind.
    is_standard: bool,
}

/// A word of a row, with the standard name and the unit of its column.
struct FoundWord<'a> {
    name: &'static str,
    word: &'a str,
    unit: f64,
}

fn standard_name(kind: ColumnKind) -> &'static str {
    KINDS.iter().find(|known| known.0 == kind).map_or("", |known| known.1)
}

/// The columns of a trace.
pub(super) struct TraceColumns(Vec<TraceColumn>);

/// A name in lower case, with underscores between its words.
fn normalise_name(name: &str) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric() && c != '\u{b5}').filter(|word| !word.is_empty());
    words.map(|word| word.to_lowercase().replace(['\u{b5}', '\u{3bc}'], "u")).collect::<Vec<_>>().join("_")
}

/// The column that a name of the header means, if any.
fn recognise_column(name: &str, index: usize) -> Option<TraceColumn> {
    let name = normalise_name(name);
    KINDS.iter().find_map(|&(kind, standard_name, other_names)| {
        let column = |unit, is_standard| TraceColumn { kind, index, unit, is_standard };
        if name == standard_name {
            return Some(column(1.0, true));
        }
        let is_other_name = |name: &str| other_names.contains(&name);
        if !matches!(kind, ColumnKind::Measured | ColumnKind::Think | ColumnKind::Arrival) {
            let unit = if name.contains("bytes") { 512.0 } else { 1.0 };
            return is_other_name(&name).then(|| column(unit, false));
        }
        let unit = TIME_UNITS_MS
            .iter()
            .find(|unit| name.strip_suffix(unit.0).is_some_and(|rest| is_other_name(rest.trim_end_matches('_'))));
        match unit {
            Some(unit) => Some(column(unit.1, false)),
            None => is_other_name(&name).then(|| column(f64::NAN, false)),
        }
    })
}

impl TraceColumns {
    /// The columns of a header, with warnings.
    pub(super) fn from_header(
        position: LinePosition<'_>,
        header: &csv::StringRecord,
    ) -> Result<(TraceColumns, Vec<Diagnostic>), Diagnostic> {
        let recognised: Vec<TraceColumn> =
            header.iter().enumerate().filter_map(|(index, name)| recognise_column(name, index)).collect();
        let name_at = |index: usize| header.get(index).unwrap_or("");
        let mut columns: Vec<TraceColumn> = Vec::new();
        for column in &recognised {
            // A column with a standard name takes precedence over one with another name.
            if !column.is_standard && recognised.iter().any(|other| other.is_standard && other.kind == column.kind) {
                continue;
            }
            if let Some(other) = columns.iter().find(|other| other.kind == column.kind) {
                let message = format!("duplicate column, also given as `{}`", name_at(other.index));
                return Err(Diagnostic::at(position.file, position.line, message)
                    .with_key(name_at(column.index))
                    .with_expected("each column once"));
            }
            if column.unit.is_nan() {
                let fault =
                    Diagnostic::at(position.file, position.line, "the unit is missing").with_key(name_at(column.index));
                let expected = format!("`{}_ms`, `_us`, `_ns` or `_s`", normalise_name(name_at(column.index)));
                return Err(fault.with_expected(expected));
            }
            columns.push(*column);
        }
        let columns = TraceColumns(columns);
        for (kind, standard_name, _) in KINDS {
            // Think times follow from arrivals, and arrivals from think times.
            let is_derived = kind == ColumnKind::Think && columns.find(ColumnKind::Arrival).is_some();
            if kind != ColumnKind::Arrival && columns.find(kind).is_none() && !is_derived {
                let fault = Diagnostic::at(position.file, position.line, "this column is missing")
                    .with_key(standard_name)
                    .with_expected(HEADER);
                let unknown =
                    header.iter().enumerate().filter(|(index, name)| recognise_column(name, *index).is_none());
                return Err(fault.suggest_nearest(standard_name, unknown.map(|(_, name)| name)));
            }
        }
        let warnings = columns.column_warnings(position, header);
        Ok((columns, warnings))
    }

    fn find(&self, kind: ColumnKind) -> Option<TraceColumn> {
        self.0.iter().find(|column| column.kind == kind).copied()
    }

    /// Parses the request of a line.
    pub(super) fn parse_row(
        &self,
        position: LinePosition<'_>,
        record: &csv::StringRecord,
    ) -> Result<RawRow, Diagnostic> {
        let find_word = |kind: ColumnKind| {
            let name = standard_name(kind);
            let column = self.find(kind).expect("it was found in the header");
            let word = record.get(column.index);
            let fault = || Diagnostic::at(position.file, position.line, "the line ends before it").with_key(name);
            word.map(|word| FoundWord { name, word, unit: column.unit }).ok_or_else(fault)
        };
        let time = |kind: ColumnKind, limit_ms: f64| {
            let FoundWord { name, word, unit } = find_word(kind)?;
            position.parse_time(name, word, unit, limit_ms)
        };
        let optional_time = |kind: ColumnKind| self.find(kind).map(|_| time(kind, LATEST_MS)).transpose();
        let sectors = |kind: ColumnKind| {
            let FoundWord { name, word, unit } = find_word(kind)?;
            if unit == 1.0 {
                Ok(word.to_owned())
            } else {
                position.parse_bytes_as_sectors(name, word, unit as u64).map(|count| count.to_string())
            }
        };
        Ok(RawRow {
            op: position.parse_op(find_word(ColumnKind::Op)?.word)?,
            lba: position.parse_lba(&sectors(ColumnKind::Lba)?)?,
            sectors: position.parse_sectors(&sectors(ColumnKind::Sectors)?)?,
            measured: time(ColumnKind::Measured, LONGEST_MS)?,
            think: optional_time(ColumnKind::Think)?,
            arrival: optional_time(ColumnKind::Arrival)?,
            line: position.line,
        })
    }

    /// Warnings about columns with other names than the standard ones, and about ignored columns, with suggestions.
    fn column_warnings(&self, position: LinePosition<'_>, header: &csv::StringRecord) -> Vec<Diagnostic> {
        let absent = || KINDS.iter().filter(|row| self.find(row.0).is_none()).map(|row| row.1);
        let warning = |(index, name): (usize, &str)| {
            let key: String = name.chars().take(40).collect();
            match self.0.iter().find(|column| column.index == index) {
                Some(column) if column.is_standard => None,
                Some(column) => {
                    let message = format!("read as {}", standard_name(column.kind));
                    Some(Diagnostic::at(position.file, position.line, message).with_key(key))
                }
                None if name == INFORMATIVE_COLUMN => None,
                None => {
                    let warning = Diagnostic::at(position.file, position.line, "this column is ignored").with_key(key);
                    Some(warning.suggest_nearest(name, absent()))
                }
            }
        };
        header.iter().enumerate().filter_map(warning).collect()
    }
}
