//! The system's side of a disk in a file: loop devices, file systems made and mounted on them, and programs that run there.
//!
//! The system's own tools do the work (`losetup`, `mkfs.ext4`, `mount`, `e2fsck` …), and their messages are the errors; each is ended
//! when it exceeds its limit. A mount or an attached device is given back when its value is dropped, whatever happened between. All
//! but programs needs root.
//!
//! | file | what is there |
//! |---|---|
//! | [`filesystem`] | file systems: made, mounted, checked |
//! | [`program`] | a command of the user's, and its end |
//! | `group` | all processes of a program, ended together |
//! | [`pages`] | contents of files, page by page, and those that a disk was never given |
//! | [`debris`] | what a killed run left, and its removal |
//! | `process` | processes in `/proc` |

pub mod debris;
pub mod filesystem;
mod group;
pub mod pages;
mod process;
pub mod program;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::Duration;

use rustix::process::geteuid;

pub use filesystem::{FILE_SYSTEMS, FileSystemKind, MountedFileSystem, unmount_lazily};
pub use group::GroupParent;
pub use program::{ExitCause, ProgramBounds, ProgramExit, ShellProgram};

/// Whether this program may mount.
pub fn is_root() -> bool {
    geteuid().is_root()
}

/// Sleeps for ten milliseconds.
fn sleep_10_ms() {
    let (_nobody, never) = channel::<()>();
    let _ = never.recv_timeout(Duration::from_millis(10));
}

/// Builds the command of a system tool, found also where only root looks for one; its messages are English.
fn tool_command(program: &str) -> Command {
    let mut command = Command::new(program);
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env("LC_ALL", "C").env("PATH", tool_path(&path));
    command
}

/// Returns the folders in which tools are looked for. Root never runs anything of the current folder, which an empty or a
/// relative entry of `PATH` stands for.
fn tool_path(path: &OsStr) -> OsString {
    let absolute = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let system = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"].map(PathBuf::from);
    std::env::join_paths(absolute.chain(system)).expect("parts of a path have no colon")
}

/// Runs a tool and returns what it printed; the error is its own message.
pub fn tool_output<S: AsRef<OsStr>>(
    program: &str,
    arguments: impl IntoIterator<Item = S>,
    bounds: ProgramBounds<'_>,
) -> io::Result<String> {
    let ended = program::run_tool(tool_command(program).args(arguments), bounds);
    let (how, printed, said) = ended.map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")))?;
    if how.is_success() {
        return Ok(printed.trim_end().to_owned());
    }
    // The lines after the first say where to find more.
    let first = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let said = match how {
        ExitCause::Exited(_) if !first.is_empty() => first.to_owned(),
        how => how.to_string(),
    };
    Err(io::Error::other(format!("{program}: {said}")))
}

/// Attempts to detach a loop device that somebody has open, a twentieth of a second apart: five seconds in all.
const DETACHING: usize = 100;

/// A loop device on a file, detached when it is dropped.
#[derive(Debug)]
pub(crate) struct LoopDevice(PathBuf);

impl LoopDevice {
    /// Attaches a free loop device to the file's first `bytes`, past the system's cache.
    pub fn attach(file: &Path, bytes: u64, bounds: ProgramBounds<'_>) -> io::Result<LoopDevice> {
        let limit = format!("--sizelimit={bytes}");
        let words = ["--find", "--show", "--direct-io=on", &limit].map(OsStr::new);
        let attached = tool_output("losetup", words.into_iter().chain([file.as_os_str()]), bounds);
        // A tool that was ended before it printed anything may have attached one all the same.
        let unknown = |_: &io::Error| debris::loop_devices_on(file).into_iter().for_each(|path| drop(LoopDevice(path)));
        attached.inspect_err(unknown).map(|path| LoopDevice(PathBuf::from(path)))
    }

    /// The device's path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        // The device stays while somebody has it open: repeated until it has no file any more, or somebody else's.
        let file = |path: &Path| {
            std::fs::read_to_string(Path::new("/sys/block").join(path.file_name()?).join("loop/backing_file")).ok()
        };
        let own = file(&self.0);
        for _ in 0..DETACHING {
            let _ =
                tool_output("losetup", [OsStr::new("--detach"), self.0.as_os_str()], ProgramBounds::thirty_seconds());
            if file(&self.0) != own {
                return;
            }
            (0..5).for_each(|_| sleep_10_ms());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tool_of_the_current_folder_is_run() {
        for path in ["", ":", ".", "bin:./x", "/opt/bin::/opt/more/", "../sbin"] {
            let looked: Vec<PathBuf> = std::env::split_paths(&tool_path(OsStr::new(path))).collect();
            assert!(looked.iter().all(|folder| folder.is_absolute()), "{path}: {looked:?}");
            assert!(looked.ends_with(&["/usr/sbin", "/usr/bin", "/sbin", "/bin"].map(PathBuf::from)), "{path}");
        }
        let path = tool_path(OsStr::new("/opt/bin:x:/opt/more"));
        assert_eq!(path, "/opt/bin:/opt/more:/usr/sbin:/usr/bin:/sbin:/bin");
    }

    #[test]
    fn a_tool_that_fails_says_why() {
        let run =
            |program: &str, arguments: [&str; 2]| tool_output(program, arguments, ProgramBounds::thirty_seconds());
        let said = run("sh", ["-c", "echo broken >&2; exit 1"]).unwrap_err().to_string();
        assert_eq!(said, "sh: broken");
        assert!(run("no-such-tool", ["x", "y"]).unwrap_err().to_string().starts_with("no-such-tool: "));
        assert_eq!(run("sh", ["-c", "kill -TERM $$"]).unwrap_err().to_string(), "sh: died of SIGTERM");
        let short = ProgramBounds { limit: Duration::from_millis(50), ..ProgramBounds::thirty_seconds() };
        let late = tool_output("sh", ["-c", "sleep 1000"], short).unwrap_err().to_string();
        assert_eq!(late, "sh: had not ended after 0.05 s of the clock");
    }
}
