//! FAT32, as Microsoft's drivers write it.
//!
//! Layout: Microsoft's FAT specification 1.03 ("fatgen103"). Order of writes: Microsoft's published driver for Windows
//! NT (fastfat of the Windows driver samples), which has no log: the lazy writer, a flush or a move of clusters writes
//! what is in memory, both tables at once. Windows 98 is inferred where marked.

mod directory;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::change::PageFact;
use super::contents::{PAGE, VolumeContents};
use super::lazy::{LazyWriter, WriteBack};
use super::pages::{self, DirtyPage};
use super::plan::{IoPlan, SectorRole};
use super::refusal::{VolumeError, VolumeMisfit};
use super::space::{ClusterRun, FreeSpace};
use super::spec::{Fat32Spec, FatDriver, SyncScope, VolumeSpec};
use super::system::FileSystem;
use super::tree::{FileId, FileName, ROOT};
use crate::block::{Flags, SECTOR};
use crate::time::{Instant, Span};

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
pub(super) fn format(
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
    system.enlarge(&mut contents, root, 0).expect("an empty volume has room");
    Ok((contents, Box::new(system)))
}

impl Fat32 {
    /// The flags of a write that must reach the medium: NT marks it SL_WRITE_THROUGH.
    fn through(&self) -> Flags {
        if self.host == FatDriver::Nt { Flags::FUA } else { Flags::NONE }
    }

    fn flush(&self, plan: &mut IoPlan) {
        if self.host == FatDriver::Nt {
            plan.flush();
        }
    }

    /// Prepares for a metadata change. NT marks a clean volume dirty in its boot sector, and goes on when that is on
    /// the medium; both systems clear a bit of the entry FAT\[1\] (specification, ClnShutBitMask).
    fn change(&mut self, contents: &mut VolumeContents, now: Instant, plan: &mut IoPlan) -> u64 {
        let number = contents.changes.next();
        if !self.marked {
            self.marked = true;
            if self.host == FatDriver::Nt {
                plan.then();
                plan.write(self.boot, 1, self.through(), SectorRole::Boot, 0);
                plan.then();
            }
            contents.pages.touch(self.table, 1, SectorRole::Fat(0), number);
        }
        if self.host == FatDriver::Nt {
            self.clean = now + CLEAN_AFTER;
        }
        self.lazy.wake(now);
        number
    }

    /// The sector of the first table with the entry of `cluster`; the first cluster has number 2.
    fn sector(&self, cluster: u64) -> u64 {
        self.table + (cluster + 2) / ENTRIES
    }

    /// Changes the entries of `len` clusters from `start` on.
    fn touch_entries(&self, contents: &mut VolumeContents, start: u64, len: u64, number: u64) {
        for sector in self.sector(start)..=self.sector(start + len - 1) {
            contents.pages.touch(sector, 1, SectorRole::Fat(0), number);
        }
    }

    /// The sectors of a table with the entries of `len` clusters from `start` on, each with its range of these
    /// clusters, counted from `start`.
    fn entries(&self, start: u64, len: u64) -> impl Iterator<Item = (u64, u64, u64)> + use<> {
        let table = self.table;
        (self.sector(start)..=self.sector(start + len - 1)).map(move |sector| {
            let entry = (sector - table) * ENTRIES;
            let (first, end) = (entry.saturating_sub(2), entry + ENTRIES - 2);
            (sector, first.max(start) - start, end.min(start + len) - start)
        })
    }

    /// Notes that the clusters of a run are no longer linked.
    fn note_freed(&self, contents: &mut VolumeContents, file: FileId, run: ClusterRun) {
        let bytes = contents.cluster_bytes();
        for (sector, head, tail) in self.entries(run.start, run.len) {
            let fact = PageFact::Unmapped((run.from + head) * bytes, (run.from + tail) * bytes);
            contents.changes.note((sector, 1), file, fact);
        }
    }

    /// Writes dirty pages; of tables both copies, from the first to the last dirty sector of neighbouring pages of 4
    /// KiB.
    fn write(&self, dirty: &[DirtyPage], flags: Flags, plan: &mut IoPlan) {
        let is_table = |page: &&DirtyPage| page.role == SectorRole::Fat(0);
        let rest: Vec<DirtyPage> = dirty.iter().filter(|page| !is_table(page)).copied().collect();
        pages::write(&rest, flags, plan);
        let tables: Vec<DirtyPage> = dirty.iter().filter(is_table).copied().collect();
        let page = |sector: u64| (sector - self.table) / PAGE;
        for group in tables.chunk_by(|a, b| page(b.lba) - page(a.lba) <= 1) {
            let (first, last) = (group[0].lba, group[group.len() - 1].lba + 1);
            let holds = group.iter().map(|page| page.holds).max().unwrap_or(0);
            for copy in 0..2 {
                plan.write(first + u64::from(copy) * self.length, last - first, flags, SectorRole::Fat(copy), holds);
            }
        }
    }

    /// Marks the volume clean: FAT\[1\] in both tables, then boot sector and FSInfo in one write through to the medium.
    fn mark_clean(&mut self, contents: &mut VolumeContents, plan: &mut IoPlan) {
        contents.pages.touch(self.table, 1, SectorRole::Fat(0), contents.changes.next());
        let dirty = contents.pages.take_if(|role| role == SectorRole::Fat(0));
        plan.then();
        self.write(&dirty, Flags::NONE, plan);
        plan.then();
        plan.write(self.boot, 2, self.through(), SectorRole::Boot, 0);
        (self.marked, self.clean) = (false, Instant::FAR);
    }

    /// Writes the table sectors that a move of clusters changed, and waits for the medium.
    fn settle_table(&self, contents: &mut VolumeContents, sectors: &[u64], plan: &mut IoPlan) {
        plan.then();
        self.write(&contents.pages.take(sectors), self.through(), plan);
        self.flush(plan);
    }
}

impl FileSystem for Fat32 {
    /// 2^32 - 1: the length has 32 bits.
    fn longest(&self) -> u64 {
        u64::from(u32::MAX)
    }

    fn has_log(&self) -> bool {
        false
    }

    /// Boot sector and FSInfo, then the whole first table: the driver counts free clusters in it.
    fn mount(&mut self, contents: &mut VolumeContents, plan: &mut IoPlan) {
        plan.read(self.boot, 1, SectorRole::Boot);
        plan.read(self.boot + 1, 1, SectorRole::FsInfo);
        plan.then();
        plan.read(self.table, self.length, SectorRole::Fat(0));
        plan.then();
        contents.list(ROOT, plan);
        plan.then();
    }

    /// Entries are in no order: a search passes half of the directory on average, here the pages up to the entry.
    fn open(&mut self, contents: &mut VolumeContents, file: FileId, plan: &mut IoPlan) {
        let node = contents.tree.get(file);
        let Some(directory) = node.directory else {
            return;
        };
        let until = node.entry.0 + u64::from(node.entry.1);
        for lba in contents.pages_at(directory, 0, until) {
            contents.pages.read(lba, contents.page(), SectorRole::Directory(directory), plan);
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
        if contents.space.free() < 2 {
            return Err(VolumeError::Full);
        }
        contents.list(directory, plan);
        let number = self.change(contents, now, plan);
        self.enter(contents, file, number)?;
        if is_directory {
            self.slots.insert(file, FreeSpace::default());
            self.enlarge(contents, file, number)?;
            // The entries `.` and `..`.
            self.slots.get_mut(&file).expect("just made").take(0, 2);
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
    fn grow(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan) {
        let number = self.change(contents, now, plan);
        let node = contents.tree.get(file);
        let last = node.runs.last().map(|run| run.start + run.len);
        let mut want = contents.clusters(node.bytes) - node.clusters();
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
            let from = contents.tree.get(file).clusters() * contents.cluster_bytes();
            contents.give(file, start, len);
            self.touch_entries(contents, start, len, number);
            let bytes = contents.cluster_bytes();
            for (sector, head, tail) in self.entries(start, len) {
                let fact = PageFact::Mapped(from + head * bytes, from + tail * bytes, contents.lba(start + head));
                contents.changes.note((sector, 1), file, fact);
            }
            (hint, want, self.next) = (start + len, want - len, start + len);
        }
    }

    fn hint(&mut self, _: &VolumeContents, _: FileId) -> u64 {
        self.next
    }

    fn laid(&mut self, _: &VolumeContents, _: FileId, next: u64) {
        self.next = next;
    }

    fn sized(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan) {
        let number = self.change(contents, now, plan);
        self.touch_entry(contents, file, number);
        let node = contents.tree.get(file);
        if let Some(directory) = node.directory {
            let page = contents.page_at(directory, node.entry.0 + u64::from(node.entry.1) - ENTRY);
            let bytes = node.bytes;
            contents.changes.note((page, contents.page()), file, PageFact::Sized(bytes));
        }
    }

    fn close(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan) {
        self.sized(contents, now, file, plan);
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
        self.sized(contents, now, file, plan);
        let mut above = contents.tree.get(file).directory;
        while let Some(directory) = above {
            let dirty = contents.pages.take_if(|role| role == SectorRole::Directory(directory));
            plan.then();
            self.write(&dirty, self.through(), plan);
            above = contents.tree.get(directory).directory;
        }
        if core::mem::take(&mut contents.tree.get_mut(file).remapped) {
            plan.then();
            let dirty = contents.pages.take_if(|role| role == SectorRole::Fat(0));
            self.write(&dirty, self.through(), plan);
        }
        self.flush(plan);
    }

    fn rename(
        &mut self,
        contents: &mut VolumeContents,
        now: Instant,
        file: FileId,
        to: (FileId, FileName),
        plan: &mut IoPlan,
    ) -> Result<(), VolumeError> {
        contents.list(to.0, plan);
        let number = self.change(contents, now, plan);
        let before = contents.tree.get(file).clone();
        self.leave(contents, file, number);
        let node = contents.tree.get_mut(file);
        (node.directory, node.name) = (Some(to.0), to.1);
        if let Err(refused) = self.enter(contents, file, number) {
            let node = contents.tree.get_mut(file);
            (node.directory, node.name) = (before.directory, before.name);
            self.enter(contents, file, number).expect("there was room for it");
            return Err(refused);
        }
        if before.is_directory && before.directory != Some(to.0) {
            // The directory's entry `..`.
            contents.touch(file, ENTRY, ENTRY, number);
        }
        Ok(())
    }

    fn delete(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan) {
        self.open(contents, file, plan);
        let number = self.change(contents, now, plan);
        self.leave(contents, file, number);
        for run in contents.tree.get(file).runs.clone() {
            self.touch_entries(contents, run.start, run.len, number);
            self.note_freed(contents, file, run);
        }
        contents.take_all(file);
        self.slots.remove(&file);
    }

    /// FSCTL_MOVE_FILE of fastfat: target's entries and a flush; copy; the link at the end and a flush; the link at the
    /// front (in the directory entry for the first cluster) and a flush; the old clusters freed, and a flush.
    fn shift(
        &mut self,
        contents: &mut VolumeContents,
        now: Instant,
        file: FileId,
        from: (u64, u64),
        to: u64,
        plan: &mut IoPlan,
    ) {
        let number = self.change(contents, now, plan);
        let ((first, len), bytes) = (from, contents.cluster_bytes());
        let before = first.checked_sub(1).and_then(|index| contents.tree.get(file).find(index)).map(|found| found.0);
        let has_more = contents.tree.get(file).clusters() > first + len;
        let sectors: Vec<u64> = (self.sector(to)..=self.sector(to + len - 1)).collect();
        self.touch_entries(contents, to, len, number);
        self.settle_table(contents, &sectors, plan);
        contents.data(file, first * bytes, len * bytes, None, plan);
        plan.then();
        contents.space.take(to, len);
        let gone = contents.tree.get_mut(file).replace(first, len, to);
        contents.data(file, first * bytes, len * bytes, Some(self.through()), plan);
        if has_more {
            self.touch_entries(contents, to + len - 1, 1, number);
            self.settle_table(contents, &[self.sector(to + len - 1)], plan);
        }
        // The page that links to the first moved cluster holds its place.
        let fact = PageFact::Mapped(first * bytes, (first + len) * bytes, contents.lba(to));
        match before {
            Some(cluster) => {
                self.touch_entries(contents, cluster, 1, number);
                contents.changes.note((self.sector(cluster), 1), file, fact);
                self.settle_table(contents, &[self.sector(cluster)], plan);
            }
            None => {
                self.touch_entry(contents, file, number);
                let directory = contents.tree.get(file).directory.expect("the root stays where it is");
                let entry = contents.tree.get(file).entry;
                let page = contents.page_at(directory, entry.0 + u64::from(entry.1) - ENTRY);
                contents.changes.note((page, contents.page()), file, fact);
                plan.then();
                self.write(
                    &contents.pages.take_if(|role| role == SectorRole::Directory(directory)),
                    self.through(),
                    plan,
                );
                self.flush(plan);
            }
        }
        for run in gone {
            contents.space.release(run.start, run.len);
            self.touch_entries(contents, run.start, run.len, number);
        }
        self.flush(plan);
    }

    fn due(&self) -> Instant {
        self.lazy.due().min(self.clean)
    }

    fn elapse(&mut self, contents: &mut VolumeContents, now: Instant, plan: &mut IoPlan) {
        let dirty = self.lazy.take(now, &mut contents.pages);
        self.write(&dirty, Flags::NONE, plan);
        if now >= self.clean {
            if contents.pages.dirty() > 0 {
                self.clean = now + CLEAN_AGAIN;
            } else {
                self.mark_clean(contents, plan);
            }
        }
    }

    /// Everything dirty, then the clean mark; Windows 98 writes FSInfo at this moment too (inferred).
    fn sync(&mut self, contents: &mut VolumeContents, _: Instant, plan: &mut IoPlan) {
        let dirty = contents.pages.take_if(|_| true);
        self.write(&dirty, self.through(), plan);
        self.lazy.rest();
        if self.marked {
            self.mark_clean(contents, plan);
        }
        self.flush(plan);
    }

    fn settle(&mut self, _: &mut VolumeContents) {
        self.lazy.rest();
        (self.marked, self.clean) = (false, Instant::FAR);
    }
}
