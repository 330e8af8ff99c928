//! Knows which files are inputs or outputs of the commands at work, so that none is taken for another, and which files
//! were found to hold nothing but our own data. No file is opened or judged here.
//!
//! The list is one variable of the process. Readers and places deep below a command mark files without knowing the
//! command, and a file that was found to be ours is not read again by a later command.

#[cfg(target_os = "linux")]
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use super::{folder_of, invalid_input};

static KNOWN: Mutex<KnownFiles> = Mutex::new(KnownFiles {
    commands: Vec::new(),
    #[cfg(target_os = "linux")]
    own: BTreeMap::new(),
});

struct KnownFiles {
    /// Commands at work and their threads; a command within another comes after it.
    commands: Vec<(ThreadId, CommandFiles)>,
    /// Files found to hold nothing of anybody else's, with their stamps at that time.
    #[cfg(target_os = "linux")]
    own: BTreeMap<FileKey, FileStamp>,
}

/// The files of a command.
#[derive(Default)]
struct CommandFiles {
    /// Files that it has read.
    inputs: Vec<FileKey>,
    /// Files that it is to write: the folder, and the name in it.
    outputs: Vec<(FolderKey, OsString)>,
}

/// Device and inode.
type FileKey = (u64, u64);

#[cfg(unix)]
type FolderKey = FileKey;

#[cfg(not(unix))]
type FolderKey = std::path::PathBuf;

fn known_files() -> MutexGuard<'static, KnownFiles> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl KnownFiles {
    /// The index of this thread's innermost command; `None` outside of [`guard_files`].
    fn command_index(&self) -> Option<usize> {
        let own = thread::current().id();
        self.commands.iter().rposition(|(thread, _)| *thread == own)
    }

    /// The files of this thread's innermost command.
    fn command_files(&mut self) -> Option<&mut CommandFiles> {
        let index = self.command_index()?;
        Some(&mut self.commands[index].1)
    }
}

/// Runs a command. On this thread, a file that it reads ([`mark_input`]) is refused as its output, as is a
/// second output of the same name ([`prepare_output`](super::prepare_output)).
pub fn guard_files<R>(command: impl FnOnce() -> R) -> R {
    /// Forgets the command's files, also after a panic.
    struct FilesGuard;
    impl Drop for FilesGuard {
        fn drop(&mut self) {
            let mut known = known_files();
            if let Some(index) = known.command_index() {
                known.commands.remove(index);
            }
        }
    }
    known_files().commands.push((thread::current().id(), CommandFiles::default()));
    let _guard = FilesGuard;
    command()
}

/// Marks a file as an input of the command, so that it is no output under any name.
pub fn mark_input(metadata: &Metadata) {
    let Some(key) = file_key(metadata).filter(|_| metadata.is_file()) else { return };
    if let Some(files) = known_files().command_files() {
        files.inputs.push(key);
    }
}

/// True if this thread's command reads the file.
pub(super) fn is_input(metadata: &Metadata) -> bool {
    file_key(metadata).is_some_and(|key| known_files().command_files().is_some_and(|files| files.inputs.contains(&key)))
}

/// Marks a path as an output of the command; an error if another output has that name, however it is spelled.
pub(super) fn mark_output(path: &Path) -> io::Result<()> {
    let Some(name) = path.file_name() else { return Ok(()) };
    let output = (folder_key(folder_of(path))?, name.to_owned());
    let mut known = known_files();
    let Some(files) = known.command_files() else { return Ok(()) };
    if files.outputs.contains(&output) {
        return Err(invalid_input("another output of this command goes there; expected two files"));
    }
    files.outputs.push(output);
    Ok(())
}

#[cfg(unix)]
fn folder_key(folder: &Path) -> io::Result<FolderKey> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(folder).map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn folder_key(folder: &Path) -> io::Result<FolderKey> {
    fs::canonicalize(folder)
}

#[cfg(unix)]
fn file_key(metadata: &Metadata) -> Option<FileKey> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn file_key(_: &Metadata) -> Option<FileKey> {
    None
}

/// Length and last change of a file (`ctime`, which no program can set): any change of the file changes them.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStamp {
    bytes: u64,
    /// Seconds and nanoseconds.
    changed: (i64, i64),
}

#[cfg(target_os = "linux")]
impl FileStamp {
    pub(crate) fn new(metadata: &Metadata) -> FileStamp {
        use std::os::unix::fs::MetadataExt;
        FileStamp { bytes: metadata.len(), changed: (metadata.ctime(), metadata.ctime_nsec()) }
    }
}

/// Records that a file, as it is now, holds nothing of anybody else's.
#[cfg(target_os = "linux")]
pub(crate) fn record_as_own(metadata: &Metadata) {
    if let Some(key) = file_key(metadata) {
        known_files().own.insert(key, FileStamp::new(metadata));
    }
}

/// True if the file was recorded as ours and has not changed since.
#[cfg(target_os = "linux")]
pub(crate) fn is_recorded_own(metadata: &Metadata) -> bool {
    file_key(metadata).is_some_and(|key| known_files().own.get(&key) == Some(&FileStamp::new(metadata)))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// As Python runs them: several commands at once, each on a thread of its own.
    #[test]
    fn each_command_has_its_own_files() {
        let folder = tempfile::tempdir().unwrap();
        let (input, output) = (folder.path().join("input"), folder.path().join("output"));
        fs::write(&input, "mine").unwrap();
        let of = fs::metadata(&input).unwrap();
        let is_free = || !is_input(&of) && mark_output(&output).is_ok();
        guard_files(|| {
            mark_input(&of);
            mark_output(&output).unwrap();
            assert!(thread::scope(|scope| scope.spawn(|| guard_files(is_free)).join().unwrap()));
            assert!(guard_files(is_free), "a command within this one");
            assert!(std::panic::catch_unwind(|| guard_files::<()>(|| panic!("on purpose"))).is_err());
            assert!(is_input(&of) && mark_output(&output).is_err());
        });
        assert!(is_free());
    }
}
