//! Sampling until decided (`--until-decided`): equal bytes on any number of cores and after an interruption, the reported number of
//! runs, and studies that cannot be sampled like this.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::page::page_data;
use crate::seekwise::{ProgramOutput, program_command, run_program};

/// A study with pairs whose sides are equal, pairs with a large effect, and some in between.
const STUDY: &str = "title = 't'\nquestion = 'q'\nruns = 4\nruntime = '60 s'\n[stack]\ndrive = 'barracuda-7200.7-ncq'\n\
    [[factor]]\nname = 'depth'\nkey = 'drive.firmware.depth'\nlevels = [1, 32]\n\
    [[factor]]\nname = 'job'\nkey = 'job'\nlevels = ['file-server', 'oltp-4k']\n\
    [[factor]]\nname = 'in flight'\nkey = 'job.depth'\nlevels = [1, 2, 64]\n\
    [[compare]]\nname = 'c'\nfactor = 'depth'\nfrom = 1\nto = 32\nheadline = true\n";

const FILES: [&str; 4] = ["study.toml", "made-from.json", "results.jsonl", "report.html"];

fn folder_with_study(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.toml"), text).unwrap();
    folder
}

fn run_study(folder: &Path, more: &[&str]) -> ProgramOutput {
    run_program(folder, &[&["study", "s.toml", "--out", "out"], more].concat())
}

fn result_bytes(folder: &Path, name: &str) -> Vec<u8> {
    fs::read(folder.join("out").join(name)).unwrap()
}

#[track_caller]
fn assert_same_results(one: &Path, other: &Path) {
    for name in FILES {
        assert!(result_bytes(one, name) == result_bytes(other, name), "{name}");
    }
}

#[test]
fn the_same_bytes_on_one_core_and_two_and_cut_short_anywhere() {
    let (one, two) = (folder_with_study(STUDY), folder_with_study(STUDY));
    let said = run_study(one.path(), &["--until-decided", "--threads", "1"]).success_stdout();
    run_study(two.path(), &["--until-decided", "--threads", "2"]).success_stdout();
    assert_same_results(one.path(), two.path());
    assert!(said.contains("Sampled until decided: runs of") && said.contains("pilot"), "{said}");

    let whole = result_bytes(one.path(), "results.jsonl");
    let lines: Vec<&[u8]> = whole.split_inclusive(|&byte| byte == b'\n').collect();
    let of = |line: &[u8], key: &str| serde_json::from_slice::<serde_json::Value>(line).unwrap()[key].as_u64().unwrap();
    let runs = |cell: u64| lines.iter().filter(|line| of(line, "cell") == cell).count();
    let counts: Vec<usize> = (0..12).map(runs).collect();
    assert!(counts.iter().min() < counts.iter().max(), "some pairs stop before others: {counts:?}");
    let page = page_data(&one.path().join("out"));
    assert_eq!(page["runs_per_cell"], serde_json::json!([counts.iter().min(), counts.iter().max()]));
    let account = page["interval"].as_str().unwrap();
    let [shortest, longest] = [0, 1].map(|end| page["runtime_s"][end].as_f64().unwrap());
    assert!(shortest < 60.0 && account.contains(&format!("runs of {shortest} to {longest} s")), "{account}");
    assert!((0..6).all(|cell| counts[cell] == counts[cell + 6]), "both sides of a pair have as many runs: {counts:?}");

    // The results end within the first round, at its end, in the middle of a line, and within a later round.
    let first = 12 * 3;
    let ends = [0, 5, first, first + 1, lines.len() - 1];
    let cuts = ends.map(|count| lines[..count].concat().len()).into_iter().chain([whole.len() / 2, whole.len() - 9]);
    for cut in cuts {
        fs::write(two.path().join("out/results.jsonl"), &whole[..cut]).unwrap();
        fs::remove_file(two.path().join("out/report.html")).unwrap();
        run_study(two.path(), &["--resume"]).success_stdout();
        assert_same_results(one.path(), two.path());
    }
    // A new run from the folder, into another folder, does not repeat the pilot runs.
    run_program(one.path(), &["study", "out", "--out", "again"]).success_stdout();
    assert!(fs::read(one.path().join("again/results.jsonl")).unwrap() == whole);
}

#[test]
fn a_killed_study_goes_on_to_the_same_bytes() {
    let long = STUDY.replace("runs = 4", "runs = 40");
    let whole = folder_with_study(&long);
    run_study(whole.path(), &["--until-decided"]).success_stdout();
    let length = result_bytes(whole.path(), "results.jsonl").len();
    let killed = || {
        let killed = folder_with_study(&long);
        let mut child = program_command(killed.path())
            .args(["study", "s.toml", "--out", "out", "--until-decided"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let results = killed.path().join("out/results.jsonl");
        while fs::metadata(&results).map_or(0, |file| file.len()) == 0 {
            if child.try_wait().unwrap().is_some() {
                return None;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let left = result_bytes(killed.path(), "results.jsonl").len();
        (left > 0 && left < length).then_some(killed)
    };
    let killed = (0..10).find_map(|_| killed()).expect("it was killed half way in one of ten tries");
    run_study(killed.path(), &["--resume"]).success_stdout();
    assert_same_results(whole.path(), killed.path());
}

#[test]
fn a_line_too_many_is_told() {
    let one = folder_with_study(STUDY);
    run_study(one.path(), &["--until-decided"]).success_stdout();
    let whole = result_bytes(one.path(), "results.jsonl");
    let last = whole[..whole.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap() + 1;
    let more = [&whole[..], &whole[last..]].concat();
    fs::write(one.path().join("out/results.jsonl"), more).unwrap();
    let said = run_program(one.path(), &["report", "out"]);
    assert!(said.code != 0 && said.err.contains("one record more than the plan's"), "{}", said.err);
}

#[test]
fn the_study_says_it_too_and_the_command_comes_before_it() {
    let text = format!("sampling = 'until-decided'\n{STUDY}");
    let (said, fixed) = (folder_with_study(&text), folder_with_study(&text));
    assert!(run_study(said.path(), &[]).success_stdout().contains("Sampled until decided"));
    assert!(!run_study(fixed.path(), &["--fixed"]).success_stdout().contains("Sampled until decided"));
    let claim = "[[claim]]\nid = 'T1'\nclass = 'J'\nfinding = 'f'\ncondition = 'c'\nmechanism = 'm'\n\
        over = ['job', 'in flight']\ncheck = ['iops[depth=32] / iops[depth=1] > 0']\n";
    let claims = folder_with_study(&format!("{text}{claim}"));
    let judged = run_study(claims.path(), &[]);
    assert!(!run_study(said.path(), &["--force"]).success_stdout().contains("claims"), "it has none");
    assert!(
        judged
            .success_stdout()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .contains("claims are judged on these runs")
    );
    let plain = folder_with_study(STUDY);
    run_study(plain.path(), &[]).success_stdout();
    assert!(
        result_bytes(said.path(), "results.jsonl") == result_bytes(plain.path(), "results.jsonl"),
        "nobody has to say it"
    );
    let one = folder_with_study(&format!("sampling = 'fixed'\n{STUDY}"));
    run_study(one.path(), &[]).success_stdout();
    assert!(
        result_bytes(fixed.path(), "results.jsonl") == result_bytes(one.path(), "results.jsonl"),
        "the study says it as the command does"
    );
    // Results of one sampling are not resumed with the other.
    let wrong = run_study(said.path(), &["--resume", "--fixed"]);
    assert!(wrong.code != 0 && wrong.err.contains("it is sampled until decided"), "{}", wrong.err);
    let wrong = run_study(fixed.path(), &["--resume", "--until-decided"]);
    assert!(wrong.code != 0 && wrong.err.contains("it is a fixed sample"), "{}", wrong.err);
    let wrong = run_program(said.path(), &["study", "out", "--out", "other", "--fixed"]);
    assert!(wrong.code != 0 && wrong.err.contains("expected the study file itself"), "{}", wrong.err);
    let odd = folder_with_study(&text.replace("until-decided", "until"));
    assert!(run_study(odd.path(), &[]).err.contains("until-decided"), "the words are named");
}

#[test]
fn a_percentile_has_runs_with_enough_requests_for_it() {
    let vary = ["compare", "web-server", "--on", "barracuda-7200.7-ncq", "--vary", "drive.firmware.depth=1,32"];
    let more = ["--set", "job.depth=16", "--runtime", "60 s", "--until-decided", "--metric", "p99", "--json"];
    let here = tempfile::tempdir().unwrap();
    let said = run_program(here.path(), &[&vary[..], &more[..]].concat()).json();
    let comparison = &said["comparisons"][0];
    assert_eq!(comparison["too_few_requests"], false, "{said}");
    let account = &said["sampling"];
    let counted = account["runtime_s"][0].as_f64().unwrap();
    // 1,000 requests at some 74 a second of the slower side take 13.5 s; the same runs without a percentile are shorter.
    assert!((12.0..20.0).contains(&counted), "{account}");
    let (spent, fixed) = (account["virtual_s"].as_f64().unwrap(), account["fixed_s"].as_f64().unwrap());
    assert!(spent < fixed / 2.0, "{account}");
}

#[test]
fn what_cannot_be_shortened_is_sampled_as_it_says() {
    // A job that ends by itself, and one that comes at a rate.
    let here = tempfile::tempdir().unwrap();
    fs::write(
        here.path().join("ends.fio"),
        "[j]\nioengine=libaio\ndirect=1\nrw=randread\nbs=4k\nsize=1g\nnumber_ios=60\n",
    )
    .unwrap();
    fs::write(
        here.path().join("paced.fio"),
        "[j]\nioengine=libaio\ndirect=1\nrw=randread\nbs=4k\nsize=1g\nrate_iops=50\ntime_based\nruntime=2\n",
    )
    .unwrap();
    for (job, why) in [("ends.fio", "its job ends by itself"), ("paced.fio", "depends on how long a run is")] {
        let vary =
            ["compare", job, "--on", "barracuda-7200.7-ncq", "--vary", "drive.firmware.depth=1,32", "--runs", "3"];
        let fixed = run_program(here.path(), &vary).success_stdout();
        let said = run_program(here.path(), &[&vary[..], &["--until-decided"]].concat()).success_stdout();
        let whole = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(whole.contains("2 cells sampled as the study says") && whole.contains(why), "{said}");
        let verdict = |text: &str| text.lines().find(|line| line.contains(" against ")).map(str::to_owned);
        assert_eq!(verdict(&said), verdict(&fixed), "one look is the fixed sample");
    }
    let real =
        ["compare", "random-read", "--on", "null", "--vary", "job.depth=1,2", "--runtime", "1 s", "--until-decided"];
    let said = run_program(here.path(), &real);
    assert!(said.code != 0 && said.err.contains("runs in real time cannot be sampled until decided"), "{}", said.err);
}
