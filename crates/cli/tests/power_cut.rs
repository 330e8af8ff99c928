//! `seekwise power-cut`: keys of the JSON, sentences, exit codes, the picture, instants of cuts, errors.

use std::fs;
use std::path::Path;

use crate::seekwise::{ProgramOutput, run_program, sorted_names};
use serde_json::Value;

const JOB: &str = "[j]\nioengine=libaio\ndirect=1\nrw=randwrite\nbs=4k\nsize=1g\ntime_based\nruntime=2\n";

fn folder_with_jobs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("w.fio"), JOB).unwrap();
    fs::write(folder.path().join("f.fio"), format!("{JOB}fsync=16\n")).unwrap();
    fs::write(folder.path().join("few.fio"), JOB.replace("time_based\nruntime=2", "number_ios=60")).unwrap();
    folder
}

/// Cuts the power of a drive with write cache.
fn cut_with_cache(folder: &Path, job: &str, more: &[&str]) -> ProgramOutput {
    run_program(
        folder,
        &[&["power-cut", job, "--on", "cheetah-15k.4", "--set", "drive.cache.write_back=true"], more].concat(),
    )
}

/// Cuts the power of a drive without write cache.
fn cut_without_cache(folder: &Path, job: &str, more: &[&str]) -> ProgramOutput {
    run_program(
        folder,
        &[&["power-cut", job, "--on", "cheetah-15k.4", "--set", "drive.cache.write_back=false"], more].concat(),
    )
}

fn number_at(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no number {path} in {value}"))
}

#[test]
fn a_cache_loses_what_was_acknowledged_and_nothing_that_was_flushed() {
    let folder = folder_with_jobs();
    let on = cut_with_cache(folder.path(), "f.fio", &["--cuts", "200", "--json"]).json();
    assert_eq!(
        (number_at(&on, "/cuts"), &on["volatile_cache"], &on["promise_kept"]),
        (200.0, &true.into(), &true.into())
    );
    assert!(number_at(&on, "/flushes") > 5.0 && number_at(&on, "/writes") > 16.0 * number_at(&on, "/flushes") - 1.0);
    let lost = |key: &str| number_at(&on, &format!("/acknowledged_lost/{key}"));
    assert!(lost("cuts_with_loss") > 100.0 && lost("cuts_with_loss") <= 200.0);
    assert!((lost("writes_mean") - lost("writes") / 200.0).abs() < 1e-9);
    // Never more than the writes between two flushes, and those are of 4 KiB.
    assert!(lost("writes_max") <= 16.0 && lost("bytes_max") <= 16.0 * 4096.0);
    assert!(lost("age_ms/p50") <= lost("age_ms/p99") && lost("age_ms/max") <= lost("oldest_ms/max"));
    for side in ["flushed_lost", "fua_lost", "promised_lost"] {
        assert_eq!(number_at(&on, &format!("/{side}/writes")), 0.0);
        assert_eq!(on[side]["age_ms"], Value::Null);
    }
    for key in ["target", "job", "seed", "elapsed_s", "torn", "in_flight", "partial", "at_risk_summary", "warnings"] {
        assert!(on.get(key).is_some(), "{key}");
    }
    let points = on["at_risk"].as_array().unwrap();
    assert!((100..=240).contains(&points.len()));
    let most = points.iter().map(|point| number_at(point, "/bytes_max")).fold(0.0, f64::max);
    assert_eq!(most, number_at(&on, "/at_risk_summary/bytes_max"));
    assert!(most >= lost("bytes_max"), "no cut loses more than was ever at risk");
}

#[test]
fn without_a_cache_nothing_acknowledged_is_lost() {
    let folder = folder_with_jobs();
    let off = cut_without_cache(folder.path(), "w.fio", &["--cuts", "200"]);
    let text = off.success_stdout();
    assert!(text.contains("The write cache is off: nothing acknowledged was lost."), "{text}");
    assert!(!text.contains("Data at risk"), "{text}");
    let on = cut_with_cache(folder.path(), "w.fio", &["--cuts", "200"]).success_stdout();
    assert!(on.contains("200 cuts lost acknowledged writes") && on.contains("The job never flushed"), "{on}");
    assert!(on.contains("Data at risk: KiB acknowledged and not on the medium"), "{on}");
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_other_instants() {
    let folder = folder_with_jobs();
    let said = |seed: &str| {
        cut_with_cache(folder.path(), "f.fio", &["--cuts", "20", "--json", "--seed", seed]).success_stdout()
    };
    assert_eq!(said("3"), said("3"));
    assert_ne!(said("3"), said("4"));
}

#[test]
fn instants_can_be_given_and_a_pause_saves_what_is_left() {
    let folder = folder_with_jobs();
    let given = cut_with_cache(folder.path(), "w.fio", &["--at", "500ms", "--at", "1.5 s", "--json"]).json();
    assert_eq!((&given["cuts"], &given["instants"]), (&2.into(), &"given".into()));
    let after = |pause: &str| {
        let found = cut_with_cache(folder.path(), "few.fio", &["--after", pause, "--cuts", "5", "--json"]).json();
        assert_eq!((&found["cuts"], &found["instants"], &found["writes"]), (&5.into(), &"after".into(), &300.into()));
        number_at(&found, "/acknowledged_lost/cuts_with_loss")
    };
    assert_eq!((after("0 s"), after("30 s")), (5.0, 0.0));
}

#[test]
fn an_array_keeps_what_was_flushed_and_may_leave_the_write_hole() {
    let folder = folder_with_jobs();
    let of = |level: &str| {
        let array = format!("array={level}");
        cut_with_cache(folder.path(), "f.fio", &["--set", &array, "--cuts", "200", "--json"]).json()
    };
    for level in ["raid-0", "raid-1", "raid-10", "raid-5", "raid-6"] {
        let found = of(level);
        assert_eq!((number_at(&found, "/flushed_lost/writes"), &found["promise_kept"]), (0.0, &true.into()), "{level}");
        assert!(number_at(&found, "/acknowledged_lost/cuts_with_loss") > 50.0, "{level}");
        match level {
            "raid-5" | "raid-6" => {
                assert!(
                    number_at(&found, "/stripes/cuts") > 10.0 && number_at(&found, "/stripes/cuts") <= 200.0,
                    "{level}"
                );
                assert!(number_at(&found, "/stripes/bytes_max") >= 4096.0 * 2.0, "{level}");
            }
            _ => assert_eq!(found["stripes"], Value::Null, "{level}"),
        }
    }
    let text = cut_with_cache(folder.path(), "f.fio", &["--set", "array=raid-5", "--cuts", "200"]).success_stdout();
    assert!(text.contains("cuts left rows that disagree with their parity"), "{text}");
    // Where a drive is lost, what a row under way hides is gone, flushed or not: the array breaks the promise.
    let lossy = ["--set", "array=raid-5", "--set", "array.lose=1", "--cuts", "200"];
    fs::write(folder.path().join("again.fio"), format!("{JOB}fsync=16\n").replace("1g", "4m")).unwrap();
    let lost = cut_with_cache(folder.path(), "again.fio", &lossy);
    assert_eq!(lost.code, 1, "{}", lost.err);
    let words = lost.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("The array broke its promise"), "{words}");
    assert!(words.contains("Their blocks on the lost drive are gone"), "{words}");
    let saving = cut_with_cache(folder.path(), "f.fio", &[&lossy[..], &["--set", "drive.power.protected=on"]].concat());
    assert!(saving.code == 2 && saving.err.contains("where a buffer outlives a cut"), "{}", saving.err);
}

#[test]
fn layers_above_an_array_are_judged_as_above_a_drive() {
    let folder = folder_with_jobs();
    let of = |set: &[&str]| {
        let array = ["--set", "array=raid-5", "--cuts", "100", "--json"];
        cut_with_cache(folder.path(), "f.fio", &[&array[..], set].concat()).json()
    };
    assert_eq!(of(&["--set", "driver=linux-mq-deadline"])["promise_kept"], true);
    let cached = of(&["--set", "accelerator=maxboost", "--set", "accelerator.flush=forward"]);
    assert!(number_at(&cached, "/acknowledged_lost/cuts_with_loss") > 50.0, "{cached}");
}

#[test]
fn the_level_that_breaks_a_promise_is_named() {
    let folder = folder_with_jobs();
    fs::write(folder.path().join("16.fio"), format!("{JOB}fsync=16\n")).unwrap();
    let of = |set: &[&str]| {
        let cut = cut_with_cache(folder.path(), "16.fio", &[set, &["--cuts", "50"]].concat());
        assert_eq!(cut.code, 1, "{}", cut.err);
        cut.out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let accelerator = of(&["--set", "accelerator=maxboost", "--set", "accelerator.flush=drop"]);
    assert!(accelerator.contains("The accelerator broke its promise: 50 of 50 cuts"), "{accelerator}");
    assert!(accelerator.contains("By: accelerator.flush = drop."), "{accelerator}");
    let driver = of(&["--set", "driver=linux-none", "--set", "driver.flush=drop"]);
    assert!(driver.contains("The driver broke its promise"), "{driver}");
    let lie = ["--set", "driver=linux-none", "--set", "driver.flush=drop", "--set", "drive.faults.early_flush=true"];
    let both = of(&lie);
    assert!(both.contains("The driver and the drive broke their promise"), "{both}");
    let said = cut_with_cache(folder.path(), "16.fio", &[&lie[..], &["--cuts", "50", "--json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    let named: Vec<&str> =
        json["broken_by"].as_array().unwrap().iter().filter_map(|it| it["setting"].as_str()).collect();
    assert_eq!(named, ["driver.flush", "drive.faults.early_flush"]);
}

#[test]
fn switching_off_loses_what_the_driver_lets_go() {
    let folder = folder_with_jobs();
    let of = |set: &[&str]| cut_with_cache(folder.path(), "few.fio", &[set, &["--shutdown", "--cuts", "5"]].concat());
    let orderly = of(&[]).success_stdout();
    assert!(
        orderly.contains("5 power-offs in order") && orderly.contains("nothing acknowledged was lost"),
        "{orderly}"
    );
    let at_once = of(&["--set", "driver=windows-xp", "--set", "driver.power_off=at-once"]);
    assert_eq!(at_once.code, 1);
    assert!(at_once.out.contains("5 of 5 power-offs lost acknowledged writes"), "{}", at_once.out);
    let words = at_once.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("By: driver.power_off = at-once."), "{words}");
    let both = cut_with_cache(folder.path(), "few.fio", &["--shutdown", "--after", "1 s"]);
    assert!(both.code == 2 && both.err.contains("cannot be used with"), "{}", both.err);
}

#[test]
fn a_drive_that_lies_is_found_out_and_one_with_a_capacitor_loses_nothing() {
    let folder = folder_with_jobs();
    let liar = cut_with_cache(folder.path(), "f.fio", &["--set", "drive.faults.early_flush=true", "--cuts", "200"]);
    assert_eq!(liar.code, 1);
    let words = "The drive broke its promise: ";
    assert!(liar.out.contains(words) && liar.out.contains("lost writes that had been flushed"), "{}", liar.out);
    let off =
        cut_without_cache(folder.path(), "w.fio", &["--set", "drive.faults.caches_when_off=true", "--cuts", "200"]);
    assert_eq!(off.code, 1);
    assert!(off.out.contains("had been acknowledged with the write cache off"), "{}", off.out);
    let kept = cut_with_cache(folder.path(), "w.fio", &["--set", "drive.power.protected=true", "--cuts", "200"])
        .success_stdout();
    assert!(kept.contains("The drive's buffer survives a cut: nothing acknowledged was lost."), "{kept}");
}

#[test]
fn a_sector_under_the_head_ends_as_the_profile_says() {
    let folder = folder_with_jobs();
    let torn = |way: &str| {
        let set = format!("drive.power.cut_sector={way}");
        let off = ["--set", &set, "--cuts", "400", "--json"];
        number_at(&cut_without_cache(folder.path(), "w.fio", &off).json(), "/torn/cuts")
    };
    assert_eq!((torn("finished"), torn("old")), (0.0, 0.0));
    assert!(torn("unreadable") > 0.0);
}

/// A write of 1 MiB is under the head for several revolutions.
#[test]
fn writes_that_a_cut_leaves_in_part_are_said() {
    let folder = folder_with_jobs();
    fs::write(folder.path().join("large.fio"), JOB.replace("bs=4k", "bs=1m")).unwrap();
    let cuts =
        number_at(&cut_without_cache(folder.path(), "large.fio", &["--cuts", "20", "--json"]).json(), "/partial/cuts");
    assert!((2.0..=20.0).contains(&cuts), "{cuts}");
    let text = cut_without_cache(folder.path(), "large.fio", &["--cuts", "20"]).success_stdout();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!("Cut in two: {cuts} cuts left a write only partly on the medium")), "{text}");
}

#[test]
fn a_picture_is_written_on_request() {
    let folder = folder_with_jobs();
    let said = cut_with_cache(folder.path(), "w.fio", &["--cuts", "10", "--svg", "risk.svg", "--png", "risk.png"]);
    assert!(said.err.contains("Picture: risk.svg"), "{}", said.err);
    let picture = fs::read_to_string(folder.path().join("risk.svg")).unwrap();
    for part in ["<svg", "w.fio on cheetah-15k.4: what a power cut would lose", "time, s", "KiB", ">\nmean", ">\nmost"]
    {
        assert!(picture.contains(part), "{part}");
    }
    assert!(said.err.contains("Picture: risk.png"), "{}", said.err);
    let pixels = fs::read(folder.path().join("risk.png")).unwrap();
    // Its head: 1640 by 720, twice as many as the SVG's.
    assert!(pixels.starts_with(b"\x89PNG\r\n\x1a\n") && pixels.len() > 20_000, "{}", pixels.len());
    assert_eq!((&pixels[16..20], &pixels[20..24]), (&1640u32.to_be_bytes()[..], &720u32.to_be_bytes()[..]));
    assert_eq!(sorted_names(folder.path()), ["f.fio", "few.fio", "risk.png", "risk.svg", "w.fio"]);
}

#[test]
fn what_is_wrong_is_said_and_nothing_is_written() {
    let folder = folder_with_jobs();
    let before = sorted_names(folder.path());
    for (more, error) in [
        (&["--cuts", "0"][..], "0 is not in 1..=1000000"),
        (&["--at", "5 parsecs"], "unknown unit of time `parsecs`"),
        (&["--at", "31 d"], "`31 d` is longer than 30 days"),
        (&["--at", "1 s", "--cuts", "5"], "cannot be used with"),
        (&["--set", "drive.cache.segmnts=3"], "did you mean `drive.cache.segments`?"),
    ] {
        let said = cut_with_cache(folder.path(), "w.fio", &[more, &["--svg", "x.svg"]].concat());
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{more:?}");
        assert!(said.err.contains(error), "{more:?}: {}", said.err);
    }
    for (more, error) in [
        (&["--svg", "x.png"][..], "--svg x.png: SVG would be in it; expected --png x.png"),
        (&["--png", "x.SVG"], "--png x.SVG: PNG would be in it; expected --svg x.SVG"),
        (&["--png", "x", "--svg", "x"], "x: another output of this command goes there; expected two files"),
        (&["--png", "./x", "--svg", "x"], "./x: another output of this command goes there; expected two files"),
        (&["--force"], "there is nothing to overwrite; expected --svg, --png or --page as well"),
    ] {
        let said = cut_with_cache(folder.path(), "w.fio", more);
        assert!(said.code == 2 && said.err.contains(error), "{more:?}: {}", said.err);
    }
    assert_eq!(sorted_names(folder.path()), before);
}

#[test]
fn a_synchronous_write_is_acknowledged_with_its_flush_and_none_is_lost() {
    let folder = folder_with_jobs();
    for (key, drive) in [("sync=1", "barracuda-7200.7"), ("sync=1", "cheetah-15k.4"), ("fsync=1", "barracuda-7200.7")] {
        fs::write(folder.path().join("s.fio"), format!("{JOB}{key}\n")).unwrap();
        let args = ["power-cut", "s.fio", "--on", drive, "--set", "drive.cache.write_back=true", "--cuts", "300"];
        let said = run_program(folder.path(), &[&args[..], &["--json"]].concat()).json();
        let lost = |side: &str| number_at(&said, &format!("/{side}_lost/writes"));
        assert_eq!(lost("flushed") + lost("fua") + lost("promised"), 0.0, "{key} on {drive}");
        assert!(number_at(&said, "/writes") > 20.0 && said["volatile_cache"] == Value::Bool(true), "{said}");
        // A program that calls fsync itself has been told of its write before.
        assert_eq!(lost("acknowledged") == 0.0, key == "sync=1", "{key} on {drive}: {}", lost("acknowledged"));
    }
    // A drive that lies about flushes is found out by it.
    fs::write(folder.path().join("s.fio"), format!("{JOB}sync=1\n")).unwrap();
    let lies = ["--cuts", "50", "--set", "drive.faults.early_flush=true", "--json"];
    let on = ["power-cut", "s.fio", "--on", "barracuda-7200.7", "--set", "drive.cache.write_back=true"];
    let said = run_program(folder.path(), &[&on[..], &lies[..]].concat());
    let said: Value = serde_json::from_str(&said.out).unwrap();
    assert!(number_at(&said, "/promised_lost/writes") > 0.0 && said["promise_kept"] == Value::Bool(false), "{said}");
}

/// A database on ext4 that commits through its log.
const DATABASE: &str = "[system]\nfamily = \"linux\"\n[pagecache]\nmib = 64\n[volume.data]\nfs = \"ext4\"\nsize_gib = 4\n\
    [program.database]\nname = \"database\"\ndata_mb = 100\nlog_mb = 50\ncommits = 300\n";

#[test]
fn of_a_scene_it_says_what_a_mount_would_find() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("db.toml"), DATABASE).unwrap();
    let on = ["power-cut", "db.toml", "--on", "barracuda-7200.7", "--cuts", "200"];
    let honest = run_program(folder.path(), &[&on[..], &["--json"]].concat()).json();
    assert_eq!((number_at(&honest, "/files/promised_lost/count"), &honest["promise_kept"]), (0.0, &true.into()));
    assert_eq!(number_at(&honest, "/operations/promised_lost/count"), 0.0);
    let bare = run_program(folder.path(), &[&on[..], &["--json", "--set", "volume.data.barrier=off"]].concat());
    assert_eq!(bare.code, 1);
    let bare: Value = serde_json::from_str(&bare.out).unwrap();
    let lost = |key: &str| number_at(&bare, &format!("/operations/promised_lost/{key}"));
    assert!(lost("cuts_with_loss") > 0.0 && lost("cuts_with_loss") <= 200.0 && lost("count") >= lost("cuts_with_loss"));
    assert!((lost("count_mean") - lost("count") / 200.0).abs() < 1e-9 && lost("count_max") <= lost("count"));
    let example = &bare["operations"]["promised_lost"]["example"];
    assert!(example["name"].as_str().unwrap().starts_with("database "), "{example}");
    assert!(number_at(example, "/at_s") <= number_at(&bare, "/elapsed_s"));
    assert_eq!(number_at(&bare, "/promised_lost/writes"), 0.0, "the drive kept its promises");
    let text = run_program(folder.path(), &[&on[..], &["--set", "volume.data.barrier=off"]].concat()).out;
    assert!(
        text.contains("operations promised to stay: lost") && text.contains("the drive kept its promises"),
        "{text}"
    );
    // A job without files has none of this.
    fs::write(folder.path().join("w.fio"), JOB).unwrap();
    assert_eq!(cut_with_cache(folder.path(), "w.fio", &["--cuts", "5", "--json"]).json()["files"], Value::Null);
}

/// Only a drive whose sectors a cut leaves unreadable has rows for them.
#[test]
fn sectors_that_a_cut_leaves_unreadable_are_counted_by_files_and_by_metadata() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("db.toml"), DATABASE.replace("commits = 300", "commits = 30")).unwrap();
    for (way, rows) in [("finished", 0), ("unreadable", 1)] {
        let set = format!("drive.power.cut_sector={way}");
        let on = ["power-cut", "db.toml", "--on", "barracuda-7200.7", "--cuts", "20", "--set", &set];
        let json: Value =
            serde_json::from_str(&run_program(folder.path(), &[&on[..], &["--json"]].concat()).out).unwrap();
        let text = run_program(folder.path(), &[&on[..], &["--columns", "most"]].concat()).out;
        for (row, key) in [("files", "unreadable"), ("metadata", "metadata_unreadable")] {
            let row = format!("{row} with an unreadable sector");
            let of: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(&row)).map(str::trim).collect();
            assert_eq!(of.len(), rows, "{way}: {text}");
            let most = json["files"][key]["count_max"].to_string();
            assert!(of.iter().all(|figure| *figure == most), "{row}: {most}\n{text}");
        }
    }
}
