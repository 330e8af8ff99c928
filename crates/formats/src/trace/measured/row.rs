//! A row of a measured trace, and the parsing of its words with their limits.

use seekwise_disk::block::Op;
use seekwise_disk::time::Span;

use seekwise_drives::diagnostic::Diagnostic;

/// Units of time by their names, in milliseconds.
pub(super) const TIME_UNITS_MS: [(&str, f64); 5] = [("ms", 1.0), ("us", 1e-3), ("ns", 1e-6), ("s", 1e3), ("sec", 1e3)];

/// The longest response time in milliseconds, a minute: longer ones suggest a wrong unit.
pub(super) const LONGEST_MS: f64 = 60_000.0;

/// The longest trace in milliseconds: a year.
pub(super) const LATEST_MS: f64 = 366.0 * 86_400_000.0;

/// A request before missing values are derived.
pub(super) struct RawRow {
    pub op: Op,
    pub lba: u64,
    pub sectors: u32,
    pub measured: Span,
    pub think: Option<Span>,
    pub arrival: Option<Span>,
    pub line: usize,
}

/// The line of a word, for errors.
#[derive(Clone, Copy)]
pub(super) struct LinePosition<'a> {
    pub file: &'a str,
    pub line: usize,
}

impl LinePosition<'_> {
    pub(crate) fn parse_op(&self, word: &str) -> Result<Op, Diagnostic> {
        match word {
            "R" | "r" => Ok(Op::Read),
            "W" | "w" => Ok(Op::Write),
            _ if word.eq_ignore_ascii_case("read") => Ok(Op::Read),
            _ if word.eq_ignore_ascii_case("write") => Ok(Op::Write),
            _ => Err(self.invalid_word("op", word, "R or W")),
        }
    }

    pub(crate) fn parse_lba(&self, word: &str) -> Result<u64, Diagnostic> {
        let lba = word.parse().ok().filter(|&lba: &u64| lba < 1 << 48);
        lba.ok_or_else(|| self.invalid_word("lba", word, "a block number below 2^48"))
    }

    pub(crate) fn parse_sectors(&self, word: &str) -> Result<u32, Diagnostic> {
        let sectors = word.parse().ok().filter(|sectors| (1..=65_536).contains(sectors));
        sectors.ok_or_else(|| self.invalid_word("sectors", word, "a whole number from 1 to 65536"))
    }

    /// A number of bytes as a number of sectors.
    pub(crate) fn parse_bytes_as_sectors(&self, key: &str, word: &str, sector_bytes: u64) -> Result<u64, Diagnostic> {
        let bytes = word.parse().ok().filter(|bytes: &u64| bytes.is_multiple_of(sector_bytes));
        let sectors = bytes.map(|bytes| bytes / sector_bytes);
        sectors.ok_or_else(|| self.invalid_word(key, word, &format!("a multiple of {sector_bytes} bytes")))
    }

    /// A time from a number of units of `unit_ms` milliseconds.
    pub(crate) fn parse_time(&self, key: &str, word: &str, unit_ms: f64, limit_ms: f64) -> Result<Span, Diagnostic> {
        let ms = word.parse::<f64>().ok().map(|value| value * unit_ms).filter(|ms| (0.0..=limit_ms).contains(ms));
        let fault = || {
            let expected = format!("a time from 0 to {} {}", limit_ms / unit_ms, unit_name(unit_ms));
            self.invalid_word(key, word, &expected)
        };
        let ms = ms.ok_or_else(fault)?;
        Ok(Span::from_nanos((ms * 1e6).round() as u64))
    }

    pub(crate) fn invalid_word(&self, key: &str, word: &str, expected: &str) -> Diagnostic {
        let word: String = word.chars().take(40).collect();
        Diagnostic::at(self.file, self.line, format!("`{word}` is invalid")).with_key(key).with_expected(expected)
    }
}

fn unit_name(unit_ms: f64) -> &'static str {
    TIME_UNITS_MS.into_iter().find(|known| known.1 == unit_ms).map_or("ms", |known| known.0)
}
