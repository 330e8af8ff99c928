//! The write lock of a result folder or a journal, which one process at a time holds: the system's lock of that folder
//! or file (flock(2)). No file is created for it, and the system releases it when the process ends.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::system::outputs::{lock_holder, open_folder};

/// The right to write a folder or a file, until it is dropped.
#[derive(Debug)]
pub struct WriteLock(File);

impl WriteLock {
    /// The lock of a folder.
    pub(crate) fn of_folder(folder: &Path) -> io::Result<WriteLock> {
        WriteLock::of_open_file(open_folder(folder)?, folder)
    }

    /// The lock of a folder; `None` if the folder does not exist.
    pub(crate) fn of_existing_folder(folder: &Path) -> io::Result<Option<WriteLock>> {
        if folder.is_dir() { WriteLock::of_folder(folder).map(Some) } else { Ok(None) }
    }

    /// The lock of an open file or folder, which is at `path`.
    pub(crate) fn of_open_file(opened: File, path: &Path) -> io::Result<WriteLock> {
        match opened.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(in_use_error(&opened)),
            // Some file systems have no locks, and some none of folders.
            Err(TryLockError::Error(error)) => {
                log::warn!("{}: cannot be locked ({error}); make sure that nobody else writes there", path.display());
            }
            Ok(()) => {}
        }
        Ok(WriteLock(opened))
    }
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        // An error has no receiver. Closing is not enough: a program that is being started has a copy of the
        // descriptor.
        let _ = self.0.unlock();
    }
}

fn in_use_error(opened: &File) -> io::Error {
    let holder = lock_holder(opened).map_or("another process".to_owned(), |number| format!("process {number}"));
    io::Error::new(
        ErrorKind::ResourceBusy,
        format!("{holder} is writing here; wait until it ends, or use another name"),
    )
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_second_writer_is_refused_and_told_who_the_first_is() {
        let folder = tempfile::tempdir().unwrap();
        let theirs = folder.path().join(".lock");
        fs::write(&theirs, "theirs").unwrap();
        let first = WriteLock::of_folder(folder.path()).unwrap();
        let said = WriteLock::of_existing_folder(folder.path()).unwrap_err().to_string();
        assert!(said.contains(" is writing here"), "{said}");
        #[cfg(target_os = "linux")]
        assert!(said.starts_with(&format!("process {} ", std::process::id())), "{said}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is made for a lock");
        drop(first);
        drop(WriteLock::of_folder(folder.path()).unwrap());
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "theirs");
        assert!(WriteLock::of_existing_folder(&folder.path().join("none")).unwrap().is_none());
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
