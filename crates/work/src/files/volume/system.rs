//! The interface of the file systems to a volume.

use core::fmt;

use seekwise_disk::time::Instant;

use super::contents::VolumeContents;
use super::plan::IoPlan;
use super::refusal::VolumeError;
use super::spec::SyncScope;
use super::tree::{FileId, FileName};

/// The operations of a file system; [`Volume`](super::Volume) has checked before what can be refused.
pub(super) trait FileSystem: fmt::Debug {
    /// The largest file in bytes.
    fn max_file_bytes(&self) -> u64;
    /// True if it keeps a log.
    fn has_log(&self) -> bool {
        true
    }
    /// Reads what must be in memory before any operation.
    fn mount(&mut self, contents: &mut VolumeContents, plan: &mut IoPlan);
    /// Finds a file in its directory, and its record.
    fn open(&mut self, contents: &mut VolumeContents, file: FileId, plan: &mut IoPlan);
    /// Gives the new `file` a record and an entry in its directory.
    fn create(
        &mut self,
        contents: &mut VolumeContents,
        now: Instant,
        file: FileId,
        plan: &mut IoPlan,
    ) -> Result<(), VolumeError>;
    /// True if clusters are allocated when the program writes, false if when the data are written to the drive.
    fn allocates_early(&self) -> bool;
    /// True if the data have no clusters because they are in the file's record.
    fn is_resident(&self, contents: &VolumeContents, file: FileId) -> bool;
    /// Allocates clusters for all bytes of the file. There are enough.
    fn allocate_clusters(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan);
    /// Where files from before the run continue.
    fn placement_hint(&mut self, contents: &VolumeContents, file: FileId) -> u64;
    /// Notes where the next of them may follow.
    fn note_placement(&mut self, contents: &VolumeContents, file: FileId, next: u64);
    /// Keeps a change of the file's length or times.
    fn record_length(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan);
    /// Notes that data without clusters were written to the file's record, by the latest change.
    fn note_resident_data(&mut self, _base: &mut VolumeContents, _file: FileId) {}
    /// Handles the close of the last handle.
    fn close(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan);
    /// Makes the file durable, after its data.
    fn fsync(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, what: SyncScope, plan: &mut IoPlan);
    /// Changes the file's times, after its data were written.
    fn touch_times(&mut self, _base: &mut VolumeContents, _now: Instant, _file: FileId) {}
    /// Gives up space that it reserves for itself, if `clusters` need it.
    fn make_room(&mut self, _base: &mut VolumeContents, _clusters: u64) {}
    /// Changes its name, its directory, or both.
    fn rename(
        &mut self,
        contents: &mut VolumeContents,
        now: Instant,
        file: FileId,
        to: (FileId, FileName),
        plan: &mut IoPlan,
    ) -> Result<(), VolumeError>;
    /// Frees entry, record and clusters. The node stays until the caller removes it.
    fn delete(&mut self, contents: &mut VolumeContents, now: Instant, file: FileId, plan: &mut IoPlan);
    /// Moves `len` clusters at `from` to the free ones at `to`.
    fn move_clusters(
        &mut self,
        contents: &mut VolumeContents,
        now: Instant,
        file: FileId,
        from: (u64, u64),
        to: u64,
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
