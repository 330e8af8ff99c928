//! Paced jobs: completion latency in fio's JSON, the times that Seekwise's own forms have besides, and the metrics that a comparison
//! judges.

use std::fs;

use crate::seekwise::{ProgramOutput, run_program};

const DRIVE: &str = "barracuda-7200.7-ncq";

fn job_text(lines: &str) -> String {
    format!("[j]\nioengine=libaio\ndirect=1\nbs=4k\nrw=randread\nsize=4g\n{}\n", lines.replace(' ', "\n"))
}

fn run_job(lines: &str, more: &[&str]) -> ProgramOutput {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("j.fio"), job_text(lines)).unwrap();
    run_program(folder.path(), &[&["run", "j.fio", "--on", DRIVE], more].concat())
}

fn compare_job(lines: &str, more: &[&str]) -> ProgramOutput {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("j.fio"), job_text(lines)).unwrap();
    let vary = ["--vary", "drive.cache.segments=1,16", "--runs", "3"];
    run_program(folder.path(), &[&["compare", "j.fio", "--on", DRIVE], &vary[..], more].concat())
}

/// At depth 1, a drive that cannot keep a rate has no pause between requests, so fio's clat (completion latency) is that of the same
/// job without a rate. fio 3.33 over the served drive gave 8.28 ms; the time since requests were due is 200 times as long.
#[test]
fn fio_s_clat_runs_from_the_issue() {
    let clat = |lines: &str| {
        let said = run_job(lines, &["--format", "fio-json"]).json();
        let read = &said["jobs"][0]["read"];
        let of = |key: &str| read[key]["mean"].as_f64().unwrap();
        assert!((of("slat_ns") + of("clat_ns") - of("lat_ns")).abs() < 1.0);
        (of("clat_ns") / 1e6, read["clat_ns"]["percentile"]["99.000000"].as_f64().unwrap() / 1e6)
    };
    let (free, tail) = clat("iodepth=1 time_based runtime=5");
    for lines in ["rate_iops=200", "rate=1m", "rate_iops=300 rate_process=poisson"] {
        let (mean, p99) = clat(&format!("iodepth=1 time_based runtime=5 {lines}"));
        assert!((mean / free - 1.0).abs() < 0.05 && (p99 / tail - 1.0).abs() < 0.05, "{lines}: {mean}, not {free} ms");
    }
}

#[test]
fn a_rate_that_is_not_kept_is_told_with_its_backlog() {
    let lines = "iodepth=1 rate_iops=200 time_based runtime=5";
    let said = run_job(lines, &["--json"]).json();
    let (mean, due) = (&said["all"]["response_ms"]["mean"], &said["all"]["since_due_ms"]["mean"]);
    assert!(mean.as_f64().unwrap() < 10.0 && due.as_f64().unwrap() > 500.0, "{mean} {due}");
    let arrivals = &said["arrivals"];
    assert!((arrivals["asked_iops"].as_f64().unwrap() - 200.0).abs() < 0.5 && arrivals["kept"] == false, "{arrivals}");
    assert_eq!(said["anatomy_ms"]["driver"].as_f64(), Some(0.0), "what waits for its issue is not the driver's");
    let text = run_job(lines, &[]).success_stdout();
    assert!(text.contains("Requested rate 200 requests/s, reached 13") && text.contains("; backlog "), "{text}");
    assert!(text.contains("Time from due to done"), "{text}");
}

#[test]
fn a_rate_that_is_given_is_not_judged() {
    let kept = "iodepth=1 rate_iops=50 time_based runtime=2";
    let said = compare_job(kept, &["--json"]).json();
    assert_eq!((&said["metric"], &said["refused"]), (&"since_due".into(), &serde_json::Value::Null));
    let refused = compare_job(kept, &["--metric", "iops"]);
    assert_eq!(refused.code, 1, "{}", refused.err);
    assert!(
        refused.out.contains("refused: iops is given, not found") && refused.out.contains("`since_due`"),
        "{}",
        refused.out
    );
}

#[test]
fn a_rate_that_is_not_kept_is_a_result() {
    let said = compare_job("iodepth=1 rate_iops=200 time_based runtime=2", &["--metric", "iops", "--json"]).json();
    assert_eq!((&said["metric"], &said["refused"]), (&"iops".into(), &serde_json::Value::Null));
}

#[test]
fn a_job_of_which_a_part_is_paced_is_judged_by_its_rate() {
    let said = compare_job("iodepth=1 rate_iops=50 time_based runtime=2\n[free]\nioengine=libaio\ndirect=1\nbs=4k\nrw=randread\nsize=4g\nruntime=2\ntime_based", &["--json"]).json();
    assert_eq!((&said["metric"], &said["refused"]), (&"iops".into(), &serde_json::Value::Null));
}
