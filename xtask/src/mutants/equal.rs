//! The committed list of faults that change nothing, each with its reason (`xtask/mutants-equal.txt`).

use std::collections::BTreeMap;

use super::plant::Fault;

/// Where the list is, from the root.
pub const LIST_PATH: &str = "xtask/mutants-equal.txt";

/// One fault that changes nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    file: String,
    line: String,
    change: String,
    /// Why nothing changes.
    pub reason: String,
}

/// Parses a list. An error names the line at which an incomplete entry ends.
pub fn parse_entries(text: &str) -> Result<Vec<Entry>, String> {
    let (mut entries, mut entry_lines) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines().chain([""])) {
        match with_single_spaces(line) {
            line if line.starts_with('#') => {}
            line if !line.is_empty() => entry_lines.push(line),
            _ if entry_lines.is_empty() => {}
            _ => {
                let Ok([file, line, change, reason]) = <[String; 4]>::try_from(std::mem::take(&mut entry_lines)) else {
                    return Err(format!("{LIST_PATH}:{number}: the entry that ends here has not four lines"));
                };
                entries.push(Entry { file, line, change, reason });
            }
        }
    }
    Ok(entries)
}

/// The text with every run of white space as one space.
pub fn with_single_spaces(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A fault's kind and change, as entries and reports write it.
pub fn describe_change(fault: &Fault) -> String {
    let (before, after) = (with_single_spaces(&fault.before), with_single_spaces(&fault.after));
    match (before.as_str(), after.as_str()) {
        ("", after) => format!("{}: at once {after}", fault.site.kind.name()),
        (before, "") => format!("{}: {before} -> nothing", fault.site.kind.name()),
        (before, after) => format!("{}: {before} -> {after}", fault.site.kind.name()),
    }
}

/// The entry of a fault whose line has this text.
pub fn find_entry<'a>(entries: &'a [Entry], fault: &Fault, line: &str) -> Option<&'a Entry> {
    entries.iter().find(|entry| {
        entry.file == fault.site.file
            && entry.line == with_single_spaces(line)
            && entry.change == describe_change(fault)
    })
}

/// A message for each entry whose line is no longer in its file.
pub fn stale_entry_messages(entries: &[Entry], texts: &BTreeMap<String, String>) -> Vec<String> {
    let is_there = |entry: &&Entry| {
        texts.get(&entry.file).is_some_and(|text| text.lines().any(|line| with_single_spaces(line) == entry.line))
    };
    let message = |entry: &Entry| format!("{LIST_PATH}: {} has no line `{}` any more", entry.file, entry.line);
    entries.iter().filter(|entry| !is_there(entry)).map(message).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sites::{FaultKind, Site};
    use super::*;

    #[test]
    fn an_entry_is_for_one_change_of_one_line() {
        let list =
            "# Why.\n\ncrates/run/src/a.rs\n    if a  < b {\ncomparison: a < b -> a <= b\nEqual ones never meet.\n";
        let entries = parse_entries(list).unwrap();
        let site = Site {
            file: "crates/run/src/a.rs".to_owned(),
            line: 7,
            function: "f".to_owned(),
            kind: FaultKind::Comparison,
            span: 0..5,
            changes: Vec::new(),
        };
        let mut fault = Fault { id: 3, site, before: "a < b".to_owned(), after: "a <= b".to_owned() };
        assert_eq!(find_entry(&entries, &fault, "\tif a < b {").unwrap().reason, "Equal ones never meet.");
        assert_eq!(find_entry(&entries, &fault, "if a < c {"), None);
        fault.after = "a > b".to_owned();
        assert_eq!(find_entry(&entries, &fault, "if a < b {"), None);
    }

    #[test]
    fn an_entry_without_its_line_is_told_and_half_an_entry_refused() {
        let list = "a.rs\nx < y\ncomparison: x < y -> x > y\nNo.\n";
        let texts = |text: &str| BTreeMap::from([("a.rs".to_owned(), text.to_owned())]);
        assert!(stale_entry_messages(&parse_entries(list).unwrap(), &texts("  x < y\n")).is_empty());
        assert_eq!(stale_entry_messages(&parse_entries(list).unwrap(), &texts("x <= y\n")).len(), 1);
        assert!(parse_entries("a.rs\nx < y\n").is_err());
    }
}
