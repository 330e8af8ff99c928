//! NTFS 3.1, as far as it is documented: no published driver shows what Windows writes for each operation.
//!
//! Layout and sizes are those of the linux-ntfs documentation and of Russinovich and Solomon, Windows Internals. From
//! them follow the pages that an operation changes; its log records follow from the documentation's list of redo
//! operations. Both sources state the order of writes: the log goes before the metadata that it describes, and both are
//! written lazily. Inferred parts are marked.
//!
//! In this file a *record* is a file's record in `$MFT`; `log` has records of the log, `index` the directories.

mod index;
mod log;

use alloc::boxed::Box;
use alloc::collections::BTreeSet;

use seekwise_disk::block::{Flags, SECTOR};
use seekwise_disk::time::{Instant, Span};

use self::log::NtfsLog;
use super::change::PageFact;
use super::contents::{PAGE, VolumeContents};
use super::lazy_writer::{LazyWriter, WriteBack};
use super::pages;
use super::plan::{IoPlan, PlanWait, SectorRole};
use super::refusal::{VolumeError, VolumeMisfit};
use super::spec::{NtfsSpec, SyncScope, VolumeSpec};
use super::system::{FileClusters, FileSystem};
use super::tree::{FileId, FileName, ROOT};

/// Bytes of a record of `$MFT`.
const RECORD: u64 = 1024;
/// Records in a page.
const RECORDS: u64 = PAGE * SECTOR / RECORD;
/// Bits in a page of a bitmap: one for each record or cluster.
const BITS: u64 = PAGE * SECTOR * 8;
/// The first record of a user's file: 0 to 15 are the system's, 16 to 23 reserved, 24 to 26 `$Extend`'s.
const FIRST: u64 = 27;
/// The root directory's record.
const ROOT_RECORD: u64 = 5;
/// `$MFT` grows by this (inferred: 16 KiB to 1 MiB).
const GROWTH: u64 = 64 << 10;
/// Bytes in `$LogFile` on volumes above 12 GiB; on smaller ones it has a 200th of the volume (measured by the authors
/// of mkntfs).
const LOG: u64 = 64 << 20;
/// Fewest bytes in `$LogFile` (from the same measurement).
const LEAST_LOG: u64 = 2 << 20;
/// The interval of log checkpoints: "every few seconds" (Microsoft); 5 s is what books say.
const CHECKPOINT: Span = Span::from_secs(5);
/// Bytes of a record before its attributes.
const HEADER: u64 = 56;
/// Bytes of the attribute `$STANDARD_INFORMATION`.
const STANDARD: u64 = 96;
/// Bytes of an attribute's header.
const ATTRIBUTE: u64 = 24;
/// Bytes of the end mark of a record.
const END: u64 = 8;
/// Bytes of `$FILE_NAME` without its letters.
const FILE_NAME: u64 = 66;

#[derive(Debug)]
struct Ntfs {
    /// First sectors on the drive: boot sector, `$MFT`, its bitmap, `$MFTMirr`, `$Bitmap`.
    boot: u64,
    mft: u64,
    mft_bitmap: u64,
    mirror: u64,
    bitmap: u64,
    /// The end of the clusters that `$MFT` uses.
    mft_end: u64,
    /// The end of the clusters that are reserved for `$MFT`.
    zone_end: u64,
    clusters: u64,
    /// How many records `$MFT` has room for.
    records: u64,
    /// The first record that was never used.
    next_record: u64,
    freed_records: BTreeSet<u64>,
    log: NtfsLog,
    lazy: LazyWriter,
    checkpoint_due: Instant,
    /// The cluster at which the next file from before the run may begin.
    placement: u64,
}

/// Lays out an empty volume.
pub(super) fn format_volume(
    spec: &VolumeSpec,
    ntfs: &NtfsSpec,
) -> Result<(VolumeContents, Box<dyn FileSystem>), VolumeMisfit> {
    if !ntfs.cluster.is_power_of_two() || !(512..=65_536).contains(&ntfs.cluster) {
        return Err(VolumeMisfit::Cluster { least: 512, most: 65_536 });
    }
    let sectors = u64::from(ntfs.cluster) / SECTOR;
    let clusters = spec.partition.sectors / sectors;
    // Windows counts a volume's clusters in 32 bits.
    if clusters > u64::from(u32::MAX) {
        return Err(VolumeMisfit::TooLarge { most: u64::from(u32::MAX) });
    }
    // The log, `$MFT` and room to work.
    let least = 16 << 20;
    if spec.partition.sectors * SECTOR < least {
        return Err(VolumeMisfit::TooSmall { least: least / SECTOR });
    }
    let first = spec.partition.first;
    let mut contents = VolumeContents::new(spec.partition, sectors, first, clusters, spec);
    let bytes = clusters * sectors * SECTOR;
    let in_clusters = |bytes: u64| bytes.div_ceil(sectors * SECTOR);
    // `$MFT` is at 3 GiB, as `fsutil fsinfo ntfsinfo` shows on volumes that Windows formatted (Windows Internals:
    // cluster C0000h), on smaller ones at whole GiB below a third (inferred).
    let third = bytes / 3;
    let gibibytes = if third >= 1 << 30 { third >> 30 << 30 } else { third >> 20 << 20 };
    let mft = in_clusters(gibibytes.min(3 << 30));
    // An eighth of the volume is reserved for `$MFT`; `$MFTMirr` and the log lie in the middle.
    let (middle, zone_end) = (clusters / 2, (mft + clusters / 8).min(clusters / 2));
    let log = if bytes > 12 << 30 { LOG } else { (bytes / 200).max(LEAST_LOG) / 4096 * 4096 };
    let (records_most, boot) = ((zone_end - mft) * sectors * SECTOR / RECORD, in_clusters(8192));
    let (map, bitmap) = (in_clusters(records_most.div_ceil(BITS) * 4096), in_clusters(clusters.div_ceil(BITS) * 4096));
    contents.space.take_clusters(0, boot + map);
    // `$Bitmap` lies before `$MFT` (inferred; it is read at a mount and written at each allocation).
    contents.space.take_clusters(mft - bitmap, bitmap + zone_end - mft);
    let mirror = in_clusters(4 * RECORD);
    contents.space.take_clusters(middle, mirror + in_clusters(log));
    let mft_end = mft + in_clusters(GROWTH);
    let mut system = Ntfs {
        boot: first,
        mft: contents.cluster_lba(mft),
        mft_bitmap: contents.cluster_lba(boot),
        mirror: contents.cluster_lba(middle),
        bitmap: contents.cluster_lba(mft - bitmap),
        mft_end,
        zone_end,
        clusters,
        records: GROWTH / RECORD,
        next_record: FIRST,
        freed_records: BTreeSet::new(),
        log: NtfsLog::new(contents.cluster_lba(middle + mirror), log),
        lazy: LazyWriter::new(WriteBack::NT),
        checkpoint_due: Instant::FAR,
        placement: boot + map,
    };
    let root = contents.tree.add_node(None, FileName::SHORT, true);
    contents.tree.get_mut(root).record = ROOT_RECORD;
    system.enlarge_directory(&mut contents, root, 0).expect("an empty volume has room");
    Ok((contents, Box::new(system)))
}

/// Rounds up to a multiple of eight, as attributes and entries are.
fn round_up_to_eight(bytes: u64) -> u64 {
    bytes.next_multiple_of(8)
}

/// Bytes that names and times leave free in a record.
fn free_record_bytes(name: FileName) -> u64 {
    let attribute = |letters: u64| round_up_to_eight(ATTRIBUTE + FILE_NAME + 2 * letters);
    let names = attribute(u64::from(name.letters)) + if name.long { attribute(12) } else { 0 };
    (RECORD - HEADER - STANDARD - END).saturating_sub(names)
}

impl Ntfs {
    /// The first sector of the page of `$MFT` that holds a record.
    fn record_page_lba(&self, record: u64) -> u64 {
        self.mft + record / RECORDS * PAGE
    }

    fn mark_record_dirty(&self, contents: &mut VolumeContents, record: u64, change: u64) {
        contents.pages.mark_dirty(self.record_page_lba(record), PAGE, SectorRole::MftRecords, change);
    }

    fn read_record(&self, contents: &mut VolumeContents, record: u64, plan: &mut IoPlan) {
        contents.pages.read_unless_known(self.record_page_lba(record), PAGE, SectorRole::MftRecords, plan);
    }

    /// Marks the pages of `$Bitmap` with the bits of these clusters as dirty.
    fn mark_cluster_bits_dirty(&self, contents: &mut VolumeContents, start: u64, len: u64, change: u64) {
        for page in start / BITS..=(start + len - 1) / BITS {
            contents.pages.mark_dirty(self.bitmap + page * PAGE, PAGE, SectorRole::ClusterBitmap, change);
        }
    }

    /// The first sector of the page of `$MFT:$BITMAP` with a record's bit.
    fn record_bit_page_lba(&self, record: u64) -> u64 {
        self.mft_bitmap + record / BITS * PAGE
    }

    /// Begins a metadata change; returns its number.
    fn begin_change(&mut self, contents: &mut VolumeContents, now: Instant) -> u64 {
        self.lazy.start_clock(now);
        if self.checkpoint_due == Instant::FAR {
            self.checkpoint_due = now + CHECKPOINT;
        }
        contents.changes.begin_change()
    }

    /// Takes the lowest free record; `$MFT` grows if it has none.
    fn allocate_record(&mut self, contents: &mut VolumeContents, change: u64) -> Result<u64, VolumeError> {
        if let Some(record) = self.freed_records.pop_first() {
            return Ok(record);
        }
        if self.next_record == self.records {
            let want = contents.clusters_for(GROWTH);
            if self.mft_end + want > self.zone_end {
                return Err(VolumeError::NoRecords);
            }
            for page in 0..GROWTH / 4096 {
                contents.pages.mark_dirty(
                    self.record_page_lba(self.records) + page * PAGE,
                    PAGE,
                    SectorRole::MftRecords,
                    change,
                );
            }
            self.mark_cluster_bits_dirty(contents, self.mft_end, want, change);
            self.mark_record_dirty(contents, 0, change);
            contents.pages.mark_dirty(self.mirror, PAGE, SectorRole::MftMirror, change);
            self.log.append_records(4, 8 * 2 + 16 * 2 + 32 * 2, change);
            (self.mft_end, self.records) = (self.mft_end + want, self.records + GROWTH / RECORD);
        }
        self.next_record += 1;
        Ok(self.next_record - 1)
    }

    /// Writes all dirty metadata, the log first.
    fn write_all(&mut self, contents: &mut VolumeContents, flags: Flags, plan: &mut IoPlan) {
        self.log.flush_records(flags, plan);
        pages::add_page_writes(&contents.pages.take_dirty_if(|_| true), flags, plan);
        plan.begin_phase();
        self.lazy.stop_clock();
    }

    /// If the log is nearly full, writes all dirty metadata and a checkpoint, so that the log can be reused.
    fn checkpoint_if_log_full(&mut self, contents: &mut VolumeContents, plan: &mut IoPlan) {
        if self.log.is_nearly_full() {
            plan.begin_phase();
            self.write_all(contents, Flags::NONE, plan);
            self.log.write_checkpoint(true, plan);
        }
    }
}

impl FileSystem for Ntfs {
    /// 2^44 less 64 KiB: the limit of Windows' driver.
    fn max_file_bytes(&self) -> u64 {
        (1 << 44) - (64 << 10)
    }

    /// Reads the boot sector, the first records and their mirror, the log's restart pages, all of `$Bitmap` (to count
    /// free clusters: inferred) and the root.
    fn mount(&mut self, contents: &mut VolumeContents, plan: &mut IoPlan) {
        plan.add_read(self.boot, 1, SectorRole::Boot);
        plan.begin_phase();
        for record in (0..FIRST).step_by(RECORDS as usize) {
            self.read_record(contents, record, plan);
        }
        contents.pages.read_unless_known(self.mirror, PAGE, SectorRole::MftMirror, plan);
        plan.begin_phase();
        plan.add_read(self.log.page_lba(0), 2 * PAGE, SectorRole::LogRestart);
        plan.begin_phase();
        let map = self.clusters.div_ceil(BITS);
        plan.add_read(self.bitmap, map * PAGE, SectorRole::ClusterBitmap);
        (0..map).for_each(|page| contents.pages.mark_known(self.bitmap + page * PAGE));
        plan.begin_phase();
        contents.read_directory(ROOT, plan);
        plan.begin_phase();
    }

    fn look_up(&mut self, contents: &mut VolumeContents, file: FileId, plan: &mut IoPlan) {
        let node = contents.tree.get(file);
        let (record, at) = (node.record, node.entry.from);
        if let Some(directory) = node.directory {
            self.read_index_path(contents, directory, at, plan);
        }
        self.read_record(contents, record, plan);
    }

    /// Changes the file's record and its bit, and index and record of the directory.
    fn create(
        &mut self,
        contents: &mut VolumeContents,
        now: Instant,
        file: FileId,
        plan: &mut IoPlan,
    ) -> Result<(), VolumeError> {
        if contents.space.free_count() < 2 * contents.clusters_for(4096) {
            self.give_up_reserve(contents, 2 * contents.clusters_for(4096));
        }
        self.read_insertion_path(contents, contents.tree.get(file).directory.expect("not the root"), plan);
        let change = self.begin_change(contents, now);
        let record = self.allocate_record(contents, change)?;
        contents.tree.get_mut(file).record = record;
        contents.pages.read_unless_known(self.record_bit_page_lba(record), PAGE, SectorRole::MftBitmap, plan);
        self.read_record(contents, record, plan);
        if let Err(refused) = self.add_entry(contents, file, change) {
            self.freed_records.insert(record);
            return Err(refused);
        }
        contents.pages.mark_dirty(self.record_bit_page_lba(record), PAGE, SectorRole::MftBitmap, change);
        self.mark_record_dirty(contents, record, change);
        contents.changes.record_fact(self.record_page_lba(record), PAGE, file, PageFact::Recorded);
        // SetBits; InitializeFileRecordSegment; ForgetTransaction.
        let used = RECORD - free_record_bytes(contents.tree.get(file).name);
        self.log.append_records(3, 2 * 8 + used, change);
        self.checkpoint_if_log_full(contents, plan);
        Ok(())
    }

    fn allocates_on_write(&self) -> bool {
        true
    }

    fn is_resident(&self, contents: &VolumeContents, file: FileId) -> bool {
        let node = contents.tree.get(file);
        node.runs.is_empty() && node.bytes <= free_record_bytes(node.name).saturating_sub(ATTRIBUTE)
    }

    /// Halves the space reserved for `$MFT` until enough clusters are free (linux-ntfs, "MFT Zone").
    fn give_up_reserve(&mut self, contents: &mut VolumeContents, clusters: u64) {
        while contents.space.free_count() < clusters && self.zone_end - self.mft_end > 1 {
            let end = self.mft_end + (self.zone_end - self.mft_end) / 2;
            contents.space.release_clusters(end, self.zone_end - end);
            self.zone_end = end;
        }
    }

    /// Allocates after the file's last cluster, else in the shortest free run that is long enough (best fit: Carrier,
    /// File System Forensic Analysis, observed on Windows XP), else in the longest free runs.
    fn allocate_clusters(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan) {
        let change = self.begin_change(contents, now);
        let node = contents.tree.get(file);
        let (from, record) = (node.cluster_count() * contents.cluster_bytes(), node.record);
        let mut want = contents.clusters_for(node.bytes) - node.cluster_count();
        while want > 0 {
            let end = contents.tree.get(file).runs.last().map(|run| run.start + run.len);
            let behind = end.map(|end| (end, contents.space.free_len_at(end))).filter(|&(_, free)| free > 0);
            let fit = contents.space.best_fit(want).map(|start| (start, want));
            let (start, len) = behind.or(fit).or_else(|| contents.space.longest_run()).expect("there is room");
            let len = len.min(want);
            contents.assign_clusters(file, start, len);
            self.mark_cluster_bits_dirty(contents, start, len, change);
            // SetBits of these clusters.
            self.log.append_records(1, 2 * 8, change);
            want -= len;
        }
        self.mark_record_dirty(contents, record, change);
        // UpdateMappingPairs, SetNewAttributeSizes, ForgetTransaction.
        self.log.append_records(3, 2 * 16 + 2 * 32, change);
        contents.record_runs(self.record_page_lba(record), PAGE, file, from);
        self.checkpoint_if_log_full(contents, plan);
    }

    fn placement_hint(&mut self, _: &VolumeContents, _: FileId) -> u64 {
        self.placement
    }

    fn record_placement_end(&mut self, _: &VolumeContents, _: FileId, next: u64) {
        self.placement = next;
    }

    /// Changes length and times in the file's record. The copy in its directory entry follows when the file is closed.
    fn record_length(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan) {
        let change = self.begin_change(contents, now);
        let (record, bytes) = (contents.tree.get(file).record, contents.tree.get(file).bytes);
        self.mark_record_dirty(contents, record, change);
        contents.changes.record_fact(self.record_page_lba(record), PAGE, file, PageFact::Sized(bytes));
        // SetNewAttributeSizes, UpdateResidentValue of the times, ForgetTransaction.
        self.log.append_records(3, 2 * 32 + 2 * 56, change);
        self.checkpoint_if_log_full(contents, plan);
    }

    fn record_resident_data(&mut self, contents: &mut VolumeContents, file: FileId) {
        let node = contents.tree.get(file);
        let (page, bytes) = (self.record_page_lba(node.record), node.bytes);
        contents.changes.record_fact(page, PAGE, file, PageFact::Inside(bytes));
    }

    fn close(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan) {
        self.record_length(contents, now, file, plan);
        if contents.tree.get(file).directory.is_some() {
            let change = contents.changes.begin_change();
            self.mark_index_or_record_page_dirty(contents, file, change);
            // UpdateFileNameAllocation, ForgetTransaction.
            self.log.append_records(2, 2 * 56, change);
        }
    }

    /// FlushFileBuffers: writes the log, then flushes the drive (inferred). The record itself is not written, because a
    /// mount restores it from the log.
    fn fsync(
        &mut self,
        contents: &mut VolumeContents,
        now: Instant,
        file: FileId,
        _: SyncScope,
        plan: &mut IoPlan,
    ) -> PlanWait {
        self.record_length(contents, now, file, plan);
        self.log.flush_records(Flags::FUA, plan);
        plan.add_flush();
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
        self.look_up(contents, file, plan);
        plan.begin_phase();
        self.read_insertion_path(contents, directory, plan);
        let change = self.begin_change(contents, now);
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
        self.mark_record_dirty(contents, before.record, change);
        // DeleteAttribute and CreateAttribute of the name, ForgetTransaction.
        let names = |name: FileName| round_up_to_eight(ATTRIBUTE + FILE_NAME + 2 * u64::from(name.letters));
        self.log.append_records(3, names(before.name) + names(name), change);
        self.checkpoint_if_log_full(contents, plan);
        Ok(())
    }

    fn delete(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan) {
        self.look_up(contents, file, plan);
        plan.begin_phase();
        let change = self.begin_change(contents, now);
        self.remove_entry(contents, file, change);
        let node = contents.tree.get(file).clone();
        contents.pages.read_unless_known(self.record_bit_page_lba(node.record), PAGE, SectorRole::MftBitmap, plan);
        contents.pages.mark_dirty(self.record_bit_page_lba(node.record), PAGE, SectorRole::MftBitmap, change);
        self.mark_record_dirty(contents, node.record, change);
        contents.changes.record_fact(self.record_page_lba(node.record), PAGE, file, PageFact::Unrecorded);
        for run in &node.runs {
            self.mark_cluster_bits_dirty(contents, run.start, run.len, change);
        }
        // ClearBits of each run and of the record, DeallocateFileRecordSegment, ForgetTransaction.
        let runs = node.runs.len() as u64;
        self.log.append_records(3 + runs, (1 + runs) * 2 * 8 + RECORD - free_record_bytes(node.name), change);
        contents.free_file_clusters(file);
        self.freed_records.insert(node.record);
        self.checkpoint_if_log_full(contents, plan);
    }

    /// Copies the data, then changes the bits of both places and the runs in the record, which are logged (inferred).
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
        contents.add_data_steps(file, first * bytes, len * bytes, Some(Flags::FUA), plan);
        plan.begin_phase();
        self.mark_cluster_bits_dirty(contents, target, len, change);
        for run in &gone {
            contents.space.release_clusters(run.start, run.len);
            self.mark_cluster_bits_dirty(contents, run.start, run.len, change);
        }
        let record = contents.tree.get(file).record;
        self.mark_record_dirty(contents, record, change);
        contents.record_runs(self.record_page_lba(record), PAGE, file, 0);
        let runs = 1 + gone.len() as u64;
        self.log.append_records(2 + runs, runs * 2 * 8 + 2 * 32, change);
        self.log.flush_records(Flags::FUA, plan);
        self.checkpoint_if_log_full(contents, plan);
    }

    fn next_due(&self) -> Instant {
        self.lazy.next_due().min(self.checkpoint_due)
    }

    fn handle_due(&mut self, contents: &mut VolumeContents, now: Instant, plan: &mut IoPlan) {
        let dirty = self.lazy.take_due_pages(now, &mut contents.pages);
        if !dirty.is_empty() {
            self.log.flush_records(Flags::NONE, plan);
            pages::add_page_writes(&dirty, Flags::NONE, plan);
        }
        if now >= self.checkpoint_due {
            self.checkpoint_due = Instant::FAR;
            if self.log.has_new_records() {
                plan.begin_phase();
                self.log.write_checkpoint(contents.pages.dirty_count() == 0, plan);
            }
            if contents.pages.dirty_count() > 0 {
                self.checkpoint_due = now + CHECKPOINT;
            }
        }
    }

    fn sync(&mut self, contents: &mut VolumeContents, _: Instant, plan: &mut IoPlan) {
        self.write_all(contents, Flags::FUA, plan);
        if self.log.has_new_records() {
            self.log.write_checkpoint(true, plan);
        }
        self.checkpoint_due = Instant::FAR;
        plan.add_flush();
    }

    fn begin_run(&mut self, _: &mut VolumeContents) {
        self.log.begin_run();
        self.lazy.stop_clock();
        self.checkpoint_due = Instant::FAR;
    }
}
