//! One build of the copy with all faults. A fault that does not build is dropped, and the rest tried again.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::plant::blamed;
use super::tree::{self, Places};

/// Not built: chores plant nothing and test nothing of theirs; the Python module's tests are in Python.
const APART: [&str; 5] = ["--workspace", "--exclude", "xtask", "--exclude", "seekwise-python"];

/// A program of tests.
#[derive(Clone, Debug)]
pub struct Program {
    /// The folder of its crate, from the root, and its own name.
    pub home: String,
    /// The name of what it tests: a library's, or its own.
    pub name: String,
    /// The folder that it is started in, as cargo does: its crate's in the copy.
    pub folder: PathBuf,
    /// Where it lies.
    pub path: PathBuf,
    /// A hash of it and of the programs that it may start.
    pub hash: String,
}

/// What cargo said.
struct Said {
    errors: Vec<(String, Range<usize>, String)>,
    artifacts: Vec<Value>,
    ended_well: bool,
}

/// Where the copy is built.
pub fn target() -> PathBuf {
    tree::home().join("target")
}

fn cargo(words: &[&str]) -> io::Result<Said> {
    println!("$ cargo {} {}", words.join(" "), APART.join(" "));
    let output = Command::new("cargo")
        .args(words)
        .args(APART)
        .args(["--locked", "--quiet", "--message-format=json"])
        .current_dir(tree::folder())
        .env("CARGO_TARGET_DIR", target())
        // Checked again and again, built once.
        .env("CARGO_INCREMENTAL", if words[0] == "check" { "1" } else { "0" })
        .stderr(Stdio::inherit())
        .output()?;
    let (mut errors, mut artifacts) = (Vec::new(), Vec::new());
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        match message["reason"].as_str() {
            Some("compiler-artifact") => artifacts.push(message),
            Some("compiler-message") if message["message"]["level"] == "error" => {
                errors.extend(places(&message["message"]))
            }
            _ => {}
        }
    }
    Ok(Said { errors, artifacts, ended_well: output.status.success() })
}

/// The files and bytes that an error of the compiler names, and what it says.
fn places(message: &Value) -> Vec<(String, Range<usize>, String)> {
    let byte = |span: &Value, end: &str| span[end].as_u64().unwrap_or(0) as usize;
    let text = message["message"].as_str().unwrap_or("").to_owned();
    let spans = message["spans"].as_array().into_iter().flatten();
    spans
        .filter(|span| span["is_primary"] == true)
        .map(|span| {
            let file = span["file_name"].as_str().unwrap_or("").to_owned();
            (file, byte(span, "byte_start")..byte(span, "byte_end"), text.clone())
        })
        .collect()
}

/// Builds until nothing is in the way: `write` writes the copy without the faults that are dropped. Answers the test programs.
pub fn build(
    dropped: &mut BTreeSet<u32>,
    write: impl Fn(&BTreeSet<u32>) -> io::Result<Places>,
) -> Result<Vec<Program>, String> {
    for words in [&["check", "--keep-going"][..], &["test", "--no-run"]] {
        loop {
            let places = write(dropped).map_err(|why| why.to_string())?;
            let said = cargo(words).map_err(|why| why.to_string())?;
            if said.ended_well && words[0] == "test" {
                return programs(&said.artifacts);
            }
            if said.ended_well {
                break;
            }
            drop_blamed(&places, &said.errors, dropped)?;
        }
    }
    unreachable!("the second loop returns")
}

fn drop_blamed(
    places: &Places,
    errors: &[(String, Range<usize>, String)],
    dropped: &mut BTreeSet<u32>,
) -> Result<(), String> {
    let before = dropped.len();
    for (file, span, text) in errors {
        for id in places.get(file).map_or_else(Vec::new, |places| blamed(places, span)) {
            if dropped.insert(id) {
                println!("fault {id} in {file} does not build: {text}");
            }
        }
    }
    if dropped.len() == before {
        return Err(format!("the copy does not build, and no fault is to blame: {errors:?}"));
    }
    Ok(())
}

/// The programs of tests among what was built.
fn programs(artifacts: &[Value]) -> Result<Vec<Program>, String> {
    let executable = |artifact: &Value| artifact["executable"].as_str().map(PathBuf::from);
    let others = artifacts.iter().filter(|artifact| artifact["profile"]["test"] != true).filter(|artifact| {
        artifact["target"]["kind"].as_array().is_some_and(|kinds| kinds.contains(&Value::from("bin")))
    });
    let mut started = DefaultHasher::new();
    for artifact in others {
        executable(artifact).map_or(Ok(()), |path| add(&mut started, &path))?;
    }
    let mut programs = Vec::new();
    for artifact in artifacts.iter().filter(|artifact| artifact["profile"]["test"] == true) {
        let Some(path) = executable(artifact) else { continue };
        let folder = Path::new(artifact["manifest_path"].as_str().unwrap_or("")).parent().unwrap_or(Path::new(""));
        let home = folder.strip_prefix(tree::folder()).unwrap_or(folder).to_string_lossy().into_owned();
        // Only the program's own crate starts it.
        let mut hash = if home == "crates/cli" { started.clone() } else { DefaultHasher::new() };
        add(&mut hash, &path)?;
        let name = artifact["target"]["name"].as_str().unwrap_or("").to_owned();
        let folder = folder.to_owned();
        programs.push(Program { home, name, folder, path, hash: format!("{:016x}", hash.finish()) });
    }
    Ok(programs)
}

fn add(hash: &mut DefaultHasher, path: &Path) -> Result<(), String> {
    fs::read(path).map_err(|why| format!("{}: {why}", path.display()))?.hash(hash);
    Ok(())
}
