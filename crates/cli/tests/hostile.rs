//! `seekwise crash` and programs that misbehave: each run ends with a clear answer, within its limit, and leaves nothing: no process, no
//! mount, no loop device, no control group, no folder. A run that was killed leaves what `seekwise restore` takes away.
//! Where the system lacks something, a test says so and what it skipped.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How a run is to end: its exit code, and words of what it says.
type End = (i32, &'static str);

/// Work that is done: something is written, flushed and promised.
const WORK: &str = "echo x > $SEEKWISE_MOUNT/x; sync; echo done";

/// Programs in the workload's place: what they are, and how it ends. They write and flush first. MARK stands in each command line that lives on.
const WORKLOADS: [(&str, &str, End); 19] = [
    ("keeps the pipe", "sleep MARK & exit 0", (0, "The disk kept its word")),
    ("goes to a new session", "setsid sleep MARK & exit 0", (0, "The disk kept its word")),
    ("forks twice", "(setsid sh -c 'sleep MARK & exit' &) ; exit 0", (0, "The disk kept its word")),
    (
        "stands in the mount",
        "cd $SEEKWISE_MOUNT; setsid sleep MARK >/dev/null 2>&1 & exit 0",
        (0, "The disk kept its word"),
    ),
    ("holds a file open", "setsid sleep MARK 7>$SEEKWISE_MOUNT/held & exit 0", (0, "The disk kept its word")),
    (
        "leaves while children write",
        "(while :; do echo MARK >> $SEEKWISE_MOUNT/w; done) & exit 0",
        (0, "The disk kept its word"),
    ),
    (
        "is deaf, and its child",
        "trap '' TERM HUP INT; sh -c \"trap '' TERM; sleep MARK\" & exit 0",
        (0, "The disk kept its word"),
    ),
    ("deletes all it has", "rm -rf $SEEKWISE_MOUNT/* ; cd $SEEKWISE_MOUNT; exit 0", (0, "The disk kept its word")),
    (
        "fills the disk",
        "dd if=/dev/zero of=$SEEKWISE_MOUNT/full bs=1M 2>/dev/null; sync; exit 0",
        (0, "The disk kept its word"),
    ),
    ("closes what it has", "exec 0<&- 1>&- 2>&-; exit 0", (0, "The disk kept its word")),
    ("wipes its environment", "env -i setsid /bin/sleep MARK & exit 0", (0, "The disk kept its word")),
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

/// Programs in the check's place.
const CHECKS: [(&str, &str, End); 11] = [
    ("stands in the mount", "cd $SEEKWISE_MOUNT; setsid sleep MARK & exit 0", (0, "The disk kept its word")),
    ("unmounts it", "umount $SEEKWISE_MOUNT; exit 0", (2, "not mounted")),
    ("deletes its folder", "rm -rf $SEEKWISE_SCRATCH $SEEKWISE_PROMISES; exit 0", (0, "The disk kept its word")),
    (
        "fills the disk",
        "dd if=/dev/zero of=$SEEKWISE_MOUNT/full bs=1M 2>/dev/null; exit 0",
        (0, "The disk kept its word"),
    ),
    ("dies of a fault", "echo before; kill -SEGV $$", (1, "the check died of SIGSEGV; before, it said:")),
    ("aborts", "sh -c 'kill -ABRT $$'; exit $?", (1, "the check died of SIGABRT")),
    ("never ends", "sleep MARK", (1, "the check had not ended after")),
    ("stops itself", "kill -STOP $$; sleep MARK", (1, "the check had not ended after")),
    ("prints without end", "yes; sleep MARK", (1, "the check had not ended after")),
    ("is not there", "no-such-check", (2, "the check could not run (exit code 127)")),
    ("looks for secrets", "test -z \"$SECRET\" && test \"$GIVEN\" = here || exit 11", (0, "The disk kept its word")),
];

/// Why nothing can be mounted here.
fn lacking() -> Option<String> {
    let runs =
        |words: &str| Command::new("sh").args(["-c", words]).output().is_ok_and(|output| output.status.success());
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

/// A folder for media and marks of this test's own.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        Place(tempfile::Builder::new().prefix("seekwise-hostile-").tempdir_in(parent).unwrap())
    }

    /// A length of a sleep that nobody else sleeps.
    fn mark(&self, number: usize) -> String {
        format!("7{:07}.{number:03}", std::process::id())
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_seekwise"));
        let base = ["crash", "--on", "cheetah-15k.4", "--fs", "ext4", "--size", "16m", "--cuts", "4", "--jobs", "2"];
        command.args(base).args(["--scratch", self.0.path().to_str().unwrap()]).args(words).env("COLUMNS", "400");
        command.env("SECRET", "told nobody").stdin(Stdio::null());
        command
    }

    /// What is left: processes with a mark, and mounts, loop devices and folders.
    fn left(&self, mark: &str) -> Vec<String> {
        let lines = |words: &str| {
            let output = Command::new("sh").args(["-c", words]).output().unwrap();
            String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let folder = self.0.path().display();
        let mut left = lines(&format!("pgrep -af '[s]leep {mark}|[e]cho {mark}'"));
        left.extend(lines(&format!(
            "grep {folder} /proc/self/mounts; losetup -l -n -O NAME,BACK-FILE | grep {folder}; ls {folder}"
        )));
        left
    }
}

fn misbehave(
    place: &Place,
    number: usize,
    (what, words, end): &(&str, &str, End),
    limit: &str,
    arguments: &dyn Fn(&str) -> Vec<String>,
) {
    let mark = place.mark(number);
    let arguments = arguments(&words.replace("MARK", &mark));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let child = place
        .command(&arguments)
        .args(["--limit", limit])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let id = child.id();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace("\n  ", " ");
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(end.0), "{what}: {said}");
    assert!(said.contains(end.1), "{what}: expected `{}`\n{said}", end.1);
    let names = format!("ls -d /sys/fs/cgroup/seekwise-{id}-* /sys/fs/cgroup/*/seekwise-{id}-*");
    let groups = Command::new("sh").args(["-c", &names]).output().unwrap().stdout;
    assert!(groups.is_empty(), "{what}: {}", text(&groups));
    let left = Command::new("pgrep").args(["-af", &format!("[s]leep {mark}|[e]cho {mark}")]).output().unwrap().stdout;
    assert!(left.is_empty(), "{what}: {}", text(&left));
}

/// All of them, three at once: most of the time somebody waits.
fn all(list: &[(&str, &str, End)], first: usize, limit: &str, arguments: &(dyn Fn(&str) -> Vec<String> + Sync)) {
    let (place, next) = (Place::new(), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(one) = list.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let number = first + list.iter().position(|it| it.0 == one.0).unwrap();
                    misbehave(&place, number, one, limit, arguments);
                }
            });
        }
    });
    let left = place.left("never");
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn workloads_that_misbehave_end_and_leave_nothing() {
    if let Some(why) = lacking() {
        return println!("skipped, workloads that misbehave: {why}");
    }
    let words = |it: &str| ["--workload", &format!("{WORK}; {it}"), "--check", "true"].map(str::to_owned).to_vec();
    all(&WORKLOADS, 0, "3 s", &words);
}

#[test]
fn checks_that_misbehave_end_and_leave_nothing() {
    if let Some(why) = lacking() {
        return println!("skipped, checks that misbehave: {why}");
    }
    let words = |it: &str| ["--workload", WORK, "--check", it, "--env", "GIVEN=here"].map(str::to_owned).to_vec();
    all(&CHECKS, 100, "1 s", &words);
}

/// Waits until a file has a line, by the system's own clock.
fn wait_for(path: &Path) {
    let words = "for i in $(seq 600); do test -s \"$0\" && exit 0; sleep 0.1; done; exit 1";
    assert!(Command::new("sh").args(["-c", words]).arg(path).status().unwrap().success(), "{}", path.display());
}

/// A run that is told to end while its workload, its preparation or its check is at work.
#[test]
fn a_signal_ends_it_in_every_state_and_nothing_is_left() {
    if let Some(why) = lacking() {
        return println!("skipped, signals: {why}");
    }
    let place = Place::new();
    for (number, state) in ["--prepare", "--workload", "--check"].into_iter().enumerate() {
        let (mark, began) = (place.mark(200 + number), place.0.path().with_extension(format!("began-{number}")));
        let waits = format!("echo x > {}; setsid sleep {mark}", began.display());
        let of = |name: &str, else_: &'static str| if name == state { waits.clone() } else { else_.to_owned() };
        let words = [of("--prepare", "true"), of("--workload", WORK), of("--check", "true")];
        let mut run = place.command(&["--prepare", &words[0], "--workload", &words[1], "--check", &words[2]]);
        let child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for(&began);
        assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{state}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(place.left(&mark).is_empty(), "{state}: {:?}", place.left(&mark));
        std::fs::remove_file(&began).unwrap();
    }
}

/// `kill -9` in the middle of a workload, and of a check: one command takes away what is left, and nothing while it is still at work.
#[test]
fn what_a_killed_run_left_is_taken_away() {
    if let Some(why) = lacking() {
        return println!("skipped, killed runs: {why}");
    }
    let place = Place::new();
    for (number, state) in ["--workload", "--check"].into_iter().enumerate() {
        let (mark, began) = (place.mark(300 + number), place.0.path().with_extension(format!("began-{number}")));
        let waits = format!("cd $SEEKWISE_MOUNT; echo x > {}; setsid sleep {mark}", began.display());
        let of = |name: &str, else_: &'static str| if name == state { waits.clone() } else { else_.to_owned() };
        let words = [of("--workload", WORK), of("--check", "true")];
        let mut run = place.command(&["--workload", &words[0], "--check", &words[1]]);
        let mut child = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_for(&began);
        let restore = |words: &[&str]| {
            let output = Command::new(env!("CARGO_BIN_EXE_seekwise")).arg("restore").args(words).output().unwrap();
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let who = format!("process {}: ", child.id());
        let of = |said: &str| said.lines().filter(|line| line.starts_with(&who)).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(of(&restore(&[])), [format!("{who}is still at work: nothing done")]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!place.left(&mark).is_empty(), "{state}: a killed run leaves something");
        let would = of(&restore(&["--dry-run"]));
        assert!(would.len() >= 3 && would.iter().all(|line| line.contains("would be taken away")), "{would:?}");
        assert!(!place.left(&mark).is_empty(), "{state}: a dry run changes nothing");
        let said = of(&restore(&[]));
        assert!(said.len() >= 3 && said.iter().all(|line| line.contains("taken away: ")), "{said:?}");
        assert!(place.left(&mark).is_empty(), "{state}: {:?}", place.left(&mark));
        assert!(of(&restore(&[])).is_empty(), "{state}: there is nothing to do twice");
        std::fs::remove_file(&began).unwrap();
    }
}
