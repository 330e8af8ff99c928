//! Contents of files, page by page, and the names of all entries, as the system shows them. A disk that holds all it was given lacks
//! what lay in memory alone. Bytes belong to a file, by the number of its inode; names belong to a folder. A file that was flushed and
//! then renamed lacks no byte on the disk, only its folder does.
//!
//! Only regular files whose status changed since an instant are read: writing and renaming change it, and no program can set it back.
//! Bytes that were written and then deleted or overwritten are not seen, nor is the time at which a page was written.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use crate::outputs::create_private;

/// Bytes of a page of the page cache.
const PAGE: u64 = 4096;

/// Most bytes, and most entries, that are read; the rest is counted. The bound on bytes limits the time at a modelled disk's pace.
const MOST_BYTES: u64 = 256 << 20;
const MOST_FILES: usize = 100_000;

/// Page contents of files, and all names.
#[derive(Clone, Debug, Default)]
pub struct FilePages {
    /// By path below the mount.
    files: BTreeMap<PathBuf, FileHashes>,
    names: FileNames,
    /// Number of entries that were not read.
    pub left_out: usize,
}

/// A regular file.
#[derive(Clone, Debug)]
struct FileHashes {
    length: u64,
    /// A hash of each page.
    pages: Vec<u64>,
}

/// The entry behind each name below a mount.
type FileNames = BTreeMap<PathBuf, EntryId>;

/// Identity of an entry: inode numbers are reused, by an entry of another kind or another time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct EntryId {
    inode: u64,
    folder: bool,
    /// After 1970; `None` if the file system keeps no such time.
    created: Option<Duration>,
}

impl EntryId {
    fn new(of: &fs::Metadata) -> EntryId {
        let created = of.created().ok().and_then(|created| created.duration_since(UNIX_EPOCH).ok());
        EntryId { inode: of.ino(), folder: of.is_dir(), created }
    }
}

/// Bytes and names that a disk was not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnflushedState {
    pub files: Vec<UnflushedPages>,
    pub names: Vec<UnflushedName>,
}

/// Bytes of a file that a disk was not given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnflushedPages {
    /// Below the mount.
    pub file: PathBuf,
    pub length: u64,
    /// Bytes: from, and up to. Empty if only the name of an empty file is missing.
    pub ranges: Vec<(u64, u64)>,
    /// The disk has a file of that name.
    pub named: bool,
}

/// A change of a folder that a disk was not given, though it has all the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnflushedName {
    /// Below the mount.
    pub name: PathBuf,
    pub change: NameChange,
}

/// State of a name in a folder on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameChange {
    /// The name is missing; the file or folder is there under the other.
    Missing { stands_as: PathBuf },
    /// The name is still that of an earlier file; the new one is there under the other.
    Earlier { stands_as: PathBuf },
    /// The name is missing, of a new folder, a link, or a file that was not read.
    Absent { folder: bool },
    /// The name is still there, although it was deleted.
    Remains,
}

/// Returns the present in the system's time of files, taken from a new file at `path`.
pub(crate) fn file_time_now(path: &Path) -> io::Result<(i64, i64)> {
    Ok(change_time(&create_private(path)?.metadata()?))
}

/// An instant before all files.
pub(crate) const EARLIEST: (i64, i64) = (i64::MIN, 0);

fn change_time(of: &fs::Metadata) -> (i64, i64) {
    (of.ctime(), of.ctime_nsec())
}

impl FilePages {
    /// Reads all files below `root` whose status changed at `since` or later; fewer once `stop` is true.
    pub fn read(root: &Path, since: (i64, i64), stop: Option<&AtomicBool>) -> FilePages {
        let (mut pages, mut bytes) = (FilePages::default(), 0);
        pages.left_out = walk_entries(root, stop, &mut |name, of| {
            pages.names.insert(name.to_owned(), EntryId::new(of));
            if !of.is_file() || change_time(of) < since {
                return true;
            }
            let fits = bytes + of.len() <= MOST_BYTES;
            let Some(hashes) = fits.then(|| hash_pages(&root.join(name), of.len())).and_then(Result::ok) else {
                return false;
            };
            bytes += of.len();
            pages.files.insert(name.to_owned(), FileHashes { length: of.len(), pages: hashes });
            true
        });
        pages
    }

    /// Returns what `root` lacks of these files and folders.
    pub fn find_missing(&self, root: &Path) -> UnflushedState {
        let mut there = FileNames::new();
        walk_entries(root, None, &mut |name, of| {
            there.insert(name.to_owned(), EntryId::new(of));
            true
        });
        let by_entry: BTreeMap<EntryId, &PathBuf> = there.iter().map(|(name, id)| (*id, name)).collect();
        let (mut lacks, mut moved) = (UnflushedState::default(), BTreeMap::new());
        // In order of names: a folder comes before its entries.
        for (name, id) in &self.names {
            let state = self.files.get(name);
            let elsewhere = by_entry.get(id).filter(|_| there.get(name) != Some(id));
            let is_same = |it: &&&PathBuf| match state {
                // All empty files are alike.
                Some(state) => state.length > 0 && state.find_missing(name, &root.join(it)).is_none(),
                // A file that was not read was not renamed, but a folder above it may have been.
                None => id.folder || moved_with_folder(name, it, &moved),
            };
            match elsewhere.filter(is_same) {
                Some(&stands_as) if moved_with_folder(name, stands_as, &moved) => drop(moved.insert(name, stands_as)),
                Some(&stands_as) => {
                    moved.insert(name, stands_as);
                    let stands_as = stands_as.clone();
                    let change = match there.contains_key(name) {
                        true => NameChange::Earlier { stands_as },
                        false => NameChange::Missing { stands_as },
                    };
                    lacks.names.push(UnflushedName { name: name.clone(), change });
                }
                None => match state {
                    Some(state) => lacks.files.extend(state.find_missing(name, &root.join(name))),
                    None if there.contains_key(name) => {}
                    None => {
                        let change = NameChange::Absent { folder: id.folder };
                        lacks.names.push(UnflushedName { name: name.clone(), change });
                    }
                },
            }
        }
        let moved: BTreeSet<&PathBuf> = moved.into_values().collect();
        for name in there.keys().filter(|name| !self.names.contains_key(*name) && !moved.contains(name)) {
            lacks.names.push(UnflushedName { name: name.clone(), change: NameChange::Remains });
        }
        lacks
    }
}

/// True if `name` moved only with its renamed folder.
fn moved_with_folder(name: &Path, stands_as: &Path, moved: &BTreeMap<&PathBuf, &PathBuf>) -> bool {
    let folder = name.parent().and_then(|folder| moved.get(&folder.to_owned()));
    name.file_name() == stands_as.file_name() && folder.map(|it| it.as_path()) == stands_as.parent()
}

/// Calls `look` with each entry below `root`, a folder before its entries. Returns the number of entries that `look` declined, or that
/// came beyond the limit or after `stop`. Other file systems mounted below are not walked.
fn walk_entries(root: &Path, stop: Option<&AtomicBool>, look: &mut dyn FnMut(&Path, &fs::Metadata) -> bool) -> usize {
    let is_stopped = || stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
    let (mut folders, mut seen, mut left_out) = (vec![root.to_owned()], 0, 0);
    let device = fs::metadata(root).map(|root| root.dev()).ok();
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<PathBuf> =
            fs::read_dir(&folder).into_iter().flatten().flatten().map(|it| it.path()).collect();
        entries.sort();
        for path in entries {
            let Ok(of) = fs::symlink_metadata(&path) else { continue };
            seen += 1;
            if seen > MOST_FILES || is_stopped() {
                left_out += 1;
                continue;
            }
            left_out += usize::from(!look(path.strip_prefix(root).unwrap_or(&path), &of));
            if of.is_dir() && device == Some(of.dev()) {
                folders.push(path);
            }
        }
    }
    left_out
}

impl FileHashes {
    /// Returns what `there` lacks of this file, named `name`; `None` if nothing.
    fn find_missing(&self, name: &Path, there: &Path) -> Option<UnflushedPages> {
        let length = self.length;
        let of = fs::symlink_metadata(there).ok().filter(fs::Metadata::is_file);
        // Bytes beyond the former length are not compared.
        let held = of.as_ref().map_or(Vec::new(), |of| hash_pages(there, of.len().min(length)).unwrap_or_default());
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for (number, page) in self.pages.iter().enumerate() {
            if held.get(number) == Some(page) {
                continue;
            }
            let (from, to) = (number as u64 * PAGE, ((number as u64 + 1) * PAGE).min(length));
            match ranges.last_mut() {
                Some(last) if last.1 == from => last.1 = to,
                _ => ranges.push((from, to)),
            }
        }
        let named = of.is_some();
        let lacks = !named || !ranges.is_empty();
        lacks.then(|| UnflushedPages { file: name.to_owned(), length, ranges, named })
    }
}

/// Hashes each page of a file, up to `length`.
fn hash_pages(path: &Path, length: u64) -> io::Result<Vec<u64>> {
    let mut file = File::open(path)?.take(length);
    let (mut hashes, mut page) = (Vec::new(), Vec::with_capacity(PAGE as usize));
    loop {
        page.clear();
        if file.by_ref().take(PAGE).read_to_end(&mut page)? == 0 {
            return Ok(hashes);
        }
        let mut hasher = DefaultHasher::new();
        page.hash(&mut hasher);
        hashes.push(hasher.finish());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medium_change::MediumChange;

    #[test]
    fn what_is_missing_is_named_by_page() {
        let folder = tempfile::tempdir().unwrap();
        let (seen, disk) = (folder.path().join("seen"), folder.path().join("disk"));
        fs::create_dir_all(seen.join("d")).unwrap();
        fs::create_dir_all(disk.join("d")).unwrap();
        fs::write(seen.join("old"), "from before").unwrap();
        // The clock of files ticks every few milliseconds.
        let mut since = file_time_now(&folder.path().join("now")).unwrap();
        let old = change_time(&fs::metadata(seen.join("old")).unwrap());
        while since <= old {
            fs::remove_file(folder.path().join("now")).unwrap();
            since = file_time_now(&folder.path().join("now")).unwrap();
        }
        let long: Vec<u8> = (0..20_000u32).map(|at| (at / 7) as u8).collect();
        fs::write(seen.join("d/long"), &long).unwrap();
        for name in ["same", "empty", "gone"] {
            fs::write(seen.join(name), if name == "empty" { "" } else { name }).unwrap();
        }
        std::os::unix::fs::symlink("nowhere", seen.join("link")).unwrap();
        let mut other = long.clone();
        other[5000] ^= 1;
        other[9000] ^= 1;
        fs::write(disk.join("d/long"), &other[..16384]).unwrap();
        fs::write(disk.join("same"), "same").unwrap();
        let pages = FilePages::read(&seen, since, None);
        let said = pages.find_missing(&disk);
        let of = |file: &str, length, ranges, named| UnflushedPages { file: file.into(), length, ranges, named };
        assert_eq!(
            said.files,
            [
                of("d/long", 20_000, vec![(4096, 12288), (16384, 20_000)], true),
                of("empty", 0, vec![], false),
                of("gone", 4, vec![(0, 4)], false),
            ]
        );
        assert_eq!(pages.left_out, 0);
    }

    /// Holes, which cost nothing but the looking. Files are looked at by name.
    #[test]
    fn a_quarter_of_a_gib_is_read_and_not_a_byte_more() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str, bytes: u64| File::create(folder.path().join(name)).unwrap().set_len(bytes).unwrap();
        let read = || {
            let pages = FilePages::read(folder.path(), EARLIEST, None);
            let files: Vec<PathBuf> = pages.files.keys().cloned().collect();
            (files, pages.names.len(), pages.left_out)
        };
        make("a", 256 << 20);
        make("b", 1);
        make("c", 0);
        assert_eq!(read(), (vec!["a".into(), "c".into()], 3, 1), "nothing is left for the second");
        make("a", (256 << 20) + 1);
        assert_eq!(read(), (vec!["b".into(), "c".into()], 3, 1), "too long by itself, it takes nothing from others");
    }

    /// Two trees of the same inodes: what a disk has, and what the system shows, which renamed, linked, deleted and made folders since.
    #[test]
    fn a_folder_that_was_not_flushed_is_told_from_bytes_that_were_not() {
        let folder = tempfile::tempdir().unwrap();
        let (seen, disk) = (folder.path().join("seen"), folder.path().join("disk"));
        for root in [&seen, &disk] {
            fs::create_dir(root).unwrap();
        }
        let both = |on_disk: &str, now: Option<&str>, content: &str| {
            fs::write(disk.join(on_disk), content).unwrap();
            if let Some(now) = now {
                fs::hard_link(disk.join(on_disk), seen.join(now)).unwrap();
            }
        };
        both("new", Some("document"), "the second");
        both("document", None, "the first");
        both("temporary", Some("letter"), "flushed, and renamed");
        both("deleted", None, "it is back");
        both("same", Some("same"), "nothing changed");
        fs::create_dir(seen.join("folder")).unwrap();
        fs::write(seen.join("folder/file"), "x").unwrap();
        let pages = FilePages::read(&seen, EARLIEST, None);
        let said = pages.find_missing(&disk);
        let of = |name: &str, change| UnflushedName { name: name.into(), change };
        assert_eq!(
            said.names,
            [
                of("document", NameChange::Earlier { stands_as: "new".into() }),
                of("folder", NameChange::Absent { folder: true }),
                of("letter", NameChange::Missing { stands_as: "temporary".into() }),
                of("deleted", NameChange::Remains),
            ]
        );
        let files: Vec<&Path> = said.files.iter().map(|it| &*it.file).collect();
        assert_eq!(files, [Path::new("folder/file")], "no byte of the renamed ones is missing");
        assert_eq!(pages.find_missing(&seen), UnflushedState::default());
    }

    /// A tree that is renamed while it is looked at is the same entry, as on a disk that has its old name.
    #[test]
    fn a_renamed_folder_is_one_change_with_all_that_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("after")).unwrap();
        for (name, text) in [("after/file", "one"), ("after/taken-out", "two")] {
            fs::write(root.join(name), text).unwrap();
        }
        std::os::unix::fs::symlink("nowhere", root.join("after/link")).unwrap();
        fs::create_dir(root.join("after/folder")).unwrap();
        fs::rename(root.join("after/taken-out"), root.join("out")).unwrap();
        let pages = FilePages::read(root, EARLIEST, None);
        fs::rename(root.join("out"), root.join("after/taken-out")).unwrap();
        fs::rename(root.join("after"), root.join("before")).unwrap();
        let of = |name: &str, stands_as: &str| {
            let change = NameChange::Missing { stands_as: stands_as.into() };
            UnflushedName { name: name.into(), change }
        };
        let said = pages.find_missing(root);
        assert_eq!(said.names, [of("after", "before"), of("out", "before/taken-out")]);
        assert_eq!(said.files, []);
        assert!(MediumChange::Named(said.names).make(root).unwrap());
        assert_eq!(pages.find_missing(root), UnflushedState::default(), "all names are as they were to be");
    }
}
