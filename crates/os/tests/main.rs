//! Tests of served disks and of real devices. All are one program, because each file by itself would be linked to a
//! program of the same size.

#![allow(clippy::disallowed_methods, reason = "a test makes what it looks at")]

mod served;

#[cfg(unix)]
mod cuts;
#[cfg(unix)]
mod nbd_fuzz;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(unix)]
mod serve;

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
