//! Builds the copy with all faults, once. A fault that does not build is dropped, and the build starts again without
//! it.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::plant::faults_near;
use super::tree::{self, Places};

/// The packages that are built: all but xtask, which has no faults and no tests of them, and the Python module, whose
/// tests are in Python.
const PACKAGES: [&str; 5] = ["--workspace", "--exclude", "xtask", "--exclude", "seekwise-python"];

/// A program of tests.
#[derive(Clone, Debug)]
pub struct Program {
    /// The folder of its crate, from the root.
    pub crate_folder: String,
    /// The name of the library that it tests, or its own name.
    pub name: String,
    /// The working directory of its tests, as with cargo: its crate's folder in the copy.
    pub folder: PathBuf,
    /// The program's file.
    pub path: PathBuf,
    /// A hash of this program and of those that it may start.
    pub hash: String,
}

/// An error of the compiler: the file, the bytes in it, and the message.
type CompilerError = (String, Range<usize>, String);

/// The messages of a run of cargo.
struct CargoOutput {
    errors: Vec<CompilerError>,
    artifacts: Vec<Value>,
    is_success: bool,
}

/// Where the copy is built.
pub fn build_folder() -> PathBuf {
    tree::mutants_folder().join("target")
}

fn run_cargo(words: &[&str]) -> io::Result<CargoOutput> {
    println!("$ cargo {} {}", words.join(" "), PACKAGES.join(" "));
    let output = Command::new("cargo")
        .args(words)
        .args(PACKAGES)
        .args(["--locked", "--quiet", "--message-format=json"])
        .current_dir(tree::copy_folder())
        .env("CARGO_TARGET_DIR", build_folder())
        // The copy is checked many times, and built once.
        .env("CARGO_INCREMENTAL", if words[0] == "check" { "1" } else { "0" })
        .stderr(Stdio::inherit())
        .output()?;
    let (mut errors, mut artifacts) = (Vec::new(), Vec::new());
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        match message["reason"].as_str() {
            Some("compiler-artifact") => artifacts.push(message),
            Some("compiler-message") if message["message"]["level"] == "error" => {
                errors.extend(compiler_errors(&message["message"]))
            }
            _ => {}
        }
    }
    Ok(CargoOutput { errors, artifacts, is_success: output.status.success() })
}

/// A message of the compiler as one error for each place that it names.
fn compiler_errors(message: &Value) -> Vec<CompilerError> {
    let byte = |span: &Value, key: &str| span[key].as_u64().unwrap_or(0) as usize;
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

/// Builds the test programs, again as long as faults do not build: those are added to `dropped`. `write_copy` writes
/// the copy without the dropped faults.
pub fn build_test_programs(
    dropped: &mut BTreeSet<u32>,
    write_copy: impl Fn(&BTreeSet<u32>) -> io::Result<Places>,
) -> Result<Vec<Program>, String> {
    for words in [&["check", "--keep-going"][..], &["test", "--no-run"]] {
        loop {
            let places = write_copy(dropped).map_err(|why| why.to_string())?;
            let output = run_cargo(words).map_err(|why| why.to_string())?;
            if output.is_success && words[0] == "test" {
                return test_programs(&output.artifacts);
            }
            if output.is_success {
                break;
            }
            drop_blamed_faults(&places, &output.errors, dropped)?;
        }
    }
    unreachable!("the second loop returns")
}

fn drop_blamed_faults(places: &Places, errors: &[CompilerError], dropped: &mut BTreeSet<u32>) -> Result<(), String> {
    let before = dropped.len();
    for (file, span, text) in errors {
        for id in places.get(file).map_or_else(Vec::new, |places| faults_near(places, span)) {
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

/// The test programs among the built artifacts.
fn test_programs(artifacts: &[Value]) -> Result<Vec<Program>, String> {
    let executable = |artifact: &Value| artifact["executable"].as_str().map(PathBuf::from);
    let others = artifacts.iter().filter(|artifact| artifact["profile"]["test"] != true).filter(|artifact| {
        artifact["target"]["kind"].as_array().is_some_and(|kinds| kinds.contains(&Value::from("bin")))
    });
    let mut hash_of_started = DefaultHasher::new();
    for artifact in others {
        executable(artifact).map_or(Ok(()), |path| hash_file(&mut hash_of_started, &path))?;
    }
    let mut programs = Vec::new();
    for artifact in artifacts.iter().filter(|artifact| artifact["profile"]["test"] == true) {
        let Some(path) = executable(artifact) else { continue };
        let folder = Path::new(artifact["manifest_path"].as_str().unwrap_or("")).parent().unwrap_or(Path::new(""));
        let crate_folder = folder.strip_prefix(tree::copy_folder()).unwrap_or(folder).to_string_lossy().into_owned();
        // Only the program's own crate starts it.
        let mut hash = if crate_folder == "crates/cli" { hash_of_started.clone() } else { DefaultHasher::new() };
        hash_file(&mut hash, &path)?;
        let name = artifact["target"]["name"].as_str().unwrap_or("").to_owned();
        let folder = folder.to_owned();
        programs.push(Program { crate_folder, name, folder, path, hash: format!("{:016x}", hash.finish()) });
    }
    Ok(programs)
}

/// Feeds the bytes of a file to the hash.
fn hash_file(hash: &mut DefaultHasher, path: &Path) -> Result<(), String> {
    fs::read(path).map_err(|why| format!("{}: {why}", path.display()))?.hash(hash);
    Ok(())
}
