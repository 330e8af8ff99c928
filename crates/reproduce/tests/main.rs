//! All integration tests of the crate as one program, which is linked once instead of once for each file.

#![allow(clippy::disallowed_methods, reason = "a test makes what it looks at")]

mod golden;
#[allow(dead_code, reason = "the laboratory's tests use the rest")]
#[path = "../../lab/tests/outline.rs"]
mod outline;
mod published;
mod robust;

/// A file beside this one that is not named above would never run.
#[test]
fn every_file_here_is_part_of_the_tests() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for entry in std::fs::read_dir(here).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let name = name.trim_end_matches(".rs");
        let named = include_str!("main.rs").lines().any(|line| line == format!("mod {name};"));
        assert!(named || name == "main", "`mod {name};` is missing in main.rs");
    }
}
