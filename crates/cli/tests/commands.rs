//! The output of the commands: help, forms of a result, JSON keys, equal bytes of equal runs, the log of requests; and exit codes.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::Stdio;

use crate::seekwise::{program_command, program_output, run_program, sorted_names};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use seekwise_lab::catalogue::studies::{BUILT_IN, REVIEWS};
use serde_json::Value;

const DRIVE: &str = "barracuda-7200.7-ncq";

const JOB: &str =
    "[global]\nioengine=libaio\ndirect=1\niodepth=4\n[mix]\nrw=randrw\nbs=4k\nsize=1g\ntime_based\nruntime=2\n";

/// A folder with a job of two virtual seconds in it.
fn folder_with_job() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mix.fio"), JOB).unwrap();
    folder
}

fn object_keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[track_caller]
fn assert_keys(value: &Value, wanted: &[&str]) {
    let missing: Vec<_> = wanted.iter().filter(|key| value.get(key).is_none()).collect();
    assert!(missing.is_empty(), "no {missing:?} in {:?}", object_keys(value));
}

/// The command that a line of help lists; `None` for a continuation line, which is indented further.
fn listed_command(line: &str) -> Option<&str> {
    line.strip_prefix("  ").filter(|line| !line.starts_with(' '))?.split_whitespace().next()
}

#[test]
fn every_command_s_help_has_an_example() {
    let folder = folder_with_job();
    let wide = |words: &[&str]| {
        program_output(program_command(folder.path()).args(words).env("COLUMNS", "200").output().unwrap())
            .success_stdout()
    };
    let help = wide(&["--help"]);
    assert!(help.contains("Examples:\n  seekwise ") && help.contains("Exit codes:"), "{help}");
    let listed = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let commands: Vec<&str> = listed.lines().filter_map(listed_command).collect();
    for wanted in [
        "drives",
        "studies",
        "patterns",
        "run",
        "compare",
        "study",
        "claims",
        "import",
        "validate",
        "power-cut",
        "report",
        "bench",
    ] {
        assert!(commands.contains(&wanted), "{commands:?}");
    }
    for name in commands.into_iter().filter(|name| *name != "help") {
        let help = wide(&[name, "--help"]);
        let example = |head: &str| help.contains(&format!("{head}:\n  seekwise {name}"));
        assert!(example("Example") || example("Examples"), "{name}:\n{help}");
    }
}

#[test]
fn lists_name_every_drive_pattern_and_study() {
    let folder = folder_with_job();
    let drives = run_program(folder.path(), &["drives", "--json"]).json();
    assert_eq!(drives.as_array().map(Vec::len), Some(14));
    assert!(run_program(folder.path(), &["drives"]).success_stdout().contains(DRIVE));
    assert!(run_program(folder.path(), &["patterns"]).success_stdout().contains("file-server"));
    let studies = run_program(folder.path(), &["studies"]).success_stdout();
    for (name, _) in REVIEWS.iter().chain(BUILT_IN) {
        assert!(studies.lines().any(|line| line.split_whitespace().next() == Some(*name)), "{name}: {studies}");
    }
    assert_eq!(sorted_names(folder.path()), ["mix.fio"]);
}

#[test]
fn a_run_prints_the_keys_of_its_json() {
    let folder = folder_with_job();
    let run = run_program(folder.path(), &["run", "mix.fio", "--on", DRIVE, "--seed", "7", "--json"]).json();
    assert_keys(&run, &["target", "job", "seed", "stream_hash", "elapsed_s", "read", "write", "all", "cpu"]);
    assert_keys(&run, &["anatomy_ms", "warnings"]);
    for kind in ["read", "write", "all"] {
        assert_keys(&run[kind], &["ios", "iops", "bytes_per_s", "response_ms"]);
        assert_keys(&run[kind]["response_ms"], &["mean", "p50", "p90", "p99", "p99_9", "p99_99", "max"]);
    }
    assert_eq!((&run["target"], &run["job"], &run["seed"]), (&DRIVE.into(), &"mix.fio".into(), &7.into()));
    let ios = |kind: &str| run[kind]["ios"].as_u64().unwrap();
    assert_eq!(ios("read") + ios("write"), ios("all"));
    assert!(ios("read") > 50 && ios("write") > 50, "{run}");
    let anatomy: f64 = run["anatomy_ms"].as_object().unwrap().values().map(|part| part.as_f64().unwrap()).sum();
    let mean = run["all"]["response_ms"]["mean"].as_f64().unwrap();
    assert!((anatomy - mean).abs() < 1e-6 * mean, "the parts make {anatomy} ms of {mean} ms");
}

#[test]
fn a_run_prints_text_csv_and_fio_s_json() {
    let folder = folder_with_job();
    let run = |form| run_program(folder.path(), &["run", "mix.fio", "--on", DRIVE, "--format", form]).success_stdout();
    let text = run("text");
    assert!(text.contains("reads") && text.contains("Where the time of the mean request went:"), "{text}");
    let csv = run("csv");
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert!(rows.len() == 4 && rows.iter().all(|row| row.len() == rows[0].len()), "{csv}");
    let json: Value = serde_json::from_str(&run("json")).unwrap();
    let fio: Value = serde_json::from_str(&run("fio-json")).unwrap();
    assert_keys(&fio, &["fio version", "global options", "jobs"]);
    let job = &fio["jobs"][0];
    assert_eq!(job["jobname"], "mix");
    assert_eq!(job["read"]["total_ios"], json["read"]["ios"]);
    assert_eq!(job["write"]["total_ios"], json["write"]["ios"]);
    assert_eq!(rows[3][4], json["all"]["ios"].to_string());
}

#[test]
fn a_run_has_a_row_of_flushes_bars_and_the_columns_asked_for() {
    let folder = folder_with_job();
    let job = "[log]\nioengine=psync\ndirect=1\nrw=randwrite\nbs=4k\nsize=1g\nruntime=2\ntime_based\nfsync=4\n";
    fs::write(folder.path().join("log.fio"), job).unwrap();
    let run = |job: &str, more: &[&str]| run_program(folder.path(), &[&["run", job, "--on", DRIVE], more].concat());
    let row = |text: &str, name: &str| text.lines().find(|line| line.starts_with(name)).map(str::to_owned);
    let text = run("log.fio", &["--plot", "--columns", "requests,max"]).success_stdout();
    assert!(text.contains("\n         requests  max ms\n"), "{text}");
    let count = |name| row(&text, name).and_then(|row| row.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap();
    let (writes, flushes) = (count("writes "), count("flushes "));
    assert!(flushes > 10 && flushes.abs_diff(writes / 4) <= 1, "{text}");
    assert!(text.contains(&format!("{writes} writes")) && text.contains(&format!("{flushes} flushes")), "{text}");
    assert!(text.contains('█') && text.contains("Response times, share of each kind:"), "{text}");
    let plain = run("mix.fio", &[]).success_stdout();
    assert!(row(&plain, "flushes ").is_none() && !plain.contains("Response times"), "{plain}");
    // The error comes before anything runs, so no folder is created.
    let unknown = run("mix.fio", &["--columns", "maen", "--out", "kept"]);
    assert_eq!((unknown.code, sorted_names(folder.path())), (2, vec!["log.fio".to_owned(), "mix.fio".to_owned()]));
    assert!(unknown.err.contains("--columns: unknown column `maen`; expected some of requests,"), "{}", unknown.err);
    assert!(unknown.err.contains("did you mean `mean`"), "{}", unknown.err);
    for more in [["--columns=max", "--json"], ["--plot", "--json"], ["--plot", "--format=csv"]] {
        assert_eq!(run("mix.fio", &more).code, 2, "{more:?}");
    }
}

#[test]
fn the_same_run_twice_is_byte_equal_and_another_seed_is_not() {
    let folder = folder_with_job();
    let run = |seed| {
        run_program(folder.path(), &["run", "mix.fio", "--on", DRIVE, "--json", "--seed", seed]).success_stdout()
    };
    assert_eq!(run("3"), run("3"));
    assert_ne!(run("3"), run("4"));
}

#[test]
fn a_comparison_prints_sides_ratio_and_verdict() {
    let folder = folder_with_job();
    let args = ["compare", "random-read", "--on", DRIVE, "--vary", "drive.firmware.depth=1,32"];
    let more = ["--set", "job.depth=32", "--runtime", "20 s", "--runs", "3", "--json"];
    let compared = run_program(folder.path(), &[&args[..], &more[..]].concat()).json();
    assert_keys(&compared, &["sides", "ratio", "verdict"]);
    assert_keys(&compared["ratio"], &["estimate", "low", "high"]);
    assert_eq!(compared["sides"].as_array().map(Vec::len), Some(2));
    assert_eq!(compared["verdict"], "faster", "{compared}");
    let ratio = |end: &str| compared["ratio"][end].as_f64().unwrap();
    assert!(1.0 < ratio("low") && ratio("low") <= ratio("estimate") && ratio("estimate") <= ratio("high"));
    assert_eq!(sorted_names(folder.path()), ["mix.fio"], "a comparison without --out leaves nothing");
}

#[test]
fn the_bench_prints_its_keys() {
    let folder = folder_with_job();
    let bench = run_program(folder.path(), &["bench", "--requests", "2000", "--json"]).json();
    let rates = ["replay_per_s", "fcfs_qd1_per_s", "sptf_qd32_per_s", "layered_per_s", "sequential_hits_per_s"];
    for key in rates.into_iter().chain(["peak_rss_bytes"]) {
        assert!(bench[key].as_f64().is_some_and(|figure| figure > 1000.0), "{key} in {bench}");
    }
}

#[test]
fn the_bench_s_table_has_instructions_only_if_they_are_counted() {
    let folder = folder_with_job();
    let args = ["bench", "--requests", "2000", "--only", "fcfs_qd1_per_s"];
    let text = program_output(program_command(folder.path()).args(args).env("COLUMNS", "200").output().unwrap())
        .success_stdout();
    let head = text.lines().next().unwrap().split("  ").map(str::trim).filter(|heading| !heading.is_empty());
    assert_eq!(head.collect::<Vec<_>>(), ["workload", "million requests/s", "ns a request", "stream"]);
}

#[test]
fn the_bench_runs_only_what_is_named() {
    let folder = folder_with_job();
    let bench = |only: &str| run_program(folder.path(), &["bench", "--requests", "2000", "--json", "--only", only]);
    let json = bench("fcfs_qd1_per_s,web_server_qd32_per_s").json();
    let rates: Vec<&str> =
        json.as_object().unwrap().keys().map(String::as_str).filter(|key| key.ends_with("per_s")).collect();
    assert_eq!(rates, ["fcfs_qd1_per_s", "web_server_qd32_per_s"]);
    let refused = bench("fcfs_qd1_pers");
    assert!(refused.err.contains("did you mean `fcfs_qd1_per_s`?"), "{}", refused.err);
}

#[test]
fn results_go_to_standard_output_and_talk_to_standard_error() {
    let folder = folder_with_job();
    fs::write(folder.path().join("talk.fio"), format!("{JOB}cpus_allowed=1\n")).unwrap();
    let said = run_program(folder.path(), &["run", "talk.fio", "--on", DRIVE, "--format", "csv"]);
    assert!(said.err.contains("warning: talk.fio:11: `cpus_allowed`: no effect here"), "{}", said.err);
    assert!(said.err.contains("Again: seekwise run talk.fio"), "{}", said.err);
    assert!(said.out.starts_with("target,") && said.out.lines().count() == 4, "{}", said.out);
}

#[test]
fn a_closed_pipe_ends_a_command_well() {
    let folder = folder_with_job();
    for args in [&["drives"][..], &["patterns"], &["run", "mix.fio", "--on", DRIVE, "--json"]] {
        let mut child =
            program_command(folder.path()).args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{args:?}: {err}");
        assert!(!err.contains("error"), "{args:?}: {err}");
    }
}

/// The rows of a log in Parquet, each with the names and values of its columns.
fn parquet_rows(path: &Path) -> Vec<Vec<(String, i64)>> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let columns: Vec<String> =
        reader.metadata().file_metadata().schema().get_fields().iter().map(|field| field.name().to_owned()).collect();
    let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
    rows.map(|row| columns.iter().enumerate().map(|(at, name)| (name.clone(), row.get_long(at).unwrap())).collect())
        .collect()
}

#[test]
fn a_log_holds_every_request_and_its_parts_add_up() {
    let folder = folder_with_job();
    let args = ["run", "mix.fio", "--on", DRIVE, "--json", "--log", "requests.parquet"];
    let run = run_program(folder.path(), &args).json();
    assert_eq!(sorted_names(folder.path()), ["mix.fio", "requests.parquet"]);
    let rows = parquet_rows(&folder.path().join("requests.parquet"));
    assert_eq!(Some(rows.len() as u64), run["all"]["ios"].as_u64());
    for row in &rows {
        let column = |name: &str| row.iter().find(|(known, _)| known == name).map(|(_, value)| *value).unwrap();
        let parts = row.iter().filter(|(name, _)| {
            name.ends_with("_ns")
                && !["intended_ns", "issued_ns", "submitted_ns", "finished_ns"].contains(&name.as_str())
        });
        let sum: i64 = parts.map(|(_, value)| value).sum();
        assert!(sum > 0);
        assert_eq!(sum, column("finished_ns") - column("issued_ns"), "{row:?}");
    }
}

#[test]
fn a_log_says_what_its_columns_hold() {
    let folder = folder_with_job();
    run_program(folder.path(), &["run", "mix.fio", "--on", DRIVE, "--seed", "7", "--log", "requests.parquet"])
        .success_stdout();
    let reader = SerializedFileReader::new(File::open(folder.path().join("requests.parquet")).unwrap()).unwrap();
    let file = reader.metadata().file_metadata();
    let metadata = file.key_value_metadata().unwrap();
    let said = |key: &str| metadata.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.clone()).unwrap();
    for field in file.schema().get_fields() {
        let words = said(&format!("column.{}", field.name()));
        let (unit, meaning) = words.split_once("; ").unwrap();
        let unit = if field.name().ends_with("_ns") { unit == "ns of virtual time" } else { !unit.is_empty() };
        assert!(unit && meaning.split_whitespace().count() > 2, "{}: {words}", field.name());
    }
    assert!(said("column.seek_ns").contains("arm") && said("column.lba").contains("512 bytes"));
    assert_eq!((said("job"), said("target"), said("seed")), ("mix.fio".into(), DRIVE.into(), "7".into()));
    assert!(said("program").starts_with("Seekwise ") && said("parts").contains("add up"));
}

#[test]
fn a_log_that_cannot_be_written_is_named() {
    let folder = folder_with_job();
    let said = run_program(folder.path(), &["run", "mix.fio", "--on", DRIVE, "--log", "mix.fio/log.parquet"]);
    assert_eq!((said.code, said.out.as_str()), (2, ""));
    assert!(said.err.contains("error: mix.fio/log.parquet: "), "{}", said.err);
}

#[test]
fn a_synchronous_write_is_a_write_whether_the_drive_knows_fua_or_not() {
    let folder = folder_with_job();
    let job = "[sync]\nioengine=psync\ndirect=1\nrw=randwrite\nbs=4k\nsize=1g\nruntime=5\ntime_based\nsync=1\n";
    fs::write(folder.path().join("sync.fio"), job).unwrap();
    let rate = |fua: &str| {
        let set = format!("drive.link.fua={fua}");
        let run = run_program(folder.path(), &["run", "sync.fio", "--on", DRIVE, "--set", &set, "--json"]).json();
        assert_eq!(run["write"]["ios"], run["all"]["ios"]);
        assert_eq!(run["warnings"], Value::Array(Vec::new()));
        run["write"]["iops"].as_f64().unwrap()
    };
    let (fua, flush) = (rate("true"), rate("false"));
    assert!((50.0..200.0).contains(&fua) && (50.0..200.0).contains(&flush), "{fua} and {flush} writes a second");
}

#[test]
fn a_program_that_spins_keeps_the_processor_as_long_as_it_says() {
    let folder = folder_with_job();
    let job = "[think]\nioengine=libaio\ndirect=1\nrw=randread\nbs=4k\nsize=100m\nruntime=10\ntime_based\n\
               thinktime=10000\nthinktime_spin=4000\n";
    fs::write(folder.path().join("think.fio"), job).unwrap();
    let run = |processor: &str| {
        let set = format!("processor={processor}");
        run_program(folder.path(), &["run", "think.fio", "--on", DRIVE, "--set", &set, "--json"]).json()
    };
    let (with, without) = (run("athlon-xp-2000"), run("none"));
    let rate = |run: &Value| run["all"]["iops"].as_f64().unwrap();
    assert!((rate(&with) / rate(&without) - 1.0).abs() < 0.02, "the pause is as long either way");
    // 4 ms for each request, and a little for the request itself.
    let (percent, spun) = (with["cpu"]["percent"].as_f64().unwrap(), 0.4 * rate(&with));
    assert!((spun..spun + 1.0).contains(&percent), "{percent} %, {spun} % of it spun");
    assert!(without["cpu"].is_null());
}

#[test]
fn everyday_work_is_compared_with_arithmetic() {
    const CAVIAR: &str = include_str!("../../drives/profiles/caviar-wd400jb.toml");
    const CASE: &str = "overwrite and flush, 4 KiB";
    let folder = tempfile::tempdir().unwrap();
    let text = run_program(folder.path(), &["drives", "caviar-wd400jb", "--check"]).success_stdout();
    assert!(text.ends_with("0 of 41 cases are off.\n"), "{text}");
    // A drive that acknowledges a flush before anything is written.
    let lies = format!("{CAVIAR}\n[faults]\nearly_flush = {{ value = true, inferred = \"a test\" }}\n");
    fs::write(folder.path().join("lies.toml"), &lies).unwrap();
    let said = run_program(folder.path(), &["drives", "lies.toml", "--check"]);
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(said.out.contains("OFF") && said.out.ends_with("1 of 41 cases are off.\n"), "{}", said.out);
    // The profile lists the miss.
    let owns_up = format!("{lies}[everyday]\n\"{CASE}\" = {{ misses = \"it lies\", inferred = \"a test\" }}\n");
    fs::write(folder.path().join("owns-up.toml"), owns_up).unwrap();
    let json = run_program(folder.path(), &["drives", "owns-up.toml", "--check", "--json"]).json();
    assert_eq!(
        (json["cases"].as_u64(), json["off"].as_u64(), json["known_misses"].as_u64()),
        (Some(41), Some(0), Some(1))
    );
    let rows = json["drives"][0]["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["case"] == CASE).unwrap();
    assert_eq!((row["verdict"].as_str(), row["misses"].as_str()), (Some("known-miss"), Some("it lies")));
    assert_keys(
        row,
        &["low", "high", "found", "unit", "off_percent", "tolerance_percent", "law", "job", "set", "kind", "source"],
    );
    assert!(json["laws"][row["law"].as_str().unwrap()].as_str().unwrap().contains("revolution"));
}
