//! Files that may come from somebody else, as those of a result folder do. No link is followed in the last component of a path,
//! only regular files are opened, and no opening waits, as that of a pipe without a writer would.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::reading;

/// Whether something has this name, also a link that leads nowhere.
pub fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Opens a file for reading.
pub fn open(path: &Path) -> io::Result<File> {
    open_as(path, OpenOptions::new().read(true))
}

/// Opens a file as `options` say. An error if a link, a folder, a device or a pipe has its name.
pub fn open_as(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    match path.symlink_metadata() {
        Ok(there) if there.is_symlink() => return Err(unfit("it is a link; expected the file itself")),
        Ok(there) if !there.is_file() => return Err(unfit("it is no regular file; expected one")),
        // Whether it may be missing, the options say.
        _ => {}
    }
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags.bits() as i32);
    }
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(unfit("it is no regular file; expected one")),
    }
}

/// The text of a file, no longer than a text may be ([`reading::whole`]).
pub fn text(path: &Path) -> io::Result<String> {
    let bytes = reading::whole(open(path)?)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error.utf8_error()))
}

/// An error if a folder is a link, perhaps out of the one that it lies in.
pub fn require_no_link(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(there) if there.is_symlink() => Err(unfit("it is a link; expected the folder itself")),
        _ => Ok(()),
    }
}

fn unfit(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, why)
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;

    #[test]
    fn only_regular_files_are_opened_and_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "text").unwrap();
        symlink("file", at("link")).unwrap();
        symlink("nowhere", at("lost")).unwrap();
        assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        assert_eq!(text(&at("file")).unwrap(), "text");
        let mut writing = OpenOptions::new();
        writing.append(true).create(true);
        for (name, why) in [("link", "a link"), ("lost", "a link"), ("pipe", "no regular file"), (".", "no regular")] {
            let said =
                [open(&at(name)), open_as(&at(name), &mut writing)].map(|opened| opened.unwrap_err().to_string());
            assert!(said.iter().all(|said| said.contains(why)), "{name}: {said:?}");
        }
        assert!(!at("nowhere").exists() && is_there(&at("lost")) && !is_there(&at("nowhere")));
        assert_eq!(open(&at("nowhere")).unwrap_err().kind(), ErrorKind::NotFound);
        assert!(require_no_link(&at("link")).is_err() && require_no_link(&at("nowhere")).is_ok());
    }
}
