//! `seekwise exec`: the command's exit code, variables and signals; the receipt; and that nothing is left, also after a kill. As an
//! ordinary user with fuse2fs, and as root with the kernel's ext4. A test is skipped, with its reason, where the system lacks what
//! it needs.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::seekwise::{ProgramOutput, program_command, program_output};
use serde_json::Value;

/// Number of the user `nobody` of every Linux.
const NOBODY: &str = "65534";

/// Who runs the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Root,
    /// A user without rights, who may open `/dev/fuse`, as on a machine with udev.
    User,
}

impl Who {
    /// Users that this process can be, where the machine has what they need. Others are named as skipped.
    fn possible() -> Vec<Who> {
        let is_root = rustix_is_root();
        let has = |tool: &str| {
            let shell = format!("PATH=$PATH:/usr/sbin:/sbin command -v {tool} >/dev/null");
            Command::new("sh").args(["-c", &shell]).status().is_ok_and(|status| status.success())
        };
        [
            (Who::Root, is_root && has("mkfs.ext4") && Path::new("/dev/loop-control").exists()),
            (Who::User, is_root && has("fuse2fs") && has("setpriv") && Path::new("/dev/fuse").exists()),
        ]
        .into_iter()
        .filter_map(|(who, possible)| {
            let works = possible && Exec::new(who, &["--on", "null", "--fs", "none", "--", "true"]).run().code == 0;
            if !works {
                eprintln!("skipped as {who:?}: it takes root, namespaces, FUSE, fuse2fs and a loop device");
            }
            works.then_some(who)
        })
        .collect()
    }
}

fn rustix_is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata) == 0)
}

/// A run of `exec`.
struct Exec(Command);

impl Exec {
    fn new(who: Who, words: &[&str]) -> Exec {
        let program = env!("CARGO_BIN_EXE_seekwise");
        let mut command = program_command(Path::new("/tmp"));
        match who {
            Who::Root => {
                command.arg("exec");
            }
            Who::User => {
                // The device and the program are made reachable in a namespace of mounts that ends with the test.
                let script = "mount -t tmpfs x /var/tmp && mknod -m 666 /var/tmp/fuse c 10 229 && \
                              mount --bind /var/tmp/fuse /dev/fuse && cp \"$1\" /var/tmp/seekwise && shift && \
                              exec setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all \
                              /var/tmp/seekwise exec \"$@\"";
                command = Command::new("unshare");
                command.current_dir("/").env("HOME", "/").env_remove("COLUMNS");
                command.args(["--mount", "sh", "-c", script, "sh", program]);
            }
        }
        command.args(words);
        Exec(command)
    }

    fn run(mut self) -> ProgramOutput {
        program_output(self.0.output().unwrap())
    }

    /// Starts it, and waits until the command has printed a line.
    fn start(mut self) -> Child {
        let mut child = self.0.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        child
    }
}

#[test]
fn the_command_finds_its_disk_and_its_exit_code_is_passed_on() {
    for who in Who::possible() {
        // The folder is made before anybody looks: the first request is the command's.
        let script = "mkdir $TMPDIR/first && rmdir $TMPDIR/first && test -z \"$(ls -A $SEEKWISE_MOUNT)\" && test \"$TMPDIR\" = $SEEKWISE_MOUNT && id -u && \
                      for path in $SEEKWISE_MOUNT $SEEKWISE_FILE $SEEKWISE_CONTROL; do test -e $path; echo $path; done && \
                      echo hello > $SEEKWISE_MOUNT/file && cat $SEEKWISE_MOUNT/file && echo $SEEKWISE_URI && exit 77";
        let said = Exec::new(who, &["--on", "null", "--", "sh", "-c", script]).run();
        assert_eq!(said.code, 77, "{who:?}: {}", said.err);
        let lines: Vec<&str> = said.out.lines().collect();
        assert_eq!(lines[0], if who == Who::User { NOBODY } else { "0" });
        assert!(lines[1..4].iter().all(|path| path.starts_with('/')), "{lines:?}");
        assert_eq!(lines[4], "hello");
        assert!(lines[5].starts_with("nbd+unix:///?socket=/"), "{lines:?}");
        let quoted = script.replace('\'', "'\\''");
        let expected = format!("`sh -c '{quoted}'` took ");
        assert!(said.err.contains(&expected) && said.err.contains("on null (file system: ext4 "), "{}", said.err);
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        assert!(!mounts.contains(lines[1]), "the mount is the command's alone");
    }
}

/// A flush for each fsync at least, and the bytes that were written. Without fsync no flush comes.
#[test]
fn the_receipt_says_what_was_asked_of_the_disk() {
    for who in Who::possible() {
        let receipt = |script: &str| -> Value {
            let said =
                Exec::new(who, &["--on", "cheetah-15k.4", "--speed", "20", "--json", "--", "sh", "-c", script]).run();
            assert_eq!(said.code, 0, "{}", said.err);
            serde_json::from_str(&said.out).unwrap()
        };
        let synced = receipt("for i in 1 2 3 4 5; do dd if=/dev/zero of=$TMPDIR/f$i bs=64k count=1 conv=fsync; done");
        let command = &synced["command"];
        let figure = |kind: &str, name: &str| command["requests"][kind][name].as_f64().unwrap();
        assert!(figure("flushes", "requests") >= 5.0 && figure("writes", "bytes") >= 5.0 * 65536.0, "{command}");
        let mean = figure("flushes", "seconds") / figure("flushes", "requests");
        assert_eq!(figure("flushes", "mean_seconds"), mean);
        let (took, busy) = (command["seconds"].as_f64().unwrap(), command["disk_busy_seconds"].as_f64().unwrap());
        assert!(busy > 0.0 && busy <= took, "{busy} of {took}");
        assert!(command["parts_seconds"]["flush"].as_f64().unwrap() > 0.0, "{command}");
        let plain = receipt("echo hello > $TMPDIR/file");
        assert_eq!(plain["command"]["requests"]["flushes"]["requests"], 0);
    }
}

/// As `env` and shells do. Whoever runs it, the command has no rights that it would not have without Seekwise.
#[test]
fn a_command_that_cannot_be_started_has_a_shell_s_exit_code_and_others_their_own_rights() {
    for who in Who::possible() {
        for (command, code) in
            [("/no/such-command", 127), ("no-such-command", 127), ("/etc", 126), ("/etc/passwd", 126)]
        {
            let said = Exec::new(who, &["--on", "null", "--fs", "none", "--", command]).run();
            let expected = format!("error: {command}: ");
            assert!(said.code == code && said.err.starts_with(&expected), "{who:?}: {} {}", said.code, said.err);
        }
        let words =
            ["--on", "null", "--fs", "none", "--", "grep", "-E", "^Cap(Prm|Eff|Inh|Amb):\t0*$", "/proc/self/status"];
        let said = Exec::new(who, &words).run();
        assert_eq!(said.out.lines().count() == 4, who == Who::User, "{who:?}: {}", said.out);
    }
}

#[test]
fn nothing_is_left_after_a_kill() {
    for who in Who::possible() {
        let folder = tempfile::tempdir().unwrap();
        let marker = format!("{}", 86_400 + std::process::id());
        // A process that leaves its session and its parent behind.
        let script = format!("setsid sleep {marker} & echo ready; sleep {marker}");
        let before = loop_devices();
        let mut child = Exec::new(who, &["--on", "null", "--", "sh", "-c", &script]).start();
        while !has_process(&marker) {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        while has_process(&marker) {
            std::thread::yield_now();
        }
        while loop_devices() > before {
            std::thread::yield_now();
        }
        assert!(fs::read_dir(folder.path()).unwrap().next().is_none());
        for empty in ["/mnt", "/media", "/srv"] {
            assert!(!Path::new(empty).join("disk").exists(), "{empty}");
        }
    }
}

fn has_process(word: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path().join("cmdline"));
    processes
        .filter_map(|path| fs::read(path).ok())
        .any(|line| line.split(|byte| *byte == 0).any(|it| it == word.as_bytes()))
}

/// Loop devices on disks of `exec`; other tests have theirs elsewhere.
fn loop_devices() -> usize {
    let devices = fs::read_dir("/sys/block").unwrap().flatten();
    let files = devices.filter_map(|entry| fs::read_to_string(entry.path().join("loop/backing_file")).ok());
    files.filter(|file| ["/mnt/", "/media/", "/srv/"].iter().any(|folder| file.starts_with(folder))).count()
}

#[test]
fn a_signal_goes_to_the_command_first() {
    for who in Who::possible() {
        let script = "trap 'exit 5' TERM; echo ready; while :; do sleep 0.05; done";
        let mut child = Exec::new(who, &["--on", "null", "--fs", "none", "--", "sh", "-c", script]).start();
        let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
        assert!(killed.unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(5), "{who:?}");
    }
}

#[test]
fn what_cannot_run_is_refused_with_a_sentence() {
    for who in Who::possible() {
        let refused = |words: &[&str], expected: &str| {
            let said = Exec::new(who, words).run();
            assert!(said.code == 2 && said.err.contains(expected), "{who:?}: {} {}", said.code, said.err);
        };
        refused(
            &["--on", "null", "--fs", "zfs", "--", "true"],
            "unknown file system `zfs`; expected ext4, xfs, btrfs, none",
        );
        refused(&["--on", "null", "--fs", "none:ro", "--", "true"], "no mount options; expected none");
        refused(&["--on", "null", "--size", "1m", "--", "true"], "ext4 needs at least 16m");
        refused(&["--on", "null", "--fs", "none", "--size", "1g", "--", "true"], "expected no --size with --fs none");
        let too_large = "--size: 1099511627776 bytes; expected at most 146815737856, the size of the disk";
        refused(&["--on", "cheetah-15k.4", "--size", "1t", "--", "true"], too_large);
        refused(&["--on", "null", "--at", "/usr", "--", "true"], "/usr: expected an empty folder");
        refused(&["--on", "no-such-drive", "--", "true"], "no-such-drive");
        if who == Who::User {
            refused(&["--on", "null", "--fs", "xfs", "--size", "400m", "--", "true"], "only the kernel has it");
        }
    }
}

/// `timeout` signals the program and then its whole process group, so that the command may get a signal more than once.
#[test]
fn a_signal_to_all_leaves_the_command_its_disk() {
    for who in Who::possible() {
        let script = "trap 'test -s $SEEKWISE_MOUNT/mine && exit 5' TERM; echo kept > $SEEKWISE_MOUNT/mine; echo ready; \
                      while :; do sleep 0.05; done";
        let mut exec = Exec::new(who, &["--on", "null", "--", "sh", "-c", script]);
        std::os::unix::process::CommandExt::process_group(&mut exec.0, 0);
        let mut child = exec.start();
        let group = format!("-{}", child.id());
        let killed = Command::new("kill").args(["-TERM", "--", &group]).status();
        assert!(killed.unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(5), "{who:?}");
    }
}

/// In a session with a terminal: the command gets an interrupt of the program, and one of the keyboard once.
#[test]
fn an_interrupt_reaches_the_command_once_whoever_sent_it() {
    if !Who::possible().contains(&Who::Root) || Command::new("script").arg("--version").output().is_err() {
        return eprintln!("skipped: it takes root and script (util-linux)");
    }
    // Their number is the exit code. A second one would come within a second.
    let command = "trap 'count=$((count+1))' INT; echo ready; \
                   until [ $count ] || [ $((tries+=1)) -gt 100 ]; do sleep 0.05; done; \
                   for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; done; exit $count";
    let line =
        format!("echo $$; exec {} exec --on null --fs none -- sh -c \"$COMMAND\"", env!("CARGO_BIN_EXE_seekwise"));
    for by_keyboard in [false, true] {
        let mut session = Command::new("script");
        session.args(["-qec", &line, "/dev/null"]).env("COMMAND", command).env("SHELL", "/bin/sh");
        let mut child = session.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let number = lines.next().unwrap();
        assert_eq!(lines.next().unwrap().trim(), "ready");
        let mut keyboard = child.stdin.take().unwrap();
        match by_keyboard {
            true => keyboard.write_all(b"\x03").unwrap(),
            false => assert!(Command::new("kill").args(["-INT", number.trim()]).status().unwrap().success()),
        }
        let rest: Vec<String> = lines.collect();
        assert_eq!(child.wait().unwrap().code(), Some(1), "by keyboard: {by_keyboard}: {rest:?}");
    }
}

#[test]
fn a_receipt_is_refused_where_it_would_be_lost() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().to_str().unwrap();
    fs::set_permissions(at, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    for who in Who::possible() {
        let file = format!("{at}/r.json");
        let words = ["--on", "null", "--fs", "none", "--receipt", &file, "--at", at, "--", "true"];
        let said = Exec::new(who, &words).run();
        assert!(said.code == 2 && said.err.contains("expected another"), "{who:?}: {}", said.err);
    }
}
