//! A program that was watched at work is laid out by the compiler for that work. The instrumented program runs `bench` and
//! a study of its own; what it counted goes into the program of the archive. What comes out of that is the same, byte for
//! byte: only where code lies and what is inlined changes.
//!
//! Only the model, the targets and the statistics are counted, on one core, from fixed seeds: equal sources give equal
//! counts, and so equal programs. Needs rustup's component llvm-tools, and a program that runs on this machine; where
//! either is not there, the program is built without.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Target, binary, cargo_build, run, said};

/// What a program for a target was seen to do.
pub struct Training {
    pub triple: &'static str,
    /// The compiler's profile; its name is what is in it, so that cargo knows it from another.
    pub profile: PathBuf,
    /// Where the program that was watched left its results.
    results: PathBuf,
}

impl Training {
    /// Whether the trained program answers what the one that was watched did.
    pub fn check(&self, program: &Path) -> Result<(), String> {
        let again = crate::scratch("trained").map_err(said)?;
        let read = |results: &Path| fs::read(results.join("results.jsonl")).map_err(said);
        match read(&self.results)? == read(&study(program, &again)?)? {
            true => Ok(()),
            false => Err(format!("{}: its results differ from those before its training", program.display())),
        }
    }
}

/// By their names, functions that are called equally often in each run, and of these such as hand results from thread to
/// thread, which are not.
const COUNTED: &str = "seekwise_disk|seekwise_work|seekwise_run|seekwise_os|seekwise_lab5stats";
const UNCOUNTED: &str = "mpsc";

/// Requests of each workload of `bench`: a few seconds.
const REQUESTS: &str = "200000";

const STUDY: &str = include_str!("training.toml");

/// Trains the program for `target`, which runs here. Nothing, and a line that says why, where that cannot be done.
pub fn train(target: &'static Target) -> Result<Option<Training>, String> {
    let Some(profdata) = profdata() else {
        println!(
            "{}: built without training: llvm-profdata is not there; `rustup component add llvm-tools` brings it",
            target.triple
        );
        return Ok(None);
    };
    run(&["rustup", "target", "add", target.triple])?;
    let scratch = crate::scratch("training").map_err(said)?;
    let counts = scratch.join("counts");
    let folder = crate::target().join("training");
    let generate = format!("-Cprofile-generate={}", counts.display());
    cargo_build(target, &[generate], Some(&folder))?;
    let program = binary(target, &folder);
    run(&[&program.display().to_string(), "bench", "--requests", REQUESTS])?;
    let results = study(&program, &scratch)?;
    let merged = scratch.join("merged");
    let mut words = vec![profdata.display().to_string(), "merge".to_owned()];
    words.extend([format!("--function={COUNTED}"), format!("--no-function={UNCOUNTED}")]);
    words.extend(["-o".to_owned(), merged.display().to_string(), counts.display().to_string()]);
    run(&words.iter().map(String::as_str).collect::<Vec<_>>())?;
    let bytes = fs::read(&merged).map_err(said)?;
    let profile = folder.join(format!("{:016x}.profdata", hash(&bytes)));
    fs::write(&profile, bytes).map_err(said)?;
    Ok(Some(Training { triple: target.triple, profile, results }))
}

/// Runs the study, and answers the folder of its results.
fn study(program: &Path, scratch: &Path) -> Result<PathBuf, String> {
    let (study, out) = (scratch.join("training.toml"), scratch.join("out"));
    fs::write(&study, STUDY).map_err(said)?;
    let [program, study, folder] = [program, &study, &out].map(|path| path.display().to_string());
    run(&[&program, "study", &study, "--out", &folder, "--threads", "1"])?;
    Ok(out)
}

/// The tool that puts counts together, of the toolchain that builds.
fn profdata() -> Option<PathBuf> {
    // Where it is there already, this does nothing; where it cannot be had, the tool is not found.
    let _ = run(&["rustup", "component", "add", "llvm-tools"]);
    let output = Command::new("rustc").args(["--print", "target-libdir"]).current_dir(crate::root()).output().ok()?;
    let libraries = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    let tool = libraries.with_file_name("bin").join(format!("llvm-profdata{}", std::env::consts::EXE_SUFFIX));
    tool.exists().then_some(tool)
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_training_runs_a_drive_that_is_there() {
        let drive = STUDY.lines().find_map(|line| line.strip_prefix("drive = ")).unwrap().trim_matches('"');
        assert!(crate::root().join("crates/drives/profiles").join(format!("{drive}.toml")).exists(), "{drive}");
    }

    #[test]
    fn another_profile_has_another_name() {
        assert_ne!(hash(b"one"), hash(b"two"));
    }
}
