//! Tests of a program, in a child with a limit of time and of memory. A fault in what guards a device must not be able to write to
//! one: root's children have mounts, devices and process numbers of their own, where nothing else can be written (`apart.sh`).

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

/// Between looks at a child.
const LOOK: Duration = Duration::from_millis(2);

/// Where root's tests are shut in.
const APART: &str = include_str!("apart.sh");

/// How tests ended.
#[derive(Debug, PartialEq)]
pub enum End {
    /// All passed.
    Passed,
    /// These failed.
    Failed(Vec<String>),
    /// The program ended otherwise, at this test.
    Died(String),
    /// It took too long, at this test.
    Stopped(String),
}

/// A place to run tests in, one at a time.
pub struct Place {
    folder: PathBuf,
    is_apart: bool,
}

impl Place {
    /// The place of this number.
    pub fn new(number: usize) -> io::Result<Place> {
        Place::of(tree::home().join("tmp").join(number.to_string()), is_root()?)
    }

    /// A folder as such a place; whether its tests are shut in.
    pub fn of(folder: PathBuf, is_apart: bool) -> io::Result<Place> {
        let place = Place { folder, is_apart };
        place.clear()?;
        Ok(place)
    }

    /// Removes what tests left.
    fn clear(&self) -> io::Result<()> {
        if self.is_apart {
            detach_loops(&self.folder)?;
        }
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder)?;
        }
        fs::create_dir_all(&self.folder)
    }

    /// A command that shuts itself in first, if it is root's.
    fn command(&self) -> Command {
        if !self.is_apart {
            return Command::new("env");
        }
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"])
            .args(["sh", "-c", APART, "apart"])
            .env("SEEKWISE_PLACE", &self.folder)
            .env("SEEKWISE_WRITTEN", build::target().join("tmp"));
        command
    }

    /// Where the child says which faults it reached.
    pub fn reached(&self) -> PathBuf {
        self.folder.join("reached")
    }

    /// Runs tests of a program, one after another; `environment` switches faults on or has them recorded.
    pub fn run(
        &self,
        program: &Program,
        tests: &[&str],
        environment: (&str, &str),
        limit: Duration,
    ) -> io::Result<(End, Duration)> {
        let said = self.folder.with_extension("out");
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
            .stdout(File::create(&said)?)
            .stderr(Stdio::null())
            .process_group(0);
        if let Some(folder) = shared() {
            command.env("SEEKWISE_SHARED", folder);
        }
        let start = Instant::now();
        let mut child = command.spawn()?;
        let status = wait(&mut child, start + limit)?;
        let took = start.elapsed();
        let end = judged(&String::from_utf8_lossy(&fs::read(&said)?), status);
        if end != End::Passed {
            end_group(&child)?;
            self.clear()?;
        }
        Ok((end, took))
    }
}

fn is_root() -> io::Result<bool> {
    Ok(fs::metadata("/proc/self")?.uid() == 0)
}

/// Other people's test data, which the copy does not lie beside.
fn shared() -> Option<PathBuf> {
    let beside = crate::root().parent().map(|above| above.join("shared"));
    std::env::var_os("SEEKWISE_SHARED").map(PathBuf::from).or(beside).filter(|folder| folder.is_dir())
}

/// Detaches loop devices of a folder's files, which a test that was ended leaves attached. They are known by inode: the path that
/// the kernel gives begins at the mount of a namespace that is gone.
fn detach_loops(folder: &Path) -> io::Result<()> {
    let lines = |command: &mut Command| -> io::Result<String> {
        let output = command.stderr(Stdio::null()).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let files = lines(Command::new("find").arg(folder).args(["-xdev", "-type", "f", "-printf", "%i\n"]))?;
    let list = lines(Command::new("losetup").args(["--list", "--noheadings", "--raw", "--output", "NAME,BACK-INO"]))?;
    for (device, inode) in list.lines().filter_map(|line| line.split_once(' ')) {
        if files.lines().any(|file| file == inode) {
            Command::new("losetup").args(["--detach", device]).stderr(Stdio::null()).status()?;
        }
    }
    Ok(())
}

/// How it ended, or nothing when it had to be stopped.
fn wait(child: &mut Child, until: Instant) -> io::Result<Option<bool>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.success()));
        }
        if Instant::now() > until {
            end_group(child)?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(LOOK);
    }
}

/// Ends what a child started and left: its process group.
fn end_group(child: &Child) -> io::Result<()> {
    let group = format!("-{}", child.id());
    Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status().map(drop)
}

/// What the output of tests that ran one after another says; `status` is whether they all passed, or nothing if they were stopped.
pub fn judged(output: &str, status: Option<bool>) -> End {
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
    match status {
        Some(true) => End::Passed,
        None => End::Stopped(last.to_owned()),
        // The line is printed once a panic has been caught; the summary comes only at the end.
        Some(false) if !failed.is_empty() && output.contains("\ntest result: ") => End::Failed(failed),
        Some(false) => End::Died(last.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_tests_is_read_from_their_output() {
        let passed =
            "\nrunning 2 tests\ntest a::b ... ok\ntest a::c - should panic ... ok\n\ntest result: ok. 2 passed\n";
        assert_eq!(judged(passed, Some(true)), End::Passed);
        let failed =
            "\nrunning 2 tests\ntest a::b ... FAILED\ntest a::c - should panic ... FAILED\n\ntest result: FAILED. 0\n";
        assert_eq!(judged(failed, Some(false)), End::Failed(vec!["a::b".to_owned(), "a::c".to_owned()]));
        let died = "\nrunning 2 tests\ntest a::b ... ok\ntest a::c ... ";
        assert_eq!(judged(died, Some(false)), End::Died("a::c".to_owned()));
        assert_eq!(judged(died, None), End::Stopped("a::c".to_owned()));
        assert_eq!(judged("", Some(false)), End::Died(String::new()));
    }

    /// Judges the walls: the folder can be written, nothing else; a file system in a file can be used, a disk cannot be seen.
    #[test]
    fn what_is_shut_in_writes_its_folder_alone_and_sees_no_disk() {
        if !is_root().unwrap()
            || !Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|it| it.success())
        {
            println!("skipped: the walls, which only root can build");
            return;
        }
        let folder = crate::scratch("mutants-apart").unwrap();
        fs::create_dir_all(build::target().join("tmp")).unwrap();
        let place = Place::of(folder.join("place"), true).unwrap();
        let runs = |words: &str| {
            let script = format!("cd {}; {words}", place.folder.display());
            place.command().args(["sh", "-c", &script]).stderr(Stdio::null()).status().unwrap().success()
        };
        assert!(runs("echo 1 > written && test -c /dev/null && test -w /tmp"));
        assert!(runs("truncate -s 8M mutants-apart.img && losetup -f mutants-apart.img"), "a loop device");
        assert!(!runs(&format!("echo 1 > {}/outside", folder.display())), "a folder beside");
        assert!(!runs("ls /dev | grep -E '^(vd|sd|nvme|xvd|md|dm|mmcblk)'"), "a disk");
        assert!(!runs(&format!("kill -0 {}", std::process::id())), "a process of others");
        assert!(!folder.join("outside").exists());
        drop(Place::of(folder.join("place"), true).unwrap());
        let left = Command::new("losetup").args(["--list", "--output", "BACK-FILE"]).output().unwrap();
        assert!(!String::from_utf8_lossy(&left.stdout).contains("/mutants-apart.img"), "loops are detached");
    }
}
