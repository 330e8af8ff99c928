//! `seekwise crash` as a whole: a drive that keeps its promises loses nothing that SQLite promised; a drive that acknowledges flushes
//! early is found, with the fewest lost writes; wrong arguments are refused. A test whose tools are missing says so and is skipped.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Runs `seekwise crash`; returns exit code, standard output and standard error.
fn run_crash(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_seekwise"))
        .arg("crash")
        .args(arguments)
        .env("COLUMNS", "200")
        .env("COMMITS", "30")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// The reason why file systems cannot be mounted here, or which program is missing.
fn missing_requirement(programs: &[&str]) -> Option<String> {
    let runs = |program: &str, arguments: &[&str]| {
        Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
    };
    let there = |program: &&&str| !runs("sh", &["-c", &format!("PATH=$PATH:/usr/sbin:/sbin command -v {program}")]);
    if let Some(program) = programs.iter().chain(&["mkfs.ext4", "e2fsck", "losetup"]).find(there) {
        return Some(format!("there is no {program}"));
    }
    if !runs("sh", &["-c", "test $(id -u) = 0"]) {
        return Some("root may mount, and nobody else".to_owned());
    }
    for device in ["/dev/fuse", "/dev/loop-control"] {
        if !Path::new(device).exists() {
            return Some(format!("there is no {device}"));
        }
    }
    (!runs("losetup", &["--find"])).then(|| "there is no free loop device".to_owned())
}

fn is_skipped(what: &str, programs: &[&str]) -> bool {
    let lacking = missing_requirement(programs);
    if let Some(why) = &lacking {
        println!("skipped, {what}: {why}");
    }
    lacking.is_some()
}

const LIAR: [&str; 2] = ["--set", "drive.faults.early_flush=on"];

/// Options for tests in which a drive's lie must be found. A promise counts from when its line has been read, which on a loaded
/// machine takes up to a tenth of a second. At this speed that is little of the disk's time; and the drive keeps cached data for long.
const SLOWLY: [&str; 4] = ["--speed", "0.02", "--set", "drive.cache.destage_idle_ms=10000"];

#[test]
fn commits_of_sqlite_stay_on_an_honest_drive_and_a_liar_is_caught() {
    if is_skipped("SQLite on ext4", &["sqlite3", "stdbuf"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("crash.html");
    let page = ["--page", file.to_str().unwrap()];
    let run = ["--on", "barracuda-7200.7", "--recipe", "sqlite-wal-full", "--cuts", "60", "--json"];
    let (code, out, err) = run_crash(&[&run[..], &page, &["--orders", "1"]].concat());
    assert_eq!(code, 0, "{out}\n{err}");
    let html = std::fs::read_to_string(&file).unwrap();
    crate::pages::shared_style("crash", &html);
    assert!(html.contains("<td>consistent</td><td>60</td>") && html.contains("Yes: 60 cuts"), "{html}");
    let (code, _, err) = run_crash(&[&run[..], &page].concat());
    assert!(code == 2 && err.contains("already exists; --force overwrites it"), "{err}");
    let honest: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(honest["at_cuts"]["consistent"], 60, "{honest}");
    assert_eq!((&honest["in_orders"]["consistent"], &honest["disk_broke"]), (&60.into(), &0.into()), "{honest}");
    assert!(honest["promises"].as_u64() > Some(25) && honest["checked"].as_u64() > Some(10), "{honest}");

    let find = file.with_extension("find");
    assert!(!find.exists(), "nothing was found");
    let (code, out, err) = run_crash(&[&run[..], &SLOWLY, &LIAR, &page, &["--force"]].concat());
    assert_eq!(code, 1, "{out}\n{err}");
    let liar: Value = serde_json::from_str(&out).unwrap();
    let bad = liar["at_cuts"]["lost_promised"].as_u64().unwrap() + liar["at_cuts"]["corrupt"].as_u64().unwrap();
    assert!(bad > 0 && liar["disk_broke"].as_u64().unwrap() >= bad, "{liar}");
    let fewest = liar["shrunk"]["fewest"].as_array().unwrap();
    assert!(!fewest.is_empty() && fewest.len() as u64 <= liar["shrunk"]["lost"].as_u64().unwrap(), "{liar}");
    assert!(fewest[0]["promised_s"].is_number() && fewest[0]["place"].is_string(), "{liar}");
    let standing = &fewest[0]["standing"];
    assert!(standing["bytes"].as_u64() > Some(0) && standing["lost"] != standing["stands"], "{liar}");
    // The page's command makes the medium again.
    let html = std::fs::read_to_string(&file).unwrap();
    let command =
        html.split("<code>").find(|code| code.contains("crash --again")).unwrap().split("</code>").next().unwrap();
    assert_eq!(command, format!("seekwise crash --again {} --image medium.img", find.display()));
    let program = env!("CARGO_BIN_EXE_seekwise");
    let command = command.replacen("seekwise", program, 1);
    let output = Command::new("sh").args(["-c", &command]).current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).replace("\n  ", " ");
    let content = &liar["kept"]["content"].as_str().unwrap()[..16];
    let expected =
        format!("medium.img: equal, byte for byte, to the medium that was checked after the cut (content {content}).");
    assert!(output.status.success() && said.contains(&expected), "{said}");
    assert_eq!(std::fs::metadata(folder.path().join("medium.img")).unwrap().len(), 64 << 20);
}

/// A recovery that empties its log before it has flushed the data: no single cut finds it, two cuts do. Its mended twin loses nothing.
#[test]
fn two_cuts_find_a_recovery_that_empties_its_log_too_early() {
    if is_skipped("cuts of recoveries", &["awk", "dd"]) {
        return;
    }
    let run = |recipe: &str| {
        // Sectors of 4 KiB: no cut leaves a part of ext4's super block.
        let words = ["--on", "exos-x18", "--recipe", recipe, "--env", "RECORDS=12", "--cuts", "8", "--json"];
        let (code, out, err) = run_crash(&[&words[..], &["--depth", "2", "--recovery-cuts", "8"]].concat());
        let said: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{code} {out}\n{err}"));
        assert_eq!(said["at_cuts"]["consistent"], 8, "a single cut finds nothing: {said}");
        (code, said["recovery"].clone())
    };
    let (code, bad) = run("log-store-empties-at-once");
    assert!(code == 1 && bad["found_after"].as_u64() < Some(72), "{bad}");
    let first = &bad["first"][0];
    assert_eq!((first["verdict"].as_str(), &first["recovery_failed"]), (Some("lost-promised"), &false.into()), "{bad}");
    assert!(first["chain"].as_array().is_some_and(|chain| chain.len() == 2), "{bad}");
    let (code, good) = run("log-store");
    let level = &good["levels"][0];
    assert!(code == 0 && level["at_cuts"]["consistent"] == level["cuts"] && level["failed"] == 0, "{good}");
    assert!(level["recoveries"].as_u64() > Some(2) && level["checked"].as_u64() > Some(8), "{good}");
}

#[test]
fn without_barriers_a_flush_of_ext4_promises_what_the_drive_was_not_asked_for() {
    if is_skipped("ext4 without barriers", &[]) {
        return;
    }
    let work = "for i in 1 2 3 4 5 6 7 8; do echo $i > $SEEKWISE_MOUNT/$i; sync $SEEKWISE_MOUNT/$i; echo $i; done";
    let check = "for i in $(cat $SEEKWISE_PROMISES); do test \"$(cat $SEEKWISE_MOUNT/$i)\" = $i || exit 11; done";
    let folder = std::env::temp_dir().join(format!("seekwise-crash-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let kept = folder.join("medium");
    let run = |fs: &str, pace: &[&str]| {
        let words = ["--on", "barracuda-7200.7", "--fs", fs, "--workload", work, "--check", check, "--cuts", "40"];
        run_crash(&[&words[..], pace, &["--keep", kept.to_str().unwrap()]].concat())
    };
    let (code, out, err) = run("ext4", &["--speed", "20"]);
    assert_eq!(code, 0, "{out}\n{err}");
    assert!(!kept.exists() && out.contains("The disk kept its promises"), "{out}");
    let (code, out, err) = run("ext4:barrier=0", &SLOWLY);
    assert_eq!(code, 1, "{out}\n{err}");
    assert!(out.contains("acknowledged at") && out.contains("not flushed"), "{out}");
    a_kept_find_is_made_again(&folder, &kept);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The medium made of a find lacks a file that was promised; with the lost writes put back it has all; a damaged find is refused.
fn a_kept_find_is_made_again(folder: &Path, find: &Path) {
    let (image, other) = (folder.join("image"), folder.join("other"));
    let [find, image, other] = [find, &image, &other].map(|path| path.to_str().unwrap());
    let again = |more: &[&str]| run_crash(&[&["--again", find][..], more].concat());
    let made = |more: &[&str]| {
        let (code, out, err) = again(&[&["--json"], more].concat());
        let said: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}\n{err}"));
        assert_eq!(code, 0, "{said}");
        said
    };
    let said = made(&["--image", image]);
    assert!(said["made"]["equal"] == true && said["made"]["content"] == said["content"], "{said}");
    let whole = made(&["--image", other, "--restore", "all"]);
    assert!(whole["made"]["equal"] == false && whole["content"] == said["content"], "{whole}");
    let promises = said["promises"].as_u64().unwrap();
    let mount = folder.join("mount");
    std::fs::create_dir(&mount).unwrap();
    let has_all = |image: &str| {
        let at = mount.display();
        let check = format!(
            "mount -o loop {image} {at} || exit 3; for i in $(seq {promises}); do test \"$(cat {at}/$i)\" = $i || lost=1; done; \
             umount {at}; exit ${{lost:-0}}"
        );
        Command::new("sh").args(["-c", &check]).output().unwrap().status.code()
    };
    assert_eq!((has_all(image), has_all(other)), (Some(1), Some(0)), "{said}");
    let (code, _, err) = again(&["--image", image]);
    assert!(code == 2 && err.contains("already exists; --force overwrites it"), "{err}");
    let (code, _, err) = again(&["--image", image, "--force", "--restore", "999999"]);
    assert!(code == 2 && err.contains("write 999999 was not lost at this cut; expected all, or some of"), "{err}");
    for more in [&["--cuts", "5"][..], &["--restore", "all"], &["--keep", "x"]] {
        assert_eq!(again(more).0, 2, "{more:?}");
    }
    let mut bytes = std::fs::read(find).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(find, bytes).unwrap();
    let (code, _, err) = again(&["--image", image, "--force"]);
    assert!(code == 2 && err.replace("\n  ", " ").contains("was changed or cut short after it was written"), "{err}");
}

/// Media and promises are for their owner alone; with --user, programs of that user reach the mounted file system and nothing else.
#[test]
fn nobody_else_reads_media_and_promises() {
    if is_skipped("who reaches a medium", &["runuser"]) {
        return;
    }
    let work = "for i in 1 2 3 4; do echo $i > $SEEKWISE_MOUNT/$i; sync $SEEKWISE_MOUNT/$i; echo $i; done";
    let check = "nobody() { runuser -u nobody -- \"$@\" > /dev/null 2>&1; }; \
                 { stat -c %a $SEEKWISE_IMAGE $SEEKWISE_PROMISES $SEEKWISE_SCRATCH $(dirname $(dirname $SEEKWISE_IMAGE)) | tr '\\n' ' '; \
                   nobody ls $SEEKWISE_MOUNT && echo -n reached; nobody cat $SEEKWISE_PROMISES && echo -n read; \
                   nobody ls $SEEKWISE_SCRATCH && echo -n listed; echo; } >> $SEEN; \
                 for i in $(cat $SEEKWISE_PROMISES); do test \"$(cat $SEEKWISE_MOUNT/$i)\" = $i || exit 11; done";
    let folder = tempfile::tempdir().unwrap();
    for (more, expected) in [(&[][..], "600 600 700 700 "), (&["--user", "nobody"], "600 600 710 710 reached")] {
        let file = folder.path().join(expected.replace(' ', "-"));
        let seen = format!("SEEN={}", file.display());
        let words = ["--on", "barracuda-7200.7", "--fs", "ext4", "--workload", work, "--check", check, "--speed", "20"];
        let (code, out, err) = run_crash(&[&words[..], &["--cuts", "5", "--jobs", "1", "--env", &seen], more].concat());
        assert_eq!(code, 0, "{out}\n{err}");
        let lines = std::fs::read_to_string(&file).unwrap();
        assert!(!lines.is_empty() && lines.lines().all(|line| line == expected), "{lines}");
    }
    let own = ["--on", "barracuda-7200.7", "--fs", "ext4", "--workload", work, "--check", "true"];
    let (code, _, err) = run_crash(&[&own[..], &["--user", "no-such-user"]].concat());
    assert!(code == 2 && err.contains("--user no-such-user") && err.contains("expected a user"), "{err}");
    let there = folder.path().join("there");
    std::fs::write(&there, "mine").unwrap();
    let (code, _, err) = run_crash(&[&own[..], &["--keep", there.to_str().unwrap()]].concat());
    assert!(code == 2 && err.contains("already exists; --force overwrites it"), "{err}");
    let (code, _, err) = run_crash(&[&own[..], &["--force"]].concat());
    assert!(code == 2 && err.contains("--force: no file is written"), "{err}");
}

/// With an honest drive, promised data stay on each file system, even if the drive had written in another order.
#[test]
fn what_was_flushed_stays_on_xfs_and_on_btrfs() {
    for (name, tools) in [("xfs", ["mkfs.xfs", "xfs_repair"]), ("btrfs", ["mkfs.btrfs", "btrfs"])] {
        if is_skipped(name, &tools) {
            continue;
        }
        let recipe = format!("{name}-fsync");
        let run = ["--on", "barracuda-7200.7", "--recipe", &recipe, "--env", "FILES=12", "--cuts", "24", "--json"];
        let (code, out, err) = run_crash(&run);
        assert_eq!(code, 0, "{name}: {out}\n{err}");
        let said: Value = serde_json::from_str(&out).unwrap();
        assert_eq!((&said["at_cuts"]["consistent"], &said["disk_broke"]), (&24.into(), &0.into()), "{name}: {said}");
        assert!(said["promises"] == 12 && said["checked"].as_u64() > Some(8), "{name}: {said}");
    }
}

/// A program flushes one file of three: the others were only in the page cache, and are named with their bytes.
#[test]
fn what_was_written_and_never_flushed_is_named_by_file_and_range() {
    if is_skipped("bytes that never left the page cache", &[]) {
        return;
    }
    // 10,000 bytes are changed in the middle of a file that was there before.
    let prepare = "head -c 40960 /dev/zero > $SEEKWISE_MOUNT/old; echo from before > $SEEKWISE_MOUNT/other";
    let work = "cd $SEEKWISE_MOUNT; echo a > flushed; sync flushed; seq 2000 > new; \
                seq 5000 | head -c 10000 | dd of=old bs=1 seek=8192 conv=notrunc 2>/dev/null; echo done";
    let check = "test -s $SEEKWISE_PROMISES || exit 0; seq 2000 | cmp -s - $SEEKWISE_MOUNT/new || exit 11";
    let words = ["--on", "cheetah-15k.4", "--fs", "ext4", "--prepare", prepare, "--workload", work, "--check", check];
    let (code, out, err) = run_crash(&[&words[..], &["--cuts", "20", "--orders", "2", "--json"]].concat());
    let said: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{code}: {out}\n{err}"));
    let named = |file: &str| said["unflushed"].as_array().unwrap().iter().find(|it| it["file"] == file).cloned();
    let (new, old) = (named("/new").unwrap(), named("/old").unwrap());
    assert_eq!(new["ranges"], serde_json::json!([[0, 8893]]), "{said}");
    let first = |offset: u64, stands: Value| serde_json::json!({ "offset": offset, "lost": r#""1\n2\n3\n4\n5\n6\n7\n8\n""#, "stands": stands });
    assert_eq!(new["first"], first(0, Value::Null), "the disk has no such file: {said}");
    assert_eq!(old["first"], first(8192, "zeroes".into()), "{said}");
    // Pages of 4096 bytes: 8192 to 18191 lie in three of them.
    assert_eq!((&old["ranges"], &old["named"]), (&serde_json::json!([[8192, 20480]]), &true.into()), "{said}");
    assert!(named("/flushed").is_none() && named("/other").is_none(), "{said}");
    assert_eq!(said["files_left_out"], 0);
    // After a flush of all, nothing is named.
    let work = work.replace("echo done", "sync; echo done");
    let words = ["--on", "cheetah-15k.4", "--fs", "ext4", "--prepare", prepare, "--workload", &work, "--check", check];
    let (code, out, err) = run_crash(&[&words[..], &["--cuts", "20", "--json"]].concat());
    assert_eq!(code, 0, "{out}\n{err}");
    let said: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(said["unflushed"], serde_json::json!([]), "{said}");
}

#[test]
fn a_bare_disk_needs_no_root() {
    let lacks = |program: &&&str| {
        !Command::new("sh").args(["-c", &format!("command -v {program}")]).output().is_ok_and(|it| it.status.success())
    };
    if let Some(program) = ["qemu-io", "stdbuf"].iter().find(lacks) {
        println!("skipped, records on the bare disk: there is no {program}");
        return;
    }
    let run = ["--on", "cheetah-15k.4", "--recipe", "raw-fua", "--cuts", "40"];
    let (code, out, err) = run_crash(&run);
    assert_eq!(code, 0, "{out}\n{err}");
    let (code, out, err) = run_crash(&[&run[..], &SLOWLY, &["--set", "drive.faults.ignores_fua=on"]].concat());
    assert_eq!(code, 1, "{out}\n{err}");
    assert!(out.contains("lost after a promise") && out.contains("is enough"), "{out}");
}

/// A layer that passes flushes on is not accused; one that drops them is named, and not the program or the disk; a program that sends no
/// flush is named itself.
#[test]
fn a_layer_that_drops_flushes_is_named() {
    let is_lacking = |program: &&&str| {
        !Command::new("sh").args(["-c", &format!("command -v {program}")]).output().is_ok_and(|it| it.status.success())
    };
    if let Some(program) = ["qemu-io", "nbdkit", "stdbuf"].iter().find(is_lacking) {
        println!("skipped, a layer before the disk: there is no {program}");
        return;
    }
    let run = |proxy: &str, more: &[&str]| {
        let layer = format!("exec nbdkit -f -U $SEEKWISE_LAYER {proxy}");
        let words = ["--on", "cheetah-15k.4", "--recipe", "raw-flush", "--cuts", "20", "--json", "--layer", &layer];
        let settled = ["--set", "drive.cache.destage_idle_ms=10000", "--env", "RECORDS=40"];
        let (code, out, err) = run_crash(&[&words[..], &settled, more].concat());
        (code, serde_json::from_str::<Value>(&out).unwrap_or_else(|why| panic!("{why}: {out}\n{err}")))
    };
    const HONEST: &str = "nbd uri=\"$SEEKWISE_URI\"";
    let (code, honest) = run(HONEST, &[]);
    assert_eq!((code, &honest["layer"]["verdict"]), (0, &"honest".into()), "{honest}");
    assert!(honest["layer"]["arrived"].as_u64() >= honest["layer"]["needed"].as_u64(), "{honest}");
    let (code, liar) = run("--filter=fua nbd fuamode=discard uri=\"$SEEKWISE_URI\"", &[]);
    assert_eq!((code, &liar["layer"]["verdict"]), (1, &"drops_flushes".into()), "{liar}");
    assert_eq!((&liar["layer"]["needed"], &liar["layer"]["arrived"]), (&40.into(), &0.into()), "{liar}");
    assert_eq!(liar["disk_broke"], 0, "{liar}");
    // qemu-io flushes when it ends by itself.
    let silent = "{ i=1; while [ $i -le 40 ]; do at=$((i * 4096)); echo \"write -q -P $((i % 255 + 1)) $at 4096\"; echo \"read $at 512\"; \
                  i=$((i + 1)); done; echo abort; } | stdbuf -oL qemu-io -t writeback -f raw \"$SEEKWISE_URI\" \
                  | sed -un 's/.* at offset \\([0-9]*\\)$/record \\1/p'";
    let (code, silent) = run(HONEST, &["--workload", silent]);
    assert_eq!((code, &silent["layer"]["verdict"]), (1, &"program_never_flushed".into()), "{silent}");
    let (code, _, err) =
        run_crash(&["--on", "cheetah-15k.4", "--recipe", "raw-flush", "--layer", "echo no such proxy; exit 3"]);
    assert!(code == 2 && err.contains("ended with exit code 3") && err.contains("no such proxy"), "{err}");
    let (code, _, err) = run_crash(&["--on", "cheetah-15k.4", "--recipe", "sqlite-wal-full", "--layer", "true"]);
    assert!(code == 2 && err.contains("--layer stands before the bare disk"), "{err}");
}

/// Runs `crash` with forty cuts of this workload and check.
fn crash_with_log(fs: &str, work: &str, check: &str, more: &[&str]) -> (i32, String, String) {
    let words = ["--on", "barracuda-7200.7", "--fs", fs, "--workload", work, "--check", check, "--cuts", "40"];
    run_crash(&[&words[..], more].concat())
}

/// A workload that writes records to a log and flushes each, and one that flushes none.
const LOG: &str = "cd $SEEKWISE_MOUNT; for i in $(seq 20); do echo entry $i >> log; sync log; echo $i; done";
const LOG_NO_SYNC: &str = "cd $SEEKWISE_MOUNT; for i in $(seq 20); do echo entry $i >> log; echo $i; done";

/// A check that all promised records are in the log as they were written.
const WHOLE_LOG: &str = "n=$(wc -l < $SEEKWISE_PROMISES); seq $n | sed 's/^/entry /' > $SEEKWISE_SCRATCH/wanted; \
                         test $n = 0 || head -n $n $SEEKWISE_MOUNT/log 2>&1 | cmp - $SEEKWISE_SCRATCH/wanted || exit 11";

#[test]
fn a_check_that_is_broken_or_sees_nothing_is_no_judge() {
    if is_skipped("checks that are no judges", &[]) {
        return;
    }
    let (code, out, err) = crash_with_log("ext4", LOG, WHOLE_LOG, &[]);
    assert_eq!(code, 0, "{out}\n{err}");
    assert!(
        out.replace('\n', " ").contains("The check was tried before: it passes with all that was written"),
        "{out}"
    );
    for (check, said) in [
        ("exit 11", "the check fails on the whole medium"),
        ("echo odd; exit 3", "corrupt (odd); expected exit code 0"),
        (
            "test -s $SEEKWISE_MOUNT/log || exit 11",
            "fails on the medium from before the workload, when nothing was promised",
        ),
        ("true", "passes on the medium from before the workload, on which all of the 20 promises are lost"),
        (
            "test ! -s $SEEKWISE_PROMISES || test -s $SEEKWISE_MOUNT/log || exit 11",
            "does not notice that a promised record is missing",
        ),
        (
            "test ! -s $SEEKWISE_PROMISES || test $(wc -l < $SEEKWISE_MOUNT/log) -ge $(wc -l < $SEEKWISE_PROMISES) || exit 11",
            "does not notice altered data",
        ),
        (&*WHOLE_LOG.replace("exit 11", "exit 10"), "promises are lost: lost, but allowed"),
    ] {
        for work in [LOG, LOG_NO_SYNC] {
            let (code, out, err) = crash_with_log("ext4", work, check, &[]);
            assert!(code == 2 && err.replace("\n  ", " ").contains(said), "{check}: {code}\n{out}\n{err}");
        }
    }
}

#[test]
fn a_program_that_never_flushes_loses_every_promise() {
    if is_skipped("programs that never flush", &["sqlite3", "stdbuf"]) {
        return;
    }
    let recipes = ["sqlite-wal-off", "sqlite-delete-off", "ext4-no-fsync", "rename-no-fsync"];
    let own: [Vec<&str>; 1] = [vec!["--fs", "ext4", "--workload", LOG_NO_SYNC, "--check", WHOLE_LOG]];
    let recipes = recipes.map(|recipe| vec!["--recipe", recipe, "--env", "FILES=20", "--env", "VERSIONS=20"]);
    let mut lost_at_any_time = 0;
    for words in recipes.into_iter().chain(own) {
        let (code, out, err) =
            run_crash(&[&["--on", "barracuda-7200.7", "--cuts", "40", "--json"], &words[..]].concat());
        assert_eq!(code, 1, "{words:?} {out}\n{err}");
        let said: Value = serde_json::from_str(&out).unwrap();
        assert_eq!((&said["disk_broke"], &said["at_cuts"]["lost_allowed"]), (&0.into(), &0.into()), "{words:?} {said}");
        // A program takes milliseconds, at the end of its mount: of instants at any time, all may lie before its first promise.
        let weighting = &said["weighting"];
        assert!(weighting["after_promises"]["lost_promised"].as_u64() > Some(5), "{words:?} {said}");
        lost_at_any_time += weighting["at_any_time"]["lost_promised"].as_u64().unwrap();
        assert!(!said["unflushed"].as_array().unwrap().is_empty(), "{words:?} {said}");
    }
    assert!(lost_at_any_time > 0, "of 200 instants");
}

/// The bytes of a file are flushed, but not its name: the output names the directory, and no bytes.
#[test]
fn a_missing_flush_of_a_directory_is_named_as_one() {
    if is_skipped("names that are not flushed", &[]) {
        return;
    }
    let run = ["--on", "barracuda-7200.7", "--cuts", "40", "--recipe"];
    let (code, out, err) =
        run_crash(&[&run[..], &["rename-no-directory-fsync", "--env", "VERSIONS=12", "--json"]].concat());
    assert_eq!(code, 1, "{out}\n{err}");
    let said: Value = serde_json::from_str(&out).unwrap();
    let document = serde_json::json!({ "name": "/document", "change": "earlier", "stands_as": "/new" });
    assert_eq!(said["unflushed_names"], serde_json::json!([document]), "{said}");
    assert_eq!(said["unflushed"], serde_json::json!([]), "all bytes were flushed: {said}");
    let at_cut = said["not_given_names"].as_array().unwrap();
    assert!(at_cut.len() == 1 && at_cut[0]["name"] == "/document" && at_cut[0]["stands_as"] == "/new", "{said}");
    assert_eq!(said["not_given"], serde_json::json!([]), "what the next flush brought is not missed: {said}");
    let (code, out, err) = run_crash(&[&run[..], &["rename-no-directory-fsync", "--env", "VERSIONS=12"]].concat());
    assert!(code == 1 && out.replace('\n', " ").contains("Is an fsync of the directory missing"), "{out}\n{err}");
    assert!(!out.contains("Written, never flushed"), "{out}");
    let (code, out, err) = run_crash(&[&run[..], &["rename-fsync", "--env", "VERSIONS=12", "--json"]].concat());
    assert_eq!(code, 0, "{out}\n{err}");
    let said: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(said["unflushed_names"], serde_json::json!([]), "{said}");
}

/// Files are renamed into a new directory, and in a chain: all bytes are on the disk, and the output names only directories.
#[test]
fn renamed_files_find_their_directories_and_lose_no_bytes() {
    if is_skipped("chains of renamed files", &["stdbuf"]) {
        return;
    }
    let run = |work: &str, check: &str| {
        let (code, out, err) = crash_with_log("ext4", work, check, &["--json"]);
        assert_eq!(code, 1, "{out}\n{err}");
        let said: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(said["not_given"], serde_json::json!([]), "{said}");
        said["not_given_names"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect::<Vec<_>>()
    };
    let begin = "cd $SEEKWISE_MOUNT; put() { echo $2 > $1; sync $1; };";
    let moved = "put f zero; sync .; mkdir d; mv f d/f; echo moved; sleep 1; sync d .; put g one; sync .; echo made";
    let check = "cd $SEEKWISE_MOUNT; has() { test \"$(cat $1)\" = $2 || exit 11; }; \
                 for line in $(cat $SEEKWISE_PROMISES); do case $line in moved) has d/f zero ;; made) has g one ;; esac; done";
    let names = run(&format!("{begin} {moved}"), check);
    assert!(names.contains(&"/d".into()) && names.contains(&"/d/f".into()), "{names:?}");
    let rotated = "put log.1 older; put log newer; sync .; echo start; mv log.1 log.2; mv log log.1; echo rotated; sleep 1; \
                   put log third; sync .; echo end";
    let check = "cd $SEEKWISE_MOUNT; has() { test \"$(cat $1)\" = $2 || exit 11; }; \
                 case $(tail -n 1 $SEEKWISE_PROMISES) in start) grep -q older log.* && grep -q newer log log.1 || exit 11 ;; \
                 rotated) has log.2 older; has log.1 newer ;; end) has log.2 older; has log.1 newer; has log third ;; esac";
    let names = run(&format!("{begin} {rotated}"), check);
    assert!(names.contains(&"/log.1".into()) && names.contains(&"/log.2".into()), "{names:?}");
}

/// A check of the newest promise only passes although an older record, which is never flushed, is lost.
#[test]
fn a_check_of_the_newest_file_alone_is_no_judge() {
    if is_skipped("a check of the newest file", &[]) {
        return;
    }
    let work =
        "cd $SEEKWISE_MOUNT; for i in $(seq 20); do echo record $i > r$i; [ $i = 5 ] || sync r$i .; echo $i; done";
    let each =
        "for i in $(cat $SEEKWISE_PROMISES); do test \"$(cat $SEEKWISE_MOUNT/r$i)\" = \"record $i\" || exit 11; done";
    let (code, out, err) = crash_with_log("ext4", &work.replace("[ $i = 5 ] ||", ""), each, &[]);
    assert_eq!(code, 0, "{out}\n{err}");
    let newest = each.replace("$(cat $SEEKWISE_PROMISES)", "$(tail -n 1 $SEEKWISE_PROMISES)");
    let (code, out, err) = crash_with_log("ext4", work, &newest, &[]);
    assert!(code == 2 && err.contains("forgets an earlier promise"), "{code} {out}\n{err}");
}

/// A program that flushes once in a while may lose promises since the last flush, if `--may-lose` says so.
#[test]
fn a_program_that_may_lose_some_time_is_judged_by_it() {
    if is_skipped("promises with a delay", &[]) {
        return;
    }
    let work = "cd $SEEKWISE_MOUNT; for i in $(seq 60); do echo entry $i >> log; [ $((i % 5)) = 0 ] && sync log; \
                echo $i; sleep 0.02; done; sync log";
    let verdicts = |more: &[&str]| {
        let (code, out, err) = crash_with_log("ext4", work, WHOLE_LOG, &[more, &["--json"]].concat());
        let said: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{code} {out}\n{err}"));
        (code, said["at_cuts"]["lost_allowed"].as_u64().unwrap(), said["at_cuts"]["lost_promised"].as_u64().unwrap())
    };
    let (code, allowed, lost) = verdicts(&[]);
    assert!(code == 1 && allowed == 0 && lost > 5, "{code}: {allowed} allowed, {lost} lost");
    // Five records take some 0.1 s; a loaded machine takes longer.
    let (code, allowed, lost) = verdicts(&["--may-lose", "1s"]);
    assert!(code == 0 && allowed > 5 && lost == 0, "{code}: {allowed} allowed, {lost} lost");
    let (code, _, lost) = verdicts(&["--may-lose", "1ms"]);
    assert!(code == 1 && lost > 0, "{code}: {lost} lost");
    let (code, out, err) = crash_with_log("ext4", work, WHOLE_LOG, &["--may-lose", "10min"]);
    assert!(code == 2 && err.contains("no promise grew old enough to count"), "{out}\n{err}");
}

#[test]
fn what_cannot_be_done_is_refused_and_says_why() {
    let base = ["--on", "barracuda-7200.7"];
    let own = ["--workload", "true", "--check", "true"];
    let refused = |more: &[&str], said: &str| {
        let (code, out, err) = run_crash(&[&base[..], more].concat());
        assert!(code == 2 && err.replace("\n  ", " ").contains(said), "{more:?}: {code}\n{out}\n{err}");
    };
    refused(&["--recipe", "sqlite-wal-ful"], "did you mean `sqlite-wal-full`?");
    refused(
        &[&own[..], &["--fs", "exxt4"]].concat(),
        "--fs: unknown file system `exxt4`; expected ext4, xfs, btrfs; did you mean `ext4`?",
    );
    refused(
        &[&own[..], &["--size", "64m"]].concat(),
        "--prepare, --size and --user need a file system; expected --fs ext4",
    );
    refused(&[&own[..], &["--recovery-cuts", "9"]].concat(), "are for cuts of recoveries; expected --depth 2 or 3");
    refused(&[&own[..], &["--recover", "true"]].concat(), "are for cuts of recoveries; expected --depth 2 or 3");
    refused(&[&own[..], &["--depth", "2"]].concat(), "nothing recovers on a bare disk; expected --recover, or --fs");
    refused(&[&own[..], &["--depth", "4"]].concat(), "4 is not in 1..=3");
    refused(&own, "the workload printed no promise and left no changed file: nothing can be lost");
    refused(&["--workload", "exit 3", "--check", "true"], "the workload ended with exit code 3");
    refused(&["--workload", "sleep 60", "--check", "true", "--limit", "100ms"], "the workload had not ended after");
    let (code, _, err) = run_crash(&["--on", "null", "--workload", "true", "--check", "true"]);
    assert!(code == 2 && err.contains("not a modelled disk"), "{err}");
    let (code, _, err) = run_crash(&["--on", "cheetah-15k.4", "--workload", "true"]);
    assert!(code == 2 && err.contains("--check"), "{err}");
    if is_skipped("what only root meets", &[]) {
        return;
    }
    refused(&[&own[..], &["--fs", "ext4", "--size", "1m"]].concat(), "expected at least 16m");
    refused(&[&own[..], &["--fs", "ext4:no-such-option"]].concat(), "--fs: mount");
    refused(
        &[&own[..], &["--fs", "ext4", "--prepare", "echo broken; exit 1"]].concat(),
        "the command of --prepare ended with exit code 1: broken",
    );
    refused(
        &[&own[..], &["--fs", "xfs", "--size", "64m"]].concat(),
        "expected at least 300m, the least that xfs needs",
    );
    refused(
        &[&own[..], &["--env", "NO_SUCH_VARIABLE"]].concat(),
        "--env NO_SUCH_VARIABLE: not set in this environment",
    );
    refused(&[&own[..], &["--env", "SEEKWISE_URI=x"]].concat(), "`SEEKWISE_URI` is reserved for Seekwise");
    let writes = [
        "--fs",
        "ext4",
        "--workload",
        "echo x > $SEEKWISE_MOUNT/x; sync $SEEKWISE_MOUNT/x",
        "--check",
        "no-such-check",
    ];
    refused(&[&writes[..], &["--cuts", "3"]].concat(), "the check could not run (exit code 127)");
}

#[test]
fn a_recipe_whose_program_is_not_installed_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let [recipe, ran] = ["recipe.toml", "ran"].map(|name| folder.path().join(name));
    let text = format!(
        "needs = ['sh', 'seekwise-no-such-program']\nworkload = 'touch {}'\ncheck = 'true'\n[variant.a]\n",
        ran.display()
    );
    std::fs::write(&recipe, text).unwrap();
    let (code, out, err) = run_crash(&["--on", "cheetah-15k.4", "--recipe", recipe.to_str().unwrap()]);
    let said = "`seekwise-no-such-program`: not found; expected it in PATH";
    assert!(code == 2 && err.contains(said), "{code}\n{out}\n{err}");
    assert!(!ran.exists(), "the workload ran");
}

#[test]
fn recipes_are_listed_and_shown_and_files_of_them_read() {
    let (code, out, _) = run_crash(&["--recipes"]);
    assert!(code == 0 && out.contains("postgresql-fsync") && out.contains("rename-no-fsync"), "{out}");
    let (code, out, _) = run_crash(&["--recipes", "--recipe", "ext4-no-barrier"]);
    assert!(code == 0 && out.contains("File system: ext4:barrier=0") && out.contains("sync"), "{out}");
    let (code, out, _) = run_crash(&["--recipes", "--json"]);
    let all: Value = serde_json::from_str(&out).unwrap();
    assert!(code == 0 && all.as_array().unwrap().len() >= 15, "{out}");
    let file = std::env::temp_dir().join(format!("seekwise-recipe-{}.toml", std::process::id()));
    let name = file.to_str().unwrap();
    std::fs::write(&file, "workload = 'true'\ncheck = 'true'\n[variant.a]\n[variant.b]\nsett = { A = '1' }\n").unwrap();
    let (code, _, err) = run_crash(&["--on", "cheetah-15k.4", "--recipe", name]);
    // The length of the folder's name decides where the line is folded.
    let err = err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        code == 2
            && err.contains(
                ":5: `sett`: unknown key; expected title, fs, promises, expect, may_lose, set; did you mean `set`?"
            ),
        "{err}"
    );
    std::fs::write(&file, "workload = 'true'\ncheck = 'true'\n[variant.a]\n[variant.b]\n").unwrap();
    let (code, _, err) = run_crash(&["--on", "cheetah-15k.4", "--recipe", name]);
    assert!(code == 2 && err.contains("has 2 recipes; expected"), "{err}");
    std::fs::remove_file(&file).unwrap();
}
