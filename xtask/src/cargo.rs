//! The steps that cargo does, by itself or by `cargo-deny`, and the paths of the programs that it builds. The arguments
//! are chosen here; cargo decides everything else.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::steps::{Ended, command, run_tests};

/// Checks that the source is formatted.
pub fn fmt() -> Ended {
    command(&["cargo", "fmt", "--all", "--check"], &[])
}

/// Checks dependencies by `deny.toml`: licences, origins, and duplicates (a warning).
pub fn deny() -> Ended {
    let version = Command::new("cargo").args(["deny", "--version"]).output();
    if !version.is_ok_and(|output| output.status.success()) {
        return Ended::Skipped("no cargo-deny; `.ci/run` brings it, or `cargo install --locked cargo-deny`".to_owned());
    }
    command(&["cargo", "deny", "--locked", "check", "--hide-inclusion-graph", "licenses", "bans", "sources"], &[])
}

/// The packages that cargo is asked for: all but the Python module, for which a Python and arrow would be needed (see
/// `python`).
pub const ALL_PACKAGES: [&str; 3] = ["--workspace", "--exclude", "seekwise-python"];

/// Checks that there is no lint in any package.
pub fn clippy() -> Ended {
    let words =
        [&["cargo", "clippy"], &ALL_PACKAGES[..], &["--all-targets", "--locked", "--", "-D", "warnings"]].concat();
    command(&words, &[])
}

/// The target of WebAssembly.
pub const WASM: &str = "wasm32-unknown-unknown";

/// Builds the library and the one behind the page Explore for WebAssembly, in the tests' profile.
pub fn wasm() -> Ended {
    if let Some(reason) = missing_wasm_target() {
        return Ended::Skipped(reason);
    }
    let packages = ["--package", "seekwise", "--package", "seekwise-explore", "--lib"];
    command(
        &[&["cargo", "build"], &packages[..], &["--no-default-features", "--target", WASM, "--locked"]].concat(),
        &[],
    )
}

/// Why nothing can be compiled for WebAssembly here.
pub fn missing_wasm_target() -> Option<String> {
    let library_folder = Command::new("rustc").args(["--print", "target-libdir", "--target", WASM]).output();
    let has_target =
        library_folder.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).exists());
    (!has_target).then(|| format!("no target for WebAssembly; `rustup target add {WASM}` brings it"))
}

/// Checks that documentation is built without a warning.
pub fn doc() -> Ended {
    let words = [&["cargo", "doc"], &ALL_PACKAGES[..], &["--no-deps", "--locked"]].concat();
    command(&words, &[("RUSTDOCFLAGS", "-D warnings")])
}

/// The command that builds the tests, and the program for them, in the dev profile (the model is optimised, see
/// `Cargo.toml`). Examples are not built; `clippy` checks them.
fn test_command() -> Vec<&'static str> {
    [&["cargo", "test"], &ALL_PACKAGES[..], &["--locked", "--lib", "--bins", "--tests"]].concat()
}

/// Runs all tests but those in the documentation. Output of passed tests is shown too: a test may print why it skips
/// itself.
pub fn test(skipped: &mut Vec<String>) -> Ended {
    let words = [&test_command()[..], &["--no-fail-fast", "--", "--show-output"]].concat();
    run_tests(&crate::root(), &words, &[], skipped)
}

/// Runs the tests of one package. Its dependencies may be built once more: cargo unites the features of all packages
/// that it is asked for.
pub fn test_package(package: &str, skipped: &mut Vec<String>) -> Ended {
    let words =
        ["cargo", "test", "--package", package, "--locked", "--lib", "--bins", "--tests", "--", "--show-output"];
    // Some packages have no library, which `--lib` would ask for.
    let words: Vec<&str> = words.into_iter().filter(|word| package != "xtask" || *word != "--lib").collect();
    run_tests(&crate::root(), &words, &[], skipped)
}

/// Runs the examples in the documentation.
pub fn doctest() -> Ended {
    command(&[&["cargo", "test"], &ALL_PACKAGES[..], &["--locked", "--no-fail-fast", "--doc"]].concat(), &[])
}

/// Builds the program as the tests use it, unless it is there, and returns its path. The release build would take
/// minutes more and behave the same.
pub fn build_debug_program() -> Result<PathBuf, String> {
    match command(&[&test_command()[..], &["--no-run", "--quiet"]].concat(), &[]) {
        Ended::Passed => Ok(crate::target().join("debug/seekwise")),
        Ended::Failed(why) | Ended::Skipped(why) => Err(why),
    }
}

/// Builds the program as users do.
pub fn release() -> Ended {
    command(&["cargo", "build", "--release", "--locked"], &[])
}

/// Builds the program as users do and returns a hash of its file. The file contains the built-in studies and drives as
/// well, so that results of one build are not taken for another's.
pub fn build_and_hash_release() -> Result<String, String> {
    if let Ended::Failed(why) | Ended::Skipped(why) = release() {
        return Err(why);
    }
    hash_file(&crate::target().join("release/seekwise"))
}

/// Returns a hash of a file's bytes.
pub fn hash_file(path: &Path) -> Result<String, String> {
    let bytes = fs::read(path).map_err(|why| format!("{}: {why}", path.display()))?;
    let mut hash = DefaultHasher::new();
    bytes.hash(&mut hash);
    Ok(format!("{:016x}", hash.finish()))
}
