//! Checks names in backticks of the map (ARCHITECTURE.md) and of its index. Files and rooms must exist. A type or a
//! constant must be declared in a file that the same paragraph names, or the same row of a table, or the same point of
//! a list; if none is named there, anywhere in the crates.
//!
//! Other words (commands, keys, values) and fenced blocks are not checked.

use std::path::Path;

use super::Text;
use super::source::code_only;

/// The documents.
const DOCUMENTS: [&str; 2] = ["ARCHITECTURE.md", "docs/development/where.md"];

/// Words that declare a type or a constant.
const DECLARING_WORDS: [&str; 7] = ["struct", "enum", "union", "trait", "type", "const", "static"];

/// Runs the rule.
pub fn check(root: &Path, files: &[Text], faults: &mut Vec<String>) {
    let rust: Vec<Text> = files
        .iter()
        .filter(|file| file.is_rust() && file.path.starts_with("crates/"))
        .map(|file| Text { path: file.path.clone(), text: code_only(&file.text) })
        .collect();
    for document in files.iter().filter(|file| DOCUMENTS.contains(&file.path.as_str())) {
        for (number, words) in paragraphs(&document.text) {
            check_paragraph(root, (&format!("{}:{number}", document.path), &words), &rust, files, faults);
        }
    }
}

/// The paragraphs, rows and points of a document, each with its first line's number.
fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let (mut found, mut is_fenced, mut continues) = (Vec::<(usize, String)>::new(), false, false);
    for (number, line) in (1..).zip(text.lines()) {
        let is_fence = line.starts_with("```");
        is_fenced ^= is_fence;
        if is_fence || is_fenced || line.trim().is_empty() {
            continues = false;
            continue;
        }
        let is_point = line.trim_start().split_once(' ').is_some_and(|(mark, _)| mark == "-" || mark.ends_with('.'));
        let is_row = line.starts_with('|');
        match found.last_mut().filter(|_| continues && !is_row && !is_point) {
            Some((_, paragraph)) => *paragraph += &format!("\n{line}"),
            None => found.push((number, line.to_owned())),
        }
        continues = !is_row;
    }
    found
}

fn check_paragraph(root: &Path, (place, text): (&str, &str), rust: &[Text], files: &[Text], faults: &mut Vec<String>) {
    let words: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
    let (mut named_files, mut has_file) = (Vec::new(), false);
    for word in words.iter().copied().filter(|word| is_path(word, files)) {
        let matching: Vec<&Text> = rust.iter().filter(|file| is_in(word, &file.path)).collect();
        let exists = root.join(word).exists() || files.iter().any(|file| is_in(word, &file.path));
        if !exists {
            faults.push(format!("{place}: `{word}` is not there"));
        }
        has_file |= !matching.is_empty();
        named_files.extend(matching);
    }
    for name in words.into_iter().filter(|word| is_name(word)) {
        let is_declared_in = |file: &&Text| declares_name(&file.text, name);
        let is_found = if has_file {
            named_files.iter().copied().any(|file| is_declared_in(&file))
        } else {
            rust.iter().any(|file| is_declared_in(&file))
        };
        if !is_found {
            let where_to = if has_file { "a file named beside it" } else { "the crates" };
            faults.push(format!("{place}: `{name}` is not declared in {where_to}"));
        }
    }
}

/// Whether a word is a path, such as `crates/disk/src/parts.rs` or `drive/power.rs`, or names a room or a file in one
/// (`disk/block`).
fn is_path(word: &str, files: &[Text]) -> bool {
    let has_path_letters = word.chars().all(|letter| letter.is_ascii_alphanumeric() || "/_.-".contains(letter));
    let in_crate = || {
        let krate = word.split('/').next().unwrap_or_default();
        word.contains('/') && files.iter().any(|file| file.path.starts_with(&format!("crates/{krate}/src/")))
    };
    has_path_letters && (word.ends_with(".rs") || word.starts_with("crates/") || in_crate())
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

/// Whether a word is the name of a type or a constant, such as `Parts`, `DriveLog` or `PLACES`.
fn is_name(word: &str) -> bool {
    let has_name_letters = word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    has_name_letters && word.len() > 2 && word.starts_with(|letter: char| letter.is_ascii_uppercase())
}

/// Whether source declares a type or a constant of this name.
fn declares_name(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let is_whole_word =
            !code[at + name.len()..].starts_with(|letter: char| letter.is_alphanumeric() || letter == '_');
        is_whole_word
            && DECLARING_WORDS
                .iter()
                .any(|kind| code[..at].strip_suffix(' ').is_some_and(|before| ends_in_word(before, kind)))
    })
}

/// Whether a text ends in this word.
fn ends_in_word(text: &str, word: &str) -> bool {
    text.strip_suffix(word)
        .is_some_and(|before| !before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(paper: &str) -> Vec<String> {
        let file = |path: &str, text: &str| Text { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file(DOCUMENTS[0], paper),
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
            assert_eq!(faults(paper), [format!("{}:1: {told}", DOCUMENTS[0])], "{paper}");
        }
    }

    /// A check of the rule: each name of the real document that is misspelt is missed.
    #[test]
    fn a_misspelt_name_of_the_real_document_is_missed() {
        let root = crate::root();
        let mut files = super::super::read_texts(&root);
        let told = |files: &[Text]| {
            let mut faults = Vec::new();
            check(&root, files, &mut faults);
            faults.len()
        };
        assert_eq!(told(&files), 0);
        let at = files.iter().position(|file| file.path == DOCUMENTS[1]).expect("the document");
        let text = files[at].text.clone();
        for name in ["`DriveLog`", "`PLACES`", "`disk/stack`", "`host/layer.rs`"] {
            assert!(text.contains(name), "{name}");
            files[at].text = text.replacen(name, &name.replacen(['r', 'L', 't'], "x", 1), 1);
            // A room's name may be what the types beside it are looked up in.
            assert!(told(&files) >= 1, "{name}");
        }
    }
}
