//! `seekwise flush-audit` and `seekwise restore`: verdicts on modelled drives, forms of the answer, refusals, leftovers. Times of real
//! disks are not judged.

use std::fs;

use crate::seekwise::{run_program, sorted_names};

#[test]
fn a_modelled_drive_is_judged_and_the_exit_code_says_whether_data_are_safe() {
    let folder = tempfile::tempdir().unwrap();
    let said = |set: &[&str]| run_program(folder.path(), &[&["flush-audit", "exos-x18"][..], set].concat());
    let honest = said(&[]);
    assert_eq!(honest.code, 0);
    assert!(honest.out.starts_with("Rotating and honest (certain): exos-x18"), "{}", honest.out);
    assert!(honest.out.contains("Speed: 7200 rpm, 8.333 ms per revolution"), "{}", honest.out);
    for (set, code, words) in [
        ("drive.cache.write_back=off", 0, "Rotating, write cache off (certain)"),
        ("drive.power.protected=on", 0, "Rotating, power-protected cache (likely)"),
        ("drive.faults.early_flush=on", 1, "Flush ignored (certain)"),
        ("drive.faults.ignores_fua=on", 1, "Flush honest, forced writes (FUA) ignored (certain)"),
        ("driver=nforce-sw", 1, "Flush ignored (likely)"),
    ] {
        let said = said(&["--set", set]);
        assert_eq!((said.code, said.out.starts_with(words)), (code, true), "{set}: {}", said.out);
    }
    let open = run_program(folder.path(), &["flush-audit", "barracuda-7200.7", "--set", "drive.faults.early_flush=on"]);
    assert!(open.code == 1 && open.out.starts_with("Cannot tell: "), "{}", open.out);
    assert!(sorted_names(folder.path()).is_empty());
}

#[test]
fn the_answer_comes_as_json_and_as_a_picture_the_same_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let audit = ["flush-audit", "cheetah-10k.7", "--json", "--svg", "f.svg", "--force"];
    let (one, two) =
        (run_program(folder.path(), &audit).success_stdout(), run_program(folder.path(), &audit).success_stdout());
    assert_eq!(one, two);
    let json: serde_json::Value = serde_json::from_str(&one).unwrap();
    assert_eq!((&json["verdict"], &json["certainty"]), (&"honest".into(), &"certain".into()));
    assert!((json["revolution"]["rpm"].as_f64().unwrap() - 10_000.0).abs() < 1.0);
    assert_eq!(json["timings"]["overwrites"].as_array().map(Vec::len), Some(120));
    assert!(fs::read_to_string(folder.path().join("f.svg")).unwrap().contains("From the end of one flushed overwrite"));
    let other = run_program(folder.path(), &["flush-audit", "cheetah-10k.7", "--json", "--seed", "2"]).json();
    assert_ne!(json["timings"], other["timings"]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("thesis"), "x").unwrap();
    for (args, why) in [
        (&["thesis"][..], "is a file; existing files are never written; expected its folder"),
        (&["null"], "no medium"),
        (&["exos-x81"], "did you mean `exos-x18`?"),
        (&["exos-x18", "--destroy", "x"], "holds nothing to destroy"),
        (&["exos-x18", "--size", "1g"], "a modelled disk has a fixed size"),
        (&["nbd:unix:none"], "No such file or directory"),
        (&["device:/dev/none"], "No such file or directory"),
        (&["exos-x18", "--set", "real.scheduler=none"], "real"),
    ] {
        let said = run_program(folder.path(), &[&["flush-audit"], args].concat());
        assert_eq!(said.code, 2, "{args:?}: {}", said.out);
        assert!(said.err.contains(why), "{args:?}: {}", said.err);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_is_asked_and_nothing_is_left_in_it() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let at = folder.path();
    let said = run_program(at, &["flush-audit", ".", "--size", "4m", "--json"]);
    if said.code == 2 && said.err.contains("O_DIRECT") {
        eprintln!("skipped: {}", said.err);
        return;
    }
    assert!(said.code < 2, "{}", said.err);
    let json: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(json["timings"]["forced"].as_array().map(Vec::len), Some(120));
    assert!(
        json["bench"]["kernel"].is_string() && json["bench"]["file_system"]["kind"].is_string(),
        "{}",
        json["bench"]
    );
    assert!(sorted_names(at).is_empty(), "{:?}", sorted_names(at));
    for (set, why) in [("real.scheduler=cfq", "expected one of"), ("drive.cache.segments=3", "expected real.scheduler")]
    {
        let said = run_program(at, &["flush-audit", ".", "--size", "4m", "--set", set]);
        assert!(said.code == 2, "{}", said.err);
        // A folder that is not on a block device has no scheduler, and so another error.
        assert!(said.err.contains(why) || said.err.contains("no block device"), "{}", said.err);
    }
    let said = run_program(at, &["flush-audit", ".", "--destroy", "x"]);
    assert!(said.code == 2 && said.err.contains("nothing in a folder is destroyed"), "{}", said.err);
    assert!(sorted_names(at).is_empty());
}

/// Other tests may add and remove leftovers at the same time, so only the form of the list is checked.
#[test]
fn leftovers_are_listed_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let said = run_program(folder.path(), &["restore", "--dry-run", "--json"]);
    let all: Vec<serde_json::Value> = serde_json::from_str(&said.out).expect("standard output is JSON alone");
    for item in all {
        assert!(item["disk"].is_string() != item["run"].is_string(), "{item}");
        assert!(item["said"].is_array() && item["failed"].is_boolean(), "{item}");
    }
}

/// Outcome and exit code of audits of RAM, and of drives in eight behaviours.
mod matrix {
    use std::collections::BTreeMap;
    use std::path::Path;

    use crate::seekwise::{ProgramOutput, run_program};

    /// The verdicts that answer "what was flushed survives": exit code 0.
    const SAFE: [&str; 3] = ["honest", "cache-off", "protected"];

    const BEHAVIOURS: [(&str, &[&str]); 8] = [
        ("honest", &[]),
        ("write cache off", &["drive.cache.write_back=off"]),
        ("early flush", &["drive.faults.early_flush=on"]),
        ("FUA ignored", &["drive.link.fua=on", "drive.faults.ignores_fua=on"]),
        ("protected", &["drive.power.protected=on"]),
        ("flash-backed", &["drive.cache.flash_kib=65536"]),
        ("media cache", &["drive.cache.media_cache_mib=64", "drive.cache.media_cache_largest_kib=64"]),
        ("flushes dropped", &["driver=nforce-sw"]),
    ];

    /// The right verdict on a behaviour. Without FUA, timing does not tell an early flush from a protected cache.
    fn expected_verdict(behaviour: &str, fua: bool) -> &'static str {
        match (behaviour, fua) {
            ("honest" | "media cache", _) => "honest",
            ("write cache off", _) => "cache-off",
            ("FUA ignored", _) => "fua-ignored",
            ("flushes dropped", _) | ("early flush", true) => "flush-ignored",
            ("protected" | "flash-backed", true) => "protected",
            _ => "cannot-tell",
        }
    }

    fn verdict(said: &ProgramOutput) -> String {
        let json: serde_json::Value =
            serde_json::from_str(&said.out).unwrap_or_else(|why| panic!("{why}: {}", said.err));
        json["verdict"].as_str().unwrap().to_owned()
    }

    /// Audits each behaviour of each drive, asserts verdict and exit code, and prints a table of the outcomes.
    fn audit_and_print_table(drives: &[(&str, &str)], seeds: u64) {
        let folder = tempfile::tempdir().unwrap();
        let mut rows = BTreeMap::<(String, String, i32), u64>::new();
        for (drive, sectors) in drives {
            for (behaviour, set) in BEHAVIOURS {
                for seed in 1..=seeds {
                    let seed = seed.to_string();
                    let mut audit = vec!["flush-audit", drive, "--json", "--seed", &seed];
                    audit.extend(set.iter().flat_map(|set| ["--set", set]));
                    // A media cache takes room on the platter, so the drive must have fewer sectors.
                    let less = format!("drive.geometry.sectors={sectors}");
                    audit.extend(
                        Some(&less).filter(|_| behaviour == "media cache").into_iter().flat_map(|it| ["--set", it]),
                    );
                    let said = run_program(folder.path(), &audit);
                    let verdict = verdict(&said);
                    let fua = *drive == "exos-x18";
                    assert_eq!(verdict, expected_verdict(behaviour, fua), "{drive}, {behaviour}, seed {seed}");
                    assert_eq!(said.code, i32::from(!SAFE.contains(&verdict.as_str())), "{verdict}");
                    let kind = format!("{behaviour}, {} FUA", if fua { "with" } else { "without" });
                    *rows.entry((kind, verdict, said.code)).or_default() += 1;
                }
            }
        }
        println!("| what it is | outcome | exit code | audits |\n|---|---|---|---|");
        rows.iter().for_each(|((kind, verdict, code), number)| println!("| {kind} | {verdict} | {code} | {number} |"));
    }

    #[test]
    fn eight_behaviours_end_with_the_exit_code_of_their_verdict() {
        audit_and_print_table(&[DRIVES[0]], 1);
    }

    /// With FUA, and without; and sectors that leave room for a media cache.
    const DRIVES: [(&str, &str); 2] = [("exos-x18", "35156131840"), ("barracuda-7200.7", "312057520")];

    #[test]
    #[ignore = "prints the table"]
    fn eight_behaviours_of_two_drives_ten_times() {
        audit_and_print_table(&DRIVES, 10);
    }

    /// Asserts the verdict on RAM: "nothing rotates", or "cannot tell", since on a busy machine RAM can be as slow as a disk.
    #[track_caller]
    fn assert_ram_verdict(said: &ProgramOutput, what: &str) {
        let verdict = verdict(said);
        println!("| {what} | {verdict} | {} |", said.code);
        assert!(["nothing-rotates", "cannot-tell"].contains(&verdict.as_str()), "{what}: {verdict}");
        assert_eq!(said.code, 1, "{what}: {verdict}");
    }

    #[test]
    #[cfg(unix)]
    fn null_behind_an_export_is_no_safe_disk() {
        let folder = tempfile::tempdir().unwrap();
        let program = env!("CARGO_BIN_EXE_seekwise");
        let audit =
            format!("{program} flush-audit $SEEKWISE_URI --destroy $SEEKWISE_URI --json > said; echo $? > code");
        run_program(folder.path(), &["serve", "null", "--nbd", "unix:d", "--run", "--", "sh", "-c", &audit])
            .success_stdout();
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        let said = ProgramOutput { code: read("code").trim().parse().unwrap(), out: read("said"), err: String::new() };
        assert_ram_verdict(&said, "null, as an export");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_system_in_memory_is_no_safe_disk() {
        let memory = Path::new("/dev/shm");
        if !memory.is_dir() {
            return eprintln!("skipped: an audit of RAM, for there is no /dev/shm");
        }
        let folder = tempfile::tempdir_in(memory).unwrap();
        let said = run_program(folder.path(), &["flush-audit", ".", "--size", "4m", "--json"]);
        if said.code == 2 && said.err.contains("O_DIRECT") {
            return eprintln!("skipped: {}", said.err);
        }
        assert_ram_verdict(&said, "a folder on tmpfs");
        if let Some(disk) = super::killed::Loop::new(folder.path()) {
            let said = run_program(folder.path(), &["flush-audit", &disk.0, "--destroy", &disk.0, "--json"]);
            assert_ram_verdict(&said, "a loop device on tmpfs");
        }
    }
}

#[cfg(target_os = "linux")]
mod killed {
    use std::fs::{self, File};
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};

    use crate::seekwise::{program_command, run_program};

    /// A loop device, detached when dropped.
    pub(super) struct Loop(pub(super) String);

    impl Drop for Loop {
        fn drop(&mut self) {
            let _ = Command::new("losetup").args(["--detach", &self.0]).status();
        }
    }

    impl Loop {
        pub(super) fn new(at: &Path) -> Option<Loop> {
            File::create(at.join("image")).unwrap().set_len(64 << 20).unwrap();
            let made = Command::new("losetup").args(["--find", "--show"]).arg(at.join("image")).output();
            let made = made.ok().filter(|made| made.status.success())?;
            Some(Loop(String::from_utf8(made.stdout).unwrap().trim().to_owned()))
        }

        fn queue(&self) -> PathBuf {
            Path::new("/sys/block").join(self.0.trim_start_matches("/dev/")).join("queue")
        }

        fn scheduler(&self) -> String {
            fs::read_to_string(self.queue().join("scheduler")).unwrap_or_default()
        }
    }

    /// A run is killed, and another stopped by a signal that it handles, while the device has other settings. Afterwards the settings
    /// are as before: in the first case `restore` puts them back.
    #[test]
    fn settings_of_a_run_that_was_killed_are_put_back() {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let at = folder.path();
        let Some(disk) = Loop::new(at) else { return eprintln!("skipped: no loop device (losetup, as root)") };
        let before = disk.scheduler();
        if !before.contains("[none]") || !before.contains("mq-deadline") {
            return eprintln!("skipped: the loop device's schedulers are {before}");
        }
        for signal in ["KILL", "TERM"] {
            let audit = ["flush-audit", &disk.0, "--destroy", &disk.0, "--set", "real.scheduler=mq-deadline"];
            let mut run = program_command(at).args(audit).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            while !disk.scheduler().contains("[mq-deadline]") {
                assert_eq!(run.try_wait().unwrap(), None, "it is set while the audit runs");
                std::thread::yield_now();
            }
            let kill = Command::new("kill").args([format!("-{signal}"), run.id().to_string()]).status().unwrap();
            assert!(kill.success());
            run.wait().unwrap();
            if signal == "KILL" {
                assert!(disk.scheduler().contains("[mq-deadline]"));
                let refused = run_program(at, &audit);
                assert!(refused.code == 2 && refused.err.contains("`seekwise restore`"), "{}", refused.err);
                let said = run_program(at, &["restore"]).success_stdout();
                assert!(said.contains("queue/scheduler is none again; it was mq-deadline"), "{said}");
            }
            assert_eq!(disk.scheduler(), before, "{signal}");
        }
        let name = disk.0.trim_start_matches("/dev/").to_owned();
        assert!(!run_program(at, &["restore"]).success_stdout().contains(&name));
    }
}
