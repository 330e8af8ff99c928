//! Result folders and journals that another process writes or that come from somebody else: only one process writes at a time, links
//! do not lead out of the folder, a killed start can be repeated, changed files are noticed, and endless texts are refused.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::seekwise::{ProgramOutput, program_command, program_output, run_program, sorted_names};

const STUDY: &str = "title = 'Depth'\nquestion = 'q'\nruns = 2\nsampling = 'fixed'\nruntime = '1 s'\njob = 'random-read'\n\
    [stack]\ndrive = 'barracuda-7200.7-ncq'\n[[factor]]\nname = 'depth'\nkey = 'job.depth'\nlevels = [1, 8]\n";

const FILES: [&str; 4] = ["study.toml", "made-from.json", "sums.txt", "results.jsonl"];

/// A folder with the study, and its results in `whole`.
fn folder_with_results() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.toml"), STUDY).unwrap();
    run_program(folder.path(), &["study", "s.toml", "--out", "whole"]).success_stdout();
    folder
}

/// Copies these files of `whole` into a new folder `out`.
fn copy_begun_results(folder: &Path, files: &[&str]) {
    let out = folder.join("out");
    let _ = fs::remove_dir_all(&out);
    fs::create_dir(&out).unwrap();
    for name in files {
        fs::copy(folder.join("whole").join(name), out.join(name)).unwrap();
    }
}

#[track_caller]
fn assert_error(said: &ProgramOutput, why: &str) {
    assert!(said.code == 2 && said.err.contains(why), "{} {}; expected {why}", said.code, said.err);
}

/// The checksum of a text: the first sixteen digits of its SHA-256.
pub fn line_sum(text: &str) -> String {
    seekwise_lab::digest::sha256(text.as_bytes())[..16].to_owned()
}

/// Rewrites the checksums of a changed folder, as somebody would do to hide the change.
pub fn rewrite_sums(folder: &Path) {
    let lines = ["study.toml", "made-from.json"].map(|name| {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        let lines = text.split_inclusive('\n').enumerate();
        lines.map(|(at, line)| format!("{name}:{} {}\n", at + 1, line_sum(line))).collect::<String>()
    });
    fs::write(folder.join("sums.txt"), lines.concat()).unwrap();
}

#[test]
fn a_folder_has_one_writer_and_any_reader() {
    let folder = tempfile::tempdir().unwrap();
    let (at, out) = (folder.path(), folder.path().join("out"));
    let long = STUDY.replace("runs = 2", "runs = 2000").replace("'1 s'", "'300 s'");
    fs::write(at.join("s.toml"), long).unwrap();
    let mut first = program_command(at);
    first.args(["study", "s.toml", "--threads", "1"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut first = first.spawn().unwrap();
    let lines = || fs::read_to_string(out.join("results.jsonl")).unwrap_or_default();
    while lines().is_empty() {
        assert!(first.try_wait().unwrap().is_none(), "it runs until it is killed");
        std::thread::yield_now();
    }
    let who = format!("out: process {} is writing here", first.id());
    assert_eq!(sorted_names(&out), ["made-from.json", "results.jsonl", "study.toml", "sums.txt"], "no file is a lock");
    for words in [
        &["study", "s.toml"][..],
        &["study", "s.toml", "--resume"],
        &["study", "s.toml", "--force"],
        &["study", "out", "--resume"],
        &["run", "random-read", "--on", "exos-x18", "--out", "out", "--force"],
    ] {
        assert_error(&run_program(at, words), &who);
    }
    let shown = run_program(at, &["report", "out", "--json"]).json();
    assert!(shown["missing_runs"].as_u64().unwrap() > 0);
    first.kill().unwrap();
    first.wait().unwrap();
    assert_error(&run_program(at, &["study", "s.toml"]), "already holds results");
    let whole = lines();
    let runs = whole.split_inclusive('\n').filter(|line| line.ends_with('\n')).count();
    let shown = run_program(at, &["report", "out", "--json"]).json();
    assert_eq!(shown["missing_runs"].as_u64().unwrap() as usize, 4000 - runs);
}

#[cfg(unix)]
#[test]
fn no_link_and_no_pipe_of_a_folder_is_followed() {
    use std::os::unix::fs::symlink;
    use std::process::Command;
    let folder = folder_with_results();
    let (at, out) = (folder.path(), folder.path().join("out"));
    let commands = [&["report", "out"][..], &["study", "out", "--resume"], &["study", "s.toml", "--resume"]];
    for name in FILES {
        copy_begun_results(at, &FILES);
        fs::rename(out.join(name), at.join("elsewhere")).unwrap();
        let before = fs::read(at.join("elsewhere")).unwrap();
        symlink(at.join("elsewhere"), out.join(name)).unwrap();
        for words in commands {
            assert_error(&run_program(at, words), "it is a link to ");
        }
        // Whether it replaces the link or refuses it, it does not follow it.
        fs::write(at.join("other.toml"), STUDY.replace("runs = 2", "runs = 3")).unwrap();
        let _ = run_program(at, &["study", "other.toml", "--force"]);
        assert!(fs::read(at.join("elsewhere")).unwrap() == before, "{name} was written through a link");
        copy_begun_results(at, &FILES);
        fs::remove_file(out.join(name)).unwrap();
        assert!(Command::new("mkfifo").arg(out.join(name)).status().unwrap().success());
        for words in commands {
            let waits = Command::new("timeout")
                .args(["60", env!("CARGO_BIN_EXE_seekwise")])
                .args(words)
                .current_dir(at)
                .output();
            assert_error(&program_output(waits.unwrap()), "it is a pipe");
        }
    }
    copy_begun_results(at, &FILES);
    fs::write(at.join("elsewhere"), "mine").unwrap();
    symlink(at.join("elsewhere"), out.join("report.html")).unwrap();
    for words in [commands[1], &["study", "s.toml", "--force"]] {
        let _ = run_program(at, words);
        assert!(fs::read(at.join("elsewhere")).unwrap() == b"mine", "{words:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_part_of_a_review_leads_nowhere_else() {
    let folder = folder_with_results();
    let at = folder.path();
    let review = "title = 't'\nquestion = 'q'\nintroduction = 'i'\n[[part]]\nstudy = \"s.toml\"\n";
    fs::write(at.join("r.toml"), review).unwrap();
    run_program(at, &["study", "r.toml"]).success_stdout();
    fs::rename(at.join("out/s"), at.join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(at.join("elsewhere"), at.join("out/s")).unwrap();
    for words in [
        &["report", "out"][..],
        &["study", "out", "--resume"],
        &["study", "r.toml", "--resume"],
        &["study", "r.toml", "--force"],
    ] {
        assert_error(&run_program(at, words), "out/s: it is a link to ");
    }
    // The folder has a part that the review itself does not have.
    fs::remove_file(at.join("out/s")).unwrap();
    let made = fs::read_to_string(at.join("out/made-from.json")).unwrap();
    fs::write(at.join("out/made-from.json"), made.replace("\"folder\": \"s\"", "\"folder\": \"../elsewhere\""))
        .unwrap();
    rewrite_sums(&at.join("out"));
    assert_error(&run_program(at, &["report", "out"]), "its parts are not those of study.toml");
}

#[test]
fn what_a_killed_start_leaves_is_taken_over() {
    let folder = folder_with_results();
    let (at, out) = (folder.path(), folder.path().join("out"));
    let same = |how: &str| {
        for name in FILES.iter().chain(&["report.html"]) {
            let of = |folder: &str| fs::read(at.join(folder).join(name)).unwrap();
            assert!(of("out") == of("whole"), "{how}: {name} differs");
        }
        assert_eq!(sorted_names(&out), sorted_names(&at.join("whole")), "{how}");
    };
    // The files are written in this order; the last one is empty before the first run ends.
    for left in 0..=FILES.len() {
        let state = || {
            copy_begun_results(at, &FILES[..left]);
            if left == FILES.len() {
                fs::write(out.join("results.jsonl"), "").unwrap();
            }
        };
        let ways: [&[&str]; 3] =
            [&["study", "s.toml"], &["study", "s.toml", "--resume"], &["study", "out", "--resume"]];
        // A folder tells which study it belongs to as soon as it has its second file.
        for words in &ways[..if left < 2 { 2 } else { 3 }] {
            state();
            let came = run_program(at, words);
            assert!(!came.err.contains("warning"), "{}", came.err);
            came.success_stdout();
            same(&format!("{left} files, {words:?}"));
        }
    }
}

#[test]
fn a_file_of_somebody_else_stays_in_a_result_folder() {
    let folder = folder_with_results();
    let at = folder.path();
    for name in [".lock", "out.lock", "notes"] {
        copy_begun_results(at, &FILES);
        let theirs = at.join("out").join(name);
        fs::write(&theirs, "theirs").unwrap();
        for words in [&["study", "s.toml", "--force"][..], &["study", "out", "--resume"]] {
            run_program(at, words).success_stdout();
            assert_eq!(fs::read_to_string(&theirs).unwrap(), "theirs", "{name} {words:?}");
        }
    }
}

#[test]
fn what_somebody_else_changed_is_replaced_by_force_only() {
    let folder = folder_with_results();
    let (at, out) = (folder.path(), folder.path().join("out"));
    for name in ["study.toml", "made-from.json"] {
        copy_begun_results(at, &FILES[..2]);
        let changed = fs::read_to_string(out.join(name)).unwrap() + "\n";
        fs::write(out.join(name), &changed).unwrap();
        for words in [&["study", "s.toml"][..], &["study", "s.toml", "--resume"]] {
            assert_error(&run_program(at, words), &format!("out/{name}: is not the one that this study writes"));
            assert_eq!(fs::read_to_string(out.join(name)).unwrap(), changed);
        }
        run_program(at, &["study", "s.toml", "--force"]).success_stdout();
        assert!(fs::read(out.join(name)).unwrap() == fs::read(at.join("whole").join(name)).unwrap());
    }
}

#[test]
fn a_folder_that_holds_results_is_refused_before_anything_is_planned() {
    let folder = folder_with_results();
    let at = folder.path();
    fs::write(at.join("s.toml"), STUDY.replace("barracuda", "nothing")).unwrap();
    assert_error(&run_program(at, &["study", "s.toml", "--out", "new"]), "nothing-7200.7-ncq");
    assert_error(&run_program(at, &["study", "s.toml", "--out", "whole"]), "whole: already holds results");
    assert_error(&run_program(at, &["study", "whole", "--out", "whole"]), "whole: already holds results");
}

#[test]
fn a_text_without_end_is_refused_at_its_limit() {
    let folder = folder_with_results();
    let at = folder.path();
    fs::write(at.join("long.fio"), vec![b'#'; 3 << 20]).unwrap();
    let on = ["--on", "exos-x18", "--max-memory", "8m"];
    let limit = "long.fio: cannot be read: it has more than 2.1 MB, the limit of a text: a quarter of --max-memory";
    assert_error(&run_program(at, &[&["run", "long.fio"][..], &on].concat()), limit);
    if cfg!(target_os = "linux") {
        assert_error(
            &run_program(at, &[&["run", "/dev/zero"][..], &on].concat()),
            "/dev/zero: cannot be read: it has more than",
        );
    }
    // A hole of a tebibyte.
    fs::File::create(at.join("long.toml")).unwrap().set_len(1 << 40).unwrap();
    assert_error(
        &run_program(at, &["run", "random-read", "--on", "long.toml", "--max-memory", "8m"]),
        "it has more than 2.1 MB",
    );
}
