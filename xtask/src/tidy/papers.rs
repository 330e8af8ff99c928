//! Compares the documents with the repository: folders and crates that ARCHITECTURE names, the tables of `lib.rs`,
//! dependencies, tests, links and headings, drives and studies built into the program.

use std::collections::BTreeSet;
use std::path::Path;

use super::Text;

/// The table of contents of the site.
pub const SUMMARY: &str = "docs/SUMMARY.md";

/// Documents, each with the most lines that people read.
const LENGTHS: [(&str, usize); 3] = [("ARCHITECTURE.md", 130), ("CONTRIBUTING.md", 100), ("README.md", 160)];

/// The document that lists each kind of test.
const TESTING: &str = "docs/development/testing.md";

/// The document that lists each dependency.
const DEPENDENCIES: &str = "docs/development/dependencies.md";

/// Runs the rules.
pub fn check(root: &Path, files: &[Text], faults: &mut Vec<String>) {
    let text = |path: &str| files.iter().find(|file| file.path == path).map_or("", |file| file.text.as_str());
    check_lengths(files, faults);
    compare_names(
        "ARCHITECTURE.md",
        "room",
        &code_words_of_table(text("ARCHITECTURE.md"), "## Rooms"),
        &existing_rooms(files),
        faults,
    );
    check_lib_tables(files, faults);
    check_tests_listed(text(TESTING), files, faults);
    let listed_dependencies = code_words_of_table(text(DEPENDENCIES), "# Dependencies");
    compare_names(DEPENDENCIES, "dependency", &listed_dependencies, &dependency_names(files), faults);
    check_links(root, files, faults);
    check_site_contents(files, faults);
    check_built_in(files, faults);
}

/// Finds documents that are too long.
fn check_lengths(files: &[Text], faults: &mut Vec<String>) {
    for (path, max_lines) in LENGTHS {
        let lines = files.iter().find(|file| file.path == path).map_or(0, |file| file.text.lines().count());
        if lines > max_lines {
            faults.push(format!("{path}: {lines} lines; at most {max_lines}"));
        }
    }
}

/// The code words in the first cell of each table row in a section of a document.
fn code_words_of_table(text: &str, section: &str) -> BTreeSet<String> {
    let body = text.lines().skip_while(|line| *line != section).skip(1).take_while(|line| !line.starts_with("## "));
    let cells = body.filter(|line| line.starts_with("| `")).filter_map(|line| line.split('|').nth(1));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

/// Finds names that are listed or there, but not both.
fn compare_names(
    document: &str,
    kind: &str,
    listed: &BTreeSet<String>,
    existing: &BTreeSet<String>,
    faults: &mut Vec<String>,
) {
    for name in existing.difference(listed) {
        faults.push(format!("{document}: the {kind} `{name}` is there but not listed"));
    }
    for name in listed.difference(existing) {
        faults.push(format!("{document}: the {kind} `{name}` is listed but not there"));
    }
}

/// The rooms of the map: each crate, each top folder.
fn existing_rooms(files: &[Text]) -> BTreeSet<String> {
    let parts = files.iter().map(|file| file.path.split('/').collect::<Vec<_>>());
    let room = |parts: Vec<&str>| match parts[..] {
        ["crates", krate, "src", ..] => Some(format!("crates/{krate}")),
        [folder, _, ..] if folder != "crates" && !folder.starts_with('.') => Some(folder.to_owned()),
        _ => None,
    };
    parts.filter_map(room).collect()
}

/// Compares the modules of each crate with the table at the head of its `lib.rs`.
fn check_lib_tables(files: &[Text], faults: &mut Vec<String>) {
    let libs = files.iter().filter(|file| file.path.starts_with("crates/") && file.path.ends_with("/src/lib.rs"));
    for lib in libs {
        let room_of_row = |line: &str| line.strip_prefix("//! | ")?.split('`').nth(1).map(str::to_owned);
        let listed: BTreeSet<String> = lib.text.lines().filter_map(room_of_row).collect();
        let module = |line: &str| {
            let line = line.strip_prefix("pub ").unwrap_or(line);
            line.strip_prefix("mod ")?.strip_suffix(';').map(str::to_owned)
        };
        let modules: BTreeSet<String> = lib.text.lines().filter_map(module).collect();
        let differ = listed.symmetric_difference(&modules);
        faults.extend(differ.map(|name| format!("{}: `{name}` is either listed or there, not both", lib.path)));
    }
}

/// Checks that the document on tests names every file of tests, and none that does not exist.
fn check_tests_listed(testing: &str, files: &[Text], faults: &mut Vec<String>) {
    let section = testing.lines().skip_while(|line| *line != "## Tests by kind").skip(1);
    let section: String = section.take_while(|line| !line.starts_with("## ")).collect();
    let named: BTreeSet<&str> = section.split('`').skip(1).step_by(2).collect();
    let is_named = |name: &str| named.iter().any(|word| word.rsplit('/').next() == Some(name));
    for file in files.iter().filter(|file| file.is_rust()) {
        if let ["crates", _, "tests", name] = file.path.split('/').collect::<Vec<_>>()[..]
            && !is_named(name)
        {
            faults.push(format!("{TESTING}: {} is not named in \"Tests by kind\"", file.path));
        }
    }
    for name in named.iter().filter(|word| word.ends_with(".rs") && !word.contains('*')) {
        if !files.iter().any(|file| file.path.ends_with(name)) {
            faults.push(format!("{TESTING}: `{name}` is said to test something and is not there"));
        }
    }
}

/// The dependencies that the manifests of crates and examples name, except for our own crates.
fn dependency_names(files: &[Text]) -> BTreeSet<String> {
    let is_ours = |path: &str| path.starts_with("crates/") || path.starts_with("examples/");
    let manifests = files.iter().filter(|file| is_ours(&file.path) && file.path.ends_with("Cargo.toml"));
    let mut names = BTreeSet::new();
    for manifest in manifests {
        let mut is_in_section = false;
        for line in manifest.text.lines() {
            if line.starts_with('[') {
                is_in_section = line.ends_with("dependencies]");
            }
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            let is_own_crate = name.starts_with("seekwise");
            if is_in_section && !is_own_crate && name.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
                names.insert(name.to_owned());
            }
        }
    }
    names
}

/// Checks that relative links of the documents lead to a file, and to a heading of it if they name one.
fn check_links(root: &Path, files: &[Text], faults: &mut Vec<String>) {
    for file in files.iter().filter(|file| file.path.ends_with(".md")) {
        let folder = root.join(&file.path).parent().expect("a file lies in a folder").to_owned();
        for (line, link) in crate::links::find_links(&file.text).into_iter().filter(|(_, link)| !link.contains("://")) {
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() { root.join(&file.path) } else { folder.join(path) };
            if !target.exists() {
                faults.push(format!("{}:{line}: the link `{link}` leads nowhere", file.path));
            } else if !anchor.is_empty() && lacks_heading(&target, anchor) {
                faults.push(format!("{}:{line}: the link `{link}` names no heading there", file.path));
            }
        }
    }
}

/// Whether a document has no heading that an anchor names.
fn lacks_heading(document: &Path, anchor: &str) -> bool {
    let text = std::fs::read_to_string(document).unwrap_or_default();
    !crate::links::heading_anchors(&text).iter().any(|heading| heading == anchor)
}

/// Checks that every document of `docs` is in the site's table of contents.
fn check_site_contents(files: &[Text], faults: &mut Vec<String>) {
    let summary = files.iter().find(|file| file.path == SUMMARY).map_or("", |file| file.text.as_str());
    let chapters = crate::links::find_links(summary);
    for name in files.iter().filter_map(|file| file.path.strip_prefix("docs/")).filter(|name| name.ends_with(".md")) {
        if format!("docs/{name}") != SUMMARY && !chapters.iter().any(|(_, chapter)| chapter == name) {
            faults.push(format!("{SUMMARY}: docs/{name} is not in it"));
        }
    }
}

/// Checks that every drive and every study is compiled into the program.
fn check_built_in(files: &[Text], faults: &mut Vec<String>) {
    let source: Vec<&Text> = files.iter().filter(|file| file.is_rust() && file.path.contains("/src/")).collect();
    let is_named =
        |text: String| source.iter().any(|file| file.path.starts_with("crates/") && file.text.contains(&text));
    for file in files {
        let name = |folder: &str| file.path.strip_prefix(folder)?.strip_suffix(".toml").map(str::to_owned);
        let has_drive = name("crates/drives/profiles/").is_none_or(|drive| is_named(format!("\"{drive}\",")));
        let has_study = name("crates/lab/studies/").is_none_or(|study| is_named(format!("studies/{study}.toml\"")));
        if !has_drive || !has_study {
            faults.push(format!("{}: not built into the program", file.path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_and_headings_that_are_not_there_are_told() {
        let file = |path: &str, text: &str| Text { path: path.to_owned(), text: text.to_owned() };
        let root = crate::root();
        let text = "[a](docs/claims.md#the-mechanisms) [b](docs/claims.md#none) [c](docs/none.md) [d](https://x/y)\n";
        let files =
            [file("README.md", text), file(SUMMARY, "- [a](a.md)\n"), file("docs/a.md", ""), file("docs/b.md", "")];
        let mut faults = Vec::new();
        check_links(&root, &files[..1], &mut faults);
        check_site_contents(&files, &mut faults);
        let told = [
            "README.md:1: the link `docs/claims.md#none` names no heading there",
            "README.md:1: the link `docs/none.md` leads nowhere",
            "docs/SUMMARY.md: docs/b.md is not in it",
        ];
        assert_eq!(faults, told);
    }

    #[test]
    fn a_readme_is_short() {
        let of = |lines: usize| Text { path: "README.md".to_owned(), text: "x\n".repeat(lines) };
        let mut faults = Vec::new();
        check_lengths(&[of(160)], &mut faults);
        check_lengths(&[of(161)], &mut faults);
        assert_eq!(faults, ["README.md: 161 lines; at most 160"]);
    }

    #[test]
    fn rooms_are_read_from_tables() {
        let text = "# A\n## Rooms\n| room | what |\n|---|---|\n| `a/b`, `d` | `x` |\ntext\n## Next\n| `c` | y |\n";
        assert_eq!(code_words_of_table(text, "## Rooms"), BTreeSet::from(["a/b".to_owned(), "d".to_owned()]));
    }
}
