//! A volume: FAT32, NTFS or ext4 on a partition, as far as its I/O goes. It is state only: each operation appends to a
//! [`IoPlan`] what the drive has to read, write and flush for it, in the documented order. What may wait stays in memory
//! until it falls due ([`Volume::poll_timeout`]), is flushed or synced.
//!
//! | file | what it is |
//! |---|---|
//! | `plan` | the output: steps, phases, roles |
//! | `partition` | where volumes lie on a drive |
//! | `space`, `tree`, `pages` | free runs; files and their runs; metadata in memory |
//! | `contents` | these together, and where clusters lie: what the three file systems share |
//! | `spec`, `refusal`, `system` | what a volume is made from, what is refused; what each file system answers to |
//! | `operations` | the volume: what can be done to it, and with it |
//! | `lazy` | the lazy writer of Windows, for metadata |
//! | `change` | what changed on which page, for a judge |
//! | `found` | that judge: what a mount finds, from acknowledgements and landings alone |
//! | `fat32`, `ntfs`, `ext4` | each file system: its layout, allocation, and what each operation touches |
//! | `raw` | no file system: one file over the whole partition |
//!
//! Data are not cached here: [`Volume::read`] and [`Volume::write`] are what passes below a page cache. A program that
//! writes through a cache calls [`Volume::extend`] when it writes and [`Volume::write`] when the cache writes back.
//! What is not modelled is listed in docs/files.md.

mod change;
mod contents;
mod ext4;
mod fat32;
mod found;
mod lazy;
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
pub use self::found::{
    DataSectors, FileLedger, FileState, InitialFile, IssueMoment, SectorState, SectorView, VolumeState, WrittenExtent,
};
pub use self::lazy::WriteBack;
pub use self::operations::{MOVE_CHUNK, Volume};
pub use self::partition::{Alignment, Partition, partitions};
pub use self::plan::{IoPlan, PlanStep, PlanWait, SectorRole};
pub use self::refusal::{VolumeError, VolumeMisfit};
pub use self::space::ClusterRun;
pub use self::spec::{Aging, Ext4Spec, Fat32Spec, FatDriver, NtfsSpec, SyncScope, VolumeFormat, VolumeSpec};
pub use self::tree::{FileId, FileName, ROOT};
