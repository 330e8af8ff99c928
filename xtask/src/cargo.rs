//! The steps that cargo does, by itself or by `cargo-deny`, and which build came of it. Nothing is decided here but the arguments.

use std::process::Command;

use crate::steps::{Ended, command};

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

/// All tests, in the dev profile (the model optimised, see `Cargo.toml`).
pub fn test() -> Ended {
    command(&["cargo", "test", "--workspace", "--locked", "--no-fail-fast"], &[])
}

/// The program as users build it.
pub fn release() -> Ended {
    command(&["cargo", "build", "--release", "--locked"], &[])
}

/// The program as users build it, by the name that it has for its build: what one build left is not taken for another's.
pub fn release_build() -> Result<String, String> {
    if let Ended::Failed(why) | Ended::Skipped(why) = release() {
        return Err(why);
    }
    let program = crate::target().join("release/seekwise");
    let said = Command::new(program).arg("--version").output().map_err(|why| why.to_string())?;
    let said = String::from_utf8_lossy(&said.stdout);
    let build = said.lines().find_map(|line| line.strip_prefix("build:"));
    build.map(|build| build.trim().to_owned()).ok_or_else(|| "`seekwise --version` names no build".to_owned())
}
