//! `File` and `OpenOptions` of turmoil's `fs::shim::tokio::fs`, on the disk of the current host.
//!
//! A file that is opened to be truncated is removed and created, in one transaction of the journal. Cutting a file to another
//! length than 0 is not supported.

use std::future::Future;
use std::io::{self, SeekFrom};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use seekwise_files::operation::{Answer, FileOp, Handle, SyncScope};
use tokio::io::{AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};

use crate::disks::run;
use crate::fs::{Metadata, open_handle, path_text};

/// An operation of a file that is polled.
type Polled = Pin<Box<dyn Future<Output = io::Result<Answer>>>>;

/// An open file.
pub struct File {
    handle: Handle,
    options: OpenOptions,
    /// The byte at which the next read or write by position begins.
    cursor: u64,
    polled: Option<Polled>,
}

impl File {
    /// Opens a file to read it.
    pub async fn open(path: impl AsRef<Path>) -> io::Result<File> {
        OpenOptions::new().read(true).open(path).await
    }

    /// Opens an empty file to write it.
    pub async fn create(path: impl AsRef<Path>) -> io::Result<File> {
        OpenOptions::new().write(true).create(true).truncate(true).open(path).await
    }

    /// Makes data and metadata durable: fsync.
    pub async fn sync_all(&self) -> io::Result<()> {
        run(FileOp::Sync { file: self.handle, scope: SyncScope::All }).await.map(drop)
    }

    /// Makes data durable, and the length: fdatasync.
    pub async fn sync_data(&self) -> io::Result<()> {
        run(FileOp::Sync { file: self.handle, scope: SyncScope::Data }).await.map(drop)
    }

    /// Extends a file with zeros. A smaller length is not supported.
    pub async fn set_len(&self, size: u64) -> io::Result<()> {
        let len = self.metadata().await?.len();
        match size.checked_sub(len) {
            Some(0) => Ok(()),
            Some(_) => self.write_at(&[0], size - 1).await.map(drop),
            None => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                format!(
                    "set_len({size}) on {len} bytes: files on modelled disks cannot be cut; rewrite and rename the file"
                ),
            )),
        }
    }

    /// Asks for its length.
    pub async fn metadata(&self) -> io::Result<Metadata> {
        match run(FileOp::Len { file: self.handle }).await? {
            Answer::Len(len) => Ok(Metadata { len: Some(len) }),
            answer => unreachable!("{answer:?} is no length"),
        }
    }

    /// Reads bytes from byte `offset` on; returns how many.
    pub async fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.options.check(self.options.read)?;
        match run(FileOp::Read { file: self.handle, from: offset, bytes: buffer.len() as u64 }).await? {
            Answer::Bytes(bytes) => {
                buffer[..bytes.len()].copy_from_slice(&bytes);
                Ok(bytes.len())
            }
            answer => unreachable!("{answer:?} are no bytes"),
        }
    }

    /// Writes bytes from byte `offset` on.
    pub async fn write_at(&self, data: &[u8], offset: u64) -> io::Result<usize> {
        self.options.check(self.options.write || self.options.append)?;
        run(FileOp::Write { file: self.handle, from: offset, data }).await?;
        Ok(data.len())
    }

    /// Polls the operation under way, or the one that `begin` begins.
    fn poll_operation(
        &mut self,
        context: &mut Context<'_>,
        begin: impl FnOnce() -> Polled,
    ) -> Poll<io::Result<Answer>> {
        let polled = self.polled.get_or_insert_with(begin);
        let result = ready!(polled.as_mut().poll(context));
        self.polled = None;
        Poll::Ready(result)
    }

    fn begin_len(handle: Handle) -> Polled {
        Box::pin(async move { run(FileOp::Len { file: handle }).await })
    }
}

impl AsyncRead for File {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.options.check(self.options.read)?;
        let (file, from, bytes) = (self.handle, self.cursor, buffer.remaining() as u64);
        let begin = || -> Polled { Box::pin(async move { run(FileOp::Read { file, from, bytes }).await }) };
        if let Answer::Bytes(read) = ready!(self.poll_operation(context, begin))? {
            buffer.put_slice(&read);
            self.cursor += read.len() as u64;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for File {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        self.options.check(self.options.write || self.options.append)?;
        let (file, cursor, appends, data) = (self.handle, self.cursor, self.options.append, data.to_vec());
        let count = data.len();
        let begin = || -> Polled {
            Box::pin(async move {
                let from = match appends {
                    true => match run(FileOp::Len { file }).await? {
                        Answer::Len(len) => len,
                        answer => unreachable!("{answer:?} is no length"),
                    },
                    false => cursor,
                };
                run(FileOp::Write { file, from, data: &data }).await?;
                Ok(Answer::Len(from + data.len() as u64))
            })
        };
        if let Answer::Len(end) = ready!(self.poll_operation(context, begin))? {
            self.cursor = end;
        }
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl AsyncSeek for File {
    fn start_seek(mut self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        let moved = |from: u64, by: i64| from.checked_add_signed(by).ok_or(io::ErrorKind::InvalidInput);
        match position {
            SeekFrom::Start(byte) => self.cursor = byte,
            SeekFrom::Current(by) => self.cursor = moved(self.cursor, by)?,
            SeekFrom::End(by) => {
                let begin = File::begin_len(self.handle);
                self.polled = Some(Box::pin(async move {
                    match begin.await? {
                        Answer::Len(len) => Ok(Answer::Len(moved(len, by)?)),
                        answer => unreachable!("{answer:?} is no length"),
                    }
                }));
            }
        }
        Ok(())
    }

    fn poll_complete(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<u64>> {
        if let Some(mut polled) = self.polled.take() {
            match polled.as_mut().poll(context) {
                Poll::Pending => {
                    self.polled = Some(polled);
                    return Poll::Pending;
                }
                Poll::Ready(Ok(Answer::Len(len))) => self.cursor = len,
                Poll::Ready(result) => _ = result?,
            }
        }
        Poll::Ready(Ok(self.cursor))
    }
}

/// How to open a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    read: bool,
    write: bool,
    append: bool,
    truncate: bool,
    create: bool,
    create_new: bool,
}

impl OpenOptions {
    /// Nothing is allowed.
    pub fn new() -> OpenOptions {
        OpenOptions::default()
    }

    /// Allows to read.
    pub fn read(&mut self, read: bool) -> &mut OpenOptions {
        self.read = read;
        self
    }

    /// Allows to write.
    pub fn write(&mut self, write: bool) -> &mut OpenOptions {
        self.write = write;
        self
    }

    /// Writes go to the end of the file.
    pub fn append(&mut self, append: bool) -> &mut OpenOptions {
        self.append = append;
        self
    }

    /// Empties the file.
    pub fn truncate(&mut self, truncate: bool) -> &mut OpenOptions {
        self.truncate = truncate;
        self
    }

    /// Creates the file if there is none.
    pub fn create(&mut self, create: bool) -> &mut OpenOptions {
        self.create = create;
        self
    }

    /// Creates the file, which must not exist.
    pub fn create_new(&mut self, create_new: bool) -> &mut OpenOptions {
        self.create_new = create_new;
        self
    }

    /// Opens a file.
    pub async fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let path = path.as_ref();
        let create = async || -> io::Result<Handle> {
            match run(FileOp::Create { path: path_text(path)? }).await? {
                Answer::Opened(handle) => Ok(handle),
                answer => unreachable!("{answer:?} opens nothing"),
            }
        };
        let handle = match self.create_new {
            true => create().await?,
            false => match open_handle(path).await {
                Ok(handle) if self.truncate => match run(FileOp::Len { file: handle }).await? {
                    Answer::Len(0) => handle,
                    _ => {
                        run(FileOp::Remove { path: path_text(path)? }).await?;
                        create().await?
                    }
                },
                Err(error) if self.create && error.kind() == io::ErrorKind::NotFound => create().await?,
                opened => opened?,
            },
        };
        Ok(File { handle, options: *self, cursor: 0, polled: None })
    }

    /// An error if this is not allowed.
    fn check(&self, is_allowed: bool) -> io::Result<()> {
        let denied = || io::Error::new(io::ErrorKind::PermissionDenied, format!("the file was opened with {self:?}"));
        is_allowed.then_some(()).ok_or_else(denied)
    }
}
