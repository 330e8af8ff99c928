//! How commands end, and what they leave: folders that are created or replaced, standard input, exit codes, signals.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use crate::seekwise::{ProgramOutput, program_command, program_output, run_program, sorted_names};

const DRIVE: &str = "barracuda-7200.7-ncq";

const JOB: &str = "[j]\nioengine=libaio\ndirect=1\nrw=randrw\nbs=4k\nsize=1g\nruntime=1\ntime_based\n";

const STUDY: &str = "title = 'Depth'\nquestion = 'Does a queue help?'\nruns = 2\nruntime = '1 s'\n\
    job = 'random-read'\n[stack]\ndrive = 'barracuda-7200.7-ncq'\n\
    [[factor]]\nname = 'depth'\nkey = 'job.depth'\nlevels = [1, 8]\n";

const CLAIM: &str = "[[claim]]\nid = 'ID'\nclass = 'I'\nfinding = 'f'\ncondition = 'c'\nmechanism = 'm'\n\
                     check = ['iops[depth=8] > LEAST']\n";

fn folder_with_job_and_study() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("j.fio"), JOB).unwrap();
    fs::write(folder.path().join("s.toml"), STUDY).unwrap();
    folder
}

fn read_file(folder: &Path, name: &str) -> Vec<u8> {
    fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn run_job(folder: &Path, more: &[&str]) -> ProgramOutput {
    run_program(folder, &[&["run", "j.fio", "--on", DRIVE], more].concat())
}

/// Runs the program with `input` on standard input.
fn run_with_input(folder: &Path, args: &[&str], input: &str) -> ProgramOutput {
    let mut running = program_command(folder)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that does not read its input may have ended.
    let _ = running.stdin.take().unwrap().write_all(input.as_bytes());
    program_output(running.wait_with_output().unwrap())
}

/// The names of unfinished files in a folder.
fn part_files(folder: &Path) -> Vec<String> {
    sorted_names(folder).into_iter().filter(|name| name.ends_with(".part")).collect()
}

#[track_caller]
fn assert_error(said: &ProgramOutput, error: &str) {
    assert_eq!((said.code, said.out.as_str()), (2, ""), "{}", said.err);
    assert!(said.err.contains(error), "{}", said.err);
}

#[test]
fn folders_on_the_way_are_made() {
    let folder = folder_with_job_and_study();
    run_job(folder.path(), &["--out", "a/b", "--log", "c/d/log.parquet"]).success_stdout();
    assert_eq!(
        sorted_names(&folder.path().join("a/b")),
        ["made-from.json", "report.html", "results.jsonl", "study.toml", "sums.txt"]
    );
    assert_eq!(sorted_names(&folder.path().join("c/d")), ["log.parquet"]);
    run_program(folder.path(), &["drives", "exos-x18", "--svg", "e/f/g.svg"]).success_stdout();
    assert!(read_file(folder.path(), "e/f/g.svg").starts_with(b"<svg"));
}

#[test]
fn what_is_there_is_replaced_by_force_only() {
    let folder = folder_with_job_and_study();
    let at = folder.path();
    let all = ["--out", "out", "--log", "log.parquet"];
    run_job(at, &all).success_stdout();
    fs::write(at.join("out/notes.txt"), "mine").unwrap();
    let before = read_file(at, "out/results.jsonl");
    assert_error(&run_job(at, &["--out", "out"]), "out: already holds results; --force overwrites them");
    assert_error(&run_job(at, &["--log", "log.parquet"]), "log.parquet: already exists; --force overwrites it");
    assert_eq!(read_file(at, "out/results.jsonl"), before);
    let forced = run_job(at, &[&all[..], &["--force", "--seed", "2"]].concat());
    assert!(forced.err.contains("note: overwriting the results in out (1 run)"), "{}", forced.err);
    assert!(forced.err.contains("note: overwriting log.parquet"), "{}", forced.err);
    forced.success_stdout();
    assert_ne!(read_file(at, "out/results.jsonl"), before);
    assert_eq!(read_file(at, "out/results.jsonl").iter().filter(|&&byte| byte == b'\n').count(), 1);
    assert_eq!(read_file(at, "out/notes.txt"), b"mine");
    assert_error(&run_job(at, &["--force"]), "--force: there is nothing to overwrite");
}

#[test]
fn what_seekwise_did_not_write_is_never_replaced() {
    for name in ["study.toml", "results.jsonl", "report.html"] {
        let folder = folder_with_job_and_study();
        fs::create_dir(folder.path().join("out")).unwrap();
        fs::write(folder.path().join("out").join(name), "mine").unwrap();
        for more in [&["--out", "out"][..], &["--out", "out", "--force"]] {
            assert_error(&run_job(folder.path(), more), &format!("out/{name}: exists, but no made-from.json"));
        }
        assert_eq!(read_file(folder.path(), &format!("out/{name}")), b"mine");
        assert_eq!(sorted_names(&folder.path().join("out")), [name]);
    }
    let folder = folder_with_job_and_study();
    assert_error(&run_job(folder.path(), &["--out", "j.fio"]), "j.fio: it is a file; expected a folder");
    // A study beside which its own results are to be.
    fs::rename(folder.path().join("s.toml"), folder.path().join("study.toml")).unwrap();
    run_program(folder.path(), &["study", "study.toml", "--out", "."]).success_stdout();
}

#[test]
fn standard_input_is_read_and_kept() {
    let folder = folder_with_job_and_study();
    let at = folder.path();
    let named = run_job(at, &["--json"]).json();
    let piped = run_with_input(at, &["run", "-", "--on", DRIVE, "--json"], JOB).json();
    assert_eq!((&piped["all"], &piped["job"]), (&named["all"], &"standard input".into()));
    let stack = format!("drive = '{DRIVE}'\n");
    assert_eq!(run_with_input(at, &["run", "j.fio", "--on", "-", "--json"], &stack).json()["all"], named["all"]);
    let profile = include_str!("../../drives/profiles/barracuda-7200.7-ncq.toml");
    assert_eq!(run_with_input(at, &["run", "j.fio", "--on", "-", "--json"], profile).json()["all"], named["all"]);
    let both = run_with_input(at, &["run", "-", "--on", "-"], JOB);
    assert_error(&both, "standard input can only be used once");
    // The kept study runs again without standard input.
    run_with_input(at, &["run", "-", "--on", DRIVE, "--out", "r"], JOB).success_stdout();
    run_program(at, &["study", "r", "--out", "again"]).success_stdout();
    run_with_input(at, &["study", "-", "--out", "s"], STUDY).success_stdout();
    run_program(at, &["study", "s.toml", "--out", "t"]).success_stdout();
    for (one, other) in [("r", "again"), ("s", "t")] {
        for name in ["results.jsonl", "report.html"] {
            assert_eq!(
                read_file(at, &format!("{one}/{name}")),
                read_file(at, &format!("{other}/{name}")),
                "{name} of {one}"
            );
        }
    }
    let page = read_file(at, "s/report.html");
    run_program(at, &["report", "s"]).success_stdout();
    assert_eq!(read_file(at, "s/report.html"), page);
    let results = read_file(at, "s/results.jsonl");
    fs::write(at.join("s/results.jsonl"), &results[..results.len() / 2]).unwrap();
    run_with_input(at, &["study", "-", "--out", "s", "--resume"], STUDY).success_stdout();
    assert_eq!(read_file(at, "s/results.jsonl"), results);
    assert_error(
        &run_with_input(at, &["study", "-", "--out", "s", "--resume"], &STUDY.replace("8]", "4]")),
        "another study",
    );
}

#[test]
fn a_trace_may_come_on_standard_input() {
    let trace = "lba,sectors,op,measured_response_ms,think_ms\n0,8,R,8.0,1\n80000,8,R,9.0,1\n9000,8,W,9.0,1\n";
    let folder = folder_with_job_and_study();
    let said = run_with_input(folder.path(), &["validate", "-", "--drive", DRIVE, "--json"], trace).json();
    assert_eq!(said["n"], 3);
}

#[test]
fn an_answer_without_a_request_is_none() {
    let folder = folder_with_job_and_study();
    let at = folder.path();
    // A pattern has a ramp, in which nothing is counted.
    let random = ["run", "random-read", "--on", DRIVE, "--runtime", "1 ns"];
    assert_error(&run_program(at, &random), "no request was counted");
    let vary = ["compare", "random-read", "--on", DRIVE, "--vary", "job.depth=1,2", "--runs", "2", "--runtime", "1 ns"];
    assert_error(&run_program(at, &vary), "no run counted any requests");
    fs::write(at.join("s.toml"), STUDY.replace("'1 s'", "'1 ns'")).unwrap();
    assert_error(&run_program(at, &["study", "s.toml", "--out", "s"]), "no run counted any requests");
    assert_error(&run_program(at, &["report", "s"]), "no run counted any requests");
    let cut = |more: &[&str]| run_program(at, &[&["power-cut", "j.fio", "--on", DRIVE], more].concat());
    assert_error(&cut(&["--at", "100 ms", "--at", "70 s"]), "--at 70 s: the run ended at 1.0");
    assert!(cut(&["--at", "100 ms"]).err.is_empty());
    let reads = run_program(at, &["power-cut", "random-read", "--on", DRIVE, "--runtime", "1 s", "--cuts", "3"]);
    assert_error(&reads, "a power cut has nothing to lose");
}

#[test]
fn one_standard_output_has_one_form() {
    let folder = folder_with_job_and_study();
    for format in ["text", "csv", "fio-json"] {
        assert_error(
            &run_job(folder.path(), &["--json", "--format", format]),
            &format!("--json and --format {format}: they conflict"),
        );
    }
    assert_eq!(
        run_job(folder.path(), &["--json", "--format", "json"]).success_stdout(),
        run_job(folder.path(), &["--json"]).success_stdout()
    );
    assert_error(
        &run_program(folder.path(), &["patterns", "--max-memory", "1g"]),
        "--max-memory: not supported by this command",
    );
}

#[test]
fn claims_that_fail_are_counted_and_matter_where_that_is_asked() {
    let folder = folder_with_job_and_study();
    let at = folder.path();
    let claim = |id: &str, least: &str| CLAIM.replace("ID", id).replace("LEAST", least);
    fs::write(at.join("s.toml"), format!("{STUDY}{}{}", claim("T1", "1"), claim("T2", "9999"))).unwrap();
    let line = "1 of 2 claims holds, 1 does not: T2";
    for (args, code) in [
        (&["study", "s.toml", "--out", "a"][..], 0),
        (&["study", "s.toml", "--out", "b", "--strict"], 1),
        (&["report", "a"], 0),
        (&["report", "a", "--strict"], 1),
    ] {
        let said = run_program(at, args);
        assert_eq!((said.code, said.out.lines().last()), (code, Some(line)), "{args:?}: {}", said.err);
        let json = run_program(at, &["report", "a", "--json"]);
        assert_eq!(json.err.lines().last(), Some(line));
    }
    fs::write(at.join("s.toml"), format!("{STUDY}{}", claim("T1", "1"))).unwrap();
    let said = run_program(at, &["study", "s.toml", "--out", "c", "--strict"]).success_stdout();
    assert_eq!(said.lines().last(), Some("1 of 1 claim holds"));
}

#[test]
fn a_file_of_another_kind_is_called_by_its_name() {
    let folder = folder_with_job_and_study();
    let at = folder.path();
    fs::write(at.join("d.toml"), include_str!("../../drives/profiles/exos-x18.toml")).unwrap();
    fs::write(at.join("stack"), "drive = 'exos-x18'\n").unwrap();
    fs::write(at.join("t.csv"), "lba,sectors,op,measured_response_ms,think_ms\n0,8,R,8.0,1\n").unwrap();
    fs::write(at.join("empty"), "\n").unwrap();
    for (args, error) in [
        (&["study", "j.fio"][..], "j.fio: is a job; expected a study; `seekwise run j.fio --on DRIVE` runs it"),
        (&["study", "d.toml"], "d.toml: is a drive's profile; expected a study; `--on d.toml` runs a job on it"),
        (&["run", "s.toml", "--on", DRIVE], "s.toml: is a study; expected a job; `seekwise study s.toml` runs it"),
        (
            &["power-cut", "t.csv", "--on", DRIVE],
            "t.csv: is a trace; expected a job; `seekwise validate t.csv --drive DRIVE` plays it",
        ),
        (
            &["run", "j.fio", "--on", "s.toml"],
            "s.toml: is a study; expected a stack or a drive's profile; `seekwise study s.toml` runs it",
        ),
        (&["drives", "stack"], "stack: is a stack; expected a drive's profile; `--on stack` runs a job on it"),
        (
            &["validate", "j.fio", "--drive", DRIVE],
            "j.fio: is a job; expected a trace; `seekwise run j.fio --on DRIVE` runs it",
        ),
        (
            &["validate", "t.csv", "--drive", "stack"],
            "stack: is a stack; expected a drive's profile; `--on stack` runs a job on it",
        ),
        (&["report", "s.toml"], "s.toml: it is a file; expected a result folder"),
        (&["run", "j.fio", "--on", "empty"], "empty: cannot be read: the file is empty"),
        (&["study", "empty"], "empty: cannot be read: the file is empty"),
    ] {
        let said = run_program(at, args);
        assert_eq!((said.code, said.err.as_str()), (2, format!("error: {error}\n").as_str()), "{args:?}");
    }
    // A stack by its content, whatever its name.
    run_program(at, &["run", "j.fio", "--on", "stack"]).success_stdout();
}

#[test]
fn nothing_is_said_twice() {
    let folder = folder_with_job_and_study();
    let at = folder.path();
    fs::write(at.join("stack.toml"), "drive = 'exos-x18'\n").unwrap();
    assert_error(
        &run_job(at, &["--set", "job.depth=1", "--set", "job.depth=2"]),
        "--set job.depth=2: `job.depth` is set twice",
    );
    assert_error(&run_job(at, &["--set", "drive=exos-x18"]), "--set drive=exos-x18: --on names the drive");
    assert_error(
        &run_job(at, &["--set", "job=random-read"]),
        "--set job=random-read: the argument before --on names the job",
    );
    assert_error(&run_job(at, &["--set", "stack=stack.toml"]), "--set stack=stack.toml: --on names the stack");
    assert_error(&run_job(at, &["--runtime", "1 s", "--set", "job.runtime=2 s"]), "--runtime sets the run time");
    let vary = ["compare", "j.fio", "--on", DRIVE, "--vary", "job.depth=1,2", "--set", "job.depth=4"];
    assert_error(&run_program(at, &vary), "--set job.depth=4: `job.depth` is set twice");
    // A stack may stand on another drive than it names.
    run_program(at, &["run", "j.fio", "--on", "stack.toml", "--set", "drive=wd140edfz"]).success_stdout();
    assert_error(&run_job(at, &["--set", "=1"]), "`=1` has no key; expected KEY=VALUE");
    assert_error(
        &run_program(at, &["study", "s.toml", "--threads", "100000"]),
        "expected a whole number from 0 to 1024",
    );
    assert_error(&run_job(at, &["--seed", "1.5"]), "expected a whole number from 0 to 18446744073709551615");
    assert_error(&run_program(at, &["run", "", "--on", DRIVE]), "'<JOB|RESULT>...': the name is empty");
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_named_and_a_closed_pipe_changes_no_answer() {
    use std::os::unix::ffi::OsStrExt;
    let folder = folder_with_job_and_study();
    let at = folder.path();
    let job = ["run", "j.fio", "--on", DRIVE];
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for args in [&job[..], &["drives"], &["--help"], &["--version"], &["patterns", "--json"]] {
        let said = program_output(program_command(at).args(args).stdout(full()).output().unwrap());
        let error = "error: standard output: No space left on device";
        assert!(said.code == 2 && said.err.starts_with(error), "{args:?}: {}", said.err);
    }
    let log =
        program_output(program_command(at).args(job).args(["--log", "/dev/stdout"]).stdout(full()).output().unwrap());
    assert_error(&log, "error: /dev/stdout: No space left on device");
    assert_error(&run_job(at, &["--log", "/dev/full"]), "error: /dev/full: it is a character device; expected a file");
    assert_error(&run_job(at, &["--out", "/dev/full"]), "/dev/full: it is a file; expected a folder");
    assert_error(&run_job(at, &["--out", "j.fio/out"]), "j.fio/out: cannot be created: ");
    // The exit code of the answer "no" stays although nobody reads the output.
    let profile = include_str!("../../drives/profiles/caviar-wd400jb.toml");
    let lies = format!("{profile}\n[faults]\nearly_flush = {{ value = true, inferred = \"a test\" }}\n");
    fs::write(at.join("lies.toml"), lies).unwrap();
    let mut gone = program_command(at);
    let gone = gone.args(["drives", "lies.toml", "--check"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut gone = gone.spawn().unwrap();
    drop(gone.stdout.take());
    let gone = program_output(gone.wait_with_output().unwrap());
    assert!(gone.code == 1 && !gone.err.contains("error"), "{}", gone.err);
    let name = std::ffi::OsStr::from_bytes(b"j\xff.fio");
    let odd = program_output(program_command(at).arg("run").arg(name).args(["--on", DRIVE]).output().unwrap());
    assert_error(&odd, "not valid UTF-8");
}

#[test]
fn the_program_says_what_it_is() {
    let folder = folder_with_job_and_study();
    let long = run_program(folder.path(), &["--version"]).success_stdout();
    let first = format!("seekwise {}", env!("CARGO_PKG_VERSION"));
    assert_eq!(long.lines().next(), Some(first.as_str()));
    let made = run_job(folder.path(), &["--json"]).json();
    let build = format!("build:    {}", made["build"].as_str().unwrap());
    assert!(long.lines().any(|line| line == build) && long.contains("features:") && long.contains("places:"), "{long}");
    assert_eq!(run_program(folder.path(), &["-V"]).success_stdout().trim_end(), first);
}

/// Starts the program, sends it a signal when `ready` returns true, and returns its output.
#[cfg(unix)]
fn run_until_signal(folder: &Path, args: &[&str], signal: &str, ready: impl Fn() -> bool) -> ProgramOutput {
    let mut running = program_command(folder).args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !ready() {
        assert!(running.try_wait().unwrap().is_none(), "{args:?} ended before it was stopped");
        std::thread::yield_now();
    }
    let kill = std::process::Command::new("kill").args([signal, &running.id().to_string()]).status().unwrap();
    assert!(kill.success());
    program_output(running.wait_with_output().unwrap())
}

/// The number of lines of a file; 0 if it does not exist yet.
#[cfg(unix)]
fn count_lines(path: &Path) -> usize {
    fs::read(path).map_or(0, |bytes| bytes.iter().filter(|&&byte| byte == b'\n').count())
}

#[cfg(unix)]
#[test]
fn a_study_that_is_stopped_goes_on_to_the_same_bytes() {
    let folder = folder_with_job_and_study();
    let at = folder.path();
    fs::write(at.join("s.toml"), STUDY.replace("runs = 2", "runs = 12").replace("1 s", "60 s")).unwrap();
    let some = |name: &str| count_lines(&at.join(name).join("results.jsonl")) > 0;
    let study = run_until_signal(at, &["study", "s.toml", "--out", "my out"], "-INT", || some("my out"));
    assert_eq!((study.code, study.out.as_str()), (130, ""), "{}", study.err);
    let kept = count_lines(&at.join("my out/results.jsonl"));
    let again = "Again: seekwise study 'my out' --out 'my out-again'";
    let words = format!(
        "{again}\nInterrupted: {kept} of 24 runs are kept in my out. To continue:\nseekwise study 'my out' --resume\n"
    );
    assert_eq!(study.err, words);
    assert_eq!(sorted_names(&at.join("my out")), ["made-from.json", "results.jsonl", "study.toml", "sums.txt"]);
    let again = run_until_signal(at, &["study", "my out", "--resume"], "-TERM", || {
        count_lines(&at.join("my out/results.jsonl")) > kept
    });
    assert_eq!(again.code, 130, "{}", again.err);
    run_program(at, &["study", "my out", "--resume"]).success_stdout();
    run_program(at, &["study", "s.toml", "--out", "whole"]).success_stdout();
    for name in sorted_names(&at.join("whole")) {
        assert!(read_file(at, &format!("whole/{name}")) == read_file(at, &format!("my out/{name}")), "{name} differs");
    }
}

#[cfg(unix)]
#[test]
fn a_fit_that_is_stopped_writes_its_best_and_says_how_to_go_on() {
    let folder = folder_with_job_and_study();
    let at = folder.path();
    let row = |index: u64| format!("{},8,R,{},5\n", index * 7_368_787 % 70_000_000, 6 + index * 37 % 12);
    let rows: String = (0..2000).map(row).collect();
    fs::write(at.join("t.csv"), "lba,sectors,op,measured_response_ms,think_ms\n".to_owned() + &rows).unwrap();
    let words = ["fit", "t.csv", "--drive", DRIVE, "-o", "out.toml"];
    let fit = run_until_signal(at, &words, "-INT", || count_lines(&at.join("out.toml.journal")) > 20);
    assert_eq!(fit.code, 130, "{}", fit.err);
    assert!(fit.err.contains("Ending: the best so far is judged and written. Once more ends at once."), "{}", fit.err);
    assert!(fit.err.contains("another run may end elsewhere"), "{}", fit.err);
    assert!(fit.err.trim_end().ends_with("-o out.toml --resume"), "{}", fit.err);
    assert!(fit.out.contains("is now out.toml: the best until the fit ended early"), "{}", fit.out);
    assert!(at.join("out.toml").exists() && count_lines(&at.join("out.toml.journal")) > 20);
    // It is a drive, though not yet one that meets the checks of its datasheet (code 1).
    let shown = run_program(at, &["drives", "out.toml"]);
    assert!([0, 1].contains(&shown.code) && shown.err.is_empty(), "{}", shown.err);
}

#[cfg(unix)]
#[test]
fn a_comparison_and_a_run_that_are_stopped_say_what_is_kept() {
    let folder = folder_with_job_and_study();
    let at = folder.path();
    let vary = ["compare", "j.fio", "--on", DRIVE, "--runtime", "60 s", "--vary", "job.depth=1,8", "--runs", "2000"];
    let some = || count_lines(&at.join("c/results.jsonl")) > 0;
    let kept = run_until_signal(at, &[&vary[..], &["--out", "c"]].concat(), "-INT", some);
    assert_eq!(kept.code, 130);
    assert!(
        kept.err.ends_with("of 4000 runs are kept in c. To continue:\nseekwise study c --resume\n"),
        "{}",
        kept.err
    );
    let claims = ["claims", "q1", "--runs", "5000", "--out", "my claims"];
    let kept = run_until_signal(at, &claims, "-INT", || at.join("my claims").exists());
    let again = "To continue:\nseekwise claims q1 --runs 5000 --out 'my claims' --resume\n";
    assert!(kept.code == 130 && kept.err.ends_with(again), "{}", kept.err);
    // Nothing that was begun remains.
    let temporary = tempfile::tempdir().unwrap();
    let long = [&["run", "j.fio", "--on", DRIVE], &["--runtime", "30 d", "--log", "l.parquet"][..]].concat();
    let run = run_until_signal(at, &long, "-TERM", || !part_files(at).is_empty());
    assert_eq!((run.code, run.err.as_str().lines().last()), (130, Some("Interrupted: nothing was kept.")));
    assert!(part_files(at).is_empty() && !at.join("l.parquet").exists());
    let interrupted = |words: &[&str], has_begun: &dyn Fn(u32) -> bool| {
        let mut running = program_command(at);
        running.env("TMPDIR", temporary.path()).args(words).stderr(Stdio::piped()).stdout(Stdio::null());
        let mut running = running.spawn().unwrap();
        while !has_begun(running.id()) {
            assert!(running.try_wait().unwrap().is_none(), "{words:?} ended by itself");
            std::thread::yield_now();
        }
        std::process::Command::new("kill").args(["-INT", &running.id().to_string()]).status().unwrap();
        let ended = running.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(130), "{words:?}");
        assert_eq!(String::from_utf8(ended.stderr).unwrap().lines().last(), Some("Interrupted: nothing was kept."));
    };
    interrupted(&["claims", "q1", "--runs", "5000"], &|_| !sorted_names(temporary.path()).is_empty());
    // A comparison has no file to show that it has begun: its workers are there.
    if cfg!(target_os = "linux") {
        let threads = |id: u32| std::fs::read_dir(format!("/proc/{id}/task")).map_or(0, |tasks| tasks.count());
        interrupted(&vary, &|id| threads(id) > 2);
    }
    assert!(sorted_names(temporary.path()).is_empty());
}
