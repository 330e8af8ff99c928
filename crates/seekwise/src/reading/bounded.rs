//! Limits on the length of a text. A text is held in memory whole, so it may take a quarter of the memory of a command, and no
//! more than any job, profile or table needs. Traces are read piece by piece and have no such limit.

use std::io::{self, BufRead, ErrorKind, Read};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a text, however much memory there is.
const MOST: u64 = 256 << 20;

/// Bytes of a text, however little memory there is.
const LEAST: u64 = 1 << 20;

/// Bytes of a text in this process.
static LIMIT: AtomicU64 = AtomicU64::new(MOST);

/// Limits texts, from now on, to a quarter of so many bytes of memory, within the limits of any text.
pub fn limit_texts(memory: u64) {
    LIMIT.store((memory / 4).clamp(LEAST, MOST), Ordering::Relaxed);
}

fn text_limit() -> u64 {
    LIMIT.load(Ordering::Relaxed)
}

/// Reads all of an input; an error if it is longer than a text may be.
pub fn whole(input: impl Read) -> io::Result<Vec<u8>> {
    whole_within(input, text_limit())
}

/// Reads a line with its end into `line`, replacing what it had; the last line may have no end.
pub fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<()> {
    line.clear();
    let limit = text_limit();
    input.take(limit + 1).read_until(b'\n', line)?;
    if line.len() as u64 > limit { Err(too_long(limit)) } else { Ok(()) }
}

fn whole_within(input: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(too_long(limit)) } else { Ok(bytes) }
}

fn too_long(limit: u64) -> io::Error {
    let [limit, least, most] = [limit, LEAST, MOST].map(|bytes| bytes as f64 / 1e6);
    let why = format!(
        "it has more than {limit:.1} MB, the limit of a text: a quarter of --max-memory, from {least:.1} to {most:.1} MB"
    );
    io::Error::new(ErrorKind::FileTooLarge, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_end_is_refused_at_the_limit() {
        assert_eq!(whole_within(&b"abc"[..], 3).unwrap(), b"abc");
        let said = whole_within(io::repeat(b'x'), 2_500_000).unwrap_err().to_string();
        assert!(said.contains("more than 2.5 MB") && said.contains("--max-memory"), "{said}");
        let mut lines = &b"a\nb"[..];
        let mut line = Vec::new();
        for expected in ["a\n", "b", ""] {
            read_line(&mut lines, &mut line).unwrap();
            assert_eq!(line, expected.as_bytes());
        }
    }
}
