//! Files that other people wrote, kept outside the project: found if they are there.

use std::path::{Path, PathBuf};

/// The files under `folder` of the shared store whose name ends so, sorted; empty, with a word why, without a store.
pub(crate) fn files(folder: &str, ends: &[&str]) -> Vec<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let store = std::env::var_os("SEEKWISE_SHARED").map_or(beside, PathBuf::from);
    let mut found = Vec::new();
    collect(&store.join(folder), ends, &mut found);
    if found.is_empty() {
        eprintln!("skipped: no files under {} (SEEKWISE_SHARED names the store)", store.join(folder).display());
    }
    found.sort();
    found
}

fn collect(folder: &Path, ends: &[&str], found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, ends, found);
        } else if ends.iter().any(|end| path.to_string_lossy().ends_with(end)) {
            found.push(path);
        }
    }
}
