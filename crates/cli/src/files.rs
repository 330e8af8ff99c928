//! Files that a command names: read whole, with an error that says which and why not.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::exit::Failure;

/// The text of a file. Bytes that are no UTF-8 are read as Latin-1, as old Windows tools wrote them; a file with a
/// zero byte is no text.
pub fn text(path: &str) -> io::Result<String> {
    if Path::new(path).is_dir() {
        return Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory; expected a file"));
    }
    let bytes = fs::read(path)?;
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
