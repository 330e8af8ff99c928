//! `seekwise crash` with workloads and checks that misbehave: each run ends with a clear answer within its limit, and leaves no process,
//! mount, loop device, control group or folder. `seekwise restore` removes what a killed run leaves. A test whose tools are missing
//! says so and is skipped.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The expected exit code of a run, and a part of its output.
type End = (i32, &'static str);

/// The disk kept its promises.
const KEPT: End = (0, "The disk kept its promises");

/// A workload without faults: it writes a file, flushes it, and promises.
const WORK: &str = "echo x > $SEEKWISE_MOUNT/x; sync; echo done";

/// Workloads that misbehave after [`WORK`]: what they do, their commands, and the expected end. Each command that lives on has MARK
/// in its arguments.
const WORKLOADS: [(&str, &str, End); 19] = [
    ("keeps the pipe", "sleep MARK & exit 0", KEPT),
    ("goes to a new session", "setsid sleep MARK & exit 0", KEPT),
    ("forks twice", "(setsid sh -c 'sleep MARK & exit' &) ; exit 0", KEPT),
    ("stands in the mount", "cd $SEEKWISE_MOUNT; setsid sleep MARK >/dev/null 2>&1 & exit 0", KEPT),
    ("holds a file open", "setsid sleep MARK 7>$SEEKWISE_MOUNT/held & exit 0", KEPT),
    ("leaves while children write", "(while :; do echo MARK >> $SEEKWISE_MOUNT/w; done) & exit 0", KEPT),
    ("is deaf, and its child", "trap '' TERM HUP INT; sh -c \"trap '' TERM; sleep MARK\" & exit 0", KEPT),
    ("deletes all it has", "rm -rf $SEEKWISE_MOUNT/* ; cd $SEEKWISE_MOUNT; exit 0", (2, "fails on the whole medium")),
    ("fills the disk", "dd if=/dev/zero of=$SEEKWISE_MOUNT/full bs=1M 2>/dev/null; sync; exit 0", KEPT),
    ("closes what it has", "exec 0<&- 1>&- 2>&-; exit 0", KEPT),
    ("wipes its environment", "env -i setsid /bin/sleep MARK & exit 0", KEPT),
    ("never ends", "sleep MARK", (2, "the workload had not ended after")),
    ("stops itself", "kill -STOP $$; sleep MARK", (2, "the workload had not ended after")),
    ("waits for a pipe", "mkfifo $SEEKWISE_MOUNT/p; cat $SEEKWISE_MOUNT/p", (2, "the workload had not ended after")),
    (
        "forks into a tree",
        "f() { [ $1 = 0 ] && exec sleep MARK; f $(($1 - 1)) & f $(($1 - 1)) & wait; }; f 6",
        (2, "the workload"),
    ),
    ("kills its parent", "kill -9 $PPID; sleep MARK", (2, "the workload died of SIGKILL")),
    ("kills its group", "kill -TERM 0; sleep MARK", (2, "the workload died of SIGTERM")),
    ("prints without end", "yes", (2, "the workload")),
    ("prints a line without end", "yes '' | tr '\\n' x", (2, "printed a line of more than 64 KiB")),
];

/// A check of [`WORK`] without faults.
const CHECK: &str = "{ ! grep -q done $SEEKWISE_PROMISES || test \"$(cat $SEEKWISE_MOUNT/x)\" = x; } || exit 11";

/// Checks that misbehave after [`CHECK`]: what they do, their commands, and the expected end.
const CHECKS: [(&str, &str, End); 12] = [
    ("stands in the mount", "cd $SEEKWISE_MOUNT; setsid sleep MARK & exit 0", KEPT),
    ("unmounts it", "umount $SEEKWISE_MOUNT; exit 0", (2, "not mounted")),
    ("deletes its folder", "rm -rf $SEEKWISE_SCRATCH $SEEKWISE_PROMISES; exit 0", KEPT),
    ("fills the disk", "dd if=/dev/zero of=$SEEKWISE_MOUNT/full bs=1M 2>/dev/null; exit 0", KEPT),
    ("dies of a fault", "echo before; kill -SEGV $$", (2, "the check died of SIGSEGV; before, it said:")),
    ("aborts", "sh -c 'kill -ABRT $$'; exit $?", (2, "the check died of SIGABRT")),
    ("never ends", "sleep MARK", (2, "the check had not ended after")),
    ("stops itself", "kill -STOP $$; sleep MARK", (2, "the check had not ended after")),
    ("prints without end", "yes; sleep MARK", (2, "the check had not ended after")),
    (
        "dies of some media",
        "grep -q done $SEEKWISE_PROMISES || kill -SEGV $$",
        (2, "when nothing was promised: corrupt (the check died of SIGSEGV"),
    ),
    ("is not there", "no-such-check", (2, "the check could not run (exit code 127)")),
    ("looks for secrets", "test -z \"$SECRET\" && test \"$GIVEN\" = here || exit 11", KEPT),
];

/// Runs a script in a shell.
fn run_shell(words: &str) -> Output {
    Command::new("sh").args(["-c", words]).stdin(Stdio::null()).output().unwrap()
}

/// The lines that a script prints.
fn shell_lines(words: &str) -> Vec<String> {
    String::from_utf8_lossy(&run_shell(words).stdout).lines().map(str::to_owned).collect()
}

/// Running processes with this mark in their arguments.
fn processes_with_mark(mark: &str) -> Vec<String> {
    shell_lines(&format!("pgrep -af '[s]leep {mark}|[e]cho {mark}'"))
}

/// The reason why file systems cannot be mounted here, or which program is missing.
fn missing_requirement() -> Option<String> {
    let runs = |words: &str| run_shell(words).status.success();
    if !runs("test $(id -u) = 0") {
        return Some("root may mount, and nobody else".to_owned());
    }
    let programs = ["mkfs.ext4", "e2fsck", "losetup", "setsid", "pgrep"];
    let there = |program: &&&str| !runs(&format!("PATH=$PATH:/usr/sbin:/sbin command -v {program}"));
    if let Some(program) = programs.iter().find(there) {
        return Some(format!("there is no {program}"));
    }
    let devices = ["/dev/fuse", "/dev/loop-control"].into_iter().find(|device| !Path::new(device).exists());
    let lacking = devices.map(|device| format!("there is no {device}"));
    lacking.or_else(|| (!runs("losetup --find")).then(|| "there is no free loop device".to_owned()))
}

/// A folder for the media of one test, whose name tells its mounts from those of others.
struct Place(tempfile::TempDir);

impl Place {
    /// The folder of a test; prints that the test is skipped, and returns `None`, where nothing can be mounted.
    fn for_test(test: &str) -> Option<Place> {
        if let Some(why) = missing_requirement() {
            println!("skipped, {test}: {why}");
            return None;
        }
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        Some(Place(tempfile::Builder::new().prefix("seekwise-hostile-").tempdir_in(parent).unwrap()))
    }

    /// A time for `sleep` that no other process has as its argument.
    fn mark(&self, number: usize) -> String {
        format!("7{:07}.{number:03}", std::process::id())
    }

    /// Starts `seekwise crash` with these arguments.
    fn start_crash(&self, words: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_seekwise"));
        let base = ["crash", "--on", "cheetah-15k.4", "--fs", "ext4", "--size", "16m", "--cuts", "4", "--jobs", "2"];
        command.args(base).args(["--scratch", self.0.path().to_str().unwrap()]).args(words).env("COLUMNS", "400");
        command.env("SECRET", "told nobody").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Starts a run and waits until the program of an option (`--prepare`, `--workload` or `--check`) has run the commands `first`; it
    /// then sleeps with this mark.
    fn start_and_wait_for(&self, option: &str, first: &str, mark: &str) -> Child {
        let began = self.0.path().with_extension("began");
        let waits = format!("{first}; echo x > {}; setsid sleep {mark}", began.display());
        let of = |name: &str, usual: &'static str| if name == option { waits.clone() } else { usual.to_owned() };
        let programs = [("--prepare", "true"), ("--workload", WORK), ("--check", "true")];
        let words = programs.map(|(name, usual)| [name.to_owned(), of(name, usual)]).concat();
        let child = self.start_crash(&words.iter().map(String::as_str).collect::<Vec<_>>());
        // The loop waits at most a minute.
        let there = format!("for i in $(seq 600); do test -s {0} && exit 0; sleep 0.1; done; exit 1", began.display());
        assert!(run_shell(&there).status.success(), "{option}: {}", began.display());
        std::fs::remove_file(began).unwrap();
        child
    }

    /// Leftovers of runs: processes with a mark, mounts, loop devices and folders.
    fn leftovers(&self, mark: &str) -> Vec<String> {
        let folder = self.0.path().display();
        let mut left = processes_with_mark(mark);
        left.extend(shell_lines(&format!(
            "grep {folder} /proc/self/mounts; losetup -l -n -O NAME,BACK-FILE | grep {folder}; ls {folder}"
        )));
        left
    }
}

/// Runs `crash` with a program that misbehaves; asserts how it ends, and that no control group and no process is left.
fn run_and_check(
    place: &Place,
    number: usize,
    (what, words, end): &(&str, &str, End),
    limit: &str,
    arguments: &dyn Fn(&str) -> Vec<String>,
) {
    let mark = place.mark(number);
    let arguments = [arguments(&words.replace("MARK", &mark)), vec!["--limit".to_owned(), limit.to_owned()]].concat();
    let child = place.start_crash(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let id = child.id();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace("\n  ", " ");
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(end.0), "{what}: {said}");
    assert!(said.contains(end.1), "{what}: expected `{}`\n{said}", end.1);
    let groups = shell_lines(&format!("ls -d /sys/fs/cgroup/seekwise-{id}-* /sys/fs/cgroup/*/seekwise-{id}-*"));
    assert!(groups.is_empty(), "{what}: {groups:?}");
    assert!(processes_with_mark(&mark).is_empty(), "{what}: {:?}", processes_with_mark(&mark));
}

/// Runs and checks all programs of a list, three at once, since they mostly wait; `first` is the number of the first mark.
fn run_and_check_all(
    place: &Place,
    list: &[(&str, &str, End)],
    first: usize,
    limit: &str,
    arguments: &(dyn Fn(&str) -> Vec<String> + Sync),
) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(one) = list.get(number) else { return };
                    run_and_check(place, first + number, one, limit, arguments);
                }
            });
        }
    });
    let left = place.leftovers("never");
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn workloads_that_misbehave_end_and_leave_nothing() {
    let Some(place) = Place::for_test("workloads that misbehave") else { return };
    let words = |it: &str| ["--workload", &format!("{WORK}; {it}"), "--check", CHECK].map(str::to_owned).to_vec();
    run_and_check_all(&place, &WORKLOADS, 0, "3 s", &words);
}

#[test]
fn checks_that_misbehave_end_and_leave_nothing() {
    let Some(place) = Place::for_test("checks that misbehave") else { return };
    let words = |it: &str| {
        let check = format!("{CHECK}; {it}");
        ["--workload", WORK, "--check", &check, "--env", "GIVEN=here"].map(str::to_owned).to_vec()
    };
    run_and_check_all(&place, &CHECKS, 100, "5 s", &words);
}

/// A signal ends a run while its preparation, its workload or its check is running.
#[test]
fn a_signal_ends_it_in_every_state_and_nothing_is_left() {
    let Some(place) = Place::for_test("signals") else { return };
    for (number, option) in ["--prepare", "--workload", "--check"].into_iter().enumerate() {
        let mark = place.mark(200 + number);
        let child = place.start_and_wait_for(option, "true", &mark);
        assert!(run_shell(&format!("kill -TERM {}", child.id())).status.success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{option}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(place.leftovers(&mark).is_empty(), "{option}: {:?}", place.leftovers(&mark));
    }
}

/// The lines of `seekwise restore` on the process of one run.
fn restore_lines(words: &str, id: u32) -> Vec<String> {
    shell_lines(&format!("'{}' restore {words} | grep '^process {id}: '", env!("CARGO_BIN_EXE_seekwise")))
}

/// `kill -9` in the middle of a workload, and of a check: `restore` removes what is left, and nothing of a run that is still going on.
#[test]
fn what_a_killed_run_left_is_taken_away() {
    let Some(place) = Place::for_test("killed runs") else { return };
    for (number, option) in ["--workload", "--check"].into_iter().enumerate() {
        let mark = place.mark(300 + number);
        let mut child = place.start_and_wait_for(option, "cd $SEEKWISE_MOUNT", &mark);
        let id = child.id();
        assert_eq!(restore_lines("", id), [format!("process {id}: is still at work: nothing done")]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!place.leftovers(&mark).is_empty(), "{option}: a killed run leaves something");
        let would = restore_lines("--dry-run", id);
        assert!(would.len() >= 3 && would.iter().all(|line| line.contains("would be taken away")), "{would:?}");
        assert!(!place.leftovers(&mark).is_empty(), "{option}: a dry run changes nothing");
        // The kernel keeps a detached device's file while anybody has the device open: any `losetup` that lists devices does.
        let folder = place.0.path().display();
        let opened = format!("losetup -n -O NAME,BACK-FILE | awk 'index($2, \"{folder}\") {{print $1}}'");
        for device in shell_lines(&opened) {
            shell_lines(&format!("sleep 0.5 < {device} > /dev/null 2>&1 &"));
        }
        let said = restore_lines("", id);
        assert!(said.len() >= 3 && said.iter().all(|line| line.contains("taken away: ")), "{said:?}");
        assert!(place.leftovers(&mark).is_empty(), "{option}: {:?}", place.leftovers(&mark));
        assert!(restore_lines("", id).is_empty(), "{option}: there is nothing to do twice");
    }
}
