//! The address of the project in what a release publishes. The repository claims none. `SEEKWISE_HOME`, the address of
//! the public repository, adds it: `package`, `wheel`, `dist` and `rehearse` then run in a copy of the repository,
//! `target/home`, whose manifests, pyproject.toml, CITATION.cff and README name it. Only files that git tracks are
//! copied, as they are in the work tree.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The variable with the address.
const VARIABLE: &str = "SEEKWISE_HOME";

/// The commands that make what is published.
const COMMANDS: [&str; 4] = ["package", "wheel", "dist", "rehearse"];

/// The sentence of the README as long as there is no address.
const NO_ADDRESS: &str =
    "There is no public address yet: set `SEEKWISE_HOME` to the one of the repository that you were given.";

/// Runs a command in a copy with addresses, if the variable is set and the command publishes something.
pub fn run_in_copy(arguments: &[&str]) -> Option<ExitCode> {
    let home = std::env::var(VARIABLE).ok()?;
    if !COMMANDS.contains(arguments.first()?) {
        return None;
    }
    let run = || {
        check_address(&home)?;
        let folder = crate::target().join("home");
        copy_repository(&folder, &home)?;
        println!("note: {home} is the address, in {}", folder.display());
        let words = [&["run", "--quiet", "--package", "xtask", "--"], arguments].concat();
        let mut command = Command::new("cargo");
        command.args(&words).current_dir(&folder).env("CARGO_TARGET_DIR", crate::target()).env_remove(VARIABLE);
        command.status().map_err(|why| format!("cargo did not start: {why}"))
    };
    match run() {
        Ok(status) if status.success() => Some(ExitCode::SUCCESS),
        Ok(_) => Some(ExitCode::FAILURE),
        Err(why) => {
            eprintln!("{why}");
            Some(ExitCode::from(2))
        }
    }
}

/// An error unless this can be the address of a repository in a manifest.
fn check_address(home: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~/".contains(c);
    let fault = match home.strip_prefix("https://").map(|rest| rest.split_once('/').unwrap_or((rest, ""))) {
        None => "does not begin with https://",
        Some((host, _)) if !host.contains('.') || host.starts_with('.') || host.ends_with('.') => "has no public host",
        Some((_, "")) => "has no path",
        Some((_, path)) if path.ends_with('/') || path.contains("//") => "has an empty part",
        Some((host, path)) if !format!("{host}/{path}").chars().all(is_plain) => {
            "has more than letters, digits and -._~/"
        }
        Some(_) => return Ok(()),
    };
    Err(format!(
        "{VARIABLE}={home}: {fault}; expected the address of the public repository, such as {VARIABLE}=https://forge.example/seekwise"
    ))
}

/// Copies the repository, with the address in the files that name it.
fn copy_repository(folder: &Path, home: &str) -> Result<(), String> {
    let fault = |path: &Path, why: std::io::Error| format!("{}: {why}", path.display());
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|why| fault(folder, why))?;
    }
    for name in tracked_files()? {
        let (from, to) = (crate::root().join(&name), folder.join(&name));
        // A file that was removed, and not committed yet.
        if !from.exists() {
            continue;
        }
        let parent = to.parent().expect("it lies in the folder");
        fs::create_dir_all(parent).map_err(|why| fault(parent, why))?;
        fs::copy(&from, &to).map_err(|why| fault(&from, why))?;
        if let Some(change) = address_change(&name, home) {
            let text = fs::read_to_string(&from).map_err(|why| fault(&from, why))?;
            fs::write(&to, change(&text).ok_or_else(|| format!("{name}: no place for the address"))?)
                .map_err(|why| fault(&to, why))?;
        }
    }
    Ok(())
}

/// The names of the files that git tracks.
fn tracked_files() -> Result<Vec<String>, String> {
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(crate::root()).output();
    let output = output.map_err(|why| format!("git did not start: {why}"))?;
    if !output.status.success() {
        return Err(format!("`git ls-files` ended with {}; expected a checkout", output.status));
    }
    let names = String::from_utf8_lossy(&output.stdout);
    Ok(names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// A change of a text; `None` if it does not have the place.
type Change = Box<dyn Fn(&str) -> Option<String>>;

/// The change by which a file names the address; `None` if it names none.
fn address_change(name: &str, home: &str) -> Option<Change> {
    let after = |place: &'static str, line: String| -> Option<Change> {
        Some(Box::new(move |text: &str| {
            let end = text.find(place)? + place.len();
            let end = end + text[end..].find('\n')? + 1;
            Some(format!("{}{line}\n{}", &text[..end], &text[end..]))
        }))
    };
    match name {
        "Cargo.toml" => after("\ncategories = ", format!("repository = \"{home}\"")),
        "pyproject.toml" => {
            after("\nseekwise = \"seekwise._program:main\"", format!("\n[project.urls]\nRepository = \"{home}\""))
        }
        "CITATION.cff" => after("\nversion: ", format!("repository-code: \"{home}\"")),
        "README.md" => {
            let home = home.to_owned();
            Some(Box::new(move |text: &str| {
                let known = text.replacen(&format!("{NO_ADDRESS}\n"), "", 1);
                (known != text).then(|| known.replace("$SEEKWISE_HOME", &home))
            }))
        }
        _ if is_published(name) => after("\ncategories.workspace = true", "repository.workspace = true".to_owned()),
        _ => None,
    }
}

/// Whether this is the manifest of a crate that is published.
fn is_published(name: &str) -> bool {
    let is_manifest = name.starts_with("crates/") && name.ends_with("/Cargo.toml");
    is_manifest && fs::read_to_string(crate::root().join(name)).is_ok_and(|text| !text.contains("\npublish = false"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_address_is_refused_with_one_that_works() {
        check_address("https://forge.example/group/seekwise").unwrap();
        for (wrong, why) in [
            ("", "https://"),
            ("http://forge.example/seekwise", "https://"),
            ("git@forge.example:seekwise", "https://"),
            ("https://localhost/seekwise", "public host"),
            ("https:///seekwise", "public host"),
            ("https://forge.example", "no path"),
            ("https://forge.example/", "no path"),
            ("https://forge.example/seekwise/", "empty part"),
            ("https://me:secret@forge.example/seekwise", "letters"),
            ("https://forge.example/see\"wise", "letters"),
        ] {
            let said = check_address(wrong).unwrap_err();
            assert!(said.contains(why) && said.contains("SEEKWISE_HOME=https://"), "{wrong}: {said}");
        }
    }

    #[test]
    fn the_repository_claims_no_address_and_its_copy_one() {
        let home = "https://forge.example/seekwise";
        let mut changed = Vec::new();
        for name in tracked_files().unwrap() {
            let Some(change) = address_change(&name, home) else { continue };
            let before = fs::read_to_string(crate::root().join(&name)).unwrap();
            let claims = |text: &str| {
                let keys = ["repository", "homepage", "documentation", "repository-code", "url", "Repository"];
                text.lines().any(|line| keys.contains(&line.split([' ', '.', ':', '=']).next().unwrap_or_default()))
            };
            assert!(!claims(&before), "{name} claims an address");
            let after = change(&before).unwrap_or_else(|| panic!("{name}: no place for the address"));
            match name.as_str() {
                "README.md" => assert!(after.contains(home) && !after.contains("SEEKWISE_HOME"), "{after}"),
                _ => assert!(claims(&after), "{name}: {after}"),
            }
            if name.ends_with("toml") {
                let read: toml::Table = after.parse().unwrap();
                let parts = ["package", "workspace", "project"].map(|key| read.get(key).is_some());
                assert!(parts.contains(&true), "{name}");
            }
            changed.push(name);
        }
        for name in [
            "Cargo.toml",
            "pyproject.toml",
            "CITATION.cff",
            "README.md",
            "crates/disk/Cargo.toml",
            "crates/seekwise/Cargo.toml",
        ] {
            assert!(changed.iter().any(|it| it == name), "{name} of {changed:?}");
        }
        assert!(!changed.iter().any(|name| name == "crates/python/Cargo.toml"), "it is not published");
    }
}
