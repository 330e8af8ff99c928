//! Checks the shape of files: a head each, lengths, names, no words left over. The five longest functions and files are
//! printed on every run, so that growth is seen before it is a fault.

use super::Text;
use super::source::{code_only, find_functions};

/// The most lines of a function. Longer ones do several things.
const MAX_FUNCTION_LINES: usize = 70;

/// The most lines of a file.
const MAX_FILE_LINES: usize = 800;

/// Functions that may be longer for now: path, name and reason. The list may only shrink: an entry that is no longer
/// needed is a fault.
const LONG_FUNCTIONS: [(&str, &str, &str); 0] = [];

/// Names that say nothing about what is in a file.
const VAGUE_NAMES: [&str; 8] = ["util", "utils", "helper", "helpers", "common", "manager", "misc", "base"];

/// Words that mark work not done, in two halves so that this file does not hold them.
const LEFT_OVER_WORDS: [(&str, &str); 4] = [("TO", "DO"), ("FIX", "ME"), ("XX", "X"), ("to", "do!(")];

/// Runs the rules.
pub fn check(files: &[Text], faults: &mut Vec<String>) {
    let mut lengths = Vec::new();
    for file in files {
        check_name(file, faults);
        check_left_over(file, faults);
        if file.is_rust() {
            check_header(file, faults);
            lengths.extend(
                find_functions(&code_only(&file.text)).into_iter().map(|function| (function, file.path.as_str())),
            );
        }
        let lines = file.text.lines().count();
        if file.is_rust() && lines > MAX_FILE_LINES {
            faults.push(format!("{}: {lines} lines, more than {MAX_FILE_LINES}", file.path));
        }
    }
    lengths.sort_by_key(|(function, _)| std::cmp::Reverse(function.lines));
    println!("The longest functions:");
    for (function, path) in lengths.iter().take(5) {
        println!("  {:3} lines  {}  {path}:{}", function.lines, function.name, function.line);
    }
    print_longest_files(files);
    for (function, path) in lengths.iter().filter(|(function, _)| function.lines > MAX_FUNCTION_LINES) {
        if !LONG_FUNCTIONS.iter().any(|(file, name, _)| file == path && *name == function.name) {
            let (name, lines) = (&function.name, function.lines);
            faults.push(format!("{path}:{}: {name} has {lines} lines, more than {MAX_FUNCTION_LINES}", function.line));
        }
    }
    for (path, name, _) in LONG_FUNCTIONS {
        if !lengths
            .iter()
            .any(|(function, file)| *file == path && function.name == name && function.lines > MAX_FUNCTION_LINES)
        {
            faults.push(format!("xtask/src/tidy/shape.rs: {name} of {path} is short enough now: take it off the list"));
        }
    }
}

fn print_longest_files(files: &[Text]) {
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

/// Checks that a Rust file begins with a head.
fn check_header(file: &Text, faults: &mut Vec<String>) {
    if !file.text.starts_with("//! ") {
        faults.push(format!("{}: does not open with `//!`", file.path));
    }
}

fn check_name(file: &Text, faults: &mut Vec<String>) {
    let parts = file.path.split('/').map(|part| part.split('.').next().unwrap_or(part));
    if let Some(name) = parts.into_iter().find(|part| VAGUE_NAMES.contains(part)) {
        faults.push(format!("{}: `{name}` says nothing; name it for what is in it", file.path));
    }
}

fn check_left_over(file: &Text, faults: &mut Vec<String>) {
    for (number, line) in file.text.lines().enumerate() {
        for (a, b) in LEFT_OVER_WORDS {
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
        assert_eq!(faults("a.rs", &long(MAX_FUNCTION_LINES - 2)), 0);
        assert_eq!(faults("a.rs", &long(MAX_FUNCTION_LINES - 1)), 1);
        assert_eq!(faults("a.rs", &format!("//! A.\n{}", "const A: u8 = 0;\n".repeat(MAX_FILE_LINES))), 1);
        assert_eq!(faults("a.rs", "use b;\n"), 1);
        assert_eq!(faults("crates/helpers.rs", "//! A.\n"), 1);
        assert_eq!(faults("a.rs", &format!("//! A.\n// {}: later\n", ["TO", "DO"].concat())), 1);
    }
}
