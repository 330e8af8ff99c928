//! ext4 with its journal, data=ordered and delayed allocation: the defaults of mke2fs and of the kernel.
//!
//! The layout is that of the kernel's documentation (filesystems/ext4) and of mke2fs. Allocation follows the same
//! documentation and the commits that it names, simplified (docs/files.md). Each operation changes the blocks that the
//! layout says; a test compares their number with a real ext4, if there is one.
//!
//! | file | what it holds |
//! |---|---|
//! | here | inodes, bitmaps, extent trees, allocation |
//! | `layout` | block numbers on the volume |
//! | `directory` | entries of directories |
//! | `journal` | transactions |

mod directory;
mod journal;
mod layout;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use seekwise_disk::block::{Flags, SECTOR};
use seekwise_disk::time::Instant;

use self::journal::Ext4Journal;
use self::layout::{BLOCK, EMPTY, Ext4Layout, FLEX, GROUP, INODES};
use super::change::PageFact;
use super::contents::VolumeContents;
use super::plan::{IoPlan, PlanWait, SectorRole};
use super::refusal::{VolumeError, VolumeMisfit};
use super::spec::{Ext4Spec, SyncScope, VolumeSpec};
use super::system::{FileClusters, FileSystem};
use super::tree::{FileId, FileName, ROOT};

/// The root's inode.
const ROOT_INODE: u64 = 2;
/// The first inode of a user's file: 1 to 10 are reserved, 11 is that of lost+found.
const FIRST_INODE: u64 = 12;
/// Blocks that mke2fs takes after group 0's tables: the root directory, lost+found, one of the resize inode.
const FIRST_FILES: u64 = 6;
/// Extents in an inode.
const EXTENTS: u64 = 4;
/// Extents in a block of an extent tree.
const TREE_EXTENTS: u64 = 340;
/// Most blocks of an extent.
const EXTENT: u64 = 32_768;
/// Most blocks of a small file. Small files are packed together, larger ones follow one another (mb_stream_req).
const SMALL: u64 = 16;

#[derive(Debug)]
struct Ext4 {
    layout: Ext4Layout,
    /// First sector of the volume.
    first: u64,
    journal: Ext4Journal,
    /// By group with inodes in use.
    inodes: BTreeMap<u64, GroupInodes>,
    /// By first group of a flex group: the block where its next small file goes.
    small_goals: BTreeMap<u64, u64>,
    /// The block where the next large file of the volume goes.
    large_goal: Option<u64>,
    /// By file: the blocks of its extent tree.
    trees: BTreeMap<FileId, Vec<u64>>,
}

/// The inodes of a group.
#[derive(Debug, Default)]
struct GroupInodes {
    /// How many were ever in use.
    used: u64,
    freed: BTreeSet<u64>,
}

/// Lays out an empty volume as mke2fs does: root directory, journal, and the metadata of the groups.
pub(super) fn format_volume(
    spec: &VolumeSpec,
    ext4: &Ext4Spec,
) -> Result<(VolumeContents, Box<dyn FileSystem>), VolumeMisfit> {
    let layout = Ext4Layout::new(spec.partition.sectors / BLOCK)?;
    let mut contents = VolumeContents::new(spec.partition, BLOCK, spec.partition.first, layout.blocks, spec);
    for group in 0..layout.groups {
        let (flex, members) = layout.flex_group(group);
        let backup = layout.backup_blocks(group);
        let tables = if flex == group { members * (2 + layout.table) } else { 0 };
        if backup + tables > 0 {
            contents.space.take_clusters(group * GROUP, backup + tables);
        }
    }
    contents.data_unit = BLOCK;
    let root = contents.tree.add_node(None, FileName::SHORT, true);
    let files = layout.inode_table(0) + layout.flex_group(0).1 * layout.table;
    contents.assign_clusters(root, files, 1);
    contents.space.take_clusters(files + 1, FIRST_FILES - 1);
    let node = contents.tree.get_mut(root);
    (node.record, node.used_bytes) = (ROOT_INODE, EMPTY);
    let begin = contents
        .space
        .next_fit(layout.journal_group() * GROUP, layout.journal)
        .or_else(|| contents.space.best_fit(layout.journal));
    let begin = begin.ok_or(VolumeMisfit::TooSmall { least: 4 * GROUP * BLOCK })?;
    contents.space.take_clusters(begin, layout.journal);
    let journal = Ext4Journal::new(contents.cluster_lba(begin), layout.journal, ext4.barrier, ext4.commit);
    let first = spec.partition.first;
    let inodes = BTreeMap::from([(0, GroupInodes { used: FIRST_INODE - 1, freed: BTreeSet::new() })]);
    let (small_goals, trees) = (BTreeMap::new(), BTreeMap::new());
    let system = Ext4 { layout, first, journal, inodes, small_goals, large_goal: None, trees };
    Ok((contents, Box::new(system)))
}

impl Ext4 {
    /// Begins a metadata change in the running transaction; returns its number.
    fn begin_change(&mut self, contents: &mut VolumeContents, now: Instant) -> u64 {
        self.journal.begin_transaction(now);
        contents.changes.begin_change()
    }

    fn block_lba(&self, block: u64) -> u64 {
        self.first + block * BLOCK
    }

    fn mark_block_dirty(&self, contents: &mut VolumeContents, block: u64, role: SectorRole, change: u64) {
        contents.pages.mark_dirty(self.block_lba(block), BLOCK, role, change);
    }

    fn read_block(&self, contents: &mut VolumeContents, block: u64, role: SectorRole, plan: &mut IoPlan) {
        contents.pages.read_unless_known(self.block_lba(block), BLOCK, role, plan);
    }

    /// The group of an inode; inodes count from 1.
    fn inode_group(&self, inode: u64) -> u64 {
        (inode - 1) / self.layout.inodes
    }

    /// The block of the inode table that holds an inode.
    fn inode_block(&self, inode: u64) -> u64 {
        self.layout.inode_table(self.inode_group(inode)) + (inode - 1) % self.layout.inodes / INODES
    }

    fn mark_inode_dirty(&self, contents: &mut VolumeContents, inode: u64, change: u64) {
        self.mark_block_dirty(contents, self.inode_block(inode), SectorRole::Inodes, change);
    }

    fn read_inode(&self, contents: &mut VolumeContents, inode: u64, plan: &mut IoPlan) {
        self.read_block(contents, self.inode_block(inode), SectorRole::Inodes, plan);
    }

    /// Marks the bitmaps and free counts of the groups of these blocks as dirty.
    fn mark_block_bitmaps_dirty(&self, contents: &mut VolumeContents, start: u64, len: u64, change: u64) {
        for group in start / GROUP..=(start + len - 1) / GROUP {
            self.mark_block_dirty(contents, self.layout.block_bitmap(group), SectorRole::BlockBitmap, change);
            self.mark_block_dirty(contents, self.layout.descriptor_block(group), SectorRole::GroupDescriptors, change);
        }
    }

    /// The flex group's first group with room for data: its second, if it has four or more.
    fn data_group(&self, group: u64) -> u64 {
        let (first, members) = self.layout.flex_group(group);
        if members >= 4 { first + 1 } else { first }
    }

    /// The group for the inode of a new file: that of its directory. A new directory in the root goes to a flex group
    /// with many free inodes, from a random one on (the Orlov allocator).
    fn group_for_new_inode(&self, contents: &mut VolumeContents, file: FileId) -> u64 {
        let node = contents.tree.get(file);
        let parent = node.directory.expect("not the root");
        if node.is_directory && parent == ROOT {
            let flexes = self.layout.groups.div_ceil(FLEX);
            let start = contents.rng.below(flexes);
            let used = |flex: u64| {
                (flex * FLEX..(flex + 1) * FLEX)
                    .filter_map(|group| self.inodes.get(&group))
                    .map(|inodes| inodes.used)
                    .sum::<u64>()
            };
            let order = (0..flexes.min(64)).map(|step| (start + step) % flexes);
            return order.min_by_key(|&flex| used(flex)).unwrap_or(0) * FLEX;
        }
        self.inode_group(contents.tree.get(parent).record)
    }

    /// Takes the lowest free inode of a group, or of the next group that has one.
    fn allocate_inode(&mut self, contents: &mut VolumeContents, file: FileId) -> Result<u64, VolumeError> {
        let (home, per, groups) = (self.group_for_new_inode(contents, file), self.layout.inodes, self.layout.groups);
        for step in 0..groups {
            let group = (home + step) % groups;
            let inodes = self.inodes.entry(group).or_default();
            if let Some(inode) = inodes.freed.pop_first() {
                return Ok(inode);
            }
            if inodes.used < per {
                inodes.used += 1;
                return Ok(group * per + inodes.used);
            }
        }
        Err(VolumeError::NoRecords)
    }

    /// Grows the extent tree of a file to the size that its extents need.
    fn resize_extent_tree(&mut self, contents: &mut VolumeContents, file: FileId, change: u64) {
        let node = contents.tree.get(file);
        let extents: u64 = node.runs.iter().map(|run| run.len.div_ceil(EXTENT)).sum();
        let want = if extents <= EXTENTS { 0 } else { extents.div_ceil(TREE_EXTENTS) };
        let near = node.runs.first().map_or(0, |run| run.start);
        let tree = self.trees.entry(file).or_default();
        while (tree.len() as u64) < want {
            let Some(block) = contents.space.next_fit(near, 1) else {
                break;
            };
            contents.space.take_clusters(block, 1);
            tree.push(block);
        }
        let blocks = tree.clone();
        for (index, &block) in blocks.iter().enumerate() {
            self.mark_block_bitmaps_dirty(contents, block, 1, change);
            // The last leaf grows; the others stay as they are.
            if index + 1 == blocks.len() {
                self.mark_block_dirty(contents, block, SectorRole::Extents(file), change);
            }
        }
        if blocks.is_empty() {
            self.trees.remove(&file);
        }
    }

    fn free_extent_tree(&mut self, contents: &mut VolumeContents, file: FileId, change: u64) {
        let blocks = self.trees.remove(&file).unwrap_or_default();
        self.free_tree_blocks(contents, &blocks, change);
    }

    fn free_tree_blocks(&mut self, contents: &mut VolumeContents, blocks: &[u64], change: u64) {
        for &block in blocks {
            contents.space.release_clusters(block, 1);
            self.mark_block_bitmaps_dirty(contents, block, 1, change);
            contents.pages.drop_range(self.block_lba(block), BLOCK);
            self.journal.drop_freed(self.block_lba(block), BLOCK);
        }
    }

    /// Frees the blocks of an extent tree that a shorter file no longer needs.
    fn shrink_extent_tree(&mut self, contents: &mut VolumeContents, file: FileId, change: u64) {
        let extents: u64 = contents.tree.get(file).runs.iter().map(|run| run.len.div_ceil(EXTENT)).sum();
        let want = if extents <= EXTENTS { 0 } else { extents.div_ceil(TREE_EXTENTS) };
        let Some(tree) = self.trees.get_mut(&file) else { return };
        let freed = tree.split_off((want as usize).min(tree.len()));
        self.free_tree_blocks(contents, &freed, change);
        if want == 0 {
            self.trees.remove(&file);
        }
    }

    /// Writes a file's length into its inode.
    fn record_length_in_inode(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId) {
        let change = self.begin_change(contents, now);
        self.resize_extent_tree(contents, file, change);
        let (inode, bytes) = (contents.tree.get(file).record, contents.tree.get(file).bytes);
        self.mark_inode_dirty(contents, inode, change);
        contents.changes.record_fact(self.block_lba(self.inode_block(inode)), BLOCK, file, PageFact::Sized(bytes));
        let node = contents.tree.get_mut(file);
        (node.last_change, node.last_layout_change, node.recorded_bytes) = (change, change, bytes);
    }

    /// The block at which a file without blocks should begin.
    fn allocation_goal(&self, contents: &VolumeContents, file: FileId) -> u64 {
        let group = self.inode_group(contents.tree.get(file).record);
        let goal = self.data_group(group) * GROUP;
        if contents.clusters_for(contents.tree.get(file).bytes) <= SMALL {
            return self.small_goals.get(&self.layout.flex_group(group).0).copied().unwrap_or(goal);
        }
        self.large_goal.unwrap_or(goal)
    }

    /// Sets the block at which the next file of this size should begin.
    fn record_goal(&mut self, contents: &VolumeContents, file: FileId, next: u64) {
        let node = contents.tree.get(file);
        if contents.clusters_for(node.bytes) <= SMALL {
            self.small_goals.insert(self.layout.flex_group(self.inode_group(node.record)).0, next);
        } else {
            self.large_goal = Some(next);
        }
    }
}

impl FileSystem for Ext4 {
    /// Block numbers of a file have 32 bits.
    fn max_file_bytes(&self) -> u64 {
        u64::from(u32::MAX) * BLOCK * SECTOR
    }

    /// Reads the superblock, all group descriptors, the journal's superblock and the root's inode.
    fn mount(&mut self, contents: &mut VolumeContents, plan: &mut IoPlan) {
        self.read_block(contents, 0, SectorRole::SuperBlock, plan);
        plan.begin_phase();
        for block in 0..self.layout.descriptors {
            self.read_block(contents, 1 + block, SectorRole::GroupDescriptors, plan);
        }
        plan.begin_phase();
        plan.add_read(self.journal.superblock_lba(), BLOCK, SectorRole::JournalSuper);
        plan.begin_phase();
        self.read_inode(contents, ROOT_INODE, plan);
        plan.begin_phase();
    }

    fn look_up(&mut self, contents: &mut VolumeContents, file: FileId, plan: &mut IoPlan) {
        let node = contents.tree.get(file);
        let (record, leaf) = (node.record, node.entry.from / (BLOCK * SECTOR));
        if let Some(directory) = node.directory {
            self.read_entry_path(contents, directory, leaf, plan);
        }
        self.read_inode(contents, record, plan);
        for block in self.trees.get(&file).cloned().unwrap_or_default() {
            plan.begin_phase();
            self.read_block(contents, block, SectorRole::Extents(file), plan);
        }
    }

    /// Changes the inode, its bitmap and group descriptor, and block and inode of the parent; a new directory also gets
    /// a block.
    fn create(
        &mut self,
        contents: &mut VolumeContents,
        now: Instant,
        file: FileId,
        plan: &mut IoPlan,
    ) -> Result<(), VolumeError> {
        // Two for the directory that grows, one for the new one.
        if contents.space.free_count() < 3 {
            return Err(VolumeError::Full);
        }
        let inode = self.allocate_inode(contents, file)?;
        contents.tree.get_mut(file).record = inode;
        let change = self.begin_change(contents, now);
        self.add_entry(contents, file, change, plan)?;
        let group = self.inode_group(inode);
        self.read_block(contents, self.layout.inode_bitmap(group), SectorRole::InodeBitmap, plan);
        self.read_inode(contents, inode, plan);
        plan.begin_phase();
        self.mark_block_dirty(contents, self.layout.inode_bitmap(group), SectorRole::InodeBitmap, change);
        self.mark_block_dirty(contents, self.layout.descriptor_block(group), SectorRole::GroupDescriptors, change);
        self.mark_inode_dirty(contents, inode, change);
        contents.changes.record_fact(self.block_lba(self.inode_block(inode)), BLOCK, file, PageFact::Recorded);
        if contents.tree.get(file).is_directory {
            self.enlarge_directory(contents, file, change)?;
            contents.tree.get_mut(file).used_bytes = EMPTY;
            contents.mark_directory_known(file);
        }
        let node = contents.tree.get_mut(file);
        (node.last_change, node.last_layout_change) = (change, change);
        Ok(())
    }

    fn allocates_on_write(&self) -> bool {
        false
    }

    fn is_resident(&self, _: &VolumeContents, _: FileId) -> bool {
        false
    }

    /// Allocates after the file's last block, else at its goal, in one piece if a free run is long enough, else in the
    /// longest free runs.
    fn allocate_clusters(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan) {
        let change = self.begin_change(contents, now);
        let node = contents.tree.get(file);
        let (from, inode) = (node.cluster_count() * contents.cluster_bytes(), node.record);
        let mut want = contents.clusters_for(node.bytes) - node.cluster_count();
        while want > 0 {
            let end = contents.tree.get(file).runs.last().map(|run| run.start + run.len);
            let behind = end.map(|end| (end, contents.space.free_len_at(end))).filter(|&(_, free)| free > 0);
            let goal = self.allocation_goal(contents, file);
            let fit = contents.space.next_fit(goal, want).map(|start| (start, want));
            let (start, len) = behind.or(fit).or_else(|| contents.space.longest_run()).expect("there is room");
            let len = len.min(want);
            for group in start / GROUP..=(start + len - 1) / GROUP {
                self.read_block(contents, self.layout.block_bitmap(group), SectorRole::BlockBitmap, plan);
            }
            contents.assign_clusters(file, start, len);
            self.record_goal(contents, file, start + len);
            self.mark_block_bitmaps_dirty(contents, start, len, change);
            want -= len;
        }
        contents.record_runs(self.block_lba(self.inode_block(inode)), BLOCK, file, from);
        self.record_length_in_inode(contents, now, file);
    }

    fn placement_hint(&mut self, contents: &VolumeContents, file: FileId) -> u64 {
        self.allocation_goal(contents, file)
    }

    fn record_placement_end(&mut self, contents: &VolumeContents, file: FileId, next: u64) {
        self.record_goal(contents, file, next);
    }

    fn record_length(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, _: &mut IoPlan) {
        self.record_length_in_inode(contents, now, file);
    }

    /// Does nothing: length and times are in the inode already.
    fn close(&mut self, _: &mut VolumeContents, _: Instant, _: FileId, _: &mut IoPlan) {}

    /// Changes the times; fsync commits them, fdatasync does not. A new length is recorded too, and both commit it.
    fn update_times(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId) {
        if contents.tree.get(file).recorded_bytes != contents.tree.get(file).bytes {
            self.record_length_in_inode(contents, now, file);
        }
        let change = self.begin_change(contents, now);
        self.mark_inode_dirty(contents, contents.tree.get(file).record, change);
        contents.tree.get_mut(file).last_change = change;
    }

    /// Commits if the running transaction has changes of the file; else only flushes, once a commit in flight is
    /// complete (`ext4_fsync_journal`). A commit follows all data before it (`data=ordered`).
    fn fsync(
        &mut self,
        contents: &mut VolumeContents,
        now: Instant,
        file: FileId,
        scope: SyncScope,
        plan: &mut IoPlan,
    ) -> PlanWait {
        let node = contents.tree.get(file);
        let change = if scope == SyncScope::All { node.last_change } else { node.last_layout_change };
        if self.journal.is_committed(change) {
            self.journal.add_barrier(plan);
            return PlanWait::Commits;
        }
        self.journal.commit(&mut contents.pages, now, plan);
        PlanWait::Writes
    }

    fn rename(
        &mut self,
        contents: &mut VolumeContents,
        now: Instant,
        file: FileId,
        directory: FileId,
        name: FileName,
        plan: &mut IoPlan,
    ) -> Result<(), VolumeError> {
        if contents.space.free_count() < 2 {
            return Err(VolumeError::Full);
        }
        self.look_up(contents, file, plan);
        plan.begin_phase();
        let change = self.begin_change(contents, now);
        let parent = contents.tree.get(file).directory;
        self.remove_entry(contents, file, change);
        let node = contents.tree.get_mut(file);
        (node.directory, node.name) = (Some(directory), name);
        self.add_entry(contents, file, change, plan)?;
        if contents.tree.get(file).is_directory && parent != Some(directory) {
            // The directory's entry `..`.
            contents.mark_directory_dirty(file, 0, 1, change);
        }
        self.mark_inode_dirty(contents, contents.tree.get(file).record, change);
        let node = contents.tree.get_mut(file);
        (node.last_change, node.last_layout_change) = (change, change);
        Ok(())
    }

    /// Changes the inode. A shorter file also changes the bitmaps and descriptors of the blocks that it frees, and the
    /// superblock, which heads the list of orphans meanwhile (`ext4_truncate`). A longer one gets no blocks.
    fn set_length(
        &mut self,
        contents: &mut VolumeContents,
        now: Instant,
        file: FileId,
        bytes: u64,
        plan: &mut IoPlan,
    ) -> Result<(), VolumeError> {
        self.look_up(contents, file, plan);
        plan.begin_phase();
        let change = self.begin_change(contents, now);
        let (had, kept) = (contents.tree.get(file).cluster_count(), contents.clusters_for(bytes));
        let node = contents.tree.get_mut(file);
        let is_cut = bytes < node.bytes;
        node.bytes = bytes;
        let gone = node.cut_clusters(kept);
        for run in &gone {
            contents.space.release_clusters(run.start, run.len);
            self.mark_block_bitmaps_dirty(contents, run.start, run.len, change);
        }
        if is_cut {
            self.mark_block_dirty(contents, 0, SectorRole::SuperBlock, change);
            self.shrink_extent_tree(contents, file, change);
            let (record, bytes) = (contents.tree.get(file).record, contents.cluster_bytes());
            let fact = PageFact::Unmapped { from: kept * bytes, to: had.max(kept) * bytes };
            contents.changes.record_fact(self.block_lba(self.inode_block(record)), BLOCK, file, fact);
        }
        self.record_length_in_inode(contents, now, file);
        Ok(())
    }

    /// Changes block and inode of the directory; the inode, its bitmap and descriptor; bitmaps and descriptors of the
    /// file's blocks; and the superblock, which heads the list of orphans meanwhile.
    fn delete(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan) {
        self.look_up(contents, file, plan);
        plan.begin_phase();
        let change = self.begin_change(contents, now);
        self.remove_entry(contents, file, change);
        let node = contents.tree.get(file).clone();
        let group = self.inode_group(node.record);
        self.read_block(contents, self.layout.inode_bitmap(group), SectorRole::InodeBitmap, plan);
        self.mark_block_dirty(contents, 0, SectorRole::SuperBlock, change);
        self.mark_block_dirty(contents, self.layout.inode_bitmap(group), SectorRole::InodeBitmap, change);
        self.mark_block_dirty(contents, self.layout.descriptor_block(group), SectorRole::GroupDescriptors, change);
        self.mark_inode_dirty(contents, node.record, change);
        contents.changes.record_fact(self.block_lba(self.inode_block(node.record)), BLOCK, file, PageFact::Unrecorded);
        for run in &node.runs {
            self.mark_block_bitmaps_dirty(contents, run.start, run.len, change);
            self.journal.drop_freed(self.block_lba(run.start), run.len * BLOCK);
        }
        self.free_extent_tree(contents, file, change);
        contents.free_file_clusters(file);
        self.inodes.get_mut(&group).expect("it has inodes").freed.insert(node.record);
    }

    /// Moves as e4defrag does with EXT4_IOC_MOVE_EXT (inferred): it reads and writes the data, and exchanges the two
    /// extents in the running transaction.
    fn move_clusters(
        &mut self,
        contents: &mut VolumeContents,
        now: Instant,
        file: FileId,
        moved: FileClusters,
        target: u64,
        plan: &mut IoPlan,
    ) {
        let (FileClusters { first, len }, bytes) = (moved, contents.cluster_bytes());
        let change = self.begin_change(contents, now);
        contents.add_data_steps(file, first * bytes, len * bytes, None, plan);
        plan.begin_phase();
        contents.space.take_clusters(target, len);
        let gone = contents.tree.get_mut(file).relocate_clusters(first, len, target);
        contents.add_data_steps(file, first * bytes, len * bytes, Some(Flags::NONE), plan);
        plan.begin_phase();
        self.mark_block_bitmaps_dirty(contents, target, len, change);
        for run in gone {
            contents.space.release_clusters(run.start, run.len);
            self.mark_block_bitmaps_dirty(contents, run.start, run.len, change);
        }
        self.resize_extent_tree(contents, file, change);
        let record = contents.tree.get(file).record;
        self.mark_inode_dirty(contents, record, change);
        contents.record_runs(self.block_lba(self.inode_block(record)), BLOCK, file, 0);
        let node = contents.tree.get_mut(file);
        (node.last_change, node.last_layout_change) = (change, change);
    }

    fn next_due(&self) -> Instant {
        self.journal.next_due()
    }

    fn handle_due(&mut self, contents: &mut VolumeContents, now: Instant, plan: &mut IoPlan) {
        self.journal.handle_due(&mut contents.pages, now, plan);
    }

    /// Commits, then writes all blocks home, as an unmount does.
    fn sync(&mut self, contents: &mut VolumeContents, now: Instant, plan: &mut IoPlan) {
        self.journal.commit(&mut contents.pages, now, plan);
        self.journal.checkpoint(plan);
    }

    fn begin_run(&mut self, contents: &mut VolumeContents) {
        self.journal.begin_run(contents.changes.latest_number());
    }
}
