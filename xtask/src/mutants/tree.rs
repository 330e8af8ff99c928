//! The copy of the repository that the faults are planted in. A file that stays as it was keeps its time, so that a second build
//! does no more than it must.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::plant::{Fault, rewritten};
use super::sites::{Site, sites};

/// The crates whose faults a user would see.
pub const CRATES: [&str; 11] =
    ["disk", "work", "drives", "formats", "run", "lab", "os", "seekwise", "reproduce", "cli", "capi"];

/// The module with the switches, for each crate; `FAULTS` stands for how many there are.
const SWITCH: &str = include_str!("switch.txt");

/// Put at the head of each crate: errors of the compiler that a fault may run into, and that only say what will happen.
const HEAD: &str = "#![allow(arithmetic_overflow, unconditional_panic, overflowing_literals)] ";

/// The folder of all that is kept of this.
pub fn home() -> PathBuf {
    crate::target().join("mutants")
}

/// The copy.
pub fn folder() -> PathBuf {
    home().join("tree")
}

/// The texts of all sources of the crates that faults can be planted in, by their path from the root.
pub fn sources(root: &Path) -> io::Result<BTreeMap<String, String>> {
    let mut texts = BTreeMap::new();
    for path in listed(root)? {
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

/// All sites of these sources, but of those that are built only for tests or elsewhere.
pub fn all_sites(texts: &BTreeMap<String, String>) -> Result<Vec<Site>, String> {
    let (mut all, mut left_out) = (Vec::new(), Vec::new());
    for (file, text) in texts {
        all.extend(sites(file, text, &mut left_out).map_err(|why| format!("{file}: {why}"))?);
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
fn listed(root: &Path) -> io::Result<Vec<String>> {
    let words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").args(words).current_dir(root).output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(names.split('\0').filter(|name| !name.is_empty() && root.join(name).is_file()).map(str::to_owned).collect())
}

/// The module with so many switches.
pub fn switches(faults: usize) -> String {
    SWITCH.replace("FAULTS + 1", &(faults + 1).to_string())
}

/// Where each fault stands in the new text of its file.
pub type Places = BTreeMap<String, Vec<(u32, std::ops::Range<usize>)>>;

/// Writes the copy with the faults that are not dropped.
pub fn write(
    root: &Path,
    texts: &BTreeMap<String, String>,
    faults: &[Fault],
    dropped: &BTreeSet<u32>,
) -> io::Result<Places> {
    let (tree, mut places, mut kept) = (folder(), Places::new(), BTreeSet::new());
    for path in listed(root)? {
        let mut bytes = fs::read(root.join(&path))?;
        if let Some(text) = texts.get(&path) {
            let own: Vec<&Fault> = faults.iter().filter(|fault| fault.site.file == path).collect();
            let (mut new, mut at) = rewritten(text, &own, dropped);
            if path.ends_with("/src/lib.rs") {
                at.iter_mut().for_each(|(_, place)| *place = place.start + HEAD.len()..place.end + HEAD.len());
                new = format!("{HEAD}{new}{}", switches(faults.len()));
            }
            places.insert(path.clone(), at);
            bytes = new.into_bytes();
        }
        let to = tree.join(&path);
        if fs::read(&to).ok().as_ref() != Some(&bytes) {
            fs::create_dir_all(to.parent().expect("a file lies in a folder"))?;
            fs::write(&to, &bytes)?;
            fs::set_permissions(&to, fs::metadata(root.join(&path))?.permissions())?;
        }
        kept.insert(to);
    }
    remove_others(&tree, &kept)?;
    Ok(places)
}

/// The faults that did not build at an earlier start, with the same text about them.
pub fn known_dropped(texts: &BTreeMap<String, String>, faults: &[Fault]) -> BTreeSet<u32> {
    let known = fs::read_to_string(home().join("dropped.txt")).unwrap_or_default();
    let known: BTreeSet<&str> = known.lines().collect();
    faults.iter().filter(|fault| known.contains(&*mark(texts, fault))).map(|fault| fault.id).collect()
}

/// Keeps which faults did not build.
pub fn keep_dropped(texts: &BTreeMap<String, String>, faults: &[Fault], dropped: &BTreeSet<u32>) -> io::Result<()> {
    let marks = faults.iter().filter(|fault| dropped.contains(&fault.id)).map(|fault| mark(texts, fault) + "\n");
    fs::create_dir_all(home())?;
    fs::write(home().join("dropped.txt"), marks.collect::<String>())
}

/// Names a fault by its place and change, and the text of its file.
fn mark(texts: &BTreeMap<String, String>, fault: &Fault) -> String {
    let mut hash = DefaultHasher::new();
    (&texts[&fault.site.file], &fault.site.span, &fault.after).hash(&mut hash);
    format!("{}:{} {:016x}", fault.site.file, fault.site.line, hash.finish())
}

fn remove_others(folder: &Path, kept: &BTreeSet<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(&path, kept)?;
        } else if !kept.contains(&path) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}
