//! Runs tests of a program in a child process with limits of time and memory. A fault in code that guards a device must
//! not be able to write to one. So root's children have mounts, devices and process numbers of their own, and can write
//! only to their folder (`apart.sh`).

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::build::{self, Program};
use super::tree;

/// Memory that a child may map, in KiB.
const ADDRESS_SPACE: u64 = 6 << 20;

/// Time between looks at a child's state.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The script that isolates root's tests.
const ISOLATION_SCRIPT: &str = include_str!("apart.sh");

/// How a run of tests ended.
#[derive(Debug, PartialEq)]
pub enum TestsEnd {
    /// All passed.
    Passed,
    /// Tests failed: their names.
    Failed(Vec<String>),
    /// The program died at this test.
    Died(String),
    /// The run took too long, and was stopped at this test.
    Stopped(String),
}

/// A folder to run tests in, one run at a time.
pub struct Sandbox {
    folder: PathBuf,
    is_isolated: bool,
}

impl Sandbox {
    /// The sandbox of this number.
    pub fn new(number: usize) -> io::Result<Sandbox> {
        Sandbox::in_folder(tree::mutants_folder().join("tmp").join(number.to_string()), is_root()?)
    }

    /// A sandbox in this folder, which is emptied.
    pub fn in_folder(folder: PathBuf, is_isolated: bool) -> io::Result<Sandbox> {
        let sandbox = Sandbox { folder, is_isolated };
        sandbox.clear()?;
        Ok(sandbox)
    }

    /// Empties the folder, and detaches the loop devices of its files.
    fn clear(&self) -> io::Result<()> {
        if self.is_isolated {
            detach_loops(&self.folder)?;
        }
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder)?;
        }
        fs::create_dir_all(&self.folder)
    }

    /// The beginning of a command that isolates itself, if this sandbox is isolated.
    fn command(&self) -> Command {
        if !self.is_isolated {
            return Command::new("env");
        }
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"])
            .args(["sh", "-c", ISOLATION_SCRIPT, "apart"])
            .env("SEEKWISE_PLACE", &self.folder)
            .env("SEEKWISE_WRITTEN", build::build_folder().join("tmp"));
        command
    }

    /// The file to which the child writes the faults that it reached.
    pub fn reached_path(&self) -> PathBuf {
        self.folder.join("reached")
    }

    /// Runs tests of a program, one after another; returns how they ended, and how long they took. The variable
    /// `environment` switches a fault on, or has reached faults recorded.
    pub fn run(
        &self,
        program: &Program,
        tests: &[&str],
        environment: (&str, &str),
        limit: Duration,
    ) -> io::Result<(TestsEnd, Duration)> {
        let output_path = self.folder.with_extension("out");
        let mut command = self.command();
        command
            .args(["sh", "-c", &format!("ulimit -c 0; ulimit -v {ADDRESS_SPACE}; exec \"$0\" \"$@\"")])
            .arg(&program.path)
            .args(["--exact", "--test-threads=1", "--color=never"])
            .args(tests)
            .current_dir(&program.folder)
            .env("CARGO_MANIFEST_DIR", &program.folder)
            .env("TMPDIR", &self.folder)
            .env("HOME", &self.folder)
            .env("RUST_BACKTRACE", "0")
            .env_remove("SEEKWISE_UPDATE")
            .env(environment.0, environment.1)
            .stdin(Stdio::null())
            .stdout(File::create(&output_path)?)
            .stderr(Stdio::null())
            .process_group(0);
        if let Some(folder) = shared_folder() {
            command.env("SEEKWISE_SHARED", folder);
        }
        let start = Instant::now();
        let mut child = command.spawn()?;
        let status = wait_until(&mut child, start + limit)?;
        let took = start.elapsed();
        let end = parse_end(&String::from_utf8_lossy(&fs::read(&output_path)?), status);
        if end != TestsEnd::Passed {
            kill_process_group(&child)?;
            self.clear()?;
        }
        Ok((end, took))
    }
}

fn is_root() -> io::Result<bool> {
    Ok(fs::metadata("/proc/self")?.uid() == 0)
}

/// Other people's test data, which the copy does not lie beside.
fn shared_folder() -> Option<PathBuf> {
    let default = crate::root().parent().map(|parent| parent.join("shared"));
    std::env::var_os("SEEKWISE_SHARED").map(PathBuf::from).or(default).filter(|folder| folder.is_dir())
}

/// Detaches loop devices of a folder's files, which a stopped test leaves attached. They are found by inode: the
/// kernel's path begins at the mount of a namespace that is gone.
fn detach_loops(folder: &Path) -> io::Result<()> {
    let output_of = |command: &mut Command| -> io::Result<String> {
        let output = command.stderr(Stdio::null()).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let files = output_of(Command::new("find").arg(folder).args(["-xdev", "-type", "f", "-printf", "%i\n"]))?;
    let list =
        output_of(Command::new("losetup").args(["--list", "--noheadings", "--raw", "--output", "NAME,BACK-INO"]))?;
    for (device, inode) in list.lines().filter_map(|line| line.split_once(' ')) {
        if files.lines().any(|file| file == inode) {
            Command::new("losetup").args(["--detach", device]).stderr(Stdio::null()).status()?;
        }
    }
    Ok(())
}

/// Waits for a child; returns whether it succeeded, or `None` if it ran past the deadline and was stopped.
fn wait_until(child: &mut Child, deadline: Instant) -> io::Result<Option<bool>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.success()));
        }
        if Instant::now() > deadline {
            kill_process_group(child)?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Kills the process group of a child: everything that it started.
fn kill_process_group(child: &Child) -> io::Result<()> {
    let group = format!("-{}", child.id());
    Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status().map(drop)
}

/// The end of tests that ran one after another, from their output. `has_passed` is whether all passed, or `None` if
/// they were stopped.
pub fn parse_end(output: &str, has_passed: Option<bool>) -> TestsEnd {
    let (mut failed, mut last) = (Vec::new(), "");
    for line in output.lines() {
        let Some((name, result)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ")) else {
            continue;
        };
        last = name.trim_end_matches(" - should panic");
        if result.ends_with("FAILED") {
            failed.push(last.to_owned());
        }
    }
    match has_passed {
        Some(true) => TestsEnd::Passed,
        None => TestsEnd::Stopped(last.to_owned()),
        // The line is printed once a panic has been caught; the summary comes only at the end.
        Some(false) if !failed.is_empty() && output.contains("\ntest result: ") => TestsEnd::Failed(failed),
        Some(false) => TestsEnd::Died(last.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_tests_is_read_from_their_output() {
        let passed =
            "\nrunning 2 tests\ntest a::b ... ok\ntest a::c - should panic ... ok\n\ntest result: ok. 2 passed\n";
        assert_eq!(parse_end(passed, Some(true)), TestsEnd::Passed);
        let failed =
            "\nrunning 2 tests\ntest a::b ... FAILED\ntest a::c - should panic ... FAILED\n\ntest result: FAILED. 0\n";
        assert_eq!(parse_end(failed, Some(false)), TestsEnd::Failed(vec!["a::b".to_owned(), "a::c".to_owned()]));
        let died = "\nrunning 2 tests\ntest a::b ... ok\ntest a::c ... ";
        assert_eq!(parse_end(died, Some(false)), TestsEnd::Died("a::c".to_owned()));
        assert_eq!(parse_end(died, None), TestsEnd::Stopped("a::c".to_owned()));
        assert_eq!(parse_end("", Some(false)), TestsEnd::Died(String::new()));
    }

    /// The isolated test can write to its folder and to nothing else; it can use a file system in a file, and cannot
    /// see a disk.
    #[test]
    fn what_is_shut_in_writes_its_folder_alone_and_sees_no_disk() {
        if !is_root().unwrap()
            || !Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|status| status.success())
        {
            println!("skipped: the walls, which only root can build");
            return;
        }
        let folder = crate::empty_folder("mutants-apart").unwrap();
        fs::create_dir_all(build::build_folder().join("tmp")).unwrap();
        let sandbox = Sandbox::in_folder(folder.join("place"), true).unwrap();
        let succeeds = |words: &str| {
            let script = format!("cd {}; {words}", sandbox.folder.display());
            sandbox.command().args(["sh", "-c", &script]).stderr(Stdio::null()).status().unwrap().success()
        };
        assert!(succeeds("echo 1 > written && test -c /dev/null && test -w /tmp"));
        assert!(succeeds("truncate -s 8M mutants-apart.img && losetup -f mutants-apart.img"), "a loop device");
        assert!(!succeeds(&format!("echo 1 > {}/outside", folder.display())), "a folder beside");
        assert!(!succeeds("ls /dev | grep -E '^(vd|sd|nvme|xvd|md|dm|mmcblk)'"), "a disk");
        assert!(!succeeds(&format!("kill -0 {}", std::process::id())), "a process of others");
        assert!(!folder.join("outside").exists());
        drop(Sandbox::in_folder(folder.join("place"), true).unwrap());
        let left = Command::new("losetup").args(["--list", "--output", "BACK-FILE"]).output().unwrap();
        assert!(!String::from_utf8_lossy(&left.stdout).contains("/mutants-apart.img"), "loops are detached");
    }
}
