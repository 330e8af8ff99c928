//! What a program asks of the system, and what it gets back: the one vocabulary between programs and the system that
//! serves them. Nothing here holds state.
//!
//! A thread calls, and waits until its call has returned; then it calls again. Several threads are served side by side.

use super::volume::{FileId, Name, Refused, Sync};
use crate::time::{Instant, Span};

/// Which thread calls: its index among all threads of all programs of a scene.
pub type Thread = u16;

/// A file or a directory of one of the volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct File {
    /// Which volume, by its index in the scene.
    pub volume: u8,
    /// Which of its files.
    pub id: FileId,
}

/// How a handle was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Handle {
    /// Through the page cache, written back later.
    #[default]
    Cached,
    /// As that, and the program said that it reads from front to end (FILE_FLAG_SEQUENTIAL_SCAN, POSIX_FADV_SEQUENTIAL):
    /// twice the read-ahead.
    Sequential,
    /// Through the page cache, but a write returns when it is on the medium (FILE_FLAG_WRITE_THROUGH, O_DSYNC).
    WriteThrough,
    /// Past the page cache (FILE_FLAG_NO_BUFFERING, O_DIRECT).
    Direct,
}

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Finds a file and opens it.
    Open(File),
    /// Reads all entries of a directory.
    List(File),
    /// Creates an empty file in a directory; [`Returned::file`] is the file.
    Create {
        /// The directory.
        directory: File,
        /// Its name.
        name: Name,
    },
    /// Creates an empty directory.
    CreateDirectory {
        /// The directory above.
        directory: File,
        /// Its name.
        name: Name,
    },
    /// Reads bytes, as far as the file has them.
    Read {
        /// The file.
        file: File,
        /// First byte.
        from: u64,
        /// Bytes.
        bytes: u64,
        /// How.
        handle: Handle,
    },
    /// Writes bytes; the file grows where it must.
    Write {
        /// The file.
        file: File,
        /// First byte.
        from: u64,
        /// Bytes.
        bytes: u64,
        /// How.
        handle: Handle,
    },
    /// Makes a file durable: fsync, fdatasync, FlushFileBuffers.
    Sync(File, Sync),
    /// Closes a file that was written.
    Close(File),
    /// Gives it another name, another directory, or both, of the same volume.
    Rename {
        /// The file.
        file: File,
        /// The directory it comes to be in.
        directory: File,
        /// Its name there.
        name: Name,
    },
    /// Deletes a file or an empty directory.
    Delete(File),
    /// Moves a chunk of a file to free clusters, as a defragmenter does.
    Shift {
        /// The file.
        file: File,
        /// First byte of the chunk.
        from: u64,
        /// First free cluster.
        to: u64,
    },
    /// All that is dirty on a volume goes out: sync, a dismount.
    SyncVolume(u8),
    /// Cold again: what the cache holds clean is dropped (a restart between two programs).
    DropCaches,
    /// The program computes: processor time, or plain time where the stack has no processor.
    Compute(Span),
    /// The program does nothing until then (a user, a pause, a frame that is due).
    Wait(Instant),
}

impl Call {
    /// The file that it is about, where there is one already.
    pub fn file(&self) -> Option<File> {
        match *self {
            Call::Open(file)
            | Call::List(file)
            | Call::Sync(file, _)
            | Call::Close(file)
            | Call::Delete(file)
            | Call::Read { file, .. }
            | Call::Write { file, .. }
            | Call::Shift { file, .. }
            | Call::Rename { file, .. } => Some(file),
            Call::Create { directory, .. } | Call::CreateDirectory { directory, .. } => Some(directory),
            Call::SyncVolume(_) | Call::DropCaches | Call::Compute(_) | Call::Wait(_) => None,
        }
    }

    /// The volume that serves it, where one does.
    pub fn volume(&self) -> Option<u8> {
        match *self {
            Call::SyncVolume(volume) => Some(volume),
            call => call.file().map(|file| file.volume),
        }
    }
}

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returned {
    /// Whose call it was.
    pub thread: Thread,
    /// When the thread goes on.
    pub at: Instant,
    /// The file that was created.
    pub file: Option<File>,
    /// Bytes read or written.
    pub bytes: u64,
    /// Why it was not done.
    pub refused: Option<Refused>,
    /// A request below failed: a read or write error, or the power went.
    pub failed: bool,
}
