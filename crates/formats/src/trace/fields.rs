//! Parses the words of a line of a trace: whole numbers, decimals times a unit, addresses and lengths in any unit. Errors name
//! the line, the word and what was expected. Words are read as bytes, eight at a time where that is faster: a trace may have a
//! hundred million lines, and its words need not be UTF-8.

use seekwise_disk::block::SECTOR;

use seekwise_drives::diagnostic::Diagnostic;

/// A line of a file.
#[derive(Clone, Copy)]
pub(super) struct TraceLine<'a> {
    /// The file's name.
    pub file: &'a str,
    /// The number, from 1.
    pub number: u64,
    /// The text, without the line end and surrounding blanks.
    pub text: &'a [u8],
}

/// The units of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceUnits {
    /// Nanoseconds in a unit of time.
    pub time: u64,
    /// Bytes in a unit of address.
    pub address: u64,
    /// Bytes in a unit of length.
    pub length: u64,
}

/// A run of sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TraceExtent {
    pub lba: u64,
    pub sectors: u32,
    /// True if the run was extended to whole sectors.
    pub ragged: bool,
}

/// The largest disk: 16 EiB, in sectors.
const MOST_SECTORS: u64 = 1 << 55;

impl TraceLine<'_> {
    /// An error about the line.
    pub fn fault(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::at(self.file, self.number as usize, message)
    }

    /// The error about an invalid `word`.
    pub(crate) fn invalid_word(&self, key: &str, word: &[u8], expected: &str) -> Diagnostic {
        self.fault(format!("`{}` is invalid", printable_word(word))).with_key(key).with_expected(expected)
    }

    /// The error about a wrong number of values.
    pub(crate) fn wrong_count(&self, count: usize, expected: &str) -> Diagnostic {
        self.fault(format!("{count} {}", if count == 1 { "value" } else { "values" })).with_expected(expected)
    }

    /// The decimal number `word` times `unit_ns`, in nanoseconds.
    #[inline]
    pub(crate) fn parse_time_ns(&self, key: &str, word: &[u8], unit_ns: u64) -> Result<u64, Diagnostic> {
        parse_decimal(word, unit_ns).ok_or_else(|| {
            // A number that is too large is probably of another unit: 2^64 nanoseconds are 584 years.
            let limit = if parse_decimal(word, 1).is_some() { ", below 584 years" } else { "" };
            self.invalid_word(key, word, &format!("a time in {}{limit}", time_unit_name(unit_ns)))
        })
    }

    /// A whole number.
    #[inline]
    pub(crate) fn parse_whole(&self, key: &str, word: &[u8]) -> Result<u64, Diagnostic> {
        parse_digits(word).ok_or_else(|| self.invalid_word(key, word, "a whole number"))
    }

    /// The sectors, one or more, that an address and a length cover. `keys` and `words` are of the address, then the length.
    #[inline]
    pub(crate) fn parse_extent(
        &self,
        keys: [&str; 2],
        words: [&[u8]; 2],
        units: &TraceUnits,
    ) -> Result<TraceExtent, Diagnostic> {
        self.parse_mapped_extent(keys, words, units, |start_byte| start_byte)
    }

    /// As [`TraceLine::parse_extent`], from the byte that `map_start_byte` gives for the written one.
    #[inline]
    pub(crate) fn parse_mapped_extent(
        &self,
        keys: [&str; 2],
        words: [&[u8]; 2],
        units: &TraceUnits,
        map_start_byte: impl Fn(u64) -> u64,
    ) -> Result<TraceExtent, Diagnostic> {
        let (address, length) = (self.parse_whole(keys[0], words[0])?, self.parse_whole(keys[1], words[1])?);
        if length == 0 {
            return Err(self.invalid_word(keys[1], words[1], "at least 1"));
        }
        let written_start = address.checked_mul(units.address);
        let written_start =
            written_start.ok_or_else(|| self.invalid_word(keys[0], words[0], "an address below 16 EiB"))?;
        let start = map_start_byte(written_start);
        let bytes = length.checked_mul(units.length);
        let bytes = bytes.ok_or_else(|| self.invalid_word(keys[1], words[1], "a length below 2 TiB"))?;
        covering_extent(start, bytes).ok_or_else(|| {
            let (wrong, expected) = if start / SECTOR >= MOST_SECTORS {
                (0, "an address below 16 EiB")
            } else {
                (1, "a length below 2 TiB")
            };
            self.invalid_word(keys[wrong], words[wrong], expected)
        })
    }
}

/// The sectors that contain a range of bytes; `None` beyond the largest disk or 32 bits of sectors.
#[inline]
fn covering_extent(start_byte: u64, bytes: u64) -> Option<TraceExtent> {
    let end_byte = start_byte.checked_add(bytes)?;
    let (lba, end_lba) = (start_byte / SECTOR, end_byte.div_ceil(SECTOR));
    let ragged = !start_byte.is_multiple_of(SECTOR) || !end_byte.is_multiple_of(SECTOR);
    let sectors = u32::try_from(end_lba - lba).ok()?;
    (end_lba <= MOST_SECTORS).then_some(TraceExtent { lba, sectors, ragged })
}

/// A run of sectors; `None` beyond the largest disk or 32 bits of sectors.
pub(super) fn sector_extent(lba: u64, sectors: u64) -> Option<TraceExtent> {
    let count = u32::try_from(sectors).ok()?;
    (lba.checked_add(sectors)? <= MOST_SECTORS).then_some(TraceExtent { lba, sectors: count, ragged: false })
}

/// A word for an error message: short, and plain text.
pub(super) fn printable_word(word: &[u8]) -> String {
    let text = String::from_utf8_lossy(&word[..word.len().min(160)]).into_owned();
    let text_or_replacement = |c: char| if seekwise_drives::diagnostic::is_text(c) { c } else { '\u{fffd}' };
    text.chars().map(text_or_replacement).take(40).collect()
}

/// A 1 in each of eight bytes; times a byte, that byte in each.
const ONE_IN_EACH_BYTE: u64 = 0x0101_0101_0101_0101;

/// The most digits that always fit in 64 bits.
const DIGITS_THAT_FIT: usize = 19;

/// A whole number of decimal digits.
#[inline]
pub(super) fn parse_digits(word: &[u8]) -> Option<u64> {
    if word.is_empty() || word.len() > DIGITS_THAT_FIT {
        return parse_digits_checked(word);
    }
    let (mut number, mut all_digits) = (0u64, true);
    let (eights, rest) = word.as_chunks();
    for &digits in eights {
        number = number.wrapping_mul(100_000_000).wrapping_add(parse_eight_digits(digits)?);
    }
    for byte in rest {
        let digit = byte.wrapping_sub(b'0');
        all_digits &= digit <= 9;
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    all_digits.then_some(number)
}

/// Parses eight digits at once: neighbours become numbers of two digits, of four, of eight (Daniel Lemire's method).
#[inline]
fn parse_eight_digits(digits: [u8; 8]) -> Option<u64> {
    let word = u64::from_le_bytes(digits) ^ (ONE_IN_EACH_BYTE * 0x30);
    // A byte above 9 has its highest bit set, or has it set after 118 (0x76) is added.
    if (word | word.wrapping_add(ONE_IN_EACH_BYTE * 0x76)) & (ONE_IN_EACH_BYTE * 0x80) != 0 {
        return None;
    }
    let twos = (word.wrapping_mul(1 + (10 << 8)) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (twos.wrapping_mul(1 + (100 << 16)) >> 16) & 0x0000_ffff_0000_ffff;
    Some(fours.wrapping_mul(1 + (10_000 << 32)) >> 32)
}

/// As [`parse_digits`], with a check of each step: the number may not fit.
#[cold]
fn parse_digits_checked(word: &[u8]) -> Option<u64> {
    word.first()?;
    word.iter().try_fold(0u64, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { number.checked_mul(10)?.checked_add(u64::from(digit)) }
    })
}

/// A whole number of hexadecimal digits, with or without `0x`.
pub(super) fn parse_hexadecimal(word: &[u8]) -> Option<u64> {
    let digits = word.strip_prefix(b"0x").unwrap_or(word);
    let text = std::str::from_utf8(digits).ok()?;
    if text.starts_with('+') { None } else { u64::from_str_radix(text, 16).ok() }
}

/// A decimal number times `unit`, rounded to the nearest whole; `1.5`, `.5`, `2`, `1e-3`.
#[inline]
pub(super) fn parse_decimal(word: &[u8], unit: u64) -> Option<u64> {
    if let Some(number) = parse_digits(word) {
        return number.checked_mul(unit);
    }
    let point = word.iter().position(|byte| !byte.is_ascii_digit())?;
    if word[point] != b'.' || word.len() == 1 {
        return parse_exponential(word, unit);
    }
    let whole = if point == 0 { 0 } else { parse_digits(&word[..point])? };
    let digits = &word[point + 1..];
    if !digits.iter().all(u8::is_ascii_digit) {
        return parse_exponential(word, unit);
    }
    // More digits than this are below any unit's nanosecond.
    let digits = &digits[..digits.len().min(18)];
    let fraction_digits = if digits.is_empty() { 0 } else { parse_digits(digits)? };
    let scale = 10u64.pow(digits.len() as u32);
    let fraction = match fraction_digits.checked_mul(unit) {
        Some(scaled) => scaled.checked_add(scale / 2)? / scale,
        None => {
            u64::try_from((u128::from(fraction_digits) * u128::from(unit) + u128::from(scale / 2)) / u128::from(scale))
                .ok()?
        }
    };
    whole.checked_mul(unit)?.checked_add(fraction)
}

/// A number with an exponent, as programs print very small ones.
fn parse_exponential(word: &[u8], unit: u64) -> Option<u64> {
    let text = std::str::from_utf8(word).ok()?;
    if !text.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let number = text.parse::<f64>().ok()? * unit as f64;
    // Below 2^63, so that sums with other times fit in a u64.
    (number.is_finite() && (0.0..9.2e18).contains(&number)).then_some(number.round() as u64)
}

/// The words between commas, without surrounding blanks, and their number; words beyond `N` are only counted.
#[inline]
pub(super) fn split_commas<const N: usize>(text: &[u8]) -> ([&[u8]; N], usize) {
    let mut words: [&[u8]; N] = [&[]; N];
    let (mut count, mut word_start) = (0, 0);
    let mut end_word_at = |offset: usize| {
        if let Some(word) = words.get_mut(count) {
            *word = trim_blanks(&text[word_start..offset]);
        }
        (count, word_start) = (count + 1, offset + 1);
    };
    let (eights, rest) = text.as_chunks();
    for (index, &eight) in eights.iter().enumerate() {
        let mut commas = mask_of_equal_bytes(eight, b',');
        while commas != 0 {
            end_word_at(index * 8 + commas.trailing_zeros() as usize / 8);
            commas &= commas - 1;
        }
    }
    for (index, _) in rest.iter().enumerate().filter(|(_, byte)| **byte == b',') {
        end_word_at(eights.len() * 8 + index);
    }
    end_word_at(text.len());
    (words, count)
}

/// Removes surrounding blanks, which few words of a trace have.
#[inline]
fn trim_blanks(word: &[u8]) -> &[u8] {
    match word {
        [first, .., last] if first.is_ascii_graphic() && last.is_ascii_graphic() => word,
        _ => word.trim_ascii(),
    }
}

/// The first position of a byte.
#[inline]
pub(super) fn find_byte(bytes: &[u8], wanted: u8) -> Option<usize> {
    let (eights, rest) = bytes.as_chunks();
    for (index, &eight) in eights.iter().enumerate() {
        let found = mask_of_equal_bytes(eight, wanted);
        if found != 0 {
            return Some(index * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    rest.iter().position(|&byte| byte == wanted).map(|index| eights.len() * 8 + index)
}

/// A mask with the highest bit of each of eight bytes that is `wanted`, the first byte lowest.
#[inline]
fn mask_of_equal_bytes(bytes: [u8; 8], wanted: u8) -> u64 {
    let differences = u64::from_le_bytes(bytes) ^ (ONE_IN_EACH_BYTE * u64::from(wanted));
    !(((differences & (ONE_IN_EACH_BYTE * 0x7f)) + ONE_IN_EACH_BYTE * 0x7f) | differences) & (ONE_IN_EACH_BYTE * 0x80)
}

/// The words between blanks, and their number; words beyond `N` are only counted.
#[inline]
pub(super) fn split_blanks<const N: usize>(text: &[u8]) -> ([&[u8]; N], usize) {
    let mut words: [&[u8]; N] = [&[]; N];
    let mut count = 0;
    for word in text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
        if count < N {
            words[count] = word;
        }
        count += 1;
    }
    (words, count)
}

/// Units of time by their words, in nanoseconds.
pub const TIME_UNITS: [(&str, u64); 5] =
    [("ns", 1), ("100ns", 100), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// The name of a unit of time.
pub fn time_unit_name(unit_ns: u64) -> &'static str {
    match unit_ns {
        1 => "nanoseconds",
        100 => "units of 100 ns",
        1_000 => "microseconds",
        1_000_000 => "milliseconds",
        _ => "seconds",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_where_their_digits_are() {
        for (word, unit, expected) in [
            ("0.551706", 1_000_000_000, Some(551_706_000)),
            ("7961.833", 1_000_000, Some(7_961_833_000)),
            ("128166372003061629", 100, Some(12_816_637_200_306_162_900)),
            ("5", 1_000, Some(5_000)),
            (".5", 1_000, Some(500)),
            ("5.", 1_000, Some(5_000)),
            ("0.0000000005", 1_000_000_000, Some(1)),
            ("1.000000000000000000000009", 1_000_000_000, Some(1_000_000_000)),
            ("1e-3", 1_000_000_000, Some(1_000_000)),
            ("1.5e3", 1_000, Some(1_500_000)),
            ("-1", 1_000, None),
            ("+1", 1_000, None),
            ("", 1, None),
            (".", 1, None),
            ("1.2.3", 1, None),
            ("inf", 1, None),
            ("1e99", 1, None),
            ("99999999999999999999", 1, None),
            ("2 448003", 1, None),
        ] {
            assert_eq!(parse_decimal(word.as_bytes(), unit), expected, "{word}");
        }
    }

    #[test]
    fn whole_sectors_are_taken_around_bytes() {
        assert_eq!(covering_extent(512, 1_024), Some(TraceExtent { lba: 1, sectors: 2, ragged: false }));
        assert_eq!(covering_extent(511, 2), Some(TraceExtent { lba: 0, sectors: 2, ragged: true }));
        assert_eq!(covering_extent(u64::MAX - 5, 6), None, "beyond what any disk has");
        assert_eq!(covering_extent(0, 1 << 41), None, "sectors are counted in 32 bits");
    }

    #[test]
    fn whole_numbers_go_to_the_last_that_fits() {
        for (word, expected) in [
            ("0", Some(0)),
            ("9999999999999999999", Some(9_999_999_999_999_999_999)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("0000000000000000000000001", Some(1)),
            ("12345678", Some(12_345_678)),
            ("1029384756012", Some(1_029_384_756_012)),
            ("12/", None),
            ("1:", None),
            ("1234567:", None),
            ("/2345678", None),
            ("1234\u{b0}678", None),
            ("", None),
        ] {
            assert_eq!(parse_digits(word.as_bytes()), expected, "{word}");
        }
    }

    #[test]
    fn words_are_counted_beyond_what_is_wanted() {
        let (words, count) = split_commas::<3>(b"a, b ,,d");
        assert_eq!((words, count), ([&b"a"[..], b"b", b""], 4));
        let (words, count) = split_commas::<9>(b"12345678,\xac+-., ,,0,1234567,x,");
        let expected: [&[u8]; 9] = [b"12345678", b"\xac+-.", b"", b"", b"0", b"1234567", b"x", b"", b""];
        assert_eq!((words, count), (expected, 8));
        for (bytes, expected) in [("", None), ("1234567", None), ("12345678,", Some(8)), ("0,345678,", Some(1))] {
            assert_eq!(find_byte(bytes.as_bytes(), b','), expected, "{bytes}");
        }
        let (words, count) = split_blanks::<2>(b"  a \t b c");
        assert_eq!((words, count), ([&b"a"[..], b"b"], 3));
    }
}
