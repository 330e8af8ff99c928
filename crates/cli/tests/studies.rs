//! `seekwise study` and `seekwise report`: equal bytes on one core and on two, after a kill, after an incomplete last line of the
//! results, and when the report is made again.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::seekwise::{program_command, program_output, run_program, sorted_names};

/// Two cells, two runs of one virtual second, one comparison.
const SMALL: &str = "title = 'Depth'\nquestion = 'Does a queue help?'\nruns = 2\nruntime = '1 s'\n\
    job = 'random-read'\n[stack]\ndrive = 'barracuda-7200.7-ncq'\n\
    [[factor]]\nname = 'depth'\nkey = 'job.depth'\nlevels = [1, 8]\n\
    [[compare]]\nname = 'eight'\nfactor = 'depth'\nfrom = '1'\nto = '8'\nheadline = true\n";

/// Runs a study with these arguments in a new folder, with its results in `out`.
fn run_study(study: &str, more: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("depth.toml"), study).unwrap();
    run_program(folder.path(), &[&["study", "depth.toml", "--out", "out"], more].concat()).success_stdout();
    folder
}

fn result_bytes(folder: &Path, name: &str) -> Vec<u8> {
    fs::read(folder.join("out").join(name)).unwrap()
}

#[track_caller]
fn assert_same_results(a: &Path, b: &Path) {
    for name in ["study.toml", "made-from.json", "results.jsonl", "report.html"] {
        assert!(result_bytes(a, name) == result_bytes(b, name), "{name} differs");
    }
}

#[test]
fn one_core_and_two_give_the_same_bytes() {
    let (one, two) = (run_study(SMALL, &["--threads", "1"]), run_study(SMALL, &["--threads", "2"]));
    assert_eq!(
        sorted_names(&one.path().join("out")),
        ["made-from.json", "report.html", "results.jsonl", "study.toml", "sums.txt"]
    );
    assert_eq!(result_bytes(one.path(), "results.jsonl").iter().filter(|&&byte| byte == b'\n').count(), 4);
    assert_eq!(result_bytes(one.path(), "study.toml"), SMALL.as_bytes());
    assert_same_results(one.path(), two.path());
}

#[test]
fn results_are_not_written_over() {
    let folder = run_study(SMALL, &[]);
    let before = result_bytes(folder.path(), "results.jsonl");
    let again = run_program(folder.path(), &["study", "depth.toml", "--out", "out"]);
    assert_eq!((again.code, again.out.as_str()), (2, ""));
    assert!(again.err.starts_with("error: out: already holds results; --force overwrites them"), "{}", again.err);
    fs::write(folder.path().join("depth.toml"), SMALL.replace("runs = 2", "runs = 3")).unwrap();
    let other = run_program(folder.path(), &["study", "depth.toml", "--out", "out", "--resume"]);
    assert_eq!(other.code, 2);
    let said = "error: out: cannot continue: it holds results of another study; use another --out\n  \
                depth.toml:3: - runs = 2\n  depth.toml:3: + runs = 3\n";
    assert_eq!(other.err, said);
    assert_eq!(result_bytes(folder.path(), "results.jsonl"), before);
}

#[test]
fn a_truncated_study_goes_on_to_the_same_bytes() {
    let whole = run_study(SMALL, &[]);
    let results = result_bytes(whole.path(), "results.jsonl");
    let first = results.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    // The results are cut to nothing, half a line, a line, a line and some bytes, all but the last byte, and all.
    for length in [0, first / 2, first, first + 5, results.len() - 1, results.len()] {
        let cut = run_study(SMALL, &[]);
        fs::write(cut.path().join("out/results.jsonl"), &results[..length]).unwrap();
        fs::remove_file(cut.path().join("out/report.html")).unwrap();
        run_program(cut.path(), &["study", "depth.toml", "--out", "out", "--resume"]).success_stdout();
        assert_same_results(whole.path(), cut.path());
    }
}

/// Runs a study and kills it after its first run; `None` if it ended first. `whole_bytes` is the size of its complete results.
fn run_study_and_kill(study: &str, whole_bytes: usize) -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("depth.toml"), study).unwrap();
    let mut child = program_command(folder.path())
        .args(["study", "depth.toml", "--out", "out", "--threads", "1"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let results = folder.path().join("out/results.jsonl");
    while fs::metadata(&results).map_or(0, |file| file.len()) == 0 {
        if child.try_wait().unwrap().is_some() {
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let left = result_bytes(folder.path(), "results.jsonl").len();
    (left > 0 && left < whole_bytes).then_some(folder)
}

#[test]
fn a_killed_study_goes_on_to_the_same_bytes() {
    let long = SMALL.replace("runs = 2", "runs = 30").replace("'1 s'", "'300 s'");
    let whole = run_study(&long, &[]);
    let length = result_bytes(whole.path(), "results.jsonl").len();
    let killed =
        (0..10).find_map(|_| run_study_and_kill(&long, length)).expect("it was killed half way in one of ten tries");
    run_program(killed.path(), &["study", "depth.toml", "--out", "out", "--resume"]).success_stdout();
    assert_same_results(whole.path(), killed.path());
}

#[test]
fn a_report_is_made_again_from_its_folder() {
    let folder = run_study(SMALL, &[]);
    let before = result_bytes(folder.path(), "report.html");
    fs::remove_file(folder.path().join("out/report.html")).unwrap();
    let said = run_program(folder.path(), &["report", "out"]).success_stdout();
    assert!(said.ends_with("Report: out/report.html\nThe arm at work: out/report.html#arm\n"), "{said}");
    assert!(result_bytes(folder.path(), "report.html") == before);
    // The report is made from another folder, under another name.
    let elsewhere = tempfile::tempdir().unwrap();
    fs::rename(folder.path().join("out"), elsewhere.path().join("moved")).unwrap();
    run_program(elsewhere.path(), &["report", "moved"]).success_stdout();
    assert!(fs::read(elsewhere.path().join("moved/report.html")).unwrap() == before);
}

#[test]
fn a_studys_answer_is_drawn_from_its_folder() {
    let folder =
        run_study(&format!("sampling = 'fixed'\n{}", SMALL.replace("levels = [1, 8]", "levels = [1, 8, 16]")), &[]);
    let report = |more: &[&str]| run_program(folder.path(), &[&["report", "out"], more].concat());
    let said = report(&["--svg", "a.svg", "--png", "a.png"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.err.contains("Picture: a.svg") && said.err.contains("Picture: a.png"), "{}", said.err);
    let picture = fs::read_to_string(folder.path().join("a.svg")).unwrap();
    for part in [
        "<svg",
        ">\neight: ",
        "8 over 1 (higher is better)",
        " × [",
        "1 cell, 2 runs each",
        "not enough data",
        "#47525C",
    ] {
        assert!(picture.contains(part), "{part}: {picture}");
    }
    assert!(fs::read(folder.path().join("a.png")).unwrap().starts_with(b"\x89PNG"));
    assert!(report(&["--svg", "a.svg"]).err.contains("a.svg: already exists; --force overwrites it"));
    let (compared, _) = SMALL.split_at(SMALL.find("[[compare]]").unwrap());
    let none = run_study(compared, &[]);
    let said = run_program(none.path(), &["report", "out", "--png", "a.png"]);
    assert!(said.code == 2 && said.err.contains("out: nothing is compared in it"), "{}", said.err);
    assert!(!none.path().join("a.png").exists());
}

#[test]
fn a_claim_that_fails_is_reported_and_the_study_is_done() {
    let claim = "[[claim]]\nid = 'T1'\nclass = 'M'\nfinding = 'f'\ncondition = 'c'\nmechanism = 'm'\n\
                 ablate = { 'drive.firmware.depth' = 1 }\ncheck = ['iops[depth=8] / iops[depth=1] >= ";
    for (least, reproduced) in [("1.01']", true), ("50.0']", false)] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("depth.toml"), format!("{SMALL}{claim}{least}\n")).unwrap();
        let said = run_program(folder.path(), &["study", "depth.toml", "--out", "out", "--json"]).success_stdout();
        let summary: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!(summary["claims"][0]["reproduced"], reproduced);
    }
}

#[test]
fn a_claim_over_a_range_needs_more_than_half_of_it() {
    let claim = "[[claim]]\nid = 'T1'\nclass = 'S'\nfinding = 'f'\ncondition = 'c'\nmechanism = 'm'\n\
                 over = ['depth']\ncheck = ['iops >= LEAST', 'iops > 1']\n";
    for (least, reproduced, said) in [
        ("2", Some(true), "all checks hold at 2 of 2 places of the range; holds at depth 1 | depth 8; "),
        // With as many places for as against, the claim is undecided.
        ("85", None, "all checks hold at 1 of 2 places of the range; holds at depth 8; fails at depth 1; "),
        ("850", Some(false), "all checks hold at 0 of 2 places of the range; fails at depth 1 | depth 8; "),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("depth.toml"), format!("{SMALL}{}", claim.replace("LEAST", least))).unwrap();
        let told = run_program(folder.path(), &["study", "depth.toml", "--out", "out", "--json"]).success_stdout();
        let summary: serde_json::Value = serde_json::from_str(&told).unwrap();
        let figure = summary["claims"][0]["figure"].as_str().unwrap();
        assert_eq!(summary["claims"][0]["reproduced"].as_bool(), reproduced, "{figure}");
        assert!(figure.starts_with(said), "{figure}");
    }
}

/// More cells than a screen has lines, in classes.
const LONG: &str = "title = 'Long'\nquestion = 'Does a queue help?'\nruns = 4\nruntime = '10 s'\n\
                    [stack]\ndrive = 'barracuda-7200.7-ncq'\n\
                    [[factor]]\nname = 'queue'\nkey = 'drive.firmware.depth'\nlevels = [1, 32]\n\
                    [[factor]]\nname = 'pattern'\nkey = 'job'\nlevels = ['random-read', 'web-server', 'streaming-read']\n\
                    classes.'random work' = ['random-read', 'web-server']\n\
                    [[factor]]\nname = 'depth'\nkey = 'job.depth'\nlevels = [1, 2, 32, 64]\n\
                    [[compare]]\nname = 'The queue'\nfactor = 'queue'\nfrom = 1\nto = 32\nheadline = true\n";

#[test]
fn a_study_says_its_answer_on_a_screen_and_where_the_rest_is() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("long.toml"), LONG).unwrap();
    let study = |more: &[&str]| {
        let words = [&["study", "long.toml", "--out", "out", "--force"], more].concat();
        run_program(folder.path(), &words).success_stdout()
    };
    let short = study(&[]);
    assert!(short.lines().count() <= 24, "{short}");
    let headline = short.split("\n\n").nth(1).unwrap();
    assert!(headline.starts_with("The queue: faster, ") && headline.contains(" random work, depth "), "{headline}");
    let (sentence, extremes) = headline.split_once("\nWorst at ").expect("the extremes");
    assert!(sentence.lines().count() <= 3, "{sentence}");
    assert!(extremes.starts_with("pattern ") && extremes.contains("; best at pattern "), "{extremes}");
    assert!(short.contains("All cells: on the page, and by seekwise report out\n"), "{short}");
    assert!(!short.contains("requests/s"), "no cell by itself: {short}");
    let all = study(&["--all"]);
    assert_eq!(all.matches("streaming-read").count(), 8, "a row each: {all}");
    assert_eq!(run_program(folder.path(), &["report", "out"]).success_stdout(), all);
    let columns = study(&["--columns", "pattern,depth,mean"]);
    assert_eq!(columns.matches("streaming-read").count(), 8, "{columns}");
    // Tables that fit the screen are shown.
    let small = run_study(SMALL, &[]);
    let said = run_program(small.path(), &["study", "depth.toml", "--out", "out", "--force"]).success_stdout();
    assert!(said.contains("requests/s") && !said.contains("on the page, and by"), "{said}");
}

#[test]
fn the_largest_difference_stands_first_on_the_page() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("long.toml"), LONG).unwrap();
    run_program(folder.path(), &["study", "long.toml", "--out", "out"]).success_stdout();
    let page = fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    let data = page.split_once(r#"id="report-data">"#).unwrap().1.split_once("</script").unwrap().0;
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let verdicts = &data["verdicts"].as_array().unwrap()[1..];
    assert_eq!(verdicts.len(), 12);
    let rank = |verdict: &serde_json::Value| match verdict["verdict"].as_str().unwrap() {
        "faster" | "slower" => 0,
        "no difference" => 1,
        _ => 2,
    };
    let size = |verdict: &serde_json::Value| verdict["ratio"]["estimate"].as_f64().unwrap().ln().abs();
    for pair in verdicts.windows(2) {
        let (one, next) = ((rank(&pair[0]), size(&pair[0])), (rank(&pair[1]), size(&pair[1])));
        assert!(one.0 < next.0 || one.0 == next.0 && one.1 >= next.1, "{one:?} {next:?}");
    }
}

#[test]
fn shorter_flushes_that_are_fewer_are_no_plain_gain() {
    let study = "title = 't'\nquestion = 'q'\nruns = 3\nruntime = '20 s'\njob = 'oltp.fio'\n[stack]\n\
                 drive = 'barracuda-7200.7-ncq'\n[[factor]]\nname = 'cache'\nkey = 'drive.cache.write_back'\n\
                 levels = ['on', 'off']\n[[factor]]\nname = 'queue'\nkey = 'drive.firmware.depth'\nlevels = [16, 32]\n\
                 [[compare]]\nname = 'c'\nfactor = 'cache'\nfrom = 'on'\nto = 'off'\nmetric = 'flush'\n";
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("oltp.fio"), include_str!("../../../docs/examples/oltp.fio")).unwrap();
    fs::write(folder.path().join("flush.toml"), study).unwrap();
    let said = run_program(folder.path(), &["study", "flush.toml", "--out", "out"]).success_stdout();
    assert!(said.contains("c: shorter, "), "{said}");
    assert!(said.contains("\nBut: flushes per second is worse: 0.4"), "{said}");
}

#[test]
fn less_of_the_processor_for_less_work_is_no_plain_gain() {
    // A driver that does not sort makes the arm slow, so there is less to do for the processor.
    let study = "title = 't'\nquestion = 'q'\nruns = 3\nruntime = '20 s'\njob = 'random-read'\n[stack]\n\
                 drive = 'fireball-plus-as-30'\ncontroller = 'ide'\nprocessor = 'pentium-iii-800'\n[[factor]]\nname = 'driver'\n\
                 key = 'driver'\nlevels = ['windows-2000', 'intel-ata']\n[[factor]]\nname = 'depth'\nkey = 'job.depth'\n\
                 levels = [64, 256]\n[[compare]]\nname = 'c'\nfactor = 'driver'\nfrom = 'windows-2000'\nto = 'intel-ata'\n\
                 metric = 'cpu.percent'\n";
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("cpu.toml"), study).unwrap();
    run_program(folder.path(), &["study", "cpu.toml", "--out", "out"]).success_stdout();
    let page = fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    let data = page.split_once(r#"id="report-data">"#).unwrap().1.split_once("</script").unwrap().0;
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    for verdict in data["verdicts"].as_array().unwrap() {
        assert_eq!(verdict["word"], "less processor use, for less work");
        assert_eq!(verdict["tempered"], true);
        assert!(verdict["beside"][0].as_str().unwrap().starts_with("requests per second is worse: 0."), "{verdict}");
    }
    // A cell's row ends in the means of its runs.
    let report = program_command(folder.path()).args(["report", "out"]).env("COLUMNS", "200").output().unwrap();
    let report = program_output(report).success_stdout();
    let mut rows = report.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = rows.find(|row| row.starts_with(&["windows-2000", "64"])).unwrap_or_else(|| panic!("{report}"));
    let results = fs::read_to_string(folder.path().join("out/results.jsonl")).unwrap();
    let runs = results.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let runs: Vec<_> = runs.filter(|run| run["cell"] == 0).collect();
    let mean = |key: &str| runs.iter().map(|run| run["cpu"][key].as_f64().unwrap()).sum::<f64>() / runs.len() as f64;
    let [percent, requests, megabytes] = ["percent", "iops_per_percent", "mb_per_s_per_percent"].map(mean);
    let wanted = [format!("{percent:.2}"), format!("{requests:.1}"), format!("{megabytes:.3}")];
    assert_eq!(row[row.len() - 3..], wanted, "{report}");
    let all = &data["verdicts"][0];
    assert!(all["beside"][1].as_str().unwrap().starts_with("requests per core-second is better: 1."), "{all}");
    // A review names the cost of equal work first.
    let review = "title = 't'\nquestion = 'q'\nintroduction = 'i'\n[[part]]\nstudy = \"cpu.toml\"\n";
    fs::write(folder.path().join("review.toml"), review).unwrap();
    fs::write(folder.path().join("cpu.toml"), format!("{study}headline = true\n")).unwrap();
    run_program(folder.path(), &["study", "review.toml", "--out", "both"]).success_stdout();
    let page = fs::read_to_string(folder.path().join("both/report.html")).unwrap();
    let (_, answer) = page
        .split_once(r#""says":"for each request less processor time in all 2 cases, 0."#)
        .expect("the cost of a request");
    assert!(
        answer.contains("As a share of all time: less processor use, partly for less work, in all 2 cases, 0."),
        "{}",
        &answer[..200]
    );
}

#[test]
fn a_comparison_keeps_what_a_study_keeps() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["compare", "random-read", "--on", "barracuda-7200.7-ncq", "--vary", "job.depth=1,8"];
    let more = ["--runtime", "1 s", "--runs", "2", "--out", "out"];
    run_program(folder.path(), &[&args[..], &more[..]].concat()).success_stdout();
    assert_eq!(
        sorted_names(&folder.path().join("out")),
        ["made-from.json", "report.html", "results.jsonl", "study.toml", "sums.txt"]
    );
    let before = result_bytes(folder.path(), "report.html");
    run_program(folder.path(), &["report", "out"]).success_stdout();
    assert!(result_bytes(folder.path(), "report.html") == before);
}

#[test]
fn a_sweep_needs_the_python_module_and_is_told_the_study_by_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("depth.toml"), SMALL).unwrap();
    let sweep = |python: &str| {
        let mut asked = program_command(path);
        asked.env("SEEKWISE_PYTHON", python).args(["sweep", "depth.toml", "--engine", "ray", "--out", "s3://lab/a"]);
        program_output(asked.output().unwrap())
    };
    let without = sweep("/nowhere/python");
    assert_eq!(without.code, 2);
    assert!(without.err.contains("`pip install seekwise`") && without.err.contains("`seekwise study depth.toml`"));
    // The script stands for a Python with the module: it prints its arguments, and ends with the given code.
    #[cfg(unix)]
    for code in [0, 1, 2] {
        use std::os::unix::fs::PermissionsExt;
        let python = path.join("python");
        fs::write(&python, format!("#!/bin/sh\n[ $# = 2 ] && exit 0\necho \"$3\"\nexit {code}\n")).unwrap();
        fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
        let ran = sweep(&python.to_string_lossy());
        assert_eq!(ran.code, code, "{}", ran.err);
        let words: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!((&words["study"], &words["engine"]), (&"depth.toml".into(), &"ray".into()));
        assert_eq!(words["out"], "s3://lab/a");
    }
}

#[test]
fn a_module_that_lies_in_the_current_folder_is_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("depth.toml"), SMALL).unwrap();
    fs::create_dir(path.join("json")).unwrap();
    for name in ["seekwise.py", "json/__init__.py", "sitecustomize.py"] {
        fs::write(path.join(name), "open('ran', 'w').close()\n").unwrap();
    }
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: python3 is not installed");
        return;
    }
    for asked in [&["sweep", "depth.toml", "--out", "swept"][..], &["report", "memory://lab/a"]] {
        program_output(program_command(path).env_remove("SEEKWISE_PYTHON").args(asked).output().unwrap());
        assert!(!path.join("ran").exists(), "{asked:?}");
    }
}
