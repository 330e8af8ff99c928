//! The state of a volume that all file systems have: its files, free clusters, metadata in memory and changes, and
//! where clusters lie on the drive. Nothing here depends on a file system.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use seekwise_disk::block::{Flags, SECTOR};

use super::change::{ChangeLog, PageFact};
use super::pages::MetadataPages;
use super::partition::Partition;
use super::plan::{IoPlan, SectorRole};
use super::refusal::VolumeError;
use super::space::FreeSpace;
use super::spec::{Aging, VolumeSpec};
use super::tree::{DirectoryEntry, FileId, FileTree};

/// Sectors in a page of memory: 4 KiB.
pub(super) const PAGE: u64 = 8;

/// The parts of a volume that do not depend on its file system.
#[derive(Debug)]
pub(super) struct VolumeContents {
    pub(super) partition: Partition,
    /// Sectors in a cluster (ext4: in a block).
    pub(super) cluster: u64,
    /// The unit of data reads and writes in sectors: a block for ext4, one sector for the others.
    pub(super) data_unit: u64,
    /// The sector of cluster 0 on the drive.
    pub(super) origin: u64,
    pub(super) tree: FileTree,
    pub(super) space: FreeSpace,
    pub(super) pages: MetadataPages,
    pub(super) changes: ChangeLog,
    /// Directories whose pages are all in memory.
    known_directories: BTreeSet<FileId>,
    aging: Aging,
    /// Hundredths of fragments that [`Aging::fragments`] asks for and no file has got yet.
    owed_fragments: u64,
    pub(super) rng: seekwise_disk::rng::Rng,
}

impl VolumeContents {
    pub(super) fn new(
        partition: Partition,
        cluster: u64,
        origin: u64,
        clusters: u64,
        spec: &VolumeSpec,
    ) -> VolumeContents {
        VolumeContents {
            partition,
            cluster,
            data_unit: 1,
            origin,
            tree: FileTree::default(),
            space: FreeSpace::new(clusters),
            pages: MetadataPages::default(),
            changes: ChangeLog::new(spec.history),
            known_directories: BTreeSet::new(),
            aging: spec.aging,
            owed_fragments: 0,
            rng: spec.seed.numbered_stream("volume", partition.first),
        }
    }

    /// Bytes in a cluster.
    pub(super) fn cluster_bytes(&self) -> u64 {
        self.cluster * SECTOR
    }

    /// How many clusters hold `bytes` bytes.
    pub(super) fn clusters_for(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.cluster_bytes())
    }

    /// The first sector of a cluster on the drive.
    pub(super) fn cluster_lba(&self, cluster: u64) -> u64 {
        self.origin + cluster * self.cluster
    }

    /// Sectors in a page of a directory: 4 KiB, or a cluster if that is less.
    pub(super) fn page_sectors(&self) -> u64 {
        PAGE.min(self.cluster)
    }

    /// The first sector on the drive of the page that holds `byte` of a file.
    pub(super) fn page_lba(&self, file: FileId, byte: u64) -> u64 {
        let (cluster, _) = self.tree.get(file).find_cluster(byte / self.cluster_bytes()).expect("a byte that it has");
        let within = byte % self.cluster_bytes() / SECTOR;
        self.cluster_lba(cluster) + within / self.page_sectors() * self.page_sectors()
    }

    /// The first sectors of the pages that hold `bytes` bytes of a file from byte `from` on.
    pub(super) fn page_lbas(&self, file: FileId, from: u64, bytes: u64) -> Vec<u64> {
        let page = self.page_sectors() * SECTOR;
        (from / page..(from + bytes).div_ceil(page)).map(|index| self.page_lba(file, index * page)).collect()
    }

    /// Adds the reads of all pages of a directory that are not in memory.
    pub(super) fn read_directory(&mut self, directory: FileId, plan: &mut IoPlan) {
        if self.pages.is_laying_out() || !self.known_directories.insert(directory) {
            return;
        }
        let clusters = self.tree.get(directory).cluster_count();
        for lba in self.page_lbas(directory, 0, clusters * self.cluster_bytes()) {
            self.pages.read_unless_known(lba, self.page_sectors(), SectorRole::Directory(directory), plan);
        }
    }

    /// Marks a new directory as known, so that it need not be read.
    pub(super) fn mark_directory_known(&mut self, directory: FileId) {
        self.known_directories.insert(directory);
    }

    /// Marks the pages that hold these bytes of a directory as dirty by `change`.
    pub(super) fn mark_directory_dirty(&mut self, directory: FileId, from: u64, bytes: u64, change: u64) {
        if self.pages.is_laying_out() {
            return;
        }
        for lba in self.page_lbas(directory, from, bytes) {
            self.pages.mark_dirty(lba, self.page_sectors(), SectorRole::Directory(directory), change);
        }
    }

    /// Records that the directory of `file` lists it, or that it no longer does.
    pub(super) fn record_entry(&mut self, file: FileId, is_listed: bool) {
        let node = self.tree.get(file);
        let Some(directory) = node.directory else { return };
        let DirectoryEntry { from, bytes } = node.entry;
        let fact = if is_listed { PageFact::Listed(directory) } else { PageFact::Unlisted(directory) };
        for page in self.page_lbas(directory, from, u64::from(bytes)) {
            self.changes.record_fact(page, self.page_sectors(), file, fact);
        }
    }

    /// Records that a page holds the places of the bytes of `file` from byte `from` on; `page` is its first sector.
    pub(super) fn record_runs(&mut self, page: u64, sectors: u64, file: FileId, from: u64) {
        let bytes = self.cluster_bytes();
        let first = from / bytes;
        for run in self.tree.get(file).runs.iter().filter(|run| run.from + run.len > first) {
            let skipped = first.saturating_sub(run.from);
            let fact = PageFact::Mapped {
                from: (run.from + skipped) * bytes,
                to: (run.from + run.len) * bytes,
                lba: self.cluster_lba(run.start + skipped),
            };
            self.changes.record_fact(page, sectors, file, fact);
        }
    }

    /// Appends `len` free clusters from `start` on to a file.
    pub(super) fn assign_clusters(&mut self, file: FileId, start: u64, len: u64) {
        self.space.take_clusters(start, len);
        let node = self.tree.get_mut(file);
        node.append_clusters(start, len);
        node.clusters_changed = true;
    }

    /// Frees all clusters of a file that is deleted.
    pub(super) fn free_file_clusters(&mut self, file: FileId) {
        let runs = core::mem::take(&mut self.tree.get_mut(file).runs);
        for run in &runs {
            self.space.release_clusters(run.start, run.len);
            self.pages.drop_range(self.cluster_lba(run.start), run.len * self.cluster);
        }
        self.known_directories.remove(&file);
    }

    /// Gives clusters to a file from before the run, from cluster `hint` on, in as many pieces as the aging demands;
    /// returns the cluster at which the next file may follow.
    pub(super) fn lay_out_file(&mut self, file: FileId, clusters: u64, hint: u64) -> Result<u64, VolumeError> {
        if clusters > self.space.free_count() {
            return Err(VolumeError::Full);
        }
        self.owed_fragments += u64::from(self.aging.fragments);
        let pieces = (self.owed_fragments / 100).clamp(1, clusters.max(1));
        self.owed_fragments = self.owed_fragments.saturating_sub(pieces * 100);
        let gap = (u64::from(self.aging.gap_kib) * 1024 / self.cluster_bytes()).max(1);
        let (mut left, mut at) = (clusters, hint);
        for piece in (1..=pieces).rev() {
            let mut want = left / piece;
            left -= want;
            while want > 0 {
                let whole = self.space.next_fit(at, want).map(|start| (start, want));
                let (start, len) = whole.or_else(|| self.space.longest_run()).expect("there is room");
                self.assign_clusters(file, start, len.min(want));
                (at, want) = (start + len.min(want), want - len.min(want));
            }
            if piece > 1 {
                at += 1 + self.rng.below(gap);
            }
        }
        Ok(at)
    }

    /// Adds the steps for `bytes` bytes of a file's data from byte `from` on, up to its end, one for each run: writes
    /// with `write_flags`, reads without. The bytes must have clusters.
    pub(super) fn add_data_steps(
        &self,
        file: FileId,
        from: u64,
        bytes: u64,
        write_flags: Option<Flags>,
        plan: &mut IoPlan,
    ) {
        let node = self.tree.get(file);
        let end = (from + bytes).min(node.bytes).div_ceil(SECTOR).next_multiple_of(self.data_unit);
        let mut at = from / SECTOR / self.data_unit * self.data_unit;
        while at < end {
            let (cluster, follow) = node.find_cluster(at / self.cluster).expect("data have clusters");
            let within = at % self.cluster;
            let count = (follow * self.cluster - within).min(end - at);
            let (lba, role) = (self.cluster_lba(cluster) + within, SectorRole::Data { file, from: at * SECTOR });
            match write_flags {
                Some(flags) => plan.add_write(lba, count, flags, role, 0),
                None => plan.add_read(lba, count, role),
            }
            at += count;
        }
    }

    /// Drops everything in memory, as a restart does.
    pub(super) fn drop_all_pages(&mut self) {
        self.pages.drop_all();
        self.known_directories.clear();
    }
}
