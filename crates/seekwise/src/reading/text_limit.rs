//! Limits on the length of a text. Texts are held in memory whole: one may take a quarter of the memory of a command,
//! and no more than any job, profile or table needs. Traces are read piece by piece and have no such limit.

use std::io::{self, BufRead, ErrorKind, Read};

/// The limit of a text, however much memory there is.
pub const MAX_TEXT_BYTES: u64 = 256 << 20;

/// The limit of a text, however little memory there is.
const MIN_LIMIT_BYTES: u64 = 1 << 20;

/// The limit of a text, in bytes, in a command that may take so much memory.
pub fn text_limit_bytes(memory_bytes: u64) -> u64 {
    (memory_bytes / 4).clamp(MIN_LIMIT_BYTES, MAX_TEXT_BYTES)
}

/// Reads a line with its end into `line`, replacing its contents; the last line may have no end. An error if the line
/// is longer than the limit.
pub fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>, limit_bytes: u64) -> io::Result<()> {
    line.clear();
    input.take(limit_bytes + 1).read_until(b'\n', line)?;
    if line.len() as u64 > limit_bytes { Err(too_long_error(limit_bytes)) } else { Ok(()) }
}

/// Reads all of an input; an error if it is longer than the limit.
pub(crate) fn read_whole(input: impl Read, limit_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(limit_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit_bytes { Err(too_long_error(limit_bytes)) } else { Ok(bytes) }
}

fn too_long_error(limit_bytes: u64) -> io::Error {
    let [limit_mb, least_mb, most_mb] = [limit_bytes, MIN_LIMIT_BYTES, MAX_TEXT_BYTES].map(|bytes| bytes as f64 / 1e6);
    let why = format!(
        "it has more than {limit_mb:.1} MB, the limit of a text: a quarter of --max-memory, from {least_mb:.1} to {most_mb:.1} MB"
    );
    io::Error::new(ErrorKind::FileTooLarge, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_end_is_refused_at_the_limit() {
        assert_eq!(read_whole(&b"abc"[..], 3).unwrap(), b"abc");
        let said = read_whole(io::repeat(b'x'), 2_500_000).unwrap_err().to_string();
        assert!(said.contains("more than 2.5 MB") && said.contains("--max-memory"), "{said}");
        let mut lines = &b"a\nb"[..];
        let mut line = Vec::new();
        for expected in ["a\n", "b", ""] {
            read_line(&mut lines, &mut line, 2).unwrap();
            assert_eq!(line, expected.as_bytes());
        }
        assert!(read_line(&mut &b"abc\n"[..], &mut line, 3).is_err(), "its end counts");
    }

    #[test]
    fn a_text_may_have_a_quarter_of_the_memory() {
        assert_eq!([0, 8 << 20, u64::MAX].map(text_limit_bytes), [MIN_LIMIT_BYTES, 2 << 20, MAX_TEXT_BYTES]);
    }
}
