//! Checks the assertions of a page about a command. An assertion compares figures of the command's `--json`:
//!
//! `ratio.high < 1`, `anatomy_ms.flush > 0.5 * all.response_ms.mean`, `verdict == "slower"`.
//!
//! ```text
//! assertion = side ("<" | "<=" | ">" | ">=" | "==") side      side   = factor {"*" factor}
//! factor    = NUMBER | "TEXT" | true | false | path           path   = NAME {"." NAME | "[" PLACE "]"}
//! PLACE     = 0, 1 …  | KEY=VALUE, the first with that value | "NAME", for a name with a dot
//! ```

use serde_json::Value;

/// The signs of comparisons. If two begin alike, the longer one is first.
const SIGNS: [&str; 5] = ["<=", ">=", "==", "<", ">"];

/// Checks an assertion on a command's JSON; an error contains the values.
pub fn check(assertion: &str, json: &Value) -> Result<(), String> {
    let found = SIGNS.iter().filter_map(|sign| Some((assertion.find(sign)?, *sign))).min_by_key(|(at, _)| *at);
    let (at, sign) = found.ok_or("no comparison; expected one of < <= > >= ==")?;
    let (left, right) = (value_of_side(&assertion[..at], json)?, value_of_side(&assertion[at + sign.len()..], json)?);
    let holds = match (left.as_f64(), right.as_f64()) {
        (Some(left), Some(right)) => match sign {
            "<" => left < right,
            "<=" => left <= right,
            ">" => left > right,
            ">=" => left >= right,
            _ => left == right,
        },
        _ if sign == "==" => left == right,
        _ => return Err(format!("{left} {sign} {right}: only numbers have an order")),
    };
    if holds { Ok(()) } else { Err(format!("found {left} {sign} {right}")) }
}

/// The value of a side: one value, or the product of several numbers.
fn value_of_side(text: &str, json: &Value) -> Result<Value, String> {
    let factors: Vec<Value> =
        text.split(" * ").map(|text| value_of_factor(text.trim(), json)).collect::<Result<_, _>>()?;
    match &factors[..] {
        [one] => Ok(one.clone()),
        several => {
            let numbers = several.iter().map(|factor| factor.as_f64().ok_or_else(|| format!("{factor} is no number")));
            Ok(Value::from(numbers.product::<Result<f64, String>>()?))
        }
    }
}

/// The value of a factor: a number, a text, or the figure at a path.
fn value_of_factor(text: &str, json: &Value) -> Result<Value, String> {
    let literal: Option<Value> = serde_json::from_str(text).ok();
    literal.map_or_else(
        || value_at_path(text, json).ok_or_else(|| format!("there is no `{text}` in the command's JSON")),
        Ok,
    )
}

/// The value at a path.
fn value_at_path(path: &str, json: &Value) -> Option<Value> {
    let (mut value, mut rest) = (json, path);
    while !rest.is_empty() {
        rest = rest.strip_prefix('.').unwrap_or(rest);
        if let Some(inside) = rest.strip_prefix('[') {
            let (place, after) = inside.split_once(']')?;
            (value, rest) = (find_item(place, value)?, after);
        } else {
            let (name, after) = rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len()));
            (value, rest) = (value.get(name)?, after);
        }
    }
    Some(value.clone())
}

/// The item of a list, or the field of an object, at a place in brackets.
fn find_item<'a>(place: &str, value: &'a Value) -> Option<&'a Value> {
    if let Some((key, wanted)) = place.split_once('=') {
        return value.as_array()?.iter().find(|item| item[key].as_str() == Some(wanted));
    }
    match place.parse::<usize>() {
        Ok(number) => value.get(number),
        Err(_) => value.get(place.trim_matches('"')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer of `compare --json` about the write cache switched off, and one with the sides swapped.
    fn compared(ratio: f64, verdict: &str, worse: bool) -> Value {
        serde_json::json!({
            "verdict": verdict,
            "ratio": {"estimate": ratio, "low": ratio - 0.01, "high": ratio + 0.01},
            "beside": [{"metric": "p99.9", "worse": !worse}, {"metric": "flush.iops", "worse": worse}],
            "sides": [{"metrics": {"flush.mean": {"estimate": 137.0}}}, {"metrics": {"flush.mean": {"estimate": 99.3}}}],
        })
    }

    #[test]
    fn each_assertion_fails_when_the_sides_are_swapped() {
        let (as_written, swapped) = (compared(0.725, "faster", true), compared(1.38, "slower", false));
        for assertion in [
            "ratio.high < 1",
            "ratio.estimate <= 0.725",
            "1 > ratio.low",
            "verdict == \"faster\"",
            "beside[metric=flush.iops].worse == true",
            "2 * ratio.estimate < 1.5",
        ] {
            assert_eq!(check(assertion, &as_written), Ok(()), "{assertion}");
            let found = check(assertion, &swapped).unwrap_err();
            assert!(found.starts_with("found "), "{assertion}: {found}");
        }
        assert_eq!(check("sides[0].metrics[\"flush.mean\"].estimate > 1.3 * 99.3", &as_written), Ok(()));
    }

    #[test]
    fn an_assertion_that_cannot_be_judged_is_no_pass() {
        let json = compared(0.725, "faster", true);
        for (assertion, why) in [
            ("ratio.estimate", "no comparison"),
            ("ratio.estimat < 1", "there is no `ratio.estimat`"),
            ("sides[2].metrics == 1", "there is no `sides[2].metrics`"),
            ("verdict < 1", "only numbers have an order"),
            ("2 * verdict < 1", "\"faster\" is no number"),
        ] {
            let said = check(assertion, &json).unwrap_err();
            assert!(said.contains(why), "{assertion}: {said}");
        }
    }
}
