//! Makes all files and folders that a command writes; clippy refuses the standard library's own functions elsewhere.
//!
//! - **Whole or not at all.** [`OutputFile`] is written next to its final name and renamed when it is complete. The
//!   temporary file has a random name and is made with `O_EXCL`, so it never takes the place of another.
//! - **Regular files only.** No link is followed in the last component of a path. Devices, pipes and sockets are
//!   refused. `/dev/null`, and descriptors that the caller opened (`/dev/stdout`, `/dev/stderr`, a pipe in `/dev/fd`),
//!   are written to.
//! - **Nothing in use.** A file is refused, whatever `force` says, if it is an input or another output of the same
//!   command ([`guard_files`]), below a loop device, swap, or open for writing in another program. `file_roles` lists
//!   inputs and outputs.
//!
//! [`create_private`] makes a file for its owner alone, [`create_private_folder`] a folder.
//! The kernel's own files (`/proc`, `/sys`) and real devices are no outputs: `real` and `kernel` open them.
//!
//! Source: open(2), rename(2), proc_pid_fd(5).

#![expect(clippy::disallowed_methods, reason = "other rooms write through this one")]

mod file_roles;

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempDir};

#[cfg(target_os = "linux")]
pub(crate) use self::file_roles::{FileStamp, is_recorded_own, record_as_own};
pub use self::file_roles::{guard_files, mark_input};
use self::file_roles::{is_input, mark_output};
use crate::unfinished::lock_unfinished;

/// A file that is being written.
pub struct OutputFile {
    file: File,
    /// The temporary file; `None` for a descriptor that the caller opened.
    part: Option<PartFile>,
}

/// A temporary file, and the final name that it is to have.
struct PartFile {
    /// `None` once it has that name.
    new: Option<NamedTempFile>,
    path: PathBuf,
    force: bool,
}

impl OutputFile {
    /// Begins a file for `path`; an existing file is replaced only by `force`. See [`prepare_output`] for what is
    /// refused.
    pub fn create(path: &Path, force: bool) -> io::Result<OutputFile> {
        OutputFile::begin(path, force, false)
    }

    /// Begins a file for its owner alone; otherwise as [`OutputFile::create`].
    pub fn create_private(path: &Path, force: bool) -> io::Result<OutputFile> {
        OutputFile::begin(path, force, true)
    }

    fn begin(path: &Path, force: bool, is_private: bool) -> io::Result<OutputFile> {
        if let Some(file) = open_caller_descriptor(path)? {
            return Ok(OutputFile { file, part: None });
        }
        let metadata = find_replaceable(path, force)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix("seekwise-").suffix(".part").rand_bytes(12);
        #[cfg(unix)]
        if metadata.is_none() && !is_private {
            // The mode of any new file, less the umask. A replacement is private until it has the former file's owner,
            // group and mode.
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        }
        // Created under the lock, so that a signal handler that ends the process finds it on the list.
        let mut unfinished = lock_unfinished();
        let new = builder.tempfile_in(folder_of(path))?;
        unfinished.add(new.path());
        drop(unfinished);
        let file = new.as_file().try_clone();
        let part = PartFile { new: Some(new), path: path.to_owned(), force };
        let output = OutputFile { file: file?, part: Some(part) };
        #[cfg(unix)]
        if let Some(metadata) = metadata {
            use std::os::unix::fs::{MetadataExt, PermissionsExt};
            // Group and others keep their rights only if owner and group are kept.
            let kept = std::os::unix::fs::fchown(&output.file, Some(metadata.uid()), Some(metadata.gid()));
            let mode = metadata.mode() & if kept.is_ok() { 0o777 } else { 0o700 };
            output.file.set_permissions(fs::Permissions::from_mode(mode))?;
        }
        Ok(output)
    }

    /// The file, for data that are not written from its beginning to its end.
    pub fn as_file(&self) -> &File {
        &self.file
    }

    /// Completes the file and renames it, unless something forbids that by now.
    pub fn finish(mut self) -> io::Result<()> {
        self.file.flush()?;
        let Some(PartFile { new, path, force }) = &mut self.part else { return Ok(()) };
        self.file.sync_all()?;
        find_replaceable(path, *force)?;
        let Some(part) = new.take() else { return Ok(()) };
        let temporary_name = part.path().to_owned();
        let mut unfinished = lock_unfinished();
        let renamed = if *force { part.persist(&*path) } else { part.persist_noclobber(&*path) };
        let renamed = renamed.or_else(|failed| match failed.error.kind() {
            io::ErrorKind::AlreadyExists => Err(exists_error()),
            // This file system can neither refuse to replace nor link: the check above found the name free.
            _ if !*force => failed.file.persist(&*path).map_err(|failed| failed.error),
            _ => Err(failed.error),
        });
        unfinished.take_off(&temporary_name);
        renamed.map(drop)
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if let Some(new) = self.new.take() {
            let name = new.path().to_owned();
            // Nobody could be told, and nothing else be done.
            let _ = new.close();
            lock_unfinished().take_off(&name);
        }
    }
}

/// Writes `bytes` to `path`, whole or not at all; an existing file is replaced only by `force`.
pub fn write_whole(path: &Path, bytes: &[u8], force: bool) -> io::Result<()> {
    let mut output = OutputFile::create(path, force)?;
    output.write_all(bytes)?;
    output.finish()
}

/// Makes sure that a file may be written at `path`, before work is done for it: refuses to replace a file without
/// `force`, creates its folders, and notes it as an output of the command. Each output is prepared once.
pub fn prepare_output(path: &Path, force: bool) -> io::Result<()> {
    if path.as_os_str() == "-" {
        return Err(invalid_input("standard output is used for the answer; expected a file name"));
    }
    if open_caller_descriptor(path)?.is_some() {
        return Ok(());
    }
    match find_replaceable(path, force)? {
        Some(_) => log::info!("overwriting {}", path.display()),
        None => fs::create_dir_all(folder_of(path))
            .map_err(|error| io::Error::new(error.kind(), format!("cannot create its folder: {error}")))?,
    }
    mark_output(path)?;
    // Created and removed at once, to know before the work whether it can be written.
    OutputFile::create(path, force).map(drop)
}

/// Opens a regular file for reading; follows no link in the last component and never waits for a pipe. For folders that
/// somebody else may have made.
pub fn open_read(path: &Path) -> io::Result<File> {
    open_regular(path, OpenOptions::new().read(true), false)
}

/// Opens a regular file for reading and appending, and creates it if there is none; follows no link, and refuses a file
/// that has other names too, which would change with it.
pub fn open_append(path: &Path) -> io::Result<File> {
    open_regular(path, OpenOptions::new().create(true).read(true).append(true), true)
}

/// Opens an existing regular file for reading and writing in place, under the rules of [`open_append`].
pub fn open_update(path: &Path) -> io::Result<File> {
    open_regular(path, OpenOptions::new().read(true).write(true), true)
}

/// Opens a regular file for reading and writing in place that outlives the command, such as a disk's image: created if
/// there is none, for its owner alone, and refused if it is in use or an input.
pub fn open_image(path: &Path) -> io::Result<(File, NewFile)> {
    if find_replaceable(path, true)?.is_none() {
        return Ok((create_private(path)?, NewFile(Some(path.to_owned()))));
    }
    Ok((open_update(path)?, NewFile(None)))
}

/// A file that the command has created, if it has; removed when dropped, unless it is kept.
#[derive(Debug)]
pub struct NewFile(Option<PathBuf>);

impl NewFile {
    /// Keeps the file.
    pub fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // Nobody could be told, and nothing else be done.
            let _ = fs::remove_file(path);
        }
    }
}

fn open_regular(path: &Path, options: &mut OpenOptions, writes: bool) -> io::Result<File> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => require_regular(path, &metadata)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32);
    }
    let file = options.open(path)?;
    let opened = file.metadata()?;
    require_regular(path, &opened)?;
    #[cfg(unix)]
    if writes && std::os::unix::fs::MetadataExt::nlink(&opened) > 1 {
        return Err(invalid_input("has other names too (hard links), which would change with it; expected a copy"));
    }
    #[cfg(not(unix))]
    let _ = writes;
    Ok(file)
}

/// Creates a file for its owner alone, open for reading and writing; never takes an existing one.
pub fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Opens a folder to lock it; a link is refused.
#[cfg(unix)]
pub fn open_folder(path: &Path) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    let flags = (OFlags::NOFOLLOW | OFlags::DIRECTORY).bits() as i32;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Opens a folder to lock it.
#[cfg(windows)]
pub fn open_folder(path: &Path) -> io::Result<File> {
    use std::os::windows::fs::OpenOptionsExt;
    /// Without it, no folder is opened (`FILE_FLAG_BACKUP_SEMANTICS`).
    const FOLDERS_TOO: u32 = 0x0200_0000;
    OpenOptions::new().read(true).custom_flags(FOLDERS_TOO).open(path)
}

/// Returns the process that holds the lock of an open file or folder, if the system tells.
pub fn lock_holder(locked: &File) -> Option<u32> {
    #[cfg(target_os = "linux")]
    {
        use crate::system::in_use::{FileIdentity, lock_holder};
        lock_holder(FileIdentity::from_metadata(&locked.metadata().ok()?), &crate::system::SystemRoot::this_machine())
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = locked;
        None
    }
}

/// Creates a folder, and those on the way to it; an existing one stays. See [`check_output_folder`] for what is
/// refused.
pub fn create_folder(path: &Path) -> io::Result<()> {
    check_output_folder(path)?;
    fs::create_dir_all(path)
}

/// Refuses a path at which there is something other than a folder; a link is refused, wherever it leads.
pub fn check_output_folder(path: &Path) -> io::Result<()> {
    // Without the last `/`, by which a link would be followed.
    let path: PathBuf = path.components().collect();
    match fs::symlink_metadata(&path) {
        Ok(metadata) if metadata.is_symlink() => Err(link_error(&path)),
        Ok(metadata) if !metadata.is_dir() => Err(invalid_input("it is a file; expected a folder")),
        _ => Ok(()),
    }
}

/// Creates a folder for its owner alone; never takes an existing one.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    let builder = &mut DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(builder, 0o700);
    builder.create(path)
}

/// Creates a folder for its owner alone, under a name that nobody can guess; removed when dropped.
pub fn create_scratch(parent: &Path, prefix: &str) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir_in(parent)
}

/// A folder that is removed when dropped, and listed as unfinished meanwhile.
#[derive(Debug)]
pub struct ScratchFolder(TempDir);

impl ScratchFolder {
    /// The folder's path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        lock_unfinished().take_off(self.0.path());
    }
}

/// Creates a folder of the system's temporary folder for its owner alone; removed when dropped, or if the process is
/// ended by a signal.
pub fn create_temporary_folder() -> io::Result<ScratchFolder> {
    let folder = create_scratch(&std::env::temp_dir(), "seekwise-");
    let folder =
        folder.map_err(|error| io::Error::new(error.kind(), format!("cannot create a temporary folder: {error}")))?;
    lock_unfinished().add(folder.path());
    Ok(ScratchFolder(folder))
}

/// Creates a folder for those who may enter its parent: with the parent's group and mode.
#[cfg(unix)]
pub fn create_like_parent(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    create_private_folder(path)?;
    let parent = fs::metadata(folder_of(path))?;
    std::os::unix::fs::chown(path, None, Some(parent.gid()))?;
    fs::set_permissions(path, fs::Permissions::from_mode(parent.mode() & 0o777))
}

/// Returns the file at a path if it may be replaced, and `None` if there is none; an error if it may not.
fn find_replaceable(path: &Path, force: bool) -> io::Result<Option<Metadata>> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    require_regular(path, &metadata)?;
    if is_input(&metadata) {
        return Err(invalid_input("this command reads it; expected another file"));
    }
    if !force {
        return Err(exists_error());
    }
    let uses = current_uses(&metadata);
    match uses.is_empty() {
        true => Ok(Some(metadata)),
        false => {
            Err(invalid_input(format!("{}; expected a file that nothing uses, whatever --force says", uses.join(", "))))
        }
    }
}

/// Describes the system's uses of a file now, a phrase each.
#[cfg(target_os = "linux")]
fn current_uses(metadata: &Metadata) -> Vec<String> {
    use crate::system::in_use::{FileIdentity, describe_file_uses};
    describe_file_uses(FileIdentity::from_metadata(metadata), &crate::system::SystemRoot::this_machine())
}

#[cfg(not(target_os = "linux"))]
fn current_uses(_: &Metadata) -> Vec<String> {
    Vec::new()
}

/// Refuses all but a regular file.
fn require_regular(path: &Path, metadata: &Metadata) -> io::Result<()> {
    let kind = metadata.file_type();
    match () {
        () if kind.is_file() => Ok(()),
        () if kind.is_symlink() => Err(link_error(path)),
        () if kind.is_dir() => Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory; expected a file")),
        () => Err(invalid_input(format!("it is {}; expected a file", special_file_words(kind)))),
    }
}

#[cfg(unix)]
fn special_file_words(kind: fs::FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match () {
        () if kind.is_block_device() => "a block device",
        () if kind.is_char_device() => "a character device",
        () if kind.is_fifo() => "a pipe, which `>(command)` of a shell reaches",
        () => "a socket",
    }
}

#[cfg(not(unix))]
fn special_file_words(_: fs::FileType) -> &'static str {
    "no regular file"
}

fn link_error(path: &Path) -> io::Error {
    let target = fs::read_link(path).map_or("another place".to_owned(), |target| target.display().to_string());
    invalid_input(format!("it is a link to {target}; expected the file or folder itself"))
}

fn exists_error() -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, "already exists; --force overwrites it")
}

fn invalid_input(why: impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why.to_string())
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Opens a descriptor that the caller opened, or `/dev/null`; `None` for any other path.
#[cfg(unix)]
fn open_caller_descriptor(path: &Path) -> io::Result<Option<File>> {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileTypeExt;
    let number = ["/dev/fd", "/proc/self/fd"].iter().find_map(|folder| path.strip_prefix(folder).ok()?.to_str());
    let copy = |opened: std::os::fd::BorrowedFd<'_>| opened.try_clone_to_owned().map(|copy| Some(File::from(copy)));
    match (path.to_str(), number) {
        (Some("/dev/null"), _) => OpenOptions::new().write(true).open(path).map(Some),
        (Some("/dev/stdout"), _) | (_, Some("1")) => copy(io::stdout().as_fd()),
        (Some("/dev/stderr"), _) | (_, Some("2")) => copy(io::stderr().as_fd()),
        // Only a pipe: a file opened anew could be one that is only read.
        (_, Some(_)) if fs::metadata(path)?.file_type().is_fifo() => open_pipe(path).map(Some),
        _ => Ok(None),
    }
}

/// Opens a pipe without waiting for a reader.
#[cfg(unix)]
fn open_pipe(path: &Path) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    let pipe = options.write(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)?;
    rustix::fs::fcntl_setfl(&pipe, OFlags::empty())?;
    Ok(pipe)
}

#[cfg(not(unix))]
fn open_caller_descriptor(_: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said<T>(result: io::Result<T>) -> String {
        result.map(drop).map_err(|error| error.to_string()).unwrap_err()
    }

    #[test]
    fn what_is_there_gives_way_only_by_force() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/deep/f");
        prepare_output(&path, false).unwrap();
        assert_eq!(fs::read_dir(folder.path().join("new/deep")).unwrap().count(), 0);
        fs::write(&path, "old").unwrap();
        assert_eq!(said(prepare_output(&path, false)), "already exists; --force overwrites it");
        assert_eq!(said(write_whole(&path, b"new", false)), "already exists; --force overwrites it");
        prepare_output(&path, true).unwrap();
        assert!(prepare_output(&path.join("below"), true).is_err());
        assert!(said(prepare_output(folder.path(), true)).contains("it is a directory"));
        assert!(said(prepare_output(Path::new("-"), true)).contains("standard output"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        // A file that came meanwhile stays.
        let late = folder.path().join("late");
        let mut output = OutputFile::create(&late, false).unwrap();
        output.write_all(b"new").unwrap();
        fs::write(&late, "theirs").unwrap();
        assert_eq!(said(output.finish()), "already exists; --force overwrites it");
        assert_eq!(fs::read_to_string(&late).unwrap(), "theirs");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_file_is_replaced_whole_and_nothing_remains_of_one_that_failed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fs::write(&path, "old").unwrap();
        let mut output = OutputFile::create(&path, true).unwrap();
        output.write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(lock_unfinished().paths().iter().filter(|part| part.starts_with(folder.path())).count(), 1);
        drop(output);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no part");
        write_whole(&path, b"new", true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(lock_unfinished().paths().iter().filter(|part| part.starts_with(folder.path())).count(), 0);
    }

    /// Whatever `--force` says: a path is looked at again when the work is done.
    #[cfg(unix)]
    #[test]
    fn what_came_meanwhile_and_is_no_file_of_ours_to_replace_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let cases = [("link", "a link to theirs"), ("socket", "a socket"), ("input", "this command reads it")];
        let begun = cases.map(|(name, _)| {
            let mut output = OutputFile::create(&at(name), true).unwrap();
            output.write_all(b"new").unwrap();
            output
        });
        fs::write(at("theirs"), "theirs").unwrap();
        std::os::unix::fs::symlink("theirs", at("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        fs::write(at("input"), "mine").unwrap();
        guard_files(|| {
            mark_input(&fs::metadata(at("input")).unwrap());
            for (output, (name, why)) in begun.into_iter().zip(cases) {
                let refused = said(output.finish());
                assert!(refused.contains(why), "{name}: {refused}");
            }
        });
        assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
        assert!(!fs::symlink_metadata(at("socket")).unwrap().is_file());
        let read = |name: &str| fs::read_to_string(at(name)).unwrap();
        assert_eq!((&*read("theirs"), &*read("input")), ("theirs", "mine"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4, "no part is left");
    }

    #[test]
    fn an_input_is_no_output_by_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("job"), "mine").unwrap();
        fs::hard_link(at("job"), at("other")).unwrap();
        guard_files(|| {
            mark_input(&fs::metadata(at("job")).unwrap());
            for (name, force) in [("job", true), ("job", false), ("other", true)] {
                assert_eq!(
                    said(prepare_output(&at(name), force)),
                    "this command reads it; expected another file",
                    "{name}"
                );
            }
            assert!(open_image(&at("job")).is_err());
        });
        // Another command.
        guard_files(|| write_whole(&at("job"), b"new", true)).unwrap();
        assert_eq!(fs::read_to_string(at("other")).unwrap(), "mine");
    }

    #[test]
    fn two_outputs_of_a_command_have_two_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("below")).unwrap();
        guard_files(|| {
            prepare_output(&at("out"), false).unwrap();
            for name in ["out", "./out", "below/../out"] {
                let why = said(prepare_output(&at(name), true));
                assert_eq!(why, "another output of this command goes there; expected two files", "{name}");
            }
            prepare_output(&at("below/out"), false).unwrap();
            #[cfg(unix)]
            {
                std::os::unix::fs::symlink("below", at("way")).unwrap();
                assert!(said(prepare_output(&at("way/out"), false)).starts_with("another output"));
            }
        });
        // Another command.
        guard_files(|| prepare_output(&at("out"), false)).unwrap();
    }

    /// As root, else the owner is the same anyway.
    #[cfg(unix)]
    #[test]
    fn a_file_that_replaces_another_has_its_owner_group_and_mode() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fs::write(&path, "old").unwrap();
        // Only root may.
        let _ = chown(&path, Some(12345), Some(54321));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let of = || fs::metadata(&path).map(|of| (of.uid(), of.gid(), of.mode() & 0o7777)).unwrap();
        let before = of();
        write_whole(&path, b"new", true).unwrap();
        assert_eq!((of(), &*fs::read_to_string(&path).unwrap()), (before, "new"));
    }

    #[cfg(unix)]
    #[test]
    fn links_and_special_files_are_refused() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("there"), "mine").unwrap();
        fs::create_dir(at("folder")).unwrap();
        symlink("there", at("link")).unwrap();
        symlink("nowhere", at("dangling")).unwrap();
        symlink("folder", at("way")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        for (name, why) in [("link", "a link to there"), ("dangling", "a link to nowhere"), ("socket", "a socket")] {
            assert!(said(prepare_output(&at(name), true)).contains(why), "{name}");
            assert!(said(open_append(&at(name))).contains(why), "{name}");
            assert!(said(open_image(&at(name))).contains(why), "{name}");
        }
        assert!(said(open_read(&at("pipe"))).contains("it is a pipe"));
        assert!(said(prepare_output(Path::new("/dev/zero"), true)).contains("a character device"));
        for name in ["way", "way/"] {
            assert!(said(create_folder(&at(name))).contains("a link to folder"), "{name}");
        }
        create_folder(&at("way/below")).unwrap();
        write_whole(&at("way/below/f"), b"x", false).unwrap();
        assert!(!at("nowhere").exists() && fs::read_to_string(at("there")).unwrap() == "mine");
        fs::hard_link(at("there"), at("second")).unwrap();
        assert!(said(open_append(&at("second"))).contains("hard links"));
        write_whole(Path::new("/dev/null"), b"x", false).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        drop(open_image(&at("image")).unwrap());
        assert!(!at("image").exists(), "what it was made for never began");
        open_image(&at("image")).unwrap().1.keep();
        let image = fs::metadata(at("image")).unwrap();
        assert_eq!(image.permissions().mode() & 0o777, 0o600);
        drop(open_image(&at("image")).unwrap());
        assert!(at("image").exists());
        create_private(&at("own")).unwrap();
        create_private_folder(&at("alone")).unwrap();
        let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("own"), mode("alone")), (0o600, 0o700));
        assert!(create_private(&at("own")).is_err() && create_private_folder(&at("alone")).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_another_program_writes_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fs::write(&path, "theirs").unwrap();
        let file = OpenOptions::new().append(true).open(&path).unwrap();
        let mut program = std::process::Command::new("sleep").arg("1000").stdout(file).spawn().unwrap();
        let refused = [said(prepare_output(&path, true)), said(open_image(&path))];
        program.kill().unwrap();
        program.wait().unwrap();
        assert!(refused.iter().all(|why| why.contains("has it open for writing")), "{refused:?}");
        write_whole(&path, b"ours", true).unwrap();
    }
}
