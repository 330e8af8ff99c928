//! Names the shared library as programs look for it (its SONAME). Before 1.0 each second part of the version breaks programs, and has a
//! name of its own. Only for systems whose shared libraries are ELF files; `install.sh` installs under that name.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let word = |key: &str| env::var(key).unwrap_or_default();
    let is_elf = word("CARGO_CFG_TARGET_FAMILY") == "unix" && word("CARGO_CFG_TARGET_VENDOR") != "apple";
    if is_elf {
        let (major, minor) = (word("CARGO_PKG_VERSION_MAJOR"), word("CARGO_PKG_VERSION_MINOR"));
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libseekwise.so.{major}.{minor}");
    }
}
