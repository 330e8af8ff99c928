//! Places on which jobs run (simulation, file, device, network block device, live stack): a record names its place, and figures of a
//! place in real time are called measured and are made one after another. Measured times are not judged.

use std::fs;

use crate::seekwise::{program_command, program_output, run_program};
use serde_json::Value;

const JOB: &str = "[j]\nioengine=libaio\ndirect=1\nrw=randrw\nbs=4k\nsize=1g\nnumber_ios=300\niodepth=4\n";

const STUDY: &str = "title = 'Depth'\nquestion = 'Does a queue help?'\nruns = 6\njob = 'j.fio'\n\
    [stack]\nplace = 'null'\n\
    [[factor]]\nname = 'depth'\nkey = 'job.depth'\nlevels = [1, 2, 8]\n\
    [[compare]]\nname = 'eight'\nfactor = 'depth'\nfrom = '1'\nto = '8'\nheadline = true\n";

fn folder_with_job_and_study() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("j.fio"), JOB).unwrap();
    fs::write(folder.path().join("study.toml"), STUDY).unwrap();
    folder
}

/// Cell and run of each record, in the order in which they were kept.
fn cells_and_runs(folder: &std::path::Path) -> Vec<(u64, u64)> {
    let lines = fs::read_to_string(folder.join("out/results.jsonl")).unwrap();
    let record = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let number = |record: &Value, key: &str| record[key].as_u64().unwrap();
    lines.lines().map(record).map(|record| (number(&record, "cell"), number(&record, "run"))).collect()
}

/// Whether the page says that its time is virtual.
fn is_virtual(folder: &std::path::Path) -> bool {
    let page = fs::read_to_string(folder.join("out/report.html")).unwrap();
    match (page.contains("\"virtual_time\":true"), page.contains("\"virtual_time\":false")) {
        (true, false) => true,
        (false, true) => false,
        both => panic!("{both:?}"),
    }
}

#[test]
fn a_record_names_its_place_and_says_what_its_time_is() {
    let folder = folder_with_job_and_study();
    let at = folder.path();
    for (target, place, clock) in
        [("null", "null", "s by the wall clock"), ("caviar-wd400jb", "sim", "s of virtual time")]
    {
        let run = ["run", "j.fio", "--on", target];
        let record = run_program(at, &[&run[..], &["--json"]].concat()).json();
        assert_eq!((record["place"].as_str(), record["all"]["ios"].as_u64()), (Some(place), Some(300)));
        let text = run_program(at, &run).success_stdout();
        assert!(text.contains(clock), "{text}");
        assert_eq!(text.contains("Each request took"), place == "null", "{text}");
        match place {
            "null" => assert!(record["cost"]["wall_ns"].as_f64().unwrap() > 0.0),
            _ => assert_eq!(record.get("cost"), None),
        }
    }
}

#[test]
fn the_work_is_the_same_on_every_place() {
    let folder = folder_with_job_and_study();
    let record = |target| run_program(folder.path(), &["run", "j.fio", "--on", target, "--json"]).json();
    // The hash covers the requests, but not their times.
    let (null, drive) = (record("null"), record("barracuda-7200.7-ncq"));
    assert_eq!(null["stream_hash"], drive["stream_hash"]);
    assert_eq!(null["failures"], 0);
}

#[test]
#[cfg(unix)]
fn a_modelled_disk_and_any_export_are_places_with_the_same_work_and_record() {
    let folder = folder_with_job_and_study();
    let at = folder.path();
    // Two workers: what comes in between is each place's own, what each draws is not.
    let job = JOB.replace("number_ios=300", "number_ios=60\nnumjobs=2");
    fs::write(at.join("j.fio"), job.replace("rw=randrw", "rw=randrw\nfsync=16")).unwrap();
    let run = ["run", "j.fio", "--set", "job.span=2g", "--json", "--on"];
    let record = |target: &str| run_program(at, &[&run[..], &[target]].concat()).json();
    let sim = record("cheetah-15k.4");
    let served = format!(
        "{} run j.fio --set job.span=2g --json --on nbd:unix:d --destroy unix:d > nbd.json && {} run j.fio --on $SEEKWISE_URI --destroy $SEEKWISE_URI --runtime 1s",
        env!("CARGO_BIN_EXE_seekwise"),
        env!("CARGO_BIN_EXE_seekwise"),
    );
    let serve = ["serve", "cheetah-15k.4", "--nbd", "unix:d", "--run", "--", "sh", "-c", &served];
    let said = run_program(at, &serve);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert!(said.out.contains("on nbd+unix:///?socket=/") && said.out.contains("by the wall clock"), "{}", said.out);
    let exported: Value = serde_json::from_str(&fs::read_to_string(at.join("nbd.json")).unwrap()).unwrap();
    for (record, place) in [(record("live:cheetah-15k.4"), "live"), (record("null"), "null"), (exported, "nbd")] {
        assert_eq!((&record["place"], &record["failures"]), (&Value::from(place), &Value::from(0)));
        assert_eq!(record["streams"], sim["streams"], "{place}");
        assert_eq!(record["all"]["ios"], sim["all"]["ios"], "{place}");
        assert!(place == "null" || record["flush"]["ios"].as_u64() > Some(0), "{place}");
        // A disk of our own says how true it was.
        let count = |kind: &str| record[kind]["ios"].as_f64().unwrap();
        let answers = record["receipt"]["requests"].as_f64();
        assert_eq!(answers, (place == "live").then_some(count("all") + count("flush")), "{place}");
    }
    assert_eq!(sim["streams"].as_array().map(Vec::len), Some(2));
    assert_ne!(sim["streams"][0]["hash"], sim["streams"][1]["hash"]);
}

#[test]
fn a_span_bounds_the_job_on_every_place() {
    let folder = folder_with_job_and_study();
    let at = folder.path();
    fs::write(at.join("j.fio"), JOB.replace("size=1g", "filename=/dev/sdb\nsize=50%")).unwrap();
    for target in ["caviar-wd400jb", "null"] {
        let last = |span: &str| {
            let set = format!("job.span={span}");
            let record = run_program(at, &["run", "j.fio", "--on", target, "--set", &set, "--json"]).json();
            (record["streams"].clone(), record["failures"].as_u64())
        };
        let (small, large) = (last("1m"), last("2g"));
        assert_ne!(small.0, large.0, "it is drawn over another space");
        assert_eq!((small.1, large.1), (Some(0), Some(0)));
        let refused = run_program(at, &["run", "j.fio", "--on", target, "--set", "job.span=900g"]);
        assert!(refused.code == 2 && refused.err.contains("expected at most the "), "{}", refused.err);
        let refused = run_program(at, &["run", "j.fio", "--on", target, "--set", "job.span=much"]);
        assert!(refused.code == 2 && refused.err.contains("expected a size such as 10g"), "{}", refused.err);
    }
}

#[test]
fn measured_runs_come_in_blocks_each_in_an_order_of_its_own() {
    let folder = folder_with_job_and_study();
    let at = folder.path();
    let study = |more: &[&str]| run_program(at, &[&["study", "study.toml", "--out", "out"], more].concat());
    let said = study(&["--threads", "2"]);
    assert!(said.err.contains("real-time runs are sequential"), "{}", said.err);
    said.success_stdout();
    let all = cells_and_runs(at);
    let blocks: Vec<&[(u64, u64)]> = all.chunks(3).collect();
    for (run, block) in blocks.iter().enumerate() {
        let mut cells: Vec<u64> = block.iter().map(|of| of.0).collect();
        cells.sort_unstable();
        assert_eq!(cells, [0, 1, 2]);
        assert!(block.iter().all(|of| of.1 == run as u64));
    }
    let orders: std::collections::BTreeSet<Vec<u64>> =
        blocks.iter().map(|block| block.iter().map(|of| of.0).collect()).collect();
    assert!(orders.len() > 1, "{orders:?}");
    assert!(!is_virtual(at));

    let path = at.join("out/results.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    let before: Vec<&str> = whole.split_inclusive('\n').take(4).collect();
    fs::write(&path, before.concat()).unwrap();
    study(&["--resume"]).success_stdout();
    assert_eq!(cells_and_runs(at), all, "it goes on in the same order");
    assert!(fs::read_to_string(&path).unwrap().starts_with(&before.concat()));

    let swapped: String = [before[1], before[0]].concat();
    fs::write(&path, swapped).unwrap();
    let refused = study(&["--resume"]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("results.jsonl:1:"), "{}", refused.err);
}

#[test]
fn a_comparison_is_interleaved_and_may_judge_what_a_request_costs() {
    let folder = folder_with_job_and_study();
    let compare = ["compare", "j.fio", "--on", "null", "--vary", "job.depth=1,8", "--runs", "3"];
    let said = run_program(folder.path(), &[&compare[..], &["--metric", "wall_ns"]].concat());
    assert!(said.code < 2, "{}", said.err);
    assert!(
        said.out.contains("paired in randomised blocks") && said.out.contains("(wall_ns); lower is better"),
        "{}",
        said.out
    );
    let modelled = ["compare", "j.fio", "--on", "caviar-wd400jb", "--vary", "job.depth=1,8", "--runs", "2"];
    let refused = run_program(folder.path(), &[&modelled[..], &["--metric", "wall_ns"]].concat());
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("--metric wall_ns: a run with job.depth=1 has no value"), "{}", refused.err);
}

#[test]
fn what_a_place_in_real_time_cannot_do_is_refused() {
    let folder = folder_with_job_and_study();
    let at = folder.path();
    let cuts = STUDY.replace("runs = 6", "runs = 2\ncuts = 3");
    fs::write(at.join("cuts.toml"), cuts).unwrap();
    fs::write(at.join("other.toml"), STUDY.replace("'null'", "'nul'")).unwrap();
    for (args, why) in [
        (&["run", "j.fio", "--on", "live:null"][..], "`null` is not a modelled disk; expected live:NAME|STACK"),
        (&["run", "j.fio", "--on", "live"], "live: expected live:NAME|STACK"),
        (&["run", "j.fio", "--on", "live:baracuda-7200.7"], "did you mean `barracuda-7200.7`?"),
        (&["run", "j.fio", "--on", "nbd:nowhere"], "`nowhere` is no address; expected unix:PATH, tcp:HOST:PORT"),
        (&["run", "j.fio", "--on", "nbd:unix:none"], "No such file or directory"),
        (&["power-cut", "j.fio", "--on", "live:cheetah-15k.4", "--cuts", "3"], "power cuts need a modelled stack"),
        (&["run", "j.fio", "--on", "null", "--set", "driver.depth=4"], "`driver.depth`: `null` has no modelled stack"),
        (&["run", "j.fio", "--on", "null", "--set", "place=sim"], "--on names the place"),
        (&["run", "j.fio", "--on", "nul"], "did you mean `null`?"),
        (&["power-cut", "j.fio", "--on", "null", "--cuts", "3"], "power cuts need a modelled stack"),
        (&["study", "cuts.toml", "--out", "cuts"], "power cuts need a modelled stack"),
        (
            &["study", "other.toml", "--out", "other"],
            "`nul` is no place; expected sim, null, live, nbd:ADDRESS, file:PATH, device:PATH; did you mean `null`?",
        ),
    ] {
        let said = run_program(at, args);
        assert_eq!(said.code, 2, "{args:?}: {}", said.out);
        assert!(said.err.contains(why), "{args:?}: {}", said.err);
    }
}

#[test]
fn the_program_names_its_places() {
    let folder = folder_with_job_and_study();
    let version = program_output(program_command(folder.path()).arg("--version").output().unwrap()).success_stdout();
    assert!(version.contains("sim (virtual time), null (real time), live (real time), nbd (real time)"), "{version}");
    assert!(run_program(folder.path(), &["run", "--help"]).success_stdout().contains("`null`"));
}

#[test]
#[cfg(unix)]
fn an_export_is_not_overwritten_unasked() {
    let folder = folder_with_job_and_study();
    let at = folder.path();
    fs::write(at.join("reads.fio"), JOB.replace("rw=randrw", "rw=randread").replace("=300", "=5")).unwrap();
    fs::write(at.join("j.fio"), JOB.replace("=300", "=5")).unwrap();
    let program = env!("CARGO_BIN_EXE_seekwise");
    let all = format!(
        "{program} run reads.fio --on nbd:unix:d || exit 11; {program} run j.fio --on nbd:unix:d 2> unasked && exit 12; \
         {program} run j.fio --on nbd:unix:d --destroy unix:e 2> other && exit 13; \
         {program} run j.fio --on nbd:unix:d --set real.destroy=unix:d || exit 14; \
         {program} run random-write --on nbd:unix:d --destroy \"nbd+unix:///?socket=d\" --runtime 100ms || exit 15"
    );
    let serve = ["serve", "cheetah-15k.4", "--nbd", "unix:d", "--run", "--", "sh", "-c", &all];
    let said = run_program(at, &serve);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    let read = |name: &str| fs::read_to_string(at.join(name)).unwrap();
    let (unasked, other) = (read("unasked"), read("other"));
    assert!(
        unasked.contains("what is on it would be written over; expected --destroy nbd+unix:///?socket=d"),
        "{unasked}"
    );
    assert!(other.contains("names another export than nbd+unix:///?socket=d"), "{other}");
    for (target, why) in
        [("null", "holds nothing to destroy"), ("cheetah-15k.4", "expected file:PATH, device:PATH or nbd:ADDRESS")]
    {
        let said = run_program(at, &["run", "j.fio", "--on", target, "--destroy", "unix:d"]);
        assert!(said.code == 2 && said.err.contains(why), "{}", said.err);
    }
}
