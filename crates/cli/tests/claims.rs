//! `seekwise claims`: verdicts, mechanisms switched off, planted differences, resumed results, and draws of inferred figures.

use std::fs;
use std::path::Path;

use crate::seekwise::{run_program, sorted_names};

/// The claims in the JSON of `seekwise claims`, which must end with this exit code.
#[track_caller]
fn claims_json(folder: &Path, args: &[&str], code: i32) -> Vec<serde_json::Value> {
    let said = run_program(folder, &[&["claims", "--json"], args].concat());
    assert_eq!(said.code, code, "{}", said.err);
    let value: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    value["claims"].as_array().unwrap().clone()
}

#[test]
fn a_claim_holds_and_fails_without_its_mechanism() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["Q1", "--ablate", "--out", "out"];
    let found = claims_json(folder.path(), &args, 0);
    let [claim] = &found[..] else { panic!("{found:?}") };
    assert_eq!((claim["id"].as_str(), claim["class"].as_str()), (Some("Q1"), Some("M")));
    assert_eq!((&claim["reproduced"], &claim["ablated"]), (&true.into(), &true.into()));
    assert!(claim["figure"].as_str().unwrap().contains("8.333333"), "{claim}");
    assert_eq!(claim["repeats"], serde_json::json!(["order as they come"]), "its switch is the study's other order");
    let study = folder.path().join("out/q-two-revolutions");
    assert_eq!(
        sorted_names(&study),
        ["Q1-ablated", "made-from.json", "report.html", "results.jsonl", "study.toml", "sums.txt"]
    );
    assert!(fs::read_to_string(study.join("report.html")).unwrap().contains("8.333333"), "the page shows the claim");
    // Existing results are not replaced; an interrupted command is resumed wherever it stopped.
    let again = run_program(folder.path(), &[&["claims"], &args[..]].concat());
    assert_eq!(again.code, 2);
    assert!(again.err.contains("already holds results; --force overwrites them"), "{}", again.err);
    for file in ["results.jsonl", "Q1-ablated/results.jsonl"] {
        let whole = fs::read(study.join(file)).unwrap();
        fs::write(study.join(file), &whole[..whole.len() / 2]).unwrap();
        assert_eq!(claims_json(folder.path(), &[&args[..], &["--resume"]].concat(), 0), found);
        assert!(fs::read(study.join(file)).unwrap() == whole, "{file} differs");
    }
}

#[test]
fn a_null_counts_with_its_planted_difference() {
    let folder = tempfile::tempdir().unwrap();
    let found = claims_json(folder.path(), &["C2", "--runs", "1"], 0);
    assert_eq!((&found[0]["reproduced"], &found[0]["planted"]), (&true.into(), &true.into()));
    assert_eq!(sorted_names(folder.path()), [""; 0], "nothing is kept without --out");
}

#[test]
fn a_range_votes_and_a_switch_of_its_own_repeats_nothing() {
    let folder = tempfile::tempdir().unwrap();
    // Both signs are right, but writes fall to less than the third that the source has.
    let found = claims_json(folder.path(), &["N3", "--runs", "1", "--ablate"], 1);
    let vote = &found[0]["vote"];
    assert_eq!(vote["fails"], serde_json::json!(["split 128", "split 192", "split 256"]), "{vote}");
    assert_eq!((&vote["holds"], &found[0]["repeats"]), (&serde_json::json!([]), &serde_json::json!([])));
    assert_eq!((&found[0]["answer"], &found[0]["ablated"]), (&"not-reproduced".into(), &true.into()));
    assert!(found[0]["distance"]["share"].as_f64().unwrap() > 0.0 && found[0]["reading"].is_string(), "{}", found[0]);
}

#[test]
fn a_judgement_is_shown_and_never_counted() {
    let folder = tempfile::tempdir().unwrap();
    let found = claims_json(folder.path(), &["N8", "--runs", "2"], 0);
    assert_eq!((&found[0]["answer"], &found[0]["reproduced"]), (&"disagrees".into(), &serde_json::Value::Null));
}

#[test]
fn a_test_that_spreads_more_than_it_shows_is_flagged() {
    let folder = tempfile::tempdir().unwrap();
    // Without a difference, the mean of five runs is farther from 1 than they scatter in one set of eleven (Student's t over the
    // root of five), and that of ten runs in one set of eighty.
    let found = claims_json(folder.path(), &["Q15", "--runs", "10", "--out", "out"], 0);
    assert_eq!(found[0]["reproduced"], true, "{}", found[0]);
    let page = fs::read_to_string(folder.path().join("out/q-repeat/report.html")).unwrap();
    let flags = page.matches("more than the sides differ").count();
    assert_eq!(flags, 1, "the short test alone");
}

#[test]
fn a_draw_changes_figures_and_is_not_resumed_as_another() {
    let folder = tempfile::tempdir().unwrap();
    let run_draw = |more: &[&str]| {
        let words = ["claims", "Q1", "--json", "--runs", "1", "--out", "c"];
        run_program(folder.path(), &[&words[..], more].concat())
    };
    assert_eq!(run_draw(&["--draw", "2/15"]).json()["draw"], "2/15");
    let kept = fs::read_to_string(folder.path().join("c/q-two-revolutions/made-from.json")).unwrap();
    assert!(kept.contains("\"set\""), "the drawn figures are what was asked for");
    let again = run_draw(&["--draw", "2/15", "--resume"]);
    assert_eq!((again.code, again.err.contains("cannot continue")), (0, false), "{}", again.err);
    let other = run_draw(&["--draw", "3/15", "--resume"]);
    assert!(other.code == 2 && other.err.contains("cannot continue: it holds results of another study"));
    assert!(run_draw(&["--draw", "16/15", "--force"]).err.contains("expected NUMBER/DRAWS such as 3/15"));
}

#[test]
fn cuts_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let found = claims_json(folder.path(), &["n9", "--runs", "1", "--out", "out"], 0);
    assert_eq!(found[0]["reproduced"], true);
    let lines = fs::read_to_string(folder.path().join("out/n-power-cut/results.jsonl")).unwrap();
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first["cuts"]["cuts"], 200);
}

#[test]
fn what_is_no_finding_is_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let said = run_program(folder.path(), &["claims", "Q99"]);
    assert_eq!((said.code, said.out.as_str()), (2, ""));
    assert_eq!(said.err.trim(), "error: Q99: unknown finding; expected D1 to C28");
}

#[test]
fn a_wrong_word_in_an_expression_has_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let study = "title = 't'\nquestion = 'q'\njob = 'random-read'\n[stack]\ndrive = 'exos-x18'\n[[factor]]\n\
        name = 'depth'\nkey = 'job.depth'\nlevels = [1, 8]\n[[claim]]\nid = 'T1'\nclass = 'I'\nfinding = 'f'\n\
        condition = 'c'\nmechanism = 'm'\ncheck = [\n  'iops[depth=8] > 1',\n  'WRONG',\n]\n";
    for (wrong, said) in [
        (
            "iosp[depth=8] > 1",
            "s.toml:18: in `iosp[depth=8] > 1`: unknown figure `iosp`; expected a key of `seekwise \
          run --json`, or `setting.` and a dotted key; did you mean `iops`?",
        ),
        ("iops[depht=8] > 1", "s.toml:18: claim T1: no factor `depht`; did you mean `depth`?"),
        ("iops[depth=9] > 1", "s.toml:18: claim T1: factor `depth` has no level `9`; expected 1, 8"),
    ] {
        fs::write(folder.path().join("s.toml"), study.replace("WRONG", wrong)).unwrap();
        let told = run_program(folder.path(), &["study", "s.toml"]);
        assert_eq!(told.code, 2);
        assert!(told.err.contains(said), "{}", told.err);
    }
}
