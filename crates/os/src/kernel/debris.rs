//! Removes what a run has left that was killed (`kill -9`, or by the kernel when memory ran out): mounts, loop devices,
//! control groups and processes in them, sockets, a folder of media. From its beginning to its end a run keeps a note
//! that lists what it makes; [`remove_leftovers`] removes what the notes of finished runs name.
//!
//! Only what a note of a dead process names is touched, and only if it is still what it was: a folder of our name and
//! our owner, a mount of ours, a socket that nobody answers. After a restart of the machine mounts and processes are
//! gone, and only folders and sockets are removed. A note is a few lines, their words separated by tabs.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::{GroupParent, ProgramBounds, detach_loop_device, find_backing_file, group, process, run_tool_for_output};
use crate::outputs::{create_private, create_private_folder};

const TITLE: &str = "seekwise run 1";

/// Prefix of the folders that hold media.
pub const FOLDER: &str = "seekwise-crash-";

/// Source of the mounts of a served disk, as the system lists it.
pub(crate) const MOUNT_SOURCE: &str = "seekwise";

/// Something that a run makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DebrisItem {
    /// A folder with all that is in it, mounts too.
    Folder(PathBuf),
    /// A mount of a served disk on a folder of the user's.
    Fuse(PathBuf),
    /// The socket of a served disk.
    Socket(PathBuf),
}

/// A note of a run that is under way, removed with the run; it stays if a folder does.
#[derive(Debug)]
pub struct DebrisNote {
    /// The note's file; `None` if no folder took it.
    path: Option<PathBuf>,
    items: Vec<DebrisItem>,
}

/// Result of the cleanup after one note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CleanupResult {
    /// The process of the run, or the path of a note or folder.
    pub run: String,
    /// Actions, a sentence each.
    pub said: Vec<String>,
    /// Something could not be removed.
    pub failed: bool,
}

/// Folders of notes, which a restart of the machine empties.
pub(crate) fn note_folders() -> Vec<PathBuf> {
    let user_folder = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty());
    std::iter::once(PathBuf::from("/run"))
        .chain(user_folder.map(PathBuf::from))
        .map(|folder| folder.join("seekwise"))
        .collect()
}

/// Creates a note of this name in a folder for notes, which nobody else may read; an error if there is one.
pub(crate) fn create_note(folder: &Path, name: &str) -> io::Result<File> {
    match create_private_folder(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let metadata = fs::symlink_metadata(folder)?;
    if !metadata.is_dir() || metadata.uid() != geteuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "belongs to another user"));
    }
    // An earlier version made it for all to read.
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    create_private(&folder.join(name))
}

/// Folders of notes; the notes of other users are not for us.
#[derive(Default)]
pub(crate) struct FoldersByOwner {
    /// Folders of this user.
    pub own: Vec<PathBuf>,
    /// Folders of other users, each with the number of its owner.
    pub foreign: Vec<(PathBuf, u32)>,
}

/// Splits the folders that exist by their owners.
pub(crate) fn split_by_owner(folders: Vec<PathBuf>) -> FoldersByOwner {
    let mut split = FoldersByOwner::default();
    for folder in folders {
        match fs::symlink_metadata(&folder) {
            Ok(metadata) if metadata.is_dir() && metadata.uid() == geteuid().as_raw() => split.own.push(folder),
            Ok(metadata) => split.foreign.push((folder, metadata.uid())),
            Err(_) => {}
        }
    }
    split
}

fn read_boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

impl DebrisNote {
    /// Writes a note of what a run makes, and of the parent of its programs' control groups. If no folder takes the
    /// note there is none: such a run is not root's, and leaves little.
    pub fn write(items: &[DebrisItem], groups: &GroupParent) -> DebrisNote {
        let own = std::process::id();
        let mut text = format!(
            "{TITLE}\nboot\t{}\nprocess\t{own}\t{}\n",
            read_boot_id(),
            process::start_ticks(own as i32).unwrap_or_default()
        );
        if let Some(control) = groups.path() {
            text.push_str(&format!("control\t{}\n", control.display()));
        }
        for item in items {
            let (word, path) = match item {
                DebrisItem::Folder(path) => ("folder", path),
                DebrisItem::Fuse(path) => ("fuse", path),
                DebrisItem::Socket(path) => ("socket", path),
            };
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            // A path that does not fit a line is not cleared later.
            if let Some(path) = path.to_str().filter(|path| !path.contains(['\n', '\t'])) {
                text.push_str(&format!("{word}\t{path}\n"));
            }
        }
        let path = note_folders().into_iter().find_map(|folder| write_note(&folder, &text).ok());
        DebrisNote { path, items: items.to_vec() }
    }
}

/// Writes a note under the first free name of this process; a dead process that had our number keeps its notes.
fn write_note(folder: &Path, text: &str) -> io::Result<PathBuf> {
    let mut number = 0;
    loop {
        let name = format!("{}-{number}.run", std::process::id());
        match create_note(folder, &name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            made => return made.and_then(|mut file| file.write_all(text.as_bytes())).map(|()| folder.join(name)),
        }
    }
}

impl Drop for DebrisNote {
    fn drop(&mut self) {
        let stays = self.items.iter().any(|item| matches!(item, DebrisItem::Folder(folder) if folder.exists()));
        if let Some(path) = self.path.take().filter(|_| !stays) {
            let _ = fs::remove_file(path);
        }
    }
}

/// The content of a note: the run's process, and what it makes.
#[derive(Debug, Default, PartialEq, Eq)]
struct NoteContent {
    boot: String,
    process: i32,
    /// The start of that process, in ticks since the machine started.
    began: String,
    control_group: Option<PathBuf>,
    items: Vec<DebrisItem>,
}

/// Parses a note; `None` if it is no valid note of this version.
fn parse_note(text: &str) -> Option<NoteContent> {
    let mut lines = text.lines();
    (lines.next()? == TITLE).then_some(())?;
    let mut note = NoteContent::default();
    for line in lines {
        let words: Vec<&str> = line.split('\t').collect();
        let parse_path = |path: &str| {
            Some(PathBuf::from(path)).filter(|path| path.is_absolute() && !path.iter().any(|part| part == ".."))
        };
        match words[..] {
            ["boot", boot] => note.boot = boot.to_owned(),
            ["process", number, began] => (note.process, note.began) = (number.parse().ok()?, began.to_owned()),
            ["control", path] => note.control_group = Some(parse_path(path)?),
            ["folder", path] => note.items.push(DebrisItem::Folder(parse_path(path)?)),
            ["fuse", path] => note.items.push(DebrisItem::Fuse(parse_path(path)?)),
            ["socket", path] => note.items.push(DebrisItem::Socket(parse_path(path)?)),
            _ => return None,
        }
    }
    (note.process > 0).then_some(note)
}

/// Removes what this user's finished runs have left; with `dry_run` it only says what it would remove.
pub fn remove_leftovers(dry_run: bool) -> Vec<CleanupResult> {
    remove_leftovers_in(note_folders(), dry_run)
}

fn remove_leftovers_in(folders: Vec<PathBuf>, dry_run: bool) -> Vec<CleanupResult> {
    let folders = split_by_owner(folders);
    let entries = folders.own.into_iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let mut notes: Vec<PathBuf> =
        entries.map(|it| it.path()).filter(|it| it.extension() == Some(OsStr::new("run"))).collect();
    notes.sort();
    let left_alone = |(folder, owner): (PathBuf, u32)| {
        let who = if owner == 0 { "root".to_owned() } else { format!("user {owner}") };
        let said = vec![format!("belongs to {who}: left alone; expected `seekwise restore` by {who}")];
        CleanupResult { run: folder.display().to_string(), said, failed: false }
    };
    let cleaned = notes.iter().filter_map(|note| clean_up_after_note(note, dry_run));
    cleaned.chain(folders.foreign.into_iter().map(left_alone)).collect()
}

/// Removes what the run of this note has left, and the note; `None` if the note is gone.
fn clean_up_after_note(note: &Path, dry_run: bool) -> Option<CleanupResult> {
    let untouched =
        |why: String, failed: bool| Some(CleanupResult { run: note.display().to_string(), said: vec![why], failed });
    // The note may disappear at this moment, with its run.
    let metadata = fs::symlink_metadata(note).ok()?;
    if !metadata.is_file() || metadata.uid() != geteuid().as_raw() {
        return untouched("belongs to another user: left alone".to_owned(), false);
    }
    let text = fs::read_to_string(note).ok()?;
    let Some(content) = parse_note(&text) else {
        return untouched(format!("is no note of this version's; expected `{TITLE}`"), true);
    };
    let run = format!("process {}", content.process);
    let is_alive =
        content.boot == read_boot_id() && process::start_ticks(content.process).as_deref() == Some(&content.began);
    if is_alive {
        return Some(CleanupResult { run, said: vec!["is still at work: nothing done".to_owned()], failed: false });
    }
    let mut cleanup = DebrisCleanup { dry_run, said: Vec::new(), failed: false };
    if content.boot == read_boot_id() {
        cleanup.end_programs(&content);
        content.items.iter().for_each(|item| cleanup.remove_item(item));
    } else {
        // The restart removed mounts and processes, not what lies on a disk.
        content
            .items
            .iter()
            .filter(|item| !matches!(item, DebrisItem::Fuse(_)))
            .for_each(|item| cleanup.remove_item(item));
    }
    if !dry_run && !cleanup.failed {
        cleanup.failed = fs::remove_file(note).is_err();
    }
    if cleanup.said.is_empty() {
        cleanup.said.push("is over, and nothing is left of it".to_owned());
    }
    Some(CleanupResult { run, said: cleanup.said, failed: cleanup.failed })
}

/// Cleanup after one note, under way.
struct DebrisCleanup {
    dry_run: bool,
    said: Vec<String>,
    failed: bool,
}

/// A mount: its place, the type of its file system, and its source.
pub(super) struct MountEntry {
    pub(super) mount_point: PathBuf,
    kind: String,
    source: String,
}

/// Reads all mounts, in the order in which they were made (proc_pid_mountinfo(5)).
pub(super) fn read_mounts() -> Vec<MountEntry> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mount = |line: &str| {
        let (before, after) = line.split_once(" - ")?;
        let mount_point = before.split(' ').nth(4)?.replace("\\040", " ").into();
        let mut after = after.split(' ');
        Some(MountEntry { mount_point, kind: after.next()?.to_owned(), source: after.next()?.to_owned() })
    };
    text.lines().filter_map(mount).collect()
}

/// Returns the loop devices on a file, or on files below a folder.
pub(super) fn loop_devices_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let device_below = |entry: fs::DirEntry| {
        let file = fs::read_to_string(entry.path().join("loop/backing_file")).ok()?;
        Path::new(file.trim_end()).starts_with(folder).then(|| Path::new("/dev").join(entry.file_name()))
    };
    entries.filter_map(device_below).collect()
}

impl DebrisCleanup {
    /// Removes `what` by `remove`, unless nothing is to be done, and says so.
    fn remove_step(&mut self, what: &str, remove: impl FnOnce() -> Result<(), String>) {
        let result = if self.dry_run { Ok(()) } else { remove() };
        match (result, self.dry_run) {
            (Ok(()), true) => self.said.push(format!("would be taken away: {what}")),
            (Ok(()), false) => self.said.push(format!("taken away: {what}")),
            (Err(why), _) => {
                self.failed = true;
                self.said.push(format!("could not be taken away: {what}: {why}"));
            }
        }
    }

    /// Ends the processes that the run's programs began, and removes its control groups.
    fn end_programs(&mut self, note: &NoteContent) {
        let stays = || Err("something in it does not end".to_owned());
        let is_ours =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("seekwise-"));
        if let Some(control_group) = note.control_group.as_ref().filter(|path| is_ours(path) && path.is_dir()) {
            let what = format!("control group {} with all that runs in it", control_group.display());
            self.remove_step(&what, || if group::kill_and_remove_group(control_group) { Ok(()) } else { stays() });
        }
        let owner = format!("{}-{}", note.process, note.began);
        let left = group::processes_of_owner(&owner);
        if !left.is_empty() {
            let named: Vec<String> = left.into_iter().map(process::describe_process).collect();
            let what = format!("process {}", named.join(", "));
            self.remove_step(&what, || if group::kill_owner_processes(&owner) { Ok(()) } else { stays() });
        }
    }

    fn remove_item(&mut self, item: &DebrisItem) {
        match item {
            DebrisItem::Folder(folder) => self.remove_folder(folder),
            DebrisItem::Fuse(folder) => {
                let is_ours = |it: &MountEntry| {
                    it.mount_point == *folder && it.kind.starts_with("fuse") && it.source == MOUNT_SOURCE
                };
                if read_mounts().iter().any(is_ours) {
                    let devices: Vec<String> =
                        loop_devices_below(folder).iter().map(|it| it.display().to_string()).collect();
                    let used = format!("{} is on it, which is not ours; expected `losetup -d`", devices.join(", "));
                    let unmounted = || if devices.is_empty() { unmount(folder) } else { Err(used) };
                    self.remove_step(&format!("the mount on {}", folder.display()), unmounted);
                }
            }
            DebrisItem::Socket(path) => {
                let is_socket = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
                // Somebody else may have made a socket there since.
                if is_socket && UnixStream::connect(path).is_err() {
                    let remove_socket = || fs::remove_file(path).map_err(|error| error.to_string());
                    self.remove_step(&format!("the socket {}", path.display()), remove_socket);
                }
            }
        }
    }

    /// Removes a folder of media: mounts of file systems, the last one first; loop devices; mounts of disks; the
    /// folder.
    fn remove_folder(&mut self, folder: &Path) {
        let Ok(metadata) = fs::symlink_metadata(folder) else { return };
        let has_our_name = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(FOLDER));
        if !metadata.is_dir() || !has_our_name || metadata.uid() != geteuid().as_raw() {
            self.failed = true;
            return self.said.push(format!("{} is not ours: nothing done", folder.display()));
        }
        let mounts: Vec<MountEntry> =
            read_mounts().into_iter().rev().filter(|it| it.mount_point.starts_with(folder)).collect();
        let (disks, others): (Vec<&MountEntry>, Vec<&MountEntry>) =
            mounts.iter().partition(|it| it.kind.starts_with("fuse"));
        let unmount_step = |work: &mut DebrisCleanup, mount: &&MountEntry| {
            work.remove_step(&format!("the mount on {}", mount.mount_point.display()), || unmount(&mount.mount_point));
        };
        others.iter().for_each(|mount| unmount_step(self, mount));
        for path in loop_devices_below(folder) {
            let what = format!("loop device {}", path.display());
            let detach = || find_backing_file(&path).map_or(Ok(()), |file| detach_loop_device(&path, &file));
            self.remove_step(&what, detach);
        }
        disks.iter().for_each(|mount| unmount_step(self, mount));
        if !self.dry_run && read_mounts().iter().any(|it| it.mount_point.starts_with(folder)) {
            self.failed = true;
            return self.said.push(format!("{} stays: something is mounted in it", folder.display()));
        }
        let remove = || fs::remove_dir_all(folder).map_err(|error| error.to_string());
        self.remove_step(&format!("the folder {}", folder.display()), remove);
    }
}

/// Unmounts a folder, lazily if that fails: the mount then goes with its last user.
fn unmount(mount_point: &Path) -> Result<(), String> {
    let unmount_with = |options: &[&str]| {
        let words = options.iter().map(OsStr::new).chain([mount_point.as_os_str()]);
        run_tool_for_output("umount", words, ProgramBounds::thirty_seconds()).map(drop)
    };
    unmount_with(&[]).or_else(|_| unmount_with(&["-l"])).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    #[test]
    fn a_note_is_read_as_it_was_written_or_not_at_all() {
        let text = format!("{TITLE}\nboot\tb\nprocess\t12\t34\ncontrol\t/c/seekwise-12-34\nfolder\t/x/y\nsocket\t/s\n");
        let read = parse_note(&text).unwrap();
        assert_eq!((read.process, read.began.as_str(), read.items.len()), (12, "34", 2));
        for (from, to) in
            [("run 1", "run 9"), ("/x/y", "x/y"), ("/x/y", "/x/../y"), ("12\t34", "x\t34"), ("folder", "mount")]
        {
            assert_eq!(parse_note(&text.replace(from, to)), None, "{to}");
        }
    }

    #[test]
    fn a_note_takes_the_place_of_no_other() {
        let folder = tempfile::tempdir().unwrap();
        // The first could be that of a dead process with our number.
        let texts = ["first", "second", "third"];
        let paths = texts.map(|text| write_note(folder.path(), text).unwrap());
        assert_eq!(paths.each_ref().map(|path| fs::read_to_string(path).unwrap()), texts);
        fs::remove_file(&paths[1]).unwrap();
        assert_eq!(write_note(folder.path(), "fourth").unwrap(), paths[1]);
        assert!(write_note(&folder.path().join("no/folder"), "fifth").is_err());
    }

    #[test]
    fn nothing_is_taken_away_that_is_not_what_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let (file, other) = (folder.path().join("file"), folder.path().join("other"));
        fs::write(&file, "mine").unwrap();
        fs::create_dir(&other).unwrap();
        let heard = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
        let mut work = DebrisCleanup { dry_run: false, said: Vec::new(), failed: false };
        work.remove_item(&DebrisItem::Socket(file.clone()));
        work.remove_item(&DebrisItem::Socket(folder.path().join("socket")));
        work.remove_item(&DebrisItem::Fuse(other.clone()));
        assert!(!work.failed && work.said.is_empty(), "{:?}", work.said);
        work.remove_item(&DebrisItem::Folder(other.clone()));
        assert!(work.failed && work.said[0].ends_with("is not ours: nothing done"), "{:?}", work.said);
        assert!(file.exists() && other.exists() && folder.path().join("socket").exists());
        drop(heard);
        let media = folder.path().join(format!("{FOLDER}x"));
        fs::create_dir_all(media.join("check-0")).unwrap();
        for (dry_run, stays) in [(true, true), (false, false)] {
            let mut work = DebrisCleanup { dry_run, said: Vec::new(), failed: false };
            work.remove_item(&DebrisItem::Socket(folder.path().join("socket")));
            work.remove_item(&DebrisItem::Folder(media.clone()));
            assert!(work.said.len() == 2 && !work.failed, "{:?}", work.said);
            assert_eq!((media.exists(), folder.path().join("socket").exists()), (stays, stays));
        }
    }

    /// A shell stands for a program of a run that is over: the name of its owner, which is in its environment, is that
    /// of no other.
    #[test]
    fn programs_that_a_dead_run_left_are_named_and_ended() {
        let process = std::process::id() as i32;
        let read = NoteContent { process, began: "debris".to_owned(), ..NoteContent::default() };
        let mut left = Command::new("sh");
        left.args(["-c", "echo; read never"]).env("SEEKWISE_PROGRAM", format!("{process}-debris-1"));
        let mut left = left.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // It speaks when it is a shell: a process that is becoming one has no environment for a moment.
        left.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let named = format!("process {} (sh)", left.id());
        for (dry_run, said) in [
            (true, vec![format!("would be taken away: {named}")]),
            (false, vec![format!("taken away: {named}")]),
            (false, Vec::new()),
        ] {
            let mut work = DebrisCleanup { dry_run, said: Vec::new(), failed: false };
            work.end_programs(&read);
            assert_eq!((work.said, work.failed), (said, false));
            // Without its input it would end by itself.
            let ended = if dry_run { left.try_wait().unwrap() } else { Some(left.wait().unwrap()) };
            assert_eq!(ended.and_then(|status| status.signal()), (!dry_run).then_some(9));
        }
    }

    #[test]
    fn notes_are_their_owners_alone_and_those_of_others_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (own, foreign) = (folder.path().join("own"), folder.path().join("foreign"));
        fs::create_dir(&own).unwrap();
        fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
        let dead = format!("{TITLE}\nboot\tb\nprocess\t1\t2\n");
        create_note(&own, "1-0.run").unwrap().write_all(dead.as_bytes()).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&own), mode(&own.join("1-0.run"))), (0o700, 0o600));
        if !geteuid().is_root() {
            return eprintln!("skipped: notes of another user, which takes root");
        }
        fs::create_dir(&foreign).unwrap();
        fs::write(foreign.join("2-0.run"), &dead).unwrap();
        std::os::unix::fs::chown(&foreign, Some(65534), None).unwrap();
        assert!(create_note(&foreign, "3-0.run").is_err());
        let [ours, theirs] = &remove_leftovers_in(vec![own.clone(), foreign.clone()], false)[..] else { panic!() };
        assert!(!ours.failed && !own.join("1-0.run").exists(), "{ours:?}");
        assert!(!theirs.failed && foreign.join("2-0.run").exists(), "{theirs:?}");
        assert_eq!(theirs.said, ["belongs to user 65534: left alone; expected `seekwise restore` by user 65534"]);
    }
}
