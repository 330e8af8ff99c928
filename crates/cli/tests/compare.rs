//! `seekwise compare`: verdicts on metrics, several values, causes, high percentiles, refusals.

use std::fs;

use crate::seekwise::{ProgramOutput, run_program};
use serde_json::Value;

const DRIVE: &str = "barracuda-7200.7-ncq";

/// A log that is forced after each write, beside a scan.
const JOB: &str = "[global]\nioengine=libaio\ndirect=1\nsize=1g\ntime_based\nruntime=4\n[log]\nrw=write\nbs=4k\n\
                   fdatasync=1\n[scan]\nrw=randread\nbs=64k\niodepth=4\n";

/// A log that is forced after each write, and nothing else.
const ALONE: &str = "[log]\nioengine=libaio\ndirect=1\nsize=1g\nrw=write\nbs=4k\nfsync=1\ntime_based\nruntime=20\n";

/// A folder with the jobs in it.
fn folder_with_jobs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("log.fio"), JOB).unwrap();
    fs::write(folder.path().join("oltp.fio"), include_str!("../../../docs/examples/oltp.fio")).unwrap();
    fs::write(folder.path().join("alone.fio"), ALONE).unwrap();
    fs::write(folder.path().join("forced.fio"), ALONE.replace("fsync=1", "sync=1")).unwrap();
    fs::write(folder.path().join("kinds.fio"), JOB.replace("rw=randread", "rw=${KIND}")).unwrap();
    folder
}

fn compare_on_drive(job: &str, more: &[&str]) -> ProgramOutput {
    let folder = folder_with_jobs();
    let runs: &[&str] = if more.contains(&"--runs") { &[] } else { &["--runs", "3"] };
    run_program(folder.path(), &[&["compare", job, "--on", DRIVE], more, runs].concat())
}

fn figure_at(value: &Value, path: &[&str]) -> f64 {
    path.iter().fold(value, |value, key| &value[key]).as_f64().unwrap_or_else(|| panic!("{path:?} in {value}"))
}

const CACHE: [&str; 2] = ["--vary", "drive.cache.write_back=true,false"];

#[test]
fn the_default_is_requests_per_second_and_it_says_so() {
    let more = ["--vary", "drive.firmware.depth=1,32", "--set", "job.depth=32", "--runtime", "10 s"];
    let said = compare_on_drive("random-read", &more).success_stdout();
    assert!(said.starts_with("Judged: requests per second (iops); higher is better.\n"), "{said}");
    assert!(said.contains("drive.firmware.depth=32 against drive.firmware.depth=1: faster — "), "{said}");
}

#[test]
fn what_is_asked_is_judged() {
    let metrics =
        ["--metric", "job:log.mean", "--metric", "flush", "--metric", "read.p90", "--metric", "MB/s", "--json"];
    let value = compare_on_drive("log.fio", &[&CACHE[..], &metrics].concat()).json();
    let comparisons = value["comparisons"].as_array().unwrap();
    let words: Vec<&str> = comparisons.iter().map(|one| one["metric"].as_str().unwrap()).collect();
    assert_eq!(words, ["job:log.mean", "flush.mean", "read.p90", "bytes_per_s"]);
    let better: Vec<&str> = comparisons.iter().map(|one| one["better"].as_str().unwrap()).collect();
    assert_eq!(better, ["lower", "lower", "lower", "higher"]);
    // Each ratio is that of its own metric's means, as near as a geometric mean is to a plain one.
    for (comparison, word) in comparisons.iter().zip(words) {
        let side = |at: usize| figure_at(&value["sides"][at], &["metrics", word, "estimate"]);
        let ratio = figure_at(comparison, &["ratio", "estimate"]);
        assert!((side(1) / side(0) / ratio - 1.0).abs() < 0.01, "{word}: {ratio} of {} and {}", side(0), side(1));
    }
    // Lower is better: a log without its write cache waits longer, and is slower.
    assert_eq!(comparisons[0]["verdict"], "slower");
    assert!(figure_at(&comparisons[0], &["ratio", "low"]) > 1.0);
    // Four questions are one family.
    let holm = comparisons.iter().all(|one| figure_at(one, &["p_adjusted"]) >= figure_at(one, &["p"]));
    assert!(holm && comparisons.iter().any(|one| figure_at(one, &["p_adjusted"]) > figure_at(one, &["p"])), "{value}");
    assert_eq!(value["metric"], "job:log.mean", "the first stands at the top");
}

#[test]
fn the_parts_make_the_difference() {
    let value =
        compare_on_drive("log.fio", &[&CACHE[..], &["--metric", "flush", "--metric", "iops", "--json"]].concat())
            .json();
    for comparison in value["comparisons"].as_array().unwrap() {
        let cause = &comparison["cause"];
        let ns = |value: f64| (value * 1e6).round() as i64;
        let sum = |key: &str| -> i64 {
            cause["parts"].as_array().unwrap().iter().map(|part| ns(figure_at(part, &[key]))).sum()
        };
        for key in ["from_ms", "to_ms", "difference_ms"] {
            assert_eq!(sum(key), ns(figure_at(cause, &[key])), "{key}: {cause}");
        }
        assert_eq!(sum("to_ms") - sum("from_ms"), sum("difference_ms"));
        let of = cause["of"].as_str().unwrap();
        assert!(cause["text"].as_str().unwrap().contains(&format!("mean response of {of} ")), "{cause}");
    }
    // The parts are of the requests that are judged.
    let cause = &value["comparisons"][0]["cause"];
    let mean = figure_at(&value["sides"][0], &["metrics", "flush.mean", "estimate"]);
    assert!((figure_at(cause, &["from_ms"]) - mean).abs() < 1e-4, "{cause} of {mean} ms");
    let mean = figure_at(&value["sides"][1], &["response_ms", "mean"]);
    assert!((figure_at(&value["comparisons"][1]["cause"], &["to_ms"]) - mean).abs() < 1e-4);
}

#[test]
fn a_shorter_flush_with_fewer_commits_is_said() {
    // Without the cache the write before the flush waits for the medium in its place, and the pages gain what the log loses.
    let metrics = ["--metric", "flush", "--metric", "iops", "--runtime", "20 s"];
    let value = compare_on_drive("oltp.fio", &[&CACHE[..], &metrics, &["--json"]].concat()).json();
    for (at, ratio, rate) in [(0, 0.0..0.9, "flush.iops"), (1, 1.05..2.0, "commit.iops")] {
        let comparison = &value["comparisons"][at];
        assert_eq!(comparison["verdict"], "faster", "{comparison}");
        assert!(ratio.contains(&figure_at(comparison, &["ratio", "estimate"])), "{comparison}");
        let beside = comparison["beside"].as_array().unwrap();
        let rates: Vec<&Value> =
            beside.iter().filter(|it| ["flush.iops", "commit.iops"].iter().any(|rate| it["metric"] == *rate)).collect();
        assert!(rates.len() == 1 && rates[0]["metric"] == rate, "commits are named once: {beside:?}");
        assert!(rates[0]["worse"] == true && figure_at(rates[0], &["ratio", "high"]) < 0.6, "{beside:?}");
    }
    let said = compare_on_drive("oltp.fio", &[&CACHE[..], &metrics].concat()).success_stdout();
    for of in ["flushes", "commits"] {
        assert_eq!(said.matches(&format!("\n  But: {of} per second is worse: 0.")).count(), 1, "{said}");
    }
}

/// The reader's conclusion on the write cache, if a log shares the drive with queries: each flush is shorter without it, each commit
/// takes longer. A log by itself commits as fast either way.
#[test]
fn the_write_cache_is_judged_by_commits_and_not_by_flushes() {
    let metrics = ["--metric", "commit", "--metric", "commit.rate", "--metric", "commit.p50", "--metric", "flush"];
    let more = [&CACHE[..], &metrics, &["--runtime", "20 s", "--json"]].concat();
    let value = compare_on_drive("oltp.fio", &more).json();
    let comparison = |at: usize| &value["comparisons"][at];
    let judged = |at: usize| {
        let text = |key: &str| comparison(at)[key].as_str().unwrap().to_owned();
        (text("metric"), text("verdict"))
    };
    let expected =
        [("commit.mean", "slower"), ("commit.iops", "slower"), ("commit.p50", "slower"), ("flush.mean", "faster")];
    for (at, (metric, verdict)) in expected.into_iter().enumerate() {
        assert_eq!(judged(at), (metric.to_owned(), verdict.to_owned()), "{value}");
    }
    assert!(figure_at(comparison(0), &["ratio", "low"]) > 1.8, "{value}");
    assert!(figure_at(comparison(1), &["ratio", "high"]) < 0.6, "{value}");
    let cause = &comparison(0)["cause"];
    assert!(cause["text"].as_str().unwrap().contains("mean response of commits "), "{cause}");
    for (side, key) in ["from_ms", "to_ms"].into_iter().enumerate() {
        let mean = figure_at(&value["sides"][side], &["metrics", "commit.mean", "estimate"]);
        assert!((figure_at(cause, &[key]) - mean).abs() < 1e-4, "the parts make the commit: {cause}");
        let parts = cause["parts"].as_array().unwrap();
        let sum: f64 = parts.iter().map(|part| figure_at(part, &[key])).sum();
        assert!((sum - mean).abs() < 1e-4, "{cause}");
    }
    let alone = [&CACHE[..], &["--metric", "commit", "--json"]].concat();
    let alone = compare_on_drive("alone.fio", &alone).json();
    let ratio = |edge: &str| figure_at(&alone, &["ratio", edge]);
    assert!(alone["verdict"].as_str().unwrap().starts_with("no difference") && ratio("high") < 1.02, "{alone}");
}

/// With `fsync=1` and no pause, a commit is a write and then its flush; with `sync=1` it is the write.
#[test]
fn a_commit_is_the_sum_of_its_requests() {
    let run = |job: &str| {
        run_program(folder_with_jobs().path(), &["run", job, "--on", DRIVE, "--runtime", "2 s", "--json"]).json()
    };
    let mean = |value: &Value, kind: &str| figure_at(value, &[kind, "response_ms", "mean"]);
    let synced = run("alone.fio");
    let sum = mean(&synced, "write") + mean(&synced, "flush");
    assert!((mean(&synced, "commit") / sum - 1.0).abs() < 1e-3, "{synced}");
    assert_eq!(synced["commit"]["ios"], synced["flush"]["ios"]);
    let forced = run("forced.fio");
    assert_eq!((&forced["commit"]["ios"], &forced["flush"]["ios"]), (&forced["write"]["ios"], &0.into()));
    assert_eq!(mean(&forced, "commit"), mean(&forced, "write"));
    assert_eq!(run("random-read")["commit"], Value::Null);
    // A session of a served disk is one writer. The second commit is a forced write as this drive gets it: it knows no FUA.
    let folder = folder_with_jobs();
    let session = "# seekwise recording 1\n# a disk\nstamp,at_ns,done_ns,status,op,lba,sectors,fua,tag\n\
                   1,0,60000,done,write,1000,8,0,0\n2,100000,8000000,done,flush,0,0,0,0\n3,30000000,30060000,done,write,2000,8,0,0\n\
                   4,30060000,40000000,done,flush,0,0,0,0\n";
    fs::write(folder.path().join("session.csv"), session).unwrap();
    let played = run_program(folder.path(), &["run", "session.csv", "--on", DRIVE, "--json"]).json();
    assert_eq!((&played["commit"]["ios"], &played["flush"]["ios"]), (&2.into(), &2.into()), "{played}");
    // Programs commit by their calls: an append is a write, its fsync, and what ext4 writes for them.
    let scene = run_program(folder.path(), &["run", "fsync", "--on", DRIVE, "--json"]).json();
    let operations: u64 =
        scene["operations"].as_object().unwrap().values().map(|of| of["count"].as_u64().unwrap()).sum();
    let commits = scene["commit"]["ios"].as_u64().unwrap();
    assert!(commits > 3000 && commits <= operations, "eight clients share commits: {commits} of {operations}");
}

#[test]
fn a_better_headline_with_a_worse_tail_is_said() {
    let more = ["--vary", "drive.firmware.depth=1,32", "--set", "job.depth=32", "--runtime", "20 s"];
    let said = compare_on_drive("random-read", &more).success_stdout();
    assert!(said.contains("\n  But: p99 of the response time is worse: "), "{said}");
    let value = compare_on_drive("random-read", &[&more[..], &["--json"]].concat()).json();
    let beside = &value["beside"][0];
    assert_eq!((&beside["metric"], &beside["worse"]), (&"p99".into(), &true.into()));
    assert!(figure_at(beside, &["ratio", "low"]) > 1.0);
}

#[test]
fn each_value_is_held_against_the_first() {
    let more = ["--vary", "job.depth=1..8", "--metric", "p90", "--runtime", "10 s"];
    let value = compare_on_drive("random-read", &[&more[..], &["--json"]].concat()).json();
    let names: Vec<&str> =
        value["sides"].as_array().unwrap().iter().map(|side| side["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["job.depth=1", "job.depth=2", "job.depth=4", "job.depth=8"]);
    let comparisons = value["comparisons"].as_array().unwrap();
    assert_eq!(comparisons.len(), 3);
    assert!(comparisons.iter().all(|one| one["from"] == "job.depth=1" && one["verdict"] == "slower"), "{value}");
    let said = compare_on_drive("random-read", &more).success_stdout();
    assert!(said.contains("the base") && said.contains("corrected for 3 comparisons (Holm)"), "{said}");
    assert_eq!(said.matches(" against job.depth=1: ").count(), 3, "{said}");
}

#[test]
fn jobs_that_are_named_are_compared_and_work_that_differs_by_a_variable_is_not() {
    let said =
        compare_on_drive("database", &["--vary", "job=database,file-server", "--metric", "p99", "--runtime", "5 s"]);
    let out = said.success_stdout();
    let note = "they differ in the pattern, the size of requests at once; this comparison cannot tell what each does by itself";
    assert!(out.split_whitespace().collect::<Vec<_>>().join(" ").contains(note), "{out}");
    let said = compare_on_drive("kinds.fio", &["--vary", "job.env.KIND=randread,randwrite"]);
    assert_eq!(said.code, 1, "{}", said.out);
    assert!(said.out.contains("refused: the sides do different work: they differ in the pattern"), "{}", said.out);
    assert!(!said.out.contains("Why:"), "{}", said.out);
}

#[test]
fn what_cannot_be_judged_is_said_with_the_nearest_word() {
    let refused = |more: &[&str], wanted: &[&str]| {
        let said = compare_on_drive("log.fio", &[&CACHE[..], more].concat());
        assert_eq!(said.code, 2, "{more:?}: {}", said.out);
        let all = wanted.iter().all(|wanted| said.err.contains(wanted));
        assert!(all, "{more:?}: {}", said.err);
    };
    refused(&["--metric", "maen"], &["unknown metric `maen`; expected iops, ", "did you mean `mean`?"]);
    refused(
        &["--metric", "job:lgo.p99"],
        &["no worker of the job is called `lgo`; expected log, scan; did you mean `log`?"],
    );
    refused(&["--metric", "operations.commit"], &["operations are counted of programs"]);
    refused(&["--metric", "cpu"], &["--metric cpu: a run with drive.cache.write_back=true has no value"]);
    let said = compare_on_drive("random-read", &["--vary", "job.depth=1,8", "--metric", "flush", "--runtime", "2 s"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("--metric flush.mean: a run with job.depth=1 has no value"), "{}", said.err);
}

#[test]
fn flushes_have_a_row_and_what_waits_behind_them_a_part() {
    let folder = folder_with_jobs();
    let run = ["run", "log.fio", "--on", DRIVE, "--set", "driver=windows-xp"];
    let value = run_program(folder.path(), &[&run[..], &["--json"]].concat()).json();
    let (writes, flushes) = (figure_at(&value, &["write", "ios"]), figure_at(&value, &["flush", "ios"]));
    assert!(flushes > 10.0 && (writes - flushes).abs() <= 1.0, "{writes} writes, {flushes} flushes");
    assert!(figure_at(&value, &["flush", "response_ms", "p99"]) >= figure_at(&value, &["flush", "response_ms", "p50"]));
    assert!(figure_at(&value, &["read", "anatomy_ms", "flush"]) > 1.0, "the scan waits behind the log's flushes");
    assert_eq!(figure_at(&value, &["write", "anatomy_ms", "flush"]), 0.0, "the log writes when its flush is done");
    for kind in ["read", "write", "flush", "all"] {
        let parts: f64 =
            value[kind]["anatomy_ms"].as_object().unwrap().values().map(|part| part.as_f64().unwrap()).sum();
        let mean = figure_at(&value, &[kind, "response_ms", "mean"]);
        assert!((parts - mean).abs() < 1e-6 * mean, "{kind}: {parts} of {mean}");
    }
    let text = run_program(folder.path(), &run).success_stdout();
    assert!(text.lines().any(|line| line.trim_start().starts_with("flushes ")), "{text}");
    let csv = run_program(folder.path(), &[&run[..], &["--format", "csv"]].concat()).success_stdout();
    assert!(csv.lines().any(|line| line.contains(",flush,")), "{csv}");
}

#[test]
fn a_key_that_may_be_left_out_is_varied_with_none() {
    let array = ["--set", "array=raid-6", "--set", "array.drives=4", "--runtime", "1 s"];
    let lost =
        compare_on_drive("random-read", &[&["--vary", "array.lose=none,2"][..], &array].concat()).success_stdout();
    assert!(lost.contains("array.lose=2 against array.lose=none: "), "{lost}");
    let keeps = compare_on_drive("random-read", &["--vary", "job.depth=none,1", "--runtime", "1 s", "--json"]);
    let value = keeps.json();
    let iops = |side: usize| figure_at(&value["sides"][side], &["iops", "estimate"]);
    assert_eq!(iops(0), iops(1), "without it the depth is the job's own, which is 1: {value}");
    let none = compare_on_drive("random-read", &["--vary", "drive.cache.segments=none,16"]);
    assert_eq!(none.code, 2);
    assert!(none.err.contains("`none` is invalid; expected a whole number from 0 to 4096\n"), "{}", none.err);
    let word = compare_on_drive("random-read", &["--vary", "drive.cache.segments=16,adaptive"]);
    assert!(word.err.contains("did you mean `drive.cache.adaptive`?"), "{}", word.err);
    let wrong = compare_on_drive("random-read", &["--vary", "array.lose=nobody,2", "--set", "array=raid-6"]);
    assert!(wrong.err.contains("expected a whole number from 0 to 31, or none"), "{}", wrong.err);
}

/// Drives stand in the picture by their titles, each in one colour; three numbers are a curve with a point each.
#[test]
fn a_picture_names_drives_and_draws_numbers_as_a_curve() {
    let folder = folder_with_jobs();
    let picture = |vary: &str| {
        let words = ["compare", "random-read", "--on", DRIVE, "--vary", vary, "--runtime", "1 s", "--runs", "3"];
        let more = ["--metric", "iops", "--metric", "mean", "--svg", "out.svg", "--force"];
        run_program(folder.path(), &[&words[..], &more].concat()).success_stdout();
        fs::read_to_string(folder.path().join("out.svg")).unwrap()
    };
    let drives = picture(&format!("drive={DRIVE},exos-x18,wd140edfz"));
    for part in ["On which drive is random-read fastest:", "Seagate Exos X18 ST18000NM000J 18 TB", ">\nexos-x18\n"] {
        assert!(drives.contains(part), "{part}: {drives}");
    }
    let bars = ["#0072B2", "#D55E00", "#00855F"].map(|colour| drives.matches(&format!("fill=\"{colour}\"")).count());
    assert_eq!(bars, [2; 3], "a bar in each of two panels");
    let numbers = picture("job.depth=1,4,16");
    assert!(numbers.contains("requests in flight per worker (job.depth)"), "{numbers}");
    assert_eq!(numbers.matches("<circle").count(), 2 * 2 * 3, "a disc and a rim for each number, in two panels");
    assert!(!picture("driver=linux-none,linux-bfq,linux-mq-deadline").contains("<circle"), "words are bars");
}

/// As CSV each comparison is a line, with the figures of the JSON.
#[test]
fn an_answer_as_csv_has_a_line_for_each_comparison() {
    let folder = folder_with_jobs();
    let words = ["compare", "random-read", "--on", DRIVE, "--vary", "job.depth=1,4,16", "--runtime", "1 s"];
    let answer =
        |more: &[&str]| run_program(folder.path(), &[&words[..], &["--runs", "3", "--metric", "iops"], more].concat());
    let both = ["--metric", "p99"];
    let csv = answer(&[&both[..], &["--format", "csv"]].concat()).success_stdout();
    let json = answer(&[&both[..], &["--json"]].concat()).json();
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let comparisons = json["comparisons"].as_array().unwrap();
    assert_eq!((lines.len(), comparisons.len()), (5, 4), "{csv}");
    let cell = |line: usize, column: &str| {
        lines[line][lines[0].iter().position(|name| *name == column).unwrap()].trim_matches('"').to_owned()
    };
    for (index, comparison) in comparisons.iter().enumerate() {
        // A verdict has commas, which these lines do not have.
        let line = index + 1;
        assert_eq!(cell(line, "metric"), comparison["metric"].as_str().unwrap());
        assert_eq!(format!("job.depth={}", cell(line, "to")), comparison["to"].as_str().unwrap());
        let number = |column: &str| cell(line, column).parse::<f64>().unwrap();
        assert_eq!(number("ratio"), comparison["ratio"]["estimate"].as_f64().unwrap());
        assert_eq!(number("ratio_low"), comparison["ratio"]["low"].as_f64().unwrap());
        let side = &json["sides"][1 + index % 2]["metrics"][comparison["metric"].as_str().unwrap()];
        assert_eq!(number("to_value"), side["estimate"].as_f64().unwrap());
        assert!(number("from_low") <= number("from_value") && number("from_value") <= number("from_high"));
    }
    assert!(lines[1..].iter().all(|line| line.last() == Some(&"1")), "{csv}");
    let alone =
        run_program(folder.path(), &[&words[..], &["--runs", "1", "--format", "csv"]].concat()).success_stdout();
    assert!(alone.lines().nth(1).unwrap().contains(",,"), "one run has no interval: {alone}");
    let conflict = answer(&["--format", "csv", "--json"]);
    assert!(conflict.code == 2 && conflict.err.contains("--json and --format conflict"), "{}", conflict.err);
}

#[test]
fn an_answer_is_had_as_markdown_and_as_a_picture() {
    let folder = folder_with_jobs();
    let words =
        ["compare", "random-read", "--on", DRIVE, "--vary", "drive.firmware.depth=1,32", "--set", "job.depth=32"];
    let more = ["--runtime", "5 s", "--runs", "3", "--format", "markdown", "--svg", "pictures/one.svg"];
    let said = run_program(folder.path(), &[&words[..], &more].concat());
    let text = said.success_stdout();
    assert!(text.starts_with("**drive.firmware.depth=32 against drive.firmware.depth=1: faster — 1."), "{text}");
    assert!(
        text.contains(
            "\n| drive.firmware.depth | requests/s | against the first | verdict |\n|---|--:|--:|---|\n| 1 | "
        )
    );
    // Every row of a table has as many cells as its head.
    let cells = |line: &str| line.replace("\\|", "").matches('|').count();
    let tables = text.split("\n\n").filter(|part| part.starts_with('|'));
    tables.for_each(|table| assert!(table.lines().all(|line| cells(line) == 5), "{table}"));
    // The parts add up to the mean response.
    let change = |line: &str| line.rsplit('|').nth(1).unwrap().trim().parse::<f64>().unwrap();
    let parts = text.split("| part |").nth(1).unwrap().lines().skip(2).take_while(|line| line.starts_with('|'));
    let changes: Vec<f64> = parts.map(change).collect();
    let (whole, parts) = changes.split_last().unwrap();
    assert!((whole - parts.iter().sum::<f64>()).abs() < 0.005 && *whole < -100.0, "{text}");
    assert!(text.ends_with("--runs 3 --seed 1\n```\n"), "{text}");
    let picture = fs::read_to_string(folder.path().join("pictures/one.svg")).unwrap();
    for part in [
        "<svg",
        "faster with depth 32 than with depth 1?",
        "commands that the drive can queue (drive.firmware.depth)",
        ">\ndepth 1\n",
        ">\ndepth 32\n",
        "requests/s",
        "higher is better",
        "faster",
    ] {
        assert!(picture.contains(part), "{part}");
    }
    let again = run_program(folder.path(), &[&words[..], &more].concat());
    assert!(again.code == 2 && again.err.contains("already exists; --force overwrites it"), "{}", again.err);
    let both = run_program(folder.path(), &[&words[..], &["--format", "markdown", "--json"]].concat());
    assert_eq!(both.code, 2);
}
