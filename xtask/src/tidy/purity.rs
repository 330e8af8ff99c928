//! What the compiler does not hold: the order of rooms inside the model, no floating point in it, no clock outside
//! its one file. The crates' own promises (`no_std`, `forbid(unsafe_code)`) are checked to be there.

use super::Text;
use super::source::{code, without_tests, words};

/// Which rooms of the model a room may name. `host`, `drive`, `workload` and `files` never see one another: they meet
/// at `block`. `block` and `record` are one vocabulary in two files. `testing` is for tests and sees all.
const ROOMS: [(&str, &[&str]); 18] = [
    ("time", &[]),
    ("rng", &["time"]),
    ("block", &["time", "record"]),
    ("record", &["time", "block"]),
    ("queue", &["time", "block"]),
    ("engine", &["time", "block", "record"]),
    ("recency", &[]),
    ("slab", &[]),
    ("drive", &["time", "rng", "block", "record", "queue", "recency"]),
    ("host", &["time", "rng", "block", "record", "queue", "recency", "slab"]),
    ("workload", &["time", "rng", "block"]),
    ("files", &["time", "rng", "block", "recency", "slab"]),
    ("flash", &["time", "block", "record"]),
    ("stack", &["time", "rng", "block", "drive", "flash", "host"]),
    ("witness", &["time", "block", "record"]),
    ("history", &["time", "block", "witness"]),
    ("durability", &["time", "block", "witness", "history", "files", "host", "stack"]),
    ("testing", &["time", "rng", "block", "record", "queue", "engine", "drive", "host", "stack", "workload"]),
];

/// What the model's code never holds, tests apart.
const IMPURE: [&str; 9] = ["std", "f64", "f32", "unsafe", "println", "print", "eprintln", "dbg", "static"];

/// The one file that reads real time.
const CLOCK: &str = "crates/os/src/clock.rs";

/// What reads a clock, or waits for one.
const TIMES: [&str; 3] = ["Instant::now", "SystemTime", "thread::sleep"];

/// The one file that may hold unsafe code.
const UNSAFE: &str = "crates/os/src/real/uring.rs";

/// Runs the rules.
pub fn check(files: &[Text], faults: &mut Vec<String>) {
    // A room's tests may stand in a file of their own.
    for file in files.iter().filter(|file| file.is_rust() && !file.path.ends_with("/tests.rs")) {
        let code = without_tests(&code(&file.text));
        if let Some(inside) = file.path.strip_prefix("crates/model/src/") {
            pure(file, &code, faults);
            rooms(file, inside, &code, faults);
        }
        if file.path != UNSAFE && file.path.starts_with("crates/") && code.contains("allow(unsafe_code") {
            faults.push(format!("{}: lifts the lint against unsafe code; only {UNSAFE} does", file.path));
        }
        if file.path.starts_with("crates/") && file.path.contains("/src/") && file.path != CLOCK {
            for reads in TIMES.iter().filter(|reads| code.contains(**reads)) {
                faults.push(format!("{}: `{reads}`; only {CLOCK} has a clock", file.path));
            }
        }
    }
    promises(files, faults);
}

fn pure(file: &Text, code: &str, faults: &mut Vec<String>) {
    for (line, word) in words(code).filter(|(_, word)| IMPURE.contains(word)) {
        // A lifetime is no static; a constant table is a `const` or a `static` without interior state.
        let text = code.lines().nth(line - 1).unwrap_or_default();
        if word == "static" && (text.contains("'static") || !text.contains("mut") && !text.contains("Cell")) {
            continue;
        }
        faults.push(format!("{}:{line}: `{word}` in the model", file.path));
    }
}

fn rooms(file: &Text, inside: &str, code: &str, faults: &mut Vec<String>) {
    let room = inside.split(['/', '.']).next().unwrap_or_default();
    if room == "lib" {
        return;
    }
    let Some((_, allowed)) = ROOMS.iter().find(|(name, _)| *name == room) else {
        faults.push(format!("{}: `{room}` has no place in the order of rooms (xtask/src/tidy/purity.rs)", file.path));
        return;
    };
    for (number, line) in code.lines().enumerate() {
        for (at, found) in line.match_indices("crate::") {
            let rest = &line[at + found.len()..];
            let seen = rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
            if seen != room && !allowed.contains(&seen) {
                faults.push(format!("{}:{}: `{room}` sees `{seen}`", file.path, number + 1));
            }
        }
    }
}

/// The crates say themselves what the compiler is to hold.
fn promises(files: &[Text], faults: &mut Vec<String>) {
    let has = |path: &str, text: &str| files.iter().any(|file| file.path == path && file.text.contains(text));
    let lib = "crates/model/src/lib.rs";
    for promise in ["#![no_std]", "#![forbid(unsafe_code)]"] {
        if !has(lib, promise) {
            faults.push(format!("{lib}: `{promise}` is missing"));
        }
    }
    if has("crates/model/Cargo.toml", "[dependencies]") {
        faults.push("crates/model/Cargo.toml: the model has no dependencies".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said against one file.
    fn faults(path: &str, text: &str) -> Vec<String> {
        let mut faults = Vec::new();
        check(&[Text { path: path.to_owned(), text: text.to_owned() }], &mut faults);
        faults.retain(|fault| fault.starts_with(path));
        faults
    }

    #[test]
    fn one_file_alone_lifts_the_lint_against_unsafe_code() {
        assert_eq!(faults("crates/lab/src/plan.rs", "#![allow(unsafe_code)]").len(), 1);
        assert!(faults(UNSAFE, "#![allow(unsafe_code)]").is_empty());
    }

    #[test]
    fn a_room_sees_only_what_it_may() {
        let host = "crates/model/src/host/delay.rs";
        assert_eq!(
            faults(host, "use crate::block::Device;\nuse crate::drive::Drive;\n"),
            ["crates/model/src/host/delay.rs:2: `host` sees `drive`"]
        );
        assert!(faults(host, "// crate::drive\n#[cfg(test)]\nmod tests { use crate::drive::Drive; }\n").is_empty());
        assert!(faults("crates/model/src/host/tests.rs", "use crate::drive::Drive;\n").is_empty());
        assert_eq!(faults("crates/model/src/attic.rs", "").len(), 1);
    }

    #[test]
    fn the_model_is_pure_outside_its_tests() {
        let time = "crates/model/src/time.rs";
        for planted in ["let x: f64;", "use std::fmt;", "unsafe { }", "static mut N: u8 = 0;", "dbg!(1);"] {
            assert_eq!(faults(time, planted).len(), 1, "{planted}");
        }
        for fine in ["const A: &'static str = \"f64\";", "#[cfg(test)]\nmod tests { use std::fmt; }", "// std"] {
            assert!(faults(time, fine).is_empty(), "{fine}");
        }
    }

    #[test]
    fn one_file_has_a_clock() {
        let reads = "fn now() { std::time::Instant::now(); }";
        assert_eq!(faults("crates/lab/src/run.rs", reads).len(), 1);
        assert!(faults(CLOCK, reads).is_empty());
    }
}
