//! Parses tables by which sizes and addresses of requests are drawn: `bssplit` and `random_distribution`.
//!
//! The rules are from fio's manual and parser: empty percentages share the rest, `bssplit` is sorted by size, zones keep their
//! order.

use seekwise_work::workload::Distribution;

use super::number::{self, NumberResult};
use super::value::OptionError;

/// `bssplit` of one direction: size and percent.
pub(super) type SizeSplit = Vec<(u64, u8)>;

/// The most entries of a `bssplit`, as in fio.
const MOST_SPLITS: usize = 64;
/// The most zones of a distribution, as in fio.
const MOST_ZONES: usize = 256;

/// `bssplit` of one direction: `4k/60:8k/40`; empty percentages share the rest.
pub(super) fn parse_size_split(text: &str, kb_base: u64, notes: &mut Vec<String>) -> NumberResult<SizeSplit> {
    let expected = || "sizes and percentages such as 4k/60:8k/40".to_owned();
    let mut given: Vec<(u64, Option<u64>)> = Vec::new();
    for entry in text.split(':').filter(|entry| !entry.trim().is_empty()) {
        let (size, percent) = entry.split_once('/').unwrap_or((entry, ""));
        let size = number::parse_integer(size, kb_base, notes)?;
        let size = u64::try_from(size).ok().filter(|size| *size > 0).ok_or_else(expected)?;
        given.push((size, parse_percent_or_empty(percent).map_err(|InvalidPercent| expected())?));
    }
    if given.is_empty() || given.len() > MOST_SPLITS {
        return Err(format!("from 1 to {MOST_SPLITS} sizes"));
    }
    given.sort_by_key(|(size, _)| *size);
    let mut table = fill_empty_percentages(&given).ok_or("percentages that add up to 100 at most")?;
    let sum: u64 = table.iter().map(|(_, percent)| percent).sum();
    if let Some(last) = table.last_mut().filter(|_| sum < 100) {
        if given.iter().all(|(_, percent)| percent.is_some()) {
            notes.push(format!("the percentages add up to {sum}; as in fio the rest goes to the largest size"));
        }
        last.1 += 100 - sum;
    }
    Ok(table.into_iter().map(|(size, percent)| (size, percent as u8)).collect())
}

/// The error about a text that is no percentage up to 100.
struct InvalidPercent;

/// Parses a percentage; `None` for an empty one.
fn parse_percent_or_empty(text: &str) -> Result<Option<u64>, InvalidPercent> {
    let text = text.trim().trim_end_matches('%');
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().ok().filter(|percent| *percent <= 100).map(Some).ok_or(InvalidPercent)
}

/// Divides the rest of 100 equally among the empty percentages; `None` if the sum exceeds 100.
fn fill_empty_percentages<T: Copy>(given: &[(T, Option<u64>)]) -> Option<Vec<(T, u64)>> {
    let sum: u64 = given.iter().filter_map(|(_, percent)| *percent).sum();
    let empty = given.iter().filter(|(_, percent)| percent.is_none()).count() as u64;
    let rest = 100u64.checked_sub(sum)?;
    let each = rest.checked_div(empty).unwrap_or(0);
    Some(given.iter().map(|(entry, percent)| (*entry, percent.unwrap_or(each))).collect())
}

/// The distribution that a `random_distribution` names; `parameters` follow the first colon.
pub(super) fn parse_distribution(
    word: &str,
    parameters: Option<&str>,
    kb_base: u64,
) -> Result<Distribution, OptionError> {
    match word {
        "random" => Ok(Distribution::Uniform),
        "zoned" => parse_common_table(parameters, parse_zoned).map(Distribution::Zoned),
        "zoned_abs" => {
            parse_common_table(parameters, |text| parse_zoned_absolute(text, kb_base)).map(Distribution::ZonedAbsolute)
        }
        "sequence" => Err(OptionError::new("a fixed sequence of blocks is not in this version")),
        _ => parse_parametric(word, parameters.unwrap_or("")),
    }
}

/// zipf, pareto, normal: `parameter:centre`. Defaults are fio's.
fn parse_parametric(word: &str, rest: &str) -> Result<Distribution, OptionError> {
    let (first, centre) = rest.split_once([':', ',']).unwrap_or((rest, ""));
    let millionths_or = |text: &str, default| {
        if text.trim().is_empty() { Some(default) } else { parse_small_millionths(text) }
    };
    let center = match centre.trim() {
        "" => None,
        text => Some(parse_small_millionths(text).filter(|centre| *centre <= 1_000_000).ok_or_else(|| {
            OptionError::new(format!("`{text}` is not a centre")).with_expected("a decimal number from 0 to 1")
        })?),
    };
    let wrong = |expected| OptionError::new(format!("`{word}:{first}` is not a value for it")).with_expected(expected);
    match word {
        "zipf" => match millionths_or(first, 1_100_000).filter(|theta| *theta > 0 && *theta != 1_000_000) {
            Some(theta) => Ok(Distribution::Zipf { theta, center }),
            None => Err(wrong("a theta above 0 other than 1")),
        },
        "pareto" => match millionths_or(first, 200_000).filter(|h| *h > 0 && *h < 1_000_000) {
            Some(h) => Ok(Distribution::Pareto { h, center }),
            None => Err(wrong("a number between 0 and 1")),
        },
        _ => match millionths_or(first, 0).filter(|deviation| *deviation < 100_000_000) {
            Some(deviation) => Ok(Distribution::Normal { deviation, center }),
            None => Err(wrong("a deviation from 0 to below 100")),
        },
    }
}

/// Parses a decimal number to millionths that fit the model's 32 bits.
fn parse_small_millionths(text: &str) -> Option<u32> {
    number::parse_millionths(text).and_then(|value| u32::try_from(value).ok())
}

/// Parses the tables of zones for each direction. The model has one table for all, so they must be equal.
fn parse_common_table<T: PartialEq>(
    tables: Option<&str>,
    parse: impl Fn(&str) -> Result<T, OptionError>,
) -> Result<T, OptionError> {
    let mut tables = tables.unwrap_or("").split(',').map(parse);
    let first = tables.next().unwrap_or_else(|| Err(OptionError::new("no zones are given")))?;
    for other in tables {
        if other? != first {
            return Err(OptionError::new("zones that differ between reads, writes and trims are not in this version"));
        }
    }
    Ok(first)
}

/// `access/size` pairs: the access percent, and the text of the size.
fn parse_zone_shares(text: &str) -> Result<Vec<(u8, &str)>, OptionError> {
    let expected = "zones such as 60/10:30/20:10/70, accesses adding up to 100";
    let wrong = || OptionError::new(format!("the zones `{text}` are not understood")).with_expected(expected);
    let mut zones = Vec::new();
    for entry in text.split(':').filter(|entry| !entry.trim().is_empty()) {
        let (access, size) = entry.split_once('/').ok_or_else(wrong)?;
        let access: u8 = access.trim().parse().ok().filter(|access| *access <= 100).ok_or_else(wrong)?;
        zones.push((access, size.trim()));
    }
    let sum: u32 = zones.iter().map(|(access, _)| u32::from(*access)).sum();
    if sum == 100 && zones.len() <= MOST_ZONES { Ok(zones) } else { Err(wrong()) }
}

/// Parses zones as percent of accesses and percent of the space.
fn parse_zoned(text: &str) -> Result<Vec<(u8, u8)>, OptionError> {
    let zones = parse_zone_shares(text)?;
    let wrong =
        || OptionError::new(format!("the zones `{text}` are not understood")).with_expected("sizes of 100 % at most");
    let mut given = Vec::new();
    for (access, size) in zones {
        given.push((access, parse_percent_or_empty(size).map_err(|InvalidPercent| wrong())?));
    }
    let table = fill_empty_percentages(&given).ok_or_else(wrong)?;
    Ok(table.into_iter().map(|(access, size)| (access, size as u8)).collect())
}

/// Parses zones as percent of accesses and bytes.
fn parse_zoned_absolute(text: &str, kb_base: u64) -> Result<Vec<(u8, u64)>, OptionError> {
    let mut table = Vec::new();
    for (access, size) in parse_zone_shares(text)? {
        let bytes =
            number::parse_integer(size, kb_base, &mut Vec::new()).ok().and_then(|bytes| u64::try_from(bytes).ok());
        let wrong = || OptionError::new(format!("`{size}` is not the size of a zone")).with_expected("a size in bytes");
        table.push((access, bytes.filter(|bytes| *bytes > 0).ok_or_else(wrong)?));
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_share_the_rest_and_sizes_are_sorted() {
        let read = |text| parse_size_split(text, 1024, &mut Vec::new());
        assert_eq!(read("64k/40:4k/60"), Ok(vec![(4096, 60), (65536, 40)]));
        assert_eq!(read("4k/50:8k/:16k/"), Ok(vec![(4096, 50), (8192, 25), (16384, 25)]));
        assert_eq!(read("4k:8k:16k"), Ok(vec![(4096, 33), (8192, 33), (16384, 34)]));
        assert_eq!(read("4k"), Ok(vec![(4096, 100)]));
        assert!(read("4k/60:8k/60").is_err());
        assert!(read("4k/x").is_err());
        let mut notes = Vec::new();
        assert_eq!(parse_size_split("4k/40:8k/40", 1024, &mut notes), Ok(vec![(4096, 40), (8192, 60)]));
        assert_eq!(notes.len(), 1);
    }

    #[test]
    fn distributions_have_fios_defaults_and_limits() {
        let read = |word, rest| parse_distribution(word, rest, 1024).ok();
        assert_eq!(read("zipf", None), Some(Distribution::Zipf { theta: 1_100_000, center: None }));
        assert_eq!(
            read("zipf", Some("1.2:0.25")),
            Some(Distribution::Zipf { theta: 1_200_000, center: Some(250_000) })
        );
        assert_eq!(read("pareto", Some("0.9")), Some(Distribution::Pareto { h: 900_000, center: None }));
        assert_eq!(read("normal", Some("12.5")), Some(Distribution::Normal { deviation: 12_500_000, center: None }));
        assert_eq!(read("zoned", Some("50/5:30/15:20/")), Some(Distribution::Zoned(vec![(50, 5), (30, 15), (20, 80)])));
        assert_eq!(
            read("zoned_abs", Some("60/20g:40/100g")),
            Some(Distribution::ZonedAbsolute(vec![(60, 20 << 30), (40, 100 << 30)]))
        );
        for (word, rest) in
            [("zipf", "1.0"), ("pareto", "1.5"), ("normal", "100"), ("zoned", "50/5:30/15"), ("sequence", "2,0")]
        {
            assert_eq!(read(word, Some(rest)), None, "{word}:{rest}");
        }
        assert_eq!(read("zoned", Some("60/10:40/90,50/10:50/90")), None, "differs between directions");
    }

    /// All pairs of percentages: more than 100 is refused, less goes to the largest size with a note.
    #[test]
    fn percentages_of_a_split_are_a_hundred_in_all() {
        for (small, large) in (0..=100u8).flat_map(|small| (0..=100u8).map(move |large| (small, large))) {
            let mut notes = Vec::new();
            let read = parse_size_split(&format!("8k/{large}:4k/{small}"), 1024, &mut notes);
            match small + large > 100 {
                true => assert!(read.is_err(), "{small} and {large}"),
                false => assert_eq!(read, Ok(vec![(4096, small), (8192, 100 - small)])),
            }
            assert_eq!(notes.len(), usize::from(small + large < 100), "{small} and {large}");
        }
    }

    #[test]
    fn empty_percentages_share_the_rest_evenly_and_the_largest_has_the_remainder() {
        for given in 0..=100u8 {
            let mut notes = Vec::new();
            let each = (100 - given) / 3;
            let expected = vec![(4096, given), (8192, each), (16384, each), (32768, 100 - given - 2 * each)];
            assert_eq!(parse_size_split(&format!("4k/{given}:8k/:16k:32k/"), 1024, &mut notes), Ok(expected));
            assert_eq!(notes, Vec::<String>::new());
        }
    }

    #[test]
    fn a_split_has_sixty_four_sizes_at_most_and_each_is_one() {
        let sizes = |count: u64| (1..=count).map(|size| format!("{size}k")).collect::<Vec<_>>().join(":");
        let read = |text: &str| parse_size_split(text, 1024, &mut Vec::new());
        assert_eq!(read(&sizes(64)).map(|table| table.len()), Ok(64));
        for wrong in [&*sizes(65), "", ":", "0/50:4k/50", "4k/101", "4k/-1"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn parameters_end_where_the_model_does() {
        let read = |word, rest: &str| parse_distribution(word, Some(rest), 1024).is_ok();
        for (word, good, wrong) in [
            ("zipf", &["0.000001", "0.999999", "1.000001", "1.2:0", "1.2:1"][..], &["0", "1", "1.2:1.000001", "x"][..]),
            ("pareto", &["0.000001", "0.999999"], &["0", "1"]),
            ("normal", &["0", "99.999999"], &["100", "-1"]),
            ("zoned", &["100/100", "50/50:50/50,50/50:50/50"], &["99/100", "50/50:51/50", "50/60:50/50", "101/10"]),
            ("zoned_abs", &["100/4k"], &["100/0", "99/4k"]),
        ] {
            for rest in good {
                assert!(read(word, rest), "{word}:{rest}");
            }
            for rest in wrong {
                assert!(!read(word, rest), "{word}:{rest}");
            }
        }
        let zones = |more: usize| format!("100/100{}", ":0/0".repeat(more));
        assert!(read("zoned", &zones(255)) && !read("zoned", &zones(256)), "256 zones at most");
    }
}
