//! What files hold as the system shows them, page by page: what of it lay in the page cache alone is what the same files lack on a disk
//! that holds all it was given.
//!
//! Seen are regular files whose status changed since an instant: writing changes it, and no program can set it back. What was written and
//! then deleted or overwritten is not seen, nor is when a page was written.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::outputs::create_private;

/// Bytes that the page cache keeps together.
const PAGE: u64 = 4096;

/// Bytes that are looked at, and files and folders: more are counted. The first bounds the time it takes at a modelled disk's pace.
const MOST_BYTES: u64 = 256 << 20;
const MOST_FILES: usize = 100_000;

/// What files held.
#[derive(Clone, Debug, Default)]
pub struct FilePages {
    /// By path below the mount: the length, and a hash of each page.
    files: BTreeMap<PathBuf, (u64, Vec<u64>)>,
    /// Files that were not looked at.
    pub left_out: usize,
}

/// What a disk was not given of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnflushedPages {
    /// Below the mount.
    pub file: PathBuf,
    pub length: u64,
    /// Bytes: from, and up to. None where only the name is missing, of an empty file.
    pub ranges: Vec<(u64, u64)>,
    /// There is a file of that name on the disk.
    pub named: bool,
}

/// An instant in the system's time of files, by a file made now at `path`.
pub fn instant(path: &Path) -> io::Result<(i64, i64)> {
    Ok(changed(&create_private(path)?.metadata()?))
}

fn changed(of: &fs::Metadata) -> (i64, i64) {
    (of.ctime(), of.ctime_nsec())
}

impl FilePages {
    /// Those of all files below `root` whose status changed at `since` or later; fewer once `stop` is true.
    pub fn of(root: &Path, since: (i64, i64), stop: &AtomicBool) -> FilePages {
        let (mut pages, mut folders, mut bytes, mut seen) = (FilePages::default(), vec![root.to_owned()], 0, 0);
        while let Some(folder) = folders.pop() {
            let mut entries: Vec<PathBuf> =
                fs::read_dir(&folder).into_iter().flatten().flatten().map(|it| it.path()).collect();
            entries.sort();
            for path in entries {
                let Ok(of) = fs::symlink_metadata(&path) else { continue };
                seen += 1;
                if seen > MOST_FILES || stop.load(Ordering::Relaxed) {
                    pages.left_out += 1;
                    continue;
                }
                // What is mounted below is another file system.
                if of.is_dir() && fs::metadata(root).is_ok_and(|root| root.dev() == of.dev()) {
                    folders.push(path);
                } else if of.is_file() && changed(&of) >= since {
                    let fits = bytes + of.len() <= MOST_BYTES;
                    match fits.then(|| hashes(&path, of.len())).and_then(Result::ok) {
                        Some(hashes) => {
                            bytes += of.len();
                            let name = path.strip_prefix(root).unwrap_or(&path).to_owned();
                            pages.files.insert(name, (of.len(), hashes));
                        }
                        None => pages.left_out += 1,
                    }
                }
            }
        }
        pages
    }

    /// What the same files lack below `root`.
    pub fn missing(&self, root: &Path) -> Vec<UnflushedPages> {
        self.files.iter().filter_map(|(name, of)| missing(name, of, &root.join(name))).collect()
    }
}

fn missing(name: &Path, (length, pages): &(u64, Vec<u64>), there: &Path) -> Option<UnflushedPages> {
    let of = fs::symlink_metadata(there).ok().filter(fs::Metadata::is_file);
    // What is longer than it was is not looked at further than that.
    let held = of.as_ref().map_or(Vec::new(), |of| hashes(there, of.len().min(*length)).unwrap_or_default());
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for (number, page) in pages.iter().enumerate() {
        if held.get(number) == Some(page) {
            continue;
        }
        let (from, to) = (number as u64 * PAGE, ((number as u64 + 1) * PAGE).min(*length));
        match ranges.last_mut() {
            Some(last) if last.1 == from => last.1 = to,
            _ => ranges.push((from, to)),
        }
    }
    let named = of.is_some();
    let lacks = !named || !ranges.is_empty();
    lacks.then(|| UnflushedPages { file: name.to_owned(), length: *length, ranges, named })
}

/// A hash of each page of a file.
fn hashes(path: &Path, length: u64) -> io::Result<Vec<u64>> {
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

    #[test]
    fn what_is_missing_is_named_by_page() {
        let folder = tempfile::tempdir().unwrap();
        let (seen, disk) = (folder.path().join("seen"), folder.path().join("disk"));
        fs::create_dir_all(seen.join("d")).unwrap();
        fs::create_dir_all(disk.join("d")).unwrap();
        fs::write(seen.join("old"), "from before").unwrap();
        // The clock of files ticks every few milliseconds.
        let mut since = instant(&folder.path().join("now")).unwrap();
        let old = changed(&fs::metadata(seen.join("old")).unwrap());
        while since <= old {
            fs::remove_file(folder.path().join("now")).unwrap();
            since = instant(&folder.path().join("now")).unwrap();
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
        let pages = FilePages::of(&seen, since, &AtomicBool::new(false));
        let said = pages.missing(&disk);
        let of = |file: &str, length, ranges, named| UnflushedPages { file: file.into(), length, ranges, named };
        assert_eq!(
            said,
            [
                of("d/long", 20_000, vec![(4096, 12288), (16384, 20_000)], true),
                of("empty", 0, vec![], false),
                of("gone", 4, vec![(0, 4)], false),
            ]
        );
        assert_eq!(pages.left_out, 0);
    }
}
