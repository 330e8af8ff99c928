//! File systems of the kernel: made in a file, mounted, and checked by their own checkers. Each replays its journal at
//! the mount.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{getegid, geteuid};

use super::program::run_tool;
use super::{ExitCause, LoopDevice, ProgramBounds, process, run_tool_for_output, sleep_10_ms, tool_command};
use crate::outputs::create_private;

/// Parameters of a file system.
#[derive(Debug)]
struct FileSystemSpec {
    name: &'static str,
    /// Smallest size at which it behaves as on a larger disk.
    least_bytes: u64,
    /// Bytes that suffice for small programs.
    usual_bytes: u64,
    /// Makes a file system in the file that follows these words. Nothing is discarded, and nothing left for later in
    /// the background.
    mkfs: &'static [&'static str],
    /// An option of each mount.
    mount_option: &'static str,
    /// Checks the file that follows these words and changes nothing.
    fsck: &'static [&'static str],
    /// Whether an exit code of the checker means errors found.
    means_errors: fn(i32) -> bool,
    /// Words of the checker that its errors are not to be relied on; empty if there are none.
    unreliable: &'static str,
    /// Beginnings of the checker's lines that report no error.
    harmless_lines: &'static [&'static str],
}

/// ext4's tables and journal are written at once, not in the background after the mount.
const LAZY_NOTHING: &str = "lazy_itable_init=0,lazy_journal_init=0";

const KINDS: [FileSystemSpec; 3] = [
    FileSystemSpec {
        name: "ext4",
        // From this size on it has a journal of 4 MiB; below there may be none, and nothing is replayed.
        least_bytes: 16 << 20,
        usual_bytes: 64 << 20,
        mkfs: &["mkfs.ext4", "-q", "-F", "-b", "4096", "-E", LAZY_NOTHING, "-m", "0"],
        mount_option: "",
        fsck: &["e2fsck", "-fn"],
        // e2fsck(8): 4, errors left uncorrected; 8 and more: it could not check.
        means_errors: |code| code & 4 != 0,
        unreliable: "",
        harmless_lines: &["Pass ", "e2fsck "],
    },
    FileSystemSpec {
        name: "xfs",
        // mkfs.xfs(8) refuses less than 300 MB.
        least_bytes: 300 << 20,
        usual_bytes: 300 << 20,
        mkfs: &["mkfs.xfs", "-q", "-f", "-K"],
        // Several media of one session, all of one UUID, are mounted at once: xfs(5).
        mount_option: "nouuid",
        fsck: &["xfs_repair", "-n", "-f"],
        // xfs_repair(8): 1, corruption was found; 2, the log is not replayed.
        means_errors: |code| code == 1,
        // With -n the log is ignored. On a busy machine `umount` may return before the kernel has closed the file system: its
        // log is not clean yet, and what it holds looks like damage.
        unreliable: "The filesystem has valuable metadata changes in a log which is being",
        // The second and third are a warning about an image in memory, whose file system is no XFS.
        harmless_lines: &[
            "Phase ",
            "xfs_repair: Cannot get host filesystem geometry",
            "Cannot get host filesystem geometry",
            "Repair may fail if there is a sector size mismatch between",
            "the image and the host filesystem",
            "- ",
            "No modify flag",
            "Maximum metadata LSN",
        ],
    },
    FileSystemSpec {
        name: "btrfs",
        // mkfs.btrfs(8): 109 MiB with metadata twice, its default on one disk.
        least_bytes: 110 << 20,
        usual_bytes: 256 << 20,
        mkfs: &["mkfs.btrfs", "-q", "-f", "-K"],
        mount_option: "",
        fsck: &["btrfs", "check", "--readonly"],
        means_errors: |code| code == 1,
        unreliable: "",
        harmless_lines: &[
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
    mount_options: String,
    /// Held by a mount if the kernel mounts only one of its images at once.
    sole_mount: Mutex<()>,
}

impl FileSystemKind {
    /// Finds one of [`FILE_SYSTEMS`] by name; `mount_options`, such as `barrier=0`, may be empty.
    pub fn find_by_name(name: &str, mount_options: &str) -> Option<FileSystemKind> {
        let kind = KINDS.iter().find(|kind| kind.name == name)?;
        Some(FileSystemKind { kind, mount_options: mount_options.to_owned(), sole_mount: Mutex::new(()) })
    }

    /// The file system's name.
    pub fn name(&self) -> &'static str {
        self.kind.name
    }

    /// Smallest size.
    pub fn least_bytes(&self) -> u64 {
        self.kind.least_bytes
    }

    /// Bytes that suffice for small programs.
    pub fn usual_bytes(&self) -> u64 {
        self.kind.usual_bytes
    }

    /// Programs that it needs: to make and to check it.
    pub fn required_tools(&self) -> [&'static str; 2] {
        [self.kind.mkfs[0], self.kind.fsck[0]]
    }

    /// Makes it in `file`, a new file of so many bytes; zeroes stay a hole.
    pub fn make_image(&self, file: &Path, bytes: u64, bounds: ProgramBounds<'_>) -> io::Result<()> {
        create_private(file)?.set_len(bytes)?;
        let [program, words @ ..] = self.kind.mkfs else { return Ok(()) };
        run_tool_for_output(program, words.iter().map(OsStr::new).chain([file.as_os_str()]), bounds).map(drop)
    }

    /// As [`FileSystemKind::make_image`]; the root folder of an ext4 belongs to this process's user and is empty.
    pub fn make_image_for_user(&self, file: &Path, bytes: u64, bounds: ProgramBounds<'_>) -> io::Result<()> {
        if self.kind.name != "ext4" {
            return self.make_image(file, bytes, bounds);
        }
        create_private(file)?.set_len(bytes)?;
        let [program, words @ ..] = self.kind.mkfs else { return Ok(()) };
        let owned = format!("{LAZY_NOTHING},root_owner={}:{}", geteuid().as_raw(), getegid().as_raw());
        // Of two `-E` the last one counts.
        let last_words = [OsStr::new("-E"), OsStr::new(&owned), file.as_os_str()];
        run_tool_for_output(program, words.iter().map(OsStr::new).chain(last_words), bounds)?;
        // Its folder for the checker is root's, and some programs want an empty folder.
        let words = [OsStr::new("-w"), OsStr::new("-R"), OsStr::new("rmdir lost+found"), file.as_os_str()];
        run_tool_for_output("debugfs", words, bounds).map(drop)
    }

    /// Mounts the first `bytes` of a served file on a folder, through a loop device that the kernel detaches with the mount. Returns
    /// the device, too.
    pub fn mount_served(
        &self,
        file: &Path,
        bytes: u64,
        folder: &Path,
        bounds: ProgramBounds<'_>,
    ) -> io::Result<(MountedFileSystem<'_>, PathBuf)> {
        let device = LoopDevice::attach(file, bytes, bounds)?;
        let path = device.path().to_owned();
        let mounted = self.mount(&path, folder, bounds)?;
        device.detach_with_last_user()?;
        Ok((mounted, path))
    }

    /// Mounts `device`, a block device or an image file, on a folder.
    pub fn mount(&self, device: &Path, folder: &Path, bounds: ProgramBounds<'_>) -> io::Result<MountedFileSystem<'_>> {
        let sole_mount = self.lock_sole_mount();
        let options = [if device.is_file() { "loop" } else { "" }, self.kind.mount_option, &self.mount_options];
        let options: Vec<&str> = options.into_iter().filter(|option| !option.is_empty()).collect();
        let options = if options.is_empty() { "rw".to_owned() } else { options.join(",") };
        // Read and write (`-w`), or not at all: of two mounts that ask for a loop device at once, one may get a device
        // that cannot be written.
        let words = ["-w", "-t", self.kind.name, "-o", &options].map(OsStr::new);
        let mount =
            || run_tool_for_output("mount", words.into_iter().chain([device.as_os_str(), folder.as_os_str()]), bounds);
        let mut result = mount();
        for _ in 0..MOUNT_RETRIES {
            if !result.as_ref().is_err_and(|error| is_mount_contended(&error.to_string())) {
                break;
            }
            (0..5).for_each(|_| sleep_10_ms());
            result = mount();
        }
        // A mount that was ended before it printed anything may have been made all the same.
        result
            .inspect_err(|_| unmount_lazily(folder))
            .map(|_| MountedFileSystem { folder: Some(folder.to_owned()), _sole_mount: sole_mount })
    }

    /// Locks all mounts of its images if the kernel mounts only one of several copies with one UUID at once: btrfs
    /// before Linux 6.7, which knows no temporary UUID.
    fn lock_sole_mount(&self) -> Option<MutexGuard<'_, ()>> {
        let allows_several = self.kind.name != "btrfs" || Path::new("/sys/fs/btrfs/features/temp_fsid").exists();
        (!allows_several).then(|| self.sole_mount.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs its checker on an image that nobody has mounted. Returns the first error that the checker reports; `None`
    /// if there is none.
    pub(crate) fn check_image(&self, image: &Path, bounds: ProgramBounds<'_>) -> io::Result<Option<String>> {
        let [program, words @ ..] = self.kind.fsck else { return Ok(None) };
        let ended = run_tool(tool_command(program).args(words).arg(image), bounds);
        let checker = ended.map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")))?;
        match checker.how {
            ExitCause::Exited(0) => Ok(None),
            ExitCause::Exited(code) if (self.kind.means_errors)(code) => {
                let said = format!("{}\n{}", checker.errors, checker.output);
                Ok(self.is_reliable(&said).then(|| self.first_error_line(&said)))
            }
            how => Err(io::Error::other(format!("{program} {how}: {}", checker.errors.trim()))),
        }
    }

    /// True unless the checker says that its errors are not to be relied on.
    fn is_reliable(&self, checker_output: &str) -> bool {
        self.kind.unreliable.is_empty() || !checker_output.contains(self.kind.unreliable)
    }

    /// Returns the checker's first line that is neither a heading nor a question.
    fn first_error_line(&self, checker_output: &str) -> String {
        let reports_error = |line: &&str| {
            !line.is_empty() && !self.kind.harmless_lines.iter().any(|beginning| line.starts_with(beginning))
        };
        checker_output.lines().map(str::trim).find(reports_error).unwrap_or("errors").to_owned()
    }
}

/// Whether a mount failed because others attach and detach loop devices at the same time.
fn is_mount_contended(message: &str) -> bool {
    ["loop device", "write-protected", "read-only", "busy", "already mounted"]
        .iter()
        .any(|words| message.contains(words))
}

/// Retries of a contended mount, 50 ms apart.
const MOUNT_RETRIES: usize = 20;

/// Retries of an unmount that is busy, 10 ms apart: five seconds in all.
const UNMOUNT_RETRIES: usize = 500;

/// A mounted file system, unmounted when it is dropped.
#[derive(Debug)]
pub struct MountedFileSystem<'a> {
    folder: Option<PathBuf>,
    _sole_mount: Option<MutexGuard<'a, ()>>,
}

impl MountedFileSystem<'_> {
    /// Unmounts the file system. An error if somebody still uses it after five seconds; the mount then ends with its
    /// last user.
    pub fn unmount(mut self) -> io::Result<()> {
        let Some(folder) = self.folder.take() else { return Ok(()) };
        unmount_when_free(&folder).map_err(|error| {
            let holders = process::processes_using_folder(&folder);
            unmount_lazily(&folder);
            let described: Vec<String> = holders.into_iter().map(process::describe_process).collect();
            match described.is_empty() {
                true => error,
                false => io::Error::other(format!("{error} It is held by process {}", described.join(", "))),
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

/// Unmounts a folder, and tries again while it is busy: five seconds at most.
pub fn unmount_when_free(folder: &Path) -> io::Result<()> {
    let unmount = || run_tool_for_output("umount", [folder], ProgramBounds::thirty_seconds());
    let mut result = unmount();
    for _ in 0..UNMOUNT_RETRIES {
        if !result.as_ref().is_err_and(|error| error.to_string().contains("busy")) {
            break;
        }
        sleep_10_ms();
        result = unmount();
    }
    result.map(drop)
}

/// Unmounts lazily: the mount goes with its last user.
pub fn unmount_lazily(folder: &Path) {
    let _ = run_tool_for_output("umount", [OsStr::new("-l"), folder.as_os_str()], ProgramBounds::thirty_seconds());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_behind_a_log_that_is_not_clean_are_not_relied_on() {
        let alert = "ALERT: The filesystem has valuable metadata changes in a log which is being\nignored because the -n option was used.\n";
        let fault = "agf_freeblks 70, counted 71 in ag 0\n";
        let is_reliable = |name: &str, said: &str| FileSystemKind::find_by_name(name, "").unwrap().is_reliable(said);
        assert!(
            !is_reliable("xfs", &format!("{alert}{fault}")) && is_reliable("xfs", fault) && is_reliable("ext4", fault)
        );
    }

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
                "\nCannot get host filesystem geometry.\nRepair may fail if there is a sector size mismatch between\nthe image and the \
                 host filesystem.\nPhase 1 - find and verify superblock...\n        - zero log...\nagf_freeblks 70, counted 71 in ag 0\n",
                "agf_freeblks 70, counted 71 in ag 0",
            ),
            (
                "btrfs",
                "[1/7] checking root items\nERROR: free space cache has more free space than block group item\n",
                "ERROR: free space cache has more free space than block group item",
            ),
        ] {
            assert_eq!(FileSystemKind::find_by_name(name, "").unwrap().first_error_line(said), fault);
        }
    }
}
