//! Reads texts of a folder that may come from somebody else, and may be hostile. No link is followed in the last
//! component of a path, only regular files are read, and no read blocks, as on a pipe without a writer ([`open_read`]).

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::reading::Files;
use crate::system::outputs::open_read;

/// Whether anything has this name, be it a link that leads nowhere.
pub fn entry_exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Reads a regular file, no longer than a text may be.
pub fn read_regular_text(files: &Files, path: &Path) -> io::Result<String> {
    read_opened_text(files, &open_read(path)?)
}

/// Reads an open file, no longer than a text may be.
pub fn read_opened_text(files: &Files, file: &File) -> io::Result<String> {
    let bytes = files.read_within_limit(file)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error.utf8_error()))
}
