//! Names in backticks of the map and of its index: files and rooms are there, and a type or a constant is declared in a file
//! that the same paragraph names (or the same row of a table, or point of a list); anywhere in the crates, where it names none.
//!
//! Words that are neither (commands, keys, values) are not looked at, nor is what stands in a fenced block.

use std::path::Path;

use super::Text;
use super::source::code;

/// The documents.
const PAPERS: [&str; 2] = ["ARCHITECTURE.md", "docs/development/where.md"];

/// What declares a type or a constant.
const DECLARES: [&str; 7] = ["struct", "enum", "union", "trait", "type", "const", "static"];

/// Runs the rule.
pub fn check(root: &Path, files: &[Text], faults: &mut Vec<String>) {
    let rust: Vec<Text> = files
        .iter()
        .filter(|file| file.is_rust() && file.path.starts_with("crates/"))
        .map(|file| Text { path: file.path.clone(), text: code(&file.text) })
        .collect();
    for paper in files.iter().filter(|file| PAPERS.contains(&file.path.as_str())) {
        for (number, words) in paragraphs(&paper.text) {
            check_paragraph(root, (&format!("{}:{number}", paper.path), &words), &rust, files, faults);
        }
    }
}

/// The paragraphs, rows and points of a document, each with its first line's number.
fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let (mut all, mut fenced, mut goes_on) = (Vec::<(usize, String)>::new(), false, false);
    for (number, line) in (1..).zip(text.lines()) {
        let fence = line.starts_with("```");
        fenced ^= fence;
        if fence || fenced || line.trim().is_empty() {
            goes_on = false;
            continue;
        }
        let point = line.trim_start().split_once(' ').is_some_and(|(mark, _)| mark == "-" || mark.ends_with('.'));
        let row = line.starts_with('|');
        match all.last_mut().filter(|_| goes_on && !row && !point) {
            Some((_, paragraph)) => *paragraph += &format!("\n{line}"),
            None => all.push((number, line.to_owned())),
        }
        goes_on = !row;
    }
    all
}

fn check_paragraph(root: &Path, (place, text): (&str, &str), rust: &[Text], files: &[Text], faults: &mut Vec<String>) {
    let words: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
    let (mut beside, mut has_file) = (Vec::new(), false);
    for word in words.iter().copied().filter(|word| is_path(word, files)) {
        let found: Vec<&Text> = rust.iter().filter(|file| is_in(word, &file.path)).collect();
        let exists = root.join(word).exists() || files.iter().any(|file| is_in(word, &file.path));
        if !exists {
            faults.push(format!("{place}: `{word}` is not there"));
        }
        has_file |= !found.is_empty();
        beside.extend(found);
    }
    for name in words.into_iter().filter(|word| is_name(word)) {
        let declared = |file: &&Text| declares(&file.text, name);
        let found = if has_file {
            beside.iter().copied().any(|file| declared(&file))
        } else {
            rust.iter().any(|file| declared(&file))
        };
        if !found {
            let where_to = if has_file { "a file named beside it" } else { "the crates" };
            faults.push(format!("{place}: `{name}` is not declared in {where_to}"));
        }
    }
}

/// `crates/disk/src/parts.rs`, `drive/power.rs`, and a room or a file in one (`disk/block`).
fn is_path(word: &str, files: &[Text]) -> bool {
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "/_.-".contains(c));
    let in_crate = || {
        let krate = word.split('/').next().unwrap_or_default();
        word.contains('/') && files.iter().any(|file| file.path.starts_with(&format!("crates/{krate}/src/")))
    };
    plain && (word.ends_with(".rs") || word.starts_with("crates/") || in_crate())
}

/// Whether a file is the one that a word names, or is in the folder or the room that it names.
fn is_in(word: &str, path: &str) -> bool {
    let word = word.trim_end_matches('/');
    let is_below = |whole: &str| path == whole || path.starts_with(&format!("{whole}/"));
    let in_room = || {
        let (krate, room) = word.split_once('/').unwrap_or(("", ""));
        let room = format!("crates/{krate}/src/{room}");
        path == format!("{room}.rs") || is_below(&room)
    };
    is_below(word) || word.ends_with(".rs") && path.ends_with(&format!("/{word}")) || in_room()
}

/// `Parts`, `DriveLog`, `PLACES`.
fn is_name(word: &str) -> bool {
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    plain && word.len() > 2 && word.starts_with(|c: char| c.is_ascii_uppercase())
}

/// Whether source declares a type or a constant of this name.
fn declares(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let ends = !code[at + name.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
        ends && DECLARES.iter().any(|kind| code[..at].strip_suffix(' ').is_some_and(|before| is_word(before, kind)))
    })
}

/// Whether a text ends in this word.
fn is_word(text: &str, word: &str) -> bool {
    text.strip_suffix(word).is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(paper: &str) -> Vec<String> {
        let file = |path: &str, text: &str| Text { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file(PAPERS[0], paper),
            file("crates/disk/src/parts.rs", "/// Of Gone.\npub struct DriveLog {}\npub const PLACES: u8 = 1;\n"),
            file("crates/disk/src/drive/power.rs", "enum Power {}\n// enum Gone {}\n"),
        ];
        let mut faults = Vec::new();
        check(Path::new("/nowhere"), &files, &mut faults);
        faults
    }

    #[test]
    fn names_are_looked_for_in_the_files_beside_them() {
        for paper in [
            "`DriveLog` in `crates/disk/src/parts.rs`",
            "`PLACES`, `DriveLog` (`disk/parts`)",
            "`Power` in `drive/power.rs`, or `disk/drive`",
            "`DriveLog` and `Power`",
            "`seekwise run FILE`, `cache.segments`, `UP`",
            "```text\n`Gone`\n```",
            "- `Power`, as\n  `drive/power.rs` says",
        ] {
            assert_eq!(faults(paper), [""; 0], "{paper}");
        }
        for (paper, told) in [
            ("`DriveLog` in `drive/power.rs`", "`DriveLog` is not declared in a file named beside it"),
            ("`Drive` in `disk/parts`", "`Drive` is not declared in a file named beside it"),
            ("`Gone`", "`Gone` is not declared in the crates"),
            ("- `Gone`\n- `Power` in `disk/drive`", "`Gone` is not declared in the crates"),
            ("`disk/engine`", "`disk/engine` is not there"),
            ("`host/layer.rs`", "`host/layer.rs` is not there"),
        ] {
            assert_eq!(faults(paper), [format!("{}:1: {told}", PAPERS[0])], "{paper}");
        }
    }

    /// The canary: each name of the real document that is misspelt is missed.
    #[test]
    fn a_misspelt_name_of_the_real_document_is_missed() {
        let root = crate::root();
        let mut files = super::super::texts(&root);
        let told = |files: &[Text]| {
            let mut faults = Vec::new();
            check(&root, files, &mut faults);
            faults.len()
        };
        assert_eq!(told(&files), 0);
        let at = files.iter().position(|file| file.path == PAPERS[1]).expect("the document");
        let text = files[at].text.clone();
        for name in ["`DriveLog`", "`PLACES`", "`disk/stack`", "`host/layer.rs`"] {
            assert!(text.contains(name), "{name}");
            files[at].text = text.replacen(name, &name.replacen(['r', 'L', 't'], "x", 1), 1);
            // A room's name may be what the types beside it are looked up in.
            assert!(told(&files) >= 1, "{name}");
        }
    }
}
