//! Reviews, which are several studies under one question, in one folder and on one page: they resume after an interruption, run again
//! from the folder, and refuse parts that belong to another review.

use std::fs;
use std::path::Path;

use crate::seekwise::{ProgramOutput, run_program};
use serde_json::Value;

/// The text of a study with a cell for each depth, and with this claim, if it is not empty.
fn study_text(title: &str, depths: &str, claim: &str) -> String {
    format!(
        "title = '{title}'\nquestion = 'q'\nruns = 2\nruntime = '1 s'\njob = 'random-read'\n\
         [stack]\ndrive = 'barracuda-7200.7-ncq'\n[[factor]]\nname = 'depth'\nkey = 'job.depth'\nlevels = {depths}\n{claim}"
    )
}

const REVIEW: &str = "title = 'Two questions in one'\nquestion = 'Is it deep?'\nintroduction = \"\"\"\nFirst.\n\nSecond.\"\"\"\n\
                      [[part]]\nstudy = \"shallow.toml\"\nwhy = 'a beginning'\n\
                      [[part]]\nstudy = \"deep.toml\"\ntitle = 'Deeper'\n";

const CLAIM: &str = "[[compare]]\nname = 'deeper'\nfactor = 'depth'\nfrom = '1'\nto = '8'\nheadline = true\n\
                     [[claim]]\nid = 'T1'\nclass = 'I'\nfinding = 'f'\ncondition = 'c'\nmechanism = 'm'\n\
                     check = ['iops[depth=8] > iops[depth=1]']\n";

fn folder_with_review() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("review.toml"), REVIEW).unwrap();
    fs::write(folder.path().join("shallow.toml"), study_text("Shallow", "[1]", "")).unwrap();
    fs::write(folder.path().join("deep.toml"), study_text("Deep", "[1, 8]", CLAIM)).unwrap();
    folder
}

fn run_study(folder: &Path, words: &[&str]) -> ProgramOutput {
    run_program(folder, &[&["study"], words].concat())
}

/// The data of a page.
fn page_data(page: &Path) -> Value {
    let page = fs::read_to_string(page).unwrap();
    let (_, rest) = page.split_once(r#"id="report-data">"#).unwrap();
    serde_json::from_str(rest.split_once("</script").unwrap().0).unwrap()
}

#[test]
fn a_review_is_one_folder_and_one_page_with_a_chapter_for_each_part() {
    let folder = folder_with_review();
    let path = folder.path();
    let said = run_study(path, &["review.toml", "--out", "r"]).success_stdout();
    assert!(said.contains("Is it deep?") && said.contains("Report: r/report.html"), "{said}");
    assert!(said.contains("1 of 1 claim holds") && said.contains("Deeper"), "{said}");
    for part in ["shallow", "deep"] {
        for file in ["study.toml", "made-from.json", "results.jsonl", "report.html"] {
            assert!(path.join("r").join(part).join(file).is_file(), "{part}/{file}");
        }
    }
    let page = page_data(&path.join("r/report.html"));
    // With two runs, the comparison is undecided.
    let said = |place: usize| ["about", "says"].map(|key| page["answer"][place][key].as_str().unwrap());
    assert_eq!(said(0), ["deeper", "undecided in the one case."]);
    assert_eq!(said(1), ["", "1 of 1 published findings comes out again."]);
    assert_eq!(
        (page["title"].as_str(), page["introduction"][1].as_str()),
        (Some("Two questions in one"), Some("Second."))
    );
    let chapters = page["chapters"].as_array().unwrap();
    let headings: Vec<&str> = chapters.iter().map(|chapter| chapter["heading"].as_str().unwrap()).collect();
    assert_eq!(headings, ["Shallow", "Deeper"], "in the review's order, under their titles");
    assert_eq!(chapters[1]["report"]["claims"][0]["reproduced"], true);
    assert_eq!(chapters[1]["report"]["stretches"].as_array().map(Vec::len), Some(0), "that is on the part's own page");
    assert!(!page_data(&path.join("r/deep/report.html"))["stretches"].as_array().unwrap().is_empty());
    // The folder of a part equals the folder of the study alone.
    run_study(path, &["deep.toml", "--out", "alone"]).success_stdout();
    let of = |folder: &str| fs::read(path.join(folder).join("results.jsonl")).unwrap();
    assert!(of("alone") == of("r/deep"));
}

#[test]
fn it_goes_on_and_runs_again_from_what_is_kept_alone() {
    let folder = folder_with_review();
    let path = folder.path();
    run_study(path, &["review.toml", "--out", "r"]).success_stdout();
    let whole = |folder: &str| {
        let below = ["shallow/results.jsonl", "deep/results.jsonl", "made-from.json", "report.html"];
        below.map(|file| fs::read(path.join(folder).join(file)).unwrap())
    };
    let first = whole("r");
    // The review is interrupted in its second part; the pages of that part and of the review are missing.
    let lines = fs::read_to_string(path.join("r/deep/results.jsonl")).unwrap();
    fs::write(path.join("r/deep/results.jsonl"), lines.lines().next().unwrap().to_owned() + "\n{\"cell\"").unwrap();
    fs::remove_file(path.join("r/report.html")).unwrap();
    run_study(path, &["review.toml", "--out", "r", "--resume"]).success_stdout();
    assert!(whole("r") == first, "resumed as if it had not been stopped");
    for name in ["review.toml", "shallow.toml", "deep.toml"] {
        fs::remove_file(path.join(name)).unwrap();
    }
    run_study(path, &["r", "--out", "again", "--threads", "1"]).success_stdout();
    assert!(whole("again") == first, "the same from the folder alone");
    fs::remove_file(path.join("r/report.html")).unwrap();
    assert!(run_program(path, &["report", "r"]).success_stdout().contains("1 of 1 claim holds"));
    assert!(whole("r") == first);
    assert_eq!(run_program(path, &["report", "r", "--json"]).json()["parts"][1]["claims"][0]["id"], "T1");
    run_study(path, &["r", "--resume"]).success_stdout();
}

#[test]
fn parts_that_it_was_not_made_of_are_refused() {
    let folder = folder_with_review();
    let path = folder.path();
    run_study(path, &["review.toml", "--out", "r"]).success_stdout();
    let held = run_study(path, &["review.toml", "--out", "r"]);
    assert!(held.code == 2 && held.err.contains("already holds results"), "{}", held.err);
    let over = run_study(path, &["deep.toml", "--out", "r"]);
    assert!(over.code == 2 && over.err.contains("already holds results"), "a study over a review: {}", over.err);
    run_study(path, &["review.toml", "--out", "r", "--force"]).success_stdout();
    // Another study's results in the place of a part.
    fs::write(path.join("deep.toml"), study_text("Deep", "[1, 8, 64]", CLAIM)).unwrap();
    let changed = run_study(path, &["review.toml", "--out", "r", "--resume"]);
    assert!(changed.code == 2 && changed.err.contains("holds results of another study"), "{}", changed.err);
    run_study(path, &["deep.toml", "--out", "r/deep", "--force"]).success_stdout();
    let foreign = run_program(path, &["report", "r"]);
    assert!(
        foreign.code == 2 && foreign.err.contains("the part in deep is not what the review was made of"),
        "{}",
        foreign.err
    );
    fs::write(path.join("review.toml"), REVIEW.replace("Two questions", "Three")).unwrap();
    let other = run_study(path, &["review.toml", "--out", "r", "--resume"]);
    assert!(other.code == 2 && other.err.contains("holds results of another study"), "{}", other.err);
}

#[test]
fn a_slip_is_answered_with_its_line_and_nothing_is_touched() {
    let folder = folder_with_review();
    let path = folder.path();
    let said = |text: &str| {
        fs::write(path.join("review.toml"), text).unwrap();
        let said = run_study(path, &["review.toml", "--out", "r"]);
        assert!(said.code == 2 && !path.join("r/report.html").exists(), "{}", said.err);
        said.err
    };
    assert!(said(&REVIEW.replace("why", "whi")).contains("did you mean `why`?"));
    assert!(said(&REVIEW.replace("shallow.toml", "d-mode")).contains("did you mean `d-modes`?"));
    assert!(said(&REVIEW.replace("shallow.toml", "drivers")).contains("is a review; expected a study"));
}

#[test]
fn columns_are_those_that_are_asked_for_and_an_unknown_one_is_told_before_any_run() {
    let folder = folder_with_review();
    let path = folder.path();
    let unknown = run_study(path, &["review.toml", "--out", "r", "--columns", "verdit"]);
    let said = unknown.err.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted = "--columns: unknown column `verdit`; expected some of comparison, over, verdict, least, most, class, \
                  part, reproduced, finding; did you mean `verdict`?";
    assert!(unknown.code == 2 && said.contains(wanted), "{said}");
    assert!(!path.join("r").exists(), "nothing ran");
    let said = run_study(path, &["review.toml", "--out", "r", "--columns", "verdict,reproduced"]).success_stdout();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let is_head = |line: &&str| line.starts_with("part ") || line.starts_with("claim ");
    let heads: Vec<Vec<String>> = said.lines().filter(is_head).map(words).collect();
    assert_eq!(heads, [["part", "verdict"], ["claim", "reproduced"]], "{said}");
}

#[test]
fn built_in_reviews_are_listed_first_with_their_parts() {
    let here = tempfile::tempdir().unwrap();
    let all = run_program(here.path(), &["studies", "--json"]).json();
    let names: Vec<&str> = all.as_array().unwrap().iter().map(|study| study["name"].as_str().unwrap()).collect();
    assert_eq!(names[..5], ["drivers", "ncq-ahci", "flush", "ncq-arrays", "segments"]);
    let parts = all[0]["parts"].as_array().unwrap();
    assert!(parts.iter().any(|part| part["name"] == "d-modes") && !names.contains(&"d-modes"));
    let sum: u64 = parts.iter().map(|part| part["runs"].as_u64().unwrap()).sum();
    assert_eq!(all[0]["runs"].as_u64(), Some(sum));
    assert!(all[0]["takes_about_s"].as_f64().unwrap() > 0.0);
    let one = run_program(here.path(), &["studies", "drivers"]).success_stdout();
    assert!(
        one.contains("Pentium III") && one.contains("d-surface") && one.contains("seekwise study drivers --out"),
        "{one}"
    );
}
