//! The values that `--vary` names: a list, which may have ranges of whole numbers.

use seekwise_drives::figure::parse_switch;

use crate::error::Error;

/// Sizes in bytes, and amounts with a unit, as people write them.
pub use seekwise_drives::dotted::parse_size;
pub use seekwise_drives::figure::units::{convert_quantity as parse_amount, name as unit_name};

/// The most values of a range: each is a cell with all its runs.
const MAX_RANGE_VALUES: usize = 1000;

/// The values of a list, in order. `A,B,C` are taken as they stand; `1..32` is doubled from the first value to the
/// last; `1..9:2` goes in steps of two. Ends that are no whole numbers make no range: they are a value as it stands,
/// such as a path.
pub fn parse_values(key: &str, list: &str) -> Result<Vec<String>, Error> {
    let fault = |why: String| Error::new(format!("--vary {key}={list}: {why}"));
    let mut values: Vec<String> = Vec::new();
    for word in list.split(',').map(str::trim) {
        let new_values = match parse_range(word) {
            Some(range) => list_range(&range).map_err(fault)?,
            None => vec![word.to_owned()],
        };
        let find_known = |value: &&String| values.iter().find(|known| is_same_value(known, value));
        if let Some((value, known)) = new_values.iter().find_map(|value| Some((value, find_known(&value)?))) {
            let same_as = if value == known { String::new() } else { format!(", which means `{known}`") };
            return Err(fault(format!("duplicate value `{value}`{same_as}; expected different values")));
        }
        values.extend(new_values);
    }
    match values.len() {
        0 | 1 => Err(fault(format!("expected at least two values, as in --vary {key}=A,B or {key}=1..32"))),
        _ => Ok(values),
    }
}

/// Whether two values mean the same: they are equal, or one position of a switch in two of its words, such as `on` and
/// `true`.
pub fn is_same_value(value: &str, other: &str) -> bool {
    value == other || parse_switch(value).is_some_and(|position| parse_switch(other) == Some(position))
}

/// A range of whole numbers.
struct ValueRange {
    first: u64,
    last: u64,
    /// Without a step, values are doubled.
    step: Option<u64>,
}

/// Parses `first..last` or `first..last:step`.
fn parse_range(word: &str) -> Option<ValueRange> {
    let (first, rest) = word.split_once("..")?;
    let (last, step) = match rest.split_once(':') {
        Some((last, step)) => (last, Some(step.parse().ok()?)),
        None => (rest, None),
    };
    Some(ValueRange { first: first.parse().ok()?, last: last.parse().ok()?, step })
}

/// The values of a range, as texts.
fn list_range(&ValueRange { first, last, step }: &ValueRange) -> Result<Vec<String>, String> {
    if first >= last {
        return Err(format!("the range {first}..{last} does not rise"));
    }
    let next = |value: &u64| match step {
        Some(step) => value.checked_add(step),
        None => value.checked_mul(2),
    };
    match (first, step) {
        (0, None) => return Err(format!("0 cannot be doubled; expected 1..{last}, or steps as in 0..{last}:1")),
        (_, Some(0)) => return Err("the step is 0".to_owned()),
        _ => {}
    }
    let all = std::iter::successors(Some(first), next).take_while(|value| *value <= last);
    let values: Vec<String> = all.take(MAX_RANGE_VALUES + 1).map(|value| value.to_string()).collect();
    match values.len() > MAX_RANGE_VALUES {
        true => Err(format!("the range has more than {MAX_RANGE_VALUES} values")),
        false => Ok(values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<String>, String> {
        parse_values("k", text).map_err(|fault| fault.to_string())
    }

    #[test]
    fn lists_and_ranges() {
        let values = |text: &str| read(text).unwrap().join(" ");
        assert_eq!(values("1, 8"), "1 8");
        assert_eq!(values("1..32"), "1 2 4 8 16 32");
        assert_eq!(values("3..20"), "3 6 12");
        assert_eq!(values("1..9:2"), "1 3 5 7 9");
        assert_eq!(values("0,1..4,100"), "0 1 2 4 100");
        assert_eq!(values("on,off"), "on off");
        assert_eq!(values("../a.toml,../b.toml"), "../a.toml ../b.toml");
    }

    #[test]
    fn what_is_no_list_of_values_is_said() {
        let said = |text: &str| read(text).unwrap_err();
        assert!(said("8").contains("--vary k=8: expected at least two values"), "{}", said("8"));
        assert!(said("8,8").contains("duplicate value `8`"));
        assert!(said("1..4,2").contains("duplicate value `2`"));
        assert!(said("8..1").contains("does not rise"));
        assert!(said("0..8").contains("0 cannot be doubled; expected 1..8, or steps as in 0..8:1"));
        assert!(said("1..8:0").contains("the step is 0"));
        assert!(said("1..99999999:1").contains("more than 1000 values"));
    }

    #[test]
    fn a_range_ends_at_a_thousand_values_and_at_its_own_last() {
        let last = |text: &str| read(text).map(|values| (values.len(), values.last().cloned().unwrap()));
        assert_eq!(last("1..1000:1"), Ok((1000, "1000".to_owned())));
        assert!(read("1..1001:1").is_err());
        assert_eq!(last("1..10:3"), Ok((4, "10".to_owned())));
        assert_eq!(last("1..9:3"), Ok((3, "7".to_owned())));
        // Beyond the largest number there is none.
        assert_eq!(last(&format!("{}..{}:1", u64::MAX - 1, u64::MAX)), Ok((2, u64::MAX.to_string())));
        assert_eq!(last(&format!("1..{}", u64::MAX)), Ok((64, (1u64 << 63).to_string())));
        assert!(read("5..5:1,7").is_err(), "it does not rise");
    }

    #[test]
    fn a_switch_has_two_positions_in_any_words() {
        for (one, other, same) in [
            ("on", "on", true),
            ("on", "true", true),
            ("off", "false", true),
            ("on", "off", false),
            ("on", "8", false),
            ("8", "08", false),
        ] {
            assert_eq!((is_same_value(one, other), is_same_value(other, one)), (same, same), "{one} and {other}");
        }
        assert!(read("on,true").unwrap_err().contains("duplicate value `true`, which means `on`"));
    }
}
