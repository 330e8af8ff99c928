//! Asks the operating system to work with a disk in a file: to attach a loop device, to make, mount and check a file
//! system, and to run programs there.
//!
//! The system's own tools do the work (`losetup`, `mkfs.ext4`, `mount`, `e2fsck` …), and their messages are the errors.
//! A tool is ended when it exceeds its limit. A mount or an attached device is given back when its value is dropped.
//! All but programs and namespaces needs root.
//!
//! | file | what is there |
//! |---|---|
//! | [`filesystem`] | file systems: made, mounted, checked |
//! | [`xfs_blocks`] | the use of blocks of an XFS file system |
//! | [`program_filesystem`] | ext4 as a program, for users who may not mount the kernel's |
//! | [`program`] | a command of the user's or a tool, run to its end |
//! | `group` | all processes of a program, ended together |
//! | [`pages`] | contents of files, page by page, and the pages that a disk was never given |
//! | [`debris`] | removal of what a killed run left |
//! | `process` | processes in `/proc` |
//! | [`process_watch`] | processes that wait for a file system, sampled; orphans, reaped |
//! | [`namespaces`] | this program again, in namespaces of its own |

pub mod debris;
pub mod filesystem;
mod group;
pub mod namespaces;
pub mod pages;
mod process;
pub mod process_watch;
pub mod program;
pub mod program_filesystem;
pub mod xfs_blocks;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::Duration;

use rustix::process::geteuid;

pub use filesystem::{FILE_SYSTEMS, FileSystemKind, MountedFileSystem, unmount_lazily, unmount_when_free};
pub use group::GroupParent;
pub use program::{ExitCause, ProgramBounds, ProgramExit, ShellProgram};

/// Whether this program may mount.
pub fn is_root() -> bool {
    geteuid().is_root()
}

/// Sleeps for ten milliseconds.
pub(crate) fn sleep_10_ms() {
    let (_sender, receiver) = channel::<()>();
    let _ = receiver.recv_timeout(Duration::from_millis(10));
}

/// Builds the command of a system tool, which is also looked for where only root finds it; its messages are English.
fn tool_command(program: &str) -> Command {
    let mut command = Command::new(program);
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env("LC_ALL", "C").env("PATH", tool_search_path(&path));
    command
}

/// Returns the folders in which tools are looked for, as a value of `PATH`. An empty or a relative entry stands for the
/// current folder, from which root never runs anything.
fn tool_search_path(path_variable: &OsStr) -> OsString {
    let absolute = std::env::split_paths(path_variable).filter(|folder| folder.is_absolute());
    let system = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"].map(PathBuf::from);
    std::env::join_paths(absolute.chain(system)).expect("parts of a path have no colon")
}

/// Runs a tool and returns its output; an error has the tool's own message.
pub fn run_tool_for_output<S: AsRef<OsStr>>(
    program: &str,
    arguments: impl IntoIterator<Item = S>,
    bounds: ProgramBounds<'_>,
) -> io::Result<String> {
    let ended = program::run_tool(tool_command(program).args(arguments), bounds);
    let tool = ended.map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")))?;
    if tool.how.is_success() {
        return Ok(tool.output.trim_end().to_owned());
    }
    // The lines after the first say where to find more.
    let first = tool.errors.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let message = match tool.how {
        ExitCause::Exited(_) if !first.is_empty() => first.to_owned(),
        how => how.to_string(),
    };
    Err(io::Error::other(format!("{program}: {message}")))
}

/// Attempts to detach a loop device that somebody has open, 50 ms apart: five seconds in all.
const DETACH_ATTEMPTS: usize = 100;

/// A loop device on a file, detached when it is dropped.
#[derive(Debug)]
pub(crate) struct LoopDevice {
    path: PathBuf,
    /// The file that the device had when it was attached, as the kernel names it; `None` if it had lost it by then.
    file: Option<String>,
}

impl LoopDevice {
    /// Attaches a free loop device to the file's first `bytes`, past the system's cache.
    pub fn attach(file: &Path, bytes: u64, bounds: ProgramBounds<'_>) -> io::Result<LoopDevice> {
        let limit = format!("--sizelimit={bytes}");
        let words = ["--find", "--show", "--direct-io=on", &limit].map(OsStr::new);
        let attached = run_tool_for_output("losetup", words.into_iter().chain([file.as_os_str()]), bounds);
        // A tool that was ended before it printed anything may have attached one all the same.
        let of_path = |path: PathBuf| LoopDevice { file: find_backing_file(&path), path };
        let detach_unnamed =
            |_: &io::Error| debris::loop_devices_below(file).into_iter().for_each(|path| drop(of_path(path)));
        attached.inspect_err(detach_unnamed).map(|path| of_path(PathBuf::from(path)))
    }

    /// The device's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Asks the kernel to detach the device as soon as nobody uses it any more, also after this process was killed
    /// (`LO_FLAGS_AUTOCLEAR`, loop(4)). The device must be in use.
    pub(crate) fn detach_with_last_user(mut self) -> io::Result<()> {
        let words = [OsStr::new("--detach"), self.path.as_os_str()];
        run_tool_for_output("losetup", words, ProgramBounds::thirty_seconds())?;
        self.file = None;
        Ok(())
    }

    /// True while the device has the file that it was attached to.
    pub fn is_attached(&self) -> bool {
        self.file.is_some() && find_backing_file(&self.path) == self.file
    }
}

/// The file that a loop device has now; `None` if it is free.
fn find_backing_file(device: &Path) -> Option<String> {
    std::fs::read_to_string(Path::new("/sys/block").join(device.file_name()?).join("loop/backing_file")).ok()
}

/// Detaches the device at `path` while it has `file`, and waits until it has lost it. The kernel keeps the file while anybody has the device
/// open, as `losetup` has while it lists devices; so detaching is repeated, never on a device that is free by now, since another process may
/// attach it at any moment.
fn detach_loop_device(path: &Path, file: &str) -> Result<(), String> {
    let is_attached = || find_backing_file(path).is_some_and(|now| now == file);
    let mut why = "somebody has it open".to_owned();
    for _ in 0..DETACH_ATTEMPTS {
        if !is_attached() {
            return Ok(());
        }
        let words = [OsStr::new("--detach"), path.as_os_str()];
        if let Err(error) = run_tool_for_output("losetup", words, ProgramBounds::thirty_seconds()) {
            why = error.to_string();
        }
        (0..5).take_while(|_| is_attached()).for_each(|_| sleep_10_ms());
    }
    if is_attached() { Err(why) } else { Ok(()) }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            let _ = detach_loop_device(&self.path, file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tool_of_the_current_folder_is_run() {
        for path in ["", ":", ".", "bin:./x", "/opt/bin::/opt/more/", "../sbin"] {
            let looked: Vec<PathBuf> = std::env::split_paths(&tool_search_path(OsStr::new(path))).collect();
            assert!(looked.iter().all(|folder| folder.is_absolute()), "{path}: {looked:?}");
            assert!(looked.ends_with(&["/usr/sbin", "/usr/bin", "/sbin", "/bin"].map(PathBuf::from)), "{path}");
        }
        let path = tool_search_path(OsStr::new("/opt/bin:x:/opt/more"));
        assert_eq!(path, "/opt/bin:/opt/more:/usr/sbin:/usr/bin:/sbin:/bin");
    }

    #[test]
    fn a_tool_that_fails_says_why() {
        let run = |program: &str, arguments: [&str; 2]| {
            run_tool_for_output(program, arguments, ProgramBounds::thirty_seconds())
        };
        let said = run("sh", ["-c", "echo broken >&2; exit 1"]).unwrap_err().to_string();
        assert_eq!(said, "sh: broken");
        assert!(run("no-such-tool", ["x", "y"]).unwrap_err().to_string().starts_with("no-such-tool: "));
        assert_eq!(run("sh", ["-c", "kill -TERM $$"]).unwrap_err().to_string(), "sh: died of SIGTERM");
        let short = ProgramBounds { limit: Duration::from_millis(50), ..ProgramBounds::thirty_seconds() };
        let late = run_tool_for_output("sh", ["-c", "sleep 1000"], short).unwrap_err().to_string();
        assert_eq!(late, "sh: had not ended after 0.05 s of the clock");
    }
}
