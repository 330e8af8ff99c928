//! fio's logs of requests (`write_iolog`, `read_iolog`): the written log equals fio's own, both programs replay it, and a job file may
//! not read or write files that it should not reach.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::seekwise::{run_program, sorted_names};

const DRIVE: &str = "barracuda-7200.7-ncq";

const JOB: &str = "[global]\nioengine=psync\nsize=4m\nbs=4k\nnumber_ios=200\n\
                   [a]\nfilename=fa\nrw=randrw\nfsync=16\nwrite_iolog=a.log\n\
                   [b]\nfilename=fb\nrw=write\nwrite_iolog=b.log\nstonewall\n";

fn folder_with_job(job: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("j.fio"), job).unwrap();
    folder
}

fn run_job(folder: &Path, more: &[&str]) -> crate::seekwise::ProgramOutput {
    run_program(folder, &[&["run", "j.fio", "--on", DRIVE, "--seed", "0"], more].concat())
}

/// The lines of a log that are requests, without their times.
fn log_requests(folder: &Path, log: &str) -> Vec<String> {
    let text = fs::read_to_string(folder.join(log)).unwrap();
    let lines = text.lines().skip(1).map(|line| line.split_once(' ').unwrap().1.to_owned());
    lines.filter(|line| line.split(' ').count() == 4).collect()
}

/// The output of fio 3.33 in this folder; `None` if it is not installed.
fn run_fio(folder: &Path, args: &[&str]) -> Option<String> {
    let version = Command::new("fio").arg("--version").output().ok()?;
    if !version.stdout.starts_with(b"fio-3.33") {
        return None;
    }
    let output = Command::new("fio").args(args).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_written_log_is_fios_own_and_fio_plays_it() {
    let (ours, theirs) = (folder_with_job(JOB), folder_with_job(JOB));
    run_job(ours.path(), &[]).success_stdout();
    let requests = |line: &&String| !line.contains(" sync ");
    assert_eq!(log_requests(ours.path(), "a.log").iter().filter(requests).count(), 200);
    if run_fio(theirs.path(), &["j.fio"]).is_none() {
        return eprintln!("skipped: fio 3.33 is wanted beside ours");
    }
    // The position and length of a sync are those of the request before it, so they are not compared.
    let plain = |folder: &Path, log| -> Vec<String> {
        let cut = |line: String| if line.contains(" sync ") { "fa sync".to_owned() } else { line };
        log_requests(folder, log).into_iter().map(cut).collect()
    };
    for log in ["a.log", "b.log"] {
        assert_eq!(plain(ours.path(), log), plain(theirs.path(), log), "{log}");
    }
    fs::copy(theirs.path().join("fa"), ours.path().join("fa")).unwrap();
    let said = run_fio(ours.path(), &["--name=r", "--read_iolog=a.log", "--replay_no_stall=1"]).unwrap();
    let issued = said.lines().find(|line| line.contains("issued rwts")).unwrap();
    let total: u64 =
        issued.split("total=").nth(1).unwrap().split(',').take(2).map(|it| it.parse::<u64>().unwrap()).sum();
    assert_eq!(total, 200, "{issued}");
}

#[test]
fn a_log_is_written_in_the_current_folder_and_replaces_logs_alone() {
    let here = folder_with_job(JOB);
    run_job(here.path(), &[]).success_stdout();
    assert_eq!(sorted_names(here.path()), ["a.log", "b.log", "j.fio"]);
    let again = run_job(here.path(), &[]);
    assert!(again.code == 2 && again.err.contains("a.log: already exists"), "{}", again.err);
    run_job(here.path(), &["--force"]).success_stdout();
    for path in ["../out.log", "/tmp/out.log", "logs/a.log", "./a.log", ".profile", "-rf", ".."] {
        let here = folder_with_job(&JOB.replace("a.log", path));
        let said = run_job(here.path(), &["--force"]);
        assert!(said.code == 2 && said.err.contains("expected a file name without a folder"), "{path}: {}", said.err);
        assert_eq!(sorted_names(here.path()), ["j.fio"]);
    }
    fs::write(here.path().join("a.log"), "mine").unwrap();
    let said = run_job(here.path(), &["--force"]);
    assert!(said.code == 2 && said.err.contains("exists and is no log of fio's"), "{}", said.err);
    assert_eq!(fs::read(here.path().join("a.log")).unwrap(), b"mine");
    fs::remove_file(here.path().join("a.log")).unwrap();
    let two = folder_with_job(&JOB.replace("b.log", "a.log"));
    assert!(run_job(two.path(), &[]).err.contains("is the log of another worker too"));
    let compared = run_program(here.path(), &["compare", "j.fio", "--on", DRIVE, "--vary", "job.depth=1,2"]);
    assert!(compared.err.contains("written by `seekwise run`"), "{}", compared.err);
}

#[test]
fn a_job_plays_a_log_with_its_distances_and_its_depth() {
    let log = "fio version 3 iolog\n0 f add\n0 f open\n1000 f read 0 4096\n1001 f read 81920000 4096\n\
               501001 f write 4096 4096\n501001 f sync 0 0\n501002 f close\n";
    let play = |lines: &str| {
        let here = folder_with_job(&format!("[a]\nread_iolog=log\n{lines}"));
        fs::write(here.path().join("log"), log).unwrap();
        run_job(here.path(), &["--json"])
    };
    let record = play("").json();
    let trace = &record["trace"];
    assert_eq!((trace["loop"].as_str(), trace["issued"].as_u64()), (Some("replay"), Some(4)));
    let took = |record: &serde_json::Value| record["trace"]["played_s"].as_f64().unwrap();
    // Half a second after the second, which waited for the first, and the sync after the write.
    assert!((0.5..0.6).contains(&took(&record)), "{record}");
    assert!(took(&play("replay_time_scale=200\n").json()) < 0.3);
    assert!(took(&play("replay_no_stall=1\n").json()) < 0.1);
    let apart = play("replay_scale=2\nreplay_align=4k\nreplay_redirect=/dev/sdb\n").json();
    assert_eq!(apart["trace"]["extent"].as_u64(), Some(40_960_000 + 4096));
    let said = play("numjobs=2\n");
    assert!(said.code == 2 && said.err.contains("`numjobs`: of a log that is played"), "{}", said.err);
    assert!(play("bs=8k\n").err.contains("`bs`: it does nothing where a log is played"));
}

#[test]
fn what_is_no_log_is_not_opened_for_a_job() {
    let here = folder_with_job("[a]\nread_iolog=log\n");
    let said = || run_job(here.path(), &[]);
    assert!(said().err.contains("j.fio:2: `read_iolog`: `log` cannot be read"), "{}", said().err);
    fs::write(here.path().join("log"), "root:x:0:0\n").unwrap();
    assert!(said().err.contains("is no log that fio plays") && !said().err.contains("root"), "{}", said().err);
    fs::write(here.path().join("log"), "0, 4096, 512\n").unwrap();
    assert!(said().err.contains("`seekwise run log` plays"), "{}", said().err);
    fs::write(here.path().join("j.fio"), "[a]\nread_iolog=/dev/zero\n").unwrap();
    assert!(said().err.contains("is no plain file"), "{}", said().err);
}
