//! A volume and its operations. Each adds to a plan the requests that the drive must serve for it; the file system
//! decides which sectors these are.

use alloc::boxed::Box;
use alloc::vec::Vec;

use seekwise_disk::block::Flags;
use seekwise_disk::time::Instant;

use super::change::PageChange;
use super::contents::VolumeContents;
use super::partition::Partition;
use super::plan::IoPlan;
use super::refusal::{VolumeError, VolumeMisfit};
use super::space::ClusterRun;
use super::spec::{SyncScope, VolumeFormat, VolumeSpec};
use super::system::{FileClusters, FileSystem};
use super::tree::{FileId, FileName, ROOT};
use super::{ext4, fat32, ntfs, raw};

/// A volume.
#[derive(Debug)]
pub struct Volume {
    contents: VolumeContents,
    system: Box<dyn FileSystem>,
    /// An empty plan, whose memory is reused.
    scratch: IoPlan,
}

/// A file or directory that a mount found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    /// The index of its directory among the found ones; `None` for the root.
    pub directory: Option<usize>,
    pub name: FileName,
    pub is_directory: bool,
    /// Length in bytes; 0 for a directory.
    pub bytes: u64,
    /// Its clusters, in order and without gaps from its beginning; none for a directory, which gets new ones.
    pub runs: Vec<ClusterRun>,
}

/// Bytes that a defragmenter moves at a time: 64 KiB (FSCTL_MOVE_FILE of Microsoft's published FAT driver; inferred for
/// the others, 64 KiB to 1 MiB).
pub const MOVE_CHUNK: u64 = 64 << 10;

impl Volume {
    /// Creates an empty volume as its formatter leaves it, with nothing in memory.
    pub fn format(spec: &VolumeSpec) -> Result<Volume, VolumeMisfit> {
        let (contents, system) = match &spec.format {
            VolumeFormat::Fat32(fat) => fat32::format_volume(spec, fat)?,
            VolumeFormat::Ntfs(ntfs) => ntfs::format_volume(spec, ntfs)?,
            VolumeFormat::Ext4(ext4) => ext4::format_volume(spec, ext4)?,
            VolumeFormat::Raw => raw::format_volume(spec)?,
        };
        let mut volume = Volume { contents, system, scratch: IoPlan::new() };
        volume.begin_run();
        Ok(volume)
    }

    /// Places a file of `bytes` bytes before the run, without I/O. Call [`Volume::begin_run`] after the last.
    pub fn place_initial_file(&mut self, directory: FileId, name: FileName, bytes: u64) -> Result<FileId, VolumeError> {
        self.place_without_pages(|volume| volume.place_file(directory, name, bytes))
    }

    /// Places a directory before the run.
    pub fn place_initial_directory(&mut self, directory: FileId, name: FileName) -> Result<FileId, VolumeError> {
        self.place_without_pages(|volume| volume.create_node(Instant::ZERO, directory, name, true, None))
    }

    /// Places the files and directories that a mount found, each after its directory; the files at the clusters that they
    /// have. Returns their numbers in the same order. Call [`Volume::begin_run`] afterwards.
    pub fn place_found_files(&mut self, found: &[FoundFile]) -> Result<Vec<FileId>, VolumeError> {
        // First, so that no directory is put there.
        for run in found.iter().flat_map(|file| &file.runs) {
            self.contents.space.take_clusters(run.start, run.len);
        }
        let mut placed = Vec::with_capacity(found.len());
        for file in found {
            let directory = file.directory.map_or(ROOT, |index| placed[index]);
            placed.push(self.place_without_pages(|volume| volume.place_found_file(directory, file))?);
        }
        Ok(placed)
    }

    /// Places a file or directory that a mount found; its clusters are taken already.
    fn place_found_file(&mut self, directory: FileId, found: &FoundFile) -> Result<FileId, VolumeError> {
        let file = self.create_node(Instant::ZERO, directory, found.name, found.is_directory, None)?;
        if !found.is_directory {
            let node = self.contents.tree.get_mut(file);
            node.bytes = found.bytes;
            found.runs.iter().for_each(|run| node.append_clusters(run.start, run.len));
            let mut plan = core::mem::take(&mut self.scratch);
            self.system.record_length(&mut self.contents, Instant::ZERO, file, &mut plan);
            plan.clear();
            self.scratch = plan;
        }
        Ok(file)
    }

    /// Runs `place`, which places something before the run, without keeping pages in memory.
    fn place_without_pages<T>(&mut self, place: impl FnOnce(&mut Volume) -> T) -> T {
        self.contents.pages.set_laying_out(true);
        let placed = place(self);
        self.contents.pages.set_laying_out(false);
        placed
    }

    /// Creates a file and gives it its clusters, without a plan.
    fn place_file(&mut self, directory: FileId, name: FileName, bytes: u64) -> Result<FileId, VolumeError> {
        self.check_length(bytes)?;
        let clusters = self.contents.clusters_for(bytes);
        self.ensure_free_clusters(clusters)?;
        let file = self.create_node(Instant::ZERO, directory, name, false, None)?;
        self.contents.tree.get_mut(file).bytes = bytes;
        let mut plan = core::mem::take(&mut self.scratch);
        if !self.system.is_resident(&self.contents, file) {
            let hint = self.system.placement_hint(&self.contents, file);
            let next = self.contents.lay_out_file(file, clusters, hint)?;
            self.system.record_placement_end(&self.contents, file, next);
        }
        self.system.record_length(&mut self.contents, Instant::ZERO, file, &mut plan);
        plan.clear();
        self.scratch = plan;
        Ok(file)
    }

    /// Begins the run: everything placed is on the drive, and nothing is in memory. The state is that of a restart
    /// after [`Volume::sync`].
    pub fn begin_run(&mut self) {
        self.system.begin_run(&mut self.contents);
        self.contents.drop_all_pages();
        self.contents.changes.take_changes();
    }

    /// Drops all metadata in memory, unless some are dirty.
    pub(crate) fn drop_metadata_if_clean(&mut self) {
        if self.contents.pages.dirty_count() == 0 {
            self.contents.drop_all_pages();
        }
    }

    /// Mounts: reads the metadata that stay in memory.
    pub fn mount(&mut self, plan: &mut IoPlan) {
        self.system.mount(&mut self.contents, plan);
    }

    /// Finds a file: reads its entry and its record unless they are in memory.
    pub fn open(&mut self, file: FileId, plan: &mut IoPlan) {
        self.system.look_up(&mut self.contents, file, plan);
        plan.begin_phase();
    }

    /// Reads all entries of a directory.
    pub fn list_directory(&mut self, directory: FileId, plan: &mut IoPlan) {
        self.system.look_up(&mut self.contents, directory, plan);
        plan.begin_phase();
        self.contents.read_directory(directory, plan);
        plan.begin_phase();
    }

    /// Creates an empty file.
    pub fn create_file(
        &mut self,
        now: Instant,
        directory: FileId,
        name: FileName,
        plan: &mut IoPlan,
    ) -> Result<FileId, VolumeError> {
        self.create_node(now, directory, name, false, Some(plan))
    }

    /// Creates an empty directory.
    pub fn create_directory(
        &mut self,
        now: Instant,
        directory: FileId,
        name: FileName,
        plan: &mut IoPlan,
    ) -> Result<FileId, VolumeError> {
        self.create_node(now, directory, name, true, Some(plan))
    }

    /// Creates a file or directory; without `plan` its requests are dropped.
    fn create_node(
        &mut self,
        now: Instant,
        directory: FileId,
        name: FileName,
        is_directory: bool,
        plan: Option<&mut IoPlan>,
    ) -> Result<FileId, VolumeError> {
        let file = self.contents.tree.add_node(Some(directory), name, is_directory);
        let mut scratch = core::mem::take(&mut self.scratch);
        let done = self.system.create(&mut self.contents, now, file, plan.unwrap_or(&mut scratch));
        scratch.clear();
        self.scratch = scratch;
        match done {
            Ok(()) => Ok(file),
            Err(refused) => {
                self.contents.tree.remove_node(file);
                Err(refused)
            }
        }
    }

    /// Checks that the file system allows a file of `bytes` bytes.
    fn check_length(&self, bytes: u64) -> Result<(), VolumeError> {
        let most = self.system.max_file_bytes();
        if bytes > most { Err(VolumeError::TooLarge { most }) } else { Ok(()) }
    }

    /// Makes sure that `clusters` clusters are free; the file system may give up reserved space for it.
    fn ensure_free_clusters(&mut self, clusters: u64) -> Result<(), VolumeError> {
        self.system.give_up_reserve(&mut self.contents, clusters);
        if clusters > self.contents.space.free_count() { Err(VolumeError::Full) } else { Ok(()) }
    }

    /// Extends a file to at least `bytes` bytes, as a write into a cache does. Windows' file systems allocate clusters
    /// now, ext4 when the data are written back.
    pub fn extend_file(
        &mut self,
        now: Instant,
        file: FileId,
        bytes: u64,
        plan: &mut IoPlan,
    ) -> Result<(), VolumeError> {
        self.check_length(bytes)?;
        let node = self.contents.tree.get(file);
        if bytes <= node.bytes {
            return Ok(());
        }
        let want = self.contents.clusters_for(bytes).saturating_sub(node.cluster_count());
        self.ensure_free_clusters(want)?;
        self.contents.tree.get_mut(file).bytes = bytes;
        if self.system.allocates_on_write() {
            self.allocate_missing_clusters(now, file, plan);
        }
        Ok(())
    }

    /// Allocates the clusters that a file lacks for its length.
    fn allocate_missing_clusters(&mut self, now: Instant, file: FileId, plan: &mut IoPlan) {
        let node = self.contents.tree.get(file);
        let short = node.cluster_count() < self.contents.clusters_for(node.bytes);
        if short && !self.system.is_resident(&self.contents, file) {
            self.system.allocate_clusters(&mut self.contents, now, file, plan);
            plan.begin_phase();
        }
    }

    /// Adds the reads of bytes of a file, up to its end, to the plan: one step for each run.
    pub fn read(&self, file: FileId, from: u64, bytes: u64, plan: &mut IoPlan) {
        let node = self.contents.tree.get(file);
        let have = node.bytes.min(node.cluster_count() * self.contents.cluster_bytes());
        if from < have {
            self.contents.add_data_steps(file, from, bytes.min(have - from), None, plan);
        }
    }

    /// Adds the writes of bytes of a file to the plan, one step for each run, and allocates missing clusters before.
    /// `flags` are for these data: [`Flags::FUA`] for a write-through handle.
    pub fn write(
        &mut self,
        now: Instant,
        file: FileId,
        from: u64,
        bytes: u64,
        flags: Flags,
        plan: &mut IoPlan,
    ) -> Result<(), VolumeError> {
        self.extend_file(now, file, from + bytes, plan)?;
        let node = self.contents.tree.get(file);
        let missing = self.contents.clusters_for(node.bytes).saturating_sub(node.cluster_count());
        if missing > 0 && !self.system.is_resident(&self.contents, file) {
            // Other files may have taken them since this one grew.
            self.ensure_free_clusters(missing)?;
        }
        self.allocate_missing_clusters(now, file, plan);
        if self.system.is_resident(&self.contents, file) {
            self.system.record_length(&mut self.contents, now, file, plan);
            self.system.record_resident_data(&mut self.contents, file);
        } else {
            self.contents.add_data_steps(file, from, bytes, Some(flags), plan);
        }
        self.system.update_times(&mut self.contents, now, file);
        Ok(())
    }

    /// Cuts or extends a file to `bytes` bytes. A longer file gets clusters when it is written next, so they must be free.
    pub fn set_length(&mut self, now: Instant, file: FileId, bytes: u64, plan: &mut IoPlan) -> Result<(), VolumeError> {
        self.check_length(bytes)?;
        let want = self.contents.clusters_for(bytes).saturating_sub(self.contents.tree.get(file).cluster_count());
        self.ensure_free_clusters(want)?;
        self.system.set_length(&mut self.contents, now, file, bytes, plan)
    }

    /// Closes a file that was written: length and times go to its entry or record.
    pub fn close(&mut self, now: Instant, file: FileId, plan: &mut IoPlan) {
        self.system.close(&mut self.contents, now, file, plan);
    }

    /// Makes a file durable: adds the steps for its metadata in new phases after its data.
    pub fn fsync(&mut self, now: Instant, file: FileId, scope: SyncScope, plan: &mut IoPlan) {
        plan.begin_phase();
        let wait = self.system.fsync(&mut self.contents, now, file, scope, plan);
        plan.wait = plan.wait.max(wait);
    }

    /// Renames a file, moves it to another directory of this volume, or both.
    pub fn rename(
        &mut self,
        now: Instant,
        file: FileId,
        directory: FileId,
        name: FileName,
        plan: &mut IoPlan,
    ) -> Result<(), VolumeError> {
        self.system.rename(&mut self.contents, now, file, directory, name, plan)
    }

    /// Deletes a file, or a directory with nothing in it.
    pub fn delete(&mut self, now: Instant, file: FileId, plan: &mut IoPlan) {
        let node = self.contents.tree.get(file);
        assert!(file != ROOT && node.entries == 0, "only empty directories are deleted, and never the root");
        self.system.delete(&mut self.contents, now, file, plan);
        self.contents.tree.remove_node(file);
    }

    /// Moves one chunk of a file, from byte `from` on, to the free clusters from `target` on; returns how many bytes.
    pub fn move_chunk(
        &mut self,
        now: Instant,
        file: FileId,
        from: u64,
        target: u64,
        plan: &mut IoPlan,
    ) -> Result<u64, VolumeError> {
        let bytes = self.contents.cluster_bytes();
        let (first, have) = (from / bytes, self.contents.tree.get(file).cluster_count());
        let len = (MOVE_CHUNK / bytes).max(1).min(have.saturating_sub(first));
        if self.contents.space.free_len_at(target) < len {
            return Err(VolumeError::Taken);
        }
        if len > 0 {
            self.system.move_clusters(&mut self.contents, now, file, FileClusters { first, len }, target, plan);
        }
        Ok(len * bytes)
    }

    /// The first cluster of the first free run that holds `bytes` bytes: a target for a defragmenter.
    pub fn find_free_run(&self, bytes: u64) -> Option<u64> {
        self.contents.space.next_fit(0, self.contents.clusters_for(bytes))
    }

    /// When to call [`Volume::handle_timeout`] next; `None` if nothing is due.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let due = self.system.next_due();
        (due != Instant::FAR).then_some(due)
    }

    /// Adds the requests that are due by `now` to the plan: lazy writes, a commit, a checkpoint, the clean mark.
    pub fn handle_timeout(&mut self, now: Instant, plan: &mut IoPlan) {
        self.system.handle_due(&mut self.contents, now, plan);
    }

    /// Writes all that is dirty and marks the volume clean, as a dismount does.
    pub fn sync(&mut self, now: Instant, plan: &mut IoPlan) {
        self.system.sync(&mut self.contents, now, plan);
    }

    /// Returns the changes since the last call; none unless [`VolumeSpec::history`] is set.
    pub fn take_changes(&mut self) -> Vec<PageChange> {
        self.contents.changes.take_changes()
    }

    /// Length of a file in bytes.
    pub fn file_bytes(&self, file: FileId) -> u64 {
        self.contents.tree.get(file).bytes
    }

    /// True if the file exists.
    pub fn has_file(&self, file: FileId) -> bool {
        self.contents.tree.contains(file)
    }

    /// The directory of a file; `None` for the root.
    pub(crate) fn parent_directory(&self, file: FileId) -> Option<FileId> {
        self.contents.tree.get(file).directory
    }

    /// True if it is a directory.
    pub fn is_directory(&self, file: FileId) -> bool {
        self.contents.tree.get(file).is_directory
    }

    /// The runs of a file, in order.
    pub fn file_runs(&self, file: FileId) -> &[ClusterRun] {
        &self.contents.tree.get(file).runs
    }

    /// The first sector of a cluster on the drive.
    pub fn cluster_lba(&self, cluster: u64) -> u64 {
        self.contents.cluster_lba(cluster)
    }

    /// Bytes of a cluster.
    pub(crate) fn cluster_bytes(&self) -> u64 {
        self.contents.cluster_bytes()
    }

    /// Number of free bytes.
    pub fn free_bytes(&self) -> u64 {
        self.contents.space.free_count() * self.contents.cluster_bytes()
    }

    /// Number of free runs.
    pub fn free_run_count(&self) -> usize {
        self.contents.space.free_run_count()
    }

    /// True if the file system keeps a log, from which a mount brings metadata up to date.
    pub fn has_log(&self) -> bool {
        self.system.has_log()
    }

    /// The partition on which it lies.
    pub fn partition(&self) -> Partition {
        self.contents.partition
    }

    /// Number of files and directories, including the root.
    pub fn file_count(&self) -> u32 {
        self.contents.tree.file_count()
    }

    /// All files and directories, in order of creation.
    pub fn files(&self) -> impl Iterator<Item = FileId> + '_ {
        self.contents.tree.file_ids()
    }

    /// Number of dirty pages of metadata.
    pub fn dirty_page_count(&self) -> usize {
        self.contents.pages.dirty_count()
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::super::spec::{Aging, Ext4Spec, Fat32Spec, FatDriver, NtfsSpec};
    use super::*;
    use seekwise_disk::rng::Seed;

    /// Pages from before the run may be kept until [`Volume::begin_run`] or not: files lie at the same places.
    #[test]
    fn what_is_laid_out_without_its_pages_lies_as_with_them() {
        let fat = |host| VolumeFormat::Fat32(Fat32Spec { cluster: None, host });
        let formats = [
            fat(FatDriver::Nt),
            fat(FatDriver::Windows98),
            VolumeFormat::Ntfs(NtfsSpec { cluster: 4096 }),
            VolumeFormat::Ext4(Ext4Spec::default()),
        ];
        for format in formats {
            let partition = Partition { first: 63, sectors: 8 << 21 };
            let aging = Aging { fragments: 150, gap_kib: 64 };
            let spec = VolumeSpec { partition, format, aging, history: false, seed: Seed(5) };
            let laid = |keeps: bool| {
                let mut volume = Volume::format(&spec).expect("it is large enough");
                let mut sizes = Seed(6).stream("sizes");
                for _ in 0..9 {
                    let directory = match keeps {
                        true => volume.create_node(Instant::ZERO, ROOT, FileName::SHORT, true, None),
                        false => volume.place_initial_directory(ROOT, FileName::SHORT),
                    };
                    let directory = directory.expect("there is room");
                    for _ in 0..80 {
                        let (name, bytes) = (FileName::long(20), sizes.below(1 << 20));
                        let file = match keeps {
                            true => volume.place_file(directory, name, bytes),
                            false => volume.place_initial_file(directory, name, bytes),
                        };
                        file.expect("there is room");
                    }
                }
                let dirty = volume.dirty_page_count();
                volume.begin_run();
                (dirty, format!("{volume:?}"))
            };
            let ((kept, one), (none, other)) = (laid(true), laid(false));
            assert!(kept > 20 && none == 0, "{kept} pages and {none}");
            assert!(one == other, "{format:?}");
        }
    }
}
