//! Resolves the path of a file or device to its identity, its length and how it can be read; opens it. A file that the
//! options ask for (`real.layout`) is created when a run begins, after all checks that could refuse the run. Reading
//! never opens for writing. No file is grown, truncated or replaced.
//!
//! Whether a device may be written is decided by `probe`, a file by `claim`.

#![expect(clippy::disallowed_methods, reason = "opens the file or device of a run, which `claim` judges")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::{AtFlags, OFlags, StatxFlags, fstatfs, ioctl_blksszget, statvfs, statx};
use seekwise_disk::block::SECTOR;
use seekwise_disk::rng::Seed;

use super::pattern;
use crate::outputs::{OutputFile, mark_input};
use crate::system::in_use::FileIdentity;

/// Name of the file in a folder that is given for a file.
pub const DATA_FILE: &str = "seekwise.data";

/// Bytes written at once while a file is created.
const PIECE_BYTES: usize = 1 << 20;

/// Kind of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathKind {
    /// A regular file, or a folder that holds [`DATA_FILE`].
    File,
    /// A block device.
    Device,
}

/// A resolved path.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedPath {
    /// The path with links resolved, and with [`DATA_FILE`] in a folder.
    pub path: PathBuf,
    /// A file or a device: decides how it is opened.
    pub kind: PathKind,
    /// Device and inode as found when resolved; empty for a file before it is created.
    identity: Arc<OnceLock<FileIdentity>>,
    /// Whole sectors of 512 bytes.
    pub sectors: u64,
    /// Alignment of transfers past the page cache, in bytes; `None` if there can be none.
    pub direct_alignment: Option<u32>,
}

/// Resolves `path`. A missing file will be created with `layout` bytes, if so many are asked for.
pub(crate) fn resolve_path(path: &Path, kind: PathKind, layout: Option<u64>) -> Result<ResolvedPath, String> {
    let shown = path.display();
    let path = match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() && kind == PathKind::File => path.join(DATA_FILE),
        _ => path.to_owned(),
    };
    // A link of another name was named by the user. `DATA_FILE` is a name of ours: the file must lie in the folder.
    if fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink()) && path.ends_with(DATA_FILE) {
        return Err(format!("{}: is a link out of the folder; expected the file itself", path.display()));
    }
    if let (Some(bytes), PathKind::File) = (layout, kind)
        && fs::symlink_metadata(&path).is_err_and(|why| why.kind() == io::ErrorKind::NotFound)
    {
        return resolve_missing(&path, bytes);
    }
    let metadata = fs::metadata(&path).map_err(|why| missing_error(&path, kind, &why))?;
    let path = fs::canonicalize(&path).map_err(|why| format!("{shown}: {why}"))?;
    let shown = path.display();
    match kind {
        PathKind::File if metadata.file_type().is_block_device() => {
            return Err(format!("{shown}: is a block device; expected device:{shown}"));
        }
        PathKind::File if !metadata.is_file() => {
            return Err(format!("{shown}: is no regular file; expected one, or a folder"));
        }
        PathKind::Device if metadata.is_file() => {
            return Err(format!("{shown}: is a regular file; expected file:{shown}"));
        }
        PathKind::Device if !metadata.file_type().is_block_device() => {
            return Err(format!("{shown}: is no block device; expected one such as /dev/sdb"));
        }
        _ => {}
    }
    // The path could name a pipe by now, whose opening would wait for ever.
    let opened = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(&path);
    let mut file = opened.map_err(|why| format!("{shown}: cannot be opened for reading: {why}"))?;
    let identity = FileIdentity::from_metadata(&metadata);
    if file.metadata().map(|now| FileIdentity::from_metadata(&now)).ok() != Some(identity) {
        return Err(format!("{shown}: became another file while it was looked at"));
    }
    if kind == PathKind::File
        && let Some(name) = kernel_file_system_name(&file)
    {
        return Err(format!("{shown}: is a file of the kernel's ({name}); expected one on a disk"));
    }
    // The file is an input of the command, so that no output takes its place.
    mark_input(&metadata);
    let bytes = file.seek(SeekFrom::End(0)).map_err(|why| format!("{shown}: its length: {why}"))?;
    if bytes < SECTOR {
        return Err(format!("{shown}: holds {bytes} bytes; expected {LENGTH_EXPECTATION}"));
    }
    let direct_alignment = read_direct_alignment(&path, &file, kind);
    Ok(ResolvedPath { path, kind, identity: Arc::new(identity.into()), sectors: bytes / SECTOR, direct_alignment })
}

/// Resolves a file that is missing and can be created.
fn resolve_missing(path: &Path, bytes: u64) -> Result<ResolvedPath, String> {
    let shown = path.display();
    if bytes < SECTOR {
        return Err(format!("{shown}: {bytes} bytes are asked for (real.layout); expected a sector (512) or more"));
    }
    let (folder, name) = (folder_of(path), path.file_name().ok_or_else(|| format!("{shown}: expected a file's name"))?);
    let folder = fs::canonicalize(folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    let space = statvfs(&folder).map_err(|why| format!("{}: {}", folder.display(), io::Error::from(why)))?;
    let free_bytes = space.f_bavail.saturating_mul(space.f_frsize);
    if bytes > free_bytes {
        return Err(format!("{shown}: {bytes} bytes are asked for (real.layout), and {free_bytes} are free there"));
    }
    let path = folder.join(name);
    let probe = tempfile::tempfile_in(&folder).map_err(|why| format!("{shown}: cannot be made: {why}"))?;
    if let Some(name) = kernel_file_system_name(&probe) {
        return Err(format!("{shown}: is in a file system of the kernel's ({name}); expected one on a disk"));
    }
    let descriptor_path = format!("/proc/self/fd/{}", probe.as_raw_fd());
    let direct_alignment = read_direct_alignment(Path::new(&descriptor_path), &probe, PathKind::File);
    Ok(ResolvedPath { path, kind: PathKind::File, identity: Arc::default(), sectors: bytes / SECTOR, direct_alignment })
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the name of a file system whose files are interfaces of the kernel and no data (Linux
/// `include/uapi/linux/magic.h`).
fn kernel_file_system_name(file: &File) -> Option<&'static str> {
    const KERNEL_FILE_SYSTEMS: [(u32, &str); 12] = [
        (0x9fa0, "proc"),
        (0x6265_6572, "sysfs"),
        (0x6462_6720, "debugfs"),
        (0x7472_6163, "tracefs"),
        (0x7363_6673, "securityfs"),
        (0x0027_e0eb, "cgroup"),
        (0x6367_7270, "cgroup2"),
        (0xcafe_4a11, "bpf"),
        (0xde5e_81e4, "efivarfs"),
        (0x6265_6570, "configfs"),
        (0x6165_676c, "pstore"),
        (0xf97c_ff8c, "selinuxfs"),
    ];
    // Types differ between machines in width and sign.
    let kind = fstatfs(file).ok()?.f_type as u32;
    KERNEL_FILE_SYSTEMS.iter().find(|(number, _)| *number == kind).map(|(_, name)| *name)
}

/// The expectation in the error about a file that is too short.
const LENGTH_EXPECTATION: &str = "a file of at least one sector (`--set real.layout=1g` makes one where there is none)";

fn missing_error(path: &Path, kind: PathKind, error: &io::Error) -> String {
    let shown = path.display();
    match (error.kind(), kind) {
        (io::ErrorKind::NotFound, PathKind::File) => {
            format!(
                "{shown}: there is no such file; expected one, or `--set real.layout=SIZE` to have it made (1g, say)"
            )
        }
        _ => format!("{shown}: {error}"),
    }
}

/// Returns the alignment of direct transfers: as the kernel reports it (statx), else the device's logical sector, else
/// 512 bytes; `None` if a direct opening fails.
fn read_direct_alignment(path: &Path, file: &File, kind: PathKind) -> Option<u32> {
    File::options().read(true).custom_flags(OFlags::DIRECT.bits() as i32).open(path).ok()?;
    let reported = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok();
    let reported = reported.map(|reported| reported.stx_dio_offset_align).filter(|align| *align > 0);
    let sector = || ioctl_blksszget(file).ok().filter(|_| kind == PathKind::Device);
    Some(reported.or_else(sector).unwrap_or(SECTOR as u32).max(SECTOR as u32))
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathMode {
    /// For writing too.
    pub write: bool,
    /// Past the page cache.
    pub direct: bool,
}

impl ResolvedPath {
    /// Opens the file or device; an error if another one has its path by now. A writer has claimed it before (`claim`).
    pub fn open(&self, mode: PathMode) -> Result<File, String> {
        let mut flags = OFlags::CLOEXEC | OFlags::NOCTTY;
        flags.set(OFlags::DIRECT, mode.direct);
        let opened = OpenOptions::new().read(true).write(mode.write).custom_flags(flags.bits() as i32).open(&self.path);
        let file = opened.map_err(|why| {
            let (what, path) = (if mode.write { "writing" } else { "reading" }, self.path.display());
            let direct = if mode.direct { " past the page cache (direct=1)" } else { "" };
            format!("{path}: cannot be opened for {what}{direct}: {why}")
        })?;
        self.check_identity(&file)?;
        Ok(file)
    }

    /// Identity of the file or device; `None` for a file before it is created.
    pub fn identity(&self) -> Option<FileIdentity> {
        self.identity.get().copied()
    }

    /// Creates the file if it is to be created and is missing. True if it was created.
    pub(crate) fn create_if_missing(&self) -> Result<bool, String> {
        if self.identity().is_some() {
            return Ok(false);
        }
        let is_missing = fs::symlink_metadata(&self.path).is_err();
        if is_missing {
            let written =
                OutputFile::create(&self.path, false).and_then(|file| write_pattern(file, self.sectors * SECTOR));
            written.map_err(|why| format!("{}: cannot be made: {why}", self.path.display()))?;
        }
        // An earlier run of this command, or another program, may have made a file of that name.
        let created = resolve_path(&self.path, PathKind::File, None)?;
        if created.sectors < self.sectors {
            let (has, expected) = (created.sectors * SECTOR, self.sectors * SECTOR);
            return Err(format!("{}: holds {has} bytes; expected {expected} (real.layout)", self.path.display()));
        }
        if let Some(identity) = created.identity() {
            let _ = self.identity.set(identity);
        }
        Ok(is_missing)
    }

    /// Checks that an open file is the file or device that was resolved.
    pub(crate) fn check_identity(&self, file: &File) -> Result<(), String> {
        let now = file.metadata().map_err(|why| format!("{}: {why}", self.path.display()))?;
        match Some(FileIdentity::from_metadata(&now)) == self.identity() {
            true => Ok(()),
            false => Err(format!("{}: is another file than the one that was looked at", self.path.display())),
        }
    }
}

/// Writes the pattern to a new file and completes it.
fn write_pattern(mut output: OutputFile, bytes: u64) -> io::Result<()> {
    let mut piece = vec![0; PIECE_BYTES];
    pattern::fill_pattern(&mut piece, Seed(0));
    let mut left = bytes;
    let mut number = 0;
    while left > 0 {
        pattern::stamp_pages(&mut piece, number);
        let length = left.min(PIECE_BYTES as u64);
        output.write_all(&piece[..length as usize])?;
        left -= length;
        number += 1;
    }
    output.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real::claim;

    fn direct_of(folder: &Path) -> Option<u32> {
        let path = folder.join("probe");
        fs::write(&path, vec![0; 4096]).unwrap();
        let direct = resolve_path(&path, PathKind::File, None).unwrap().direct_alignment;
        fs::remove_file(path).unwrap();
        direct
    }

    fn beginning(path: &Path) -> Vec<u8> {
        fs::read(path).unwrap()[..8].to_vec()
    }

    #[test]
    fn a_file_is_made_once_and_found_in_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let said = resolve_path(folder.path(), PathKind::File, None).unwrap_err();
        assert!(said.contains("seekwise.data: there is no such file") && said.contains("real.layout=SIZE"), "{said}");
        let found = resolve_path(folder.path(), PathKind::File, Some(3 << 20)).unwrap();
        assert!(
            found.sectors == 6144 && found.identity().is_none() && found.direct_alignment == direct_of(folder.path())
        );
        assert_eq!(claim::may_write(&found, None), Ok(()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "a plan makes nothing");
        assert_eq!((found.create_if_missing(), found.create_if_missing()), (Ok(true), Ok(false)));
        assert_eq!((found.sectors, beginning(&found.path)), (6144, pattern::MARK.to_vec()));
        assert_eq!(claim::may_write(&found, None), Ok(()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        // What is there stays as long as it is.
        assert_eq!(resolve_path(folder.path(), PathKind::File, Some(9 << 20)).unwrap().sectors, 6144);
        let longer = resolve_path(&folder.path().join("longer"), PathKind::File, Some(9 << 20)).unwrap();
        fs::copy(&found.path, folder.path().join("longer")).unwrap();
        assert!(longer.create_if_missing().unwrap_err().contains("holds 3145728 bytes; expected 9437184"));
        fs::remove_file(folder.path().join("longer")).unwrap();
        let said = resolve_path(&folder.path().join("big"), PathKind::File, Some(1 << 60)).unwrap_err();
        assert!(said.contains("are free there"), "{said}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_something_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let said = |path: &Path, kind| resolve_path(path, kind, None).unwrap_err();
        fs::write(at("thesis"), vec![b'x'; 9000]).unwrap();
        assert!(claim::may_write(&resolve_path(&at("thesis"), PathKind::File, None).unwrap(), None).is_err());
        assert!(said(&at("thesis"), PathKind::Device).contains("is a regular file; expected file:"));
        fs::write(at("short"), "x").unwrap();
        assert!(said(&at("short"), PathKind::File).contains("holds 1 bytes"));
        assert!(said(Path::new("/dev/null"), PathKind::File).contains("is no regular file"));
        assert!(said(Path::new("/proc/version"), PathKind::File).contains("is a file of the kernel's (proc)"));
        assert!(said(Path::new("/dev/null"), PathKind::Device).contains("is no block device"));
        std::os::unix::fs::symlink(at("thesis"), at(DATA_FILE)).unwrap();
        assert!(said(folder.path(), PathKind::File).contains("is a link out of the folder"));
    }
}
