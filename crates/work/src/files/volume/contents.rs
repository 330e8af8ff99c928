//! The common part of the three file systems: where clusters lie on the drive, files, free space, metadata in memory.
//! Nothing here depends on a file system.

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
use super::tree::{FileId, FileTree};

/// Sectors in a page of memory: 4 KiB.
pub(super) const PAGE: u64 = 8;

/// The parts of a volume that do not depend on its file system.
#[derive(Debug)]
pub(super) struct VolumeContents {
    pub(super) partition: Partition,
    /// Sectors in a cluster (ext4: in a block).
    pub(super) cluster: u64,
    /// The unit of data reads and writes in sectors: a block for ext4, one sector for the others.
    pub(super) grain: u64,
    /// Where cluster 0 lies on the drive.
    pub(super) origin: u64,
    pub(super) tree: FileTree,
    pub(super) space: FreeSpace,
    pub(super) pages: MetadataPages,
    pub(super) changes: ChangeLog,
    /// Directories with all pages in memory.
    listed: BTreeSet<FileId>,
    aging: Aging,
    /// Hundredths of fragments owed to [`Aging::fragments`].
    owed: u64,
    pub(super) chance: seekwise_disk::rng::Rng,
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
            grain: 1,
            origin,
            tree: FileTree::default(),
            space: FreeSpace::new(clusters),
            pages: MetadataPages::default(),
            changes: ChangeLog::new(spec.history),
            listed: BTreeSet::new(),
            aging: spec.aging,
            owed: 0,
            chance: spec.seed.numbered_stream("volume", partition.first),
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

    /// Where a cluster lies on the drive.
    pub(super) fn cluster_lba(&self, cluster: u64) -> u64 {
        self.origin + cluster * self.cluster
    }

    /// Sectors in a page of a directory: 4 KiB, or a cluster if that is less.
    pub(super) fn page_sectors(&self) -> u64 {
        PAGE.min(self.cluster)
    }

    /// The page of `file` that holds its byte `at`, as its first sector on the drive.
    pub(super) fn page_at(&self, file: FileId, at: u64) -> u64 {
        let (cluster, _) = self.tree.get(file).find_cluster(at / self.cluster_bytes()).expect("a byte that it has");
        let within = at % self.cluster_bytes() / SECTOR;
        self.cluster_lba(cluster) + within / self.page_sectors() * self.page_sectors()
    }

    /// The pages of `file` from byte `at` on, over `bytes`.
    pub(super) fn pages_at(&self, file: FileId, at: u64, bytes: u64) -> Vec<u64> {
        let page = self.page_sectors() * SECTOR;
        (at / page..(at + bytes).div_ceil(page)).map(|index| self.page_at(file, index * page)).collect()
    }

    /// Reads all pages of a directory that are not in memory.
    pub(super) fn read_directory(&mut self, directory: FileId, plan: &mut IoPlan) {
        if self.pages.is_laying() || !self.listed.insert(directory) {
            return;
        }
        let clusters = self.tree.get(directory).cluster_count();
        for lba in self.pages_at(directory, 0, clusters * self.cluster_bytes()) {
            self.pages.read_page(lba, self.page_sectors(), SectorRole::Directory(directory), plan);
        }
    }

    /// Marks a new directory as known: there is nothing to read.
    pub(super) fn mark_known(&mut self, directory: FileId) {
        self.listed.insert(directory);
    }

    /// Makes pages of a directory dirty.
    pub(super) fn touch_directory(&mut self, directory: FileId, at: u64, bytes: u64, holds: u64) {
        if self.pages.is_laying() {
            return;
        }
        for lba in self.pages_at(directory, at, bytes) {
            self.pages.touch_page(lba, self.page_sectors(), SectorRole::Directory(directory), holds);
        }
    }

    /// Notes that the directory lists `file`, or no longer does.
    pub(super) fn note_entry(&mut self, file: FileId, listed: bool) {
        let node = self.tree.get(file);
        let (Some(directory), (at, bytes)) = (node.directory, node.entry) else {
            return;
        };
        let fact = if listed { PageFact::Listed(directory) } else { PageFact::Unlisted(directory) };
        for page in self.pages_at(directory, at, u64::from(bytes)) {
            self.changes.note_fact((page, self.page_sectors()), file, fact);
        }
    }

    /// Notes on `page` where the bytes of `file` lie from byte `from` on.
    pub(super) fn note_runs(&mut self, page: (u64, u64), file: FileId, from: u64) {
        let bytes = self.cluster_bytes();
        let first = from / bytes;
        for run in self.tree.get(file).runs.iter().filter(|run| run.from + run.len > first) {
            let skipped = first.saturating_sub(run.from);
            let fact = PageFact::Mapped(
                (run.from + skipped) * bytes,
                (run.from + run.len) * bytes,
                self.cluster_lba(run.start + skipped),
            );
            self.changes.note_fact(page, file, fact);
        }
    }

    /// Gives free clusters to a file.
    pub(super) fn give_clusters(&mut self, file: FileId, start: u64, len: u64) {
        self.space.take_clusters(start, len);
        let node = self.tree.get_mut(file);
        node.append_clusters(start, len);
        node.remapped = true;
    }

    /// Frees all clusters of a file that is deleted or replaced.
    pub(super) fn free_clusters(&mut self, file: FileId) {
        let runs = core::mem::take(&mut self.tree.get_mut(file).runs);
        for run in &runs {
            self.space.release_clusters(run.start, run.len);
            self.pages.drop(self.cluster_lba(run.start), run.len * self.cluster);
        }
        self.listed.remove(&file);
    }

    /// Allocates clusters for a file from before the run, from `hint` on, in as many pieces as the aging demands;
    /// returns where the next file may follow.
    pub(super) fn lay_out_file(&mut self, file: FileId, clusters: u64, hint: u64) -> Result<u64, VolumeError> {
        if clusters > self.space.free_clusters() {
            return Err(VolumeError::Full);
        }
        self.owed += u64::from(self.aging.fragments);
        let pieces = (self.owed / 100).clamp(1, clusters.max(1));
        self.owed = self.owed.saturating_sub(pieces * 100);
        let gap = (u64::from(self.aging.gap_kib) * 1024 / self.cluster_bytes()).max(1);
        let (mut left, mut at) = (clusters, hint);
        for piece in (1..=pieces).rev() {
            let mut want = left / piece;
            left -= want;
            while want > 0 {
                let whole = self.space.next_fit(at, want).map(|start| (start, want));
                let (start, len) = whole.or_else(|| self.space.longest_run()).expect("there is room");
                self.give_clusters(file, start, len.min(want));
                (at, want) = (start + len.min(want), want - len.min(want));
            }
            if piece > 1 {
                at += 1 + self.chance.below(gap);
            }
        }
        Ok(at)
    }

    /// Appends the steps for `bytes` bytes of a file's data from byte `from` on, up to its end, one for each run. The
    /// bytes must have clusters.
    pub(super) fn add_data_steps(&self, file: FileId, from: u64, bytes: u64, flags: Option<Flags>, plan: &mut IoPlan) {
        let node = self.tree.get(file);
        let end = (from + bytes).min(node.bytes).div_ceil(SECTOR).next_multiple_of(self.grain);
        let mut at = from / SECTOR / self.grain * self.grain;
        while at < end {
            let (cluster, follow) = node.find_cluster(at / self.cluster).expect("data have clusters");
            let within = at % self.cluster;
            let count = (follow * self.cluster - within).min(end - at);
            let (lba, role) = (self.cluster_lba(cluster) + within, SectorRole::Data { file, from: at * SECTOR });
            match flags {
                Some(flags) => plan.add_write(lba, count, flags, role, 0),
                None => plan.add_read(lba, count, role),
            }
            at += count;
        }
    }

    /// Drops everything in memory, as a restart does.
    pub(super) fn forget_all(&mut self) {
        self.pages.forget_all();
        self.listed.clear();
    }
}
