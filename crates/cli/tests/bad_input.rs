//! Errors in input files and arguments: each names file, line and key, says what was expected, and suggests the nearest known word.
//! The exit code is 2, nothing is on standard output, and nothing is written.

use std::fs;
use std::path::Path;

use crate::seekwise::{run_program, sorted_names};

const DRIVE: &str = "barracuda-7200.7-ncq";

const PROFILE: &str = include_str!("../../drives/profiles/barracuda-7200.7-ncq.toml");

const JOB: &str = "[j]\nrw=randread\nsize=1g\nruntime=1\n";

const ICF: &str = "Version 1.1.0\n'ACCESS SPECIFICATIONS ==\n'Access specification name,default assignment\n\
                   \tMixed,NONE\n'size,% of size,% reads,% random,delay,burst,align,reply\n\
                   \t512,60,100,100,0,1,0,0\n\t4096,39,100,100,0,1,0,0\n'END access specifications\n\
                   'MANAGER LIST ==\n'Manager ID, manager name\n\t1,H\n'Worker\n\tW\n'Worker type\n\tDISK\n\
                   'Assigned access specs\n\tMixed\n'Target assignments\n'Target\n\tC:\n'End target\n'End worker\n\
                   'End manager\n'END manager list\n";

const STUDY: &str = "title = 't'\nquestion = 'q'\nruns = 2\nruntime = '1 s'\njob = 'random-read'\n\
                     [stack]\ndrive = 'barracuda-7200.7-ncq'\n\
                     [[factor]]\nname = 'depth'\nkey = 'job.depth'\nlevels = [1, 8]\n";

/// Runs the program in a new folder with these files. Asserts exit code 2, this standard error, and nothing else.
#[track_caller]
fn assert_error_with_files(files: &[(&str, &[u8])], args: &[&str], errors: &str) {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    assert_error(folder.path(), args, errors);
}

#[track_caller]
fn assert_error(folder: &Path, args: &[&str], errors: &str) {
    let before = sorted_names(folder);
    let said = run_program(folder, args);
    assert_eq!(said.err.trim_end(), errors.trim_end());
    assert_eq!((said.code, said.out.as_str()), (2, ""));
    assert_eq!(sorted_names(folder), before, "something was written");
}

/// Asserts the error of `run random-read` on the built-in drive with more arguments.
#[track_caller]
fn assert_run_error(more: &[&str], errors: &str) {
    assert_error_with_files(&[], &[&["run", "random-read", "--on", DRIVE], more].concat(), errors);
}

#[test]
fn a_misspelt_option_of_a_job_file() {
    let job = JOB.replace("rw=", "iodeph=4\nrw=");
    assert_error_with_files(
        &[("job.fio", job.as_bytes())],
        &["run", "job.fio", "--on", DRIVE, "--log", "log.parquet"],
        "error: job.fio:2: `iodeph`: unknown option; expected a fio option; did you mean `iodepth`?",
    );
}

#[test]
fn shares_that_sum_to_99() {
    assert_error_with_files(
        &[("mixed.icf", ICF.as_bytes())],
        &["run", "mixed.icf", "--on", DRIVE],
        "error: mixed.icf:4: `Mixed`: the shares of its 2 rows sum to 99 %; expected 100 %",
    );
}

#[test]
fn a_profile_with_overlapping_zones() {
    let profile = PROFILE.replace("{ first = 5632,", "{ first = 5600,");
    assert_error_with_files(
        &[("drive.toml", profile.as_bytes())],
        &["run", "random-read", "--on", "drive.toml"],
        "error: drive.toml:31: `geometry.zones`: zone 1 begins at cylinder 5600 and overlaps zone 0 (line 30), which ends before 5632; expected first = 5632\nerror: drive.toml:32: `geometry.zones`: zone 2 begins at cylinder 11008 and leaves a gap after zone 1 (line 31), which ends before 10976; expected first = 10976",
    );
}

#[test]
fn a_negative_segment_count_in_a_profile() {
    let line = PROFILE.lines().find(|line| line.starts_with("segments ")).unwrap();
    let profile = PROFILE.replace(line, "segments = { value = -1, inferred = \"a slip\" }");
    assert_error_with_files(
        &[("drive.toml", profile.as_bytes())],
        &["run", "random-read", "--on", "drive.toml"],
        "error: drive.toml:61: `cache.segments`: -1 is out of range; expected a whole number from 0 to 4096",
    );
    assert_error_with_files(
        &[("drive.toml", profile.as_bytes())],
        &["drives", "drive.toml"],
        "error: drive.toml:61: `cache.segments`: -1 is out of range; expected a whole number from 0 to 4096",
    );
}

#[test]
fn a_negative_segment_count_on_the_command_line() {
    assert_run_error(
        &["--set", "drive.cache.segments=-1"],
        "error: --set: `drive.cache.segments`: -1 is out of range; expected a whole number from 0 to 4096",
    );
}

#[test]
fn keys_and_values_that_there_are_not() {
    assert_run_error(
        &["--set", "drive.cache.segmnts=4"],
        "error: --set: `drive.cache.segmnts`: unknown key; did you mean `drive.cache.segments`?",
    );
    assert_run_error(
        &["--set", "foo.bar=1"],
        "error: --set: `foo.bar`: unknown key; expected a key of a stack layer or of the job (see `seekwise keys`)",
    );
    assert_run_error(
        &["--set", "job.dpth=4"],
        "error: command line: `job.dpth`: unknown key; expected job, job.depth, job.runtime, job.ramp, job.counted, job.span, job.env.NAME; did you mean `job.depth`?",
    );
    assert_run_error(
        &["--set", "job.depth=deep"],
        "error: command line: `job.depth`: `deep` is invalid; expected a queue depth from 1 to 65535",
    );
    assert_run_error(
        &["--set", "drive.cache.write_back=maybe"],
        "error: --set: `drive.cache.write_back`: `maybe` is not a switch; expected on or off (or true, false, yes, no, 1, 0)",
    );
    assert_run_error(
        &["--set", "drive.firmware.depth=2.5"],
        "error: --set: `drive.firmware.depth`: has type float; expected a whole number from 1 to 256",
    );
    assert_run_error(
        &["--set", "drive.firmware.queue.policy=stpf"],
        "error: --set: `drive.firmware.queue.policy`: unknown word `stpf`; expected one of fcfs, sstf, look, clook, sptf; did you mean `sptf`?",
    );
    assert_run_error(
        &["--set", "drive.cache.segments"],
        "error: invalid value 'drive.cache.segments' for '--set <KEY=VALUE>': `drive.cache.segments` has no `=`; expected KEY=VALUE\n\nFor more information, try '--help'.",
    );
    assert_run_error(
        &["--runtime", "soon"],
        "error: command line: `job.runtime`: `soon` is invalid; expected a duration such as 30 s, 10 m or 500 ms",
    );
    assert_run_error(
        &["--seed", "-1"],
        "error: unexpected argument '-1' found\n\nUsage: seekwise run [OPTIONS] --on <TARGET> <JOB|RESULT>...\n\nFor more information, try '--help'.",
    );
    assert_run_error(
        &["--format", "xml"],
        "error: invalid value 'xml' for '--format <FORMAT>'\n  [possible values: text, json, fio-json, csv]\n\nFor more information, try '--help'.",
    );
}

#[test]
fn names_that_there_are_not() {
    assert_error_with_files(
        &[],
        &["run", "random-reed", "--on", DRIVE],
        "error: random-reed: no such file, and no built-in pattern or job with that name; did you mean `random-read`?",
    );
    assert_error_with_files(
        &[],
        &["run", "random-read", "--on", "exos-x81"],
        "error: exos-x81: no such file, and no built-in drive of that name; did you mean `exos-x18`?",
    );
    assert_error_with_files(
        &[],
        &["drives", "exos-x81"],
        "error: exos-x81: no such built-in drive; expected a name that `seekwise drives` lists, or a profile's file; did you mean `exos-x18`?",
    );
    assert_error_with_files(
        &[],
        &["run", "random-read", "--on", "stack.toml"],
        "error: stack.toml: cannot be read: No such file or directory (os error 2)",
    );
    assert_error_with_files(
        &[("s.toml", b"driver = 'direct'\ndrive = 'exos-x81'\n")],
        &["run", "random-read", "--on", "s.toml"],
        "error: s.toml:2: `drive`: `exos-x81`: no such file, and no built-in drive of that name; did you mean `exos-x18`?",
    );
    #[cfg(target_os = "linux")]
    assert_error_with_files(
        &[],
        &["run", "random-read", "--on", "device:/dev/none/sdz"],
        "error: command line: `place`: /dev/none/sdz: No such file or directory (os error 2)",
    );
    assert_error_with_files(
        &[],
        &["study", "ncq-alon"],
        "error: ncq-alon: no study file, and no built-in study with that name; expected one that `seekwise studies` lists; did you mean `ncq-alone`?",
    );
    assert_error_with_files(&[], &["report", "nowhere"], "error: nowhere: No such file or directory (os error 2)");
    assert_error_with_files(
        &[],
        &["rum"],
        "error: unrecognized subcommand 'rum'\n\n  tip: a similar subcommand exists: 'run'\n\nUsage: seekwise [OPTIONS] <COMMAND>\n\nFor more information, try '--help'.",
    );
}

#[test]
fn files_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::create_dir(path.join("jobs")).unwrap();
    fs::write(path.join("binary.fio"), b"\x7fELF\x02\0\0\0").unwrap();
    fs::write(path.join("latin.fio"), b"[j]\nrw=read\nsiez=1m\n# caf\xe9\n").unwrap();
    fs::write(path.join("include.fio"), b"[j]\nrw=read\ninclude jobs\n").unwrap();
    fs::write(path.join("empty.fio"), b"").unwrap();
    assert_error(
        path,
        &["run", "jobs", "--on", DRIVE],
        "error: jobs: cannot be read: it is a directory; expected a file",
    );
    assert_error(
        path,
        &["run", "random-read", "--on", "jobs"],
        "error: jobs: is a folder; expected --on file:jobs to measure a file in it",
    );
    assert_error(path, &["study", "jobs"], "error: jobs: cannot be read: it is a directory; expected a file");
    assert_error(
        path,
        &["run", "binary.fio", "--on", DRIVE],
        "error: binary.fio: cannot be read: it contains null bytes; expected a text file",
    );
    assert_error(
        path,
        &["run", "latin.fio", "--on", DRIVE],
        "error: latin.fio:3: `siez`: unknown option; expected a fio option; did you mean `size`?",
    );
    assert_error(
        path,
        &["run", "include.fio", "--on", DRIVE],
        "error: include.fio:3: `include`: jobs cannot be read: it is a directory; expected a file",
    );
    assert_error(
        path,
        &["run", "empty.fio", "--on", DRIVE],
        "error: empty.fio: there is no job in the file; expected a section such as [job]",
    );
}

#[cfg(unix)]
#[test]
fn a_file_without_leave_to_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shut.fio");
    fs::write(&path, JOB).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&path).is_ok() {
        eprintln!("skipped: this user may read any file");
        return;
    }
    assert_error(
        folder.path(),
        &["run", "shut.fio", "--on", DRIVE],
        "error: shut.fio: cannot be read: Permission denied (os error 13)",
    );
}

#[test]
fn a_comparison_needs_two_values() {
    let args = ["compare", "random-read", "--on", DRIVE, "--vary"];
    assert_error_with_files(
        &[],
        &[&args[..], &["job.depth=1"]].concat(),
        "error: --vary job.depth=1: expected at least two values, as in --vary job.depth=A,B or job.depth=1..32",
    );
    assert_error_with_files(
        &[],
        &[&args[..], &["job.dpth=1,2"]].concat(),
        "error: command line: `job.dpth`: unknown key; expected job, job.depth, job.runtime, job.ramp, job.counted, job.span, job.env.NAME; did you mean `job.depth`?",
    );
    assert_error_with_files(
        &[],
        &[&args[..], &["job.depth=1,deep"]].concat(),
        "error: command line: `job.depth`: `deep` is invalid; expected a queue depth from 1 to 65535",
    );
    assert_error_with_files(
        &[],
        &[&args[..], &["job.depth=4,4"]].concat(),
        "error: --vary job.depth=4,4: duplicate value `4`; expected different values",
    );
}

#[test]
fn a_study_with_a_slip() {
    let study = |text: &str, errors: &str| {
        assert_error_with_files(&[("s.toml", text.as_bytes())], &["study", "s.toml", "--out", "out"], errors);
    };
    study(
        &STUDY.replace("levels", "levles"),
        "error: s.toml:11: `levles`: unknown key; expected name, unit, says, key, levels, classes, bundle; did you mean `levels`?",
    );
    study(
        &STUDY.replace("runs = 2", "runs = 'two'"),
        "error: s.toml:3: `runs`: is the string \"two\"; expected a whole number from 0",
    );
    study(
        &STUDY.replace("'1 s'", "'1 sec'"),
        "error: s.toml:4: unknown unit of time `sec`; expected ns, us, ms, s, m, h or d",
    );
    study(
        &STUDY.replace("job.depth", "job.dpth"),
        "error: s.toml:10: `job.dpth`: unknown key; expected job, job.depth, job.runtime, job.ramp, job.counted, job.span, job.env.NAME; did you mean `job.depth`?",
    );
    study(
        &STUDY.replace("[1, 8]", "[1, 'deep']"),
        "error: s.toml:10: `job.depth`: `deep` is invalid; expected a queue depth from 1 to 65535",
    );
    study(
        &STUDY.replace("barracuda-7200.7-ncq", "barracuda"),
        "error: s.toml:7: `barracuda`: no such file, and no built-in drive of that name; expected one of barracuda-7200.7, barracuda-7200.7-ncq, barracuda-2t-st2000dm006",
    );
    study(&STUDY.replace("[stack]", "[stack"), "error: s.toml:6: unclosed table, expected `]`");
    study(
        &STUDY.replace("random-read", "random-reed"),
        "error: s.toml:5: `random-reed`: no such file, and no built-in pattern or job with that name; did you mean `random-read`?",
    );
}

#[test]
fn a_job_that_does_not_fit_the_drive() {
    let job = JOB.replace("1g", "1t");
    assert_error_with_files(
        &[("job.fio", job.as_bytes())],
        &["run", "job.fio", "--on", DRIVE],
        "error: job.fio:3: `size`: job j: j.0.0 asks for 1099511627776 bytes, and there are 160041885696",
    );
}
