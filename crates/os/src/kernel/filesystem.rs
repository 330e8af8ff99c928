//! File systems of the kernel: made in a file, mounted, and checked by their own checkers.
//!
//! Each replays its journal in its own way, at the mount.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::program::run_tool;
use super::{ExitCause, ProgramBounds, process, sleep_10_ms, tool_command, tool_output};
use crate::outputs::create_private;

/// Parameters of a file system.
#[derive(Debug)]
struct FileSystemSpec {
    name: &'static str,
    /// Smallest size, in bytes, at which it behaves as on a larger disk.
    least: u64,
    /// Bytes that suffice for small programs.
    usual: u64,
    /// Makes one in the file that follows these words; nothing is discarded, and nothing left for later in the background.
    make: &'static [&'static str],
    /// An option of each mount.
    option: &'static str,
    /// Checks the file that follows these words and changes nothing.
    check: &'static [&'static str],
    /// Whether an exit code of the checker means errors found.
    wrong: fn(i32) -> bool,
    /// Beginnings of the checker's lines that report no error.
    idle: &'static [&'static str],
}

const KINDS: [FileSystemSpec; 3] = [
    FileSystemSpec {
        name: "ext4",
        // From this size on it has a journal of 4 MiB; below there may be none, and nothing is replayed.
        least: 16 << 20,
        usual: 64 << 20,
        make: &["mkfs.ext4", "-q", "-F", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0", "-m", "0"],
        option: "",
        check: &["e2fsck", "-fn"],
        // e2fsck(8): 4, errors left uncorrected; 8 and more: it could not check.
        wrong: |code| code & 4 != 0,
        idle: &["Pass ", "e2fsck "],
    },
    FileSystemSpec {
        name: "xfs",
        // mkfs.xfs(8) refuses less than 300 MB.
        least: 300 << 20,
        usual: 300 << 20,
        make: &["mkfs.xfs", "-q", "-f", "-K"],
        // Several media of one session, all of one UUID, are mounted at once: xfs(5).
        option: "nouuid",
        check: &["xfs_repair", "-n", "-f"],
        // xfs_repair(8): 1, corruption was found; 2, the log is not replayed.
        wrong: |code| code == 1,
        idle: &["Phase ", "- ", "No modify flag", "Maximum metadata LSN"],
    },
    FileSystemSpec {
        name: "btrfs",
        // mkfs.btrfs(8): 109 MiB with metadata twice, its default on one disk.
        least: 110 << 20,
        usual: 256 << 20,
        make: &["mkfs.btrfs", "-q", "-f", "-K"],
        option: "",
        check: &["btrfs", "check", "--readonly"],
        wrong: |code| code == 1,
        idle: &[
            "Opening filesystem",
            "Checking filesystem",
            "UUID: ",
            "[",
            "found ",
            "total ",
            "btree ",
            "file data",
            "referenced ",
        ],
    },
];

/// Names of the file systems that can be made.
pub const FILE_SYSTEMS: [&str; 3] = [KINDS[0].name, KINDS[1].name, KINDS[2].name];

/// A file system and its mount options.
#[derive(Debug)]
pub struct FileSystemKind {
    kind: &'static FileSystemSpec,
    options: String,
    /// Held by a mount if the kernel mounts only one of its images at once.
    alone: Mutex<()>,
}

impl FileSystemKind {
    /// Finds one of [`FILE_SYSTEMS`] by name; the options of its mount, such as `barrier=0`, may be empty.
    pub fn find_by_name(name: &str, options: &str) -> Option<FileSystemKind> {
        let kind = KINDS.iter().find(|kind| kind.name == name)?;
        Some(FileSystemKind { kind, options: options.to_owned(), alone: Mutex::new(()) })
    }

    /// The file system's name.
    pub fn name(&self) -> &'static str {
        self.kind.name
    }

    /// Smallest size, in bytes.
    pub fn least_bytes(&self) -> u64 {
        self.kind.least
    }

    /// Bytes that suffice for small programs.
    pub fn usual_bytes(&self) -> u64 {
        self.kind.usual
    }

    /// Programs that it needs: to make and to check it.
    pub fn required_tools(&self) -> [&'static str; 2] {
        [self.kind.make[0], self.kind.check[0]]
    }

    /// Makes it in `file`, a new file of so many bytes; zeroes stay a hole.
    pub fn make_image(&self, file: &Path, bytes: u64, bounds: ProgramBounds<'_>) -> io::Result<()> {
        create_private(file)?.set_len(bytes)?;
        let [program, words @ ..] = self.kind.make else { return Ok(()) };
        tool_output(program, words.iter().map(OsStr::new).chain([file.as_os_str()]), bounds).map(drop)
    }

    /// Mounts `device`, a block device or an image file, on a folder.
    pub fn mount(&self, device: &Path, folder: &Path, bounds: ProgramBounds<'_>) -> io::Result<MountedFileSystem<'_>> {
        let alone = self.lock_identity();
        let file = device.is_file();
        let options = [if file { "loop" } else { "" }, self.kind.option, &self.options];
        let options: Vec<&str> = options.into_iter().filter(|option| !option.is_empty()).collect();
        let options = if options.is_empty() { "rw".to_owned() } else { options.join(",") };
        // Read and write, or not at all: of two mounts that ask for a loop device at once, one may get a device that cannot be written.
        let words = ["-w", "-t", self.kind.name, "-o", &options].map(OsStr::new);
        let mount = || tool_output("mount", words.into_iter().chain([device.as_os_str(), folder.as_os_str()]), bounds);
        let mut last = mount();
        for _ in 0..AGAIN {
            if !last.as_ref().is_err_and(|error| is_contended(&error.to_string())) {
                break;
            }
            (0..5).for_each(|_| sleep_10_ms());
            last = mount();
        }
        // A mount that was ended before it printed anything may have been made all the same.
        last.inspect_err(|_| unmount_lazily(folder))
            .map(|_| MountedFileSystem { folder: Some(folder.to_owned()), _alone: alone })
    }

    /// Locks mounts of its images, copies with one UUID, if the kernel mounts only one of them at once: btrfs before Linux 6.7, which
    /// knows no temporary one.
    fn lock_identity(&self) -> Option<MutexGuard<'_, ()>> {
        let several = self.kind.name != "btrfs" || Path::new("/sys/fs/btrfs/features/temp_fsid").exists();
        (!several).then(|| self.alone.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs its checker on a file that nobody has mounted and returns the first error; `None` if there is none.
    pub(crate) fn find_fault(&self, file: &Path, bounds: ProgramBounds<'_>) -> io::Result<Option<String>> {
        let [program, words @ ..] = self.kind.check else { return Ok(None) };
        let ended = run_tool(tool_command(program).args(words).arg(file), bounds);
        let (how, said, errors) = ended.map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")))?;
        match how {
            ExitCause::Exited(0) => Ok(None),
            ExitCause::Exited(code) if (self.kind.wrong)(code) => {
                Ok(Some(self.first_fault(&format!("{errors}\n{said}"))))
            }
            how => Err(io::Error::other(format!("{program} {how}: {}", errors.trim()))),
        }
    }

    /// Returns the checker's first line that is neither a heading nor a question.
    fn first_fault(&self, said: &str) -> String {
        let idle = |line: &&str| !line.is_empty() && !self.kind.idle.iter().any(|begin| line.starts_with(begin));
        said.lines().map(str::trim).find(idle).unwrap_or("errors").to_owned()
    }
}

/// Whether a mount failed because others attach and detach loop devices at the same time.
fn is_contended(said: &str) -> bool {
    ["loop device", "write-protected", "read-only", "busy", "already mounted"].iter().any(|word| said.contains(word))
}

/// Retries of a contended mount, a twentieth of a second apart.
const AGAIN: usize = 20;

/// Retries of an unmount that is busy, 10 ms apart: five seconds in all.
const LEAVING: usize = 500;

/// A mounted file system, unmounted when it is dropped.
#[derive(Debug)]
pub struct MountedFileSystem<'a> {
    folder: Option<PathBuf>,
    _alone: Option<MutexGuard<'a, ()>>,
}

impl MountedFileSystem<'_> {
    /// Unmounts it. An error if somebody still uses it after a while; the mount then goes with its last user.
    pub fn unmount(mut self) -> io::Result<()> {
        let Some(folder) = self.folder.take() else { return Ok(()) };
        let unmount = || tool_output("umount", [&folder], ProgramBounds::thirty_seconds());
        let mut last = unmount();
        for _ in 0..LEAVING {
            if !last.as_ref().is_err_and(|error| error.to_string().contains("busy")) {
                break;
            }
            sleep_10_ms();
            last = unmount();
        }
        last.map(drop).map_err(|error| {
            let holders = process::find_holders(&folder);
            unmount_lazily(&folder);
            let named: Vec<String> = holders.into_iter().map(process::describe_process).collect();
            match named.is_empty() {
                true => error,
                false => io::Error::other(format!("{error} It is held by process {}", named.join(", "))),
            }
        })
    }
}

impl Drop for MountedFileSystem<'_> {
    fn drop(&mut self) {
        if let Some(folder) = self.folder.take() {
            unmount_lazily(&folder);
        }
    }
}

/// Unmounts lazily: the mount goes with its last user.
pub fn unmount_lazily(folder: &Path) {
    let _ = tool_output("umount", [OsStr::new("-l"), folder.as_os_str()], ProgramBounds::thirty_seconds());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_fault_is_no_heading() {
        for (name, said, fault) in [
            (
                "ext4",
                "e2fsck 1.47.0\nPass 1: Checking inodes\nInode 12 has illegal blocks.  Clear? no\n\nPass 2: more\n",
                "Inode 12 has illegal blocks.  Clear? no",
            ),
            (
                "xfs",
                "\nPhase 1 - find and verify superblock...\n        - zero log...\nagf_freeblks 70, counted 71 in ag 0\n",
                "agf_freeblks 70, counted 71 in ag 0",
            ),
            (
                "btrfs",
                "[1/7] checking root items\nERROR: free space cache has more free space than block group item\n",
                "ERROR: free space cache has more free space than block group item",
            ),
        ] {
            assert_eq!(FileSystemKind::find_by_name(name, "").unwrap().first_fault(said), fault);
        }
    }
}
