//! Directories of ext4: one block, then an index with leaves by hash. Allocation of their blocks is in `ext4`.

use seekwise_disk::block::SECTOR;

use super::super::contents::VolumeContents;
use super::super::plan::{IoPlan, SectorRole};
use super::super::refusal::VolumeError;
use super::super::tree::{FileId, FileName};
use super::Ext4;
use super::layout::{BLOCK, ENTRY};

/// Bytes of a directory block for entries (12 are the checksum's).
const ENTRIES: u64 = BLOCK * SECTOR - 12;
/// A leaf of an indexed directory is this full: they split in halves by hash (ln 2 of the room; inferred).
const LEAF: u64 = ENTRIES * 7 / 10;

impl Ext4 {
    /// The block of a directory for an entry of `bytes` bytes: the only one, or a leaf by hash; `None` if the directory
    /// must grow first.
    pub(super) fn entry_leaf(&self, contents: &VolumeContents, file: FileId, bytes: u64) -> Option<u64> {
        let directory = contents.tree.get(contents.tree.get(file).directory.expect("not the root"));
        let blocks = directory.cluster_count();
        if blocks == 1 {
            return (directory.filled + bytes <= ENTRIES).then_some(0);
        }
        // Block 0 is the root of the index. SplitMix64's first step spreads file numbers as a hash does names.
        let hash = u64::from(file.0).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (directory.filled + bytes <= (blocks - 1) * LEAF).then_some(1 + hash % (blocks - 1))
    }

    /// Gives a directory one more block, or the two that turn it into an index with leaves. `change` is the number of the change that
    /// the touched pages then hold.
    pub(super) fn enlarge_directory(
        &mut self,
        contents: &mut VolumeContents,
        directory: FileId,
        change: u64,
    ) -> Result<(), VolumeError> {
        let node = contents.tree.get(directory);
        let (had, inode) = (node.cluster_count(), node.record);
        let want = if had == 1 { 2 } else { 1 };
        if contents.space.free_clusters() < want {
            return Err(VolumeError::Full);
        }
        let (flex, members) = self.layout.flex_group(self.inode_group(inode));
        // Behind the directory's last block; for a new directory, behind the inode tables of its flex group.
        let goal =
            node.runs.last().map_or(self.layout.inode_table(flex) + members * self.layout.table, |r| r.start + r.len);
        for _ in 0..want {
            let start = contents.space.next_fit(goal, 1).expect("there is room");
            contents.give_clusters(directory, start, 1);
            self.touch_block_bitmaps(contents, start, 1, change);
        }
        contents.touch_directory(directory, had * BLOCK * SECTOR, want * BLOCK * SECTOR, change);
        if had > 0 {
            // The root of the index points to the new leaf.
            contents.touch_directory(directory, 0, 1, change);
        }
        self.touch_inode(contents, inode, change);
        Ok(())
    }

    /// Reads the path to an entry: the block of a directory of one block, else index and leaf.
    pub(super) fn read_entry_path(
        &self,
        contents: &mut VolumeContents,
        directory: FileId,
        leaf: u64,
        plan: &mut IoPlan,
    ) {
        // State from before the run is not read.
        if contents.pages.is_laying() {
            return;
        }
        self.read_inode(contents, contents.tree.get(directory).record, plan);
        plan.begin_phase();
        let indexed = contents.tree.get(directory).cluster_count() > 1;
        for block in (indexed && leaf > 0).then_some(0).into_iter().chain([leaf]) {
            let page = contents.page_at(directory, block * BLOCK * SECTOR);
            contents.pages.read_page(page, BLOCK, SectorRole::Directory(directory), plan);
            plan.begin_phase();
        }
    }

    pub(super) fn entry_bytes(name: FileName) -> u64 {
        ENTRY + u64::from(name.letters).next_multiple_of(4)
    }

    /// Adds a file to its directory.
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
        // Only the leaf is known, not the place in it: one byte stands for the entry.
        contents.tree.get_mut(file).entry = (leaf * BLOCK * SECTOR, 1);
        let parent = contents.tree.get_mut(directory);
        (parent.filled, parent.entries) = (parent.filled + bytes, parent.entries + 1);
        (parent.changed, parent.shaped) = (change, change);
        let inode = parent.record;
        contents.touch_directory(directory, leaf * BLOCK * SECTOR, 1, change);
        self.touch_inode(contents, inode, change);
        contents.note_entry(file, true);
        Ok(())
    }

    pub(super) fn remove_entry(&mut self, contents: &mut VolumeContents, file: FileId, change: u64) {
        let node = contents.tree.get(file);
        let (directory, at, bytes) =
            (node.directory.expect("not the root"), node.entry.0, Ext4::entry_bytes(node.name));
        contents.touch_directory(directory, at, 1, change);
        contents.note_entry(file, false);
        let parent = contents.tree.get_mut(directory);
        (parent.filled, parent.entries) = (parent.filled - bytes, parent.entries - 1);
        (parent.changed, parent.shaped) = (change, change);
        let inode = parent.record;
        self.touch_inode(contents, inode, change);
    }
}
