//! Checks rules about the repository that no compiler checks. Each rule looks at the files and prints its faults; the
//! step fails if there are any. A rule that cannot be checked here is advice, in CONTRIBUTING.md.
//!
//! | file | rules about |
//! |---|---|
//! | `source` | reading Rust source: code without comments and strings, functions, tests |
//! | `shape` | headers, lengths, names, words left over |
//! | `documentation` | documentation of public items; comments that only repeat a name; results that can grow |
//! | `purity` | what the model may not use, who reads the clock, where unsafe code is |
//! | `order` | which rooms a room may see, as the tables of `lib.rs` say; what the programs may see |
//! | `map_names` | files, rooms, types and constants that the map and its index name |
//! | `papers` | rooms of the map, dependencies, tests, links and the site's contents, drives and studies built in |

mod documentation;
mod map_names;
mod order;
mod papers;
mod purity;
mod shape;
mod source;

pub use papers::SUMMARY;

use std::fs;
use std::path::{Path, PathBuf};

use crate::steps::Ended;

/// A text file of the repository.
pub struct Text {
    /// Its path from the root, with `/` between folders.
    pub path: String,
    /// The file's contents.
    pub text: String,
}

impl Text {
    /// Whether it is Rust source.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// Folders without sources of ours: built, fetched or written by the program.
const SKIPPED: [&str; 7] = ["target", "out", ".git", "node_modules", "dist", "corpus", "artifacts"];

/// The endings of text files' names.
const TEXTS: [&str; 11] = [".rs", ".toml", ".md", ".ts", ".css", ".html", ".json", ".run", ".fio", ".icf", ".txt"];

/// Runs all rules.
pub fn tidy() -> Ended {
    let root = crate::root();
    let files = read_texts(&root);
    let mut faults = Vec::new();
    shape::check(&files, &mut faults);
    documentation::check(&files, &mut faults);
    order::check(&files, &mut faults);
    purity::check(&files, &mut faults);
    map_names::check(&root, &files, &mut faults);
    papers::check(&root, &files, &mut faults);
    faults.extend(crate::names::faults());
    for fault in &faults {
        println!("{fault}");
    }
    match faults.len() {
        0 => Ended::Passed,
        count => Ended::Failed(format!("{count} faults in {} files", files.len())),
    }
}

/// All text files of ours, sorted by path.
fn read_texts(root: &Path) -> Vec<Text> {
    let mut paths = Vec::new();
    collect_paths(root, &mut paths);
    paths.sort();
    let text = |path: PathBuf| {
        let name = path.strip_prefix(root).expect("found below the root").to_string_lossy().replace('\\', "/");
        Some(Text { path: name, text: fs::read_to_string(path).ok()? })
    };
    paths.into_iter().filter_map(text).collect()
}

fn collect_paths(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() && !SKIPPED.contains(&name.as_str()) {
            collect_paths(&path, paths);
        } else if path.is_file() && (TEXTS.iter().any(|end| name.ends_with(end)) || name == "run") {
            paths.push(path);
        }
    }
}
