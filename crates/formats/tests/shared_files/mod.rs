//! Finds files that other people wrote and that are kept outside the project.

use std::path::{Path, PathBuf};

/// The files under `folder` of the shared store whose names end in one of `ends`, sorted. Without a store the list is empty, and
/// a message says so.
pub(crate) fn files(folder: &str, ends: &[&str]) -> Vec<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let store = std::env::var_os("SEEKWISE_SHARED").map_or(beside, PathBuf::from);
    let mut found = Vec::new();
    add_files(&store.join(folder), ends, &mut found);
    if found.is_empty() {
        eprintln!("skipped: no files under {} (SEEKWISE_SHARED names the store)", store.join(folder).display());
    }
    found.sort();
    found
}

fn add_files(folder: &Path, ends: &[&str], found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            add_files(&path, ends, found);
        } else if ends.iter().any(|end| path.to_string_lossy().ends_with(end)) {
            found.push(path);
        }
    }
}
