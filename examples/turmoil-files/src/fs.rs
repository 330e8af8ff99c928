//! The functions of turmoil's `fs::shim::tokio::fs`, on the disk of the current host. Links and permissions are missing.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use seekwise_files::operation::{Answer, FileOp, Handle};

use crate::disks::run;
pub use crate::file::{File, OpenOptions};

/// The path as the file layer takes it.
pub(crate) fn path_text(path: &Path) -> io::Result<&str> {
    path.to_str().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a path is not UTF-8"))
}

/// Opens a file or directory.
pub(crate) async fn open_handle(path: &Path) -> io::Result<Handle> {
    match run(FileOp::Open { path: path_text(path)? }).await? {
        Answer::Opened(handle) => Ok(handle),
        answer => unreachable!("{answer:?} opens nothing"),
    }
}

/// The names in a directory, sorted.
async fn list(path: &Path) -> io::Result<Vec<String>> {
    match run(FileOp::List { path: path_text(path)? }).await? {
        Answer::Names(names) => Ok(names),
        answer => unreachable!("{answer:?} are no names"),
    }
}

/// What is known of a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    pub(crate) len: Option<u64>,
}

impl Metadata {
    /// The length of a file in bytes; 0 for a directory.
    #[expect(clippy::len_without_is_empty, reason = "as in std")]
    pub fn len(&self) -> u64 {
        self.len.unwrap_or(0)
    }

    /// True for a file.
    pub fn is_file(&self) -> bool {
        self.len.is_some()
    }

    /// True for a directory.
    pub fn is_dir(&self) -> bool {
        self.len.is_none()
    }
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    directory: PathBuf,
    name: String,
}

impl DirEntry {
    /// The whole path.
    pub fn path(&self) -> PathBuf {
        self.directory.join(&self.name)
    }

    /// The name.
    pub fn file_name(&self) -> OsString {
        OsString::from(&self.name)
    }
}

/// The entries of a directory, in order of names.
pub type ReadDir = std::vec::IntoIter<io::Result<DirEntry>>;

/// Copies a file; returns its bytes.
pub async fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<u64> {
    let contents = read(from).await?;
    write(to, &contents).await?;
    Ok(contents.len() as u64)
}

/// Creates a directory.
pub async fn create_dir(path: impl AsRef<Path>) -> io::Result<()> {
    run(FileOp::CreateDirectory { path: path_text(path.as_ref())? }).await.map(drop)
}

/// Creates a directory and those above it.
pub async fn create_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    let above: Vec<&Path> = path.as_ref().ancestors().filter(|above| above.file_name().is_some()).collect();
    for directory in above.into_iter().rev() {
        match create_dir(directory).await {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => result?,
        }
    }
    metadata(path).await?.is_dir().then_some(()).ok_or_else(|| io::ErrorKind::AlreadyExists.into())
}

/// The path without `.` and `..`; it must exist. There are no links.
pub async fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let mut plain = PathBuf::from("/");
    for part in path.as_ref().components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => _ = plain.pop(),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
        metadata(&plain).await?;
    }
    Ok(plain)
}

/// Asks for a file's length, or whether it is a directory.
pub async fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    let handle = open_handle(path.as_ref()).await?;
    match run(FileOp::Len { file: handle }).await {
        Ok(Answer::Len(len)) => Ok(Metadata { len: Some(len) }),
        Ok(answer) => unreachable!("{answer:?} is no length"),
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => Ok(Metadata { len: None }),
        Err(error) => Err(error),
    }
}

/// Reads a whole file.
pub async fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let handle = open_handle(path.as_ref()).await?;
    match run(FileOp::Read { file: handle, from: 0, bytes: u64::MAX }).await? {
        Answer::Bytes(bytes) => Ok(bytes),
        answer => unreachable!("{answer:?} are no bytes"),
    }
}

/// Reads a whole file of text.
pub async fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(read(path).await?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Reads a directory.
pub async fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    let directory = path.as_ref();
    let names = list(directory).await?;
    let entry = |name| Ok(DirEntry { directory: directory.to_owned(), name });
    Ok(names.into_iter().map(entry).collect::<Vec<_>>().into_iter())
}

/// Removes an empty directory.
pub async fn remove_dir(path: impl AsRef<Path>) -> io::Result<()> {
    match metadata(&path).await?.is_dir() {
        true => run(FileOp::Remove { path: path_text(path.as_ref())? }).await.map(drop),
        false => Err(io::ErrorKind::NotADirectory.into()),
    }
}

/// Removes a directory and all that is in it.
pub async fn remove_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    let (mut open, mut found) = (vec![path.as_ref().to_owned()], Vec::new());
    while let Some(directory) = open.pop() {
        for name in list(&directory).await? {
            let path = directory.join(name);
            if metadata(&path).await?.is_dir() { open.push(path) } else { remove_file(path).await? }
        }
        found.push(directory);
    }
    for directory in found.into_iter().rev() {
        remove_dir(directory).await?;
    }
    Ok(())
}

/// Removes a file.
pub async fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    match metadata(&path).await?.is_file() {
        true => run(FileOp::Remove { path: path_text(path.as_ref())? }).await.map(drop),
        false => Err(io::ErrorKind::IsADirectory.into()),
    }
}

/// Renames a file or directory, and replaces a file of the new name.
pub async fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let (from, to) = (path_text(from.as_ref())?, path_text(to.as_ref())?);
    run(FileOp::Rename { from, to }).await.map(drop)
}

/// Writes a whole file.
pub async fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
    File::create(path).await?.write_at(contents.as_ref(), 0).await.map(drop)
}

/// True if the path exists.
pub async fn try_exists(path: impl AsRef<Path>) -> io::Result<bool> {
    Ok(metadata(path).await.is_ok())
}

/// Makes the entries of a directory durable.
pub async fn sync_dir(path: impl AsRef<Path>) -> io::Result<()> {
    File::open(path).await?.sync_all().await
}
