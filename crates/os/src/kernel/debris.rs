//! What a run leaves that was killed (`kill -9`, or the machine's last memory): mounts, loop devices, control groups and what runs in them,
//! sockets, a folder of media. A note says what a run has made, from its beginning to its end; [`clear`] takes away what notes of runs
//! name that are over.
//!
//! Nothing is touched but what a note names, of a process that is gone, in this start of the machine; and of that only what is what it was: a
//! folder of our name and our owner, a mount of ours, a socket that nobody answers. A note is a few lines, its words apart by tabs.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::geteuid;

use super::{ProgramBounds, group, process, tool};
use crate::outputs::{create_folder, create_private};

const TITLE: &str = "seekwise run 1";

/// How the folders are called that hold media.
pub const FOLDER: &str = "seekwise-crash-";

/// What the mounts of a served disk are called in the system's list.
pub const SOURCE: &str = "seekwise";

/// Something that a run makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DebrisItem {
    /// A folder with all that is in it, mounts too.
    Folder(PathBuf),
    /// A mount of a served disk on a folder of the user's.
    Fuse(PathBuf),
    Socket(PathBuf),
}

/// A note of a run that is under way; it goes with the run, and stays where a folder does.
#[derive(Debug)]
pub struct DebrisNote {
    path: Option<PathBuf>,
    made: Vec<DebrisItem>,
}

/// What became of what a note names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CleanupResult {
    /// Whose it was.
    pub run: String,
    /// What was done, a sentence each.
    pub said: Vec<String>,
    /// Something could not be taken away.
    pub failed: bool,
}

/// Where notes lie: what is there is gone when the machine starts anew.
pub(crate) fn folders() -> Vec<PathBuf> {
    let own = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty());
    std::iter::once(PathBuf::from("/run")).chain(own.map(PathBuf::from)).map(|folder| folder.join("seekwise")).collect()
}

fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

impl DebrisNote {
    /// Writes one. Where no folder takes it there is none: such a run is not root's, and leaves little.
    pub fn write(made: &[DebrisItem]) -> DebrisNote {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let own = std::process::id();
        let name = format!("{own}-{}.run", NEXT.fetch_add(1, Ordering::Relaxed));
        let mut text =
            format!("{TITLE}\nboot\t{}\nprocess\t{own}\t{}\n", boot(), process::began(own as i32).unwrap_or_default());
        // Programs run where there is a folder.
        let runs = made.iter().any(|made| matches!(made, DebrisItem::Folder(_)));
        if let Some(control) = runs.then(group::parent).flatten() {
            text.push_str(&format!("control\t{}\n", control.display()));
        }
        for made in made {
            let (word, path) = match made {
                DebrisItem::Folder(path) => ("folder", path),
                DebrisItem::Fuse(path) => ("fuse", path),
                DebrisItem::Socket(path) => ("socket", path),
            };
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            // A name that cannot stand in a line is not cleared later.
            if let Some(path) = path.to_str().filter(|path| !path.contains(['\n', '\t'])) {
                text.push_str(&format!("{word}\t{path}\n"));
            }
        }
        let path = folders().into_iter().find_map(|folder| {
            let path = folder.join(&name);
            create_folder(&folder).ok()?;
            // One of the same name is of a process that is gone, whose number we have.
            let _ = fs::remove_file(&path);
            create_private(&path).and_then(|mut file| file.write_all(text.as_bytes())).ok().map(|()| path)
        });
        DebrisNote { path, made: made.to_vec() }
    }
}

impl Drop for DebrisNote {
    fn drop(&mut self) {
        let stays = self.made.iter().any(|made| matches!(made, DebrisItem::Folder(folder) if folder.exists()));
        if let Some(path) = self.path.take().filter(|_| !stays) {
            let _ = fs::remove_file(path);
        }
    }
}

/// A note that was read.
#[derive(Debug, Default, PartialEq, Eq)]
struct Read {
    boot: String,
    process: i32,
    began: String,
    control: Option<PathBuf>,
    made: Vec<DebrisItem>,
}

fn parse(text: &str) -> Option<Read> {
    let mut lines = text.lines();
    (lines.next()? == TITLE).then_some(())?;
    let mut read = Read::default();
    for line in lines {
        let words: Vec<&str> = line.split('\t').collect();
        let path = |path: &str| {
            Some(PathBuf::from(path)).filter(|path| path.is_absolute() && !path.iter().any(|it| it == ".."))
        };
        match words[..] {
            ["boot", boot] => read.boot = boot.to_owned(),
            ["process", number, began] => (read.process, read.began) = (number.parse().ok()?, began.to_owned()),
            ["control", at] => read.control = Some(path(at)?),
            ["folder", at] => read.made.push(DebrisItem::Folder(path(at)?)),
            ["fuse", at] => read.made.push(DebrisItem::Fuse(path(at)?)),
            ["socket", at] => read.made.push(DebrisItem::Socket(path(at)?)),
            _ => return None,
        }
    }
    (read.process > 0).then_some(read)
}

/// Takes away what runs that are over have left; with `dry` it only says what it would.
pub fn clear(dry: bool) -> Vec<CleanupResult> {
    let entries = folders().into_iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let mut notes: Vec<PathBuf> =
        entries.map(|it| it.path()).filter(|it| it.extension() == Some(OsStr::new("run"))).collect();
    notes.sort();
    notes.iter().filter_map(|note| cleared(note, dry)).collect()
}

fn cleared(note: &Path, dry: bool) -> Option<CleanupResult> {
    let failed = |why: String| Some(CleanupResult { run: note.display().to_string(), said: vec![why], failed: true });
    // It may go in this moment, with its run.
    let of = fs::symlink_metadata(note).ok()?;
    if !of.is_file() || of.uid() != geteuid().as_raw() {
        return failed("is not ours: nothing done".to_owned());
    }
    let text = fs::read_to_string(note).ok()?;
    let Some(read) = parse(&text) else { return failed(format!("is no note of this version's; expected `{TITLE}`")) };
    let run = format!("process {}", read.process);
    let lives = read.boot == boot() && process::began(read.process).as_deref() == Some(&read.began);
    if lives {
        return Some(CleanupResult { run, said: vec!["is still at work: nothing done".to_owned()], failed: false });
    }
    let mut work = Work { dry, said: Vec::new(), failed: false };
    if read.boot == boot() {
        work.programs(&read);
        read.made.iter().for_each(|made| work.take(made));
    } else {
        // Mounts and processes went with the restart; what lies on a disk did not.
        read.made.iter().filter(|made| !matches!(made, DebrisItem::Fuse(_))).for_each(|made| work.take(made));
    }
    if !dry && !work.failed {
        work.failed = fs::remove_file(note).is_err();
    }
    if work.said.is_empty() {
        work.said.push("is over, and nothing is left of it".to_owned());
    }
    Some(CleanupResult { run, said: work.said, failed: work.failed })
}

/// What is done for one note.
struct Work {
    dry: bool,
    said: Vec<String>,
    failed: bool,
}

/// A mount: where, of which kind, and of what.
struct Mount {
    place: PathBuf,
    kind: String,
    source: String,
}

/// All mounts, in the order in which they were made (proc_pid_mountinfo(5)).
fn mounts() -> Vec<Mount> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mount = |line: &str| {
        let (before, behind) = line.split_once(" - ")?;
        let place = before.split(' ').nth(4)?.replace("\\040", " ");
        let mut behind = behind.split(' ');
        Some(Mount { place: place.into(), kind: behind.next()?.to_owned(), source: behind.next()?.to_owned() })
    };
    text.lines().filter_map(mount).collect()
}

/// Loop devices on a file, or on files below a folder.
pub(super) fn loops(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let on = |entry: fs::DirEntry| {
        let file = fs::read_to_string(entry.path().join("loop/backing_file")).ok()?;
        Path::new(file.trim_end()).starts_with(folder).then(|| Path::new("/dev").join(entry.file_name()))
    };
    entries.filter_map(on).collect()
}

impl Work {
    /// Does it, or says that it would.
    fn step(&mut self, what: &str, done: impl FnOnce() -> Result<(), String>) {
        let result = if self.dry { Ok(()) } else { done() };
        match (result, self.dry) {
            (Ok(()), true) => self.said.push(format!("would be taken away: {what}")),
            (Ok(()), false) => self.said.push(format!("taken away: {what}")),
            (Err(why), _) => {
                self.failed = true;
                self.said.push(format!("could not be taken away: {what}: {why}"));
            }
        }
    }

    /// What a program of the run began, and its control groups.
    fn programs(&mut self, read: &Read) {
        let stays = || Err("something in it does not end".to_owned());
        let ours =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("seekwise-"));
        if let Some(control) = read.control.as_ref().filter(|path| ours(path) && path.is_dir()) {
            let what = format!("control group {} with all that runs in it", control.display());
            self.step(&what, || if group::clear(control) { Ok(()) } else { stays() });
        }
        let owner = format!("{}-{}", read.process, read.began);
        let left = group::of_owner(&owner);
        if !left.is_empty() {
            let named: Vec<String> = left.into_iter().map(process::named).collect();
            let what = format!("process {}", named.join(", "));
            self.step(&what, || if group::end_all(&owner) { Ok(()) } else { stays() });
        }
    }

    fn take(&mut self, made: &DebrisItem) {
        match made {
            DebrisItem::Folder(folder) => self.folder(folder),
            DebrisItem::Fuse(folder) => {
                let ours = |it: &Mount| it.place == *folder && it.kind.starts_with("fuse") && it.source == SOURCE;
                if mounts().iter().any(ours) {
                    let on: Vec<String> = loops(folder).iter().map(|it| it.display().to_string()).collect();
                    let used = format!("{} is on it, which is not ours; expected `losetup -d`", on.join(", "));
                    let unmounted = || if on.is_empty() { unmount(folder) } else { Err(used) };
                    self.step(&format!("the mount on {}", folder.display()), unmounted);
                }
            }
            DebrisItem::Socket(path) => {
                let is_socket = fs::symlink_metadata(path).is_ok_and(|of| of.file_type().is_socket());
                // Somebody else may have made one there since.
                if is_socket && UnixStream::connect(path).is_err() {
                    let gone = || fs::remove_file(path).map_err(|error| error.to_string());
                    self.step(&format!("the socket {}", path.display()), gone);
                }
            }
        }
    }

    /// A folder of media: what is mounted in it first, last one first; then loop devices on its files, the disk that these lay on, and itself.
    fn folder(&mut self, folder: &Path) {
        let Ok(of) = fs::symlink_metadata(folder) else { return };
        let named = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(FOLDER));
        if !of.is_dir() || !named || of.uid() != geteuid().as_raw() {
            self.failed = true;
            return self.said.push(format!("{} is not ours: nothing done", folder.display()));
        }
        let inside: Vec<Mount> = mounts().into_iter().rev().filter(|it| it.place.starts_with(folder)).collect();
        let (disks, systems): (Vec<&Mount>, Vec<&Mount>) = inside.iter().partition(|it| it.kind.starts_with("fuse"));
        let each = |work: &mut Work, mount: &&Mount| {
            work.step(&format!("the mount on {}", mount.place.display()), || unmount(&mount.place));
        };
        systems.iter().for_each(|mount| each(self, mount));
        for device in loops(folder) {
            let detach = || tool("losetup", [OsStr::new("--detach"), device.as_os_str()], ProgramBounds::fixed());
            self.step(&format!("loop device {}", device.display()), || detach().map(drop).map_err(|it| it.to_string()));
        }
        disks.iter().for_each(|mount| each(self, mount));
        if !self.dry && mounts().iter().any(|it| it.place.starts_with(folder)) {
            self.failed = true;
            return self.said.push(format!("{} stays: something is mounted in it", folder.display()));
        }
        let gone = || fs::remove_dir_all(folder).map_err(|error| error.to_string());
        self.step(&format!("the folder {}", folder.display()), gone);
    }
}

/// Unmounts; what somebody still holds goes out of sight, and is gone with him.
fn unmount(folder: &Path) -> Result<(), String> {
    let with = |words: &[&str]| {
        let words = words.iter().map(OsStr::new).chain([folder.as_os_str()]);
        tool("umount", words, ProgramBounds::fixed()).map(drop)
    };
    with(&[]).or_else(|_| with(&["-l"])).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written_or_not_at_all() {
        let text = format!("{TITLE}\nboot\tb\nprocess\t12\t34\ncontrol\t/c/seekwise-12-34\nfolder\t/x/y\nsocket\t/s\n");
        let read = parse(&text).unwrap();
        assert_eq!((read.process, read.began.as_str(), read.made.len()), (12, "34", 2));
        for (from, to) in
            [("run 1", "run 9"), ("/x/y", "x/y"), ("/x/y", "/x/../y"), ("12\t34", "x\t34"), ("folder", "mount")]
        {
            assert_eq!(parse(&text.replace(from, to)), None, "{to}");
        }
    }

    #[test]
    fn nothing_is_taken_away_that_is_not_what_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let (file, other) = (folder.path().join("file"), folder.path().join("other"));
        fs::write(&file, "mine").unwrap();
        fs::create_dir(&other).unwrap();
        let heard = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
        let mut work = Work { dry: false, said: Vec::new(), failed: false };
        work.take(&DebrisItem::Socket(file.clone()));
        work.take(&DebrisItem::Socket(folder.path().join("socket")));
        work.take(&DebrisItem::Fuse(other.clone()));
        assert!(!work.failed && work.said.is_empty(), "{:?}", work.said);
        work.take(&DebrisItem::Folder(other.clone()));
        assert!(work.failed && work.said[0].ends_with("is not ours: nothing done"), "{:?}", work.said);
        assert!(file.exists() && other.exists() && folder.path().join("socket").exists());
        drop(heard);
        let media = folder.path().join(format!("{FOLDER}x"));
        fs::create_dir_all(media.join("check-0")).unwrap();
        for (dry, stays) in [(true, true), (false, false)] {
            let mut work = Work { dry, said: Vec::new(), failed: false };
            work.take(&DebrisItem::Socket(folder.path().join("socket")));
            work.take(&DebrisItem::Folder(media.clone()));
            assert!(work.said.len() == 2 && !work.failed, "{:?}", work.said);
            assert_eq!((media.exists(), folder.path().join("socket").exists()), (stays, stays));
        }
    }
}
