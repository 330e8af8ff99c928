//! Files that a command names: read whole, with an error that says which and why not. `-` is standard input.

use std::fs;
use std::io::{self, ErrorKind, IsTerminal, Read};
use std::path::Path;
use std::sync::OnceLock;

use crate::exit::Failure;
use crate::output::say;

/// The name of standard input.
pub const STANDARD_INPUT: &str = "-";

/// A file's name as a title has it.
pub fn spoken(name: &str) -> &str {
    if name == STANDARD_INPUT { "standard input" } else { name }
}

/// What came on standard input: it can be read once, and a plan may ask for it again.
fn standard_input() -> io::Result<Vec<u8>> {
    static READ: OnceLock<Result<Vec<u8>, (ErrorKind, String)>> = OnceLock::new();
    let read = || {
        if io::stdin().is_terminal() {
            say("note: reading standard input, until Ctrl-D");
        }
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes).map_err(|error| (error.kind(), error.to_string()))?;
        Ok(bytes)
    };
    READ.get_or_init(read).clone().map_err(|(kind, why)| io::Error::new(kind, why))
}

/// Two things that a command reads cannot both be on standard input.
pub fn one_standard_input(names: &[&str]) -> Result<(), Failure> {
    match names.iter().filter(|name| **name == STANDARD_INPUT).count() {
        0 | 1 => Ok(()),
        _ => Err(Failure::new("-: standard input can be read for one of them only; expected a file for the other")),
    }
}

/// The text of a file. Bytes that are no UTF-8 are read as Latin-1, as old Windows tools wrote them; a file with a
/// zero byte is no text.
pub fn text(path: &str) -> io::Result<String> {
    if Path::new(path).is_dir() {
        return Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory; expected a file"));
    }
    let bytes = if path == STANDARD_INPUT { standard_input()? } else { fs::read(path)? };
    if bytes.contains(&0) {
        return Err(io::Error::new(ErrorKind::InvalidData, "it holds zero bytes; expected a text file"));
    }
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| error.as_bytes().iter().map(|&byte| char::from(byte)).collect()))
}

/// The text of a file that must be there.
pub fn read(path: &str) -> Result<String, Failure> {
    text(path).map_err(|error| unreadable(path, &error))
}

/// The text of a file that may not be there: `None` only when nothing of that name exists.
pub fn find(path: &str) -> Result<Option<String>, Failure> {
    match text(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(path, &error)),
        Ok(text) => Ok(Some(text)),
    }
}

fn unreadable(path: &str, error: &io::Error) -> Failure {
    Failure::new(format!("{path}: cannot be read: {error}"))
}
