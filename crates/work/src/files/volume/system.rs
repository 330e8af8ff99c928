//! The interface between a volume and its file system. An operation changes the contents in memory and adds to a plan
//! the requests that the drive must serve.

use core::fmt;

use seekwise_disk::time::Instant;

use super::contents::VolumeContents;
use super::plan::{IoPlan, PlanWait};
use super::refusal::VolumeError;
use super::spec::SyncScope;
use super::tree::{FileId, FileName};

/// Contiguous clusters of a file, by index.
#[derive(Clone, Copy)]
pub(super) struct FileClusters {
    pub(super) first: u64,
    pub(super) len: u64,
}

/// A file system. [`Volume`](super::Volume) checks before each operation that there is room for it.
pub(super) trait FileSystem: fmt::Debug {
    /// The largest file in bytes.
    fn max_file_bytes(&self) -> u64;
    /// True if it keeps a log of its metadata.
    fn has_log(&self) -> bool {
        true
    }
    /// Reads the metadata that must be in memory before any operation.
    fn mount(&mut self, contents: &mut VolumeContents, plan: &mut IoPlan);
    /// Finds a file: reads its entry in the directory, and its record.
    fn look_up(&mut self, contents: &mut VolumeContents, file: FileId, plan: &mut IoPlan);
    /// Gives the new `file` a record and an entry in its directory.
    fn create(
        &mut self,
        contents: &mut VolumeContents,
        now: Instant,
        file: FileId,
        plan: &mut IoPlan,
    ) -> Result<(), VolumeError>;
    /// True if clusters are allocated when a program writes; false if they are when the data are written to the drive.
    fn allocates_on_write(&self) -> bool;
    /// True if the data have no clusters because they are in the file's record.
    fn is_resident(&self, contents: &VolumeContents, file: FileId) -> bool;
    /// Allocates clusters for all bytes of the file. There are enough.
    fn allocate_clusters(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan);
    /// The cluster at which the next file from before the run may begin.
    fn placement_hint(&mut self, contents: &VolumeContents, file: FileId) -> u64;
    /// Records the cluster at which the next of them may begin.
    fn record_placement_end(&mut self, contents: &VolumeContents, file: FileId, next: u64);
    /// Changes the file's length and times in its metadata.
    fn record_length(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan);
    /// Records that data without clusters were written to the file's record by the latest change.
    fn record_resident_data(&mut self, _contents: &mut VolumeContents, _file: FileId) {}
    /// Handles the close of the last handle.
    fn close(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan);
    /// Makes the file durable, after its data. Returns the condition of the plan: Windows flushes after all writes in
    /// flight (CcFlushCache).
    fn fsync(
        &mut self,
        contents: &mut VolumeContents,
        now: Instant,
        file: FileId,
        scope: SyncScope,
        plan: &mut IoPlan,
    ) -> PlanWait;
    /// Changes the file's times, after its data were written.
    fn update_times(&mut self, _contents: &mut VolumeContents, _now: Instant, _file: FileId) {}
    /// Gives up space that it reserves for itself until `clusters` clusters are free.
    fn give_up_reserve(&mut self, _contents: &mut VolumeContents, _clusters: u64) {}
    /// Changes the file's directory, its name, or both.
    fn rename(
        &mut self,
        contents: &mut VolumeContents,
        now: Instant,
        file: FileId,
        directory: FileId,
        name: FileName,
        plan: &mut IoPlan,
    ) -> Result<(), VolumeError>;
    /// Sets the file's length: frees the clusters beyond it; a longer file ends in a hole until it is written.
    fn set_length(
        &mut self,
        _contents: &mut VolumeContents,
        _now: Instant,
        _file: FileId,
        _bytes: u64,
        _plan: &mut IoPlan,
    ) -> Result<(), VolumeError> {
        Err(VolumeError::NoSetLength)
    }
    /// Frees entry, record and clusters. The node stays until the caller removes it.
    fn delete(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan);
    /// Moves clusters of a file to the free ones from `target` on.
    fn move_clusters(
        &mut self,
        contents: &mut VolumeContents,
        now: Instant,
        file: FileId,
        moved: FileClusters,
        target: u64,
        plan: &mut IoPlan,
    );
    /// When something falls due by itself; `FAR` if nothing does.
    fn next_due(&self) -> Instant;
    /// Does what is due at `now`.
    fn handle_due(&mut self, contents: &mut VolumeContents, now: Instant, plan: &mut IoPlan);
    /// Writes everything dirty, as a dismount does.
    fn sync(&mut self, contents: &mut VolumeContents, now: Instant, plan: &mut IoPlan);
    /// Begins the run: everything dirty so far is on the drive already.
    fn begin_run(&mut self, contents: &mut VolumeContents);
}
