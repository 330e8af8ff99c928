//! `seekwise explain`: a found setting changes the claim's answer when the claim runs with it, and an interrupted search is resumed.

use std::fs;

use crate::seekwise::{run_program, sorted_names};

#[test]
fn a_setting_that_changes_the_answer_does_so() {
    let folder = tempfile::tempdir().unwrap();
    let explain = ["explain", "d1", "--only", "drive.link.command_ms", "--alone", "--json"];
    let said = run_program(folder.path(), &explain).json();
    assert_eq!((said["id"].as_str(), said["settings"].as_u64()), (Some("D1"), Some(1)), "{said}");
    assert_eq!(said["holds"], true, "84.4 MB/s are within 5 % of 85.5");
    let found = &said["found"][0];
    assert_eq!((found["key"].as_str(), found["value"].as_str()), (Some("drive.link.command_ms"), Some("0.01")));
    let to: f64 = found["to"].as_str().unwrap().parse().unwrap();
    // A block of 64 KiB takes 0.777 ms; at 81.2 MB/s, the bound, it takes 0.807, which is 0.030 more.
    assert!((0.04..0.1).contains(&to), "{to}");
    assert_eq!(sorted_names(folder.path()), [""; 0], "nothing is kept without --out");
}

#[test]
fn an_answer_is_kept_and_an_interrupted_one_is_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let explain = ["explain", "Q1", "--only", "drive.firmware", "--alone", "--out", "q1.json"];
    let whole = run_program(folder.path(), &explain).success_stdout();
    assert!(whole.contains("inferred settings were tried"), "{whole}");
    let kept = fs::read_to_string(folder.path().join("q1.json")).unwrap();
    let again = run_program(folder.path(), &explain);
    assert!(again.code == 2 && again.err.contains("--force"), "{}", again.err);
    let resumed = run_program(folder.path(), &[&explain[..], &["--resume"]].concat());
    assert!(resumed.err.contains("nothing to go on with"), "{}", resumed.err);
    run_program(folder.path(), &[&explain[..], &["--force"]].concat()).success_stdout();
    assert!(fs::read_to_string(folder.path().join("q1.json")).unwrap() == kept, "equal questions have equal answers");
    assert_eq!(sorted_names(folder.path()), ["q1.json"], "no journal stays");
}

#[test]
fn what_cannot_be_explained() {
    let folder = tempfile::tempdir().unwrap();
    let said = run_program(folder.path(), &["explain", "Q99"]);
    assert_eq!((said.code, said.err.trim()), (2, "error: Q99: unknown finding; expected D1 to C28"));
    let said = run_program(folder.path(), &["explain", "D13"]);
    assert!(said.code == 2 && said.err.contains("it has no checks"), "{}", said.err);
}
