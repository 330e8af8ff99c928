//! The first difference between two pieces of foreign data, and short excerpts of such data as text: printable text in quotes with escapes,
//! all else as hexadecimal digits, so that neither a terminal nor a page obeys them. What the data mean is not known here.

/// Bytes of an excerpt: sixteen, as a line of a hex dump has.
const EXCERPT_BYTES: usize = 16;

/// The first difference between data that were lost and those that stand in their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteDifference {
    /// Of the first byte that differs.
    pub offset: u64,
    /// Number of bytes that differ.
    pub count: u64,
    /// The bytes that stand there; fewer than were lost, or none, if the data end before.
    pub stands: Vec<u8>,
    pub lost: Vec<u8>,
}

impl ByteDifference {
    /// Compares data at `offset`; `None` if nothing of `lost` differs. Bytes beyond the end of `stands` differ.
    pub fn find(offset: u64, stands: &[u8], lost: &[u8]) -> Option<ByteDifference> {
        let differs = |index: &usize| stands.get(*index) != lost.get(*index);
        let first = (0..lost.len()).find(differs)?;
        let count = (first..lost.len()).filter(differs).count() as u64;
        let excerpt = |bytes: &[u8]| bytes.iter().skip(first).take(EXCERPT_BYTES).copied().collect();
        Some(ByteDifference { offset: offset + first as u64, count, stands: excerpt(stands), lost: excerpt(lost) })
    }
}

/// An excerpt as text.
pub fn show_bytes(bytes: &[u8]) -> String {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let is_printable = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t');
    match &bytes[..end] {
        [] => "zeroes".to_owned(),
        text if text.iter().all(is_printable) => {
            let zeroes = if end < bytes.len() { " and zeroes" } else { "" };
            format!("\"{}\"{zeroes}", text.escape_ascii())
        }
        _ => bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_found_with_its_bytes() {
        let find = |stands: &[u8], lost: &[u8]| ByteDifference::find(100, stands, lost);
        assert_eq!(find(b"same", b"same"), None);
        assert_eq!(find(b"longer than what was lost", b"longer"), None);
        let expected = |offset, count, stands: &[u8], lost: &[u8]| {
            Some(ByteDifference { offset, count, stands: stands.to_vec(), lost: lost.to_vec() })
        };
        assert_eq!(find(b"entry 1", b"entry 2\n"), expected(106, 2, b"1", b"2\n"));
        assert_eq!(find(b"", b"new"), expected(100, 3, b"", b"new"));
        let (old, new) = ([0; 64], [7; 64]);
        assert_eq!(find(&old, &new), expected(100, 64, &[0; 16], &[7; 16]));
    }

    #[test]
    fn an_excerpt_is_text_or_digits_and_nothing_that_a_terminal_obeys() {
        for (bytes, text) in [
            (&b""[..], "zeroes"),
            (&[0; 16], "zeroes"),
            (b"entry 1\n", r#""entry 1\n""#),
            (b"a\0\0", r#""a" and zeroes"#),
            (b"\"\\\t", r#""\"\\\t""#),
            (b"\x1b[31m", "1b 5b 33 31 6d"),
            (b"a\0b", "61 00 62"),
            ("\u{e9}".as_bytes(), "c3 a9"),
        ] {
            assert_eq!(show_bytes(bytes), text);
        }
    }
}
