//! Files and directories: sizes, places, and the entry of each. Names are kept as lengths only.

use alloc::vec::Vec;

use super::space::ClusterRun;

/// A file or directory of a volume. Numbers are assigned in order of creation and never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// The root directory.
pub const ROOT: FileId = FileId(0);

/// A name, by the room that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileName {
    /// 1 to 255.
    pub letters: u8,
    /// Not of the form `NAME.EXT` in capitals, so FAT and NTFS keep a short name, too.
    pub long: bool,
}

impl FileName {
    /// `FILENAME.EXT`.
    pub const SHORT: FileName = FileName { letters: 12, long: false };

    /// A long name of this many letters.
    pub const fn long(letters: u8) -> FileName {
        FileName { letters, long: true }
    }
}

/// A file or directory.
#[derive(Clone, Debug)]
pub(super) struct FileNode {
    pub(super) directory: Option<FileId>,
    pub(super) name: FileName,
    pub(super) is_directory: bool,
    /// The length in bytes; 0 for a directory.
    pub(super) bytes: u64,
    /// Where its data lie, in order.
    pub(super) runs: Vec<ClusterRun>,
    /// The number of its record in `$MFT`, or of its inode.
    pub(super) record: u64,
    /// The entry in its directory: first byte, and length.
    pub(super) entry: (u64, u32),
    /// The latest change to its metadata, and the latest that changed more than times.
    pub(super) changed: u64,
    pub(super) shaped: u64,
    /// The length in its record.
    pub(super) kept: u64,
    /// Clusters were added or removed since the last flush of the file.
    pub(super) remapped: bool,
    /// For a directory: its entries, and their bytes.
    pub(super) entries: u32,
    pub(super) filled: u64,
}

impl FileNode {
    /// Number of clusters.
    pub(super) fn cluster_count(&self) -> u64 {
        self.runs.last().map_or(0, |run| run.from + run.len)
    }

    /// Returns where its cluster `index` lies, and how many are contiguous from there on.
    pub(super) fn find_cluster(&self, index: u64) -> Option<(u64, u64)> {
        let at = self.runs.partition_point(|run| run.from + run.len <= index);
        self.runs.get(at).map(|run| (run.start + (index - run.from), run.from + run.len - index))
    }

    /// Adds clusters at the end.
    pub(super) fn append_clusters(&mut self, start: u64, len: u64) {
        let from = self.cluster_count();
        match self.runs.last_mut() {
            Some(last) if last.start + last.len == start => last.len += len,
            _ => self.runs.push(ClusterRun { from, start, len }),
        }
    }

    /// Moves `len` clusters from `index` on; returns where they were.
    pub(super) fn move_clusters(&mut self, index: u64, len: u64, start: u64) -> Vec<ClusterRun> {
        let old = core::mem::take(&mut self.runs);
        let mut gone = Vec::new();
        for run in old {
            let end = run.from + run.len;
            let (cut, until) = (run.from.max(index), end.min(index + len));
            if cut >= until {
                self.append_clusters(run.start, run.len);
                continue;
            }
            if run.from < cut {
                self.append_clusters(run.start, cut - run.from);
            }
            gone.push(ClusterRun { from: cut, start: run.start + (cut - run.from), len: until - cut });
            if until == index + len {
                self.append_clusters(start, len);
            }
            if until < end {
                self.append_clusters(run.start + (until - run.from), end - until);
            }
        }
        gone
    }
}

/// All files of a volume. A deleted file leaves only its number behind.
#[derive(Clone, Debug, Default)]
pub(super) struct FileTree {
    nodes: Vec<Option<FileNode>>,
    live: u32,
}

impl FileTree {
    /// Adds a node.
    pub(super) fn add(&mut self, directory: Option<FileId>, name: FileName, is_directory: bool) -> FileId {
        self.nodes.push(Some(FileNode {
            directory,
            name,
            is_directory,
            bytes: 0,
            runs: Vec::new(),
            record: 0,
            entry: (0, 0),
            changed: 0,
            shaped: 0,
            kept: 0,
            remapped: false,
            entries: 0,
            filled: 0,
        }));
        self.live += 1;
        FileId(u32::try_from(self.nodes.len() - 1).expect("fewer than 2^32 files"))
    }

    /// Removes a node.
    pub(super) fn remove(&mut self, file: FileId) -> FileNode {
        self.live -= 1;
        self.nodes[file.0 as usize].take().expect("a file that is there")
    }

    /// True if the file exists.
    pub(super) fn contains(&self, file: FileId) -> bool {
        self.nodes.get(file.0 as usize).is_some_and(Option::is_some)
    }

    /// How many files and directories there are, including the root.
    pub(super) fn live_count(&self) -> u32 {
        self.live
    }

    pub(super) fn get(&self, file: FileId) -> &FileNode {
        self.nodes[file.0 as usize].as_ref().expect("a file that is there")
    }

    pub(super) fn get_mut(&mut self, file: FileId) -> &mut FileNode {
        self.nodes[file.0 as usize].as_mut().expect("a file that is there")
    }

    /// All files and directories, in order of creation.
    pub(super) fn file_ids(&self) -> impl Iterator<Item = FileId> + '_ {
        (0..self.nodes.len()).filter(|&i| self.nodes[i].is_some()).map(|i| FileId(i as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_of_a_file_are_found_and_moved() {
        let mut tree = FileTree::default();
        let file = tree.add(None, FileName::SHORT, false);
        let node = tree.get_mut(file);
        node.append_clusters(100, 4);
        node.append_clusters(104, 2);
        node.append_clusters(50, 6);
        assert_eq!(node.runs.len(), 2, "neighbours join");
        assert_eq!(
            (node.cluster_count(), node.find_cluster(5), node.find_cluster(6), node.find_cluster(12)),
            (12, Some((105, 1)), Some((50, 6)), None)
        );
        let gone = node.move_clusters(4, 4, 200);
        assert_eq!(gone, [ClusterRun { from: 4, start: 104, len: 2 }, ClusterRun { from: 6, start: 50, len: 2 }]);
        let places: Vec<u64> = (0..12).map(|i| node.find_cluster(i).expect("there").0).collect();
        assert_eq!(places, [100, 101, 102, 103, 200, 201, 202, 203, 52, 53, 54, 55]);
        node.move_clusters(8, 4, 204);
        assert_eq!(node.runs, [ClusterRun { from: 0, start: 100, len: 4 }, ClusterRun { from: 4, start: 200, len: 8 }]);
        node.move_clusters(0, 4, 196);
        assert_eq!(node.runs, [ClusterRun { from: 0, start: 196, len: 12 }]);
    }
}
