//! The system's side of a disk in a file: loop devices, file systems made and mounted on them, and programs that run there.
//!
//! All of it is done by the system's own tools (`losetup`, `mkfs.ext4`, `mount`, `e2fsck`), whose words are the errors. What was
//! mounted or attached here is given back when its value goes, whatever happened between. Root is needed for all of it.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, geteuid, kill_process_group};

/// The file systems that can be made here.
pub const FILE_SYSTEMS: [&str; 1] = ["ext4"];

/// A file system and how it is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Its name, one of [`FILE_SYSTEMS`].
    pub name: &'static str,
    /// Options of the mount, such as `barrier=0`; may be empty.
    pub options: String,
}

/// Whether this program may mount.
pub fn is_root() -> bool {
    geteuid().is_root()
}

/// Runs a tool and gives what it printed; an error says what it said.
pub fn tool<S: AsRef<OsStr>>(program: &str, arguments: impl IntoIterator<Item = S>) -> io::Result<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).env("LC_ALL", "C").output();
    let output = output.map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    // What follows the first line says where more may be found.
    let first = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let said = if first.is_empty() { output.status.to_string() } else { first.to_owned() };
    Err(io::Error::other(format!("{program}: {said}")))
}

impl FileSystem {
    /// Makes it in `file`, which there is not yet, of so many bytes; all that is zero stays a hole.
    pub fn make(&self, file: &Path, bytes: u64) -> io::Result<()> {
        std::fs::File::create_new(file)?.set_len(bytes)?;
        // What it would else write in the background is in place from the start: a session is the program's alone.
        let arguments = ["-q", "-F", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0", "-m", "0"];
        tool("mkfs.ext4", arguments.map(OsStr::new).into_iter().chain([file.as_os_str()])).map(drop)
    }

    /// Mounts what is on `device`, or in that file, on a folder.
    pub fn mount(&self, device: &Path, folder: &Path) -> io::Result<Mounted> {
        let file = device.is_file();
        let options = [if file { "loop" } else { "" }, &self.options];
        let options: Vec<&str> = options.into_iter().filter(|option| !option.is_empty()).collect();
        let options = if options.is_empty() { "rw".to_owned() } else { options.join(",") };
        // Read and write, or not at all: where two ask for a loop device at once, one may be offered a mount that cannot be written.
        let words = ["-w", "-t", self.name, "-o", &options].map(OsStr::new);
        let (_nobody, never) = channel::<()>();
        let mut last = tool("mount", words.into_iter().chain([device.as_os_str(), folder.as_os_str()]));
        for _ in 0..AGAIN {
            if !last.as_ref().is_err_and(|error| is_contended(&error.to_string())) {
                break;
            }
            let _ = never.recv_timeout(SLICE);
            last = tool("mount", words.into_iter().chain([device.as_os_str(), folder.as_os_str()]));
        }
        last.map(|_| Mounted(Some(folder.to_owned())))
    }

    /// What its checker finds wrong in a file that nobody has mounted; nothing where all is well.
    pub fn faults(&self, file: &Path) -> io::Result<Option<String>> {
        let output = Command::new("e2fsck").arg("-fn").arg(file).env("LC_ALL", "C").stdin(Stdio::null()).output();
        let output = output.map_err(|error| io::Error::new(error.kind(), format!("e2fsck: {error}")))?;
        // e2fsck(8): 4, errors left uncorrected; 8 and more: it could not check.
        match output.status.code() {
            Some(0) => Ok(None),
            Some(code) if code & 4 != 0 => Ok(Some(first_fault(&String::from_utf8_lossy(&output.stdout)))),
            _ => Err(io::Error::other(format!("e2fsck: {}", String::from_utf8_lossy(&output.stderr).trim()))),
        }
    }
}

/// Whether a mount failed because others take and give back loop devices at the same time.
fn is_contended(said: &str) -> bool {
    ["loop device", "write-protected", "read-only", "busy", "already mounted"].iter().any(|word| said.contains(word))
}

/// The first line of a checker's that is neither a heading nor a question.
fn first_fault(said: &str) -> String {
    let idle = |line: &&str| !line.is_empty() && !line.starts_with("Pass ") && !line.starts_with("e2fsck ");
    said.lines().map(str::trim).find(idle).unwrap_or("errors").to_owned()
}

/// A mounted file system; it is unmounted when this goes.
#[derive(Debug)]
pub struct Mounted(Option<PathBuf>);

impl Mounted {
    /// Unmounts it; an error where somebody still uses it after a while, who then keeps it until he leaves.
    pub fn end(mut self) -> io::Result<()> {
        let Some(folder) = self.0.take() else { return Ok(()) };
        let (_nobody, never) = channel::<()>();
        let mut last = tool("umount", [&folder]);
        for _ in 0..LEAVING {
            // What a server's processes were told to end may take a moment to be gone.
            if !last.as_ref().is_err_and(|error| error.to_string().contains("busy")) {
                break;
            }
            let _ = never.recv_timeout(SLICE);
            last = tool("umount", [&folder]);
        }
        last.map(drop).inspect_err(|_| leave(&folder))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Some(folder) = self.0.take() {
            leave(&folder);
        }
    }
}

/// Takes a mount out of sight; it is gone when its last user is.
pub fn leave(folder: &Path) {
    let _ = tool("umount", [OsStr::new("-l"), folder.as_os_str()]);
}

/// A loop device on a file; it is detached when this goes.
#[derive(Debug)]
pub struct Loop(PathBuf);

impl Loop {
    /// Attaches a free one, of the file's first `bytes`, that goes past the system's cache.
    pub fn attach(file: &Path, bytes: u64) -> io::Result<Loop> {
        let limit = format!("--sizelimit={bytes}");
        let words = ["--find", "--show", "--direct-io=on", &limit].map(OsStr::new);
        tool("losetup", words.into_iter().chain([file.as_os_str()])).map(|path| Loop(PathBuf::from(path)))
    }

    /// Its name.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = tool("losetup", [OsStr::new("--detach"), self.0.as_os_str()]);
    }
}

/// A command of a shell and what it finds in its environment.
#[derive(Clone, Debug)]
pub struct Program<'a> {
    /// For `sh -c`.
    pub command: &'a str,
    /// Names and values.
    pub environment: Vec<(String, String)>,
    /// When it is ended, with all that it began.
    pub bounds: Bounds<'a>,
}

/// When a program is ended before it ends by itself.
#[derive(Clone, Copy, Debug)]
pub struct Bounds<'a> {
    /// If it takes longer, on the clock.
    pub limit: Duration,
    /// If this becomes true.
    pub stop: &'a AtomicBool,
}

/// How often a mount is tried again that others were in the way of.
const AGAIN: usize = 20;

/// How often it is tried to unmount what is busy: five seconds in all.
const LEAVING: usize = 100;

/// How often it is looked whether a program is to stop.
const SLICE: Duration = Duration::from_millis(50);

/// How a program ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its status; nothing where it was ended before.
    pub status: Option<ExitStatus>,
    /// What it printed, both ways together as far as they came one after another.
    pub printed: String,
}

impl Program<'_> {
    /// The process, the leader of a group of its own.
    fn start(&self, out: Stdio, errors: Stdio) -> io::Result<Child> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(self.command).stdin(Stdio::null()).stdout(out).stderr(errors).process_group(0);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.spawn().map_err(|error| io::Error::new(error.kind(), format!("sh: {error}")))
    }

    /// Runs it to its end and gives what it printed.
    pub fn run(&self) -> io::Result<Ended> {
        let (mut reads, writes) = io::pipe()?;
        let child = self.start(writes.try_clone()?.into(), writes.into())?;
        let hears = thread::spawn(move || {
            let mut said = Vec::new();
            let _ = reads.read_to_end(&mut said);
            said
        });
        let status = wait(child, self.bounds)?;
        let printed = hears.join().unwrap_or_default();
        Ok(Ended { status, printed: String::from_utf8_lossy(&printed).into_owned() })
    }

    /// Runs it to its end; `line` is told each line that it prints, as soon as it comes. Its errors go where ours do.
    pub fn tell(&self, line: impl FnMut(&str) + Send + 'static) -> io::Result<Option<ExitStatus>> {
        let (reads, writes) = io::pipe()?;
        let child = self.start(writes.into(), Stdio::inherit())?;
        let mut line = line;
        let hears = thread::spawn(move || {
            use io::BufRead;
            for said in io::BufReader::new(reads).lines() {
                let Ok(said) = said else { return };
                line(&said);
            }
        });
        let status = wait(child, self.bounds)?;
        let _ = hears.join();
        Ok(status)
    }
}

/// Waits for the leader of a group, and then ends what is left of the group. Nothing where it had to be ended.
fn wait(mut child: Child, bounds: Bounds<'_>) -> io::Result<Option<ExitStatus>> {
    let group = Pid::from_child(&child);
    let (tells, ended) = channel();
    let waits = thread::spawn(move || {
        let status = child.wait();
        let _ = tells.send(());
        status
    });
    let mut left = bounds.limit;
    let late = loop {
        if bounds.stop.load(Ordering::Relaxed) || left.is_zero() {
            break true;
        }
        let slice = left.min(SLICE);
        if ended.recv_timeout(slice) != Err(RecvTimeoutError::Timeout) {
            break false;
        }
        left -= slice;
    };
    // What it left behind would keep the file system and the pipe.
    let _ = kill_process_group(group, Signal::KILL);
    let status = waits.join().unwrap_or_else(|_| Err(io::Error::other("the thread that waits panicked")))?;
    Ok(Some(status).filter(|_| !late))
}

#[cfg(test)]
mod tests {
    use super::*;

    static GO: AtomicBool = AtomicBool::new(false);

    fn program(command: &str, limit: Duration) -> Program<'_> {
        let environment = vec![("SEEKWISE_TEST".to_owned(), "here".to_owned())];
        Program { command, environment, bounds: Bounds { limit, stop: &GO } }
    }

    #[test]
    fn a_program_tells_its_lines_and_its_end() {
        let ended = program("echo $SEEKWISE_TEST; echo wrong >&2; exit 11", Duration::from_secs(60)).run().unwrap();
        assert_eq!((ended.status.unwrap().code(), ended.printed.as_str()), (Some(11), "here\nwrong\n"));
        let (tells, hears) = channel();
        let told = program("echo a; echo b", Duration::from_secs(60));
        let status = told.tell(move |line| tells.send(line.to_owned()).unwrap()).unwrap();
        assert!(status.unwrap().success());
        assert_eq!(hears.iter().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn one_that_never_ends_is_ended_with_what_it_began() {
        let ended = program("sleep 1000 & sleep 1000", Duration::from_millis(50)).run().unwrap();
        assert!(ended.status.is_none());
        let stopped = Bounds { limit: Duration::from_secs(60), stop: &AtomicBool::new(true) };
        let ended = Program { bounds: stopped, ..program("sleep 1000", stopped.limit) }.run().unwrap();
        assert!(ended.status.is_none());
        // A child that outlives its parent would keep the pipe, and this would not return.
        let left = program("sleep 1000 & exit 3", Duration::from_secs(60)).run().unwrap();
        assert_eq!(left.status.unwrap().code(), Some(3));
    }

    #[test]
    fn a_tool_that_fails_says_why() {
        assert!(tool("sh", ["-c", "echo broken >&2; exit 1"]).unwrap_err().to_string().contains("sh: broken"));
        assert!(tool("no-such-tool", ["x"]).unwrap_err().to_string().starts_with("no-such-tool: "));
    }

    #[test]
    fn the_first_fault_is_no_heading() {
        let said = "e2fsck 1.47.0\nPass 1: Checking inodes\nInode 12 has illegal blocks.  Clear? no\n\nPass 2: more\n";
        assert_eq!(first_fault(said), "Inode 12 has illegal blocks.  Clear? no");
    }
}
