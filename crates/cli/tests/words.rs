//! Words that users type first, and mistakes that they make: each leads to a key, a metric, a page, a drive, a command, or the reason
//! why it is not modelled. A row has the typed words, the exit code, and a part of the output.

use std::fs;
use std::path::Path;

use crate::seekwise::{ProgramOutput, run_program};

/// Words for `seekwise keys WORD`: the exit code, and a part of the output or of the error for it as a key.
const WORDS: &[(&str, i32, &str)] = &[
    ("fsync", 0, "docs/how-to/fsync.md"),
    ("commit", 0, "docs/how-to/fsync.md"),
    ("rebuild", 0, "array.sync_speed_max"),
    ("resilver", 0, "array.sync_speed_max"),
    ("scrub", 0, "at.TIME.array.check"),
    ("degraded", 0, "array.lose"),
    ("SMR", 2, "shingled tracks and zoned drives are not modelled"),
    ("CMR", 0, "all built-in drives record conventionally"),
    ("shingled", 2, "shingled tracks and zoned drives are not modelled"),
    ("QD", 0, "job.depth"),
    ("IOPS", 0, "--metric iops"),
    ("latency", 0, "--metric mean"),
    ("p95", 0, "--metric p95"),
    ("throughput", 0, "--metric bytes_per_s"),
    ("elevator", 0, "driver.queue.policy"),
    ("scheduler", 0, "driver.queue.policy"),
    ("TRIM", 0, "the modelled drives have no TRIM"),
    ("barrier", 0, "volume.NAME.barrier"),
    ("write barrier", 0, "volume.NAME.barrier"),
    ("FUA", 0, "drive.link.fua"),
    ("cache flush", 0, "driver.flush"),
    ("power loss", 0, "seekwise power-cut JOB --on DRIVE"),
    ("PLP", 0, "drive.power.protected"),
    ("UPS", 0, "seekwise power-cut JOB --on DRIVE"),
    ("hot spare", 0, "at.TIME.array.replace"),
    ("RAIDZ", 2, "other levels are not modelled"),
    ("stripe size", 0, "array.chunk_kib"),
    ("chunk size", 0, "array.chunk_kib"),
    ("alignment", 0, "drive.geometry.physical_sector"),
    ("512e", 0, "drive.geometry.physical_sector"),
    ("4Kn", 0, "drive.geometry.physical_sector"),
    ("short stroke", 0, "job.span"),
    ("spin down", 2, "spin-up, sleep states and energy are not modelled"),
    ("vibration", 2, "temperature, vibration and acoustic modes are not modelled"),
    ("fragmentation", 0, "volume.NAME.fragments"),
    ("read-ahead", 0, "drive.cache.read_ahead.max_sectors"),
    ("dirty ratio", 0, "pagecache.dirty_percent"),
    ("ironwolf", 2, "no Seagate IronWolf is built in (it records conventionally"),
    ("exos", 2, "--on exos-x18"),
    ("wd red", 2, "WD20EFAX to WD60EFAX, are shingled (SMR)"),
    ("st18000nm000j", 2, "--on exos-x18"),
    ("18tb", 2, "--on exos-x18"),
    ("seagate", 2, "--on exos-x18"),
    ("bs", 0, "a fio job file with rw and bs"),
    ("rw", 0, "a pattern of `seekwise patterns`"),
];

/// Words of drives: the exit code of `drives WORD`, a part of its output, and a part of the error of `--on WORD`.
const DRIVES: &[(&str, i32, &str, &str)] = &[
    ("18tb", 0, "exos-x18", "did you mean `exos-x18`?"),
    ("18 TB", 0, "exos-x18", "did you mean `exos-x18`?"),
    ("ST18000NM", 0, "exos-x18", "did you mean `exos-x18`?"),
    ("exos", 0, "exos-x18", "did you mean `exos-x18`?"),
    ("seagate", 0, "cheetah-15k.4", "expected one of barracuda-7200.7, barracuda-7200.7-ncq, cheetah-15k.4"),
    ("barracuda-7200", 0, "barracuda-7200.7-ncq", "expected one of barracuda-7200.7, barracuda-7200.7-ncq"),
    ("exos-x17", 2, "expected exos-x18, the nearest by name", "expected exos-x18, the nearest by name"),
    (
        "ironwolf",
        2,
        "no Seagate IronWolf is built in (it records conventionally",
        "ironwolf: no Seagate IronWolf is built in (it records conventionally",
    ),
    ("skyhawk ai", 2, "no Seagate SkyHawk AI is built in", "no Seagate SkyHawk AI is built in"),
    ("HDWD320", 2, "Toshiba's announcement of 2022", "Toshiba P300 of 2 TB and 256 MB of buffer is shingled"),
    ("WD Red SN700", 2, "WD Red SN700 is flash", "WD Red SN700 is flash"),
    ("WD221KFGX", 2, "as the built-in drives do; its datasheet", "no WD Red Pro from 16 TB on is built in"),
    ("wd red", 2, "are shingled (SMR)", "are shingled (SMR)"),
    ("WD40EFAX", 2, "is shingled (SMR;", "shingled tracks and zoned drives are not modelled"),
    ("ST8000DM004-2CX188", 2, "is shingled (SMR;", "shingled tracks and zoned drives are not modelled"),
    ("samsung 870 evo", 2, "is flash; solid-state drives are not modelled", "is flash"),
    ("8tb", 2, "seekwise init drive --capacity 8000g", "wd140edfz (14 TB)"),
    ("smr", 2, "shingled tracks", "shingled tracks"),
    ("nvme", 2, "solid-state drives", "solid-state drives"),
];

/// Words for `--metric WORD`: the exit code, and the judged metric or a part of the error.
const METRICS: &[(&str, i32, &str)] = &[
    ("p95", 0, "p95 of the response time (p95)"),
    ("read.p95", 0, "p95 of the response time of reads (read.p95)"),
    ("p50", 0, "(p50)"),
    ("p999", 0, "(p99.9)"),
    ("median", 0, "(p50)"),
    ("avg", 0, "(mean)"),
    ("max", 0, "(max)"),
    ("IOPS", 0, "(iops)"),
    ("latency", 0, "(mean)"),
    ("throughput", 0, "(bytes_per_s)"),
    ("bandwidth", 0, "(bytes_per_s)"),
    ("fsync", 2, "expected one of commit, commit.p99, commit.iops, flush"),
    ("commit", 2, "has no value: this job makes no commits (fio: fsync=1 or sync=1)"),
    ("FUA", 2, "expected one of write.mean, write.p99"),
    ("QD", 2, "how many requests it has in flight"),
    ("scrub", 2, "are not modelled"),
    ("commits", 2, "commit.p99 and commit.iops (commits a second)"),
    ("flush.iops", 2, "has no value: this job issues no flushes (fio: fsync=1)"),
    ("write.p99", 2, "has no value: this job writes nothing"),
];

/// Wrong arguments, and a part of the error. Nothing is run.
const MISTAKES: &[(&[&str], &str)] = &[
    (&["run", "random-read", "--on", "exos-x18", "--set", "drive.type=smr"], "shingled tracks"),
    (&["run", "random-read", "--on", "exos-x18", "--set", "drive.recording=shingled"], "shingled tracks"),
    (&["run", "random-read", "--on", "exos-x18", "--set", "drive.type=cmr"], "record conventionally"),
    (
        &["run", "random-read", "--on", "exos-x18", "--set", "drive.cache.size_kib=256MB"],
        "expected kibibytes as a number: 262144",
    ),
    (
        &["run", "random-read", "--on", "exos-x18", "--set", "drive.mechanics.rpm=7.2k"],
        "expected revolutions a minute as a number: 7200",
    ),
    (
        &["run", "random-read", "--on", "exos-x18", "--set", "drive.mechanics.seek.average_ms=8.5ms"],
        "expected milliseconds as a number: 8.5",
    ),
    (
        &["run", "random-read", "--on", "exos-x18", "--set", "drive.link.rate_mb_s=600 MB/s"],
        "expected megabytes a second as a number: 600",
    ),
    (
        &["run", "random-read", "--on", "exos-x18", "--set", "array=raid-0", "--set", "array.chunk_kib=64k"],
        "expected kibibytes as a number: 64",
    ),
    (&["run", "random-read", "--on", "exos-x18", "--set", "drive.cache.size_kib=lots"], "expected a whole number"),
    (&["run", "random-read", "--on", "stack.toml"], "expected kibibytes as a number: 262144"),
    (&["init", "drive", "--capacity", "8t", "--outer", "285 bananas"], "expected megabytes a second as a number"),
    (&["run", "a.fio", "--on", "exos-x18", "--rw", "randread"], "`rw` is an option of fio's jobs"),
    (&["run", "a.fio", "--on", "exos-x18", "--bs=4k"], "`bs` is an option of fio's jobs"),
    (
        &["run", "a.fio", "--on", "exos-x18", "--iodepth=32"],
        "write it into a job file, which `seekwise run job.fio --on DRIVE` runs; `--set job.depth=N`",
    ),
    (
        &["run", "a.fio", "--on", "exos-x18", "--output", "x"],
        "`output` is an option of fio's command line; here `--json > FILE`",
    ),
    (&["run", "a.fio", "--on", "exos-x18", "--output-format=json"], "`--format fio-json`"),
    (&["run", "a.fio", "--filename", "/dev/sdb"], "`--on device:/dev/sdX`"),
    (&["a.fio"], "`seekwise run a.fio --on DRIVE` runs a job"),
    (&["fsync"], "`seekwise keys fsync` says what it is here"),
    (&["ncq-alone"], "`seekwise study ncq-alone` runs this study"),
    (&["exos-x18"], "`seekwise drives exos-x18` shows the drive"),
    (&["run", "random-read", "--on", "/dev/vda"], "expected --on device:/dev/vda to measure it"),
    (&["serve", "/dev/vda", "--nbd", "unix:socket"], "not a modelled disk; expected a drive or a stack file"),
    (&["run", "exos-x18", "--on", "random-read"], "is a drive; expected a job: `--on exos-x18` runs a job on it"),
    (
        &["run", "file-server", "--on", "random-read"],
        "is a job; expected a drive: `seekwise run random-read --on DRIVE`",
    ),
    (&["run", "random-read", "--on", "."], "expected --on file:. to measure a file in it"),
    (&["run", "random-read", "--on", "disk.img"], "expected --on file:disk.img to measure it"),
    (&["run", "random-read", "--on", "/none/x"], "expected --on file:/none/x --set real.layout=1g"),
    (&["run", "random-read", "--on", "real.json"], "`seekwise fit real.json --drive DRIVE -o FILE` fits a drive to it"),
    (&["run", "random-read", "--on", "exos-x18", "--set", "drive=18tb"], "--on names the drive"),
    (&["compare", "random-read", "--on", "exos-x18", "--vary", "drive=exos-x18,18tb"], "did you mean `exos-x18`?"),
    (&["bench", "--drive", "ironwolf"], "no Seagate IronWolf is built in"),
    (&["fit", "real.json", "--drive", "exos-x17", "-o", "x.toml"], "expected exos-x18, the nearest by name"),
    (
        &["compare", "random-read", "--on", "exos-x18", "--vary", "job.depth=1,2", "--vary", "job.depth=1,4"],
        "`seekwise init study -o my-study.toml` writes one",
    ),
    (&["compare", "random-read", "--on", "exos-x18"], "nothing varies; expected --vary KEY=A,B"),
    (&["compare", "random-read"], "expected --on DRIVE"),
    (&["compare", "a.fio", "b.fio", "--on", "exos-x18", "--vary", "job.depth=1,2"], "2 jobs vary already"),
    (&["compare", "real.json", "real.json"], "is named twice"),
    (&["compare", "real.json", "more.json"], "one run has no interval; expected two result folders"),
    (&["study", "ncq"], "expected one of ncq-ahci, ncq-arrays, ncq-alone"),
    (&["studies", "ncq"], "expected one of ncq-ahci, ncq-arrays, ncq-alone"),
    (&["crash", "--recipe", "sqlite", "--on", "exos-x18"], "expected one of sqlite-"),
    (
        &["crash", "--recipe", "postgresql", "--on", "exos-x18"],
        "expected one of postgresql-async, postgresql-fsync, postgresql-no-fsync",
    ),
    (&["patterns", "commit"], "docs/how-to/fsync.md"),
    (
        &["run", "rand-read", "--on", "exos-x18"],
        "expected random-read (`seekwise patterns` lists all), or a fio job file",
    ),
    (&["run", "randwrite", "--on", "exos-x18"], "expected random-write"),
    (&["run", "sequential-read", "--on", "exos-x18"], "expected streaming-read"),
    (&["run", "seq-read", "--on", "exos-x18"], "expected streaming-read"),
    (&["run", "read", "--on", "exos-x18"], "expected streaming-read"),
    (&["run", "randrw", "--on", "exos-x18"], "expected one of oltp-4k, random-8k-70%read, file-server"),
    (&["run", "random-read", "--on", "exos-x18", "--QD", "4"], "`--set job.depth=N` sets it for any job"),
    (&["run", "random-read", "--on", "exos-x18", "--metric", "p95"], "`--columns p95,max` selects columns"),
    (&["run", "random-read", "--on", "sda"], "is a device; expected --on device:/dev/sda to measure it"),
    (
        &["run", "random-read", "--on", "exos-x18", "--set", "array.drives=4"],
        "`array.drives`: needs an array; expected a preset (linear, matrix, raid-0, raid-1, raid-10, raid-5, raid-6), as in \
         `array=raid-6`",
    ),
    (
        &["run", "random-read", "--on", "exos-x18", "--set", "drive.mechanics.seek.average_ms=4"],
        "average_ms=4 and full_ms=",
    ),
    (
        &["compare", "exos-x18", "wd140edfz"],
        "`seekwise compare JOB --on exos-x18 --vary drive=exos-x18,wd140edfz` compares drives",
    ),
    (
        &["compare", "a.fio", "--on", "exos-x18", "--vary", "drive.cache.write_back=on,true"],
        "duplicate value `true`, which means `on`",
    ),
];

const JOB: &str = "[j]\nrw=randread\nbs=4k\nsize=1g\ntime_based\nruntime=1\n";

/// A folder with jobs, a stack with a slip, an image, and what fio measured.
fn folder_with_files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("a.fio", JOB.as_bytes());
    write("b.fio", JOB.replace("bs=4k", "bs=64k").as_bytes());
    write("stack.toml", b"[drive]\nname = 'exos-x18'\ncache.size_kib = '256MB'\n");
    write("disk.img", &[0; 4096]);
    write("real.json", br#"{"fio version": "fio-3.33", "jobs": []}"#);
    write("more.json", br#"{"fio version": "fio-3.33", "jobs": []}"#);
    folder
}

/// Standard output and error as one line, without the breaks of wrapped lines.
fn unwrapped_output(run: &ProgramOutput) -> String {
    format!("{} {}", run.out, run.err).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn assert_output(folder: &Path, args: &[&str], code: i32, expected: &str) {
    let run = run_program(folder, args);
    let said = unwrapped_output(&run);
    assert!(run.code == code && said.contains(expected), "{args:?}: {} {said}\nexpected {code} {expected}", run.code);
}

#[test]
fn words_that_people_type_first_lead_somewhere() {
    let folder = folder_with_files();
    for (word, code, expected) in WORDS {
        assert_output(folder.path(), &["keys", word], *code, expected);
        // As a key of `--set`, the word leads to an equal answer.
        let set = format!("{word}=1");
        let run = run_program(folder.path(), &["run", "random-read", "--on", "exos-x18", "--set", &set]);
        assert!(run.code == 2 && !run.err.contains("unknown key"), "{set}: {}", run.err);
    }
}

#[test]
fn drives_are_found_by_what_people_call_them() {
    let folder = folder_with_files();
    for (word, code, listed, refused) in DRIVES {
        assert_output(folder.path(), &["drives", word], *code, listed);
        assert_output(folder.path(), &["run", "random-read", "--on", word], 2, refused);
    }
    let list = run_program(folder.path(), &["drives", "maxtor", "--json"]).json();
    let names: Vec<&str> = list.as_array().unwrap().iter().map(|drive| drive["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["atlas-10k-v-300", "atlas-15k-ii-73"]);
}

#[test]
fn metrics_are_known_by_other_words() {
    let folder = folder_with_files();
    for (word, code, expected) in METRICS {
        let args = ["compare", "a.fio", "--on", "exos-x18", "--vary", "job.depth=1,2", "--runs", "2", "--metric", word];
        assert_output(folder.path(), &args, *code, expected);
    }
}

#[test]
fn mistakes_are_told_what_would_work() {
    let folder = folder_with_files();
    for (args, expected) in MISTAKES {
        assert_output(folder.path(), args, 2, expected);
    }
    let made = run_program(
        folder.path(),
        &[
            "init",
            "drive",
            "--capacity",
            "8t",
            "--rpm",
            "7200rpm",
            "--outer",
            "285MB/s",
            "--inner",
            "130 MB/s",
            "--seek",
            "8.5ms",
        ],
    );
    let plain = run_program(
        folder.path(),
        &["init", "drive", "--capacity", "8t", "--rpm", "7200", "--outer", "285", "--inner", "130", "--seek", "8.5"],
    );
    assert_eq!((made.code, made.out), (0, plain.out), "{}", made.err);
}

#[test]
fn two_jobs_are_compared_and_what_differs_is_named() {
    let folder = folder_with_files();
    let run = run_program(folder.path(), &["compare", "a.fio", "b.fio", "--on", "exos-x18", "--runs", "3"]);
    let said = unwrapped_output(&run);
    assert_eq!(run.code, 0, "{said}");
    assert!(said.contains("job=b.fio against job=a.fio: slower"), "{said}");
    assert!(!said.contains("at once"), "only the size differs: {said}");
    assert!(said.contains("The sides differ in: job.size.blocks (4096 bytes → 65536 bytes)"), "{said}");
    assert!(said.contains("But: bytes per second is better:"), "{said}");
    fs::write(folder.path().join("c.fio"), JOB.replace("bs=4k", "bs=64k").replace("randread", "randwrite")).unwrap();
    assert_output(
        folder.path(),
        &["compare", "a.fio", "c.fio", "--on", "exos-x18", "--runs", "3"],
        0,
        "they differ in the pattern, the size of requests at once",
    );
    let json =
        run_program(folder.path(), &["compare", "a.fio", "b.fio", "--on", "exos-x18", "--runs", "3", "--json"]).json();
    assert_eq!(json["differs"], serde_json::json!(["job.size.blocks"]));
}

/// More than four settings are named without their values, and so is one whose values take more than 40 characters.
#[test]
fn of_a_few_settings_that_differ_both_values_are_named() {
    let folder = folder_with_files();
    for (block, runtime, more, named) in [
        ("4k", "1", "thinktime=10\nstartdelay=1\n", "job.rate.pause, job.rate.start (0 s → 1 s)"),
        (
            "64k",
            "1",
            "loops=2\nramp_time=1\nstartdelay=1\n",
            "job.duration.passes (1 → 2), job.duration.ramp (0 s → 1 s), job.rate.start (0 s → 1 s), \
             job.size.blocks (4096 bytes → 65536 bytes)",
        ),
        (
            "64k",
            "2",
            "loops=2\nramp_time=1\nstartdelay=1\n",
            "job.duration.passes, job.duration.ramp, job.duration.runtime, job.rate.start, job.size.blocks",
        ),
    ] {
        let job = JOB.replace("bs=4k", &format!("bs={block}")).replace("runtime=1", &format!("runtime={runtime}"));
        fs::write(folder.path().join("c.fio"), format!("{job}{more}")).unwrap();
        let run = run_program(folder.path(), &["compare", "a.fio", "c.fio", "--on", "exos-x18", "--runs", "2"]);
        let out = run.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(out.ends_with(&format!("The sides differ in: {named}")), "{more}: {out} {}", run.err);
    }
}

#[test]
fn two_result_folders_are_compared_as_they_are() {
    let folder = folder_with_files();
    let path = folder.path();
    let keep = |drive: &str, out: &str, runs: &str| {
        let args = ["compare", "a.fio", "--on", drive, "--vary", "job.depth=1,4", "--runs", runs, "--out", out];
        assert_eq!(run_program(path, &args).code, 0, "{out}");
    };
    keep("exos-x18", "before", "4");
    keep("wd140edfz", "after", "3");
    let json = run_program(path, &["compare", "before", "after", "--json"]).json();
    assert_eq!((&json["runs"], &json["paired"]), (&3.into(), &true.into()));
    // A comparison of both drives in one command uses equal random numbers and gives equal ratios.
    let cells = json["comparisons"][0]["cells"].as_array().unwrap();
    for (cell, depth) in cells.iter().zip(["1", "4"]) {
        let set = format!("job.depth={depth}");
        let args = [
            "compare",
            "a.fio",
            "--on",
            "exos-x18",
            "--vary",
            "drive=exos-x18,wd140edfz",
            "--runs",
            "3",
            "--set",
            &set,
        ];
        let at_once = run_program(path, &[&args[..], &["--json"]].concat()).json();
        assert_eq!(cell["cell"], format!("job.depth {depth}"));
        assert_eq!(cell["result"]["ratio"]["estimate"], at_once["ratio"]["estimate"]);
    }
    let text = unwrapped_output(&run_program(path, &["compare", "before", "after", "--metric", "p95"]));
    assert!(text.contains("Judged: p95 of the response time (p95)"), "{text}");
    assert!(text.contains("3 runs a side of each cell, paired on the same random numbers"), "{text}");
    assert!(text.contains("The sides differ in: drive"), "{text}");
    assert_output(path, &["compare", "before", "before"], 2, "is named twice");
    assert_output(path, &["compare", "before", "before/"], 2, "is named twice");
    assert_output(path, &["compare", "before", "none"], 2, "none: no such folder; expected two result folders");
    assert_output(path, &["compare", "before", "a.fio"], 2, "a.fio: holds no results; expected two result folders");
    // Results of a single run have no interval.
    for out in ["one", "two"] {
        let run = run_program(path, &["run", "a.fio", "--on", "exos-x18", "--out", out]);
        assert_eq!(run.code, 0, "{}", run.err);
    }
    assert_output(
        path,
        &["compare", "one", "two"],
        2,
        "one, two: each holds one run; an interval needs two or more; expected two result folders of two runs",
    );
    // Levels of a switch are equal although they are written differently.
    for (out, values, seed) in [("words", "on,off", "1"), ("flags", "true,false", "7")] {
        let vary = format!("drive.cache.write_back={values}");
        let args =
            ["compare", "a.fio", "--on", "exos-x18", "--vary", &vary, "--runs", "2", "--seed", seed, "--out", out];
        assert_eq!(run_program(path, &args).code, 0, "{out}");
    }
    let text = unwrapped_output(&run_program(path, &["compare", "words", "flags"]));
    assert!(text.contains("whose seeds differ") && !text.contains("drifted"), "nothing drifts in a model: {text}");
    assert!(text.contains("over 2 cells"), "{text}");
    assert_output(path, &["compare", "before", "one"], 2, "their factors or levels differ");
    assert_output(path, &["run", "before", "--on", "exos-x18"], 2, "`seekwise report before` shows the results");
    assert_output(path, &["run", "a.fio", "--on", "before"], 2, "`seekwise report before` shows the results");
}

#[test]
fn options_that_there_are_not_are_never_passed_as_values() {
    let folder = folder_with_files();
    let run = run_program(folder.path(), &["run", "random-read", "--on", "exos-x18", "--QD", "4"]);
    assert!(run.code == 2 && !run.err.contains("as a value"), "{}", run.err);
    let run = run_program(folder.path(), &["run", "random-read", "--on", "exos-x18", "--sed", "4"]);
    assert!(run.code == 2 && run.err.contains("'--seed'"), "clap's own suggestion stays: {}", run.err);
}

#[test]
fn a_model_number_or_other_capitals_name_a_drive() {
    let folder = folder_with_files();
    let figures =
        |drive: &str| run_program(folder.path(), &["run", "a.fio", "--on", drive, "--json"]).json()["all"].clone();
    let exos = figures("exos-x18");
    for other in ["ST18000NM000J", "st18000nm000j", "Exos-X18"] {
        assert_eq!(figures(other), exos, "{other}");
    }
}

#[test]
fn patterns_are_listed_by_a_part_of_their_names() {
    let folder = folder_with_files();
    let list = |word: &str| {
        let list = run_program(folder.path(), &["patterns", word, "--json"]).json();
        let names = list.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert!(list("random").contains(&"random-read".to_owned()), "{:?}", list("random"));
    assert!(list("random").iter().all(|name| name.contains("random")));
    assert_eq!(list("rand-read"), ["random-read"]);
    assert_output(folder.path(), &["patterns", "streaming"], 0, "streaming-read");
}

#[test]
fn p95_is_a_column_on_request() {
    let folder = folder_with_files();
    let run = run_program(folder.path(), &["run", "a.fio", "--on", "exos-x18"]);
    assert!(run.code == 0 && !run.out.contains("p95"), "{}", run.out);
    assert_output(folder.path(), &["run", "a.fio", "--on", "exos-x18", "--columns", "p95"], 0, "p95 ms");
}

#[test]
fn two_degraded_arrays_say_so() {
    let folder = folder_with_files();
    let vary = |values: &str| {
        let values = format!("array.lose={values}");
        let args = ["compare", "a.fio", "--on", "exos-x18", "--set", "array=raid-5", "--vary", &values, "--runs", "2"];
        unwrapped_output(&run_program(folder.path(), &args))
    };
    let both = vary("0,1");
    assert!(both.contains("both sides lack a drive (number 0, number 1): `--vary array.lose=none,1`"), "{both}");
    assert!(!vary("none,1").contains("both sides lack"));
    assert_output(folder.path(), &["keys", "array.lose"], 0, "`none`: the array is whole");
}

#[test]
fn a_change_that_changes_nothing_says_why() {
    let folder = folder_with_files();
    let with = |more: &[&str], expected: &str| {
        let args = [&["compare", "a.fio", "--on", "exos-x18", "--runs", "2"], more].concat();
        assert_output(folder.path(), &args, 0, expected);
    };
    with(&["--vary", "drive.cache.write_back=true,false"], "no part of it changed; the job writes nothing");
    with(&["--vary", "driver.flush=forward,drop"], "the job flushes nothing");
    with(
        &["--vary", "drive.firmware.depth=4,32", "--set", "job.depth=2"],
        "no part of it changed; the job has at most 2 requests in flight, and both sides take as many",
    );
    with(&["--vary", "drive.firmware.queue.policy=fcfs,sptf"], "one request in flight leaves nothing to sort");
    let json = run_program(
        folder.path(),
        &[
            "compare",
            "a.fio",
            "--on",
            "exos-x18",
            "--runs",
            "2",
            "--vary",
            "drive.cache.write_back=true,false",
            "--json",
        ],
    );
    assert_eq!(json.json()["unasked"], "the job writes nothing, so a cache of writes cannot matter");
}
