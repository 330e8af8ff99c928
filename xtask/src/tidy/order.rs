//! The order of rooms: ARCHITECTURE.md says which rooms of a crate a room may see, and the code is compared with it.
//!
//! Where a table of rooms has a column `may see`, a room sees only the rooms named there. Elsewhere the rows stand in order, and a
//! room sees only those above it. A room that stands twice is a fault. Tests see all.

use super::Text;
use super::source::{code, without_tests};

/// A room, and the rooms that it may see.
#[derive(Debug, PartialEq, Eq)]
struct Room {
    krate: String,
    name: String,
    may_see: Vec<String>,
}

/// Runs the rules.
pub fn check(files: &[Text], faults: &mut Vec<String>) {
    let architecture = files.iter().find(|file| file.path == "ARCHITECTURE.md").map_or("", |file| &file.text);
    let rooms = rooms(architecture, faults);
    for file in files.iter().filter(|file| file.is_rust() && !file.path.ends_with("/tests.rs")) {
        if let ["crates", krate, "src", inside @ ..] = &file.path.split('/').collect::<Vec<_>>()[..]
            && let Some(name) = inside.first().map(|first| first.trim_end_matches(".rs"))
            && !matches!(name, "lib" | "main")
        {
            seen(file, rooms.iter().find(|room| room.krate == *krate && room.name == name), faults);
        }
    }
}

/// The rooms that the tables of the document list.
fn rooms(text: &str, faults: &mut Vec<String>) -> Vec<Room> {
    let mut rooms: Vec<Room> = Vec::new();
    let mut explicit = false;
    for line in text.lines() {
        if line.starts_with("| room |") {
            explicit = line.contains("| may see |");
        }
        let Some((krate, name)) = line.strip_prefix("| `").and_then(|rest| rest.split('`').next()?.split_once('/'))
        else {
            continue;
        };
        if rooms.iter().any(|room| room.krate == krate && room.name == name) {
            faults.push(format!("ARCHITECTURE.md: the room `{krate}/{name}` stands twice"));
            continue;
        }
        let above = rooms.iter().filter(|room| room.krate == krate);
        let may_see = match explicit {
            true => named(line.trim_end_matches('|').rsplit('|').next().unwrap_or_default()),
            false => above.map(|room| room.name.clone()).collect(),
        };
        rooms.push(Room { krate: krate.to_owned(), name: name.to_owned(), may_see });
    }
    rooms
}

/// `time, block` as two names; `nothing` as none.
fn named(cell: &str) -> Vec<String> {
    let words = cell.split(',').map(str::trim).filter(|word| !word.is_empty() && *word != "nothing");
    words.map(str::to_owned).collect()
}

/// Compares what a file names of its crate with what its room may see.
fn seen(file: &Text, room: Option<&Room>, faults: &mut Vec<String>) {
    // A room without a row is told by the comparison of rooms and folders.
    let Some(room) = room else { return };
    if room.may_see.iter().any(|name| name == "all") {
        return;
    }
    let code = without_tests(&code(&file.text));
    for (number, line) in code.lines().enumerate() {
        for (at, found) in line.match_indices("crate::") {
            let rest = &line[at + found.len()..];
            let names: Vec<&str> = match rest.strip_prefix('{') {
                Some(list) => list.split([',', '}']).map(str::trim).collect(),
                None => vec![rest],
            };
            for seen in names.into_iter().map(first_word).filter(|seen| seen.starts_with(char::is_lowercase)) {
                let is_room = seen != room.name && !room.may_see.iter().any(|name| name == seen);
                if is_room && !line[..at].ends_with('$') {
                    let (line, krate, name) = (number + 1, &room.krate, &room.name);
                    faults.push(format!(
                        "{}:{line}: `{krate}/{name}` sees `{seen}`, which ARCHITECTURE.md forbids",
                        file.path
                    ));
                }
            }
        }
    }
}

fn first_word(text: &str) -> &str {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLES: &str = "| room | what it is | may see |\n|---|---|---|\n| `model/time` | instants | nothing |\n\
        | `model/block` | the contract | time |\n| `model/testing` | tests | all |\n\nIn `crates/lab`:\n\n| room | what it is |\n|---|---|\n\
        | `lab/stats` | intervals |\n| `lab/finding` | answers |\n";

    /// What is said against one file.
    fn faults(path: &str, text: &str) -> Vec<String> {
        let tables = Text { path: "ARCHITECTURE.md".to_owned(), text: TABLES.to_owned() };
        let mut faults = Vec::new();
        check(&[tables, Text { path: path.to_owned(), text: text.to_owned() }], &mut faults);
        faults
    }

    #[test]
    fn a_room_sees_what_its_row_names() {
        assert!(faults("crates/model/src/block.rs", "use crate::time::Instant;\nuse crate::block::Op;\n").is_empty());
        let said = faults("crates/model/src/block/cut.rs", "use crate::time::Instant;\nuse crate::drive::Drive;\n");
        assert_eq!(said.len(), 1);
        assert!(said[0].starts_with("crates/model/src/block/cut.rs:2: `model/block` sees `drive`"), "{said:?}");
        assert!(faults("crates/model/src/testing.rs", "use crate::drive::Drive;\n").is_empty());
    }

    #[test]
    fn without_a_column_a_room_sees_those_above_it() {
        assert!(faults("crates/lab/src/finding.rs", "use crate::stats::Interval;\n").is_empty());
        assert_eq!(faults("crates/lab/src/stats/interval.rs", "use crate::{finding, stats};\n").len(), 1);
        let tests = "#[cfg(test)]\nmod tests {\n    use crate::finding::Finding;\n}\n";
        assert!(faults("crates/lab/src/stats.rs", tests).is_empty(), "tests see all");
    }

    #[test]
    fn a_room_stands_once() {
        let mut faults = Vec::new();
        rooms(&format!("{TABLES}| `lab/stats` | again |\n"), &mut faults);
        assert_eq!(faults, ["ARCHITECTURE.md: the room `lab/stats` stands twice"]);
    }
}
