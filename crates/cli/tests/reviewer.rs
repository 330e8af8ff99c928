//! The how-to for reviewers (docs/how-to/reviewer-with-fio.md): its commands on its files. The drive that "measured" the files is a modelled
//! one, so what a reader concludes is checked against the truth.

use std::path::{Path, PathBuf};

use crate::seekwise::{run_program, sorted_names};
use serde_json::Value;

/// The drive that the files are from.
const TRUTH: [&str; 10] = [
    "--on",
    "wd140edfz",
    "--set",
    "drive.mechanics.rpm=5400",
    "--set",
    "drive.mechanics.seek.average_ms=9.4",
    "--set",
    "drive.mechanics.seek.full_ms=19.5",
    "--set",
    "drive.cache.dirty_runs=24",
];

/// The profile that the how-to's fit wrote.
const FITTED: [&str; 2] = ["--on", "mine.toml"];

fn reviewer_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/how-to/reviewer")
}

/// A folder with the how-to's files, and the names of fio's results.
fn folder_with_results() -> (tempfile::TempDir, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let names = sorted_names(&reviewer_folder());
    for name in &names {
        std::fs::copy(reviewer_folder().join(name), folder.path().join(name)).unwrap();
    }
    let results: Vec<String> = names.into_iter().filter(|name| name.ends_with(".json")).collect();
    assert_eq!(results.len(), 8);
    (folder, results)
}

fn json(folder: &Path, words: &[&str]) -> Value {
    run_program(folder, &[words, &["--json"]].concat()).json()
}

fn number(value: &Value, pointer: &str) -> f64 {
    value.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {pointer}: {value}"))
}

/// Asserts that a band of `fitted` holds the figure of `truth`.
#[track_caller]
fn assert_in_band(fitted: &Value, truth: &Value, part: &str, figure: &str) {
    let true_value = number(truth, &format!("/{part}/{figure}"));
    let [least, most] = ["0", "1"].map(|end| number(fitted, &format!("/{part}/band/{figure}/{end}")));
    assert!((least..=most).contains(&true_value), "{part} {figure}: {true_value} in {least} to {most}");
}

fn draws_all() -> bool {
    std::env::var("SEEKWISE_DRAWS").is_ok_and(|draws| draws == "all")
}

#[test]
fn the_files_are_the_drive_s_and_the_model_of_another_is_suspected() {
    let (folder, results) = folder_with_results();
    let results: Vec<&str> = results.iter().map(String::as_str).collect();
    let own = json(folder.path(), &[&["run"], &results[..], &TRUTH].concat());
    assert_eq!(own["sides"][0]["suspicions"].as_array().map(Vec::len), Some(0), "{own}");
    let other = json(folder.path(), &[&["run"], &results[..], &["--on", "exos-x18"]].concat());
    let parts: Vec<&str> =
        other["sides"][0]["suspicions"].as_array().unwrap().iter().map(|it| it["part"].as_str().unwrap()).collect();
    // "Seek time" is not the whole truth: a slower spindle looks like it.
    assert_eq!(parts, ["seek", "stream-rate"]);
}

#[test]
fn the_band_of_an_unmeasured_load_holds_the_truth_and_says_what_was_not_seen() {
    let (folder, _) = folder_with_results();
    let fitted = json(folder.path(), &[&["run", "mail.fio"], &FITTED[..]].concat());
    let truth = json(folder.path(), &[&["run", "mail.fio"], &TRUTH[..]].concat());
    for (part, figure) in [("read", "iops"), ("read", "response_ms/mean"), ("write", "iops"), ("all", "iops")] {
        let pointer = format!("/{part}/{figure}");
        let off = number(&fitted, &pointer) / number(&truth, &pointer) - 1.0;
        assert!(off.abs() < 0.05, "{pointer}: {off}");
    }
    assert_in_band(&fitted, &truth, "read", "iops");
    assert_in_band(&fitted, &truth, "read", "response_ms/mean");
    let text = run_program(folder.path(), &[&["run", "mail.fio"], &FITTED[..]].concat()).success_stdout();
    assert!(text.contains("Not seen by the fit: depth 8, beyond the seen 4; blocks of 16 KiB"), "{text}");
}

/// Loads that no result covers: what the how-to calls them, and the lines of their jobs.
const UNMEASURED: [(&str, &str); 9] = [
    ("that of mail.fio", "rw=randrw\nrwmixread=60\nbs=16k\niodepth=8"),
    ("reads of 4 KiB, depth 8", "rw=randread\nbs=4k\niodepth=8"),
    ("reads of 4 KiB, depth 32", "rw=randread\nbs=4k\niodepth=32"),
    ("70 % reads of 4 KiB, depth 16", "rw=randrw\nrwmixread=70\nbs=4k\niodepth=16"),
    ("writes of 64 KiB, depth 4", "rw=randwrite\nbs=64k\niodepth=4"),
    ("reads of 256 KiB, depth 2", "rw=randread\nbs=256k\niodepth=2"),
    ("reads of 1 MiB, depth 8", "rw=randread\nbs=1m\niodepth=8"),
    ("a stream of writes, 1 MiB", "rw=write\nbs=1m"),
    ("reads of 4 KiB, depth 4, within 100 GB", "rw=randread\nbs=4k\niodepth=4\nsize=100g"),
];

/// The marks around the how-to's table of unmeasured loads.
const TABLE_MARKS: [&str; 2] = ["<!-- unmeasured -->\n", "<!-- end of unmeasured -->"];

/// The row of a load: requests a second predicted, with their band, and on the true drive.
fn row_of_load(folder: &Path, name: &str, lines: &str) -> String {
    let job = format!("[x]\nioengine=libaio\ndirect=1\nfilename=/dev/sdb\ntime_based\nruntime=30\n{lines}\n");
    std::fs::write(folder.join("x.fio"), job).unwrap();
    let fitted = json(folder, &[&["run", "x.fio"], &FITTED[..]].concat());
    // The true drive's run has another seed.
    let truth = number(&json(folder, &[&["run", "x.fio", "--seed", "99"], &TRUTH[..]].concat()), "/all/iops");
    let predicted = number(&fitted, "/all/iops");
    let [least, most] = ["0", "1"].map(|end| number(&fitted, &format!("/all/band/iops/{end}")));
    let beyond = (truth / most - 1.0).max(1.0 - truth / least).max(0.0);
    let beyond = if beyond > 0.0 { format!("{:.1} %", 100.0 * beyond) } else { String::new() };
    format!("| {name} | {predicted:.1} ({least:.1} to {most:.1}) | {truth:.1} | {beyond} |\n")
}

/// `SEEKWISE_UPDATE=1` rewrites the how-to's table of loads that no result covers.
#[test]
fn predictions_are_as_good_as_the_how_to_says() {
    let (folder, _) = folder_with_results();
    let rows: String = UNMEASURED.iter().map(|(name, lines)| row_of_load(folder.path(), name, lines)).collect();
    let table = format!("| load | predicted (band) | true | beyond the band |\n|---|---|---|---|\n{rows}");
    let path = reviewer_folder().join("../reviewer-with-fio.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(TABLE_MARKS[0]).unwrap();
    let (stated, after) = rest.split_once(TABLE_MARKS[1]).unwrap();
    if std::env::var_os("SEEKWISE_UPDATE").is_some() {
        let [begin, end] = TABLE_MARKS;
        std::fs::write(&path, format!("{before}{begin}{table}{end}{after}")).unwrap();
    } else {
        assert_eq!(stated, table, "SEEKWISE_UPDATE=1 cargo test -p seekwise-cli --test program reviewer::");
    }
}

#[test]
fn a_comparison_of_settings_gives_the_true_answer() {
    let (folder, _) = folder_with_results();
    let vary = ["compare", "mail.fio", "--vary", "job.depth=8,16", "--runs", "4"];
    let [fitted, truth] = [&FITTED[..], &TRUTH[..]].map(|on| json(folder.path(), &[&vary[..], on].concat()));
    assert_eq!(fitted["verdict"], truth["verdict"]);
    let off = number(&fitted, "/ratio/estimate") / number(&truth, "/ratio/estimate") - 1.0;
    assert!(off.abs() < 0.03, "{off}");
}

/// A minute of processor time, so only before a release.
#[test]
fn the_fit_holds_the_truth_and_says_that_the_speed_is_open() {
    if !draws_all() {
        return println!("the fit runs with SEEKWISE_DRAWS=all; mine.toml has its result");
    }
    let (folder, results) = folder_with_results();
    let results: Vec<&str> = results.iter().map(String::as_str).collect();
    let words = [&["fit"], &results[..], &["--drive", "exos-x18", "-o", "new.toml"]].concat();
    let fitted = json(folder.path(), &words);
    let says = fitted["contradictions"][0]["says"].as_str().unwrap();
    assert!(says.starts_with("your data do not tell the speed of the spindle: drives of 53"), "{says}");
    for (name, truth) in [
        ("mechanics.rpm", 5400.0),
        ("mechanics.seek.average_ms", 9.4),
        ("mechanics.seek.full_ms", 19.5),
        ("cache.dirty_runs", 24.0),
        ("overhead.write_hit_ms", 0.05),
    ] {
        let figure = fitted["figures"].as_array().unwrap().iter().find(|figure| figure["name"] == name).unwrap();
        let [low, high] = ["/interval/0", "/interval/1"].map(|end| number(figure, end));
        assert!((low..=high).contains(&truth), "{name}: {truth} in {low} to {high}");
    }
}
