//! The table of hashes: a line for each row, with its hash and its name, sorted by name. Two tables are compared here.

use std::collections::BTreeMap;

/// The first lines of the table.
const HEAD: &str =
    "# Hashes of results that no change of the house may change: `cargo xtask results` compares, `--write` renews.\n";

/// Digits of a SHA-256 that are kept.
pub const DIGITS: usize = 20;

/// A result and the hash of its figures.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// The result's name, such as `study/ncq-alone/records`.
    pub name: String,
    /// The first digits of the SHA-256 of its figures.
    pub hash: String,
}

/// How a row differs from the committed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The hash is another one.
    Differs,
    /// The row is committed, and was not made.
    Missing,
    /// The row was made, and is not committed.
    New,
}

impl Change {
    /// The change as it is printed.
    pub fn label(self) -> &'static str {
        match self {
            Change::Differs => "differs",
            Change::Missing => "missing",
            Change::New => "new",
        }
    }
}

/// The table as text.
pub fn render(rows: &[Row]) -> String {
    rows.iter().fold(HEAD.to_owned(), |text, row| text + &format!("{} {}\n", row.hash, row.name))
}

/// Reads a table.
pub fn parse(text: &str) -> Result<Vec<Row>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let rows: Vec<Row> = lines
        .map(|(index, line)| parse_row(line).ok_or(index + 1))
        .collect::<Result<_, _>>()
        .map_err(|line| format!("line {line}: expected {DIGITS} hexadecimal digits, a space and a name"))?;
    match rows.windows(2).find(|pair| pair[0].name >= pair[1].name) {
        Some(pair) => Err(format!("`{}` stands twice or out of order", pair[1].name)),
        None => Ok(rows),
    }
}

fn parse_row(line: &str) -> Option<Row> {
    let (hash, name) = line.split_once(' ')?;
    let is_hash = hash.len() == DIGITS && hash.bytes().all(|digit| digit.is_ascii_hexdigit());
    (is_hash && !name.is_empty()).then(|| Row { name: name.to_owned(), hash: hash.to_owned() })
}

/// The rows that differ, are missing or are new, by name.
pub fn changed_rows(committed: &[Row], made: &[Row]) -> Vec<(String, Change)> {
    let hashes = |rows: &[Row]| -> BTreeMap<String, String> {
        rows.iter().map(|row| (row.name.clone(), row.hash.clone())).collect()
    };
    let (before, now) = (hashes(committed), hashes(made));
    let missing = before.keys().filter(|name| !now.contains_key(*name)).map(|name| (name.clone(), Change::Missing));
    let differing = now.iter().filter_map(|(name, hash)| match before.get(name) {
        None => Some((name.clone(), Change::New)),
        Some(before) => (before != hash).then(|| (name.clone(), Change::Differs)),
    });
    let mut changes: Vec<_> = missing.chain(differing).collect();
    changes.sort_by(|a, b| a.0.cmp(&b.0));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(of: &[(&str, u8)]) -> Vec<Row> {
        of.iter().map(|(name, digit)| Row { name: (*name).to_owned(), hash: format!("{digit:020x}") }).collect()
    }

    #[test]
    fn a_changed_a_missing_and_a_new_row_are_told_apart() {
        let before = rows(&[("a", 1), ("b", 2), ("c", 3)]);
        let now = rows(&[("a", 1), ("b", 4), ("d", 3)]);
        let found = changed_rows(&before, &now);
        let named = |name: &str, change| (name.to_owned(), change);
        assert_eq!(found, [named("b", Change::Differs), named("c", Change::Missing), named("d", Change::New)]);
        assert_eq!(changed_rows(&before, &before), []);
        assert_eq!(changed_rows(&[], &before).len(), 3, "an empty table is equal to nothing");
    }

    #[test]
    fn a_table_is_read_as_it_is_written() {
        let table = rows(&[("job/two words.icf", 7), ("study/x", 255)]);
        assert_eq!(parse(&render(&table)).unwrap(), table);
    }

    #[test]
    fn a_spoiled_table_is_refused() {
        let good = "0123456789abcdef0123 a\n";
        assert!(parse(good).is_ok());
        for wrong in
            ["0123456789abcdef012 a", "0123456789abcdef012g a", "0123456789abcdef0123 ", "0123456789abcdef0123"]
        {
            assert!(parse(wrong).is_err_and(|why| why.starts_with("line 1:")), "{wrong}");
        }
        assert!(parse(&good.repeat(2)).is_err(), "a row twice");
        assert!(parse("0123456789abcdef0123 b\n0123456789abcdef0123 a\n").is_err(), "out of order");
    }
}
