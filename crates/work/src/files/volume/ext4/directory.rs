//! Directories of ext4. A small directory is one block; a larger one has an index in its first block, and its other
//! blocks are leaves by hash. Allocation of the blocks is in `ext4`.

use seekwise_disk::block::SECTOR;

use super::super::contents::VolumeContents;
use super::super::plan::{IoPlan, SectorRole};
use super::super::refusal::VolumeError;
use super::super::tree::{DirectoryEntry, FileId, FileName};
use super::Ext4;
use super::layout::{BLOCK, ENTRY};

/// Bytes for entries in a directory block: all but the 12 of the checksum.
const ENTRIES: u64 = BLOCK * SECTOR - 12;
/// Bytes of entries in an average leaf. Leaves split in halves by hash, so they are full to ln 2 (inferred).
const LEAF: u64 = ENTRIES * 7 / 10;

impl Ext4 {
    /// The block of a directory for an entry of `bytes` bytes: the only one, or a leaf by hash; `None` if the directory
    /// must grow first.
    pub(super) fn entry_leaf(&self, contents: &VolumeContents, file: FileId, bytes: u64) -> Option<u64> {
        let directory = contents.tree.get(contents.tree.get(file).directory.expect("not the root"));
        let blocks = directory.cluster_count();
        if blocks == 1 {
            return (directory.used_bytes + bytes <= ENTRIES).then_some(0);
        }
        // Block 0 is the root of the index. SplitMix64's first step spreads file numbers as a hash does names.
        let hash = u64::from(file.0).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (directory.used_bytes + bytes <= (blocks - 1) * LEAF).then_some(1 + hash % (blocks - 1))
    }

    /// Gives a directory one more block; a directory of one block gets two, an index with leaves.
    pub(super) fn enlarge_directory(
        &mut self,
        contents: &mut VolumeContents,
        directory: FileId,
        change: u64,
    ) -> Result<(), VolumeError> {
        let node = contents.tree.get(directory);
        let (had, inode) = (node.cluster_count(), node.record);
        let want = if had == 1 { 2 } else { 1 };
        if contents.space.free_count() < want {
            return Err(VolumeError::Full);
        }
        let (flex, members) = self.layout.flex_group(self.inode_group(inode));
        // Behind the directory's last block; for a new directory, behind the inode tables of its flex group.
        let goal =
            node.runs.last().map_or(self.layout.inode_table(flex) + members * self.layout.table, |r| r.start + r.len);
        for _ in 0..want {
            let start = contents.space.next_fit(goal, 1).expect("there is room");
            contents.assign_clusters(directory, start, 1);
            self.mark_block_bitmaps_dirty(contents, start, 1, change);
        }
        contents.mark_directory_dirty(directory, had * BLOCK * SECTOR, want * BLOCK * SECTOR, change);
        if had > 0 {
            // The root of the index points to the new leaf.
            contents.mark_directory_dirty(directory, 0, 1, change);
        }
        self.mark_inode_dirty(contents, inode, change);
        Ok(())
    }

    /// Reads the directory's inode and the path to an entry: the only block, or index and leaf.
    pub(super) fn read_entry_path(
        &self,
        contents: &mut VolumeContents,
        directory: FileId,
        leaf: u64,
        plan: &mut IoPlan,
    ) {
        // Files from before the run are laid out without reads.
        if contents.pages.is_laying_out() {
            return;
        }
        self.read_inode(contents, contents.tree.get(directory).record, plan);
        plan.begin_phase();
        let indexed = contents.tree.get(directory).cluster_count() > 1;
        for block in (indexed && leaf > 0).then_some(0).into_iter().chain([leaf]) {
            let page = contents.page_lba(directory, block * BLOCK * SECTOR);
            contents.pages.read_unless_known(page, BLOCK, SectorRole::Directory(directory), plan);
            plan.begin_phase();
        }
    }

    /// Bytes of an entry.
    pub(super) fn entry_bytes(name: FileName) -> u64 {
        ENTRY + u64::from(name.letters).next_multiple_of(4)
    }

    /// Adds the entry of a file to its directory, which grows if needed.
    pub(super) fn add_entry(
        &mut self,
        contents: &mut VolumeContents,
        file: FileId,
        change: u64,
        plan: &mut IoPlan,
    ) -> Result<(), VolumeError> {
        let node = contents.tree.get(file);
        let (directory, bytes) = (node.directory.expect("not the root"), Ext4::entry_bytes(node.name));
        let leaf = match self.entry_leaf(contents, file, bytes) {
            Some(leaf) => leaf,
            None => {
                self.enlarge_directory(contents, directory, change)?;
                self.entry_leaf(contents, file, bytes).expect("there is room now")
            }
        };
        self.read_entry_path(contents, directory, leaf, plan);
        // The place in the leaf is not modelled: one byte stands for the entry.
        contents.tree.get_mut(file).entry = DirectoryEntry { from: leaf * BLOCK * SECTOR, bytes: 1 };
        let parent = contents.tree.get_mut(directory);
        (parent.used_bytes, parent.entries) = (parent.used_bytes + bytes, parent.entries + 1);
        (parent.last_change, parent.last_layout_change) = (change, change);
        let inode = parent.record;
        contents.mark_directory_dirty(directory, leaf * BLOCK * SECTOR, 1, change);
        self.mark_inode_dirty(contents, inode, change);
        contents.record_entry(file, true);
        Ok(())
    }

    /// Removes the entry of a file.
    pub(super) fn remove_entry(&mut self, contents: &mut VolumeContents, file: FileId, change: u64) {
        let node = contents.tree.get(file);
        let (directory, at, bytes) =
            (node.directory.expect("not the root"), node.entry.from, Ext4::entry_bytes(node.name));
        contents.mark_directory_dirty(directory, at, 1, change);
        contents.record_entry(file, false);
        let parent = contents.tree.get_mut(directory);
        (parent.used_bytes, parent.entries) = (parent.used_bytes - bytes, parent.entries - 1);
        (parent.last_change, parent.last_layout_change) = (change, change);
        let inode = parent.record;
        self.mark_inode_dirty(contents, inode, change);
    }
}
