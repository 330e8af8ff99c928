//! The report page in a result folder: of a single run, of a comparison, and of an unfinished study.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::seekwise::run_program;
use serde_json::Value;

/// The data in the report of a folder.
pub fn page_data(folder: &Path) -> Value {
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    let (_, rest) = page.split_once(r#"<script type="application/json" id="report-data">"#).unwrap();
    serde_json::from_str(rest.split_once("</script").unwrap().0).unwrap()
}

fn array_length(value: &Value) -> usize {
    value.as_array().unwrap().len()
}

#[test]
fn a_single_run_has_a_page_without_verdicts_and_with_its_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let run = ["run", "random-read", "--on", "barracuda-7200.7-ncq", "--runtime", "5 s", "--out", "one"];
    run_program(folder.path(), &run).success_stdout();
    let one = folder.path().join("one");
    let page = page_data(&one);
    assert_eq!(
        [array_length(&page["cells"]), array_length(&page["verdicts"]), array_length(&page["factors"])],
        [1, 0, 0]
    );
    assert_eq!([&page["runs_done"], &page["runs_planned"]], [1, 1]);
    let [stretch] = &page["stretches"].as_array().unwrap()[..] else { panic!("one stretch") };
    assert!(array_length(&stretch["requests"]["lba"]) > 300);
    assert!(array_length(&stretch["movements"]["to"]) > 300);
    let before = fs::read(one.join("report.html")).unwrap();
    run_program(folder.path(), &["report", "one"]).success_stdout();
    assert!(fs::read(one.join("report.html")).unwrap() == before, "made again from the folder, it is the same");
}

#[test]
fn a_comparison_has_a_stretch_of_each_side_and_is_small() {
    let folder = tempfile::tempdir().unwrap();
    let vary = ["--vary", "drive.firmware.depth=1,32", "--runs", "2", "--runtime", "5 s", "--out", "two"];
    let compare = ["compare", "file-server", "--on", "barracuda-7200.7-ncq", "--set", "job.depth=8"];
    let said = run_program(folder.path(), &[&compare[..], &vary].concat());
    assert!(said.err.contains("Report: two/report.html\nThe arm at work: two/report.html#arm\n"), "{}", said.err);
    let page = page_data(&folder.path().join("two"));
    let cells: Vec<&Value> = page["stretches"].as_array().unwrap().iter().map(|stretch| &stretch["cell"]).collect();
    assert_eq!(cells, page["verdicts"][0]["cell_ids"].as_array().unwrap().iter().collect::<Vec<_>>());
    assert_eq!(cells.len(), 2);
    let size = serde_json::to_string(&page["stretches"]).unwrap().len();
    assert!(size < 170_000, "{size} bytes");
}

#[test]
fn a_page_on_which_no_arm_moves_has_no_address_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let job = "[a]\nfilename=/dev/sdb\ndirect=1\nrw=randread\nbs=4k\nsize=4k\nramp_time=2\nruntime=2\ntime_based\n";
    fs::write(folder.path().join("cached.fio"), job).unwrap();
    let vary = ["--vary", "job.depth=1,2", "--runs", "2", "--out", "out"];
    let said =
        run_program(folder.path(), &[&["compare", "cached.fio", "--on", "barracuda-7200.7-ncq"][..], &vary].concat());
    assert!(said.err.contains("Report: out/report.html\n") && !said.err.contains("#arm"), "{}", said.err);
}

/// The number of pages on which Chromium prints a report; `None` without Chromium.
fn printed_page_count(folder: &Path) -> Option<usize> {
    let scratch = tempfile::tempdir().unwrap();
    let pdf = scratch.path().join("page.pdf");
    let run = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"])
        .arg(format!("--user-data-dir={}", scratch.path().join("user").display()))
        .arg(format!("--print-to-pdf={}", pdf.display()))
        .arg(format!("file://{}", folder.join("report.html").display()))
        .output();
    if run.is_err() {
        println!("skipped: there is no chromium to print with");
        return None;
    }
    let Ok(bytes) = fs::read(&pdf) else {
        println!("skipped: chromium printed nothing: {run:?}");
        return None;
    };
    let page = b"/Type /Page";
    Some(bytes.windows(page.len() + 1).filter(|at| at.starts_with(page) && at[page.len()] != b's').count())
}

#[test]
fn a_study_prints_on_six_pages_at_most() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("small.toml"), include_str!("../../../xtask/src/small.toml")).unwrap();
    run_program(folder.path(), &["study", "small.toml", "--out", "out"]).success_stdout();
    if let Some(pages) = printed_page_count(&folder.path().join("out")) {
        assert!((1..=6).contains(&pages), "{pages} pages");
    }
}

#[test]
fn a_study_that_is_not_done_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let vary = ["--vary", "drive.firmware.depth=1,32", "--runs", "2", "--runtime", "1 s", "--out", "two"];
    run_program(folder.path(), &[&["compare", "random-read", "--on", "barracuda-7200.7-ncq"][..], &vary].concat())
        .success_stdout();
    let two = folder.path().join("two");
    let records = fs::read_to_string(two.join("results.jsonl")).unwrap();
    let first: String = records.lines().take(1).map(|line| format!("{line}\n")).collect();
    fs::write(two.join("results.jsonl"), first).unwrap();
    run_program(folder.path(), &["report", "two"]);
    let page = page_data(&two);
    assert_eq!([&page["runs_done"], &page["runs_planned"]], [1, 4]);
}
