//! The functions of turmoil's `fs::shim::std::fs`, on the disk of the current host. Each returns when its disk has answered; the
//! simulation's time stands still meanwhile (see [`crate::disks`]).

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};

use crate::disks::block;
pub use crate::fs::{DirEntry, Metadata, ReadDir};
use crate::{file, fs};

/// An open file.
pub struct File(file::File);

impl File {
    /// Opens a file to read it.
    pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
        block(file::File::open(path)).map(File)
    }

    /// Opens an empty file to write it.
    pub fn create(path: impl AsRef<Path>) -> io::Result<File> {
        block(file::File::create(path)).map(File)
    }

    /// Makes data and metadata durable: fsync.
    pub fn sync_all(&self) -> io::Result<()> {
        block(self.0.sync_all())
    }

    /// Makes data durable, and the length: fdatasync.
    pub fn sync_data(&self) -> io::Result<()> {
        block(self.0.sync_data())
    }

    /// Cuts or extends the file.
    pub fn set_len(&self, size: u64) -> io::Result<()> {
        block(self.0.set_len(size))
    }

    /// Asks for its length.
    pub fn metadata(&self) -> io::Result<Metadata> {
        block(self.0.metadata())
    }

    /// Opens the file once more, at the present position; from there each has its own.
    pub fn try_clone(&self) -> io::Result<File> {
        block(self.0.try_clone()).map(File)
    }
}

impl FileExt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        block(self.0.read_at(buffer, offset))
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<usize> {
        block(self.0.write_at(data, offset))
    }
}

impl Read for File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        block(self.0.read(buffer))
    }
}

impl Write for File {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        block(self.0.write(data))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for File {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        block(self.0.seek(position))
    }
}

/// How to open a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions(file::OpenOptions);

/// Setters of [`OpenOptions`] as [`file::OpenOptions`] has them.
macro_rules! setters {
    ($($name:ident),*) => {
        impl OpenOptions {
            $(
                #[doc = concat!("See [`file::OpenOptions::", stringify!($name), "`].")]
                pub fn $name(&mut self, allow: bool) -> &mut OpenOptions {
                    self.0.$name(allow);
                    self
                }
            )*
        }
    };
}

setters!(read, write, append, truncate, create, create_new, direct_io);

impl OpenOptions {
    /// Nothing is allowed.
    pub fn new() -> OpenOptions {
        OpenOptions::default()
    }

    /// Opens a file.
    pub fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        block(self.0.open(path)).map(File)
    }
}

/// Functions with one path as [`fs`] has them.
macro_rules! functions {
    ($($name:ident -> $result:ty),* $(,)?) => {
        $(
            #[doc = concat!("See [`fs::", stringify!($name), "`].")]
            pub fn $name(path: impl AsRef<Path>) -> io::Result<$result> {
                block(fs::$name(path))
            }
        )*
    };
}

functions!(
    canonicalize -> PathBuf,
    create_dir -> (),
    create_dir_all -> (),
    metadata -> Metadata,
    read -> Vec<u8>,
    read_dir -> ReadDir,
    read_to_string -> String,
    remove_dir -> (),
    remove_dir_all -> (),
    remove_file -> (),
    sync_dir -> (),
);

/// True if the path exists.
pub fn exists(path: impl AsRef<Path>) -> bool {
    metadata(path).is_ok()
}

/// Renames a file or directory, and replaces a file of the new name.
pub fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    block(fs::rename(from, to))
}

/// Copies the bytes of a file; returns how many.
pub fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<u64> {
    block(fs::copy(from, to))
}

/// Writes a whole file.
pub fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
    block(fs::write(path, contents))
}
