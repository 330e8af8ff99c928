//! Measures how a repository names and explains its code: names of functions and private types, predicates, sentences
//! of comments, state in statics, keys written as text. Any Rust repository can be measured, for comparison with this
//! one.
//!
//! | file | what it counts |
//! |---|---|
//! | `items` | functions, types and statics, from the syntax tree |
//! | `sentences` | sentences of comments, from the text |
//!
//! Code that is compiled only for tests is left out. `tidy` holds the limits; this prints the table.

mod items;
mod sentences;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use self::items::Items;
use self::sentences::Sentences;

/// A measure, as a row of the table.
struct Row {
    name: &'static str,
    part: usize,
    /// The number of all, if the row is a share.
    whole: Option<usize>,
    /// The share in per cent, or the number, that must not be reached in this repository.
    limit: Option<f64>,
}

impl Row {
    fn share(name: &'static str, part: usize, whole: usize, limit: f64) -> Row {
        Row { name, part, whole: Some(whole), limit: Some(limit) }
    }

    fn number(name: &'static str, part: usize, limit: Option<f64>) -> Row {
        Row { name, part, whole: None, limit }
    }

    fn value(&self) -> f64 {
        self.whole.map_or(self.part as f64, |whole| 100.0 * self.part as f64 / whole.max(1) as f64)
    }

    fn is_above_limit(&self) -> bool {
        self.limit.is_some_and(|limit| self.value() >= limit)
    }

    fn render(&self) -> String {
        let value = match self.whole {
            Some(whole) => format!("{:.1} % ({} of {whole})", self.value(), self.part),
            None => self.part.to_string(),
        };
        let limit = self.limit.map_or(String::new(), |limit| format!("below {limit}"));
        format!("| {} | {value} | {limit} |", self.name)
    }
}

/// `cargo xtask names [FOLDER] [--list]`: prints the table of this repository or of another; `--list` prints the
/// counted places too.
pub fn names(arguments: &[&str]) -> ExitCode {
    let (mut folder, mut prints_places) = (crate::root(), false);
    for argument in arguments {
        match *argument {
            "--list" => prints_places = true,
            path => folder = PathBuf::from(path),
        }
    }
    let texts = read_sources(&folder);
    if texts.is_empty() {
        eprintln!("{}: expected a folder with Rust sources below src", folder.display());
        return ExitCode::from(2);
    }
    let (items, sentences) = measure(&texts);
    if prints_places {
        items.places.iter().chain(&sentences.places).for_each(|line| println!("{line}"));
    }
    println!("| {} files | measured | limit here |\n|---|---|---|", texts.len());
    table_rows(&items, &sentences).iter().for_each(|row| println!("{}", row.render()));
    ExitCode::SUCCESS
}

/// The rows of this repository that reach their limits, for `tidy`.
pub fn faults() -> Vec<String> {
    let (items, sentences) = measure(&read_sources(&crate::root()));
    let above = table_rows(&items, &sentences).into_iter().filter(Row::is_above_limit);
    above.map(|row| format!("{} (cargo xtask names --list)", row.render())).collect()
}

fn table_rows(items: &Items, sentences: &Sentences) -> Vec<Row> {
    let (functions, comments) = (items.functions, sentences.count);
    vec![
        Row::share("functions of one word", items.one_word, functions, 45.0),
        Row::share("functions named by a bare participle", items.participles, functions, 2.0),
        Row::number("functions named `of`", items.named_of, Some(25.0)),
        Row::number("predicates that change what they ask", items.changing_predicates, Some(1.0)),
        Row::share("private types that share their name", items.shared_types, items.private_types, 15.0),
        Row::share("sentences of comments that begin with What", sentences.what, comments, 0.5),
        Row::share("sentences that begin with a pronoun, The same, Of, One", sentences.pronoun, comments, 6.0),
        Row::number("statics with state in library crates", items.state, Some(11.0)),
        Row::number("dotted keys as text, outside the crates of drives and formats", items.dotted_keys, Some(60.0)),
        Row::number("public items", items.public, None),
        Row::number("lines of code, without tests, comments, blanks", items.code_lines, None),
    ]
}

fn measure(sources: &BTreeMap<String, String>) -> (Items, Sentences) {
    (items::count(sources), sentences::count(sources))
}

/// The sources below a folder from which programs and libraries are built, by their paths in it.
fn read_sources(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    collect_sources(folder, folder, &mut found);
    found
}

fn collect_sources(root: &Path, folder: &Path, sources: &mut BTreeMap<String, String>) {
    const SKIPPED: [&str; 8] = ["target", ".git", "node_modules", "xtask", "fuzz", "examples", "tests", "benches"];
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() && !SKIPPED.contains(&name.as_str()) {
            collect_sources(root, &path, sources);
        } else if name.ends_with(".rs") && name != "tests.rs" && name != "build.rs" {
            let path_in_root =
                path.strip_prefix(root).expect("found below the root").to_string_lossy().replace('\\', "/");
            if let (true, Ok(text)) = (path_in_root.contains("src/"), fs::read_to_string(&path)) {
                sources.insert(path_in_root, text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUSE: &str = "//! What this is. The room of one thing.
static SEEN: Mutex<u32> = Mutex::new(0);
static COLOUR: &str = \"drive.rpm\";
pub struct Open;
struct Shared;
mod inner { struct Shared; struct Apart; }
impl Shared {
    /// It is told. Returns `a.b`. The sum.
    fn told(&self) {}
    fn of() {}
    fn read_header(&self) {}
    fn is_empty(&mut self) -> bool { true }
    fn is_whole(&self) -> bool { true }
}
#[cfg(test)]
mod tests { fn found() {} /* What is not counted. */ }
";

    #[test]
    fn each_row_counts_what_it_names_and_nothing_else() {
        let sources = BTreeMap::from([("crates/lab/src/lib.rs".to_owned(), HOUSE.to_owned())]);
        let (items, sentences) = measure(&sources);
        assert_eq!((items.functions, items.one_word, items.participles, items.named_of), (5, 2, 1, 1));
        assert_eq!((items.changing_predicates, items.private_types, items.shared_types), (1, 3, 2));
        assert_eq!((items.state, items.dotted_keys, items.public), (1, 1, 1));
        assert_eq!((sentences.count, sentences.what, sentences.pronoun), (5, 1, 1));
        assert_eq!(items.code_lines, 12);
    }

    #[test]
    fn a_row_is_held_to_its_limit_from_both_sides() {
        assert!(Row::share("x", 45, 100, 45.0).is_above_limit());
        assert!(!Row::share("x", 44, 100, 45.0).is_above_limit());
        assert!(!Row::number("x", 9, None).is_above_limit());
    }
}
