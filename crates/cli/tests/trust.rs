//! The provenance of results: drives, stacks, jobs and variables that change or disappear after the runs, records that do not belong to
//! the plan, and folders that are moved to another place.

use std::fs;
use std::path::Path;

use crate::folders;
use crate::seekwise::{ProgramOutput, program_command, program_output, run_program, sorted_names};

const STUDY: &str = "title = 'Depth'\nquestion = 'Does a queue help?'\nruns = 2\njob = 'jobs/a.fio'\n\
    [stack]\nstack = 'stack.toml'\n\
    [[factor]]\nname = 'depth'\nkey = 'job.depth'\nlevels = [1, 8]\n\
    [[compare]]\nname = 'eight'\nfactor = 'depth'\nfrom = '1'\nto = '8'\nheadline = true\n";

/// The job has names with letters of several bytes, which are in every record.
const JOB: &str = "[global]\nioengine=libaio\ndirect=1\ninclude common.inc\n[größe]\nrw=randread\nsize=${SZ}\n\
    [zweite]\nrw=randread\nsize=1g\n";
const INCLUDE: &str = "bs=4k\nruntime=1\ntime_based\n";

/// A study of two cells and two runs on a drive, a stack and a job of its own, run with `SZ=1g`.
struct Lab(tempfile::TempDir);

impl Lab {
    fn new() -> Lab {
        let lab = Lab(tempfile::tempdir().unwrap());
        let drive = include_str!("../../drives/profiles/barracuda-7200.7-ncq.toml");
        fs::create_dir(lab.path("jobs")).unwrap();
        for (name, text) in [
            ("drive.toml", drive),
            ("stack.toml", "drive = 'drive.toml'\ndriver = 'windows-xp'\n"),
            ("jobs/a.fio", JOB),
            ("jobs/common.inc", INCLUDE),
            ("study.toml", STUDY),
        ] {
            fs::write(lab.path(name), text).unwrap();
        }
        lab.run_study("1g", &[]).success_stdout();
        lab
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn read_file(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    fn run_study(&self, size: &str, more: &[&str]) -> ProgramOutput {
        let mut run = program_command(self.0.path());
        run.args(["study", "study.toml", "--out", "out"]).args(more).env("SZ", size);
        program_output(run.output().unwrap())
    }

    fn resume_study(&self) -> ProgramOutput {
        self.run_study("1g", &["--resume"])
    }

    fn replace_in_file(&self, name: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(name)).unwrap();
        assert!(text.contains(from), "{name} has no {from}");
        fs::write(self.path(name), text.replacen(from, to, 1)).unwrap();
    }

    /// The contents of the result folder, without the report.
    fn kept_files(&self) -> [Vec<u8>; 3] {
        ["out/study.toml", "out/made-from.json", "out/results.jsonl"].map(|name| self.read_file(name))
    }

    fn record_lines(&self) -> Vec<String> {
        String::from_utf8(self.read_file("out/results.jsonl"))
            .unwrap()
            .lines()
            .map(|line| format!("{line}\n"))
            .collect()
    }
}

/// Asserts that a command ends with this error and changes nothing in the folder.
#[track_caller]
fn assert_refused(lab: &Lab, resumed: impl Fn() -> ProgramOutput, expected: &str) {
    let before = lab.kept_files();
    let said = resumed();
    assert_eq!((said.code, said.err.as_str()), (2, expected), "{}", said.out);
    assert!(lab.kept_files() == before);
}

#[test]
fn what_changed_since_is_refused_and_the_page_stays() {
    let lab = Lab::new();
    let page = lab.read_file("out/report.html");
    let same_page = || {
        fs::remove_file(lab.path("out/report.html")).unwrap();
        run_program(lab.0.path(), &["report", "out"]).success_stdout();
        assert!(lab.read_file("out/report.html") == page);
    };
    let head = "error: out: cannot continue: what made its results has changed since; use another --out\n";
    for (name, what, from, to) in [
        ("drive.toml", "drive", "rpm             = { value = 7200", "rpm             = { value = 5400"),
        ("stack.toml", "stack", "windows-xp", "direct"),
        ("jobs/a.fio", "job", "rw=randread", "rw=randwrite"),
        ("jobs/common.inc", "job", "bs=4k", "bs=64k"),
    ] {
        let text = lab.read_file(name);
        lab.replace_in_file(name, from, to);
        let now = String::from_utf8(lab.read_file(name)).unwrap();
        let before = String::from_utf8(text.clone()).unwrap();
        let line = now.lines().position(|line| line.contains(to)).unwrap();
        let [old, new] = [&before, &now].map(|text| text.lines().nth(line).unwrap());
        let place = format!("  {name}:{}:", line + 1);
        assert_refused(
            &lab,
            || lab.resume_study(),
            &format!("{head}{what} `{name}` is another now:\n{place} - {old}\n{place} + {new}\n"),
        );
        same_page();
        fs::write(lab.path(name), text).unwrap();
    }
    assert_refused(
        &lab,
        || lab.run_study("500g", &["--resume"]),
        &format!("{head}variable SZ was `1g` and is `500g`\n"),
    );
    lab.resume_study().success_stdout();
    assert!(lab.read_file("out/report.html") == page);
}

#[test]
fn two_values_of_a_variable_are_two_cells() {
    let lab = Lab::new();
    let hash = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["cell_hash"].clone();
    let before: Vec<_> = lab.record_lines().iter().map(|line| hash(line)).collect();
    assert!(before[0] == before[1] && before[1] != before[2] && before[0].as_str().unwrap().len() == 16);
    fs::remove_dir_all(lab.path("out")).unwrap();
    lab.run_study("500m", &[]).success_stdout();
    assert!(lab.record_lines().iter().zip(&before).all(|(line, before)| hash(line) != *before));
}

#[test]
fn results_outlive_what_made_them() {
    let lab = Lab::new();
    let whole = lab.kept_files();
    let page = lab.read_file("out/report.html");
    for name in ["drive.toml", "stack.toml", "jobs/a.fio", "jobs/common.inc"] {
        fs::remove_file(lab.path(name)).unwrap();
    }
    run_program(lab.0.path(), &["report", "out"]).success_stdout();
    assert!(lab.read_file("out/report.html") == page);
    fs::write(lab.path("out/results.jsonl"), lab.record_lines()[..2].concat()).unwrap();
    let said = lab.resume_study();
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.err.contains("note: job `jobs/a.fio`: No such file or directory"), "{}", said.err);
    assert!(lab.kept_files() == whole && lab.read_file("out/report.html") == page);
    // Without the study's file, the command names the folder itself.
    fs::remove_file(lab.path("study.toml")).unwrap();
    fs::write(lab.path("out/results.jsonl"), lab.record_lines()[..3].concat()).unwrap();
    run_program(lab.0.path(), &["study", "out", "--out", "out", "--resume"]).success_stdout();
    assert!(lab.kept_files() == whole && lab.read_file("out/report.html") == page);
}

#[test]
fn a_folder_carried_elsewhere_gives_the_same_page_and_runs_again() {
    let lab = Lab::new();
    let page = lab.read_file("out/report.html");
    let elsewhere = tempfile::tempdir().unwrap();
    let moved = elsewhere.path().join("deep");
    fs::rename(lab.path("out"), &moved).unwrap();
    drop(lab);
    fs::remove_file(moved.join("report.html")).unwrap();
    run_program(elsewhere.path(), &["report", "deep"]).success_stdout();
    assert!(fs::read(moved.join("report.html")).unwrap() == page);
    // The command that the page names runs in the folder of the page.
    let text = String::from_utf8(page).unwrap();
    assert!(text.contains("\"command\":\"seekwise study . --out again\""));
    run_program(&moved, &["study", ".", "--out", "again"]).success_stdout();
    for name in ["study.toml", "made-from.json", "results.jsonl", "report.html"] {
        assert!(fs::read(moved.join(name)).unwrap() == fs::read(moved.join("again").join(name)).unwrap(), "{name}");
    }
}

#[test]
fn records_that_are_not_the_plan_s_are_refused() {
    let lab = Lab::new();
    let lines = lab.record_lines();
    let [a, b, c, d] = &lines[..] else { panic!("{} lines", lines.len()) };
    let hash =
        |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["cell_hash"].as_str().unwrap().to_owned();
    let seed = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["seed"].as_u64().unwrap();
    let with = |line: &str, from: &str, to: &str| {
        assert!(line.contains(from), "{from}");
        line.replacen(from, to, 1)
    };
    let twice = "holds run 0 of cell 0, where the plan has run 1 of cell 0; it stands there twice, or out of order";
    let other = with(c, &hash(c), &hash(a));
    for (records, said) in [
        (vec![a, a, b, b, c, c, d, d], format!("2: {twice}")),
        (vec![a, b, c, d, a, b, c, d], "5: one record more than the plan's 4".to_owned()),
        (
            vec![a, c, d],
            "2: holds run 0 of cell 1, where the plan has run 1 of cell 0; a line before it is missing".to_owned(),
        ),
        (
            vec![b, a, c, d],
            "1: holds run 1 of cell 0, where the plan has run 0 of cell 0; a line before it is missing".to_owned(),
        ),
        (
            vec![&with(a, &format!("\"seed\":{},", seed(a)), "\"seed\":9,"), b],
            "1: run 0 of cell 0 has seed 9".to_owned(),
        ),
        (
            vec![a, b, &other],
            format!("3: run 0 of cell 1 was made of other settings (`{}`, not `{}`)", hash(a), hash(c)),
        ),
        (vec![a, &with(b, "{", "")], "2: invalid type".to_owned()),
    ] {
        fs::write(lab.path("out/results.jsonl"), records.into_iter().map(String::as_str).collect::<String>()).unwrap();
        for said_by in [run_program(lab.0.path(), &["report", "out"]), lab.resume_study()] {
            assert_eq!(said_by.code, 2, "{}", said_by.out);
            assert!(said_by.err.starts_with(&format!("error: out/results.jsonl:{said}")), "{}\n{said}", said_by.err);
        }
    }
}

#[test]
fn a_record_torn_anywhere_is_made_again() {
    let lab = Lab::new();
    let (whole, page) = (lab.kept_files(), lab.read_file("out/report.html"));
    let bytes = &whole[2];
    // The file ends within the two bytes of the first `ö` of the second record, and just before and after it.
    let second = bytes.iter().position(|&byte| byte == b'\n').unwrap();
    let letter = second + bytes[second..].windows(2).position(|pair| pair == "ö".as_bytes()).unwrap();
    for length in [letter, letter + 1, letter + 2, bytes.len() - 1] {
        fs::write(lab.path("out/results.jsonl"), &bytes[..length]).unwrap();
        run_program(lab.0.path(), &["report", "out"]).success_stdout();
        lab.resume_study().success_stdout();
        assert!(lab.kept_files() == whole && lab.read_file("out/report.html") == page, "cut at {length}");
    }
}

#[test]
fn a_folder_that_does_not_say_what_made_it_is_refused() {
    let lab = Lab::new();
    let report = || run_program(lab.0.path(), &["report", "out"]);
    let sums = lab.read_file("out/sums.txt");
    let changed = |name: &str, from: &str, to: &str, old: &str| {
        let before = String::from_utf8(lab.read_file(name)).unwrap();
        let line = before.lines().position(|line| line.contains(from)).unwrap() + 1;
        lab.replace_in_file(name, from, to);
        for said in [report(), lab.resume_study()] {
            let start = format!("error: {name}:{line}: this line was changed after it was written: its sum is ");
            assert!(said.code == 2 && said.err.starts_with(&start), "{}", said.err);
        }
        // Without checksums, a change cannot be detected.
        fs::remove_file(lab.path("out/sums.txt")).unwrap();
        for said in [report(), lab.resume_study()] {
            assert!(said.code == 2 && said.err.starts_with("error: out: has no sums.txt, "), "{}", said.err);
        }
        // With rewritten checksums, the error names the contradiction.
        folders::rewrite_sums(&lab.path("out"));
        let said = report();
        assert!(said.err.contains(old), "{}", said.err);
        fs::write(lab.path("out/sums.txt"), &sums).unwrap();
        fs::write(lab.path(name), before).unwrap();
        said.code
    };
    let other = "error: out/made-from.json: the settings of cell 0 do not fit its hash";
    assert_eq!(changed("out/made-from.json", "\"value\": \"7200\"", "\"value\": \"5400\"", other), 2);
    let other = "study.toml is not the study that it was made from";
    assert_eq!(changed("out/study.toml", "runs = 2", "runs = 1", other), 2);
    assert_eq!(changed("out/made-from.json", "\"build\": \"", "\"build\": \"0", ""), 0);
    lab.replace_in_file("out/made-from.json", "\"build\": \"", "\"build\": \"0");
    folders::rewrite_sums(&lab.path("out"));
    let said = lab.resume_study();
    assert!(said.code == 2 && said.err.contains("its results were made by Seekwise "), "{}", said.err);
    fs::remove_file(lab.path("out/made-from.json")).unwrap();
    for said in [report(), lab.resume_study()] {
        assert_eq!(said.code, 2);
        assert!(said.err.starts_with("error: out: has no made-from.json and no study.toml"), "{}", said.err);
    }
}

#[test]
fn a_run_and_a_comparison_keep_such_a_folder() {
    let lab = Lab::new();
    let again = |folder: &Path, name: &str| {
        let files = ["made-from.json", "report.html", "results.jsonl", "study.toml", "sums.txt"];
        assert_eq!(sorted_names(&folder.join(name)), files);
        run_program(folder, &["study", name, "--out", "again"]).success_stdout();
        for file in files {
            assert!(
                fs::read(folder.join(name).join(file)).unwrap() == fs::read(folder.join("again").join(file)).unwrap()
            );
        }
        fs::remove_dir_all(folder.join("again")).unwrap();
    };
    let mut run = program_command(lab.0.path());
    run.args(["run", "jobs/a.fio", "--on", "stack.toml", "--seed", "7", "--out", "one", "--json"]).env("SZ", "1g");
    let printed = program_output(run.output().unwrap());
    assert!(printed.err.contains("Again: seekwise study one --out one-again"), "{}", printed.err);
    let printed = printed.json();
    let kept: serde_json::Value = serde_json::from_slice(&lab.read_file("one/results.jsonl")).unwrap();
    assert_eq!(
        (&kept["seed"], &kept["all"], &kept["stream_hash"]),
        (&7.into(), &printed["all"], &printed["stream_hash"])
    );
    assert_eq!(kept["cell_hash"], printed["cell_hash"]);
    again(lab.0.path(), "one");
    let args = ["compare", "random-read", "--on", "drive.toml", "--vary", "job.depth=1,8", "--runs", "2"];
    run_program(lab.0.path(), &[&args[..], &["--runtime", "1 s", "--out", "two"]].concat()).success_stdout();
    fs::remove_file(lab.path("drive.toml")).unwrap();
    again(lab.0.path(), "two");
}

/// The next random number below a bound (xorshift64*, Vigna 2016).
fn random_below(state: &mut u64, below: usize) -> usize {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    (state.wrapping_mul(0x2545_f491_4f6c_dd1d) % below as u64) as usize
}

#[test]
fn any_digit_that_was_changed_is_refused_with_its_line() {
    const EDITS: usize = 240;
    let lab = Lab::new();
    let mut state = 28;
    for edit in 0..EDITS {
        let name = ["results.jsonl", "made-from.json", "study.toml", "sums.txt"][[0, 0, 0, 1, 1, 2, 3][edit % 7]];
        let path = lab.path("out").join(name);
        let whole = fs::read(&path).unwrap();
        let digits: Vec<usize> = (0..whole.len()).filter(|&at| whole[at].is_ascii_digit()).collect();
        let at = digits[random_below(&mut state, digits.len())];
        let mut text = whole.clone();
        text[at] = b'0' + (text[at] - b'0' + 1 + random_below(&mut state, 9) as u8) % 10;
        fs::write(&path, &text).unwrap();
        let said = run_program(lab.0.path(), &["report", "out"]);
        fs::write(&path, &whole).unwrap();
        let line = whole[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
        let here = format!("error: out/{name}:{line}: ");
        // The error for a changed checksum names the line that it belongs to, and itself.
        let sum = format!("sums.txt:{line} has ");
        let named = said.err.starts_with(&here) || (name == "sums.txt" && said.err.contains(&sum));
        assert!(said.code == 2 && named, "{name}:{line}, {} to {}: {}", whole[at] as char, text[at] as char, said.err);
    }
    run_program(lab.0.path(), &["report", "out"]).success_stdout();
}

#[test]
fn figures_that_contradict_one_another_are_refused_whatever_their_sum() {
    let lab = Lab::new();
    let whole = String::from_utf8(lab.read_file("out/results.jsonl")).unwrap();
    let first = whole.lines().next().unwrap().to_owned();
    let record: serde_json::Value = serde_json::from_str(&first).unwrap();
    type Change = fn(&mut serde_json::Value);
    let changes: [(&str, Change); 9] = [
        ("`all.iops` is ", |it| it["all"]["iops"] = 9999.5.into()),
        ("`read.bytes_per_s` is -1; expected a figure from 0 on", |it| it["read"]["bytes_per_s"] = (-1).into()),
        ("`all.bytes_per_s` is ", |it| it["all"]["bytes_per_s"] = 1.0.into()),
        ("`all.response_ms.p50` is ", |it| it["all"]["response_ms"]["p50"] = 1e5.into()),
        ("`all.response_ms.mean` is ", |it| it["all"]["response_ms"]["mean"] = 1e5.into()),
        ("`histogram` counts ", |it| it["histogram"][0][1] = 77.into()),
        ("`anatomy_ms.seek` is ", |it| it["anatomy_ms"]["seek"] = 0.25.into()),
        ("`read.response_ms.mean` is ", |it| it["read"]["anatomy_ms"]["seek"] = 0.25.into()),
        ("`write.iops` is 5; expected 0, for `write.ios` is 0", |it| it["write"]["iops"] = 5.into()),
    ];
    for (expected, change) in changes {
        let mut other = record.clone();
        change(&mut other);
        other.as_object_mut().unwrap().remove("sum");
        let bare = other.to_string();
        let sealed = format!("{},\"sum\":\"{}\"}}", &bare[..bare.len() - 1], folders::line_sum(&bare));
        fs::write(lab.path("out/results.jsonl"), whole.replacen(&first, &sealed, 1)).unwrap();
        let said = run_program(lab.0.path(), &["report", "out"]);
        let place = format!("error: out/results.jsonl:1: {expected}");
        assert!(said.code == 2 && said.err.contains(&place), "{expected}\n{}", said.err);
    }
}
