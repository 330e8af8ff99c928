//! The limits of the program: work that is too long or too large, or that cannot be judged, is refused before the first run; outputs may
//! be pipes or devices; standard error may be closed; control characters in names are escaped.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::seekwise::{ProgramOutput, program_command, program_output, run_program, sorted_names};

const ON: [&str; 2] = ["--on", "barracuda-7200.7-ncq"];

const JOB: &str = "[j]\nioengine=libaio\nrw=randread\nbs=4k\nsize=64m\nnumber_ios=50\n";

const STUDY: &str = "title = 't'\nquestion = 'q'\nruns = 2\nruntime = '1 s'\njob = 'random-read'\n\
    [stack]\ndrive = 'barracuda-7200.7-ncq'\n[[factor]]\nname = 'depth'\nkey = 'job.depth'\nlevels = [1, 8]\n\
    [[compare]]\nname = 'eight'\nfactor = 'depth'\nfrom = '1'\nto = '8'\nheadline = true\n";

/// A folder with these files.
fn folder_with_files(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
    folder
}

fn run_job(folder: &Path, more: &[&str]) -> ProgramOutput {
    run_program(folder, &[&["run", "j.fio"], &ON[..], more].concat())
}

#[test]
fn what_goes_on_for_more_than_a_century_is_refused() {
    let stages: String = (0..12).map(|n| format!("[s{n}]\nstonewall\nstartdelay=3650d\nsize=4k\n")).collect();
    let paced = "[p]\nrw=read\nsize=10g\nrate=1\n";
    let ramp = "[r]\nrw=read\nsize=1g\ntime_based\nruntime=11000d\n";
    for (job, said) in [(&stages[..], "more than 100 years"), (paced, "more than 100 years"), (ramp, "10 years")] {
        let folder = folder_with_files(&[("j.fio", job)]);
        let refused = run_job(folder.path(), &[]);
        assert!(refused.code == 2 && refused.err.contains(said), "{job}: {}", refused.err);
    }
    let folder = folder_with_files(&[("s.toml", &STUDY.replace("1 s", "11000 d"))]);
    let refused = run_program(folder.path(), &["study", "s.toml"]);
    assert_eq!((refused.code, sorted_names(folder.path())), (2, vec!["s.toml".to_owned()]));
    assert!(
        refused.err.starts_with("error: s.toml:4: `11000 d` is out of range; expected at most 10 years"),
        "{}",
        refused.err
    );
}

#[test]
fn memory_is_bounded_before_the_run() {
    let deep = JOB.replace("size", "iodepth=65535\nnumjobs=20\nsize");
    let folder = folder_with_files(&[("j.fio", &deep), ("s.toml", STUDY)]);
    let refused = run_job(folder.path(), &["--max-memory", "100m"]);
    assert_eq!(refused.code, 2);
    let said = "error: this may take up to 1.4 GB of memory; the limit is 104.9 MB (--max-memory)\n";
    assert!(refused.err.ends_with(said), "{}", refused.err);
    let refused = run_job(folder.path(), &["--max-memory", "100m", "--out", "kept"]);
    assert!(refused.code == 2 && !folder.path().join("kept").exists(), "{}", refused.err);
    let one = JOB.replace("size", "iodepth=65535\nsize");
    fs::write(folder.path().join("j.fio"), one).unwrap();
    assert!(run_job(folder.path(), &["--max-memory", "200m"]).success_stdout().contains("reads"));
    let refused = run_program(folder.path(), &["study", "s.toml", "--max-memory", "1m"]);
    assert_eq!((refused.code, sorted_names(folder.path())), (2, vec!["j.fio".to_owned(), "s.toml".to_owned()]));
}

#[test]
fn a_plan_that_cannot_be_judged_is_refused_before_the_first_run() {
    let array = STUDY.replace("[stack]", "cuts = 5\n[stack]\narray = 'raid-0'");
    let array = array.replacen("[[factor]]", "[stack.at.'0.1 s']\narray.lose = 1\n[[factor]]", 1);
    let folder = folder_with_files(&[("s.toml", &array)]);
    let refused = run_program(folder.path(), &["study", "s.toml"]);
    assert!(
        refused.code == 2 && refused.err.contains("s.toml:6: `cuts`: power cuts are not judged"),
        "{}",
        refused.err
    );
    assert_eq!(sorted_names(folder.path()), ["s.toml"]);
    let larger = JOB.replace("64m", "1000t");
    fs::write(folder.path().join("j.fio"), larger).unwrap();
    assert_eq!(run_job(folder.path(), &["--out", "kept"]).code, 2);
    assert!(!folder.path().join("kept").exists());
}

#[test]
fn seeds_have_64_bits_everywhere() {
    const MOST: &str = "18446744073709551615";
    let folder = folder_with_files(&[
        ("j.fio", &format!("{JOB}randseed={MOST}\n")),
        ("s.toml", &format!("seed = {MOST}\n{STUDY}")),
    ]);
    assert_eq!(run_job(folder.path(), &["--seed", MOST, "--json"]).json()["seed"], u64::MAX);
    let compare =
        ["compare", "j.fio", "--vary", "drive.firmware.depth=1,8", "--runs", "2", "--seed", MOST, "--out", "c"];
    run_program(folder.path(), &[&compare[..], &ON[..]].concat()).success_stdout();
    assert!(fs::read_to_string(folder.path().join("c/study.toml")).unwrap().contains(MOST));
    run_job(folder.path(), &["--seed", MOST, "--out", "r"]).success_stdout();
    assert!(fs::read_to_string(folder.path().join("r/results.jsonl")).unwrap().contains(MOST));
    run_program(folder.path(), &["study", "r", "--out", "r-again"]).success_stdout();
    let [one, again] = ["r", "r-again"].map(|name| fs::read(folder.path().join(name).join("results.jsonl")).unwrap());
    assert!(one == again, "a kept run is run again with its seed");
    run_program(folder.path(), &["study", "s.toml"]).success_stdout();
}

#[test]
fn a_comparison_of_one_run_prints_no_infinity() {
    let folder = folder_with_files(&[("s.toml", &STUDY.replace("runs = 2", "runs = 1"))]);
    let said = run_program(folder.path(), &["study", "s.toml"]).success_stdout();
    assert!(said.contains("× of one run") && !said.contains("inf"), "{said}");
    let page = fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    assert!(page.contains("\"ratio\":null"), "the page has no ratio without an interval");
}

#[test]
fn counts_that_no_run_has_are_no_records() {
    let folder = folder_with_files(&[("s.toml", STUDY)]);
    run_program(folder.path(), &["study", "s.toml"]).success_stdout();
    let path = folder.path().join("out/results.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let at = text.find("\"ios\":").unwrap() + 6;
    let end = at + text[at..].find(',').unwrap();
    fs::write(&path, format!("{}{}{}", &text[..at], u64::MAX, &text[end..])).unwrap();
    let refused = run_program(folder.path(), &["report", "out"]);
    assert!(refused.code == 2 && refused.err.contains("is more than a run counts"), "{}", refused.err);
}

#[cfg(unix)]
#[test]
fn nobody_has_to_listen_to_standard_error() {
    let folder = folder_with_files(&[("j.fio", JOB)]);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let args = [&["run", "j.fio", "--json"], &ON[..]].concat();
    let heard = program_command(folder.path()).args(&args).stderr(full.try_clone().unwrap()).output().unwrap();
    assert_eq!((heard.status.code(), heard.stdout.is_empty()), (Some(0), false), "a full one");
    let wrong = program_command(folder.path()).args(["run", "none.fio", "--on", "x"]).stderr(full).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    let program = program_command(folder.path()).get_program().to_owned();
    let mut closed = Command::new("sh");
    closed.args(["-c", "exec \"$0\" \"$@\" 2>&-"]).arg(program).args(&args).current_dir(folder.path());
    let closed = program_output(closed.output().unwrap());
    assert_eq!((closed.code, closed.out.is_empty()), (0, false), "a closed one");
}

#[cfg(unix)]
#[test]
fn what_the_caller_opened_is_written_to_and_no_other_device_or_link() {
    let folder = folder_with_files(&[("j.fio", JOB)]);
    run_job(folder.path(), &["--log", "/dev/null"]).success_stdout();
    assert!(!fs::metadata("/dev/null").unwrap().is_file(), "a device stays one");
    let shell = format!("{} run j.fio {} --log >(wc -c > count)", env!("CARGO_BIN_EXE_seekwise"), ON.join(" "));
    let piped = Command::new("bash").args(["-c", &format!("{shell}; wait $!")]).current_dir(folder.path()).output();
    assert!(piped.unwrap().status.success());
    let count = fs::read_to_string(folder.path().join("count")).unwrap();
    assert!(count.trim().parse::<u64>().unwrap() > 1000, "{count}");
    std::os::unix::fs::symlink("kept.parquet", folder.path().join("link.parquet")).unwrap();
    for (name, why) in [("link.parquet", "it is a link to kept.parquet"), ("/dev/full", "it is a character device")] {
        let refused = run_job(folder.path(), &["--log", name, "--force"]);
        assert!(refused.code == 2 && refused.err.contains(why), "{}", refused.err);
    }
    assert_eq!(sorted_names(folder.path()), ["count", "j.fio", "link.parquet"]);
}

#[test]
fn names_draw_nothing_and_are_no_formulas() {
    let odd = "[=1+1\u{1b}[31m\u{202e}]\nioengine=libaio\nrw=randread\nbs=4k\nsize=64m\nnumber_ios=9\n[b]\nsize=1m\n";
    let folder = folder_with_files(&[("=1+1.fio", odd)]);
    for format in ["text", "csv", "json", "fio-json"] {
        let said = run_program(folder.path(), &[&["run", "=1+1.fio", "--format", format], &ON[..]].concat());
        let text = said.err.clone() + &said.out;
        assert_eq!(said.code, 0, "{text}");
        let drawn = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!text.contains(drawn), "{format}: {text:?}");
        let json = format.ends_with("json").then(|| serde_json::from_str::<serde_json::Value>(&said.out).unwrap());
        assert!(json.is_none_or(|json| json.to_string().contains("\u{202e}")), "{format}");
        assert!(format != "csv" || said.out.contains(",\"'=1+1.fio\","), "{}", said.out);
    }
}

#[test]
fn what_takes_more_than_an_hour_is_told() {
    let long = "[j]\nioengine=libaio\niodepth=32\nrw=randread\nbs=4k\nsize=1g\ntime_based\nruntime=3000d\n";
    // The second stage ends by its requests, so that neither the time nor the requests of the whole job are known.
    let stages = format!("{long}[k]\nstonewall\nrw=write\nsize=1m\n");
    [long, &stages].into_iter().for_each(assert_duration_warning);
}

fn assert_duration_warning(long: &str) {
    let folder = folder_with_files(&[("j.fio", long)]);
    let args = [&["run", "j.fio"], &ON[..]].concat();
    let mut running = program_command(folder.path()).args(args).stderr(Stdio::piped()).spawn().unwrap();
    let heard = std::io::BufReader::new(running.stderr.take().unwrap());
    let told = std::io::BufRead::lines(heard).map(Result::unwrap).find(|line| line.contains(" h here"));
    running.kill().unwrap();
    running.wait().unwrap();
    let told = told.unwrap();
    assert!(told.starts_with("warning: 1 run will take about ") && told.contains("stops at any time"), "{told}");
}
