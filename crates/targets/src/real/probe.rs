//! Whether a device may be written.
//!
//! In this version none may: what is on a device cannot be told yet.

use std::path::Path;

/// Whether the block device at `path` may be written, where `destroy` is the serial number that the user gave; else why
/// not.
pub fn may_write(path: &Path, destroy: Option<&str>) -> Result<(), String> {
    let named = destroy.map_or(String::new(), |serial| format!(", also where --destroy names it ({serial})"));
    Err(format!("{}: block devices are only read in this version{named}; expected a job that reads", path.display()))
}
