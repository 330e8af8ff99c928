//! `seekwise fit`: errors in its data, the files that it writes, and resumed fits.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::seekwise::{ProgramOutput, run_program};

const DRIVE: &str = "barracuda-7200.7";

/// A trace of `n` reads all over the drive, with times that are nearly those of a drive that takes 1 ms more for each.
fn trace_csv(n: u64) -> String {
    let mut text = "lba,sectors,op,measured_response_ms,think_ms\n".to_owned();
    for index in 0..n {
        let (lba, ms) = (index * 7_368_787 % 300_000_000, 6.0 + (index * 37 % 120) as f64 / 10.0);
        let _ = writeln!(text, "{lba},8,R,{ms},5");
    }
    text
}

fn folder_with_trace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.csv"), trace_csv(800)).unwrap();
    folder
}

const QUICK: [&str; 4] = ["--only", "overhead.read_miss_ms", "--generations", "3"];

fn run_fit(folder: &Path, data: &[&str], more: &[&str]) -> ProgramOutput {
    run_program(folder, &[&["fit"], data, &["--drive", DRIVE, "-o", "out.toml"], more].concat())
}

#[test]
fn what_it_writes_is_a_profile_that_says_so() {
    let folder = folder_with_trace();
    let more = [&QUICK[..], &["--page", "out.html", "--json"]].concat();
    let json = run_fit(folder.path(), &["t.csv"], &more).json();
    let page = fs::read_to_string(folder.path().join("out.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("<svg"));
    let before = json["seen"]["before"].as_f64().unwrap();
    let after = json["seen"]["after"].as_f64().unwrap();
    assert!(after <= before);
    let shown = run_program(folder.path(), &["validate", "t.csv", "--drive", "out.toml", "--json"]).json();
    let whole = json["traces"][0]["whole"]["demerit_ms"].as_f64().unwrap();
    assert_eq!(shown["demerit_ms"].as_f64().unwrap(), whole);
    assert!(!folder.path().join("out.toml.journal").exists());
    let again = run_fit(folder.path(), &["t.csv"], &QUICK);
    assert!(again.err.contains("out.toml") && again.err.contains("--force"), "{}", again.err);
}

#[test]
fn data_that_will_not_do_are_refused_by_name() {
    let folder = folder_with_trace();
    let refused = |data: &str, text: &str, words: &[&str]| {
        fs::write(folder.path().join(data.split(',').next().unwrap()), text).unwrap();
        let said = run_fit(folder.path(), &[data], &QUICK);
        assert_eq!(said.code, 2, "{}", said.err);
        for word in words {
            assert!(said.err.contains(word), "{data}: {}", said.err);
        }
    };
    refused("ten.csv", &trace_csv(10), &["ten.csv: 5 of its 10 requests would be seen", "at least 200"]);
    let words = ["half of its times are below 99", "expected times in milliseconds"];
    refused("us.csv", &trace_csv(800).replace(",R,", ",R,99"), &words);
    refused("far.csv", &trace_csv(800).replace("\n0,8", "\n999999999999,8"), &["far.csv:2: `lba`", "past the end"]);
    let bare = "{\"fio version\": \"fio-3.1\", \"jobs\": [{\"jobname\": \"x\", \"read\": {\"iops\": 70.0, \"total_ios\": 4000}}]}";
    refused("bare.json", bare, &["bare.json: `job options`: the result of `x` does not say what the job did"]);
    let cases = "[[case]]\njob = \"rw=randread\\nbs=4k\"\nfigure = \"iops\"\nmeasured = 70\n\n\
                 [[case]]\njob = \"rw=randread\\nbs=4k\"\nfigure = \"iops\"\nmeasured = 140\n";
    refused("two.toml", cases, &["two.toml:6", "iops is 140 here and 70 at two.toml:1: one drive did not do both"]);
    refused("odd.toml", &cases.replace("figure = \"iops\"", "figure = \"ipos\""), &["`ipos` is no figure"]);
    refused("t.csv,cahce=off", &trace_csv(800), &["`cahce`", "did you mean `cache`?"]);
}

#[test]
fn another_simulators_times_stand_beside_the_fits() {
    let folder = folder_with_trace();
    fs::write(folder.path().join("disksim.txt"), "13.5\n".repeat(800)).unwrap();
    let more = [&QUICK[..], &["--page", "out.html", "--force"]].concat();
    let json = run_fit(folder.path(), &["t.csv,beside=disksim.txt"], &[&more[..], &["--json"]].concat()).json();
    let other = &json["traces"][0]["beside"];
    assert_eq!((other["name"].as_str(), other["held"]["n"].as_u64()), (Some("disksim"), Some(400)));
    assert_eq!(other["whole"]["mean_simulated_ms"].as_f64(), Some(13.5));
    let text = run_fit(folder.path(), &["t.csv,beside=disksim.txt"], &more).success_stdout();
    assert!(text.contains("disksim") && text.contains("13.500"), "{text}");
    assert!(fs::read_to_string(folder.path().join("out.html")).unwrap().contains("<h2>Beside disksim</h2>"));
    let said = run_fit(folder.path(), &["t.csv,beside=none.txt"], &more);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("none.txt"), "{}", said.err);
}

#[test]
fn a_slip_in_only_is_named() {
    let folder = folder_with_trace();
    let said = run_fit(folder.path(), &["t.csv"], &["--only", "overhead.read_mis_ms"]);
    assert!(said.err.contains("did you mean `overhead.read_miss_ms`?"), "{}", said.err);
    assert_eq!(said.code, 2);
}

#[test]
fn a_changed_journal_is_refused_with_its_line() {
    let folder = folder_with_trace();
    let at = folder.path().join("out.toml.journal");
    let early = [&QUICK[..], &["--points", "12"]].concat();
    run_fit(folder.path(), &["t.csv"], &early).success_stdout();
    let whole = fs::read_to_string(&at).unwrap();
    let result = fs::read_to_string(folder.path().join("out.toml")).unwrap();
    let resume = [&early[..], &["--resume"]].concat();
    for (line, text) in whole.lines().enumerate().skip(1) {
        // Any digit of the answer: a figure that nobody measured.
        let (question, answer) = text.split_once("\"answer\":\"").unwrap();
        let digit = if answer.starts_with('1') { '2' } else { '1' };
        let changed = format!("{question}\"answer\":\"{digit}{}", &answer[1..]);
        let lines: String = whole
            .lines()
            .enumerate()
            .map(|(at, old)| format!("{}\n", if at == line { &changed } else { old }))
            .collect();
        fs::write(&at, lines).unwrap();
        let said = run_fit(folder.path(), &["t.csv"], &resume);
        assert_eq!(said.code, 2, "{}", said.err);
        let named = format!("out.toml.journal:{}: `sum`: this line was changed after it was written", line + 1);
        assert!(said.err.contains(&named), "{}", said.err);
    }
    // A writer that was killed has left a part of its last line.
    fs::write(&at, &whole[..whole.len() - 7]).unwrap();
    run_fit(folder.path(), &["t.csv"], &resume).success_stdout();
    assert_eq!(fs::read_to_string(folder.path().join("out.toml")).unwrap(), result);
    assert_eq!(fs::read_to_string(&at).unwrap(), whole);
}

#[test]
fn a_journal_of_other_data_is_not_gone_on_with() {
    let folder = folder_with_trace();
    fs::write(folder.path().join("out.toml.journal"), "0123\nSeen 1 = 2\n").unwrap();
    let said = run_fit(folder.path(), &["t.csv"], &QUICK);
    assert!(said.err.contains("its run was interrupted; --resume continues it, --force starts over"), "{}", said.err);
    let said = run_fit(folder.path(), &["t.csv"], &[&QUICK[..], &["--resume"]].concat());
    assert!(
        said.err.contains("it belongs to other data, another profile, other options or another build"),
        "{}",
        said.err
    );
    run_fit(folder.path(), &["t.csv"], &[&QUICK[..], &["--force"]].concat()).success_stdout();
}

#[test]
fn a_number_of_points_ends_a_fit_with_its_best_and_it_goes_on_from_there() {
    let folder = folder_with_trace();
    let only = ["--only", "overhead", "--generations", "2"];
    let early = |out: &str| {
        let more = [&only[..], &["--points", "30", "-o", out, "--json"]].concat();
        let said = run_program(folder.path(), &[&["fit", "t.csv", "--drive", DRIVE], &more[..]].concat());
        assert_eq!(said.code, 0, "{}", said.err);
        assert!(said.err.contains("this is the best so far and not the end of the fit"), "{}", said.err);
        assert!(said.err.contains("To continue:\n") && said.err.contains("--resume"), "{}", said.err);
        said
    };
    let json = early("one.toml").json();
    assert_eq!(json["ending"]["why"].as_str(), Some("points"));
    assert!(json["ending"]["points"].as_u64().unwrap() >= 30);
    early("two.toml");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("one.toml").replace("\"one\"", ""), read("two.toml").replace("\"two\"", ""));
    assert!(read("one.toml").contains("it ended early") || !read("one.toml").contains("@fit"), "{}", read("one.toml"));
    assert!(folder.path().join("one.toml.journal").exists());
    let on =
        |more: &[&str]| run_program(folder.path(), &[&["fit", "t.csv", "--drive", DRIVE], &only[..], more].concat());
    on(&["-o", "one.toml", "--resume"]).success_stdout();
    on(&["-o", "whole.toml"]).success_stdout();
    assert_eq!(read("one.toml").replace("\"one\"", ""), read("whole.toml").replace("\"whole\"", ""));
    assert!(!folder.path().join("one.toml.journal").exists());
}

#[test]
fn what_a_key_can_move_and_what_moves_nothing_are_said() {
    let folder = folder_with_trace();
    let only = ["--only", "overhead.read_miss_ms,overhead.flush_ms", "--generations", "2"];
    let json = run_fit(folder.path(), &["t.csv"], &[&only[..], &["--json"]].concat()).json();
    let key = |name: &str| json["keys"].as_array().unwrap().iter().find(|key| key["name"] == name).unwrap().clone();
    let miss = key("overhead.read_miss_ms");
    assert_eq!(miss["figure"].as_str(), Some("t.csv: reads"));
    assert!(miss["percent"].as_f64().unwrap() > 1.0 && miss["searched"].as_bool() == Some(true), "{miss}");
    let flush = key("overhead.flush_ms");
    assert_eq!((flush["percent"].as_f64(), flush["searched"].as_bool()), (Some(0.0), Some(false)));
    let text =
        run_fit(folder.path(), &["t.csv"], &[&only[..], &["--force", "--page", "out.html"]].concat()).success_stdout();
    assert!(text.contains("No simulated time depends on it: overhead.flush_ms."), "{text}");
    let page = fs::read_to_string(folder.path().join("out.html")).unwrap();
    let stayed = page.split_once("<h2>Figures that stayed</h2>").unwrap().1;
    assert!(stayed.contains("No simulated time depends on it") && !page.contains("NotFelt"), "{stayed}");
    assert!(text.contains("moves most, over its range"), "{text}");
}

#[test]
fn a_fit_to_jobs_says_that_nothing_explains_them() {
    let folder = folder_with_trace();
    // Far slower than the drive's arm, and no overhead of such a drive takes as long.
    let curve = "rw,depth,iops\nrandread,1,47\nrandread,2,47\nrandread,4,47\n";
    fs::write(folder.path().join("c.csv"), curve).unwrap();
    let more = ["--only", "overhead.read_miss_ms,overhead.flush_ms", "--json"];
    let json = run_fit(folder.path(), &["c.csv,hold=none"], &more).json();
    assert!(json["ending"].is_null() && json["tried"].as_u64().unwrap() < 2000, "{}", json["tried"]);
    let unmet = |json: &serde_json::Value| {
        let warnings = json["warnings"].as_array().unwrap().iter();
        warnings.filter(|said| said.as_str().unwrap().contains("does not meet these results: row: randread 4k")).count()
    };
    assert_eq!(unmet(&json), 1, "{}", json["warnings"]);
    // It carries no band, and no figure of it is sure.
    let written = fs::read_to_string(folder.path().join("out.toml")).unwrap();
    assert!(json["draws"] == 0 && !written.contains("draws = ") && !written.contains("interval = [0.1"), "{written}");
    fs::write(folder.path().join("c.csv"), "rw,depth,iops\nrandread,1,78\nrandread,2,78\n").unwrap();
    let json = run_fit(folder.path(), &["c.csv,hold=none"], &[&more[..], &["--force"]].concat()).json();
    assert_eq!(unmet(&json), 0, "{}", json["warnings"]);
}
