//! Parses sizes, times, percentages, decimals and triples in fio's notation.
//!
//! The rules are those of fio's number parser. Suffixes without `ib` are powers of `kb_base` (1024, or 1000 if the job sets it),
//! those with `ib` powers of the other base: `4kib` is 4000. If fio reads a number differently than it looks, a warning goes to
//! `notes`.

use seekwise_drives::duration::LONGEST;

use super::arithmetic::{self, NumberUnits};

/// A value, or the form that was expected.
pub(super) type NumberResult<T> = Result<T, String>;

/// A size in bytes, in percent, or in zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    Bytes(u64),
    Percent(u64),
    Zones(u64),
}

/// The form expected of a size.
const SIZE_FORM: &str = "a number with or without b, k, m, g, t, p (k is 1024, kib is 1000)";
/// The form expected of a time.
const TIME_FORM: &str = "a number with or without us, ms, s, m, h, d";

/// The parts of a number. Digits after a point are dropped.
struct NumberParts<'a> {
    is_negative: bool,
    whole: u64,
    has_fraction: bool,
    suffix: &'a str,
}

fn split_number(text: &str) -> Option<NumberParts<'_>> {
    let (is_negative, body) = match text.strip_prefix('-') {
        Some(body) => (true, body),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if let Some(digits) = body.strip_prefix("0x").or_else(|| body.strip_prefix("0X")) {
        let whole = u64::from_str_radix(digits, 16).ok()?;
        return Some(NumberParts { is_negative, whole, has_fraction: false, suffix: "" });
    }
    let end = body.find(|c: char| !c.is_ascii_digit()).unwrap_or(body.len());
    let whole = body[..end].parse().ok()?;
    let rest = &body[end..];
    match rest.strip_prefix('.') {
        Some(rest) => Some(NumberParts {
            is_negative,
            whole,
            has_fraction: true,
            suffix: rest.trim_start_matches(|c: char| c.is_ascii_digit()),
        }),
        None => Some(NumberParts { is_negative, whole, has_fraction: false, suffix: rest.trim_start() }),
    }
}

/// The text itself, with its parentheses, if it is an expression in parentheses.
fn if_parenthesised(text: &str) -> Option<&str> {
    text.strip_prefix('(')?.strip_suffix(')').map(|_| text)
}

/// Parses a number with an optional size suffix.
pub(super) fn parse_integer(text: &str, kb_base: u64, notes: &mut Vec<String>) -> NumberResult<i64> {
    let text = text.trim();
    if let Some(expression) = if_parenthesised(text) {
        let value = arithmetic::evaluate_with_units(expression, NumberUnits { is_time: false, implied_factor: 1 })?;
        return i64::try_from(value).map_err(|_| SIZE_FORM.to_owned());
    }
    let parts = split_number(text).ok_or(SIZE_FORM)?;
    let factor = if parts.has_fraction {
        notes.push(format!(
            "fio cuts `{text}` at the point and reads {}, without its unit; write a whole number",
            parts.whole
        ));
        1
    } else {
        let factor =
            size_factor(&parts.suffix.to_ascii_lowercase(), kb_base).ok_or_else(|| expected_size_form(parts.suffix))?;
        if parts.suffix.len() == 3 {
            let other = if kb_base == 1024 { "powers of 1000" } else { "powers of 1024" };
            notes.push(format!("fio reads `{text}` in {other} while kb_base is {kb_base}"));
        }
        factor
    };
    let value = i128::from(parts.whole) * i128::from(factor) * if parts.is_negative { -1 } else { 1 };
    i64::try_from(value).map_err(|_| "a number that fits in 63 bits".to_owned())
}

/// The form of a size that was expected instead of a number with this suffix.
fn expected_size_form(suffix: &str) -> String {
    match suffix {
        "z" | "Z" => {
            "a size in bytes: size, io_size, offset, offset_increment and zoneskip alone count zones (8z)".to_owned()
        }
        "%" => "a number, not a percentage".to_owned(),
        _ => SIZE_FORM.to_owned(),
    }
}

/// The bytes of a size suffix.
fn size_factor(suffix: &str, kb_base: u64) -> Option<u64> {
    let other_base = if kb_base == 1024 { 1000u64 } else { 1024 };
    let exponent = |letter: &str| "kmgtp".find(letter).map(|index| index as u32 + 1);
    match suffix.len() {
        0 => Some(1),
        1 if suffix == "b" => Some(1),
        1 => Some(kb_base.pow(exponent(suffix)?)),
        2 if suffix.ends_with(['b', 'i']) => Some(kb_base.pow(exponent(&suffix[..1])?)),
        3 if suffix.ends_with("ib") => Some(other_base.pow(exponent(&suffix[..1])?)),
        _ => None,
    }
}

/// Parses a size that is not negative, a percentage, or a number of zones.
pub(super) fn parse_amount(text: &str, kb_base: u64, notes: &mut Vec<String>) -> NumberResult<Amount> {
    if let Some(percent) = text.trim().strip_suffix('%') {
        let percent = percent.trim().parse().ok().filter(|percent| *percent <= 100);
        return percent.map(Amount::Percent).ok_or_else(|| "a percentage from 0% to 100%".to_owned());
    }
    if let Some(zones) = text.trim().strip_suffix('z') {
        return zones.parse().map(Amount::Zones).map_err(|_| "a number of zones such as 8z".to_owned());
    }
    let value = parse_integer(text, kb_base, notes)?;
    u64::try_from(value).map(Amount::Bytes).map_err(|_| "a size that is not negative".to_owned())
}

/// Parses a time; a number without a unit counts in units of `bare_unit_us` microseconds.
pub(super) fn parse_time_ns(text: &str, bare_unit_us: u64, notes: &mut Vec<String>) -> NumberResult<u64> {
    let text = text.trim();
    let nanoseconds = |micros: i128| {
        let nanos = micros.checked_mul(1000).and_then(|nanos| u64::try_from(nanos).ok());
        nanos.filter(|nanos| *nanos <= LONGEST).ok_or_else(|| "a time from 0 to 10 years".to_owned())
    };
    if let Some(expression) = if_parenthesised(text) {
        let units = NumberUnits { is_time: true, implied_factor: i128::from(bare_unit_us) };
        return nanoseconds(arithmetic::evaluate_with_units(expression, units)?);
    }
    let parts = split_number(text).filter(|parts| !parts.is_negative).ok_or(TIME_FORM)?;
    let factor = if parts.has_fraction {
        notes.push(format!("fio cuts `{text}` at the point; write a whole number of a smaller unit"));
        bare_unit_us
    } else {
        let unit = find_time_unit(&parts.suffix.to_ascii_lowercase(), bare_unit_us).ok_or(TIME_FORM)?;
        if !unit.is_known_to_fio {
            notes.push(format!("fio itself reads `{text}` as {} us: it knows only us, ms, s, m, h, d", parts.whole));
        }
        unit.microseconds
    };
    nanoseconds(i128::from(parts.whole) * i128::from(factor))
}

/// A unit of time.
struct TimeUnit {
    microseconds: u64,
    /// False for words that fio takes for microseconds.
    is_known_to_fio: bool,
}

/// The unit that a suffix means; `bare_unit_us` without one.
fn find_time_unit(suffix: &str, bare_unit_us: u64) -> Option<TimeUnit> {
    let (microseconds, is_known_to_fio) = match suffix {
        "" => (bare_unit_us, true),
        "us" | "usec" => (1, true),
        "ms" | "msec" => (1_000, true),
        "s" => (1_000_000, true),
        "m" => (60_000_000, true),
        "h" => (3_600_000_000, true),
        "d" => (86_400_000_000, true),
        "sec" | "secs" | "second" | "seconds" => (1_000_000, false),
        "min" | "mins" | "minute" | "minutes" => (60_000_000, false),
        "hour" | "hours" => (3_600_000_000, false),
        "day" | "days" => (86_400_000_000, false),
        _ => return None,
    };
    Some(TimeUnit { microseconds, is_known_to_fio })
}

/// Parses a decimal number to millionths; further digits are dropped.
pub(super) fn parse_millionths(text: &str) -> Option<u64> {
    let text = text.trim();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains(|c: char| !c.is_ascii_digit()) {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let digits: String = fraction.chars().chain("000000".chars()).take(6).collect();
    whole.checked_mul(1_000_000)?.checked_add(digits.parse().ok()?)
}

/// Splits `read,write,trim` and parses each part. The last part also applies to the directions after it; an empty part is `None`
/// and leaves its direction unchanged.
pub(super) fn parse_triple<T: Clone>(
    text: &str,
    separators: &[char],
    mut parse: impl FnMut(&str) -> NumberResult<T>,
) -> NumberResult<[Option<T>; 3]> {
    let separator = separators.iter().find(|separator| text.find(**separator).is_some_and(|at| at > 0));
    let separator = if text.starts_with(',') { Some(&',') } else { separator };
    let mut parts: Vec<&str> = match separator {
        Some(separator) => text.split(*separator).map(str::trim).collect(),
        None => vec![text.trim()],
    };
    let ends_in_separator = parts.len() > 1 && parts.last() == Some(&"");
    if ends_in_separator {
        parts.pop();
    }
    if parts.len() > 3 {
        return Err("at most three values: read,write,trim".to_owned());
    }
    if parts.iter().all(|part| part.is_empty()) {
        return Err("a value".to_owned());
    }
    let mut values = [None, None, None];
    for (slot, part) in values.iter_mut().zip(&parts) {
        *slot = if part.is_empty() { None } else { Some(parse(part)?) };
    }
    if !ends_in_separator {
        let last = values[parts.len() - 1].clone();
        values[parts.len()..].fill(last);
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(text: &str, kb_base: u64) -> (NumberResult<i64>, usize) {
        let mut notes = Vec::new();
        (parse_integer(text, kb_base, &mut notes), notes.len())
    }

    #[test]
    fn sizes_follow_kb_base_and_its_inversion() {
        for (text, binary, decimal) in [
            ("4k", 4096, 4000),
            ("4KB", 4096, 4000),
            ("4ki", 4096, 4000),
            ("4kib", 4000, 4096),
            ("1g", 1 << 30, 1_000_000_000),
            ("1GiB", 1_000_000_000, 1 << 30),
            ("0x10", 16, 16),
            ("1B", 1, 1),
            ("(2*4k)", 8192, 8192),
            ("-8k", -8192, -8000),
        ] {
            assert_eq!(size(text, 1024).0, Ok(binary), "{text}");
            assert_eq!(size(text, 1000).0, Ok(decimal), "{text}");
        }
        assert_eq!(size("1.5g", 1024), (Ok(1), 1), "cut at the point, with a note");
        assert_eq!(size("4k", 1024).1, 0);
        for text in ["", "k", "4q", "4kx", "3z", "20%", "0xzz", "99999999999g", "12é"] {
            assert!(size(text, 1024).0.is_err(), "{text}");
        }
    }

    #[test]
    fn times_accept_words_that_fio_misreads() {
        let time = |text: &str| {
            let mut notes = Vec::new();
            (parse_time_ns(text, 1_000_000, &mut notes), notes.len())
        };
        assert_eq!(time("10m"), (Ok(600_000_000_000), 0));
        assert_eq!(time("10"), (Ok(10_000_000_000), 0));
        assert_eq!(time("10sec"), (Ok(10_000_000_000), 1));
        assert_eq!(time("5ms"), (Ok(5_000_000), 0));
        assert_eq!(time("(1m+30)"), (Ok(60_000_030_000), 0), "a unit anywhere makes a bare number microseconds");
        assert!(time("10x").0.is_err());
        assert!(time("-1").0.is_err());
    }

    #[test]
    fn a_part_without_a_comma_holds_for_the_rest() {
        let read = |text: &str| parse_triple(text, &[',', ':', '-'], |part| parse_integer(part, 1024, &mut Vec::new()));
        assert_eq!(read("8k"), Ok([Some(8192); 3]));
        assert_eq!(read("8k,32k"), Ok([Some(8192), Some(32768), Some(32768)]));
        assert_eq!(read("8k,32k,"), Ok([Some(8192), Some(32768), None]));
        assert_eq!(read(",8k"), Ok([None, Some(8192), Some(8192)]));
        assert_eq!(read("8k,,16k"), Ok([Some(8192), None, Some(16384)]));
        assert!(read("1,2,3,4").is_err());
        assert!(read(",").is_err());
    }
}
