//! Profile-guided optimization of the archive's program. An instrumented program runs `bench` and a study; the compiler
//! then uses its counts for the program of the archive. Results are equal, byte for byte: only the placement of code
//! and inlining change.
//!
//! Functions of the model, the targets and the statistics alone are counted, on one core and from fixed seeds: equal
//! sources give equal counts and equal programs. Needs rustup's component llvm-tools, and a program that runs on this
//! machine; without either, the program is built without a profile.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Target, build_with_flags, error_text, program_path, run};

/// The profile of a target's program, and its results.
pub struct Training {
    pub triple: &'static str,
    /// The compiler's profile; its name is a hash, so that cargo notices a change.
    pub profile: PathBuf,
    /// The results of the instrumented program.
    results: PathBuf,
}

impl Training {
    /// Checks that the optimized program has the results of the instrumented one.
    pub fn check(&self, program: &Path) -> Result<(), String> {
        let scratch = crate::empty_folder("trained").map_err(error_text)?;
        let read = |results: &Path| fs::read(results.join("results.jsonl")).map_err(error_text);
        match read(&self.results)? == read(&run_study(program, &scratch)?)? {
            true => Ok(()),
            false => Err(format!("{}: its results differ from those of the instrumented program", program.display())),
        }
    }
}

/// Patterns of names: functions that are called equally often in each run, and exceptions that hand results from thread
/// to thread.
const COUNTED: &str = "seekwise_disk|seekwise_work|seekwise_run|seekwise_os|seekwise_lab5stats";
const UNCOUNTED: &str = "mpsc";

/// Requests of each workload of `bench`: a few seconds.
const BENCH_REQUESTS: &str = "200000";

const STUDY: &str = include_str!("training.toml");

/// Makes the profile of the program for `target`, which runs here. If that is not possible, prints the reason and
/// returns `None`.
pub fn train(target: &'static Target) -> Result<Option<Training>, String> {
    let Some(profdata) = find_profdata() else {
        println!(
            "{}: built without a profile, because llvm-profdata is missing; `rustup component add llvm-tools` installs it",
            target.triple
        );
        return Ok(None);
    };
    run(&["rustup", "target", "add", target.triple])?;
    let scratch = crate::empty_folder("training").map_err(error_text)?;
    let counts = scratch.join("counts");
    let folder = crate::target().join("training");
    let generate = format!("-Cprofile-generate={}", counts.display());
    build_with_flags(target, &[generate], Some(&folder))?;
    let program = program_path(target, &folder);
    run(&[&program.display().to_string(), "bench", "--requests", BENCH_REQUESTS])?;
    let results = run_study(&program, &scratch)?;
    let merged = scratch.join("merged");
    let mut words = vec![profdata.display().to_string(), "merge".to_owned()];
    words.extend([format!("--function={COUNTED}"), format!("--no-function={UNCOUNTED}")]);
    words.extend(["-o".to_owned(), merged.display().to_string(), counts.display().to_string()]);
    run(&words.iter().map(String::as_str).collect::<Vec<_>>())?;
    let bytes = fs::read(&merged).map_err(error_text)?;
    let profile = folder.join(format!("{:016x}.profdata", fnv_1a(&bytes)));
    fs::write(&profile, bytes).map_err(error_text)?;
    Ok(Some(Training { triple: target.triple, profile, results }))
}

/// Runs the study; returns the folder of its results.
fn run_study(program: &Path, scratch: &Path) -> Result<PathBuf, String> {
    let (study, out) = (scratch.join("training.toml"), scratch.join("out"));
    fs::write(&study, STUDY).map_err(error_text)?;
    let [program, study, folder] = [program, &study, &out].map(|path| path.display().to_string());
    run(&[&program, "study", &study, "--out", &folder, "--threads", "1"])?;
    Ok(out)
}

/// The toolchain's tool that merges counts.
fn find_profdata() -> Option<PathBuf> {
    // If it is installed, this does nothing; if it cannot be installed, the tool is not found.
    let _ = run(&["rustup", "component", "add", "llvm-tools"]);
    let output = Command::new("rustc").args(["--print", "target-libdir"]).current_dir(crate::root()).output().ok()?;
    let libraries = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    let tool = libraries.with_file_name("bin").join(format!("llvm-profdata{}", std::env::consts::EXE_SUFFIX));
    tool.exists().then_some(tool)
}

/// The FNV-1a hash of 64 bits.
fn fnv_1a(bytes: &[u8]) -> u64 {
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
        assert_ne!(fnv_1a(b"one"), fnv_1a(b"two"));
    }
}
