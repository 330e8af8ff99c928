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
    // "Seek time" is not the whole truth: the how-to says that the fit tells the speed from it.
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

/// The how-to's table of loads that no result covers: requests a second predicted, and on the true drive.
#[test]
fn predictions_are_as_good_as_the_how_to_says() {
    let (folder, _) = folder_with_results();
    for (lines, predicted, true_rate) in [
        ("rw=randread\nbs=4k\niodepth=8", 114.1, 115.1),
        ("rw=randread\nbs=4k\niodepth=32", 162.0, 167.8),
        ("rw=randrw\nrwmixread=70\nbs=4k\niodepth=16", 152.5, 156.0),
        ("rw=randwrite\nbs=64k\niodepth=4", 139.9, 140.2),
        ("rw=randread\nbs=256k\niodepth=2", 70.2, 70.8),
        ("rw=randread\nbs=1m\niodepth=8", 61.4, 64.8),
        ("rw=write\nbs=1m", 162.6, 161.7),
        ("rw=randread\nbs=4k\niodepth=4\nsize=100g", 252.4, 277.5),
    ] {
        let job = format!("[x]\nioengine=libaio\ndirect=1\nfilename=/dev/sdb\ntime_based\nruntime=60\n{lines}\n");
        std::fs::write(folder.path().join("x.fio"), job).unwrap();
        for (on, wanted) in [(&FITTED[..], predicted), (&TRUTH[..], true_rate)] {
            let rate = number(&json(folder.path(), &[&["run", "x.fio", "--no-band"], on].concat()), "/all/iops");
            assert!((rate / wanted - 1.0).abs() < 0.01, "{lines}: {rate}, {wanted} in the how-to");
        }
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
fn the_fit_finds_the_speed_and_the_seek() {
    if !draws_all() {
        return println!("the fit runs with SEEKWISE_DRAWS=all; mine.toml has its result");
    }
    let (folder, results) = folder_with_results();
    let results: Vec<&str> = results.iter().map(String::as_str).collect();
    let words = [&["fit"], &results[..], &["--drive", "exos-x18", "-o", "new.toml"]].concat();
    let fitted = json(folder.path(), &words);
    let says = fitted["contradictions"][0]["says"].as_str().unwrap();
    assert!(says.starts_with("your data contradict the datasheet's speed of 7200 rpm: 5400"), "{says}");
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
