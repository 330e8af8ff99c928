//! Recorded traces as jobs: on every place and in every command, in open and closed loop, mapped to smaller disks, with a certificate;
//! refusals; and the notes on traces that another program recorded.

use std::fs;
use std::path::{Path, PathBuf};

use crate::seekwise::{ProgramOutput, program_command, program_output, run_program, sorted_names, wild_folder};
use serde_json::Value;

const DRIVE: &str = "barracuda-7200.7-ncq";

/// A trace in the format of MSR Cambridge: sixty requests of 1 to 16 KiB, 20 ms apart, of 5 ms each; two lines are swapped.
fn msr_trace() -> String {
    let row = |i: u64| {
        let at = 128_166_372_003_061_629 + i * 200_000;
        let op = if i.is_multiple_of(3) { "Write" } else { "Read" };
        format!("{at},usr,0,{op},{},{},50000\n", i * 48_271 % 1_000 * 1_048_576, 1_024 << (i % 5))
    };
    let mut rows: Vec<String> = (0..60).map(row).collect();
    rows.swap(7, 8);
    rows.concat()
}

fn folder_with_trace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.csv"), msr_trace()).unwrap();
    folder
}

fn run_trace(folder: &Path, more: &[&str]) -> ProgramOutput {
    run_program(folder, &[&["run", "t.csv", "--on", DRIVE], more].concat())
}

fn run_trace_json(folder: &Path, more: &[&str]) -> Value {
    run_trace(folder, &[more, &["--json"]].concat()).json()
}

#[test]
fn an_open_loop_keeps_its_instants_and_says_so() {
    let folder = folder_with_trace();
    let record = run_trace_json(folder.path(), &[]);
    let trace = &record["trace"];
    let count = |key: &str| trace[key].as_u64().unwrap();
    assert_eq!([count("requests"), count("issued"), count("reordered"), count("responses")], [60, 60, 1, 60]);
    assert_eq!((record["read"]["ios"].as_u64(), record["write"]["ios"].as_u64()), (Some(40), Some(20)));
    assert_eq!((trace["format"].as_str(), trace["loop"].as_str()), (Some("msr"), Some("open")));
    assert_eq!((trace["span_s"].as_f64(), trace["played_s"].as_f64()), (Some(1.18), Some(1.18)));
    assert_eq!(trace["issue_error_ms"]["max"].as_f64(), Some(0.0), "virtual time is exact");
    assert_eq!((count("size_median"), count("size_largest")), (4_096, 16_384));
    for (speed, played) in [("2", 0.59), ("0.5", 2.36)] {
        let record = run_trace_json(folder.path(), &["--set", &format!("trace.speed={speed}")]);
        assert_eq!(record["trace"]["played_s"].as_f64(), Some(played));
        assert_eq!(record["trace"]["issue_error_ms"]["max"].as_f64(), Some(0.0));
        assert_eq!(record["stream_hash"], run_trace_json(folder.path(), &[])["stream_hash"], "the same requests");
    }
    let text = run_trace(folder.path(), &[]).success_stdout();
    for said in [
        "60 requests, format msr, in 1.180 s",
        "Played in an open loop: 60 requests",
        "1 were out of order",
        "Read as: instants in units of 100 ns",
    ] {
        assert!(text.replace("\n    ", " ").contains(said), "{said}: {text}");
    }
    let ended = run_trace_json(folder.path(), &["--runtime", "500 ms"]);
    assert_eq!(ended["trace"]["issued"].as_u64(), Some(25), "0, 20, … 480 ms");
}

#[test]
fn closed_and_dependent_loops_go_as_fast_as_the_disk() {
    let folder = folder_with_trace();
    let closed = |depth: &str| {
        run_trace_json(folder.path(), &["--set", "trace.loop=closed", "--set", &format!("job.depth={depth}")])
    };
    let rate = |record: &Value| record["all"]["iops"].as_f64().unwrap();
    assert!(rate(&closed("8")) > rate(&closed("1")), "a queue helps");
    // In this trace no requests overlap: each waits until 15 ms after the one before.
    let dependent = run_trace_json(folder.path(), &["--set", "trace.loop=dependent"]);
    let played = dependent["trace"]["played_s"].as_f64().unwrap();
    let responses = dependent["all"]["response_ms"]["mean"].as_f64().unwrap() * 60.0 / 1e3;
    assert!((played - (59.0 * 0.015 + responses)).abs() < 0.02, "{played} s, responses {responses} s");
    assert!(dependent["trace"]["issue_error_ms"]["max"].as_f64().unwrap() > 0.0, "it has left the recorded instants");
}

#[test]
fn every_command_and_place_takes_a_trace() {
    let folder = folder_with_trace();
    let at = folder.path();
    let on_null = run_program(at, &["run", "t.csv", "--on", "null", "--set", "trace.speed=4", "--json"]).json();
    let sim = run_trace_json(at, &[]);
    assert_eq!(on_null["stream_hash"], sim["stream_hash"], "every place gets the same requests");
    assert_eq!(on_null["trace"]["held"].as_u64(), Some(0));
    let vary = ["compare", "t.csv", "--on", DRIVE, "--vary", "drive.firmware.depth=1,32", "--runs", "2", "--json"];
    let compared = run_program(at, &vary).json();
    assert!(compared["verdict"].is_string(), "{compared}");
    let vary = ["compare", "t.csv", "--on", DRIVE, "--vary", "trace.speed=1,4", "--runs", "2", "--metric", "mean"];
    let compared = run_program(at, &vary).success_stdout();
    assert!(compared.contains("trace.speed=4"), "{compared}");
    let cut = run_program(at, &["power-cut", "t.csv", "--on", DRIVE, "--cuts", "20", "--json"]).json();
    assert_eq!(cut["writes"].as_u64(), Some(20), "{cut}");
    let keys = run_program(at, &["keys", "trace"]).success_stdout();
    assert!(keys.contains("trace.loop") && keys.contains("trace.map"), "{keys}");
}

#[test]
fn a_folder_keeps_what_the_trace_was_and_goes_on_with_that_alone() {
    let folder = folder_with_trace();
    let at = folder.path();
    let study = "title = 't'\nquestion = 'q'\nruns = 2\njob = 't.csv'\n[stack]\ndrive = 'barracuda-7200.7-ncq'\n\
        [[factor]]\nname = 'speed'\nkey = 'trace.speed'\nlevels = [1, 8]\n";
    fs::write(at.join("s.toml"), study).unwrap();
    run_program(at, &["study", "s.toml", "--out", "out"]).success_stdout();
    let made = fs::read_to_string(at.join("out/made-from.json")).unwrap();
    assert!(made.contains("60 requests of msr, hash") && !made.contains("usr,0"), "its text is not kept");
    let results = fs::read_to_string(at.join("out/results.jsonl")).unwrap();
    let lines: Vec<&str> = results.lines().collect();
    assert_eq!(lines.len(), 4);
    fs::write(at.join("out/results.jsonl"), format!("{}\n", lines[0])).unwrap();
    run_program(at, &["study", "s.toml", "--out", "out", "--resume"]).success_stdout();
    assert_eq!(fs::read_to_string(at.join("out/results.jsonl")).unwrap(), results, "a run is the same again");
    // The page is made from the folder alone.
    fs::rename(at.join("t.csv"), at.join("gone.csv")).unwrap();
    run_program(at, &["report", "out"]).success_stdout();
    fs::write(at.join("t.csv"), msr_trace().replace(",1024,", ",2048,")).unwrap();
    fs::write(at.join("out/results.jsonl"), format!("{}\n", lines[0])).unwrap();
    let refused = run_program(at, &["study", "s.toml", "--out", "out", "--resume"]);
    assert!(
        refused.code == 2 && refused.err.contains("it is another trace now: 60 requests of msr, hash"),
        "{}",
        refused.err
    );
}

#[test]
fn slips_are_told_before_anything_runs() {
    let folder = folder_with_trace();
    let at = folder.path();
    let error = |more: &[&str]| {
        let said = run_trace(at, more);
        assert_eq!(said.code, 2, "{}", said.out);
        said.err
    };
    for (more, expected) in [
        (&["--set", "trace.sped=2"][..], "`trace.sped`: unknown key; expected trace.format, trace.loop"),
        (&["--set", "trace.speed=0"], "`trace.speed`: `0` is invalid; expected 0.001 to 1000"),
        (
            &["--set", "trace.event=issued"],
            "`trace.event`: MSR Cambridge has no such setting; expected it only with blktrace and blkparse",
        ),
        (
            &["--set", "job.depth=4"],
            "`job.depth`: a trace has no depth but in a closed loop; expected trace.loop=closed beside it",
        ),
        (
            &["--set", "job.ramp=1 s"],
            "`job.ramp`: a trace has no workers; expected job.runtime, job.depth, job.span, or a key of the trace",
        ),
        (&["--set", "trace.loop=closed", "--set", "trace.speed=2"], "`trace.speed`: a closed loop goes by no instants"),
        (&["--set", "trace.device=src1,0"], "`trace.device`: no request belongs to `src1,0`; expected usr,0"),
        (&["--set", "job.env.X=1"], "the job has no variable `X`"),
        (&["--set", "pagecache.mib=64"], "`pagecache.mib`: is not a scene"),
        (
            &["--set", "trace.time=s"],
            "t.csv:1: `Timestamp`: `128166372003061629` is invalid; expected a time in seconds, below 584 years",
        ),
        (&["--trace-format", "spc"], "t.csv:1: `Opcode`: `Write` is invalid; expected R or W"),
        (&["--trace-format", "msr", "--set", "trace.format=msr"], "--trace-format names the format"),
        (
            &["--set", "job.span=500m"],
            "`trace.map`: 30 of 60 requests lie beyond the target's 0.5 GB: the trace takes 1.0 GB; expected wrap, scale or compact",
        ),
        (&["--format", "fio-json"], "a scene, session or trace has no fio jobs"),
    ] {
        let said = error(more);
        assert!(said.contains(expected), "{more:?}: {said}");
    }
    fs::write(at.join("j.fio"), "[a]\nrw=read\nsize=1m\n").unwrap();
    let said = run_program(at, &["run", "j.fio", "--on", DRIVE, "--set", "trace.speed=2"]).err;
    assert!(said.contains("`trace.speed`: is no trace; expected a trace"), "{said}");
    fs::write(at.join("t.gz"), b"\x1f\x8b\x08\0").unwrap();
    let said = run_program(at, &["run", "t.gz", "--on", DRIVE]).err;
    assert!(said.contains("t.gz: cannot be read: as gzip: "), "{said}");
    fs::write(at.join("t.bz2"), b"BZh91AY&SY").unwrap();
    let said = run_program(at, &["run", "t.bz2", "--on", DRIVE]).err;
    assert!(
        said.contains("compressed with bzip2; expected gzip, zstd, xz, or plain text as from `bzcat FILE`"),
        "{said}"
    );
    assert_eq!(sorted_names(at), ["j.fio", "t.bz2", "t.csv", "t.gz"]);
}

#[test]
fn a_larger_device_is_mapped_and_that_is_counted() {
    let folder = folder_with_trace();
    for map in ["wrap", "scale", "compact"] {
        let said = run_trace_json(folder.path(), &["--set", "job.span=500m", "--set", &format!("trace.map={map}")]);
        assert_eq!((said["trace"]["issued"].as_u64(), said["failures"].as_u64()), (Some(60), Some(0)), "{map}");
        assert!(said["trace"]["moved"].as_u64().unwrap() > 20, "{map}");
        assert_eq!(said["trace"]["map"].as_str(), Some(map));
    }
}

/// Also through standard input, and of two processors.
#[test]
fn a_trace_may_come_on_standard_input_and_in_parts() {
    use std::io::Write;
    let folder = folder_with_trace();
    let mut child = program_command(folder.path());
    child.args(["run", "-", "--on", DRIVE, "--json"]).stdin(std::process::Stdio::piped());
    child.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = child.spawn().unwrap();
    child.stdin.take().unwrap().write_all(msr_trace().as_bytes()).unwrap();
    let record = program_output(child.wait_with_output().unwrap()).json();
    assert_eq!(record["trace"]["issued"].as_u64(), Some(60));
    let event = |at: u64, sector: u64| {
        let mut record = [0x6561_7407u32.to_le_bytes(), 1u32.to_le_bytes()].concat();
        record.extend([at.to_le_bytes(), sector.to_le_bytes()].concat());
        record.extend([4096u32, 1 | 1 << 16, 9, 8 << 20, 0, 0].map(u32::to_le_bytes).concat());
        record
    };
    fs::write(folder.path().join("sda.blktrace.0"), [event(0, 0), event(9_000_000, 64)].concat()).unwrap();
    fs::write(folder.path().join("sda.blktrace.1"), event(5_000_000, 8)).unwrap();
    let record = run_program(folder.path(), &["run", "sda.blktrace.1", "--on", DRIVE, "--json"]).json();
    assert_eq!(record["trace"]["issued"].as_u64(), Some(3), "the files of all processors are one trace");
}

/// The output of a shell command, in which `$S` is the program.
#[cfg(unix)]
fn run_in_shell(folder: &Path, text: &str) -> ProgramOutput {
    let mut shell = std::process::Command::new("sh");
    shell.current_dir(folder).env("S", env!("CARGO_BIN_EXE_seekwise")).args(["-c", text]);
    program_output(shell.output().expect("a shell"))
}

/// By the packers of the machine; those that are not there are left out.
#[test]
#[cfg(unix)]
fn packed_traces_and_pipes_are_played_as_what_is_in_them() {
    let folder = folder_with_trace();
    let at = folder.path();
    fs::write(at.join("j.fio"), "[a]\nrw=randread\nbs=4k\nsize=1g\nnumber_ios=20\n").unwrap();
    let plain = run_trace_json(at, &[]);
    let same = |text: &str| {
        let record = run_in_shell(at, &format!("{text} --on {DRIVE} --json")).json();
        assert_eq!(record["stream_hash"], plain["stream_hash"], "{text}");
        assert_eq!(record["trace"]["span_s"], plain["trace"]["span_s"], "{text}");
    };
    let packers =
        [("t.gz", "gzip -c t.csv"), ("t.zst", "zstd -c t.csv"), ("t.xz", "xz -c t.csv"), ("t.tgz", "tar cz t.csv")];
    for (name, packer) in packers {
        if run_in_shell(at, &format!("{packer} > {name}")).code == 0 {
            same(&format!("$S run {name}"));
            same(&format!("cat {name} | $S run -"));
        }
    }
    same("mkfifo p; cat t.csv > p & $S run p");
    let said = run_in_shell(at, "tar cz t.csv j.fio > two.tgz && $S run two.tgz --on barracuda-7200.7");
    assert!(said.code == 2 && said.err.contains("it holds several files (t.csv, j.fio …)"), "{}", said.err);
    // A job comes by a pipe too, and one that is asked for again by what is kept of it.
    let vary = "--vary job.depth=1,2 --runs 2 --json";
    let job = run_in_shell(at, &format!("mkfifo q; cat j.fio > q & $S compare q --on {DRIVE} {vary}")).json();
    assert!(job["verdict"].is_string(), "{job}");
}

#[test]
fn what_is_long_and_comes_once_is_kept_in_a_file_and_played() {
    use std::io::Write;
    use std::process::Stdio;
    let folder = tempfile::tempdir().unwrap();
    // Columns that tools append are passed over.
    let row = |i: u64| format!("0,{},4096,R,{}.5,{:0100}\n", i * 48_271 % 1_000_000 * 8, i, 0);
    let text: String = (0..80_000).map(row).collect();
    assert!(text.len() > 8 << 20);
    let mut run = program_command(folder.path());
    run.args(["run", "-", "--on", DRIVE, "--set", "trace.loop=closed", "--json"]);
    let piped = Stdio::piped;
    let mut child = run.stdin(piped()).stdout(piped()).stderr(piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let written = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let said = program_output(child.wait_with_output().unwrap());
    written.join().unwrap().unwrap();
    assert!(said.err.contains("keeping standard input in a temporary file in "), "{}", said.err);
    let record = said.json();
    assert_eq!(record["trace"]["issued"].as_u64(), Some(80_000));
    assert!(sorted_names(folder.path()).is_empty());
    // Without a setting of traces, endless standard input is refused as a job.
    let mut run = program_command(folder.path());
    run.args(["run", "-", "--on", DRIVE]).stdin(piped()).stdout(piped()).stderr(piped());
    let mut child = run.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let written = std::thread::spawn(move || input.write_all(&b"[job]\n# words\n".repeat(1 << 20)));
    let said = crate::seekwise::program_output(child.wait_with_output().unwrap());
    written.join().unwrap().unwrap();
    assert!(said.code == 2 && said.err.contains("it is too long for a job, a scene or a stack"), "{}", said.err);
}

/// A recording is played as it is, or as a trace.
#[test]
fn a_recording_is_a_trace_where_that_is_asked() {
    let folder = folder_with_trace();
    let head = "# seekwise recording 1\n# a drive\nstamp,at_ns,done_ns,status,op,lba,sectors,fua,tag\n";
    let rows = "1,0,9000000,done,write,64,8,1,0\n2,1000000,9000000,done,read,0,8,0,1\n";
    fs::write(folder.path().join("r.csv"), format!("{head}{rows}")).unwrap();
    let run =
        |more: &[&str]| run_program(folder.path(), &[&["run", "r.csv", "--on", DRIVE, "--json"], more].concat()).json();
    assert!(run(&[])["recorded"].is_object() && run(&[]).get("trace").is_none());
    let trace = run(&["--set", "trace.loop=dependent"]);
    assert_eq!((trace["trace"]["format"].as_str(), trace["trace"]["issued"].as_u64()), (Some("recording"), Some(2)));
    assert_eq!(trace["write"]["ios"].as_u64(), Some(1), "with its flush, where the drive knows no FUA, one write");
}

/// Every trace that other people published: played, or refused with a reason that names what is expected.
#[test]
fn other_peoples_traces_are_played_or_refused_with_a_reason() {
    let Some(store) = wild_folder().map(|wild| wild.join("traces")).filter(|traces| traces.is_dir()) else {
        eprintln!("skipped: there are no traces of other people's here");
        return;
    };
    let mut files: Vec<PathBuf> = Vec::new();
    collect_files(&store, &mut files);
    // A file named `-` is a by-product of blkparse, and no published trace.
    files.retain(|file| file.file_name().is_none_or(|name| name != "-"));
    let (mut played, mut refused) = (0, 0);
    for file in &files {
        let name = file.display().to_string();
        let mut said = run_program(&store, &["run", &*name, "--on", DRIVE, "--set", "trace.map=scale", "--json"]);
        // The command runs again with the setting that the first error suggests.
        for (offer, key) in [("trace.event=issued", "trace.event=issued"), ("trace.time=ns makes", "trace.time=ns")] {
            if said.code == 2 && said.err.contains(offer) {
                let more = ["run", &*name, "--on", DRIVE, "--set", "trace.map=scale", "--set", key, "--json"];
                said = run_program(&store, &more);
            }
        }
        match said.code {
            0 => {
                let record = said.json();
                assert_eq!(record["trace"]["issued"], record["trace"]["requests"], "{name}");
                played += 1;
            }
            2 => {
                assert!(said.err.contains("expected"), "{name}: {}", said.err);
                refused += 1;
            }
            code => panic!("{name}: {code} {}", said.err),
        }
    }
    assert_eq!((played, refused), COUNTS, "of {} files", files.len());
}

/// How many are played; the refused are two tables without places or instants, one with prose behind it, and one with a slip.
const COUNTS: (usize, usize) = (20, 4);

fn collect_files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { collect_files(&path, into) } else { into.push(path) }
    }
}
