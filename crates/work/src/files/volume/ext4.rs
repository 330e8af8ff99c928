//! ext4 with its journal, data=ordered and delayed allocation: the defaults of mke2fs and of the kernel.
//!
//! Layout: the kernel's documentation (filesystems/ext4) and what mke2fs writes. Allocation: the same documentation and
//! the commits that it names, simplified: see docs/files.md. Which blocks an operation changes follows from the layout;
//! a test compares their number with a real ext4, if there is one.

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
use super::plan::{IoPlan, SectorRole};
use super::refusal::{VolumeError, VolumeMisfit};
use super::spec::{Ext4Spec, SyncScope, VolumeSpec};
use super::system::FileSystem;
use super::tree::{FileId, FileName, ROOT};

/// Inodes: 1 to 10 are reserved, 2 is the root, 8 the journal, 11 lost+found.
const ROOT_INODE: u64 = 2;
const FIRST_INODE: u64 = 12;
/// Blocks that mke2fs takes after group 0's tables: the root directory, lost+found, one of the resize inode.
const FIRST_FILES: u64 = 6;
/// Extents in an inode, and in a block of an extent tree; blocks in an extent.
const EXTENTS: u64 = 4;
const TREE_EXTENTS: u64 = 340;
const EXTENT: u64 = 32_768;
/// Files up to 16 blocks are packed together, larger ones follow one another (mb_stream_req, 16).
const SMALL: u64 = 16;

#[derive(Debug)]
struct Ext4 {
    layout: Ext4Layout,
    /// First sector of the volume.
    first: u64,
    journal: Ext4Journal,
    /// By group with inodes in use: the next never used inode, and the freed ones.
    inodes: BTreeMap<u64, (u64, BTreeSet<u64>)>,
    /// Where the next small file of a flex group goes, and the next large one of the volume.
    small: BTreeMap<u64, u64>,
    large: Option<u64>,
    /// Blocks of extent trees, by file.
    trees: BTreeMap<FileId, Vec<u64>>,
}

/// Lays out an empty volume: root directory, journal, and the metadata of mke2fs.
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
    contents.grain = BLOCK;
    let root = contents.tree.add(None, FileName::SHORT, true);
    let files = layout.inode_table(0) + layout.flex_group(0).1 * layout.table;
    contents.give_clusters(root, files, 1);
    contents.space.take_clusters(files + 1, FIRST_FILES - 1);
    let node = contents.tree.get_mut(root);
    (node.record, node.filled) = (ROOT_INODE, EMPTY);
    let begin = contents
        .space
        .next_fit(layout.journal_group() * GROUP, layout.journal)
        .or_else(|| contents.space.best_fit(layout.journal));
    let begin = begin.ok_or(VolumeMisfit::TooSmall { least: 4 * GROUP * BLOCK })?;
    contents.space.take_clusters(begin, layout.journal);
    let journal = Ext4Journal::new(contents.cluster_lba(begin), layout.journal, ext4.barrier, ext4.commit);
    let first = spec.partition.first;
    let inodes = BTreeMap::from([(0, (FIRST_INODE - 1, BTreeSet::new()))]);
    let system = Ext4 { layout, first, journal, inodes, small: BTreeMap::new(), large: None, trees: BTreeMap::new() };
    Ok((contents, Box::new(system)))
}

impl Ext4 {
    /// Adds a metadata change to the running transaction.
    fn begin_change(&mut self, contents: &mut VolumeContents, now: Instant) -> u64 {
        self.journal.begin_transaction(now);
        contents.changes.next()
    }

    fn block_lba(&self, block: u64) -> u64 {
        self.first + block * BLOCK
    }

    fn touch_block(&self, contents: &mut VolumeContents, block: u64, role: SectorRole, number: u64) {
        contents.pages.touch_page(self.block_lba(block), BLOCK, role, number);
    }

    fn read_block(&self, contents: &mut VolumeContents, block: u64, role: SectorRole, plan: &mut IoPlan) {
        contents.pages.read_page(self.block_lba(block), BLOCK, role, plan);
    }

    /// The group of an inode; inodes count from 1.
    fn inode_group(&self, inode: u64) -> u64 {
        (inode - 1) / self.layout.inodes
    }

    /// The block of the inode table that holds an inode.
    fn inode_block(&self, inode: u64) -> u64 {
        self.layout.inode_table(self.inode_group(inode)) + (inode - 1) % self.layout.inodes / INODES
    }

    fn touch_inode(&self, contents: &mut VolumeContents, inode: u64, number: u64) {
        self.touch_block(contents, self.inode_block(inode), SectorRole::Inodes, number);
    }

    fn read_inode(&self, contents: &mut VolumeContents, inode: u64, plan: &mut IoPlan) {
        self.read_block(contents, self.inode_block(inode), SectorRole::Inodes, plan);
    }

    /// Changes the bitmaps and free counts of these blocks' groups.
    fn touch_block_bitmaps(&self, contents: &mut VolumeContents, start: u64, len: u64, number: u64) {
        for group in start / GROUP..=(start + len - 1) / GROUP {
            self.touch_block(contents, self.layout.block_bitmap(group), SectorRole::BlockBitmap, number);
            self.touch_block(contents, self.layout.descriptor_block(group), SectorRole::GroupDescriptors, number);
        }
    }

    /// The flex group's first group with room for data: its second, if it has four or more.
    fn data_group(&self, group: u64) -> u64 {
        let (first, members) = self.layout.flex_group(group);
        if members >= 4 { first + 1 } else { first }
    }

    /// A group for a new inode: that of its directory for a file or a subdirectory; for a directory of the root, a flex
    /// group drawn from those with the most free inodes (the Orlov allocator's spreading).
    fn home_group(&self, contents: &mut VolumeContents, file: FileId) -> u64 {
        let node = contents.tree.get(file);
        let parent = node.directory.expect("not the root");
        if node.is_directory && parent == ROOT {
            let flexes = self.layout.groups.div_ceil(FLEX);
            let start = contents.chance.below(flexes);
            let used = |flex: u64| {
                (flex * FLEX..(flex + 1) * FLEX).filter_map(|g| self.inodes.get(&g)).map(|i| i.0).sum::<u64>()
            };
            let order = (0..flexes.min(64)).map(|step| (start + step) % flexes);
            return order.min_by_key(|&flex| used(flex)).unwrap_or(0) * FLEX;
        }
        self.inode_group(contents.tree.get(parent).record)
    }

    /// Takes the lowest free inode of a group, or of the next group that has one.
    fn take_inode(&mut self, contents: &mut VolumeContents, file: FileId) -> Result<u64, VolumeError> {
        let (home, per, groups) = (self.home_group(contents, file), self.layout.inodes, self.layout.groups);
        for step in 0..groups {
            let group = (home + step) % groups;
            let (next, freed) = self.inodes.entry(group).or_default();
            if let Some(inode) = freed.pop_first() {
                return Ok(inode);
            }
            if *next < per {
                *next += 1;
                return Ok(group * per + *next);
            }
        }
        Err(VolumeError::NoRecords)
    }

    /// Keeps the extent tree as large as the file's extents need.
    fn fit_extent_tree(&mut self, contents: &mut VolumeContents, file: FileId, number: u64) {
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
            self.touch_block_bitmaps(contents, block, 1, number);
            // The last leaf grows; the others stay as they are.
            if index + 1 == blocks.len() {
                self.touch_block(contents, block, SectorRole::Extents(file), number);
            }
        }
        if blocks.is_empty() {
            self.trees.remove(&file);
        }
    }

    fn free_extent_tree(&mut self, contents: &mut VolumeContents, file: FileId, number: u64) {
        for block in self.trees.remove(&file).unwrap_or_default() {
            contents.space.release_clusters(block, 1);
            self.touch_block_bitmaps(contents, block, 1, number);
            contents.pages.drop(self.block_lba(block), BLOCK);
            self.journal.forget_freed(self.block_lba(block), BLOCK);
        }
    }

    /// Writes a file's length into its inode.
    fn write_length(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId) {
        let number = self.begin_change(contents, now);
        self.fit_extent_tree(contents, file, number);
        let (inode, bytes) = (contents.tree.get(file).record, contents.tree.get(file).bytes);
        self.touch_inode(contents, inode, number);
        contents.changes.note_fact((self.block_lba(self.inode_block(inode)), BLOCK), file, PageFact::Sized(bytes));
        let node = contents.tree.get_mut(file);
        (node.changed, node.shaped, node.kept) = (number, number, bytes);
    }

    /// Where a file without blocks begins.
    fn allocation_goal(&self, contents: &VolumeContents, file: FileId) -> u64 {
        let group = self.inode_group(contents.tree.get(file).record);
        let goal = self.data_group(group) * GROUP;
        if contents.clusters_for(contents.tree.get(file).bytes) <= SMALL {
            return self.small.get(&self.layout.flex_group(group).0).copied().unwrap_or(goal);
        }
        self.large.unwrap_or(goal)
    }

    fn note_goal(&mut self, contents: &VolumeContents, file: FileId, next: u64) {
        let node = contents.tree.get(file);
        if contents.clusters_for(node.bytes) <= SMALL {
            self.small.insert(self.layout.flex_group(self.inode_group(node.record)).0, next);
        } else {
            self.large = Some(next);
        }
    }
}

impl FileSystem for Ext4 {
    /// 2^32 blocks, less one.
    fn max_file_bytes(&self) -> u64 {
        u64::from(u32::MAX) * BLOCK * SECTOR
    }

    /// Superblock, all group descriptors, the journal's superblock, the root.
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

    fn open(&mut self, contents: &mut VolumeContents, file: FileId, plan: &mut IoPlan) {
        let node = contents.tree.get(file);
        let (record, leaf) = (node.record, node.entry.0 / (BLOCK * SECTOR));
        if let Some(directory) = node.directory {
            self.read_entry_path(contents, directory, leaf, plan);
        }
        self.read_inode(contents, record, plan);
        for block in self.trees.get(&file).cloned().unwrap_or_default() {
            plan.begin_phase();
            self.read_block(contents, block, SectorRole::Extents(file), plan);
        }
    }

    /// Inode, its bitmap and group descriptor, the directory's block and inode; for a directory also its first block.
    fn create(
        &mut self,
        contents: &mut VolumeContents,
        now: Instant,
        file: FileId,
        plan: &mut IoPlan,
    ) -> Result<(), VolumeError> {
        // Two for the directory that grows, one for the new one.
        if contents.space.free_clusters() < 3 {
            return Err(VolumeError::Full);
        }
        let inode = self.take_inode(contents, file)?;
        contents.tree.get_mut(file).record = inode;
        let number = self.begin_change(contents, now);
        self.add_entry(contents, file, number, plan)?;
        let group = self.inode_group(inode);
        self.read_block(contents, self.layout.inode_bitmap(group), SectorRole::InodeBitmap, plan);
        self.read_inode(contents, inode, plan);
        plan.begin_phase();
        self.touch_block(contents, self.layout.inode_bitmap(group), SectorRole::InodeBitmap, number);
        self.touch_block(contents, self.layout.descriptor_block(group), SectorRole::GroupDescriptors, number);
        self.touch_inode(contents, inode, number);
        contents.changes.note_fact((self.block_lba(self.inode_block(inode)), BLOCK), file, PageFact::Recorded);
        if contents.tree.get(file).is_directory {
            self.enlarge_directory(contents, file, number)?;
            contents.tree.get_mut(file).filled = EMPTY;
            contents.mark_known(file);
        }
        let node = contents.tree.get_mut(file);
        (node.changed, node.shaped) = (number, number);
        Ok(())
    }

    fn allocates_early(&self) -> bool {
        false
    }

    fn is_resident(&self, _: &VolumeContents, _: FileId) -> bool {
        false
    }

    /// After the file's last block, else at its goal, in one piece if one is long enough; the rest in the longest free
    /// runs.
    fn allocate_clusters(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan) {
        let number = self.begin_change(contents, now);
        let node = contents.tree.get(file);
        let (from, inode) = (node.cluster_count() * contents.cluster_bytes(), node.record);
        let mut want = contents.clusters_for(node.bytes) - node.cluster_count();
        while want > 0 {
            let end = contents.tree.get(file).runs.last().map(|run| run.start + run.len);
            let behind = end.map(|end| (end, contents.space.free_at(end))).filter(|&(_, free)| free > 0);
            let goal = self.allocation_goal(contents, file);
            let fit = contents.space.next_fit(goal, want).map(|start| (start, want));
            let (start, len) = behind.or(fit).or_else(|| contents.space.longest_run()).expect("there is room");
            let len = len.min(want);
            for group in start / GROUP..=(start + len - 1) / GROUP {
                self.read_block(contents, self.layout.block_bitmap(group), SectorRole::BlockBitmap, plan);
            }
            contents.give_clusters(file, start, len);
            self.note_goal(contents, file, start + len);
            self.touch_block_bitmaps(contents, start, len, number);
            want -= len;
        }
        contents.note_runs((self.block_lba(self.inode_block(inode)), BLOCK), file, from);
        self.write_length(contents, now, file);
    }

    fn placement_hint(&mut self, contents: &VolumeContents, file: FileId) -> u64 {
        self.allocation_goal(contents, file)
    }

    fn note_placement(&mut self, contents: &VolumeContents, file: FileId, next: u64) {
        self.note_goal(contents, file, next);
    }

    fn record_length(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, _: &mut IoPlan) {
        self.write_length(contents, now, file);
    }

    /// Nothing: length and times are in the inode already.
    fn close(&mut self, _: &mut VolumeContents, _: Instant, _: FileId, _: &mut IoPlan) {}

    /// Times change with the data; fsync commits them, fdatasync does not. Both commit a new length.
    fn touch_times(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId) {
        if contents.tree.get(file).kept != contents.tree.get(file).bytes {
            self.write_length(contents, now, file);
        }
        let number = self.begin_change(contents, now);
        self.touch_inode(contents, contents.tree.get(file).record, number);
        contents.tree.get_mut(file).changed = number;
    }

    /// A commit if the running transaction has changes of the file; else a flush.
    fn fsync(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, what: SyncScope, plan: &mut IoPlan) {
        let node = contents.tree.get(file);
        let number = if what == SyncScope::All { node.changed } else { node.shaped };
        if self.journal.is_committed(number) {
            self.journal.add_flush(plan);
        } else {
            self.journal.commit(&mut contents.pages, now, plan);
        }
    }

    fn rename(
        &mut self,
        contents: &mut VolumeContents,
        now: Instant,
        file: FileId,
        to: (FileId, FileName),
        plan: &mut IoPlan,
    ) -> Result<(), VolumeError> {
        if contents.space.free_clusters() < 2 {
            return Err(VolumeError::Full);
        }
        self.open(contents, file, plan);
        plan.begin_phase();
        let number = self.begin_change(contents, now);
        let parent = contents.tree.get(file).directory;
        self.remove_entry(contents, file, number);
        let node = contents.tree.get_mut(file);
        (node.directory, node.name) = (Some(to.0), to.1);
        self.add_entry(contents, file, number, plan)?;
        if contents.tree.get(file).is_directory && parent != Some(to.0) {
            // The directory's entry `..`.
            contents.touch_directory(file, 0, 1, number);
        }
        self.touch_inode(contents, contents.tree.get(file).record, number);
        let node = contents.tree.get_mut(file);
        (node.changed, node.shaped) = (number, number);
        Ok(())
    }

    /// The directory's block and inode; the inode, its bitmap and descriptor; bitmaps and descriptors of its blocks;
    /// and the superblock, which heads the list of orphans meanwhile.
    fn delete(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan) {
        self.open(contents, file, plan);
        plan.begin_phase();
        let number = self.begin_change(contents, now);
        self.remove_entry(contents, file, number);
        let node = contents.tree.get(file).clone();
        let group = self.inode_group(node.record);
        self.read_block(contents, self.layout.inode_bitmap(group), SectorRole::InodeBitmap, plan);
        self.touch_block(contents, 0, SectorRole::SuperBlock, number);
        self.touch_block(contents, self.layout.inode_bitmap(group), SectorRole::InodeBitmap, number);
        self.touch_block(contents, self.layout.descriptor_block(group), SectorRole::GroupDescriptors, number);
        self.touch_inode(contents, node.record, number);
        contents.changes.note_fact((self.block_lba(self.inode_block(node.record)), BLOCK), file, PageFact::Unrecorded);
        for run in &node.runs {
            self.touch_block_bitmaps(contents, run.start, run.len, number);
            self.journal.forget_freed(self.block_lba(run.start), run.len * BLOCK);
        }
        self.free_extent_tree(contents, file, number);
        contents.free_clusters(file);
        self.inodes.get_mut(&group).expect("it has inodes").1.insert(node.record);
    }

    /// As e4defrag does with EXT4_IOC_MOVE_EXT (inferred): the data are read and written, and the two extents exchanged
    /// in the running transaction.
    fn move_clusters(
        &mut self,
        contents: &mut VolumeContents,
        now: Instant,
        file: FileId,
        from: (u64, u64),
        to: u64,
        plan: &mut IoPlan,
    ) {
        let ((first, len), bytes) = (from, contents.cluster_bytes());
        let number = self.begin_change(contents, now);
        contents.add_data_steps(file, first * bytes, len * bytes, None, plan);
        plan.begin_phase();
        contents.space.take_clusters(to, len);
        let gone = contents.tree.get_mut(file).move_clusters(first, len, to);
        contents.add_data_steps(file, first * bytes, len * bytes, Some(Flags::NONE), plan);
        plan.begin_phase();
        self.touch_block_bitmaps(contents, to, len, number);
        for run in gone {
            contents.space.release_clusters(run.start, run.len);
            self.touch_block_bitmaps(contents, run.start, run.len, number);
        }
        self.fit_extent_tree(contents, file, number);
        let record = contents.tree.get(file).record;
        self.touch_inode(contents, record, number);
        contents.note_runs((self.block_lba(self.inode_block(record)), BLOCK), file, 0);
        let node = contents.tree.get_mut(file);
        (node.changed, node.shaped) = (number, number);
    }

    fn next_due(&self) -> Instant {
        self.journal.next_due()
    }

    fn handle_due(&mut self, contents: &mut VolumeContents, now: Instant, plan: &mut IoPlan) {
        self.journal.handle_due(&mut contents.pages, now, plan);
    }

    /// A commit, then all blocks written home, as an unmount does.
    fn sync(&mut self, contents: &mut VolumeContents, now: Instant, plan: &mut IoPlan) {
        self.journal.commit(&mut contents.pages, now, plan);
        self.journal.checkpoint(plan);
    }

    fn begin_run(&mut self, contents: &mut VolumeContents) {
        self.journal.begin_run(contents.changes.latest_number());
    }
}
