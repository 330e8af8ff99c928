//! `seekwise fit` on results of fio, from another drive's profile, as users start: what it concludes, and what the reader is told.

use std::fs;
use std::path::Path;

use crate::seekwise::run_program;

/// The drive that was measured: its arm is slower than that of the drive whose profile is the start.
const TRUTH: [&str; 2] = ["drive.mechanics.seek.average_ms=9.8", "drive.mechanics.seek.full_ms=20.1"];

/// Fits these keys alone: all of them would take minutes in a build without optimisation.
const ONLY: [&str; 2] = ["--only", "mechanics.seek,overhead.read_miss_ms"];

/// Results of single random reads and of a few at once on the drive that was measured.
fn folder_with_results() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for depth in [1, 4] {
        let job = format!(
            "[global]\nioengine=libaio\ndirect=1\nruntime=20\ntime_based\nfilename=/dev/sdx\n[r]\nrw=randread\nbs=4k\niodepth={depth}\n"
        );
        fs::write(folder.path().join("r.fio"), job).unwrap();
        let run = ["run", "r.fio", "--on", "exos-x18", "--format", "fio-json", "--seed", "7"];
        let set = TRUTH.map(|set| ["--set", set]).concat();
        let json = run_program(folder.path(), &[&run[..], &set].concat()).success_stdout();
        fs::write(folder.path().join(format!("r{depth}.json")), json).unwrap();
    }
    folder
}

/// A profile of the start that states this average as a datasheet's.
fn write_start(folder: &Path, average_ms: f64) {
    let profiles = Path::new(env!("CARGO_MANIFEST_DIR")).join("../drives/profiles");
    let text = fs::read_to_string(profiles.join("exos-x18.toml")).unwrap();
    let line = text.lines().find(|line| line.starts_with("average_ms")).unwrap().to_owned();
    let stated = format!("average_ms = {{ value = {average_ms}, datasheet = \"the label, in place of @fit\" }}");
    let full = text.lines().find(|line| line.starts_with("full_ms")).unwrap().to_owned();
    let full_ms = format!("full_ms = {{ value = {}, inferred = \"twice the average\" }}", 2.05 * average_ms);
    fs::write(folder.join("start.toml"), text.replace(&line, &stated).replace(&full, &full_ms)).unwrap();
}

fn fit(folder: &Path, data: &[&str]) -> serde_json::Value {
    let more = ["--drive", "start.toml", "-o", "mine.toml", "--force", "--json"];
    run_program(folder, &[&["fit"], data, &more, &ONLY].concat()).json()
}

fn says(report: &serde_json::Value, words: &str) -> bool {
    report["warnings"].as_array().unwrap().iter().any(|warning| warning.as_str().unwrap().contains(words))
}

#[test]
fn a_wrong_datasheet_is_contradicted_and_a_right_one_is_not() {
    let folder = folder_with_results();
    let contradicted = "your data contradict the datasheet's average seek of";
    write_start(folder.path(), 7.55);
    let report = fit(folder.path(), &["r1.json", "r4.json,hold=none"]);
    assert!(says(&report, contradicted), "{}", report["warnings"]);
    let average = report["figures"].as_array().unwrap().iter().find(|it| it["name"] == "mechanics.seek.average_ms");
    let interval = average.expect("it moved")["interval"].as_array().unwrap().clone();
    let [low, high] = [0, 1].map(|end: usize| interval[end].as_f64().unwrap());
    assert!(low <= 9.8 && 9.8 <= high && high - low < 3.0, "{low} to {high}");
    write_start(folder.path(), 9.8);
    let report = fit(folder.path(), &["r1.json", "r4.json,hold=none"]);
    assert!(!says(&report, contradicted), "{}", report["warnings"]);
}

#[test]
fn the_fitted_profile_predicts_with_a_band_and_says_what_was_not_seen() {
    let folder = folder_with_results();
    write_start(folder.path(), 7.55);
    // The result that was held back is predicted before the fit sees it.
    let report = fit(folder.path(), &["r1.json", "r4.json"]);
    let held = report["points"].as_array().unwrap().iter().find(|it| it["held"] == true && it["figure"] == "iops");
    let held = held.expect("every second depth is held back");
    let off = |key: &str| (held[key].as_f64().unwrap() / held["measured"].as_f64().unwrap() - 1.0).abs();
    assert!(off("after") < 0.06 && off("after") < off("before"), "{held}");
    assert_eq!(report["draws"], 20);
    let load = ["run", "r.fio", "--set", "job.depth=2", "--format", "json"];
    let run = |more: &[&str]| run_program(folder.path(), &[&load[..], more].concat()).json();
    let predicted = run(&["--on", "mine.toml"]);
    let truth = run(&[&["--on", "exos-x18", "--seed", "2"], &TRUTH.map(|set| ["--set", set]).concat()[..]].concat());
    let band = predicted["all"]["band"]["iops"].as_array().unwrap().iter().map(|end| end.as_f64().unwrap());
    let (ends, rate) = (band.collect::<Vec<f64>>(), truth["all"]["iops"].as_f64().unwrap());
    assert!(ends[0] <= rate && rate <= ends[1] && ends[1] < 1.3 * ends[0], "{rate}: {ends:?}");
    assert!(predicted["unseen"].to_string().contains("depth 2, between the seen 1 and 4"), "{}", predicted["unseen"]);
}
