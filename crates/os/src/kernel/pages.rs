//! Finds what a disk was never given: pages of files and names of entries that lay in the system's memory alone.
//! [`FilePages`] holds a hash of each page, the first pages themselves, and all names as the system shows them;
//! `find_missing` compares them with a copy of the disk.
//!
//! Bytes belong to a file, by the number of its inode; names belong to a folder. A file that was flushed and then
//! renamed lacks no byte on the disk, only its folder does.
//!
//! Only regular files whose status changed since an instant are read: writing and renaming change it, and no program
//! can set it back. Bytes that were written and then deleted or overwritten are not seen, nor is the time at which a
//! page was written.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use crate::outputs::create_private;
use seekwise_formats::excerpt::ByteDifference;

/// Bytes of a page of the page cache.
const PAGE_BYTES: u64 = 4096;

/// Limits of what is read, in bytes and in entries; the rest is counted. A modelled disk is read at its own pace, so
/// the limit on bytes bounds the time.
const MAX_READ_BYTES: u64 = 256 << 20;
const MAX_ENTRIES: usize = 100_000;

/// Pages that are kept themselves, for excerpts: 16 MiB in all, and 1 MiB of a file, so that a large one leaves room for others.
const MAX_KEPT_PAGES: usize = 4096;
const MAX_KEPT_OF_FILE: usize = 256;

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
    /// The first pages, as far as they are kept.
    kept: Vec<Vec<u8>>,
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
    fn new(metadata: &fs::Metadata) -> EntryId {
        let created = metadata.created().ok().and_then(|created| created.duration_since(UNIX_EPOCH).ok());
        EntryId { inode: metadata.ino(), folder: metadata.is_dir(), created }
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
    /// Ranges of bytes, each with its end; none if only the name of an empty file is missing.
    pub ranges: Vec<(u64, u64)>,
    /// The disk has a file of that name.
    pub named: bool,
    /// The first bytes that the disk lacks; `None` if they were not kept.
    pub first: Option<ByteDifference>,
}

/// A change of a name that a disk was not given, though it has all the bytes.
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

/// When the status of a file changed last, in the system's time of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChangeTime {
    seconds: i64,
    nanos: i64,
}

impl ChangeTime {
    /// Before the changes of all files.
    pub const EARLIEST: ChangeTime = ChangeTime { seconds: i64::MIN, nanos: 0 };

    /// Returns the present, taken from a new file at `path`.
    pub fn now_by_new_file(path: &Path) -> io::Result<ChangeTime> {
        Ok(ChangeTime::read(&create_private(path)?.metadata()?))
    }

    fn read(metadata: &fs::Metadata) -> ChangeTime {
        ChangeTime { seconds: metadata.ctime(), nanos: metadata.ctime_nsec() }
    }
}

impl FilePages {
    /// Reads all names below `root`, and the files whose status changed at `since` or later; fewer once `stop` is true.
    pub(crate) fn read_changed(root: &Path, since: ChangeTime, stop: Option<&AtomicBool>) -> FilePages {
        let (mut pages, mut bytes, mut keeps) = (FilePages::default(), 0, MAX_KEPT_PAGES);
        pages.left_out = visit_entries(root, stop, &mut |name, metadata| {
            pages.names.insert(name.to_owned(), EntryId::new(metadata));
            if !metadata.is_file() || ChangeTime::read(metadata) < since {
                return true;
            }
            let length = metadata.len();
            let fits = bytes + length <= MAX_READ_BYTES;
            let hashed =
                fits.then(|| hash_pages(&root.join(name), length, keeps.min(MAX_KEPT_OF_FILE))).and_then(Result::ok);
            let Some((hashes, kept)) = hashed else { return false };
            bytes += length;
            keeps -= kept.len();
            pages.files.insert(name.to_owned(), FileHashes { length, pages: hashes, kept });
            true
        });
        pages
    }

    /// Returns the bytes and names that the disk mounted at `disk_root` lacks.
    pub fn find_missing(&self, disk_root: &Path) -> UnflushedState {
        let mut on_disk = FileNames::new();
        visit_entries(disk_root, None, &mut |name, metadata| {
            on_disk.insert(name.to_owned(), EntryId::new(metadata));
            true
        });
        let name_by_entry: BTreeMap<EntryId, &PathBuf> = on_disk.iter().map(|(name, id)| (*id, name)).collect();
        let (mut missing, mut moved) = (UnflushedState::default(), BTreeMap::new());
        // In order of names: a folder comes before its entries.
        for (name, id) in &self.names {
            let hashes = self.files.get(name);
            let elsewhere = name_by_entry.get(id).filter(|_| on_disk.get(name) != Some(id));
            let is_same_content = |found_as: &&&PathBuf| match hashes {
                // All empty files are alike.
                Some(hashes) => {
                    hashes.length > 0 && hashes.find_missing_pages(name, &disk_root.join(found_as)).is_none()
                }
                // A file that was not read was not renamed, but a folder above it may have been.
                None => id.folder || moved_only_with_folder(name, found_as, &moved),
            };
            match elsewhere.filter(is_same_content) {
                Some(&stands_as) if moved_only_with_folder(name, stands_as, &moved) => {
                    moved.insert(name, stands_as);
                }
                Some(&stands_as) => {
                    moved.insert(name, stands_as);
                    let stands_as = stands_as.clone();
                    let change = match on_disk.contains_key(name) {
                        true => NameChange::Earlier { stands_as },
                        false => NameChange::Missing { stands_as },
                    };
                    missing.names.push(UnflushedName { name: name.clone(), change });
                }
                None => match hashes {
                    Some(hashes) => missing.files.extend(hashes.find_missing_pages(name, &disk_root.join(name))),
                    None if on_disk.contains_key(name) => {}
                    None => {
                        let change = NameChange::Absent { folder: id.folder };
                        missing.names.push(UnflushedName { name: name.clone(), change });
                    }
                },
            }
        }
        let moved: BTreeSet<&PathBuf> = moved.into_values().collect();
        for name in on_disk.keys().filter(|name| !self.names.contains_key(*name) && !moved.contains(name)) {
            missing.names.push(UnflushedName { name: name.clone(), change: NameChange::Remains });
        }
        missing
    }
}

/// True if `name`, found as `found_as`, moved only with its renamed folder; `moved` has the new name of each by the
/// old.
fn moved_only_with_folder(name: &Path, found_as: &Path, moved: &BTreeMap<&PathBuf, &PathBuf>) -> bool {
    let folder = name.parent().and_then(|folder| moved.get(&folder.to_owned()));
    name.file_name() == found_as.file_name() && folder.map(|folder| folder.as_path()) == found_as.parent()
}

/// Calls `visit` with each entry below `root`, a folder before its entries. Returns the number of entries left out:
/// those that `visit` declined, and those beyond the limit or after `stop`. Other file systems mounted below are not
/// visited.
fn visit_entries(root: &Path, stop: Option<&AtomicBool>, visit: &mut dyn FnMut(&Path, &fs::Metadata) -> bool) -> usize {
    let is_stopped = || stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
    let (mut folders, mut entries_seen, mut left_out) = (vec![root.to_owned()], 0, 0);
    let device = fs::metadata(root).map(|root| root.dev()).ok();
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<PathBuf> =
            fs::read_dir(&folder).into_iter().flatten().flatten().map(|it| it.path()).collect();
        entries.sort();
        for path in entries {
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            entries_seen += 1;
            if entries_seen > MAX_ENTRIES || is_stopped() {
                left_out += 1;
                continue;
            }
            left_out += usize::from(!visit(path.strip_prefix(root).unwrap_or(&path), &metadata));
            if metadata.is_dir() && device == Some(metadata.dev()) {
                folders.push(path);
            }
        }
    }
    left_out
}

impl FileHashes {
    /// Returns the bytes of this file, named `name`, that `disk_file` lacks; `None` if it lacks none.
    fn find_missing_pages(&self, name: &Path, disk_file: &Path) -> Option<UnflushedPages> {
        let length = self.length;
        let metadata = fs::symlink_metadata(disk_file).ok().filter(fs::Metadata::is_file);
        // Bytes beyond this length are not compared.
        let hash_disk_file = |metadata: &fs::Metadata| hash_pages(disk_file, metadata.len().min(length), 0).ok();
        let (disk_pages, _) = metadata.as_ref().and_then(hash_disk_file).unwrap_or_default();
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for (number, page) in self.pages.iter().enumerate() {
            if disk_pages.get(number) == Some(page) {
                continue;
            }
            let (from, to) = (number as u64 * PAGE_BYTES, ((number as u64 + 1) * PAGE_BYTES).min(length));
            match ranges.last_mut() {
                Some(last) if last.1 == from => last.1 = to,
                _ => ranges.push((from, to)),
            }
        }
        let named = metadata.is_some();
        let first = ranges.first().and_then(|range| self.first_difference(range.0, disk_file));
        (!named || !ranges.is_empty()).then(|| UnflushedPages { file: name.to_owned(), length, ranges, named, first })
    }

    /// The first bytes of the page at `offset` that `disk_file` lacks; `None` if the page was not kept.
    fn first_difference(&self, offset: u64, disk_file: &Path) -> Option<ByteDifference> {
        let page = self.kept.get((offset / PAGE_BYTES) as usize)?;
        let mut on_disk = vec![0; page.len()];
        // A file that is not there, or is shorter, has none of these bytes.
        let read = File::open(disk_file).and_then(|file| file.read_at(&mut on_disk, offset));
        on_disk.truncate(read.unwrap_or(0));
        ByteDifference::find(offset, &on_disk, page)
    }
}

/// Hashes each page of a file's first `max_bytes`; returns the first `keeps` pages, too.
fn hash_pages(path: &Path, max_bytes: u64, keeps: usize) -> io::Result<(Vec<u64>, Vec<Vec<u8>>)> {
    let mut file = File::open(path)?.take(max_bytes);
    let (mut hashes, mut kept, mut page) = (Vec::new(), Vec::new(), Vec::with_capacity(PAGE_BYTES as usize));
    loop {
        page.clear();
        if file.by_ref().take(PAGE_BYTES).read_to_end(&mut page)? == 0 {
            return Ok((hashes, kept));
        }
        let mut hasher = DefaultHasher::new();
        page.hash(&mut hasher);
        hashes.push(hasher.finish());
        if kept.len() < keeps {
            kept.push(page.clone());
        }
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
        let mut since = ChangeTime::now_by_new_file(&folder.path().join("now")).unwrap();
        let old = ChangeTime::read(&fs::metadata(seen.join("old")).unwrap());
        while since <= old {
            fs::remove_file(folder.path().join("now")).unwrap();
            since = ChangeTime::now_by_new_file(&folder.path().join("now")).unwrap();
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
        let pages = FilePages::read_changed(&seen, since, None);
        let said = pages.find_missing(&disk);
        let of = |file: &str, length, ranges, named, first| UnflushedPages {
            file: file.into(),
            length,
            ranges,
            named,
            first,
        };
        let difference = |offset, count, stands: &[u8], lost: &[u8]| {
            Some(ByteDifference { offset, count, stands: stands.to_vec(), lost: lost.to_vec() })
        };
        let of_long = difference(5000, 1, &other[5000..5016], &long[5000..5016]);
        assert_eq!(
            said.files,
            [
                of("d/long", 20_000, vec![(4096, 12288), (16384, 20_000)], true, of_long),
                of("empty", 0, vec![], false, None),
                of("gone", 4, vec![(0, 4)], false, difference(0, 4, b"", b"gone")),
            ]
        );
        assert_eq!(pages.left_out, 0);
    }

    #[test]
    fn a_mebibyte_of_a_file_is_kept_for_excerpts() {
        let folder = tempfile::tempdir().unwrap();
        let (seen, disk) = (folder.path().join("seen"), folder.path().join("disk"));
        fs::create_dir(&seen).unwrap();
        fs::create_dir(&disk).unwrap();
        for number in 0..17 {
            fs::write(seen.join(format!("{number:02}")), vec![b'x'; (1 << 20) + 1]).unwrap();
        }
        fs::write(disk.join("01"), vec![b'x'; 1 << 20]).unwrap();
        let pages = FilePages::read_changed(&seen, ChangeTime::EARLIEST, None);
        let missing = pages.find_missing(&disk).files;
        // The byte behind the mebibyte of the second is not kept, nor is anything of the last.
        let shown: Vec<bool> = missing.iter().map(|pages| pages.first.is_some()).collect();
        let expected: Vec<bool> = (0..17).map(|number| number != 1 && number != 16).collect();
        assert_eq!(shown, expected);
    }

    /// Holes, which cost nothing but the looking. Files are looked at by name.
    #[test]
    fn a_quarter_of_a_gib_is_read_and_not_a_byte_more() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str, bytes: u64| File::create(folder.path().join(name)).unwrap().set_len(bytes).unwrap();
        let read = || {
            let pages = FilePages::read_changed(folder.path(), ChangeTime::EARLIEST, None);
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

    /// Two trees of the same inodes: what a disk has, and what the system shows, which renamed, linked, deleted and
    /// made folders since.
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
        let pages = FilePages::read_changed(&seen, ChangeTime::EARLIEST, None);
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
        let pages = FilePages::read_changed(root, ChangeTime::EARLIEST, None);
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
