//! Writes the copy of the repository that the faults are planted in. An unchanged file keeps its time, so that a second
//! build does no more than it must.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::plant::{Fault, FaultPlaces, plant_faults};
use super::sites::{Site, find_sites};

/// The crates whose faults a user would see.
pub const CRATES: [&str; 12] =
    ["disk", "work", "files", "drives", "formats", "run", "lab", "os", "seekwise", "reproduce", "cli", "capi"];

/// The module with the switches, which each crate gets; `FAULTS` stands for their number.
const SWITCH_SOURCE: &str = include_str!("switch.txt");

/// The text at the head of each crate. It allows errors of the compiler that a fault may cause, which foretell what
/// happens when it is switched on.
const LINT_HEAD: &str = "#![allow(arithmetic_overflow, unconditional_panic, overflowing_literals)] ";

/// The folder of everything that is kept.
pub fn mutants_folder() -> PathBuf {
    crate::target().join("mutants")
}

/// The folder of the copy.
pub fn copy_folder() -> PathBuf {
    mutants_folder().join("tree")
}

/// The texts of all sources of the crates that faults can be planted in, by their path from the root.
pub fn read_sources(root: &Path) -> io::Result<BTreeMap<String, String>> {
    let mut texts = BTreeMap::new();
    for path in list_files(root)? {
        let Some((name, inside)) = path.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/")) else {
            continue;
        };
        let is_tests = inside.split('/').any(|part| part == "tests" || part == "tests.rs") || inside == "main.rs";
        if CRATES.contains(&name) && path.ends_with(".rs") && !is_tests {
            texts.insert(path.clone(), fs::read_to_string(root.join(&path))?);
        }
    }
    Ok(texts)
}

/// All sites of these sources, except for modules that are built only for tests or on other systems.
pub fn find_all_sites(texts: &BTreeMap<String, String>) -> Result<Vec<Site>, String> {
    let (mut all, mut left_out) = (Vec::new(), Vec::new());
    for (file, text) in texts {
        all.extend(find_sites(file, text, &mut left_out).map_err(|why| format!("{file}: {why}"))?);
    }
    let is_left_out = |file: &str| {
        left_out
            .iter()
            .any(|module| file.strip_prefix(module.as_str()).is_some_and(|rest| rest == ".rs" || rest.starts_with('/')))
    };
    all.retain(|site| !is_left_out(&site.file));
    Ok(all)
}

/// All files of the repository, from its root.
fn list_files(root: &Path) -> io::Result<Vec<String>> {
    let words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").args(words).current_dir(root).output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(names.split('\0').filter(|name| !name.is_empty() && root.join(name).is_file()).map(str::to_owned).collect())
}

/// The module with switches for so many faults.
pub fn switch_module(fault_count: usize) -> String {
    SWITCH_SOURCE.replace("FAULTS + 1", &(fault_count + 1).to_string())
}

/// The places of faults, by file.
pub type Places = BTreeMap<String, FaultPlaces>;

/// Writes the copy with the faults that are not dropped, and removes its other files; returns the places of the faults.
pub fn write_copy(
    root: &Path,
    texts: &BTreeMap<String, String>,
    faults: &[Fault],
    dropped: &BTreeSet<u32>,
) -> io::Result<Places> {
    let (tree, mut places, mut kept) = (copy_folder(), Places::new(), BTreeSet::new());
    for path in list_files(root)? {
        let mut bytes = fs::read(root.join(&path))?;
        if let Some(text) = texts.get(&path) {
            let faults_of_file: Vec<&Fault> = faults.iter().filter(|fault| fault.site.file == path).collect();
            let (mut new, mut fault_places) = plant_faults(text, &faults_of_file, dropped);
            if path.ends_with("/src/lib.rs") {
                fault_places
                    .iter_mut()
                    .for_each(|(_, place)| *place = place.start + LINT_HEAD.len()..place.end + LINT_HEAD.len());
                new = format!("{LINT_HEAD}{new}{}", switch_module(faults.len()));
            }
            places.insert(path.clone(), fault_places);
            bytes = new.into_bytes();
        }
        let copy_path = tree.join(&path);
        if fs::read(&copy_path).ok().as_ref() != Some(&bytes) {
            fs::create_dir_all(copy_path.parent().expect("a file lies in a folder"))?;
            fs::write(&copy_path, &bytes)?;
            fs::set_permissions(&copy_path, fs::metadata(root.join(&path))?.permissions())?;
        }
        kept.insert(copy_path);
    }
    remove_other_files(&tree, &kept)?;
    Ok(places)
}

/// The faults that did not build at an earlier start, while the text of their file is equal.
pub fn read_dropped(texts: &BTreeMap<String, String>, faults: &[Fault]) -> BTreeSet<u32> {
    let text = fs::read_to_string(mutants_folder().join("dropped.txt")).unwrap_or_default();
    let known: BTreeSet<&str> = text.lines().collect();
    faults.iter().filter(|fault| known.contains(&*fault_key(texts, fault))).map(|fault| fault.id).collect()
}

/// Writes the faults that did not build to a file.
pub fn write_dropped(texts: &BTreeMap<String, String>, faults: &[Fault], dropped: &BTreeSet<u32>) -> io::Result<()> {
    let lines = faults.iter().filter(|fault| dropped.contains(&fault.id)).map(|fault| fault_key(texts, fault) + "\n");
    fs::create_dir_all(mutants_folder())?;
    fs::write(mutants_folder().join("dropped.txt"), lines.collect::<String>())
}

/// The key of a fault: its place, and a hash of its change and of its file's text.
fn fault_key(texts: &BTreeMap<String, String>, fault: &Fault) -> String {
    let mut hash = DefaultHasher::new();
    (&texts[&fault.site.file], &fault.site.span, &fault.after).hash(&mut hash);
    format!("{}:{} {:016x}", fault.site.file, fault.site.line, hash.finish())
}

/// Removes the files of a folder that are not in `kept`.
fn remove_other_files(folder: &Path, kept: &BTreeSet<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            remove_other_files(&path, kept)?;
        } else if !kept.contains(&path) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}
