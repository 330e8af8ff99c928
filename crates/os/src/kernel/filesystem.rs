//! File systems of the kernel: made in a file, mounted, and looked through by their own checkers.
//!
//! How each replays its journal is its own affair: that happens at the mount.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::program::run_tool;
use super::{ExitCause, ProgramBounds, named, pause, process, tool};
use crate::outputs::create_private;

/// What is to be known of a kind.
#[derive(Debug)]
struct Kind {
    name: &'static str,
    /// Bytes that it needs at least to be what it is on a larger disk.
    least: u64,
    /// Bytes that are enough for small programs.
    usual: u64,
    /// Makes one in the file behind these words; nothing is discarded, and nothing is left to be done later in the background.
    make: &'static [&'static str],
    /// An option of each mount.
    option: &'static str,
    /// Looks through the file behind these words and changes nothing.
    check: &'static [&'static str],
    /// Exit codes of a checker that found errors.
    wrong: fn(i32) -> bool,
    /// How lines of the checker begin that name no error.
    idle: &'static [&'static str],
}

const KINDS: [Kind; 3] = [
    Kind {
        name: "ext4",
        // It has a journal of 4 MiB from this size on; below there may be none, and nothing is replayed.
        least: 16 << 20,
        usual: 64 << 20,
        make: &["mkfs.ext4", "-q", "-F", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0", "-m", "0"],
        option: "",
        check: &["e2fsck", "-fn"],
        // e2fsck(8): 4, errors left uncorrected; 8 and more: it could not check.
        wrong: |code| code & 4 != 0,
        idle: &["Pass ", "e2fsck "],
    },
    Kind {
        name: "xfs",
        // mkfs.xfs(8) refuses less than 300 MB.
        least: 300 << 20,
        usual: 300 << 20,
        make: &["mkfs.xfs", "-q", "-f", "-K"],
        // Several media of one session are mounted at once, and have one name: xfs(5).
        option: "nouuid",
        check: &["xfs_repair", "-n", "-f"],
        // xfs_repair(8): 1, corruption was found. 2 is a log that is not played.
        wrong: |code| code == 1,
        idle: &["Phase ", "- ", "No modify flag", "Maximum metadata LSN"],
    },
    Kind {
        name: "btrfs",
        // mkfs.btrfs(8): 109 MiB with metadata twice, as it makes it on one disk.
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

/// The file systems that can be made here.
pub const FILE_SYSTEMS: [&str; 3] = [KINDS[0].name, KINDS[1].name, KINDS[2].name];

/// A file system and how it is mounted.
#[derive(Clone, Debug)]
pub struct FileSystemKind {
    kind: &'static Kind,
    options: String,
}

impl FileSystemKind {
    /// The one of this name, one of [`FILE_SYSTEMS`], with options of its mount such as `barrier=0`; these may be empty.
    pub fn named(name: &str, options: &str) -> Option<FileSystemKind> {
        KINDS.iter().find(|kind| kind.name == name).map(|kind| FileSystemKind { kind, options: options.to_owned() })
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.kind.name
    }

    /// Bytes that it needs at least.
    pub fn least(&self) -> u64 {
        self.kind.least
    }

    /// Bytes that are enough for small programs.
    pub fn usual(&self) -> u64 {
        self.kind.usual
    }

    /// Programs that it needs.
    pub fn tools(&self) -> [&'static str; 2] {
        [self.kind.make[0], self.kind.check[0]]
    }

    /// Makes it in `file`, which there is not yet, of so many bytes; all that is zero stays a hole.
    pub fn make(&self, file: &Path, bytes: u64, bounds: ProgramBounds<'_>) -> io::Result<()> {
        create_private(file)?.set_len(bytes)?;
        let [program, words @ ..] = self.kind.make else { return Ok(()) };
        tool(program, words.iter().map(OsStr::new).chain([file.as_os_str()]), bounds).map(drop)
    }

    /// Mounts what is on `device`, or in that file, on a folder.
    pub fn mount(&self, device: &Path, folder: &Path, bounds: ProgramBounds<'_>) -> io::Result<MountedFileSystem> {
        let alone = (self.kind.name == "btrfs").then(alone).flatten();
        let file = device.is_file();
        let options = [if file { "loop" } else { "" }, self.kind.option, &self.options];
        let options: Vec<&str> = options.into_iter().filter(|option| !option.is_empty()).collect();
        let options = if options.is_empty() { "rw".to_owned() } else { options.join(",") };
        // Read and write, or not at all: where two ask for a loop device at once, one may be offered a mount that cannot be written.
        let words = ["-w", "-t", self.kind.name, "-o", &options].map(OsStr::new);
        let mount = || tool("mount", words.into_iter().chain([device.as_os_str(), folder.as_os_str()]), bounds);
        let mut last = mount();
        for _ in 0..AGAIN {
            if !last.as_ref().is_err_and(|error| is_contended(&error.to_string())) {
                break;
            }
            (0..5).for_each(|_| pause());
            last = mount();
        }
        // One that was ended in time to say nothing may have mounted it all the same.
        last.inspect_err(|_| leave(folder))
            .map(|_| MountedFileSystem { folder: Some(folder.to_owned()), _alone: alone })
    }

    /// What its checker finds wrong in a file that nobody has mounted; nothing where all is well.
    pub fn faults(&self, file: &Path, bounds: ProgramBounds<'_>) -> io::Result<Option<String>> {
        let [program, words @ ..] = self.kind.check else { return Ok(None) };
        let ended = run_tool(named(program).args(words).arg(file), bounds);
        let (how, said, errors) = ended.map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")))?;
        match how {
            ExitCause::Exited(0) => Ok(None),
            ExitCause::Exited(code) if (self.kind.wrong)(code) => {
                Ok(Some(self.first_fault(&format!("{errors}\n{said}"))))
            }
            how => Err(io::Error::other(format!("{program} {how}: {}", errors.trim()))),
        }
    }

    /// The first line of its checker's that is neither a heading nor a question.
    fn first_fault(&self, said: &str) -> String {
        let idle = |line: &&str| !line.is_empty() && !self.kind.idle.iter().any(|begin| line.starts_with(begin));
        said.lines().map(str::trim).find(idle).unwrap_or("errors").to_owned()
    }
}

/// File systems of one identity cannot be mounted at once by kernels that know no temporary one (before Linux 6.7): one after another.
fn alone() -> Option<MutexGuard<'static, ()>> {
    static ONE: Mutex<()> = Mutex::new(());
    let several = Path::new("/sys/fs/btrfs/features/temp_fsid").exists();
    (!several).then(|| ONE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Whether a mount failed because others take and give back loop devices at the same time.
fn is_contended(said: &str) -> bool {
    ["loop device", "write-protected", "read-only", "busy", "already mounted"].iter().any(|word| said.contains(word))
}

/// How often a mount is tried again that others were in the way of, a twentieth of a second apart.
const AGAIN: usize = 20;

/// How often it is tried to unmount what is busy, 10 ms apart: five seconds in all.
const LEAVING: usize = 500;

/// A mounted file system; it is unmounted when this goes.
#[derive(Debug)]
pub struct MountedFileSystem {
    folder: Option<PathBuf>,
    _alone: Option<MutexGuard<'static, ()>>,
}

impl MountedFileSystem {
    /// Unmounts it; an error where somebody still uses it after a while, who then keeps it until he leaves.
    pub fn end(mut self) -> io::Result<()> {
        let Some(folder) = self.folder.take() else { return Ok(()) };
        let unmount = || tool("umount", [&folder], ProgramBounds::fixed());
        let mut last = unmount();
        for _ in 0..LEAVING {
            if !last.as_ref().is_err_and(|error| error.to_string().contains("busy")) {
                break;
            }
            pause();
            last = unmount();
        }
        last.map(drop).map_err(|error| {
            let holders = process::holders(&folder);
            leave(&folder);
            let named: Vec<String> = holders.into_iter().map(process::named).collect();
            match named.is_empty() {
                true => error,
                false => io::Error::other(format!("{error} It is held by process {}", named.join(", "))),
            }
        })
    }
}

impl Drop for MountedFileSystem {
    fn drop(&mut self) {
        if let Some(folder) = self.folder.take() {
            leave(&folder);
        }
    }
}

/// Takes a mount out of sight; it is gone when its last user is.
pub fn leave(folder: &Path) {
    let _ = tool("umount", [OsStr::new("-l"), folder.as_os_str()], ProgramBounds::fixed());
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
            assert_eq!(FileSystemKind::named(name, "").unwrap().first_fault(said), fault);
        }
    }
}
