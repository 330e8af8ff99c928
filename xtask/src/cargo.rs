//! The steps that cargo does, by itself or by `cargo-deny`, and which program came of it. Nothing is decided here but the arguments.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::steps::{Ended, command, run_tests};

/// One format.
pub fn fmt() -> Ended {
    command(&["cargo", "fmt", "--all", "--check"], &[])
}

/// Dependencies by `deny.toml`: licences, origins, what is there twice (a warning).
pub fn deny() -> Ended {
    let there = Command::new("cargo").args(["deny", "--version"]).output();
    if !there.is_ok_and(|output| output.status.success()) {
        return Ended::Skipped("no cargo-deny; `.ci/run` brings it, or `cargo install --locked cargo-deny`".to_owned());
    }
    command(&["cargo", "deny", "--locked", "check", "--hide-inclusion-graph", "licenses", "bans", "sources"], &[])
}

/// What cargo is asked for: everything but the Python module, for which a Python and arrow would be needed (see `python`).
pub const ALL: [&str; 3] = ["--workspace", "--exclude", "seekwise-python"];

/// No lint.
pub fn clippy() -> Ended {
    let words = [&["cargo", "clippy"], &ALL[..], &["--all-targets", "--locked", "--", "-D", "warnings"]].concat();
    command(&words, &[])
}

/// The target of WebAssembly.
const WASM: &str = "wasm32-unknown-unknown";

/// No lint in the library where there is no system.
pub fn wasm() -> Ended {
    let folder = Command::new("rustc").args(["--print", "target-libdir", "--target", WASM]).output();
    if !folder.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).exists()) {
        return Ended::Skipped(format!("no target for WebAssembly; `rustup target add {WASM}` brings it"));
    }
    let words = ["cargo", "clippy", "--package", "seekwise", "--no-default-features", "--target", WASM, "--locked"];
    command(&[&words[..], &["--", "-D", "warnings"]].concat(), &[])
}

/// Documentation without a warning.
pub fn doc() -> Ended {
    let words = [&["cargo", "doc"], &ALL[..], &["--no-deps", "--locked"]].concat();
    command(&words, &[("RUSTDOCFLAGS", "-D warnings")])
}

/// What builds the tests, and the program for them, in the dev profile (the model optimised, see `Cargo.toml`). Examples are built by
/// nobody: `clippy` looks at them.
fn build_tests() -> Vec<&'static str> {
    [&["cargo", "test"], &ALL[..], &["--locked", "--lib", "--bins", "--tests"]].concat()
}

/// All tests but those in the documentation. Passed ones show what they print: why they skip.
pub fn test(skipped: &mut Vec<String>) -> Ended {
    let words = [&build_tests()[..], &["--no-fail-fast", "--", "--show-output"]].concat();
    run_tests(&crate::root(), &words, &[], skipped)
}

/// The tests of one package. What it stands on may be built once more: cargo unites features over what is asked for.
pub fn test_package(package: &str, skipped: &mut Vec<String>) -> Ended {
    let words =
        ["cargo", "test", "--package", package, "--locked", "--lib", "--bins", "--tests", "--", "--show-output"];
    // Some packages have no library, which `--lib` would ask for.
    let words: Vec<&str> = words.into_iter().filter(|word| package != "xtask" || *word != "--lib").collect();
    run_tests(&crate::root(), &words, &[], skipped)
}

/// The examples in the documentation.
pub fn doctest() -> Ended {
    command(&[&["cargo", "test"], &ALL[..], &["--locked", "--no-fail-fast", "--doc"]].concat(), &[])
}

/// Builds the program as the tests have it, if it is not there, and says where it is. A build of its own, such as the release build,
/// would take minutes and behave the same.
pub fn program() -> Result<PathBuf, String> {
    match command(&[&build_tests()[..], &["--no-run", "--quiet"]].concat(), &[]) {
        Ended::Passed => Ok(crate::target().join("debug/seekwise")),
        Ended::Failed(why) | Ended::Skipped(why) => Err(why),
    }
}

/// The program as users build it.
pub fn release() -> Ended {
    command(&["cargo", "build", "--release", "--locked"], &[])
}

/// Builds the program as users do and names it by a hash of its file, which holds the built-in studies and drives as well: what one
/// program left is not taken for another's.
pub fn release_build() -> Result<String, String> {
    if let Ended::Failed(why) | Ended::Skipped(why) = release() {
        return Err(why);
    }
    let program = crate::target().join("release/seekwise");
    let bytes = fs::read(&program).map_err(|why| format!("{}: {why}", program.display()))?;
    let mut hash = DefaultHasher::new();
    bytes.hash(&mut hash);
    Ok(format!("{:016x}", hash.finish()))
}
