//! Checks what the compiler does not: no floating point in the model, and no clock outside its one file. The promises
//! of the crates (`no_std`, `forbid(unsafe_code)`) must be there.

use super::Text;
use super::source::{code_only, identifiers, without_tests};

/// The crates of the model, each with its only dependencies.
const PURE: [(&str, &str); 3] = [
    ("disk", ""),
    ("work", "seekwise-disk.workspace = true"),
    ("files", "seekwise-disk.workspace = true\nseekwise-work.workspace = true"),
];

/// Words that the model's code never has, except in tests.
const IMPURE: [&str; 9] = ["std", "f64", "f32", "unsafe", "println", "print", "eprintln", "dbg", "static"];

/// The one file that reads real time.
const CLOCK: &str = "crates/os/src/clock.rs";

/// Code that reads a clock, or waits for one.
const CLOCK_CALLS: [&str; 3] = ["Instant::now", "SystemTime", "thread::sleep"];

/// The files that may hold unsafe code: where the kernel takes addresses, and where C gives them.
const UNSAFE: [&str; 3] =
    ["crates/os/src/real/uring.rs", "crates/capi/src/boundary.rs", "crates/explore/src/boundary.rs"];

/// Runs the rules.
pub fn check(files: &[Text], faults: &mut Vec<String>) {
    // A room's tests may stand in a file of their own.
    for file in files.iter().filter(|file| file.is_rust() && !file.path.ends_with("/tests.rs")) {
        let code = without_tests(&code_only(&file.text));
        if PURE.iter().any(|(krate, _)| file.path.starts_with(&format!("crates/{krate}/src/"))) {
            check_purity(file, &code, faults);
        }
        if !UNSAFE.contains(&file.path.as_str()) && is_ours(&file.path) && code.contains("allow(unsafe_code") {
            let allowed = UNSAFE.join(" and ");
            faults.push(format!("{}: lifts the lint against unsafe code; only {allowed} do", file.path));
        }
        if file.path.starts_with("crates/") && file.path.contains("/src/") && file.path != CLOCK {
            for call in CLOCK_CALLS.iter().filter(|call| code.contains(**call)) {
                faults.push(format!("{}: `{call}`; only {CLOCK} has a clock", file.path));
            }
        }
    }
    check_promises(files, faults);
}

/// Whether a file belongs to a crate of ours, or to an example of how to use one.
fn is_ours(path: &str) -> bool {
    path.starts_with("crates/") || path.starts_with("examples/")
}

fn check_purity(file: &Text, code: &str, faults: &mut Vec<String>) {
    for (line, word) in identifiers(code).filter(|(_, word)| IMPURE.contains(word)) {
        // A lifetime is no static; a constant table is a `const` or a `static` without interior state.
        let text = code.lines().nth(line - 1).unwrap_or_default();
        if word == "static" && (text.contains("'static") || !text.contains("mut") && !text.contains("Cell")) {
            continue;
        }
        faults.push(format!("{}:{line}: `{word}` in the model", file.path));
    }
}

/// Checks that the crates themselves have the attributes that make the compiler check.
fn check_promises(files: &[Text], faults: &mut Vec<String>) {
    let has = |path: &str, text: &str| files.iter().any(|file| file.path == path && file.text.contains(text));
    for (krate, may_need) in PURE {
        let (lib, manifest) = (format!("crates/{krate}/src/lib.rs"), format!("crates/{krate}/Cargo.toml"));
        for promise in ["#![no_std]", "#![forbid(unsafe_code)]"] {
            if !has(&lib, promise) {
                faults.push(format!("{lib}: `{promise}` is missing"));
            }
        }
        let text = files.iter().find(|file| file.path == manifest).map_or("", |file| file.text.as_str());
        let needs = text.split("\n[dependencies]\n").nth(1).map_or("", |rest| rest.split("\n[").next().unwrap_or(rest));
        if needs.trim() != may_need {
            faults.push(format!("{manifest}: a crate of the model has other dependencies than `{may_need}`"));
        }
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
    fn only_files_that_may_lift_the_lint_against_unsafe_code() {
        assert_eq!(faults("crates/lab/src/plan.rs", "#![allow(unsafe_code)]").len(), 1);
        assert_eq!(faults("examples/turmoil/src/lib.rs", "#![allow(unsafe_code)]").len(), 1);
        assert!(UNSAFE.iter().all(|path| faults(path, "#![allow(unsafe_code)]").is_empty()));
    }

    #[test]
    fn the_model_is_pure_outside_its_tests() {
        let time = "crates/disk/src/time.rs";
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
