//! FAT32, as Microsoft's drivers write it.
//!
//! Layout: Microsoft's FAT specification 1.03 ("fatgen103"). Order of writes: Microsoft's published driver for Windows
//! NT (fastfat of the Windows driver samples), which has no log: the lazy writer, a flush or a move of clusters writes
//! what is in memory, both tables at once. Windows 98 is inferred where marked.

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
use super::plan::{IoPlan, SectorRole};
use super::refusal::{VolumeError, VolumeMisfit};
use super::space::{ClusterRun, FreeSpace};
use super::spec::{Fat32Spec, FatDriver, SyncScope, VolumeSpec};
use super::system::FileSystem;
use super::tree::{FileId, FileName, ROOT};

/// Reserved sectors before the first table (specification, BPB_RsvdSecCnt of FAT32): boot sector, FSInfo at 1.
const RESERVED: u64 = 32;
/// Bytes of a directory entry.
const ENTRY: u64 = 32;
/// Entries of a table in a sector: four bytes each.
const ENTRIES: u64 = SECTOR / 4;
/// Fewer clusters are FAT16 (specification, "FAT Type Determination").
const LEAST: u64 = 65_525;
/// Entries have 28 bits; the last values are reserved.
const MOST: u64 = 0x0fff_fff5;
/// How long after the last change the volume is marked clean; the second time applies while something is dirty
/// (fastfat, 8 s and 2 s).
const CLEAN_AFTER: Span = Span::from_secs(8);
const CLEAN_AGAIN: Span = Span::from_secs(2);

/// The specification's table of cluster sizes (DskTableFAT32): up to how many sectors, bytes in a cluster.
const CLUSTERS: [(u64, u32); 4] = [(532_480, 512), (16_777_216, 4096), (33_554_432, 8192), (67_108_864, 16_384)];

#[derive(Debug)]
struct Fat32 {
    host: FatDriver,
    /// First sector of the volume, and of the first table; a table's sectors.
    boot: u64,
    table: u64,
    length: u64,
    /// Free entries of each directory, in entries.
    slots: BTreeMap<FileId, FreeSpace>,
    /// Where allocation goes on.
    next: u64,
    lazy: LazyWriter,
    /// Marked dirty, and when it may be marked clean.
    marked: bool,
    clean: Instant,
}

/// Lays out an empty volume: its only cluster in use is the root directory's.
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
    let length = sectors.saturating_sub(RESERVED).div_ceil((256 * cluster + 2) / 2);
    let origin = spec.partition.first + RESERVED + 2 * length;
    let clusters = sectors.saturating_sub(RESERVED + 2 * length) / cluster;
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
        length,
        slots: BTreeMap::new(),
        next: 0,
        lazy: LazyWriter::new(write_back),
        marked: false,
        clean: Instant::FAR,
    };
    let root = contents.tree.add(None, FileName::SHORT, true);
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

    /// Prepares for a metadata change. NT marks a clean volume dirty in its boot sector, and goes on when that is on
    /// the medium; both systems clear a bit of the entry FAT\[1\] (specification, ClnShutBitMask).
    fn begin_change(&mut self, contents: &mut VolumeContents, now: Instant, plan: &mut IoPlan) -> u64 {
        let number = contents.changes.next();
        if !self.marked {
            self.marked = true;
            if self.host == FatDriver::Nt {
                plan.begin_phase();
                plan.add_write(self.boot, 1, self.forced_flags(), SectorRole::Boot, 0);
                plan.begin_phase();
            }
            contents.pages.touch_page(self.table, 1, SectorRole::Fat(0), number);
        }
        if self.host == FatDriver::Nt {
            self.clean = now + CLEAN_AFTER;
        }
        self.lazy.start_clock(now);
        number
    }

    /// The sector of the first table with the entry of `cluster`; the first cluster has number 2.
    fn table_sector(&self, cluster: u64) -> u64 {
        self.table + (cluster + 2) / ENTRIES
    }

    /// Changes the entries of `len` clusters from `start` on.
    fn touch_entries(&self, contents: &mut VolumeContents, start: u64, len: u64, number: u64) {
        for sector in self.table_sector(start)..=self.table_sector(start + len - 1) {
            contents.pages.touch_page(sector, 1, SectorRole::Fat(0), number);
        }
    }

    /// The sectors of a table with the entries of `len` clusters from `start` on, each with its range of these
    /// clusters, counted from `start`.
    fn entry_sectors(&self, start: u64, len: u64) -> impl Iterator<Item = (u64, u64, u64)> + use<> {
        let table = self.table;
        (self.table_sector(start)..=self.table_sector(start + len - 1)).map(move |sector| {
            let entry = (sector - table) * ENTRIES;
            let (first, end) = (entry.saturating_sub(2), entry + ENTRIES - 2);
            (sector, first.max(start) - start, end.min(start + len) - start)
        })
    }

    /// Notes that the clusters of a run are no longer linked.
    fn note_freed(&self, contents: &mut VolumeContents, file: FileId, run: ClusterRun) {
        let bytes = contents.cluster_bytes();
        for (sector, head, tail) in self.entry_sectors(run.start, run.len) {
            let fact = PageFact::Unmapped((run.from + head) * bytes, (run.from + tail) * bytes);
            contents.changes.note_fact((sector, 1), file, fact);
        }
    }

    /// Writes dirty pages; of tables both copies, from the first to the last dirty sector of neighbouring pages of 4
    /// KiB.
    fn write_pages(&self, dirty: &[DirtyPage], flags: Flags, plan: &mut IoPlan) {
        let is_table = |page: &&DirtyPage| page.role == SectorRole::Fat(0);
        let rest: Vec<DirtyPage> = dirty.iter().filter(|page| !is_table(page)).copied().collect();
        pages::write_pages(&rest, flags, plan);
        let tables: Vec<DirtyPage> = dirty.iter().filter(is_table).copied().collect();
        let page = |sector: u64| (sector - self.table) / PAGE;
        for group in tables.chunk_by(|a, b| page(b.lba) - page(a.lba) <= 1) {
            let (first, last) = (group[0].lba, group[group.len() - 1].lba + 1);
            let holds = group.iter().map(|page| page.holds).max().unwrap_or(0);
            for copy in 0..2 {
                plan.add_write(
                    first + u64::from(copy) * self.length,
                    last - first,
                    flags,
                    SectorRole::Fat(copy),
                    holds,
                );
            }
        }
    }

    /// Marks the volume clean: FAT\[1\] in both tables, then boot sector and FSInfo in one write through to the medium.
    fn mark_clean(&mut self, contents: &mut VolumeContents, plan: &mut IoPlan) {
        contents.pages.touch_page(self.table, 1, SectorRole::Fat(0), contents.changes.next());
        let dirty = contents.pages.take_if(|role| role == SectorRole::Fat(0));
        plan.begin_phase();
        self.write_pages(&dirty, Flags::NONE, plan);
        plan.begin_phase();
        plan.add_write(self.boot, 2, self.forced_flags(), SectorRole::Boot, 0);
        (self.marked, self.clean) = (false, Instant::FAR);
    }

    /// Writes the table sectors that a move of clusters changed, and waits for the medium.
    fn write_table_sectors(&self, contents: &mut VolumeContents, sectors: &[u64], plan: &mut IoPlan) {
        plan.begin_phase();
        self.write_pages(&contents.pages.take_pages(sectors), self.forced_flags(), plan);
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

    /// Boot sector and FSInfo, then the whole first table: the driver counts free clusters in it.
    fn mount(&mut self, contents: &mut VolumeContents, plan: &mut IoPlan) {
        plan.add_read(self.boot, 1, SectorRole::Boot);
        plan.add_read(self.boot + 1, 1, SectorRole::FsInfo);
        plan.begin_phase();
        plan.add_read(self.table, self.length, SectorRole::Fat(0));
        plan.begin_phase();
        contents.read_directory(ROOT, plan);
        plan.begin_phase();
    }

    /// Entries are in no order: a search passes half of the directory on average, here the pages up to the entry.
    fn open(&mut self, contents: &mut VolumeContents, file: FileId, plan: &mut IoPlan) {
        let node = contents.tree.get(file);
        let Some(directory) = node.directory else {
            return;
        };
        let until = node.entry.0 + u64::from(node.entry.1);
        for lba in contents.pages_at(directory, 0, until) {
            contents.pages.read_page(lba, contents.page_sectors(), SectorRole::Directory(directory), plan);
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
        if contents.space.free_clusters() < 2 {
            return Err(VolumeError::Full);
        }
        contents.read_directory(directory, plan);
        let number = self.begin_change(contents, now, plan);
        self.add_entry(contents, file, number)?;
        if is_directory {
            self.slots.insert(file, FreeSpace::default());
            self.enlarge_directory(contents, file, number)?;
            // The entries `.` and `..`.
            self.slots.get_mut(&file).expect("just made").take_clusters(0, 2);
        }
        Ok(())
    }

    fn allocates_early(&self) -> bool {
        true
    }

    fn is_resident(&self, _: &VolumeContents, _: FileId) -> bool {
        false
    }

    /// After the file's last cluster, else after the last that was allocated; in one piece if one is long enough, else
    /// in the longest free runs (fastfat; its windows of 65,536 clusters are left out).
    fn allocate_clusters(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan) {
        let number = self.begin_change(contents, now, plan);
        let node = contents.tree.get(file);
        let last = node.runs.last().map(|run| run.start + run.len);
        let mut want = contents.clusters_for(node.bytes) - node.cluster_count();
        if let Some(end) = last {
            self.touch_entries(contents, end - 1, 1, number);
        } else {
            self.touch_entry(contents, file, number);
        }
        let mut hint = last.unwrap_or(self.next);
        while want > 0 {
            let here = contents.space.free_at(hint).min(want);
            let (start, len) = match contents.space.next_fit(hint, want) {
                _ if here > 0 && last == Some(hint) => (hint, here),
                Some(start) => (start, want),
                None => contents.space.longest_run().expect("there is room"),
            };
            let from = contents.tree.get(file).cluster_count() * contents.cluster_bytes();
            contents.give_clusters(file, start, len);
            self.touch_entries(contents, start, len, number);
            let bytes = contents.cluster_bytes();
            for (sector, head, tail) in self.entry_sectors(start, len) {
                let fact =
                    PageFact::Mapped(from + head * bytes, from + tail * bytes, contents.cluster_lba(start + head));
                contents.changes.note_fact((sector, 1), file, fact);
            }
            (hint, want, self.next) = (start + len, want - len, start + len);
        }
    }

    fn placement_hint(&mut self, _: &VolumeContents, _: FileId) -> u64 {
        self.next
    }

    fn note_placement(&mut self, _: &VolumeContents, _: FileId, next: u64) {
        self.next = next;
    }

    fn record_length(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan) {
        let number = self.begin_change(contents, now, plan);
        self.touch_entry(contents, file, number);
        let node = contents.tree.get(file);
        if let Some(directory) = node.directory {
            let page = contents.page_at(directory, node.entry.0 + u64::from(node.entry.1) - ENTRY);
            let bytes = node.bytes;
            contents.changes.note_fact((page, contents.page_sectors()), file, PageFact::Sized(bytes));
        }
    }

    fn close(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan) {
        self.record_length(contents, now, file, plan);
    }

    /// FlushFileBuffers of fastfat: the length to the entry, then the pages of its directory and all above it, then, if
    /// its clusters changed, all dirty sectors of both tables, then the drive. For the root it flushes everything, for
    /// another directory nothing.
    fn fsync(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, _: SyncScope, plan: &mut IoPlan) {
        if contents.tree.get(file).is_directory {
            if file == ROOT {
                self.sync(contents, now, plan);
            }
            return;
        }
        self.record_length(contents, now, file, plan);
        let mut above = contents.tree.get(file).directory;
        while let Some(directory) = above {
            let dirty = contents.pages.take_if(|role| role == SectorRole::Directory(directory));
            plan.begin_phase();
            self.write_pages(&dirty, self.forced_flags(), plan);
            above = contents.tree.get(directory).directory;
        }
        if core::mem::take(&mut contents.tree.get_mut(file).remapped) {
            plan.begin_phase();
            let dirty = contents.pages.take_if(|role| role == SectorRole::Fat(0));
            self.write_pages(&dirty, self.forced_flags(), plan);
        }
        self.add_flush(plan);
    }

    fn rename(
        &mut self,
        contents: &mut VolumeContents,
        now: Instant,
        file: FileId,
        to: (FileId, FileName),
        plan: &mut IoPlan,
    ) -> Result<(), VolumeError> {
        contents.read_directory(to.0, plan);
        let number = self.begin_change(contents, now, plan);
        let before = contents.tree.get(file).clone();
        self.remove_entry(contents, file, number);
        let node = contents.tree.get_mut(file);
        (node.directory, node.name) = (Some(to.0), to.1);
        if let Err(refused) = self.add_entry(contents, file, number) {
            let node = contents.tree.get_mut(file);
            (node.directory, node.name) = (before.directory, before.name);
            self.add_entry(contents, file, number).expect("there was room for it");
            return Err(refused);
        }
        if before.is_directory && before.directory != Some(to.0) {
            // The directory's entry `..`.
            contents.touch_directory(file, ENTRY, ENTRY, number);
        }
        Ok(())
    }

    fn delete(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan) {
        self.open(contents, file, plan);
        let number = self.begin_change(contents, now, plan);
        self.remove_entry(contents, file, number);
        for run in contents.tree.get(file).runs.clone() {
            self.touch_entries(contents, run.start, run.len, number);
            self.note_freed(contents, file, run);
        }
        contents.free_clusters(file);
        self.slots.remove(&file);
    }

    /// FSCTL_MOVE_FILE of fastfat: target's entries and a flush; copy; the link at the end and a flush; the link at the
    /// front (in the directory entry for the first cluster) and a flush; the old clusters freed, and a flush.
    fn move_clusters(
        &mut self,
        contents: &mut VolumeContents,
        now: Instant,
        file: FileId,
        from: (u64, u64),
        to: u64,
        plan: &mut IoPlan,
    ) {
        let number = self.begin_change(contents, now, plan);
        let ((first, len), bytes) = (from, contents.cluster_bytes());
        let before =
            first.checked_sub(1).and_then(|index| contents.tree.get(file).find_cluster(index)).map(|found| found.0);
        let has_more = contents.tree.get(file).cluster_count() > first + len;
        let sectors: Vec<u64> = (self.table_sector(to)..=self.table_sector(to + len - 1)).collect();
        self.touch_entries(contents, to, len, number);
        self.write_table_sectors(contents, &sectors, plan);
        contents.add_data_steps(file, first * bytes, len * bytes, None, plan);
        plan.begin_phase();
        contents.space.take_clusters(to, len);
        let gone = contents.tree.get_mut(file).move_clusters(first, len, to);
        contents.add_data_steps(file, first * bytes, len * bytes, Some(self.forced_flags()), plan);
        if has_more {
            self.touch_entries(contents, to + len - 1, 1, number);
            self.write_table_sectors(contents, &[self.table_sector(to + len - 1)], plan);
        }
        // The page that links to the first moved cluster holds its place.
        let fact = PageFact::Mapped(first * bytes, (first + len) * bytes, contents.cluster_lba(to));
        match before {
            Some(cluster) => {
                self.touch_entries(contents, cluster, 1, number);
                contents.changes.note_fact((self.table_sector(cluster), 1), file, fact);
                self.write_table_sectors(contents, &[self.table_sector(cluster)], plan);
            }
            None => {
                self.touch_entry(contents, file, number);
                let directory = contents.tree.get(file).directory.expect("the root stays where it is");
                let entry = contents.tree.get(file).entry;
                let page = contents.page_at(directory, entry.0 + u64::from(entry.1) - ENTRY);
                contents.changes.note_fact((page, contents.page_sectors()), file, fact);
                plan.begin_phase();
                self.write_pages(
                    &contents.pages.take_if(|role| role == SectorRole::Directory(directory)),
                    self.forced_flags(),
                    plan,
                );
                self.add_flush(plan);
            }
        }
        for run in gone {
            contents.space.release_clusters(run.start, run.len);
            self.touch_entries(contents, run.start, run.len, number);
        }
        self.add_flush(plan);
    }

    fn next_due(&self) -> Instant {
        self.lazy.next_due().min(self.clean)
    }

    fn handle_due(&mut self, contents: &mut VolumeContents, now: Instant, plan: &mut IoPlan) {
        let dirty = self.lazy.take_due(now, &mut contents.pages);
        self.write_pages(&dirty, Flags::NONE, plan);
        if now >= self.clean {
            if contents.pages.dirty_count() > 0 {
                self.clean = now + CLEAN_AGAIN;
            } else {
                self.mark_clean(contents, plan);
            }
        }
    }

    /// Everything dirty, then the clean mark; Windows 98 writes FSInfo at this moment too (inferred).
    fn sync(&mut self, contents: &mut VolumeContents, _: Instant, plan: &mut IoPlan) {
        let dirty = contents.pages.take_if(|_| true);
        self.write_pages(&dirty, self.forced_flags(), plan);
        self.lazy.stop_clock();
        if self.marked {
            self.mark_clean(contents, plan);
        }
        self.add_flush(plan);
    }

    fn begin_run(&mut self, _: &mut VolumeContents) {
        self.lazy.stop_clock();
        (self.marked, self.clean) = (false, Instant::FAR);
    }
}
