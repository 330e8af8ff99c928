//! The steps that cargo does by itself. Nothing is decided here but the arguments.

use crate::steps::{Ended, command};

/// One format.
pub fn fmt() -> Ended {
    command(&["cargo", "fmt", "--all", "--check"], &[])
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
