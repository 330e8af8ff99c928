//! Checks the order of rooms: the table at the head of each `lib.rs` says which rooms of its crate a room may use, and
//! the code is compared with it.
//!
//! If a table has a column `may see`, a room may use only the rooms named there. Otherwise the rows stand in order, and
//! a room may use only those above it. A room that stands twice is a fault. Tests may use all.
//!
//! The programs above the library may use it, and `seekwise_reproduce` beside them, but no crate beneath.

use super::Text;
use super::source::{code_only, identifiers, without_tests};

/// The crates beneath the library, as code names them.
const BENEATH: [&str; 7] = [
    "seekwise_disk",
    "seekwise_work",
    "seekwise_drives",
    "seekwise_formats",
    "seekwise_run",
    "seekwise_lab",
    "seekwise_os",
];

/// The sources above the library, and how many of their files may name a crate beneath it.
const ABOVE: [(&str, usize); 2] = [("crates/cli/src/", 0), ("crates/python/src/", 1)];

/// A room, and the rooms that it may see.
#[derive(Debug, PartialEq, Eq)]
struct Room {
    krate: String,
    name: String,
    may_see: Vec<String>,
}

/// Runs the rules.
pub fn check(files: &[Text], faults: &mut Vec<String>) {
    let rooms: Vec<Room> = files.iter().flat_map(|file| rooms_of_table(file, faults)).collect();
    for file in files.iter().filter(|file| file.is_rust() && !file.path.ends_with("/tests.rs")) {
        if let ["crates", krate, "src", inside @ ..] = &file.path.split('/').collect::<Vec<_>>()[..]
            && let Some(name) = inside.first().map(|first| first.trim_end_matches(".rs"))
            && !matches!(name, "lib" | "main")
        {
            check_uses(file, rooms.iter().find(|room| room.krate == *krate && room.name == name), faults);
        }
    }
    ABOVE.iter().for_each(|&(folder, max_files)| check_above(folder, max_files, files, faults));
}

/// Counts the files of a folder that name a crate beneath the library.
fn check_above(folder: &str, max_files: usize, files: &[Text], faults: &mut Vec<String>) {
    let names_beneath = |file: &&Text| identifiers(&code_only(&file.text)).any(|(_, word)| BENEATH.contains(&word));
    let files_above = files.iter().filter(|file| file.is_rust() && file.path.starts_with(folder));
    let beneath: Vec<&str> = files_above.filter(names_beneath).map(|file| file.path.as_str()).collect();
    if beneath.len() > max_files {
        let (count, list) = (beneath.len(), beneath.join(", "));
        faults
            .push(format!("{folder}: {count} files name a crate beneath the library, at most {max_files} may: {list}"));
    }
}

/// The rooms in the table at the head of a crate's `lib.rs`; none for other files.
fn rooms_of_table(file: &Text, faults: &mut Vec<String>) -> Vec<Room> {
    let mut rooms: Vec<Room> = Vec::new();
    let ["crates", krate, "src", "lib.rs"] = file.path.split('/').collect::<Vec<_>>()[..] else { return rooms };
    let head = file.text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let mut has_column = false;
    for line in head.filter(|line| line.starts_with('|')) {
        has_column |= line.contains("| may see |");
        let cell = line.trim_start_matches('|').split('|').next().unwrap_or_default();
        let Some(name) = cell.split('`').nth(1).map(str::to_owned) else { continue };
        if rooms.iter().any(|room| room.name == name) {
            faults.push(format!("{}: the room `{name}` stands twice", file.path));
            continue;
        }
        let may_see = match has_column {
            true => names_in_cell(line.trim_end_matches('|').rsplit('|').next().unwrap_or_default()),
            false => rooms.iter().map(|room| room.name.clone()).collect(),
        };
        rooms.push(Room { krate: krate.to_owned(), name, may_see });
    }
    rooms
}

/// The names of a cell: `time, block` are two, `nothing` is none.
fn names_in_cell(cell: &str) -> Vec<String> {
    let words = cell.split(',').map(str::trim).filter(|word| !word.is_empty() && *word != "nothing");
    words.map(str::to_owned).collect()
}

/// Compares the rooms that a file uses with those that its room may use.
fn check_uses(file: &Text, room: Option<&Room>, faults: &mut Vec<String>) {
    // A room without a row is a fault of the comparison of rooms and folders.
    let Some(room) = room else { return };
    if room.may_see.iter().any(|name| name == "all") {
        return;
    }
    let code = without_tests(&code_only(&file.text));
    for (number, line) in code.lines().enumerate() {
        for (start, found) in line.match_indices("crate::") {
            let rest = &line[start + found.len()..];
            let names: Vec<&str> = match rest.strip_prefix('{') {
                Some(list) => list.split([',', '}']).map(str::trim).collect(),
                None => vec![rest],
            };
            for used in names.into_iter().map(first_word).filter(|used| used.starts_with(char::is_lowercase)) {
                let is_forbidden = used != room.name && !room.may_see.iter().any(|name| name == used);
                if is_forbidden && !line[..start].ends_with('$') {
                    let (line, krate, name) = (number + 1, &room.krate, &room.name);
                    faults.push(format!(
                        "{}:{line}: `{krate}/{name}` sees `{used}`, which the table of its `lib.rs` forbids",
                        file.path
                    ));
                }
            }
        }
    }
}

fn first_word(text: &str) -> &str {
    text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: &str = "//! | room | what it is | may see |\n//! |---|---|---|\n//! | [`time`] | instants | nothing |\n\
        //! | [`block`] | the contract | time |\n//! | `testing` (a feature) | tests | all |\n";

    const LAB: &str = "//! | room | what it is |\n//! |---|---|\n//! | [`stats`](mod@stats) | intervals |\n//! | [`finding`] | answers |\n";

    fn head(krate: &str, text: &str) -> Text {
        Text { path: format!("crates/{krate}/src/lib.rs"), text: text.to_owned() }
    }

    /// The faults of one file.
    fn faults(path: &str, text: &str) -> Vec<String> {
        let mut faults = Vec::new();
        let file = Text { path: path.to_owned(), text: text.to_owned() };
        check(&[head("disk", DISK), head("lab", LAB), file], &mut faults);
        faults
    }

    #[test]
    fn a_room_sees_what_its_row_names() {
        assert!(faults("crates/disk/src/block.rs", "use crate::time::Instant;\nuse crate::block::Op;\n").is_empty());
        let said = faults("crates/disk/src/block/cut.rs", "use crate::time::Instant;\nuse crate::drive::Drive;\n");
        assert_eq!(said.len(), 1);
        assert!(said[0].starts_with("crates/disk/src/block/cut.rs:2: `disk/block` sees `drive`"), "{said:?}");
        assert!(faults("crates/disk/src/testing.rs", "use crate::drive::Drive;\n").is_empty());
    }

    #[test]
    fn without_a_column_a_room_sees_those_above_it() {
        assert!(faults("crates/lab/src/finding.rs", "use crate::stats::Interval;\n").is_empty());
        assert_eq!(faults("crates/lab/src/stats/interval.rs", "use crate::{finding, stats};\n").len(), 1);
        let tests = "#[cfg(test)]\nmod tests {\n    use crate::finding::Finding;\n}\n";
        assert!(faults("crates/lab/src/stats.rs", tests).is_empty(), "tests see all");
    }

    #[test]
    fn programs_see_no_crate_beneath_the_library() {
        let beneath = "use seekwise_lab::run::RunRecord;\n";
        assert_eq!(faults("crates/cli/src/cmd/run.rs", beneath).len(), 1);
        assert!(faults("crates/cli/src/cmd/run.rs", "// seekwise_lab\nuse seekwise::run::RunRecord;\n").is_empty());
        assert!(faults("crates/cli/src/cmd/claims.rs", "use seekwise_reproduce::claims::Claims;\n").is_empty());
        assert!(faults("crates/cli/tests/golden.rs", beneath).is_empty());
        assert!(faults("crates/seekwise/src/run.rs", beneath).is_empty());
        let python = |name: &str| Text { path: format!("crates/python/src/{name}.rs"), text: beneath.to_owned() };
        let mut faults = Vec::new();
        check(&[python("calls")], &mut faults);
        assert_eq!(faults, [""; 0]);
        check(&[python("calls"), python("tables")], &mut faults);
        assert_eq!(faults.len(), 1, "{faults:?}");
    }

    #[test]
    fn a_room_stands_once() {
        let mut faults = Vec::new();
        rooms_of_table(&head("lab", &format!("{LAB}//! | [`stats`] | again |\n")), &mut faults);
        assert_eq!(faults, ["crates/lab/src/lib.rs: the room `stats` stands twice"]);
    }
}
