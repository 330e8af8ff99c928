//! The vocabulary of the file layer: operations, answers, errors, settings. Nothing here holds state.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use seekwise_disk::time::{Instant, Span};
pub use seekwise_work::files::volume::SyncScope;

/// An open file or directory. Handles end with the power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle {
    /// The file's number since the last mount.
    pub(crate) file: u32,
    /// The number of the mount.
    pub(crate) mount: u32,
}

/// The number of an operation in flight. Numbers rise and are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub u64);

/// An operation. Paths have `/` between names; one at the beginning changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOp<'a> {
    /// Opens a file or directory.
    Open {
        path: &'a str,
    },
    /// Creates an empty file and opens it.
    Create {
        path: &'a str,
    },
    CreateDirectory {
        path: &'a str,
    },
    /// Reads bytes, up to the end of the file.
    Read {
        file: Handle,
        from: u64,
        bytes: u64,
    },
    /// Writes bytes; the file grows as needed. A gap before them is written as zeros.
    Write {
        file: Handle,
        from: u64,
        data: &'a [u8],
    },
    /// Reads past the page cache (O_DIRECT), after the file's dirty pages are written.
    ReadDirect {
        file: Handle,
        from: u64,
        bytes: u64,
    },
    /// Writes past the page cache (O_DIRECT), in whole blocks of 4,096 bytes on the device.
    WriteDirect {
        file: Handle,
        from: u64,
        data: &'a [u8],
    },
    /// Cuts or extends a file to a length (ftruncate). The new bytes are zeros; they take space once the file is written next.
    SetLen {
        file: Handle,
        len: u64,
    },
    /// Makes a file and its entry durable: fsync ([`SyncScope::All`]) or fdatasync ([`SyncScope::Data`]). As on ext4, fsync
    /// commits the whole transaction that runs.
    Sync {
        file: Handle,
        scope: SyncScope,
    },
    /// Makes everything durable.
    SyncAll,
    /// Renames a file or directory, and replaces a file of the new name. Both happen or neither.
    Rename {
        from: &'a str,
        to: &'a str,
    },
    /// Removes a file or an empty directory. Its handles end.
    Remove {
        path: &'a str,
    },
    Len {
        file: Handle,
    },
    /// The names in a directory, sorted.
    List {
        path: &'a str,
    },
}

/// The result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Done: sync, a new length, rename, remove, a new directory.
    Done,
    Opened(Handle),
    /// Bytes that were read.
    Bytes(Vec<u8>),
    /// Number of bytes written.
    Written(u64),
    Len(u64),
    Names(Vec<String>),
}

/// Why an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileError {
    /// No file of that name, or its handle has ended.
    NotFound,
    Exists,
    NotADirectory,
    IsADirectory,
    NotEmpty,
    /// A name is empty, `.` or `..`, or longer than 255 bytes.
    BadName,
    /// A directory cannot become a part of itself.
    WithinItself,
    NoSpace,
    TooLarge,
    /// A power cut tore a sector, and nothing was written over its page since.
    Unreadable,
    /// The device answered a request with an error.
    Device,
    /// The power failed before it was done.
    PowerLost,
    /// There is no power.
    PoweredOff,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileError::NotFound => "there is no such file",
            FileError::Exists => "the file exists already",
            FileError::NotADirectory => "a part of the path is a file, not a directory",
            FileError::IsADirectory => "it is a directory, not a file",
            FileError::NotEmpty => "the directory is not empty",
            FileError::BadName => "a name has 1 to 255 bytes, and is neither `.` nor `..`",
            FileError::WithinItself => "a directory cannot be moved into itself",
            FileError::NoSpace => "there is no space left on the volume",
            FileError::TooLarge => "the file would be larger than the file system allows",
            FileError::Unreadable => "a power cut tore a sector of it",
            FileError::Device => "the device failed",
            FileError::PowerLost => "the power failed before it was done",
            FileError::PoweredOff => "there is no power",
        })
    }
}

impl core::error::Error for FileError {}

/// An operation that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCompletion {
    pub op: OpId,
    pub submitted: Instant,
    /// When it was done; never later than the instant at which it can be polled.
    pub finished: Instant,
    pub result: Result<Answer, FileError>,
}

/// A file or directory as recovery finds it after a power cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredFile {
    pub path: String,
    /// `None` for a directory.
    pub contents: Option<Vec<u8>>,
    /// Bytes in torn sectors; `contents` has zeros there.
    pub unreadable: Vec<Range<u64>>,
}

/// The unit that a power cut leaves old or new as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tear {
    /// A sector of 512 bytes, as the drive wrote it.
    #[default]
    Sector,
    /// A page of 4,096 bytes: a page that was written in part keeps its old contents, and one with a torn sector is
    /// unreadable as a whole.
    Page,
}

/// The settings of a file layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Memory of the page cache, in bytes.
    pub memory: u64,
    /// How often write-back looks for old pages.
    pub write_back_interval: Span,
    /// The age at which dirty files are written back.
    pub write_back_age: Span,
    /// Write-back begins above this percentage of the page cache.
    pub background_percent: u32,
    /// Writers wait above this percentage.
    pub limit_percent: u32,
    /// The age at which the journal commits by itself.
    pub commit_interval: Span,
    /// Flushes and FUA around commits (ext4's `barrier`). Without them fsync promises nothing on a drive with a write cache.
    pub barrier: bool,
    pub tear: Tear,
    /// Seed of the volume's layout.
    pub seed: u64,
}

impl Default for Settings {
    /// Linux's defaults on 1 GiB of memory; their sources stand at [`PageCacheSpec::linux`] and [`Ext4Spec`].
    ///
    /// [`PageCacheSpec::linux`]: seekwise_work::files::pagecache::PageCacheSpec::linux
    /// [`Ext4Spec`]: seekwise_work::files::volume::Ext4Spec
    fn default() -> Settings {
        Settings {
            memory: 1 << 30,
            write_back_interval: Span::from_secs(5),
            write_back_age: Span::from_secs(30),
            background_percent: 10,
            limit_percent: 20,
            commit_interval: Span::from_secs(5),
            barrier: true,
            tear: Tear::Sector,
            seed: 1,
        }
    }
}
