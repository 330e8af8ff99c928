//! turmoil's own tests of its file system, on turmoil's file system and on modelled disks. They are read from turmoil's sources,
//! which `SEEKWISE_TURMOIL` names, and compiled in a package of their own below `target`, which takes minutes; without it the test
//! is skipped.
//!
//!     SEEKWISE_TURMOIL=../turmoil/crates/turmoil cargo test --release -p seekwise-example-turmoil-files --test upstream
//!
//! The changes are those of a user: other functions are imported, and hosts get disks ([`adapt`]). Each test that does not pass is
//! named with its reason: a test that changes sides is noticed.

#![allow(clippy::disallowed_methods, reason = "a test makes what it looks at")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// turmoil's files of tests that run. `io_uring` is its own ring over its own descriptors.
const FILES: [&str; 9] = ["basic", "cache", "direct_io", "dirs", "durability", "links", "metadata", "threads", "tokio"];

const TIMES_OF_TURMOIL: &str = "latencies that turmoil's settings choose: a disk has its own";
const KNOBS_OF_TURMOIL: &str = "errors, capacity or units that turmoil's settings choose: a disk has its own";
const EXT4: &str = "ext4's fsync and fdatasync commit the entry of a new file, too; turmoil's do not";

/// Tests that run and fail, with the reason.
const FAILS: [(&str, &str); 21] = [
    ("cache::direct_io_bypasses_cache", TIMES_OF_TURMOIL),
    ("cache::lru_eviction", TIMES_OF_TURMOIL),
    ("cache::no_cache_full_latency", TIMES_OF_TURMOIL),
    ("cache::random_eviction_chaos", TIMES_OF_TURMOIL),
    ("tokio::tokio_file_io_latency", TIMES_OF_TURMOIL),
    ("tokio::tokio_io_latency", TIMES_OF_TURMOIL),
    ("tokio::tokio_no_latency_by_default", TIMES_OF_TURMOIL),
    ("direct_io::custom_alignment_rejects_512_buffer", KNOBS_OF_TURMOIL),
    ("direct_io::custom_alignment_rejects_misaligned_offset", KNOBS_OF_TURMOIL),
    ("durability::corruption_100_percent", KNOBS_OF_TURMOIL),
    ("durability::corruption_probability_statistical", KNOBS_OF_TURMOIL),
    ("durability::disk_capacity_enospc", KNOBS_OF_TURMOIL),
    ("durability::disk_capacity_multiple_files", KNOBS_OF_TURMOIL),
    ("durability::io_error_probability_statistical", KNOBS_OF_TURMOIL),
    ("durability::random_sync_100_percent", KNOBS_OF_TURMOIL),
    ("durability::short_read_100_percent", KNOBS_OF_TURMOIL),
    ("durability::short_read_also_fires_for_direct_io", KNOBS_OF_TURMOIL),
    ("durability::short_read_probability_statistical", KNOBS_OF_TURMOIL),
    ("durability::torn_write_partial_data_survives", KNOBS_OF_TURMOIL),
    ("durability::file_lost_without_dir_sync", EXT4),
    ("durability::sync_data_vs_sync_all", EXT4),
];

/// Cases without any errors of tests that fail otherwise.
const PASSING_CASES: [&str; 3] = ["no_corruption", "no_errors", "no_short_reads"];

/// Words of interfaces that the adapter lacks, with the reason; tests with such a word are left out.
const LACKS: [(&str, &str); 12] = [
    ("symlink(\"", "links are not modelled"),
    ("symlink_metadata(", "links are not modelled"),
    ("hard_link(", "links are not modelled"),
    ("nlink", "links are not modelled"),
    ("created()", "times are not modelled"),
    ("modified()", "times are not modelled"),
    ("accessed()", "times are not modelled"),
    ("permissions()", "permissions are not modelled"),
    ("as_raw_fd", "files have no descriptor"),
    ("handle.enter()", "a disk stays on its thread"),
    ("FsHandle", "a disk stays on its thread"),
    ("OpenOptionsExt", "permissions are not modelled"),
];

/// Names that only left-out tests import.
const LACKED_IMPORTS: [&str; 5] = ["symlink_metadata", "symlink", "hard_link", "OpenOptionsExt", "FsHandle"];

/// Tests of the source: each with its name and text, and the text before the first.
fn split_tests(source: &str) -> (String, Vec<(String, String)>) {
    let mut head = String::new();
    let mut tests = Vec::new();
    for item in source.split_inclusive("\n}\n") {
        let name = item.contains("#[test").then(|| item.split("\nfn ").nth(1)).flatten();
        match name.and_then(|rest| rest.split('(').next()) {
            // Imports before the first test belong to all.
            Some(name) => {
                let at = item.find("#[test").expect("it is there");
                head.push_str(&item[..at]);
                tests.push((name.to_owned(), item[at..].to_owned()));
            }
            None => head.push_str(item),
        }
    }
    (head, tests)
}

/// Why the adapter lacks a test's interface.
fn lacks(test: &str) -> Option<&'static str> {
    LACKS.iter().find(|(word, _)| test.contains(word)).map(|lack| lack.1)
}

/// The changes of a user: other functions, and disks for hosts. Tests with interfaces that are missing are left out.
fn adapt(source: &str) -> String {
    let (mut head, tests) = split_tests(source);
    for name in LACKED_IMPORTS {
        head = head
            .replace(&format!(", {name},"), ",")
            .replace(&format!(" {name},"), "")
            .replace(&format!(", {name}}}"), "}");
    }
    let head = head.replace("use turmoil::fs::FsHandle;\n", "");
    let kept: String = tests.into_iter().filter(|(_, test)| lacks(test).is_none()).map(|(_, test)| test).collect();
    (head + &kept)
        .replace("turmoil::fs::shim::tokio::fs", "seekwise_example_turmoil_files::fs")
        .replace("turmoil::fs::shim::std::fs", "seekwise_example_turmoil_files::blocking")
        .replace(
            "build();\n",
            "build();\nlet mut disks = seekwise_example_turmoil_files::disks::Disks::new(DRIVE, 1);\n",
        )
        .replace("sim.host(", "disks.host(&mut sim, ")
        .replace("sim.crash(", "disks.crash(&mut sim, ")
        .replace("sim.bounce(", "disks.bounce(&mut sim, ")
        + "const DRIVE: &str = \"barracuda-7200.7-ncq\";\n"
}

/// Writes the package with both kinds of tests.
fn write_package(package: &Path, turmoil: &Path) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::create_dir_all(package.join("src")).unwrap();
    std::fs::write(package.join("src/lib.rs"), "").unwrap();
    for kind in ["before", "after"] {
        let folder = package.join("tests").join(kind);
        std::fs::create_dir_all(&folder).unwrap();
        let modules: String = FILES.iter().map(|file| format!("mod {file};\n")).collect();
        let allowed = "#![allow(unused_imports, unused_mut, unused_variables, dead_code)]\n";
        std::fs::write(folder.join("main.rs"), format!("{allowed}{modules}")).unwrap();
        for file in FILES {
            let source = std::fs::read_to_string(turmoil.join(format!("tests/fs/{file}.rs"))).expect("turmoil's test");
            let source = if kind == "after" { adapt(&source) } else { source };
            std::fs::write(folder.join(format!("{file}.rs")), source).unwrap();
        }
    }
    let manifest = format!(
        "[package]\nname = \"upstream\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[dependencies]\n\
         turmoil = {{ version = \"0.7\", features = [\"unstable-fs\"] }}\n\
         tokio = {{ version = \"1\", features = [\"io-util\", \"sync\", \"time\"] }}\ntest-case = \"3\"\n\
         seekwise-example-turmoil-files = {{ path = {here:?} }}\n[workspace]\n[patch.crates-io]\n\
         turmoil = {{ path = {turmoil:?} }}\n"
    );
    std::fs::write(package.join("Cargo.toml"), manifest).unwrap();
    std::fs::copy(here.join("../../Cargo.lock"), package.join("Cargo.lock")).unwrap();
}

/// The tests of a kind, each with whether it passed.
fn run(package: &Path, kind: &str) -> BTreeMap<String, bool> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(package).args(["test", "--release", "--test", kind]);
    let output = cargo.output().expect("cargo runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let outcomes: BTreeMap<String, bool> = text
        .lines()
        .filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "))
        .filter_map(|(name, result)| {
            Some((name.to_owned(), matches!(result, "ok" | "FAILED").then(|| result == "ok")?))
        })
        .collect();
    assert!(!outcomes.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    outcomes
}

fn expects_failure(name: &str) -> Option<&'static str> {
    let is_of = |test: &str| name == test || name.strip_prefix(test).is_some_and(|case| case.starts_with("::"));
    let reason = FAILS.iter().find(|(test, _)| is_of(test))?.1;
    (!PASSING_CASES.iter().any(|case| name.ends_with(case))).then_some(reason)
}

#[test]
fn turmoils_own_tests_do_on_modelled_disks_as_the_table_says() {
    let Some(turmoil) = std::env::var_os("SEEKWISE_TURMOIL").map(PathBuf::from) else {
        return println!("skipped: SEEKWISE_TURMOIL names no sources of turmoil");
    };
    let turmoil = turmoil.canonicalize().expect("SEEKWISE_TURMOIL is a folder");
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("upstream");
    write_package(&package, &turmoil);
    let (before, after) = (run(&package, "before"), run(&package, "after"));
    assert!(before.values().all(|passed| *passed), "turmoil's own tests fail: {before:?}");
    let mut reasons: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (name, passed) in &after {
        let reason = expects_failure(name);
        if let Some(reason) = reason {
            reasons.entry(reason).or_default().insert(name);
        }
        if *passed != reason.is_none() {
            wrong.push(name);
        }
    }
    for file in FILES {
        let count = |tests: &BTreeMap<String, bool>| {
            let of_file = tests.iter().filter(|test| test.0.starts_with(&format!("{file}::")));
            of_file.clone().filter(|test| *test.1).count()
        };
        println!("{file}: {} before, {} after", count(&before), count(&after));
    }
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        let (file, test) = name.split_once("::").expect("a test in a file");
        let source = std::fs::read_to_string(turmoil.join(format!("tests/fs/{file}.rs"))).unwrap();
        let text = split_tests(&source).1.into_iter().find(|it| it.0 == test).expect("a test of the file").1;
        reasons.entry(lacks(&text).expect("a reason")).or_default().insert(name);
    }
    reasons.iter().for_each(|(reason, tests)| println!("{reason}: {}", tests.len()));
    assert!(wrong.is_empty(), "not as the table says: {wrong:?}");
}
