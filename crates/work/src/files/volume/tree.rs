//! The tree of files and directories of a volume: the length, the clusters and the directory entry of each. Only the
//! lengths of names are kept.

use alloc::vec::Vec;

use super::space::ClusterRun;

/// A file or directory of a volume. Numbers are assigned in order of creation and never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// The root directory.
pub const ROOT: FileId = FileId(0);

/// A name, as far as its length matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileName {
    /// Number of letters, 1 to 255.
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

/// The bytes of a directory that hold an entry.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DirectoryEntry {
    pub(super) from: u64,
    pub(super) bytes: u32,
}

/// A file or directory.
#[derive(Clone, Debug)]
pub(super) struct FileNode {
    pub(super) directory: Option<FileId>,
    pub(super) name: FileName,
    pub(super) is_directory: bool,
    /// The length in bytes; 0 for a directory.
    pub(super) bytes: u64,
    /// The clusters of its data, in order.
    pub(super) runs: Vec<ClusterRun>,
    /// The number of its record in `$MFT`, or of its inode.
    pub(super) record: u64,
    /// The entry of the file in its directory.
    pub(super) entry: DirectoryEntry,
    /// The latest change of its metadata.
    pub(super) last_change: u64,
    /// The latest change of its metadata that was not only of times.
    pub(super) last_layout_change: u64,
    /// The length that its record has.
    pub(super) recorded_bytes: u64,
    /// Clusters were added or removed since the last flush of the file.
    pub(super) clusters_changed: bool,
    /// For a directory: number of its entries.
    pub(super) entries: u32,
    /// For a directory: bytes of its entries.
    pub(super) used_bytes: u64,
}

impl FileNode {
    /// Number of clusters.
    pub(super) fn cluster_count(&self) -> u64 {
        self.runs.last().map_or(0, |run| run.from + run.len)
    }

    /// Returns the cluster of the volume that holds cluster `index` of the file, and how many are contiguous from there
    /// on.
    pub(super) fn find_cluster(&self, index: u64) -> Option<(u64, u64)> {
        let at = self.runs.partition_point(|run| run.from + run.len <= index);
        self.runs.get(at).map(|run| (run.start + (index - run.from), run.from + run.len - index))
    }

    /// Adds `len` clusters from `start` on at the end of the file.
    pub(super) fn append_clusters(&mut self, start: u64, len: u64) {
        let from = self.cluster_count();
        match self.runs.last_mut() {
            Some(last) if last.start + last.len == start => last.len += len,
            _ => self.runs.push(ClusterRun { from, start, len }),
        }
    }

    /// Removes the clusters from `index` on; returns their runs.
    pub(super) fn cut_clusters(&mut self, index: u64) -> Vec<ClusterRun> {
        let mut gone = Vec::new();
        while let Some(last) = self.runs.pop_if(|last| last.from + last.len > index) {
            let kept = index.saturating_sub(last.from);
            gone.push(ClusterRun { from: last.from + kept, start: last.start + kept, len: last.len - kept });
            if kept > 0 {
                self.runs.push(ClusterRun { len: kept, ..last });
            }
        }
        gone.reverse();
        gone
    }

    /// Moves `len` clusters of the file from `index` on to `target`; returns the runs where they were.
    pub(super) fn relocate_clusters(&mut self, index: u64, len: u64, target: u64) -> Vec<ClusterRun> {
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
                self.append_clusters(target, len);
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
    /// Adds a node; returns its number.
    pub(super) fn add_node(&mut self, directory: Option<FileId>, name: FileName, is_directory: bool) -> FileId {
        self.nodes.push(Some(FileNode {
            directory,
            name,
            is_directory,
            bytes: 0,
            runs: Vec::new(),
            record: 0,
            entry: DirectoryEntry::default(),
            last_change: 0,
            last_layout_change: 0,
            recorded_bytes: 0,
            clusters_changed: false,
            entries: 0,
            used_bytes: 0,
        }));
        self.live += 1;
        FileId(u32::try_from(self.nodes.len() - 1).expect("fewer than 2^32 files"))
    }

    /// Removes a node.
    pub(super) fn remove_node(&mut self, file: FileId) -> FileNode {
        self.live -= 1;
        self.nodes[file.0 as usize].take().expect("a file that is there")
    }

    /// True if the file exists.
    pub(super) fn contains(&self, file: FileId) -> bool {
        self.nodes.get(file.0 as usize).is_some_and(Option::is_some)
    }

    /// How many files and directories there are, including the root.
    pub(super) fn file_count(&self) -> u32 {
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
        let file = tree.add_node(None, FileName::SHORT, false);
        let node = tree.get_mut(file);
        node.append_clusters(100, 4);
        node.append_clusters(104, 2);
        node.append_clusters(50, 6);
        assert_eq!(node.runs.len(), 2, "neighbours join");
        assert_eq!(
            (node.cluster_count(), node.find_cluster(5), node.find_cluster(6), node.find_cluster(12)),
            (12, Some((105, 1)), Some((50, 6)), None)
        );
        let gone = node.relocate_clusters(4, 4, 200);
        assert_eq!(gone, [ClusterRun { from: 4, start: 104, len: 2 }, ClusterRun { from: 6, start: 50, len: 2 }]);
        let places: Vec<u64> = (0..12).map(|i| node.find_cluster(i).expect("there").0).collect();
        assert_eq!(places, [100, 101, 102, 103, 200, 201, 202, 203, 52, 53, 54, 55]);
        node.relocate_clusters(8, 4, 204);
        assert_eq!(node.runs, [ClusterRun { from: 0, start: 100, len: 4 }, ClusterRun { from: 4, start: 200, len: 8 }]);
        let gone = node.cut_clusters(3);
        assert_eq!(gone, [ClusterRun { from: 3, start: 103, len: 1 }, ClusterRun { from: 4, start: 200, len: 8 }]);
        assert_eq!((node.cluster_count(), node.cut_clusters(3)), (3, Vec::new()));
        node.append_clusters(103, 1);
        node.append_clusters(200, 8);
        node.relocate_clusters(0, 4, 196);
        assert_eq!(node.runs, [ClusterRun { from: 0, start: 196, len: 12 }]);
    }
}
