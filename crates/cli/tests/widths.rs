//! The output of every command of the README and the tour, and of a short run of every job in docs/examples, on screens of 60, 80 and 200
//! columns: no line is wider, no word or number is broken, no line ends in a space, and there are no escape sequences.
//!
//! A word counts as broken if a narrow screen shows a word that a wide one does not, or lacks one although the output names no columns
//! that are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use crate::seekwise::{ProgramOutput, program_command, program_output, run_program};
use textwrap::core::display_width;

const WIDTHS: [usize; 2] = [60, 80];
const WIDE: usize = 200;

/// A study that runs instead of the README's, which takes a minute.
const STUDY: &str = include_str!("../../../xtask/src/small.toml");

/// A trace of two requests.
const TRACE: &str = "lba,sectors,op,measured_response_ms,think_ms\n0,8,R,8.25,1\n800000,8,W,1.5,2\n";

/// Commands beside those of the README.
const MORE: [&str; 9] = [
    "seekwise run docs/examples/oltp.fio --on barracuda-7200.7-ncq --plot",
    "seekwise run file-server --on caviar-wd400jb --set driver=windows-xp --set processor=athlon-xp-2000 --plot",
    "seekwise run random-read --on exos-x18 --columns mean,p99,max",
    "seekwise drives exos-x18 --columns value,source",
    "seekwise power-cut random-write --on caviar-wd400jb --set driver=windows-98 --shutdown # exits 1",
    "seekwise validate trace.csv --drive atlas-10k-v-300",
    "seekwise study q-two-revolutions --out two",
    "seekwise bench --requests 1000",
    "seekwise run docs/examples/oltp.foo --on exos-x18 # exits 2",
];

/// The shell commands of the README and the tour, without those whose output is for programs or has measured times.
fn commands_of_pages() -> Vec<String> {
    let pages = [include_str!("../../../README.md"), include_str!("../../../docs/tour.md")];
    let mut inside = false;
    let mut lines = Vec::new();
    for line in pages.iter().flat_map(|page| page.lines()) {
        match line {
            line if line.starts_with("```") => inside = line == "```sh",
            line if inside => lines.push(line.to_owned()),
            _ => {}
        }
    }
    // Figures of a place in real time differ each time, whatever the width.
    let apart = ["--json", "--format", "--on null"];
    let shown = |line: &String| line.starts_with("seekwise") && !apart.iter().any(|word| line.contains(word));
    let lines: BTreeSet<String> = lines.into_iter().filter(shown).collect();
    lines.into_iter().collect()
}

/// The words of a command, changed so that it does less work.
fn shortened_words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = line.split(" # ").next().unwrap().split(' ').skip(1).map(str::to_owned).collect();
    words.retain(|word| !word.is_empty());
    let mut set = |option: &str, value: &str| match words.iter().position(|word| word == option) {
        Some(place) => value.clone_into(&mut words[place + 1]),
        None => words.extend([option.to_owned(), value.to_owned()]),
    };
    match line.split(' ').nth(1).unwrap() {
        "run" => set("--runtime", "2 s"),
        "compare" => {
            set("--runtime", "2 s");
            set("--runs", "3");
        }
        "power-cut" => {
            set("--runtime", "2 s");
            set("--cuts", "20");
        }
        "claims" => {
            set("--runs", "2");
            words.retain(|word| word != "N9" && word != "C2");
        }
        "study" => words.iter_mut().filter(|word| *word == "ncq-alone").for_each(|word| {
            "small.toml".clone_into(word);
        }),
        _ => {}
    }
    words
}

/// A folder with the files that the commands read.
fn folder_with_inputs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let examples = folder.path().join("docs/examples");
    fs::create_dir_all(&examples).unwrap();
    for example in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples")).unwrap() {
        let example = example.unwrap();
        fs::copy(example.path(), examples.join(example.file_name())).unwrap();
    }
    fs::write(folder.path().join("small.toml"), STUDY).unwrap();
    fs::write(folder.path().join("trace.csv"), TRACE).unwrap();
    fs::create_dir(folder.path().join("out")).unwrap();
    folder
}

/// Runs a command with this width, after removing its outputs of an earlier run.
fn run_with_width(folder: &Path, words: &[String], width: usize) -> ProgramOutput {
    for pair in words.windows(2).filter(|pair| ["--out", "--svg", "--png"].contains(&&*pair[0])) {
        let made = folder.join(&pair[1]);
        let _ = if made.is_dir() { fs::remove_dir_all(made) } else { fs::remove_file(made) };
    }
    let output = program_command(folder).args(words).env("COLUMNS", width.to_string()).env("NO_COLOR", "1").output();
    program_output(output.expect("the program starts"))
}

/// Faults of a text on a screen of `width` columns: lines that are too wide, spaces at their ends, escape sequences.
fn layout_faults(text: &str, width: usize) -> Vec<String> {
    let mut faults = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with("Again: ")) {
        // A word that is wider than the screen is not broken either.
        if display_width(line) > width && line.split_whitespace().all(|word| display_width(word) + 8 < width) {
            faults.push(format!("wider than {width}: {line}"));
        }
        if line.ends_with(' ') {
            faults.push(format!("ends with a space: {line:?}"));
        }
    }
    if text.contains('\u{1b}') {
        faults.push(format!("an escape: {text:?}"));
    }
    faults
}

/// The words of a text with their numbers, without bars and curves, and without the note on columns that are left out.
fn word_counts(text: &str) -> BTreeMap<&str, i64> {
    let mut counts = BTreeMap::new();
    let mut left_out = false;
    for line in text.lines() {
        left_out = line.starts_with("Not shown: ") || (left_out && line.starts_with("  "));
        let drawn = |c: char| matches!(c, '\u{2500}'..='\u{259f}' | '\u{2800}'..='\u{28ff}');
        for word in line.split_whitespace().filter(|word| !left_out && !word.contains(drawn)) {
            *counts.entry(word).or_default() += 1;
        }
    }
    counts
}

/// Words that `narrow` has more often than `wide`; if no columns are left out, also those that it has less often.
fn differing_words(narrow: &str, wide: &str) -> Vec<String> {
    let (few, all) = (word_counts(narrow), word_counts(wide));
    let whole = !narrow.contains("Not shown: ");
    let mut faults = Vec::new();
    for word in few.keys().chain(all.keys()) {
        let (here, there) = (few.get(word).unwrap_or(&0), all.get(word).unwrap_or(&0));
        if here > there || (whole && here < there) {
            faults.push(format!("`{word}`: {here} times, and {there} times on a wide screen"));
        }
    }
    faults
}

/// Faults of the output of a command: its exit code, its layout, and words that differ between widths.
fn faults_of_command(line: &str) -> Vec<String> {
    let folder = folder_with_inputs();
    let folder = folder.path();
    let words = shortened_words(line);
    if words[0] == "drives" && words.get(1).is_some_and(|name| name.ends_with(".toml")) {
        run_program(folder, &["init", "drive", "--like", "exos-x18", "-o", &words[1]]).success_stdout();
    }
    if words[0] == "report" {
        run_program(folder, &["study", "small.toml", "--out", &words[1]]).success_stdout();
    }
    let code = line.split_once("# exits ").map_or(0, |(_, code)| code.trim().parse().unwrap());
    let wide = run_with_width(folder, &words, WIDE);
    let mut faults = layout_faults(&wide.out, WIDE);
    if wide.code != code {
        faults.push(format!("exit code {}: {}", wide.code, wide.err));
    }
    for width in WIDTHS {
        if words[0] == "init" {
            fs::remove_dir_all(folder.join("out")).unwrap();
        }
        let narrow = run_with_width(folder, &words, width);
        faults.extend(layout_faults(&narrow.out, width));
        faults.extend(layout_faults(&narrow.err, width));
        // The figures of `bench` differ each time.
        if words[0] != "bench" {
            faults.extend(
                differing_words(&narrow.out, &wide.out).into_iter().map(|fault| format!("at {width}: {fault}")),
            );
            faults.extend(
                differing_words(&narrow.err, &wide.err).into_iter().map(|fault| format!("at {width}: {fault}")),
            );
        }
        if !faults.is_empty() {
            faults.push(format!("{}\n{}", narrow.out, narrow.err));
            break;
        }
    }
    faults.into_iter().map(|fault| format!("{line}\n  {fault}")).collect()
}

#[test]
fn every_command_fits_and_breaks_no_word() {
    let examples = fs::read_dir(folder_with_inputs().path().join("docs/examples")).unwrap();
    let names = examples.map(|example| example.unwrap().file_name().into_string().unwrap());
    let jobs = names.filter(|name| name.ends_with(".fio") || name.ends_with(".icf"));
    let jobs = jobs.map(|name| format!("seekwise run docs/examples/{name} --on barracuda-7200.7"));
    let lines: Vec<String> = commands_of_pages().into_iter().chain(jobs).chain(MORE.map(str::to_owned)).collect();
    assert!(lines.len() >= 25, "{lines:?}");
    let (queue, all) = (Mutex::new(lines), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(line) = queue.lock().unwrap().pop() else { break };
                    let found = faults_of_command(&line);
                    all.lock().unwrap().extend(found);
                }
            });
        }
    });
    let all = all.into_inner().unwrap();
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn a_broken_table_is_refused() {
    let wide = "drive                     GB\n────────────────────────────\nbarracuda-2t-st2000dm006  2000\n";
    let name = "drive                 GB\n────\nbarracuda-2t-st2000dm  2000\n006\n";
    assert_eq!(differing_words(name, wide).len(), 3, "{:?}", differing_words(name, wide));
    let number = "drive                     GB\n────\nbarracuda-2t-st2000dm006  20\n                          00\n";
    assert_eq!(differing_words(number, wide).len(), 3);
    assert!(differing_words("drive\n────\nbarracuda-2t-st2000dm006\n", wide).len() == 2, "left out in silence");
    assert!(differing_words("drive\n────\nbarracuda-2t-st2000dm006\nNot shown: GB.\n", wide).is_empty());
    assert!(differing_words("drive\n   barracuda-2t-st2000dm006\nGB\n   2000\n", wide).is_empty());
    assert_eq!(layout_faults("four words and more than twenty columns ", 20).len(), 2);
    assert_eq!(layout_faults("\u{1b}[1mbold\u{1b}[0m", 80).len(), 1);
    assert!(layout_faults("short\nAgain: seekwise run a-long-name\n", 10).is_empty());
}
