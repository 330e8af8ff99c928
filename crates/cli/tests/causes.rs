//! The cause that `seekwise compare` names for a difference, in open and closed loops: its sentence, and figures of the answer that
//! must agree with it. Also shares of busy resources, and measurements without a rotating disk.

use std::fs;

use crate::seekwise::run_program;
use serde_json::Value;

const DRIVE: &str = "barracuda-7200.7-ncq";

macro_rules! mix {
    () => {
        "[global]\nioengine=libaio\ndirect=1\ntime_based\nruntime=20\n[seq]\nrw=read\nbs=64k\nsize=10g\noffset=100g\n\
         [rnd]\nrw=randread\nbs=4k\nsize=50g\n"
    };
}

macro_rules! logs {
    () => {
        "[log]\nrw=write\nbs=4k\nfsync=1\nsize=1g\nruntime=20\ntime_based\nioengine=psync\ndirect=1\n"
    };
}

/// A job that forces each write, one whose requests come by themselves, random reads beside a stream at two depths, logs of
/// several processes, and random reads of a large file.
const JOBS: [(&str, &str); 7] = [
    ("sync.fio", "[j]\nioengine=libaio\ndirect=1\nrw=randwrite\nbs=4k\nsize=1g\nfdatasync=1\ntime_based\nruntime=4\n"),
    (
        "paced.fio",
        "[j]\nioengine=libaio\ndirect=1\nrw=randread\nbs=4k\nsize=1g\niodepth=64\nrate_iops=60\nrate_process=poisson\n\
         time_based\nruntime=20\n",
    ),
    ("mix-1.fio", concat!(mix!(), "iodepth=1\n")),
    ("mix-16.fio", concat!(mix!(), "iodepth=16\n")),
    ("logs-2.fio", concat!(logs!(), "numjobs=2\n")),
    ("logs-8.fio", concat!(logs!(), "numjobs=8\n")),
    ("deep.fio", "[a]\nioengine=libaio\ndirect=1\nrw=randread\nbs=4k\nsize=64g\ntime_based\nruntime=20\n"),
];

fn json_of(words: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in JOBS {
        fs::write(folder.path().join(name), text).unwrap();
    }
    run_program(folder.path(), words).json()
}

/// Compares three runs a side; returns the JSON, and the sentence of the cause.
fn compare_and_cause(job: &str, more: &[&str]) -> (Value, String) {
    let value = json_of(&[&["compare", job, "--on", DRIVE, "--runs", "3", "--json"], more].concat());
    let text = value["cause"]["text"].as_str().unwrap().to_owned();
    (value, text)
}

fn figure_at(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}: {value}"))
}

/// The sum of the parts of the mean response that are work, or that are waiting, on both sides.
fn work_or_waiting_sums_ms(value: &Value, waits: bool) -> [f64; 2] {
    let parts = || value["cause"]["parts"].as_array().unwrap().iter().filter(|part| part["waits"] == waits);
    ["/from_ms", "/to_ms"].map(|side| parts().map(|part| figure_at(part, side)).sum())
}

/// True if two figures are within 4 % of one another.
fn is_within_4_percent(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() < 0.04
}

const DEEP: [&str; 4] = ["--set", "job.depth=32", "--runtime", "10 s"];

#[test]
fn of_another_order_the_work_is_the_cause_and_the_waiting_follows() {
    let order = ["--vary", "drive.firmware.queue.policy=fcfs,sptf", "--set", "drive.firmware.depth=32"];
    let (value, text) = compare_and_cause("random-read", &[&order[..], &DEEP].concat());
    assert!(text.starts_with("each read: own work ") && text.contains(". Waiting falls with it: "), "{text}");
    assert!(text.contains("), with 3") && text.contains(" outstanding on average "), "{text}");
    let ([work, less], ratio) = (work_or_waiting_sums_ms(&value, false), figure_at(&value, "/ratio/estimate"));
    assert!(ratio > 1.5 && is_within_4_percent(work / less, ratio), "the work alone makes the rate: {ratio}, {text}");
    for side in ["/cause/closed_loop/at_work/0", "/cause/closed_loop/at_work/1"] {
        assert!(is_within_4_percent(figure_at(&value, side), 1.0), "one drive works on one request: {text}");
    }
}

/// Requests that waited in the driver wait in the drive's queue instead: part of the waiting moves, part of it disappears.
#[test]
fn waiting_that_moves_still_adds_up() {
    let (value, text) =
        compare_and_cause("random-read", &[&["--vary", "drive.firmware.depth=1,32"], &DEEP[..]].concat());
    let [own, waiting] = [false, true].map(|waits| work_or_waiting_sums_ms(&value, waits));
    assert!(
        text.contains("(driver -") && text.contains(", queue +") && text.contains("Waiting falls with it: "),
        "{text}"
    );
    let all = ["/cause/from_ms", "/cause/to_ms"].map(|side| figure_at(&value, side));
    assert!((0..2).all(|side| (own[side] + waiting[side] - all[side]).abs() < 1e-6), "{value}");
}

#[test]
fn a_deeper_job_has_more_outstanding() {
    let (value, text) = compare_and_cause("random-read", &["--vary", "job.depth=1,32", "--runtime", "10 s"]);
    assert!(text.contains(" outstanding on average instead of 1.0"), "{text}");
    assert!(
        work_or_waiting_sums_ms(&value, true)[0] < 0.001
            && is_within_4_percent(figure_at(&value, "/cause/closed_loop/outstanding/1"), 32.0),
        "{text}"
    );
}

#[test]
fn a_write_cache_takes_work_from_each_write() {
    for depth in ["job.depth=1", "job.depth=32"] {
        let cached = ["--vary", "drive.cache.write_back=false,true", "--set", depth, "--runtime", "10 s"];
        let (value, text) = compare_and_cause("random-write", &cached);
        assert!(text.contains("mean response of writes ") && text.contains("rotation -"), "{text}");
        assert!(text.contains("cache +") && text.contains("; cache is waiting for a segment"), "{text}");
        assert!(
            value["cause"]["closed_loop"]["at_work"].is_null()
                && !text.contains("at work")
                && work_or_waiting_sums_ms(&value, false)[1] < 0.2,
            "writes wait for the drive's work on others: {text}"
        );
    }
}

#[test]
fn flushes_that_are_dropped_are_the_cause() {
    let (value, text) =
        compare_and_cause("sync.fio", &["--set", "driver=windows-2000", "--vary", "driver.flush=forward,drop"]);
    assert!(text.contains("mean response of writes ") && text.contains("; flushes between them "), "{text}");
    let of = |side: usize| figure_at(&value, &format!("/cause/closed_loop/flushes_ms/{side}"));
    assert!(of(0) > 4.0 && of(1) < 0.1, "{text}");
    // The loop is a write and its flush, one after another.
    for side in [0, 1] {
        assert!(
            is_within_4_percent(figure_at(&value, &format!("/cause/closed_loop/outstanding/{side}")), 1.0),
            "{value}"
        );
    }
}

/// The work in a response is that of one drive, but the blocks of a lost drive are read from all others.
#[test]
fn an_array_hides_work_so_none_is_the_cause() {
    let lost = ["--set", "array=raid-5", "--set", "array.drives=4", "--vary", "array.lose=none,1"];
    let more = ["--set", "array=raid-0", "--vary", "array.drives=2,4"];
    for array in [&lost[..], &more] {
        let (value, text) =
            compare_and_cause("random-read", &[array, &["--set", "job.depth=8", "--runtime", "10 s"]].concat());
        assert!(!text.contains("own work") && !text.contains("at work"), "{text}");
        assert!(text.contains("mean response of reads ") && text.contains("queue "), "{text}");
        assert!(value["cause"]["closed_loop"]["at_work"].is_null(), "{value}");
    }
}

/// Random reads beside a stream: with more of them, the mean of all requests is longer, although no kind takes longer.
#[test]
fn another_mix_of_jobs_is_named_as_what_changed() {
    let value = json_of(&[
        "compare",
        "mix-1.fio",
        "mix-16.fio",
        "--on",
        "exos-x18",
        "--runs",
        "3",
        "--metric",
        "mean",
        "--json",
    ]);
    let text = value["cause"]["text"].as_str().unwrap();
    assert!(text.contains("ms: the mix changed (job rnd ") && text.contains(" % of the requests); queue +"), "{text}");
    assert!(!text.contains("own work") && !text.contains("at work"), "{text}");
    assert!(text.contains("outstanding on average instead of 2.0"), "{text}");
}

/// Several processes flush: each waits for the flushes of others.
#[test]
fn a_flush_that_waits_for_others_is_no_work() {
    let compared = |metric: &str| {
        let words = ["compare", "logs-2.fio", "logs-8.fio", "--on", DRIVE, "--runs", "3", "--metric", metric, "--json"];
        json_of(&words)["cause"]["text"].as_str().unwrap().to_owned()
    };
    let text = compared("iops");
    assert!(!text.contains("at work") && text.contains(", with their own waiting"), "{text}");
    assert!(text.contains("8.0 outstanding on average instead of 2.0"), "{text}");
    let text = compared("flush.mean");
    assert!(!text.contains("work") && text.contains("flush +"), "{text}");
    // Pages and a log: the log's flushes wait for pages.
    let oltp = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/oltp.fio");
    let (_, text) = compare_and_cause(oltp, &["--vary", "drive.firmware.depth=1,32", "--runtime", "10 s"]);
    assert!(!text.contains("at work"), "{text}");
}

/// The loop of a job is a write and its flush.
#[test]
fn flushes_stay_in_the_loop_of_a_job() {
    let cached = ["--vary", "drive.cache.write_back=off,on", "--metric", "job:j.mean"];
    let (value, text) = compare_and_cause("sync.fio", &cached);
    assert!(!text.contains("0.0 outstanding") && text.contains("flushes between them "), "{text}");
    for side in [0, 1] {
        assert!(
            is_within_4_percent(figure_at(&value, &format!("/cause/closed_loop/outstanding/{side}")), 1.0),
            "{value}"
        );
    }
}

/// The rate of commits against the mean of flushes, which takes less if the write before it takes longer.
#[test]
fn a_commit_is_a_write_and_its_flush() {
    let cached = ["--vary", "drive.cache.write_back=on,off", "--metric", "flush.iops"];
    let (value, text) = compare_and_cause("sync.fio", &cached);
    assert!(text.starts_with("a commit is a write and its flush: write "), "{text}");
    let rate = |side: usize| figure_at(&value, &format!("/sides/{side}/metrics/flush.iops/estimate"));
    let between =
        |from: &str, to: &str| text.split(from).nth(1).and_then(|rest| rest.split(to).next()).unwrap().to_owned();
    let both = [between("write and its flush: write ", " ms"), between(" ms, flush ", " ms")];
    let [write, flush] = both.map(|both| both.split(" -> ").map(|ms| ms.parse::<f64>().unwrap()).collect::<Vec<_>>());
    for side in [0, 1] {
        assert!(is_within_4_percent(rate(side) * (write[side] + flush[side]), 1000.0), "{text}");
    }
}

/// With one more request outstanding, the waiting changes a little, and the work does not change.
#[test]
fn waiting_of_a_deeper_job_follows_no_work() {
    let (_, text) = compare_and_cause("deep.fio", &["--vary", "job.depth=30,31", "--metric", "mean"]);
    assert!(!text.contains(" with it") && !text.contains("follows"), "{text}");
    assert!(text.contains("with 30.9 outstanding on average instead of 29.9"), "{text}");
}

/// The policy "shortest first" serves more requests a second, but its slowest requests wait longer.
#[test]
fn a_tail_against_the_mean_says_that_the_mean_moved_the_other_way() {
    let deep = ["--vary", "drive.firmware.depth=1,32", "--metric", "p99"];
    let (value, text) = compare_and_cause("random-read", &[&deep[..], &DEEP].concat());
    assert_eq!(value["verdict"], "slower", "{value}");
    assert!(text.starts_with("the mean moved the other way (shorter): each read: own work "), "{text}");
}

/// The processor takes longer for a request than the drive does.
#[test]
fn a_processor_that_is_the_bound_is_named_with_its_queue() {
    let slow = ["--set", "processor=pentium-iii-800", "--set", "processor.request_us=30000", "--set", "job.depth=16"];
    let run =
        |vary: &str| compare_and_cause("random-read", &[&slow[..], &["--vary", vary, "--runtime", "10 s"]].concat());
    let (_, text) = run("processor.cores=1,2");
    assert!(text.contains("processor queue -") && text.contains(" at work at once instead of "), "{text}");
    let (value, text) = run("processor.speed=1,2");
    assert!(text.contains("own work") && text.contains("(processor -") && text.contains("processor queue -"), "{text}");
    assert!(
        value["cause"]["parts"].as_array().unwrap().iter().any(|part| part["part"] == "processor queue"),
        "{value}"
    );
}

#[test]
fn of_requests_that_come_by_themselves_the_parts_come_by_size() {
    let order = ["--vary", "drive.firmware.queue.policy=fcfs,sptf", "--set", "drive.firmware.depth=32"];
    let (value, text) = compare_and_cause("paced.fio", &order);
    assert!(text.starts_with("mean response of reads ") && text.contains(": waiting -"), "{text}");
    assert_eq!((&value["cause"]["arrival"], &value["cause"]["closed_loop"]), (&"open".into(), &Value::Null));
}

/// Reads from the buffer by programmed I/O, 32 at once, under a system that takes long for each: the core has no time left.
#[test]
fn a_core_is_busy_for_all_the_time_at_most() {
    let folder = tempfile::tempdir().unwrap();
    let job = "[j]\nioengine=libaio\ndirect=1\nrw=randread\nnorandommap\nbs=4k\nsize=256k\niodepth=32\ntime_based\nruntime=2\n";
    fs::write(folder.path().join("j.fio"), job).unwrap();
    let run = |mode: &str, request: u32| {
        let [mode, request] = [format!("controller.mode={mode}"), format!("processor.request_us={request}")];
        let on = ["run", "j.fio", "--on", "fireball-plus-as-30", "--json", "--set", "driver=windows-2000"];
        let more = ["--set", "controller=ide", "--set", "processor=pentium-iii-800", "--set", &mode, "--set", &request];
        figure_at(&run_program(folder.path(), &[&on[..], &more].concat()).json(), "/cpu/percent")
    };
    for (mode, request) in [("pio-0", 200), ("pio-0", 1000), ("pio-4", 200)] {
        let percent = run(mode, request);
        assert!((95.0..=100.0).contains(&percent), "{percent} % by {mode}, {request} us a request");
    }
    assert!(run("udma-5", 50) < 95.0);
}

/// A file that is read twice in the ramp is in memory when counting begins.
#[test]
fn reads_of_the_ramp_are_no_reads_from_memory() {
    let folder = tempfile::tempdir().unwrap();
    let job = |ramp: &str| {
        format!(
            "[j]\nioengine=psync\nrw=randread\nnorandommap\nbs=64k\nsize=16m\ntime_based\nruntime=2\nramp_time={ramp}\n"
        )
    };
    fs::write(folder.path().join("warm.fio"), job("20")).unwrap();
    fs::write(folder.path().join("cold.fio"), job("0")).unwrap();
    let percent = |name: &str| {
        let run = ["run", name, "--on", DRIVE, "--set", "pagecache.mib=512", "--json"];
        figure_at(&run_program(folder.path(), &run).json(), "/memory_percent")
    };
    assert_eq!(percent("warm.fio"), 100.0);
    assert!(percent("cold.fio") < 100.0);
}

/// The null target answers at once, as a cache does.
#[test]
fn a_measurement_that_no_platter_gave_is_doubted() {
    let folder = tempfile::tempdir().unwrap();
    let against = |job: &'static str| {
        let words = ["compare", job, "--on", "null", "--against", DRIVE, "--runs", "2", "--runtime", "200 ms"];
        [&words[..], &["--set", "job.span=1g", "--set", "job.ramp=0 s"]].concat()
    };
    let run =
        |job: &'static str, more: &[&'static str]| run_program(folder.path(), &[&against(job)[..], more].concat());
    let value = run("random-read", &["--json"]).json();
    let [doubt] = &value["doubts"].as_array().unwrap()[..] else { panic!("{value}") };
    assert!(doubt.as_str().unwrap().starts_with("half of the measured reads took "), "{doubt}");
    let text = run("random-read", &[]).success_stdout().replace('\n', " ");
    assert!(
        text.contains("Note: half of the measured reads took ") && text.contains("below half a revolution"),
        "{text}"
    );
    // A stream does not wait for the platter in the model either.
    let value = run("streaming-read", &["--json"]).json();
    assert!(value["doubts"].as_array().unwrap().is_empty(), "{value}");
}
