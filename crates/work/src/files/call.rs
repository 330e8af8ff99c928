//! System calls and their results: the vocabulary between programs and the system that serves them. Nothing here holds
//! state.
//!
//! A thread has one call at a time: it waits until the call has returned before it calls again. Threads are served side
//! by side.

use seekwise_disk::time::{Instant, Span};

use super::volume::{FileId, FileName, SyncScope, VolumeError};

/// The calling thread: its index among all threads of all programs of a scene.
pub type ThreadId = u16;

/// A file or directory of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct File {
    /// The volume's index in the scene.
    pub volume: u8,
    pub id: FileId,
}

/// How a handle was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OpenMode {
    /// Through the page cache, written back later.
    #[default]
    Cached,
    /// As `Cached`, with the hint that the program reads from front to end (FILE_FLAG_SEQUENTIAL_SCAN,
    /// POSIX_FADV_SEQUENTIAL), which doubles the read-ahead.
    Sequential,
    /// Through the page cache, but a write returns when it is on the medium (FILE_FLAG_WRITE_THROUGH, O_DSYNC).
    WriteThrough,
    /// Past the page cache (FILE_FLAG_NO_BUFFERING, O_DIRECT).
    Direct,
}

/// A system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Finds a file and opens it.
    Open(File),
    /// Reads all entries of a directory.
    List(File),
    /// Creates an empty file in a directory; [`CallResult::file`] is the file.
    Create { directory: File, name: FileName },
    CreateDirectory {
        /// The parent directory.
        directory: File,
        name: FileName,
    },
    /// Reads bytes, up to the end of the file.
    Read {
        file: File,
        /// The first byte.
        from: u64,
        bytes: u64,
        handle: OpenMode,
    },
    /// Writes bytes; the file grows as needed.
    Write {
        file: File,
        /// The first byte.
        from: u64,
        bytes: u64,
        handle: OpenMode,
    },
    /// Cuts or extends a file to a length (ftruncate); ext4 only.
    SetLength { file: File, bytes: u64 },
    /// Makes a file durable: fsync, fdatasync, FlushFileBuffers.
    Sync(File, SyncScope),
    /// Closes a file that was written.
    Close(File),
    /// Changes a file's name, its directory, or both, within a volume.
    Rename { file: File, directory: File, name: FileName },
    /// Deletes a file or an empty directory.
    Delete(File),
    /// Moves a chunk of a file to free clusters, as a defragmenter does.
    Shift {
        file: File,
        /// The first byte of the chunk.
        from: u64,
        /// The first free cluster.
        to: u64,
    },
    /// Writes all dirty data of a volume, as sync or a dismount do.
    SyncVolume(u8),
    /// Drops the clean pages of the cache, as a restart between two programs does.
    DropCaches,
    /// Computes: processor time, or plain time if the stack has no processor.
    Compute(Span),
    /// Does nothing until this instant: a user's pause, or a frame that is not due yet.
    Wait(Instant),
}

impl Call {
    /// The file or directory that the call uses and that exists before it.
    pub fn existing_file(&self) -> Option<File> {
        match *self {
            Call::Open(file)
            | Call::List(file)
            | Call::Sync(file, _)
            | Call::Close(file)
            | Call::Delete(file)
            | Call::Read { file, .. }
            | Call::Write { file, .. }
            | Call::SetLength { file, .. }
            | Call::Shift { file, .. }
            | Call::Rename { file, .. } => Some(file),
            Call::Create { directory, .. } | Call::CreateDirectory { directory, .. } => Some(directory),
            Call::SyncVolume(_) | Call::DropCaches | Call::Compute(_) | Call::Wait(_) => None,
        }
    }

    /// The volume that serves the call, if any.
    pub fn volume(&self) -> Option<u8> {
        match *self {
            Call::SyncVolume(volume) => Some(volume),
            call => call.existing_file().map(|file| file.volume),
        }
    }
}

/// Bytes of reads through the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Bytes that programs asked for.
    pub asked: u64,
    /// Bytes that were read from the device for them, including read-ahead.
    pub fetched: u64,
}

impl Reads {
    /// Adds the bytes of another call.
    pub fn add(&mut self, other: Reads) {
        self.asked += other.asked;
        self.fetched += other.fetched;
    }
}

/// The result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallResult {
    /// The thread that called.
    pub thread: ThreadId,
    /// When the call returned.
    pub at: Instant,
    /// The file that was created.
    pub file: Option<File>,
    /// Bytes read or written.
    pub bytes: u64,
    /// For a read through the page cache: its bytes.
    pub reads: Reads,
    /// Why the call was refused.
    pub refused: Option<VolumeError>,
    /// A request of the call failed: a read or write error, or a power cut.
    pub failed: bool,
}
