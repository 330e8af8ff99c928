//! Lines that end in their own sum: each is a JSON object whose last field is `sum`, the first 16 digits of the SHA-256 of the object
//! without it. A line that was changed after it was written is found. A sum is no signature: whoever changes a line can write its
//! sum anew.

use seekwise_lab::digest::sha256;

/// The text between an object and its sum.
const FIELD: &str = ",\"sum\":\"";

/// The text after the sum.
const END: &str = "\"}";

/// Digits of a sum.
const DIGITS: usize = 16;

/// The sum of a text.
pub(crate) fn text_sum(text: &str) -> String {
    let mut all = sha256(text.as_bytes());
    all.truncate(DIGITS);
    all
}

/// An object as a sealed line. Lines of different files do not stand for one another if `salt` is another.
pub(crate) fn seal_line(salt: &str, object: &str) -> String {
    match object.strip_suffix('}') {
        Some(open) => format!("{open}{FIELD}{}{END}\n", text_sum(&format!("{salt}{object}"))),
        None => format!("{object}\n"),
    }
}

/// Checks a line against its sum.
pub(crate) fn check_line(salt: &str, line: &str) -> Result<(), String> {
    let parts = line.trim_end_matches('\n').strip_suffix(END).and_then(|rest| rest.rsplit_once(FIELD));
    let Some((open, kept)) = parts else {
        return Err("it does not end in its `sum`: this line was changed after it was written".to_owned());
    };
    let made = text_sum(&format!("{salt}{open}}}"));
    match made == kept {
        true => Ok(()),
        false => Err(format!("`sum`: this line was changed after it was written: its sum is {made}; expected {kept}")),
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
