//! A volume: FAT32, NTFS or ext4 on a partition, as far as its I/O goes. A volume is state only: each operation adds to
//! an [`IoPlan`] the reads, writes and flushes that the drive must serve for it, in the documented order. Changes that
//! may wait stay in memory until they are due ([`Volume::poll_timeout`]), flushed or synced.
//!
//! | file | what it is |
//! |---|---|
//! | `plan` | plans: steps, phases, roles |
//! | `partition` | the places of volumes on a drive |
//! | `space`, `tree`, `pages` | free runs; files and their runs; metadata in memory |
//! | `contents` | these together: the state that all file systems have |
//! | `spec`, `refusal`, `system` | the description of a volume, errors, the interface of file systems |
//! | `operations` | the volume and its operations |
//! | `lazy_writer` | the lazy writer of Windows, for metadata |
//! | `change` | changes of metadata, page by page, for a judge of power cuts |
//! | `mount` | for that judge: files as a mount after a cut finds them |
//! | `fat32`, `ntfs`, `ext4` | each file system: layout, allocation, and the sectors of each operation |
//! | `raw` | no file system: one file over the whole partition |
//!
//! Data are not cached here: [`Volume::read`] and [`Volume::write`] are the requests below a page cache. For a write
//! into that cache the system calls [`Volume::extend_file`], and [`Volume::write`] when the cache writes back.
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
pub use self::operations::{FoundFile, MOVE_CHUNK, Volume};
pub use self::partition::{Alignment, Partition, lay_out_partitions};
pub use self::plan::{IoPlan, PlanStep, PlanWait, SectorRole};
pub use self::refusal::{VolumeError, VolumeMisfit};
pub use self::space::ClusterRun;
pub use self::spec::{Aging, Ext4Spec, Fat32Spec, FatDriver, NtfsSpec, SyncScope, VolumeFormat, VolumeSpec};
pub use self::tree::{FileId, FileName, ROOT};
