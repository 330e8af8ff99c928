//! No file system: one file over a whole partition, as a block device is to a page cache. There are no directories, no
//! metadata and no allocation: the first file placed is the only one, and it keeps its length.

use alloc::boxed::Box;

use super::contents::Contents;
use super::plan::Plan;
use super::refusal::{Misfit, Refused};
use super::spec::{Sync, VolumeSpec};
use super::system::FileSystem;
use super::tree::{FileId, Name};
use crate::time::Instant;

#[derive(Debug)]
struct Raw;

/// A cluster is a sector.
pub(super) fn format(spec: &VolumeSpec) -> Result<(Contents, Box<dyn FileSystem>), Misfit> {
    let partition = spec.partition;
    Ok((Contents::new(partition, 1, partition.first, partition.sectors, spec), Box::new(Raw)))
}

impl FileSystem for Raw {
    fn longest(&self) -> u64 {
        u64::MAX
    }
    fn has_log(&self) -> bool {
        false
    }
    fn mount(&mut self, _: &mut Contents, _: &mut Plan) {}
    fn open(&mut self, _: &mut Contents, _: FileId, _: &mut Plan) {}
    fn create(&mut self, _: &mut Contents, _: Instant, _: FileId, _: &mut Plan) -> Result<(), Refused> {
        Ok(())
    }
    fn allocates_early(&self) -> bool {
        false
    }
    fn is_resident(&self, _: &Contents, _: FileId) -> bool {
        false
    }
    fn grow(&mut self, _: &mut Contents, _: Instant, _: FileId, _: &mut Plan) {}
    fn hint(&mut self, _: &Contents, _: FileId) -> u64 {
        0
    }
    fn laid(&mut self, _: &Contents, _: FileId, _: u64) {}
    fn sized(&mut self, _: &mut Contents, _: Instant, _: FileId, _: &mut Plan) {}
    fn close(&mut self, _: &mut Contents, _: Instant, _: FileId, _: &mut Plan) {}

    /// Flushes the device's cache after the data (`blkdev_fsync`).
    fn fsync(&mut self, _: &mut Contents, _: Instant, _: FileId, _: Sync, plan: &mut Plan) {
        plan.flush();
    }

    fn rename(
        &mut self,
        _: &mut Contents,
        _: Instant,
        _: FileId,
        _: (FileId, Name),
        _: &mut Plan,
    ) -> Result<(), Refused> {
        Ok(())
    }
    fn delete(&mut self, contents: &mut Contents, _: Instant, file: FileId, _: &mut Plan) {
        contents.take_all(file);
    }
    fn shift(&mut self, _: &mut Contents, _: Instant, _: FileId, _: (u64, u64), _: u64, _: &mut Plan) {}
    fn due(&self) -> Instant {
        Instant::FAR
    }
    fn elapse(&mut self, _: &mut Contents, _: Instant, _: &mut Plan) {}
    fn sync(&mut self, _: &mut Contents, _: Instant, plan: &mut Plan) {
        plan.flush();
    }
    fn settle(&mut self, _: &mut Contents) {}
}
