//! FAT32, as Microsoft's drivers write it.
//!
//! The layout is that of Microsoft's FAT specification 1.03 ("fatgen103"). The order of writes is that of Microsoft's
//! published driver for Windows NT (fastfat of the Windows driver samples). FAT32 has no log: dirty metadata stay in
//! memory until the lazy writer, a flush or a move of clusters writes them, to both tables at once. Rules of Windows 98
//! are inferred where marked.
//!
//! In this file a *table* is a file allocation table, and an *entry* the four bytes of a cluster in it.

mod directory;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use seekwise_disk::block::{Flags, SECTOR};
use seekwise_disk::time::{Instant, Span};

use super::change::PageFact;
use super::contents::{PAGE, VolumeContents};
use super::lazy_writer::{LazyWriter, WriteBack};
use super::pages::{self, DirtyPage};
use super::plan::{IoPlan, PlanWait, SectorRole};
use super::refusal::{VolumeError, VolumeMisfit};
use super::space::{ClusterRun, FreeSpace};
use super::spec::{Fat32Spec, FatDriver, SyncScope, VolumeSpec};
use super::system::{FileClusters, FileSystem};
use super::tree::{FileId, FileName, ROOT};

/// Reserved sectors before the first table (specification, BPB_RsvdSecCnt of FAT32): boot sector, FSInfo at 1.
const RESERVED: u64 = 32;
/// Bytes of a directory entry.
const ENTRY: u64 = 32;
/// Entries of a table in a sector: four bytes each.
const ENTRIES: u64 = SECTOR / 4;
/// Fewest clusters; a volume with fewer is FAT16 (specification, "FAT Type Determination").
const LEAST: u64 = 65_525;
/// Most clusters: entries have 28 bits, and the last values are reserved.
const MOST: u64 = 0x0fff_fff5;
/// How long after the last change the volume is marked clean (fastfat).
const CLEAN_AFTER: Span = Span::from_secs(8);
/// How much later that is tried again if something is still dirty (fastfat).
const CLEAN_AGAIN: Span = Span::from_secs(2);

/// The specification's table of cluster sizes (DskTableFAT32): the most sectors of a volume, and bytes in its clusters.
const CLUSTERS: [(u64, u32); 4] = [(532_480, 512), (16_777_216, 4096), (33_554_432, 8192), (67_108_864, 16_384)];

#[derive(Debug)]
struct Fat32 {
    host: FatDriver,
    /// First sector of the volume.
    boot: u64,
    /// First sector of the first table.
    table: u64,
    /// The length of each table.
    table_sectors: u64,
    /// Free directory entries of each directory.
    slots: BTreeMap<FileId, FreeSpace>,
    /// The cluster at which allocation continues.
    next: u64,
    lazy: LazyWriter,
    /// The volume is marked dirty on the drive.
    is_marked_dirty: bool,
    /// When it may be marked clean.
    clean_due: Instant,
}

/// A sector of the first table, and the clusters of a run whose entries it holds, counted from the run's start.
struct TableSector {
    sector: u64,
    first: u64,
    end: u64,
}

/// Lays out an empty volume, whose only cluster in use is the root directory's.
pub(super) fn format_volume(
    spec: &VolumeSpec,
    fat: &Fat32Spec,
) -> Result<(VolumeContents, Box<dyn FileSystem>), VolumeMisfit> {
    let sectors = spec.partition.sectors;
    let by_size = || CLUSTERS.iter().find(|row| sectors <= row.0).map_or(32_768, |row| row.1);
    let cluster = fat.cluster.unwrap_or_else(by_size);
    if !cluster.is_power_of_two() || !(512..=65_536).contains(&cluster) {
        return Err(VolumeMisfit::Cluster { least: 512, most: 65_536 });
    }
    let cluster = u64::from(cluster) / SECTOR;
    // The specification's formula, which may leave a few sectors of a table unused.
    let table_sectors = sectors.saturating_sub(RESERVED).div_ceil((256 * cluster + 2) / 2);
    let origin = spec.partition.first + RESERVED + 2 * table_sectors;
    let clusters = sectors.saturating_sub(RESERVED + 2 * table_sectors) / cluster;
    if clusters < LEAST {
        return Err(VolumeMisfit::TooSmall { least: RESERVED + LEAST * cluster + 2 * LEAST.div_ceil(ENTRIES) });
    }
    if clusters > MOST {
        return Err(VolumeMisfit::TooLarge { most: MOST });
    }
    let mut contents = VolumeContents::new(spec.partition, cluster, origin, clusters, spec);
    let write_back = match fat.host {
        FatDriver::Nt => WriteBack::NT,
        FatDriver::Windows98 => WriteBack::WINDOWS_98,
    };
    let mut system = Fat32 {
        host: fat.host,
        boot: spec.partition.first,
        table: spec.partition.first + RESERVED,
        table_sectors,
        slots: BTreeMap::new(),
        next: 0,
        lazy: LazyWriter::new(write_back),
        is_marked_dirty: false,
        clean_due: Instant::FAR,
    };
    let root = contents.tree.add_node(None, FileName::SHORT, true);
    system.slots.insert(root, FreeSpace::default());
    system.enlarge_directory(&mut contents, root, 0).expect("an empty volume has room");
    Ok((contents, Box::new(system)))
}

impl Fat32 {
    /// The flags of a write that must reach the medium: NT marks it SL_WRITE_THROUGH.
    fn forced_flags(&self) -> Flags {
        if self.host == FatDriver::Nt { Flags::FUA } else { Flags::NONE }
    }

    fn add_flush(&self, plan: &mut IoPlan) {
        if self.host == FatDriver::Nt {
            plan.add_flush();
        }
    }

    /// Begins a metadata change; returns its number. On a clean volume NT first marks it dirty in its boot sector and
    /// waits for the medium; both systems clear a bit of the entry FAT\[1\] (specification, ClnShutBitMask).
    fn begin_change(&mut self, contents: &mut VolumeContents, now: Instant, plan: &mut IoPlan) -> u64 {
        let change = contents.changes.begin_change();
        if !self.is_marked_dirty {
            self.is_marked_dirty = true;
            if self.host == FatDriver::Nt {
                plan.begin_phase();
                plan.add_write(self.boot, 1, self.forced_flags(), SectorRole::Boot, 0);
                plan.begin_phase();
            }
            contents.pages.mark_dirty(self.table, 1, SectorRole::Fat(0), change);
        }
        if self.host == FatDriver::Nt {
            self.clean_due = now + CLEAN_AFTER;
        }
        self.lazy.start_clock(now);
        change
    }

    /// The sector of the first table with the entry of `cluster`; the first cluster has number 2.
    fn table_sector(&self, cluster: u64) -> u64 {
        self.table + (cluster + 2) / ENTRIES
    }

    /// Marks the table sectors with the entries of `len` clusters from `start` on as dirty.
    fn mark_table_entries_dirty(&self, contents: &mut VolumeContents, start: u64, len: u64, change: u64) {
        for sector in self.table_sector(start)..=self.table_sector(start + len - 1) {
            contents.pages.mark_dirty(sector, 1, SectorRole::Fat(0), change);
        }
    }

    /// The sectors of the first table with the entries of `len` clusters from `start` on.
    fn table_sectors_of(&self, start: u64, len: u64) -> impl Iterator<Item = TableSector> + use<> {
        let table = self.table;
        (self.table_sector(start)..=self.table_sector(start + len - 1)).map(move |sector| {
            let entry = (sector - table) * ENTRIES;
            let (first, end) = (entry.saturating_sub(2), entry + ENTRIES - 2);
            TableSector { sector, first: first.max(start) - start, end: end.min(start + len) - start }
        })
    }

    /// Records that the clusters of a run no longer belong to `file`.
    fn record_freed_run(&self, contents: &mut VolumeContents, file: FileId, run: ClusterRun) {
        let bytes = contents.cluster_bytes();
        for TableSector { sector, first, end } in self.table_sectors_of(run.start, run.len) {
            let fact = PageFact::Unmapped { from: (run.from + first) * bytes, to: (run.from + end) * bytes };
            contents.changes.record_fact(sector, 1, file, fact);
        }
    }

    /// Adds the writes of dirty pages. Table sectors go to both copies; dirty ones in neighbouring pages of 4 KiB are
    /// one write, from the first to the last.
    fn add_page_writes(&self, dirty: &[DirtyPage], flags: Flags, plan: &mut IoPlan) {
        let is_table = |page: &&DirtyPage| page.role == SectorRole::Fat(0);
        let rest: Vec<DirtyPage> = dirty.iter().filter(|page| !is_table(page)).copied().collect();
        pages::add_page_writes(&rest, flags, plan);
        let tables: Vec<DirtyPage> = dirty.iter().filter(is_table).copied().collect();
        let page = |sector: u64| (sector - self.table) / PAGE;
        for group in tables.chunk_by(|a, b| page(b.lba) - page(a.lba) <= 1) {
            let (first, last) = (group[0].lba, group[group.len() - 1].lba + 1);
            let latest_change = group.iter().map(|page| page.latest_change).max().unwrap_or(0);
            for copy in 0..2 {
                plan.add_write(
                    first + u64::from(copy) * self.table_sectors,
                    last - first,
                    flags,
                    SectorRole::Fat(copy),
                    latest_change,
                );
            }
        }
    }

    /// Marks the volume clean: writes FAT\[1\] to both tables, then boot sector and FSInfo in one write that is forced.
    fn write_clean_mark(&mut self, contents: &mut VolumeContents, plan: &mut IoPlan) {
        contents.pages.mark_dirty(self.table, 1, SectorRole::Fat(0), contents.changes.begin_change());
        let dirty = contents.pages.take_dirty_if(|role| role == SectorRole::Fat(0));
        plan.begin_phase();
        self.add_page_writes(&dirty, Flags::NONE, plan);
        plan.begin_phase();
        plan.add_write(self.boot, 2, self.forced_flags(), SectorRole::Boot, 0);
        (self.is_marked_dirty, self.clean_due) = (false, Instant::FAR);
    }

    /// Writes table sectors that a move of clusters changed, and flushes.
    fn flush_table_sectors(&self, contents: &mut VolumeContents, sectors: &[u64], plan: &mut IoPlan) {
        plan.begin_phase();
        self.add_page_writes(&contents.pages.take_dirty_at(sectors), self.forced_flags(), plan);
        self.add_flush(plan);
    }
}

impl FileSystem for Fat32 {
    /// 2^32 - 1: the length has 32 bits.
    fn max_file_bytes(&self) -> u64 {
        u64::from(u32::MAX)
    }

    fn has_log(&self) -> bool {
        false
    }

    /// Reads boot sector and FSInfo, then the whole first table, in which the driver counts free clusters.
    fn mount(&mut self, contents: &mut VolumeContents, plan: &mut IoPlan) {
        plan.add_read(self.boot, 1, SectorRole::Boot);
        plan.add_read(self.boot + 1, 1, SectorRole::FsInfo);
        plan.begin_phase();
        plan.add_read(self.table, self.table_sectors, SectorRole::Fat(0));
        plan.begin_phase();
        contents.read_directory(ROOT, plan);
        plan.begin_phase();
    }

    /// Entries are in no order: a search passes half of the directory on average, here the pages up to the entry.
    fn look_up(&mut self, contents: &mut VolumeContents, file: FileId, plan: &mut IoPlan) {
        let node = contents.tree.get(file);
        let Some(directory) = node.directory else {
            return;
        };
        let until = node.entry.from + u64::from(node.entry.bytes);
        for lba in contents.page_lbas(directory, 0, until) {
            contents.pages.read_unless_known(lba, contents.page_sectors(), SectorRole::Directory(directory), plan);
        }
    }

    fn create(
        &mut self,
        contents: &mut VolumeContents,
        now: Instant,
        file: FileId,
        plan: &mut IoPlan,
    ) -> Result<(), VolumeError> {
        let (directory, is_directory) =
            (contents.tree.get(file).directory.expect("not the root"), contents.tree.get(file).is_directory);
        // A cluster for the directory that grows, one for the new one.
        if contents.space.free_count() < 2 {
            return Err(VolumeError::Full);
        }
        contents.read_directory(directory, plan);
        let change = self.begin_change(contents, now, plan);
        self.add_entry(contents, file, change)?;
        if is_directory {
            self.slots.insert(file, FreeSpace::default());
            self.enlarge_directory(contents, file, change)?;
            // The entries `.` and `..`.
            self.slots.get_mut(&file).expect("just made").take_clusters(0, 2);
        }
        Ok(())
    }

    fn allocates_on_write(&self) -> bool {
        true
    }

    fn is_resident(&self, _: &VolumeContents, _: FileId) -> bool {
        false
    }

    /// Allocates after the file's last cluster, else after the last that was allocated; in one piece if a free run is
    /// long enough, else in the longest free runs (fastfat, without its windows of 65,536 clusters).
    fn allocate_clusters(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan) {
        let change = self.begin_change(contents, now, plan);
        let node = contents.tree.get(file);
        let last = node.runs.last().map(|run| run.start + run.len);
        let mut want = contents.clusters_for(node.bytes) - node.cluster_count();
        if let Some(end) = last {
            self.mark_table_entries_dirty(contents, end - 1, 1, change);
        } else {
            self.mark_file_entry_dirty(contents, file, change);
        }
        let mut hint = last.unwrap_or(self.next);
        while want > 0 {
            let here = contents.space.free_len_at(hint).min(want);
            let (start, len) = match contents.space.next_fit(hint, want) {
                _ if here > 0 && last == Some(hint) => (hint, here),
                Some(start) => (start, want),
                None => contents.space.longest_run().expect("there is room"),
            };
            let from = contents.tree.get(file).cluster_count() * contents.cluster_bytes();
            contents.assign_clusters(file, start, len);
            self.mark_table_entries_dirty(contents, start, len, change);
            let bytes = contents.cluster_bytes();
            for TableSector { sector, first, end } in self.table_sectors_of(start, len) {
                let (from, to, lba) = (from + first * bytes, from + end * bytes, contents.cluster_lba(start + first));
                contents.changes.record_fact(sector, 1, file, PageFact::Mapped { from, to, lba });
            }
            (hint, want, self.next) = (start + len, want - len, start + len);
        }
    }

    fn placement_hint(&mut self, _: &VolumeContents, _: FileId) -> u64 {
        self.next
    }

    fn record_placement_end(&mut self, _: &VolumeContents, _: FileId, next: u64) {
        self.next = next;
    }

    fn record_length(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan) {
        let change = self.begin_change(contents, now, plan);
        self.mark_file_entry_dirty(contents, file, change);
        let node = contents.tree.get(file);
        if let Some(directory) = node.directory {
            let page = contents.page_lba(directory, node.entry.from + u64::from(node.entry.bytes) - ENTRY);
            let bytes = node.bytes;
            contents.changes.record_fact(page, contents.page_sectors(), file, PageFact::Sized(bytes));
        }
    }

    fn close(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan) {
        self.record_length(contents, now, file, plan);
    }

    /// FlushFileBuffers of fastfat. The driver writes the length to the directory entry, the pages of its directory and
    /// of all above it, and, if its clusters changed, all dirty sectors of both tables; then it flushes the drive. For
    /// the root it writes everything, for another directory nothing.
    fn fsync(
        &mut self,
        contents: &mut VolumeContents,
        now: Instant,
        file: FileId,
        _: SyncScope,
        plan: &mut IoPlan,
    ) -> PlanWait {
        if contents.tree.get(file).is_directory {
            if file == ROOT {
                self.sync(contents, now, plan);
            }
            return PlanWait::Writes;
        }
        self.record_length(contents, now, file, plan);
        let mut above = contents.tree.get(file).directory;
        while let Some(directory) = above {
            let dirty = contents.pages.take_dirty_if(|role| role == SectorRole::Directory(directory));
            plan.begin_phase();
            self.add_page_writes(&dirty, self.forced_flags(), plan);
            above = contents.tree.get(directory).directory;
        }
        if core::mem::take(&mut contents.tree.get_mut(file).clusters_changed) {
            plan.begin_phase();
            let dirty = contents.pages.take_dirty_if(|role| role == SectorRole::Fat(0));
            self.add_page_writes(&dirty, self.forced_flags(), plan);
        }
        self.add_flush(plan);
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
        contents.read_directory(directory, plan);
        let change = self.begin_change(contents, now, plan);
        let before = contents.tree.get(file).clone();
        self.remove_entry(contents, file, change);
        let node = contents.tree.get_mut(file);
        (node.directory, node.name) = (Some(directory), name);
        if let Err(refused) = self.add_entry(contents, file, change) {
            let node = contents.tree.get_mut(file);
            (node.directory, node.name) = (before.directory, before.name);
            self.add_entry(contents, file, change).expect("there was room for it");
            return Err(refused);
        }
        if before.is_directory && before.directory != Some(directory) {
            // The directory's entry `..`.
            contents.mark_directory_dirty(file, ENTRY, ENTRY, change);
        }
        Ok(())
    }

    fn delete(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan) {
        self.look_up(contents, file, plan);
        let change = self.begin_change(contents, now, plan);
        self.remove_entry(contents, file, change);
        for run in contents.tree.get(file).runs.clone() {
            self.mark_table_entries_dirty(contents, run.start, run.len, change);
            self.record_freed_run(contents, file, run);
        }
        contents.free_file_clusters(file);
        self.slots.remove(&file);
    }

    /// FSCTL_MOVE_FILE of fastfat: it writes the target's entries and flushes; copies the data; writes the link at the
    /// end and flushes; writes the link at the front (for the first cluster in the directory entry) and flushes; frees
    /// the old clusters and flushes.
    fn move_clusters(
        &mut self,
        contents: &mut VolumeContents,
        now: Instant,
        file: FileId,
        moved: FileClusters,
        target: u64,
        plan: &mut IoPlan,
    ) {
        let change = self.begin_change(contents, now, plan);
        let (FileClusters { first, len }, bytes) = (moved, contents.cluster_bytes());
        let before =
            first.checked_sub(1).and_then(|index| contents.tree.get(file).find_cluster(index)).map(|found| found.0);
        let has_more = contents.tree.get(file).cluster_count() > first + len;
        let sectors: Vec<u64> = (self.table_sector(target)..=self.table_sector(target + len - 1)).collect();
        self.mark_table_entries_dirty(contents, target, len, change);
        self.flush_table_sectors(contents, &sectors, plan);
        contents.add_data_steps(file, first * bytes, len * bytes, None, plan);
        plan.begin_phase();
        contents.space.take_clusters(target, len);
        let gone = contents.tree.get_mut(file).relocate_clusters(first, len, target);
        contents.add_data_steps(file, first * bytes, len * bytes, Some(self.forced_flags()), plan);
        if has_more {
            self.mark_table_entries_dirty(contents, target + len - 1, 1, change);
            self.flush_table_sectors(contents, &[self.table_sector(target + len - 1)], plan);
        }
        // The page with the link to the first moved cluster records its place.
        let lba = contents.cluster_lba(target);
        let fact = PageFact::Mapped { from: first * bytes, to: (first + len) * bytes, lba };
        match before {
            Some(cluster) => {
                self.mark_table_entries_dirty(contents, cluster, 1, change);
                contents.changes.record_fact(self.table_sector(cluster), 1, file, fact);
                self.flush_table_sectors(contents, &[self.table_sector(cluster)], plan);
            }
            None => {
                self.mark_file_entry_dirty(contents, file, change);
                let directory = contents.tree.get(file).directory.expect("the root stays where it is");
                let entry = contents.tree.get(file).entry;
                let page = contents.page_lba(directory, entry.from + u64::from(entry.bytes) - ENTRY);
                contents.changes.record_fact(page, contents.page_sectors(), file, fact);
                plan.begin_phase();
                self.add_page_writes(
                    &contents.pages.take_dirty_if(|role| role == SectorRole::Directory(directory)),
                    self.forced_flags(),
                    plan,
                );
                self.add_flush(plan);
            }
        }
        for run in gone {
            contents.space.release_clusters(run.start, run.len);
            self.mark_table_entries_dirty(contents, run.start, run.len, change);
        }
        self.add_flush(plan);
    }

    fn next_due(&self) -> Instant {
        self.lazy.next_due().min(self.clean_due)
    }

    fn handle_due(&mut self, contents: &mut VolumeContents, now: Instant, plan: &mut IoPlan) {
        let dirty = self.lazy.take_due_pages(now, &mut contents.pages);
        self.add_page_writes(&dirty, Flags::NONE, plan);
        if now >= self.clean_due {
            if contents.pages.dirty_count() > 0 {
                self.clean_due = now + CLEAN_AGAIN;
            } else {
                self.write_clean_mark(contents, plan);
            }
        }
    }

    /// Writes everything dirty, then the clean mark. Windows 98 writes FSInfo at this moment too (inferred).
    fn sync(&mut self, contents: &mut VolumeContents, _: Instant, plan: &mut IoPlan) {
        let dirty = contents.pages.take_dirty_if(|_| true);
        self.add_page_writes(&dirty, self.forced_flags(), plan);
        self.lazy.stop_clock();
        if self.is_marked_dirty {
            self.write_clean_mark(contents, plan);
        }
        self.add_flush(plan);
    }

    fn begin_run(&mut self, _: &mut VolumeContents) {
        self.lazy.stop_clock();
        (self.is_marked_dirty, self.clean_due) = (false, Instant::FAR);
    }
}
