//! The shape of files: a header each, lengths, names, no words left over. The five longest functions and files are
//! printed on every run, so that growth is seen before it is a fault.

use super::Text;
use super::source::{code, functions};

/// Lines of a function at most. Longer ones do several things.
const FUNCTION: usize = 70;

/// Lines of a file at most.
const FILE: usize = 800;

/// Functions that may be longer for now: path, name and why. The list may only shrink: an entry that is no longer
/// needed is a fault.
const LONG: [(&str, &str, &str); 0] = [];

/// Names that say nothing about what is in a file.
const EMPTY_NAMES: [&str; 8] = ["util", "utils", "helper", "helpers", "common", "manager", "misc", "base"];

/// Words that mark work not done, in two halves so that this file does not hold them.
const LEFT_OVER: [(&str, &str); 4] = [("TO", "DO"), ("FIX", "ME"), ("XX", "X"), ("to", "do!(")];

/// Runs the rules.
pub fn check(files: &[Text], faults: &mut Vec<String>) {
    let mut lengths = Vec::new();
    for file in files {
        names(file, faults);
        left_over(file, faults);
        if file.is_rust() {
            header(file, faults);
            lengths.extend(functions(&code(&file.text)).into_iter().map(|function| (function, file.path.as_str())));
        }
        let lines = file.text.lines().count();
        if file.is_rust() && lines > FILE {
            faults.push(format!("{}: {lines} lines, more than {FILE}", file.path));
        }
    }
    lengths.sort_by_key(|(function, _)| std::cmp::Reverse(function.lines));
    println!("The longest functions:");
    for (function, path) in lengths.iter().take(5) {
        println!("  {:3} lines  {}  {path}:{}", function.lines, function.name, function.line);
    }
    long_files(files);
    for (function, path) in lengths.iter().filter(|(function, _)| function.lines > FUNCTION) {
        if !LONG.iter().any(|(file, name, _)| file == path && *name == function.name) {
            let (name, lines) = (&function.name, function.lines);
            faults.push(format!("{path}:{}: {name} has {lines} lines, more than {FUNCTION}", function.line));
        }
    }
    for (path, name, _) in LONG {
        if !lengths.iter().any(|(function, file)| *file == path && function.name == name && function.lines > FUNCTION) {
            faults.push(format!("xtask/src/tidy/shape.rs: {name} of {path} is short enough now: take it off the list"));
        }
    }
}

fn long_files(files: &[Text]) {
    let mut lengths: Vec<(usize, &str)> = files
        .iter()
        .filter(|file| file.is_rust())
        .map(|file| (file.text.lines().count(), file.path.as_str()))
        .collect();
    lengths.sort_by_key(|(lines, _)| std::cmp::Reverse(*lines));
    println!("The longest files:");
    for (lines, path) in lengths.iter().take(5) {
        println!("  {lines:3} lines  {path}");
    }
}

/// Every Rust file opens by saying what it is.
fn header(file: &Text, faults: &mut Vec<String>) {
    if !file.text.starts_with("//! ") {
        faults.push(format!("{}: does not open with `//!`", file.path));
    }
}

fn names(file: &Text, faults: &mut Vec<String>) {
    let parts = file.path.split('/').map(|part| part.split('.').next().unwrap_or(part));
    if let Some(name) = parts.into_iter().find(|part| EMPTY_NAMES.contains(part)) {
        faults.push(format!("{}: `{name}` says nothing; name it for what is in it", file.path));
    }
}

fn left_over(file: &Text, faults: &mut Vec<String>) {
    for (number, line) in file.text.lines().enumerate() {
        for (a, b) in LEFT_OVER {
            if line.contains(&format!("{a}{b}")) && !file.path.ends_with("package-lock.json") {
                faults.push(format!("{}:{}: {a}{b} left over", file.path, number + 1));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many things are said against one file.
    fn faults(path: &str, text: &str) -> usize {
        let mut faults = Vec::new();
        check(&[Text { path: path.to_owned(), text: text.to_owned() }], &mut faults);
        faults.len()
    }

    #[test]
    fn each_rule_bites() {
        let long = |lines: usize| format!("//! A.\nfn long() {{\n{}}}\n", "    x;\n".repeat(lines));
        assert_eq!(faults("a.rs", &long(FUNCTION - 2)), 0);
        assert_eq!(faults("a.rs", &long(FUNCTION - 1)), 1);
        assert_eq!(faults("a.rs", &format!("//! A.\n{}", "const A: u8 = 0;\n".repeat(FILE))), 1);
        assert_eq!(faults("a.rs", "use b;\n"), 1);
        assert_eq!(faults("crates/helpers.rs", "//! A.\n"), 1);
        assert_eq!(faults("a.rs", &format!("//! A.\n// {}: later\n", ["TO", "DO"].concat())), 1);
    }
}
