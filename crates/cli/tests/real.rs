//! Real files as places: a worker issues the same requests as in simulation and on a served disk, unsafe jobs are refused with advice,
//! and only the file is touched. Measured times are not judged.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use crate::seekwise::{run_program, sorted_names};
use serde_json::Value;

/// Ten jobs, of several workers, stages, paces, sizes and directions.
const JOBS: [(&str, &str); 10] = [
    ("reads", "[j]\nrw=randread\nbs=4k\nsize=8m\nioengine=io_uring\ndirect=1\niodepth=16\nnumber_ios=300\n"),
    ("several", "[j]\nrw=randread\nbs=4k\nsize=8m\nioengine=libaio\ndirect=1\niodepth=4\nnumjobs=4\nnumber_ios=120\n"),
    ("writes", "[j]\nrw=randwrite\nbs=8k\nsize=8m\nioengine=io_uring\ndirect=1\niodepth=8\nfsync=16\nnumber_ios=150\n"),
    ("mixed", "[j]\nrw=randrw\nrwmixread=70\nbs=4k,16k\nsize=8m\nioengine=io_uring\niodepth=8\nnumber_ios=200\n"),
    ("sequential", "[j]\nrw=read\nbs=64k\nsize=4m\nnumjobs=2\n"),
    (
        "stages",
        "[global]\nsize=4m\nbs=4k\ndirect=1\n[first]\nrw=write\nnumber_ios=110\n[then]\nstonewall\nrw=randread\nnumjobs=2\n\
         number_ios=110\n",
    ),
    ("sizes", "[j]\nrw=randread\nbssplit=512/30:4k/50:64k/20\nsize=8m\nioengine=io_uring\niodepth=4\nnumber_ios=150\n"),
    ("zipf", "[j]\nrw=randread\nrandom_distribution=zipf:1.2\nbs=4k\nsize=8m\ndirect=1\nnumber_ios=150\n"),
    (
        "paced",
        "[j]\nrw=randread\nbs=4k\nsize=8m\nioengine=io_uring\ndirect=1\niodepth=4\nrate_iops=2000\nnumber_ios=150\n",
    ),
    (
        "durable",
        "[a]\nrw=randwrite\nbs=4k\nsize=4m\nsync=dsync\nnumber_ios=110\n[b]\nrw=write\nbs=4k\nsize=4m\nfdatasync=4\n\
         number_ios=110\n",
    ),
];

/// A volume without a file system's chance, read by one program after another.
const SCENE: &str = "[system]\nfamily = \"windows-nt\"\n[pagecache]\nmib = 4\n[volume.c]\nfs = \"fat32\"\nsize_gib = 0.06\n\
    files = 40\ntotal_mb = 8\n[program.first]\nname = \"set-read\"\nfiles = 0\ntotal_mb = 0\n";

/// The drive that is simulated, and served in real time: a fast one, because there each request takes the drive's time.
const DRIVE: &str = "cheetah-15k.4";

/// A folder with the jobs, the scene, and an empty folder `d` for the file.
fn folder_with_jobs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in JOBS {
        fs::write(folder.path().join(format!("{name}.fio")), text).unwrap();
    }
    fs::write(folder.path().join("scene.toml"), SCENE).unwrap();
    fs::create_dir(folder.path().join("d")).unwrap();
    folder
}

/// The setting that makes a file of 64 MiB at the first run.
const LAYOUT: &str = "real.layout=64m";

/// Whether the tests cannot run here; prints the reason. Some systems forbid io_uring, or direct I/O in a temporary folder.
fn is_skipped(folder: &Path) -> bool {
    let said = run_program(folder, &["run", "reads.fio", "--on", "file:d", "--set", LAYOUT]);
    if said.code == 0 && !said.err.contains("io_uring is forbidden") {
        return false;
    }
    println!("skipped: {}", said.err);
    true
}

#[test]
fn each_worker_draws_on_a_real_file_what_it_draws_in_simulation() {
    let folder = folder_with_jobs();
    let at = folder.path();
    if is_skipped(at) {
        return;
    }
    let record = |job: &str, target: &str, set: &[&str]| -> Value {
        let sets: Vec<&str> = set.iter().flat_map(|set| ["--set", set]).collect();
        run_program(at, &[&["run", job, "--on", target, "--json"], &sets[..]].concat()).json()
    };
    for name in JOBS.iter().map(|job| format!("{}.fio", job.0)).chain(["scene.toml".to_owned()]) {
        let sim = record(&name, DRIVE, &["job.span=64m"]);
        let null = record(&name, "null", &["job.span=64m"]);
        let live = record(&name, &format!("live:{DRIVE}"), &["job.span=64m"]);
        let real = record(&name, "file:d", &[]);
        let calls = record(&name, "file:d", &["real.engine=psync", "real.direct=false"]);
        assert!(!sim["streams"].as_array().unwrap().is_empty(), "{name}");
        for (other, place) in [(&null, "null"), (&live, "live"), (&real, "file"), (&calls, "file")] {
            assert_eq!((&other["place"], &other["failures"]), (&Value::from(place), &Value::from(0)), "{name}");
            assert_eq!(other["streams"], sim["streams"], "{name} on {place}");
            // A sync in a queue is one of fio's `number_ios`, and it is repeated until the next write is done: the sync after
            // write 144 takes the place of none to six of the last six writes, on a real file as the time has it. A sync that
            // is called is none of them. fio itself makes 144 to 150 writes.
            match (name.as_str(), place, std::ptr::eq(other, &raw const calls)) {
                ("writes.fio", _, true) => assert_eq!(other["all"]["ios"], 150),
                ("writes.fio", "file", _) => {
                    assert!((144..=150).contains(&other["all"]["ios"].as_u64().unwrap()), "{other}");
                }
                _ => assert_eq!(other["all"]["ios"], sim["all"]["ios"], "{name} on {place}"),
            }
            // With several in flight a sync is repeated until fio sees the next write done: on a real file as often as its
            // time has it. 150 writes and a sync after each 16th are 9 at least.
            match (name.as_str(), place) {
                ("writes.fio", "file") => assert!(other["flush"]["ios"].as_u64().unwrap() >= 9, "{other}"),
                _ => assert_eq!(other["flush"]["ios"], sim["flush"]["ios"], "{name} on {place}"),
            }
        }
        assert!(real["real"]["completion_ms"]["mean"].as_f64().unwrap() > 0.0, "{name}");
    }
    // As long as it was made, and nothing beside it.
    assert_eq!(fs::metadata(at.join("d/seekwise.data")).unwrap().len(), 64 << 20);
    assert_eq!(sorted_names(&at.join("d")), ["seekwise.data"]);
}

#[test]
fn what_could_destroy_something_or_does_not_fit_is_refused() {
    let folder = folder_with_jobs();
    let at = folder.path();
    let said = |args: &[&str]| {
        let said = run_program(at, &[&["run"], args].concat());
        assert_eq!(said.code, 2, "{args:?}: {}", said.out);
        said.err
    };
    let has = |text: String, words: &str| assert!(text.contains(words), "{text}");
    has(said(&["reads.fio", "--on", "file:d"]), "there is no such file");
    has(said(&["reads.fio", "--on", "file:"]), "expected a path");
    has(said(&["reads.fio", "--on", "file"]), "expected file:PATH");
    has(said(&["reads.fio", "--on", "device:d"]), "is no block device");
    assert!(sorted_names(&at.join("d")).is_empty());
    // A file that `real.layout` requests is not created if the run is refused.
    let laid = |bytes: &str, more: &[&str]| said(&[&["reads.fio", "--on", "file:d", "--set", bytes], more].concat());
    has(laid(LAYOUT, &["--set", "job.depth=30000", "--max-memory", "100m"]), "this may take up to 2");
    has(laid("real.layout=4m", &[]), "asks for 8388608 bytes");
    has(laid(LAYOUT, &["--set", "pagecache.mib=5"]), "the system's own page cache");
    assert!(sorted_names(&at.join("d")).is_empty());
    fs::write(at.join("thesis"), vec![b'x'; 32 << 20]).unwrap();
    has(said(&["writes.fio", "--on", "file:thesis"]), "holds something that Seekwise did not write");
    has(said(&["writes.fio", "--on", "file:thesis", "--destroy", "other"]), "or `--destroy thesis`");
    has(said(&["reads.fio", "--on", "cheetah-15k.4", "--destroy", "x"]), "holds nothing to destroy");
    assert_eq!(fs::read(at.join("thesis")).unwrap(), vec![b'x'; 32 << 20]);
    // The file has a single byte of somebody's data in a GiB of zeroes.
    let letter = fs::File::create(at.join("letter")).unwrap();
    letter.set_len(1 << 30).unwrap();
    letter.write_all_at(b"x", 777 << 20).unwrap();
    drop(letter);
    has(said(&["writes.fio", "--on", "file:letter"]), "did not write (at byte 814743552), and the job writes");
    // Another program has it open for writing: refused, also by name.
    fs::File::create(at.join("used")).unwrap().set_len(32 << 20).unwrap();
    let open = fs::File::options().write(true).open(at.join("used")).unwrap();
    has(
        said(&["writes.fio", "--on", "file:used", "--destroy", "used"]),
        "has it open for writing; expected a file that",
    );
    drop(open);
    has(said(&["writes.fio", "--on", "file:/proc/version"]), "is a file of the kernel's (proc)");
    fs::write(at.join("small"), vec![0; 1 << 20]).unwrap();
    has(said(&["reads.fio", "--on", "file:small"]), "or a longer file: `--set real.layout=SIZE`");
    assert_eq!(fs::metadata(at.join("small")).unwrap().len(), 1 << 20);
    has(said(&["reads.fio", "--on", "file:thesis", "--set", "real.drect=true"]), "did you mean `real.direct`?");
    has(said(&["reads.fio", "--on", "file:thesis", "--set", "real.direct=2"]), "expected true, false");
    has(said(&["reads.fio", "--on", "cheetah-15k.4", "--set", "real.direct=true"]), "expected --on file:PATH");
    has(said(&["reads.fio", "--on", "file:thesis", "--set", "pagecache.mib=5"]), "the system's own page cache");
    has(said(&["reads.fio", "--on", "file:thesis", "--set", "drive.cache.segments=5"]), "`real` keys");
    // Each request in flight has a buffer: 30,000 of 4 KiB.
    let deep = ["--set", "job.depth=30000", "--max-memory", "100m"];
    has(said(&[&["reads.fio", "--on", "file:thesis"], &deep[..]].concat()), "this may take up to 2");
    // A job that only reads needs no permission to write, and may read a file that somebody else wrote.
    let read =
        run_program(at, &["run", "zipf.fio", "--on", "file:thesis", "--set", "real.direct=false", "--json"]).json();
    assert_eq!(read["all"]["ios"], 150);
}

#[test]
fn names_in_a_job_are_never_opened() {
    let folder = folder_with_jobs();
    let at = folder.path();
    if is_skipped(at) {
        return;
    }
    fs::write(at.join("other"), "stays").unwrap();
    fs::write(at.join("j.fio"), "[j]\nfilename=other\ndirectory=.\nrw=write\nbs=4k\nsize=1m\ndirect=1\n").unwrap();
    let out = run_program(at, &["run", "j.fio", "--on", "file:d", "--json"]).json();
    assert_eq!(
        (out["write"]["ios"].as_u64(), fs::read_to_string(at.join("other")).unwrap().as_str()),
        (Some(256), "stays")
    );
    let written = fs::read(at.join("d/seekwise.data")).unwrap();
    assert!(written.chunks(512).all(|sector| sector.starts_with(b"SEEKWISE")));
}

#[test]
fn fios_json_has_the_machine_in_it_and_slow_requests_are_listed() {
    let folder = folder_with_jobs();
    let at = folder.path();
    if is_skipped(at) {
        return;
    }
    let fio = run_program(at, &["run", "several.fio", "--on", "file:d", "--format", "fio-json"]).json();
    let read = &fio["jobs"][0]["read"];
    let of = |key: &str| read[key]["mean"].as_f64().unwrap();
    assert_eq!(read["slat_ns"]["N"], read["total_ios"]);
    assert!((of("slat_ns") + of("clat_ns") - of("lat_ns")).abs() < 1.0, "{read}");
    assert!(fio["jobs"][0]["usr_cpu"].as_f64().unwrap() + fio["jobs"][0]["sys_cpu"].as_f64().unwrap() > 0.0);
    let slow = run_program(at, &["run", "reads.fio", "--on", "file:d", "--json", "--slow", "1ns"]).json();
    assert_eq!(slow["slow"]["requests"].as_array().unwrap().len(), 300);
    assert_eq!(slow["slow"]["requests"][0]["op"], "read");
    let none = run_program(at, &["run", "reads.fio", "--on", "cheetah-15k.4", "--slow", "1h"]).success_stdout();
    assert!(none.contains("No request took 3600000 ms or longer."), "{none}");
}

#[test]
fn sides_are_compared_in_turn_predicted_and_forecast() {
    let folder = folder_with_jobs();
    let at = folder.path();
    let job = ["compare", "reads.fio", "--on", "file:d", "--set", LAYOUT];
    let dry = run_program(
        at,
        &[&job[..], &["--vary", "real.direct=true,false", "--runs", "5", "--dry-run", "--json"]].concat(),
    );
    let dry = dry.json();
    let run = dry["sides"][0]["run_s"].as_f64().unwrap();
    assert!(run > 0.0 && (dry["seconds"].as_f64().unwrap() - 10.0 * run).abs() < 1e-6, "{dry}");
    assert!(sorted_names(&at.join("d")).is_empty(), "nothing is made");
    if is_skipped(at) {
        return;
    }
    let deep = run_program(at, &[&job[..], &["--vary", "real.engine=io_uring,psync", "--runs", "2"]].concat());
    assert_eq!(deep.code, 1, "{}", deep.err);
    assert!(deep.out.contains("expected `--set job.depth=1`"), "{}", deep.out);
    let vary = ["--vary", "real.engine=io_uring,psync", "--runs", "3", "--set", "job.depth=1", "--json"];
    let compared = run_program(at, &[&job[..], &vary].concat()).json();
    assert_eq!(compared["sides"][1]["name"], "real.engine=psync");
    assert_eq!(compared["comparisons"][0]["differs"], serde_json::json!(["real.engine"]), "{compared}");
    let against = ["--against", "cheetah-15k.4", "--runs", "2", "--json"];
    let held = run_program(at, &[&job[..], &against].concat()).json();
    assert_eq!((&held["same_requests"], &held["runs"]), (&Value::from(true), &Value::from(2)));
    assert!(held["demerit_ms"].as_f64().unwrap() > 0.0);
    let said = run_program(at, &["compare", "reads.fio", "--on", "cheetah-15k.4", "--against", "raptor-wd740gd"]);
    assert!(said.code == 2 && said.err.contains("is not measured"), "{}", said.err);
}

/// Several workers open the device, although the run has locked it against other programs. Runs as root only.
#[test]
fn several_workers_write_to_a_device_that_is_named() {
    let folder = folder_with_jobs();
    let at = folder.path();
    fs::File::create(at.join("image")).unwrap().set_len(64 << 20).unwrap();
    let losetup = |arguments: &[&str]| {
        let output = Command::new("losetup").args(arguments).current_dir(at).output().map_err(|why| why.to_string())?;
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if output.status.success() { Ok(said(&output.stdout)) } else { Err(said(&output.stderr)) }
    };
    let device = match losetup(&["--find", "--show", "image"]) {
        Ok(device) => device,
        Err(why) => return println!("skipped: no loop device: {why}"),
    };
    let job = "[j]\nrw=randwrite\nbs=4k\nsize=8m\ndirect=1\nnumjobs=4\nnumber_ios=50\n";
    fs::write(at.join("four.fio"), job).unwrap();
    let on = format!("device:{device}");
    let unnamed = run_program(at, &["run", "four.fio", "--on", &on]);
    let named = run_program(at, &["run", "four.fio", "--on", &on, "--destroy", &device, "--json"]);
    // Its file is the loop device's.
    let below = run_program(at, &["run", "four.fio", "--on", "file:image", "--destroy", "image"]);
    losetup(&["--detach", &device]).unwrap();
    assert!(unnamed.code == 2 && unnamed.err.contains("what lies between was not read"), "{}", unnamed.err);
    assert_eq!(named.json()["all"]["ios"], 200);
    let stands = format!("the loop device {} stands on it", device.trim_start_matches("/dev/"));
    assert!(below.code == 2 && below.err.contains(&stands), "{}", below.err);
}
