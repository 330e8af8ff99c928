//! One process at a time writes a result folder or a journal. It locks a file beside what it writes, in which its number stands,
//! and removes that file when it has ended. The system lets go of the lock of a process that dies; its file is taken over.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use seekwise_os::outputs::{create_private, open_update};
use seekwise_os::unfinished::hold;

/// The locked file of a folder.
const NAME: &str = ".lock";

/// Bytes of a process's number, at most.
const DIGITS: u64 = 20;

/// Attempts at a file that others remove meanwhile.
const ATTEMPTS: u32 = 100;

/// The right to write something, until it is dropped.
#[derive(Debug)]
pub struct WriteLock {
    path: PathBuf,
    file: File,
}

impl WriteLock {
    /// The lock of a folder.
    pub fn of_folder(folder: &Path) -> io::Result<WriteLock> {
        WriteLock::take(folder.join(NAME))
    }

    /// The lock of a folder that may not be there yet.
    pub fn of_known(folder: &Path) -> io::Result<Option<WriteLock>> {
        if folder.is_dir() { WriteLock::of_folder(folder).map(Some) } else { Ok(None) }
    }

    /// The lock of a file.
    pub fn of_file(path: &Path) -> io::Result<WriteLock> {
        let mut beside = path.as_os_str().to_owned();
        beside.push(NAME);
        WriteLock::take(beside.into())
    }

    fn take(path: PathBuf) -> io::Result<WriteLock> {
        for _ in 0..ATTEMPTS {
            let mut file = match opened(&path) {
                // Its last holder removed it at this moment.
                Err(error) if error.kind() == ErrorKind::NotFound && parent_is_there(&path) => continue,
                opened => {
                    opened.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?
                }
            };
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Err(in_use(&mut file)),
                // Some file systems have no locks.
                Err(TryLockError::Error(error)) => {
                    log::warn!("{}: cannot be locked ({error}); nobody else may write there", path.display());
                }
                Ok(()) => {}
            }
            // Its last holder may have removed it since it was opened.
            if is_still(&path, &file)? {
                hold().remove(&path);
                let mut lock = WriteLock { path, file };
                lock.file.set_len(0)?;
                writeln!(lock.file, "{}", std::process::id())?;
                return Ok(lock);
            }
        }
        Err(io::Error::other(format!("{}: others take and remove it all the time", path.display())))
    }
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        let mut now = hold();
        // There is nobody to be told. A program that is being started has a copy of the opening: closing it is not enough.
        let _ = fs::remove_file(&self.path);
        let _ = self.file.unlock();
        now.leave(&self.path);
    }
}

/// A new file for its owner alone, or the one that another process left or holds.
fn opened(path: &Path) -> io::Result<File> {
    match create_private(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => open_update(path),
        made => made,
    }
}

fn parent_is_there(path: &Path) -> bool {
    path.parent().is_none_or(|parent| parent.as_os_str().is_empty() || parent.is_dir())
}

fn in_use(file: &mut File) -> io::Error {
    let mut said = String::new();
    let number = file.take(DIGITS).read_to_string(&mut said).ok().and_then(|_| said.trim().parse::<u32>().ok());
    let who = number.map_or("another process".to_owned(), |number| format!("process {number}"));
    io::Error::new(ErrorKind::ResourceBusy, format!("{who} is writing here; wait until it ends, or use another name"))
}

#[cfg(unix)]
fn is_still(path: &Path, file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let own = file.metadata()?;
    Ok(fs::symlink_metadata(path).is_ok_and(|there| (there.dev(), there.ino()) == (own.dev(), own.ino())))
}

/// Such a system removes no open file.
#[cfg(not(unix))]
fn is_still(_: &Path, _: &File) -> io::Result<bool> {
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_writer_is_refused_and_told_who_the_first_is() {
        let folder = tempfile::tempdir().unwrap();
        let first = WriteLock::of_folder(folder.path()).unwrap();
        let said = WriteLock::of_known(folder.path()).unwrap_err().to_string();
        assert!(said.starts_with(&format!("process {} is writing here", std::process::id())), "{said}");
        drop(first);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
        // A file of a process that died is taken over.
        fs::write(folder.path().join(NAME), "123456789 and more").unwrap();
        let lock = WriteLock::of_folder(folder.path()).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join(NAME)).unwrap(), format!("{}\n", std::process::id()));
        drop(lock);
        assert!(WriteLock::of_known(&folder.path().join("none")).unwrap().is_none());
    }

    #[test]
    fn one_of_many_writers_has_it_at_any_instant() {
        use std::sync::atomic::{AtomicU32, Ordering};
        let folder = tempfile::tempdir().unwrap();
        let (inside, taken) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let Ok(lock) = WriteLock::of_folder(folder.path()) else { continue };
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        taken.fetch_add(1, Ordering::SeqCst);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(lock);
                    }
                });
            }
        });
        assert!(taken.into_inner() > 0);
    }
}
