//! Files, whole or not at all. A file is written beside its name and takes its place when it is complete; after an error nothing
//! of it remains. A link is followed, and what is no file (a device, a pipe, a socket) is written to, not replaced.

use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::unfinished::hold;

/// Links from one to the next before they are taken for a ring, as in Linux.
const MOST_LINKS: usize = 40;

/// A file that is being written.
pub struct OutputFile {
    to: Box<dyn Write + Send>,
    /// The new file and its name beside the one that it is to replace; nothing where it is written to directly.
    new: Option<(File, PathBuf, PathBuf)>,
}

impl OutputFile {
    /// Begins what is to be at `path`.
    pub fn create(path: &Path) -> io::Result<OutputFile> {
        let path = followed(path)?;
        let there = match fs::metadata(&path) {
            Ok(there) => Some(there),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if let Some(there) = there.as_ref().filter(|there| !there.is_file()) {
            return Ok(OutputFile { to: existing(&path, there)?, new: None });
        }
        let mut beside = path.as_os_str().to_owned();
        beside.push(".part");
        let beside = PathBuf::from(beside);
        let file = File::create(&beside)?;
        hold().remove(&beside);
        let output = OutputFile { to: Box::new(file.try_clone()?), new: Some((file, beside.clone(), path)) };
        if let Some(there) = there {
            fs::set_permissions(&beside, there.permissions())?;
        }
        Ok(output)
    }

    /// It is complete and takes its place.
    pub fn finish(mut self) -> io::Result<()> {
        self.to.flush()?;
        if let Some((file, beside, path)) = &self.new {
            file.sync_all()?;
            let mut now = hold();
            fs::rename(beside, path)?;
            now.leave(beside);
            drop(now);
            self.new = None;
        }
        Ok(())
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some((_, beside, _)) = &self.new {
            // There is nobody to be told, and nothing else to be done.
            let _ = fs::remove_file(beside);
            hold().leave(beside);
        }
    }
}

/// What `path` links to, there or not.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(link) => path = path.parent().unwrap_or(Path::new("")).join(link),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

/// A device, a pipe or a socket to write to.
fn existing(path: &Path, there: &fs::Metadata) -> io::Result<Box<dyn Write + Send>> {
    if there.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory; expected a file"));
    }
    #[cfg(unix)]
    if std::os::unix::fs::FileTypeExt::is_socket(&there.file_type()) {
        return Ok(Box::new(std::os::unix::net::UnixStream::connect(path)?));
    }
    Ok(Box::new(OpenOptions::new().write(true).open(path)?))
}

/// Makes sure that a file may be written at `path`, before there is work done for it: folders on the way are made, and a
/// file that is there gives way only by `force`.
pub fn admit(path: &Path, force: bool) -> Result<(), Error> {
    let refused = |why: &dyn Display| Error::new(format!("{}: {why}", path.display()));
    if path.as_os_str() == "-" {
        return Err(refused(&"standard output is used for the answer; expected a file name"));
    }
    let followed = followed(path).map_err(|error| refused(&error))?;
    match fs::metadata(&followed) {
        Ok(there) if there.is_file() && !force => return Err(refused(&"already exists; --force overwrites it")),
        Ok(there) if there.is_file() => log::info!("overwriting {}", path.display()),
        Ok(there) if there.is_dir() => return Err(refused(&"it is a directory; expected a file")),
        // A device or a pipe is opened when there is something to write.
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let made = followed.parent().map_or(Ok(()), fs::create_dir_all);
            made.map_err(|error| refused(&format!("cannot create its folder: {error}")))?;
        }
        Err(error) => return Err(refused(&error)),
    }
    // Begun and given up at once: whether it can be written is known before the work.
    OutputFile::create(path).map(drop).map_err(|error| refused(&error))
}

/// Writes `bytes` to `path`, whole or not at all.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut output = OutputFile::create(path)?;
    output.write_all(bytes)?;
    output.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_gives_way_only_by_force() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/deep/f");
        let said = |path: &Path, force| admit(path, force).map_err(|error| error.to_string());
        assert_eq!(said(&path, false), Ok(()));
        fs::write(&path, "old").unwrap();
        assert!(said(&path, false).unwrap_err().ends_with("f: already exists; --force overwrites it"));
        assert_eq!(said(&path, true), Ok(()));
        assert!(said(&path.join("below"), true).unwrap_err().contains("directory"));
        assert!(said(folder.path(), true).unwrap_err().contains("it is a directory"));
        assert!(said(Path::new("-"), true).unwrap_err().contains("standard output"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    }

    #[test]
    fn a_file_is_replaced_whole_and_nothing_remains_of_one_that_failed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fs::write(&path, "old").unwrap();
        let mut output = OutputFile::create(&path).unwrap();
        output.write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        drop(output);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no .part");
        write_whole(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert!(write_whole(folder.path(), b"x").unwrap_err().to_string().contains("directory"));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_pipes_written_to() {
        use std::io::Read;
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink("there", at("link")).unwrap();
        symlink("link", at("second")).unwrap();
        write_whole(&at("second"), b"1").unwrap();
        assert_eq!(fs::read_to_string(at("there")).unwrap(), "1");
        assert!(fs::symlink_metadata(at("second")).unwrap().is_symlink());
        symlink("ring", at("ring")).unwrap();
        assert!(write_whole(&at("ring"), b"1").is_err());
        let socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        write_whole(&at("socket"), b"said").unwrap();
        let mut said = String::new();
        socket.accept().unwrap().0.read_to_string(&mut said).unwrap();
        assert_eq!(said, "said");
        write_whole(Path::new("/dev/null"), b"x").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
