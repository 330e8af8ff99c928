//! Files that a command names: read whole, with an error that says which.

use std::fs;
use std::path::Path;

use crate::exit::Failure;

/// The text of a file. Bytes that are no UTF-8 are read as Latin-1, as old Windows tools wrote them.
pub fn read(path: &str) -> Result<String, Failure> {
    match fs::read(path) {
        Ok(bytes) => Ok(text(bytes)),
        Err(error) => Err(Failure::new(format!("{path}: cannot be read: {error}"))),
    }
}

/// The text of a file that may not be there: `None` only when nothing of that name exists.
pub fn find(path: &str) -> Result<Option<String>, Failure> {
    if Path::new(path).exists() { read(path).map(Some) } else { Ok(None) }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| error.as_bytes().iter().map(|&byte| char::from(byte)).collect())
}
