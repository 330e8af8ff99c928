//! Texts of a folder that may come from somebody else. No link is followed in the last component of a path, only regular files are
//! read, and no read blocks, as on a pipe without a writer ([`open_read`]).

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::reading::Files;
use crate::system::outputs::open_read;

/// Whether something has this name, a dangling link included.
pub fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The text of a file, no longer than a text may be.
pub fn text(files: &Files, path: &Path) -> io::Result<String> {
    text_of(files, &open_read(path)?)
}

/// The text of an open file, no longer than a text may be.
pub fn text_of(files: &Files, file: &File) -> io::Result<String> {
    let bytes = files.whole(file)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error.utf8_error()))
}
