//! Results of fio against the model: what a drive measured agrees with itself, and against another drive the part that differs is named.

use std::fs;
use std::path::Path;

use crate::seekwise::{ProgramOutput, run_program};
use serde_json::Value;

const DRIVE: &str = "barracuda-7200.7-ncq";

/// The name of each job, and its lines.
const JOBS: [(&str, &str); 4] = [
    ("r1", "rw=randread\nbs=4k\niodepth=1\nruntime=40"),
    ("r16", "rw=randread\nbs=4k\niodepth=16\nruntime=40"),
    ("seq", "rw=read\nbs=1m\nruntime=5"),
    ("w1", "rw=randwrite\nbs=4k\niodepth=1\nruntime=40"),
];

const RESULTS: [&str; 4] = ["r1.json", "r16.json", "seq.json", "w1.json"];

/// A folder with the jobs, and with their results on the drive as fio would print them.
fn folder_with_results() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, lines) in JOBS {
        let job = format!("[{name}]\nioengine=libaio\ndirect=1\nfilename=/dev/sdx\ntime_based\n{lines}\n");
        fs::write(folder.path().join(format!("{name}.fio")), job).unwrap();
        let measured = ["run", &format!("{name}.fio"), "--on", DRIVE, "--format", "fio-json"];
        let json = run_program(folder.path(), &measured).success_stdout();
        fs::write(folder.path().join(format!("{name}.json")), json).unwrap();
    }
    folder
}

fn run_results(folder: &Path, more: &[&str]) -> ProgramOutput {
    run_program(folder, &[&["run"], &RESULTS[..], &["--on", DRIVE], more].concat())
}

/// The names of the suspected parts.
fn parts(json: &Value) -> Vec<String> {
    let suspicions = json["sides"][0]["suspicions"].as_array().unwrap();
    suspicions.iter().map(|suspicion| suspicion["part"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_drive_s_own_results_raise_no_suspicion_and_another_drive_s_name_the_part() {
    let folder = folder_with_results();
    let own = run_results(folder.path(), &["--json"]).json();
    assert!(parts(&own).is_empty(), "{own}");
    assert_eq!(own["sides"][0]["summary"]["beyond_scatter"].as_u64(), Some(0));
    assert!(own["cells"].as_array().unwrap().iter().any(|cell| cell["figure"] == "p90"), "all percentiles");
    for (set, wanted) in [
        ("drive.mechanics.seek.average_ms=10.5", vec!["seek"]),
        ("drive.mechanics.rpm=5400", vec!["rotation"]),
        ("drive.firmware.depth=1", vec!["queue"]),
        ("drive.overhead.read_miss_ms=1.5", vec!["overhead"]),
        ("drive.cache.write_back=off", vec!["write-cache"]),
        ("drive.cache.dirty_runs=4", vec!["destage"]),
        ("drive.link.rate_mb_s=30", vec!["stream-rate"]),
    ] {
        let json = run_results(folder.path(), &["--json", "--set", set]).json();
        assert_eq!(parts(&json), wanted, "{set}: {}", json["sides"][0]["suspicions"]);
    }
    let uncached = ["run", "w1.fio", "--on", DRIVE, "--set", "drive.cache.write_back=off", "--format", "fio-json"];
    fs::write(folder.path().join("w0.json"), run_program(folder.path(), &uncached).success_stdout()).unwrap();
    let result = |name: &str| run_program(folder.path(), &["run", name, "r1.json", "--on", DRIVE, "--json"]).json();
    assert_eq!(parts(&result("w0.json")), ["write-cache"]);
    assert!(parts(&result("w0.json,cache=off")).is_empty());
}

#[test]
fn the_table_marks_what_is_off_and_the_last_line_is_the_command_of_the_fit() {
    let folder = folder_with_results();
    let text = run_results(folder.path(), &["--set", "drive.firmware.depth=1"]).success_stdout();
    assert!(text.contains("Suspected: the drive's queue.") && text.contains("*"), "{text}");
    assert!(!text.contains("p90 ms"), "{text}");
    let options = RESULTS.map(|result| format!("{result},drive.firmware.depth=1")).join(" ");
    let wanted = format!("seekwise fit {options} --drive {DRIVE} -o {DRIVE}-fitted.toml --page {DRIVE}-fitted.html");
    assert_eq!(text.lines().last(), Some(&*wanted));
    assert!(run_results(folder.path(), &["--all"]).success_stdout().contains("p90 ms"));
    // The command is one that the fit takes.
    let words: Vec<&str> =
        wanted.split(' ').skip(1).chain(["--points", "1", "--only", "overhead.read_miss_ms"]).collect();
    run_program(folder.path(), &words).success_stdout();
}

#[test]
fn several_models_are_compared_and_the_nearest_is_named() {
    let folder = folder_with_results();
    let compare = |more: &[&str]| run_program(folder.path(), &[&["compare", "r1.json", "r16.json"], more].concat());
    let text = compare(&["--on", "exos-x18", "--on", DRIVE]).success_stdout();
    assert!(text.contains(&format!("Nearest over all: {DRIVE}.")), "{text}");
    assert!(text.contains(&format!("--drive {DRIVE} ")), "{text}");
    let json = compare(&["--on", DRIVE, "--vary", "drive.firmware.depth=1,32", "--json"]).json();
    assert_eq!(json["nearest"], "depth=32");
    let deep = json["cells"].as_array().unwrap().iter().filter(|cell| cell["file"] == "r16.json");
    let rate = deep.clone().find(|cell| cell["figure"] == "iops").unwrap();
    assert_eq!(rate["nearest"], "depth=32");
    assert_eq!(rate["predicted"].as_array().unwrap().len(), 2);
}

#[test]
fn what_cannot_be_compared_is_refused_by_name() {
    let folder = folder_with_results();
    for (words, said) in [
        ("run r1.json r1.fio --on exos-x18", "r1.fio: is no result of fio, but r1.json is"),
        ("run r1.json none.json --on exos-x18", "none.json: cannot be read"),
        ("run r1.fio r16.fio --on exos-x18", "`seekwise compare r1.fio r16.fio --on exos-x18` compares two jobs"),
        ("run r1.json r1.json --on exos-x18", "r1.json: is named twice"),
        ("run r1.json --on null", "`null` is a place; expected a modelled drive"),
        ("run r1.json,chache=on --on exos-x18", "did you mean `cache`?"),
        ("run r1.json --on exos-x18 --log x", "--log: not supported with measured results"),
        ("run r1.json --on exos-x18 --format csv", "--format: not supported with measured results"),
        ("run r1.json --on exos-x18 --set job=x", "--set job=x: not possible with measured results"),
        ("run r1.json,cache=on --on exos-x18 --set drive.cache.write_back=off", "sets `drive.cache.write_back` too"),
        ("run r1.fio --on exos-x18 --all", "--all: only with results of fio"),
        ("run r1.json --on exos-x18 --on wd140edfz", "cannot be used multiple times"),
        ("compare r1.json --on exos-x18 --on exos-x18", "--on exos-x18: is named twice"),
        ("compare r1.json", "--on is missing"),
        ("compare r1.fio --on exos-x18 --on wd140edfz", "expected --vary drive=exos-x18,wd140edfz"),
        ("compare r1.json --on exos-x18 --metric p99", "--metric: not supported with measured results"),
    ] {
        let output = run_program(folder.path(), &words.split(' ').collect::<Vec<_>>());
        assert_eq!(output.code, 2, "{words}: {}", output.out);
        assert!(output.err.contains(said), "{words}: {}", output.err);
    }
}
