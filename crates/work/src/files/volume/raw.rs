//! No file system: one file over a whole partition. A page cache sees a block device in this way. There are no
//! directories, no metadata and no allocation: the first file placed is the only one, and it keeps its length.

use alloc::boxed::Box;

use seekwise_disk::time::Instant;

use super::contents::VolumeContents;
use super::plan::{IoPlan, PlanWait};
use super::refusal::{VolumeError, VolumeMisfit};
use super::spec::{SyncScope, VolumeSpec};
use super::system::{FileClusters, FileSystem};
use super::tree::{FileId, FileName};

#[derive(Debug)]
struct RawDevice;

/// Lays out the partition as one file whose clusters are sectors.
pub(super) fn format_volume(spec: &VolumeSpec) -> Result<(VolumeContents, Box<dyn FileSystem>), VolumeMisfit> {
    let partition = spec.partition;
    Ok((VolumeContents::new(partition, 1, partition.first, partition.sectors, spec), Box::new(RawDevice)))
}

impl FileSystem for RawDevice {
    fn max_file_bytes(&self) -> u64 {
        u64::MAX
    }
    fn has_log(&self) -> bool {
        false
    }
    fn mount(&mut self, _: &mut VolumeContents, _: &mut IoPlan) {}
    fn look_up(&mut self, _: &mut VolumeContents, _: FileId, _: &mut IoPlan) {}
    fn create(&mut self, _: &mut VolumeContents, _: Instant, _: FileId, _: &mut IoPlan) -> Result<(), VolumeError> {
        Ok(())
    }
    fn allocates_on_write(&self) -> bool {
        false
    }
    fn is_resident(&self, _: &VolumeContents, _: FileId) -> bool {
        false
    }
    fn allocate_clusters(&mut self, _: &mut VolumeContents, _: Instant, _: FileId, _: &mut IoPlan) {}
    fn placement_hint(&mut self, _: &VolumeContents, _: FileId) -> u64 {
        0
    }
    fn record_placement_end(&mut self, _: &VolumeContents, _: FileId, _: u64) {}
    fn record_length(&mut self, _: &mut VolumeContents, _: Instant, _: FileId, _: &mut IoPlan) {}
    fn close(&mut self, _: &mut VolumeContents, _: Instant, _: FileId, _: &mut IoPlan) {}

    /// Flushes the device's cache after the data (`blkdev_fsync`).
    fn fsync(&mut self, _: &mut VolumeContents, _: Instant, _: FileId, _: SyncScope, plan: &mut IoPlan) -> PlanWait {
        plan.add_flush();
        PlanWait::Writes
    }

    fn rename(
        &mut self,
        _: &mut VolumeContents,
        _: Instant,
        _: FileId,
        _: FileId,
        _: FileName,
        _: &mut IoPlan,
    ) -> Result<(), VolumeError> {
        Ok(())
    }
    fn delete(&mut self, contents: &mut VolumeContents, _: Instant, file: FileId, _: &mut IoPlan) {
        contents.free_file_clusters(file);
    }
    fn move_clusters(
        &mut self,
        _: &mut VolumeContents,
        _: Instant,
        _: FileId,
        _: FileClusters,
        _: u64,
        _: &mut IoPlan,
    ) {
    }
    fn next_due(&self) -> Instant {
        Instant::FAR
    }
    fn handle_due(&mut self, _: &mut VolumeContents, _: Instant, _: &mut IoPlan) {}
    fn sync(&mut self, _: &mut VolumeContents, _: Instant, plan: &mut IoPlan) {
        plan.add_flush();
    }
    fn begin_run(&mut self, _: &mut VolumeContents) {}
}
