//! Scenes (programs on volumes with a page cache) on the command line: they stand wherever a job may be named; their figures beside
//! those of requests; errors. Also fio jobs that run through the page cache of a scene.

use std::fs;

use crate::seekwise::run_program;

const DRIVE: &str = "barracuda-7200.7";

const COPY: &str = "[system]\nfamily = \"windows-nt\"\n[volume.c]\nfs = \"fat32\"\nsize_gib = 4\n[volume.d]\nfs = \"ntfs\"\n\
    [program.copy]\nname = \"total-commander\"\non = \"c\"\nto = \"d\"\nfiles = 20\ntotal_mb = 20\n";

/// A folder with the scene `s.toml`.
fn folder_with_scene(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.toml"), text).unwrap();
    folder
}

#[test]
fn a_run_says_what_programs_did_beside_what_they_asked_for() {
    let folder = folder_with_scene(COPY);
    let run = |args: &[&str]| run_program(folder.path(), &[&["run", "s.toml", "--on", DRIVE][..], args].concat());
    let json = run(&["--json"]).json();
    let copy = &json["operations"]["copy"];
    assert_eq!(copy["count"], 20);
    let (per_s, elapsed) = (copy["per_s"].as_f64().unwrap(), json["elapsed_s"].as_f64().unwrap());
    assert!((per_s * elapsed - 20.0).abs() < 1e-6, "counted over the whole run");
    // Files are copied one after another, so the run lasts as long as their times together.
    let mean = copy["response_ms"]["mean"].as_f64().unwrap();
    assert!((mean * 20.0 / 1e3 / elapsed - 1.0).abs() < 0.01, "{mean} {elapsed}");
    let groups: Vec<&str> = json["groups"].as_array().unwrap().iter().map(|g| g["name"].as_str().unwrap()).collect();
    assert_eq!(groups, ["copy", "system"]);
    let text = run(&[]).success_stdout();
    assert!(text.contains("What the programs did:") && text.contains("operations/s"), "{text}");
    assert_eq!(run(&["--json"]).json(), json, "the same each time");
    let refused = run(&["--format", "fio-json"]);
    assert_eq!(
        (refused.code, refused.err.contains("a scene, session or trace has no fio jobs")),
        (2, true),
        "{}",
        refused.err
    );
}

#[test]
fn keys_of_a_scene_are_set_varied_and_asked_for() {
    let folder = folder_with_scene(COPY);
    let run = |set: &[&str]| {
        let set: Vec<&str> = set.iter().flat_map(|set| ["--set", set]).collect();
        run_program(folder.path(), &[&["run", "s.toml", "--on", DRIVE, "--json"][..], &set].concat())
    };
    let seconds = |set: &[&str]| run(set).json()["elapsed_s"].as_f64().unwrap();
    let (small, large) = (seconds(&[]), seconds(&["program.copy.block_kib=1024"]));
    assert!(large != small, "a copy of other blocks is another");
    assert!(seconds(&["pagecache.mib=64"]) < small, "what is written back later is not waited for");
    let compared = ["compare", "s.toml", "--on", DRIVE, "--vary", "volume.d.fs=ntfs,fat32", "--runs", "3", "--json"];
    assert!(run_program(folder.path(), &compared).success_stdout().contains("volume.d.fs"));
    let study = "title = 't'\nquestion = 'q'\nruns = 2\njob = 's.toml'\n[stack]\ndrive = 'barracuda-7200.7'\n\
        [[factor]]\nname = 'block'\nkey = 'program.copy.block_kib'\nlevels = [32, 1024]\n\
        [[claim]]\nid = 'X1'\nclass = 'J'\nfinding = 'f'\ncondition = 'c'\nmechanism = 'm'\n\
        check = ['operations.copy.per_s[block=\"1024\"] > operations.copy.per_s[block=\"32\"]']\n";
    fs::write(folder.path().join("study.toml"), study).unwrap();
    let said = run_program(folder.path(), &["study", "study.toml", "--out", "out", "--json"]);
    assert_eq!(said.code, 0, "{}", said.err);
    let again = run_program(folder.path(), &["study", "out", "--out", "again"]);
    assert_eq!(again.code, 0, "{}", again.err);
    let records = |folder_of: &str| fs::read(folder.path().join(folder_of).join("results.jsonl")).unwrap();
    assert!(records("out") == records("again"), "made again of what the folder keeps");
}

/// A scene is judged by how long it takes, unless another metric is requested.
#[test]
fn scenes_are_judged_by_how_long_they_take() {
    let folder = folder_with_scene(COPY);
    let compare = |more: &[&str]| {
        let vary = ["compare", "s.toml", "--on", DRIVE, "--vary", "program.copy.block_kib=32,1024", "--runs", "3"];
        run_program(folder.path(), &[&vary[..], more].concat())
    };
    let said = compare(&["--out", "out"]).success_stdout();
    assert!(said.contains("Judged: time of the whole run (elapsed); lower is better."), "{said}");
    assert!(!said.contains("requests per second is"), "{said}");
    // The folder's page, made again, judges the same.
    run_program(folder.path(), &["report", "out"]);
    let page = fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    assert!(page.contains("\"metric\":\"time of the whole run\"") && page.contains("\"program\":\"copy\""));
    assert!(compare(&["--metric", "iops"]).success_stdout().contains("Judged: requests per second (iops)"));
    let again = compare(&["--metric", "iops", "--json"]).json();
    assert_eq!(again["comparisons"][0]["metric"].as_str().or(again["metric"].as_str()), Some("iops"), "{again}");
}

#[test]
fn an_expression_names_programs_that_are_there() {
    let folder = folder_with_scene(COPY);
    let study = "title = 't'\nquestion = 'q'\nruns = 1\njob = 's.toml'\n[stack]\ndrive = 'barracuda-7200.7'\n\
        [[claim]]\nid = 'X1'\nclass = 'J'\nfinding = 'f'\ncondition = 'c'\nmechanism = 'm'\n\
        check = ['operations.cpy.per_s > 1']\n";
    let run = |text: &str| {
        fs::write(folder.path().join("study.toml"), text).unwrap();
        run_program(folder.path(), &["study", "study.toml", "--out", "out", "--force"])
    };
    let said = run(study);
    let expected = "study.toml:13: `operations.cpy`: no scene of the study has a program `cpy`; expected copy; did you mean `copy`?";
    assert!(said.code == 2 && said.err.contains(expected), "{}", said.err);
    assert!(run(&study.replace("cpy.per_s", "copy.per_sec")).err.contains("did you mean `per_s`?"));
    let job = run(&study.replace("'s.toml'", "'random-read'"));
    assert!(job.code == 2 && job.err.contains("expected a scene"), "{}", job.err);
    assert_eq!(run(&study.replace("cpy", "copy")).code, 0);
}

#[test]
fn what_a_scene_does_not_have_is_an_error() {
    let folder = folder_with_scene(COPY);
    for (args, expected) in [
        (["s.toml", "program.copy.blok_kib=64"], "did you mean `program.copy.block_kib`?"),
        (["s.toml", "program.cpy.block_kib=64"], "the scene has no program `cpy`; expected copy"),
        (["s.toml", "job.depth=4"], "`job.depth`: a scene has no workers"),
        (["s.toml", "volume.c.cluster=3000"], "`volume.c.cluster`: invalid cluster size; expected a power of two"),
        (["random-read", "program.copy.block_kib=64"], "is not a scene"),
    ] {
        let said = run_program(folder.path(), &["run", args[0], "--on", DRIVE, "--set", args[1]]);
        assert!(said.code == 2 && said.err.contains(expected), "{}", said.err);
    }
}

#[test]
fn a_scan_of_an_empty_volume_says_what_is_missing() {
    let folder = folder_with_scene(
        "[system]\nfamily = \"windows-nt\"\n[volume.c]\nfs = \"fat32\"\n[program.scan]\nname = \"virus-scan\"\n",
    );
    let run = |more: &[&str]| run_program(folder.path(), &[&["run", "s.toml", "--on", DRIVE][..], more].concat());
    let empty = run(&[]);
    assert!(empty.code == 2 && empty.err.contains("volume.NAME.files"), "{}", empty.err);
    run(&["--set", "volume.c.files=20", "--set", "volume.c.total_mb=10"]).success_stdout();
}

#[test]
fn a_power_cut_loses_what_a_program_wrote_and_never_flushed() {
    let folder = folder_with_scene(COPY);
    let cut = |set: &str| {
        let args = ["power-cut", "s.toml", "--on", DRIVE, "--cuts", "100", "--set", set, "--json"];
        run_program(folder.path(), &args).json()
    };
    assert!(cut("drive.cache.write_back=true")["acknowledged_lost"]["writes"].as_u64().unwrap() > 0);
    assert_eq!(cut("drive.cache.write_back=false")["acknowledged_lost"]["writes"], 0);
}

const STICK: &str = "[system]\nfamily = \"windows-nt\"\n[device.stick]\nsize_gib = 2\n[volume.c]\nfs = \"fat32\"\nsize_gib = 1\n\
    [volume.f]\nfs = \"fat32\"\nsize_gib = 0.5\ndevice = \"stick\"\n[program.copy]\nname = \"total-commander\"\non = \"f\"\n\
    to = \"c\"\nfiles = 20\ntotal_mb = 20\nmove = true\n";

/// A file of 1 MB is 31 reads of 32 KB, and each waits for the stick alone.
#[test]
fn a_volume_on_a_flash_stick_is_read_at_its_flat_times() {
    let folder = folder_with_scene(STICK);
    let run = |set: &str| run_program(folder.path(), &["run", "s.toml", "--on", DRIVE, "--json", "--set", set]);
    let seconds = |set: &str| run(set).json()["elapsed_s"].as_f64().unwrap();
    let base = seconds("device.stick.read_ms=1");
    let slower = seconds("device.stick.read_ms=11") - base;
    assert!((6.2..6.3).contains(&slower), "620 reads and a few of tables, 10 ms each: {slower}");
    let halves = seconds("device.stick.request_kib=16") - seconds("device.stick.request_kib=32");
    // 30 blocks of a file are cut in two, and the rest of 16,960 bytes is as well: 620 commands of 0.7 ms more.
    assert!((0.43..0.44).contains(&halves), "{halves}");
    for (set, expected) in [
        ("volume.f.device=stik", "the scene has no device `stik`; expected stick; did you mean `stick`?"),
        ("device.stik.read_ms=1", "the scene has no device `stik`"),
        ("volume.f.size_gib=3", "and stick has 2.000 GiB"),
    ] {
        let said = run(set);
        assert!(said.code == 2 && said.err.contains(expected), "{}", said.err);
    }
    let null = run_program(folder.path(), &["run", "s.toml", "--on", "null"]);
    assert!(null.code == 2 && null.err.contains("`null` has no device beside it"), "{}", null.err);
}

/// Data that the flash stick acknowledged stay; data in the drive's cache are lost.
#[test]
fn a_power_cut_of_two_devices_loses_what_the_drive_held() {
    let folder = folder_with_scene(STICK);
    let cut = |set: &[&str]| {
        let set: Vec<&str> = set.iter().flat_map(|set| ["--set", set]).collect();
        let args = [&["power-cut", "s.toml", "--on", DRIVE, "--cuts", "50", "--json"][..], &set].concat();
        run_program(folder.path(), &args).json()["acknowledged_lost"]["writes"].as_u64().unwrap()
    };
    assert!(cut(&[]) > 0);
    assert_eq!(cut(&["volume.c.device=stick"]), 0, "both volumes lie on the stick");
}

/// The JSON of a run of a fio job with these options through a page cache of this size.
fn run_with_page_cache(options: &str, mib: &str, more: &[&str]) -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("j.fio"), format!("[j]\nioengine=psync\n{options}")).unwrap();
    let set = format!("pagecache.mib={mib}");
    let args = [&["run", "j.fio", "--on", DRIVE, "--json", "--set", &set][..], more].concat();
    run_program(folder.path(), &args).json()
}

fn figure_at(json: &serde_json::Value, path: &str) -> f64 {
    json.pointer(path).and_then(serde_json::Value::as_f64).unwrap_or_else(|| panic!("{path}: {json}"))
}

fn has_warning(json: &serde_json::Value, text: &str) -> bool {
    json["warnings"].as_array().unwrap().iter().any(|warning| warning.as_str().unwrap().contains(text))
}

/// 64 MiB ten times: once at the drive's 58 MB/s, 1.16 s; nine times at 600 MB/s of copying and 2 us a call, 1.03 s.
#[test]
fn a_rate_that_came_from_memory_is_flagged() {
    let again = "rw=read\nbs=64k\nsize=64m\nloops=10\n";
    let run = run_with_page_cache(again, "512", &[]);
    let rate = figure_at(&run, "/read/bytes_per_s") / 1e6;
    assert!((290.0..320.0).contains(&rate), "{rate} MB/s");
    assert!((figure_at(&run, "/memory_percent") - 90.0).abs() < 0.5, "{}", run["memory_percent"]);
    assert!(has_warning(&run, "the rates are those of memory, not of the drive"));
    assert!(!has_warning(&run, "without a page cache"));
    for (options, mib) in [(again, "0"), (&format!("{again}direct=1\n"), "512")] {
        let run = run_with_page_cache(options, mib, &[]);
        assert!(figure_at(&run, "/read/bytes_per_s") < 59e6, "{run}");
        assert!(run["memory_percent"].is_null() && !has_warning(&run, "those of memory"));
        assert_eq!(has_warning(&run, "without a page cache"), mib == "0");
    }
    let once = run_with_page_cache("rw=read\nbs=64k\nsize=64m\n", "512", &[]);
    assert!(
        figure_at(&once, "/memory_percent") < 1.0 && !has_warning(&once, "those of memory"),
        "what is read ahead is read"
    );
}

#[test]
fn syncs_of_a_job_act_on_its_page_cache() {
    let writes =
        |more: &str| run_with_page_cache(&format!("rw=randwrite\nbs=4k\nsize=64m\nnumber_ios=200\n{more}"), "512", &[]);
    let mean = |run: &serde_json::Value, kind: &str| figure_at(run, &format!("/{kind}/response_ms/mean"));
    let plain = writes("");
    assert!(mean(&plain, "write") < 0.02 && figure_at(&plain, "/drive/flushes") == 0.0);
    for option in ["fsync=1", "fdatasync=1"] {
        let each = writes(option);
        assert!(mean(&each, "write") < 0.02 && mean(&each, "flush") > 4.0, "{option}: {each}");
        // fio 3.33 syncs before each request but the first, and none follows the last: 199 in its own log of this job.
        assert_eq!(figure_at(&each, "/drive/flushes"), 199.0, "{option}");
    }
    let through = writes("sync=1");
    assert!(mean(&through, "write") > 4.0, "{through}");
    let last = writes("end_fsync=1");
    assert_eq!((figure_at(&last, "/flush/ios"), figure_at(&last, "/drive/flushes")), (1.0, 1.0));
    // 200 sectors in ascending order over 64 MiB.
    assert!(figure_at(&last, "/elapsed_s") > 0.1 + figure_at(&plain, "/elapsed_s"), "{last}");
    // A second job finds what the first one read, unless it asks for a cold cache, as fio does unless told otherwise.
    let second = |invalidate: &str| {
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "[global]\nioengine=psync\nfilename=/dev/sda\nrw=read\nbs=64k\nsize=16m\n[one]\n[two]\nstonewall\n{invalidate}"
        );
        fs::write(folder.path().join("j.fio"), text).unwrap();
        let args = ["run", "j.fio", "--on", DRIVE, "--json", "--set", "pagecache.mib=512"];
        figure_at(&run_program(folder.path(), &args).json(), "/memory_percent")
    };
    assert!(second("") < 1.0 && (second("invalidate=0\n") - 50.0).abs() < 1.0);
}

#[test]
fn a_page_cache_of_a_job_is_a_key_like_others() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("j.fio"), "[j]\nrw=read\nbs=64k\nsize=16m\nloops=4\n").unwrap();
    let vary = ["compare", "j.fio", "--on", DRIVE, "--runs", "3", "--vary", "pagecache.mib=0,512"];
    let said = run_program(folder.path(), &vary).success_stdout();
    assert!(said.contains("faster"), "{said}");
    let wrong = |job: &str, set: &str| {
        let said = run_program(folder.path(), &["run", job, "--on", DRIVE, "--set", set]);
        assert_eq!(said.code, 2);
        said.err
    };
    assert!(wrong("j.fio", "pagecache.mb=5").contains("did you mean `pagecache.mib`?"));
    assert!(wrong("j.fio", "volume.c.fs=ntfs").contains("`volume.c.fs`: is not a scene"));
    assert!(wrong("random-read", "pagecache.mib=5").contains("Iometer goes past the page cache"));
}

#[test]
fn programs_are_listed_with_their_sources() {
    let folder = tempfile::tempdir().unwrap();
    let show = |args: &[&str]| run_program(folder.path(), args);
    assert!(show(&["programs"]).success_stdout().contains("total-commander"));
    assert!(show(&["programs", "total-commander"]).success_stdout().contains("32 KB blocks"));
    let one = show(&["programs", "cp", "--json"]).json();
    let sourced = |figure: &serde_json::Value| !figure["source"].as_str().unwrap().is_empty();
    assert!(one["figures"].as_array().unwrap().iter().all(sourced));
    assert!(show(&["programs", "total-comander"]).err.contains("did you mean `total-commander`?"));
    assert!(show(&["keys", "scene"]).success_stdout().contains("program.NAME.block_kib"));
    assert!(show(&["patterns", "copy"]).success_stdout().contains("[program.copy]"));
}

#[test]
fn a_new_scene_runs_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    run_program(folder.path(), &["init", "scene", "-o", "my-scene.toml"]).success_stdout();
    let set = ["--set", "program.copy.total_mb=10", "--set", "program.copy.files=10"];
    let run = [&["run", "my-scene.toml", "--on", DRIVE, "--json"][..], &set].concat();
    assert_eq!(run_program(folder.path(), &run).json()["operations"]["copy"]["count"], 10);
}
