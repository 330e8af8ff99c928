//! An open file of a disk: read, write and seek by polling, and the calls of moonpool's `StorageFile`. It reads and writes through the
//! page cache; direct I/O is not in moonpool's traits.
//!
//! Source of the interface: `moonpool-core` 0.8.0, `src/storage.rs`.

use std::fmt;
use std::io::{self, SeekFrom};
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll, ready};

use futures::io::{AsyncRead, AsyncSeek, AsyncWrite};
use moonpool_core::{OpenOptions, StorageFile, TimeProvider};
use seekwise_files::operation::{Answer, FileOp, Handle, SyncScope};

use crate::storage::{Operation, Storage};

/// An open file.
pub struct File<T: TimeProvider> {
    storage: Storage<T>,
    handle: Handle,
    options: OpenOptions,
    /// The byte at which the next read or write begins.
    position: u64,
    /// Operations that were polled and have not answered. The locks are never waited for: they make the file `Sync`.
    reading: Mutex<Option<Operation<T>>>,
    writing: Mutex<Option<PolledWrite<T>>>,
}

struct PolledWrite<T: TimeProvider> {
    operation: Operation<T>,
    bytes: usize,
    /// The position after it.
    end: u64,
}

const NOT_POISONED: &str = "no holder of the lock panics";

impl<T: TimeProvider> File<T> {
    pub(crate) fn new(storage: Storage<T>, handle: Handle, options: OpenOptions) -> File<T> {
        File { storage, handle, options, position: 0, reading: Mutex::default(), writing: Mutex::default() }
    }

    /// An error if this is not allowed.
    fn check(&self, is_allowed: bool) -> io::Result<()> {
        let denied =
            || io::Error::new(io::ErrorKind::PermissionDenied, format!("the file was opened with {:?}", self.options));
        is_allowed.then_some(()).ok_or_else(denied)
    }

    fn can_write(&self) -> bool {
        self.options.is_write() || self.options.is_append()
    }
}

impl<T: TimeProvider> StorageFile for File<T> {
    async fn sync_all(&self) -> io::Result<()> {
        self.storage.run(FileOp::Sync { file: self.handle, scope: SyncScope::All }).await.map(drop)
    }

    async fn sync_data(&self) -> io::Result<()> {
        self.storage.run(FileOp::Sync { file: self.handle, scope: SyncScope::Data }).await.map(drop)
    }

    async fn size(&self) -> io::Result<u64> {
        self.storage.file_len(self.handle)
    }

    async fn set_len(&self, size: u64) -> io::Result<()> {
        self.check(self.can_write())?;
        self.storage.run(FileOp::SetLen { file: self.handle, len: size }).await.map(drop)
    }
}

impl<T: TimeProvider> AsyncRead for File<T> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let file = self.get_mut();
        file.check(file.options.is_read())?;
        if buffer.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let read = FileOp::Read { file: file.handle, from: file.position, bytes: buffer.len() as u64 };
        let reading = file.reading.get_mut().expect(NOT_POISONED);
        let operation = reading.get_or_insert_with(|| file.storage.run(read));
        let result = ready!(Pin::new(operation).poll(context));
        *reading = None;
        match result? {
            Answer::Bytes(found) => {
                // A read that was dropped may have been for a larger buffer.
                let bytes = found.len().min(buffer.len());
                buffer[..bytes].copy_from_slice(&found[..bytes]);
                file.position += bytes as u64;
                Poll::Ready(Ok(bytes))
            }
            answer => unreachable!("{answer:?} are no bytes"),
        }
    }
}

impl<T: TimeProvider> AsyncWrite for File<T> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let file = self.get_mut();
        file.check(file.can_write())?;
        let writing = file.writing.get_mut().expect(NOT_POISONED);
        if writing.is_none() {
            let from = match file.options.is_append() {
                true => file.storage.file_len(file.handle)?,
                false => file.position,
            };
            let operation = file.storage.run(FileOp::Write { file: file.handle, from, data });
            *writing = Some(PolledWrite { operation, bytes: data.len(), end: from.saturating_add(data.len() as u64) });
        }
        let write = writing.as_mut().expect("it was set");
        let result = ready!(Pin::new(&mut write.operation).poll(context));
        let (bytes, end) = (write.bytes, write.end);
        *writing = None;
        result?;
        file.position = end;
        Poll::Ready(Ok(bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl<T: TimeProvider> AsyncSeek for File<T> {
    fn poll_seek(self: Pin<&mut Self>, _: &mut Context<'_>, position: SeekFrom) -> Poll<io::Result<u64>> {
        let file = self.get_mut();
        let (from, by) = match position {
            SeekFrom::Start(byte) => (byte, 0),
            SeekFrom::Current(by) => (file.position, by),
            SeekFrom::End(by) => (file.storage.file_len(file.handle)?, by),
        };
        let before_the_file =
            || io::Error::new(io::ErrorKind::InvalidInput, format!("byte {from} moved by {by} is no byte of a file"));
        file.position = from.checked_add_signed(by).ok_or_else(before_the_file)?;
        Poll::Ready(Ok(file.position))
    }
}

impl<T: TimeProvider> fmt::Debug for File<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let File { handle, options, position, .. } = self;
        let mut fields = f.debug_struct("File");
        fields.field("handle", handle).field("options", options).field("position", position).finish_non_exhaustive()
    }
}
