//! `seekwise validate` on small traces written here: keys of the JSON, formats, timing of the replay, exit codes, errors with their place.

use std::fs;
use std::path::Path;

use crate::seekwise::{ProgramOutput, run_program, sorted_names};
use serde_json::Value;

const DRIVE: &str = "atlas-10k-v-300";

/// Three reads and a write; the second arrives before the first can have completed.
const CSV: &str = "\
arrival_ms,lba,sectors,op,measured_response_ms,think_ms,cache_tag
0,1000,8,R,5,0,Miss
0.1,300000000,8,R,6,20,Miss
40,1008,8,R,0.5,10,Hit
60,900000,16,W,1,0,Hit
";

/// The trace in DiskSim's validation format.
const DISKSIM: &str = "\
R Miss 1000 8 5000 0
R Miss 300000000 8 6000 20000
R Hit 1008 8 500.0 10000
W Doub 900000 16 1000 0
";

fn folder_with_traces() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.csv"), CSV).unwrap();
    fs::write(folder.path().join("t.trace"), DISKSIM).unwrap();
    folder
}

fn run_validate(folder: &Path, trace: &str, more: &[&str]) -> ProgramOutput {
    run_program(folder, &[&["validate", trace, "--drive", DRIVE], more].concat())
}

fn number_of(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("no number {key} in {value}"))
}

#[test]
fn the_figures_are_under_their_keys_for_all_reads_and_writes() {
    let folder = folder_with_traces();
    let all = run_validate(folder.path(), "t.csv", &["--json"]).json();
    for (side, n, measured) in [(&all, 4.0, 3.125), (&all["reads"], 3.0, 11.5 / 3.0), (&all["writes"], 1.0, 1.0)] {
        assert_eq!(number_of(side, "n"), n);
        assert!((number_of(side, "mean_measured_ms") - measured).abs() < 1e-9, "{side}");
        assert!(number_of(side, "mean_simulated_ms") > 0.0);
        let percent = 100.0 * number_of(side, "demerit_ms") / measured;
        assert!((number_of(side, "demerit_percent") - percent).abs() < 1e-9, "{side}");
    }
    // The demerit of a single request is the difference of its times.
    let writes = &all["writes"];
    let apart = (number_of(writes, "mean_simulated_ms") - 1.0).abs();
    assert!((number_of(writes, "demerit_ms") - apart).abs() < 1e-9, "{writes}");
    let text = run_validate(folder.path(), "t.csv", &[]).success_stdout();
    for part in ["measured ms", "demerit ms", "\nreads ", "\nwrites ", "\n50 %", "\n99 %"] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
}

#[test]
fn both_forms_of_a_trace_give_the_same() {
    let folder = folder_with_traces();
    let answer = |trace: &str| run_validate(folder.path(), trace, &["--json"]).success_stdout();
    assert_eq!(answer("t.csv"), answer("t.trace"));
}

#[test]
fn arrivals_wait_in_line_and_think_times_do_not() {
    let folder = folder_with_traces();
    let mean = |way: &str| {
        let found = run_validate(folder.path(), "t.csv", &["--json", "--replay", way]).json();
        number_of(&found["reads"], "mean_simulated_ms")
    };
    assert_eq!(
        mean("think"),
        number_of(&run_validate(folder.path(), "t.csv", &["--json"]).json()["reads"], "mean_simulated_ms")
    );
    assert!(mean("arrival") != mean("think"));
}

#[test]
fn a_key_of_the_drive_changes_the_answer() {
    let folder = folder_with_traces();
    // A cached write never waits for the platter, so what its overhead gains is what its response gains.
    let mean = |set: &str| {
        let found = run_validate(folder.path(), "t.csv", &["--json", "--set", set]).json();
        number_of(&found["writes"], "mean_simulated_ms")
    };
    let (fast, slow) = (mean("overhead.write_hit_ms=0.1"), mean("drive.overhead.write_hit_ms=5.1"));
    assert!((slow - fast - 5.0).abs() < 1e-9, "{fast} {slow}");
}

#[test]
fn a_limit_is_answered_by_the_exit_code() {
    let folder = folder_with_traces();
    let said = |limit: &str| run_validate(folder.path(), "t.csv", &["--at-most", limit]);
    assert_eq!(said("1e9 %").code, 0);
    let no = said("0.01%");
    assert_eq!(no.code, 1);
    assert!(no.out.contains("demerit ms"), "the figures are printed all the same: {}", no.out);
    for name in ["all: a demerit of ", "reads: a demerit of ", "writes: a demerit of "] {
        assert!(no.err.contains(name) && no.err.contains("% is above 0.01 %"), "{}", no.err);
    }
    for slip in ["nan", "-3", "7 ms", "inf"] {
        let said = run_validate(folder.path(), "t.csv", &[&format!("--at-most={slip}")]);
        assert_eq!(said.code, 2, "{slip}");
        assert!(said.err.contains("expected a percentage, such as 7%"), "{}", said.err);
    }
}

#[test]
fn a_picture_and_a_log_are_written_on_request() {
    let folder = folder_with_traces();
    let said = run_validate(folder.path(), "t.csv", &["--svg", "t.svg", "--log", "t.parquet", "--json"]);
    assert!(said.err.contains("Picture: t.svg"), "{}", said.err);
    assert_eq!(number_of(&said.json(), "n"), 4.0);
    assert_eq!(sorted_names(folder.path()), ["t.csv", "t.parquet", "t.svg", "t.trace"]);
    let picture = fs::read_to_string(folder.path().join("t.svg")).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("response time, ms"));
    let log = fs::read(folder.path().join("t.parquet")).unwrap();
    assert!(log.starts_with(b"PAR1") && log.ends_with(b"PAR1"));
}

#[test]
fn what_is_wrong_is_said_with_its_place_and_nothing_is_written() {
    let folder = folder_with_traces();
    let refused = |text: &str, more: &[&str], error: &str| {
        fs::write(folder.path().join("bad.csv"), text).unwrap();
        let before = sorted_names(folder.path());
        let said = run_validate(folder.path(), "bad.csv", &[more, &["--svg", "x.svg", "--log", "x.parquet"]].concat());
        assert_eq!((said.err.trim_end(), said.code, said.out.as_str()), (error, 2, ""));
        assert_eq!(sorted_names(folder.path()), before, "something was written");
    };
    refused(
        &CSV.replace("900000,16,W", "900000,16,Wrote"),
        &[],
        "error: bad.csv:5: `op`: `Wrote` is invalid; expected R or W",
    );
    refused(
        &CSV.replace("300000000", "600000000"),
        &[],
        "error: bad.csv:3: `lba`: request 2 ends at block 600000008, past the end of the drive; expected an end at or \
         below 585937499, the blocks of atlas-10k-v-300",
    );
    let said = run_program(folder.path(), &["validate", "t.csv", "--drive", "altas-10k-v-300"]);
    let error = "error: altas-10k-v-300: no such built-in drive; expected a name that `seekwise drives` lists, or a profile's file; did you mean `atlas-10k-v-300`?";
    assert_eq!((said.err.trim_end(), said.code, said.out.as_str()), (error, 2, ""));
    refused(
        CSV,
        &["--set", "overhead.read_mis_ms=1"],
        "error: --set: `drive.overhead.read_mis_ms`: unknown key; did you mean `drive.overhead.read_miss_ms`?",
    );
}

#[test]
fn a_column_that_is_not_read_is_named() {
    let folder = folder_with_traces();
    fs::write(folder.path().join("odd.csv"), CSV.replace("think_ms", "thinktime_ms")).unwrap();
    let said = run_validate(folder.path(), "odd.csv", &[]);
    assert_eq!(said.code, 0);
    assert!(said.err.contains("warning: odd.csv:1: `thinktime_ms`: this column is ignored"), "{}", said.err);
    assert!(run_validate(folder.path(), "t.csv", &[]).err.is_empty());
}

/// Writes a trace of distant reads, with forty writes that are each followed by a read of the written block. Such a read took 6 ms, so it
/// was no cache hit. Returns the words for these reads.
fn write_trace_of_late_hits(folder: &Path) -> String {
    let mut rows = Vec::new();
    for index in 0..400u64 {
        rows.push((index * 7_919_000 % 280_000_000 * 2, 8, "R"));
        if index % 10 == 0 {
            rows.push((rows[rows.len() - 1].0 + 40_000, 8, "W"));
            rows.push((rows[rows.len() - 1].0 + 2, 4, "R"));
        }
    }
    let csv = |times: &[f64]| {
        let mut text = "lba,sectors,op,measured_response_ms,think_ms\n".to_owned();
        for ((lba, sectors, op), ms) in rows.iter().zip(times) {
            text += &format!("{lba},{sectors},{op},{ms},20\n");
        }
        text
    };
    let hit = |index: usize| index >= 2 && rows[index - 1].2 == "W";
    let times: Vec<f64> =
        (0..rows.len()).map(|index| if hit(index) { 6.0 } else { 5.0 + (index * 37 % 100) as f64 / 10.0 }).collect();
    fs::write(folder.join("w.csv"), csv(&times)).unwrap();
    "reads of blocks written by one of the 5 requests before".to_owned()
}

#[test]
fn requests_that_are_off_together_are_named_and_linked_to_what_an_import_left() {
    let folder = folder_with_traces();
    let drives = Path::new(env!("CARGO_MANIFEST_DIR")).join("../drives/profiles");
    let mut profile = fs::read_to_string(drives.join("atlas-10k-v-300.toml")).unwrap();
    profile += "\n[not_modelled]\n\"Use separate write segment\" = \"1 (a:37): reads would have no segment left\"\n";
    fs::write(folder.path().join("d.toml"), profile).unwrap();
    let what = write_trace_of_late_hits(folder.path());
    let json = run_program(folder.path(), &["validate", "w.csv", "--drive", "d.toml", "--json"]).json();
    let found = json["off"].as_array().unwrap().iter().find(|off| off["what"] == what.as_str()).expect("it is found");
    assert_eq!(found["requests"], 40);
    assert!((number_of(found, "mean_measured_ms") - 6.0).abs() < 1e-9, "{found}");
    assert!(number_of(found, "off_ms") < -5.0, "{found}");
    assert_eq!(found["not_modelled"][0], "Use separate write segment");
    assert!(found["keys"].as_str().unwrap().contains("cache.written_hits"), "{found}");
    let text = run_program(folder.path(), &["validate", "w.csv", "--drive", "d.toml"]).success_stdout();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (before, _) = text.split_once(&what).expect("a row of the table");
    let place = before.trim_end_matches(". ").rsplit(' ').next().expect("its number");
    let (_, after) = text.split_once("Not modelled, and may be why (").expect("the import's list");
    let (places, says) = after.split_once("): ").expect("a parameter");
    assert!(places.split(", ").any(|one| one == place), "{text}");
    assert_eq!(says.trim_end(), "Use separate write segment = 1 (a:37): reads would have no segment left");
}

/// Reads all over the drive, each in 0.2 ms: a cache or flash was measured.
#[test]
fn times_that_no_platter_gives_are_doubted() {
    let folder = folder_with_traces();
    let rows = |ms: f64| -> String {
        let row = |at: u64| format!("{},{},8,R,{ms},20,Miss\n", at * 30, at * 7_654_321 % 17_000_000);
        (0..40).map(row).collect()
    };
    let head = CSV.lines().next().unwrap();
    for (ms, doubted) in [(0.2, 1), (6.0, 0)] {
        fs::write(folder.path().join("quick.csv"), format!("{head}\n{}", rows(ms))).unwrap();
        let value = run_validate(folder.path(), "quick.csv", &["--json"]).json();
        let doubts = value["doubts"].as_array().unwrap();
        assert_eq!(doubts.len(), doubted, "{value}");
        let said = run_validate(folder.path(), "quick.csv", &[]).success_stdout();
        assert_eq!(said.contains("Note: half of the measured reads took 0.200 ms"), doubted == 1, "{said}");
    }
}
