//! `cargo xtask package`: the crates that can be published are packed, and no source of a package reads a file outside of it when
//! it is built. Nothing is built here, and nothing is uploaded.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::steps::{Ended, command};

/// What reads a file when it is built, up to the file's name.
const READS: [&str; 4] = ["include_str!(", "include_bytes!(", "include!(", "#[path = "];

/// A package that can be published.
struct Package {
    name: String,
    folder: PathBuf,
    /// What the registry demands and is not there.
    lacks: Vec<&'static str>,
}

/// Runs the step.
pub fn package() -> Ended {
    let packages = match published() {
        Ok(packages) => packages,
        Err(why) => return Ended::Failed(why),
    };
    let mut faults = Vec::new();
    for package in &packages {
        faults.extend(package.lacks.iter().map(|lack| format!("{}: no {lack}", package.name)));
        match listed(&package.name) {
            Ok(files) => faults.extend(outside(package, &files)),
            Err(why) => faults.push(why),
        }
    }
    for fault in &faults {
        println!("{fault}");
    }
    if !faults.is_empty() {
        return Ended::Failed(format!("{} faults in {} packages", faults.len(), packages.len()));
    }
    let mut words = vec!["cargo", "package", "--no-verify", "--allow-dirty", "--locked", "--offline", "--quiet"];
    words.extend(packages.iter().flat_map(|package| ["--package", package.name.as_str()]));
    command(&words, &[])
}

/// What cargo prints.
fn printed(words: &[&str]) -> Result<String, String> {
    let said = |why: std::io::Error| format!("`cargo {}` did not start: {why}", words.join(" "));
    let output = Command::new("cargo").args(words).current_dir(crate::root()).output().map_err(said)?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("`cargo {}`: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// The packages of the workspace whose manifests do not forbid it.
fn published() -> Result<Vec<Package>, String> {
    let text = printed(&["metadata", "--no-deps", "--format-version", "1", "--locked"])?;
    let metadata: Value = serde_json::from_str(&text).map_err(|why| format!("cargo's metadata: {why}"))?;
    let all = metadata["packages"].as_array().into_iter().flatten();
    let package = |package: &Value| {
        let manifest = Path::new(package["manifest_path"].as_str()?);
        let lacks = ["description", "license"].into_iter().filter(|key| package[*key].as_str().is_none());
        Some(Package {
            name: package["name"].as_str()?.to_owned(),
            folder: manifest.parent()?.to_owned(),
            lacks: lacks.collect(),
        })
    };
    Ok(all.filter(|package| package["publish"].is_null()).filter_map(package).collect())
}

/// The files of a package, from its folder.
fn listed(name: &str) -> Result<BTreeSet<String>, String> {
    let text = printed(&["package", "--list", "--allow-dirty", "--locked", "--package", name])?;
    Ok(text.lines().map(|line| line.replace('\\', "/")).collect())
}

/// Files that a package's sources read and that are not in it.
fn outside(package: &Package, files: &BTreeSet<String>) -> Vec<String> {
    let licences = ["LICENSE-APACHE", "LICENSE-MIT"].into_iter().filter(|name| !files.contains(*name));
    let mut faults: Vec<String> = licences.map(|name| format!("{}: the package lacks {name}", package.name)).collect();
    for file in files.iter().filter(|file| file.ends_with(".rs")) {
        let text = fs::read_to_string(package.folder.join(file)).unwrap_or_default();
        for read in reads(file, &text).into_iter().filter(|read| !is_inside(read, files)) {
            faults.push(format!("{}: {file} reads {read}, which is not in the package", package.name));
        }
    }
    faults
}

/// The files that a source reads, from the package's folder; of a name that a macro puts together, its beginning; a name that
/// cannot be told, as it stands.
fn reads(file: &str, text: &str) -> Vec<String> {
    let rests = |begin: &'static str| text.match_indices(begin).map(move |(at, _)| &text[at + begin.len()..]);
    let name = |rest: &str| {
        let rest = rest.trim_start();
        let rest = rest.strip_prefix("concat!(").unwrap_or(rest).trim_start();
        let text = rest.strip_prefix('"').and_then(|rest| rest.split('"').next());
        text.map_or_else(|| rest.lines().next().unwrap_or_default().to_owned(), |text| from_folder(file, text))
    };
    READS.into_iter().flat_map(rests).map(name).collect()
}

/// A name in a file, from the folder that the file's own name begins at.
fn from_folder(file: &str, name: &str) -> String {
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in name.split('/') {
        match (part, parts.last()) {
            (".", _) => {}
            ("..", Some(&last)) if last != ".." => {
                parts.pop();
            }
            (part, _) => parts.push(part),
        }
    }
    parts.join("/")
}

/// Whether a file of the package has this name, or begins with it.
fn is_inside(read: &str, files: &BTreeSet<String>) -> bool {
    files.contains(read) || read.ends_with('/') && files.iter().any(|file| file.starts_with(read))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_outside_of_a_package_is_found() {
        let text = "const A: &str = include_str!(\"a.toml\");\n#[path = \"a/tests.rs\"]\nmod tests;\n\
                    [$(include_str!(concat!(\"../data/\", $name, \".toml\"))),+]\ninclude_bytes!(\"../../other/b\");\n";
        let read = reads("src/a.rs", text);
        assert_eq!(read, ["src/a.toml", "data/", "../other/b", "src/a/tests.rs"]);
        let files = BTreeSet::from(["src/a.toml", "src/a/tests.rs", "data/x.toml"].map(str::to_owned));
        let told: Vec<&String> = read.iter().filter(|read| !is_inside(read, &files)).collect();
        assert_eq!(told, ["../other/b"]);
        let unknown = reads("src/a.rs", "include_str!(concat!(env!(\"HOME\"), \"/x\"))");
        assert!(unknown.iter().all(|read| !is_inside(read, &files)), "{unknown:?}");
    }

    #[test]
    fn names_lead_up_and_down() {
        assert_eq!(from_folder("src/a/b.rs", "../../x/./y"), "x/y");
        assert_eq!(from_folder("build.rs", "../z"), "../z");
    }
}
