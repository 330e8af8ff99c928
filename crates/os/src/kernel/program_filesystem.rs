//! ext4 as a program, for users who may not mount the kernel's: `fuse2fs` of e2fsprogs on an image file.
//!
//! It needs FUSE and the right to mount it, which a user has in a namespace of users ([`super::namespaces`]). It keeps no
//! pages, writes no journal, and flushes at each fsync; `docs/exec.md` compares its commits with the kernel's.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::debris::read_mounts;
use super::{sleep_10_ms, tool_command, unmount_when_free};
use crate::outputs::create_private;

/// The program.
pub const PROGRAM: &str = "fuse2fs";

/// A note that the program prints at each mount.
const JOURNAL_NOTE: &str = "Writing to the journal is not supported";

/// Longest wait for the mount, in steps of ten milliseconds: 30 seconds.
const MOUNT_STEPS: usize = 3000;

/// Longest wait for the program's end after the file system is unmounted, in the same steps: 30 seconds.
const END_STEPS: usize = 3000;

/// A mounted file system and its program.
#[derive(Debug)]
pub struct ProgramFileSystem {
    child: Child,
    folder: PathBuf,
}

impl ProgramFileSystem {
    /// Mounts the file system of `image` on `folder`. Messages of the program go to the file `log`. An error has its last
    /// message.
    pub fn mount(image: &Path, folder: &Path, options: &str, log: &Path) -> io::Result<ProgramFileSystem> {
        let mut command = tool_command(PROGRAM);
        // One thread (`-s`) keeps the kernel's order: with several, the removal of a file that was closed a moment ago may come before
        // its close, and then libfuse renames the file instead, so that its folder is not empty. It has one lock anyway.
        command.args(["-f", "-s"]).arg(image).arg(folder);
        if !options.is_empty() {
            command.args(["-o", options]);
        }
        let child = start_quietly(&mut command, create_private(log)?)?;
        let mut mounted = ProgramFileSystem { child, folder: folder.to_owned() };
        for _ in 0..MOUNT_STEPS {
            if read_mounts().iter().any(|mount| mount.mount_point == folder) {
                // Until its attributes are read, the kernel takes the root folder for the system's root's, who has no
                // number in a namespace of users, and refuses to write there (`HAS_UNMAPPED_ID`, fs/namei.c).
                fs::metadata(folder)?;
                return Ok(mounted);
            }
            if mounted.child.try_wait()?.is_some() {
                let said = fs::read_to_string(log).unwrap_or_default();
                let is_reason = |line: &&str| !line.trim().is_empty() && !line.contains(JOURNAL_NOTE);
                let last = said.lines().rev().find(is_reason).unwrap_or("it ended");
                return Err(io::Error::other(format!("{PROGRAM}: {last}")));
            }
            sleep_10_ms();
        }
        Err(io::Error::other(format!("{PROGRAM}: had not mounted the file system after 30 s")))
    }

    /// The number of the program's process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Unmounts the file system and waits for the program, which writes what it still holds.
    pub fn unmount(mut self) -> io::Result<()> {
        unmount_when_free(&self.folder)?;
        for _ in 0..END_STEPS {
            if self.child.try_wait()?.is_some() {
                return Ok(());
            }
            sleep_10_ms();
        }
        Err(io::Error::other(format!("{PROGRAM}: had not ended 30 s after its file system was unmounted")))
    }
}

impl Drop for ProgramFileSystem {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn start_quietly(command: &mut Command, log: File) -> io::Result<Child> {
    let program = command.get_program().to_string_lossy().into_owned();
    let errors = log.try_clone()?;
    // Signals of the terminal and of `timeout` go to the caller's process group: the file system outlives them.
    command.process_group(0);
    let child = command.stdin(Stdio::null()).stdout(log).stderr(errors).spawn();
    child.map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")))
}
