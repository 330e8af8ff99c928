//! `cargo xtask package`: packs the crates that can be published, and checks that no source of a package reads a file
//! outside of it when it is built, and that each crate's documentation has an example. Nothing is built here, and nothing
//! is uploaded.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::steps::{Ended, command};

/// Code that reads a file when it is built, up to the file's name.
const READING_CODE: [&str; 4] = ["include_str!(", "include_bytes!(", "include!(", "#[path = "];

/// What a registry demands of a package, or shows of it.
const FIELDS: [&str; 5] = ["description", "license", "readme", "keywords", "categories"];

/// A package that can be published.
struct Package {
    name: String,
    folder: PathBuf,
    /// The [`FIELDS`] that the manifest lacks.
    missing_fields: Vec<&'static str>,
}

/// Runs the step.
pub fn package() -> Ended {
    let packages = match publishable_packages() {
        Ok(packages) => packages,
        Err(why) => return Ended::Failed(why),
    };
    let mut faults = Vec::new();
    for package in &packages {
        faults.extend(package.missing_fields.iter().map(|field| format!("{}: no {field}", package.name)));
        if !has_example(package) {
            faults.push(format!(
                "{}: no example in the documentation of the crate; expected one in src/lib.rs",
                package.name
            ));
        }
        match package_files(&package.name) {
            Ok(files) => faults.extend(files_outside(package, &files)),
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

/// Runs cargo; returns its output.
fn cargo_output(words: &[&str]) -> Result<String, String> {
    let start_error = |why: std::io::Error| format!("`cargo {}` did not start: {why}", words.join(" "));
    let output = Command::new("cargo").args(words).current_dir(crate::root()).output().map_err(start_error)?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("`cargo {}`: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// The packages of the workspace whose manifests do not forbid publishing.
fn publishable_packages() -> Result<Vec<Package>, String> {
    let text = cargo_output(&["metadata", "--no-deps", "--format-version", "1", "--locked"])?;
    let metadata: Value = serde_json::from_str(&text).map_err(|why| format!("cargo's metadata: {why}"))?;
    let all = metadata["packages"].as_array().into_iter().flatten();
    let package = |package: &Value| {
        let manifest = Path::new(package["manifest_path"].as_str()?);
        let is_missing = |key: &&str| match &package[*key] {
            Value::Array(words) => words.is_empty(),
            value => value.as_str().is_none(),
        };
        let missing_fields = FIELDS.into_iter().filter(is_missing);
        Some(Package {
            name: package["name"].as_str()?.to_owned(),
            folder: manifest.parent()?.to_owned(),
            missing_fields: missing_fields.collect(),
        })
    };
    Ok(all.filter(|package| package["publish"].is_null()).filter_map(package).collect())
}

/// The files of a package, by their paths from its folder.
fn package_files(name: &str) -> Result<BTreeSet<String>, String> {
    let text = cargo_output(&["package", "--list", "--allow-dirty", "--locked", "--package", name])?;
    Ok(text.lines().map(|line| line.replace('\\', "/")).collect())
}

/// Whether the documentation of the crate has an example that is tested.
fn has_example(package: &Package) -> bool {
    let text = fs::read_to_string(package.folder.join("src/lib.rs")).unwrap_or_default();
    text.lines().any(|line| line == "//! ```")
}

/// Files that a package's sources read and that are not in it.
fn files_outside(package: &Package, files: &BTreeSet<String>) -> Vec<String> {
    let licences = ["LICENSE-APACHE", "LICENSE-MIT"].into_iter().filter(|name| !files.contains(*name));
    let mut faults: Vec<String> = licences.map(|name| format!("{}: the package lacks {name}", package.name)).collect();
    for file in files.iter().filter(|file| file.ends_with(".rs")) {
        let text = fs::read_to_string(package.folder.join(file)).unwrap_or_default();
        for read in files_read_by(file, &text).into_iter().filter(|read| !is_inside(read, files)) {
            faults.push(format!("{}: {file} reads {read}, which is not in the package", package.name));
        }
    }
    faults
}

/// The files that a source reads, by their paths from the package's folder. If a macro puts a name together, this is
/// its beginning; a name that cannot be found out is returned as the code that makes it.
fn files_read_by(file: &str, text: &str) -> Vec<String> {
    let texts_after = |begin: &'static str| text.match_indices(begin).map(move |(at, _)| &text[at + begin.len()..]);
    let file_name = |rest: &str| {
        let rest = rest.trim_start();
        let rest = rest.strip_prefix("concat!(").unwrap_or(rest).trim_start();
        let text = rest.strip_prefix('"').and_then(|rest| rest.split('"').next());
        text.map_or_else(|| rest.lines().next().unwrap_or_default().to_owned(), |text| resolve_from(file, text))
    };
    READING_CODE.into_iter().flat_map(texts_after).map(file_name).collect()
}

/// A path that a file names relative to itself, relative to the package's folder.
fn resolve_from(file: &str, name: &str) -> String {
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
        let read = files_read_by("src/a.rs", text);
        assert_eq!(read, ["src/a.toml", "data/", "../other/b", "src/a/tests.rs"]);
        let files = BTreeSet::from(["src/a.toml", "src/a/tests.rs", "data/x.toml"].map(str::to_owned));
        let told: Vec<&String> = read.iter().filter(|read| !is_inside(read, &files)).collect();
        assert_eq!(told, ["../other/b"]);
        let unknown = files_read_by("src/a.rs", "include_str!(concat!(env!(\"HOME\"), \"/x\"))");
        assert!(unknown.iter().all(|read| !is_inside(read, &files)), "{unknown:?}");
    }

    #[test]
    fn names_lead_up_and_down() {
        assert_eq!(resolve_from("src/a/b.rs", "../../x/./y"), "x/y");
        assert_eq!(resolve_from("build.rs", "../z"), "../z");
    }
}
