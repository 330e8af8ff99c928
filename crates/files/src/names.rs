//! Directories and names as programs see them. Files are named by the number that the volume gave them; 0 is the root.

use alloc::collections::BTreeMap;
use alloc::string::String;

use seekwise_work::files::volume::FileName;

use crate::operation::FileError;

/// The root directory.
pub(crate) const ROOT: u32 = 0;

/// The longest name in bytes (ext4: EXT4_NAME_LEN).
const LONGEST: usize = 255;

/// A file or directory.
#[derive(Clone, Debug)]
struct Node {
    parent: u32,
    name: String,
    /// The entries of a directory; `None` for a file.
    entries: Option<BTreeMap<String, u32>>,
}

/// All names.
#[derive(Clone, Debug)]
pub(crate) struct Names(BTreeMap<u32, Node>);

/// A path whose last name may not exist yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place<'a> {
    pub(crate) directory: u32,
    pub(crate) name: &'a str,
    /// The file of that name.
    pub(crate) file: Option<u32>,
}

impl Place<'_> {
    /// The name, as far as the volume needs it.
    pub(crate) fn file_name(&self) -> FileName {
        FileName::long(self.name.len() as u8)
    }
}

impl Names {
    pub(crate) fn new() -> Names {
        let root = Node { parent: ROOT, name: String::new(), entries: Some(BTreeMap::new()) };
        Names(BTreeMap::from([(ROOT, root)]))
    }

    /// True if the file exists.
    pub(crate) fn contains(&self, file: u32) -> bool {
        self.0.contains_key(&file)
    }

    pub(crate) fn is_directory(&self, file: u32) -> bool {
        self.entries(file).is_some()
    }

    /// The entries of a directory; `None` for a file.
    pub(crate) fn entries(&self, file: u32) -> Option<&BTreeMap<String, u32>> {
        self.0.get(&file)?.entries.as_ref()
    }

    fn entry(&self, directory: u32, name: &str) -> Result<Option<u32>, FileError> {
        Ok(self.entries(directory).ok_or(FileError::NotADirectory)?.get(name).copied())
    }

    /// Finds a file or directory.
    pub(crate) fn find(&self, path: &str) -> Result<u32, FileError> {
        let mut at = ROOT;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            at = self.entry(at, name)?.ok_or(FileError::NotFound)?;
        }
        Ok(at)
    }

    /// Finds the place of a path: its directory must exist.
    pub(crate) fn find_place<'a>(&self, path: &'a str) -> Result<Place<'a>, FileError> {
        let path = path.trim_end_matches('/');
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        if name.is_empty() || name == "." || name == ".." || name.len() > LONGEST {
            return Err(FileError::BadName);
        }
        let directory = self.find(directory)?;
        Ok(Place { directory, name, file: self.entry(directory, name)? })
    }

    /// Adds a file or directory.
    pub(crate) fn add(&mut self, file: u32, parent: u32, name: &str, is_directory: bool) {
        let entries = is_directory.then(BTreeMap::new);
        self.0.insert(file, Node { parent, name: name.into(), entries });
        self.entries_mut(parent).insert(name.into(), file);
    }

    fn entries_mut(&mut self, directory: u32) -> &mut BTreeMap<String, u32> {
        self.0.get_mut(&directory).and_then(|node| node.entries.as_mut()).expect("a directory")
    }

    /// Removes a file or an empty directory.
    pub(crate) fn remove(&mut self, file: u32) {
        let node = self.0.remove(&file).expect("a file that exists");
        self.entries_mut(node.parent).remove(&node.name);
    }

    /// Moves a file or directory to another place, where nothing is.
    pub(crate) fn rename(&mut self, file: u32, directory: u32, name: &str) {
        let node = self.0.get_mut(&file).expect("a file that exists");
        let (old, old_name) = (node.parent, core::mem::replace(&mut node.name, name.into()));
        node.parent = directory;
        self.entries_mut(old).remove(&old_name);
        self.entries_mut(directory).insert(name.into(), file);
    }

    /// True if `directory` is `file`, or lies in it.
    pub(crate) fn is_within(&self, mut directory: u32, file: u32) -> bool {
        while directory != file && directory != ROOT {
            directory = self.0[&directory].parent;
        }
        directory == file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_files() {
        let mut names = Names::new();
        names.add(1, ROOT, "a", true);
        names.add(2, 1, "b", false);
        assert_eq!((names.find("/a/b"), names.find("a//b"), names.find("")), (Ok(2), Ok(2), Ok(ROOT)));
        assert_eq!((names.find("a/c"), names.find("a/b/c")), (Err(FileError::NotFound), Err(FileError::NotADirectory)));
        assert_eq!(names.find_place("/a/c/"), Ok(Place { directory: 1, name: "c", file: None }));
        assert_eq!(
            (names.find_place("/"), names.find_place("a/..")),
            (Err(FileError::BadName), Err(FileError::BadName))
        );
        assert!(names.is_within(1, 1) && !names.is_within(ROOT, 1));
        names.rename(2, ROOT, "c");
        assert_eq!((names.find("c"), names.entries(1).map(BTreeMap::len)), (Ok(2), Some(0)));
        names.remove(2);
        assert!(!names.contains(2) && names.find("c").is_err());
    }
}
