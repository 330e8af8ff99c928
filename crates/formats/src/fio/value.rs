//! An option's text, checked against its kind: type and range.
//!
//! It does not know what an option means. Source: fio's option types and their limits (`fio --cmdhelp=NAME`).

use super::given::Expanded;
use super::number::{self, Amount};
use crate::diagnostic::Diagnostic;
use crate::spelling::nearest;

/// What an option accepts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
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
    /// One size, or two as a range.
    SizeRange,
    /// Ranges of sizes for read, write, trim.
    Ranges,
    /// A time; the unit of a bare number in microseconds.
    Time(u64),
    /// One time, or two as a range.
    TimeRange(u64),
    /// A number of 64 bits.
    Seed,
    /// One of these words, optionally followed by `:more`.
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
pub(super) enum Value {
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

impl Value {
    /// Whether it is zero, off or empty, so that the option has no effect.
    pub(super) fn is_zero(&self) -> bool {
        match self {
            Value::Switch(on) => !on,
            Value::Int(n) => *n == 0,
            Value::Seed(seed) => *seed == 0,
            Value::Ints(all) => all.iter().all(|n| n.unwrap_or(0) == 0),
            Value::Time(ns) => *ns == 0,
            Value::Word(word, _) => matches!(*word, "0" | "none"),
            Value::Text(text) => text.is_empty() || text == "0",
            _ => false,
        }
    }
}

/// Why an option is refused; becomes a diagnostic at its place.
#[derive(Debug, Default)]
pub(super) struct Fault {
    message: String,
    expected: Option<String>,
    nearest: Option<String>,
}

impl Fault {
    pub(super) fn new(message: impl Into<String>) -> Fault {
        Fault { message: message.into(), ..Fault::default() }
    }

    pub(super) fn expected(mut self, expected: impl Into<String>) -> Fault {
        self.expected = Some(expected.into());
        self
    }

    pub(super) fn nearest_to<'a>(mut self, word: &str, known: impl IntoIterator<Item = &'a str>) -> Fault {
        self.nearest = nearest(word, known).map(str::to_owned);
        self
    }

    /// The diagnostic at the option; names variables that are not set.
    pub(super) fn at(self, option: &Expanded) -> Diagnostic {
        let unset: String = option.unset.iter().map(|name| format!("; the variable ${{{name}}} is not set")).collect();
        let mut diagnostic = option.diagnostic(self.message + &unset);
        diagnostic.expected = self.expected;
        diagnostic.nearest = self.nearest;
        diagnostic
    }
}

/// Reads `text` as `kind`; if fio reads it differently than it looks, this goes to `notes`.
pub(super) fn read(kind: Kind, text: Option<&str>, kb_base: u64, notes: &mut Vec<String>) -> Result<Value, Fault> {
    let Some(text) = text else {
        return match kind {
            Kind::Flag => Ok(Value::Switch(true)),
            Kind::Any => Ok(Value::Text(String::new())),
            _ => Err(Fault::new("the option needs a value").expected(describe(kind))),
        };
    };
    match kind {
        Kind::Word(words) => return word(text, words),
        Kind::Text if text.is_empty() => return Err(Fault::new("the option needs a value")),
        Kind::Text | Kind::Any => return Ok(Value::Text(text.to_owned())),
        _ => {}
    }
    let read = match kind {
        Kind::Flag if text.is_empty() => Ok(Value::Switch(true)),
        Kind::Flag | Kind::Switch => match text {
            "0" => Ok(Value::Switch(false)),
            "1" => Ok(Value::Switch(true)),
            _ => Err("0 or 1".to_owned()),
        },
        Kind::Int(low, high) => int(text, low, high, kb_base, notes).map(Value::Int),
        Kind::Seed => match text.trim().parse() {
            Ok(seed) => Ok(Value::Seed(seed)),
            Err(_) => int(text, 0, i64::MAX, kb_base, notes).map(|seed| Value::Seed(seed.unsigned_abs())),
        },
        Kind::Ints(low, high) => {
            number::triple(text, &[',', ':', '-'], |part| int(part, low, high, kb_base, notes)).map(Value::Ints)
        }
        Kind::Size => number::amount(text, kb_base, notes).map(Value::Size),
        Kind::SizeRange => range(text, |part| bytes(part, kb_base, notes)).map(|(a, b)| Value::SizeRange(a, b)),
        Kind::Ranges => ranges(text, kb_base, notes).map(Value::Ranges),
        Kind::Time(unit) => number::time(text, unit, notes).map(Value::Time),
        Kind::TimeRange(unit) => {
            range(text, |part| number::time(part, unit, notes)).map(|(a, b)| Value::TimeRange(a, b))
        }
        Kind::Decimals(most) => decimals(text, most).map(Value::Text),
        Kind::Word(_) | Kind::Text | Kind::Any => unreachable!("returned above"),
    };
    read.map_err(|expected| Fault::new(format!("`{text}` is not a value for it")).expected(expected))
}

fn describe(kind: Kind) -> String {
    match kind {
        Kind::Flag | Kind::Switch => "0 or 1".to_owned(),
        Kind::Int(low, high) | Kind::Ints(low, high) => bounds(low, high),
        Kind::Size | Kind::SizeRange => "a size".to_owned(),
        Kind::Ranges => "a range of sizes such as 4k-16k".to_owned(),
        Kind::Time(_) | Kind::TimeRange(_) => "a time".to_owned(),
        Kind::Seed => "a number from 0 to 2^64 - 1".to_owned(),
        Kind::Word(words) => words.join(", "),
        Kind::Decimals(_) => "numbers separated by `:`".to_owned(),
        Kind::Text | Kind::Any => "a string".to_owned(),
    }
}

fn bounds(low: i64, high: i64) -> String {
    if high >= i64::from(u32::MAX) { format!("a number from {low}") } else { format!("a number from {low} to {high}") }
}

fn int(text: &str, low: i64, high: i64, kb_base: u64, notes: &mut Vec<String>) -> Result<i64, String> {
    let value = number::integer(text, kb_base, notes)?;
    if (low..=high).contains(&value) { Ok(value) } else { Err(bounds(low, high)) }
}

fn bytes(text: &str, kb_base: u64, notes: &mut Vec<String>) -> Result<u64, String> {
    int(text, 1, i64::MAX, kb_base, notes).map(|bytes| bytes.unsigned_abs())
}

/// `a`, `a-b`, `a:b` or `a,b`; swapped when reversed.
fn range(text: &str, mut read: impl FnMut(&str) -> Result<u64, String>) -> Result<(u64, u64), String> {
    if text.starts_with('(') {
        return read(text).map(|value| (value, value));
    }
    match text.split_once([',', ':', '-']) {
        Some((low, high)) => {
            let (a, b) = (read(low)?, read(high)?);
            Ok((a.min(b), a.max(b)))
        }
        None => read(text).map(|value| (value, value)),
    }
}

fn ranges(text: &str, kb_base: u64, notes: &mut Vec<String>) -> Result<[Option<(u64, u64)>; 3], String> {
    number::triple(text, &[','], |part| {
        if !part.contains(['-', ':']) {
            return Err("a range of sizes such as 4k-16k".to_owned());
        }
        range(part, |end| bytes(end, kb_base, notes))
    })
}

/// The text itself if all its numbers are decimals of at most `most`.
fn decimals(text: &str, most: u64) -> Result<String, String> {
    let fits = |part: &str| number::millionths(part).is_some_and(|value| value <= most * 1_000_000);
    if text.split([':', ',']).all(fits) {
        Ok(text.to_owned())
    } else {
        Err(format!("decimal numbers from 0 to {most}, separated by `:`"))
    }
}

/// The word up to the first `:`.
fn word(text: &str, words: &'static [&'static str]) -> Result<Value, Fault> {
    let (head, rest) = match text.split_once(':') {
        Some((head, rest)) => (head, Some(rest.to_owned())),
        None => (text, None),
    };
    match words.iter().find(|word| **word == head) {
        Some(word) => Ok(Value::Word(word, rest)),
        None => {
            let fault = Fault::new(format!("`{head}` is not a value for it")).expected(words.join(", "));
            Err(fault.nearest_to(head, words.iter().copied()))
        }
    }
}
