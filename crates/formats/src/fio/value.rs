//! Parses the text of an option to a value of the option's type, and checks its range. The meaning of options is not known here.
//!
//! Types and limits are fio's (`fio --cmdhelp=NAME`).

use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::spelling::nearest;

use super::job_option::ExpandedOption;
use super::number::{self, Amount};

/// The values that an option accepts.
#[derive(Clone, Copy, Debug)]
pub(super) enum OptionType {
    /// Nothing, or 0 or 1.
    Flag,
    /// 0 or 1.
    Switch,
    /// A number in this range.
    Int(i64, i64),
    /// `read,write,trim` in this range.
    Ints(i64, i64),
    /// Bytes or percent.
    Size,
    /// A size, or two as a range.
    SizeRange,
    /// Ranges of sizes for read, write, trim.
    Ranges,
    /// A time; the field is the unit of a bare number, in microseconds.
    Time(u64),
    /// A time, or two as a range; the field is the unit of a bare number, in microseconds.
    TimeRange(u64),
    /// A number of 64 bits.
    Seed,
    /// A word of a list, optionally followed by `:more`.
    Word(&'static [&'static str]),
    /// Decimal numbers separated by `:`, up to this value.
    Decimals(u64),
    /// Any non-empty text.
    Text,
    /// Any text.
    Any,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OptionValue {
    Switch(bool),
    Int(i64),
    Seed(u64),
    Ints([Option<i64>; 3]),
    Size(Amount),
    /// Bytes, smaller first.
    SizeRange(u64, u64),
    Ranges([Option<(u64, u64)>; 3]),
    /// Nanoseconds.
    Time(u64),
    /// Nanoseconds, smaller first.
    TimeRange(u64, u64),
    Word(&'static str, Option<String>),
    Text(String),
}

impl OptionValue {
    /// True if the value is zero, off or empty, so that the option has no effect.
    pub(super) fn is_zero(&self) -> bool {
        match self {
            OptionValue::Switch(on) => !on,
            OptionValue::Int(n) => *n == 0,
            OptionValue::Seed(seed) => *seed == 0,
            OptionValue::Ints(all) => all.iter().all(|n| n.unwrap_or(0) == 0),
            OptionValue::Time(ns) => *ns == 0,
            OptionValue::Word(word, _) => matches!(*word, "0" | "none"),
            OptionValue::Text(text) => text.is_empty() || text == "0",
            _ => false,
        }
    }
}

/// The reason why an option is refused; becomes a diagnostic at the option's place.
#[derive(Debug, Default)]
pub(super) struct OptionError {
    message: String,
    expected: Option<String>,
    nearest: Option<String>,
}

impl OptionError {
    pub(super) fn new(message: impl Into<String>) -> OptionError {
        OptionError { message: message.into(), ..OptionError::default() }
    }

    pub(super) fn with_expected(mut self, expected: impl Into<String>) -> OptionError {
        self.expected = Some(expected.into());
        self
    }

    pub(super) fn suggest_nearest<'a>(mut self, word: &str, known: impl IntoIterator<Item = &'a str>) -> OptionError {
        self.nearest = nearest(word, known).map(str::to_owned);
        self
    }

    /// The diagnostic at the option; also names variables that are not set.
    pub(super) fn into_diagnostic(self, option: &ExpandedOption) -> Diagnostic {
        let unset: String = option.unset.iter().map(|name| format!("; the variable ${{{name}}} is not set")).collect();
        let mut diagnostic = option.diagnostic(self.message + &unset);
        diagnostic.expected = self.expected;
        diagnostic.nearest = self.nearest;
        diagnostic
    }
}

/// Parses `text` as `kind`; if fio reads it differently than it looks, a warning goes to `notes`.
pub(super) fn parse_value(
    kind: OptionType,
    text: Option<&str>,
    kb_base: u64,
    notes: &mut Vec<String>,
) -> Result<OptionValue, OptionError> {
    let Some(text) = text else {
        return match kind {
            OptionType::Flag => Ok(OptionValue::Switch(true)),
            OptionType::Any => Ok(OptionValue::Text(String::new())),
            _ => Err(OptionError::new("the option needs a value").with_expected(describe_type(kind))),
        };
    };
    match kind {
        OptionType::Word(words) => return parse_word(text, words),
        OptionType::Text if text.is_empty() => return Err(OptionError::new("the option needs a value")),
        OptionType::Text | OptionType::Any => return Ok(OptionValue::Text(text.to_owned())),
        _ => {}
    }
    let parsed = match kind {
        OptionType::Flag if text.is_empty() => Ok(OptionValue::Switch(true)),
        OptionType::Flag | OptionType::Switch => match text {
            "0" => Ok(OptionValue::Switch(false)),
            "1" => Ok(OptionValue::Switch(true)),
            _ => Err("0 or 1".to_owned()),
        },
        OptionType::Int(low, high) => parse_int(text, low, high, kb_base, notes).map(OptionValue::Int),
        OptionType::Seed => match text.trim().parse() {
            Ok(seed) => Ok(OptionValue::Seed(seed)),
            Err(_) => parse_int(text, 0, i64::MAX, kb_base, notes).map(|seed| OptionValue::Seed(seed.unsigned_abs())),
        },
        OptionType::Ints(low, high) => {
            number::parse_triple(text, &[',', ':', '-'], |part| parse_int(part, low, high, kb_base, notes))
                .map(OptionValue::Ints)
        }
        OptionType::Size => number::parse_amount(text, kb_base, notes).map(OptionValue::Size),
        OptionType::SizeRange => {
            parse_range(text, |part| parse_bytes(part, kb_base, notes)).map(|(a, b)| OptionValue::SizeRange(a, b))
        }
        OptionType::Ranges => parse_ranges(text, kb_base, notes).map(OptionValue::Ranges),
        OptionType::Time(unit) => number::parse_time_ns(text, unit, notes).map(OptionValue::Time),
        OptionType::TimeRange(unit) => parse_range(text, |part| number::parse_time_ns(part, unit, notes))
            .map(|(a, b)| OptionValue::TimeRange(a, b)),
        OptionType::Decimals(limit) => check_decimals(text, limit).map(OptionValue::Text),
        OptionType::Word(_) | OptionType::Text | OptionType::Any => unreachable!("returned above"),
    };
    parsed.map_err(|expected| OptionError::new(format!("`{text}` is not a value for it")).with_expected(expected))
}

fn describe_type(kind: OptionType) -> String {
    match kind {
        OptionType::Flag | OptionType::Switch => "0 or 1".to_owned(),
        OptionType::Int(low, high) | OptionType::Ints(low, high) => describe_bounds(low, high),
        OptionType::Size | OptionType::SizeRange => "a size".to_owned(),
        OptionType::Ranges => "a range of sizes such as 4k-16k".to_owned(),
        OptionType::Time(_) | OptionType::TimeRange(_) => "a time".to_owned(),
        OptionType::Seed => "a number from 0 to 2^64 - 1".to_owned(),
        OptionType::Word(words) => words.join(", "),
        OptionType::Decimals(_) => "numbers separated by `:`".to_owned(),
        OptionType::Text | OptionType::Any => "a string".to_owned(),
    }
}

fn describe_bounds(low: i64, high: i64) -> String {
    if high >= i64::from(u32::MAX) { format!("a number from {low}") } else { format!("a number from {low} to {high}") }
}

fn parse_int(text: &str, low: i64, high: i64, kb_base: u64, notes: &mut Vec<String>) -> Result<i64, String> {
    let value = number::parse_integer(text, kb_base, notes)?;
    if (low..=high).contains(&value) { Ok(value) } else { Err(describe_bounds(low, high)) }
}

fn parse_bytes(text: &str, kb_base: u64, notes: &mut Vec<String>) -> Result<u64, String> {
    parse_int(text, 1, i64::MAX, kb_base, notes).map(|bytes| bytes.unsigned_abs())
}

/// Parses `a`, `a-b`, `a:b` or `a,b` to the smaller and the larger end.
fn parse_range(text: &str, mut parse: impl FnMut(&str) -> Result<u64, String>) -> Result<(u64, u64), String> {
    if text.starts_with('(') {
        return parse(text).map(|value| (value, value));
    }
    match text.split_once([',', ':', '-']) {
        Some((low, high)) => {
            let (a, b) = (parse(low)?, parse(high)?);
            Ok((a.min(b), a.max(b)))
        }
        None => parse(text).map(|value| (value, value)),
    }
}

fn parse_ranges(text: &str, kb_base: u64, notes: &mut Vec<String>) -> Result<[Option<(u64, u64)>; 3], String> {
    number::parse_triple(text, &[','], |part| {
        if !part.contains(['-', ':']) {
            return Err("a range of sizes such as 4k-16k".to_owned());
        }
        parse_range(part, |end| parse_bytes(end, kb_base, notes))
    })
}

/// The text itself, if all its numbers are decimals of at most `limit`.
fn check_decimals(text: &str, limit: u64) -> Result<String, String> {
    let fits = |part: &str| number::parse_millionths(part).is_some_and(|value| value <= limit * 1_000_000);
    if text.split([':', ',']).all(fits) {
        Ok(text.to_owned())
    } else {
        Err(format!("decimal numbers from 0 to {limit}, separated by `:`"))
    }
}

/// Parses a word of a list, with the text after its first `:`.
fn parse_word(text: &str, words: &'static [&'static str]) -> Result<OptionValue, OptionError> {
    let (head, rest) = match text.split_once(':') {
        Some((head, rest)) => (head, Some(rest.to_owned())),
        None => (text, None),
    };
    match words.iter().find(|word| **word == head) {
        Some(word) => Ok(OptionValue::Word(word, rest)),
        None => {
            let fault = OptionError::new(format!("`{head}` is not a value for it")).with_expected(words.join(", "));
            Err(fault.suggest_nearest(head, words.iter().copied()))
        }
    }
}
