//! Sealed lines, of results and journals: each is a JSON object whose last field is `sum`, the first 16 digits of the
//! SHA-256 of the object without it. A line that was changed after it was written is found so. A sum is no signature:
//! whoever changes a line can write its sum anew.

use seekwise_lab::digest::sha256;

/// The text between an object and its sum.
const FIELD: &str = ",\"sum\":\"";

/// The text after the sum.
const END: &str = "\"}";

/// Digits of a sum.
const DIGITS: usize = 16;

/// A line of a file that is not as it should be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LineFault {
    /// Counted from 1.
    pub line: usize,
    pub why: String,
}

/// The first digits of a text's SHA-256.
pub(crate) fn text_sum(text: &str) -> String {
    let mut sum = sha256(text.as_bytes());
    sum.truncate(DIGITS);
    sum
}

/// A JSON object as a sealed line. `salt` goes into the sum: lines of files with different salts do not pass for one
/// another.
pub(crate) fn seal_line(salt: &str, object: &str) -> String {
    match object.strip_suffix('}') {
        Some(open) => format!("{open}{FIELD}{}{END}\n", text_sum(&format!("{salt}{object}"))),
        None => format!("{object}\n"),
    }
}

/// Checks a sealed line against its sum; an error says what differs.
pub(crate) fn check_line(salt: &str, line: &str) -> Result<(), String> {
    let parts = line.trim_end_matches('\n').strip_suffix(END).and_then(|rest| rest.rsplit_once(FIELD));
    let Some((open, kept_sum)) = parts else {
        return Err("it does not end in its `sum`: this line was changed after it was written".to_owned());
    };
    let actual_sum = text_sum(&format!("{salt}{open}}}"));
    match actual_sum == kept_sum {
        true => Ok(()),
        false => Err(format!(
            "`sum`: this line was changed after it was written: its sum is {actual_sum}; expected {kept_sum}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256 of `abc` is the first example of FIPS 180-2; that of `{"a":1}` is sha256sum's.
    #[test]
    fn a_sum_is_the_first_sixteen_digits() {
        assert_eq!(text_sum("abc"), "ba7816bf8f01cfea");
        let sealed = "{\"a\":1,\"sum\":\"015abd7f5cc57a2d\"}\n";
        assert_eq!(seal_line("", "{\"a\":1}"), sealed);
        assert_eq!(check_line("", sealed), Ok(()));
        assert!(check_line("", "{\"a\":1}").is_err() && check_line("other", sealed).is_err());
    }
}
