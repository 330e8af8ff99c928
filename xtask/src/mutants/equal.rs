//! The committed list of faults that change nothing, each with its reason (`xtask/mutants-equal.txt`).

use std::collections::BTreeMap;

use super::plant::Fault;

/// Where the list is, from the root.
pub const LIST: &str = "xtask/mutants-equal.txt";

/// An entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    file: String,
    line: String,
    change: String,
    /// Why nothing changes.
    pub reason: String,
}

/// The entries of a list; `Err` names the line where one begins that is incomplete.
pub fn entries(text: &str) -> Result<Vec<Entry>, String> {
    let (mut entries, mut open) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines().chain([""])) {
        match plain(line) {
            line if line.starts_with('#') => {}
            line if !line.is_empty() => open.push(line),
            _ if open.is_empty() => {}
            _ => {
                let Ok([file, line, change, reason]) = <[String; 4]>::try_from(std::mem::take(&mut open)) else {
                    return Err(format!("{LIST}:{number}: the entry that ends here has not four lines"));
                };
                entries.push(Entry { file, line, change, reason });
            }
        }
    }
    Ok(entries)
}

/// White space counts as one space.
pub fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A fault's kind and change, as entries and reports write it.
pub fn change(fault: &Fault) -> String {
    let (before, after) = (plain(&fault.before), plain(&fault.after));
    match (before.as_str(), after.as_str()) {
        ("", after) => format!("{}: at once {after}", fault.site.kind.word()),
        (before, "") => format!("{}: {before} -> nothing", fault.site.kind.word()),
        (before, after) => format!("{}: {before} -> {after}", fault.site.kind.word()),
    }
}

/// The entry that a fault is in.
pub fn entry<'a>(entries: &'a [Entry], fault: &Fault, line: &str) -> Option<&'a Entry> {
    entries
        .iter()
        .find(|entry| entry.file == fault.site.file && entry.line == plain(line) && entry.change == change(fault))
}

/// What is to be said of entries that fit no line.
pub fn stale(entries: &[Entry], texts: &BTreeMap<String, String>) -> Vec<String> {
    let is_there =
        |entry: &&Entry| texts.get(&entry.file).is_some_and(|text| text.lines().any(|line| plain(line) == entry.line));
    let said = |entry: &Entry| format!("{LIST}: {} has no line `{}` any more", entry.file, entry.line);
    entries.iter().filter(|entry| !is_there(entry)).map(said).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sites::{Kind, Site};
    use super::*;

    #[test]
    fn an_entry_is_for_one_change_of_one_line() {
        let list =
            "# Why.\n\ncrates/run/src/a.rs\n    if a  < b {\ncomparison: a < b -> a <= b\nEqual ones never meet.\n";
        let entries = entries(list).unwrap();
        let site = Site {
            file: "crates/run/src/a.rs".to_owned(),
            line: 7,
            function: "f".to_owned(),
            kind: Kind::Comparison,
            span: 0..5,
            changes: Vec::new(),
        };
        let mut fault = Fault { id: 3, site, before: "a < b".to_owned(), after: "a <= b".to_owned() };
        assert_eq!(entry(&entries, &fault, "\tif a < b {").unwrap().reason, "Equal ones never meet.");
        assert_eq!(entry(&entries, &fault, "if a < c {"), None);
        fault.after = "a > b".to_owned();
        assert_eq!(entry(&entries, &fault, "if a < b {"), None);
    }

    #[test]
    fn an_entry_without_its_line_is_told_and_half_an_entry_refused() {
        let list = "a.rs\nx < y\ncomparison: x < y -> x > y\nNo.\n";
        let texts = |text: &str| BTreeMap::from([("a.rs".to_owned(), text.to_owned())]);
        assert!(stale(&entries(list).unwrap(), &texts("  x < y\n")).is_empty());
        assert_eq!(stale(&entries(list).unwrap(), &texts("x <= y\n")).len(), 1);
        assert!(entries("a.rs\nx < y\n").is_err());
    }
}
