//! turmoil's own tests of its asynchronous file system, on modelled disks. They are read from a checkout of turmoil that
//! `SEEKWISE_TURMOIL` names, and compiled in a package of their own below `target`, which takes minutes; without it the test is
//! skipped.
//!
//!     SEEKWISE_TURMOIL=../turmoil/crates/turmoil cargo test --release -p seekwise-example-turmoil-files --test upstream

#![allow(clippy::disallowed_methods, reason = "a test makes what it looks at")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The tests whose assertions are about latencies that turmoil's own settings choose, so not about a disk's.
const OF_TURMOILS_LATENCIES: [&str; 3] = ["tokio_io_latency", "tokio_file_io_latency", "tokio_no_latency_by_default"];

/// The tests that cut a file to another length than 0.
const CUTS_A_FILE: [&str; 1] = ["tokio_file_operations"];

#[test]
fn turmoils_own_tests_pass_on_modelled_disks() {
    let Some(turmoil) = std::env::var_os("SEEKWISE_TURMOIL").map(PathBuf::from) else {
        return println!("skipped: SEEKWISE_TURMOIL names no checkout of turmoil");
    };
    let source = std::fs::read_to_string(turmoil.join("tests/fs/tokio.rs")).expect("turmoil's tests/fs/tokio.rs");
    let source = source.replace("turmoil::fs::shim::tokio::fs", "seekwise_example_turmoil_files::fs");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("upstream");
    std::fs::create_dir_all(package.join("tests")).unwrap();
    std::fs::create_dir_all(package.join("src")).unwrap();
    std::fs::write(package.join("src/lib.rs"), "").unwrap();
    std::fs::write(package.join("tests/tokio.rs"), without_settings(&source)).unwrap();
    let manifest = format!(
        "[package]\nname = \"upstream\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[dependencies]\nturmoil = \"0.7\"\n\
         tokio = {{ version = \"1\", features = [\"io-util\", \"time\"] }}\n\
         seekwise-example-turmoil-files = {{ path = {here:?} }}\n[workspace]\n"
    );
    std::fs::write(package.join("Cargo.toml"), manifest).unwrap();
    std::fs::copy(here.join("../../Cargo.lock"), package.join("Cargo.lock")).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(&package).args(["test", "--release", "--test", "tokio", "--"]);
    OF_TURMOILS_LATENCIES.iter().chain(&CUTS_A_FILE).for_each(|test| _ = cargo.args(["--skip", test]));
    let output = cargo.output().expect("cargo runs");
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "turmoil's tests fail");
    assert!(text.contains("3 passed"), "three tests are left");
}

/// The tests without those that set turmoil's latencies: these do not compile without its feature `unstable-fs`.
fn without_settings(source: &str) -> String {
    let is_kept = |test: &&str| !test.contains(".fs()");
    source.split_inclusive("\n}\n").filter(is_kept).collect()
}
