//! The steps that cargo does, by itself or by `cargo-deny`, and which program came of it. Nothing is decided here but the arguments.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
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

/// No lint.
pub fn clippy() -> Ended {
    command(&["cargo", "clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"], &[])
}

/// Documentation without a warning.
pub fn doc() -> Ended {
    command(&["cargo", "doc", "--workspace", "--no-deps", "--locked"], &[("RUSTDOCFLAGS", "-D warnings")])
}

/// All tests, in the dev profile (the model optimised, see `Cargo.toml`). Passed ones show what they print: why they skip.
pub fn test(skipped: &mut Vec<String>) -> Ended {
    let words = ["cargo", "test", "--workspace", "--locked", "--no-fail-fast", "--", "--show-output"];
    run_tests(&crate::root(), &words, &[], skipped)
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
