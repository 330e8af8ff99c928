//! `File` and `OpenOptions` of turmoil's `fs::shim::tokio::fs`, on the disk of the current host.

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

    /// Cuts or extends a file.
    pub async fn set_len(&self, size: u64) -> io::Result<()> {
        self.options.check(self.options.write || self.options.append)?;
        run(FileOp::SetLen { file: self.handle, len: size }).await.map(drop)
    }

    /// Opens the file once more; both have one position in std, here each its own.
    #[expect(clippy::unused_async, reason = "as in tokio")]
    pub async fn try_clone(&self) -> io::Result<File> {
        Ok(File { handle: self.handle, options: self.options, cursor: self.cursor, polled: None })
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
        self.options.check_alignment(buffer, offset)?;
        match run(self.options.read_op(self.handle, offset, buffer.len() as u64)).await? {
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
        self.options.check_alignment(data, offset)?;
        run(self.options.write_op(self.handle, offset, data)).await?;
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
        let (file, options, from, bytes) = (self.handle, self.options, self.cursor, buffer.remaining() as u64);
        options.check_alignment(buffer.initialize_unfilled(), from)?;
        let begin = || -> Polled { Box::pin(async move { run(options.read_op(file, from, bytes)).await }) };
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
        let (file, options, cursor) = (self.handle, self.options, self.cursor);
        options.check_alignment(data, cursor)?;
        let (count, data) = (data.len(), data.to_vec());
        let begin = || -> Polled {
            Box::pin(async move {
                let from = match options.append {
                    true => match run(FileOp::Len { file }).await? {
                        Answer::Len(len) => len,
                        answer => unreachable!("{answer:?} is no length"),
                    },
                    false => cursor,
                };
                run(options.write_op(file, from, &data)).await?;
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
    direct: bool,
}

/// Bytes of the drive's sector, of which direct requests and the addresses of their buffers are multiples.
const DIRECT_UNIT: usize = 512;

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

    /// Reads and writes past the page cache (O_DIRECT), in whole sectors.
    pub fn direct_io(&mut self, direct: bool) -> &mut OpenOptions {
        self.direct = direct;
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
                Ok(handle) if self.truncate => {
                    run(FileOp::SetLen { file: handle, len: 0 }).await?;
                    handle
                }
                Err(error) if self.create && error.kind() == io::ErrorKind::NotFound => create().await?,
                opened => opened?,
            },
        };
        Ok(File { handle, options: *self, cursor: 0, polled: None })
    }

    fn read_op(&self, file: Handle, from: u64, bytes: u64) -> FileOp<'static> {
        match self.direct {
            true => FileOp::ReadDirect { file, from, bytes },
            false => FileOp::Read { file, from, bytes },
        }
    }

    fn write_op<'a>(&self, file: Handle, from: u64, data: &'a [u8]) -> FileOp<'a> {
        match self.direct {
            true => FileOp::WriteDirect { file, from, data },
            false => FileOp::Write { file, from, data },
        }
    }

    /// An error if a direct request is not aligned (EINVAL of Linux).
    fn check_alignment(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        let is_aligned = (buffer.as_ptr().addr() | buffer.len() | offset as usize).is_multiple_of(DIRECT_UNIT);
        if !self.direct || is_aligned {
            return Ok(());
        }
        let (len, found) = (buffer.len(), buffer.as_ptr().addr() % DIRECT_UNIT);
        let text = format!(
            "direct I/O of {len} bytes at byte {offset}, its buffer {found} bytes after a sector; expected multiples of {DIRECT_UNIT}"
        );
        Err(io::Error::new(io::ErrorKind::InvalidInput, text))
    }

    /// An error if this is not allowed.
    fn check(&self, is_allowed: bool) -> io::Result<()> {
        let denied = || io::Error::new(io::ErrorKind::PermissionDenied, format!("the file was opened with {self:?}"));
        is_allowed.then_some(()).ok_or_else(denied)
    }
}
