//! A volume: FAT32, NTFS or ext4 on a partition, as far as its I/O goes. The volume is state only: each operation
//! appends to a [`IoPlan`] what the drive has to read, write and flush for it, in the documented order. Changes that
//! may wait stay in memory until they fall due ([`Volume::poll_timeout`]), or are flushed or synced.
//!
//! | file | what it is |
//! |---|---|
//! | `plan` | the output: steps, phases, roles |
//! | `partition` | where volumes lie on a drive |
//! | `space`, `tree`, `pages` | free runs; files and their runs; metadata in memory |
//! | `contents` | these together, and where clusters lie: the common part of the file systems |
//! | `spec`, `refusal`, `system` | the description of a volume, refusals, the interface of file systems |
//! | `operations` | the volume and its operations |
//! | `lazy_writer` | the lazy writer of Windows, for metadata |
//! | `change` | changes of pages, for a judge |
//! | `mount` | that judge: files as a mount finds them, from writes and landings alone |
//! | `fat32`, `ntfs`, `ext4` | each file system: layout, allocation, and the sectors that each operation touches |
//! | `raw` | no file system: one file over the whole partition |
//!
//! Data are not cached here: [`Volume::read`] and [`Volume::write`] are the requests below a page cache. A program that
//! writes through a cache calls [`Volume::extend_file`] when it writes and [`Volume::write`] when the cache writes back.
//! docs/files.md lists what is not modelled.

mod change;
mod contents;
mod ext4;
mod fat32;
mod lazy_writer;
mod mount;
mod ntfs;
mod operations;
mod pages;
mod partition;
mod plan;
mod raw;
mod refusal;
mod space;
mod spec;
mod system;
mod tree;

pub use self::change::{PageChange, PageFact};
pub use self::lazy_writer::WriteBack;
pub use self::mount::{
    DataSectors, FileLedger, FileState, InitialFile, IssueMoment, SectorState, SectorView, VolumeState, WrittenExtent,
};
pub use self::operations::{MOVE_CHUNK, Volume};
pub use self::partition::{Alignment, Partition, lay_out_partitions};
pub use self::plan::{IoPlan, PlanStep, PlanWait, SectorRole};
pub use self::refusal::{VolumeError, VolumeMisfit};
pub use self::space::ClusterRun;
pub use self::spec::{Aging, Ext4Spec, Fat32Spec, FatDriver, NtfsSpec, SyncScope, VolumeFormat, VolumeSpec};
pub use self::tree::{FileId, FileName, ROOT};
