//! `--help` of every command on screens of 60, 80 and 120 columns: no line is wider, unless it is a single word. Without a screen, help
//! is 80 columns wide. The usage line is not folded, because clap does not fold it. Manual pages do not depend on the screen.

use std::collections::BTreeSet;
use std::fs;

use crate::seekwise::{program_command, program_output};
use textwrap::core::display_width;

/// The help of a command on a screen of so many columns, or without a screen.
fn help_text(words: &[&str], columns: Option<usize>) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut asked = program_command(folder.path());
    match columns {
        Some(columns) => asked.env("COLUMNS", columns.to_string()),
        None => asked.env_remove("COLUMNS"),
    };
    program_output(asked.args(words).arg("--help").output().unwrap()).success_stdout()
}

/// The commands that a help text lists below `Commands:`.
fn listed_commands(help: &str) -> Vec<String> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let named = list.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    named.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(str::to_owned).collect()
}

/// The words of every command and subcommand.
fn all_commands() -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut next = 0;
    while next < all.len() {
        let words: Vec<&str> = all[next].iter().map(String::as_str).collect();
        let more: Vec<Vec<String>> = listed_commands(&help_text(&words, Some(120)))
            .into_iter()
            .map(|name| [all[next].clone(), vec![name]].concat())
            .collect();
        all.extend(more);
        next += 1;
    }
    all
}

#[test]
fn help_folds_to_the_screen() {
    let all = all_commands();
    let names: BTreeSet<String> = all.iter().map(|words| words.join(" ")).collect();
    for known in ["study", "compare", "crash", "import disksim", "flush-audit", "disk power", "disk reset-link"] {
        assert!(names.contains(known), "{known} is none of {names:?}");
    }
    for former in ["power", "set", "status"] {
        assert!(!names.contains(former), "{former} is hidden");
    }
    for words in &all {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut lines = Vec::new();
        for columns in [60, 80, 120] {
            let text = help_text(&words, Some(columns));
            for line in text.lines() {
                let alone = line.split_whitespace().count() == 1 || line.starts_with("Usage: ");
                assert!(display_width(line) <= columns || alone, "{words:?} at {columns}: {line}");
            }
            lines.push(text.lines().count());
        }
        assert!(lines[0] >= lines[1] && lines[1] >= lines[2], "{words:?}: {lines:?}");
        assert_eq!(help_text(&words, None), help_text(&words, Some(80)), "{words:?} without a screen");
    }
}

#[test]
fn manual_pages_are_the_same_on_every_screen() {
    let pages = |columns: &str| {
        let folder = tempfile::tempdir().unwrap();
        program_output(program_command(folder.path()).env("COLUMNS", columns).args(["man", "."]).output().unwrap())
            .success_stdout();
        let page = fs::read_to_string(folder.path().join("seekwise-crash.1")).unwrap();
        assert!(page.contains("a file with the lines that the\nworkload had printed before the cut"), "{page}");
        page
    };
    assert_eq!(pages("60"), pages("200"));
}
